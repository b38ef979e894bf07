"""What is a family of score distributions, and what follows when only its density is known?

    log tail(t) = log of the integral of exp(log_density(s)) over s >= t            (002 eq 2, R)

A family writes its density, the sums that an EM step needs, and how to close them. Everything else
has a numerical default here: tails, gradients, mean and spread. The defaults assume a density with
one peak that falls to both sides; they are slow, so a family overrides them. Does not fit mixtures
and sets no floors under spreads.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import DataError

Array = NDArray[np.float64]

LEAST = 1e-12  # least spread, as a share of the mean: equal scores still give finite numbers
_SMALL = 1e-100  # least spread of scores that are all 0

# Overflow to infinity is the right answer of a log density far out, so nobody need hear of it.
quiet = np.errstate(all="ignore")

_STEP = 1.0 / 16  # trapezoids in log distance: exp(-2 pi^2 / step) is far below rounding
_LOG_DISTANCE = np.arange(-40.0, 40.0, _STEP)  # in units of the local scale, both ways
_AT_ONCE = 256  # tails per sweep, so that a table of distances stays small


class Family(ABC):
    """A family of distributions of scores, with unconstrained parameters.

    `log_density`, `summarise` and `close` are required, with the attributes `name`, `names` (of the
    parameters) and `positive_only`. The rest follows numerically.

    **Assumes**, in what follows numerically, one peak and a density that falls away from it.
    """

    name: ClassVar[str]
    names: ClassVar[tuple[str, ...]]
    positive_only: ClassVar[bool] = False

    @abstractmethod
    def log_density(self, s: ArrayLike, params: Array) -> Array:
        """Return the log density at each score; -inf at scores the family cannot have."""

    @abstractmethod
    def summarise(self, s: ArrayLike, weight: ArrayLike, params: Array | None = None) -> Array:
        """Return sums over rows that `close` needs; those of two blocks of rows are added.

        `params` are the current parameters, the same for every block: hidden values are expected
        under them, and sums are centred at their mean. Without them a rougher start is made.
        """

    @abstractmethod
    def close(self, statistics: Array) -> Array:
        """Return the parameters that fit the sums best: the M step."""

    @quiet
    def log_tail(self, t: ArrayLike, params: Array) -> Array:
        """Return log P(score >= t)."""
        t = np.asarray(t, dtype=np.float64)
        peak, width = self._peak(params)
        y = t.ravel()
        if self.positive_only:
            y = np.log(np.where(y > 0, y, np.nan))
        outside = np.empty_like(y)
        for start in range(0, len(y), _AT_ONCE):
            part = slice(start, start + _AT_ONCE)
            outside[part] = self._log_outside(y[part], params, peak, width)
        outside = np.minimum(outside, 0.0)
        tail = np.where(y >= peak, outside, np.log1p(-np.exp(outside)))
        if self.positive_only:
            tail[t.ravel() <= 0] = 0.0
        return tail.reshape(t.shape)

    def gradient(self, s: ArrayLike, params: Array) -> Array:
        """Return d log_density / d params, shape (n_params, n)."""
        params = np.asarray(params, dtype=np.float64)
        rows = []
        for at in range(len(params)):
            step = np.zeros_like(params)
            step[at] = 6e-6 * max(1.0, abs(params[at]))  # third root of rounding
            up, down = self.log_density(s, params + step), self.log_density(s, params - step)
            with np.errstate(invalid="ignore"):  # both -inf where the family has no scores
                rows.append(np.where(np.isfinite(up), (up - down) / (2 * step[at]), 0.0))
        return np.array(rows)

    def mean(self, params: Array) -> float:
        """Return the mean score."""
        base, apart, mass = self._nodes(params)
        return base + float(mass @ apart)

    def spread(self, params: Array) -> float:
        """Return the standard deviation of scores."""
        _, apart, mass = self._nodes(params)
        return math.sqrt(float(mass @ np.square(apart - mass @ apart)))

    def with_spread(self, params: Array, spread: float) -> Array:
        """Return parameters with the same mean and this spread, where the family has such."""
        base, apart, mass = self._nodes(params)
        s, mean = base + apart, self.mean(params)
        place, factor, found = mean, spread / self.spread(params), params
        for _ in range(30):  # scores stretched, fitted, and what is still missing made up for
            if self.positive_only:
                stretched = place * (s / mean) ** factor
            else:
                stretched = place + (s - mean) * factor
            found = self.fit(stretched, mass)
            new_mean, new_spread = self.mean(found), self.spread(found)
            if abs(new_mean - mean) + abs(new_spread - spread) <= 1e-12 * spread:
                break
            if self.positive_only:
                place, factor = place * mean / new_mean, factor * spread / new_spread
                factor *= new_mean / mean  # what a power stretches is spread over mean
            else:
                place, factor = place + mean - new_mean, factor * spread / new_spread
        return found

    def fit(
        self,
        s: ArrayLike,
        weight: ArrayLike | None = None,
        params: Array | None = None,
        *,
        tolerance: float = 1e-12,
        most: int = 1000,
    ) -> Array:
        """Return the parameters of greatest likelihood for weighted scores.

        Steps of summarise and close, until a step gains less than `tolerance` per unit of weight.

        Examples
        --------
        >>> from scarce.missed.mixture.families import FAMILIES
        >>> FAMILIES["normal"].fit([1.0, 2.0, 3.0]).round(4).tolist()
        [2.0, -0.2027]
        """
        s = np.asarray(s, dtype=np.float64)
        weight = np.ones_like(s) if weight is None else np.asarray(weight, dtype=np.float64)
        s, weight = s[weight > 0], weight[weight > 0]
        if self.positive_only and np.any(s <= 0):
            raise DataError(
                f"The {self.name} family has no scores at or below 0, and one is {s.min():g}. Use "
                "'normal', 'student-t' or 'skew-normal', or scores that are above 0."
            )
        params = self.close(self.summarise(s, weight, params))
        before, total = -math.inf, float(weight.sum())
        for _ in range(most):
            params = self.close(self.summarise(s, weight, params))
            value = float(weight @ self.log_density(s, params))
            if not value - before > tolerance * total:
                break
            before = value
        return params

    # Below, scores are on a whole line: log(score) for families that have none at or below 0, so
    # that an edge, or a density without end at 0, is far away.

    @quiet
    def _log_on_line(self, y: Array, params: Array) -> Array:
        if not self.positive_only:
            return self.log_density(y, params)
        out = self.log_density(np.exp(y), params) + y
        return np.where(np.isnan(out), -np.inf, out)  # exp(y) was 0 or infinite

    def _peak(self, params: Array) -> tuple[float, float]:
        """Return where the density on the line is greatest, and how far off it has halved."""
        sizes = np.geomspace(1e-12, 1e12, 481)
        grid = np.concatenate([-sizes[::-1], [0.0], sizes])
        if self.positive_only:
            grid = np.linspace(-700.0, 700.0, 2801)
        for _ in range(24):  # one peak: it lies between the neighbours of the best point
            best = int(np.argmax(self._log_on_line(grid, params)))
            low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
            if not grid[1] - grid[0] > 1e-16 * max(abs(low), abs(high)):
                break
            grid = np.linspace(low, high, 33)
        peak = float(grid[best])
        distance = np.geomspace(1e-150, 1e15 * max(abs(peak), 1.0), 1001)
        half = float(self._log_on_line(np.array([peak]), params)[0]) - math.log(2.0)
        fallen = self._log_on_line(peak + distance, params) < half
        fallen |= self._log_on_line(peak - distance, params) < half
        return peak, float(distance[int(np.argmax(fallen))])

    @quiet
    def _log_outside(self, y: Array, params: Array, peak: float, width: float) -> Array:
        """Return the log of the mass on the side of y that is away from the peak."""
        side = np.where(y >= peak, 1.0, -1.0)
        off = np.abs(y - peak)
        step = 1e-4 * np.clip(off, 1e-6 * width, width)
        fall = (self._log_on_line(y, params) - self._log_on_line(y + side * step, params)) / step
        scale = np.fmin(np.where(fall > 0, 1.0 / fall, np.inf), np.maximum(width, off))
        away = np.multiply.outer(scale, np.exp(_LOG_DISTANCE))
        mass = self._log_on_line(y[:, None] + side[:, None] * away, params) + _LOG_DISTANCE
        top = mass.max(axis=1)
        total = np.log(np.exp(mass - top[:, None]).sum(axis=1) * (_STEP * scale))
        return np.where(top == -np.inf, -np.inf, top + total)

    @quiet
    def _nodes(self, params: Array) -> tuple[float, Array, Array]:
        """Return the peak, scores measured from it, and their masses, which make integrals."""
        peak, width = self._peak(params)
        away = width * np.exp(_LOG_DISTANCE)
        y, step = np.concatenate([[-away[::-1], away[::-1]], [away, away]], axis=1)
        mass = np.exp(self._log_on_line(peak + y, params)) * step
        y, mass = y[mass > 0], mass[mass > 0]
        base = math.exp(peak) if self.positive_only else peak
        return base, (base * np.expm1(y) if self.positive_only else y), mass / mass.sum()


class LocationScale(Family):
    """Families whose first two parameters are a location and the logarithm of a scale."""

    @staticmethod
    def _standard(s: ArrayLike, params: Array) -> tuple[Array, float]:
        scale = math.exp(params[1])
        return (np.asarray(s, dtype=np.float64) - params[0]) / scale, scale

    def with_spread(self, params: Array, spread: float) -> Array:
        """Return parameters with the same mean and this spread."""
        ratio = spread / self.spread(params)
        mean = self.mean(params)
        out = np.array(params, dtype=np.float64)
        out[0] = mean + (params[0] - mean) * ratio
        out[1] += math.log(ratio)
        return out


def weighted(s: ArrayLike, weight: ArrayLike) -> tuple[Array, Array]:
    """Return scores and weights as arrays of numbers."""
    return np.asarray(s, dtype=np.float64), np.asarray(weight, dtype=np.float64)


def least_spread(mean: float) -> float:
    """Return the least spread that a closing step gives around this mean."""
    return max(LEAST * abs(mean), _SMALL)
