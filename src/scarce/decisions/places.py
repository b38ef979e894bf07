"""Which of the names does each row hold? Outcomes and actions as people hand them over.

NumPy (masked too), pandas, polars, Arrow and lists; None, NaN and NA are missing values. A value
that is none of the names is refused by its row. Knows nothing of costs: see costs.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.errors import DataError, suggest


def places(
    values: Any, names: Sequence[Hashable], argument: str, source: str = "the costs"
) -> NDArray[np.intp]:
    """Return the position of each value among the names, -1 for a missing one; refuse others.

    Examples
    --------
    >>> places(["no", None, "yes"], ("no", "yes"), "y_true")
    array([ 0, -1,  1])
    >>> places([0, 2], (0, 1), "actions")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: actions holds 2 at row 1, which the costs do not name: they have 0, 1.
    """
    held = as_column(values, argument)
    found = np.full(len(held), -2, dtype=np.intp)
    if held.dtype.kind in "biufU":
        for place, name in enumerate(names):
            if isinstance(name, str) == (held.dtype.kind == "U"):
                found[held == name] = place
        if held.dtype.kind == "f":
            found[np.isnan(held)] = -1
    else:
        at = {name: place for place, name in enumerate(names)}
        try:
            found[:] = [-1 if is_missing(value) else at.get(value, -2) for value in held.tolist()]
        except (TypeError, ValueError):  # lists and the like, which are no names
            raise DataError(f"{argument} holds lists or tables: give one value per row.") from None
    if (found == -2).any():
        row = int(np.argmax(found == -2))
        seen = held[row].item() if isinstance(held[row], np.generic) else held[row]
        raise DataError(
            f"{argument} holds {seen!r} at row {row:,}, which {source} do not name: they have "
            f"{', '.join(map(repr, names))}.{_hint(seen, names)}"
        )
    return found


def _hint(seen: Any, names: Sequence[Hashable]) -> str:
    """What to type instead of a name that is not known."""
    if isinstance(seen, str) and seen == "nan":
        return (
            " NumPy makes the word 'nan' of a missing value among words: pass a list, or an array "
            "of dtype object."
        )
    if str(seen) in map(str, names):  # 0 and '0'
        kind = type(next(name for name in names if str(name) == str(seen))).__name__
        return f" There it is of type {kind}, here {type(seen).__name__}: make them alike."
    return suggest(str(seen), map(str, names))


def as_column(values: Any, argument: str) -> NDArray[Any]:
    """One value per row, whatever holds them."""
    if isinstance(values, str | bytes | dict) or not (
        hasattr(values, "__iter__") or hasattr(values, "to_pylist")
    ):
        raise DataError(
            f"{argument} is {str(values)[:60]!r}, of type {type(values).__name__}: give one value "
            "per row."
        )
    held = values
    if hasattr(values, "to_pylist"):  # Arrow
        held = values.to_pylist()
    elif isinstance(values, np.ma.MaskedArray):
        held = [None if hidden is np.ma.masked else hidden for hidden in values]
    elif hasattr(values, "to_numpy"):
        held = values.to_numpy()
    if not isinstance(held, np.ndarray):
        listed = list(held)
        held = np.empty(len(listed), dtype=object)
        for row, value in enumerate(listed):  # one by one: lists among them are no columns
            held[row] = value
    if held.ndim == 2 and held.shape[1] == 1:
        held = held[:, 0]
    if held.ndim != 1:
        raise DataError(f"{argument} has shape {held.shape}: give one value per row.")
    return np.asarray(held)


def is_missing(value: Any) -> bool:
    """Say whether a value stands for none."""
    return value is None or type(value).__name__ in ("NAType", "NaTType") or bool(value != value)
