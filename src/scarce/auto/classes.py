"""Several classes: members learn them together, or each against the rest with scaled answers.

    together    one multinomial fit (joint.py)
    alone       prob_k = share_k(x) / sum over classes j of share_j(x), share_k: "class k or not"

The shipped members learn the classes together; estimators of the user's own, CatBoost, LightGBM,
the Gaussian classes and the logit that integrates missing values out learn them alone. Folds are
the same for all classes: a probability of a left-out row comes from fits that had not seen it,
whatever the class. A class with rows in fewer than three folds cannot be judged and gets its
prevalence. Does not weigh members: see softmax.py.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from itertools import accumulate
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.base import BaseEstimator, ClassifierMixin

from scarce.auto.forms import FORMS
from scarce.auto.joint import MAKERS, Joint
from scarce.auto.members import (
    FIT_COSTS,
    SMALLEST,
    Fitted,
    Maker,
    Model,
    Sample,
    fit_member,
    fits_needed,
)
from scarce.auto.softmax import ClassCombination, combine_classes
from scarce.engine.block import Array
from scarce.engine.executors import Engine, Progress, many, with_words
from scarce.engine.folds import mix_bits
from scarce.errors import inconsistent_model

Ids = NDArray[np.intp]


class OneVsRest(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Fitted models of "this class or not", one per class, scaled to sum to 1: predicts only.

    Attributes
    ----------
    models_ : list of fitted models
        Of the classes in `modelled_`.
    modelled_ : ndarray of int
        Positions of the classes that have a model; the others keep their prevalence.
    prevalence_ : ndarray of shape (n_classes,)

    **Assumes** the columns of the members, in their order.
    """

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return the probabilities of the classes, shape (n, n_classes)."""
        shares = [np.asarray(model.predict_proba(X))[:, 1] for model in self.models_]
        return scaled(np.array(shares).T, self.modelled_, self.prevalence_)

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row, by position."""
        return np.asarray(self.predict_proba(X).argmax(axis=1))

    def _check_loaded(self) -> None:
        if not hasattr(self, "models_"):
            return
        count = len(self.prevalence_)
        places = np.arange(count)
        if not np.array_equal(np.unique(self.modelled_), self.modelled_) or not (
            np.isin(self.modelled_, places).all() and len(self.models_) == len(self.modelled_) > 0
        ):
            raise inconsistent_model("modelled_", f"must be a class of {count} for each model")
        if not ((self.prevalence_ > 0) & (self.prevalence_ < 1)).all():
            raise inconsistent_model("prevalence_", "must be between 0 and 1")
        if {model.n_features_in_ for model in self.models_} != {self.n_features_in_}:
            raise inconsistent_model("models_", f"must have {self.n_features_in_} columns each")


def scaled(shares: Array, modelled: Ids, prevalence: Array) -> Array:
    """Return probabilities that sum to 1, from those of each class against the rest.

    Examples
    --------
    >>> scaled(np.array([[0.3, 0.3]]), np.array([0, 2]), np.array([0.4, 0.2, 0.4])).round(3)
    array([[0.375, 0.25 , 0.375]])
    """
    prob = np.tile(prevalence, (*shares.shape[:-1], 1))
    prob[..., modelled] = np.maximum(shares, SMALLEST)
    return np.asarray(prob / prob.sum(axis=-1, keepdims=True))


class ClassTrial(NamedTuple):
    """The member's procedure without one part of the folds, as `scarce.auto.members.Trial`."""

    left_out: Array  # (n, classes)
    judged: Array  # (folds outside the part, rows inside, classes)


class ClassFitted(NamedTuple):
    """One model of all classes per fold, the procedure on all rows, and without each part."""

    models: list[Model]
    whole: ClassTrial
    trials: list[ClassTrial]
    chosen: str


def judgeable(sample: Sample, n_classes: int) -> Ids:
    """Return the classes that have rows, and others, in any fit without two folds."""
    found = []
    for k in range(n_classes):
        y = sample.y == k
        kept = [
            y[~sample.inside(part | {fold})]
            for part in [frozenset[int](), *sample.parts()]
            for fold in np.unique(sample.folds).tolist()
        ]
        if all(len(np.unique(one)) == 2 for one in kept):
            found.append(k)
    return np.array(found, dtype=np.intp)


def fit_classes(
    names: Sequence[str],
    sample: Sample,
    modelled: Ids,
    prevalence: Array,
    engine: Engine,
    progress: Progress | None,
    makers: Mapping[str, Maker],
) -> list[ClassFitted]:
    """Fit each member to all classes at once, or to each class against the rest.

    `sample.y` holds positions of classes; `makers` fit the members that are not shipped.
    """
    words = class_words(sample.X, sample.y)
    ordered = modelled[np.argsort(words[modelled], kind="stable")]
    together = [name for name in names if name not in makers and learns_together(name, sample)]
    taken, tasks = sample.inputs(), list[tuple[str, int, Callable[..., Fitted]]]()
    for name in together:
        # In its form already; without `front` and `group` nothing more is done to it.
        own = sample._replace(X=taken.of(FORMS[name]), front=None, group=None)
        joint = Joint(name, ordered, prevalence, sample.group)
        cost = FIT_COSTS.get(name, 4) * len(modelled)
        tasks.append((name, cost, partial(fit_member, name, own, maker=joint)))
    for name in names:
        for k in modelled.tolist() if name not in together else []:
            binary = sample._replace(y=(sample.y == k) * 1.0)
            task = partial(fit_member, name, binary, maker=makers.get(name))
            tasks.append((f"{name}, class {k + 1}", FIT_COSTS.get(name, 4), task))
    fits = iter(_run(tasks, fits_needed(sample), engine, progress))
    found = {name: _as_classes(next(fits)) for name in together}
    for name in names:
        if name not in found:
            found[name] = _joined([next(fits) for _ in modelled], modelled, prevalence)
    return [found[name] for name in names]


def class_words(X: Array, y: Array) -> NDArray[np.uint64]:
    """Return a number of each class that depends on the ranks of its values, not on its name.

    Rows and classes are ordered by them, because what is drawn for one class after the other
    (columns that a tree tries, rows of a kernel) depends on an order.

    Examples
    --------
    >>> X = np.array([[1.0, 5.0], [2.0, 3.0], [7.0, 4.0]])
    >>> one, other = class_words(X, np.array([0, 1, 1])), class_words(7 * X, np.array([1, 0, 0]))
    >>> bool(one[0] == other[1] and one[1] == other[0])
    True
    """
    rows = np.zeros(len(y), dtype=np.uint64)
    for column in X.T:
        rank = np.unique(column, return_inverse=True)[1].ravel()
        cells = mix_bits(rank.astype(np.uint64) + np.uint64(1))
        rows += mix_bits(cells + mix_bits(cells.sum(keepdims=True, dtype=np.uint64)))
    words = mix_bits(rows)
    codes = y.astype(np.intp)
    sums = [words[codes == k].sum(dtype=np.uint64) for k in range(codes.max() + 1)]
    return np.array(sums, dtype=np.uint64)


def _run(
    tasks: Sequence[tuple[str, int, Callable[..., Fitted]]],
    fits: int,
    engine: Engine,
    progress: Progress | None,
) -> list[Fitted]:
    """Do the tasks, of so many fits each; without an engine progress is told after each fit."""
    if engine is not None or progress is None:
        return many([task for _, _, task in tasks], engine, progress=progress)
    tell = with_words(progress)
    costs = [cost for _, cost, _ in tasks for _ in range(fits)]
    words = (
        f"{name}, fit {number + 1} of {fits}" for name, _, _ in tasks for number in range(fits)
    )
    done, total = accumulate(costs), sum(costs)

    def step() -> None:
        tell(next(done), total, next(words))

    return many([partial(task, step=step) for _, _, task in tasks])


def learns_together(name: str, sample: Sample) -> bool:
    """Whether a shipped member learns all classes in one fit."""
    return name in MAKERS and not (name == "logit" and sample.incomplete)


def _as_classes(fitted: Fitted) -> ClassFitted:
    """Return a member that learnt all classes in one fit."""
    whole = ClassTrial(fitted.whole.left_out, np.empty(0))
    trials = [ClassTrial(one.left_out, one.judged) for one in fitted.trials]
    return ClassFitted(fitted.models, whole, trials, fitted.chosen)


def _joined(fits: list[Fitted], modelled: Ids, prevalence: Array) -> ClassFitted:
    """Return the fits of one member to all classes as one member."""

    def both(pick: Callable[[Fitted], Array]) -> Array:
        return scaled(np.stack([pick(one) for one in fits], axis=-1), modelled, prevalence)

    models: list[Model] = []
    for inner in zip(*(one.models for one in fits), strict=True):
        models.append(one_vs_rest(list(inner), modelled, prevalence))
    trials = [
        ClassTrial(
            both(lambda one, at=at: one.trials[at].left_out),  # type: ignore[misc]
            both(lambda one, at=at: one.trials[at].judged),  # type: ignore[misc]
        )
        for at in range(len(fits[0].trials))
    ]
    chosen = list(dict.fromkeys(one.chosen for one in fits))
    return ClassFitted(
        models,
        ClassTrial(both(lambda one: one.whole.left_out), np.empty(0)),
        trials,
        chosen[0] if len(chosen) == 1 else "by class",
    )


def one_vs_rest(models: list[Model], modelled: Ids, prevalence: Array) -> OneVsRest:
    """Return models of single classes as one."""
    joined = OneVsRest()
    joined.models_, joined.modelled_, joined.prevalence_ = models, modelled, prevalence
    joined.classes_ = np.arange(len(prevalence))
    joined.n_features_in_ = models[0].n_features_in_
    return joined


def judge_classes(
    members: Sequence[ClassFitted],
    sample: Sample,
    floors: Sequence[float],
    plain: int | None,
) -> tuple[dict[str, ClassCombination], int, dict[str, Array]]:
    """Combine the members in each way, and score each way on rows that it had not seen.

    Returns
    -------
    ways : dict of ClassCombination
    single : int
        Position of the best single member.
    scores : dict of ndarray of shape (n, classes)
        Log probabilities of left-out rows.
    """
    codes, weight, folds = sample.y.astype(np.intp), sample.weights, sample.folds
    ways, best = combine_classes(
        np.array([one.whole.left_out for one in members]),
        codes,
        weight,
        folds,
        floors=floors,
        plain=plain,
    )
    scores = {way: np.empty(members[0].whole.left_out.shape) for way in ways}
    for number, part in enumerate(sample.parts()):
        inside = sample.inside(part)
        kept = np.flatnonzero(~inside)
        tried, _ = combine_classes(
            np.array([one.trials[number].left_out[kept] for one in members]),
            codes[kept],
            weight[kept],
            folds[kept],
            floors=floors,
            plain=plain,
        )
        judged = np.array([one.trials[number].judged for one in members])
        for way, combination in tried.items():
            scores[way][inside] = combination.log_prob(judged)
    return ways, best, scores
