"""Which way of drawing 100 checks below a threshold says most about recall?

    5,000 rows, events normal(1.88, 1), others normal(0, 1); the top 1 % is investigated
    counted    recall from the checks alone: found / (found + weighted count), 90 % limits of
               count_missed, which uses no model of scores
    estimated  recall of estimate_performance with the same labels: the guess from its curve, and
               90 % limits from the checks where precision does not rise as the score falls

Events are .8 % or 4 % of the rows; in a third world a quarter of them scores like the others. Truth
is the recall that the batch turned out to have. Every alert has its label. "Half a band" takes half
of the checks directly below the threshold for certain. Where fewer than five events were seen
there is no guess: errors are over the other batches, limits over all.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.frame import Comparison, Progress
from scarce import choose_labels, estimate_performance
from scarce.missed.audit import count_missed

Array = NDArray[np.float64]

TITLE = "Recall from 100 checks below the threshold, by the way they are drawn"
SEED = 7002
ROWS = 5000
CHECKS = 100
CLOSE = 1e-9  # a limit that is the truth holds it
WORLDS = {
    ".8 % events": (0.008, 0.0),
    "4 % events": (0.04, 0.0),
    ".8 %, a quarter invisible": (0.008, 0.25),
}
DESIGNS: dict[str, dict[str, Any]] = {
    "audit": {"policy": "audit"},
    "audit, half a band": {"policy": "audit", "band": 0.5},
    "pps": {"policy": "pps"},
    "pps, half a band": {"policy": "pps", "band": 0.5},
    "stratified": {"policy": "stratified"},
    "random": {"policy": "random"},
}


def batch(share: float, blind: float, rng: np.random.Generator) -> tuple[Array, Array, float]:
    """Draw scores, what they are, and the threshold of the top 1 %."""
    events = rng.random(ROWS) < share
    seen = events & (rng.random(ROWS) >= blind)
    scores = rng.normal(size=ROWS) + 1.88 * seen
    return scores, events.astype(np.float64), float(np.quantile(scores, 0.99))


def look(world: tuple[float, float], design: dict[str, Any], rng: np.random.Generator) -> Array:
    """Draw and ask once: error of recall, width of its interval, whether that holds the truth.

    First as counted, then as estimated.
    """
    scores, truth, threshold = batch(*world, rng)
    alert = scores >= threshold
    found, missed = truth[alert].sum(), truth[~alert].sum()
    if found == 0:
        return look(world, design, rng)
    labels = np.where(alert, truth, np.nan)
    choice = choose_labels(
        scores, labels, n=CHECKS, threshold=threshold, random_state=rng, **design
    )
    labels[choice.rows] = truth[choice.rows]
    certain = int((choice.probability == 1).sum())
    count = count_missed(truth[choice.rows], choice.probability, int((~alert).sum()) - certain)
    told = estimate_performance(
        scores, labels, threshold=threshold, inclusion=choice, check=False
    ).recall

    def recall(below: float) -> float:
        return float(found / (found + below))

    counted = recall(count.value), recall(count.high), recall(count.low)
    out = []
    for value, low, high in (counted, (told.value, told.low, told.high)):
        truth_held = low - CLOSE <= recall(missed) <= high + CLOSE
        out += [value - recall(missed), high - low, float(truth_held)]
    return np.array(out)


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Measure every design in every world."""
    repeats = 60 if quick else 600
    rng = np.random.default_rng(SEED)
    rows = []
    for world, law in WORLDS.items():
        for name, design in DESIGNS.items():
            progress(f"{world}, {name}")
            found = np.array([look(law, design, rng) for _ in range(repeats)]).T
            for way, own in (("counted", found[:3]), ("estimated", found[3:])):
                rows += _rows(f"{world}: {name}, {way}", *own)
    return rows


def _rows(what: str, error: Array, width: Array, held: Array) -> list[Comparison]:
    """Return what one design is worth when its checks are used in one way."""
    repeats = len(error)
    error = error[np.isfinite(error)]
    rms = float(np.sqrt(np.mean(error**2)))
    spread = float(np.std(error**2, ddof=1) / (2 * rms * np.sqrt(len(error))))
    share = (held.sum() + 1) / (repeats + 2)
    return [
        Comparison(f"{what}, error", None, rms, spread, len(error), "Root mean square."),
        Comparison(
            f"{what}, width",
            None,
            float(width.mean()),
            float(width.std(ddof=1) / np.sqrt(repeats)),
            repeats,
            "Mean width of the 90 % interval.",
        ),
        Comparison(
            f"{what}, coverage",
            None,
            float(held.mean()),
            float(np.sqrt(share * (1 - share) / repeats)),
            repeats,
            "Nominal: .90, each end alone .95.",
        ),
    ]
