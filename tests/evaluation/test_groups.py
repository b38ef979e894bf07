"""Rows in groups: intervals of whole groups, in every function, and how often they hold."""

import numpy as np
import pytest
from scipy.stats import f

from scarce import (
    CostMatrix,
    brier_curve,
    cost_confusion,
    cost_curve,
    decision_curve,
    mean_cost,
    risk_coverage,
    savings,
    total_cost,
)

COSTS = np.array([[0.0, 100.0], [5.0, 0.0]])


def expit(x):
    return 1 / (1 + np.exp(-x))


def cards(rng, n_cards=200, rows=25):
    """A stolen card is stolen for all its payments, and caught or not caught as a whole."""
    card = np.repeat(np.arange(n_cards), 1 + rng.poisson(rows - 1, n_cards))
    stolen, caught = rng.random(n_cards) < 0.05, rng.random(n_cards) < 0.6
    y = (stolen[card] & (rng.random(len(card)) < 0.3)).astype(int)
    done = np.where(y == 1, caught[card], rng.random(len(card)) < 0.03).astype(int)
    return card, y, done


def sites(rng, n_sites=8, rows=50):
    """Shares of events and of errors that differ from site to site."""
    site = np.repeat(np.arange(n_sites), 1 + rng.poisson(rows - 1, n_sites))
    rate, skill = (0.7 * rng.normal(size=n_sites) for _ in range(2))
    y = (rng.random(len(site)) < expit(-3 + rate[site])).astype(int)
    hit = np.where(y == 1, expit(0.85 + skill[site]), expit(-3 + skill[site]))
    return site, y, (rng.random(len(site)) < hit).astype(int)


@pytest.mark.parametrize("world", [cards, sites])
def test_simulation_intervals_of_groups_hold_and_those_of_rows_do_not(world):
    rng, reps = np.random.default_rng(2), 100
    _, y, done = world(rng, 100_000, 20) if world is cards else world(rng, 50_000)
    truth = float(COSTS[done, y].mean())
    held = np.zeros(2)
    for _ in range(reps):
        group, y, done = world(rng)
        for j, groups in enumerate((group, None)):
            held[j] += truth in mean_cost(y, done, COSTS, groups=groups, resamples=100)
    assert held[0] / reps >= 0.85
    assert held[1] < held[0]
    if world is cards:
        assert held[1] / reps < 0.7


def test_groups_of_one_row_are_rows(rng):
    n = 400
    y = (rng.random(n) < 0.1).astype(int)
    prob = expit(rng.normal(size=n) + 2.5 * y - 3)
    done, each = (prob > 0.1).astype(int), rng.permutation(n)
    weight = rng.choice([1.0, 3.0], n)
    more = {"sample_weight": weight, "resamples": 1000}
    for make, args in (
        (mean_cost, (y, done, COSTS)),
        (lambda *a, **k: savings(*a, **k).per_row, (y, done, COSTS)),
        (lambda *a, **k: cost_confusion(*a, **k).costs[0][1], (y, done, COSTS)),
        (lambda *a, **k: brier_curve(*a, **k).area, (y, prob)),
        (lambda *a, **k: decision_curve(*a, **k).prevalence, (y, prob)),
        (lambda *a, **k: risk_coverage(*a, **k).area, (y, prob)),
    ):
        rows, groups = make(*args, **more), make(*args, groups=each, **more)
        assert groups.value == pytest.approx(rows.value, rel=1e-12)
        # other draws: a limit from 1,000 resamples moves by some 4 % of the width
        assert groups.low == pytest.approx(rows.low, abs=0.12 * rows.width)
        assert groups.high == pytest.approx(rows.high, abs=0.12 * rows.width)
        assert "groups" in groups.method
        assert "groups of rows are independent" in groups.assumes


@pytest.fixture
def repeated(rng):
    """Sixty rows, each of them twenty-five times over: no more is known than from sixty."""
    y = np.arange(60) % 4 == 0
    prob = expit(rng.normal(size=60) + 2.0 * y - 1.5)
    group = np.repeat(np.arange(60), 25)
    return np.repeat(y.astype(int), 25), np.repeat(prob, 25), group


def test_rows_that_repeat_each_other_count_once(repeated):
    y, prob, group = repeated
    done = (prob > 0.3).astype(int)
    once = slice(None, None, 25)
    for make, args in (
        (mean_cost, (y, done)),
        (lambda *a, **k: savings(*a, **k).share, (y, done)),
        (lambda *a, **k: cost_confusion(*a, **k).by_action[0], (y, done)),
        (lambda *a, **k: brier_curve(*a, **k).area, (y, prob)),
        (lambda *a, **k: decision_curve(*a, **k).prevalence, (y, prob)),
        (lambda *a, **k: risk_coverage(*a, **k).full, (y, prob)),
        (lambda *a, **k: risk_coverage(*a, **k).area, (y, prob)),
    ):
        costs = ([[0, 3], [1, 0]],) if args[1] is done else ()
        alone = make(*(one[once] for one in args), *costs)
        many = make(*args, *costs, groups=group)
        assert many.width == pytest.approx(alone.width * many.value / alone.value, rel=0.15)
        assert make(*args, *costs).width < 0.5 * many.width


@pytest.mark.parametrize("make", [cost_curve, brier_curve, decision_curve, risk_coverage])
def test_bands_of_groups_are_wider(repeated, make):
    y, prob, group = repeated
    at = [0.2, 0.5]
    rows, groups = make(y, prob, at=at), make(y, prob, at=at, groups=group)
    assert ((groups.high - groups.low) > 1.5 * (rows.high - rows.low)).all()
    if make is brier_curve:
        wider = (groups.regret_high - groups.regret_low) > (rows.regret_high - rows.regret_low)
        assert wider.all()
    both = make(y, prob, at=at, groups=group, simultaneous=True)
    assert (both.high >= groups.high).all()


def test_a_kind_never_met_may_fill_a_group():
    """No miss among 40 groups of ten: three groups of misses may go unseen, not three rows."""
    group = np.repeat(np.arange(40), 10)
    y = np.zeros(400, int)
    found = mean_cost(y, y, [[0, 1], [1, 0]], groups=group, resamples=4000)
    assert found.value == 0
    assert found.high == pytest.approx(1 - 0.05 ** (1 / 40), rel=0.08)
    y[::10] = 1  # events come singly
    found = mean_cost(y, y, [[0, 1], [0, 0]], groups=group, resamples=4000)
    one = (40 * 1 + 10) / 41 / 10  # share of a group: as seen in 40, and one whole group more
    odds = one * f.ppf(0.95, 2, 80) / 40  # of Exp(1) over Gamma(40)
    assert found.high == pytest.approx(odds / (1 + odds), rel=0.08)


def test_folds_are_dealt_by_group(repeated):
    from scarce.evaluation.curves import BinaryRows

    y, prob, group = repeated
    rows = BinaryRows.read(y, prob, None, None, group, True)
    counts = rows.counts(rows.cuts(), 5, 0)
    assert (counts.pos % 25 == 0).all()  # whole groups
    assert (counts.neg % 25 == 0).all()
    assert (counts.pos + counts.neg).sum(axis=1).tolist() == [300] * 5
    pos, neg = counts.plain(_asked(4000))
    np.testing.assert_allclose(pos.mean(axis=0), counts.pos, atol=3.0)
    np.testing.assert_allclose(neg.mean(axis=0), counts.neg, atol=3.0)


def test_an_unseen_group_enters_the_curves_as_a_group():
    y, prob = np.r_[np.zeros(300), np.ones(120)], np.r_[np.full(300, 0.2), np.full(120, 0.9)]
    group = np.arange(420) // 10
    found = brier_curve(y, prob, at=[0.1, 0.5], groups=group)
    assert found.cost[1] == 0
    missed = 2 * 0.5 * 3 * 10 / 420  # three groups of ten events at the low end
    assert found.high[1] == pytest.approx(missed, rel=0.15)
    rows = brier_curve(y, prob, at=[0.1, 0.5])
    assert rows.high[1] < 0.2 * missed
    # and between the thresholds, where thirty events would have paid for nearly all alarms
    assert found.regret_low[0] < 0.3 * found.regret[0]
    assert rows.regret_low[0] > 0.8 * rows.regret[0]


def _asked(resamples):
    from scarce.bootstrap import Resampling

    return Resampling(0.9, resamples, 0)


def test_groups_with_labels_for_some_rows(rng):
    card, y, done = cards(rng)
    seen = rng.random(len(y)) < 0.4
    labels, chance = np.where(seen, y, np.nan), np.where(seen, 0.4, np.nan)
    found = total_cost(labels, done, COSTS, inclusion=chance, groups=card)
    assert COSTS[done, y].sum() in found
    assert "stated probability" in found.assumes
    apart = total_cost(labels, done, COSTS, inclusion=chance)
    assert found.width > apart.width
    assert found.value == apart.value


def test_few_groups_are_said(rng):
    site, y, done = sites(rng)
    found = mean_cost(y, done, COSTS, groups=site)
    assert "8 groups" in found.method
    table = cost_confusion(y, done, COSTS, groups=site)
    assert "8 groups" in table.remarks[0]
    assert "8 groups" in brier_curve(y, np.where(done == 1, 0.9, 0.1), groups=site).remarks[0]


def test_other_actions_in_groups(rng):
    card, y, done = cards(rng)
    old = (rng.random(len(y)) < 0.1).astype(int)
    found = savings(y, done, COSTS, against=old, groups=card)
    apart = savings(y, done, COSTS, against=old)
    assert found.per_row.value == apart.per_row.value
    assert found.per_row.width > apart.per_row.width


def test_invariant_order_and_names_of_groups(rng):
    card, y, done = cards(rng, 60)
    names = np.array([f"card {c:03d}" for c in card])
    costs = CostMatrix.binary(false_alarm=5, miss=rng.lognormal(4, 1, len(y)))
    base = mean_cost(y, done, costs, groups=card)
    named = mean_cost(y, done, costs, groups=names)
    assert (named.low, named.high) == (base.low, base.high)
    mixed = rng.permutation(len(y))
    again = mean_cost(y[mixed], done[mixed], costs.take(mixed), groups=names[mixed])
    assert (again.low, again.high) == pytest.approx((base.low, base.high), rel=1e-12)
