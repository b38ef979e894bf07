"""How is a table of any length read, whatever holds it: a file, several files, or a pipe?

    path | pipe -> format, by its first bytes -> columns and types -> parts, as Arrow tables

A table is opened once, sniffed once and, where it is small, parsed once. Text is walked from its
beginning in parts of some ten thousand rows, so memory does not grow with it; columns that are
computed with are read as numbers, the others can be kept as they are written ("007" stays "007").
Parquet and Arrow can be entered anywhere: see parts.py. A pipe can be walked once, a file at
will. The first bytes do not lie, endings may; text has no first bytes of its own and is what is
left. Does not code categories or labels: see schema.py.
"""

from __future__ import annotations

import codecs
import errno
import hashlib
import io
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from functools import cached_property
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scarce.errors import DataError, UsageError, listed, suggest
from scarce.io.locate import Locator, located
from scarce.io.pipe import CountedBytes, Rejoined, WatchedText, read_up_to, standard_input
from scarce.io.schema import duplicate_column
from scarce.io.text import (
    TextForm,
    convert_options,
    delimiter_of,
    explained,
    look_at_head,
    not_encoded,
    nul_bytes,
    parse_options,
    read_options,
    whole_lines,
)
from scarce.io.values import UNUSUAL, blank_as_missing, number_column, usual_types, without_values

Progress = Callable[[int, int], None]

HEAD_BYTES = 2**20  # read to know columns and types
LONG_HEAD_BYTES = 2**23  # the same for text that is too long to be parsed at once
BLOCK_BYTES = 2**20  # of text parsed at a time; Arrow holds up to 32 of them
PART_ROWS = 131_072
WHOLE_TEXT_BYTES = 256 * 2**20  # text up to this size is parsed in one go, over all cores

# --- formats --------------------------------------------------------------------------------------

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
    """Return the format and the compression that a file's name stands for.

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
        raise UsageError(
            "{file!r}: the ending {ending!r} is not known.{hint}",
            code="unknown-ending",
            file=str(path),
            ending=bare.suffix,
            hint=suggest(bare.suffix.lower(), ENDINGS),
            remedy="Give .csv, .tsv (also with .gz or .zst), .parquet or .arrow.",
        )
    if packing and kind not in TEXT:
        raise UsageError(
            "{file!r}: {kind} files are compressed inside.",
            code="compressed-twice",
            file=str(path),
            kind=kind,
            ending=path.suffix,
            remedy="Give the name without {ending!r}.",
        )
    return kind, packing


def packing_of(head: bytes) -> str | None:
    """Return how bytes are compressed, from the first of them."""
    return next((name for magic, name in PACKED_MAGIC.items() if head.startswith(magic)), None)


def kind_of(head: bytes, path: Path | None) -> str:
    """Return what is inside: "parquet", "arrow", "arrow stream", "csv" or "tsv".

    Text whose name does not tell is taken for tab separated when its first line has tabs and no
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
        raise DataError(
            "{file}: {ending} files are not read.",
            code="foreign-format",
            file=str(path),
            ending=ending,
            remedy=FOREIGN[ending],
        )
    if ending not in ENDINGS:
        return by_content
    kind = ENDINGS[ending]
    if kind not in TEXT:
        raise DataError(
            "{file} is not in {kind} format: it begins with {value!r}.",
            code="wrong-format",
            file=str(path),
            kind=kind,
            value=head[:4],
            remedy="It may be damaged or wrongly named.",
        )
    return kind


# --- one table, walked from its beginning ---------------------------------------------------------


def open_table(
    source: str | os.PathLike[str] | BinaryIO | TableSource,
    form: TextForm | None = None,
    *,
    whole: bool = False,
    progress: Progress | None = None,
) -> TableSource:
    """Open a table to be walked.

    Parameters
    ----------
    source : path, "-" or binary file
        CSV, TSV (also compressed: .gz, .zst), Parquet, Arrow IPC; "-" is standard input, where an
        Arrow stream is understood too.
    form : TextForm, optional
        How text is written: delimiter, encoding, decimal point, header, words that mean missing.
    whole : bool
        Whether small text is parsed at once: its types are those of all rows, and it is not parsed
        again.
    progress : callable (done, total), optional
        Told how far that is, in bytes.

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
    table = table_source(source, TextForm() if form is None else form)
    if whole and table.is_text and table.small:
        size = table.size or 0
        table.table(None if progress is None else lambda done: progress(min(done, size), size))
    table.names  # noqa: B018 - what is wrong with the columns is said now
    return table


def table_source(
    source: str | os.PathLike[str] | BinaryIO | TableSource, form: TextForm
) -> TableSource:
    """Return the source of a path, of "-" or of a binary file; its columns are not looked at."""
    if isinstance(source, TableSource):
        return source
    if not isinstance(source, (str, os.PathLike)):
        return TableSource(None, source, form)
    if os.fspath(source) == "-":
        return TableSource(None, standard_input(), form)
    if not os.fspath(source):
        raise DataError(
            "The name of the table is empty.", code="no-file", remedy="Give the name of a file."
        )
    path = existing_file(source)
    if path.is_file():
        return TableSource(path, None, form)
    stream = path.open("rb")  # a pipe with a name, such as <(command) in a shell
    table = TableSource(None, stream, form)
    weakref.finalize(table, stream.close)
    return table


def existing_file(source: str | os.PathLike[str]) -> Path:
    """Return the path of a file or pipe that is there, or refuse it."""
    path = Path(source)
    if "://" in os.fspath(source):
        raise DataError(
            "{file} is an address, and nothing is fetched from a network.",
            code="network-address",
            file=os.fspath(source),
            remedy="Download it first, and give the file.",
        )
    if path.is_dir():
        raise DataError(
            "{file} is a folder.",
            code="is-folder",
            file=str(path),
            remedy="Give one file with a table.",
        )
    if not path.exists():
        raise no_such_file(path)
    return path


def no_such_file(path: Path) -> DataError:
    """Say that a file is not there, and which was meant, or which symbolic link leads nowhere."""
    if not path.is_symlink():
        return DataError(
            "There is no file {file}.{hint}",
            code="no-file",
            file=str(path),
            hint=_nearest_file(path),
            remedy="Check the path.",
        )
    try:
        path.stat()
    except OSError as error:
        if error.errno == errno.ELOOP:
            return DataError(
                "{file} is a symbolic link that leads back to itself.",
                code="broken-link",
                file=str(path),
                remedy="Give the file itself.",
            )
    return DataError(
        "{file} is a symbolic link to {target}, which is not there.",
        code="broken-link",
        file=str(path),
        target=os.readlink(path),
        remedy="Give the file itself.",
    )


def _nearest_file(path: Path) -> str:
    """Name the file that was probably meant: its ending alone makes no likeness."""
    there = {p.stem: p.name for p in path.parent.iterdir()} if path.parent.is_dir() else {}
    if path.stem in there:
        return f" Did you mean {there[path.stem]!r}?"
    near = next((stem for stem in there if suggest(path.stem, [stem])), None)
    return "" if near is None else f" Did you mean {there[near]!r}?"


class TableSource:
    """A table in a file or a pipe: its columns, and a walk over its rows.

    Attributes
    ----------
    where : str
        Its name in messages.
    names : tuple of str
        The columns.
    types : dict of str -> pyarrow.DataType
        For text, as its first megabyte looks, or all of it once it is parsed as a whole.
    kind : {"csv", "tsv", "parquet", "arrow", "arrow stream"}
    once : bool
        Whether it can be walked only once.
    find : Locator
        Turns a row into a line.
    """

    def __init__(self, path: Path | None, stream: BinaryIO | None, form: TextForm) -> None:
        self.path = path
        self.where = "standard input" if path is None else str(path)
        self.form = form
        self.size: int | None = None
        self._walked = False
        self._whole: bytes | None = None
        self._parsed: pa.Table | None = None
        self._stream: Any = io.BytesIO()  # replaced where it is a pipe
        self._file: io.FileIO | None = None  # replaced where it is a file
        self._busy = False
        if path is None:
            assert stream is not None
            head = self._take(stream)
            self._packing = None
        else:
            str(path).encode()  # a name that is not Unicode is refused here: Arrow cannot open it
            with explained(self.where):
                self._file = io.FileIO(path)
                weakref.finalize(self, self._file.close)
                self.size = os.fstat(self._file.fileno()).st_size
                head = read_up_to(self._file, self._head_bytes)
            self._packing = packing_of(head)
            if self._packing is not None:
                with explained(self.where), self._text() as (_, unpacked):
                    head = bytes(unpacked.read(self._head_bytes))
        if not head:
            raise DataError(
                "{file} is empty (0 bytes).",
                code="empty-file",
                file=self.where,
                remedy="Check how it was written.",
            )
        self.head = head
        self.kind = kind_of(head, path)
        if path is None and self.kind in ("parquet", "arrow"):  # these must be entered anywhere
            with explained(self.where):
                self._whole = bytes(self._stream.read())
        self.once = path is None and self._whole is None
        if self.is_text:
            look_at_head(
                self.where,
                head,
                whole=self._head_is_all,
                encoding=form.encoding,
                delimiter=form.delimiter,
                usual=delimiter_of(form, self.kind),
            )
        self.find = Locator(
            self.where,
            lambda: self.names,
            self._again if self.is_text and path is not None else None,
            delimiter_of(form, self.kind),
            form.encoding,
            form.header,
        )

    @property
    def missing(self) -> tuple[Any, ...]:
        """Values that were said to mean missing, beside the usual ones."""
        return self.form.missing

    @property
    def compressed(self) -> bool:
        """Whether it is compressed text."""
        return self._packing is not None

    @property
    def is_text(self) -> bool:
        """Whether it is CSV or TSV."""
        return self.kind in TEXT

    @property
    def parsed(self) -> bool:
        """Whether all rows are held, so that another walk reads nothing."""
        return self._parsed is not None

    @property
    def small(self) -> bool:
        """Whether text is parsed in one go; a pipe always is, where all of it is asked for."""
        size = self.size or 0
        return size <= WHOLE_TEXT_BYTES // (8 if self.compressed else 1)

    @cached_property
    def schema(self) -> pa.Schema:
        """Names and types of the columns."""
        if self._parsed is not None:
            found = self._parsed.schema
        elif self.is_text:
            found = self._text_schema()
        else:
            found = with_names(self._arrow_schema(), self.where)
        names = list(found.names)
        doubled = next((name for name in names if names.count(name) > 1), None)
        if doubled is not None:
            raise duplicate_column(doubled, names.count(doubled), self.where)
        return found

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The columns."""
        return tuple(self.schema.names)

    @cached_property
    def types(self) -> dict[str, pa.DataType]:
        """Their types."""
        return {field.name: UNUSUAL.get(field.type, field.type) for field in self.schema}

    def column(self, name: str, option: str = "") -> str:
        """Return the name of a column that must be there, or say which one was probably meant."""
        if name not in self.types:
            raise DataError(
                "{file} has no column {column!r}.{hint} Its columns are: {names}.",
                code="unknown-column",
                file=self.where,
                column=name,
                hint=suggest(name, self.names),
                names=listed(self.names),
                remedy=f"Name it with {option}." if option else (),
            )
        return name

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
        wanted = list(self.names if columns is None else columns)
        for name in wanted:
            self.column(name)
        kept = set(wanted) - set(numbers) if exact else set()
        if self._parsed is not None and not (exact and self.is_text):
            yield self._of_parsed(wanted, numbers)
            return
        self._begin()
        some = False
        try:
            with self._explained():
                for part in self._parts(wanted, set(numbers), kept, progress):
                    some = True
                    yield part
        except DataError as error:
            self.refuse_open_quote()  # the cause of many an error far from it
            if error.code == "not-a-number" and error.fields["row"] is None:
                self._find_cell([*numbers, error.fields["column"]])
            raise
        if not some:
            yield self._no_rows(wanted, set(numbers), kept)

    def table(self, report: Callable[[int], None] | None = None) -> pa.Table:
        """Read all rows at once and keep them; text over all cores, with types of every row.

        `report` is told how many bytes of text have been read, by the thread that reads.
        """
        if self._parsed is not None:
            if report is not None:
                report(self.size or 0)
            return self._parsed
        if not self.is_text:
            self._parsed = self.read()
        if self._parsed is None:
            self._begin()
            with self._explained(), self._text(report) as (_, held):
                watched = WatchedText(held)
                found = pacsv.read_csv(
                    pa.PythonFile(watched, mode="r"),
                    read_options=read_options(self.form),
                    parse_options=parse_options(self.form, self.kind),
                    convert_options=convert_options(self.form, {}),
                )
                found.column_names  # noqa: B018  (decoded here, where a wrong encoding is explained)
            self._parsed = found
            self._refuse_damage(watched, found)
        return self._parsed

    def release(self) -> None:
        """Let go of the rows that `table` keeps; another walk reads them again."""
        if self.path is not None:
            self.names, self.types  # noqa: B018 - these stay
            self._parsed = None

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

    def without_blanks(self, part: pa.Table, names: Sequence[str]) -> pa.Table:
        """Return a part of this table in which text that spells nothing is missing."""
        return blank_as_missing(part, names, self.form)

    def numbers(self, part: pa.Table, name: str, start: int = 0) -> NDArray[np.float64]:
        """Return a column of a part of this table as float64, also one that was kept as text."""
        try:
            with located(self.find):
                return number_column(part, name, where=self.where, start=start, form=self.form)
        except DataError:
            self.refuse_open_quote()  # the cause of many an error far from it
            raise

    def stamp(self) -> str:
        """Name the content of a file; see `stamp`."""
        assert self.path is not None
        assert self._file is not None
        return _digest([(self.path, self._file)])

    # --- walks -----------------------------------------------------------------------------------

    def _begin(self) -> None:
        if self.once and self._walked:
            raise UsageError(
                "{file} can be read only once, and this needs it twice.",
                code="read-twice",
                file=self.where,
                remedy="Write it to a file first, and give the file.",
            )
        self._walked = True

    def _explained(self) -> explained:
        known = "names" in self.__dict__
        return explained(
            self.where,
            self.form.encoding if self.is_text else "",
            ragged=self.find.ragged,
            names=(lambda: self.names) if known else tuple,
        )

    def _of_parsed(self, wanted: list[str], numbers: Sequence[str]) -> pa.Table:
        """Return columns of text that was parsed before."""
        assert self._parsed is not None
        table = self._parsed.select(wanted)
        for place, name in enumerate(wanted):
            if name in numbers:
                held = self.numbers(table, name)
                table = table.set_column(place, name, pa.array(held, from_pandas=True))
            elif pa.types.is_null(table.schema.types[place]):
                table = table.set_column(place, name, table.column(place).cast(pa.string()))
        return table

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
            for name in set(wanted) - exact if self.form.missing else ():
                held = without_values(table.column(name), self.form.missing)
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
            with self._mapped() as held, pa.ipc.open_file(held) as reader:
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
            watched = WatchedText(held)
            with self._reader(pa.PythonFile(watched, mode="r"), wanted, numbers, exact) as reader:
                truths = [name for name in numbers if pa.types.is_boolean(self.types[name])]
                for index, batch in enumerate(reader):
                    last = pa.Table.from_batches([batch])
                    for name in truths:
                        read = last.column(name).cast(pa.int8()).cast(pa.float64())
                        last = last.set_column(last.column_names.index(name), name, read)
                    yield last
                    if progress is not None and self.size:
                        # Arrow reads ahead: the blocks parsed say how far the walk is
                        done = raw.done if self.compressed else (index + 1) * BLOCK_BYTES
                        progress(min(done, self.size), self.size)
        self._refuse_damage(watched, last)

    def _reader(
        self, held: pa.NativeFile, wanted: list[str], numbers: set[str], exact: set[str]
    ) -> Any:
        return pacsv.open_csv(
            held,
            read_options=read_options(self.form, block_size=BLOCK_BYTES),
            parse_options=parse_options(self.form, self.kind),
            convert_options=convert_options(self.form, self.types, wanted, numbers, exact),
        )

    def _find_cell(self, names: Sequence[str]) -> None:
        """Walk columns again, as text, to the first cell that is not a number, and refuse it."""
        if self.once:
            return
        start, wanted = 0, list(dict.fromkeys(names))
        for part in self._parts(wanted, set(), set(wanted), None):
            found: DataError | None = None
            for name in wanted:
                try:
                    number_column(part, name, where=self.where, start=start, form=self.form)
                except DataError as error:
                    if found is None or error.fields["row"] < found.fields["row"]:
                        found = error
            if found is not None:
                with located(self.find):
                    raise found
            start += part.num_rows

    def _no_rows(self, wanted: list[str], numbers: set[str], exact: set[str]) -> pa.Table:
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

    # --- damage ----------------------------------------------------------------------------------

    def refuse_open_quote(self) -> None:
        """Refuse text in which a quote was left open: it swallows all rows that follow."""
        if not self.is_text or self.once:
            return
        with self._text() as (_, held):
            watched = WatchedText(held)
            while watched.read(BLOCK_BYTES):
                pass
        self._refuse_damage(watched, pa.table({}))

    def _refuse_damage(self, watched: WatchedText, last: pa.Table) -> None:
        """Refuse bytes of value 0, and the last row of text with an odd number of quotes.

        That alone may be innocent (5" is a size); a value that runs over lines as well is not.
        Columns that were not asked for are looked at once more.
        """
        wide = codecs.lookup(self.form.encoding).name[:6] in ("utf-16", "utf-32")
        if watched.nul_line and not wide:
            raise nul_bytes(self.where, watched.nul_line)
        if watched.quotes % 2 == 0:
            return
        if not self.once and set(last.column_names) != set(self.names):
            names = list(self.names)
            with self._text() as (_, held):
                file = pa.PythonFile(WatchedText(held), mode="r")
                with self._reader(file, names, set(), set(names)) as reader:
                    for batch in reader:
                        last = pa.Table.from_batches([batch])
        for name in last.column_names if last.num_rows else ():
            value = last.column(name)[-1].as_py()
            if isinstance(value, str) and "\n" in value:
                raise DataError(
                    "{file} has an odd number of quotes: in column {column!r} a value that begins "
                    "with {value!r} runs over the last {lines:,} lines.",
                    code="open-quote",
                    file=self.where,
                    column=name,
                    value=value[:20],
                    lines=value.count("\n") + 1,
                    remedy="Close the quote there.",
                )

    # --- bytes -----------------------------------------------------------------------------------

    @property
    def _head_bytes(self) -> int:
        return HEAD_BYTES if (self.size or 0) <= WHOLE_TEXT_BYTES else LONG_HEAD_BYTES

    @property
    def _head_is_all(self) -> bool:
        return len(self.head) < self._head_bytes

    def _take(self, stream: BinaryIO) -> bytes:
        """Read the first bytes of a pipe and keep them for the walk."""
        head = read_up_to(stream, HEAD_BYTES)
        self._stream = Rejoined(head, stream)
        packing = packing_of(head)
        if packing is not None:
            packed = pa.CompressedInputStream(pa.PythonFile(self._stream, mode="r"), packing)
            with explained(self.where):
                head = packed.read(HEAD_BYTES)
            self._stream = Rejoined(head, packed)
        return head

    @contextmanager
    def _text(
        self, report: Callable[[int], None] | None = None
    ) -> Iterator[tuple[CountedBytes, Any]]:
        """Give the bytes as they are stored, and decompressed, from the beginning.

        The one open file serves every walk; a walk within a walk opens another.
        """
        if self._file is None:
            yield CountedBytes(self._stream, report), self._stream
            return
        own = self._busy
        file = io.FileIO(str(self.path)) if own else self._file
        if not own:
            self._busy = True
            file.seek(0)
        try:
            raw = CountedBytes(file, report)
            if self._packing is None:
                yield raw, raw
            else:
                yield raw, pa.CompressedInputStream(pa.PythonFile(raw, mode="r"), self._packing)
        finally:
            if own:
                file.close()
            else:
                self._busy = False

    @contextmanager
    def _again(self) -> Iterator[BinaryIO]:
        with self._text() as (_, held):
            yield io.BufferedReader(held) if isinstance(held, io.RawIOBase) else held

    def _mapped(self) -> Any:
        if self._whole is not None:
            return pa.BufferReader(self._whole)
        return pa.memory_map(str(self.path))

    # --- the columns -----------------------------------------------------------------------------

    def _arrow_schema(self) -> pa.Schema:
        with explained(self.where):
            if self.kind == "parquet":
                held = self.path if self._whole is None else io.BytesIO(self._whole)
                return pq.read_schema(held)
            if self.kind == "arrow":
                with self._mapped() as opened, pa.ipc.open_file(opened) as reader:
                    return reader.schema
            return pa.ipc.open_stream(self.head).schema

    def _text_schema(self) -> pa.Schema:
        head = self.head if self._head_is_all else whole_lines(self.head, self.form.encoding)
        with (
            self._explained(),
            pacsv.open_csv(
                pa.BufferReader(head),
                read_options=read_options(self.form, block_size=2 * LONG_HEAD_BYTES),
                parse_options=parse_options(self.form, self.kind),
                convert_options=convert_options(self.form, {}),
            ) as reader,
        ):
            schema = reader.schema
            schema.names  # noqa: B018  (decoded here, where a wrong encoding is explained)
        for field in schema:
            if pa.types.is_binary(field.type):
                raise not_encoded(self.where, self.form.encoding, f"column {field.name!r}")
        return schema


def with_names(schema: pa.Schema, where: str) -> pa.Schema:
    """Return the schema of a binary file, or refuse what nobody writes: bits were lost.

    Names that are not text, and decimal numbers with more places behind the point than digits.
    """
    reason = ""
    try:
        for name, kind in zip(schema.names, schema.types, strict=True):
            if pa.types.is_decimal(kind) and not 0 <= kind.scale <= kind.precision:
                reason = f"column {name!r} is {kind}, which has fewer digits than decimals"
    except UnicodeError:
        reason = "the name of a column is not text"
    if reason:
        raise DataError(
            "{file} cannot be read ({reason}). It is damaged.",
            code="unreadable-file",
            file=where,
            reason=reason,
            remedy="Copy or write it again.",
        )
    return schema


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
    files = [io.FileIO(path) for path in paths]
    try:
        return _digest(list(zip(paths, files, strict=True)))
    finally:
        for file in files:
            file.close()


def _digest(files: Sequence[tuple[Path, io.FileIO]]) -> str:
    digest = hashlib.blake2b(digest_size=16)
    for path, file in files:
        about = os.fstat(file.fileno())
        digest.update(path.name.encode() + f"|{about.st_size}|{about.st_mtime_ns}|".encode())
        for spot in range(16):
            file.seek(spot * max(0, about.st_size - 65536) // 15)
            digest.update(read_up_to(file, 65536))
    return digest.hexdigest()


def last_change(paths: Sequence[Path]) -> str:
    """Name the state of files as the file system knows it: inode and time of the last change.

    Unlike the time of modification, this time cannot be put back: an edit that keeps a file's size
    and time of modification shows here. A hard link, `chmod` or a move shows too, which costs no
    more than decoding again. (On Windows it is the time of creation: such an edit shows there only
    if it touches the content that `stamp` samples.)
    """
    return " ".join(f"{s.st_ino}:{s.st_ctime_ns}" for s in (path.stat() for path in paths))
