"""Which rows are labelled, and what the library says of the batch then.

    top     the 156 highest scores, or all alarms and 10 more where alarms alone exceed 146
    audit   all alarms, and m rows below the threshold from choose_labels(policy="audit"): half of
            them directly below with certainty, half drawn with known probabilities

An answer is what one call of estimate_performance gives: ends and points of recall and of the
missed events, the effective size of the posterior sample, the guard's warning, milliseconds.
Knows nothing of the truth; scoring answers is tables.py's business.
"""

from __future__ import annotations

import math
import time
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.missed_events.scenarios import Array, Batch
from scarce import choose_labels, estimate_performance

BUDGET = 156
LEAST_BELOW = 10
Answer = list[float | None]
INFINITE = 1e99  # stands for infinity in JSON, which has none
FIELDS = (
    "recall", "recall_low", "recall_high", "missed", "missed_low", "missed_high",
    "effective", "guard", "milliseconds",
)  # fmt: skip
GUARD_WORDS = ("its figures may be off", "which contradicts the curve")


class Labelled(NamedTuple):
    """Labels of a batch: 1.0, 0.0 or NaN, and the probability with which each row was drawn."""

    labels: Array
    inclusion: Array

    def below(self, batch: Batch) -> NDArray[np.bool_]:
        """Rows below the threshold that were labelled."""
        return ~np.isnan(self.labels) & ~batch.alarms

    def drawn(self, batch: Batch) -> NDArray[np.bool_]:
        """Rows that were drawn at random, not taken for certain."""
        return self.below(batch) & (self.inclusion < 1.0)


def top(batch: Batch) -> Labelled:
    """Label the highest scores."""
    n = max(BUDGET, int(batch.alarms.sum()) + LEAST_BELOW)
    chosen = np.argsort(-batch.scores, kind="stable")[:n]
    return reveal(batch, chosen, np.ones(n))


def audit(batch: Batch, m: int, seed: int) -> Labelled:
    """Label all alarms, and m rows below the threshold that can be counted afterwards."""
    alarms = np.flatnonzero(batch.alarms)
    held = reveal(batch, alarms, np.ones(len(alarms)))
    if m == 0:
        return held
    more = choose_labels(
        batch.scores,
        held.labels,
        policy="audit",
        n=m,
        threshold=batch.threshold,
        random_state=seed,
    )
    rows = np.concatenate([alarms, more.rows])
    return reveal(batch, rows, np.concatenate([np.ones(len(alarms)), more.probability]))


def reveal(batch: Batch, rows: NDArray[Any], probability: Array) -> Labelled:
    """Return the labels that these rows turn out to have."""
    labels, inclusion = np.full((2, len(batch.scores)), np.nan)
    labels[rows] = batch.y_true[rows]
    inclusion[rows] = probability
    return Labelled(labels, inclusion)


def below_budget(batch: Batch) -> int:
    """Return how many of 156 labels are left for rows below the threshold, at least 10."""
    return max(BUDGET - int(batch.alarms.sum()), LEAST_BELOW)


def ask(batch: Batch, held: Labelled, /, **options: Any) -> Answer:
    """Return the library's answer as plain numbers, in the order of FIELDS."""
    return _ask(batch, held, **options)[1]


def ask_batches(
    batch: Batch, held: Labelled, week: NDArray[np.int64], **options: Any
) -> tuple[Answer, list[Answer]]:
    """Return the answer to several batches together, and to each with the shape from all."""
    found, total = _ask(batch, held, batch=week, **options)
    own = found.batches
    return total, [plain_answer(own[name], math.nan) for name in range(int(week.max()) + 1)]


def _ask(batch: Batch, held: Labelled, /, **options: Any) -> tuple[Any, Answer]:
    begin = time.perf_counter()
    found = estimate_performance(
        batch.scores,
        held.labels,
        threshold=batch.threshold,
        inclusion=held.inclusion,
        **options,
    )
    return found, plain_answer(found, time.perf_counter() - begin)


def plain_answer(found: Any, seconds: float) -> Answer:
    """Return a Performance as plain numbers, in the order of FIELDS."""
    ends = [
        getattr(estimate, end)
        for estimate in (found.recall, found.missed)
        for end in ("value", "low", "high")
    ]
    guard = any(word in text for text in found.warnings for word in GUARD_WORDS)
    return [plain(value) for value in (*ends, found.effective_size, float(guard), 1e3 * seconds)]


def plain(value: float) -> float | None:
    """Return a number with six digits; None for NaN, a huge number for infinity.

    Examples
    --------
    >>> plain(0.123456789), plain(float("nan")), plain(float("inf"))
    (0.123457, None, 1e+99)
    """
    if math.isnan(value):
        return None
    return math.copysign(INFINITE, value) if math.isinf(value) else float(f"{value:.6g}")


def read_answer(answer: Answer) -> dict[str, float]:
    """Return the numbers of an answer by their names, NaN and infinity as such again."""

    def read(value: float | None) -> float:
        if value is None:
            return math.nan
        return math.copysign(math.inf, value) if abs(value) >= INFINITE else value

    return dict(zip(FIELDS, map(read, answer), strict=True))
