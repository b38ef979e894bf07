"""Gaussian Bayes: a model of each class, so holes cost nothing and strange rows are noticed.

    log p(y) + log N(seen values; mean_y, covariance_y cut to them)             (003 1.3 to 1.6)

One fold gives the moments of each class; a missing value is integrated out exactly. Covariances of
small classes are drawn together (shrinkage.py), holes in the rows to learn from and rows without
label are met by EM (bayes_missing.py). Assumes Gaussian features within a class.
"""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import logsumexp, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.exceptions import NotFittedError
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.gaussian import settings as bayes_checks
from scarce.gaussian import views as bayes_views
from scarce.gaussian.densities import (
    Classes,
    log_tail,
    nearest_of_covariances,
    nearest_of_variances,
)
from scarce.gaussian.fitting import Learned, joint_log_proba, learn, settle
from scarce.gaussian.moments import (
    CrossMoments,
    Moments,
    class_moments,
    from_state,
    merge_moments,
)
from scarce.io.inputs import refuse_categories, rows_to_fit, rows_to_predict
from scarce.results import FitReport

__all__ = ["GaussianBayes", "CrossMoments", "Moments", "class_moments", "merge_moments"]


class GaussianBayes(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Gaussian model of each class that takes missing features and unlabelled rows as they are.

    Parameters
    ----------
    covariance : {"diag", "shared-diag", "full", "shared", "shrunk"}
        What is learned of the spread within a class: one variance per class and feature (naive
        Bayes); one per feature for all classes; one covariance matrix per class (QDA); one for all
        classes (LDA); or one per class drawn towards what the classes share, which is the choice
        for a class with few rows.
    priors : array-like of shape (n_classes,), optional
        Class shares to predict with; by default those of the labelled rows, or with
        unlabelled="use" those of all rows. Unlabelled rows are then taken to have these shares.
    var_smoothing : float
        "diag" kinds: added to every variance, as a share of the feature's own variance over all
        classes, so that a feature that is constant within a class does not decide everything; no
        other feature's unit matters. Other kinds: a feature whose pooled variance is a smaller
        share than this of its whole variance is taken to have that much; nothing is added
        otherwise.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the blocks of rows. Does not change a bit of the result.
    shrinkage : "auto" or float from 0 to 1
        For "shrunk": how far each class is drawn. "auto" chooses for each class the intensity, and
        what it is drawn to, that make a row left out most probable (see shrinkage.py); a number
        draws every class that far towards the pooled covariance.
    unbiased : bool
        Divide by n_y - 1 within a class and by n - K where pooled, as scikit-learn's discriminant
        analyses did before version 1.9, instead of by n_y and n (maximum likelihood, as in 003).
    unlabelled : {"ignore", "use"}
        "use" learns from rows without label too: each enters every class with its posterior
        probability. That leans on the Gaussian shape of the classes, and on unlabelled rows being
        of these classes and no others. So it is compared with "ignore" on labelled rows that are
        left out in five folds (log loss), and taken back with a remark where it is worse.
    tol : float
        Where passes are needed: largest entry of the gradient of the log likelihood, per unit of a
        class's weight, in coordinates where the class has mean 0 and covariance 1.
    max_iter : int
        Most passes over the rows of one climb; a fit has up to three.

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        Sorted; with two classes the second is the positive one.
    class_prior_ : ndarray of shape (n_classes,)
    mean_, variance_ : ndarray of shape (n_classes, n_features_in_)
    covariance_ : ndarray of shape (n_classes, n_features_in_, n_features_in_)
        Not for "diag" kinds. "shared" has one matrix, shape (n_features_in_, n_features_in_).
        Columns that are not used have variance 1 and no correlation.
    class_weight_seen_ : ndarray of shape (n_classes,)
        Total weight of the labelled rows of each class.
    used_ : ndarray of bool, shape (n_features_in_,)
        False for features of which some class has never shown a value, and for those with one
        value in all labelled rows; they are left out.
    shrinkage_ : ndarray of shape (n_classes,)
        How far each covariance was drawn; 0 where it was not. Not for "diag" kinds.
    moments_ : dict of ndarray
        What `partial_fit` goes on from. Absent where the fit took EM.
    unlabelled_share_, reveal_rate_ : ndarray of shape (n_classes,)
        With unlabelled="use": class shares among the unlabelled rows, and the estimated share of
        each class's rows that carry a label.
    unlabelled_used_ : bool
        With unlabelled="use" and unlabelled rows: whether they were used in the end.
    unlabelled_loss_ : ndarray of shape (2,)
        Mean log loss of left-out labelled rows without and with the unlabelled ones, under the
        class shares of the labelled rows. Absent where a class has too few to leave some out.
    log_likelihood_path_ : ndarray
        Where the fit took EM: of the points of the last climb; never falls.
    n_iter_ : int
        Passes over the rows, as in the report.
    report_ : FitReport

    **Assumes** that features are measurements (rows with categories are refused) and Gaussian
    within a class, for "diag" kinds independent too; that labelled rows of a class are a fair
    sample of it; and that whether a value is missing says nothing about the class or the value.

    Notes
    -----
    Predicting with p patterns of missing values costs one Cholesky factor per pattern and class,
    classes * (p d^3 + n d^2) for n rows and d features; "diag" kinds cost classes * n * d.

    Standard deviations may lie between 1e-145 and 1e145; beyond, squares are no ordinary numbers in
    double precision, and the column is refused by name.

    Examples
    --------
    >>> X = np.array([[0.0, 1.0], [0.2, np.nan], [3.0, 4.0], [np.nan, 5.0], [1.0, 1.0]])
    >>> model = GaussianBayes().fit(X, [0, 0, 1, 1, np.nan])
    >>> model.predict([[0.1, np.nan], [np.nan, 4.4]])
    array([0., 1.])
    >>> X = [[0, 0], [2, 1], [0, 1], [1, 2], [4, 4], [5, 6], [6, 5], [4, 5]]
    >>> model = GaussianBayes("shared").fit(X, [0, 0, 0, 0, 1, 1, 1, 1])
    >>> model.outlier_score([[4.5, 4.2], [9.0, 0.0], [np.nan, np.nan]]).round(1)
    array([ 0.3, 28.4,  0. ])
    """

    _runtime_params = ("engine",)

    def __init__(
        self,
        covariance: str = "diag",
        *,
        priors: ArrayLike | None = None,
        var_smoothing: float = 1e-9,
        engine: Engine = None,
        shrinkage: str | float = "auto",
        unbiased: bool = False,
        unlabelled: str = "ignore",
        tol: float = 1e-8,
        max_iter: int = 500,
    ) -> None:
        self.covariance = covariance
        self.priors = priors
        self.var_smoothing = var_smoothing
        self.engine = engine
        self.shrinkage = shrinkage
        self.unbiased = unbiased
        self.unlabelled = unlabelled
        self.tol = tol
        self.max_iter = max_iter

    # --- learning ---------------------------------------------------------------------------------

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, *, groups: Any = None) -> Self:
        """Learn from labelled rows, and from unlabelled ones where asked for and where they help.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
            NaN is a missing value. `Rows` bring their labels and weights along.
        y : array-like of shape (n,), optional
            Classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            A row of weight 2 counts as two, one of weight 0 as none.
        groups : array-like of shape (n,), optional
            Rows of one group are left out together where unlabelled="use" is judged on left-out
            labelled rows; a missing value is a group of its own. Not used otherwise.

        Returns
        -------
        self
        """
        bayes_checks.parameters(self)
        begin = time.perf_counter()
        bayes_checks.forget(self)
        rows, self.classes_ = rows_to_fit(self, X, y, sample_weight, engine=self.engine)
        refuse_categories(rows, type(self).__name__)
        return self._take(learn(self, rows, groups), begin, self.column_profile_.remarks)

    @available_if(bayes_checks.takes_batches)  # type: ignore[untyped-decorator]
    def partial_fit(
        self, X: Any, y: Any = None, classes: ArrayLike | None = None, sample_weight: Any = None
    ) -> Self:
        """Learn from more rows, with the same result as one fit on all of them.

        Not with unlabelled="use", which passes over all rows several times.

        Parameters
        ----------
        X, y, sample_weight
            As in `fit`. Kinds with covariances need rows without holes here.
        classes : array-like, optional
            All classes that will ever come, at the first call; by default those of its rows. A
            class may come later: until each has a row, the model cannot predict.

        Returns
        -------
        self
        """
        bayes_checks.parameters(self)
        begin = time.perf_counter()
        first = not hasattr(self, "classes_")
        bayes_checks.may_go_on(self, first)
        if not first:
            same = rows_to_predict(self, X)  # the same columns as before
            X = same if isinstance(X, Rows) else X
        rows, found = rows_to_fit(self, X, y, sample_weight, engine=self.engine)
        del self.column_profile_  # that of one batch would not speak for all
        refuse_categories(rows, type(self).__name__)
        if first:
            self.classes_ = found if classes is None else np.unique(np.asarray(classes))
        try:
            moments, origin = bayes_checks.gathered(self, rows, found, classes)
        except Exception:
            if first:
                del self.classes_
            raise
        learned = settle(self, moments, origin)
        if learned is None:  # some class has no row yet
            return self
        return self._take(learned, begin)

    def _take(self, learned: Learned, begin: float, remarks: tuple[str, ...] = ()) -> Self:
        """Note what was learned."""
        for name, value in learned.attributes.items():
            setattr(self, name, value)
        self.n_iter_ = learned.passes
        self.report_ = FitReport(
            converged=learned.converged,
            certificate=learned.certificate,
            objective=learned.objective,
            passes=learned.passes,
            seconds=time.perf_counter() - begin,
            warnings=(*remarks, *learned.remarks, *bayes_checks.narrow(self)),
            proves=learned.proves,
        )
        return self

    # --- predicting -------------------------------------------------------------------------------

    def predict_joint_log_proba(self, X: Any) -> Array:
        """Return log p(class) + log p(seen features | class), shape (n, n_classes)."""
        rows = self._rows(X)
        return joint_log_proba(vars(self), np.log(self.class_prior_), rows, self.engine)

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

    def decision_function(self, X: Any) -> Array:
        """Return the log odds of the second of two classes, (n,), or the joint log probabilities.

        With two classes this is 003's discriminant function; above 0 means the second class.
        """
        joint = self.predict_joint_log_proba(X)
        return np.asarray(joint[:, 1] - joint[:, 0]) if joint.shape[1] == 2 else joint

    def log_density(self, X: Any) -> Array:
        """Return log p(seen features) under the mixture of all classes, shape (n,).

        In the units of the data, and with fewer values seen it is the density of those alone:
        compare it between rows that show the same features.
        """
        return np.asarray(logsumexp(self.predict_joint_log_proba(X), axis=1))

    def outlier_score(self, X: Any) -> Array:
        """Return how far out a row lies for the class that it fits best, shape (n,).

        -log10 of the chi-square tail probability of the squared Mahalanobis distance to the nearest
        class, with as many degrees of freedom as values seen: 3 means that one row in a thousand of
        that class lies so far out. A row without any value has score 0.

        **Assumes** that the class is Gaussian with the mean and covariance learned; with few rows
        per feature those are themselves uncertain, and ordinary new rows score higher. Says
        nothing about rows that lie between classes, which may be near one of them.
        """
        rows = self._rows(X)
        if hasattr(self, "covariance_"):
            found = rows.map(nearest_of_covariances, self._gaussians(), engine=self.engine)
        else:
            params = (self.mean_, self.used_ / self.variance_, self.used_)
            found = rows.map(nearest_of_variances, params, engine=self.engine)
        return np.asarray(np.maximum(-log_tail(found[:, 0], found[:, 1]) / np.log(10.0), 0.0))

    def discriminant(self) -> bayes_views.Discriminant:
        """Return the log odds of two classes as x'Ax + b'x + c, for rows without holes.

        Around x = 0: with features far from 0 for their spread, `decision_function` keeps more
        digits.
        """
        self._check_ready()
        return bayes_views.discriminant(self)

    @property
    def coef_(self) -> Array:
        """Weights of the linear log odds, shape (1, n_features_in_); shared kinds, two classes."""
        return bayes_views.linear(self, "coef_")[0]

    @property
    def intercept_(self) -> Array:
        """Constant of the linear log odds, shape (1,), with log(p / (1 - p)) of the priors."""
        return bayes_views.linear(self, "intercept_")[1]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    def _rows(self, X: Any) -> Rows:
        self._check_ready()
        return rows_to_predict(self, X, engine=self.engine)

    def _check_ready(self) -> None:
        check_is_fitted(self)
        if not hasattr(self, "mean_"):
            missing = self.classes_[from_state(self.moments_)[0].weight == 0].tolist()
            raise NotFittedError(
                f"Classes without any labelled row so far: {missing}. Call partial_fit with some."
            )

    def _gaussians(self) -> Classes:
        one = self.covariance_.ndim == 2
        return Classes(self.mean_, self.covariance_[None] if one else self.covariance_, self.used_)

    def _check_loaded(self) -> None:
        """Refuse a model file whose arrays do not belong together."""
        bayes_checks.loaded(self)
