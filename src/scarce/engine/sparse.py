"""Rows of a sparse matrix: few values of each row are not 0, as in texts and one-hot tables.

Held as compressed rows, once. A block's `matrix` is sparse, and the linear models multiply by it as
it is; `X` makes that block dense, for kernels that know nothing of it: one block more in memory,
never the whole. Not stored means 0, never missing.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
from scipy.sparse import csr_array

from scarce.engine.block import PIECE_ROWS, Array, Block, block_rows
from scarce.engine.executors import Engine
from scarce.engine.memory import fingerprint_of
from scarce.engine.rows import Rows, Ticket
from scarce.errors import DataError
from scarce.io.schema import Column, Schema

LEAST_ROWS = 256  # of a block, however many columns
LARGEST = 16  # times the cells of a dense block: a block that is made dense after all


class SparseBlock(Block):
    """A block of compressed rows; see `Block`.

    Examples
    --------
    >>> block = SparseBlock(csr_array(np.array([[0.0, 2.0], [0.0, 0.0]])))
    >>> block.matrix @ np.array([1.0, 10.0]), block.X
    (array([20.,  0.]), array([[0., 2.],
           [0., 0.]]))
    """

    __slots__ = ("_matrix",)

    def __init__(
        self,
        matrix: csr_array,
        y: Array | None = None,
        weight: Array | None = None,
        start: int = 0,
        index: int = 0,
    ) -> None:
        self._matrix = matrix
        self.y, self.weight, self.start, self.index = y, weight, start, index

    def __len__(self) -> int:
        return int(self._matrix.shape[0])

    def __reduce__(self) -> tuple[Any, ...]:
        return SparseBlock, (self._matrix, self.y, self.weight, self.start, self.index)

    @property
    def matrix(self) -> csr_array:
        """The features as they are held."""
        return self._matrix

    @property
    def X(self) -> Array:  # type: ignore[override]
        """The features, dense: made anew each time."""
        return np.ascontiguousarray(self._matrix.toarray())

    def weighted(self, weight: Array) -> Block:
        """Return the same rows with other weights."""
        return SparseBlock(self._matrix, self.y, weight, self.start, self.index)

    def open(self) -> Block:
        """Return itself."""
        return self

    def pieces(self, rows: int = PIECE_ROWS) -> Iterator[Block]:
        """Walk the block in pieces that may be made dense."""
        rows = min(rows, block_rows(self._matrix.shape[1]))
        for first in range(0, len(self), rows):
            part = slice(first, first + rows)
            yield SparseBlock(
                self._matrix[part],
                None if self.y is None else self.y[part],
                None if self.weight is None else self.weight[part],
                self.start + first,
                self.index,
            )

    def strips(self, rows: int = PIECE_ROWS) -> Iterator[Block]:
        """Return the whole block: what is not stored needs no place in a cache."""
        yield self


class SparseRows(Rows):
    """Rows of a sparse matrix, with optional class positions and weights; see `ArrayRows`.

    Examples
    --------
    >>> SparseRows(csr_array(np.eye(3)), np.array([0.0, 1.0, 1.0]), classes=[0, 1])
    SparseRows(3 rows, 3 columns, 1 block)
    """

    sparse = True

    def __init__(
        self,
        X: Any,
        y: Array | None = None,
        *,
        weight: Array | None = None,
        names: Sequence[str] | None = None,
        classes: Sequence[Any] = (),
        schema: Schema | None = None,
        engine: Engine = None,
    ) -> None:
        self._X = csr_array(X)
        self._X.sum_duplicates()
        unknown = int(np.count_nonzero(~np.isfinite(self._X.data)))
        if unknown:
            raise DataError(
                "The sparse matrix stores {count:,} values that are NaN or infinite: missing "
                "values are for dense tables.",
                code="missing-in-sparse",
                count=unknown,
                remedy="Pass X.toarray(), or impute them.",
            )
        self._y = None if y is None else np.ascontiguousarray(y, dtype=np.float64)
        self._weight = None if weight is None else np.ascontiguousarray(weight, dtype=np.float64)
        n, k = self._X.shape
        if schema is None:
            columns = [f"x{j}" for j in range(k)] if names is None else list(names)
            schema = Schema(tuple(Column(name) for name in columns), classes=tuple(classes))
        self.schema = schema
        per_row = max(1, self._X.nnz // max(n, 1), k // LARGEST)
        size = max(LEAST_ROWS, block_rows(per_row))
        self.starts = (*range(0, n, size), n)
        self.engine = engine

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""
        parts = (self._X.data, self._X.indices, self._y, self._weight)
        return fingerprint_of(*parts)

    def ticket(self, index: int) -> Ticket:
        """Return the block itself."""
        first, last = self.starts[index], self.starts[index + 1]
        y = None if self._y is None else self._y[first:last]
        weight = None if self._weight is None else self._weight[first:last]
        return SparseBlock(self._X[first:last], y, weight, first, index)

    def labels(self, *, engine: Engine = None) -> Array:
        """Return the class position of each row, without opening blocks."""
        return np.full(len(self), np.nan) if self._y is None else self._y.copy()

    def weights(self, *, engine: Engine = None) -> Array:
        """Return the weight of each row, without opening blocks."""
        return np.broadcast_to(1.0, len(self)) if self._weight is None else self._weight
