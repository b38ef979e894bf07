"""Recalibrate any classifier to base rates other than those it was trained at.

    log-odds of class y = inner log-odds + log(now_at[y] / trained_at[y])

For a logit this is an exact shift of the intercept (King and Zeng 2001, eq 7). Finds the base rates
of training by itself: counts, under-sampling, class weights. Assumes that only the base rates
differ between training and use. Does not estimate new base rates; entropy.py has a robust guess.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
)

from scarce.checks import (
    NONE,
    Constraint,
    Number,
    NumberList,
    Shares,
    Word,
    by_name,
    check_parameters,
    is_number,
    read_by_class,
    read_shares,
    refuse_one_class,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import (
    Argument,
    DataError,
    Phrase,
    UsageError,
    inconsistent_model,
    warn_user,
)
from scarce.io.labels import label_array, missing_labels
from scarce.io.schema import unmasked_weights
from scarce.prior.entropy import (
    balancing_weights,
    density_base_rates,
    fit_density,
    sample_weight_argument,
    two_classes,
)
from scarce.prior.mix import (
    TrainingRows,
    class_sums,
    class_weight_setting,
    fix_balanced,
    gives_probabilities,
    mix_of,
    training_rows,
    unclear_base_rates,
)
from scarce.prior.one_class import (
    in_population,
    known_classes,
    left_out_log_odds,
    log_odds,
    only_class,
    shift_of_pool,
    slope_of,
)
from scarce.prior.shift import correct_prior

Rates = Mapping[Any, float]
REPAIRED = 1e-6  # base rates of an inner model that differ by more were not looked at


class ByClass:
    """Numbers by the name of the class: a dict, a pandas Series, or an estimate of base rates."""

    def allows(self, value: object) -> bool:
        """Whether the value is one."""
        return by_name(value) is not None or hasattr(value, "as_base_rates")

    def __str__(self) -> str:
        return "a dict {class: number}"


BY_CLASS = ByClass()
PARAMETERS: dict[str, list[Constraint]] = {
    "prior": [Number(0, 1, open_low=True, open_high=True), Word("entropy"), BY_CLASS, NONE],
    "undersample": [Number(0, open_low=True), NONE],
    "kept": [BY_CLASS, NONE],
    "weighted": [Word("auto"), BY_CLASS, NONE],
    "trained_at": [Number(0, 1, open_low=True, open_high=True), BY_CLASS, NumberList(0, 1), NONE],
}


class PriorCorrected(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier, recalibrated to base rates other than those it was trained at.

    Two sets of base rates decide everything. **Trained at**: those that the inner probabilities are
    for, which are the (weighted) class counts after under-sampling times class weights, or what
    the inner model states (`find_base_rates`). **Now at**: the population to predict for, which is
    that of the rows passed to `fit` unless `prior` or `kept` says otherwise.

    Parameters
    ----------
    estimator : classifier with predict_proba
        Class weights (`class_weight`, `scale_pos_weight`, `is_unbalance`, `auto_class_weights`,
        `class_weights`) and stated base rates (`priors`, `class_prior`, `fit_prior`, another
        `PriorCorrected`) are found and undone, in pipelines, searches, calibration and ensembles
        too.
    prior : float, dict {class: base rate}, pandas Series, "entropy" or estimate, optional
        Base rates to predict for. A number is that of the positive (greater) class; one class may
        be left out of the dict and gets the rest. What `estimate_share` returns is taken as it is.
        "entropy": the base rates that `density` finds, for labels that were revealed at unknown
        rates, or for one class only.
    undersample : float, optional
        Fit on all rows of the rarest class and on this many rows of each other class per rare row,
        drawn at random without replacement. 1.0 makes two classes balanced.
    kept : dict {class: rate}, optional
        The rows passed to `fit` were under-sampled before: the fraction of each class that was
        kept. Classes not named were kept whole. It implies base rates, so it excludes `prior`.
    weighted : "auto", None, or dict {class: weight}
        Class weights in the inner fit. "auto" reads them from the estimator's parameters; None
        does not undo them; a dict states weights that no parameter shows.
    trained_at : float, array-like, dict {class: base rate} or pandas Series, optional
        Base rates that the inner probabilities are for, where they cannot be found, as for a frozen
        estimator. By default found.
    default_prevalence : float or dict {class: base rate}
        With prior="entropy": the base rates before any data, as `MaxentClassifier` takes them.
    density : estimator with class_prior_ after fit, optional
        With prior="entropy": finds the base rates, fitted on all rows; one that is already fitted
        is used as it is. By default `MaxentClassifier(default_prevalence=default_prevalence)`.
    random_state : int, RandomState or None
        Which rows under-sampling keeps.

    Attributes
    ----------
    estimator_ : the fitted inner classifier
    classes_ : ndarray of shape (n_classes,)
        With one labelled class: the other one (0 for numbers), then the labelled one.
    trained_at_, now_at_ : ndarray of shape (n_classes,)
        The two sets of base rates.
    n_rows_used_ : int
        Rows that the inner fit saw.
    density_ : the fitted density model
        Only with prior="entropy".
    one_labelled_ : True
        Only where a single class is labelled: the inner fit then tells labelled rows (1) from
        unlabelled ones (0), both with the same total weight.
    score_slope_, score_shift_ : float
        Only where a single class is labelled and its base rate is known: log-odds of the class =
        shift + slope * the inner log-odds of being labelled.
    pool_at_ : ndarray of shape (2,)
        Then: the base rates of the rows of `fit`.
    coef_, intercept_ : ndarray
        Only around a linear logit: the coefficients, and the corrected intercept.

    **Assumes** that rows within a class have the same distribution in training and use, and that
    the inner probabilities are right for the base rates it was trained at. Row weights describe the
    population (weight 2 is a row twice); class weights distort it.

    Notes
    -----
    Under-sampling buys speed, not accuracy: it throws rows away, and on rare-class tables an
    under-sampled, corrected logistic has a clearly larger Brier score than a plain one.

    With one labelled class and a known base rate, the inner classifier tells labelled rows from the
    others, and its log-odds become probabilities that average to the base rate over all rows, as
    sure as those of left-out rows allow (five more fits; with one labelled or one unlabelled row
    there are none, and the slope is 1): see `scarce.prior.one_class`. A model that knows its rows
    by heart (a forest without a bootstrap) gives new rows other scores than these: there the left-
    out rows average to the base rate, so that new ones do. This assumes that labelled rows are
    drawn at random among the events. Where more rows are labelled than the base rate allows (above
    99 % of its events), the rows without a label alone are taken for the population, and theirs is
    the average. With prior="entropy", unlabelled rows stand for the other class, as in the paper:
    high probabilities come out too low.

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
    >>> weighted = LogisticRegression(class_weight="balanced").fit(X, y)
    >>> corrected = PriorCorrected(LogisticRegression(class_weight="balanced")).fit(X, y)
    >>> [round(float(p.mean()), 3) for p in (y, weighted.predict_proba(X)[:, 1],
    ...                                      corrected.predict_proba(X)[:, 1])]
    [0.024, 0.405, 0.025]
    >>> quick = PriorCorrected(LogisticRegression(), undersample=1.0, random_state=0).fit(X, y)
    >>> quick.n_rows_used_, quick.trained_at_, quick.now_at_.round(3)
    (194, array([0.5, 0.5]), array([0.976, 0.024]))
    """

    def __init__(
        self,
        estimator: BaseEstimator,
        *,
        prior: float | str | Rates | None = None,
        undersample: float | None = None,
        kept: Rates | None = None,
        weighted: str | Rates | None = "auto",
        trained_at: Shares | None = None,
        default_prevalence: float | Rates = 0.5,
        density: BaseEstimator | None = None,
        random_state: int | np.random.RandomState | None = None,
    ) -> None:
        self.estimator = estimator
        self.prior = prior
        self.undersample = undersample
        self.kept = kept
        self.weighted = weighted
        self.trained_at = trained_at
        self.default_prevalence = default_prevalence
        self.density = density
        self.random_state = random_state

    # --- learning ---------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Fit the inner classifier and find the two sets of base rates.

        Parameters
        ----------
        X : whatever the inner classifier takes
        y : array-like of shape (n,)
            NaN or None where a row is not labelled, for inner classifiers that accept it; with
            prior="entropy" or one labelled class, for any.
        sample_weight : array-like of shape (n,), optional
            For inner classifiers that take it.

        Returns
        -------
        self
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight)
        self._check_arguments()
        self.estimator_ = clone(self.estimator)
        for name in ("density_", "one_labelled_", "score_slope_", "score_shift_", "pool_at_"):
            self.__dict__.pop(name, None)
        if isinstance(X, Rows):
            return self._fit_rows(X)
        if y is None:
            raise DataError(
                "{estimator} requires y to be passed, but the target y is None.",
                code="no-labels",
                estimator=type(self).__name__,
                remedy="Pass one label per row.",
            )
        labels = column_or_1d(label_array(y), warn=True)
        features, labels = indexable(X, labels)
        weight = None
        if sample_weight is not None:
            weight = _check_sample_weight(
                unmasked_weights(sample_weight), labels, ensure_non_negative=True
            )
        unlabelled = missing_labels(labels)
        if self._by_entropy or unlabelled.any():
            labelled = only_class(labels, unlabelled)
            if labelled is not None:
                return self._fit_one_labelled(features, labels, weight, unlabelled, labelled)
        if self._by_entropy:
            self._fit_density(features, labels, weight)
            kept = np.flatnonzero(~unlabelled)
            features, labels = _safe_indexing(features, kept), np.array(labels[kept].tolist())
            weight = None if weight is None else weight[kept]
        return self._fit_labelled(features, labels, weight)

    def _fit_labelled(self, X: ArrayLike, labels: NDArray[Any], weight: Array | None) -> Self:
        """Fit on labelled rows of several classes, under-sampled where asked for."""
        seen, seen_weight = labels, weight
        if self.undersample is not None:
            chosen = self._chosen_rows(labels)
            X, seen = _safe_indexing(X, chosen), labels[chosen]
            seen_weight = None if weight is None else weight[chosen]
        self._refuse_two_weights()
        if isinstance(self.weighted, str):
            fix_balanced(self.estimator_, seen, seen_weight)
        self.estimator_.fit(X, seen, **sample_weight_argument(self.estimator_, seen_weight))
        self._copy_inner()
        self.n_rows_used_ = len(seen)
        used = training_rows(seen, seen_weight, self.classes_)
        self._set_base_rates(class_sums(labels, weight, self.classes_), used)
        self._expose_logit(_safe_indexing(X, np.arange(min(64, len(seen)))))
        return self

    def _fit_one_labelled(
        self,
        X: ArrayLike,
        labels: NDArray[Any],
        weight: Array | None,
        unlabelled: NDArray[np.bool_],
        labelled: object,
    ) -> Self:
        """Tell labelled rows from unlabelled ones, with equal total weight (000 section 3)."""
        if self.prior is None:
            raise UsageError(
                "Only rows of class {label!s} are labelled, which does not say how many of the "
                "{count:,} unlabelled rows belong to it.",
                code="one-labelled-class",
                label=labelled,
                count=int(unlabelled.sum()),
                known=Argument("prior", 0.1),
                guessed=Argument("prior", "entropy"),
                remedy="Give its base rate, such as {known}, or {guessed}.",
            )
        self._refuse_class_weights()
        if self.trained_at is not None and not self._by_entropy:
            raise self._conflict(
                "trained_at", "prior",
                "{one} is not used where a single class is labelled and {other} is its base rate.",
                "Leave trained_at out.",
            )  # fmt: skip
        if self._by_entropy:
            self._fit_density(X, labels, weight)
        codes = (~unlabelled).astype(int)
        in_pool = weight
        if self.undersample is not None:
            chosen = self._chosen_rows(codes)
            in_pool = _kept_total(codes, weight, chosen)
            X, codes = _safe_indexing(X, chosen), codes[chosen]
            weight = None if weight is None else weight[chosen]
        balanced = balancing_weights(codes, weight)
        self.estimator_.fit(
            X, codes, **sample_weight_argument(self.estimator_, balanced, balancing=True)
        )
        self._copy_inner(two_classes(labelled))
        self.one_labelled_ = True
        self.n_rows_used_ = len(codes)
        count = np.bincount(codes, minlength=2).astype(np.float64)
        self._set_base_rates(np.ones(2), TrainingRows(np.arange(2), np.ones(2), count))
        if not self._by_entropy:
            self._fit_to_share(X, codes == 1, weight, in_pool)
        self._expose_logit(_safe_indexing(X, np.arange(min(64, len(codes)))))
        return self

    def _fit_to_share(
        self, X: ArrayLike, labelled: NDArray[np.bool_], weight: Array | None, in_pool: Array | None
    ) -> None:
        """Make probabilities of being labelled average to the share: see one_class.py."""
        share = float(self.now_at_[1])
        z = log_odds(self.estimator_.predict_proba(X))
        left_out = left_out_log_odds(self.estimator, X, labelled, weight)
        held = np.ones(len(z)) if in_pool is None else in_pool / in_pool.max()
        slope = 1.0 if left_out is None else slope_of(left_out, labelled, held, share)
        pool = in_population(labelled, held, share)
        self.score_slope_ = slope
        apart = None if left_out is None else left_out[pool]
        self.score_shift_ = shift_of_pool(z[pool], apart, held[pool], slope, share)
        self.pool_at_ = self.now_at_.copy()

    def _fit_rows(self, rows: Rows) -> Self:
        if self.undersample is not None:
            raise UsageError(
                "{undersample} needs arrays, but X is Rows.",
                code="needs-arrays",
                undersample=Argument("undersample", self.undersample),
                remedy="Pass X and y as arrays, or fit on all rows.",
            )
        sums, unlabelled = rows.label_counts()
        if self.prior is not None and unlabelled and (sums > 0).sum() == 1:
            raise UsageError(
                "Only rows of class {label!s} are labelled. Weighting them against the unlabelled "
                "rows needs arrays, but X is Rows.",
                code="needs-arrays",
                label=rows.classes[int(sums.argmax())],
                remedy="Pass X and y as arrays.",
            )
        self._refuse_two_weights()
        self.estimator_.fit(rows)
        self._copy_inner()
        if self._by_entropy:
            self._fit_density(rows, None, None)
        self.n_rows_used_ = len(rows) - unlabelled
        self._set_base_rates(sums, TrainingRows(self.classes_, sums, sums))
        head = next(rows.blocks()).X[:64]
        self._expose_logit(ArrayRows(head, schema=rows.schema, check=False))
        return self

    def _fit_density(
        self, X: ArrayLike | Rows, labels: ArrayLike | None, weight: Array | None
    ) -> None:
        self.density_ = fit_density(self.density, self.default_prevalence, X, labels, weight)

    @property
    def _by_entropy(self) -> bool:
        return isinstance(self.prior, str)

    def _chosen_rows(self, labels: NDArray[Any]) -> NDArray[np.intp]:
        """Return all rows of the rarest class and a random part of the others, in row order."""
        classes = known_classes(labels)
        hits = [np.flatnonzero(_is_class(labels, label)) for label in classes]
        most = max(1, round(float(self.undersample or 0) * min(map(len, hits), default=0)))
        random = check_random_state(self.random_state)
        kept = np.ones(len(labels), dtype=bool)
        for rows in hits:
            if len(rows) > most and len(rows) > min(map(len, hits)):
                kept[rows] = False
                kept[random.choice(rows, most, replace=False)] = True
        return np.flatnonzero(kept)

    def _copy_inner(self, classes: NDArray[Any] | None = None) -> None:
        self.classes_ = np.asarray(self.estimator_.classes_ if classes is None else classes)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(self.estimator_, name):
                setattr(self, name, getattr(self.estimator_, name))

    def _set_base_rates(self, every: Array, used: TrainingRows) -> None:
        """Set the base rates that the inner probabilities are for and those to predict for."""
        assert used.weight is not None
        refuse_one_class(self.classes_, used.weight)
        found = self._trained_at_of(used)
        self.trained_at_ = read_shares(found, len(self.classes_), "trained_at")
        if self._by_entropy:
            self.now_at_ = density_base_rates(self.density_, self.classes_)
            return
        if self.prior is not None:
            self.now_at_ = read_shares(self.prior, self.classes_.tolist(), "prior")
            return
        kept = {} if self.kept is None else self.kept
        rates = read_by_class(kept, self.classes_.tolist(), "kept")
        rates = np.where(np.isnan(rates), 1.0, rates)
        if not ((rates > 0) & (rates <= 1)).all():
            raise UsageError(
                "The fractions that were kept must be above 0 and at most 1, got {kept}.",
                code="kept-range",
                kept=Argument("kept", self.kept),
            )
        self.now_at_ = every / rates / (every / rates).sum()

    def _trained_at_of(self, used: TrainingRows) -> Array:
        """Return the base rates that the inner probabilities are for."""
        if self.trained_at is not None:
            return read_shares(self.trained_at, self.classes_.tolist(), "trained_at")
        found = mix_of(self.estimator_, used)
        assert used.weight is not None
        if by_name(self.weighted) is not None:
            if found.origin != "rows":
                raise self._two_weights(Phrase(f"base rates {found.reason}"))
            factor = read_by_class(self.weighted, self.classes_.tolist(), "weighted")
            weight = used.weight * np.where(np.isnan(factor), 1.0, factor)
            return np.asarray(weight / weight.sum())
        if self.weighted is None and found.origin in ("weights", "unknown"):
            return np.asarray(used.weight / used.weight.sum())
        if found.rates is None:
            raise unclear_base_rates(
                found, "Or state its class weights with {weighted}, None where they are undone."
            )
        return found.rates

    def _expose_logit(self, head: ArrayLike | Rows) -> None:
        """Set coef_ and the shifted intercept_ where some rows show that the model is a logit."""
        inner = self.estimator_
        for name in ("coef_", "intercept_"):
            self.__dict__.pop(name, None)
        if not all(hasattr(inner, n) for n in ("coef_", "intercept_", "decision_function")):
            return
        score, prob = inner.decision_function(head), inner.predict_proba(head)
        linked = expit(score) if score.ndim == 1 else softmax(score, axis=1)
        if not np.allclose(prob[:, 1] if score.ndim == 1 else prob, linked, rtol=1e-9, atol=1e-12):
            return
        if hasattr(self, "score_slope_"):
            self.coef_ = self.score_slope_ * np.asarray(inner.coef_)
            self.intercept_ = self.score_shift_ + self.score_slope_ * np.asarray(inner.intercept_)
            return
        shift = np.log(self.now_at_) - np.log(self.trained_at_)
        self.coef_ = np.array(inner.coef_)
        self.intercept_ = inner.intercept_ + (shift[1] - shift[0] if score.ndim == 1 else shift)

    # --- predicting -------------------------------------------------------------------------------

    def predict_proba(self, X: ArrayLike | Rows) -> Array:
        """Return each class's probability under the base rates `now_at_`, shape (n, n_classes)."""
        check_is_fitted(self)
        prob = self.estimator_.predict_proba(X)
        if not hasattr(self, "score_slope_"):
            return correct_prior(prob, self.trained_at_, self.now_at_)
        score = self.score_shift_ + self.score_slope_ * log_odds(prob)
        found = np.column_stack([expit(-score), expit(score)])
        return correct_prior(found, self.pool_at_, self.now_at_)

    def predict_log_proba(self, X: ArrayLike | Rows) -> Array:
        """Return the logarithm of each class's probability, shape (n, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: ArrayLike | Rows) -> NDArray[Any]:
        """Return the most probable class of each row under the base rates `now_at_`."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        return tags

    # --- arguments --------------------------------------------------------------------------------

    def _check_arguments(self) -> None:
        """Refuse arguments that cannot work or that contradict each other."""
        check_parameters(self, PARAMETERS)
        if not gives_probabilities(self.estimator):
            raise UsageError(
                "{estimator} has no predict_proba, so there are no probabilities to correct.",
                code="no-probabilities",
                estimator=type(self.estimator).__name__,
                remedy="Wrap it in scikit-learn's CalibratedClassifierCV first.",
            )
        assumed = is_number(self.default_prevalence) and self.default_prevalence == 0.5
        if not self._by_entropy and (self.density is not None or not assumed):
            name = "density" if self.density is not None else "default_prevalence"
            raise self._conflict(name, "prior", "{one} is used only with {entropy}, got {other}.")
        if self.density is not None and not assumed:
            raise self._conflict(
                "default_prevalence",
                "density",
                "{one} is for the MaxentClassifier that is fitted without density.",
                "Give it to {estimator} instead.",
            )
        if self.prior is not None and self.kept is not None:
            raise self._conflict(
                "prior",
                "kept",
                "{one} and {other} both give the base rates to predict for.",
                "Give prior for known base rates, or kept for the rates at which rows were "
                "sampled.",
            )
        if self.trained_at is not None and by_name(self.weighted) is not None:
            raise self._conflict(
                "trained_at", "weighted", "{one} and {other} both say what the inner fit saw."
            )

    def _conflict(self, one: str, other: str, text: str, *remedy: str) -> UsageError:
        return UsageError(
            text,
            code="argument-conflict",
            one=Argument(one, getattr(self, one)),
            other=Argument(other, getattr(self, other)),
            entropy=Argument("prior", "entropy"),
            estimator=type(self.density).__name__,
            remedy=remedy,
        )

    def _refuse_two_weights(self) -> None:
        """Refuse, before a long fit, stated weights beside those of the estimator."""
        where, setting = class_weight_setting(self.estimator_)
        if where and by_name(self.weighted) is not None:
            raise self._two_weights(Argument(where, setting))

    def _two_weights(self, setting: Argument | Phrase) -> UsageError:
        return UsageError(
            "{weighted} was given, but {estimator} has {setting}.",
            code="argument-conflict",
            weighted=Argument("weighted", by_name(self.weighted)),
            estimator=type(self.estimator_).__name__,
            setting=setting,
            remedy="Leave weighted='auto', or remove one of the two.",
        )

    def _refuse_class_weights(self) -> None:
        """With one labelled class, class weights would contradict the equal total weights."""
        where, setting = class_weight_setting(self.estimator_)
        if by_name(self.weighted) is not None:
            where, setting = "weighted", by_name(self.weighted)
        if where and self.weighted is not None:
            raise UsageError(
                "{setting} was given, but only one class is labelled: labelled and unlabelled rows "
                "already get the same total weight.",
                code="argument-conflict",
                setting=Argument(where, setting),
                name=where,
                remedy="Leave {name} out.",
            )

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        for name in ("trained_at_", "now_at_"):
            read_shares(getattr(self, name), len(self.classes_), name)
        inner = [0, 1] if getattr(self, "one_labelled_", False) else self.classes_.tolist()
        if inner != np.asarray(self.estimator_.classes_).tolist():
            raise inconsistent_model("classes_", "must be those of the inner model")
        if hasattr(self, "score_slope_"):
            read_shares(self.pool_at_, 2, "pool_at_")
            if not (self.score_slope_ > 0 and np.isfinite(self.score_shift_)):
                raise inconsistent_model("score_slope_", "must be above 0, and the shift finite")
        self._repair_trained_at()

    def _repair_trained_at(self) -> None:
        """Take the base rates that the inner model states, which older versions did not look at."""
        told = mix_of(self.estimator_, TrainingRows()).rates
        if told is None or self.trained_at is not None or not isinstance(self.weighted, str):
            return
        if np.abs(told - self.trained_at_).max() > REPAIRED:
            warn_user(
                "The model file takes {old} as the base rates of the inner {estimator}, which are "
                "{told}: its probabilities are corrected from the latter now.",
                code="repaired-base-rates",
                old=[float(f"{rate:.3g}") for rate in self.trained_at_],
                estimator=type(self.estimator_).__name__,
                told=[float(f"{rate:.3g}") for rate in told],
                remedy="Save it again to keep this.",
            )
            self.trained_at_ = told


# --- rows and labels ------------------------------------------------------------------------------


def _kept_total(codes: NDArray[np.int_], weight: Array | None, chosen: NDArray[np.intp]) -> Array:
    """Return weights of the rows kept, by which each code has the total that it had."""
    held = np.ones(len(codes)) if weight is None else weight
    before, after = (np.bincount(codes[at], held[at], 2) for at in (slice(None), chosen))
    return np.asarray(held[chosen] * (before / np.maximum(after, 1e-300))[codes[chosen]])


def _is_class(labels: NDArray[Any], label: object) -> NDArray[np.bool_]:
    return np.asarray(labels == label, dtype=bool)
