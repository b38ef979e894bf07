"""How steep is precision against recall in 002's Monte Carlo designs, and do counts agree?

    dP/dR at recall .25: closed form of the simulator, and the chord of counted precision over
    recall .25 -+ .025 in large samples. The paper prints no value of the slope.
Assumes a foreground mean of 8.44, which section 6.1 does not give. Fits no model.
"""

from __future__ import annotations

import numpy as np

from experiments.frame import Comparison, Progress, over_repeats
from scarce.datasets import ScoreSample, make_trial_scores

TITLE = "Paper 002, section 6.1: slope of precision against recall at recall .25"
SEED = 2001
RECALL = 0.25
HALF = 0.025
ROWS = 500_000
NO_VALUE = "The paper prints no value, and no foreground mean (8.44 assumed, from its figures)."


def counted_slope(sample: ScoreSample) -> float:
    """Return the chord of precision over recall, by counting alone."""
    positives = np.sort(sample.scores[sample.y_true == 1.0])[::-1]
    negatives = np.sort(sample.scores[sample.y_true == 0.0])
    precision, recall = [], []
    for wanted in (RECALL - HALF, RECALL + HALF):
        hits = round(wanted * len(positives))
        threshold = positives[hits - 1]
        alarms = len(negatives) - int(np.searchsorted(negatives, threshold, side="left"))
        precision.append(hits / (hits + alarms))
        recall.append(hits / len(positives))
    return (precision[1] - precision[0]) / (recall[1] - recall[0])


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Compare closed form and counts for both backgrounds."""
    repeats = 8 if quick else 40
    rng = np.random.default_rng(SEED)
    rows = []
    for background in ("normal", "lognormal"):
        progress(f"{background} background")
        samples = (
            make_trial_scores(ROWS, background=background, random_state=rng) for _ in range(repeats)
        )
        slopes = []
        for sample in samples:
            slopes.append(counted_slope(sample))
            truth = sample.truth
        ends = truth.precision(truth.threshold_at_recall([RECALL - HALF, RECALL + HALF]))
        chord = float(ends[1] - ends[0]) / (2 * HALF)
        exact = float(truth.precision_per_recall(truth.threshold_at_recall(RECALL)))
        rows += [
            Comparison(
                f"dP/dR at recall .25, {background} background, closed form",
                None,
                exact,
                0.0,
                1,
                NO_VALUE,
            ),
            over_repeats(
                f"dP/dR at recall .25, {background} background, counted",
                None,
                slopes,
                f"{NO_VALUE} Counts give the chord over recall .225 to .275, in closed form "
                f"{chord:.3f}, not the tangent.",
            ),
        ]
    return rows
