"""How undecided is a row: by the entropy of its classes, by their margin, or in money?

    entropy  - sum over classes of p log p                                        (003 section 0.7)
    margin   1 - (greatest p - second greatest p)
    cost     expected cost now - expected cost if the class were known

DEVIATION from 003 section 0.7, which prints arg min of the entropy beside "highest entropy": the
words are right (test_uncertainty_is_greatest_entropy). Assumes probabilities. Chooses nothing: see
labels.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr

from scarce.checks import column
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, refuse_word

SUM_TOLERANCE = 1e-4  # probabilities of classes in single precision still sum to 1


def uncertainty(scores: ArrayLike, by: str = "entropy", costs: Any = None) -> Array:
    """Return how undecided each row is, from 0 up: what a label of it would settle.

    Parameters
    ----------
    scores : array-like of shape (n,) or (n, n_classes)
        Probabilities.
    by : {"entropy", "margin", "cost"}
    costs : CostMatrix, optional
        For "cost".

    Examples
    --------
    >>> uncertainty([0.5, 0.9, 1.0]).round(3)
    array([0.693, 0.325, 0.   ])
    >>> uncertainty([0.5, 0.9], by="margin").round(3)
    array([1. , 0.2])
    >>> uncertainty([0.5, 0.02], "cost", [[0, 400], [5, 0]])
    array([2.5, 4.9])
    """
    refuse_word("by", by, ("entropy", "margin", "cost"))
    if (costs is None) != (by != "cost"):
        raise UsageError("by='cost' needs costs=, and only by='cost' takes it.")
    prob = _probabilities(scores)
    fine = (prob >= 0) & (prob <= 1)
    if not fine.all():
        place = tuple(np.argwhere(~fine)[0])
        raise DataError(
            f"scores holds {prob[place]:g} at row {place[0]:,}: uncertainty needs probabilities "
            "between 0 and 1, such as predict_proba(X). For other scores take policy='adaptive'."
        )
    if prob.ndim == 1:
        prob = np.column_stack([1.0 - prob, prob])
    total = prob.sum(axis=1)
    off = np.flatnonzero(np.abs(total - 1) > SUM_TOLERANCE)
    if len(off):
        raise DataError(
            f"scores of row {off[0]:,} sum to {total[off[0]]:g}: probabilities of the classes sum "
            "to 1. Pass predict_proba(X) with all its columns."
        )
    if by == "cost":
        from scarce.decisions.asking import value_of_asking

        return np.asarray(value_of_asking(prob, costs).value)
    if by == "entropy":
        return np.asarray(entr(prob).sum(axis=1))
    two = np.partition(prob, -2, axis=1)[:, -2:]
    return np.asarray(1.0 - (two[:, 1] - two[:, 0]))


def _probabilities(scores: Any) -> Array:
    """Read one probability per row, or one per row and class."""
    held = scores
    if isinstance(scores, (list, tuple)):
        try:
            held = np.asarray(scores)
        except ValueError:
            raise DataError(
                "scores has rows of different lengths: uncertainty needs one probability per row, "
                "or one per row and class, such as predict_proba(X)."
            ) from None
    elif len(np.shape(scores)) == 2 and not isinstance(scores, np.ndarray):  # a table
        held = scores.to_numpy() if hasattr(scores, "to_numpy") else np.asarray(scores)
    shape = np.shape(held)
    if len(shape) not in (1, 2) or 0 in shape:
        raise DataError(
            f"scores has shape {shape}: uncertainty needs one probability per row, or one per row "
            "and class, such as predict_proba(X)."
        )
    if len(shape) == 1 or shape[1] == 1:
        return column(held, "scores")
    return np.column_stack([column(held[:, at], "scores") for at in range(shape[1])])
