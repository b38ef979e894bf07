"""Risk against coverage: by double loop, over all orders of ties, with costs and classes."""

import itertools
import json

import numpy as np
import pytest
from scipy.integrate import quad

from scarce import DataError, UsageError
from scarce.decisions.costs import CostMatrix
from scarce.decisions.decide import cheapest
from scarce.evaluation.cost import mean_cost
from scarce.evaluation.coverage import ordered_area, risk_coverage
from tests.problems import refused

QUICK = {"resamples": 100}


def slow_area(loss):
    """Mean over k of the mean loss of the first k rows: the double loop."""
    return np.mean([np.mean(loss[: k + 1]) for k in range(len(loss))])


@pytest.fixture
def rows(rng):
    y = (rng.random(400) < 0.2).astype(int)
    prob = 1 / (1 + np.exp(-(1.5 * rng.normal(size=400) + 2.5 * y - 2)))
    return y, prob


def test_oracle_area_and_excess_by_double_loop(rows):
    y, prob = rows
    loss = (y != (prob > 0.5)).astype(float)
    order = np.argsort(-np.maximum(prob, 1 - prob), kind="stable")
    found = risk_coverage(y, prob, **QUICK)
    assert found.area.value == pytest.approx(slow_area(loss[order]), rel=1e-10)
    best = slow_area(np.sort(loss))
    assert found.excess.value == pytest.approx(slow_area(loss[order]) - best, rel=1e-9)
    assert found.full.value == pytest.approx(loss.mean())
    right = int((loss == 0).sum())
    wanted = [max(0, round(c * 400) - right) / round(c * 400) for c in found.coverage]
    np.testing.assert_allclose(found.best, wanted, atol=1e-12)


def test_oracle_ties_are_averaged_over_all_orders():
    loss = np.array([0.0, 1.0, 0.0, 1.0, 1.0, 0.0])
    sure = np.array([3, 2, 2, 2, 1, 1])
    groups = [np.flatnonzero(sure == value) for value in (3, 2, 1)]
    areas, curves = [], []
    for orders in itertools.product(*(itertools.permutations(group) for group in groups)):
        order = list(itertools.chain(*orders))
        areas.append(slow_area(loss[order]))
        curves.append(np.cumsum(loss[order]) / np.arange(1, 7))
    found = risk_coverage(None, loss=loss, confidence=sure, at=np.arange(1, 7) / 6, **QUICK)
    assert found.area.value == pytest.approx(np.mean(areas), rel=1e-12)
    np.testing.assert_allclose(found.risk, np.mean(curves, axis=0), rtol=1e-12)
    assert found.confidence.tolist() == [3, 2, 2, 2, 1, 1]


def test_a_row_of_weight_two_is_two_rows_of_equal_confidence(rng):
    loss, sure = rng.random(30), rng.random(30)
    twice = rng.integers(1, 4, 30)
    whole = risk_coverage(None, loss=loss, confidence=sure, sample_weight=twice, **QUICK)
    each = risk_coverage(
        None, loss=np.repeat(loss, twice), confidence=np.repeat(sure, twice), **QUICK
    )
    np.testing.assert_allclose(whole.risk, each.risk, rtol=1e-12)
    n = twice.sum() ** 2 / (twice**2).sum()  # the area is a mean over so many rows, not over 60
    assert whole.area.value == pytest.approx(by_effective_rows(loss, sure, twice), rel=1e-9)
    assert abs(whole.area.value - each.area.value) < 0.5 / n


def by_effective_rows(loss, sure, weight):
    """Mean risk over numbers of rows by numerical integration: the sum of 1 / (a + k) to m is the
    integral of t^a (1 - t^m) / (1 - t) from 0 to 1."""
    order = np.argsort(-sure)
    weight = weight[order] * (weight.sum() / (weight**2).sum())
    before, lost, total = 0.0, 0.0, 0.0
    for m, g in zip(weight, loss[order], strict=True):
        steps = quad(lambda t, a=before, m=m: t**a * (1 - t**m) / (1 - t), 0, 1)[0]
        total += m * g + (lost - before * g) * steps
        before, lost = before + m, lost + m * g
    return total / before


def test_oracle_risk_at_every_coverage(rows):
    y, prob = rows
    found = risk_coverage(y, prob, at=[0.1, 0.5, 0.73, 1.0], **QUICK)
    loss = (y != (prob > 0.5)).astype(float)
    order = np.argsort(-np.maximum(prob, 1 - prob), kind="stable")
    for share, risk, sure in zip(found.coverage, found.risk, found.confidence, strict=True):
        k = round(share * 400)
        assert risk == pytest.approx(loss[order][:k].mean(), abs=1e-12)
        assert sure == pytest.approx(-(1 - np.maximum(prob, 1 - prob)[order][k - 1]))


def test_oracle_costs_and_several_classes(rng):
    n = 300
    y = rng.integers(0, 3, n)
    prob = rng.dirichlet([1, 1, 1], n) + 0.8 * np.eye(3)[y]
    prob /= prob.sum(axis=1, keepdims=True)
    costs = CostMatrix([[0, 4, 9], [1, 0, 5], [2, 1, 0], [1.5, 1.5, 1.5]], actions=list("abcd"))
    place = cheapest(prob, costs)
    expected = prob @ costs.costs.T
    loss = costs.costs[place, y]
    for word, sure in (
        ("cost", -expected.min(axis=1)),
        ("margin", np.diff(np.sort(expected, axis=1)[:, :2], axis=1)[:, 0]),
    ):
        found = risk_coverage(y, prob, costs=costs, confidence=word, **QUICK)
        order = np.lexsort((np.arange(n), -sure))
        if word == "margin":  # no ties
            assert found.area.value == pytest.approx(slow_area(loss[order]), rel=1e-9)
        assert found.full.value == pytest.approx(loss.mean())
        given = risk_coverage(y, prob, costs=costs, confidence=sure, **QUICK)
        assert given.area.value == pytest.approx(found.area.value, rel=1e-9)


def test_costs_by_row(rows, rng):
    y, prob = rows
    amount = rng.lognormal(3, 1, len(y))
    costs = CostMatrix.binary(false_alarm=4, miss=amount)
    found = risk_coverage(y, prob, costs=costs, **QUICK)
    acts = prob * amount > 4 * (1 - prob)
    loss = np.where(acts, 4.0 * (y == 0), amount * (y == 1))
    expected = np.minimum(4 * (1 - prob), prob * amount)
    order = np.argsort(expected, kind="stable")
    assert found.area.value == pytest.approx(slow_area(loss[order]), rel=1e-9)


@pytest.mark.parametrize("word", ["brier", "log"])
def test_oracle_proper_losses(rows, word):
    y, prob = rows
    said = np.where(y == 1, prob, 1 - prob)
    loss = (1 - said) ** 2 if word == "brier" else -np.log(said)
    found = risk_coverage(y, prob, loss=word, **QUICK)
    assert found.full.value == pytest.approx(loss.mean(), rel=1e-12)
    order = np.argsort(-np.maximum(prob, 1 - prob), kind="stable")  # the same for two classes
    assert found.area.value == pytest.approx(slow_area(loss[order]), rel=1e-9)


def test_identity_area_of_a_best_order_of_errors():
    """E-AURC's best area is about r + (1 - r) log(1 - r) for an error rate r."""
    loss = np.r_[np.zeros(9000), np.ones(1000)]
    found = risk_coverage(None, loss=loss, confidence=-loss, **QUICK)
    assert found.excess.value == pytest.approx(0, abs=1e-12)
    assert found.area.value == pytest.approx(0.1 + 0.9 * np.log(0.9), rel=2e-3)


def test_operating_points(rows):
    y, prob = rows
    found = risk_coverage(y, prob, resamples=300)
    loss = (y != (prob > 0.5)).astype(float)
    risks = np.cumsum(loss[np.argsort(-np.maximum(prob, 1 - prob), kind="stable")])
    risks = risks / np.arange(1, 401)
    reach = found.coverage_at(0.05)
    last = np.flatnonzero(risks <= 0.05)[-1] + 1
    assert last / 400 <= reach.value < (last + 1) / 400  # part of the next row fits in
    assert reach.low < reach.value < reach.high
    at = found.risk_at(0.8)
    assert at.value == pytest.approx(risks[319], abs=1e-12)
    assert at.low <= at.value <= at.high
    assert found.coverage_at(1.0).value == 1
    assert found.coverage_at(-0.1).value == 0
    band = risk_coverage(y, prob, at=[0.8], resamples=300)
    assert (at.low, at.high) == (band.low[0], band.high[0])


def test_an_unseen_row_does_not_enter_the_risk_of_every_coverage(rng):
    y = (rng.random(500) < 0.02).astype(int)
    prob = 1 / (1 + np.exp(-(rng.normal(size=500) + 3 * y - 4)))
    found = risk_coverage(y, prob, costs=[[0, 100], [1, 0]])
    assert found.area.high < found.full.high  # the surest rows cost less than all of them
    assert found.high[4] > found.area.high  # but what 5 % of them cost is hardly known


def test_part_of_a_group_may_fit_in():
    loss, sure = [0, 0, 0, 0, 1, 0, 1, 0, 1, 0], [2] * 4 + [1] * 6
    found = risk_coverage(None, loss=loss, confidence=sure, **QUICK)
    assert found.coverage_at(0.25).value == pytest.approx(0.8)  # (0 + 4 / 2) / (4 + 4)
    assert found.coverage_at(0.3).value == 1
    assert found.coverage_at(0.0).value == pytest.approx(0.4)


def test_no_error_among_few_sure_rows_is_not_no_risk():
    y, prob = np.r_[np.zeros(40), np.ones(10)], np.r_[np.full(40, 0.01), np.full(10, 0.3)]
    found = risk_coverage(y, prob, at=[0.2, 0.8, 1.0])
    assert found.risk[0] == 0
    assert found.high[0] == pytest.approx(1 - 0.05 ** (1 / 10), rel=0.2)  # ten rows
    assert found.coverage_at(0.01).low == 0


def test_many_rows_go_through_cells_and_agree(rng):
    n = 9000
    y = (rng.random(n) < 0.1).astype(int)
    prob = 1 / (1 + np.exp(-(1.5 * rng.normal(size=n) + 2.5 * y - 3)))
    found = risk_coverage(y, prob, resamples=300)
    loss = (y != (prob > 0.5)).astype(float)
    order = np.argsort(-np.maximum(prob, 1 - prob), kind="stable")
    assert found.area.value == pytest.approx(slow_area(loss[order][:n]), rel=1e-9)
    se = loss.std() / np.sqrt(n)
    assert found.full.high - found.full.low == pytest.approx(2 * 1.645 * se, rel=0.15)
    assert found.area.low < found.area.value < found.area.high


def test_drawn_labels_count_for_the_others(rng):
    n = 20_000
    y = (rng.random(n) < 0.1).astype(float)
    prob = 1 / (1 + np.exp(-(1.5 * rng.normal(size=n) + 2.5 * y - 3)))
    chance = np.where(prob > 0.2, 0.9, 0.1)
    seen = rng.random(n) < chance
    labels, chance = np.where(seen, y, np.nan), np.where(seen, chance, np.nan)
    truth = risk_coverage(y, prob, at=[0.5, 0.9, 1.0], **QUICK)
    found = risk_coverage(labels, prob, at=[0.5, 0.9, 1.0], inclusion=chance, resamples=300)
    assert truth.area.value in found.area
    assert ((found.low <= truth.risk) & (truth.risk <= found.high)).all()
    assert truth.full.value not in risk_coverage(y[seen], prob[seen], **QUICK).full
    with refused("unlabelled-rows", DataError):
        risk_coverage(labels, prob)


def test_formula_of_the_area_for_one_group():
    weight, loss = np.array([[0.0, 5.0]]), np.array([[0.0, 2.0]])
    assert ordered_area(weight, loss)[0] == pytest.approx(0.4)


def test_record_reads_well(rows):
    y, prob = rows
    found = risk_coverage(y, prob, **QUICK)
    assert " 90 % kept" in str(found)
    json.dumps(found.to_dict())
    joint = risk_coverage(y, prob, resamples=100, simultaneous=True)
    assert (joint.high >= found.high).all()


@pytest.mark.parametrize(
    ("y", "prob", "more", "code"),
    [
        ([0, 1], None, {}, "missing-argument"),
        ([0, 1], [0.2, 0.3], {"loss": "brir"}, "unknown-word"),
        ([0, 1], [0.2, 0.3], {"confidence": "margn"}, "unknown-word"),
        ([0, 1], [0.2, 0.3], {"loss": [0, 1]}, "losses-need-confidence"),
        ([0, 1, 1], [0.2, 0.3], {}, "length-mismatch"),
        ([0, 1], [0.0, 0.0], {"loss": "log"}, "infinite-loss"),
        ([0, 1], [0.2, 0.3], {"at": [0.0, 0.5]}, "share-range"),
        ([0, 1], [0.2, 0.3], {"confidence": [1.0]}, "length-mismatch"),
        ([0, 1], [[0.2, 0.2], [0.5, 0.5]], {}, "prob-sum"),
    ],
)
def test_what_does_not_fit_is_refused(y, prob, more, code):
    with refused(code):
        risk_coverage(y, prob, **more)


def test_strange_operating_points_are_refused(rows):
    found = risk_coverage(*rows, **QUICK)
    with refused("share-range", UsageError, argument="coverage", value=0):
        found.risk_at(0)
    for strange in ("low", np.inf, -np.inf, np.nan):
        with refused("not-a-number", UsageError, argument="risk"):
            found.coverage_at(strange)


@pytest.mark.parametrize("word", ["cost", "margin"])
def test_rounding_does_not_tell_equal_confidence_apart(word):
    y, prob = np.ones(6), np.array([0.3] * 3 + [0.7] * 3)
    one = risk_coverage(y, prob, confidence=word, **QUICK)
    two = risk_coverage(y, np.column_stack([1 - prob, prob]), confidence=word, **QUICK)
    clean = np.array([[0.7, 0.3]] * 3 + [[0.3, 0.7]] * 3)
    three = risk_coverage(y, clean, confidence=word, **QUICK)
    for found in (one, two, three):
        assert found.area.value == pytest.approx(0.5, rel=1e-12)
        assert (found.area.low, found.area.high) == (one.area.low, one.area.high)


@pytest.mark.parametrize("loss", ["zero-one", "brier", "log"])
def test_probabilities_on_a_grid_have_one_area_however_they_are_given(rng, loss):
    for _ in range(10):
        tenths = rng.integers(1, 10, 40)
        prob, y = tenths / 10, (rng.random(40) < 0.4).astype(int)
        whole = np.column_stack([(10 - tenths) / 10, prob])
        one, two = (risk_coverage(y, p, loss=loss, **QUICK).area.value for p in (prob, whole))
        assert one == pytest.approx(two, rel=1e-12)
        said = np.where(y == 1, prob, 1 - prob)
        lost = {"zero-one": (y != (prob > 0.5)), "brier": (1 - said) ** 2, "log": -np.log(said)}
        known = risk_coverage(
            None, loss=lost[loss].astype(float), confidence=np.abs(tenths - 5), **QUICK
        )
        assert one == pytest.approx(known.area.value, rel=1e-9)


def test_confidence_that_differs_by_more_than_rounding_is_kept_apart():
    loss = [1.0, 0.0, 0.0]
    tiny = risk_coverage(None, loss=loss, confidence=[3e-300, 2e-300, 1e-300], **QUICK)
    assert tiny.area.value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    near = risk_coverage(None, loss=loss, confidence=[1 + 1e-13, 1.0, 1 - 1e-13], **QUICK)
    assert near.area.value == pytest.approx((1 + 1 / 2 + 1 / 3) / 3)
    equal = risk_coverage(None, loss=loss, confidence=[0.1 + 0.2, 0.3, 0.3], **QUICK)
    assert equal.area.value == pytest.approx(1 / 3)
    # by the amounts of each row: 1e-9 is rounding for a million, and much for 1e-3
    costs = CostMatrix.binary(false_alarm=1.0, miss=np.array([1e-3, 1e-3, 1e6]))
    found = risk_coverage([1, 0, 0], [1e-6, 2e-6, 1e-15], costs=costs, at=[1 / 3], **QUICK)
    assert found.confidence[0] == pytest.approx(-1e-9)
    assert found.risk[0] == pytest.approx((1e-3 + 0) / 2)


def test_the_record_is_json_and_simultaneous_is_yes_or_no(rows):
    found = risk_coverage(*rows, **QUICK)
    json.dumps(found.to_dict(), allow_nan=False)
    assert "_queue" not in found.to_dict()
    for strange in ("yes", np.array([True, False]), None, 1):
        with refused("not-a-flag", UsageError, argument="simultaneous"):
            risk_coverage(*rows, simultaneous=strange, **QUICK)


@pytest.mark.parametrize("prob", ["text", (v for v in [0.2, 0.4]), [0.1 + 1j, 0.2], [None, 0.5]])
def test_what_is_no_probability_is_refused(prob):
    with pytest.raises((DataError, UsageError)):
        risk_coverage([0, 1], prob)


def test_the_risk_of_all_rows_is_the_mean_cost(rows, rng):
    y, prob = rows
    costs = CostMatrix.binary(false_alarm=4, miss=rng.lognormal(3, 1, len(y)))
    group = np.arange(len(y)) // 4
    for more in ({}, {"groups": group}):
        found = risk_coverage(y, prob, costs=costs, **more)
        wanted = mean_cost(y, cheapest(prob, costs), costs, **more)
        assert found.full == wanted
        assert found.risk_at(1.0) == wanted
        assert (found.low[-1], found.high[-1]) == (wanted.low, wanted.high)


def test_an_unseen_error_costs_what_events_cost():
    y, prob = np.r_[np.zeros(95), np.ones(5)], np.r_[np.full(95, 1e-4), np.full(5, 0.9)]
    costs = CostMatrix.binary(false_alarm=1, miss=np.r_[np.ones(95), np.full(5, 100.0)])
    found = risk_coverage(y, prob, costs=costs, at=[0.9])
    assert found.risk[0] == 0
    assert found.high[0] == pytest.approx(100 * (1 - 0.05 ** (1 / 90)), rel=0.15)


def test_classes_with_names_need_costs():
    with refused("unknown-class", DataError, value="legit", source="the columns of prob"):
        risk_coverage(["legit", "fraud"], [0.2, 0.4])
    with refused("unknown-class", DataError, value="frod", row=1, source="the costs"):
        risk_coverage(["legit", "frod"], [0.2, 0.4], costs=CostMatrix.zero_one(["legit", "fraud"]))
