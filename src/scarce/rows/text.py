"""Rows in text: CSV and TSV, plain or compressed, parsed once.

Text can only be read from its beginning, and parsing it costs more than every fit: it is parsed
into memory or into the cache (see cache.py), never once per pass. A text file says nothing about
itself, so what looks wrong (another delimiter, no header, a row number written along, an open
quote) is said.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.csv as pacsv

from scarce.errors import DataError, DataWarning
from scarce.rows.complaints import said_well

PACKED_ENDINGS = (".gz", ".zst", ".bz2", ".lz4")
WHOLE_TEXT_BYTES = 256 * 2**20  # text up to this size is parsed in one go, over all cores
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
    """

    delimiter: str | None = None
    encoding: str = "utf-8"
    decimal: str = "."
    header: bool = True
    missing: tuple[Any, ...] = ()


class TextSource:
    """A CSV or TSV file."""

    def __init__(self, path: Path, form: TextForm) -> None:
        self.where = str(path)
        self.path = path
        self._form = form
        bare = Path(path.stem) if path.suffix in PACKED_ENDINGS else path
        self._parse = pacsv.ParseOptions(
            delimiter=form.delimiter or ("\t" if bare.suffix in (".tsv", ".tab") else ","),
            newlines_in_values=True,
        )
        self._packed = path.suffix in PACKED_ENDINGS
        with said_well(self.where, form.encoding), self._stream(None, {}) as reader:
            self.arrow_schema = reader.schema
        self._look_at_header()

    @property
    def small(self) -> bool:
        """Whether the file is parsed in one go."""
        return self.path.stat().st_size <= WHOLE_TEXT_BYTES // (8 if self._packed else 1)

    def read(self) -> pa.Table:
        """Parse the whole file over all cores; types are inferred from every row."""
        with said_well(self.where, self._form.encoding):
            return pacsv.read_csv(
                self.path,
                read_options=self._options(),
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
        with said_well(self.where, self._form.encoding), self._stream(columns, numbers) as reader:
            for batch in reader:
                yield pa.Table.from_batches([batch])

    def refuse_open_quote(self, levels: Sequence[Any], name: str) -> None:
        """Refuse a file in which a quote was opened and never closed: it swallows what follows."""
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

    def _look_at_header(self) -> None:
        names = self.arrow_schema.names
        other = next((mark for mark in ";\t|" if mark in names[0]), None)
        if len(names) == 1 and other and self._form.delimiter is None:
            raise DataError(
                f"{self.where} has one column, named {names[0]!r}: its values look separated by "
                f"{other!r}. Pass delimiter={other!r}."
            )
        if not self._form.header:
            return
        if "" in names:
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

    def _stream(self, columns: Sequence[str] | None, types: dict[str, pa.DataType]) -> Any:
        return pacsv.open_csv(
            self.path,
            read_options=self._options(block_size=8 * 2**20),
            parse_options=self._parse,
            convert_options=self._convert(columns, types),
        )

    def _options(self, **more: Any) -> pacsv.ReadOptions:
        return pacsv.ReadOptions(
            encoding=self._form.encoding,
            autogenerate_column_names=not self._form.header,
            **more,
        )

    def _convert(
        self, columns: Sequence[str] | None, types: dict[str, pa.DataType]
    ) -> pacsv.ConvertOptions:
        words = [value for value in self._form.missing if isinstance(value, str)]
        return pacsv.ConvertOptions(
            null_values=[*NOTHING, *words],
            strings_can_be_null=True,
            include_columns=columns,
            column_types=types,
            decimal_point=self._form.decimal,
        )


def _is_measurement(name: str) -> bool:
    """Whether a name looks like a value: a number, and not a mere position such as 0 or 12."""
    try:
        float(name)
    except ValueError:
        return False
    return not (name.isdigit() and int(name) < 10_000)
