"""The shape of a GEV link: the interval is that of the likelihood, calibrated by simulation."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from scarce import RareClassifier, UsageError
from scarce.engine.memory import ArrayRows
from scarce.linear.gev import GEV
from scarce.linear.joint import pose
from scarce.linear.regress import Formulation
from scarce.linear.shape import (
    GRID,
    KNOTS,
    Calibration,
    Profile,
    draw_events,
    probabilities,
    profile_shape,
)
from scarce.linear.sums import summarise_columns
from tests.problems import refused


def world(shape, n=1000, shift=-1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    prob = GEV(shape).inverse(shift + X @ np.array([0.6, -0.4]))
    return X, (rng.random(n) < prob).astype(int)


def least_loss(X, y, shape=None, start=(0.5, -0.3, -1.0)):
    """Return the least log loss at a shape, or at the best, by a search that knows no gradient."""

    def total(coef):
        bent = coef[3] if shape is None else shape
        score = X @ coef[:2] + coef[2]
        room = np.maximum(1 + bent * score, 1e-9)
        tail = np.exp(-score) if bent == 0 else room ** (-1 / bent)
        prob = np.clip(np.exp(-np.minimum(tail, 700)), 1e-300, 1 - 1e-16)
        outside = 1e6 * (abs(bent - 0.25) > 1.25)
        return outside - np.sum(np.where(y == 1, np.log(prob), np.log1p(-prob)))

    start = [*start, 0.2] if shape is None else start
    options = {"fatol": 1e-7, "xatol": 1e-5, "maxiter": 2000}
    return minimize(total, start, method="Nelder-Mead", options=options).fun


def posed(X, y):
    rows = ArrayRows(X, y * 1.0, classes=[0, 1])
    joint, _, near = pose(rows, summarise_columns(rows), 0.0, Formulation())
    return Profile(joint, near)


def test_oracle_the_ends_are_where_the_likelihood_ratio_says():
    X, y = world(0.3, seed=3)
    found = RareClassifier("gev-log").shape_interval(X, y, simulations=0)
    least = least_loss(X, y, found.value)
    assert -1 < found.low < 0.3 < found.high < 1.5
    for end in (found.low, found.high):
        assert 2 * (least_loss(X, y, end) - least) == pytest.approx(chi2.ppf(0.9, 1), abs=0.03)
    wider = RareClassifier("gev-log").shape_interval(X, y, level=0.95, simulations=0)
    assert wider.low < found.low
    assert wider.high > found.high


def test_oracle_the_profile_is_that_of_fits_with_the_shape_given():
    X, y = world(-0.3, n=300, seed=2)
    profile = posed(X, y)
    for shape in (*GRID[[1, 4, 7, 10]], 0.11):
        fit = RareClassifier("gev-log", shape=float(shape), ridge=0).fit(X, y)
        assert profile(float(shape)) == pytest.approx(fit.report_.objective, abs=1e-6)


def test_oracle_the_factor_is_the_mean_statistic_of_tables_drawn_at_the_shape():
    X, y = world(0.3, n=120)
    profile = posed(X, y)
    calibration = Calibration(profile, 6, seed=5)
    factor = calibration(0.75)  # a knot
    rng = np.random.default_rng([5, KNOTS.index(0.75)])
    theta = profile.theta(0.75)
    fit = RareClassifier("gev-log", shape=0.75, ridge=0, floor=0.0).fit(X, y)
    prob = probabilities(profile.joint, theta, calibration.X)
    np.testing.assert_allclose(prob, fit.predict_proba(calibration.X)[:, 1], atol=1e-4)
    found = []
    for _ in range(6):
        drawn = rng.binomial(1, prob)
        start = (fit.coef_[0, 0], fit.coef_[0, 1], fit.intercept_[0])
        least = least_loss(calibration.X, drawn, start=start)
        found.append(2 * (least_loss(calibration.X, drawn, 0.75, start=start) - least))
    assert factor == pytest.approx(max(1.0, np.mean(found)), abs=0.02)


def test_few_events_widen_the_interval_and_nothing_depends_on_how_rows_are_written():
    X, y = world(-0.2, n=250, shift=-0.3, seed=8)
    noise = np.random.default_rng(1).normal(size=(250, 2))
    X = np.column_stack([X, noise])
    model = RareClassifier("gev-log")
    plain = model.shape_interval(X, y, simulations=0)
    found = model.shape_interval(X, y, simulations=3)
    assert found.width > plain.width
    assert (found.low, found.high) != (-1.0, 1.5)
    order = np.random.default_rng(0).permutation(250)
    same = model.shape_interval(X[order] * 7.0, y[order], simulations=3)
    assert (same.low, same.high) == pytest.approx((found.low, found.high), abs=3e-3)
    twice = np.concatenate([order, order])
    double = model.shape_interval(X[twice], y[twice], simulations=3)
    weighted = model.shape_interval(X, y, np.full(250, 2.0), simulations=3)
    assert (double.low, double.high) == pytest.approx((weighted.low, weighted.high), abs=3e-3)


def test_progress_and_the_seed():
    X, y = world(0.3, n=300)
    heard = []
    model = RareClassifier("gev-log", progress=lambda done, total: heard.append((done, total)))
    model.shape_interval(X, y, simulations=3)
    assert heard
    assert {total for _, total in heard} == {3 * len(KNOTS)}
    assert [done for done, _ in heard] == list(range(1, len(heard) + 1))


def test_a_quadratic_is_solved_to_the_ends_of_the_range():
    found = profile_shape(lambda shape: 4.0 * (shape + 0.9) ** 2, 0.9)
    assert found.value == pytest.approx(-0.9, abs=1e-3)
    assert found.low == -1.0
    assert found.high == pytest.approx(-0.9 + np.sqrt(0.5 * chi2.ppf(0.9, 1) / 4.0), abs=2e-3)
    wider = profile_shape(lambda shape: 4.0 * (shape + 0.9) ** 2, 0.9, lambda shape: 2.0)
    assert wider.high == pytest.approx(-0.9 + np.sqrt(chi2.ppf(0.9, 1) / 4.0), abs=2e-3)


def test_few_rows_tell_nothing_and_what_has_no_likelihood_is_refused():
    X, y = world(0.3, n=60, shift=-0.5)
    found = RareClassifier("gev-log").shape_interval(X[:, :1], y, simulations=10)
    assert np.isnan(found.value)
    assert (found.low, found.high) == (-1.0, 1.5)
    for settings in ({"loss": "gev-canonical"}, {"loss": "gev-log", "weight_kind": "survey"}):
        with refused("no-likelihood", UsageError):
            RareClassifier(**settings).shape_interval(X, y)


def test_a_weight_is_so_many_rows_and_a_rest_is_one_draw():
    rng = np.random.default_rng(0)
    count, prob = np.array([3.0, 0.5, 2.25]), np.array([0.2, 0.6, 0.9])
    drawn = np.array([draw_events(rng, count, prob) for _ in range(4000)])
    assert set(np.unique(drawn[:, 1])) == {0.0, 0.5}
    assert set(np.unique(drawn[:, 2])) == {0.0, 0.25, 1.0, 1.25, 2.0, 2.25}
    np.testing.assert_allclose(drawn.mean(axis=0), count * prob, atol=0.05)


def test_tables_that_are_too_large_to_hold_are_refused(monkeypatch):
    X, y = world(0.3, n=300)
    monkeypatch.setattr("scarce.linear.shape.MOST_CELLS", 599)
    with refused("too-many-to-simulate", UsageError):
        RareClassifier("gev-log").shape_interval(X, y)
    found = RareClassifier("gev-log").shape_interval(X, y, simulations=0)
    assert found.method == "profile likelihood"
