"""Columns as trees are grown on them: ranks of numbers, codes of categories.

    number     rank 1, 2, ... of its value; a threshold between ranks goes half-way between values
    category   of 3 to 63 levels: one code, which trees split into two sets of levels

Categories come as one-hot columns, and frozen trees ask about these (trees.py). Assumes that rows
to be coded have values and levels that the fit had seen. Does not grow trees.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator

from scarce.auto.trees import LARGEST, Levels, TreeEnsemble, freeze
from scarce.engine.block import Array

BINS = 64  # of a column, for boosting
FEWEST_LEVELS = 3  # of a category that is one column of codes


class Ranks:
    """Values of each column as ranks 1, 2, ..., and thresholds between ranks as values again.

    Libraries bin, round to single precision or treat 0 specially; on ranks they depend on the order
    of the values alone. Categories of 3 to 63 levels may become one column of codes each, before
    the ranks.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        The rows of a fit.
    columns : ndarray of int, optional
        Those to use; a category is used whole if one of its columns is.
    group : ndarray of int, shape (d,), optional
        The category of each one-hot column, -1 for a number.

    Examples
    --------
    >>> ranks = Ranks(np.array([[1e9], [3e9], [1e9]]))
    >>> ranks.coded(np.array([[3e9], [np.nan]])).ravel(), ranks.value(np.array([1.5]), [0])
    (array([ 2., nan]), array([2.e+09]))
    >>> ranks = Ranks(np.column_stack([np.eye(3), [5.0, 6, 7]]), group=np.array([0, 0, 0, -1]))
    >>> ranks.coded(np.array([[0.0, 0, 1, 6], [np.nan, np.nan, np.nan, 5]]))
    array([[ 2.,  2.],
           [nan,  1.]])
    """

    def __init__(
        self,
        X: Array,
        columns: NDArray[np.intp] | None = None,
        group: NDArray[np.intp] | None = None,
    ) -> None:
        self.n_columns = X.shape[1]
        columns = np.arange(self.n_columns) if columns is None else columns
        self.joined: list[NDArray[np.intp]] = []
        codes, none = list[NDArray[np.intp]](), list[int]()
        for number in () if group is None else np.unique(group[columns]).tolist():
            levels = np.flatnonzero(group == number)
            level = which_level(X[:, levels])
            seen = np.unique(level[~np.isnan(level)]).astype(np.intp)
            if number < 0 or not FEWEST_LEVELS <= len(seen) < BINS:
                continue
            code = np.full(len(levels) + 1, -1)
            code[seen] = np.arange(len(seen))
            self.joined.append(levels)
            codes.append(code[:-1])
            none.append(int(code[-1]))
        self.levels = Levels(tuple(codes), tuple(none))
        self.ranked = np.setdiff1d(columns, np.concatenate([*self.joined, []])).astype(np.intp)
        self.values = [np.unique(X[~np.isnan(X[:, j]), j]) for j in self.ranked]
        # As frozen trees number them: one-hot columns of the joined categories, then the others.
        self.columns = np.concatenate([*self.joined, self.ranked]).astype(np.intp)

    @property
    def categorical(self) -> NDArray[np.bool_]:
        """Which of the coded columns hold codes of categories."""
        return np.arange(len(self.joined) + len(self.ranked)) < len(self.joined)

    def coded(self, X: Array) -> Array:
        """Return codes and ranks of values that are among those of the fit."""
        codes = np.empty((len(X), len(self.joined) + len(self.ranked)))
        for c, levels in enumerate(self.joined):
            level = which_level(X[:, levels])
            code = np.append(self.levels.codes[c], self.levels.none[c])
            codes[:, c] = np.where(np.isnan(level), np.nan, code[np.nan_to_num(level).astype(int)])
        for j, values in enumerate(self.values, len(self.joined)):
            x = X[:, self.ranked[j - len(self.joined)]]
            codes[:, j] = np.searchsorted(values, x) + 1.0
            codes[np.isnan(x), j] = np.nan if len(values) > 1 else 1.0
        return codes

    def value(self, threshold: Array, feature: ArrayLike) -> Array:
        """Return thresholds in units of the columns, from thresholds between ranks."""
        found, first = np.array(threshold), len(self.columns) - len(self.ranked)
        for j in np.unique(feature):
            if j < first:  # a one-hot column
                continue
            mine, values = np.flatnonzero(np.asarray(feature) == j), self.values[j - first]
            at = np.clip(threshold[mine] - 1.0, -1.0, len(values))
            low = np.clip(np.floor(at), 0, len(values) - 1).astype(np.intp)
            high = np.minimum(low + 1, len(values) - 1)
            between = values[low] * (1.0 - (at - low)) + values[high] * (at - low)
            # Not below the lower value, and below the upper one, whatever the rounding.
            between = np.clip(between, values[low], np.nextafter(values[high], -np.inf))
            between = np.where(at >= len(values) - 1, LARGEST, between)
            found[mine] = np.where(at < 0, -LARGEST, between)
        return found

    def freeze(self, grown: BaseEstimator) -> TreeEnsemble:
        """Return trees that were grown on ranks, with thresholds in units of the columns."""
        frozen = freeze(grown, self.levels)
        inner = np.flatnonzero(frozen.feature_ >= 0)
        frozen.threshold_[inner] = self.value(frozen.threshold_[inner], frozen.feature_[inner])
        frozen.feature_[inner] = self.columns[frozen.feature_[inner]]
        frozen.n_features_in_ = self.n_columns
        frozen.single_, frozen.tiny_ = False, 0.0
        return frozen


def which_level(X: Array) -> Array:
    """Return the position of each row's level among one-hot columns; their number where none is.

    Examples
    --------
    >>> which_level(np.array([[0.0, 1.0], [0.0, 0.0], [np.nan, np.nan]]))
    array([ 1.,  2., nan])
    """
    level = np.where((X > 0.5).any(axis=1), np.argmax(X > 0.5, axis=1), X.shape[1]) * 1.0
    level[np.isnan(X).any(axis=1)] = np.nan
    return np.asarray(level)
