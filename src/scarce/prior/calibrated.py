"""A classifier whose probabilities are calibrated on rows that it had not seen.

    prob(x) = mean over folds k of map(model fitted without fold k, at x)
    map: fitted to all left-out predictions; calibrate.py says which and how

The models that are calibrated are those that predict. A map from predictions of left-out rows would
be for another model if it were put on a fit to all rows, which is surer of itself. Where no map is
better than none, one fit to all rows predicts, unchanged. Assumes independent rows, or groups of
rows, of classes that are known for some. Does not choose or tune the classifier.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.sparse import issparse
from sklearn.base import BaseEstimator, ClassifierMixin, MetaEstimatorMixin, clone
from sklearn.utils import _safe_indexing, check_random_state, get_tags, indexable
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import (
    _check_sample_weight,
    check_is_fitted,
    column_or_1d,
    has_fit_parameter,
)

from scarce.bootstrap import Inclusion, read_sample
from scarce.checks import (
    Constraint,
    Kind,
    Number,
    Word,
    check_parameters,
    is_missing,
    name_column,
    refuse_one_class,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.engine.folds import RowGroups, deal_folds, read_splits, row_groups
from scarce.engine.memory import ArrayRows, unmasked
from scarce.engine.rows import Rows, WeightedRows
from scarce.errors import Argument, DataError, UsageError, inconsistent_model
from scarce.io.frames import is_frame, row_and_unit_names
from scarce.io.inputs import WEIGHT_KINDS, weight_factor
from scarce.io.labels import label_array
from scarce.io.schema import unmasked_weights
from scarce.prior.calibrate import (
    BINARY,
    FEWEST,
    FEWEST_ROWS,
    FOLDS,
    METHODS,
    SEVERAL,
    Calibration,
    choose,
    few_problem,
    log_of,
    refuse_method,
)
from scarce.prior.entropy import sample_weight_argument
from scarce.prior.mix import (
    BaseRates,
    TrainingRows,
    fix_balanced,
    gives_probabilities,
    mix_of,
    not_fitted,
    of_rows,
)

Ids = NDArray[np.intp]
Split = tuple[Ids, Ids]  # positions of the rows to fit on and of those left out
SMALL = 100  # rows up to which equal ones are taken to be copies
PARAMETERS: dict[str, list[Constraint]] = {
    "method": [Word(*METHODS)],
    "cv": [Number(3, whole=True), Word("prefit"), Kind((list, tuple), "a list of splits")],
    "weight_kind": [Word(*WEIGHT_KINDS)],
}


class Calibrated(ClassifierMixin, MetaEstimatorMixin, BaseEstimator):  # type: ignore[misc]
    """Any classifier, its probabilities calibrated on rows that it had not seen.

    Parameters
    ----------
    estimator : classifier
        With `predict_proba`, or with `decision_function` alone (a support vector machine).
    method : {"auto", "none", "shift", "temperature", "platt", "beta", "isotonic", "vector"}
        How probabilities are mapped; see `scarce.calibrate`. "auto" takes the simplest method whose
        log loss on left-out rows is within one standard error of the least, none at all included.
    cv : int, list of (train, test) positions, or "prefit"
        Number of folds, 3 or more, stratified by class; or your own, of which the test parts must
        hold every row once. "prefit": the estimator is fitted already, and the rows given to
        `fit` are others, to calibrate on. So is a `FrozenEstimator`.
    weight_kind : {"frequency", "survey"}
        What `sample_weight` means: counts of rows, or what a row stands for, in proportion only.
    random_state : int, RandomState or None
        Deals rows to folds. The default makes the same rows, in any order, give the same model.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
    estimators_ : list of classifiers
        What predicts: one fit without each fold, or a single one where nothing is calibrated or the
        estimator was fitted before.
    calibration_ : Calibration
        The map, what it was compared with, and remarks.
    chosen_ : str
        Its method.
    comparison_ : dict of dict
        Of each method: log loss, Brier score and gain over "none" on left-out rows, with standard
        errors; "auto" is the choice itself, made again without the rows that are judged.
    scale_ : float
        Standard deviation of left-out scores, in units of which they are mapped, of a classifier
        without probabilities; else 1.
    remarks_ : tuple of str
        What the reader should know, as that there were too few events to calibrate.

    **Assumes** independent rows, or groups of rows, that are a fair sample of the population to
    predict for; with `inclusion`, rows that were labelled with those probabilities. Rows without a
    label are not used; copies of a row stay in one fold.

    Notes
    -----
    Calibrated probabilities are for the base rates of the rows, whatever class weights or stated
    base rates are inside; "none" and "temperature" leave those of the estimator
    (`find_base_rates`). With fewer than five independent rows of a class, or 40 in all,
    nothing is calibrated.

    References
    ----------
    Platt (1999), Probabilistic outputs for support vector machines. Kull, Silva Filho, Flach
    (2017), Beta calibration. Oron, Flournoy (2017), Centered isotonic regression.

    Examples
    --------
    >>> from sklearn.naive_bayes import GaussianNB
    >>> rng = np.random.default_rng(0)
    >>> x = rng.normal(size=(2000, 1))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(4 - 1.5 * x[:, 0]))
    >>> X = np.hstack([x, x, x])                # naive Bayes counts the same thing three times
    >>> model = Calibrated(GaussianNB()).fit(X, y)
    >>> model.chosen_
    'platt'
    >>> new = np.array([[1.0] * 3, [2.0] * 3])
    >>> plain = GaussianNB().fit(X, y)
    >>> plain.predict_proba(new)[:, 1].round(2), model.predict_proba(new)[:, 1].round(2)
    (array([0.32, 0.96]), array([0.09, 0.27]))
    """

    _may_be_nonfinite = ("comparison_",)

    def __init__(
        self,
        estimator: BaseEstimator,
        method: str = "auto",
        *,
        cv: int | str | Sequence[Split] = FOLDS,
        weight_kind: str = "frequency",
        random_state: int | np.random.RandomState | None = 0,
    ) -> None:
        self.estimator = estimator
        self.method = method
        self.cv = cv
        self.weight_kind = weight_kind
        self.random_state = random_state

    # --- learning ---------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
        inclusion: Inclusion = None,
    ) -> Self:
        """Fit the classifier without each fold, and calibrate it on what it had not seen.

        Parameters
        ----------
        X : whatever the classifier takes
        y : array-like of shape (n,)
            NaN or None where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            For classifiers that take it; with cv="prefit" for any.
        groups : array-like of shape (n,), optional
            Rows of one value belong together and stay in one fold; they go on to a classifier whose
            `fit` takes groups.
        inclusion : array-like of shape (n,) or LabelChoice, optional
            Probability with which each row was to be labelled. A labelled row counts 1 / inclusion
            times, in the fit and in calibration.

        Returns
        -------
        self
        """
        refuse_other_index(
            X=X, y=y, sample_weight=sample_weight, groups=groups, inclusion=inclusion
        )
        check_parameters(self, PARAMETERS)
        rows = _read(self, X, y, sample_weight, inclusion)
        self.classes_ = rows.classes
        refuse_method(str(self.method), len(rows.classes))
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        rows.groups = None if groups is None else name_column(groups, "groups")
        found, copies = rows.together(groups, seed)
        self._refuse_seen(rows)
        few = found.fewest(rows.codes) < FEWEST or found.n_groups < FEWEST_ROWS
        if isinstance(self.cv, (list, tuple)):
            folds = np.where(rows.codes >= 0, read_splits(self.cv, len(rows.codes)), -1)
        else:
            n_folds = 1 if few else min(self._folds, found.fewest(rows.codes))
            folds = deal_folds(found, rows.codes, rows.weight, n_folds)
        used = np.flatnonzero(rows.codes >= 0)
        if self._fitted_before:
            inner = getattr(self.estimator, "estimator", self.estimator)
            check_is_fitted(inner)
            models = [self.estimator]
            scores = _scores(models[0], rows.X, self.classes_)[used]
        elif few:
            self._refuse_scores_only(found.n_groups, found.fewest(rows.codes))
            models = [self._fitted(rows, rows.codes >= 0)]
            scores = _scores(models[0], rows.X, self.classes_)[used]
        else:
            models, scores = self._left_out(rows, folds, used)
        weight = rows.weight[used]
        self.scale_ = 1.0
        if not gives_probabilities(models[0]):
            self.scale_ = _deviation(scores, weight)
            scores = scores / self.scale_
        factor, said = weight_factor(float(weight.sum()), len(used), rows.kind)
        self.calibration_ = choose(
            scores,
            rows.codes[used],
            weight * factor,
            folds[used],
            found.group[used],
            self.classes_.tolist(),
            self.method,
            has_none=gives_probabilities(models[0]),
        )
        self.chosen_ = self.calibration_.method
        if self.chosen_ == "none" and not self._fitted_before and len(models) > 1:
            models = [self._fitted(rows, rows.codes >= 0)]
        self.estimators_ = models
        self.comparison_ = self.calibration_.comparison
        self.remarks_ = (*self.calibration_.remarks, *copies, *said)
        for name in ("n_features_in_", "feature_names_in_"):
            self.__dict__.pop(name, None)
            if hasattr(models[0], name):
                setattr(self, name, getattr(models[0], name))
        return self

    @classmethod
    def around(cls, model: BaseEstimator, found: Calibration) -> Self:
        """Return a fitted classifier inside a map that was found for its probabilities."""
        classes = np.asarray(model.classes_)
        outer = cls(clone(model), found.method, cv="prefit")
        outer.classes_, outer.estimators_, outer.scale_ = classes, [model], 1.0
        outer.calibration_ = replace(found, classes=tuple(classes.tolist()))
        outer.chosen_, outer.comparison_ = found.method, found.comparison
        outer.remarks_ = found.remarks
        for name in ("n_features_in_", "feature_names_in_"):
            if hasattr(model, name):
                setattr(outer, name, getattr(model, name))
        return outer

    @property
    def estimator_(self) -> Any:
        """The first of the fits that predict."""
        if not hasattr(self, "estimators_"):
            raise AttributeError("estimator_")
        return self.estimators_[0]

    @property
    def _folds(self) -> int:
        return self.cv if isinstance(self.cv, (int, np.integer)) else FOLDS

    @property
    def _fitted_before(self) -> bool:
        from sklearn.frozen import FrozenEstimator

        return isinstance(self.cv, str) or isinstance(self.estimator, FrozenEstimator)

    def _left_out(self, rows: _Rows, folds: Ids, used: Ids) -> tuple[list[Any], Array]:
        """Return one fit without each fold, and their scores of the rows of that fold."""
        models, scores = [], np.empty((len(rows.codes), len(self.classes_)))
        for fold in np.unique(folds[used]):
            models.append(self._fitted(rows, (rows.codes >= 0) & (folds != fold)))
            out = np.flatnonzero(folds == fold)
            if isinstance(rows.X, Rows):
                scores[out] = _scores(models[-1], rows.X, self.classes_)[out]
            else:
                scores[out] = _scores(models[-1], _safe_indexing(rows.X, out), self.classes_)
        return models, scores[used]

    def _fitted(self, rows: _Rows, inside: NDArray[np.bool_]) -> Any:
        """Return a fit to some of the rows."""
        model = clone(self.estimator)
        if isinstance(rows.X, Rows):
            return model.fit(WeightedRows(rows.X, np.where(inside, rows.weight, 0.0)))
        at = np.flatnonzero(inside)
        labels = self.classes_[rows.codes[at]]
        weight = rows.weight[at] if rows.weighted else None
        fix_balanced(model, labels, weight)
        how = sample_weight_argument(model, weight)
        if rows.groups is not None and has_fit_parameter(model, "groups"):
            how["groups"] = _safe_indexing(rows.groups, at)
        return model.fit(_safe_indexing(rows.X, at), labels, **how)

    def _refuse_scores_only(self, total: int, least: int) -> None:
        if not gives_probabilities(self.estimator):
            raise DataError(
                few_problem(total, least).amended(
                    "{estimator} gives no probabilities, only scores. ",
                    estimator=type(self.estimator).__name__,
                    remedy="Label more rows, or use a classifier with predict_proba.",
                )
            )

    def _refuse_seen(self, rows: _Rows) -> None:
        """Refuse to calibrate a fitted model on the very rows that it was fitted to."""
        held: Any = self.estimator if self._fitted_before else None
        while held is not None and not hasattr(held, "data_fingerprint_"):
            held = getattr(held, "estimator_", getattr(held, "estimator", None))
        if held is not None and held.data_fingerprint_ in rows.fingerprints():
            raise UsageError(
                "{estimator} was fitted to these very rows: on them it looks better than it is.",
                code="training-rows",
                estimator=type(held).__name__,
                folds=Argument("cv", FOLDS),
                remedy=[
                    "Calibrate it on rows that it has not seen.",
                    "Or let it be fitted without each fold: {folds}.",
                ],
            )

    # --- predicting -------------------------------------------------------------------------------

    def predict_proba(self, X: ArrayLike | Rows) -> Array:
        """Return each class's calibrated probability, shape (n, n_classes)."""
        check_is_fitted(self)
        if self.chosen_ == "none" and len(self.estimators_) == 1:
            return _in_order(self.estimator_.predict_proba(X), self.estimator_, self.classes_)
        each = [
            self.calibration_.from_log(_scores(model, X, self.classes_) / self.scale_)
            for model in self.estimators_
        ]
        return np.asarray(np.mean(each, axis=0))

    def predict_log_proba(self, X: ArrayLike | Rows) -> Array:
        """Return the logarithm of each class's probability, shape (n, n_classes)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X)))

    def predict(self, X: ArrayLike | Rows) -> NDArray[Any]:
        """Return the most probable class of each row."""
        best = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def summary(self) -> str:
        """Return what was compared and chosen, as a plain text table."""
        check_is_fitted(self)
        return str(self.calibration_)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        inner = get_tags(self.estimator)
        tags.input_tags, tags.non_deterministic = inner.input_tags, inner.non_deterministic
        if inner.classifier_tags is not None:
            tags.classifier_tags = inner.classifier_tags
        if self.method in BINARY and self.method not in SEVERAL:
            tags.classifier_tags.multi_class = False
        return tags

    def _base_rates_of(self, rows: TrainingRows) -> BaseRates:
        """Return the base rates of the probabilities: those of the rows, once calibrated."""
        if not hasattr(self, "calibration_"):
            return not_fitted(self, rows)
        if self.chosen_ in ("none", "temperature"):
            return mix_of(self.estimator_, rows)
        rates = self.calibration_.base_rates
        return of_rows(TrainingRows(self.classes_, rates, rates), type(self).__name__)

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        found, count = self.calibration_, len(self.classes_)
        known = METHODS[1:]
        sizes = {found.base_rates.shape, *([] if found.method == "none" else [found.least.shape])}
        for right, name, expected in (
            (found.method in known, "calibration_", f"must be one of {list(known)}"),
            (list(found.classes) == self.classes_.tolist(), "classes_", "must be those of the map"),
            (sizes == {(count,)}, "calibration_", f"must be for {count} classes"),
            (self.chosen_ == found.method, "chosen_", "must be the method of the map"),
            (len(self.estimators_) > 0, "estimators_", "must hold a fit"),
        ):
            if not right:
                raise inconsistent_model(name, expected)


# --- the rows -------------------------------------------------------------------------------------


class _Rows:
    """Rows to fit and calibrate on: features, class (-1 where it does not count), weight."""

    def __init__(self, X: Any, codes: Ids, weight: Array, classes: NDArray[Any], kind: str) -> None:
        self.X, self.codes, self.weight, self.classes, self.kind = X, codes, weight, classes, kind
        self.groups: NDArray[Any] | None = None
        self.weighted = bool((weight[codes >= 0] != 1).any())

    def together(self, groups: ArrayLike | None, seed: int) -> tuple[RowGroups, list[str]]:
        """Return which rows must stay in one fold, and remarks on copies.

        In a table of few rows equal ones always count as copies: nothing tells chance from copying.
        """
        table = self.X if isinstance(self.X, Rows) else ArrayRows(_numbers(self.X), check=False)
        copies = row_groups(table, self.codes, self.weight, seed=seed)
        if groups is None and not isinstance(self.X, Rows) and len(self.codes) <= SMALL:
            held = np.column_stack([_numbers(self.X), self.codes])
            groups = np.unique(held, axis=0, return_inverse=True)[1].ravel()
        elif groups is None:
            return copies, copies.remarks()
        found = row_groups(table, self.codes, self.weight, groups=groups, seed=seed)
        return found, copies.remarks() if len(self.codes) <= SMALL else []

    def fingerprints(self) -> list[str]:
        """Return the names that a fit to these rows would have given them."""
        if isinstance(self.X, Rows):
            return [self.X.fingerprint]
        try:
            features = np.asarray(self.X, dtype=np.float64)
        except (TypeError, ValueError):
            return []
        if features.ndim != 2:
            return []
        y = np.where(self.codes >= 0, self.codes, np.nan)
        return [
            ArrayRows(features, y, weight=weight, check=False).fingerprint
            for weight in (None, self.weight)
        ]


def _read(
    model: Calibrated,
    X: Any,
    y: ArrayLike | None,
    sample_weight: ArrayLike | None,
    inclusion: Inclusion,
) -> _Rows:
    """Read rows, labels and weights."""
    kind = str(model.weight_kind)
    if isinstance(X, Rows):
        classes = np.asarray(X.classes)
        labels = X.labels()
        known = ~np.isnan(labels)
        codes, weight = np.where(known, labels, -1).astype(np.intp), np.array(X.weights())
    else:
        if y is None:
            raise DataError(
                "{estimator} requires y to be passed, but the target y is None.",
                code="no-labels",
                estimator=type(model).__name__,
                remedy="Pass one label per row.",
            )
        named = column_or_1d(label_array(y), warn=True)
        X, named = indexable(unmasked(X), named)
        codes, classes = _codes(named)
        weight = np.ones(len(codes))
        if sample_weight is not None:
            weight = _check_sample_weight(
                unmasked_weights(sample_weight), named, ensure_non_negative=True
            )
    if inclusion is not None:
        sample = read_sample(codes >= 0, None, inclusion)
        weight = weight.copy()
        weight[sample.rows] *= sample.weight
        kind = "survey"
    codes = np.where(weight > 0, codes, -1)
    held = np.bincount(codes[codes >= 0], minlength=len(classes)).astype(np.float64)
    refuse_one_class(classes, held)
    return _Rows(X, codes, weight, classes, kind)


def _codes(labels: NDArray[Any]) -> tuple[Ids, NDArray[Any]]:
    """Return the position of each label, -1 where it is missing, and the classes.

    Examples
    --------
    >>> _codes(np.array(["b", None, "a"], dtype=object))
    (array([ 1, -1,  0]), array(['a', 'b'], dtype='<U1'))
    """
    missing = np.zeros(len(labels), dtype=bool)
    if labels.dtype.kind == "f":
        missing = np.isnan(labels)
    elif labels.dtype == object:
        missing = np.array([is_missing(value) for value in labels], dtype=bool)
    held = labels[~missing]
    held = np.array(held.tolist()) if held.dtype == object and len(held) else held
    if held.dtype.kind == "f" and np.isinf(held).any():
        raise DataError(
            "Input y contains infinity or a value too large for dtype('float64').",
            code="infinite-labels",
            remedy="Labels are classes; rows that are not labelled are NaN.",
        )
    if len(held):
        check_classification_targets(held)
    classes, place = np.unique(held, return_inverse=True)
    codes = np.full(len(labels), -1, dtype=np.intp)
    codes[~missing] = place
    return codes, classes


def _numbers(X: Any) -> Array:
    """Return numbers in which equal rows are equal, for any kind of table.

    Columns of a frame that name its rows are left out: they would make copies look different.

    Examples
    --------
    >>> _numbers(np.array([["a", 1.5], ["b", 1.5], ["a", 1.5]], dtype=object))[:, 0]
    array([0., 1., 0.])
    """
    if issparse(X):
        at = np.random.default_rng(0).standard_normal((X.shape[1], 2))
        return np.asarray(X @ at, dtype=np.float64)
    names = getattr(X, "column_names", getattr(X, "columns", None))  # of Arrow, of others
    columns: list[Any]
    if names is not None and not callable(names):
        rows = set(row_and_unit_names(X)[0]) if is_frame(X) else set()
        columns = [np.asarray(X[name]) for name in names if str(name) not in rows]
    else:
        held = np.asarray(X)
        held = held.reshape(len(held), -1)
        if held.dtype.kind in "fbiu" and held.shape[1]:
            return np.asarray(held, dtype=np.float64)
        columns = list(held.T)
    if not columns:
        return np.zeros((len(X), 1))  # the classifier says what is wrong
    return np.column_stack([_as_numbers(column) for column in columns])


def _as_numbers(column: NDArray[Any]) -> Array:
    """Return a column as numbers; words by their place in the alphabet, missing values as NaN."""
    if column.dtype.kind in "fbiu":
        return column.astype(np.float64)
    try:
        return np.asarray(column.astype(np.float64), dtype=np.float64)
    except (TypeError, ValueError):
        missing = np.array([is_missing(value) for value in column.tolist()], dtype=bool)
        place = np.unique(column.astype(str), return_inverse=True)[1].astype(np.float64)
        return np.where(missing, np.nan, place)


def _scores(model: Any, X: Any, classes: NDArray[Any]) -> Array:
    """Return logarithms of probabilities, or scores of like use, (n, n_classes)."""
    with np.errstate(divide="ignore"):
        if hasattr(model, "predict_log_proba"):
            found = np.asarray(model.predict_log_proba(X), dtype=np.float64)
        elif gives_probabilities(model):
            found = log_of(np.asarray(model.predict_proba(X), dtype=np.float64))
        elif hasattr(model, "decision_function"):
            found = np.asarray(model.decision_function(X), dtype=np.float64)
            found = np.column_stack([np.zeros(len(found)), found]) if found.ndim == 1 else found
        else:
            raise UsageError(
                "{estimator} has neither predict_proba nor decision_function, so there is nothing "
                "to calibrate.",
                code="no-probabilities",
                estimator=type(model).__name__,
                remedy="Use a classifier that has one of them.",
            )
    return _in_order(found, model, classes)


def _deviation(scores: Array, weight: Array) -> float:
    """Return the standard deviation of scores, within rows of several classes; 1 where it is 0."""
    away = scores[:, 1:] - scores[:, :1]
    away = away - np.average(away, axis=0, weights=weight)
    found = float(np.sqrt(np.average((away**2).mean(axis=1), weights=weight)))
    return found if found > 0 else 1.0


def _in_order(found: Any, model: Any, classes: NDArray[Any]) -> Array:
    """Return columns in the order of the classes; refuse a model of other classes."""
    own = np.asarray(model.classes_).tolist()
    if own == classes.tolist():
        return np.asarray(found, dtype=np.float64)
    if sorted(own, key=str) != sorted(classes.tolist(), key=str):
        raise DataError(
            "The labels have the classes {classes}, and {estimator} predicts {own}.",
            code="class-mismatch",
            classes=classes.tolist(),
            estimator=type(model).__name__,
            own=own,
            remedy="Give rows with labels of the same classes.",
        )
    return np.asarray(found, dtype=np.float64)[:, [own.index(one) for one in classes.tolist()]]
