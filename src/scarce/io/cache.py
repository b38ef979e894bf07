"""The decoded cache: data parsed once, then memory-mapped at the speed of memory.

One Arrow IPC file per data set and reading of it. Each record batch is a block, with the features
as one fixed-size list per row, so that the mapped bytes *are* the row-major matrix and a pass
copies nothing. The file's name is a hash of the data's content stamp, of inode and time of change,
and of everything that changes how the data are read; a cache that does not fit is never found.

    blocks, then one empty record batch that carries {columns, fields, rows, crc32 of each block}

A process checks a block's CRC-32 when it first maps it. A damaged cache is made anew, with a
warning, by the process that opened the data; workers elsewhere refuse it.

Written whole or not at all; two processes may make the same cache at once. Lies in the folder
SCARCE_CACHE, else in the user's cache folder, or next to the data with cache="beside". The checksum
finds damage, not malice: whoever may write to the cache folder may change the numbers.
"""

from __future__ import annotations

import hashlib
import json
import zlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from functools import lru_cache
from itertools import chain
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.machine import CACHE_ENDING
from scarce.engine.rows import Rows, Ticket
from scarce.errors import DataError, warn_user
from scarce.io.atomic import whole_file
from scarce.io.schema import Schema
from scarce.io.values import view

FORMAT = 2


def cache_path(folder: Path, stamp: str, schema: Schema) -> Path:
    """Return the one name that data with this stamp, read in this way, are cached under."""
    reading = json.dumps([FORMAT, stamp, schema.to_dict()], sort_keys=True, default=repr)
    return folder / (hashlib.blake2b(reading.encode(), digest_size=16).hexdigest() + CACHE_ENDING)


class CachedRows(Rows):
    """Rows of a decoded cache file: every block is a view into the mapped file.

    Examples
    --------
    >>> import tempfile
    >>> from scarce.engine.memory import ArrayRows
    >>> rows = ArrayRows(np.arange(6.0).reshape(3, 2))
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = Path(folder, "a" + CACHE_ENDING)
    ...     write_cache(path, rows.blocks(), rows.schema)
    ...     CachedRows(path, rows.schema).map(lambda block, _: block.X.sum(axis=1))
    array([1., 5., 9.])
    """

    def __init__(
        self,
        path: Path,
        schema: Schema,
        *,
        engine: Engine = None,
        fingerprint: str = "",
        remake: Callable[[], None] | None = None,
    ) -> None:
        self.path = path
        self.schema = schema
        self.engine = engine
        self._fingerprint = fingerprint
        self._remake = remake
        self.starts = tuple(_mapped(str(path), _version(path)).starts)

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""
        return self._fingerprint

    def ticket(self, index: int) -> Ticket:
        """Return the file's path and the number of the block, which is whole or made anew."""
        ticket = _CacheTicket(str(self.path), _version(self.path), index)
        try:
            _mapped(ticket.path, ticket.version).check(index)
        except DamagedCache:
            if self._remake is None:
                raise
            self._remake()
            warn_made_anew(self.path)
            return replace(ticket, version=_version(self.path))
        return ticket

    def __getstate__(self) -> dict[str, Any]:
        return {**self.__dict__, "_remake": None}

    def __repr__(self) -> str:
        return (
            super()
            .__repr__()
            .replace("blocks)", "blocks, mapped)")
            .replace("block)", "block, mapped)")
        )


class DamagedCache(DataError):
    """A cache file that is not as it was written."""


def warn_made_anew(path: Path) -> None:
    """Warn that a damaged cache was replaced."""
    warn_user(
        "The cache {cache} was damaged and has been made anew from the data.",
        code="cache-remade",
        cache=str(path),
        remedy="If that happens again, check the disk, or set SCARCE_CACHE to a folder on another "
        "one.",
    )


@dataclass(frozen=True)
class _CacheTicket:
    path: str
    version: tuple[int, ...]
    index: int

    def open(self) -> Block:
        return _mapped(self.path, self.version).block(self.index)


class _Mapped:
    """A cache file mapped into memory, once per process."""

    def __init__(self, path: str) -> None:
        self._path = path
        try:
            self._file = pa.memory_map(path)
            reader = pa.ipc.open_file(self._file)
            count = reader.num_record_batches - 1
            about = _contents(reader.get_batch_with_custom_metadata(count).custom_metadata)
            self.columns = about["columns"]
            if reader.schema != _arrow_schema(self.columns, about["fields"]):
                raise ValueError("its columns differ")
            self._batches = [reader.get_batch(i) for i in range(count)]
            if [batch.num_rows for batch in self._batches] != about["rows"]:
                raise ValueError("its numbers of rows differ")
        except (pa.ArrowException, OSError, LookupError, TypeError, ValueError) as error:
            raise _damaged(path, str(error)) from error
        self._checksums = about["crc32"]
        self._checked = [False] * count
        self.starts = [0]
        for batch in self._batches:
            self.starts.append(self.starts[-1] + batch.num_rows)

    def check(self, index: int) -> None:
        """Refuse a block whose bytes differ from their checksum; looks at each block once."""
        if self._checked[index]:
            return
        try:
            self._batches[index].validate()
            found = _checksum(self._view(index), index)
        except (pa.ArrowException, ValueError) as error:
            raise _damaged(self._path, str(error)) from error
        if found != self._checksums[index]:
            where = f"the checksum of block {index + 1} of {len(self._batches)} differs"
            raise _damaged(self._path, where)
        self._checked[index] = True

    def block(self, index: int) -> Block:
        self.check(index)
        return self._view(index)

    def _view(self, index: int) -> Block:
        batch = self._batches[index]
        X = view(batch.column("X").flatten()).reshape(batch.num_rows, self.columns)
        y, weight = (
            view(batch.column(name)) if name in batch.schema.names else None
            for name in ("y", "weight")
        )
        return Block(X, y, weight, self.starts[index], index)


def _damaged(path: str, why: str) -> DamagedCache:
    return DamagedCache(
        "The cache {cache} is damaged ({why}).",
        code="damaged-cache",
        cache=path,
        why=why,
        remedy="Delete it; it is made anew.",
    )


@lru_cache(maxsize=4)  # a mapped file keeps its space even when it is deleted
def _mapped(path: str, version: tuple[int, ...]) -> _Mapped:
    return _Mapped(path)


def _version(path: Path) -> tuple[int, ...]:
    about = path.stat()
    return about.st_mtime_ns, about.st_ctime_ns, about.st_size, about.st_ino


def write_cache(path: Path, blocks: Iterator[Block], schema: Schema) -> None:
    """Write decoded blocks as one cache file, whole or not at all."""
    width = len(schema.columns)
    blocks = iter(blocks)
    first = next(blocks)
    given = {"X": True, "y": first.y is not None, "weight": first.weight is not None}
    about: dict[str, Any] = {
        "columns": width,
        "fields": [name for name, there in given.items() if there],
        "rows": [],
        "crc32": [],
    }
    arrow = _arrow_schema(width, about["fields"])
    path.parent.mkdir(parents=True, exist_ok=True)
    with (
        whole_file(path) as temporary,
        pa.OSFile(str(temporary), "wb") as sink,
        pa.ipc.new_file(sink, arrow) as writer,
    ):
        for block in chain([first], blocks):
            writer.write_batch(_batch(block, width, arrow))
            about["crc32"].append(_checksum(block, len(about["rows"])))
            about["rows"].append(len(block))
        text = json.dumps(about).encode()
        note = {b"scarce": text, b"crc32": str(zlib.crc32(text)).encode()}
        nothing = pa.record_batch([pa.array([], kind) for kind in arrow.types], schema=arrow)
        writer.write_batch(nothing, note)


def _arrow_schema(width: int, names: list[str]) -> pa.Schema:
    features = pa.list_(pa.float64(), width)
    return pa.schema(
        [pa.field(n, features if n == "X" else pa.float64(), nullable=False) for n in names]
    )


def _contents(note: Any) -> dict[str, Any]:
    """Return what the last record batch says of the others, if it is as it was written."""
    if note is None or int(note[b"crc32"]) != zlib.crc32(note[b"scarce"]):
        raise ValueError("its table of contents differs")
    about: dict[str, Any] = json.loads(note[b"scarce"])
    return about


def _checksum(block: Block, place: int) -> int:
    """Return the CRC-32 of a block's numbers and of its place in the file."""
    total = zlib.crc32(f"{place} {block.X.shape}".encode())
    for values in (block.X, block.y, block.weight):
        if values is not None:
            total = zlib.crc32(np.ascontiguousarray(values).data.cast("B"), total)
    return total


def _batch(block: Block, width: int, arrow: pa.Schema) -> pa.RecordBatch:
    def plain(values: Array) -> pa.Array:
        return pa.array(np.ascontiguousarray(values))

    columns: list[Any] = [pa.FixedSizeListArray.from_arrays(plain(block.X.reshape(-1)), width)]
    columns += [plain(v) for v in (block.y, block.weight) if v is not None]
    return pa.record_batch(columns, schema=arrow)
