"""What may the number be? Predictive distributions of a quantity, one per row.

    GaussianPredictive    y ~ N(mean, sd^2)                                  (003 section 0.6)
    EmpiricalPredictive   y is one of the samples, each with its weight; quantile = least y with
                          cdf(y) >= level
    OutsidePredictive     the user's own: E g(y) = integral of g(quantile(Phi(t))) phi(t) dt

    E g(y) = sum over panels, sum over 8 points: weight * g(point)           (Gauss-Legendre)

Each has closed forms of all that the named costs need, or points and weights: panels end where g
bends or jumps, and each holds a smooth piece. A fourth, `QuantilePredictive`, is in
quantile_models.py, beside what makes its quantiles. Assumes that the distribution given is the
right one: checks nothing against outcomes. Does not choose an action: see regression.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from scarce.checks import read_column, refuse_negative, refuse_not_finite, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError

LARGEST = np.finfo(np.float64).max
POINT, POINT_WEIGHT = np.polynomial.legendre.leggauss(8)
POINT, POINT_WEIGHT = (POINT + 1) / 2, POINT_WEIGHT / 2
Rows = slice | NDArray[Any]
SCAN = ndtr(sorted(np.linspace(-3.2, 3.2, 17), key=abs))  # levels at which a search begins
LEVEL_EDGES = np.linspace(-8, 8, 11)  # panels of any distribution, in normal scores of the level
ROUNDING = 8 * np.finfo(np.float64).eps
EDGES = np.linspace(-9, 9, 9)  # panels of a Gaussian, in standard deviations
FEW = 64  # samples that a search tries one by one


@runtime_checkable
class Predictive(Protocol):
    """What `decide_regression` asks of a distribution that you bring yourself: three methods.

    `mean()` returns shape (n,). `quantile(level)` and `cdf(y)` take one number, or one per row, and
    return shape (n,). One more is used if it is there: `take(rows)`, the predictive of these rows,
    keeps memory bounded (else some kB a row are held). All else is integrated from these, as for a
    distribution with a density. One without (counts) is exact as EmpiricalPredictive(values,
    weights=probabilities).

    Examples
    --------
    >>> from scipy.stats import gamma
    >>> class Demand:
    ...     def __init__(self, shape): self.gamma = gamma(shape)
    ...     def mean(self): return self.gamma.mean()
    ...     def quantile(self, level): return self.gamma.ppf(level)
    ...     def cdf(self, y): return self.gamma.cdf(y)
    >>> from scarce.amounts.regression import Pinball, decide_regression
    >>> decide_regression(Demand(np.array([2.0, 8.0])), Pinball(under=3, over=1)).round(3)
    array([2.693, 9.684])
    """

    def mean(self) -> ArrayLike:
        """Return the mean of each row, shape (n,)."""

    def quantile(self, level: ArrayLike) -> ArrayLike:
        """Return the least y whose cdf reaches the level."""

    def cdf(self, y: ArrayLike) -> ArrayLike:
        """Return the probability that the truth is at most y."""


class Distribution(Protocol):
    """What the costs ask of a predictive distribution, closed forms and quadrature included."""

    whole: bool  # rows cannot be taken apart
    cells: int  # numbers held per row
    node_count: int  # points of the quadrature per row
    n_rows: int

    def mean(self) -> Array:
        """Return the mean of each row, shape (n,)."""

    def variance(self) -> Array:
        """Return the variance of each row, shape (n,)."""

    def quantile(self, level: ArrayLike) -> Array:
        """Return the least y whose cdf reaches the level, shape (n,)."""

    def take(self, rows: Rows) -> Self:
        """Return the distribution of these rows."""

    def excess(self, action: Array) -> tuple[Array, Array]:
        """Return E max(y - action, 0) and E max(action - y, 0)."""

    def cumulant(self, rate: Array) -> Array:
        """Return log E exp(rate (y - mean))."""

    def nodes(self, splits: Array, fine: int = 1) -> tuple[Array, Array]:
        """Return points and weights of a quadrature whose panels end at the splits (n, s)."""

    def trials(self) -> Array:
        """Return actions to try first, (n, k)."""


def count(number: int, what: str = "row") -> str:
    """Return ``1 row`` or ``1,200 rows``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def span(values: Array) -> str:
    """Return ``5 to 20``, or the one number that all are."""
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"


class SearchedPredictive:
    """Where a search for the best action begins, for a distribution that has `quantile`."""

    quantile: Callable[[ArrayLike], Array]
    scan = SCAN

    def trials(self) -> Array:
        """Return actions to try first, (n, k), from the middle outwards."""
        return np.stack([self.quantile(level) for level in self.scan], axis=1)


class QuadraturePredictive(SearchedPredictive):
    """Expectations by quadrature, for a distribution that has `nodes` and `mean`."""

    n_rows: int
    mean: Callable[[], Array]
    nodes: Callable[..., tuple[Array, Array]]

    def variance(self) -> Array:
        """Return the variance of each row, shape (n,)."""
        y, weight = self.nodes(np.empty((self.n_rows, 0)))
        return np.asarray((weight * (y - self.mean()[:, None]) ** 2).sum(axis=1))

    def excess(self, action: Array) -> tuple[Array, Array]:
        """Return E max(y - action, 0) and E max(action - y, 0)."""
        action = np.broadcast_to(action, self.n_rows)[:, None]
        y, weight = self.nodes(action)
        above = (weight * np.maximum(y - action, 0)).sum(axis=1)
        return above, (weight * np.maximum(action - y, 0)).sum(axis=1)

    def cumulant(self, rate: Array) -> Array:
        """Return log E exp(rate (y - mean))."""
        y, weight = self.nodes(np.empty((self.n_rows, 0)))
        return log_mean_exp(np.reshape(rate, (-1, 1)) * (y - self.mean()[:, None]), weight)


class GaussianPredictive(SearchedPredictive):
    """A normal distribution for each row.

    Parameters
    ----------
    mean : float or array-like of shape (n,)
    sd : float or array-like of shape (n,)
        Standard deviation of the outcome, noise included. 0 is a value known for certain.

    Examples
    --------
    >>> demand = GaussianPredictive([100.0, 80.0], [20.0, 0.0])
    >>> demand.quantile(0.9).round(2), demand.cdf(100.0)
    (array([125.63,  80.  ]), array([0.5, 1. ]))
    """

    cells, node_count, whole = 1, 8 * (len(EDGES) + 1), False

    def __init__(self, mean: ArrayLike, sd: ArrayLike) -> None:
        refuse_other_index(mean=mean, sd=sd)
        centre, deviation = finite(mean, "mean"), finite(sd, "sd")
        refuse_negative(deviation, "sd")
        n_rows = common_length({"mean": len(centre), "sd": len(deviation)})
        self.centre, self.sd = np.broadcast_to(centre, n_rows), np.broadcast_to(deviation, n_rows)
        self.n_rows = len(self.centre)

    def __repr__(self) -> str:
        parts = f"mean {span(self.centre)}, sd {span(self.sd)}"
        return f"{type(self).__name__}({count(self.n_rows)}, {parts})"

    def mean(self) -> Array:
        """Return the mean of each row, shape (n,)."""
        return np.array(self.centre)

    def variance(self) -> Array:
        """Return the variance of each row, shape (n,)."""
        return np.asarray(self.sd**2)

    def quantile(self, level: ArrayLike) -> Array:
        """Return mean + sd Phi^-1(level), shape (n,)."""
        return np.asarray(self.centre + self.sd * ndtri(read_levels(level, self.n_rows)))

    def cdf(self, y: ArrayLike) -> Array:
        """Return the probability that the truth is at most y, shape (n,); NaN where y is NaN."""
        return np.asarray(ndtr(self._standard(read_each(y, "y", self.n_rows))))

    def take(self, rows: Rows) -> Self:
        """Return the predictive of these rows."""
        return type(self)(self.centre[rows], self.sd[rows])

    def excess(self, action: Array) -> tuple[Array, Array]:
        """Return E max(y - action, 0) and E max(action - y, 0)."""
        gap = self.centre - action
        with np.errstate(all="ignore"):
            z = -gap / self.sd
            bump = np.exp(-0.5 * z * z) / np.sqrt(2 * np.pi)
            above = self.sd * np.maximum(bump - z * ndtr(-z), 0)
            below = self.sd * np.maximum(bump + z * ndtr(z), 0)
        sure = ~(np.abs(z) < 38)  # the action is out of reach of the distribution
        above = np.where(sure, np.maximum(gap, 0), above)
        return above, np.where(sure, np.maximum(-gap, 0), below)

    def cumulant(self, rate: Array) -> Array:
        """Return log E exp(rate (y - mean))."""
        return np.asarray(0.5 * (rate * self.sd) ** 2)

    def nodes(self, splits: Array, fine: int = 1) -> tuple[Array, Array]:
        """Return points and weights of a quadrature whose panels end at the splits (n, s)."""
        edges = finer(EDGES, fine)
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            cuts = (splits - self.centre[:, None]) / self.sd[:, None]
        cuts = np.clip(np.nan_to_num(cuts), edges[0], edges[-1])
        t, weight = panels(with_cuts(edges, cuts))
        weight *= np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)
        return self.centre[:, None] + self.sd[:, None] * t, weight

    def _standard(self, y: Array) -> Array:
        gap = y - self.centre
        with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
            z = gap / self.sd
        sure = np.where(np.isnan(gap), np.nan, np.where(gap >= 0, np.inf, -np.inf))
        return np.asarray(np.where(self.sd > 0, z, sure))


class EmpiricalPredictive(SearchedPredictive):
    """Samples stand for the distribution: past outcomes, residuals, draws of a simulation.

    A discrete distribution is its values with their probabilities as weights.

    Parameters
    ----------
    samples : array-like of shape (m,) or (n, m)
        The same for all rows, or those of each row.
    weights : array-like of shape (m,) or (n, m), optional
        From 0 on; weight 2 is the sample given twice. They need not add up to 1.
    shift : array-like of shape (n,), optional
        Added to the samples of each row: predictions to which shared residuals are added, in the
        memory of m + n numbers. One row without it when samples has shape (m,).

    Quantiles are exact, ties and weights too: the least sample whose cdf reaches the level, where
    levels count as reached within rounding (0.9 of ten samples is the ninth). m samples say nothing
    about levels beyond 1/m and 1 - 1/m: those give the outermost sample.

    Examples
    --------
    >>> demand = EmpiricalPredictive([3, 1, 2, 2, 10])
    >>> demand.quantile(0.6), demand.quantile(0.61), demand.cdf(2)
    (array([2.]), array([3.]), array([0.6]))
    >>> EmpiricalPredictive([-1, 0, 3], shift=[10, 20]).quantile(0.9)
    array([13., 23.])
    """

    whole = False

    def __init__(
        self,
        samples: ArrayLike,
        weights: ArrayLike | None = None,
        *,
        shift: ArrayLike | None = None,
    ) -> None:
        refuse_other_index(samples=samples, shift=shift)
        held = finite_table(samples, "samples")
        add = np.zeros(len(held)) if shift is None else finite(shift, "shift")
        if len(held) not in (1, len(add)) and len(add) > 1:
            raise DataError(
                "{samples} has {found:,} rows and {shift} has {rows:,}.",
                code="length-mismatch",
                samples=Argument("samples"),
                found=len(held),
                shift=Argument("shift"),
                rows=len(add),
                remedy="Give samples of shape (m,) that all rows share, or as many rows as shift.",
            )
        weight = (
            np.ones((1, held.shape[1])) if weights is None else finite_table(weights, "weights")
        )
        if weight.shape[1] != held.shape[1] or len(weight) not in (1, len(held)):
            raise DataError(
                "{samples} has shape {samples_shape} and {weights} has shape {weights_shape}.",
                code="shape-mismatch",
                samples=Argument("samples"),
                samples_shape=held.shape,
                weights=Argument("weights"),
                weights_shape=weight.shape,
                remedy="Give one weight per sample.",
            )
        refuse_negative(weight, "weights")
        with np.errstate(over="ignore"):
            total = weight.sum(axis=1)
        if not (total > 0).all():
            raise DataError(
                "{argument} must not all be 0, as at row {row:,}.",
                code="no-weight",
                argument=Argument("weights"),
                row=int(np.argmin(total)),
            )
        if np.isinf(total).any():
            raise DataError(
                "{argument} of row {row:,} sum to infinity.",
                code="weights-overflow",
                argument=Argument("weights"),
                row=int(np.argmax(total)),
                remedy="Divide them by the largest.",
            )
        order = np.argsort(held, axis=1, kind="stable")
        self.samples = np.take_along_axis(held, order, axis=1)
        if weights is not None:
            weight = np.take_along_axis(np.broadcast_to(weight, held.shape), order, axis=1)
        self._settle(weight, np.broadcast_to(add, max(len(add), len(held))))

    def _settle(self, weight: Array, shift: Array) -> None:
        self.weights, self.shift, self.n_rows = weight, shift, len(shift)
        self.reached = np.cumsum(weight, axis=1)
        self.share = weight / self.reached[:, -1:]
        self.inner = (self.samples * self.share).sum(axis=1)  # the mean before the shift
        self.node_count = self.samples.shape[1]
        self.cells = 1 if len(self.samples) == 1 else self.node_count
        whole = bool((weight == np.floor(weight)).all())
        self.slack = ROUNDING if whole else ROUNDING * (1 + weight.shape[1] / 8)

    def __repr__(self) -> str:
        shared = " shared" if self.n_rows > 1 else ""
        each = " each" if len(self.samples) > 1 else shared
        weighted = ", weighted" if (self.weights != 1).any() else ""
        samples = count(self.samples.shape[1], "sample")
        return f"{type(self).__name__}({count(self.n_rows)}, {samples}{each}{weighted})"

    def mean(self) -> Array:
        """Return the mean of each row, shape (n,)."""
        return np.asarray(self.inner + self.shift)

    def variance(self) -> Array:
        """Return the variance of each row, shape (n,)."""
        squares = (self.share * (self.samples - self.inner[:, None]) ** 2).sum(axis=1)
        return np.array(np.broadcast_to(squares, self.n_rows))

    def quantile(self, level: ArrayLike) -> Array:
        """Return the least sample whose cdf reaches the level, shape (n,)."""
        levels = read_levels(level, self.n_rows)
        wanted = (levels - self.slack) * self.reached[:, -1]
        wanted = np.maximum(wanted, np.finfo(np.float64).tiny)  # never a sample of weight 0
        if len(self.reached) == 1:
            place = np.searchsorted(self.reached[0], wanted)
        else:
            place = (self.reached < np.reshape(wanted, (-1, 1))).sum(axis=1)
        return np.asarray(self.shift + self._pick(self.samples, place))

    def cdf(self, y: ArrayLike) -> Array:
        """Return the probability that the truth is at most y, shape (n,); NaN where y is NaN."""
        wanted = read_each(y, "y", self.n_rows)
        place = self._count(wanted)
        reached = self._pick(self.reached, np.maximum(place - 1, 0)) / self.reached[:, -1]
        return np.where(np.isnan(wanted), np.nan, np.where(place > 0, reached, 0.0))

    def take(self, rows: Rows) -> Self:
        """Return the predictive of these rows."""
        part = object.__new__(type(self))
        part.samples = self.samples if len(self.samples) == 1 else self.samples[rows]
        weight = self.weights if len(self.weights) == 1 else self.weights[rows]
        part._settle(weight, self.shift[rows])
        return part

    def excess(self, action: Array) -> tuple[Array, Array]:
        """Return E max(y - action, 0) and E max(action - y, 0)."""
        if len(self.samples) > 1:
            gap = self.samples - np.reshape(action - self.shift, (-1, 1))
            above = (self.share * np.maximum(gap, 0)).sum(axis=1)
            return above, (self.share * np.maximum(-gap, 0)).sum(axis=1)
        # Shared samples, from their mean: sums up to each sample answer every action by look-up.
        middle, place = self.inner[0], self._count(action)
        share = np.append(0.0, np.cumsum(self.share[0]))
        pull = np.append(0.0, np.cumsum(self.share[0] * (self.samples[0] - middle)))
        gap = action - self.shift - middle
        below = gap * share[place] - pull[place]
        above = (pull[-1] - pull[place]) - gap * (share[-1] - share[place])
        return np.maximum(above, 0), np.maximum(below, 0)

    def cumulant(self, rate: Array) -> Array:
        """Return log E exp(rate (y - mean))."""
        x = np.reshape(rate, (-1, 1)) * (self.samples - self.inner[:, None])
        return log_mean_exp(x, self.share)

    def nodes(self, splits: Array, fine: int = 1) -> tuple[Array, Array]:
        """Return the samples and their weights: nothing is left to integrate."""
        return self.samples + self.shift[:, None], self.share

    def trials(self) -> Array:
        """Return actions to try first, (n, k): all distinct samples if they are few."""
        held = self.weights > 0
        y = np.sort(np.where(held, self.samples, np.inf), axis=1)
        fresh = np.isfinite(y)
        fresh[:, 1:] &= y[:, 1:] > y[:, :-1]
        distinct = fresh.sum(axis=1)
        most = int(distinct.max())
        if most > FEW:
            levels = (np.arange(FEW) + 0.5) / FEW
            levels = levels[np.argsort(np.abs(levels - 0.5), kind="stable")]
            return np.stack([self.quantile(level) for level in levels], axis=1)
        # Of equally good actions the first stays: the middle one, so those come first.
        rank = np.cumsum(fresh, axis=1) - 1 - (distinct[:, None] - 1) / 2
        order = np.argsort(np.where(fresh, np.abs(rank), np.inf), axis=1, kind="stable")[:, :most]
        tried = np.take_along_axis(y, order, axis=1)
        tried = np.where(np.arange(most) < distinct[:, None], tried, tried[:, :1])
        return np.asarray(tried + self.shift[:, None])

    def nearest(self, action: Array) -> Array:
        """Return the sample next to each action, where an expected cost may have its corner."""
        y = self.samples + self.shift[:, None]
        return np.asarray(y[np.arange(len(y)), np.abs(y - action[:, None]).argmin(axis=1)])

    def _pick(self, table: Array, place: NDArray[np.intp]) -> Array:
        return table[0, place] if len(table) == 1 else table[np.arange(len(table)), place]

    def _count(self, y: Array) -> NDArray[np.intp]:
        """Return how many samples are at most y."""
        if len(self.samples) > 1:
            below = self.samples + self.shift[:, None] <= np.reshape(y, (-1, 1))
            return np.asarray(below.sum(axis=1))
        samples = self.samples[0]
        place = np.searchsorted(samples, y - self.shift, side="right")
        # y - shift is rounded: a y that is shift + sample must count that sample.
        following = samples[np.minimum(place, len(samples) - 1)]
        also = self.shift + following <= y
        return np.asarray(np.where(also, np.searchsorted(samples, following, side="right"), place))


class OutsidePredictive(QuadraturePredictive):
    """A predictive that the user brought: all else from its three methods, by quadrature."""

    node_count = cells = 8 * (len(LEVEL_EDGES) + 1)

    def __init__(self, source: Predictive) -> None:
        self.source, self.whole = source, not hasattr(source, "take")
        self.centre = finite(source.mean(), "mean()")
        self.n_rows = len(self.centre)

    def mean(self) -> Array:
        """Return the mean of each row."""
        return self.centre

    def quantile(self, level: ArrayLike) -> Array:
        """Return the source's quantile."""
        return self._read(self.source.quantile(level), "quantile(level)")

    def cdf(self, y: ArrayLike) -> Array:
        """Return the source's cdf."""
        return self._read(self.source.cdf(y), "cdf(y)")

    def take(self, rows: Rows) -> OutsidePredictive:
        """Return the predictive of these rows."""
        if self.whole:
            raise UsageError(
                "{name} has {rows:,} rows, the costs or actions have more, and it has no "
                "take(rows).",
                code="length-mismatch",
                name=type(self.source).__name__,
                rows=self.n_rows,
                remedy="Give it as many rows, or a method take(rows).",
            )
        return OutsidePredictive(self.source.take(rows))  # type: ignore[attr-defined]

    def nodes(self, splits: Array, fine: int = 1) -> tuple[Array, Array]:
        """Return points and weights; panels in normal scores of the level, which suit tails."""
        edges = finer(LEVEL_EDGES, fine)
        cuts = np.array([ndtri(self.cdf(cut)) for cut in splits.T]).T.reshape(splits.shape)
        t, weight = panels(with_cuts(edges, np.clip(cuts, edges[0], edges[-1])))
        y = np.stack([self.quantile(level) for level in ndtr(t).T], axis=1)
        return y, weight * np.exp(-0.5 * t * t) / np.sqrt(2 * np.pi)

    def _read(self, values: ArrayLike, name: str) -> Array:
        single = np.ndim(values) == 0
        held = read_column(
            [values] if single else values, f"{name} of {type(self.source).__name__}"
        )
        if not (single or len(held) == self.n_rows) or not np.isfinite(held).all():
            raise DataError(
                "{method} of {name} must return {rows:,} finite numbers, got shape {shape}{bad}.",
                code="predictive-result",
                method=name,
                name=type(self.source).__name__,
                rows=self.n_rows,
                shape=np.shape(values),
                bad="" if np.isfinite(held).all() else " with values that are not finite",
            )
        return np.broadcast_to(held, self.n_rows)


def exp_less(x: Array) -> Array:
    """Return exp(x) - 1 - x without cancellation at small x."""
    small = np.clip(x, -0.5, 0.5)
    series = np.ones_like(small)
    for k in range(17, 2, -1):
        series = 1 + small / k * series
    with np.errstate(over="ignore"):
        large = np.expm1(x) - np.minimum(x, LARGEST)  # infinity less infinity would be no number
    return np.where(np.abs(x) < 0.5, 0.5 * small**2 * series, large)


def log_mean_exp(x: Array, weight: Array) -> Array:
    """Return log sum weight exp(x) of each row for x of mean 0; neither cancels nor overflows."""
    top = np.maximum(x.max(axis=1), 0)
    near = np.log1p((weight * exp_less(np.minimum(x, 30))).sum(axis=1))
    far = top + np.log((weight * np.exp(x - top[:, None])).sum(axis=1))
    return np.asarray(np.where(top < 30, near, far))


def finer(edges: Array, fine: int) -> Array:
    """Return panel edges with every panel cut into `fine` equal ones."""
    steps = np.arange(len(edges) * fine - fine + 1) / fine
    return np.asarray(np.interp(steps, np.arange(len(edges)), edges))


def with_cuts(edges: Array, cuts: Array) -> Array:
    """Return the edges of each row (n, panels + 1): the shared ones and its own cuts, in order."""
    shared = np.broadcast_to(edges, (len(cuts), edges.shape[-1]))
    return np.sort(np.concatenate([shared, cuts], axis=1), axis=1)


def panels(edges: Array, mass: Array | None = None) -> tuple[Array, Array]:
    """Return Gauss-Legendre points and weights (n, panels * 8); mass instead of widths if given."""
    width = np.diff(edges, axis=1)[..., None]
    shape = (len(edges), width.shape[1], len(POINT))
    points = np.multiply(width, POINT, out=np.empty(shape))  # in memory row by row
    points += edges[:, :-1, None]
    size = width if mass is None else mass[..., None]
    weight = np.multiply(size, POINT_WEIGHT, out=np.empty(shape))
    return points.reshape(len(edges), -1), weight.reshape(len(edges), -1)


def weighted_mean(cost: Array, weight: Array, action: Array) -> Array:
    """Return the mean of costs (n, k) over the points of each row; NaN is an error."""
    with np.errstate(invalid="ignore", over="ignore"):
        mean = cost @ weight[0] if len(weight) == 1 else np.einsum("nk,nk->n", cost, weight)
        if np.isnan(mean).any():  # perhaps only an infinite cost where there is no weight
            mean = (np.where(weight > 0, cost, 0.0) * weight).sum(axis=1)
    if np.isnan(mean).any():
        raise DataError(
            "cost(y, action) has no mean at action={action:g}: it is NaN, or infinite with both "
            "signs, for some y.",
            code="cost-not-finite",
            action=float(action[np.argmax(np.isnan(mean))]),
            remedy="Return a number for every y.",
        )
    return np.asarray(mean)


# --- numbers as people hand them over -------------------------------------------------------------


def finite(values: ArrayLike, name: str) -> Array:
    """Return one column of finite numbers; a single number is one row."""
    held = numbers(values, name)
    if len(held) == 0:
        raise DataError("{argument} is empty.", code="no-rows", argument=Argument(name))
    refuse_not_finite(held, name)
    return np.array(held)  # a copy: the distribution must not change with the user's own array


def numbers(values: ArrayLike, name: str) -> Array:
    """Return one column of numbers, NaN for missing ones; a single number is one row."""
    if _ndim(values) == 0:
        return read_column(values.reshape(1) if isinstance(values, np.ndarray) else [values], name)
    return read_column(values, name)


def _ndim(values: ArrayLike) -> int:
    try:
        return int(np.ndim(values))
    except (TypeError, ValueError):  # lists of unequal length
        return 2


def finite_table(values: ArrayLike, name: str) -> Array:
    """Return a table of finite numbers of shape (rows, columns); one row for a plain list."""
    if _ndim(values) < 2:
        held = np.array(numbers(values, name))[None]
    else:
        try:
            held = np.ma.asanyarray(values) if np.ma.isMaskedArray(values) else np.asarray(values)
            if held.dtype.kind in "US":  # numbers beside text: find the text
                held = np.asarray(values, dtype=object)
        except (TypeError, ValueError) as error:
            raise DataError(
                "{argument} must be a table of numbers ({reason}).",
                code="not-a-table",
                argument=Argument(name),
                reason=str(error),
            ) from None
        if held.ndim == 2 and held.size:  # anything but a plain table of numbers goes by columns
            plain = held.dtype.kind in "biuf" and not np.ma.isMaskedArray(held)
            parts = [held] if plain else [read_column(part, name)[:, None] for part in held.T]
            held = np.concatenate(parts, axis=1, dtype=np.float64)
    if held.ndim != 2 or 0 in held.shape:
        raise DataError(
            "{argument} must be one list of numbers, or rows of them, got shape {shape}.",
            code="not-a-table",
            argument=Argument(name),
            shape=np.shape(values),
        )
    bad = ~np.isfinite(held)
    if bad.any():
        raise DataError(
            "{argument} must be finite: {count:,} of {size:,} values are NaN or infinite (first at "
            "row {row:,}).",
            code="not-finite",
            argument=Argument(name),
            count=int(bad.sum()),
            size=held.size,
            row=int(np.argwhere(bad)[0][0]),
            remedy="Leave such rows out, or give them a value.",
        )
    return held


def common_length(lengths: Mapping[str, int]) -> int:
    """Return the number of rows that all have, one value standing for all rows."""
    n_rows = max([1, *lengths.values()])
    for name, length in lengths.items():
        if length not in (1, n_rows):
            raise DataError(
                "{name} has {found:,} rows and {other} has {rows:,}.",
                code="length-mismatch",
                name=name,
                found=length,
                other=max(lengths, key=lambda key: lengths[key]),
                rows=n_rows,
                remedy="Give one value for all rows, or one for each.",
            )
    return n_rows


def read_levels(level: ArrayLike, n_rows: int) -> Array:
    """Return quantile levels between 0 and 1, one or one per row."""
    held = read_each(level, "level", n_rows)
    bad = ~((held > 0) & (held < 1))
    if bad.any():
        raise UsageError(
            "{argument} must be between 0 and 1, such as 0.9, got {value:g}.",
            code="level-range",
            argument=Argument("level"),
            value=float(held[bad].flat[0]),
        )
    return held


def read_each(values: ArrayLike, name: str, n_rows: int) -> Array:
    """Return a number for all rows, or one for each, NaN for missing; one row takes any number."""
    held = numbers(values, name)
    if len(held) == 0 or (n_rows > 1 and len(held) not in (1, n_rows)):
        raise UsageError(
            "{argument} must be one number for all rows, or one for each of {rows:,}, got shape "
            "{shape}.",
            code="length-mismatch",
            argument=Argument(name),
            rows=n_rows,
            shape=held.shape,
        )
    return held
