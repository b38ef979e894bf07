"""Rows coded once: a segment and a rest for every value, so a pass is look-ups and sums.

A value costs 1 byte for its segment (2 with more than 255 segments) and one number of the data's
own precision: 5 bytes for float32, 9 for float64, instead of one column per feature. The rest of a
missing value is 0, or the place that it is expected to have as a factor (factors.py). Blocks are
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
    place_slope: Array  # 1 on cells of missing factors, whose rest is their place
    seen: Array  # 1 on cells with values
    second: bool  # whether there are squares or products
    either: bool = False  # whether a product counts where one of its factors is seen


def shape_of(space: FeatureMap) -> Shape:
    """Return the shape of a feature map."""
    start, slope = space.place_lines
    if space.expected:
        numeric = [not axis.category and not axis.flat for axis in space.axes]
        slope[space.first_cell[1:][numeric] - 1] = 1.0
    second = len(space.pairs) > 0
    return Shape(space.first_cell, start, slope, space.seen_cells, second, space.expected)


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
        f = Factors.of(cells, shape)
        out += np.einsum("vi,vi->i", lines.bend.T @ f.own, f.place)
        out += np.einsum("vi,vi->i", lines.bend_seen.T @ f.seen, f.seen)
        if shape.either and not f.complete:
            gone = 1.0 - f.seen
            out += np.einsum("vi,vi->i", lines.bend.T @ (f.place - f.own), f.own)
            out += np.einsum("vi,vi->i", lines.bend_seen.T @ f.seen, gone)
            out += np.einsum("vi,vi->i", lines.bend_seen.T @ gone, f.seen)
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
        f = Factors.of(cells, shape)
        total.pair += f.products(weight, shape.either)
        total.pair_seen += f.seen_products(weight, shape.either)
        if squares:
            total.pair2 += f.squared().products(weight, shape.either)


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


class Factors(NamedTuple):
    """What squares and products are made of: all variables of some rows, scaled to [0, 1].

    A product is own_u place_v + (place_u - own_u) own_v: 0 where both factors are missing, with no
    rounding left over. Where both must be seen, places of missing values are 0 and the second term
    is left out.
    """

    place: Array  # (V, n), of missing values what is expected
    seen: Array  # 1 where there is a value
    own: Array  # the same places, 0 where there is none
    complete: bool

    @classmethod
    def of(cls, cells: Coded, shape: Shape) -> Factors:
        """Look up the places of some rows."""
        place, seen = np.empty(cells.codes.shape), np.empty(cells.codes.shape)
        where = (cells.codes, cells.rest, shape.first_cell)
        kernels.fill_places(*where, shape.place_start, shape.place_slope, place)
        kernels.fill_places(*where, shape.seen, np.zeros_like(shape.seen), seen)
        complete = bool(seen.all())
        return cls(place, seen, place if complete else place * seen, complete)

    def squared(self) -> Factors:
        """Return the squares of the places."""
        place = self.place**2
        return self._replace(place=place, own=place if self.complete else place * self.seen)

    def products(self, weight: Array, either: bool) -> Array:
        """Return the weighted sum of each product, (V, V)."""
        out = (self.own * weight) @ self.place.T
        if either and not self.complete:
            out += ((self.place - self.own) * weight) @ self.own.T
        return np.asarray(out)

    def seen_products(self, weight: Array, either: bool) -> Array:
        """Return the weight of the rows in which each product counts, (V, V)."""
        weighed = self.seen * weight
        if either and not self.complete:
            return np.asarray(weighed.sum(axis=1)[:, None] + (weight - weighed) @ self.seen.T)
        return np.asarray(weighed @ self.seen.T)


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
