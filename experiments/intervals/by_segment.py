"""Do figures by segment and over time hold what they say? Coverage, false alarms and power.

    python -m experiments.intervals.by_segment [repeats]      writes by_segment.md beside this file

Worlds: segments of equal size, log odds normal(m, 1), where m gives the number of events of a
segment; in "mixed" ones segments also differ in m, which the probabilities know. "Misjudged":
probabilities are overconfident (log odds times 1.6) and too high everywhere. "Groups": ten rows of
one segment share a normal(0, 2) amount of log odds that the probabilities do not know.
"Spanning": groups of ten rows at random times. "Weighted": weights 1 and 5, unrelated to the rest.
"Drawn": the 5 % of rows with the greatest probabilities are labelled, of the others a share.
True log odds are moved by `odd` in the first segment, by normal(0, `spread`) in each, or by
`change` from two thirds of the periods on. A flag is a false alarm where nothing was moved.
"""

from __future__ import annotations

import sys
from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.optimize import brentq
from scipy.special import expit, logit

from scarce.bootstrap import Resampling, read_sample
from scarce.evaluation.differences import Segmented, standing_out
from scarce.evaluation.over_time import change_tests, trend_of
from scarce.evaluation.scores import Forecasts, LossFigures

Array = NDArray[np.float64]
GROUP_SD = 2.0
NODES, MASS = np.polynomial.hermite_e.hermegauss(30)
MASS = MASS / MASS.sum()


@dataclass(frozen=True)
class World:
    """How rows come about; see the module."""

    name: str
    segments: int = 12
    rows: int = 200
    events: float = 12
    mixed: float = 0.0
    misjudged: bool = False
    groups: str = ""
    weighted: bool = False
    drawn: float = 0.0
    odd: float = 0.0
    spread: float = 0.0
    change: float = 0.0

    def draw(self, rng: np.random.Generator) -> tuple[Segmented, Array]:
        """Return rows, and the true rate of each segment."""
        n = self.segments * self.rows
        place = np.repeat(np.arange(self.segments), self.rows)
        eta = rng.normal(size=n) + (self.mixed * rng.normal(size=self.segments))[place]
        group, clump = None, np.zeros(n)
        if self.groups:
            group = np.arange(n) // 10
            group = rng.permutation(group) if self.groups == "spanning" else group
            clump = GROUP_SD * rng.normal(size=n)[group]

        def rate(score: Array) -> Array:
            if not self.groups:
                return np.asarray(expit(score))
            return np.asarray(expit(score[:, None] + GROUP_SD * NODES) @ MASS)

        eta += brentq(lambda m: rate(eta[::7] + m).mean() * self.rows - self.events, -20, 20)
        moved = self.spread * rng.normal(size=self.segments)
        moved[0] += self.odd
        moved[2 * self.segments // 3 :] += self.change
        true = eta + moved[place]
        y = (rng.random(n) < expit(true + clump)).astype(np.float64)
        prob = rate(eta)
        if self.misjudged:
            prob = np.asarray(expit(1.6 * logit(prob) + 1.0))
        weight = rng.choice([1.0, 5.0], n) if self.weighted else None
        sample = read_sample(np.ones(n, dtype=bool), weight, None, group)
        share = np.bincount(place, rate(true) * sample.weight) / np.bincount(place, sample.weight)
        if self.drawn:
            chance = np.where(prob >= np.quantile(prob, 0.95), 1.0, self.drawn)
            known = rng.random(n) < chance
            sample = read_sample(known, weight, np.where(known, chance, np.nan), group)
            y, prob, place = y[known], prob[known], place[known]
        return Segmented(y, prob, sample, place.astype(np.intp), self.segments), share


NULL = World("")
WORLDS = [
    *(replace(NULL, name=f"30 equal, {m} events", segments=30, events=m) for m in (3, 12)),
    replace(NULL, name="30 equal, 100 events", segments=30, rows=400, events=100),
    *(replace(NULL, name=f"12 mixed, {m} events", mixed=1.0, events=m) for m in (3, 12)),
    replace(NULL, name="12 mixed, 100 events", mixed=1.0, rows=400, events=100),
    replace(NULL, name="12 mixed, misjudged", mixed=1.0, misjudged=True),
    replace(NULL, name="12, groups within, 3 events", groups="within", events=3),
    replace(NULL, name="12, groups within, 12 events", groups="within"),
    replace(NULL, name="12, groups within, 100 events", groups="within", rows=400, events=100),
    replace(NULL, name="12, groups spanning, 12 events", groups="spanning"),
    replace(NULL, name="12 weighted, 12 events", weighted=True),
    replace(NULL, name="12, a fifth drawn, 12 events", drawn=0.2, rows=400),
    replace(NULL, name="12, a 20th drawn, 12 events", drawn=0.05, rows=1000),
]
MOVED = [
    replace(NULL, name="30, one with odds x 3, 12 events", segments=30, odd=1.1),
    replace(NULL, name="12, one with odds x 3, 3 events", odd=1.1, events=3),
    replace(NULL, name="12, one with odds x 3, 12 events", odd=1.1),
    replace(NULL, name="12, one with odds x 3, groups", odd=1.1, groups="within"),
    replace(NULL, name="12, odds x 2 from period 9 on, 3 events", change=0.7, events=3),
    replace(NULL, name="12, odds x 2 from period 9 on, 12 events", change=0.7),
    replace(NULL, name="12, odds x 2 from period 9 on, groups", change=0.7, groups="within"),
    replace(NULL, name="12, spread .5, 3 events", spread=0.5, events=3),
    replace(NULL, name="12, spread .5, 12 events", spread=0.5),
    replace(NULL, name="4, spread .5, 12 events", spread=0.5, segments=4),
    replace(NULL, name="30, spread .2, 12 events", spread=0.2, segments=30),
]


@dataclass
class Score:
    """Counts over repeats of one world."""

    flagged: float = 0.0
    first: float = 0.0
    change: float = 0.0
    near: float = 0.0
    discrimination: float = 0.0
    pooled: float = 0.0
    rate: float = 0.0
    trend: float = 0.0


PARTS = ("flags", "changes", "pooled", "rate", "trend")


def measure(
    world: World, repeats: int, parts: Sequence[str] = PARTS, resamples: int = 399
) -> Score:
    """Return shares of repeats: flags, changes and intervals that hold the truth."""
    out = Score()
    for repeat in range(repeats):
        rng = np.random.default_rng([repeat, world.segments])
        rows, truth = world.draw(rng)
        if not rows.both_classes:
            continue
        asked = Resampling.read(0.9, resamples, repeat)
        if "flags" in parts:
            _, sign = standing_out(rows, 0.9)
            out.flagged += bool((sign != 0)[1 if world.odd else 0 :].any())
            out.first += bool(sign[0] > 0)
        if "changes" in parts:
            names = [str(t) for t in range(world.segments)]
            level, spread = change_tests(rows, names, asked)
            out.change += level.found
            out.discrimination += spread.found
            if level.found and world.change:
                out.near += abs(int(level.since) - 2 * world.segments // 3) <= 1
        if "pooled" in parts:
            rates, _ = rows.pooled(0.9)
            held = [share in one for one, share in zip(rates, truth, strict=True)]
            out.pooled += float(np.mean(held))
        if "rate" in parts:
            first = rows.only(rows.segment == 0)
            outcome = first.event.astype(np.intp)
            found = LossFigures(Forecasts(outcome, first.prob, (0, 1), first.sample), asked)
            out.rate += truth[0] in found.happened(0)
        if "trend" in parts:
            out.trend += 0.0 in trend_of(rows, asked).gap
    return Score(**{name: value / repeats for name, value in vars(out).items()})


def table(repeats: int) -> str:
    """Return the tables."""
    lines = [
        "# Figures by segment and over time",
        "",
        f"{repeats} draws for each row, level .90; made by",
        "`python -m experiments.intervals.by_segment`.",
        "Events are per segment. False alarms must be at most .10, coverage about .90.",
        "",
        "Nothing differs:",
        "",
        "| world | any segment flagged | change: calibration | discrimination | "
        "pooled rate holds | rate of one segment holds | trend of gap holds 0 |",
        "|---|---|---|---|---|---|---|",
    ]
    for world in WORLDS:
        s = measure(world, repeats)
        lines.append(
            f"| {world.name} | {s.flagged:.3f} | {s.change:.3f} | {s.discrimination:.3f} | "
            f"{s.pooled:.2f} | {s.rate:.2f} | {'' if world.misjudged else f'{s.trend:.2f}'} |"
        )
    lines += [
        "",
        "Something differs:",
        "",
        "| world | first segment found | another flagged | change found | within a period of it | "
        "discrimination | pooled rate holds |",
        "|---|---|---|---|---|---|---|",
    ]
    for world in MOVED:
        s = measure(world, repeats)
        near = f"{s.near:.2f}" if world.change else ""
        first, other = (f"{s.first:.2f}", f"{s.flagged:.3f}") if world.odd else ("", "")
        lines.append(
            f"| {world.name} | {first} | {other} | {s.change:.2f} | {near} | "
            f"{s.discrimination:.2f} | {s.pooled:.2f} |"
        )
    return "\n".join([*lines, ""])


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    Path(__file__).with_suffix(".md").write_text(table(wanted), encoding="utf-8")
