"""The decoded cache: data parsed once, then memory-mapped at the speed of memory.

One Arrow IPC file per data set and reading of it. Each record batch is a block, with the features
as one fixed-size list per row, so that the mapped bytes *are* the row-major matrix and a pass
copies nothing. The file's name is a hash of the data's content stamp and of everything that changes
how it is read; a cache that does not fit its data is therefore never found, and a damaged one is
made anew.

Written whole or not at all; two processes may make the same cache at once. Lies in the folder
SCARCE_CACHE, else in the user's cache folder, or next to the data with cache="beside".
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scarce.atomic import whole_file
from scarce.errors import DataError
from scarce.machine import CACHE_ENDING
from scarce.rows.block import Array, Block
from scarce.rows.engines import Engine
from scarce.rows.rows import Rows, Ticket
from scarce.rows.schema import Schema
from scarce.rows.values import view

FORMAT = 1


def cache_path(folder: Path, stamp: str, schema: Schema) -> Path:
    """Return the one name that data with this stamp, read in this way, are cached under."""
    reading = json.dumps([FORMAT, stamp, schema.to_dict()], sort_keys=True, default=repr)
    return folder / (hashlib.blake2b(reading.encode(), digest_size=16).hexdigest() + CACHE_ENDING)


class CachedRows(Rows):
    """Rows of a decoded cache file: every block is a view into the mapped file.

    Examples
    --------
    >>> import tempfile
    >>> from scarce.rows.memory import ArrayRows
    >>> rows = ArrayRows(np.arange(6.0).reshape(3, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a" + CACHE_ENDING)
    ...     write_cache(path, rows.blocks(), rows.schema)
    ...     CachedRows(path, rows.schema).map(lambda block, _: block.X.sum(axis=1))
    array([1., 5., 9.])
    """

    def __init__(
        self, path: Path, schema: Schema, *, engine: Engine = None, fingerprint: str = ""
    ) -> None:
        self.path = path
        self.schema = schema
        self.engine = engine
        self._fingerprint = fingerprint
        self.starts = tuple(_mapped(str(path), _version(path)).starts)

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""
        return self._fingerprint

    def ticket(self, index: int) -> Ticket:
        """Return the file's path and the number of the block."""
        return _CacheTicket(str(self.path), _version(self.path), index)

    def __repr__(self) -> str:
        return (
            super()
            .__repr__()
            .replace("blocks)", "blocks, mapped)")
            .replace("block)", "block, mapped)")
        )


@dataclass(frozen=True)
class _CacheTicket:
    path: str
    version: tuple[int, int]
    index: int

    def open(self) -> Block:
        return _mapped(self.path, self.version).block(self.index)


class _Mapped:
    """A cache file mapped into memory, once per process."""

    def __init__(self, path: str) -> None:
        try:
            self._file = pa.memory_map(path)
            reader = pa.ipc.open_file(self._file)
            self._batches = [reader.get_batch(i) for i in range(reader.num_record_batches)]
            about = json.loads(reader.schema.metadata[b"scarce"])
        except (pa.ArrowException, OSError, KeyError, TypeError, ValueError) as error:
            raise DataError(
                f"The cache {path} cannot be read ({error}). Delete it; it is made anew."
            ) from error
        self.columns = int(about["columns"])
        self.starts = [0]
        for batch in self._batches:
            self.starts.append(self.starts[-1] + batch.num_rows)

    def block(self, index: int) -> Block:
        batch = self._batches[index]
        X = view(batch.column("X").flatten()).reshape(-1, self.columns)
        y, weight = (
            view(batch.column(name)) if name in batch.schema.names else None
            for name in ("y", "weight")
        )
        return Block(X, y, weight, self.starts[index], index)


@lru_cache(maxsize=4)  # a mapped file keeps its space even when it is deleted
def _mapped(path: str, version: tuple[int, int]) -> _Mapped:
    return _Mapped(path)


def _version(path: Path) -> tuple[int, int]:
    about = path.stat()
    return about.st_mtime_ns, about.st_size


def write_cache(path: Path, blocks: Iterator[Block], schema: Schema) -> None:
    """Write decoded blocks as one cache file, whole or not at all."""
    width = len(schema.columns)
    blocks = iter(blocks)
    first = next(blocks)
    fields = [pa.field("X", pa.list_(pa.float64(), width), nullable=False)]
    for name, values in (("y", first.y), ("weight", first.weight)):
        if values is not None:
            fields.append(pa.field(name, pa.float64(), nullable=False))
    arrow = pa.schema(fields, metadata={"scarce": json.dumps({"columns": width})})
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        whole_file(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, arrow) as writer,
    ):
        for block in chain([first], blocks):
            writer.write_batch(_batch(block, width, arrow))


def _batch(block: Block, width: int, arrow: pa.Schema) -> pa.RecordBatch:
    def plain(values: Array) -> pa.Array:
        return pa.array(np.ascontiguousarray(values))

    columns: list[Any] = [pa.FixedSizeListArray.from_arrays(plain(block.X.reshape(-1)), width)]
    columns += [plain(v) for v in (block.y, block.weight) if v is not None]
    return pa.record_batch(columns, schema=arrow)
