"""Rows in files: one reading whatever the format, and one clear sentence for every bad file."""

import gzip
import os

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.feather as feather
import pyarrow.parquet as pq
import pytest

from scarce.engine.memory import ArrayRows
from scarce.errors import DataError, StoreError, UsageError
from scarce.io import open, parts
from scarce.io import source as table_source
from scarce.io.cache import CachedRows
from scarce.io.open import open_rows
from scarce.io.parts import PartedRows
from scarce.io.schema import Schema
from scarce.io.source import open_table
from scarce.io.store import load
from tests.engine import kernels
from tests.problems import refused, warned


def make_table(n=5000, seed=0):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=n)
    x[rng.random(n) < 0.1] = np.nan
    label = np.where(rng.random(n) < 0.5, None, (rng.random(n) < 0.2).astype(int))
    return pa.table(
        {
            "x": pa.array(x, from_pandas=True),
            "n": pa.array(rng.integers(0, 9, n)),
            "city": pa.array(rng.choice(["Ulm", "Bonn", "Köln"], n)),
            "w": pa.array(rng.random(n)),
            "y": pa.array(label, type=pa.int64()),
        }
    )


def write(table, folder, kind):
    path = folder / f"data.{kind}"
    if kind in ("csv", "csv.gz", "csv.zst"):
        packing = {"csv.gz": "gzip", "csv.zst": "zstd"}.get(kind)
        with pa.output_stream(str(path), compression=packing) as sink:
            pacsv.write_csv(table, sink)
    elif kind == "tsv":
        pacsv.write_csv(table, path, pacsv.WriteOptions(delimiter="\t"))
    elif kind == "parquet":
        pq.write_table(table, path, row_group_size=700)
    elif kind == "feather":
        feather.write_feather(table, path, compression="zstd", chunksize=900)
    else:
        with pa.OSFile(str(path), "wb") as sink, pa.ipc.new_file(sink, table.schema) as writer:
            writer.write_table(table, max_chunksize=900)
    return path


KINDS = ["csv", "csv.gz", "csv.zst", "tsv", "parquet", "feather", "arrow"]


@pytest.mark.parametrize("kind", KINDS)
def test_every_format_reads_the_same(tmp_path, kind):
    table = make_table()
    rows = open_rows(write(table, tmp_path, kind), label="y", weight="w")
    expected = open_rows(table, label="y", weight="w")
    assert rows.names == ("x", "n", "city")
    assert rows.schema == expected.schema
    assert len(rows) == 5000
    for found, wanted in zip(rows.blocks(), expected.blocks(), strict=True):
        np.testing.assert_array_equal(found.X, wanted.X)
        np.testing.assert_array_equal(found.y, wanted.y)
        np.testing.assert_array_equal(found.weight, wanted.weight)


@pytest.fixture
def small_blocks(monkeypatch):
    """Blocks of 1,000 rows and next to no memory: large data in small."""
    for module in (parts, open):
        monkeypatch.setattr(module, "block_rows", lambda _: 1000)
    monkeypatch.setattr("scarce.engine.memory.block_rows", lambda _: 1000)
    monkeypatch.setattr(open, "IN_MEMORY_BYTES", 0)


@pytest.mark.parametrize("kind", ["parquet", "arrow"])
def test_parts_are_row_groups_and_opened_by_the_workers(tmp_path, small_blocks, kind):
    rows = open_rows(write(make_table(), tmp_path, kind), label="y")
    assert isinstance(rows, PartedRows)
    assert rows.n_blocks == (7 if kind == "parquet" else 6)
    expected = rows.fold(kernels.extremes)
    for engine in ("threads", "processes:2"):
        np.testing.assert_array_equal(rows.fold(kernels.extremes, engine=engine), expected)
    assert expected[1, 1] == 8


def test_small_row_groups_are_joined_and_large_ones_kept(tmp_path, monkeypatch):
    monkeypatch.setattr(parts, "block_rows", lambda _: 2100)
    source = parts.PartedSource([write(make_table(), tmp_path, "parquet")], "parquet")
    assert [part.groups for part in source.parts(3)] == [(0, 1, 2), (3, 4, 5), (6, 7)]
    monkeypatch.setattr(parts, "block_rows", lambda _: 10)
    assert len(source.parts(3)) == 8


def as_bytes(rows, **how):
    def kernel(block, _):
        known = np.nan_to_num(block.X)
        return known.T @ known

    return rows.fold(kernel, **how).tobytes()


@pytest.mark.parametrize("kind", ["parquet", "csv", "arrow"])
def test_invariant_streamed_cached_and_held_rows_give_the_same_bits(
    tmp_path, small_blocks, monkeypatch, kind
):
    path = write(make_table(), tmp_path, kind)
    cached = open_rows(path, label="y", cache=True)
    assert isinstance(cached, CachedRows)
    other = [open_rows(path, label="y")]
    monkeypatch.setattr(open, "IN_MEMORY_BYTES", 10**9)
    other.append(open_rows(path, label="y"))
    assert isinstance(other[1], ArrayRows)
    for rows in other:
        assert rows.starts == cached.starts
        assert as_bytes(rows) == as_bytes(cached)
    assert as_bytes(cached, engine="threads") == as_bytes(cached)


def test_large_text_is_streamed_into_the_cache(tmp_path, small_blocks, monkeypatch):
    path = write(make_table(), tmp_path, "csv")
    held = open_rows(path, label="y")
    monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    streamed = open_rows(path, label="y", engine="threads")
    assert isinstance(streamed, CachedRows)
    assert streamed.schema == held.schema
    assert streamed.starts == held.starts == (0, 1000, 2000, 3000, 4000, 5000)
    assert as_bytes(streamed) == as_bytes(held)
    with refused("too-large", UsageError):
        open_rows(path, label="y", cache=False)


def test_only_needed_columns_are_read(tmp_path, monkeypatch):
    path = write(make_table(), tmp_path, "parquet")
    asked = []
    read = parts.read_part
    monkeypatch.setattr(parts, "read_part", lambda p, k, c: asked.append(list(c)) or read(p, k, c))
    open_rows(path, columns=["x"], label="y")
    assert {name for columns in asked for name in columns} == {"x", "y"}


def test_several_files_and_folders(tmp_path):
    folder = tmp_path / "many"
    folder.mkdir()
    for number in range(3):
        pq.write_table(make_table(100, number), folder / f"{number}.parquet")
    rows = open_rows(folder, label="y")
    assert len(rows) == 300
    assert len(open_rows(sorted(folder.iterdir()), label="y")) == 300
    pq.write_table(make_table(10).drop_columns(["w"]), folder / "3.parquet")
    with refused("column-mismatch", DataError):
        open_rows(folder)


def test_a_model_s_schema_reads_new_files(tmp_path):
    schema = open_rows(make_table(), label="y").schema
    assert Schema.from_dict(schema.to_dict()) == schema
    new = pa.table({"city": ["Ulm", "Aachen"], "w": [0.0, 0.0], "n": [1, 2], "x": [0.5, None]})
    path = write(new, tmp_path, "parquet")
    with refused("unknown-level", DataError):
        open_rows(path, like=schema)
    rows = open_rows(path, like=schema, unknown="missing")
    assert rows.names == ("x", "n", "city", "w")
    assert rows.schema.label is None
    np.testing.assert_array_equal(next(rows.blocks()).X, [[0.5, 1, 2, 0], [np.nan, 2, np.nan, 0]])
    with refused("unknown-column", DataError):
        open_rows(new.drop_columns(["n"]), like=schema)


def test_a_new_file_may_spell_or_lack_what_the_schema_knows():
    schema = open_rows(pa.table({"a": [1.0, 2.0], "c": ["2", "x"], "y": [0, 1]}), label="y").schema

    def read(table, **how):
        return next(open_rows(pa.table(table), like=schema, **how).blocks()).X.tolist()

    assert read({"a": [1.0], "c": [2]}) == [[1, 0]], "a text level that looks like a number"
    with warned("all-missing"):
        (row,) = read({"a": [1.0], "c": pa.nulls(1)})
    assert np.isnan(row[1])
    assert np.isnan(read({"a": [-9.0], "c": ["?"]}, missing=[-9, "?"])).all()
    with refused("unknown-level", DataError):
        read({"a": [1.0], "c": [7]})
    with refused("column-type", DataError):
        read({"a": pa.array([1], pa.timestamp("s")), "c": ["x"]})
    with refused("not-a-number", DataError):
        read({"a": ["word"], "c": ["x"]})


@pytest.mark.parametrize(
    ("column", "role"),
    [
        (pa.array([[1], [2]]), "label"),
        (pa.array([1, 2], pa.timestamp("s")), "label"),
        (pa.array([1, 2], pa.timestamp("s")), "weight"),
        (pa.array([b"a", b"b"]), "label"),
    ],
    ids=str,
)
def test_labels_and_weights_of_odd_types_are_refused(column, role):
    code = "label-type" if role == "label" else "column-type"
    with refused(code, DataError, column="z"):
        open_rows(pa.table({"a": [1.0, 2.0], "z": column}), **{role: "z"})


def test_a_single_name_is_a_list_of_one():
    table = pa.table({"id": ["p", "q"], "age": [1, 2], "n": [3, 4]})
    assert open_rows(table, drop="id").names == ("age", "n")
    assert open_rows(table, columns="age").names == ("age",)


# --- bad files: one clear sentence each -----------------------------------------------------------


def bad(tmp_path, name, content):
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode())
    return path


CUT_GZIP = gzip.compress(b"a,b\n" + b"1,2\n" * 9999)[:-30]
BAD = {
    "empty file": ("a.csv", "", {}, "empty-file"),
    "header only": ("a.csv", "a,b\n", {}, "no-rows"),
    "ragged": ("a.csv", "a,b\n1,2\n1,2,3\n", {}, "ragged-line"),
    "duplicate names": ("a.csv", "a,b,a\n1,2,3\n", {}, "duplicate-column"),
    "infinity": ("a.csv", "a,b\n1,2\n1,inf\n", {}, "infinite-values"),
    "absent label": ("a.csv", "a,fraud\n1,1\n", {"label": "frad"}, "unknown-column"),
    "-1 labels": ("a.csv", "a,y\n1,-1\n2,1\n", {"label": "y"}, "unclear-labels"),
    "stray word": (
        "a.csv",
        "a,b\n1,2\n2,3\n3,oops\n4,4\n",
        {},
        "not-a-number",
    ),
    "not UTF-8": ("a.csv", "a,b\nKöln,1\n".encode("latin-1"), {}, "wrong-encoding"),
    "one long line": ("a.csv", "a,b\n" + "1" * 10_000_000, {}, "long-line"),
    "percent": ("a.csv", "a\n5%\n6%\n", {}, "not-a-number"),
    "decimal comma": ("a.csv", "a;b\n1,5;2\n", {"delimiter": ";"}, "not-a-number"),
    "open quote": (
        "a.csv",
        'a,b\n1,"x\n2,3\n',
        {},
        "open-quote",
    ),
    "words as weights": ("a.csv", "a,w\n1,x\n", {"weight": "w"}, "not-a-number"),
    "other delimiter": ("a.csv", "a;b\n1;2\n", {}, "wrong-delimiter"),
    "identifier": (
        "a.csv",
        "id,b\n" + "".join(f"c{i},1\n" for i in range(1500)),
        {},
        "too-many-levels",
    ),
    "date": ("a.csv", "t,b\n2020-01-01,1\n", {}, "column-type"),
    "not Parquet": ("a.parquet", "nonsense", {}, "wrong-format"),
    "cut Parquet": ("a.parquet", b"PAR1" + b"\0" * 50, {}, "unreadable-file"),
    "cut Arrow": ("a.arrow", b"ARROW1\0\0" + b"\0" * 50, {}, "unreadable-file"),
    "cut gzip": (
        "a.csv.gz",
        CUT_GZIP,
        {},
        "unreadable-file",
    ),
    "unknown ending": ("a.xlsx", b"PK\3\4", {}, "foreign-format"),
    "nothing left": ("a.csv", "y\n1\n0\n", {"label": "y"}, "no-features"),
    "binary": ("a.csv", bytes(range(256)) * 20, {}, "nul-bytes"),
}


@pytest.mark.parametrize("case", list(BAD))
def test_bad_files_get_one_clear_sentence(tmp_path, case):
    name, content, arguments, words = BAD[case]
    with refused(words, DataError) as caught:
        open_rows(bad(tmp_path, name, content), **arguments)
    text = str(caught.value)
    assert len(text) < 700, "readable at a glance"
    assert "\n" not in text


def test_a_truncated_parquet_file_is_explained(tmp_path):
    path = write(make_table(), tmp_path, "parquet")
    whole = path.read_bytes()
    for length in (len(whole) - 1, len(whole) // 2, 100):
        path.write_bytes(whole[:length])
        with refused("unreadable-file", DataError):
            open_rows(path)


def test_damaged_pages_are_explained_where_the_file_has_checksums(tmp_path):
    path = tmp_path / "a.parquet"
    pq.write_table(make_table(), path, write_page_checksum=True)
    content = bytearray(path.read_bytes())
    content[40:4000] = bytes(3960)
    path.write_bytes(content)
    with refused("unreadable-file", DataError):
        open_rows(path)


def test_missing_files_are_named(tmp_path):
    bad(tmp_path, "claims.csv", "a\n1\n")
    with refused("no-file", DataError):
        open_rows(tmp_path / "clams.csv")
    (tmp_path / "empty").mkdir()
    with refused("no-file", DataError):
        open_rows(tmp_path / "empty")
    with refused("mixed-files", DataError):
        open_rows([tmp_path / "claims.csv"] * 2)
    with refused("needs-column-name", UsageError):
        open_rows(tmp_path / "claims.csv", label=[1])


def test_what_settles_the_bad_files_does(tmp_path):
    def opened(name, content, **arguments):
        return next(open_rows(bad(tmp_path, name, content), **arguments).blocks())

    block = opened("a.csv", "a,b\n1,2\n2,3\n3,oops\n4,4\n", missing=["oops"])
    np.testing.assert_array_equal(block.X[:, 1], [2, 3, np.nan, 4])
    block = opened("a.csv", "a,b\n1,2\n2,3\n3,oops\n4,4\n", categories=["b"])
    np.testing.assert_array_equal(block.X[:, 1], [0, 1, 3, 2])
    block = opened("a.csv", "a,b\n1,2\n1,inf\n", missing="inf")
    np.testing.assert_array_equal(block.X[:, 1], [2, np.nan])
    block = opened("a.csv", "a,b\nKöln,1\n".encode("latin-1"), encoding="latin-1")
    np.testing.assert_array_equal(block.X, [[0, 1]])
    block = opened("a.csv", "a;b\n1;2\n", delimiter=";")
    np.testing.assert_array_equal(block.X, [[1, 2]])
    block = opened("a.csv", 'a,b\n"1","x, y"\n2,"line\nbreak"\n')
    np.testing.assert_array_equal(block.X, [[1, 1], [2, 0]])
    block = opened("a.csv", "a;b\n1,5;2\n", delimiter=";", decimal=",")
    np.testing.assert_array_equal(block.X, [[1.5, 2]])
    block = opened("a.csv", "1.5,2\n2.5,3\n", header=False)
    np.testing.assert_array_equal(block.X, [[1.5, 2], [2.5, 3]])
    block = opened("a.csv", "a,b\n5%,007\n6%,010\n", categories=["a", "b"])
    np.testing.assert_array_equal(block.X, [[0, 0], [1, 1]])
    block = opened("a.csv", "\ufeffa,b\r\n1,2\r\n")
    np.testing.assert_array_equal(block.X, [[1, 2]])
    rows = open_rows(
        bad(tmp_path, "b.csv", "id,b\n" + "".join(f"c{i},1\n" for i in range(1500))),
        max_levels=1500,
    )
    assert len(rows.schema.columns[0].levels) == 1500


def test_text_that_no_array_can_hold_is_refused(tmp_path, monkeypatch):
    """A few long values in a dictionary, each repeated, are more than 2 GB when written out."""
    book = pa.array(["x" * 1000, "b"])
    long = pa.DictionaryArray.from_arrays(pa.array([0, 0, 1, 0], pa.int32()), book)
    table = pa.table({"note": long, "a": [1.0, 2.0, 3.0, 4.0]})
    path = tmp_path / "long.parquet"
    pq.write_table(table, path)
    assert len(open_rows(path)) == 4
    monkeypatch.setattr("scarce.io.values.MOST_TEXT", 3000)
    for source in (path, table):
        with refused("text-too-long", DataError):
            open_rows(source)
        assert len(open_rows(source, drop="note")) == 4


@pytest.mark.skipif(os.name == "nt", reason="needs symbolic links")
def test_links_that_lead_nowhere_are_named(tmp_path):
    loop, gone = tmp_path / "loop.csv", tmp_path / "gone.csv"
    loop.symlink_to(loop.name)
    gone.symlink_to("absent.csv")
    for open_it in (open_rows, open_table):
        with refused("broken-link", DataError):
            open_it(loop)
        with refused("broken-link", DataError):
            open_it(gone)
    with refused("broken-link", StoreError):
        load(loop)


@pytest.mark.parametrize("kind", ["csv", "parquet"])
@pytest.mark.parametrize("cache", [None, True])
def test_columns_without_values_are_kept_and_said(tmp_path, kind, cache):
    table = pa.table({"a": [1.0, 2.0], "b": pa.array([None, None], pa.float64())})
    path = write(table, tmp_path, kind)
    with warned("all-missing"):
        rows = open_rows(path, cache=cache)
    np.testing.assert_array_equal(next(rows.blocks()).X[:, 1], [np.nan, np.nan])


@pytest.mark.parametrize(
    ("content", "words"),
    [(",a\n0,1\n", "nameless-column"), ("5.1,3.5\n4,5\n", "header-of-numbers")],
)
def test_doubtful_headers_are_said(tmp_path, content, words):
    with warned(words):
        assert len(open_rows(bad(tmp_path, "a.csv", content))) == 1


def test_a_word_in_a_late_block_of_streamed_text_is_explained(tmp_path, small_blocks, monkeypatch):
    monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    path = bad(tmp_path, "a.csv", "a,b\n" + "1,2\n" * 3_000_000 + "1,oops\n")
    with refused("not-a-number", DataError):
        open_rows(path)
    assert not list((tmp_path / "cache").glob("*.arrow")), "no half cache"
