"""Models side by side on left-out rows: is the better one better than the noise of its folds?

    standard error = spread of the fold means / sqrt(folds)

Log loss, Brier score and total predicted over total observed, each from predictions of rows that
the fit had not seen. Assumes the same folds for all. Folds share training rows, so that the
standard error is somewhat too small; it is a yardstick, not a test.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from scarce.auto.stack import row_log_loss
from scarce.engine.block import Array

Folds = NDArray[np.intp]
FIGURES = ("log_loss", "brier", "total")


def score_line(y: Array, score: Array, weight: Array, folds: Folds) -> dict[str, float]:
    """Return log loss, Brier and predicted over observed with their fold standard errors.

    Examples
    --------
    >>> y, folds = np.array([0.0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> line = score_line(y, np.zeros(4), np.ones(4), folds)
    >>> line["brier"], line["total"], round(line["log_loss"], 3)
    (0.25, 1.0, 0.693)
    """
    prob = expit(score)
    loss, brier = row_log_loss(y, score), (prob - y) ** 2
    line = {}
    for name, value in (("log_loss", loss), ("brier", brier)):
        line[name] = float(weight @ value / weight.sum())
        line[f"{name}_error"] = _error(value, weight, folds)
    line["total"] = float(weight @ prob / (weight @ y))
    # Over- and under-counts of a fold as shares of the whole: the ratio of one fold may not exist.
    numbers = np.unique(folds)
    gaps = [float((weight * (prob - y))[folds == fold].sum()) for fold in numbers]
    spread = float(np.std(gaps, ddof=1)) if len(gaps) > 1 else np.nan
    line["total_error"] = float(np.sqrt(len(gaps)) * spread / (weight @ y))
    return line


def fold_gain(
    reference: Array, candidate: Array, weight: Array, folds: Folds
) -> tuple[float, float]:
    """Return how much smaller the candidate's loss is, and the standard error over folds.

    Examples
    --------
    >>> folds = np.array([0, 0, 1, 1])
    >>> fold_gain(np.array([1.0, 1, 2, 2]), np.ones(4), np.ones(4), folds)
    (0.5, 0.5)
    """
    gain = reference - candidate
    return float(weight @ gain / weight.sum()), _error(gain, weight, folds)


def text_table(
    comparison: Mapping[str, Mapping[str, float]],
    weights: Mapping[str, float],
    floors: Mapping[str, float],
    choices: Mapping[str, str],
) -> list[str]:
    """Return the comparison and the members as lines of text."""
    lines = [f"{'left-out rows':<26}{'log loss':>18}{'Brier':>20}{'predicted/observed':>24}"]
    for name, line in comparison.items():
        cells = [f"{line[f]:.4f} +- {line[f + '_error']:.4f}" for f in FIGURES[:2]]
        total = f"{line['total']:.3f} +- {line['total_error']:.3f}"
        lines.append(f"{name:<26}{cells[0]:>18}{cells[1]:>20}{total:>24}")
    if weights:
        lines += ["", f"{'member':<26}{'weight':>18}{'floor':>20}{'chosen':>24}"]
        for name, weight in weights.items():
            lines.append(f"{name:<26}{weight:>18.3f}{floors[name]:>20.3f}{choices[name]:>24}")
    return lines


def _error(value: Any, weight: Array, folds: Folds) -> float:
    means = [np.average(value[folds == f], weights=weight[folds == f]) for f in np.unique(folds)]
    if len(means) < 2:
        return float("nan")
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))
