"""Batches of scores whose missed events are known: seven laws of scores, one threshold each.

    5,000 rows; each is an event with probability .008 (or .002, .04); scores are drawn by kind;
    threshold t: the law of the events has P(score >= t) = .25; an alarm is a score >= t

    background N(0, 1) in A, D, F, G, H;  N(m, s) has mean m and standard deviation s
    A  events N(1.88, 1): the default of 002 Figure 4, both laws normal with equal spread
    C  background Student t, 8 degrees of freedom, scaled to standard deviation 1;
       events .5 N(2.2, 1) + .5 N(.6, 1): half of the events score low
    D  events N(1.88, 1.8): more spread than the background
    E  background .85 skew-normal (slant 4, mean 0, sd 1) + .15 Gumbel (mode .5, scale .6);
       events .6 N(2.2, .6) + .4 N(3.4, .8): two kinds
    F  events .75 N(1.88, 1) + .25 N(0, 1): a quarter scores exactly like the background
    G  events N(1.1, 1): a weak score        H  events N(3.2, 1): a strong score

The study that the gates come from names these laws; C's and E's numbers are not printed there and
were chosen here before any interval was looked at. Counts are random: the truth is the recall
that the batch turned out to have.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy import stats
from scipy.optimize import brentq
from scipy.special import ndtr, ndtri

Array = NDArray[np.float64]
Mixture = tuple[tuple[float, Any], ...]  # (share, law) of each kind

ROWS = 5000
RATE = 0.008
RATES = (0.002, 0.008, 0.04)
RECALL = 0.25
GAP = 1.88
SLANT = 4.0
AUC_ERROR = 0.15  # of a validation AUC, in units of the distance d' between two normal laws


@dataclass(frozen=True)
class Batch:
    """Scores of a batch with what nobody sees in practice: which rows are events.

    Parameters
    ----------
    scores, y_true : array of shape (n,)
        y_true is 1.0 for an event, else 0.0.
    threshold : float
        A score at or above it is an alarm.
    """

    scores: Array
    y_true: Array
    threshold: float

    @property
    def alarms(self) -> NDArray[np.bool_]:
        """Rows at or above the threshold."""
        return self.scores >= self.threshold

    @property
    def seen(self) -> int:
        """Events among the alarms."""
        return int(self.y_true[self.alarms].sum())

    @property
    def missed(self) -> int:
        """Events below the threshold."""
        return int(self.y_true.sum()) - self.seen

    @property
    def recall(self) -> float:
        """Share of the batch's events that are alarms; NaN without events."""
        total = self.seen + self.missed
        return self.seen / total if total else float("nan")


def _skew_normal() -> Any:
    """Return the skew-normal law of mean 0 and standard deviation 1."""
    plain = stats.skewnorm(SLANT)
    return stats.skewnorm(SLANT, loc=-plain.mean() / plain.std(), scale=1.0 / plain.std())


@cache
def laws(name: str) -> tuple[Mixture, Mixture]:
    """Return the laws of the background's and of the events' scores."""
    normal: Mixture = ((1.0, stats.norm()),)
    heavy: Mixture = ((1.0, stats.t(8, scale=np.sqrt(6 / 8))),)
    ragged: Mixture = ((0.85, _skew_normal()), (0.15, stats.gumbel_r(0.5, 0.6)))
    return {
        "A": (normal, ((1.0, stats.norm(GAP)),)),
        "C": (heavy, ((0.5, stats.norm(2.2)), (0.5, stats.norm(0.6)))),
        "D": (normal, ((1.0, stats.norm(GAP, 1.8)),)),
        "E": (ragged, ((0.6, stats.norm(2.2, 0.6)), (0.4, stats.norm(3.4, 0.8)))),
        "F": (normal, ((0.75, stats.norm(GAP)), (0.25, stats.norm()))),
        "G": (normal, ((1.0, stats.norm(1.1)),)),
        "H": (normal, ((1.0, stats.norm(3.2)),)),
    }[name]


SCENARIOS = ("A", "C", "D", "E", "F", "G", "H")


def tail(mixture: Mixture, score: float) -> float:
    """Return the share of a mixture at or above a score."""
    return float(sum(share * law.sf(score) for share, law in mixture))


@cache
def threshold_of(name: str) -> float:
    """Return the score above which a quarter of the events lies in expectation."""
    events = laws(name)[1]
    return float(brentq(lambda t: tail(events, t) - RECALL, -10.0, 20.0, xtol=1e-12))


@cache
def auc_of(name: str) -> float:
    """Return the AUC of the law: P(event's score > background's score)."""
    background, events = laws(name)
    grid = np.linspace(-10.0, 12.0, 401)
    density = sum(share * law.pdf(grid) for share, law in events)
    below = sum(share * law.cdf(grid) for share, law in background)
    return float(np.trapezoid(density * below, grid))


def _draw(mixture: Mixture, n: int, rng: np.random.Generator) -> Array:
    """Draw n scores of a mixture."""
    counts = rng.multinomial(n, [share for share, _ in mixture])
    parts = [law.rvs(int(k), random_state=rng) for k, (_, law) in zip(counts, mixture, strict=True)]
    return rng.permutation(np.concatenate(parts))


def draw(name: str, rng: np.random.Generator, *, rate: float = RATE, rows: int = ROWS) -> Batch:
    """Draw a batch with at least one event (recall is undefined without)."""
    background, events = laws(name)
    while True:
        y = (rng.random(rows) < rate).astype(np.float64)
        if y.any():
            break
    scores = np.empty(rows)
    scores[y == 0] = _draw(background, int((y == 0).sum()), rng)
    scores[y == 1] = _draw(events, int(y.sum()), rng)
    return Batch(scores, y, threshold_of(name))


def noisy_auc(auc: float, rng: np.random.Generator) -> float:
    """Return an AUC as a validation set would give it: off by .15 (one sd) in d'."""
    distance = np.sqrt(2.0) * ndtri(np.clip(auc, 0.501, 0.9995)) + AUC_ERROR * rng.normal()
    return float(ndtr(max(distance, 0.05) / np.sqrt(2.0)))
