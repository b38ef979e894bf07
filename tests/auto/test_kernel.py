"""The kernel member: scikit-learn's Nystroem as a witness, units, damaged files."""

import numpy as np
import pytest
from scipy.special import logit
from sklearn.kernel_approximation import Nystroem
from sklearn.linear_model import LogisticRegression

from scarce import DataError
from scarce.auto.kernel import RIDGES, WIDTHS, KernelPath
from tests.properties.store_properties import check_round_trip


def table(n=300):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3)) * [1.0, 5.0, 0.1] + [0.0, 100.0, 3.0]
    y = (X[:, 0] ** 2 + ((X[:, 1] - 100) / 5) ** 2 + rng.normal(size=n) * 0.3 < 0.8) * 1.0
    return X, y


def fitted(seen, new, settings=14):
    path = KernelPath(seen, new, 0)
    assert path.extend(settings) == settings
    return path


def test_oracle_scikit_learn_s_nystroem_and_logistic_regression():
    X, y = table()
    new = table(60)[0] + 0.1
    path = fitted((X, y, None), new)
    place = 2 * RIDGES.index(1.0) + 1
    model = path.model(place)
    standard = lambda A: np.clip((A - X.mean(axis=0)) / X.std(axis=0), -3, 3)  # noqa: E731
    rows = standard(X)
    assert len(model.landmarks_) == 150  # every second row
    nystroem = Nystroem(gamma=WIDTHS[1] / 3, n_components=150, random_state=0)
    nystroem.fit(model.landmarks_)
    Z, new_Z = nystroem.transform(rows), nystroem.transform(standard(new))
    other = LogisticRegression(C=1.0, tol=1e-10, max_iter=5000).fit(Z - Z.mean(axis=0), y)
    expected = other.predict_proba(new_Z - Z.mean(axis=0))[:, 1]
    np.testing.assert_allclose(logit(path.prob[place]), logit(expected), atol=0.02)
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], path.prob[place], rtol=1e-9)


def test_half_of_the_landmarks_are_events():
    X, y = table(900)
    path = fitted((X, y, None), X[:5], 1)
    model = path.model(0)
    events = (X[y == 1] - X.mean(axis=0)) / X.std(axis=0)
    among = np.isclose(model.landmarks_[:, None, 0], events[None, :, 0]).any(axis=1)
    assert len(model.landmarks_) == 200
    assert among.sum() == min(100, int(y.sum()))


def test_units_and_constant_columns_change_nothing():
    X, y = table()
    wide = np.column_stack([X * 1e130 + 1e130, np.full(len(X), 7.0)])
    one = fitted((X, y, None), X).prob
    two = fitted((wide[:, :3], y, None), wide[:, :3]).prob
    np.testing.assert_allclose(one, two, atol=1e-6)
    assert np.isfinite(fitted((wide, y, None), wide).prob).all()
    far = fitted((X, y, None), X).model(3).predict_proba(np.full((2, 3), [[1e300], [-1e300]]))
    assert np.isfinite(far).all()


def test_three_times_the_weight_at_three_times_the_ridge_is_the_same():
    X, y = table(900)
    heavy = fitted((X, y, np.full(900, 3.0)), X).prob
    once = fitted((X, y, None), X).prob
    at = [2 * RIDGES.index(ridge) for ridge in (3.0, 1.0)]
    np.testing.assert_allclose(heavy[at[0]], once[at[1]], atol=5e-3)
    assert np.abs(heavy[at[0]] - once[at[0]]).max() > 0.05


def test_model_file():
    X, y = table()
    check_round_trip(fitted((X, y, None), X).model(5), X)


@pytest.mark.parametrize(
    "changes",
    [
        {"landmarks_": np.zeros(9)},
        {"coef_": np.ones(2)},
        {"intercept_": np.inf},
        {"width_": 0.0},
        {"scale_": -np.ones(3)},
        {"mean_": np.zeros(2)},
        {"classes_": np.arange(3)},
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(changes):
    X, y = table()
    model = fitted((X, y, None), X).model(3)
    model._check_loaded()
    for name, value in changes.items():
        setattr(model, name, value)
    with pytest.raises(DataError):
        model._check_loaded()
