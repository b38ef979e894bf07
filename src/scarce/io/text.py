"""Rows in text: CSV and TSV, plain or compressed, parsed once.

Text can only be read from its beginning, and parsing it costs more than every fit: it is parsed
into memory or into the cache (see cache.py), never once per pass. A text file says nothing about
itself, so what looks wrong (another delimiter, no header, a row number written along, an open
quote) is said.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import errno
import io
import os
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import pyarrow as pa
import pyarrow.csv as pacsv

from scarce.errors import DataError, UsageError, suggest

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "cp437", "shift_jis", "gb18030")
NOTHING = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")


@dataclass(frozen=True)
class TextForm:
    """How a text file is written.

    Parameters
    ----------
    delimiter : str, optional
        A comma by default, a tabulator for .tsv and .tab.
    encoding : str
        Such as "utf-8" or "latin-1".
    decimal : str
        The decimal point.
    header : bool
        Whether the first line names the columns; otherwise they are f0, f1, ...
    missing : sequence
        Words that mean missing, beside the usual ones.
    only_empty : bool
        Whether the usual ones, such as NA and null, are words like others: NA is Namibia too.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    missing: tuple[Any, ...] = ()
    only_empty: bool = False

    @property
    def nothing(self) -> tuple[str, ...]:
        """The words that mean missing.

        Examples
        --------
        >>> "NA" in TextForm().nothing, TextForm(missing=("-9",), only_empty=True).nothing
        (True, ('', '-9'))
        """
        return (*(("",) if self.only_empty else NOTHING), *map(str, self.missing))

    def __post_init__(self) -> None:
        for name in ("delimiter", "decimal"):
            mark = getattr(self, name)
            if mark is not None and (len(mark) != 1 or mark in '\r\n\0"' or not mark.isascii()):
                raise UsageError(
                    f"{name}={mark!r} is not one character that can stand within a line. Pass "
                    f"{name}= with one, such as {name}=','."
                )
        try:
            "a,1".encode(self.encoding).decode(self.encoding)  # base64 is a codec, but of no text
        except (LookupError, ValueError):
            raise UsageError(
                f"encoding={self.encoding!r} is not known."
                f"{suggest(self.encoding, ENCODINGS)} Pass encoding= with a name such as 'utf-8', "
                "'latin-1', 'cp1252' or 'utf-16'."
            ) from None


HEAD_BYTES = 2**16
PADDED = re.compile(r"0\d+")  # a code, such as 007; numbers are not written so

_FOREIGN = {
    b"\x1f\x8b": "is packed by gzip and its name does not say so. Let the name end in .csv.gz.",
    b"\x28\xb5\x2f\xfd": "is packed by zstd and its name does not say so. Let it end in .csv.zst.",
    b"PK\x03\x04": "is a workbook or a ZIP archive, not text. Save the sheet as CSV, or unpack it.",
    b"\xd0\xcf\x11\xe0": "is an old workbook, not text. Save the sheet as CSV.",
}
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}


def look_at_head(
    where: str,
    head: bytes,
    *,
    whole: bool,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    usual: str = ",",
    header: bool = True,
) -> None:
    r"""Refuse a text file whose beginning shows that it cannot be read as it was asked for.

    Parameters
    ----------
    where : str
        Name of the file, for messages.
    head : bytes
        Its first bytes, unpacked.
    whole : bool
        Whether these are all of them.
    encoding : str
    delimiter : str or None
        As asked for; None where `usual` was taken.
    usual : str
        The delimiter by the file's ending.
    header : bool
        Whether the first line names the columns.

    Examples
    --------
    >>> look_at_head("a.csv", "a,b\n1,2\n".encode("utf-16"), whole=True)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: a.csv is UTF-16 text, not utf-8. Pass encoding='utf-16'.
    """
    for begin, words in _FOREIGN.items():
        if head.startswith(begin):
            raise DataError(f"{where} {words}")
    asked = codecs.lookup(encoding).name
    wide = _wide(head)
    if wide is not None and asked[:6] != wide[:6]:
        raise DataError(
            f"{where} is {wide[:6].upper()} text, not {encoding}. Pass encoding={wide!r}."
        )
    if asked[:6] not in ("utf-16", "utf-32"):
        refuse_nul(where, head)
    if head.startswith(codecs.BOM_UTF8) and asked not in ("utf-8", "utf-8-sig"):
        raise DataError(
            f"{where} begins with the mark of UTF-8 text, and encoding={encoding!r} was asked for. "
            "Pass encoding='utf-8'."
        )
    try:
        text = _text(head, encoding)
    except UnicodeError as error:
        right = f"Pass encoding={wide!r}." if wide else "Leave encoding= out, or pass its own."
        raise DataError(f"{where} is not {encoding} text ({error}). {right}") from error
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
    if not lines:
        if whole:
            raise DataError(f"{where} holds no table, only blank. Check how it was written.")
        return
    _look_at_first(where, lines[0])
    if delimiter is None and usual not in lines[0]:
        _refuse_other_delimiter(where, lines, usual)
    if header and whole and len(lines) == 1:
        raise DataError(
            f"{where} has no rows: its one line is taken for the names of the columns. Check the "
            "filter that it came from; if the line holds values, pass header=False."
        )


def padded_columns(
    head: bytes, delimiter: str, encoding: str, names: Sequence[str], header: bool
) -> dict[str, str]:
    r"""Return the columns in whose first rows a number begins with 0, and the first such value.

    Examples
    --------
    >>> padded_columns(b"zip,share\n00501,0.5\n10001,0\n", ",", "utf-8", ["zip", "share"], True)
    {'zip': '00501'}
    """
    found: dict[str, str] = {}
    lines = io.StringIO(_text(head, encoding), newline="")
    with contextlib.suppress(csv.Error):  # which the parser will say better
        for number, row in enumerate(csv.reader(lines, delimiter=delimiter)):
            if len(row) == len(names) and (number > 0 or not header):
                for name, value in zip(names, row, strict=True):
                    if PADDED.fullmatch(value):
                        found.setdefault(name, value)
    return found


def refuse_nul(where: str, content: bytes) -> None:
    """Refuse bytes of value 0, which text never holds."""
    place = content.find(0)
    if place >= 0:
        line = content.count(b"\n", 0, place) + 1
        raise DataError(
            f"{where} holds bytes of value 0 (NUL), the first on line {line:,}: it is damaged, or "
            "no text. Copy or write it again."
        )


def _wide(head: bytes) -> str | None:
    """Tell text of two or four bytes a letter, by its mark or by the zeros of plain letters."""
    for mark, name in _WIDE_MARKS.items():
        if head.startswith(mark):
            return name
    first, second = head[::2], head[1::2]
    few, many = len(head) // 20, len(head) * 2 // 5
    if second.count(0) > many and first.count(0) <= few:
        return "utf-16-le"
    if first.count(0) > many and second.count(0) <= few:
        return "utf-16-be"
    return None


def _text(head: bytes, encoding: str) -> str:
    # Not to the end: the last letter may be cut in two.
    decoder = codecs.getincrementaldecoder(encoding)(errors="replace")
    return decoder.decode(head).removeprefix("\ufeff")


def _look_at_first(where: str, first: str) -> None:
    if first.lower().lstrip().startswith(("<!doctype", "<html", "<?xml")):
        raise DataError(
            f"{where} is a web page or XML, not a table: it begins with {first[:20]!r}. Download "
            "the file itself, or save the table as CSV."
        )
    mark = re.fullmatch(r"sep=(.)", first.strip(), flags=re.IGNORECASE)
    if mark:
        raise DataError(
            f"{where} begins with {first.strip()!r}, a note for a spreadsheet. Delete that line, "
            f"and pass delimiter={mark[1]!r}."
        )


def _refuse_other_delimiter(where: str, lines: list[str], usual: str) -> None:
    other = next((mark for mark in ";\t|," if mark != usual and mark in lines[0]), None)
    if other is None:
        return
    # In a language with decimal commas spreadsheets write semicolons.
    commas = other != "," and any(re.search(r"\d,\d", line) for line in lines[1:100])
    also = " and, for its decimal commas, decimal=','" if commas else ""
    raise DataError(
        f"{where} has one column, named {lines[0][:60]!r}: its values look separated by {other!r}. "
        f"Pass delimiter={other!r}{also}."
    )


def read_options(form: TextForm, **more: Any) -> pacsv.ReadOptions:
    """Encoding and header."""
    return pacsv.ReadOptions(
        encoding=form.encoding, autogenerate_column_names=not form.header, **more
    )


def parse_options(form: TextForm, kind: str) -> pacsv.ParseOptions:
    """Delimiter and quotes."""
    mark = form.delimiter or ("\t" if kind == "tsv" else ",")
    return pacsv.ParseOptions(delimiter=mark, newlines_in_values=True)


def whole_lines(head: bytes, encoding: str) -> bytes:
    """Return the beginning of a text without its last line, which was cut off somewhere.

    Examples
    --------
    >>> whole_lines("a\\n1\\n2".encode("utf-16"), "utf-16").decode("utf-16")
    'a\\n1\\n'
    """
    if codecs.lookup(encoding).name[:6] not in ("utf-16", "utf-32"):  # a letter is a byte or more
        return head[: head.rfind(b"\n") + 1] or head
    text = codecs.getincrementaldecoder(encoding)().decode(head)
    return text[: text.rfind("\n") + 1].encode(encoding) or head


def convert_options(
    form: TextForm,
    types: Mapping[str, pa.DataType],
    wanted: Sequence[str] | None = None,
    numbers: Collection[str] = (),
    exact: Collection[str] = (),
) -> pacsv.ConvertOptions:
    """Types of the columns wanted: numbers, text as it is written, or what they look like."""
    kinds = {}
    for name in wanted or ():
        seen = types[name]
        if name in numbers:  # true and false are turned into numbers after they are read
            kinds[name] = seen if pa.types.is_boolean(seen) else pa.float64()
        elif name in exact or pa.types.is_null(seen) or pa.types.is_string(seen):
            kinds[name] = pa.string()
        else:
            kinds[name] = seen
    return pacsv.ConvertOptions(
        null_values=list(form.nothing),
        strings_can_be_null=not exact,
        include_columns=wanted,
        column_types=kinds,
        decimal_point=form.decimal,
    )


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
