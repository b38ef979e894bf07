"""The bootstrap of decisions: exact where it can be, honest with few events, repeatable."""

import numpy as np
import pytest
from scipy.stats import beta, gamma

from scarce import UsageError
from scarce.evaluation import resample
from scarce.evaluation.resample import (
    Asked,
    Cells,
    gather,
    limits,
    outer,
    support,
    typical,
)

MANY = Asked(0.9, 20_000, 0)


def ratio(sums):
    return sums[:, 0] / sums[:, -1]


@pytest.mark.parametrize(("hits", "n"), [(0, 40), (1, 40), (7, 40), (40, 40)])
def test_oracle_limits_of_a_share_are_those_of_clopper_and_pearson(hits, n):
    cells = Cells(
        np.arange(2), np.array([hits, n - hits]), np.array([hits, n - hits]), np.array([[1.0], [0]])
    )
    drawn = np.column_stack(
        [np.random.default_rng(j).standard_gamma(cells.shape[j], 20_000) for j in (0, 1)]
    )
    sums = np.column_stack([drawn @ cells.values, drawn.sum(axis=1)])
    low, high = limits(sums, np.array([[0.0, 1.0], [1.0, 1.0]]), ratio, MANY)
    exact_low = beta.ppf(0.05, hits, n - hits + 1) if hits else 0.0
    exact_high = beta.ppf(0.95, hits + 1, n - hits) if hits < n else 1.0
    assert low == pytest.approx(exact_low, abs=0.004)
    assert high == pytest.approx(exact_high, abs=0.004)


def test_oracle_equal_rows_weigh_a_gamma_variable(rng):
    cells = gather(np.repeat([0, 1], [6000, 3]), np.ones(6003), np.zeros((6003, 1)))
    assert cells.weight.tolist() == [6000, 3]
    drawn = cells.draw(MANY)[:, 1]
    at = np.array([0.05, 0.5, 0.95])
    np.testing.assert_allclose(np.quantile(drawn, at), gamma.ppf(at, 3), rtol=0.04)


@pytest.mark.parametrize("tail", [0.0, 1.5])
def test_oracle_grouping_many_rows_keeps_the_moments_of_drawing_each(rng, tail):
    n = 6000
    cost = np.where(rng.random(n) < 0.6, np.exp(tail * rng.normal(size=n) + rng.normal(size=n)), 0)
    weight = rng.choice([1.0, 5.0], n)
    cells = gather((cost > 0).astype(np.intp), weight, cost[:, None], most=2000)
    assert len(cells.key) <= 2000
    each, scale = weight * cost, cells.weight / cells.shape
    # An Exp(1) variable has cumulants 1, 1, 2, 6; a gamma one, shape times these.
    for power in (1, 2, 3, 4):
        grouped = cells.shape @ (scale * cells.values[:, 0]) ** power
        assert grouped == pytest.approx((each**power).sum(), rel=2e-3)
    assert cells.shape @ scale**2 == pytest.approx((weight**2).sum(), rel=1e-12)


def test_invariant_order_of_rows_does_not_change_a_bit(rng):
    key, weight = rng.integers(0, 3, 500), rng.choice([1.0, 2.0], 500)
    values = rng.normal(size=(500, 2)).round(1)
    mixed = rng.permutation(500)
    first, second = gather(key, weight, values), gather(key[mixed], weight[mixed], values[mixed])
    asked = Asked(0.9, 100, 3)
    assert (first.draw(asked) == second.draw(asked)).all()
    assert (first.values == second.values).all()


def test_the_same_seed_gives_the_same_draws_and_another_one_others():
    cells = gather(np.zeros(9, np.intp), np.ones(9), np.arange(9.0)[:, None])
    one, again = cells.draw(Asked(0.9, 100, 3)), cells.draw(Asked(0.9, 100, 3))
    assert (one == again).all()
    assert (one != cells.draw(Asked(0.9, 100, 4))).any()
    assert (one[:50] == cells.draw(Asked(0.9, 50, 3))).all()  # more resamples only add


def test_memory_does_not_grow_with_rows_times_resamples(rng):
    n = 200_000
    cells = gather(rng.integers(0, 4, n), np.ones(n), rng.lognormal(size=(n, 1)))
    assert len(cells.key) <= resample.MOST_CELLS
    assert cells.weight.sum() == pytest.approx(n)
    top = np.sort(cells.values[cells.shape == 1, 0])
    assert len(top) >= resample.HEADS  # those that carry the most are drawn one by one


def test_an_unseen_row_is_met_in_proportion_to_what_it_holds():
    values = np.array([[10.0, 1.0], [30.0, 1.0]])
    found = typical(np.array([1.0, 1.0]), np.array([10.0, 30.0]), values)
    np.testing.assert_allclose(found, [(100 + 900) / 40, 1.0])
    found = typical(np.array([1.0, 4.0]), np.ones(2), np.ones((2, 1)))
    np.testing.assert_allclose(found, [17 / 5])


def test_simultaneous_bands_hold_whole_curves(rng):
    curves = rng.normal(size=(4000, 30)).cumsum(axis=1)
    asked = Asked(0.9, 4000, 0)
    low, high = outer([curves], asked, simultaneous=True)
    inside = ((curves >= low) & (curves <= high)).all(axis=1).mean()
    assert 0.9 <= inside < 0.92
    point_low, point_high = outer([curves], asked)
    assert (low < point_low).all()
    assert (high > point_high).all()


def test_support_counts_rows_that_carry_a_sum():
    assert support(np.ones(50)) == pytest.approx(50)
    assert support(np.r_[100.0, np.ones(50)]) < 3
    assert support(np.zeros(3)) == 0


@pytest.mark.parametrize(
    ("level", "resamples", "seed"),
    [(1.0, 100, 0), (0.9, 10, 0), (0.9, 1e3, 0), (0.9, 100, -1), (0.9, 10**30, 0)],
)
def test_strange_wishes_are_refused(level, resamples, seed):
    with pytest.raises(UsageError):
        Asked.read(level, resamples, seed)


def test_oracle_groups_are_drawn_as_one(rng):
    group, key = rng.integers(0, 40, 300), rng.integers(0, 3, 300)
    weight, values = rng.choice([1.0, 2.5], 300), rng.normal(size=(300, 1)).round(1)
    cells = gather(key, weight, values, group)
    drawn = cells.draw(Asked(0.9, 500, 3))
    sums = np.column_stack([drawn @ cells.values, drawn.sum(axis=1)])
    own = np.stack([np.bincount(group, weight * values[:, 0]), np.bincount(group, weight)], axis=1)
    each = np.random.default_rng([3, 0]).standard_exponential((40, 500))  # one for each group
    np.testing.assert_allclose(sums, each.T @ own, rtol=1e-10, atol=1e-10)
    mixed = rng.permutation(300)
    again = gather(key[mixed], weight[mixed], values[mixed], group[mixed])
    assert (again.draw(Asked(0.9, 100, 3)) == cells.draw(Asked(0.9, 100, 3))).all()


def test_many_groups_are_drawn_in_pieces(monkeypatch):
    parts = resample.in_groups(np.arange(50) % 2, np.ones(50), np.arange(50), 2)
    whole = resample.draw_groups(parts, Asked(0.9, 100, 1))
    monkeypatch.setattr(resample, "GROUPS_AT_ONCE", 7)
    np.testing.assert_allclose(resample.draw_groups(parts, Asked(0.9, 100, 1)), whole, rtol=1e-12)


def test_limits_need_resamples_beyond_them():
    assert Asked.read(0.99, 1000, 0).level == 0.99
    with pytest.raises(UsageError, match=r"leaves 0\.5 resamples beyond each limit.*=20000"):
        Asked.read(0.999, 1000, 0)
