"""Frozen trees: the library's probabilities to 1e-12, safe to load, the same bits after a file."""

import numpy as np
import pytest
from sklearn.ensemble import (
    ExtraTreesClassifier,
    GradientBoostingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from threadpoolctl import threadpool_limits

from scarce import DataError, StoreError, UsageError, save
from scarce.auto.trees import TreeEnsemble, freeze
from scarce.io.store import REGISTRY
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


@pytest.fixture(autouse=True)
def registered(monkeypatch):
    monkeypatch.setitem(REGISTRY, "TreeEnsemble", "scarce.auto.trees")
    with threadpool_limits(1, user_api="openmp"):  # threads that wait for busy cores spin
        yield


def table(n=400, missing=0.0, seed=0):
    """Columns on a coarse grid, so that thresholds meet equal values, and one that never splits."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [
            rng.normal(size=n),
            rng.integers(0, 5, n) / 7,
            np.round(rng.normal(size=n), 1),
            np.ones(n),
            rng.normal(size=n) * 1e8,
        ]
    )
    y = (X[:, 0] * X[:, 2] + X[:, 1] + rng.normal(size=n) > 0.8).astype(int)
    X[rng.random(X.shape) < missing] = np.nan
    X[:, 3] = 1.0
    return X, y


def lightgbm(**settings):
    package = pytest.importorskip("lightgbm")
    return package.LGBMClassifier(n_estimators=30, num_leaves=15, verbose=-1, **settings)


def catboost(**settings):
    package = pytest.importorskip("catboost")
    return package.CatBoostClassifier(
        iterations=40, verbose=False, allow_writing_files=False, random_seed=0, **settings
    )


MAKERS = {
    "boosting": lambda: HistGradientBoostingClassifier(max_iter=30, random_state=0),
    "forest": lambda: RandomForestClassifier(30, min_samples_leaf=2, random_state=0),
    "weighted forest": lambda: RandomForestClassifier(9, class_weight="balanced", random_state=0),
    "extra": lambda: ExtraTreesClassifier(20, random_state=0),
    "lightgbm": lightgbm,
    "catboost": catboost,
}


def edges(frozen, X):
    """Rows that sit on thresholds, next to them in both precisions, and missing values."""
    inner = (frozen.feature_ >= 0) & (np.abs(frozen.threshold_) < 1e30)
    rows = np.repeat(X[:1], 3 * inner.sum(), axis=0)
    at = frozen.threshold_[inner]
    near = np.concatenate([at, np.nextafter(at, np.inf), np.nextafter(at, -np.inf)])
    rows[np.arange(len(rows)), np.tile(frozen.feature_[inner], 3)] = near
    return rows


@pytest.mark.parametrize("missing", [0.0, 0.15])
@pytest.mark.parametrize("maker", MAKERS)
def test_oracle_the_library_itself(maker, missing):
    X, y = table(missing=missing)
    grown = MAKERS[maker]().fit(X, y)
    frozen = freeze(grown)
    new, _ = table(seed=1, missing=missing)
    new = np.vstack([X, new, edges(frozen, np.nan_to_num(X))])
    expected = grown.predict_proba(new)
    assert np.abs(frozen.predict_proba(new) - expected).max() <= 1e-12
    assert (frozen.predict(new) == grown.predict(new)).mean() > 0.999


@pytest.mark.parametrize("maker", ["boosting", "forest", "lightgbm", "catboost"])
def test_missing_values_where_none_were_seen_in_training(maker):
    X, y = table()
    grown = MAKERS[maker]().fit(X, y)
    new, _ = table(seed=1, missing=0.3)
    new[:, 3] = np.where(np.arange(len(new)) % 2, np.nan, 1.0)
    assert np.abs(freeze(grown).predict_proba(new) - grown.predict_proba(new)).max() <= 1e-12


def test_forests_compare_in_single_precision():
    X, y = table()
    grown = RandomForestClassifier(5, random_state=0).fit(X, y)
    frozen = freeze(grown)
    frozen.single_ = False
    rows = edges(frozen, X)
    assert np.abs(frozen.predict_proba(rows) - grown.predict_proba(rows)).max() > 0.01


@pytest.mark.parametrize("maker", MAKERS)
def test_model_file(maker):
    X, y = table(missing=0.1)
    check_round_trip(freeze(MAKERS[maker]().fit(X, np.array(["no", "yes"])[y])), X)


@pytest.mark.parametrize("maker", ["boosting", "forest"])
def test_oracle_the_first_trees_are_a_smaller_fit(maker):
    X, y = table(missing=0.1)
    frozen = freeze(MAKERS[maker]().fit(X, y))
    staged = frozen.staged_prob(X, [1, 7, 30, 31])
    fewer = MAKERS[maker]()
    fewer.set_params(**{"max_iter" if maker == "boosting" else "n_estimators": 7})
    expected = fewer.fit(X, y).predict_proba(X)[:, 1]
    np.testing.assert_allclose(staged[1], expected, atol=1e-12)
    np.testing.assert_allclose(frozen.first(7).predict_proba(X)[:, 1], expected, atol=1e-12)
    # A library may stop before the number that was asked for: then all trees count.
    np.testing.assert_array_equal(staged[2], staged[3])
    np.testing.assert_array_equal(frozen.first(99).predict_proba(X)[:, 1], staged[2])


def test_a_tree_that_is_a_single_leaf():
    X, y = table(30)
    frozen = freeze(RandomForestClassifier(3, min_samples_leaf=30).fit(X, y))
    assert len(np.unique(frozen.predict_proba(X)[:, 1])) == 1


@pytest.mark.parametrize(
    ("name", "index", "value"),
    [
        ("left_", 0, 0),
        ("right_", 0, 10**6),
        ("left_", 0, -1),
        ("feature_", 0, 5),
        ("feature_", 0, -2),
        ("threshold_", 0, np.nan),
        ("value_", 1, np.inf),
        ("roots_", 0, -1),
        ("roots_", 1, 10**6),
    ],
)
def test_trees_that_lead_nowhere_are_refused(tmp_path, name, index, value):
    frozen = freeze(RandomForestClassifier(4, random_state=0).fit(*table()))
    getattr(frozen, name)[index] = value
    with refused("inconsistent-model", DataError, name=name):
        frozen._check_loaded()
    with pytest.raises(StoreError, match=name):  # save makes the same checks as load
        save(frozen, tmp_path / "trees.scarce")


@pytest.mark.parametrize(
    ("name", "value", "code"),
    [
        ("link_", "probit", "inconsistent-model"),
        ("offset_", np.inf, "inconsistent-model"),
        ("single_", 1, "inconsistent-model"),
        ("value_", np.zeros(3), "wrong-array"),
        ("feature_", np.zeros(0), "wrong-array"),
        ("roots_", np.zeros(0, dtype=np.int32), "inconsistent-model"),
        ("classes_", np.arange(3), "inconsistent-model"),
    ],
)
def test_parts_of_the_wrong_kind_are_refused(name, value, code):
    frozen = freeze(RandomForestClassifier(4, random_state=0).fit(*table()))
    setattr(frozen, name, value)
    with refused(code, DataError, name=name):
        frozen._check_loaded()


def test_what_cannot_be_frozen_is_refused():
    X, y = table(60)
    with refused("cannot-freeze", UsageError, model="GradientBoostingClassifier"):
        freeze(GradientBoostingClassifier(n_estimators=2).fit(X, y))
    with refused("two-classes-needed", UsageError, count=3):
        freeze(RandomForestClassifier(2).fit(X, np.arange(60) % 3))
    by_level = HistGradientBoostingClassifier(max_iter=3, categorical_features=[1])
    with refused("cannot-freeze", UsageError):
        freeze(by_level.fit(np.column_stack([X[:, 3], np.arange(60) % 3]), np.arange(60) % 3 == 1))
    assert not hasattr(TreeEnsemble(), "fit")


def test_columns_are_checked_when_predicting():
    frozen = freeze(RandomForestClassifier(2).fit(*table()))
    with pytest.raises(ValueError, match="3 features"):
        frozen.predict_proba(np.zeros((2, 3)))
