"""Categories as columns of 0 and 1: the same from every source, carried by the schema."""

import json

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from sklearn.base import clone

from scarce import GaussianBayes, RareClassifier, load, save
from scarce.errors import DataError, UsageError
from scarce.io import open, parts
from scarce.io import schema as levels
from scarce.io import source as table_source
from scarce.io.inputs import names_of
from scarce.io.open import open_rows
from scarce.io.parts import PartedRows
from scarce.io.schema import Column, Schema
from tests.problems import refused, warned

CITIES = ["Ulm", "Bonn", "Köln", "Ulm", None, "Bonn", "Ulm"]
TABLE = pa.table(
    {
        "x": [1.0, 2.0, None, 4.0, 5.0, 6.0, 7.0],
        "city": CITIES,
        "n": [3, 1, 3, 2, 3, 1, 2],
        "y": [0, 1, 0, 1, None, 1, 0],
    }
)


def dense(rows):
    return np.concatenate([block.X for block in rows.blocks()])


def by_pandas(table, columns):
    """An outside witness: most frequent level left out, holes kept."""
    frame = table.to_pandas()
    parts = []
    for name in frame.columns:
        if name not in columns:
            parts.append(frame[[name]])
            continue
        counts = frame[name].value_counts().sort_index()
        made = pd.get_dummies(frame[name], prefix=name, prefix_sep="=", dtype=float)
        made[frame[name].isna()] = np.nan
        parts.append(made.drop(columns=f"{name}={counts.idxmax()}"))
    return pd.concat(parts, axis=1)


def large(n=5000, seed=0):
    rng = np.random.default_rng(seed)
    city = rng.choice(["Ulm", "Bonn", "Köln", "Aachen"], n, p=[0.2, 0.1, 0.4, 0.3])
    return pa.table(
        {
            "x": rng.normal(size=n),
            "city": pa.array(np.where(rng.random(n) < 0.1, None, city)),
            "n": rng.integers(0, 5, n),
            "y": (rng.random(n) < 0.3).astype(int),
        }
    )


def test_oracle_pandas_makes_the_same_columns():
    for table in (TABLE, large()):
        rows = open_rows(table.drop_columns(["y"]), indicators=["city", "n"])
        wanted = by_pandas(table.drop_columns(["y"]), ["city", "n"])
        assert list(rows.names) == list(wanted.columns)
        np.testing.assert_array_equal(dense(rows), wanted.to_numpy(dtype=float))


def test_the_most_frequent_level_has_no_column_and_the_schema_says_so():
    schema = open_rows(TABLE, label="y", indicators=True).schema
    assert schema.names == ("x", "city=Bonn", "city=Köln", "n")
    assert schema.sources == ("x", "city", "n")
    assert schema.needed == ["x", "city", "n", "y"], "each column is read once"
    assert schema.indicators == {"city": ("Ulm", "Bonn", "Köln")}
    assert schema.columns[1] == Column("city=Bonn", "indicator", ("Ulm", "Bonn"), "city")
    even = open_rows(pa.table({"c": ["b", "a", "c", "b", "a"]}), indicators=True).schema
    assert even.indicators == {"c": ("a", "b", "c")}, "of equally frequent ones the first"


def test_some_categories_may_stay_codes():
    rows = open_rows(TABLE, label="y", indicators="n")
    assert rows.names == ("x", "city", "n=1", "n=2")
    assert rows.schema.columns[1].kind == "category"
    assert open_rows(TABLE, label="y").names == ("x", "city", "n")
    both = open_rows(TABLE, label="y", categories="n", indicators=True)
    assert both.names == ("x", "city=Bonn", "city=Köln", "n=1", "n=2")


@pytest.mark.parametrize(
    "table",
    [
        TABLE.to_pandas(),
        pl.from_arrow(TABLE),
        TABLE.set_column(1, "city", TABLE["city"].dictionary_encode()),
        TABLE.to_pandas().astype({"city": "category"}),
    ],
    ids=["pandas", "polars", "dictionary", "categorical"],
)
def test_every_table_gives_the_same_columns(table):
    wanted = open_rows(TABLE, label="y", indicators=True)
    found = open_rows(table, label="y", indicators=True)
    assert found.schema == wanted.schema
    np.testing.assert_array_equal(dense(found), dense(wanted))


@pytest.fixture
def small_blocks(monkeypatch):
    for module in (parts, open):
        monkeypatch.setattr(module, "block_rows", lambda _: 1000)
    monkeypatch.setattr("scarce.engine.memory.block_rows", lambda _: 1000)
    monkeypatch.setattr(open, "IN_MEMORY_BYTES", 0)


def gram(block, _):
    known = np.nan_to_num(block.X)
    return known.T @ known


def test_invariant_files_caches_and_engines_give_the_same_bits(tmp_path, small_blocks, monkeypatch):
    table = large()
    wanted = open_rows(table, label="y", indicators=["city", "n"])
    pacsv.write_csv(table, tmp_path / "a.csv")
    pq.write_table(table, tmp_path / "a.parquet", row_group_size=1000)
    how = {"label": "y", "indicators": ["city", "n"]}
    opened = [open_rows(tmp_path / "a.csv", **how)]
    opened.append(open_rows(tmp_path / "a.parquet", **how))
    assert isinstance(opened[1], PartedRows)
    opened += [open_rows(tmp_path / name, cache=True, **how) for name in ("a.csv", "a.parquet")]
    monkeypatch.setattr(table_source, "WHOLE_TEXT_BYTES", 0)
    opened.append(open_rows(tmp_path / "a.csv", **how))
    assert opened[-1].schema.columns[-1].levels[1] == 4.0, "streamed whole numbers are floats"
    for rows in opened:
        assert rows.schema == wanted.schema
        assert rows.starts == wanted.starts
        np.testing.assert_array_equal(dense(rows), dense(wanted))
        for engine in (None, "threads:2"):
            assert rows.fold(gram, engine=engine).tobytes() == wanted.fold(gram).tobytes()
    processes = opened[1].fold(gram, engine="processes:2")
    assert processes.tobytes() == wanted.fold(gram).tobytes()


def test_a_cache_made_without_indicators_is_not_taken_for_one_with(tmp_path):
    pacsv.write_csv(TABLE, tmp_path / "a.csv")
    assert open_rows(tmp_path / "a.csv", label="y", cache=True).n_columns == 3
    assert open_rows(tmp_path / "a.csv", label="y", cache=True, indicators=True).n_columns == 4


def test_the_source_column_is_read_once(tmp_path, monkeypatch):
    pq.write_table(TABLE, tmp_path / "a.parquet")
    rows = PartedRows(
        parts.PartedSource([tmp_path / "a.parquet"], "parquet"),
        open_rows(TABLE, label="y", indicators=True).schema,
    )
    asked = []
    read = parts.read_part
    monkeypatch.setattr(parts, "read_part", lambda p, k, c: asked.append(list(c)) or read(p, k, c))
    assert dense(rows).shape == (7, 4)
    assert asked == [["x", "city", "n", "y"]]


# --- new data for an old model --------------------------------------------------------------------


def test_a_model_file_carries_the_choice():
    schema = open_rows(TABLE, label="y", indicators=["city", "n"]).schema
    again = Schema.from_dict(json.loads(json.dumps(schema.to_dict())))
    assert again == schema
    new = pa.table({"n": [2, 3], "city": ["Ulm", None], "x": [1.0, 2.0]})
    np.testing.assert_array_equal(
        dense(open_rows(new, like=again)), [[1, 0, 0, 0, 1], [2, np.nan, np.nan, 0, 0]]
    )


def test_dictionaries_of_schemas_without_indicators_are_as_they_were():
    old = {
        "columns": [["age", "number", []], ["city", "category", ["Bonn", "Ulm"]]],
        "label": None,
        "weight": None,
        "classes": [],
        "unlabelled": [],
        "coded_as": [],
        "missing": [],
        "infinite_is_missing": False,
        "unknown": "error",
    }
    assert Schema.from_dict(old).to_dict() == old
    assert Schema.from_dict(old).columns[1] == Column("city", "category", ("Bonn", "Ulm"))


@pytest.mark.parametrize("kind", ["table", "csv", "parquet"])
def test_unknown_levels_are_refused_or_missing(tmp_path, kind):
    schema = open_rows(TABLE, label="y", indicators=True).schema
    new = pa.table({"x": [1.0, 2.0], "city": ["Bonn", "Trier"], "n": [1, 2]})
    source = new if kind == "table" else tmp_path / f"a.{kind}"
    if kind == "csv":
        pacsv.write_csv(new, source)
    elif kind == "parquet":
        pq.write_table(new, source)
    with refused("unknown-level", DataError):
        open_rows(source, like=schema)
    found = dense(open_rows(source, like=schema, unknown="missing"))
    np.testing.assert_array_equal(found, [[1, 1, 0, 1], [2, np.nan, np.nan, 2]])


def test_a_missing_word_is_missing_in_all_columns():
    new = pa.table({"c": ["a", "?", "b", "a"]})
    rows = open_rows(new, indicators=True, missing="?")
    assert rows.names == ("c=b",)
    np.testing.assert_array_equal(dense(rows)[:, 0], [0, np.nan, 1, 0])


def test_a_column_without_values_is_said_by_its_own_name():
    schema = open_rows(TABLE, label="y", indicators=True).schema
    new = pa.table({"x": [1.0], "city": pa.nulls(1), "n": [1]})
    with warned("all-missing"):
        rows = open_rows(new, like=schema)
    np.testing.assert_array_equal(dense(rows), [[1, np.nan, np.nan, 1]])


# --- what cannot work -----------------------------------------------------------------------------


def test_a_category_of_one_level_gives_no_column():
    table = pa.table({"a": [1.0, 2.0], "c": ["k", "k"]})
    with warned("one-level"):
        assert open_rows(table, indicators=True).names == ("a",)
    with (
        warned("one-level"),
        refused("no-features", DataError),
    ):
        open_rows(table.select(["c"]), indicators=True)


def test_many_levels_are_refused_until_asked_for(monkeypatch):
    table = pa.table({"a": np.arange(150.0), "zip": [f"z{i:03}" for i in range(150)]})
    assert open_rows(table).n_columns == 2, "as a category it may have 1,000"
    said = "too-many-levels"
    with refused(said, DataError):
        open_rows(table, indicators=True)
    assert open_rows(table, indicators=True, max_levels=150).n_columns == 150
    with refused("too-many-levels", DataError):
        open_rows(table, max_levels=149)
    monkeypatch.setattr(levels, "WIDEST", 148)
    with refused("too-many-levels", DataError):
        open_rows(table, indicators=True, max_levels=150)


@pytest.mark.parametrize("indicators", [False, True])
def test_all_columns_of_too_many_levels_are_named(indicators):
    words = [f"w{n}" for n in range(20)]
    table = pa.table({"note": words, "few": ["a", "b"] * 10, "x": range(20), "text": words[::-1]})
    with refused("too-many-levels", DataError, columns=("note", "text"), count=2):
        open_rows(table, max_levels=19, indicators=indicators)
    assert open_rows(table, drop=["note", "text"], max_levels=19).names == ("few", "x")


def test_names_that_meet_are_refused():
    with refused("duplicate-column", DataError):
        open_rows(pa.table({"c=b": [1, 2, 3], "c": ["a", "b", "a"]}), indicators=True)
    with refused("duplicate-column", DataError):
        open_rows(pa.table({"a": ["b=c", "k", "k"], "a=b": ["c", "k", "k"]}), indicators=True)


def test_a_column_without_a_name_may_be_a_category():
    rows = open_rows(pa.table({"": ["a", "b", "a"]}), indicators=True)
    assert rows.names == ("=b",)
    assert rows.schema.needed == [""]


@pytest.mark.parametrize(
    ("source", "arguments", "kind", "words"),
    [
        (
            TABLE,
            {"indicators": ["cty"]},
            DataError,
            "unknown-column",
        ),
        (np.ones((2, 2)), {"indicators": ["a"]}, UsageError, "needs-table"),
        (TABLE, {"indicators": True, "like": Schema(())}, UsageError, "argument-conflict"),
        (open_rows(np.ones((2, 2))), {"indicators": True}, UsageError, "rows-open"),
    ],
    ids=["absent", "array", "like", "rows"],
)
def test_arguments_that_cannot_work_are_refused(source, arguments, kind, words):
    with refused(words, kind):
        open_rows(source, **arguments)


def test_an_array_has_no_categories_to_turn():
    assert open_rows(np.ones((2, 2)), indicators=True).n_columns == 2


# --- models ---------------------------------------------------------------------------------------


def frauds(n=3000, seed=3):
    rng = np.random.default_rng(seed)
    device = rng.choice(["app", "web", "phone"], n, p=[0.5, 0.3, 0.2])
    amount = rng.normal(size=n)
    score = -3 + amount + 1.5 * (device == "phone")
    label = rng.random(n) < 1 / (1 + np.exp(-score))
    return pd.DataFrame({"amount": amount, "device": device, "fraud": label.astype(int)})


@pytest.mark.parametrize(
    "model", [RareClassifier("logistic"), GaussianBayes()], ids=["rare", "bayes"]
)
def test_models_of_measurements_take_them_and_read_new_tables(tmp_path, model):
    frame = frauds()
    rows = open_rows(frame, label="fraud", indicators=True)
    model.fit(rows)
    assert list(model.feature_names_in_) == ["amount", "device"]
    assert names_of(model) == ["amount", "device=phone", "device=web"]
    by_hand = by_pandas(pa.Table.from_pandas(frame[["amount", "device"]]), ["device"])
    other = type(model)(**model.get_params()).fit(by_hand, frame["fraud"])
    wanted = other.predict_proba(by_hand)
    np.testing.assert_array_equal(model.predict_proba(rows), wanted)
    if not isinstance(model, GaussianBayes):  # a category is a factor of its own there
        codes = open_rows(frame, label="fraud")
        np.testing.assert_array_equal(clone(model).fit(codes).predict_proba(codes), wanted)
    save(model, tmp_path / "m.scarce")
    back = load(tmp_path / "m.scarce")
    np.testing.assert_array_equal(back.predict_proba(rows), wanted)
    new = frame.drop(columns="fraud")
    np.testing.assert_array_equal(back.predict_proba(new), wanted)
    np.testing.assert_array_equal(back.predict_proba(pl.from_pandas(new)), wanted)
    new.loc[7, "device"] = "fax"
    with refused("unknown-level", DataError):
        back.predict_proba(new)
    model.fit(by_hand, frame["fraud"])
    assert not hasattr(model, "schema_"), "of the earlier fit"
