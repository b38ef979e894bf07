"""Rows coded once: a segment and a rest for every cell, so that a pass is look-ups and sums.

A cell costs 1 byte for its segment (2 with more than 255 cells) and one number of the data's own
precision: 5 bytes for float32, 9 for float64, instead of one column per feature. Blocks are those
of the source rows, so sums have the same bits on every engine. Assumes that the coded rows fit in
memory; the source may be a file.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import PIECE_ROWS, Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.maxent import kernels
from scarce.maxent.feature_map import FeatureMap, Lines, Sums


class Coded(NamedTuple):
    """Cells of some rows: variables first, so that a pass walks one variable at a time."""

    codes: NDArray[np.unsignedinteger]  # (V, n)
    rest: NDArray[np.floating]  # (V, n)

    def part(self, first: int, last: int) -> Coded:
        """Return some consecutive rows."""
        return Coded(self.codes[:, first:last], self.rest[:, first:last])

    def take(self, rows: NDArray[np.intp]) -> Coded:
        """Return chosen rows, in memory of their own."""
        return Coded(
            np.ascontiguousarray(self.codes[:, rows]), np.ascontiguousarray(self.rest[:, rows])
        )

    @property
    def n(self) -> int:
        """Number of rows."""
        return int(self.codes.shape[1])


class Shape(NamedTuple):
    """What the loops need to know of a feature map; small, sent to workers."""

    first_cell: NDArray[np.intp]
    place_start: Array
    place_slope: Array
    seen: Array  # 1 on cells with values
    second: bool  # whether there are features of second order


def shape_of(space: FeatureMap) -> Shape:
    """Return the shape of a feature map."""
    return Shape(space.first_cell, *space.place_lines, space.seen_cells, len(space.pairs) > 0)


class CodedBlock:
    """Consecutive coded rows with their pool weight and labels; its own ticket.

    A fold hands it to a kernel in the place of a Block.
    """

    __slots__ = ("cells", "index", "label", "pool", "start", "weight")

    def __init__(
        self, cells: Coded, label: Array, weight: Array, pool: Array, start: int, index: int
    ) -> None:
        self.cells = cells
        self.label = label  # position of the class, NaN where not labelled
        self.weight = weight  # of the row as a labelled row
        self.pool = pool  # of the row in the pool; over all blocks they sum to 1
        self.start = start
        self.index = index

    def open(self) -> CodedBlock:
        """Return itself."""
        return self

    def __len__(self) -> int:
        return self.cells.n


class CodedRows(Rows):
    """Coded blocks as rows that can be folded."""

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


def code_cells(X: Array, space: FeatureMap, *, clamp: bool, dtype: Any = np.float64) -> Coded:
    """Return the segment and rest of every cell of a matrix."""
    n = len(X)
    small = all(axis.n_segments < 255 for axis in space.axes)
    codes = np.empty((len(space.axes), n), dtype=np.uint8 if small else np.uint16)
    rest = np.empty((len(space.axes), n), dtype=dtype)
    for v, axis in enumerate(space.axes):
        for first in range(0, n, 65_536):
            part = slice(first, first + 65_536)
            values = np.ascontiguousarray(X[part, v], dtype=np.float64)
            codes[v, part], rest[v, part] = axis.code(values, clamp=clamp)
    return Coded(codes, rest)


def code_block(block: Block, params: tuple[FeatureMap, Any]) -> Any:
    """Kernel: the coded cells of a block."""
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
    dtype: Any,
    engine: Engine,
) -> CodedRows:
    """Return the rows coded, with labels and weights beside them; pool weights are made to sum 1.

    Parameters
    ----------
    rows : Rows
    space : FeatureMap
    label, weight, pool : ndarray of shape (n,)
        Class positions (NaN = not labelled), label weights, pool weights.
    dtype : dtype
        Of the rests.
    engine : engine
    """
    if pool.strides == (0,):  # equal weights take no memory, and their shares need none
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
    """Sums under way."""

    def __init__(self, shape: Shape, *, squares: bool = False) -> None:
        n_cells, n_variables = shape.first_cell[-1], len(shape.first_cell) - 1
        self.total = 0.0
        self.cells = np.zeros((2, n_cells, 2))  # even and odd rows; mass and rest
        self.rest2 = np.zeros(n_cells if squares else 0)
        size = n_variables if shape.second else 0
        self.pair, self.pair_seen = np.zeros((2, size, size))
        self.pair2 = np.zeros((size, size) if squares else (0, 0))

    def scale(self, factor: float) -> None:
        """Multiply everything, when the exponents' common shift moves."""
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


def weighted_sums(block: CodedBlock, params: tuple[Shape, Any, bool]) -> Sums:
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
    """Places of all variables of a piece, or with slope None where they are seen (0 and 1)."""
    out = np.empty(cells.codes.shape)
    start = shape.seen if slope is None else shape.place_start
    slope = np.zeros_like(start) if slope is None else slope
    kernels.fill_places(cells.codes, cells.rest, shape.first_cell, start, slope, out)
    return out
