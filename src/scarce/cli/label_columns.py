"""What does the label column of a file mean? Read in three states, and reported on stderr.

    positive / negative / not labelled (empty)

What 0 and 1 stand for is reported with the flag that confirms it; other values are refused until a
flag says what they mean. Where labels are those of alerts, yes and no are taken as said too, and a
week without any event is no fault (`settled`). Where a model file, a column `prob_yes` or a
completed audit list names the classes in its own way, positions are made to mean the same class
everywhere.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.next_command import shell_word
from scarce.cli.options import EXACT, LabelFlags, class_key, typed
from scarce.cli.output import say
from scarce.cli.table_columns import shown
from scarce.errors import DataError, Problem, UsageError, suggest

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce.cli.model_file import LoadedModel
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

MOST = 1000  # different labels; a column with more of them holds something else
MANY = 50  # labels beyond which a column is none of labels, and is not remembered
YES, NO = ("yes", "true", "y", "t", "1"), ("no", "false", "n", "f", "0")
TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}


class Labels(NamedTuple):
    """Labels of a file.

    Parameters
    ----------
    y : float64 array
        Position of each row's class, NaN where not labelled.
    classes : tuple
        Negative first; more than two in sorted order.
    said : str
        What was understood, in a sentence.
    """

    y: Any
    classes: tuple[Any, ...]
    said: str


def read_labels(
    values: pa.ChunkedArray,
    name: str,
    labels: LabelFlags,
    *,
    where: str,
    form: TextForm,
    quiet: bool = False,
) -> Labels:
    """Read a label column and say on stderr what was understood.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        The column.
    name : str
        Its name.
    labels : LabelFlags
        What the flags say.
    where : str
        The file, for messages.
    form : TextForm
        Which words mean missing.
    quiet : bool
        Say nothing; the sentence is in the result.
    """
    import pyarrow as pa

    from scarce import open_rows
    from scarce.io.locate import Locator, located

    if values.type.id in (pa.string().id, pa.large_string().id):
        values = _blank_is_missing(values, form)
    table = pa.table({name: values, "\0none": pa.nulls(len(values), pa.float64())})
    meanings = label_meanings(labels, values.type)
    with located(Locator(where)), _without_warnings():
        rows = open_rows(table, label=name, columns=["\0none"], **meanings)
    y = rows.labels()
    said = describe_labels(name, rows.classes, y, labels)
    if not quiet:
        say(said)
    return Labels(y, rows.classes, said)


def number_column(table: Any, name: str, **place: Any) -> Any:
    """Return a column as float64, NaN where a value is missing; see `scarce.io`."""
    from scarce.io import values as table_values

    return table_values.number_column(table, name, **place)


def _without_warnings() -> Any:
    import contextlib
    import warnings

    @contextlib.contextmanager
    def quiet() -> Any:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield

    return quiet()


def _blank_is_missing(values: pa.ChunkedArray, form: TextForm) -> Any:
    """Text that spells nothing, as a text file says it, is a missing value; numbers are numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    from scarce.io.values import without_blanks

    bare = pc.utf8_trim_whitespace(without_blanks(values, form, trim=True))
    try:
        return bare.cast(pa.int64())
    except pa.ArrowInvalid:
        pass
    try:
        return bare.cast(pa.float64())
    except pa.ArrowInvalid:
        return bare


def label_meanings(labels: LabelFlags, kind: pa.DataType) -> dict[str, Any]:
    """Turn the flags into what `open_rows` takes, for a column of this Arrow type."""
    import pyarrow as pa

    words = pa.types.is_string(kind) or pa.types.is_large_string(kind)
    words = words or pa.types.is_dictionary(kind)

    def value(text: str) -> Any:
        if pa.types.is_boolean(kind) and text.lower() in ("true", "false"):
            return text.lower() == "true"
        return text if words else typed(text)

    def some(given: tuple[str, ...]) -> Any:
        return [value(text) for text in given] if given else None

    if labels.classes and (labels.positive or labels.negative):
        raise UsageError(
            "--classes names all labels of three or more classes.",
            code="argument-conflict",
            remedy="Leave out --positive and --negative, which are for two.",
        )
    twice = set(labels.positive) & set(labels.negative)
    if twice:
        raise UsageError(
            "{value!r} cannot be both --positive and --negative.",
            code="label-conflict",
            value=sorted(twice)[0],
        )
    return {
        "positive": some(labels.positive),
        "negative": some(labels.negative),
        "unlabelled": some(labels.unlabelled),
        "classes": some(labels.classes),
    }


def describe_labels(name: str, classes: tuple[Any, ...], y: Any, labels: LabelFlags) -> str:
    """Say what a label column was understood to mean, and which flag would change it.

    Examples
    --------
    >>> import numpy as np
    >>> flags = LabelFlags("fraud", (), (), ())
    >>> print(describe_labels("fraud", (0, 1), np.array([0, 0, 1, np.nan]), flags))
    Label 'fraud': 1 row is 1 (the event; --positive settles it), 2 are 0, 1 is empty: not
    labelled.
    """
    import numpy as np

    counts = [int(np.sum(y == code)) for code in range(len(classes))]
    return describe_counts(name, classes, counts, len(y) - sum(counts), labels)


def describe_counts(
    name: str,
    classes: tuple[Any, ...],
    counts: Sequence[int],
    unlabelled: int,
    labels: LabelFlags,
) -> str:
    """Say the same from counts of rows in each class."""
    parts = []
    if len(classes) == 2:
        settled = "the event" if labels.positive else "the event; --positive settles it"
        parts.append(f"{_rows(counts[1])} {classes[1]} ({settled})")
        if counts[0] or not unlabelled:
            parts.append(f"{_are(counts[0])} {classes[0]}")
    else:
        parts += [
            f"{_rows(count) if place == 0 else _are(count)} {value}"
            for place, (value, count) in enumerate(zip(classes, counts, strict=True))
        ]
    if unlabelled:
        why = "empty" if not labels.unlabelled else f"empty or {' or '.join(labels.unlabelled)}"
        state = "background, where nobody looked" if labels.background else "not labelled"
        parts.append(f"{_are(unlabelled)} {why}: {state}")
    return f"Label {name!r}: {', '.join(parts)}."


def _rows(count: int) -> str:
    return f"{count:,} row is" if count == 1 else f"{count:,} rows are"


def _are(count: int) -> str:
    return f"{count:,} is" if count == 1 else f"{count:,} are"


def read_classes(
    values: pa.ChunkedArray,
    name: str,
    labels: LabelFlags,
    where: str,
    loaded: LoadedModel | None,
    *,
    form: TextForm,
    quiet: bool,
) -> tuple[Any, tuple[Any, ...]]:
    """Class positions and classes; without flags the model's own reading of its labels holds."""

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
            "{table}: column {column!r} (--label) is empty in all {rows:,} rows.",
            code="no-labels",
            table=where,
            column=name,
            rows=len(values),
            also=also,
            remedy="Fill it in, or name another column with --label{also}.",
        )
    if as_learnt and loaded is not None and counts is not None:
        looked = _looked_at(counts, name, where, loaded, quiet)
        _refuse_other_words(counts, name, [*coded[0], *coded[1], *looked], where, loaded)
    read = read_labels(values, name, labels, where=where, form=form, quiet=True)
    if loaded is not None and len(loaded.classes) == 2:
        _refuse_other_event(typed, read.classes, loaded)
    if not quiet:
        say(read.said)
    return read.y, read.classes


def _counts(values: pa.ChunkedArray, apart: set[str], form: TextForm) -> dict[Any, int] | None:
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


def _refuse_other_event(typed: LabelFlags, classes: tuple[Any, ...], loaded: LoadedModel) -> None:
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
        "{option} {value}: the event of the model {model} is {event}.",
        code="event-mismatch",
        option=flag,
        value=value,
        model=loaded.path.name,
        event=loaded.classes[1],
        remedy="Leave {option} out.",
    )


def _refuse_other_words(
    counts: dict[Any, int], name: str, known: Sequence[Any], where: str, loaded: LoadedModel
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
        "{table}: {column!r} holds {labels}{last}, and the event of the model {model} is {event}.",
        code="unknown-label",
        table=where,
        column=name,
        labels=", ".join(listed),
        last=last,
        model=loaded.path.name,
        event=loaded.classes[1],
        flags=flags,
        remedy="Name the event with {flags}.",
    )


def _spelt(value: Any) -> str:
    """Write a label as it is typed."""
    if isinstance(value, bool):
        return str(value).lower()
    return f"{value:.15g}" if isinstance(value, float) else str(value)


def _looked_at(
    counts: dict[Any, int], name: str, where: str, loaded: LoadedModel, quiet: bool
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
            "{table}: {count:,} rows of {column!r} are {label}, which meant not labelled when "
            "the model {model} was fitted.",
            code="ambiguous-label",
            table=where,
            count=n,
            column=name,
            label=word,
            model=loaded.path.name,
            value=shell_word(word),
            remedy=(
                "Use --unlabelled {value} if nobody looked, --negative {value} if it is known "
                "not to have happened."
            ),
        )
    if not quiet:
        say(
            f"The model was fitted with {word} as not labelled. Here {n:,} rows are {word} and "
            f"count as negatives for {loaded.classes[1]}; if nobody looked, give --unlabelled "
            f"{word}."
        )
    return found


def _moved(y: Any, classes: Sequence[Any], order: Sequence[Any], why: Problem) -> Any:
    """Positions among `order` of classes that were numbered otherwise."""
    import numpy as np

    at = {class_key(name): place for place, name in enumerate(order)}
    out = np.full(len(y), np.nan)
    for place, name in enumerate(classes):
        rows = y == place
        if class_key(name) in at:
            out[rows] = at[class_key(name)]
        elif rows.any():
            raise DataError(why.amended(label=name, count=int(rows.sum())))
    return out


def as_in_columns(
    y: Any, classes: tuple[Any, ...], found: Any, label: str, where: str
) -> tuple[Any, tuple[Any, ...]]:
    """Classes in the order of the columns of probabilities."""
    if len(found.columns) == 1:
        if len(classes) > 2:
            raise DataError(
                "{table}: {column!r} has {count} classes ({classes}), and {prob!r} is one column.",
                code="two-classes-needed",
                table=where,
                column=label,
                count=len(classes),
                classes=", ".join(f"{name!s:.30}" for name in classes[:6]),
                prob=found.columns[0],
                remedy=(
                    "Name a column of probabilities for each class, such as --prob 'prob_*', or "
                    "the event with --positive and the others with --negative."
                ),
            )
        return y, classes
    first, last = class_key(found.classes[0]), class_key(found.classes[-1])
    if len(found.columns) == 2 and [last, first] == [class_key(name) for name in classes]:
        flags = " ".join(f"--prob {shell_word(name)}" for name in found.columns[::-1])
        raise DataError(
            "{table}: the event is {event!s}, but its column of probabilities comes first.",
            code="event-mismatch",
            table=where,
            event=classes[1],
            flags=flags,
            remedy="Name the event's column last: {flags}",
        )
    why = Problem(
        "{table}: {count:,} rows of {column!r} are {label}, and no column of probabilities is for "
        "that class ({columns}).",
        code="unknown-class",
        table=where,
        column=label,
        columns=", ".join(found.columns),
        label="",
        count=0,
        remedy="Name a column for each class with --prob.",
    )
    moved = _moved(y, classes, found.classes, why)
    spelt = {class_key(name): name for name in classes}
    return moved, tuple(spelt.get(class_key(name), name) for name in found.classes)


def as_in_model(
    y: Any, classes: tuple[Any, ...], loaded: LoadedModel, label: str, where: str
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
    why = Problem(
        "{table}: {count:,} rows of {column!r} are {label}, and the model {model} has only the "
        "classes {classes}.",
        code="unknown-class",
        table=where,
        column=label,
        model=loaded.path.name,
        classes=listed,
        label="",
        count=0,
        remedy="Leave them out, or say what they mean with --positive, --negative or --unlabelled.",
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


class Reading(NamedTuple):
    """How the labels of a table and of its lists are read.

    Parameters
    ----------
    numbers : bool
        Whether labels are numbers.
    flags : LabelFlags
        What to read the table by: without words that only a list holds.
    apart : frozenset
        What means not labelled.
    stands_for : mapping of str to number
        Words in a list, and the label of the table that each means.
    """

    numbers: bool
    flags: LabelFlags
    apart: frozenset[Any]
    stands_for: Mapping[str, Any] = {}


def reading_of(source: TableSource, labels: LabelFlags, *, lists: bool = False) -> Reading:
    """Return how labels are read: as numbers where they look so and flags leave a way.

    Parameters
    ----------
    source : TableSource
    labels : LabelFlags
        As typed.
    lists : bool
        Whether there are lists, in which words may stand for the numbers of the table.
    """
    import pyarrow as pa

    kind = None if labels.label is None else source.types.get(labels.label)
    number = kind is None or bool(
        pa.types.is_integer(kind) or pa.types.is_floating(kind) or pa.types.is_null(kind)
    )
    words = any(isinstance(typed(word), str) for flags in labels[1:] for word in flags)
    if number and not words:
        return Reading(True, labels, frozenset(typed(word) for word in labels.unlabelled))
    as_words = Reading(False, labels, frozenset(labels.unlabelled))
    if not number or not lists or labels.classes:
        return as_words
    stands_for: dict[str, Any] = {}
    kept: dict[str, Any] = {}
    for name in ("positive", "negative", "unlabelled"):
        given = getattr(labels, name)
        strange = [word for word in given if isinstance(typed(word), str)]
        kept[name] = tuple(word for word in given if word not in strange)
        if name == "unlabelled":
            stands_for |= dict.fromkeys(strange)
        elif strange and not kept[name]:
            return as_words  # no number that they could stand for
        else:
            stands_for |= {word: typed(kept[name][0]) for word in strange}
    apart = frozenset(typed(word) for word in kept["unlabelled"])
    return Reading(True, labels._replace(**kept), apart, stands_for)


def answers(
    texts: Sequence[str | None], reading: Reading, where: str, source: TableSource, label: str
) -> tuple[list[Any], list[str]]:
    """Return what was filled in, as numbers; and the words among them that mean true or false.

    Parameters
    ----------
    texts : sequence of str
        The cells, None where nothing was filled in.
    reading : Reading
    where : str
        The list, for messages.
    source : TableSource
        The table; looked into only to say what it holds.
    label : str
        Its column.
    """
    read: list[Any] = []
    strange, truths = set(), set()
    for text in texts:
        word = "" if text is None else text.strip()
        if text is None or word in reading.stands_for:
            read.append(None if text is None else reading.stands_for[word])
        elif word.lower() in ("true", "false"):
            truths.add(word)
            read.append(float(word.lower() == "true"))
        else:
            try:
                number = float(word.replace(",", "."))
                read.append(number if abs(number) < EXACT else class_key(word))
            except ValueError:
                strange.add(word)
    if not strange:
        return read, sorted(truths)
    held = _held(source, label) - reading.apart - {None}
    filled = f"{where} holds the labels {listed(strange)}"
    if not held:
        raise DataError(
            "{filled}.",
            code="other-labels",
            filled=filled,
            remedy="Name the event with --positive, and the others with --negative.",
        )
    raise other_labels(where, strange, source.where, held)


def other_labels(
    where: str, words: Collection[Any], table: str, held: Collection[Any]
) -> DataError:
    """Say that a list has other labels than its table, and what to do about it."""
    return DataError(
        "{list} holds the labels {words}, and {table} uses {labels}.",
        code="other-labels",
        list=where,
        words=listed(words),
        table=table,
        labels=listed(held),
        remedy="Use the same labels in both, or name those of both with --positive and --negative.",
    )


def _held(source: TableSource, label: str) -> set[Any]:
    """Labels that the beginning of a table holds; none from a pipe, which is read once."""
    if source.once or label not in source.types:
        return set()
    held: set[Any] = set()
    try:
        for part in islice(source.tables([label]), 100):
            held.update(part.column(label).unique().to_pylist())
            if len(held) > MANY:
                break
    except DataError:
        pass  # words further down: what was met before is enough to say
    return held


def refuse_many(name: str, classes: Sequence[Any]) -> None:
    """Refuse labels of more classes than event and no event."""
    if len(classes) > 2:
        held = ", ".join(map(shown, classes[:6]))
        raise DataError(
            "Column {column!r} holds {count} classes ({classes}), and an alert is an event or not.",
            code="two-classes-needed",
            column=name,
            count=len(classes),
            classes=held,
            remedy="Name the event with --positive and the others with --negative.",
        )


def settled(
    error: DataError, seen: Collection[Any], name: str, labels: LabelFlags
) -> tuple[LabelFlags, str] | None:
    """Return flags that say what unclear labels of alerts mean, and a sentence; None to refuse.

    Parameters
    ----------
    error : DataError
        Why the labels were refused.
    seen : collection
        The different labels, without missing ones.
    name : str
        Their column.
    labels : LabelFlags
        As typed.

    Examples
    --------
    >>> why = DataError("Column 'bad' holds 'no'.", code="unclear-labels")
    >>> flags, said = settled(why, ["no"], "bad", LabelFlags("bad", (), (), ()))
    >>> flags.positive, flags.negative
    (('yes',), ('no',))
    >>> print(said)
    Label 'bad' holds no and nothing else: taken to mean no event. If it is one, pass --positive no.
    """
    if error.code not in ("unclear-labels", "no-positives") or labels.classes:
        return None
    apart = {class_key(word) for word in labels.unlabelled}
    words = sorted({_spelt(value) for value in seen if class_key(value) not in apart})
    only = words[0] if len(words) == 1 else ""
    if labels.positive and not labels.negative:  # and no row has that label
        strange = class_key(only) == -1 or only.lower() in YES or suggest(only, labels.positive)
        if not only or strange:
            return None
        return labels._replace(negative=(only,)), (
            f"Label {name!r} holds no {' or '.join(labels.positive)} (--positive): {only} is taken "
            f"to mean no event. If it means not labelled, pass --unlabelled {shell_word(only)}."
        )
    if labels.positive or not words:
        return None
    if labels.negative:
        against = {class_key(word) for word in labels.negative}
        if {class_key(word) for word in words} - against:
            return None
        return labels._replace(positive=(f"not {labels.negative[0]}",)), (
            f"Label {name!r} holds {listed(words)} and nothing else: no row is an event."
        )
    yes = tuple(word for word in words if word.lower() in YES)
    no = tuple(word for word in words if word.lower() in NO)
    if len(yes) + len(no) < len(words):
        return None
    said = ""
    if only:
        meant, other = ("an event", "--negative") if yes else ("no event", "--positive")
        cure = "If it is none" if yes else "If it is one"
        said = (
            f"Label {name!r} holds {only} and nothing else: taken to mean {meant}. {cure}, pass "
            f"{other} {only}."
        )
    yes = yes or (YES[NO.index(no[0].lower())],)
    no = no or (NO[YES.index(yes[0].lower())],)
    return labels._replace(positive=yes, negative=no), said


def seen_labels(parts: Iterable[Any], name: str, form: TextForm) -> set[Any]:
    """Return the different labels of the parts of a table, without missing ones."""
    import pyarrow as pa

    held: set[Any] = set()
    for part in parts:
        column = part.column(name)
        if pa.types.is_dictionary(column.type):
            column = column.cast(column.type.value_type)
        for value in column.unique().to_pylist():
            word = value.strip() if isinstance(value, str) else value
            if word is not None and word == word and word not in form.nothing:
                held.add(word)
        if len(held) > MANY:
            break
    return held


def for_events(error: DataError) -> DataError:
    """Return an error that offers several classes as one for verbs that take two."""
    if error.code != "unclear-labels" or "classes" not in error.fields:
        return error
    held = list(error.fields["classes"].value)
    remedy = (
        "An alert is an event or not: name the event with --positive, the others with --negative, "
        "and what means not labelled with --unlabelled."
    )
    if held == [-1]:
        remedy = (
            "If -1 means no event, pass --negative -1 --positive 1; if it means not labelled, pass "
            "--unlabelled -1."
        )
    if held == [-1, 0, 1]:
        remedy = (
            "If 0 means not labelled, pass --positive 1 --negative -1 --unlabelled 0; if -1 does, "
            "pass --positive 1 --negative 0 --unlabelled -1."
        )
    return error.amended(remedy=remedy)


def listed(values: Collection[Any]) -> str:
    """Name some values: 'a', 'b' and 'c'."""
    words = sorted(map(shown, values))
    if len(words) > 6:
        words = [*words[:6], "others"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
