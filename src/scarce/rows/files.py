"""Rows in files: Parquet by row group, Arrow IPC by record batch, text decoded once.

The schema is read first and only the columns that are needed are ever decoded. Parquet and Arrow
can be entered anywhere, so their blocks are opened by the workers themselves. Text can only be read
from its beginning and parsing it costs more than every fit: it is parsed once, into memory or into
the cache (see cache.py), never once per pass.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from scarce.errors import DataError, suggest
from scarce.rows.block import Block, block_rows
from scarce.rows.engines import Engine
from scarce.rows.rows import Rows, Ticket
from scarce.rows.schema import Schema

TEXT_ENDINGS = (".csv", ".tsv", ".tab", ".txt")
PACKED_ENDINGS = (".gz", ".zst", ".bz2", ".lz4")
WHOLE_TEXT_BYTES = 256 * 2**20  # text up to this size is parsed in one go, over all cores
NOTHING = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")


class Source(Protocol):
    """A table somewhere else: its schema at once, its rows on demand."""

    where: str
    arrow_schema: pa.Schema

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Walk the table from its beginning, only these columns."""
        ...  # pragma: no cover


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


class TextSource:
    """A CSV or TSV file, plain or compressed."""

    def __init__(
        self, path: Path, *, delimiter: str | None, encoding: str, missing: Sequence[Any]
    ) -> None:
        self.where = str(path)
        self.path = path
        bare = Path(path.stem) if path.suffix in PACKED_ENDINGS else path
        self._parse = pacsv.ParseOptions(
            delimiter=delimiter or ("\t" if bare.suffix in (".tsv", ".tab") else ","),
            newlines_in_values=True,
        )
        self._encoding = encoding
        self._nothing = [*NOTHING, *(str(value) for value in missing if isinstance(value, str))]
        self.packed = path.suffix in PACKED_ENDINGS
        with _said_well(self.where, encoding), self._stream(None, {}) as reader:
            self.arrow_schema = reader.schema
        names = self.arrow_schema.names
        other = next((mark for mark in ";\t|" if mark in names[0]), None)
        if len(names) == 1 and other and delimiter is None:
            raise DataError(
                f"{self.where} has one column, named {names[0]!r}: its values look separated by "
                f"{other!r}. Pass delimiter={other!r}."
            )

    @property
    def small(self) -> bool:
        """Whether the file is parsed in one go."""
        return self.path.stat().st_size <= WHOLE_TEXT_BYTES // (8 if self.packed else 1)

    def read(self) -> pa.Table:
        """Parse the whole file over all cores; types are inferred from every row."""
        with _said_well(self.where, self._encoding):
            return pacsv.read_csv(
                self.path,
                read_options=pacsv.ReadOptions(encoding=self._encoding),
                parse_options=self._parse,
                convert_options=self._convert(None, {}),
            )

    def tables(self, columns: Sequence[str]) -> Iterator[pa.Table]:
        """Walk the file from its beginning; numbers are read as float64 throughout."""
        numbers = {
            field.name: pa.float64()
            for field in self.arrow_schema
            if pa.types.is_integer(field.type) or pa.types.is_null(field.type)
        }
        with _said_well(self.where, self._encoding), self._stream(columns, numbers) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def _stream(self, columns: Sequence[str] | None, types: dict[str, pa.DataType]) -> Any:
        return pacsv.open_csv(
            self.path,
            read_options=pacsv.ReadOptions(encoding=self._encoding, block_size=8 * 2**20),
            parse_options=self._parse,
            convert_options=self._convert(columns, types),
        )

    def _convert(
        self, columns: Sequence[str] | None, types: dict[str, pa.DataType]
    ) -> pacsv.ConvertOptions:
        return pacsv.ConvertOptions(
            null_values=self._nothing,
            strings_can_be_null=True,
            include_columns=columns,
            column_types=types,
        )


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


def file_source(
    source: Any, *, delimiter: str | None, encoding: str, missing: Sequence[Any]
) -> PartedSource | TextSource:
    """Open a path, a folder of Parquet or Arrow files, or a list of paths, by what is inside."""
    paths = _paths(source)
    kinds = {_kind_of(path) for path in paths}
    if kinds == {"text"} and len(paths) == 1:
        return TextSource(paths[0], delimiter=delimiter, encoding=encoding, missing=missing)
    if len(kinds) == 1 and "text" not in kinds:
        return PartedSource(paths, kinds.pop())
    raise DataError(
        f"{len(paths)} files ({', '.join(sorted(kinds))}) cannot be opened together: give Parquet "
        "files, or Arrow files, or one text file."
    )


def read_part(part: Part, kind: str, columns: Sequence[str]) -> pa.Table:
    """Decode one part of a Parquet or Arrow file."""
    with _said_well(part.path):
        if kind == "parquet":
            # Checksums are verified where the file has them; damage can pass where it has none.
            with pq.ParquetFile(
                part.path, memory_map=True, page_checksum_verification=True
            ) as file:
                table = file.read_row_groups(list(part.groups), columns=list(columns))
        else:
            with pa.memory_map(part.path) as mapped, pa.ipc.open_file(mapped) as reader:
                batches = [reader.get_batch(group) for group in part.groups]
                table = pa.Table.from_batches(batches)
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
            raise DataError(f"There is no file {path}.{suggest(path.name, near)} Check the path.")
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
    with _said_well(path):
        if kind == "parquet":
            return pq.read_schema(path, memory_map=True)
        with pa.memory_map(path) as mapped, pa.ipc.open_file(mapped) as reader:
            return reader.schema


def _group_rows(path: str, kind: str) -> list[int]:
    with _said_well(path):
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


class _said_well:
    """Turn what Arrow says of a bad file into what its owner can act on."""

    def __init__(self, where: str, encoding: str = "") -> None:
        self.where = where
        self.encoding = encoding

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: Any, error: BaseException | None, trace: Any) -> None:
        if isinstance(error, (pa.ArrowException, OSError, UnicodeDecodeError)):
            raise DataError(self._words(str(error))) from error

    def _words(self, text: str) -> str:
        first = text.splitlines()[0] if text else "no reason given"
        if len(first) > 200:
            first = first[:200] + " ..."
        low = text.lower()
        if "expected" in low and "columns, got" in low:
            return (
                f"{self.where} is ragged: {first}. Every line needs as many values as the header; "
                "check for a missing or an unquoted delimiter."
            )
        if "straddling" in low:
            return (
                f"{self.where} has a line of over 8 MB, which is not a row of a table. Check the "
                "line ends and the delimiter, or an unclosed quote."
            )
        if "utf8" in low or "utf-8" in low or "codec" in low or "decode" in low:
            return (
                f"{self.where} is not {self.encoding or 'UTF-8'} text ({first}). Pass its "
                "encoding, such as encoding='latin-1'."
            )
        if "empty csv" in low:
            return f"{self.where} holds no table: {first}. Check how it was written."
        if "conversion error" in low:
            return (
                f"{self.where}: {first}. If the value means missing, pass missing=[...]; if the "
                "column is a category, pass categories=[...]."
            )
        return (
            f"{self.where} cannot be read ({first}). It may be cut short or damaged: copy or write "
            "it again."
        )
