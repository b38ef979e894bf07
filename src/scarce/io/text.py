"""How is a text file written, and how is Arrow told so?

A text file says nothing about itself. `TextForm` is what its owner says of it (delimiter, encoding,
decimal point, header, words for missing values); here and nowhere else it becomes settings of
Arrow's parser. The first bytes give away what a parser would complain about far from the cause: a
workbook, UTF-16, a web page, another delimiter. What Arrow says of a bad file is put into words
that its owner can act on. Does not open files: see source.py. Does not guess an encoding among
those of one byte a letter: bytes alone cannot tell them apart.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from types import TracebackType
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from scarce.errors import Argument, DataError, Problem, UsageError, suggest
from scarce.io.locate import at

ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "cp437", "shift_jis", "gb18030")
NOTHING = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")
PADDED = re.compile(r"0\d+")  # a code, such as 007; numbers are not written so
PADDED_BYTES = 2**16  # of the beginning, in which codes are looked for

_FOREIGN = {
    b"PK\x03\x04": ("a workbook or a ZIP archive", "Save the sheet as CSV, or unpack the archive."),
    b"\xd0\xcf\x11\xe0": ("an old workbook", "Save the sheet as CSV."),
}
_WIDE_MARKS = {
    codecs.BOM_UTF32_LE: "utf-32",  # before UTF-16, whose mark it begins with
    codecs.BOM_UTF32_BE: "utf-32",
    codecs.BOM_UTF16_LE: "utf-16",
    codecs.BOM_UTF16_BE: "utf-16",
}
_CONVERSION = re.compile(  # with one core Arrow names the row of its block, too
    r"In CSV column #(\d+): (?:Row #\d+: )?CSV conversion error to (\w+): invalid value '(.*)", re.S
)
_NUMBERS = ("int64", "double")  # what Arrow calls numbers in that sentence


@dataclass(frozen=True)
class TextForm:
    """How a text file is written.

    Parameters
    ----------
    delimiter : str, optional
        A comma by default, a tab for .tsv and .tab.
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
                    "{mark} must be one ASCII character, and no quote or line end.",
                    code="text-mark",
                    mark=Argument(name, mark),
                )
        try:
            "a,1".encode(self.encoding).decode(self.encoding)  # base64 is a codec, but of no text
        except (LookupError, ValueError):
            raise UsageError(
                "{encoding} is not a known text encoding.{hint}",
                code="unknown-encoding",
                encoding=Argument("encoding", self.encoding),
                hint=suggest(self.encoding, ENCODINGS),
                remedy="Common ones are utf-8, latin-1, cp1252 and utf-16.",
            ) from None


# --- settings of Arrow's parser -------------------------------------------------------------------


def read_options(form: TextForm, **more: Any) -> pacsv.ReadOptions:
    """Encoding and header."""
    return pacsv.ReadOptions(
        encoding=form.encoding, autogenerate_column_names=not form.header, **more
    )


def delimiter_of(form: TextForm, kind: str) -> str:
    """Return what separates values: as asked for, else by the format, "csv" or "tsv"."""
    return form.delimiter or ("\t" if kind == "tsv" else ",")


def parse_options(form: TextForm, kind: str) -> pacsv.ParseOptions:
    """Delimiter and quotes."""
    return pacsv.ParseOptions(delimiter=delimiter_of(form, kind), newlines_in_values=True)


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


# --- the first bytes ------------------------------------------------------------------------------


def look_at_head(
    where: str,
    head: bytes,
    *,
    whole: bool,
    encoding: str = "utf-8",
    delimiter: str | None = None,
    usual: str = ",",
) -> None:
    r"""Refuse a text file whose beginning shows that it cannot be read as it was asked for.

    Parameters
    ----------
    where : str
        Name of the file, for messages.
    head : bytes
        Its first bytes, decompressed.
    whole : bool
        Whether these are all of them.
    encoding : str
    delimiter : str or None
        As asked for; None where `usual` was taken.
    usual : str
        The delimiter by the file's ending.

    Examples
    --------
    >>> look_at_head("a.csv", "a,b\n1,2\n".encode("utf-16"), whole=True)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: a.csv is UTF-16 text, not utf-8. Pass encoding='utf-16'.
    """
    for begin, (what, remedy) in _FOREIGN.items():
        if head.startswith(begin):
            raise DataError(
                "{file} is {what}, not text.",
                code="foreign-format",
                file=where,
                what=what,
                remedy=remedy,
            )
    asked = codecs.lookup(encoding).name
    wide = _wide(head)
    if wide is not None and asked[:6] != wide[:6]:
        raise _wrong_encoding(where, encoding, f"{wide[:6].upper()} text", wide)
    if asked[:6] not in ("utf-16", "utf-32"):
        refuse_nul(where, head)
    if head.startswith(codecs.BOM_UTF8) and asked not in ("utf-8", "utf-8-sig"):
        raise _wrong_encoding(where, encoding, "UTF-8 text by its first bytes", "utf-8")
    try:
        text = _text(head, encoding)
    except UnicodeError as error:
        raise DataError(
            "{file} is not {encoding} text ({reason}).",
            code="wrong-encoding",
            file=where,
            encoding=encoding,
            reason=str(error),
            argument=Argument("encoding", wide or ...),
            remedy="Pass {argument}." if wide else "Leave the encoding out, or pass {argument}.",
        ) from error
    lines = [line for line in re.split(r"[\r\n]+", text) if line.strip()]
    if not lines:
        if whole:
            raise _empty(where, "only blanks")
        return
    _refuse_markup(where, lines[0])
    if delimiter is None and usual not in lines[0]:
        _refuse_other_delimiter(where, lines, usual)


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
    lines = io.StringIO(_text(head[:PADDED_BYTES], encoding), newline="")
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
        raise nul_bytes(where, content.count(b"\n", 0, place) + 1)


def nul_bytes(where: str, line: int) -> DataError:
    """Return the error for a text with bytes of value 0, the first of them in this line."""
    return DataError(
        "{file} holds bytes of value 0 (NUL), the first in line {line:,}: it is damaged, or not "
        "text.",
        code="nul-bytes",
        file=where,
        line=line,
        remedy="Copy or write it again.",
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


def _wrong_encoding(where: str, asked: str, what: str, right: str) -> DataError:
    return DataError(
        "{file} is {what}, not {asked}.",
        code="wrong-encoding",
        file=where,
        what=what,
        asked=asked,
        encoding=Argument("encoding", right),
        remedy="Pass {encoding}.",
    )


def _empty(where: str, what: str) -> DataError:
    return DataError(
        "{file} holds no table: {what}.",
        code="empty-file",
        file=where,
        what=what,
        remedy="Check how it was written.",
    )


def _refuse_markup(where: str, first: str) -> None:
    if first.lower().lstrip().startswith(("<!doctype", "<html", "<?xml")):
        raise DataError(
            "{file} is a web page or XML, not a table: it begins with {value!r}.",
            code="foreign-format",
            file=where,
            value=first[:20],
            remedy="Download the file itself, or save the table as CSV.",
        )
    mark = re.fullmatch(r"sep=(.)", first.strip(), flags=re.IGNORECASE)
    if mark:
        raise DataError(
            "{file} begins with {value!r}, a note for a spreadsheet.",
            code="spreadsheet-note",
            file=where,
            value=first.strip(),
            delimiter=Argument("delimiter", mark[1]),
            remedy="Delete that line and pass {delimiter}.",
        )


def _refuse_other_delimiter(where: str, lines: list[str], usual: str) -> None:
    other = next((mark for mark in ";\t|," if mark != usual and mark in lines[0]), None)
    if other is None:
        return
    # In a language with decimal commas spreadsheets write semicolons.
    commas = other != "," and any(re.search(r"\d,\d", line) for line in lines[1:100])
    raise DataError(
        "{file} has one column, named {value!r}: its values look separated by {mark!r}.",
        code="wrong-delimiter",
        file=where,
        value=lines[0][:60],
        mark=other,
        delimiter=Argument("delimiter", other),
        decimal=Argument("decimal", ","),
        remedy="Pass {delimiter} and, for its decimal commas, {decimal}."
        if commas
        else "Pass {delimiter}.",
    )


# --- what Arrow says ------------------------------------------------------------------------------


class explained:
    """Turn what Arrow says of a bad file into what its owner can act on.

    Parameters
    ----------
    where : str
        Name of the file.
    encoding : str
        Of text, as asked for.
    ragged : callable, optional
        Finds the line with too many or too few values: see `Locator.ragged`.
    names : callable, optional
        Returns the columns, where they are known.
    """

    def __init__(
        self,
        where: str,
        encoding: str = "",
        *,
        ragged: Callable[[], Problem | None] | None = None,
        names: Callable[[], Sequence[str]] = tuple,
    ) -> None:
        self.where = where
        self.encoding = encoding
        self.ragged = ragged
        self.names = names

    def __enter__(self) -> None:
        pass

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if isinstance(error, UnicodeEncodeError):  # of the file's name, not of its content
            return
        if isinstance(error, (pa.ArrowException, OSError, UnicodeError)):
            raise self._in_words(str(error)) from error

    def _in_words(self, text: str) -> DataError:
        first = text.splitlines()[0] if text else "no reason given"
        first = first if len(first) <= 120 else first[:120] + " ..."
        low = text.lower()
        found = _CONVERSION.search(text)
        if "expected" in low and "columns, got" in low:
            return self._ragged(first)
        if "straddling" in low:
            return DataError(
                "{file} has a line of over a megabyte, too long for a row of a table.",
                code="long-line",
                file=self.where,
                remedy="Check the line ends and the delimiter, and look for an unclosed quote.",
            )
        if "empty csv" in low:
            return no_rows(self.where, header=True)  # one line without an end; blanks are known
        if found is not None:
            return self._misfit(int(found[1]), found[2], found[3])
        if "utf8" in low or "utf-8" in low or "codec" in low or "decode" in low:
            return not_encoded(self.where, self.encoding or "UTF-8", first)
        return DataError(
            "{file} cannot be read ({reason}). It may be cut short or damaged{other}.",
            code="unreadable-file",
            file=self.where,
            reason=first if self.encoding else f"pyarrow {pa.__version__}: {first}",
            other="" if self.encoding else ", or in a form that this pyarrow cannot read",
            remedy="Copy or write it again."
            if self.encoding
            else "Copy or write it again, or upgrade pyarrow.",
        )

    def _ragged(self, first: str) -> DataError:
        found = self.ragged() if self.ragged is not None else None
        return DataError(
            "{file} is ragged: {seen}.",
            code="ragged-line",
            file=self.where,
            seen=found or first,
            line=None if found is None else found.fields["line"],
            remedy="Every line needs as many values as the header; check for a missing or an "
            "unquoted delimiter.",
        )

    def _misfit(self, column: int, kind: str, rest: str) -> DataError:
        """Say which value does not fit the type of its column."""
        names = self.names()
        name = names[column] if column < len(names) else f"#{column}"
        value = rest.split("'. ")[0].rstrip("'")
        if kind in _NUMBERS:
            from scarce.io.values import not_a_number

            return not_a_number(name, value, file=self.where)
        return DataError(
            "{place}: {value!r} does not fit, the rows before it are of type {kind}.",
            code="type-mismatch",
            place=at(name, None, self.where),
            file=self.where,
            column=name,
            value=value[:60],
            kind=kind,
            missing=Argument("missing", [value]),
            categories=Argument("categories", [name]),
            remedy=[
                "If it means missing, pass {missing}.",
                "If the column is a category, pass {categories}.",
            ],
        )


def no_rows(where: str, *, header: bool = False) -> DataError:
    """Return the error for a table without rows; with a header, its one line may be values."""
    remedy = ["Check the filter or the file that it came from."]
    if header:
        remedy.append("If its one line holds values and not names, pass {header}.")
    return DataError(
        "{file} has no rows.",
        code="no-rows",
        file=where,
        header=Argument("header", False),
        remedy=remedy,
    )


def not_encoded(where: str, encoding: str, reason: str) -> DataError:
    """Return the error for text that is not in the encoding asked for."""
    return DataError(
        "{file} is not {asked} text ({reason}).",
        code="wrong-encoding",
        file=where,
        asked=encoding,
        reason=reason,
        encoding=Argument("encoding", "latin-1"),
        remedy="Pass its encoding, such as {encoding}.",
    )
