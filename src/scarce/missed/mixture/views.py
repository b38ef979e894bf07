"""Precision and recall of a fitted mixture: of the population, and of the batch, kept apart.

    population   R = S1(t),  P = b S1 / (b S1 + (1 - b) S0)                          (002 eq 2)
    batch        w = label where known, else posterior;  R = sum above t of w / sum of w   (6.2)

Assumes the mixture. Draws nothing: see plot/.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, log_expit

from scarce.engine.block import Array
from scarce.errors import UsageError
from scarce.missed.digest import ScoreDigest
from scarce.missed.mixture.partial_em import Pair


class MixtureCurve(NamedTuple):
    """Precision and recall against the threshold, from the greatest threshold down."""

    threshold: Array
    recall: Array
    precision: Array
    of: str  # "population" or "batch"


def finite(values: ArrayLike, name: str) -> Array:
    """Return finite numbers of any shape, or refuse the others."""
    try:
        found = np.asarray(values, dtype=np.float64)
    except (TypeError, ValueError):
        found = np.array(np.nan)
    if not np.isfinite(found).all():
        raise UsageError(f"{name}={values!r} is not finite: give numbers on the scale of scores.")
    return found


def log_tails(pair: Pair, threshold: ArrayLike) -> tuple[Array, Array]:
    """Return log S1(t) and log S0(t)."""
    at = finite(threshold, "threshold")
    return (
        np.asarray(pair.foreground.log_tail(at, pair.foreground_params)),
        np.asarray(pair.background.log_tail(at, pair.background_params)),
    )


def slope(pair: Pair, threshold: ArrayLike) -> Array:
    """Return dP/dR = (b / q)(1 - P / g), in logarithms so that far tails keep their digits."""
    at = finite(threshold, "threshold")
    log_recall, log_false = log_tails(pair, at)
    log_odds = pair.theta[0]
    share = log_expit(log_odds)
    alarms = np.logaddexp(share + log_recall, log_expit(-log_odds) + log_false)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        above = log_odds + log_recall - log_false  # log P / (1 - P)
        gap = above - pair.log_odds(at)
        # 1 - P/g = (1 - P)(1 - exp(gap)) keeps its digits where P and g are both next to 1.
        size = np.maximum(gap, 0.0) + np.log(-np.expm1(-np.abs(gap))) + log_expit(-above)
        found = -np.sign(gap) * np.exp(share - alarms + size)
    found = np.where(gap == 0.0, 0.0, found)
    return np.asarray(np.where(np.isneginf(alarms), np.nan, found))


def population_curve(pair: Pair, digest: ScoreDigest, thresholds: ArrayLike | None) -> MixtureCurve:
    """Return the curve of eq 2."""
    at = _thresholds(digest, thresholds)
    log_recall, log_false = log_tails(pair, at)
    precision = expit(pair.theta[0] + log_recall - log_false)
    return MixtureCurve(at, np.exp(log_recall), np.asarray(precision), "population")


def batch_curve(pair: Pair, digest: ScoreDigest, thresholds: ArrayLike | None) -> MixtureCurve:
    """Return the curve of the rows that were fitted, with posteriors where labels are missing."""
    parts = [digest.points(state) for state in ("unlabelled", "positive", "negative")]
    events = [
        weight * share
        for (_, weight), share in zip(
            parts, (expit(pair.log_odds(parts[0][0])), 1.0, 0.0), strict=True
        )
    ]
    score = np.concatenate([part[0] for part in parts])
    order = np.argsort(-score)
    count = np.cumsum(np.concatenate([part[1] for part in parts])[order])
    found = np.cumsum(np.concatenate(events)[order])
    at = _thresholds(digest, thresholds)
    last = np.searchsorted(-score[order], -at, side="right") - 1
    seen = last >= 0
    recall = np.where(seen, found[last] / found[-1] if found[-1] > 0 else np.nan, 0.0)
    precision = np.where(seen, found[last] / count[last], np.nan)
    return MixtureCurve(at, recall, precision, "batch")


def _thresholds(digest: ScoreDigest, thresholds: ArrayLike | None) -> Array:
    if thresholds is not None:
        return np.sort(np.atleast_1d(finite(thresholds, "thresholds")))[::-1]
    score, weight = digest.points()
    order = np.argsort(-score)
    count = np.cumsum(weight[order])
    ranks = np.geomspace(1.0, count[-1], 200)
    return np.unique(score[order][np.minimum(np.searchsorted(count, ranks), len(count) - 1)])[::-1]
