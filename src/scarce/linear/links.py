"""Links: how does a score on the real line become a probability?

    prob = inverse(score),  score = forward(prob)          (001 section 2, psi and its inverse)

What a link is, and the two symmetric ones: logit and probit. Each gives, beside the two maps, the
derivatives, logarithms and area that losses are made of, accurate in both tails: 1 - prob is its
own number, never a difference. Assumes scores are float64. Does not look at labels: see losses.py;
the links with one heavy tail are in gev.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy.special import erfcx, log_ndtr, ndtr, ndtri, ndtri_exp

from scarce.linear.stable import Array, normal_excess, quiet, softplus

_ROOT_HALF = math.sqrt(0.5)
_ROOT_TWO_OVER_PI = math.sqrt(2.0 / math.pi)
_OVER_ROOT_TWO_PI = 1.0 / math.sqrt(2.0 * math.pi)


class Link:
    """A strictly increasing map between scores and probabilities; the base of every link.

    A new link gives `inverse complement forward density density_slope antiderivative`. What follows
    from these is derived here by its definition; a link overrides it where the definition would
    cancel or divide 0 by 0. See docs/extend/link.md.

    Attributes
    ----------
    name : str
    support : tuple of float
        The scores between which `inverse` is strictly between 0 and 1.
    log_concave : bool
        Whether log(prob) and log(1 - prob) are both concave, so that the log loss is convex.
    """

    name: ClassVar[str] = "link"

    @property
    def log_concave(self) -> bool:
        """Whether log(prob) and log(1 - prob) are both concave; False unless a link knows so."""
        return False

    @property
    def support(self) -> tuple[float, float]:
        """Scores between which the probability is strictly between 0 and 1."""
        return (-math.inf, math.inf)

    def inverse(self, score: Array) -> Array:
        """Return the probability of a score."""
        raise NotImplementedError

    def complement(self, score: Array) -> Array:
        """Return 1 - probability, accurate where the probability rounds to 1."""
        raise NotImplementedError

    def forward(self, prob: Array) -> Array:
        """Return the score of a probability."""
        raise NotImplementedError

    @quiet
    def forward_log(self, log_prob: Array, log_complement: Array) -> Array:
        """Return the score of a probability whose logarithm, and that of 1 - prob, are known."""
        return self.forward(np.exp(log_prob))

    def density(self, score: Array) -> Array:
        """Return d prob / d score; 0 outside the support."""
        raise NotImplementedError

    def density_slope(self, score: Array) -> Array:
        """Return d density / d score."""
        raise NotImplementedError

    def antiderivative(self, score: Array) -> Array:
        """Return the integral of `inverse` from minus infinity to score."""
        raise NotImplementedError

    @quiet
    def log_inverse(self, score: Array) -> Array:
        """Return log(prob)."""
        return np.asarray(np.log(self.inverse(score)))

    @quiet
    def log_complement(self, score: Array) -> Array:
        """Return log(1 - prob)."""
        return np.asarray(np.log(self.complement(score)))

    def antiderivative_less_score(self, score: Array) -> Array:
        """Return antiderivative(score) - score, the loss of a positive."""
        return np.asarray(self.antiderivative(score) - score)

    @quiet
    def rise(self, score: Array) -> Array:
        """Return d log(prob) / d score."""
        return np.asarray(self.density(score) / self.inverse(score))

    @quiet
    def hazard(self, score: Array) -> Array:
        """Return -d log(1 - prob) / d score."""
        return np.asarray(self.density(score) / self.complement(score))

    @quiet
    def rise_fall(self, score: Array) -> Array:
        """Return -d rise / d score, the curvature of -log(prob)."""
        rise = self.rise(score)
        return np.asarray(rise * rise - self.density_slope(score) / self.inverse(score))

    @quiet
    def hazard_slope(self, score: Array) -> Array:
        """Return d hazard / d score, the curvature of -log(1 - prob)."""
        hazard = self.hazard(score)
        return np.asarray(hazard * hazard + self.density_slope(score) / self.complement(score))

    @quiet
    def information(self, score: Array) -> Array:
        """Return density^2 / (prob (1 - prob)), what one row tells about its score."""
        return np.asarray(self.rise(score) * self.hazard(score))

    def log_terms(self, positive: bool, score: Array) -> tuple[Array, Array, Array]:
        """Return the logarithm of a label's probability and its first two derivatives."""
        if positive:
            return self.log_inverse(score), self.rise(score), -self.rise_fall(score)
        return self.log_complement(score), -self.hazard(score), -self.hazard_slope(score)

    def rates(self, score: Array) -> tuple[Array, Array]:
        """Return (inverse, density) in one go, for the inner loop of a fit."""
        return self.inverse(score), self.density(score)

    def log_rates(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return slope and a curvature >= 0 of the log loss, for the inner loop of a fit."""
        positive = y > 0.5
        slope = np.where(positive, -self.rise(score), self.hazard(score))
        curvature = np.where(positive, self.rise_fall(score), self.hazard_slope(score))
        if not self.log_concave:
            curvature = np.where(curvature >= 0.0, curvature, self.information(score))
        return slope, curvature


@dataclass(frozen=True)
class Logit(Link):
    """The logistic link: prob = 1 / (1 + exp(-score)).

    Examples
    --------
    >>> Logit().inverse(np.array([-800.0, 0.0])), Logit().log_inverse(np.array([-800.0]))
    (array([0. , 0.5]), array([-800.]))
    """

    name: ClassVar[str] = "logit"

    @property
    def log_concave(self) -> bool:
        """True: the log loss is convex."""
        return True

    @quiet
    def inverse(self, score: Array) -> Array:
        """Return the probability of a score."""
        small = np.exp(-np.abs(score))
        return np.asarray(np.where(np.asarray(score) >= 0.0, 1.0, small) / (1.0 + small))

    def complement(self, score: Array) -> Array:
        """Return 1 - probability."""
        return self.inverse(np.negative(score))

    @quiet
    def forward(self, prob: Array) -> Array:
        """Return log(prob / (1 - prob))."""
        return np.asarray(np.log(prob) - np.log1p(np.negative(prob)))

    def forward_log(self, log_prob: Array, log_complement: Array) -> Array:
        """Return log(prob) - log(1 - prob)."""
        return np.asarray(log_prob - log_complement)

    @quiet
    def density(self, score: Array) -> Array:
        """Return prob (1 - prob)."""
        small = np.exp(-np.abs(score))
        return np.asarray(small / (1.0 + small) ** 2)

    def density_slope(self, score: Array) -> Array:
        """Return prob (1 - prob) (1 - 2 prob)."""
        return np.asarray(-self.density(score) * np.tanh(0.5 * np.asarray(score)))

    def antiderivative(self, score: Array) -> Array:
        """Return log(1 + exp(score))."""
        return softplus(score)

    def antiderivative_less_score(self, score: Array) -> Array:
        """Return log(1 + exp(-score))."""
        return softplus(np.negative(score))

    def log_inverse(self, score: Array) -> Array:
        """Return log(prob)."""
        return -softplus(np.negative(score))

    def log_complement(self, score: Array) -> Array:
        """Return log(1 - prob)."""
        return -softplus(score)

    def rise(self, score: Array) -> Array:
        """Return 1 - prob."""
        return self.complement(score)

    def hazard(self, score: Array) -> Array:
        """Return prob."""
        return self.inverse(score)

    def rise_fall(self, score: Array) -> Array:
        """Return prob (1 - prob)."""
        return self.density(score)

    def hazard_slope(self, score: Array) -> Array:
        """Return prob (1 - prob)."""
        return self.density(score)

    def information(self, score: Array) -> Array:
        """Return prob (1 - prob)."""
        return self.density(score)

    @quiet
    def log_terms(self, positive: bool, score: Array) -> tuple[Array, Array, Array]:
        """Return the logarithm of a label's probability and its first two derivatives."""
        score = np.asarray(score) if positive else np.negative(score)
        odds = np.exp(np.minimum(np.negative(score), 700.0))  # against the label
        prob = 1.0 / (1.0 + odds)
        slope = odds * prob
        log_prob = np.where(score < -700.0, score, -np.log1p(odds))
        return log_prob, (slope if positive else -slope), -slope * prob

    @quiet
    def rates(self, score: Array) -> tuple[Array, Array]:
        """Return (inverse, density) in one go."""
        odds = np.negative(score)
        np.minimum(odds, 700.0, out=odds)  # exp(709) is the largest; prob is 1e-304 there
        np.exp(odds, out=odds)
        prob = 1.0 + odds
        np.divide(1.0, prob, out=prob)
        odds *= prob  # 1 - prob, without a difference
        odds *= prob
        return prob, odds

    def log_rates(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return slope and curvature of the log loss."""
        prob, density = self.rates(score)
        prob -= y
        return prob, density


@dataclass(frozen=True)
class Probit(Link):
    """The normal link: prob = Phi(score).

    Examples
    --------
    >>> Probit().antiderivative(np.array([-37.0, 0.0])).tolist()
    [1.545199190512...e-301, 0.398942280401432...]
    """

    name: ClassVar[str] = "probit"

    @property
    def log_concave(self) -> bool:
        """True: the log loss is convex."""
        return True

    def inverse(self, score: Array) -> Array:
        """Return Phi(score)."""
        return np.asarray(ndtr(score))

    def complement(self, score: Array) -> Array:
        """Return Phi(-score)."""
        return np.asarray(ndtr(np.negative(score)))

    def forward(self, prob: Array) -> Array:
        """Return the normal quantile."""
        return np.asarray(ndtri(prob))

    @quiet
    def forward_log(self, log_prob: Array, log_complement: Array) -> Array:
        """Return the normal quantile, from the smaller of the two."""
        below = log_prob < log_complement
        score = ndtri_exp(np.where(below, log_prob, log_complement))
        return np.asarray(np.where(below, score, -score))

    @quiet
    def density(self, score: Array) -> Array:
        """Return the normal density."""
        return np.asarray(_OVER_ROOT_TWO_PI * np.exp(-0.5 * np.square(score)))

    @quiet
    def density_slope(self, score: Array) -> Array:
        """Return -score * density."""
        return np.asarray(np.negative(score) * self.density(score))

    @quiet
    def antiderivative(self, score: Array) -> Array:
        """Return score Phi(score) + phi(score), without the difference that is in it."""
        score = np.asarray(score, dtype=np.float64)
        out = np.asarray(score * self.inverse(score) + self.density(score))
        far = score < -2.0
        x = -score[far]
        excess = normal_excess(x)
        out[far] = self.density(x) * excess / (x + excess)
        return out

    def antiderivative_less_score(self, score: Array) -> Array:
        """Return the area on the other side, by symmetry."""
        return self.antiderivative(np.negative(score))

    def log_inverse(self, score: Array) -> Array:
        """Return log Phi(score)."""
        return np.asarray(log_ndtr(score))

    def log_complement(self, score: Array) -> Array:
        """Return log Phi(-score)."""
        return np.asarray(log_ndtr(np.negative(score)))

    @quiet
    def rise(self, score: Array) -> Array:
        """Return phi / Phi."""
        return np.asarray(_ROOT_TWO_OVER_PI / erfcx(-_ROOT_HALF * np.asarray(score)))

    def hazard(self, score: Array) -> Array:
        """Return phi / (1 - Phi)."""
        return self.rise(np.negative(score))

    @quiet
    def rise_fall(self, score: Array) -> Array:
        """Return rise (rise + score), without the difference that is in it."""
        score = np.asarray(score, dtype=np.float64)
        rise = self.rise(score)
        out = np.asarray(rise * (rise + score))
        far = score < -2.0
        x = -score[far]
        excess = normal_excess(x)
        out[far] = (x + excess) * excess
        return out

    def hazard_slope(self, score: Array) -> Array:
        """Return hazard (hazard - score)."""
        return self.rise_fall(np.negative(score))

    @quiet
    def log_rates(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return slope and curvature of the log loss: one special function for either label."""
        side = 1.0 - 2.0 * y
        x = side * score  # how far the score is on the wrong side of the label
        hazard = self.hazard(x)
        side *= hazard
        far = x > 1000.0
        x = hazard * (hazard - x)
        if far.any():
            x[far] = 1.0  # 1 - 1/x^2 + ..., of which the difference has lost all digits
        return side, x
