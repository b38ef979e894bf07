"""Where a value lies between knots: against a search, at the knots, beyond them, missing."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarce.maxent.axes import Axis

KNOTS = {
    "even": np.linspace(-2.0, 3.0, 11),
    "two": np.array([0.5, 0.75]),
    "uneven": np.array([0.0, 1e-9, 1e-6, 1.0, 1e6, 1e6 + 1e-3]),
    "far": 1e9 + np.array([0.0, 1.0, 1.5, 8.0]),
    "tiny": np.array([0.0, 1e-300, 3e-300, 1e-299]),
    "many": np.sort(np.random.default_rng(0).lognormal(sigma=3, size=1000)),
}


def plain_code(knots, x, clamp):
    """One value at a time, with NumPy's search."""
    last = len(knots) - 2
    if np.isnan(x):
        return last + 1, 0.0
    segment = min(max(int(np.searchsorted(knots, x, side="right")) - 1, 0), last)
    rest = (x - knots[segment]) / (knots[segment + 1] - knots[segment])
    return segment, min(max(rest, 0.0), 1.0) if clamp else rest


@pytest.mark.parametrize("clamp", [True, False])
@pytest.mark.parametrize("kind", KNOTS)
def test_oracle_search(kind, clamp, rng):
    knots = KNOTS[kind]
    span = knots[-1] - knots[0]
    x = np.concatenate(
        [
            knots,
            np.nextafter(knots, -np.inf),
            np.nextafter(knots, np.inf),
            (knots[:-1] + knots[1:]) / 2,
            rng.uniform(knots[0] - span / 2, knots[-1] + span / 2, 500),
            knots[0] + span * rng.random(300) ** 6,
            [np.nan, knots[0] - 10 * span, knots[-1] + 10 * span],
        ]
    )
    codes, rest = Axis("x", knots).code(x, clamp=clamp)
    wanted = [plain_code(knots, value, clamp) for value in x]
    np.testing.assert_array_equal(codes, [segment for segment, _ in wanted])
    np.testing.assert_array_equal(rest, [r for _, r in wanted])
    assert codes.dtype == np.uint16


@given(
    st.lists(
        st.floats(-1e6, 1e6).filter(lambda v: v == 0 or abs(v) > 1e-6),
        min_size=2,
        max_size=30,
        unique=True,
    ),
    st.lists(st.floats(-2e6, 2e6), min_size=1, max_size=30),
)
def test_property_any_knots_and_values(knots, x):
    knots = np.sort(knots)
    codes, rest = Axis("x", knots).code(np.array(x))
    for value, segment, r in zip(x, codes, rest, strict=True):
        assert (segment, r) == plain_code(knots, value, True)


def test_a_value_is_found_again_from_segment_and_rest(rng):
    axis = Axis("x", KNOTS["even"])
    x = rng.uniform(-6, 8, 200)
    codes, rest = axis.code(x, clamp=False)
    again = axis.knots[codes] + rest * np.diff(axis.knots)[codes]
    np.testing.assert_allclose(again, x, rtol=1e-13, atol=1e-13)
    assert rest.min() < 0
    assert rest.max() > 1


def test_places_go_from_0_to_1():
    axis = Axis("x", np.array([10.0, 12.0, 20.0]))
    assert axis.places.tolist() == [0.0, 0.2, 1.0]
    assert axis.lengths.tolist() == [0.2, 0.8]
    assert axis.n_segments == 2
    assert not axis.flat


def test_levels_and_what_is_none():
    axis = Axis("soil", np.array([0.0, 2.0, 5.0]), category=True)
    codes, rest = axis.code(np.array([5.0, 0.0, 2.0, 1.0, -1.0, 9.0, np.nan]))
    assert codes.tolist() == [2, 0, 1, 3, 3, 3, 3]
    assert not rest.any()
    assert axis.n_segments == 3
    assert not axis.flat
    assert Axis("soil", np.array([4.0]), category=True).flat


def test_a_category_without_levels():
    axis = Axis("soil", np.array([]), category=True)
    codes, rest = axis.code(np.array([1.0, np.nan]))
    assert codes.tolist() == [0, 0] == [axis.n_segments] * 2
    assert rest.tolist() == [0.0, 0.0]
    assert axis.flat


@pytest.mark.parametrize("clamp", [True, False])
def test_a_single_value_has_one_segment(clamp):
    axis = Axis("x", np.array([7.0, 7.0]))
    codes, rest = axis.code(np.array([7.0, 3.0, np.nan]), clamp=clamp)
    assert codes.tolist() == [0, 0, 1]
    assert rest.tolist() == [0.0, 0.0, 0.0]
    assert axis.flat
