"""Where the knots of each variable are, from one look at the rows.

At quantiles of the pool ("quantile"), evenly between its least and greatest value ("uniform", as
Maxent has them), or at the values of the labelled rows ("data"). The least and the greatest value
are always knots. The pool is all rows: unlabelled and labelled. Knots move with units.

    fences = quartiles -+ 3 (upper quartile - lower quartile)         (Tukey's far-out values)

One wild value (a sentinel such as -9999, a typing error) must not flatten a variable: with
"quantile" and "data" the stretch beyond a fence is shortened to at most one quartile distance, so
that ramps, squares and products keep their scale for the other rows. "uniform" keeps the raw range.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import DataError, refuse_word
from scarce.maxent.axes import Axis

SAMPLE_ROWS = 200_000  # quantiles of larger data are those of every k-th row of a shuffled order
MOST_KNOTS = 60_000  # codes are 16 bits
QUANTILES = np.linspace(0.0, 1.0, 101)  # of the pool, kept for extrapolation
FAR = 10.0  # quartile distances beyond a fence at which a value is pointed out


class Fences(NamedTuple):
    """Where far-out values of a variable begin, and the distance of its quartiles."""

    low: float
    high: float
    distance: float


class Far(NamedTuple):
    """A value far from the rest, and the fences that nearly all others lie between."""

    name: str
    value: float
    low: float
    high: float


class Found(NamedTuple):
    """An axis for each column, and what was seen of the columns."""

    axes: list[Axis]
    missing: Array  # number of values that each column misses
    quantiles: Array  # (columns, len(QUANTILES)) of the pool; NaN for categories
    far: list[Far]


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
) -> Found:
    """Return an axis for each column, and what was seen of the columns on the way.

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
        Number of knots of each variable; at most so many where they are quantiles, without the
        fences.
    knots_at : {"quantile", "uniform", "data"}
    """
    refuse_word("knots_at", knots_at, ("quantile", "uniform", "data"))
    counted = pool > 0
    whole = bool(counted.all())
    low, high, missing = rows.fold(extremes, None if whole else counted, engine=engine)
    levels = {}
    if categorical:
        levels = rows.fold(levels_of, (tuple(categorical), counted), engine=engine)
    chosen = _spread_out(counted)
    sample = np.concatenate(rows.fold(chosen_rows, chosen, engine=engine)[0])
    inner = sample
    if knots_at == "data":
        inner = np.concatenate(rows.fold(chosen_rows, counted & labelled, engine=engine)[0])
    axes: list[Axis] = []
    quantiles = np.full((rows.n_columns, len(QUANTILES)), np.nan)
    far: list[Far] = []
    with np.errstate(over="ignore"):
        span = high - low
    for column, name in enumerate(rows.names):
        if column in categorical:
            book = rows.schema.columns[column].levels
            names = tuple(str(book[int(code)]) for code in levels[column]) if book else ()
            axes.append(Axis(name, levels[column], category=True, levels=names))
            continue
        if low[column] < high[column] and not 1e-290 < span[column] < np.inf:
            raise DataError(
                f"Column {name!r} goes from {low[column]:g} to {high[column]:g}, a range that "
                "cannot be divided into steps. If one of them stands for missing, make it NaN; "
                "else rescale the column."
            )
        ends = float(low[column]), float(high[column])
        heap = _Heap.of(sample[:, column], pool[chosen])
        quantiles[column] = heap.at(QUANTILES)
        quantiles[column, [0, -1]] = ends
        if not ends[0] < ends[1]:
            value = ends[0] if np.isfinite(ends[0]) else 0.0
            axes.append(Axis(name, np.array([value, value])))
            continue
        fences = heap.fences()
        far += _far(name, ends, fences)
        if knots_at == "uniform":
            axes.append(Axis(name, _even(*ends, knots)))
        else:
            own = heap.knots(knots) if knots_at == "quantile" else _distinct(inner[:, column])
            axes.append(_fenced(name, ends, own, fences))
    return Found(axes, missing, quantiles, far)


def _even(low: float, high: float, count: int) -> Array:
    even = np.linspace(low, high, count)
    return even if (np.diff(even) > 0).all() else np.array([low, high])


def _distinct(values: Array) -> Array:
    """Distinct values, of very many some that lie evenly among them."""
    values = np.unique(values[~np.isnan(values)])
    if len(values) > MOST_KNOTS:
        values = values[np.linspace(0, len(values) - 1, MOST_KNOTS).astype(np.intp)]
    return values


def _fenced(name: str, ends: tuple[float, float], inner: Array, fences: Fences | None) -> Axis:
    """Knots at both ends, at inner values and at the fences that an end lies beyond.

    Between the fences the scale is the variable's own. Beyond, all segments together are at most
    one quartile distance long and equally long among themselves.
    """
    low, high = ends
    if fences is None or (fences.low <= low and high <= fences.high):
        inner = inner[(inner > low) & (inner < high)]
        return Axis(name, np.concatenate([[low], inner, [high]]))
    knots = np.unique(np.concatenate([ends, inner, [fences.low, fences.high]]))
    knots = knots[(knots >= low) & (knots <= high)]
    length = np.diff(knots)
    for beyond in (knots[1:] <= fences.low, knots[:-1] >= fences.high):
        if beyond.any():
            length[beyond] = min(float(length[beyond].sum()), fences.distance) / beyond.sum()
    return Axis(name, knots, scale=np.concatenate([[0.0], np.cumsum(length)]))


def _far(name: str, ends: tuple[float, float], fences: Fences | None) -> list[Far]:
    """The end that lies furthest from the rest, where it lies far."""
    if fences is None:
        return []
    below, above = fences.low - ends[0], ends[1] - fences.high
    worst = ends[0] if below > above else ends[1]
    if max(below, above) <= FAR * fences.distance:
        return []
    return [Far(name, worst, fences.low, fences.high)]


class _Heap(NamedTuple):
    """The distinct values of a column, and the weight up to and including each."""

    values: Array
    heap: Array

    @classmethod
    def of(cls, values: Array, weight: Array) -> _Heap:
        seen = ~np.isnan(values)
        values, weight = values[seen].astype(np.float64), weight[seen]
        if len(values) and weight.min() == weight.max():  # a sort is quicker than its order
            values, heap = np.sort(values), weight[0] * np.arange(1.0, len(values) + 1)
        else:
            order = np.argsort(values, kind="stable")
            values, heap = values[order], np.cumsum(weight[order])
        last = np.append(values[1:] != values[:-1], True)[: len(values)]
        return cls(values[last], heap[last])

    def at(self, shares: Array) -> Array:
        """Values below or at which the given shares of the weight lie."""
        if not len(self.values):
            return np.full(len(shares), np.nan)
        first = np.searchsorted(self.heap, shares * self.heap[-1] * (1 - 1e-12))
        return np.asarray(self.values[np.minimum(first, len(self.values) - 1)])

    def knots(self, count: int) -> Array:
        """Quantiles; where several are one value, other values evenly in the places left."""
        if len(self.values) <= count:
            return self.values
        found = np.unique(self.at(np.linspace(0, 1, count)[1:-1]))
        found = found[(found > self.values[0]) & (found < self.values[-1])]
        others = np.setdiff1d(self.values[1:-1], found, assume_unique=True)
        spare = min(count - 2 - len(found), len(others))
        more = others[np.linspace(0, len(others) - 1, spare + 2)[1:-1].astype(np.intp)]
        return np.union1d(found, more)

    def fences(self) -> Fences | None:
        """Three quartile distances beyond the quartiles; None for fewer than three values.

        Where one value makes up the middle half, the quartiles are those of the other values,
        moved to include it.
        """
        if len(self.values) < 3:
            return None
        one, three = self.at(np.array([0.25, 0.75]))
        if one == three:
            own = np.diff(self.heap, prepend=0.0)
            own[self.values == one] = 0.0
            others = _Heap(self.values, np.cumsum(own)).at(np.array([0.25, 0.75]))
            one, three = min(one, others[0]), max(three, others[1])
        distance = float(three - one)
        return Fences(float(one) - 3 * distance, float(three) + 3 * distance, distance)


def _spread_out(counted: NDArray[np.bool_]) -> NDArray[np.bool_]:
    """All counted rows, or of many a random part that depends on their number alone."""
    positions = np.flatnonzero(counted)
    if len(positions) <= SAMPLE_ROWS:
        return counted
    part = np.random.default_rng(len(positions)).choice(positions, SAMPLE_ROWS, replace=False)
    out = np.zeros(len(counted), dtype=bool)
    out[part] = True
    return out
