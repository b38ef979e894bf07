"""Frozen trees: a fitted tree ensemble as plain arrays, without the library that grew it.

    score(x) = offset + sum over trees of value[leaf of x]        link "logit": prob = expit(score)
    leaf: from the root, left where x[feature] <= threshold, right otherwise; NaN as the node says

`freeze` copies a fitted binary classifier of scikit-learn (histogram boosting, random forest, extra
trees), LightGBM or CatBoost. A model file with these arrays needs neither pickle nor the library,
and predicts the same bits before and after. Assumes numeric columns; a split of categories into two
sets can be frozen where it is known which one-hot columns they stand for (`Levels`). Does not grow
trees.
"""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import validate_data

from scarce.engine.block import Array
from scarce.errors import UsageError, inconsistent_model, listed, refuse_array

LARGEST = np.finfo(np.float64).max
LINKS = ("logit", "share")
LIGHTGBM_ZERO = float(np.float32(1e-35))  # its kZeroThreshold: smaller values are read as 0


class Nodes(NamedTuple):
    """The nodes of one tree, root first, children after their parent; feature -1 marks a leaf."""

    feature: NDArray[np.integer[Any]]
    threshold: Array
    left: NDArray[np.integer[Any]]
    right: NDArray[np.integer[Any]]
    missing_left: NDArray[np.bool_]
    value: Array


class Levels(NamedTuple):
    """Which one-hot columns the first columns of a fit, codes of categories, stand for.

    Columns of the frozen trees are numbered: the one-hot columns of the first category, of the
    second and so on, then the other columns of the fit.

    Parameters
    ----------
    codes : tuple of ndarray of int
        Of each category, the code in the fit of each of its one-hot columns; -1: not seen there.
    none : tuple of int
        The code of rows that have none of these levels; -1: there were none.
    """

    codes: tuple[NDArray[np.intp], ...] = ()
    none: tuple[int, ...] = ()


NO_LEVELS = Levels()


class TreeEnsemble(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A frozen binary tree ensemble: predicts, goes into a model file, cannot be fitted.

    Made by `freeze`. Its probabilities are those of the library that grew the trees, to 1e-12.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    n_features_in_ : int
    roots_ : ndarray of shape (n_trees,)
        Where each tree begins in the node arrays.
    feature_, threshold_, left_, right_, missing_left_, value_ : ndarray of shape (n_nodes,)
        Column that a node splits on (-1 in a leaf), its threshold, its children, where a missing
        value goes, and what a leaf adds to the score.
    offset_, scale_ : float
        score = offset + scale * sum of the leaves.
    link_ : {"logit", "share"}
        Whether the score is log-odds, or already a probability (forests).
    single_ : bool
        Whether the library compares in single precision, as forests and CatBoost do.
    odds_ : float
        Factor of the odds of the second class: 1, or what puts back rows of the first class that
        were left out of the fit.
    tiny_ : float
        Values up to this size count as 0: 1e-35 in LightGBM, elsewhere 0.

    **Assumes** columns in the order of the fit; NaN is a missing value.

    Examples
    --------
    >>> from sklearn.ensemble import RandomForestClassifier
    >>> X, y = np.arange(20.0)[:, None], np.arange(20) > 12
    >>> forest = RandomForestClassifier(5, random_state=0).fit(X, y)
    >>> frozen = freeze(forest)
    >>> frozen
    TreeEnsemble()
    >>> bool((frozen.predict_proba(X) == forest.predict_proba(X)).all())
    True
    """

    def decision_function(self, X: ArrayLike) -> Array:
        """Return the score of each row: log-odds or a probability, as `link_` says."""
        if not hasattr(self, "roots_"):
            raise UsageError(
                "This TreeEnsemble has no trees.",
                code="not-fitted",
                remedy="Make one with freeze(model).",
            )
        features = validate_data(
            self, X, dtype=np.float64, ensure_all_finite="allow-nan", reset=False
        )
        return np.asarray(self.staged(features, [len(self.roots_)])[0])

    def staged(self, X: Array, counts: Sequence[int]) -> Array:
        """Return the scores of a float64 matrix by the first `counts` trees, unchecked.

        Parameters
        ----------
        X : ndarray of shape (n, n_features_in_)
        counts : increasing integers >= 1
            A number above that of the trees means all: a library may find no further split.

        Returns
        -------
        ndarray of shape (len(counts), n)
        """
        if self.single_:
            with np.errstate(over="ignore"):
                X = X.astype(np.float32).astype(np.float64)
        if self.tiny_ > 0:
            X = np.where(np.abs(X) <= self.tiny_, 0.0, X)
        total = walk(
            np.ascontiguousarray(X),
            self.roots_,
            self.feature_,
            self.threshold_,
            self.left_,
            self.right_,
            self.missing_left_,
            self.value_,
            0.0 if self.scale_ != 1.0 else self.offset_,
            np.asarray(counts, dtype=np.int64),
        )
        if self.link_ == "share":
            return np.asarray(total / np.minimum(counts, len(self.roots_))[:, None])
        return total if self.scale_ == 1.0 else np.asarray(self.scale_ * total + self.offset_)

    def staged_prob(self, X: Array, counts: Sequence[int]) -> Array:
        """Return probabilities of the second class by the first `counts` trees, unchecked."""
        scores = self.staged(X, counts)
        return np.asarray(self._both(scores)[1])

    def _both(self, score: Array) -> tuple[Array, Array]:
        """Return the probabilities of the two classes at some scores."""
        if self.link_ == "share":
            if self.odds_ == 1.0:
                return 1.0 - score, score
            total = 1.0 - score + self.odds_ * score
            return (1.0 - score) / total, self.odds_ * score / total
        score = score if self.odds_ == 1.0 else score + np.log(self.odds_)
        return np.asarray(expit(-score)), np.asarray(expit(score))

    def first(self, count: int) -> TreeEnsemble:
        """Return the ensemble of the first `count` trees, or of all if there are fewer."""
        part = TreeEnsemble()
        part.__dict__.update(self.__dict__)
        end = len(self.feature_) if count >= len(self.roots_) else int(self.roots_[count])
        part.roots_ = self.roots_[:count].copy()
        for field in Nodes._fields:
            setattr(part, f"{field}_", getattr(self, f"{field}_")[:end].copy())
        return part

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return both classes' probabilities, shape (n, 2)."""
        return np.column_stack(self._both(self.decision_function(X)))

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_loaded(self) -> None:
        """Refuse arrays on which a walk could leave the tree, never end, or give no number."""
        if not hasattr(self, "roots_"):
            return
        n = len(self.feature_)
        kinds = {"feature_": "i", "left_": "i", "right_": "i", "missing_left_": "b"}
        for name in ("feature_", "threshold_", "left_", "right_", "missing_left_", "value_"):
            refuse_array(name, getattr(self, name), (n,), kinds.get(name, "f"))
        for name in ("threshold_", "value_", "offset_", "scale_", "tiny_"):
            if not np.isfinite(getattr(self, name)).all():
                raise inconsistent_model(name, "must be finite")
        if not 0 < self.odds_ < np.inf:
            raise inconsistent_model("odds_", "must be above 0 and finite")
        if self.link_ not in LINKS:
            raise inconsistent_model("link_", f"must be one of {LINKS}")
        if type(self.single_) is not bool:
            raise inconsistent_model("single_", "must be True or False")
        if np.shape(self.classes_) != (2,):
            raise inconsistent_model("classes_", "must be two")
        roots = self.roots_
        if roots.ndim != 1 or roots.dtype.kind != "i" or len(roots) == 0:
            raise inconsistent_model("roots_", "must be a list of node numbers")
        if roots.min() < 0 or roots.max() >= n:
            raise inconsistent_model("roots_", f"must be from 0 to {n - 1}")
        if (self.feature_ < -1).any() or (self.feature_ >= self.n_features_in_).any():
            raise inconsistent_model("feature_", f"must be from -1 to {self.n_features_in_ - 1}")
        here = np.flatnonzero(self.feature_ >= 0)
        for name in ("left_", "right_"):
            child = getattr(self, name)[here]
            # Children after their parent: every walk goes forward, so it ends.
            if (child <= here).any() or (child >= n).any():
                raise inconsistent_model(name, f"must lead forward within the {n} nodes")


@njit(nogil=True, cache=True)
def walk(X, roots, feature, threshold, left, right, missing_left, value, offset, counts):  # type: ignore[no-untyped-def]
    """Sum the leaves of each row, tree after tree as the libraries do, and keep some sums."""
    total = np.full(len(X), offset)
    kept = np.empty((len(counts), len(X)))
    place = 0
    for number in range(min(counts[-1], len(roots))):
        for row in range(len(X)):
            node = roots[number]
            while feature[node] >= 0:
                x = X[row, feature[node]]
                go_left = missing_left[node] if np.isnan(x) else x <= threshold[node]
                node = left[node] if go_left else right[node]
            total[row] += value[node]
        if number + 1 == counts[place]:
            kept[place] = total
            place += 1
    kept[place:] = total
    return kept


def freeze(model: BaseEstimator, levels: Levels = NO_LEVELS) -> TreeEnsemble:
    """Copy a fitted binary tree ensemble into plain arrays.

    Parameters
    ----------
    model : fitted HistGradientBoostingClassifier, RandomForestClassifier, ExtraTreesClassifier,
            LGBMClassifier or CatBoostClassifier
        Of two classes, on numeric columns.
    levels : Levels, optional
        Where histogram boosting was fitted to codes of categories: what they stand for.

    Returns
    -------
    TreeEnsemble

    Examples
    --------
    >>> from sklearn.ensemble import HistGradientBoostingClassifier
    >>> X, y = np.arange(90.0)[:, None], np.arange(90) > 60
    >>> len(freeze(HistGradientBoostingClassifier(max_iter=7).fit(X, y)).roots_)
    7
    """
    name = type(model).__name__
    if name not in READERS:
        raise UsageError(
            "{model} cannot be frozen.",
            code="cannot-freeze",
            model=name,
            known=listed(list(READERS), last="or"),
            remedy="Give a {known}, fitted on two classes.",
        )
    classes = np.asarray(getattr(model, "classes_", ()))
    if classes.shape != (2,):
        raise UsageError(
            "{model} has {count} classes; only two can be frozen.",
            code="two-classes-needed",
            model=name,
            count=len(classes),
        )
    boosted = levels.codes and name == "HistGradientBoostingClassifier"
    trees, settings = _histogram_boosting(model, levels) if boosted else READERS[name](model)
    starts = np.cumsum([0, *(len(tree.feature) for tree in trees)])
    frozen = TreeEnsemble()
    frozen.classes_ = classes
    frozen.n_features_in_ = int(model.n_features_in_) + sum(len(c) - 1 for c in levels.codes)
    frozen.roots_ = starts[:-1].astype(np.int32)
    for field in Nodes._fields:
        parts = [getattr(tree, field) for tree in trees]
        if field in ("left", "right"):
            parts = [part + first for part, first in zip(parts, starts[:-1], strict=True)]
        joined = np.concatenate(parts)
        if field == "threshold":  # "always left" of a finite number, in a form a file may hold
            joined = np.clip(joined, -LARGEST, LARGEST)
        kind = {"threshold": np.float64, "value": np.float64, "missing_left": np.bool_}
        setattr(frozen, f"{field}_", joined.astype(kind.get(field, np.int32)))
    frozen.odds_ = 1.0
    frozen.offset_, frozen.scale_, frozen.link_, frozen.single_, frozen.tiny_ = settings
    frozen._check_loaded()
    return frozen


def _cannot_freeze(text: str) -> UsageError:
    return UsageError(
        text,
        code="cannot-freeze",
        remedy="One-hot encode categories before the fit, and use numeric splits only.",
    )


Settings = tuple[float, float, str, bool, float]  # offset, scale, link, single, tiny
Reader = Callable[[BaseEstimator], tuple[list[Nodes], Settings]]


def _histogram_boosting(
    model: BaseEstimator, levels: Levels = NO_LEVELS
) -> tuple[list[Nodes], Settings]:
    trees = [boosted_nodes(predictor, levels) for [predictor] in model._predictors]
    return trees, (float(np.ravel(model._baseline_prediction)[0]), 1.0, "logit", False, 0.0)


def boosted_nodes(predictor: Any, levels: Levels = NO_LEVELS) -> Nodes:
    """Return the nodes of one tree of histogram boosting.

    A split of a category into two sets becomes a chain of splits on one-hot columns, one for each
    level that goes to the side to which the end of the chain does not lead.
    """
    nodes = predictor.nodes
    leaf = nodes["is_leaf"].astype(bool)
    plain = Nodes(
        np.where(leaf, -1, nodes["feature_idx"]).astype(np.intp),
        np.where(leaf, 0.0, nodes["num_threshold"]),
        np.where(leaf, 0, nodes["left"]).astype(np.intp),
        np.where(leaf, 0, nodes["right"]).astype(np.intp),
        nodes["missing_go_to_left"].astype(bool),
        np.where(leaf, nodes["value"], 0.0),
    )
    if nodes["is_categorical"].any() and not levels.codes:
        raise _cannot_freeze("The model splits on categories.")
    if not levels.codes:
        return plain
    return _with_chains(plain, predictor, levels)


def _with_chains(plain: Nodes, predictor: Any, levels: Levels) -> Nodes:
    """Return a tree without splits of categories, its columns and children renumbered."""
    words = np.ascontiguousarray(predictor.raw_left_cat_bitsets, dtype="<u4")
    sets = np.unpackbits(words.view(np.uint8), axis=1, bitorder="little").astype(bool)
    splits = predictor.nodes["is_categorical"].astype(bool) & (plain.feature >= 0)
    bitset, firsts = predictor.nodes["bitset_idx"], np.cumsum([0, *map(len, levels.codes)])
    rows: list[tuple[int, float, int, int, bool, float]] = []  # children as they were; -1: the next
    starts = []
    for at, node in enumerate(zip(*(field.tolist() for field in plain), strict=True)):
        starts.append(len(rows))
        feature, threshold, left, right, missing_left, value = node
        if feature < 0 or not splits[at]:
            shifted = feature + int(firsts[-1]) - len(levels.codes) if feature >= 0 else -1
            rows.append((shifted, threshold, left, right, missing_left, value))
            continue
        goes_left, codes = sets[bitset[at]], levels.codes[feature]
        sides = np.where(codes >= 0, goes_left[codes], missing_left)
        none = levels.none[feature]
        end_left = bool(goes_left[none]) if none >= 0 else bool(sides.mean() > 0.5)
        asked = (int(firsts[feature]) + np.flatnonzero(sides != end_left)).tolist()
        end, other = (left, right) if end_left else (right, left)
        # Where no level goes to the other side, a missing value may.
        bound = 0.5 if asked else LARGEST
        asked = asked or [int(firsts[feature])]
        ends = [-1] * (len(asked) - 1) + [end]
        rows += [
            (column, bound, onward, other, missing_left == end_left, 0.0)
            for column, onward in zip(asked, ends, strict=True)
        ]
    fields: list[Any] = [np.array(field) for field in zip(*rows, strict=True)]
    tree, here = Nodes(*fields), np.arange(len(rows))

    def placed(child: NDArray[Any]) -> NDArray[np.intp]:
        found = np.where(child < 0, here + 1, np.array(starts)[np.maximum(child, 0)])
        return np.where(tree.feature >= 0, found, 0).astype(np.intp)

    return tree._replace(left=placed(tree.left), right=placed(tree.right))


def _forest(model: BaseEstimator) -> tuple[list[Nodes], Settings]:
    trees = []
    for grown in model.estimators_:
        tree = grown.tree_
        nodes = tree.__getstate__()["nodes"]
        leaf = tree.children_left < 0
        trees.append(
            Nodes(
                np.where(leaf, -1, tree.feature),
                np.where(leaf, 0.0, tree.threshold),
                np.where(leaf, 0, tree.children_left),
                np.where(leaf, 0, tree.children_right),
                nodes["missing_go_to_left"].astype(bool),
                np.where(leaf, tree.value[:, 0, 1], 0.0),
            )
        )
    return trees, (0.0, 1.0, "share", True, 0.0)


def _lightgbm(model: BaseEstimator) -> tuple[list[Nodes], Settings]:
    dump = model.booster_.dump_model()
    if not str(dump["objective"]).startswith("binary sigmoid:1"):
        raise UsageError(
            "LightGBM was fitted with objective {objective!r}; only 'binary' can be frozen.",
            code="cannot-freeze",
            objective=dump["objective"],
            remedy="Fit with objective='binary'.",
        )
    trees = [_lightgbm_tree(tree["tree_structure"]) for tree in dump["tree_info"]]
    return trees, (0.0, 1.0, "logit", False, LIGHTGBM_ZERO)


def _lightgbm_tree(root: dict[str, Any]) -> Nodes:
    rows: list[list[float]] = []

    def add(node: dict[str, Any]) -> int:
        here = len(rows)
        if "split_feature" not in node:
            rows.append([-1, 0.0, 0, 0, False, node["leaf_value"]])
            return here
        if node["decision_type"] != "<=" or node["missing_type"] == "Zero":
            raise _cannot_freeze("LightGBM splits on categories, or has zero_as_missing=True.")
        # Where no value was missing in training, LightGBM reads a missing one as 0.
        missing = node["default_left"] if node["missing_type"] == "NaN" else node["threshold"] >= 0
        rows.append([node["split_feature"], node["threshold"], 0, 0, bool(missing), 0.0])
        rows[here][2] = add(node["left_child"])
        rows[here][3] = add(node["right_child"])
        return here

    add(root)
    return Nodes(*(np.array(column) for column in zip(*rows, strict=True)))


def _catboost(model: BaseEstimator) -> tuple[list[Nodes], Settings]:
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "model.json")
        model.save_model(str(path), format="json")
        dump = json.loads(path.read_text())
    columns = {
        column["feature_index"]: (column["flat_feature_index"], column["nan_value_treatment"])
        for column in dump["features_info"].get("float_features", [])
    }
    if "oblivious_trees" not in dump or dump["features_info"].get("categorical_features"):
        raise _cannot_freeze("CatBoost splits on categories, or its trees are not symmetric.")
    trees = [_catboost_tree(tree, columns) for tree in dump["oblivious_trees"]]
    scale, bias = dump["scale_and_bias"]
    return trees, (float(np.ravel(bias)[0]), float(scale), "logit", True, 0.0)


def _catboost_tree(tree: dict[str, Any], columns: dict[int, tuple[int, str]]) -> Nodes:
    """Expand a symmetric tree: level d has split depth - 1 - d, which keeps the order of leaves."""
    splits = (tree.get("splits") or [])[::-1]
    inner, leaves = 2 ** len(splits) - 1, 2 ** len(splits)
    level = np.repeat(np.arange(len(splits)), 2 ** np.arange(len(splits)))
    known = [columns[split["float_feature_index"]] for split in splits]
    feature = np.full(inner + leaves, -1)
    threshold, value = np.zeros((2, inner + leaves))
    left, right = np.zeros((2, inner + leaves), dtype=np.int64)
    missing_left = np.zeros(inner + leaves, dtype=bool)
    if splits:
        borders = np.array([split["border"] for split in splits], dtype=np.float32)
        feature[:inner] = np.array([column for column, _ in known])[level]
        threshold[:inner] = borders.astype(np.float64)[level]
        missing_left[:inner] = np.array([treated != "AsTrue" for _, treated in known])[level]
        left[:inner] = 2 * np.arange(inner) + 1  # heap order: "above the border" is the right one
        right[:inner] = 2 * np.arange(inner) + 2
    value[inner:] = tree["leaf_values"]
    return Nodes(feature, threshold, left, right, missing_left, value)


READERS: dict[str, Reader] = {
    "HistGradientBoostingClassifier": _histogram_boosting,
    "RandomForestClassifier": _forest,
    "ExtraTreesClassifier": _forest,
    "LGBMClassifier": _lightgbm,
    "CatBoostClassifier": _catboost,
}
