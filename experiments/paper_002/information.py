"""Figure 1: how much do scores and labels tell about each parameter of two normal laws?

    alone   I_kk, the paper's: all other parameters known             (002 eq 3-5 and footnote 1)
    joint   1 / (I^-1)_kk: the others are estimated too

Two sweeps over a million scores: balance at a labelling rate of .001, rate at a balance of .001.
Labels at random, or as many of each class. Also the bounds that Figures 2 and 4 are held against.
Draws nothing.
"""

from __future__ import annotations

import math
from functools import cache
from typing import Any

import numpy as np

from experiments.paper_002.methods import Array, numbers
from experiments.paper_002.printed import (
    FOREGROUND,
    LABELLED_2,
    MEANS,
    RATE_1,
    RATE_4,
    RECALL_4,
    ROWS_1,
    ROWS_2,
    ROWS_3,
    SHARE_1,
    SHARE_4,
)
from scarce.datasets import ScoreTruth
from scarce.missed.information import KnownMixture, information

ALONE, JOINT = "alone", "joint"
RANDOM_LABELS, EQUAL = DESIGNS = ("random", "equal-class")
PARAMETERS = ("share", "mean 0", "variance 0", "mean 1", "variance 1")
SWEEPS: dict[str, tuple[float, ...]] = {
    "share": tuple(float(x) for x in np.geomspace(0.5, 1e-4, 14)),
    "rate": tuple(float(x) for x in np.geomspace(1.0, 1e-5, 16)),
}


def normals(share: float, means: tuple[float, float] = MEANS) -> KnownMixture:
    """Return two normal laws of variance 1."""
    return KnownMixture(share, "normal", [means[0], 0.0], "normal", [means[1], 0.0])


def sweep(case: str, repeat: int) -> dict[str, Any]:
    """Return both informations of every parameter along a sweep, by either way of labelling."""
    found: dict[str, Any] = {"x": [float(f"{x:.6g}") for x in SWEEPS[case]]}
    for design in DESIGNS:
        rows: dict[str, list[Array]] = {ALONE: [], JOINT: []}
        for x in found["x"]:
            share, rate = (x, RATE_1) if case == "share" else (SHARE_1, x)
            batch = information(
                normals(share), ROWS_1, design=design, n_labels=rate * ROWS_1
            ).in_variances()
            rows[ALONE].append(np.diag(batch.matrix))
            rows[JOINT].append(batch.sd() ** -2.0)
        found[design] = {
            kind: dict(zip(PARAMETERS, map(numbers, np.transpose(held)), strict=True))
            for kind, held in rows.items()
        }
    return found


@cache
def bound(share: float) -> Array:
    """Return the least deviations of an unbiased estimate in Figure 2.

    Examples
    --------
    >>> bound(0.3).round(4)
    array([0.0267, 0.0351, 0.0271, 0.0938, 0.0774])
    """
    batch = information(normals(share), ROWS_2, design="tail", n_labels=LABELLED_2 * ROWS_2)
    return np.asarray(batch.in_variances().sd())


def recall_deviations() -> dict[str, tuple[float, float]]:
    """Return the bounds on recall at Figure 4's default, without and with cross terms.

    Examples
    --------
    >>> {labels: (round(a, 3), round(j, 3)) for labels, (a, j) in recall_deviations().items()}
    {'tail': (0.079, 0.251), 'random': (0.106, 0.16)}
    """
    truth = ScoreTruth(positive_share=SHARE_4, foreground_mean=FOREGROUND)
    threshold = float(truth.threshold_at_recall(RECALL_4))
    known = normals(SHARE_4, (truth.background_mean, truth.foreground_mean))
    found = {}
    for design in ("tail", "random"):
        batch = information(known, ROWS_3, design=design, n_labels=math.floor(RATE_4 * ROWS_3))
        found[design] = (
            batch.without_cross_terms().recall_sd(threshold),
            batch.recall_sd(threshold),
        )
    return found
