"""What do the answers in a list mean, beside the labels of the table that it was drawn from?

    scores say 0 and 1, the list says yes: --positive 1 --positive yes --negative 0 --negative no

A list is filled in by a person, who may write other words than the table has. TRUE and FALSE are
understood where the table says 1 and 0; other words only where a flag says what they stand for. The
rest is refused, never left out. Reads no file: see list_files.py.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.bad_cells import shown
from scarce.cli.options import EXACT, LabelFlags, class_key, typed
from scarce.errors import DataError

if TYPE_CHECKING:
    from scarce.io.source import TableSource

MANY = 50  # labels beyond which a column is none of labels, and is not remembered
FILLED = "was filled in with"
TRUTHS = {"true": True, "1": True, "1.0": True, "false": False, "0": False, "0.0": False}
THREE = "If -1 is a class like the others"  # how the library begins to offer classes


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
    filled = f"{where} {FILLED} {listed(strange)}"
    if not held:
        raise DataError(
            f"{filled}: name the event with --positive, and the others with --negative."
        )
    raise other_labels(where, strange, source.where, held)


def other_labels(
    where: str, words: Collection[Any], table: str, held: Collection[Any]
) -> DataError:
    """Say that a list has other labels than its table, and what to do about it."""
    return DataError(
        f"{where} {FILLED} {listed(words)}, {table} uses {listed(held)}: use the same labels in "
        "both, or name those of both with --positive and --negative."
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
            f"Column {name!r} holds {len(classes)} classes ({held}), and an alert is an event or "
            "none: name the event with --positive and the others with --negative."
        )


def for_events(error: DataError) -> DataError:
    """Return an error that offers classes as one for verbs that know event and no event alone."""
    if THREE not in str(error):
        return error
    head = str(error).partition(THREE)[0].rstrip()
    readings = (
        "If 0 means not labelled, pass --positive 1 --negative -1 --unlabelled 0; if -1 does, pass "
        "--positive 1 --negative 0 --unlabelled -1."
    )
    if not head.endswith("holds -1, 0 and 1."):
        readings = (
            "An alert is an event or none: name the event with --positive, the others with "
            "--negative, and what means not labelled with --unlabelled."
        )
    return DataError(f"{head} {readings}")


def listed(values: Collection[Any]) -> str:
    """Name some values: 'a', 'b' and 'c'."""
    words = sorted(map(shown, values))
    if len(words) > 6:
        words = [*words[:6], "others"]
    return " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words)
