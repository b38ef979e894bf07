"""Do our readings of 001's three synthetic designs have the prevalences that the paper prints?

    sine:  mean of (1 + sin z) / r is exactly 1 / r      step:  low + share (high - low)
Counts positives in independent draws of the public simulators. Fits no model.
"""

from __future__ import annotations

import numpy as np

from experiments.frame import Comparison, Progress, over_repeats
from scarce.datasets import make_sine, make_step

TITLE = "Paper 001, section 4.1: prevalence of the synthetic designs"
SEED = 1001
ROWS = 5000  # per repeat: the size of the paper's test sets
LOST = "The appendix with the designs is lost; ours are a reading of the text."


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Count positives over repeats of each design."""
    repeats = 20 if quick else 200
    rng = np.random.default_rng(SEED)
    rows = []
    for quantity, paper, draw, why in (
        (
            "prevalence, sine, r = 64",
            0.0158,
            lambda: make_sine(ROWS, divisor=64, random_state=rng),
            "Exactly 1/64 = .0156 here. The paper does not say whether its value is exact or the "
            f"share in a draw, whose standard error at {ROWS} rows is "
            f"{np.sqrt((1 - 1 / 64) / 64 / ROWS):.4f}.",
        ),
        (
            "prevalence, sine, r = 32",
            0.0312,
            lambda: make_sine(ROWS, divisor=32, random_state=rng),
            "Exactly 1/32 = .03125 here; the same within rounding.",
        ),
        (
            "prevalence, step",
            0.095,
            lambda: make_step(ROWS, random_state=rng),
            "Exactly .095 here, by choice of the steps; other steps give it too.",
        ),
    ):
        progress(quantity)
        shares = [float(draw().y.mean()) for _ in range(repeats)]
        rows.append(over_repeats(quantity, paper, shares, f"{LOST} {why}"))
    return rows
