"""Which shapes may the scores of events, and of everything else, have?

    p(s) = (1 - positive_share) p0(s; background params) + positive_share p1(s; ...)    (002 eq 1)

Five families with unconstrained parameters, log densities and log tails that stay right where the
probabilities themselves underflow, and the sums and closing step of EM. Normal, lognormal and gamma
close exactly; student-t and skew-normal have a hidden value per row and take expanded EM steps
(Liu, Rubin, Wu 1998, Biometrika 85), which never lower the likelihood. Assumes one peak. Sets no
floor under a spread but the one that keeps numbers finite: floors are the mixture's business.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import digamma, gammainc, gammaincc, gammaln, log_ndtr, polygamma

from scarce.errors import UsageError, refuse_word
from scarce.missed.mixture.score_family import (
    LEAST,
    Array,
    Family,
    LocationScale,
    least_spread,
    quiet,
    weighted,
)
from scarce.missed.mixture.skewed import SkewNormal

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
    """Return additive sums; centred, because squares of large numbers hide a small spread."""
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
        """Return parameters with the same mean and this spread."""
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
        """Return parameters with the same mean and this spread."""
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
    scarce.errors.UsageError: family='gama' is not known. Did you mean 'gamma'? Give one of: ...
    """
    if isinstance(name_or_object, Family):
        return name_or_object
    if not isinstance(name_or_object, str):
        raise UsageError(
            f"A family of scores is a name or an object of a class derived from Family, and this "
            f"is of type {type(name_or_object).__name__}. Give one of: {', '.join(FAMILIES)}."
        )
    refuse_word("family", name_or_object, tuple(FAMILIES))
    return FAMILIES[name_or_object]
