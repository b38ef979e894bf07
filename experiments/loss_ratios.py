"""Two methods' losses on the same tables, as one ratio.

    ratio of a table = (mean loss + .01 c) / (mean loss of the other + .01 c), c: of the constant
    ratio            = geometric mean over tables; standard error over tables, of the log

The cushion keeps tables that are nearly separable from deciding alone. A record has the fields
table, method and the score; means are over its other fields. Assumes that both methods were run on
the same splits.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from experiments.frame import Comparison
from experiments.resume import Record

CUSHION = 0.01
SMALLEST = 1e-15  # a probability of 0 for what happened costs 34.5, not infinity


def losses(prob: np.ndarray, y: np.ndarray) -> dict[str, float]:
    """Return log loss, Brier score and mean given over observed of some rows."""
    happened = np.where(y == 1, prob, 1.0 - prob)
    return {
        "log_loss": float(-np.log(np.maximum(happened, SMALLEST)).mean()),
        "brier": float(((prob - y) ** 2).mean()),
        "mean_given": float(prob.mean() / y.mean()),
    }


def by_table(records: Sequence[Record], method: str, field: str) -> dict[str, float]:
    """Return the mean of a field for each table."""
    held: dict[str, list[float]] = {}
    for record in records:
        if record["method"] == method:
            held.setdefault(record["table"], []).append(record[field])
    return {name: float(np.mean(values)) for name, values in held.items()}


def ratios(records: Sequence[Record], one: str, other: str, field: str) -> dict[str, float]:
    """Return the ratio of each table."""
    mine, theirs = by_table(records, one, field), by_table(records, other, field)
    added = by_table(records, "constant", field)
    return {
        name: (mine[name] + CUSHION * added[name]) / (theirs[name] + CUSHION * added[name])
        for name in mine
    }


def ratio_row(
    records: Sequence[Record], one: str, other: str, field: str, quantity: str, target: str = ""
) -> Comparison:
    """Return the ratio over all tables as a row of a table of results."""
    found = ratios(records, one, other, field)
    logs = np.log(list(found.values()))
    mean = math.exp(logs.mean())
    error = float(np.std(logs, ddof=1) / math.sqrt(len(logs))) if len(logs) > 1 else 0.0
    worst = max(found, key=lambda name: found[name])
    won = sum(value < 1 for value in found.values())
    why = f"{target} Largest on {worst}: {found[worst]:.3f}; below 1 on {won} of {len(found)}."
    return Comparison(quantity, None, mean, mean * error, len(logs), why.strip())


def mean_row(records: Sequence[Record], method: str, field: str, quantity: str) -> Comparison:
    """Return the mean of a field over tables as a row of a table of results."""
    values = list(by_table(records, method, field).values())
    error = float(np.std(values, ddof=1) / math.sqrt(len(values))) if len(values) > 1 else 0.0
    why = "Mean over tables."
    return Comparison(quantity, None, float(np.mean(values)), error, len(values), why)
