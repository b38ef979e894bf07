"""What does estimate_share say where label shift does not hold, or little is known?

    python -m experiments.base_rates.broken          writes broken.md

Scores of two classes are normal, 2 standard deviations apart; 1,000 validation rows have 10 % of
events, 500 rows of today's 25 %, and one thing differs in each line. For each: how often the 90 %
interval holds the base rate that today's rows are drawn at, how often the test speaks at 5 %, how
often the record says that the test is weak or that rows are few, and how often the interval is
wrong and nothing of all this is said. Standard errors are below each table.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from scarce import estimate_share

Array = NDArray[np.float64]

SEED = 8042
REPEATS = 200
APART, BEFORE = 2.0, 0.1
POOL = 200_000  # rows from which those of a covariate shift are drawn


@dataclass(frozen=True)
class World:
    """What differs today.

    Parameters
    ----------
    rows : int
        Today's.
    events : int
        Validation events; there are nine times as many others.
    share : float
        Base rate today.
    event, both : float
        What is added to the scores of events, and of all rows.
    wider : float
        Standard deviation of the scores of events.
    drawn : str
        "high" or "middle": no label shift but a covariate shift, which prefers such scores.
    clump : int
        Rows of a group, which share their class and half of the variance of their scores.
    told : bool
        Whether the groups are given.
    """

    rows: int = 500
    events: int = 100
    share: float = 0.25
    event: float = 0.0
    both: float = 0.0
    wider: float = 1.0
    drawn: str = ""
    clump: int = 1
    told: bool = True


PLAIN = World()
TABLES: dict[str, dict[str, World]] = {
    "Label shift holds; few rows": {
        "as above": PLAIN,
        "30 validation events": replace(PLAIN, events=30),
        "12 validation events": replace(PLAIN, events=12),
        "40 rows today": replace(PLAIN, rows=40),
        "20 rows today": replace(PLAIN, rows=20),
        "10 rows today": replace(PLAIN, rows=10),
        "5 rows today": replace(PLAIN, rows=5),
        "2 rows today": replace(PLAIN, rows=2),
    },
    "Label shift holds; today's rows in clumps": {
        "100 clumps of 5, groups given": replace(PLAIN, clump=5),
        "100 clumps of 5, groups not given": replace(PLAIN, clump=5, told=False),
        "25 clumps of 20, groups given": replace(PLAIN, clump=20),
        "25 clumps of 20, groups not given": replace(PLAIN, clump=20, told=False),
        "8 clumps of 60, groups given": replace(PLAIN, rows=480, clump=60),
        "8 clumps of 60, groups not given": replace(PLAIN, rows=480, clump=60, told=False),
    },
    "Events score lower than in validation": {
        "by .25 standard deviations": replace(PLAIN, event=-0.25),
        "by .5": replace(PLAIN, event=-0.5),
        "by 1": replace(PLAIN, event=-1.0),
        "by .5, 30 validation events": replace(PLAIN, event=-0.5, events=30),
        "by .5, 12 validation events": replace(PLAIN, event=-0.5, events=12),
        "by .5, 40 rows today": replace(PLAIN, event=-0.5, rows=40),
        "by .5, 5,000 rows today": replace(PLAIN, event=-0.5, rows=5000, events=500),
        "by nothing, but vary 1.5 times as much": replace(PLAIN, wider=1.5),
    },
    "All scores are higher": {
        "by .25 standard deviations": replace(PLAIN, both=0.25),
        "by .5": replace(PLAIN, both=0.5),
        "by 1": replace(PLAIN, both=1.0),
        "by .5, 30 validation events": replace(PLAIN, both=0.5, events=30),
        "by .5, 12 validation events": replace(PLAIN, both=0.5, events=12),
        "by .5, 40 rows today": replace(PLAIN, both=0.5, rows=40),
        "by .5, 10 rows today": replace(PLAIN, both=0.5, rows=10),
        "by .25, 5,000 rows today": replace(PLAIN, both=0.25, rows=5000, events=500),
    },
    "Covariate shift: a score means the same, but rows are chosen by it": {
        "high scores preferred": replace(PLAIN, drawn="high"),
        "high scores preferred, 40 rows today": replace(PLAIN, drawn="high", rows=40),
        "scores in the middle preferred": replace(PLAIN, drawn="middle"),
        "scores in the middle preferred, 40 rows today": replace(PLAIN, drawn="middle", rows=40),
    },
}


def calibrated(score: Array) -> Array:
    """Return the probability of an event in validation."""
    return np.asarray(expit(logit(BEFORE) + APART * score - APART**2 / 2))


def preference(score: Array, kind: str) -> Array:
    """Return how likely a row is to be among today's, up to a factor."""
    return np.asarray(np.exp(0.5 * score if kind == "high" else -((score - APART / 2) ** 2)))


def today(world: World, rng: np.random.Generator) -> tuple[Array, NDArray[np.intp], float]:
    """Return today's scores, their groups, and the base rate."""
    n = world.rows
    if world.drawn:
        y = rng.random(POOL) < BEFORE
        score = rng.normal(size=POOL) + APART * y
        weight = preference(score, world.drawn)
        rows = rng.choice(POOL, n, p=weight / weight.sum())
        return score[rows], np.arange(n), float(weight @ y / weight.sum())
    group = np.arange(n) // world.clump
    y = (rng.random(group.max() + 1) < world.share)[group]
    noise = rng.normal(size=n)
    if world.clump > 1:
        noise = (noise + rng.normal(size=group.max() + 1)[group]) / np.sqrt(2)
    score = noise * np.where(y, world.wider, 1.0) + (APART + world.event) * y + world.both
    return score, group, world.share


def said(world: World, seed: list[int]) -> tuple[bool, bool, bool, bool]:
    """Return whether the interval held, the test spoke, a warning was given, all was silent."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [9 * world.events, world.events])
    score, group, truth = today(world, rng)
    found = estimate_share(
        calibrated(score),
        validation=(y, calibrated(rng.normal(size=len(y)) + APART * y)),
        trained_at=BEFORE,
        groups=group if world.clump > 1 and world.told else None,
        resamples=400,
    )
    held, spoke = truth in found.share, found.is_label_shift is False
    apart = {"not-label-shift", "probabilities-off"}  # the test's own, and one of no change
    warned = bool({getattr(one, "code", "") for one in found.remarks} - apart)
    return held, spoke, warned, not (held or spoke or warned)


def lines_of(title: str, worlds: dict[str, World], number: int, repeats: int) -> list[str]:
    """Return the lines of a table."""
    lines = [
        f"## {title}",
        "",
        "| today | interval holds | test speaks | other remark | wrong and silent |",
        "| --- | ---: | ---: | ---: | ---: |",
    ]
    errors = []
    for place, (name, world) in enumerate(worlds.items()):
        print(name, file=sys.stderr)
        each = [said(world, [SEED, number, place, one]) for one in range(repeats)]
        parts = np.mean(np.array(each, dtype=float), axis=0)
        errors.append(np.sqrt(parts * (1 - parts) / repeats))
        lines.append(f"| {name} | " + " | ".join(f"{part:.3f}" for part in parts) + " |")
    most = np.max(errors)
    return [*lines, "", f"{repeats} tables each; standard errors at most {most:.3f}.", ""]


def page(repeats: int = REPEATS) -> str:
    """Return the page."""
    lines = [
        "# Today's base rate where label shift does not hold, or little is known",
        "",
        "`python -m experiments.base_rates.broken`: 90 % intervals, test at 5 %. Two classes, 2 "
        "standard deviations apart; 900 and 100 validation rows, 500 rows today of which 25 % are "
        "events, unless a line says otherwise. Other remark: the test is weak, rows are few, or "
        "the classes are not told apart.",
        "",
    ]
    for number, (title, worlds) in enumerate(TABLES.items()):
        lines += lines_of(title, worlds, number, repeats)
    return "\n".join(lines)


def main() -> None:
    """Write the page."""
    text = page()
    Path(__file__).with_name("broken.md").write_text(text, encoding="utf-8")
    print(text)


if __name__ == "__main__":
    main()
