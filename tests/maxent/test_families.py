"""Every family against its columns written out, and the shared list of properties."""

import numpy as np
import pytest

from scarce.maxent.axes import Axis
from scarce.maxent.families import Category, Hinge, Linear, Threshold
from tests.maxent.spaces import one_family
from tests.properties.family_properties import check_family

PLAIN = [Linear(), Hinge(), Threshold()]
KNOTS = {
    "even": lambda rng: np.linspace(-2.0, 3.0, 11),
    "two": lambda rng: np.array([0.5, 0.75]),
    "three": lambda rng: np.array([-1.0, 0.0, 5.0]),
    "quantile": lambda rng: np.unique(np.quantile(rng.lognormal(size=400), np.linspace(0, 1, 30))),
    "data": lambda rng: np.unique(rng.normal(size=60)),
    "rounded": lambda rng: np.unique(rng.normal(size=200).round(1)),
    "uneven": lambda rng: np.array([0.0, 1e-9, 1e-6, 1e-3, 1.0]),
    "repeated": lambda rng: np.array([0.0, 1.0, 1.0, 1.0, 2.0, 4.0]),
    "far": lambda rng: 1e6 + np.linspace(0.0, 8.0, 17),
    "a thousand": lambda rng: np.linspace(0.0, 1.0, 1001),
    "a thousand data": lambda rng: np.unique(rng.lognormal(size=1000)),
}


def values(knots, rng, n=150):
    """Inside, at the knots and at the ends, and missing."""
    inside = rng.uniform(knots[0], knots[-1], n)
    missing = np.full(10, np.nan)
    return rng.permutation(np.concatenate([inside, rng.choice(knots, 60), knots[[0, -1]], missing]))


@pytest.mark.parametrize("kind", KNOTS)
@pytest.mark.parametrize("family", PLAIN, ids=lambda family: family.letter)
def test_oracle_columns(family, kind, rng):
    axis = Axis("x", KNOTS[kind](rng))
    if family.letter == "t" and axis.n_segments == 1:
        assert family.size(axis) == 0
        assert family.names(axis) == []
        return
    x = values(axis.knots, rng)
    check_family(family, axis, x, one_family(family.letter, axis, x))


@pytest.mark.parametrize("n_levels", [2, 3, 40])
def test_oracle_category_columns(n_levels, rng):
    levels = np.sort(rng.choice(100, n_levels, replace=False)).astype(float)
    axis = Axis("soil", levels, category=True)
    x = np.concatenate([rng.choice(levels, 100), [np.nan, -1.0, 200.0]])
    codes, _ = axis.code(x)
    assert (codes[-3:] == n_levels).all()
    known = x[:-2]
    check_family(Category(), axis, known, one_family("c", axis, known))


@pytest.mark.parametrize("end", ["left", "right"])
def test_oracle_hinges_on_segments_that_are_short_against_the_range(end, rng):
    """A millionth of the range: the ramps keep nine digits there, and twelve elsewhere."""
    knots = np.array([0.0, 1e-6, 2e-6, 0.5, 1.0])
    knots = 0.1 + 3 * (knots if end == "left" else (1 - knots)[::-1])
    axis = Axis("x", knots)
    x = np.concatenate([knots, rng.uniform(0.1, 3.1, 100), knots[1] + 1e-7 * rng.random(20)])
    x = np.clip(x, knots[0], knots[-1])
    codes, rest = axis.code(x)
    start, slope = Hinge().forward(axis, np.eye(8))
    found = (start[:, codes] + slope[:, codes] * rest).T
    np.testing.assert_allclose(found, one_family("h", axis, x), rtol=0, atol=1e-9)


def test_squares_of_ramps_do_not_cancel():
    """Rows next to a knot: the square of 1e-8 is found, not the rounding of numbers near 1."""
    axis = Axis("x", np.array([0.0, 0.5, 1.0]))
    x = np.array([0.5 + 1e-8])
    codes, rest = axis.code(x)
    mass, first, second = np.zeros((3, 2))
    mass[codes], first[codes], second[codes] = 1.0, rest, rest**2
    found = Hinge().squares(axis, mass, first, second)
    assert found[1] == pytest.approx((1e-8 / 0.5) ** 2, rel=1e-6)


def test_which_variables_carry_which_family():
    flat, soil = Axis("x", np.array([1.0, 1.0])), Axis("s", np.array([0.0, 1.0]), category=True)
    for family in PLAIN:
        assert family.size(flat) == family.size(soil) == 0
        assert family.names(flat) == family.names(soil) == []
    line = Axis("x", np.linspace(0, 1, 4))
    assert [family.size(line) for family in PLAIN] == [1, 6, 2]
    assert Category().size(line) == 0
    assert Category().names(line) == []
    single = Axis("s", np.array([3.0]), category=True)
    assert Category().size(single) == 0
    assert Category().names(single) == []


def test_names_say_where():
    axis = Axis("rain", np.array([0.0, 1.5, 4.0]))
    assert Linear().names(axis) == ["rain"]
    assert Hinge().names(axis) == ["rain > 0", "rain > 1.5", "rain < 1.5", "rain < 4"]
    assert Threshold().names(axis) == ["rain >= 1.5"]
    soil = Axis("soil", np.array([0.0, 2.0]), category=True, levels=("clay", "sand"))
    assert Category().names(soil) == ["soil = clay", "soil = sand"]


def test_floors_are_for_steps_ramps_and_indicators():
    steplike = [family.steplike for family in (*PLAIN, Category())]
    assert steplike == [False, True, True, True]
