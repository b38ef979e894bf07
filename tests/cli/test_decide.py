"""`scarce decide`: the library's decisions, row by row, through files and pipes."""

from __future__ import annotations

import csv
import io
import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner, Result

from scarce import CostMatrix, correct_prior, decide, decide_within, expected_cost
from scarce.cli.main import scarce
from scarce.io import source as table_source

COSTS = CostMatrix([[0, 400], [5, 0], [3, 3]], actions=["pass", "act", "abstain"])
FLAGS = ("--false-alarm", "5", "--miss", "400", "--abstain", "3")
NAMES = np.array(["pass", "act", "abstain"])


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
    extremes = [0.0, 1.0, 1e-300, 0.0075, 0.4, 5 / 405]
    return np.r_[extremes, 1 / (1 + np.exp(4 - 2 * rng.normal(size=994)))]


@pytest.fixture
def table(tmp_path, monkeypatch, prob) -> Path:
    """p.csv with spellings that must survive, in the current folder."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    lines = ["id,amount,prob,note"]
    for row, (p, amount) in enumerate(zip(prob, rng.lognormal(4, 1, len(prob)), strict=True)):
        note = '"a, ""b"""' if row % 7 == 0 else " 1.50"
        lines.append(f"{row:05d},{amount:.3f}0,{float(p)!r},{note}")
    path = Path("p.csv")
    path.write_text("\n".join(lines) + "\n")
    return path


# --- as the library, row by row -------------------------------------------------------------------


def test_actions_and_costs_are_those_of_the_library_and_the_rest_is_as_written(table, prob):
    assert ok("decide", table, "--prob", "prob", *FLAGS, "--out", "d.csv").stdout == ""
    found = rows_of(Path("d.csv").read_text())
    before = rows_of(table.read_text())
    assert list(found) == [*before, "action", "expected_cost"]
    assert all(found[name] == values for name, values in before.items())
    assert found["action"] == decide(prob, COSTS).tolist()
    assert np.array_equal(
        np.array(found["expected_cost"], float), expected_cost(prob, COSTS).min(axis=1)
    )


def test_explain_shows_every_cost_the_runner_up_and_the_margin(table, prob):
    found = rows_of(ok("decide", table, *FLAGS, "--explain").stdout)
    cost = expected_cost(prob, COSTS)
    for place, name in enumerate(NAMES):
        assert np.array_equal(np.array(found[f"cost_{name}"], float), cost[:, place])
    ordered = np.sort(cost, axis=1)
    margin = np.array(found["margin"], float)
    assert np.array_equal(margin, ordered[:, 1] - ordered[:, 0])
    clear = ordered[:, 2] > ordered[:, 1]
    second = NAMES[np.argsort(cost, axis=1, kind="stable")[:, 1]]
    assert (np.array(found["runner_up"]) == second)[clear & (margin > 0)].all()


def test_ties_go_to_the_first_or_the_last(tmp_path):
    words = ("decide", "-", "--false-alarm", "1", "--miss", "1")
    assert rows_of(ok(*words, stdin="prob\n0.5\n").stdout)["action"] == ["pass"]
    assert rows_of(ok(*words, "--tie", "last", stdin="prob\n0.5\n").stdout)["action"] == ["act"]


def test_costs_by_row_from_flags_and_from_a_file(table, prob):
    amount = np.array(rows_of(table.read_text())["amount"], float)
    costs = CostMatrix.per_row(false_alarm=5, miss=0.8 * amount + 15)
    Path("c.toml").write_text('false_alarm = 5\nmiss = "0.8 * amount + 15"\n')
    flags = ("--false-alarm", "5", "--miss", "0.8 * amount + 15")
    for words in (flags, ("--costs", "c.toml")):
        found = rows_of(ok("decide", table, *words).stdout)
        assert found["action"] == NAMES[decide(prob, costs)].tolist()
        seen = np.array(found["expected_cost"], float)
        assert np.allclose(seen, expected_cost(prob, costs).min(axis=1), rtol=1e-15)


def test_another_class_mix(table, prob):
    mix = {"trained_at": 0.13, "now_at": 0.015}
    flags = ("--trained-at", "0.13", "--now-at", "0.015")
    done = ok("decide", table, *FLAGS, *flags)
    found = rows_of(done.stdout)
    assert found["action"] == decide(prob, COSTS, **mix).tolist()
    cost = expected_cost(prob, COSTS, **mix)
    at = np.array(found["expected_cost"], float)
    assert np.allclose(at, cost.min(axis=1), rtol=1e-12)
    moved = COSTS.with_prior(**mix).thresholds()
    assert f"while p(event) is below {moved['pass'][1]:.3g}" in done.stderr


def test_a_budget_is_that_of_decide_within(table, prob):
    done = ok("decide", table, *FLAGS, "--budget", "20", "--budget", "abstain=100")
    within = decide_within(prob, COSTS, capacity={"act": 20, "abstain": 100})
    found = rows_of(done.stdout)
    assert found["action"] == within.actions.tolist()
    total = np.array(found["expected_cost"], float).sum()
    assert np.isclose(total, within.expected_cost, rtol=1e-12)
    assert "act: 20 of 20 used; one more is worth" in done.stderr
    mixes = ("--trained-at", "0.13", "--now-at", "0.015")
    found = rows_of(ok("decide", table, *FLAGS, "--budget", "act=5", *mixes).stdout)
    moved = correct_prior(prob, 0.13, 0.015)
    assert found["action"] == decide_within(moved, COSTS, capacity={"act": 5}).actions.tolist()


def test_a_budget_of_units(table, prob):
    amount = np.array(rows_of(table.read_text())["amount"], float)
    done = ok("decide", table, *FLAGS, "--budget", "500.5", "--uses", "amount")
    within = decide_within(prob, COSTS, capacity={"act": 500.5}, uses=amount)
    assert rows_of(done.stdout)["action"] == within.actions.tolist()


# --- several classes ------------------------------------------------------------------------------

THREE = "action,ok,spam,scam\nshow,0,3,50\nhide,2,0,40\nblock,9,4,0\n"


def three_classes(names: list[str]) -> tuple[np.ndarray, CostMatrix, str]:
    rng = np.random.default_rng(5)
    prob = rng.dirichlet([3, 1, 0.5], 200)
    Path("three.csv").write_text(THREE)
    costs = CostMatrix.read("three.csv")
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows([names, *prob.tolist()])
    return prob, costs, text.getvalue()


@pytest.mark.parametrize(
    ("names", "flags"),
    [
        (["prob_ok", "prob_spam", "prob_scam"], []),
        (["prob_scam", "prob_spam", "prob_ok"], []),
        (["p.spam", "p.ok", "p.scam"], ["--prob", "p.*"]),
        (["spam", "ok", "scam"], ["--prob", "ok", "--prob", "scam", "--prob", "spam"]),
        (["x", "y", "z"], ["--prob", "x", "--prob", "y", "--prob", "z"]),
    ],
)
def test_several_classes_by_name_or_by_the_order_typed(tmp_path, monkeypatch, names, flags):
    monkeypatch.chdir(tmp_path)
    prob, costs, text = three_classes(names)
    if names[0] != "x":
        bare = [name.removeprefix("prob_").removeprefix("p.") for name in names]
        prob = prob[:, [bare.index(label) for label in costs.classes]]
    done = ok("decide", "--costs", "three.csv", *flags, stdin=text)
    expected = decide(prob, costs, classes=costs.classes)
    assert rows_of(done.stdout)["action"] == expected.tolist()
    assert len(set(expected)) > 1
    if names[0] == "x":
        assert "x of ok, y of spam, z of scam" in done.stderr


def test_one_column_and_a_file_with_class_names(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("c.csv").write_text("action,fraud,legit\npass,400,0\nblock,0,5\n")
    text = "prob\n0.001\n0.9\n0.9999\n"
    done = ok("decide", "--costs", "c.csv", stdin=text)
    assert " legit, " in done.stderr
    assert "--positive fraud" in done.stderr
    assert rows_of(done.stdout)["action"] == ["block", "block", "pass"]
    done = ok("decide", "--costs", "c.csv", "--positive", "fraud", stdin=text)
    assert rows_of(done.stdout)["action"] == ["pass", "block", "block"]
    assert run("decide", "--costs", "c.csv", "--positive", "frau", stdin=text).exit_code == 2


# --- what is said ---------------------------------------------------------------------------------


def test_the_summary_says_when_how_often_and_what_it_costs(table, prob):
    done = ok("decide", table, *FLAGS, "--positive", "fraud", "--act", "block", "--out", "d.csv")
    counts = dict(zip(*np.unique(decide(prob, COSTS), return_counts=True), strict=True))
    lines = {line.split()[0]: line for line in done.stderr.splitlines()[1:5]}
    assert "p.csv: 1,000 rows written to d.csv; 'prob' is the probability of fraud" in done.stderr
    assert str(counts["act"]) in lines["block"]
    assert lines["pass"].endswith("while p(fraud) is below 0.0075")
    assert lines["abstain"].endswith("from 0.0075 to 0.4")
    cost = expected_cost(prob, COSTS)
    assert f"Expected cost {cost.min(axis=1).sum():,.0f}" in done.stderr
    assert f"'abstain', would cost {cost[:, 2].sum():,.0f}" in done.stderr


def test_an_action_that_never_pays_is_named(table):
    done = ok("decide", table, "--false-alarm", "5", "--miss", "5", "--abstain", "3")
    assert "'abstain' is never the cheapest: it would have to cost 0.5 less." in done.stderr


def test_json_is_a_summary(table, prob):
    done = ok("decide", table, *FLAGS, "--out", "d.parquet", "--json")
    told = json.loads(done.stdout)["result"]
    cost = expected_cost(prob, COSTS)
    assert told["rows"] == 1000
    assert np.isclose(told["expected_cost"], cost.min(axis=1).sum(), rtol=1e-12)
    by_name = {one["action"]: one for one in told["actions"]}
    assert by_name["abstain"]["band"] == [0.0075, 0.4]
    assert by_name["act"]["rows"] == int((decide(prob, COSTS) == "act").sum())
    assert np.isclose(by_name["pass"]["expected_cost_for_all_rows"], cost[:, 0].sum(), rtol=1e-12)
    assert told["costs"] == {
        "actions": ["pass", "act", "abstain"],
        "classes": ["no event", "event"],
        "costs": [[0, 400], [5, 0], [3, 3]],
    }
    assert pq.read_table("d.parquet")["action"].to_pylist() == decide(prob, COSTS).tolist()


def test_bands_of_costs_by_row_are_the_least_and_the_greatest(table, monkeypatch):
    amount = np.array(rows_of(table.read_text())["amount"], float)
    monkeypatch.setattr(table_source, "BLOCK_BYTES", 4096)
    flags = ("--false-alarm", "5", "--miss", "amount", "--out", "d.csv", "--json")
    told = json.loads(ok("decide", table, *flags).stdout)["result"]["actions"]
    cut = 5 / (5 + amount)
    assert np.allclose(told[0]["band"], [0, 0, cut.min(), cut.max()], rtol=1e-12)
    assert np.allclose(told[1]["band"], [cut.min(), cut.max(), 1, 1], rtol=1e-12)


def test_dry_run_says_the_plan_and_writes_nothing(table):
    done = ok("decide", table, *FLAGS, "--out", "d.csv", "--dry-run", "--json")
    plan = json.loads(done.stdout)["result"]
    assert (plan["dry_run"], plan["add"], plan["memory"]) == (
        True,
        "action, expected_cost",
        "constant",
    )
    assert not Path("d.csv").exists()


@pytest.mark.filterwarnings("default")
def test_predictions_and_columns_that_earn_are_said_once(tmp_path, monkeypatch):
    monkeypatch.setattr(table_source, "BLOCK_BYTES", 256)
    done = ok("decide", *FLAGS, stdin="prob\n" + "0\n1\n" * 200)
    assert done.stderr.count("[certain-probabilities]") == 1
    text = "prob,amount\n" + "0.5,3\n" * 200 + "0.5,-7\n" * 200
    done = ok("decide", "--false-alarm", "5", "--miss", "amount", stdin=text)
    assert done.stderr.count("[mistake-earns]") == 1
    assert "[mistake-earns]" in done.stderr


# --- formats and pipes ----------------------------------------------------------------------------


def test_parts_give_what_the_whole_gives(table, monkeypatch):
    whole = ok("decide", table, *FLAGS, "--explain").stdout
    monkeypatch.setattr(table_source, "BLOCK_BYTES", 1024)
    assert ok("decide", table, *FLAGS, "--explain").stdout == whole


def test_parquet_keeps_its_types_and_text_becomes_typed(tmp_path, monkeypatch, prob):
    monkeypatch.chdir(tmp_path)
    held = pa.table(
        {
            "when": pa.array(range(1000), pa.timestamp("ms")),
            "prob": pa.array(prob.astype(np.float32)),
            "kind": pa.array(["a", None] * 500).dictionary_encode(),
        }
    )
    pq.write_table(held, "p.parquet")
    ok("decide", "p.parquet", *FLAGS, "--out", "d.arrow")
    found = pa.ipc.open_file("d.arrow").read_all()
    assert found.drop_columns(["action", "expected_cost"]).equals(held)
    assert found["action"].to_pylist() == decide(prob.astype(np.float32), COSTS).tolist()
    Path("p.csv").write_text("n,prob\n7,0\n8,1\n9,0.5\n")
    ok("decide", "p.csv", *FLAGS, "--out", "d.parquet")
    assert pq.read_schema("d.parquet").types[:2] == [pa.int64(), pa.float64()]


def test_text_gets_types_in_parquet_only_where_nothing_is_lost(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("p.csv").write_text(
        "id,n,x,zip,flag,day,note,prob\n"
        "007,1,1.50,01.5,true,2024-02-29, NA ,0\n"
        "08,-2,,7,false,2024-03-01,NA,1\n"
        ",NA,NA,NA,,,,00.5\n"
    )
    ok("decide", "p.csv", *FLAGS, "--out", "d.parquet")
    found = pq.read_table("d.parquet").drop_columns(["action", "expected_cost"])
    assert [str(kind) for kind in found.schema.types] == [
        "string", "int64", "double", "string", "bool", "date32[day]", "string", "double"
    ]  # fmt: skip
    assert found["id"].to_pylist() == ["007", "08", None]
    assert found["n"].to_pylist() == [1, -2, None]
    assert found["zip"].to_pylist() == ["01.5", "7", "NA"]
    assert found["x"].to_pylist() == [1.5, None, None]
    assert found["note"].to_pylist() == [" NA ", "NA", None]
    assert found["prob"].to_pylist() == [0.0, 1.0, 0.5]


@pytest.mark.parametrize("late", ["007", "2.5", "x"])
def test_a_late_value_of_another_type_is_refused_not_changed(tmp_path, monkeypatch, late):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_source, "HEAD_BYTES", 2048)
    monkeypatch.setattr(table_source, "BLOCK_BYTES", 1024)
    text = "id,prob\n" + "1,0.25\n" * 1000 + f"{late},0.5\n"
    done = run("decide", *FLAGS, "--out", "d.parquet", stdin=text)
    assert (done.exit_code, "[type-changed]" in done.stderr) == (3, True), done.stderr
    assert "--to csv" in done.stderr
    assert list(tmp_path.iterdir()) == []
    assert ok("decide", *FLAGS, stdin=text).stdout.splitlines()[-1].startswith(f"{late},0.5,")


def test_another_spelling_of_text():
    text = "id;prob;amount\n1;0,02;1000,5\n2;,5;-\n"
    flags = ("--delimiter", ";", "--decimal", ",")
    done = ok("decide", *FLAGS, *flags, stdin=text)
    assert done.stdout.splitlines() == [  # written as it was read, the new numbers too
        "id;prob;amount;action;expected_cost",
        "1;0,02;1000,5;abstain;3",
        "2;,5;-;act;2,5",
    ]
    done = run("decide", "--false-alarm", "5", "--miss", "amount", *flags, stdin=text)
    assert done.exit_code == 3
    assert "column 'amount', row 1: '-' " in done.stderr
    more = ("--missing", "-")
    done = run("decide", "--false-alarm", "5", "--miss", "amount", *flags, *more, stdin=text)
    assert "[missing-cost-value]" in done.stderr


def test_no_rows_are_no_error(tmp_path, monkeypatch):
    done = ok("decide", "--false-alarm", "5", "--miss", "amount", stdin="id,prob,amount\n")
    assert done.stdout == "id,prob,amount,action,expected_cost\n"
    assert ok("decide", *FLAGS, "--budget", "3", stdin="prob\n").stdout.startswith("prob,action")


def test_new_columns_have_another_name_when_asked(table):
    twice = ok("decide", table, *FLAGS).stdout
    assert run("decide", *FLAGS, stdin=twice).exit_code == 3
    again = ok("decide", *FLAGS, "--as", "second", "--explain", stdin=twice).stdout
    found = rows_of(again)
    assert found["second"] == found["action"]
    assert found["second_expected_cost"] == found["expected_cost"]
    assert {"second_cost_pass", "second_runner_up", "second_margin"} <= set(found)


def command(*words: str) -> list[str]:
    return [sys.executable, "-c", "from scarce.cli.main import main; main()", *words]


def test_real_pipes_of_arrow_and_text(table, prob):
    even = ("decide", "--false-alarm", "1", "--miss", "1")
    verbs = [
        command("decide", "p.csv", *FLAGS, "--to", "arrow"),
        command(*even, "--as", "even", "--to", "tsv"),
        command(*even, "--as", "again"),
    ]
    running, feed = [], None
    for verb in verbs:
        one = subprocess.Popen(verb, stdin=feed, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL)
        if feed is not None:
            feed.close()
        running.append(one)
        feed = one.stdout
    text = running[-1].communicate(timeout=60)[0].decode()
    assert [one.wait(60) for one in running] == [0, 0, 0]
    found = rows_of(text)
    assert found["action"] == decide(prob, COSTS).tolist()
    assert found["even"] == np.where(prob > 0.5, "act", "pass").tolist()
    assert found["again"] == found["even"]


@pytest.mark.skipif(os.name != "posix", reason="signals")
def test_ctrl_c_during_a_slow_pipe_leaves_nothing(tmp_path):
    running = subprocess.Popen(
        command("decide", *FLAGS, "--out", "d.csv"),
        cwd=tmp_path,
        stdin=subprocess.PIPE,
        stdout=subprocess.DEVNULL,
        stderr=subprocess.PIPE,
    )
    running.stdin.write(b"id,prob\n" + b"1234567,0.25\n" * 1_000_000)  # more than one part
    running.stdin.flush()
    begun = time.monotonic()
    while not list(tmp_path.iterdir()) and time.monotonic() - begun < 30:
        time.sleep(0.02)
    assert list(tmp_path.iterdir()), "it has begun to write"
    time.sleep(0.3)  # and waits for the next rows
    running.send_signal(signal.SIGINT)
    assert running.wait(10) == 130
    assert b"interrupted; no file was written" in running.stderr.read()
    assert list(tmp_path.iterdir()) == []
    running.stdin.close()
    running.stderr.close()


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("prob\n0.5\n1.7\n", "[prob-range]"),
        ("prob\n0.5\n37\n", "If these are percentages"),
        ("prob\n0.5\n-3\n", "[prob-range]"),
        ("prob\n0.5\n\n0.2,\n", "standard input"),
        ("id,prob\n1,0.5\n2,\n", "[missing-probability]"),
        ("id,prob\n1,0.5\n2,NA\n", "[missing-probability]"),
        ("id,prob\n1,inf\n", "[prob-range]"),
        ("id,prob\n1,high\n", "column 'prob', row 0: 'high' is"),
        ("id,prop\n1,0.5\n", "[unknown-column]"),
        ("prob_a,prob_b\n0.5,0.2\n", "[prob-sum]"),
        ("", "[empty-file]"),
    ],
)
def test_hostile_rows_are_named(tmp_path, monkeypatch, text, words):
    monkeypatch.chdir(tmp_path)
    done = run("decide", *FLAGS, "--out", "d.csv", stdin=text)
    assert done.exit_code == 3, done.output
    assert words in done.stderr
    assert list(tmp_path.iterdir()) == []


def test_a_late_bad_row_is_counted_from_the_beginning(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(table_source, "BLOCK_BYTES", 512)
    text = "id,prob,amount\n" + "1,0.25,3\n" * 5000
    done = run("decide", *FLAGS, "--out", "d.csv", stdin=text + "1,2.5,3\n")
    assert (done.exit_code, "2.5 at row 5,000" in done.stderr) == (3, True)
    flags = ("--false-alarm", "5", "--miss", "amount", "--out", "d.csv")
    done = run("decide", *flags, stdin=text + "1,0.5,inf\n")
    assert (done.exit_code, "'amount' is inf at row 5,000" in done.stderr) == (3, True)
    done = run("decide", *flags, stdin=text + "1,low,3\n")
    assert (done.exit_code, "row 5,000: 'low' is not a number" in done.stderr) == (3, True)
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("prob,amount\n0.5,3\n\n1.7,3\n", " 1.7 in line 4. "),
        ("prob,amount\n0.5,3\nhigh,3\n", "line 3, column 'prob': 'high' "),
        ("prob,amount\n0.5,3\n0.5,x\n", "line 3, column 'amount': 'x' "),
        ("prob,amount\n0.5,3\n0.5,\n", " in line 3"),
    ],
)
def test_hostile_cells_of_a_file_are_named_by_their_line(tmp_path, text, said):
    path = tmp_path / "p.csv"
    path.write_text(text)
    done = run("decide", path, "--false-alarm", "5", "--miss", "amount")
    assert (done.exit_code, said in done.stderr) == (3, True), done.stderr


@pytest.mark.filterwarnings("default")
def test_a_formula_that_earns_is_named(table):
    done = ok("decide", table, "--false-alarm", "5", "--miss", "-1 * amount", "--out", "d.csv")
    assert "[mistake-earns]" in done.stderr


def test_the_file_of_costs_is_not_written_over(table):
    Path("c.csv").write_text("action,0,1\npass,0,400\nact,5,0\n")
    done = run("decide", table, "--costs", "c.csv", "--out", "./c.csv", "--force")
    assert (done.exit_code, "[output-is-input]" in done.stderr) == (2, True)
    assert Path("c.csv").read_text().startswith("action,0,1")


@pytest.mark.parametrize("width", [40, 60, 200])
def test_a_narrow_terminal_breaks_lines_between_words(table, monkeypatch, width):
    monkeypatch.setattr("scarce.cli.decide.on_terminal", lambda: True)
    monkeypatch.setattr("scarce.cli.decide.terminal_width", lambda: width)
    mix = ("--trained-at", "0.2", "--now-at", "0.1")
    lines = ok("decide", table, *FLAGS, *mix, "--out", "d.csv").stderr.splitlines()
    assert max(map(len, lines)) < width
    wide = ok("decide", table, *FLAGS, *mix, "--out", "-").stderr
    assert "the best single action for all rows" in " ".join(wide.split())


@pytest.mark.parametrize(
    ("words", "said"),
    [
        ((), "[no-costs]"),
        (("--false-alarm", "5", "--miss", "prob"), "[same-column]"),
        (("--miss", "3"), "[missing-cost]"),
        ((*FLAGS, "--now-at", "0.1"), "[no-base-rate]"),
        ((*FLAGS, "--trained-at", "0.1", "--now-at", "1"), "[option-value]"),
        ((*FLAGS, "--budget", "3", "--tie", "last"), "[argument-conflict]"),
        ((*FLAGS, "--budget", "3.5"), "[budget-value]"),
        ((*FLAGS, "--budget", "-1"), "[budget-value]"),
        ((*FLAGS, "--budget", "ask=3"), "[unknown-action]"),
        ((*FLAGS, "--uses", "amount"), "[unused-argument]"),
        ((*FLAGS, "--json"), "json-needs-out"),
        ((*FLAGS, "--prob", "prob", "--prob", "prob"), "[same-column]"),
        ((*FLAGS, "--prob", "p*", "--prob", "prob"), "[argument-conflict]"),
        ((*FLAGS, "--out", "p.csv"), "[file-exists]"),
        ((*FLAGS, "--out", "d.xlsx"), "[unknown-ending]"),
        ((*FLAGS, "--out", "no/d.csv"), "[no-folder]"),
    ],
)
def test_flags_that_cannot_work(table, words, said):
    before = sorted(Path.cwd().iterdir())
    done = run("decide", table, *words)
    assert done.exit_code == 2, done.output
    assert said in (done.stderr or done.stdout) + done.stdout
    assert sorted(Path.cwd().iterdir()) == before


def test_a_column_that_costs_need_is_found_or_suggested(table):
    text = "prob,Betrag in €\n0.5,3\n0.5,30\n"
    done = ok("decide", "--false-alarm", "5", "--miss", "Betrag in €", stdin=text)
    assert rows_of(done.stdout)["action"] == ["pass", "act"]
    done = run("decide", table, "--false-alarm", "5", "--miss", "amout")
    assert done.exit_code == 3
    assert "[unknown-column]" in done.stderr
    assert "--miss" in done.stderr


def test_an_existing_file_is_replaced_only_when_asked_and_only_by_a_whole_one(table):
    Path("d.csv").write_text("mine")
    assert run("decide", table, *FLAGS, "--out", "d.csv").exit_code == 2
    assert run("decide", "none.csv", *FLAGS, "--out", "d.csv").exit_code == 2  # looked at first
    assert run("decide", "none.csv", *FLAGS, "--out", "e.csv").exit_code == 3
    done = run("decide", *FLAGS, "--out", "d.csv", "--force", stdin="prob\n0.5\n7\n")
    assert done.exit_code == 3
    assert Path("d.csv").read_text() == "mine"
    ok("decide", table, *FLAGS, "--out", "d.csv", "--force")
    assert Path("d.csv").read_text().startswith("id,amount,prob,note,action")
    ok("decide", "d.csv", *FLAGS, "--as", "again", "--out", "d.csv", "--force")  # onto itself
    assert (
        rows_of(Path("d.csv").read_text())["again"] == rows_of(Path("d.csv").read_text())["action"]
    )


def test_probabilities_of_all_classes_sum_to_1(tmp_path):
    path = tmp_path / "three.csv"
    rows = ["0.2,0.3,0.5"] * 5 + ["0.2,0.3,0.53"]
    path.write_text("prob_a,prob_b,prob_c\n" + "\n".join(rows) + "\n")
    costs = tmp_path / "c.toml"
    costs.write_text('classes = ["a", "b", "c"]\n[costs.x]\na = 0\nb = 1\nc = 2\n'
                     "[costs.y]\na = 2\nb = 1\nc = 0\n")  # fmt: skip
    done = CliRunner().invoke(scarce, ["decide", str(path), "--costs", str(costs)])
    assert done.exit_code == 3, done.output
    assert "[prob-sum]" in done.stderr
    assert "[prob-sum]" in done.stderr
