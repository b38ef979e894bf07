"""The benchmarks of decisions: no row may differ, and the objective is computed by one formula."""

import json

import numpy as np
import pytest
import sklearn
from sklearn.utils.fixes import parse_version

from benchmarks import run, table
from benchmarks.adapters import plain_decide, scarce_bayes, scarce_decide, scikit_bayes, sides_of
from benchmarks.decisions import DECISION_GOALS, DECISIONS, BayesProblem, DecideProblem
from benchmarks.problems import PROBLEMS

DECIDE = [problem.name for problem in DECISIONS if isinstance(problem, DecideProblem)]
BAYES = [problem.name for problem in DECISIONS if isinstance(problem, BayesProblem)]


def answer_of(adapter, name, problem, data):
    side = next(side for side in adapter.SIDES if side.name == name)
    with adapter.prepared(side, problem, data) as call:
        return call()


def all_answers(problem, data):
    return {
        side.name: answer_of(adapter, side.name, problem, data)
        for adapter, side in sides_of(problem.name)
    }


def slow_costs(problem, row):
    """Expected cost of each action for one row of X, written out."""
    prob = [1.0 - row[0], row[0]] if len(problem.classes) == 2 else list(row)
    costs = [list(entries) for entries in problem.costs]
    if problem.by_row:
        costs[0][1] = row[1]
    return [sum(p * c for p, c in zip(prob, entries, strict=True)) for entries in costs]


@pytest.mark.parametrize("name", DECIDE)
def test_all_sides_name_the_cheapest_action(name, tmp_path):
    problem = PROBLEMS[name]
    data = problem.make(tmp_path, 3000)
    X = data.arrays()[0]
    each = np.array([slow_costs(problem, row) for row in X])
    wanted = np.array(problem.actions)[each.argmin(axis=1)]
    answers = all_answers(problem, data)
    assert next(iter(answers)) == "numpy"
    assert "scarce" in answers
    for side, answer in answers.items():
        np.testing.assert_array_equal(answer["actions"], wanted, err_msg=side)
        assert problem.same(answer, answers["numpy"])
    assert problem.judge(answers["scarce"], data) == (
        pytest.approx(each.min(axis=1).mean(), rel=1e-12),
        None,
    )


@pytest.mark.parametrize("name", DECIDE)
def test_one_row_with_another_action_is_another_answer(name, tmp_path):
    problem = PROBLEMS[name]
    data = problem.make(tmp_path, 3000)
    right = answer_of(scarce_decide, "scarce", problem, data)
    X = data.arrays()[0]
    for row in (0, 2999):
        first = right["actions"][row]
        other = next(action for action in problem.actions if action != first)
        wrong = right["actions"].copy()
        wrong[row] = other
        assert not problem.same({"actions": wrong}, right)
        costs = dict(zip(problem.actions, slow_costs(problem, X[row]), strict=True))
        lost = problem.judge({"actions": wrong}, data)[0] - problem.judge(right, data)[0]
        assert lost == pytest.approx((costs[other] - costs[first]) / 3000, rel=1e-6)
        assert lost > 0
    assert not problem.same({"actions": right["actions"][:-1]}, right)


@pytest.mark.parametrize("name", DECIDE)
def test_every_action_is_the_cheapest_somewhere(name, tmp_path):
    problem = PROBLEMS[name]
    data = problem.make(tmp_path, 20_000)
    chosen = answer_of(plain_decide, "numpy", problem, data)["actions"]
    for action in problem.actions:  # else half of the work could be left out
        assert np.mean(chosen == action) > 0.01
    X, y = data.arrays()
    prob, amount = problem.inputs(X)
    if prob.ndim == 1:
        prob = np.column_stack([1 - prob, prob])
    assert prob.sum(axis=1) == pytest.approx(1.0, abs=1e-12)
    share = prob.mean(axis=0)  # labels follow the probabilities
    seen = [np.mean(y == k) for k in range(len(share))]
    assert seen == pytest.approx(share, abs=4 * np.sqrt(0.25 / 20_000))
    assert (amount is not None) == problem.by_row


@pytest.mark.parametrize("name", BAYES)
def test_scarce_and_scikit_learn_give_the_same_probabilities(name, tmp_path):
    metrics = pytest.importorskip("sklearn.metrics")
    if name != "bayes-diag" and parse_version(sklearn.__version__) < parse_version("1.9.1"):
        pytest.skip("scikit-learn divides covariances by n only since 1.9.1")
    problem = PROBLEMS[name]
    data = problem.make(tmp_path, 8000)
    answers = all_answers(problem, data)
    assert {"scarce", "scarce, threads"} < set(answers)
    reference = answers[sides_of(name)[0][1].name]
    y = data.arrays()[1]
    for side, answer in answers.items():
        assert problem.same(answer, reference), side
        loss, certificate = problem.judge(answer, data)
        assert loss == pytest.approx(metrics.log_loss(y, answer["prob"]), rel=1e-10)
        assert certificate is None
    for wrong in (reference["prob"] + 1e-7, reference["prob"][:, ::-1], reference["prob"][:-1]):
        assert not problem.same({"prob": wrong}, reference)
    lost = {"prob": np.full_like(reference["prob"], np.nan)}
    assert problem.difference(lost, reference) == float("inf")


@pytest.mark.parametrize(
    ("name", "own_spread", "correlated"),
    [("bayes-diag", True, False), ("bayes-full", True, True), ("bayes-shared", False, True)],
)
def test_classes_are_drawn_as_the_model_has_them(name, own_spread, correlated, tmp_path):
    X, y = PROBLEMS[name].make(tmp_path, 40_000).arrays()
    assert y.mean() == pytest.approx(0.01, abs=0.002)
    spread = [X[y == label].std(axis=0) for label in (0, 1)]
    wanted = np.linspace(0.7, 1.4, 20) if own_spread else np.ones(20)
    assert spread[1] / spread[0] == pytest.approx(wanted, rel=0.2)  # 5 standard errors
    beside = 0.6 / (1 + 0.6**2) if correlated else 0.0
    for label, error in ((0, 0.005), (1, 0.05)):
        near = np.diag(np.corrcoef(X[y == label].T), k=1)[1:]  # the first column is less spread
        assert near == pytest.approx(beside, abs=5 * error)


def test_kinds_of_covariance_are_told_apart(tmp_path):
    full, shared = PROBLEMS["bayes-full"], PROBLEMS["bayes-shared"]
    data = full.make(tmp_path, 8000)
    right = answer_of(scikit_bayes, "scikit-learn, QDA", full, data)
    wrong = answer_of(scarce_bayes, "scarce", shared, data)  # one matrix where two differ
    assert not full.same(wrong, right)
    assert full.judge(wrong, data)[0] > full.judge(right, data)[0]
    naive = answer_of(scarce_bayes, "scarce", PROBLEMS["bayes-diag"], data)
    assert not full.same(naive, right)
    assert full.judge(naive, data)[0] > full.judge(right, data)[0]


def test_the_runner_measures_decisions(capsys, tmp_path):
    out = tmp_path / "rows.jsonl"
    asked = ["--problem", "decide-rows-1e7", "--rows", "3000", "--repeats", "1", "--out", str(out)]
    assert run.main(asked) == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["side"] for record in records] == [
        side.name for _, side in sides_of("decide-rows-1e7")
    ]
    for record in records:
        assert record["same"]
        assert record["difference"] == 0.0
        assert record["objective"] == records[0]["objective"]
    assert "| scarce |" in capsys.readouterr().err


def test_goals_need_the_same_answer():
    found = []

    def record(side, problem):
        found.append((problem, side))
        seconds = {"scarce": 3.0, "numpy": 2.0}[side]
        return {"same": problem != "decide-binary-1e7", "cpu_seconds": seconds}

    values = {text.split(":")[0]: value(record) for text, _, _, _, value in DECISION_GOALS}
    assert np.isnan(values.pop("decide-binary-1e7"))
    assert values == {"decide-1e7": 1.5, "decide-rows-1e7": 1.5}
    for problem, side in found:
        assert side in {each.name for _, each in sides_of(problem)}
    assert set(DECISION_GOALS) <= set(table.GOALS)
