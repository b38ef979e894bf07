"""How good is a detector when only its alerts were investigated?

    recall = found / (found + missed),   dP/dR = (P / R)(1 - P / g)        (002 eq 2; g: eq 6 at t)

Precision above the threshold is counted. What lies below is estimated: by a monotone precision
curve and an audit (the default), by an audit alone, or by the paper's mixture of two families.
What was fitted is kept, so another threshold can be asked for at no cost. Which number may be said
is decided in rules.py. Assumes what each estimate says of itself. Chooses no labels: see choose.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import HasInclusion
from scarce.checks import read_auc, read_level, read_seed, read_threshold
from scarce.engine.block import Array
from scarce.engine.executors import Engine, one_blas_thread
from scarce.engine.rows import Rows
from scarce.errors import Argument, Problem, UsageError, refuse_word
from scarce.missed.audit import METHOD as AUDITED
from scarce.missed.counts import DRAWS, CurveDraws, ThresholdCounts, counts_at
from scarce.missed.curve import Curves, PooledCurves
from scarce.missed.provenance import ROW_BY_ROW, ScoreBatch, read_batches
from scarce.missed.rules import (
    AUDIT,
    COUNTED,
    CURVE,
    MIXTURE,
    NOT_FITTED,
    NOT_IDENTIFIED,
    ONE_SIDED,
    POSTERIOR,
    Ruling,
    contradictions,
    ends,
    in_batch,
    moved,
    proportion,
    remarks_on,
    ruling_audit,
    ruling_auto,
    ruling_counted,
    ruling_mixture,
    ruling_not_identified,
)
from scarce.results import Estimate, Record, short

if TYPE_CHECKING:
    from scarce.missed.mixture.estimator import MixtureDraws
    from scarce.missed.mixture.families import Family

    Families = str | Family | Sequence[str | Family]

METHODS = ("auto", "mixture", "audit")
FEW_DRAWS = 200.0
ALL = -1  # where a warning concerns every batch
WORTHLESS = 50.0  # effective draws below which a curve has no say against an audit
FIGURES = (
    "recall",
    "precision",
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
        Share of events among alerts: counted; the interval is for further alerts of the kind.
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
    points: CurveDraws | None = None  # curves for the best guess, where those of the ends differ

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
        rng = np.random.default_rng([self.settings.random_state, 1])
        counts = self._counts_at(thresholds, self.curves, rng)
        ruling = self._read(counts)
        if self.points is not None:
            guess = self._read(self._counts_at(thresholds, self.points, rng))
            ruling = Ruling(
                moved(ruling.recall, guess.recall.value), moved(ruling.missed, guess.missed.value)
            )
        precision = self._precision(counts)
        marks = tuple(thresholds) if len(set(thresholds)) > 1 else thresholds[0]
        return Performance(
            ruling.recall,
            precision,
            self._slope(counts, precision.value),
            self._prevalence(counts, ruling.missed),
            ruling.missed,
            self._alerts_per_event(counts),
            marks,
            self.method,
            _record(counts),
            (
                *(text for index, text in self.warnings if index in (ALL, *self.which)),
                *remarks_on(counts, ruling),
            ),
            self.effective_size,
            self,
        )

    def _counts_at(
        self, thresholds: list[float], curves: CurveDraws | None, rng: np.random.Generator
    ) -> ThresholdCounts:
        with one_blas_thread:  # the bits must not depend on the machine's cores
            return counts_at(self.batches, self.which, thresholds, curves, rng, level=self.level)

    def thresholds(self) -> Array:
        """Thresholds from the greatest score down to well below the present ones."""
        scores = np.concatenate([one.table.score for one in self.chosen])
        rows = np.concatenate([one.table.rows for one in self.chosen])
        order = np.argsort(-scores)
        count = np.cumsum(rows[order])
        wanted = np.geomspace(1.0, count[-1], 60)
        return np.unique(scores[order][np.searchsorted(count, wanted)])

    def _read(self, counts: ThresholdCounts) -> Ruling:
        exact = ruling_counted(counts, self.level)
        if exact is not None:
            return exact
        if self.method == "mixture" and self.curves is None:
            return ruling_not_identified(counts, self.level)
        if self.method == "mixture":
            return ruling_mixture(counts, self.level)
        if self.method == "audit":
            return ruling_audit(counts, self.level)
        trusted = self.effective_size >= WORTHLESS
        return ruling_auto(counts, self.level, self.settings.auc, trusted=trusted)

    @property
    def _belief(self) -> str:
        return {"auto": CURVE, "mixture": MIXTURE, "audit": AUDIT}[self.method]

    def _precision(self, counts: ThresholdCounts) -> Estimate:
        open_alerts = counts.alerts - counts.alerts_labelled
        if open_alerts == 0 or self.curves is None:
            alike = "counted in this batch; the interval takes further alerts to be like these"
            if open_alerts:
                alike = f"{open_alerts:,.0f} alerts without a label are like the labelled ones"
            return proportion(counts.seen, counts.alerts_labelled, self.level, alike)
        share = counts.found / counts.alerts
        name = "counted and drawn" if counts.alerts_labelled else "drawn"
        return Estimate(
            float(np.median(share)), *ends(share, self.level), self.level, name, self._belief
        )

    def _prevalence(self, counts: ThresholdCounts, missed: Estimate) -> Estimate:
        few, many = ends(counts.found, self.level)
        middle = float(np.median(counts.found)) + missed.value
        modelled = missed.method not in (COUNTED, AUDITED)
        if self.curves is not None and self.points is None and modelled:
            total = float(np.median(counts.found + counts.missed))  # whatever the threshold
            held = min(max(total, few + missed.low), many + missed.high)
            middle = held if missed.value == missed.value else middle
        return Estimate(
            middle / counts.rows,
            (few + missed.low) / counts.rows,
            (many + missed.high) / counts.rows,
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
    audit = counts.audit
    below = counts.rows - counts.alerts
    return Counts(
        round(counts.rows),
        round(counts.alerts),
        round(counts.alerts_labelled),
        round(counts.seen),
        round(below - audit.frame_rows + audit.audited),
        round(counts.known),
        audit.audited,
        audit.events,
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
    auc: float | None = None,
    level: float = 0.9,
    batch: ArrayLike | None = None,
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
        "auto": a monotone precision curve, and the audit where there is one. "audit": the audit
        alone. "mixture": two families of scores fitted to labelled and unlabelled rows (002).
    auc : float, optional
        Area under the ROC curve in a validation; sharpens the curve while few events were seen.
        Without any label below the threshold it moves the best guess and not the interval.
    level : float
        Coverage of the intervals.
    batch : array-like of shape (n,), optional
        Which week (site, model) a row belongs to. Batches share the shape of the curve; events are
        estimated for each and in total.
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
        Of the draws that carry the uncertainty; the same number gives the same answer.
    engine : engine
        Who folds `Rows`.

    Returns
    -------
    Performance

    Raises
    ------
    DataError, UsageError
        What was seen, where, and what to pass instead.

    **Assumes** that rows were chosen for labelling by their score or with the stated probabilities,
    and that labels are right; each estimate says what else it assumes.

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
    0.3 [0.0808, 0.5] (90 %, monotone curve, extrapolated)
    >>> print(found.precision)
    0.306 [0.182, 0.455] (90 %, counted)
    >>> found.counts.alerts, found.counts.events_seen
    (36, 11)
    """
    refuse_word("method", method, METHODS)
    batches = read_batches(
        scores,
        labels,
        threshold,
        inclusion=inclusion,
        batch=batch,
        label_source=label_source,
        threshold_at_time=threshold_at_time,
        engine=engine,
    )
    with one_blas_thread:  # small matrices: a second thread only waits, and bits would depend on it
        return fit_performance(
            batches,
            PerformanceSettings(
                method,
                read_auc(auc),
                read_level(level),
                (background, foreground),
                check,
                read_seed(random_state),
            ),
        )


def fit_performance(batches: Sequence[ScoreBatch], settings: PerformanceSettings) -> Performance:
    """Return the estimates of batches whose labels are sorted by provenance."""
    warnings = [(at, note) for at, batch in enumerate(batches) for note in batch.notes]
    curves: CurveDraws | None = None
    points: CurveDraws | None = None
    size = float("nan")
    auc, rng = settings.auc, np.random.default_rng(settings.random_state)
    if settings.method == "auto":
        blind = not any(_labels_below(batch) for batch in batches)
        monotone = PooledCurves.fit(batches, None if blind else auc, rng)
        curves, size = monotone, monotone.effective_size
        if blind and auc is not None:
            # An AUC is of the whole distribution. With no label below the threshold nothing checks
            # it at the margin, and where standard deviations differ its interval misses: it moves
            # the point, and the ends stay those of the wide prior.
            points = PooledCurves.fit(batches, auc, rng)
    elif settings.method == "mixture":
        mixed, notes = _mixtures(batches, settings, rng)
        warnings += notes
        if mixed is not None:
            curves, size = mixed, mixed.effective_size
    if settings.check and curves is not None:
        warnings += contradictions(batches, curves, rng)
    warnings += [(ALL, one) for one in _doubts(batches, settings.level, size)]
    which = tuple(range(len(batches)))
    fit = PerformanceFit(tuple(batches), curves, settings, size, tuple(warnings), which, points)
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


def _doubts(batches: Sequence[ScoreBatch], level: float, size: float) -> list[Problem]:
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
    if (1 - level) / 2 * DRAWS < 4:
        doubts.append(
            Problem(
                "{level} asks for the ends of {draws} draws, which are rough.",
                code="level-extreme",
                level=Argument("level", level),
                draws=DRAWS,
                remedy="Ask for 0.99.",
            )
        )
    if size < FEW_DRAWS:
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


def _labels_below(batch: ScoreBatch) -> bool:
    cut = batch.table.above(batch.threshold)
    return bool((batch.table.events[cut:] + batch.table.others[cut:]).any())


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
    how = "counted, not modelled" if found.precision.method == COUNTED else "partly modelled"
    lines.append(f"Precision {_figure(found.precision)}: {how}.")
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
    return "\n".join(lines)


def _line(name: str, estimate: Estimate) -> str:
    if np.isnan(estimate.value) and estimate.low == estimate.high:
        return f"{name}: {estimate.assumes}."
    if np.isnan(estimate.value):
        if estimate.method == ONE_SIDED or np.isnan(estimate.low):
            return f"{name}: no best guess; at most {short(estimate.high)} ({_level(estimate)})."
        return f"{name}: no best guess; between {_range(estimate)} ({_level(estimate)})."
    return (
        f"{name}: about {short(estimate.value)}, between {_range(estimate)} ({_level(estimate)})."
    )


def _figure(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return "unknown"
    return f"{short(estimate.value)}, for further alerts between {_range(estimate)}"


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
