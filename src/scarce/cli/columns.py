"""What does a label column of somebody's file mean? Read in three states, and said out loud.

    positive / negative / not labelled (empty)

Nothing is guessed: what 0 and 1 stand for is said with the flag that settles it, everything else
is refused until a flag settles it.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.options import LabelFlags, typed
from scarce.cli.output import say
from scarce.errors import UsageError

if TYPE_CHECKING:
    from scarce.io.text import TextForm


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
    values: Any, name: str, labels: LabelFlags, *, where: str, form: TextForm, quiet: bool = False
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

    from scarce import DataError, open_rows

    if values.type.id in (pa.string().id, pa.large_string().id):
        values = _blank_is_missing(values, form)
    table = pa.table({name: values, "\0none": pa.nulls(len(values), pa.float64())})
    meanings = label_meanings(labels, values.type)
    try:
        with _without_warnings():
            rows = open_rows(table, label=name, columns=["\0none"], **meanings)
    except DataError as error:
        raise DataError(f"{where}: {error}") from None
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


def _blank_is_missing(values: Any, form: TextForm) -> Any:
    """Text that spells nothing, as a text file says it, is a missing value; numbers are numbers."""
    import pyarrow as pa
    import pyarrow.compute as pc

    bare = pc.utf8_trim_whitespace(values)
    lost = pc.is_in(bare, value_set=pa.array(form.nothing, bare.type))
    bare = pc.if_else(lost, pa.scalar(None, bare.type), bare)
    try:
        return bare.cast(pa.int64())
    except pa.ArrowInvalid:
        pass
    try:
        return bare.cast(pa.float64())
    except pa.ArrowInvalid:
        return bare


def label_meanings(labels: LabelFlags, kind: Any) -> dict[str, Any]:
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
            "--classes names all labels, for three or more classes: leave out --positive and "
            "--negative, which are for two."
        )
    twice = set(labels.positive) & set(labels.negative)
    if twice:
        raise UsageError(
            f"{sorted(twice)[0]!r} cannot be both --positive and --negative: a label means one."
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
