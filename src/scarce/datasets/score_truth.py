"""Recall, precision and their trade-off when the distribution of the scores is known.

With recall R = S1(t), alarm rate q = b S1(t) + (1 - b) S0(t), precision P = b S1(t) / q and the
posterior g(t) at the threshold:  dP/dR = (P / R)(1 - P / g) = (b / q)(1 - P / g)
(002 eq 2 and 6; the closed form is ours and is tested against differences).
Assumes a normal foreground and a normal, lognormal or gamma background. Fits nothing.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy import special, stats

from scarce.checks import Number, read_number
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError, refuse_word

FINITE = Number()
POSITIVE = Number(0, open_low=True)
PROPER_SHARE = Number(0, 1, open_low=True, open_high=True)
BACKGROUNDS = ("normal", "lognormal", "gamma")
LARGEST_LOG = float(np.log(np.finfo(np.float64).max))


def _finite(name: str, values: ArrayLike) -> Array:
    """Return the values as float64; refuse NaN and infinity."""
    numbers = np.asarray(values, dtype=np.float64)
    bad = int(np.count_nonzero(~np.isfinite(numbers)))
    if bad:
        raise UsageError(
            "{argument} must be finite: {count:,} of {rows:,} values are NaN or infinite.",
            code="not-finite",
            argument=Argument(name),
            count=bad,
            rows=numbers.size,
        )
    return numbers


def _background_law(family: str, mean: float, sd: float) -> Any:
    """Return the scipy law of this family with the given mean and standard deviation."""
    if family == "normal":
        return stats.norm(loc=mean, scale=sd)
    if family == "lognormal":
        log_variance = float(np.log1p((sd / mean) ** 2))
        return stats.lognorm(
            s=np.sqrt(log_variance), scale=float(np.exp(np.log(mean) - 0.5 * log_variance))
        )
    return stats.gamma(a=(mean / sd) ** 2, scale=sd**2 / mean)


@dataclass(frozen=True, slots=True)
class ScoreTruth:
    """A two-part mixture of scores, with every performance figure in closed form.

    Parameters
    ----------
    positive_share : float
        Share of positives, strictly between 0 and 1.
    background : {"normal", "lognormal", "gamma"}
        Family of the negatives' scores.
    background_mean, background_sd : float
        Mean and standard deviation of the negatives' scores themselves (not of their logarithm).
    foreground_mean, foreground_sd : float
        Mean and standard deviation of the positives' scores, which are normal.

    Notes
    -----
    **Assumes** that an alert is a score above the threshold. Tails are computed as logarithms, so
    the figures stay meaningful where the tails themselves underflow, within about 1000 standard
    deviations of the means. `precision_per_recall` is -inf where precision would fall infinitely
    fast, and +-inf where it leaves the range of floats.

    Examples
    --------
    >>> truth = ScoreTruth(positive_share=0.008)
    >>> threshold = truth.threshold_at_recall(0.25)
    >>> round(float(truth.precision(threshold)), 3), round(
    ...     float(truth.precision_per_recall(threshold)), 3)
    (0.275, -1.005)
    """

    positive_share: float
    background: str = "normal"
    background_mean: float = 6.56
    background_sd: float = 1.0
    foreground_mean: float = 8.44
    foreground_sd: float = 1.0

    def __post_init__(self) -> None:
        read_number(self.positive_share, "positive_share", PROPER_SHARE)
        refuse_word("background", self.background, BACKGROUNDS)
        skewed = self.background != "normal"
        read_number(self.background_mean, "background_mean", POSITIVE if skewed else FINITE)
        read_number(self.background_sd, "background_sd", POSITIVE)
        read_number(self.foreground_mean, "foreground_mean", FINITE)
        read_number(self.foreground_sd, "foreground_sd", POSITIVE)

    def draw(self, y_true: Array, rng: np.random.Generator) -> Array:
        """Draw one score for every label in `y_true`."""
        negatives = self._negatives().rvs(size=y_true.size, random_state=rng)
        positives = rng.normal(self.foreground_mean, self.foreground_sd, size=y_true.size)
        return np.where(y_true == 1.0, positives, negatives)

    def recall(self, threshold: ArrayLike) -> Array:
        """Return the share of positives with a score above the threshold: S1(t)."""
        return np.exp(self._log_tails(threshold)[0])

    def false_alarm_rate(self, threshold: ArrayLike) -> Array:
        """Return the share of negatives with a score above the threshold: S0(t)."""
        return np.exp(self._log_tails(threshold)[1])

    def alarm_rate(self, threshold: ArrayLike) -> Array:
        """Return the share of all rows with a score above the threshold: q(t)."""
        return np.exp(self._log_alarm_rate(threshold))

    def precision(self, threshold: ArrayLike) -> Array:
        """Return the share of positives among the scores above the threshold."""
        log_recall, log_false = self._log_tails(threshold)
        return np.asarray(special.expit(self._log_odds() + log_recall - log_false))

    def posterior(self, scores: ArrayLike) -> Array:
        """Return the probability that a row with exactly this score is positive (002 eq 6)."""
        return np.asarray(special.expit(self._log_odds() + self._log_density_ratio(scores)))

    def precision_per_recall(self, threshold: ArrayLike) -> Array:
        """Return the slope dP/dR of precision against recall at the threshold."""
        log_recall, log_false = self._log_tails(threshold)
        above = self._log_odds() + log_recall - log_false  # log P / (1 - P)
        at = self._log_odds() + self._log_density_ratio(threshold)  # log g / (1 - g)
        gap = np.asarray(above - at)
        # 1 - P/g = (1 - P)(1 - exp(gap)) keeps its digits where P and g are both next to 1.
        with np.errstate(divide="ignore"):  # gap 0: a flat curve, log(0) = -inf, slope 0
            size = np.maximum(gap, 0.0) + np.log(-np.expm1(-np.abs(gap)))
        size = size + special.log_expit(-above)
        log_slope = np.log(self.positive_share) - self._log_alarm_rate(threshold) + size
        magnitude = np.where(
            log_slope > LARGEST_LOG, np.inf, np.exp(np.minimum(log_slope, LARGEST_LOG))
        )
        return np.asarray(-np.sign(gap) * magnitude)

    def threshold_at_recall(self, recall: ArrayLike) -> Array:
        """Return the threshold above which this share of the positives lies."""
        wanted = np.asarray(recall, dtype=np.float64)
        for each in np.ravel(wanted):
            read_number(float(each), "recall", PROPER_SHARE)
        return np.asarray(self.foreground_mean - self.foreground_sd * special.ndtri(wanted))

    def _negatives(self) -> Any:
        return _background_law(self.background, self.background_mean, self.background_sd)

    def _log_odds(self) -> float:
        return float(special.logit(self.positive_share))

    def _log_alarm_rate(self, threshold: ArrayLike) -> Array:
        log_recall, log_false = self._log_tails(threshold)
        positives = np.log(self.positive_share) + log_recall
        return np.asarray(np.logaddexp(positives, np.log1p(-self.positive_share) + log_false))

    def _log_tails(self, threshold: ArrayLike) -> tuple[Array, Array]:
        """Return log S1(t) and log S0(t)."""
        at = _finite("threshold", threshold)
        log_recall = special.log_ndtr((self.foreground_mean - at) / self.foreground_sd)
        law = self._negatives()
        if self.background != "gamma":
            return np.asarray(log_recall), np.asarray(law.logsf(at))
        # Where the gamma tail underflows: density over hazard, hazard ~ rate - (shape - 1) / t.
        tail = np.asarray(law.sf(at))
        rate = self.background_mean / self.background_sd**2
        far = np.maximum(at, self.background_mean + 8.0 * self.background_sd)
        far_tail = law.logpdf(far) - np.log(rate - (self.background_mean * rate - 1.0) / far)
        log_false = np.where(tail > 1e-290, np.log(np.maximum(tail, 1e-290)), far_tail)
        return np.asarray(log_recall), log_false

    def _log_density_ratio(self, scores: ArrayLike) -> Array:
        """Return log p1(s) - log p0(s); +inf where a negative cannot have this score."""
        at = _finite("scores", scores)
        foreground = stats.norm(loc=self.foreground_mean, scale=self.foreground_sd)
        return np.asarray(foreground.logpdf(at) - self._negatives().logpdf(at))
