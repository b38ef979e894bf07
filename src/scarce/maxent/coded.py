"""Rows coded once: a segment and a rest for every value, so a pass is look-ups and sums.

A value costs 1 byte for its segment (2 with more than 255 segments) and one number of the data's
own precision: 5 bytes for float32, 9 for float64, instead of one column per feature. Blocks are
those of the source rows, so sums have the same bits on every engine. Assumes that the coded rows
fit in memory; the source may be a file.

Two groups of rows are kept beside the blocks: the labelled rows of each class, and a sample from
which the curvature is computed, drawn in proportion to what each row adds to it. With it a fit of a
million rows costs a dozen passes and little more.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import DTypeLike, NDArray

from scarce.engine.block import PIECE_ROWS, Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.maxent import kernels
from scarce.maxent.feature_map import FeatureMap, Lines, Sums

SAMPLE_ROWS = 8_192  # the curvature of more rows costs more than it saves in rounds
CODED_AT_ONCE = 65_536  # values


class Coded(NamedTuple):
    """Coded values of some rows: variables first, because a pass walks one variable at a time."""

    codes: NDArray[np.unsignedinteger]  # (V, n)
    rest: NDArray[np.floating]  # (V, n)

    def part(self, first: int, last: int) -> Coded:
        """Return consecutive rows."""
        return Coded(self.codes[:, first:last], self.rest[:, first:last])

    def take(self, rows: NDArray[np.intp]) -> Coded:
        """Return a copy of the chosen rows."""
        return Coded(
            np.ascontiguousarray(self.codes[:, rows]), np.ascontiguousarray(self.rest[:, rows])
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])

    @classmethod
    def joined(cls, parts: list[Coded]) -> Coded:
        """Return the rows of several parts, one after the other."""
        return cls(
            np.concatenate([part.codes for part in parts], axis=1),
            np.concatenate([part.rest for part in parts], axis=1),
        )


class Shape(NamedTuple):
    """What the loops need to know of a feature map; small, and sent to workers."""

    first_cell: NDArray[np.intp]
    place_start: Array
    place_slope: Array
    seen: Array  # 1 on cells with values
    second: bool  # whether there are squares or products


def shape_of(space: FeatureMap) -> Shape:
    """Return the shape of a feature map."""
    return Shape(space.first_cell, *space.place_lines, space.seen_cells, len(space.pairs) > 0)


class CodedBlock:
    """Consecutive coded rows with labels and weights; a fold passes it in place of a Block."""

    __slots__ = ("cells", "index", "label", "pool", "start", "weight")

    def __init__(
        self, cells: Coded, label: Array, weight: Array, pool: Array, start: int, index: int
    ) -> None:
        self.cells = cells
        self.label = label  # position of the class, NaN if not labelled
        self.weight = weight  # as a labelled row
        self.pool = pool  # weight in the pool; sums to 1 over all blocks
        self.start = start
        self.index = index

    def open(self) -> CodedBlock:
        """Return itself."""
        return self

    def __len__(self) -> int:
        return self.cells.n


class CodedRows(Rows):
    """Coded blocks, as rows that can be folded."""

    def __init__(self, blocks: list[CodedBlock], source: Rows) -> None:
        self._blocks = blocks
        self.schema = source.schema
        self.starts = source.starts
        self.engine = source.engine
        self._fingerprint = source.fingerprint

    @property
    def fingerprint(self) -> str:
        """The fingerprint of the source."""
        return self._fingerprint

    def fold(self, kernel: Any, params: Any = None, **how: Any) -> Any:
        """Reduce all rows to one small result; the kernel gets a CodedBlock."""
        return super().fold(kernel, params, **how)

    def map(self, kernel: Any, params: Any = None, **how: Any) -> NDArray[Any]:
        """Return one result per row; the kernel gets a CodedBlock."""
        return super().map(kernel, params, **how)

    def ticket(self, index: int) -> Any:
        """Return the coded block."""
        return self._blocks[index]

    @property
    def coded_blocks(self) -> list[CodedBlock]:
        """The blocks themselves."""
        return self._blocks


def code_cells(X: Array, space: FeatureMap, *, clamp: bool, dtype: DTypeLike = np.float64) -> Coded:
    """Return the segment and rest of every value of a matrix."""
    n = len(X)
    small = all(axis.n_segments < 255 for axis in space.axes)
    codes = np.empty((len(space.axes), n), dtype=np.uint8 if small else np.uint16)
    rest = np.empty((len(space.axes), n), dtype=dtype)
    for v, axis in enumerate(space.axes):
        for first in range(0, n, CODED_AT_ONCE):
            part = slice(first, first + CODED_AT_ONCE)
            values = np.ascontiguousarray(X[part, v], dtype=np.float64)
            codes[v, part], rest[v, part] = axis.code(values, clamp=clamp)
    return Coded(codes, rest)


def code_block(block: Block, params: tuple[FeatureMap, DTypeLike]) -> _Held:
    """Kernel: the coded values of a block."""
    space, dtype = params
    return _Held(code_cells(block.X, space, clamp=True, dtype=dtype))


class _Held:
    """Keeps arrays from being copied on their way out of a fold."""

    __slots__ = ("cells",)

    def __init__(self, cells: Coded) -> None:
        self.cells = cells


def code_rows(
    rows: Rows,
    space: FeatureMap,
    label: Array,
    weight: Array,
    pool: Array,
    *,
    dtype: DTypeLike,
    engine: Engine,
) -> CodedRows:
    """Return the rows coded, with labels and weights; pool weights are scaled to sum to 1.

    Parameters
    ----------
    rows : Rows
    space : FeatureMap
    label, weight, pool : ndarray of shape (n,)
        Class positions (NaN = not labelled), weights as labelled rows, weights in the pool.
    dtype : dtype
        Of the rests.
    engine : engine
    """
    if pool.strides == (0,):  # equal weights: neither they nor their shares take memory
        share = np.broadcast_to(1.0 / len(pool), len(pool))
    else:
        share = pool / pool.sum()
    blocks = []
    for index, held in enumerate(rows.each(code_block, (space, dtype), engine=engine)):
        part = slice(rows.starts[index], rows.starts[index + 1])
        blocks.append(
            CodedBlock(held.cells, label[part], weight[part], share[part], part.start, index)
        )
    return CodedRows(blocks, rows)


def tilt_of(cells: Coded, shape: Shape, lines: Lines, out: Array) -> Array:
    """Write the tilt of some rows to `out`: one look-up per variable, a small product for pairs."""
    out[:] = 0.0
    kernels.add_lines(cells.codes, cells.rest, shape.first_cell, lines.start, lines.slope, out)
    if shape.second:
        place, seen = _places(cells, shape, shape.place_slope), _places(cells, shape, None)
        out += np.einsum("vi,vi->i", lines.bend.T @ place, place)
        out += np.einsum("vi,vi->i", lines.bend_seen.T @ seen, seen)
    return out


def sums_of(
    cells: Coded, shape: Shape, weight: Array, total: Accumulator, *, squares: bool = False
) -> None:
    """Add the weighted sums of some rows."""
    total.total += float(weight.sum())
    kernels.add_sums(cells.codes, cells.rest, shape.first_cell, weight, total.cells)
    if squares:
        kernels.add_squares(cells.codes, cells.rest, shape.first_cell, weight, total.rest2)
    if shape.second:
        place, seen = _places(cells, shape, shape.place_slope), _places(cells, shape, None)
        total.pair += (place * weight) @ place.T
        total.pair_seen += (seen * weight) @ seen.T
        if squares:
            place *= place
            total.pair2 += (place * weight) @ place.T


class Accumulator:
    """Weighted sums, accumulated over pieces of rows."""

    def __init__(self, shape: Shape, *, squares: bool = False) -> None:
        n_cells, n_variables = shape.first_cell[-1], len(shape.first_cell) - 1
        self.total = 0.0
        self.cells = np.zeros((2, n_cells, 2))  # (even and odd rows, cells, mass and rest)
        self.rest2 = np.zeros(n_cells if squares else 0)
        size = n_variables if shape.second else 0
        self.pair, self.pair_seen = np.zeros((2, size, size))
        self.pair2 = np.zeros((size, size) if squares else (0, 0))

    def scale(self, factor: float) -> None:
        """Multiply all sums, when the common shift of the exponents changes."""
        self.total *= factor
        for part in (self.cells, self.rest2, self.pair, self.pair_seen, self.pair2):
            part *= factor

    def close(self) -> Sums:
        """Return the sums."""
        cells = self.cells[0] + self.cells[1]
        return Sums(
            self.total,
            np.ascontiguousarray(cells[:, 0]),
            np.ascontiguousarray(cells[:, 1]),
            self.rest2,
            self.pair,
            self.pair_seen,
            self.pair2,
        )


def weighted_sums(block: CodedBlock, params: tuple[Shape, int | None, bool]) -> Sums:
    """Kernel: sums over the pool (class None) or over the labelled rows of one class."""
    shape, of_class, squares = params
    total = Accumulator(shape, squares=squares)
    for first in range(0, len(block), PIECE_ROWS):
        part = slice(first, first + PIECE_ROWS)
        if of_class is None:
            weight = np.ascontiguousarray(block.pool[part])
        else:
            weight = np.where(block.label[part] == of_class, block.weight[part], 0.0)
            if not weight.any():
                continue
        sums_of(block.cells.part(first, part.stop), shape, weight, total, squares=squares)
    return total.close()


def _places(cells: Coded, shape: Shape, slope: Array | None) -> Array:
    """All variables scaled to [0, 1]; with slope None, 1 where they are seen and else 0."""
    out = np.empty(cells.codes.shape)
    start = shape.seen if slope is None else shape.place_start
    slope = np.zeros_like(start) if slope is None else slope
    kernels.fill_places(cells.codes, cells.rest, shape.first_cell, start, slope, out)
    return out


class Labelled(NamedTuple):
    """The labelled rows of one class."""

    cells: Coded
    weight: Array
    share: Array  # of the labelled weight of the class; sums to 1
    pool: Array  # weight in the pool
    row: NDArray[np.intp]  # position among all rows


def labelled_rows(rows: CodedRows, of_class: int) -> Labelled:
    """Collect the labelled rows of a class."""
    parts, weight, pool, row = [], [], [], []
    for block in rows.coded_blocks:
        chosen = np.flatnonzero((block.label == of_class) & (block.weight > 0))
        row.append(chosen + block.start)
        parts.append(block.cells.take(chosen))
        weight.append(block.weight[chosen])
        pool.append(block.pool[chosen])
    every = np.concatenate(weight)
    share = every / max(float(every.sum()), 1e-300)
    return Labelled(Coded.joined(parts), every, share, np.concatenate(pool), np.concatenate(row))


def no_labelled_rows(like: Labelled) -> Labelled:
    """Return the labelled rows of a class without labels: none."""
    none = np.zeros(0)
    return Labelled(like.cells.part(0, 0), none, none, none, np.zeros(0, dtype=np.intp))


class RowSample:
    """Rows from which the curvature is computed: all, or a sample by what each row adds to it.

    Systematic sampling: even steps of the cumulative weight, which need no random numbers.
    """

    def __init__(self, rows: CodedRows, size: int = SAMPLE_ROWS) -> None:
        self.rows = rows
        self.whole = len(rows) <= 2 * size
        self.size = len(rows) if self.whole else size
        self.cells: Coded | None = None
        if self.whole:
            self.cells = Coded.joined([block.cells for block in rows.coded_blocks])
            self.pool = np.concatenate([block.pool for block in rows.coded_blocks])
            self.factor = np.ones(len(rows))

    def draw(self, importance: Array) -> None:
        """Draw rows in proportion to `importance`."""
        cumulative = np.cumsum(importance)
        steps = (np.arange(self.size) + 0.5) / self.size * cumulative[-1]
        picked = np.minimum(np.searchsorted(cumulative, steps), len(cumulative) - 1)
        chosen, times = np.unique(picked, return_counts=True)
        parts, pool = [], []
        for block in self.rows.coded_blocks:
            first, last = np.searchsorted(chosen, [block.start, block.start + len(block)])
            own = chosen[first:last] - block.start
            parts.append(block.cells.take(own))
            pool.append(block.pool[own])
        self.cells, self.pool = Coded.joined(parts), np.concatenate(pool)
        self.times = times
        self.factor = times * cumulative[-1] / (self.size * importance[chosen])

    def worn(self, weight: Array) -> bool:
        """Whether the rows, drawn for an earlier model, have too small an effective size by now.

        Repeated draws of one row count one by one: right after a draw all of them weigh the same.
        """
        if self.whole:
            return False
        return bool(weight.sum() ** 2 < 0.5 * self.size * (weight @ (weight / self.times)))

    def double(self) -> bool:
        """Double the sample; False if it already holds all rows."""
        if self.whole:
            return False
        self.__init__(self.rows, 2 * self.size)  # type: ignore[misc]
        return True
