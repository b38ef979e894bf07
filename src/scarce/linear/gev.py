"""The GEV link and its relatives: links with one heavy tail.

    GEV(shape): prob = exp(-u),  u = (1 + shape * score)^(-1/shape)            (001 section 2)
    its area:   A(score) = integral of prob up to score = Gamma(-shape, u)

Log-log is the GEV link at shape 0, complementary log-log its mirror image. Assumes scores are
float64. Does not choose a shape: see selection.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import ClassVar

import numpy as np
from numpy.typing import NDArray

from scarce.errors import Argument, UsageError
from scarce.linear.links import Link
from scarce.linear.stable import (
    SERIES_BELOW,
    Array,
    gamma_excess,
    gamma_fraction,
    gamma_powers,
    gamma_series,
    log1mexp,
    one_plus_product,
    over_expm1,
    over_expm1_excess,
    quiet,
)

_ABOVE_MINUS_ONE = -1.0 + 2.0**-53
_LOG_ENOUGH = math.log(690.0)


@dataclass(frozen=True)
class GEV(Link):
    """The generalised extreme value link of 001: prob = exp(-(1 + shape * score)^(-1/shape)).

    Parameters
    ----------
    shape : float
        From -1 to 1.5. At 0 the link is log-log; shapes nearer to 0 than 1e-30 are taken as 0.
        Above 0 scores at or below -1/shape have probability 0, below 0 scores at or above -1/shape
        have probability 1, exactly.

    Notes
    -----
    With u = -log(prob) and t = 1 + shape * score = u^-shape: density = prob u / t,
    antiderivative = Gamma(-shape, u) inside the support, 0 below it (shape > 0), and
    Gamma(-shape) + score + 1/shape above it (shape < 0). At shape -1 the density jumps from 1 to 0
    at score 1. Relative error of the antiderivative: below 1e-12 wherever it is above 1e-300.

    References
    ----------
    Agarwal, Narasimhan, Kalyanakrishnan, Agarwal (2014), GEV-canonical regression, ICML.

    Examples
    --------
    >>> link = GEV(0.5)
    >>> link.support, link.inverse(np.array([-2.0, 0.0, 800.0])).round(6).tolist()
    ((-2.0, inf), [0.0, 0.367879, 0.999994])
    """

    shape: float

    name: ClassVar[str] = "gev"

    def __post_init__(self) -> None:
        try:
            shape = float(self.shape)
        except (TypeError, ValueError):
            shape = math.nan
        if not -1.0 <= shape <= 1.5:
            raise UsageError(
                "{argument} must be a number from -1 to 1.5, got {value!r}: below -1 the density "
                "is infinite at the edge of its support, and above 1.5 the formulas are not "
                "tested.",
                code="shape-range",
                argument=Argument("shape"),
                value=self.shape,
            )
        object.__setattr__(self, "shape", shape if abs(shape) >= 1e-30 else 0.0)

    @property
    def log_concave(self) -> bool:
        """Whether the log loss is convex: for shapes from -1 to 0, and for no other."""
        return self.shape <= 0.0

    @property
    def support(self) -> tuple[float, float]:
        """Scores between which the probability is strictly between 0 and 1."""
        if self.shape > 0.0:
            return (-1.0 / self.shape, math.inf)
        return (-math.inf, -1.0 / self.shape if self.shape < 0.0 else math.inf)

    @quiet
    def _tail(self, score: Array) -> tuple[Array, Array, Array]:
        """Return u = -log(prob), log u and t = 1 + shape * score, to nearly the last digit.

        An error in u is multiplied by u in prob = exp(-u), and u goes to 700: hence the exact
        product and the power, which loses less than the exponential of a logarithm. Outside the
        support u is 0 or infinite, and t is 0.
        """
        score = np.asarray(score, dtype=np.float64)
        if self.shape == 0.0:
            return np.exp(-score), -score, np.ones_like(score)
        power = -1.0 / self.shape
        first, second = one_plus_product(self.shape, score)
        base = np.asarray(first + second)
        outside = base <= 0.0
        some_outside = bool(outside.any())
        if some_outside:
            base = np.where(outside, 1.0, base)
        rest = (second - (base - first)) / base
        log_base = np.log(base) + rest
        if abs(self.shape) > 1e-12:
            tail = np.power(base, power) * np.exp(power * rest)
        else:  # the power and its correction would be 0 and infinite, or nearly
            tail = np.exp(power * log_base)
        log_tail = power * log_base
        if some_outside:
            beyond = np.inf if self.shape > 0.0 else 0.0
            tail = np.where(outside, beyond, tail)
            log_tail = np.where(outside, np.log(beyond), log_tail)
            base = np.where(outside, 0.0, base)
        return tail, log_tail, base

    @quiet
    def inverse(self, score: Array) -> Array:
        """Return the probability of a score."""
        return np.asarray(np.exp(-self._tail(score)[0]))

    @quiet
    def complement(self, score: Array) -> Array:
        """Return 1 - probability."""
        return np.asarray(-np.expm1(-self._tail(score)[0]))

    @quiet
    def forward(self, prob: Array) -> Array:
        """Return the score of a probability; 0 and 1 give the ends of the support."""
        return self._score(np.log(-np.log(prob)))

    @quiet
    def forward_log(self, log_prob: Array, log_complement: Array) -> Array:
        """Return the score from u = -log(prob), which has all digits near 1 too."""
        near = log_complement < log_prob
        tail = np.where(near, -np.log1p(-np.exp(log_complement)), -np.asarray(log_prob))
        return self._score(np.where(tail > 0, np.log(tail), log_complement))

    def _score(self, log_tail: Array) -> Array:
        """Return the score of log u."""
        if self.shape == 0.0:
            return np.asarray(-log_tail)
        return np.asarray(np.expm1(-self.shape * log_tail) / self.shape)

    @quiet
    def density(self, score: Array) -> Array:
        """Return prob u / t; 0 outside the support."""
        tail, _, base = self._tail(score)
        nothing = (base == 0.0) | (tail > 1000.0)  # where u / t may be infinite and prob is 0
        return np.where(nothing, 0.0, np.exp(-tail) * (tail / base))

    @quiet
    def density_slope(self, score: Array) -> Array:
        """Return density (u - 1 - shape) / t; 0 outside the support."""
        tail, _, base = self._tail(score)
        nothing = (base == 0.0) | (tail > 1000.0)
        slope = np.exp(-tail) * (tail / base) * ((tail - 1.0 - self.shape) / base)
        return np.where(nothing, 0.0, slope)

    def antiderivative(self, score: Array) -> Array:
        """Return Gamma(-shape, u), extended as a line beyond the support."""
        return self._area(score, 0.0)

    def antiderivative_less_score(self, score: Array) -> Array:
        """Return antiderivative(score) - score, without the difference where both are large."""
        return self._area(score, 1.0)

    @quiet
    def _area(self, score: Array, less: float) -> Array:
        """Return antiderivative(score) - less * score."""
        score = np.asarray(score, dtype=np.float64)
        tail, log_tail, base = self._tail(score)
        out = np.array(score)  # keeps NaN where no mask below holds
        few = (tail < SERIES_BELOW) & (base > 0.0)
        out[few] = gamma_excess(self.shape, tail[few], log_tail[few], base[few])
        out[few] += (1.0 - less) * score[few]
        many = tail >= SERIES_BELOW
        u = np.minimum(tail[many], 1000.0)
        out[many] = np.exp(-u) * base[many] * gamma_fraction(self.shape, u) - less * score[many]
        if self.shape < 0.0:
            above = (base == 0.0) & (tail == 0.0)
            out[above] = gamma_series(self.shape)[0] + (1.0 - less) * score[above]
        return out

    def log_inverse(self, score: Array) -> Array:
        """Return log(prob) = -u; minus infinity where the probability is 0."""
        return -self._tail(score)[0]

    def log_complement(self, score: Array) -> Array:
        """Return log(1 - prob); minus infinity where the probability is 1."""
        tail, log_tail, _ = self._tail(score)
        return log1mexp(tail, log_tail)

    @quiet
    def rise(self, score: Array) -> Array:
        """Return u / t: infinite below the support (shape > 0), 0 above it (shape < 0)."""
        tail, _, base = self._tail(score)
        return np.where(base == 0.0, tail, tail / base)

    @quiet
    def hazard(self, score: Array) -> Array:
        """Return u / (exp(u) - 1) / t: 0 below the support, infinite above it."""
        tail, _, base = self._tail(score)
        return np.where(tail > 1000.0, 0.0, over_expm1(tail) / base)

    @quiet
    def rise_fall(self, score: Array) -> Array:
        """Return (1 + shape) u / t^2: infinite below the support, 0 above it."""
        tail, _, base = self._tail(score)
        return np.where(base == 0.0, tail, (1.0 + self.shape) * (tail / base / base))

    @quiet
    def hazard_slope(self, score: Array) -> Array:
        """Return hazard (u + u / (exp(u) - 1) - 1 - shape) / t: 0 below, infinite above."""
        tail, _, base = self._tail(score)
        bend = over_expm1_excess(tail) - self.shape
        return np.where(tail > 1000.0, 0.0, over_expm1(tail) / base * (bend / base))

    @quiet
    def information(self, score: Array) -> Array:
        """Return u^2 / (exp(u) - 1) / t^2; 0 outside the support."""
        tail, _, base = self._tail(score)
        nothing = (base == 0.0) | (tail > 1000.0)
        return np.where(nothing, 0.0, tail / base * (over_expm1(tail) / base))

    @quiet
    def log_terms(self, positive: bool, score: Array) -> tuple[Array, Array, Array]:
        """Return the logarithm of a label's probability and its first two derivatives."""
        tail, log_tail, base = self._tail(score)
        edge = base == 0.0
        base = np.where(edge, 1.0, base)
        if positive:
            rise = tail / base
            return -tail, rise, np.where(edge, -tail, -(1.0 + self.shape) * rise / base)
        ratio = over_expm1(tail)
        hazard, bend = ratio / base, (over_expm1_excess(tail) - self.shape) / base
        none, sure = tail > 1000.0, edge & (tail == 0.0)
        hazard, slope = (np.where(none, 0.0, part) for part in (hazard, hazard * bend))
        hazard, slope = (np.where(sure, np.inf, part) for part in (hazard, slope))
        return log1mexp(tail, log_tail), -hazard, -slope

    @quiet
    def rates(self, score: Array) -> tuple[Array, Array]:
        """Return (inverse, density) in one go, right to about 1e-14 of 1 and not to each digit.

        Probabilities below exp(-690) come out as exp(-690): arithmetic on numbers that underflow
        takes several times as long.
        """
        if self.shape == 0.0:
            log_tail = np.negative(score)
            outside = None
        else:
            log_tail = np.multiply(score, self.shape)
            outside = log_tail <= -1.0 if self.shape < 0.0 else None
            np.maximum(log_tail, _ABOVE_MINUS_ONE, out=log_tail)
            np.log1p(log_tail, out=log_tail)
            log_tail *= -1.0 / self.shape
        np.minimum(log_tail, _LOG_ENOUGH, out=log_tail)
        prob = np.exp(log_tail)
        if self.shape != 0.0:
            log_tail *= 1.0 + self.shape
        log_tail -= prob  # density = u^(1+shape) exp(-u)
        np.exp(log_tail, out=log_tail)
        np.negative(prob, out=prob)
        np.exp(prob, out=prob)
        if (
            outside is not None and outside.any()
        ):  # below the support of a shape > 0 both are 0 of themselves
            log_tail[outside] = 0.0
            prob[outside] = 1.0
        return prob, log_tail

    @quiet
    def log_rates(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return slope and a curvature >= 0 of the log loss; the expected one if need be."""
        steep = np.maximum(self.shape * score, _ABOVE_MINUS_ONE)
        if self.shape == 0.0:
            tail = np.exp(np.negative(score))
        else:
            tail = np.log1p(steep)
            tail *= -1.0 / self.shape
            np.exp(tail, out=tail)
        steep += 1.0
        np.divide(1.0, steep, out=steep)  # 1 / t
        capped = np.clip(tail, 1e-300, 700.0)
        ratio = capped / np.expm1(capped)
        # u + ratio - 1, and the first terms of its series where the difference has lost its digits
        series = capped * (0.5 + capped / 12.0)
        bend = np.where(capped < 1e-3, series, capped + ratio - 1.0)
        if self.shape != 0.0:
            bend -= self.shape
        if self.shape > 0.0:
            bend = np.where(bend >= 0.0, bend, capped)
        positive = y > 0.5
        slope = np.where(positive, -tail, ratio)
        slope *= steep
        curvature = np.where(positive, (1.0 + self.shape) * tail, ratio * bend)
        curvature *= steep
        curvature *= steep
        if self.shape != 0.0:
            self._mark_outside(positive, score, slope, curvature)
        return slope, curvature

    def _mark_outside(
        self, positive: NDArray[np.bool_], score: Array, slope: Array, curvature: Array
    ) -> None:
        """Give rows outside the support what `rise` and `hazard` give: 0, or infinity."""
        outside = self.shape * score <= -1.0
        if outside.any():
            impossible = positive[outside] == (self.shape > 0.0)
            curvature[outside] = np.where(impossible, np.inf, 0.0)
            slope[outside] = curvature[outside] * (-1.0 if self.shape > 0.0 else 1.0)


@dataclass(frozen=True)
class LogLog(GEV):
    """The log-log link, prob = exp(-exp(-score)): GEV at shape 0.

    Examples
    --------
    >>> LogLog(), LogLog().inverse(np.array([0.0])).round(6).tolist()
    (LogLog(), [0.367879])
    """

    shape: float = field(default=0.0, init=False, repr=False)

    name: ClassVar[str] = "loglog"


@dataclass(frozen=True)
class CLogLog(Link):
    """The complementary log-log link, prob = 1 - exp(-exp(score)): log-log with labels swapped.

    Examples
    --------
    >>> CLogLog().inverse(np.array([-800.0, 0.0])), CLogLog().log_inverse(np.array([-800.0]))
    (array([0.        , 0.63212056]), array([-800.]))
    """

    name: ClassVar[str] = "cloglog"
    _mirror: ClassVar[LogLog] = LogLog()

    @property
    def log_concave(self) -> bool:
        """True: the log loss is convex."""
        return True

    def inverse(self, score: Array) -> Array:
        """Return the probability of a score."""
        return self._mirror.complement(np.negative(score))

    def complement(self, score: Array) -> Array:
        """Return 1 - probability."""
        return self._mirror.inverse(np.negative(score))

    @quiet
    def forward(self, prob: Array) -> Array:
        """Return log(-log(1 - prob))."""
        return np.asarray(np.log(-np.log1p(np.negative(prob))))

    def forward_log(self, log_prob: Array, log_complement: Array) -> Array:
        """Return the score from -log(1 - prob)."""
        return -self._mirror.forward_log(log_complement, log_prob)

    def density(self, score: Array) -> Array:
        """Return d prob / d score."""
        return self._mirror.density(np.negative(score))

    def density_slope(self, score: Array) -> Array:
        """Return d density / d score."""
        return -self._mirror.density_slope(np.negative(score))

    @quiet
    def antiderivative(self, score: Array) -> Array:
        """Return Ein(exp(score)) = E1(exp(score)) + score + Euler's constant."""
        score = np.asarray(score, dtype=np.float64)
        tail = np.exp(score)
        out = np.asarray(score + float(np.euler_gamma))
        few = tail < SERIES_BELOW
        out[few] = gamma_powers(0.0, tail[few])
        out[~few] += self._far(tail[~few])
        return out

    @quiet
    def antiderivative_less_score(self, score: Array) -> Array:
        """Return antiderivative(score) - score, without the difference where both are large."""
        score = np.asarray(score, dtype=np.float64)
        tail = np.exp(score)
        out = np.full_like(tail, np.euler_gamma)
        few = tail < SERIES_BELOW
        out[few] = gamma_powers(0.0, tail[few]) - score[few]
        out[~few] += self._far(tail[~few])
        return out

    @staticmethod
    def _far(tail: Array) -> Array:
        """Return E1(tail) for tail >= 2."""
        capped = np.minimum(tail, 1000.0)
        return np.asarray(np.exp(-capped) * gamma_fraction(0.0, capped))

    def log_terms(self, positive: bool, score: Array) -> tuple[Array, Array, Array]:
        """Return those of the other label of the mirror image."""
        log_prob, slope, bend = self._mirror.log_terms(not positive, np.negative(score))
        return log_prob, -slope, bend

    def log_inverse(self, score: Array) -> Array:
        """Return log(prob)."""
        return self._mirror.log_complement(np.negative(score))

    def log_complement(self, score: Array) -> Array:
        """Return log(1 - prob) = -exp(score)."""
        return self._mirror.log_inverse(np.negative(score))

    def rise(self, score: Array) -> Array:
        """Return d log(prob) / d score."""
        return self._mirror.hazard(np.negative(score))

    def hazard(self, score: Array) -> Array:
        """Return exp(score)."""
        return self._mirror.rise(np.negative(score))

    def rise_fall(self, score: Array) -> Array:
        """Return -d rise / d score."""
        return self._mirror.hazard_slope(np.negative(score))

    def hazard_slope(self, score: Array) -> Array:
        """Return exp(score)."""
        return self._mirror.rise_fall(np.negative(score))

    def information(self, score: Array) -> Array:
        """Return density^2 / (prob (1 - prob))."""
        return self._mirror.information(np.negative(score))

    @quiet
    def rates(self, score: Array) -> tuple[Array, Array]:
        """Return (inverse, density) in one go."""
        tail = np.exp(score)
        density = np.exp(score - tail)
        np.negative(tail, out=tail)
        np.expm1(tail, out=tail)
        return np.negative(tail, out=tail), density

    def log_rates(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return slope and curvature of the log loss."""
        slope, curvature = self._mirror.log_rates(1.0 - y, np.negative(score))
        return np.negative(slope, out=slope), curvature
