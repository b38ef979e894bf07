"""Which cell of a table is no number, in which line, and what can be done about it?

Arrow reads text fast and says little: the number of a column and a value. Here the walk is repeated
where it can be, until the cell is found; a pipe cannot be walked twice, and its line stays unknown.
Mends nothing.
"""

from __future__ import annotations

import csv
import re
from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.next_command import shell_word
from scarce.errors import DataError

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

LONGEST = 40  # characters of a cell in a message
SCANNED_BYTES = 2**28  # text that is read again to find a line: a few seconds
NO_NUMBER = re.compile(  # with one core Arrow names the row of its block, too
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (\w+): invalid value '(.*)"
)
COUNTED = ("int64", "double")  # what Arrow calls numbers in that sentence
PACKED = (b"\x1f\x8b", b"\x28\xb5\x2f\xfd")  # gzip and zstandard: lines are inside
DECIMAL_COMMA = re.compile(r"\s*[-+]?\d+,\d+\s*")
THOUSANDS = re.compile(r"\s*[-+]?(\d{1,3}([., ']\d{3})+([.,]\d+)?|\d+([.,]\d+){2,})\s*")
PERCENT = re.compile(r"\s*[-+]?[\d.,]+ ?%\s*")


class Cell(NamedTuple):
    """A cell that is no number: its column, what it holds, and its row from 0 where known."""

    name: str
    value: str
    row: int | None


def told(
    source: TableSource,
    parts: Iterator[Any],
    numbers: Sequence[str],
    form: TextForm,
    label: str | None = None,
) -> Iterator[Any]:
    """Walk parts of a table; where a cell of text is no number, say which one it is.

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
        The column of labels, in which words need another cure.
    """
    try:
        yield from parts
    except DataError as error:
        seen = NO_NUMBER.search(str(error.__cause__ or error))
        if seen is None:
            raise
        searched = [*numbers]
        if source.names[int(seen[1])] == label and seen[2] in COUNTED:
            searched = [label]  # which is read as its first rows look
        cell = None if source.once else _found(source, searched, form)
        if cell is None:  # Arrow's columns are those of the file
            cell = Cell(source.names[int(seen[1])], seen[3].split("'. ")[0].rstrip("'"), None)
        raise DataError(_words(source, cell, form, label)) from None


def numbers_of(source: TableSource, table: Any, name: str, form: TextForm, start: int = 0) -> Any:
    """Return a column of a part of a table, read as text, as numbers; say which cell is none.

    `start` is the number of the part's first row.
    """
    from scarce.cli.table_columns import number_values

    try:
        return number_values(table, name, where=source.where, form=form, start=start)
    except DataError:
        values = table.column(name).to_pylist()
        if not any(isinstance(value, str) for value in values):
            raise
        row, value = _first_word(values, form)
        raise DataError(_words(source, Cell(name, value, start + row), form, None)) from None


def refuse_unscored(
    source: TableSource, values: Any, name: str, form: TextForm, start: int = 0
) -> None:
    """Refuse a score that is missing or infinite: such a row has no rank."""
    import numpy as np

    bad = np.flatnonzero(~np.isfinite(np.asarray(values, dtype=np.float64)))
    if len(bad):
        row = start + int(bad[0])
        held = "missing" if np.isnan(values[bad[0]]) else f"{values[bad[0]]:g}"
        raise DataError(
            "{table}, column {column!r}: the score{at} is {held}, so the row cannot be ranked.",
            code="missing-score",
            table=source.where,
            column=name,
            at=place_of(source, row, form),
            held=held,
            remedy="Give it a score, or leave the row out.",
        )


def _found(source: TableSource, numbers: Sequence[str], form: TextForm) -> Cell | None:
    """Walk again, as text, to the first cell that is no number."""
    from scarce.cli.table_columns import number_values

    start = 0
    for part in source.tables(list(numbers), exact=True):
        worst: Cell | None = None
        for name in numbers:
            try:
                number_values(part, name, where=source.where, form=form, start=start)
            except DataError:
                row, value = _first_word(part.column(name).to_pylist(), form)
                if worst is None or start + row < (worst.row or 0):
                    worst = Cell(name, value, start + row)
        if worst is not None:
            return worst
        start += part.num_rows
    return None


def _first_word(values: list[str | None], form: TextForm) -> tuple[int, str]:

    blank = set(form.nothing)
    for row, value in enumerate(values):
        if value is not None and value.strip() not in blank:
            try:  # 1.234 beside a decimal comma may be 1234
                float(
                    "?"
                    if form.decimal != "." and "." in value
                    else value.replace(form.decimal, ".")
                )
            except ValueError:
                return row, value
    return 0, str(values[0])


def _line(source: TableSource, row: int, form: TextForm) -> int | None:
    """Return the line of a row, from 1: cells may run over lines, and empty lines are no rows."""
    if source.path is None or source.size is None or source.size > SCANNED_BYTES:
        return None
    mark = form.delimiter or ("\t" if source.kind == "tsv" else ",")
    try:
        with source.path.open("rb") as head:
            if head.read(4).startswith(PACKED):
                return None
        with source.path.open(encoding=form.encoding, newline="") as file:
            lines = csv.reader(file, delimiter=mark)
            held = (lines.line_num for cells in lines if cells)
            return next(islice(held, row + form.header, None), None)
    except (OSError, UnicodeError, LookupError, csv.Error):
        return None  # the row alone is said


def place_of(source: TableSource, row: int, form: TextForm) -> str:
    """Say where a row is: its line in a text file, from 1; else its number, from 0."""
    line = _line(source, row, form) if source.is_text else None
    return f" at row {row:,}" if line is None else f" in line {line:,}"


def _words(source: TableSource, cell: Cell, form: TextForm, label: str | None) -> str:
    at = "" if cell.row is None else place_of(source, cell.row, form)
    value = cell.value
    head = f"{source.where}, column {cell.name!r}: {shown(value)}{at} is not a number."
    if value.strip() == cell.name:
        return (
            f"{head} It is the column's name: a second header, as where two files were put "
            "together? Remove that line."
        )
    if DECIMAL_COMMA.fullmatch(value):
        return f"{head} If the comma is decimal, pass --decimal ,"
    if THOUSANDS.fullmatch(value):
        return f"{head} Marks between thousands are not read: write the number without them."
    if PERCENT.fullmatch(value):
        return f"{head} Percentages are not read: write 0.2 for 20%."
    flag = "VALUE" if len(value) > LONGEST else shell_word(value)
    if cell.name == label:
        return (
            f"{head} If labels are words, name the event with --positive; if it means not "
            f"labelled, pass --unlabelled {flag}."
        )
    return (
        f"{head} If it means missing, pass --missing {flag}; otherwise correct it, or name another "
        "column."
    )


def refuse_nested(source: TableSource, columns: Mapping[str, str | None]) -> None:
    """Refuse columns whose cells are lists or records: each must hold one value a row."""
    import pyarrow as pa

    for flag, name in columns.items():
        if name is not None and name in source.types and pa.types.is_nested(source.types[name]):
            held = str(source.types[name])
            held = held if len(held) <= LONGEST else f"{held[:LONGEST]} ..."
            raise DataError(
                "{table}, column {column!r}: each cell holds several values ({held}), and "
                "{option} needs one.",
                code="nested-column",
                table=source.where,
                column=name,
                held=held,
                option=flag,
                remedy="Name another column, or extract the value first.",
            )


def shown(value: Any) -> str:
    """Return a value as a message shows it: numbers plain, text in quotes, long text cut."""
    if isinstance(value, float):
        return f"{value:g}"
    text = repr(value)
    return text if len(text) <= LONGEST else f"{text[:LONGEST]} ..."
