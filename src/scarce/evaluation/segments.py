"""How good are probabilities in each segment, or period by period, and which of them stand out?

    figures of each segment    as `evaluate` gives them for its rows alone
    pooled rate                drawn towards the rest, most where it is small (differences.py)
    verdict                    differs from the rest, paid for many segments (differences.py)
    over time                  trend and change (over_time.py)
    not labelled, not yet      expected figures, apart from the observed ones (expected.py)

Weights, inclusion and groups are read once, for the whole table; a segment is a part of it. Rows
younger than the usual delay of labels count nowhere but in expected figures. Assumes that rows with
a label stand for those to be judged. For two classes.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import (
    FEW,
    Frequency,
    Inclusion,
    Resampling,
    Sample,
    Seed,
    Weights,
    read_kind,
    read_sample,
)
from scarce.checks import (
    is_missing,
    name_column,
    read_inclusion,
    read_threshold,
    read_weight,
    refuse_length,
    refuse_other_index,
)
from scarce.decisions.decide import encode_labels
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError, listed
from scarce.evaluation.differences import Segmented, standing_out
from scarce.evaluation.evaluate import AtThreshold, threshold_figures
from scarce.evaluation.expected import Expected, expected_of
from scarce.evaluation.over_time import Change, Trend, change_tests, trend_of
from scarce.evaluation.periods import (
    MOST_SEGMENTS,
    PERIODS,
    Binned,
    Date,
    Delay,
    cut_periods,
    read_dates,
    read_delay,
)
from scarce.evaluation.ranking import ranked
from scarce.evaluation.scores import BRIER, LOG, Forecasts, LossFigures, read_probabilities
from scarce.results import Estimate, Record, in_rows, short

MISSING = "(missing)"
ONE_GROUP = "no limits: rows of one group only"
NO_ROWS = "no row with a known label"
VERDICTS = {1: "more events", -1: "fewer events", 0: ""}
NOT_TESTED = "not tested"


@dataclass(frozen=True, eq=False)
class Segment(Record):
    """Figures of one segment or period.

    Parameters
    ----------
    name : str
    rows : int
        All rows, labelled or not.
    labelled, events : int
        Rows with a known label, and events among them.
    waiting : int
        Rows younger than the usual delay of labels: not yet known.
    given, happened, gap, log_loss, brier, auc : Estimate
        As in `evaluate`, of the labelled rows; NaN where there is none.
    pooled : Estimate
        Base rate, drawn towards that of the rest; for small segments the better guess.
    p_value : float
        Of "as many events as expected, given the other segments", two-sided and corrected for the
        number of segments (Holm). NaN where it cannot be tested.
    verdict : str
        "more events" or "fewer events" than expected, where that is beyond chance; "" where it is
        not; "not tested".
    expected : Expected, or None
        Of the rows without a known label, if their probabilities are calibrated.
    at_threshold : AtThreshold, or None without `threshold=`
    z : float
        Events less the sum of probabilities, in standard deviations that this has where the
        probabilities are calibrated: beyond +-2 they are off by more than chance.
    """

    name: str
    rows: int
    labelled: int
    events: int
    waiting: int
    given: Estimate
    happened: Estimate
    gap: Estimate
    log_loss: Estimate
    brier: Estimate
    auc: Estimate
    pooled: Estimate
    p_value: float
    verdict: str
    expected: Expected | None = None
    at_threshold: AtThreshold | None = None
    z: float = float("nan")


@dataclass(frozen=True, eq=False)
class EvaluationBy(Record):
    """Figures of all segments, and what they say together.

    Parameters
    ----------
    period : str
        "day", "week", "month", "quarter" or "year"; "" for segments without order.
    segments : tuple of Segment
        Periods in order, those without rows among them; other segments by name.
    between : Estimate
        Standard deviation between segments, in log odds, of what is left after one recalibration.
    trend : Trend, or None without `period`
    changes : tuple of Change
        Of calibration and of loss; empty without `period`.
    label_delay : float
        Days; NaN where labels take no time.
    as_of : str
        When labels were read; "" where they take no time.
    level : float
    remarks : tuple of str
        What the reader should know, most important first.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> country, prob = rng.choice(["at", "be", "cz"], 900, p=[0.6, 0.3, 0.1]), rng.beta(1, 9, 900)
    >>> print(evaluate_by(rng.random(900) < prob, prob, country))
    900 rows in 3 segments, 900 with a known label
      segment  rows  events  given %  happened %         pooled %  AUC
      at        524      56  10.1     10.7 [8.49, 13.2]  10.5      0.767
      be        288      26  9.73     9.03 [6.42, 12.5]  9.46      0.82
      cz         88       9  9.56     10.2 [5.28, 17.4]  9.88      few
    """

    period: str
    segments: tuple[Segment, ...]
    between: Estimate
    level: float
    trend: Trend | None = None
    changes: tuple[Change, ...] = ()
    label_delay: float = float("nan")
    as_of: str = ""
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(
            [
                self.title(),
                *(f"  {line}" for line in _aligned(self.columns(), self.table())),
                *self.over_time(),
                *(f"remark: {text}" for text in self.remarks),
            ]
        )

    @property
    def standing_out(self) -> list[Segment]:
        """The segments that differ from the rest by more than chance."""
        return [one for one in self.segments if one.verdict not in ("", NOT_TESTED)]

    @property
    def assumes(self) -> list[str]:
        """What the figures assume, each assumption once."""
        told = [one.happened for one in self.segments] + [one.pooled for one in self.segments]
        told += [one.expected.events for one in self.segments if one.expected is not None]
        texts = [one.assumes for one in told if one.value == one.value]
        return list(dict.fromkeys(text.removeprefix(f"{texts[0]}; ") for text in texts))

    def title(self) -> str:
        """Return a line: how many rows in how many segments."""
        rows = sum(one.rows for one in self.segments)
        known = sum(one.labelled for one in self.segments)
        what = f"{self.period}s" if self.period else "segments"
        return f"{in_rows(rows)} in {len(self.segments):,} {what}, {known:,} with a known label"

    def columns(self) -> list[str]:
        """Return the headings of `table`."""
        return [
            self.period or "segment",
            *("rows", "events", "given %", "happened %"),
            *(("recall %", "precision %") if self._cut else ("pooled %", "AUC")),
            *(["expected"] if self._waits else []),
            *(["differs"] if self.standing_out else []),
        ]

    def table(self) -> list[list[str]]:
        """Return a line of words for each segment; "few" for shares of fewer than ten rows."""
        lines = []
        for one in self.segments:
            cells = [one.name, f"{one.rows:,}", *(_seen(one, self._cut))]
            if self._waits:
                cells.append("" if one.expected is None else one.expected.events.brief())
            if self.standing_out:
                found = one in self.standing_out
                word = one.verdict.partition(" ")[0]
                cells.append(f"{word} ({_chance(one.p_value)})" if found else "")
            lines.append(cells)
        return lines

    @property
    def _waits(self) -> bool:
        return any(one.expected is not None for one in self.segments)

    @property
    def _cut(self) -> bool:
        return any(one.at_threshold is not None for one in self.segments)

    def over_time(self) -> list[str]:
        """Return lines about trend and change; none without periods."""
        if self.trend is None:
            return []
        lines = [f"  change a {self.period}"]
        for name, one, percent in (
            ("happened", self.trend.happened, True),
            ("given - happened", self.trend.gap, True),
            ("log loss", self.trend.log_loss, False),
        ):
            lines.append(f"    {name:<18} {one.brief(percent=percent)}")
        lines += [f"  {_in_words(change)}" for change in self.changes if not change.found]
        return lines


def evaluate_by(
    y_true: ArrayLike,
    prob: ArrayLike,
    by: ArrayLike,
    *,
    period: str | None = None,
    classes: Sequence[Hashable] | None = None,
    threshold: float | None = None,
    dates: ArrayLike | None = None,
    label_delay: float | None = None,
    as_of: Date | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> EvaluationBy:
    """Judge probabilities segment by segment, or period by period.

    Parameters
    ----------
    y_true, prob, classes, threshold, sample_weight, weight_kind, inclusion, groups
        As in `evaluate`, for two classes. A segment may have no label at all; in one that has some,
        rows without need `inclusion`, or `label_delay` if their labels are still to come.
    by : array-like of shape (n,)
        Segment of each row, such as its country; with `period` its date or time.
    period : {"day", "week", "month", "quarter", "year"}, optional
        Cut dates into these, weeks from Monday on.
    dates : array-like of shape (n,), optional
        Date of each row, for `label_delay`; by default `by` where that holds dates.
    label_delay : float, optional
        Days within which labels usually come; see `usual_delay`. Younger rows are not yet known,
        whatever their label says: neither their events nor the others count.
    as_of : date, optional
        When labels were read; by default the last date.
    level, resamples, random_state
        As in `evaluate`.

    Returns
    -------
    EvaluationBy
        Figures that a segment's rows cannot tell are NaN, and their `assumes` says why.

    **Assumes** independent rows, or groups; with `inclusion`, labels drawn with those
    probabilities; that groups clump alike in all segments. Expected figures assume that
    probabilities are calibrated for rows without a label, up to what past segments were off by.

    Notes
    -----
    A segment differs if its events are not those that one recalibration of all rows expects
    (logistic, intercept and slope): a base rate of its own is no difference if the probabilities
    know it. With 30 equal segments at most a share 1 - level of tables flags any. A change over
    time is tested in the same way; see `scarce.evaluation.over_time`.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> country, prob = rng.integers(0, 4, 4000), rng.beta(1, 20, 4000)
    >>> truth = np.where(country == 3, np.minimum(2.5 * prob, 1), prob)
    >>> y = rng.random(4000) < truth
    >>> found = evaluate_by(y, prob, country)
    >>> [one.verdict for one in found.segments]
    ['', '', '', 'more events']
    >>> print(found.segments[3].happened)
    0.108 [0.0922, 0.124] (90 %, bootstrap, one unseen row added)
    """
    refuse_other_index(
        y_true=y_true,
        prob=prob,
        by=by,
        dates=dates,
        sample_weight=sample_weight,
        inclusion=inclusion,
        groups=groups,
    )
    asked = Resampling.read(level, resamples, random_state)
    refuse_other_index(
        y_true=y_true,
        prob=prob,
        by=by,
        dates=dates,
        sample_weight=sample_weight,
        inclusion=inclusion,
        groups=groups,
    )
    table = _Table.read(y_true, prob, by, period, classes, dates, label_delay, as_of)
    table = table.sampled(read_kind(sample_weight, weight_kind), inclusion, groups)
    cut = None if threshold is None else read_threshold(threshold, [None])[0]
    rows = table.segmented()
    pooled, between = rows.pooled(asked.level)
    p_values, signs = standing_out(rows, asked.level)
    segments = []
    for s, name in enumerate(table.cut.names):
        verdict = NOT_TESTED if np.isnan(p_values[s]) else VERDICTS[int(signs[s])]
        segments.append(
            Segment(
                name=name,
                rows=int(table.counts[table.here(s)].sum()),
                labelled=int((rows.segment == s).sum()),
                events=int(rows.event[rows.segment == s].sum()),
                waiting=int(table.counts[table.here(s) & ~table.mature].sum()),
                pooled=pooled[s],
                p_value=float(p_values[s]),
                verdict=verdict,
                z=_z(table.part(s)),
                expected=_expected(table, s, cut, asked, between, rows),
                **_figures(table.part(s), cut, asked),
            )
        )
    whole = EvaluationBy(
        period=period or "",
        segments=tuple(segments),
        between=between,
        level=asked.level,
        trend=None if period is None else trend_of(rows, asked),
        changes=() if period is None else change_tests(rows, table.cut.names, asked),
        label_delay=float("nan") if table.delay is None else table.delay.days,
        as_of="" if table.delay is None else str(table.delay.as_of)[:10],
    )
    losses = LossFigures(table.labelled, asked)
    means = (losses.given(0), losses.happened(0), losses.gap(0))
    return replace(whole, remarks=tuple(_remarks(whole, rows, *means)))


# --- reading --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class _Table:
    """All rows: class (-1 where not labelled), probability, segment; and those that count."""

    place: NDArray[np.intp]
    prob: Array
    classes: tuple[Hashable, ...]
    cut: Binned
    mature: NDArray[np.bool_]
    delay: Delay | None
    weight: Array
    rows: NDArray[np.intp]
    sample: Sample
    weights_count: bool = False

    @property
    def counts(self) -> Array:
        """How many rows each row is: 1, or its frequency."""
        return self.weight if self.weights_count else np.ones(len(self.weight))

    @classmethod
    def read(
        cls,
        y_true: ArrayLike,
        prob: ArrayLike,
        by: ArrayLike,
        period: str | None,
        classes: Sequence[Hashable] | None,
        dates: ArrayLike | None,
        label_delay: float | None,
        as_of: Date | None,
    ) -> _Table:
        p = read_probabilities(prob)
        n_classes = 2 if p.ndim == 1 else p.shape[1]
        names = tuple(range(n_classes)) if classes is None else tuple(classes)
        if n_classes != 2 or len(names) != 2:
            raise UsageError(
                "Figures by segment need two classes, and there are {count}.",
                code="two-classes-needed",
                count=max(n_classes, len(names)),
                each=Phrase(
                    "Ask for each class against the others: y == name, and its column of prob",
                    "Name the event with --positive and the others with --negative",
                ),
                remedy="{each}.",
            )
        p = p if p.ndim == 1 else p[:, 1]
        place = encode_labels(y_true, names, "y_true", "the classes")
        refuse_length(p, len(place), "prob")
        cut, when = cut_by(by, period, len(place))
        if dates is not None:
            refuse_length(dates, len(place), "dates")
            when = read_dates(dates, "dates")
        delay = read_delay(label_delay, as_of, when, "by" if dates is None else "dates")
        mature = np.ones(len(place), dtype=bool)
        if delay is not None and when is not None:
            mature = delay.known(when)
        sample = Sample(np.empty(0, np.intp), np.empty(0), 0.0, False)
        return cls(place, p, names, cut, mature, delay, np.ones(len(p)), sample.rows, sample)

    def sampled(
        self, sample_weight: Weights, inclusion: Inclusion, groups: ArrayLike | None
    ) -> _Table:
        """Return the table with whom its labelled rows stand for, read once for all segments."""
        n = len(self.place)
        given = sample_weight.counts if isinstance(sample_weight, Frequency) else sample_weight
        weight = read_weight(given, n, "sample_weight")
        known = self.mature & (self.place >= 0)
        self._refuse_none(known)
        counted = self.mature
        if inclusion is None:
            has = np.bincount(self.cut.place[known], minlength=len(self.cut.names)) > 0
            counted = counted & has[self.cut.place]
            self._refuse_partly(known, counted)
        rows = np.flatnonzero(counted)
        chance: Inclusion = inclusion
        if inclusion is not None and len(rows) < n:
            if getattr(inclusion, "candidates", n) < n:
                read_sample(known, sample_weight, inclusion)  # says that it was a choice of some
            chance = np.asarray(read_inclusion(inclusion, n))[rows]
        together = None
        if groups is not None:
            held = name_column(groups, "groups")
            refuse_length(held, n, "groups")
            together = held[rows]
        held_weight: Weights = None if sample_weight is None else weight[rows]
        if isinstance(sample_weight, Frequency):
            held_weight = Frequency(weight[rows])
        sample = read_sample(known[rows], held_weight, chance, together)
        return replace(
            self,
            weight=weight,
            rows=rows[sample.rows],
            sample=sample,
            weights_count=isinstance(sample_weight, Frequency),
        )

    def _refuse_none(self, known: NDArray[np.bool_]) -> None:
        """Refuse a table without a known label."""
        if known.any():
            return
        if self.delay is not None and (self.place >= 0).any():
            raise DataError(
                "No label is known yet: all labelled rows are younger than {days:g} days on "
                "{as_of}.",
                code="no-labels",
                days=self.delay.days,
                as_of=str(self.delay.as_of)[:10],
                delay=Argument("label_delay"),
                remedy="Wait, or give a shorter {delay}.",
            )
        raise DataError(
            "No row has a label.",
            code="no-labels",
            expected=Phrase("expected_figures(prob)"),
            remedy="{expected} says what to expect of rows without labels.",
        )

    def _refuse_partly(self, known: NDArray[np.bool_], counted: NDArray[np.bool_]) -> None:
        """Refuse segments in which some rows have a label and others not."""
        lost = counted & ~known
        if not lost.any():
            return
        row = int(np.argmax(lost))
        here = self.cut.place == self.cut.place[row]
        raise DataError(
            "y_true has no label in {count:,} of {rows:,} rows of segment {segment!r} (first at "
            "row {row:,}), and nothing says how the others were chosen.",
            code="unlabelled-rows",
            count=int((lost & here).sum()),
            rows=int((counted & here).sum()),
            segment=self.cut.names[int(self.cut.place[row])],
            row=row,
            inclusion=Argument("inclusion", ...),
            delay=Argument("label_delay", 60),
            remedy=[
                "Give the probability that each row was labelled with {inclusion}.",
                "If labels are still to come, give {delay}, in days.",
            ],
        )

    @property
    def labelled(self) -> Forecasts:
        """All rows with a known label."""
        return Forecasts(self.place[self.rows], self.prob[self.rows], self.classes, self.sample)

    def segmented(self) -> Segmented:
        """Return the labelled rows by segment."""
        event = (self.place[self.rows] == 1).astype(np.float64)
        where = self.cut.place[self.rows]
        return Segmented(event, self.prob[self.rows], self.sample, where, len(self.cut.names))

    def here(self, s: int) -> NDArray[np.bool_]:
        """Which rows are in a segment."""
        return np.asarray(self.cut.place == s)

    def part(self, s: int) -> Forecasts | None:
        """Return the labelled rows of one segment."""
        at = np.flatnonzero(self.cut.place[self.rows] == s)
        if not len(at):
            return None
        group = self.sample.group
        if group is not None:
            group = np.unique(group[at], return_inverse=True)[1].astype(np.intp)
        weight = self.sample.weight[at]
        part = Sample(self.rows[at], weight, float(weight.sum()), self.sample.drawn, group)
        rows = self.rows[at]
        return Forecasts(self.place[rows], self.prob[rows], self.classes, part)


def cut_by(by: ArrayLike, period: str | None, n: int) -> tuple[Binned, Any]:
    """Return the segment of each row, and its date where there is one."""
    held = name_column(by, "by")
    refuse_length(held, n, "by")
    if period is not None:
        when = read_dates(held, "by")
        return cut_periods(when, period), when
    if held.dtype.kind == "M":
        raise UsageError(
            "{by} holds dates.",
            code="argument-missing",
            by=Argument("by"),
            period=Argument("period", "month"),
            words=listed(PERIODS, last="or"),
            remedy="Say into which periods to cut them with {period}: {words}.",
        )
    return cut_names(held), None


def cut_names(held: NDArray[Any]) -> Binned:
    """Return the segment of each row by name, in the order of the names; missing ones last.

    Examples
    --------
    >>> cut_names(np.array(["b", None, "a"], dtype=object))
    Binned(place=array([1, 2, 0]), names=['a', 'b', '(missing)'])
    """
    listed_values = held.tolist()
    found: dict[Any, int] = {}
    place = np.empty(len(held), dtype=np.intp)
    try:
        for row, value in enumerate(listed_values):
            place[row] = found.setdefault(None if is_missing(value) else value, len(found))
    except TypeError:
        raise DataError(
            "{argument} must have one value per row, got lists or tables.",
            code="not-a-column",
            argument=Argument("by"),
        ) from None
    if len(found) > MOST_SEGMENTS:
        raise DataError(
            "{argument} has {count:,} different values in {rows:,} rows, and more than {most:,} "
            "segments cannot be read.",
            code="too-many-segments",
            argument=Argument("by"),
            count=len(found),
            rows=len(held),
            most=MOST_SEGMENTS,
            remedy="Put values together first: numbers into ranges, dates into periods.",
        )
    keys = [key for key in found if key is not None]
    alike = len({type(key) for key in keys} - {bool}) <= 1
    keys.sort(key=(lambda key: key) if alike else (lambda key: (type(key).__name__, str(key))))
    keys += [None] if None in found else []
    order = np.empty(len(keys), dtype=np.intp)
    order[[found[key] for key in keys]] = np.arange(len(keys))
    return Binned(order[place], [_name(key) for key in keys])


def _name(key: Any) -> str:
    """Write the name of a segment; whole numbers without a point, as with missing ones beside."""
    if key is None:
        return MISSING
    whole = isinstance(key, float) and key.is_integer() and abs(key) < 1e15
    return str(int(key) if whole else key)


# --- figures --------------------------------------------------------------------------------------


def _figures(part: Forecasts | None, cut: float | None, asked: Resampling) -> dict[str, Any]:
    """Return the figures of one segment by their names."""
    names = ("given", "happened", "gap", "log_loss", "brier", "auc")
    if part is None:
        nan = float("nan")
        return dict.fromkeys(names, Estimate(nan, nan, nan, asked.level, "not identified", NO_ROWS))
    losses = LossFigures(part, asked)
    event = part.place == 1
    found: dict[str, Any] = {
        "given": losses.given(0),
        "happened": losses.happened(0),
        "gap": losses.gap(0),
        "log_loss": losses.mean(LOG),
        "brier": losses.mean(BRIER),
        "auc": ranked(event, part.given(1), part.sample, asked),
    }
    if part.sample.n_groups == 1:  # how groups differ cannot be seen
        for name, one in found.items():
            if one.value == one.value:
                found[name] = replace(one, low=np.nan, high=np.nan, method=ONE_GROUP)
    elif cut is not None:
        found["at_threshold"] = threshold_figures(event, part.given(1), cut, part.sample, asked)
    return found


def _z(part: Forecasts | None) -> float:
    """Return events less the sum of probabilities, in standard deviations if calibrated."""
    if part is None:
        return float("nan")
    p, weight = part.given(1), part.sample.weight
    spread = float((weight**2 * p * (1 - p)).sum()) * part.sample.together()
    off = float(weight @ ((part.place == 1) - p))
    return off / spread**0.5 if spread > 0 else float("nan")


def _expected(
    table: _Table,
    s: int,
    cut: float | None,
    asked: Resampling,
    between: Estimate,
    rows: Segmented,
) -> Expected | None:
    """Return the expected figures of rows that no label speaks for; None where there are none."""
    here = table.here(s) & (table.weight > 0)
    waiting = here & ~table.mature
    if not (rows.segment == s).any():
        waiting = here
    if not waiting.any():
        return None
    doubt = 0.0 if between.value != between.value else between.value
    clumps = 1.0 if rows.dispersion != rows.dispersion else rows.dispersion
    prob, weight = table.prob[waiting], table.weight[waiting]
    if table.weights_count:
        prob = np.repeat(prob, weight.astype(np.intp))
        weight = np.ones(len(prob))
    return expected_of(prob, weight, cut, asked, doubt=doubt, clumps=clumps)


# --- words ----------------------------------------------------------------------------------------


def _remarks(
    found: EvaluationBy, rows: Segmented, given: Estimate, happened: Estimate, gap: Estimate
) -> list[str]:
    said: list[str] = [
        Problem(
            "Over time: {change}.",
            code="change-over-time",
            change=_in_words(one),
            since=one.since,
        )
        for one in found.changes
        if one.found
    ]
    odd = found.standing_out
    if odd:
        said.append(
            Problem(
                "{count:,} of {segments:,} {what}s differ from the rest by more than chance, "
                "after one recalibration of all rows: {names}.",
                code="segments-differ",
                count=len(odd),
                segments=len(found.segments),
                what=found.period or "segment",
                names=listed([f"{one.name} ({one.verdict})" for one in odd]),
            )
        )
    waiting = sum(one.waiting for one in found.segments)
    if waiting:
        said.append(
            Problem(
                "{count:,} rows are younger than {days:g} days on {as_of}: not yet known, and left "
                "out of all figures but the expected ones.",
                code="labels-to-come",
                count=waiting,
                days=found.label_delay,
                as_of=found.as_of,
            )
        )
    due = any(one.expected is not None for one in found.segments)
    if due and (gap.low > 0 or gap.high < 0):
        said.append(
            Problem(
                "Expected figures take the probabilities as calibrated, and where labels are known "
                "they were not: on average {given} was given and {happened} happened.",
                code="expected-off",
                given=given.brief(percent=True, limits=False),
                happened=happened.brief(percent=True, limits=False),
                remedy="Recalibrate them first.",
            )
        )
    if rows.both_classes and rows.dispersion != rows.dispersion:
        said.append(
            Problem(
                "Whether segments differ cannot be tested: groups lie within segments, or are too "
                "few to see how much they differ by themselves.",
                code="segments-not-tested",
            )
        )
    return said


def _in_words(change: Change) -> str:
    """Say what a change is, or that there is none beyond chance."""
    if change.p_value != change.p_value:
        return f"{change.of}: a change cannot be tested"
    if not change.found:
        return f"{change.of}: no change beyond chance ({_chance(change.p_value)})"
    before, after = short(change.before), short(change.after)
    if change.of == "calibration":
        seen = f"{before} times the expected events before, {after} since"
    else:
        seen = f"AUC {before} before, {after} since"
    return (
        f"{change.of} changed, most likely with {change.since} ({_chance(change.p_value)}): {seen}"
    )


def _seen(one: Segment, cut: bool) -> list[str]:
    """Write what was observed in a segment; nothing where no label is known."""
    if not one.labelled:
        return [""] * 5
    cells = [f"{one.events:,}", _hundredths(one.given, limits=False), _hundredths(one.happened)]
    if not cut:
        few = min(one.events, one.labelled - one.events) < FEW
        auc = "few" if few else one.auc.brief(limits=False)
        return [*cells, _hundredths(one.pooled, limits=False), auc]
    at = one.at_threshold
    if at is None:
        return [*cells, "", ""]
    recall, precision = (_hundredths(x, limits=False) for x in (at.recall, at.precision))
    alerts = at.found + at.false_alarms
    cells.append("few" if one.events < FEW else recall)
    return [*cells, "few" if alerts < FEW else precision]


def _chance(p_value: float) -> str:
    return f"p {p_value:.2g}" if p_value >= 1e-4 else "p < 0.0001"


def _hundredths(one: Estimate, *, limits: bool = True) -> str:
    value, low, high = (short(100 * x) for x in (one.value, one.low, one.high))
    return f"{value} [{low}, {high}]" if limits else value


def _aligned(columns: Sequence[str], lines: Sequence[Sequence[str]]) -> list[str]:
    widths = [max(map(len, column)) for column in zip(columns, *lines, strict=True)]
    right = {"rows", "events"}
    return [
        "  ".join(
            cell.rjust(width) if name in right else cell.ljust(width)
            for cell, width, name in zip(line, widths, columns, strict=True)
        ).rstrip()
        for line in (columns, *lines)
    ]
