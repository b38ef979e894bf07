"""Rows in text: CSV and TSV, plain or compressed, parsed once.

Text can only be read from its beginning, and parsing it costs more than every fit: it is parsed
into memory or into the cache (see cache.py), never once per pass. A text file says nothing about
itself, so what looks wrong (another delimiter, no header, a row number written along, an open
quote) is said.
"""

from __future__ import annotations

import io
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from scarce.errors import DataError, DataWarning, UsageError, suggest
from scarce.io.complaints import ragged_line, said_well
from scarce.io.sniff import HEAD_BYTES, look_at_head, padded_columns

PACKED_ENDINGS = {".gz": "gzip", ".zst": "zstd", ".bz2": "bz2", ".lz4": "lz4"}
WHOLE_TEXT_BYTES = 256 * 2**20  # text up to this size is parsed in one go, over all cores
ENCODINGS = ("utf-8", "utf-8-sig", "utf-16", "latin-1", "cp1252", "cp437", "shift_jis", "gb18030")
NOTHING = ("", "NA", "N/A", "#N/A", "n/a", "NaN", "nan", "NULL", "null", "None", "<NA>")


@dataclass(frozen=True)
class TextForm:
    """How a text file is written.

    Parameters
    ----------
    delimiter : str, optional
        A comma by default, a tabulator for .tsv and .tab.
    encoding : str
        Such as "utf-8" or "latin-1".
    decimal : str
        The decimal point.
    header : bool
        Whether the first line names the columns; otherwise they are f0, f1, ...
    missing : sequence
        Words that mean missing, beside the usual ones.
    only_empty : bool
        Whether the usual ones, such as NA and null, are words like others: NA is Namibia too.
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    missing: tuple[Any, ...] = ()
    only_empty: bool = False

    @property
    def nothing(self) -> tuple[str, ...]:
        """The words that mean missing.

        Examples
        --------
        >>> "NA" in TextForm().nothing, TextForm(missing=("-9",), only_empty=True).nothing
        (True, ('', '-9'))
        """
        return (*(("",) if self.only_empty else NOTHING), *map(str, self.missing))

    def __post_init__(self) -> None:
        for name in ("delimiter", "decimal"):
            mark = getattr(self, name)
            if mark is not None and (len(mark) != 1 or mark in '\r\n\0"' or not mark.isascii()):
                raise UsageError(
                    f"{name}={mark!r} is not one character that can stand within a line. Pass "
                    f"{name}= with one, such as {name}=','."
                )
        try:
            "a,1".encode(self.encoding).decode(self.encoding)  # base64 is a codec, but of no text
        except (LookupError, ValueError):
            raise UsageError(
                f"encoding={self.encoding!r} is not known."
                f"{suggest(self.encoding, ENCODINGS)} Pass encoding= with a name such as 'utf-8', "
                "'latin-1', 'cp1252' or 'utf-16'."
            ) from None


class TextSource:
    """A CSV or TSV file."""

    def __init__(self, path: Path, form: TextForm) -> None:
        self.where = str(path)
        self.path = path
        self.form = form
        bare = Path(path.stem) if path.suffix in PACKED_ENDINGS else path
        self._usual = "\t" if bare.suffix in (".tsv", ".tab") else ","
        self._parse = pacsv.ParseOptions(
            delimiter=form.delimiter or self._usual, newlines_in_values=True
        )
        self._packed = path.suffix in PACKED_ENDINGS
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
            head = stream.read(HEAD_BYTES)
        self._head = head
        look_at_head(
            self.where,
            head,
            whole=len(head) < HEAD_BYTES,
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
        packing = PACKED_ENDINGS.get(self.path.suffix)
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
