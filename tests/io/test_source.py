"""Tables walked from their beginning: every format, every length, the owner's own spelling."""

import gzip
import io
import os
import threading

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest

from scarce.errors import DataError, UsageError
from scarce.io.open import open_rows
from scarce.io.sink import write_tables
from scarce.io.source import open_table
from scarce.io.text import TextForm
from scarce.io.values import number_column
from tests.problems import refused

TEXT = b"id,score,city\n007,1.5,Ulm\n008,NA,\n,-2e3,Bonn\n"


def held(text=TEXT, form=None):
    return open_table(io.BytesIO(text), form)


def test_numbers_are_numbers_and_the_rest_is_as_written():
    part = held().read(numbers=["score"], exact=True)
    assert part.to_pydict() == {
        "id": ["007", "008", ""],
        "score": [1.5, None, -2000.0],
        "city": ["Ulm", "", "Bonn"],
    }


def test_without_exact_types_are_inferred_and_empty_is_missing():
    part = held().read()
    assert part.column("city").to_pylist() == ["Ulm", None, "Bonn"]
    assert part.schema.field("score").type == pa.float64()


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "tsv.zst", "parquet", "arrow"])
def test_what_is_written_is_read_again(tmp_path, ending):
    rng = np.random.default_rng(0)
    table = pa.table({"id": np.arange(1000), "x": rng.normal(size=1000), "w": ["a,b", 'c"d'] * 500})
    path = tmp_path / f"t.{ending}"
    with write_tables(path) as write:
        write(table.slice(0, 300))
        write(table.slice(300))
    source = open_table(path)
    assert source.names == ("id", "x", "w")
    assert source.read().to_pydict() == table.to_pydict()
    assert source.read(["x"]).column_names == ["x"]  # a file is walked at will


@pytest.mark.parametrize("kind", ["csv", "gz", "stream", "file", "parquet"])
def test_a_pipe_gives_what_a_file_gives(kind):
    table = pa.table({"id": np.arange(5000), "x": np.linspace(-1, 1, 5000)})
    sink = io.BytesIO()
    if kind == "stream":
        with pa.ipc.new_stream(sink, table.schema) as writer:
            writer.write_table(table)
    elif kind == "file":
        with pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table)
    elif kind == "parquet":
        pq.write_table(table, sink)
    else:
        pacsv.write_csv(table, sink)
    content = gzip.compress(sink.getvalue()) if kind == "gz" else sink.getvalue()
    read, write = os.pipe()

    def feed():
        with os.fdopen(write, "wb") as out:
            for start in range(0, len(content), 1000):  # a pipe gives a little at a time
                out.write(content[start : start + 1000])

    feeder = threading.Thread(target=feed)
    feeder.start()
    with os.fdopen(read, "rb") as stream:
        source = open_table(stream)
        assert source.read().to_pydict() == table.to_pydict()
    feeder.join()
    assert source.once == (kind in ("csv", "gz", "stream"))


def test_a_quote_that_is_left_open_is_found_in_any_column(tmp_path):
    lines = [f"{i},{i / 2},note {i}" for i in range(50)]
    lines[30] = '30,15.0,"not closed'
    path = tmp_path / "open.csv"
    path.write_text("id,score,note\n" + "\n".join(lines) + "\n")
    for columns in (None, ["score"]):  # also where the broken column is not asked for
        with refused("open-quote", DataError, column="note"):
            open_table(path).read(columns)
    lines[30] = '30,15.0,a 5" pipe'  # an odd number of quotes, and nothing is lost
    path.write_text("id,score,note\n" + "\n".join(lines) + "\n")
    assert open_table(path).read().num_rows == 50


def test_a_stream_longer_than_what_was_looked_at():
    table = pa.table({"x": np.arange(400_000), "w": ["abc"] * 400_000})
    sink = io.BytesIO()
    with pa.ipc.new_stream(sink, table.schema) as writer:
        writer.write_table(table, max_chunksize=400_000)
    assert open_table(io.BytesIO(sink.getvalue())).read().equals(table)


def test_damaged_arrow_is_refused_and_does_not_end_the_process(tmp_path):
    table = pa.table({"w": ["abc", "de"] * 100})
    sink = io.BytesIO()
    with pa.ipc.new_file(sink, table.schema) as writer:
        writer.write_table(table)
    content = bytearray(sink.getvalue())
    offsets = np.array(table.column("w").chunk(0).buffers()[1], copy=False).tobytes()[:400]
    at = bytes(content).find(offsets)
    content[at + 100 : at + 104] = b"\xff\xff\xff\x7f"
    path = tmp_path / "damaged.arrow"
    path.write_bytes(bytes(content))
    with refused("unreadable-file", DataError):
        open_table(path).read()


@pytest.mark.parametrize("kind", ["file", "stream"])
def test_a_column_whose_name_is_no_text_is_damage(tmp_path, kind):
    sink = io.BytesIO()
    table = pa.table({"amount": [1.5, 2.5]})
    with getattr(pa.ipc, f"new_{kind}")(sink, table.schema) as writer:
        writer.write_table(table)
    path = tmp_path / "damaged.arrow"
    path.write_bytes(sink.getvalue().replace(b"amount", b"a\xb2ount"))
    with refused("unreadable-file", DataError):
        open_table(path)
    if kind == "file":
        with refused("unreadable-file", DataError):
            open_rows(path)


def test_decimals_with_fewer_digits_than_places_are_damage(tmp_path):
    path = tmp_path / "damaged.arrow"
    table = pa.table({"fraud": pa.array([None], pa.decimal128(5, 9))})
    with pa.ipc.new_file(path, table.schema) as writer:
        writer.write_table(table)
    with refused("unreadable-file", DataError):
        open_table(path)


def test_a_pipe_is_read_once():
    source = held()
    source.read()
    with refused("read-twice", UsageError):
        source.read()


def test_a_long_text_comes_in_parts_and_says_how_far_it_is(tmp_path):
    path = tmp_path / "long.csv"
    n = 1_500_000
    with path.open("wb") as file:
        file.write(b"x,y\n")
        pacsv.write_csv(
            pa.table({"x": np.arange(n), "y": np.arange(n)}),
            file,
            pacsv.WriteOptions(include_header=False),
        )
    told = []
    parts = list(open_table(path).tables(progress=lambda done, total: told.append(done / total)))
    assert len(parts) > 1
    assert sum(part.num_rows for part in parts) == n
    assert told == sorted(told)
    assert told[-1] == 1
    assert told[0] < 0.9


def test_header_only_gives_an_empty_table_with_its_columns():
    part = held(b"id,score\n").read(numbers=["score"], exact=True)
    assert part.num_rows == 0
    assert [str(kind) for kind in part.schema.types] == ["string", "double"]


def test_other_ways_of_writing_text():
    form = TextForm(delimiter=";", decimal=",", header=False, missing=("-9",))
    part = held(
        "Köln;1,5\nUlm;-9\n".encode("latin-1"), TextForm(";", "latin-1", ",", False, ("-9",))
    )
    assert part.read(numbers=["f1"]).to_pydict() == {"f0": ["Köln", "Ulm"], "f1": [1.5, None]}
    assert form.header is False


@pytest.mark.parametrize(
    ("content", "words"),
    [
        (b"", "empty-file"),
        (b"a,a\n1,2\n", "duplicate-column"),
        (b"a,b\n1,2\n3\n", "ragged-line"),
        (b"a;b\n1;2\n", "wrong-delimiter"),
        (b"PAR1....", "unreadable-file"),
        (b"\x1f\x8b....", "unreadable-file"),
        (b"a,b\n1,\xff\xfe\n", "wrong-encoding"),
    ],
)
def test_bad_tables_are_refused_in_words(content, words):
    with refused(words, DataError):
        held(content).read()


def test_a_missing_column_and_a_missing_file_name_the_nearest(tmp_path):
    with refused("unknown-column", DataError, column="scor", hint=" Did you mean 'score'?"):
        held().column("scor", "--score")
    (tmp_path / "scores.csv").write_bytes(TEXT)
    with refused("no-file", DataError, hint=" Did you mean 'scores.csv'?"):
        open_table(tmp_path / "score.csv")
    with refused("is-folder", DataError):
        open_table(tmp_path)


def test_words_in_a_number_column_are_named_with_their_place():
    with refused("not-a-number", DataError, row=7, value="high"):
        number_column(pa.table({"s": ["1", "high"]}), "s", start=6)
    with refused("not-a-number", DataError, column="s", value="high", file="standard input"):
        held(b"s\n1\nhigh\n").read(numbers=["s"])
    with refused("column-type", DataError):
        number_column(pa.table({"s": pa.array([0], pa.date32())}), "s")


@pytest.mark.parametrize(
    ("cell", "point", "way"),
    [
        ("0,5", ".", "comma"),
        ("1.234,50", ",", "thousands"),
        ("1.234", ",", "thousands"),  # 1234, never 1.234
        ("1,234,567", ".", "thousands"),
        ("20 %", ".", "beside"),
        ("high", ".", "word"),
        (" s ", ".", "name"),
    ],
)
def test_what_to_do_about_a_word_is_said(cell, point, way):
    table = pa.table({"s": ["1", cell]})
    with refused("not-a-number", DataError, written=way, value=cell):
        number_column(table, "s", form=TextForm(decimal=point, delimiter=";"))


def test_names_that_say_nothing_are_read_by_content(tmp_path):
    for name, content in (("data", TEXT), ("t.gz", gzip.compress(TEXT)), ("p.unknown", TEXT)):
        (tmp_path / name).write_bytes(content)
        assert open_table(tmp_path / name).names == ("id", "score", "city")
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    feeder = threading.Thread(target=pipe.write_bytes, args=(TEXT,))
    feeder.start()
    source = open_table(pipe)
    assert source.once
    assert source.read().num_rows == 3
    feeder.join()
    (tmp_path / "t.xlsx").write_bytes(TEXT)
    with refused("foreign-format", DataError):
        open_table(tmp_path / "t.xlsx")
    with refused("network-address", DataError):
        open_table("https://example.org/p.csv")
    with refused("no-file", DataError):
        open_table("")


def test_number_columns_of_every_kind():
    for values in ([1.0, None], pa.array([1, None], pa.int8()), ["1", " "], [True, None]):
        found = number_column(pa.table({"s": values}), "s")
        assert found.dtype == np.float64
        np.testing.assert_array_equal(found, [1, np.nan])
    coded = pa.array(["1.5", "2"]).dictionary_encode()
    np.testing.assert_array_equal(number_column(pa.table({"s": coded}), "s"), [1.5, 2])


def test_true_and_false_are_numbers_where_numbers_are_asked_for(tmp_path):
    path = tmp_path / "t.csv"
    path.write_text("flag,x\nTrue,1\nFalse,2\n,3\n")
    (part,) = open_table(path).tables(["flag"], numbers=["flag"])
    assert part.column("flag").to_pylist() == [1.0, 0.0, None]
    words = pa.table({"flag": ["TRUE", "false", "0.5", ""]})
    np.testing.assert_array_equal(number_column(words, "flag"), [1.0, 0.0, 0.5, np.nan])
    with refused("not-a-number", DataError):
        number_column(pa.table({"flag": ["true", "maybe"]}), "flag")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be", "utf-32", "utf-8"])
def test_long_text_of_any_width_is_read(tmp_path, encoding):
    """The beginning that is looked at ends within a letter of two bytes."""
    text = "größe,y\n" + "".join(f"{row}.5,{row % 2}\n" for row in range(120_000))
    path = tmp_path / "t.csv"
    path.write_bytes(text.encode(encoding))
    read = open_table(path, TextForm(encoding=encoding)).read()
    assert read.column_names == ["größe", "y"]
    assert (read.num_rows, read.column("größe")[-1].as_py()) == (120_000, 119_999.5)


def test_a_link_that_leads_nowhere_is_said(tmp_path):
    (tmp_path / "loop.csv").symlink_to(tmp_path / "loop.csv")
    with refused("broken-link", DataError):
        open_table(tmp_path / "loop.csv")


@pytest.mark.parametrize("ending", ["parquet", "arrow"])
def test_values_that_mean_missing_are_missing_in_typed_columns_too(tmp_path, ending):
    held = pa.table(
        {
            "x": [1.5, -999.0],
            "n": pa.array([-999, 2], pa.int16()),
            "w": ["-999", "none"],
            "b": [True, None],
        }
    )
    with write_tables(tmp_path / f"t.{ending}") as write:
        write(held)
    source = open_table(tmp_path / f"t.{ending}", TextForm(missing=("-999", "none", "0.5")))
    read = source.read()
    assert read.to_pydict() == {
        "x": [1.5, None],
        "n": [None, 2],
        "w": [None, None],
        "b": [True, None],
    }
    assert read.schema == held.schema
    assert source.read(exact=True).equals(held)  # handed on as it is
