"""How often is one of several equally good models called worse, and is a better one still found?

    log odds of a row  = base + normal(0, 1);    of model k = that + noise_k

Noise of standard deviation .5, independent between models or 95 % of its variance in common. In a
world with a better model, that one has half the noise. In groups of 10 all rows of a group have the
same log odds and the same noise. "Before": the 90 % interval of the difference from the best, one
model at a time. The constant forecast takes part, and is not counted. "Optimism" is how far the
least loss lies below that of equal models on average, beside what `compare` says of it.

    python -m experiments.choosing.run       writes results.json and results.md beside this file
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from experiments.frame import FOLDER, Comparison, Progress, results_of, write_results
from scarce.bootstrap import Resampling
from scarce.evaluation.compare import CONSTANT, loss_difference, verdict_of
from scarce.evaluation.scores import Forecasts

Array = NDArray[np.float64]

TITLE = "Models called worse than the best of several, at 90 %"
SEED = 1711
NOISE = 0.5
REPEATS, QUICK = 400, 3
BEFORE = 100  # repeats in which models are also compared one at a time


class World(NamedTuple):
    """Models and rows: how many, at which base log odds, in groups of which size."""

    models: int
    rows: int
    base: float
    shared: float = 0.0  # of the variance of the noise, what all models have in common
    group: int = 1
    better: bool = False  # whether the first model has half the noise


WORLDS = {
    "8 equal, 6 events": World(8, 120, -3.4),
    "8 equal, 12 events": World(8, 240, -3.4),
    "8 equal, 100 events": World(8, 500, -1.7),
    "8 equal, 100 events in groups of 10": World(8, 500, -1.7, group=10),
    "8 alike, 6 events": World(8, 120, -3.4, shared=0.95),
    "8 alike, 12 events": World(8, 240, -3.4, shared=0.95),
    "8 alike, 100 events": World(8, 500, -1.7, shared=0.95),
    "8 alike, 100 events in groups of 10": World(8, 500, -1.7, shared=0.95, group=10),
    "2 equal, 100 events": World(2, 500, -1.7),
    "1 better of 2, 100 events": World(2, 500, -1.7, better=True),
    "1 better of 8, 100 events": World(8, 500, -1.7, better=True),
    "1 better of 8, 300 events": World(8, 1500, -1.7, better=True),
}


class Drawn(NamedTuple):
    """Outcomes, probabilities by name, and groups."""

    y: NDArray[np.int64]
    probs: dict[str, Array]
    groups: NDArray[np.int64] | None


def draw(world: World, rng: np.random.Generator) -> Drawn:
    """Draw rows of both classes and what each model says of them."""
    count = world.rows // world.group

    def normal() -> Array:
        return np.repeat(rng.normal(size=count), world.group)

    odds = world.base + normal()
    common = normal()
    probs = {}
    for k in range(world.models):
        noise = np.sqrt(world.shared) * common + np.sqrt(1 - world.shared) * normal()
        scale = NOISE / 2 if world.better and k == 0 else NOISE
        probs[f"m{k}"] = expit(odds + scale * noise)
    y = (rng.random(world.rows) < expit(odds)).astype(np.int64)
    groups = np.repeat(np.arange(count), world.group) if world.group > 1 else None
    return Drawn(y, probs, groups) if 0 < y.sum() < len(y) else draw(world, rng)


def look(world: World, rng: np.random.Generator, before: bool) -> dict[str, float]:
    """Compare once: whether an equal model is called worse, whether the better one is found."""
    rows = draw(world, rng)
    held = {
        name: Forecasts.read(rows.y, prob, groups=rows.groups) for name, prob in rows.probs.items()
    }
    flat = np.full(len(rows.y), rows.y.mean())
    found = verdict_of(held | {CONSTANT: replace(held["m0"], prob=flat)}, "log", Resampling.read())
    kept = [name for name in found.confidence_set if name != CONSTANT]
    out = {"now": float(kept == ["m0"] if world.better else len(kept) < world.models)}
    best = min(held, key=lambda name: _loss(held[name]))
    if before:
        alone = [
            loss_difference(rows.y, rows.probs[name], rows.probs[best], groups=rows.groups).low > 0
            for name in held
            if name != best
        ]
        out["before"] = float(all(alone) and best == "m0" if world.better else any(alone))
    if world.better:
        out["kept"] = float("m0" in kept)
    else:
        out["said"] = found.optimism
        out["gain"] = float(np.mean([_loss(one) for one in held.values()])) - _loss(held[best])
    return out


def _loss(rows: Forecasts) -> float:
    return float(-np.log(np.where(rows.place == 1, rows.prob, 1 - rows.prob)).mean())


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Measure every world."""
    repeats, rows = QUICK if quick else REPEATS, []
    for number, (name, world) in enumerate(WORLDS.items()):
        progress(name)
        seen = [
            look(world, np.random.default_rng([SEED, number, one]), before=one < BEFORE)
            for one in range(repeats)
        ]
        what = "only the better one is kept" if world.better else "one is called worse"
        for when in ("before", "now"):
            why = "One model at a time." if when == "before" else "Nominal: at most .1."
            if world.better:
                why = "Power: the more often, the better."
            rows.append(
                _share(f"{name}: {what}, {when}", [one[when] for one in seen if when in one], why)
            )
        if world.better:
            kept = [one["kept"] for one in seen]
            rows.append(_share(f"{name}: the better one is kept", kept, "Nominal: at least .9."))
        else:
            for what, key, why in (
                ("optimism", "gain", "Mean loss of the equal models less the least."),
                ("optimism as said", "said", "By resamples; the constant is chosen among, too."),
            ):
                rows.append(_mean(f"{name}: {what}", [one[key] for one in seen], why))
    return rows


def _share(quantity: str, seen: list[float], why: str) -> Comparison:
    """Share of repeats; its standard error is never 0."""
    n = len(seen)
    share = (sum(seen) + 1) / (n + 2)
    return Comparison(quantity, None, sum(seen) / n, np.sqrt(share * (1 - share) / n), n, why)


def _mean(quantity: str, seen: list[float], why: str) -> Comparison:
    """Mean over repeats; few repeats may understate its error, so their spread is at least half."""
    mean, spread = float(np.mean(seen)), float(np.std(seen, ddof=1))
    error = max(spread, abs(mean) / 2) / np.sqrt(len(seen))
    return Comparison(quantity, None, mean, error, len(seen), why)


if __name__ == "__main__":
    found = results_of("choosing", TITLE, SEED, run(False, lambda text: print(text, flush=True)))
    write_results(found, FOLDER / "choosing")
