"""`scarce check`: bounds against the library's figures, exit codes, what cannot be known."""

from __future__ import annotations

import json
import re

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from click.testing import CliRunner, Result

from scarce import (
    CostMatrix,
    Estimate,
    RareClassifier,
    calibration_loss,
    choose_labels,
    decide,
    estimate_performance,
    mean_cost,
    open_rows,
    save,
    savings,
)
from scarce.cli.check import BOUNDS, _size, verdict
from scarce.cli.main import scarce
from scarce.datasets import make_trial_scores
from scarce.evaluation.compare import loss_difference
from scarce.evaluation.evaluate import at_threshold, evaluate


def run(*args: object) -> Result:
    return CliRunner().invoke(scarce, ["check", *map(str, args)], prog_name="scarce")


def checks(*args: object, code: int = 0) -> dict:
    done = run(*args, "--json")
    assert done.exit_code == code, done.output
    record = json.loads(done.stdout)
    assert record["ok"] is (code == 0)
    assert record["result"]["holds"] is (code == 0)
    return {one["figure"]: one for one in record["result"]["checks"]} | {"": record["result"]}


def refused(code: int, *args: object) -> str:
    done = run(*args)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    return done.stderr


def close(found: dict, one: Estimate) -> bool:
    held = found["estimate"]
    return (held["value"], held["low"], held["high"]) == pytest.approx(
        (one.value, one.low, one.high), rel=1e-9
    )


def bound(figure: str):
    return next(one for one in BOUNDS if one.figure == figure)


@pytest.fixture
def data(rng):
    prob = rng.beta(1, 6, 500)
    return {
        "prob": prob,
        "old": np.clip(prob * 1.4, 0, 1),
        "fraud": (rng.random(500) < prob).astype(int),
    }


@pytest.fixture
def table(tmp_path, data):
    pacsv.write_csv(pa.table(data), tmp_path / "p.csv")
    return tmp_path / "p.csv"


@pytest.fixture(scope="module")
def trial():
    return make_trial_scores(random_state=0)


@pytest.fixture
def scores(tmp_path, trial):
    label = pa.array(trial.y, from_pandas=True).cast(pa.int8())
    pacsv.write_csv(pa.table({"score": trial.scores, "label": label}), tmp_path / "scores.csv")
    return tmp_path / "scores.csv"


# --- figures and verdicts -------------------------------------------------------------------------


def test_every_figure_of_probabilities_is_the_librarys(table, data):
    y, prob = data["fraud"], data["prob"]
    wide = ("--max-log-loss", 9, "--max-brier", 1, "--max-calibration", 1, "--max-gap", 1)
    found = checks(table, "--label", "fraud", *wide, "--min-skill", -9, "--min-auc", 0)
    library = evaluate(y, prob)
    assert close(found["log loss"], library.log_loss)
    assert close(found["Brier score"], library.brier)
    assert close(found["calibration loss"], calibration_loss(y, prob, cut="rows"))
    assert close(found["skill"], library.log_loss_skill)
    assert close(found["AUC"], library.auc[0])
    gap = library.gap[0]
    size = found["|given - happened|"]["estimate"]
    assert size["value"] == pytest.approx(abs(gap.value))
    assert size["high"] == pytest.approx(max(abs(gap.low), abs(gap.high)))


def test_the_size_of_a_gap_of_either_sign():
    for one, size in (
        (Estimate(-0.01, -0.03, 0.02), (0.01, 0.0, 0.03)),
        (Estimate(-0.05, -0.07, -0.02), (0.05, 0.02, 0.07)),
        (Estimate(0.05, 0.02, 0.07), (0.05, 0.02, 0.07)),
    ):
        found = _size(one)
        assert (found.value, found.low, found.high) == size
    assert np.isnan(_size(Estimate(0.1, np.nan, np.nan)).high)


def test_costs_are_the_librarys(table, data):
    flags = ("--false-alarm", 5, "--miss", 90, "--max-cost", 90, "--min-savings", -9)
    found = checks(table, "--label", "fraud", *flags)
    costs = CostMatrix.binary(false_alarm=5, miss=90)
    done = decide(data["prob"], costs)
    assert close(found["mean cost"], mean_cost(data["fraud"], done, costs))
    assert close(found["savings"], savings(data["fraud"], done, costs).share)


def test_partly_labelled_scores_are_the_librarys(scores, trial):
    flags = ("--score", "score", "--label", "label", "--threshold", 9.1)
    wide = ("--min-recall", 0, "--min-precision", 0, "--max-missed", 1e9)
    found = checks(scores, *flags, *wide)
    library = estimate_performance(trial.scores, trial.y, threshold=9.1)
    for figure in ("recall", "missed"):
        assert close(found[figure], getattr(library, figure))
    assert close(found["precision"], library.precision_further)
    assert found[""]["remarks"] == list(library.warnings)
    shown = run(scores, *flags, *wide)
    assert "[unlabelled-rows]" not in shown.stdout + shown.stderr  # here rows without a label count


def test_the_end_that_must_hold(audited, trial):
    folder, labels, chance, _ = audited
    library = estimate_performance(trial.scores, labels, threshold=9.1, inclusion=chance).recall
    lists = ("--audit", folder / "todo.csv", "--id", "id")
    flags = (folder / "s.csv", *SCORED, *lists, "--min-recall")
    between = (library.low + library.value) / 2
    assert "not shown" in checks(*flags, between, code=4)["recall"]["verdict"]
    assert checks(*flags, between, "--by", "worst", code=4)["recall"]["by"] == "low"
    assert checks(*flags, between, "--by", "low", code=4)
    assert checks(*flags, between, "--by", "value")["recall"]["verdict"] == "holds"
    above = (library.high + library.value) / 2
    assert checks(*flags, above, "--by", "value", code=4)
    assert checks(*flags, above, "--by", "high")
    missed = (*flags[:-1], "--max-missed", 10**6)
    assert checks(*missed)["missed"]["by"] == "high"


def test_what_nobody_checked_is_not_shown(scores, trial):
    """Whatever the guess: a bound holds only where the labels leave no way to break it."""
    library = estimate_performance(trial.scores, trial.y, threshold=9.1)
    flags = (scores, *SCORED)
    for share in (0.5, 1.5):
        for by in ("worst", "value", "high"):
            found = checks(
                *flags, "--by", by, "--min-recall", library.recall.value * share,
                "--max-missed", library.missed.value / share, code=4,
            )  # fmt: skip
            for figure in ("recall", "missed"):
                assert found[figure]["verdict"].startswith("not shown: nothing was checked")
    assert checks(*flags, "--max-missed", library.missed.high)["missed"]["verdict"] == "holds"
    done = run(*flags, "--min-recall", 0.1)
    assert done.exit_code == 4
    (line,) = [line for line in done.stdout.splitlines() if " >= 0.1 " in line]
    assert "(guess)  none" in line


def test_missed_events_are_whole(audited):
    folder, *_ = audited
    done = run(folder / "s.csv", *SCORED, *WIDE, "--audit", folder / "todo.csv", "--id", "id")
    (line,) = [line for line in done.stdout.splitlines() if line.strip().startswith("missed")]
    assert re.search(r"missed +\d+ +\d+ to \d+ ", line)


def test_a_setting_for_lists_is_no_fault_without_one(scores, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "scarce.toml").write_text('[scarce]\nid = "id"\n')
    assert checks(scores, *SCORED, *WIDE)


def test_the_bound_itself_is_inside():
    one = Estimate(0.5, 0.25, 0.75)
    assert verdict(bound("recall"), 0.25, "recall", one, "worst")["holds"]
    assert not verdict(bound("recall"), 0.2500001, "recall", one, "worst")["holds"]
    assert verdict(bound("brier"), 0.75, "Brier", one, "worst")["holds"]
    assert not verdict(bound("brier"), 0.7499999, "Brier", one, "worst")["holds"]
    assert verdict(bound("brier"), 0.2, "Brier", one, "worst")["verdict"] == "does not hold"
    assert verdict(bound("brier"), 0.5, "Brier", one, "value")["holds"]
    assert verdict(bound("brier"), 0.3, "Brier", one, "low")["holds"]


@pytest.mark.parametrize("by", ["worst", "value", "low", "high"])
def test_what_is_not_known_does_not_pass(by):
    nan = float("nan")
    one = Estimate(nan, nan, nan, method="m", assumes="no label says so")
    for name, limit in (("recall", -1e9), ("brier", 1e9)):
        found = verdict(bound(name), limit, name, one, by)
        assert not found["holds"]
        assert found["verdict"] == "unknown: no label says so"


def test_a_limit_can_be_known_where_the_value_is_not():
    one = Estimate(float("nan"), 0.0, 7.0)
    assert verdict(bound("missed"), 10, "missed", one, "worst")["holds"]
    assert not verdict(bound("missed"), 10, "missed", one, "value")["holds"]


def test_exit_4_with_the_whole_table_on_stdout(table):
    done = run(table, "--label", "fraud", "--max-log-loss", 0.001, "--min-auc", 0.1)
    assert done.exit_code == 4
    assert "1 of 2 bounds hold (by worst)" in done.stdout
    assert "<= 0.001" in done.stdout
    assert "does not hold" in done.stdout


# --- model files, what is in use, several classes -------------------------------------------------


@pytest.fixture
def models(tmp_path, rng):
    X = rng.normal(size=(500, 1))
    y = (rng.random(500) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(int)
    table = pa.table({"a": X[:, 0], "fraud": y})
    rows = open_rows(table, label="fraud")
    probs = {}
    for name, ridge in (("new", 0.0), ("old", 2000.0)):
        model = RareClassifier("logistic", ridge=ridge).fit(rows)
        save(model, tmp_path / f"{name}.scarce")
        probs[name] = model.predict_proba(open_rows(table.select(["a"])))[:, 1]
    pacsv.write_csv(table, tmp_path / "test.csv")
    return tmp_path, probs, y


def test_a_model_file_and_its_own_scores(models):
    folder, probs, y = models
    flags = ("--label", "fraud", "--threshold", 0.2, "--min-recall", 0.1, "--max-log-loss", 1)
    found = checks(folder / "new.scarce", folder / "test.csv", *flags)
    assert close(found["log loss"], evaluate(y, probs["new"]).log_loss)
    caught = (y[probs["new"] >= 0.2]).sum() / y.sum()
    assert found["recall"]["estimate"]["value"] == pytest.approx(caught)
    assert close(found["recall"], at_threshold(y, probs["new"], 0.2).recall)


def test_recall_of_labelled_rows_is_not_known_for_the_next_ones(tmp_path):
    """7 of 13 found: the exact 90 % interval is 0.29 to 0.78, and 0.5 is not shown."""
    path = tmp_path / "t.csv"
    rows = ["0.1,0"] * 687 + ["0.9,0"] * 200 + ["0.1,1"] * 6 + ["0.9,1"] * 7
    path.write_text("\n".join(["prob,sick", *rows]))
    flags = ("--label", "sick", "--threshold", 0.5, "--min-recall", 0.5)
    found = checks(path, *flags, code=4)["recall"]
    assert "not shown" in found["verdict"]
    assert found["estimate"]["low"] == pytest.approx(0.287, abs=0.02)
    assert checks(path, *flags, "--by", "value")
    missed = checks(path, "--label", "sick", "--threshold", 0.5, "--max-missed", 6)["missed"]
    assert missed["estimate"]["high"] == 6  # of these rows


def test_groups_reach_recall_where_every_row_has_a_label(tmp_path, data, rng):
    card = np.arange(500) // 5
    path = tmp_path / "t.csv"
    pacsv.write_csv(pa.table({**data, "card": card}), path)
    flags = ("--label", "fraud", "--threshold", 0.2, "--min-recall", 0, "--groups", "card")
    found = checks(path, *flags)["recall"]
    assert close(found, at_threshold(data["fraud"], data["prob"], 0.2, groups=card).recall)
    label = pa.array([None if row < 9 else int(y) for row, y in enumerate(data["fraud"])])
    pacsv.write_csv(pa.table({**data, "fraud": label, "card": card}), path)
    assert "[argument-conflict]" in refused(2, path, *flags)


def test_missed_events_of_drawn_rows_are_not_those_of_all_rows(tmp_path, data):
    """A file of the drawn rows alone: three missed among them are not three in all."""
    data["chance"] = np.full(len(data["fraud"]), 0.1)
    path = tmp_path / "d.csv"
    pacsv.write_csv(pa.table(data), path)
    flags = ("--label", "fraud", "--threshold", 0.5, "--max-missed", 1000)
    assert checks(path, *flags)["missed"]["holds"]
    drawn = checks(path, *flags, "--inclusion", "chance", code=4)["missed"]
    assert not drawn["holds"]
    assert drawn["estimate"]["value"] is None


def test_an_audit_reaches_recall(tmp_path, trial, rng):
    y, below = trial.y.copy(), trial.scores < 9.1
    drawn = below & (rng.random(len(y)) < 0.05)
    y[drawn] = trial.y_true[drawn]
    chance = np.where(drawn, 0.05, np.where(~below, 1.0, np.nan))
    label = pa.array(y, from_pandas=True).cast(pa.int8())
    table = {"score": trial.scores, "label": label, "p": pa.array(chance, from_pandas=True)}
    pacsv.write_csv(pa.table(table), tmp_path / "a.csv")
    flags = ("--score", "score", "--label", "label", "--threshold", 9.1, "--inclusion", "p")
    found = checks(tmp_path / "a.csv", *flags, "--min-recall", 0, "--max-missed", 1e9)
    library = estimate_performance(trial.scores, y, threshold=9.1, inclusion=chance)
    assert close(found["missed"], library.missed)
    assert close(found["recall"], library.recall)


def test_no_worse_than_what_is_in_use(models):
    folder, probs, y = models
    new, old, test = folder / "new.scarce", folder / "old.scarce", folder / "test.csv"
    found = checks(new, test, "--label", "fraud", "--against", old, "--max-worse", 0)
    ours = loss_difference(y, probs["new"], probs["old"])
    assert close(found[f"log loss beyond {old}"], ours)
    assert ours.high < 0
    checks(old, test, "--label", "fraud", "--against", new, "--max-worse", 0, code=4)
    assert "[same-model]" in refused(
        2, new, test, "--label", "fraud", "--against", new, "--max-worse", 0
    )


def test_against_a_column(table, data):
    found = checks(table, "--label", "fraud", "--against", "old", "--max-worse", 0.5)
    ours = loss_difference(data["fraud"], data["prob"], data["old"])
    assert close(found["log loss beyond old"], ours)
    assert "[unknown-column]" in refused(
        3, table, "--label", "fraud", "--against", "olt", "--max-worse", 1
    )


def test_a_gate_on_training_rows_is_refused(tmp_path, models):
    folder = models[0]
    rows = open_rows(folder / "test.csv", label="fraud")
    save(RareClassifier("logistic", ridge=1.0).fit(rows), folder / "known.scarce")
    said = refused(
        3, folder / "known.scarce", folder / "test.csv", "--label", "fraud", "--max-log-loss", 1
    )
    assert "[training-rows]" in said


def test_each_of_several_classes_must_hold(tmp_path, rng):
    prob = rng.dirichlet([2, 1, 1], 300)
    y = np.array([rng.choice(3, p=p) for p in prob])
    columns = {f"prob_{name}": prob[:, k] for k, name in enumerate("abc")}
    path = tmp_path / "p.csv"
    pacsv.write_csv(pa.table({"kind": np.array(list("abc"))[y], **columns}), path)
    found = checks(path, "--label", "kind", "--min-auc", 0.99, code=4)
    assert {"AUC of a", "AUC of b", "AUC of c"} <= set(found)
    assert "[two-classes-needed]" in refused(
        3, path, "--label", "kind", "--score", "prob_a", "--threshold", 0.5, "--min-recall", 0.1
    )


# --- odd data -------------------------------------------------------------------------------------


def test_one_class_alone_closes_the_gate(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("prob,fraud\n" + "0.01,0\n" * 40)
    found = checks(path, "--label", "fraud", "--max-log-loss", 1, "--min-auc", 0, code=4)
    assert "one class only" in found["log loss"]["verdict"]
    assert found["AUC"]["verdict"].startswith("unknown: there are rows of one class only")
    assert checks(path, "--label", "fraud", "--max-log-loss", 1, "--by", "value")


def test_unlabelled_rows_are_left_aside_out_loud(tmp_path, data):
    label = pa.array([None if row % 3 else int(y) for row, y in enumerate(data["fraud"])])
    path = tmp_path / "p.csv"
    pacsv.write_csv(pa.table({"prob": data["prob"], "fraud": label}), path)
    found = checks(path, "--label", "fraud", "--max-log-loss", 9)
    library = evaluate(data["fraud"][::3], data["prob"][::3])
    assert close(found["log loss"], library.log_loss)
    assert found[""]["unlabelled"] == 333
    shown = run(path, "--label", "fraud", "--max-log-loss", 9)
    assert "[unlabelled-rows]" in shown.stderr
    assert "Note" not in shown.stdout


def test_exchanged_classes_are_suspected(table):
    done = run(table, "--label", "fraud", "--positive", "0", "--min-auc", "0.5", "--json")
    assert done.exit_code == 4
    remarks = json.loads(done.stdout)["result"]["remarks"]
    assert any("are the classes exchanged" in said for said in remarks)


def test_words_as_labels(tmp_path, data):
    path = tmp_path / "p.csv"
    words = np.where(data["fraud"] == 1, "yes", "no")
    pacsv.write_csv(pa.table({"prob": data["prob"], "paid": words}), path)
    assert "--positive" in refused(3, path, "--label", "paid", "--max-log-loss", 9)
    found = checks(path, "--label", "paid", "--positive", "yes", "--max-log-loss", 9)
    assert close(found["log loss"], evaluate(data["fraud"], data["prob"]).log_loss)


def test_impossible_outcomes_do_not_pass(tmp_path):
    path = tmp_path / "p.csv"
    path.write_text("prob,fraud\n0,1\n0.5,0\n0.5,1\n")
    for by in ("worst", "value", "low"):
        checks(path, "--label", "fraud", "--max-log-loss", 1e300, "--by", by, code=4)


@pytest.mark.parametrize("text", ["", "prob,fraud\n"])
def test_empty_files_are_bad_data_not_a_failed_check(tmp_path, text):
    path = tmp_path / "p.csv"
    path.write_text(text)
    refused(3, path, "--label", "fraud", "--max-log-loss", 1)


# --- flags ----------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("flags", "said"),
    [
        ([], "[no-bounds]"),
        (["--max-log-loss", "nan"], "[bound-value]"),
        (["--min-auc", 80], "[bound-value]"),
        (["--min-recall", -1, "--threshold", 1], "between 0 and 1"),
        (["--max-log-loss", -1], "at least 0"),
        (["--min-skill", 1.5], "at most 1"),
        (["--max-cost", 1], "[bound-needs]"),
        (["--max-brier", 1, "--false-alarm", 1, "--miss", 2], "[unused-argument]"),
        (["--min-recall", 0.5], "[bound-needs]"),
        (["--max-brier", 1, "--threshold", 1], "[unused-argument]"),
        (["--min-recall", 0.5, "--threshold", "inf"], "[threshold-value]"),
        (["--max-worse", 0], "[bound-needs]"),
        (["--max-brier", 1, "--against", "old"], "[unused-argument]"),
    ],
)
def test_flags_that_cannot_work_are_said_before_anything_is_read(tmp_path, flags, said):
    assert said in refused(2, tmp_path / "nowhere.csv", "--label", "fraud", *flags)


def test_bounds_from_the_folder_of_the_job(table, monkeypatch):
    monkeypatch.chdir(table.parent)
    settings = table.parent / "scarce.toml"
    settings.write_text('[scarce]\nlabel = "fraud"\n[check]\nmax-log-loss = 0.001\n')
    assert run("p.csv").exit_code == 4
    assert run("p.csv", "--max-log-loss", "9").exit_code == 0
    settings.write_text('[scarce]\nlabel = "fraud"\n[check]\nmax-log-los = 0.001\n')
    assert "[settings-key]" in refused(3, "p.csv")


def test_dry_run(tmp_path):
    (tmp_path / "t.csv").write_text("prob,y\n0.5,1\n")
    done = run(tmp_path / "t.csv", "--label", "y", "--max-brier", 0.1, "--dry-run", "--json")
    assert done.exit_code == 0
    assert "--max-brier 0.1" in json.loads(done.stdout)["result"]["checks"]


def test_every_bound_has_a_flag_and_a_test_of_its_need():
    command = scarce.get_command(None, "check")
    flags = {option for parameter in command.params for option in parameter.opts}
    assert {one.flag for one in BOUNDS} <= flags
    assert len({one.figure for one in BOUNDS}) == len(BOUNDS)


# --- lists and batches, as estimate takes them ----------------------------------------------------


@pytest.fixture
def audited(tmp_path, trial):
    """Scores with names and weeks, and a list below the threshold that was filled in."""
    names = [f"{row:05d}" for row in range(len(trial.scores))]
    week = np.arange(len(names)) % 2
    labels = np.where(trial.scores >= 9.1, trial.y_true, np.nan)
    held = {"id": names, "score": trial.scores, "week": week}
    held["label"] = pa.array(labels, from_pandas=True)
    pacsv.write_csv(pa.table(held), tmp_path / "s.csv")
    choice = choose_labels(
        trial.scores, labels, policy="audit", n=100, threshold=9.1, random_state=0
    )
    todo = {
        "id": [names[row] for row in choice.rows],
        "score": trial.scores[choice.rows],
        "label": trial.y_true[choice.rows].astype(int),
        "inclusion": choice.probability,
        "policy": choice.policy.tolist(),
    }
    pacsv.write_csv(pa.table(todo), tmp_path / "todo.csv")
    labels[choice.rows] = trial.y_true[choice.rows]
    return tmp_path, labels, choice.inclusion(len(labels)), week


SCORED = ("--score", "score", "--label", "label", "--threshold", 9.1)
WIDE = ("--min-recall", 0, "--min-precision", 0, "--max-missed", 1e9)


def test_a_filled_in_list_counts(audited, trial):
    folder, labels, chance, week = audited
    lists = ("--audit", folder / "todo.csv", "--id", "id")
    found = checks(folder / "s.csv", *SCORED, *WIDE, *lists)
    library = estimate_performance(trial.scores, labels, threshold=9.1, inclusion=chance)
    for figure in ("recall", "missed"):
        assert close(found[figure], getattr(library, figure))
    assert close(found["precision"], library.precision_further)
    assert (found[""]["rows"], found[""]["unlabelled"]) == (len(labels), np.isnan(labels).sum())
    found = checks(folder / "s.csv", *SCORED, *WIDE, *lists, "--batch", "week")
    library = estimate_performance(
        trial.scores, labels, threshold=9.1, inclusion=chance, batch=week
    )
    assert close(found["recall"], library.recall)


def test_a_list_beside_bounds_on_probabilities(audited, tmp_path, trial):
    folder, labels, chance, _ = audited
    held = pacsv.read_csv(folder / "s.csv", convert_options=pacsv.ConvertOptions(
        column_types={"id": pa.string()}))  # fmt: skip
    prob = 1 / (1 + np.exp(9.1 - trial.scores))
    pacsv.write_csv(held.append_column("prob", pa.array(prob)), folder / "s.csv")
    lists = ("--audit", folder / "todo.csv", "--id", "id")
    found = checks(folder / "s.csv", *SCORED, *WIDE, *lists, "--max-log-loss", 9)
    library = estimate_performance(trial.scores, labels, threshold=9.1, inclusion=chance)
    assert close(found["recall"], library.recall)
    known = trial.scores >= 9.1
    assert close(found["log loss"], evaluate(trial.y_true[known], prob[known]).log_loss)
    assert any("--audit" in said for said in found[""]["remarks"])
    said = refused(2, folder / "s.csv", *SCORED, "--min-recall", 0.1, *lists, "--weight", "week")
    assert "[argument-conflict]" in said
    said = refused(2, folder / "s.csv", "--label", "label", "--max-log-loss", 1, *lists)
    assert "[unused-argument]" in said


def test_a_model_s_probabilities_are_written_before_a_list_is_joined(audited, table):
    said = refused(
        2, table.parent / "m.scarce", table, "--label", "fraud", "--threshold", 0.2,
        "--min-recall", 0, "--audit", audited[0] / "todo.csv",
    )  # fmt: skip
    assert "m.scarce" in said
    assert "[argument-conflict]" in said


# --- why something is not known -------------------------------------------------------------------


def test_without_events_recall_is_unknown_and_says_why(tmp_path):
    path = tmp_path / "p.csv"
    pacsv.write_csv(pa.table({"prob": np.linspace(0, 0.4, 200), "fraud": [0] * 200}), path)
    flags = ("--label", "fraud", "--threshold", 0.5, "--min-recall", 0.2, "--min-precision", 0.2)
    found = checks(path, *flags, code=4)
    assert found["recall"]["verdict"].startswith("unknown: no row is an event")
    assert found["precision"]["verdict"] == "unknown: no row is an alert at this threshold"


def test_an_interval_of_nothing_is_unknown(scores, trial, tmp_path):
    label = pa.array(np.where(trial.scores >= 9.1, 0.0, np.nan), from_pandas=True)
    pacsv.write_csv(pa.table({"score": trial.scores, "label": label}), tmp_path / "none.csv")
    for limit in (0, 0.2):
        found = checks(tmp_path / "none.csv", *SCORED, "--min-recall", limit, code=4)["recall"]
        assert found["verdict"].startswith("unknown: no event was seen")
    far = ("--score", "score", "--label", "label", "--threshold", 1e6)
    found = checks(scores, *far, "--min-precision", 0.1, code=4)["precision"]
    assert found["verdict"].startswith("unknown: ")  # anything from 0 to 1


def test_advice_is_in_flags(scores, trial, tmp_path):
    labels = trial.y.copy()
    deep = np.flatnonzero(np.isnan(labels))[::40]
    labels[deep] = trial.y_true[deep]
    held = {"score": trial.scores, "label": pa.array(labels, from_pandas=True)}
    pacsv.write_csv(pa.table(held), tmp_path / "s.csv")
    remarks = checks(tmp_path / "s.csv", *SCORED, *WIDE)[""]["remarks"]
    assert any("--inclusion" in said for said in remarks)
    assert not any("inclusion=" in said for said in remarks)


def test_what_is_in_use_is_named_with_its_own_flag(table):
    said = refused(3, table, "--label", "fraud", "--against", "prbo", "--max-worse", 0)
    assert "--against prbo: " in said
    assert "[unknown-column]" in said
    assert "--prob" not in said
