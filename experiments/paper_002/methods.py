"""The fits that paper 002 is repeated with: its own procedure, and ours step by step.

    paper        EM from the labelled rows alone, the family with the least KS distance
    our start    EM from the bulk of the scores, no prior; the family by KS distance
    likelihood   the same, the family by likelihood, and the weak prior on the spreads
    five         the same with two more backgrounds, student-t and skew-normal (real scores)
    mixture      estimate_performance(method="mixture")
    auto         estimate_performance(): no law of the background at all

One trial's labels come from the top scores, from any, or in rounds from the scores whose posterior
is nearest to 1/2 (002 section 3.1). Each method chooses its own labels in rounds. Draws nothing.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from experiments.paper_002.printed import CANDIDATES
from scarce import ScoreMixture, choose_labels, estimate_performance

Array = NDArray[np.float64]

PAPER, BULK, LIKELIHOOD, FIVE, MIXTURE, AUTO = (
    "paper",
    "our start",
    "likelihood",
    "five families",
    "mixture",
    "auto",
)
SETTINGS: dict[str, dict[str, Any]] = {
    PAPER: {"start": "paper", "select": "ks", "spread_prior": None},
    BULK: {"select": "ks", "spread_prior": None},
    LIKELIHOOD: {},
    FIVE: {"background": (*CANDIDATES, "student-t", "skew-normal")},
}
# The paper's start is the labelled scores alone: without two of either class there is none. The
# paper draws such cases all the same and does not say how; here they begin as ours do.
OPENING = {PAPER: BULK}
BINS = 512  # of scores of a kind: the same to four digits as none, at half the time
ROUNDS = 5  # of labels chosen one after another; the paper gives no number


def mixture_of(method: str, **more: Any) -> ScoreMixture:
    """Return the mixture of one method, not fitted, with the paper's three backgrounds."""
    setting = {"background": CANDIDATES, "bins": BINS, **SETTINGS[method], **more}
    return ScoreMixture(**setting)


def fitted(method: str, scores: Array, labels: Array, **more: Any) -> ScoreMixture:
    """Fit the mixture of one method, by its opening where its start does not exist."""
    model = mixture_of(method, **more).fit(scores, labels)
    if not model.background_ and method in OPENING:
        model = mixture_of(OPENING[method], **more).fit(scores, labels)
    return model


def number(value: Any) -> float | str | None:
    """Return a number that JSON can hold: six digits, "inf" and "-inf" in words, None for NaN.

    Examples
    --------
    >>> number(0.123456789), number(float("-inf")), number(float("nan"))
    (0.123457, '-inf', None)
    """
    found = float(value)
    if np.isnan(found):
        return None
    return float(f"{found:.6g}") if np.isfinite(found) else str(found)


def numbers(values: Iterable[Any]) -> list[float | str | None]:
    """Return several of them."""
    return [number(value) for value in values]


def floats(values: Iterable[float | str | None]) -> Array:
    """Return what `numbers` wrote.

    Examples
    --------
    >>> floats(numbers([1.0, float("-inf"), float("nan")]))
    array([  1., -inf,  nan])
    """
    return np.array([np.nan if v is None else float(v) for v in values])


def by_mixture(model: ScoreMixture, thresholds: Array) -> dict[str, Any]:
    """Return start, family, share, recall and slope of a fitted mixture."""
    return {
        "start": model.start,
        "background": model.background_,
        "share": number(model.positive_share_),
        "recall": numbers(model.recall(thresholds)),
        "slope": numbers(model.precision_per_recall(thresholds)),
    }


def by_performance(
    method: str, scores: Array, labels: Array, thresholds: Array, seed: int
) -> dict[str, Any]:
    """Return share, recall and slope by `estimate_performance`, fitted at the first threshold."""
    inclusion = np.where(np.isnan(labels), np.nan, 1.0)  # tail labels: chosen for certain
    first = estimate_performance(
        scores,
        labels,
        threshold=float(thresholds[0]),
        inclusion=inclusion,
        method=method,
        background=CANDIDATES,
        random_state=seed,
    )
    found = [first, *(first.at(float(threshold)) for threshold in thresholds[1:])]
    return {
        "share": number(found[0].prevalence.value),
        "recall": numbers([each.recall.value for each in found]),
        "slope": numbers([each.precision_per_recall.value for each in found]),
        "low": numbers([each.recall.low for each in found]),
        "high": numbers([each.recall.high for each in found]),
    }


def in_rounds(method: str, scores: Array, y_true: Array, n: int) -> Array:
    """Label n scores in rounds, each time those that the fit so far is least sure of.

    002 section 3.1: the first fit has no labels at all. The paper's start is made of labels, so
    until there are two of either class its rounds go by our start.
    """
    labels = np.full(scores.size, np.nan)
    for part in np.array_split(np.arange(n), ROUNDS):
        both = min(np.count_nonzero(labels == 0.0), np.count_nonzero(labels == 1.0)) >= 2
        chosen = choose_labels(
            scores,
            labels,
            policy="adaptive",
            n=part.size,
            mixture=mixture_of(method if both else OPENING.get(method, method)),
            random_state=0,
        ).rows
        labels[chosen] = y_true[chosen]
    return labels
