"""One call for a rare-class table: diverse members, floored, stacked, and compared in the open.

    prob(x) = mean over folds of expit(intercept + sum over members m of weight_m * logit(q_m(x)))
    q_m = (1 - e) * prob_m + e * prevalence, prob_m from the fit of member m without the fold
    e >= floor > 0: nothing is called impossible

The fits that are judged are those that predict: each without one fold, on whose left-out rows
floors, weights and intercept were chosen. Beside the stack stand the constant, the logit and the
best single member. All are scored on rows that no part of them had seen: every choice, that of the
best member too, is made again without the rows that are scored (in large tables, every choice but
that of members' settings). Where the stack loses there, one of the others predicts. Members and
fits are in members.py, weights in stack.py. Assumes independent rows, or groups of rows, of two
classes or several. Gives no intervals: the measured coverage of intervals of tuned fits is too low.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn, Self, cast

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, logit, softmax
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils import check_random_state, get_tags
from sklearn.utils.validation import check_is_fitted

from scarce.auto.bands import RowBands, ScoreBands, cut_bands
from scarce.auto.classes import (
    class_words,
    fit_classes,
    judgeable,
    one_vs_rest,
)
from scarce.auto.comparison import class_line, fold_gain, score_line, text_table
from scarce.auto.drivers import Drivers, Kept, find_drivers, keep_some
from scarce.auto.forms import FORMS, SHARE, Inputs, which_marked
from scarce.auto.incomplete import (
    APART,
    IncompleteWeights,
    Learner,
    blended,
    form_of,
    gaussian_fits,
    missing_share,
    raised_usual,
)
from scarce.auto.judging import (
    Judged,
    StackFit,
    judge,
    judge_several,
    losses_of,
    mean_scores,
)
from scarce.auto.logits import knots
from scarce.auto.members import (
    DEFAULT,
    MEMBERS,
    MOST_GAUSSIAN,
    PACKAGES,
    Model,
    Sample,
    fit_members,
    usable,
)
from scarce.auto.own import Own, read_members
from scarce.auto.softmax import ClassCombination
from scarce.auto.stack import FLOORS, Combination
from scarce.checks import (
    NONE,
    Constraint,
    Number,
    Word,
    check_parameters,
    read_level,
    refuse_one_class,
    refuse_other_index,
)
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, Progress
from scarce.engine.folds import deal_folds, mix_bits, read_splits, row_groups
from scarce.engine.rows import Rows
from scarce.errors import (
    DataError,
    Phrase,
    Problem,
    ScarceError,
    UsageError,
    inconsistent_model,
    listed,
    refuse_word,
)
from scarce.io.inputs import positive_remark, rows_to_fit, rows_to_predict
from scarce.linear.rare import RareClassifier
from scarce.missing.front import Front, fit_front
from scarce.missing.more import AT_RANDOM, NORMAL, missing_by_column, warn_if_more_missing
from scarce.results import FitReport

Ids = NDArray[np.intp]
Split = tuple[Ids, Ids]  # positions of the rows to fit on and of those left out
Words = NDArray[np.uint64]
FEWEST_EVENTS = 10  # of the rarer class: below, folds cannot choose anything
FEWEST_ROWS = 60
FEWEST_FOLDS = 3
CHOSEN_ERRORS = 2.0  # standard errors of a clear gain where settings have seen the rows' loss
WORSE = 1.1  # a stack has failed if its loss is this many times its best member's
NO_EDGE_ROWS = 350  # below, no advantage over a single CatBoost was measured
REPEATS, REPEATED_ROWS = 3, 2000  # of repeats="auto"
WEIGHT_DIGITS = 12  # of a weight in units of the mean: the last bits depend on its unit
WIDEST_FRONT = 500  # columns up to which complete rows teach what a missing value would be
PARAMETERS: dict[str, list[Constraint]] = {
    "floor": [Number(0, 0.5, open_low=True, open_high=True)],
    "fallback": [Word("loss", "noise"), NONE],
    "repeats": [Word("auto"), Number(1, 100, whole=True)],
}


class AutoClassifier(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A stack of diverse models, compared in the open with the plain ones.

    Parameters
    ----------
    members : "auto" or list
        Of "logit", "spline", "boosting", "forest", "extra-trees", "kernel", and, where they are
        installed, "catboost" and "lightgbm". "auto" takes the first six. Estimators of your own
        join as pairs of a name and a classifier, such as ``["default", ("mine", SVC())]``
        ("default" stands for those that "auto" takes). They are fitted on clones and judged as all
        members are, and see the columns in your order, categories as one-hot columns, missing
        values as NaN, classes as 0 and 1.
    cv : int, or list of (train, test) positions
        Number of folds, 3 or more, stratified by class; or your own, of which the test parts must
        hold every row once. For rows that belong together pass `groups` to `fit`.
    floor : float
        Smallest share of the prevalence mixed into every member's probability. Each member may get
        a larger one, by cross-validated log loss.
    fallback : {"loss", "noise", None}
        When something simpler predicts instead of the stack. "loss": the best member, where the
        stack's log loss on left-out rows is a tenth above its own, or not below the logit's.
        "noise": the logit, where the stack's gain over it is within one standard error over folds.
        Both: the constant, where the gain over that is within one standard error. None: never. Two
        standard errors from 3,000 rows and 200 of the rarer class on.
    repeats : "auto" or int
        How many times everything is fitted with other folds; log-odds are averaged. "auto": 3
        times where the choice of what predicts is within one standard error and there are at most
        2,000 rows, else once.
    random_state : int, RandomState or None
        Seeds folds and trees. The default makes the same rows, in any order, give the same model;
        None draws a new seed.
    engine : None, "threads", "processes", Executor or Dask client
        What fits the members.
    progress : callable, optional
        Called as progress(done, total, words) after each fit of a member, or without the words if
        it takes only two arguments; with an engine after each member.

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
        Intercept of what predicts, and strength of the penalty that pulls its weights to the plain
        mean (0: no weights).
    comparison_ : dict of dict
        Of "constant", "logit", "best single" and "auto": log_loss, brier and total (predicted over
        observed), each with its standard error over folds. Scored on left-out rows; settings,
        floors, weights and the best single member were chosen again without them. From 3,000 rows
        and 200 of the rarer class on, settings were not, and each row is scored by one fit.
    members_ : dict of list
        The members that predict: of each, one fit without each fold, as plain arrays.
    others_ : list of StackFit
        Members, weights and intercept of further draws of folds (`repeats`), averaged with these.
    columns_ : ndarray of int
        The (one-hot) columns that members see, in their own order; constant columns are left out.
    bands_ : ScoreBands or None
        Bands of left-out scores, and how often the event happened in each: see `predict_band`.
    drivers_ : Drivers
        What `drivers` returned; there after it was asked for, and in a model that was loaded.
    front_ : Front or None
        What stands for missing values: one normal distribution of these columns, fitted without
        labels. None if complete rows of more than 500 columns were given.
    marked_, often_missing_ : ndarray
        Columns of which forests are told whether a value is missing, each pattern once; and
        whether a column missed enough values for boosting to learn from it.
    incomplete_, spare_members_, usual_missing_
        For rows of which a larger share of the columns is missing than `usual_missing_`, which nine
        in ten training rows do not exceed (more, where the stack is clearly better on those that
        do): floors, weights and intercept at some larger shares, and the fits of the members that
        count only there.
    rarer_ : int
        Position in `classes_` of the rarer class, whose probability members and intercept give.
    prevalence_ : float
        Prevalence of the positive class.
    levels_ : ndarray of int, shape (n_features_in_,)
        Levels of each category, 0 for a number; a category becomes one-hot columns.
    report_ : FitReport

    **Assumes** independent rows, or groups of rows, that are a fair sample of the population to
    predict for, and values that are missing at random given those seen. Unlabelled rows are not
    used; copies of a row count as one row of their total weight.

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
        members: str | Sequence[str | tuple[str, BaseEstimator]] = "auto",
        *,
        cv: int | Sequence[Split] = 5,
        floor: float = 0.001,
        fallback: str | None = "loss",
        repeats: str | int = "auto",
        random_state: int | np.random.RandomState | None = 0,
        engine: Engine = None,
        progress: Progress | None = None,
    ) -> None:
        self.members = members
        self.cv = cv
        self.floor = floor
        self.fallback = fallback
        self.repeats = repeats
        self.random_state = random_state
        self.engine = engine
        self.progress = progress

    # --- learning ---------------------------------------------------------------------------------

    def fit(
        self,
        X: ArrayLike | Rows,
        y: ArrayLike | None = None,
        sample_weight: ArrayLike | None = None,
        groups: ArrayLike | None = None,
    ) -> Self:
        """Fit the members, weigh them, and decide whether the stack predicts.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
            Categories of `Rows` become one-hot columns.
        y : array-like of shape (n,), optional
            Two classes; NaN, None or NA where a row is not labelled.
        sample_weight : array-like of shape (n,), optional
            How much each row counts relative to the others; their unit does not matter. A row of
            weight 2 counts as a row and its copy.
        groups : array-like of shape (n,), optional
            Rows of one value belong together (a patient, a place) and stay in one fold; a missing
            value is a group of its own.

        Returns
        -------
        self
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight, groups=groups)
        begin = time.perf_counter()
        check_parameters(self, PARAMETERS)
        names = self._names()
        rows, self.classes_ = rows_to_fit(self, X, y, sample_weight, engine=self.engine)
        seed = int(check_random_state(self.random_state).randint(2**31 - 1))
        sample, group, remarks = self._sample(rows, groups, seed)
        names = [n for n in names if n != "spline" or _bends(sample.X) or len(names) == 1]
        narrow = len(self.columns_) <= MOST_GAUSSIAN
        if sample.incomplete and narrow and set(DEFAULT) <= {*names, "spline"}:
            names.append("gaussian")
        self.members_: dict[str, list[Model]] = {}
        self.weights_: dict[str, float] = {}
        self.floors_: dict[str, float] = {}
        self.choices_: dict[str, str] = {}
        self.comparison_: dict[str, dict[str, float]] = {}
        self.fallback_: str | None = None
        self.stack_intercept_: float | Array = 0.0
        self.stack_strength_ = 0.0
        self.bands_: ScoreBands | None = None
        self.others_: list[StackFit] = []
        self.incomplete_: list[IncompleteWeights] = []
        self.spare_members_: dict[str, list[Model]] = {}
        self.usual_missing_ = 1.0
        self._kept: Kept | None = None
        self.__dict__.pop("drivers_", None)
        few = self._too_few(sample)
        if few is not None:
            self._refuse_needy(sample.X)
            ended = self._fit_few(sample, few, remarks)
        else:
            ended = self._fit_stack(names, rows, groups, sample, group, remarks)
            y = sample.y if self.rarer_ or len(self.classes_) > 2 else 1.0 - sample.y
            self._kept = keep_some(sample.X, y, sample.weights, sample.folds, sample.seed)
        remarks += self._remarks(len(sample.y))
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

    def _fit_stack(
        self,
        names: list[str],
        rows: Rows,
        groups: ArrayLike | None,
        sample: Sample,
        group: Ids,
        remarks: list[str],
    ) -> FitReport:
        """Fit the members, weigh them, and decide what predicts."""
        makers = self._own_makers(rows)
        judged, samples = [self._judge(names, sample, makers, self.progress)], [sample]
        if len(self.classes_) > 2:
            remarks += self._rare_classes(sample, judgeable(sample, len(self.classes_)))
        unsure = self.repeats == "auto" and len(sample.y) <= REPEATED_ROWS
        count = REPEATS if unsure and self._unsure(judged[0], sample) else 1
        for number in range(1, count if self.repeats == "auto" else int(self.repeats)):
            seed = int(np.random.default_rng([sample.seed, number]).integers(2**31 - 1))
            other, _, _ = self._sample(rows, groups, seed)
            judged.append(self._judge(names, other, makers, None))
            samples.append(other)
        ended = self._settle(judged, sample, group, remarks)
        self._learn_incomplete(judged, samples, group)
        return ended

    def _learn_incomplete(self, judged: list[Judged], samples: list[Sample], group: Ids) -> None:
        """Learn weights for rows that miss more values than usual."""
        if self.chosen_ == "constant":
            return
        floors = sorted({max(float(self.floor), e) for e in FLOORS})
        gaussian = set(DEFAULT) <= {*judged[0].fitted, "spline"}
        gaussian &= len(self.columns_) <= MOST_GAUSSIAN
        stacks: list[Self | StackFit] = [self, *self.others_]
        for stack, one, sample in zip(stacks, judged, samples, strict=True):
            learner = Learner(sample, self._sources(), len(self.classes_), floors)
            models: dict[str, list[Model]] = {n: [*fit.models] for n, fit in one.fitted.items()}
            if gaussian and "gaussian" not in models and sample.front is not None:
                modelled = judgeable(sample, len(self.classes_))
                models["gaussian"] = gaussian_fits(sample, modelled, self._shares())
            self.usual_missing_ = learner.usual
            stack.incomplete_ = learner.learn(models)
            stack.spare_members_ = {n: f for n, f in models.items() if n not in stack.members_}
        self.usual_missing_ = self._raised_usual(samples[0], group)
        for stack in stacks:
            least = self.usual_missing_ + APART
            stack.incomplete_ = [one for one in stack.incomplete_ if one.share >= least]
            counting = {
                name
                for one in stack.incomplete_
                for name, weight in zip(one.members, one.weights.tolist(), strict=True)
                if weight > 0
            }
            spare = stack.spare_members_.items()
            stack.spare_members_ = {name: fits for name, fits in spare if name in counting}

    def _raised_usual(self, sample: Sample, group: Ids) -> float:
        """Return up to which share missing the stack is right for left-out training rows."""
        share = missing_share(sample.X, self._sources())
        rows = np.flatnonzero(share > self.usual_missing_)
        if not self.incomplete_ or not len(rows):
            return self.usual_missing_
        y = sample.y if self.rarer_ or len(self.classes_) > 2 else 1.0 - sample.y
        gain = np.empty(len(rows))
        place = np.unique(sample.folds, return_inverse=True)[1].ravel()[rows]
        for fit in np.unique(place).tolist():
            here = place == fit
            X = sample.X[rows[here]]
            by = self._score_by(self, X, fit), self._usual_score(self, X, fit)
            more, own = (losses_of(y[rows[here]], score) for score in by)
            gain[here] = sample.weights[rows[here]] * (more - own)
        return raised_usual(self.usual_missing_, share[rows], gain, group[rows])

    def _judge(
        self,
        names: list[str],
        sample: Sample,
        makers: Mapping[str, Own],
        progress: Progress | None,
    ) -> Judged:
        """Fit the members with one draw of folds, and score each way on left-out rows."""
        floors = sorted({max(float(self.floor), e) for e in FLOORS})
        if len(self.classes_) == 2:
            fitted = fit_members(names, sample, self.engine, progress, makers)
            return judge(dict(zip(names, fitted, strict=True)), sample, floors)
        modelled = judgeable(sample, len(self.classes_))
        members = fit_classes(
            names, sample, modelled, self._shares(), self.engine, progress, makers
        )
        return judge_several(dict(zip(names, members, strict=True)), sample, floors)

    def _names(self) -> list[str]:
        """Return the members to fit; refuse unknown ones and those that are not installed."""
        here = usable()
        found = read_members(self.members, DEFAULT)
        shipped = [name for name, estimator in found.items() if estimator is None]
        for name in shipped:
            refuse_word("members", name, tuple(MEMBERS))
            if name not in here:
                raise UsageError(
                    "The member {member!r} needs the package {package}, which is not installed.",
                    code="package-missing",
                    member=name,
                    package=PACKAGES[name],
                    remedy="Install it: pip install {package}",
                )
        return list(found)

    def _own_makers(self, rows: Rows) -> dict[str, Own]:
        """Return how to fit the members that are the user's own."""
        mine = {n: one for n, one in read_members(self.members, DEFAULT).items() if one is not None}
        if not mine:
            return {}
        table = rows.fold(used_rows, self.levels_, engine=self.engine)
        fixed = np.nan_to_num(np.fmin.reduce(table.X, axis=0))
        event = self.rarer_ if len(self.classes_) == 2 else 1  # of several: the class, not the rest
        return {n: Own(n, one, self.columns_, fixed, event) for n, one in mine.items()}

    def _sample(
        self, rows: Rows, groups: ArrayLike | None, seed: int
    ) -> tuple[Sample, Ids, list[str]]:
        """Return the labelled rows in an order of their own, the group of each, and remarks."""
        self.levels_ = np.array(
            [len(c.levels) if c.kind == "category" else 0 for c in rows.schema.columns],
            dtype=np.int64,
        )
        given = given_folds(self.cv, len(rows))
        table = rows.fold(used_rows, self.levels_, engine=self.engine)
        counts = np.bincount(table.y.astype(np.intp), minlength=len(self.classes_))
        refuse_one_class(self.classes_, counts.astype(np.float64))
        table, folds, group, remarks = self._in_folds(rows, groups, table, given, seed)
        self._note_shares(table)
        relative = relative_weights(table.weight)
        y = (table.y == self.rarer_) * 1.0 if len(self.classes_) == 2 else table.y
        order, self.columns_ = own_orders(table.X, y, relative)
        remarks += self._one_value_or_missing(table.X)
        X = np.ascontiguousarray(table.X[order][:, self.columns_])
        relative = None if relative is None else relative[order]
        self.front_: Front | None = None
        if len(self.columns_) and (np.isnan(X).any() or len(self.columns_) <= WIDEST_FRONT):
            self.front_ = fit_front(X, relative)
        # Categories numbered by the members' columns: in whatever order they were handed over.
        _, first, place = np.unique(self._sources(), return_index=True, return_inverse=True)
        number = np.where(self._category_columns(), first[place.ravel()], -1)
        sample = Sample(X, y[order], relative, folds[order], seed, self.front_, number)
        self.marked_, self.often_missing_ = which_marked(X, sample.weights)
        return sample, group[order], remarks

    def _one_value_or_missing(self, X: Array) -> list[str]:
        """Return a remark on columns in which only what is missing tells rows apart."""
        left_out = np.setdiff1d(np.arange(X.shape[1]), self.columns_)
        share = np.isnan(X[:, left_out]).mean(axis=0)
        wide = np.repeat(np.arange(len(self.levels_)), np.maximum(self.levels_, 1))
        sparse = left_out[(share >= SHARE) & (share <= 1.0 - SHARE)]
        sparse = sparse[~np.isin(wide[sparse], wide[self.columns_])]
        if not len(sparse):
            return []
        return [
            Problem(
                "One value and missing ones: {columns}. Left out as constant, and with it which "
                "rows miss the value.",
                code="one-value-or-missing",
                columns=listed(list(dict.fromkeys(self._column(one) for one in sparse.tolist()))),
                remedy="If a missing value means 'no', fill it in as a value of its own.",
            )
        ]

    def _category_columns(self) -> NDArray[np.bool_]:
        """Return which of the members' columns are levels of a category."""
        return np.repeat(self.levels_ > 0, np.maximum(self.levels_, 1))[self.columns_]

    def _note_shares(self, table: Table) -> None:
        """Note the rarer class, and the prevalence of the positive class or of each of several."""
        codes, several = table.y.astype(np.intp), len(self.classes_) > 2
        counts = np.bincount(codes, minlength=len(self.classes_))
        self.rarer_ = int(counts.argmin()) if several else int(counts[1] <= counts[0])
        if not several and counts[0] == counts[1]:  # whatever their names
            words = class_words(table.X, table.y)
            self.rarer_ = int(words[1] >= words[0])
        shares = np.bincount(codes, table.weight, minlength=len(counts)) / table.weight.sum()
        if several:  # at least half a row each: nothing is impossible
            shares = np.maximum(shares, 0.5 / len(codes))
            shares /= shares.sum()
        self.prevalence_: float | Array = shares if several else float(shares[1])

    def _shares(self) -> Array:
        """Return the prevalence of each class."""
        if len(self.classes_) > 2:
            return np.asarray(self.prevalence_)
        return np.array([1.0 - float(self.prevalence_), float(self.prevalence_)])

    def _in_folds(
        self, rows: Rows, groups: ArrayLike | None, table: Table, given: Ids | None, seed: int
    ) -> tuple[Table, Ids, Ids, list[str]]:
        """Return the rows with copies merged, the fold and the group of each, and remarks."""
        known = rows.map(codes_and_weights, None, engine=self.engine)
        codes, weight = known[:, 0].astype(np.intp), known[:, 1]
        copies = row_groups(rows, codes, weight, seed=seed, engine=self.engine)
        found = copies
        if groups is not None:
            found = row_groups(rows, codes, weight, groups=groups, seed=seed, engine=self.engine)
        remarks: list[str] = list(copies.remarks())
        if given is None:
            # The rarest of several classes may be in fewer groups than there are folds.
            groups_of = [
                len(np.unique(found.group[codes == k])) for k in np.unique(codes[codes >= 0])
            ]
            n_folds = min(int(cast(int, self.cv)), max(sorted(groups_of)[-2], 1))
            folds = deal_folds(found, codes, weight, n_folds)
        else:
            folds = given
            remarks += _separated(found.group[table.row], folds[table.row], groups is not None)
        folds = folds[table.row]
        if copies.copies:
            table, folds = merged(table, copies.group[table.row], folds)
        return table, folds, found.group[table.row], remarks

    def _refuse_missing(self, X: Array) -> None:
        """Refuse missing values where nothing is known to stand for them."""
        missing = np.isnan(X).sum(axis=0)
        if missing.any():
            column = int(np.flatnonzero(missing)[0])
            raise DataError(
                "X contains NaN: {count:,} in column {column}, but the model was fitted to "
                "complete rows of more than {most} columns.",
                code="missing-values",
                count=int(missing[column]),
                column=self._column(int(self.columns_[column])),
                most=WIDEST_FRONT,
                remedy="Impute the missing values, or fit to rows that have some.",
            )

    def _column(self, wide: int) -> str:
        """Return the name of the column that a one-hot column comes from."""
        ends = np.cumsum(np.maximum(self.levels_, 1))
        position = int(np.searchsorted(ends, wide, side="right"))
        names = getattr(self, "feature_names_in_", None)
        return repr(str(names[position])) if names is not None else str(position)

    def _too_few(self, sample: Sample) -> Problem | None:
        """Return why no model can be chosen on left-out rows; None where one can."""
        total = len(sample.y)
        several = len(self.classes_) > 2
        events = (
            total - int(np.bincount(sample.y.astype(np.intp)).max())
            if several
            else int(sample.y.sum())
        )
        if events < FEWEST_EVENTS or total < FEWEST_ROWS:
            return Problem(
                "{rows:,} rows with {events:,} of the rarer {what} are too few to choose between "
                "models (needed: {least_rows} and {least_events}).",
                code="few-events",
                what="classes together" if several else "class",
                rows=total,
                events=events,
                least_rows=FEWEST_ROWS,
                least_events=FEWEST_EVENTS,
                remedy="Label more rows.",
            )
        if not len(self.columns_):
            return Problem(
                "All columns are constant: there is nothing to learn from.",
                code="constant-columns",
            )
        enough = len(np.unique(sample.folds)) >= FEWEST_FOLDS
        if not enough or len(judgeable(sample, len(self.classes_))) < 2:
            return Problem(
                "The rows of one class are in too few groups to choose between models: "
                "{folds} folds are needed, and two classes without any two of them.",
                code="few-groups",
                folds=FEWEST_FOLDS,
                remedy="Label rows of other groups.",
            )
        return None

    def _rare_classes(self, sample: Sample, modelled: Ids) -> list[str]:
        """Return remarks on classes with few rows."""
        remarks: list[str] = []
        counts = np.bincount(sample.y.astype(np.intp), minlength=len(self.classes_))
        for k, count in enumerate(counts.tolist()):
            noun = "row" if count == 1 else "rows"
            if k not in modelled:
                remarks.append(
                    Problem(
                        "Class {name} has {rows:,} {noun}, in too few folds to be judged: every "
                        "row gets its prevalence for it, before probabilities are made to sum to "
                        "1.",
                        code="class-not-modelled",
                        name=str(self.classes_[k]),
                        rows=count,
                        noun=noun,
                        remedy="Label more rows of it, or join it with another class.",
                    )
                )
            elif count < FEWEST_EVENTS:
                remarks.append(
                    Problem(
                        "Class {name} has {rows:,} {noun}, fewer than {least}: its probabilities "
                        "are rough.",
                        code="few-of-a-class",
                        name=str(self.classes_[k]),
                        rows=count,
                        noun=noun,
                        least=FEWEST_EVENTS,
                        remedy="Label more rows of it.",
                    )
                )
        return remarks

    def _remarks(self, total: int) -> list[str]:
        remarks = list(positive_remark(self.classes_, self._shares()))
        if total < NO_EDGE_ROWS:
            remarks.append(
                Problem(
                    "{rows:,} rows: below about {enough}, a stack of several models was not found "
                    "to be better than a single one.",
                    code="small-sample",
                    rows=total,
                    enough=NO_EDGE_ROWS,
                )
            )
        return remarks

    def _refuse_needy(self, X: Array) -> None:
        """Refuse missing values as estimators of the user's own would that were not fitted."""
        given = [] if isinstance(self.members, str) else self.members
        own = [one for one in given if isinstance(one, tuple) and one[0] not in self.members_]
        for one in own if np.isnan(X).any() else []:
            if not get_tags(one[1]).input_tags.allow_nan:
                raise DataError(
                    "Input X contains NaN, and the member {member!r} ({kind}) takes none.",
                    code="member-needs-complete",
                    member=one[0],
                    kind=type(one[1]).__name__,
                    imputer=Phrase("make_pipeline(SimpleImputer(), estimator)"),
                    remedy="Give it as {imputer}, or leave it out.",
                )

    def _fit_few(self, sample: Sample, why: Problem, remarks: list[str]) -> FitReport:
        """With few labels: Firth's logistic with a refitted intercept, or the prevalence alone."""
        several = len(self.classes_) > 2
        columns = sample.X.shape[1]
        counts = np.bincount(sample.y.astype(np.intp), minlength=len(self.classes_))
        rows = np.minimum(counts, len(sample.y) - counts)  # of each class, or of all others
        able = np.flatnonzero(2 * columns <= rows) if columns else np.empty(0, dtype=np.intp)
        if not len(able):
            self.chosen_ = "constant"
            share = float(np.average(sample.y == 1, weights=sample.weight))
            self.stack_intercept_ = np.log(self._shares()) if several else logit(share)
            remarks[:0] = [
                why,
                Problem(
                    "Predicts the prevalence for every row: fewer than 2 rows of the rarer class "
                    "per column.",
                    code="predicts-prevalence",
                ),
            ]
            return FitReport(True, 0.0, 0.0, passes=1, seconds=0.0, proves="closed form")
        self.chosen_ = "flic"
        remarks[:0] = [
            why,
            Problem(
                "Predicts with Firth's logistic regression, its intercept refitted.",
                code="predicts-flic",
            ),
        ]
        models: list[RareClassifier] = []
        for k in able.tolist() if several else [1]:
            model = RareClassifier("logistic", ridge=0, bias_reduction="flic", keep_rows=False)
            y = (sample.y == k) * 1.0
            models.append(model.fit(sample.inputs().filled, y, sample_weight=sample.weight))
        self.floors_["flic"], self.weights_["flic"] = float(self.floor), 1.0
        self.members_["flic"] = [models[0]]
        if several:
            joined = one_vs_rest([*models], able, self._shares())
            self.members_["flic"] = [joined]
            self.stack_intercept_ = np.zeros(len(self.classes_))
        report: FitReport = max((one.report_ for one in models), key=lambda one: one.certificate)
        return report

    def _settle(
        self, judged: list[Judged], sample: Sample, group: Ids, remarks: list[str]
    ) -> FitReport:
        """Compare the ways on left-out rows, and keep the one that predicts."""
        weight, folds, single = sample.weights, sample.folds, judged[0].single
        scores = {way: mean_scores([one.scores[way] for one in judged]) for way in judged[0].scores}
        sign, event = (1.0, sample.y) if self.rarer_ else (-1.0, 1.0 - sample.y)
        self.comparison_ = {}
        for way, score in scores.items():
            name = f"best single ({single})" if way == "best single" else way
            self.comparison_[name] = (
                class_line(sample.y.astype(np.intp), score, weight, folds)
                if score.ndim == 2
                else score_line(event, sign * score, weight, folds)
            )
        losses = {way: losses_of(sample.y, score) for way, score in scores.items()}
        several, errors = len(judged[0].fitted) > 1, 1.0 if sample.nested else CHOSEN_ERRORS
        way = self._decide(single, several, losses, weight, folds, errors, remarks)
        self.chosen_ = single if way == "best single" else way
        first, *self.others_ = [one.stack(way) for one in judged]
        self.members_, self.weights_ = first.members_, first.weights_
        self.floors_, self.stack_intercept_ = first.floors_, first.stack_intercept_
        self.choices_ = {name: member.chosen for name, member in judged[0].fitted.items()}
        self.stack_strength_ = float(judged[0].ways[way].strength)
        if len(self.classes_) == 2:
            left_out = mean_scores([one.plain[way] for one in judged])
            self.bands_ = cut_bands(sign * left_out, event, weight, group)
        if len(judged) > 1:
            remarks.append(
                Problem(
                    "{count} fits with different folds are averaged{why}.",
                    code="fits-averaged",
                    count=len(judged),
                    why=": what predicts depended on the draw of the folds"
                    if self.repeats == "auto"
                    else "",
                )
            )
        return judged[0].report

    def _unsure(self, judged: Judged, sample: Sample) -> bool:
        """Whether another draw of folds may well choose another way to predict."""
        if self.fallback is None or len(judged.fitted) < 2:
            return False
        losses = {way: losses_of(sample.y, score) for way, score in judged.scores.items()}
        plain = "logit" if "logit" in losses else "best single"
        for one in (plain, "constant"):
            gain, error = fold_gain(losses[one], losses["auto"], sample.weights, sample.folds)
            if abs(gain) <= error:
                return True
        return False

    def _decide(
        self,
        single: str,
        several: bool,
        losses: Mapping[str, Array],
        weight: Array,
        folds: Ids,
        errors: float,
        remarks: list[str],
    ) -> str:
        """Return what predicts, as `fallback` asks: the stack where it is better.

        A gain is clear above so many standard errors over folds.
        """
        mean = {way: float(weight @ loss / weight.sum()) for way, loss in losses.items()}
        plain = "logit" if "logit" in losses else "best single"
        gain, error = fold_gain(losses[plain], losses["auto"], weight, folds)
        sure = gain > (errors * error if self.fallback == "noise" else 0.0)
        way = "auto"
        if several and self.fallback == "loss":
            worse = mean["auto"] > WORSE * mean["best single"]
            way = "best single" if worse or not sure else way
        elif several and self.fallback == "noise":
            way = way if sure else plain
        over, over_error = fold_gain(losses["constant"], losses[way], weight, folds)
        why: Problem | None = None
        if self.fallback is not None and not over > errors * over_error:
            why = Problem(
                "Predicts the prevalence for every row: no model has a clear gain over it in log "
                "loss on left-out rows ({loss:.3g} against {constant:.3g}, standard error "
                "{error:.2g}).",
                code="predicts-prevalence",
                loss=mean[way],
                constant=mean["constant"],
                error=over_error,
            )
            way = "constant"
        elif way != "auto":
            why = Problem(
                "Predicts with {member} alone: the stack has no clear gain over it in log loss on "
                "left-out rows ({loss:.3g} against {single:.3g}).",
                code="predicts-single",
                member=single if way == "best single" else way,
                loss=mean["auto"],
                single=mean[way],
            )
        if why is not None:
            self.fallback_ = str(why)
            remarks.insert(0, why)
        if way != "constant" and not over > errors * over_error:
            remarks.append(_within_noise("a constant probability", over, over_error))
        elif way == "auto" and several and not gain > errors * error:
            name = single if plain == "best single" else plain
            remarks.append(_within_noise(name, gain, error, "{name} alone is as good here."))
        return way

    # --- predicting -------------------------------------------------------------------------------

    def decision_function(self, X: ArrayLike | Rows) -> Array:
        """Return the log-odds of the positive class, shape (n,); of several, log probabilities."""
        check_is_fitted(self)
        rows = rows_to_predict(self, X, engine=self.engine)
        if self.members_:
            before = float(np.mean(self.column_profile_.missing))
            cells = rows.fold(missing_by_column, None, engine=self.engine)
            assumed = AT_RANDOM if getattr(self, "incomplete_", []) else NORMAL
            warn_if_more_missing(cells, len(rows), before, assumed)
        return rows.map(self._score_block, engine=self.engine)

    def predict_proba(self, X: ArrayLike | Rows) -> Array:
        """Return the classes' probabilities, shape (n, n_classes)."""
        score = self.decision_function(X)
        if score.ndim == 2:
            return np.asarray(softmax(score, axis=1))
        return np.column_stack([expit(-score), expit(score)])

    def predict(self, X: ArrayLike | Rows) -> NDArray[Any]:
        """Return the most probable class of each row."""
        score = self.decision_function(X)
        place = score.argmax(axis=1) if score.ndim == 2 else (score > 0).astype(np.intp)
        return np.asarray(self.classes_[place])

    def predict_interval(self, X: ArrayLike | Rows, *, level: float = 0.9) -> NoReturn:
        """Refuse: intervals of tuned and stacked fits have too low a coverage."""
        raise UsageError(
            "AutoClassifier gives no interval for one row's probability: 90 % intervals by the "
            "best of six methods held the true probability of simulated rows in 92, 72 and 74 % "
            "of cases (linear, smooth and stepped truths), those by the worst in 24, 15 and 12 %.",
            code="no-intervals",
            untuned=Phrase(
                'RareClassifier("logistic", ridge=0, bias_reduction="flic").fit(X, y)'
                ".predict_interval(X)"
            ),
            remedy=[
                "For how often the event happens among rows scored alike: predict_band(X).",
                "For intervals of probabilities fit one untuned model: {untuned}.",
            ],
        )

    def predict_band(self, X: ArrayLike | Rows, *, level: float = 0.9) -> RowBands:
        """Return how often the event happened among training rows scored like each row.

        Left-out training rows are cut into bands of their scores with about 15 events each. What is
        returned is the rate of the row's band with its interval: "of 1,000 rows scored like this
        one, 12 to 21 had the event". It is not an interval of this row's own probability.

        Parameters
        ----------
        X : array-like of shape (n, k), or Rows
        level : float
            Coverage of the interval of the band's rate.

        Returns
        -------
        RowBands
            Arrays `rate`, `low`, `high`, `rows` and `band`; `words()` says them in sentences.

        **Assumes** rows from the population of the training rows: with another base rate the rates
        of all bands are wrong.
        """
        check_is_fitted(self)
        level = read_level(level)
        bands: ScoreBands | None = getattr(self, "bands_", None)
        if bands is None:
            several = len(self.classes_) > 2
            raise UsageError(
                "There are no bands of scores: {reason}.",
                code="no-bands",
                reason="the model has several classes"
                if several
                else "the labels were too few to judge a model on left-out rows",
                remedy="Fit one class against the others." if several else "Label more rows.",
            )
        return bands.of(self.decision_function(X), level)

    def drivers(self) -> Drivers:
        """Return how much the predictions need each column, and how they move with it.

        At most 1,000 left-out training rows are predicted by the fits that had not seen them, with
        the values of one column shuffled, and with one column set to one value after another. Found
        when first asked for or saved, and kept in the model file.

        Returns
        -------
        Drivers
            `ranked()` gives the columns by the increase of the log loss; `curves` the mean
            predictions.
        """
        check_is_fitted(self)
        if not hasattr(self, "drivers_"):
            kept: Kept | None = self.__dict__.get("_kept")
            if kept is None:
                raise UsageError(
                    "There are no left-out rows to find drivers on: {reason}.",
                    code="no-drivers",
                    reason="the labels were too few to judge a model"
                    if not self.comparison_
                    else "the model was saved without them",
                    remedy="Fit the model again, on more labelled rows.",
                )
            n, given = self.n_features_in_, getattr(self, "feature_names_in_", None)
            names = [f"x{at}" for at in range(n)] if given is None else [str(one) for one in given]
            source = np.repeat(np.arange(n), np.maximum(self.levels_, 1))
            first = np.cumsum(np.maximum(self.levels_, 1)) - np.maximum(self.levels_, 1)
            order = np.argsort(self.columns_, kind="stable")
            sources = [order[source[self.columns_[order]] == at] for at in range(n)]
            levels = [
                self.columns_[one] - first[at] if self.levels_[at] else None
                for at, one in enumerate(sources)
            ]
            self.drivers_ = find_drivers(self._score, kept, names, sources, levels)
        return self.drivers_

    def _before_save(self) -> None:
        if self.__dict__.get("_kept") is None:
            return
        try:
            self._check_loaded()
        except ScarceError:  # which `save` will say
            return
        self.drivers()

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
        given = ["auto"] if isinstance(self.members, str) else list(self.members)
        own = [one[1] for one in given if isinstance(one, tuple)]
        tags.input_tags.allow_nan = all(get_tags(one).input_tags.allow_nan for one in own)
        return tags

    def _score_block(self, block: Block, _: None) -> Array:
        """Kernel of the map: log-odds of a block of rows, or log probabilities of classes."""
        X = one_hot(block.X, self.levels_)
        return self._score(np.ascontiguousarray(X[:, self.columns_]))

    def _score(self, X: Array, fit: int | None = None) -> Array:
        """Return the scores of rows in the members' columns, by all fits or by one of the first."""
        others = getattr(self, "others_", []) if fit is None else []
        return mean_scores([self._score_by(one, X, fit) for one in (self, *others)])

    def _score_by(self, stack: Self | StackFit, X: Array, fit: int | None) -> Array:
        """Return the scores of rows by the members and weights of one draw of folds."""
        learnt: list[IncompleteWeights] = getattr(stack, "incomplete_", [])
        share = missing_share(X, self._sources()) if learnt else np.zeros(len(X))
        more = share > getattr(self, "usual_missing_", 1.0)
        if not more.any():
            return self._usual_score(stack, X, fit)
        found = self._incomplete_score(stack, X[more], share[more], fit)
        score = np.empty((len(X), *found.shape[1:]))
        score[more] = found
        if not more.all():
            score[~more] = self._usual_score(stack, X[~more], fit)
        return score

    def _usual_score(self, stack: Self | StackFit, X: Array, fit: int | None) -> Array:
        """Return the scores of rows that miss no more values than training rows did."""
        if self.front_ is None and stack.members_:
            self._refuse_missing(X)
        if self.chosen_ in ("flic", "constant"):
            self._refuse_needy(X)
        names = list(stack.members_)
        floors = np.array([stack.floors_[name] for name in names])
        weights = np.array([stack.weights_[name] for name in names])
        prob = self._member_prob(stack.members_, X, fit)
        return self._combined(prob, floors, weights, np.ravel(stack.stack_intercept_))

    def _incomplete_score(
        self, stack: Self | StackFit, X: Array, share: Array, fit: int | None
    ) -> Array:
        """Return the scores of rows that miss more values than training rows did."""
        able = set(stack.incomplete_[0].members)
        members = {**stack.members_, **stack.spare_members_}
        members = {name: fits for name, fits in members.items() if name in able}
        names = list(members)
        anchors = [(one.share, *one.of(names), one.intercept) for one in stack.incomplete_]
        if all(name in able for name, weight in stack.weights_.items() if weight > 0):
            floors = np.array([stack.floors_.get(name, 0.5) for name in names])
            weights = np.array([stack.weights_.get(name, 0.0) for name in names])
            usual = self.usual_missing_, floors, weights, np.ravel(stack.stack_intercept_)
            anchors.insert(0, usual)
        counts = np.sum([weights for _, _, weights, _ in anchors], axis=0) > 0
        asked = {name: members[name] for name, asks in zip(names, counts, strict=True) if asks}
        prob = self._member_prob(asked, X, fit)
        scores = [
            self._combined(prob, floors[counts], weights[counts], intercept)
            for _, floors, weights, intercept in anchors
        ]
        score = blended(np.array(scores), np.array([one[0] for one in anchors]), share)
        shares = self._shares()
        nothing = np.log(shares) if len(shares) > 2 else logit(shares[1])
        score[share == 1.0] = nothing
        return score

    def _member_prob(
        self, members: Mapping[str, Sequence[Model]], X: Array, fit: int | None
    ) -> Array:
        """Return the members' probabilities by each fit: (members, fits, rows, classes)."""
        rows = Inputs(X, self.front_, self.marked_, self.often_missing_, self._category_columns())
        models = [fits if fit is None else [fits[fit]] for fits in members.values()]
        fits = len(models[0]) if models else 1
        prob = np.empty((len(members), fits, len(X), len(self.classes_)))
        for place, (name, several) in enumerate(zip(members, models, strict=True)):
            taken = rows.of(form_of(name))
            for at, model in enumerate(several):
                prob[place, at] = np.asarray(model.predict_proba(taken))
        return prob

    def _combined(self, prob: Array, floors: Array, weights: Array, intercept: Array) -> Array:
        """Return log-odds of the second class, or log probabilities of several classes."""
        shares = self._shares()
        if len(shares) > 2:
            return ClassCombination(floors, weights, intercept, shares).log_prob(prob)
        share = float(shares[self.rarer_])
        score = Combination(floors, weights, float(intercept[0]), share).score(prob[..., 1])
        return score * (1.0 if self.rarer_ else -1.0)

    def _sources(self) -> Ids:
        """Return the column of the table that each of the members' columns comes from."""
        of_wide = np.repeat(np.arange(len(self.levels_)), np.maximum(self.levels_, 1))
        return np.asarray(of_wide[self.columns_])

    def _check_loaded(self) -> None:
        """Refuse a model file whose parts do not belong together."""
        if not hasattr(self, "classes_"):
            return
        if not hasattr(self, "columns_") or not hasattr(self, "marked_"):
            raise DataError(
                "The file was written by an earlier version, whose models are no longer read.",
                code="old-model-file",
            )
        bands: ScoreBands | None = getattr(self, "bands_", None)
        names, wide = list(self.members_), int(np.maximum(self.levels_, 1).sum())
        count, shares = len(self.classes_), np.ravel(self.prevalence_)
        numbers = [*np.ravel(self.stack_intercept_), *(self.weights_[name] for name in names)]
        first = 1 if count == 2 else count  # of the weights among these numbers
        known = ["constant", "auto", *names] if names else ["constant"]
        for right, name, expected in (
            (self.chosen_ in known, "chosen_", f"must be one of {known}, got {self.chosen_!r}"),
            (
                count >= 2 and len(shares) == len(numbers) - len(names) == first,
                "classes_",
                f"must be those of {len(shares)} shares and of the intercepts",
            ),
            (
                self.levels_.shape == (self.n_features_in_,),
                "levels_",
                f"must be those of {self.n_features_in_} columns",
            ),
            (
                self.columns_.ndim == 1 and bool(np.isin(self.columns_, np.arange(wide)).all()),
                "columns_",
                f"must be among {wide} columns",
            ),
            (
                self.front_ is None
                or (isinstance(self.front_, Front) and self.front_.n_columns == len(self.columns_)),
                "front_",
                f"must be that of {len(self.columns_)} columns",
            ),
            (
                self.often_missing_.shape == self.columns_.shape
                and self.often_missing_.dtype.kind == "b",
                "often_missing_",
                f"must be those of {len(self.columns_)} columns",
            ),
            (
                self.marked_.ndim == 1
                and bool(np.isin(self.marked_, np.arange(len(self.columns_))).all()),
                "marked_",
                f"must be among {len(self.columns_)} columns",
            ),
            (self.rarer_ in range(count), "rarer_", "must be the position of a class"),
            (bool(((shares > 0) & (shares < 1)).all()), "prevalence_", "must be between 0 and 1"),
            (
                bands is None or (count == 2 and isinstance(bands, ScoreBands)),
                "bands_",
                "must be bands of scores of two classes",
            ),
        ):
            if not right:
                raise inconsistent_model(name, expected)
        for stack in (self, *getattr(self, "others_", [])):
            self._check_stack(stack, count)

    def _check_stack(self, stack: Self | StackFit, count: int) -> None:
        """Refuse members and weights of one draw of folds that do not belong together."""
        numbers = [*np.ravel(stack.stack_intercept_), *(stack.weights_[n] for n in stack.members_)]
        if np.size(stack.stack_intercept_) != (1 if count == 2 else count):
            raise inconsistent_model("stack_intercept_", f"must be of {count} classes")
        if not np.isfinite(numbers).all() or min([0.0, *stack.weights_.values()]) < 0:
            raise inconsistent_model("weights_", "must be finite and not negative")
        spare: dict[str, list[Model]] = getattr(stack, "spare_members_", {})
        learnt: list[IncompleteWeights] = getattr(stack, "incomplete_", [])
        members = {**stack.members_, **spare}
        self._check_incomplete(learnt, set(members), np.size(stack.stack_intercept_))
        for name, models in members.items():
            taken = len(self.columns_) + (FORMS.get(name) == "marked") * len(self.marked_)
            if {model.n_features_in_ for model in models} != {taken}:
                raise inconsistent_model("members_", f"must have {taken} columns each ({name})")
            if count > 2 and {len(getattr(one, "prevalence_", ())) for one in models} != {count}:
                raise inconsistent_model("members_", f"must be of {count} classes ({name})")
            if name in stack.members_ and not 0 < stack.floors_[name] < 1:
                raise inconsistent_model("floors_", f"must be between 0 and 1 ({name})")
        if len({len(models) for models in members.values()}) > 1:
            raise inconsistent_model("members_", "must have the same number of fits")

    def _check_incomplete(
        self, learnt: Sequence[IncompleteWeights], members: set[str], count: int
    ) -> None:
        """Refuse weights for incomplete rows that do not belong to the members."""
        usual = getattr(self, "usual_missing_", 1.0)
        shares = [usual, *(one.share for one in learnt)]
        right = all(isinstance(one, IncompleteWeights) for one in learnt)
        if not right or not 0 <= usual <= 1 or (learnt and np.diff(shares).min() <= 0):
            raise inconsistent_model("incomplete_", "must be weights for increasing shares")
        for one in learnt:
            weighing = {n for n, w in zip(one.members, one.weights, strict=True) if w > 0}
            if not weighing <= members or one.intercept.shape != (count,):
                raise inconsistent_model("incomplete_", "must be of the members and classes")


def _within_noise(name: str, gain: float, error: float, *remedy: str) -> Problem:
    return Problem(
        "The gain in log loss over {name} on left-out rows is within its noise ({gain:.2g}, "
        "standard error {error:.2g}).",
        code="gain-within-noise",
        name=name,
        gain=gain,
        error=error,
        remedy=remedy,
    )


def _separated(group: Ids, folds: Ids, given: bool) -> list[str]:
    """Refuse given folds that separate rows of a group; remark on those that separate copies."""
    cut = len(np.unique(np.column_stack([group, folds]), axis=0)) - len(np.unique(group))
    if cut and given:
        raise UsageError(
            "cv puts rows of one group into different folds.",
            code="argument-conflict",
            remedy="Pass cv as a number, or leave groups out.",
        )
    if not cut:
        return []
    return [
        Problem(
            "cv puts {count:,} copies of rows into other folds than the rows themselves: left-out "
            "scores are too good.",
            code="copies-across-folds",
            count=cut,
            remedy="Pass cv as a number, which keeps copies together.",
        )
    ]


def _bends(X: Array) -> bool:
    """Whether some column has enough different values for a spline to differ from a line."""
    return any(len(knots(column[~np.isnan(column)])) > 0 for column in X.T)


# --- the rows -------------------------------------------------------------------------------------
#
# Copies of a row become one row with their total weight, constant columns are left out, and rows
# and columns are put into an order that depends on their content alone. Folds, trees and sums are
# then the same for any order of rows and columns, units of columns, codes of categories and names
# of classes, and where a row is repeated instead of having weight 2. Everything must fit into
# memory several times over.


class Table(NamedTuple):
    """Rows that count: one-hot features, class, weight, position in the data."""

    X: Array
    y: Array
    weight: Array
    row: Ids


def used_rows(block: Block, levels: NDArray[np.int64]) -> Table:
    """Kernel: one-hot encoded rows with a label and a weight above 0."""
    codes, weight = codes_and_weights(block, None).T
    used = np.flatnonzero(codes >= 0)
    return Table(one_hot(block.X[used], levels), codes[used], weight[used], used + block.start)


def _stacked(table: Table, more: Table) -> Table:
    return Table(*(np.concatenate(pair) for pair in zip(table, more, strict=True)))


used_rows.merge = _stacked  # type: ignore[attr-defined]


def codes_and_weights(block: Block, _: None) -> Array:
    """Kernel of a map: class of each row, -1 where it does not count, and its weight."""
    y = np.full(len(block), np.nan) if block.y is None else block.y
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return np.column_stack([np.where(np.isnan(y) | (weight <= 0), -1.0, y), weight])


def one_hot(X: Array, levels: NDArray[np.int64]) -> Array:
    """Return rows in which a category of L levels is L one-hot columns; missing is NaN in all.

    Examples
    --------
    >>> one_hot(np.array([[5.0, 1.0], [6.0, np.nan]]), np.array([0, 2]))
    array([[ 5.,  0.,  1.],
           [ 6., nan, nan]])
    """
    if not levels.any():
        return X
    parts = []
    for column, n in zip(X.T, levels, strict=True):
        if n == 0:
            parts.append(column[:, None])
            continue
        levels_of = (column[:, None] == np.arange(n)) * 1.0
        levels_of[np.isnan(column)] = np.nan
        parts.append(levels_of)
    return np.ascontiguousarray(np.hstack(parts))


def merged(table: Table, record: Ids, folds: Ids) -> tuple[Table, Ids]:
    """Merge all copies of a record that have the same class and fold into one row.

    Parameters
    ----------
    table : Table
    record : ndarray of int, shape (rows of the table,)
        Equal for copies of one record.
    folds : ndarray of int, shape (rows of the table,)

    Returns
    -------
    table, folds
        Weights are added up.
    """
    keys = np.column_stack([record, table.y.astype(np.intp), folds])
    first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)[1:]
    weight = np.bincount(place.ravel(), table.weight).astype(np.float64)
    return Table(table.X[first], table.y[first], weight, table.row[first]), folds[first]


def relative_weights(weight: Array) -> Array | None:
    """Return weights with mean 1, or None where all are equal: their unit does not matter.

    Examples
    --------
    >>> relative_weights(np.array([0.3, 0.3])), relative_weights(np.array([100.0, 300.0]))
    (None, array([0.5, 1.5]))
    """
    if np.ptp(weight) <= 1e-12 * weight.max():
        return None
    return np.asarray(np.round(weight / weight.mean(), WEIGHT_DIGITS))


def own_orders(X: Array, y: Array, weight: Array | None) -> tuple[Ids, Ids]:
    """Return the rows, and the columns that vary, in an order that depends on content alone.

    A column's hash is a sum over its rows of hashes of rank and class; a row's hash a sum over its
    columns of hashes of rank and column; the columns' hashes are then made again with those of the
    rows. Ranks do not change with units and shifts, sums not with the order of their terms.
    """
    ranks = [np.unique(column, return_inverse=True)[1].ravel() for column in X.T]
    vary = np.fmax.reduce(X, axis=0) > np.fmin.reduce(X, axis=0)
    columns: list[int] = np.flatnonzero(vary).tolist()
    cells = {j: mix_bits(ranks[j].astype(np.uint64) + np.uint64(1)) for j in columns}
    if y.max() > 1:  # several classes, in any order
        event = class_words(X[:, columns], y)[y.astype(np.intp)]
    else:
        event = y.astype(np.uint64) * np.uint64(0x9E3779B97F4A7C15)
    rows = mix_bits(event)
    words: dict[int, Words] = {}
    for _ in range(2):
        words = {
            j: mix_bits(mix_bits(cells[j] ^ rows).sum(keepdims=True, dtype=np.uint64))
            for j in columns
        }
        rows = mix_bits(event)
        for j in columns:
            rows = np.add(rows, mix_bits(np.add(cells[j], words[j])))
    order = np.lexsort([np.ones(len(y)) if weight is None else weight, rows])
    named = np.array([words[j][0] for j in columns], dtype=np.uint64)
    return order, np.array(columns, dtype=np.intp)[np.argsort(named, kind="stable")]


def given_folds(cv: int | Sequence[Split], n_rows: int) -> Ids | None:
    """Return each row's fold from (train, test) pairs; None for a number of folds.

    Examples
    --------
    >>> given_folds([([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])], 3)
    array([0, 1, 2])
    """
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < FEWEST_FOLDS:
            raise _few_folds(int(cv))
        return None
    folds = read_splits(cv, n_rows)
    count = len(np.unique(folds))
    if count < FEWEST_FOLDS:
        raise _few_folds(count)
    return folds


def _few_folds(count: int) -> UsageError:
    return UsageError(
        "cv must have at least {least} folds, got {count}: one is judged, one sets the weights, "
        "the others are fitted.",
        code="cv-folds",
        least=FEWEST_FOLDS,
        count=count,
    )
