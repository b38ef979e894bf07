"""What is a missing value likely to be, given the values that were seen in its row?

    z = (x - mean) / scale,   K = covariance^-1,   m missing, o seen:
    z_m | z_o  ~  Normal(mu_m - V K_mo (z_o - mu_o), V),   V = (K_mm)^-1

A single normal distribution of all columns, fitted by EM without the labels: a front with y in it
would put the answer into the filled values. M step, with nu = max(5, d / 2) rows of a prior in
which the columns are independent:

    mu = sum_i w_i zhat_i / n,   covariance = (sum_i w_i [(zhat_i - mu)(zhat_i - mu)' + V_i] + nu I)
                                              / (n + nu),      n = sum_i w_i

Weights count rows: weight 2 is the row twice, and nu is counted in rows of weight 1. Rows in which
nothing was seen say nothing, and do not count in n. A constant column is filled with its constant,
one never seen with 0; neither says anything about others.

Assumes values that are missing at random given those seen (MAR), and columns that are roughly
jointly normal: the means are best linear predictions in any case, the spread is right on average
over rows, not for each. An iteration costs n d^2 and, for each pattern that misses m values, m^3.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows, WeightedRows
from scarce.errors import DataError, inconsistent_model, refuse_array
from scarce.missing.patterns import Batch, Mask, batches, multiply_groups

ITERATIONS = 12  # held-out loss is within .0014 of that after 60
NARROWEST = 1e-290  # a column with a smaller range is constant
FARTHEST = 1e100  # standard deviations from the mean; values further out are taken as there


def fit_front(
    X: Array | Rows,
    weight: Array | None = None,
    *,
    iterations: int = ITERATIONS,
    engine: Engine = None,
) -> Front:
    """Learn the joint distribution of the columns, from rows with missing values.

    Parameters
    ----------
    X : ndarray of shape (n, d) with NaN where a value is missing, or Rows
        Labels are not looked at: rows without one help as much as others.
    weight : ndarray of shape (n,), optional
        Of the rows; those of `Rows` by default. A row of weight 0 is not seen.
    iterations : int
        Of EM; one is exact where nothing is missing.

    Returns
    -------
    Front

    **Assumes** values missing at random given those seen.

    Notes
    -----
    Two passes over the rows and one for each iteration; about 0.2 s for 1,000 rows of 50 columns
    and 0.8 s for 20,000 of 20, with 30 % missing at random, where nearly every row is a pattern.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> a = rng.normal(size=5000)
    >>> X = np.column_stack([a, 10.0 + 2.0 * a + rng.normal(size=5000)])
    >>> X[::3, 1] = np.nan
    >>> front = fit_front(X)
    >>> front.complete(np.array([[1.0, np.nan], [4.0, 3.0]])).round(1)
    array([[ 1., 12.],
           [ 4.,  3.]])
    """
    rows = X if isinstance(X, Rows) else ArrayRows(X, check=False)
    if weight is not None:
        rows = WeightedRows(rows, np.asarray(weight, dtype=np.float64))
    d = rows.n_columns
    ranges = rows.fold(column_ranges, engine=engine, merge=merge_ranges)
    low, high, used = _settled_ranges(ranges)
    seen = rows.fold(column_moments, (low, high), engine=engine, merge=merge_moments)
    width = 2.0 * (0.5 * high - 0.5 * low)
    mean = low + seen.mean * width
    scale = np.where(used, width * np.sqrt(seen.square / np.where(used, seen.weight, 1.0)), 1.0)
    used &= scale > 0
    scale[~used] = 1.0
    mu, covariance = np.zeros(d), np.eye(d)
    nu, passes, n = max(5.0, d / 2), 2, 0.0
    for _ in range(iterations):
        at = Parameters(mean, scale, used, mu, covariance, precision_of(covariance, used))
        sums = rows.fold(expected_sums, at, engine=engine)
        passes, n = passes + 1, sums.weight
        if n > 0:
            step = sums.first / n
            mu = mu + step
            covariance = sums.second - n * np.outer(step, step)
            covariance = (covariance + nu * np.eye(d)) / (n + nu)
        if sums.incomplete == 0:  # nothing to expect: the next would be the same
            break
    covariance[~used] = covariance[:, ~used] = 0.0
    return Front(mean + scale * mu, scale, covariance, low, high, used, float(n), passes)


@dataclass(frozen=True, eq=False)
class Front:
    """A normal distribution of all columns: what is missing, given what was seen.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        In the units of the columns.
    scale : ndarray of shape (d,)
        Standard deviation of the values seen; 1 where a column is not used.
    covariance : ndarray of shape (d, d)
        Of the columns divided by `scale`; 0 where a column is not used.
    low, high : ndarray of shape (d,)
        Least and greatest value seen.
    used : ndarray of bool, shape (d,)
        Columns with at least two different values.
    weight : float
        Of the rows in which something was seen.
    passes : int
        Over the rows, to fit it.

    Examples
    --------
    >>> front = fit_front(np.array([[1.0, 5.0], [2.0, 5.0], [np.nan, 5.0]]))
    >>> front.complete(np.array([[3.0, np.nan]])), front.used
    (array([[3., 5.]]), array([ True, False]))
    """

    mean: Array
    scale: Array
    covariance: Array
    low: Array
    high: Array
    used: Mask
    weight: float
    passes: int

    def __post_init__(self) -> None:
        """Refuse arrays that do not belong together, as a damaged file may hold them."""
        d = len(self.mean) if np.ndim(self.mean) == 1 else -1
        for name in ("mean", "scale", "low", "high"):
            refuse_array(name, getattr(self, name), (d,))
        refuse_array("covariance", self.covariance, (d, d))
        refuse_array("used", self.used, (d,), "b")
        parts = (self.mean, self.scale, self.low, self.high, self.covariance)
        if not all(np.isfinite(part).all() for part in parts):
            raise inconsistent_model("front", "must hold finite numbers")
        if not (self.scale > 0).all() or not (np.diag(self.covariance)[self.used] > 0).all():
            raise inconsistent_model("front", "must have variances above 0")

    @property
    def n_columns(self) -> int:
        """Number of columns."""
        return len(self.mean)

    @cached_property
    def _at(self) -> Parameters:
        """What the kernels need; z is measured from the mean, so mu is 0."""
        mu = np.zeros(self.n_columns)
        precision = precision_of(self.covariance, self.used)
        return Parameters(self.mean, self.scale, self.used, mu, self.covariance, precision)

    @property
    def packed(self) -> tuple[Any, ...]:
        """The fields, as kernels are given them: arrays travel to workers, `Front(*packed)`."""
        parts = (self.mean, self.scale, self.covariance, self.low, self.high, self.used)
        return (*parts, self.weight, self.passes)

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in vars(self).items() if name != "_at"}

    def complete(self, X: Array, *, clip: bool = False) -> Array:
        """Return the rows with the conditional mean of each missing value, in the units of X.

        Parameters
        ----------
        X : ndarray of shape (n, d)
        clip : bool
            Whether filled values stay between the least and the greatest value seen.
        """
        X, missing = self._read(X)
        filled = X.copy()
        if missing.any():
            gap = standardised(X, self._at)
            for batch, _, expected in expectations(gap, missing, self._at):
                rows, columns = batch.rows[:, None], batch.columns[batch.group]
                filled[rows, columns] = self.mean[columns] + self.scale[columns] * expected
            self._fill_unused(filled)
            if clip:
                filled = np.where(np.isnan(X), np.clip(filled, self.low, self.high), X)
        return filled

    def spread(self, X: Array) -> Completed:
        """Return conditional means and covariances of the rows.

        Memory: the rows once more, and m^2 numbers for each pattern that misses m values.
        """
        X, missing = self._read(X)
        filled, parts = X.copy(), []
        if missing.any():
            gap = standardised(X, self._at)
            for batch, variance, expected in expectations(gap, missing, self._at):
                rows, columns = batch.rows[:, None], batch.columns[batch.group]
                filled[rows, columns] = self.mean[columns] + self.scale[columns] * expected
                parts.append((batch, variance))
            self._fill_unused(filled)
        return Completed(filled, self.scale, tuple(parts))

    def draw(self, X: Array, n: int, rng: np.random.Generator) -> Array:
        """Return n draws of the rows, shape (n, rows, d): missing values given those seen."""
        found = self.spread(X)
        out = np.repeat(found.mean[None], n, axis=0)
        noise = rng.standard_normal(out.shape)
        for batch, variance in found.parts:
            root = np.linalg.cholesky(variance)[batch.group]
            rows, columns = batch.rows[:, None], batch.columns[batch.group]
            jump = (root @ noise[:, rows, columns][..., None])[..., 0]
            out[:, rows, columns] += self.scale[columns] * jump
        return out

    def _read(self, X: Array) -> tuple[Array, Mask]:
        """Return the rows, and which values are missing in columns that are used."""
        X = np.ascontiguousarray(X, dtype=np.float64)
        if X.ndim != 2 or X.shape[1] != self.n_columns:
            raise DataError(
                "The rows have shape {shape}, and the front was fitted to {columns} columns.",
                code="shape-mismatch",
                shape=X.shape,
                columns=self.n_columns,
            )
        return X, np.isnan(X)

    def _fill_unused(self, filled: Array) -> None:
        for j in np.flatnonzero(~self.used):
            filled[np.isnan(filled[:, j]), j] = self.mean[j]


class Completed(NamedTuple):
    """Conditional means of the rows, and their conditional covariances V_i by pattern.

    Examples
    --------
    >>> rng = np.random.default_rng(1)
    >>> front = fit_front(rng.normal(size=(1000, 3)))
    >>> found = front.spread(np.array([[0.0, 0.0, np.nan], [0.0, 0.0, 0.0]]))
    >>> found.variance(np.array([5.0, 5.0, 2.0])).round(1)
    array([4.1, 0. ])
    """

    mean: Array  # (n, d), in the units of X
    scale: Array  # (d,)
    parts: tuple[tuple[Batch, Array], ...]  # V of each pattern, (p, m, m), in units of scale

    def times(self, w: Array) -> Array:
        """Return V_i w of each row, (n, d): 0 for values that were seen."""
        out, scaled = np.zeros_like(self.mean), w * self.scale
        for batch, variance in self.parts:
            product = (variance @ scaled[batch.columns][:, :, None])[:, :, 0]
            product *= self.scale[batch.columns]
            out[batch.rows[:, None], batch.columns[batch.group]] = product[batch.group]
        return out

    def variance(self, w: Array) -> Array:
        """Return w' V_i w, the variance of each row's linear score, (n,)."""
        out, scaled = np.zeros(len(self.mean)), w * self.scale
        for batch, variance in self.parts:
            part = scaled[batch.columns]
            out[batch.rows] = np.einsum("pi,pij,pj->p", part, variance, part)[batch.group]
        return out

    def total(self, a: Array) -> Array:
        """Return sum_i a_i V_i, (d, d)."""
        d = len(self.scale)
        out = np.zeros((d, d))
        for batch, variance in self.parts:
            mass = np.add.reduceat(a[batch.rows], batch.ends[:-1])
            scatter(out, batch.columns, variance * mass[:, None, None])
        return out * np.outer(self.scale, self.scale)


# --- kernels --------------------------------------------------------------------------------------


class Parameters(NamedTuple):
    """The distribution as the kernels need it; arrays, so that it travels to workers."""

    mean: Array  # (d,) that z is measured from
    scale: Array
    used: Mask
    mu: Array  # (d,) mean of z
    covariance: Array  # (d, d) of z
    precision: Array


class Ranges(NamedTuple):
    """Least and greatest value seen of each column."""

    low: Array
    high: Array


class Moments(NamedTuple):
    """Weight, mean and sum of squares about it, of the values seen; as shares of the range."""

    weight: Array
    mean: Array
    square: Array


class ExpectedSums(NamedTuple):
    """Sums about mu over the rows in which something was seen."""

    weight: float
    first: Array
    second: Array
    incomplete: int  # rows with a missing value


def column_ranges(block: Block, _: None) -> Ranges:
    """Kernel: the range of each column, infinite where nothing was seen."""
    X = block.X if block.weight is None else block.X[block.weight > 0]
    low = np.fmin.reduce(X, axis=0, initial=np.inf)
    return Ranges(low, np.fmax.reduce(X, axis=0, initial=-np.inf))


def merge_ranges(total: Ranges, more: Ranges) -> Ranges:
    """Merge the ranges of two blocks."""
    return Ranges(np.minimum(total.low, more.low), np.maximum(total.high, more.high))


def _settled_ranges(ranges: Ranges) -> tuple[Array, Array, Mask]:
    """Return finite ends, and which columns have two different values."""
    seen = np.isfinite(ranges.low)
    low, high = (np.where(seen, end, 0.0) for end in ranges)
    return low, high, 0.5 * high - 0.5 * low > NARROWEST


def column_moments(block: Block, params: tuple[Array, Array]) -> Moments:
    """Kernel: moments of the columns as shares of their range, so that no unit overflows."""
    low, high = params
    half = 0.5 * high - 0.5 * low
    half = np.where(half > NARROWEST, half, 1.0)
    total = Moments(*np.zeros((3, len(low))))
    for piece in block.pieces():
        seen = ~np.isnan(piece.X)
        share = np.where(seen, (0.5 * piece.X - 0.5 * low) / half, 0.0)
        weight = seen * (1.0 if piece.weight is None else piece.weight[:, None])
        mass = weight.sum(axis=0)
        mean = (weight * share).sum(axis=0) / np.where(mass > 0, mass, 1.0)
        square = (weight * np.square(share - mean)).sum(axis=0)
        total = merge_moments(total, Moments(mass, mean, square))
    return total


def merge_moments(total: Moments, more: Moments) -> Moments:
    """Merge moments about two means."""
    weight = total.weight + more.weight
    share = more.weight / np.where(weight > 0, weight, 1.0)
    step = more.mean - total.mean
    square = total.square + more.square + total.weight * share * step**2
    return Moments(weight, total.mean + share * step, square)


def precision_of(covariance: Array, used: Mask) -> Array:
    """Return the inverse covariance of the columns used, and 0 for the others."""
    out = np.zeros_like(covariance)
    if used.any():
        within = np.ix_(used, used)
        inverse = np.linalg.inv(covariance[within])
        out[within] = 0.5 * (inverse + inverse.T)
    return out


def standardised(X: Array, at: Parameters) -> Array:
    """Return z - mu, with 0 for what is missing or not used."""
    with np.errstate(over="ignore"):
        gap = (X - at.mean) / at.scale - at.mu
    gap[:, ~at.used] = 0.0
    np.nan_to_num(gap, copy=False, nan=0.0, posinf=FARTHEST, neginf=-FARTHEST)
    return np.clip(gap, -FARTHEST, FARTHEST, out=gap)


def expectations(gap: Array, missing: Mask, at: Parameters) -> Iterator[tuple[Batch, Array, Array]]:
    """Yield rows with missing values, V of their patterns (p, m, m) and E[z - mu], (r, m)."""
    missing = missing & at.used
    pulled = gap @ at.precision  # K_mo (z_o - mu_o) at the places of what is missing
    for batch in batches(missing):
        columns = batch.columns
        inverse = np.linalg.inv(at.precision[columns[:, :, None], columns[:, None, :]])
        variance = 0.5 * (inverse + inverse.transpose(0, 2, 1))
        part = pulled[batch.rows[:, None], columns[batch.group]]
        yield batch, variance, -multiply_groups(variance, part, batch.ends)


def scatter(out: Array, columns: NDArray[np.intp], values: Array) -> None:
    """Add matrix i to out[columns[i], columns[i]], for all i."""
    d = len(out)
    place = (columns[:, :, None] * d + columns[:, None, :]).ravel()
    out += np.bincount(place, weights=values.ravel(), minlength=d * d).reshape(d, d)


def expected_sums(block: Block, at: Parameters) -> ExpectedSums:
    """Kernel: expected moments of the complete rows, given what was seen of them."""
    at = Parameters(*at)
    d = len(at.mean)
    mass, first, second, incomplete = 0.0, np.zeros(d), np.zeros((d, d)), 0
    for piece in block.pieces():
        missing = np.isnan(piece.X) & at.used
        weight = np.ones(len(piece)) if piece.weight is None else piece.weight.copy()
        weight[~(at.used & ~missing).any(axis=1)] = 0.0  # nothing was seen
        gap = standardised(piece.X, at)
        for batch, variance, expected in expectations(gap, missing, at):
            gap[batch.rows[:, None], batch.columns[batch.group]] = expected
            weighed = np.add.reduceat(weight[batch.rows], batch.ends[:-1])
            scatter(second, batch.columns, variance * weighed[:, None, None])
            incomplete += len(batch.rows)
        mass += float(weight.sum())
        first += weight @ gap
        second += (gap * weight[:, None]).T @ gap
    return ExpectedSums(mass, first, second, incomplete)
