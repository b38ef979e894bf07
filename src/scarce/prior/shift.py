"""Recalibrate probabilities to a new base rate.

    p'(y | x)  is proportional to  p(y | x) * now_at[y] / trained_at[y]

After under-sampling, class weights, or labels revealed at class-dependent rates, a model's
probabilities are right only where the base rates are those of its training. Assumes that only the
base rates differ, not the rows within a class. Does not estimate either base rate.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError


def correct_prior(prob: ArrayLike, trained_at: ArrayLike, now_at: ArrayLike) -> Array:
    """Recalibrate probabilities from the base rates of training to those of use.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the positive class, or of every class.
    trained_at, now_at : float, or array-like of shape (n_classes,)
        Base rates in training, and base rates where the probabilities are used. A single number is
        the base rate of the positive (last) class.

    Returns
    -------
    ndarray of the shape of `prob`
        Certain rows (probability exactly 0 or 1) stay certain.

    **Assumes** that the distribution of rows within a class is the same in both populations.

    Examples
    --------
    A model trained on a balanced sample of a population with 1 % positives:

    >>> correct_prior([0.5, 0.9, 0.99], 0.5, 0.01).round(4)
    array([0.01  , 0.0833, 0.5   ])
    >>> correct_prior([[0.2, 0.8]], trained_at=[0.5, 0.5], now_at=[0.9, 0.1]).round(4)
    array([[0.6923, 0.3077]])
    """
    given = np.asarray(prob, dtype=np.float64)
    if given.ndim not in (1, 2) or (given.ndim == 2 and given.shape[1] < 2):
        raise DataError(
            "prob must have one probability per row, or one column per class, got shape {shape}.",
            code="shape-mismatch",
            shape=given.shape,
        )
    outside = ~((given >= 0) & (given <= 1))
    if outside.any():
        first = int(np.flatnonzero(outside.reshape(len(given), -1).any(axis=1))[0])
        raise DataError(
            "prob must be between 0 and 1, got {value} at row {row:,}.",
            code="prob-range",
            value=given[first].tolist(),
            row=first,
            remedy="Pass predict_proba(X), not scores.",
        )
    n_classes = 2 if given.ndim == 1 else given.shape[1]
    before = base_rates(trained_at, n_classes, "trained_at")
    after = base_rates(now_at, n_classes, "now_at")
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


def base_rates(given: ArrayLike, n_classes: int, name: str) -> Array:
    """Return one base rate per class; refuse values outside (0, 1) or that do not sum to 1.

    Examples
    --------
    >>> base_rates(0.01, 2, "prior")
    array([0.99, 0.01])
    """
    try:
        held = np.asarray(given)
        if held.dtype.kind not in "fiubO":
            raise TypeError
        rates = held.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            "{argument} is not numeric.",
            code="base-rate-type",
            argument=Argument(name, given),
            remedy="Give one number for each class.",
        ) from None
    if rates.ndim == 0 and n_classes == 2:
        rates = np.array([1.0 - float(rates), float(rates)])
    if rates.shape != (n_classes,):
        raise UsageError(
            "{argument} has shape {shape}, but there are {n_classes} classes.",
            code="base-rate-shape",
            argument=Argument(name),
            shape=rates.shape,
            n_classes=n_classes,
            remedy="Give one base rate for each class.",
        )
    if not ((rates > 0) & (rates < 1)).all() or abs(rates.sum() - 1) > 1e-9:
        raise UsageError(
            "Base rates must be strictly between 0 and 1 and sum to 1, got {argument}.",
            code="base-rate-range",
            argument=Argument(name, rates.tolist()),
        )
    return rates
