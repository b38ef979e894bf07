"""The bootstrap: who stands for whom, exact limits where there are some, honest with few events."""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.special import betaincinv
from scipy.stats import beta, gamma

from scarce import DataError, UsageError, bootstrap, choose_labels
from scarce.bootstrap import (
    Bootstrap,
    Cells,
    Resampling,
    Sample,
    effective_rows,
    few_remarks,
    gather,
    limits,
    outer_limits,
    read_groups,
    read_sample,
    typical_row,
)
from scarce.errors import Argument
from scarce.missed.choose import LabelChoice
from scarce.scoring import losses_if
from tests.problems import codes, refused, warned

MANY = Resampling(0.9, 20_000, 0)


def ratio(sums):
    return sums[:, 0] / sums[:, -1]


def share(sums):
    return sums[:, 1] / sums[:, :2].sum(axis=1)


def mean(sums):
    return sums[:, 2] / sums[:, :2].sum(axis=1)


def estimate(kind, figure, values=None, *, least=-np.inf, most=np.inf, resamples=2000, **more):
    """An estimate of a figure of rows of two kinds."""
    kind = np.asarray(kind, dtype=np.intp)
    sample = read_sample(np.ones(len(kind), dtype=bool), **more)
    drawn = Bootstrap(kind, 2, sample, Resampling.read(0.9, resamples, 0), values)
    return drawn.estimate(figure, least, most)


# --- limits and draws -----------------------------------------------------------------------------


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
    asked = Resampling(0.9, 100, 3)
    assert (first.draw(asked) == second.draw(asked)).all()
    assert (first.values == second.values).all()


def test_the_same_seed_gives_the_same_draws_and_another_one_others():
    cells = gather(np.zeros(9, np.intp), np.ones(9), np.arange(9.0)[:, None])
    one, again = cells.draw(Resampling(0.9, 100, 3)), cells.draw(Resampling(0.9, 100, 3))
    assert (one == again).all()
    assert (one != cells.draw(Resampling(0.9, 100, 4))).any()
    assert (one[:50] == cells.draw(Resampling(0.9, 50, 3))).all()  # more resamples only add


def test_memory_does_not_grow_with_rows_times_resamples(rng):
    n = 200_000
    cells = gather(rng.integers(0, 4, n), np.ones(n), rng.lognormal(size=(n, 1)))
    assert len(cells.key) <= bootstrap.MOST_CELLS
    assert cells.weight.sum() == pytest.approx(n)
    top = np.sort(cells.values[cells.shape == 1, 0])
    assert len(top) >= bootstrap.HEADS  # those that carry the most are drawn one by one


def test_an_unseen_row_is_met_in_proportion_to_what_it_holds():
    values = np.array([[10.0, 1.0], [30.0, 1.0]])
    found = typical_row(np.array([1.0, 1.0]), np.array([10.0, 30.0]), values)
    np.testing.assert_allclose(found, [(100 + 900) / 40, 1.0])
    found = typical_row(np.array([1.0, 4.0]), np.ones(2), np.ones((2, 1)))
    np.testing.assert_allclose(found, [17 / 5])


def test_simultaneous_bands_hold_whole_curves(rng):
    curves = rng.normal(size=(4000, 30)).cumsum(axis=1)
    asked = Resampling(0.9, 4000, 0)
    low, high = outer_limits([curves], asked, simultaneous=True)
    inside = ((curves >= low) & (curves <= high)).all(axis=1).mean()
    assert 0.9 <= inside < 0.92
    point_low, point_high = outer_limits([curves], asked)
    assert (low < point_low).all()
    assert (high > point_high).all()


def test_effective_rows_count_rows_that_carry_a_sum():
    assert effective_rows(np.ones(50)) == pytest.approx(50)
    assert effective_rows(np.r_[100.0, np.ones(50)]) < 3
    assert effective_rows(np.zeros(3)) == 0


@pytest.mark.parametrize(
    ("level", "resamples", "seed"),
    [(1.0, 100, 0), (0.9, 10, 0), (0.9, 1e3, 0), (0.9, 100, -1), (0.9, 10**30, 0)],
)
def test_strange_wishes_are_refused(level, resamples, seed):
    with pytest.raises(UsageError):
        Resampling.read(level, resamples, seed)


def test_oracle_groups_are_drawn_as_one(rng):
    group, key = rng.integers(0, 40, 300), rng.integers(0, 3, 300)
    weight, values = rng.choice([1.0, 2.5], 300), rng.normal(size=(300, 1)).round(1)
    cells = gather(key, weight, values, group)
    drawn = cells.draw(Resampling(0.9, 500, 3))
    sums = np.column_stack([drawn @ cells.values, drawn.sum(axis=1)])
    own = np.stack([np.bincount(group, weight * values[:, 0]), np.bincount(group, weight)], axis=1)
    each = np.random.default_rng([3, 0]).standard_exponential((40, 500))  # one for each group
    np.testing.assert_allclose(sums, each.T @ own, rtol=1e-10, atol=1e-10)
    mixed = rng.permutation(300)
    again = gather(key[mixed], weight[mixed], values[mixed], group[mixed])
    assert (again.draw(Resampling(0.9, 100, 3)) == cells.draw(Resampling(0.9, 100, 3))).all()


def test_many_groups_are_drawn_in_pieces(monkeypatch):
    parts = bootstrap.in_groups(np.arange(50) % 2, np.ones(50), np.arange(50), 2)
    whole = bootstrap.draw_groups(parts, Resampling(0.9, 100, 1))
    monkeypatch.setattr(bootstrap, "GROUPS_AT_ONCE", 7)
    np.testing.assert_allclose(
        bootstrap.draw_groups(parts, Resampling(0.9, 100, 1)), whole, rtol=1e-12
    )


def test_limits_need_resamples_beyond_them():
    assert Resampling.read(0.99, 1000, 0).level == 0.99
    with refused("too-few-resamples", UsageError, resamples=Argument("resamples", 20000)):
        Resampling.read(0.999, 1000, 0)
    assert Resampling.read(0.9).resamples == 1000
    assert Resampling.read(0.999).resamples == 4000


@pytest.mark.parametrize(("events", "rows"), [(0, 20), (1, 888), (7, 13), (13, 900), (20, 20)])
def test_oracle_a_share_of_rows_has_clopper_and_pearsons_limits(events, rows):
    found = estimate(np.repeat([0, 1], [rows - events, events]), share, least=0.0, most=1.0)
    low = betaincinv(events, rows - events + 1, 0.05) if events else 0.0
    high = betaincinv(events + 1, rows - events, 0.95) if events < rows else 1.0
    assert found.value == events / rows
    room = 0.06 * (high - low)  # of 2,000 draws
    assert found.low == pytest.approx(low, abs=room)
    assert found.high == pytest.approx(high, abs=room)


def test_many_rows_have_the_normal_interval_of_a_mean(rng):
    x = rng.normal(5.0, 2.0, 20_000)
    found = estimate(np.zeros(20_000, int), mean, lambda k: x[:, None])
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
    found = estimate(y, mean, values)
    assert found.width > 0.95 * np.diff(plain)[0]
    assert found.width < 1.35 * np.diff(plain)[0]


def test_weights_are_one_draw_each(rng):
    kind = (rng.random(400) < 0.2).astype(int)
    times = rng.integers(1, 5, 400)
    weighted = estimate(kind, share, sample_weight=times)
    repeated = estimate(np.repeat(kind, times), share)
    assert weighted.value == pytest.approx(repeated.value)
    assert weighted.width > 1.3 * repeated.width
    scaled = estimate(kind, share, sample_weight=1e6 * times)
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
            held[place] += truth in estimate(kind, share, groups=given)
    assert held[0] / worlds >= 0.87
    assert held[1] / worlds < 0.6


def test_singletons_as_groups_are_rows(rng):
    kind = (rng.random(900) < 0.03).astype(int)
    alone = estimate(kind, share)
    grouped = estimate(kind, share, groups=np.arange(900))
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

        found = estimate(y[order], mean, values, sample_weight=weight[order])
        return found.low, found.high

    assert limits(np.arange(500)) == pytest.approx(limits(rng.permutation(500)), rel=1e-12)


def test_what_does_not_exist_is_nan_and_limits_keep_to_what_can_be():
    nothing = estimate([0, 0, 0], lambda sums: np.full(len(sums), np.nan))
    assert np.isnan([nothing.value, nothing.low, nothing.high]).all()
    cut = estimate([0, 0, 0], share, least=0.0, most=0.4)
    assert (cut.value, cut.high) == (0.0, 0.4)
    assert estimate([0, 0, 0], lambda sums: -share(sums), least=-0.3).low == -0.3


# --- who stands for whom --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("chance", "code"),
    [
        (None, "unlabelled-rows"),
        ([np.nan, 0.5, 0.5], "labelled-without-inclusion"),
        ([0.0, 0.5, 0.5], "labelled-without-inclusion"),
        ([0.5, 0.5, 1.0], "lost-answer"),
        ([0.5, 0.5, 0.0], "never-labelled"),
        ([0.5, 0.5, 1.5], "inclusion-range"),
    ],
)
def test_missing_outcomes_need_their_probability(chance, code):
    with refused(code, DataError):
        read_sample(np.array([True, True, False]), None, chance)


def test_weights_and_probabilities_are_read_together():
    sample = read_sample(np.array([True, False, True, True]), [1, 4, 2, 0], [0.5, np.nan, 1, 0.1])
    assert sample.rows.tolist() == [0, 2]  # a weight of 0 is no row
    assert sample.weight.tolist() == [2.0, 2.0]
    assert sample.total == 7.0
    assert "stated probability" in sample.assumes


@pytest.mark.parametrize(
    ("weight", "code"),
    [
        ([1, -1], "weight-range"),
        ([0, 0], "no-weight"),
        ([1, np.nan], "weight-range"),
        ([1, np.inf], "weight-range"),
        ([1], "length-mismatch"),
    ],
)
def test_strange_weights_are_refused(weight, code):
    with refused(code, DataError, argument="sample_weight"):
        read_sample(np.array([True, True]), weight, None)


def test_nothing_to_say_without_rows():
    with refused("no-rows", DataError):
        read_sample(np.zeros(0, bool), None, None)
    with refused("no-labels", DataError):
        read_sample(np.zeros(2, bool), None, [np.nan, np.nan])


@pytest.mark.parametrize("weight", [[1e308] * 3, [1e-200, 1, 1]])
def test_weights_whose_squares_do_not_exist_are_refused(weight):
    with refused("weight-range", DataError, argument="sample_weight"):
        read_sample(np.ones(3, bool), weight, None)


@pytest.mark.parametrize("policy", ["tail", "uncertainty"])
def test_labels_chosen_by_rule_speak_for_nobody_else(rng, policy):
    prob = rng.beta(0.5, 5, 2000)
    choice = choose_labels(prob, policy=policy, n=200)
    known = ~np.isnan(choice.inclusion(2000))
    with refused("certain-labels", DataError, known=200, unlabelled=1800):
        read_sample(known, None, choice)
    with refused("certain-labels", DataError):
        read_sample(known, None, choice.inclusion(2000))
    whole = read_sample(np.ones(2000, bool), None, np.ones(2000))  # nobody is left out
    assert len(whole.rows) == 2000
    drawn = choose_labels(prob, policy="random", n=200, random_state=0)
    assert read_sample(~np.isnan(drawn.inclusion(2000)), None, drawn).weight.sum() == 2000


def test_a_choice_among_some_rows_speaks_for_no_more_than_these(rng):
    prob = rng.beta(0.5, 5, 2000)
    choice = choose_labels(prob, policy="audit", n=200, threshold=0.3, random_state=0)
    known = ~np.isnan(choice.inclusion(2000))
    with refused("partial-choice", DataError, candidates=choice.candidates, rows=2000):
        read_sample(known, None, choice)
    alerts = prob >= 0.3
    chance = np.where(alerts, 1.0, choice.inclusion(2000))
    whole = read_sample(known | alerts, None, chance)
    assert whole.weight.sum() == pytest.approx(2000, rel=0.01)  # lots of unequal probability


@pytest.mark.parametrize(
    ("stated", "drawn"), [(0.5, 0.2), (0.2, 0.5), (0.5, np.repeat([0.5, 0.0], 2500))]
)
def test_probabilities_that_no_draw_explains_are_refused(rng, stated, drawn):
    known = rng.random(5000) < drawn
    chance = np.where(known, stated, np.nan)
    with refused("inclusion-sum", DataError, rows=5000):
        read_sample(known, None, chance)
    read_sample(known[known], None, chance[known])  # the labelled rows alone say nothing of it


def test_probabilities_that_are_odd_are_remarked_on(rng):
    known = np.arange(1000) % 50 == 0
    with warned("inclusion-sum", rows=1000):  # 400 rows for 1,000, of 20 draws
        read_sample(known, None, np.where(known, 0.05, np.nan))


@pytest.mark.parametrize("chance", [0.05, "lognormal"])
def test_fair_draws_are_not_refused(chance):
    """No warning either, which would be an error, but for one in a hundred."""
    warned_of = 0
    for seed in range(60):
        rng = np.random.default_rng(seed)
        p = np.full(1000, 0.02)
        if chance == "lognormal":
            p = np.clip(0.02 * np.exp(rng.normal(size=1000)), 0, 1)
        known = rng.random(1000) < p
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            read_sample(known, None, np.where(known, p, np.nan))
        warned_of += len(caught)
    assert warned_of <= 2


def test_answers_that_did_not_come_back_are_represented_by_the_others():
    """40 of 100 drawn rows were never answered; left out, events would be 31 %, not 27 %."""
    n = 1100
    chance = np.full(n, np.nan)
    chance[:100], chance[100:1100:10] = 1.0, 0.1  # alerts, and every tenth of the others
    known = chance == 1.0
    known[100:700:10] = True
    event = np.arange(n) < 100
    event[np.flatnonzero(known)[-12:]] = True
    with warned("audit-unlabelled", count=40, drawn=100):
        sample = read_sample(known, None, chance)
    assert sample.weight.sum() == pytest.approx(n)
    assert np.average(event[sample.rows], weights=sample.weight) == pytest.approx(300 / n)
    whole = np.where(known & (chance < 1), 0.06, chance)  # as the user might have said it
    whole[~known] = np.nan
    np.testing.assert_allclose(read_sample(known, None, whole).weight, sample.weight)


def test_probabilities_of_rows_that_were_not_drawn_are_no_lost_answers(rng):
    chance = np.full(1000, 0.1)
    known = np.arange(1000) % 10 == 0
    chance[-3:] = np.nan  # of three nobody knows
    assert read_sample(known, None, chance).weight.sum() == 1000


def test_groups_that_were_drawn_whole_add_up_less_well(rng):
    group = np.repeat(np.arange(40), 25)
    known = np.isin(group, [3, 17, 30])  # 3 of 8 that a draw with .2 takes
    chance = np.where(known, 0.2, np.nan)
    assert read_sample(known, None, chance, group).n_groups == 3
    with refused("inclusion-sum", DataError, groups="groups"):
        read_sample(known, None, chance)


def test_weights_that_repeat_the_inclusion_are_refused():
    chance = np.linspace(0.1, 0.9, 30)
    with refused("weight-is-inclusion", DataError):
        read_sample(np.ones(30, bool), 7 / chance, chance)
    with warned("weight-is-inclusion"):  # two strata: may be chance
        read_sample(np.ones(30, bool), np.repeat([1.0, 2.0], 15), np.repeat([0.2, 0.1], 15))
    read_sample(np.ones(30, bool), chance, chance)  # drawn by size


@pytest.mark.parametrize("policy", ["tail", "uncertainty"])
@pytest.mark.parametrize("digits", [1, 2, 3])
def test_a_lot_among_equal_scores_is_no_draw(policy, digits):
    """Rounded scores: some rows at the cut are drawn, which says nothing of rows further down."""
    rng = np.random.default_rng(0)
    prob = np.round(1 / (1 + np.exp(-rng.normal(-4, 1.5, 2000))), digits)
    choice = choose_labels(prob, policy=policy, n=60, random_state=0)
    assert len(np.unique(prob[choice.rows])) < 60
    assert (choice.weights() == 1).all()
    y = np.full(2000, np.nan)
    y[choice.rows] = 0.0
    with refused("certain-labels", DataError):
        read_sample(~np.isnan(y), None, choice)
    copied = LabelChoice(choice.rows, np.full(60, 0.4), choice.policy, 60, 2000)
    with refused("certain-labels", DataError):  # a choice knows its policy
        read_sample(~np.isnan(y), None, copied.inclusion(2000))
    tied = prob[choice.rows] == prob[choice.rows[-1]]
    share = tied.sum() / (prob == prob[choice.rows[-1]]).sum()
    if share < 1 and digits > 1:
        lot = np.full(2000, np.nan)
        lot[choice.rows] = np.where(tied, share, 1.0)
        with refused("inclusion-sum", DataError):  # as earlier versions wrote them
            read_sample(~np.isnan(y), None, lot)


def test_labels_drawn_in_rounds_speak_through_their_weights():
    choice = LabelChoice(
        np.array([7, 2, 5]),
        np.array([0.5, 0.1, 1.0]),
        np.array(["explored", "explored", "uncertainty"]),
        asked=3,
        candidates=11,
        round=np.array([1, 2, 2]),
    )
    known = np.zeros(11, bool)
    known[[2, 5, 7]] = True
    sample = read_sample(known, np.arange(1.0, 12.0), choice)
    assert sample.rows.tolist() == [2, 5, 7]
    wanted = np.arange(1.0, 12.0)[choice.rows] * choice.weights()
    np.testing.assert_allclose(sample.weight, wanted[[1, 2, 0]])
    assert sample.total == 66
    assert "stated probability" in sample.assumes
    known[9] = True
    with refused("labelled-without-inclusion", DataError, row=9):
        read_sample(known, None, choice)
    known[[5, 9]] = False
    with refused("lost-answer", DataError, row=5):
        read_sample(known, None, choice)


@pytest.mark.parametrize(
    "groups",
    [
        ["b", "a", "b", "c"],
        np.array(["b", "a", "b", "c"]),
        pd.Series(["b", "a", "b", "c"], dtype="category"),
        [2, 1, 2, 5],
        np.array([2.5, 1.5, 2.5, 9.0]),
        [("x", 2), ("x", 1), ("x", 2), ("y", 0)],
        pd.to_datetime(["2024-02-01", "2024-01-01", "2024-02-01", "2024-03-01"]),
    ],
)
def test_groups_may_be_called_anything(groups):
    assert read_groups(groups, 4, np.arange(4)).tolist() == [1, 0, 1, 2]
    assert read_groups(groups, 4, np.array([0, 2, 3])).tolist() == [0, 0, 1]  # no gaps


def test_groups_of_mixed_kinds_keep_the_order_of_rows():
    assert read_groups(["b", 1, "b", 7.5], 4, np.arange(4)).tolist() == [0, 1, 0, 2]


@pytest.mark.parametrize(
    ("groups", "code"),
    [
        ([1, None, 2], "missing-group"),
        ([1.0, 2.0, np.nan], "missing-group"),
        ([[1], [2], [3]], "not-a-column"),
        ([1, 2], "length-mismatch"),
        ("card", "not-a-column"),
        ([4, 4, 4], "one-group"),
    ],
)
def test_strange_groups_are_refused(groups, code):
    with refused(code, DataError):
        read_sample(np.ones(3, bool), None, None, groups)


def test_what_comes_together_is_counted_as_seen_and_once_more_as_around_it():
    # Four groups of five rows; class 1 fills the first one and is one row of the second.
    group = np.repeat(np.arange(4), 5)
    event = np.isin(np.arange(20), [0, 1, 2, 3, 4, 5])
    sample = Sample(np.arange(20), np.ones(20), 20.0, False, group)
    assert sample.together() == 5
    of_events = (2 * (5 * 5 + 1) / 6 + 5) / 3
    assert sample.together(event) == pytest.approx(of_events)
    missed = np.arange(20) == 5
    assert sample.together(event, missed) == pytest.approx((1 * 1 + of_events) / 2)
    assert sample.together(event, np.zeros(20, bool)) == pytest.approx(of_events)
    assert sample.together(np.zeros(20, bool)) == 5  # never met: the whole group may be
    alone = Sample(np.arange(20), np.arange(1.0, 21.0), 20.0, False, np.arange(20))
    assert alone.together(event, missed) == pytest.approx(1)
    assert Sample(np.arange(20), np.ones(20), 20.0, False).together(event) == 1


@pytest.mark.parametrize(
    ("part", "group", "words"),
    [
        ([1.0, 0, 0], None, "about 1 row"),
        ([1.0, 0.2, 0], None, "about 1 row"),
        ([1.0, 1.0, 0], None, "about 2 rows"),
        ([1.0] * 3 + [0.0] * 47, np.arange(50), "about 3 groups"),
    ],
)
def test_few_rows_behind_a_number_are_said(part, group, words):
    sample = Sample(np.arange(len(part)), np.ones(len(part)), 1.0, False, group)
    assert sample.few((), (), np.array(part)) == f"; few: the cost lies on {words}"


def test_few_labels_and_few_groups_are_said():
    sample = Sample(np.arange(12), np.ones(12), 12.0, False, np.arange(12) // 2)
    few = sample.few((0, 1), [500, 1])
    assert few == "; few: 1 labelled row of class 1, 6 groups"
    assert codes(few_remarks(few)) == ["few-rows"]
    assert few_remarks("") == ()
    assert Sample(np.arange(12), np.ones(12), 12.0, False).few((0, 1), [500, 10], np.ones(12)) == ""
