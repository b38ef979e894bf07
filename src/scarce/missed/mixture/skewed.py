"""Scores that lean to one side: the skew-normal family, right in both tails.

    p(s) = 2 / scale * phi(z) * Phi(slant z),  z = (s - location) / scale      (Azzalini 1985, eq 1)

A row is location + scale (d |h| + sqrt(1 - d^2) e) with normal h and e and d = slant / sqrt(1 +
slant^2), so EM is least squares of the scores on the hidden |h|. Owen's function cancels where the
slant points away from the tail; there the tail is a Gauss-Legendre sum of positive terms instead.
Assumes nothing more. A slant of 0 is a saddle that EM never leaves: `summarise` without params
starts from the third moment.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import erf, erfcx, log_ndtr, ndtr, owens_t

from scarce.missed.mixture.score_family import Array, LocationScale, least_spread, quiet, weighted

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
