"""Predictive distributions: exact where they can be, equal to slow plain versions elsewhere."""

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import nbinom

from scarce.amounts.predictive import EmpiricalPredictive, GaussianPredictive, exp_less
from scarce.amounts.quantile_models import QuantilePredictive
from scarce.errors import DataError, UsageError
from tests.problems import refused


def test_gaussian_quantiles_and_cdf_against_mpmath():
    law = GaussianPredictive([3.0, -1.0], [2.0, 0.5])
    for level in (1e-12, 0.01, 0.3, 0.5, 0.975, 1 - 1e-9):
        with mpmath.workdps(40):
            z = float(mpmath.sqrt(2) * mpmath.erfinv(2 * mpmath.mpf(level) - 1))
        assert law.quantile(level) == pytest.approx([3 + 2 * z, -1 + 0.5 * z], rel=1e-13)
    with mpmath.workdps(30):
        wanted = [mpmath.ncdf((1.3 - m) / s) for m, s in ((3, 2), (-1, 0.5))]
    assert law.cdf(1.3) == pytest.approx([float(p) for p in wanted], rel=1e-13)


@pytest.mark.parametrize("action", [-40.0, -3.0, 0.0, 1.5, 6.0, 12.0, 100.0])
def test_gaussian_excess_against_mpmath_in_both_tails(action):
    above, below = GaussianPredictive(1.0, 2.0).excess(np.array([action]))
    with mpmath.workdps(60):
        z = (mpmath.mpf(action) - 1) / 2
        right = 2 * (mpmath.npdf(z) - z * mpmath.ncdf(-z))
        left = 2 * (mpmath.npdf(z) + z * mpmath.ncdf(z))
    rel = 1e-15 * float(10 + z**4)  # what subtraction costs in the thin tail
    assert above[0] == pytest.approx(float(right), rel=rel, abs=1e-300)
    assert below[0] == pytest.approx(float(left), rel=rel, abs=1e-300)


def test_sd_zero_is_a_value_known_for_certain():
    law = GaussianPredictive([5.0, 5.0, 5.0], 0.0)
    assert law.quantile(0.01).tolist() == [5, 5, 5]
    assert law.cdf([4.9, 5.0, 5.1]).tolist() == [0, 1, 1]
    above, below = law.excess(np.array([3.0, 5.0, 9.0]))
    assert (above.tolist(), below.tolist()) == ([2, 0, 0], [0, 0, 4])


def plain_quantile(samples, weights, level):
    """The least sample whose cdf reaches the level, by counting in whole numbers."""
    total = sum(weights)
    for y in sorted(set(samples)):
        reached = sum(w for s, w in zip(samples, weights, strict=True) if s <= y)
        if reached * 1000 >= level * total and reached > 0:
            return y
    raise AssertionError


@given(
    st.lists(st.tuples(st.integers(-5, 5), st.integers(0, 4)), min_size=1, max_size=12).filter(
        lambda pairs: any(w for _, w in pairs)
    ),
    st.integers(1, 999),
)
def test_empirical_quantiles_are_exact_with_ties_and_weights(pairs, thousandths):
    samples, weights = zip(*pairs, strict=True)
    wanted = plain_quantile(samples, weights, thousandths)
    shared = EmpiricalPredictive(samples, weights)
    own = EmpiricalPredictive([samples, samples], [weights, weights])
    repeated = EmpiricalPredictive(np.repeat(samples, weights))
    level = thousandths / 1000
    assert shared.quantile(level).tolist() == [wanted]
    assert own.quantile(level).tolist() == [wanted, wanted]
    assert repeated.quantile(level).tolist() == [wanted]


def test_every_decile_of_ten_samples_is_met():
    law = EmpiricalPredictive(np.arange(1, 11))
    assert [float(law.quantile(k / 10)[0]) for k in range(1, 10)] == list(range(1, 10))
    assert law.quantile(0.91).tolist() == [10]
    law = EmpiricalPredictive(np.arange(1, 11), np.full(10, 0.1))  # weights that are rounded
    assert [float(law.quantile(k / 10)[0]) for k in range(1, 10)] == list(range(1, 10))


def test_percentiles_of_a_hundred_are_met_though_7_percent_of_100_is_rounded_up():
    assert 0.07 * 100 > 7
    law = EmpiricalPredictive(np.arange(1, 101))
    assert [float(law.quantile(k / 100)[0]) for k in range(1, 100)] == list(range(1, 100))


def test_a_sample_of_weight_0_is_never_the_answer():
    law = EmpiricalPredictive([0.0, 1.0, 2.0], [0, 1, 0])
    assert [float(law.quantile(u)[0]) for u in (1e-17, 0.5, 1 - 1e-16)] == [1, 1, 1]


def test_shifted_samples_are_the_samples_added(rng):
    samples, shift = rng.normal(size=30), rng.normal(size=7) * 1e3
    weights = rng.integers(0, 4, 30)
    short = EmpiricalPredictive(samples, weights, shift=shift)
    long = EmpiricalPredictive(samples + shift[:, None], weights)
    action = shift + rng.normal(size=7)
    for level in (0.05, 0.5, 0.77):
        assert short.quantile(level) == pytest.approx(long.quantile(level), abs=1e-12)
        assert (short.cdf(short.quantile(level)) >= level - 1e-15).all()
    assert short.cdf(action).tolist() == long.cdf(action).tolist()
    for one, other in zip(short.excess(action), long.excess(action), strict=True):
        assert one == pytest.approx(other, abs=1e-12)
    assert short.mean() == pytest.approx(long.mean(), rel=1e-14)
    assert short.variance() == pytest.approx(long.variance(), rel=1e-10)
    rate = np.full(7, 0.7)
    assert short.cumulant(rate) == pytest.approx(long.cumulant(rate), rel=1e-10)


def test_empirical_moments_against_numpy(rng):
    y, w = rng.gamma(2, size=(4, 25)), rng.uniform(0, 2, (4, 25))
    law = EmpiricalPredictive(y, w)
    mean = np.average(y, axis=1, weights=w)
    assert law.mean() == pytest.approx(mean, rel=1e-14)
    squares = np.average((y - mean[:, None]) ** 2, axis=1, weights=w)
    assert law.variance() == pytest.approx(squares, rel=1e-12)
    wanted = np.log(np.average(np.exp(1.3 * (y - mean[:, None])), axis=1, weights=w))
    assert law.cumulant(np.array([1.3])) == pytest.approx(wanted, rel=1e-12)


def test_cumulants_neither_overflow_nor_cancel():
    law = EmpiricalPredictive([0.0, 1.0, 5.0])
    far = law.cumulant(np.array([1e4]))
    assert far == pytest.approx(1e4 * 3 - np.log(3), rel=1e-12)
    near = law.cumulant(np.array([1e-9]))
    assert near == pytest.approx(0.5e-18 * law.variance(), rel=1e-8)


def test_taking_rows_keeps_them(rng):
    y = rng.normal(size=(6, 5))
    for law in (
        EmpiricalPredictive(y, rng.uniform(1, 2, (6, 5))),
        EmpiricalPredictive(y[0], shift=y[:, 0]),
        GaussianPredictive(y[:, 0], np.abs(y[:, 1])),
    ):
        part = law.take(slice(2, 5))
        assert part.quantile(0.3).tolist() == law.quantile(0.3)[2:5].tolist()
        assert part.mean().tolist() == law.mean()[2:5].tolist()


def test_a_level_per_row(rng):
    level = np.array([0.1, 0.5, 0.9])
    for law in (
        GaussianPredictive([0.0, 1.0, 2.0], 1.0),
        EmpiricalPredictive(rng.normal(size=(3, 20))),
        EmpiricalPredictive(rng.normal(size=20), shift=[0.0, 1.0, 2.0]),
    ):
        one_by_one = [law.quantile(u)[row] for row, u in enumerate(level)]
        assert law.quantile(level).tolist() == one_by_one


def test_gaussian_points_integrate_polynomials(rng):
    law = GaussianPredictive([0.0, 2.0], [1.0, 3.0])
    y, weight = law.nodes(np.array([[0.3, 99.0], [-1e9, 2.0]]))
    for power, wanted in (
        (0, [1, 1]),
        (1, [0, 2]),
        (2, [1, 13]),
        (4, [3, 16 + 6 * 4 * 9 + 3 * 81]),
    ):
        assert (weight * y**power).sum(axis=1) == pytest.approx(wanted, rel=1e-9, abs=1e-9)


@pytest.mark.parametrize("x", [-30.0, -0.51, -0.49, -1e-5, 1e-12, 0.3, 0.499, 0.501, 2.0, 700.0])
def test_exp_less_against_mpmath(x):
    with mpmath.workdps(50):
        wanted = float(mpmath.exp(mpmath.mpf(x)) - 1 - mpmath.mpf(x))
    assert exp_less(np.array([x]))[0] == pytest.approx(wanted, rel=2e-15)


def test_exp_less_of_infinity_is_infinite():
    assert exp_less(np.array([np.inf, -np.inf, 1e4])).tolist() == [np.inf, np.inf, np.inf]


def test_a_discrete_law_of_one_s_own_is_values_and_their_probabilities():
    law = nbinom(3, 0.2)
    values = np.arange(400)
    held = EmpiricalPredictive(values, weights=law.pmf(values))
    assert held.mean() == pytest.approx([law.mean()], rel=1e-12)
    assert held.variance() == pytest.approx([law.var()], rel=1e-10)
    for y in (-1, 0, 3.5, 12, 60):
        assert held.cdf(y) == pytest.approx([law.cdf(y)], rel=1e-12, abs=1e-300)
    for level in (0.001, 0.2, 0.5, 0.9, 0.9999):
        assert held.quantile(level).tolist() == [law.ppf(level)]
    above, below = held.excess(np.array([10.0]))
    assert above == pytest.approx([law.expect(lambda y: np.maximum(y - 10, 0))], rel=1e-9)
    assert below == pytest.approx([law.expect(lambda y: np.maximum(10 - y, 0))], rel=1e-9)


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (
            lambda: GaussianPredictive([1.0], [-2.0]),
            ("number-range", {"argument": "sd", "value": -2.0, "row": 0}),
        ),
        (
            lambda: GaussianPredictive([1.0, np.nan], 1.0),
            ("not-finite", {"argument": "mean", "count": 1, "row": 1}),
        ),
        (
            lambda: GaussianPredictive([1.0], [np.inf]),
            ("not-finite", {"argument": "sd", "count": 1, "rows": 1}),
        ),
        (
            lambda: GaussianPredictive([1.0, 2.0, 3.0], [1.0, 2.0]),
            ("length-mismatch", {"name": "sd", "found": 2, "other": "mean", "rows": 3}),
        ),
        (lambda: GaussianPredictive([], 1.0), ("no-rows", {"argument": "mean"})),
        (
            lambda: GaussianPredictive(["a"], 1.0),
            ("not-a-number", {"value": "'a'", "row": 0}),
        ),
        (
            lambda: EmpiricalPredictive([1.0, np.nan]),
            ("not-finite", {"argument": "samples", "count": 1}),
        ),
        (lambda: EmpiricalPredictive([]), ("not-a-table", {"argument": "samples"})),
        (lambda: EmpiricalPredictive([1.0, 2.0], [1.0]), ("shape-mismatch", {})),
        (
            lambda: EmpiricalPredictive([1.0, 2.0], [1.0, -1.0]),
            ("number-range", {"argument": "weights", "value": -1.0}),
        ),
        (
            lambda: EmpiricalPredictive([1.0, 2.0], [0.0, 0.0]),
            ("no-weight", {"argument": "weights", "row": 0}),
        ),
        (
            lambda: EmpiricalPredictive(np.ones((3, 2)), shift=[1.0, 2.0]),
            ("length-mismatch", {"found": 3, "shift": "shift", "rows": 2}),
        ),
        (
            lambda: EmpiricalPredictive(["1", "2"]),
            ("not-a-number", {"argument": "samples", "value": "'1'", "row": 0}),
        ),
        (
            lambda: EmpiricalPredictive([["1", "2"]]),
            ("not-a-number", {"argument": "samples", "value": "'1'", "row": 0}),
        ),
        (
            lambda: EmpiricalPredictive([[1.0], [None]]),
            ("not-finite", {"argument": "samples", "count": 1, "row": 1}),
        ),
        (
            lambda: EmpiricalPredictive([1.0, 2.0], [[1.0, "x"]]),
            ("not-a-number", {"argument": "weights", "value": "'x'", "row": 0}),
        ),
        (
            lambda: EmpiricalPredictive([[1.0, 2.0], [3.0]]),
            ("not-a-table", {"argument": "samples"}),
        ),
        (lambda: EmpiricalPredictive([[1j, 2.0]]), ("not-a-number", {"argument": "samples"})),
        (
            lambda: EmpiricalPredictive([1.0, 2.0], "ab"),
            ("not-a-number", {"argument": "weights", "value": "'ab'", "row": 0}),
        ),
        (
            lambda: EmpiricalPredictive(np.ones((2, 2, 2))),
            ("not-a-table", {"argument": "samples", "shape": (2, 2, 2)}),
        ),
        (
            lambda: EmpiricalPredictive(np.ma.masked_array([[1.0, 2.0]], [[0, 1]])),
            ("not-finite", {"argument": "samples", "count": 1}),
        ),
        (
            lambda: EmpiricalPredictive(np.ma.masked_array([1.0, 2.0], [0, 1])),
            ("not-finite", {"argument": "samples", "count": 1}),
        ),
        (
            lambda: EmpiricalPredictive([1.0, 2.0], [1e308, 1e308]),
            ("weights-overflow", {"argument": "weights", "row": 0}),
        ),
        (
            lambda: GaussianPredictive([[1.0, 2.0], [3.0]], 1.0),
            ("not-a-column", {"argument": "mean"}),
        ),
        (lambda: GaussianPredictive(1.0, 1j), ("not-a-number", {"argument": "sd"})),
        (
            lambda: GaussianPredictive(np.ma.masked, 1.0),
            ("not-finite", {"argument": "mean", "count": 1, "rows": 1}),
        ),
    ],
)
def test_what_is_no_distribution_is_refused(make, says):
    with refused(says[0], DataError, **says[1]):
        make()


def test_what_the_user_changes_later_changes_no_law():
    mean, sd, samples, shift = np.zeros(2), np.ones(2), np.array([[1.0, 2.0]]), np.zeros(2)
    gaussian, grid = GaussianPredictive(mean, sd), QuantilePredictive([0.1, 0.9], samples)
    flat = QuantilePredictive([0.1, 0.9], samples[0])
    held, moved = EmpiricalPredictive(samples), EmpiricalPredictive([1.0], shift=shift)
    for array in (mean, sd, samples, shift):
        array += 90
    assert gaussian.mean().tolist() == [0, 0]
    assert gaussian.variance().tolist() == [1, 1]
    assert (held.mean().tolist(), moved.mean().tolist()) == ([1.5], [1, 1])
    assert grid.quantile(0.9).tolist() == flat.quantile(0.9).tolist() == [2]


@pytest.mark.parametrize("level", [0.0, 1.0, -0.1, 1.5, np.nan])
def test_levels_without_a_quantile_are_refused(level):
    for law in (GaussianPredictive(0.0, 1.0), EmpiricalPredictive([1.0, 2.0])):
        with refused("level-range", UsageError):
            law.quantile(level)


def test_levels_of_another_length_are_refused():
    with refused("length-mismatch", UsageError, rows=3, shape=(2,)):
        GaussianPredictive(np.zeros(3), 1.0).quantile([0.1, 0.2])


LAWS = [
    GaussianPredictive([0.0, 1.0, 2.0], 1.0),
    EmpiricalPredictive([1.0, 2.0, 3.0], shift=[0.0, 1.0, 2.0]),
    EmpiricalPredictive([[1.0, 2.0], [2.0, 3.0], [4.0, 5.0]]),
    QuantilePredictive([0.1, 0.9], [[1.0, 2.0], [2.0, 3.0], [3.0, 4.0]]),
]


@pytest.mark.parametrize("law", LAWS)
def test_the_cdf_of_a_missing_outcome_is_missing_and_of_infinity_0_or_1(law):
    found = law.cdf([np.nan, np.inf, -np.inf])
    assert np.isnan(found).tolist() == [True, False, False]
    assert found[1:].tolist() == [1, 0]
    assert np.isnan(law.cdf(None)).all()
    assert law.cdf([2.0, None, 3.0])[[0, 2]].tolist() == law.cdf([2.0, 0.0, 3.0])[[0, 2]].tolist()


@pytest.mark.parametrize("law", LAWS)
@pytest.mark.parametrize(
    ("given", "says"),
    [
        ("a", ("not-a-number", {"value": "'a'", "row": 0})),
        ("0.5", ("not-a-number", {"value": "'0.5'", "row": 0})),
        (["a", "b", "c"], ("not-a-number", {"value": "'a'", "row": 0})),
        ([], ("length-mismatch", {"shape": (0,), "rows": 3})),
        ([0.1, 0.2], ("length-mismatch", {"shape": (2,), "rows": 3})),
        ([[0.1, 0.2, 0.3]], ("not-a-column", {"shape": (1, 3)})),
        ([[0.1, 0.2], [0.3]], ("not-a-column", {})),
        (0.5j, ("not-a-number", {"kind": "complex numbers"})),
        ({}, ("not-a-number", {"row": 0})),
    ],
)
def test_what_is_no_level_or_outcome_is_refused_by_all(law, given, says):
    for ask, name in ((law.quantile, "level"), (law.cdf, "y")):
        with refused(says[0], argument=name, **says[1]):
            ask(given)


@pytest.mark.parametrize("law", LAWS)
def test_a_missing_level_has_no_quantile(law):
    for level in (None, np.nan, np.ma.masked, [0.5, None, 0.5]):
        with refused("level-range", UsageError):
            law.quantile(level)


def test_one_row_answers_several_levels_and_outcomes():
    for law in (
        GaussianPredictive(0.0, 1.0),
        EmpiricalPredictive([-1.0, 0.0, 1.0]),
        QuantilePredictive([0.1, 0.9], [-1.0, 1.0]),
    ):
        assert law.quantile([0.2, 0.5, 0.8]).shape == (3,)
        assert law.cdf([-0.5, 0.0]).shape == (2,)


@pytest.mark.parametrize(
    ("law", "shown"),
    [
        (
            GaussianPredictive([100, 40], [20, 5]),
            "GaussianPredictive(2 rows, mean 40 to 100, sd 5 to 20)",
        ),
        (GaussianPredictive(1.5, 2.0), "GaussianPredictive(1 row, mean 1.5, sd 2)"),
        (EmpiricalPredictive([1, 2, 3]), "EmpiricalPredictive(1 row, 3 samples)"),
        (
            EmpiricalPredictive(np.ones((1200, 2)), [1.0, 2.0]),
            "EmpiricalPredictive(1,200 rows, 2 samples each, weighted)",
        ),
        (
            EmpiricalPredictive([1, 2, 3], shift=[1, 2]),
            "EmpiricalPredictive(2 rows, 3 samples shared)",
        ),
        (
            QuantilePredictive([0.1, 0.5, 0.9], [1, 2, 3]),
            "QuantilePredictive(1 row, 3 levels 0.1 to 0.9, exponential tails)",
        ),
    ],
)
def test_a_predictive_says_what_it_holds(law, shown):
    assert repr(law) == shown


def test_a_search_begins_at_samples_that_have_weight():
    weights = np.zeros(100)
    weights[[3, 50, 97]] = [5.0, 0.001, 2.0]
    assert sorted(EmpiricalPredictive(np.arange(100.0), weights).trials()[0]) == [3, 50, 97]


def test_no_level_at_all_is_refused_for_one_row_too():
    for ask in (GaussianPredictive(0.0, 1.0).cdf, GaussianPredictive(0.0, 1.0).quantile):
        with refused("length-mismatch", UsageError, shape=(0,)):
            ask([])
