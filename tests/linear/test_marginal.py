"""Marginal likelihood against integration on a grid, a plain loop over rows, draws, differences."""

import itertools

import mpmath
import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.integrate import quad
from scipy.optimize import minimize
from scipy.special import expit

from scarce.linear.gev import GEV, CLogLog, LogLog
from scarce.linear.links import Logit, Probit
from scarce.linear.losses import loss_of
from scarce.linear.marginal import (
    Standardised,
    effective_score,
    label_terms,
    marginal_path,
    marginal_prob,
    minimise_marginal,
    row_terms,
)
from scarce.linear.regress import Formulation
from scarce.linear.selection import GridCoordinates, TrainingSample, solve_grid
from scarce.linear.sums import ColumnSummary
from scarce.missing.front import fit_front

LOSSES = [
    ("logistic", None),
    ("probit", None),
    ("cloglog", None),
    ("loglog", None),
    ("gev-log", 0.3),
    ("gev-log", -0.3),
    ("gev-canonical", 0.6),
    ("gev-canonical", -0.4),
]


def world(n=300, d=4, share=0.3, seed=0):
    """Rows with values missing at random, and labels from a logit of the complete rows."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ (np.eye(d) + rng.normal(size=(d, d)) / 3) + 1.0
    y = (rng.random(n) < expit(X @ np.linspace(-1.0, 1.5, d) - 1.0)) * 1.0
    X[rng.random(X.shape) < share] = np.nan
    return X, y


# --- the integral ---------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("link", "worst"),
    [(Logit(), 1e-9), (Probit(), 1e-9), (CLogLog(), 1e-9), (LogLog(), 1e-9), (GEV(0.1), 1e-9)]
    + [(GEV(0.6), 2e-6), (GEV(-0.5), 1e-5), (GEV(1.5), 3e-4), (GEV(-1.0), 1e-3)],
)
@pytest.mark.parametrize("deviation", [0.3, 1.5, 5.0, 40.0])
def test_the_sum_is_the_integral_whatever_the_variance(link, worst, deviation):
    worst = max(worst, 3e-4) if deviation == 40.0 else worst
    for z in (-2.0, 0.3, 3.0):
        low, high = (np.clip((end - z) / deviation, -10, 10) for end in link.support)
        ends = sorted({-10.0, *np.linspace(-9, 9, 73), float(low), float(high), 10.0})

        def density(t, z=z):
            value = link.inverse(np.array([z + deviation * t]))[0]
            return value * np.exp(-t * t / 2) / np.sqrt(2 * np.pi)

        truth = sum(
            quad(density, a, b, epsabs=1e-13, epsrel=1e-10)[0] for a, b in itertools.pairwise(ends)
        )
        found = marginal_prob(link, np.array([z]), np.array([deviation**2]))[0]
        assert abs(found - truth) <= worst * (0.05 + 20 * min(truth, 1 - truth))


def test_probit_has_a_closed_form():
    z, v = np.array([-3.0, 0.0, 1.0]), np.array([0.5, 4.0, 25.0])
    exact = Probit().inverse(z / np.sqrt(1 + v))
    assert_allclose(marginal_prob(Probit(), z, v), exact, rtol=1e-8)


def test_far_tails_keep_their_digits():
    found = label_terms(Logit(), True, np.array([-700.0, -40.0]), np.array([1.0, 1.0]))
    with mpmath.workdps(30):
        exact = [float(mpmath.mpf(z) + mpmath.mpf(1) / 2) for z in (-700, -40)]
    assert_allclose(found.log_prob, exact, rtol=1e-12)
    assert_allclose(found.z, 1.0, rtol=1e-9)
    far = label_terms(Logit(), True, np.array([-5000.0, 5000.0]), np.array([1.0, 1e-4]))
    assert np.isfinite(far).all()


@pytest.mark.parametrize("link", [Logit(), Probit(), CLogLog(), LogLog(), GEV(0.6), GEV(-0.4)])
def test_the_effective_score_has_the_same_probability(link):
    z, v = np.linspace(-3.0, 4.0, 15), np.linspace(0.0, 4.0, 15)
    score = effective_score(link, z, v)
    assert score[0] == z[0]
    assert_allclose(link.inverse(score), marginal_prob(link, z, v), rtol=1e-9)


@pytest.mark.parametrize(("name", "shape"), LOSSES)
def test_derivatives_are_those_of_central_differences(name, shape):
    loss, rng = loss_of(name, shape), np.random.default_rng(1)
    z, v, y = rng.normal(size=40), 0.05 + rng.random(40), np.arange(40) % 2.0
    step = 1e-4

    def slope(place, dz, dv):
        up = row_terms(loss, y, z + step * dz, v + step * dv)[place]
        down = row_terms(loss, y, z - step * dz, v - step * dv)[place]
        return (up - down) / (2 * step)

    found = row_terms(loss, y, z, v)
    pairs = [(found.z, slope(0, 1, 0)), (found.v, slope(0, 0, 1)), (found.zz, slope(1, 1, 0))]
    pairs += [(found.zv, slope(1, 0, 1)), (found.vv, slope(2, 0, 1))]
    within = 0.02 if name == "gev-canonical" else 2e-3  # the sum's own error, in the last two
    for exact, difference in pairs:
        assert_allclose(exact, difference, rtol=within, atol=within / 10)


@pytest.mark.parametrize(("name", "shape"), LOSSES)
def test_derivatives_are_continuous_where_the_variance_vanishes(name, shape):
    loss = loss_of(name, shape)
    y, z = np.array([0.0, 1.0, 0.0, 1.0]), np.array([-0.6, -0.6, 0.7, 0.7])
    none, tiny = (row_terms(loss, y, z, np.full(4, v)) for v in (0.0, 1e-8))
    assert_allclose(none.value, loss.value(y, z), rtol=1e-12)
    assert_allclose(none.z, loss.slope(y, z), rtol=1e-9)
    for one, other in zip(none[:4], tiny[:4], strict=True):
        assert_allclose(one, other, rtol=1e-5, atol=1e-6)


def test_expected_hessian_is_the_mean_over_labels_of_squared_slopes():
    z, v = np.linspace(-2, 2, 9), np.linspace(0.1, 3, 9)
    loss, prob = loss_of("logistic"), marginal_prob(Logit(), z, v)
    up, down = (row_terms(loss, np.full(9, label), z, v) for label in (1.0, 0.0))
    expected = prob * up.z * up.v + (1 - prob) * down.z * down.v
    for found in (up, down):
        assert_allclose(
            found.along[2] * found.along[0] * found.along[1], expected, rtol=1e-9, atol=1e-15
        )
    mean = prob * up.zv + (1 - prob) * down.zv
    assert_allclose(mean, expected, rtol=1e-7, atol=1e-9)


# --- the fit --------------------------------------------------------------------------------------


def grid_loss(coef, X, y, front, ridge, units):
    """The penalised loss, each row integrated on a grid over what it misses; plain and slow."""
    t = np.linspace(-7, 7, 81)
    S = front.covariance * np.outer(front.scale, front.scale)
    total = 0.5 * ridge * np.sum((coef[:-1] * units) ** 2)
    for x, label in zip(X, y, strict=True):
        o, m = ~np.isnan(x), np.isnan(x)
        score = coef[-1] + x[o] @ coef[:-1][o]
        if o.all():
            total -= np.log(expit(score if label else -score))
            continue
        slope = S[np.ix_(m, o)] @ np.linalg.inv(S[np.ix_(o, o)])
        mean = front.mean[m] + slope @ (x[o] - front.mean[o])
        root = np.linalg.cholesky(S[np.ix_(m, m)] - slope @ S[np.ix_(o, m)])
        axes = np.stack(np.meshgrid(*[t] * int(m.sum()), indexing="ij"), -1).reshape(-1, m.sum())
        mass = np.exp(-0.5 * (axes**2).sum(axis=1))
        score = score + (mean + axes @ root.T) @ coef[:-1][m]
        prob = np.average(expit(score if label else -score), weights=mass)
        total -= np.log(prob)
    return total


def test_the_fit_minimises_what_integration_over_the_missing_values_gives():
    X, y = world(n=60, d=2, share=0.35)
    front = fit_front(X)
    coef = marginal_path(front.spread(X), y, [0.7])[0]
    slow = minimize(
        grid_loss, coef + 0.05, args=(X, y, front, 0.7, front.scale), options={"gtol": 1e-6}
    )
    best = grid_loss(coef, X, y, front, 0.7, front.scale)
    assert best <= slow.fun + 1e-4
    assert_allclose(coef, slow.x, atol=0.01)


def test_probabilities_are_means_over_draws_of_the_missing_values():
    X, y = world(n=40)
    front = fit_front(X)
    found = front.spread(X)
    coef = marginal_path(found, y, [1.0])[0]
    score = found.mean @ coef[:-1] + coef[-1]
    prob = marginal_prob(Logit(), score, found.variance(coef[:-1]))
    drawn = expit(front.draw(X, 4000, np.random.default_rng(0)) @ coef[:-1] + coef[-1])
    error = drawn.std(axis=0) / np.sqrt(4000) + 1e-9
    assert (np.abs(drawn.mean(axis=0) - prob) < 4.5 * error).all()


def standardised(X, y, weight, units=None):
    found = fit_front(X, weight).spread(X)
    mean = weight @ found.mean / weight.sum()
    events = np.array([weight @ (1 - y), weight @ y])
    stats = ColumnSummary(events, events, 0, mean, found.scale if units is None else units)
    coordinates = GridCoordinates(stats, Formulation(units=stats.scale))
    return Standardised(found, y, weight, coordinates), coordinates


@pytest.mark.parametrize(("name", "shape"), LOSSES)
def test_gradient_and_hessian_of_the_sums(name, shape):
    X, y = world(n=80)
    loss, weight = loss_of(name, shape), np.random.default_rng(3).uniform(0.5, 2.0, len(y))
    rows, _ = standardised(X, y, weight)
    theta = np.array([0.2, -0.1, 0.3, 0.1, -0.5])
    found, step = rows.sums(loss, theta, "observed"), 1e-5
    for j in range(5):
        up, down = (rows.sums(loss, theta + sign * step * np.eye(5)[j], "none") for sign in (1, -1))
        assert_allclose(found.gradient[j], (up.value - down.value) / (2 * step), rtol=1e-4)
        change = (up.gradient - down.gradient) / (2 * step)
        assert_allclose(found.hessian[j], change, rtol=2e-3, atol=2e-3)


def test_complete_rows_give_the_plain_logit():
    X, y = world(share=0.0)
    ridges = [0.01, 1.0, 100.0]
    coef = marginal_path(fit_front(X).spread(X), y, ridges)
    n, events = len(y), np.array([np.sum(y == 0), np.sum(y == 1)], dtype=float)
    stats = ColumnSummary(events, events, 0, X.mean(axis=0), X.std(axis=0))
    problem = Formulation(units=stats.scale)
    sample = TrainingSample(X, y, np.ones(n), whole=True)
    grid = solve_grid(sample, stats, [loss_of("logistic")], ridges, problem).coef[0]
    assert_allclose(coef, grid, rtol=2e-3, atol=2e-4)  # both stop at 1/200 of a standard error


def test_the_path_ends_where_the_gradient_vanishes():
    X, y = world()
    weight = np.ones(len(y))
    rows, coordinates = standardised(X, y, weight)
    found = minimise_marginal(
        lambda theta, kind: rows.sums(loss_of("logistic"), theta, kind),
        np.zeros(5),
        coordinates.penalty(2.0),
        done=lambda gradient, _: np.abs(gradient).max() <= 1e-9 * len(y),
    )
    assert found.converged
    assert found.passes < 15
    path = marginal_path(fit_front(X).spread(X), y, [2.0])[0]
    assert_allclose(path, coordinates.given(found.theta), atol=0.01)


def test_weight_2_is_the_row_twice_and_order_does_not_matter():
    X, y = world(n=150)
    front = fit_front(X)
    weight = 1.0 + (np.arange(150) % 3 == 0)
    again = np.repeat(np.arange(150), weight.astype(int))
    one = marginal_path(front.spread(X), y, [1.0], weight)
    two = marginal_path(front.spread(X[again][::-1]), y[again][::-1], [1.0])
    assert_allclose(one, two, rtol=1e-6, atol=1e-6)


def test_units_of_the_columns_do_not_matter():
    X, y = world()
    units = np.array([1e-6, 1e4, 1.0, 30.0])
    one, two = (marginal_path(fit_front(Z).spread(Z), y, [1.0])[0] for Z in (X, X * units))
    assert_allclose(one[:-1], two[:-1] * units, rtol=1e-6)


def test_rows_and_columns_that_say_nothing():
    X, y = world()
    X = np.column_stack([X, np.full(len(X), np.nan), np.full(len(X), 3.0)])
    X[::7] = np.nan
    found = fit_front(X).spread(X)
    coef = marginal_path(found, y, [1e-3])[0]
    assert_array_equal(coef[4:6], 0.0)
    prob = marginal_prob(Logit(), found.mean @ coef[:-1] + coef[-1], found.variance(coef[:-1]))
    assert_allclose(prob[::7], prob[0])
    assert abs(prob[0] - y.mean()) < 0.05
