"""What is said for one threshold: the record of all figures, and how each is read from a tally.

    dP/dR = (P / R)(1 - P / g) = (events / alerts)(1 - P / g)      (from 002 eq 2 and 6)

Keeps what was fitted, so that the same question can be asked for another threshold at no cost.
Assumes what each figure says of itself. Fits nothing: see performance.py.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import read_threshold
from scarce.engine.block import Array
from scarce.engine.executors import one_blas_thread
from scarce.errors import UsageError
from scarce.missed.counts import CurveDraws, Tally, tally_at
from scarce.missed.gather import ROW_BY_ROW
from scarce.missed.provenance import Intake
from scarce.missed.remarks import remarks_on
from scarce.missed.rules import (
    AUDIT,
    CURVE,
    MIXTURE,
    NOT_FITTED,
    Reading,
    counted,
    ends,
    moved,
    proportion,
    read_audit,
    read_auto,
    read_mixture,
    read_nothing,
)
from scarce.missed.wording import in_words
from scarce.results import Estimate, to_plain

BINNED = (
    f"More than {ROW_BY_ROW:,} rows are held in bins: counts at this threshold are read between "
    "them and not exact. For exact ones, estimate at this threshold itself."
)

ALL = -1
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
class Performance:
    """What a detector finds and misses, each figure with its interval and what it leans on.

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
    threshold: Any
    method: str
    counts: Counts
    warnings: tuple[str, ...]
    effective_size: float
    _question: Any = field(repr=False)

    def at(self, threshold: Any) -> Performance:
        """Return the same figures if the threshold were another one; nothing is fitted again.

        Of more than 262,144 rows, counts at another threshold are read between bins, and not exact:
        `warnings` says so.
        """
        names = [intake.name for intake in self._question.chosen]
        marks = read_threshold(threshold, names)
        found: Performance = self._question.answer(marks)
        known = self.threshold if isinstance(self.threshold, tuple) else [self.threshold]
        long = any(intake.ledger.n > ROW_BY_ROW for intake in self._question.chosen)
        if long and set(marks) - set(known):
            found = replace(found, warnings=(*found.warnings, BINNED))
        return found

    @property
    def batches(self) -> dict[Any, Performance]:
        """The figures of each batch alone, by its name; the curve's shape is common to all."""
        question = self._question
        marks = self.threshold
        if not isinstance(marks, tuple):
            marks = [marks] * len(question.which)
        return {
            question.intakes[index].name: replace(question, which=(index,)).answer([mark])
            for index, mark in zip(question.which, marks, strict=True)
        }

    def share_of_events(self, place: Array, count: int, rng: np.random.Generator) -> Array:
        """Return draws of the share of events at normal scores of the rank: (count, places)."""
        if self.method != "auto":
            raise UsageError(f"method={self.method!r} has no curve over ranks: use method='auto'.")
        drawn: Array = self._question.curves.curves.some(count, rng).precision(place)
        return drawn

    def curve(self, thresholds: ArrayLike | None = None) -> PerformanceCurve:
        """Return precision and recall of this batch at many thresholds, with intervals."""
        question = self._question
        if thresholds is None:
            thresholds = question.thresholds()
        marks = np.array(sorted(read_threshold(one, [None])[0] for one in _each(thresholds)))[::-1]
        found = [question.answer([float(mark)] * len(question.which)) for mark in marks]
        table = {
            name: np.array(
                [[getattr(one, name).value, *_pair(getattr(one, name))] for one in found]
            )
            for name in ("recall", "precision", "missed")
        }
        return PerformanceCurve(marks, table["recall"], table["precision"], table["missed"])

    def __str__(self) -> str:
        return in_words(self)

    def to_dict(self) -> dict[str, Any]:
        """Return estimates, counts and warnings as plain data, for JSON.

        JSON has no NaN and no infinity: what is not known is None, and infinity is the text
        "Infinity".
        """
        plain = {
            "threshold": self.threshold,
            "method": self.method,
            **{name: getattr(self, name).to_dict() for name in FIGURES},
            "counts": asdict(self.counts),
            "warnings": list(self.warnings),
            "effective_size": self.effective_size,
        }
        found: dict[str, Any] = to_plain(plain)
        return found


@dataclass(frozen=True, slots=True, eq=False)
class PerformanceCurve:
    """Precision and recall of a batch against the threshold: value, low and high in each row."""

    threshold: Array  # (k,), from the greatest down
    recall: Array  # (k, 3)
    precision: Array  # (k, 3)
    missed: Array  # (k, 3)


@dataclass(frozen=True, slots=True, eq=False)
class Question:
    """Everything that is needed to answer for another threshold."""

    intakes: tuple[Intake, ...]
    curves: CurveDraws | None
    method: str
    auc: float | None
    level: float
    random_state: int
    effective_size: float
    warnings: tuple[tuple[int, str], ...]  # of which batch, or of all
    which: tuple[int, ...]  # of the batches, those that are asked about
    points: CurveDraws | None = None  # curves for the best guess, where those of the ends differ

    @property
    def chosen(self) -> list[Intake]:
        """The batches that are asked about."""
        return [self.intakes[index] for index in self.which]

    def answer(self, thresholds: list[float]) -> Performance:
        """Return the figures at these thresholds, one per batch that is asked about."""
        rng = np.random.default_rng([self.random_state, 1])
        tally = self._tally(thresholds, self.curves, rng)
        reading = self._read(tally)
        if self.points is not None:
            guess = self._read(self._tally(thresholds, self.points, rng))
            reading = Reading(
                moved(reading.recall, guess.recall.value), moved(reading.missed, guess.missed.value)
            )
        precision = self._precision(tally)
        marks = tuple(thresholds) if len(set(thresholds)) > 1 else thresholds[0]
        return Performance(
            reading.recall,
            precision,
            self._slope(tally, precision.value),
            self._prevalence(tally, reading.missed),
            reading.missed,
            self._alerts_per_event(tally),
            marks,
            self.method,
            _counts(tally),
            (
                *(text for index, text in self.warnings if index in (ALL, *self.which)),
                *remarks_on(tally, reading),
            ),
            self.effective_size,
            self,
        )

    def _tally(
        self, thresholds: list[float], curves: CurveDraws | None, rng: np.random.Generator
    ) -> Tally:
        with one_blas_thread:  # the bits must not depend on the machine's cores
            return tally_at(self.intakes, self.which, thresholds, curves, rng, level=self.level)

    def thresholds(self) -> Array:
        """Thresholds from the greatest score down to well below the present ones."""
        scores = np.concatenate([one.ledger.score for one in self.chosen])
        rows = np.concatenate([one.ledger.rows for one in self.chosen])
        order = np.argsort(-scores)
        count = np.cumsum(rows[order])
        wanted = np.geomspace(1.0, count[-1], 60)
        return np.unique(scores[order][np.searchsorted(count, wanted)])

    def _read(self, tally: Tally) -> Reading:
        exact = counted(tally, self.level)
        if exact is not None:
            return exact
        if self.method == "mixture" and self.curves is None:
            return read_nothing(tally, self.level)
        if self.method == "mixture":
            return read_mixture(tally, self.level)
        if self.method == "audit":
            return read_audit(tally, self.level)
        trusted = self.effective_size >= WORTHLESS
        return read_auto(tally, self.level, self.auc, trusted=trusted)

    @property
    def _belief(self) -> str:
        return {"auto": CURVE, "mixture": MIXTURE, "audit": AUDIT}[self.method]

    def _precision(self, tally: Tally) -> Estimate:
        open_alerts = tally.alerts - tally.alerts_labelled
        if open_alerts == 0 or self.curves is None:
            alike = "counted in this batch; the interval takes further alerts to be like these"
            if open_alerts:
                alike = f"{open_alerts:,.0f} alerts without a label are like the labelled ones"
            return proportion(tally.seen, tally.alerts_labelled, self.level, alike)
        share = tally.found / tally.alerts
        name = "counted and drawn" if tally.alerts_labelled else "drawn"
        return Estimate(
            float(np.median(share)), *ends(share, self.level), self.level, name, self._belief
        )

    def _prevalence(self, tally: Tally, missed: Estimate) -> Estimate:
        few, many = ends(tally.found, self.level)
        middle = float(np.median(tally.found)) + missed.value
        modelled = missed.method not in ("counted", "audit, gamma limits")
        if self.curves is not None and self.points is None and modelled:
            total = float(np.median(tally.found + tally.missed))  # whatever the threshold
            held = min(max(total, few + missed.low), many + missed.high)
            middle = held if missed.value == missed.value else middle
        return Estimate(
            middle / tally.rows,
            (few + missed.low) / tally.rows,
            (many + missed.high) / tally.rows,
            self.level,
            missed.method,
            missed.assumes,
        )

    def _local(self, tally: Tally) -> tuple[Array | None, Estimate | None]:
        """Share of events at the threshold, drawn or counted."""
        if self.curves is not None:
            return tally.margin, None
        events, rows = tally.band
        if rows < 10:
            return None, None
        return None, proportion(events, rows, self.level, "")

    def _alerts_per_event(self, tally: Tally) -> Estimate:
        if self.method == "mixture" and self.curves is None:
            return _unknown(self.level, NOT_FITTED)
        if tally.alerts == tally.rows:
            return _unknown(self.level, "no row lies below the threshold")
        drawn, band = self._local(tally)
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

    def _slope(self, tally: Tally, precision: float) -> Estimate:
        if tally.alerts == 0:
            return _unknown(self.level, "there is no alert, so there is no precision to change")
        if tally.alerts == tally.rows:
            return _unknown(self.level, "no row lies below the threshold")
        drawn, _ = self._local(tally)
        if drawn is None:
            return _unknown(self.level, "an audit alone says nothing right at the threshold")
        total = tally.found + tally.missed
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = (total / tally.alerts) * (1.0 - precision / drawn)
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


def _each(thresholds: Any) -> Any:
    found = np.atleast_1d(np.asarray(thresholds))
    if found.ndim != 1 or len(found) == 0:
        raise UsageError(f"thresholds={thresholds!r}: give one threshold or a list of them.")
    return found


def _quantiles(values: Array, level: float) -> Array:
    """Central interval of values that may be infinite: order statistics, never a mean of two."""
    return np.quantile(values, [(1 - level) / 2, (1 + level) / 2], method="nearest")


def _curve(method: str) -> str:
    return "monotone curve" if method == "auto" else "mixture, posterior interval"


def _unknown(level: float, why: str) -> Estimate:
    return Estimate(np.nan, np.nan, np.nan, level, "not identified", why)


def _pair(estimate: Estimate) -> tuple[float, float]:
    return estimate.low, estimate.high


def _counts(tally: Tally) -> Counts:
    audit = tally.audit
    below = tally.rows - tally.alerts
    return Counts(
        round(tally.rows),
        round(tally.alerts),
        round(tally.alerts_labelled),
        round(tally.seen),
        round(below - audit.frame_rows + audit.audited),
        round(tally.known),
        audit.audited,
        audit.events,
        round(tally.outside),
    )
