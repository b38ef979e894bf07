"""One call for a rare-class table: diverse members, floored, stacked, and compared in the open.

    prob(x) = mean over folds of expit(intercept + sum over members m of weight_m * logit(q_m(x)))
    q_m = (1 - e) * prob_m + e * prevalence, prob_m from the fit of member m without the fold
    e >= floor > 0: nothing is called impossible

What is judged is what is used: the fits without one fold, on whose left-out rows floors, weights
and intercept were chosen, are those that predict. Next to the stack stand the constant, the logit
and the best single member. All are scored on rows that no part of them had seen: every choice,
that of the best member too, is made again without the rows that are scored. Where the stack loses
there, one of the others predicts. Members and fits are in members.py, weights in stack.py. Assumes
independent rows, or groups of rows, of two classes. Gives no intervals: those of tuned fits were
measured to lie.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, Self, cast

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state
from sklearn.utils.validation import check_is_fitted

from scarce.auto.comparison import fold_gain, score_line, text_table
from scarce.auto.members import MEMBERS, PACKAGES, Fitted, fit_members, knots, usable
from scarce.auto.sample import (
    Sample,
    codes_and_weights,
    expanded,
    given_folds,
    merged,
    own_orders,
    relative_weights,
    used_rows,
)
from scarce.auto.stack import FLOORS, Combination, combine, row_log_loss
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, Progress
from scarce.engine.folds import deal_folds, row_groups
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, refuse_word
from scarce.io.inputs import positive_remark, rows_to_fit, rows_to_predict
from scarce.linear.rare import RareClassifier
from scarce.results import FitReport

FEWEST_EVENTS = 10  # of the rarer class: below, folds cannot choose anything
FEWEST_ROWS = 60
FEWEST_FOLDS = 3
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
        Number of folds, 3 or more, stratified by class; or your own, of which the test parts must
        hold every row once. For rows that belong together pass `groups` to `fit`.
    floor : float
        Smallest share of the prevalence mixed into every member's probability. Each member may get
        a larger one, by cross-validated log loss.
    fallback : {"loss", "noise", None}
        When something simpler predicts instead of the stack. "loss": the best member, where the
        stack's log loss on left-out rows is a tenth above its own, or not below the logit's.
        "noise": the logit, where the stack's gain over it is no larger than the standard error over
        folds: the simpler model unless there is a reason. Both: the constant, where the gain over
        that is no larger than its standard error. None: never.
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
        What predicts: "auto" (the stack), a member or "constant" after a fallback; "flic" or
        "constant" if labels are too few.
    fallback_ : str or None
        Why the stack does not predict.
    weights_, floors_, choices_ : dict
        Of each member: weight in what predicts, floor, what its own cross-validation chose.
    stack_intercept_, stack_strength_ : float
        Intercept of what predicts, and the pull of its weights to the plain mean (0: no weights).
    comparison_ : dict of dict
        Of "constant", "logit", "best single" and "auto": log_loss, brier and total (predicted over
        observed), each with its standard error over folds. Scored on left-out rows, for which
        settings, floors, weights and the best single member were chosen anew without them.
    members_ : dict of list
        The members that predict: of each, one fit without every fold, as plain arrays.
    columns_ : ndarray of int
        The (widened) columns that members see, in their own order; columns of one value are out.
    rarer_ : int
        Position in `classes_` of the rarer class: members and intercept speak of its probability.
    prevalence_ : float
        Share of the positive class.
    levels_ : ndarray of int, shape (n_features_in_,)
        Levels of each category, 0 for a number; a category becomes one-hot columns.
    report_ : FitReport

    **Assumes**    report_ : FitReport

    **Assumes** independent rows, or groups of rows, that are a fair sample of the population to
    predict for. Values must be complete unless the members are trees only. Rows that are not
    labelled are not used; copies of a row count as one row of their total weight.

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

    def fit(self, X: Any, y: Any = None, sample_weight: Any = None, groups: Any = None) -> Self:
        """Fit the members, weigh them, and decide whether the stack earns its place.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
            Categories of `Rows` become one-hot columns.
        y : array-like of shape (n,), optional
            Two classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            How much each row counts beside the others; their unit means nothing. A row of
            weight 2 counts as a row and its copy.
        groups : array-like of shape (n,), optional
            Rows of one value belong together (a patient, a place) and stay in one fold; a missing
            value is a group of its own.

        Returns
        -------
        self
        """
        begin = time.perf_counter()
        names = self._names()
        rows, self.classes_ = rows_to_fit(self, X, y, sample_weight, engine=self.engine)
        sample, remarks = self._sample(rows, groups, names)
        names = [n for n in names if n != "spline" or _bends(sample.X) or len(names) == 1]
        self.members_: dict[str, list[Any]] = {}
        self.weights_: dict[str, float] = {}
        self.floors_: dict[str, float] = {}
        self.choices_: dict[str, str] = {}
        self.comparison_: dict[str, dict[str, float]] = {}
        self.fallback_: str | None = None
        self.stack_intercept_, self.stack_strength_ = 0.0, 0.0
        events, total = int(sample.y.sum()), len(sample.y)
        few = self._too_few(events, total, sample)
        if few:
            ended = self._fit_few(sample, events, few, remarks)
        else:
            fitted = fit_members(names, sample, self.engine, self.progress)
            ended = self._weigh(dict(zip(names, fitted, strict=True)), sample, remarks)
        remarks += self._remarks(total)
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

    def _sample(self, rows: Rows, groups: Any, names: Sequence[str]) -> tuple[Sample, list[str]]:
        """Return the labelled rows in an order of their own, in folds, and remarks on them."""
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
        table = rows.fold(used_rows, self.levels_, engine=self.engine)
        if len(np.unique(table.y)) < 2:
            present = ", ".join(repr(self.classes_.tolist()[int(c)]) for c in np.unique(table.y))
            raise DataError(
                "Labelled rows of two classes are needed, and there is only one class with weight "
                f"above 0: {present or 'none'}. Label rows of the other class too."
            )
        self._refuse_missing(table.X, names)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        known = rows.map(codes_and_weights, None, engine=self.engine)
        codes, weight = known[:, 0].astype(np.intp), known[:, 1]
        copies = row_groups(rows, codes, weight, seed=seed, engine=self.engine)
        found = copies
        if groups is not None:
            found = row_groups(rows, codes, weight, groups=groups, seed=seed, engine=self.engine)
        remarks = copies.remarks()
        if given is None:
            n_folds = min(int(cast(int, self.cv)), max(found.fewest(codes), 1))
            folds = deal_folds(found, codes, weight, n_folds)
        else:
            folds = given
            remarks += _separated(found.group[table.row], folds[table.row], groups is not None)
        folds = folds[table.row]
        if copies.copies:
            table, folds = merged(table, copies.group[table.row], folds)
        counts = np.bincount(table.y.astype(np.intp))
        self.rarer_ = int(counts[1] <= counts[0])
        self.prevalence_ = float(table.weight @ table.y / table.weight.sum())
        y, relative = (table.y == self.rarer_) * 1.0, relative_weights(table.weight)
        order, self.columns_ = own_orders(table.X, y, relative)
        X = np.ascontiguousarray(table.X[order][:, self.columns_])
        relative = None if relative is None else relative[order]
        return Sample(X, y[order], relative, folds[order], seed), remarks

    def _refuse_missing(self, X: Array, names: Sequence[str]) -> None:
        needy = [name for name in names if name in NEED_COMPLETE]
        missing = np.isnan(X).sum(axis=0)
        if needy and missing.any():
            column = int(np.flatnonzero(missing)[0])
            raise DataError(
                f"X contains NaN: {int(missing[column]):,} in column {self._column(column)}, and "
                f"the members {' and '.join(needy)} need complete rows. Pass members=['boosting', "
                "'forest'], fill the missing values, or use GaussianBayes, which takes them as "
                "they are."
            )

    def _column(self, wide: int) -> str:
        """Return the name of a column of the widened rows."""
        ends = np.cumsum(np.maximum(self.levels_, 1))
        position = int(np.searchsorted(ends, wide, side="right"))
        names = getattr(self, "feature_names_in_", None)
        return repr(str(names[position])) if names is not None else str(position)

    def _too_few(self, events: int, total: int, sample: Sample) -> str:
        """Say why no model can be chosen on left-out rows; empty where one can."""
        if events < FEWEST_EVENTS or total < FEWEST_ROWS:
            return (
                f"{total:,} rows with {events:,} of the rarer class are too few to choose between "
                f"models (needed: {FEWEST_ROWS} and {FEWEST_EVENTS}). Label more rows."
            )
        if not len(self.columns_):
            return "No column has two different values: there is nothing to learn from."
        folds = np.unique(sample.folds)
        for part in sample.parts():
            for fold in folds.tolist():
                kept = sample.y[~sample.inside(part | {fold})]
                if len(folds) < FEWEST_FOLDS or len(np.unique(kept)) < 2:
                    return (
                        "The rows of one class are in too few groups to choose between models: "
                        f"{FEWEST_FOLDS} folds are needed, and both classes without any two of "
                        "them. Label rows of other groups."
                    )
        return ""

    def _remarks(self, total: int) -> list[str]:
        remarks = positive_remark(self.classes_, [1.0 - self.prevalence_, self.prevalence_])
        if total < NO_EDGE_ROWS:
            remarks.append(
                f"{total:,.0f} rows: below about {NO_EDGE_ROWS}, a stack of several models was not "
                "found to be better than a single one."
            )
        return remarks

    def _fit_few(self, sample: Sample, events: int, why: str, remarks: list[str]) -> Any:
        """With few labels: Firth's logistic with a refitted intercept, or the prevalence alone."""
        columns = 0 if np.isnan(sample.X).any() else sample.X.shape[1]
        remarks.insert(0, why)
        if not 0 < 2 * columns <= events:
            self.chosen_ = "constant"
            self.stack_intercept_ = float(logit(np.average(sample.y, weights=sample.weight)))
            remarks.insert(
                1, "Predicts the prevalence for every row: fewer than 2 events for each column."
            )
            return FitReport(True, 0.0, 0.0, passes=1, seconds=0.0, proves="closed form")
        self.chosen_ = "flic"
        remarks.insert(1, "Predicts with Firth's logistic regression, its intercept refitted.")
        model = RareClassifier("logistic", ridge=0, bias_reduction="flic", keep_rows=False)
        self.members_["flic"] = [model.fit(sample.X, sample.y, sample_weight=sample.weight)]
        self.floors_["flic"], self.weights_["flic"] = float(self.floor), 1.0
        return model.report_

    def _weigh(self, fitted: Mapping[str, Fitted], sample: Sample, remarks: list[str]) -> FitReport:
        """Combine the members, score every way on rows that it had not seen, and choose one."""
        names, members = list(fitted), list(fitted.values())
        floors = sorted({max(float(self.floor), e) for e in FLOORS})
        plain = names.index("logit") if "logit" in names else None
        prob = np.array([member.whole.left_out for member in members])
        ways, best = combine(
            prob, sample.y, sample.weight, sample.folds, floors=floors, plain=plain
        )
        scores = {way: np.empty(len(sample.y)) for way in ways}
        for number, part in enumerate(sample.parts()):
            inside = sample.inside(part)
            kept = np.flatnonzero(~inside)
            tried, _ = combine(
                np.array([member.trials[number].left_out[kept] for member in members]),
                sample.y[kept],
                None if sample.weight is None else sample.weight[kept],
                sample.folds[kept],
                floors=floors,
                plain=plain,
            )
            judged = np.array([member.trials[number].judged for member in members])
            for way, combination in tried.items():
                scores[way][inside] = combination.score(judged)
        single = names[best]
        sign, weight = (1.0 if self.rarer_ else -1.0), sample.weights
        self.comparison_ = {
            f"best single ({single})" if way == "best single" else way: score_line(
                sample.y if self.rarer_ else 1.0 - sample.y, sign * score, weight, sample.folds
            )
            for way, score in scores.items()
        }
        losses = {way: row_log_loss(sample.y, score) for way, score in scores.items()}
        way = self._decide(single, len(names) > 1, losses, weight, sample.folds, remarks)
        used = ways[way]
        self.chosen_ = single if way == "best single" else way
        self.stack_intercept_, self.stack_strength_ = used.intercept, float(used.strength)
        self.weights_ = dict(zip(names, used.weights.tolist(), strict=True))
        self.floors_ = dict(zip(names, used.floors.tolist(), strict=True))
        self.choices_ = {name: member.chosen for name, member in fitted.items()}
        self.members_ = {n: fitted[n].models for n, w in self.weights_.items() if w > 0}
        assert ways["auto"].report is not None
        return ways["auto"].report

    def _decide(
        self,
        single: str,
        several: bool,
        losses: Mapping[str, Array],
        weight: Array,
        folds: NDArray[np.intp],
        remarks: list[str],
    ) -> str:
        """Return what predicts, as `fallback` asks: the stack where it earns its place."""
        mean = {way: float(weight @ loss / weight.sum()) for way, loss in losses.items()}
        plain = "logit" if "logit" in losses else "best single"
        gain, error = fold_gain(losses[plain], losses["auto"], weight, folds)
        sure = gain > (error if self.fallback == "noise" else 0.0)
        way = "auto"
        if several and self.fallback == "loss":
            worse = mean["auto"] > WORSE * mean["best single"]
            way = "best single" if worse or not sure else way
        elif several and self.fallback == "noise":
            way = way if sure else plain
        over, over_error = fold_gain(losses["constant"], losses[way], weight, folds)
        if self.fallback is not None and not over > over_error:
            self.fallback_ = (
                "Predicts the prevalence for every row: no model gains anything certain over it in "
                f"log loss on left-out rows ({mean[way]:.3g} against {mean['constant']:.3g}, "
                f"standard error {over_error:.2g})."
            )
            way = "constant"
        elif way != "auto":
            name = single if way == "best single" else way
            self.fallback_ = (
                f"Predicts with {name} alone: auto gains nothing certain over it in log loss on "
                f"left-out rows ({mean['auto']:.3g} against {mean[way]:.3g})."
            )
        if self.fallback_ is not None:
            remarks.insert(0, self.fallback_)
        if way != "constant" and not over > over_error:
            remarks.append(
                "The gain in log loss over a constant probability on left-out rows is inside its "
                f"noise ({over:.2g}, standard error {over_error:.2g})."
            )
        elif way == "auto" and several and not gain > error:
            name = single if plain == "best single" else plain
            remarks.append(
                f"Auto's gain in log loss over {name} on left-out rows is inside its noise "
                f"({gain:.2g}, standard error {error:.2g}): {name} alone is as good here."
            )
        return way

    def _score_block(self, block: Block, _: None) -> Array:
        """Kernel of the map: log-odds of a block of rows."""
        X, names = expanded(block.X, self.levels_), list(self.members_)
        self._refuse_missing(X, list(self.weights_) or self._names())
        X = np.ascontiguousarray(X[:, self.columns_])
        fits = len(self.members_[names[0]]) if names else 1
        prob = np.empty((len(names), fits, len(X)))
        for place, name in enumerate(names):
            for fit, model in enumerate(self.members_[name]):
                prob[place, fit] = np.asarray(model.predict_proba(X))[:, 1]
        combination = Combination(
            np.array([self.floors_[name] for name in names]),
            np.array([self.weights_[name] for name in names]),
            self.stack_intercept_,
            self.prevalence_ if self.rarer_ else 1.0 - self.prevalence_,
        )
        return combination.score(prob) * (1.0 if self.rarer_ else -1.0)

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        if not hasattr(self, "columns_"):
            raise DataError("The file is of an earlier version, whose models are no longer read.")
        names, wide = list(self.members_), int(np.maximum(self.levels_, 1).sum())
        if self.chosen_ not in ["constant", "auto", *names] or not (
            names or self.chosen_ == "constant"
        ):
            raise DataError(f"chosen_ is {self.chosen_!r}, and the members are {names}.")
        if self.levels_.shape != (self.n_features_in_,) or len(self.classes_) != 2:
            raise DataError("levels_ or classes_ do not fit the columns and two classes.")
        if self.columns_.ndim != 1 or not np.isin(self.columns_, np.arange(wide)).all():
            raise DataError(f"columns_ do not fit {wide} columns.")
        if self.rarer_ not in (0, 1) or not 0 < self.prevalence_ < 1:
            raise DataError("rarer_ is no position of two classes, or prevalence_ no share.")
        numbers = [self.stack_intercept_, *(self.weights_[name] for name in names)]
        if not np.isfinite(numbers).all() or min([0.0, *numbers[1:]]) < 0:
            raise DataError("A weight is below 0, or a weight or the intercept is not finite.")
        if len({len(models) for models in self.members_.values()}) > 1:
            raise DataError("The members have different numbers of fits.")
        for name, models in self.members_.items():
            fits = {model.n_features_in_ for model in models}
            if fits != {len(self.columns_)} or not 0 < self.floors_[name] < 1:
                raise DataError(
                    f"The member {name!r} does not fit {len(self.columns_)} columns, or its floor."
                )


def _separated(group: Any, folds: Any, given: bool) -> list[str]:
    """Refuse folds of the caller that cut groups apart; say so where they cut copies apart."""
    cut = len(np.unique(np.column_stack([group, folds]), axis=0)) - len(np.unique(group))
    if cut and given:
        raise UsageError(
            "cv puts rows of one group into different folds. Leave cv a number, or groups away."
        )
    if not cut:
        return []
    return [
        f"cv puts {cut:,} copies of rows into other folds than the rows themselves: left-out "
        "scores are too good. Pass cv as a number, which keeps copies together."
    ]


def _bends(X: Array) -> bool:
    """Whether some column has enough different values for a spline to differ from a line."""
    return any(len(knots(column)) > 0 for column in X.T if not np.isnan(column).any())
