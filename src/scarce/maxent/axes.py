"""The variables of maxent, each cut into segments: where are the knots, where does a value lie?

    x in [knot_s, knot_(s+1))  ->  segment s, rest = (x - knot_s) / (knot_(s+1) - knot_s)

Every feature of maxent is linear on each segment (docs/maths/maxent.md), so a value is looked up
only once, when the rows are coded. Missing values, and levels that the fit did not see, have a
segment of their own, the last.

Knots are at quantiles of the pool ("quantile"), evenly spaced over its range ("uniform", as in
Maxent), or at the values of the labelled rows ("data"); minimum and maximum are always knots. The
pool is all rows, labelled or not. Knots follow a change of units.

    fences = quartiles -+ 3 (upper quartile - lower quartile)           (Tukey's far-out values)

One outlier (a sentinel such as -9999, a typing error) must not flatten a variable: with "quantile"
and "data" the range beyond a fence is shortened to at most one interquartile range, which keeps the
scale of ramps, squares and products for all other rows. "uniform" keeps the raw range.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import DataError
from scarce.maxent import kernels

Codes = NDArray[np.unsignedinteger]
Mask = NDArray[np.bool_]

ROUNDING = 1e-12  # of a fence, by which it may miss a knot
BUCKETS = 2048  # for looking values up: many, because quantiles can lie close together
SAMPLE_ROWS = 200_000  # quantiles of more rows are those of a random sample of this size
MOST_KNOTS = 60_000  # codes have 16 bits
QUANTILES = np.linspace(0.0, 1.0, 101)  # of the pool, kept for extrapolation
FAR = 10.0  # interquartile ranges beyond a fence at which a value is reported


class Segments(Protocol):
    """What families need of a variable, or of several at once: knots on a scale from 0 to 1."""

    @property
    def n_segments(self) -> int:
        """Number of segments with values."""
        ...  # pragma: no cover

    @property
    def places(self) -> Array:
        """The knots, shape (..., n_segments + 1)."""
        ...  # pragma: no cover

    @property
    def lengths(self) -> Array:
        """Lengths of the segments, shape (..., n_segments)."""
        ...  # pragma: no cover


@dataclass(frozen=True, eq=False)
class Axis:
    """A variable with its knots, or a category with its levels.

    Parameters
    ----------
    name : str
    knots : ndarray of shape (n_segments + 1,), or (n_segments,) for a category
        Increasing. A constant variable has two equal knots and no features.
    category : bool
        Whether the knots are levels.
    levels : tuple of str
        Names of a category's levels, if any.
    scale : ndarray of shape (n_segments + 1,), optional
        Increasing values that replace the knots in squares, products and ramps; by default the
        knots themselves. They differ where outliers are moved closer.

    Examples
    --------
    >>> axis = Axis("rain", np.array([0.0, 1.0, 3.0]))
    >>> axis.code(np.array([0.5, 1.0, 3.0, 9.0, np.nan]))
    (array([0, 1, 1, 1, 2], dtype=uint16), array([0.5, 0. , 1. , 1. , 0. ]))
    """

    name: str
    knots: Array
    category: bool = False
    levels: tuple[str, ...] = ()
    scale: Array | None = None

    @cached_property
    def n_segments(self) -> int:
        """Number of segments with values; the segment of missing values comes after them."""
        return len(self.knots) - (0 if self.category else 1)

    @cached_property
    def flat(self) -> bool:
        """Whether the variable is constant, which leaves nothing to learn from."""
        return self.n_segments < 2 if self.category else bool(self.knots[0] == self.knots[-1])

    @cached_property
    def places(self) -> Array:
        """The knots on a scale from 0 (minimum) to 1 (maximum)."""
        scale = self.knots if self.scale is None else self.scale
        return np.asarray((scale - scale[0]) / (scale[-1] - scale[0]))

    @cached_property
    def lengths(self) -> Array:
        """Length of each segment on that scale."""
        return np.diff(self.places)

    def code(self, values: Array, *, clamp: bool = True) -> tuple[Codes, Array]:
        """Return the segment of each value and its position within the segment.

        With clamp=False values beyond the outer knots keep their distance (rest below 0 or above
        1), which continues the outer lines.
        """
        last = self.n_segments - 1
        if self.category and last < 0:  # no level was seen
            return np.zeros(len(values), dtype=np.uint16), np.zeros(len(values))
        if self.category:
            code = np.clip(np.searchsorted(self.knots, values), 0, last)
            unknown = self.knots[code] != values  # true for NaN too
            return np.where(unknown, last + 1, code).astype(np.uint16), np.zeros(len(values))
        codes, rest = np.empty(len(values), dtype=np.uint16), np.empty(len(values))
        if self.flat:
            codes[:] = np.where(np.isnan(values), last + 1, 0)
            rest[:] = 0.0
        else:
            guess, scale = self._guess
            kernels.code_values(values, self.knots, guess, scale, clamp, codes, rest)
        return codes, rest

    @cached_property
    def _guess(self) -> tuple[NDArray[np.intp], float]:
        """The segment at each edge of many equal buckets between the inner knots; buckets per unit.

        Looking up a value's bucket and searching between its edges is several times faster than a
        search among all knots, and with even knots it is already the answer. The outer segments,
        which an outlier may stretch, need no bucket.
        """
        low, high = self.knots[1], self.knots[-2]
        if not high - low > 1e-290:  # at most two segments, or too short to divide
            return np.zeros(2, dtype=np.intp), 0.0
        count = max(4 * self.n_segments, BUCKETS)
        edges = low + (high - low) * (np.arange(count + 1) / count)
        guess = np.clip(np.searchsorted(self.knots, edges, side="right") - 1, 0, None)
        return np.minimum(guess, self.n_segments - 1), count / (high - low)


class AxisStack:
    """Several variables with the same number of segments, which families process at once.

    `places` and `lengths` have one row per variable.
    """

    def __init__(self, axes: Sequence[Axis]) -> None:
        self.n_segments = axes[0].n_segments
        if not axes[0].category:
            self.places = np.array([axis.places for axis in axes])
            self.lengths = np.array([axis.lengths for axis in axes])


class Fences(NamedTuple):
    """Where far-out values of a variable begin, and its interquartile range."""

    low: float
    high: float
    distance: float


class Outlier(NamedTuple):
    """A value far from the rest, and the fences that nearly all other values lie between."""

    column: str
    value: float
    low: float
    high: float


class ColumnAxes(NamedTuple):
    """An axis for each column, and what was seen of the columns."""

    axes: list[Axis]
    missing: Array  # number of missing values of each column
    quantiles: Array  # (columns, len(QUANTILES)) of the pool; NaN for categories
    outliers: list[Outlier]


Extremes = tuple[Array, Array, Array]


def extremes(block: Block, counted: Mask | None) -> Extremes:
    """Kernel: minimum, maximum and number of missing values of each column."""
    X = block.X
    if counted is not None:
        X = X[counted[block.start : block.start + len(block)]]
    missing = np.isnan(X).sum(axis=0).astype(np.float64)
    none = np.full(X.shape[1], np.nan)
    low = np.fmin.reduce(X, axis=0, initial=np.nan) if len(X) else none
    high = np.fmax.reduce(X, axis=0, initial=np.nan) if len(X) else none
    return low, high, missing


def _merge(total: Extremes, more: Extremes) -> Extremes:
    return np.fmin(total[0], more[0]), np.fmax(total[1], more[1]), total[2] + more[2]


extremes.merge = _merge  # type: ignore[attr-defined]


def chosen_rows(block: Block, chosen: Mask) -> tuple[list[Array]]:
    """Kernel: the chosen rows themselves."""
    return ([block.X[chosen[block.start : block.start + len(block)]]],)


def levels_of(block: Block, params: tuple[Sequence[int], Mask]) -> dict[int, Array]:
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
    labelled: Mask,
    *,
    knots: int,
    knots_at: str,
    engine: Engine = None,
) -> ColumnAxes:
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
        Number of knots of each variable, fences not counted; fewer where values repeat.
    knots_at : {"quantile", "uniform", "data"}
    """
    counted = pool > 0
    whole = bool(counted.all())
    low, high, missing = rows.fold(extremes, None if whole else counted, engine=engine)
    levels = {}
    if categorical:
        levels = rows.fold(levels_of, (tuple(categorical), counted), engine=engine)
    chosen = _sampled(counted)
    sample = np.concatenate(rows.fold(chosen_rows, chosen, engine=engine)[0])
    inner = sample
    if knots_at == "data":
        inner = np.concatenate(rows.fold(chosen_rows, counted & labelled, engine=engine)[0])
    axes: list[Axis] = []
    quantiles = np.full((rows.n_columns, len(QUANTILES)), np.nan)
    outliers: list[Outlier] = []
    for column, name in enumerate(rows.names):
        if column in categorical:
            book = rows.schema.columns[column].levels
            names = tuple(str(book[int(code)]) for code in levels[column]) if book else ()
            axes.append(Axis(name, levels[column], category=True, levels=names))
            continue
        ends = float(low[column]), float(high[column])
        _refuse_range(name, *ends)
        values = _Values.of(sample[:, column], pool[chosen])
        quantiles[column] = values.at(QUANTILES)
        quantiles[column, [0, -1]] = ends
        if not ends[0] < ends[1]:
            value = ends[0] if np.isfinite(ends[0]) else 0.0
            axes.append(Axis(name, np.array([value, value])))
            continue
        fences = values.fences()
        outliers += _outliers(name, ends, fences)
        if knots_at == "uniform":
            axes.append(Axis(name, _even(*ends, knots)))
        else:
            own = values.knots(knots) if knots_at == "quantile" else _distinct(inner[:, column])
            axes.append(_fenced(name, ends, own, fences))
    return ColumnAxes(axes, missing, quantiles, outliers)


def _refuse_range(column: str, low: float, high: float) -> None:
    with np.errstate(over="ignore"):
        span = np.float64(high) - np.float64(low)
    if low < high and not 1e-290 < span < np.inf:
        raise DataError(
            "Column {column!r} ranges from {low:g} to {high:g}, which cannot be divided into "
            "segments.",
            code="column-range",
            column=column,
            low=low,
            high=high,
            remedy="If one of these values stands for missing, make it NaN; else rescale the "
            "column.",
        )


def _even(low: float, high: float, count: int) -> Array:
    even = np.linspace(low, high, count)
    return even if (np.diff(even) > 0).all() else np.array([low, high])


def _distinct(values: Array) -> Array:
    """Distinct values; of very many, an even selection."""
    values = np.unique(values[~np.isnan(values)])
    if len(values) > MOST_KNOTS:
        values = values[np.linspace(0, len(values) - 1, MOST_KNOTS).astype(np.intp)]
    return values


def _fenced(name: str, ends: tuple[float, float], inner: Array, fences: Fences | None) -> Axis:
    """Knots at both ends, at inner values and at the fences that an end lies beyond.

    Between the fences the scale is the variable's own. Beyond a fence all segments together are at
    most one interquartile range long, and all have the same length.
    """
    low, high = ends
    fences = None if fences is None else _on_knots(fences, np.concatenate([ends, inner]))
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


def _on_knots(fences: Fences, knots: Array) -> Fences:
    """Return the fences, on a knot where rounding alone keeps them from it.

    A fence is a sum of three numbers. One that ends a digit beside a knot would make a segment of
    no length, and slopes of 0 / 0.
    """
    near = []
    for fence in (fences.low, fences.high):
        nearest = float(knots[int(np.abs(knots - fence).argmin())])
        close = abs(nearest - fence) <= ROUNDING * (abs(fence) + fences.distance)
        near.append(nearest if close else fence)
    return Fences(near[0], near[1], fences.distance)


def _outliers(name: str, ends: tuple[float, float], fences: Fences | None) -> list[Outlier]:
    """The end furthest from the rest, if it is far."""
    if fences is None:
        return []
    below, above = fences.low - ends[0], ends[1] - fences.high
    worst = ends[0] if below > above else ends[1]
    if max(below, above) <= FAR * fences.distance:
        return []
    return [Outlier(name, worst, fences.low, fences.high)]


class _Values(NamedTuple):
    """The distinct values of a column, and the weight up to and including each."""

    values: Array
    cumulative: Array

    @classmethod
    def of(cls, values: Array, weight: Array) -> _Values:
        seen = ~np.isnan(values)
        values, weight = values[seen].astype(np.float64), weight[seen]
        if len(values) and weight.min() == weight.max():  # a sort is faster than an argsort
            values, cumulative = np.sort(values), weight[0] * np.arange(1.0, len(values) + 1)
        else:
            order = np.argsort(values, kind="stable")
            values, cumulative = values[order], np.cumsum(weight[order])
        last = np.append(values[1:] != values[:-1], True)[: len(values)]
        return cls(values[last], cumulative[last])

    def at(self, shares: Array) -> Array:
        """Quantiles: values at or below which the given shares of the weight lie."""
        if not len(self.values):
            return np.full(len(shares), np.nan)
        first = np.searchsorted(self.cumulative, shares * self.cumulative[-1] * (1 - 1e-12))
        return np.asarray(self.values[np.minimum(first, len(self.values) - 1)])

    def knots(self, count: int) -> Array:
        """Quantiles; where several coincide, other values fill the remaining places evenly."""
        if len(self.values) <= count:
            return self.values
        found = np.unique(self.at(np.linspace(0, 1, count)[1:-1]))
        found = found[(found > self.values[0]) & (found < self.values[-1])]
        others = np.setdiff1d(self.values[1:-1], found, assume_unique=True)
        spare = min(count - 2 - len(found), len(others))
        more = others[np.linspace(0, len(others) - 1, spare + 2)[1:-1].astype(np.intp)]
        return np.union1d(found, more)

    def fences(self) -> Fences | None:
        """Three interquartile ranges beyond the quartiles; None for fewer than three values.

        Where one value makes up the middle half, the quartiles are those of the other values,
        moved to include it.
        """
        if len(self.values) < 3:
            return None
        one, three = self.at(np.array([0.25, 0.75]))
        if one == three:
            own = np.diff(self.cumulative, prepend=0.0)
            own[self.values == one] = 0.0
            others = _Values(self.values, np.cumsum(own)).at(np.array([0.25, 0.75]))
            one, three = min(one, others[0]), max(three, others[1])
        distance = float(three - one)
        return Fences(float(one) - 3 * distance, float(three) + 3 * distance, distance)


def _sampled(counted: Mask) -> Mask:
    """All counted rows; of many, a random sample that depends on their number alone."""
    positions = np.flatnonzero(counted)
    if len(positions) <= SAMPLE_ROWS:
        return counted
    part = np.random.default_rng(len(positions)).choice(positions, SAMPLE_ROWS, replace=False)
    out = np.zeros(len(counted), dtype=bool)
    out[part] = True
    return out
