"""Counts at one threshold: what was counted, drawn from a model, and found by an audit.

    total events = seen above + open above + known below + missed and unknown below

The first and third are counts. The others come as draws, one number of events per draw of a
precision curve (the share of events at each score), which carry the uncertainty into every figure
made of them. Assumes the curve; the counts assume nothing. Decides nothing: see rules.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple, Protocol

import numpy as np

from scarce.bootstrap import ODD, standard_errors_off
from scarce.engine.block import Array
from scarce.missed.audit import AuditCount, count_missed
from scarce.missed.provenance import ScoreBatch
from scarce.missed.score_table import ScoreTable, grid_of, labelled_of

DRAWS = 800


class CurveDraws(Protocol):
    """Draws of the share of events at any score, for each batch."""

    def share_of_events(self, batch: ScoreBatch, index: int, score: Array, place: Array) -> Array:
        """Return (draws, scores)."""
        ...  # pragma: no cover


class ThresholdCounts(NamedTuple):
    """Counts and draws at one threshold, over one or several batches."""

    rows: float
    alerts: float
    alerts_labelled: float
    seen: float  # labelled events among the alerts
    known: float  # labelled events below, audited ones too
    outside: float  # events below that are known from outside
    audit: AuditCount
    open_above: Array  # draws: events among alerts without a label
    missed: Array  # draws: all events below
    margin: Array  # draws: share of events right at the threshold
    best: tuple[float, float] | None  # found and missed events of the best single curve
    band: tuple[float, float]  # events and rows of the labelled stretch right below
    represented: float = 1.0  # rows that the audit stands for, per row of the frame; 1 up to chance

    @property
    def found(self) -> Array:
        """Draws of the events among the alerts."""
        return self.seen + self.open_above

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


def _represented(stands_for: Array, frame: int) -> float:
    """How many rows the audit's probabilities stand for per row of the frame; 1 up to chance."""
    if len(stands_for) == 0 or frame == 0:
        return 1.0
    times = float(stands_for.sum()) / frame
    far = len(stands_for) >= 20 and not 0.5 < times < 1.6
    odd = standard_errors_off(stands_for, frame - len(stands_for)) > ODD
    return times if far or odd else 1.0


def counts_at(
    batches: Sequence[ScoreBatch],
    which: Sequence[int],
    thresholds: Sequence[float],
    curves: CurveDraws | None,
    rng: np.random.Generator,
    *,
    level: float,
) -> ThresholdCounts:
    """Count and draw over some of the batches, at a threshold for each of them."""
    parts = [
        _one(batches[index], mark, curves, index, rng)
        for index, mark in zip(which, thresholds, strict=True)
    ]
    labels = np.concatenate([part.labels for part in parts])
    chances = np.concatenate([part.chances for part in parts])
    frame = round(sum(part.frame for part in parts))
    if frame == int((chances < 1.0).sum()):  # every row below has a label: none stands for others
        chances, frame = np.ones(len(chances)), 0
    audit = count_missed(labels, chances, frame, level=level)
    drawn = chances[chances < 1.0]
    represented = _represented(1.0 / drawn, frame)
    alerts = sum(part.counts[1] for part in parts)
    rows, _, labelled, seen, known, outside = (
        float(sum(part.counts[k] for part in parts)) for k in range(6)
    )
    margin = sum(part.margin * part.counts[0] for part in parts) / rows
    band = (float(sum(p.band[0] for p in parts)), float(sum(p.band[1] for p in parts)))
    return ThresholdCounts(
        rows,
        float(alerts),
        labelled,
        seen,
        known,
        outside,
        audit,
        _sum([part.open_above for part in parts]),
        _sum([part.missed for part in parts]),
        np.asarray(margin),
        _sum_of_best([part.best for part in parts]),
        band,
        represented,
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
    counts: tuple[float, float, float, float, float, float]
    labels: Array  # of the labelled rows below
    chances: Array
    frame: float
    open_above: Array
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
    table = batch.table
    cut = table.above(threshold)
    seen, known = float(table.events[:cut].sum()), float(table.events[cut:].sum())
    below_labelled = float((table.events + table.others)[cut:].sum())
    labelled = float((table.events + table.others)[:cut].sum())
    here = batch.audited.score < threshold
    labels, chances = batch.audited.label[here], batch.audited.probability[here]
    certain_events = known - float(labels.sum())
    certain = below_labelled - len(labels)
    outside_below = float((batch.outside < threshold).sum())
    outside_above = len(batch.outside) - outside_below
    none = np.zeros(1)
    open_above, missed, margin, best = none, none + known, none + np.nan, None
    if curves is not None:
        grid = grid_of(table, batch.threshold, threshold)
        share = curves.share_of_events(batch, index, grid.score, grid.place)
        events = rng.binomial(np.round(grid.unlabelled).astype(np.int64), share)
        open_above = np.maximum(events[:, grid.beyond].sum(axis=1), outside_above) * 1.0
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
    elif labelled < table.rows[:cut].sum():
        # No curve: alerts without a label are like the labelled ones (Jeffreys).
        share = rng.beta(seen + 0.5, labelled - seen + 0.5, DRAWS)
        open_alerts = round(float(table.unlabelled[:cut].sum()))
        open_above = np.maximum(rng.binomial(open_alerts, share), outside_above) * 1.0
    return _Part(
        (
            table.n,
            float(table.rows[:cut].sum()),
            labelled,
            seen,
            known,
            outside_below,
        ),
        np.concatenate([np.ones(round(certain_events)), labels]),
        np.concatenate([np.ones(round(certain_events)), chances]),
        table.n - float(table.rows[:cut].sum()) - certain,
        open_above,
        missed,
        margin,
        best,
        _band(batch, cut),
    )


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
