"""Categories as codes: trees ask about one-hot columns what the library asks about codes."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone

from scarce import AutoClassifier
from scarce.auto.class_trees import freeze_classes
from scarce.auto.members import SMALL_TREES, booster
from scarce.auto.ranks import BINS, Ranks
from scarce.engine.folds import mix_bits

SIZES = (7, 4)


def rows(n=500, missing=0.2, seed=0, *, sizes=SIZES, drop=()):
    """Two categories between two numbers, as one-hot columns; a missing category misses in all."""
    rng = np.random.default_rng(seed)
    parts, group, score = [rng.normal(size=(n, 1))], [-1], np.zeros(n)
    for number, size in enumerate(sizes):
        level = rng.integers(size, size=n)
        columns = np.eye(size)[level]
        columns[rng.random(n) < missing] = np.nan
        parts.append(columns)
        group += [5 * number] * size
        score += 2.0 * rng.normal(size=size)[level]
    parts.append(rng.normal(size=(n, 1)))
    group.append(-1)
    X = np.delete(np.column_stack(parts), drop, axis=1)
    y = (score + X[:, 0] + rng.logistic(size=n) > 0).astype(np.int64)
    return X, y, np.delete(np.array(group), drop)


@pytest.mark.parametrize("drop", [(), (3,)], ids=["all levels", "rows without a level"])
@pytest.mark.parametrize("classes", [2, 3])
def test_oracle_the_library_on_codes(classes, drop):
    X, y, group = rows(drop=drop)
    if classes == 3:
        y = y + (X[:, 0] > 1)
    ranks = Ranks(X, group=group)
    assert ranks.categorical.tolist() == [True, True, False, False]
    coded = ranks.coded(X)
    model = booster(0, SMALL_TREES, ranks)(30, coded, y, None)
    if classes == 2:
        frozen = ranks.freeze(model)
    else:
        frozen = freeze_classes(model, X.shape[1], ranks.columns, ranks.value, ranks.levels)
    np.testing.assert_allclose(
        frozen.predict_proba(X), model.predict_proba(coded), rtol=1e-9, atol=1e-12
    )
    # Whole sets of levels are split off, not one level after another.
    splits = [p.nodes for ps in model._predictors for p in ps]
    assert sum(nodes["is_categorical"].sum() for nodes in splits) > 10


def test_a_level_that_the_fit_had_not_seen_goes_where_missing_ones_go():
    X, y, group = rows()
    seen = ~(X[:, 3] == 1)
    ranks = Ranks(X[seen], group=group)
    assert ranks.levels.codes[0].tolist() == [0, 1, -1, 2, 3, 4, 5]
    model = booster(0, SMALL_TREES, ranks)(30, ranks.coded(X[seen]), y[seen], None)
    frozen = ranks.freeze(model)
    new = X[seen & ~np.isnan(X[:, 1])][:40]
    new[:, 1:8] = 0.0
    new[:, 3] = 1.0
    codes = ranks.coded(np.where(group == 0, np.nan, new))
    np.testing.assert_allclose(frozen.predict_proba(new), model.predict_proba(codes), rtol=1e-9)


def test_two_levels_and_more_levels_than_bins_stay_one_hot_columns():
    X, _, group = rows(2000, 0.0, sizes=(2, BINS))
    ranks = Ranks(X, group=group)
    assert not ranks.categorical.any()
    assert ranks.columns.tolist() == list(range(X.shape[1]))


def test_a_category_is_used_whole_where_one_of_its_levels_is():
    X, _, group = rows()
    ranks = Ranks(X, np.array([0, 9]), group)
    assert ranks.columns.tolist() == [8, 9, 10, 11, 0]
    assert ranks.coded(X).shape == (len(X), 2)


def test_the_order_of_levels_is_that_of_their_columns_whatever_they_are_called():
    X, y, group = rows(missing=0.0)
    order = np.argsort(mix_bits(np.arange(7).astype(np.uint64)))
    other = X.copy()
    other[:, 1:8] = X[:, 1:8][:, order]
    prob = []
    for one in (X, other):
        ranks = Ranks(one, group=group)
        prob.append(ranks.freeze(booster(0, SMALL_TREES, ranks)(10, ranks.coded(one), y, None)))
    np.testing.assert_allclose(prob[0].predict_proba(X), prob[1].predict_proba(other), rtol=1e-6)


@pytest.mark.parametrize("classes", [2, 3])
def test_codes_and_the_order_of_columns_change_nothing(classes):
    rng = np.random.default_rng(2)
    towns, trades = np.array(list("abcde")), np.array(list("stuvwx"))
    town, trade, age = rng.integers(5, size=400), rng.integers(6, size=400), rng.normal(size=400)
    chance = 1.5 * np.isin(town, [1, 4]) - np.isin(trade, [0, 3]) + age
    y = (chance + rng.logistic(size=400) > 0.5).astype(int) + (classes - 2) * (age > 1)
    table = pd.DataFrame({"town": towns[town], "trade": trades[trade], "age": age})
    other = table[["age", "trade", "town"]].copy()
    other["town"] = pd.Categorical(other["town"], list("dbeca"))
    other["trade"] = pd.Categorical(other["trade"], list("xuvswt"))
    model = AutoClassifier(["boosting"], cv=3, repeats=1, fallback=None)
    prob = clone(model).fit(table, y).predict_proba(table)
    np.testing.assert_allclose(clone(model).fit(other, y).predict_proba(other), prob, rtol=1e-9)
    assert len(np.unique(prob[:, 0])) > 30
