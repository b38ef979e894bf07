"""How are integrals over the score axis taken under a two-part mixture?

    p(s) = (1 - positive_share) p0(s) + positive_share p1(s),     posterior(s)      (002 eq 1 and 6)

Panels end at quantiles of both parts, down to 1e-20 in either tail, and carry 16 Gauss-Legendre
points each (in log score where a panel spans more than a doubling). For our families integrals
agree with exact ones to 1e-13; a family with numerical tails and gradients has 1e-10. Assumes
one-peaked parts; does not fit anything.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit

from scarce.errors import UsageError
from scarce.missed.mixture.families import FAMILIES, family
from scarce.missed.mixture.score_family import Array, Family, quiet

_POINTS, _WEIGHTS = np.polynomial.legendre.leggauss(16)
_TAILS = 10.0 ** -np.arange(20, 0, -1.0)  # probabilities beyond the outer ends of panels
_MIDDLE = np.array([0.2, 0.35, 0.5])


@dataclass(frozen=True, eq=False)
class KnownMixture:
    """A mixture at given parameters: what a fitted `ScoreMixture` is for these pages.

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
        share = float(self.positive_share_)
        if not 0.0 < share < 1.0:
            raise UsageError(
                f"positive_share_={share:g} is not between 0 and 1, so one of the two parts has no "
                "rows and nothing can be said of it. Give a mixture with a share such as 0.01."
            )
        object.__setattr__(self, "positive_share_", share)
        for part in ("background", "foreground"):
            own = family(getattr(self, f"{part}_"))
            params = np.array(getattr(self, f"{part}_params_"), dtype=np.float64)
            if params.shape != (len(own.names),) or not np.isfinite(params).all():
                raise UsageError(
                    f"The {own.name} family has the parameters {', '.join(own.names)}, and "
                    f"{params.tolist()} was given. Give one finite number for each."
                )
            object.__setattr__(self, f"{part}_", own)
            object.__setattr__(self, f"{part}_params_", params)

    @classmethod
    def of(cls, mixture: Any) -> KnownMixture:
        """Return the mixture that an object holds: a fitted `ScoreMixture`, or another like it."""
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
                f"This {type(mixture).__name__} has no {fault.name}, so it is not a mixture. Give "
                "a fitted ScoreMixture, or KnownMixture(positive_share, background, params, "
                "foreground, params)."
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


def _family_of(mixture: Any, part: str) -> str | Family:
    """Return the family that a mixture names; its own settings may hold one of the user's."""
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
        raise UsageError(f"No score lies from low={low:g} to high={high:g}: give low below high.")
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
