"""Rows: a data set that is folded, block by block, into small sums.

    fold:  total = merge(... merge(merge(k(b0), k(b1)), k(b2)) ...)        in block order
    map :  concatenate(k(b0), k(b1), k(b2), ...)                            in row order

Gram sums, log-partitions with their moments, EM statistics, histograms, minima and KS statistics
are folds; predictions and decisions are maps. The merge order is fixed by the data, so every engine
gives the same bits. A new source of rows says how many blocks it has and how block i is opened, and
nothing more: see docs/extend/row-source.md.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array, Block, Params, Result, aligned
from scarce.engine.executors import (
    Engine,
    executor_for,
    fail,
    in_order,
    one_blas_thread,
    shares_files,
)
from scarce.errors import UsageError
from scarce.io.schema import Schema

Kernel = Callable[[Block, Any], Any]
Merge = Callable[[Any, Any], Any]


class Ticket(Protocol):
    """What is sent to a worker instead of a block: small, picklable, opens the block there."""

    def open(self) -> Block:
        """Return the block."""
        ...  # pragma: no cover


def add(total: Result, more: Result) -> Any:
    """Merge two block results by addition, inside tuples and dictionaries too.

    Examples
    --------
    >>> add((1.0, np.array([1.0, 2.0])), (0.5, np.array([1.0, 1.0])))
    (1.5, array([2., 3.]))
    """
    if isinstance(total, tuple):
        return _like(total, [add(one, other) for one, other in zip(total, more, strict=True)])
    if isinstance(total, dict):
        return {name: add(value, more[name]) for name, value in total.items()}
    return total + more


class Rows(ABC):
    """Rows of a table in blocks.

    Attributes
    ----------
    schema : Schema
        Names and kinds of the columns, code books, classes.
    starts : tuple of int
        Number of the first row of each block, then the number of rows: `starts[i]:starts[i + 1]`
        is block i. A property of the data, never of the workers.
    engine : engine
        Who runs the blocks unless a call says otherwise.
    """

    schema: Schema
    starts: tuple[int, ...]
    engine: Engine = None
    sparse: bool = False  # whether a block's `matrix` is sparse

    @abstractmethod
    def ticket(self, index: int) -> Ticket:
        """Return what a worker needs to open block `index`; a `Block` is its own ticket."""

    @property
    @abstractmethod
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""

    @property
    def n_blocks(self) -> int:
        """Number of blocks."""
        return len(self.starts) - 1

    @property
    def n_columns(self) -> int:
        """Number of feature columns."""
        return len(self.schema.columns)

    @property
    def names(self) -> tuple[str, ...]:
        """Names of the feature columns."""
        return self.schema.names

    @property
    def classes(self) -> tuple[Any, ...]:
        """The classes that labels may take, in order; empty without labels."""
        return self.schema.classes

    def __len__(self) -> int:
        return self.starts[-1]

    def __repr__(self) -> str:
        return (
            f"{type(self).__name__}({len(self):,} rows, {self.n_columns} columns, "
            f"{self.n_blocks} block{'s' if self.n_blocks != 1 else ''})"
        )

    def blocks(self) -> Iterator[Block]:
        """Walk the blocks in order, in this thread."""
        return (self.ticket(index).open() for index in range(self.n_blocks))

    def fold(
        self,
        kernel: Kernel,
        params: Params = None,
        *,
        merge: Merge | None = None,
        engine: Engine = None,
    ) -> Any:
        """Reduce all rows to one small result.

        Parameters
        ----------
        kernel : callable (block, params) -> result
            Pure: the result depends on nothing else. It may be scratch memory.
        params : object
            Passed to the kernel; sent to each worker. Arrays in it, also inside tuples, lists and
            dictionaries, keep their bits on the way.
        merge : callable (total, more) -> total, optional
            Default: the kernel's own `merge` attribute, else addition.
        engine : engine, optional
            Overrides `self.engine`.

        Examples
        --------
        >>> from scarce import open_rows
        >>> rows = open_rows(np.arange(6.0).reshape(3, 2))
        >>> rows.fold(lambda block, power: (block.X**power).sum(axis=0), 2)
        array([20., 35.])
        """
        if len(self.starts) == 2:  # one block: the thousands of small fits come this way
            try:
                with one_blas_thread:
                    return _owned(kernel(self.ticket(0).open(), params))
            except Exception as error:
                fail(error, self._block_in_words(0))
        if self.n_blocks == 0:
            raise UsageError("A fold needs at least one row.", code="no-rows")
        merging: Merge = getattr(kernel, "merge", add) if merge is None else merge
        results = self.each(kernel, params, engine=engine)
        total = next(results)
        for result in results:
            total = merging(total, result)
        return total

    def map(self, kernel: Kernel, params: Params = None, *, engine: Engine = None) -> NDArray[Any]:
        """Return one result per row, in row order.

        Examples
        --------
        >>> from scarce import open_rows
        >>> rows = open_rows(np.arange(6.0).reshape(3, 2))
        >>> rows.map(lambda block, _: block.X.sum(axis=1))
        array([1., 5., 9.])
        """
        out: NDArray[Any] | None = None
        for index, result in enumerate(self.each(kernel, params, engine=engine)):
            first, last = self.starts[index], self.starts[index + 1]
            if len(result) != last - first:
                raise UsageError(
                    "A map needs one result per row: the kernel returned {count} for the {rows} "
                    "rows of block {block}.",
                    code="length-mismatch",
                    count=len(result),
                    rows=last - first,
                    block=index,
                )
            if out is None:
                out = np.empty((len(self), *result.shape[1:]), dtype=result.dtype)
            out[first:last] = result
        if out is None:
            raise UsageError("A map needs at least one row.", code="no-rows")
        return out

    def each(
        self, kernel: Kernel, params: Params = None, *, engine: Engine = None
    ) -> Iterator[Any]:
        """Yield the kernel's result of each block, in block order, a few blocks ahead."""
        executor = executor_for(self.engine if engine is None else engine)
        rows = self.on_disk() if shares_files(executor) else self
        return in_order(
            _run,
            ((rows.ticket(index), kernel, params) for index in range(self.n_blocks)),
            engine=executor,
            name=self._block_in_words,
        )

    def on_disk(self) -> Rows:
        """Return rows that other processes on this machine can open without being sent them."""
        return self

    def _block_in_words(self, index: int) -> str:
        first, last = self.starts[index], self.starts[index + 1]
        return f"block {index + 1} of {self.n_blocks} (rows {first:,} to {last - 1:,})"

    def labels(self, *, engine: Engine = None) -> Array:
        """Return the class position of each row, NaN where not labelled; a copy.

        Examples
        --------
        >>> from scarce import open_rows
        >>> open_rows(np.zeros((3, 1)), label=[1, 0, np.nan]).labels()
        array([ 1.,  0., nan])
        """
        return self.map(block_labels, engine=engine)

    def weights(self, *, engine: Engine = None) -> Array:
        """Return the weight of each row, 1 where none was given; not to be written to."""
        return self.map(block_weights, engine=engine)

    def label_counts(self, *, engine: Engine = None) -> tuple[Array, int]:
        """Return the total weight labelled with each class, and the number of unlabelled rows.

        Examples
        --------
        >>> from scarce import open_rows
        >>> rows = open_rows(np.zeros((4, 1)), label=[1, 0, np.nan, 0])
        >>> rows.label_counts()
        (array([2., 1.]), 1)
        """
        counts, unlabelled = self.fold(count_labels, len(self.classes), engine=engine)
        return counts, int(unlabelled)


class WeightedRows(Rows):
    """The same rows with other weights: 0 for rows that a fit must not see.

    Examples
    --------
    >>> from scarce import open_rows
    >>> rows = WeightedRows(open_rows(np.zeros((3, 1)), label=[1, 0, 0]), np.array([1.0, 2.0, 0.0]))
    >>> rows.label_counts()
    (array([2., 1.]), 0)
    """

    def __init__(self, rows: Rows, weight: Array) -> None:
        self.rows, self.weight = rows, weight
        self.schema, self.starts, self.engine = rows.schema, rows.starts, rows.engine
        self.sparse = rows.sparse

    @property
    def fingerprint(self) -> str:
        """That of the rows themselves."""
        return self.rows.fingerprint

    def ticket(self, index: int) -> Ticket:
        """Return the other rows' ticket with the weights of its block."""
        own = self.weight[self.starts[index] : self.starts[index + 1]]
        return _Weighted(self.rows.ticket(index), own)

    def on_disk(self) -> Rows:
        """Return the same over rows that other processes can open."""
        return WeightedRows(self.rows.on_disk(), self.weight)


class _Weighted:
    def __init__(self, ticket: Ticket, weight: Array) -> None:
        self.ticket, self.weight = ticket, weight

    def open(self) -> Block:
        return self.ticket.open().weighted(self.weight)


def block_labels(block: Block, _: Params) -> Array:
    """Kernel: class positions, NaN where not labelled."""
    return np.full(len(block), np.nan) if block.y is None else block.y


def block_weights(block: Block, _: Params) -> Array:
    """Kernel: the weight of each row."""
    return np.ones(len(block)) if block.weight is None else block.weight


def count_labels(block: Block, n_classes: int) -> tuple[Array, int]:
    """Kernel: weight of each class, and rows without a label."""
    labelled = block.labelled
    if block.y is None:
        return np.zeros(n_classes), len(block)
    weight = None if block.weight is None else block.weight[labelled]
    codes = block.y[labelled].astype(np.intp)
    counts = np.bincount(codes, weights=weight, minlength=n_classes).astype(np.float64)
    return counts, len(block) - len(codes)


def _run(ticket: Ticket, kernel: Kernel, params: Params) -> Any:
    return _owned(kernel(ticket.open(), aligned(params)))


def _owned(result: Result) -> Any:
    """Copy what a kernel returned where it is a view, so that scratch memory is free again."""
    if isinstance(result, np.ndarray):
        return result if result.base is None else result.copy()
    if isinstance(result, tuple):
        return _like(result, [_owned(part) for part in result])
    if isinstance(result, dict):
        return {name: _owned(part) for name, part in result.items()}
    return result


def _like(result: tuple[Any, ...], parts: list[Any]) -> tuple[Any, ...]:
    """A tuple of the same kind: a named one keeps its names."""
    return result._make(parts) if hasattr(result, "_make") else tuple(parts)
