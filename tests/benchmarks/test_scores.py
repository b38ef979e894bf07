"""The benchmarks of scores: one formula for all sides, the same rows in file and memory."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.stats import norm

from benchmarks import run, table
from benchmarks.adapters import plain_scores, scarce_scores, scikit_mixture, sides_of
from benchmarks.problems import PROBLEMS
from benchmarks.score_goals import SCORE_GOALS
from benchmarks.scores import CERTIFICATE, LIMIT, SCORES, rows_of, surprise

PARAMS = np.array([-2.0, 6.5, 0.1, 8.6, -0.2])


def answer_of(adapter, name, problem, data):
    side = next(side for side in adapter.SIDES if side.name == name)
    with adapter.prepared(side, problem, data) as call:
        return call()


def some_rows(rng, n=300):
    return rng.normal(7.0, 1.5, n), rng.choice([0.0, 1.0, np.nan], n)


def test_the_objective_is_the_log_likelihood_of_scores_and_labels(rng):
    score, label = some_rows(rng)
    share = 1 / (1 + np.exp(2.0))
    none = (1 - share) * norm.pdf(score, 6.5, np.exp(0.1))
    event = share * norm.pdf(score, 8.6, np.exp(-0.2))
    wanted = np.where(np.isnan(label), none + event, np.where(label == 1, event, none))
    assert surprise(PARAMS, score, label)[0] == pytest.approx(-np.log(wanted).sum(), rel=1e-12)


def test_its_gradient_by_rows(rng):
    score, label = some_rows(rng)
    slopes = surprise(PARAMS, score, label)[1]
    for k, step in enumerate(1e-6 * np.eye(5)):
        up, down = (surprise(PARAMS + h, score, label)[0] for h in (step, -step))
        assert slopes[k].sum() == pytest.approx((up - down) / 2e-6, rel=1e-6, abs=1e-6)


def test_the_certificate_counts_standard_errors(tmp_path):
    problem = PROBLEMS["scores-em"]
    data = problem.make(tmp_path, 40_000)
    best = answer_of(scarce_scores, "scarce", problem, data)
    objective, certificate = problem.judge(best, data)
    assert certificate < CERTIFICATE
    X, y = data.arrays()
    slopes = surprise(best["params"], X[:, 0], y)[1]
    squares = slopes @ slopes.T
    error = np.sqrt(np.diag(np.linalg.inv(squares)))
    for k in range(5):
        moved = best["params"].copy()
        moved[k] += 0.2 * error[k]
        worse, off = problem.judge({"params": moved}, data)
        assert worse > objective
        # along one parameter alone, with the others held, it is more than 0.2
        assert off == pytest.approx(0.2 * error[k] * np.sqrt(squares[k, k]), rel=0.25)
        assert not problem.solved(off)


def test_file_and_arrays_hold_the_same_rows(tmp_path):
    problem = PROBLEMS["scores-fit"]
    data = problem.make(tmp_path, 30_000)
    X, y = data.arrays()
    score, label = (np.concatenate(part) for part in zip(*rows_of(data), strict=True))
    np.testing.assert_array_equal(X[:, 0], score)
    np.testing.assert_array_equal(y, label)
    np.testing.assert_array_equal(~np.isnan(y), score >= problem.threshold)
    assert np.mean(~np.isnan(y)) == pytest.approx(problem.labelled, rel=0.2)
    large = replace(PROBLEMS["scores-fit-1e8"], rows=30_000).make(tmp_path / "large", 30_000)
    assert [len(part) for part in large.mapped()] == [0, 30_000]
    for one, other in zip(rows_of(data), rows_of(large), strict=True):
        np.testing.assert_array_equal(one, other)


def test_em_and_scarce_find_the_same_optimum(tmp_path):
    problem = replace(PROBLEMS["scores-em"], labelled=0.05, apart=3.0)
    data = problem.make(tmp_path, 30_000)
    wanted = answer_of(plain_scores, "numpy, EM", problem, data)
    found = answer_of(scarce_scores, "scarce", problem, data)
    for answer in (wanted, found):
        assert problem.judge(answer, data)[1] <= LIMIT
    assert problem.same(found, wanted)
    assert not problem.same({"params": found["params"] + 0.02}, wanted)
    assert not problem.solved(problem.judge({"params": problem.truth}, data)[1])


def test_scikit_learn_finds_it_too(tmp_path):
    pytest.importorskip("sklearn")
    problem = PROBLEMS["scores-unlabelled"]
    data = problem.make(tmp_path, 20_000)
    theirs = answer_of(scikit_mixture, "scikit-learn, GaussianMixture", problem, data)
    ours = answer_of(scarce_scores, "scarce", problem, data)
    assert problem.judge(theirs, data)[1] <= LIMIT
    assert problem.same(ours, theirs)


@pytest.mark.parametrize("side", ["scarce, digest", "scarce, digest, streamed file"])
def test_the_digest_has_the_sums(tmp_path, side):
    problem = PROBLEMS["scores-pass"]
    data = problem.make(tmp_path, 20_000)
    wanted = answer_of(plain_scores, "numpy", problem, data)
    assert problem.same(answer_of(scarce_scores, side, problem, data), wanted)
    assert not problem.same({"sums": wanted["sums"] * (1 + 1e-9)}, wanted)


def test_reports_of_file_and_memory_are_the_same(tmp_path):
    problem = PROBLEMS["scores-estimate"]
    data = problem.make(tmp_path, 20_000)
    memory, file = (
        answer_of(scarce_scores, side, problem, data) for side in ("scarce", "scarce, file")
    )
    assert problem.same(file, memory)
    moved = {"figures": memory["figures"] + [[0.2], [0.0], [0.0], [0.0]]}
    assert not problem.same(moved, memory)
    assert problem.judge(memory, data) == (memory["figures"][0, 0], None)


def test_the_runner_takes_passes_as_yardsticks(monkeypatch, capsys, tmp_path):
    kept = {"scarce", "numpy, one pass"}
    monkeypatch.setattr(
        run, "sides_of", lambda name: [pair for pair in sides_of(name) if pair[1].name in kept]
    )
    out = tmp_path / "fit.jsonl"
    asked = ["--problem", "scores-fit", "--rows", "30000", "--repeats", "1", "--out", str(out)]
    assert run.main(asked) == 0
    ours, plain = map(json.loads, out.read_text().splitlines())
    assert ours["same"]
    assert plain["yardstick"] == "scores-pass"
    assert plain["wall_seconds"] < ours["wall_seconds"]
    assert "numpy, one pass" in capsys.readouterr().err


def test_goals_need_the_same_answer():
    names = {problem.name for problem in SCORES}
    found = []

    def record(side, problem):
        found.append((problem, side))
        return {
            "same": problem != "scores-em",
            "yardstick": None,
            "cpu_seconds": 3.0,
            "wall_seconds": 3.0,
            "peak_extra_mb": 3.0,
        }

    values = {text: value(record) for text, _, _, _, value in SCORE_GOALS}
    assert np.isnan(values.pop("scores-em: times faster than EM in NumPy, CPU"))
    assert set(values.values()) == {1.0, 3.0}
    for problem, side in found:
        assert problem in names
        assert side in {each.name for _, each in sides_of(problem)}
    assert set(SCORE_GOALS) <= set(table.GOALS)
