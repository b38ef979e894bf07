"""The members of a stack: which models look at the same rows, and how does each stay honest?

    left_out[i] = probability of row i from a fit that had not seen it

Linear logit, logit on splines, histogram boosting, a random forest; CatBoost and LightGBM where
they are installed. Logits choose their ridge anew without the rows left out; the number of trees
is chosen on the same folds that give `left_out`, which is slightly optimistic. Forests use their
out-of-bag rows. Every fitted member is of plain arrays. Does not weigh members: see stack.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.util import find_spec
from itertools import accumulate
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import NDArray
from scipy.interpolate import BSpline
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from threadpoolctl import threadpool_limits

from scarce.errors import DataError
from scarce.models.rare import RareClassifier
from scarce.models.sample import Sample
from scarce.models.trees import freeze
from scarce.rows.block import Array
from scarce.rows.engines import Engine, Progress, many

PACKAGES = {"catboost": "catboost", "lightgbm": "lightgbm"}
FEW_VALUES = 5  # a column with fewer different values has nothing to bend between
CUTS = (0.0, 0.25, 0.5, 0.75, 1.0)
DEGREE = 3
RIDGES = (1e-4, 1e-3, 0.01, 0.1, 1.0, 3.0, 10.0, 30.0, 100.0, 1000.0)
SMALLEST = 1e-12  # keeps a choice by log loss finite; the floor comes later
FOREST_TREES, TREES_AT_ONCE = 200, 20
# Rough times of a fit without one fold, or of 20 trees of the forest, in units of the logit's.
STEP_COSTS = {"logit": 1, "spline": 4, "boosting": 3, "forest": 10, "catboost": 6, "lightgbm": 3}
FOREST_LIMIT = float(np.finfo(np.float32).max)  # forests compare in single precision

Step = Callable[[], None]


class Fitted(NamedTuple):
    """A member fitted on all rows, its left-out probabilities, and what was chosen, in words."""

    model: Any
    left_out: Array
    chosen: str


def usable() -> list[str]:
    """Return the members that can be fitted here: optional packages count when installed."""
    return [n for n in MEMBERS if n not in PACKAGES or find_spec(PACKAGES[n]) is not None]


def fit_member(name: str, sample: Sample, step: Step = lambda: None) -> Fitted:
    """Fit one member on all rows and predict each row from a fit that had not seen it.

    `step` is called after each of its steps: a fit, or some trees of the forest.
    """
    # One thread each: several members run side by side, and the bits do not depend on the cores.
    with threadpool_limits(1, user_api="openmp"):
        return MEMBERS[name](sample, step)


def fit_members(
    names: Sequence[str], sample: Sample, engine: Engine, progress: Progress | None
) -> list[Fitted]:
    """Fit several members. In this process, progress is told after every step of each."""
    tasks = [partial(fit_member, name, sample) for name in names]
    if engine is not None or progress is None:
        return many(tasks, engine, progress=progress)
    folds = len(np.unique(sample.folds))
    steps = [FOREST_TREES // TREES_AT_ONCE if name == "forest" else 1 + folds for name in names]
    costs = [
        STEP_COSTS[name] for name, count in zip(names, steps, strict=True) for _ in range(count)
    ]
    done, total = accumulate(costs), sum(costs)
    return many([partial(task, step=lambda: progress(next(done), total)) for task in tasks])


def _positive(model: Any, X: Array) -> Array:
    return np.asarray(model.predict_proba(X)[:, 1], dtype=np.float64)


def _left_out(sample: Sample, fit: Callable[..., Any], step: Step) -> Array:
    """Predict every row from the fit that left out its fold."""
    prob = np.empty(len(sample.y))
    for fold in np.unique(sample.folds):
        out = sample.folds == fold
        prob[out] = _positive(fit(*sample.outside(fold)), sample.X[out])
        step()
    return prob


# --- logit and splines ----------------------------------------------------------------------------


def _ridge_logit(sample: Sample) -> RareClassifier:
    """Return a logit that chooses its ridge itself, on folds of its own."""
    return RareClassifier(
        "logistic",
        ridge="auto",
        select_by="log_loss",
        standardize=True,
        ridges=RIDGES,
        floor=0.0,
        cv=max(2, len(np.unique(sample.folds))),
        diagnostics=False,
        random_state=sample.seed,
    )


def _logit(sample: Sample, step: Step) -> Fitted:
    def fit(X: Array, y: Array, weight: Array | None) -> Any:
        return _ridge_logit(sample).fit(X, y, sample_weight=weight)

    model = fit(sample.X, sample.y, sample.weight)
    step()
    return Fitted(model, _left_out(sample, fit, step), f"ridge {model.ridge_:.3g}")


def _spline(sample: Sample, step: Step) -> Fitted:
    def fit(X: Array, y: Array, weight: Array | None) -> Any:
        return SplineLogit(inner=_ridge_logit(sample)).fit(X, y, weight)

    model = fit(sample.X, sample.y, sample.weight)
    step()
    return Fitted(model, _left_out(sample, fit, step), f"ridge {model.model_.ridge_:.3g}")


class SplineLogit(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Logit on standardised columns and their cubic B-splines with knots at the quartiles.

    Parameters
    ----------
    inner : RareClassifier
        The linear model on the wider rows; copied before it is fitted.

    Attributes
    ----------
    classes_, n_features_in_
    centre_, spread_ : ndarray of shape (n_features_in_,)
    knots_ : list of ndarray
        Knots of each column, empty where it has too few different values to bend.
    model_ : RareClassifier

    **Assumes** complete numeric columns. Beyond the range of the fit splines stay constant and the
    linear term goes on.

    Examples
    --------
    >>> X = np.linspace(-2, 2, 200)[:, None]
    >>> model = SplineLogit(RareClassifier("logistic", ridge=0.1)).fit(X, np.abs(X[:, 0]) > 1)
    >>> model.predict_proba([[-2.0], [0.0], [2.0]])[:, 1].round(1)
    array([1., 0., 1.])
    """

    def __init__(self, inner: Any = None) -> None:
        self.inner = inner

    def fit(self, X: Any, y: Any, sample_weight: Any = None) -> Self:
        """Place the knots and fit the linear model."""
        X = np.asarray(X, dtype=np.float64)
        self.n_features_in_ = X.shape[1]
        self.centre_ = X.mean(axis=0)
        spread = X.std(axis=0)
        self.spread_ = np.where(spread > 0, spread, 1.0)
        self.knots_ = [knots(column) for column in X.T]
        self.model_ = type(self.inner)(**self.inner.get_params(deep=False))
        self.model_.fit(self._wide(X), y, sample_weight=sample_weight)
        self.classes_ = self.model_.classes_
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return both classes' probabilities, shape (n, 2)."""
        wide = self._wide(np.asarray(X, dtype=np.float64))
        return np.asarray(self.model_.predict_proba(wide))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _wide(self, X: Array) -> Array:
        parts = [(X - self.centre_) / self.spread_]
        for column, knots in zip(X.T, self.knots_, strict=True):
            if len(knots):
                inside = np.clip(column, knots[DEGREE], knots[-DEGREE - 1])
                parts.append(BSpline.design_matrix(inside, knots, DEGREE).toarray())
        return np.ascontiguousarray(np.hstack(parts))

    def _check_loaded(self) -> None:
        if not hasattr(self, "knots_"):
            return
        k = self.n_features_in_
        if self.centre_.shape != (k,) or self.spread_.shape != (k,) or len(self.knots_) != k:
            raise DataError(f"centre_, spread_ or knots_ do not fit {k} columns.")
        for knots in self.knots_:
            if len(knots) and (len(knots) < 2 * DEGREE + 2 or not (np.diff(knots) > 0).all()):
                raise DataError("knots_ are not increasing, or too few for a cubic.")
        wide = k + sum(len(knots) - DEGREE - 1 for knots in self.knots_ if len(knots))
        if self.model_.n_features_in_ != wide:
            raise DataError(f"model_ has {self.model_.n_features_in_} columns, not {wide}.")


def knots(column: Array) -> Array:
    """Knots at the quartiles, evenly continued by three on each side."""
    values = np.unique(column)
    if len(values) < FEW_VALUES:
        return np.empty(0)
    inner = np.unique(np.quantile(column, CUTS))
    if len(inner) < 3:  # most rows share a value: cut the different values instead
        inner = np.unique(np.quantile(values, CUTS))
    first, last = inner[1] - inner[0], inner[-1] - inner[-2]
    steps = np.arange(1, DEGREE + 1)
    with np.errstate(over="ignore"):
        whole = np.concatenate([inner[0] - first * steps[::-1], inner, inner[-1] + last * steps])
    # Values next to each other in floating point, or near the largest ones, leave no room.
    return whole if np.isfinite(whole).all() and (np.diff(whole) > 0).all() else np.empty(0)


# --- trees ----------------------------------------------------------------------------------------


def _boosting(sample: Sample, step: Step) -> Fitted:
    def fit(X: Array, y: Array, weight: Array | None) -> Any:
        return HistGradientBoostingClassifier(random_state=sample.seed).fit(_filled(X), y, weight)

    model = fit(sample.X, sample.y, sample.weight)
    step()
    return Fitted(freeze(model), _left_out(sample, fit, step), f"{model.n_iter_} trees")


def _filled(X: Array) -> Array:
    """Put 0 into columns with holes and no two values: there is nothing to split, or to bin."""
    holed = np.isnan(X).any(axis=0) & ~(np.fmax.reduce(X, axis=0) > np.fmin.reduce(X, axis=0))
    return np.where(holed, 0.0, X) if holed.any() else X


def _forest(sample: Sample, step: Step) -> Fitted:
    X = np.clip(sample.X, -FOREST_LIMIT, FOREST_LIMIT)
    model = RandomForestClassifier(0, min_samples_leaf=2, warm_start=True, random_state=sample.seed)
    while model.n_estimators < FOREST_TREES:  # the same trees as all at once
        model.n_estimators += TREES_AT_ONCE
        model.oob_score = model.n_estimators == FOREST_TREES
        model.fit(X, sample.y, sample.weight)
        step()
    left_out = model.oob_decision_function_[:, 1]
    mean = np.average(sample.y, weights=sample.weight)
    return Fitted(
        freeze(model), np.where(np.isnan(left_out), mean, left_out), f"{FOREST_TREES} trees"
    )


def _catboost(sample: Sample, step: Step) -> Fitted:
    CatBoostClassifier = import_module("catboost").CatBoostClassifier

    def fit(X: Array, y: Array, weight: Array | None, trees: int = 300) -> Any:
        model = CatBoostClassifier(
            iterations=trees,
            random_seed=sample.seed,
            thread_count=1,
            verbose=False,
            allow_writing_files=False,
        )
        return model.fit(X, y, sample_weight=weight)

    def stages(model: Any, X: Array) -> list[Array]:
        return [prob[:, 1] for prob in model.staged_predict_proba(X, eval_period=20)]

    return _counted(sample, fit, stages, tuple(range(20, 301, 20)), step)


def _lightgbm(sample: Sample, step: Step) -> Fitted:
    LGBMClassifier = import_module("lightgbm").LGBMClassifier
    counts = tuple(range(20, 201, 20))

    def fit(X: Array, y: Array, weight: Array | None, trees: int = counts[-1]) -> Any:
        model = LGBMClassifier(
            n_estimators=trees,
            num_leaves=15,
            learning_rate=0.08,
            random_state=sample.seed,
            n_jobs=1,
            verbose=-1,
            deterministic=True,
            force_row_wise=True,
        )
        return model.fit(X, y, sample_weight=weight)

    def stages(model: Any, X: Array) -> list[Array]:
        booster = model.booster_
        return [np.asarray(booster.predict(X, num_iteration=count)) for count in counts]

    return _counted(sample, fit, stages, counts, step)


def _counted(
    sample: Sample,
    fit: Callable[..., Any],
    stages: Callable[[Any, Array], list[Array]],
    counts: tuple[int, ...],
    step: Step,
) -> Fitted:
    """Choose the number of trees by left-out log loss, then fit all rows with it."""
    prob = np.empty((len(counts), len(sample.y)))
    for fold in np.unique(sample.folds):
        out = sample.folds == fold
        for count, stage in enumerate(stages(fit(*sample.outside(fold)), sample.X[out])):
            prob[count, out] = stage
        step()
    happened = np.clip(np.where(sample.y == 1, prob, 1.0 - prob), SMALLEST, 1.0)
    losses = np.average(-np.log(happened), axis=1, weights=sample.weight)
    best = int(np.argmin(losses))
    model = fit(sample.X, sample.y, sample.weight, counts[best])
    step()
    return Fitted(freeze(model), prob[best], f"{counts[best]} trees")


MEMBERS: dict[str, Callable[[Sample, Step], Fitted]] = {
    "logit": _logit,
    "spline": _spline,
    "boosting": _boosting,
    "forest": _forest,
    "catboost": _catboost,
    "lightgbm": _lightgbm,
}
