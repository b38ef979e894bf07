"""The benchmarks: complete lines, a check that refuses wrong answers, a README that is true."""

import json
from contextlib import redirect_stdout
from io import StringIO
from pathlib import Path

import numpy as np
import pytest

from benchmarks import measure, run, table
from benchmarks.adapters import adapters, plain_numpy, scarce_rows, sides_of
from benchmarks.problems import PROBLEMS

FIELDS = {
    "problem": str,
    "side": str,
    "yardstick": (str, type(None)),
    "rows": int,
    "columns": int,
    "engine": str,
    "blas_threads": str,
    "passes": int,
    "repeats": int,
    "cpu_seconds": float,
    "cpu_seconds_min": float,
    "wall_seconds": float,
    "wall_seconds_min": float,
    "first_cpu_seconds": float,
    "first_wall_seconds": float,
    "overhead_microseconds": (float, type(None)),
    "peak_extra_mb": (float, type(None)),
    "mapped_mb": (float, type(None)),
    "objective": float,
    "certificate": (float, type(None)),
    "reference": str,
    "difference": (float, type(None)),
    "same": bool,
    "load_at_start": float,
    "busy_cores_of_others": (float, type(None)),
    "cores": int,
    "processor": str,
    "versions": dict,
}
GROUPS = Path(run.ROOT, "pyproject.toml").read_text()


def answer_of(adapter, side_name, problem, data):
    side = next(side for side in adapter.SIDES if side.name == side_name)
    with adapter.prepared(side, problem, data) as call:
        return call()


def lines_of(arguments):
    out = StringIO()
    with redirect_stdout(out):
        assert run.main(arguments) == 0
    return [json.loads(line) for line in out.getvalue().splitlines()]


def check_fields(record):
    assert record.keys() == FIELDS.keys()
    for name, kind in FIELDS.items():
        assert isinstance(record[name], kind), name


def test_the_runner_writes_complete_lines(capsys, monkeypatch):
    kept = {"numpy", "numpy in blocks", "scarce", "scarce, threads", "scarce, cached file"}
    monkeypatch.setattr(
        run, "sides_of", lambda name: [pair for pair in sides_of(name) if pair[1].name in kept]
    )
    records = lines_of(["--problem", "gram-pass", "--rows", "3000", "--repeats", "1"])
    assert {record["side"] for record in records} == kept
    for record in records:
        check_fields(record)
        assert record["same"]
        assert record["rows"] == 3000
        assert record["versions"]["numpy"] == np.__version__
    assert records[0]["difference"] == 0.0
    shown = capsys.readouterr().err
    assert "1/1 scarce" in shown
    assert "| scarce, cached file |" in shown


def test_small_folds_are_timed_beside_their_kernel(tmp_path, monkeypatch, capsys):
    out = tmp_path / "deep" / "small.jsonl"
    assert run.main(["--problem", "small-fold", "--repeats", "1", "--out", str(out)]) == 0
    records = [json.loads(line) for line in out.read_text().splitlines()]
    assert [record["side"] for record in records] == ["numpy kernel", "scarce"]
    for record in records:
        check_fields(record)
    assert records[0]["overhead_microseconds"] is None
    assert records[1]["overhead_microseconds"] < 1000.0  # the goal itself is kept by the results
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("name", ["gram-pass", "small-fold", "naive-bayes"])
def test_same_refuses_a_wrong_answer(name, tmp_path):
    problem = PROBLEMS[name]
    data = problem.make(tmp_path, 400)
    reference = answer_of(plain_numpy, sides_of(name)[0][1].name, problem, data)
    right = answer_of(scarce_rows, "scarce", problem, data)
    assert problem.same(right, reference)
    for key, value in reference.items():
        wrong = {**reference, key: value * (1 + 1e-6)}
        assert not problem.same(wrong, reference), key
        assert not problem.same({**reference, key: np.full_like(value, np.nan)}, reference)
        assert not problem.same({**reference, key: value[:-1]}, reference)
        assert not problem.same({k: v for k, v in reference.items() if k != key}, reference)


def test_the_data_depend_on_the_seed_alone(tmp_path):
    problem = PROBLEMS["naive-bayes"]
    one = problem.make(tmp_path / "one", 500).arrays()
    two = problem.make(tmp_path / "two", 500).arrays()
    np.testing.assert_array_equal(one[0], two[0])
    np.testing.assert_array_equal(one[1], two[1])


def test_bayes_objective_is_the_negative_log_likelihood(tmp_path):
    problem = PROBLEMS["naive-bayes"]
    data = problem.make(tmp_path, 2000)
    answer = answer_of(plain_numpy, "numpy", problem, data)
    X, y = data.arrays()
    total = 0.0
    for label in (0, 1):
        gap = X[y == label] - answer["mean"][label]
        spread = answer["variance"][label]
        total += 0.5 * (gap**2 / spread + np.log(2 * np.pi * spread)).sum()
        total -= (y == label).sum() * np.log(answer["prior"][label])
    assert problem.judge(answer, data) == (pytest.approx(total / 2000, rel=1e-12), None)


def test_peak_memory_sees_a_large_array():
    with measure.PeakMemory() as memory:
        held = np.ones(8_000_000)  # 61 MB
        del held
    if memory.extra is None:
        pytest.skip("this system does not report memory")
    assert 50 < memory.extra < 120


def test_a_missing_package_is_named_with_its_group(monkeypatch, capsys):
    monkeypatch.setattr(run, "find_spec", lambda name: None if name == "tabmat" else True)
    kept = run.available(sides_of("gram-pass"))
    assert all(adapter.NAME != "glum" for adapter, _ in kept)
    assert "pip install --group rival-glum" in capsys.readouterr().err


def test_every_adapter_declares_a_problem_and_a_known_group():
    for adapter in adapters():
        assert adapter.GROUP is None or f"{adapter.GROUP} = [" in GROUPS
        assert adapter.SIDES
        for side in adapter.SIDES:
            assert side.problems
            assert set(side.problems) <= set(PROBLEMS)


def test_a_ratio_is_not_shown_for_another_answer():
    records = table.read_results()
    changed = [dict(record, same=record["side"] != "scarce") for record in records]
    shown = [line for line in table.table_of(changed).splitlines() if line.startswith("| scarce |")]
    assert shown
    assert all(line.count("differs") == 2 for line in shown)
    assert "| nan | nan | NO |" in table.goals_of(changed, changed)
    assert "not measured" in table.goals_of(records, [])


def test_stored_results_are_complete_and_name_no_machine():
    records = table.read_results() + table.read_results(table.AGAIN)
    assert {record["problem"] for record in records} == set(PROBLEMS)
    for record in records:
        check_fields(record)
        assert record["same"] or record["yardstick"] in PROBLEMS
        assert "/" not in json.dumps(record)
        known = {side.name for _, side in sides_of(record["problem"])}
        assert record["side"] in known


def test_the_readme_shows_the_stored_results(capsys):
    text = table.README.read_text()
    assert table.replaced(text) == text, "Run: python -m benchmarks.table --write"
    table.main([])
    assert capsys.readouterr().out.strip() in text
