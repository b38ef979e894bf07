"""The comparison in the open: what did each way of predicting lose on rows that it had not seen?

    error = standard deviation of the means of folds / sqrt(folds)

Log loss, Brier score and, for two classes, total predicted over total observed, from predictions
of left-out rows. Folds share training rows, so the error is somewhat too small: a yardstick, not a
test. Chooses nothing.
"""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from scarce.engine.block import Array
from scarce.scoring import row_losses, score_log_losses

Ids = NDArray[np.intp]
FIGURES = ("log_loss", "brier", "total")


def score_line(y: Array, score: Array, weight: Array, folds: Ids) -> dict[str, float]:
    """Return log loss, Brier and predicted over observed with their fold standard errors.

    Examples
    --------
    >>> y, folds = np.array([0.0, 1, 0, 1]), np.array([0, 0, 1, 1])
    >>> line = score_line(y, np.zeros(4), np.ones(4), folds)
    >>> line["brier"], line["total"], round(line["log_loss"], 3)
    (0.25, 1.0, 0.693)
    """
    prob = expit(score)
    loss, brier = score_log_losses(y, score), (prob - y) ** 2
    line = {}
    for name, value in (("log_loss", loss), ("brier", brier)):
        line[name] = float(weight @ value / weight.sum())
        line[f"{name}_error"] = _error(value, weight, folds)
    line["total"] = float(weight @ prob / (weight @ y))
    # Errors of each fold relative to the whole total: the ratio of one fold may not exist.
    numbers = np.unique(folds)
    gaps = [float((weight * (prob - y))[folds == fold].sum()) for fold in numbers]
    deviation = float(np.std(gaps, ddof=1)) if len(gaps) > 1 else np.nan
    line["total_error"] = float(np.sqrt(len(gaps)) * deviation / (weight @ y))
    return line


def class_line(codes: Ids, log_prob: Array, weight: Array, folds: Ids) -> dict[str, float]:
    """Return log loss and Brier score of several classes with their fold standard errors.

    Examples
    --------
    >>> codes, folds = np.array([0, 1, 2, 0]), np.array([0, 0, 1, 1])
    >>> line = class_line(codes, np.log(np.full((4, 3), 1 / 3)), np.ones(4), folds)
    >>> round(line["log_loss"], 3), round(line["brier"], 3)
    (1.099, 0.333)
    """
    prob, line = np.exp(log_prob), {}
    losses = {
        "log_loss": -log_prob[np.arange(len(codes)), codes],
        "brier": row_losses(codes, prob, "brier"),
    }
    for name, value in losses.items():
        line[name] = float(weight @ value / weight.sum())
        line[f"{name}_error"] = _error(value, weight, folds)
    return line


def fold_gain(reference: Array, candidate: Array, weight: Array, folds: Ids) -> tuple[float, float]:
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
    """Return the comparison and the members as lines of text; not all have chosen something."""
    several = any("total" not in line for line in comparison.values())
    last = "" if several else f"{'predicted/observed':>24}"
    lines = [f"{'left-out rows':<26}{'log loss':>18}{'Brier':>20}{last}"]
    for name, line in comparison.items():
        cells = [f"{line[f]:.4f} +- {line[f + '_error']:.4f}" for f in FIGURES[:2]]
        total = "" if several else f"{line['total']:.3f} +- {line['total_error']:.3f}".rjust(24)
        lines.append(f"{name:<26}{cells[0]:>18}{cells[1]:>20}{total}")
    if weights:
        lines += ["", f"{'member':<26}{'weight':>18}{'floor':>20}{'chosen':>24}"]
        for name, weight in weights.items():
            chosen = choices.get(name, "")
            lines.append(f"{name:<26}{weight:>18.3f}{floors[name]:>20.3f}{chosen:>24}".rstrip())
    return lines


def _error(value: Array, weight: Array, folds: Ids) -> float:
    means = [np.average(value[folds == f], weights=weight[folds == f]) for f in np.unique(folds)]
    if len(means) < 2:
        return float("nan")
    return float(np.std(means, ddof=1) / np.sqrt(len(means)))
