"""The cheapest action: against brute force, invariant to what must not matter, refused by row."""

import mpmath
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

from scarce import CostMatrix, DataError, UsageError, correct_prior, decide, expected_cost
from scarce.decisions.decide import PIECE, cheapest, class_probabilities, decision_table
from tests.problems import refused, warned


@pytest.fixture
def problem(rng):
    n, n_actions, n_classes = 2 * PIECE + 77, 5, 4
    prob = rng.dirichlet(np.full(n_classes, 0.5), n)
    return prob, rng.integers(0, 50, (n_actions, n_classes)).astype(float)


def slow(prob, costs):
    """One row after the other, class after class, first on ties."""
    best = []
    for i, row in enumerate(prob):
        table = costs if costs.ndim == 2 else costs[i]
        sums = []
        for action in table:
            total = 0.0
            for p, cost in zip(row, action, strict=True):
                total += p * cost
            sums.append(total)
        best.append(sums.index(min(sums)))
    return np.array(best)


def test_oracle_several_classes_and_actions(problem):
    prob, costs = problem
    np.testing.assert_array_equal(cheapest(prob, costs), slow(prob, costs))
    np.testing.assert_allclose(expected_cost(prob, costs), prob @ costs.T, rtol=1e-12)


def test_oracle_costs_by_row(problem, rng):
    prob, costs = problem
    prob = prob[: PIECE + 5]
    cube = costs + rng.integers(0, 20, (len(prob), *costs.shape))
    np.testing.assert_array_equal(cheapest(prob, cube), slow(prob, cube))
    wanted = np.einsum("nak,nk->na", cube, prob)
    np.testing.assert_allclose(expected_cost(prob, cube), wanted, rtol=1e-12)


def test_ties_go_to_the_first_or_the_last_listed():
    costs = CostMatrix([[1, 1], [1, 1], [0, 2]], actions=["a", "b", "c"])
    assert decide([0.5, 0.2], costs).tolist() == ["a", "c"]
    assert decide([0.5, 0.2], costs, tie="last").tolist() == ["c", "c"]
    acts = CostMatrix.binary(false_alarm=1, miss=3)
    assert decide([0.25], acts).tolist() == [0]
    assert decide([0.25], acts, tie="last").tolist() == [1]  # 003 section 0.4: act at equality
    with refused("unknown-word", UsageError, argument="tie", value="frist"):
        decide([0.5], acts, tie="frist")


def test_property_no_fixed_threshold_does_better(rng):
    prob = rng.beta(0.3, 3, 3000)
    for false_alarm, miss in ((1, 1), (1, 9), (7, 0.5), (0, 3), (3, 0), (0, 0)):
        costs = CostMatrix.binary(false_alarm=false_alarm, miss=miss)
        ours = expected_cost(prob, costs)[np.arange(3000), cheapest(prob, costs)].sum()
        for threshold in np.linspace(0, 1, 201):
            act = (prob >= threshold).astype(int)
            assert ours <= expected_cost(prob, costs)[np.arange(3000), act].sum() + 1e-9


def test_invariant_scale_and_a_cost_that_all_actions_share(problem, rng):
    prob, costs = problem
    plain = cheapest(prob, costs)
    np.testing.assert_array_equal(cheapest(prob, costs * 1024.0), plain)  # exact in binary
    gap = np.sort(expected_cost(prob, costs), axis=1)
    clear = gap[:, 1] - gap[:, 0] > 1e-9
    assert clear.mean() > 0.99
    np.testing.assert_array_equal(cheapest(prob, costs * 0.3)[clear], plain[clear])
    np.testing.assert_array_equal(cheapest(prob, costs + rng.normal(size=4))[clear], plain[clear])


def test_invariant_order_of_rows_types_and_layout(problem, rng):
    prob, costs = problem
    plain = cheapest(prob, costs)
    order = rng.permutation(len(prob))
    np.testing.assert_array_equal(cheapest(prob[order], costs), plain[order])
    np.testing.assert_array_equal(cheapest(np.asfortranarray(prob), costs), plain)
    np.testing.assert_array_equal(cheapest(pd.DataFrame(prob), costs), plain)
    np.testing.assert_array_equal(cheapest(pl.DataFrame(prob), costs), plain)
    single = prob.astype(np.float32)
    np.testing.assert_array_equal(cheapest(single, costs), cheapest(single.astype(float), costs))


def test_one_probability_is_that_of_the_last_class(rng):
    p = rng.random(100)
    costs = CostMatrix.binary(false_alarm=2, miss=5).with_abstain(1)
    both = np.column_stack([1 - p, p])
    np.testing.assert_array_equal(decide(p, costs), decide(both, costs))
    np.testing.assert_array_equal(decide(p[:, None], costs), decide(both, costs))


def test_prior_shift_at_decision_time_is_correct_prior_first(rng):
    prob, p = rng.dirichlet([1, 1, 1], 5000), rng.random(5000)
    three = rng.integers(0, 9, (4, 3)).astype(float)
    before, after = [0.3, 0.3, 0.4], [0.9, 0.08, 0.02]
    moved = correct_prior(prob, before, after)
    shift = {"trained_at": before, "now_at": after}
    sure = np.ptp(np.sort(expected_cost(moved, three))[:, :2], axis=1) > 1e-12
    np.testing.assert_array_equal(decide(prob, three, **shift)[sure], decide(moved, three)[sure])
    np.testing.assert_allclose(expected_cost(prob, three, **shift), expected_cost(moved, three))
    costs = CostMatrix.binary(false_alarm=1, miss=20).with_abstain(0.4)
    moved = correct_prior(p, 0.5, 0.01)
    np.testing.assert_array_equal(
        decide(p, costs, trained_at=0.5, now_at=0.01), decide(moved, costs)
    )
    bands = costs.with_prior(0.5, 0.01).thresholds()
    assert correct_prior([bands[1][0]], 0.5, 0.01)[0] == pytest.approx(costs.thresholds()[1][0])
    with refused("argument-pair", UsageError, given="now_at", other="trained_at"):
        decide(p, costs, now_at=0.1)


def test_oracle_extreme_costs_and_probabilities_against_fifty_digits(rng):
    p = np.concatenate([10.0 ** rng.uniform(-300, 0, 200), 1 - 10.0 ** rng.uniform(-15, 0, 50)])
    costs = CostMatrix.binary(false_alarm=1e-3, miss=1e12).with_abstain(7e-4)
    found = decide(p, costs)
    with mpmath.workdps(60):
        for value, action in zip(p, found, strict=True):
            q = mpmath.mpf(float(value))
            sums = [(1 - q) * a + q * b for a, b in costs.costs.tolist()]
            best = sums.index(min(sums))
            if min(abs(sums[best] - s) for i, s in enumerate(sums) if i != best) > 1e-15:
                assert action == costs.actions[best]


@pytest.mark.parametrize(
    ("prob", "message"),
    [
        ([0.1, np.nan], ("prob-range", {"row": 1})),
        ([0.1, -0.2], ("prob-range", {"value": -0.2, "row": 1})),
        ([1.5], ("prob-range", {"value": 1.5, "row": 0})),
        ([[0.5, 0.4]], ("prob-sum", {"total": 0.9, "row": 0})),
        ([[0.5, 0.5], [np.nan, 0.5]], ("prob-range", {"row": 1})),
        ([[0.2, 0.2, 0.6]], ("shape-mismatch", {"shape": (1, 3), "count": 2})),
        ([["a", "b"]], ("not-a-number", {})),
        ([[[0.5, 0.5]]], ("shape-mismatch", {"shape": (1, 1, 2), "count": 2})),
    ],
)
def test_bad_probabilities_are_refused_by_row(prob, message):
    for function in (decide, expected_cost, cheapest):
        with refused(message[0], DataError, **message[1]):
            function(prob, CostMatrix.zero_one(2))


def test_a_bad_row_is_named_beyond_the_first_piece():
    prob = np.full(PIECE + 10, 0.5)
    prob[PIECE + 3] = np.nan
    with refused("prob-range", DataError, row=8195):
        decide(prob, CostMatrix.zero_one(2))


def test_a_bad_sum_is_named_beyond_the_first_piece():
    prob = np.full((PIECE + 10, 2), 0.5)
    prob[PIECE + 3] = 0.4
    with refused("prob-sum", DataError, total=0.8, row=8195):
        decide(prob, CostMatrix.zero_one(2))


def test_no_row_is_no_decision():
    assert decide(np.zeros((0, 2)), CostMatrix.zero_one(2)).shape == (0,)
    assert expected_cost(np.zeros(0), CostMatrix.zero_one(2)).shape == (0, 2)
    assert class_probabilities(np.zeros(0), (0, 1)).shape == (0, 2)


def test_a_table_with_the_names_of_the_classes_is_put_in_their_order():
    costs = CostMatrix.binary(false_alarm=5, miss=60, classes=("n", "y"))
    both = {"y": [0.01, 0.5, 0.99], "n": [0.99, 0.5, 0.01]}
    wanted = decide([0.01, 0.5, 0.99], costs)
    for table in (pd.DataFrame(both), pl.DataFrame(both), pa.table(both)):
        np.testing.assert_array_equal(decide(table, costs), wanted)
    other = pd.DataFrame({"p0": both["n"], "p1": both["y"]})  # no name of a class: as it stands
    np.testing.assert_array_equal(decide(other, costs), wanted)
    with refused("unknown-column", DataError, found=["p0", "y"], wanted=["n", "y"]):
        decide(pd.DataFrame({"p0": both["n"], "y": both["y"]}), costs)
    np.testing.assert_array_equal(decide(pa.array(both["y"]), costs), wanted)
    np.testing.assert_array_equal(decide(pd.Series(both["y"]), costs), wanted)


def test_hidden_and_strange_values_are_refused():
    costs = CostMatrix.zero_one(2)
    with refused("prob-range", DataError, row=1):
        decide(np.ma.masked_array([0.1, 0.5, 0.9], [0, 1, 0]), costs)
    for strange in (np.array([0.1 + 0j]), (p for p in [0.1]), [[0.1], [0.2, 0.3]]):
        with refused("not-a-number", DataError):
            decide(strange, costs)


def test_the_order_of_the_columns_can_be_told_and_is_asked_for():
    costs = CostMatrix.binary(false_alarm=5, miss=60, classes=("legit", "fraud"))
    p = np.array([0.01, 0.5, 0.99])
    wanted = decide(p, costs)
    sorted_columns = np.column_stack([p, 1 - p])  # fraud, legit: as predict_proba has them
    np.testing.assert_array_equal(decide(sorted_columns, costs, classes=["fraud", "legit"]), wanted)
    np.testing.assert_array_equal(
        decide(sorted_columns, costs.with_classes(["fraud", "legit"])), wanted
    )
    np.testing.assert_array_equal(
        decide(sorted_columns[:, ::-1], costs, classes=costs.classes), wanted
    )
    with warned("unsorted-classes"):
        decide(sorted_columns[:, ::-1], costs)
    with warned("unsorted-classes"):
        expected_cost(sorted_columns[:, ::-1], costs)


def test_a_notebook_shows_decisions_as_a_table_with_headers():
    page = decision_table(np.linspace(0, 1, 12), CostMatrix.zero_one(2))._repr_html_()
    assert page.count("<tr>") == 9
    assert page.count('scope="row"') == 8
    assert "... and 4 more" in page
