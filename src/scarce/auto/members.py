"""The members of a stack: diverse models of the same rows, each judged on rows it has not seen.

    left_out[i] = probability of row i from a fit that had not seen its fold

Linear logit, logit on splines, histogram boosting, a random forest, extremely randomised trees, a
logit on a radial kernel; CatBoost and LightGBM where they are asked for. A member is fitted once
without each fold, and these fits predict: there is no final fit on all rows, because its log-odds
would be of another scale than those that were judged. Each member chooses its ridge or its number
of trees by left-out log loss.

The choice is judged too: without each fold in turn, the whole procedure is repeated on the other
folds (a fit without two folds serves both). From 3,000 rows and 200 events on, the fits without one
fold are judged as they are, with settings that have seen the loss of all rows.

Trees are grown on ranks of the columns, which makes units irrelevant, and kept as plain arrays;
where there are more than 64 columns, on the 64 that say the most about the labels of the fit one by
one. In tables of more than 20,000 rows, fits see all events and four other rows for each (20,000
rows at least), and the odds of the others are put back; all rows are judged. Does not weigh
members: see stack.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from copy import copy
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from threadpoolctl import threadpool_limits

from scarce.auto.forms import FORMS, OWN, Inputs, which_marked
from scarce.auto.kernel import KernelLogit, KernelPath
from scarce.auto.logits import FitRows, MarginalPath, RidgeLogit, logit_path, strongest_columns
from scarce.auto.ranks import BINS, Ranks
from scarce.auto.trees import TreeEnsemble
from scarce.engine.block import Array
from scarce.engine.executors import Engine, Progress, many, with_words
from scarce.gaussian.pair import GaussianPair, fit_pair
from scarce.missing.front import Front

PACKAGES = {"catboost": "catboost", "lightgbm": "lightgbm"}
MOST_PARTS = 5  # that are judged in turn, each without the folds in it
SMALLEST = 1e-12  # keeps a choice by log loss finite; the floor comes later
FOREST_TREES = 40  # of each fit without a fold
TREES_AT_ONCE, TREE_PATIENCE = 4, 8  # settings added at a time, and worse ones before stopping
MANY_ROWS, MANY_EVENTS = 3000, 200  # from which settings are not chosen again to be judged
LARGE, OTHERS_PER_EVENT = 20_000, 4  # rows above which fits see all events and some of the others
MOST_COLUMNS = 64  # that trees see
MOST_GAUSSIAN = 40  # columns up to which "gaussian" joins where values are missing
# Rows of a tree of a forest: fewer where there are many columns.
CELLS_PER_TREE, FEWEST_PER_TREE, MOST_PER_TREE = 200_000, 1000, 10_000
# Boosting begins with small trees; numbers of trees that are tried.
SMALL_TREES = {
    "max_leaf_nodes": 8,
    "learning_rate": 0.1,
    "l2_regularization": 1.0,
    "max_features": 0.5,
}
LARGE_TREES: dict[str, float] = {"max_leaf_nodes": 31, "learning_rate": 0.1}
BOOST_SMALL, BOOST_LARGE = tuple(range(10, 201, 10)), (40, 80, 120, 160, 200)
# Rough times of a fit, in units of the logit's.
FIT_COSTS = {
    "logit": 1,
    "spline": 3,
    "boosting": 10,
    "forest": 8,
    "extra-trees": 8,
    "kernel": 4,
    "gaussian": 1,
    "catboost": 20,
    "lightgbm": 6,
}

Ids = NDArray[np.intp]
Step = Callable[[], None]


class Sample(NamedTuple):
    """Labelled rows of columns that vary, and the fold in which each row is left out.

    `y` is 1 for the rarer class: exchanging the names of the classes changes nothing.
    """

    X: Array
    y: Array
    weight: Array | None
    folds: NDArray[np.intp]
    seed: int
    front: Front | None = None  # None: all values are there, or were not looked at
    group: Ids | None = None  # of each one-hot column its category, -1 for a number

    @property
    def weights(self) -> Array:
        """One weight per row."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def thinned(self) -> NDArray[np.bool_] | None:
        """Return the rows that fits see in a large table: all events, and some of the others.

        Four for each event, drawn at random, and 20,000 rows at least. None: all rows.
        """
        others = np.flatnonzero(self.y != 1)
        events = len(self.y) - len(others)
        most = max(OTHERS_PER_EVENT * events, LARGE - events)
        if len(self.y) <= LARGE or len(others) <= most:
            return None
        kept = self.y == 1
        kept[np.random.default_rng(self.seed).choice(others, most, replace=False)] = True
        return np.asarray(kept)

    @property
    def nested(self) -> bool:
        """Whether settings are chosen again without each part of the folds that is judged.

        Not in a table of many rows and events, where a choice among some dozens of settings gains
        little by having seen the rows: a third of the fits.
        """
        events = np.bincount(self.y.astype(np.intp))
        return len(self.y) < MANY_ROWS or len(self.y) - int(events.max()) < MANY_EVENTS

    @property
    def incomplete(self) -> bool:
        """Whether some value is missing."""
        return bool(np.isnan(self.X).any())

    def inputs(self) -> Inputs:
        """Return the rows in the forms that members take."""
        category = np.zeros(self.X.shape[1], bool) if self.group is None else self.group >= 0
        return Inputs(self.X, self.front, *which_marked(self.X, self.weights), category)

    def without(self, left_out: frozenset[int]) -> tuple[Array, Array, Array | None]:
        """Return the rows that a fit may see when some folds are left out."""
        kept = ~self.inside(left_out)
        weight = None if self.weight is None else self.weight[kept]
        return np.ascontiguousarray(self.X[kept]), self.y[kept], weight

    def inside(self, folds: frozenset[int]) -> NDArray[np.bool_]:
        """Return which rows are in some folds."""
        return np.isin(self.folds, sorted(folds))

    def parts(self) -> list[frozenset[int]]:
        """Return the folds that are judged together: each alone, or five parts of more folds.

        Examples
        --------
        >>> folds = np.arange(12) % 6
        >>> sample = Sample(np.zeros((12, 1)), np.zeros(12), None, folds, 0)
        >>> [sorted(part) for part in sample.parts()]
        [[0, 5], [1], [2], [3], [4]]
        """
        numbers = np.unique(self.folds).tolist()
        n = min(len(numbers), MOST_PARTS)
        return [frozenset(numbers[start::n]) for start in range(n)]


class Trial(NamedTuple):
    """The member's procedure without one part of the folds.

    Parameters
    ----------
    part : frozenset of int
        The folds that are judged; empty for the procedure on all rows.
    left_out : ndarray of shape (n,)
        Probability of each row outside the part, from a fit without its fold and the part.
    judged : ndarray of shape (folds outside the part, rows inside the part)
        Probabilities of the part's rows from each of these fits.
    """

    part: frozenset[int]
    left_out: Array
    judged: Array


class Model(Protocol):
    """A fitted member: its probabilities are those of two classes, the event second."""

    n_features_in_: int

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return both classes' probabilities, shape (n, 2)."""


class Fitted(NamedTuple):
    """One model per fold, fitted without it; the procedure on all rows, and without each part."""

    models: list[Model]
    whole: Trial
    trials: list[Trial]
    chosen: str


class Path(Protocol):
    """A fit with several settings: ridges, or numbers of trees."""

    at_once: int  # settings to add at a time
    patience: int  # settings after the best one, before stopping

    @property
    def prob(self) -> Array:
        """Probabilities (settings so far, rows) of rows that the fit had not seen."""

    def extend(self, length: int, /) -> int:
        """Continue to `length` settings, or to all; return how many there are now."""

    def model(self, setting: int) -> Model:
        """Return the model of one setting."""

    def describe(self, setting: int) -> str:
        """Return a setting in words."""


Maker = Callable[[FitRows, Array, int], Path]  # rows to fit, new rows, seed
NO_MAKERS: Mapping[str, Maker] = {}


def usable() -> list[str]:
    """Return the members that can be fitted here: those of packages where they are installed."""
    return [n for n in MEMBERS if n not in PACKAGES or find_spec(PACKAGES[n]) is not None]


def fit_member(
    name: str, sample: Sample, step: Step = lambda: None, *, maker: Maker | None = None
) -> Fitted:
    """Fit one member without each fold, and again without each part that is judged.

    `step` is called after each fit; `maker` fits a member that is not shipped.
    """
    make = MEMBERS[name] if maker is None else maker
    if name == "boosting" and maker is None:
        make = partial(BoostingPath, group=sample.group)
    if sample.incomplete:
        if name == "logit" and maker is None and sample.front is not None:
            make = partial(MarginalPath, front=sample.front)
        else:
            form = OWN if maker is not None else FORMS[name]
            sample = sample._replace(X=sample.inputs().of(form))
    paths: dict[frozenset[int], Path] = {}
    thinned = None if maker is not None else sample.thinned()

    def path(left_out: frozenset[int]) -> Path:
        if left_out not in paths:
            seen, odds = sample.without(left_out), 1.0
            if thinned is not None:
                seen, odds = some_of(seen, thinned[~sample.inside(left_out)])
            path = make(seen, sample.X[sample.inside(left_out)], sample.seed)
            paths[left_out] = path if odds == 1.0 else ThinnedPath(path, odds)
            step()
        return paths[left_out]

    # One thread each: several members run side by side, and the bits do not depend on the cores.
    with threadpool_limits(1, user_api="openmp"):
        whole, setting = _trial(sample, frozenset(), path)
        alone = [path(frozenset([fold])) for fold in np.unique(sample.folds).tolist()]
        models = [one.model(setting) for one in alone]
        chosen = alone[0].describe(setting)
        alone.clear()
        paths.clear()  # they hold their rows
        parts, trials = sample.parts(), []
        if not sample.nested:
            return Fitted(models, whole, [_of_whole(sample, whole, one) for one in parts], chosen)
        for number, part in enumerate(parts):
            trials.append(_trial(sample, part, path)[0])
            later = parts[number + 1 :]
            for left_out in [key for key in paths if not any(one < key for one in later)]:
                del paths[left_out]
        return Fitted(models, whole, trials, chosen)


def some_of(seen: FitRows, kept: NDArray[np.bool_]) -> tuple[FitRows, float]:
    """Return some rows of which all events are kept, and the factor of odds that undoes it.

    Examples
    --------
    >>> rows = np.zeros((4, 1)), np.array([1.0, 0, 0, 0]), None
    >>> round(some_of(rows, np.array([True, False, True, False]))[1], 3)
    0.333
    """
    X, y, weight = seen
    others = (y != 1) * (1.0 if weight is None else weight)
    part = np.ascontiguousarray(X[kept]), y[kept], None if weight is None else weight[kept]
    return part, float(others[kept].sum() / others.sum())


class ThinnedPath:
    """A path of a fit to all events and some other rows: the odds of the others are put back."""

    def __init__(self, path: Path, odds: float) -> None:
        self.path, self.odds = path, odds
        self.at_once, self.patience = path.at_once, path.patience

    @property
    def prob(self) -> Array:
        """Probabilities of the new rows at the settings so far."""
        prob = self.path.prob
        return np.asarray(self.odds * prob / (self.odds * prob + (1.0 - prob)))

    def extend(self, length: int) -> int:
        """Continue the path."""
        return self.path.extend(length)

    def model(self, setting: int) -> Model:
        """Return the model of one setting, for all rows."""
        model: Model = self.path.model(setting)
        if isinstance(model, TreeEnsemble):
            model.odds_ = self.odds
        elif isinstance(model, GaussianPair):
            model = copy(model)
            model.log_odds_ += float(np.log(self.odds))
        else:
            assert isinstance(model, (RidgeLogit, KernelLogit))
            model.intercept_ += float(np.log(self.odds))
        return model

    def describe(self, setting: int) -> str:
        """Return a setting in words."""
        return self.path.describe(setting)


def fits_needed(sample: Sample) -> int:
    """Return the number of fits of each member."""
    folds = np.unique(sample.folds).tolist()
    parts = [frozenset[int](), *(sample.parts() if sample.nested else [])]
    return len({part | {fold} for part in parts for fold in folds if fold not in part})


def fit_members(
    names: Sequence[str],
    sample: Sample,
    engine: Engine,
    progress: Progress | None,
    makers: Mapping[str, Maker] = NO_MAKERS,
) -> list[Fitted]:
    """Fit several members, by `makers` those that are not shipped.

    Without an engine, progress is called after every fit of each.
    """
    tasks = [partial(fit_member, name, sample, maker=makers.get(name)) for name in names]
    if engine is not None or progress is None:
        return many(tasks, engine, progress=progress)
    fits, tell = fits_needed(sample), with_words(progress)
    costs = [FIT_COSTS.get(name, 4) for name in names for _ in range(fits)]
    words = (f"{name}, fit {number + 1} of {fits}" for name in names for number in range(fits))
    done, total = accumulate(costs), sum(costs)
    return many(
        [partial(task, step=lambda: tell(next(done), total, next(words))) for task in tasks]
    )


def _trial(
    sample: Sample, part: frozenset[int], path: Callable[[frozenset[int]], Path]
) -> tuple[Trial, int]:
    """Run the procedure on the rows outside a part: choose a setting, predict with each fit."""
    folds = [fold for fold in np.unique(sample.folds).tolist() if fold not in part]
    paths = [path(part | {fold}) for fold in folds]
    places = [np.flatnonzero(sample.inside(part | {fold})) for fold in folds]
    own = [sample.folds[place] == fold for fold, place in zip(folds, places, strict=True)]
    length = best = 0
    while (longer := min(one.extend(length + one.at_once) for one in paths)) > length:
        length = longer
        losses = np.zeros(length)
        for one, place, mine in zip(paths, places, own, strict=True):
            prob = happened(one.prob[:length, mine], sample.y[place[mine]])
            losses -= np.log(np.maximum(prob, SMALLEST)) @ sample.weights[place[mine]]
        best = int(np.argmin(losses))
        if best + paths[0].patience < length:
            break
    left_out = np.full((len(sample.y), *paths[0].prob.shape[2:]), np.nan)
    for one, place, mine in zip(paths, places, own, strict=True):
        left_out[place[mine]] = one.prob[best, mine]
    judged = [one.prob[best, ~mine] for one, mine in zip(paths, own, strict=True)]
    return Trial(part, left_out, np.array(judged)), best


def _of_whole(sample: Sample, whole: Trial, part: frozenset[int]) -> Trial:
    """Return what stands for the procedure without a part: the left-out rows of the fits."""
    return Trial(part, whole.left_out, whole.left_out[None, sample.inside(part)])


def happened(prob: Array, y: Array) -> Array:
    """Return the probability of what happened: of the event or not, or of several classes.

    Examples
    --------
    >>> happened(np.array([[0.2, 0.2]]), np.array([1.0, 0.0]))
    array([[0.2, 0.8]])
    >>> happened(np.array([[[0.2, 0.5, 0.3]]]), np.array([2.0]))
    array([[0.3]])
    """
    if prob.ndim == 3:
        return np.asarray(prob[:, np.arange(len(y)), y.astype(np.intp)])
    return np.where(y == 1, prob, 1.0 - prob)


# --- trees ----------------------------------------------------------------------------------------


def ranks_of(seen: FitRows, group: Ids | None = None) -> Ranks:
    """Return the ranks of the columns that trees see; those of a group as one category."""
    X, y, weight = seen
    each = np.ones(len(y)) if weight is None else weight
    return Ranks(X, strongest_columns(X, y, each, MOST_COLUMNS), group)


class TreePath:
    """The same trees, cut after different numbers; boosting may be grown further."""

    at_once, patience = TREES_AT_ONCE, TREE_PATIENCE

    def __init__(
        self,
        grow: Callable[[int, Array, Array, Array | None], BaseEstimator],
        counts: Sequence[int],
        seen: FitRows,
        new: Array,
        *,
        further: bool = False,
        ranks: Ranks | None = None,
    ) -> None:
        X, y, weight = seen
        self.grow, self.counts, self.new, self.further = grow, tuple(counts), new, further
        self.ranks = ranks_of(seen) if ranks is None else ranks
        self.seen = (self.ranks.coded(X), y, weight)
        self.prob = np.empty((0, len(new)))

    def extend(self, length: int) -> int:
        """Grow the trees of `length` settings; without `further`, all of them at once."""
        length = min(length, len(self.counts)) if self.further else len(self.counts)
        if len(self.prob) < length:
            ahead = min(max(length, 2 * len(self.prob)), len(self.counts))  # continuing has a cost
            self.trees = self.ranks.freeze(self.grow(self.counts[ahead - 1], *self.seen))
            self.prob = self.trees.staged_prob(self.new, self.counts[:ahead])
        return length

    def model(self, setting: int) -> TreeEnsemble:
        """Return the trees of one setting."""
        return self.trees.first(self.counts[setting])

    def describe(self, setting: int) -> str:
        """Return the number of trees in words."""
        return f"{self.counts[setting]} trees"


class BoostingPath:
    """Boosting with small trees; with larger ones too where the small ones end still improving.

    One-hot columns of one `group` (-1: a number) are split as one category.
    """

    at_once, patience = 3, 4

    def __init__(self, seen: FitRows, new: Array, seed: int, group: Ids | None = None) -> None:
        self.ranks = ranks_of(seen, group)
        grow = booster(seed, SMALL_TREES, self.ranks)
        self.small = TreePath(grow, BOOST_SMALL, seen, new, further=True, ranks=self.ranks)
        self.seen, self.new, self.seed = seen, new, seed
        self.large: TreePath | None = None

    @property
    def prob(self) -> Array:
        """Probabilities of the new rows at the settings so far."""
        parts = [self.small.prob] if self.large is None else [self.small.prob, self.large.prob]
        return np.vstack(parts)

    def extend(self, length: int) -> int:
        """Grow small trees for the first settings, and all larger ones for one more."""
        if length <= len(BOOST_SMALL):
            return self.small.extend(length)
        self.small.extend(len(BOOST_SMALL))
        if self.large is None:
            grow = booster(self.seed, LARGE_TREES, self.ranks)
            self.large = TreePath(grow, BOOST_LARGE, self.seen, self.new, ranks=self.ranks)
        return len(BOOST_SMALL) + self.large.extend(len(BOOST_LARGE))

    def model(self, setting: int) -> TreeEnsemble:
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


def booster(
    seed: int, settings: Mapping[str, float], ranks: Ranks
) -> Callable[[int, Array, NDArray[Any], Array | None], BaseEstimator]:
    """Return what grows boosted trees on ranks and codes of categories."""
    model = HistGradientBoostingClassifier(
        early_stopping=False,
        warm_start=True,
        max_bins=BINS,
        random_state=seed,
        categorical_features=ranks.categorical if ranks.categorical.any() else None,
        **settings,
    )

    def grow(trees: int, X: Array, y: NDArray[Any], weight: Array | None) -> BaseEstimator:
        return model.set_params(max_iter=trees).fit(X, y, weight)

    return grow


def _forest(seen: FitRows, new: Array, seed: int) -> TreePath:
    # Half of the rows per tree: as good on average over folds, in half the time and file size.
    rows = min(len(seen[1]) // 2, max(CELLS_PER_TREE // seen[0].shape[1], FEWEST_PER_TREE))

    def grow(trees: int, X: Array, y: Array, weight: Array | None) -> BaseEstimator:
        model = RandomForestClassifier(
            trees, min_samples_leaf=3, max_samples=max(rows, 1), random_state=seed
        )
        return model.fit(X, y, weight)

    return TreePath(grow, [FOREST_TREES], seen, new)


def _extra_trees(seen: FitRows, new: Array, seed: int) -> TreePath:
    def grow(trees: int, X: Array, y: Array, weight: Array | None) -> BaseEstimator:
        part = {"bootstrap": True, "max_samples": MOST_PER_TREE} if len(y) > MOST_PER_TREE else {}
        model = ExtraTreesClassifier(trees, min_samples_leaf=2, random_state=seed, **part)
        return model.fit(X, y, weight)

    return TreePath(grow, [FOREST_TREES], seen, new)


class GaussianPath:
    """Two Gaussian classes that know what is missing: a path with one setting."""

    at_once, patience = 1, 1

    def __init__(self, seen: FitRows, new: Array, seed: int) -> None:
        self.fitted = fit_pair(*seen)
        self.prob = self.fitted.predict_proba(new)[None, :, 1]

    def extend(self, length: int) -> int:
        """Return that there is one setting."""
        return 1

    def model(self, setting: int) -> GaussianPair:
        """Return the fitted classes."""
        return self.fitted

    def describe(self, setting: int) -> str:
        """Return what was fitted."""
        return "two Gaussians"


def _catboost(seen: FitRows, new: Array, seed: int) -> TreePath:
    CatBoostClassifier = import_module("catboost").CatBoostClassifier

    def grow(trees: int, X: Array, y: Array, weight: Array | None) -> BaseEstimator:
        model = CatBoostClassifier(
            iterations=trees,
            random_seed=seed,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        )
        return model.fit(X, y, sample_weight=weight)

    return TreePath(grow, range(20, 301, 20), seen, new)


def _lightgbm(seen: FitRows, new: Array, seed: int) -> TreePath:
    LGBMClassifier = import_module("lightgbm").LGBMClassifier

    def grow(trees: int, X: Array, y: Array, weight: Array | None) -> BaseEstimator:
        model = LGBMClassifier(
            n_estimators=trees,
            num_leaves=15,
            learning_rate=0.08,
            random_state=seed,
            n_jobs=1,
            verbose=-1,
            deterministic=True,
            force_row_wise=True,
        )
        return model.fit(X, y, sample_weight=weight)

    return TreePath(grow, range(10, 201, 10), seen, new)


MEMBERS: dict[str, Maker] = {
    "logit": logit_path,
    "spline": partial(logit_path, bent=True),
    "boosting": BoostingPath,
    "forest": _forest,
    "extra-trees": _extra_trees,
    "kernel": KernelPath,
    "gaussian": GaussianPath,
    "catboost": _catboost,
    "lightgbm": _lightgbm,
}
DEFAULT = tuple(name for name in MEMBERS if name not in (*PACKAGES, "gaussian"))
