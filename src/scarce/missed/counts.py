"""Counts at one threshold: what was counted, drawn at random, and expected from a curve.

    total events = found for certain + found among drawn strata + found among open alerts
                 + missed for certain + missed among drawn strata

Rows with a label that were not drawn at random count for themselves. Rows that were drawn stand in
strata (strata.py), cut at the threshold. What a precision curve expects comes as draws, one number
of events per draw. Decides nothing: see rules.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from scarce.bootstrap import IMPOSSIBLE, ODD, standard_errors_off
from scarce.engine.block import Array
from scarce.errors import Argument, DataError
from scarce.missed.provenance import ScoreBatch
from scarce.missed.score_table import ScoreTable, grid_of, labelled_of
from scarce.missed.strata import Cells, Drawn, no_cells, split_cells, strata_of

DRAWS = 800
MOST_FRAMES = 10_000  # of one batch: frames of different batches have different numbers


class CurveDraws(Protocol):
    """Draws of the share of events at any score, for each batch."""

    def share_of_events(self, batch: ScoreBatch, index: int, score: Array, place: Array) -> Array:
        """Return (draws, scores)."""
        ...  # pragma: no cover


class ThresholdCounts(NamedTuple):
    """Counts at one threshold, over one or several batches."""

    rows: float
    alerts: float
    alerts_labelled: float
    seen: float  # labelled events among the alerts
    known: float  # labelled events below, drawn ones too
    outside: float  # events below that are known from outside
    certain_found: float  # of those seen, the ones that were not drawn at random
    certain_missed: float  # the same for those known
    labelled_found: float  # labelled alerts that were not drawn at random
    labelled_missed: float  # the same below
    found_cells: Cells  # strata of drawn rows at or above the threshold
    missed_cells: Cells  # the same below; rows that nobody drew from are a stratum with 0 drawn
    open_above: Array  # draws: events among alerts without a label that are in no stratum
    found: Array  # draws: all events among the alerts
    missed: Array  # draws: all events below
    margin: Array  # draws: share of events right at the threshold
    best: tuple[float, float] | None  # found and missed events of the best single curve
    band: tuple[float, float]  # events and rows of the labelled stretch right below
    represented: float = 1.0  # rows that drawn rows stand for, per row of the frame; 1 up to chance

    @property
    def recall(self) -> Array:
        """Draws of recall; NaN where there is no event at all."""
        total = self.found + self.missed
        return np.asarray(
            np.divide(self.found, total, np.full_like(total, np.nan), where=total > 0)
        )

    @property
    def least_missed(self) -> float:
        """Events below that are certain, by label or from outside."""
        return self.known + self.outside

    @property
    def open_missed(self) -> float:
        """Rows below without a label."""
        return self.rows - self.alerts - self.labelled_missed - float(self.missed_cells.drawn.sum())

    @property
    def drawn(self) -> int:
        """Rows below that were drawn at random and labelled."""
        return round(float(self.missed_cells.drawn.sum()))

    @property
    def drawn_events(self) -> int:
        """Events among them."""
        return round(float(self.missed_cells.events.sum()))

    @property
    def checked(self) -> bool:
        """Whether rows below the threshold in force were drawn at random."""
        return bool(self.missed_cells.drawn.sum() + self.found_cells.drawn.sum() > 0)


def _represented(stands_for: Array, frame: float) -> float:
    """How many rows drawn rows stand for, per row of the frame; 1 up to chance.

    Refuses what no chance explains.
    """
    if len(stands_for) == 0 or frame == 0:
        return 1.0
    times = float(stands_for.sum()) / frame
    off = standard_errors_off(stands_for, round(frame) - len(stands_for))
    if off > IMPOSSIBLE and not 0.5 < times < 1.6:
        raise DataError(
            "The inclusion probabilities stand for {stands:,.0f} rows, but {frame:,.0f} rows below "
            "the threshold could have been drawn.",
            code="inclusion-total",
            stands=float(stands_for.sum()),
            frame=frame,
            times=times,
            argument=Argument("inclusion"),
            remedy=(
                "Check that {argument} holds probabilities and not percentages or weights, and "
                "that lists of the same rows were combined, not added."
            ),
        )
    return times if off > ODD else 1.0


def counts_at(
    batches: Sequence[ScoreBatch],
    which: Sequence[int],
    thresholds: Sequence[float],
    curves: CurveDraws | None,
    rng: np.random.Generator,
) -> ThresholdCounts:
    """Count and draw over some of the batches, at a threshold for each of them."""
    parts = [
        _one(batches[index], mark, curves, index, rng)
        for index, mark in zip(which, thresholds, strict=True)
    ]
    found, missed = no_cells(), no_cells()
    for part in parts:
        found, missed = found.beside(part.cells[0]), missed.beside(part.cells[1])
    stands_for = np.concatenate([1.0 / batches[index].audited.probability for index in which])
    frame = sum(
        part.frame
        for part, index in zip(parts, which, strict=True)
        if len(batches[index].audited.score)
    )
    sums = [float(sum(part.counts[k] for part in parts)) for k in range(10)]
    rows, alerts, labelled, seen, known, outside, sure_found, sure_missed = sums[:8]
    margin = sum(part.margin * part.counts[0] for part in parts) / rows
    return ThresholdCounts(
        rows,
        alerts,
        labelled,
        seen,
        known,
        outside,
        sure_found,
        sure_missed,
        sums[8],
        sums[9],
        found,
        missed,
        _sum([part.open_above for part in parts]),
        _sum([part.found for part in parts]),
        _sum([part.missed for part in parts]),
        np.asarray(margin),
        _sum_of_best([part.best for part in parts]),
        (float(sum(p.band[0] for p in parts)), float(sum(p.band[1] for p in parts))),
        _represented(stands_for, frame),
    )


def _sum(parts: list[Array]) -> Array:
    """Sum over batches; one without draws counts the same in every draw."""
    return np.asarray(sum(parts[1:], start=parts[0]))


def _sum_of_best(parts: list[tuple[float, float] | None]) -> tuple[float, float] | None:
    held = [part for part in parts if part is not None]
    if len(held) < len(parts):
        return None
    return sum(part[0] for part in held), sum(part[1] for part in held)


class _Part(NamedTuple):
    counts: tuple[float, ...]  # the first ten of ThresholdCounts
    cells: tuple[Cells, Cells]
    frame: float  # rows that could have been drawn
    open_above: Array
    found: Array
    missed: Array
    margin: Array
    best: tuple[float, float] | None
    band: tuple[float, float]


def _one(
    batch: ScoreBatch,
    threshold: float,
    curves: CurveDraws | None,
    index: int,
    rng: np.random.Generator,
) -> _Part:
    table, audited = batch.table, batch.audited
    cut = table.above(threshold)
    with_label = table.events + table.others
    seen, known = float(table.events[:cut].sum()), float(table.events[cut:].sum())
    labelled = float(with_label[:cut].sum())
    above = audited.score >= threshold
    drawn_found, drawn_missed = audited.label[above].sum(), audited.label[~above].sum()
    outside_below = float((batch.outside < threshold).sum())
    outside_above = len(batch.outside) - outside_below
    cells, frame = cells_at(batch, threshold, index)
    top = min(cut, table.above(batch.threshold))  # alerts that are in no stratum
    none = np.zeros(1)
    open_above, found, missed, margin, best = none, none + seen, none + known, none + np.nan, None
    if curves is not None:
        grid = grid_of(table, batch.threshold, threshold)
        share = curves.share_of_events(batch, index, grid.score, grid.place)
        events = rng.binomial(np.round(grid.unlabelled).astype(np.int64), share)
        open_above = events[:, grid.beyond & grid.alert].sum(axis=1) * 1.0
        open_above = np.maximum(open_above, outside_above)
        found = seen + np.maximum(events[:, grid.beyond].sum(axis=1), outside_above) * 1.0
        # Events from outside are some of the unlabelled ones, not more of them.
        missed = known + np.maximum(events[:, ~grid.beyond].sum(axis=1), outside_below) * 1.0
        if hasattr(curves, "best_guess"):  # the single curve that figures are to be read off
            expected = grid.unlabelled * curves.best_guess(batch, index, grid.score)
            best = (
                seen + float(expected[grid.beyond].sum()),
                known + float(expected[~grid.beyond].sum()),
            )
        place = np.array([table.place_at(threshold)])
        margin = curves.share_of_events(batch, index, np.array([threshold]), place)[:, 0]
    elif float(with_label[:top].sum()) < float(table.rows[:top].sum()):
        # No curve: alerts without a label are like the labelled ones (Jeffreys).
        events_here = float(table.events[:top].sum())
        others_here = float(table.others[:top].sum())
        share = rng.beta(events_here + 0.5, others_here + 0.5, DRAWS)
        open_alerts = round(float(table.unlabelled[:top].sum()))
        open_above = np.maximum(rng.binomial(open_alerts, share), outside_above) * 1.0
        found = seen + open_above
    counts = (
        *(table.n, float(table.rows[:cut].sum()), labelled, seen, known, outside_below),
        *(seen - drawn_found, known - drawn_missed),
        *(labelled - above.sum(), float(with_label[cut:].sum()) - (~above).sum()),
    )
    band = _band(batch, cut)
    return _Part(counts, cells, frame, open_above, found, missed, margin, best, band)


def cells_at(
    batch: ScoreBatch, threshold: float, index: int = 0
) -> tuple[tuple[Cells, Cells], float]:
    """Return the strata of drawn rows at or above a threshold and below it, and the frame's size.

    Where the threshold is lower than the one in force, rows between the two that nobody drew from
    stand in the first; where it is higher, rows between the two that have no label are a frame of
    their own, of which nothing is known.
    """
    (found, missed), frame = _cells_below(batch, threshold, index)
    table = batch.table
    between = slice(table.above(threshold), table.above(batch.threshold))
    waiting = float(table.unlabelled[between].sum())
    if waiting > 0:
        number = np.array([(index + 1) * MOST_FRAMES - 1], dtype=np.int64)
        missed = missed.beside(Cells(np.array([waiting]), np.zeros(1), np.zeros(1), number))
    return (found, missed), frame


def _cells_below(
    batch: ScoreBatch, threshold: float, index: int
) -> tuple[tuple[Cells, Cells], float]:
    audited = batch.audited
    open_score, open_rows = _open_below(batch)
    total = float(open_rows.sum()) + len(audited.score)
    first = index * MOST_FRAMES
    if len(audited.score) == 0:
        above = float(open_rows[open_score >= threshold].sum())
        found, missed = (
            Cells(np.array([rows]), np.zeros(1), np.zeros(1), np.array([first]))
            if rows > 0
            else no_cells()
            for rows in (above, total - above)
        )
        return (found, missed), total
    found, missed = no_cells(), no_cells()
    numbers = np.unique(audited.frame)
    running = np.concatenate([[0.0], np.cumsum(open_rows)])
    for place, number in enumerate(numbers):
        here = audited.frame == number
        drawn = Drawn.of(audited.score[here], audited.label[here], audited.probability[here])
        if len(numbers) > 1:  # the rows of each frame are not told apart
            cells, run = strata_of(drawn, None, None, 0.0, first + place)
            parts = split_cells(cells, run, drawn, threshold, None)
        else:
            at_least = _rank(drawn.score, drawn.score, open_score, running, "right")
            more = _rank(drawn.score, drawn.score, open_score, running, "left")
            cells, run = strata_of(drawn, at_least, more, total, first + place)
            mark = _rank(np.array([threshold]), drawn.score, open_score, running, "right")
            parts = split_cells(cells, run, drawn, threshold, float(mark[0]))
        found, missed = found.beside(parts[0]), missed.beside(parts[1])
    return (found, missed), total


def _open_below(batch: ScoreBatch) -> tuple[Array, Array]:
    """Scores below the threshold in force, from the greatest down, and rows without a label."""
    cut = batch.table.above(batch.threshold)
    return batch.table.score[cut:], batch.table.unlabelled[cut:]


def _rank(at: Array, drawn: Array, open_score: Array, running: Array, side: str) -> Array:
    """How many rows of a frame score at least as much ("right") or more ("left")."""
    beside = np.searchsorted(-drawn, -at, side=side)  # type: ignore[call-overload]
    others = running[np.searchsorted(-open_score, -at, side=side)]  # type: ignore[call-overload]
    return np.asarray(others + beside)


def _band(batch: ScoreBatch, cut: int) -> tuple[float, float]:
    """Events and rows of the stretch right below the threshold that is labelled without a gap."""
    table = batch.table
    end = band_end(table, cut)
    events = float(table.events[cut:end].sum())
    return events, events + float(table.others[cut:end].sum())


def band_end(table: ScoreTable, cut: int) -> int:
    """Return where the stretch below the threshold that is labelled without a gap ends."""
    gaps = np.flatnonzero(table.unlabelled[cut:] > 0)
    return cut + (int(gaps[0]) if len(gaps) else len(table.score) - cut)


def predicted_bands(
    batch: ScoreBatch,
    index: int,
    curves: CurveDraws,
    rng: np.random.Generator,
) -> list[tuple[str, float, Array]]:
    """Observed events and draws of their number in four bands of labelled rows."""
    table, cut = batch.table, batch.table.above(batch.threshold)
    alerts = ScoreTable(*(part[:cut] for part in table))
    labelled = alerts.events + alerts.others
    half = int(np.searchsorted(np.cumsum(labelled), labelled.sum() / 2, side="right"))
    events, others = table.events.copy(), table.others.copy()
    if len(batch.audited.score):
        spot = np.searchsorted(-table.score, -batch.audited.score)
        spot = np.minimum(spot, len(events) - 1)
        np.subtract.at(events, spot, batch.audited.label)
        np.subtract.at(others, spot, 1.0 - batch.audited.label)
    audited = table._replace(events=table.events - events, others=table.others - others)
    rest = table._replace(events=events, others=others)
    found = []
    for name, sheet, span in (
        ("the upper half of the alerts", rest, slice(0, half)),
        ("the lower half of the alerts", rest, slice(half, cut)),
        ("the rows labelled right below the threshold", rest, slice(cut, None)),
        ("the audited rows", audited, slice(cut, None)),
    ):
        mask = np.zeros(len(events))
        mask[span] = 1.0
        part = labelled_of(
            sheet._replace(
                events=np.maximum(sheet.events, 0) * mask, others=np.maximum(sheet.others, 0) * mask
            )
        )
        tested = np.round(part.events + part.others).astype(np.int64)
        if tested.sum() == 0:
            continue
        share = curves.share_of_events(batch, index, part.score, part.place)
        drawn = rng.binomial(tested, share).sum(axis=1) * 1.0
        found.append((name, float(part.events.sum()), drawn))
    return found
