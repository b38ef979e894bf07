"""Which class is which, when a file and a model or a column name them in their own ways?

A label column says 1 or "yes", a model 0 and 1, a column `prob_yes`: positions must mean the same
class everywhere. Where names differ the flags settle it; what no name fits is refused.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from scarce.cli.next_command import shell_word
from scarce.cli.options import LabelFlags, class_key
from scarce.cli.output import say
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.io.text import TextForm

MOST = 1000  # different labels; a column with more of them holds something else


def read_classes(
    values: Any,
    name: str,
    labels: LabelFlags,
    where: str,
    loaded: Any,
    *,
    form: TextForm,
    quiet: bool,
) -> tuple[Any, tuple[Any, ...]]:
    """Class positions and classes; without flags the model's own reading of its labels holds."""
    from scarce.cli.columns import read_labels

    coded: Sequence[Any] = () if loaded is None else loaded.schema.coded_as
    typed = labels
    as_learnt = len(coded) == 2 and not (labels.positive or labels.negative)
    if as_learnt:
        negative, positive = (tuple(str(value) for value in group) for group in coded)
        made_up = tuple(f"not {word}" for word in positive)  # no label of any file
        negative = tuple(word for word in negative if word not in made_up)
        labels = labels._replace(positive=positive, negative=negative)
    counts = _counts(values, set(labels.unlabelled), form)
    if counts is not None and not counts:
        also = ", and look at --unlabelled" if labels.unlabelled else ""
        raise DataError(
            f"{where}: column {name!r} (--label) says of none of its {len(values):,} rows what "
            "happened, so there is nothing to judge by. Fill it in, or name another column with "
            f"--label{also}."
        )
    if as_learnt and counts is not None:
        looked = _looked_at(counts, name, where, loaded, quiet)
        _refuse_other_words(counts, name, [*coded[0], *coded[1], *looked], where, loaded)
    read = read_labels(values, name, labels, where=where, form=form, quiet=True)
    if loaded is not None and len(loaded.classes) == 2:
        _refuse_other_event(typed, read.classes, loaded)
    if not quiet:
        say(read.said)
    return read.y, read.classes


def _counts(values: Any, apart: set[str], form: TextForm) -> dict[Any, int] | None:
    """How many rows have each label, None where that cannot be told or there are very many."""
    import pyarrow as pa
    import pyarrow.compute as pc

    try:
        counted = pc.value_counts(values)
    except (pa.ArrowInvalid, pa.ArrowNotImplementedError):
        return None
    if len(counted) > MOST:
        return None
    counts: dict[Any, int] = {}
    keys = {class_key(value) for value in apart}
    for one in counted.to_pylist():
        value = one["values"].strip() if isinstance(one["values"], str) else one["values"]
        nothing = value is None or value != value or value in form.nothing
        if not nothing and class_key(value) not in keys:
            counts[value] = counts.get(value, 0) + one["counts"]
    return counts


def _refuse_other_event(typed: LabelFlags, classes: tuple[Any, ...], loaded: Any) -> None:
    """Refuse flags by which the event is what the model takes for its opposite."""
    coded = loaded.schema.coded_as
    against = {class_key(value) for value in (loaded.classes[0], *(coded[0] if coded else ()))}
    wrong = [value for value in typed.positive if class_key(value) in against]
    if wrong:
        flag, value = "--positive", wrong[0]
    elif typed.negative and len(classes) == 2 and class_key(classes[1]) in against:
        flag, value = "--negative", typed.negative[0]
    else:
        return
    raise UsageError(
        f"{flag} {value}: the event of the model {loaded.path.name} is {loaded.classes[1]}, and "
        f"its probabilities are of that. Leave {flag} out."
    )


def _refuse_other_words(
    counts: dict[Any, int], name: str, known: Sequence[Any], where: str, loaded: Any
) -> None:
    """Refuse labels none of which the model has met, and say how to name them."""
    met = {class_key(value) for value in known}
    if any(class_key(value) in met for value in counts):
        return
    words = {_spelt(value): count for value, count in counts.items()}
    listed = [f"{word:.30} ({words[word]:,})" for word in sorted(words)[:6]]
    listed[0] = listed[0][:-1] + (" row)" if words[min(words)] == 1 else " rows)")
    if len(words) == 1:
        only = shell_word(next(iter(words)))
        flags = f"--positive {only} or --negative {only}"
    elif len(words) == 2:  # the rarer one: events are rare, and a hurried reader pastes
        flags = f"--positive {shell_word(min(words, key=lambda word: (words[word], word)))}"
    else:
        flags = "--positive, and the others with --negative"
    last = "" if len(listed) == 1 else f" and {listed.pop()}"
    raise DataError(
        f"{where}: {name!r} holds {', '.join(listed)}{last}, and the event of the model "
        f"{loaded.path.name} is {loaded.classes[1]}: name what it is here with {flags}."
    )


def _spelt(value: Any) -> str:
    """Write a label as it is typed."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _looked_at(
    counts: dict[Any, int], name: str, where: str, loaded: Any, quiet: bool
) -> list[Any]:
    """Labels that meant "not labelled" when the model learnt, and are outcomes in this table.

    That nobody looked at a training row says nothing of the rows that judge. 0 beside an event is
    an absence here, said aloud; of other values a flag must say what they mean.
    """
    apart = {class_key(value) for value in loaded.schema.unlabelled}
    found = [value for value in counts if class_key(value) in apart]
    if not found:
        return []
    word, n = _spelt(found[0]), counts[found[0]]
    if len(found) > 1 or class_key(found[0]) != 0 or loaded.schema.coded_as[0]:
        raise DataError(
            f"{where}: {n:,} rows of {name!r} are {word}, which meant not labelled when the model "
            f"{loaded.path.name} learnt. Say what it means here: --unlabelled {shell_word(word)} "
            f"if nobody looked, --negative {shell_word(word)} if it is known not to have happened."
        )
    if not quiet:
        say(
            f"The model learnt with {word} as not labelled. Here {n:,} rows are {word} and count "
            f"as looked at, without {loaded.classes[1]}; if nobody looked, say --unlabelled {word}."
        )
    return found


def _moved(y: Any, classes: Sequence[Any], order: Sequence[Any], why: str) -> Any:
    """Positions among `order` of classes that were numbered otherwise."""
    import numpy as np

    at = {class_key(name): place for place, name in enumerate(order)}
    out = np.full(len(y), np.nan)
    for place, name in enumerate(classes):
        rows = y == place
        if class_key(name) in at:
            out[rows] = at[class_key(name)]
        elif rows.any():
            raise DataError(why.format(name=name, count=int(rows.sum())))
    return out


def as_in_columns(
    y: Any, classes: tuple[Any, ...], found: Any, label: str, where: str
) -> tuple[Any, tuple[Any, ...]]:
    """Classes in the order of the columns of probabilities."""
    if len(found.columns) == 1:
        if len(classes) > 2:
            raise DataError(
                f"{where}: {label!r} has {len(classes)} classes "
                f"({', '.join(f'{name!s:.30}' for name in classes[:6])}), and "
                f"{found.columns[0]!r} is one column: "
                "name a column of probabilities for each class, such as --prob 'prob_*', or the "
                "event with --positive and the others with --negative."
            )
        return y, classes
    first, last = class_key(found.classes[0]), class_key(found.classes[-1])
    if len(found.columns) == 2 and [last, first] == [class_key(name) for name in classes]:
        flags = " ".join(f"--prob {shell_word(name)}" for name in found.columns[::-1])
        raise DataError(
            f"{where}: the event is {classes[1]!s}, and its column of probabilities comes first. "
            f"Name them with that of the event last: {flags}"
        )
    why = (
        f"{where}: {{count:,}} rows of {label!r} are {{name}}, and no column of probabilities is "
        f"of that class ({', '.join(found.columns)}). Name a column for each class with --prob."
    )
    moved = _moved(y, classes, found.classes, why)
    spelt = {class_key(name): name for name in classes}
    return moved, tuple(spelt.get(class_key(name), name) for name in found.classes)


def as_in_model(
    y: Any, classes: tuple[Any, ...], loaded: Any, label: str, where: str
) -> tuple[Any, tuple[Any, ...]]:
    """Classes in the order of the model's."""
    listed = ", ".join(map(str, loaded.classes))
    if len(loaded.classes) == 2 and len(classes) == 2:
        keys = {class_key(name) for name in loaded.classes}
        if not keys & {class_key(name) for name in classes}:
            # other words for the same two classes: --positive has said which is which
            say(
                f"The model's classes are {listed}: {loaded.classes[1]} is taken to be "
                f"{classes[1]}, and {loaded.classes[0]} to be {classes[0]}."
            )
            return y, classes
        classes = _never_labelled(classes, loaded.classes)
    why = (
        f"{where}: {{count:,}} rows of {label!r} are {{name}}, and the model {loaded.path.name} "
        f"knows only {listed}. Leave them out, or say what they mean with --positive, --negative "
        "or --unlabelled."
    )
    return _moved(y, classes, loaded.classes, why), loaded.classes


def _never_labelled(classes: tuple[Any, ...], known: Sequence[Any]) -> tuple[Any, ...]:
    """Give a survey's word for absences the name that a model of presences made up for them."""
    for event, other in (known, known[::-1]):
        if str(other) not in (f"not {event}", f"(not {event})"):
            continue
        strange = [name for name in classes if class_key(name) not in map(class_key, known)]
        if len(strange) == 1:
            told = f"{strange[0]} is taken to be all else."
            say(f"The model knows no other label than {event}: {told}")
            return tuple(other if name in strange else name for name in classes)
    return classes
