"""Worlds with a known truth, each of which breaks an easy assumption in its own way.

    z ~ normal(0, 1),   P(event | z) = expit(a + 1.5 z),   given probability = expit(b + 1.2 z)

so that the given probabilities rank perfectly and are a little off. A world says how rows come
(alone, in groups, repeated), what they weigh, and which of them are labelled. Its truth is that of
a million rows, all labelled. Nothing here knows how an interval is found.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit

from scarce import choose_labels

Array = NDArray[np.float64]

SLOPE, GIVEN_SLOPE = 1.5, 1.2
MANY = 1_000_000
LEVELS = np.array([-1.0, 0.0, 0.8, 1.6])  # of z, between which probabilities are tied


@dataclass(frozen=True)
class Rows:
    """Rows as a user has them; labels are NaN where nobody looked."""

    y: Array
    prob: Array
    rival: Array  # probabilities of another model
    amount: Array  # what a miss costs
    weight: Array | None = None
    inclusion: Array | None = None
    groups: NDArray[np.intp] | None = None

    @property
    def how(self) -> dict[str, object]:
        """The arguments that say whom labelled rows speak for."""
        given = {
            "sample_weight": self.weight,
            "inclusion": self.inclusion,
            "groups": self.groups,
        }
        return {name: value for name, value in given.items() if value is not None}


Make = Callable[[np.random.Generator, int, float], Rows]
Label = Callable[[Rows, np.random.Generator], Rows]


@dataclass(frozen=True)
class World:
    """A way in which rows arise, and how many are looked at.

    Parameters
    ----------
    name : str
    n : int
        Rows.
    share : float
        Base rate.
    make : callable
        Draws rows, all labelled.
    label : callable, optional
        Takes labels away, or repeats rows.
    """

    name: str
    n: int
    share: float
    make: Make
    label: Label = lambda rows, rng: rows

    def draw(self, rng: np.random.Generator) -> Rows:
        """Draw rows as a user has them."""
        return self.label(self.make(rng, self.n, self.share), rng)

    @cached_property
    def population(self) -> Rows:
        """A million labelled rows of this world."""
        return self.make(np.random.default_rng(20), MANY, self.share)


def intercept(share: float, spread: float) -> float:
    """Return a with mean expit(a + spread z) = share (Gauss-Hermite quadrature)."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()
    return float(brentq(lambda a: weights @ expit(a + spread * nodes) - share, -30.0, 10.0))


def simple(
    rng: np.random.Generator, n: int, share: float, *, ties: bool = False, heavy: bool = False
) -> Rows:
    """Independent rows; `ties`: five probabilities only, `heavy`: lognormal costs."""
    z = rng.normal(size=n)
    a = intercept(share, SLOPE)
    y = (rng.random(n) < expit(a + SLOPE * z)).astype(np.float64)
    noise = rng.normal(size=n)
    b = intercept(1.2 * share, GIVEN_SLOPE)
    seen = z if not ties else np.array([-1.6, -0.5, 0.4, 1.2, 2.2])[np.digitize(z, LEVELS)]
    prob = expit(b + GIVEN_SLOPE * seen)
    rival = expit(b + GIVEN_SLOPE * (0.9 * seen + 0.4 * noise))
    amount = rng.lognormal(0.0, 1.5, n) * 60 if heavy else np.full(n, 100.0)
    return Rows(y, prob, rival, amount)


def tied(rng: np.random.Generator, n: int, share: float) -> Rows:
    """Five different probabilities."""
    return simple(rng, n, share, ties=True)


def heavy(rng: np.random.Generator, n: int, share: float) -> Rows:
    """A miss costs a lognormal amount: the dearest 1 % of rows hold a quarter of it."""
    return simple(rng, n, share, heavy=True)


def weighted(rng: np.random.Generator, n: int, share: float) -> Rows:
    """Rows of a survey, whose weights are lognormal and greater where the score is low."""
    rows = simple(rng, n, share)
    z = (np.log(rows.prob / (1 - rows.prob)) - intercept(1.2 * share, GIVEN_SLOPE)) / GIVEN_SLOPE
    return replace(rows, weight=rng.lognormal(-0.3 * z, 0.7))


def grouped(rng: np.random.Generator, n: int, share: float) -> Rows:
    """Groups of ten rows, which share most of their score and a chance of their own."""
    groups = np.repeat(np.arange(n // 10), 10)
    each = len(groups) // 10
    z = np.sqrt(0.6) * rng.normal(size=each)[groups] + np.sqrt(0.4) * rng.normal(size=len(groups))
    luck = rng.normal(size=each)[groups]
    a = intercept(share, np.hypot(SLOPE, 1.5))
    y = (rng.random(len(groups)) < expit(a + SLOPE * z + 1.5 * luck)).astype(np.float64)
    b = intercept(1.2 * share, GIVEN_SLOPE)
    rival = expit(b + GIVEN_SLOPE * (0.9 * z + 0.4 * rng.normal(size=len(groups))))
    return Rows(y, expit(b + GIVEN_SLOPE * z), rival, np.full(n, 100.0), groups=groups)


def labelled_mildly(rows: Rows, rng: np.random.Generator) -> Rows:
    """Label each row with a probability of .2 to .8, the greater the score."""
    order = np.argsort(np.argsort(rows.prob)) / len(rows.prob)
    chance = 0.2 + 0.6 * order
    y = np.where(rng.random(len(chance)) < chance, rows.y, np.nan)
    return replace(rows, y=y, inclusion=chance)


def audited(rows: Rows, rng: np.random.Generator) -> Rows:
    """Label all alerts (the highest 2 %), the 100 rows below them and 100 others, ever thinner."""
    threshold = float(np.quantile(rows.prob, 0.98))
    alert = rows.prob >= threshold
    known = np.where(alert, rows.y, np.nan)
    choice = choose_labels(
        rows.prob, known, policy="pps", band=0.5, n=200, threshold=threshold, random_state=rng
    )
    chance = choice.inclusion(len(alert))
    chance[alert] = 1.0
    return replace(rows, y=np.where(np.isnan(chance), np.nan, rows.y), inclusion=chance)


def five_times(rows: Rows, rng: np.random.Generator) -> Rows:
    """Repeat every row five times; which rows are copies is known."""
    at = np.repeat(np.arange(len(rows.y)), 5)
    return Rows(rows.y[at], rows.prob[at], rows.rival[at], rows.amount[at], groups=at)


WORLDS = [
    World("3 events", 2000, 0.0015, simple),
    World("6 events", 2000, 0.003, simple),
    World("12 events", 2000, 0.006, simple),
    World("100 events", 2000, 0.05, simple),
    World("heavy costs", 2000, 0.0125, heavy),
    World("ties", 2000, 0.0125, tied),
    World("weights", 2000, 0.0125, weighted),
    World("groups of 10", 2000, 0.0125, grouped),
    World("mild inclusion", 4000, 0.0125, simple, labelled_mildly),
    World("audit inclusion", 10_000, 0.01, simple, audited),
    World("rows x 5, grouped", 1000, 0.02, simple, five_times),
]
