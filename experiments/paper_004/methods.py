"""The four methods of 004 section 4: maxent on what is seen, or on imputed tables.

    half_width_j = width_scale * std of the seen cells of column j / sqrt(labelled rows with j seen)
                                                                         (004 section 4.2)
    width_scale by four-fold cross-validation over the labelled draws: log-likelihood of those held
    out, with p normalised over all places

An imputed table counts as seen throughout, so its columns have less spread and more labelled rows:
at one width_scale its boxes are narrower. Means of positives come from the training draws; they
are not taken anew in each fold. The paper gives no grid; ours was fixed by the range in which
choices fall. Reads no test draw.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper_004.imputers import GaussianEM, MeanOfAll, MeanOfPositives
from experiments.paper_004.printed import EM, MEAN_ALL, MEAN_POSITIVE, MISSING
from scarce import MaxentClassifier

Array = NDArray[np.float64]
Positions = NDArray[np.int64]

WIDTH_SCALES = (0.05, 0.1, 0.2, 0.35, 0.6, 1.0, 1.7, 3.0)
FOLDS = 4


class Density(NamedTuple):
    """Log probability of every place, which sums to one over them, and the chosen width."""

    log_prob: Array
    width_scale: float

    def log_likelihood(self, draws: Positions) -> float:
        """Return the summed log probability of draws, each as often as it was drawn."""
        return float(self.log_prob[draws].sum())


def fill(method: str, X: Array, labelled: Positions) -> Array:
    """Return the table that a method works on.

    Parameters
    ----------
    method : str
        One of printed.METHODS.
    X : ndarray of shape (n, k)
        All places; NaN where missing.
    labelled : ndarray of int
        Labelled draws; a place may occur more than once.

    Examples
    --------
    >>> X = np.array([[1.0], [3.0], [np.nan]])
    >>> [float(fill(m, X, np.array([0]))[2, 0]) for m in ("Missing", "Mean (all)")]
    [nan, 2.0]
    >>> float(fill("Mean (positive)", X, np.array([0]))[2, 0])
    1.0
    """
    if method == MISSING:
        return X
    if method == MEAN_ALL:
        return np.asarray(MeanOfAll().fit_transform(X))
    if method == MEAN_POSITIVE:
        return MeanOfPositives().fit(*draws_as_rows(X, labelled)[:2]).transform(X)
    if method == EM:
        return np.asarray(GaussianEM().fit_transform(X))
    raise ValueError(f"method={method!r} is not known")


def density(X: Array, labelled: Positions, seed: int) -> Density:
    """Choose a width on the labelled draws and fit the density of places.

    Parameters
    ----------
    X : ndarray of shape (n, k)
        All places; NaN where missing.
    labelled : ndarray of int
        Labelled draws; a place may occur more than once.
    seed : int
        Of the folds.
    """
    rows, y, weight = draws_as_rows(X, labelled)
    model = maxent(width_scale="auto", width_scales=WIDTH_SCALES, cv=folds(y, seed))
    model.fit(rows, y, background_weight=weight)
    return Density(np.log(model.density_ratio(X)) - np.log(len(X)), float(model.width_scale_))


def draws_as_rows(X: Array, labelled: Positions) -> tuple[Array, Array, Array]:
    """Return rows, labels and weights in the pool: a place drawn twice is two rows of weight 1/2.

    Examples
    --------
    >>> draws_as_rows(np.array([[0.0], [1.0], [2.0]]), np.array([1, 1]))[1:]
    (array([nan, nan,  1.,  1.]), array([1. , 1. , 0.5, 0.5]))
    """
    times = np.bincount(labelled, minlength=len(X))
    others = np.flatnonzero(times == 0)
    y = np.concatenate([np.full(others.size, np.nan), np.ones(labelled.size)])
    weight = np.concatenate([np.ones(others.size), 1.0 / times[labelled]])
    return X[np.concatenate([others, labelled])], y, weight


def maxent(**settings: Any) -> MaxentClassifier:
    """Return the density estimator with the paper's features and boxes."""
    return MaxentClassifier("entropy", features="l", knots_at="uniform", spread="seen", **settings)


def folds(y: Array, seed: int) -> list[tuple[Positions, Positions]]:
    """Return rows to train on and to hold out, for each part of the labelled rows.

    Examples
    --------
    >>> y = np.repeat([np.nan, 1.0], [150, 50])
    >>> [held.size for _, held in folds(y, 0)]
    [13, 13, 12, 12]
    """
    order = np.random.default_rng(seed).permutation(np.flatnonzero(y == 1.0))
    every = np.arange(y.size)
    return [(np.setdiff1d(every, held), np.sort(held)) for held in np.array_split(order, FOLDS)]
