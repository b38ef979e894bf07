"""Cells of a table that a verb cannot use: which one it is, and what can be done about it.

The library says which cell is not a number, in which line (see `scarce.io.values`); here stands
what a verb knows more: that the column holds labels, or scores that rank rows.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from scarce.errors import Argument, DataError

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

LONGEST = 40  # characters of a cell in a message


def told(
    source: TableSource,
    parts: Iterator[Any],
    numbers: Sequence[str],
    form: TextForm,
    label: str | None = None,
) -> Iterator[Any]:
    """Walk parts of a table; words among labels that were numbers so far need another remedy.

    Parameters
    ----------
    source : TableSource
        The table.
    parts : iterator of pyarrow.Table
        The walk.
    numbers : sequence of str
        Columns that are read as numbers.
    form : TextForm
        How the text is written.
    label : str, optional
        The column of labels.
    """
    try:
        yield from parts
    except DataError as error:
        fields = error.fields
        word = error.code == "not-a-number" and fields.get("written") == "word"
        if not word or label is None or fields["column"] != label:
            raise
        value = fields["value"]
        raise error.amended(
            positive=Argument("positive"),
            unlabelled=Argument("unlabelled", value if len(value) <= LONGEST else ...),
            remedy="If labels are words, name the event with {positive}; if it means not labelled, "
            "pass {unlabelled}.",
        ) from None


def numbers_of(source: TableSource, table: Any, name: str, form: TextForm, start: int = 0) -> Any:
    """Return a column of a part of a table, read as text, as numbers; say which cell is none.

    `start` is the number of the part's first row.
    """
    return source.numbers(table, name, start)


def refuse_unscored(
    source: TableSource, values: Any, name: str, form: TextForm, start: int = 0
) -> None:
    """Refuse a score that is missing or infinite: such a row has no rank."""
    import numpy as np

    from scarce.io.locate import cell_error, located

    bad = np.flatnonzero(~np.isfinite(np.asarray(values, dtype=np.float64)))
    if len(bad):
        value = float(values[bad[0]])
        with located(source.find):
            raise cell_error(
                "{place}: the score is {seen}, so the row cannot be ranked.",
                code="missing-score",
                column=name,
                row=start + int(bad[0]),
                value=value,
                seen="missing" if np.isnan(value) else f"{value:g}",
                remedy="Give it a score, or leave the row out.",
            )


def place_of(source: TableSource, row: int, form: TextForm) -> str:
    """Say where a row is: its line in a text file, from 1; else its number, from 0."""
    return source.find.place(row)


def refuse_nested(source: TableSource, columns: Mapping[str, str | None]) -> None:
    """Refuse columns whose cells are lists or records: each must hold one value a row."""
    import pyarrow as pa

    for flag, name in columns.items():
        if name is not None and name in source.types and pa.types.is_nested(source.types[name]):
            held = str(source.types[name])
            raise DataError(
                "{table}, column {column!r}: each cell holds several values ({held}), and "
                "{option} needs one.",
                code="nested-column",
                table=source.where,
                column=name,
                held=held if len(held) <= LONGEST else f"{held[:LONGEST]} ...",
                option=flag,
                remedy="Name another column, or extract the value first.",
            )


def shown(value: Any) -> str:
    """Return a value as a message shows it: numbers plain, text in quotes, long text cut."""
    if isinstance(value, float):
        return f"{value:g}"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
