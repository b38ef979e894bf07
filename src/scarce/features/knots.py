"""Where the knots of each variable are, from one look at the rows.

Evenly between the least and the greatest value of the pool ("uniform", as Maxent users know it), at
quantiles of the pool ("quantile"), or at the values of the labelled rows ("data"). The pool is all
rows: unlabelled and labelled. Assumes nothing about scale: knots move with units.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.errors import DataError, refuse_word
from scarce.features.axes import Axis
from scarce.rows import Block, Rows
from scarce.rows.block import Array
from scarce.rows.engines import Engine

SAMPLE_ROWS = 200_000  # quantiles of larger data are those of every k-th row of a shuffled order
MOST_KNOTS = 60_000  # codes are 16 bits


def extremes(block: Block, counted: NDArray[np.bool_] | None) -> tuple[Array, Array, Array]:
    """Kernel: least and greatest value and number of missing values of each column."""
    X = block.X
    if counted is not None:
        X = X[counted[block.start : block.start + len(block)]]
    missing = np.isnan(X).sum(axis=0).astype(np.float64)
    none = np.full(X.shape[1], np.nan)
    low = np.fmin.reduce(X, axis=0, initial=np.nan) if len(X) else none
    high = np.fmax.reduce(X, axis=0, initial=np.nan) if len(X) else none
    return low, high, missing


def _merge(total: Any, more: Any) -> Any:
    return np.fmin(total[0], more[0]), np.fmax(total[1], more[1]), total[2] + more[2]


extremes.merge = _merge  # type: ignore[attr-defined]


def chosen_rows(block: Block, chosen: NDArray[np.bool_]) -> tuple[list[Array]]:
    """Kernel: the chosen rows themselves."""
    return ([block.X[chosen[block.start : block.start + len(block)]]],)


def levels_of(block: Block, params: tuple[Sequence[int], NDArray[np.bool_]]) -> dict[int, Array]:
    """Kernel: the levels of each category."""
    columns, counted = params
    X = block.X[counted[block.start : block.start + len(block)]]
    levels = {column: np.unique(X[:, column]) for column in columns}
    return {column: values[~np.isnan(values)] for column, values in levels.items()}


def _join(total: dict[int, Array], more: dict[int, Array]) -> dict[int, Array]:
    return {column: np.union1d(values, more[column]) for column, values in total.items()}


levels_of.merge = _join  # type: ignore[attr-defined]


def make_axes(
    rows: Rows,
    categorical: Sequence[int],
    pool: Array,
    labelled: NDArray[np.bool_],
    *,
    knots: int,
    knots_at: str,
    engine: Engine = None,
) -> tuple[list[Axis], Array]:
    """Return an axis for each column, and how many values each column misses.

    Parameters
    ----------
    rows : Rows
    categorical : sequence of int
        Positions of the columns that are categories.
    pool : ndarray of shape (n,)
        Weight of each row in the pool.
    labelled : ndarray of bool, shape (n,)
        Rows with a label.
    knots : int
        Number of knots of each variable; at most so many where they are quantiles.
    knots_at : {"uniform", "quantile", "data"}
    """
    refuse_word("knots_at", knots_at, ("uniform", "quantile", "data"))
    counted = pool > 0
    whole = bool(counted.all())
    low, high, missing = rows.fold(extremes, None if whole else counted, engine=engine)
    levels = {}
    if categorical:
        levels = rows.fold(levels_of, (tuple(categorical), counted), engine=engine)
    sample: Array | None = None
    weight = np.zeros(0)
    if knots_at != "uniform":
        chosen = counted & labelled if knots_at == "data" else _spread_out(counted)
        sample = np.concatenate(rows.fold(chosen_rows, chosen, engine=engine)[0])
        weight = pool[chosen]
    axes = []
    with np.errstate(over="ignore"):
        span = high - low
    for column, name in enumerate(rows.names):
        if column in categorical:
            book = rows.schema.columns[column].levels
            names = tuple(str(book[int(code)]) for code in levels[column]) if book else ()
            axes.append(Axis(name, levels[column], category=True, levels=names))
        elif low[column] < high[column] and not 1e-290 < span[column] < np.inf:
            raise DataError(
                f"Column {name!r} goes from {low[column]:g} to {high[column]:g}, a range that "
                "cannot be divided into steps. If one of them stands for missing, make it NaN; "
                "else rescale the column."
            )
        elif not low[column] < high[column]:
            value = low[column] if np.isfinite(low[column]) else 0.0
            axes.append(Axis(name, np.array([value, value])))
        else:
            inner = None if sample is None else _inner(sample[:, column], weight, knots, knots_at)
            axes.append(Axis(name, _knots(low[column], high[column], knots, inner)))
    return axes, missing


def _knots(low: float, high: float, count: int, inner: Array | None) -> Array:
    if inner is None:
        even = np.linspace(low, high, count)
        return even if (np.diff(even) > 0).all() else np.array([low, high])
    inner = inner[(inner > low) & (inner < high)]
    return np.concatenate([[low], inner, [high]])


def _inner(values: Array, weight: Array, count: int, knots_at: str) -> Array:
    seen = ~np.isnan(values)
    values, weight = values[seen], weight[seen]
    if knots_at == "data":
        values = np.unique(values)
        if len(values) > MOST_KNOTS:
            values = values[np.linspace(0, len(values) - 1, MOST_KNOTS).astype(np.intp)]
        return values
    if len(values) == 0:
        return values
    order = np.argsort(values, kind="stable")
    heap = np.cumsum(weight[order])
    steps = np.linspace(0, 1, count)[1:-1] * heap[-1]
    first = np.searchsorted(heap, steps * (1 - 1e-12))  # rounding must not skip a value
    return np.unique(values[order][np.minimum(first, len(values) - 1)])


def _spread_out(counted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """All counted rows, or of many a random part that depends on their number alone."""
    positions = np.flatnonzero(counted)
    if len(positions) <= SAMPLE_ROWS:
        return counted
    part = np.random.default_rng(len(positions)).choice(positions, SAMPLE_ROWS, replace=False)
    out = np.zeros(len(counted), dtype=bool)
    out[part] = True
    return out
