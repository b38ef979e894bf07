"""Proper scores with their sampling error: how far are probabilities from what happened?

    Brier     mean (prob - y)^2                      (001 section 4; for two classes, 0 to 1)
    log loss  mean -log prob(of what happened)       in nats

An average over rows has a standard error, and a score without it invites stories about noise.
Assumes that rows are independent draws. Unlabelled rows (NaN) are refused, not skipped: which rows
were labelled is part of the answer.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from scarce.engine.block import Array
from scarce.errors import DataError, UsageError
from scarce.results import Estimate

ASSUMES = "the rows are independent draws from the population of interest"


def brier_score(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.9,
) -> Estimate:
    """Return the mean squared distance between probability and outcome, with its interval.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    sample_weight : array-like of shape (n,), optional
    level : float
        Coverage of the interval.

    **Assumes** independent rows; the interval is the normal one for a (weighted) mean.

    Examples
    --------
    >>> print(brier_score([0, 0, 1, 0], [0.1, 0.2, 0.7, 0.1]))
    0.0375 [0.00645, 0.0685] (90 %, normal interval for a mean)
    """
    y, p = outcomes(y_true, prob)
    return _mean((p - y) ** 2, sample_weight, level)


def log_loss(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    level: float = 0.9,
) -> Estimate:
    """Return the mean negative log-probability of what happened, in nats, with its interval.

    Infinite, and said so, when something happened that had probability exactly 0.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    sample_weight : array-like of shape (n,), optional
    level : float
        Coverage of the interval.

    **Assumes** independent rows; the interval is the normal one for a (weighted) mean.

    Examples
    --------
    >>> print(log_loss([0, 1], [0.5, 0.5]))
    0.693 [0.693, 0.693] (90 %, normal interval for a mean)
    >>> log_loss([1, 0], [0.0, 0.5]).value
    inf
    """
    y, p = outcomes(y_true, prob)
    with np.errstate(divide="ignore"):
        loss = -np.where(y == 1, np.log(p), np.log1p(-p))
    if np.isinf(loss).any():
        impossible = int(np.isinf(loss).sum())
        return Estimate(
            np.inf, np.inf, np.inf, level, f"{impossible:,} outcomes had probability 0", ASSUMES
        )
    return _mean(loss, sample_weight, level)


def outcomes(y_true: ArrayLike, prob: ArrayLike) -> tuple[Array, Array]:
    """Return outcomes and probabilities as arrays, or refuse what is neither."""
    y, p = np.asarray(y_true, dtype=np.float64), np.asarray(prob, dtype=np.float64)
    if y.ndim != 1 or y.shape != p.shape or len(y) == 0:
        raise DataError(
            f"y_true has shape {y.shape} and prob {p.shape}: give one outcome and one probability "
            "of the positive class per row, such as predict_proba(X)[:, 1]."
        )
    if not np.isin(y, (0, 1)).all():
        row = int(np.flatnonzero(~np.isin(y, (0, 1)))[0])
        raise DataError(
            f"y_true holds {y[row]} at row {row:,}: outcomes are 0 or 1. Leave rows without a "
            "label out, and say how the others were chosen."
        )
    if not ((p >= 0) & (p <= 1)).all():
        row = int(np.flatnonzero(~((p >= 0) & (p <= 1)))[0])
        raise DataError(
            f"prob holds {p[row]} at row {row:,}: probabilities lie between 0 and 1. Pass "
            "predict_proba(X)[:, 1], not scores."
        )
    return y, p


def _mean(loss: Array, sample_weight: ArrayLike | None, level: float) -> Estimate:
    weight = np.ones(len(loss)) if sample_weight is None else np.asarray(sample_weight, dtype=float)
    if weight.shape != loss.shape or not (weight >= 0).all() or weight.sum() == 0:
        raise UsageError(
            f"sample_weight has shape {weight.shape} for {len(loss):,} rows: give one number >= 0 "
            "per row, not all 0."
        )
    share = weight / weight.sum()
    value = float(share @ loss)
    rows = np.count_nonzero(weight)
    spread = float(np.sqrt(share**2 @ (loss - value) ** 2 * rows / max(1, rows - 1)))
    reach = float(ndtri(0.5 + level / 2)) * spread if rows > 1 else np.inf
    return Estimate(
        value, value - reach, value + reach, level, "normal interval for a mean", ASSUMES
    )
