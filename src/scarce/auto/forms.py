"""Rows as the members take them where values are missing.

    members               a missing value is
    logit                 integrated out: its mean and covariance given what was seen of the row
    spline, kernel        its mean given what was seen, within the range that was seen
    forest, extra-trees   the same, and beside it whether it was missing
    boosting, gaussian    missing; boosting: its mean in columns in which hardly any was missing

Means and covariances are those of one normal distribution of all columns (missing/front.py), fitted
once to all labelled rows of the fit without their labels. Complete rows are the same in every form.
Assumes values missing at random given those seen; whether one is missing may itself say something.
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import cast

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.missing.front import Front

FORMS = {
    "logit": "spread",
    "spline": "filled",
    "kernel": "filled",
    "flic": "filled",
    "forest": "marked",
    "extra-trees": "marked",
    "boosting": "raw",
    "catboost": "raw",
    "lightgbm": "raw",
    "gaussian": "as it is",
}
OWN = "zeros"  # what an estimator of the user's own gets: NaN, but 0 in categories
SHARE = 0.01  # of a column's values: with fewer missing or seen, nothing is learnt from which


@dataclass(frozen=True, eq=False)
class Inputs:
    """Rows in the members' columns, in every form.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        NaN where a value is missing.
    front : Front or None
        None: only complete rows can be given.
    marked : ndarray of int
        Columns for which members are told whether a value is missing.
    often : ndarray of bool, shape (d,)
        Columns in which values were missing often enough for boosting to learn from it.
    category : ndarray of bool, shape (d,)
        One-hot columns.

    Examples
    --------
    >>> from scarce.missing.front import fit_front
    >>> X = np.array([[1.0, 2.0], [2.0, 4.0], [3.0, 6.0], [3.0, np.nan]])
    >>> rows = Inputs(X, fit_front(X), np.array([1]), np.array([False, True]), np.zeros(2, bool))
    >>> rows.of("marked")[2:].round(1)
    array([[3. , 6. , 0. ],
           [3. , 4.7, 1. ]])
    """

    X: Array
    front: Front | None
    marked: NDArray[np.intp]
    often: NDArray[np.bool_]
    category: NDArray[np.bool_]

    @cached_property
    def missing(self) -> NDArray[np.bool_]:
        """Which values are missing."""
        return np.isnan(self.X)

    @cached_property
    def filled(self) -> Array:
        """The rows, completed within the range that was seen."""
        if self.front is None or not self.missing.any():
            return self.X
        return self.front.complete(self.X, clip=True)

    def of(self, form: str) -> Array:
        """Return the rows in one form.

        "spread" of rows with missing values is a `Completed`, which only the logit takes.
        """
        if form == "filled":
            return self.filled
        if form == "marked":
            return np.hstack([self.filled, self.missing[:, self.marked]])
        if form == OWN:
            return np.where(self.missing & self.category, 0.0, self.X)
        if form == "raw":
            return np.where(self.missing & ~self.often, self.filled, self.X)
        if form == "spread" and self.front is not None and self.missing.any():
            return cast(Array, self.front.spread(self.X))
        return self.X


def which_marked(X: Array, weight: Array) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the columns to mark, each pattern once, and those in which values are often missing.

    Examples
    --------
    >>> X = np.where([[0, 1, 1], [0, 0, 0]], np.nan, 1.0)
    >>> which_marked(X, np.ones(2))
    (array([1]), array([False,  True,  True]))
    """
    missing = np.isnan(X)
    share = weight @ missing / weight.sum()
    often = share >= SHARE
    places = np.flatnonzero(often & (share <= 1.0 - SHARE))
    if not len(places):
        return places, often
    _, first = np.unique(missing[:, places], axis=1, return_index=True)
    return np.sort(places[first]), often
