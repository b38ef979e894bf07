"""Do 90 % intervals hold the truth with few events, ties, weights, groups and drawn labels?

    python -m experiments.coverage.run [repeats] [family ...] [--world NAME]

Families: scores, costs, curves, others. Writes results.md beside this file when all of them run.
"""

from __future__ import annotations

import sys
import time

import numpy as np
from numpy.typing import NDArray

from experiments.coverage.figures import FAMILIES, Held, know
from experiments.coverage.worlds import WORLDS, World

Array = NDArray[np.float64]


def measure(world: World, families: list[str], repeats: int) -> dict[str, Array]:
    """Return low, high, truth and value of each figure, (repeats, 4)."""
    know(world)
    rng = np.random.default_rng([17, len(world.name), world.n])
    found: dict[str, list[Held]] = {}
    for _ in range(repeats):
        rows = world.draw(rng)
        for family in families:
            for name, one in FAMILIES[family](rows, world).items():
                found.setdefault(name, []).append(one)
    return {name: np.array(held, dtype=float) for name, held in found.items()}


def summary(table: Array) -> tuple[float, float, float]:
    """Return coverage where there is an interval, share refused, and median width."""
    low, high, truth, _ = table.T
    known = np.isfinite(low) & np.isfinite(high)
    if not known.any():
        return np.nan, 1.0, np.nan
    slack = 1e-12 * np.abs(truth) + 1e-15
    inside = (low - slack <= truth) & (truth <= high + slack)
    return (
        float(inside[known].mean()),
        float(1 - known.mean()),
        float(np.median((high - low)[known])),
    )


if __name__ == "__main__":
    words = sys.argv[1:]
    only = words[words.index("--world") + 1 :] if "--world" in words else None
    words = words[: words.index("--world")] if "--world" in words else words
    repeats = int(words[0]) if words else 400
    families = words[1:] or list(FAMILIES)
    worlds = [w for w in WORLDS if only is None or w.name in only]
    tables = {}
    for world in worlds:
        start = time.process_time()
        tables[world.name] = {n: summary(t) for n, t in measure(world, families, repeats).items()}
        print(world.name, f"{time.process_time() - start:.1f} s", file=sys.stderr, flush=True)
    names = list(dict.fromkeys(n for t in tables.values() for n in t))
    print("| figure | " + " | ".join(tables) + " |")
    for n in names:
        cells = []
        for t in tables.values():
            c, r, w = t.get(n, (np.nan,) * 3)
            cells.append(f"{c:.2f} {w:.3g}" + (f" ({r:.0%})" if r else ""))
        print(f"| {n} | " + " | ".join(cells) + " |", flush=True)
