"""Coded rows, the same on every engine; labelled rows; the sample for the curvature."""

import numpy as np
import pytest

from scarce.engine.block import PIECE_ROWS
from scarce.maxent.axes import Axis
from scarce.maxent.coded import (
    Accumulator,
    Coded,
    RowSample,
    code_cells,
    labelled_rows,
    no_labelled_rows,
    shape_of,
    sums_of,
    weighted_sums,
)
from scarce.maxent.families import Hinge, Linear
from scarce.maxent.feature_map import FeatureMap
from tests.maxent.spaces import coded, columns, mixed_rows, mixed_space
from tests.properties.family_properties import near


@pytest.fixture
def problem(rng):
    X = mixed_rows(rng, n=700)
    label = np.where(rng.random(700) < 0.3, rng.integers(0, 2, 700), np.nan)
    return X, mixed_space(X), label, rng.exponential(size=700), rng.exponential(size=700)


@pytest.mark.parametrize("clamp", [True, False])
def test_cells_are_those_of_each_axis(problem, clamp):
    X, space, *_ = problem
    X = np.where(np.arange(700)[:, None] % 7 == 0, X * 3, X)
    cells = code_cells(X, space, clamp=clamp)
    assert cells.codes.shape == cells.rest.shape == (5, 700)
    assert cells.n == 700
    for v, axis in enumerate(space.axes):
        codes, rest = axis.code(np.ascontiguousarray(X[:, v]), clamp=clamp)
        np.testing.assert_array_equal(cells.codes[v], codes)
        np.testing.assert_array_equal(cells.rest[v], rest)


def test_long_columns_are_coded_in_parts(rng):
    x = rng.random(140_000)
    axis = Axis("x", np.linspace(0, 1, 5))
    cells = code_cells(x[:, None], FeatureMap([axis], []), clamp=True)
    codes, rest = axis.code(x)
    np.testing.assert_array_equal(cells.codes[0], codes)
    np.testing.assert_array_equal(cells.rest[0], rest)


@pytest.mark.parametrize(("n_segments", "width"), [(1, 1), (254, 1), (255, 2), (1000, 2)])
def test_a_code_has_as_many_bytes_as_it_needs(n_segments, width, rng):
    axis = Axis("x", np.linspace(0.0, 1.0, n_segments + 1))
    other = Axis("z", np.array([0.0, 1.0]))
    x = np.concatenate([axis.knots, rng.random(50), [np.nan]])
    X = np.column_stack([x, x])
    cells = code_cells(X, FeatureMap([axis, other], [Hinge()]), clamp=True)
    assert cells.codes.dtype.itemsize == width
    np.testing.assert_array_equal(cells.codes[0], axis.code(x)[0])
    assert cells.codes[0, -1] == n_segments  # missing: the cell after the last


def test_float32_rests_are_the_float64_ones_rounded(problem):
    X, space, label, weight, pool = problem
    X = X.astype(np.float32).astype(np.float64)
    wide = code_cells(X, space, clamp=True)
    narrow = code_cells(X.astype(np.float32), space, clamp=True, dtype=np.float32)
    assert narrow.rest.dtype == np.float32
    np.testing.assert_array_equal(narrow.codes, wide.codes)
    np.testing.assert_array_equal(narrow.rest, wide.rest.astype(np.float32))
    shape = shape_of(space)
    one = coded(X, space, label, weight, pool).fold(weighted_sums, (shape, None, True))
    two = coded(X, space, label, weight, pool, dtype=np.float32).fold(
        weighted_sums, (shape, None, True)
    )
    for a, b in zip(space.expectations(one), space.expectations(two), strict=True):
        np.testing.assert_allclose(b, a, rtol=0, atol=1e-7)
    np.testing.assert_allclose(space.squares(two), space.squares(one), rtol=0, atol=1e-7)


@pytest.mark.parametrize("of_class", [None, 0, 1])
def test_oracle_weighted_sums(problem, of_class):
    X, space, label, weight, pool = problem
    F = columns(X, space)
    rows = coded(X, space, label, weight, pool, starts=(0, 1, 300, 301, 700))
    got = rows.fold(weighted_sums, (shape_of(space), of_class, True))
    w = pool / pool.sum() if of_class is None else np.where(label == of_class, weight, 0.0)
    value, seen = space.expectations(got)
    near(got.total, w.sum(), w.sum(), "total")
    near(value, np.nansum(F * w[:, None], axis=0), w.sum(), "value")
    near(seen, (~np.isnan(F) * w[:, None]).sum(axis=0), w.sum(), "seen")
    near(space.squares(got), np.nansum(F**2 * w[:, None], axis=0), w.sum(), "squares")


def test_blocks_keep_their_labels_weights_and_shares(problem):
    X, space, label, weight, pool = problem
    starts = (0, 13, 400, 700)
    rows = coded(X, space, label, weight, pool, starts=starts)
    assert len(rows) == 700
    for index, block in enumerate(rows.coded_blocks):
        part = slice(starts[index], starts[index + 1])
        assert (block.start, block.index, len(block)) == (part.start, index, part.stop - part.start)
        assert block.open() is block
        assert rows.ticket(index) is block
        np.testing.assert_array_equal(block.label, label[part])
        np.testing.assert_array_equal(block.weight, weight[part])
        np.testing.assert_allclose(block.pool, pool[part] / pool.sum(), rtol=1e-14)
    assert sum(block.pool.sum() for block in rows.coded_blocks) == pytest.approx(1.0, abs=1e-13)


def test_invariant_engines_give_the_same_bits(problem):
    X, space, label, weight, pool = problem
    params = (shape_of(space), None, True)
    found = []
    for engine in (None, "threads", "processes:2"):
        rows = coded(X, space, label, weight, pool, starts=(0, 100, 350, 700), engine=engine)
        arrays = list(rows.fold(weighted_sums, params, engine=engine))
        for block in rows.coded_blocks:
            arrays += [block.cells.codes, block.cells.rest, block.pool]
        found.append([np.asarray(array).tobytes() for array in arrays])
    assert found[0] == found[1] == found[2]


@pytest.mark.parametrize("starts", [(0, 700), (0, 1, 2, 699, 700), tuple(range(0, 701, 50))])
def test_invariant_cuts(problem, starts):
    X, space, label, weight, pool = problem
    params = (shape_of(space), 1, True)
    whole = coded(X, space, label, weight, pool).fold(weighted_sums, params)
    cut = coded(X, space, label, weight, pool, starts=starts).fold(weighted_sums, params)
    for one, other in zip(whole, cut, strict=True):
        np.testing.assert_allclose(other, one, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize(
    "n", [1, 2, PIECE_ROWS - 1, PIECE_ROWS, PIECE_ROWS + 1, 2 * PIECE_ROWS + 3]
)
def test_pieces_of_any_length_add_up(n, rng):
    """Even and odd rows, whole and partial pieces."""
    x = rng.random((n, 1))
    x[::5] = np.nan
    space = FeatureMap([Axis("x", np.linspace(0, 1, 4))], [Hinge()])
    pool = rng.exponential(size=n)
    got = coded(x, space, pool=pool).fold(weighted_sums, (shape_of(space), None, False))
    w = pool / pool.sum()
    assert got.total == pytest.approx(1.0, abs=1e-12)
    F = columns(x, space)
    near(space.expectations(got)[0], np.nansum(F * w[:, None], axis=0), 1.0, "value")
    assert got.rest2.size == got.pair.size == got.pair2.size == 0


def test_part_and_take(rng):
    cells = Coded(rng.integers(0, 9, (2, 20)).astype(np.uint8), rng.random((2, 20)))
    part = cells.part(3, 8)
    np.testing.assert_array_equal(part.codes, cells.codes[:, 3:8])
    chosen = np.array([7, 1, 1])
    taken = cells.take(chosen)
    np.testing.assert_array_equal(taken.rest, cells.rest[:, chosen])
    assert taken.codes.flags.c_contiguous
    assert taken.n == 3


def test_scaling_what_is_under_way(problem, rng):
    X, space, *_ = problem
    shape, weight = shape_of(space), rng.random(700)
    cells = code_cells(X, space, clamp=True)
    one, other = Accumulator(shape, squares=True), Accumulator(shape, squares=True)
    sums_of(cells, shape, weight, one, squares=True)
    one.scale(0.25)
    sums_of(cells, shape, 0.25 * weight, other, squares=True)
    for a, b in zip(one.close(), other.close(), strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-13)


def test_coded_rows_can_be_mapped(problem):
    X, space, label, weight, pool = problem
    rows = coded(X, space, label, weight, pool, starts=(0, 100, 700))
    np.testing.assert_array_equal(rows.map(lambda block, _: block.weight), weight)
    assert isinstance(rows.fingerprint, str)


# --- labelled rows, and the sample for the curvature ----------------------------------------------


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
    none = no_labelled_rows(labelled_rows(coded(X, SPACE, label, weight, pool), 0))
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
