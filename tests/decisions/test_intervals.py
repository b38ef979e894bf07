"""Decisions between bounds: against linear programmes and grids, and what must hold for any."""

import json

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import linprog

from scarce.decisions.costs import CostMatrix
from scarce.decisions.decide import decide, expected_cost
from scarce.decisions.intervals import decide_between, greatest
from scarce.errors import DataError, UsageError
from tests.problems import refused

LETTERS = np.array(list("abcdef"))


def boxes(rng, n, n_classes, width=0.3):
    """Boxes around distributions, so that none is empty."""
    prob = rng.dirichlet(np.ones(n_classes), n)
    low = np.maximum(prob - width * rng.random(prob.shape), 0.0)
    return low, np.minimum(prob + width * rng.random(prob.shape), 1.0)


def lettered(table):
    """Costs whose actions are not called like the classes, so that any numbers make sense."""
    return CostMatrix(table, actions=LETTERS[: np.shape(table)[-2]])


def dearest(value, low, high):
    """The same maximum by a linear programme."""
    answer = linprog(
        -value, A_eq=np.ones((1, len(value))), b_eq=[1.0], bounds=list(zip(low, high, strict=True))
    )
    assert answer.status == 0
    return -answer.fun


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3, 5])
def test_oracle_bounds_are_those_of_linear_programmes(rng, n_classes, by_row):
    n, n_actions = 8, 4
    low, high = boxes(rng, n, n_classes)
    costs = rng.normal(size=(n, n_actions, n_classes) if by_row else (n_actions, n_classes))
    table = np.broadcast_to(costs, (n, n_actions, n_classes))
    regret, worst = np.zeros((n, n_actions)), np.zeros((n, n_actions))
    kept = np.ones((n, n_actions), bool)
    for i in range(n):
        for a in range(n_actions):
            worst[i, a] = dearest(table[i, a], low[i], high[i])
            for b in range(n_actions):
                over = dearest(table[i, a] - table[i, b], low[i], high[i])
                regret[i, a] = max(regret[i, a], over)
                kept[i, b] &= over >= 0 or a == b
    found = decide_between(low, high, lettered(costs))
    np.testing.assert_allclose(found.bound, regret.min(axis=1), atol=1e-12)
    np.testing.assert_array_equal(found.actions, LETTERS[regret.argmin(axis=1)])
    np.testing.assert_array_equal(found.admissible, kept)
    np.testing.assert_array_equal(found.settled, regret.min(axis=1) < 1e-12)
    found = decide_between(low, high, lettered(costs), rule="worst")
    np.testing.assert_allclose(found.bound, worst.min(axis=1), atol=1e-12)
    np.testing.assert_array_equal(found.actions, LETTERS[worst.argmin(axis=1)])


def test_oracle_no_probability_inside_the_interval_regrets_more(rng):
    low = rng.random(50)
    high = low + (1 - low) * rng.random(50)
    costs = CostMatrix.binary(false_alarm=1, miss=7).with_abstain(0.8)
    found = decide_between(low, high, costs)
    met = np.zeros(50)
    for share in np.linspace(0, 1, 101):
        table = expected_cost(low + share * (high - low), costs)
        mine = np.take_along_axis(table, positions(found, costs)[:, None], axis=1)[:, 0]
        over = mine - table.min(axis=1)
        assert (over <= found.bound + 1e-12).all()
        assert (over[found.settled] <= 1e-12).all()
        met = np.maximum(met, over)
    np.testing.assert_allclose(met, found.bound, atol=1e-12)  # and the bound is reached
    assert 0 < found.settled.sum() < 50


def positions(found, costs):
    names = np.array([str(name) for name in costs.actions])
    return np.argmax(found.actions.astype(str)[:, None] == names, axis=1)


@pytest.mark.parametrize("rule", ["regret", "worst"])
@pytest.mark.parametrize("n_classes", [2, 3, 4])
def test_a_point_is_decided_as_decide_does_ties_included(rng, n_classes, rule):
    prob = np.vstack(
        [
            rng.dirichlet(np.ones(n_classes), 3000),
            rng.integers(0, 2, (200, n_classes)) + 1.0,  # many equal probabilities
        ]
    )
    prob /= prob.sum(axis=1, keepdims=True)
    costs = CostMatrix.zero_one(n_classes).with_abstain(1 - 1 / n_classes)
    found = decide_between(prob, prob, costs, rule=rule)
    np.testing.assert_array_equal(found.actions, decide(prob, costs))
    assert found.settled.all()
    if rule == "regret":
        assert (found.bound == 0).all()
    else:
        np.testing.assert_array_equal(found.bound, expected_cost(prob, costs).min(axis=1))


@pytest.mark.parametrize("n_classes", [2, 3])
def test_ties_that_rounding_settles_are_settled_as_decide_does(rng, n_classes):
    """Tenths: sums that are equal on paper differ in the last digit, or not, by luck."""
    tenths = np.array([at for at in np.ndindex(*[11] * n_classes) if sum(at) == 10]) / 10
    for _ in range(60):
        costs = lettered(rng.integers(0, 10, (5, n_classes)) / 10)
        found = decide_between(tenths, tenths, costs)
        np.testing.assert_array_equal(found.actions, decide(tenths, costs))
        assert (found.bound == 0).all()


def test_ties_of_single_numbers_go_as_decide_has_them():
    prob = np.array([0.1, 0.5, 0.3, 0.7])
    for costs in ([[0, 1], [1, 0]], [[0, 9], [1, 0]], [[1, 1], [1, 1]]):
        found = decide_between(prob, prob, costs)
        np.testing.assert_array_equal(found.actions, decide(prob, costs))


def test_single_numbers_and_columns_of_two_classes_agree(rng):
    low = rng.random(200) * 0.5
    high = low + 0.3 * rng.random(200)
    costs = lettered(rng.normal(size=(4, 2)))
    one = decide_between(low, high, costs)
    two = decide_between(np.column_stack([1 - high, low]), np.column_stack([1 - low, high]), costs)
    np.testing.assert_array_equal(one.actions, two.actions)
    np.testing.assert_allclose(one.bound, two.bound, atol=1e-13)
    loose = decide_between(
        np.column_stack([np.zeros(200), low]), np.column_stack([np.ones(200), high]), costs
    )
    np.testing.assert_allclose(one.bound, loose.bound, atol=1e-13)  # bounds tightened


def test_costs_scaled_scale_the_bounds_and_classes_may_be_shifted(rng):
    low, high = boxes(rng, 60, 3)
    costs = rng.normal(size=(4, 3))
    plain = decide_between(low, high, lettered(costs))
    scaled = decide_between(low, high, lettered(8 * costs))
    np.testing.assert_array_equal(plain.actions, scaled.actions)
    np.testing.assert_array_equal(8 * plain.bound, scaled.bound)
    shifted = decide_between(low, high, lettered(costs + [3.0, -2.0, 0.5]))
    np.testing.assert_array_equal(plain.actions, shifted.actions)
    np.testing.assert_allclose(plain.bound, shifted.bound, atol=1e-12)


@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_dominated_action_changes_nothing(rng, n_classes):
    low, high = boxes(rng, 60, n_classes)
    costs = rng.normal(size=(3, n_classes))
    worse = lettered(np.vstack([costs, costs[1] + 0.1 + rng.random(n_classes)]))
    for rule in ("regret", "worst"):
        plain = decide_between(low, high, lettered(costs), rule=rule)
        more = decide_between(low, high, worse, rule=rule)
        np.testing.assert_array_equal(plain.actions, more.actions)
        np.testing.assert_array_equal(plain.bound, more.bound)
        np.testing.assert_array_equal(plain.settled, more.settled)
        assert not more.admissible[:, -1].any()


@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("rule", ["regret", "worst"])
def test_wider_intervals_never_promise_more(rng, n_classes, rule):
    prob = rng.dirichlet(np.ones(n_classes), 100)
    costs = lettered(rng.normal(size=(4, n_classes)))
    down, up = prob * rng.random(prob.shape), (1 - prob) * rng.random(prob.shape)
    before = None
    for width in (0.0, 0.1, 0.4, 1.0):
        found = decide_between(prob - width * down, prob + width * up, costs, rule=rule)
        if before is not None:
            assert (found.bound >= before.bound - 1e-12).all()
            assert (found.settled <= before.settled).all()
            assert (found.admissible >= before.admissible).all()
        before = found
    assert not before.settled.all()


def test_the_action_of_least_regret_is_admissible(rng):
    low, high = boxes(rng, 300, 3, width=0.6)
    found = decide_between(low, high, lettered(rng.normal(size=(5, 3))))
    chosen = np.searchsorted(LETTERS, found.actions)
    assert np.take_along_axis(found.admissible, chosen[:, None], axis=1).all()
    assert (found.admissible.sum(axis=1)[found.settled] == 1).all()


def test_doubt_may_call_for_an_action_that_no_probability_does():
    """Asking costs 0.6, more than the 0.5 that a guess costs at worst; with no idea, it is best."""
    costs = CostMatrix.zero_one(2).with_abstain(0.6, name="ask")
    assert "ask" not in decide(np.linspace(0, 1, 101), costs).tolist()
    found = decide_between([0.0], [1.0], costs)
    assert found.actions.tolist() == ["ask"]
    assert found.bound[0] == 0.6


def test_of_equal_worst_cases_the_action_that_is_never_dearer_is_taken():
    # Both cost 1 at worst (class 1); the second is cheaper in class 0.
    found = decide_between([0.5], [1.0], lettered([[1, 1], [0, 1]]), rule="worst")
    assert found.actions.tolist() == ["b"]
    assert found.settled.all()


def test_small_pieces_give_the_same_bits(rng, monkeypatch):
    low, high = boxes(rng, 5000, 3)
    costs = lettered(rng.normal(size=(5000, 4, 3)))
    whole = decide_between(low, high, costs)
    monkeypatch.setattr("scarce.decisions.decide.CELLS", 1)
    parts = decide_between(low, high, costs)
    np.testing.assert_array_equal(whole.bound, parts.bound)
    np.testing.assert_array_equal(whole.actions, parts.actions)


def test_probabilities_in_single_precision_are_points(rng):
    prob = rng.dirichlet(np.ones(6), 500).astype(np.float32)
    assert (prob.astype(float).sum(axis=1) != 1).any()
    found = decide_between(prob, prob, 1 - np.eye(6))
    np.testing.assert_array_equal(found.actions, prob.argmax(axis=1))


def test_mass_left_over_goes_to_the_dearest_class_first():
    low = np.array([[0.1, 0.2, 0.3], [0.0, 0.0, 0.0]])
    width = np.array([[0.9, 0.1, 0.05], [1.0, 0.5, 0.5]])
    value = np.array([0.0, 2.0, 5.0])
    expected = [0.35 * 5 + 0.3 * 2 + 0.35 * 0, 0.5 * 5 + 0.5 * 2]
    free = 1 - low.sum(axis=1)
    np.testing.assert_allclose(greatest(value, low, width, free), expected)
    np.testing.assert_allclose(greatest(np.tile(value, (2, 1)), low, width, free), expected)


@pytest.mark.parametrize(
    ("low", "high", "words"),
    [
        (
            [0.1, 0.4],
            [0.2, 0.3],
            (
                "bounds-crossed",
                {"low": "low", "high": "high", "low_value": 0.4, "high_value": 0.3, "row": 1},
            ),
        ),
        ([0.1, np.nan], [0.2, 0.3], ("prob-range", {"argument": "low", "row": 1})),
        (
            [0.1, 0.2],
            [0.2, 1.3],
            ("prob-range", {"argument": "high", "value": 1.3, "row": 1}),
        ),
        (
            [[0.1, 0.1], [0.7, 0.7]],
            [[1, 1], [1, 1]],
            ("bounds-sum", {"total": 1.4, "row": 1}),
        ),
        (
            [[0.1, 0.1], [0, 0]],
            [[1, 1], [0.4, 0.4]],
            ("bounds-sum", {"total": 0.8, "row": 1}),
        ),
        ([], [], ("no-rows", {})),
        (["a"], [0.3], ("not-a-number", {"argument": "low", "value": "'a'", "row": 0})),
    ],
)
def test_bounds_without_probability_are_refused_by_row(low, high, words):
    with refused(words[0], DataError, **words[1]):
        decide_between(low, high, [[0, 9], [1, 0]])


def test_shapes_that_do_not_belong_together_are_refused():
    with refused(
        "shape-mismatch",
        UsageError,
        low="low",
        low_shape=(2,),
        high="high",
        high_shape=(1,),
        count=2,
    ):
        decide_between([0.1, 0.2], [0.3], [[0, 9], [1, 0]])
    with refused("shape-mismatch", UsageError, count=3):
        decide_between([0.1], [0.3], 1 - np.eye(3))
    with refused("shape-mismatch", UsageError, count=3):
        decide_between([[0.1, 0.2]], [[0.3, 0.9]], 1 - np.eye(3))
    with refused("unknown-word", UsageError):
        decide_between([0.1], [0.3], [[0, 9], [1, 0]], rule="regrets")
    costs = CostMatrix.binary(false_alarm=1, miss=[3.0, 4.0])
    with refused("length-mismatch", DataError, argument="low", cost_rows=2):
        decide_between([0.1], [0.3], costs)
    with refused("unbound-column", UsageError, column="amount"):
        decide_between([0.1], [0.3], CostMatrix.binary(false_alarm=1, miss="amount"))


def test_the_record_is_readable_and_goes_to_json():
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    found = decide_between([0.01, 0.05], [0.02, 0.3], costs, rule="worst")
    assert str(found).splitlines() == [
        "2 rows, by least worst cost: pass for 1, open for 1",
        "settled: 1 row; whatever the probability inside the interval, no other action is cheaper",
        "guaranteed: at most 0.95 in any row, 0.565 on average",
    ]
    told = json.loads(json.dumps(found.to_dict()))
    assert told["actions"] == ["pass", "open"]
    assert told["admissible"] == [[True, False], [True, True]]
    assert len(found) == 2


def test_bounds_in_a_table_with_names_need_no_word_on_their_order():
    costs = CostMatrix.binary(false_alarm=1, miss=9, classes=("ok", "bad"))
    low, high = {"bad": [0.05], "ok": [0.6]}, {"bad": [0.3], "ok": [0.95]}
    named = decide_between(pd.DataFrame(low), pd.DataFrame(high), costs)
    plain = decide_between([0.05], [0.3], costs)
    assert named.actions == plain.actions
    assert named.bound == pytest.approx(plain.bound)
