"""Where is a row in its file? From its number to file, line and column.

    row 48 of train.csv, column 'age'  ->  train.csv, line 50, column 'age'

Parsers count rows; people open files and count lines. Cells may run over lines, empty lines are not
rows, and the first line may hold names: text is walked again, up to 256 MB of it, and only once
something is wrong. Rows count from 0, lines from 1. A pipe cannot be walked twice, and Parquet has
no lines: there the row is said.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager
from dataclasses import dataclass
from typing import Any, BinaryIO

from scarce.errors import DataError, Problem

SCANNED_BYTES = 2**28  # text that is read again to find a line: some five seconds


def at(column: str, row: int | None = None, file: str = "", line: int | None = None) -> str:
    """Say where a cell is, at the beginning of a sentence.

    Examples
    --------
    >>> at("age", 48), at("age", 48, "a.csv", 50), at("age", 48, "a.parquet")
    ("Column 'age', row 48", "a.csv, line 50, column 'age'", "a.parquet, column 'age', row 48")
    """
    if not file:
        return f"Column {column!r}" + ("" if row is None else f", row {row:,}")
    if line is not None:
        return f"{file}, line {line:,}, column {column!r}"
    return f"{file}, column {column!r}" + ("" if row is None else f", row {row:,}")


def cell_error(
    text: str,
    *,
    code: str,
    column: str,
    row: int | None = None,
    file: str = "",
    line: int | None = None,
    remedy: str | Sequence[str] = (),
    **fields: Any,
) -> DataError:
    """Return an error about a cell or a column; `{place}` says where, and `located` says it better.

    Examples
    --------
    >>> str(cell_error("{place}: {value!r} is odd.", code="odd", column="age", row=3, value="x"))
    "Column 'age', row 3: 'x' is odd."
    """
    place = {"place": at(column, row, file, line), "column": column, "row": row}
    return DataError(text, code=code, remedy=remedy, **place, file=file, line=line, **fields)


@dataclass(frozen=True)
class Locator:
    """Finds the line of a row.

    Parameters
    ----------
    file : str
        The table's name in messages.
    names : callable
        Returns the columns.
    text : callable, optional
        Opens the decompressed bytes of a text that can be read again.
    delimiter, encoding, header
        How it is written.

    Examples
    --------
    >>> raw = b'name,note\\n\\nA,"two\\nlines"\\nB,bad\\n'
    >>> find = Locator("a.csv", lambda: ["name", "note"], lambda: io.BytesIO(raw))
    >>> find.line(0), find.line(1), find.line(2) is None
    (3, 5, True)
    """

    file: str
    names: Callable[[], Sequence[str]] = tuple
    text: Callable[[], AbstractContextManager[BinaryIO]] | None = None
    delimiter: str = ","
    encoding: str = "utf-8"
    header: bool = True

    def line(self, row: int, column: str | None = None) -> int | None:
        """Return the line, from 1, where a row begins, or its cell; None where it has none."""
        names = list(self.names()) if column is not None else []
        before = names.index(column) if column in names else 0
        for number, (begin, cells) in enumerate(self._records()):
            if number == row + self.header:
                return begin + sum(cell.count("\n") for cell in cells[:before])
        return None

    def ragged(self, most: int = SCANNED_BYTES) -> Problem | None:
        r"""Find the first line that has another number of values than the first, and say it.

        Examples
        --------
        >>> Locator("a.csv", text=lambda: io.BytesIO(b"a,b\n1,2\n\n1,2,3\n")).ragged()
        "line 4 has 3 values ('1,2,3') and the first has 2"
        """
        expected = 0
        for line, cells in self._records(most):
            if not expected:
                expected = len(cells)
            elif len(cells) != expected:
                shown = self.delimiter.join(cells)
                return Problem(
                    "line {line:,} has {count} ({value!r}){last} and the first has {expected}",
                    code="ragged-line",
                    line=line,
                    count="1 value" if len(cells) == 1 else f"{len(cells):,} values",
                    value=shown if len(shown) <= 60 else shown[:60] + "...",
                    last=", the last one empty," if len(cells) > expected and not cells[-1] else "",
                    expected=expected,
                )
        return None

    def _records(self, most: int = SCANNED_BYTES) -> Iterator[tuple[int, list[str]]]:
        """Walk the rows as text, header included, each with the line it begins in."""
        if self.text is None:
            return
        with self.text() as file:
            text = io.TextIOWrapper(file, encoding=self.encoding, errors="replace", newline="")
            begin = walked = 0
            try:
                records = csv.reader(text, delimiter=self.delimiter)
                for cells in records:
                    if cells:
                        yield begin + 1, cells
                    begin = records.line_num
                    walked += sum(map(len, cells)) + len(cells)
                    if walked > most:
                        return
            except (csv.Error, UnicodeError, LookupError):  # the row alone is said, then
                return
            finally:
                text.detach()

    def place(self, row: int) -> str:
        """Say where a row is, within a sentence: ` in line 50`, or ` at row 48`."""
        line = self.line(row)
        return f" at row {row:,}" if line is None else f" in line {line:,}"


@contextmanager
def located(find: Locator) -> Iterator[None]:
    """Add the file, and the line of a cell, to an error made where only the table is known."""
    try:
        yield
    except DataError as error:
        fields = error.fields
        if fields.get("file") and ("place" not in fields or fields.get("line")):
            raise
        if "place" not in fields:
            raise error.amended("{file}: ", file=find.file) from error.__cause__
        column, row = fields["column"], fields.get("row")
        line = None if row is None else find.line(row, column)
        place = at(column, row, find.file, line)
        raise error.amended(place=place, file=find.file, line=line) from error.__cause__
