"""Run the benchmarks: all sides of a problem in one run, in turn, each in a process of its own.

    python -m benchmarks.run [--problem X] [--side Y] [--rows N] [--repeats 5] [--out file.jsonl]

A problem is named in full, or by what stands before a hyphen: fit means all fits.

Repeats go round: every side once, then every side again, beginning with the next one, so that a
busy minute of the machine and the memory that the last one left fall on all of them. One JSON line
per case goes to stdout or the file, a table to stderr.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from importlib.util import find_spec
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as np

from benchmarks.adapters import Side, adapters, sides_of
from benchmarks.problems import PROBLEMS, Answer, Data, Problem
from benchmarks.table import table_of

ROOT = Path(__file__).resolve().parent.parent
BLAS_SETTINGS = (
    "OPENBLAS_NUM_THREADS",
    "OMP_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
CALLS = 2  # timings within one process, after a first call that is kept apart


def say(text: str) -> None:
    """Show progress."""
    print(text, file=sys.stderr, flush=True)


def available(pairs: list[tuple[ModuleType, Side]]) -> list[tuple[ModuleType, Side]]:
    """Leave out the sides whose package is missing, and say what to install."""
    kept = []
    for adapter, side in pairs:
        missing = adapter.missing() if hasattr(adapter, "missing") else None
        if missing is not None:
            say(f"{side.name}: left out, {missing}")
            continue
        needed = adapter.PACKAGES[0] if "Dask" not in side.engine else "distributed"
        if find_spec(needed) is not None:
            kept.append((adapter, side))
        elif "Dask" in side.engine:
            say(f"{side.name}: left out, no {needed}. Install: pip install -e '.[dask]'")
        else:
            say(f"{side.name}: left out, no {needed}. Install: pip install --group {adapter.GROUP}")
    return kept


def run_once(problem: Problem, side: Side, folder: Path) -> tuple[dict[str, Any], Answer]:
    """Run one side in a fresh process and return what it measured and answered."""
    setting = dict(os.environ)
    setting["PYTHONPATH"] = os.pathsep.join([str(ROOT), setting.get("PYTHONPATH", "")])
    for name in BLAS_SETTINGS:
        setting.pop(name, None)
        if side.blas_threads == "one":
            setting[name] = "1"
    asked = {"problem": problem.name, "side": side.name, "folder": str(folder), "calls": CALLS}
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks.measure", json.dumps(asked)],
        cwd=ROOT,
        env=setting,
        capture_output=True,
        text=True,
    )
    if done.returncode != 0:
        raise RuntimeError(f"{side.name} failed on {problem.name}:\n{done.stderr[-3000:]}")
    with np.load(folder / "answer.npz") as held:
        answer = {name: held[name] for name in held.files}
    record = json.loads(done.stdout.strip().splitlines()[-1])
    record["passes"] = int(answer.pop("passes", np.array([side.passes])).max())
    return record, answer


def run_problem(
    problem: Problem, rows: int, repeats: int, only: str | None, folder: Path
) -> list[dict[str, Any]]:
    """Measure all sides of a problem, and return one record per side, the reference first."""
    missing = problem.missing()
    if missing is not None:
        say(f"{problem.name}: left out, {missing}")
        return []
    pairs = available(sides_of(problem.name))
    if only is not None:
        wanted = [pair for pair in pairs if only in (pair[1].name, pair[0].NAME)]
        pairs = [pair for pair in pairs if pair in wanted or pair is pairs[0]] if wanted else []
    if not pairs:
        return []
    say(f"{problem.name}: making {rows:,} x {problem.columns} ...")
    data = problem.make(folder, rows)
    load = os.getloadavg()[0]
    seen: dict[str, list[dict[str, Any]]] = {side.name: [] for _, side in pairs}
    answers: dict[str, Answer] = {}
    for repeat in range(repeats):
        first = repeat % len(pairs)  # in turn: what ran before decides who pays for fresh memory
        for _, side in pairs[first:] + pairs[:first]:
            begin = time.perf_counter()
            record, answers[side.name] = run_once(problem, side, folder)
            seen[side.name].append(record)
            wall = statistics.median(run["wall"] for run in record["runs"])
            say(
                f"  {repeat + 1}/{repeats} {side.name}: {wall:.3g} s"
                f" ({time.perf_counter() - begin:.1f} s with preparation)"
            )
    reference = pairs[0][1].name
    return [
        record_of(problem, side, data, seen[side.name], answers, reference, load)
        for _, side in pairs
    ]


def record_of(
    problem: Problem,
    side: Side,
    data: Data,
    records: list[dict[str, Any]],
    answers: dict[str, Answer],
    reference: str,
    load: float,
) -> dict[str, Any]:
    """Put the repeats of one side together: one JSON line."""
    runs = [run for record in records for run in record["runs"]]
    answer = answers[side.name]
    overheads = [run["overhead"] for run in runs if run.get("overhead") is not None]
    others = [run["others"] for run in runs if run["others"] is not None]
    objective, certificate = PROBLEMS[side.yardstick or problem.name].judge(answer, data)
    comparable = side.yardstick is None
    return {
        "problem": problem.name,
        "side": side.name,
        "yardstick": side.yardstick,
        "rows": len(data.mapped()[1]),
        "columns": problem.columns,
        "engine": side.engine,
        "blas_threads": side.blas_threads,
        "passes": max(record["passes"] for record in records),
        "repeats": len(runs),
        "cpu_seconds": rounded(statistics.median(run["cpu"] for run in runs)),
        "cpu_seconds_min": rounded(min(run["cpu"] for run in runs)),
        "wall_seconds": rounded(statistics.median(run["wall"] for run in runs)),
        "wall_seconds_min": rounded(min(run["wall"] for run in runs)),
        "first_cpu_seconds": rounded(statistics.median(r["first"]["cpu"] for r in records)),
        "first_wall_seconds": rounded(statistics.median(r["first"]["wall"] for r in records)),
        "overhead_microseconds": rounded(1e6 * statistics.median(overheads)) if overheads else None,
        "peak_extra_mb": largest(records, "peak_extra_mb"),
        "mapped_mb": largest(records, "mapped_mb"),
        "objective": objective,
        "certificate": None if certificate is None else rounded(certificate),
        "reference": reference,
        "difference": problem.difference(answer, answers[reference]) if comparable else None,
        "same": comparable
        and problem.solved(certificate)
        and problem.same(answer, answers[reference]),
        "load_at_start": round(load, 2),
        "busy_cores_of_others": round(statistics.median(others), 2) if others else None,
        "cores": cores(),
        "processor": processor(),
        "versions": {"python": platform.python_version(), **records[0]["versions"]},
    }


def rounded(value: float) -> float:
    """Keep four digits: the rest is noise."""
    return float(f"{value:.4g}")


def largest(records: list[dict[str, Any]], name: str) -> float | None:
    """Return the largest of the repeats, where there is one."""
    values = [record[name] for record in records if record[name] is not None]
    return round(max(values), 1) if values else None


def cores() -> int:
    """Return the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def processor() -> str:
    """Return the model of the processor."""
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.split(":", 1)[1].strip() for line in lines if line.startswith("model n"))
    except (OSError, StopIteration):
        return platform.machine()


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.run", description=__doc__)
    names = sorted(
        {side.name for a in adapters() for side in a.SIDES} | {a.NAME for a in adapters()}
    )
    parser.add_argument("--problem", help=f"{', '.join(PROBLEMS)}; all by default")
    parser.add_argument(
        "--side", choices=names, metavar="SIDE", help="one side or package, beside the reference"
    )
    parser.add_argument("--rows", type=int, help="rows instead of the problem's own number")
    parser.add_argument("--repeats", type=int, default=5, help="processes per side (5)")
    parser.add_argument("--out", type=Path, help="file for the JSON lines; stdout by default")
    asked = parser.parse_args(arguments)
    if asked.repeats < 1 or (asked.rows is not None and asked.rows < 100):
        parser.error("--repeats must be at least 1 and --rows at least 100")
    chosen = [
        problem
        for name, problem in PROBLEMS.items()
        if asked.problem in (None, name) or name.startswith(f"{asked.problem}-")
    ]
    if asked.problem in PROBLEMS:
        chosen = [PROBLEMS[asked.problem]]
    if not chosen:
        parser.error(f"--problem {asked.problem}: there are {', '.join(PROBLEMS)}")
    records = []
    for problem in chosen:
        with tempfile.TemporaryDirectory(prefix="scarce-bench-") as folder:
            rows = asked.rows or problem.rows
            if problem.calls > 1:  # a small problem stays small
                rows = min(rows, problem.rows)
            records += run_problem(problem, rows, asked.repeats, asked.side, Path(folder))
    lines = "".join(json.dumps(record) + "\n" for record in records)
    if asked.out is None:
        print(lines, end="")
    else:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text(lines)
    say("\n" + table_of(records))
    return 0


if __name__ == "__main__":
    sys.exit(main())
