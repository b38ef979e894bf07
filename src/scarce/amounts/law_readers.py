"""Numbers of a predictive distribution as people hand them over: read, or refused with their row.

One number stands for all rows. What is text, complex, a date, hidden by a mask or of another length
is refused here, so that no other module meets it. Interprets nothing: see predictive.py.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from scarce.checks import column
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError


def finite(values: Any, name: str) -> Array:
    """Return one column of finite numbers (one number: one row), or say where they are not."""
    held = numbers(values, name)
    refuse_infinite(held, name)
    if len(held) == 0:
        raise DataError(f"{name} is empty: there is no row to decide for.")
    return np.array(held)  # a copy: what the user changes later changes no law


def numbers(values: Any, name: str) -> Array:
    """Return one column of numbers, NaN for missing ones; a single number is one row."""
    if _ndim(values) == 0:
        values = values.reshape(1) if isinstance(values, np.ndarray) else [values]
    return column(values, name)


def _ndim(values: Any) -> int:
    try:
        return int(np.ndim(values))
    except (TypeError, ValueError):  # lists of unequal length
        return 2


def matrix(values: Any, name: str) -> Array:
    """Return a table of finite numbers of shape (rows, columns); one row for a plain list."""
    if _ndim(values) < 2:
        held = np.array(numbers(values, name))[None]
    else:
        try:
            held = np.ma.asanyarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
            if held.dtype.kind in "US":  # numbers beside text: find the text
                held = np.asarray(values, dtype=object)
        except (TypeError, ValueError) as error:
            raise DataError(f"{name} is not a table of numbers ({error}).") from None
        if held.ndim == 2 and held.size:  # whatever is no plain table of numbers goes by columns
            plain = held.dtype.kind in "biuf" and not np.ma.isMaskedArray(held)
            parts = [held] if plain else [column(part, name)[:, None] for part in held.T]
            held = np.concatenate(parts, axis=1, dtype=np.float64)
    if held.ndim != 2 or 0 in held.shape:
        raise DataError(f"{name} has shape {np.shape(values)}: give one list of numbers, or rows.")
    refuse_infinite(held, name)
    return held


def agree(lengths: Mapping[str, int]) -> int:
    """Return the number of rows that all have, one value standing for all; or refuse."""
    n_rows = max([1, *lengths.values()])
    for name, length in lengths.items():
        if length not in (1, n_rows):
            other = max(lengths, key=lambda key: lengths[key])
            raise DataError(
                f"{name} has {length:,} rows and {other} {n_rows:,}: give one value for all rows, "
                "or one for each."
            )
    return n_rows


def refuse_infinite(held: Array, name: str) -> None:
    """Refuse NaN and infinite numbers, naming how many and the row of the first."""
    bad = ~np.isfinite(held)
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise DataError(
            f"{name} holds {int(bad.sum()):,} value(s) that are NaN or infinite (first at row "
            f"{row:,}): leave such rows out, or give them a finite number."
        )


def refuse_negative(held: Array, name: str, why: str) -> None:
    """Refuse numbers below 0."""
    bad = held < 0
    if bad.any():
        row = int(np.argwhere(bad)[0][0])
        raise DataError(f"{name} holds {held[bad][0]:g} at row {row:,}: {why}.")


def read_levels(level: Any, n_rows: int) -> Array:
    """Return probability levels inside (0, 1), one or one per row, or refuse them."""
    held = read_each(level, "level", n_rows)
    bad = ~((held > 0) & (held < 1))
    if bad.any():
        raise UsageError(
            f"level={held[bad].flat[0]:g} has no quantile: give a number above 0 and below 1, such "
            "as 0.9."
        )
    return held


def read_each(values: Any, name: str, n_rows: int) -> Array:
    """Return a number for all rows, or one for each, NaN for missing; one row takes any number."""
    held = numbers(values, name)
    if len(held) == 0 or (n_rows > 1 and len(held) not in (1, n_rows)):
        raise UsageError(
            f"{name} has shape {held.shape} and there are {n_rows:,} rows: give one number for all "
            "rows, or one for each."
        )
    return held


def read_grid(levels: Any) -> Array:
    """Return levels that increase inside (0, 1), or refuse them."""
    grid = finite(levels, "levels")
    if not ((grid > 0) & (grid < 1)).all() or not (np.diff(grid) > 0).all():
        raise UsageError(
            f"levels={grid.tolist()} are no grid: give numbers above 0 and below 1 that increase, "
            "such as [0.1, 0.5, 0.9]."
        )
    return grid
