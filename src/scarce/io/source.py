"""How is a table of any length walked from its beginning, with its owner's own spelling?

    file or pipe -> parts of some ten thousand rows, as Arrow tables, in order

Columns that a verb computes with are read as numbers; the others can be kept as they are written
("007" stays "007"). Memory does not grow with the table. A pipe can be walked once, a file at will.
Does not code categories or labels: see io/schema.py.
"""

from __future__ import annotations

import hashlib
import io
import os
import select
import signal
import sys
import threading
import warnings
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scarce.engine.block import block_rows
from scarce.errors import DataError, DataWarning, UsageError, suggest
from scarce.io.text import HEAD_BYTES as TEXT_HEAD_BYTES
from scarce.io.text import (
    TextForm,
    convert_options,
    look_at_head,
    no_such_file,
    padded_columns,
    parse_options,
    ragged_line,
    read_options,
    said_well,
    whole_lines,
    with_names,
)
from scarce.io.values import (
    UNUSUAL,
    blank_as_missing,
    number_column,
    usual_types,
    without_values,
)

Progress = Callable[[int, int], None]

HEAD_BYTES = 2**20  # read to know columns and types
BLOCK_BYTES = 2**20  # of text parsed at a time; Arrow holds up to 32 of them
PART_ROWS = 131_072
WHOLE_TEXT_BYTES = 256 * 2**20  # text up to this size is parsed in one go, over all cores


def open_table(source: Any, form: TextForm | None = None) -> TableSource:
    """Open a table to be walked.

    Parameters
    ----------
    source : path, "-" or binary file
        CSV, TSV (also packed: .gz, .zst), Parquet, Arrow IPC; "-" is standard input, where an Arrow
        stream is understood too.
    form : TextForm, optional
        How text is written: delimiter, encoding, decimal point, header, words that mean missing.

    Raises
    ------
    DataError
        There is no such file, or it is not what it says.

    Examples
    --------
    >>> table = open_table(io.BytesIO(b"id,score\\n007,1.5\\n008,NA\\n"))
    >>> table.names
    ('id', 'score')
    >>> part = table.read(numbers=["score"], exact=True)
    >>> part.to_pydict()
    {'id': ['007', '008'], 'score': [1.5, None]}
    """
    form = TextForm() if form is None else form
    if isinstance(source, (str, os.PathLike)) and os.fspath(source) != "-":
        if "://" in os.fspath(source):
            raise DataError(
                f"{os.fspath(source)} is an address, and nothing is fetched from a network: "
                "download it first, and give the file."
            )
        path = Path(source)
        if not os.fspath(source):
            raise DataError("The name of the table is empty. Give a file, or - for standard input.")
        if path.is_dir():
            raise DataError(f"{path} is a folder: give one file with a table.")
        if not path.exists():
            raise no_such_file(path, nearest_file(path))
        if not path.is_file():  # a pipe with a name, such as <(command) in a shell
            stream = path.open("rb")
            table = TableSource(None, stream, form)
            weakref.finalize(table, stream.close)
            return table
        return TableSource(path, None, form)
    if isinstance(source, (str, os.PathLike)):
        source = standard_input()
    return TableSource(None, source, form)


class TableSource:
    """A table in a file or a pipe: its columns, and a walk over its rows.

    Attributes
    ----------
    where : str
        Its name in messages.
    names : tuple of str
        The columns.
    types : dict of str -> pyarrow.DataType
        For text, as its first megabyte looks.
    kind : {"csv", "tsv", "parquet", "arrow", "arrow stream"}
    once : bool
        Whether it can be walked only once.
    missing : tuple
        Values that were said to mean missing, beside the usual ones.
    """

    def __init__(self, path: Path | None, stream: Any, form: TextForm) -> None:
        self.path = path
        self.where = "standard input" if path is None else str(path)
        self._form = form
        self._walked = False
        self._whole: bytes | None = None
        self._stream: Any = io.BytesIO()  # replaced where it is a pipe
        self.size: int | None = None
        if path is None:
            head = self._take(stream)
        else:
            with said_well(self.where):
                self.size = path.stat().st_size
                with path.open("rb") as file:
                    head = file.read(HEAD_BYTES)
        self._packing = packing_of(head)
        if self._packing is not None:
            head = self._unpacked_head(head)
        if not head:
            raise DataError(f"{self.where} is empty (0 bytes). Check how it was written.")
        self.kind = kind_of(head, path)
        if path is None and self.kind in ("parquet", "arrow"):  # these must be entered anywhere
            with said_well(self.where):
                self._whole = bytes(self._stream.read())
        self.once = path is None and self._whole is None
        if self.is_text:
            schema = self._text_schema(head)
        else:
            schema = with_names(self._arrow_schema(head), self.where)
        self.names: tuple[str, ...] = tuple(schema.names)
        repeated = sorted({name for name in self.names if self.names.count(name) > 1})
        if repeated:
            raise DataError(
                f"{self.where} has {self.names.count(repeated[0])} columns named {repeated[0]!r}: "
                "which one is meant is not clear. Rename all but one."
            )
        self.types: dict[str, pa.DataType] = {
            name: UNUSUAL.get(kind, kind)
            for name, kind in zip(schema.names, schema.types, strict=True)
        }

    @property
    def missing(self) -> tuple[Any, ...]:
        """Values that were said to mean missing."""
        return self._form.missing

    @property
    def packed(self) -> bool:
        """Whether it is compressed text."""
        return self._packing is not None

    @property
    def is_text(self) -> bool:
        """Whether it is CSV or TSV."""
        return self.kind in TEXT

    def column(self, name: str, option: str = "") -> str:
        """Return the name of a column that must be there, or say which one was probably meant."""
        if name in self.types:
            return name
        shown = ", ".join(self.names[:12]) + (", ..." if len(self.names) > 12 else "")
        settle = f" Name it with {option}." if option else ""
        raise DataError(
            f"{self.where} has no column {name!r}.{suggest(name, self.names)} Its columns are: "
            f"{shown}.{settle}"
        )

    def tables(
        self,
        columns: Sequence[str] | None = None,
        *,
        numbers: Sequence[str] = (),
        exact: bool = False,
        progress: Progress | None = None,
    ) -> Iterator[pa.Table]:
        """Walk the rows from the beginning.

        Parameters
        ----------
        columns : sequence of str, optional
            Those to read, in this order; all by default.
        numbers : sequence of str
            Columns to read as float64, null where the value is missing.
        exact : bool
            Whether the other columns of a text file come as text, as they are written.
        progress : callable (done, total), optional
            Told how far the walk is, in bytes or rows.

        Yields
        ------
        pyarrow.Table
            At least one, which may be empty.
        """
        if self.once and self._walked:
            raise UsageError(
                f"{self.where} can be read only once, and this needs it twice: write it to a file "
                "first, and give the file."
            )
        self._walked = True
        wanted = list(self.names if columns is None else columns)
        for name in wanted:
            self.column(name)
        some = False
        kept = set(wanted) - set(numbers) if exact else set()
        with said_well(self.where, self._form.encoding, ragged=self._ragged_line, names=self.names):
            try:
                for part in self._parts(wanted, set(numbers), kept, progress):
                    some = True
                    yield part
            except pa.ArrowInvalid:
                self.refuse_open_quote()
                raise
            if not some:
                yield self._nothing(wanted, set(numbers), kept)

    def without_blanks(self, part: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return a part of this table in which text that spells nothing is missing."""
        return blank_as_missing(part, names, self._form)

    def numbers(self, part: pa.Table, name: str, start: int = 0) -> NDArray[np.float64]:
        """Return a column of a part of this table as float64, also one that was kept as text."""
        try:
            return number_column(part, name, where=self.where, start=start, form=self._form)
        except DataError:
            self.refuse_open_quote()  # the cause of many an error far from it
            raise

    def read(
        self,
        columns: Sequence[str] | None = None,
        *,
        numbers: Sequence[str] = (),
        exact: bool = False,
        progress: Progress | None = None,
    ) -> pa.Table:
        """Read all rows into memory; arguments as for `tables`."""
        parts = self.tables(columns, numbers=numbers, exact=exact, progress=progress)
        return pa.concat_tables(list(parts), promote_options="permissive")

    # --- walks -----------------------------------------------------------------------------------

    def _parts(
        self, wanted: list[str], numbers: set[str], exact: set[str], progress: Progress | None
    ) -> Iterator[pa.Table]:
        if self.is_text:
            yield from self._text_parts(wanted, numbers, exact, progress)
            return
        start = 0
        for batch in self._batches(wanted, progress):
            batch.validate(full=True)  # Arrow trusts its own files: damage would end the process
            table = usual_types(pa.Table.from_batches([batch]))
            for name in set(wanted) - exact if self._form.missing else ():
                held = without_values(table.column(name), self._form.missing)
                table = table.set_column(table.column_names.index(name), name, held)
            for name in numbers & set(wanted):
                place = table.column_names.index(name)
                values = number_column(table, name, where=self.where, start=start)
                table = table.set_column(place, name, pa.array(values, from_pandas=True))
            start += table.num_rows
            yield table

    def _batches(self, wanted: list[str], progress: Progress | None) -> Iterator[pa.RecordBatch]:
        if self.kind == "parquet":
            held = self.path if self._whole is None else io.BytesIO(self._whole)
            with pq.ParquetFile(held, page_checksum_verification=True) as file:
                total = max(1, file.metadata.num_rows)
                done = 0
                for batch in file.iter_batches(PART_ROWS, columns=wanted):
                    done += batch.num_rows
                    yield batch.select(wanted)
                    if progress is not None:
                        progress(done, total)
            return
        if self.kind == "arrow":
            with self._opened() as held, pa.ipc.open_file(held) as reader:
                total = max(1, reader.num_record_batches)
                for index in range(reader.num_record_batches):
                    yield reader.get_batch(index).select(wanted)
                    if progress is not None:
                        progress(index + 1, total)
            return
        held = self._stream if self.path is None else pa.OSFile(str(self.path))
        with pa.ipc.open_stream(held) as reader:
            for batch in reader:
                yield batch.select(wanted)

    def _text_parts(
        self, wanted: list[str], numbers: set[str], exact: set[str], progress: Progress | None
    ) -> Iterator[pa.Table]:
        last = pa.table({})
        with self._text() as (raw, held):
            quotes = Quotes(held)
            with self._reader(pa.PythonFile(quotes, mode="r"), wanted, numbers, exact) as reader:
                truths = [name for name in numbers if pa.types.is_boolean(self.types[name])]
                for index, batch in enumerate(reader):
                    last = pa.Table.from_batches([batch])
                    for name in truths:
                        read = last.column(name).cast(pa.int8()).cast(pa.float64())
                        last = last.set_column(last.column_names.index(name), name, read)
                    yield last
                    if progress is not None and self.size:
                        # Arrow reads ahead: the blocks parsed say how far the walk is
                        done = raw.tell() if self._packing else (index + 1) * BLOCK_BYTES
                        progress(min(done, self.size), self.size)
        if quotes.seen % 2:
            self._refuse_if_open(last)

    def refuse_open_quote(self) -> None:
        """Refuse text in which a quote was left open: it swallows all rows that follow."""
        if not self.is_text or self.once:
            return
        with self._text() as (_, held):
            quotes = Quotes(held)
            while quotes.read(BLOCK_BYTES):
                pass
        if quotes.seen % 2:
            self._refuse_if_open(pa.table({}))

    def _refuse_if_open(self, last: pa.Table) -> None:
        """Look at the last row of text with an odd number of quotes.

        That alone may be innocent (5" is a size); a value that runs over lines as well is not.
        Columns that were not asked for are looked at once more.
        """
        if not self.once and set(last.column_names) != set(self.names):
            names = list(self.names)
            with self._text() as (_, held), self._reader(held, names, set(), set(names)) as reader:
                for batch in reader:
                    last = pa.Table.from_batches([batch])
        for name in last.column_names if last.num_rows else ():
            value = last.column(name)[-1].as_py()
            if isinstance(value, str) and "\n" in value:
                raise DataError(
                    f"{self.where} has an odd number of quotes: in column {name!r} a value that "
                    f"begins with {value[:20]!r} runs over the last {value.count(chr(10)) + 1:,} "
                    "lines. Close the quote there."
                )

    def _ragged_line(self) -> str | None:
        """Find the line with too many or too few values, where the text can be read again."""
        if self.path is None:
            return None
        with self._text() as (_, held):
            return ragged_line(
                held, parse_options(self._form, self.kind).delimiter, self._form.encoding
            )

    @contextmanager
    def _text(self) -> Iterator[tuple[Any, Any]]:
        """Give the bytes as they are, and unpacked."""
        with self._opened() as raw:
            packed = self._packing is not None and self.path is not None
            yield raw, pa.CompressedInputStream(raw, self._packing) if packed else raw

    def _reader(self, held: Any, wanted: list[str], numbers: set[str], exact: set[str]) -> Any:
        return pacsv.open_csv(
            held,
            read_options=read_options(self._form, block_size=BLOCK_BYTES),
            parse_options=parse_options(self._form, self.kind),
            convert_options=convert_options(self._form, self.types, wanted, numbers, exact),
        )

    def _opened(self) -> Any:
        if self._whole is not None:
            return pa.BufferReader(self._whole)
        if self.path is not None:
            return pa.OSFile(str(self.path)) if self.is_text else pa.memory_map(str(self.path))
        return pa.PythonFile(self._stream, mode="r")

    def _nothing(self, wanted: list[str], numbers: set[str], exact: set[str]) -> pa.Table:
        """A table without rows, of the types that rows would have had."""
        fields = []
        for name in wanted:
            kind = self.types[name]
            if name in numbers:
                kind = pa.float64()
            elif self.is_text and (name in exact or pa.types.is_null(kind)):
                kind = pa.string()
            fields.append(pa.field(name, kind))
        return pa.schema(fields).empty_table()

    # --- the beginning ---------------------------------------------------------------------------

    def _take(self, stream: BinaryIO) -> bytes:
        """Read the first bytes of a pipe and keep them for the walk."""
        head = read_up_to(stream, HEAD_BYTES)
        self._stream = Rejoined(head, stream)
        packing = packing_of(head)
        if packing is not None:
            packed = pa.CompressedInputStream(pa.PythonFile(self._stream, mode="r"), packing)
            with said_well(self.where):
                head = packed.read(HEAD_BYTES)
            self._stream = Rejoined(head, packed)
        return head

    def _unpacked_head(self, head: bytes) -> bytes:
        with (
            said_well(self.where),
            pa.OSFile(str(self.path)) as raw,
            pa.CompressedInputStream(raw, self._packing) as packed,
        ):
            return bytes(packed.read(HEAD_BYTES))

    def _arrow_schema(self, head: bytes) -> pa.Schema:
        with said_well(self.where):
            if self.kind == "parquet":
                held = self.path if self._whole is None else io.BytesIO(self._whole)
                return pq.read_schema(held)
            if self.kind == "arrow":
                with self._opened() as opened, pa.ipc.open_file(opened) as reader:
                    return reader.schema
            return pa.ipc.open_stream(head).schema

    def _text_schema(self, head: bytes) -> pa.Schema:
        whole = len(head) < HEAD_BYTES
        look_at_head(
            self.where,
            head,
            whole=whole and head.strip().count(b"\n") > 0,  # a header alone is an empty table
            encoding=self._form.encoding,
            delimiter=self._form.delimiter,
            usual=parse_options(self._form, self.kind).delimiter,
            header=self._form.header,
        )
        if not whole:
            head = whole_lines(head, self._form.encoding)
        with (
            said_well(self.where, self._form.encoding, ragged=self._ragged_line),
            pacsv.open_csv(
                pa.BufferReader(head),
                read_options=read_options(self._form, block_size=2 * HEAD_BYTES),
                parse_options=parse_options(self._form, self.kind),
                convert_options=convert_options(self._form, {}),
            ) as reader,
        ):
            schema = reader.schema
            schema.names  # noqa: B018  (decoded here, where a wrong encoding is said well)
        for field in schema:
            if pa.types.is_binary(field.type):
                raise DataError(
                    f"{self.where}, column {field.name!r}, is not {self._form.encoding} text. Pass "
                    "its encoding, such as encoding='latin-1'."
                )
        return schema


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
    ending = path.with_suffix("").suffix if path.suffix in PACKINGS else path.suffix
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


class TextSource:
    """A CSV or TSV file."""

    def __init__(self, path: Path, form: TextForm) -> None:
        self.where = str(path)
        self.path = path
        self.form = form
        bare = Path(path.stem) if path.suffix in PACKINGS else path
        self._usual = "\t" if bare.suffix in (".tsv", ".tab") else ","
        self._parse = pacsv.ParseOptions(
            delimiter=form.delimiter or self._usual, newlines_in_values=True
        )
        self._packed = path.suffix in PACKINGS
        self.arrow_schema: Any = None  # until it is read
        self._look_at_head()
        with (
            self._said_well(),
            self._bytes() as stream,
            self._stream(stream, None, {}) as reader,
        ):
            self._look_at_names(reader.schema.names)  # which may not be UTF-8
            self.arrow_schema = reader.schema
        self.padded = padded_columns(
            self._head, self._parse.delimiter, form.encoding, reader.schema.names, form.header
        )

    @property
    def small(self) -> bool:
        """Whether the file is parsed in one go."""
        return self.path.stat().st_size <= WHOLE_TEXT_BYTES // (8 if self._packed else 1)

    def read(self, report: Callable[[int], None] | None = None) -> pa.Table:
        """Parse the whole file over all cores; types are inferred from every row.

        `report` is told how many bytes have been read, by the thread that reads.
        """
        with self._said_well(), self._bytes(report) as stream:
            return pacsv.read_csv(
                stream,
                read_options=self._options(),
                parse_options=self._parse,
                convert_options=self._convert(None, {}),
            )

    def tables(
        self, columns: Sequence[str], report: Callable[[int], None] | None = None
    ) -> Iterator[pa.Table]:
        """Walk the file from its beginning; numbers are read as float64 throughout."""
        numbers = {
            field.name: pa.float64()
            for field in self.arrow_schema
            if pa.types.is_integer(field.type) or pa.types.is_null(field.type)
        }
        with (
            self._said_well(),
            self._bytes(report) as stream,
            self._stream(stream, columns, numbers) as reader,
        ):
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def refuse_damage(self, levels: Sequence[Any], name: str) -> None:
        """Refuse a file in which a quote was opened and never closed, or that holds NUL bytes."""
        for level in levels:
            if isinstance(level, str) and "\0" in level:
                raise DataError(
                    f"{self.where}, column {name!r}: the value {level[:20]!r} holds a byte of "
                    "value 0. The file is damaged, or no text: copy or write it again."
                )
        broken = [level for level in levels if isinstance(level, str) and "\n" in level]
        if broken and self._quotes() % 2:
            longest = max(broken, key=len)
            raise DataError(
                f"{self.where} has an odd number of quotes: in column {name!r} a value that begins "
                f"with {longest[:20]!r} runs over {longest.count(chr(10)) + 1:,} lines. Close the "
                "quote there."
            )

    def _quotes(self) -> int:
        with pa.input_stream(str(self.path), compression="detect") as stream:
            return sum(part.count(b'"') for part in iter(lambda: stream.read(2**22), b""))

    def _look_at_head(self) -> None:
        with said_well(self.where), self._bytes() as stream:
            head = stream.read(TEXT_HEAD_BYTES)
        self._head = head
        look_at_head(
            self.where,
            head,
            whole=len(head) < TEXT_HEAD_BYTES,
            encoding=self.form.encoding,
            delimiter=self.form.delimiter,
            usual=self._usual,
            header=self.form.header,
        )

    def _said_well(self) -> said_well:
        names = self.arrow_schema.names if self.arrow_schema is not None else ()
        return said_well(self.where, self.form.encoding, ragged=self._ragged_line, names=names)

    def _ragged_line(self) -> str | None:
        with self._bytes() as stream:
            return ragged_line(stream, self._parse.delimiter, self.form.encoding)

    def _look_at_names(self, names: Sequence[str]) -> None:
        if not self.form.header:
            return
        if names.count("") == 1:
            warnings.warn(
                f"{self.where}: column {names.index('') + 1} has no name. If it is a row number "
                "that was written along, leave it out with drop=[''].",
                DataWarning,
                stacklevel=5,
            )
        if all(_is_measurement(name) for name in names):
            warnings.warn(
                f"{self.where}: all column names are numbers, such as {names[0]!r}. If the file "
                "has no header, pass header=False.",
                DataWarning,
                stacklevel=5,
            )

    @contextmanager
    def _bytes(self, report: Callable[[int], None] | None = None) -> Iterator[pa.NativeFile]:
        """Give the bytes of the text; `report` hears how much of the file has been read."""
        packing = PACKINGS.get(self.path.suffix)
        if report is None:
            with pa.input_stream(str(self.path), compression=packing) as stream:
                yield stream
        else:
            with (
                _Counted(self.path, report) as file,
                pa.input_stream(file, compression=packing) as stream,
            ):
                yield stream

    def _stream(
        self, stream: pa.NativeFile, columns: Sequence[str] | None, types: dict[str, pa.DataType]
    ) -> Any:
        return pacsv.open_csv(
            stream,
            read_options=self._options(block_size=8 * 2**20),
            parse_options=self._parse,
            convert_options=self._convert(columns, types),
        )

    def _options(self, **more: Any) -> pacsv.ReadOptions:
        return pacsv.ReadOptions(
            encoding=self.form.encoding,
            autogenerate_column_names=not self.form.header,
            **more,
        )

    def _convert(
        self, columns: Sequence[str] | None, types: dict[str, pa.DataType]
    ) -> pacsv.ConvertOptions:
        return pacsv.ConvertOptions(
            null_values=list(self.form.nothing),
            strings_can_be_null=True,
            include_columns=columns,
            column_types=types,
            decimal_point=self.form.decimal,
        )


class _Counted(io.FileIO):
    """A file that tells how many of its bytes have been read."""

    def __init__(self, path: Path, report: Callable[[int], None]) -> None:
        super().__init__(path)
        self._report = report
        self._count = 0

    def read(self, size: int | None = -1, /) -> bytes:
        part = super().read(-1 if size is None else size) or b""
        self._count += len(part)
        self._report(self._count)
        return part


def _is_measurement(name: str) -> bool:
    """Whether a name looks like a value: a number, and not a mere position such as 0 or 12."""
    try:
        float(name)
    except ValueError:
        return False
    return not (name.isdigit() and int(name) < 10_000)


TEXT = ("csv", "tsv")
FORMATS = (*TEXT, "parquet", "arrow")
ENDINGS = {
    ".csv": "csv",
    ".txt": "csv",
    ".tsv": "tsv",
    ".tab": "tsv",
    ".parquet": "parquet",
    ".pq": "parquet",
    ".arrow": "arrow",
    ".feather": "arrow",
    ".ipc": "arrow",
}
PACKINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
PACKED_MAGIC = {
    b"\x1f\x8b": "gzip",
    b"\x28\xb5\x2f\xfd": "zstd",
    b"BZh": "bz2",
    b"\x04\x22\x4d\x18": "lz4",
}
FOREIGN = {
    ".xlsx": "Save the sheet as CSV.",
    ".xls": "Save the sheet as CSV.",
    ".ods": "Save the sheet as CSV.",
    ".json": "Write its rows as CSV or Parquet.",
    ".jsonl": "Write its rows as CSV or Parquet.",
    ".zip": "Unpack it first.",
    ".scarce": "It is a model; a table is needed here.",
}
STREAM_MAGIC = b"\xff\xff\xff\xff"  # of an Arrow stream: the mark before its first message


def format_of(path: str | os.PathLike[str]) -> tuple[str, str | None]:
    """Return the format and the packing that a file's name stands for.

    Examples
    --------
    >>> format_of("p.csv"), format_of("p.tsv.gz"), format_of("p.parquet")
    (('csv', None), ('tsv', 'gzip'), ('parquet', None))
    >>> format_of("p.xlsx")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: 'p.xlsx': the ending '.xlsx' is not known. Give .csv, .tsv ...
    """
    path = Path(path)
    packing = PACKINGS.get(path.suffix.lower())
    bare = Path(path.stem) if packing else path
    kind = ENDINGS.get(bare.suffix.lower())
    if kind is None:
        near = suggest(bare.suffix.lower(), ENDINGS)
        raise UsageError(
            f"{str(path)!r}: the ending {bare.suffix!r} is not known.{near} Give .csv, .tsv "
            "(also with .gz or .zst), .parquet or .arrow."
        )
    if packing and kind not in TEXT:
        raise UsageError(
            f"{str(path)!r}: {kind} files are compressed inside. Give the name without "
            f"{path.suffix!r}."
        )
    return kind, packing


def packing_of(head: bytes) -> str | None:
    """Return how bytes are packed, from the first of them."""
    return next((name for magic, name in PACKED_MAGIC.items() if head.startswith(magic)), None)


def kind_of(head: bytes, path: Path | None) -> str:
    """Return what is inside: "parquet", "arrow", "arrow stream", "csv" or "tsv".

    Text that comes without a name is taken for tab separated when its first line has tabs and no
    comma.
    """
    if head[:4] == b"PAR1":
        return "parquet"
    if head[:6] == b"ARROW1":
        return "arrow"
    if head[:4] == STREAM_MAGIC:
        return "arrow stream"
    first = head.partition(b"\n")[0]
    by_content = "tsv" if b"\t" in first and b"," not in first else "csv"
    if path is None:
        return by_content
    ending = (path.with_suffix("") if path.suffix.lower() in PACKINGS else path).suffix.lower()
    if ending in FOREIGN:
        raise DataError(f"{path}: a {ending} file is not read. {FOREIGN[ending]}")
    if ending not in ENDINGS:
        return by_content
    kind = ENDINGS[ending]
    if kind not in TEXT:
        raise DataError(
            f"{path} is not a {kind} file: it begins with {head[:4]!r}. It may be damaged or "
            "wrongly named."
        )
    return kind


def nearest_file(path: Path) -> str:
    """Name the file that was probably meant: its ending alone makes no likeness."""
    there = {p.stem: p.name for p in path.parent.iterdir()} if path.parent.is_dir() else {}
    exact = [name for stem, name in there.items() if stem == path.stem]
    hint = suggest(path.stem, there)
    found = exact[0] if exact else there.get(hint[15:-2]) if hint else None
    return f" Did you mean {found!r}?" if found else ""


MOST = 2**20  # bytes asked of the pipe at a time


def standard_input() -> Any:
    """Return standard input as a binary file whose reading Ctrl-C ends; plain where it cannot."""
    plain = getattr(sys.stdin, "buffer", sys.stdin)
    if sys.stdin is None or (hasattr(sys.stdin, "isatty") and sys.stdin.isatty()):
        raise UsageError(
            "Nothing comes from standard input, which is a terminal: name a file, or pipe rows in."
        )
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return plain
    try:
        waited = plain.fileno()
    except (OSError, AttributeError):  # standing in for a pipe, as in tests
        return plain
    pa.enable_signal_handlers(False)  # Arrow's own would keep the signal from Python's
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    return _Interruptible(waited, heard)


class _Interruptible(io.RawIOBase):
    """Standard input, read until there are as many bytes as asked for, the end, or a signal."""

    def __init__(self, waited: int, heard: int) -> None:
        self._waited = waited
        self._heard = heard

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, fewer at the end; all that is left for None or a negative size."""
        parts: list[bytes] = []
        left = sys.maxsize if size is None or size < 0 else size
        while left > 0:
            ready, _, _ = select.select([self._waited, self._heard], [], [])
            if self._heard in ready and signal.SIGINT in os.read(self._heard, MOST):
                raise KeyboardInterrupt
            if self._waited not in ready:
                continue
            part = os.read(self._waited, min(left, MOST))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


def read_up_to(stream: Any, count: int) -> bytes:
    """Read until `count` bytes are there or the stream ends: a pipe gives what it has."""
    parts: list[bytes] = []
    held = 0
    while held < count:
        part = stream.read(count - held)
        if not part:
            break
        parts.append(part)
        held += len(part)
    return b"".join(parts)


class Rejoined(io.RawIOBase):
    """A stream whose first bytes have been looked at."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes; all that is left for None or a negative size."""
        if size is None or size < 0:
            held, self._head = self._head, b""
            return held + bytes(self._rest.read())
        held, self._head = self._head[:size], self._head[size:]
        # Arrow takes fewer bytes than it asked for as the end of its stream
        return held if len(held) == size else held + bytes(self._rest.read(size - len(held)))


class Quotes(io.RawIOBase):
    """A stream that counts the quotes that pass: an odd number may mean that one was left open."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.seen = 0

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes, as the source does."""
        part = bytes(self._source.read(size))
        self.seen += part.count(b'"')
        return part
