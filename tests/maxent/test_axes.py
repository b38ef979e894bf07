"""Axes: where a value lies between knots, and where the knots are."""

import numpy as np
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarce import open_rows
from scarce.engine.memory import ArrayRows
from scarce.errors import DataError
from scarce.maxent import axes as module
from scarce.maxent.axes import Axis, make_axes
from tests.problems import refused

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


# --- knots ----------------------------------------------------------------------------------------


def find(X, **how):
    found = find_all(X, **how)
    return found.axes, found.missing


def find_all(X, *, categorical=(), pool=None, labelled=None, knots=5, knots_at="uniform", **how):
    n = len(X)
    rows = X if not isinstance(X, np.ndarray) else ArrayRows(X, check=False, **how)
    return make_axes(
        rows,
        categorical,
        np.ones(n) if pool is None else np.asarray(pool, dtype=float),
        np.zeros(n, dtype=bool) if labelled is None else labelled,
        knots=knots,
        knots_at=knots_at,
    )


def test_even_knots_between_least_and_greatest(rng):
    X = rng.normal(size=(60, 2)) * [1, 100]
    X[::4, 0] = np.nan
    axes, missing = find(X, knots=7, starts=(0, 1, 33, 60))
    assert [axis.name for axis in axes] == ["x0", "x1"]
    assert missing.tolist() == [15, 0]
    for axis, column in zip(axes, X.T, strict=True):
        assert not axis.category
        wanted = np.linspace(np.nanmin(column), np.nanmax(column), 7)
        np.testing.assert_array_equal(axis.knots, wanted)


@pytest.mark.parametrize("knots", [2, 3, 10, 50])
def test_quantiles_of_the_pool(knots, rng):
    x = rng.lognormal(size=200).round(1)
    x[::9] = np.nan
    (axis,), _ = find(x[:, None], knots=knots, knots_at="quantile", starts=(0, 77, 200))
    seen = np.sort(x[~np.isnan(x)])
    wanted = {seen[0], seen[-1]}
    for place in np.linspace(0, 1, knots)[1:-1]:
        # the least value with at least this share at or below it
        wanted.add(next(v for v in seen if (seen <= v).mean() >= place - 1e-12))
    one, three = (next(v for v in seen if (seen <= v).mean() >= p) for p in (0.25, 0.75))
    fence = three + 3 * (three - one)
    assert fence < seen[-1]
    assert np.isin(list(wanted), axis.knots).all()
    assert np.isin(axis.knots, [*seen, fence]).all()
    assert fence in axis.knots
    # quantiles that are one value leave places to other values
    assert len(axis.knots) == min(knots, len(np.unique(seen))) + (fence not in seen)


def test_few_values_are_all_knots():
    x = np.repeat([0.0, 1.0, 2.0, 7.0], [90, 5, 4, 1])
    (axis,), _ = find(x[:, None], knots=5, knots_at="quantile")
    assert axis.knots[:3].tolist() == [0, 1, 2]
    assert axis.knots[-1] == 7


@pytest.mark.parametrize("wild", [[1e4], [-9999.0], [1e4, -9999.0], [1e300, 1e4]])
@pytest.mark.parametrize("knots_at", ["quantile", "data"])
def test_wild_values_do_not_squeeze_the_others(wild, knots_at, rng):
    x = rng.normal(size=500)
    alone = find_all(x[:, None], labelled=np.arange(500) < 40, knots_at=knots_at)
    assert alone.outliers == []
    assert alone.axes[0].scale is None
    both = np.concatenate([x, wild])
    found = find_all(both[:, None], labelled=np.arange(len(both)) < 40, knots_at=knots_at)
    (axis,) = found.axes
    assert axis.knots[[0, -1]].tolist() == [both.min(), both.max()]
    low, zero, high = np.interp([-2, 0, 2], axis.knots, axis.places)
    assert high - low > 0.3
    assert high - zero == pytest.approx(zero - low, rel=1e-9)  # between the fences: its own scale
    (far,) = found.outliers
    assert far.value == max(wild, key=abs)
    assert -6 < far.low < -3
    assert 3 < far.high < 6


def test_fences_where_half_of_the_values_are_one(rng):
    amount = np.where(rng.random(1000) < 0.9, 0.0, rng.gamma(5.0, size=1000))
    amount[0] = 1e5
    (axis,) = find_all(amount[:, None], knots=20, knots_at="quantile").axes
    assert np.interp(8.0, axis.knots, axis.places) > 0.2


def test_quantiles_are_those_of_the_pool(rng):
    x = rng.lognormal(size=(400, 1)) * 100
    pool = rng.integers(0, 4, 400)
    for knots_at in ("uniform", "quantile", "data"):
        found = find_all(x, pool=pool, knots=3, knots_at=knots_at)
        wanted = np.quantile(np.repeat(x, pool), np.linspace(0, 1, 101), method="inverted_cdf")
        np.testing.assert_allclose(found.quantiles[0], wanted, rtol=1e-12)


@pytest.mark.parametrize("knots", [3, 10, 40])
def test_quantiles_count_weights_as_repeated_rows(knots, rng):
    x = rng.normal(size=(120, 1)).round(1)
    x[::11] = np.nan
    pool = rng.integers(0, 5, 120)
    one, _ = find(x, pool=pool, knots=knots, knots_at="quantile", starts=(0, 50, 120))
    two, _ = find(np.repeat(x, pool, axis=0), knots=knots, knots_at="quantile")
    np.testing.assert_array_equal(one[0].knots, two[0].knots)


def test_values_of_labelled_rows_and_the_ends_of_the_pool(rng):
    x = rng.normal(size=100).round(2)
    labelled = rng.random(100) < 0.2
    x[np.flatnonzero(labelled)[:2]] = np.nan
    (axis,), _ = find(x[:, None], labelled=labelled, knots_at="data", starts=(0, 10, 100))
    own = x[labelled & ~np.isnan(x)]
    wanted = np.unique(np.concatenate([own, [np.nanmin(x), np.nanmax(x)]]))
    np.testing.assert_array_equal(axis.knots, wanted)
    assert axis.scale is None


@pytest.mark.parametrize("knots_at", ["uniform", "quantile", "data"])
def test_rows_without_weight_do_not_count(knots_at, rng):
    x = rng.normal(size=(80, 1))
    counted = np.arange(80) < 50
    labelled = np.arange(80) % 3 == 0
    x[50:] *= 100
    x[55] = np.nan
    some, missing = find(x, pool=counted, labelled=labelled, knots_at=knots_at)
    alone, _ = find(x[:50], labelled=labelled[:50], knots_at=knots_at)
    np.testing.assert_array_equal(some[0].knots, alone[0].knots)
    assert missing[0] == 0


def test_blocks_without_counted_rows(rng):
    X = rng.normal(size=(30, 2))
    counted = np.arange(30) >= 10
    axes, missing = find(X, pool=counted, categorical=[1], starts=(0, 5, 30))
    assert axes[0].knots[0] == X[10:, 0].min()
    np.testing.assert_array_equal(axes[1].knots, np.unique(X[10:, 1]))
    assert missing.tolist() == [0, 0]


def test_levels_of_categories(rng):
    X = np.column_stack([rng.choice([3.0, 7.0, np.nan], 50), rng.random(50)])
    axes, _ = find(X, categorical=[0], starts=(0, 2, 50))
    assert axes[0].category
    assert axes[0].knots.tolist() == [3.0, 7.0]
    assert axes[0].levels == ()
    assert not axes[1].category


def test_levels_have_the_names_of_the_code_book():
    soil = ["sand", None, "clay", "sand", "peat"]
    rows = open_rows(pa.table({"soil": soil, "rain": [1.0, 2, 3, 4, 5]}))
    counted = np.array([True, True, True, True, False])
    axes, missing = find(rows, categorical=[0], pool=counted, labelled=counted)
    assert axes[0].name == "soil"
    assert len(axes[0].knots) == 2
    assert sorted(axes[0].levels) == ["clay", "sand"]
    book = rows.schema.columns[0].levels
    assert [book[int(code)] for code in axes[0].knots] == list(axes[0].levels)
    assert missing.tolist() == [1, 0]


@pytest.mark.parametrize("knots_at", ["uniform", "quantile", "data"])
def test_columns_that_say_nothing_are_flat(knots_at):
    X = np.column_stack(
        [np.full(6, 4.0), np.full(6, np.nan), np.arange(6.0), [1, 1, 1, np.nan, 1, 1]]
    )
    axes, missing = find(X, labelled=np.arange(6) < 3, knots_at=knots_at)
    assert [axis.flat for axis in axes] == [True, True, False, True]
    assert axes[0].knots.tolist() == [4.0, 4.0]
    assert axes[1].knots.tolist() == [0.0, 0.0]
    assert missing.tolist() == [0, 6, 0, 1]


def test_two_values_next_to_each_other_have_one_segment():
    low, high = 1.0, np.nextafter(1.0, 2.0)
    (axis,), _ = find(np.array([[low], [high]]), knots=50)
    assert axis.knots.tolist() == [low, high]


def test_no_labelled_value_leaves_the_ends():
    X = np.column_stack([np.arange(5.0)])
    X[:2] = np.nan
    (axis,), _ = find(X, labelled=np.arange(5) < 2, knots_at="data")
    assert axis.knots.tolist() == [2.0, 4.0]


def test_large_data_give_quantiles_of_a_part(monkeypatch, rng):
    x = rng.normal(size=(4000, 1))
    exact, _ = find(x, knots=9, knots_at="quantile")
    monkeypatch.setattr(module, "SAMPLE_ROWS", 1000)
    one, _ = find(x, knots=9, knots_at="quantile")
    two, _ = find(x, knots=9, knots_at="quantile", starts=(0, 17, 4000))
    np.testing.assert_array_equal(one[0].knots, two[0].knots)
    assert one[0].knots[[0, -1]].tolist() == [x.min(), x.max()]
    assert (one[0].knots != exact[0].knots).any()
    below = [(x <= knot).mean() for knot in one[0].knots[1:-1]]
    np.testing.assert_allclose(below, np.linspace(0, 1, 9)[1:-1], atol=0.06)


def test_there_are_no_more_knots_than_codes(monkeypatch, rng):
    monkeypatch.setattr(module, "MOST_KNOTS", 40)
    x = rng.normal(size=(300, 1))
    (axis,), _ = find(x, labelled=np.ones(300, dtype=bool), knots_at="data")
    assert len(axis.knots) == 40
    assert np.isin(axis.knots, x).all()
    assert (np.diff(axis.knots) > 0).all()


def test_knots_move_with_units(rng):
    x = rng.normal(size=(90, 1))
    labelled = rng.random(90) < 0.3
    for knots_at in ("uniform", "quantile", "data"):
        one, _ = find(x, labelled=labelled, knots_at=knots_at)
        two, _ = find(4 * x + 1024, labelled=labelled, knots_at=knots_at)
        np.testing.assert_allclose(two[0].knots, 4 * one[0].knots + 1024, rtol=1e-12)


@pytest.mark.parametrize("ends", [(-1e308, 1e308), (0.0, 1e-300)])
def test_ranges_that_cannot_be_divided(ends):
    with refused("column-range", DataError, column="x0", low=ends[0], high=ends[1]):
        find(np.array(ends)[:, None])
