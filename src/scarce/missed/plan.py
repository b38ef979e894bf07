"""How many checks below the threshold would settle it?

    width(n) = mean over worlds of the width of recall's interval after an audit of n rows

A world is one draw of the curve fitted to the labels so far, and of labels from that curve: an
audit of each size is drawn in it and estimated. Assumes that curve for the plan; the audit itself,
once done, does not. Labels nothing: see labels.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.checks import (
    read_auc,
    read_inclusion,
    read_labels,
    read_level,
    read_scores,
    read_seed,
    read_threshold,
    whole_number,
)
from scarce.engine.block import Array
from scarce.engine.executors import one_blas_thread
from scarce.errors import DataError, UsageError
from scarce.missed.answers import Performance
from scarce.missed.choose import choose_labels
from scarce.missed.curve import Curves
from scarce.missed.gather import gather
from scarce.missed.performance import performance_of
from scarce.missed.provenance import Intake
from scarce.missed.score_table import ledger_of
from scarce.results import in_rows, short, to_plain

FEW = 5  # events seen, below which the curve is mostly its prior

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class AuditPlan:
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
    remarks : tuple of str
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
    remarks: tuple[str, ...] = ()

    def needed(self, width: float) -> float:
        """Return how many checks would bring the interval of recall to this width, on average.

        Read off between the sizes that were tried; infinite where the largest does not reach it.
        """
        number = isinstance(width, (int, float, np.number)) and not isinstance(width, bool)
        if not number or not 0 < width < 1:
            raise UsageError(
                f"width={width!r} is no width of recall: give a number between 0 and 1, such as "
                "0.2."
            )
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

    def __str__(self) -> str:
        head = f"{'checks':>8}  {'width of recall':>22}  {'missed at most':>14}  events found"
        lines = [f"Audits of {in_rows(self.rows_below)} below the threshold:", head]
        for at, n in enumerate(self.n):
            low, high = self.width_low[at], self.width_high[at]
            spread = f"{self.width[at]:.2f} ({low:.2f} to {high:.2f})"
            spread = spread if self.width[at] == self.width[at] else "no interval"
            most = short(float(self.most_missed[at]))
            hits = f"{self.found[at]:.1f}, none in {100 * self.none_found[at]:.0f} %" if n else ""
            lines.append(f"{n:>8,}  {spread:>22}  {most:>14}  {hits}".rstrip())
        return "\n".join([*lines, *(f"remark: {remark}" for remark in self.remarks)])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, for JSON."""
        columns = ("n", "width", "width_low", "width_high", "most_missed", "found", "none_found")
        return {
            **{name: to_plain(getattr(self, name)) for name in columns},
            "rows_below": self.rows_below,
            "level": self.level,
            "remarks": list(self.remarks),
        }


def plan_audit(
    scores: Any,
    labels: Any = None,
    *,
    threshold: float,
    n: int | Sequence[int] = (25, 50, 100, 200, 400),
    inclusion: Any = None,
    auc: float | None = None,
    level: float = 0.9,
    repeats: int = 20,
    random_state: Any = 0,
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
        Audits of each size that are played through; each costs one estimate.
    random_state : int, Generator or None
    progress : callable (done, total), optional

    Returns
    -------
    AuditPlan

    **Assumes** the monotone curve fitted to the labels so far, as a picture of what an audit may
    find; with few events seen it is mostly the prior's.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> labels = np.where(trial.scores >= 9.1, trial.y, np.nan)
    >>> plan_audit(trial.scores, labels, threshold=9.1, n=100, repeats=2).rows_below
    4964
    """
    values = read_scores(scores)
    known = read_labels(labels, len(values))
    drawn = read_inclusion(inclusion, len(values))
    mark = read_threshold(threshold, [None])[0]
    asked, times = _sizes(n), whole_number(repeats, "repeats")
    area, coverage, seed = read_auc(auc), read_level(level), read_seed(random_state)
    rows_below = int(np.count_nonzero(np.isnan(known) & (values < mark)))
    if rows_below == 0:
        raise DataError(
            f"No row below threshold={mark:g} is without a label, so there is nothing to audit: "
            "estimate_performance tells what is known."
        )
    sizes = sorted({min(size, rows_below) for size in asked})
    # Sorted once: every later sort meets rows in order and costs one look at them.
    order = np.argsort(-values, kind="stable")
    values, known = values[order], known[order]
    drawn = None if drawn is None else drawn[order]

    def estimate(labels: Array, chance: Array | None) -> tuple[Performance, Curves]:
        (intake,) = gather(values, labels, mark, inclusion=chance)
        with one_blas_thread:  # matrices this small only wait for a second thread
            return _estimate(intake, area, coverage, seed)

    now, curves = estimate(known, drawn)
    place = ledger_of(values, known)
    rng = np.random.default_rng([seed, 2])  # not the numbers that the curve was drawn with
    worlds = curves.some(times, rng).draws.values
    notes = np.full((1 + len(sizes), times, 3), np.nan)
    notes[0] = now.recall.width, now.missed.high, 0.0
    for world in range(times):
        one = curves._replace(draws=curves.draws._replace(values=worlds[world : world + 1]))
        lots = rng.random(len(values))  # the same world for every size
        for row, size in enumerate(sizes, start=1):
            choice = choose_labels(
                values, known, policy="audit", n=size, threshold=mark, random_state=rng
            )
            share = one.precision(place.place_of(values[choice.rows]))[0]
            bought = known.copy()
            bought[choice.rows] = lots[choice.rows] < share
            chance = choice.inclusion(len(values))
            if drawn is not None:
                # Rows of an earlier audit speak for themselves once a new one speaks for the rest.
                chance = np.where(np.isnan(chance) & ~np.isnan(drawn), 1.0, chance)
            found, _ = estimate(bought, chance)
            events = float(bought[choice.rows].sum())
            notes[row, world] = found.recall.width, found.missed.high, events
            if progress is not None:
                progress(world * len(sizes) + row, times * len(sizes))
    if _always_zero(now):
        notes[:, :, 0] = np.nan
    tried, width = np.array([0, *sizes], dtype=np.int64), notes[:, :, 0]
    most, none = np.median(notes[:, :, 1], axis=1), (notes[:, :, 2] == 0).mean(axis=1)
    return AuditPlan(
        tried,
        width.mean(axis=1),
        np.quantile(width, 0.1, axis=1),
        np.quantile(width, 0.9, axis=1),
        most,
        notes[:, :, 2].mean(axis=1),
        none,
        rows_below,
        coverage,
        tuple(_remarks(now, asked, rows_below, tried, most, none)),
    )


def _sizes(n: Any) -> list[int]:
    given = [n] if np.ndim(n) == 0 else list(n)
    if not given:
        raise UsageError(
            f"n={n!r} names no size of audit: give one or several whole numbers, such as "
            "n=(50, 200)."
        )
    return [whole_number(one, "n") for one in given]


def _estimate(
    intake: Intake, auc: float | None, level: float, seed: int
) -> tuple[Performance, Curves]:
    """What estimate_performance says, and the curves behind it."""
    found = performance_of(
        [intake],
        method="auto",
        auc=auc,
        level=level,
        families=(None, None),
        check=False,
        random_state=seed,
    )
    return found, found._question.curves.curves


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
) -> list[str]:
    remarks, counts = [], now.counts
    if _always_zero(now):
        seen = "No row is an alert" if counts.alerts == 0 else "No alert is an event"
        remarks.append(
            f"{seen}, so recall is 0 if there is any event at all: no audit changes that, and only "
            "the limit on missed events can be bought."
        )
    elif counts.events_seen < FEW:
        were = "event was" if counts.events_seen == 1 else "events were"
        remarks.append(
            f"Only {counts.events_seen} {were} seen above the threshold: what an audit would find "
            "is mostly a guess made before any label."
        )
    if max(asked) > rows_below:
        remarks.append(
            f"n={max(asked):,} is more than the {in_rows(rows_below)} below the threshold without "
            "a label: such sizes were cut to all of them."
        )
    weaker = tried[most > most[0]]
    if len(weaker) and counts.events_seen < FEW:
        remarks.append(
            f"Audits of up to {weaker[-1]:,} would give a weaker limit on missed events than no "
            "audit: theirs rests on rows drawn by lot alone, the other on a curve that nobody has "
            "checked."
        )
    if none[-1] > 0.5 and tried[-1] < rows_below:
        remarks.append(
            f"Events are so rare down there that {tried[-1]:,} checks would mostly find none: only "
            "an upper limit, about 3 x rows / checks, can come of it."
        )
    return remarks
