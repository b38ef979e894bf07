"""How many checks below the threshold are enough?

    width(n) = mean over worlds of the width of recall's interval after an audit of n rows

A world is one draw of the curve fitted to the labels so far, and of labels from that curve: in each
world an audit of each size is drawn and estimated. The plan assumes that curve; the audit itself,
once done, does not. Chooses no rows: see choose.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import HasInclusion
from scarce.checks import (
    Number,
    read_auc,
    read_inclusion,
    read_integer,
    read_labels,
    read_level,
    read_number,
    read_scores,
    read_seed,
    read_threshold,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.engine.executors import one_blas_thread
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError
from scarce.missed.choose import choose_labels
from scarce.missed.performance import Performance, PerformanceSettings, fit_performance
from scarce.missed.provenance import read_batches
from scarce.missed.score_table import score_table_of
from scarce.results import Record, in_rows, short

FEW = 5  # events seen, below which the curve is mostly its prior

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class AuditPlan(Record):
    """What audits of several sizes would be worth.

    Parameters
    ----------
    n : ndarray of shape (k,)
        Checks below the threshold; 0 is the labels at hand.
    width : ndarray of shape (k,)
        Mean width of the interval of recall; NaN where recall is 0 whatever is found below.
    width_low, width_high : ndarray of shape (k,)
        Between which four of five audits of the size would come out.
    most_missed : ndarray of shape (k,)
        Median upper limit of the missed events.
    found : ndarray of shape (k,)
        Events that an audit would find, on average.
    none_found : ndarray of shape (k,)
        Share of audits that would find none.
    rows_below : int
        Rows that can be drawn.
    level : float
    remarks : tuple of Problem
        What the reader should know, most important first.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> labels = np.where(trial.scores >= 9.1, trial.y, np.nan)
    >>> plan = plan_audit(trial.scores, labels, threshold=9.1, n=(50, 200), repeats=4)
    >>> plan.n
    array([  0,  50, 200])
    >>> bool(plan.width[2] < plan.width[1])
    True
    """

    n: NDArray[np.int64]
    width: Array
    width_low: Array
    width_high: Array
    most_missed: Array
    found: Array
    none_found: Array
    rows_below: int
    level: float
    remarks: tuple[Problem, ...] = ()

    def needed(self, width: float) -> float:
        """Return how many checks would bring the interval of recall to this width, on average.

        Read off between the sizes that were tried; infinite where the largest does not reach it.
        """
        width = read_number(width, "width", Number(0, 1, open_low=True, open_high=True))
        tried = self.n > 0
        size, reached = np.log(self.n[tried]), self.width[tried]
        narrow = np.flatnonzero(reached <= width)
        if len(narrow) == 0:
            return float("inf")
        first = int(narrow[0])
        if first == 0:
            return float(self.n[tried][0])
        before, after = reached[first - 1], reached[first]
        share = (before - width) / (before - after)
        return float(np.ceil(np.exp(size[first - 1] + share * (size[first] - size[first - 1]))))

    def summary(self) -> str:
        """Return a table with one line for each size, without the remarks."""
        head = f"{'checks':>8}  {'width of recall':>22}  {'missed at most':>14}  events found"
        lines = [f"Audits of {in_rows(self.rows_below)} below the threshold:", head]
        for at, n in enumerate(self.n):
            low, high = self.width_low[at], self.width_high[at]
            width = f"{self.width[at]:.2f} ({low:.2f} to {high:.2f})"
            width = width if self.width[at] == self.width[at] else "no interval"
            most = short(float(self.most_missed[at]))
            hits = f"{self.found[at]:.1f}, none in {100 * self.none_found[at]:.0f} %" if n else ""
            lines.append(f"{n:>8,}  {width:>22}  {most:>14}  {hits}".rstrip())
        return "\n".join(lines)

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(f"remark: {remark}" for remark in self.remarks)])


def plan_audit(
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    threshold: float,
    n: int | Sequence[int] = (25, 50, 100, 200, 400),
    inclusion: ArrayLike | HasInclusion | None = None,
    auc: float | None = None,
    level: float = 0.9,
    repeats: int = 20,
    random_state: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
) -> AuditPlan:
    """Say what audits of several sizes would be worth, before any of their labels is bought.

    Parameters
    ----------
    scores, labels, threshold, inclusion, auc, level
        As for `estimate_performance`.
    n : int or sequence of int
        Sizes of audit to try, as `choose_labels(..., policy="audit", n=...)` would draw them.
    repeats : int
        Simulated audits of each size; each costs one estimate.
    random_state : int, Generator or None
    progress : callable (done, total), optional

    Returns
    -------
    AuditPlan

    **Assumes** the monotone curve fitted to the labels so far; with few events seen that is mostly
    the prior.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> labels = np.where(trial.scores >= 9.1, trial.y, np.nan)
    >>> plan_audit(trial.scores, labels, threshold=9.1, n=100, repeats=2).rows_below
    4964
    """
    refuse_other_index(scores=scores, labels=labels, inclusion=inclusion)
    values = read_scores(scores)
    known = read_labels(labels, len(values))
    drawn = read_inclusion(inclusion, len(values))
    mark = read_threshold(threshold, [None])[0]
    asked, times = _sizes(n), read_integer(repeats, "repeats")
    settings = PerformanceSettings(
        auc=read_auc(auc),
        level=read_level(level),
        check=False,
        random_state=read_seed(random_state),
    )
    rows_below = int(np.count_nonzero(np.isnan(known) & (values < mark)))
    if rows_below == 0:
        raise DataError(
            "Every row below the threshold, {threshold:g}, has a label: there is nothing to audit.",
            code="nothing-to-audit",
            threshold=mark,
            estimate=Phrase("estimate_performance(...)", "`scarce estimate`"),
            remedy="{estimate} says what is known.",
        )
    sizes = sorted({min(size, rows_below) for size in asked})
    # Sorted once: every later sort meets rows in order and costs one look at them.
    order = np.argsort(-values, kind="stable")
    drawn = None if drawn is None else drawn[order]
    batch = _PlannedBatch(values[order], known[order], drawn, mark, settings)
    now = batch.estimate(batch.labels, drawn)
    figures = batch.simulate(now, sizes, times, progress)
    if _always_zero(now):
        figures[:, :, 0] = np.nan
    tried, width = np.array([0, *sizes], dtype=np.int64), figures[:, :, 0]
    most, none = np.median(figures[:, :, 1], axis=1), (figures[:, :, 2] == 0).mean(axis=1)
    return AuditPlan(
        tried,
        width.mean(axis=1),
        np.quantile(width, 0.1, axis=1),
        np.quantile(width, 0.9, axis=1),
        most,
        figures[:, :, 2].mean(axis=1),
        none,
        rows_below,
        settings.level,
        tuple(_remarks(now, asked, rows_below, tried, most, none)),
    )


@dataclass(frozen=True, eq=False)
class _PlannedBatch:
    """The rows that audits are simulated on, from the greatest score down."""

    scores: Array
    labels: Array
    inclusion: Array | None
    threshold: float
    settings: PerformanceSettings

    def estimate(self, labels: Array, inclusion: Array | None) -> Performance:
        """Return the estimate with other labels."""
        batches = read_batches(self.scores, labels, self.threshold, inclusion=inclusion)
        with one_blas_thread:  # matrices this small only wait for a second thread
            return fit_performance(batches, self.settings)

    def simulate(
        self, now: Performance, sizes: Sequence[int], repeats: int, progress: Progress | None
    ) -> Array:
        """Return width of recall, limit on missed events and events found: (1 + sizes, worlds, 3).

        The first row holds the figures of the labels at hand.
        """
        table = score_table_of(self.scores, self.labels)
        rng = np.random.default_rng([self.settings.random_state, 2])  # not the curve's own numbers
        worlds = now.curve_draws(repeats, rng)
        figures = np.full((1 + len(sizes), repeats, 3), np.nan)
        figures[0] = now.recall.width, now.missed.high, 0.0
        for world in range(repeats):
            curve = worlds.one(world)
            uniform = rng.random(len(self.scores))  # the same world for every size
            for row, size in enumerate(sizes, start=1):
                choice = choose_labels(
                    self.scores,
                    self.labels,
                    policy="audit",
                    n=size,
                    threshold=self.threshold,
                    random_state=rng,
                )
                share = curve.precision(table.place_of(self.scores[choice.rows]))[0]
                labels = self.labels.copy()
                labels[choice.rows] = uniform[choice.rows] < share
                inclusion = choice.inclusion(len(labels))
                if self.inclusion is not None:
                    # Earlier rows count for themselves once a new audit stands for the rest.
                    earlier = np.isnan(inclusion) & ~np.isnan(self.inclusion)
                    inclusion = np.where(earlier, 1.0, inclusion)
                found = self.estimate(labels, inclusion)
                events = float(labels[choice.rows].sum())
                figures[row, world] = found.recall.width, found.missed.high, events
                if progress is not None:
                    progress(world * len(sizes) + row, repeats * len(sizes))
        return figures


def _sizes(n: int | Sequence[int]) -> list[int]:
    given = list(n) if isinstance(n, Sequence | np.ndarray) and np.ndim(n) else [n]
    if not given:
        raise UsageError(
            "{argument} is empty: it must hold at least one size of audit.",
            code="no-sizes",
            argument=Argument("n"),
            example=Argument("n", (50, 200)),
            remedy="Give one or several integers, such as {example}.",
        )
    return [read_integer(one, "n") for one in given]


def _always_zero(now: Performance) -> bool:
    """Whether no alert is an event or can become one: recall is then 0 or has no meaning."""
    counts = now.counts
    return counts.events_seen == 0 and counts.alerts_labelled == counts.alerts


def _remarks(
    now: Performance,
    asked: Sequence[int],
    rows_below: int,
    tried: NDArray[np.int64],
    most: Array,
    none: Array,
) -> list[Problem]:
    remarks, counts = [], now.counts
    if _always_zero(now):
        remarks.append(
            Problem(
                "{seen}, so recall is 0 if there is any event at all. No audit changes that: it "
                "can only lower the limit on missed events.",
                code="recall-zero",
                seen="No row is an alert" if counts.alerts == 0 else "No alert is an event",
            )
        )
    elif counts.events_seen < FEW:
        remarks.append(
            Problem(
                "Only {seen} {were} seen above the threshold: what an audit would find is mostly "
                "taken from the prior.",
                code="few-events",
                seen=counts.events_seen,
                were="event was" if counts.events_seen == 1 else "events were",
            )
        )
    if max(asked) > rows_below:
        remarks.append(
            Problem(
                "{n} is more than the {rows} below the threshold without a label: such sizes were "
                "cut to all of them.",
                code="too-few-rows",
                n=Argument("n", max(asked)),
                rows=in_rows(rows_below),
            )
        )
    weaker = tried[most > most[0]]
    if len(weaker) and counts.events_seen < FEW:
        remarks.append(
            Problem(
                "Audits of up to {n:,} rows would give a weaker limit on missed events than no "
                "audit: their limit uses rows drawn at random alone, the other one a curve that "
                "nobody has checked.",
                code="weaker-limit",
                n=int(weaker[-1]),
            )
        )
    if none[-1] > 0.5 and tried[-1] < rows_below:
        remarks.append(
            Problem(
                "Events are so rare below the threshold that {n:,} checks would mostly find none: "
                "they would give an upper limit only, about 3 x rows / checks.",
                code="rare-below",
                n=int(tried[-1]),
            )
        )
    return remarks
