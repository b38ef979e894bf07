"""Do the 90 % limits of events that two or three detectors all missed hold the truth?

    two detectors:   recalls .6 and .4               Chapman's estimate
    three detectors: recalls .6, .5 and .4           Chao's lower bound, and independent detectors

8, 30 or 150 events, of which each detector finds some:

    independent    whatever the event
    hard events    the log-odds of being found by any detector are shifted by normal(0, 1.5^2)
    complementary  each detector is good at its own kind of event (recall .8, elsewhere .3)

Limits are for the events at hand. "shown" is `missed` itself, where the check of dependence has
left a limit open if it spoke. Recalls of hard events are .6, .5 and .4 at shift 0.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from experiments.frame import Comparison, Progress, over_repeats
from scarce.missed.detectors import MissedByAll, missed_by_all

TITLE = "Coverage of 90 % limits of events that several detectors all missed"
SEED = 7005
EVENTS = (8, 30, 150)
RECALLS = {"two": (0.6, 0.4), "three": (0.6, 0.5, 0.4)}
WORLDS = ("independent", "hard events", "complementary")
NOMINAL = "Nominal: at least .90, as limits are those of exact tests."
WHY = {
    "independent": NOMINAL,
    "hard events": "The assumption does not hold: too few are estimated.",
    "complementary": "The assumption does not hold: too many are estimated.",
}

Flags = NDArray[np.bool_]


def draw(world: str, recalls: tuple[float, ...], events: int, rng: np.random.Generator) -> Flags:
    """Return which detector finds which event."""
    chance = np.tile(recalls, (events, 1))
    if world == "hard events":
        chance = expit(logit(chance) + 1.5 * rng.normal(size=(events, 1)))
    if world == "complementary":
        kind = rng.integers(len(recalls), size=events)
        chance = np.where(kind[:, None] == np.arange(len(recalls)), 0.8, 0.3)
    return np.asarray(rng.random(chance.shape) < chance)


def trial(
    world: str, recalls: tuple[float, ...], events: int, rng: np.random.Generator
) -> tuple[int, MissedByAll]:
    """Return how many events all detectors missed, and what is said of them."""
    found = draw(world, recalls, events, rng)
    alert = found.any(axis=1)
    return int((~alert).sum()), missed_by_all(found[alert], random_state=rng)


def share(quantity: str, hits: list[bool], why: str) -> Comparison:
    """Make a row from yes and no; its error is not 0 when all say yes (Agresti and Coull)."""
    smooth = (sum(hits) + 2.0) / (len(hits) + 4.0)
    error = float(np.sqrt(smooth * (1.0 - smooth) / (len(hits) + 4.0)))
    return Comparison(quantity, None, float(np.mean(hits)), error, len(hits), why)


def rows_of(name: str, world: str, trials: list[tuple[int, MissedByAll]]) -> list[Comparison]:
    """Return what happened in one cell."""
    why = WHY[world]
    rows = []
    for method in (*trials[0][1].estimates, "shown"):
        each = [
            (missed, said.missed if method == "shown" else said.estimates[method])
            for missed, said in trials
        ]
        where = f"{name}: {method}"
        rows += [
            share(
                f"{where}, coverage", [one.low <= missed <= one.high for missed, one in each], why
            ),
            share(f"{where}, truth above", [missed > one.high for missed, one in each], why),
            share(f"{where}, truth below", [missed < one.low for missed, one in each], why),
        ]
        if method != "shown":
            off = [one.value - missed for missed, one in each if np.isfinite(one.value)]
            rows.append(over_repeats(f"{where}, estimate - truth", None, off, "Ideal: 0."))
    open_end = [np.isinf(said.missed.high) for _, said in trials]
    rows.append(share(f"{name}: no upper limit", open_end, "No overlap, or dependence."))
    width = [said.recall.width for _, said in trials]
    rows.append(over_repeats(f"{name}: width of recall", None, width, "As shown."))
    if len(trials[0][1].recalls) > 2:
        for code in ("dependent-detectors", "complementary-detectors"):
            spoke = [code in [one.code for one in said.remarks] for _, said in trials]
            rows.append(
                share(
                    f"{name}: {code}", spoke, "If detectors are independent: at most .10 for both."
                )
            )
    return rows


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Simulate every cell."""
    repeats = 40 if quick else 1000
    table: list[Comparison] = []
    for world in WORLDS:
        for number, recalls in RECALLS.items():
            for events in EVENTS:
                name = f"{world}, {number} detectors, {events} events"
                progress(name)
                rng = np.random.default_rng([SEED, WORLDS.index(world), len(recalls), events])
                trials = [trial(world, recalls, events, rng) for _ in range(repeats)]
                table += rows_of(name, world, trials)
    return table
