"""partial_fit of GaussianBayes: the same model as one fit, in any order, also after a reload."""

import numpy as np
import pytest
from sklearn.exceptions import NotFittedError

from scarce import DataError, UsageError, load, save
from scarce.datasets import hide_features
from scarce.engine.memory import ArrayRows
from scarce.errors import Argument
from tests.gaussian.densities import densities
from tests.problems import refused
from tests.properties.store_properties import check_round_trip

KINDS = ("diag", "shared-diag", "full", "shared", "shrunk")


@pytest.fixture(scope="module")
def data():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 4)) @ rng.normal(size=(4, 4)) * [1, 1e3, 1, 1e-2] + [0, 1e6, 0, 1]
    y = rng.choice(["a", "b", "c"], 300, p=[0.7, 0.2, 0.1])
    X[y == "b"] += [1, 900, 0, 0.01]
    return X, y


def in_batches(model, X, y, batches, weight=None):
    for rows in batches:
        w = None if weight is None else weight[rows]
        model.partial_fit(X[rows], y[rows], classes=["a", "b", "c"], sample_weight=w)
    return model


def assert_same(one, other, X):
    spread = np.sqrt(one.variance_)
    assert (np.abs(one.mean_ - other.mean_) <= 1e-12 * (spread + np.abs(one.mean_))).all()
    np.testing.assert_allclose(one.variance_, other.variance_, rtol=1e-11)
    if hasattr(one, "covariance_"):
        np.testing.assert_array_equal(one.shrinkage_, other.shrinkage_)
        units = np.sqrt(np.einsum("...i,...j->...ij", one.variance_, one.variance_))
        units = units[0] if one.covariance_.ndim == 2 else units
        assert (np.abs(one.covariance_ - other.covariance_) <= 1e-12 * units).all()
    np.testing.assert_allclose(one.predict_proba(X), other.predict_proba(X), rtol=1e-8, atol=1e-13)
    assert one.report_.objective == pytest.approx(other.report_.objective, rel=1e-11)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("kind", KINDS)
def test_invariant_batches_in_any_order_are_one_fit(data, kind, weighted):
    X, y = data
    weight = np.random.default_rng(0).integers(0, 4, 300).astype(float) if weighted else None
    whole = densities(kind).fit(X, y, weight)
    batches = np.array_split(np.arange(300), [1, 40, 41, 250])
    assert_same(in_batches(densities(kind), X, y, batches, weight), whole, X)
    assert_same(in_batches(densities(kind), X, y, batches[::-1], weight), whole, X)


@pytest.mark.parametrize("kind", ["diag", "shared-diag"])
def test_naive_kinds_take_missing_values_in_batches(data, kind):
    X = hide_features(data[0], how="mcar", share=0.3, random_state=1)
    y = data[1].astype(object)
    y[::7] = None
    whole = densities(kind).fit(X, y)
    batches = np.array_split(np.arange(300), 4)
    assert_same(in_batches(densities(kind), X, y, batches), whole, X)


@pytest.mark.parametrize("kind", KINDS)
def test_a_saved_model_goes_on(data, kind, tmp_path):
    X, y = data
    first = densities(kind).fit(X[:200], y[:200])
    save(first, tmp_path / "m.scarce")
    model = load(tmp_path / "m.scarce").partial_fit(X[200:], y[200:])
    assert_same(model, densities(kind).fit(X, y), X)


def test_a_class_may_come_later(data, tmp_path):
    X, y = data
    late = np.argsort(y, kind="stable")
    for kind in ("diag", "full"):
        model = densities(kind).partial_fit(X[late[:150]], y[late[:150]], classes=["a", "b", "c"])
        with pytest.raises(NotFittedError, match=r"'b', 'c'"):
            model.predict(X)
        save(model, tmp_path / "m.scarce")
        model = load(tmp_path / "m.scarce").partial_fit(X[late[150:]], y[late[150:]])
        assert_same(model, densities(kind).fit(X, y), X)
        check_round_trip(model, X)


def test_rows_may_be_batches(data):
    X, y = data
    codes = np.searchsorted(["a", "b", "c"], y)
    whole = densities("full").fit(ArrayRows(X, codes, classes="abc"))
    model = densities("full")
    model.partial_fit(ArrayRows(X[:90], codes[:90], classes="abc"))
    model.partial_fit(ArrayRows(X[90:], codes[90:], classes="abc"))
    np.testing.assert_allclose(model.covariance_, whole.covariance_, rtol=1e-9, atol=1e-9)


def test_batches_that_cannot_be_taken_are_refused(data):
    X, y = data
    incomplete = X.copy()
    incomplete[3, 1] = np.nan
    model = densities("full")
    with refused("missing-in-batch", DataError, rows=1):
        model.partial_fit(incomplete, y)
    assert not hasattr(model, "classes_")
    model.partial_fit(X[:100], y[:100], classes=["a", "b", "c"])
    kept = model.mean_.copy()
    with refused("missing-in-batch", DataError):
        model.partial_fit(incomplete, y)
    np.testing.assert_array_equal(model.mean_, kept)
    with refused("unknown-class", DataError, labels=["z"], classes=["a", "b", "c"]):
        model.partial_fit(X[:2], ["a", "z"])
    with refused("class-mismatch", UsageError, classes=Argument("classes", ["a", "b"])):
        model.partial_fit(X, y, classes=["a", "b"])
    with pytest.raises(ValueError, match="X has 3 features, but GaussianBayes is expecting 4"):
        model.partial_fit(X[:, :3], y)
    with refused("cannot-continue", UsageError, covariance=Argument("covariance", "diag")):
        model.set_params(covariance="diag").partial_fit(X, y)
    with pytest.raises(AttributeError, match="no attribute 'partial_fit'"):
        densities("full", unlabelled="use").partial_fit(X, y)
    fitted = densities("full").fit(incomplete, y)
    with refused("cannot-continue", UsageError, covariance=Argument("covariance", "full")):
        fitted.partial_fit(X, y)
