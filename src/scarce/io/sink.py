"""How do rows leave: whole or not at all into a file, one after the other into a pipe?

Text is written without needless quotes, so what came as 007 goes as 007, and missing values are
empty. On a terminal, text that could act on it is shown as escapes. A file appears under its
name when its last row is written (see atomic.py); what exists is not replaced unasked. A reader
that goes away ends the writing.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import sys
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv as pacsv
import pyarrow.parquet as pq

from scarce.errors import Argument, DataError, UsageError, printable, refuse_word
from scarce.io.atomic import whole_file
from scarce.io.source import FORMATS, TEXT, format_of
from scarce.io.text import TextForm

Write = Callable[[pa.Table], None]

DELIMITERS = {"csv": ",", "tsv": "\t"}
BROKEN_OFF = b"\xff\xff\xff\xff\x08\x00\x00\x00"  # of Arrow's stream: a message of 8 bytes follows
SPECIAL = '["\r\n{mark}]'
FORMULA = "^'*[-=+@\t\r\n\uff1d\uff0b\uff0d\uff20]"  # also the wide forms of = + - @
NUMBER = "'*[-+]([0-9]+([.,][0-9]*)?|[.,][0-9]+)([eE][-+]?[0-9]+)?"


def refuse_existing(path: str | os.PathLike[str] | None, force: bool) -> None:
    """Refuse to replace a file unasked, or a folder that is not there or cannot be written into.

    Examples
    --------
    >>> refuse_existing(__file__, force=False)
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: ... exists already. Replace it with force=True, or give another name.
    """
    if path is None or os.fspath(path) == "-":
        return
    target = Path(path)
    if target.is_dir():
        raise UsageError(
            "{file!r} is a folder.",
            code="is-folder",
            file=str(target),
            remedy="Give the name of a file in it.",
        )
    if target.exists() and not force:
        raise UsageError(
            "{file!r} exists already.",
            code="file-exists",
            file=str(target),
            force=Argument("force", True),
            remedy="Replace it with {force}, or give another name.",
        )
    folder = str(target.parent)
    if not target.parent.is_dir():
        raise UsageError(
            "There is no folder {folder!r} to write {file!r} into.",
            code="no-folder",
            folder=folder,
            file=target.name,
            quoted=shlex.quote(folder),
            remedy="Create it first: mkdir -p {quoted}",
        )
    if not os.access(target.parent, os.W_OK | os.X_OK):  # said now, not after the work
        raise UsageError(
            "The folder {folder!r} is not writable, so {file!r} cannot go there.",
            code="cannot-write",
            folder=folder,
            file=target.name,
            remedy="Give a name in another folder, or change its permissions.",
        )


def sink_format(path: str | os.PathLike[str] | None, to: str | None) -> tuple[str, str | None]:
    """Return the format and compression that rows are to be written in."""
    if to is not None:
        refuse_word("to", to, FORMATS)
    if path is None or os.fspath(path) == "-":
        return to or "csv", None
    if to is None:
        return format_of(path)
    try:
        packing = format_of(path)[1]
    except UsageError:
        packing = None
    return to, packing if to in TEXT else None


@contextlib.contextmanager
def write_tables(
    path: str | os.PathLike[str] | None,
    *,
    to: str | None = None,
    force: bool = False,
    form: TextForm | None = None,
    formula_safe: bool = False,
) -> Iterator[Write]:
    """Write tables with the same columns, one after the other.

    Parameters
    ----------
    path : path or None
        The file; None or "-" for standard output.
    to : {"csv", "tsv", "parquet", "arrow"}, optional
        The format; by default what the ending says, CSV on standard output. On standard output
        "arrow" is an Arrow stream.
    force : bool
        Whether an existing file may be replaced.
    form : TextForm, optional
        The delimiter and decimal point of CSV; the encoding is always UTF-8.
    formula_safe : bool
        Whether text that a spreadsheet would take for a formula gets an apostrophe; other formats
        hold no formulas.

    Yields
    ------
    callable
        Writes a table's rows; the first one gives the columns and their types.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     with write_tables(Path(folder, "p.csv")) as write:
    ...         write(pa.table({"id": ["007", "a,b"], "prob": [0.25, None]}))
    ...     print(Path(folder, "p.csv").read_text(), end="")
    id,prob
    007,0.25
    "a,b",
    """
    kind, packing = sink_format(path, to)
    if path is None or os.fspath(path) == "-":
        if sys.stdout is None:
            raise UsageError(
                "Standard output is closed.",
                code="no-output",
                out=Argument("out", ...),
                remedy="Name a file for the rows with {out}.",
            )
        stream = getattr(sys.stdout, "buffer", sys.stdout)
        if sys.stdout.isatty():
            if kind not in TEXT:
                raise UsageError(
                    "Standard output is a terminal, and {kind} is not text.",
                    code="binary-to-terminal",
                    kind=kind,
                    out=Argument("out", ...),
                    remedy="Name a file with {out}.",
                )
            stream = _ForReader(stream)
        with _writer(stream, kind, form, formula_safe, piped=True) as write:
            yield write
        stream.flush()
        return
    refuse_existing(path, force)
    with whole_file(path, force=force) as temporary, pa.OSFile(str(temporary), "wb") as file:
        sink = file if packing is None else pa.CompressedOutputStream(file, packing)
        with _writer(sink, kind, form, formula_safe, piped=False) as write:
            yield write
        if packing is not None:
            sink.close()


class _ForReader:
    """Rows of text on a terminal: what is not visible is shown as an escape."""

    def __init__(self, stream: Any) -> None:
        self.stream, self.flush = stream, stream.flush

    def write(self, text: Any) -> None:
        """Write whole lines."""
        shown = printable(bytes(text).decode("utf-8", "surrogateescape"), keep="\n\t")
        self.stream.write(shown.encode("utf-8", "backslashreplace"))


@contextlib.contextmanager
def _writer(
    sink: Any, kind: str, form: TextForm | None, formula_safe: bool, *, piped: bool
) -> Iterator[Write]:
    opened: Any = None
    mark, point = DELIMITERS.get(kind, ","), "."
    if form is not None and kind in TEXT:
        mark, point = (form.delimiter or mark) if kind == "csv" else mark, form.decimal

    def write(table: pa.Table) -> None:
        nonlocal opened
        if kind in TEXT:
            if formula_safe:
                table = without_formulas(table)
            if opened is None:
                opened = True
                sink.write(_header(table.column_names, mark))
            if table.num_rows:
                sink.write(csv_bytes(table, mark, point))
            return
        if opened is None:
            if kind == "parquet":
                opened = pq.ParquetWriter(sink, table.schema, compression="zstd")
            elif piped:
                opened = pa.ipc.new_stream(sink, table.schema)
            else:
                opened = pa.ipc.new_file(sink, table.schema)
        opened.write_table(table)

    try:
        yield write
    except BaseException:
        if opened is not None and opened is not True:
            with contextlib.suppress(Exception):
                # a stream that just ends is whole to its reader: announce what never comes
                sink.write(BROKEN_OFF) if piped and kind != "parquet" else opened.close()
        raise
    if opened is not None and opened is not True:
        opened.close()


def csv_bytes(table: pa.Table, mark: str = ",", point: str = ".") -> Any:
    """Return a table's rows as text, with quotes only where a value needs them.

    Examples
    --------
    >>> bytes(csv_bytes(pa.table({"id": ["1", "a,b"], "p": [0.5, float("nan")]})))
    b'1,0.5\\n"a,b",\\n'
    """
    table = _without_nan(table)
    if point != ".":
        table = _with_point(table, point)
    out = pa.BufferOutputStream()
    plain = pacsv.WriteOptions(include_header=False, delimiter=mark, quoting_style="none")
    try:
        pacsv.write_csv(table, out, plain)
        return out.getvalue()
    except (
        pa.ArrowInvalid,
        pa.ArrowNotImplementedError,
    ):  # some value holds a delimiter, a quote or a line end
        pass
    pieces = []
    for name, column in zip(table.column_names, table.columns, strict=True):
        words = column if _is_text(column.type) else _spelled(column, name)
        if _is_text(column.type):
            quoted = pc.binary_join_element_wise(
                '"', pc.replace_substring(words, '"', '""'), '"', ""
            )
            special = pc.match_substring_regex(words, SPECIAL.format(mark=mark))
            words = pc.if_else(special, quoted, words)
        pieces.append(words.cast(pa.large_string()))
    empty = pa.scalar("", pa.large_string())
    lines = pc.binary_join_element_wise(
        *pieces,
        pa.scalar(mark, pa.large_string()),
        null_handling="replace",
        null_replacement="",
    )
    ended = pc.binary_join_element_wise(lines, pa.scalar("\n", pa.large_string()), empty)
    if isinstance(ended, pa.ChunkedArray):
        ended = pa.concat_arrays(ended.chunks)
    return ended.buffers()[2]


def without_formulas(table: pa.Table) -> pa.Table:
    """Return a table whose text no spreadsheet takes for a formula: such cells begin with '.

    Numbers stay. A cell that has the apostrophe already gets another, so that `with_formulas`
    gives back what was there.

    Examples
    --------
    >>> without_formulas(pa.table({"=a": ["=1+1", "-0.5", "+49 30", "b", "'=1", None]})).to_pydict()
    {"'=a": ["'=1+1", '-0.5', "'+49 30", 'b', "''=1", None]}
    """
    for place, field in enumerate(table.schema):
        kind = field.type.value_type if pa.types.is_dictionary(field.type) else field.type
        if _is_text(kind):
            words = table.column(place).cast(kind)
            formula = pc.and_(
                pc.match_substring_regex(words, FORMULA),
                pc.invert(pc.match_substring_regex(words, f"^({NUMBER})$")),
            )
            safe = pc.binary_join_element_wise(pa.scalar("'", kind), words, pa.scalar("", kind))
            table = table.set_column(place, field.name, pc.if_else(formula, safe, words))
    return table.rename_columns(
        [f"'{name}" if _is_formula(name) else name for name in table.column_names]
    )


def with_formulas(word: str) -> str:
    """Return a cell as it was before `without_formulas`.

    Examples
    --------
    >>> with_formulas("'=1+1"), with_formulas("'tis"), with_formulas("-0.5")
    ('=1+1', "'tis", '-0.5')
    """
    return word[1:] if word.startswith("'") and _is_formula(word) else word


def _is_formula(word: str) -> bool:
    return bool(re.match(FORMULA, word)) and not re.fullmatch(NUMBER, word)


def _with_point(table: pa.Table, point: str) -> pa.Table:
    """Numbers spelled with another decimal point."""
    for place, field in enumerate(table.schema):
        if pa.types.is_floating(field.type):
            words = table.column(place).cast(pa.string())
            table = table.set_column(place, field.name, pc.replace_substring(words, ".", point))
    return table


def _spelled(column: pa.ChunkedArray, name: str) -> pa.ChunkedArray:
    try:
        return column.cast(pa.string())
    except (pa.ArrowNotImplementedError, pa.ArrowInvalid) as error:
        raise DataError(
            "Column {column!r} holds {kind}, which a text file cannot hold.",
            code="column-type",
            column=name,
            kind=str(column.type),
            remedy="Write Parquet or Arrow instead, or name the columns to hand on.",
        ) from error


def _is_text(kind: pa.DataType) -> bool:
    return bool(pa.types.is_string(kind) or pa.types.is_large_string(kind))


def _without_nan(table: pa.Table) -> pa.Table:
    """NaN is how numbers say missing; in a table that is an empty cell."""
    for place, field in enumerate(table.schema):
        if pa.types.is_dictionary(field.type):
            column = table.column(place).cast(field.type.value_type)
            table = table.set_column(place, field.name, column)
        elif pa.types.is_floating(field.type):
            column = table.column(place)
            lost = pc.is_nan(column)
            if pc.any(lost).as_py():
                held = pc.if_else(lost, pa.scalar(None, field.type), column)
                table = table.set_column(place, field.name, held)
    return table


def _header(names: list[str], mark: str) -> bytes:
    cells = []
    for name in names:
        special = any(sign in name for sign in ('"', "\r", "\n", mark))
        cells.append('"' + name.replace('"', '""') + '"' if special else name)
    return (mark.join(cells) + "\n").encode()
