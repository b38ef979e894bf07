"""The number with the least expected cost: closed forms, quadrature, search, refusals."""

import tracemalloc
import warnings

import mpmath
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.optimize import minimize_scalar
from scipy.stats import gamma, norm, poisson
from sklearn.metrics import mean_pinball_loss

from scarce.amounts.predictive import EmpiricalPredictive, GaussianPredictive
from scarce.amounts.quantile_models import QuantilePredictive
from scarce.amounts.regression import (
    Linex,
    OwnCost,
    Pinball,
    decide_regression,
    expected_regression_cost,
)
from scarce.errors import DataError, DataWarning, UsageError
from tests.problems import refused, warned


def laws(rng, n=6):
    mean, sd = rng.normal(10, 5, n), rng.uniform(0.5, 4, n)
    levels = np.linspace(0.05, 0.95, 13)
    return {
        "gaussian": GaussianPredictive(mean, sd),
        "empirical": EmpiricalPredictive(rng.normal(10, 3, (n, 41)), rng.integers(0, 3, (n, 41))),
        "shifted": EmpiricalPredictive(rng.normal(0, 3, 41), shift=mean),
        "grid": QuantilePredictive(levels, mean[:, None] + sd[:, None] * norm.ppf(levels)),
        "outside": Gamma(rng.uniform(1, 9, n)),
    }


class Gamma:
    """A predictive of one's own: three methods and nothing else."""

    def __init__(self, shape):
        self.law = gamma(shape)

    def mean(self):
        return self.law.mean()

    def quantile(self, level):
        return self.law.ppf(level)

    def cdf(self, y):
        return self.law.cdf(y)


LAWS = ["gaussian", "empirical", "shifted", "grid", "outside"]
under_over = st.floats(0.01, 100)


# ---- closed forms ----


def test_squared_gives_the_mean_and_absolute_the_median(rng):
    for law in laws(rng).values():
        assert decide_regression(law, "squared") == pytest.approx(law.mean())
        assert decide_regression(law, "absolute") == pytest.approx(law.quantile(0.5))


@given(st.floats(-1e3, 1e3), st.floats(1e-3, 1e3), under_over, under_over)
def test_the_notes_formula_has_the_right_sign_and_order(mean, sd, under, over):
    # 003 section 0.6: f + sigma Phi^-1(c1 / (c1 + c2)), c1 per unit of truth above the action.
    found = decide_regression(GaussianPredictive(mean, sd), Pinball(under=under, over=over))
    wanted = mean + sd * norm.ppf(under / (under + over))
    assert found == pytest.approx([wanted], rel=1e-9, abs=1e-9 * sd)


@pytest.mark.parametrize(("under", "over"), [(1, 1), (9, 1), (1, 9), (1000, 1)])
def test_pinball_against_a_numeric_minimum(under, over):
    def cost(a):
        density = norm(3, 2).pdf
        y = np.linspace(-17, 23, 40_001)
        return np.trapezoid(
            (under * np.maximum(y - a, 0) + over * np.maximum(a - y, 0)) * density(y), y
        )

    found = decide_regression(GaussianPredictive(3.0, 2.0), Pinball(under=under, over=over))[0]
    assert found == pytest.approx(minimize_scalar(cost, (-5, 12)).x, abs=2e-4)
    expected = expected_regression_cost(GaussianPredictive(3.0, 2.0), Pinball(under, over), found)
    assert expected == pytest.approx([cost(found)], rel=1e-6)


def test_newsvendor_least_cost_is_density_at_the_quantile():
    # Closed form of the newsvendor: least cost = (under + over) sd phi(z).
    law, cost = GaussianPredictive(100.0, 20.0), Pinball(under=3, over=1)
    least = expected_regression_cost(law, cost, decide_regression(law, cost))
    assert least == pytest.approx([4 * 20 * norm.pdf(norm.ppf(0.75))], rel=1e-13)


def test_newsvendor_with_poisson_demand_is_exact():
    stock = np.arange(200)
    law = EmpiricalPredictive(stock, poisson(30).pmf(stock))
    found = decide_regression(law, Pinball(under=7, over=2))
    assert found.tolist() == [poisson(30).ppf(7 / 9)]


def test_extreme_ratios_keep_the_small_tail():
    law = GaussianPredictive(0.0, 1.0)
    up = decide_regression(law, Pinball(under=1e18, over=1))
    assert np.isfinite(up).all()
    assert up == -decide_regression(law, Pinball(under=1, over=1e18))
    assert up == pytest.approx([-norm.ppf(1e-18)], rel=1e-12)


def test_linex_against_mpmath():
    for rate in (0.3, -1.2, 2.5):
        found = decide_regression(GaussianPredictive(4.0, 1.5), Linex(rate=rate))
        assert found == pytest.approx([4 + rate * 1.5**2 / 2], rel=1e-14)
        cost = expected_regression_cost(GaussianPredictive(4.0, 1.5), Linex(rate, 3.0), 5.0)
        with mpmath.workdps(30):
            wanted = mpmath.quad(
                lambda z, r=rate: (
                    3 * (mpmath.exp(r * (1.5 * z - 1)) - r * (1.5 * z - 1) - 1) * mpmath.npdf(z)
                ),
                list(range(-15, 16, 3)),
            )
        assert cost == pytest.approx([float(wanted)], rel=1e-13)


def test_linex_over_samples_is_the_log_mean_exp(rng):
    y = rng.gamma(2, size=50)
    found = decide_regression(EmpiricalPredictive(y), Linex(rate=0.8))
    assert found == pytest.approx([np.log(np.mean(np.exp(0.8 * y))) / 0.8], rel=1e-13)


# ---- properties ----


@pytest.mark.parametrize("kind", LAWS)
def test_scaling_the_cost_moves_no_action(kind, rng):
    law = laws(rng)[kind]
    for small, large in (
        (Pinball(2, 1), Pinball(2e6, 1e6)),
        (Linex(0.1, 1), Linex(0.1, 1e6)),
        (lambda y, a: np.abs(y - a) ** 1.5, lambda y, a: 1024 * np.abs(y - a) ** 1.5),
    ):
        one, other = decide_regression(law, small), decide_regression(law, large)
        assert one == pytest.approx(other, rel=1e-12)


@pytest.mark.parametrize("kind", LAWS)
def test_pinball_one_to_one_is_absolute_and_half_of_the_gap(kind, rng):
    law = laws(rng)[kind]
    assert (decide_regression(law, Pinball(5, 5)) == decide_regression(law, "absolute")).all()


@pytest.mark.parametrize("kind", LAWS)
def test_linex_of_small_rate_is_squared(kind, rng):
    law = laws(rng)[kind]
    assert decide_regression(law, Linex(1e-6)) == pytest.approx(law.mean(), abs=2e-5)
    action = law.mean() + 0.7
    squared = expected_regression_cost(law, "squared", action)
    linex = expected_regression_cost(law, Linex(1e-6, scale=2e12), action)
    assert linex == pytest.approx(squared, rel=1e-4)


def test_shifting_the_world_shifts_the_action(rng):
    def cost(y, a):
        return np.where(y > a, 4.0, 1.0) * (y - a) ** 2

    samples = rng.normal(size=(3, 30))
    for rule in ("squared", "absolute", Pinball(3, 1), Linex(0.5), cost):
        for here, there in (
            (GaussianPredictive([1.0, 2.0, 3.0], 2.0), GaussianPredictive([51.0, 52.0, 53.0], 2.0)),
            (EmpiricalPredictive(samples), EmpiricalPredictive(samples + 50)),
        ):
            moved = decide_regression(there, rule) - decide_regression(here, rule)
            assert moved == pytest.approx([50, 50, 50], abs=3e-6)


def test_the_three_predictives_agree_when_dense():
    # Samples at n midpoints are off by order 1/n, lines between n quantiles by 1/n^2 in the middle.
    truth, cost = GaussianPredictive(7.0, 3.0), Pinball(under=2, over=1)
    wanted = decide_regression(truth, cost)[0]
    for n in (100, 1000, 10_000):
        levels = (np.arange(n) + 0.5) / n
        values = 7 + 3 * norm.ppf(levels)
        samples = decide_regression(EmpiricalPredictive(values), cost)[0]
        lines = decide_regression(QuantilePredictive(levels, values), cost)[0]
        assert abs(samples - wanted) < 3 * 2.8 * 0.5 / n * 1.01  # sd / density, half a step
        assert abs(lines - wanted) < 3 * 4 / n**2


# ---- any cost, by quadrature ----


def lopsided(y, a):
    return 3 * np.maximum(y - a, 0) + 1 * np.maximum(a - y, 0)


@pytest.mark.parametrize("kind", LAWS)
def test_a_function_finds_what_the_closed_form_says(kind, rng):
    law = laws(rng)[kind]
    found, wanted = decide_regression(law, lopsided), decide_regression(law, Pinball(3, 1))
    assert found == pytest.approx(wanted, abs=2e-6)
    at = expected_regression_cost(law, lopsided, wanted)
    assert at == pytest.approx(expected_regression_cost(law, Pinball(3, 1), wanted), rel=2e-9)


@pytest.mark.parametrize("kind", LAWS)
def test_the_action_is_the_least_of_a_dense_list(kind, rng):
    law = laws(rng)[kind]

    def cost(y, a):
        return np.where(y > a, 2 + (y - a) ** 1.5, 0.5 * (a - y))

    best = expected_regression_cost(law, cost, decide_regression(law, cost))
    listed = np.linspace(0, 25, 40)
    around = decide_regression(law, cost, actions=listed)
    assert (best <= expected_regression_cost(law, cost, around) * (1 + 1e-9)).all()


def test_a_function_against_mpmath():
    def cost(y, a):
        return np.where(y > a, (y - a) ** 3 + 1, 0.3 * (a - y))

    found = expected_regression_cost(GaussianPredictive(2.0, 1.5), cost, 2.7)
    with mpmath.workdps(20):
        wanted = mpmath.quad(
            lambda y: 0.3 * (2.7 - y) * mpmath.npdf(y, 2, 1.5), [-12, -4, 0, 2.7]
        ) + mpmath.quad(lambda y: ((y - 2.7) ** 3 + 1) * mpmath.npdf(y, 2, 1.5), [2.7, 3, 4, 6, 15])
    assert found == pytest.approx([float(wanted)], rel=1e-9)


def test_a_cusp_is_said_to_be_rough_by_about_its_error():
    def cusp(y, a):
        return np.sqrt(np.abs(y - a))

    with warned("rough-integral") as said:
        found = expected_regression_cost(GaussianPredictive(0.0, 1.0), cusp, 0.0)[0]
    wanted = 2**0.25 * float(mpmath.gamma(0.75)) / np.sqrt(np.pi)
    stated = said[0].fields["error"]
    assert abs(found / wanted - 1) < 3 * stated


def test_a_jump_at_the_action_is_met_exactly():
    # -10 phi(z) / sd - Phi(-z) + 0.2 Phi(z) = 0 at the best action.
    def fee(y, a):
        return np.where(y > a, 10 + (y - a), 0.2 * (a - y))

    z = (decide_regression(GaussianPredictive(40.0, 5.0), fee)[0] - 40) / 5
    assert -2 * norm.pdf(z) - norm.sf(z) + 0.2 * norm.cdf(z) == pytest.approx(0, abs=1e-7)


def test_a_cost_with_two_dips_gets_the_deeper_one():
    def dips(y, a):
        return np.minimum(np.abs(a - y + 3), np.abs(a - y - 3) + 0.5) + 0 * y

    law = GaussianPredictive([0.0, 10.0], [0.3, 0.3])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        assert decide_regression(law, dips) == pytest.approx([-3, 7], abs=0.01)


def test_actions_far_outside_the_predictive_are_found():
    law = GaussianPredictive([100.0, -50.0], [2.0, 1.0])
    assert decide_regression(law, lambda y, a: (y - 10 * a) ** 2) == pytest.approx(
        [10, -5], rel=1e-6
    )
    sure = GaussianPredictive([100.0, 0.0], 0.0)
    found = decide_regression(sure, lambda y, a: (y - 2 * a) ** 2)
    assert found == pytest.approx([50, 0], abs=1e-5)


def test_kinks_make_a_jump_elsewhere_exact_and_their_absence_is_said():
    def fine(y, a):
        return np.where(y > a + 2, 100.0, 0.0) + (a - 0.0)

    def kinks(a):
        return [a + 2]

    law = GaussianPredictive(0.0, 1.0)
    with warned("rough-integral", fixed="kinks"):
        decide_regression(law, fine)
    found = expected_regression_cost(law, fine, 0.5, kinks=kinks)
    assert found == pytest.approx([100 * norm.sf(2.5) + 0.5], rel=1e-9)
    best = decide_regression(law, fine, kinks=kinks)[0]
    assert 100 * norm.pdf(best + 2) == pytest.approx(1, rel=1e-6)
    fixed = expected_regression_cost(law, lambda y, a: (y > 1.3) * 1.0, 0.0, kinks=[1.3])
    assert fixed == pytest.approx([norm.sf(1.3)], rel=1e-9)


def test_columns_reach_the_function_by_row(rng):
    n = 5000  # several pieces
    law = GaussianPredictive(rng.normal(size=n), rng.uniform(0.5, 2, n))
    under, over = rng.uniform(0.5, 5, (2, n))

    def cost(y, a, under, over):
        return under * np.maximum(y - a, 0) + over * np.maximum(a - y, 0)

    found = decide_regression(law, cost, columns={"under": under, "over": over})
    assert found == pytest.approx(decide_regression(law, Pinball(under, over)), abs=1e-6)


def test_an_expected_cost_that_falls_for_ever_is_refused():
    with refused("no-best-action", UsageError):
        decide_regression(GaussianPredictive(0.0, 1.0), lambda y, a: y - a)


@pytest.mark.parametrize(
    ("law", "middle"),
    [
        (GaussianPredictive([100.0, 3.0], [20.0, 0.0]), [100.0, 3.0]),
        (EmpiricalPredictive([1.0, 2.0, 9.0], shift=[0.0, 1.0]), [2.0, 3.0]),
        (QuantilePredictive([0.1, 0.5, 0.9], [[1.0, 2.0, 9.0]]), [2.0]),
    ],
)
@pytest.mark.parametrize(
    "cost", [lambda y, a: 1.0 + 0 * y, lambda y, a: y**2, lambda y, a: y - 100, lambda y, a: 0 * y]
)
def test_a_cost_that_does_not_use_the_action_is_said_and_the_middle_returned(law, middle, cost):
    with pytest.warns(DataWarning) as said:
        assert decide_regression(law, cost) == pytest.approx(middle, abs=1e-12)
    assert said[0].message.args[0].code == "flat-cost"
    assert said[0].filename == __file__


def test_one_action_as_good_as_all_is_no_news_where_another_row_differs():
    def cost(y, a, used):
        return used * (y - a) ** 2

    law = GaussianPredictive([5.0, 6.0], 1.0)
    with warned("flat-cost"):
        found = decide_regression(law, cost, columns={"used": [1.0, 0.0]})
    assert found == pytest.approx([5, 6], abs=1e-6)
    tiny = decide_regression(law, cost, columns={"used": 1e-200})  # small is not nothing
    assert tiny == pytest.approx([5, 6], abs=1e-6)


def test_the_best_sample_is_met_whatever_the_weights():
    def van(y, a):
        return np.where(y > a, 16 + 3 * (y - a), a - y)

    law = EmpiricalPredictive([7.0, 9.0, 28.0], [17, 9, 6])
    found = decide_regression(law, van)
    assert found.tolist() == [9.0]
    # By hand: 17 of 32 cost 2, 6 of 32 cost 16 + 57; at 28, 21, 19 and nothing.
    assert expected_regression_cost(law, van, found) == pytest.approx([(17 * 2 + 6 * 73) / 32])


@pytest.mark.parametrize("shape", ["shared", "own", "shifted", "repeated"])
def test_no_sample_is_cheaper_than_the_action_found(shape):
    rng = np.random.default_rng(8)

    def van(y, a, fee):
        return np.where(y > a, fee + 3 * (y - a), a - y)

    several = shape in ("own", "repeated")
    for _ in range(2 if several else 50):
        m, n = int(rng.integers(4, 20)), 200 if several else 1
        samples, weights = rng.normal(size=(n, m)), rng.uniform(0, 1, (n, m))
        weights[:, 1:][rng.uniform(size=(n, m - 1)) < 0.2] = 0
        times = 20 if shape == "repeated" else 1  # more than 64 samples, few distinct, some rare
        weights **= 6 if shape == "repeated" else 1
        shift = np.arange(3.0) if shape == "shifted" else None
        law = EmpiricalPredictive(np.tile(samples, times), np.tile(weights, times), shift=shift)
        columns = {"fee": rng.uniform(0, 40 if shape == "repeated" else 4, law.n_rows)}
        best = decide_regression(law, van, columns=columns)
        every = samples + (0 if shift is None else shift[:, None])
        cost = van(every[:, None, :], every[:, :, None], columns["fee"][:, None, None])
        least = (cost * weights[:, None, :]).sum(axis=2) / weights.sum(axis=1)[:, None]
        found = expected_regression_cost(law, van, best, columns=columns)
        assert (found <= least.min(axis=1) * (1 + 1e-12)).all()


def test_a_discrete_law_of_one_s_own_under_a_cost_of_one_s_own():
    values = np.arange(61)
    pmf = poisson(22).pmf(values)

    def crates(y, a):
        return 5.0 * np.ceil(np.maximum(a, 0) / 6) + 9 * np.maximum(y - a, 0)

    table = [(crates(values, a) * pmf).sum() / pmf.sum() for a in values]
    found = decide_regression(EmpiricalPredictive(values, weights=pmf), crates, actions=values)
    assert found.tolist() == [values[np.argmin(table)]]
    free = decide_regression(EmpiricalPredictive(values, weights=pmf), crates)
    cost = expected_regression_cost(EmpiricalPredictive(values, weights=pmf), crates, free)
    assert cost <= min(table) * (1 + 1e-12)


# ---- numbers too large ----


def test_an_expected_cost_beyond_all_numbers_is_said():
    law = GaussianPredictive([100.0, 100.0], [0.1, 20.0])
    with warned("infinite-cost", rows="1 row", row=1, action=100.0):
        found = expected_regression_cost(law, Linex(100.0), 100.0)
    assert np.isinf(found).tolist() == [False, True]


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("cost", ["squared", Pinball(3, 1), lopsided])
def test_a_huge_action_costs_much_without_foreign_warnings(kind, cost, rng):
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warnings.filterwarnings("ignore", "The expected cost", DataWarning)
        found = expected_regression_cost(laws(rng)[kind], cost, 1.7e308)
    assert (found > 1e307).all()


def test_of_a_list_that_costs_more_than_a_number_holds_none_is_best():
    law = GaussianPredictive([0.0, 100.0], [0.1, 20.0])
    with refused("no-best-action", UsageError, count=2, row=1):
        decide_regression(law, Linex(100.0), actions=[90.0, 100.0])
    # One that is finite is better than any that is not.
    mixed = decide_regression(law.take([0]), Linex(100.0), actions=[-9.0, 1.0])
    assert mixed.tolist() == [1.0]


def test_an_infinite_best_action_is_refused():
    with refused("overflow", UsageError, row=0):
        decide_regression(GaussianPredictive(0.0, 1e200), Linex(1e100))


def test_a_cost_that_forbids_an_action_may_be_infinite():
    def never_below_3(y, a):
        return np.where(a < 3, np.inf, (y - a) ** 2)

    law = GaussianPredictive(0.0, 1.0)
    assert decide_regression(law, never_below_3, actions=[0, 1, 4, 5]).tolist() == [4]
    with warned("infinite-cost"):
        assert np.isinf(expected_regression_cost(law, never_below_3, 1.0)).all()


# ---- lists of actions ----


@pytest.mark.parametrize("kind", LAWS)
@pytest.mark.parametrize("cost", ["squared", "absolute", Pinball(3, 1), Linex(0.1), lopsided])
def test_of_a_list_the_cheapest_is_taken(kind, cost, rng):
    law, listed = laws(rng)[kind], [18.0, 0.0, 6.0, 12.0]
    table = np.array([expected_regression_cost(law, cost, a) for a in sorted(listed)])
    wanted = np.sort(listed)[table.argmin(axis=0)]
    assert decide_regression(law, cost, actions=listed).tolist() == wanted.tolist()


def test_of_equally_good_actions_the_smallest():
    law = GaussianPredictive(0.0, 1.0)
    assert decide_regression(law, "squared", actions=[2.0, -2.0]).tolist() == [-2.0]


def test_a_free_side_is_fine_with_a_list():
    law = GaussianPredictive(5.0, 1.0)
    assert decide_regression(law, Pinball(1, 0), actions=[0, 5, 50]).tolist() == [50]
    with refused("no-best-action", UsageError, argument="over", row=0):
        decide_regression(law, Pinball(1, 0))
    assert expected_regression_cost(law, Pinball(1, 0), 5.0) == pytest.approx([norm.pdf(0)])


# ---- outcomes ----


def test_the_pinball_action_costs_least_in_the_world():
    rng = np.random.default_rng(3)
    n = 20_000
    law = GaussianPredictive(rng.normal(100, 30, n), rng.uniform(5, 30, n))
    truth = law.centre + law.sd * rng.normal(size=n)
    cost = Pinball(under=9, over=1)
    best = decide_regression(law, cost)
    realised = {name: cost(truth, a).mean() for name, a in (("best", best), ("mean", law.mean()))}
    assert realised["best"] < 0.6 * realised["mean"]
    promised = expected_regression_cost(law, cost, best)
    error = (cost(truth, best) - promised).std() / np.sqrt(n)
    assert realised["best"] == pytest.approx(promised.mean(), abs=4 * error)
    # scikit-learn's loss at the same quantile, in our units
    assert realised["best"] == pytest.approx(10 * mean_pinball_loss(truth, best, alpha=0.9))


def test_costs_of_one_row_serve_all_and_one_predictive_serves_all_costs():
    one = GaussianPredictive(0.0, 1.0)
    assert decide_regression(one, Pinball([1, 1, 9], 1)).shape == (3,)
    assert expected_regression_cost(one, "squared", [0.0, 1.0]) == pytest.approx([1, 2])
    samples = EmpiricalPredictive([1.0, 2.0, 3.0])
    assert decide_regression(samples, Pinball([1, 9], 1)).tolist() == [2, 3]
    grid = QuantilePredictive([0.1, 0.5, 0.9], [1.0, 2.0, 4.0])
    assert decide_regression(grid, Pinball([1, 9], 1)) == pytest.approx([2, 4])


def test_pieces_change_nothing(rng, monkeypatch):
    law = laws(rng, n=50)["grid"]
    for cost in (Pinball(rng.uniform(1, 2, 50), 1), Linex(0.05), lopsided):
        whole = decide_regression(law, cost)
        monkeypatch.setattr("scarce.amounts.regression.CELLS", 1000)
        assert decide_regression(law, cost) == pytest.approx(whole, abs=1e-7)
        monkeypatch.undo()


def test_memory_does_not_grow_with_the_rows(monkeypatch):
    monkeypatch.setattr("scarce.amounts.regression.CELLS", 8192)
    peaks = []
    for n in (400, 1600):
        law = GaussianPredictive(np.linspace(0, 9, n), 1.0)
        tracemalloc.start()
        decide_regression(law, lopsided)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    per_row = (peaks[1] - peaks[0]) / 1200
    assert per_row < 40  # the result and the doubt; the points alone would be 600 bytes a row


# ---- refusals ----


@pytest.mark.parametrize(
    ("make", "kind", "says"),
    [
        (
            lambda: Pinball(-1, 1),
            DataError,
            ("number-range", {"argument": "under", "value": -1.0, "row": 0}),
        ),
        (lambda: Pinball([1, 0], [1, 0]), UsageError, ("no-cost", {"row": 1})),
        (
            lambda: Pinball([1, 2], [1, 2, 3]),
            DataError,
            ("length-mismatch", {"name": "under", "found": 2, "other": "over", "rows": 3}),
        ),
        (lambda: Pinball(np.nan, 1), DataError, ("not-finite", {})),
        (lambda: Linex(0), UsageError, ("no-cost", {})),
        (
            lambda: Linex(1, scale=0),
            UsageError,
            ("number-range", {"argument": "scale", "value": 0.0}),
        ),
    ],
)
def test_costs_that_are_none_are_refused(make, kind, says):
    with refused(says[0], kind, **says[1]):
        make()


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        ((np.zeros(3), "squared"), ("not-predictive", {"name": "ndarray"})),
        ((GaussianPredictive(0, 1), "square"), ("unknown-word", {"value": "square"})),
        ((GaussianPredictive(0, 1), 3), ("cost-type", {"cost": "cost"})),
        (
            (GaussianPredictive(0, 1), lambda y, a: a if y > a else y),
            ("cost-not-vectorised", {}),
        ),
        (
            (GaussianPredictive(0, 1), lambda y, a: a),
            ("cost-result", {"found": (1, 1), "action": (1, 1)}),
        ),
        (
            (GaussianPredictive(0, 1), lambda y, a: np.full(y.shape, np.nan)),
            ("cost-not-finite", {}),
        ),
        (
            (GaussianPredictive(np.zeros(3), 1), Pinball([1, 2], 1)),
            ("length-mismatch", {"name": "the cost", "found": 2}),
        ),
        (
            (Gamma([1.0]), Pinball([1, 2], 1)),
            ("length-mismatch", {"name": "Gamma", "rows": 1}),
        ),
    ],
)
def test_what_cannot_work_is_refused(arguments, says):
    with refused(says[0], **says[1]):
        decide_regression(*arguments)


LAW = GaussianPredictive([0.0, 1.0], 1.0)


@pytest.mark.parametrize(
    ("cost", "extra", "says"),
    [
        (
            Pinball(1, 1),
            {"columns": {"fee": [1, 2]}},
            ("unused-argument", {"argument": "columns", "name": "Pinball"}),
        ),
        (
            "squared",
            {"columns": {"fee": [1, 2]}},
            ("unused-argument", {"argument": "columns", "name": "'squared'"}),
        ),
        (
            Linex(1),
            {"kinks": [1.0]},
            ("unused-argument", {"argument": "kinks", "name": "Linex"}),
        ),
        (
            lopsided,
            {"columns": [1, 2]},
            ("columns-type", {"argument": "columns", "found": "list", "example": "columns"}),
        ),
        (
            lopsided,
            {"columns": np.ones(2)},
            ("columns-type", {"argument": "columns", "found": "ndarray", "example": "columns"}),
        ),
        (
            lopsided,
            {"columns": {None: 2}},
            ("columns-type", {"argument": "columns", "example": "columns"}),
        ),
        (lopsided, {"columns": {"fee": 2}}, ("wrong-signature", {"argument": "cost"})),
        (
            lambda y: y,
            {},
            ("wrong-signature", {"argument": "cost", "call": "cost(y, action)"}),
        ),
        (
            lambda y, a, fee: y,
            {},
            ("wrong-signature", {"argument": "cost", "call": "cost(y, action)"}),
        ),
        (lambda y, a: "dear", {}, ("cost-result", {"found": "'dear'"})),
        (lambda y, a: np.full(y.shape, "dear"), {}, ("cost-result", {})),
        (lambda y, a: y * 1j, {}, ("cost-result", {})),
        (lambda y, a: np.full(y.shape, None), {}, ("cost-result", {})),
        (
            lopsided,
            {"kinks": "x"},
            ("not-a-number", {"argument": "kinks", "value": "'x'", "row": 0}),
        ),
        (
            lopsided,
            {"kinks": [np.nan]},
            ("not-finite", {"argument": "kinks", "count": 1, "rows": 1}),
        ),
        (Pinball, {}, ("class-not-instance", {"name": "Pinball"})),
        (lambda y, a: [[1.0, 2.0], [3.0]], {}, ("cost-result", {})),
        (lopsided, {"kinks": [[1.0, 2.0], [3.0]]}, ("not-a-column", {"argument": "kinks"})),
        (
            lopsided,
            {"kinks": np.ones((2, 2))},
            ("not-a-column", {"argument": "kinks", "shape": (2, 2)}),
        ),
        (
            lopsided,
            {"kinks": lambda: [1.0]},
            ("wrong-signature", {"argument": "kinks", "call": "kinks(action)"}),
        ),
        (lopsided, {"kinks": lambda a: ["x"]}, ("kinks-result", {})),
        (lopsided, {"kinks": lambda a: "xy"}, ("kinks-result", {})),
        (lopsided, {"kinks": lambda a: [np.ones(3)]}, ("kinks-result", {})),
        (lopsided, {"kinks": lambda a: np.ones((2, 2, 2))}, ("kinks-result", {})),
    ],
)
def test_columns_and_kinks_that_cannot_be_used_are_refused(cost, extra, says):
    for ask in (
        lambda: decide_regression(LAW, cost, **extra),
        lambda: expected_regression_cost(LAW, cost, 1.0, **extra),
    ):
        with refused(says[0], **says[1]):
            ask()


def test_kinks_in_every_form_make_the_same_integral():
    law = GaussianPredictive([0.0, 1.0, 2.0], 1.0)

    def late(y, a):
        return np.where(y > a + 2, 100.0, 0.0)

    wanted = 100 * norm.sf(2.5 - law.centre)
    for kinks in (
        lambda a: [a + 2],
        lambda a: (a + 2, 7.0),
        lambda a: a + 2,
        lambda a: np.stack([a + 2, a - 9]),
        lambda a: [a + 2, np.full(3, np.inf)],
        lambda a: [2.5],
        2.5,
        [2.5, 3.0],
        np.array([2.5]),
    ):
        found = expected_regression_cost(law, late, 0.5, kinks=kinks)
        assert found == pytest.approx(wanted, rel=1e-9)
    assert expected_regression_cost(law, lopsided, 0.5, kinks=[]).shape == (3,)


def test_one_kink_per_action_is_one_split_and_a_kink_nowhere_is_none():
    rule, action = OwnCost(lopsided, {}, lambda a: a + 2), np.array([1.0, 2.0, 3.0])
    assert rule.splits(action).tolist() == [[1, 3], [2, 4], [3, 5]]
    law = QuantilePredictive([0.1, 0.5, 0.9], [[1.0, 2.0, 4.0]])
    for nowhere in (np.nan, np.inf, -np.inf):
        found = expected_regression_cost(law, lopsided, 2.5, kinks=lambda a, k=nowhere: [k])
        assert found == pytest.approx(expected_regression_cost(law, lopsided, 2.5), rel=1e-12)


def test_a_cost_with_a_large_part_that_is_fixed_still_depends_on_the_action():
    found = decide_regression(GaussianPredictive(5.0, 1.0), lambda y, a: 1e4 + (y - a) ** 2)
    assert found == pytest.approx([5.0], abs=1e-3)


def test_a_cost_that_is_infinity_times_nothing_is_refused():
    with refused("overflow", DataError):
        expected_regression_cost(GaussianPredictive(-1.7e308, 1.0), Pinball(1, 0), 1.7e308)


def test_empty_columns_beside_a_named_cost_say_nothing():
    assert decide_regression(LAW, "squared", columns={}).tolist() == [0, 1]


def test_a_class_is_no_predictive():
    with refused("class-not-instance", UsageError, name="GaussianPredictive"):
        decide_regression(GaussianPredictive, "squared")


def test_actions_of_another_length_are_refused():
    with refused(
        "length-mismatch", DataError, name="actions", found=2, other="the predictive", rows=3
    ):
        expected_regression_cost(GaussianPredictive(np.zeros(3), 1.0), "squared", [1.0, 2.0])


def test_a_predictive_of_one_s_own_that_answers_nonsense_is_refused():
    class Wrong(Gamma):
        def quantile(self, level):
            return np.array([1.0, np.nan, 3.0])

    with refused(
        "predictive-result", DataError, method="quantile(level)", name="Wrong", rows=3, shape=(3,)
    ):
        decide_regression(Wrong(np.ones(3)), Pinball(1, 1))

    class Text(Gamma):
        def quantile(self, level):
            return ["a", "b", "c"]

    with refused("not-a-number", DataError, argument="quantile(level) of Text"):
        decide_regression(Text(np.ones(3)), Pinball(1, 1))
