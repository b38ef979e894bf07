"""One call for a rare-class table: diverse members, floored, stacked, and compared in the open.

    log-odds(x) = intercept + sum over members of weight_m * logit(floored prob_m(x))
    floored prob = (1 - e) * prob + e * prevalence,   e >= floor > 0: nothing is called impossible

Members, folds and choices are in members.py, weights in stack.py. Next to the stack stand the
constant, the logit and the best single member, scored on rows that no part of them had seen; where
the stack loses there to its best member or the logit, that member predicts. Assumes independent
rows of two classes. Gives no intervals: those of tuned fits were measured to lie.
"""

from __future__ import annotations

import math
import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from scarce.errors import DataError, UsageError, refuse_word
from scarce.models.compare import constant_scores, fold_gain, score_line, text_table
from scarce.models.inputs import positive_remark, rows_to_fit, rows_to_predict
from scarce.models.members import MEMBERS, PACKAGES, Fitted, fit_members, knots, usable
from scarce.models.rare import RareClassifier
from scarce.models.sample import (
    Sample,
    expanded,
    given_folds,
    own_order,
    stratified_folds,
    used_rows,
)
from scarce.models.stack import choose_stack, clipped, nested_scores, row_log_loss
from scarce.records import FitReport
from scarce.rows import Block, Rows
from scarce.rows.block import Array
from scarce.rows.engines import Engine, Progress

FLOORS = (0.001, 0.003, 0.01, 0.03, 0.1)
FEWEST_EVENTS = 10  # of the rarer class: below, folds cannot choose anything
FEWEST_ROWS = 60
WORSE = 1.1  # a stack whose loss exceeds its best member's by so much has failed
NO_EDGE_ROWS = 350  # below, no edge over a single CatBoost was measured
NEED_COMPLETE = ("logit", "spline", "flic")


class AutoClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """Probabilities from a stack of diverse models, with the plain ones beside it.

    Parameters
    ----------
    members : "auto" or list of str
        Of "logit", "spline", "boosting", "forest", "catboost", "lightgbm". "auto" takes all that
        are installed; the first four always are.
    cv : int, or list of (train, test) positions
        Folds, stratified by class; or your own, such as `list(GroupKFold(5).split(X, y, groups))`,
        of which the test parts must hold every row once.
    floor : float
        Smallest share of the prevalence mixed into every member's probability. Each member may get
        a larger one, by cross-validated log loss.
    fallback : {"loss", "noise", None}
        When one member predicts instead of the stack. "loss": the best one, where the stack's log
        loss on left-out rows is a tenth above its own, or not below the logit's. "noise": the
        logit, where the stack's gain over it is no larger than the standard error over folds: the
        simpler model unless there is a reason. None: never.
    random_state : int, RandomState or None
        Seeds folds and trees. The default makes the same rows, in any order, give the same model;
        None draws a new seed.
    engine : None, "threads", "processes", Executor or Dask client
        Who fits the members.
    progress : callable, optional
        Called as progress(done, total) after each step, such as a member without one fold, with
        an engine after each member.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
    chosen_ : str
        What predicts: "auto" (the stack), a member after a fallback, "flic" or "constant" if labels
        are too few.
    fallback_ : str or None
        Why the stack does not predict.
    weights_, floors_, choices_ : dict
        Of each member: weight in the stack, floor, what its own cross-validation chose.
    stack_intercept_, stack_strength_ : float
    comparison_ : dict of dict
        Of "constant", "logit", "best single" and "auto": log_loss, brier and total (predicted over
        observed), each with its standard error over folds; all from left-out rows.
    members_ : dict
        The fitted members that predict, as plain arrays.
    prevalence_ : float
    levels_ : ndarray of int, shape (n_features_in_,)
        Levels of each category, 0 for a number; a category becomes columns of 0 and 1.
    report_ : FitReport

    **Assumes** independent rows that are a fair sample of the population to predict for. Values
    must be complete unless the members are trees only. Rows that are not labelled are not used.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(400, 2))
    >>> y = rng.random(400) < 1 / (1 + np.exp(2 - 3 * X[:, 0] * (X[:, 1] > 0)))
    >>> model = AutoClassifier(["logit", "spline", "forest"]).fit(X, y)
    >>> model.chosen_
    'auto'
    >>> model.predict_proba([[2.0, 1.0], [2.0, -1.0]])[:, 1].round(1)
    array([0.9, 0.3])
    """

    _runtime_params = ("engine", "progress")

    def __init__(
        self,
        members: str | Sequence[str] = "auto",
        *,
        cv: int | Sequence[tuple[Any, Any]] = 5,
        floor: float = 0.001,
        fallback: str | None = "loss",
        random_state: Any = 0,
        engine: Engine = None,
        progress: Progress | None = None,
    ) -> None:
        self.members = members
        self.cv = cv
        self.floor = floor
        self.fallback = fallback
        self.random_state = random_state
        self.engine = engine
        self.progress = progress

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None) -> Self:
        """Fit the members, weigh them, and decide whether the stack earns its place.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
            Categories of `Rows` become columns of 0 and 1.
        y : array-like of shape (n,), optional
            Two classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            Whole numbers count as so many rows; others are scaled to a mean of 1.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        names = self._names()
        rows, self.classes_ = rows_to_fit(self, X, y, sample_weight, engine=self.engine)
        sample, events, total = self._sample(rows)
        names = [n for n in names if n != "spline" or _bends(sample.X) or len(names) == 1]
        self._refuse_holes(sample.X, names)
        weight = np.ones(len(sample.y)) if sample.weight is None else sample.weight
        self.prevalence_ = float(weight @ sample.y / weight.sum())
        self.members_: dict[str, Any] = {}
        self.weights_: dict[str, float] = {}
        self.floors_: dict[str, float] = {}
        self.choices_: dict[str, str] = {}
        self.comparison_: dict[str, dict[str, float]] = {}
        self.fallback_: str | None = None
        self.stack_intercept_, self.stack_strength_ = 0.0, math.inf
        remarks = self._remarks(events, total)
        if events < FEWEST_EVENTS or total < FEWEST_ROWS:
            ended = self._fit_few(sample, events, total, remarks)
        else:
            fitted = fit_members(names, sample, self.engine, self.progress)
            ended = self._weigh(dict(zip(names, fitted, strict=True)), sample, weight, remarks)
        self.report_ = FitReport(
            converged=ended.converged,
            certificate=float(ended.certificate),
            objective=float(ended.objective),
            passes=int(ended.passes),
            seconds=time.perf_counter() - begin,
            warnings=(*self.column_profile_.remarks, *remarks),
            proves=ended.proves,
        )
        return self

    def decision_function(self, X: Any) -> Array:
        """Return the log-odds of the positive class, shape (n,)."""
        check_is_fitted(self)
        rows = rows_to_predict(self, X, engine=self.engine)
        return rows.map(self._score_block, engine=self.engine)

    def predict_proba(self, X: Any) -> Array:
        """Return both classes' probabilities, shape (n, 2)."""
        score = self.decision_function(X)
        return np.column_stack([expit(-score), expit(score)])

    def predict(self, X: Any) -> NDArray[Any]:
        """Return the more probable class of each row."""
        positive = self.decision_function(X) > 0
        return np.asarray(self.classes_[positive.astype(np.intp)])

    def predict_interval(self, X: Any, *, level: float = 0.9) -> NoReturn:
        """Refuse: intervals of tuned and stacked fits do not cover what they promise."""
        raise UsageError(
            "AutoClassifier gives no intervals: 90 % intervals of a tuned ridge covered the truth "
            "in only 73 to 84 % of simulated cases. For intervals fit one untuned model: "
            'RareClassifier("logistic", ridge=0, bias_reduction="flic").fit(X, y)'
            ".predict_interval(X)."
        )

    def summary(self) -> str:
        """Return the comparison, the weights and the remarks as a plain text table."""
        check_is_fitted(self)
        lines = text_table(self.comparison_, self.weights_, self.floors_, self.choices_)
        if not self.comparison_:
            lines = ["Too few labels to compare models on left-out rows."]
        lines += ["", f"predicts: {self.chosen_}"]
        return "\n".join([*lines, *(f"remark: {remark}" for remark in self.report_.warnings)])

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.classifier_tags.multi_class = False
        tags.input_tags.allow_nan = not set(NEED_COMPLETE) & set(
            MEMBERS if isinstance(self.members, str) else self.members
        )
        return tags

    def _names(self) -> list[str]:
        """Return the members to fit, or refuse what cannot be fitted."""
        if not 0 < self.floor < 0.5:
            raise UsageError(
                f"floor={self.floor!r} must lie between 0 and 0.5, both excluded: without a floor "
                "one unlikely event costs an infinite loss. Give 0.001."
            )
        if self.fallback is not None:
            refuse_word("fallback", self.fallback, ("loss", "noise"))
        here = usable()
        if isinstance(self.members, str):
            refuse_word("members", self.members, ("auto",))
            return here
        names = list(dict.fromkeys(self.members))
        if not names:
            raise UsageError(f"members={self.members!r} is empty. Give some of {list(MEMBERS)}.")
        for name in names:
            refuse_word("members", name, tuple(MEMBERS))
            if name not in here:
                raise UsageError(
                    f"members names {name!r}, and its package is not installed. Type: pip install "
                    f"{PACKAGES[name]}."
                )
        return names

    def _sample(self, rows: Rows) -> tuple[Sample, float, float]:
        """Return the labelled rows in an order of their own, events of the rarer class, rows."""
        if len(self.classes_) > 2:
            raise DataError(
                "Only binary classification is supported. The type of the target is multiclass. "
                f"There are {len(self.classes_)} classes: fit one AutoClassifier per class, or use "
                "a model of several classes such as GaussianBayes."
            )
        self.levels_ = np.array(
            [len(c.levels) if c.kind == "category" else 0 for c in rows.schema.columns],
            dtype=np.int64,
        )
        given = given_folds(self.cv, len(rows))
        table = rows.fold(used_rows, (self.levels_, given), engine=self.engine)
        table = table[own_order(table)]
        X, (y, weight, dealt) = np.ascontiguousarray(table[:, :-3]), table[:, -3:].T.copy()
        if len(np.unique(y)) < 2:
            present = ", ".join(repr(self.classes_.tolist()[int(code)]) for code in np.unique(y))
            raise DataError(
                "Labelled rows of two classes are needed, and there is only one class with weight "
                f"above 0: {present or 'none'}. Label rows of the other class too."
            )
        if not (weight == np.round(weight)).all():
            weight = weight / weight.mean()
        counted = weight if (weight == np.round(weight)).all() else np.ones(len(y))
        sums = np.bincount(y.astype(np.intp), weights=counted)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        folds = dealt.astype(np.intp)
        if isinstance(self.cv, (int, np.integer)):
            folds = stratified_folds(y, int(self.cv), seed)
        plain = bool((weight == 1.0).all())
        sample = Sample(X, y, None if plain else weight, folds, seed)
        return sample, float(sums.min()), float(sums.sum())

    def _refuse_holes(self, X: Array, names: Sequence[str]) -> None:
        needy = [name for name in names if name in NEED_COMPLETE]
        holes = np.isnan(X).sum(axis=0)
        if needy and holes.any():
            column = int(np.flatnonzero(holes)[0])
            raise DataError(
                f"X contains NaN: {int(holes[column]):,} in column {self._column(column)}, and the "
                f"members {' and '.join(needy)} need complete rows. Pass members=['boosting', "
                "'forest'], fill the holes, or use GaussianBayes, which takes them as they are."
            )

    def _column(self, wide: int) -> str:
        """Return the name of a column of the widened rows."""
        ends = np.cumsum(np.maximum(self.levels_, 1))
        position = int(np.searchsorted(ends, wide, side="right"))
        names = getattr(self, "feature_names_in_", None)
        return repr(str(names[position])) if names is not None else str(position)

    def _remarks(self, events: float, total: float) -> list[str]:
        remarks = positive_remark(self.classes_, [1.0 - self.prevalence_, self.prevalence_])
        if total < NO_EDGE_ROWS:
            remarks.append(
                f"{total:,.0f} rows: below about {NO_EDGE_ROWS}, a stack of several models was not "
                "found to be better than a single one."
            )
        if events < FEWEST_EVENTS or total < FEWEST_ROWS:
            remarks.insert(
                0,
                f"{total:,.0f} rows with {events:,.0f} of the rarer class are too few to choose "
                f"between models (needed: {FEWEST_ROWS} and {FEWEST_EVENTS}). Label more rows.",
            )
        return remarks

    def _fit_few(self, sample: Sample, events: float, total: float, remarks: list[str]) -> Any:
        """With few labels: Firth's logistic with a refitted intercept, or the prevalence alone."""
        columns = int((np.ptp(sample.X, axis=0) > 0).sum()) if not np.isnan(sample.X).any() else 0
        if not 0 < 2 * columns <= events:
            self.chosen_ = "constant"
            remarks.insert(
                1, "Predicts the prevalence for every row: fewer than 2 events for each column."
            )
            return FitReport(True, 0.0, 0.0, passes=1, seconds=0.0, proves="closed form")
        self.chosen_ = "flic"
        remarks.insert(1, "Predicts with Firth's logistic regression, its intercept refitted.")
        model = RareClassifier("logistic", ridge=0, bias_reduction="flic", keep_rows=False)
        self.members_["flic"] = model.fit(sample.X, sample.y, sample_weight=sample.weight)
        self.floors_["flic"] = float(self.floor)
        return model.report_

    def _weigh(
        self, fitted: Mapping[str, Fitted], sample: Sample, weight: Array, remarks: list[str]
    ) -> FitReport:
        y, folds = sample.y, sample.folds
        scores = {}
        for name, member in fitted.items():
            options = sorted({max(float(self.floor), e) for e in FLOORS})
            trials = [self._floored(member.left_out, e) for e in options]
            losses = [float(weight @ row_log_loss(y, trial)) for trial in trials]
            best = int(np.argmin(losses))
            scores[name], self.floors_[name] = trials[best], options[best]
            self.choices_[name] = member.chosen
        table = np.column_stack(list(scores.values()))
        stack = choose_stack(table, y, sample.weight, folds)
        self.weights_ = dict(zip(fitted, stack.weights.tolist(), strict=True))
        self.stack_intercept_, self.stack_strength_ = stack.intercept, stack.strength
        lines = {name: score_line(y, score, weight, folds) for name, score in scores.items()}
        single = min(lines, key=lambda name: lines[name]["log_loss"])
        nested = nested_scores(table, y, sample.weight, folds)
        constant = score_line(y, constant_scores(y, weight, folds), weight, folds)
        self.comparison_ = {"constant": constant}
        if "logit" in lines:
            self.comparison_["logit"] = lines["logit"]
        self.comparison_[f"best single ({single})"] = lines[single]
        self.comparison_["auto"] = score_line(y, nested, weight, folds)
        plain = "logit" if "logit" in lines else single
        self._decide(single, plain, scores, nested, sample, weight, remarks)
        if self.fallback_ is not None:
            remarks.insert(0, self.fallback_)
        predicting = [n for n, w in self.weights_.items() if w > 0]
        if self.chosen_ != "auto":
            predicting = [self.chosen_]
        self.members_ = {name: fitted[name].model for name in predicting}
        return stack.report

    def _decide(
        self,
        single: str,
        plain: str,
        scores: Mapping[str, Array],
        nested: Array,
        sample: Sample,
        weight: Array,
        remarks: list[str],
    ) -> None:
        """Keep the stack where it earns its place on left-out rows, as `fallback` asks."""
        after = row_log_loss(sample.y, nested)
        losses = {name: row_log_loss(sample.y, scores[name]) for name in (single, plain)}
        gain, error = fold_gain(losses[plain], after, weight, sample.folds)
        seen = f"{gain:.3g} with a standard error of {error:.3g} over folds"
        self.chosen_ = "auto"
        if self.fallback == "loss" and len(scores) > 1:
            best, stacked = weight @ losses[single], weight @ after
            if stacked > WORSE * best or not gain > 0:
                self.chosen_ = single
                total = weight.sum()
                seen = f"{stacked / total:.3g} against {best / total:.3g}"
        elif self.fallback == "noise" and len(scores) > 1 and not gain > error:
            self.chosen_ = plain
        if self.chosen_ != "auto":
            self.fallback_ = (
                f"Predicts with {self.chosen_} alone: auto gains nothing certain over it in log "
                f"loss on left-out rows ({seen})."
            )
        elif len(scores) > 1 and not gain > error:
            remarks.append(
                f"Auto's gain in log loss over {plain} on left-out rows is inside its noise "
                f"({seen}): {plain} alone is as good here."
            )

    def _floored(self, prob: Array, share: float) -> Array:
        """Return log-odds of a probability mixed with a share of the prevalence."""
        return np.asarray(logit((1.0 - share) * prob + share * self.prevalence_))

    def _score_block(self, block: Block, _: None) -> Array:
        """Kernel of the map: log-odds of a block of rows."""
        X = expanded(block.X, self.levels_)
        self._refuse_holes(X, list({**self.weights_, **self.members_}) or self._names())
        scores = {
            name: self._floored(np.asarray(model.predict_proba(X))[:, 1], self.floors_[name])
            for name, model in self.members_.items()
        }
        if self.chosen_ == "constant":
            return np.full(len(X), float(logit(self.prevalence_)))
        if self.chosen_ != "auto":
            return scores[self.chosen_]
        total = np.full(len(X), self.stack_intercept_)
        for name, score in scores.items():
            total += self.weights_[name] * clipped(score)
        return total

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        if not 0 < self.prevalence_ < 1:
            raise DataError(f"prevalence_ is {self.prevalence_!r}, not between 0 and 1.")
        names = list(self.members_)
        if self.chosen_ not in (["constant", "auto"] if not names else ["auto", *names]):
            raise DataError(f"chosen_ is {self.chosen_!r}, and the members are {names}.")
        wide = int(np.maximum(self.levels_, 1).sum())
        if self.levels_.shape != (self.n_features_in_,) or len(self.classes_) != 2:
            raise DataError("levels_ or classes_ do not fit the columns and two classes.")
        for name, model in self.members_.items():
            if model.n_features_in_ != wide or not 0 < self.floors_[name] < 1:
                raise DataError(f"The member {name!r} does not fit {wide} columns, or its floor.")
            if self.chosen_ == "auto" and not self.weights_[name] >= 0:
                raise DataError(f"The weight of {name!r} is below 0.")


def _bends(X: Array) -> bool:
    """Whether some column has enough different values for a spline to differ from a line."""
    return any(len(knots(column)) > 0 for column in X.T if not np.isnan(column).any())
