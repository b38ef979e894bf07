"""What stays in memory beside the coded blocks: labelled rows, and rows for the curvature.

The curvature of the aggregate is found from a part of the rows, drawn by what each adds to it, so
that a fit of a million rows costs a dozen passes and little more.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.maxent.coded import Coded, CodedRows

SAMPLE_ROWS = 8_192  # the curvature of more rows costs more than it saves in rounds


class Labelled(NamedTuple):
    """The labelled rows of one class."""

    cells: Coded
    weight: Array
    share: Array  # of the labelled weight; sums to 1
    pool: Array  # of the pool
    row: NDArray[np.intp]  # position among all rows


def labelled_rows(rows: CodedRows, of_class: int) -> Labelled:
    """Gather the labelled rows of a class."""
    parts, weight, pool, row = [], [], [], []
    for block in rows.coded_blocks:
        chosen = np.flatnonzero((block.label == of_class) & (block.weight > 0))
        row.append(chosen + block.start)
        parts.append(block.cells.take(chosen))
        weight.append(block.weight[chosen])
        pool.append(block.pool[chosen])
    every = np.concatenate(weight)
    share = every / max(float(every.sum()), 1e-300)
    return Labelled(_joined(parts), every, share, np.concatenate(pool), np.concatenate(row))


def nobody(like: Labelled) -> Labelled:
    """No labelled rows, of a class that has none."""
    none = np.zeros(0)
    return Labelled(like.cells.part(0, 0), none, none, none, np.zeros(0, dtype=np.intp))


class RowSample:
    """Rows from which the curvature is found: all, or a part drawn by what each row adds to it.

    Drawn in even steps of the cumulated weight, so that the draw needs no random numbers and rows
    that are alike and next to each other are drawn in turn.
    """

    def __init__(self, rows: CodedRows, size: int = SAMPLE_ROWS) -> None:
        self.rows = rows
        self.whole = len(rows) <= 2 * size
        self.size = len(rows) if self.whole else size
        self.cells: Coded | None = None
        if self.whole:
            self.cells = _joined([block.cells for block in rows.coded_blocks])
            self.pool = np.concatenate([block.pool for block in rows.coded_blocks])
            self.factor = np.ones(len(rows))

    def draw(self, importance: Array) -> None:
        """Draw rows with probability proportional to `importance`."""
        heap = np.cumsum(importance)
        steps = (np.arange(self.size) + 0.5) / self.size * heap[-1]
        picked = np.minimum(np.searchsorted(heap, steps), len(heap) - 1)
        chosen, times = np.unique(picked, return_counts=True)
        parts, pool = [], []
        for block in self.rows.coded_blocks:
            first, last = np.searchsorted(chosen, [block.start, block.start + len(block)])
            own = chosen[first:last] - block.start
            parts.append(block.cells.take(own))
            pool.append(block.pool[own])
        self.cells, self.pool = _joined(parts), np.concatenate(pool)
        self.times = times
        self.factor = times * heap[-1] / (self.size * importance[chosen])

    def worn(self, weight: Array) -> bool:
        """Whether rows drawn for an older model tell too little about the present one.

        Each of the draws counts, also those of one row: just drawn, all of them weigh the same.
        """
        if self.whole:
            return False
        return bool(weight.sum() ** 2 < 0.5 * self.size * (weight @ (weight / self.times)))

    def double(self) -> bool:
        """Take twice as many rows from now on; False when all are in."""
        if self.whole:
            return False
        self.__init__(self.rows, 2 * self.size)  # type: ignore[misc]
        return True


def _joined(parts: list[Coded]) -> Coded:
    return Coded(
        np.concatenate([part.codes for part in parts], axis=1),
        np.concatenate([part.rest for part in parts], axis=1),
    )
