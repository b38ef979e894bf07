"""Worlds for the contest of intervals: simulated batches, some of which break what a curve assumes.

    rows are events with probability `rate`; scores are drawn by kind; the threshold is the score
    above which a share `alerts` of all rows lies in expectation

N(m, s) has mean m and standard deviation s; others are N(0, 1) where nothing else is said.

    world             rows      rate   alerts  scores of events, and of others
    normal            10,000    1.5 %  1 %     N(2, 1): the reference
    ties 20           10,000    1.5 %  1 %     normal in steps of .3 about the threshold: 20 values
    ties 6            10,000    1.5 %  1 %     normal cut at .5, 1.2, 1.9, t, t + .7: a rule's score
    bimodal           10,000    1.5 %  1 %     .5 N(3, .6) + .5 N(.8, .6)
    clump middle      10,000    1.5 %  1 %     .7 N(2.2, .8) + .3 N(.5, .1)
    clump deep        10,000    1.5 %  1 %     .7 N(2.2, .8) + .3 N(-1.5, .1)
    bimodal apart     10,000    1.5 %  1 %     .5 N(3.2, .6) + .5 N(0, .5)
    middle apart      10,000    1.5 %  1 %     .5 N(3.2, .6) + .5 N(.5, .1)
    deep apart        10,000    1.5 %  1 %     .5 N(3.2, .6) + .5 N(-1.5, .1)
    just below        10,000    1.5 %  1 %     .3 N(3, .5) + .7 N(2.1, .15), right below t = 2.5
    third invisible   10,000    1.5 %  1 %     2/3 N(2.3, 1) + 1/3 N(0, 1), which is like the others
    non-monotone      10,000    1.5 %  1.2 %   N(2, .6); others .99 N(0, 1) + .01 N(3.2, .4): false
                                               alarms fill the top, precision rises below it
    Cauchy            10,000    1.5 %  4 %     Cauchy around 6; others Cauchy around 0
    incidents         10,000    1.5 %  1 %     10 rows each: N(2, .9) of the incident + N(0, .44)
    30 % events       10,000    30 %   6 %     N(1.5, 1)
    1e-4 in 1e6       1,000,000 1e-4   5e-4    N(3, 1)
    sd 1.25 ... sd 3  10,000    2 %    1.5 %   N(2, s) for s = 1.25, 1.5, 2, 3
    two kinds         10,000    2 %    1.5 %   .5 N(4, 1) + .5 N(1.5, 1)
    exponential       10,000    2 %    1.5 %   N(0, 1) + an exponential of mean 1.5
    many seen         50,000    4 %    2 %     N(2.5, 1): more than 800 events are seen
    A, C to H         5,000     .8 %           the laws of scenarios.py, at a recall of .25
    5 % wrong         10,000    1.5 %  1 %     normal; every label is wrong with probability .05
    5 % missed, .5 % false                     normal; an event is overlooked, another row is called
                                               an event, with these probabilities

13 to 62 events are expected above the threshold, more where rows, rates or alerts were given: 30 %
events (550), many seen (840) and the worlds with 2 % events but exponential (73 to 106). All
numbers were fixed before any interval was looked at, but for the three worlds "apart": these came
after 40 repeats of bimodal and both clumps, because those did not mislead a curve as much as meant.
The truth is the recall that the batch turned out to have. Labels nothing: see rivals.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy import stats
from scipy.optimize import brentq

from experiments.missed_events import scenarios
from experiments.missed_events.scenarios import SCENARIOS, Array, Batch, Mixture, tail

INCIDENT_ROWS = 10
INCIDENT_SD, ROW_SD = 0.9, 0.44
TIE_STEP, TIES_BELOW, TIES_ABOVE = 0.3, 15, 4
RULE_CUTS = (0.5, 1.2, 1.9)  # and the threshold, and .7 above it
RULE_TOP = 0.7


@dataclass(frozen=True)
class World(Batch):
    """A batch under the name of its world, with the labels that investigations would give.

    Parameters
    ----------
    scores, y_true, threshold
        As of Batch.
    name : str
    observed : array of shape (n,) or None
        The label that a row gets when it is looked at; None where labels are right.
    """

    name: str = ""
    observed: Array | None = None

    @property
    def answers(self) -> Array:
        """What an investigation says of each row."""
        return self.y_true if self.observed is None else self.observed


class Law(NamedTuple):
    """How a world is drawn."""

    events: Mixture
    background: Mixture = ((1.0, stats.norm()),)
    rows: int = 10_000
    rate: float = 0.015
    alerts: float = 0.01


def _one(law: Any) -> Mixture:
    return ((1.0, law),)


def _two(share: float, first: Any, second: Any) -> Mixture:
    return ((share, first), (1.0 - share, second))


NORMAL = Law(_one(stats.norm(2)))
LAWS: dict[str, Law] = {
    "normal": NORMAL,
    "ties 20": NORMAL,
    "ties 6": NORMAL,
    "bimodal": Law(_two(0.5, stats.norm(3, 0.6), stats.norm(0.8, 0.6))),
    "clump middle": Law(_two(0.7, stats.norm(2.2, 0.8), stats.norm(0.5, 0.1))),
    "clump deep": Law(_two(0.7, stats.norm(2.2, 0.8), stats.norm(-1.5, 0.1))),
    "bimodal apart": Law(_two(0.5, stats.norm(3.2, 0.6), stats.norm(0, 0.5))),
    "middle apart": Law(_two(0.5, stats.norm(3.2, 0.6), stats.norm(0.5, 0.1))),
    "deep apart": Law(_two(0.5, stats.norm(3.2, 0.6), stats.norm(-1.5, 0.1))),
    "just below": Law(_two(0.3, stats.norm(3, 0.5), stats.norm(2.1, 0.15))),
    "third invisible": Law(_two(2 / 3, stats.norm(2.3), stats.norm())),
    "non-monotone": Law(
        _one(stats.norm(2, 0.6)), _two(0.99, stats.norm(), stats.norm(3.2, 0.4)), alerts=0.012
    ),
    "Cauchy": Law(_one(stats.cauchy(6)), _one(stats.cauchy()), alerts=0.04),
    "incidents": NORMAL,
    "30 % events": Law(_one(stats.norm(1.5)), rate=0.3, alerts=0.06),
    "1e-4 in 1e6": Law(_one(stats.norm(3)), rows=1_000_000, rate=1e-4, alerts=5e-4),
    **{
        f"sd {s:g}": Law(_one(stats.norm(2, s)), rate=0.02, alerts=0.015)
        for s in (1.25, 1.5, 2.0, 3.0)
    },
    "two kinds": Law(_two(0.5, stats.norm(4), stats.norm(1.5)), rate=0.02, alerts=0.015),
    "exponential": Law(_one(stats.exponnorm(1.5)), rate=0.02, alerts=0.015),
    "many seen": Law(_one(stats.norm(2.5)), rows=50_000, rate=0.04, alerts=0.02),
    "5 % wrong": NORMAL,
    "5 % missed, .5 % false": NORMAL,
}
WRONG = {"5 % wrong": (0.05, 0.05), "5 % missed, .5 % false": (0.05, 0.005)}  # events, others
NAMES = (*LAWS, *SCENARIOS)


@cache
def threshold_of(name: str) -> float:
    """Return the threshold of a world's law, before scores are tied."""
    law = LAWS[name]

    def too_many(score: float) -> float:
        found = law.rate * tail(law.events, score) + (1 - law.rate) * tail(law.background, score)
        return found - law.alerts

    return float(brentq(too_many, -10.0, 100.0, xtol=1e-12))


def draw(name: str, rng: np.random.Generator) -> World:
    """Draw a batch of a world; like every batch it has at least one event.

    Examples
    --------
    >>> world = draw("normal", np.random.default_rng(0))
    >>> len(world.scores), world.seen, world.missed
    (10000, 47, 96)
    """
    if name in SCENARIOS:
        batch = scenarios.draw(name, rng)
        return World(batch.scores, batch.y_true, batch.threshold, name)
    law = LAWS[name]
    y = _events(law, rng, INCIDENT_ROWS if name == "incidents" else 1)
    scores = np.empty(law.rows)
    scores[y == 0] = mixed(law.background, int((y == 0).sum()), rng)
    scores[y == 1] = (
        _incidents(int(y.sum()), rng)
        if name == "incidents"
        else mixed(law.events, int(y.sum()), rng)
    )
    world = World(scores, y, threshold_of(name), name)
    return CHANGES[name](world, rng) if name in CHANGES else world


def mixed(mixture: Mixture, n: int, rng: np.random.Generator) -> Array:
    """Draw n scores of a mixture, in random order."""
    counts = rng.multinomial(n, [share for share, _ in mixture])
    parts = [law.rvs(int(k), random_state=rng) for k, (_, law) in zip(counts, mixture, strict=True)]
    return rng.permutation(np.concatenate(parts))


def _events(law: Law, rng: np.random.Generator, together: int) -> Array:
    """Say which rows are events, so many neighbours at a time."""
    while True:
        y = np.repeat(rng.random(law.rows // together) < law.rate, together)
        if y.any():
            return y.astype(np.float64)


def _incidents(n: int, rng: np.random.Generator) -> Array:
    """Draw scores of events that come in incidents."""
    incident = np.repeat(rng.normal(2.0, INCIDENT_SD, n // INCIDENT_ROWS), INCIDENT_ROWS)
    return incident + rng.normal(0.0, ROW_SD, n)


def _in_steps(world: World, rng: np.random.Generator) -> World:
    """Round scores to 20 values; 0 is the threshold."""
    step = np.floor((world.scores - world.threshold) / TIE_STEP)
    return replace(world, scores=np.clip(step, -TIES_BELOW, TIES_ABOVE), threshold=0.0)


def _by_rule(world: World, rng: np.random.Generator) -> World:
    """Turn scores into one of 6 values; 4 and 5 are alerts."""
    cuts = (*RULE_CUTS, world.threshold, world.threshold + RULE_TOP)
    scores = np.searchsorted(cuts, world.scores, side="right").astype(np.float64)
    return replace(world, scores=scores, threshold=float(len(RULE_CUTS) + 1))


def _wrong(world: World, rng: np.random.Generator) -> World:
    """Make some of the labels wrong that investigations give."""
    of_events, of_others = WRONG[world.name]
    flipped = rng.random(len(world.y_true)) < np.where(world.y_true == 1, of_events, of_others)
    return replace(world, observed=np.where(flipped, 1.0 - world.y_true, world.y_true))


CHANGES: dict[str, Callable[[World, np.random.Generator], World]] = {
    "ties 20": _in_steps,
    "ties 6": _by_rule,
    **dict.fromkeys(WRONG, _wrong),
}
