"""What does a table cost from the command line, beside pyarrow's reader and a program by hand?

    python -m benchmarks.command_line [--job X] [--rows N] [--repeats 5] [--out file.jsonl]
    python -m benchmarks.command_line --write      puts the stored results into README.md

Whole processes are measured, start-up and all, on one core and from a warm page cache: each side
once without the clock, to look at its answer, then all sides in turn. Needs 1 GB of temporary disk.
One JSON line per side and number of rows goes to stdout or the file, tables go to stderr.
"""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import platform
import resource
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np
from pyarrow import csv

from benchmarks.command_line_jobs import JOBS, Job, Side, setting
from benchmarks.command_line_table import README, replaced, tables_of
from benchmarks.measure import busy_seconds
from benchmarks.run import ROOT, cores, largest, processor, rounded, say

Answer = dict[str, Any]
SHORT_SECONDS = 0.5  # below, the system's clock of 10 ms is too coarse to tell the load of others
TOLERANCE = 1e-9  # of a probability, or of an expected cost: texts have up to 17 digits


# --- answers --------------------------------------------------------------------------------------


def answer_of(folder: Path) -> Answer:
    """Return what a side answered: the columns of out.csv, or the figures on standard output."""
    out = folder / "out.csv"
    if out.exists():
        table = csv.read_csv(out)
        answer: Answer = {name: table[name].to_numpy() for name in table.column_names}
        if "action" in answer:
            answer["action"] = (answer["action"] == "act").astype(float)
        return {"rows": table.num_rows, **answer}
    text = (folder / "said").read_text().strip()
    if text.isdigit():
        return {"rows": int(text)}
    if not text.startswith("{"):
        return {}
    held = json.loads(text)
    if "result" not in held:
        return dict(held)
    counts, recall = held["result"]["counts"], held["result"]["recall"]["value"]
    return {name: counts[name] for name in ("rows", "alerts", "events_seen")} | {"recall": recall}


def difference(one: Answer, other: Answer, *, whole: bool) -> float:
    """Return the largest difference in what both answered; infinite where it cannot be told.

    Two that do the whole job must answer the same things, of the same length.
    """
    if whole and one.keys() != other.keys():
        return float("inf")
    found = 0.0
    for name in one.keys() & other.keys():
        mine, theirs = np.asarray(one[name], float), np.asarray(other[name], float)
        if mine.shape != theirs.shape or not np.isfinite([mine, theirs]).all():
            return float("inf")
        found = max(found, float(np.abs(mine - theirs).max(initial=0.0)))
    return found


def figures(answer: Answer) -> dict[str, float]:
    """Return an answer in numbers: columns by their mean."""
    return {
        name: rounded(float(np.mean(value))) if isinstance(value, np.ndarray) else value
        for name, value in answer.items()
        if name != "id"
    }


# --- measuring ------------------------------------------------------------------------------------


@contextlib.contextmanager
def one_core() -> Iterator[None]:
    """Hold what is started to one core, where the system lets us."""
    if not hasattr(os, "sched_setaffinity"):
        yield
        return
    before = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {min(before)})
    try:
        yield
    finally:
        os.sched_setaffinity(0, before)


def cpu_of_children() -> float:
    """Return the CPU seconds of all processes started from here, and of theirs."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


def run_once(side: Side, folder: Path) -> dict[str, Any]:
    """Run one side from a small process, and return its figures and the load of others."""
    for name in ("out.csv", "between.csv"):
        (folder / name).unlink(missing_ok=True)
    asked = json.dumps({"steps": side.programs(), "out": str(folder / "said")})
    program = [sys.executable, "-I", "-S", str(ROOT / "benchmarks" / "processes.py"), asked]
    busy, ours, begin = busy_seconds(), cpu_of_children(), time.perf_counter()
    done = subprocess.run(program, cwd=folder, env=setting(), capture_output=True, text=True)
    wall, ours, after = time.perf_counter() - begin, cpu_of_children() - ours, busy_seconds()
    if done.returncode != 0:
        raise RuntimeError(f"it failed: {done.stderr[-3000:]}")
    used: dict[str, Any] = json.loads(done.stdout)
    used["others"] = None
    if busy is not None and after is not None and wall > SHORT_SECONDS:
        used["others"] = max(0.0, after - busy - ours) / wall
    return used


def available(sides: tuple[Side, ...]) -> list[Side]:
    """Leave out the sides whose package is missing, and say so."""
    kept = [side for side in sides if find_spec(side.needs) is not None]
    for side in sides:
        if side not in kept:
            say(f"{side.name}: left out, no {side.needs}. Install: pip install {side.needs}")
    return kept


def run_job(
    job: Job, rows: int, repeats: int, folder: Path
) -> tuple[list[dict[str, Any]], list[str]]:
    """Measure all sides of a job on a table of so many rows: a record per side; who failed."""
    sides = available(job.sides)
    say(f"{job.name}: making {rows:,} rows ...")
    job.make(folder, rows)
    load = os.getloadavg()[0]
    answers: dict[str, Answer] = {}
    off: dict[str, float] = {}
    failed: list[str] = []
    with one_core():
        for side in sides:  # without the clock: reads files and code into the page cache
            try:
                run_once(side, folder)
            except RuntimeError as error:
                say(f"{side.name}: left out, {error}")
                failed.append(side.name)
                continue
            answer = answer_of(folder)
            answers[side.name] = answer
            off[side.name] = max(
                difference(
                    answer, answers[other.name], whole=not (side.yardstick or other.yardstick)
                )
                for other in sides
                if other.name in answers
            )
        sides = [side for side in sides if side.name not in failed]
        runs: dict[str, list[dict[str, Any]]] = {side.name: [] for side in sides}
        for repeat in range(repeats):
            first = repeat % len(sides)
            for side in sides[first:] + sides[:first]:
                used = run_once(side, folder)
                runs[side.name].append(used)
                say(f"  {repeat + 1}/{repeats} {side.name}: {used['cpu']:.3g} s of CPU")
    size = (folder / "big.csv").stat().st_size
    records = [
        record_of(job, side, rows, size, runs[side.name], answers[side.name], off[side.name], load)
        for side in sides
    ]
    return records, failed


def record_of(
    job: Job,
    side: Side,
    rows: int,
    size: int,
    runs: list[dict[str, Any]],
    answer: Answer,
    off: float,
    load: float,
) -> dict[str, Any]:
    """Put the repeats of one side together: one JSON line."""
    cpu = statistics.median(run["cpu"] for run in runs)
    others = [run["others"] for run in runs if run["others"] is not None]
    packages = [name for name in ("scarce", "pyarrow", "numpy", side.needs) if find_spec(name)]
    return {
        "job": job.name,
        "side": side.name,
        "yardstick": side.yardstick or None,
        "command": " && ".join(side.steps),
        "rows": rows,
        "columns": job.columns,
        "csv_mb": round(size / 1e6, 2),
        "repeats": len(runs),
        "cpu_seconds": rounded(cpu),
        "cpu_seconds_min": rounded(min(run["cpu"] for run in runs)),
        "cpu_seconds_max": rounded(max(run["cpu"] for run in runs)),
        "wall_seconds": rounded(statistics.median(run["wall"] for run in runs)),
        "wall_seconds_min": rounded(min(run["wall"] for run in runs)),
        "csv_mb_per_cpu_second": rounded(size / 1e6 / cpu) if answer else None,
        "peak_mb": largest(runs, "peak_mb"),
        "answer": figures(answer),
        "difference": rounded(off) if np.isfinite(off) else None,
        "same": off <= TOLERANCE and answer.get("rows", rows) == rows,
        "load_at_start": round(load, 2),
        "busy_cores_of_others": round(statistics.median(others), 2) if others else None,
        "cores": cores(),
        "processor": processor(),
        "versions": {"python": platform.python_version(), **{n: version(n) for n in packages}},
    }


def main(arguments: list[str] | None = None) -> int:
    """Run what the command line asks for."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.command_line", description=__doc__)
    names = [job.name for job in JOBS]
    parser.add_argument("--job", choices=names, help="one of them; all by default")
    parser.add_argument("--rows", type=int, help="rows instead of each job's own numbers")
    parser.add_argument("--repeats", type=int, help="processes per side (5; start: 10)")
    parser.add_argument("--out", type=Path, help="file for the JSON lines; stdout by default")
    parser.add_argument("--write", action="store_true", help="stored results into README.md")
    asked = parser.parse_args(arguments)
    if asked.write:
        README.write_text(replaced(README.read_text()))
        return 0
    if asked.repeats is not None and asked.repeats < 1:
        parser.error("--repeats must be at least 1")
    if asked.rows is not None and asked.rows < 1000:
        parser.error("--rows must be at least 1000")
    if asked.out is not None:
        asked.out.parent.mkdir(parents=True, exist_ok=True)
        asked.out.write_text("")
    records: list[dict[str, Any]] = []
    failed: list[str] = []
    for job in JOBS:
        if asked.job not in (None, job.name):
            continue
        for rows in (asked.rows,) if asked.rows and job.name != "start" else job.sizes:
            with tempfile.TemporaryDirectory(prefix="scarce-bench-") as folder:
                repeats = asked.repeats or job.repeats
                found, lost = run_job(job, rows, repeats, Path(folder))
            records += found
            failed += lost
            lines = "".join(json.dumps(record) + "\n" for record in found)
            if asked.out is None:
                print(lines, end="", flush=True)
            else:  # at once: a long run that ends early leaves what it has
                with asked.out.open("a") as file:
                    file.write(lines)
    say("\n" + tables_of(records))
    if failed:
        say(f"Failed, and left out: {', '.join(failed)}.")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
