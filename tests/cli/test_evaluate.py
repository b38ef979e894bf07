"""`scarce evaluate`: the library's figures, whatever the file looks like; nothing guessed."""

from __future__ import annotations

import json
import shlex
from contextlib import contextmanager
from dataclasses import replace

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from scarce import (
    CostMatrix,
    GaussianBayes,
    PriorCorrected,
    RareClassifier,
    brier_curve,
    brier_score,
    calibration_loss,
    cost_confusion,
    decide,
    log_loss,
    mean_cost,
    open_rows,
    save,
    savings,
)
from scarce.cli.evaluate import BaseRateAdvice, base_rate_advice, folded_note
from scarce.cli.main import scarce
from scarce.cli.options import LabelFlags
from scarce.cli.outcome_table import OutcomeTable, read_outcomes
from scarce.cli.sampling_columns import SamplingFlags
from scarce.evaluation.evaluate import at_threshold, evaluate
from scarce.evaluation.ranking import auc
from scarce.io.text import TextForm


def run(*args: object, stdin: str | bytes | None = None) -> Result:
    words = ["evaluate", *map(str, args)]
    return CliRunner().invoke(scarce, words, prog_name="scarce", input=stdin)


def figures(*args: object, **more: object) -> dict:
    done = run(*args, "--json", **more)
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["result"]


def refused(code: int, *args: object, **more: object) -> str:
    done = run(*args, **more)
    assert done.exit_code == code, done.output
    assert done.stdout == ""
    return done.stderr


def close(found: dict, one: object) -> bool:
    return (found["value"], found["low"], found["high"]) == pytest.approx(
        (one.value, one.low, one.high), rel=1e-9, abs=1e-12
    )


def write(path, **columns):
    table = pa.table(columns)
    pq.write_table(table, path) if path.suffix == ".parquet" else pacsv.write_csv(table, path)
    return path


@pytest.fixture
def data(rng):
    prob = rng.beta(1, 6, 400)
    y = (rng.random(400) < prob).astype(int)
    return {
        "prob": prob,
        "fraud": y,
        "amount": rng.lognormal(3, 1, 400),
        "card": np.arange(400) // 8,
    }


@pytest.fixture
def table(tmp_path, data):
    return write(tmp_path / "p.csv", **data)


@pytest.fixture
def model(tmp_path, rng):
    X = rng.normal(size=(600, 2))
    y = (rng.random(600) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(int)
    rows = open_rows(pa.table({"a": X[:, 0], "b": X[:, 1], "fraud": y}), label="fraud")
    path = tmp_path / "m.scarce"
    save(RareClassifier("logistic", ridge=1.0).fit(rows), path)
    return path


# --- the library as the witness -------------------------------------------------------------------


def test_figures_are_the_librarys(table, data):
    found = figures(table, "--prob", "prob", "--label", "fraud", "--level", "0.8")
    y, prob = data["fraud"], data["prob"]
    told = found["figures"]
    library = evaluate(y, prob, level=0.8)
    assert close(told["log_loss"], library.log_loss)
    assert close(told["brier"], library.brier)
    assert told["log_loss"]["value"] == pytest.approx(log_loss(y, prob).value)
    assert told["brier"]["value"] == pytest.approx(brier_score(y, prob).value)
    assert close(told["calibration"], calibration_loss(y, prob, cut="rows", level=0.8))
    assert close(told["auc"], auc(y, prob, level=0.8))
    constant = np.full(400, y.mean())
    assert found["constant"]["log_loss"]["value"] == pytest.approx(log_loss(y, constant).value)
    assert told["log_loss_skill"]["value"] == pytest.approx(
        1 - log_loss(y, prob).value / log_loss(y, constant).value
    )
    assert told["gap"]["value"] == pytest.approx(prob.mean() - y.mean())
    assert (found["rows"], found["unlabelled"], found["classes"]) == (400, 0, [0, 1])
    assert found["assumes"] == ["the rows are independent draws from the population of interest"]


def test_the_column_prob_is_found_by_itself(table):
    assert figures(table, "--label", "fraud") == figures(
        table, "--prob", "prob", "--label", "fraud"
    )


def test_a_model_is_judged_as_its_predictions_are(tmp_path, model, rng):
    from scarce import load

    X = rng.normal(size=(300, 2))
    y = (rng.random(300) < 0.2).astype(int)
    test = write(tmp_path / "test.csv", id=np.arange(300), b=X[:, 1], a=X[:, 0], fraud=y)
    prob = load(model).predict_proba(open_rows(pa.table({"a": X[:, 0], "b": X[:, 1]})))[:, 1]
    found = figures(model, test, "--label", "fraud")
    assert close(found["figures"]["log_loss"], evaluate(y, prob).log_loss)
    assert found["model"] == f"{model} (RareClassifier)"
    wrapped = tmp_path / "w.scarce"
    rows = open_rows(pa.table({"a": X[:, 0], "b": X[:, 1], "fraud": y}), label="fraud")
    save(PriorCorrected(RareClassifier("logistic", ridge=1.0), prior=0.01).fit(rows), wrapped)
    assert "PriorCorrected(RareClassifier)" in figures(wrapped, test, "--label", "fraud")["model"]


def test_costs_are_the_librarys(table, data):
    found = figures(table, "--label", "fraud", "--false-alarm", 5, "--miss", 90, "--abstain", 4)
    costs = CostMatrix.binary(false_alarm=5, miss=90).with_abstain(4, name="abstain")
    done = decide(data["prob"], costs)
    money = found["cost"]
    assert close(money["mean_cost"], mean_cost(data["fraud"], done, costs))
    assert close(money["savings"]["share"], savings(data["fraud"], done, costs).share)
    counts = cost_confusion(data["fraud"], done, costs).counts.tolist()
    assert money["confusion"]["counts"] == counts
    assert money["actions"] == ["pass", "act", "abstain"]


def test_costs_by_row_and_from_a_file(tmp_path, table, data):
    found = figures(table, "--label", "fraud", "--false-alarm", 5, "--miss", "2 * amount")
    costs = CostMatrix.binary(false_alarm=5, miss=2 * data["amount"])
    done = decide(data["prob"], costs)
    assert close(found["cost"]["mean_cost"], mean_cost(data["fraud"], done, costs))
    file = tmp_path / "costs.toml"
    file.write_text("false_alarm = 5\nmiss = 90\n")
    assert (
        figures(table, "--label", "fraud", "--costs", file)["cost"]["mean_cost"]
        == figures(table, "--label", "fraud", "--false-alarm", 5, "--miss", 90)["cost"]["mean_cost"]
    )


def test_groups_and_weights_are_the_librarys(tmp_path, data, rng):
    weight = rng.random(400)
    path = write(tmp_path / "p.parquet", **data, w=weight)
    names = pa.array([f"card {n}" for n in data["card"]]).dictionary_encode()
    named = write(tmp_path / "n.parquet", **{**data, "card": names}, w=weight)
    found = figures(path, "--label", "fraud", "--groups", "card", "--weight", "w")
    library = evaluate(data["fraud"], data["prob"], groups=data["card"], sample_weight=weight)
    assert close(found["figures"]["log_loss"], library.log_loss)
    assert close(found["figures"]["calibration"], library.calibration[0])
    assert found["assumes"] == [library.log_loss.assumes]
    again = figures(named, "--label", "fraud", "--groups", "card", "--weight", "w")
    assert again["figures"] == found["figures"]
    money = figures(path, "--label", "fraud", "--groups", "card", "--false-alarm", 5, "--miss", 90)[
        "cost"
    ]["mean_cost"]
    costs = CostMatrix.binary(false_alarm=5, miss=90)
    done = decide(data["prob"], costs)
    assert close(money, mean_cost(data["fraud"], done, costs, groups=data["card"]))


# --- labels in three states -----------------------------------------------------------------------


def holed(data, rng):
    y = data["fraud"].astype(float)
    chance = np.where(data["prob"] > 0.2, 1.0, 0.4)
    known = rng.random(400) < chance
    return pa.array(np.where(known, y, np.nan), from_pandas=True).cast(pa.int64()), known, chance


def test_unlabelled_rows_are_left_aside_and_counted_out_loud(tmp_path, data, rng):
    labels, known, _ = holed(data, rng)
    path = write(tmp_path / "p.csv", **{**data, "fraud": labels})
    found = figures(path, "--label", "fraud", "--false-alarm", 5, "--miss", "amount")
    y, prob = data["fraud"][known], data["prob"][known]
    assert close(found["figures"]["log_loss"], evaluate(y, prob).log_loss)
    assert found["unlabelled"] == (~known).sum()
    assert "of 400 rows" in found["remarks"][0]
    costs = CostMatrix.binary(false_alarm=5, miss=data["amount"][known])
    assert close(found["cost"]["mean_cost"], mean_cost(y, decide(prob, costs), costs))
    said = run(path, "--label", "fraud")
    assert f"{(~known).sum()} of 400 rows" in said.stderr
    assert "--inclusion" in said.stderr
    assert "scarce estimate" in said.stderr


def test_drawn_labels_speak_for_the_others(tmp_path, data, rng):
    labels, known, chance = holed(data, rng)
    drawn = pa.array(np.where(known, chance, np.nan), from_pandas=True)
    path = write(tmp_path / "p.csv", **{**data, "fraud": labels}, chance=drawn)
    flags = ("--label", "fraud", "--inclusion", "chance", "--false-alarm", 5, "--miss", 90)
    found = figures(path, *flags)
    seen, inclusion = np.where(known, data["fraud"], np.nan), np.where(known, chance, np.nan)
    library = evaluate(seen, data["prob"], inclusion=inclusion)
    assert close(found["figures"]["brier"], library.brier)
    costs = CostMatrix.binary(false_alarm=5, miss=90)
    money = mean_cost(seen, decide(data["prob"], costs), costs, inclusion=inclusion)
    assert close(found["cost"]["mean_cost"], money)
    assert "stated probability" in found["assumes"][-1]
    certain = write(tmp_path / "c.csv", **{**data, "fraud": labels}, chance=np.ones(400))
    assert "[lost-answer]" in refused(3, certain, "--label", "fraud", "--inclusion", "chance")


@pytest.fixture
def by_tail(tmp_path, rng):
    """Rounded probabilities, and the labels of the 60 greatest as older lists wrote them."""
    prob = np.round(1 / (1 + np.exp(-rng.normal(-4, 1.5, 2000))), 2)
    order = np.argsort(-prob, kind="stable")[:60]
    known, tied = np.isin(np.arange(2000), order), prob == prob[order[-1]]
    chance = np.where(tied, (known & tied).sum() / tied.sum(), 1.0)
    assert chance.min() < 1
    label = (rng.random(2000) < prob).astype(int)
    columns = {
        "prob": prob,
        "fraud": pa.array(label, mask=~known),
        "inclusion": pa.array(chance, mask=~known),
        "policy": pa.array(np.where(known, "tail", ""), mask=~known),
    }
    return columns, np.sort(order)


def test_labels_chosen_by_rule_are_no_draw(tmp_path, by_tail):
    columns, rows = by_tail
    flags = ("--label", "fraud", "--inclusion", "inclusion")
    whole = write(tmp_path / "whole.csv", **columns)
    assert "[chosen-by-rule]" in refused(3, whole, *flags)
    alone = {name: pa.array(held).take(pa.array(rows)) for name, held in columns.items()}
    assert "[chosen-by-rule]" in refused(3, write(tmp_path / "list.csv", **alone), *flags)
    del columns["policy"]  # then the sum tells
    assert "[inclusion-sum]" in refused(3, write(tmp_path / "bare.csv", **columns), *flags)
    check = ["check", str(whole), *flags, "--max-gap", "0.9"]
    done = CliRunner().invoke(scarce, check, prog_name="scarce")
    assert done.exit_code == 3
    assert "[chosen-by-rule]" in done.stderr


def test_certain_rows_of_a_list_stand_beside_those_drawn(tmp_path, data, rng):
    """A policy by rule makes a probability 1; rows that were drawn keep theirs."""
    drawn = rng.random(400) < 0.3
    policy = np.where(np.arange(400) < 40, "tail", "random")
    known = drawn | (policy == "tail")
    labels = pa.array(data["fraud"], mask=~known)
    chance = pa.array(np.where(policy == "tail", 0.9, 0.3), mask=~known)
    more = {"fraud": labels, "inclusion": chance, "policy": pa.array(policy, mask=~known)}
    flags = ("--label", "fraud", "--inclusion", "inclusion")
    found = figures(write(tmp_path / "p.csv", **{**data, **more}), *flags)
    expected = np.where(known, np.where(policy == "tail", 1.0, 0.3), np.nan)
    y = np.where(known, data["fraud"], np.nan)
    library = evaluate(y, data["prob"], inclusion=expected)
    assert close(found["figures"]["brier"], library.brier)


def test_a_list_alone_is_said_to_be_one(tmp_path, data):
    more = {"inclusion": np.full(400, 0.1), "policy": np.full(400, "random")}
    path = write(tmp_path / "p.csv", **data, **more)
    done = run(path, "--label", "fraud")
    assert done.exit_code == 0
    assert done.stderr.count("[list-alone]") == 1
    assert "[list-alone]" not in run(path, "--label", "fraud", "--inclusion", "inclusion").stderr


def test_words_need_a_word_on_which_is_the_event(tmp_path, data):
    words = np.where(data["fraud"] == 1, "yes", "no")
    path = write(tmp_path / "p.csv", prob=data["prob"], paid=words)
    said = refused(3, path, "--label", "paid")
    assert "--positive yes" in said
    assert "positive=" not in said
    found = figures(path, "--label", "paid", "--positive", "yes")
    library = evaluate(data["fraud"], data["prob"])
    assert close(found["figures"]["log_loss"], library.log_loss)
    assert found["classes"] == ["no", "yes"]
    turned = figures(path, "--label", "paid", "--positive", "no")
    assert turned["counts"] == found["counts"][::-1]


def test_minus_one_has_two_readings(tmp_path, data):
    path = write(tmp_path / "p.csv", prob=data["prob"], fraud=np.where(data["fraud"] == 1, 1, -1))
    said = refused(3, path, "--label", "fraud")
    assert "--negative -1" in said
    assert "--unlabelled -1" in said
    assert figures(path, "--label", "fraud", "--negative", "-1")["unlabelled"] == 0
    alone = figures(path, "--label", "fraud", "--unlabelled", "-1")
    assert alone["unlabelled"] == (data["fraud"] == 0).sum()


def test_a_model_reads_its_labels_as_it_learnt_them(tmp_path, rng):
    X = rng.normal(size=(300, 1))
    words = np.where(rng.random(300) < 1 / (1 + np.exp(1 - X[:, 0])), "bad", "good")
    train = pa.table({"a": X[:, 0], "end": words})
    path = tmp_path / "m.scarce"
    model = RareClassifier("logistic", ridge=1.0)
    save(model.fit(open_rows(train, label="end", positive="bad")), path)
    test = write(tmp_path / "t.csv", a=X[:, 0], end=words, coded=(words == "bad").astype(int))
    found = figures(path, test, "--label", "end")
    assert found["classes"] == ["good", "bad"]
    other = run(path, test, "--label", "coded", "--positive", "1")
    assert other.exit_code == 0
    assert "bad is taken to be 1" in other.stderr
    again = figures(path, test, "--label", "coded", "--positive", "1")
    assert again["figures"] == found["figures"]
    other = write(tmp_path / "o.csv", a=X[:4, 0], end=["yes", "no", "yes", "no"])
    assert "[unknown-label]" in refused(3, path, other, "--label", "end")
    strange = write(tmp_path / "s.csv", a=X[:4, 0], end=["bad", "good", "ugly", "good"])
    assert "ugly" in refused(3, path, strange, "--label", "end")


@pytest.fixture
def word_model(tmp_path, rng):
    """A model of good, never (which is as good) and bad."""
    a = rng.normal(size=200)
    words = np.where(a + rng.normal(size=200) > 1, "bad", np.where(a > 0, "never", "good"))
    rows = open_rows(
        pa.table({"a": a, "end": words}), label="end", positive="bad", negative=["good", "never"]
    )
    path = tmp_path / "m.scarce"
    save(RareClassifier("logistic", ridge=1.0).fit(rows), path)
    return path


@pytest.mark.parametrize(
    ("flags", "typed"),
    [
        (["--positive", "good"], "--positive good"),
        (["--positive", "never", "--negative", "good", "--negative", "bad"], "--positive never"),
        (["--negative", "bad"], "--negative bad"),
    ],
)
def test_an_event_that_is_not_the_models_is_refused(tmp_path, word_model, flags, typed):
    third = "never" if "never" in flags else "good"
    test = write(tmp_path / "t.csv", a=[0.1, 0.2, 2.0], end=["good", third, "bad"])
    said = refused(2, word_model, test, "--label", "end", *flags)
    assert said.startswith(f"scarce: {typed}: ")
    assert said.endswith(" [event-mismatch]\n")


@pytest.mark.parametrize(
    ("column", "holds", "flag"),
    [
        (["yes", "no", "no", " NA", None], "no (2 rows) and yes (1)", "--positive yes"),
        (pa.array(["1", "0", "0"]).dictionary_encode(), "0 (2 rows) and 1 (1)", "--positive 1"),
        ([0, 1, 1], "0 (1 row) and 1 (2)", "--positive 0"),
        ([True, False, False], "false (2 rows) and true (1)", "--positive true"),
        ([1.0, 1.0, float("nan")], "1 (2 rows)", "--positive 1 or --negative 1"),
        (["a", "b", "c"], "a (1 row), b (1) and c (1)", "--positive, and the others"),
        (["it is", "not", "not"], "it is (1 row) and not (2)", "--positive 'it is'"),
    ],
)
def test_other_words_than_the_models_get_their_flag(tmp_path, word_model, column, holds, flag):
    test = write(tmp_path / "t.parquet", a=np.arange(float(len(column))), end=column)
    said = refused(3, word_model, test, "--label", "end")
    assert f" {holds}, " in said
    assert "[unknown-label]" in said
    assert flag in said
    if "," not in flag:  # what is proposed can be pasted
        pasted = flag.split(" or ")[0].replace("'", "").split(" ", 1)
        assert run(word_model, test, "--label", "end", *pasted).exit_code == 0


def test_what_the_model_left_aside_is_a_label_when_a_flag_says_so(tmp_path, rng):
    a = rng.normal(size=100)
    end = np.where(a < -1, -1, (a + rng.normal(size=100) > 1).astype(int))
    rows = open_rows(pa.table({"a": a, "end": end}), label="end", unlabelled=-1)
    save(RareClassifier("logistic", ridge=1.0).fit(rows), tmp_path / "m.scarce")
    test = write(tmp_path / "t.csv", a=a[:3], end=[-1, -1, -1])
    flags = (tmp_path / "m.scarce", test, "--label", "end")
    said = refused(3, *flags)  # what nobody looked at in training may have been looked at here
    assert "--unlabelled -1" in said
    assert "--negative -1" in said
    assert "[no-labels]" in refused(3, *flags, "--unlabelled", "-1")
    assert "says of none" not in run(*flags, "--negative", "-1").output


def test_truth_as_words_is_what_a_model_of_truth_learnt(tmp_path, rng):
    a = rng.normal(size=100)
    rows = open_rows(pa.table({"a": a, "end": a + rng.normal(size=100) > 1}), label="end")
    save(RareClassifier("logistic", ridge=1.0).fit(rows), tmp_path / "m.scarce")
    for name, end in (("t.csv", [True, False, False]), ("n.csv", [1, 0, 0])):
        test = write(tmp_path / name, a=a[:3], end=end)
        assert figures(tmp_path / "m.scarce", test, "--label", "end")["counts"] == [2, 1]


def test_rows_that_the_model_learnt_from_are_named(tmp_path, data):
    path = write(tmp_path / "t.csv", a=data["amount"], fraud=data["fraud"])
    rows = open_rows(path, label="fraud")
    save(RareClassifier("logistic", ridge=1.0).fit(rows), tmp_path / "m.scarce")
    assert str(path) in figures(tmp_path / "m.scarce", path, "--label", "fraud")["remarks"][0]


def test_exchanged_classes_are_suspected(table):
    found = figures(table, "--label", "fraud", "--positive", "0")
    assert any("are the classes exchanged" in said for said in found["remarks"])
    assert not any("scarce correct" in said for said in found["remarks"])  # would not mend it


def test_several_classes_whatever_the_order_of_the_columns(tmp_path, rng):
    prob = rng.dirichlet([2, 1, 1], 300)
    y = np.array([rng.choice(3, p=p) for p in prob])
    names = np.array(["ant", "bee", "cat"])
    columns = {f"prob_{name}": prob[:, k] for k, name in enumerate(names)}
    path = write(tmp_path / "p.csv", kind=names[y], **dict(reversed(columns.items())))
    found = figures(path, "--label", "kind", "--prob", "prob_*")
    library = evaluate(names[y], prob[:, ::-1], classes=("cat", "bee", "ant"))
    assert close(found["figures"]["log_loss"], library.log_loss)
    assert close(found["by_class"]["bee"]["auc"], library.auc[1])
    shown = run(path, "--label", "kind").stdout
    assert "calibration loss of cat" in shown
    assert "Brier score (half the sum)" in shown
    assert "[prob-sum]" in refused(
        3, path, "--label", "kind", "--prob", "prob_ant", "--prob", "prob_bee"
    )
    wide = write(tmp_path / "w.csv", kind=names[y], prob=prob[:, 0])
    assert "[two-classes-needed]" in refused(3, wide, "--label", "kind")
    short = write(tmp_path / "s.csv", kind=names[y], prob_ant=prob[:, 0], prob_bee=1 - prob[:, 0])
    assert "[unknown-class]" in refused(3, short, "--label", "kind")


# --- odd but honest data --------------------------------------------------------------------------


def test_a_constant_column_saves_nothing(tmp_path, data):
    path = write(tmp_path / "p.csv", prob=np.full(400, data["fraud"].mean()), fraud=data["fraud"])
    found = figures(path, "--label", "fraud")
    assert found["figures"]["log_loss_skill"]["value"] == pytest.approx(0, abs=1e-9)
    assert found["figures"]["auc"]["value"] == 0.5
    assert "the difference is within the noise" in found["remarks"][0]


def test_one_class_alone_is_said(tmp_path):
    path = write(tmp_path / "p.csv", prob=np.full(20, 0.1), fraud=np.zeros(20, int))
    found = figures(path, "--label", "fraud")
    assert found["figures"]["log_loss"]["high"] is None
    assert found["figures"]["auc"]["value"] is None
    assert "rows of class 0 only (20 rows)" in found["remarks"][0]
    shown = run(path, "--label", "fraud")
    assert "unknown to unknown" in shown.stdout


def test_far_off_probabilities_get_advice_that_can_be_pasted(tmp_path, data):
    path = write(tmp_path / "p.csv", prob=np.clip(3 * data["prob"], 0, 1), fraud=data["fraud"])
    shown = run(path, "--label", "fraud")
    share = f"{data['fraud'].mean():.3g}"
    new = tmp_path / "p-now.csv"
    command = f"scarce correct {path} --trained-at SHARE --now-at {share} --out {new}"
    assert f"  {command}\n" in shown.output
    words = command.replace("SHARE", "0.4").split()[1:]
    assert CliRunner().invoke(scarce, words).exit_code == 0
    assert f"--out {tmp_path / 'p-now-2.csv'}" in run(path, "--label", "fraud").output
    again = run(new, "--label", "fraud", "--prob", "before_prob").output  # still far off
    assert "scarce correct" in again
    held = pacsv.read_csv(new).to_pydict()  # as if the correction had missed
    held["prob"], held["before_prob"] = held["before_prob"], held["prob"]
    write(tmp_path / "q.parquet", **held)
    told = run(tmp_path / "q.parquet", "--label", "fraud").output
    assert "They were corrected before" in told
    assert "scarce correct" not in told


@pytest.fixture
def moved_world(tmp_path, rng):
    """A table in which events are rarer than in the training of `model`, but like them."""
    X = rng.normal(size=(9000, 2))
    y = (rng.random(9000) < 1 / (1 + np.exp(2 - X[:, 0]))).astype(int)
    kept = (y == 0) | (rng.random(9000) < 0.1)
    return write(tmp_path / "now.csv", a=X[kept, 0], b=X[kept, 1], fraud=y[kept])


def test_a_model_is_moved_once_and_then_left_alone(tmp_path, model, moved_world):
    told = figures(model, moved_world, "--label", "fraud")["remarks"][0]
    assert "base rate" in told
    words = shlex.split(told.partition(": scarce ")[2])
    assert words[-2:] == ["--out", str(tmp_path / "m-now.scarce")]
    assert CliRunner().invoke(scarce, words).exit_code == 0
    assert not any("On average" in one for one in figures(words[-1], moved_world, "--label",
                   "fraud")["remarks"])  # fmt: skip


@pytest.mark.parametrize("share", [0.15, 0.9])
def test_a_share_that_is_not_the_reason_is_not_moved(tmp_path, rng, share):
    X = rng.normal(size=(600, 2))
    y = (rng.random(600) < share).astype(int)
    rows = open_rows(pa.table({"a": X[:, 0], "b": X[:, 1], "fraud": y}), label="fraud")
    path = tmp_path / "bayes.scarce"
    save(GaussianBayes().fit(rows), path)
    shifted = X + [[6.0, -6.0]]  # rows of another world, where the model is wrong
    now = (rng.random(600) < 0.15).astype(int)
    test = write(tmp_path / "t.csv", a=shifted[:, 0], b=shifted[:, 1], fraud=now)
    judged = read_outcomes([path, test], "evaluate", labels=LabelFlags("fraud", (), (), (), ()),
                         sampling=SamplingFlags(), form=TextForm(), quiet=True)  # fmt: skip
    off = replace(judged, prob=np.full(600, 0.6))
    advice = base_rate_advice(off, off.evaluate(0.9, 0))
    if share == 0.15:
        assert "already" in advice.way
        assert advice.problem.code == "mean-off"
        assert advice.command == ""
    else:  # 0.6 at a share of 0.9 is rare: moved to 0.15 it is 0.03, as far off as before
        assert advice.command.startswith("scarce correct")
        nearly = replace(judged, prob=np.full(600, 0.3))
        advice = base_rate_advice(nearly, nearly.evaluate(0.9, 0))
        assert "on average" in advice.way
        assert advice.command == ""


def test_no_advice_inside_the_noise_of_training_and_test():
    """Both samples of the same world, with as many events on average: advice is false."""
    rng = np.random.default_rng(4)
    false, needed = [], []
    rate = 12 / 600
    for _ in range(50):
        learnt = (rng.random(600) < rate).mean()
        y = (rng.random(600) < rate).astype(float)
        score = rng.normal(size=600) + 2.0 * y
        prob = np.exp(2.0 * score - 2.0)
        prob *= learnt / (1 - learnt)
        prob /= 1 + prob
        for given, said in ((prob, false), (4 * prob / (1 + 3 * prob), needed)):
            judged = OutcomeTable("t", y, (0, 1), given, None, None, None, pa.table({}))
            found = judged.evaluate(0.9, 0)
            said.append(base_rate_advice(judged, found) is not None)
    assert np.mean(false) <= 0.12  # of 50, at .05; 150 give .033, and .18 without training's error
    assert np.mean(needed) > 0.7


def test_a_pipe_gets_no_command_to_paste(tmp_path, data):
    path = write(tmp_path / "p.csv", prob=np.clip(3 * data["prob"], 0, 1), fraud=data["fraud"])
    shown = run("--label", "fraud", stdin=path.read_bytes()).output
    assert "`scarce correct`" in shown.replace("\n", " ")
    assert "standard input'" not in shown
    assert "--now-at" not in shown


def test_the_command_says_how_the_text_is_written(tmp_path, data):
    high = np.clip(3 * data["prob"], 0, 1)
    lines = [f"{p:.6f};{y}".replace(".", ",") for p, y in zip(high, data["fraud"], strict=True)]
    (tmp_path / "p.csv").write_text("\n".join(["prob;fraud", *lines]) + "\n")
    flags = ("--delimiter", ";", "--decimal", ",")
    told = figures(tmp_path / "p.csv", "--label", "fraud", *flags)["remarks"][0]
    words = shlex.split(told.partition(": scarce ")[2].replace("SHARE", "0.4"))
    assert CliRunner().invoke(scarce, words).exit_code == 0, words
    assert (tmp_path / "p-now.csv").exists()


@pytest.mark.parametrize("labelled", [0.4, 0.6])
def test_labels_of_alerts_are_no_share_of_events(tmp_path, data, labelled):
    prob = np.clip(3 * data["prob"], 0, 1)
    seen = prob >= np.quantile(prob, 1 - labelled)
    fraud = [str(y) if s else "" for y, s in zip(data["fraud"], seen, strict=True)]
    path = write(tmp_path / "p.csv", prob=prob, fraud=fraud)
    told = " ".join(figures(path, "--label", "fraud")["remarks"])
    if labelled < 0.5:
        assert "`scarce estimate`" in told
        assert "160 of 400" in told
        assert "scarce correct" not in told
        assert "worse than the base rate" not in told
        assert "On the labelled rows" in told
    else:
        assert "scarce correct" in told


def test_what_had_probability_0_and_happened(tmp_path):
    path = write(tmp_path / "p.csv", prob=[0.0, 0.5, 0.2], fraud=[1, 0, 1])
    assert figures(path, "--label", "fraud")["figures"]["log_loss"]["value"] == "Infinity"
    assert "inf" in run(path, "--label", "fraud").stdout


def test_the_advice_names_the_column_and_quotes_it(tmp_path, data):
    high = np.clip(3 * data["prob"], 0, 1)
    path = write(tmp_path / "my p.csv", **{"risk score": high, "fraud": data["fraud"]})
    shown = run(path, "--label", "fraud", "--prob", "risk score").output
    assert f"scarce correct '{path}' --prob 'risk score' --trained-at SHARE --now-at" in shown


def test_a_threshold_is_judged_too(table, data, tmp_path):
    found = figures(table, "--label", "fraud", "--threshold", 0.2)["at_threshold"]
    library = at_threshold(data["fraud"], data["prob"], 0.2)
    for name in ("recall", "precision", "specificity", "alerts"):
        assert close(found[name], getattr(library, name))
    assert (found["missed"], found["threshold"]) == (library.missed, 0.2)
    shown = run(table, "--label", "fraud", "--threshold", 0.2).stdout
    assert "recall (sensitivity) at 0.2" in shown
    assert "specificity at 0.2" in shown
    kinds = write(
        tmp_path / "k.csv",
        kind=["a", "b", "c"],
        prob_a=[0.5] * 3,
        prob_b=[0.3] * 3,
        prob_c=[0.2] * 3,
    )
    assert "[two-classes-needed]" in refused(3, kinds, "--label", "kind", "--threshold", 0.2)
    for far in ("30", "-0.1", "nan"):
        told = refused(2, table, "--label", "fraud", "--threshold", far)
        assert f"got {far}" in told


def test_points_are_not_percent(table):
    assert " points to " in run(table, "--label", "fraud").stdout


def test_one_row(tmp_path):
    path = write(tmp_path / "p.csv", prob=[0.3], fraud=[0])
    shown = run(path, "--label", "fraud")
    assert shown.exit_code == 0
    assert "1 row judged" in shown.stdout
    assert "inf" not in shown.stdout
    assert "one class only" not in shown.stdout.splitlines()[-1]


def test_standard_input(table):
    text = table.read_text()
    assert figures("-", "--label", "fraud", stdin=text)["rows"] == 400
    assert figures("--label", "fraud", stdin=text)["table"] == "standard input"


def test_text_in_other_forms(tmp_path, data):
    lines = [f"{p:.6f};{y}".replace(".", ",") for p, y in zip(data["prob"], data["fraud"], strict=True)]  # fmt: skip  # noqa: E501
    path = tmp_path / "p.csv"
    path.write_text("\n".join(["prob;fraud", *lines]))
    found = figures(path, "--label", "fraud", "--delimiter", ";", "--decimal", ",")
    assert found["figures"]["brier"]["value"] == pytest.approx(
        brier_score(data["fraud"], data["prob"]).value, rel=1e-4
    )


# --- what cannot work -----------------------------------------------------------------------------


def test_usage_errors_come_before_any_reading(table, model, tmp_path):
    nowhere = tmp_path / "nowhere.csv"
    assert "[no-label-column]" in refused(2, nowhere)
    assert "[argument-order]" in refused(2, table, model, "--label", "fraud")
    assert "[file-count]" in refused(2, model, "--label", "fraud")
    assert "3 files" in refused(2, model, table, table, "--label", "fraud")
    assert "Leave one of the two out" in refused(
        2, model, table, "--label", "fraud", "--prob", "prob"
    )
    assert "[missing-cost]" in refused(2, nowhere, "--label", "y", "--miss", "4")


def test_columns_that_are_not_there_are_said_with_their_flag(table, model):
    assert "Did you mean 'fraud'? " in refused(3, table, "--label", "frad")
    assert "--groups" in refused(3, table, "--label", "fraud", "--groups", "crd")
    assert "--miss" in refused(
        3, table, "--label", "fraud", "--false-alarm", "5", "--miss", "amout"
    )
    assert "m.scarce reads: a, b" in refused(3, model, table, "--label", "fraud")


@pytest.mark.parametrize(
    ("columns", "flags", "said"),
    [
        ({"prob": [0.1, 50.0]}, [], "percentages"),
        ({"prob": [0.1, None]}, [], " at row 1 "),
        ({"prob": [0.1, 0.2], "w": [1.0, -1.0]}, ["--weight", "w"], "-1 at row 1"),
        ({"prob": [0.1, 0.2], "w": [0.0, 0.0]}, ["--weight", "w"], "[no-weight]"),
        ({"prob": [0.1, 0.2], "g": ["a", None]}, ["--groups", "g"], " at row 1"),
        ({"prob": [0.1, 0.2], "g": ["a", "a"]}, ["--groups", "g"], "[one-group]"),
        ({"prob": ["a", "b"]}, [], "prob"),
    ],
)
def test_bad_values_are_named_by_file_and_row(tmp_path, columns, flags, said):
    path = write(tmp_path / "p.parquet", fraud=[0, 1], **columns)
    message = refused(3, path, "--label", "fraud", *flags)
    assert said in message
    assert "p.parquet" in message


@pytest.mark.parametrize(
    ("text", "flags", "said"),
    [
        ("prob,fraud\n0.1,0\n\n0.2x,1\n", [], "line 4, column 'prob': '0.2x' "),
        ("prob,fraud\n0.1,0\n0.2x,1\n", [], "--missing 0.2x "),
        ("prob,fraud\n0.1,0\n,1\n", [], " in line 3 "),
        ("prob,fraud\n0.1,0\n1.5,1\n", [], "[prob-range]"),
        ("prob,fraud,w\n0.1,0,1\n0.2,1,q\n", ["--weight", "w"], "line 3, column 'w': 'q'"),
        ("prob,fraud,w\n0.1,0,1\n0.2,1,-1\n", ["--weight", "w"], "-1 in line 3"),
        ("prob,fraud,g\n0.1,0,a\n0.2,1,\n", ["--groups", "g"], " in line 3"),
        ("prob_0,prob_1,fraud\n0.5,0.5,0\n0.5,0.1,1\n", [], "[prob-sum]"),
        ("prob,fraud\n0.1,0\n20%,1\n", [], "20% is 0.2"),
        ('prob,fraud\n0.1,0\n"1,000.5",1\n', [], "[not-a-number]"),
    ],
)
def test_bad_cells_of_text_are_named_by_their_line(tmp_path, text, flags, said):
    path = tmp_path / "p.csv"
    path.write_text(text)
    message = refused(3, path, "--label", "fraud", *flags)
    assert said in message
    assert "conversion error" not in message


def test_bad_cells_that_a_model_reads_are_named_by_their_line(tmp_path, model):
    path = tmp_path / "t.csv"
    path.write_text("a,b,fraud\n1,2,0\n1,two,1\n")
    assert "line 3, column 'b': 'two' " in refused(3, model, path, "--label", "fraud")


def test_a_late_word_among_labels_is_named_by_its_line(tmp_path):
    path = tmp_path / "p.csv"
    rows = "0.10000,0\n0.20000,1\n" * 80_000  # more than the megabyte that types are read from
    path.write_text("prob,fraud\n" + rows + "0.1,maybe\n")
    message = refused(3, path, "--label", "fraud")
    assert "line 160,002, column 'fraud': 'maybe' " in message


@pytest.mark.parametrize("text", ["", "prob,fraud\n", "prob,fraud\n0.1,\n0.2,\n"])
def test_empty_files_and_empty_labels(tmp_path, text):
    path = tmp_path / "p.csv"
    path.write_text(text)
    assert "p.csv" in refused(3, path, "--label", "fraud")


@pytest.mark.parametrize("flags", [[], ["--unlabelled", "-1"], ["--positive", "1"]])
def test_a_label_is_needed_and_not_left_out(tmp_path, model, flags):
    empty = ["-1", "", "-1"] if "-1" in flags else ["", "NA", ""]
    path = write(tmp_path / "p.csv", a=[0.1, 0.2, 0.3], b=[1.0, 2, 3], prob=[0.1] * 3, fraud=empty)
    for files in ([path], [model, path]):
        said = refused(3, *files, "--label", "fraud", *flags)
        assert "[no-labels]" in said
        assert "leave" not in said
        assert ("--unlabelled" in said) == ("--unlabelled" in flags)


def test_an_error_in_json(table):
    done = run(table, "--label", "frad", "--json")
    assert (done.exit_code, done.stderr) == (3, "")
    assert json.loads(done.stdout)["error"]["kind"] == "DataError"


# --- for a reader ---------------------------------------------------------------------------------


def test_a_person_reads_a_table_and_what_it_leans_on(table):
    shown = run(table, "--label", "fraud", "--false-alarm", "5", "--miss", "90")
    assert shown.exit_code == 0
    lines = shown.stdout.splitlines()
    head = next(line for line in lines if "400 rows judged" in line)
    assert "p.csv" in head
    for words in ("log loss (nats)", "AUC", "given - happened", "Mean cost of a row", "was 1"):
        assert any(words in line for line in lines), words
    assert lines[-1].endswith("population of interest.")
    assert "the event; --positive settles it" in shown.stderr


def test_dry_run_reads_no_row(tmp_path):
    (tmp_path / "p.csv").write_text("prob,fraud\nno number,1\n")
    found = figures(tmp_path / "p.csv", "--label", "fraud", "--dry-run")
    assert found["dry_run"] is True
    assert "p.csv" in found["reads"]


@pytest.mark.parametrize(
    "words",
    [
        "evaluate nowhere.csv --label y",
        "evaluate p.csv --label nothing",
        "evaluate p.csv --label y --prob nothing",
        "evaluate p.csv --label y --weight nothing",
        "evaluate p.csv --label y --false-alarm 5 --miss nothing",
        "evaluate nowhere.scarce p.csv --label y",
        "check nowhere.csv --label y --max-brier 0.1",
        "check p.csv --label nothing --max-brier 0.1",
        "compare nowhere.csv --label y --models bayes",
        "compare p.csv nowhere.scarce --label y",
        "compare p.csv --label y --models bayes --drop nothing",
        "report nowhere.csv --label y --out r.html",
        "report p.csv --label y --prob nothing --out r.html",
    ],
)
def test_dry_run_says_what_is_missing(tmp_path, monkeypatch, words):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "p.csv").write_text("prob,y\n0.5,1\n")
    done = CliRunner().invoke(scarce, [*words.split(), "--dry-run"])
    assert done.exit_code in (2, 3)
    assert "no" in done.stderr
    assert "Dry run" not in done.stderr


@pytest.mark.parametrize("only_empty", [False, True])
def test_only_empty_holds_for_the_labels_too(tmp_path, only_empty):
    """NA is Namibia: a class like others, where --only-empty says so."""
    rows = "".join(f"0.{1 + i % 8},{'NA' if i % 3 else 'DE'}\n" for i in range(60))
    (tmp_path / "p.csv").write_text("prob,land\n" + rows)
    flags = [tmp_path / "p.csv", "--label", "land", "--positive", "NA"]
    flags += ["--only-empty"] if only_empty else []
    done = run(*flags, "--json")
    if not only_empty:
        assert done.exit_code == 3
        return
    found = json.loads(done.stdout)["result"]
    assert (found["classes"], found["counts"]) == (["DE", "NA"], [20, 40])


def test_notes_fold_to_a_narrow_terminal_and_commands_stay_whole(monkeypatch):
    monkeypatch.setattr("scarce.cli.evaluate.terminal_width", lambda: 40)
    advice = BaseRateAdvice("one two three " * 9, "Move it.", f"scarce correct {'p' * 60}")
    lines = folded_note(advice.problem).splitlines()
    assert max(map(len, lines[:-2])) in range(34, 40)
    assert lines[-2:] == [f"  scarce correct {'p' * 60}", "[mean-off]"]


def test_long_stages_have_a_bar_each_one_after_the_other(table, monkeypatch):
    begun = recorded_bars(monkeypatch, "scarce.cli.outcome_table", "scarce.cli.evaluate")
    run(table, "--label", "fraud")
    assert begun == ["Reading", "end", "Judging", "end"]


def recorded_bars(monkeypatch, *modules):
    begun = []

    @contextmanager
    def bar(label):
        begun.append(label)
        yield lambda done, total: None
        begun.append("end")

    for module in modules:
        monkeypatch.setattr(f"{module}.progress", bar)
    return begun


def test_the_interval_is_the_librarys_for_the_same_level_and_seed(table, data):
    found = figures(table, "--label", "fraud", "--level", 0.8, "--seed", 5)["figures"]
    how = {"level": 0.8, "random_state": 5}
    assert close(found["brier"], brier_score(data["fraud"], data["prob"], **how))
    assert close(found["log_loss"], log_loss(data["fraud"], data["prob"], **how))
    assert close(found["brier"], brier_curve(data["fraud"], data["prob"], **how).area)


def test_rows_that_stand_several_times_are_said_with_the_flag_that_settles_it(tmp_path, data):
    often = {name: np.tile(held, 5) for name, held in data.items()}
    table = write(tmp_path / "p.csv", **often, who=np.tile(np.arange(400), 5))
    flags = ("--prob", "prob", "--label", "fraud")
    shown = run(table, *flags)
    assert "--groups COLUMN" in " ".join(shown.stderr.split())
    assert "[repeated-rows]" in shown.stderr
    assert "1,600 of 2,000" in " ".join(shown.stderr.split())
    assert "repeated-rows" not in run(table, *flags, "--groups", "who").stderr
    for words in (["check", table, *flags, "--max-brier", 1], ["report", table, *flags]):
        told = [*map(str, words)]
        if words[0] == "report":
            told += ["--out", str(tmp_path / "r.html")]
        done = CliRunner().invoke(scarce, told, prog_name="scarce")
        assert done.exit_code == 0, done.output
    assert "--groups COLUMN" in (tmp_path / "r.html").read_text()
