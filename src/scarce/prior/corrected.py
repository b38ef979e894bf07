"""Any classifier under another class mix than the one it was trained at.

    log-odds of class y = inner log-odds + log(now_at[y] / trained_at[y])

For a logit this is an exact shift of the intercept (King and Zeng 2001, eq 7). Finds the mix of
training by itself: counts, under-sampling, class weights. Assumes that only the class shares differ
between the two worlds. Does not estimate the shares of a new world.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from scarce.errors import DataError, UsageError, refuse_word
from scarce.prior.shift import class_shares, correct_prior
from scarce.prior.weights import by_class, factors, stated_weights
from scarce.rows import ArrayRows, Rows
from scarce.rows.block import Array

Shares = Mapping[Any, float]


class PriorCorrected(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier, with probabilities for another class mix than the one it was trained at.

    Two mixes decide everything. **Trained at**: what the inner fit saw, which is the (weighted)
    class counts after under-sampling, times its class weights. **Now at**: the world to predict
    for, which is the mix of the rows passed to `fit` unless `prior` or `kept` says otherwise.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Pipelines too. Its class weights are found and taken back: `class_weight`,
        `scale_pos_weight`, `is_unbalance`, `auto_class_weights`, `class_weights`.
    prior : float or dict {class: share}, optional
        Class shares to predict for. A number is the share of the positive (greater) class; one
        class may be left out of the dict and gets the rest.
    undersample : float, optional
        Fit on all rows of the rarest class and on this many rows of each other class per rare row,
        drawn at random without replacement. 1.0 is half and half for two classes.
    kept : dict {class: rate}, optional
        The rows passed to `fit` were under-sampled before: the share of each class that was kept.
        Classes not named were kept whole. Tells the world's mix, so it excludes `prior`.
    weighted : "auto", None, or dict {class: weight}
        Class weights in the inner fit. "auto" reads them from the estimator's parameters; None
        leaves them as they are; a dict says what no parameter shows.
    random_state : int, RandomState or None
        Which rows under-sampling keeps.

    Attributes
    ----------
    estimator_ : the fitted inner classifier
    classes_ : ndarray of shape (n_classes,)
    trained_at_, now_at_ : ndarray of shape (n_classes,)
        The two mixes.
    n_rows_used_ : int
        Rows that the inner fit saw.
    coef_, intercept_ : ndarray
        Only around a linear logit: the coefficients, and the corrected intercept.

    **Assumes** that rows within a class are alike in both worlds, and that the inner probabilities
    are right for the mix that it was trained at. Row weights describe the world (weight 2 is a row
    twice); class weights distort it.

    Notes
    -----
    Under-sampling buys speed, not accuracy: it throws rows away, and on rare-class tables an
    under-sampled, corrected logistic has a clearly larger Brier score than a plain one.

    References
    ----------
    King and Zeng (2001), Logistic regression in rare events data, Political Analysis 9.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(4000, 1))
    >>> y = rng.random(4000) < 1 / (1 + np.exp(4 - X[:, 0]))
    >>> loud = LogisticRegression(class_weight="balanced").fit(X, y)
    >>> calm = PriorCorrected(LogisticRegression(class_weight="balanced")).fit(X, y)
    >>> y.mean().round(3), *(m.predict_proba(X)[:, 1].mean().round(3) for m in (loud, calm))
    (np.float64(0.024), np.float64(0.405), np.float64(0.025))
    >>> quick = PriorCorrected(LogisticRegression(), undersample=1.0, random_state=0).fit(X, y)
    >>> quick.n_rows_used_, quick.trained_at_, quick.now_at_.round(3)
    (194, array([0.5, 0.5]), array([0.976, 0.024]))
    """

    _undoes_class_weights = True  # see prior/weights.py

    def __init__(
        self,
        estimator: Any,
        *,
        prior: float | Shares | None = None,
        undersample: float | None = None,
        kept: Shares | None = None,
        weighted: str | Shares | None = "auto",
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.undersample = undersample
        self.kept = kept
        self.weighted = weighted
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the inner classifier and note the two class mixes.

        Parameters
        ----------
        X : whatever the inner classifier takes
        y : array-like of shape (n,)
        sample_weight : array-like of shape (n,), optional
            For inner classifiers that take it.

        Returns
        -------
        self
        """
        self._refuse_contradictions()
        self.estimator_ = clone(self.estimator)
        if isinstance(X, Rows):
            return self._fit_rows(X)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Pass "
                "one label per row."
            )
        labels = column_or_1d(_as_array(y), warn=True)
        X, labels = indexable(X, labels)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(sample_weight, labels, ensure_non_negative=True)
        seen, seen_weight = labels, weight
        if self.undersample is not None:
            chosen = self._chosen_rows(labels)
            X, seen = _safe_indexing(X, chosen), labels[chosen]
            seen_weight = None if weight is None else weight[chosen]
        searching = hasattr(self.estimator_, "refit")  # its weights are known after the search
        where, setting = ("", None) if searching else self._class_weights(self.estimator_)
        if isinstance(setting, str) and setting == "balanced" and seen_weight is not None:
            # Libraries differ in whether "balanced" counts rows or weights: settle it by numbers.
            known = _known_classes(seen)
            sums = np.maximum(_class_sums(seen, seen_weight, known), 1e-300)
            setting = dict(zip(known.tolist(), (sums.mean() / sums).tolist(), strict=True))
            self.estimator_.set_params(**{where: setting})
        self.estimator_.fit(X, seen, **_weight_argument(self.estimator_, seen_weight))
        if searching:
            where, setting = self._class_weights(self.estimator_.best_estimator_)
        self._take_over()
        classes, self.n_rows_used_ = self.classes_, len(seen)
        used = _class_sums(seen, seen_weight, classes)
        factor = factors(where, setting, used, _class_sums(seen, None, classes), classes)
        self._settle(_class_sums(labels, weight, classes), used * factor)
        self._expose_logit(_safe_indexing(X, np.arange(min(64, len(seen)))))
        return self

    def _fit_rows(self, rows: Rows) -> Self:
        if self.undersample is not None:
            raise UsageError(
                f"undersample={self.undersample!r} draws rows of an array, and these are rows in "
                "blocks. Pass X and y as arrays, or fit on all rows."
            )
        self.estimator_.fit(rows)
        self._take_over()
        sums, unlabelled = rows.label_counts()
        self.n_rows_used_ = len(rows) - unlabelled
        where, setting = self._class_weights(self.estimator_)
        self._settle(sums, sums * factors(where, setting, sums, sums, self.classes_))
        head = next(rows.blocks()).X[:64]
        self._expose_logit(ArrayRows(head, schema=rows.schema, check=False))
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return each class's probability under the class mix `now_at_`, shape (n, n_classes)."""
        check_is_fitted(self)
        return correct_prior(self.estimator_.predict_proba(X), self.trained_at_, self.now_at_)

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of each class's probability, shape (n, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row under the class mix `now_at_`."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        return tags

    def _refuse_contradictions(self) -> None:
        if not hasattr(self.estimator, "predict_proba"):
            raise UsageError(
                f"{type(self.estimator).__name__} gives no probabilities (it has no "
                "predict_proba), so there is nothing to correct. Wrap it in scikit-learn's "
                "CalibratedClassifierCV first."
            )
        if self.prior is not None and self.kept is not None:
            raise UsageError(
                f"prior={self.prior!r} and kept={self.kept!r} both say which class mix the world "
                "has. Give prior= for known shares, or kept= for the rates at which the rows were "
                "sampled."
            )
        ratio = self.undersample
        if ratio is not None and not (isinstance(ratio, (int, float)) and 0 < ratio < np.inf):
            raise UsageError(
                f"undersample={ratio!r} is not a number of rows per row of the rarest class. Give "
                "1.0 for half and half, or None to fit on all rows."
            )
        if not (self.weighted is None or isinstance(self.weighted, Mapping)):
            refuse_word("weighted", self.weighted, ("auto",))

    def _chosen_rows(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """All rows of the rarest class, a random part of the others, in their old order."""
        classes = _known_classes(labels)
        hits = [np.flatnonzero(_is(labels, label)) for label in classes]
        most = max(1, round(float(self.undersample or 0) * min(map(len, hits), default=0)))
        random = check_random_state(self.random_state)
        kept = np.ones(len(labels), dtype=bool)
        for rows in hits:
            if len(rows) > most and len(rows) > min(map(len, hits)):
                kept[rows] = False
                kept[random.choice(rows, most, replace=False)] = True
        return np.flatnonzero(kept)

    def _class_weights(self, inner: Any) -> tuple[str, Any]:
        """Return the parameter that holds the inner fit's class weights, and its value."""
        if self.weighted is None:
            return "", None
        if isinstance(self.weighted, Mapping):
            where, setting = stated_weights(inner, strict=False)
            if where:
                raise UsageError(
                    f"weighted={dict(self.weighted)!r}, but {type(inner).__name__} itself says "
                    f"{where}={setting!r}. Leave weighted='auto', or take one of the two away."
                )
            return "weighted", dict(self.weighted)
        return stated_weights(inner, strict=True)

    def _take_over(self) -> None:
        self.classes_: NDArray[Any] = np.asarray(self.estimator_.classes_)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def _settle(self, every: Array, trained: Array) -> None:
        """Note the mix that the inner fit saw and the mix to predict for."""
        if len(self.classes_) < 2 or not (trained > 0).all():
            shown = ", ".join(repr(c) for c in self.classes_[trained > 0].tolist())
            raise DataError(
                f"Rows of at least two classes are needed, and there is only one class with "
                f"weight above 0: {shown or 'none'}. Label rows of the other class too."
            )
        inner = getattr(self.estimator_, "now_at_", None)  # a PriorCorrected inside this one
        self.trained_at_ = trained / trained.sum() if inner is None else np.asarray(inner)
        if self.prior is not None:
            self.now_at_ = self._shares_of_prior()
            return
        rates = by_class("kept", self.kept or {}, self.classes_, 1.0)
        if not ((rates > 0) & (rates <= 1)).all():
            raise UsageError(
                f"kept={self.kept!r} must hold shares of a class that were kept, above 0 and at "
                "most 1, such as {0: 0.05}."
            )
        self.now_at_ = every / rates / (every / rates).sum()

    def _shares_of_prior(self) -> Array:
        classes = self.classes_.tolist()
        if not isinstance(self.prior, Mapping):
            if not isinstance(self.prior, (int, float, np.number)) or len(classes) != 2:
                raise UsageError(
                    f"prior={self.prior!r} does not say the shares of the {len(classes)} classes: "
                    f"give a dict, such as {{{classes[-1]!r}: 0.01, ...}}."
                )
            return class_shares(float(self.prior), 2, "prior")
        shares = by_class("prior", self.prior, self.classes_, np.nan)
        left_out = np.isnan(shares)
        if left_out.sum() == 1:
            shares[left_out] = 1.0 - shares[~left_out].sum()
        return class_shares(shares, len(classes), "prior")

    def _expose_logit(self, head: Any) -> None:
        """Show the shifted intercept where the inner model is a linear logit, as seen on rows."""
        inner = self.estimator_
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        if not all(hasattr(inner, n) for n in ("coef_", "intercept_", "decision_function")):
            return
        score, prob = inner.decision_function(head), inner.predict_proba(head)
        linked = expit(score) if score.ndim == 1 else softmax(score, axis=1)
        if not np.allclose(prob[:, 1] if score.ndim == 1 else prob, linked, rtol=1e-9, atol=1e-12):
            return
        shift = np.log(self.now_at_) - np.log(self.trained_at_)
        self.coef_ = np.array(inner.coef_)
        self.intercept_ = inner.intercept_ + (shift[1] - shift[0] if score.ndim == 1 else shift)

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        for name in ("trained_at_", "now_at_"):
            class_shares(getattr(self, name), len(self.classes_), name)
        if self.classes_.tolist() != np.asarray(self.estimator_.classes_).tolist():
            raise DataError("classes_ are not those of the inner model.")


def _weight_argument(estimator: Any, weight: Array | None) -> dict[str, Array]:
    """Return sample_weight under the names by which the estimator's fit takes it."""
    if weight is None:
        return {}
    if getattr(estimator, "steps", None):  # every step that can, so that weight 2 is a row twice
        last = estimator.steps[-1][0]
        return {
            f"{name}__{argument}": value
            for name, step in estimator.steps
            if name == last or has_fit_parameter(step, "sample_weight")
            for argument, value in _weight_argument(step, weight).items()
        }
    if not has_fit_parameter(estimator, "sample_weight"):
        raise UsageError(
            f"sample_weight was given, and {type(estimator).__name__}.fit takes none. Leave it "
            "out, or choose a classifier that weighs rows."
        )
    return {"sample_weight": weight}


def _as_array(y: Any) -> NDArray[Any]:
    """Labels as an array; missing values of pandas' own types become None."""
    if type(getattr(y, "dtype", None)).__module__.startswith("pandas"):
        return np.asarray(y.to_numpy(dtype=object, na_value=None))
    return np.asarray(y)


def _known_classes(labels: NDArray[Any]) -> NDArray[Any]:
    if labels.dtype == object:
        labels = labels[[value is not None and value == value for value in labels]]
        labels = np.array(labels.tolist()) if len(labels) else labels
    elif labels.dtype.kind == "f":
        if np.isinf(labels).any():
            raise DataError(
                "Input y contains infinity or a value too large for dtype('float64'). Labels are "
                "classes; rows that are not labelled are NaN."
            )
        labels = labels[~np.isnan(labels)]
    check_classification_targets(labels)
    return np.unique(labels)


def _is(labels: NDArray[Any], label: Any) -> NDArray[np.bool_]:
    return np.asarray(labels == label, dtype=bool)


def _class_sums(labels: NDArray[Any], weight: Array | None, classes: NDArray[Any]) -> Array:
    """Return the total weight of each class; rows that are not labelled count for none."""
    weight = np.ones(len(labels)) if weight is None else weight
    return np.array([weight[_is(labels, label)].sum() for label in classes], dtype=np.float64)
