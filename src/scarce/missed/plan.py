"""How many checks below the threshold are enough?

    width(n) = mean over worlds of the width of recall's limits after n further checks

A world is one draw of the curve fitted to the labels so far, and of labels from that curve. In each
world checks are drawn as `choose_labels(policy="audit")` would, added to those at hand, and read as
`estimate_performance` would. The plan assumes that curve; the estimate itself, once the checks are
done, does not. Works on the score table, so its cost does not grow with the rows. Chooses no rows:
see choose.py.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import HasInclusion
from scarce.checks import (
    Number,
    read_integer,
    read_level,
    read_number,
    read_seed,
)
from scarce.engine.block import Array
from scarce.engine.executors import one_blas_thread
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError, refuse_word
from scarce.missed.counts import cells_at
from scarce.missed.curve import PooledCurves
from scarce.missed.inversion import total_limits
from scarce.missed.performance import Performance
from scarce.missed.provenance import ScoreBatch, read_batches
from scarce.missed.rules import MONOTONE, NOTHING
from scarce.missed.score_table import grid_of
from scarce.missed.strata import (
    STRATA,
    Cells,
    allocate,
    neyman_wish,
    no_cells,
    stratum_ends,
)
from scarce.results import Record, in_rows, short

FEW = 5  # events seen, below which the curve is mostly its prior
DESIGNS = ("audit", "stratified", "random")
SIZES = (25, 50, 100, 200, 400)

Progress = Callable[[int, int], None]


@dataclass(frozen=True, eq=False)
class AuditPlan(Record):
    """What audits of several sizes would be worth.

    Parameters
    ----------
    n : ndarray of shape (k,)
        Further checks below the threshold; 0 is the labels at hand.
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
    design : str
    cost : ndarray of shape (k,)
        Of the checks, at the price given; the number of checks without one.
    remarks : tuple of Problem
        What the reader should know, most important first.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> labels = np.where(trial.scores >= 9.1, trial.y, np.nan)
    >>> plan = plan_audit(trial.scores, labels, threshold=9.1, n=(50, 200), repeats=10)
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
    design: str = "audit"
    cost: Array | None = None
    remarks: tuple[Problem, ...] = ()

    def needed(self, width: float) -> float:
        """Return how many checks would bring the interval of recall to this width, on average.

        Read off between the sizes that were tried; infinite where the largest does not reach it.
        """
        width = read_number(width, "width", Number(0, 1, open_low=True, open_high=True))
        return _reached(self.n, self.width, width)

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


def _reached(n: NDArray[np.int64], width: Array, wanted: float) -> float:
    """Return the least number of checks at which a width is reached, read off between sizes."""
    tried = n > 0
    size, reached = np.log(n[tried]), width[tried]
    narrow = np.flatnonzero(reached <= wanted)
    if len(narrow) == 0:
        return float("inf")
    first = int(narrow[0])
    if first == 0:
        return float(n[tried][0])
    before, after = reached[first - 1], reached[first]
    share = (before - wanted) / (before - after)
    return float(np.ceil(np.exp(size[first - 1] + share * (size[first] - size[first - 1]))))


def plan_audit(
    scores: ArrayLike,
    labels: ArrayLike | None = None,
    *,
    threshold: float,
    n: int | Sequence[int] = SIZES,
    design: str = "audit",
    inclusion: ArrayLike | HasInclusion | None = None,
    assume: str = MONOTONE,
    cost_per_label: float | None = None,
    level: float = 0.9,
    repeats: int = 40,
    random_state: int | np.random.Generator | None = 0,
    progress: Progress | None = None,
) -> AuditPlan:
    """Say what further checks would be worth, before any of their labels is bought.

    Parameters
    ----------
    scores, labels, threshold, inclusion, assume, level
        As for `estimate_performance`.
    n : int or sequence of int
        Numbers of checks to try, as `choose_labels(..., n=...)` would draw them.
    design : {"audit", "stratified", "random"}
        The policy of `choose_labels` that will draw them.
    cost_per_label : float, optional
        Price of a label, for the column `cost`.
    repeats : int
        Simulated worlds.
    random_state : int, Generator or None
    progress : callable (done, total), optional

    Returns
    -------
    AuditPlan
        More checks never give a wider interval: widths are means over worlds, made to fall.

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
    refuse_word("design", design, DESIGNS)
    refuse_word("assume", assume, (MONOTONE, NOTHING))
    price = 1.0
    if cost_per_label is not None:
        price = read_number(cost_per_label, "cost_per_label", Number(0))
    level, seed = read_level(level), read_seed(random_state)
    asked, times = _sizes(n), read_integer(repeats, "repeats")
    batch = read_batches(scores, labels, threshold, inclusion=inclusion)[0]
    world = _Worlds.of(batch, design, assume, level)
    rows_below = round(float(world.open_rows.sum()))
    if rows_below == 0:
        raise DataError(
            "Every row below the threshold, {threshold:g}, has a label: there is nothing to audit.",
            code="nothing-to-audit",
            threshold=batch.threshold,
            estimate=Phrase("estimate_performance(...)", "`scarce estimate`"),
            remedy="{estimate} says what is known.",
        )
    sizes = sorted({min(size, rows_below) for size in asked})
    with one_blas_thread:
        figures = world.simulate(sizes, times, seed, progress)
    tried, width = np.array([0, *sizes], dtype=np.int64), figures[:, :, 0]
    means = _falling(np.nanmean(width, axis=1) if world.found else np.full(len(tried), np.nan))
    few, many = (
        np.where(np.isnan(means), np.nan, _falling(np.quantile(width, q, axis=1)))
        for q in (0.1, 0.9)
    )
    most = _falling(np.median(figures[:, :, 1], axis=1))
    none = (figures[:, :, 2] == 0).mean(axis=1)
    return AuditPlan(
        tried,
        means,
        few,
        many,
        most,
        figures[:, :, 2].mean(axis=1),
        none,
        rows_below,
        level,
        design,
        np.asarray(tried * price, dtype=np.float64),
        tuple(_remarks(world, asked, rows_below, tried, none)),
    )


def checks_for_width(found: Performance, width: float = 0.2, *, repeats: int = 10) -> float:
    """Return how many further checks would bring recall's limits to a width, on average.

    Reads the fit behind an estimate of one batch; NaN for several batches, or where no event was
    seen; infinite where 1,600 checks are not enough.

    Examples
    --------
    >>> from scarce import estimate_performance
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> labels = np.where(trial.scores >= 9.1, trial.y, np.nan)
    >>> found = estimate_performance(trial.scores, labels, threshold=9.1)
    >>> 100 < checks_for_width(found, 0.5) < 1000
    True
    """
    fit = found._fit
    if len(fit.which) > 1 or found.counts.events_seen == 0:
        return float("nan")
    settings = fit.settings
    world = _Worlds.of(fit.chosen[0], "audit", settings.assume, settings.level)
    rows_below = round(float(world.open_rows.sum()))
    if rows_below == 0:
        return 0.0
    sizes = sorted({min(size, rows_below) for size in (*SIZES, 800, 1600)})
    with one_blas_thread:
        figures = world.simulate(sizes, repeats, 0, None)
    means = _falling(figures[:, :, 0].mean(axis=1))
    if means[0] <= width:
        return 0.0
    return _reached(np.array([0, *sizes]), means, width)


def cheapest_design(plans: Sequence[AuditPlan], width: float) -> tuple[AuditPlan, float]:
    """Return the plan that reaches a width of recall with the fewest checks, and their number.

    Examples
    --------
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> labels = np.where(trial.scores >= 9.1, trial.y, np.nan)
    >>> plans = [plan_audit(trial.scores, labels, threshold=9.1, n=(50, 400), repeats=4, design=one)
    ...     for one in ("audit", "random")]
    >>> cheapest_design(plans, 0.6)[0].design
    'audit'
    """
    needed = [plan.needed(width) for plan in plans]
    best = int(np.argmin(needed))
    return plans[best], needed[best]


def _falling(values: Array) -> Array:
    """Return the nearest numbers that do not rise: pool adjacent violators.

    The first, of the labels at hand, is no mean over worlds and stays; none after it is greater.
    """
    if np.isnan(values).any():
        return values
    level, count = [], []
    for value in values[1:]:
        level.append(float(value))
        count.append(1)
        while len(level) > 1 and level[-1] > level[-2]:
            last, n = level.pop(), count.pop()
            level[-1] = (level[-1] * count[-1] + last * n) / (count[-1] + n)
            count[-1] += n
    return np.concatenate([values[:1], np.minimum(np.repeat(level, count), values[0])])


@dataclass(frozen=True, eq=False)
class _Worlds:
    """What checks are simulated on: rows below the threshold in groups, from the greatest score."""

    open_rows: Array  # rows without a label, per group
    share: Array  # (draws, groups): share of events
    at_hand: Cells  # strata of checks that were done
    found: float  # events among the alerts: those seen, and expected where there is no label
    certain: float  # events below that are known and were not drawn
    seen: float  # events seen above the threshold
    alerts: tuple[float, float]  # how many, and how many of them have a label
    design: str
    assume: str
    level: float

    @classmethod
    def of(cls, batch: ScoreBatch, design: str, assume: str, level: float) -> _Worlds:
        """Fit the curve to all labels of a batch."""
        table, cut = batch.table, batch.table.above(batch.threshold)
        with one_blas_thread:
            curve = PooledCurves.fit([batch], np.random.default_rng(0))
        labelled = table.events[:cut] + table.others[:cut]
        seen = float(table.events[:cut].sum())
        alerts = float(table.rows[:cut].sum())
        (_, cells), _ = cells_at(batch, batch.threshold)
        grid = grid_of(table, batch.threshold)
        alert, below = grid.alert, ~grid.alert
        among = curve.share_of_events(batch, 0, grid.score[alert], grid.place[alert])
        expected = float(among.mean(axis=0) @ grid.unlabelled[alert])
        return cls(
            np.rint(grid.unlabelled[below]),
            curve.share_of_events(batch, 0, grid.score[below], grid.place[below]),
            cells if cells.drawn.sum() else no_cells(),
            seen + expected,
            float(table.events[cut:].sum() - batch.audited.label.sum()),
            seen,
            (alerts, float(labelled.sum())),
            design,
            assume,
            level,
        )

    def strata(self, n: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
        """Return the stratum of each group, and how many rows are drawn from each."""
        ends = np.cumsum(self.open_rows)
        total = round(float(ends[-1]))
        if self.design == "random":
            return np.zeros(len(ends), dtype=np.int64), np.array([n])
        wanted = stratum_ends(total, n, STRATA)
        place = np.unique(np.searchsorted(ends, wanted - 0.5))
        of = np.searchsorted(place, np.arange(len(ends)))
        sizes = np.rint(np.bincount(of, self.open_rows)).astype(np.int64)
        if self.design == "stratified":
            return of, allocate(n, sizes, np.ones(len(sizes)))
        share = np.bincount(of, self.open_rows * self.share.mean(axis=0)) / np.maximum(sizes, 1)
        return of, allocate(n, sizes, neyman_wish(sizes.astype(np.float64), share))

    def simulate(
        self, sizes: Sequence[int], repeats: int, seed: int, progress: Progress | None
    ) -> Array:
        """Return width of recall, limit on missed events and events found: (1 + sizes, worlds, 3).

        The first row holds the figures of the labels at hand.
        """
        rng = np.random.default_rng([seed, 2])  # not the curve's own numbers
        figures = np.full((1 + len(sizes), repeats, 3), np.nan)
        figures[0] = self.figures(self.at_hand, 0.0)
        designs = [self.strata(size) for size in sizes]
        for world in range(repeats):
            share = self.share[rng.integers(len(self.share))]
            events = rng.binomial(self.open_rows.astype(np.int64), share)
            for row, (of, taken) in enumerate(designs, start=1):
                rows = np.rint(np.bincount(of, self.open_rows)).astype(np.int64)
                held = np.bincount(of, events).astype(np.int64)
                drawn = rng.hypergeometric(held, rows - held, taken)
                cells = Cells(
                    rows.astype(np.float64),
                    taken.astype(np.float64),
                    drawn.astype(np.float64),
                    np.zeros(len(rows), np.int64),
                )
                figures[row, world] = self.figures(self.with_new(cells), float(drawn.sum()))
                if progress is not None:
                    progress(world * len(sizes) + row, repeats * len(sizes))
        return figures

    def with_new(self, new: Cells) -> Cells:
        """Return new strata with the checks at hand in them, in proportion to their rows."""
        old = self.at_hand
        if len(old.rows) == 0:
            return new
        ends, before = np.cumsum(new.rows), np.cumsum(old.rows - old.drawn)
        middle = before - (old.rows - old.drawn) / 2.0
        of = np.minimum(np.searchsorted(ends, middle), len(ends) - 1)
        drawn = np.bincount(of, old.drawn, minlength=len(ends))
        events = np.bincount(of, old.events, minlength=len(ends))
        return Cells(new.rows + drawn, new.drawn + drawn, new.events + events, new.frame)

    def figures(self, cells: Cells, found: float) -> tuple[float, float, float]:
        """Width of recall, the most missed events, and the events found by new checks."""
        low, high = 0.0, float(self.open_rows.sum())
        if len(cells.rows):
            low, high = total_limits(cells, self.level)
            if self.assume == NOTHING:  # what is possible in order is possible without
                free = total_limits(cells, self.level, ordered=False)
                low, high = min(low, free[0]), max(high, free[1])
        low, high = low + self.certain, high + self.certain
        best = self.found / (self.found + low) if self.found + low > 0 else np.nan
        worst = self.found / (self.found + high) if self.found + high > 0 else np.nan
        return best - worst, high, found


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


def _remarks(
    world: _Worlds,
    asked: Sequence[int],
    rows_below: int,
    tried: NDArray[np.int64],
    none: Array,
) -> list[Problem]:
    remarks = []
    if world.found == 0:
        remarks.append(
            Problem(
                "{seen}, so recall is 0 if there is any event at all. No audit changes that: it "
                "can only lower the limit on missed events.",
                code="recall-zero",
                seen="No row is an alert" if world.alerts[0] == 0 else "No alert is an event",
            )
        )
    elif world.seen < FEW:
        remarks.append(
            Problem(
                "Only {seen:.0f} {were} seen above the threshold: what an audit would find is "
                "mostly taken from the prior.",
                code="few-events",
                seen=world.seen,
                were="event was" if world.seen == 1 else "events were",
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
