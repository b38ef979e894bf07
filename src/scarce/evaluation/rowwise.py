"""What does each row lose by its probabilities, given what happened, or if something else had?

    log    -log prob(of what happened), in nats
    brier  half of the squared distance between the probabilities and what happened

Two classes have one probability a row, several have a column each; the Brier score of both runs
from 0 to 1. Averages nothing: see redrawn.py for means with intervals.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike

from scarce.engine.block import Array
from scarce.errors import refuse_word

LOSSES = ("log", "brier")


def row_losses(y: ArrayLike, prob: ArrayLike, loss: str) -> Array:
    """Return what each row loses.

    Parameters
    ----------
    y : array-like of int, shape (n,)
        Positions of the classes, from 0 on.
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of class 1, or of each class.
    loss : {"log", "brier"}
        -log of the probability of what happened, in nats; or half of the squared distance between
        the probabilities and what happened, which for two classes is (prob - y)^2.

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
        if loss == "brier":
            return np.asarray((p - place) ** 2)
        with np.errstate(divide="ignore"):
            return np.asarray(-np.where(place == 1, np.log(p), np.log1p(-p)))
    happened = p[np.arange(len(p)), place]
    if loss == "brier":
        return np.asarray(((p**2).sum(axis=1) - 2 * happened + 1) / 2)
    with np.errstate(divide="ignore"):
        return np.asarray(-np.log(happened))


def finite_losses(prob: ArrayLike, k: int, loss: str) -> Array:
    """Return what each row would lose if class k happened, with something finite for infinity.

    The greatest finite loss, and at least log(n + 2): after n rows without such a surprise the next
    one has a chance of 1 in n + 2 (Laplace).

    Examples
    --------
    >>> finite_losses([0.0, 0.5], 1, "log").round(3)
    array([1.386, 0.693])
    """
    lost = row_losses(np.full(len(np.asarray(prob)), k), prob, loss)
    endless = np.isinf(lost)
    if endless.any():
        lost[endless] = lost[~endless].max(initial=np.log(len(lost) + 2.0))
    return lost
