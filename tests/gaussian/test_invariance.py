"""What must not change a Gaussian model: units, shifts, order, copies, constant columns, names."""

import numpy as np
import pyarrow as pa
import pytest

from scarce import DataError, open_rows
from scarce.datasets import hide_features
from tests.gaussian.densities import densities
from tests.problems import codes, refused

KINDS = ("diag", "shared-diag", "full", "shared", "shrunk")
UNITS = np.array([1e-3, 1e6, 1.0, 40.0])
SHIFT = np.array([5.0, -3e6, 0.25, 1e3])


def world(rng, n, columns=4):
    y = (rng.random(n) < 0.3).astype(int)
    X = rng.normal(size=(n, columns))
    X[:, 1] += 0.6 * X[:, 0]
    X[y == 1] += np.linspace(1.2, 0.2, columns)
    X[y == 1, 0] *= 1.5
    return X, y


@pytest.fixture(
    scope="module",
    params=[(kind, way) for kind in KINDS for way in ("complete", "missing", "unlabelled")],
    ids=lambda one: "-".join(one),
)
def case(request):
    """A kind of covariance, rows to learn from (with missing values or labels), rows to predict."""
    kind, way = request.param
    rng = np.random.default_rng(11)
    X, y = world(rng, 90)
    new = world(rng, 60)[0]
    label = y.astype(float)
    if way == "missing":
        X = hide_features(X, how="mcar", share=0.15, random_state=2)
        new = hide_features(new, how="mcar", share=0.15, random_state=3)
    model = densities(kind)
    if way == "unlabelled":
        label[50:] = np.nan
        model.set_params(unlabelled="use", tol=1e-9)
    return model, X, label, new, predict(model, X, label, new)


def predict(model, X, y, new, weight=None):
    return densities(**model.get_params()).fit(X, y, weight).predict_proba(new)


def assert_same(found, wanted):
    """To six digits: EM ends where the gradient is below tol, not at a bit."""
    np.testing.assert_allclose(found, wanted, rtol=0, atol=2e-7)


def test_units_and_shifts(case):
    model, X, y, new, wanted = case
    assert_same(predict(model, X * UNITS + SHIFT, y, new * UNITS + SHIFT), wanted)


def test_order_of_rows_and_columns(case):
    model, X, y, new, wanted = case
    order, columns = np.random.default_rng(0).permutation(len(X)), [2, 0, 3, 1]
    assert_same(predict(model, X[order], y[order], new), wanted)
    assert_same(predict(model, X[:, columns], y, new[:, columns]), wanted)


def test_a_row_of_weight_two_is_two_rows(case):
    model, X, y, new, _ = case
    weight = np.where(np.arange(len(X)) % 3 == 0, 2.0, 1.0)
    weight[::7] = 0.0
    twice = np.repeat(np.arange(len(X)), weight.astype(int))
    assert_same(predict(model, X, y, new, weight), predict(model, X[twice], y[twice], new))


def test_every_row_twice(case):
    """The likelihood has the same maximum; only shrinkage believes in more rows."""
    model, X, y, new, wanted = case
    if model.covariance == "shrunk":
        weight = np.full(len(X), 2.0)
        wanted = predict(model, X, y, new, weight)
    assert_same(predict(model, np.tile(X, (2, 1)), np.tile(y, 2), new), wanted)


def test_a_constant_column_changes_nothing(case):
    model, X, y, new, wanted = case
    for value, later in ((0.1, 0.1), (-1e9, 3.0)):
        wide = np.insert(X, 2, value, axis=1)
        given = np.insert(new, 2, later, axis=1)
        found = densities(**model.get_params()).fit(wide, y)
        assert_same(found.predict_proba(given), wanted)
        assert found.used_.tolist() == [True, True, False, True, True]
        (said,) = [one for one in found.report_.warnings if codes([one]) == ["constant-columns"]]
        assert said.fields["columns"] == "x2"


def test_a_column_without_values_is_an_absent_one(case):
    model, X, y, new, wanted = case
    wide, given = np.insert(X, 1, np.nan, axis=1), np.insert(new, 1, 5.0, axis=1)
    assert_same(predict(model, wide, y, given), wanted)


def test_names_of_labels(case):
    model, X, y, new, wanted = case
    names = np.where(np.isnan(y), None, np.where(y == 1, "ab", "zz"))
    assert_same(predict(model, X, names, new), wanted[:, ::-1])


def test_order_of_levels_in_a_code_book(case):
    """One-hot columns leave out the most frequent level; which rows come first says nothing."""
    model, X, y, new, _ = case
    rng = np.random.default_rng(4)
    towns = rng.choice(["Bonn", "Ulm"], len(X), p=[0.7, 0.3])
    given = rng.choice(["Bonn", "Ulm"], len(new))
    named = {"Bonn": "Jena", "Ulm": "Aachen"}  # the other order in the code book
    found = []
    for book in ({"Bonn": "Bonn", "Ulm": "Ulm"}, named):
        columns = {f"x{j}": X[:, j] for j in range(4)}
        columns["town"] = [book[town] for town in towns]
        columns["y"] = pa.array(y, from_pandas=True)
        rows = open_rows(pa.table(columns), label="y", indicators=True)
        later = {f"x{j}": new[:, j] for j in range(4)}
        later["town"] = [book[town] for town in given]
        fitted = densities(**model.get_params()).fit(rows)
        found.append(fitted.predict_proba(open_rows(pa.table(later))))
    assert_same(*found)


# --- extremes -------------------------------------------------------------------------------------


@pytest.mark.parametrize("scale", [1e-140, 1e140])
def test_any_scale_gives_the_same_probabilities(case, scale):
    model, X, y, new, wanted = case
    mixed = np.array([scale, 1.0, 1.0 / scale, scale])
    assert_same(predict(model, X * mixed, y, new * mixed), wanted)


@pytest.mark.parametrize("scale", [1e-300, 1e-170, 1e-154, 1e153, 1e200, 1e300])
def test_a_scale_without_variances_is_refused(case, scale):
    model, X, y, _, _ = case
    scaled = X * [1.0, scale, 1.0, 1.0]
    with refused("variance-range", DataError, column="x1"):
        densities(**model.get_params()).fit(scaled, y)
    if model.unlabelled == "ignore" and not np.isnan(X).any():
        batches = densities(**model.get_params())
        with refused("variance-range", DataError, column="x1"):
            batches.partial_fit(scaled, y)


def test_one_wild_value_is_refused_at_fit_and_finite_at_prediction(case):
    model, X, y, new, _ = case
    wild = X.copy()
    wild[7, 2] = 1e200
    with refused("variance-range", DataError, column="x2"):
        densities(**model.get_params()).fit(wild, y)
    fitted = densities(**model.get_params()).fit(X, y)
    given = new[:6].copy()
    given[:, 1] = [1e307, -1e307, 1e200, -1e150, 1e20, 1e308]
    prob = fitted.predict_proba(given)
    np.testing.assert_allclose(prob.sum(axis=1), 1.0)
    assert np.isfinite(fitted.log_density(given)).all()
    assert np.isfinite(fitted.outlier_score(given)).all()


# --- least variances ------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("unlabelled", ["ignore", "use"])
def test_a_column_of_large_numbers_erases_no_other(kind, unlabelled):
    """Seconds since 1970 beside measurements of size 1: noise costs little, whatever its unit."""
    rng = np.random.default_rng(3)
    X, y = world(rng, 240)
    seconds = 1.7e9 + 3e7 * rng.normal(size=240)
    label = y.astype(float)
    label[160:] = np.nan
    model = densities(kind, unlabelled=unlabelled)
    wide = model.fit(np.column_stack([X, seconds]), label)
    prob = wide.predict_proba(np.column_stack([X, seconds]))[:, 1]
    days = (seconds - 1.7e9) / 3e7
    small = densities(kind, unlabelled=unlabelled).fit(np.column_stack([X, days]), label)
    np.testing.assert_allclose(
        prob, small.predict_proba(np.column_stack([X, days]))[:, 1], atol=1e-6
    )
    alone = densities(kind, unlabelled=unlabelled).fit(X, label).predict_proba(X)[:, 1]
    assert np.abs(prob - alone).mean() < 0.05


def test_batches_have_the_same_floor_as_one_fit():
    rng = np.random.default_rng(3)
    X, y = world(rng, 300)
    X = np.column_stack([X, 1.7e9 + 3e7 * rng.normal(size=300), np.full(300, 2.5)])
    X[y == 1, 2] = 0.25  # constant within a class: the floor is all its variance
    for kind in KINDS:
        whole = densities(kind).fit(X, y)
        parts = densities(kind)
        for first in range(0, 300, 100):
            parts.partial_fit(X[first : first + 100], y[first : first + 100], classes=[0, 1])
        np.testing.assert_allclose(parts.variance_, whole.variance_, rtol=1e-7)
        np.testing.assert_array_equal(parts.used_, whole.used_)
        if kind == "diag":
            assert whole.variance_[1, 2] == pytest.approx(1e-9 * X[:, 2].var(), rel=1e-6)
