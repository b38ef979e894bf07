"""Folds that keep together what belongs together, and do not depend on how a table is written."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest

from scarce.engine.folds import deal_folds, given_groups, hold_out, read_splits, row_groups
from scarce.engine.memory import ArrayRows
from scarce.errors import DataError, UsageError
from scarce.io.open import open_rows
from tests.problems import refused, warned


def table(rng, n=400, columns=4):
    X = rng.normal(size=(n, columns))
    return X, (rng.random(n) < 0.1).astype(int)


def folds(X, codes, weight=None, n_folds=5, **more):
    return deal_folds(row_groups(open_rows(X), codes, weight, **more), codes, weight, n_folds)


def test_folds_do_not_depend_on_how_the_table_is_written(rng):
    X, codes = table(rng)
    plain = folds(X, codes)
    order = rng.permutation(len(X))
    np.testing.assert_array_equal(folds(X[order], codes[order]), plain[order])
    np.testing.assert_array_equal(folds(X * [1e-3, 1e6, 3.0, 7.0] + [1, 5, -5, 0], codes), plain)
    np.testing.assert_array_equal(folds(X[:, [2, 0, 3, 1]], codes), plain)
    np.testing.assert_array_equal(folds(np.column_stack([X, np.ones(len(X))]), codes), plain)
    empty = np.full((len(X), 1), np.nan)
    with warned("all-missing"):
        np.testing.assert_array_equal(folds(np.hstack([empty, X]), codes), plain)
    np.testing.assert_array_equal(folds(X, 1 - codes), plain)
    assert (folds(X, codes, seed=1) != plain).mean() > 0.5


def test_a_row_twice_is_a_row_of_weight_two(rng):
    X, codes = table(rng)
    plain = folds(X, codes)
    np.testing.assert_array_equal(folds(X, codes, np.full(len(X), 2.0)), plain)
    np.testing.assert_array_equal(folds(np.vstack([X, X]), np.tile(codes, 2)), np.tile(plain, 2))
    some = np.r_[np.arange(len(X)), np.arange(40)]
    weight = np.where(np.arange(len(X)) < 40, 2.0, 1.0)
    np.testing.assert_array_equal(folds(X[some], codes[some]), folds(X, codes, weight)[some])


def test_each_class_is_spread_evenly_and_unused_rows_are_left_out(rng):
    X, codes = table(rng)
    codes[:7] = -1
    found = folds(X, codes)
    assert (found[:7] == -1).all()
    assert (found[7:] >= 0).all()
    for label in (0, 1):
        counts = np.bincount(found[codes == label], minlength=5)
        assert np.ptp(counts) <= 2
    held = hold_out(row_groups(open_rows(X), codes), codes, None, 0.3)
    assert held[codes == 1].mean() == pytest.approx(0.3, abs=0.03)
    assert not held[:7].any()


@pytest.mark.parametrize("which", ["all", "half", "tenth", "events"])
def test_copies_of_records_are_found(rng, which):
    X, codes = table(rng)
    n, events = len(X), np.flatnonzero(codes == 1)
    more = {"all": np.arange(n), "half": np.arange(n // 2), "tenth": np.arange(n // 10)}
    again = more.get(which, np.repeat(events, 4))
    index = rng.permutation(np.r_[np.arange(n), again])
    found = row_groups(open_rows(X[index]), codes[index])
    assert found.copies == len(again)
    assert found.n_groups == n
    assert f"{len(again):,} of {len(index):,}" in found.remarks()[0]
    fold = deal_folds(found, codes[index], None, 5)
    for row in range(n):
        assert len(set(fold[index == row])) == 1


@pytest.mark.parametrize(
    ("levels", "columns"), [(2, 3), (3, 6), (5, 1), (100, 1), (10, 3), (2, 12)]
)
def test_equal_observations_of_a_discrete_table_are_no_copies(rng, levels, columns):
    X = rng.integers(0, levels, size=(1000, columns)).astype(float)
    score = -2 + 3 * X[:, 0] / levels
    codes = (rng.random(1000) < 1 / (1 + np.exp(-score))).astype(int)
    found = row_groups(open_rows(X), codes)
    assert found.copies == 0
    assert found.n_groups == 1000
    assert found.remarks() == []


def test_a_discrete_table_that_was_repeated_is_found(rng):
    X = rng.integers(0, 10, size=(500, 3)).astype(float)
    codes = (rng.random(500) < 0.2).astype(int)
    assert row_groups(open_rows(np.vstack([X, X])), np.tile(codes, 2)).copies >= 500


def test_a_value_that_many_rows_share_is_no_copy(rng):
    X, codes = table(rng)
    X[:100] = 0.0
    index = np.r_[np.arange(400), np.arange(200, 400)]
    found = row_groups(open_rows(X[index]), codes[index])
    assert found.copies == 200


def test_given_groups_stay_together_with_the_copies_of_their_rows(rng):
    X, codes = table(rng, 200)
    owner = np.repeat(np.arange(50), 4).astype(object)
    owner[:4] = None
    X[4] = X[100]  # a row of group 1 is a copy of a row of group 25, with 10 more copies
    X[110:120] = X[120:130]
    codes[[4, 110]], codes[110:120] = codes[[100, 120]], codes[120:130]
    found = row_groups(open_rows(X), codes, groups=owner)
    assert found.given
    assert found.group[4] == found.group[100] == found.group[103]
    assert len(set(found.group[:4])) == 4
    fold = deal_folds(found, codes, None, 5)
    for number in range(1, 50):
        assert len(set(fold[np.arange(200)[owner == number]])) == 1


def test_the_coding_of_a_category_changes_nothing(rng):
    city = rng.choice(["Bonn", "Jena", "Ulm"], size=300)
    frame = pd.DataFrame({"x": rng.normal(size=300), "city": city})
    codes = (rng.random(300) < 0.2).astype(int)
    plain = row_groups(open_rows(frame), codes)
    other = open_rows(frame)
    column = replace(other.schema.columns[1], levels=("Ulm", "Bonn", "Jena"))
    other.schema = replace(other.schema, columns=(other.schema.columns[0], column))
    recoded = ArrayRows(
        np.column_stack([frame.x, frame.city.map({"Ulm": 0, "Bonn": 1, "Jena": 2})]),
        schema=other.schema,
        check=False,
    )
    again = row_groups(recoded, codes)
    np.testing.assert_array_equal(
        deal_folds(plain, codes, None, 5), deal_folds(again, codes, None, 5)
    )


def test_the_names_of_equally_common_classes_change_nothing(rng):
    X, codes = rng.normal(size=(90, 2)), np.arange(90) % 3
    wanted = folds(X, codes)
    np.testing.assert_array_equal(folds(X, np.array([2, 0, 1])[codes]), wanted)


def test_engines_and_blocks_agree(rng, monkeypatch):
    from scarce.engine import memory

    X, codes = table(rng, 3000)
    plain = folds(X, codes)
    monkeypatch.setattr(memory, "block_rows", lambda columns: 512)
    rows = open_rows(X)
    assert rows.n_blocks > 1
    for engine in (None, "threads"):
        found = row_groups(rows, codes, engine=engine)
        np.testing.assert_array_equal(deal_folds(found, codes, None, 5), plain)


def test_groups_of_another_length_are_refused():
    with refused("length-mismatch", DataError):
        given_groups([1, 2, 3], 4)
    np.testing.assert_array_equal(given_groups([1.0, np.nan, 0.0, 1.0], 4), [1, -1, 0, 1])
    np.testing.assert_array_equal(given_groups(pd.Series(["a", None, "b"]), 3), [0, -1, 1])
    for values in ([7, 8, 9, 7], ["b", "c", "d", "b"]):
        masked = np.ma.array(values, mask=[False, True, True, False])
        np.testing.assert_array_equal(given_groups(masked, 4), [0, -1, -1, 0])


def test_given_splits_hold_every_row_once():
    masks = [np.arange(9) % 3 == k for k in range(3)]
    found = read_splits([(~one, one) for one in masks], 9)
    assert found.tolist() == [0, 1, 2] * 3
    assert read_splits(((~one, np.flatnonzero(one)) for one in masks), 9).tolist() == [0, 1, 2] * 3
    for tests, row, count in (
        ([[0, 1], [1, 2]], 1, 2),
        ([[0, 0], [1, 2]], 0, 2),  # twice in one part
        ([[0, 1], []], 2, 0),
    ):
        with refused("cv-folds", UsageError, row=row, count=count):
            read_splits([([], one) for one in tests], 3)
    for tests in (5, [([0], [7])], ["abc"], [([0], [0.5])]):
        with refused("cv-folds", UsageError, rows=3):
            read_splits(tests, 3)
