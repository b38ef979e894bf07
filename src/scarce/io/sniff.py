"""What does the beginning of a text file give away, before anyone parses it?

A parser takes a workbook, UTF-16 or a web page for a table with odd names, and complains about
something far from the cause. The first bytes tell them apart. Does not guess an encoding among
those of one byte a letter: they cannot be told apart from bytes alone.
"""

from __future__ import annotations

import codecs
import contextlib
import csv
import io
import re
from collections.abc import Sequence

from scarce.errors import DataError

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
