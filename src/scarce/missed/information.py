"""Fisher information: what do labels and scores tell about the mixture, and so about recall?

    information = sum over rows of E[score score^T],    score = d log p / d params      (002 eq 3-5)

An unlabelled row's score is the posterior-weighted mean of the two it would have with a label
(Louis 1982), so everything follows from those two and from where on the axis the labels are. Cross
terms are kept, unlike in the paper's footnote 1: at its Figure 4 default leaving them out makes the
error of recall three times too small. Assumes that the mixture is true and that whether a row was
labelled depends on its score alone. Large-sample figures: with a handful of labelled events the
true errors are larger and asymmetric.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from scarce.checks import Number, read_number
from scarce.errors import Argument, UsageError, refuse_word
from scarce.missed.mixture.families import FAMILIES, Array, Family, family, quiet
from scarce.results import short

# --- integrals over the score axis ----------------------------------------------------------------
#
#   p(s) = (1 - positive_share) p0(s) + positive_share p1(s),     posterior(s)    (002 eq 1 and 6)
#
# Panels end at quantiles of both parts, down to 1e-20 in either tail, and carry 16 Gauss-Legendre
# points each (in log score where a panel spans more than a doubling). For our families integrals
# agree with exact ones to 1e-13; a family with numerical tails and gradients has 1e-10. Assumes
# parts with one peak.


_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_TAILS = 10.0 ** -np.arange(20, 0, -1.0)  # probabilities beyond the outer ends of panels
_MIDDLE = np.array([0.2, 0.35, 0.5])


class MixtureLike(Protocol):
    """A fitted `ScoreMixture`, or anything else with its parameters."""

    @property
    def positive_share_(self) -> float:
        """Share of events among the rows."""

    @property
    def background_(self) -> str | Family:
        """Family of the scores of all other rows."""

    @property
    def background_params_(self) -> ArrayLike:
        """Its parameters."""

    @property
    def foreground_(self) -> str | Family:
        """Family of the scores of events."""

    @property
    def foreground_params_(self) -> ArrayLike:
        """Its parameters."""


@dataclass(frozen=True, eq=False)
class KnownMixture:
    """A mixture at given parameters; serves wherever a fitted `ScoreMixture` does.

    Parameters
    ----------
    positive_share_ : float
        Share of events among the rows, between 0 and 1.
    background_, foreground_ : str or Family
        Families of the scores of all else, and of events.
    background_params_, foreground_params_ : array-like
        Unconstrained parameters, as the families have them.

    Examples
    --------
    >>> mixture = KnownMixture(0.01, "normal", [2.0, 0.0], "normal", [3.88, 0.0])
    >>> mixture.posterior([2.0, 6.0]).round(3).tolist()
    [0.002, 0.761]
    >>> mixture.alarm_rate(4.0).round(4).tolist()
    0.027
    """

    positive_share_: float
    background_: str | Family
    background_params_: ArrayLike
    foreground_: str | Family
    foreground_params_: ArrayLike

    def __post_init__(self) -> None:
        between = Number(0, 1, open_low=True, open_high=True)  # both parts have rows
        share = read_number(self.positive_share_, "positive_share_", between)
        object.__setattr__(self, "positive_share_", share)
        for part in ("background", "foreground"):
            own = family(getattr(self, f"{part}_"))
            params = np.array(getattr(self, f"{part}_params_"), dtype=np.float64)
            if params.shape != (len(own.names),) or not np.isfinite(params).all():
                raise UsageError(
                    "The {family} family needs one finite number for each of its parameters, "
                    "{names}, got {value}.",
                    code="family-parameters",
                    family=own.name,
                    names=", ".join(own.names),
                    value=params.tolist(),
                )
            object.__setattr__(self, f"{part}_", own)
            object.__setattr__(self, f"{part}_params_", params)

    @classmethod
    def of(cls, mixture: MixtureLike) -> KnownMixture:
        """Return the parameters of a fitted `ScoreMixture`, or of an object like it."""
        if isinstance(mixture, cls):
            return mixture
        try:
            return cls(
                mixture.positive_share_,
                _family_of(mixture, "background"),
                mixture.background_params_,
                _family_of(mixture, "foreground"),
                mixture.foreground_params_,
            )
        except AttributeError as fault:
            raise UsageError(
                "mixture must be a fitted ScoreMixture or a KnownMixture, got a {kind} without "
                "{attribute}.",
                code="not-a-mixture",
                kind=type(mixture).__name__,
                attribute=fault.name,
            ) from fault

    @property
    def parts(self) -> tuple[Family, Family]:
        """Background and foreground, as families."""
        return family(self.background_), family(self.foreground_)

    @property
    def params(self) -> tuple[Array, Array]:
        """Parameters of background and foreground, as arrays."""
        return np.asarray(self.background_params_), np.asarray(self.foreground_params_)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of all parameters: the share, the background's, the foreground's."""
        background, foreground = self.parts
        return (
            "positive_share",
            *(f"background_{one}" for one in background.names),
            *(f"foreground_{one}" for one in foreground.names),
        )

    @cached_property
    def panel_ends(self) -> Array:
        """Quantiles of both parts, far into both tails: between them densities are smooth."""
        return np.concatenate(
            [_panel_ends(part, own) for part, own in zip(self.parts, self.params, strict=True)]
        )

    def log_densities(self, s: ArrayLike) -> tuple[Array, Array]:
        """Return log((1 - share) p0) and log(share p1) at each score."""
        share = self.positive_share_
        (background, foreground), params = self.parts, self.params
        return (
            math.log1p(-share) + background.log_density(s, params[0]),
            math.log(share) + foreground.log_density(s, params[1]),
        )

    @quiet
    def posterior(self, s: ArrayLike) -> Array:
        """Return the probability that a row with this score is an event (002 eq 6)."""
        log0, log1 = self.log_densities(s)
        return np.asarray(expit(np.where(log1 == -np.inf, -np.inf, log1 - log0)))

    def log_alarm_rate(self, t: ArrayLike) -> Array:
        """Return the log of the share of rows at or above t."""
        share = self.positive_share_
        (background, foreground), params = self.parts, self.params
        return np.logaddexp(
            math.log1p(-share) + background.log_tail(t, params[0]),
            math.log(share) + foreground.log_tail(t, params[1]),
        )

    def alarm_rate(self, t: ArrayLike) -> Array:
        """Return the share of rows at or above t."""
        return np.exp(self.log_alarm_rate(t))

    def threshold_for(self, alarm_rate: ArrayLike) -> Array:
        """Return the threshold above which this share of rows lies.

        Examples
        --------
        >>> mixture = KnownMixture(0.3, "normal", [2.0, 0.0], "normal", [3.88, 0.0])
        >>> mixture.threshold_for(0.05).round(3).tolist()
        4.867
        """
        wanted = np.log(np.asarray(alarm_rate, dtype=np.float64))
        ends = [
            _quantiles(part, own, wanted) for part, own in zip(self.parts, self.params, strict=True)
        ]
        low, high = np.minimum(*ends), np.maximum(*ends)  # the mixture's quantile lies between
        for _ in range(100):
            middle = 0.5 * (low + high)
            above = self.log_alarm_rate(middle) > wanted
            low, high = np.where(above, middle, low), np.where(above, high, middle)
        return np.asarray(0.5 * (low + high))


def _family_of(mixture: MixtureLike, part: str) -> str | Family:
    """Return the family that a mixture names; its own parameters may hold one of the user's."""
    named: str | Family = getattr(mixture, f"{part}_")
    if not isinstance(named, str) or named in FAMILIES:
        return named
    given = getattr(mixture, part, named)
    for one in given if isinstance(given, (list, tuple)) else [given]:
        if isinstance(one, Family) and one.name == named:
            return one
    return named


class Axis(NamedTuple):
    """Points on the score axis with what each stands for."""

    s: Array
    mass: Array  # rows per row of data: weight of the rule times p(s)
    posterior: Array
    rest: Array  # 1 - posterior, as its own number


@quiet
def score_axis(mixture: KnownMixture, low: float = -math.inf, high: float = math.inf) -> Axis:
    """Return points and masses: a sum over them is the integral over p(s) from low to high."""
    if not low < high:
        raise UsageError(
            "low must be below high, got {low:g} and {high:g}.",
            code="empty-range",
            low=float(low),
            high=float(high),
        )
    ends = np.concatenate([mixture.panel_ends, [0.0, low, high]])
    ends = np.unique(ends[np.isfinite(ends) & (ends >= low) & (ends <= high)])
    left, right = ends[:-1, None], ends[1:, None]
    # In log score where a panel spans more than a doubling: densities bend on that scale there.
    bent = (left > 0) & (right > 2 * left)
    start, stop = (np.where(bent, np.log(end), end) for end in (left, right))
    place = start + (stop - start) * 0.5 * (_POINTS + 1)
    s = np.where(bent, np.exp(place), place)
    width = (stop - start) * 0.5 * np.where(bent, s, 1.0) * _WEIGHTS
    s, width = s.ravel(), width.ravel()
    log0, log1 = mixture.log_densities(s)
    mass = width * np.exp(np.logaddexp(log0, log1))
    kept = mass > 0
    log_odds = (log1 - log0)[kept]
    return Axis(s[kept], mass[kept], expit(log_odds), expit(-log_odds))


def _panel_ends(part: Family, params: Array) -> Array:
    """Return quantiles of a family at set probabilities, far into both tails."""
    upper = np.log(np.concatenate([_TAILS, _MIDDLE]))
    lower = np.log1p(-np.concatenate([_TAILS, _MIDDLE[:-1]]))
    return _quantiles(part, params, np.concatenate([upper, lower]))


@quiet
def _quantiles(part: Family, params: Array, wanted: Array) -> Array:
    """Return the scores at which a family's log tail has these values, by bisection."""
    mean, spread = part.mean(params), part.spread(params)

    def to_score(y: Array) -> Array:
        return np.exp(y) if part.positive_only else mean + spread * np.sinh(y)

    reach = 700.0 if part.positive_only else 60.0
    low, high = np.full(wanted.shape, -reach), np.full(wanted.shape, reach)
    for _ in range(80):
        middle = 0.5 * (low + high)
        above = part.log_tail(to_score(middle), params) > wanted
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return to_score(0.5 * (low + high))


# --- the information ------------------------------------------------------------------------------


_NULL = 1e-13  # eigenvalues of the scaled matrix below this share of the largest count as 0


@dataclass(frozen=True)
class Information:
    """Fisher information of a mixture's parameters.

    Informations of separate rows add up, and n rows have n times one row's.

    Parameters
    ----------
    matrix : ndarray of shape (n_params, n_params)
    names : tuple of str
        Of the parameters: the positive share, the background's, the foreground's.
    mixture : KnownMixture
        Where it was taken.
    unit : ndarray of shape (n_params,)
        Change of the family's own parameter for a unit of the parameter named here.

    Examples
    --------
    >>> mixture = KnownMixture(0.3, "normal", [2.0, 0.0], "normal", [3.88, 0.0])
    >>> tail = information(mixture, 10_000, design="tail", n_labels=500)
    >>> print(tail)
    positive_share         0.3 +- 0.027
    background_mean        2 +- 0.035
    background_log_spread  0 +- 0.014
    foreground_mean        3.88 +- 0.094
    foreground_log_spread  0 +- 0.039
    >>> round(tail.recall_sd(4.0), 3), round(tail.without_cross_terms().recall_sd(4.0), 3)
    (0.036, 0.01)
    """

    matrix: Array
    names: tuple[str, ...]
    mixture: KnownMixture
    unit: Array

    def __add__(self, other: Information) -> Information:
        if self.names != other.names or not np.array_equal(self.values, other.values):
            raise UsageError(
                "Informations can be added only for the same parameters at the same values, got "
                "{these} and {those}.",
                code="other-information",
                these=", ".join(self.names),
                those=", ".join(other.names),
            )
        return replace(self, matrix=self.matrix + other.matrix)

    def __mul__(self, n_rows: float) -> Information:
        return replace(self, matrix=self.matrix * float(n_rows))

    __rmul__ = __mul__

    @property
    def values(self) -> Array:
        """The parameters themselves, in the units of `names`."""
        own = np.concatenate([[self.mixture.positive_share_], *self.mixture.params])
        for at, name in enumerate(self.names):
            if name.endswith("_variance"):
                own[at] = math.exp(2 * own[at])
        return own

    def variance(self, gradient: Array) -> float:
        """Return the variance of a figure with this gradient; infinite where it is not identified.

        Examples
        --------
        >>> mixture = KnownMixture(0.3, "normal", [2.0, 0.0], "normal", [2.0, 0.0])
        >>> float(unlabelled_information(mixture).variance(np.eye(5)[0]))
        inf
        """
        value, axes = self._principal
        along = axes.T @ gradient
        seen = value > _NULL * value.max()
        if np.abs(along[~seen]).max(initial=0.0) > 1e-6 * np.abs(along).max(initial=0.0):
            return math.inf
        return float(np.sum(along[seen] ** 2 / value[seen]))

    def solve(self, gradients: Array) -> Array:
        """Return the inverse of the matrix times gradients (columns), where identified."""
        value, axes = self._principal
        seen = value > _NULL * value.max()
        return np.asarray(axes[:, seen] @ ((axes[:, seen].T @ gradients) / value[seen, None]))

    @cached_property
    def _principal(self) -> tuple[Array, Array]:
        """Eigenvalues, and axes that diagonalise the matrix, on the scale of labelled rows.

        Without a label the share may have no information but rounding; measured by itself that
        would look like any other.
        """
        full = labelled_information(self.mixture).matrix
        size = 1.0 / (np.sqrt(np.diag(full)) * self.unit)
        value, axes = np.linalg.eigh(self.matrix * np.outer(size, size))
        return value, axes * size[:, None]

    def sd(self) -> Array:
        """Return the least standard error of each parameter, the others being unknown too."""
        return np.sqrt([self.variance(one) for one in np.eye(len(self.names))])

    def recall_gradient(self, t: float) -> Array:
        """Return d recall / d params at threshold t: the foreground's score over its tail."""
        gradient = np.zeros(len(self.names))
        axis = score_axis(self.mixture, low=t)
        events = axis.mass * axis.posterior / self.mixture.positive_share_
        foreground, params = self.mixture.parts[1], self.mixture.params[1]
        gradient[-len(params) :] = foreground.gradient(axis.s, params) @ events
        return gradient * self.unit

    def recall_sd(self, t: float) -> float:
        """Return the standard error of recall at threshold t, by the delta method."""
        return math.sqrt(self.variance(self.recall_gradient(t)))

    def without_cross_terms(self) -> Information:
        """Return the diagonal alone: every parameter as if all others were known (footnote 1)."""
        return replace(self, matrix=np.diag(np.diag(self.matrix)))

    def in_variances(self) -> Information:
        """Return the same in the paper's parameters of normal parts: mean and variance."""
        names, unit = list(self.names), self.unit.copy()
        for part, word in zip(self.mixture.parts, ("background", "foreground"), strict=True):
            if part.name != "normal":
                raise UsageError(
                    "The {part} is {family}, whose parameters are not a mean and a variance: only "
                    "normal parts have those.",
                    code="not-normal",
                    part=word,
                    family=part.name,
                    remedy="Use .matrix as it is.",
                )
            at = self.names.index(f"{word}_log_spread")
            names[at] = f"{word}_variance"
            variance = math.exp(2 * (self.mixture.params[word == "foreground"][1]))
            unit[at] = 0.5 / variance  # d log sd / d variance
        ratio = unit / self.unit
        return replace(
            self, matrix=self.matrix * np.outer(ratio, ratio), names=tuple(names), unit=unit
        )

    def __str__(self) -> str:
        width = max(map(len, self.names))
        rows = zip(self.names, self.values, self.sd(), strict=True)
        return "\n".join(f"{name:<{width}}  {value:.4g} +- {sd:.2g}" for name, value, sd in rows)


def label_scores(mixture: KnownMixture, s: Array) -> tuple[Array, Array]:
    """Return d log p / d params of rows labelled event, and of rows labelled not, (n_params, n)."""
    share, (background, foreground), params = mixture.positive_share_, mixture.parts, mixture.params
    event, not_event = np.zeros((2, 1 + len(params[0]) + len(params[1]), len(s)))
    event[0], not_event[0] = 1.0 / share, -1.0 / (1.0 - share)
    not_event[1 : 1 + len(params[0])] = background.gradient(s, params[0])
    event[1 + len(params[0]) :] = foreground.gradient(s, params[1])
    return event, not_event


def unlabelled_information(
    mixture: MixtureLike, low: float = -math.inf, high: float = math.inf
) -> Information:
    """Return what one row tells without a label, if its score is in [low, high).

    Parameters
    ----------
    mixture : fitted ScoreMixture or KnownMixture
    low, high : float
        Rows with other scores add nothing; the sum over regions is one row's information.

    Returns
    -------
    Information
    """
    return _per_row(mixture, low, high, labelled=False)


def labelled_information(
    mixture: MixtureLike, low: float = -math.inf, high: float = math.inf
) -> Information:
    """Return what one row tells with its label, if its score is in [low, high).

    Examples
    --------
    >>> mixture = KnownMixture(0.2, "normal", [0.0, 0.0], "normal", [2.0, 0.0])
    >>> design = 300 * labelled_information(mixture, low=1.5)
    >>> design += 300 * unlabelled_information(mixture, high=1.5)
    >>> design.sd().round(3).tolist()
    [0.051, 0.072, 0.047, 0.363, 0.212]
    """
    return _per_row(mixture, low, high, labelled=True)


@quiet
def _per_row(mixture: MixtureLike, low: float, high: float, *, labelled: bool) -> Information:
    own = KnownMixture.of(mixture)
    axis = score_axis(own, low, high)
    event, not_event = label_scores(own, axis.s)
    if labelled:
        matrix = (event * (axis.mass * axis.posterior)) @ event.T
        matrix += (not_event * (axis.mass * axis.rest)) @ not_event.T
    else:
        score = event * axis.posterior + not_event * axis.rest
        matrix = (score * axis.mass) @ score.T
    return Information(matrix, own.names, own, np.ones(len(matrix)))


def class_information(mixture: MixtureLike, *, event: bool) -> Information:
    """Return what one labelled row of a class tells, counted as 002 eq 3-5 count it."""
    own = KnownMixture.of(mixture)
    axis = score_axis(own)
    scores, share = label_scores(own, axis.s), own.positive_share_
    score = scores[0] if event else scores[1]
    mass = axis.mass * (axis.posterior / share if event else axis.rest / (1.0 - share))
    matrix = (score * mass) @ score.T
    return Information(matrix, own.names, own, np.ones(len(matrix)))


def information(
    mixture: MixtureLike,
    n_rows: float,
    *,
    design: str = "tail",
    n_labels: float | None = None,
    threshold: float | None = None,
) -> Information:
    """Return the Fisher information of a batch of rows under a way of labelling.

    Parameters
    ----------
    mixture : fitted ScoreMixture or KnownMixture
    n_rows : float
        Rows in the batch.
    design : {"tail", "random", "equal-class"}
        Labelled are the greatest scores; or rows drawn at random; or as many events as others.
        Where events are fewer than half of the labels, all events and more of the others
        (footnote 2 of the paper).
    n_labels : float, optional
        Labels in the batch. For "tail" give this or `threshold`.
    threshold : float, optional
        For "tail": rows at or above are labelled.

    Returns
    -------
    Information

    Notes
    -----
    "equal-class" counts as the paper does: labels of a class chosen beforehand inform the share as
    if they had been drawn, and rows without label stay a fair sample of the mixture. Both favour
    that design a little; it is here to compare with the paper's Figure 1.

    **Assumes** that the mixture is true and that labelling looked at nothing but scores.

    References
    ----------
    Louis (1982), Finding the observed information matrix when using the EM algorithm, Journal of
    the Royal Statistical Society B 44.

    Examples
    --------
    >>> mixture = KnownMixture(0.001, "normal", [2.0, 0.0], "normal", [3.88, 0.0])
    >>> for design in ("random", "equal-class"):
    ...     batch = information(mixture, 1e6, design=design, n_labels=1000)
    ...     print(design, round(batch.matrix[3, 3]))
    random 80
    equal-class 579
    """
    refuse_word("design", design, ("tail", "random", "equal-class"))
    own = KnownMixture.of(mixture)
    if n_labels is None and (threshold is None or design != "tail"):
        raise UsageError(
            "{design} does not say how many rows are labelled: give {needed}.",
            code="no-label-count",
            design=Argument("design", design),
            needed="n_labels or threshold" if design == "tail" else "n_labels",
        )
    if n_labels is not None and not 0 <= n_labels <= n_rows:
        raise UsageError(
            "{argument} must be from 0 to n_rows, {n_rows}, got {value}.",
            code="label-count",
            argument=Argument("n_labels"),
            n_rows=short(n_rows),
            value=short(n_labels),
        )
    if design == "tail":
        return _tail(own, n_rows, n_labels, threshold)
    assert n_labels is not None
    bare = (n_rows - n_labels) * unlabelled_information(own)
    if design == "random":
        return n_labels * labelled_information(own) + bare
    events = min(0.5 * n_labels, n_rows * own.positive_share_)
    labelled = events * class_information(own, event=True)
    return labelled + (n_labels - events) * class_information(own, event=False) + bare


def _tail(
    own: KnownMixture, n_rows: float, n_labels: float | None, threshold: float | None
) -> Information:
    if threshold is None:
        assert n_labels is not None
        if n_labels in (0, n_rows):
            kind = labelled_information if n_labels else unlabelled_information
            return n_rows * kind(own)
        threshold = float(own.threshold_for(n_labels / n_rows))
    above = labelled_information(own, low=threshold)
    return n_rows * (above + unlabelled_information(own, high=threshold))
