"""Rows that stand more than once are told from values that are equal by right."""

import numpy as np
import pytest
from sklearn.ensemble import RandomForestClassifier
from sklearn.isotonic import IsotonicRegression
from sklearn.tree import DecisionTreeClassifier

from scarce import CostMatrix, compare, cost_confusion, evaluate, mean_cost, savings
from scarce.evaluation.copies import copies
from tests.problems import codes

FEW = {"resamples": 100}


def drawn(n, seed, steps=None):
    """Features, outcomes and the true log odds; features in steps where wanted."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X = X if steps is None else np.floor(X * steps)
    score = X @ [1.0, 0.5, 0.3] - 2
    return X, (rng.random(n) < 1 / (1 + np.exp(-score))).astype(int), score


def prob_of(n, seed, steps=None):
    _, y, score = drawn(n, seed, steps)
    return 1 / (1 + np.exp(-score)), y


@pytest.mark.parametrize("n", [100, 600])
@pytest.mark.parametrize("often", [2, 3, 5])
def test_a_repeated_table_is_found(n, often):
    prob, y = prob_of(n, 1)
    assert copies(np.tile(prob, often), np.tile(y, often)) == n * (often - 1)
    assert copies(np.tile(prob.round(3), often), np.tile(y, often)) >= n * (often - 1)


@pytest.mark.parametrize("share", [0.1, 0.5])
def test_some_rows_twice_are_found(share, rng):
    prob, y = prob_of(2000, 2)
    again = rng.permutation(np.append(np.arange(2000), rng.choice(2000, int(2000 * share), False)))
    assert copies(prob[again], y[again]) == int(2000 * share)
    rare = (rng.random(2000) < 0.005).astype(int)  # labels tell nothing: values come twice only
    assert copies(prob[again], rare[again]) == int(2000 * share)


@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("n", [120, 1000])
def test_values_that_are_equal_by_right_are_no_copies(n, seed):
    kinds = {}
    prob, y = prob_of(n, seed)
    kinds |= {f"{d} digits": (prob.round(d), y) for d in (1, 2, 3, 4, 5, 6)}
    kinds |= {"continuous": (prob, y), "constant": (np.full(n, 1 / 7), y)}
    for steps in (1.0, 2.0):
        kinds[f"categories, {steps}"] = prob_of(n, seed, steps)
    X, label, _ = drawn(3 * n, 100 + seed)
    train, test = slice(n, None), slice(0, n)
    tree = DecisionTreeClassifier(min_samples_leaf=7, random_state=0)
    forest = RandomForestClassifier(21, min_samples_leaf=5, random_state=0)
    for name, model in {"tree": tree, "forest": forest}.items():
        kinds[name] = model.fit(X[train], label[train]).predict_proba(X[test])[:, 1], label[test]
    steps = IsotonicRegression(out_of_bounds="clip").fit(X[train, 0], label[train])
    kinds["isotonic"] = steps.predict(X[test, 0]), label[test]
    assert {name: found for name, pair in kinds.items() if (found := copies(*pair))} == {}


def test_the_order_of_rows_and_classes_does_not_matter(rng):
    prob, y = prob_of(300, 3)
    prob, y = np.tile(prob, 2), np.tile(y, 2)
    order = rng.permutation(600)
    assert copies(prob[order], y[order]) == copies(prob, y) == 300
    table = np.column_stack([1 - prob, prob])
    assert copies(table, y) == copies(table[:, ::-1], 1 - y) == 300


def test_evaluate_says_it_until_groups_do():
    prob, y = (np.tile(one, 5) for one in prob_of(100, 4))
    found = evaluate(y, prob, **FEW)
    assert "repeated-rows" in codes(found.remarks)
    (said,) = [one for one in found.remarks if one.code == "repeated-rows"]
    assert (said.fields["count"], said.fields["rows"]) == (400, 500)
    known = evaluate(y, prob, groups=np.tile(np.arange(100), 5), **FEW)
    assert "repeated-rows" not in codes(known.remarks)
    assert known.brier.width > 1.7 * found.brier.width
    both = compare(y, {"one": prob}, **FEW)
    assert "repeated-rows" in codes(both.evaluations["one"].remarks)
    assert "repeated-rows" not in codes(both.evaluations["constant"].remarks)
    assert "repeated-rows" not in codes(evaluate(y[:100], prob[:100], **FEW).remarks)


def test_frequency_weights_are_no_copies(rng):
    prob, y = prob_of(200, 6)
    for weight in (np.full(200, 2), rng.integers(1, 4, 200)):
        found = evaluate(y, prob, sample_weight=weight, weight_kind="frequency", **FEW)
        assert "repeated-rows" not in codes(found.remarks)


def test_groups_of_copies_do_not_hide_other_copies():
    prob, y = (np.tile(one, 4) for one in prob_of(200, 5))
    pairs = np.tile(np.arange(200), 4) + 1000 * (np.arange(800) >= 400)  # two of four together
    assert "repeated-rows" in codes(evaluate(y, prob, groups=pairs, **FEW).remarks)


def test_costs_of_single_rows_tell_copies_too(rng):
    amount, y = rng.gamma(2, 50, 80).round(2), (rng.random(80) < 0.3).astype(int)
    done = (amount > 80).astype(int)

    def figures(often, **more):
        rows = np.tile(np.arange(80), often)
        costs = CostMatrix.binary(false_alarm=5, miss=amount[rows])
        return [
            call(y[rows], done[rows], costs, **FEW, **more)
            for call in (mean_cost, savings, cost_confusion)
        ]

    mean, saved, table = figures(5)
    assert "rows repeat others" in mean.method
    assert "repeated-rows" in codes(saved.remarks)
    assert "repeated-rows" in codes(table.remarks)
    for mean, saved, table in (figures(1), figures(5, groups=np.tile(np.arange(80), 5))):
        assert "rows repeat others" not in mean.method
        assert "repeated-rows" not in codes(saved.remarks) + codes(table.remarks)


def test_probabilities_at_the_edge_of_floats_are_read():
    prob = np.repeat(np.array([1e-308, 5e-324, 0.0, 1.0, 3e-200]), 4)
    assert evaluate(np.arange(20) % 2, prob).rows == 20
