"""Gaussian Bayes: a model of each class, which handles missing values and notices outliers.

    log p(y) + log N(observed values; mean_y, covariance_y restricted to them)      (003 1.3 to 1.6)

Categories and counts are factors of their own (factors.py), and what densities say too much is
taken back on rows left out (calibration.py). One fold gives the moments of each class; a missing
value is integrated out exactly. Covariances of small classes are shrunk (shrinkage.py); missing
values in the rows to learn from and unlabelled rows are handled by EM (fitting.py, em.py). Assumes
Gaussian measurements within a class.
"""

from __future__ import annotations

import time
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from scarce.checks import FLAG, Constraint, Number, Word, check_parameters, refuse_other_index
from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, UsageError, inconsistent_model, listed, refuse_array
from scarce.gaussian.calibration import MOST_SLOPE, ratios, scores
from scarce.gaussian.densities import log_tail, nearest_of_covariances, nearest_of_variances
from scarce.gaussian.factors import check_tables, read_factors, warn_of_impossible
from scarce.gaussian.fitting import (
    DIAGONAL,
    KINDS,
    Learned,
    Settings,
    factors_of,
    few_counted_remark,
    gaussians,
    joint_log_proba,
    learn,
    learn_from_moments,
    measurements,
    narrow_remarks,
    used_columns,
)
from scarce.gaussian.moments import (
    CrossMoments,
    Moments,
    class_moments,
    cross_moments,
    embed_classes,
    from_state,
    merge_cross_moments,
    merge_moments,
    shift_origin,
    to_state,
    typical_values,
    value_moments,
)
from scarce.io.inputs import names_of, rows_to_fit, rows_to_predict
from scarce.results import FitReport

SHARED = ("shared", "shared-diag")
PARAMETERS: dict[str, list[Constraint]] = {
    "covariance": [Word(*KINDS)],
    "var_smoothing": [Number(0)],
    "shrinkage": [Word("auto"), Number(0, 1)],
    "unbiased": [FLAG],
    "unlabelled": [Word("ignore", "use")],
    "calibrate": [FLAG],
    "tol": [Number(0, open_low=True)],
    "max_iter": [Number(1, whole=True)],
}
OF_SOME_FITS = (
    "factors_",
    "factor_tables_",
    "offset_",
    "slope_",
    "left_out_loss_",
    "better_than_constant_",
    "covariance_",
    "shrinkage_",
    "moments_",
    "unlabelled_share_",
    "reveal_rate_",
    "unlabelled_used_",
    "unlabelled_loss_",
    "log_likelihood_path_",
)


class Discriminant(NamedTuple):
    """Log odds of the second of two classes as a function of a complete row.

    Calibrated models clip the log ratio of two densities at +-15; this form does not.
    """

    quadratic: Array  # (d, d), 0 where the classes share their covariance
    linear: Array  # (d,)
    constant: float

    def __call__(self, X: ArrayLike) -> Array:
        """Return the log odds of rows, shape (n,)."""
        X = np.asarray(X, dtype=np.float64)
        return np.asarray(
            np.einsum("ij,jk,ik->i", X, self.quadratic, X) + X @ self.linear + self.constant
        )


def _takes_batches(model: GaussianBayes) -> bool:
    """Whether there is a partial_fit, in the manner of scikit-learn: by AttributeError."""
    if model.unlabelled == "use":
        raise AttributeError(
            "unlabelled='use' passes over all rows several times, so there is no partial_fit: "
            "call fit on all rows, or use unlabelled='ignore'."
        )
    if model.calibrate:
        raise AttributeError(
            "calibrate=True judges the model on rows left out, for which it must see all rows: "
            "call fit, or use calibrate=False."
        )
    if not (isinstance(model.factors, str) and model.factors == "auto"):
        raise AttributeError("partial_fit learns measurements only: leave out factors, or use fit.")
    return True


class GaussianBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Model of each class that accepts missing values, categories, counts and unlabelled rows.

    Parameters
    ----------
    covariance : {"shared", "diag", "shared-diag", "full", "shrunk"}
        One covariance matrix for all classes (LDA); one variance per class and feature (naive
        Bayes); one per feature for all classes; one matrix per class (QDA); or one per class shrunk
        towards the pooled one.
    factors : "auto" or dict {column: kind}
        How columns are distributed within a class: "gaussian", "categorical", "bernoulli" (0 and
        1), "poisson" or "negative-binomial" (counts). By default categories are categorical and all
        numbers Gaussian. Columns are named, or counted from 0.
    calibrate : bool
        Whether probabilities are those of `calibration.py`: the densities are judged on labelled
        rows left out in five folds, and where they are not better there than the base rates, every
        row gets the base rates. False gives the densities' own (003).
    priors : array-like of shape (n_classes,), dict {class: base rate} or pandas Series, optional
        Base rates to predict with, in the order of the sorted classes or by name; by default those
        of the labelled rows, or with unlabelled="use" those of all rows. Unlabelled rows are then
        taken to have these base rates.
    var_smoothing : float
        "diag" kinds: added to every variance, as a fraction of the feature's own variance over all
        classes; a feature that is constant within a class then does not decide everything, and no
        other feature's unit matters. Other kinds: the smallest pooled variance of a feature, as a
        fraction of its total variance; nothing is added otherwise.
    engine : None, "threads", "processes", Executor or Dask client
        What processes the blocks of rows. Does not change a bit of the result.
    shrinkage : "auto" or float from 0 to 1
        For "shrunk": how far each class is shrunk. "auto" chooses for each class the intensity and
        the target that make a left-out row most probable (see shrinkage.py); a number shrinks
        every class that far towards the pooled covariance. For "shared": how far it is shrunk to
        the variances of all rows, without correlations; "auto" as if max(5, n_features / 2) more
        rows had shown those, 0 for maximum likelihood.
    unbiased : bool
        Divide by n_y - 1 within a class and by n - K where pooled, as scikit-learn's discriminant
        analyses did before version 1.9, instead of by n_y and n (maximum likelihood, as in 003).
    unlabelled : {"ignore", "use"}
        "use" learns from unlabelled rows too: each enters every class with its posterior
        probability. That relies on Gaussian classes, and on unlabelled rows belonging to these
        classes and no others. So it is compared with "ignore" by the log loss of labelled rows
        left out in five folds, and undone with a remark where it is worse. Gaussian columns only.
    tol : float
        For fits by EM: largest entry of the gradient of the log likelihood, per unit of a class's
        weight, in coordinates where the class has mean 0 and covariance 1.
    max_iter : int
        Most passes over the rows of one EM run; a fit has up to three, and calibration five fits.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted; with two classes the second is the positive one.
    class_prior_ : ndarray of shape (n_classes,)
    factors_ : dict {column: kind}
    factor_tables_ : dict {column: dict}
        Log probabilities of the levels, or means of the counts, of each class. Absent where all
        columns are Gaussian.
    offset_ : ndarray of shape (n_classes,)
    slope_ : float
        Of the calibration: log prior + offset + slope * log density ratio; 1 takes the densities as
        they are, 0 gives the base rates.
    left_out_loss_ : ndarray of shape (2,)
        Mean log loss of left-out rows, calibrated and of the base rates. Absent where none could be
        left out.
    better_than_constant_ : bool
        Whether the first is the smaller one; otherwise every row gets the base rates.
    mean_, variance_ : ndarray of shape (n_classes, n_features_in_)
    covariance_ : ndarray of shape (n_classes, n_features_in_, n_features_in_)
        Not for "diag" kinds. "shared" has one matrix, shape (n_features_in_, n_features_in_).
        Columns that are not used have variance 1 and no correlation.
    class_weight_seen_ : ndarray of shape (n_classes,)
        Total weight of the labelled rows of each class.
    used_ : ndarray of bool, shape (n_features_in_,)
        False for features that are missing in all rows of some class, and for those that are
        constant; they are not used.
    shrinkage_ : ndarray of shape (n_classes,)
        How far each covariance was shrunk; 0 where it was not. Not for "diag" kinds.
    moments_ : dict of ndarray
        What `partial_fit` continues from. Absent after EM.
    unlabelled_share_, reveal_rate_ : ndarray of shape (n_classes,)
        With unlabelled="use": base rates among the unlabelled rows, and the estimated fraction of
        each class's rows that carry a label.
    unlabelled_used_ : bool
        With unlabelled="use" and unlabelled rows: whether they were used in the end.
    unlabelled_loss_ : ndarray of shape (2,)
        Mean log loss of left-out labelled rows without and with the unlabelled ones, under the
        base rates of the labelled rows. Absent where a class has too few to leave some out.
    log_likelihood_path_ : ndarray
        After EM: log likelihoods of the last run; never decreases.
    n_iter_ : int
        Passes over the rows, as in the report.
    report_ : FitReport

    **Assumes** that measurements are Gaussian within a class, for "diag" kinds independent too, and
    independent of categories and counts, as those are of each other; that labelled rows of a class
    are a fair sample of it; and that whether a value is missing says nothing about the class or the
    value. Calibration takes back what the first assumption costs, not the others.

    Notes
    -----
    Predicting with p patterns of missing values costs one Cholesky factor per pattern and class,
    classes * (p d^3 + n d^2) for n rows and d features; "diag" kinds cost classes * n * d.

    Standard deviations may lie between 1e-145 and 1e145; beyond, squares leave the range of double
    precision, and the column is refused by name.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(200) % 2
    >>> X = rng.normal(2.0 * y[:, None], [1.0, 2.0], size=(200, 2))
    >>> X[::5, 1] = np.nan
    >>> model = GaussianBayes().fit(X, y)
    >>> model.predict_proba([[2.0, np.nan], [2.0, 3.0], [np.nan, np.nan]])[:, 1].round(2)
    array([0.89, 0.95, 0.5 ])
    >>> model.better_than_constant_, model.left_out_loss_.round(1)
    (True, array([0.4, 0.7]))
    >>> X = [[0, 0], [2, 1], [0, 1], [1, 2], [4, 4], [5, 6], [6, 5], [4, 5]]
    >>> model = GaussianBayes("shared", shrinkage=0).fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    >>> model.outlier_score([[4.5, 4.2], [9.0, 0.0], [np.nan, np.nan]]).round(1)
    array([ 0.3, 28.4,  0. ])
    """

    _runtime_params = ("engine",)

    def __init__(
        self,
        covariance: str = "shared",
        *,
        factors: str | Mapping[Any, str] = "auto",
        calibrate: bool = True,
        priors: ArrayLike | Mapping[Any, float] | None = None,
        var_smoothing: float = 1e-9,
        engine: Engine = None,
        shrinkage: str | float = "auto",
        unbiased: bool = False,
        unlabelled: str = "ignore",
        tol: float = 1e-6,
        max_iter: int = 500,
    ) -> None:
        self.covariance = covariance
        self.factors = factors
        self.calibrate = calibrate
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.engine = engine
        self.shrinkage = shrinkage
        self.unbiased = unbiased
        self.unlabelled = unlabelled
        self.tol = tol
        self.max_iter = max_iter

    # --- learning ---------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled rows, and from unlabelled ones where asked for and where they help.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
            NaN is a missing value. `Rows` bring their labels and weights along.
        y : array-like of shape (n,), optional
            Classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two, one of weight 0 as none. Weights that only say how much
            a row stands for: divide them by their mean.
        groups : array-like of shape (n,), optional
            Rows of one group are left out together where the model is judged on left-out labelled
            rows; a missing value is a group of its own.

        Returns
        -------
        self
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight, groups=groups)
        check_parameters(self, PARAMETERS)
        begin = time.perf_counter()
        for name in OF_SOME_FITS:  # what an earlier fit of another kind left
            self.__dict__.pop(name, None)
        # Unlabelled rows are learned from by measurements alone: there a category is one-hot.
        categories = "one-hot" if self.unlabelled == "use" else "codes"
        rows, self.classes_ = rows_to_fit(
            self, X, y, sample_weight, engine=self.engine, categories=categories
        )
        learned = learn(self._settings(rows), rows, groups)
        said = few_counted_remark(rows, self.engine)
        return self._take(learned, begin, (*said, *self.column_profile_.remarks))

    @available_if(_takes_batches)  # type: ignore[untyped-decorator]
    def partial_fit(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        classes: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> Self:
        """Learn from more rows, with the same result as one fit on all of them.

        Only with calibrate=False, and not with unlabelled="use": both pass over all rows several
        times. Measurements only.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Kinds with covariances need complete rows here.
        classes : array-like, optional
            All classes that will ever come, at the first call; by default those of its rows. A
            class may come later: until each has a row, the model cannot predict.

        Returns
        -------
        self
        """
        check_parameters(self, PARAMETERS)
        begin = time.perf_counter()
        first = not hasattr(self, "classes_")
        if not first:
            self._check_continues()
        rows, found = rows_to_fit(
            self, X, y, sample_weight, engine=self.engine, categories="one-hot", reset=first
        )
        del self.column_profile_  # that of one batch would not speak for all
        if first:
            self.classes_ = found if classes is None else np.unique(np.asarray(classes))
        try:
            moments, origin = self._all_moments(rows, found, classes)
        except Exception:
            if first:
                del self.classes_
            raise
        if not (moments.weight > 0).all():  # some class has no row yet
            self.moments_ = to_state(moments, origin)
            return self
        return self._take(learn_from_moments(self._settings(), moments, origin), begin)

    def _settings(self, rows: Rows | None = None) -> Settings:
        names = tuple(names_of(self))
        params = self.get_params(deep=False)
        given = params.pop("factors")
        kinds = ["gaussian"] * len(names)
        if rows is not None:
            columns = [replace(c, name=n) for c, n in zip(rows.schema.columns, names, strict=True)]
            kinds = read_factors(given, columns)
        return Settings(**params, kinds=tuple(kinds), classes=self.classes_, names=names)

    def _take(self, learned: Learned, begin: float, remarks: tuple[str, ...] = ()) -> Self:
        """Set the fitted attributes and the report."""
        for name, value in learned.attributes.items():
            setattr(self, name, value)
        self.n_iter_ = learned.passes
        narrow = narrow_remarks(self._settings(), self.variance_, self.used_)
        if hasattr(self, "slope_"):
            narrow = []  # such rows have a probability like others
        self.report_ = FitReport(
            converged=learned.converged,
            certificate=learned.certificate,
            objective=learned.objective,
            passes=learned.passes,
            seconds=time.perf_counter() - begin,
            warnings=(*remarks, *learned.remarks, *narrow),
            proves=learned.proves,
        )
        return self

    # --- batches ----------------------------------------------------------------------------------

    def _check_continues(self) -> None:
        """Refuse partial_fit where it could not equal one fit on all rows."""
        if hasattr(self, "factor_tables_"):
            raise UsageError(
                "This model was fitted with columns that are no measurements ({columns}), and "
                "partial_fit learns measurements only.",
                code="cannot-continue",
                columns=listed(list(self.factor_tables_), most=8),
                remedy="Call fit on all rows, or partial_fit on a new model.",
            )
        kept = getattr(self, "moments_", None)
        if kept is None:
            raise UsageError(
                "This model was fitted by EM (missing values with {covariance}, or unlabelled "
                "rows), so partial_fit cannot continue from it.",
                code="cannot-continue",
                covariance=Argument("covariance", self.covariance),
                remedy="Call fit on all rows, or partial_fit on a new model.",
            )
        if ("scatter" in kept) == (self.covariance in DIAGONAL):
            raise UsageError(
                "{covariance} needs other moments than those of the earlier batches.",
                code="cannot-continue",
                covariance=Argument("covariance", self.covariance),
                remedy="Call partial_fit on a new model.",
            )

    def _all_moments(
        self, rows: Rows, found: NDArray[Any], classes: ArrayLike | None
    ) -> tuple[Moments | CrossMoments, Array]:
        """Return the moments of all batches so far with this one, and their origin."""
        positions = self._class_positions(found, classes)
        n_classes, origin = len(self.classes_), typical_values(rows)
        kept = getattr(self, "moments_", None)
        before, start = (None, origin) if kept is None else from_state(kept)
        if self.covariance in DIAGONAL:
            batch: Moments = rows.fold(class_moments, (len(found), origin), engine=self.engine)
            self._check_variances(batch, origin, rows)
            batch = shift_origin(embed_classes(batch, positions, n_classes), origin - start)
            return (merge_moments(before, batch) if isinstance(before, Moments) else batch), start
        params = (len(found), origin, None)
        cross: CrossMoments = rows.fold(cross_moments, params, engine=self.engine)
        if cross.incomplete.weight.any():
            raise DataError(
                "{rows:g} labelled rows of this batch have missing values; with {covariance} "
                "these need all rows at once.",
                code="missing-in-batch",
                rows=float(cross.incomplete.weight.sum()),
                covariance=Argument("covariance", self.covariance),
                diag=Argument("covariance", "diag"),
                remedy="Call fit on all rows, leave these rows out, or use {diag}.",
            )
        self._check_variances(value_moments(cross), origin, rows)
        cross = shift_origin(embed_classes(cross, positions, n_classes), origin - start)
        return (
            merge_cross_moments(before, cross) if isinstance(before, CrossMoments) else cross
        ), start

    def _check_variances(self, values: Moments, origin: Array, rows: Rows) -> None:
        used_columns(self._settings(), values, origin, rows)  # refuses numbers out of range

    def _class_positions(self, found: NDArray[Any], classes: ArrayLike | None) -> NDArray[np.intp]:
        """Return the position of each class of a batch among all classes."""
        if classes is not None and not np.array_equal(
            np.unique(np.asarray(classes)), self.classes_
        ):
            raise UsageError(
                "{classes} are not those of the first call, {known}.",
                code="class-mismatch",
                classes=Argument("classes", np.asarray(classes).tolist()),
                known=self.classes_.tolist(),
                remedy="Leave classes out, or start with a new model.",
            )
        known = {label: place for place, label in enumerate(self.classes_.tolist())}
        unknown = [label for label in found.tolist() if label not in known]
        if unknown:
            raise DataError(
                "y holds {labels}; the classes of the first call of partial_fit are {classes}.",
                code="unknown-class",
                labels=unknown[:5],
                classes=self.classes_.tolist(),
                remedy="Name all classes at the first call: classes=[...].",
            )
        return np.array([known[label] for label in found.tolist()], dtype=np.intp)

    # --- predicting -------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: ArrayLike | Rows) -> Array:
        """Return log p(class) + log p(observed features | class), shape (n, n_classes).

        As the densities say, before calibration.
        """
        rows = self._rows(X)
        return joint_log_proba(vars(self), np.log(self.class_prior_), rows, self.engine)

    def _scores(self, X: ArrayLike | Rows) -> Array:
        """Return scores whose softmax are the probabilities, (n, n_classes)."""
        if not hasattr(self, "slope_"):
            return self.predict_joint_log_proba(X)
        rows, none = self._rows(X), np.zeros(len(self.classes_))
        ratio = ratios(joint_log_proba(vars(self), none, rows, self.engine))
        return scores(ratio, np.log(self.class_prior_), self.offset_, self.slope_)

    def predict_log_proba(self, X: ArrayLike | Rows) -> Array:
        """Return the logarithm of each class's probability, shape (n, n_classes)."""
        joint = self._scores(X)
        return np.asarray(joint - logsumexp(joint, axis=1, keepdims=True))

    def predict_proba(self, X: ArrayLike | Rows) -> Array:
        """Return each class's probability, shape (n, n_classes)."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict(self, X: ArrayLike | Rows) -> NDArray[Any]:
        """Return the most probable class of each row."""
        best = self._scores(X).argmax(axis=1)
        return np.asarray(self.classes_[best])

    def decision_function(self, X: ArrayLike | Rows) -> Array:
        """Return the log odds of the second of two classes, (n,), or the score of each class.

        With two classes this is 003's discriminant function, calibrated; above 0 means the second
        class.
        """
        joint = self._scores(X)
        return np.asarray(joint[:, 1] - joint[:, 0]) if joint.shape[1] == 2 else joint

    def log_density(self, X: ArrayLike | Rows) -> Array:
        """Return log p(observed features) under the mixture of all classes, shape (n,).

        In the units of the data; where values are missing, the density of the observed ones alone:
        compare it between rows with the same features observed. Not calibrated.
        """
        return np.asarray(logsumexp(self.predict_joint_log_proba(X), axis=1))

    def outlier_score(self, X: ArrayLike | Rows) -> Array:
        """Return how far out a row lies for the class that it fits best, shape (n,).

        -log10 of the chi-square tail probability of the squared Mahalanobis distance to the nearest
        class, with as many degrees of freedom as observed values: 3 means that one row in a
        thousand of that class lies so far out. A row without any value has score 0. Of measurements
        alone: categories and counts are not looked at.

        **Assumes** that the class is Gaussian with the mean and covariance learned; with few rows
        per feature those are themselves uncertain, and ordinary new rows score higher. Says
        nothing about rows that lie between classes, which may be near one of them.
        """
        rows = self._rows(X)
        if hasattr(self, "covariance_"):
            found = rows.map(nearest_of_covariances, gaussians(vars(self)), engine=self.engine)
        else:
            used = measurements(vars(self))
            params = (self.mean_, used / self.variance_, used)
            found = rows.map(nearest_of_variances, params, engine=self.engine)
        return np.asarray(np.maximum(-log_tail(found[:, 0], found[:, 1]) / np.log(10.0), 0.0))

    def _rows(self, X: ArrayLike | Rows) -> Rows:
        self._check_ready()
        rows = rows_to_predict(self, X, engine=self.engine)
        warn_of_impossible(rows, factors_of(vars(self)), self.engine)
        return rows

    def _check_ready(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "mean_"):
            missing = self.classes_[from_state(self.moments_)[0].weight == 0].tolist()
            raise NotFittedError(
                f"Classes without a labelled row so far: {missing}. Call partial_fit with some."
            )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- the discriminant function ----------------------------------------------------------------

    def discriminant(self) -> Discriminant:
        """Return the log odds of two classes as x'Ax + b'x + c, for complete rows.

        Around x = 0: where features are far from 0 compared to their standard deviation,
        `decision_function` keeps more digits.

        Notes
        -----
        003 sections 1.4, 1.6: A = (C_-^-1 - C_+^-1) / 2,   b = C_+^-1 m_+ - C_-^-1 m_-,
        c = log p_+ / p_- + (m_-' C_-^-1 m_- - m_+' C_+^-1 m_+ + log det C_- - log det C_+) / 2.
        Where the classes share C, A is 0 and the log odds are linear: the form of a logistic
        regression. With calibration, slope times all that, and the offsets.
        """
        self._check_ready()
        if hasattr(self, "factor_tables_"):
            raise UsageError(
                "A discriminant function is of measurements, and some columns are not: {columns}.",
                code="measurements-needed",
                columns=listed(list(self.factor_tables_), most=8),
                remedy="Use decision_function(X).",
            )
        if len(self.classes_) != 2:
            raise UsageError(
                "A discriminant function separates two classes; there are {n_classes}.",
                code="two-classes-needed",
                n_classes=len(self.classes_),
                remedy="Compare the columns of predict_joint_log_proba(X).",
            )
        inverse, log_det = self._inverses()
        turned = np.einsum("ijk,ik->ij", inverse, self.mean_)
        length = np.einsum("ij,ij->i", turned, self.mean_)
        slope, odds = self._slope_and_odds()
        constant = float(odds + slope * (length[0] - length[1] + log_det[0] - log_det[1]) / 2)
        quadratic, linear = (inverse[0] - inverse[1]) / 2, turned[1] - turned[0]
        return Discriminant(slope * quadratic, slope * linear, constant)

    @property
    def coef_(self) -> Array:
        """Weights of the linear log odds, shape (1, n_features_in_); shared kinds, two classes."""
        return self._linear("coef_")[0]

    @property
    def intercept_(self) -> Array:
        """Constant of the linear log odds, shape (1,), with log(p / (1 - p)) of the priors."""
        return self._linear("intercept_")[1]

    def _linear(self, name: str) -> tuple[Array, Array]:
        """Return weights (1, d) and constant (1,) of the linear log odds."""
        ready = hasattr(self, "mean_") and not hasattr(self, "factor_tables_")
        if not ready or self.covariance not in SHARED or len(self.classes_) != 2:
            raise AttributeError(
                f"{name} exists for two classes of measurements that share their covariance "
                "(covariance='shared' or 'shared-diag') once fitted; discriminant() gives the "
                "quadratic form otherwise."
            )
        inverse, _ = self._inverses()
        # (m_- - m_+)'C^-1(m_- + m_+) / 2, without subtracting two large squares from each other.
        slope, odds = self._slope_and_odds()
        weights = slope * (inverse[0] @ (self.mean_[1] - self.mean_[0]))
        middle = weights @ (self.mean_[0] + self.mean_[1]) / 2
        return weights[None], np.array([odds - middle])

    def _slope_and_odds(self) -> tuple[float, float]:
        """Return what log density ratios are multiplied by, and what is added."""
        odds = float(np.log(self.class_prior_[1]) - np.log(self.class_prior_[0]))
        if not hasattr(self, "slope_"):
            return 1.0, odds
        return self.slope_, odds + float(self.offset_[1] - self.offset_[0])

    def _inverses(self) -> tuple[Array, Array]:
        """Return inverse covariances, 0 for unused columns, and log determinants."""
        both = np.outer(self.used_, self.used_)
        if hasattr(self, "covariance_"):
            covariance = np.broadcast_to(self.covariance_, (2, *both.shape))
            deviation = np.sqrt(np.diagonal(covariance, axis1=1, axis2=2))
            units = deviation[:, :, None] * deviation[:, None, :]
            inverse = np.linalg.inv(covariance / units) / units
            log_det = np.linalg.slogdet(covariance / units)[1] + 2 * np.log(deviation).sum(axis=1)
            return inverse * both, np.asarray(log_det)
        inverse = np.array([np.diag(1 / row) for row in self.variance_])
        logs = np.where(self.used_, np.log(self.variance_), 0.0)
        return inverse * both, np.asarray(logs.sum(axis=1))

    # --- model files ------------------------------------------------------------------------------

    def _check_loaded(self) -> None:
        """Refuse a model file whose arrays do not belong together."""
        if not hasattr(self, "classes_"):
            return
        shape = (len(self.classes_), len(names_of(self)))
        matrices = (*shape, shape[1])
        wanted: dict[str, tuple[int, ...]] = {}
        if hasattr(self, "mean_") or not hasattr(self, "moments_"):
            wanted = {
                "mean_": shape,
                "variance_": shape,
                "class_prior_": shape[:1],
                "used_": shape[1:],
            }
            if self.covariance not in DIAGONAL:
                wanted["covariance_"] = matrices[1:] if self.covariance == "shared" else matrices
                wanted["shrinkage_"] = shape[:1]
        for name in ("unlabelled_share_", "reveal_rate_", "offset_"):
            if hasattr(self, name):
                wanted[name] = shape[:1]
        for name, size in wanted.items():
            refuse_array(name, getattr(self, name, None), size, "b" if name == "used_" else "f")
        if hasattr(self, "moments_"):
            self._check_loaded_moments(shape)
        if "mean_" in wanted:
            self._check_loaded_values()
        if hasattr(self, "factor_tables_"):
            tables, kinds = self.factor_tables_, getattr(self, "factors_", None)
            check_tables(tables, kinds, *shape, self.used_)
        if hasattr(self, "slope_") != hasattr(self, "offset_"):
            raise inconsistent_model("slope_", "and offset_ must come together")
        slope = getattr(self, "slope_", 0.0)
        if not 0.0 <= slope <= MOST_SLOPE:
            raise inconsistent_model("slope_", f"must be from 0 to {MOST_SLOPE}")
        if not np.isfinite(getattr(self, "offset_", np.zeros(0))).all():
            raise inconsistent_model("offset_", "must be finite")

    def _check_loaded_moments(self, shape: tuple[int, int]) -> None:
        sizes: dict[str, tuple[int, ...]] = {
            "origin": shape[1:],
            "weight": shape[:1],
            "mean": shape,
        }
        if self.covariance in DIAGONAL:
            sizes |= {"seen": shape, "squares": shape}
        else:
            sizes["scatter"] = (*shape, shape[1])
        if not isinstance(self.moments_, dict) or set(self.moments_) != set(sizes):
            raise inconsistent_model("moments_", f"must hold {sorted(sizes)}")
        for name, size in sizes.items():
            refuse_array(f"moments_[{name!r}]", self.moments_[name], size)

    def _check_loaded_values(self) -> None:
        if not (self.variance_ > 0).all():
            raise inconsistent_model("variance_", "must be above 0")
        for name in ("class_prior_", "unlabelled_share_"):
            share = getattr(self, name, None)
            if share is None:
                continue
            least = 0.0 if name == "unlabelled_share_" else np.nextafter(0.0, 1.0)
            if not ((share >= least).all() and abs(share.sum() - 1.0) <= 1e-9):
                raise inconsistent_model(
                    name, f"must be above 0 and sum to 1, got {share.tolist()}"
                )
        intensity = getattr(self, "shrinkage_", np.zeros(0))
        if not ((intensity >= 0) & (intensity <= 1)).all():
            raise inconsistent_model("shrinkage_", "must be from 0 to 1")
        if self.covariance not in DIAGONAL:
            self._check_loaded_covariances()

    def _check_loaded_covariances(self) -> None:
        matrices = self.covariance_ if self.covariance_.ndim == 3 else self.covariance_[None]
        diagonal = np.diagonal(matrices, axis1=-2, axis2=-1)
        diagonals = np.broadcast_to(diagonal, self.variance_.shape)
        if not np.allclose(diagonals, self.variance_, atol=0.0):
            raise inconsistent_model("variance_", "must be the diagonal of covariance_")
        scale = np.sqrt(diagonal)
        scaled = matrices / scale[:, :, None] / scale[:, None, :]
        if not np.allclose(scaled, scaled.transpose(0, 2, 1), rtol=0.0, atol=1e-9):
            raise inconsistent_model("covariance_", "must be symmetric")
        try:
            np.linalg.cholesky(scaled)
        except np.linalg.LinAlgError:
            raise inconsistent_model("covariance_", "must be positive definite") from None
