"""Ways in which other people's tables are wrong, and the forms in which a table is written.

Every way takes a `random.Random` and a table, and returns the damaged table; a name leads to it, so
that a failing case says in words what was done. The same seed gives the same bytes. `HARMLESS` are
ways that change the bytes of a table but not what it says. Damage to bytes: see damage_bytes.py.
"""

from __future__ import annotations

import csv
import gzip
import io
from collections.abc import Callable
from random import Random
from typing import Any, NamedTuple

WORDS = (
    ["", " ", "abc", "N/A", "NA", "null", "None", "nan", "-nan", "inf", "-inf", "Infinity", "1e308"]
    + ["-1e308", "1e309", "1e-320", "-1", "2", "0.5", "1.0000001", "-0.0", "1,5", "1.234,5", "12 %"]
    + ["1 000", "1_000", "0x10", "1e", "--", "+1", "01", "٣", "½", "true", "FALSE", "yes", "?"]
    + [
        '"',
        "'",
        '""',
        "a,b",
        "a;b",
        "a\tb",
        "a\nb",
        "a\r\nb",
        "\ufeff1",
        "\x00",
        "\x1b[31m",
        "\u202e1",
    ]
    + [
        "😀",
        "é",
        "1\u00a0000",
        "9" * 19,
        "-" + "9" * 30,
        "9" * 400,
        "x" * 5000,
        "=1+1",
        "</script>",
    ]
    + ["2024-01-31", "2024-01-31T10:00:00Z", "12:30", "{}", "[1]", "#", "\\", "%s", "{0}", "$(id)"]
)
NAMES = [
    "",
    " ",
    "\ufeffid",
    "a\nb",
    "x" * 300,
    "prob",
    "label",
    "id",
    "row",
    "action",
    "inclusion",
] + ["<b>", "ü", "a,b", '"', "0", "nan", "__class__", "score ", "FRAUD", "\x00", "-", "--json"]
LABELS = [
    ["-1", "1"],
    ["yes", "no"],
    ["1", "2"],
    ["0", "1", "2"],
    ["0.5", "1.5"],
    ["True", "False"],
]
LABELS += [["0", "1", "9"], ["1"], ["0"], [""], ["", "1"], ["", "0"], ["nan", "1"], ["a b", "<c>"]]
LABELS += [["0", "1", "NA"], ["1.0", "0.0", ""], ["+1", "-1"], ["10" * 20, "0"], ["0", "1", "-1"]]


class Cells(NamedTuple):
    """A table as text: the names of its columns, and rows of cells that may be ragged."""

    names: list[str]
    rows: list[list[str]]

    def copy(self) -> Cells:
        return Cells(list(self.names), [list(row) for row in self.rows])


TableDamage = Callable[[Random, Cells], Cells]


# --- of a table -----------------------------------------------------------------------------------


def odd_cells(rng: Random, cells: Cells) -> Cells:
    for _ in range(rng.choice([1, 1, 2, 5])):
        if cells.rows:
            row = rng.choice(cells.rows)
            if row:
                row[rng.randrange(len(row))] = rng.choice(WORDS)
    return cells


def odd_column(rng: Random, cells: Cells) -> Cells:
    if cells.names:
        place = rng.randrange(len(cells.names))
        words = rng.sample(WORDS, rng.choice([1, 1, 2, 6]))
        for row in cells.rows:
            if place < len(row):
                row[place] = rng.choice(words)
    return cells


def scaled_column(rng: Random, cells: Cells) -> Cells:
    if cells.names:
        place = rng.randrange(len(cells.names))
        factor = rng.choice([1e300, 1e308, 1e-300, -1.0, 0.0, 1e18, 1e150, float("inf")])
        for row in cells.rows:
            try:
                row[place] = repr(float(row[place]) * factor)
            except (ValueError, IndexError):
                continue
    return cells


def holes(rng: Random, cells: Cells) -> Cells:
    share = rng.choice([0.1, 0.9, 1.0])
    for row in cells.rows:
        for place in range(len(row)):
            if rng.random() < share:
                row[place] = ""
    return cells


def other_labels(rng: Random, cells: Cells) -> Cells:
    known = [n for n in ("fraud", "label", "seen") if n in cells.names]
    if known:
        place = cells.names.index(known[0])
        values = rng.choice(LABELS)
        for row in cells.rows:
            if place < len(row):
                row[place] = rng.choice(values)
    return cells


def one_class(rng: Random, cells: Cells) -> Cells:
    known = [n for n in ("fraud", "label", "seen") if n in cells.names]
    if known and cells.rows:
        place = cells.names.index(known[0])
        kept = rng.choice(cells.rows)[place : place + 1]
        others = [row for row in cells.rows if row[place : place + 1] != kept]
        rows = [row for row in cells.rows if row[place : place + 1] == kept]
        return Cells(cells.names, rows + others[: rng.random() < 0.5])  # one other may stay
    return cells


def few_rows(rng: Random, cells: Cells) -> Cells:
    return Cells(cells.names, cells.rows[: rng.choice([0, 0, 1, 2, 3, 7])])


def many_rows(rng: Random, cells: Cells) -> Cells:
    return Cells(cells.names, cells.rows * 3 if rng.random() < 0.5 else cells.rows[:1] * 300)


def ragged(rng: Random, cells: Cells) -> Cells:
    for _ in range(rng.choice([1, 3])):
        if cells.rows:
            row = rng.choice(cells.rows)
            if rng.random() < 0.5:
                row.extend(["7"] * rng.choice([1, 2, 50]))
            else:
                del row[rng.randrange(len(row) + 1) :]
    return cells


def without_column(rng: Random, cells: Cells) -> Cells:
    return _with_columns(cells, rng.sample(range(len(cells.names)), max(len(cells.names) - 1, 0)))


def one_column(rng: Random, cells: Cells) -> Cells:
    return _with_columns(cells, rng.sample(range(len(cells.names)), min(len(cells.names), 1)))


def twice_a_column(rng: Random, cells: Cells) -> Cells:
    if not cells.names:
        return cells
    return _with_columns(cells, [*range(len(cells.names)), rng.randrange(len(cells.names))])


def other_order(rng: Random, cells: Cells) -> Cells:
    return _with_columns(cells, rng.sample(range(len(cells.names)), len(cells.names)))


def renamed(rng: Random, cells: Cells) -> Cells:
    if cells.names:
        place = rng.randrange(len(cells.names))
        cells.names[place] = rng.choice([*NAMES, cells.names[place].upper(), cells.names[0]])
    return cells


def no_header(rng: Random, cells: Cells) -> Cells:
    return Cells(cells.rows[0], cells.rows[1:]) if cells.rows else cells


def wide(rng: Random, cells: Cells) -> Cells:
    more = rng.choice([12, 60])  # more only takes longer
    names = [f"wide {j}" for j in range(more)]
    return Cells(
        cells.names + names, [row + [str(rng.random())[:5]] * more for row in cells.rows[:60]]
    )


def many_words(rng: Random, cells: Cells) -> Cells:
    if cells.names:
        place = rng.randrange(len(cells.names))
        for number, row in enumerate(cells.rows):
            if place < len(row):
                row[place] = f"level {number if rng.random() < 0.9 else 0}"
    return cells


def _with_columns(cells: Cells, places: list[int]) -> Cells:
    rows = [[row[j] for j in places if j < len(row)] for row in cells.rows]
    return Cells([cells.names[j] for j in places], rows)


OF_TABLES: dict[str, TableDamage] = {
    way.__name__.replace("_", " "): way
    for way in (
        [odd_cells, odd_column, scaled_column, holes, other_labels, one_class, few_rows, many_rows]
        + [ragged, without_column, one_column, twice_a_column, other_order, renamed, no_header]
        + [wide, many_words]
    )
}


# --- how a table is written -----------------------------------------------------------------------


def to_text(cells: Cells, mark: str = ",") -> bytes:
    """Write cells as CSV, or with another mark between them."""
    out = io.StringIO(newline="")
    writer = csv.writer(out, delimiter=mark, lineterminator="\n")
    writer.writerow(cells.names)
    writer.writerows(row or [""] for row in cells.rows)
    return out.getvalue().encode("utf-8", "surrogatepass")


def to_arrow(cells: Cells, rng: Random | None = None) -> Any:
    """Return a pyarrow Table: numbers where a column has only such; with `rng`, odd types too."""
    import pyarrow as pa

    columns = []
    for place in range(len(cells.names)):
        texts = [row[place] if place < len(row) else "" for row in cells.rows]
        try:
            column = pa.array([float(t) if t else None for t in texts], pa.float64())
            if all("." not in t and "e" not in t and "n" not in t for t in texts):
                column = column.cast(pa.int64())
        except (ValueError, pa.ArrowInvalid):
            column = pa.array([t or None for t in texts], pa.string())
        columns.append(column)
    if rng is not None and columns:
        place = rng.randrange(len(columns))
        columns[place] = _odd_type(rng, columns[place])
    return pa.Table.from_arrays(columns, names=list(cells.names))


def _odd_type(rng: Random, column: Any) -> Any:
    import pyarrow as pa

    kinds = [
        pa.string(),
        pa.large_string(),
        pa.binary(),
        pa.bool_(),
        pa.int8(),
        pa.uint64(),
        pa.null(),
    ]
    kinds += [pa.float16(), pa.float32(), pa.decimal128(38, 6), pa.timestamp("us"), pa.date32()]
    kinds += [
        pa.duration("s"),
        pa.dictionary(pa.int8(), pa.string()),
        pa.time64("ns"),
        pa.string_view(),
    ]
    kind = rng.choice([*kinds, "list", "struct", "nan", "dictionary"])
    try:
        if kind == "list":
            return pa.array([[1.0, None] if value.is_valid else None for value in column])
        if kind == "struct":
            return pa.StructArray.from_arrays([column, column], ["a", "b"])
        if kind == "nan":
            return pa.array([float("nan")] * len(column))
        if kind == "dictionary":
            return column.dictionary_encode()
        if kind == pa.null():
            return pa.nulls(len(column))
        return column.cast(kind, safe=False)
    except pa.ArrowException:
        return pa.nulls(len(column), pa.string())


def to_file(cells: Cells, form: str, rng: Random | None = None) -> bytes:
    """Write a table in a form: csv, tsv, csv.gz, csv.zst, parquet, arrow or stream."""
    import pyarrow as pa
    import pyarrow.parquet as pq

    if form in ("csv", "tsv", "csv.gz", "csv.zst"):
        text = to_text(cells, "\t" if form == "tsv" else ",")
        if form == "csv.gz":
            return gzip.compress(text, mtime=0)
        return pa.compress(text, "zstd", asbytes=True) if form == "csv.zst" else text
    table = to_arrow(cells, rng)
    out = io.BytesIO()
    if form == "parquet":
        size = rng.choice([1, 50, 1000]) if rng else None
        try:
            pq.write_table(table, out, row_group_size=size)
        except pa.ArrowNotImplementedError:  # an older pyarrow, which cannot write text views
            out = io.BytesIO()
            pq.write_table(_without_views(table), out, row_group_size=size)
    elif form == "arrow":
        with pa.ipc.new_file(out, table.schema) as writer:
            writer.write_table(table, 40)
    else:
        with pa.ipc.new_stream(out, table.schema) as writer:
            writer.write_table(table, 40)
    return out.getvalue()


def _without_views(table: Any) -> Any:
    """Return the table with text views as plain text."""
    import pyarrow as pa

    plain = [f.with_type(pa.string()) if f.type == pa.string_view() else f for f in table.schema]
    return table.cast(pa.schema(plain))


FORMS = ("csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow", "stream")


def _quoted(raw: bytes) -> bytes:
    out = io.StringIO(newline="")
    rows = csv.reader(io.StringIO(raw.decode(), newline=""))
    csv.writer(out, quoting=csv.QUOTE_ALL, lineterminator="\n").writerows(rows)
    return out.getvalue().encode()


HARMLESS: dict[str, Callable[[bytes], bytes]] = {
    "byte order mark": lambda raw: b"\xef\xbb\xbf" + raw,
    "Windows line ends": lambda raw: raw.replace(b"\n", b"\r\n"),
    "no last line end": lambda raw: raw.rstrip(b"\n"),
    "every cell quoted": _quoted,
}
