"""Decisions within limits: against enumeration, assignment solvers and linear programmes."""

import json
from itertools import product

import numpy as np
import pytest
from scipy.optimize import LinearConstraint, linear_sum_assignment, linprog, milp

from scarce.decisions import budget
from scarce.decisions.budget import allot, decide_within
from scarce.decisions.costs import CostMatrix
from scarce.decisions.decide import cheapest, decide, expected_cost
from scarce.errors import DataError, UsageError
from tests.problems import refused

LETTERS = list("abcdef")


def lettered(table):
    """Costs whose actions are not called like the classes, so that any numbers make sense."""
    return CostMatrix(table, actions=LETTERS[: np.shape(table)[-2]])


def by_assignment(costs, room):
    """Least total cost, every place of every action a column of its own; costs (actions, n)."""
    n = costs.shape[1]
    places = np.concatenate([np.full(int(min(most, n)), a) for a, most in enumerate(room)])
    matrix = costs[places].T
    return float(matrix[linear_sum_assignment(matrix)].sum())


def limits(found, costs):
    return np.array([found.capacity.get(name, np.inf) for name in costs.actions])


def check(found, prob, costs):
    """Feasible, what it says of itself, and the least possible."""
    table = expected_cost(prob, costs).T
    names = np.array(costs.actions)
    position = np.argmax(found.actions[:, None] == names, axis=1)
    count = np.bincount(position, minlength=len(names))
    room = limits(found, costs)
    assert (count <= room).all()
    cost = table[position, np.arange(len(position))].sum()
    assert found.expected_cost == pytest.approx(cost, abs=1e-11)
    best = by_assignment(table, room)
    assert cost == pytest.approx(best, abs=1e-11)
    assert abs(found.gap) < 1e-11
    for a in np.flatnonzero(np.isfinite(room)):
        more = room.copy()
        more[a] += 1
        worth = best - by_assignment(table, more)
        assert found.price[names[a]] == pytest.approx(worth, abs=1e-11)
        assert found.used[names[a]] == count[a]
    free = np.isinf(room)
    assert found.without["limit"] == pytest.approx(table.min(axis=0).sum())
    if free.any():
        none = table[free].min(axis=0)
        assert found.without["action"] == pytest.approx(none.sum())
        np.testing.assert_allclose(found.gain, none - table[position, np.arange(len(position))])
        np.testing.assert_allclose(found.wanted, none - table.min(axis=0), atol=1e-14)
        assert found.gain.sum() == pytest.approx(none.sum() - cost, abs=1e-11)


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("n_limited", [1, 2, 3, 4])
def test_oracle_least_cost_and_prices_are_those_of_an_assignment_solver(rng, n_limited, by_row):
    for trial in range(12):
        n, n_actions = int(rng.integers(3, 25)), 4
        prob = rng.dirichlet(np.ones(3), n)
        if trial % 3 == 0:  # few distinct rows: many ties
            prob = prob[rng.integers(0, 3, n)]
        shape = (n, n_actions, 3) if by_row else (n_actions, 3)
        costs = lettered(rng.integers(0, 9, shape) if trial % 2 else rng.normal(size=shape))
        chosen = rng.permutation(n_actions)[:n_limited]
        capacity = {LETTERS[a]: int(rng.integers(0, n)) for a in chosen}
        if n_limited == n_actions:
            capacity[LETTERS[chosen[0]]] += max(0, n - sum(capacity.values()))
        check(decide_within(prob, costs, capacity=capacity), prob, costs)


def test_oracle_no_assignment_of_a_few_rows_is_cheaper(rng):
    for _ in range(10):
        prob = rng.random(6)
        costs = lettered(rng.normal(size=(3, 2)))
        capacity = {"a": 1, "c": 2}
        found = decide_within(prob, costs, capacity=capacity)
        table = expected_cost(prob, costs)
        best = min(
            sum(table[i, a] for i, a in enumerate(acts))
            for acts in product(range(3), repeat=6)
            if acts.count(0) <= 1 and acts.count(2) <= 2
        )
        assert found.expected_cost == pytest.approx(best, abs=1e-12)


def test_oracle_several_limits_on_many_rows_agree_with_a_linear_programme(rng):
    n, n_actions = 1500, 5
    prob = rng.dirichlet(np.ones(3), n)
    costs = lettered(rng.random((n, n_actions, 3)))
    capacity = {"a": 90, "b": 200, "c": 10, "d": 0}
    found = decide_within(prob, costs, capacity=capacity)
    table = expected_cost(prob, costs)
    rows = np.kron(np.eye(n), np.ones((1, n_actions)))
    columns = np.kron(np.ones((1, n)), np.eye(n_actions))[:4]
    answer = linprog(table.ravel(), A_eq=rows, b_eq=np.ones(n), A_ub=columns, b_ub=[90, 200, 10, 0])
    assert found.expected_cost == pytest.approx(answer.fun, rel=1e-10)
    assert abs(found.gap) < 1e-10
    assert found.used == {"a": 90, "b": 200, "c": 10, "d": 0}


def test_two_hundred_cases_are_those_of_the_greatest_gain(rng):
    prob = rng.beta(0.3, 8, 20_000)
    amount = rng.lognormal(4, 1, 20_000)
    costs = CostMatrix([[0, amount], [15, 3]], actions=["pass", "open"], classes=["legit", "fraud"])
    found = decide_within(prob, costs, capacity={"open": 200})
    gain = prob * amount - (15 * (1 - prob) + 3 * prob)
    best = np.sort(np.argsort(-gain)[:200])
    np.testing.assert_array_equal(np.flatnonzero(found.actions == "open"), best)
    assert found.price["open"] == pytest.approx(np.sort(gain)[-201])
    more = decide_within(prob, costs, capacity={"open": 201})
    assert found.expected_cost - more.expected_cost == pytest.approx(found.price["open"])
    none = decide_within(prob, costs, capacity={"open": 0})
    assert none.expected_cost == pytest.approx(found.without["action"])
    assert none.price["open"] == pytest.approx(gain.max())


@pytest.mark.parametrize("limited", [["b"], ["a", "b"], ["c", "a", "b"]])
def test_limits_that_do_not_bind_change_nothing(rng, limited):
    prob = rng.dirichlet(np.ones(2), 300)
    prob[:100] = [0.5, 0.5]  # ties too
    costs = lettered([[0, 4], [4, 0], [2, 2]])
    plain = cheapest(prob, costs)
    count = np.bincount(plain, minlength=3)
    assert (count[:2] > 20).all()
    for extra in (0, 7):
        capacity = {name: int(count[LETTERS.index(name)]) + extra for name in limited}
        found = decide_within(prob, costs, capacity=capacity)
        np.testing.assert_array_equal(found.actions, decide(prob, costs))
        assert all(price == 0.0 for price in found.price.values())
        assert found.expected_cost == pytest.approx(found.without["limit"])
        hours = (
            decide_within(prob, costs, capacity=capacity, uses=np.ones(300))
            if (len(limited) == 1)
            else found
        )
        np.testing.assert_array_equal(hours.actions, found.actions)


def test_of_equal_gains_the_first_rows_are_taken():
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    found = decide_within([0.5, 0.9, 0.5, 0.5, 0.9], costs, capacity={"open": 3})
    assert np.flatnonzero(found.actions == "open").tolist() == [0, 1, 4]
    assert found.price["open"] == 4.0


def test_costs_scaled_scale_the_prices_and_dominated_actions_change_nothing(rng):
    prob = rng.random(200)
    table = rng.normal(size=(3, 2))
    capacity = {LETTERS[a]: 20 for a in range(2)}
    plain = decide_within(prob, lettered(table), capacity=capacity)
    scaled = decide_within(prob, lettered(4 * table), capacity=capacity)
    np.testing.assert_array_equal(plain.actions, scaled.actions)
    for name in capacity:
        assert scaled.price[name] == pytest.approx(4 * plain.price[name], rel=1e-12)
    worse = lettered(np.vstack([table, table.max(axis=0) + 1]))
    more = decide_within(prob, worse, capacity=capacity)
    np.testing.assert_array_equal(plain.actions, more.actions)
    assert more.price == plain.price


def test_more_room_never_costs_and_is_worth_less_and_less(rng):
    prob = rng.random(300)
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    found = [decide_within(prob, costs, capacity={"open": most}) for most in range(0, 300, 20)]
    cost, price = [f.expected_cost for f in found], [f.price["open"] for f in found]
    assert cost == sorted(cost, reverse=True)
    assert price == sorted(price, reverse=True)


@pytest.mark.parametrize("n_limited", [6, 7])
def test_many_limits_are_exact_whether_or_not_every_set_is_tried(rng, n_limited):
    """Beyond six limits not every set of prices is tried; moves of rows make up for it."""
    assert budget.ALL_SETS == 6
    costs = rng.random(300) * rng.random((8, 1)) * 3 + 0.3 * rng.random((8, 300))
    room = np.full(8, np.inf)
    room[:n_limited] = 25
    found = allot(costs, room)
    total = costs[found.position, np.arange(300)].sum()
    assert total == pytest.approx(by_assignment(costs, room), abs=1e-11)
    assert abs(found.gap) < 1e-11


def test_prices_alone_close_the_gap_up_to_six_limits(rng):
    for _ in range(20):
        costs, room = rng.random((5, 40)), np.array([5, 3, 9, 12, np.inf])
        price = budget._prices(costs, room)
        dual = (costs + price[:, None]).min(axis=0).sum() - (room[:4] * price[:4]).sum()
        assert dual == pytest.approx(by_assignment(costs, room), abs=1e-12)


def test_the_gap_tells_of_an_assignment_that_is_not_the_best(rng, monkeypatch):
    def careless(costs, room, position):
        position[:] = len(costs) - 1
        position[:5] = 0

    monkeypatch.setattr(budget, "_correct", careless)
    costs, room = rng.random((3, 40)), np.array([5, 3, np.inf])
    found = allot(costs, room)
    excess = costs[found.position, np.arange(40)].sum() - by_assignment(costs, room)
    assert excess > 0.1
    assert found.gap >= excess


def test_moves_alone_reach_the_optimum_from_no_prices(rng, monkeypatch):
    monkeypatch.setattr(budget, "_prices", lambda costs, room: np.zeros(len(costs)))
    for _ in range(20):
        costs, room = rng.random((4, 30)), np.array([5, 3, 9, np.inf])
        found = allot(costs, room)
        total = costs[found.position, np.arange(30)].sum()
        assert total == pytest.approx(by_assignment(costs, room), abs=1e-12)


def test_prices_of_a_part_are_only_a_start(rng, monkeypatch):
    costs, room = rng.random((3, 4000)), np.array([300.0, 500.0, np.inf])
    whole = allot(costs, room)
    monkeypatch.setattr(budget, "PART", 100)
    part = allot(costs, room)
    np.testing.assert_array_equal(whole.position, part.position)
    assert abs(part.gap) < 1e-12


def test_oracle_hours_come_within_the_stated_gap_of_the_best(rng):
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    gaps = []
    for _ in range(12):
        prob, hours = rng.random(40), rng.lognormal(0, 1, 40)
        hours[:3] = 0.0
        found = decide_within(prob, costs, capacity={"open": 9.5}, uses=hours)
        taken = found.actions == "open"
        assert hours[taken].sum() <= 9.5
        assert found.used["open"] == pytest.approx(hours[taken].sum())
        table = expected_cost(prob, costs)
        gain = table[:, 0] - table[:, 1]
        exact = milp(
            -gain, constraints=LinearConstraint(hours, ub=9.5), integrality=1, bounds=(0, 1)
        )
        best = table[:, 0].sum() + exact.fun
        assert best - 1e-9 <= found.expected_cost <= best + found.gap + 1e-9
        assert found.gap <= gain.max()
        relaxed = linprog(-gain, A_ub=hours[None], b_ub=[9.5], bounds=(0, 1))
        bound = table[:, 0].sum() + relaxed.fun
        assert found.expected_cost - found.gap == pytest.approx(bound, abs=1e-9)
        assert found.price["open"] == pytest.approx(-relaxed.ineqlin.marginals[0], rel=1e-9)
        gaps.append(found.gap / found.without["action"])
    assert np.mean(gaps) < 0.02


def test_hours_of_one_each_are_rows_and_rows_without_hours_are_free(rng):
    prob = rng.random(100)
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    rows = decide_within(prob, costs, capacity={"open": 30})
    hours = decide_within(prob, costs, capacity={"open": 30}, uses=np.ones(100))
    np.testing.assert_array_equal(rows.actions, hours.actions)
    assert hours.gap == pytest.approx(0, abs=1e-12)
    assert hours.price["open"] == pytest.approx(rows.price["open"])
    free = decide_within(prob, costs, capacity={"open": 0}, uses=np.zeros(100))
    np.testing.assert_array_equal(free.actions, decide(prob, costs))


def test_room_left_by_a_row_that_does_not_fit_goes_to_later_ones():
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    # By gain per hour 0, 1, 2, 3, 4: row 1 does not fit beside row 0, row 2 does, row 3 does not.
    prob, hours = [0.9, 0.9, 0.6, 0.6, 0.4], [2, 4, 3, 3, 2]
    found = decide_within(prob, costs, capacity={"open": 5.5}, uses=hours)
    assert found.actions.tolist() == ["open", "pass", "open", "pass", "pass"]
    assert found.used == {"open": 5.0}
    found = decide_within(prob, costs, capacity={"open": 7.5}, uses=hours)
    assert found.actions.tolist() == ["open", "open", "pass", "pass", "pass"]


def test_one_great_row_may_be_worth_more_than_many_cheap_ones():
    costs = CostMatrix.per_row(
        {("pass", 1): [100.0, 3.0, 3.0]}, actions=["pass", "open"], classes=[0, 1]
    )
    # By gain per hour the small rows come first and leave no room for the great one.
    found = decide_within([0.9, 0.9, 0.9], costs, capacity={"open": 100}, uses=[100, 1, 1])
    assert found.actions.tolist() == ["open", "pass", "pass"]
    assert found.gap == pytest.approx(2.7 + 2.7 + 98 * 0.9 - 90)


@pytest.mark.parametrize(
    ("capacity", "words"),
    [
        ({}, ("capacity-type", {})),
        (200, ("capacity-type", {})),
        ({"opn": 3}, ("unknown-action", {"name": "opn"})),
        ({"open": -1}, ("integer-range", {"argument": "capacity['open']", "value": -1})),
        ({"open": 2.5}, ("integer-range", {"argument": "capacity['open']", "value": 2.5})),
        ({"open": 1, "pass": 1}, ("capacity-too-small", {"room": 2.0, "rows": "3 rows"})),
    ],
)
def test_limits_that_cannot_be_are_refused(capacity, words):
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    with refused(words[0], UsageError, **words[1]):
        decide_within([0.1, 0.2, 0.5], costs, capacity=capacity)


def test_amounts_that_cannot_be_are_refused():
    costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    prob = [0.1, 0.2, 0.5]
    with refused("number-range", DataError, argument="uses", value=-1.0, row=1):
        decide_within(prob, costs, capacity={"open": 3}, uses=[1, -1, 1])
    with refused("number-range", DataError, argument="uses", row=2):
        decide_within(prob, costs, capacity={"open": 3}, uses=[1, 1, None])
    with refused("length-mismatch", DataError, argument="uses", rows=3):
        decide_within(prob, costs, capacity={"open": 3}, uses=[1, 1])
    with refused("number-range", UsageError):
        decide_within(prob, costs, capacity={"open": np.inf}, uses=[1, 1, 1])
    with refused("uses-one-limit", UsageError, count=2):
        decide_within(prob, costs, capacity={"open": 3, "pass": 3}, uses=[1, 1, 1])
    with refused("no-rows", DataError):
        decide_within([], costs, capacity={"open": 3})


@pytest.mark.parametrize("uses", [False, True])
def test_small_pieces_give_the_same_bits(rng, monkeypatch, uses):
    prob = rng.random(5000)
    costs = CostMatrix.binary(false_alarm=1, miss=20 * rng.random(5000))
    settings = {"capacity": {1: 300}, "uses": rng.random(5000) if uses else None}
    whole = decide_within(prob, costs, **settings)
    monkeypatch.setattr("scarce.decisions.decide.CELLS", 1)
    parts = decide_within(prob, costs, **settings)
    np.testing.assert_array_equal(whole.actions, parts.actions)
    np.testing.assert_array_equal(whole.gain, parts.gain)


def test_the_record_is_readable_and_goes_to_json():
    costs = CostMatrix([[0, 9], [1, 0], [2, 2]], actions=["pass", "open", "call"])
    found = decide_within([0.2, 0.9, 0.3, 0.01], costs, capacity={"open": 1, "call": 1})
    assert str(found).splitlines() == [
        "4 rows: pass for 2, open for 1, call for 1",
        "open: 1 of 1 used; one more is worth 1.3",
        "call: 1 of 1 used; one more is worth 0",
        "expected cost 3.99; 1.69 without the limits, 12.7 with no limited action",
    ]
    told = json.loads(json.dumps(found.to_dict()))
    assert told["limits"][0] == {
        "action": "open",
        "capacity": 1.0,
        "used": 1.0,
        "price": pytest.approx(1.3),
    }
    every = decide_within([0.2, 0.9], costs, capacity={"open": 1, "call": 1, "pass": 0})
    assert np.isnan(every.without["action"])
    assert json.loads(json.dumps(every.to_dict()))["without"]["action"] is None
