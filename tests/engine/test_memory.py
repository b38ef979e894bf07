"""Rows in memory: views, not copies; one layout for kernels; clear refusals."""

import gc
import pickle
import tracemalloc

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from scipy import sparse

from scarce.engine.memory import ArrayRows, TableRows, decode
from scarce.errors import DataError, UsageError
from scarce.io.open import open_rows
from scarce.io.schema import Column, Schema
from tests.problems import refused, warned


def test_a_row_major_matrix_is_seen_through_views(rng):
    X = rng.normal(size=(1000, 5))
    rows = ArrayRows(X, starts=(0, 400, 1000))
    assert all(np.shares_memory(block.X, X) for block in rows.blocks())


@pytest.mark.parametrize(
    "change",
    [np.asfortranarray, lambda X: X.astype(np.float32), lambda X: np.repeat(X, 2, axis=1)[:, ::2]],
    ids=["column-major", "float32", "strided"],
)
def test_other_layouts_become_row_major_float64_block_by_block(rng, change):
    X = rng.normal(size=(1000, 5)).astype(np.float32).astype(np.float64)
    for block in ArrayRows(change(X), starts=(0, 400, 1000)).blocks():
        assert block.X.dtype == np.float64
        assert block.X.flags.c_contiguous
        np.testing.assert_array_equal(block.X, X[block.start : block.start + len(block)])


def test_a_table_is_not_copied_as_a_whole(rng):
    n, k = 400_000, 12
    table = pa.table({f"x{j}": rng.normal(size=n) for j in range(k)})
    rows = open_rows(table)
    assert rows.n_blocks > 1
    tracemalloc.start()
    rows.fold(lambda block, _: block.X.sum(axis=0))
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    one_block = 8 * k * (rows.starts[1] - rows.starts[0])
    assert peak < 1.3 * one_block, "one block at a time"


FRAME = pd.DataFrame(
    {
        "age": [44.0, np.nan, 31.0],
        "city": pd.Series(["Ulm", None, "Bonn"], dtype="object"),
        "kind": pd.Categorical(["b", "a", "b"]),
        "open": [True, False, True],
        "n": pd.Series([1, None, 3], dtype="Int64"),
        "fraud": [1.0, np.nan, 0.0],
    }
)
X_OF_FRAME = [[44, 1, 1, 1, 1], [np.nan, np.nan, 0, 0, np.nan], [31, 0, 1, 1, 3]]


@pytest.mark.parametrize(
    "table",
    [
        FRAME,
        pl.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME),
        pa.Table.from_pandas(FRAME).to_batches()[0],
        FRAME.set_index("age").reset_index(),
    ],
    ids=["pandas", "polars", "arrow", "batch", "reindexed"],
)
def test_tables_of_every_kind_read_the_same(table):
    rows = open_rows(table, label="fraud")
    block = next(rows.blocks())
    np.testing.assert_array_equal(block.X, X_OF_FRAME)
    np.testing.assert_array_equal(block.y, [1, np.nan, 0])
    assert rows.names == ("age", "city", "kind", "open", "n")
    assert rows.schema.columns[1] == Column("city", "category", ("Bonn", "Ulm"))


def test_invariant_tables_and_matrices_give_the_same_bits(rng):
    X = rng.normal(size=(30_000, 4))
    X[rng.random(X.shape) < 0.1] = np.nan
    table = pa.table({f"x{j}": X[:, j] for j in range(4)})

    def kernel(block, _):
        return np.nan_to_num(block.X).T @ np.nan_to_num(block.X)

    expected = ArrayRows(X).fold(kernel).tobytes()
    assert open_rows(table).fold(kernel).tobytes() == expected
    assert decode(open_rows(table)).fold(kernel).tobytes() == expected
    assert open_rows(table).fold(kernel, engine="threads").tobytes() == expected


def test_only_the_slice_travels_to_a_worker():
    table = pa.table({"a": np.arange(1e6)})
    rows = TableRows(table, Schema((Column("a"),)), starts=(0, 10, 1_000_000))
    sent = pickle.dumps(rows.ticket(0))
    assert len(sent) < 20_000
    np.testing.assert_array_equal(pickle.loads(sent).open().X[:, 0], np.arange(10))


def test_labels_and_weights_may_be_arrays(rng):
    rows = open_rows(
        FRAME.drop(columns="fraud"), label=["a", None, "b"], positive="b", weight=[1, 2, 3]
    )
    assert rows.classes == ("a", "b")
    assert rows.label_counts() == (pytest.approx([1, 3]), 1)
    rows = open_rows(
        np.ones((3, 2)), label=pd.Series([1, None, 0], dtype="Int64"), weight=[1, 2, 3]
    )
    assert rows.classes == (0, 1)
    np.testing.assert_array_equal(next(rows.blocks()).y, [1, np.nan, 0])


@pytest.mark.parametrize(
    ("bad", "words"),
    [
        (np.ones(3), "shape-mismatch"),
        (np.ones((2, 2, 2)), "shape-mismatch"),
        (np.zeros((3, 0)), "no-rows"),
        (sparse.csr_array(np.eye(3)), "sparse-input"),
        (np.array([["a", "b"]], dtype=object), "not-a-number"),
        (np.ones((2, 2), dtype=complex), "column-type"),
        (pd.DataFrame(), "no-rows"),
        (pd.DataFrame({"a": []}), "no-rows"),
        (pd.DataFrame([[1, 2]], columns=["a", "a"]), "duplicate-column"),
        (pd.DataFrame({"a": [1, "x", 2.5]}), "mixed-types"),
        (pd.DataFrame({"t": pd.to_datetime(["2020-01-01"])}), "column-type"),
        (pa.table({"a": [[1], [2]]}), "column-type"),
    ],
)
def test_unusable_sources_are_refused_in_one_sentence(bad, words):
    with refused(words, DataError):
        open_rows(bad)


def test_infinities_are_named_or_read_as_missing(rng):
    X = rng.normal(size=(2000, 3))
    X[[1812, 1900, 1999], 1] = np.inf, -np.inf, np.inf
    said = "infinite-values"
    with refused(said, DataError):
        open_rows(X)
    table = pa.table({"x0": X[:, 0], "x1": X[:, 1]})
    with refused(said, DataError):
        open_rows(table)
    for source in (X, table):
        rows = open_rows(source, missing="inf")
        assert sum(np.isnan(block.X).sum() for block in rows.blocks()) == 3
    assert np.isinf(X).sum() == 3, "the caller's array is left as it was"


def test_columns_without_values_are_kept_and_said():
    X = np.array([[1.0, np.nan], [2.0, np.nan]])
    for source in (X, pd.DataFrame(X, columns=["x0", "x1"])):
        with warned("all-missing"):
            rows = open_rows(source)
        assert rows.n_columns == 2


def test_sentinels_are_missing():
    rows = open_rows(np.array([[1.0, -999.0], [2.0, 3.0]]), missing=-999)
    np.testing.assert_array_equal(next(rows.blocks()).X, [[1, np.nan], [2, 3]])
    rows = open_rows(pa.table({"a": [1, -999], "b": ["u", "?"]}), missing=[-999, "?"])
    np.testing.assert_array_equal(next(rows.blocks()).X, [[1, 0], [np.nan, np.nan]])
    assert rows.schema.columns[1].levels == ("u",)


@pytest.mark.parametrize(
    ("weight", "words"),
    [([1, -1], "weight-range"), ([1, np.nan], "weight-range"), ([np.inf, 1], "weight-range")],
)
def test_weights_must_be_weights(weight, words):
    with refused(words, DataError):
        open_rows(np.ones((2, 1)), weight=weight)
    with refused(words, DataError):
        open_rows(pa.table({"a": [1, 2], "w": pa.array(weight, pa.float64())}), weight="w")


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        ({"label": "fraud"}, "needs-table"),
        ({"weight": "w"}, "needs-table"),
        ({"drop": ["a"]}, "needs-table"),
        ({"cache": True}, "argument-conflict"),
        ({"unknown": "mising"}, "unknown-word"),
    ],
)
def test_arguments_that_cannot_work_are_refused(arguments, words):
    with refused(words, UsageError):
        open_rows(np.ones((2, 1)), **arguments)


def test_lengths_must_agree():
    with refused("length-mismatch", DataError):
        open_rows(np.ones((2, 1)), label=[0, 1, 1])
    with refused("length-mismatch", DataError):
        open_rows(np.ones((2, 1)), weight=[1, 1, 1])
    with refused("length-mismatch", UsageError):
        ArrayRows(np.ones((2, 1)), names=["a", "b", "c"])


def test_fingerprints_tell_data_apart(rng):
    X = rng.normal(size=(500, 3))
    Z = X.copy()
    assert ArrayRows(X).fingerprint == ArrayRows(Z).fingerprint
    Z[0, 0] += 1e-9
    assert ArrayRows(X).fingerprint != ArrayRows(Z).fingerprint


def test_other_processes_map_an_array_instead_of_being_sent_it(rng):
    X, y = rng.normal(size=(300, 2)), np.tile([0, 1, np.nan], 100)
    rows = ArrayRows(X, y, weight=np.arange(300), classes=[0, 1], starts=(0, 100, 300))
    mapped = rows.on_disk()
    assert mapped is rows.on_disk(), "written once"
    assert mapped.starts == rows.starts
    for found, wanted in zip(mapped.blocks(), rows.blocks(), strict=True):
        np.testing.assert_array_equal(found.X, wanted.X)
        np.testing.assert_array_equal(found.y, wanted.y)
        np.testing.assert_array_equal(found.weight, wanted.weight)
    assert len(pickle.dumps(mapped.ticket(1))) < 1000
    folder = mapped.path.parent
    assert folder.exists()
    del rows
    gc.collect()
    assert not folder.exists(), "gone with the rows"
    one = ArrayRows(X)
    assert one.on_disk() is one


def test_open_rows_passes_rows_through():
    rows = ArrayRows(np.ones((2, 1)))
    assert open_rows(rows) is rows
    with refused("rows-open", UsageError):
        open_rows(rows, label="y")


def test_arrays_may_be_read_like_earlier_ones():
    schema = open_rows(np.ones((3, 2)), label=["a", "b", "a"], positive="b").schema
    rows = open_rows(np.zeros((2, 2)), label=["b", None], like=schema)
    np.testing.assert_array_equal(next(rows.blocks()).y, [1, np.nan])
    assert open_rows(np.zeros((2, 2)), like=schema).schema.label is None
    with refused("column-mismatch", DataError):
        open_rows(np.zeros((2, 3)), like=schema)
