"""Frozen trees of several classes: the library's probabilities, cut shorter, safe to load."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)

from scarce import DataError
from scarce.auto.class_trees import ClassTrees, freeze_classes
from scarce.auto.ranks import Ranks
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


def table(n=300, missing=0.0, seed=0):
    """Columns on a coarse grid, so that thresholds meet equal values."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n), rng.integers(0, 5, n), np.round(rng.normal(size=n), 1)]
    )
    y = np.digitize(X[:, 0] * X[:, 2] + X[:, 1] + rng.normal(size=n), [0.5, 2.0, 3.5])
    X[rng.random(X.shape) < missing] = np.nan
    return X, y


MAKERS = {
    "boosting": HistGradientBoostingClassifier(max_iter=12, random_state=0),
    "forest": RandomForestClassifier(9, random_state=0),
    "extra trees": ExtraTreesClassifier(9, min_samples_leaf=2, random_state=0),
}


@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("missing", [0.0, 0.3])
@pytest.mark.parametrize("name", MAKERS)
def test_oracle_the_library(name, missing, classes):
    X, y = table(missing=missing)
    y = np.minimum(y, classes - 1)
    model = MAKERS[name].fit(X, y)
    frozen = freeze_classes(model, 3)
    new, _ = table(missing=missing, seed=1)
    given = new.astype(np.float32).astype(np.float64)  # as forests read them
    np.testing.assert_allclose(frozen.predict_proba(given), model.predict_proba(given), rtol=1e-9)
    np.testing.assert_array_equal(frozen.predict(given), model.predict(given))


def test_oracle_fewer_rounds():
    X, y = table()
    frozen = freeze_classes(MAKERS["boosting"].fit(X, y), 3)
    staged = frozen.staged_prob(X, [3, 7, 50])
    by_library = list(MAKERS["boosting"].staged_predict_proba(X))
    for found, rounds in zip(staged, (3, 7, 12), strict=True):
        np.testing.assert_allclose(found, by_library[rounds - 1], rtol=1e-9)
    cut = frozen.first(7)
    cut._check_loaded()
    np.testing.assert_array_equal(cut.predict_proba(X), staged[1])
    assert len(cut.value_) < len(frozen.value_)
    np.testing.assert_array_equal(frozen.first(99).predict_proba(X), staged[2])
    forest = freeze_classes(MAKERS["forest"].fit(X, y), 3)
    trees = [tree.predict_proba(X) for tree in MAKERS["forest"].estimators_]
    np.testing.assert_allclose(forest.first(4).predict_proba(X), np.mean(trees[:4], axis=0))


@pytest.mark.parametrize("name", MAKERS)
def test_trees_on_ranks_are_in_units_of_the_columns(name):
    X, y = table(missing=0.2)
    wide = np.column_stack([X[:, 0] * 1e9, np.zeros(len(X)), X[:, 1:] - 1e3])
    ranks = Ranks(wide, np.array([0, 2, 3]))
    model = MAKERS[name].fit(ranks.coded(wide), y)
    frozen = freeze_classes(model, 4, ranks.columns, ranks.value)
    prob = model.predict_proba(ranks.coded(wide))
    np.testing.assert_allclose(frozen.predict_proba(wide), prob, rtol=1e-9)


@pytest.mark.parametrize("name", MAKERS)
def test_a_file_gives_the_same_bits(name):
    X, y = table(missing=0.2)
    check_round_trip(freeze_classes(MAKERS[name].fit(X, y), 3), X)


def changed(name, place, value):
    def change(model):
        array = getattr(model, name).copy()
        array[place] = value
        setattr(model, name, array)

    return change


@pytest.mark.parametrize(
    ("change", "wrong"),
    [
        (changed("feature_", 0, 3), "feature_"),
        (changed("left_", 0, 0), "left_"),
        (changed("right_", 0, 10**6), "right_"),
        (changed("left_", -1, 10**6), "left_"),
        (changed("left_", -1, -1), "left_"),
        (changed("roots_", 0, -1), "roots_"),
        (changed("threshold_", 0, np.nan), "threshold_"),
        (changed("value_", 0, np.inf), "value_"),
        (changed("value_", 0, -0.1), "value_"),
        (lambda model: setattr(model, "value_", model.value_[:, :2]), "value_"),
        (changed("offset_", 0, np.nan), "offset_"),
    ],
)
def test_damaged_arrays_are_refused(change, wrong):
    X, y = table()
    frozen = freeze_classes(MAKERS["forest"].fit(X, y), 3)
    assert isinstance(frozen, ClassTrees)
    change(frozen)
    with refused("inconsistent-model", DataError, name=wrong):
        frozen._check_loaded()
