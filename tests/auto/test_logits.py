"""Logits of the stack: the ridge path, splines, which columns get them."""

import numpy as np
import pytest
from scipy.special import expit

from scarce import DataError
from scarce.auto import logits
from scarce.auto.logits import RIDGES, RidgePath, bent_columns, knots, logit_path
from tests.auto.test_classifier import straight


def test_oracle_splines_are_scikit_learn_s_and_the_ridge_is_lbfgs_s():
    from scipy.optimize import minimize
    from sklearn.preprocessing import SplineTransformer

    rng = np.random.default_rng(0)
    X = np.column_stack([rng.normal(size=200), rng.exponential(size=200), np.arange(200) % 3])
    y = (rng.random(200) < expit(X[:, 0] ** 2 - 1)) * 1.0
    new = rng.normal(size=(50, 3)) * 4

    def wide(X, new):
        bent = [
            SplineTransformer(n_knots=5, degree=3, knots="quantile")
            .fit(X[:, [j]])
            .transform(new[:, [j]])
            for j in (0, 1)
        ]
        return np.hstack([new, *bent])

    path = logit_path((X, y, None), new, 0, bent=True)
    at = RIDGES.index(1.0)
    assert path.extend(at + 1) == at + 1
    model = path.model(at)
    assert len(model.knots_[2]) == 0
    assert set(model.predict(X)) == {0, 1}
    np.testing.assert_allclose(model.predict_proba(new)[:, 1], path.prob[at], rtol=1e-9)
    Z = wide(X, X)
    mean, scale = Z.mean(axis=0), Z.std(axis=0)
    Z = (Z - mean) / scale

    def loss(point):
        score = Z @ point[:-1] + point[-1]
        gap = expit(score) - y
        value = np.logaddexp(0, score).sum() - y @ score + 0.5 * point[:-1] @ point[:-1]
        return value, np.append(Z.T @ gap + point[:-1], gap.sum())

    best = minimize(loss, np.zeros(Z.shape[1] + 1), jac=True, method="L-BFGS-B", tol=1e-14).x
    score = (wide(X, new) - mean) / scale @ best[:-1] + best[-1]
    np.testing.assert_allclose(path.prob[at], expit(score), atol=2e-3)


@pytest.mark.parametrize("cheap", [0.0, 1e12])  # old Hessians as preconditioners; new ones always
@pytest.mark.parametrize("shape", [(300, 8), (60, 90)])
def test_every_ridge_is_solved_from_the_one_before(monkeypatch, cheap, shape):
    """The optimality conditions of each problem, with collinear columns too."""
    monkeypatch.setattr(logits, "CHEAP", cheap)
    rng = np.random.default_rng(1)
    Z = rng.normal(size=shape)
    Z[:, -1] = Z[:, 0]
    y = (Z[:, 0] + Z[:, 1] + 0.3 * rng.normal(size=len(Z)) > 0.8) * 1.0
    weight = 0.5 + rng.random(len(Z))
    path = RidgePath(Z, y, weight)
    design = np.column_stack([Z, np.ones(len(Z))])
    for ridge in RIDGES:
        point = path.solve(ridge)
        prob = expit(design @ point)
        penalty = np.append(np.full(shape[1], ridge), 0.0)
        slope = design.T @ (weight * (prob - y)) + penalty * point
        curvature = design.T @ ((weight * prob * (1 - prob))[:, None] * design) + np.diag(penalty)
        # What is left to gain in log loss, over all rows together.
        assert 0.5 * slope @ np.linalg.lstsq(curvature, slope, rcond=1e-12)[0] < 1e-4


def test_the_columns_that_bend_are_found_in_any_unit():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(800, 60))
    X[:, 3] = np.exp(X[:, 3])
    y = (rng.random(800) < expit(X[:, 7] ** 2 + X[:, 20] - np.abs(X[:, 30]) - 1)) * 1.0
    chosen = bent_columns(X, y, np.ones(800))
    assert len(chosen) == 24
    assert {7, 30} <= set(chosen)
    assert bent_columns(X * 1e139 + 1e139, y, np.full(800, 3.0)) == chosen
    few = np.arange(800)[:, None] % np.array([2, 3] * 30)
    assert bent_columns(np.column_stack([few, X]), y, np.ones(800)) == [60 + j for j in chosen]
    assert len(bent_columns(np.tile(X, (5, 1)), np.tile(y, 5), np.ones(4000))) == 40


def test_a_line_is_no_bend():
    """The strongest column enters as a line: it must not take the place of those that bend."""
    rng = np.random.default_rng(3)
    X = rng.uniform(-1, 1, size=(3000, 200))
    X[:, :40] = X[:, :1] + 0.01 * X[:, :40]
    y = (rng.random(3000) < expit(0.8 * X[:, 0] + np.abs(X[:, 100]) * 2 - 2)) * 1.0
    chosen = bent_columns(X, y, np.ones(3000))
    assert 100 in chosen
    assert len(set(chosen) & set(range(40))) < 15


def test_knots_where_most_rows_share_a_value():
    column = np.append(np.zeros(500), np.arange(1, 40.0))
    assert (np.diff(knots(column)) > 0).all()
    assert len(knots(column)) >= 8
    assert len(knots(np.array([0.0, 1, 2, 3] * 9))) == 0
    assert len(knots(np.array([1.0, 2, 3, 4, 1e308] * 9))) == 0


@pytest.mark.parametrize(
    "changes",
    [{"knots_": [np.zeros(9)] * 3}, {"knots_": []}, {"coef_": np.ones(2)}, {"intercept_": np.inf}],
)
def test_a_logit_file_whose_parts_do_not_fit_is_refused(changes):
    X, y = straight(60)
    path = logit_path((X, y * 1.0, None), X, 0, bent=True)
    path.extend(4)
    model = path.model(3)
    model._check_loaded()
    for name, value in changes.items():
        setattr(model, name, value)
    with pytest.raises(DataError):
        model._check_loaded()
