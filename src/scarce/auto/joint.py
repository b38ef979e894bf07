"""Members of several classes that learn all classes at once, as paths of settings.

    prob_k = (1 - share of classes without a model) * odds_k q_k / sum over classes j of odds_j q_j

q are the probabilities of one multinomial fit: ridge logits, a radial kernel, boosting, a forest,
extra trees, each as its namesake for two classes. Classes with rows in too few folds have no model
and keep their prevalence. In large tables fits see all rows but of the largest class, and of that
four times the others' (20,000 rows at least); its odds are put back. The members that are only made
for two classes are in classes.py, one for each class.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import (
    ExtraTreesClassifier,
    RandomForestClassifier,
)

from scarce.auto.class_logits import (
    ClassKernelPath,
    ClassLogitPath,
    ClassRows,
    strongest_columns,
)
from scarce.auto.class_trees import ClassTrees, freeze_classes
from scarce.auto.logits import FitRows
from scarce.auto.members import (
    BOOST_LARGE,
    BOOST_SMALL,
    CELLS_PER_TREE,
    FEWEST_PER_TREE,
    FOREST_TREES,
    LARGE,
    LARGE_TREES,
    MOST_COLUMNS,
    MOST_PER_TREE,
    OTHERS_PER_EVENT,
    SMALL_TREES,
    SMALLEST,
    TREE_PATIENCE,
    TREES_AT_ONCE,
    Path,
    booster,
)
from scarce.auto.ranks import Ranks
from scarce.engine.block import Array
from scarce.errors import inconsistent_model

Ids = NDArray[np.intp]
Grow = Callable[[int, Array, Ids, Array], BaseEstimator]


class ClassModel(Protocol):
    """A fitted model of several classes."""

    n_features_in_: int

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes that were fitted."""


class AllClasses(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One fitted model of all classes that have enough rows: predicts only.

    Attributes
    ----------
    model_ : fitted model
        Of the classes in `modelled_`.
    modelled_ : ndarray of int
        Positions of the classes of the model, in its order; the others keep their prevalence.
    odds_ : ndarray of shape (modelled classes,)
        Factors that put back the rows that were left out of the fit.
    prevalence_ : ndarray of shape (n_classes,)

    **Assumes** the columns of the members, in their order.
    """

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes, shape (n, n_classes)."""
        prob = np.asarray(self.model_.predict_proba(X))
        return with_others(prob, self.modelled_, self.odds_, self.prevalence_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the most probable class of each row, by position."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _check_loaded(self) -> None:
        if not hasattr(self, "model_"):
            return
        places = np.arange(len(self.prevalence_))
        if len(np.unique(self.modelled_)) < len(self.modelled_) or not (
            np.isin(self.modelled_, places).all()
            and len(self.model_.classes_) == len(self.modelled_) == len(self.odds_) > 1
        ):
            raise inconsistent_model("modelled_", f"must be classes of {len(places)}")
        if not ((self.prevalence_ > 0) & (self.prevalence_ < 1)).all():
            raise inconsistent_model("prevalence_", "must be between 0 and 1")
        if not ((self.odds_ > 0) & (self.odds_ < np.inf)).all():
            raise inconsistent_model("odds_", "must be above 0 and finite")
        if self.model_.n_features_in_ != self.n_features_in_:
            raise inconsistent_model("model_", f"must have {self.n_features_in_} columns")


def with_others(prob: Array, modelled: Ids, odds: Array, prevalence: Array) -> Array:
    """Return probabilities of all classes, from those of some whose odds are put back.

    Examples
    --------
    >>> with_others(np.array([[0.5, 0.5]]), np.array([0, 2]), np.array([1.0, 3.0]),
    ...             np.array([0.3, 0.2, 0.5])).round(2)
    array([[0.2, 0.2, 0.6]])
    """
    whole = np.empty((*prob.shape[:-1], len(prevalence)))
    whole[...] = prevalence
    prob = np.maximum(prob, SMALLEST) * odds
    share = prevalence[modelled].sum()
    whole[..., modelled] = share * prob / prob.sum(axis=-1, keepdims=True)
    return whole


@dataclass(frozen=True, eq=False)
class Joint:
    """How a member of several classes is fitted, in the form of `scarce.auto.members.Maker`.

    Parameters
    ----------
    name : str
    modelled : ndarray of int
        Positions of the classes that are fitted, in the order of the fit; rows of others are left
        out of it.
    prevalence : ndarray of shape (n_classes,)
    group : ndarray of int, optional
        Of each one-hot column its category, -1 for a number.
    """

    name: str
    modelled: Ids
    prevalence: Array
    group: Ids | None = None

    def __call__(self, seen: FitRows, new: Array, seed: int) -> Path:
        """Prepare the fit to some rows whose y are positions of classes."""
        X, y, weight = seen
        weight = np.ones(len(y)) if weight is None else weight
        place = np.full(len(self.prevalence), -1)
        place[self.modelled] = np.arange(len(self.modelled))
        codes = place[y.astype(np.intp)]
        kept, odds = thinned(codes, weight, len(self.modelled), seed)
        rows = np.ascontiguousarray(X[kept]), codes[kept], weight[kept], len(self.modelled)
        path: ClassPath
        if self.name == "boosting":
            path = ClassBoostingPath(rows, new, seed, self.group)
        else:
            path = MAKERS[self.name](rows, new, seed)
        return JointPath(path, self, odds)


def thinned(codes: Ids, weight: Array, n_classes: int, seed: int) -> tuple[Ids, Array]:
    """Return the rows that a fit sees, and factors of odds that undo what was left out.

    Of the largest class four rows for each other row, and 20,000 rows in all at least.

    Examples
    --------
    >>> codes = np.repeat([0, 1, 2, -1], [30_000, 2000, 1000, 5])
    >>> kept, odds = thinned(codes, np.ones(33_005), 3, 0)
    >>> np.bincount(codes[kept]), odds.round(3)
    (array([17000,  2000,  1000]), array([1.765, 1.   , 1.   ]))
    """
    known, odds = np.flatnonzero(codes >= 0), np.ones(n_classes)
    largest = int(np.bincount(codes[known], minlength=n_classes).argmax())
    place = known[codes[known] == largest]
    rest = len(known) - len(place)
    most = max(OTHERS_PER_EVENT * rest, LARGE - rest)
    if len(known) <= LARGE or len(place) <= most:
        return known, odds
    taken = np.random.default_rng(seed).choice(place, most, replace=False)
    odds[largest] = float(weight[place].sum() / weight[taken].sum())
    return np.sort(np.concatenate([known[codes[known] != largest], taken])), odds


class ClassPath(Protocol):
    """As `scarce.auto.members.Path`, with probabilities (settings, rows, classes)."""

    at_once: int
    patience: int

    @property
    def prob(self) -> Array:
        """Probabilities of rows that the fit had not seen."""

    def extend(self, length: int, /) -> int:
        """Continue to `length` settings, or to all; return how many there are now."""

    def model(self, setting: int) -> ClassModel:
        """Return the model of one setting."""

    def describe(self, setting: int) -> str:
        """Return a setting in words."""


class JointPath:
    """A path of the classes that are fitted, as one of all classes."""

    def __init__(self, path: ClassPath, joint: Joint, odds: Array) -> None:
        self.path, self.joint, self.odds = path, joint, odds
        self.at_once, self.patience = path.at_once, path.patience
        self.prob = np.empty((0, 0, len(joint.prevalence)))

    def extend(self, length: int) -> int:
        """Continue the path."""
        found = self.path.extend(length)
        modelled, prevalence = self.joint.modelled, self.joint.prevalence
        self.prob = with_others(self.path.prob, modelled, self.odds, prevalence)
        return found

    def model(self, setting: int) -> AllClasses:
        """Return the model of one setting, of all classes."""
        model = AllClasses()
        model.model_ = self.path.model(setting)
        model.modelled_, model.prevalence_ = self.joint.modelled, self.joint.prevalence
        model.odds_ = self.odds
        model.classes_ = np.arange(len(self.joint.prevalence))
        model.n_features_in_ = model.model_.n_features_in_
        return model

    def describe(self, setting: int) -> str:
        """Return a setting in words."""
        return self.path.describe(setting)


# --- trees ----------------------------------------------------------------------------------------


def ranks_of(seen: ClassRows, group: Ids | None = None) -> Ranks:
    """Return the ranks of the columns that trees see; those of a group as one category."""
    X, codes, weight, n_classes = seen
    return Ranks(X, strongest_columns(X, codes, weight, n_classes, MOST_COLUMNS), group)


class ClassTreePath:
    """The same trees, cut after different numbers of rounds; boosting may be grown further."""

    at_once, patience = TREES_AT_ONCE, TREE_PATIENCE

    def __init__(
        self,
        grow: Grow,
        counts: Sequence[int],
        seen: ClassRows,
        new: Array,
        *,
        further: bool = False,
        ranks: Ranks | None = None,
    ) -> None:
        X, self.codes, self.weight, n_classes = seen
        self.grow, self.counts, self.new, self.further = grow, tuple(counts), new, further
        self.ranks = ranks_of(seen) if ranks is None else ranks
        self.coded = self.ranks.coded(X)
        self.prob = np.empty((0, len(new), n_classes))

    def extend(self, length: int) -> int:
        """Grow the trees of `length` settings; without `further`, all of them at once."""
        length = min(length, len(self.counts)) if self.further else len(self.counts)
        if len(self.prob) < length:
            ahead = min(max(length, 2 * len(self.prob)), len(self.counts))  # continuing has a cost
            grown = self.grow(self.counts[ahead - 1], self.coded, self.codes, self.weight)
            ranks = self.ranks
            self.trees = freeze_classes(
                grown, ranks.n_columns, ranks.columns, ranks.value, ranks.levels
            )
            self.prob = self.trees.staged_prob(self.new, self.counts[:ahead])
        return length

    def model(self, setting: int) -> ClassTrees:
        """Return the trees of one setting."""
        return self.trees.first(self.counts[setting])

    def describe(self, setting: int) -> str:
        """Return the number of trees in words."""
        return f"{self.counts[setting]} trees"


class ClassBoostingPath:
    """Boosting with small trees; with larger ones too where the small ones end still improving.

    One-hot columns of one `group` (-1: a number) are split as one category.
    """

    at_once, patience = 3, 4

    def __init__(self, seen: ClassRows, new: Array, seed: int, group: Ids | None = None) -> None:
        self.ranks = ranks_of(seen, group)
        grow = booster(seed, SMALL_TREES, self.ranks)
        self.small = ClassTreePath(grow, BOOST_SMALL, seen, new, further=True, ranks=self.ranks)
        self.seen, self.new, self.seed = seen, new, seed
        self.large: ClassTreePath | None = None

    @property
    def prob(self) -> Array:
        """Probabilities of the new rows at the settings so far."""
        parts = [self.small.prob] if self.large is None else [self.small.prob, self.large.prob]
        return np.concatenate(parts)

    def extend(self, length: int) -> int:
        """Grow small trees for the first settings, and all larger ones for one more."""
        if length <= len(BOOST_SMALL):
            return self.small.extend(length)
        self.small.extend(len(BOOST_SMALL))
        if self.large is None:
            grow = booster(self.seed, LARGE_TREES, self.ranks)
            self.large = ClassTreePath(grow, BOOST_LARGE, self.seen, self.new, ranks=self.ranks)
        return len(BOOST_SMALL) + self.large.extend(len(BOOST_LARGE))

    def model(self, setting: int) -> ClassTrees:
        """Return the trees of one setting."""
        if setting < len(BOOST_SMALL):
            return self.small.model(setting)
        assert self.large is not None
        return self.large.model(setting - len(BOOST_SMALL))

    def describe(self, setting: int) -> str:
        """Return number and size of the trees in words."""
        if setting < len(BOOST_SMALL):
            return f"{BOOST_SMALL[setting]} small trees"
        return f"{BOOST_LARGE[setting - len(BOOST_SMALL)]} trees"


def _forest(seen: ClassRows, new: Array, seed: int) -> ClassTreePath:
    n, d = seen[0].shape
    rows = min(n // 2, max(CELLS_PER_TREE // d, FEWEST_PER_TREE))

    def grow(trees: int, X: Array, codes: Ids, weight: Array) -> BaseEstimator:
        model = RandomForestClassifier(
            trees, min_samples_leaf=3, max_samples=max(rows, 1), random_state=seed
        )
        return model.fit(X, codes, weight)

    return ClassTreePath(grow, [FOREST_TREES], seen, new)


def _extra_trees(seen: ClassRows, new: Array, seed: int) -> ClassTreePath:
    def grow(trees: int, X: Array, codes: Ids, weight: Array) -> BaseEstimator:
        part: dict[str, Any] = {}
        if len(codes) > MOST_PER_TREE:
            part = {"bootstrap": True, "max_samples": MOST_PER_TREE}
        model = ExtraTreesClassifier(trees, min_samples_leaf=2, random_state=seed, **part)
        return model.fit(X, codes, weight)

    return ClassTreePath(grow, [FOREST_TREES], seen, new)


MAKERS: dict[str, Callable[[ClassRows, Array, int], ClassPath]] = {
    "logit": ClassLogitPath,
    "spline": partial(ClassLogitPath, bent=True),
    "boosting": ClassBoostingPath,
    "forest": _forest,
    "extra-trees": _extra_trees,
    "kernel": ClassKernelPath,
}
