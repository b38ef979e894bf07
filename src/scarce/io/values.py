"""Arrow columns as NumPy numbers; what is missing, and which cell is not a number.

One path for every source: dictionaries, string views, nulls, chunks, booleans, decimals, and text
that spells numbers. Blank text, and text that spells nothing (NA, null), is missing. A cell that is
not a number is refused in one sentence with its place, whichever way it came in. Does not know what
a column means: see schema.py.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scarce.checks import is_number
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, warn_user
from scarce.io.locate import Locator, cell_error
from scarce.io.text import TextForm

MOST_TEXT = 2**31 - 1  # bytes that an Arrow array of text can hold
FEW_WORDS = 0.02  # of the cells: fewer are worth a word, in a column of numbers otherwise
OFTEN = 10  # times that a word must occur to be a level there
FEW_LEVELS = 10  # of a text column: a frequent word among so few is a level, not a slip
EMPTY = TextForm(only_empty=True)  # of tables in memory: NA is a word there
UNUSUAL = {  # types that many of Arrow's functions do not know, and what they are read as
    pa.float16(): pa.float32(),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}


def brief(value: object) -> str:
    """Return a value as a message can show it: a broken file may hold one of a thousand letters.

    Examples
    --------
    >>> brief("Ulm"), brief("x" * 99)
    ("'Ulm'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...")
    """
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:40] + "..."


# --- numbers --------------------------------------------------------------------------------------


def numbers(
    values: pa.ChunkedArray,
    name: str,
    start: int = 0,
    missing: Sequence[Any] = (),
    form: TextForm = EMPTY,
    file: str = "",
) -> Array:
    """Return a column as float64, NaN where a value is missing or means missing.

    Parameters
    ----------
    values : pyarrow.ChunkedArray
        Numbers, booleans, or text that spells numbers.
    name : str
        The column's name.
    start : int
        Number of the first row.
    missing : sequence
        Numbers that mean missing.
    form : TextForm
        How numbers are spelled in text: decimal point, words that mean missing.
    file : str
        The table's name, for messages.
    """
    values = plain(values, name)
    kind = values.type
    if pa.types.is_boolean(kind):
        values = values.cast(pa.int8())
    elif pa.types.is_string(kind):
        form = replace(form, missing=(*form.missing, *missing)) if missing else form
        values = _spelled_numbers(values, name, start, form, file)
    elif not (
        pa.types.is_integer(kind)
        or pa.types.is_floating(kind)
        or pa.types.is_decimal(kind)
        or pa.types.is_null(kind)
    ):
        raise cell_error(
            "{place}: values of type {kind}, where numbers are needed.",
            code="column-type",
            column=name,
            file=file,
            kind=str(kind),
            remedy="Name another column, or turn its values into numbers first.",
        )
    found = floats(values)
    hidden = [float(value) for value in missing if is_number(value)]
    return np.where(np.isin(found, hidden), np.nan, found) if hidden else found


def number_column(
    table: pa.Table, name: str, *, where: str = "", start: int = 0, form: TextForm | None = None
) -> NDArray[np.float64]:
    """Return a column of a table as float64, NaN where a value is missing; see `numbers`.

    Examples
    --------
    >>> number_column(pa.table({"score": ["1.5", "", "NA"]}), "score")
    array([1.5, nan, nan])
    >>> number_column(pa.table({"score": ["1.5", "high"]}), "score")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: Column 'score', row 1: 'high' is not a number. Pass ...
    """
    found = numbers(table.column(name), name, start, form=form or TextForm(), file=where)
    return found if found.flags.writeable else found.copy()


def _spelled_numbers(
    values: pa.ChunkedArray, name: str, start: int, form: TextForm, file: str
) -> pa.ChunkedArray:
    """Read text that spells numbers, true or false."""
    words = pc.utf8_trim_whitespace(without_blanks(values, form, trim=True))
    try:
        try:
            return _with_point(words, form.decimal).cast(pa.float64())
        except pa.ArrowInvalid:
            return _with_point(_without_truths(words), form.decimal).cast(pa.float64())
    except pa.ArrowInvalid:
        for row, word in enumerate(words.to_pylist()):
            truth = word is None or word.lower() in ("true", "false")
            if not truth and not spells_number(word, form.decimal):
                raise not_a_number(
                    name, values[row].as_py(), start + row, file, decimal=form.decimal
                ) from None
        raise


def _without_truths(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Spell true and false, however they are written, as 1 and 0."""
    low = pc.utf8_lower(words)
    words = pc.if_else(pc.equal(low, "true"), pa.scalar("1", words.type), words)
    return pc.if_else(pc.equal(low, "false"), pa.scalar("0", words.type), words)


def _with_point(words: pa.ChunkedArray, decimal: str) -> pa.ChunkedArray:
    """Spell numbers with a point; 1.234 beside a decimal comma is 1234, so it is refused."""
    if decimal == ".":
        return words
    if pc.any(pc.match_substring(words, ".")).as_py():
        raise pa.ArrowInvalid("a point beside another decimal point")
    return pc.replace_substring(words, decimal, ".")


def floats(values: pa.ChunkedArray) -> Array:
    """Return Arrow numbers as float64, NaN where null; a view where they are that already."""
    array = values.combine_chunks() if isinstance(values, pa.ChunkedArray) else values
    if isinstance(array, pa.ChunkedArray):  # Arrow keeps an empty or over-long column in chunks
        array = pa.concat_arrays(array.chunks) if array.num_chunks else pa.array([], array.type)
    if array.type != pa.float64():
        array = array.cast(pa.float64(), safe=False)
    return view(array.fill_null(np.nan) if array.null_count else array)


def view(numbers: pa.Array) -> Array:
    """See an Arrow array of float64 without nulls as a NumPy array, without copying.

    Arrow's own `to_numpy` imports pandas where that is installed, which costs a first fold more
    than the fold itself.

    Examples
    --------
    >>> view(pa.array([1.0, 2.0, 3.0])[1:])
    array([2., 3.])
    """
    if len(numbers) == 0:
        return np.empty(0)
    return np.frombuffer(
        numbers.buffers()[1], dtype=np.float64, count=len(numbers), offset=8 * numbers.offset
    )


# --- missing values -------------------------------------------------------------------------------


def without_blanks(
    values: pa.ChunkedArray, form: TextForm = EMPTY, *, trim: bool = False
) -> pa.ChunkedArray:
    """Return text with null where it spells nothing, such as NA; `trim` ignores spaces around.

    Examples
    --------
    >>> without_blanks(pa.chunked_array([["Ulm", "", "NA"]]), TextForm()).to_pylist()
    ['Ulm', None, None]
    """
    bare = pc.utf8_trim_whitespace(values) if trim else values
    blank = pc.is_in(bare, value_set=pa.array(form.nothing, values.type))
    if not pc.any(blank).as_py():
        return values
    return pc.if_else(blank, pa.scalar(None, values.type), values)


def blank_as_missing(
    table: pa.Table, names: Sequence[str], form: TextForm | None = None
) -> pa.Table:
    """Return a table in which text of some columns that spells nothing, such as NA, is missing.

    Examples
    --------
    >>> blank_as_missing(pa.table({"city": ["Ulm", "", "NA"]}), ["city"]).to_pydict()
    {'city': ['Ulm', None, None]}
    """
    for name in names:
        held = without_blanks(table.column(name), form or TextForm())
        table = table.set_column(table.column_names.index(name), name, held)
    return table


def without_values(values: pa.ChunkedArray, missing: Sequence[object]) -> pa.ChunkedArray:
    """Return a column with null in place of values that mean missing, spelled as in text.

    Examples
    --------
    >>> without_values(pa.chunked_array([[1.5, -999.0]]), ("-999", "none")).to_pylist()
    [1.5, None]
    >>> without_values(pa.chunked_array([["a", "none"]]), ("-999", "none")).to_pylist()
    ['a', None]
    """
    kind = values.type
    counted = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (counted or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return values
    meant = []
    for word in map(str, missing):
        try:
            meant.append(pa.scalar(word).cast(kind) if counted else pa.scalar(word, kind))
        except pa.ArrowInvalid:  # a word, or a fraction among integers: no value of this column
            continue
    if not meant:
        return values
    lost = pc.is_in(values, value_set=pa.array([one.as_py() for one in meant], kind))
    return pc.if_else(lost, pa.scalar(None, kind), values)


def missing_mask(values: pa.ChunkedArray, also: Sequence[Any]) -> pa.ChunkedArray:
    """Return where a value is null, NaN, empty text, or one of those that mean the same."""
    null = pc.is_null(values, nan_is_null=True)
    if pa.types.is_string(values.type):
        null = pc.or_(null, pc.fill_null(pc.equal(values, ""), False))
    known = value_set(also, values.type).drop_null()
    return pc.or_(null, pc.is_in(values, value_set=known)) if len(known) else null


# --- a cell that is not a number ------------------------------------------------------------------

_THOUSANDS = re.compile(
    r"[-+]?(\d{1,3}([.,' \u2019\u00a0\u202f]\d{3})+([.,]\d+)?|\d+([.,]\d+){2,})"
)
_ASCII = {"\u2212": "-", "\ufe63": "-", "\uff0d": "-", "\uff0b": "+", "\uff0e": ".", "\u066b": "."}
_BESIDE = " \t\u00a0\u202f%$\u20ac\u00a3"  # what may stand around a number
_REMEDIES = {
    "name": "It is the column's own name: remove the second header from the file.",
    "comma": "Pass {decimal} if the comma is decimal.",
    "point": "Pass {decimal} if the point is decimal.",
    "thousands": "Write numbers without separators of thousands.",
    "either": "Pass {decimal} if the comma is decimal; take it out if it separates thousands.",
    "ascii": "Write numbers with the digits 0 to 9, - and a point, and nothing invisible.",
    "beside": "Write numbers without signs beside them; 20% is 0.2.",
    "word": "Pass {missing} if it means missing.",
}


def not_a_number(
    name: str,
    value: str,
    row: int | None = None,
    file: str = "",
    line: int | None = None,
    *,
    decimal: str = ".",
    among: str = "",
    then: str = "",
) -> DataError:
    """Return the error for a cell that is not a number: the one sentence for it.

    Parameters
    ----------
    name, value : str
        The column, and what its cell holds.
    row, file, line
        Where it is, as far as that is known.
    decimal : str
        The decimal point with which text was read.
    among : str
        How many such cells there are.
    then : str
        What happens all the same.

    Examples
    --------
    >>> print(not_a_number("amount", "1,5", 48, "a.csv", 50))
    a.csv, line 50, column 'amount': '1,5' is not a number. Pass decimal=',' if the comma is
    decimal. Pass categories=['amount'] if the column is a category.
    """
    way = "name" if value.strip() == name else written(value, decimal) or "word"
    return cell_error(
        "{place}: {shown} is not a number{among}.{then}",
        code="not-a-number",
        column=name,
        row=row,
        file=file,
        line=line,
        value=value,
        shown=brief(value),
        written=way,
        among=among,
        then=then,
        decimal=Argument("decimal", "." if way == "point" else ","),
        missing=Argument("missing", [value] if len(value) <= 60 else ...),
        categories=Argument("categories", [name]),
        remedy=[_REMEDIES[way], "Pass {categories} if the column is a category."]
        if way != "name"
        else _REMEDIES[way],
    )


def refuse_mixed(
    name: str,
    counts: Mapping[Any, int],
    first_row: Callable[[Any], int],
    decimal: str = ".",
    find: Locator | None = None,
) -> None:
    """Refuse a text column that should have been numbers: a stray word, or another spelling.

    `counts` is how often each value occurs. `first_row` finds the row of a value; it is called only
    for the message. `decimal` is the point with which text was read. Where half of the values are
    words the column is a category, and so is one of a few values where a word is frequent (2, 3, 4
    and "5more" doors); if most of its values or nearly all of its rows are numbers, that is said,
    with the line that `find` finds.
    """
    words = sorted(level for level in counts if isinstance(level, str))
    ways = {word: way for word in words if (way := written(word, decimal)) is not None}
    strays = [word for word in words if word not in ways and not spells_number(word, decimal)]
    if not strays and not ways:
        return
    rows, odd = (sum(counts[word] for word in some) for some in (words, strays))
    often = all(counts[word] >= OFTEN for word in strays)
    few = len(words) <= FEW_LEVELS and odd > FEW_WORDS * rows and often
    mostly = 2 * len(strays) < len(words)
    mixed = mostly and not few
    if strays and (mostly or odd <= FEW_WORDS * rows):
        row = first_row(strays[0])
        among = f" ({odd:,} such cell{'s' if odd != 1 else ''}, while {rows - odd:,} are numbers)"
        if mixed:
            raise not_a_number(name, strays[0], row, decimal=decimal, among=among)
        file, line = ("", None) if find is None else (find.file, find.line(row, name))
        then = f" The column is read as a category of {len(words)} levels."
        warn_user(
            not_a_number(
                name, strays[0], row, file, line, decimal=decimal, among=among, then=then
            ).problem
        )
    if strays:
        return  # words, as a category has them
    for way in _REMEDIES:  # 1,234 may be either: other words tell
        word = next((word for word in ways if ways[word] == way), None)
        if word is not None:
            raise not_a_number(name, word, first_row(word), decimal=decimal)


def written(word: str, decimal: str = ".") -> str | None:
    """Return in which other way a number is written, None for plain numbers and for words.

    Examples
    --------
    >>> [written(word) for word in ("1.5", "1,5", "1,234", "1,234.5", "5 %", "\u22125", "red")]
    [None, 'comma', 'either', 'thousands', 'beside', 'ascii', None]
    """
    if spells_number(word, decimal):
        return None
    if spells_number(in_ascii(word), decimal):
        return "ascii"
    bare = word.strip(_BESIDE)
    if spells_number(bare, decimal):
        return "beside"
    grouped = _THOUSANDS.fullmatch(bare) is not None
    if decimal == "." and re.fullmatch(r"[-+]?\d*,\d+", bare):
        return "either" if grouped else "comma"
    if decimal != "." and not grouped and spells_number(bare, "."):
        return "point"
    return "thousands" if grouped else None


def in_ascii(word: str) -> str:
    """Return text with the digits 0 to 9, - and . for those of other scripts, and less invisible.

    Examples
    --------
    >>> in_ascii("\u2212\u0663\u066b\uff15\u200b\u00a0")
    '-3.5'
    """
    found = []
    for letter in word:
        digit = unicodedata.decimal(letter, None)
        if unicodedata.category(letter) != "Cf":  # byte order marks, joiners, directions of text
            found.append(_ASCII.get(letter, letter) if digit is None else str(digit))
    return "".join(found).strip()


def spells_number(word: str, decimal: str = ".") -> bool:
    """Whether text spells a number with this decimal point, as Arrow reads it.

    Python also reads 1_000, digits of other scripts, and line ends and wide spaces around them.
    """
    if decimal != ".":
        if "." in word:
            return False
        word = word.replace(decimal, ".")
    try:
        float(word)
    except ValueError:
        return False
    return word.isascii() and "_" not in word and word.strip() == word.strip(" \t")


# --- types ----------------------------------------------------------------------------------------


def plain(values: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    """Undo dictionary encoding and string views, so that one code path serves every source."""
    if pa.types.is_dictionary(values.type):
        kind = values.type.value_type
        text = pa.types.is_string_view(kind) or pa.types.is_large_string(kind)
        kind = pa.string() if text else kind
        books = [(chunk.indices, chunk.dictionary.cast(kind)) for chunk in values.chunks]
        for indices, book in books if pa.types.is_string(kind) else ():
            lengths = pc.binary_length(book)
            if (pc.sum(lengths.take(indices)).as_py() or 0) > MOST_TEXT:
                raise _too_long(name, f"a value of {pc.max(lengths).as_py():,} bytes, repeated")
        values = pa.chunked_array([book.take(indices) for indices, book in books], type=kind)
    if pa.types.is_string_view(values.type) or pa.types.is_large_string(values.type):
        try:
            values = values.cast(pa.string())
        except pa.ArrowInvalid as error:
            raise _too_long(name, str(error)) from error
    return values


def _too_long(name: str, seen: str) -> DataError:
    return DataError(
        "Column {column!r} holds over 2 GB of text in one part of the table ({seen}), too much for "
        "a category.",
        code="text-too-long",
        column=name,
        seen=seen,
        drop=Argument("drop", [name]),
        remedy="Leave it out with {drop}.",
    )


def usual_types(table: pa.Table) -> pa.Table:
    """Return a table without the types that many of Arrow's functions do not know."""
    for place, field in enumerate(table.schema):
        if field.type in UNUSUAL:
            column = table.column(place).cast(UNUSUAL[field.type])
            table = table.set_column(place, field.name, column)
    return table


def value_set(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the given values as far as they can occur in a column of this type."""
    fitting = []
    for value in values:
        try:
            fitting.append(pa.scalar(value, type=kind).as_py())
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError):
            fitting.append(None)
    return pa.array(fitting, type=kind)
