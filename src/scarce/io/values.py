"""Arrow values as NumPy numbers: one code path for dictionaries, string views, nulls and chunks.

Does not know what a column means: see schema.py.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.errors import DataError
from scarce.io.labels import is_number
from scarce.io.text import TextForm

MOST_TEXT = 2**31 - 1  # bytes that an Arrow array of text can hold


def numbers(values: pa.ChunkedArray, name: str, start: int, missing: Sequence[Any]) -> Array:
    """Return a column as float64, NaN where a value is missing or means missing."""
    values = plain(values, name)
    if pa.types.is_boolean(values.type):
        values = values.cast(pa.int8())
    if not (pa.types.is_integer(values.type) or pa.types.is_floating(values.type)):
        try:
            values = values.cast(pa.float64())
        except (pa.ArrowInvalid, pa.ArrowNotImplementedError) as error:
            raise DataError(
                f"Column {name!r}{_first_word(values, start)}: numbers are needed there. If a word "
                f"means missing, pass missing=[...]; else mend the column, or leave it out."
            ) from error
    found = floats(values)
    hidden = [float(value) for value in missing if is_number(value)]
    if hidden:
        found = np.where(np.isin(found, hidden), np.nan, found)
    return found


def _first_word(values: pa.ChunkedArray, start: int) -> str:
    """Say which value is no number, and where; for columns of another kind, which kind."""
    if not pa.types.is_string(values.type):
        return f" is of type {values.type}"
    for row, value in enumerate(values):
        try:
            value.cast(pa.float64())
        except pa.ArrowInvalid:
            return f" holds {value.as_py()[:40]!r} at row {start + row:,}"
    return ""


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
        f"Column {name!r} holds over 2 GB of text in one part of the table ({seen}), which is no "
        f"category. Leave it out with drop=[{name!r}]."
    )


def value_set(values: Sequence[Any], kind: pa.DataType) -> pa.Array:
    """Return the given values as far as they can occur in a column of this type."""
    fitting = []
    for value in values:
        try:
            fitting.append(pa.scalar(value, type=kind).as_py())
        except (pa.ArrowInvalid, pa.ArrowTypeError, TypeError, ValueError):
            fitting.append(None)
    return pa.array(fitting, type=kind)


def nothing(values: pa.ChunkedArray, also: Sequence[Any]) -> pa.ChunkedArray:
    """Return where a value is null, NaN, empty text, or one of those that mean the same."""
    null = pc.is_null(values, nan_is_null=True)
    if pa.types.is_string(values.type):
        null = pc.or_(null, pc.fill_null(pc.equal(values, ""), False))
    known = value_set(also, values.type).drop_null()
    return pc.or_(null, pc.is_in(values, value_set=known)) if len(known) else null


LONGEST_SHOWN = 40  # letters of a cell in a message
UNUSUAL = {  # types that many of Arrow's functions do not know, and what they are read as
    pa.float16(): pa.float32(),
    pa.string_view(): pa.string(),
    pa.binary_view(): pa.binary(),
}


def number_column(
    table: pa.Table,
    name: str,
    *,
    where: str = "The table",
    start: int = 0,
    form: TextForm | None = None,
) -> NDArray[np.float64]:
    """Return a column as float64, NaN where a value is missing.

    Parameters
    ----------
    table : pyarrow.Table
    name : str
        The column: numbers, booleans, or text that spells numbers.
    where : str
        The table's name, for messages.
    start : int
        Number of the table's first row, for messages.
    form : TextForm, optional
        How numbers are spelled in text: decimal point, words that mean missing.

    Examples
    --------
    >>> number_column(pa.table({"score": ["1.5", "", "NA"]}), "score")
    array([1.5, nan, nan])
    >>> number_column(pa.table({"score": ["1.5", "high"]}), "score")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: The table, column 'score': 'high' at row 1 is not a number. ...
    """
    values = table.column(name)
    if pa.types.is_dictionary(values.type):
        values = values.cast(values.type.value_type)
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        bare = pc.utf8_trim_whitespace(values)
        words = (form or TextForm()).nothing
        blank = pc.is_in(bare, value_set=pa.array(words, bare.type))
        bare = pc.if_else(blank, pa.scalar(None, bare.type), bare)
        try:
            try:
                values = _plain_point(bare, form).cast(pa.float64())
            except pa.ArrowInvalid:
                values = _plain_point(_without_truths(bare), form).cast(pa.float64())
        except pa.ArrowInvalid:
            place, seen = _first_bad(bare, form)
            seen = seen if len(seen) <= LONGEST_SHOWN else seen[:LONGEST_SHOWN] + "..."
            raise DataError(
                f"{where}, column {name!r}: {seen!r} at row {start + place:,} is not a number. "
                f"{_way_out(seen)}"
            ) from None
    elif pa.types.is_boolean(values.type):
        values = values.cast(pa.int8()).cast(pa.float64())
    elif not (
        pa.types.is_floating(values.type)
        or pa.types.is_integer(values.type)
        or pa.types.is_decimal(values.type)
        or pa.types.is_null(values.type)
    ):
        raise DataError(
            f"{where}, column {name!r} holds {values.type}, and numbers are needed. Name another "
            "column, or turn its values into numbers first."
        )
    else:
        values = values.cast(pa.float64(), safe=False)
    return np.asarray(values.to_numpy(), dtype=np.float64)


def _without_truths(words: pa.ChunkedArray) -> pa.ChunkedArray:
    """Spell true and false, however they are written, as 1 and 0."""
    low = pc.utf8_lower(words)
    words = pc.if_else(pc.equal(low, "true"), pa.scalar("1", words.type), words)
    return pc.if_else(pc.equal(low, "false"), pa.scalar("0", words.type), words)


def _plain_point(words: pa.ChunkedArray, form: TextForm | None) -> pa.ChunkedArray:
    """Spell numbers with a point; 1.234 beside a decimal comma is 1234, so it is refused."""
    if form is None or form.decimal == ".":
        return words
    if pc.any(pc.match_substring(words, ".")).as_py():
        raise pa.ArrowInvalid("a point beside another decimal point")
    return pc.replace_substring(words, form.decimal, ".")


def _way_out(seen: str) -> str:
    """What to do about a word where a number should be.

    Examples
    --------
    >>> _way_out("0,5"), _way_out("20%")
    ("If it has a decimal comma, pass decimal=','.", 'Percentages are not read: write 0.2 for 20%.')
    """
    if re.fullmatch(r"-?\d+,\d+", seen):
        return "If it has a decimal comma, pass decimal=','."
    if re.fullmatch(r"-?\d{1,3}([., ']\d{3})+([.,]\d+)?|-?\d+([.,]\d+){2,}", seen):
        return "Marks between thousands are not read: write the number without them."
    if re.fullmatch(r"-?[\d.,]+ ?%", seen):
        return "Percentages are not read: write 0.2 for 20%."
    return f"If it means missing, pass missing={seen!r}."


def _first_bad(values: pa.ChunkedArray, form: TextForm | None) -> tuple[int, str]:
    point = "." if form is None else form.decimal
    for place, value in enumerate(values.to_pylist()):
        if value is not None and value.lower() not in ("true", "false"):
            try:
                float("?" if point != "." and "." in value else value.replace(point, "."))
            except ValueError:
                return place, value
    return 0, str(values[0].as_py())


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
        place = table.column_names.index(name)
        values = table.column(name)
        lost = pc.is_in(values, value_set=pa.array((form or TextForm()).nothing, values.type))
        if pc.any(lost).as_py():
            held = pc.if_else(lost, pa.scalar(None, values.type), values)
            table = table.set_column(place, name, held)
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
    numbers = pa.types.is_integer(kind) or pa.types.is_floating(kind)
    if not (numbers or pa.types.is_string(kind) or pa.types.is_large_string(kind)):
        return values
    meant = []
    for word in map(str, missing):
        try:
            meant.append(pa.scalar(word).cast(kind) if numbers else pa.scalar(word, kind))
        except pa.ArrowInvalid:  # a word, or a fraction among integers: no value of this column
            continue
    if not meant:
        return values
    lost = pc.is_in(values, value_set=pa.array([one.as_py() for one in meant], kind))
    return pc.if_else(lost, pa.scalar(None, kind), values)


def usual_types(table: pa.Table) -> pa.Table:
    """Return a table without the types that many of Arrow's functions do not know."""
    for place, field in enumerate(table.schema):
        if field.type in UNUSUAL:
            column = table.column(place).cast(UNUSUAL[field.type])
            table = table.set_column(place, field.name, column)
    return table
