"""Strata of ranks: how are checks below a threshold spread, and what was drawn from which rows?

    n_h  in proportion to  0.6 N_h sqrt(g_h) / sum N sqrt(g)  +  0.4 / H       (Neyman and equal)

Strata are contiguous in the score, grow geometrically from the threshold down, and never cut
through equal scores. g_h is the share of events that a curve fitted to the alerts expects: it says
where to look and nothing else, because every row of a stratum has the same chance to be drawn.

Read back, checks need no record but their probabilities: neighbours in the score with the same
probability are a stratum. Where probabilities vary from row to row, neighbours are grouped. Draws
rows nowhere: see choose.py. Computes no limits: see inversion.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array

STRATA = 10
NEYMAN = 0.6
SAME = 1e-6  # relative: probabilities that differ by less are equal
MOST_RUNS = 80  # strata of one frame; with more runs of equal probability, neighbours are grouped
GROUPS = 12

Positions = NDArray[np.int64]


class Cells(NamedTuple):
    """Strata with what was drawn from them.

    Parameters
    ----------
    rows, drawn, events : ndarray of shape (k,)
        N_h; n_h, which may be 0; and k_h.
    frame : ndarray of int64 of shape (k,)
        Strata of one frame stand together, from the greatest score down. Shares of events are
        ordered within a frame and free between frames.
    """

    rows: Array
    drawn: Array
    events: Array
    frame: NDArray[np.int64]

    def beside(self, other: Cells) -> Cells:
        """Strata of both, those of one frame beside each other and in order."""
        frame = np.concatenate([self.frame, other.frame])
        return Cells(
            np.concatenate([self.rows, other.rows]),
            np.concatenate([self.drawn, other.drawn]),
            np.concatenate([self.events, other.events]),
            frame,
        ).chosen(np.argsort(frame, kind="stable"))

    def chosen(self, which: NDArray[Any]) -> Cells:
        """Some of the strata: a mask or positions."""
        return Cells(self.rows[which], self.drawn[which], self.events[which], self.frame[which])


def no_cells() -> Cells:
    """Return no strata at all."""
    none = np.empty(0)
    return Cells(none, none, none, np.empty(0, dtype=np.int64))


def counted_cell(rows: float, events: float, frame: int) -> Cells:
    """Return rows that all have a label as a stratum of their own."""
    if rows == 0:
        return no_cells()
    one = np.array([float(rows)])
    return Cells(one, one, np.array([float(events)]), np.array([frame], dtype=np.int64))


# --- spreading checks over strata -----------------------------------------------------------------


def stratum_ends(n_rows: int, n: int, strata: int) -> Positions:
    """Return where strata of ranked rows end: the first holds its share of n, then they grow.

    Examples
    --------
    >>> stratum_ends(10_000, 50, 5)
    array([   10,    56,   316,  1778, 10000])
    """
    strata = min(strata, n, n_rows)
    first = max(1, n // strata) if strata > 1 else n_rows
    return np.unique(np.rint(np.geomspace(first, n_rows, strata)).astype(np.int64))


def ends_between_scores(ordered: Array, ends: Positions) -> Positions:
    """Move ends of strata so that equal scores stay together.

    Parameters
    ----------
    ordered : ndarray
        Scores from the greatest down.
    ends : ndarray of int64

    Examples
    --------
    >>> ends_between_scores(np.array([3.0, 2.0, 2.0, 2.0, 1.0]), np.array([2, 5]))
    array([4, 5])
    """
    last = np.searchsorted(-ordered, -ordered[ends - 1], side="right")
    return np.unique(last).astype(np.int64)


def neyman_wish(rows: Array, share: Array) -> Array:
    """Return what part of the checks each stratum should get: Neyman's, mixed with equal parts.

    Examples
    --------
    >>> neyman_wish(np.array([10.0, 1000.0]), np.array([0.25, 0.0001])).round(3)
    array([0.4, 0.6])
    """
    size = rows * np.sqrt(share)
    total = float(size.sum())
    even = np.full(len(rows), 1.0 / len(rows))
    return even if total <= 0 else NEYMAN * size / total + (1.0 - NEYMAN) * even


def allocate(n: int, sizes: Positions, wish: Array) -> Positions:
    """Share n rows out among strata: at least 1 each, at most all, the rest in proportion to wish.

    Parameters
    ----------
    n : int
        At least as many as strata, at most as many as rows.
    sizes : ndarray of int64
    wish : ndarray
        Above 0.

    Examples
    --------
    >>> sizes = np.array([5, 46, 260, 9689])
    >>> allocate(50, sizes, np.ones(4)), allocate(50, sizes, sizes / sizes.mean())
    (array([ 5, 15, 15, 15]), array([ 1,  1,  1, 47]))
    """
    # A level that rises like water: strata are never below 1 row nor above all of theirs, so the
    # total is piecewise linear with corners where a stratum leaves 1 and where it is full.
    corners = np.sort(np.concatenate([1 / wish, sizes / wish]))
    totals = np.clip(np.outer(corners, wish), 1, sizes).sum(axis=1)
    target = np.clip(np.interp(n, totals, corners) * wish, 1, sizes)
    chosen: Positions = np.floor(target + 1e-9).astype(np.int64)
    left = n - int(chosen.sum())
    most_owed = np.argsort(np.where(chosen < sizes, chosen - target, np.inf), kind="stable")
    chosen[most_owed[:left]] += 1
    return chosen


# --- reading draws back ---------------------------------------------------------------------------


class Drawn(NamedTuple):
    """Rows that were drawn at random from one frame and labelled, from the greatest score down."""

    score: Array
    label: Array
    probability: Array

    @classmethod
    def of(cls, score: Array, label: Array, probability: Array) -> Drawn:
        """Put rows in order; among equal scores those of greater probability stand above."""
        order = np.lexsort((-probability, -score))
        return cls(score[order], label[order], probability[order])


def strata_of(
    drawn: Drawn, open_rank: Array | None, open_above: Array | None, n_rows: float, frame: int = 0
) -> tuple[Cells, NDArray[np.int64]]:
    """Return the strata that rows were drawn from, and the stratum of each row.

    Parameters
    ----------
    drawn : Drawn
    open_rank, open_above : ndarray of shape (n_drawn,) or None
        For each drawn row, how many rows of the frame score at least as much, and how many score
        more. None where the frame's other rows are not known.
    n_rows : float
        Rows in the frame.
    frame : int

    Examples
    --------
    >>> drawn = Drawn.of(np.array([9.0, 8.0, 3.0]), np.array([1.0, 0, 0]), np.array([1, 1, 0.25]))
    >>> strata_of(drawn, np.array([1.0, 2, 4]), np.array([0.0, 1, 3]), 6.0)[0].rows
    array([2., 4.])
    """
    run = _runs(drawn.probability)
    count = int(run[-1]) + 1
    n = np.bincount(run).astype(np.float64)
    stands_for = np.bincount(run, 1.0 / drawn.probability)
    if open_rank is None or open_above is None:
        rows = np.maximum(stands_for, n)
    else:
        target = np.cumsum(stands_for) * (n_rows / stands_for.sum())
        last = np.flatnonzero(np.append(run[1:] != run[:-1], True))
        first = np.concatenate([[0], last[:-1] + 1])
        least, most = open_rank[last[:-1]], open_above[first[1:]]
        end = np.clip(target[:-1], np.minimum(least, most), np.maximum(least, most))
        # Each stratum holds what was drawn from it, and all together no more than the frame.
        free = np.clip(np.rint(end) - np.cumsum(n)[:-1], 0.0, max(0.0, n_rows - n.sum()))
        ends = np.concatenate([[0.0], np.maximum.accumulate(free), [max(0.0, n_rows - n.sum())]])
        rows = n + np.diff(ends)
    events = np.bincount(run, drawn.label).astype(np.float64)
    return Cells(rows, n, events, np.full(count, frame, dtype=np.int64)), run


def _runs(probability: Array) -> NDArray[np.int64]:
    """Number the runs of equal probability; where there are too many, groups of neighbours."""
    change = np.abs(np.diff(np.log(probability))) > SAME
    run = np.concatenate([[0], np.cumsum(change)]).astype(np.int64)
    count = int(run[-1]) + 1
    if count <= GROUPS or count <= min(MOST_RUNS, len(probability) // 2):
        return run
    return np.arange(len(probability), dtype=np.int64) * GROUPS // len(probability)


def answered(score: Array, probability: Array, labelled: NDArray[np.bool_]) -> Array:
    """Return the probability of having been drawn and labelled, stratum by stratum.

    Rows without an answer are taken to be like the others of their stratum. Of a stratum without
    any answer the probability is 0.

    Examples
    --------
    >>> labelled = np.array([True, False, True])
    >>> answered(np.array([3.0, 2.0, 1.0]), np.array([0.5, 0.5, 0.1]), labelled)
    array([0.25, 0.25, 0.1 ])
    """
    order = np.lexsort((-probability, -score))
    run = _runs(probability[order])
    share = np.bincount(run, labelled[order]) / np.bincount(run)
    out = np.empty(len(score))
    out[order] = probability[order] * share[run]
    return out


def chance_at(score: Array, probability: Array, at: Array) -> Array:
    """Return with what probability a draw would have taken rows at other scores.

    That of the stratum. The gap between the last row drawn from one and the first drawn from the
    next is cut in proportion to what their rows stand for: rows that stand for many lie far apart.

    Examples
    --------
    >>> chance_at(np.array([9.0, 7.0, 3.0]), np.array([0.5, 0.5, 0.1]), np.array([8.0, 6.5, 6.0]))
    array([0.5, 0.5, 0.1])
    """
    order = np.lexsort((-probability, -score))
    ordered, chance = score[order], probability[order]
    both = chance[1:] + chance[:-1]
    part = np.divide(chance[1:], both, np.full(len(both), 0.5), where=both > 0)
    cut = ordered[:-1] - part * (ordered[:-1] - ordered[1:])
    return np.asarray(chance[np.searchsorted(-cut, -at, side="left")])


def split_cells(
    cells: Cells, run: NDArray[np.int64], drawn: Drawn, cut: float, open_cut: float | None
) -> tuple[Cells, Cells]:
    """Return the parts of strata that score at least `cut`, and below it.

    Parameters
    ----------
    cells, run, drawn
        As `strata_of` returned and took them.
    cut : float
    open_cut : float or None
        Rows of the frame that score at least `cut`; None where that is not known.
    """
    above = drawn.score >= cut
    k = len(cells.rows)
    n_above = np.bincount(run[above], minlength=k).astype(np.float64)
    k_above = np.bincount(run[above], drawn.label[above], minlength=k).astype(np.float64)
    if open_cut is None:
        rows_above = cells.rows * n_above / cells.drawn
    else:
        begin = np.cumsum(cells.rows) - cells.rows
        rows_above = np.clip(open_cut - begin, 0.0, cells.rows)
    rows_above = np.clip(rows_above, n_above, cells.rows - (cells.drawn - n_above))
    high = Cells(rows_above, n_above, k_above, cells.frame)
    low = Cells(cells.rows - rows_above, cells.drawn - n_above, cells.events - k_above, cells.frame)
    return high.chosen(high.rows > 0), low.chosen(low.rows > 0)
