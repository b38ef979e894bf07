"""How is a table of any length walked from its beginning, with its owner's own spelling?

    file or pipe -> parts of some ten thousand rows, as Arrow tables, in order

Columns that a verb computes with are read as numbers; the others can be kept as they are written
("007" stays "007"). Memory does not grow with the table. A pipe can be walked once, a file at will.
Does not code categories or labels: see io/schema.py.
"""

from __future__ import annotations

import io
import os
import weakref
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
from numpy.typing import NDArray

from scarce.errors import DataError, UsageError, suggest
from scarce.io.complaints import no_such_file, ragged_line, said_well, with_names
from scarce.io.formats import TEXT, kind_of, nearest_file, packing_of
from scarce.io.pipe import Quotes, Rejoined, read_up_to, standard_input
from scarce.io.sniff import look_at_head
from scarce.io.table_values import (
    UNUSUAL,
    blank_as_missing,
    number_column,
    usual_types,
    without_values,
)
from scarce.io.text import TextForm
from scarce.io.text_options import (
    convert_options,
    parse_options,
    read_options,
    whole_lines,
)

Progress = Callable[[int, int], None]

HEAD_BYTES = 2**20  # read to know columns and types
BLOCK_BYTES = 2**20  # of text parsed at a time; Arrow holds up to 32 of them
PART_ROWS = 131_072


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
