"""Figure 5: what is said of real scores, beside the truth that only we know.

    threshold   the score of the last alert; labels are the top M scores, or the alerts and an audit
    posterior   curve: every unlabelled score counts as its posterior probability  (002 section 6.2)

The two stand-ins take the paper's labels: the top 12 of 1,424, all of them alerts; their audit is
12 labels more. The other sets have M = rows / 32, at least 60 and at most 600, and alerts are the
top half of them: the tail design labels the other half right below, the audit draws it. No method
sees the other labels. Scores are taken as they are: a law of positive numbers is left out where a
score is not positive. Needs SCARCE_DATA.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

import numpy as np

from experiments.paper_002.methods import (
    AUTO,
    FIVE,
    LIKELIHOOD,
    PAPER,
    Array,
    fitted,
    number,
    numbers,
)
from experiments.paper_002.printed import SERIES
from scarce import choose_labels, estimate_performance
from scarce.datasets import load_anomaly
from scarce.missed.mixture.families import family

SEED = 1002
SETS = ("annthyroid", "shuttle", "smtp", "satimage2", "pendigits", "wilt")
SCORES = ("score_iforest", "score_logit_oof")
SHORT = {"score": "score", "score_iforest": "iforest", "score_logit_oof": "logit"}
CASES: dict[str, tuple[str, str]] = {
    **{name: (name, "score") for name in SERIES},
    **{f"{name}, {SHORT[score]}": (name, score) for name in SETS for score in SCORES},
}
LEAST, MOST = 60, 600
FITS = (PAPER, LIKELIHOOD, FIVE)
AUDIT = "auto, audit"
DRAWS = 8  # of audits
BARS = 40
POINTS = 60  # of a curve


def budget(name: str, rows: int) -> tuple[int, int]:
    """Return how many scores are labelled, and how many of them are alerts.

    Examples
    --------
    >>> budget("standin17", 1424), budget("wilt", 4819), budget("smtp", 95156)
    ((12, 12), (150, 75), (600, 300))
    """
    if name in SERIES:
        return SERIES[name].labelled, SERIES[name].labelled
    labelled = int(np.clip(rows // 32, LEAST, MOST))
    return labelled, labelled // 2


@lru_cache(maxsize=2)
def table(name: str) -> Any:
    """Read a set once for both of its scores."""
    return load_anomaly(name)


def look(case: str, repeat: int) -> dict[str, Any]:
    """Fit one score of one set in every way."""
    name, column = CASES[case]
    held = table(name)
    scores, truth = np.asarray(held.scores[column], dtype=np.float64), np.asarray(held.y)
    n_labelled, n_alerts = budget(name, truth.size)
    order = np.argsort(-scores, kind="stable")
    threshold = float(scores[order[n_alerts - 1]])
    alerts = scores >= threshold  # a tie at the threshold is an alert too
    tail = alerts.copy()
    tail[order[:n_labelled]] = True
    labels = np.where(tail, truth, np.nan)
    hits = int(truth[alerts].sum())
    found: dict[str, Any] = {
        "rows": truth.size,
        "positives": int(truth.sum()),
        "labelled": int(tail.sum()),
        "labelled positives": int(truth[tail].sum()),
        "alerts": int(alerts.sum()),
        "hits": hits,
        "threshold": number(threshold),
        "recall": number(hits / truth.sum()),
        "precision": number(hits / alerts.sum()),
        "true curve": curve(scores, truth),
        "histogram": histogram(scores, truth),
        "methods": {},
    }
    for method in FITS:
        model = fitted(method, scores, labels)
        found["methods"][method] = seen_by(model, scores, labels, threshold, found["histogram"])
    rng = np.random.default_rng((SEED, 5, list(CASES).index(case), repeat))
    seed = int(rng.integers(2**31))
    found["methods"][AUTO] = estimated(scores, labels, np.where(tail, 1.0, np.nan), threshold, seed)
    n_audit = n_labelled if name in SERIES else n_labelled - n_alerts
    found["methods"][AUDIT] = [
        audited(scores, truth, alerts, threshold, n_audit, rng) for _ in range(DRAWS)
    ]
    return found


def seen_by(
    model: Any, scores: Array, labels: Array, threshold: float, bars: dict[str, Any]
) -> dict[str, Any]:
    """Return what a fitted mixture says: numbers, curves, and densities at the histogram's bars."""
    weight = np.where(np.isnan(labels), model.posterior(scores), labels)
    low, high = bars["range"]
    at = np.linspace(low, high, 4 * BARS + 1)
    share = float(model.positive_share_)
    laws = (
        (1.0 - share, model.background_, model.background_params_),
        (share, model.foreground_, model.foreground_params_),
    )
    parts = [part * np.exp(family(law).log_density(at, params)) for part, law, params in laws]
    grid = np.quantile(scores, 1.0 - np.geomspace(1.0 / scores.size, 1.0, POINTS))
    return {
        "start": model.start,
        "background": model.background_,
        "share": number(share),
        "recall": number(model.recall(threshold)),
        "posterior recall": number(weight[scores >= threshold].sum() / weight.sum()),
        "precision": number(model.precision(threshold)),
        "slope": number(model.precision_per_recall(threshold)),
        "identified": bool(model.identified_),
        "densities": [numbers(part) for part in parts],
        "model curve": [numbers(model.recall(grid)), numbers(model.precision(grid))],
        "posterior curve": curve(scores, weight),
    }


def estimated(
    scores: Array, labels: Array, inclusion: Array, threshold: float, seed: int
) -> dict[str, Any]:
    """Return recall by `estimate_performance`, with its interval."""
    found = estimate_performance(
        scores, labels, threshold=threshold, inclusion=inclusion, random_state=seed
    )
    recall = found.recall
    return {
        "recall": number(recall.value),
        "low": number(recall.low),
        "high": number(recall.high),
        "method": recall.method,
        "warnings": len(found.warnings),
    }


def audited(
    scores: Array,
    truth: Array,
    alerts: Any,
    threshold: float,
    n: int,
    rng: np.random.Generator,
) -> dict[str, Any]:
    """Label all alerts and an audit of n scores below, and estimate."""
    labels = np.where(alerts, truth, np.nan)
    chosen = choose_labels(
        scores,
        labels,
        policy="audit",
        n=n,
        threshold=threshold,
        random_state=int(rng.integers(2**31)),
    )
    inclusion = np.where(alerts, 1.0, np.nan)
    inclusion[chosen.rows] = chosen.probability
    labels[chosen.rows] = truth[chosen.rows]
    return estimated(scores, labels, inclusion, threshold, int(rng.integers(2**31)))


def curve(scores: Array, weight: Array) -> list[list[float | str | None]]:
    """Return recall and precision at some thresholds, from the highest score down.

    Examples
    --------
    >>> curve(np.array([3.0, 2.0, 1.0, 0.0]), np.array([1.0, 0.0, 1.0, 0.0]))
    [[0.5, 0.5, 1.0, 1.0], [1.0, 0.5, 0.666667, 0.5]]
    """
    order = np.argsort(-scores, kind="stable")
    hits = np.cumsum(weight[order])
    last = np.append(np.diff(scores[order]) != 0.0, True)  # equal scores are alerts together
    rank = np.flatnonzero(last)
    recall, precision = hits[rank] / hits[-1], hits[rank] / (rank + 1.0)
    if rank.size > 2 * POINTS:  # even steps of recall, and of rank where recall stands still
        by_recall = np.searchsorted(recall, np.linspace(0.0, 1.0, POINTS), side="left")
        by_rank = np.unique(np.geomspace(1, rank.size, POINTS).astype(np.int64)) - 1
        keep = np.unique(np.minimum(np.append(by_recall, by_rank), rank.size - 1))
        recall, precision = recall[keep], precision[keep]
    return [numbers(recall), numbers(precision)]


def histogram(scores: Array, truth: Array) -> dict[str, Any]:
    """Count scores and events in even bars; the outermost hundredth of a percent is left out."""
    low, high = np.quantile(scores, [0.0001, 0.9999])
    low, high = min(low, scores[truth == 1.0].min()), max(high, scores[truth == 1.0].max())
    edges = np.linspace(low, high, BARS + 1)
    return {
        "range": numbers((low, high)),
        "all": np.histogram(scores, edges)[0].tolist(),
        "events": np.histogram(scores[truth == 1.0], edges)[0].tolist(),
    }
