"""Another prevalence: probabilities learnt under one class mix, used under another.

    p'(y | x)  is proportional to  p(y | x) * now_at[y] / trained_at[y]

After under-sampling, class weights, or labels revealed at class-dependent rates, a model's
probabilities are right for a world in which its training mix is the truth. Assumes that only the
class shares differ between the two worlds, not the rows within a class. Does not estimate either
share.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from scarce.engine.block import Array
from scarce.errors import DataError, UsageError


def correct_prior(prob: ArrayLike, trained_at: ArrayLike, now_at: ArrayLike) -> Array:
    """Move probabilities from the class shares of training to those of use.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the positive class, or of every class.
    trained_at, now_at : float, or array-like of shape (n_classes,)
        Class shares that the model was trained at, and those that hold now. A single number is the
        share of the positive (last) class.

    Returns
    -------
    ndarray of the shape of `prob`
        Certain rows (probability exactly 0 or 1) stay certain.

    **Assumes** that within a class the rows are alike in both worlds.

    Examples
    --------
    A model trained on a half-and-half sample of a world where 1 % are events:

    >>> correct_prior([0.5, 0.9, 0.99], 0.5, 0.01).round(4)
    array([0.01  , 0.0833, 0.5   ])
    >>> correct_prior([[0.2, 0.8]], trained_at=[0.5, 0.5], now_at=[0.9, 0.1]).round(4)
    array([[0.6923, 0.3077]])
    """
    given = np.asarray(prob, dtype=np.float64)
    if given.ndim not in (1, 2) or (given.ndim == 2 and given.shape[1] < 2):
        raise DataError(
            f"prob has shape {given.shape}: give one probability per row, or one column per class."
        )
    outside = ~((given >= 0) & (given <= 1))
    if outside.any():
        first = int(np.flatnonzero(outside.reshape(len(given), -1).any(axis=1))[0])
        raise DataError(
            f"prob holds {given[first].tolist()} at row {first:,}: probabilities lie between 0 and "
            "1. Pass predict_proba(X), not scores."
        )
    n_classes = 2 if given.ndim == 1 else given.shape[1]
    before = class_shares(trained_at, n_classes, "trained_at")
    after = class_shares(now_at, n_classes, "now_at")
    shift = np.log(after) - np.log(before)
    if n_classes == 2:
        # Through log-odds, which keep a probability of 1e-300 apart from 0.
        positive = given if given.ndim == 1 else given[:, 1]
        with np.errstate(divide="ignore"):
            moved = logit(positive) + (shift[1] - shift[0])
        corrected = expit(moved)
        return corrected if given.ndim == 1 else np.column_stack([expit(-moved), corrected])
    weighted = given * np.exp(shift - shift.max())
    return np.asarray(weighted / weighted.sum(axis=1, keepdims=True))


def class_shares(given: ArrayLike, n_classes: int, name: str) -> Array:
    """Return one share per class, or refuse what is not a set of class shares.

    Examples
    --------
    >>> class_shares(0.01, 2, "prior")
    array([0.99, 0.01])
    """
    try:
        held = np.asarray(given)
        if held.dtype.kind not in "fiubO":
            raise TypeError
        shares = held.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            f"{name}={given!r} is not a set of class shares: give one number for each class."
        ) from None
    if shares.ndim == 0 and n_classes == 2:
        shares = np.array([1.0 - float(shares), float(shares)])
    if shares.shape != (n_classes,):
        raise UsageError(
            f"{name} has shape {shares.shape}, but there are {n_classes} classes: give one share "
            "each."
        )
    if not ((shares > 0) & (shares < 1)).all() or abs(shares.sum() - 1) > 1e-9:
        raise UsageError(
            f"{name}={shares.tolist()} is not a set of class shares: each must lie between 0 and "
            "1, both excluded, and together they must be 1."
        )
    return shares
