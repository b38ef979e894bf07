"""Rows drawn again: exact limits of a share, known spreads, groups, weights, few events."""

import numpy as np
import pytest
from scipy.special import betaincinv

from scarce import DataError
from scarce.evaluation.redrawn import Redrawn
from scarce.scoring import losses_if


def share(sums):
    return sums[:, 1] / sums[:, :2].sum(axis=1)


def mean(sums):
    return sums[:, 2] / sums[:, :2].sum(axis=1)


@pytest.mark.parametrize(("events", "rows"), [(0, 20), (1, 888), (7, 13), (13, 900), (20, 20)])
def test_oracle_limits_of_a_share_are_clopper_and_pearsons(events, rows):
    found = Redrawn(np.repeat([0, 1], [rows - events, events]), 2).estimate(share, 0.0, 1.0)
    low = betaincinv(events, rows - events + 1, 0.05) if events else 0.0
    high = betaincinv(events + 1, rows - events, 0.95) if events < rows else 1.0
    assert found.value == events / rows
    room = 0.06 * (high - low)  # of 2,000 draws
    assert found.low == pytest.approx(low, abs=room)
    assert found.high == pytest.approx(high, abs=room)


def test_many_rows_have_the_normal_interval_of_a_mean(rng):
    x = rng.normal(5.0, 2.0, 20_000)
    found = Redrawn(np.zeros(20_000, int), 2, lambda k: x[:, None]).estimate(mean)
    assert found.value == pytest.approx(x.mean())
    assert found.width == pytest.approx(2 * 1.645 * x.std() / np.sqrt(20_000), rel=0.06)


def test_slices_keep_the_spread_of_heavy_tails(rng):
    """Rows in slices of neighbours against every row drawn alone."""
    y = (rng.random(6000) < 0.02).astype(int)
    prob = np.clip(rng.beta(0.4, 12, 6000) * np.where(y, 3, 1), 1e-6, 0.99)

    def values(k):
        return losses_if(prob, k, "log")[:, None]

    held = np.where(y == 1, -np.log(prob), -np.log1p(-prob))
    drawn = rng.standard_exponential((2000, 6000))
    plain = np.quantile(drawn @ held / drawn.sum(axis=1), [0.05, 0.95])
    found = Redrawn(y, 2, values).estimate(mean)
    assert found.width > 0.95 * np.diff(plain)[0]
    assert found.width < 1.35 * np.diff(plain)[0]


def test_weights_are_one_draw_each(rng):
    kind = (rng.random(400) < 0.2).astype(int)
    times = rng.integers(1, 5, 400)
    weighted = Redrawn(kind, 2, sample_weight=times).estimate(share)
    repeated = Redrawn(np.repeat(kind, times), 2).estimate(share)
    assert weighted.value == pytest.approx(repeated.value)
    assert weighted.width > 1.3 * repeated.width
    scaled = Redrawn(kind, 2, sample_weight=1e6 * times).estimate(share)
    assert (scaled.low, scaled.high) == pytest.approx((weighted.low, weighted.high))


def test_groups_cover_where_rows_do_not(rng):
    """Whole groups are events or not: 90 % of the intervals hold, by rows far fewer."""
    held, worlds = np.zeros(2), 60
    groups = np.repeat(np.arange(30), 20)
    for _ in range(worlds):
        kind = (rng.random(30) < 0.2).astype(int)[groups]
        kind[rng.random(600) < 0.1] ^= 1
        truth = 0.9 * 0.2 + 0.1 * 0.8
        for place, given in enumerate((groups, None)):
            held[place] += truth in Redrawn(kind, 2, groups=given).estimate(share)
    assert held[0] / worlds >= 0.87
    assert held[1] / worlds < 0.6


def test_singletons_as_groups_are_rows(rng):
    kind = (rng.random(900) < 0.03).astype(int)
    alone = Redrawn(kind, 2).estimate(share)
    grouped = Redrawn(kind, 2, groups=np.arange(900)).estimate(share)
    assert grouped.value == alone.value
    assert grouped.width == pytest.approx(alone.width, rel=0.08)
    assert "groups" in grouped.assumes
    assert "groups" in grouped.method


def test_the_same_rows_are_the_same_answer_in_any_order(rng):
    y = (rng.random(500) < 0.1).astype(int)
    prob, weight = rng.random(500), rng.random(500)

    def limits(order):
        def values(k):
            return losses_if(prob[order], k, "log")[:, None]

        found = Redrawn(y[order], 2, values, sample_weight=weight[order]).estimate(mean)
        return found.low, found.high

    assert limits(np.arange(500)) == pytest.approx(limits(rng.permutation(500)), rel=1e-12)


def test_what_does_not_exist_is_nan_and_limits_keep_to_what_can_be():
    found = Redrawn([0, 0, 0], 2)
    nothing = found.estimate(lambda sums: np.full(len(sums), np.nan))
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()
    cut = found.estimate(share, 0.0, 0.4)
    assert (cut.value, cut.high) == (0.0, 0.4)
    assert found.estimate(lambda sums: -share(sums), -0.3).low == -0.3


@pytest.mark.parametrize("weight", [[1.0], [1.0, -1.0], [0.0, 0.0], [1.0, np.nan], [1.0, np.inf]])
def test_strange_weights_are_refused(weight):
    with pytest.raises(DataError, match=r"weights of 2 rows"):
        Redrawn([0, 1], 2, sample_weight=weight)
