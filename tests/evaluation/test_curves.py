"""Cost, Brier and decision curves: the identities they are known for, and slow plain versions."""

import itertools
import json

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression
from sklearn.metrics import brier_score_loss, roc_curve

from scarce import DataError, UsageError, choose_labels, evaluate
from scarce.decisions.costs import CostMatrix
from scarce.evaluation.cost import mean_cost
from scarce.evaluation.curves import brier_curve, cost_curve, decision_curve
from tests.problems import refused

QUICK = {"resamples": 100}


@pytest.fixture
def rows(rng):
    """Probabilities that are too sure, with ties, and weights."""
    n = 600
    y = (rng.random(n) < 0.15).astype(float)
    prob = (1 / (1 + np.exp(-(2.2 * rng.normal(size=n) + 4 * y - 3)))).round(2)
    return y, prob, rng.choice([0.5, 1.0, 3.0], n)


def slow_errors(y, prob, weight, threshold):
    acts = prob >= threshold
    missed = weight[(y == 1) & ~acts].sum() / weight.sum()
    alarmed = weight[(y == 0) & acts].sum() / weight.sum()
    return missed, alarmed


def integral(points, curve):
    """Exact integral of a curve that is a line between jumps: both ends of each piece."""
    return float(((points[1:] - points[:-1]) * (curve[0] + curve[1]) / 2).sum())


def test_oracle_brier_curve_against_a_loop(rows):
    y, prob, weight = rows
    c = np.array([0.0, 0.02, 0.1, 0.5, 0.77, 1.0])
    found = brier_curve(y, prob, at=c, sample_weight=weight, **QUICK)
    for j, one in enumerate(c):
        missed, alarmed = slow_errors(y, prob, weight, one)
        assert found.cost[j] == pytest.approx(2 * ((1 - one) * missed + one * alarmed), abs=1e-12)


@pytest.mark.parametrize("weighted", [False, True])
def test_identity_area_of_the_brier_curve_is_the_brier_score(rows, weighted):
    y, prob, weight = rows
    weight = weight if weighted else np.ones(len(y))
    jumps = np.unique(np.r_[0.0, prob, 1.0])
    # Between jumps nothing changes but c: the value right after one and right at the next.
    inner = np.array(
        [slow_errors(y, prob, weight, (a + b) / 2) for a, b in itertools.pairwise(jumps)]
    )
    first = 2 * ((1 - jumps[:-1]) * inner[:, 0] + jumps[:-1] * inner[:, 1])
    last = 2 * ((1 - jumps[1:]) * inner[:, 0] + jumps[1:] * inner[:, 1])
    found = brier_curve(y, prob, at=jumps[1:-1], sample_weight=weight, **QUICK)
    np.testing.assert_allclose(found.cost, last[:-1], atol=1e-12)
    score = brier_score_loss(y, prob, sample_weight=weight)
    assert integral(jumps, (first, last)) == pytest.approx(score, rel=1e-12)
    assert found.area.value == pytest.approx(score, rel=1e-12)


def test_identity_area_of_the_lowest_curve_is_the_brier_score_after_calibration(rows):
    y, prob, weight = rows
    fitted = IsotonicRegression().fit(prob, y, sample_weight=weight).predict(prob)
    refined = brier_score_loss(y, fitted, sample_weight=weight)
    fine = np.linspace(0, 1, 501)
    found = brier_curve(y, prob, at=fine, sample_weight=weight, **QUICK)
    assert np.trapezoid(found.best, fine) == pytest.approx(refined, rel=1e-3)
    assert refined < found.best_area.value < 1.2 * refined  # thresholds of other rows count as much
    lost = brier_score_loss(y, prob, sample_weight=weight) - refined
    parts = found.best_area.value + found.regret_area.value
    assert parts == pytest.approx(found.area.value, rel=1e-12)
    assert np.trapezoid(found.regret, fine) == pytest.approx(lost, rel=0.01)
    assert (found.regret >= 0).all()


def test_calibrated_probabilities_have_no_regret(rows):
    y, prob, _ = rows
    fitted = IsotonicRegression().fit(prob, y).predict(prob)
    found = brier_curve(y, fitted, **QUICK)
    np.testing.assert_allclose(found.regret, 0, atol=1e-12)
    assert found.regret_area.value == pytest.approx(0, abs=1e-12)
    assert found.regret_area.low == pytest.approx(0, abs=1e-12)


def test_oracle_cost_curve_is_the_lower_envelope_of_the_roc_curve(rows):
    y, prob, weight = rows
    alarm, hit, cut = roc_curve(y, prob, sample_weight=weight, drop_intermediate=False)
    x = np.linspace(0, 1, 21)
    lines = x[:, None] * (1 - hit) + (1 - x[:, None]) * alarm
    found = cost_curve(y, prob, at=x, sample_weight=weight, **QUICK)
    np.testing.assert_allclose(found.cost, lines.min(axis=1), atol=1e-12)
    for j in range(len(x)):
        at = np.flatnonzero(cut == found.threshold[j])
        if len(at):  # the threshold that is named reaches the cost that is told
            assert lines[j, at[0]] == pytest.approx(found.cost[j], abs=1e-12)
    assert (found.cost <= found.trivial + 1e-12).all()


def test_identity_area_of_the_cost_curve_is_a_balanced_brier_score_after_calibration(rows):
    y, prob, weight = rows
    balanced = weight / np.where(y == 1, weight[y == 1].sum(), weight[y == 0].sum())
    fitted = IsotonicRegression().fit(prob, y, sample_weight=balanced).predict(prob)
    wanted = brier_score_loss(y, fitted, sample_weight=balanced)
    fine = np.linspace(0, 1, 501)
    found = cost_curve(y, prob, at=fine, sample_weight=weight, **QUICK)
    assert np.trapezoid(found.cost, fine) == pytest.approx(wanted, rel=1e-3)
    assert wanted < found.area.value < 1.2 * wanted


def test_invariant_cost_curve_knows_neither_prevalence_nor_scale(rows):
    y, prob, _ = rows
    base = cost_curve(y, prob, **QUICK)
    rare = cost_curve(y, prob, sample_weight=np.where(y == 1, 0.01, 1.0), **QUICK)
    np.testing.assert_allclose(rare.cost, base.cost, atol=1e-12)
    moved = cost_curve(y, np.exp(5 * prob), **QUICK)
    np.testing.assert_allclose(moved.cost, base.cost, atol=1e-12)
    np.testing.assert_allclose(moved.low, base.low, atol=1e-12)
    swapped = cost_curve(1 - y, -prob, **QUICK)
    np.testing.assert_allclose(swapped.cost, base.cost[::-1], atol=1e-12)


def test_oracle_net_benefit_as_printed(rows):
    y, prob, weight = rows
    t = np.array([0.05, 0.2, 0.6])
    found = decision_curve(y, prob, at=t, sample_weight=weight, **QUICK)
    share = weight[y == 1].sum() / weight.sum()
    for j, one in enumerate(t):
        missed, alarmed = slow_errors(y, prob, weight, one)
        wanted = (share - missed) - alarmed * one / (1 - one)
        assert found.net_benefit[j] == pytest.approx(wanted, abs=1e-12)
        on_all = share - (1 - share) * one / (1 - one)
        assert found.act_on_all[j] == pytest.approx(on_all, abs=1e-12)
        assert found.gain[j] == pytest.approx(wanted - max(on_all, 0), abs=1e-12)
    assert found.prevalence.value == pytest.approx(share)


def test_net_benefit_is_a_mean_cost_in_other_units(rows):
    y, prob, _ = rows
    t = 0.2
    costs = CostMatrix.binary(false_alarm=t / (1 - t), miss=1.0)
    cost = mean_cost(y.astype(int), (prob >= t).astype(int), costs, **QUICK).value
    found = decision_curve(y, prob, at=[t], **QUICK)
    assert found.net_benefit[0] == pytest.approx(y.mean() - cost, abs=1e-12)


def test_useless_and_useful_probabilities_are_told_apart(rng):
    y = (rng.random(3000) < 0.1).astype(float)
    useless = decision_curve(y, rng.random(3000) * 0.2)
    assert useless.worth.mean() < 0.1
    useful = decision_curve(y, np.clip(0.1 + 0.5 * y + 0.1 * rng.normal(size=3000), 0, 1))
    assert useful.worth.mean() > 0.8
    assert "between" in str(useful)


def test_bands_contain_curves_and_simultaneous_ones_are_wider(rows):
    y, prob, _ = rows
    for make, name in (
        (cost_curve, "cost"),
        (brier_curve, "cost"),
        (decision_curve, "net_benefit"),
    ):
        point = make(y, prob, resamples=200)
        joint = make(y, prob, resamples=200, simultaneous=True)
        curve = getattr(point, name)
        assert (point.low <= curve).all()
        assert (curve <= point.high).all()
        assert (joint.low <= point.low).all()
        assert (joint.high >= point.high).all()
        assert (joint.high - joint.low).sum() > 1.1 * (point.high - point.low).sum()
        assert joint.simultaneous


def test_three_events_without_a_miss_do_not_make_a_certain_curve():
    y = np.r_[np.zeros(300), np.ones(3)]
    prob = np.r_[np.full(300, 0.001), np.full(3, 0.9)]
    found = brier_curve(y, prob, at=[0.1])
    assert found.cost[0] == 0
    assert found.high[0] > 2 * 0.9 * 2 / 303
    assert "3 labelled rows of class 1" in found.remarks[0]
    assert found.area.high > 1 / 303
    assert cost_curve(y, prob, at=[0.5]).high[0] > 0.2


def test_simulation_curves_with_drawn_labels(rng):
    n = 20_000
    y = (rng.random(n) < 0.05).astype(float)
    prob = 1 / (1 + np.exp(-(rng.normal(size=n) + 2.5 * y - 3.5)))
    chance = np.where(prob > 0.3, 1.0, 0.15)
    seen = rng.random(n) < chance
    labels, chance = np.where(seen, y, np.nan), np.where(seen, chance, np.nan)
    c = [0.02, 0.1, 0.4]
    truth = brier_curve(y, prob, at=c, **QUICK)
    found = brier_curve(labels, prob, at=c, inclusion=chance, resamples=300)
    assert ((found.low <= truth.cost) & (truth.cost <= found.high)).all()
    assert truth.area.value in found.area
    skipped = brier_curve(y[seen], prob[seen], at=c, **QUICK)
    assert truth.area.value not in skipped.area
    with refused("unlabelled-rows", DataError):
        brier_curve(labels, prob)


@pytest.mark.parametrize(("sharp", "n"), [(1.0, 4000), (3.0, 400)])
def test_simulation_limits_of_regret_hold(sharp, n):
    """Right probabilities lose nothing, and in-sample thresholds must not make that a loss."""
    rng = np.random.default_rng(11)
    whole, point, reps, c = 0, 0, 30, 0.1
    x = rng.normal(size=200_000)
    right, said = 1 / (1 + np.exp(3 - x)), 1 / (1 + np.exp(sharp * (3 - x)))
    area = float(np.mean((said - right) ** 2))
    here = 2 * float(np.mean(np.abs(right - c) * ((said >= c) != (right >= c))))
    for _ in range(reps):
        x = rng.normal(size=n)
        y = (rng.random(n) < 1 / (1 + np.exp(3 - x))).astype(float)
        said = 1 / (1 + np.exp(sharp * (3 - x)))
        found = brier_curve(y, said, at=[c], resamples=100)
        whole += area in found.regret_area
        point += found.regret_low[0] <= here <= found.regret_high[0]
    assert whole / reps >= 0.85
    assert point / reps >= 0.85


def test_low_limit_of_regret_is_against_thresholds_from_other_rows(rng):
    """With noise for scores, the best thresholds of these rows are worth nothing on others."""
    y = (rng.random(300) < 0.3).astype(float)
    found = brier_curve(y, rng.uniform(0.25, 0.35, 300), at=[0.3], resamples=300)
    assert found.regret[0] > 0.01
    assert found.regret_low[0] == 0
    assert found.regret_area.low == 0
    assert found.regret_area.value < 0.2 * (found.regret_area.high + found.regret[0])


def test_an_event_between_two_thresholds_may_have_been_missed_by_luck():
    """All alarms below 0.9 were false; one event among them would have paid for many."""
    y, prob = np.r_[np.zeros(300), np.ones(12)], np.r_[np.full(300, 0.2), np.full(12, 0.9)]
    found = brier_curve(y, prob, at=[0.1])
    assert found.regret[0] == pytest.approx(2 * 0.1 * 300 / 312)
    assert found.regret_low[0] == pytest.approx(found.regret[0] - 2 * 0.9 * 3 / 315, rel=0.02)


def audit(scale=1.0):
    """All of 100 alerts are labelled, and one in a hundred of the rest, without an event."""
    y = np.r_[np.ones(30), np.zeros(170), np.full(9900, np.nan)]
    prob = np.r_[np.full(100, 0.3), np.full(10_000, 0.03)]
    chance = np.r_[np.ones(100), np.full(100, 0.01), np.full(9900, np.nan)]
    return y, prob, {"inclusion": chance, "sample_weight": np.full(10_100, scale)}


@pytest.mark.parametrize("scale", [1.0, 1e-3])
def test_an_event_hides_in_rows_that_were_looked_at_thinly(scale):
    """At 2 % everybody is acted on, and net benefit is the base rate in other units."""
    y, prob, how = audit(scale)
    found = decision_curve(y, prob, at=[0.02, 0.1], **how)
    assert found.prevalence.high == pytest.approx(0.0306, abs=0.002)
    share = np.array([found.prevalence.low, found.prevalence.high])
    low, high = share - (1 - share) * 0.02 / 0.98
    assert (found.low[0], found.high[0]) == pytest.approx((low, high), abs=0.003)
    assert found.gain_high[0] == 0  # where that pays, so does acting on all
    # Alerts alone are acted on at 10 %, all of them labelled: there is nothing to hide among.
    alone = decision_curve(y[:100], prob[:100], at=[0.1])
    assert found.high[1] * 10_100 == pytest.approx(alone.high[0] * 100, rel=0.1)
    happened = evaluate(y, prob, **how).happened[0]
    assert (found.prevalence.low, found.prevalence.high) == (happened.low, happened.high)


def test_missed_events_weigh_what_rows_below_the_threshold_do():
    """Below 10 % are a hundred rows that stand for a hundred each: 3 misses in 100 at most."""
    y, prob, how = audit()
    found = brier_curve(y, prob, at=[0.1], **how)
    assert found.high[0] == pytest.approx(2 * (0.9 * 0.0297 + 0.1 * 70 / 10_100), rel=0.15)


def test_simulation_net_benefit_of_an_audit_holds():
    """All alerts and 200 others as `choose_labels` draws them; at .01 and .02 6 in 10 held."""
    rng = np.random.default_rng(4)
    z = rng.normal(size=400_000)
    given = 1 / (1 + np.exp(5.5 - 1.5 * z))
    at, true = np.quantile(given, [0.2, 0.5, 0.9]), (rng.random(len(z)) < given)
    wanted = [np.mean(np.where(given >= t, true - ~true * t / (1 - t), 0.0)) for t in at]
    held, repeats = np.zeros(3), 60
    for _ in range(repeats):
        rows = rng.integers(len(z), size=5000)
        prob, y = given[rows], true[rows].astype(float)
        alert = prob >= np.quantile(prob, 0.98)
        seen = np.where(alert, y, np.nan)
        choice = choose_labels(
            prob, seen, policy="audit", n=200, threshold=prob[alert].min(), random_state=rng
        )
        chance = choice.inclusion(len(y))
        chance[alert] = 1.0
        y = np.where(np.isnan(chance), np.nan, y)
        found = decision_curve(y, prob, at=at, inclusion=chance, **QUICK)
        held += (found.low <= wanted) & (wanted <= found.high)
    assert (held / repeats >= 0.85).all()


def test_simulation_areas_are_about_further_rows():
    """With 6 events thresholds chosen on them cost a third less than they will."""
    rng = np.random.default_rng(3)
    z = np.sort(rng.normal(size=400_000))
    true = 1 / (1 + np.exp(8 - 1.5 * z))
    missed = np.append(0.0, np.cumsum(true)) / true.sum()
    alarmed = 1 - np.append(0.0, np.cumsum(1 - true)) / (1 - true).sum()
    x = np.linspace(0, 1, 101)
    best = [np.min(one * missed + (1 - one) * alarmed) for one in x]
    wanted, found, plain = np.trapezoid(best, x), [], []
    for _ in range(60):
        prob = 1 / (1 + np.exp(8 - 1.5 * rng.normal(size=3000)))
        y = (rng.random(3000) < prob).astype(float)
        if y.sum() > 1:
            curve = cost_curve(y, prob, at=x, **QUICK)
            found.append(curve.area)
            plain.append(np.trapezoid(curve.cost, x))
    values = np.array([one.value for one in found])
    assert np.mean(plain) < 0.8 * wanted
    assert values.mean() == pytest.approx(wanted, rel=0.15)
    assert np.mean([wanted in one for one in found]) >= 0.87
    assert np.median([one.width for one in found]) < 0.19  # of 0.25; before, 0.2


def test_another_threshold_may_be_the_best_one():
    """Two thresholds cost about the same: the low limit is that of the better one, by luck."""
    y = np.repeat([0, 1, 0, 1, 0, 1], [900, 2, 500, 8, 100, 10])
    score = np.repeat([1.0, 2.0, 3.0], [902, 508, 110])
    found = cost_curve(y, score, at=[0.5])
    others = np.array([0.5 * (k / 20) + 0.5 * (n / 1500) for k, n in ((2, 600), (10, 100))])
    assert found.cost[0] == pytest.approx(others.min())
    assert found.low[0] < others.min() - 0.05


def test_records_are_plain_data(rows):
    y, prob, _ = rows
    for make in (cost_curve, brier_curve, decision_curve):
        found = make(y, prob, at=[0.2, 0.4], **QUICK)
        json.dumps(found.to_dict(), allow_nan=False)
        assert "%" in str(found)
    ends = cost_curve([0, 1, 0], [0.1, 0.5, 0.9], at=[0.0, 1.0], **QUICK)
    assert ends.threshold.tolist() == [np.inf, -np.inf]
    held = json.loads(json.dumps(ends.to_dict(), allow_nan=False))
    assert held["threshold"] == ["Infinity", "-Infinity"]
    assert held["miss_rate"] == [1.0, 0.0]


@pytest.mark.parametrize("make", [cost_curve, brier_curve, decision_curve])
@pytest.mark.parametrize("strange", ["yes", np.array([True, False]), None, 1])
def test_simultaneous_is_yes_or_no(rows, make, strange):
    with refused("not-a-flag", UsageError, argument="simultaneous"):
        make(*rows[:2], simultaneous=strange)


def test_the_same_rows_in_any_order(rows, rng):
    y, prob, weight = rows
    mixed = rng.permutation(len(y))
    one = brier_curve(y, prob, at=[0.1, 0.4], sample_weight=weight, **QUICK)
    two = brier_curve(y[mixed], prob[mixed], at=[0.1, 0.4], sample_weight=weight[mixed], **QUICK)
    np.testing.assert_allclose(two.low, one.low, rtol=1e-12)
    np.testing.assert_allclose(two.regret_high, one.regret_high, rtol=1e-12)


@pytest.mark.parametrize(
    ("make", "y", "prob", "more", "code"),
    [
        (brier_curve, [0, 1], [0.1, 1.2], {}, "prob-range"),
        (brier_curve, [0, 2], [0.1, 0.2], {}, "unknown-label"),
        (brier_curve, [0, 1], [0.1], {}, "length-mismatch"),
        (brier_curve, [0, 1], [0.1, 0.2], {"at": [0.5, 0.2]}, "not-increasing"),
        (decision_curve, [0, 1], [0.1, 0.2], {"at": [0.0, 0.2]}, "not-increasing"),
        (cost_curve, [0, 0], [0.1, 0.2], {}, "one-class"),
        (cost_curve, [1, 1], [0.1, 0.2], {}, "one-class"),
        (cost_curve, [0, 1], [0.1, np.nan], {}, "not-finite"),
    ],
)
def test_what_does_not_fit_is_refused(make, y, prob, more, code):
    with refused(code):
        make(y, prob, **more)


def test_the_best_threshold_is_no_worse_than_acting_on_all_or_on_none():
    """One event has none to learn from in the other folds: it would seem to cost 0.4 of 0.25."""
    prob = np.random.default_rng(1).random(51)
    y = np.r_[np.zeros(50), 1.0]
    assert cost_curve(y, prob, **QUICK).area.value <= 0.25
    found = brier_curve(y, prob, **QUICK)
    assert found.best_area.value <= 50 / 51**2 + 1e-12
    parts = found.best_area.value + found.regret_area.value
    assert parts == pytest.approx(found.area.value, rel=1e-12)


def test_many_rows_in_slices_have_the_interval_of_each_row():
    """Beyond 4,096 rows those of one slice of the score are drawn together."""
    rng = np.random.default_rng(2)
    prob = 1 / (1 + np.exp(3 - 1.5 * rng.normal(size=4000)))
    y = (rng.random(4000) < prob**2).astype(float)
    weight = rng.lognormal(0, 1, 4000)
    each = brier_curve(y, prob, sample_weight=weight, at=[0.1])
    more = [np.r_[one, rest] for one, rest in ((y, [0.0] * 200), (prob, [1e-9] * 200))]
    tiny = np.r_[weight, np.full(200, 1e-9)]  # so that there are too many rows
    slices = brier_curve(*more, sample_weight=tiny, at=[0.1])
    for name in ("best_area", "regret_area"):
        one, two = getattr(each, name), getattr(slices, name)
        assert two.value == pytest.approx(one.value, rel=0.05)  # other folds are dealt
        assert two.width == pytest.approx(one.width, rel=0.1)
