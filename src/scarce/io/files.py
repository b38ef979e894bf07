"""Rows in files: Parquet by row group, Arrow IPC by record batch; text is the matter of text.py.

The schema is read first and only the columns that are needed are ever decoded. Parquet and Arrow
can be entered anywhere, so their blocks are opened by the workers themselves.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from scarce.engine.block import Block, block_rows
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows, Ticket
from scarce.errors import DataError, suggest
from scarce.io.complaints import no_such_file, said_well, with_names
from scarce.io.schema import Schema
from scarce.io.text import PACKED_ENDINGS, TextForm, TextSource

TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")


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
                    f"{path} has other columns than {paths[0]}: files that are opened together "
                    "need the same columns. Open them one by one."
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
        self.starts = tuple(_running(part.rows for part in self._parts))
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
        return Block(*self.schema.code(table, self.start), self.start, self.index)


def file_source(source: Any, form: TextForm) -> PartedSource | TextSource:
    """Open a path, a folder of Parquet or Arrow files, or a list of paths, by what is inside."""
    paths = _paths(source)
    kinds = {_kind_of(path) for path in paths}
    if kinds == {"text"} and len(paths) == 1:
        return TextSource(paths[0], form)
    if len(kinds) == 1 and "text" not in kinds:
        return PartedSource(paths, kinds.pop())
    raise DataError(
        f"{len(paths)} files ({', '.join(sorted(kinds))}) cannot be opened together: give Parquet "
        "files, or Arrow files, or one text file."
    )


def read_part(part: Part, kind: str, columns: Sequence[str]) -> pa.Table:
    """Decode one part of a Parquet or Arrow file."""
    with said_well(part.path):
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


def stamp(paths: Sequence[Path]) -> str:
    """Name the content of files: size, time of change, and a hash of 1 MB spread over each.

    Examples
    --------
    >>> import tempfile, pathlib
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     path = pathlib.Path(folder, "a.csv")
    ...     _ = path.write_text("a,b")
    ...     before = stamp([path])
    ...     _ = path.write_text("a,c")
    ...     before == stamp([path])
    False
    """
    digest = hashlib.blake2b(digest_size=16)
    for path in paths:
        about = path.stat()
        digest.update(f"{path.name}|{about.st_size}|{about.st_mtime_ns}|".encode())
        with path.open("rb") as file:
            for spot in range(16):
                file.seek(spot * max(0, about.st_size - 65536) // 15)
                digest.update(file.read(65536))
    return digest.hexdigest()


def last_change(paths: Sequence[Path]) -> str:
    """Name the state of files as the file system knows it: inode and time of the last change.

    Unlike the time of modification, this time cannot be put back: an edit that keeps a file's size
    and time of modification shows here. A hard link, `chmod` or a move shows too, which costs no
    more than decoding again. (On Windows it is the time of creation: such an edit shows there only
    if it touches the content that `stamp` samples.)
    """
    return " ".join(f"{s.st_ino}:{s.st_ctime_ns}" for s in (path.stat() for path in paths))


# --- details --------------------------------------------------------------------------------------


def _paths(source: Any) -> list[Path]:
    given = [Path(one) for one in source] if isinstance(source, (list, tuple)) else [Path(source)]
    paths: list[Path] = []
    for path in given:
        if path.is_dir():
            found = sorted(
                p for p in path.iterdir() if p.suffix in (".parquet", ".arrow", ".feather")
            )
            if not found:
                raise DataError(
                    f"Folder {path} holds no .parquet, .arrow or .feather file. Give a file, or a "
                    "folder of such files."
                )
            paths += found
        elif not path.exists():
            near = [p.name for p in path.parent.iterdir()] if path.parent.is_dir() else []
            raise no_such_file(path, suggest(path.name, near))
        else:
            paths.append(path)
    return paths


def _kind_of(path: Path) -> str:
    with path.open("rb") as file:
        head = file.read(4096)
    if not head:
        raise DataError(f"{path} is empty (0 bytes). Check how it was written.")
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "arrow"
    ending = path.with_suffix("").suffix if path.suffix in PACKED_ENDINGS else path.suffix
    if ending.lower() in TEXT_ENDINGS:
        return "text"
    if path.suffix in (".parquet", ".arrow", ".feather"):
        raise DataError(
            f"{path} is not a {path.suffix[1:]} file: it begins with {head[:4]!r}. It may be "
            "damaged or wrongly named."
        )
    raise DataError(
        f"{path}: the ending {path.suffix!r} is not known. Give CSV, TSV (also .gz, .zst), Parquet "
        "or Arrow IPC (.arrow, .feather)."
    )


def _parted_schema(path: str, kind: str) -> pa.Schema:
    with said_well(path):
        if kind == "parquet":
            return with_names(pq.read_schema(path, memory_map=True), path)
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
            return with_names(reader.schema, path)


def _group_rows(path: str, kind: str) -> list[int]:
    with said_well(path):
        if kind == "parquet":
            about = pq.read_metadata(path, memory_map=True)
            return [about.row_group(group).num_rows for group in range(about.num_row_groups)]
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
            return [reader.get_batch(batch).num_rows for batch in range(reader.num_record_batches)]


def _running(counts: Any) -> Iterator[int]:
    total = 0
    yield total
    for count in counts:
        total += count
        yield total
