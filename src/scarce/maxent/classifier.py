"""Maxent: class probabilities when labels are revealed at an unknown rate and values are missing.

    tilt_y(x) = sum_j seen_j(x) [ coef_j (f_j(x) - target_j) + half_width_j |coef_j| ]
    p(y given x) = softmax_y( log default_y + tilt_y(x) )                 (000 eq 8, 9; 004 eq 12)

The pool of all rows says how common each kind of row is; labelled rows of a class say what its mean
features are, up to boxes. Among all distributions that fit, the least committed is taken: per class
(objective "entropy", 000 eq 5-8) or for the probabilities of all classes together ("robust", 000 eq
9-10). A missing value takes part neither in means nor in tilts, and is never filled in.
"""

from __future__ import annotations

import time
from typing import Any, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from scarce.engine.block import Array
from scarce.engine.executors import Engine, Progress, one_blas_thread
from scarce.errors import DataError
from scarce.maxent import shares as prior
from scarce.maxent.boxed import EmptyBoxes
from scarce.maxent.inputs import (
    check_settings,
    check_stored,
    fit_rows,
    label_weight,
    labels_to_score,
    pool_weight,
    tilts,
)
from scarce.maxent.parts import (
    Parts,
    Solved,
    categorical_columns,
    explain_empty,
    prepare,
    remarks,
    solve_all,
)
from scarce.maxent.views import MaxentViews
from scarce.maxent.widths import LabelledRows, checked_widths, choose_width, make_folds
from scarce.results import FitReport


class MaxentClassifier(MaxentViews, ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Maxent for labels revealed at an unknown, class-dependent rate, with holes in the features.

    Fits presences and unlabelled rows, or several classes each labelled at its own unknown rate.
    All rows, labelled or not, are the pool.

    Parameters
    ----------
    objective : {"entropy", "robust"}
        "entropy": a distribution for each labelled class, with class shares by their entropy.
        "robust": class-robust logistic regression, all classes at once.
    default_prevalence : "auto", float or dict
        Share of the last class (the labelled one, where only one is) to lean towards: typical rows
        of a class get this probability. More than two classes need a dict of shares, or the 0.5
        that favours none of them. "auto": where every row is labelled, the classes have the shares
        that were observed; else 0.5, and the report says so.
    features : "auto", str or list
        Letters out of "lqpht": linear, quadratic, product, hinge, threshold; indicators of
        categories come by themselves. "auto" by number of labelled rows: below 10 "l", below 15
        "lq", below 80 "lqh", else "lqph" (no products with more than 50 columns). A list may hold
        families of your own.
    width_scale : float or "auto"
        Half width of the boxes in standard errors of the labelled means (with a floor for features
        without spread). "auto" tries `width_scales` on folds of the labelled rows.
    width_scales : sequence of float, optional
        What "auto" chooses from; by default 20 widths from 5 to 0.25.
    spread : {"shrunk", "labelled", "seen"}
        Standard deviation over the class's labelled rows (000), over all rows that see the feature
        (004), or of the labelled rows moved towards that of all rows and widened by
        sqrt(1 + 4 / n), which keeps few labelled rows from making the model certain.
    widths : {"spread", "maxent"}
        One rule for every feature, or Maxent's table of widths per feature class.
    weighting : {"entropy", "default"}
        Class shares by entropy (000 eq 5), or simply the default; objective "entropy" only.
    prevalence : float or dict, optional
        Known class shares; a number is the share of the last class. With "robust" the mean
        probability over the pool is this share; with "entropy" it takes the place of 000 eq 5.
    prevalence_bounds : (low, high) or dict, optional
        Bounds for the share of the last class, or a dict of bounds.
    knots : int
        Knots of each variable for hinges and thresholds; not used by knots_at="data".
    knots_at : {"quantile", "uniform", "data"}
        At quantiles of the pool, evenly over its range (as Maxent has them), or at the values of
        labelled rows. Except with "uniform", values more than three quartile distances beyond the
        quartiles are moved closer, so that one wild value does not flatten the variable.
    categorical : "auto" or sequence
        Columns that are categories, by name or position; "auto" takes text and category columns
        of tables and of `Rows`.
    classes : sequence, optional
        All classes, where some have no labels. With one labelled class the other is added.
    weight_kind : {"frequency", "survey"}
        What sample_weight means. "frequency": a weight of 2 is the row twice, and the total is the
        number of observations. "survey": sampling weights, which only matter in proportion; boxes
        are as wide as for Kish's effective number of labelled rows of the class,
        (sum w)^2 / sum w^2.
    clamp : bool
        At prediction treat values beyond those learnt from as the nearest of them.
    cv : int, splitter or iterable
        Folds for width_scale="auto". A splitter sees the labelled rows alone; positions in pairs of
        (train, test) count all rows.
    tol : float
        Duality gap at which a fit stops: the Kullback-Leibler divergence of a class from its
        optimum is at most this many nats ("robust": of all classes together, over the share of the
        smallest labelled one). Where no gap is known (boxes of width 0; "robust" with
        labels or bounds for every class) the gradient, in spreads, goes below a hundredth of it.
    max_passes : int
        After so many passes over the rows, for each class and width, no new step begins.
    random_state : int, optional
        Deals the folds, None like 0; nothing else is random. Folds do not depend on the order of
        rows and columns or on units, but on the codes or names of categories.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the blocks of rows, and the folds of "auto". Does not change a bit of the result.
    progress : callable (done, total), optional
        Called after each fold of width_scale="auto".

    Attributes
    ----------
    classes_ : ndarray of shape (n_classes,)
        With one labelled class [other, labelled]; the other is 0 for numbers.
    is_labelled_ : ndarray of bool, shape (n_classes,)
    class_prior_ : ndarray of shape (n_classes,)
        Shares of the classes that the probabilities stand for.
    class_prior_from_ : {"observed", "given", "assumed"}
        Where they come from: labels of all rows, prevalence=, or default_prevalence.
    divergence_ : ndarray of shape (n_classes,)
        Of each class from the pool, in nats; 0 for classes without labels.
    width_scale_ : float
    selection_ : WidthChoice or None
        How the width was chosen.
    features_ : str
        Letters of the features in use.
    coef_, target_, half_width_ : ndarray of shape (labelled classes, n_features)
        Coefficients are not unique, because neighbouring hinges overlap; `response_curve` is.
    report_ : FitReport
        `report_.gap` is the certificate; `report_.certificate` where there is no gap.

    **Assumes** that rows of a class are labelled at random among themselves, at any unknown rate
    (for presences at biased places, give a pool with the same bias: `target_group` or
    background_weight); that the pool is what probabilities are wanted for; that within a class
    labelled rows miss values as often, and for the same reasons, as the others. The absolute level
    of the probabilities rests on default_prevalence: labels of one class alone cannot tell how
    common it is.

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
    _may_be_nonfinite = ("pool_quantiles_",)  # nan for a column that holds no value

    def __init__(
        self,
        objective: str = "entropy",
        *,
        default_prevalence: Any = "auto",
        features: Any = "auto",
        width_scale: float | str = 1.0,
        width_scales: Any = None,
        spread: str = "shrunk",
        widths: str = "spread",
        weighting: str = "entropy",
        prevalence: Any = None,
        prevalence_bounds: Any = None,
        knots: int = 50,
        knots_at: str = "quantile",
        categorical: Any = "auto",
        classes: Any = None,
        weight_kind: str = "frequency",
        clamp: bool = True,
        cv: Any = 5,
        tol: float = 1e-6,
        max_passes: int = 200,
        random_state: int | None = None,
        engine: Engine = None,
        progress: Progress | None = None,
    ) -> None:
        self.objective = objective
        self.default_prevalence = default_prevalence
        self.features = features
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
        X: Any,
        y: Any = None,
        sample_weight: Any = None,
        *,
        background_weight: Any = None,
        groups: Any = None,
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
        begin = time.perf_counter()
        check_settings(self)
        with one_blas_thread:
            parts, labelled, said = self._prepare(X, y, sample_weight, background_weight)
            names = self.classes_[self.is_labelled_].tolist()
            bounds = self._shares(labelled)
            robust = self._robust_arguments(bounds)
            start = np.zeros((len(parts.boxes), parts.space.n_features))
            self.selection_ = None
            if self.width_scale == "auto":
                folds, more = make_folds(self.cv, labelled, groups, self.random_state)
                said += more
                self.selection_ = choose_width(
                    parts,
                    checked_widths(self.width_scales),
                    folds,
                    self,
                    robust=robust,
                    engine=self.engine,
                    progress=self.progress,
                )
                self.width_scale_ = self.selection_.width_scale
            else:
                self.width_scale_ = float(self.width_scale)
                said += labelled.repeats()
            try:
                solved = solve_all(parts, self.width_scale_, start, self, robust)
            except EmptyBoxes as error:
                raise explain_empty(parts, error, names, self, robust) from None
            self._settle(parts, solved, bounds)
        self._report(parts, solved, said, time.perf_counter() - begin)
        return self

    def predict_proba(self, X: Any) -> Array:
        """Return the probability of each class, shape (n, n_classes)."""
        return np.asarray(softmax(self._scores(X), axis=1))

    def predict_log_proba(self, X: Any) -> Array:
        """Return the logarithm of each class's probability, shape (n, n_classes)."""
        return np.asarray(log_softmax(self._scores(X), axis=1))

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of the last of two classes, or each of several's log-probability."""
        scores = self._scores(X)
        if scores.shape[1] == 2:
            return np.asarray(scores[:, 1] - scores[:, 0])
        return np.asarray(log_softmax(scores, axis=1))  # unique, unlike the scores themselves

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the most probable class of each row; of equal ones the last."""
        scores = self._scores(X)
        best = scores.shape[1] - 1 - scores[:, ::-1].argmax(axis=1)
        return np.asarray(self.classes_[best])

    def density_ratio(self, X: Any) -> Array:
        """Return p(x given class) / p(x) over the pool: 2 means twice as common as in the pool.

        Shape (n,) where one class of two has labels, else (n, n_classes).
        """
        check_is_fitted(self)
        if self.objective_ == "robust":
            ratio = np.exp(self.predict_log_proba(X) - np.log(self.class_prior_))
        else:
            own = tilts(self, X) - self.log_partition_
            log_ratio = np.zeros((len(own), len(self.classes_)))
            log_ratio[:, self.is_labelled_] = own
            ratio = np.exp(log_ratio)
        if len(self.classes_) == 2 and self.is_labelled_.sum() == 1:
            return np.asarray(ratio[:, int(np.flatnonzero(self.is_labelled_)[0])])
        return np.asarray(ratio)

    def score(self, X: Any, y: Any = None, sample_weight: Any = None) -> float:
        """Return the gain: the mean of log [p(x given class) / p(x)] over labelled rows, in nats.

        0 is no better than the pool that was learnt from; on rows that the fit did not see it says
        what was learnt. Rows that are not labelled, and rows of a class that had no labels to learn
        from, do not count. Works in `cross_val_score(model, X, y, cv=KFold(5, shuffle=True))` with
        NaN in y; for a calibrated level use `scarce.log_loss` on rows that are all labelled.

        Parameters
        ----------
        X : array-like of shape (n, k), table, or Rows
            `Rows` bring their labels and weights along.
        y : array-like of shape (n,)
            Classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
        """
        check_is_fitted(self)
        position, weight = labels_to_score(self, X, y, sample_weight)
        own = ~np.isnan(position) & (weight > 0)
        if not own.any():
            raise DataError(
                f"None of the {len(position):,} rows is labelled with a class that the model has "
                f"learnt ({', '.join(map(str, self.classes_[self.is_labelled_]))}), so that there "
                "is no gain to measure. Score labelled rows; in cross-validation, use fewer folds."
            )
        if self.objective_ == "robust":
            log_ratio = self.predict_log_proba(X) - np.log(self.class_prior_)
            log_ratio = log_ratio[:, self.is_labelled_]
        else:
            log_ratio = tilts(self, X) - self.log_partition_
        each = log_ratio[np.flatnonzero(own), position[own].astype(np.intp)]
        return float(np.average(each, weights=weight[own]))

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.allow_nan = True
        return tags

    # --- the steps of a fit -----------------------------------------------------------------------

    def _prepare(
        self, X: Any, y: Any, sample_weight: Any, background_weight: Any
    ) -> tuple[Parts, LabelledRows, list[str]]:
        """Read the data; note the classes; return what is to be solved, and remarks."""
        rows, found, label, weight, dtype = fit_rows(self, X, y, sample_weight)
        label[weight <= 0] = np.nan
        has_labels = np.array([(label == one).any() for one in range(len(found))], dtype=bool)
        if not has_labels.any():
            raise DataError(
                f"None of the {len(rows):,} rows is labelled with weight above 0, so that there is "
                "only one class, the unlabelled. Label some rows."
            )
        self.classes_, positions = prior.settle_classes(found, has_labels, self.classes)
        self.is_labelled_ = np.zeros(len(self.classes_), dtype=bool)
        self.is_labelled_[positions] = True
        order = np.full(len(found), np.nan)
        order[has_labels] = np.arange(has_labels.sum())
        known = ~np.isnan(label)
        label[known] = order[label[known].astype(np.intp)]
        pool = weight
        if background_weight is not None:
            pool = weight * pool_weight(background_weight, len(rows), known & (weight > 0))
        weight, said = label_weight(weight, label, self.weight_kind)
        named = list(getattr(self, "feature_names_in_", []))
        columns = categorical_columns(self.categorical, rows, named)
        self.is_category_ = np.isin(np.arange(rows.n_columns), columns)
        self.pool_weight_ = float(pool.sum())
        n_labelled = int(has_labels.sum())
        parts = prepare(
            rows, label, weight, pool, n_labelled, self, categorical=columns, dtype=dtype
        )
        return parts, LabelledRows.of(rows, label, weight, pool, engine=self.engine), said

    def _shares(self, labelled: LabelledRows) -> Array | None:
        """Settle the default shares of the classes; return bounds for the shares, if any."""
        bounds = prior.bounds_of(self.prevalence, self.prevalence_bounds, self.classes_)
        self.class_prior_from_ = "assumed" if self.prevalence is None else "given"
        if not (isinstance(self.default_prevalence, str) and self.default_prevalence == "auto"):
            self.default_ = prior.shares_of(
                "default_prevalence", self.default_prevalence, self.classes_
            )
        elif labelled.every and self.is_labelled_.all():
            self.default_ = labelled.shares
            if bounds is None:
                self.class_prior_from_ = "observed"
                bounds = np.column_stack([labelled.shares, labelled.shares])
        else:
            self.default_ = prior.shares_of("default_prevalence", 0.5, self.classes_)
        return bounds

    def _robust_arguments(self, bounds: Array | None) -> dict[str, Any] | None:
        """Return what the robust problem needs to know of the classes; None for entropy."""
        if self.objective != "robust":
            return None
        labelled, default = self.is_labelled_, self.default_
        return {
            "default": default[labelled],
            "others": default[~labelled],
            "bounds": None if bounds is None else (bounds[labelled], bounds[~labelled]),
        }

    def _settle(self, parts: Parts, solved: Solved, bounds: Array | None) -> None:
        """Keep what predictions need: knots, lines, and the score at which each class begins."""
        labelled = self.is_labelled_
        self.objective_ = self.objective
        self.features_ = parts.letters
        self.knots_ = [axis.knots for axis in parts.space.axes]
        self.scales_ = [
            axis.knots if axis.scale is None else axis.scale for axis in parts.space.axes
        ]
        self.coef_, self.target_, self.half_width_ = solved.coef, solved.target, solved.half_width
        for name in ("start", "slope", "bend", "bend_seen"):
            kept = np.array([getattr(own, name) for own in solved.lines])
            setattr(self, f"{name}_", kept)
        self.divergence_ = np.zeros(len(self.classes_))
        self.divergence_[labelled] = solved.divergence
        self.n_labelled_ = np.array([box.n for box in parts.boxes])
        self._keep_views(parts)
        if self.objective == "robust":
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
            shares = prior.entropy_shares(self.default_, self.divergence_)
        self.class_prior_ = prior.within_bounds(shares, bounds)
        self.log_partition_ = solved.log_partition
        with np.errstate(divide="ignore"):
            self.offset_ = np.log(self.class_prior_)
        self.offset_[labelled] -= self.log_partition_

    def _report(self, parts: Parts, solved: Solved, said: list[str], seconds: float) -> None:
        self.report_ = FitReport(
            converged=solved.converged,
            certificate=solved.certificate,
            objective=solved.objective,
            passes=solved.passes,
            seconds=seconds,
            warnings=(*self.column_profile_.remarks, *remarks(parts, solved, self), *said),
            proves=solved.proves,
        )

    def _scores(self, X: Any) -> Array:
        check_is_fitted(self)
        own = tilts(self, X)
        scores = np.tile(self.offset_, (len(own), 1))
        scores[:, self.is_labelled_] += own
        return scores

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        check_stored(self)
