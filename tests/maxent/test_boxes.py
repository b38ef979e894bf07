"""Targets, standard deviations and half widths against plain NumPy; Maxent's table by hand."""

import numpy as np
import pytest

from scarce.maxent.axes import Axis
from scarce.maxent.boxes import LEAST_RANGE, Boxes, class_boxes
from scarce.maxent.coded import shape_of
from scarce.maxent.families import Category, Hinge, Linear, Threshold
from scarce.maxent.feature_map import FeatureMap
from tests.maxent.spaces import coded, columns, mixed_rows, mixed_space
from tests.oracle import maxent_dense as dense


@pytest.fixture
def problem(rng):
    X = mixed_rows(rng, n=300)
    label = np.where(rng.random(300) < 0.4, rng.integers(0, 2, 300), np.nan)
    return X, mixed_space(X), label, rng.exponential(size=300) + 0.1, rng.exponential(size=300)


def find(X, space, label, weight=None, pool=None, of_class=0, spread="labelled", widths="spread"):
    rows = coded(X, space, label, weight, pool, starts=(0, len(X) // 3, len(X)))
    return class_boxes(rows, space, shape_of(space), of_class, spread=spread, widths=widths)


@pytest.mark.parametrize("of_class", [0, 1])
@pytest.mark.parametrize("spread", ["labelled", "seen"])
def test_oracle_boxes(problem, of_class, spread):
    X, space, label, weight, pool = problem
    F = columns(X, space)
    own = np.where(label == of_class, weight, 0.0)
    target, seen = dense.box_targets(F, own)
    deviation = dense.spreads(F, own if spread == "labelled" else pool)
    found = find(X, space, label, weight, pool, of_class, spread)
    np.testing.assert_allclose(found.target, target, rtol=1e-11, atol=1e-13)
    np.testing.assert_allclose(found.seen, seen / own.sum(), rtol=1e-12)
    assert found.n == pytest.approx(own.sum(), rel=1e-13)
    floor = np.where(space.steplike, 1 / np.sqrt(seen), LEAST_RANGE)
    assert (deviation > floor).any()
    np.testing.assert_allclose(found.deviation, np.maximum(deviation, floor), rtol=1e-9)
    np.testing.assert_allclose(found.unit, found.deviation / np.sqrt(seen), rtol=1e-12)
    np.testing.assert_allclose(found.half_width(0.3), 0.3 * found.unit, rtol=1e-14)


def test_the_standard_deviation_is_that_of_the_population():
    """Places 0, 0.5 and 1 have variance 1/6, not 1/4."""
    space = FeatureMap([Axis("x", np.array([0.0, 2.0]))], [Linear()])
    found = find(np.array([[0.0], [1.0], [2.0]]), space, np.zeros(3))
    assert found.target[0] == 0.5
    assert found.deviation[0] == pytest.approx(np.sqrt(1 / 6), rel=1e-14)
    assert found.unit[0] == pytest.approx(np.sqrt(1 / 18), rel=1e-14)


def test_each_feature_counts_the_rows_that_see_it():
    """Four labelled rows, one of which misses z: its box is that of three."""
    space = FeatureMap([Axis(name, np.array([0.0, 1.0])) for name in "xz"], [Linear()], [(0, 1)])
    X = np.array([[0.0, 1.0], [1.0, 0.0], [0.5, 0.5], [1.0, np.nan], [0.0, 0.0]])
    found = find(X, space, np.array([0, 0, 0, 0, np.nan]))
    np.testing.assert_allclose(found.seen, [1.0, 0.75, 0.75])
    np.testing.assert_allclose(found.target, [0.625, 0.5, 0.25 / 3])
    deviation = [np.std([0, 1, 0.5, 1]), np.std([1, 0, 0.5]), np.std([0, 0, 0.25])]
    np.testing.assert_allclose(found.unit, deviation / np.sqrt([4, 3, 3]))


def test_floors():
    """Nine labelled rows at one place: 1/sqrt(9) for ramps and steps, a thousandth for a line."""
    families = [Linear(), Hinge(), Threshold()]
    space = FeatureMap([Axis("x", np.array([0.0, 0.5, 1.0]))], families, [(0, 0)])
    found = find(
        np.append(np.full(9, 0.75), [0.0, 1.0])[:, None],
        space,
        np.append(np.zeros(9), [np.nan] * 2),
    )
    wanted = [LEAST_RANGE] + [1 / 3] * 5 + [LEAST_RANGE]
    np.testing.assert_allclose(found.deviation, wanted, rtol=1e-14)
    np.testing.assert_allclose(found.unit, np.array(wanted) / 3, rtol=1e-14)


@pytest.mark.parametrize("widths", ["spread", "maxent"])
def test_no_labelled_value_no_box(widths):
    """Whatever the scale: the feature is dropped, and so is every product with it."""
    space = FeatureMap(
        [Axis(name, np.array([0.0, 1.0])) for name in "xz"], [Linear()], [(0, 0), (0, 1), (1, 1)]
    )
    X = np.array([[0.0, np.nan], [1.0, np.nan], [0.2, 1.0], [0.3, 0.0]])
    found = find(X, space, np.array([0, 0, np.nan, np.nan]), spread="seen", widths=widths)
    assert np.isinf(found.unit).tolist() == [False, True, False, True, True]
    assert np.isinf(found.half_width(0.0)).tolist() == [False, True, False, True, True]
    assert found.half_width(0.0)[0] == 0.0
    assert found.target[1] == 0.0
    assert found.seen[1] == 0.0


def test_a_level_that_no_labelled_row_has_keeps_its_box():
    space = FeatureMap([Axis("soil", np.array([0.0, 1.0]), category=True)], [Category()])
    found = find(
        np.array([[0.0], [0.0], [0.0], [0.0], [1.0]]), space, np.array([0, 0, 0, 0, np.nan])
    )
    np.testing.assert_allclose(found.target, [1.0, 0.0])
    np.testing.assert_allclose(found.deviation, [0.5, 0.5])
    np.testing.assert_allclose(found.unit, [0.25, 0.25])


def test_weight_2_is_a_row_twice(problem):
    X, space, label, *_ = problem
    weight = np.where(np.arange(300) % 3 == 0, 2.0, 1.0)
    twice = np.repeat(np.arange(300), weight.astype(int))
    one = find(X, space, label, weight, weight)
    two = find(X[twice], space, label[twice])
    for name in ("target", "deviation", "unit", "seen"):
        np.testing.assert_allclose(getattr(one, name), getattr(two, name), rtol=1e-9, atol=1e-12)
    assert one.n == pytest.approx(two.n)


@pytest.mark.parametrize(
    ("n", "linear", "quadratic", "product"),
    [
        # by hand: straight lines between Maxent's constants at 0, 10, 17, 30, 100 presences
        (5, 1.0, 1.3 - 0.5 * 5 / 10, 2.6 - 1.0 * 5 / 10),
        (10, 1.0, 0.8, 1.6),
        (20, 1.0 - 0.8 * 10 / 20, 0.5 - 0.25 * 3 / 13, 0.9 - 0.35 * 3 / 13),
        (65, 0.2 - 0.15 * 35 / 70, 0.25 - 0.2 * 35 / 70, 0.55 - 0.5 * 35 / 70),
        (400, 0.05, 0.05, 0.05),
    ],
)
def test_maxents_constants(n, linear, quadratic, product, rng):
    x = np.append(rng.random(n), [0.0, 1.0])
    z = np.append(rng.random(n), [0.0, 1.0])
    axes = [Axis(name, np.array([0.0, 1.0])) for name in "xz"]
    label = np.append(np.zeros(n), [np.nan] * 2)
    X = np.column_stack([x, z])
    own = X[:n]
    root = np.sqrt(n)
    for pairs, factor in (
        ([], linear),
        ([(0, 0), (1, 1)], quadratic),
        ([(0, 0), (1, 1), (0, 1)], product),
    ):
        found = find(X, FeatureMap(axes, [Linear()], pairs), label, widths="maxent")
        columns = [own[:, 0], own[:, 1], *(own[:, u] * own[:, v] for u, v in pairs)]
        wanted = [factor * np.std(column, ddof=1) / root for column in columns]
        np.testing.assert_allclose(found.unit, np.maximum(wanted, 1e-3), rtol=1e-9)


def test_maxents_hinges_thresholds_and_categories():
    """20 presences: half a deviation for ramps, 1.8 for steps, 0.25 for levels; floors."""
    x = np.append(np.tile([0.3, 0.45], 10), [0.0, 1.0])
    X = np.column_stack([x, np.append(np.arange(20) < 5, [0.0, 1.0])])
    axes = [
        Axis("x", np.array([0.0, 0.25, 0.4, 0.5, 1.0])),
        Axis("soil", np.array([0.0, 1.0, 2.0]), category=True),
    ]
    space = FeatureMap(axes, [Hinge(), Threshold(), Category()])
    label = np.append(np.zeros(20), [np.nan] * 2)
    found = find(X, space, label, widths="maxent")
    unit = dict(zip(space.names, found.unit, strict=True))
    root = np.sqrt(20)
    half = np.sqrt(10 * 0.5**2 * 2 / 19)  # sample deviation of a fair indicator of 20
    # forward ramp at 0: 0.3 and 0.45, deviation 0.075 * sqrt(20/19), below 1/sqrt(20): the floor
    assert unit["x > 0"] == pytest.approx(0.5 / 20, rel=1e-12)
    assert unit["x > 0.5"] == pytest.approx(0.5 / 20, rel=1e-12)
    # reverse ramp at 0.4: 0.25 and 0, deviation 0.125 * sqrt(20/19) = 0.128, below 0.224 too
    assert unit["x < 0.4"] == pytest.approx(0.5 / 20, rel=1e-12)
    assert unit["x >= 0.4"] == pytest.approx(1.8 * half / root, rel=1e-12)
    assert unit["x >= 0.25"] == unit["x >= 0.5"] == 1.0  # all presences beyond, and none
    share = np.sqrt((5 * 0.75**2 + 15 * 0.25**2) / 19)
    assert unit["soil = 0"] == pytest.approx(0.25 * share / root, rel=1e-12)
    assert unit["soil = 1"] == pytest.approx(0.25 * share / root, rel=1e-12)
    assert unit["soil = 2"] == 1e-3


def test_maxents_wide_hinges_have_half_a_deviation():
    x = np.append(np.tile([0.0, 1.0], 10), [0.0, 1.0])
    space = FeatureMap([Axis("x", np.array([0.0, 1.0]))], [Hinge()])
    found = find(x[:, None], space, np.append(np.zeros(20), [np.nan] * 2), widths="maxent")
    deviation = np.std([0.0, 1.0] * 10, ddof=1)
    np.testing.assert_allclose(found.unit, 0.5 * deviation / np.sqrt(20), rtol=1e-12)


def test_one_presence_has_no_deviation_but_a_box():
    space = FeatureMap([Axis("x", np.array([0.0, 1.0]))], [Linear(), Hinge()])
    X, label = np.array([[0.5], [0.0], [1.0]]), np.array([0, np.nan, np.nan])
    for widths in ("spread", "maxent"):
        found = find(X, space, label, widths=widths)
        assert np.isfinite(found.unit).all()
        assert (found.unit > 0).all()


def test_scale_0_keeps_dropped_features_dropped():
    box = Boxes(np.zeros(2), np.ones(2), np.array([0.5, np.inf]), np.array([1.0, 0.0]), 4.0)
    assert box.half_width(0.0).tolist() == [0.0, np.inf]
    assert box.half_width(2.0).tolist() == [1.0, np.inf]
