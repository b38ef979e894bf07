"""What must not change a MaxentClassifier: units, shifts, orders, names, copies as weights.

Every setting is held to every change, to 1e-6 in probability where arithmetic differs (the fits end
at a duality gap of 1e-12 nats). "Every row twice" is weight 2 by design: boxes then have the width
of twice as many labelled rows. Other codes or names of categories deal other folds, like another
random_state; the model at a given width is the same.
"""

import numpy as np
import pandas as pd
import pytest

from scarce import MaxentClassifier

SETTINGS = {
    "auto": {},
    "linear": {"features": "l"},
    "second order": {"features": "lqp"},
    "hinges": {"features": "h", "knots": 12},
    "steps": {"features": "t", "knots": 8},
    "even knots": {"features": "lqpht", "knots": 8, "knots_at": "uniform"},
    "labelled knots": {"features": "lh", "knots_at": "data"},
    "seen": {"features": "lqh", "spread": "seen"},
    "maxent's widths": {"features": "lqph", "knots": 8, "widths": "maxent"},
    "width by folds": {"features": "lq", "width_scale": "auto", "width_scales": [4, 1, 0.25]},
    "robust": {"objective": "robust", "features": "lqh", "knots": 8},
    "robust by folds": {
        "objective": "robust",
        "features": "l",
        "width_scale": "auto",
        "width_scales": [8, 2, 0.5],
        "cv": 3,
    },
    "survey weights": {"features": "lqh", "knots": 8, "weight_kind": "survey"},
}
COLUMNS = ["heat", "rain", "count", "soil"]


def make(labels, seed=0, n=400):
    """A table with a skewed column, whole numbers, a category, missing values and one outlier."""
    rng = np.random.default_rng(seed)
    X = np.column_stack(
        [rng.normal(size=n), rng.lognormal(size=n), rng.poisson(3, n), rng.integers(0, 4, n)]
    )
    truth = np.where(X[:, 0] + 0.5 * (X[:, 3] == 2) + rng.normal(size=n) > 1, 1, 0)
    X[rng.random(X.shape) < 0.1] = np.nan
    X[5, 1] = 1e4
    y = truth.astype(float)
    if labels == "some":
        y[(truth == 0) | (rng.random(n) < 0.4)] = np.nan
    return X, y, rng.integers(1, 4, n).astype(float)


def fit(name, X, y, weight=None, categorical=(3,), **more):
    settings = {"tol": 1e-12, **SETTINGS[name], **more}
    return MaxentClassifier(categorical=list(categorical), **settings).fit(X, y, weight)


@pytest.fixture(scope="module")
def fitted():
    """Fit each setting once."""
    known = {}

    def one(name, labels):
        if (name, labels) not in known:
            X, y, weight = make(labels)
            model = fit(name, X, y, weight)
            assert model.report_.converged
            known[name, labels] = X, y, weight, model, model.predict_proba(X)
        return known[name, labels]

    return one


def same(one, other, digits=6):
    np.testing.assert_allclose(other, one, rtol=0, atol=10.0**-digits)


pytestmark = pytest.mark.parametrize("labels", ["some", "all"])


@pytest.mark.parametrize("name", SETTINGS)
def test_invariant_units_and_shifts(name, labels, fitted):
    X, y, weight, model, prob = fitted(name, labels)
    for factor, shift in (([1e-6, 1e3, 1.0, 1.0], 0.0), (1.0, [40.0, 0.0, -3.0, 0.0])):
        moved = X * factor + shift
        other = fit(name, moved, y, weight)
        same(prob, other.predict_proba(moved))
        assert other.width_scale_ == model.width_scale_


@pytest.mark.parametrize("name", SETTINGS)
def test_invariant_order_of_rows_and_columns(name, labels, fitted):
    X, y, weight, model, prob = fitted(name, labels)
    order = np.random.default_rng(1).permutation(len(y))
    rows = fit(name, X[order], y[order], weight[order])
    same(prob, rows.predict_proba(X))
    columns = [2, 3, 1, 0]
    turned = fit(name, X[:, columns], y, weight, categorical=[1])
    same(prob, turned.predict_proba(X[:, columns]))
    assert rows.width_scale_ == turned.width_scale_ == model.width_scale_


@pytest.mark.parametrize("name", [name for name in SETTINGS if name != "survey weights"])
def test_invariant_a_weight_is_a_row_repeated(name, labels, fitted):
    X, y, weight, model, prob = fitted(name, labels)
    times = weight.astype(int)
    repeated = fit(name, np.repeat(X, times, axis=0), np.repeat(y, times))
    same(prob, repeated.predict_proba(X))
    assert repeated.width_scale_ == model.width_scale_
    both = fit(name, np.vstack([X, X]), np.append(y, y))
    two = fit(name, X, y, np.full(len(y), 2.0))
    same(two.predict_proba(X), both.predict_proba(X))
    assert both.width_scale_ == two.width_scale_


@pytest.mark.parametrize("name", SETTINGS)
def test_invariant_columns_and_rows_that_say_nothing(name, labels, fitted):
    X, y, weight, model, prob = fitted(name, labels)
    wide = np.column_stack([np.full(len(y), 7.0), X, np.full(len(y), np.nan)])
    other = fit(name, wide, y, weight, categorical=[4])
    same(prob, other.predict_proba(wide))
    assert other.width_scale_ == model.width_scale_
    more = fit(name, np.vstack([X, X[:9] + 5]), np.append(y, y[:9]), np.append(weight, np.zeros(9)))
    same(prob, more.predict_proba(X))


@pytest.mark.parametrize("name", SETTINGS)
def test_invariant_names_of_labels_and_codes_of_categories(name, labels, fitted):
    X, y, weight, model, prob = fitted(name, labels)
    names = np.array(["no", "yes"], dtype=object)[np.nan_to_num(y).astype(int)]
    named = fit(name, X, np.where(np.isnan(y), None, names), weight)
    assert named.classes_[-1] == "yes"
    same(prob, named.predict_proba(X))
    codes = X.copy()
    codes[:, 3] = np.array([17.0, -2.0, 5.0, 3.0, np.nan])[
        np.nan_to_num(X[:, 3], nan=4).astype(int)
    ]
    width = {"width_scale": model.width_scale_}
    recoded = fit(name, codes, y, weight, **width)
    same(prob, recoded.predict_proba(codes))
    text = pd.DataFrame(X[:, :3], columns=COLUMNS[:3])
    levels = np.array(["clay", "peat", "sand", "rock", None], dtype=object)
    text["soil"] = levels[np.nan_to_num(X[:, 3], nan=4).astype(int)]
    words = fit(name, text, y, weight, categorical=["soil"], **width)
    same(prob, words.predict_proba(text))
    assert named.width_scale_ == model.width_scale_


@pytest.mark.parametrize("name", ["auto", "robust", "width by folds"])
def test_invariant_classes_swapped(name, labels, fitted):
    X, y, weight, model, prob = fitted(name, labels)
    if labels == "some":
        return  # the one labelled class is always the last
    other = fit(name, X, 1 - y, weight)
    same(prob, other.predict_proba(X)[:, ::-1])
    assert other.width_scale_ == model.width_scale_
