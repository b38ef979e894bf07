"""Sums over rows: right against plain formulas, whatever the blocks, weights, gaps and units."""

import mpmath
import numpy as np
import pytest

from scarce import DataError
from scarce.engine.memory import ArrayRows
from scarce.linear.losses import loss_of
from scarce.linear.sums import (
    FAR,
    ColumnSummary,
    ShiftedRows,
    labels_and_weights,
    linear_sums,
    piece_rows,
    summarise_columns,
    weighted_gram,
)
from tests.linear import plain
from tests.problems import refused

LOSSES = [("logistic", None), ("gev-canonical", 0.4), ("probit", None)]


def rows_of(X, y, weight=None, **rest):
    return ArrayRows(X, y, weight=weight, classes=[0, 1], **rest)


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize(("name", "shape"), LOSSES)
def test_oracle_sums_are_the_plain_derivatives(name, shape, weighted, rng):
    X, y = plain.rare(n=9000, k=2)  # three pieces
    weight = rng.random(9000) if weighted else None
    loss = loss_of(name, shape)
    coef = np.array([0.3, -0.2, -1.5])
    rows = rows_of(X, y, weight, starts=(0, 4500, 4600, 9000))
    params = (loss, coef[:-1], coef[-1], False)
    found = rows.fold(linear_sums, (*params, True, True))
    args = (coef, X, y, loss, np.zeros(3), 1.0 if weight is None else weight)
    np.testing.assert_allclose(found.gradient, plain.gradient(*args), rtol=1e-11, atol=1e-10)
    np.testing.assert_allclose(found.gram, plain.hessian(*args), rtol=1e-11, atol=1e-10)
    assert found.value == pytest.approx(plain.objective(*args), rel=1e-12)
    short = rows.fold(linear_sums, (*params, False, False))
    assert short.gram.size == 0
    assert np.isnan(short.value)
    np.testing.assert_array_equal(short.gradient, found.gradient)


def test_invariant_moved_rows_are_the_rows_less_their_origin():
    X, y = plain.rare(n=300)
    origin = np.array([5.0, 0.0, -2.0])
    weight = np.arange(300.0)
    near = rows_of(X + origin - origin, y, weight, starts=(0, 7, 300))
    far = ShiftedRows(rows_of(X + origin, y, weight, starts=(0, 7, 300)), origin)
    params = (loss_of("logistic"), np.array([0.3, -0.2, 0.1]), -1.5, False, True, True)
    for engine in (None, "threads"):
        one, other = near.fold(linear_sums, params), far.fold(linear_sums, params, engine=engine)
        for left, right in zip(one, other, strict=True):
            np.testing.assert_array_equal(left, right)
    assert far.fingerprint == far.rows.fingerprint
    assert len(far) == 300


def test_invariant_rows_without_label_count_nothing():
    X, y = plain.rare(n=300)
    holed = y.copy()
    holed[::4] = np.nan
    loss = loss_of("gev-canonical", 0.5)
    params = (loss, np.array([0.3, -0.2, 0.1]), -1.0)
    kept = ~np.isnan(holed)
    all_rows = rows_of(X, holed).fold(linear_sums, (*params, True, True, True))
    some = rows_of(X[kept], y[kept]).fold(linear_sums, (*params, False, True, True))
    for one, other in zip(all_rows, some, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-12, atol=1e-13)


@pytest.mark.parametrize("shape", [-0.5, 0.5])
def test_rows_that_do_not_count_may_be_impossible(shape):
    """A label that the score rules out costs infinity, but not where its weight is 0."""
    loss = loss_of("gev-log", shape)
    X = np.array([[0.0], [0.1], [-99.0], [99.0], [-99.0], [99.0]])
    y = np.array([0.0, 1.0, 1.0, 0.0, np.nan, np.nan])
    rows = rows_of(X, y, [1.0, 1.0, 0.0, 0.0, 1.0, 1.0])
    found = rows.fold(linear_sums, (loss, np.ones(1), 0.0, True, True, True))
    alone = rows_of(X[:2], y[:2]).fold(linear_sums, (loss, np.ones(1), 0.0, False, True, True))
    for one, other in zip(found, alone, strict=True):
        np.testing.assert_allclose(one, other, rtol=1e-14)
    counted = rows_of(X[:4], y[:4]).fold(linear_sums, (loss, np.ones(1), 0.0, False, True, True))
    assert counted.value == np.inf


def test_labelled_says_weight_zero_for_gaps_and_keeps_the_rest():
    block = next(rows_of(np.ones((3, 1)), [0, np.nan, 1], [2.0, 3.0, 4.0]).blocks())
    y, weight = labels_and_weights(block, True)
    assert y.tolist() == [0, 0, 1]
    assert weight.tolist() == [2, 0, 4]
    assert labels_and_weights(block, False)[1].tolist() == [2, 3, 4]


def test_oracle_weighted_gram(rng):
    X, curvature = rng.normal(size=(50, 4)), rng.random(50)
    design = plain.design_of(X)
    np.testing.assert_allclose(
        weighted_gram(X, curvature), design.T @ np.diag(curvature) @ design, rtol=1e-12, atol=1e-13
    )


def test_pieces_shrink_for_wide_rows_but_not_below_256():
    assert piece_rows(3) == 4096
    assert piece_rows(524_287) == 256
    assert 256 < piece_rows(500) < 4096


@pytest.mark.parametrize("weighted", [False, True])
@pytest.mark.parametrize("starts", [None, (0, 3, 700, 1000)])
def test_oracle_look_has_the_weighted_mean_and_spread(weighted, starts, rng):
    X = rng.normal(size=(1000, 3)) * [1e-9, 1.0, 1e9] + [1e-9, 5.0, 0.0]
    y = (np.arange(1000) % 10 == 0).astype(float)
    y[5] = np.nan
    weight = rng.random(1000) if weighted else None
    if weighted:
        weight[7] = 0.0
    found = summarise_columns(rows_of(X, y, weight, starts=starts))
    own = np.where(np.isnan(y), 0.0, np.ones(1000) if weight is None else weight)
    mean = np.average(X, axis=0, weights=own)
    np.testing.assert_allclose(found.mean, mean, rtol=1e-12, atol=1e-12)
    std = np.sqrt(np.average((X - mean) ** 2, axis=0, weights=own))
    np.testing.assert_allclose(found.std, std, rtol=1e-12)
    np.testing.assert_allclose(found.weight, [own[y == 0].sum(), own[y == 1].sum()], rtol=1e-12)
    assert found.count.tolist() == [900 - 1 - weighted, 100]
    assert found.unlabelled == 1
    assert found.total == pytest.approx(own.sum())
    assert found.prevalence == pytest.approx(own[y == 1].sum() / own.sum())


def test_oracle_spread_of_a_far_column_does_not_cancel():
    rng = np.random.default_rng(3)
    X = 1e8 + rng.normal(size=(800, 1)) * 0.01
    found = summarise_columns(rows_of(X, np.arange(800) % 2))
    with mpmath.workdps(50):
        values = [mpmath.mpf(float(v)) for v in X[:, 0]]
        mean = mpmath.fsum(values) / len(values)
        std = mpmath.sqrt(mpmath.fsum([(v - mean) ** 2 for v in values]) / len(values))
    assert found.std[0] == pytest.approx(float(std), rel=1e-9)
    assert found.origin is not None
    assert abs(found.mean[0]) > FAR * found.std[0]


@pytest.mark.parametrize("value", [0.0, 0.1, 1e8 + 0.1, -1e-300, 1e300**0.5])
@pytest.mark.parametrize("weighted", [False, True])
def test_constant_columns_have_spread_zero_exactly(value, weighted, rng):
    X = np.column_stack([np.full(997, value), rng.normal(size=997)])
    weight = rng.random(997) if weighted else None
    found = summarise_columns(rows_of(X, np.arange(997) % 2, weight, starts=(0, 10, 500, 997)))
    assert found.std[0] == 0.0
    assert found.std[1] > 0.5


@pytest.mark.parametrize("scale", [1e-7, 1e-11])
def test_nearly_constant_columns_are_not_called_constant(scale):
    X = np.column_stack([1.0 + scale * np.arange(100) / 100, np.arange(100.0)])
    assert (summarise_columns(rows_of(X, np.arange(100) % 2)).std > 0).all()


def test_origin_is_asked_for_by_far_columns_only():
    def seen(mean, std):
        return ColumnSummary(np.ones(2), np.ones(2), 0, np.array(mean), np.array(std))

    assert seen([1.0, 5.0], [1.0, 1.0]).origin is None
    assert seen([1e6, 1e6], [1e3, 0.0]).origin is None  # a constant does not count
    origin = seen([1e6, 5.0], [1.0, 1.0]).origin
    assert origin is not None
    assert origin.tolist() == [1e6, 0.0]


def test_rows_of_weight_zero_may_hold_anything():
    X = np.array([[1.0], [2.0], [1e300], [3.0]])
    found = summarise_columns(rows_of(X, [0, 1, 1, 0], [1.0, 1.0, 0.0, 1.0]))
    assert found.mean[0] == pytest.approx(2.0)
    assert found.count.tolist() == [2, 1]


@pytest.mark.parametrize(("y", "weight"), [([0, 0, 0], None), ([0, 1, 0], [1.0, 0.0, 1.0])])
def test_one_class_is_refused_by_name(y, weight):
    with refused("one-class", DataError, classes="0"):
        summarise_columns(rows_of(np.ones((3, 1)), y, weight))


def test_missing_values_are_named_by_column_and_row():
    X = np.ones((50, 2))
    X[31, 1] = np.nan
    rows = ArrayRows(X, np.arange(50) % 2, names=["age", "pay"], classes=[0, 1], starts=(0, 20, 50))
    with refused("missing-value", DataError, column="pay", row=31, model="Some model"):
        summarise_columns(rows, model="Some model")
