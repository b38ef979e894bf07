"""When may labelling stop, and what does the proof cost?

    checks   5,000 rows, 9 worlds of scores, looks after every 10 checks up to 1,500: how often is
             the true number of missed events ever excluded at 95 %, and how many checks prove a
             recall that is half as far from 1 as it could be: found / (found + 2 missed + 2)?
    review   simulated and real rankings, recall of .75 and .90 at 95 %: labels of `stop_when`
             beside those of QBCB (Lewis, Yang and Frieder 2021) with 30 and 50 sampled events, over
             the same draws, and how often a rule ended with the recall that it claims

A rule may look after every label; its first stop is what counts. Labels are those of the sample and
of the review, each row once. Worlds and rankings: worlds.py, rankings.py. The number of events in
the sample, the sizes of bets and the weights of plans were chosen on other seeds.
"""

from __future__ import annotations

from pathlib import Path

import numpy as np
from numpy.typing import NDArray

from experiments.frame import Comparison, Progress, Results, over_repeats, write_results
from experiments.stopping.page import page_of
from experiments.stopping.rankings import APART, FOLDER, RULES, TOPICS, ratio, simulated, texts
from experiments.stopping.worlds import IN_ORDER, NOT_IN_ORDER, World, runs

Array = NDArray[np.float64]

TITLE = "Stopping: how often a proof is wrong, and what it costs"
SEED = 20_211
LONG = True
CONFIDENCE = 0.95
TARGETS = (0.75, 0.9)
SHARES = (0.01, 0.04)
NOT_ASSUMED = "At most .05 is claimed."
WHY = {
    "review, fixed size": "The size is what is expected to hold as many events: not known before."
}


def run(quick: bool, progress: Progress, work: Path | None = None) -> list[Comparison]:
    """Measure the checks in every world and the reviews of every ranking; keeps no parts."""
    rows: list[Comparison] = []
    for number, (name, world) in enumerate({**IN_ORDER, **NOT_IN_ORDER}.items()):
        progress(f"checks: {name}")
        rows += _checks(name, world, 25 if quick else 1000, 4 if quick else 40, SEED + number)
    rng = np.random.default_rng(SEED)
    parts: dict[tuple[str, str, float], list[float]] = {}
    for share in SHARES:
        for target in TARGETS:
            for kind in APART:
                progress(f"review: {kind}, {share:g}, {target:g}")
                many = [simulated(kind, share, rng) for _ in range(10 if quick else 500)]
                rows += _reviews(f"{kind}, {share:.0%} events", many, target, rng, parts)
    real = texts()
    for topic, rankings in real.items():
        for target in TARGETS:
            progress(f"review: {topic}, {target:g}")
            many = [truth for truth in rankings for _ in range(3 if quick else 100)]
            rows += _reviews(f"text, {topic}", many, target, rng, parts)
    rows += [
        over_repeats(
            f"review, all rankings, {target:g}: {rule} / {rival}",
            None,
            ratios,
            "Mean over rankings of the ratios below"
            + ("." if real else f"; the texts {', '.join(TOPICS)} need {FOLDER}."),
        )
        for (rule, rival, target), ratios in parts.items()
    ]
    return rows


def write(results: Results, folder: Path, work: Path | None = None) -> None:
    """Write the results and their page."""
    write_results(results, folder, page_of(results))


def _share(quantity: str, hits: list[bool], why: str) -> Comparison:
    n, held = len(hits), (sum(hits) + 1) / (len(hits) + 2)
    error = float(np.sqrt(held * (1 - held) / n))
    return Comparison(quantity, None, float(np.mean(hits)), error, n, why)


def _checks(name: str, world: World, repeats: int, powered: int, seed: int) -> list[Comparison]:
    wrong: dict[bool, list[bool]] = {True: [], False: []}
    labels: dict[bool, list[float]] = {True: [], False: []}
    for number, one in enumerate(runs(world, repeats, seed)):
        for ordered in (True, False):
            wrong[ordered].append(one.excluded(CONFIDENCE, ordered))
            if number < powered:
                target = one.seen / (one.seen + 2 * one.events.sum() + 2)
                labels[ordered].append(one.labels_for(target, CONFIDENCE, ordered))
    found = []
    for ordered, word in ((True, "monotone"), (False, "nothing")):
        why = NOT_ASSUMED
        if ordered and name in NOT_IN_ORDER:
            why = "The order does not hold in this world: nothing is claimed."
        found += [
            _share(f"checks, {name}, {word}: the truth was ever excluded", wrong[ordered], why),
            over_repeats(
                f"checks, {name}, {word}: checks to prove it",
                None,
                labels[ordered],
                "1,510 where 1,500 did not do.",
            ),
        ]
    return found


def _reviews(
    name: str,
    rankings: list[Array],
    target: float,
    rng: np.random.Generator,
    parts: dict[tuple[str, str, float], list[float]],
) -> list[Comparison]:
    labels: dict[str, list[float]] = {rule: [] for rule in RULES}
    true: dict[str, list[bool]] = {rule: [] for rule in RULES}
    for truth in rankings:
        order = rng.permutation(len(truth))
        for rule, apply in RULES.items():
            outcome = apply(truth, target, order)
            labels[rule].append(outcome.labels)
            true[rule].append(outcome.true)
    found = []
    for rule in RULES:
        what = f"review, {name}, {target:g}: {rule}"
        found += [
            over_repeats(
                f"{what}, labels", None, labels[rule], WHY.get(rule, "Sample and review.")
            ),
            _share(f"{what}, true", true[rule], "At least .95 is claimed."),
        ]
        for rival in ("QBCB r=30", "QBCB r=50"):
            if rule.startswith("review"):
                value, error = ratio(np.array(labels[rule]), np.array(labels[rival]))
                parts.setdefault((rule, rival, target), []).append(value)
                found.append(
                    Comparison(f"{what} / {rival}", None, value, error, len(rankings), "Labels.")
                )
    return found
