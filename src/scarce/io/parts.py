"""Files that can be entered anywhere: Parquet by row group, Arrow IPC by record batch.

The schema is read first and only the columns that are needed are ever decoded. Blocks are opened by
the workers themselves. Text can only be read from its beginning: see source.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import accumulate
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq

from scarce.engine.block import Block, block_rows
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows, Ticket
from scarce.errors import DataError
from scarce.io.locate import Locator, located
from scarce.io.schema import Schema
from scarce.io.source import TableSource, existing_file, stamp, table_source, with_names
from scarce.io.text import TextForm, explained


@dataclass(frozen=True)
class Part:
    """Consecutive row groups or record batches of one file, and how many rows they hold."""

    path: str
    groups: tuple[int, ...]
    rows: int


class PartedSource:
    """A Parquet or Arrow IPC file, or several with one schema: entered at any part.

    Parts are single row groups, or as many neighbours as stay within one block's size; they depend
    on the file alone.
    """

    def __init__(self, paths: Sequence[Path], kind: str) -> None:
        self.kind = kind
        self.paths = paths
        self.where = (
            str(paths[0]) if len(paths) == 1 else f"{len(paths)} files in {paths[0].parent}"
        )
        self.arrow_schema = _parted_schema(str(paths[0]), kind)
        for path in paths[1:]:
            if _parted_schema(str(path), kind).names != self.arrow_schema.names:
                raise DataError(
                    "{file} has other columns than {first}: files that are opened together need "
                    "the same columns.",
                    code="column-mismatch",
                    file=str(path),
                    first=str(paths[0]),
                    remedy="Open them one by one.",
                )

    @property
    def n_rows(self) -> int:
        """Rows of all files, as they say themselves."""
        return sum(sum(_group_rows(str(path), self.kind)) for path in self.paths)

    def parts(self, n_columns: int) -> list[Part]:
        """Return the parts, merging small neighbours for this number of columns."""
        most = block_rows(n_columns)
        parts: list[Part] = []
        for path in map(str, self.paths):
            groups: list[int] = []
            held = 0
            for group, rows in enumerate(_group_rows(path, self.kind)):
                if groups and held + rows > most:
                    parts.append(Part(path, tuple(groups), held))
                    groups, held = [], 0
                groups.append(group)
                held += rows
            if held:
                parts.append(Part(path, tuple(groups), held))
        return parts

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Walk the parts in order."""
        for part in self.parts(len(columns)):
            yield read_part(part, self.kind, columns)


class PartedRows(Rows):
    """Rows of Parquet or Arrow files that are decoded anew on every pass, by whoever needs them.

    For data passed over more than once the decoded cache is several times faster: see
    `open_rows(..., cache=True)`.
    """

    def __init__(self, source: PartedSource, schema: Schema, *, engine: Engine = None) -> None:
        self.schema = schema
        self.engine = engine
        self._kind = source.kind
        self._parts = source.parts(len(schema.columns))
        self.starts = tuple(accumulate((part.rows for part in self._parts), initial=0))
        self._fingerprint = stamp(source.paths)

    @property
    def fingerprint(self) -> str:
        """Names the data in reports and model files."""
        return self._fingerprint

    def ticket(self, index: int) -> Ticket:
        """Return where block `index` lies and what its columns mean."""
        return _PartTicket(self._parts[index], self._kind, self.schema, self.starts[index], index)


@dataclass(frozen=True)
class _PartTicket:
    part: Part
    kind: str
    schema: Schema
    start: int
    index: int

    def open(self) -> Block:
        table = read_part(self.part, self.kind, self.schema.needed)
        with located(Locator(self.part.path)):
            return Block(*self.schema.code(table, self.start), self.start, self.index)


def open_files(
    source: str | os.PathLike[str] | Sequence[str | os.PathLike[str]], form: TextForm
) -> PartedSource | TableSource:
    """Open a path, a folder of Parquet or Arrow files, or a list of paths, by what is inside."""
    given = [Path(one) for one in source] if isinstance(source, (list, tuple)) else [source]
    paths: list[Path] = []
    for one in given:
        folder = Path(one)  # type: ignore[arg-type]
        if not folder.is_dir():
            paths.append(existing_file(one))  # type: ignore[arg-type]
            continue
        held = (p for p in folder.iterdir() if p.suffix in (".parquet", ".arrow", ".feather"))
        found = sorted(held)
        if not found:
            raise DataError(
                "Folder {file} holds no .parquet, .arrow or .feather file.",
                code="no-file",
                file=str(folder),
                remedy="Give a file, or a folder of such files.",
            )
        paths += found
    if len(paths) == 1:
        table = table_source(paths[0], form)
        parted = table.kind in ("parquet", "arrow") and table.path is not None
        return PartedSource(paths, table.kind) if parted else table
    kinds = {TableSource(path, None, form).kind for path in paths}
    if len(kinds) == 1 and kinds <= {"parquet", "arrow"}:
        return PartedSource(paths, kinds.pop())
    raise DataError(
        "{count} files ({kinds}) cannot be opened together.",
        code="mixed-files",
        count=len(paths),
        kinds=", ".join(sorted(kinds)),
        remedy="Give Parquet files, or Arrow files, or one text file.",
    )


def read_part(part: Part, kind: str, columns: Sequence[str]) -> pa.Table:
    """Decode one part of a Parquet or Arrow file."""
    with explained(part.path):
        if kind == "parquet":
            # Checksums are verified where the file has them; damage can pass where it has none.
            with pq.ParquetFile(
                part.path, memory_map=True, page_checksum_verification=True
            ) as file:
                table = file.read_row_groups(list(part.groups), columns=list(columns))
        else:
            with pa.memory_map(part.path) as mapped, pa.ipc.open_file(mapped) as reader:
                batches = [reader.get_batch(group) for group in part.groups]
                table = pa.Table.from_batches(batches).select(list(columns))
            table.validate(full=True)  # Arrow trusts its own files: damage would end the process
        return table.select(list(columns))


def _parted_schema(path: str, kind: str) -> pa.Schema:
    with explained(path):
        if kind == "parquet":
            return with_names(pq.read_schema(path, memory_map=True), path)
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
            return with_names(reader.schema, path)


def _group_rows(path: str, kind: str) -> list[int]:
    with explained(path):
        if kind == "parquet":
            about = pq.read_metadata(path, memory_map=True)
            return [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
            return [reader.get_batch(batch).num_rows for batch in range(reader.num_record_batches)]
