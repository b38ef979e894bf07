"""Do 90 % intervals of the AUC hold the truth with 5, 20 and 100 events, ties, and an AUC near 1?

    python -m experiments.intervals.auc [repeats]        writes auc.md beside this file

Others: 200 rows, normal(0, 1) unless said otherwise. Events: normal with the same, three times or a
third of the standard deviation; exponential, against exponential others; a mixture in which a share
of events is found for certain and the rest ranks at random; normal ones rounded to five values.
Compared: `scarce.evaluation.ranking.auc`; DeLong's variance (1988) on the log-odds scale; and what
scarce did before, a bootstrap that added an unseen event and an unseen other row at the very ends.
"""

from __future__ import annotations

import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit, ndtr, ndtri

from scarce.evaluation.ranking import auc

Array = NDArray[np.float64]
Interval = tuple[float, float]
World = Callable[[np.random.Generator, int, float], tuple[Array, Array]]

OTHERS = 200
EVENTS = (5, 20, 100)
AUCS = (0.6, 0.8, 0.95, 0.99)
CUTS = np.array([-0.5, 0.5, 1.2, 2.0])
Z = float(ndtri(0.95))


def normal(scale: float) -> World:
    """Return a world of normal scores, those of events with another standard deviation."""

    def draw(rng: np.random.Generator, m: int, area: float) -> tuple[Array, Array]:
        shift = np.hypot(1, scale) * ndtri(area)
        return rng.normal(shift, scale, m), rng.normal(size=OTHERS)

    return draw


def exponential(rng: np.random.Generator, m: int, area: float) -> tuple[Array, Array]:
    """Exponential scores of both classes."""
    return rng.exponential(area / (1 - area), m), rng.exponential(1.0, OTHERS)


def mixture(rng: np.random.Generator, m: int, area: float) -> tuple[Array, Array]:
    """Some events are found for certain, the others rank at random."""
    sure = rng.random(m) < 2 * area - 1
    return rng.normal(size=m) + 20.0 * sure, rng.normal(size=OTHERS)


def ties(rng: np.random.Generator, m: int, area: float) -> tuple[Array, Array]:
    """Five different scores."""
    events, others = normal(1.0)(rng, m, area)
    return np.digitize(events, CUTS) * 1.0, np.digitize(others, CUTS) * 1.0


WORLDS: dict[str, World] = {
    "normal": normal(1.0),
    "events 3 times as wide": normal(3.0),
    "events a third as wide": normal(1 / 3),
    "exponential": exponential,
    "mixture": mixture,
    "five values": ties,
}


def truth(name: str, area: float) -> float:
    """Return the AUC of a world."""
    if name != "five values":
        return area
    below = np.concatenate([[0.0], ndtr(CUTS), [1.0]])
    share = np.diff(np.concatenate([[0.0], ndtr(CUTS - np.sqrt(2) * ndtri(area)), [1.0]]))
    return float(share @ (below[:-1] + np.diff(below) / 2))


def placements(events: Array, others: Array) -> tuple[Array, Array]:
    """Return V of each event and U of each other row."""

    def below(x: Array, ladder: Array) -> Array:
        ladder = np.sort(ladder)
        sides = [np.searchsorted(ladder, x, side) for side in ("left", "right")]
        return np.asarray(sum(sides) / (2 * len(ladder)))

    return below(events, others), 1 - below(others, events)


def now(events: Array, others: Array, rng: np.random.Generator) -> Interval:
    """Return the interval of scarce."""
    y = np.repeat([1, 0], [len(events), len(others)])
    found = auc(y, np.concatenate([events, others]), random_state=rng)
    return found.low, found.high


def delong(events: Array, others: Array, rng: np.random.Generator) -> Interval:
    """Return DeLong's interval on the log-odds scale."""
    v, u = placements(events, others)
    area = float(v.mean())
    variance = v.var(ddof=1) / len(v) + u.var(ddof=1) / len(u)
    if area in (0, 1) or variance == 0:
        return area, area
    reach = Z * np.sqrt(variance) / (area * (1 - area))
    return float(expit(logit(area) - reach)), float(expit(logit(area) + reach))


def before(events: Array, others: Array, rng: np.random.Generator) -> Interval:
    """Return the interval of scarce before: unseen rows of both classes at the very ends."""
    sides = placements(events, others)
    area = float(sides[0].mean())
    drawn = []
    for x in sides:
        weight = rng.standard_exponential((1000, len(x)))
        drawn.append((weight @ x, weight.sum(axis=1), rng.standard_exponential(1000)))
    ends = []
    for end, tail in ((0.0, 0.05), (1.0, 0.95)):
        means = [(held + extra * end) / (total + extra) for held, total, extra in drawn]
        ends.append(float(np.clip(np.quantile(sum(means) - area, tail), 0, 1)))
    return min(ends[0], area), max(ends[1], area)


METHODS: dict[str, Any] = {"now": now, "before": before, "DeLong": delong}


def measure(repeats: int) -> str:
    """Return a table of coverage and mean width."""
    lines = [
        "# Coverage of 90 % intervals of the AUC",
        "",
        f"{repeats} draws for each row; {OTHERS} rows without an event. Coverage and mean width;",
        "made by `python -m experiments.intervals.auc`. DeLong: on the log-odds scale.",
        "",
        "| scores | AUC | events | "
        + " | ".join(f"{name}: holds | width" for name in METHODS)
        + " |",
        "|---|---|---|" + "---|---|" * len(METHODS),
    ]
    worst = dict.fromkeys(METHODS, 1.0)
    for name, draw in WORLDS.items():
        for area in AUCS:
            for m in EVENTS:
                rng = np.random.default_rng([m, int(1000 * area)])
                true = truth(name, area)
                held, width = dict.fromkeys(METHODS, 0), dict.fromkeys(METHODS, 0.0)
                for _ in range(repeats):
                    events, others = draw(rng, m, area)
                    for method, interval in METHODS.items():
                        low, high = interval(events, others, rng)
                        held[method] += low - 1e-12 <= true <= high + 1e-12
                        width[method] += high - low
                cells = [
                    f"{held[one] / repeats:.2f} | {width[one] / repeats:.3f}" for one in METHODS
                ]
                worst = {one: min(worst[one], held[one] / repeats) for one in METHODS}
                lines.append(f"| {name} | {true:.3f} | {m} | {' | '.join(cells)} |")
    least = ", ".join(f"{one} {value:.2f}" for one, value in worst.items())
    return "\n".join([*lines, "", f"Least coverage: {least}.", ""])


if __name__ == "__main__":
    wanted = int(sys.argv[1]) if len(sys.argv) > 1 else 400
    Path(__file__).with_suffix(".md").write_text(measure(wanted), encoding="utf-8")
