"""Regression for a rare class: probabilities that can be trusted, from linear scores.

    minimise  sum_i s_i loss(y_i, intercept + x_i' coef) + ridge / 2 |coef|^2      (001 section 3.2)
    prob(x) = (1 - floor) link.inverse(score(x)) + floor * prevalence

One estimator for every method of paper 001: logistic, probit, cloglog, log-log, GEV with the log
loss and GEV with its canonical loss, and for Firth's bias reduction. Choosing shape and ridge is in
search.py, standard errors and intervals are in inference.py, undersampling and weights with their
correction are `PriorCorrected`. Assumes that rows are complete and two classes.
"""

from __future__ import annotations

import time
from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, one_blas_thread
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_array, refuse_word
from scarce.io.inputs import (
    positive_remark,
    refuse_categories,
    rows_to_fit,
    rows_to_predict,
    scaled_weights,
)
from scarce.linear import inference
from scarce.linear.firth import FirthFit, fit_firth, flic_intercept
from scarce.linear.links import Link
from scarce.linear.losses import LOSSES, loss_of
from scarce.linear.newton import Task
from scarce.linear.regress import Regression, Setting, regress
from scarce.linear.selection import Progress, mixed
from scarce.linear.settings import (
    check_parameters,
    choose,
    finite_vector,
    floor_of,
    offset_position,
    setting_of,
    with_offset,
)
from scarce.linear.sums import Look, MovedRows, counting, look
from scarce.results import FitReport


class RareClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Regression of a rare class, with the loss of your choice.

    Parameters
    ----------
    loss : {"auto", "gev-canonical", "gev-log", "logistic", "probit", "cloglog", "loglog"}
        What is minimised. "auto" is logistic regression, unless a GEV-canonical loss of one of four
        shapes predicts left-out rows better by more than two standard errors; `report_.warnings`
        says which was taken. "gev-canonical" searches the paper's 27 shapes and is convex for every
        shape; "gev-log" is not, and is fitted from several starts.
    shape : float or "auto"
        Of the GEV link, from -1 to 1.5; chosen on held-out rows by default. Other losses ignore it.
    ridge : float or "auto"
        Penalty ridge / 2 * |coef|^2 beside the *sum* of losses; chosen on held-out rows by default.
        0 is no penalty.
    fit_intercept : bool
    penalize_intercept : bool
        False by default: then the mean probability of the training rows is the observed share.
    standardize : bool
        Apply the ridge to coefficients of columns divided by their standard deviation (root mean
        square without a free intercept), so that units do not matter. False applies it in the units
        of the columns as given and chooses from the paper's seven ridges, 0.001 to 1000, which
        suits columns of a like scale only.
    domain : {"line", "paper"}
        "line" extends the canonical loss beyond the link's support, so that nothing is constrained.
        "paper" keeps the constraint set of 001 section 3.2, for reproduction.
    bias_reduction : {None, "firth", "flic"}
        Firth's penalised likelihood for loss="logistic" and ridge=0: finite and nearly unbiased
        coefficients with few positives. "flic" refits the intercept, for probabilities.
    floor : float or "auto"
        Weight of the prevalence in every probability. "auto": 0 for links that never say 0 or 1;
        for GEV at least 0.001, and more (up to 0.1) where held-out log loss asks for it.
    select_by : {"brier", "log_loss", "calibration"}
        Score that shape and ridge are chosen by.
    cv : int, float, splitter, or pairs (train, test)
        Folds, or the share of rows of a single validation split (the paper's 0.3). Copies of a row
        and rows of one group stay together, except under your own splitter.
    shapes, ridges : sequence of float, optional
        What "auto" chooses from. By default seven ridges from 1e-4 to 100 times the information of
        a standardised column at the base rate, total weight * prevalence * (1 - prevalence), and
        more where the best lies at an end. shapes="continuous" goes on between the points of the
        grid, in both.
    offset : str or int, optional
        A column whose coefficient is 1 and not fitted, such as log exposure.
    diagnostics : bool
        Whether to compute, beside the coefficients, the covariance of an untuned fit, the rows
        that the floor touched and the objective: up to three more passes.
    weight_kind : {"frequency", "survey"}
        What sample_weight means. "frequency": a weight of 2 is the row twice, and the total is the
        number of observations. "survey": sampling weights, which only matter in proportion; they
        are rescaled to sum to the number of rows, and standard errors are robust (sandwich).
    keep_rows : bool
        Whether a logistic fit without penalty keeps a copy of its training rows, up to a million
        values, also in model files: profile and Laplace intervals need them.
    tol : float
        Largest entry of the gradient per unit of weight, in standardised columns, to stop at.
    max_passes : int
        Over the rows, before a fit gives up and says so.
    warm_start : bool
        Start from the coefficients of the previous fit, unless the base rate alone is a better
        start.
    random_state : int, RandomState or None
        Of the folds; None is 0, so that fits repeat.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the blocks of rows. Does not change a bit of the result.
    progress : callable (done, total), optional
        Called while shape and ridge are searched.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted; the second is the positive one.
    coef_ : ndarray of shape (1, n_features_in_)
    intercept_ : ndarray of shape (1,)
    loss_ : str
        The loss that was fitted: `loss`, or what "auto" chose.
    shape_, ridge_, floor_ : float
        As used; shape_ is nan for losses without shape.
    prevalence_ : float
        Share of the positive class in the training weight.
    floored_rows_ : int
        Training rows whose probability would be exactly 0 or 1 without the floor.
    selection_ : Selection or None
        How loss, shape and ridge were chosen, with the gain over logistic regression, measured
        with settings that were chosen on other folds.
    covariance_ : ndarray of shape (k + 1, k + 1) or None
        Of [coef_, intercept_]; None for tuned fits and with diagnostics=False.
    origin_, covariance_at_origin_ : ndarray
        Columns far from 0 are measured from here, 0 elsewhere; the covariance before it is moved
        back, which keeps digits that `covariance_` may lose.
    offset_column_ : int or None
        Position of the column that is an offset; n_features_in_ for values given to `fit`.
    rows_ : dict of str to ndarray, or None
        X, y and weight of the training rows where they were kept: see `keep_rows`.
    report_ : FitReport

    **Assumes** complete feature values, two classes, a score that is linear in the columns (add
    splines or kernels in a pipeline where it is not), and labelled rows that are a fair sample of
    the world: otherwise see `PriorCorrected`. Rows that are not labelled are not used.

    Notes
    -----
    GEV gains little over logistic regression on most data (docs/guide/rare.md): `selection_` says
    when the gain is inside the noise. `RareClassifier("gev-canonical", standardize=False, cv=0.3)`
    is the paper's procedure.

    References
    ----------
    Agarwal, Narasimhan, Kalyanakrishnan, Agarwal (2014), GEV-canonical regression for accurate
    binary class probability estimation when one class is rare, ICML.

    Examples
    --------
    >>> from scarce.datasets import make_rare
    >>> data = make_rare(2000, random_state=0)
    >>> model = RareClassifier("logistic", ridge=1.0).fit(data.X, data.y)
    >>> bool(abs(model.predict_proba(data.X)[:, 1].mean() - data.y.mean()) < 1e-10)
    True
    """

    _runtime_params = ("engine", "progress")
    _may_be_nonfinite = ("shape_",)  # nan for a loss without one

    def __init__(
        self,
        loss: str = "auto",
        *,
        shape: float | str = "auto",
        ridge: float | str = "auto",
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        standardize: bool = True,
        domain: str = "line",
        bias_reduction: str | None = None,
        floor: float | str = "auto",
        select_by: str = "brier",
        cv: Any = 5,
        shapes: Any = None,
        ridges: Any = None,
        offset: str | int | None = None,
        diagnostics: bool = True,
        weight_kind: str = "frequency",
        keep_rows: bool = True,
        tol: float = 1e-10,
        max_passes: int = 200,
        warm_start: bool = False,
        random_state: Any = None,
        engine: Engine = None,
        progress: Progress | None = None,
    ) -> None:
        self.loss = loss
        self.shape = shape
        self.ridge = ridge
        self.fit_intercept = fit_intercept
        self.penalize_intercept = penalize_intercept
        self.standardize = standardize
        self.domain = domain
        self.bias_reduction = bias_reduction
        self.floor = floor
        self.select_by = select_by
        self.cv = cv
        self.shapes = shapes
        self.ridges = ridges
        self.offset = offset
        self.diagnostics = diagnostics
        self.weight_kind = weight_kind
        self.keep_rows = keep_rows
        self.tol = tol
        self.max_passes = max_passes
        self.warm_start = warm_start
        self.random_state = random_state
        self.engine = engine
        self.progress = progress

    def fit(
        self,
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        offset: Any = None,
        groups: Any = None,
    ) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
            Complete numbers. `Rows` bring their labels and weights along.
        y : array-like of shape (n,), optional
            Two classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            Not negative; see `weight_kind`.
        offset : array-like of shape (n,), optional
            Added to each row's score. `predict_proba(X, offset=...)` needs one then too.
        groups : array-like of shape (n,), optional
            Rows of one value (a patient, a place) stay in one fold; a missing value is a group of
            its own. Given to a splitter in `cv` too.

        Returns
        -------
        self
        """
        with one_blas_thread:  # dense algebra between the passes too: the same bits on any machine
            return self._fit(X, y, sample_weight, offset, groups)

    def _fit(self, X: Any, y: Any, sample_weight: Any, offset: Any, groups: Any) -> Self:
        check_parameters(self)
        begin = time.perf_counter()
        rows, self.classes_ = rows_to_fit(
            self, X, y, sample_weight, engine=self.engine, holes=False
        )
        refuse_categories(rows, type(self).__name__)
        if len(self.classes_) > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass: "
                f"{len(self.classes_)} classes ({', '.join(map(str, self.classes_[:5]))} ...). Fit "
                "one class against the rest: sklearn.multiclass.OneVsRestClassifier."
            )
        position = offset_position(self, rows)
        if offset is not None:
            rows, position = with_offset(rows, offset, position, self.engine)
        rows, remarks = scaled_weights(rows, self.weight_kind, engine=self.engine)
        seen = look(rows, engine=self.engine, model=type(self).__name__)
        self.prevalence_ = seen.prevalence
        setting = setting_of(self, seen, position)
        self.offset_column_, given = position, rows
        origin = seen.origin if setting.intercept == "free" and not self.bias_reduction else None
        if origin is not None:  # (Firth's fit centres by itself)
            rows, seen = MovedRows(rows, origin), replace(seen, mean=seen.mean - origin)
        start = self._warm(rows.n_columns, origin)
        self.loss_, self.shape_, self.ridge_, choice = choose(self, rows, seen, setting, groups)
        self.selection_ = None if choice is None else choice.selection
        firth = None
        if self.bias_reduction is not None:
            firth, found = self._fit_firth(rows, position)
        else:
            found = regress(
                rows, seen, self._loss(), self.ridge_, setting, start=start, engine=self.engine
            )
        self.coef_ = found.coef[None, : self.n_features_in_].copy()
        self.intercept_ = found.coef[-1:].copy()
        self.floor_ = floor_of(self, self.loss_, choice)
        remarks = [*found.remarks, *remarks, *([] if choice is None else choice.remarks)]
        self._finish(rows, seen, setting, found, firth, remarks, begin)
        self._back(found.coef, np.zeros(rows.n_columns) if origin is None else origin)
        self.rows_ = inference.kept_rows(self, given, seen)
        self.__dict__.pop("_likelihood", None)
        return self

    def linear_predictor(self, X: Any, offset: Any = None) -> Array:
        """Return the score of each row: the link's inverse maps it to a probability."""
        check_is_fitted(self)
        self._require_offset(offset)
        rows = rows_to_predict(self, X, engine=self.engine, holes=False)
        params = (self.coef_[0], float(self.intercept_[0]))
        scores = rows.map(linear_scores, params, engine=self.engine)
        inference.refuse_missing(scores, type(self).__name__)
        return scores if offset is None else scores + finite_vector(offset, len(scores))

    def decision_function(self, X: Any, offset: Any = None) -> Array:
        """Return the score above the one where both classes are equally probable."""
        scores = self.linear_predictor(X, offset)
        even = (0.5 - self.floor_ * self.prevalence_) / max(1.0 - self.floor_, 1e-300)
        even = float(np.clip(even, 1e-12, 1.0 - 1e-12))
        return np.asarray(scores - self._link().forward(np.array([even])))

    def predict_proba(self, X: Any, offset: Any = None) -> Array:
        """Return the probability of each class, shape (n, 2)."""
        scores = self.linear_predictor(X, offset)
        link = self._link()
        positive = mixed(link.inverse(scores), self.floor_, self.prevalence_)
        negative = mixed(link.complement(scores), self.floor_, 1.0 - self.prevalence_)
        return np.column_stack([negative, positive])

    def predict_log_proba(self, X: Any, offset: Any = None) -> Array:
        """Return the logarithm of the probability of each class, shape (n, 2)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, offset)))

    def predict(self, X: Any, offset: Any = None) -> NDArray[Any]:
        """Return the more probable class of each row."""
        positive = self.decision_function(X, offset) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    def coef_interval(self, *, level: float = 0.9, method: str = "auto") -> Any:
        """Return intervals of [coef_, intercept_]: a record with value, low and high.

        Parameters
        ----------
        level : float
        method : {"auto", "profile", "wald"}
            Profile likelihood for logistic losses without ridge (with Firth's penalty where
            bias_reduction is set), else Wald. Survey weights give Wald intervals with robust
            standard errors.

        Raises
        ------
        UsageError
            The ridge or shape was tuned on the same rows: no interval here would be honest. Or a
            profile is asked for and the model holds no training rows: see `keep_rows`.
        """
        check_is_fitted(self)
        return inference.coef_interval(self, level, method)

    def predict_interval(
        self, X: Any, *, level: float = 0.9, method: str = "auto", offset: Any = None
    ) -> Array:
        """Return the lower and upper end of each row's probability, shape (n, 2).

        Parameters
        ----------
        X : array-like of shape (n, k)
        level : float
        method : {"auto", "profile", "laplace", "wald"}
            "profile" and "laplace" (normal prior of 2.5 per standard deviation) are for
            loss="logistic" with ridge=0 and refit the training rows; "auto" takes the profile
            there, and Wald on the score elsewhere.
        offset : array-like of shape (n,), optional
            Of the rows, where the model was fitted with one.
        """
        check_is_fitted(self)
        self._require_offset(offset)
        return inference.predict_interval(self, X, level, method, offset)

    def summary(self, *, level: float = 0.9, method: str = "auto") -> inference.Summary:
        """Return a table of coefficients with errors and intervals; print it to read."""
        check_is_fitted(self)
        return inference.summary(self, level, method)

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        return tags

    def __getstate__(self) -> dict[str, Any]:
        state = dict(super().__getstate__())
        state.pop("_likelihood", None)  # made again from the rows that were kept
        return state

    def _require_offset(self, offset: Any) -> None:
        if offset is None and self.offset_column_ == self.n_features_in_:
            raise UsageError(
                "This model was fitted with an offset for each row, and none was given for these. "
                "Pass offset= with one number per row, such as predict_proba(X, offset=values)."
            )

    def _loss(self) -> Any:
        return loss_of(self.loss_, self.shape_ if self.loss_.startswith("gev") else None)

    def _link(self) -> Link:
        link: Link = self._loss().link
        return link

    def _warm(self, k: int, origin: Array | None) -> Array | None:
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape[1] != k:
            return None
        moved = 0.0 if origin is None else self.coef_[0] @ origin
        return np.append(self.coef_[0], self.intercept_ + moved)

    def _fit_firth(self, rows: Rows, position: int | None) -> tuple[FirthFit, Regression]:
        fit = fit_firth(rows, offset=position, tol=self.tol, engine=self.engine)
        point = fit
        if self.bias_reduction == "flic":
            point = flic_intercept(rows, fit, engine=self.engine)
        return fit, inference.as_regression(point, fit, rows.n_columns, position)

    def _finish(
        self,
        rows: Rows,
        seen: Look,
        setting: Setting,
        found: Regression,
        firth: FirthFit | None,
        remarks: list[str],
        begin: float,
    ) -> None:
        """Evaluate what the reader wants to know beside the coefficients."""
        penalty = setting.penalty(self.ridge_, rows.n_columns)
        task = Task(self._loss(), penalty, found.free, seen)
        survey = self.weight_kind == "survey"
        self.covariance_: Array | None = None
        extra, objective = 0, found.objective
        if firth is not None and not survey:
            self.covariance_ = inference.firth_covariance(firth, rows.n_columns, setting)
        elif (firth is not None or self.diagnostics) and (
            self.selection_ is None and self.domain == "line"
        ):
            self.covariance_ = inference.covariance(rows, task, found.coef, survey, self.engine)
            extra += 1
        self.floored_rows_ = 0
        if self.diagnostics and self.loss_.startswith("gev"):
            ends = (task.loss.link.support, found.coef)
            self.floored_rows_ = int(rows.fold(outside, ends, engine=self.engine))
            extra += 1
        if self.diagnostics and np.isnan(objective):
            value = task.sums(rows, found.coef, False, self.engine, value=True).value
            objective = value + 0.5 * float(task.penalty @ found.coef**2)
            extra += 1
        remarks = [*remarks, *self._remarks(seen)]
        self.report_ = FitReport(
            converged=bool(found.solution.converged),
            certificate=float(found.solution.certificate),
            objective=float(objective),
            passes=int(found.solution.passes + extra + 1),
            seconds=time.perf_counter() - begin,
            warnings=tuple(remarks),
            proves=found.proves,
        )

    def _back(self, coef: Array, origin: Array) -> None:
        """Turn what was found in columns measured from an origin into the columns as given."""
        self.origin_ = origin
        self.intercept_ -= coef[:-1] @ origin
        self.covariance_at_origin_ = self.covariance_
        if self.covariance_ is not None:
            back = np.eye(len(coef))
            back[-1, :-1] = -origin
            self.covariance_ = np.asarray(back @ self.covariance_ @ back.T)

    def _remarks(self, seen: Look) -> list[str]:
        remarks = []
        if self.floored_rows_:
            remarks.append(
                f"{self.floored_rows_:,} training rows lie outside the link's support, where the "
                f"probability is 0 or 1: mixed with the prevalence at weight {self.floor_:g}."
            )
        remarks += positive_remark(self.classes_, seen.weight)
        return [*self.column_profile_.remarks, *remarks]

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        check_parameters(self)
        if not hasattr(self, "classes_"):
            return
        if not hasattr(self, "loss_"):
            raise DataError("The file is of an earlier version. Fit the model again.")
        if np.shape(self.classes_) != (2,):
            raise DataError("classes_ are not two.")
        k = self.n_features_in_
        refuse_array("coef_", getattr(self, "coef_", None), (1, k))
        refuse_array("intercept_", getattr(self, "intercept_", None), (1,))
        inference.check_kept_rows(getattr(self, "rows_", None), k)
        if not (0 <= self.floor_ <= 1 and 0 < self.prevalence_ < 1):
            raise DataError("floor_ or prevalence_ is out of range.")
        if not all(isinstance(vars(self).get(n), (int, float)) for n in ("shape_", "ridge_")):
            raise DataError("shape_ or ridge_ is not a number.")
        refuse_word("loss_", self.loss_, LOSSES)
        if not isinstance(self.offset_column_, (int, type(None))):
            raise DataError("offset_column_ is not the position of a column.")
        self._link()


def linear_scores(block: Block, params: tuple[Array, float]) -> Array:
    """Kernel of the map: the linear score of each row."""
    slopes, constant = params
    return np.asarray(block.X @ slopes + constant)


def outside(block: Block, params: tuple[tuple[float, float], Array]) -> int:
    """Kernel: training rows whose score lies at or beyond the ends of a link's support."""
    (low, high), coef = params
    X, _, _ = counting(block, True)
    scores = X @ coef[:-1] + coef[-1]
    return int(np.count_nonzero((scores <= low) | (scores >= high)))
