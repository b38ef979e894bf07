"""Rows in memory: a NumPy matrix, or the columns of a pandas, polars or Arrow table.

Nothing is copied as a whole. A row-major float64 matrix is seen through views; everything else is
turned into row-major float64 one block at a time, so that a table costs one block more, not itself
again. `decode` makes the row-major copy on purpose, for data that are passed over many times.
"""

from __future__ import annotations

import hashlib
import io
import shutil
import tempfile
import weakref
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array, Block, TableLike, block_rows
from scarce.engine.executors import Engine
from scarce.engine.machine import CACHE_ENDING, Walks
from scarce.engine.rows import Rows, Ticket
from scarce.errors import Argument, DataError, UsageError, listed, warn_user
from scarce.io.cache import CachedRows, write_cache
from scarce.io.schema import (
    Column,
    Schema,
    check_weights,
    refuse_infinities,
    unmasked_weights,
)


def even_starts(n_rows: int, n_columns: int) -> tuple[int, ...]:
    """Return where blocks begin for rows that can be cut anywhere.

    Examples
    --------
    >>> even_starts(200_000, 50)
    (0, 81920, 163840, 200000)
    """
    return (*range(0, n_rows, block_rows(n_columns)), n_rows)


class ArrayRows(Rows):
    """Rows of a matrix, with optional class positions and weights.

    Parameters
    ----------
    X : array-like of shape (n, k)
        Numbers, NaN where missing.
    y : array-like of shape (n,), optional
        Position of each row's class in `classes`; NaN = not labelled. For labels as they come, use
        `open_rows`.
    weight : array-like of shape (n,), optional
        Finite, not negative.
    names : sequence of str, optional
        Column names; x0, x1, ... otherwise.
    classes : sequence, optional
        Class values.
    schema : Schema, optional
        Instead of names and classes, where the columns have more to say.
    starts : tuple of int, optional
        Block boundaries, where the source of the data had some.
    engine : engine
        See `scarce.engine.executors`.
    check : bool
        Look for infinities and columns without values. Estimators that have looked pass False.
    fingerprint : str, optional
        Names the data; by default their shape and a hash of 64 rows spread over them.

    Examples
    --------
    >>> rows = ArrayRows([[1.0, 2.0], [3.0, np.nan]], y=[0, 1], classes=["ok", "fraud"])
    >>> rows
    ArrayRows(2 rows, 2 columns, 1 block)
    """

    def __init__(
        self,
        X: ArrayLike,
        y: ArrayLike | None = None,
        *,
        weight: ArrayLike | None = None,
        names: Sequence[str] | None = None,
        classes: Sequence[Any] = (),
        schema: Schema | None = None,
        starts: tuple[int, ...] | None = None,
        engine: Engine = None,
        check: bool = True,
        fingerprint: str = "",
    ) -> None:
        self._X = _matrix(X)
        n, k = self._X.shape
        if schema is None:
            columns = [f"x{j}" for j in range(k)] if names is None else list(names)
            if len(columns) != k:
                raise UsageError(
                    "{names} has {count} names for {columns} columns.",
                    code="length-mismatch",
                    names=Argument("names"),
                    count=len(columns),
                    columns=k,
                )
            schema = Schema(tuple(Column(name) for name in columns), classes=tuple(classes))
        self.schema = schema
        self._y = _vector(y, n, "y")
        self._weight = _vector(weight, n, "weight")
        self.starts = even_starts(n, k) if starts is None else starts
        self.engine = engine
        self._fingerprint = fingerprint
        self._mapped: CachedRows | None = None
        if check:
            check_matrix(self._X, schema)
            if self._weight is not None:
                check_weights(self._weight)

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files; found when it is first asked for."""
        if not self._fingerprint:
            self._fingerprint = fingerprint_of(self._X, self._y, self._weight)
        return self._fingerprint

    @property
    def matrix(self) -> NDArray[Any]:
        """The features, as they are held."""
        return self._X

    def ticket(self, index: int) -> Ticket:
        """Return the block itself where it is a view, else what turns it into row-major float64."""
        first, last = self.starts[index], self.starts[index + 1]
        X = self._X[first:last]
        y = None if self._y is None else self._y[first:last]
        weight = None if self._weight is None else self._weight[first:last]
        if X.dtype == np.float64 and X.flags.c_contiguous:
            return Block(X, y, weight, first, index)
        return _Foreign(X, y, weight, first, index)

    def labels(self, *, engine: Engine = None) -> Array:
        """Return the class position of each row, without opening blocks."""
        return np.full(len(self), np.nan) if self._y is None else self._y.copy()

    def weights(self, *, engine: Engine = None) -> Array:
        """Return the weight of each row, without opening blocks."""
        return np.broadcast_to(1.0, len(self)) if self._weight is None else self._weight

    def on_disk(self) -> Rows:
        """Return the same rows in a temporary file, which is removed when these rows are gone.

        Sending blocks to other processes anew on every pass costs several times what the pass does.
        """
        if self.n_blocks < 2:
            return self
        if self._mapped is None:
            folder = tempfile.mkdtemp(prefix="scarce-")
            weakref.finalize(self, shutil.rmtree, folder, ignore_errors=True)
            path = Path(folder, "rows" + CACHE_ENDING)
            write_cache(path, self.blocks(), self.schema)
            self._mapped = CachedRows(path, self.schema, fingerprint=self.fingerprint)
        return self._mapped

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_mapped": None}


class _Foreign:
    """Ticket of a slice in another type or layout: made row-major float64 where it is used."""

    def __init__(self, X: NDArray[Any], *rest: Any) -> None:
        self.X = X
        self.rest = rest

    def open(self) -> Block:
        return Block(np.ascontiguousarray(self.X, dtype=np.float64), *self.rest)


class TableRows(Rows):
    """Rows of an Arrow table (or of pandas, polars, through Arrow), decoded one block at a time.

    Parameters
    ----------
    table : pyarrow.Table
        The columns; never copied as a whole.
    schema : Schema
        What they mean.
    starts : tuple of int, optional
        Block boundaries, where the source of the data had some.

    Examples
    --------
    >>> table = pa.table({"age": [44, None, 31], "city": ["Ulm", "Bonn", "Ulm"]})
    >>> schema = Schema((Column("age"), Column("city", "category", ("Bonn", "Ulm"))))
    >>> TableRows(table, schema).map(lambda block, _: block.X)
    array([[44.,  1.],
           [nan,  0.],
           [31.,  1.]])
    """

    def __init__(
        self,
        table: pa.Table,
        schema: Schema,
        *,
        starts: tuple[int, ...] | None = None,
        engine: Engine = None,
        fingerprint: str = "",
    ) -> None:
        self._table = table.select(schema.needed)
        self.schema = schema
        n = table.num_rows
        self.starts = even_starts(n, len(schema.columns)) if starts is None else starts
        self.engine = engine
        self._fingerprint = fingerprint

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""
        return self._fingerprint

    def ticket(self, index: int) -> Ticket:
        """Return a slice of the table with what its columns mean."""
        first, last = self.starts[index], self.starts[index + 1]
        return _Slice(self._table.slice(first, last - first), self.schema, first, index)


class _Slice:
    """Ticket of a slice of a table; only the slice travels, not the buffers it looks into."""

    def __init__(self, table: pa.Table, schema: Schema, start: int, index: int) -> None:
        self.table, self.schema, self.start, self.index = table, schema, start, index

    def open(self) -> Block:
        return Block(*self.schema.code(self.table, self.start), self.start, self.index)

    def __reduce__(self) -> tuple[Any, ...]:
        sink = io.BytesIO()
        with pa.ipc.new_stream(sink, self.table.schema) as writer:
            writer.write_table(self.table)
        return _slice_from, (sink.getvalue(), self.schema, self.start, self.index)


def _slice_from(stream: bytes, schema: Schema, start: int, index: int) -> _Slice:
    with pa.ipc.open_stream(stream) as reader:
        return _Slice(reader.read_all(), schema, start, index)


def decode(rows: Rows, *, engine: Engine = None, walks: Walks | None = None) -> ArrayRows:
    """Turn any rows into a row-major matrix in memory, with the same blocks and so the same bits.

    `walks` counts the rows as they are done.

    Examples
    --------
    >>> table = pa.table({"age": [44, None]})
    >>> decode(TableRows(table, Schema((Column("age"),))))
    ArrayRows(2 rows, 1 columns, 1 block)
    """
    X = np.empty((len(rows), rows.n_columns))
    y: Array | None = None
    weight: Array | None = None
    if walks is not None:
        walks.begin(left=0)
    for index, (block_X, block_y, block_weight) in enumerate(rows.each(_whole, engine=engine)):
        part = slice(rows.starts[index], rows.starts[index + 1])
        X[part] = block_X
        if block_y is not None:
            y = np.empty(len(rows)) if y is None else y
            y[part] = block_y
        if block_weight is not None:
            weight = np.empty(len(rows)) if weight is None else weight
            weight[part] = block_weight
        if walks is not None:
            walks.at(part.stop)
    never = np.asarray(np.isnan(X).all(axis=0)) if len(X) else np.zeros(0, dtype=bool)
    warn_if_never_seen(never, rows.schema, len(rows))
    return ArrayRows(
        X,
        y,
        weight=weight,
        schema=rows.schema,
        starts=rows.starts,
        engine=rows.engine,
        check=False,
        fingerprint=rows.fingerprint,
    )


def _whole(block: Block, _: None) -> tuple[Array, Array | None, Array | None]:
    return block.X, block.y, block.weight


def fingerprint_of(*parts: NDArray[Any] | None) -> str:
    """Return a hash of the shape of arrays and of 64 rows spread over each."""
    digest = hashlib.blake2b(digest_size=12)
    for part in parts:
        if part is not None:
            spread = part[:: max(1, len(part) // 64)]
            digest.update(f"{part.shape}{part.dtype}".encode())
            digest.update(np.ascontiguousarray(spread).tobytes())
    return digest.hexdigest()


def check_matrix(X: NDArray[Any], schema: Schema) -> None:
    """Refuse infinities and warn about columns in which no value was ever seen."""
    with np.errstate(invalid="ignore", over="ignore"):
        doubtful = np.flatnonzero(~np.isfinite(X.sum(axis=0, dtype=np.float64)))
    names = schema.names
    never = np.zeros(X.shape[1], dtype=bool)
    for j in doubtful:
        column = np.asarray(X[:, [j]], dtype=np.float64)
        refuse_infinities(column, [names[j]])
        never[j] = bool(np.isnan(column).all())
    warn_if_never_seen(never, schema, len(X))


def warn_if_never_seen(never: Iterable[bool | np.bool_], schema: Schema, n_rows: int) -> None:
    """Say which columns hold no value at all; they are kept, as never seen."""
    empty = [
        column.name if column.source is None else column.source
        for column, nothing in zip(schema.columns, never, strict=False)
        if nothing
    ]
    empty = list(dict.fromkeys(empty))
    if empty:
        warn_user(
            "{what} {names}: all {rows:,} values are missing. Kept as never seen.",
            code="all-missing",
            what="Column" if len(empty) == 1 else "Columns",
            names=listed([repr(name) for name in empty], most=8),
            rows=n_rows,
            columns=tuple(empty),
            drop=Argument("drop", empty[:8]),
            remedy="Leave out with {drop}.",
        )


def _matrix(X: ArrayLike) -> NDArray[Any]:
    if hasattr(X, "toarray"):
        raise DataError(
            "X is a sparse {kind}; features are dense here, since a missing value is not a zero.",
            code="sparse-input",
            kind=type(X).__name__,
            remedy="Pass X.toarray().",
        )
    matrix = np.asarray(unmasked(X))
    if matrix.dtype.kind in "OUS":
        try:
            matrix = matrix.astype(np.float64)
        except (TypeError, ValueError) as error:
            raise DataError(
                "X holds values that are not numbers ({reason}).",
                code="not-a-number",
                reason=str(error),
                remedy="Pass a pandas, polars or Arrow table: its text columns become categories.",
            ) from error
    if matrix.dtype.kind not in "fiub":
        raise DataError(
            "X is of type {kind}: features are real numbers.",
            code="column-type",
            kind=str(matrix.dtype),
            remedy="Convert it first.",
        )
    if matrix.ndim != 2:
        hint = (
            "X.reshape(-1, 1) for one feature" if matrix.ndim == 1 else "a table of two dimensions"
        )
        raise DataError(
            "X must have two dimensions, got {dimensions} (shape {shape}).",
            code="shape-mismatch",
            dimensions=matrix.ndim,
            shape=matrix.shape,
            remedy=f"Pass {hint}.",
        )
    if 0 in matrix.shape:
        raise DataError(
            "X has {rows} rows and {columns} columns.",
            code="no-rows",
            rows=matrix.shape[0],
            columns=matrix.shape[1],
            remedy="Check the filter or the file that it came from.",
        )
    return matrix


def unmasked(values: TableLike) -> Any:
    """Masked cells as NaN."""
    if isinstance(values, np.ma.MaskedArray):
        return np.ma.filled(values.astype(np.float64), np.nan)
    return values


def _vector(values: ArrayLike | None, n_rows: int, name: str) -> Array | None:
    if values is None:
        return None
    if name == "weight":
        values = unmasked_weights(values, name)
    vector = np.ascontiguousarray(unmasked(values), dtype=np.float64)
    if vector.shape != (n_rows,):
        raise DataError(
            "{argument} has shape {shape}, but X has {rows:,} rows.",
            code="length-mismatch",
            argument=Argument(name),
            shape=vector.shape,
            rows=n_rows,
            remedy="Give one value per row.",
        )
    return vector
