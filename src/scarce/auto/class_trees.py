"""Frozen trees of several classes: a forest or a boosting of all classes at once, as plain arrays.

    forest      prob_k = mean over trees of the share of class k in the leaf of x
    boosting    prob = softmax(offset_k + sum over iterations of value[leaf of x in tree k])

As trees.py for two classes: a model file needs neither pickle nor the library that grew the trees.
A leaf keeps its row of the values where other nodes keep their left child: shares of all classes in
a forest, one number in boosting, whose trees belong to the classes in turn (of two classes, all to
the second). Trees are grown on ranks of the columns. Does not grow them: see joint.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from scarce.auto.trees import LARGEST, NO_LEVELS, Levels, boosted_nodes
from scarce.engine.block import Array
from scarce.errors import inconsistent_model, refuse_array

NODES = ("feature_", "threshold_", "left_", "right_", "missing_left_")
KINDS = {"feature_": "i", "left_": "i", "right_": "i", "missing_left_": "b"}
Value = Callable[[Array, NDArray[np.intp]], Array]  # thresholds in units of the columns
Nodes = tuple[NDArray[Any], ...]


class ClassTrees(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Frozen trees of several classes: predicts, goes into a model file, cannot be fitted.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    n_features_in_ : int
    roots_ : ndarray of shape (n_trees,)
    feature_, threshold_, left_, right_, missing_left_ : ndarray of shape (n_nodes,)
        As in `scarce.auto.trees.TreeEnsemble`; `left_` of a leaf is its row of `value_`.
    value_ : ndarray of shape (n_leaves, n_classes) or (n_leaves, 1)
        Shares of all classes in a leaf (forest), or its score (boosting).
    offset_ : ndarray of shape (n_classes,)

    **Assumes** columns in the order of the fit; NaN is a missing value.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = np.arange(30.0)[:, None], np.arange(30) // 10
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> frozen = freeze_classes(forest, 1)
    >>> bool(np.allclose(frozen.predict_proba(X), forest.predict_proba(X), rtol=1e-12))
    True
    """

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes, shape (n, n_classes)."""
        return np.asarray(self.staged_prob(np.asarray(X, dtype=np.float64), [self.rounds])[0])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    @property
    def shares(self) -> bool:
        """Whether leaves hold shares of all classes."""
        return bool(self.value_.shape[1] > 1)

    @property
    def per_round(self) -> int:
        """How many trees one round adds."""
        return 1 if self.shares or len(self.classes_) == 2 else len(self.classes_)

    @property
    def rounds(self) -> int:
        """How many rounds of trees there are."""
        return len(self.roots_) // self.per_round

    def staged_prob(self, X: Array, counts: Sequence[int]) -> Array:
        """Return the probabilities by the first rounds of trees: (counts, n, n_classes).

        `counts` increase; one above the number of rounds means all.
        """
        ends = np.minimum(np.asarray(counts, dtype=np.int64), self.rounds)
        total = walk_classes(
            np.ascontiguousarray(X),
            self.roots_,
            self.feature_,
            self.threshold_,
            self.left_,
            self.right_,
            self.missing_left_,
            self.value_,
            self.offset_,
            ends * self.per_round,
        )
        if self.shares:
            return np.asarray(total / ends[:, None, None])
        return np.asarray(softmax(total, axis=2))

    def first(self, count: int) -> ClassTrees:
        """Return the first rounds of trees, or all if there are fewer."""
        part = ClassTrees()
        part.__dict__.update(self.__dict__)
        trees = count * self.per_round
        if trees < len(self.roots_):
            end = int(self.roots_[trees])
            part.roots_ = self.roots_[:trees].copy()
            for name in NODES:
                setattr(part, name, getattr(self, name)[:end].copy())
            part.value_ = self.value_[: int((part.feature_ < 0).sum())].copy()
        return part

    def _check_loaded(self) -> None:
        """Refuse arrays on which a walk could leave the tree, never end, or give no number."""
        if not hasattr(self, "roots_"):
            return
        n, k = len(self.feature_), len(self.classes_)
        for name in NODES:
            refuse_array(name, getattr(self, name), (n,), KINDS.get(name, "f"))
        if self.value_.ndim != 2 or self.value_.shape[1] not in (1, k) or k < 2:
            raise inconsistent_model("value_", f"must have 1 or {k} columns")
        refuse_array("offset_", self.offset_, (k,), "f")
        for name in ("threshold_", "value_", "offset_"):
            if not np.isfinite(getattr(self, name)).all():
                raise inconsistent_model(name, "must be finite")
        if self.shares and ((self.value_ < 0) | (self.value_ > 1)).any():
            raise inconsistent_model("value_", "must be from 0 to 1")
        roots = self.roots_
        if roots.ndim != 1 or roots.dtype.kind != "i" or len(roots) == 0:
            raise inconsistent_model("roots_", "must be a list of node numbers")
        if roots.min() < 0 or roots.max() >= n or len(roots) % self.per_round:
            raise inconsistent_model("roots_", f"must be from 0 to {n - 1}, of each class as many")
        if (self.feature_ < -1).any() or (self.feature_ >= self.n_features_in_).any():
            raise inconsistent_model("feature_", f"must be from -1 to {self.n_features_in_ - 1}")
        inner, leaf = np.flatnonzero(self.feature_ >= 0), self.feature_ < 0
        for name in ("left_", "right_"):
            child = getattr(self, name)[inner]
            # Children after their parent: every walk goes forward, so it ends.
            if (child <= inner).any() or (child >= n).any():
                raise inconsistent_model(name, f"must lead forward within the {n} nodes")
        if (self.left_[leaf] < 0).any() or (self.left_[leaf] >= len(self.value_)).any():
            raise inconsistent_model("left_", f"must be a row of {len(self.value_)} in a leaf")


@njit(nogil=True, cache=True)
def walk_classes(  # type: ignore[no-untyped-def]
    X, roots, feature, threshold, left, right, missing_left, value, offset, counts
):
    """Sum the leaves of each row by class, tree after tree, and keep some sums."""
    n_classes = len(offset)
    total = np.empty((len(X), n_classes))
    total[:] = offset
    kept = np.empty((len(counts), len(X), n_classes))
    place = 0
    for number in range(counts[-1]):
        for row in range(len(X)):
            node = roots[number]
            while feature[node] >= 0:
                x = X[row, feature[node]]
                go_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if go_left else right[node]
            if value.shape[1] == 1:
                total[row, 1 if n_classes == 2 else number % n_classes] += value[left[node], 0]
            else:
                for k in range(n_classes):
                    total[row, k] += value[left[node], k]
        while place < len(counts) and number + 1 == counts[place]:
            kept[place] = total
            place += 1
    return kept


def freeze_classes(
    model: BaseEstimator,
    n_columns: int,
    columns: NDArray[np.intp] | None = None,
    value: Value = lambda threshold, feature: threshold,
    levels: Levels = NO_LEVELS,
) -> ClassTrees:
    """Copy a fitted forest, or histogram boosting, of several classes into plain arrays.

    Parameters
    ----------
    model : RandomForestClassifier, ExtraTreesClassifier or HistGradientBoostingClassifier
    n_columns : int
        Of the rows to predict.
    columns : ndarray of int, optional
        Which of them each column of the fit is.
    value : callable, optional
        Thresholds in units of the columns, from thresholds and the fit's columns.
    levels : Levels, optional
        What codes of categories stand for, in histogram boosting.
    """
    boosted = hasattr(model, "_predictors")
    grown = [_boosted(t, levels) for ts in model._predictors for t in ts] if boosted else None
    parts = grown if grown is not None else [_forest(one.tree_) for one in model.estimators_]
    frozen, n_classes = ClassTrees(), len(model.classes_)
    frozen.classes_, frozen.n_features_in_ = np.arange(n_classes), n_columns
    sizes = np.array([len(part[0]) for part in parts])
    starts = np.cumsum(sizes) - sizes
    feature, threshold, left, right, missing_left, values = (
        np.concatenate([part[at] for part in parts]) for at in range(6)
    )
    leaf, inner = feature < 0, np.flatnonzero(feature >= 0)
    shift = np.repeat(starts, sizes)
    frozen.roots_ = starts.astype(np.int32)
    frozen.left_ = np.where(leaf, np.cumsum(leaf) - 1, left + shift).astype(np.int32)
    frozen.right_ = np.where(leaf, 0, right + shift).astype(np.int32)
    frozen.missing_left_ = missing_left.astype(np.bool_)
    frozen.threshold_ = np.zeros(len(feature))
    given = value(threshold[inner], feature[inner])
    frozen.threshold_[inner] = np.clip(given, -LARGEST, LARGEST)
    if columns is not None:
        feature[inner] = columns[feature[inner]]
    frozen.feature_ = feature.astype(np.int32)
    frozen.value_ = np.ascontiguousarray(values[leaf], dtype=np.float64)
    frozen.offset_ = np.zeros(n_classes)
    if boosted:  # of two classes only the second has a score
        start = np.ravel(model._baseline_prediction)
        frozen.offset_[n_classes - len(start) :] = start
    frozen._check_loaded()
    return frozen


def _boosted(grown: Any, levels: Levels) -> Nodes:
    nodes = boosted_nodes(grown, levels)
    return (*nodes[:5], nodes.value[:, None])


def _forest(grown: Any) -> Nodes:
    leaf = grown.children_left < 0
    return (
        np.where(leaf, -1, grown.feature).astype(np.intp),
        np.where(leaf, 0.0, grown.threshold),
        grown.children_left,
        grown.children_right,
        grown.__getstate__()["nodes"]["missing_go_to_left"],
        grown.value[:, 0, :],
    )
