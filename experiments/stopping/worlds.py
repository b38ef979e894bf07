"""Worlds of scores in which labelling is to stop, and the draws of checks in them.

    5,000 rows, the 100 greatest scores are alerts; checks in 9 strata of ranks below, in steps of
    10, in proportion to wishes that follow what was found so far

Every world is drawn anew for each repeat.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import isotonic_regression
from scipy.special import logsumexp

from scarce.missed.stopping import HALF, Bets, evidence, most_events, planned_bets, read_checks
from scarce.missed.strata import Cells, stratum_ends

Array = NDArray[np.float64]
ROWS, ALERTS, STRATA, STEP, LOOKS = 5000, 100, 9, 10, 150


def normal(
    rng: np.random.Generator, share: float = 0.02, apart: float = 2.0
) -> tuple[Array, Array]:
    """Events score higher by `apart` standard deviations."""
    events = rng.random(ROWS) < share
    return rng.normal(size=ROWS) + apart * events, events.astype(np.float64)


def weak(rng: np.random.Generator) -> tuple[Array, Array]:
    """A ranking that finds little."""
    return normal(rng, 0.03, 1.0)


def invisible(rng: np.random.Generator) -> tuple[Array, Array]:
    """A third of the events score as other rows do."""
    scores, events = normal(rng, 0.02, 2.5)
    blind = (events == 1) & (rng.random(ROWS) < 1 / 3)
    return np.where(blind, rng.normal(size=ROWS), scores), events


def ties(rng: np.random.Generator) -> tuple[Array, Array]:
    """Scores of which few differ; the threshold falls between two of them."""
    scores, events = normal(rng)
    return np.round(4 * scores) / 4, events


def flat(rng: np.random.Generator) -> tuple[Array, Array]:
    """Every row below the alerts is an event with the same probability."""
    scores = rng.normal(size=ROWS)
    alert = scores >= np.sort(scores)[-ALERTS]
    return scores, (rng.random(ROWS) < np.where(alert, 0.6, 0.006)).astype(np.float64)


def edge(rng: np.random.Generator) -> tuple[Array, Array]:
    """Missed events lie right below the threshold, and nowhere else."""
    scores = rng.normal(size=ROWS)
    rank = np.argsort(np.argsort(-scores))
    share = np.where(rank < ALERTS, 0.6, np.where(rank < 3 * ALERTS, 0.2, 0.0))
    return scores, (rng.random(ROWS) < share).astype(np.float64)


def few(rng: np.random.Generator) -> tuple[Array, Array]:
    """A handful of events."""
    return normal(rng, 0.003, 2.5)


def clump(rng: np.random.Generator) -> tuple[Array, Array]:
    """A clump of events deep below the threshold: not in order."""
    scores, events = normal(rng, 0.015, 2.5)
    deep = rng.random(ROWS) < 0.006
    return np.where(deep, 0.1 * rng.normal(size=ROWS) - 0.3, scores), np.maximum(events, deep)


def rising(rng: np.random.Generator) -> tuple[Array, Array]:
    """Below the threshold, the lowest scores are events most often: against the order."""
    scores = rng.normal(size=ROWS)
    rank = np.argsort(np.argsort(-scores)) / ROWS
    share = np.where(rank < ALERTS / ROWS, 0.6, 0.002 + 0.008 * rank)
    return scores, (rng.random(ROWS) < share).astype(np.float64)


World = Callable[[np.random.Generator], tuple[Array, Array]]
IN_ORDER: dict[str, World] = {
    "normal": normal,
    "weak": weak,
    "a third invisible": invisible,
    "ties": ties,
    "flat below": flat,
    "edge": edge,
    "few events": few,
}
NOT_IN_ORDER: dict[str, World] = {"clump": clump, "rising": rising}


class Run(NamedTuple):
    """One sequence of checks, seen after every STEP labels."""

    seen: float
    rows: Array  # per stratum
    events: Array
    drawn: Array  # (looks, strata)
    found: Array
    bets: Bets

    def cells(self, look: int) -> Cells:
        """What is known at a look."""
        frame = np.zeros(len(self.rows), np.int64)
        return Cells(self.rows, self.drawn[look], self.found[look], frame)

    def most(self, look: int, confidence: float, ordered: bool) -> int:
        """Greatest number of missed events that is not excluded at a look."""
        most = most_events(self.cells(look), self.bets, confidence, ordered=ordered)
        if most is None:
            most = most_events(self.cells(look), self.bets, confidence, ordered=False)
        return int(most or 0)

    def excluded(self, confidence: float, ordered: bool) -> bool:
        """Whether the true number of missed events was excluded at any look.

        Where the truth, or numbers near it that are in order and no fewer, has too little evidence
        against it, it is not excluded: only the other looks are computed.
        """
        for look in range(len(self.drawn)):
            events = self.events.copy()
            part = self.drawn[look] <= HALF * self.rows
            if ordered and part.any():
                rows = self.rows[part]
                share = isotonic_regression(events[part] / rows, weights=rows, increasing=False).x
                least = np.maximum.accumulate((self.found[look][part] / rows)[::-1])[::-1]
                events[part] = np.maximum(share, least) * rows
            level, slope = evidence(self.cells(look), self.bets)
            against = float(logsumexp(level + slope @ (events - self.found[look])))
            if against < -np.log1p(-confidence):
                continue
            if self.most(look, confidence, ordered) < self.events.sum():
                return True
        return False

    def labels_for(self, target: float, confidence: float, ordered: bool) -> float:
        """Labels of checks until a recall of `target` is proven; one more step where it is not."""
        low, high = -1, len(self.drawn)
        while high - low > 1:
            at = (low + high) // 2
            most = self.most(at, confidence, ordered)
            low, high = (low, at) if self.seen / (self.seen + most) >= target else (at, high)
        return STEP * (high + 1.0)


def run_of(world: World, rng: np.random.Generator) -> Run | None:
    """Draw a world and its checks; None where no alert is an event."""
    scores, truth = world(rng)
    order = np.argsort(-scores, kind="stable")
    scores, truth = scores[order], truth[order]
    alerts = int(np.searchsorted(-scores, -scores[ALERTS - 1], side="right"))
    seen = float(truth[:alerts].sum())
    if seen == 0:
        return None
    ends = alerts + stratum_ends(ROWS - alerts, STEP * STRATA, STRATA)
    chance = np.ones(ROWS)
    for h, (low, high) in enumerate(zip([alerts, *ends[:-1]], ends, strict=True)):
        chance[low:high] = 0.5 / (h + 1)  # marks the strata; their sizes are all that is read
    labels = np.where(np.arange(ROWS) < alerts, truth, np.nan)
    checks = read_checks(scores, labels, chance, float(scores[alerts - 1]))
    rows, bets = checks.cells.rows, planned_bets(checks)
    edges = alerts + np.concatenate([[0], np.cumsum(rows)]).astype(np.int64)
    parts = [rng.permutation(truth[a:b]) for a, b in pairwise(edges.tolist())]
    drawn, found = _draw(parts, rows / bets.size[0], rng)
    return Run(seen, rows, np.array([part.sum() for part in parts]), drawn, found, bets)


def _draw(parts: list[Array], wish: Array, rng: np.random.Generator) -> tuple[Array, Array]:
    """Numbers drawn and found at each look; strata in which events were found get more."""
    size = np.array([len(part) for part in parts])
    count = np.zeros(len(parts), np.int64)
    drawn, found = [], []
    sums = [np.concatenate([[0.0], np.cumsum(part)]) for part in parts]
    for _ in range(LOOKS):
        hit = np.array([one[n] for one, n in zip(sums, count, strict=True)])
        weight = wish * np.sqrt((hit + 5.0) / (count + 50.0)) * (count < size)
        if weight.sum() == 0:
            break
        count = np.minimum(count + rng.multinomial(STEP, weight / weight.sum()), size)
        drawn.append(count.astype(np.float64))
        found.append([one[n] for one, n in zip(sums, count, strict=True)])
    return np.array(drawn), np.array(found)


def runs(world: World, count: int, seed: int) -> Iterator[Run]:
    """Return as many runs, each with a world of its own."""
    rng = np.random.default_rng(seed)
    made = 0
    while made < count:
        one = run_of(world, rng)
        if one is not None:
            made += 1
            yield one
