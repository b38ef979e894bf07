"""The Gaussian front against a slow plain version, closed forms, brute force and invariances."""

import pickle

import numpy as np
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.stats import multivariate_normal

from scarce.engine.block import Block
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError
from scarce.io.codec import Decoder, Encoder
from scarce.missing.front import Front, fit_front
from tests.problems import refused


def hidden(n=120, d=5, share=0.3, seed=0, units=None):
    """Correlated normal rows with values missing at random, and the rows as they were."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) @ rng.normal(size=(d, d)) + rng.normal(size=d)
    X = X if units is None else X * units
    holes = X.copy()
    holes[rng.random(X.shape) < share] = np.nan
    return holes, X


def plain_em(X, iterations=12):
    """EM written row by row, with the seen part's covariance solved for."""
    _n, d = X.shape
    mean, std = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z = (X - mean) / std
    Z = Z[~np.isnan(Z).all(axis=1)]
    mu, S, nu = np.zeros(d), np.eye(d), max(5.0, d / 2)
    for _ in range(iterations):
        filled, spread = np.empty_like(Z), np.zeros((d, d))
        for i, z in enumerate(Z):
            o, m = ~np.isnan(z), np.isnan(z)
            slope = np.linalg.solve(S[np.ix_(o, o)], S[np.ix_(o, m)]).T
            filled[i] = z
            filled[i, m] = mu[m] + slope @ (z[o] - mu[o])
            spread[np.ix_(m, m)] += S[np.ix_(m, m)] - slope @ S[np.ix_(o, m)]
        mu = filled.mean(axis=0)
        S = ((filled - mu).T @ (filled - mu) + spread + nu * np.eye(d)) / (len(Z) + nu)
    return mean + std * mu, S * np.outer(std, std)


def covariance_of(front):
    return front.covariance * np.outer(front.scale, front.scale)


def conditional(front, x):
    """Mean and covariance of what a row misses, from the seen part's covariance."""
    S, o = covariance_of(front), ~np.isnan(x)
    slope = S[np.ix_(~o, o)] @ np.linalg.inv(S[np.ix_(o, o)])
    mean = front.mean[~o] + slope @ (x[o] - front.mean[o])
    return mean, S[np.ix_(~o, ~o)] - slope @ S[np.ix_(o, ~o)]


def same(one, other, rtol=1e-9):
    for name in ("mean", "scale", "covariance", "low", "high", "used"):
        assert_allclose(getattr(one, name), getattr(other, name), rtol=rtol, atol=rtol)


# --- witnesses ------------------------------------------------------------------------------------


@pytest.mark.parametrize("share", [0.1, 0.4, 0.7])
def test_em_is_that_of_a_plain_loop_over_rows(share):
    X, _ = hidden(share=share)
    front = fit_front(X)
    mean, covariance = plain_em(X)
    assert_allclose(front.mean, mean, rtol=1e-9)
    assert_allclose(covariance_of(front), covariance, rtol=1e-9)


def test_complete_rows_need_one_iteration_and_give_moments():
    _, X = hidden()
    front = fit_front(X)
    assert front.passes == 3
    n, nu = len(X), 5.0
    correlation = np.corrcoef(X, rowvar=False)
    assert_allclose(front.covariance, (n * correlation + nu * np.eye(5)) / (n + nu), rtol=1e-12)
    assert_allclose(front.mean, X.mean(axis=0), rtol=1e-12)


def test_conditional_means_and_covariances_are_those_of_the_normal():
    X, _ = hidden()
    front = fit_front(X)
    found = front.spread(X)
    rng = np.random.default_rng(1)
    w, a = rng.normal(size=5), rng.normal(size=len(X))
    total = np.zeros((5, 5))
    assert_array_equal(found.mean, front.complete(X))
    for i, x in enumerate(X):
        m = np.isnan(x)
        mean, V = conditional(front, x) if not m.all() else (front.mean, covariance_of(front))
        assert_allclose(found.mean[i, m], mean, rtol=1e-9)
        assert_array_equal(found.mean[i, ~m], x[~m])
        assert_allclose(found.variance(w)[i], w[m] @ V @ w[m], rtol=1e-9)
        assert_allclose(found.times(w)[i, m], V @ w[m], rtol=1e-9, atol=1e-12)
        assert not found.times(w)[i, ~m].any()
        total[np.ix_(m, m)] += a[i] * V
    assert_allclose(found.total(a), total, rtol=1e-8, atol=1e-10)


def test_one_missing_value_by_brute_force_over_its_density():
    X, full = hidden()
    front = fit_front(X)
    row = full[:1].copy()
    row[0, 2] = np.nan
    joint = multivariate_normal(front.mean, covariance_of(front))
    grid = np.linspace(front.mean[2] - 40, front.mean[2] + 40, 20_001)
    points = np.repeat(row, len(grid), axis=0)
    points[:, 2] = grid
    share = joint.pdf(points)
    share /= share.sum()
    mean = share @ grid
    found = front.spread(row)
    assert_allclose(found.mean[0, 2], mean, rtol=1e-6)
    assert_allclose(found.variance(np.eye(5)[2]), share @ (grid - mean) ** 2, rtol=1e-6)


def test_draws_have_the_conditional_moments():
    X, _ = hidden()
    front = fit_front(X)
    row = np.array([[0.5, np.nan, np.nan, 1.0, np.nan], [0.5, 1.0, 2.0, 1.0, 2.0]])
    draws = front.draw(row, 20_000, np.random.default_rng(2))
    mean, V = conditional(front, row[0])
    got, m = draws[:, 0][:, [1, 2, 4]], np.sqrt(np.diag(V))
    assert_allclose((got.mean(axis=0) - mean) / m, 0.0, atol=4 / np.sqrt(20_000))
    assert_allclose(np.cov(got, rowvar=False) / np.outer(m, m), V / np.outer(m, m), atol=0.04)
    assert (draws[:, 0, [0, 3]] == row[0, [0, 3]]).all()
    assert (draws[:, 1] == row[1]).all()


def test_a_world_of_missing_at_random_is_found_again():
    rng = np.random.default_rng(3)
    a = rng.normal(size=4000)
    b = 2.0 * a + rng.normal(size=4000)
    X = np.column_stack([a, b])
    X[(a > 0.5) & (rng.random(4000) < 0.8), 1] = np.nan  # the mean of those seen is far too low
    assert np.nanmean(X[:, 1]) < -0.6
    front = fit_front(X, iterations=60)
    assert_allclose(front.mean, X[:, :1].mean(axis=0) * [1, 2], atol=0.08)
    assert_allclose(covariance_of(front), [[1, 2], [2, 5]], rtol=0.08)


# --- invariances ----------------------------------------------------------------------------------


def test_units_do_not_matter():
    units = np.array([1e-8, 1e8, 1.0, 1e-4, 1e12])
    X, _ = hidden()
    one, other = fit_front(X), fit_front(X * units)
    assert_allclose(other.covariance, one.covariance, rtol=1e-9)
    assert_allclose(other.complete(X * units), one.complete(X) * units, rtol=1e-8)


def test_extreme_units_and_far_origins_stay_finite():
    X, _ = hidden()
    one = fit_front(X)
    huge = fit_front(X * 1e300)
    assert_allclose(huge.covariance, one.covariance, rtol=1e-9)
    far = fit_front(X + 1e7)
    assert_allclose(far.covariance, one.covariance, rtol=1e-5)
    strange = np.full((1, 5), np.nan)
    strange[0, 0] = 1.7e308
    assert np.isfinite(one.complete(strange)).all()


def test_order_of_columns_does_not_matter():
    X, _ = hidden()
    order = np.array([3, 0, 4, 1, 2])
    one, other = fit_front(X), fit_front(X[:, order])
    assert_allclose(other.covariance, one.covariance[np.ix_(order, order)], rtol=1e-9)
    assert_allclose(other.complete(X[:, order]), one.complete(X)[:, order], rtol=1e-9)


def test_order_of_rows_does_not_matter():
    X, _ = hidden()
    order = np.random.default_rng(0).permutation(len(X))
    one, other = fit_front(X), fit_front(X[order])
    same(one, other)
    assert_allclose(other.complete(X[order]), one.complete(X)[order], rtol=1e-9)


def test_weight_2_is_the_row_twice_and_weight_0_is_no_row():
    X, _ = hidden()
    weight = np.random.default_rng(0).integers(0, 4, size=len(X)).astype(float)
    same(fit_front(X, weight), fit_front(np.repeat(X, weight.astype(int), axis=0)))
    assert fit_front(X, weight).weight == weight[~np.isnan(X).all(axis=1)].sum()


def test_rows_without_any_value_say_nothing():
    X, _ = hidden()
    same(fit_front(np.vstack([X, np.full((50, 5), np.nan)])), fit_front(X))


class ManyBlocks(Rows):
    """The same rows in blocks of 37."""

    def __init__(self, X, weight):
        self.inner, self.X, self.weight = ArrayRows(X, check=False), X, weight
        self.schema = self.inner.schema
        self.starts = (*range(0, len(X), 37), len(X))

    fingerprint = "many"

    def ticket(self, index):
        part = slice(self.starts[index], self.starts[index + 1])
        return Block(self.X[part], None, self.weight[part], part.start, index)


def test_rows_in_blocks_give_the_front_of_the_array():
    X, _ = hidden()
    weight = np.random.default_rng(0).random(len(X))
    same(fit_front(ManyBlocks(X, weight)), fit_front(X, weight))
    assert_array_equal(
        fit_front(ManyBlocks(X, weight), engine="threads").covariance,
        fit_front(ManyBlocks(X, weight)).covariance,
    )


# --- columns and rows at the edge -----------------------------------------------------------------


def test_constant_and_never_seen_columns_are_filled_and_say_nothing():
    X, _ = hidden()
    wide = np.column_stack([X, np.full(len(X), 7.0), np.full(len(X), np.nan)])
    wide[::2, 5] = np.nan
    front = fit_front(wide)
    assert front.used.tolist() == [True] * 5 + [False] * 2
    nu = 5.0  # of both: max(5, d / 2)
    assert nu == max(5.0, 7 / 2)
    plain = fit_front(X)
    assert_allclose(front.covariance[:5, :5], plain.covariance, rtol=1e-12)
    assert not front.covariance[5:].any()
    odd = np.column_stack([X, np.full(len(X), 99.0), np.full(len(X), -3.0)])
    assert_allclose(front.complete(odd)[:, :5], plain.complete(X), rtol=1e-12)
    assert_array_equal(front.complete(odd)[:, 5:], odd[:, 5:])
    empty = front.spread(np.full((1, 7), np.nan))
    assert_array_equal(empty.mean[0, 5:], [7.0, 0.0])
    assert empty.variance(np.array([0, 0, 0, 0, 0, 1.0, 1.0])) == 0


def test_duplicated_columns_fill_each_other():
    X, _ = hidden(n=400, share=0.0)
    X = np.column_stack([X, X[:, 0] * 1e6])
    X[np.random.default_rng(0).random(X.shape) < 0.2] = np.nan
    front = fit_front(X)
    filled = front.complete(np.array([[1.3, np.nan, np.nan, np.nan, np.nan, np.nan]]))
    assert_allclose(filled[0, 5], 1.3e6, rtol=0.05)


def test_dummies_that_are_missing_together_fill_to_shares():
    rng = np.random.default_rng(0)
    level = rng.choice(3, p=[0.6, 0.3, 0.1], size=600)
    X = np.column_stack([np.eye(3)[level], rng.normal(size=600) + level])
    X[rng.random(600) < 0.3, :3] = np.nan
    front = fit_front(X)
    filled = front.complete(X)
    assert_allclose(filled[:, :3].sum(axis=1), 1.0, atol=0.02)
    clipped = front.complete(X, clip=True)
    assert clipped[:, :3].min() >= 0
    assert clipped[:, :3].max() <= 1


def test_clipping_touches_filled_values_only():
    X, _ = hidden()
    front = fit_front(X)
    row = np.array([[60.0, np.nan, np.nan, np.nan, np.nan]])
    free, clipped = front.complete(row), front.complete(row, clip=True)
    assert clipped[0, 0] == 60.0
    assert free[0, 0] == 60.0
    assert_array_equal(clipped[0, 1:], np.clip(free, front.low, front.high)[0, 1:])
    assert (clipped != free).any()


def test_many_columns_and_few_rows():
    X, _ = hidden(n=20, d=60)
    front = fit_front(X)
    assert np.isfinite(front.complete(X)).all()
    assert np.linalg.eigvalsh(front.covariance).min() > 0


def test_nothing_seen_at_all():
    front = fit_front(np.full((4, 2), np.nan))
    assert_array_equal(front.complete(np.array([[np.nan, 3.0]])), [[0.0, 3.0]])


# --- keeping it -----------------------------------------------------------------------------------


def test_it_travels_and_is_kept_to_the_last_bit():
    X, _ = hidden()
    front = fit_front(X)
    front.complete(X)
    assert_array_equal(pickle.loads(pickle.dumps(front)).complete(X), front.complete(X))
    encoder = Encoder(None)
    node = encoder.encode(front, "front_", 0)
    again = Decoder(dict(encoder.tensors), None).decode(node, "front_", 0)
    assert isinstance(again, Front)
    assert_array_equal(again.complete(X), front.complete(X))


def test_arrays_that_do_not_belong_together_are_refused():
    X, _ = hidden()
    front = fit_front(X)
    parts = {name: getattr(front, name) for name in Front.__dataclass_fields__}
    with refused("wrong-array", DataError):
        Front(**{**parts, "low": np.zeros(3)})
    with refused("inconsistent-model", DataError):
        Front(**{**parts, "scale": np.zeros(5)})
    with refused("shape-mismatch", DataError, columns=5):
        front.complete(np.zeros((2, 4)))
