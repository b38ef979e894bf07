"""Presences and a background as rows and labels; a group's records as the pool of one of them."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scarce import MaxentClassifier, presence_background, target_group
from scarce.errors import DataError
from tests.problems import refused


def test_arrays_are_stacked():
    X, y = presence_background([[1.0, 2.0], [3.0, np.nan]], np.zeros((3, 2)))
    np.testing.assert_array_equal(X, [[1, 2], [3, np.nan], [0, 0], [0, 0], [0, 0]])
    np.testing.assert_array_equal(y, [1, 1, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tables_are_stacked_by_name(frame):
    presence = frame({"rain": [1.0, 2.0], "soil": ["clay", None]})
    background = frame({"soil": ["sand", "clay", "peat"], "rain": [5.0, np.nan, 7.0]})
    X, y = presence_background(presence, background)
    assert isinstance(X, frame)
    assert list(X.columns) == ["rain", "soil"]
    np.testing.assert_array_equal(X["rain"].to_numpy(), [1, 2, 5, np.nan, 7])
    soil = X["soil"].to_list()
    assert [soil[0], *soil[2:]] == ["clay", "sand", "clay", "peat"]
    assert soil[1] is None or soil[1] != soil[1]
    np.testing.assert_array_equal(y, [1, 1, np.nan, np.nan, np.nan])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_tables_can_be_fitted(frame, rng):
    presence = frame({"rain": rng.random(20) + 0.5, "soil": ["clay", "sand"] * 10})
    background = frame({"rain": 2 * rng.random(60), "soil": ["sand", "sand", "peat"] * 20})
    X, y = presence_background(presence, background)
    model = MaxentClassifier().fit(X, y)
    assert model.classes_.tolist() == [0, 1]
    assert model.is_category_.tolist() == [False, True]
    assert model.predict_proba(X).shape == (80, 2)


def test_one_table_and_one_matrix():
    with refused("table-kind", DataError):
        presence_background(pd.DataFrame({"a": [1.0]}), np.zeros((2, 1)))


def test_categories_of_two_tables_keep_all_levels():
    presence = pd.DataFrame({"soil": pd.Categorical([3, 1]), "rain": [1.0, 2.0]})
    background = pd.DataFrame({"soil": pd.Categorical([2, 1, 2]), "rain": [3.0, 4.0, 5.0]})
    X, _ = presence_background(presence, background)
    assert X["soil"].to_list() == [3, 1, 2, 1, 2]
    assert X["soil"].cat.categories.to_list() == [1, 2, 3]
    assert presence["soil"].cat.categories.to_list() == [1, 3]  # the user's tables stay as they are


def test_masked_cells_are_missing():
    X, _ = presence_background(np.ma.masked_equal([[1.0, -9.0]], -9.0), np.zeros((1, 2)))
    np.testing.assert_array_equal(X, [[1, np.nan], [0, 0]])


@pytest.mark.parametrize("frame", [pd.DataFrame, pl.DataFrame], ids=["pandas", "polars"])
def test_a_group_in_a_table_stays_a_table(frame):
    X = frame({"a": [1.0, 2.0, 3.0], "soil": ["x", "y", "z"]})
    found, y = target_group(X, ["owl", "wren", "owl"], "owl", places=[4, 4, 2])
    assert isinstance(found, frame)
    assert found["soil"].to_list() == ["x", "z"]
    np.testing.assert_array_equal(y, [1, 1])


def test_what_does_not_belong_together():
    with refused("column-mismatch", DataError, presence=(2, 2), background=(1, 3)):
        presence_background(np.zeros((2, 2)), np.zeros((1, 3)))
    with refused("column-mismatch", DataError):
        presence_background([1.0, 2.0], [3.0])
    with refused("no-rows", DataError, presences=0, others=2):
        presence_background(np.zeros((0, 2)), np.zeros((2, 2)))
    with refused("column-mismatch", DataError, presence=["a"], background=["b"]):
        presence_background(pd.DataFrame({"a": [1.0]}), pd.DataFrame({"b": [1.0]}))


def test_tables_of_two_kinds_and_empty_ones():
    one, two = pd.DataFrame({"a": [1.0]}), pl.DataFrame({"a": [1.0]})
    with refused("table-kind", DataError):
        presence_background(one, two)
    for first, second in ((one, one.head(0)), (one.head(0), one), (two.head(0), two)):
        with refused("no-rows", DataError):
            presence_background(first, second)
    arrow = pa.table({"a": [1.0]})
    with refused("table-kind", DataError):
        presence_background(arrow, arrow)


def test_every_record_is_a_row():
    X, y = target_group([[1.0], [2.0], [3.0]], ["owl", "wren", "owl"], "owl")
    np.testing.assert_array_equal(X, [[1], [2], [3]])
    np.testing.assert_array_equal(y, [1, np.nan, 1])


@pytest.mark.parametrize("dimensions", [1, 2])
def test_oracle_records_at_one_place_become_one_row(rng, dimensions):
    places = rng.integers(0, 6, (60, dimensions))
    X = np.arange(60.0)[:, None] * [1, 10]
    member = rng.choice(["owl", "wren", "tit"], 60, p=[0.2, 0.4, 0.4])
    found_X, found_y = target_group(
        X, member, "owl", places=places[:, 0] if dimensions == 1 else places
    )
    rows, labels, order = {}, {}, []
    for i, place in enumerate(map(tuple, places)):
        if place not in rows:
            rows[place] = X[i]
            order.append(place)
        labels[place] = labels.get(place, False) or member[i] == "owl"
    assert len(set(labels.values())) == 2
    np.testing.assert_array_equal(found_X, [rows[place] for place in order])
    np.testing.assert_array_equal(found_y, [1.0 if labels[place] else np.nan for place in order])


def test_records_that_cannot_be():
    with refused("unknown-class", DataError, wanted="tit", known="'owl' and 'wren'"):
        target_group([[1.0], [2.0]], ["owl", "wren"], "tit")
    with refused("length-mismatch", DataError, shape=(2, 1), entries=3):
        target_group([[1.0], [2.0]], ["owl", "wren", "owl"], "owl")
    with refused("length-mismatch", DataError, shape=(2,), entries=2):
        target_group([1.0, 2.0], ["owl", "wren"], "owl")
    with refused("length-mismatch", DataError, entries=2, records=3):
        target_group([[1.0], [2.0], [3.0]], ["owl", "wren", "owl"], "owl", places=[1, 2])
    with refused("missing-values", DataError, count=1):
        target_group([[1.0], [2.0]], ["owl", "wren"], "owl", places=[1.0, np.nan])
    with refused("unknown-class", DataError, count=2):
        target_group([[1.0], [2.0]], np.array(["owl", None], dtype=object), "tit")
