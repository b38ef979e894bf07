"""Rows leave whole or not at all, spelled as their owner would."""

import csv
import io
import os
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from scarce.errors import DataError, UsageError
from scarce.io.sink import (
    csv_bytes,
    refuse_existing,
    sink_format,
    with_formulas,
    without_formulas,
    write_tables,
)
from scarce.io.source import format_of, open_table
from scarce.io.text import TextForm
from tests.problems import refused

HOSTILE = ["plain", "a,b", 'say "no"', "two\nlines", "cr\rlf", "tab\there", "", "ü,ö", None]


@pytest.mark.parametrize("mark", [",", "\t"])
def test_any_text_survives_python_s_own_csv_reader(mark):
    table = pa.table({"w": HOSTILE, "x": np.arange(len(HOSTILE)) / 4})
    text = bytes(csv_bytes(table, mark)).decode()
    rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=mark))
    assert [row[0] for row in rows] == [word or "" for word in HOSTILE]
    assert [float(row[1]) for row in rows] == table.column("x").to_pylist()


def test_numbers_survive_to_the_last_bit():
    rng = np.random.default_rng(0)
    x = np.concatenate([rng.normal(size=2000) * 10.0 ** rng.integers(-300, 300, 2000), [5e-324]])
    for words in (["a"], ["a,b"]):  # the quick way, and the one with quotes
        table = pa.table({"x": x, "w": words * len(x)})
        lines = bytes(csv_bytes(table)).decode().splitlines()
        assert [float(line.partition(",")[0]) for line in lines] == x.tolist()


def test_missing_is_an_empty_cell():
    table = pa.table({"x": [1.0, float("nan"), None], "w": ["a", None, "b,c"]})
    assert bytes(csv_bytes(table)) == b'1,a\n,\n,"b,c"\n'


def test_text_is_written_as_text_was_read(tmp_path):
    path = tmp_path / "p.csv"
    with write_tables(path, form=TextForm(";", "utf-8", ",")) as write:
        write(pa.table({"id": ["a;b", "c,d"], "prob": [0.25, None], "n": [1, 2]}))
    assert path.read_text() == 'id;prob;n\n"a;b";0,25;1\nc,d;;2\n'
    assert open_table(path, TextForm(";", "utf-8", ",")).read(numbers=["prob"]).column(
        "prob"
    ).to_pylist() == [0.25, None]


def test_a_failed_writer_leaves_the_old_file_and_nothing_else(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("old")
    with pytest.raises(RuntimeError), write_tables(path, force=True) as write:  # noqa: PT012
        write(pa.table({"x": [1]}))
        raise RuntimeError("stopped")
    assert path.read_text() == "old"
    assert os.listdir(tmp_path) == ["p.csv"]


def test_existing_files_are_kept_unless_forced(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("old")
    with refused("file-exists", UsageError), write_tables(path):
        pass
    assert path.read_text() == "old"
    with write_tables(path, force=True) as write:
        write(pa.table({"x": [1]}))
    assert path.read_text() == "x\n1\n"
    with refused("no-folder", UsageError):
        refuse_existing(tmp_path / "no" / "p.csv", force=True)
    with refused("is-folder", UsageError):
        refuse_existing(tmp_path, force=True)
    refuse_existing(None, force=False)
    refuse_existing("-", force=False)


@pytest.mark.parametrize("to", ["csv", "tsv", "arrow", "parquet"])
def test_standard_output_can_be_read_again(monkeypatch, to):
    sink = io.BytesIO()

    class Out:
        buffer = sink
        isatty = staticmethod(lambda: False)

    monkeypatch.setattr(sys, "stdout", Out())
    with write_tables(None, to=to) as write:
        write(pa.table({"id": ["a"], "x": [1.5]}))
        write(pa.table({"id": ["b"], "x": [2.5]}))
    assert open_table(io.BytesIO(sink.getvalue())).read().to_pydict() == {
        "id": ["a", "b"],
        "x": [1.5, 2.5],
    }


def test_formats_by_name():
    assert format_of("a.b/p.TSV.gz") == ("tsv", "gzip")
    assert sink_format(None, None) == ("csv", None)
    assert sink_format("p.data", "parquet") == ("parquet", None)
    assert sink_format("p.csv.gz", "tsv") == ("tsv", "gzip")
    with refused("unknown-ending", UsageError):
        format_of("p.cvs")
    with refused("compressed-twice", UsageError):
        format_of("p.parquet.gz")
    with refused("unknown-word", UsageError):
        sink_format(None, "cvs")


def refuse(write, table):
    write(table)
    raise DataError("The next rows are damaged.")


def test_a_stream_that_breaks_off_is_not_taken_for_whole(tmp_path, monkeypatch):
    class Out:
        buffer = io.BytesIO()
        isatty = staticmethod(lambda: False)

    table = pa.table({"x": np.arange(1000.0)})
    monkeypatch.setattr(sys, "stdout", Out())
    with pytest.raises(DataError), write_tables(None, to="arrow") as write:
        refuse(write, table)
    path = tmp_path / "cut.arrow"
    path.write_bytes(Out.buffer.getvalue())
    with refused("unreadable-file", DataError):
        open_table(path).read()
    Out.buffer = io.BytesIO()
    with write_tables(None, to="arrow") as write:
        write(table)
    path.write_bytes(Out.buffer.getvalue())
    assert open_table(path).read().num_rows == 1000


def test_tabs_stay_tabs_and_names_with_quotes_are_quoted(tmp_path):
    table = pa.table({'say "x", y': ["a"], "n": [0.5]})
    path = tmp_path / "t.tsv"
    with write_tables(path, form=TextForm(";", "utf-8", ",")) as write:
        write(table)
    assert "\t" in path.read_text().splitlines()[0]
    path = tmp_path / "t.csv"
    with write_tables(path) as write:
        write(table)
    with path.open(newline="") as file:
        assert next(csv.reader(file)) == ['say "x", y', "n"]


def test_parquet_is_packed_in_its_own_way_whatever_the_ending(tmp_path):
    assert sink_format(tmp_path / "p.gz", "parquet") == ("parquet", None)
    assert sink_format(tmp_path / "P.CSV.GZ", None) == ("csv", "gzip")


FORMULAS = [
    "=1+1",
    "+49 30 1",
    "-2+3",
    "@SUM(A1)",
    "\t=1",
    "\r=1",
    "\n=1",
    "\uff1d1",
    "'=1",
    "''@a",
]
PLAIN = ["-0.5", "+3", "-1e-5", "-.5", "-1,5", "a=b", "007", "'tis", "", "'-5", "\u2212x"]


@pytest.mark.parametrize(
    "kind", [pa.string(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())]
)
def test_cells_that_a_spreadsheet_would_run_get_an_apostrophe(kind: pa.DataType):
    held = pa.chunked_array([pa.array([*FORMULAS, *PLAIN, None], pa.string())])
    found = without_formulas(pa.table({"a": held.cast(kind), "=b": pa.nulls(len(held), "int8")}))
    assert found.column_names == ["a", "'=b"]
    cells = found.column("a").to_pylist()
    assert cells == [f"'{cell}" for cell in FORMULAS] + [*PLAIN, None]
    assert [with_formulas(cell) for cell in cells[:-1]] == [*FORMULAS, *PLAIN]


def test_formula_safe_is_for_text_alone(tmp_path: Path):
    held = pa.table({"a": ["=1", "x"], "n": [-1.5, 2.0]})
    for name in ("t.csv", "t.tsv", "t.csv.gz", "t.parquet", "t.arrow"):
        with write_tables(tmp_path / name, formula_safe=True) as write:
            write(held)
        read = open_table(tmp_path / name).read()
        first = "=1" if name in ("t.parquet", "t.arrow") else "'=1"
        assert read.to_pydict() == {"a": [first, "x"], "n": [-1.5, 2.0]}


def test_a_folder_that_cannot_be_written_into_is_said_first(tmp_path: Path, monkeypatch):
    monkeypatch.setattr(os, "access", lambda path, mode: False)
    with refused("cannot-write", UsageError):
        refuse_existing(tmp_path / "m.scarce", force=False)


@pytest.mark.parametrize("packing", ["gz", "zst", "bz2", "lz4"])
def test_packed_text_is_read_back(tmp_path: Path, packing: str):
    held = pa.table({"id": [1, 2], "x": [0.5, 1.5]})
    with write_tables(tmp_path / f"t.csv.{packing}") as write:
        write(held)
    assert open_table(tmp_path / f"t.csv.{packing}").read().equals(held)
    with (tmp_path / f"t.csv.{packing}").open("rb") as file:
        assert open_table(file).read().equals(held)
