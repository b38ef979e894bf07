"""The value of asking: against enumeration and simulated people, and what must hold for any."""

import json

import numpy as np
import pytest

from scarce.decisions.asking import value_of_asking
from scarce.decisions.costs import CostMatrix
from scarce.decisions.decide import cheapest, decide, expected_cost
from scarce.errors import DataError, UsageError
from tests.problems import refused

BINARY = [[0.0, 9.0], [1.0, 0.0]]


def lettered(table):
    """Costs whose actions are not called like the classes, so that any numbers make sense."""
    return CostMatrix(table, actions=list("abcdef")[: np.shape(table)[-2]])


def slow_value(prob, costs, answers):
    """Bayes' rule written out: posterior after each answer, best action, averaged."""
    now = min(sum(p * c for p, c in zip(prob, row, strict=True)) for row in costs)
    after = 0.0
    for j in range(answers.shape[1]):
        chance = sum(prob[k] * answers[k, j] for k in range(len(prob)))
        if chance == 0:
            continue
        posterior = [prob[k] * answers[k, j] / chance for k in range(len(prob))]
        after += chance * min(
            sum(p * c for p, c in zip(posterior, row, strict=True)) for row in costs
        )
    return now - after


@pytest.mark.parametrize("by_row", [False, True])
@pytest.mark.parametrize("perfect", [False, True])
def test_oracle_value_is_the_saving_after_bayes_rule(rng, perfect, by_row):
    n, n_classes, n_actions = 30, 3, 5
    prob = rng.dirichlet(np.ones(n_classes), n)
    costs = rng.normal(size=(n, n_actions, n_classes) if by_row else (n_actions, n_classes))
    answers = np.eye(3) if perfect else rng.dirichlet(np.ones(4), n_classes)
    named = lettered(costs)
    found = value_of_asking(prob, named, answers=None if perfect else answers)
    table = np.broadcast_to(costs, (n, n_actions, n_classes))
    slow = [slow_value(prob[i], table[i], answers) for i in range(n)]
    np.testing.assert_allclose(found.value, slow, atol=1e-12)
    np.testing.assert_allclose(found.cost_now, expected_cost(prob, named).min(axis=1), atol=1e-12)
    if perfect:
        same = value_of_asking(prob, named, answers=np.eye(3))
        np.testing.assert_allclose(found.value, same.value, atol=1e-14)


def test_oracle_people_asked_in_simulation_save_what_was_predicted(rng):
    """Draw classes and answers, act on each answer, and pay: the mean saving is the value."""
    n, repeats = 400, 400
    prob = rng.beta(0.5, 3, n)
    costs = CostMatrix.binary(false_alarm=1, miss=9)
    answers = np.array([[0.9, 0.1], [0.25, 0.75]])
    asked = value_of_asking(prob, costs, price=0.05, answers=answers)
    table = costs.at(0, n)
    saved = np.zeros(repeats)
    chosen = cheapest(prob, costs)
    for turn in range(repeats):
        truth = (rng.random(n) < prob).astype(int)
        said = (rng.random(n) < answers[truth, 1]).astype(int)
        joint = np.stack([(1 - prob) * answers[0, said], prob * answers[1, said]], axis=1)
        informed = cheapest(joint / joint.sum(axis=1, keepdims=True), costs)
        acts = np.where(asked.worth, informed, chosen)
        paid = table[acts, truth].sum() + 0.05 * asked.worth.sum()
        saved[turn] = table[chosen, truth].sum() - paid
    error = saved.std(ddof=1) / np.sqrt(repeats)
    assert 20 < asked.worth.sum() < n - 20
    assert error < 0.2 * asked.gain()
    assert saved.mean() == pytest.approx(asked.gain(), abs=4 * error)


@pytest.mark.parametrize("price", [0.0, 0.03, 0.3, 2.0])
@pytest.mark.parametrize("n_classes", [2, 4])
def test_a_perfect_person_is_an_action_at_that_price(rng, price, n_classes):
    prob = rng.dirichlet(np.full(n_classes, 0.5), 2000)
    table = 5 * rng.random((n_classes, n_classes)) * (1 - np.eye(n_classes))
    costs = CostMatrix(table)
    found = value_of_asking(prob, costs, price=price)
    acts = decide(prob, costs.with_abstain(price, name="ask"))
    np.testing.assert_array_equal(found.worth, acts.astype(str) == "ask")
    # Costs that no action spares are paid with an answer too: then asking costs them on top.
    extra = 7 * rng.random(n_classes)
    shifted = CostMatrix(table + extra)
    asks = np.column_stack([extra + price] * 2000).T
    np.testing.assert_array_equal(value_of_asking(prob, shifted, price=price).worth, found.worth)
    acts = decide(prob, shifted.with_abstain(asks, name="ask"))
    np.testing.assert_array_equal(found.worth, acts.astype(str) == "ask")


def test_an_answer_never_costs_and_a_better_one_is_worth_more(rng):
    prob = rng.dirichlet(np.ones(3), 500)
    costs = lettered(rng.normal(size=(4, 3)))
    values = []
    for right in (1 / 3, 0.6, 0.9, 1.0):
        answers = np.full((3, 3), (1 - right) / 2) + (right - (1 - right) / 2) * np.eye(3)
        values.append(value_of_asking(prob, costs, answers=answers).value)
        assert (values[-1] >= 0).all()
    assert np.abs(values[0]).max() < 1e-14  # an answer at random says nothing
    assert (np.diff(values, axis=0) >= -1e-12).all()
    np.testing.assert_allclose(values[-1], value_of_asking(prob, costs).value, atol=1e-12)


def test_rows_that_are_certain_or_acted_on_in_any_case_are_worth_nothing():
    assert value_of_asking([0.0, 1.0], BINARY).value.tolist() == [0.0, 0.0]
    same = lettered([[0.1, 0.3], [0.7, 0.9]])  # the first action is the cheapest in either class
    assert (value_of_asking(np.linspace(0, 1, 99), same).value == 0).all()
    # Not even by a last digit: rows of 1e-9 and their like must not come first in the order.
    assert (value_of_asking([1e-300, 1e-12], BINARY).value == [9e-300, 9e-12]).all()


def test_small_values_are_not_lost_among_great_costs():
    found = value_of_asking([1e-12], [[1000, 1009], [1001, 1000]])
    assert found.value[0] == pytest.approx(9e-12, rel=1e-10, abs=0)
    found = value_of_asking([1e-12], [[1000, 1009], [1001, 1000]], answers=[[1, 0], [0.5, 0.5]])
    assert found.value[0] == pytest.approx(4.5e-12, rel=1e-10, abs=0)


def test_costs_scaled_scale_the_value_and_dominated_actions_add_none(rng):
    prob = rng.dirichlet(np.ones(3), 100)
    costs = rng.normal(size=(3, 3))
    plain = value_of_asking(prob, lettered(costs))
    np.testing.assert_array_equal(value_of_asking(prob, lettered(4 * costs)).value, 4 * plain.value)
    worse = np.vstack([costs, costs[0] + 1])
    np.testing.assert_array_equal(value_of_asking(prob, lettered(worse)).value, plain.value)
    shifted = value_of_asking(prob, lettered(costs + [3.0, 0.0, -1.0]))
    np.testing.assert_allclose(shifted.value, plain.value, atol=1e-12)


def test_order_gain_and_prices_agree_with_sorting(rng):
    prob = rng.random(300)
    price = 0.4 * rng.random(300)
    found = value_of_asking(prob, BINARY, price=price)
    net = found.value - price
    assert (np.diff(net[found.order]) <= 0).all()
    assert found.gain() == pytest.approx(net[net > 0].sum())
    best = max(found.gain(n) for n in range(301))
    assert found.gain() == pytest.approx(best)
    assert found.gain(0) == 0.0
    assert found.gain(300) == pytest.approx(net.sum())
    ranked = np.sort(found.value)[::-1]
    assert found.best_price == ranked[0]
    assert [found.price_for(n) for n in (1, 17, 300)] == [ranked[0], ranked[16], ranked[-1]]
    at = found.price_for(17)
    assert value_of_asking(prob, BINARY, price=at).worth.sum() == 16  # ties are not worth it
    assert value_of_asking(prob, BINARY, price=np.nextafter(at, 0)).worth.sum() == 17


def test_equal_values_keep_the_order_of_the_rows():
    assert value_of_asking([0.3, 0.5, 0.3, 0.5], BINARY).order.tolist() == [0, 2, 1, 3]


def test_pieces_change_nothing(rng, monkeypatch):
    prob = rng.random(5000)
    costs = CostMatrix.binary(false_alarm=1, miss=rng.random(5000) * 20)
    whole = value_of_asking(prob, costs, answers=[[0.8, 0.2], [0.1, 0.9]])
    monkeypatch.setattr("scarce.decisions.decide.CELLS", 1)
    parts = value_of_asking(prob, costs, answers=[[0.8, 0.2], [0.1, 0.9]])
    np.testing.assert_array_equal(whole.value, parts.value)


@pytest.mark.parametrize(
    ("settings", "words"),
    [
        ({"price": -1}, ("number-range", {"argument": "price", "value": -1.0})),
        ({"price": np.nan}, ("number-range", {"argument": "price"})),
        (
            {"answers": [[0.5, 0.5]]},
            ("shape-mismatch", {"argument": "answers", "count": 2, "shape": (1, 2)}),
        ),
        (
            {"answers": [[0.5, 0.5], [0.5, 0.6]]},
            ("prob-sum", {"argument": "answers", "row": 1, "values": [0.5, 0.6]}),
        ),
        (
            {"answers": [[-0.5, 1.5], [0.5, 0.5]]},
            ("prob-sum", {"argument": "answers", "row": 0, "values": [-0.5, 1.5]}),
        ),
        ({"answers": [[0.5, "x"], [1, 2]]}, ("not-a-number", {"argument": "answers"})),
    ],
)
def test_settings_that_cannot_be_are_refused(settings, words):
    with refused(words[0], UsageError, **words[1]):
        value_of_asking([0.1, 0.2], BINARY, **settings)


def test_rows_that_do_not_fit_the_costs_are_refused():
    with refused("number-range", DataError, argument="price", row=1):
        value_of_asking([0.1, 0.2], BINARY, price=[0.1, np.inf])
    with refused("length-mismatch", DataError, argument="price", rows=2):
        value_of_asking([0.1, 0.2], BINARY, price=[0.1])
    with refused("length-mismatch", DataError, argument="prob", cost_rows=3):
        value_of_asking([0.1, 0.2], CostMatrix.binary(false_alarm=1, miss=[1.0, 2.0, 3.0]))
    with refused("no-rows", DataError):
        value_of_asking([], BINARY)
    with refused("integer-range", UsageError, argument="n", rows=2, value=3):
        value_of_asking([0.1, 0.2], BINARY).gain(3)
    with refused("integer-range", UsageError, least=1):
        value_of_asking([0.1, 0.2], BINARY).price_for(0)


def test_the_record_is_readable_and_goes_to_json():
    found = value_of_asking([0.02, 0.1, 0.9], BINARY, price=0.15)
    assert str(found).splitlines() == [
        "2 rows of 3 are worth asking at a price of 0.15",
        "asking them saves 0.78 in expectation after their price (1.18 is what acting on all rows "
        "costs)",
        "no row is worth more than 0.9",
    ]
    told = json.loads(json.dumps(found.to_dict()))
    assert told["worth"] == [True, True, False]
    assert told["price"] == 0.15
    assert told["order"] == [1, 0, 2]
