"""Naive Bayes with Gaussian features: a model of each class, so holes in a row cost nothing.

    log p(y) + sum over seen j of log N(x_j; mean_yj, variance_yj)        (003 section 0.4)

One fold gives count, mean and centred squares of each class and feature, merged block by block
without cancellation. A missing value is integrated out exactly, by leaving its factor away. Assumes
that features are independent within a class; says nothing about rows unlike both classes.
"""

from __future__ import annotations

import time
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from scarce.errors import DataError, UsageError, refuse_word
from scarce.models.inputs import (
    positive_remark,
    refuse_categories,
    rows_to_fit,
    rows_to_predict,
)
from scarce.records import FitReport
from scarce.rows import Block, Rows
from scarce.rows.block import Array
from scarce.rows.engines import Engine


class Moments(NamedTuple):
    """What a fit needs of each class: its weight; per feature weight seen, mean and squares."""

    weight: Array  # (classes,)
    seen: Array  # (classes, features)
    mean: Array  # (classes, features), from the origin
    squares: Array  # (classes, features), sum of weight * (x - mean)^2


def class_moments(block: Block, params: tuple[int, Array]) -> Moments:
    """Kernel: moments of the labelled rows of a block, class by class, measured from an origin."""
    total: Moments | None = None
    for piece in block.pieces():
        part = _piece_moments(piece, *params)
        total = part if total is None else merge_moments(total, part)
    assert total is not None  # a block has rows
    return total


def _piece_moments(piece: Block, n_classes: int, origin: Array) -> Moments:
    width = piece.X.shape[1]
    moments = Moments(np.zeros(n_classes), *np.zeros((3, n_classes, width)))
    assert piece.y is not None
    for label in range(n_classes):
        chosen = np.flatnonzero(piece.y == label)
        if len(chosen) == 0:
            continue
        X = piece.X[chosen] - origin
        weight = np.ones(len(chosen)) if piece.weight is None else piece.weight[chosen]
        unseen = np.isnan(X)
        moments.weight[label] = weight.sum()
        moments.seen[label] = seen = weight @ ~unseen
        X[unseen] = 0.0
        with np.errstate(invalid="ignore"):
            mean = np.where(seen > 0, (weight @ X) / seen, 0.0)
        X -= mean
        X[unseen] = 0.0
        moments.mean[label] = mean
        moments.squares[label] = weight @ np.square(X, out=X)
    return moments


def merge_moments(total: Moments, more: Moments) -> Moments:
    """Merge two sets of moments exactly, without subtracting large sums (Chan, Golub, LeVeque)."""
    seen = total.seen + more.seen
    apart = more.mean - total.mean
    with np.errstate(invalid="ignore"):
        share = np.where(seen > 0, more.seen / seen, 0.0)
    return Moments(
        total.weight + more.weight,
        seen,
        total.mean + share * apart,
        total.squares + more.squares + total.seen * share * apart**2,
    )


def _origin(rows: Rows) -> Array:
    """A typical value of each feature: means and squares are taken from there.

    Coordinates and time stamps are large numbers with a small spread; a mean of size 1e8 has an
    error of 1e-8, which a variance of 1e-4 would show.
    """
    sample = next(rows.blocks()).X[:256]
    seen = ~np.isnan(sample)
    return np.asarray(np.where(seen, sample, 0.0).sum(axis=0) / np.maximum(seen.sum(axis=0), 1))


class_moments.merge = merge_moments  # type: ignore[attr-defined]


class GaussianBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian naive Bayes that takes missing features and unlabelled rows as they are.

    Parameters
    ----------
    covariance : {"diag", "shared-diag"}
        One variance per class and feature, or one per feature for all classes.
    priors : array-like of shape (n_classes,), optional
        Class shares to predict with; by default those of the labelled rows.
    var_smoothing : float
        Added to every variance, as a share of the largest variance of a feature: keeps a feature
        that is constant within a class from deciding everything.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the blocks of rows. Does not change a bit of the result.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted; with two classes the second is the positive one.
    class_prior_ : ndarray of shape (n_classes,)
    mean_, variance_ : ndarray of shape (n_classes, n_features_in_)
    class_weight_seen_ : ndarray of shape (n_classes,)
        Total weight of the labelled rows of each class.
    used_ : ndarray of bool, shape (n_features_in_,)
        False for features of which some class has never shown a value; they are left out.
    report_ : FitReport

    **Assumes** that features are measurements (rows with categories are refused), independent and
    Gaussian within a class, that labelled rows of a class are a fair sample of it, and that whether
    a value is missing says nothing about the class. Rows that are not labelled are not used.

    References
    ----------
    Chan, Golub, LeVeque (1983), Algorithms for computing the sample variance, The American
    Statistician 37.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.2, np.nan], [3.0, 4.0], [np.nan, 5.0], [1.0, 1.0]])
    >>> model = GaussianBayes().fit(X, [0, 0, 1, 1, np.nan])
    >>> model.predict([[0.1, np.nan], [np.nan, 4.4]])
    array([0., 1.])
    """

    _runtime_params = ("engine",)

    def __init__(
        self,
        covariance: str = "diag",
        *,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        engine: Engine = None,
    ) -> None:
        self.covariance = covariance
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.engine = engine

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
            NaN is a missing value. `Rows` bring their labels and weights along.
        y : array-like of shape (n,), optional
            Classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional

        Returns
        -------
        self
        """
        refuse_word("covariance", self.covariance, ("diag", "shared-diag"))
        begin = time.perf_counter()
        rows, self.classes_ = rows_to_fit(self, X, y, sample_weight, engine=self.engine)
        refuse_categories(rows, type(self).__name__)
        origin = _origin(rows)
        moments: Moments = rows.fold(
            class_moments, (len(self.classes_), origin), engine=self.engine
        )
        self._refuse_empty_classes(moments)
        self.used_ = (moments.seen > 0).all(axis=0)
        self.class_weight_seen_ = moments.weight
        self.class_prior_ = self._priors(moments.weight)
        self.mean_ = np.where(self.used_, origin + moments.mean, 0.0)
        self.variance_ = np.where(self.used_, self._variance(moments), 1.0)
        self.report_ = FitReport(
            converged=True,
            certificate=0.0,
            objective=self._objective(moments),
            passes=1,
            seconds=time.perf_counter() - begin,
            warnings=tuple(self._remarks(moments)),
            proves="closed form",
        )
        return self

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(class) + log p(seen features | class), shape (n, n_classes)."""
        check_is_fitted(self)
        rows = rows_to_predict(self, X, engine=self.engine)
        precision = self.used_ / self.variance_
        constant = np.where(self.used_, np.log(2 * np.pi * self.variance_), 0.0)
        params = (np.log(self.class_prior_), self.mean_, precision, constant)
        return rows.map(joint_log_prob, params, engine=self.engine)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of each class's probability, shape (n, n_classes)."""
        joint = self.predict_joint_log_proba(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, X: Any) -> Array:
        """Return each class's probability, shape (n, n_classes)."""
        return np.asarray(softmax(self.predict_joint_log_proba(X), axis=1))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row."""
        best = self.predict_joint_log_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _priors(self, weight: Array) -> Array:
        if self.priors is None:
            return np.asarray(weight / weight.sum())
        priors = np.asarray(self.priors, dtype=np.float64)
        if priors.shape != weight.shape or not (priors > 0).all() or abs(priors.sum() - 1) > 1e-9:
            raise UsageError(
                f"priors={priors.tolist()} do not fit the {len(weight)} classes "
                f"{self.classes_.tolist()}: give one share above 0 for each, together 1."
            )
        return priors

    def _variance(self, moments: Moments) -> Array:
        with np.errstate(invalid="ignore"):
            variance = moments.squares / moments.seen
            centre = (moments.seen * moments.mean).sum(axis=0) / moments.seen.sum(axis=0)
            spread = moments.squares + moments.seen * (moments.mean - centre) ** 2
            total = spread.sum(axis=0) / moments.seen.sum(axis=0)
        if self.covariance == "shared-diag":
            pooled = moments.squares.sum(axis=0) / np.maximum(moments.seen.sum(axis=0), 1e-300)
            variance = np.tile(pooled, (len(variance), 1))
        floor = self.var_smoothing * np.max(total, where=self.used_, initial=0.0)
        # DEVIATION from the notes' plain variance: a constant feature would divide by zero.
        return np.asarray(np.maximum(variance + floor, np.finfo(np.float64).tiny))

    def _objective(self, moments: Moments) -> float:
        """Negative log-likelihood of the labelled rows, from the moments alone."""
        per_cell = (
            moments.seen * np.log(2 * np.pi * self.variance_) + moments.squares / self.variance_
        )
        classes = moments.weight @ np.log(self.class_prior_)
        return float(0.5 * per_cell[:, self.used_].sum() - classes)

    def _refuse_empty_classes(self, moments: Moments) -> None:
        empty = [label for label, w in zip(self.classes_, moments.weight, strict=True) if w == 0]
        if len(self.classes_) < 2 or empty:
            present = [label for label in self.classes_.tolist() if label not in empty]
            raise DataError(
                "Labelled rows of at least two classes are needed, and there is only one class "
                f"with weight above 0: {', '.join(map(repr, present)) or 'none'}. Label rows of "
                "the other class too."
            )

    def _remarks(self, moments: Moments) -> list[str]:
        remarks = []
        if not self.used_.all():
            names = getattr(self, "feature_names_in_", np.arange(self.n_features_in_))
            left_out = [str(name) for name in names[~self.used_][:8]]
            remarks.append(
                f"Left out, because some class never shows a value: {', '.join(left_out)}."
            )
        return remarks + positive_remark(self.classes_, moments.weight)

    def _check_loaded(self) -> None:
        """Refuse a model file whose arrays do not belong together."""
        if not hasattr(self, "classes_"):
            return
        shape = (len(self.classes_), self.n_features_in_)
        for name, wanted in (
            ("mean_", shape),
            ("variance_", shape),
            ("class_prior_", shape[:1]),
            ("used_", shape[1:]),
        ):
            found = getattr(getattr(self, name, None), "shape", None)
            if found != wanted:
                raise DataError(f"{name} has shape {found}, where {wanted} is needed.")


def joint_log_prob(block: Block, params: tuple[Array, Array, Array, Array]) -> Array:
    """Kernel of the map: log prior plus the log density of what was seen."""
    log_prior, mean, precision, constant = params
    out = np.empty((len(block), len(log_prior)))
    for piece in block.pieces():
        part = out[piece.start - block.start :][: len(piece)]
        unseen = np.isnan(piece.X)
        holes = bool(unseen.any())
        known = np.where(unseen, 0.0, piece.X) if holes else piece.X
        for label in range(len(log_prior)):
            gap = np.subtract(known, mean[label])
            np.square(gap, out=gap)
            if holes:
                gap[unseen] = 0.0
                part[:, label] = gap @ precision[label] + ~unseen @ constant[label]
            else:
                part[:, label] = gap @ precision[label] + constant[label].sum()
        part *= -0.5
        part += log_prior
    return out
