"""Arrow values as NumPy numbers: one code path for dictionaries, string views, nulls and chunks.

Does not know what a column means: see schema.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.compute as pc

from scarce.engine.block import Array
from scarce.errors import DataError
from scarce.io.labels import is_number

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
