"""Recalibrate probabilities to a new base rate.

    p'(y | x)  is proportional to  p(y | x) * now_at[y] / trained_at[y]

After under-sampling, class weights, or labels revealed at class-dependent rates, a model's
probabilities are right only where the base rates are those of its training. Assumes that only the
base rates differ, not the rows within a class. Does not estimate either base rate.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import expit, logit

from scarce.checks import Shares, read_shares
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError

SUM_TOLERANCE = 1e-4  # probabilities in single precision still sum to 1


def correct_prior(
    prob: ArrayLike, trained_at: Shares, now_at: Shares, *, classes: ArrayLike | None = None
) -> Array:
    """Recalibrate probabilities from the base rates of training to those of use.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the positive class, or of every class.
    trained_at, now_at : float, array-like of shape (n_classes,), dict or pandas Series
        Base rates in training, and base rates where the probabilities are used. A single number is
        the base rate of the positive (last) class, an array is in the order of the columns. A dict
        {class: base rate} and a Series such as `y.value_counts(normalize=True)` are aligned by the
        name of the class; one class may be left out and gets the rest.
    classes : array-like of shape (n_classes,), optional
        Names of the classes in the order of the columns, such as `model.classes_`, for base rates
        by name. By default the names of the columns of a table, else 0, 1, ....

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
    >>> correct_prior([[0.2, 0.8]], 0.5, {"spam": 0.1}, classes=["ham", "spam"]).round(4)
    array([[0.6923, 0.3077]])
    """
    given = _probabilities(prob, "prob")
    if given.ndim == 2 and len(given):
        refuse_other_sum(given.sum(axis=1), "prob")
    n_classes = 2 if given.ndim == 1 else given.shape[1]
    order = _class_order(prob, classes, n_classes)
    before = read_shares(trained_at, order, "trained_at")
    after = read_shares(now_at, order, "now_at")
    warn_if_off = getattr(now_at, "warn_if_off", None)
    if warn_if_off is not None:  # an estimate that has seen what the probabilities average to
        warn_if_off(before)
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


def bounds_at(
    low: Array, high: Array, trained_at: Array, least: Array, most: Array
) -> tuple[Array, Array]:
    """Return bounds of probabilities recalibrated to base rates that are known between bounds.

    Parameters
    ----------
    low, high : ndarray of shape (n, n_classes)
        Bounds of the probabilities at the base rates `trained_at`.
    trained_at, least, most : ndarray of shape (n_classes,)

    Returns
    -------
    low, high : ndarray of shape (n, n_classes)
        Exact for two classes. For several each class is at one end and all others at their other
        one, which may be further than base rates that sum to 1 can go.

    Examples
    --------
    >>> prob = np.array([[0.5, 0.5]])
    >>> bounds_at(prob, prob, np.array([0.9, 0.1]), np.array([0.7, 0.1]), np.array([0.9, 0.3]))
    (array([[0.20588235, 0.5       ]]), array([[0.5       , 0.79411765]]))
    """
    lower, upper = low * (least / trained_at), high * (most / trained_at)
    of_lower, of_upper = lower.sum(axis=1, keepdims=True), upper.sum(axis=1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        below = lower / (lower + of_upper - upper)
        above = upper / (upper + of_lower - lower)
    return np.nan_to_num(below, nan=0.0), np.nan_to_num(above, nan=1.0)


def read_class_prob(prob: Any, name: str) -> Array:
    """Return probabilities of all classes, shape (n, n_classes), that sum to 1.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of every class.
    name : str
        The argument, for messages.

    Examples
    --------
    >>> read_class_prob([0.25], "prob")
    array([[0.75, 0.25]])
    """
    given = _probabilities(prob, name)
    if len(given) == 0:
        raise DataError("{argument} is empty.", code="no-rows", argument=Argument(name))
    if given.ndim == 1:
        return np.column_stack([1.0 - given, given])
    total = given.sum(axis=1)
    refuse_other_sum(total, name)
    return np.asarray(given / total[:, None])


def refuse_other_sum(total: Array, name: str) -> None:
    """Raise if the probabilities of a row do not sum to 1."""
    off = np.abs(total - 1.0) > SUM_TOLERANCE
    if off.any():
        row = int(np.argmax(off))
        raise DataError(
            "{argument} must sum to 1 over the classes, got {total:.6g} at row {row:,}.",
            code="prob-sum",
            argument=Argument(name),
            total=float(total[row]),
            row=row,
            remedy="Pass predict_proba(X).",
        )


def _probabilities(prob: Any, name: str) -> Array:
    """Return probabilities as given, one column or one for each class, each in [0, 1]."""
    try:
        if isinstance(prob, np.ma.MaskedArray):  # what is hidden is missing
            prob = np.ma.filled(prob.astype(np.float64), np.nan)
        given = np.asarray(prob, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise DataError(
            "{argument} must hold one probability per row, or one per class ({reason}).",
            code="not-a-number",
            argument=Argument(name),
            reason=str(error),
            remedy="Pass predict_proba(X).",
        ) from None
    if given.ndim not in (1, 2) or (given.ndim == 2 and given.shape[1] < 2):
        raise DataError(
            "{argument} must have one probability per row, or one column per class, got shape "
            "{shape}.",
            code="shape-mismatch",
            argument=Argument(name),
            shape=given.shape,
            remedy="Pass predict_proba(X), or its last column as one dimension.",
        )
    outside = ~((given >= 0) & (given <= 1))
    if outside.any():
        first = int(np.flatnonzero(outside.reshape(len(given), -1).any(axis=1))[0])
        raise DataError(
            "{argument} must be between 0 and 1, got {value} at row {row:,}.",
            code="prob-range",
            argument=Argument(name),
            value=given[first].tolist(),
            row=first,
            remedy="Pass predict_proba(X), not scores.",
        )
    return given


def _class_order(prob: Any, classes: ArrayLike | None, n_classes: int) -> list[Any] | int:
    """Return the names of the classes in the order of the columns, or how many there are."""
    if classes is None:
        named = hasattr(prob, "columns") and len(prob.columns) == n_classes
        return list(prob.columns) if named else n_classes
    order: list[Any] = np.asarray(classes).tolist()
    if len(order) != n_classes:
        raise UsageError(
            "{argument} names {count} classes, but prob is for {n_classes}.",
            code="class-mismatch",
            argument=Argument("classes"),
            count=len(order),
            n_classes=n_classes,
            remedy="Name them in the order of the columns.",
        )
    columns = list(getattr(prob, "columns", order))
    if columns != order and set(columns) == set(order):
        raise UsageError(
            "{argument} are {order}, but the columns of prob are {columns}.",
            code="class-mismatch",
            argument=Argument("classes"),
            order=order,
            columns=columns,
            remedy="Leave them out: the columns have names.",
        )
    return order
