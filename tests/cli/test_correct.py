"""`scarce correct`: tables and models under another class mix, as the library moves them."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from scarce import (
    AutoClassifier,
    GaussianBayes,
    PriorCorrected,
    RareClassifier,
    correct_prior,
    load,
    open_rows,
    save,
)
from scarce.cli.main import scarce
from scarce.datasets import make_rare
from scarce.io import source as table_source

MIX = ("--trained-at", "0.13", "--now-at", "0.015")


def run(*words: str | Path, stdin: str | bytes | None = None) -> Result:
    return CliRunner().invoke(scarce, [*map(str, words)], prog_name="scarce", input=stdin)


def ok(*words: str | Path, stdin: str | bytes | None = None) -> Result:
    done = run(*words, stdin=stdin)
    assert done.exit_code == 0, done.stderr
    return done


def rows_of(text: str) -> dict[str, list[str]]:
    head, *lines = csv.reader(io.StringIO(text))
    return dict(zip(head, map(list, zip(*lines, strict=True)), strict=True))


@pytest.fixture(scope="module")
def prob() -> np.ndarray:
    rng = np.random.default_rng(3)
    return np.r_[0.0, 1.0, 1e-300, 1 - 1e-16, 1 / (1 + np.exp(4 - 2 * rng.normal(size=496)))]


@pytest.fixture
def table(tmp_path, monkeypatch, prob) -> Path:
    monkeypatch.chdir(tmp_path)
    lines = [f"{row:05d},{float(p)!r},  x" for row, p in enumerate(prob)]
    Path("p.csv").write_text("\n".join(["id,prob,note", *lines, ""]))
    return Path("p.csv")


@pytest.fixture
def folder(tmp_path, monkeypatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


# --- tables ---------------------------------------------------------------------------------------


def test_the_column_is_replaced_and_the_old_one_kept_as_written(table, prob):
    done = ok("correct", table, "--prob", "prob", *MIX, "--out", "q.csv")
    assert done.stdout == ""
    before, found = rows_of(table.read_text()), rows_of(Path("q.csv").read_text())
    assert list(found) == ["id", "prob", "note", "before_prob"]
    assert found["before_prob"] == before["prob"]
    assert found["id"] == before["id"]
    assert found["note"] == before["note"]
    moved = correct_prior(prob, 0.13, 0.015)
    assert np.array_equal(np.array(found["prob"], float), moved)
    assert f"{prob.mean():.3g} before, {moved.mean():.3g} now" in done.stderr
    assert "the share said to hold now is 0.015" in done.stderr


def test_bayes_rule_by_hand():
    text = ok("correct", *MIX, stdin="prob\n0.5\n").stdout
    by_hand = 1 / (1 + (0.985 / 0.015) * (0.13 / 0.87))
    assert np.isclose(float(rows_of(text)["prob"][0]), by_hand, rtol=1e-14)


def test_under_another_name_nothing_is_changed(table, prob):
    found = rows_of(ok("correct", table, *MIX, "--as", "now").stdout)
    assert found["prob"] == rows_of(table.read_text())["prob"]
    assert np.array_equal(np.array(found["now"], float), correct_prior(prob, 0.13, 0.015))
    assert "before_prob" not in found


def test_the_rate_of_thinning_out_says_the_same_as_both_shares(table, prob):
    found = rows_of(ok("correct", table, "--undersample", "0.1").stdout)
    odds = 0.13 / 0.87 * 0.1
    moved = correct_prior(prob, 0.13, odds / (1 + odds))
    assert np.allclose(np.array(found["prob"], float), moved, rtol=1e-12)
    both = ok("correct", table, "--undersample", "0.1", "--trained-at", "0.13", "--as", "p")
    assert f"now is {odds / (1 + odds):.3g}" in both.stderr
    assert np.allclose(np.array(rows_of(both.stdout)["p"], float), moved, rtol=1e-12)


def test_twice_by_mistake_is_noticed(table):
    once = ok("correct", table, *MIX).stdout
    done = run("correct", *MIX, stdin=once)
    assert done.exit_code == 3
    assert "[corrected-twice]" in done.stderr
    assert rows_of(ok("correct", *MIX, "--as", "twice", stdin=once).stdout)["twice"]


def test_several_classes(folder):
    rng = np.random.default_rng(5)
    prob = rng.dirichlet([3, 1, 0.5], 100)
    text = io.StringIO()
    csv.writer(text).writerows([["prob_a", "prob_b", "prob_c"], *prob.tolist()])
    now = ("--now-at", "b=0.2", "--now-at", "c=0.1")
    was = ("--trained-at", "a=0.5", "--trained-at", "b=0.25", "--trained-at", "c=0.25")
    moved = correct_prior(prob, [0.5, 0.25, 0.25], [0.7, 0.2, 0.1])
    found = rows_of(ok("correct", *was, *now, "--as", "now_*", stdin=text.getvalue()).stdout)
    for place, name in enumerate("abc"):
        assert np.allclose(np.array(found[f"now_{name}"], float), moved[:, place], rtol=1e-13)
    replaced = rows_of(ok("correct", *was, *now, stdin=text.getvalue()).stdout)
    assert replaced["prob_b"] == found["now_b"]
    assert replaced["before_prob_c"] == rows_of(text.getvalue())["prob_c"]
    kept = ok("correct", *was, "--undersample", "a=0.5", stdin=text.getvalue()).stdout
    thinned = correct_prior(prob, [0.5, 0.25, 0.25], [2 / 3, 1 / 6, 1 / 6])
    assert np.allclose(np.array(rows_of(kept)["prob_a"], float), thinned[:, 0], rtol=1e-13)


def test_parts_give_what_the_whole_gives(table, monkeypatch):
    whole = ok("correct", table, *MIX).stdout
    monkeypatch.setattr(table_source, "BLOCK_BYTES", 512)
    assert ok("correct", table, *MIX).stdout == whole


def test_parquet_in_and_out(folder, prob):
    held = pa.table({"id": pa.array(range(500), pa.int16()), "prob": prob})
    pq.write_table(held, "p.parquet")
    done = ok("correct", "p.parquet", *MIX, "--out", "q.parquet", "--json")
    found = pq.read_table("q.parquet")
    moved = correct_prior(prob, 0.13, 0.015)
    assert found.column_names == ["id", "prob", "before_prob"]
    assert found["id"].type == pa.int16()
    assert np.array_equal(found["prob"].to_numpy(), moved)
    assert np.array_equal(found["before_prob"].to_numpy(), prob)
    told = json.loads(done.stdout)["result"]
    assert (told["rows"], told["trained_at"], told["now_at"]) == (500, [0.87, 0.13], [0.985, 0.015])
    assert np.isclose(told["prob"][0]["mean_after"], moved.mean(), rtol=1e-12)


def test_a_real_pipe_into_decide(table, prob):
    main = [sys.executable, "-c", "from scarce.cli.main import main; main()"]
    first = subprocess.Popen(
        [*main, "correct", "p.csv", *MIX, "--to", "arrow"],
        stdout=subprocess.PIPE,
        stderr=subprocess.DEVNULL,
    )
    done = subprocess.run(
        [*main, "decide", "--false-alarm", "5", "--miss", "400"],
        stdin=first.stdout,
        capture_output=True,
        timeout=60,
    )
    first.stdout.close()
    assert (first.wait(60), done.returncode) == (0, 0), done.stderr
    acts = correct_prior(prob, 0.13, 0.015) > 5 / 405
    assert rows_of(done.stdout.decode())["action"] == np.where(acts, "act", "pass").tolist()


def test_no_rows_are_no_error():
    assert ok("correct", *MIX, stdin="id,prob\n").stdout == "id,prob,before_prob\n"
    assert ok("correct", *MIX, "--as", "q", stdin="prob\n").stdout == "prob,q\n"


def test_shares_from_the_settings_are_data(table):
    Path("scarce.toml").write_text("[correct]\ntrained-at = 0.13\nnow-at = 0.015\n")
    assert rows_of(ok("correct", table).stdout)["before_prob"]
    Path("scarce.toml").write_text("[correct]\ntrained-at = 13\nnow-at = 0.015\n")
    done = run("correct", table)
    assert (done.exit_code, "13 % is 0.13" in done.stderr) == (3, True)


def test_dry_run_writes_nothing(table):
    plan = json.loads(ok("correct", table, *MIX, "--dry-run", "--json").stdout)["result"]
    assert (plan["correct"], plan["add"], plan["now_at"]) == ("prob", "before_prob", [0.985, 0.015])


# --- models ---------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def data():
    return make_rare(1500, random_state=0)


def three(X, rng):
    return np.array(["a", "b", "c"])[
        np.clip(np.round(X[:, 0] + rng.normal(size=len(X))), 0, 2).astype(int)
    ]


@pytest.mark.parametrize(
    "model",
    [
        RareClassifier("logistic", ridge=1.0),
        GaussianBayes(),
        GaussianBayes(priors=[0.6, 0.4]),
        AutoClassifier(["logit", "forest"], repeats=1),
    ],
    ids=["rare", "bayes", "bayes with priors", "auto"],
)
def test_a_model_is_wrapped_to_the_bit(folder, data, model):
    save(model.fit(data.X[:500], data.y[:500]), "m.scarce")
    done = ok("correct", "m.scarce", "--now-at", "0.2", "--out", "m2.scarce", "--json")
    told = json.loads(done.stdout)["result"]
    share = {"GaussianBayes": "class_prior_"}.get(type(model).__name__, "prevalence_")
    before = np.atleast_1d(getattr(model, share))[-1]
    assert told["trained_at"] == [1 - before, before]
    moved = load("m2.scarce")
    assert isinstance(moved, PriorCorrected)
    assert np.array_equal(
        moved.predict_proba(data.X),
        correct_prior(model.predict_proba(data.X), told["trained_at"], [0.8, 0.2]),
    )
    assert moved.trained_at_.tolist() == told["trained_at"]
    assert moved.now_at_.tolist() == [0.8, 0.2]
    assert moved.classes_.tolist() == model.classes_.tolist()
    assert not hasattr(moved.estimator, "classes_"), "the model is in the file once"
    assert moved.estimator.get_params().keys() == model.get_params().keys()


def test_a_model_of_several_classes(folder, data):
    y = three(data.X, np.random.default_rng(0))
    model = GaussianBayes().fit(data.X, y)
    save(model, "m.scarce")
    ok("correct", "m.scarce", "--now-at", "a=0.1", "--now-at", "c=0.6", "--out", "m2.scarce")
    moved = load("m2.scarce")
    now = [0.1, 1 - 0.1 - 0.6, 0.6]
    same = correct_prior(model.predict_proba(data.X), model.class_prior_, now)
    assert np.allclose(moved.predict_proba(data.X), same, rtol=1e-14)
    again = PriorCorrected(GaussianBayes(), prior=moved.prior).fit(data.X, y)  # fits anew as said
    assert np.allclose(again.now_at_, now)


def test_a_model_that_was_corrected_before_is_moved_not_wrapped_twice(folder, data):
    first = PriorCorrected(RareClassifier("logistic", ridge=1.0), prior=0.3).fit(data.X, data.y)
    save(first, "m.scarce")
    ok("correct", "m.scarce", "--now-at", "0.05", "--out", "m2.scarce")
    moved = load("m2.scarce")
    direct = PriorCorrected(RareClassifier("logistic", ridge=1.0), prior=0.05).fit(data.X, data.y)
    assert type(moved.estimator_) is RareClassifier
    assert np.array_equal(moved.predict_proba(data.X), direct.predict_proba(data.X))
    assert np.array_equal(moved.intercept_, direct.intercept_)
    assert moved.prior == 0.05
    ok("correct", "m2.scarce", "--undersample", "0.5", "--out", "m3.scarce")
    share = data.y.mean()
    thinned = 0.5 * share / (0.5 * share + 1 - share)
    assert np.isclose(load("m3.scarce").now_at_[1], thinned, rtol=1e-12)
    done = run("correct", "m2.scarce", "--trained-at", "0.1", "--now-at", "0.2", "-o", "x.scarce")
    assert (done.exit_code, "[argument-conflict]" in done.stderr) == (2, True)


def test_the_model_knows_its_share_better_than_the_user(folder, data):
    model = RareClassifier("logistic", ridge=1.0).fit(data.X, data.y)
    save(model, "m.scarce")
    done = run("correct", "m.scarce", "--trained-at", "0.5", "--now-at", "0.2", "-o", "m2.scarce")
    assert done.exit_code == 2
    assert f" {model.prevalence_:.3g} of 1.0" in done.stderr
    done = ok("correct", "m.scarce", "--now-at", "0.2", "-o", "m2.scarce")
    assert f" {model.prevalence_:.3g} of 1.0; m2.scarce" in done.stderr
    half = correct_prior([0.5], model.prevalence_, 0.2)[0]
    assert f"A probability of 0.5 becomes {half:.3g}." in done.stderr


def test_settings_for_tables_do_not_stand_in_the_way_of_a_model(folder, data):
    save(RareClassifier("logistic", ridge=1.0).fit(data.X, data.y), "m.scarce")
    Path("scarce.toml").write_text('[scarce]\ntrained-at = 0.13\nprob = "prob"\nto = "csv"\n')
    ok("correct", "m.scarce", "--now-at", "0.2", "--out", "m2.scarce")
    assert load("m2.scarce").now_at_.tolist() == [0.8, 0.2]


@pytest.mark.parametrize("again", [False, True])
def test_thinning_out_says_nothing_about_a_share_that_was_stated(folder, data, again):
    model = GaussianBayes(priors=[0.6, 0.4]).fit(data.X, data.y)
    save(model, "m.scarce")
    if again:
        ok("correct", "m.scarce", "--now-at", "0.3", "--out", "m.scarce", "--force")
    done = run("correct", "m.scarce", "--undersample", "0.1", "--out", "m2.scarce")
    assert (done.exit_code, "[argument-conflict]" in done.stderr) == (2, True)


def test_a_corrected_model_predicts_from_the_command_line(folder, data):
    held = pa.table({name: data.X[:, place] for place, name in enumerate("abcde")} | {"y": data.y})
    pq.write_table(held, "t.parquet")
    rows = open_rows("t.parquet", label="y")
    model = RareClassifier("logistic", ridge=1.0).fit(rows)
    save(model, "m.scarce")
    ok("correct", "m.scarce", "--now-at", "0.2", "--out", "m2.scarce")
    new = rows_of(ok("predict", "m2.scarce", "t.parquet").stdout)["prob"]
    moved = correct_prior(model.predict_proba(rows)[:, 1], model.prevalence_, 0.2)
    assert np.allclose(np.array(new, float), moved, rtol=1e-12)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "[no-base-rate]"),
        (("--now-at", "0.015"), "[no-base-rate]"),
        ((*MIX, "--undersample", "0.1"), "[argument-conflict]"),
        (("--trained-at", "13", "--now-at", "0.015"), "13 % is 0.13"),
        (("--trained-at", "0", "--now-at", "0.015"), "[option-value]"),
        (("--trained-at", "0.1", "--now-at", "nan"), "[option-value]"),
        (("--trained-at", "0.1", "--now-at", "few"), "'few' is not a number"),
        (("--trained-at", "0.1", "--now-at", "evnt=0.1"), "[unknown-class]"),
        (("--undersample", "10"), "Every tenth row is 0.1"),
        ((*MIX, "--json"), "json-needs-out"),
        ((*MIX, "--out", "p.csv"), "[file-exists]"),
    ],
)
def test_flags_that_cannot_work(table, words, said):
    before = sorted(Path.cwd().iterdir())
    done = run("correct", table, *words)
    assert done.exit_code == 2, done.output
    assert said in done.stderr + done.stdout
    assert sorted(Path.cwd().iterdir()) == before


@pytest.mark.parametrize(
    ("now", "said"),
    [
        (("0.2",), "[base-rate-classes]"),
        (("a=0.2",), " 'b' and 'c'. "),
        (("a=0.6", "b=0.6"), "[base-rate-range]"),
        (("a=0.2", "b=0.2", "c=0.2"), " 0.6. "),
        (("a=0.2", "a=0.2"), " 'a' "),
        (("a=0.2", "0.3"), "[base-rate-classes]"),
    ],
)
def test_shares_of_several_classes(now, said):
    flags = [word for share in now for word in ("--now-at", share)]
    was = ("--trained-at", "a=0.2", "--trained-at", "b=0.3")
    done = run("correct", *was, *flags, stdin="prob_a,prob_b,prob_c\n0.2,0.3,0.5\n")
    assert (done.exit_code, said in done.stderr) == (2, True), done.stderr
    done = run("correct", *was, "--now-at", "a=0.1", "--now-at", "b=0.1", "--as", "x",
               stdin="prob_a,prob_b,prob_c\n0.2,0.3,0.5\n")  # fmt: skip
    assert "[several-columns]" in done.stderr


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prob\n0.5\n1.01\n", "1.01 at row 1. "),
        ("id,prob\n1,0.5\n2,\n", "[missing-probability]"),
        ("id,prob\n1,x\n", "column 'prob', row 0: 'x' is"),
        ("id,score\n1,0.5\n", "has no column 'prob'"),
        ("prob_a\n0.5\n", "has no column 'prob'"),
    ],
)
def test_hostile_rows_leave_nothing(folder, text, said):
    done = run("correct", *MIX, "--out", "q.csv", stdin=text)
    assert (done.exit_code, said in done.stderr) == (3, True), done.stderr
    assert list(folder.iterdir()) == []


def test_model_files_that_are_none(folder, data):
    Path("m.scarce").write_bytes(b"no model")
    done = run("correct", "m.scarce", "--now-at", "0.1", "--out", "m2.scarce")
    assert done.exit_code == 3
    save(RareClassifier("logistic", ridge=1.0).fit(data.X, data.y), "m.scarce", )  # fmt: skip
    done = run("correct", "m.scarce", "--now-at", "0.1")
    assert (done.exit_code, "--out m2.scarce" in done.stderr) == (2, True)
    done = run("correct", "m.scarce", "--now-at", "0.1", "--out", "m.scarce")
    assert (done.exit_code, "--force" in done.stderr) == (2, True)
    done = run("correct", "m.scarce", "--now-at", "0.1", "--prob", "p", "--out", "m2.scarce")
    assert (done.exit_code, "[argument-conflict]" in done.stderr) == (2, True)
    assert sorted(path.name for path in folder.iterdir()) == ["m.scarce"]


def test_a_bad_cell_of_a_file_is_named_by_its_line(folder):
    Path("p.csv").write_text("id,prob\n1,0.5\n2,x\n")
    done = run("correct", "p.csv", *MIX, "--out", "q.csv")
    assert (done.exit_code, "line 3, column 'prob': 'x'" in done.stderr) == (3, True)
    Path("p.csv").write_text("id,prob\n1,0.5\n2,1.5\n")
    done = run("correct", "p.csv", *MIX, "--out", "q.csv")
    assert (done.exit_code, "1.5 in line 3. " in done.stderr) == (3, True)


def test_onto_itself_nothing_is_lost(table, prob, data):
    before = rows_of(Path(table).read_text())
    ok("correct", table, *MIX, "--out", table, "--force")
    after = rows_of(Path(table).read_text())
    assert after.pop("before_prob") == before["prob"]
    assert {k: v for k, v in after.items() if k != "prob"} == {
        k: v for k, v in before.items() if k != "prob"
    }
    model = RareClassifier("logistic", ridge=1.0).fit(data.X, data.y)
    save(model, "m.scarce")
    ok("correct", "m.scarce", "--now-at", "0.2", "--out", "m.scarce", "--force")
    assert np.array_equal(
        load("m.scarce").estimator_.predict_proba(data.X), model.predict_proba(data.X)
    )
