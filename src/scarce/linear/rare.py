"""Regression for a rare class: probabilities that can be trusted, from linear scores.

    minimise  sum_i s_i loss(y_i, intercept + x_i' coef) + ridge / 2 |coef|^2      (001 section 3.2)
    or with a Laplace prior, ridge * sum_j |coef_j|, in place of the square or beside it
    prob(x) = (1 - floor) link.inverse(score(x)) + floor * prevalence

One estimator for every method of paper 001: logistic, probit, cloglog, log-log, GEV with the log
loss and GEV with its canonical loss, and for Firth's bias reduction. `fit` is the algorithm from
top to bottom: rows, a summary of their columns (sums.py), shape and ridge (selection.py), the
coefficients (regress.py, firth.py, or joint.py with the shape), their covariance (inference.py),
the report. Undersampling and weights with their correction are `PriorCorrected`. Rows with missing
values are fitted by the marginal probability of their labels (incomplete.py). Assumes two classes.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.utils.validation import check_is_fitted, check_random_state

from scarce.checks import (
    FLAG,
    NONE,
    Constraint,
    Number,
    NumberList,
    Word,
    check_parameters,
    read_column,
    read_integer,
    read_level,
    refuse_length,
    refuse_not_finite,
    refuse_other_index,
)
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, one_blas_thread
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import (
    Argument,
    DataError,
    Phrase,
    Problem,
    ScarceError,
    UsageError,
    listed,
    refuse_array,
    refuse_word,
)
from scarce.io.inputs import (
    WEIGHT_KINDS,
    names_of,
    positive_remark,
    rows_to_fit,
    rows_to_predict,
    scaled_weights,
)
from scarce.linear import inference
from scarce.linear.diagnostics import Deferred, Diagnostics, NotComputed, outside_support
from scarce.linear.firth import FirthFit, fit_firth, flic_intercept
from scarce.linear.gev import LogLog
from scarce.linear.incomplete import (
    IncompleteFit,
    Missing,
    count_missing,
    filled,
    first_columns,
    fit_incomplete,
    front_of,
    marginal_errors,
    marginal_scores,
    missing_remark,
    moved,
    rows_outside,
    summarise_filled,
)
from scarce.linear.inference import Interval, Summary
from scarce.linear.joint import JointFit, fit_joint, joint_errors, pose
from scarce.linear.links import Link
from scarce.linear.losses import LOSSES, Loss, loss_of
from scarce.linear.newton import Objective, OptimizerResult
from scarce.linear.regress import (
    FittedRegression,
    Formulation,
    regress,
    strongest,
    unfitted_columns,
)
from scarce.linear.selection import (
    COARSE_SHAPES,
    CV,
    FLOORS,
    FURTHEST,
    PAPER_RIDGES,
    PAPER_SHAPES,
    RELATIVE_RIDGES,
    SCORES,
    STRENGTHS,
    WEAKEST,
    CrossValidation,
    Progress,
    SearchSpace,
    Selected,
    mix_with_prevalence,
    select,
)
from scarce.linear.shape import Calibration, Profile, profile_shape
from scarce.linear.sums import (
    ColumnSummary,
    ShiftedRows,
    append_rows,
    labels_and_weights,
    summarise_columns,
)
from scarce.missing.front import Front
from scarce.missing.more import missing_by_column, warn_if_more_missing
from scarce.results import Estimate, FitReport, short

DEFERRED = ("covariance_", "covariance_at_origin_", "floored_rows_", "report_", "front_")
FLIC = Phrase(
    "RareClassifier('logistic', ridge=0, bias_reduction='flic')",
    "`scarce fit --model rare --loss logistic --ridge 0 --set bias_reduction=flic`",
)
MOST_LATER = 500  # columns of complete rows whose joint distribution is kept, in model files too
MOST_KEPT = 1_000_000  # values of the training rows that a model keeps for its intervals: 8 MB


class RareClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Regression of a rare class, with the loss of your choice.

    Parameters
    ----------
    loss : {"auto", "gev-canonical", "gev-log", "logistic", "probit", "cloglog", "loglog"}
        What is minimised. "auto" is logistic regression, unless a GEV-canonical loss of one of four
        shapes predicts held-out rows better by more than two standard errors; `selection_` says
        which was taken. "gev-canonical" searches the paper's 27 shapes and is convex for every
        shape; "gev-log" is not, and is fitted from several starts.
    shape : float, "auto" or "fit"
        Of the GEV link, from -1 to 1.5; chosen on held-out rows by default. Other losses ignore it.
        "fit", for "gev-log" with a given ridge, makes it a parameter: the most probable one
        together with the coefficients, whose standard errors have its uncertainty in them.
    ridge : float or "auto"
        Strength of the penalty: ridge / 2 * |coef|^2, added to the *sum* of losses; chosen on
        held-out rows by default. 0 is no penalty.
    penalty : {"ridge", "lasso", "elastic-net"}
        A normal prior of the coefficients; a Laplace prior, ridge * sum |coef|, which leaves most
        of them exactly 0; or ridge * (l1_ratio * sum |coef| + (1 - l1_ratio) / 2 * |coef|^2).
    l1_ratio : float
        For penalty="elastic-net": above 0, at most 1.
    fit_intercept : bool
    penalize_intercept : bool
        False by default: then the mean probability of the training rows is the prevalence.
    standardize : bool
        Apply the ridge to coefficients of columns divided by their standard deviation (root mean
        square without a free intercept), so that units do not matter. False applies it in the units
        of the columns as given and chooses from the paper's seven ridges, 0.001 to 1000, which
        suits columns of similar scale only.
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
        more where the best lies at an end; with a Laplace prior nine, from what leaves no
        coefficient to a hundredth of it, and weaker ones where the best lies at that end.
        shapes="continuous" searches between the points of the
        grid too, in shape and ridge.
    offset : str or int, optional
        A column whose coefficient is 1 and not fitted, such as log exposure.
    diagnostics : bool
        Whether the covariance of an untuned fit, the number of rows that the floor changed and the
        objective can be asked for. They are computed when they are first asked for, or when the
        model is saved, copied or pickled; until then the model holds on to its training rows, by
        reference. Rows that were written into meanwhile are refused. False holds nothing.
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
        Of the folds; None is 0: fits are reproducible.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the blocks of rows; the result is the same to the last bit.
    progress : callable (done, total), optional
        Called while shape and ridge are searched, and while `shape_interval` simulates.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        Sorted; the second is the positive one.
    coef_ : ndarray of shape (1, n_features_in_)
    intercept_ : ndarray of shape (1,)
    loss_ : str
        The loss that was fitted: `loss`, or what "auto" chose.
    shape_, ridge_, floor_ : float
        As used; shape_ is nan for losses without a shape.
    prevalence_ : float
        Share of the positive class in the training weight.
    shape_error_ : float
        Standard error of a shape that was fitted without a ridge; nan otherwise.
    joint_covariance_ : ndarray of shape (k + 2, k + 2) or None
        Of [coef_, the intercept at origin_, shape_] where `shape_error_` is a number.
    floored_rows_ : int
        Training rows whose probability would be exactly 0 or 1 without the floor.
    selection_ : Selection or None
        How loss, shape and ridge were chosen, with the gain over logistic regression, measured
        with a shape and ridge that were chosen on other folds.
    covariance_ : ndarray of shape (k + 1, k + 1) or None
        Of [coef_, intercept_]; None for tuned fits and with diagnostics=False. Computed when first
        asked for, as are `floored_rows_` and the objective of `report_`: see `diagnostics`.
    origin_, covariance_at_origin_ : ndarray
        Columns far from 0 are measured from here, 0 elsewhere; the covariance there keeps digits
        that `covariance_` may lose.
    offset_column_ : int or None
        Position of the column that is an offset; n_features_in_ for values given to `fit`.
    rows_ : dict of str to ndarray, or None
        X, y and weight of the training rows where they were kept: see `keep_rows`.
    report_ : FitReport

    n_incomplete_ : int
        Labelled training rows with missing values.
    front_ : Front or None
        The joint distribution of the columns, which says what a missing value is likely to be:
        fitted without labels, by `fit` where labelled rows miss values and else when rows that do
        are predicted, or the model is saved. None with diagnostics=False or above 500 columns.

    **Assumes** two classes, a score that is linear in the columns (add splines or kernels in a
    pipeline where it is not), and labelled rows that are a fair sample of the world: otherwise see
    `PriorCorrected`. Where values are missing: at random given those seen, and columns that are
    roughly jointly normal. Rows that are not labelled only help with missing values.

    Notes
    -----
    Missing values are not imputed: the likelihood of a row is that of its label given the values
    seen, the mean over what the others may be, and so are its probabilities, in training and for
    new rows (a row without any value gets about the prevalence). Loss and shape are then chosen on
    rows filled with conditional means, the ridge on rows as they are. A pass costs m^3 for each
    pattern of m missing values.

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

    _parameters: ClassVar[dict[str, Sequence[Constraint]]] = {
        "loss": [Word("auto", *LOSSES)],
        "shape": [Number(-1.0, 1.5), Word("auto", "fit")],
        "ridge": [Number(0.0), Word("auto")],
        "penalty": [Word("ridge", "lasso", "elastic-net")],
        "l1_ratio": [Number(0.0, 1.0, open_low=True)],
        "fit_intercept": [FLAG],
        "penalize_intercept": [FLAG],
        "standardize": [FLAG],
        "domain": [Word("line", "paper")],
        "bias_reduction": [Word("firth", "flic"), NONE],
        "floor": [Number(0.0, 1.0), Word("auto")],
        "select_by": [Word(*SCORES)],
        "shapes": [NumberList(-1.0, 1.5), Word("continuous"), NONE],
        "ridges": [NumberList(0.0, open_low=True), NONE],
        "diagnostics": [FLAG],
        "weight_kind": [Word(*WEIGHT_KINDS)],
        "keep_rows": [FLAG],
        "tol": [Number(0.0, open_low=True)],
        "max_passes": [Number(1, whole=True)],
        "warm_start": [FLAG],
    }
    covariance_: Deferred[Array | None] = Deferred()
    covariance_at_origin_: Deferred[Array | None] = Deferred()
    floored_rows_: Deferred[int] = Deferred()
    report_: Deferred[FitReport] = Deferred()
    front_: Deferred[Front | None] = Deferred()
    joint_covariance_: Array | None
    ridge_: float
    _pending: tuple[Diagnostics, FitReport]  # what the attributes above are computed from
    _runtime_params = ("engine", "progress")
    _may_be_nonfinite = ("shape_", "shape_error_")  # nan for a loss without one

    def __init__(
        self,
        loss: str = "auto",
        *,
        shape: float | str = "auto",
        ridge: float | str = "auto",
        penalty: str = "ridge",
        l1_ratio: float = 0.5,
        fit_intercept: bool = True,
        penalize_intercept: bool = False,
        standardize: bool = True,
        domain: str = "line",
        bias_reduction: str | None = None,
        floor: float | str = "auto",
        select_by: str = "brier",
        cv: CV = 5,
        shapes: Sequence[float] | str | None = None,
        ridges: Sequence[float] | None = None,
        offset: str | int | None = None,
        diagnostics: bool = True,
        weight_kind: str = "frequency",
        keep_rows: bool = True,
        tol: float = 1e-10,
        max_passes: int = 200,
        warm_start: bool = False,
        random_state: int | np.random.RandomState | None = None,
        engine: Engine = None,
        progress: Progress | None = None,
    ) -> None:
        self.loss = loss
        self.shape = shape
        self.ridge = ridge
        self.penalty = penalty
        self.l1_ratio = l1_ratio
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
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        offset: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled rows.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n, k), or Rows
            Numbers, NaN where a value is missing. `Rows` bring their labels and weights along. A
            sparse matrix is never made dense as a whole; what it does not store is 0.
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
        refuse_other_index(X=X, y=y, sample_weight=sample_weight, offset=offset, groups=groups)
        with one_blas_thread:  # dense algebra between the passes too: the same bits on any machine
            return self._fit(X, y, sample_weight, offset, groups)

    def _fit(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        offset: ArrayLike | None,
        groups: ArrayLike | None,
    ) -> Self:
        begin = time.perf_counter()
        self._check_parameters()

        # The rows: two classes, numbers only, with weights and offset as asked for.
        rows, self.classes_ = rows_to_fit(
            self,
            X,
            y,
            sample_weight,
            engine=self.engine,
            allow_missing=self._takes_missing(X),
            categories="one-hot",
        )
        _refuse_many_classes(self.classes_)
        rows, self.offset_column_ = self._with_offset(rows, offset)
        rows, weight_remarks = scaled_weights(rows, self.weight_kind, engine=self.engine)
        given = rows

        # What a missing value is likely to be, where labelled rows have some.
        missing = self._missing(rows)
        front = None if missing is None else front_of(rows, self._width, self.engine)
        whole = rows if front is None else filled(rows, front)

        # Their columns; those with a mean far from 0 are measured from it.
        name = type(self).__name__
        if front is None:
            stats = summarise_columns(rows, engine=self.engine, model=name)
        else:
            stats = summarise_filled(whole, front, self.engine, name)
        self.prevalence_ = stats.prevalence
        problem = self._formulate(stats)
        origin = stats.origin if problem.intercept == "free" and not self.bias_reduction else None
        if origin is not None:  # (Firth's fit centres by itself)
            rows, stats = ShiftedRows(rows, origin), replace(stats, mean=stats.mean - origin)
            whole = ShiftedRows(whole, origin)
        near = front if front is None or origin is None else moved(front, origin)

        # Loss, shape and ridge: as given, or chosen on held-out rows.
        start = self._warm_start(rows.n_columns, origin)
        selected = self._select(rows, whole, stats, problem, groups, near)
        self.floor_ = self._resolve_floor(selected)

        # The coefficients.
        firth, incomplete, joint = None, None, None
        self.shape_error_, self.joint_covariance_ = np.nan, None
        if near is not None:
            incomplete = fit_incomplete(
                rows,
                whole,
                stats,
                near,
                self._loss(),
                self.ridge_,
                problem,
                start=start,
                engine=self.engine,
            )
            found = incomplete.found
        elif self.shape == "fit":
            joint = fit_joint(rows, stats, self.ridge_, problem, self.engine)
            found, self.shape_ = joint.found, joint.shape
        elif self.bias_reduction is None:
            found = regress(
                rows, stats, self._loss(), self.ridge_, problem, start=start, engine=self.engine
            )
        else:
            firth, found = self._fit_firth(rows)
        self.coef_ = found.coef[None, : self._width].copy()
        self.intercept_ = found.coef[-1:].copy()

        # What else is known, and what is computed from the rows once somebody asks.
        self.origin_ = np.zeros(rows.n_columns) if origin is None else origin
        self.intercept_ -= found.coef[:-1] @ self.origin_
        self.n_incomplete_ = 0 if missing is None else missing.rows
        self.rows_ = self._rows_to_keep(given, stats)
        remarks = [*found.remarks, *weight_remarks]
        remarks += [] if missing is None else [missing_remark(given.names, missing)]
        remarks += [] if selected is None else selected.remarks
        remarks += [*self.column_profile_.remarks]
        remarks += positive_remark(self.classes_, stats.weight)
        report = FitReport(
            converged=bool(found.solution.converged),
            certificate=float(found.solution.certificate),
            objective=float(found.objective),
            passes=1 + int(found.solution.passes),
            seconds=time.perf_counter() - begin,
            warnings=tuple(remarks),
            proves=found.proves,
        )
        if incomplete is not None and front is not None:
            self._finish_incomplete(given, front, incomplete, report)
            return self
        if joint is not None:
            self._finish_joint(rows, joint, report)
            return self
        objective = problem.objective(self._loss(), self.ridge_, stats)
        objective = replace(objective, free=found.free)
        self._defer(rows, objective, found, firth, report)
        return self

    # --- steps of the fit -------------------------------------------------------------------------

    def _check_parameters(self) -> None:
        check_parameters(self, self._parameters)
        firth, logistic = self.bias_reduction is not None, self.loss == "logistic"
        if firth and not (logistic and self.ridge == 0 and self.fit_intercept):
            raise UsageError(
                "{argument} needs {logistic}, {none} and {intercept}, got {loss}, {ridge} and "
                "{fitted}: Firth's penalty takes the place of a ridge in logistic regression.",
                code="firth-needs-logistic",
                argument=Argument("bias_reduction", self.bias_reduction),
                logistic=Argument("loss", "logistic"),
                none=Argument("ridge", 0),
                intercept=Argument("fit_intercept", True),
                loss=Argument("loss", self.loss),
                ridge=Argument("ridge", self.ridge),
                fitted=Argument("fit_intercept", self.fit_intercept),
            )
        if self.domain == "paper" and self.loss != "gev-canonical":
            raise UsageError(
                "{argument} is the constraint set of {canonical}, got {loss}.",
                code="domain-needs-canonical",
                argument=Argument("domain", "paper"),
                canonical=Argument("loss", "gev-canonical"),
                loss=Argument("loss", self.loss),
                line=Argument("domain", "line"),
                remedy="Pass {canonical}, or {line}.",
            )
        if self.penalty != "ridge" and (self.loss == "gev-log" or self.domain == "paper" or firth):
            raise UsageError(
                "{argument} needs a loss that is convex and finite for every score, and no other "
                "constraint: not {log}, {paper} or {firth}.",
                code="penalty-needs-convex",
                argument=Argument("penalty", self.penalty),
                log=Argument("loss", "gev-log"),
                paper=Argument("domain", "paper"),
                firth=Argument("bias_reduction"),
                canonical=Argument("loss", "gev-canonical"),
                ridge=Argument("penalty", "ridge"),
                remedy="Pass {canonical}, or {ridge}.",
            )

        if self.shape == "fit":
            self._check_shape_fit()

    def _check_shape_fit(self) -> None:
        """Refuse settings that a shape cannot be fitted with."""
        needed: dict[str, object] = {
            "loss": "gev-log",
            "fit_intercept": True,
            "penalize_intercept": False,
            "offset": None,
            "weight_kind": "frequency",
        }
        wrong = [name for name, value in needed.items() if getattr(self, name) != value]
        if wrong:
            raise UsageError(
                "A fitted shape needs {needed}, got {given}: it is a parameter of a likelihood, "
                "whose intercept is free.",
                code="shape-fit-settings",
                needed=Argument(wrong[0], needed[wrong[0]]),
                given=Argument(wrong[0], getattr(self, wrong[0])),
                auto=Argument("shape", "auto"),
                remedy="Pass {needed}; {auto} chooses a shape without.",
            )
        if self.ridge == "auto":
            raise UsageError(
                "{shape} needs a ridge that is given, got {ridge}: standard errors of a fit that "
                "was tuned on the same rows would be too small.",
                code="shape-fit-ridge",
                shape=Argument("shape", "fit"),
                ridge=Argument("ridge", "auto"),
                none=Argument("ridge", 0),
                remedy="Pass {none}, or a number.",
            )

    def _with_offset(self, rows: Rows, offset: ArrayLike | None) -> tuple[Rows, int | None]:
        """Return rows and the position of the column whose coefficient is 1."""
        names = names_of(self)
        position = None
        if self.offset in names:
            position = names.index(self.offset)
        elif isinstance(self.offset, (int, np.integer)) and 0 <= self.offset < rows.n_columns:
            position = int(self.offset)
        elif self.offset is not None:
            raise UsageError(
                "{argument} is not a column of X, which has {columns}.",
                code="unknown-column",
                argument=Argument("offset", self.offset),
                columns=listed([repr(name) for name in names], most=8),
                remedy="Name one of them, or pass fit(X, y, offset=values).",
            )
        if offset is None:
            return rows, position
        if self.shape == "fit":
            raise UsageError(
                "A fitted shape takes no offset: its unit would change with the shape.",
                code="shape-fit-offset",
                auto=Argument("shape", "auto"),
                remedy="Give a shape, or pass {auto}.",
            )
        if position is not None or not isinstance(rows, ArrayRows):
            raise UsageError(
                "fit(..., offset=values) takes an array as X, and no column as offset beside it.",
                code="offset-twice",
                column=Argument("offset", "column", call="RareClassifier"),
                remedy="For Rows name the column: {column}.",
            )
        return append_offset(rows, offset, self.engine), rows.n_columns

    def _missing(self, rows: Rows) -> Missing | None:
        """Return how much labelled rows miss, None for nothing; refuse what cannot take it."""
        if not np.any(self.column_profile_.missing > 0):
            return None
        found = Missing(*rows.fold(count_missing, None, engine=self.engine))
        if found.rows == 0:
            return None
        if self.offset_column_ is not None and found.cells[self.offset_column_] > 0:
            raise DataError(
                "The offset column {column!r} has {count:,.0f} missing values: an offset is known.",
                code="missing-offset",
                column=rows.names[self.offset_column_],
                count=found.cells[self.offset_column_],
                remedy="Leave these rows out, or do not use the column as an offset.",
            )
        if wrong := self._needs_complete():
            raise UsageError(
                "{argument} needs complete rows, and {rows:,} of {labelled:,} labelled rows have "
                "missing values (NaN).",
                code="incomplete-rows",
                argument=wrong,
                rows=found.rows,
                labelled=found.labelled,
                remedy=[
                    "Leave {argument} out: the marginal likelihood takes rows as they are.",
                    "Leave these rows out, or impute their values in a pipeline (SimpleImputer).",
                ],
            )
        return found

    def _needs_complete(self) -> Argument | None:
        """Return the setting that rows with missing values cannot be fitted with, if any."""
        if self.bias_reduction is not None:
            return Argument("bias_reduction", self.bias_reduction)
        if self.domain == "paper":
            return Argument("domain", "paper")
        if self.shape == "fit":
            return Argument("shape", "fit")
        return Argument("penalty", self.penalty) if self.penalty != "ridge" else None

    def _formulate(self, stats: ColumnSummary) -> Formulation:
        """Return the problem to solve, apart from its loss and ridge."""
        intercept = "penalised" if self.penalize_intercept else "free"
        intercept = intercept if self.fit_intercept else "none"
        # Beside a free intercept columns are as good as centred; else their size counts, not only
        # their standard deviation, and a constant column is penalised like others.
        units = stats.std if intercept == "free" else np.hypot(stats.std, stats.mean)
        return Formulation(
            intercept,
            self.offset_column_,
            self.domain,
            self.tol,
            self.max_passes,
            units if self.standardize else None,
            {"ridge": 0.0, "lasso": 1.0}.get(self.penalty, self.l1_ratio),
        )

    def _select(
        self,
        rows: Rows,
        whole: Rows,
        stats: ColumnSummary,
        problem: Formulation,
        groups: ArrayLike | None,
        front: Front | None,
    ) -> Selected | None:
        """Set loss_, shape_, ridge_ and selection_; return the choice where there was one.

        Where values are missing, loss and shape are chosen on rows filled with conditional means,
        and the ridge, with the scores that are reported, on rows as they are.
        """
        gev = self.loss == "auto" or self.loss.startswith("gev")
        space = self._search_space(rows, stats, problem, gev)
        self.selection_ = None
        self.loss_, self.shape_ = self.loss, space.shapes[0]
        self.ridge_ = space.ridges[0]
        if self.ridge != "auto" and self.loss != "auto" and not (gev and self.shape == "auto"):
            return None
        seed = self._seed()
        least = FLOORS[0] if self.floor == "auto" else float(self.floor)
        validation = CrossValidation(
            self.select_by,
            self.cv,
            floor=least if gev else 0.0,
            seed=seed,
            groups=groups,
            tune_floor=self.floor == "auto",
        )
        choose = partial(
            select,
            stats=stats,
            problem=problem,
            validation=validation,
            engine=self.engine,
            progress=self.progress,
        )
        if front is not None and len(space.shapes) > 1:
            first = choose(whole, space=space)
            space = replace(
                space, name=first.loss, shapes=(float(first.selection.shape),), continuous=False
            )
        found = choose(rows, space=space, front=front)
        self.selection_ = replace(found.selection, penalty=self.penalty)
        self.loss_, self.shape_ = found.loss, found.selection.shape
        self.ridge_ = found.selection.ridge
        return found

    def _seed(self) -> int:
        """Return random_state as a whole number; None is 0."""
        seed = 0 if self.random_state is None else self.random_state
        if not isinstance(seed, (int, np.integer)):
            seed = check_random_state(seed).randint(2**31 - 1)
        return int(seed)

    def _search_space(
        self, rows: Rows, stats: ColumnSummary, problem: Formulation, gev: bool
    ) -> SearchSpace:
        """Return what loss, shape and ridge are chosen from: one each where they are given."""
        shapes: tuple[float, ...] = (np.nan,)
        if self.shape == "fit":  # until the coefficients are fitted
            shapes = (0.0,)
        elif gev and self.shape != "auto":
            shapes = (float(self.shape),)
        elif gev and (self.shapes is None or isinstance(self.shapes, str)):
            shapes = COARSE_SHAPES if self.loss == "auto" else PAPER_SHAPES
        elif gev and self.shapes is not None:
            shapes = tuple(float(shape) for shape in self.shapes)
        furthest = None
        if self.ridge != "auto":
            ridges: tuple[float, ...] = (float(self.ridge),)
        elif self.ridges is not None:
            ridges = tuple(sorted(float(ridge) for ridge in self.ridges))
        elif problem.l1_ratio > 0:
            loss = loss_of("logistic" if gev else self.loss)
            unit = strongest(rows, problem, loss, stats, engine=self.engine)
            ridges = tuple(unit * strength for strength in STRENGTHS)
            furthest = (unit * WEAKEST, unit)
        elif not self.standardize:
            ridges = PAPER_RIDGES
        else:  # relative to the information of a standardised column at the base rate
            unit = stats.total * stats.prevalence * (1.0 - stats.prevalence)
            ridges = tuple(unit * ridge for ridge in RELATIVE_RIDGES)
            furthest = (unit * FURTHEST[0], unit * FURTHEST[1])
        continuous = isinstance(self.shapes, str)
        return SearchSpace(self.loss, shapes, ridges, furthest, continuous)

    def _resolve_floor(self, selected: Selected | None) -> float:
        """Return the weight of the prevalence in every probability."""
        if self.floor != "auto":
            return float(self.floor)
        if not self.loss_.startswith("gev"):
            return 0.0
        return FLOORS[0] if selected is None else selected.floor

    def _warm_start(self, k: int, origin: Array | None) -> Array | None:
        if not self.warm_start or not hasattr(self, "coef_") or self.coef_.shape[1] != k:
            return None
        moved = 0.0 if origin is None else self.coef_[0] @ origin
        return np.append(self.coef_[0], self.intercept_ + moved)

    def _fit_firth(self, rows: Rows) -> tuple[FirthFit, FittedRegression]:
        """Fit by Firth's penalised likelihood; return the fit and its point, intercept last."""
        offset, k = self.offset_column_, rows.n_columns
        fit = point = fit_firth(rows, offset=offset, tol=self.tol, engine=self.engine)
        if self.bias_reduction == "flic":
            point = flic_intercept(rows, fit, engine=self.engine)
        coef = np.zeros(k + 1)
        coef[fit.design.columns] = point.coef[1:]
        coef[-1] = point.coef[0]
        if offset is not None:
            coef[offset] = 1.0
        free = np.zeros(k + 1, dtype=bool)
        free[fit.design.columns[fit.design.kept]] = True
        free[-1] = True
        remarks: tuple[Problem, ...] = ()
        if fit.dropped:
            what = "Constant columns and combinations of others"
            remarks = (unfitted_columns("repeated-columns", what, list(fit.dropped)),)
        if not point.converged:
            remarks += (
                Problem(
                    "The fit did not converge: gradient norm {certificate:.2g} after {passes:,} "
                    "passes.",
                    code="not-converged",
                    certificate=point.gradient_norm,
                    passes=point.passes,
                    remedy="Check the scale of the weights.",
                ),
            )
        solution = OptimizerResult(
            coef, fit.gradient_norm, point.converged, fit.passes, fit.passes, np.zeros(0)
        )
        return fit, FittedRegression(coef, solution, -fit.objective, "gradient norm", remarks, free)

    def _rows_to_keep(self, rows: Rows, stats: ColumnSummary) -> dict[str, Array] | None:
        """Return a copy of the rows that profile and Laplace intervals go back to, or None.

        Only a logistic fit without penalty has such intervals. A copy, so that nobody can change
        it; in model files too, so that intervals are the same after `load`.
        """
        size = float(stats.count.sum()) * rows.n_columns
        if not self.keep_rows or not self._has_likelihood() or size > MOST_KEPT:
            return None
        X, y, weight = rows.fold(rows_that_count, None, engine=self.engine, merge=append_rows)
        return {"X": X, "y": y, "weight": weight}

    def _finish_incomplete(
        self, given: Rows, front: Front, fit: IncompleteFit, report: FitReport
    ) -> None:
        """Set front_, covariance_, floored_rows_ and report_ of a fit to incomplete rows.

        Nothing is left for later: the fit ends with the Hessian.
        """
        known = self.__dict__
        for name in (*DEFERRED, "_pending", "_likelihood"):
            known.pop(name, None)
        known.update(front_=front, floored_rows_=0, report_=report)
        tuned = self.selection_ is not None or not self.diagnostics
        self._set_covariance(None if tuned else fit.covariance(self.weight_kind == "survey"))
        link = self._link()
        if self.diagnostics and np.isfinite(link.support).any():
            coef = np.append(fit.found.coef[:-1], self.intercept_)
            params = (front.packed, link, coef)
            self._count_outside(given.fold(rows_outside, params, engine=self.engine))

    def _finish_joint(self, rows: Rows, fit: JointFit, report: FitReport) -> None:
        """Set what a fit of the shape knows beside its coefficients; nothing is left for later."""
        known = self.__dict__
        for name in (*DEFERRED, "_pending", "_likelihood"):
            known.pop(name, None)
        known.update(front_=None, floored_rows_=0, report_=report)
        whole = fit.covariance if self.diagnostics else None
        self._set_covariance(None if whole is None else whole[:-1, :-1])
        if whole is not None:
            self.shape_error_, self.joint_covariance_ = fit.shape_error, whole
        if self.diagnostics:
            params = (self._link().support, fit.found.coef)
            self._count_outside(rows.fold(outside_support, params, engine=self.engine))

    # --- what is computed when it is first asked for ----------------------------------------------

    def _defer(
        self,
        rows: Rows,
        objective: Objective,
        found: FittedRegression,
        firth: FirthFit | None,
        report: FitReport,
    ) -> None:
        """Set what is known of covariance_, floored_rows_ and report_; hold the rows for the rest.

        With `diagnostics=False` nothing is held, and what is not known stays unknown.
        """
        known = self.__dict__
        for name in (*DEFERRED, "_pending", "_likelihood"):
            known.pop(name, None)
        survey = self.weight_kind == "survey"
        if firth is not None:  # a gradient of its own: the rows could not be recognised by it
            self._set_covariance(
                inference.covariance(rows, objective, found.coef, True, self.engine)
                if survey
                else firth.covariance(rows.n_columns)
            )
        elif (
            self.selection_ is not None
            or self.domain == "paper"
            or not self.diagnostics
            or self._has_zeros()
        ):
            self._set_covariance(None)
        gev = self.loss_.startswith("gev")
        if not self.diagnostics or self._width > MOST_LATER:
            known["front_"] = None
        if not self.diagnostics or not gev:
            known["floored_rows_"] = 0
        if not self.diagnostics or not (gev or np.isnan(report.objective)):
            known["report_"] = report
        if not set(DEFERRED) - set(known):
            return
        size = np.abs(objective.stats.mean + self.origin_)
        own = self.rows_ is not None
        if own:  # a copy that nobody else holds
            rows = ShiftedRows(self._training_rows(), self.origin_)
            objective = replace(objective, stats=replace(objective.stats, unlabelled=0))
        plain = found.proves == "gradient norm"
        # in the span of the rows, where wide problems are solved, a gradient has other entries
        wide = np.sqrt(max(1.0, rows.n_columns / len(rows)) * rows.n_columns)
        diagnostics = Diagnostics(
            rows=rows,
            objective=objective,
            coef=found.coef,
            certificate=wide * found.solution.certificate if plain else np.nan,
            value=report.objective,
            support=self._link().support,
            size=size,
            survey=survey,
            own=own,
        )
        self._pending = diagnostics, report

    def _deferred(self, name: str) -> Any:
        """Compute an attribute that was left for later, keep it and return it."""
        pending = vars(self).get("_pending")
        if pending is None:
            raise NotComputed(
                "{attribute} is computed from the training rows, and they were gone or had changed "
                "when this model was saved or copied.",
                code="rows-gone",
                attribute=name,
                remedy="Fit the model again.",
            )
        diagnostics, report = pending
        if name in ("covariance_", "covariance_at_origin_"):
            self._set_covariance(diagnostics.covariance(self.engine))
        elif name == "front_":
            near = diagnostics.front(self.engine)
            origin = self.origin_[: self._width]
            self.__dict__["front_"] = moved(first_columns(near, len(origin)), -origin)
        elif name == "report_":
            self._set_report(diagnostics, report)
        else:
            self._set_counts(diagnostics, report)
        if not set(DEFERRED) - set(vars(self)):
            del self._pending
        return getattr(self, name)

    def _set_covariance(self, at_origin: Array | None) -> None:
        """Set the covariance, from columns measured from `origin_` to columns as given."""
        given = at_origin
        if at_origin is not None:
            back = np.eye(len(at_origin))
            back[-1, :-1] = -self.origin_
            given = np.asarray(back @ at_origin @ back.T)
        self.__dict__.update(covariance_=given, covariance_at_origin_=at_origin)

    def _set_counts(self, diagnostics: Diagnostics, report: FitReport) -> None:
        """Set floored_rows_, and report_ with the objective and the remark about those rows."""
        found = diagnostics.count(self.engine)
        value = found.value if np.isnan(report.objective) else report.objective
        self.__dict__["report_"] = replace(report, objective=value)
        self._count_outside(found.outside)

    def _count_outside(self, outside: int) -> None:
        """Set floored_rows_, with a remark in report_ where there are such rows."""
        self.__dict__["floored_rows_"] = int(outside)
        if outside:
            remark = Problem(
                "{count:,} training rows lie outside the link's support, where the probability is "
                "0 or 1: it is mixed with the prevalence at weight {floor:g}.",
                code="floored-rows",
                count=int(outside),
                floor=self.floor_,
            )
            report = self.__dict__["report_"]
            self.__dict__["report_"] = replace(report, warnings=(*report.warnings, remark))

    def _set_report(self, diagnostics: Diagnostics, report: FitReport) -> None:
        """Set report_: whole where the rows are still those of the fit, else with the reason."""
        try:
            self._set_counts(diagnostics, report)
        except ScarceError as error:
            remark = Problem(
                "The objective and the rows outside the link's support are unknown: {reason}",
                code="rows-changed",
                reason=str(error),
            )
            self.__dict__["report_"] = replace(report, warnings=(*report.warnings, remark))

    def _before_save(self) -> None:
        """Compute what was left for later: neither files nor pickles hold the rows for it."""
        for name in DEFERRED:
            if "_pending" in vars(self) and name not in vars(self):
                with suppress(ScarceError):  # refused then too, when somebody asks
                    getattr(self, name)

    # --- predictions ------------------------------------------------------------------------------

    def linear_predictor(self, X: ArrayLike | Rows, offset: ArrayLike | None = None) -> Array:
        """Return the score of each row: the link's inverse maps it to a probability."""
        refuse_other_index(X=X, offset=offset)
        check_is_fitted(self)
        self._require_offset(offset)
        rows = self._rows_to_predict(X)
        slopes, constant = self.coef_[0], float(self.intercept_[0])
        scores = rows.map(linear_scores, (slopes, constant), engine=self.engine)
        if np.isnan(scores).any():
            front = self._front_to_predict(rows)
            if offset is not None:
                rows, slopes = with_column(rows, offset), np.append(slopes, 1.0)
            params = (front.packed, slopes, constant, self._link())
            return rows.map(marginal_scores, params, engine=self.engine)
        return scores if offset is None else scores + read_offset(offset, len(scores))

    def decision_function(self, X: ArrayLike | Rows, offset: ArrayLike | None = None) -> Array:
        """Return the score above the one where both classes are equally probable."""
        scores = self.linear_predictor(X, offset)
        even = (0.5 - self.floor_ * self.prevalence_) / max(1.0 - self.floor_, 1e-300)
        even = float(np.clip(even, 1e-12, 1.0 - 1e-12))
        return np.asarray(scores - self._link().forward(np.array([even])))

    def predict_proba(self, X: ArrayLike | Rows, offset: ArrayLike | None = None) -> Array:
        """Return the probability of each class, shape (n, 2)."""
        scores = self.linear_predictor(X, offset)
        link = self._link()
        positive = mix_with_prevalence(link.inverse(scores), self.floor_, self.prevalence_)
        negative = mix_with_prevalence(link.complement(scores), self.floor_, 1.0 - self.prevalence_)
        return np.column_stack([negative, positive])

    def predict_log_proba(self, X: ArrayLike | Rows, offset: ArrayLike | None = None) -> Array:
        """Return the logarithm of the probability of each class, shape (n, 2)."""
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.predict_proba(X, offset)))

    def predict(self, X: ArrayLike | Rows, offset: ArrayLike | None = None) -> NDArray[Any]:
        """Return the more probable class of each row."""
        positive = self.decision_function(X, offset) > 0
        return np.asarray(self.classes_[positive.astype(int)])

    @property
    def _width(self) -> int:
        """How many columns have a coefficient: more than were given where categories are."""
        return len(names_of(self))

    def _loss(self) -> Loss:
        return loss_of(self.loss_, self.shape_ if self.loss_.startswith("gev") else None)

    def _link(self) -> Link:
        return self._loss().link

    def _require_offset(self, offset: ArrayLike | None) -> None:
        if offset is None and self.offset_column_ == self._width:
            raise UsageError(
                "This model was fitted with an offset for each row, and these rows have none.",
                code="offset-needed",
                offset=Argument("offset", ..., call="predict_proba"),
                remedy="Pass one number per row: {offset}.",
            )

    def _rows_to_predict(self, X: ArrayLike | Rows) -> Rows:
        return rows_to_predict(self, X, engine=self.engine, allow_missing=self._takes_missing(X))

    def _takes_missing(self, X: ArrayLike | Rows) -> bool:
        """Whether rows are read with missing values; an array's are refused here, by setting."""
        return self._needs_complete() is None or isinstance(X, np.ndarray)

    def _front_to_predict(self, rows: Rows) -> Front:
        """Return the front for rows with missing values; refuse where there is none."""
        if wrong := self._needs_complete():
            raise UsageError(
                "These rows have missing values (NaN), and {argument} is for complete rows.",
                code="incomplete-rows",
                argument=wrong,
                remedy="Leave them out, or impute the values in a pipeline (SimpleImputer).",
            )
        front = self.front_
        cells = rows.fold(missing_by_column, None, engine=self.engine)
        self._refuse_missing_offset(cells)
        if front is None:
            raise DataError(
                "{cells:,.0f} values are missing in these rows, and this model was fitted to "
                "complete rows and keeps no distribution of its columns.",
                code="missing-value",
                cells=float(cells.sum()),
                diagnostics=Argument("diagnostics", True),
                most=MOST_LATER,
                remedy=[
                    "Fit it again with {diagnostics} (up to {most:,} columns).",
                    "Impute the values, or leave the rows out.",
                ],
            )
        before = float(np.mean(self.column_profile_.missing))
        warn_if_more_missing(cells, len(rows), before)
        return front

    def _refuse_missing_offset(self, cells: Array) -> None:
        column = self.offset_column_
        if column is not None and column < len(cells) and cells[column] > 0:
            raise DataError(
                "The offset column {column!r} has {count:,.0f} missing values: an offset is known.",
                code="missing-offset",
                column=str(names_of(self)[column]),
                count=float(cells[column]),
                remedy="Leave these rows out, or do not use the column as an offset.",
            )

    # --- intervals --------------------------------------------------------------------------------

    def coef_interval(self, *, level: float = 0.9, method: str = "auto") -> Interval:
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
        level, method = self._interval_method(level, method, ("auto", "profile", "wald"))
        if method == "wald":
            value = np.append(self.coef_[0], self.intercept_)
            return inference.wald_coefficients(value, self._standard_errors(), level)
        fit, rows = self._likelihood_fit(method), self._training_rows()
        found = inference.profile_coefficients(rows, fit, self._width, level, self.engine)
        if self.bias_reduction == "flic":  # the ends are those of Firth's intercept
            np.asarray(found.value)[-1] = self.intercept_[0]
        return found

    def shape_interval(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        level: float = 0.9,
        simulations: int = 50,
    ) -> Estimate:
        """Return the best shape of the GEV link and its interval, from rows as `fit` takes them.

        By a likelihood ratio without a penalty, for loss="gev-log"; shapes from -1 to 1.5. An end
        of the interval there is only where the search ends, and a value of nan says that no shape
        was ruled out. The ratio is compared with its mean over simulated tables: with the quantile
        of chi-square alone 90 % intervals held the true shape in as few as .53 of tables
        (docs/guide/rare.md).

        Parameters
        ----------
        X, y, sample_weight
            As for `fit`: complete rows that fit in memory, an intercept and no offset.
        level : float
        simulations : int
            Tables drawn at each of the two to five shapes that are needed, from `random_state`.
            Each costs about two fits: 1 s in all for 500 rows, 10 s for 15,000. 0 is the plain
            profile likelihood, too narrow with less than some 100 events per column.

        **Assumes** a score that is linear in the columns: a curved effect looks like a shape.

        Examples
        --------
        >>> from scarce.datasets import make_rare
        >>> data = make_rare(3000, prevalence=0.2, random_state=0)
        >>> found = RareClassifier("gev-log").shape_interval(data.X, data.y)
        >>> found.low < found.value < found.high
        True
        """
        if self.loss != "gev-log" or self.weight_kind == "survey":
            raise UsageError(
                "An interval for the shape needs a likelihood: {log} and {frequency}, got {loss} "
                "and {kind}. The canonical loss is none, and its profile has no coverage.",
                code="no-likelihood",
                log=Argument("loss", "gev-log"),
                frequency=Argument("weight_kind", "frequency"),
                loss=Argument("loss", self.loss),
                kind=Argument("weight_kind", self.weight_kind),
                remedy="Pass {log}.",
            )
        level = read_level(level)
        model = clone(self).set_params(shape="fit", ridge=0, tol=max(self.tol, 1e-8))
        simulations = read_integer(simulations, "simulations", least=0)
        with one_blas_thread:
            rows, stats, problem = model._pose(X, y, sample_weight)
            joint, _, near = pose(rows, stats, 0.0, problem, self.engine)
            profile = Profile(joint, near)
            calibration = None
            if simulations:
                calibration = Calibration(profile, simulations, self._seed(), self.progress)
            return profile_shape(profile, level, calibration)

    def _pose(
        self, X: ArrayLike | Rows, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Rows, ColumnSummary, Formulation]:
        """Return complete rows, the summary of their columns and the problem, as `fit` makes them.

        Columns with a mean far from 0 are measured from it.
        """
        self._check_parameters()
        rows, classes = rows_to_fit(
            self,
            X,
            y,
            sample_weight,
            engine=self.engine,
            allow_missing=self._takes_missing(X),
            categories="one-hot",
        )
        _refuse_many_classes(classes)
        rows, self.offset_column_ = self._with_offset(rows, None)
        self._missing(rows)
        stats = summarise_columns(rows, engine=self.engine, model=type(self).__name__)
        if stats.origin is not None:
            rows, stats = (
                ShiftedRows(rows, stats.origin),
                replace(stats, mean=stats.mean - stats.origin),
            )
        return rows, stats, self._formulate(stats)

    def predict_interval(
        self,
        X: ArrayLike | Rows,
        *,
        level: float = 0.9,
        method: str = "auto",
        offset: ArrayLike | None = None,
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
        refuse_other_index(X=X, offset=offset)
        check_is_fitted(self)
        self._require_offset(offset)
        words = ("auto", "profile", "laplace", "wald")
        level, method = self._interval_method(level, method, words)
        if method == "wald":
            ends = self._wald_ends(X, offset, level)
        elif self.offset_column_ is not None:
            raise UsageError(
                "{argument} does not take offsets yet.",
                code="offset-not-supported",
                argument=Argument("method", method),
                wald=Argument("method", "wald"),
                remedy="Pass {wald} for this model.",
            )
        else:
            fit = self._likelihood_fit(method)
            rows = self._rows_to_predict(X)
            if rows.fold(missing_by_column, None, engine=self.engine).any():
                raise UsageError(
                    "Rows with missing values have Wald intervals only.",
                    code="incomplete-interval",
                    wald=Argument("method", "wald"),
                    remedy="Pass {wald}.",
                )
            points = np.concatenate([block.X for block in rows.blocks()])
            found = (
                inference.laplace_interval(fit, x=points, level=level)
                if method == "laplace"
                else inference.profile_interval(
                    self._training_rows(), fit, x=points, level=level, engine=self.engine
                )
            )
            ends = [expit(np.atleast_1d(end)) for end in (found.low, found.high)]
        mixed = [mix_with_prevalence(end, self.floor_, self.prevalence_) for end in ends]
        return np.column_stack(mixed)

    def summary(self, *, level: float = 0.9, method: str = "auto") -> Summary:
        """Return a table of coefficients with errors and intervals; print it to read."""
        check_is_fitted(self)
        names = names_of(self)
        value = np.append(self.coef_[0], self.intercept_)
        columns: dict[str, list[str] | list[float]] = {
            "term": [*map(str, names), "intercept"],
            "coef": value.tolist(),
        }
        report = str(replace(self.report_, warnings=()))
        notes = [report, *(_prefixed("warning: ", one) for one in self.report_.warnings)]
        if self.floor_ > 0:
            count = getattr(self, "floored_rows_", None)  # None: the rows have changed
            needed = "" if count is None else f" ({count:,} training rows needed it)"
            notes.append(
                f"floor: probabilities are mixed with the prevalence {short(self.prevalence_)} at "
                f"weight {self.floor_:g}{needed}"
            )
        if self.selection_ is not None:
            notes.append(str(self.selection_))
            notes.append(
                "no standard errors: shape or ridge was chosen on these rows, and intervals around "
                "a tuned fit cover less than they promise"
            )
        elif self._has_zeros():
            notes.append("no standard errors: some coefficients are exactly 0, the others shrunk")
        elif self.shape == "fit" and getattr(self, "joint_covariance_", None) is None:
            notes.append(
                "no standard errors: the shape was fitted with a ridge, or the rows do not tell "
                "it, or diagnostics=False"
            )
        elif not hasattr(self, "covariance_"):
            notes.append("no standard errors: the training rows are gone or have changed")
        elif self.covariance_ is None and self._has_no_maximum():
            notes.append("no standard errors: the likelihood has no maximum where the fit ended")
        elif self.covariance_ is not None:
            kept = getattr(self, "rows_", None)
            if method == "auto" and self._has_likelihood() and kept is None:
                method = "wald"
                notes.append("no profile intervals: the model holds no training rows (keep_rows)")
            found = self.coef_interval(level=level, method=method)
            columns |= inference.wald_columns(value, self._standard_errors())
            columns["low"] = np.asarray(found.low).tolist()
            columns["high"] = np.asarray(found.high).tolist()
            if kept is not None:
                n = len(kept["y"])
                notes.append(f"kept for intervals: {n:,} training rows, in files too (keep_rows)")
            if self.shape == "fit":
                notes.append(
                    f"shape {self.shape_:.3g} (error {self.shape_error_:.2g}) was fitted with the "
                    "coefficients; their errors have its uncertainty in them"
                )
            robust = ", robust errors for survey weights" if self.weight_kind == "survey" else ""
            notes.append(
                f"low, high: {100 * level:g} % {found.method} intervals; error, z, p: Wald{robust}"
            )
        return Summary(self._title(), columns, tuple(notes))

    def _title(self) -> str:
        if self.bias_reduction is not None:
            return f"logistic, bias reduction: {self.bias_reduction}"
        shape = "" if np.isnan(self.shape_) else f", shape {self.shape_:g}"
        how = self.penalty
        if self.penalty == "elastic-net":
            how += f" (l1_ratio {self.l1_ratio:g})"
        if self.standardize and self.ridge_ > 0:
            how += " on standardised columns"
        return f"{self.loss_}{shape}, {how} {self.ridge_:.4g}"

    def _interval_method(
        self, level: float, method: str, words: Sequence[str]
    ) -> tuple[float, str]:
        """Return level and method of an interval; refuse intervals of a tuned fit."""
        if self.selection_ is not None:
            raise self._tuned()
        if self._has_zeros():
            raise UsageError(
                "{argument} leaves some coefficients exactly 0 and pulls the others towards 0: no "
                "normal distribution surrounds them, and standard errors would be too small.",
                code="no-covariance",
                argument=Argument("penalty", self.penalty),
                untuned=FLIC,
                remedy="Fit {untuned} for intervals, on columns not chosen by these rows.",
            )
        refuse_word("method", method, words)
        if self.shape == "fit" and getattr(self, "joint_covariance_", None) is None:
            raise UsageError(
                "No standard errors surround this fit: with {shape} they need {none}, "
                "{diagnostics} and a best shape inside its range, got ridge {ridge:g} and shape "
                "{found:.3g}.",
                code="no-covariance",
                shape=Argument("shape", "fit"),
                none=Argument("ridge", 0),
                diagnostics=Argument("diagnostics", True),
                ridge=self.ridge_,
                found=self.shape_,
                remedy="Fit that, or give a shape; shape_interval says which the rows allow.",
            )
        if method == "auto":
            method = "profile" if self._has_likelihood() else "wald"
        return read_level(level), method

    def _tuned(self) -> UsageError:
        """Return the error for intervals of a fit that was tuned on the same rows."""
        chosen = [f"loss {self.loss_!r}"] if self.loss == "auto" else []
        for name in ("shape", "ridge"):
            value = getattr(self, f"{name}_")
            if getattr(self, name) == "auto" and not np.isnan(value):
                chosen.append(f"{name} {value:.4g}")
        return UsageError(
            "{chosen} {were} chosen on these same rows, and intervals around a tuned fit cover far "
            "less than they promise (.73 to .84 instead of .90 in simulations).",
            code="tuned-fit",
            chosen=listed(chosen),
            were="was" if len(chosen) == 1 else "were",
            untuned=FLIC,
            remedy="Fit {untuned} on the same rows: its intervals keep what they promise.",
        )

    def _has_zeros(self) -> bool:
        """Whether a Laplace prior may have left coefficients exactly 0."""
        return bool(self.penalty != "ridge" and self.ridge_ > 0)

    def _has_likelihood(self) -> bool:
        """Whether profile and Laplace intervals exist for this fit."""
        plain = self.loss_ == "logistic" and self.ridge_ == 0 and self.fit_intercept
        plain = plain and getattr(self, "n_incomplete_", 0) == 0
        return bool(plain and self.selection_ is None and self.weight_kind == "frequency")

    def _training_rows(self) -> Rows:
        kept = getattr(self, "rows_", None)
        if kept is None:
            raise UsageError(
                "Profile and Laplace intervals go back to the training rows, and this model holds "
                "none: they are kept with {keep} and up to {most:,} values.",
                code="rows-not-kept",
                keep=Argument("keep_rows", True),
                most=MOST_KEPT,
                wald=Argument("method", "wald"),
                remedy=["Fit it again with {keep}.", "Or pass {wald}."],
            )
        return ArrayRows(kept["X"], kept["y"], weight=kept["weight"], classes=[0, 1], check=False)

    def _likelihood_fit(self, method: str) -> FirthFit:
        """Return the logistic fit that an interval of this method is built around."""
        if not self._has_likelihood():
            but = ""
            if self.weight_kind == "survey":
                but = " and survey weights, which have no likelihood"
            elif self.n_incomplete_:
                but = ", fitted to rows with missing values: their likelihood is marginal"
            raise UsageError(
                "{argument} needs {logistic} with {none} and an intercept; this is {loss!r} with "
                "ridge {ridge:g}{but}.",
                code="no-likelihood",
                argument=Argument("method", method),
                logistic=Argument("loss", "logistic"),
                none=Argument("ridge", 0),
                loss=self.loss_,
                ridge=self.ridge_,
                but=but,
                wald=Argument("method", "wald"),
                remedy="Pass {wald}, or fit that.",
            )
        penalty = "normal" if method == "laplace" else "firth" if self.bias_reduction else "none"
        known: dict[str, FirthFit] = self.__dict__.setdefault("_likelihood", {})
        if penalty not in known:
            known[penalty] = fit_firth(
                self._training_rows(),
                offset=self.offset_column_,
                penalty=penalty,
                tol=self.tol,
                engine=self.engine,
            )
        return known[penalty]

    def _covariance(self) -> Array:
        if self.covariance_ is None and self._has_no_maximum():
            raise UsageError(
                "No standard errors surround this fit: its marginal likelihood has no maximum "
                "where it ended (not converged), as where columns separate the classes.",
                code="no-covariance",
                ridge=Argument("ridge", 1.0),
                remedy="Fit with {ridge}, or leave out the column whose coefficient is largest.",
            )
        if self.covariance_ is None:
            raise UsageError(
                "This fit holds no covariance.",
                code="no-covariance",
                diagnostics=Argument("diagnostics", True),
                line=Argument("domain", "line"),
                remedy="Fit with {diagnostics} and {line}.",
            )
        return self.covariance_

    def _has_no_maximum(self) -> bool:
        """Whether a fit to rows with missing values ended where the likelihood still rises."""
        return bool(self.diagnostics and self.n_incomplete_ and not self.report_.converged)

    def _standard_errors(self) -> Array:
        own = np.append(np.arange(self._width), -1)
        return np.asarray(np.sqrt(np.diag(self._covariance()))[own])

    def _wald_ends(
        self, X: ArrayLike | Rows, offset: ArrayLike | None, level: float
    ) -> list[Array]:
        """Return both ends of each row's probability, before the floor."""
        rows = self._rows_to_predict(X)
        k, link = self._width, self._link()
        whole = getattr(self, "joint_covariance_", None)
        if whole is not None:  # on the scale of -log(-log prob), whatever the shape
            if rows.fold(missing_by_column, None, engine=self.engine).any():
                self._front_to_predict(rows)  # refuses
            fitted = (whole, self.origin_, self.coef_[0], float(self.intercept_[0]), self.shape_)
            bent, error = rows.map(joint_errors, fitted, engine=self.engine).T
            wide = ndtri(0.5 + level / 2) * error
            return [LogLog().inverse(bent - wide), LogLog().inverse(bent + wide)]
        size = len(self._covariance())
        assert self.covariance_at_origin_ is not None
        slopes, constant = self.coef_[0], float(self.intercept_[0])
        if rows.fold(missing_by_column, None, engine=self.engine).any():
            front = self._front_to_predict(rows)
            if offset is not None:
                rows, slopes = with_column(rows, offset), np.append(slopes, 1.0)
            origin = self.origin_[: len(slopes)]
            incomplete = (front.packed, slopes, constant, link, self.covariance_at_origin_, origin)
            score, error = rows.map(marginal_errors, incomplete, engine=self.engine).T
        else:
            own = np.append(np.arange(k), size - 1)
            matrix = self.covariance_at_origin_[np.ix_(own, own)]
            params = (matrix, self.origin_[:k], slopes, constant)
            score, error = rows.map(inference.score_errors, params, engine=self.engine).T
            score = score if offset is None else score + read_offset(offset, len(score))
        wide = ndtri(0.5 + level / 2) * error
        return [link.inverse(score - wide), link.inverse(score + wide)]

    # --- scikit-learn and model files -------------------------------------------------------------

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = not self._needs_complete()
        tags.input_tags.sparse = True
        return tags

    def __getstate__(self) -> dict[str, Any]:
        self._before_save()
        state = dict(super().__getstate__())
        state.pop("_likelihood", None)  # made again from the rows that were kept
        state.pop("_pending", None)
        return state

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        self._check_parameters()
        if not hasattr(self, "classes_"):
            return
        if not hasattr(self, "loss_"):
            raise DataError(
                "The file is of an earlier version.",
                code="old-model",
                remedy="Fit the model again.",
            )
        k = self._width
        self.n_incomplete_ = getattr(self, "n_incomplete_", 0)  # 0 in files of earlier versions
        refuse_array("coef_", getattr(self, "coef_", None), (1, k))
        refuse_array("intercept_", getattr(self, "intercept_", None), (1,))
        refuse_word("loss_", self.loss_, LOSSES)
        sound = {
            "classes_": np.shape(self.classes_) == (2,),
            "rows_": _are_training_rows(getattr(self, "rows_", None), k),
            "floor_": 0 <= self.floor_ <= 1,
            "prevalence_": 0 < self.prevalence_ < 1,
            "shape_": isinstance(vars(self).get("shape_"), (int, float)),
            "ridge_": isinstance(vars(self).get("ridge_"), (int, float)),
            "offset_column_": isinstance(self.offset_column_, (int, type(None))),
            "front_": _is_front(vars(self).get("front_"), k),
            "joint_covariance_": _is_covariance(vars(self).get("joint_covariance_"), k + 2),
        }
        wrong = [name for name, fine in sound.items() if not fine]
        if wrong:
            raise DataError(
                "{attribute} has a value that no fit gives.",
                code="damaged-model",
                attribute=wrong[0],
            )
        self._link()


def _prefixed(prefix: str, remark: str) -> str:
    """Return a remark after a prefix, as a problem where it is one."""
    if not isinstance(remark, Problem):
        return prefix + remark
    return remark.amended(prefix)


def _refuse_many_classes(classes: NDArray[Any]) -> None:
    if len(classes) > 2:
        raise DataError(
            "Only binary classification is supported. The type of the target is multiclass: "
            "{count} classes ({classes}).",
            code="too-many-classes",
            count=len(classes),
            classes=listed([str(one) for one in classes], most=5),
            remedy="Fit one class against the rest: sklearn.multiclass.OneVsRestClassifier.",
        )


def _are_training_rows(kept: object, n_columns: int) -> bool:
    """Whether the rows in a model file are training rows of a logistic regression, or None."""
    if not isinstance(kept, dict) or set(kept) != {"X", "y", "weight"}:
        return kept is None
    X, y, weight = (np.asarray(kept[name]) for name in ("X", "y", "weight"))
    return (
        X.ndim == 2
        and X.shape[1] in (n_columns, n_columns + 1)
        and y.shape == weight.shape == (len(X),)
        and all(bool(np.isfinite(part).all()) for part in (X, y, weight))
        and set(np.unique(y)) == {0.0, 1.0}
        and bool((weight > 0).all())
    )


def _is_front(front: object, n_columns: int) -> bool:
    return front is None or (isinstance(front, Front) and front.n_columns == n_columns)


def _is_covariance(matrix: object, size: int) -> bool:
    return matrix is None or np.shape(np.asarray(matrix)) == (size, size)


def read_offset(offset: ArrayLike, n_rows: int) -> Array:
    """Return an offset as one finite number per row."""
    refuse_length(offset, n_rows, "offset")
    values = read_column(offset, "offset")
    refuse_not_finite(values, "offset")
    return values


def append_offset(rows: ArrayRows, offset: ArrayLike, engine: Engine) -> ArrayRows:
    """Return rows with the offset as their last column."""
    blocks = list(rows.blocks())
    X = np.concatenate([block.X for block in blocks])
    weights = [block.weight for block in blocks if block.weight is not None]
    return ArrayRows(
        np.column_stack([X, read_offset(offset, len(rows))]),
        np.concatenate([block.y for block in blocks if block.y is not None]),
        weight=np.concatenate(weights) if weights else None,
        names=[*rows.names, "offset"],
        classes=rows.classes,
        engine=engine,
        check=False,
    )


def with_column(rows: Rows, values: ArrayLike) -> ArrayRows:
    """Return rows in memory with one more column at the end."""
    X = np.concatenate([block.X for block in rows.blocks()])
    return ArrayRows(np.column_stack([X, read_offset(values, len(X))]), check=False)


def linear_scores(block: Block, params: tuple[Array, float]) -> Array:
    """Kernel of the map: the linear score of each row."""
    slopes, constant = params
    return np.asarray(block.matrix @ slopes + constant)


def rows_that_count(block: Block, _: None) -> tuple[Array, Array, Array]:
    """Kernel: copies of the labelled rows with weight above 0."""
    y, weight = labels_and_weights(block, True)
    assert weight is not None
    kept = np.flatnonzero(weight > 0)
    return block.X[kept], y[kept], weight[kept]
