"""What does each row lose by its probabilities, given what happened?

    log    -log prob(of what happened), in nats
    brier  half of the squared distance between the probabilities and what happened;
           (prob - y)^2 where there are two classes

The one definition of both for the whole package. With two classes there is one probability a row,
with several one column each; the Brier score of both runs from 0 to 1. Averages nothing: see
evaluation/scores.py for means with intervals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import log_expit

from scarce.errors import refuse_word

Array = NDArray[np.float64]

LOSSES = ("log", "brier")


def row_losses(y: ArrayLike, prob: ArrayLike, loss: str) -> Array:
    """Return what each row loses; infinite where what happened had probability 0.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Positions of the classes, from 0 on.
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of class 1, or of each class.
    loss : {"log", "brier"}

    Examples
    --------
    >>> row_losses([0, 1], [0.2, 0.9], "brier").round(3)
    array([0.04, 0.01])
    >>> row_losses([0, 1], [[0.8, 0.2], [0.1, 0.9]], "brier").round(3)
    array([0.04, 0.01])
    """
    refuse_word("loss", loss, LOSSES)
    place, p = np.asarray(y, dtype=np.intp), np.asarray(prob, dtype=np.float64)
    if p.ndim == 1:
        return binary_losses(place, p, loss)
    happened = p[np.arange(len(p)), place]
    if loss == "brier":
        return np.asarray(((p**2).sum(axis=1) - 2 * happened + 1) / 2)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(happened))


def binary_losses(y: ArrayLike, prob: ArrayLike, loss: str) -> Array:
    """Return the losses of probabilities of class 1, of any shape that `y` (0 or 1) broadcasts to.

    Examples
    --------
    >>> binary_losses([[0], [1]], [[0.2, 0.5], [0.9, 0.5]], "brier").round(3)
    array([[0.04, 0.25],
           [0.01, 0.25]])
    """
    outcome, p = np.asarray(y), np.asarray(prob, dtype=np.float64)
    if loss == "brier":
        return np.asarray((p - outcome) ** 2)
    event = np.broadcast_to(outcome == 1, p.shape)  # few as a rule: one logarithm for most values
    with np.errstate(divide="ignore"):
        lost = np.atleast_1d(np.log1p(-p))
        lost[event] = np.log(p[event])
    return np.asarray(-lost).reshape(p.shape)


def score_log_losses(y: ArrayLike, score: ArrayLike) -> Array:
    """Return the log loss of each row of two classes from log odds, exact at any size of score.

    Examples
    --------
    >>> score_log_losses([1, 0, 1], [0.0, -800.0, -800.0]).round(4)
    array([6.931e-01, 0.000e+00, 8.000e+02])
    """
    odds = np.asarray(score, dtype=np.float64)
    return np.asarray(-log_expit(np.where(np.asarray(y) == 1, odds, -odds)))


def losses_if(prob: ArrayLike, k: int, loss: str) -> Array:
    """Return what each row would lose if class k happened, always finite.

    An infinite loss is replaced by the greatest finite one, and by at least log(n + 2): after n
    rows without such a surprise the next one has a chance of 1 in n + 2 (Laplace).

    Examples
    --------
    >>> losses_if([0.0, 0.5], 1, "log").round(3)
    array([1.386, 0.693])
    """
    lost = row_losses(np.full(len(np.asarray(prob)), k), prob, loss)
    infinite = np.isinf(lost)
    if infinite.any():
        lost[infinite] = lost[~infinite].max(initial=np.log(len(lost) + 2.0))
    return lost
