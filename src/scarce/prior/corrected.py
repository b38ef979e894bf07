"""Any classifier under another class mix than the one it was trained at.

    log-odds of class y = inner log-odds + log(now_at[y] / trained_at[y])

For a logit this is an exact shift of the intercept (King and Zeng 2001, eq 7). Finds the mix of
training by itself: counts, under-sampling, class weights. Assumes that only the class shares differ
between the two worlds. Does not estimate the shares of a new world; entropy.py has a robust guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
)

from scarce.engine.block import Array
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.io.labels import label_array
from scarce.io.schema import unmasked_weights
from scarce.prior.entropy import (
    density_shares,
    equal_totals,
    fitted_density,
    two_classes,
)
from scarce.prior.labels import (
    class_sums,
    is_label,
    known_classes,
    the_only_class,
    unlabelled_rows,
)
from scarce.prior.shift import class_shares, correct_prior
from scarce.prior.weights import by_class, factors, stated_weights, weight_argument

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
    prior : float, dict {class: share} or "entropy", optional
        Class shares to predict for. A number is the share of the positive (greater) class; one
        class may be left out of the dict and gets the rest. "entropy": the shares that `density`
        finds, for labels that were revealed at unknown rates, or for one class only.
    undersample : float, optional
        Fit on all rows of the rarest class and on this many rows of each other class per rare row,
        drawn at random without replacement. 1.0 is half and half for two classes.
    kept : dict {class: rate}, optional
        The rows passed to `fit` were under-sampled before: the share of each class that was kept.
        Classes not named were kept whole. Tells the world's mix, so it excludes `prior`.
    weighted : "auto", None, or dict {class: weight}
        Class weights in the inner fit. "auto" reads them from the estimator's parameters; None
        leaves them as they are; a dict says what no parameter shows.
    default_prevalence : float or dict {class: share}
        With prior="entropy": the shares before any data, as `MaxentClassifier` takes them.
    density : estimator with class_prior_ after fit, optional
        With prior="entropy": who finds the shares, fitted on all rows; one that is fitted already
        is used as it is. By default `MaxentClassifier(default_prevalence=default_prevalence)`.
    random_state : int, RandomState or None
        Which rows under-sampling keeps.

    Attributes
    ----------
    estimator_ : the fitted inner classifier
    classes_ : ndarray of shape (n_classes,)
        With one labelled class: the other one (0 for numbers), then the labelled one.
    trained_at_, now_at_ : ndarray of shape (n_classes,)
        The two mixes.
    n_rows_used_ : int
        Rows that the inner fit saw.
    density_ : the fitted density model
        Only with prior="entropy".
    one_labelled_ : True
        Only where rows of a single class are labelled: the inner fit then tells labelled rows (1)
        from those that are not (0), both with the same total weight.
    coef_, intercept_ : ndarray
        Only around a linear logit: the coefficients, and the corrected intercept.

    **Assumes** that rows within a class are alike in both worlds, and that the inner probabilities
    are right for the mix that it was trained at. Row weights describe the world (weight 2 is a row
    twice); class weights distort it.

    Notes
    -----
    Under-sampling buys speed, not accuracy: it throws rows away, and on rare-class tables an
    under-sampled, corrected logistic has a clearly larger Brier score than a plain one.

    With one labelled class, unlabelled rows stand for the other class, though some are of the
    labelled one: high probabilities come out too low, the more so the more frequent the class.

    References
    ----------
    Dudik and Phillips (2008), Generative and discriminative learning with unknown labeling bias,
    section 3. Elkan (2001), The foundations of cost-sensitive learning.
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
        prior: float | str | Shares | None = None,
        undersample: float | None = None,
        kept: Shares | None = None,
        weighted: str | Shares | None = "auto",
        default_prevalence: float | Shares = 0.5,
        density: Any = None,
        random_state: Any = None,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.undersample = undersample
        self.kept = kept
        self.weighted = weighted
        self.default_prevalence = default_prevalence
        self.density = density
        self.random_state = random_state

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the inner classifier and note the two class mixes.

        Parameters
        ----------
        X : whatever the inner classifier takes
        y : array-like of shape (n,)
            NaN or None where a row is not labelled, for inner classifiers that take it; with
            prior="entropy" or one labelled class, for any.
        sample_weight : array-like of shape (n,), optional
            For inner classifiers that take it.

        Returns
        -------
        self
        """
        self._refuse_contradictions()
        self.estimator_ = clone(self.estimator)
        for name in ("density_", "one_labelled_"):
            self.__dict__.pop(name, None)
        if isinstance(X, Rows):
            return self._fit_rows(X)
        if y is None:
            raise DataError(
                f"{type(self).__name__} requires y to be passed, but the target y is None. Pass "
                "one label per row."
            )
        labels = column_or_1d(label_array(y), warn=True)
        X, labels = indexable(X, labels)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                unmasked_weights(sample_weight), labels, ensure_non_negative=True
            )
        unlabelled = unlabelled_rows(labels)
        if self._by_entropy() or unlabelled.any():
            labelled = the_only_class(labels, unlabelled)
            if labelled is not None:
                return self._fit_one_labelled(X, labels, weight, unlabelled, labelled)
        if self._by_entropy():
            self._fit_density(X, labels, weight)
            kept = np.flatnonzero(~unlabelled)
            X, labels = _safe_indexing(X, kept), np.array(labels[kept].tolist())
            weight = None if weight is None else weight[kept]
        seen, seen_weight = labels, weight
        if self.undersample is not None:
            chosen = self._chosen_rows(labels)
            X, seen = _safe_indexing(X, chosen), labels[chosen]
            seen_weight = None if weight is None else weight[chosen]
        searching = hasattr(self.estimator_, "refit")  # its weights are known after the search
        where, setting = ("", None) if searching else self._class_weights(self.estimator_)
        if isinstance(setting, str) and setting == "balanced" and seen_weight is not None:
            # Libraries differ in whether "balanced" counts rows or weights: settle it by numbers.
            known = known_classes(seen)
            sums = np.maximum(class_sums(seen, seen_weight, known), 1e-300)
            setting = dict(zip(known.tolist(), (sums.mean() / sums).tolist(), strict=True))
            self.estimator_.set_params(**{where: setting})
        self.estimator_.fit(X, seen, **weight_argument(self.estimator_, seen_weight))
        if searching:
            where, setting = self._class_weights(self.estimator_.best_estimator_)
        self._take_over()
        classes, self.n_rows_used_ = self.classes_, len(seen)
        used = class_sums(seen, seen_weight, classes)
        factor = factors(where, setting, used, class_sums(seen, None, classes), classes)
        self._settle(class_sums(labels, weight, classes), used * factor)
        self._expose_logit(_safe_indexing(X, np.arange(min(64, len(seen)))))
        return self

    def _fit_one_labelled(
        self,
        X: Any,
        labels: NDArray[Any],
        weight: Array | None,
        unlabelled: NDArray[np.bool_],
        labelled: Any,
    ) -> Self:
        """Tell labelled rows from unlabelled ones, weighted to the same total (000 section 3)."""
        if self.prior is None:
            raise UsageError(
                f"Only rows of the class {labelled!s} are labelled, which does not say how many of "
                f"the {unlabelled.sum():,} unlabelled rows are of it. Give its share, such as "
                "prior=0.1, or prior='entropy'."
            )
        self._refuse_second_weights(self.estimator_)
        if self._by_entropy():
            self._fit_density(X, labels, weight)
        codes = (~unlabelled).astype(int)
        if self.undersample is not None:
            chosen = self._chosen_rows(codes)
            X, codes = _safe_indexing(X, chosen), codes[chosen]
            weight = None if weight is None else weight[chosen]
        equal = equal_totals(codes, weight)
        self.estimator_.fit(X, codes, **weight_argument(self.estimator_, equal, own=True))
        self._take_over(two_classes(labelled))
        self.one_labelled_ = True
        self.n_rows_used_ = len(codes)
        self._settle(np.ones(2), np.ones(2))
        self._expose_logit(_safe_indexing(X, np.arange(min(64, len(codes)))))
        return self

    def _fit_density(self, X: Any, labels: Any, weight: Array | None) -> None:
        self.density_ = fitted_density(self.density, self.default_prevalence, X, labels, weight)

    def _by_entropy(self) -> bool:
        return isinstance(self.prior, str)

    def _fit_rows(self, rows: Rows) -> Self:
        if self.undersample is not None:
            raise UsageError(
                f"undersample={self.undersample!r} draws rows of an array, and these are rows in "
                "blocks. Pass X and y as arrays, or fit on all rows."
            )
        sums, unlabelled = rows.label_counts()
        if self.prior is not None and unlabelled and (sums > 0).sum() == 1:
            raise UsageError(
                f"Only rows of the class {rows.classes[int(sums.argmax())]!s} are labelled, and "
                "weighting them against the unlabelled ones needs arrays. Pass X and y as arrays."
            )
        self.estimator_.fit(rows)
        self._take_over()
        if self._by_entropy():
            self.density_ = fitted_density(self.density, self.default_prevalence, rows, None)
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
        if self._by_entropy():
            refuse_word("prior", self.prior, ("entropy",))
        elif self.density is not None or self.default_prevalence != 0.5:
            name = "density" if self.density is not None else "default_prevalence"
            raise UsageError(
                f"{name}={getattr(self, name)!r} finds class shares for prior='entropy', and here "
                f"prior={self.prior!r}. Give one of the two."
            )
        if self.density is not None and self.default_prevalence != 0.5:
            raise UsageError(
                f"default_prevalence={self.default_prevalence!r} is for the maxent that is fitted "
                f"without density=. Give it to {type(self.density).__name__} instead."
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
        classes = known_classes(labels)
        hits = [np.flatnonzero(is_label(labels, label)) for label in classes]
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

    def _refuse_second_weights(self, inner: Any) -> None:
        """With one labelled class both groups weigh the same: class weights would contradict it."""
        where, setting = self._class_weights(inner)
        if where:
            raise UsageError(
                f"{where}={setting!r}, but rows of one class only are labelled: they and the "
                f"unlabelled rows already get the same total weight. Leave {where} out."
            )

    def _take_over(self, classes: NDArray[Any] | None = None) -> None:
        self.classes_ = np.asarray(self.estimator_.classes_ if classes is None else classes)
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
            self.now_at_ = (
                density_shares(self.density_, self.classes_)
                if self._by_entropy()
                else self._shares_of_prior()
            )
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
        inner = [0, 1] if getattr(self, "one_labelled_", False) else self.classes_.tolist()
        if inner != np.asarray(self.estimator_.classes_).tolist():
            raise DataError("classes_ are not those of the inner model.")
