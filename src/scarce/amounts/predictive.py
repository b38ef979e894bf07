"""What may the number be? Predictive distributions of a quantity, one per row.

    GaussianPredictive    y ~ N(mean, sd^2)                                  (003 section 0.6)
    EmpiricalPredictive   y is one of the samples, each with its weight; quantile = least y with
                          cdf(y) >= level

A third, `QuantilePredictive`, is in quantile_models.py, beside what makes its quantiles. Each has
closed forms of all that the named costs need. Assumes that the distribution given is the right one:
checks nothing against outcomes. Does not choose an action: see regression.py.
"""

from __future__ import annotations

from typing import Any, Protocol, Self, runtime_checkable

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import ndtr, ndtri

from scarce.amounts.law_readers import (
    agree,
    finite,
    matrix,
    read_each,
    read_levels,
    refuse_negative,
)
from scarce.amounts.quadrature import BySearch, finer, log_mean_exp, panels, with_cuts
from scarce.engine.block import Array
from scarce.errors import DataError

ROUNDING = 8 * np.finfo(np.float64).eps
EDGES = np.linspace(-9, 9, 9)  # panels of a Gaussian, in standard deviations
FEW = 64  # samples that a search tries one by one


@runtime_checkable
class Predictive(Protocol):
    """What `decide_regression` asks of a distribution that you bring yourself: three methods.

    `mean()` returns shape (n,). `quantile(level)` and `cdf(y)` take one number, or one per row, and
    return shape (n,). One more is used if it is there: `take(rows)`, the predictive of these rows,
    keeps memory bounded (else some kB a row are held). All else is integrated from these, as for a
    law with a density. One that has none (counts) is exact as EmpiricalPredictive(values,
    weights=probabilities).

    Examples
    --------
    >>> from scipy.stats import gamma
    >>> class Demand:
    ...     def __init__(self, shape): self.law = gamma(shape)
    ...     def mean(self): return self.law.mean()
    ...     def quantile(self, level): return self.law.ppf(level)
    ...     def cdf(self, y): return self.law.cdf(y)
    >>> from scarce.amounts.regression import Pinball, decide_regression
    >>> decide_regression(Demand(np.array([2.0, 8.0])), Pinball(under=3, over=1)).round(3)
    array([2.693, 9.684])
    """

    def mean(self) -> Any:
        """Return the mean of each row, shape (n,)."""

    def quantile(self, level: Any) -> Any:
        """Return the least y whose cdf reaches the level."""

    def cdf(self, y: Any) -> Any:
        """Return the probability that the truth is at most y."""


class GaussianPredictive(BySearch):
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
        centre, spread = finite(mean, "mean"), finite(sd, "sd")
        refuse_negative(spread, "sd", "a standard deviation is 0 (certain) or above")
        n_rows = agree({"mean": len(centre), "sd": len(spread)})
        self.centre, self.sd = np.broadcast_to(centre, n_rows), np.broadcast_to(spread, n_rows)
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

    def take(self, rows: Any) -> Self:
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
        sure = ~(np.abs(z) < 38)  # no spread, or none that reaches the action
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


class EmpiricalPredictive(BySearch):
    """Samples stand for the distribution: past outcomes, residuals, draws of a simulation.

    A discrete law is its values with their probabilities as weights.

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
        held = matrix(samples, "samples")
        add = np.zeros(len(held)) if shift is None else finite(shift, "shift")
        if len(held) not in (1, len(add)) and len(add) > 1:
            raise DataError(
                f"samples has {len(held):,} rows and shift {len(add):,}: give samples of shape "
                "(m,) that all rows share, or as many rows as shift."
            )
        weight = np.ones((1, held.shape[1])) if weights is None else matrix(weights, "weights")
        if weight.shape[1] != held.shape[1] or len(weight) not in (1, len(held)):
            raise DataError(
                f"samples has shape {held.shape} and weights {weight.shape}: give one "
                "weight per sample."
            )
        refuse_negative(weight, "weights", "a weight counts how often a sample was seen")
        with np.errstate(over="ignore"):
            total = weight.sum(axis=1)
        if not (total > 0).all():
            row = int(np.argmin(total))
            raise DataError(f"All weights of row {row:,} are 0: give some sample a weight above 0.")
        if np.isinf(total).any():
            raise DataError(
                f"The weights of row {int(np.argmax(total)):,} add up to more than a number holds: "
                "divide them by the largest."
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

    def take(self, rows: Any) -> Self:
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


def count(number: int, what: str = "row") -> str:
    """Return ``1 row`` or ``1,200 rows``."""
    return f"{number:,} {what}{'' if number == 1 else 's'}"


def span(values: Array) -> str:
    """Return ``5 to 20``, or the one number that all are."""
    low, high = f"{values.min():.4g}", f"{values.max():.4g}"
    return low if low == high else f"{low} to {high}"
