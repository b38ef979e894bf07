"""Scores of one test part, and averages over sets: how much better, and how sure are we?

    ratio on a set = (loss + .01 c) / (loss of the other + .01 c),   c = loss of the constant
    average = geometric mean of the ratios over sets

Losses of a set are means over its splits. Without the cushion of 1 %, the two sets that trees
separate (Brier below 1e-5) would decide every average. The log loss is the true one, infinite when
something declared impossible happened. Assumes that sets are exchangeable; several share rows.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any

import numpy as np

from experiments.auto_rare.data import Array

BINS = 10
CUSHION = 0.01
Sets = Mapping[str, Mapping[str, Any]]


def scores_of(y: Array, prob: Array) -> dict[str, Any]:
    """Return Brier, log loss (None when infinite), predicted over observed, calibration error.

    Parameters
    ----------
    y : array of shape (n,)
        0.0 or 1.0.
    prob : array of shape (n, 2)
        Both classes' probabilities, so that a share near 1 keeps the digits of its complement.
    """
    happened = np.where(y == 1, prob[:, 1], prob[:, 0])
    impossible = int((happened <= 0).sum())
    return {
        "brier": float(np.mean((prob[:, 1] - y) ** 2)),
        "log_loss": None if impossible else float(-np.log(happened).mean()),
        "impossible": impossible,
        "total": float(prob[:, 1].sum() / y.sum()),
        "calibration": calibration_error(y, prob[:, 1]),
    }


def calibration_error(y: Array, prob: Array) -> float:
    """Return the squared calibration error over ten bins of equal count, its bias taken off.

    Of each bin: (share - mean prob)^2 - share (1 - share) / (n - 1), weighted by rows. The second
    term is what chance alone adds, so that 0 is expected of calibrated probabilities, and values
    below 0 occur. Equal probabilities are binned in the order of the rows.
    """
    order = np.argsort(prob, kind="stable")
    error = 0.0
    for rows in np.array_split(order, BINS):
        if len(rows) < 2:
            continue
        share, mean = float(y[rows].mean()), float(prob[rows].mean())
        chance = share * (1.0 - share) / (len(rows) - 1)
        error += len(rows) * ((share - mean) ** 2 - chance)
    return error / len(y)


def set_means(lines: Iterable[Mapping[str, Any]]) -> dict[str, dict[str, Any]]:
    """Return one record per set: its size and each method's means over splits."""
    grouped: dict[str, dict[str, list[Mapping[str, Any]]]] = {}
    for line in lines:
        grouped.setdefault(line["set"], {}).setdefault(line["method"], []).append(line)
    sets = {}
    for name, methods in grouped.items():
        first = next(iter(methods.values()))[0]
        sets[name] = {
            **{key: first[key] for key in ("rows", "columns", "positives")},
            "methods": {method: _means(own) for method, own in methods.items()},
        }
    return sets


def _means(lines: list[Mapping[str, Any]]) -> dict[str, Any]:
    infinite = sum(line["log_loss"] is None for line in lines)
    means: dict[str, Any] = {
        "splits": len(lines),
        "brier": _mean(line["brier"] for line in lines),
        "log_loss": None if infinite else _mean(line["log_loss"] for line in lines),
        "infinite_splits": infinite,
        "total": _mean(line["total"] for line in lines),
        "total_error": _mean(abs(line["total"] - 1.0) for line in lines),
        "calibration": _mean(line["calibration"] for line in lines),
        "cpu_seconds": _mean(line["cpu_seconds"] for line in lines),
    }
    if "chosen" in lines[0]:
        means["stacked_splits"] = sum(line["chosen"] == "auto" for line in lines)
    return means


def _mean(values: Iterable[float]) -> float:
    return float(np.mean(list(values)))


def loss(sets: Sets, name: str, method: str, score: str) -> float:
    """Return a method's mean loss on a set, infinite where a split was."""
    found = sets[name]["methods"][method][score]
    return math.inf if found is None else float(found)


def ratios(
    sets: Sets, method: str, other: str, score: str, cushion: float = CUSHION
) -> dict[str, float]:
    """Return each set's ratio of losses; inf or nan where a loss is infinite."""
    found = {}
    for name in sets:
        c = cushion * loss(sets, name, "constant", score)
        above, below = (loss(sets, name, each, score) + c for each in (method, other))
        found[name] = math.nan if math.isinf(below) else above / below
    return found


def geometric_mean(values: Iterable[float]) -> tuple[float, float]:
    """Return the geometric mean and its standard error over sets (delta method)."""
    logs = np.log(list(values))
    mean = float(np.exp(logs.mean()))
    error = mean * float(logs.std(ddof=1)) / math.sqrt(len(logs)) if len(logs) > 1 else 0.0
    return mean, error


def wins(sets: Sets, method: str, other: str, score: str) -> tuple[int, int]:
    """Return the sets on which a method's loss is smaller, and larger, than the other's."""
    pairs = [(loss(sets, n, method, score), loss(sets, n, other, score)) for n in sets]
    return sum(a < b for a, b in pairs), sum(a > b for a, b in pairs)
