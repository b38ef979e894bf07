"""How good is a detector when only its alerts were investigated?

    recall = found / (found + missed),   dP/dR = (P / R)(1 - P / g)        (002 eq 2; g: eq 6 at t)

Precision above the threshold is counted. What lies below is known from rows that were drawn there
at random: they alone make the limits. A monotone precision curve is the best guess, and says where
to look; the paper's mixture of two families is there on request. What was fitted is kept, so
another threshold can be asked for at no cost. Which number may be said is decided in rules.py.
Chooses no labels: see choose.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import HasInclusion
from scarce.checks import (
    Number,
    read_auc,
    read_labels,
    read_level,
    read_number,
    read_seed,
    read_threshold,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.engine.executors import Engine, one_blas_thread
from scarce.engine.rows import Rows
from scarce.errors import Argument, Problem, UsageError, refuse_word
from scarce.missed.counts import DRAWS, CurveDraws, ThresholdCounts, counts_at
from scarce.missed.curve import Curves, PooledCurves, weighed_by_auc
from scarce.missed.inversion import NO_ERROR, LabelError
from scarce.missed.provenance import ROW_BY_ROW, ScoreBatch, read_batches, rows_have_labels
from scarce.missed.rules import (
    CURVE,
    FEW,
    GUESS,
    MIXTURE,
    MONOTONE,
    NOT_FITTED,
    NOT_IDENTIFIED,
    NOTHING,
    POSTERIOR,
    Beliefs,
    Ruling,
    contradictions,
    corrected,
    found_limits,
    in_batch,
    proportion,
    remarks_on,
    ruling_counted,
    ruling_draw,
    ruling_guess,
    ruling_mixture,
    ruling_not_identified,
    weighted_count,
)
from scarce.missed.what_if import DoubleReading, Scenario, wider_events, wrong_labels
from scarce.results import Estimate, Record, short

if TYPE_CHECKING:
    from scarce.missed.mixture.estimator import MixtureDraws
    from scarce.missed.mixture.families import Family

    Families = str | Family | Sequence[str | Family]

METHODS = ("auto", "mixture", "audit")
ASSUMPTIONS = (MONOTONE, NOTHING)
FEW_DRAWS = 200.0
ALL = -1  # where a warning concerns every batch
WORTHLESS = 50.0  # effective draws below which a curve is no guess
FIGURES = (
    "recall",
    "precision",
    "precision_further",
    "precision_per_recall",
    "prevalence",
    "missed",
    "alerts_per_event",
)


@dataclass(frozen=True, slots=True)
class PerformanceSettings:
    """How performance is estimated; as the arguments of `estimate_performance`."""

    method: str = "auto"
    auc: float | None = None
    level: float = 0.9
    families: tuple[Families, Families] = ("auto", "normal")
    check: bool = True
    random_state: int = 0
    assume: str = MONOTONE
    error: LabelError = NO_ERROR
    readings: DoubleReading | None = None
    share_shape: bool = False

    @property
    def beliefs(self) -> Beliefs:
        """What limits may take for granted."""
        return Beliefs(self.level, self.assume, self.error)


@dataclass(frozen=True, slots=True)
class Counts:
    """What was counted.

    Parameters
    ----------
    rows, alerts, alerts_labelled : int
    events_seen : int
        Labelled events among the alerts.
    labelled_below, events_below : int
        Labelled rows below the threshold, and events among them.
    audited, events_audited : int
        Of those, the rows that were drawn with a probability below 1.
    from_outside : int
        Events below the threshold that are known from outside.
    """

    rows: int
    alerts: int
    alerts_labelled: int
    events_seen: int
    labelled_below: int
    events_below: int
    audited: int
    events_audited: int
    from_outside: int


@dataclass(frozen=True, slots=True, eq=False)
class Performance(Record):
    """What a detector finds and misses, each figure with its interval and what it assumes.

    Parameters
    ----------
    recall : Estimate
        Share of this batch's events that are alerts.
    precision : Estimate
        Share of events among the alerts of this batch: exact where all of them have a label.
    precision_further : Estimate
        Share of events among further alerts of the same kind.
    precision_per_recall : Estimate
        Slope dP/dR at the threshold. -inf where lowering the threshold finds nothing more.
    prevalence : Estimate
        Share of events among all rows of the batch.
    missed : Estimate
        Number of events below the threshold.
    alerts_per_event : Estimate
        Further alerts to open per further event, right below the threshold: 1 / g(t).
    threshold : float or tuple of float
    counts : Counts
    warnings : tuple of str
    effective_size : float
        What the draws behind the intervals are worth.

    Examples
    --------
    >>> from scarce import estimate_performance
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> found = estimate_performance(trial.scores, trial.y, threshold=9.1)
    >>> lower = found.at(8.9)
    >>> lower.counts.alerts, round(lower.precision.value, 3)
    (60, 0.233)
    """

    recall: Estimate
    precision: Estimate
    precision_further: Estimate
    precision_per_recall: Estimate
    prevalence: Estimate
    missed: Estimate
    alerts_per_event: Estimate
    threshold: float | tuple[float, ...]
    method: str
    counts: Counts
    warnings: tuple[Problem, ...]
    effective_size: float
    _fit: PerformanceFit = field(repr=False)

    def at(self, threshold: float | Mapping[Any, float]) -> Performance:
        """Return the same figures if the threshold were another one; nothing is fitted again.

        With more than 262,144 rows, counts at another threshold are read between bins and are not
        exact: `warnings` then holds the problem "binned-counts".
        """
        names = [batch.name for batch in self._fit.chosen]
        marks = read_threshold(threshold, names)
        found = self._fit.answer(marks)
        known = self.threshold if isinstance(self.threshold, tuple) else [self.threshold]
        long = any(batch.table.n > ROW_BY_ROW for batch in self._fit.chosen)
        if long and set(marks) - set(known):
            binned = Problem(
                "More than {limit:,} rows are held in bins: counts at this threshold are read "
                "between them and are not exact.",
                code="binned-counts",
                limit=ROW_BY_ROW,
                remedy="For exact counts, estimate at this threshold itself.",
            )
            found = replace(found, warnings=(*found.warnings, binned))
        return found

    def what_if(self) -> tuple[Scenario, ...]:
        """Return the same figures under other assumptions, from the least demanding on.

        With checks below the threshold: nothing assumed of the scores, and 2 % of the labels
        wrong. Without: how the guess moves with what nobody can see, events whose scores spread
        more widely than those of other rows, and events that are invisible to the score.
        """
        return self._fit.what_if(self)

    @property
    def batches(self) -> dict[Any, Performance]:
        """The figures of each batch alone, by its name; the curve's shape is common to all."""
        fit = self._fit
        marks = self.threshold
        if not isinstance(marks, tuple):
            marks = (marks,) * len(fit.which)
        return {
            fit.batches[index].name: replace(fit, which=(index,)).answer([mark])
            for index, mark in zip(fit.which, marks, strict=True)
        }

    def share_of_events(self, place: Array, count: int, rng: np.random.Generator) -> Array:
        """Return draws of the share of events at normal scores of the rank: (count, places)."""
        return self.curve_draws(count, rng).precision(place)

    def curve_draws(self, count: int, rng: np.random.Generator) -> Curves:
        """Return some draws of the precision curve that the figures were read from."""
        if not isinstance(self._fit.curves, PooledCurves):
            raise UsageError(
                "{method} has no precision curve.",
                code="no-curve",
                method=Argument("method", self.method),
                auto=Argument("method", "auto"),
                remedy="Use {auto}.",
            )
        return self._fit.curves.groups[0].some(count, rng)

    def curve(self, thresholds: ArrayLike | None = None) -> PerformanceCurve:
        """Return precision and recall of this batch at many thresholds, with intervals."""
        fit = self._fit
        if thresholds is None:
            thresholds = fit.thresholds()
        marks = np.array(sorted(read_threshold(one, [None])[0] for one in _each(thresholds)))[::-1]
        found = [fit.answer([float(mark)] * len(fit.which)) for mark in marks]
        recall, precision, missed = (
            np.array([[figure.value, figure.low, figure.high] for figure in figures])
            for figures in zip(
                *((one.recall, one.precision, one.missed) for one in found), strict=True
            )
        )
        _in_one_direction(recall)
        missed[:] = -missed[:, [0, 2, 1]]
        _in_one_direction(missed)
        missed[:] = -missed[:, [0, 2, 1]]
        return PerformanceCurve(marks, recall, precision, missed)

    def __str__(self) -> str:
        return in_words(self)


@dataclass(frozen=True, slots=True, eq=False)
class PerformanceCurve:
    """Precision and recall of a batch against the threshold: value, low and high in each row."""

    threshold: Array  # (k,), from the greatest down
    recall: Array  # (k, 3)
    precision: Array  # (k, 3)
    missed: Array  # (k, 3)


@dataclass(frozen=True, slots=True, eq=False)
class PerformanceFit:
    """What was fitted to some batches: answers for any threshold."""

    batches: tuple[ScoreBatch, ...]
    curves: CurveDraws | None
    settings: PerformanceSettings
    effective_size: float
    warnings: tuple[tuple[int, Problem], ...]  # of which batch, or of all
    which: tuple[int, ...]  # of the batches, those that are asked about

    @property
    def method(self) -> str:
        """How missed events are estimated."""
        return self.settings.method

    @property
    def level(self) -> float:
        """Coverage of the intervals."""
        return self.settings.level

    @property
    def chosen(self) -> list[ScoreBatch]:
        """The batches that are asked about."""
        return [self.batches[index] for index in self.which]

    def answer(self, thresholds: list[float]) -> Performance:
        """Return the figures at these thresholds, one per batch that is asked about."""
        counts = self.counts(thresholds)
        beliefs = self.settings.beliefs
        ruling = self.read(counts, beliefs)
        precision = self._precision(counts)
        marks = tuple(thresholds) if len(set(thresholds)) > 1 else thresholds[0]
        return Performance(
            ruling.recall,
            precision,
            self._precision_further(counts),
            self._slope(counts, precision.value),
            self._prevalence(counts, ruling.missed),
            ruling.missed,
            self._alerts_per_event(counts),
            marks,
            self.method,
            _record(counts),
            (
                *(text for index, text in self.warnings if index in (ALL, *self.which)),
                *remarks_on(counts, ruling, beliefs),
            ),
            self.effective_size,
            self,
        )

    def counts(self, thresholds: list[float]) -> ThresholdCounts:
        """Count and draw at these thresholds; the same draws every time."""
        rng = np.random.default_rng([self.settings.random_state, 1])
        with one_blas_thread:  # the bits must not depend on the machine's cores
            return counts_at(self.batches, self.which, thresholds, self.curves, rng)

    def read(self, counts: ThresholdCounts, beliefs: Beliefs) -> Ruling:
        """Return recall and missed events under some beliefs."""
        exact = ruling_counted(counts, self.level) if beliefs.error == NO_ERROR else None
        if exact is not None:
            return self._with_readings(counts, beliefs, exact)
        if self.method == "mixture":
            if self.curves is None:
                return ruling_not_identified(counts, self.level)
            return ruling_mixture(counts, self.level)
        point = self._point(counts, beliefs)
        if counts.checked or beliefs.error != NO_ERROR:
            return self._with_readings(counts, beliefs, ruling_draw(counts, beliefs, point))
        return ruling_guess(counts, self.level, point)

    def _with_readings(self, counts: ThresholdCounts, beliefs: Beliefs, ruling: Ruling) -> Ruling:
        """Widen limits by what two readings of the same rows disagree on."""
        readings = self.settings.readings
        if readings is None or beliefs.error != NO_ERROR:
            return ruling
        return wrong_labels(counts, beliefs, ruling, readings.errors(self.level), readings.belief)

    def _point(self, counts: ThresholdCounts, beliefs: Beliefs) -> float:
        """Best guess of the missed events; NaN where there is none."""
        error, below = beliefs.error, counts.rows - counts.alerts
        drawn = weighted_count(counts.missed_cells, error)
        drawn += corrected(counts.certain_missed, counts.labelled_missed, error)
        if self.method == "audit":
            return drawn
        if self.effective_size < WORTHLESS and drawn == drawn:
            return drawn
        if counts.seen + counts.known < FEW and self.settings.auc is None:
            return float("nan")
        if error != NO_ERROR:
            return corrected(float(np.median(counts.missed)), below, error)
        recall = counts.recall[~np.isnan(counts.recall)]
        if self.method == "mixture" or len(recall) == 0 or not recall.mean() > 0:
            return float(np.median(counts.missed))
        # The mean of recall errs least; the missed events are those that go with it.
        return float(np.median(counts.found) * (1.0 / recall.mean() - 1.0))

    def what_if(self, found: Performance) -> tuple[Scenario, ...]:
        """Return recall and missed events under other assumptions."""
        mark = found.threshold
        marks = list(mark) if isinstance(mark, tuple) else [mark] * len(self.which)
        counts, beliefs = self.counts(marks), self.settings.beliefs
        if found.recall.method in (POSTERIOR, NOT_IDENTIFIED) or counts.open_missed == 0:
            return ()
        if not counts.checked:
            return wider_events(self.chosen, marks, counts, self.level)
        others = []
        if beliefs.assume == MONOTONE:
            free = self.read(counts, beliefs._replace(assume=NOTHING))
            others.append(Scenario("nothing is assumed of the scores", free.recall, free.missed))
        if beliefs.error == NO_ERROR:
            errors = [LabelError(0.02, 0.0), LabelError(0.0, 0.02), LabelError(0.02, 0.02)]
            worse = wrong_labels(
                counts, beliefs, ruling_draw(counts, beliefs, found.missed.value), errors, "2 %"
            )
            others.append(Scenario("2 % of the labels are wrong", worse.recall, worse.missed))
        return tuple(others)

    def thresholds(self) -> Array:
        """Thresholds from the greatest score down to well below the present ones."""
        scores = np.concatenate([one.table.score for one in self.chosen])
        rows = np.concatenate([one.table.rows for one in self.chosen])
        order = np.argsort(-scores)
        count = np.cumsum(rows[order])
        wanted = np.geomspace(1.0, count[-1], 60)
        return np.unique(scores[order][np.searchsorted(count, wanted)])

    @property
    def _belief(self) -> str:
        return {"auto": CURVE, "mixture": MIXTURE, "audit": CURVE}[self.method]

    def _precision(self, counts: ThresholdCounts) -> Estimate:
        """Share of events among the alerts of this batch."""
        if counts.alerts == 0:
            return proportion(0, 0, self.level, "")
        if counts.alerts_labelled == 0:
            return Estimate(
                float("nan"), 0.0, 1.0, self.level, "not counted", "no alert is labelled"
            )
        if counts.alerts_labelled == counts.alerts and self.settings.error == NO_ERROR:
            share = counts.seen / counts.alerts
            return Estimate(share, share, share, self.level, "counted", "labels are right")
        low, high = found_limits(counts, self.settings.beliefs)
        most = max(counts.alerts, 1.0)
        middle = self._found(counts)
        value = min(max(middle, low), high) / most
        name = "counted and drawn" if counts.alerts_labelled < counts.alerts else "counted"
        why = (
            f"{counts.alerts - counts.alerts_labelled:,.0f} alerts without a label are like others"
        )
        return Estimate(value, low / most, min(high / most, 1.0), self.level, name, why)

    def _found(self, counts: ThresholdCounts) -> float:
        """Best guess of the events among the alerts."""
        return corrected(float(np.median(counts.found)), counts.alerts, self.settings.error)

    def _precision_further(self, counts: ThresholdCounts) -> Estimate:
        """Share of events among further alerts: those labelled are a sample of them."""
        alike = "further alerts are like the labelled ones, and each is a case of its own"
        if len(counts.found_cells.rows) == 0:
            seen = proportion(counts.seen, counts.alerts_labelled, self.level, alike)
            error = self.settings.error
            if error == NO_ERROR or np.isnan(seen.value):
                return seen
            return replace(
                seen,
                value=corrected(seen.value, 1.0, error),
                low=corrected(seen.low, 1.0, error),
                high=corrected(seen.high, 1.0, error),
            )
        batch = self._precision(counts)
        return replace(batch, method="counted and drawn", assumes=alike)

    def _prevalence(self, counts: ThresholdCounts, missed: Estimate) -> Estimate:
        few, many = found_limits(counts, self.settings.beliefs)
        middle = min(max(self._found(counts), few), many) + missed.value
        return Estimate(
            middle / counts.rows,
            (few + missed.low) / counts.rows,
            min(many + missed.high, counts.rows) / counts.rows,
            self.level,
            missed.method,
            missed.assumes,
        )

    def _local(self, counts: ThresholdCounts) -> tuple[Array | None, Estimate | None]:
        """Share of events at the threshold, drawn or counted."""
        if self.curves is not None:
            return counts.margin, None
        events, rows = counts.band
        if rows < 10:
            return None, None
        return None, proportion(events, rows, self.level, "")

    def _alerts_per_event(self, counts: ThresholdCounts) -> Estimate:
        if self.method == "mixture" and self.curves is None:
            return _unknown(self.level, NOT_FITTED)
        if counts.alerts == counts.rows:
            return _unknown(self.level, "no row lies below the threshold")
        drawn, band = self._local(counts)
        if drawn is not None:
            with np.errstate(divide="ignore"):
                cost = 1.0 / drawn
            low, high = (float(end) for end in _quantiles(cost, self.level))
            return Estimate(
                float(np.quantile(cost, 0.5, method="nearest")),
                low,
                high,
                self.level,
                _curve(self.method),
                self._belief,
            )
        if band is None:
            return _unknown(self.level, "an audit alone says nothing right at the threshold")
        return Estimate(
            1 / band.value if band.value else np.inf,
            1 / band.high,
            1 / band.low if band.low else np.inf,
            self.level,
            "counted right below the threshold",
            "the rows labelled right below the threshold are like the next ones",
        )

    def _slope(self, counts: ThresholdCounts, precision: float) -> Estimate:
        if counts.alerts == 0:
            return _unknown(self.level, "there is no alert, so there is no precision to change")
        if counts.alerts == counts.rows:
            return _unknown(self.level, "no row lies below the threshold")
        drawn, _ = self._local(counts)
        if drawn is None:
            return _unknown(self.level, "an audit alone says nothing right at the threshold")
        total = counts.found + counts.missed
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (total / counts.alerts) * (1.0 - precision / drawn)
        slope = np.where(np.isnan(slope), 0.0, slope)  # precision 0 at the margin of precision 0
        low, high = (float(end) for end in _quantiles(slope, self.level))
        return Estimate(
            float(np.quantile(slope, 0.5, method="nearest")),
            low,
            high,
            self.level,
            _curve(self.method),
            f"{self._belief}; where the interval holds 0, not even the sign is known",
        )


def _in_one_direction(figures: Array) -> None:
    """Let value, low and high rise from row to row, as what they estimate does; limits only widen.

    Each threshold has a point and limits of its own, which may cross those of its neighbours.
    """
    figures[:, 0] = np.maximum.accumulate(np.nan_to_num(figures[:, 0], nan=-np.inf))
    figures[np.isneginf(figures[:, 0]), 0] = np.nan
    figures[:, 1] = np.minimum.accumulate(figures[::-1, 1])[::-1]
    figures[:, 2] = np.maximum.accumulate(figures[:, 2])


def _each(thresholds: ArrayLike) -> NDArray[Any]:
    found = np.atleast_1d(np.asarray(thresholds))
    if found.ndim != 1 or len(found) == 0:
        raise UsageError(
            "{argument} must be one threshold or a list of them, got shape {shape}.",
            code="threshold-value",
            argument=Argument("thresholds"),
            shape=found.shape,
        )
    return found


def _quantiles(values: Array, level: float) -> Array:
    """Central interval of values that may be infinite: order statistics, never a mean of two."""
    return np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="nearest")


def _curve(method: str) -> str:
    return "monotone curve" if method == "auto" else POSTERIOR


def _unknown(level: float, why: str) -> Estimate:
    return Estimate(np.nan, np.nan, np.nan, level, NOT_IDENTIFIED, why)


def _record(counts: ThresholdCounts) -> Counts:
    return Counts(
        round(counts.rows),
        round(counts.alerts),
        round(counts.alerts_labelled),
        round(counts.seen),
        round(counts.rows - counts.alerts - counts.open_missed),
        round(counts.known),
        counts.drawn,
        counts.drawn_events,
        round(counts.outside),
    )


# --- the estimate ---------------------------------------------------------------------------------


def estimate_performance(
    scores: ArrayLike | Rows,
    labels: ArrayLike | None = None,
    *,
    threshold: float | Mapping[Any, float],
    inclusion: ArrayLike | HasInclusion | None = None,
    method: str = "auto",
    assume: str = MONOTONE,
    auc: float | None = None,
    level: float = 0.9,
    batch: ArrayLike | None = None,
    share_shape: bool = False,
    frame: ArrayLike | None = None,
    groups: ArrayLike | None = None,
    second_scores: ArrayLike | None = None,
    label_error: tuple[float, float] | None = None,
    second_labels: ArrayLike | None = None,
    label_source: ArrayLike | None = None,
    threshold_at_time: ArrayLike | None = None,
    background: Families = "auto",
    foreground: Families = "normal",
    check: bool = True,
    random_state: int | np.random.Generator | None = 0,
    engine: Engine = None,
) -> Performance:
    """Estimate recall, precision, their trade-off and missed events from partly labelled scores.

    Parameters
    ----------
    scores : array-like of shape (n,), or Rows
        Greater means more suspicious; a row is an alert at or above the threshold. `Rows` (from
        open_rows) carry their labels, and the arguments below are then names of their columns.
    labels : array-like of shape (n,)
        1 for an event, 0 for none, missing for *not labelled*.
    threshold : float, or dict of batch -> float
        At or above it, a row is an alert.
    inclusion : array-like of shape (n,), optional
        Probability with which each labelled row below the threshold had been drawn; 1 for rows
        labelled for certain; NaN for the others. `choose_labels(...).inclusion(n)` gives it, and
        the choice itself may be passed too. After several audits use `combine_audits`.
    method : {"auto", "mixture", "audit"}
        Where the best guess of the missed events comes from. "auto": a monotone precision curve
        fitted to all labels. "audit": the weighted count of the rows drawn. The limits are the
        same: they come from the rows drawn alone. "mixture": two families of scores fitted to
        labelled and unlabelled rows (002), limits included.
    assume : {"monotone", "nothing"}
        What the limits take for granted beside the draw: that precision does not rise as the score
        falls from one stratum of the draw to the next, or nothing.
    auc : float, optional
        Area under the ROC curve in a validation; the guess is weighed by it at any number of
        events, and a warning says where the labels contradict it. It moves no limit.
    level : float
        Coverage of the intervals.
    batch : array-like of shape (n,), optional
        Which week (site, model) a row belongs to: checks of several batches add up, and figures
        are given for each and in total.
    share_shape : bool
        Whether the curves of all batches fall in the same way. Moves guesses, never limits.
    frame : array-like of shape (n,), optional
        Where one batch holds rows that were drawn from several frames, such as weekly lists: which
        one each drawn row belongs to. `combine_audits` brings its own.
    groups : array-like of shape (n,), optional
        Which incident (patient, machine) a row belongs to, missing where a row is one by itself.
        Every figure then counts incidents: one is found if any of its rows is an alert.
    second_scores : array-like of shape (n,), optional
        The ranking by which rows below the threshold were drawn, where that was another one.
    label_error : tuple of float, optional
        Known rates of wrong labels: share of events labelled as none, and of others labelled as
        events. Figures are corrected for them.
    second_labels : array-like of shape (n,), optional
        Labels of a second reader for some rows, missing elsewhere. Their disagreement widens the
        limits.
    label_source : array-like of shape (n,), optional
        Where each label came from: "alert", "audit", "band", ... or any other word for labels that
        arrived from outside, whose events only bound the missed ones from below.
    threshold_at_time : array-like of shape (n,), optional
        The threshold in force when the row was scored: a label below it did not come from an alert.
    background, foreground : str or family
        For method="mixture".
    check : bool
        Look whether the labels contradict the curve, and warn; for method="mixture" also fit 19
        batches drawn from the fit, and warn where the families look false. Takes up to half of the
        time and changes no figure.
    random_state : int, Generator or None
        For method="mixture": of the draws that carry its uncertainty. All else is the same
        whatever the seed.
    engine : engine
        Who folds `Rows`.

    Returns
    -------
    Performance

    Raises
    ------
    DataError, UsageError
        What was seen, where, and what to pass instead.

    **Assumes** that rows below the threshold were drawn with the stated probabilities, and that
    labels are right or wrong at the stated rates; each estimate says what else it assumes.

    Notes
    -----
    Up to 262,144 scores in memory the answer depends on their order alone: any monotone rescaling
    gives the same bits. Beyond that, and for `Rows`, scores are read once into at most 4,096 bins a
    label state. Cost grows with the rows for one pass, and not at all after it.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> found = estimate_performance(trial.scores, trial.y, threshold=9.1)
    >>> print(found.recall)
    0.3 [0.00226, 0.55] (90 %, guess from a curve, no checks)
    >>> print(found.precision_further)
    0.306 [0.182, 0.455] (90 %, counted)
    >>> found.counts.alerts, found.counts.events_seen
    (36, 11)
    """
    refuse_word("method", method, METHODS)
    refuse_word("assume", assume, ASSUMPTIONS)
    batches = read_batches(
        scores,
        labels,
        threshold,
        inclusion=inclusion,
        batch=batch,
        frame=frame,
        groups=groups,
        second_scores=second_scores,
        label_source=label_source,
        threshold_at_time=threshold_at_time,
        engine=engine,
    )
    seed = read_seed(random_state)
    with one_blas_thread:  # small matrices: a second thread only waits, and bits would depend on it
        return fit_performance(
            batches,
            PerformanceSettings(
                method,
                read_auc(auc),
                read_level(level),
                (background, foreground),
                check,
                seed if method == "mixture" else 0,
                assume,
                read_label_error(label_error),
                _readings(labels, second_labels),
                share_shape,
            ),
        )


def read_label_error(label_error: tuple[float, float] | None) -> LabelError:
    """Return the rates of wrong labels."""
    if label_error is None:
        return NO_ERROR
    rates = tuple(label_error) if isinstance(label_error, Sequence | np.ndarray) else (label_error,)
    if len(rates) != 2:
        raise UsageError(
            "{argument} must be two rates, the share of events labelled as none and of others "
            "labelled as events, got {value!r}.",
            code="label-error",
            argument=Argument("label_error"),
            value=label_error,
            example=Argument("label_error", (0.05, 0.01)),
            remedy="Give {example}, for example.",
        )
    missed, false = (
        read_number(rate, "label_error", Number(0, 0.5, open_high=True)) for rate in rates
    )
    return LabelError(missed, false)


def _readings(labels: ArrayLike | None, second_labels: ArrayLike | None) -> DoubleReading | None:
    """Count on how many rows two readers disagree."""
    if second_labels is None:
        return None
    if labels is None:
        raise rows_have_labels()
    refuse_other_index(labels=labels, second_labels=second_labels)
    n_rows = len(labels)  # type: ignore[arg-type]
    first, second = read_labels(labels, n_rows), read_labels(second_labels, n_rows, "second_labels")
    both = ~np.isnan(first) & ~np.isnan(second)
    return DoubleReading(
        int(both.sum()),
        int((first[both] != second[both]).sum()),
        int((first[both] * second[both]).sum()),
    )


def fit_performance(batches: Sequence[ScoreBatch], settings: PerformanceSettings) -> Performance:
    """Return the estimates of batches whose labels are sorted by provenance."""
    warnings = [(at, note) for at, batch in enumerate(batches) for note in batch.notes]
    curves: CurveDraws | None = None
    size = float("nan")
    rng = np.random.default_rng(settings.random_state)
    if settings.method == "mixture":
        mixed, notes = _mixtures(batches, settings, rng)
        warnings += notes
        if mixed is not None:
            curves, size = mixed, mixed.effective_size
    else:
        monotone = PooledCurves.fit(batches, rng, share_shape=settings.share_shape)
        if settings.auc is not None:
            monotone, against = weighed_by_auc(monotone, batches, settings.auc)
            warnings += [(ALL, one) for one in against]
        curves, size = monotone, monotone.effective_size
    if settings.check and curves is not None and settings.method != "audit":
        warnings += contradictions(batches, curves, rng)
    warnings += [(ALL, one) for one in _doubts(batches, settings.level, size, settings.method)]
    which = tuple(range(len(batches)))
    fit = PerformanceFit(tuple(batches), curves, settings, size, tuple(warnings), which)
    return fit.answer([batch.threshold for batch in batches])


def _mixtures(
    batches: Sequence[ScoreBatch], settings: PerformanceSettings, rng: np.random.Generator
) -> tuple[MixtureDraws | None, list[tuple[int, Problem]]]:
    """Return draws of the mixtures, or None where they cannot be used, and warnings."""
    from scarce.missed.mixture.estimator import draw_mixtures  # compiled loops: only when asked

    mixed, warnings = draw_mixtures(batches, settings.families, rng)
    if mixed is not None and mixed.effective_size < WORTHLESS:
        withheld = Problem(
            "The mixture's draws are worth only {size:.0f} independent ones, most likely because "
            "two very different fits explain the scores: its figures are withheld.",
            code="mixture-draws",
            size=mixed.effective_size,
            method=Argument("method", "auto"),
            remedy="Use {method}.",
        )
        return None, [*warnings, (ALL, withheld)]
    if mixed is not None and settings.check:
        warnings += _families_doubted(mixed, batches, settings.random_state)
    return mixed, warnings


def _doubts(batches: Sequence[ScoreBatch], level: float, size: float, method: str) -> list[Problem]:
    """Warn of what concerns the whole estimate."""
    doubts = []
    if not any(batch.table.events.sum() + batch.table.others.sum() for batch in batches):
        doubts.append(
            Problem(
                "No row is labelled: all figures come from the prior alone.",
                code="no-labels",
                remedy="Label the alerts first.",
            )
        )
    if method == "mixture" and (1 - level) / 2 * DRAWS < 4:
        doubts.append(
            Problem(
                "{level} asks for the ends of {draws} draws, which are rough.",
                code="level-extreme",
                level=Argument("level", level),
                draws=DRAWS,
                remedy="Ask for 0.99.",
            )
        )
    if method == "mixture" and size < FEW_DRAWS:
        doubts.append(
            Problem(
                "The draws behind the intervals are worth only {size:.0f} independent ones, so the "
                "ends are rough.",
                code="few-draws",
                size=size,
                seed=Argument("random_state"),
                remedy="Try another {seed} and compare.",
            )
        )
    return doubts


def _families_doubted(
    mixed: MixtureDraws, batches: Sequence[ScoreBatch], random_state: int
) -> list[tuple[int, Problem]]:
    """Warn where a batch drawn from the fit never looks as odd as the one at hand."""
    warnings = []
    for index, batch in enumerate(batches):
        chance = mixed.chance_of_distance(index, batch.table, 19, random_state)
        if chance <= 0.05:
            problem = Problem(
                "The scores{where} do not follow the fitted families (KS by bootstrap, p <= "
                "{p_value:.2f}), and the interval does not include that doubt.",
                code="families-doubted",
                where=in_batch(batch),
                p_value=chance,
                method=Argument("method", "auto"),
                remedy="Compare with {method}.",
            )
            warnings.append((index, problem))
    return warnings


# --- in words -------------------------------------------------------------------------------------


def in_words(found: Performance) -> str:
    """Return the figures as short lines for a reader, warnings first."""
    counts = found.counts
    lines = [f"warning: {text}" for text in found.warnings]
    lines.append(
        f"Alerts: {counts.alerts:,} of {counts.rows:,} rows, {counts.alerts_labelled:,} of them "
        f"labelled, {counts.events_seen:,} events seen."
    )
    lines.append(
        f"Precision of these alerts: {_plain(found.precision)}; of further alerts like them: "
        f"{_plain(found.precision_further)}."
    )
    if counts.labelled_below:
        checks = f"Checked below the threshold: {counts.labelled_below:,} rows"
        if counts.audited:
            checks += f", {counts.audited:,} of them drawn at random"
        lines.append(f"{checks}; {counts.events_below:,} events found there.")
    if counts.from_outside:
        lines.append(f"Known from outside: {counts.from_outside:,} events below the threshold.")
    lines += [
        _line("Missed events", found.missed),
        _line("Recall", found.recall),
        _line("Prevalence", found.prevalence),
        f"Lowering the threshold: {_cost(found.alerts_per_event)}",
        f"Slope of precision against recall: {_slope(found.precision_per_recall)}",
        f"This assumes: {found.recall.assumes}.",
    ]
    lines += [f"{str(one)[:1].upper()}{str(one)[1:]}." for one in found.what_if()]
    return "\n".join(lines)


def _line(name: str, estimate: Estimate) -> str:
    if np.isnan(estimate.value) and estimate.low == estimate.high:
        return f"{name}: {estimate.assumes}."
    if estimate.method == GUESS:
        unknown = np.isnan(estimate.value)
        guess = "no guess" if unknown else f"a guess of {short(estimate.value)}"
        return f"{name}: {guess}, no interval."
    if np.isnan(estimate.value):
        return f"{name}: no best guess; between {_range(estimate)} ({_level(estimate)})."
    if estimate.low == estimate.high:
        return f"{name}: {short(estimate.value)} ({estimate.method})."
    return (
        f"{name}: about {short(estimate.value)}, between {_range(estimate)} ({_level(estimate)})."
    )


def _plain(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return "unknown"
    if estimate.low == estimate.high:
        return short(estimate.value)
    return f"{short(estimate.value)}, between {_range(estimate)}"


def _range(estimate: Estimate) -> str:
    return f"{short(estimate.low)} and {short(estimate.high)}"


def _level(estimate: Estimate) -> str:
    return f"{100 * estimate.level:g} %, {estimate.method}"


def _cost(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return f"what the next event costs is unknown ({estimate.assumes})."
    return (
        f"about {short(estimate.value)} alerts to open per further event, between "
        f"{_range(estimate)}."
    )


def _slope(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return f"undefined ({estimate.assumes})."
    sign = "; its sign is not known" if estimate.low < 0 < estimate.high else ""
    return f"{short(estimate.value)}, between {_range(estimate)}{sign}."
