"""How does a table of numbers and words become an array of numbers?

one-hot  every level of a column of words becomes a column ``name=level`` of 0 and 1
codes    a column of words becomes the position of its level among the sorted levels
A missing word is NaN in every column made from it: not seen is not a level. Numbers stay as they
are. Assumes that words are categories; drops no level, so one-hot columns sum to one per variable.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
import pyarrow

from scarce.datasets.arguments import Array

CODINGS = ("one-hot", "codes")


def is_text(column: Any) -> bool:
    """Return whether a pyarrow column holds words.

    Examples
    --------
    >>> is_text(pyarrow.chunked_array([["a", None]])), is_text(pyarrow.chunked_array([[1.0]]))
    (True, False)
    """
    kind = column.type
    return bool(pyarrow.types.is_string(kind) or pyarrow.types.is_large_string(kind))


def numbers_of(column: Any) -> Array:
    """Return a pyarrow column of numbers as float64, NaN where null.

    Examples
    --------
    >>> numbers_of(pyarrow.chunked_array([[1, None]]))
    array([ 1., nan])
    """
    return np.array(column.cast(pyarrow.float64()).to_numpy(), dtype=np.float64)


def encode(
    table: Any, names: Sequence[str], coding: str
) -> tuple[Array, tuple[str, ...], dict[str, tuple[Any, ...]]]:
    """Return the coded array, the names of its columns and the levels of every column of words.

    Examples
    --------
    >>> table = pyarrow.table({"size": [1.5, 2.0, None], "door": ["two", None, "four"]})
    >>> X, columns, levels = encode(table, ["size", "door"], "one-hot")
    >>> columns
    ('size', 'door=four', 'door=two')
    >>> X
    array([[1.5, 0. , 1. ],
           [2. , nan, nan],
           [nan, 1. , 0. ]])
    >>> encode(table, ["door"], "codes")[0].ravel()
    array([ 1., nan,  0.])
    """
    made: list[Array] = []
    columns: list[str] = []
    levels: dict[str, tuple[Any, ...]] = {}
    for name in names:
        column = table[name]
        if not is_text(column):
            made.append(numbers_of(column))
            columns.append(name)
            continue
        words = column.to_pylist()
        levels[name] = tuple(sorted({word for word in words if word is not None}))
        position = {level: float(at) for at, level in enumerate(levels[name])}
        codes = np.array([np.nan if word is None else position[word] for word in words])
        if coding == "codes":
            made.append(codes)
            columns.append(name)
            continue
        for level, at in position.items():
            made.append(np.where(np.isnan(codes), np.nan, (codes == at).astype(np.float64)))
            columns.append(f"{name}={level}")
    X = np.column_stack(made) if made else np.empty((table.num_rows, 0))
    return X, tuple(columns), levels
