"""Which shapes may the scores of events, and of everything else, have?

    p(s) = (1 - positive_share) p0(s; background params) + positive_share p1(s; ...)    (002 eq 1)

Five families with unconstrained parameters, log densities and log tails that stay right where the
probabilities themselves underflow, and the sums and closing step of EM. Normal, lognormal and gamma
close exactly; student-t and skew-normal have a hidden value per row and take expanded EM steps
(Liu, Rubin, Wu 1998, Biometrika 85), which never lower the likelihood.

A family of one's own writes its density, the sums that an EM step needs, and how to close them.
Tails, gradients, mean and standard deviation (`spread`) then follow numerically; that is slow, so
the families here override it. Assumes a density with one peak that falls to both sides. Sets no
floor under a standard deviation but the one that keeps numbers finite: see em.py.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import (
    digamma,
    erf,
    erfcx,
    gammainc,
    gammaincc,
    gammaln,
    log_ndtr,
    ndtr,
    owens_t,
    polygamma,
)

from scarce.errors import DataError, UsageError, refuse_word

# --- what a family is -----------------------------------------------------------------------------


Array = NDArray[np.float64]

LEAST = 1e-12  # least standard deviation, as a share of the mean: keeps equal scores finite
NOT_POSITIVE_ONLY = "Use 'normal', 'student-t' or 'skew-normal', or scores above 0."
_SMALL = 1e-100  # least standard deviation of scores that are all 0

# Overflow to infinity is the right value of a log density far out: no warning is needed.
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
        """Return parameters with the same mean and this standard deviation, where there are any."""
        base, apart, mass = self._nodes(params)
        s, mean = base + apart, self.mean(params)
        place, factor, found = mean, spread / self.spread(params), params
        for _ in range(30):  # stretch the scores, fit, and correct for what is still missing
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
                factor *= new_mean / mean  # a power stretches spread / mean
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
                "The {family} family needs scores above 0, got {least:g}.",
                code="family-range",
                family=self.name,
                least=float(s.min()),
                remedy=NOT_POSITIVE_ONLY,
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
        """Return parameters with the same mean and this standard deviation."""
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
    """Return the least standard deviation that a closing step gives around this mean."""
    return max(LEAST * abs(mean), _SMALL)


# --- the skew-normal family -----------------------------------------------------------------------
#
#   p(s) = 2 / scale * phi(z) * Phi(slant z),  z = (s - location) / scale    (Azzalini 1985, eq 1)
#
# A row is location + scale (d |h| + sqrt(1 - d^2) e) with normal h and e and d = slant / sqrt(1 +
# slant^2), so EM is least squares of the scores on the hidden |h|. Owen's function cancels where
# the slant points away from the tail; there the tail is a Gauss-Legendre sum of positive terms. A
# slant of 0 is a saddle that EM never leaves: `summarise` without params starts from the third
# moment.


_LOG_2 = math.log(2.0)
_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)
_HALF_NORMAL_MEAN = math.sqrt(2 / math.pi)
_LEAST_REST = 1e-8  # least share of the variance that is not the slant's: slants end at 10,000
_MOST_SKEW = 0.95  # least skewness that no skew-normal has is 0.9953
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(48)
_NODES, _LOG_WEIGHTS = 0.5 * (_NODES + 1.0), np.log(0.5 * _WEIGHTS)
_FALL = 45.0  # nats: exp(-45) is below rounding


def _inverse_mills(y: Array) -> Array:
    """Return density over distribution function of the standard normal, also far below 0."""
    return np.asarray(_HALF_NORMAL_MEAN / erfcx(-y / math.sqrt(2)))


@dataclass(frozen=True)
class SkewNormal(LocationScale):
    """The skew-normal family: location, logarithm of the scale, and slant (0 is normal).

    Examples
    --------
    >>> params = np.array([0.0, 0.0, -3.0])
    >>> SkewNormal().log_tail([0.0, 20.0], params).round(3).tolist()
    [-2.279, -2010.538]
    """

    name = "skew-normal"
    names = ("location", "log_scale", "slant")

    @quiet
    def log_density(self, s: ArrayLike, params: Array) -> Array:
        """Return the log density at each score."""
        z, _ = self._standard(s, params)
        level = _LOG_2 - params[1] - _HALF_LOG_2PI
        return np.asarray(level - 0.5 * z * z + log_ndtr(params[2] * z))

    @quiet
    def log_tail(self, t: ArrayLike, params: Array) -> Array:
        """Return log P(score >= t)."""
        z, _ = self._standard(t, params)
        z, slant = np.atleast_1d(z), float(params[2])
        right, out = z >= 0, np.empty_like(z)
        if slant > 0:
            out[right] = _log_thick_tail(z[right], slant)
            out[~right] = np.log1p(-np.exp(_log_thin_tail(-z[~right], slant)))
        else:
            size = -z[~right]
            out[right] = _log_thin_tail(z[right], -slant)
            middle = erf(size / math.sqrt(2)) + np.exp(_log_thin_tail(size, -slant))
            out[~right] = np.log(middle)
        return out.reshape(np.shape(t))

    @quiet
    def gradient(self, s: ArrayLike, params: Array) -> Array:
        """Return d log_density / d params, shape (3, n)."""
        z, scale = self._standard(s, params)
        lean = _inverse_mills(params[2] * z)
        pull = z - params[2] * lean
        return np.array([pull / scale, z * pull - 1.0, lean * z])

    @quiet
    def summarise(self, s: ArrayLike, weight: ArrayLike, params: Array | None = None) -> Array:
        """Return sums of the scores and of each row's expected hidden value and its square."""
        s, weight = weighted(s, weight)
        total = weight.sum()
        if params is None:
            moments = [weight @ s**power for power in (1, 2, 3)]
            return np.array([total, *moments[:2], 0.0, 0.0, 0.0, 0.0, moments[2]])
        z, _ = self._standard(s, params)
        rest = 1.0 / math.hypot(1.0, params[2])  # sqrt(1 - d^2)
        middle, lean = params[2] * rest * z, _inverse_mills(params[2] * z)
        hidden = middle + rest * lean
        square = middle * hidden + rest * rest
        x = s - params[0]
        first, hidden_sum = weight @ x, weight @ hidden
        cross = weight @ (hidden * x)
        sums = [total, first, weight @ (x * x), hidden_sum, weight @ square, cross]
        return np.array([*sums, total * params[0], 0.0])

    def close(self, statistics: Array) -> Array:
        """Return the least-squares fit of the scores on the hidden values, as parameters."""
        total, first, second, hidden, square, cross, centre, third = statistics
        if not total > 0:
            return np.zeros(3)
        mean, variance = first / total, max(second / total - (first / total) ** 2, 0.0)
        middle = float(centre / total)
        floor = least_spread(middle + mean)
        if not variance > floor * floor:
            return np.array([middle + mean, math.log(floor), 0.0])
        if not square > 0:  # no params were given: match three moments
            return _from_moments(mean, variance, third / total - mean * (3 * variance + mean**2))
        hidden_mean = hidden / total
        slope = (cross / total - hidden_mean * mean) / (square / total - hidden_mean**2)
        location = mean - slope * hidden_mean
        rest = variance - slope * (cross / total - hidden_mean * mean)
        lean = slope * math.sqrt(square / total)  # expanded EM: the hidden values' own scale
        rest = max(rest, _LEAST_REST * (rest + lean * lean), floor * floor)
        scale = math.hypot(lean, math.sqrt(rest))
        return np.array([middle + location, math.log(scale), lean / math.sqrt(rest)])

    def mean(self, params: Array) -> float:
        """Return the mean score."""
        lean = params[2] / math.hypot(1.0, params[2])
        return float(params[0] + math.exp(params[1]) * lean * _HALF_NORMAL_MEAN)

    def spread(self, params: Array) -> float:
        """Return the standard deviation of scores."""
        lean = params[2] / math.hypot(1.0, params[2]) * _HALF_NORMAL_MEAN
        return math.exp(params[1]) * math.sqrt(1.0 - lean * lean)


def _from_moments(mean: float, variance: float, third: float) -> Array:
    """Return the parameters with these central moments, or the nearest skewness there is."""
    skew = third / variance**1.5
    skew = math.copysign(min(max(abs(skew), 1e-2), _MOST_SKEW), skew)  # 0 would be a saddle
    ratio = math.copysign((2 * abs(skew) / (4 - math.pi)) ** (1 / 3), skew)
    lean = ratio / math.sqrt(1.0 + ratio * ratio)  # d sqrt(2 / pi)
    d = lean / _HALF_NORMAL_MEAN
    scale = math.sqrt(variance / (1.0 - lean * lean))
    return np.array([mean - scale * lean, math.log(scale), d / math.sqrt(1.0 - d * d)])


def _log_thick_tail(z: Array, slant: float) -> Array:
    """Return the log of twice the integral of phi(x) Phi(slant x) from z >= 0 on."""
    out = np.log(ndtr(-z) + 2.0 * owens_t(z, slant))
    far = z > 25.0  # both terms underflow; the densities of both slants add up to twice the normal
    log_normal = log_ndtr(-z[far])
    ratio = np.exp(_log_thin_tail(z[far], slant) - log_normal)
    out[far] = _LOG_2 + log_normal + np.log1p(-0.5 * ratio)
    return np.asarray(out)


def _log_thin_tail(z: Array, slant: float) -> Array:
    """Return the log of twice the integral of phi(x) Phi(-slant x) from z >= 0 on."""
    normal = ndtr(-z)
    value = normal - 2.0 * owens_t(z, slant)
    out = np.log(np.maximum(value, 1e-300))
    lost = (value < 0.03 * normal) | (z > 25.0)  # more than two digits, to cancellation
    if lost.any():
        out[lost] = _log_thin_sum(z[lost], slant)
    return np.asarray(out)


def _log_thin_sum(z: Array, slant: float) -> Array:
    """Return the same as a sum of positive terms."""
    slope = z + slant * _inverse_mills(-slant * z)
    # Minus the log integrand is convex, its second derivative at least this much and at most
    # 1 + slant^2: from z on it falls by 45 to 71 nats over `length`.
    bend = 1.0 + slant * slant * 2 / math.pi
    length = 2 * _FALL / (slope + np.sqrt(slope * slope + 2 * _FALL * bend))
    ahead = np.multiply.outer(length, _NODES)
    x = z[..., None] + ahead
    # Measured from z: squares of large z would cancel.
    fall = -ahead * (z[..., None] + 0.5 * ahead) + log_ndtr(-slant * x)
    top = log_ndtr(-slant * z)
    total = np.log(np.exp(fall - top[..., None] + _LOG_WEIGHTS).sum(axis=-1))
    return np.asarray(_LOG_2 - _HALF_LOG_2PI - 0.5 * z * z + top + np.log(length) + total)


# --- the other families ---------------------------------------------------------------------------


_HALF_LOG_2PI = 0.5 * math.log(2 * math.pi)


@dataclass(frozen=True)
class Normal(LocationScale):
    """The normal family: mean, and logarithm of the standard deviation.

    Examples
    --------
    >>> params = np.array([0.0, 0.0])
    >>> Normal().log_tail([0.0, 40.0], params).round(3).tolist()
    [-0.693, -804.608]
    """

    name = "normal"
    names = ("mean", "log_spread")

    @quiet
    def log_density(self, s: ArrayLike, params: Array) -> Array:
        """Return the log density at each score."""
        z, _ = self._standard(s, params)
        return np.asarray(-0.5 * z * z - (params[1] + _HALF_LOG_2PI))

    def log_tail(self, t: ArrayLike, params: Array) -> Array:
        """Return log P(score >= t)."""
        return np.asarray(log_ndtr(-self._standard(t, params)[0]))

    def gradient(self, s: ArrayLike, params: Array) -> Array:
        """Return d log_density / d params, shape (2, n)."""
        z, scale = self._standard(s, params)
        return np.array([z / scale, z * z - 1.0])

    def summarise(self, s: ArrayLike, weight: ArrayLike, params: Array | None = None) -> Array:
        """Return the sums of weight, of scores from the centre, their squares, and the centre."""
        s, weight = weighted(s, weight)
        return _moments(s, weight, 0.0 if params is None else params[0])

    def close(self, statistics: Array) -> Array:
        """Return mean and log standard deviation of the rows that were summed."""
        mean, spread = _mean_spread(statistics)
        return np.array([mean, math.log(max(spread, least_spread(mean)))])

    def mean(self, params: Array) -> float:
        """Return the mean score."""
        return float(params[0])

    def spread(self, params: Array) -> float:
        """Return the standard deviation of scores."""
        return math.exp(params[1])


def _moments(x: Array, weight: Array, centre: float) -> Array:
    """Return additive sums; centred, as squares of large numbers hide a small variance."""
    x = x - centre
    total = weight.sum()
    return np.array([total, weight @ x, weight @ (x * x), total * centre])


def _mean_spread(statistics: Array) -> tuple[float, float]:
    total, first, second, centre = statistics[:4]
    if not total > 0:
        return 0.0, 1.0
    apart = first / total
    variance = second / total - apart * apart
    return float(centre / total + apart), math.sqrt(max(variance, 0.0))


@dataclass(frozen=True)
class Lognormal(Family):
    """The lognormal family: mean, and logarithm of the standard deviation, of log(score)."""

    name = "lognormal"
    names = ("mean_of_log", "log_spread_of_log")
    positive_only = True

    @quiet
    def log_density(self, s: ArrayLike, params: Array) -> Array:
        """Return the log density at each score; -inf at 0 and below."""
        s = np.asarray(s, dtype=np.float64)
        log_s = np.log(np.where(s > 0, s, 1.0))
        inside = _NORMAL.log_density(log_s, params) - log_s
        return np.asarray(np.where(s > 0, inside, -np.inf))

    def log_tail(self, t: ArrayLike, params: Array) -> Array:
        """Return log P(score >= t)."""
        t = np.asarray(t, dtype=np.float64)
        inside = _NORMAL.log_tail(np.log(np.where(t > 0, t, 1.0)), params)
        return np.asarray(np.where(t > 0, inside, 0.0))

    def gradient(self, s: ArrayLike, params: Array) -> Array:
        """Return d log_density / d params, shape (2, n); 0 at scores of 0 and below."""
        s = np.asarray(s, dtype=np.float64)
        inside = _NORMAL.gradient(np.log(np.where(s > 0, s, 1.0)), params)
        return np.where(s > 0, inside, 0.0)

    def summarise(self, s: ArrayLike, weight: ArrayLike, params: Array | None = None) -> Array:
        """Return the normal family's sums of log(score); rows at 0 or below are left out."""
        s, weight = _above_zero(*weighted(s, weight))
        return _NORMAL.summarise(np.log(s), weight, params)

    def close(self, statistics: Array) -> Array:
        """Return mean and log standard deviation of log(score)."""
        mean, spread = _mean_spread(statistics)
        return np.array([mean, math.log(max(spread, LEAST))])

    def mean(self, params: Array) -> float:
        """Return the mean score."""
        return float(np.exp(params[0] + 0.5 * np.exp(2 * params[1])))

    def spread(self, params: Array) -> float:
        """Return the standard deviation of scores."""
        return float(self.mean(params) * np.sqrt(np.expm1(np.exp(2 * params[1]))))

    def with_spread(self, params: Array, spread: float) -> Array:
        """Return parameters with the same mean and this standard deviation."""
        log_mean = params[0] + 0.5 * math.exp(2 * params[1])
        variance = math.log1p((spread / self.mean(params)) ** 2)
        return np.array([log_mean - 0.5 * variance, 0.5 * math.log(variance)])


def _above_zero(s: Array, weight: Array) -> tuple[Array, Array]:
    above = s > 0
    return (s, weight) if above.all() else (s[above], weight[above])


@dataclass(frozen=True)
class Gamma(Family):
    """The gamma family: logarithms of shape and scale; the mean is their product."""

    name = "gamma"
    names = ("log_shape", "log_scale")
    positive_only = True

    @quiet
    def log_density(self, s: ArrayLike, params: Array) -> Array:
        """Return the log density at each score; -inf at 0 and below."""
        s = np.asarray(s, dtype=np.float64)
        shape, safe = math.exp(params[0]), np.where(s > 0, s, 1.0)
        # Written from the mean: (shape - 1) log s - s / scale would cancel for a large shape.
        surprise = _surprise(safe, math.exp(params[0] + params[1]))
        inside = _log_peak(shape) - shape * surprise - np.log(safe)
        return np.asarray(np.where(s > 0, inside, -np.inf))

    @quiet
    def log_tail(self, t: ArrayLike, params: Array) -> Array:
        """Return log P(score >= t), by a continued fraction where the probability underflows."""
        t = np.asarray(t, dtype=np.float64)
        shape = math.exp(params[0])
        u = np.asarray(np.maximum(t, 0.0) / math.exp(params[1]))
        upper = np.asarray(gammaincc(shape, u))
        out = np.asarray(np.log(upper))
        most = upper > 0.5
        out[most] = np.log1p(-gammainc(shape, u[most]))
        far = (upper < 1e-290) & (t > 0)
        if far.any():
            fraction = _legendre_fraction(shape, u[far])
            out[far] = self.log_density(t[far], params) + np.log(t[far]) - np.log(fraction)
        return np.asarray(out)

    def gradient(self, s: ArrayLike, params: Array) -> Array:
        """Return d log_density / d params, shape (2, n); 0 at scores of 0 and below."""
        s = np.asarray(s, dtype=np.float64)
        shape, mean = math.exp(params[0]), math.exp(params[0] + params[1])
        safe = np.where(s > 0, s, mean)
        inside = [
            shape * (np.log(safe / mean) + _log_minus_digamma(shape)),
            shape * (safe / mean - 1),
        ]
        return np.where(s > 0, np.array(inside), 0.0)

    def summarise(self, s: ArrayLike, weight: ArrayLike, params: Array | None = None) -> Array:
        """Return the sums of weight, of ratios to the centre, of their surprise, and the centre."""
        s, weight = _above_zero(*weighted(s, weight))
        log_centre = 0.0 if params is None else params[0] + params[1]
        centre, total = math.exp(log_centre), weight.sum()
        return np.array(
            [total, weight @ (s / centre - 1), weight @ _surprise(s, centre), total * log_centre]
        )

    def close(self, statistics: Array) -> Array:
        """Return the shape and scale of greatest likelihood, by Newton steps on the shape."""
        total, first, second, log_centre = statistics
        if not total > 0:
            return np.zeros(2)
        apart = max(first / total, LEAST - 1.0)
        # log of the mean minus mean of the log, without subtracting large numbers
        gap = math.log1p(apart) - apart + second / total
        log_shape = math.log(_shape_for(max(gap, 0.5 * LEAST**2)))
        return np.array([log_shape, log_centre / total + math.log1p(apart) - log_shape])

    def mean(self, params: Array) -> float:
        """Return the mean score."""
        return float(np.exp(params[0] + params[1]))

    def spread(self, params: Array) -> float:
        """Return the standard deviation of scores."""
        return float(np.exp(0.5 * params[0] + params[1]))

    def with_spread(self, params: Array, spread: float) -> Array:
        """Return parameters with the same mean and this standard deviation."""
        log_shape = 2 * (params[0] + params[1] - math.log(spread))
        return np.array([log_shape, params[0] + params[1] - log_shape])


@quiet
def _surprise(s: Array, mean: float) -> Array:
    """Return s/mean - 1 - log(s/mean), which is 0 at the mean and above 0 elsewhere."""
    ratio = s / mean
    apart = (s - mean) / mean
    return np.asarray(np.where(ratio < 0.5, apart - np.log(ratio), apart - np.log1p(apart)))


def _log_peak(shape: float) -> float:
    """Return shape log(shape) - shape - log Gamma(shape)."""
    if shape < 20.0:
        return float(shape * math.log(shape) - shape - gammaln(shape))
    inverse = 1.0 / shape
    square = inverse * inverse  # Stirling's series: the next term is below 1e-16
    series = inverse * (1 / 12 - square * (1 / 360 - square * (1 / 1260 - square / 1680)))
    return 0.5 * math.log(shape) - _HALF_LOG_2PI - series


def _log_minus_digamma(shape: float) -> float:
    """Return log(shape) - digamma(shape), which falls from infinity to 0."""
    if shape < 20.0:
        return float(math.log(shape) - digamma(shape))
    square = 1.0 / (shape * shape)
    return 0.5 / shape + square * (1 / 12 - square * (1 / 120 - square * (1 / 252 - square / 240)))


def _shape_for(gap: float) -> float:
    """Solve log(shape) - digamma(shape) = gap (Minka's Newton step on 1 / shape)."""
    shape = (3.0 - gap + math.sqrt((gap - 3.0) ** 2 + 24.0 * gap)) / (12.0 * gap)
    for _ in range(8):
        if shape < 20.0:
            slope = 1.0 - shape * float(polygamma(1, shape))
        else:
            inverse = 1.0 / shape
            slope = -inverse * (0.5 + inverse * (1 / 6 - inverse**2 / 30))
        # 1/shape + (f - gap) / (shape^2 f'), with shape f' = slope
        shape, before = (
            1.0 / (1.0 / shape + (_log_minus_digamma(shape) - gap) / (shape * slope)),
            shape,
        )
        if abs(shape - before) <= 1e-14 * shape:
            break
    return shape


def _legendre_fraction(shape: float, u: Array) -> Array:
    """Return u+1-shape - 1(1-shape)/(u+3-shape - 2(2-shape)/(...)), from the inside out."""
    terms = 400
    value = u + 2 * terms + 1 - shape
    for k in range(terms, 0, -1):
        value = u + 2 * k - 1 - shape - k * (k - shape) / value
    return np.asarray(value)


@dataclass(frozen=True)
class StudentT(LocationScale):
    """Student's t with 4 degrees of freedom: location, and logarithm of the scale."""

    name = "student-t"
    names = ("location", "log_scale")

    @quiet
    def log_density(self, s: ArrayLike, params: Array) -> Array:
        """Return the log density at each score."""
        z, _ = self._standard(s, params)
        return np.asarray((math.log(0.375) - params[1]) - 2.5 * np.log1p(0.25 * z * z))

    def log_tail(self, t: ArrayLike, params: Array) -> Array:
        """Return log P(score >= t), from (1 - u)^2 (2 + u) / 4 with u = z / sqrt(4 + z^2)."""
        z, _ = self._standard(t, params)
        size = np.abs(z)
        root = np.hypot(2.0, size)
        log_less = math.log(4.0) - np.log(root) - np.log(root + size)  # log(1 - u)
        outside = 2 * log_less + np.log(2.0 + size / root) - math.log(4.0)
        return np.asarray(np.where(z >= 0, outside, np.log1p(-np.exp(outside))))

    @quiet
    def gradient(self, s: ArrayLike, params: Array) -> Array:
        """Return d log_density / d params, shape (2, n)."""
        z, scale = self._standard(s, params)
        pull = 5.0 / (4.0 + z * z)
        return np.array([pull * z / scale, 4.0 - 4.0 * pull])

    def summarise(self, s: ArrayLike, weight: ArrayLike, params: Array | None = None) -> Array:
        """Return the normal family's sums, with weights lowered for rows far out."""
        s, weight = weighted(s, weight)
        if params is None:
            return _moments(s, weight, 0.0)
        z, _ = self._standard(s, params)
        return _moments(s, weight * (5.0 / (4.0 + z * z)), params[0])  # times expected precision

    def close(self, statistics: Array) -> Array:
        """Return location and log scale; lowered weights divide too, as expanded EM has it."""
        mean, scale = _mean_spread(statistics)
        return np.array([mean, math.log(max(scale, least_spread(mean)))])

    def mean(self, params: Array) -> float:
        """Return the mean score."""
        return float(params[0])

    def spread(self, params: Array) -> float:
        """Return the standard deviation of scores."""
        return math.exp(params[1]) * math.sqrt(2.0)


_NORMAL = Normal()

FAMILIES: dict[str, Family] = {
    one.name: one for one in (_NORMAL, Lognormal(), Gamma(), StudentT(), SkewNormal())
}


def family(name_or_object: str | Family) -> Family:
    """Return a family by its name; an object of a class derived from `Family` is taken as it is.

    Examples
    --------
    >>> family("gamma").names
    ('log_shape', 'log_scale')
    >>> family("gama")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: family must be 'normal', 'lognormal', 'gamma', 'student-t' or ...
    """
    if isinstance(name_or_object, Family):
        return name_or_object
    if not isinstance(name_or_object, str):
        raise UsageError(
            "A family must be a name or an instance of a class derived from Family, got a {kind}.",
            code="not-a-family",
            kind=type(name_or_object).__name__,
            known=", ".join(FAMILIES),
            remedy="Known names are {known}.",
        )
    refuse_word("family", name_or_object, tuple(FAMILIES))
    return FAMILIES[name_or_object]
