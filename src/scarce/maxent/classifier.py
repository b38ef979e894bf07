"""Maxent: class probabilities when labels are revealed at an unknown rate and values are missing.

    tilt_y(x) = sum_j seen_j(x) [ coef_j (f_j(x) - target_j) + half_width_j |coef_j| ]
    p(y given x) = softmax_y( log default_y + tilt_y(x) )                 (000 eq 8, 9; 004 eq 12)

The pool of all rows says how common each kind of row is. The labelled rows of a class give its mean
features, up to boxes. Of all distributions that fit, the least committed is taken: per class
(objective "entropy", 000 eq 5-8) or for the probabilities of all classes together ("robust", 000 eq
9-10). A missing value takes part neither in means nor in tilts, and is never filled in; as a
factor of a product with a value that is seen it is what that value and the others lead to expect.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import ArrayLike, DTypeLike, NDArray
from scipy.special import expit, log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import _check_sample_weight, _num_samples, check_is_fitted

from scarce.checks import (
    FLAG,
    NONE,
    Constraint,
    Kind,
    Number,
    NumberList,
    Word,
    check_parameters,
    read_integer,
    read_seed,
    read_weight,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.engine.executors import Engine, Progress, one_blas_thread
from scarce.engine.rows import Rows
from scarce.errors import (
    Argument,
    DataError,
    Phrase,
    Problem,
    UsageError,
    inconsistent_model,
    listed,
    refuse_array,
    refuse_word,
    suggest,
    warn_user,
)
from scarce.io.inputs import (
    WEIGHT_KINDS,
    label_codes,
    rows_to_fit,
    rows_to_predict,
    weight_factor,
)
from scarce.io.profile import doubtful_columns
from scarce.io.schema import Column, unmasked_weights
from scarce.maxent.axes import MOST_KNOTS, Axis
from scarce.maxent.feature_map import FeatureMap, Lines
from scarce.maxent.fit import (
    ClassShares,
    FitData,
    FitSettings,
    Solved,
    class_remarks,
    explain_infeasible,
    feasible_width,
    outlier_remark,
    prepare,
    solve,
    some,
)
from scarce.maxent.response import (
    Importance,
    ResponseCurve,
    TiltModel,
    block_coverage,
    block_tilts,
)
from scarce.maxent.shares import (
    bounds_of,
    entropy_shares,
    settle_classes,
    shares_of,
    within_bounds,
)
from scarce.maxent.solver import InfeasibleBoxes
from scarce.maxent.widths import WIDTHS, Folds, LabelledRows, choose_width, make_folds
from scarce.missing.front import Front
from scarce.results import FitReport

FLOATS = [np.float64, np.float32]

Prevalence = float | Mapping[Any, float]
Bounds = tuple[float, float] | Mapping[Any, tuple[float, float]]
Features = Any  # array-like of shape (n, k), a table, or Rows


class MaxentClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Maxent for labels revealed at an unknown, class-dependent rate, with missing values.

    Fits presences and unlabelled rows, or several classes each labelled at its own unknown rate.
    All rows, labelled or not, are the pool.

    Parameters
    ----------
    objective : {"auto", "entropy", "robust"}
        "entropy": a distribution for each labelled class, with class shares by their entropy.
        "robust": class-robust logistic regression, all classes at once. "auto": "robust" where one
        class alone is labelled and its `prevalence` is given, because only then do probabilities
        average to it; else "entropy".
    default_prevalence : "auto", float, dict or pandas Series
        Prevalence of the last class (the labelled one, if only one is) to assume by default:
        typical rows of a class get this probability. More than two classes need a dict of shares,
        or 0.5, which favours none of them. "auto": the observed shares if every row is labelled;
        else 0.5, and the report says so.
    features : "auto", str or list
        Letters out of "lqpht": linear, quadratic, product, hinge, threshold; indicators of
        categories are always included. "auto" by number of labelled rows: below 10 "l", below 15
        "lq", below 80 "lqh", else "lqph" (no products with more than 50 columns). A list may hold
        families of your own.
    products : {"expected", "seen"}
        What a product is where one of its factors is missing: "expected", the other one times what
        is expected of the first, given all numbers seen in the row; "seen", missing too (the rule
        of 004 for every feature). The same where no value is missing. Expectations are learnt from
        all rows, or from 20,000 chosen at random of more: then the fit depends a little on the
        order of the rows.
    width_scale : float or "auto"
        Half width of the boxes in standard errors of the labelled means (with a floor for features
        without variation). "auto" tries `width_scales` on folds of the labelled rows.
    width_scales : sequence of float, optional
        What "auto" chooses from; by default 20 widths from 5 to 0.25.
    spread : {"shrunk", "labelled", "seen"}
        Rows of the standard deviation: the class's labelled rows (000), all rows that see the
        feature (004), or the labelled rows' shrunk towards that of all rows and inflated by
        sqrt(1 + 4 / n), which keeps few labelled rows from making the model certain.
    widths : {"spread", "maxent"}
        One rule for every feature, or Maxent's table of widths per feature class.
    weighting : {"entropy", "default"}
        Class shares by entropy (000 eq 5), or the default itself; objective "entropy" only.
    prevalence : float or dict, optional
        Known class shares; a number is the prevalence of the last class. With "robust" the mean
        probability over the pool, labelled rows included, is this share; with "entropy" it replaces
        000 eq 5, and the mean is lower.
    prevalence_bounds : (low, high) or dict, optional
        Bounds on the prevalence of the last class, or a dict of bounds.
    knots : int
        Knots of each variable for hinges and thresholds; not used by knots_at="data".
    knots_at : {"quantile", "uniform", "data"}
        At quantiles of the pool, evenly over its range (as in Maxent), or at the values of
        labelled rows. Except with "uniform", values more than three interquartile ranges beyond the
        quartiles are moved closer, so that one outlier does not flatten the variable.
    categorical : "auto" or sequence
        Columns that are categories, by name or position; "auto" takes text and category columns
        of tables and of `Rows`.
    classes : sequence, optional
        All classes, if some have no labels. With one labelled class the other is added.
    weight_kind : {"frequency", "survey"}
        What sample_weight means. "frequency": a weight of 2 is the row twice, and the total is the
        number of observations. "survey": sampling weights, of which only the proportions matter;
        boxes are as wide as for Kish's effective number of labelled rows of the class,
        (sum w)^2 / sum w^2.
    clamp : bool
        At prediction treat values outside the range of the pool as its nearest value.
    cv : int, splitter or iterable
        Folds for width_scale="auto". A splitter sees the labelled rows alone; positions in pairs of
        (train, test) count all rows.
    tol : float
        Duality gap at which a fit stops: the Kullback-Leibler divergence of a class from its
        optimum is at most this many nats ("robust": of all classes together, over the share of the
        smallest labelled one). Where no gap is known (boxes of width 0; "robust" with labels or
        bounds for every class) the gradient, in standard deviations, goes below a hundredth of it.
    max_passes : int
        No new step begins after this many passes over the rows, for each class and width.
    random_state : int, optional
        Seed of the folds, None like 0; nothing else is random. Folds do not depend on the order of
        rows and columns or on units, but on the codes or names of categories.
    engine : None, "threads", "processes", Executor or Dask client
        Runs the blocks of rows, and the folds of "auto". All engines give the same bits.
    progress : callable (done, total), optional
        Called after each fold of width_scale="auto".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        With one labelled class [other, labelled]; the other is 0 for numbers.
    objective_ : {"entropy", "robust"}
        The one in use.
    is_labelled_ : ndarray of bool, shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that the probabilities correspond to.
    class_prior_from_ : {"observed", "given", "assumed"}
        Where they come from: labels of all rows, prevalence=, or default_prevalence.
    divergence_ : ndarray of shape (n_classes,)
        Of each class from the pool, in nats; 0 for classes without labels.
    width_scale_ : float
    selection_ : WidthChoice or None
        How the width was chosen.
    features_ : str
        Letters of the features in use.
    front_ : Front or None
        What missing factors of products are expected to be: the joint distribution of the columns
        on scales from 0 to 1, learnt without labels. None without products, or with
        products="seen".
    coef_, target_, half_width_ : ndarray of shape (labelled classes, n_features)
        Coefficients are not unique, because neighbouring hinges overlap; `response_curve` is.
    report_ : FitReport
        `report_.gap` is the certificate; `report_.certificate` if there is no gap.

    **Assumes** that rows of a class are labelled at random among themselves, at any unknown rate
    (for presences at biased places, give a pool with the same bias: `target_group` or
    background_weight); that the pool is the population for which probabilities are wanted; that
    within a class labelled rows miss values as often, and for the same reasons, as the others. The
    absolute level of the probabilities rests on default_prevalence: labels of one class alone
    cannot tell how common it is.

    References
    ----------
    Papers 000 and 004 of docs/architecture.md; Dudik, Phillips, Schapire (2004), Performance
    guarantees for regularized maximum entropy density estimation, COLT.

    Examples
    --------
    >>> from scarce import presence_background
    >>> rng = np.random.default_rng(0)
    >>> places = rng.uniform(0, 30, size=(500, 2))  # temperature, rain
    >>> seen = places[(rng.random(500) < 0.2) & (abs(places[:, 0] - 20) < 4)]
    >>> places[::7, 1] = np.nan
    >>> X, y = presence_background(seen, places)
    >>> model = MaxentClassifier(features="h").fit(X, y)
    >>> model.report_.converged, model.report_.gap < 1e-6
    (True, True)
    >>> model.predict_proba([[20.0, np.nan], [5.0, 10.0]])[:, 1].round(2)
    array([0.6 , 0.04])
    """

    _runtime_params = ("engine", "progress")
    _may_be_nonfinite = ("pool_quantiles_",)  # NaN for a column without values
    _allowed: ClassVar[dict[str, list[Constraint]]] = {
        "objective": [Word("auto", "entropy", "robust")],
        "width_scale": [Number(0), Word("auto")],
        "width_scales": [NumberList(0, open_low=True), NONE],
        "spread": [Word("shrunk", "labelled", "seen")],
        "products": [Word("expected", "seen")],
        "widths": [Word("spread", "maxent")],
        "weighting": [Word("entropy", "default")],
        "knots": [Number(2, MOST_KNOTS, whole=True)],
        "knots_at": [Word("quantile", "uniform", "data")],
        "weight_kind": [Word(*WEIGHT_KINDS)],
        "clamp": [FLAG],
        "tol": [Number(0, open_low=True)],
        "max_passes": [Number(1, whole=True)],
        "progress": [Kind(Callable, "a function of (done, total)"), NONE],  # type: ignore[arg-type]
    }

    def __init__(
        self,
        objective: str = "auto",
        *,
        default_prevalence: Prevalence | str = "auto",
        features: str | Sequence[Any] = "auto",
        products: str = "expected",
        width_scale: float | str = 1.0,
        width_scales: Sequence[float] | None = None,
        spread: str = "shrunk",
        widths: str = "spread",
        weighting: str = "entropy",
        prevalence: Prevalence | None = None,
        prevalence_bounds: Bounds | None = None,
        knots: int = 50,
        knots_at: str = "quantile",
        categorical: str | Sequence[Any] = "auto",
        classes: ArrayLike | None = None,
        weight_kind: str = "frequency",
        clamp: bool = True,
        cv: Folds = 5,
        tol: float = 1e-6,
        max_passes: int = 200,
        random_state: int | None = None,
        engine: Engine = None,
        progress: Progress | None = None,
    ) -> None:
        self.objective = objective
        self.default_prevalence = default_prevalence
        self.features = features
        self.products = products
        self.width_scale = width_scale
        self.width_scales = width_scales
        self.spread = spread
        self.widths = widths
        self.weighting = weighting
        self.prevalence = prevalence
        self.prevalence_bounds = prevalence_bounds
        self.knots = knots
        self.knots_at = knots_at
        self.categorical = categorical
        self.classes = classes
        self.weight_kind = weight_kind
        self.clamp = clamp
        self.cv = cv
        self.tol = tol
        self.max_passes = max_passes
        self.random_state = random_state
        self.engine = engine
        self.progress = progress

    def fit(
        self,
        X: Features,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        *,
        background_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Learn from labelled rows and the pool.

        Parameters
        ----------
        X : array-like of shape (n, k), table, or Rows
            NaN is a missing value. `Rows` bring their labels and weights along.
        y : array-like of shape (n,)
            Classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            Weight 2 is a row twice, in the pool and among the labelled; see weight_kind.
        background_weight : array-like of shape (n,), optional
            Weight in the pool only: the effort with which a background place was visited (presences
            carry it already: give them the average), or how many places a row stands for. Labelled
            rows need a weight above 0.
        groups : array-like of shape (n,), optional
            With width_scale="auto" rows of a group are held out together; a missing value is a
            group of its own. Copies of a row are always held out together.

        Returns
        -------
        self
        """
        refuse_other_index(
            X=X,
            y=y,
            sample_weight=sample_weight,
            background_weight=background_weight,
            groups=groups,
        )
        begin = time.perf_counter()
        check_parameters(self, self._allowed)
        if self.objective == "robust" and self.weighting != "entropy":
            raise UsageError(
                "{one} has no meaning with {other}, which fits the class shares itself.",
                code="argument-conflict",
                one=Argument("weighting", self.weighting),
                other=Argument("objective", "robust"),
                prevalence=Argument("prevalence"),
                remedy="Leave it out, or give {prevalence}.",
            )
        with one_blas_thread:
            data, labelled, said = self._prepare(X, y, sample_weight, background_weight)
            names = self.classes_[self.is_labelled_].tolist()
            bounds = self._settle_defaults(labelled)
            self.objective_ = self._settled_objective()
            robust = self._class_shares(bounds)
            start = np.zeros((len(data.boxes), data.space.n_features))
            self.selection_ = None
            if self.width_scale == "auto":
                folds, more = make_folds(self.cv, labelled, groups, self.random_state)
                said += more
                self.selection_ = choose_width(
                    data,
                    WIDTHS if self.width_scales is None else self.width_scales,
                    folds,
                    robust=robust,
                    engine=self.engine,
                    progress=self.progress,
                )
                self.width_scale_ = self.selection_.width_scale
            else:
                self.width_scale_ = float(self.width_scale)
                said += labelled.repeats()
            try:
                solved = solve(data, self.width_scale_, start, robust)
            except InfeasibleBoxes as error:
                wider = feasible_width(data, self.width_scale_, robust)
                if self.objective != "auto" or wider is None:
                    raise explain_infeasible(data, error, self.width_scale_, names, wider) from None
                said.append(self._widened_remark(wider))
                self.width_scale_ = wider
                solved = solve(data, wider, start, robust)
            self._settle(data, solved, bounds)
        for remark in self._contradicted_remark(data):
            warn_user(remark)
        self.report_ = FitReport(
            converged=solved.converged,
            certificate=solved.certificate,
            objective=solved.objective,
            passes=solved.passes,
            seconds=time.perf_counter() - begin,
            warnings=(*self.column_profile_.remarks, *self._remarks(data, solved), *said),
            proves=solved.proves,
        )
        return self

    def predict_proba(self, X: Features) -> Array:
        """Return the probability of each class, shape (n, n_classes)."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict_log_proba(self, X: Features) -> Array:
        """Return the log-probability of each class, shape (n, n_classes)."""
        return np.asarray(log_softmax(self._scores(X), axis=1))

    def decision_function(self, X: Features) -> Array:
        """Return the log-odds of the last of two classes, or the log-probabilities of several."""
        scores = self._scores(X)
        if scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return np.asarray(log_softmax(scores, axis=1))  # unique, unlike the scores themselves

    def predict(self, X: Features) -> NDArray[Any]:
        """Return the most probable class of each row; the last one if several tie."""
        scores = self._scores(X)
        best = scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
        return np.asarray(self.classes_[best])

    def density_ratio(self, X: Features) -> Array:
        """Return p(x given class) / p(x) over the pool: 2 means twice as common as in the pool.

        Shape (n,) if one class of two has labels, else (n, n_classes).
        """
        check_is_fitted(self)
        if self.objective_ == "robust":
            ratio = np.exp(self.predict_log_proba(X) - np.log(self.class_prior_))
        else:
            own = self._tilts(X) - self.log_partition_
            log_ratio = np.zeros((len(own), len(self.classes_)))
            log_ratio[:, self.is_labelled_] = own
            ratio = np.exp(log_ratio)
        if len(self.classes_) == 2 and self.is_labelled_.sum() == 1:
            return np.asarray(ratio[:, int(np.flatnonzero(self.is_labelled_)[0])])
        return np.asarray(ratio)

    def score(
        self,
        X: Features,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
    ) -> float:
        """Return the gain: the mean of log [p(x given class) / p(x)] over labelled rows, in nats.

        0 is no better than the pool itself; on rows that the fit did not see, the gain says what
        was learnt. Rows that are not labelled, and rows of classes without labels in the fit, do
        not count. Works in `cross_val_score(model, X, y, cv=KFold(5, shuffle=True))` with NaN in y;
        for a calibrated level use `scarce.log_loss` on rows that are all labelled.

        Parameters
        ----------
        X : array-like of shape (n, k), table, or Rows
            `Rows` bring their labels and weights along.
        y : array-like of shape (n,)
            Classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight)
        check_is_fitted(self)
        if isinstance(X, Rows) and (y is not None or sample_weight is not None):
            raise UsageError(
                "Rows carry their own labels and weights.",
                code="rows-carry-labels",
                opened=Phrase("open_rows(label=, weight=)"),
                remedy="Name them in {opened}, not in score.",
            )
        position, weight = self._labels_of(X, y, sample_weight)
        own = ~np.isnan(position) & (weight > 0)
        if not own.any():
            raise DataError(
                "None of the {rows:,} rows is labelled with a class that the model has learnt "
                "({classes}), so there is no gain to measure.",
                code="no-labels",
                rows=len(position),
                classes=listed([str(one) for one in self.classes_[self.is_labelled_]]),
                remedy="Score labelled rows; in cross-validation, use fewer folds.",
            )
        if self.objective_ == "robust":
            log_ratio = self.predict_log_proba(X) - np.log(self.class_prior_)
            log_ratio = log_ratio[:, self.is_labelled_]
        else:
            log_ratio = self._tilts(X) - self.log_partition_
        each = log_ratio[np.flatnonzero(own), position[own].astype(np.intp)]
        return float(np.average(each, weights=weight[own]))

    # --- views of a fitted model ------------------------------------------------------------------

    def output(self, X: Features, kind: str = "cloglog") -> Array:
        """Return predictions on one of Maxent's scales, for the one labelled class.

        Parameters
        ----------
        X : array-like of shape (n, k), table, or Rows
        kind : {"raw", "logistic", "cloglog"}
            "raw": density of the class; over the pool, weight * raw sums to 1. "logistic": the
            probability at default_prevalence (000 eq 8). "cloglog": 1 - exp(-exp(tilt)), the
            probability of at least one record if typical places have one on average.
        """
        refuse_word("kind", kind, ("raw", "logistic", "cloglog"))
        check_is_fitted(self)
        if self.objective_ != "entropy":
            raise UsageError(
                "raw, logistic and cloglog are scales of a density, and {objective} models "
                "probabilities.",
                code="no-density",
                objective=Argument("objective", self.objective_),
                entropy=Argument("objective", "entropy"),
                remedy="Use predict_proba, or {entropy}.",
            )
        own = np.flatnonzero(self.is_labelled_)
        if len(own) != 1:
            raise UsageError(
                "raw, logistic and cloglog need one labelled class, and {count} have labels.",
                code="several-labelled-classes",
                count=len(own),
                remedy="Use predict_proba or density_ratio.",
            )
        tilt = self._tilts(X)[:, 0]
        if kind == "raw":
            return np.asarray(np.exp(tilt - self.log_partition_[0]) / self.pool_weight_)
        if kind == "logistic":
            default = self.default_[own[0]]
            return np.asarray(expit(np.log(default) - np.log1p(-default) + tilt))
        return np.asarray(-np.expm1(-np.exp(tilt)))

    def extrapolation(self, X: Features) -> tuple[Array, NDArray[Any]]:
        """Return how well the pool covers each row, and the variable with the lowest coverage.

        The score is 100 in the middle of the pool, 0 at its edge and negative outside: -50 means
        that a variable is half the pool's range outside it. A value that many rows share counts as
        the middle of these rows. A code that was not in the pool gives -100, as does any other
        value than the only one of a constant column, and any value of a column that was empty; an
        unknown text level counts as missing. Missing values do not count; a row without values gets
        NaN and "".
        """
        check_is_fitted(self)
        names = np.array([*self._names(), ""], dtype=object)
        params = (self.pool_quantiles_, self.is_category_, self.knots_)
        both = self._predict_rows(X).map(block_coverage, params, engine=self.engine)
        return np.ascontiguousarray(both[:, 0]), names[both[:, 1].astype(np.intp)]

    def response_curve(
        self, variable: str | int, *, label: object = None, n: int = 200
    ) -> ResponseCurve:
        """Return the curve of one variable.

        Parameters
        ----------
        variable : str or int
            Name or position.
        label : class, optional
            Which labelled class, if there are several; the last by default.
        n : int
            Evenly spaced values; knots and quantiles of the pool are added.
        """
        check_is_fitted(self)
        n = read_integer(n, "n", 2)
        column = self._column(variable)
        return self._tilt_model().curve(
            column,
            self._labelled_class(label),
            n=n,
            quantiles=self.pool_quantiles_[column],
            pool_place=self.pool_place_,
        )

    def permutation_importance(
        self,
        X: Features,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None = None,
        *,
        label: object = None,
        n_repeats: int = 5,
        random_state: int | None = None,
    ) -> Importance:
        """Return what the model loses when each variable in turn is shuffled over all rows.

        Parameters
        ----------
        X, y : array-like
            As for fit: labelled rows of the class against all rows. y is None for `Rows`, which
            carry their labels and weights.
        sample_weight : array-like of shape (n,), optional
            Weight 2 is a row twice.
        label : class, optional
            Which labelled class, if there are several; the last by default.
        n_repeats : int
            Shuffles of each variable.
        random_state : int, optional
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight)
        check_is_fitted(self)
        n_repeats = read_integer(n_repeats, "n_repeats")
        at = self._labelled_class(label)
        values = np.concatenate([block.X for block in self._predict_rows(X).blocks()])
        position, weight = self._labels_of(X, y, sample_weight)
        chosen = (position == at) & (weight > 0)
        if not chosen.any():
            raise DataError(
                "None of the {rows:,} rows is labelled {label}.",
                code="no-labels",
                rows=len(values),
                label=str(self.classes_[self.is_labelled_][at]),
                remedy="Pass the labels that the model was fitted with, or others of the same "
                "kind.",
            )
        return self._tilt_model().importance(
            values,
            chosen,
            weight,
            at,
            n_repeats=n_repeats,
            rng=np.random.default_rng(read_seed(random_state)),
        )

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- the steps of a fit -----------------------------------------------------------------------

    def _prepare(
        self,
        X: Features,
        y: ArrayLike | None,
        sample_weight: ArrayLike | None,
        background_weight: ArrayLike | None,
    ) -> tuple[FitData, LabelledRows, list[str]]:
        """Read the data; note the classes; return what is to be solved, and remarks."""
        rows, found, label, weight, dtype = self._read(X, y, sample_weight)
        label[weight <= 0] = np.nan
        has_labels = np.array([(label == one).any() for one in range(len(found))], dtype=bool)
        if not has_labels.any():
            raise DataError(
                "None of the {rows:,} rows is labelled with weight above 0, which leaves only one "
                "class, the unlabelled.",
                code="no-labels",
                rows=len(rows),
                remedy="Label some rows.",
            )
        self.classes_, positions = settle_classes(found, has_labels, self.classes)
        self.is_labelled_ = np.zeros(len(self.classes_), dtype=bool)
        self.is_labelled_[positions] = True
        order = np.full(len(found), np.nan)
        order[has_labels] = np.arange(has_labels.sum())
        known = ~np.isnan(label)
        label[known] = order[label[known].astype(np.intp)]
        pool = weight
        if background_weight is not None:
            pool = weight * _pool_weight(background_weight, known & (weight > 0))
        weight, said = _label_weight(weight, label, self.weight_kind)
        named = list(getattr(self, "feature_names_in_", []))
        columns = _categorical_columns(self.categorical, rows, named)
        self.is_category_ = np.isin(np.arange(rows.n_columns), columns)
        self.pool_weight_ = float(pool.sum())
        settings = FitSettings(**{one.name: getattr(self, one.name) for one in fields(FitSettings)})
        data = prepare(
            rows,
            label,
            weight,
            pool,
            int(has_labels.sum()),
            settings,
            categorical=columns,
            weight_kind=self.weight_kind,
            dtype=dtype,
            engine=self.engine,
        )
        return data, LabelledRows.of(rows, label, weight, pool, engine=self.engine), said

    def _read(
        self, X: Features, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Rows, NDArray[Any], Array, Array, DTypeLike]:
        """Return rows, classes, class positions (NaN = not labelled), weights and precision.

        Arrays keep float32; tables with text or category columns become rows with code books.
        """
        for name in ("schema_", "feature_names_in_"):
            self.__dict__.pop(name, None)
        rows, classes = rows_to_fit(self, X, y, sample_weight, engine=self.engine, dtype=FLOATS)
        label, weight = rows.labels(engine=self.engine), rows.weights(engine=self.engine)
        dtype = getattr(getattr(rows, "matrix", None), "dtype", None)  # of arrays in memory
        return rows, classes, label, weight, dtype if dtype in FLOATS else np.float64

    def _settle_defaults(self, labelled: LabelledRows) -> Array | None:
        """Set the default shares of the classes; return bounds on the shares, if any."""
        bounds = bounds_of(self.prevalence, self.prevalence_bounds, self.classes_)
        self.class_prior_from_ = "assumed" if self.prevalence is None else "given"
        given = self.default_prevalence
        if not (isinstance(given, str) and given == "auto"):
            self.default_ = shares_of("default_prevalence", given, self.classes_)
        elif labelled.every and self.is_labelled_.all():
            self.default_ = labelled.shares
            if bounds is None:
                self.class_prior_from_ = "observed"
                bounds = np.column_stack([labelled.shares, labelled.shares])
        else:
            self.default_ = shares_of("default_prevalence", 0.5, self.classes_)
        return bounds

    def _settled_objective(self) -> str:
        """Return the objective: with "auto", the one whose probabilities average to the share."""
        if self.objective != "auto":
            return self.objective
        known = self.prevalence is not None and self.weighting == "entropy"
        return "robust" if known and int(self.is_labelled_.sum()) == 1 else "entropy"

    def _widened_remark(self, wider: float) -> Problem:
        return Problem(
            "At {width} the labelled rows would need more rows like them than the pool has if "
            "the prevalence is {prevalence}: the boxes are as wide as at {wider} instead.",
            code="widened-boxes",
            width=Argument("width_scale", self.width_scale_),
            prevalence=Argument("prevalence", self.prevalence),
            wider=Argument("width_scale", wider),
            remedy="Check the prevalence: a lower one needs no wider boxes.",
        )

    def _class_shares(self, bounds: Array | None) -> ClassShares | None:
        """Return what the robust problem needs to know of the classes; None for entropy."""
        if self.objective_ != "robust":
            return None
        labelled, default = self.is_labelled_, self.default_
        both = None if bounds is None else (bounds[labelled], bounds[~labelled])
        return ClassShares(default[labelled], default[~labelled], both)

    def _settle(self, data: FitData, solved: Solved, bounds: Array | None) -> None:
        """Store what predictions and views need: knots, lines, offsets, the pool's summary."""
        labelled, space = self.is_labelled_, data.space
        self.features_ = data.letters
        self.knots_ = [axis.knots for axis in space.axes]
        self.scales_ = [axis.knots if axis.scale is None else axis.scale for axis in space.axes]
        self.coef_, self.target_, self.half_width_ = solved.coef, solved.target, solved.half_width
        for name in ("start", "slope", "bend", "bend_seen"):
            setattr(self, f"{name}_", np.array([getattr(own, name) for own in solved.lines]))
        self.divergence_ = np.zeros(len(self.classes_))
        self.divergence_[labelled] = solved.divergence
        self.n_labelled_ = np.array([box.n for box in data.boxes])
        self.pool_quantiles_ = data.columns.quantiles
        self.pool_place_ = _mean_place(data)
        self.front_ = data.front
        if self.objective_ == "robust":
            self.class_prior_ = np.empty(len(self.classes_))
            self.class_prior_[labelled] = solved.share
            self.class_prior_[~labelled] = solved.share_others
            self.offset_ = np.log(self.default_)
            self.offset_[labelled] += solved.shift
            self.offset_[~labelled] += solved.shift_others
            self.log_partition_ = np.zeros(int(labelled.sum()))
            return
        shares = self.default_
        if self.weighting == "entropy":
            shares = entropy_shares(self.default_, self.divergence_)
        self.class_prior_ = within_bounds(shares, bounds)
        self.log_partition_ = solved.log_partition
        with np.errstate(divide="ignore"):
            self.offset_ = np.log(self.class_prior_)
        self.offset_[labelled] -= self.log_partition_

    def _remarks(self, data: FitData, solved: Solved) -> list[str]:
        """Return what the reader of the report should know."""
        out: list[str] = []
        if not solved.converged:
            out.append(
                Problem(
                    "Stopped after pass {passes} with {proves} {certificate:.2g} ({tol} was asked "
                    "for).",
                    code="not-converged",
                    passes=solved.passes,
                    proves=solved.proves,
                    certificate=solved.certificate,
                    tol=Argument("tol", self.tol),
                    more=Argument("max_passes"),
                    width=Argument("width_scale"),
                    remedy="Raise {more}, or widen the boxes with {width}.",
                )
            )
        axes = data.space.axes
        flat = [axis.name for axis in axes if axis.flat]
        if flat:
            out.append(
                Problem(
                    "Columns with one value or none are not used: {columns}.",
                    code="constant-columns",
                    columns=some(flat),
                )
            )
        out += outlier_remark(data.columns.outliers, self.knots_at)
        if not self.is_labelled_.all():
            kinds = [Column(axis.name, "category" if axis.category else "number") for axis in axes]
            out += doubtful_columns(self.column_profile_, kinds, places=True)
        for at, label in enumerate(self.classes_[self.is_labelled_].tolist()):
            out += class_remarks(data, solved, at, str(label))
        if self.selection_ is not None and self.selection_.at_edge:
            out.append(
                Problem(
                    "The chosen {width} is at the edge of {widths}. Try values beyond it.",
                    code="width-at-edge",
                    width=Argument("width_scale", float(f"{self.width_scale_:.3g}")),
                    widths=Argument("width_scales"),
                )
            )
        out += self._contradicted_remark(data) or self._assumed_remark()
        return out + self._crowded_remark(data)

    def _crowded_remark(self, data: FitData) -> list[str]:
        """Say that more rows of the pool are labelled than a known prevalence allows."""
        known = self.class_prior_from_ == "given" and self.objective_ == "robust"
        if not known or int(self.is_labelled_.sum()) != 1:
            return []
        held, share = float(data.labelled[0].pool.sum()), float(self.class_prior_[-1])
        if not self.is_labelled_[-1] or held <= share * (1 + 1e-9):
            return []
        return [
            Problem(
                "{held:.3g} of the pool is labelled {label}, more than the prevalence of "
                "{share:.3g} that was given, and labelled rows are part of the pool.",
                code="impossible-share",
                held=held,
                label=str(self.classes_[-1]),
                share=share,
                weight=Argument("background_weight"),
                remedy="If they were collected apart from the others, give them a small {weight}, "
                "so that the others are the pool; else check the prevalence.",
            )
        ]

    def _assumed_remark(self) -> list[str]:
        """Say that class shares were assumed, if the user did not give them."""
        assumed = self.class_prior_from_ == "assumed" and self.prevalence_bounds is None
        if not isinstance(self.default_prevalence, str) or not assumed:
            return []
        shares = dict(zip(self.classes_.tolist(), self.class_prior_.tolist(), strict=True))
        default, prevalence = Argument("default_prevalence", 0.5), Argument("prevalence")
        if self.is_labelled_.sum() == 1:
            label = self.classes_[self.is_labelled_].tolist()[0]
            return [
                Problem(
                    "Labels of {label} alone cannot tell how common it is: the level of the "
                    "probabilities rests on {default}, a share of {share:.3g}.",
                    code="assumed-base-rate",
                    label=str(label),
                    default=default,
                    share=shares[label],
                    prevalence=prevalence,
                    remedy=[
                        "Pass {prevalence} if the share is known.",
                        "density_ratio does not depend on it.",
                    ],
                )
            ]
        return [
            Problem(
                "Not every row is labelled, and classes may be labelled at different rates: the "
                "class shares ({shares}) rest on {default}, not on the numbers of labels.",
                code="assumed-base-rate",
                shares=", ".join(f"{name!s} {share:.3g}" for name, share in shares.items()),
                default=default,
                prevalence=prevalence,
                remedy="Pass {prevalence} if the shares are known, or if rows were labelled at "
                "random.",
            )
        ]

    def _contradicted_remark(self, data: FitData) -> list[str]:
        """Say that more of the pool is labelled as one class than the assumed shares allow.

        Labelled rows of a single class are often collected apart, and then say nothing here.
        """
        if self.class_prior_from_ != "assumed" or self.is_labelled_.sum() < 2:
            return []
        held = np.array([one.pool.sum() for one in data.labelled])
        shares = self.class_prior_[self.is_labelled_]
        at = int(np.argmax(held - shares))
        if held[at] <= shares[at] + 1e-9 or held.sum() > 1 - 1e-9:
            return []
        return [
            Problem(
                "{held:.0%} of the rows are labelled {label}, but its share is taken to be "
                "{share:.0%}: as {missing:.1%} of the rows have no label, labels are taken to be "
                "revealed at unknown rates, and the class shares rest on {default}.",
                code="assumed-share-impossible",
                held=float(held[at]),
                label=str(self.classes_[self.is_labelled_][at]),
                share=float(shares[at]),
                missing=float(1 - held.sum()),
                default=Argument("default_prevalence", self.default_prevalence),
                prevalence=Argument("prevalence"),
                remedy=[
                    "Where labels are missing at random, leave rows without a label out.",
                    "Pass {prevalence} if the shares are known.",
                ],
            )
        ]

    # --- the fitted model -------------------------------------------------------------------------

    def _names(self) -> list[str]:
        names = getattr(self, "feature_names_in_", None)
        return [f"x{at}" if names is None else str(names[at]) for at in range(len(self.knots_))]

    def _tilt_model(self) -> TiltModel:
        """Return the fitted model as knots and lines."""
        scales = getattr(self, "scales_", self.knots_)  # older model files have knots alone
        axes = [
            Axis(name, knots, category=bool(category), scale=scale)
            for name, knots, category, scale in zip(
                self._names(), self.knots_, self.is_category_, scales, strict=True
            )
        ]
        parts = (self.start_, self.slope_, self.bend_, self.bend_seen_)
        front = getattr(self, "front_", None)  # older model files have none
        pairs = [(0, 0)] if self.bend_.size else []
        return TiltModel(
            FeatureMap(axes, [], pairs, expected=front is not None),
            [Lines(*own) for own in zip(*parts, strict=True)],
            self.offset_,
            np.flatnonzero(self.is_labelled_),
            bool(self.clamp),
            front,
        )

    def _predict_rows(self, X: Features) -> Rows:
        """Return rows with the columns of the fit; unknown levels count as missing."""
        shape = getattr(X, "shape", ())  # a LazyFrame has none, and warns when asked for columns
        if shape and shape[0] == 0 and hasattr(X, "columns"):
            raise DataError("There are no rows to predict: the table is empty.", code="no-rows")
        return rows_to_predict(self, X, engine=self.engine, dtype=FLOATS, unknown="missing")

    def _tilts(self, X: Features) -> Array:
        """Return the tilt of each labelled class, shape (n, labelled classes)."""
        rows = self._predict_rows(X)
        return np.asarray(rows.map(block_tilts, self._tilt_model(), engine=self.engine))

    def _scores(self, X: Features) -> Array:
        check_is_fitted(self)
        own = self._tilts(X)
        scores = np.tile(self.offset_, (len(own), 1))
        scores[:, self.is_labelled_] += own
        return scores

    def _labels_of(
        self, X: Features, y: ArrayLike | None, sample_weight: ArrayLike | None
    ) -> tuple[Array, Array]:
        """Return each row's position among the classes with labels (else NaN), and its weight."""
        if isinstance(X, Rows) and y is None:
            codes, found = X.labels(engine=self.engine), list(X.classes)
            weight = X.weights(engine=self.engine)
            if sample_weight is not None:
                weight = _weights(sample_weight, codes)
        else:
            if y is None:
                raise DataError(
                    "y is None, and labels are needed.",
                    code="no-labels",
                    remedy="Pass y, with NaN where a row is not labelled.",
                )
            codes, classes = label_codes(y, len(X) if isinstance(X, Rows) else _num_samples(X))
            found, weight = classes.tolist(), _weights(sample_weight, codes)
        learnt = self.classes_[self.is_labelled_].tolist()
        place = np.array([learnt.index(one) if one in learnt else np.nan for one in found])
        position = np.full(len(codes), np.nan)
        known = ~np.isnan(codes)
        position[known] = place[codes[known].astype(np.intp)]
        return position, weight

    def _column(self, variable: str | int) -> int:
        names = self._names()
        if variable in names:
            return names.index(variable)
        if isinstance(variable, (int, np.integer)) and 0 <= variable < len(names):
            return int(variable)
        raise _unknown_column("variable", variable, names, len(names))

    def _labelled_class(self, label: object) -> int:
        """Return the position of a class among the labelled ones; None is the last."""
        own = self.classes_[self.is_labelled_].tolist()
        if label is None:
            return len(own) - 1
        if label not in own:
            raise UsageError(
                "{argument} must be a class with labels ({classes}), got {value!r}.",
                code="unknown-class",
                argument=Argument("label"),
                classes=listed([repr(one) for one in own]),
                value=label,
            )
        return int(own.index(label))

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not fit together."""
        if not hasattr(self, "classes_"):
            return
        n, k = len(self.classes_), self.n_features_in_
        if len(self.knots_) != k or len(self.is_category_) != k:
            raise DataError(
                "knots_ must be those of {columns} columns, got {count}.",
                code="wrong-array",
                columns=k,
                count=len(self.knots_),
            )
        refuse_array("is_labelled_", self.is_labelled_, (n,), "b")
        own = int(self.is_labelled_.sum())
        categories = [bool(one) for one in self.is_category_]
        cells = sum(len(one) + at for one, at in zip(self.knots_, categories, strict=True))
        pair = (own, k, k) if self.bend_.size else (own, 0, 0)
        shapes: dict[str, tuple[int, ...]] = {
            "offset_": (n,),
            "class_prior_": (n,),
            "log_partition_": (own,),
            "start_": (own, cells),
            "slope_": (own, cells),
            "bend_": pair,
            "bend_seen_": pair,
        }
        for name, shape in shapes.items():
            refuse_array(name, getattr(self, name), shape)
        front = getattr(self, "front_", None)
        if front is not None and not (isinstance(front, Front) and front.n_columns == k):
            raise inconsistent_model("front_", "must belong to the columns")
        scales = getattr(self, "scales_", self.knots_)
        for knots, scale, category in zip(self.knots_, scales, categories, strict=True):
            ordered = np.diff(knots) > 0
            if knots.ndim != 1 or not (ordered.all() or (len(knots) == 2 and not category)):
                raise DataError("knots_ must increase.", code="wrong-array", name="knots_")
            refuse_array("scales_", scale, knots.shape)
            flat = len(knots) < 2 or knots[0] == knots[-1]
            if (np.diff(scale) < 0).any() or not (flat or scale[-1] > scale[0]):
                raise DataError("scales_ must increase.", code="wrong-array", name="scales_")


# --- weights --------------------------------------------------------------------------------------


def _weights(given: ArrayLike | None, codes: Array) -> Array:
    """Return sample weights; 1 for each row if none are given."""
    if given is None:
        return np.ones(len(codes))
    return np.asarray(
        _check_sample_weight(unmasked_weights(given), codes, ensure_non_negative=True)
    )


def _label_weight(weight: Array, label: Array, kind: str) -> tuple[Array, list[str]]:
    """Return the weight of each row as a labelled row, and remarks.

    With kind "survey" the labelled rows of a class weigh (sum w)^2 / sum w^2 together, Kish's
    effective number of rows: their weighted mean has the variance of a mean of that many rows.
    """
    known = ~np.isnan(label)
    _, said = weight_factor(float(weight[known].sum()), int(known.sum()), kind)
    if kind == "frequency":
        return weight, said
    out = np.array(weight, dtype=np.float64)
    for one in np.unique(label[known]):
        own = label == one
        share = weight[own] / weight[own].max()
        out[own] = share * (share.sum() / (share @ share))
    return out, said


def _pool_weight(given: ArrayLike, labelled: NDArray[np.bool_]) -> Array:
    """Return the weight of each row in the pool, above 0 for labelled rows."""
    weight = read_weight(given, len(labelled), "background_weight")
    none = np.flatnonzero(labelled & (weight == 0))
    if len(none):
        raise DataError(
            "{argument} is 0 for {count:,} labelled rows (first at row {row:,}), but labelled rows "
            "belong to the pool: without them their mean may be out of its reach.",
            code="zero-weight",
            argument=Argument("background_weight"),
            count=len(none),
            row=int(none[0]),
            remedy="Give them a weight above 0.",
        )
    return weight


def _mean_place(data: FitData) -> Array:
    """Mean of each variable over the pool, on its scale from 0 to 1."""
    start, slope = data.space.place_lines
    first = data.space.first_cell[:-1]
    place = np.add.reduceat(data.pool.mass * start + data.pool.rest * slope, first)
    seen = np.add.reduceat(data.pool.mass * data.space.seen_cells, first)
    return np.where(seen > 0, place / np.where(seen > 0, seen, 1.0), 0.0)


# --- columns --------------------------------------------------------------------------------------


def _categorical_columns(
    given: str | Sequence[Any] | None, rows: Rows, names: list[Any]
) -> list[int]:
    """Return the positions of the columns that are categories.

    Parameters
    ----------
    given : "auto", None, or a sequence of names or positions
    rows : Rows
        Whose schema may name categories.
    names : list
        Column names as the user knows them; may be empty.
    """
    own = [at for at, column in enumerate(rows.schema.columns) if column.kind == "category"]
    if given is None or (isinstance(given, str) and given == "auto"):
        return own
    chosen = set(own)
    positions = Number(0, rows.n_columns - 1, whole=True)
    asked: list[Any] = [given]
    if isinstance(given, (list, tuple, set, np.ndarray)):
        asked = list(given)
    for one in asked:
        if one in names:
            chosen.add(names.index(one))
        elif positions.allows(one):
            chosen.add(int(one))
        else:
            raise _unknown_column("categorical", one, names, rows.n_columns)
    return sorted(chosen)


def _unknown_column(
    argument: str, value: object, names: Sequence[object], count: int
) -> UsageError:
    known = [repr(name) for name in names]
    return UsageError(
        "{argument} names {value!r}, which is not a column.{hint} Columns are {columns}.",
        code="unknown-column",
        argument=Argument(argument),
        value=value,
        hint=suggest(str(value), map(str, names)),
        columns=listed(known, most=8) if known else f"0 to {count - 1}",
    )
