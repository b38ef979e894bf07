"""What Arrow says of a bad file, in words that its owner can act on."""

from __future__ import annotations

import csv
import errno
import io
import os
import re
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa

from scarce.errors import DataError

SCANNED_BYTES = 2**28  # read again to find the line of a mistake: some five seconds


class said_well:
    """Turn what Arrow says of a bad file into what its owner can act on.

    Parameters
    ----------
    where : str
        Name of the file.
    encoding : str
        As asked for.
    ragged : callable, optional
        Finds the line with too many or too few values and says it: see `ragged_line`.
    names : sequence of str
        The columns, where they are known.
    """

    def __init__(
        self,
        where: str,
        encoding: str = "",
        *,
        ragged: Callable[[], str | None] | None = None,
        names: Sequence[str] = (),
    ) -> None:
        self.where = where
        self.encoding = encoding
        self.ragged = ragged
        self.names = names

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, UnicodeEncodeError):  # of the file's name, not of its content
            return
        if isinstance(error, (pa.ArrowException, OSError, UnicodeError)):
            raise DataError(self._words(str(error))) from error

    def _words(self, text: str) -> str:
        first = text.splitlines()[0] if text else "no reason given"
        if len(first) > 120:
            first = first[:120] + " ..."
        low = text.lower()
        if "expected" in low and "columns, got" in low:
            found = self.ragged() if self.ragged is not None else None
            return (
                f"{self.where} is ragged: {found or first}. Every line needs as many values as the "
                "header; check for a missing or an unquoted delimiter."
            )
        if "straddling" in low:
            return (
                f"{self.where} has a line of over a megabyte, which is not a row of a table. Check "
                "the line ends and the delimiter, or an unclosed quote."
            )
        if "utf8" in low or "utf-8" in low or "codec" in low or "decode" in low:
            return (
                f"{self.where} is not {self.encoding or 'UTF-8'} text ({first}). Pass its "
                "encoding, such as encoding='latin-1'."
            )
        if "empty csv" in low:
            return f"{self.where} holds no table: {first}. Check how it was written."
        if "conversion error" in low:
            return (
                f"{self.where}: {self._named(first)}. If the value means missing, pass missing="
                "[...]; if the column is a category, pass categories=[...]."
            )
        if self.encoding:
            return (
                f"{self.where} cannot be read ({first}). It may be cut short or damaged: copy or "
                "write it again."
            )
        return (
            f"{self.where} cannot be read (pyarrow {pa.__version__}: {first}). It may be cut short "
            "or damaged, or in a form that this pyarrow cannot read: copy or write it again, or "
            "upgrade pyarrow."
        )

    def _named(self, text: str) -> str:
        """Put a column's name where Arrow gives its number."""
        found = re.search(r"In CSV column #(\d+)(?:: Row #\d+)?", text)
        if found is None or int(found[1]) >= len(self.names):
            return text
        return text.replace(found[0], f"column {self.names[int(found[1])]!r}")


def no_such_file(path: Path, hint: str = "") -> DataError:
    """Say that a file is not there, or which symbolic link leads nowhere; `hint` names another."""
    if not path.is_symlink():
        return DataError(f"There is no file {path}.{hint} Check the path.")
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return DataError(
                f"{path} is a symbolic link that leads back to itself. Give the file itself."
            )
    return DataError(
        f"{path} is a symbolic link to {os.readlink(path)}, which is not there. Give the file "
        "itself."
    )


def with_names(schema: pa.Schema, where: str) -> pa.Schema:
    """Return the schema of a binary file, or refuse what nobody writes: bits were lost.

    Names that are no text, and decimal numbers with more places behind the point than digits.
    """
    try:
        schema.names  # noqa: B018 - read for its error
    except UnicodeError:
        raise DataError(
            f"{where} cannot be read (the name of a column is no text). It is damaged: copy or "
            "write it again."
        ) from None
    for name, kind in zip(schema.names, schema.types, strict=True):
        if pa.types.is_decimal(kind) and not 0 <= kind.scale <= kind.precision:
            raise DataError(
                f"{where} cannot be read (column {name!r} is {kind}, which has fewer digits than "
                "places). It is damaged: copy or write it again."
            )
    return schema


def ragged_line(
    file: BinaryIO, delimiter: str, encoding: str = "utf-8", most: int = SCANNED_BYTES
) -> str | None:
    r"""Find the first line that has another number of values than the first, and say it.

    Examples
    --------
    >>> ragged_line(io.BytesIO(b"a,b\n1,2\n\n1,2,3\n"), ",")
    "line 4 has 3 values ('1,2,3') and the first has 2"
    """
    text = io.TextIOWrapper(file, encoding=encoding, errors="replace", newline="")
    expected = line = walked = 0
    try:
        rows = csv.reader(text, delimiter=delimiter)
        for row in rows:
            begin, line = line + 1, rows.line_num
            walked += sum(map(len, row)) + len(row)
            if row and not expected:
                expected = len(row)
            elif row and len(row) != expected:
                shown = delimiter.join(row)
                shown = shown if len(shown) <= 60 else shown[:60] + "..."
                values = "1 value" if len(row) == 1 else f"{len(row):,} values"
                last = ", the last one empty," if len(row) > expected and not row[-1] else ""
                return f"line {begin:,} has {values} ({shown!r}){last} and the first has {expected}"
            if walked > most:
                return None
    except (csv.Error, UnicodeError):  # no better than Arrow, then
        return None
    finally:
        text.detach()
    return None
