"""The benchmarks of whole processes: complete lines, true figures, and answers that are held."""

import json
import os
import sys

import numpy as np
import pyarrow as pa
import pytest
from pyarrow import csv

from benchmarks import command_line, command_line_jobs, processes, table_rivals
from benchmarks import command_line_table as table
from benchmarks.command_line import difference, one_core, run_once
from benchmarks.command_line_jobs import JOBS, Job, Side

FIELDS = {
    "job": str,
    "side": str,
    "yardstick": (str, type(None)),
    "command": str,
    "rows": int,
    "columns": int,
    "csv_mb": float,
    "repeats": int,
    "cpu_seconds": float,
    "cpu_seconds_min": float,
    "cpu_seconds_max": float,
    "wall_seconds": float,
    "wall_seconds_min": float,
    "csv_mb_per_cpu_second": (float, type(None)),
    "peak_mb": float,
    "answer": dict,
    "difference": float,
    "same": bool,
    "load_at_start": float,
    "busy_cores_of_others": (float, type(None)),
    "cores": int,
    "processor": str,
    "versions": dict,
}
NAMED = {job.name: job for job in JOBS}


def check_fields(record):
    assert record.keys() == FIELDS.keys()
    for name, kind in FIELDS.items():
        assert isinstance(record[name], kind), name
    assert "/" not in json.dumps(record)


def python(code):
    return [sys.executable, "-c", code]


def test_the_runner_writes_complete_lines(tmp_path, capsys):
    out = tmp_path / "deep" / "lines.jsonl"
    asked = ["--job", "estimate", "--rows", "3000", "--repeats", "1", "--out", str(out)]
    assert command_line.main(asked) == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["side"] for record in records] == [s.name for s in NAMED["estimate"].sides]
    for record in records:
        check_fields(record)
        assert record["same"]
        assert record["answer"]["rows"] == record["rows"] == 3000
    ours, counted = records[2]["answer"], records[3]["answer"]
    assert counted["alerts"] > counted["events_seen"] > 0
    assert {name: ours[name] for name in counted} == counted
    assert 0 < ours["recall"] < 1
    shown = capsys.readouterr()
    assert shown.out == ""
    assert "| 3,000 | scarce estimate |" in shown.err


def test_the_pipe_gives_the_actions_of_the_rival(tmp_path):
    job = NAMED["pipe"]
    job.make(tmp_path, 5000)
    sides = {side.name: side for side in job.sides}
    answers = []
    for name in ("scarce, pipe of CSV", "pandas, in chunks, one program"):
        run_once(sides[name], tmp_path)
        answers.append(command_line.answer_of(tmp_path))
    assert difference(*answers, whole=True) <= command_line.TOLERANCE
    assert answers[0]["rows"] == 5000
    assert 0.1 < answers[0]["action"].mean() < 0.9  # else half of the work could be left out


def test_rivals_predict_what_the_formula_says(tmp_path, rng, monkeypatch):
    monkeypatch.setattr(table_rivals, "CHUNK_ROWS", 300)
    drawn = command_line_jobs.payments(rng, 5, 1000)
    csv.write_csv(drawn, tmp_path / "big.csv")
    coef = rng.normal(0, 0.02, 6)
    names = list(command_line_jobs.COLUMNS)
    held = {"columns": names, "coef": list(coef), "intercept": -0.5}
    (tmp_path / "m.json").write_text(json.dumps(held))
    score = sum(c * drawn[name].to_numpy() for c, name in zip(coef, names, strict=True)) - 0.5
    wanted = 1 / (1 + np.exp(-score))
    paths = [str(tmp_path / name) for name in ("big.csv", "out.csv", "m.json")]
    for predicts in (table_rivals.arrow_predicts, table_rivals.pandas_predicts):
        predicts(*paths)
        got = csv.read_csv(paths[1])
        assert got["id"].to_pylist() == list(range(5, 1005))
        np.testing.assert_allclose(got["prob"].to_numpy(), wanted, rtol=1e-12)
    table_rivals.pandas_predicts_and_decides(*paths)
    got = csv.read_csv(paths[1])
    assert got.column_names == ["id", "prob", "action", "expected_cost"]
    for row in got.to_pylist():
        prob, action, cost = row["prob"], row["action"], row["expected_cost"]
        passing, acting = 400 * prob, 5 * (1 - prob)
        assert action == ("act" if acting < passing else "pass")
        assert cost == pytest.approx(min(passing, acting), rel=1e-12)


def test_polars_predicts_the_same(tmp_path, rng):
    pytest.importorskip("polars")
    csv.write_csv(command_line_jobs.payments(rng, 0, 500), tmp_path / "big.csv")
    held = {"columns": ["amount", "device"], "coef": [0.01, 2.0], "intercept": -1.0}
    (tmp_path / "m.json").write_text(json.dumps(held))
    paths = [str(tmp_path / name) for name in ("big.csv", "one.csv", "two.csv", "m.json")]
    table_rivals.polars_predicts(paths[0], paths[1], paths[3])
    table_rivals.arrow_predicts(paths[0], paths[2], paths[3])
    one, two = (csv.read_csv(path) for path in paths[1:3])
    np.testing.assert_allclose(one["prob"].to_numpy(), two["prob"].to_numpy(), rtol=1e-12)


def test_tables_depend_on_the_seed_alone_and_have_one_header(tmp_path, monkeypatch):
    monkeypatch.setattr(command_line_jobs, "DRAWN_ROWS", 400)
    for name in ("one.csv", "two.csv"):
        command_line_jobs.write_rows(tmp_path / name, command_line_jobs.scores, 1000)
    assert (tmp_path / "one.csv").read_bytes() == (tmp_path / "two.csv").read_bytes()
    read = csv.read_csv(tmp_path / "one.csv")
    assert read["id"].to_pylist() == list(range(1000))
    for score, label in zip(read["score"].to_pylist(), read["label"].to_pylist(), strict=True):
        assert (label is None) == (score < table_rivals.THRESHOLD)


def test_memory_and_cpu_of_a_pipe_are_those_of_both_ends(tmp_path):
    large = "held = b'x' * 60_000_000; print(len(held))"
    busy = "import time\nwhile time.process_time() < 0.3: pass\n" + large
    alone = processes.run_steps([[python("pass")]], tmp_path / "said")
    one = processes.run_steps([[python(large)]], tmp_path / "said")
    assert (tmp_path / "said").read_text() == "60000000\n"
    reads = "import sys; print('read', sys.stdin.read().strip()); " + large
    both = processes.run_steps([[python(busy), python(reads)]], tmp_path / "said")
    assert (tmp_path / "said").read_text() == "read 60000000\n60000000\n"
    again = processes.run_steps([[python(busy)], [python(busy)]], tmp_path / "said")
    assert both["cpu"] > 0.3
    assert 0.6 < again["cpu"] < 0.6 + 2 * (one["cpu"] + alone["cpu"]) + 0.2
    assert again["wall"] >= 0.6
    assert both["peak_mb"] > one["peak_mb"] + 57  # a pipe holds both, steps one after the other
    assert again["peak_mb"] == pytest.approx(one["peak_mb"], rel=0.2)


def test_a_small_process_measures_small_ones(tmp_path):
    held = np.ones(20_000_000)  # 153 MB, which a process started from here would seem to hold
    used = run_once(Side("nothing", ("python -c pass",)), tmp_path)
    assert used["peak_mb"] < 40
    assert held.any()


def test_a_side_that_fails_is_named_and_the_others_go_on(tmp_path, capsys, monkeypatch):
    right = Side("right", ("python -c print(7)",))
    wrong = Side("wrong", ("python -c 1/0",))
    gone = Side("gone", ("python -c pass",), needs="no_such_package")
    monkeypatch.setattr(command_line, "JOBS", (tiny_job(right, wrong, gone),))
    assert command_line.main(["--repeats", "2"]) == 1
    shown = capsys.readouterr()
    records = [json.loads(line) for line in shown.out.splitlines()]
    assert [(r["side"], r["repeats"], r["answer"]) for r in records] == [("right", 2, {"rows": 7})]
    assert "ZeroDivisionError" in shown.err
    assert "gone: left out, no no_such_package" in shown.err
    assert shown.err.endswith("Failed, and left out: wrong.\n")


def tiny_job(*sides):
    return Job("start", "Seven rows", 1, (7,), lambda folder, rows: write_seven(folder), sides)


def write_seven(folder):
    (folder / "big.csv").write_text("a\n" + "1\n" * 7)


def test_another_answer_is_not_the_same(tmp_path, monkeypatch):
    writes = "import sys;open('out.csv','w').write('id,prob\\n1,'+sys.argv[1])"
    job = tiny_job(
        *(Side(f"side {text}", (f"python -c {writes} {text}",)) for text in ("0.5", "0.500001"))
    )
    monkeypatch.setattr(Side, "programs", spaced)
    records, failed = command_line.run_job(job, 1, 1, tmp_path)
    assert not failed
    assert [record["same"] for record in records] == [True, False]
    assert records[1]["difference"] == pytest.approx(1e-6)
    assert not command_line.run_job(job, 2, 1, tmp_path)[0][0]["same"]  # another number of rows


def spaced(self):
    """Return the one command of a side whose code holds spaces."""
    _, option, *code, text = self.steps[0].split()
    return [[[sys.executable, option, " ".join(code), text]]]


@pytest.mark.parametrize(
    "wrong",
    [
        {"rows": 3, "prob": np.array([0.1, 0.2, 0.4])},
        {"rows": 3, "prob": np.array([0.1, 0.2, np.nan])},
        {"rows": 2, "prob": np.array([0.1, 0.2])},
        {"rows": 3},
    ],
)
def test_difference_sees_what_is_wrong(wrong):
    right = {"rows": 3, "prob": np.array([0.1, 0.2, 0.3])}
    assert difference(right, right, whole=True) == 0.0
    assert difference(wrong, right, whole=True) > 0.05
    assert difference({"rows": 3}, right, whole=False) == 0.0


def test_one_core_is_given_back():
    if not hasattr(os, "sched_getaffinity"):
        pytest.skip("this system does not hold processes to cores")
    found = os.sched_getaffinity(0)
    os.sched_setaffinity(0, range(os.cpu_count()))  # whatever another test has left
    before = os.sched_getaffinity(0)
    with one_core():
        assert len(os.sched_getaffinity(0)) == 1
    assert os.sched_getaffinity(0) == before
    os.sched_setaffinity(0, found)


# --- what is stored and shown ---------------------------------------------------------------------


def test_stored_results_are_complete():
    records = table.read_results()
    seen = [(record["job"], record["rows"], record["side"]) for record in records]
    assert seen == [(j.name, n, side.name) for j in JOBS for n in j.sizes for side in j.sides]
    for record in records:
        check_fields(record)
        assert record["same"]
        assert record["repeats"] == NAMED[record["job"]].repeats
        said = {side.name: " && ".join(side.steps) for side in NAMED[record["job"]].sides}
        assert record["command"] == said[record["side"]]


def test_the_readme_shows_the_stored_results():
    text = table.README.read_text()
    assert table.replaced(text) == text, "Run: python -m benchmarks.command_line --write"


def test_goals_are_judged_by_their_bounds():
    records = table.read_results()
    assert "not measured | - |" in table.goals_of([])
    assert "not measured | - |" in table.goals_of([dict(r, same=False) for r in records])
    slow = [
        dict(r, csv_mb_per_cpu_second=49.0, cpu_seconds=1.51 if "scarce" in r["side"] else 1.0)
        for r in records
    ]
    goals = table.goals_of(slow).splitlines()
    assert [line.endswith("| 49 (1.5 times) | NO |") for line in goals[4:8]] == [True] * 4
    near = [dict(r, csv_mb_per_cpu_second=1.0, cpu_seconds=1.0) for r in records]
    assert all(line.endswith("| yes |") for line in table.goals_of(near).splitlines()[4:8])
    grown = [dict(r, peak_mb=100.0 if r["rows"] < 5e6 else 121.0) for r in records]
    assert table.goals_of(grown).count("| 1.21 | NO |") == 2
    late = [dict(r, cpu_seconds=0.3) for r in records]
    assert table.goals_of(late).count("| 0.30 | NO |") == 2


def test_a_ratio_is_not_shown_for_another_answer():
    records = [dict(r, same=r["side"] != "scarce predict") for r in table.read_results()]
    lines = [line for line in table.tables_of(records).splitlines() if "| scarce predict |" in line]
    assert len(lines) == 3
    assert all("| differs |" in line for line in lines)


def test_arguments_that_cannot_work_are_refused(capsys):
    for wrong in (["--rows", "10"], ["--repeats", "0"], ["--job", "predicts"]):
        with pytest.raises(SystemExit):
            command_line.main(wrong)
        assert wrong[0] in capsys.readouterr().err


def test_labelled_payments_hold_some_frauds(rng):
    drawn = command_line_jobs.labelled_payments(rng, 0, 20_000)
    assert 0.01 < np.mean(drawn["fraud"].to_numpy()) < 0.15
    assert drawn.drop_columns(["fraud"]).schema == command_line_jobs.payments(rng, 0, 1).schema
    assert pa.types.is_integer(drawn.schema.field("id").type)
