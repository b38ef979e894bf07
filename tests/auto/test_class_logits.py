"""Logits of several classes: a slow plain solver, scikit-learn, missing values, landmarks."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import logsumexp, softmax
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import log_loss

from scarce import DataError
from scarce.auto.class_logits import (
    ClassKernelPath,
    ClassLogitPath,
    SoftmaxPath,
    bent_columns,
    landmark_rows,
    marginal_prob,
    strongest_columns,
)
from scarce.auto.kernel import placed, radial
from scarce.auto.logits import RIDGES, RidgePath, widened
from scarce.missing.front import fit_front
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


def world(n=400, classes=4, d=3, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) * np.arange(1, d + 1)
    score = X @ rng.normal(size=(d, classes)) + np.square(X[:, :1]) * np.arange(classes) / 4
    prob = softmax(score, axis=1)
    return X, (rng.random((n, 1)) > prob.cumsum(axis=1)).sum(axis=1)


def plain_objective(point, Z, codes, weight, ridge):
    point = point.reshape(Z.shape[1] + 1, -1)
    score = Z @ point[:-1] + point[-1]
    loss = logsumexp(score, axis=1) - score[np.arange(len(Z)), codes]
    return weight @ loss + ridge / 2 * np.sum(point[:-1] ** 2)


def test_oracle_a_slow_plain_solver_along_the_path():
    Z, codes = world()
    weight = np.random.default_rng(1).random(400) * 3
    path = SoftmaxPath(Z, codes, weight, 4)
    for ridge in (100.0, 1.0, 0.01):
        found = path.solve(ridge)
        args = (Z, codes, weight, ridge)
        best = minimize(plain_objective, found.ravel() * 0.9, args, "BFGS", tol=1e-7)
        assert plain_objective(found.ravel(), *args) <= best.fun + 1e-3
        np.testing.assert_allclose(found.sum(axis=1), 0, atol=1e-12)


def test_oracle_scikit_learn():
    Z, codes = world()
    path = SoftmaxPath(Z, codes, np.ones(400), 4)
    theirs = LogisticRegression(C=1 / 3.0, tol=1e-10, max_iter=5000).fit(Z, codes)
    found = path.solve(3.0)
    prob = softmax(Z @ found[:-1] + found[-1], axis=1)
    np.testing.assert_allclose(prob, theirs.predict_proba(Z), atol=3e-3)


def test_two_classes_are_the_logit_at_half_the_ridge():
    Z, codes = world(classes=2)
    found = SoftmaxPath(Z, codes, np.ones(400), 2).solve(6.0)
    binary = RidgePath(Z, codes * 1.0, np.ones(400)).solve(3.0)
    np.testing.assert_allclose(found[:, 1] - found[:, 0], binary, atol=2e-3)


def test_separable_classes_end():
    Z = np.repeat(np.eye(5), 6, axis=0)
    path = SoftmaxPath(Z, np.repeat(np.arange(5), 6), np.ones(30), 5)
    for ridge in RIDGES:
        point = path.solve(ridge)
    assert np.isfinite(point).all()
    prob = softmax(Z @ point[:-1] + point[-1], axis=1)
    assert prob[np.arange(30), np.repeat(np.arange(5), 6)].min() > 0.999


@pytest.mark.parametrize("bent", [False, True])
def test_the_model_is_the_path_and_survives_a_file(bent):
    X, codes = world()
    new = world(seed=1)[0] * 1.5
    path = ClassLogitPath((X, codes, np.ones(400), 4), new, 0, bent=bent)
    assert path.extend(6) == 6
    model = path.model(5)
    np.testing.assert_allclose(model.predict_proba(new), path.prob[5], atol=1e-10)
    score = widened(new, model.knots_) @ model.coef_ + model.intercept_
    np.testing.assert_allclose(model.predict_proba(new), softmax(score, axis=1), atol=1e-12)
    check_round_trip(model, X)
    model.coef_ = model.coef_[:-1]
    with refused("wrong-array", DataError, name="coef_"):
        model._check_loaded()


def test_splines_find_what_lines_do_not():
    X, codes = world(2000)
    new, truth = world(2000, seed=0)
    loss = []
    for bent in (False, True):
        path = ClassLogitPath((X, codes, np.ones(2000), 4), new, 0, bent=bent)
        path.extend(6)
        loss.append(log_loss(truth, path.prob[5]))
    assert loss[1] < 0.95 * loss[0]


def test_the_kernel_is_the_path_and_survives_a_file():
    X, codes = world()
    new = world(seed=1)[0]
    path = ClassKernelPath((X, codes, np.ones(400), 4), new, 0)
    found = path.extend(8)
    model = path.model(found - 1)
    np.testing.assert_allclose(model.predict_proba(new), path.prob[-1], atol=1e-10)
    kernel = radial(placed(new, model.mean_, model.scale_), model.landmarks_, model.width_)
    prob = softmax(kernel @ model.coef_ + model.intercept_, axis=1)
    np.testing.assert_allclose(model.predict_proba(new), prob, atol=1e-12)
    check_round_trip(model, X)
    model.landmarks_ = model.landmarks_[:, :2]
    with refused("wrong-array", DataError, name="landmarks_"):
        model._check_loaded()


def test_oracle_missing_values_are_integrated_out():
    """Against the mean over draws from the normal distribution of what is missing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(2000, 3)) @ np.array([[1, 0.6, 0.2], [0, 0.8, 0.5], [0, 0, 0.9]])
    front = fit_front(X)
    rows = X[:6].copy()
    rows[[0, 1, 2, 2, 3, 3], [0, 2, 0, 1, 1, 2]] = np.nan
    coef, intercept = rng.normal(size=(3, 4)) * 1.5, rng.normal(size=4)
    found = marginal_prob(front.spread(rows), coef, intercept)
    mean, covariance = X.mean(axis=0), np.cov(X.T)
    whole = softmax(rows[4:] @ coef + intercept, axis=1)
    np.testing.assert_allclose(found[4:], whole, rtol=1e-12)
    for row, prob in zip(rows[:4], found, strict=False):
        miss, seen = np.isnan(row), ~np.isnan(row)
        gain = covariance[np.ix_(miss, seen)] @ np.linalg.inv(covariance[np.ix_(seen, seen)])
        centre = mean[miss] + gain @ (row - mean)[seen]
        left = covariance[np.ix_(miss, miss)] - gain @ covariance[np.ix_(seen, miss)]
        drawn = np.tile(row, (40_000, 1))
        drawn[:, miss] = rng.multivariate_normal(centre, left, 40_000)
        mean_prob = softmax(drawn @ coef + intercept, axis=1).mean(axis=0)
        np.testing.assert_allclose(prob, mean_prob, atol=0.01)


def test_landmarks_and_columns():
    codes = np.repeat([0, 1, 2, 3], [1000, 30, 200, 5])
    assert np.bincount(codes[landmark_rows(codes, 4, 0)]).tolist() == [82, 30, 82, 5]
    few = np.repeat([0, 1, 2], [4, 3, 3])
    assert np.bincount(few[landmark_rows(few, 3, 0)]).tolist() == [1, 1, 1]
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 60))
    y = (X[:, 7] > 1) + 2 * (np.abs(X[:, 40]) > 1)
    assert strongest_columns(X, y, np.ones(900), 4, 2).tolist() == [7, 40]
    chosen = bent_columns(X, y, np.ones(900), 4)
    assert 40 in chosen
    assert len(chosen) == 24
