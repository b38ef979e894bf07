"""All features at once: tilts, sums, squares and columns against the matrix they stand for."""

import numpy as np
import pytest

from scarce.maxent.axes import Axis
from scarce.maxent.coded import Accumulator, code_cells, shape_of, sums_of, tilt_of
from scarce.maxent.families import Hinge, Linear
from scarce.maxent.feature_map import FeatureMap, half_width_times
from tests.maxent.spaces import columns, mixed_rows, mixed_space, plain_tilt
from tests.properties.family_properties import near


@pytest.fixture(params=["all", "no second order", "only second order"])
def problem(request, rng):
    X = mixed_rows(rng)
    families = [] if request.param == "only second order" else None
    space = mixed_space(X, families, second=request.param != "no second order")
    return X, space, columns(X, space)


def sums(cells, space, weight, squares=True):
    total = Accumulator(shape_of(space), squares=squares)
    sums_of(cells, shape_of(space), weight, total, squares=squares)
    return total.close()


def boxes(rng, n_features):
    """Coefficients, some of them 0, with targets and half widths."""
    coef = np.where(rng.random(n_features) < 0.4, 0.0, rng.normal(size=n_features))
    return coef, rng.random(n_features), rng.exponential(size=n_features)


def test_oracle_tilt(problem, rng):
    X, space, F = problem
    coef, target, half_width = boxes(rng, space.n_features)
    cells = code_cells(X, space, clamp=True)
    found = tilt_of(
        cells, shape_of(space), space.lines(coef, target, half_width), np.full(len(X), 9.0)
    )
    size = np.abs(coef).sum() * (2 + half_width.max())
    near(found, plain_tilt(F, coef, target, half_width), size, "tilt")


def test_oracle_expectations_and_squares(problem, rng):
    X, space, F = problem
    weight = rng.exponential(size=len(X))
    got = sums(code_cells(X, space, clamp=True), space, weight)
    value, seen = space.expectations(got)
    assert got.total == pytest.approx(weight.sum(), rel=1e-14)
    near(value, np.nansum(F * weight[:, None], axis=0), weight.sum(), "value")
    near(seen, (~np.isnan(F) * weight[:, None]).sum(axis=0), weight.sum(), "seen")
    near(space.squares(got), np.nansum(F**2 * weight[:, None], axis=0), weight.sum(), "squares")


def test_adjoint_by_inner_products(problem, rng):
    """sum_i w_i tilt_i = coef . (value - target seen) + half_width |coef| . seen, any w."""
    X, space, _ = problem
    cells = code_cells(X, space, clamp=True)
    for _ in range(5):
        coef, target, half_width = boxes(rng, space.n_features)
        weight = rng.normal(size=len(X))
        lines = space.lines(coef, target, half_width)
        left = weight @ tilt_of(cells, shape_of(space), lines, np.empty(len(X)))
        value, seen = space.expectations(sums(cells, space, weight, squares=False))
        right = coef @ (value - target * seen) + (half_width * np.abs(coef)) @ seen
        size = np.abs(coef).sum() * np.abs(weight).sum() * (2 + half_width.max())
        near(left, right, size, "inner products")


def test_tables_are_single_features(problem):
    X, space, F = problem
    cells = code_cells(X, space, clamp=True)
    which = np.arange(space.first_pair)[::-1].copy()
    if len(which) == 0:
        return
    variable, start, slope = space.tables(which)
    for k, feature in enumerate(which):
        code, rest = cells.codes[variable[k]], cells.rest[variable[k]]
        seen = code < space.axes[variable[k]].n_segments
        np.testing.assert_array_equal(seen, ~np.isnan(F[:, feature]))
        found = start[k, code] + slope[k, code] * rest
        near(found[seen], F[seen, feature], 1.0, space.names[feature])
        assert not found[~seen].any()


def test_what_each_feature_is_called_and_belongs_to(problem, rng):
    _, space, F = problem
    assert len(space.names) == len(space.letters) == space.n_features == F.shape[1]
    names = [axis.name for axis in space.axes]
    for name, letter, variable, steplike in zip(
        space.names, space.letters, space.variable_of, space.steplike, strict=True
    ):
        assert steplike == (letter in "htc")
        if letter in "qp":
            assert variable == -1
            assert name.count("*") == (letter == "p")
            assert name.endswith("^2") == (letter == "q")
        else:
            assert name.split()[0] == names[variable]


def test_letters_follow_the_axes():
    space = FeatureMap(
        [Axis("a", np.array([0.0, 1.0, 2.0])), Axis("b", np.array([0.0, 1.0]))],
        [Linear(), Hinge()],
        [(0, 0), (0, 1)],
    )
    assert "".join(space.letters) == "lhhhhlhhqp"
    assert space.names[-2:] == ["a^2", "a * b"]
    assert space.first_cell.tolist() == [0, 3, 5]
    assert space.seen_cells.tolist() == [1, 1, 0, 1, 0]
    start, slope = space.place_lines
    assert start.tolist() == [0, 0.5, 0, 0, 0]
    assert slope.tolist() == [0.5, 0.5, 0, 1, 0]


def test_a_feature_without_a_box_that_is_not_used_costs_nothing(problem, rng):
    X, space, F = problem
    coef, target, half_width = boxes(rng, space.n_features)
    half_width[coef == 0] = np.inf
    lines = space.lines(coef, target, half_width)
    found = tilt_of(code_cells(X, space, clamp=True), shape_of(space), lines, np.empty(len(X)))
    near(found, plain_tilt(F, coef, target, half_width), 1e2, "tilt")
    assert half_width_times(np.array([0.0, -2.0]), np.array([np.inf, 3.0])).tolist() == [0.0, 6.0]


def test_a_row_without_values_has_no_tilt(problem, rng):
    X, space, _ = problem
    lines = space.lines(*boxes(rng, space.n_features))
    cells = code_cells(np.full((2, X.shape[1]), np.nan), space, clamp=True)
    assert tilt_of(cells, shape_of(space), lines, np.ones(2)).tolist() == [0.0, 0.0]


def test_levels_never_seen_count_as_missing(problem, rng):
    X, space, _ = problem
    lines = space.lines(*boxes(rng, space.n_features))
    X = np.tile(X[:1], (2, 1))
    X[:, 3] = np.nan, 3.0
    one, two = tilt_of(code_cells(X, space, clamp=True), shape_of(space), lines, np.empty(2))
    assert one == two


def test_beyond_the_knots_lines_go_on_or_stop(rng):
    axis = Axis("x", np.array([0.0, 1.0, 3.0]))
    space = FeatureMap([axis], [Hinge(), Linear()], [(0, 0)])
    coef, target, half_width = boxes(rng, space.n_features)
    lines = space.lines(coef, target, half_width)
    shape = shape_of(space)

    def tilt(x, clamp):
        cells = code_cells(np.array(x)[:, None], space, clamp=clamp)
        return tilt_of(cells, shape, lines, np.empty(len(x)))

    np.testing.assert_array_equal(tilt([-5.0, 9.0], True), tilt([0.0, 3.0], True))
    # On, as the outer lines and the square do: second differences stay those of the square.
    out = tilt([3.0, 4.0, 5.0, 6.0], False)
    np.testing.assert_allclose(np.diff(out, 2), 2 * coef[-1] / 9, rtol=1e-9, atol=1e-12)
    assert out[1] != pytest.approx(out[0], abs=1e-3)
