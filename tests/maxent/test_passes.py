"""Passes against plain sums over rows, at scores that no exponential survives by itself."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax

from scarce.maxent.coded import code_cells, shape_of, tilt_of
from scarce.maxent.feature_map import Lines
from scarce.maxent.passes import (
    class_scores,
    entropy_importance,
    entropy_pass,
    robust_importance,
    robust_pass,
    share_pass,
)
from tests.maxent.spaces import coded, columns, mixed_rows, mixed_space

CUTS = [None, (0, 1, 150), (0, 10, 20, 149, 150)]
DEFAULT = np.log([0.3, 0.2])


@pytest.fixture
def problem(rng):
    X = mixed_rows(rng, 150)
    space = mixed_space(X)
    return X, space, columns(X, space), rng.exponential(size=150)


def lines(space, rng, size=0.3):
    n = space.n_features
    return space.lines(rng.normal(size=n) * size, rng.random(n), rng.random(n) * size)


def tilts(X, space, own):
    return tilt_of(code_cells(X, space, clamp=True), shape_of(space), own, np.empty(len(X)))


@pytest.mark.parametrize("starts", CUTS)
@pytest.mark.parametrize("shift", [0.0, 800.0, -800.0])
def test_oracle_entropy(problem, rng, starts, shift):
    X, space, F, pool = problem
    own = lines(space, rng)
    # A constant on the first variable: rows that miss it stay 800 behind or ahead.
    start = own.start.copy()
    start[space.first_cell[0] : space.first_cell[1] - 1] += shift
    own = own._replace(start=start)
    tilt = tilts(X, space, own)
    rows = coded(X, space, pool=pool, starts=starts)
    moved, sums = rows.fold(entropy_pass, (shape_of(space), own))
    log_w = np.log(pool / pool.sum())
    assert moved == tilt.max()
    assert moved + np.log(sums.total) == pytest.approx(logsumexp(tilt + log_w), rel=1e-13)
    prob = softmax(tilt + log_w)
    value, seen = space.expectations(sums)
    np.testing.assert_allclose(value / sums.total, prob @ np.nan_to_num(F), atol=1e-12)
    np.testing.assert_allclose(seen / sums.total, prob @ ~np.isnan(F), atol=1e-12)


@pytest.mark.parametrize("free", [0.5, 0.0])
@pytest.mark.parametrize("starts", CUTS)
@pytest.mark.parametrize("size", [0.3, 300.0])
def test_oracle_robust(problem, rng, starts, free, size):
    X, space, F, pool = problem
    own = [lines(space, rng, size), lines(space, rng, size)]
    scores = np.array([tilts(X, space, one) for one in own]) + DEFAULT[:, None]
    if size > 1:
        assert np.abs(scores).max() > 800
    log_free = np.log(free) if free else -np.inf
    every = np.vstack([scores, np.full(150, log_free)])
    w = pool / pool.sum()
    prob = softmax(every, axis=0)[:2]
    params = (shape_of(space), own, DEFAULT, log_free)
    rows = coded(X, space, pool=pool, starts=starts)

    value, sums = rows.fold(robust_pass, params)
    assert value == pytest.approx(w @ logsumexp(every, axis=0), rel=1e-12)
    for one, p in zip(sums, prob, strict=True):
        mean, seen = space.expectations(one)
        assert one.total == pytest.approx(w @ p, rel=1e-11)
        np.testing.assert_allclose(mean, (w * p) @ np.nan_to_num(F), atol=1e-12)
        np.testing.assert_allclose(seen, (w * p) @ ~np.isnan(F), atol=1e-12)

    share, total = rows.fold(share_pass, params)
    log_p = every - logsumexp(every, axis=0)
    np.testing.assert_allclose(share, prob @ w, rtol=1e-11)
    np.testing.assert_allclose(total, (prob * log_p[:2]) @ w, rtol=1e-9, atol=1e-12)

    importance = rows.map(robust_importance, params)
    np.testing.assert_allclose(importance, w * (prob * (1 - prob)).sum(axis=0), atol=1e-12)

    log_sum, found = class_scores(code_cells(X, space, clamp=True), *params)
    np.testing.assert_allclose(log_sum, logsumexp(every, axis=0), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(found, scores)


@pytest.mark.parametrize("starts", CUTS)
def test_oracle_importance_of_rows(problem, rng, starts):
    X, space, _, pool = problem
    own = lines(space, rng)
    tilt = tilts(X, space, own)
    rows = coded(X, space, pool=pool, starts=starts)
    found = rows.map(entropy_importance, (shape_of(space), own, 1.5))
    np.testing.assert_allclose(found, pool / pool.sum() * np.exp(tilt - 1.5), rtol=1e-12)


def test_passes_in_several_pieces(rng):
    """More rows than a piece has, with the greatest exponent in the last one."""
    X = mixed_rows(rng, 9000)
    X[:, 0] = np.sort(X[:, 0])  # missing values come last
    space = mixed_space(X[:, :], second=False)
    own = lines(space, rng)
    pool = rng.exponential(size=9000)
    tilt, w = tilts(X, space, own), pool / pool.sum()
    moved, sums = coded(X, space, pool=pool).fold(entropy_pass, (shape_of(space), own))
    assert moved + np.log(sums.total) == pytest.approx(logsumexp(tilt + np.log(w)), rel=1e-12)
    prob = softmax(tilt + np.log(w))
    F = columns(X, space)
    mean = space.expectations(sums)[0] / sums.total
    np.testing.assert_allclose(mean, prob @ np.nan_to_num(F), atol=1e-12)
    params = (shape_of(space), [own], DEFAULT[:1], np.log(0.7))
    rows = coded(X, space, pool=pool)
    every = np.vstack([tilt + DEFAULT[0], np.full(9000, np.log(0.7))])
    value, (one,) = rows.fold(robust_pass, params)
    assert value == pytest.approx(w @ logsumexp(every, axis=0), rel=1e-12)
    p = softmax(every, axis=0)[0]
    assert one.total == pytest.approx(w @ p, rel=1e-12)
    np.testing.assert_allclose(rows.fold(share_pass, params)[0], [w @ p], rtol=1e-12)
    np.testing.assert_allclose(rows.map(robust_importance, params), w * p * (1 - p), rtol=1e-10)
    found = rows.map(entropy_importance, (shape_of(space), own, 0.0))
    np.testing.assert_allclose(found, w * np.exp(tilt), rtol=1e-12)


def test_invariant_engines_give_the_same_bits(problem, rng):
    X, space, _, pool = problem
    own = [lines(space, rng), lines(space, rng)]
    rows = coded(X, space, pool=pool, starts=(0, 40, 90, 150))
    params = (shape_of(space), own, DEFAULT, np.log(0.5))
    found = []
    for engine in (None, "threads", "processes:2"):
        shift, sums = rows.fold(entropy_pass, (shape_of(space), own[0]), engine=engine)
        value, every = rows.fold(robust_pass, params, engine=engine)
        arrays = [
            shift,
            *sums,
            value,
            *every[0],
            *every[1],
            *rows.fold(share_pass, params, engine=engine),
        ]
        arrays.append(rows.map(robust_importance, params, engine=engine))
        found.append([np.asarray(array).tobytes() for array in arrays])
    assert found[0] == found[1] == found[2]


def test_a_tilt_of_0_is_the_pool(problem):
    X, space, F, pool = problem
    nothing = Lines(np.zeros(space.n_cells), np.zeros(space.n_cells), *np.zeros((2, 5, 5)))
    shift, sums = coded(X, space, pool=pool).fold(entropy_pass, (shape_of(space), nothing))
    assert shift == 0.0
    assert sums.total == pytest.approx(1.0, abs=1e-14)
    w = pool / pool.sum()
    np.testing.assert_allclose(space.expectations(sums)[0], w @ np.nan_to_num(F), atol=1e-13)
