"""Labelled rows, and rows for the curvature: drawn in proportion, right on average, renewed."""

import numpy as np
import pytest

from scarce.maxent.axes import Axis
from scarce.maxent.coded import code_cells
from scarce.maxent.families import Linear
from scarce.maxent.feature_map import FeatureMap
from scarce.maxent.row_sample import RowSample, labelled_rows, nobody
from tests.maxent.spaces import coded

SPACE = FeatureMap([Axis("x", np.linspace(0, 1, 9)), Axis("z", np.array([0.0, 1.0]))], [Linear()])


@pytest.fixture
def data(rng):
    X = rng.random((500, 2))
    X[rng.random(X.shape) < 0.1] = np.nan
    label = np.where(rng.random(500) < 0.3, rng.integers(0, 3, 500), np.nan)
    weight = np.where(rng.random(500) < 0.2, 0.0, rng.exponential(size=500))
    return X, label, weight, rng.exponential(size=500)


@pytest.mark.parametrize("starts", [None, (0, 3, 200, 500)])
def test_labelled_rows_of_a_class(data, starts):
    X, label, weight, pool = data
    rows = coded(X, SPACE, label, weight, pool, starts=starts)
    for of_class in range(3):
        own = labelled_rows(rows, of_class)
        chosen = np.flatnonzero((label == of_class) & (weight > 0))
        np.testing.assert_array_equal(own.row, chosen)
        np.testing.assert_array_equal(own.weight, weight[chosen])
        np.testing.assert_allclose(own.share, weight[chosen] / weight[chosen].sum(), rtol=1e-14)
        np.testing.assert_allclose(own.pool, pool[chosen] / pool.sum(), rtol=1e-14)
        cells = code_cells(X[chosen], SPACE, clamp=True)
        np.testing.assert_array_equal(own.cells.codes, cells.codes)
        np.testing.assert_array_equal(own.cells.rest, cells.rest)


def test_nobody_has_the_shape_of_somebody(data):
    X, label, weight, pool = data
    none = nobody(labelled_rows(coded(X, SPACE, label, weight, pool), 0))
    assert none.cells.n == len(none.weight) == len(none.share) == len(none.pool) == 0
    assert none.cells.codes.shape == (2, 0)
    assert none.row.dtype == np.intp


@pytest.mark.parametrize(("size", "whole"), [(250, True), (249, False), (1000, True)])
def test_few_rows_are_all_taken(data, size, whole):
    X, label, weight, pool = data
    rows = coded(X, SPACE, label, weight, pool, starts=(0, 100, 500))
    sample = RowSample(rows, size)
    assert sample.whole == whole
    assert sample.size == (500 if whole else size)
    if not whole:
        assert sample.cells is None
        return
    np.testing.assert_array_equal(sample.cells.rest, code_cells(X, SPACE, clamp=True).rest)
    np.testing.assert_allclose(sample.pool, pool / pool.sum(), rtol=1e-14)
    assert (sample.factor == 1).all()
    assert not sample.double()
    assert not sample.worn(np.append(np.zeros(499), 1.0))


def test_rows_are_drawn_in_proportion(data, rng):
    X, label, weight, pool = data
    rows = coded(X, SPACE, label, weight, pool, starts=(0, 1, 130, 500))
    sample = RowSample(rows, 50)
    importance = rng.exponential(size=500)
    importance[::7] = 0.0
    sample.draw(importance)
    # Where it drew, by a walk along the heap of weights.
    step = importance.sum() / 50
    drawn, passed, at = [], 0.0, 0
    for i, one in enumerate(importance):
        passed += one
        while at < 50 and (at + 0.5) * step <= passed:
            drawn.append(i)
            at += 1
    chosen, times = np.unique(drawn, return_counts=True)
    assert (importance[chosen] > 0).all()
    cells = code_cells(X[chosen], SPACE, clamp=True)
    np.testing.assert_array_equal(sample.cells.codes, cells.codes)
    np.testing.assert_array_equal(sample.cells.rest, cells.rest)
    np.testing.assert_allclose(sample.pool, pool[chosen] / pool.sum(), rtol=1e-14)
    np.testing.assert_allclose(sample.factor, times * step / importance[chosen], rtol=1e-12)
    # The sum of what they were drawn by is found exactly.
    assert sample.factor @ importance[chosen] == pytest.approx(importance.sum(), rel=1e-12)


def test_a_heavy_row_is_drawn_as_often_as_it_weighs(data):
    X, label, weight, pool = data
    sample = RowSample(coded(X, SPACE, label, weight, pool), 50)
    importance = np.full(500, 1e-9)
    importance[123] = 1.0
    sample.draw(importance)
    assert sample.cells.n == 1
    assert sample.factor[0] == pytest.approx(1.0, rel=1e-6)


def test_sums_from_the_part_are_right_on_average(rng):
    X = rng.random((600, 2))
    pool = rng.exponential(size=600)
    importance = pool * rng.uniform(0.3, 3, size=600)
    wanted = (pool / pool.sum()) @ X[:, 0] ** 2
    found = []
    for _ in range(400):
        order = rng.permutation(600)
        sample = RowSample(coded(X[order], SPACE, pool=pool[order]), 60)
        sample.draw(importance[order])
        x = (sample.cells.codes[0] + sample.cells.rest[0]) / 8
        found.append((sample.pool * sample.factor) @ x**2)
    error = np.std(found, ddof=1) / np.sqrt(len(found))
    assert 0 < error < 0.02 * wanted
    assert abs(np.mean(found) - wanted) < 4 * error


def test_worn_where_few_draws_carry_the_weight(data):
    X, label, weight, pool = data
    sample = RowSample(coded(X, SPACE, label, weight, pool), 50)
    sample.draw(np.ones(500))
    assert not sample.worn(np.ones(50))
    # Of 50 draws k equal ones are worth k: worn below half.
    assert not sample.worn((np.arange(50) < 25).astype(float))
    assert sample.worn((np.arange(50) < 24).astype(float))


@pytest.mark.parametrize("heavy", [0.0, 0.3, 0.99])
def test_what_was_just_drawn_is_not_worn(data, rng, heavy):
    """Also where one row was drawn many times."""
    X, label, weight, pool = data
    rows = coded(X, SPACE, label, weight, pool)
    sample = RowSample(rows, 50)
    importance = rng.exponential(size=500)
    importance[77] += heavy / (1 - heavy) * importance.sum()
    sample.draw(importance)
    share = pool / pool.sum()
    drawn = [int(np.abs(share - own).argmin()) for own in sample.pool]
    weight = sample.factor * importance[drawn]
    np.testing.assert_allclose(weight / weight.sum(), sample.times / 50, rtol=1e-9)
    assert not sample.worn(weight)
    assert sample.worn(np.where(np.arange(len(weight)) == 0, 1.0, 1e-9)) == (len(weight) > 1)


def test_doubling_ends_with_all_rows(data, rng):
    X, label, weight, pool = data
    sample = RowSample(coded(X, SPACE, label, weight, pool), 50)
    sample.draw(rng.random(500))
    assert sample.double()
    assert sample.size == 100
    assert sample.cells is None
    assert sample.double()
    assert sample.size == 200
    assert sample.double()  # 400 of 500: then all
    assert sample.whole
    assert sample.size == 500
    assert sample.cells.n == 500
    assert not sample.double()
