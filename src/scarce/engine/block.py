"""A block: the few thousand to a few hundred thousand rows that a kernel sees at once.

A kernel is a pure function (block, params) -> small arrays. It gets features with NaN where a value
is missing, labels in three states, weights, and scratch buffers that live as long as the worker, so
that a pass over the data allocates nothing large.

Assumes X is row-major float64: one memory layout whichever source or engine made the block, because
BLAS may round differently for another layout. Does not check values: see schema.py and memory.py.
"""

from __future__ import annotations

import threading
from collections.abc import Iterator
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import DTypeLike, NDArray

Array = NDArray[np.float64]
TableLike: TypeAlias = Any  # an array, or a table of pandas, polars or Arrow
ColumnLike: TypeAlias = Any  # a list, an array, or a column of pandas, polars or Arrow
LabelValue: TypeAlias = Any  # a number, a text or a truth value that names a class, or several
Params: TypeAlias = Any  # what a kernel is given beside its block: small and picklable
Result: TypeAlias = Any  # what a kernel returns: numbers and arrays, also in tuples and dicts

PIECE_ROWS = (
    4096  # rows whose temporaries stay in cache: measured best of 1024 .. 80000 at 50 columns
)
BLOCK_CELLS = 4_194_304  # 32 MB of float64 per task: long against the cost of a task, short to hold


def block_rows(n_columns: int) -> int:
    """Return how many rows a block has, from the width of the data alone.

    Never from the number of workers: the order of additions, and with it every bit of the result,
    must not depend on the machine that happens to run it.

    Examples
    --------
    >>> block_rows(50), block_rows(1), block_rows(100_000)
    (81920, 4194304, 41)
    """
    rows = max(1, BLOCK_CELLS // max(1, n_columns))
    return rows - rows % PIECE_ROWS if rows > PIECE_ROWS else rows


def aligned(value: Any) -> Any:
    """Copy arrays that lie at odd addresses, also inside tuples, lists and dictionaries."""
    if isinstance(value, np.ndarray):
        return value if value.flags.aligned else value.copy()
    if isinstance(value, tuple):
        parts = [aligned(part) for part in value]
        return value._make(parts) if hasattr(value, "_make") else tuple(parts)
    if isinstance(value, list):
        return [aligned(part) for part in value]
    if isinstance(value, dict):
        return {name: aligned(part) for name, part in value.items()}
    return value


class _Buffers(threading.local):
    """Scratch memory of one worker thread, by name; grows and is never given back."""

    def __init__(self) -> None:
        self.held: dict[tuple[str, str], NDArray[np.generic]] = {}


_buffers = _Buffers()


class Block:
    """Consecutive rows of a data set.

    Parameters
    ----------
    X : ndarray of shape (n, k), float64, row-major
        Features; NaN is a missing value.
    y : ndarray of shape (n,), float64, or None
        Position of the row's class in the class list; NaN is *not labelled*.
    weight : ndarray of shape (n,), float64, or None
        Row weights; None means that every row counts once.
    start : int
        Number of the first row in the whole data set.
    index : int
        Number of the block.

    Examples
    --------
    >>> block = Block(np.array([[1.0, np.nan], [3.0, 4.0]]), np.array([1.0, np.nan]))
    >>> block.seen
    array([[ True, False],
           [ True,  True]])
    >>> block.labelled
    array([ True, False])
    """

    __slots__ = ("X", "index", "start", "weight", "y")

    def __init__(
        self,
        X: Array,
        y: Array | None = None,
        weight: Array | None = None,
        start: int = 0,
        index: int = 0,
    ) -> None:
        self.X = X
        self.y = y
        self.weight = weight
        self.start = start
        self.index = index

    def __len__(self) -> int:
        return len(self.X)

    @property
    def matrix(self) -> Any:
        """The features as they are held: X, or a sparse matrix (see sparse.py)."""
        return self.X

    def weighted(self, weight: Array) -> Block:
        """Return the same rows with other weights."""
        return Block(self.X, self.y, weight, self.start, self.index)

    def open(self) -> Block:
        """Return itself: a block in memory is its own ticket.

        A cluster may deliver arrays at odd addresses, where NumPy leaves BLAS aside and rounds
        differently: those are copied to even ones.
        """
        self.X = aligned(self.X)
        self.y = aligned(self.y)
        self.weight = aligned(self.weight)
        return self

    @property
    def seen(self) -> NDArray[np.bool_]:
        """Which values are known, shape (n, k)."""
        return ~np.isnan(self.X)

    @property
    def complete(self) -> bool:
        """Whether no value is missing."""
        # A sum is NaN exactly when an addend is: infinities never enter a block.
        return not np.isnan(self.X.sum())

    @property
    def labelled(self) -> NDArray[np.bool_]:
        """Which rows carry a label, shape (n,)."""
        return np.zeros(len(self), dtype=bool) if self.y is None else ~np.isnan(self.y)

    def pieces(self, rows: int = PIECE_ROWS) -> Iterator[Block]:
        """Walk the block in pieces small enough for their temporaries to stay in cache."""
        for first in range(0, len(self.X), rows):
            last = first + rows
            yield Block(
                self.X[first:last],
                None if self.y is None else self.y[first:last],
                None if self.weight is None else self.weight[first:last],
                self.start + first,
                self.index,
            )

    def strips(self, rows: int = PIECE_ROWS) -> Iterator[Block]:
        """Walk the block in pieces for products with `matrix`: a sparse block is one."""
        return self.pieces(rows)

    @staticmethod
    def scratch(
        name: str, shape: tuple[int, ...], dtype: DTypeLike = np.float64
    ) -> NDArray[np.generic]:
        """Return uninitialised working memory that the next call with this name reuses.

        The memory belongs to the worker's thread. A kernel may return it: the engine copies what
        is not the kernel's own. Two kernels that call each other need different names.
        """
        kind = np.dtype(dtype)
        size = 1
        for length in shape:
            size *= length
        held = _buffers.held.get((name, kind.str))
        if held is None or held.size < size:
            held = _buffers.held[name, kind.str] = np.empty(size, dtype=kind)
        return held[:size].reshape(shape)
