"""From what people write as costs to numbers: fixed entries, and amounts that vary by row.

A matrix, a stack of matrices (one per row), or lists in which an entry may be a number, a column's
name or one number per row. Refuses what is not finite, by its place. Does not judge:
cost_checks.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

from scarce.decisions.cost_names import place_of
from scarce.decisions.row_costs import Amount, finite_values
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError


def frame_names(costs: Any) -> dict[str, list[Any]]:
    """Return the names that a data frame of costs brings along, if it has any of its own.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_names(pd.DataFrame([[0, 9], [1, 0]], index=["pass", "stop"], columns=["ok", "bad"]))
    {'actions': ['pass', 'stop'], 'classes': ['ok', 'bad']}
    """
    found = {}
    for side, word in (("actions", "index"), ("classes", "columns")):
        held: Any = getattr(costs, word, None)
        if hasattr(held, "tolist") and type(held).__name__ != "RangeIndex":
            found[side] = held.tolist()
    return found


def read_entries(costs: Any, amounts: tuple[Any, ...]) -> tuple[Array, tuple[Any, ...]]:
    """Return the fixed entries, (actions, classes) with 0 where one varies, and those that do."""
    if isinstance(costs, (list, tuple)) and not amounts:
        return _from_lists(costs)
    if hasattr(costs, "columns") and hasattr(costs, "to_numpy"):  # cells may name columns
        return _from_lists(costs.to_numpy().tolist())
    try:
        held = np.asarray(costs)
        if held.dtype.kind not in "fiubO":
            raise TypeError(f"its type is {held.dtype}")
        held = held.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(
            f"costs is not a matrix of numbers ({error}): give a row for each action and a column "
            "for each class."
        ) from None
    if held.ndim == 3:
        return _from_cube(held)
    _refuse_shape(held.shape)
    _refuse_not_finite(held)
    _refuse_places(amounts, held.shape)
    return held.copy(), amounts


def _from_lists(costs: Sequence[Any]) -> tuple[Array, tuple[Any, ...]]:
    rows = [list(row) if isinstance(row, (list, tuple, np.ndarray)) else row for row in costs]
    if not all(isinstance(row, list) for row in rows) or len({len(row) for row in rows}) != 1:
        seen = [len(row) if isinstance(row, list) else repr(row) for row in rows]
        raise UsageError(
            f"costs has rows of lengths {seen}: give one row per action, each with one cost per "
            "class."
        )
    if all(isinstance(entry, (list, tuple)) for row in rows for entry in row):
        return read_entries(_as_cube(costs), ())
    _refuse_shape((len(rows), len(rows[0])))
    fixed, amounts = np.zeros((len(rows), len(rows[0]))), []
    for a, row in enumerate(rows):
        for k, entry in enumerate(row):
            if isinstance(entry, str):
                entry = _number_or_amount(entry)
            elif np.ndim(entry) == 1:
                entry = Amount(values=finite_values(entry, f"costs[{a}, {k}]"))
            if isinstance(entry, Amount):
                amounts.append(((a, k), entry))
                continue
            try:
                if np.asarray(entry).dtype.kind not in "fiubO":
                    raise TypeError
                fixed[a, k] = entry
            except (TypeError, ValueError):
                raise UsageError(
                    f"costs[{a}, {k}] is {entry!r}: give a number, one number per row, or the name "
                    "of a column."
                ) from None
    _refuse_not_finite(fixed)
    return fixed, tuple(amounts)


def _number_or_amount(text: str) -> float | Amount:
    try:
        return float(text)
    except ValueError:
        return Amount.read(text)


def _as_cube(costs: Sequence[Any]) -> Array:
    """Lists in lists in lists: rows, actions, classes."""
    try:
        return np.asarray(costs, dtype=np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            "costs is a list of lists of lists that is not (rows, actions, classes): give every "
            "row as many actions, and every action as many classes."
        ) from None


def _from_cube(cube: Array) -> tuple[Array, tuple[Any, ...]]:
    _refuse_shape(cube.shape[1:])
    if len(cube) == 0:
        raise UsageError("costs has no row: give costs of shape (rows, actions, classes).")
    if not np.isfinite(cube).all():
        i, a, k = np.argwhere(~np.isfinite(cube))[0]
        raise DataError(
            f"costs[{i}, {a}, {k}] (row {i:,}, action {a}, class {k}) is {cube[i, a, k]}: the "
            "expected cost of that row cannot be known. Fill it in, or leave the row out."
        )
    fixed, amounts = cube[0].copy(), []
    for a, k in np.ndindex(*fixed.shape):
        # One entry varies at least, so that the number of rows is not lost.
        if (cube[:, a, k] != fixed[a, k]).any() or (a, k) == (0, 0):
            amounts.append(((a, k), Amount(values=np.ascontiguousarray(cube[:, a, k]))))
            fixed[a, k] = 0.0
    return fixed, tuple(amounts)


def _refuse_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] < 2 or shape[1] < 2:
        raise UsageError(
            f"costs has shape {shape}: give a row for each action and a column for each class, two "
            "or more of each, or (rows, actions, classes) for costs that vary by row."
        )


def _refuse_places(amounts: tuple[Any, ...], shape: tuple[int, ...]) -> None:
    """Refuse amounts that stand nowhere in the matrix, as a damaged file may have them."""
    known = set(np.ndindex(*shape))
    for pair in amounts:
        match pair:
            case (tuple(place), Amount()) if place in known:
                known.discard(place)
            case _:
                raise UsageError(f"amounts holds {pair!r:.80}, where ((action, class), Amount) is.")


def _refuse_not_finite(fixed: Array) -> None:
    if not np.isfinite(fixed).all():
        a, k = np.argwhere(~np.isfinite(fixed))[0]
        raise UsageError(
            f"costs[{a}, {k}] (action {a}, class {k}) is {fixed[a, k]}: expected costs would not "
            "be numbers. Give a finite cost; a very large one forbids the action."
        )


def row_count(amounts: tuple[Any, ...]) -> int | None:
    """Return the number of rows of the amounts, None where none is known."""
    lengths = {len(one.values): place for place, one in amounts if one.values is not None}
    if len(lengths) > 1:
        told = ", ".join(f"{n:,} for costs[{a}, {k}]" for n, (a, k) in lengths.items())
        raise DataError(f"The costs by row differ in length: {told}. Give one number per row.")
    return next(iter(lengths), None)


def abstain_entries(cost: Any, classes: Sequence[Any], n_rows: int | None) -> list[Any]:
    """Return one entry per class for an action that costs one number, one per class or per row."""
    n_classes = len(classes)
    if isinstance(cost, Mapping):
        entries: list[Any] = [0.0] * n_classes
        for label in cost:
            entries[place_of(label, classes, "class")] = cost[label]
        if len(cost) < n_classes:
            raise UsageError(f"with_abstain({dict(cost)!r}) must name every class.")
    elif isinstance(cost, (str, Amount)) or np.ndim(cost) == 0:
        entries = [cost] * n_classes
    elif np.ndim(cost) == 1 and len(cost) == n_classes and n_rows != n_classes:
        entries = list(cost)
    elif np.ndim(cost) == 1:
        if n_rows == n_classes:
            raise UsageError(
                f"with_abstain({cost!r}): {n_classes} numbers may be one per class or one per "
                "row here. Give a dict by class, or an array of shape (n_rows, n_classes)."
            )
        entries = [np.asarray(cost)] * n_classes
    elif np.ndim(cost) == 2 and np.shape(cost)[1] == n_classes and len(cost):
        entries = list(np.asarray(cost, dtype=np.float64).T)
    else:
        raise UsageError(
            f"with_abstain: a cost of shape {np.shape(cost)} is neither one number, nor one "
            f"for each of the {n_classes} classes, nor one per row."
        )
    return entries
