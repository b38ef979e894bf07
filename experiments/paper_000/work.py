"""Doing the parts: two processes, each record on file at once, a bar, going on after a stop.

A record is one line of a file, written by the worker that made it. The file's name carries a digest
of the code that fits, so that records of other code are never taken for those of this one. Also
times all hinge fits alone, in two new processes. Assumes that a line of a few thousand bytes is
appended in one piece. Scores nothing itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import cache, partial
from hashlib import sha256
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import scarce
from experiments.paper_000 import jobs, methods
from experiments.paper_000.jobs import Job
from experiments.paper_000.species import case_of, listed

SOLVER = ("solvers/boxed", "solvers/passes", "solvers/row_sample", "solvers/tilted")
CODE = ("features/*", *SOLVER, "models/maxent*", "models/widths")
OWN = ("species.py", "methods.py", "jobs.py")
WORKERS = "processes:2"
TOLERANCE = 1e-6  # duality gap of the timed fits


def work_file(folder: Path) -> Path:
    """Return where the records of this code are kept."""
    return folder / f"records-{_digest()}.jsonl"


@cache  # of the code that this process began with, though a file may change meanwhile
def _digest() -> str:
    digest = sha256()
    source = Path(scarce.__file__).parent
    for path in sorted(p for part in CODE for p in source.glob(f"{part}.py")):
        digest.update(path.read_bytes())
    for name in OWN:
        digest.update((Path(__file__).parent / name).read_bytes())
    return digest.hexdigest()[:12]


def do_all(
    todo: Sequence[Job], file: Path | None, *, engine: Any = WORKERS
) -> list[dict[str, Any]]:
    """Return the record of every job, doing those that are not on file yet.

    Parameters
    ----------
    todo : sequence of Job
    file : path or None
        Where records are kept; None keeps none and works in this process.
    engine : engine of scarce.many
    """
    if file is None:
        return [jobs.do(job) for job in todo]
    file.parent.mkdir(parents=True, exist_ok=True)
    _end_last_line(file)
    held = read(file)
    missing = [job for job in todo if job not in held]
    bar = Bar([job.cost for job in missing], len(todo) - len(missing))
    scarce.many([partial(do_and_keep, job, file) for job in missing], engine, progress=bar)
    held = read(file)
    return [held[job] for job in todo]


def do_and_keep(job: Job, file: Path) -> None:
    """Do one job in a worker and append its record."""
    line = json.dumps(jobs.do(job), separators=(",", ":"), allow_nan=False) + "\n"
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def read(file: Path) -> dict[Job, dict[str, Any]]:
    """Return the records on file; a line that was cut off is done again."""
    held: dict[Job, dict[str, Any]] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        held[Job(*(record[field] for field in Job._fields))] = record
    return held


def _end_last_line(file: Path) -> None:
    """After a stop in the middle of a line, the next record must not join it."""
    if file.exists() and not file.read_bytes().endswith(b"\n"):
        with file.open("ab") as out:
            out.write(b"\n")


class Bar:
    """Percent of the work and time left, on stderr: one line that moves, or a line per tenth."""

    def __init__(self, costs: Sequence[float], on_file: int) -> None:
        self.costs = costs
        self.begin, self.shown = time.perf_counter(), -1
        if on_file:
            print(f"  {on_file:,} parts are on file already", file=sys.stderr, flush=True)

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is, when that is news."""
        share = sum(self.costs[:done]) / sum(self.costs)
        left = (time.perf_counter() - self.begin) * (1 - share) / share
        text = f"  {share:4.0%}  {done:,} of {total:,} parts, about {left / 60:.1f} minutes left"
        moving = sys.stderr.isatty()
        step = int(share * (100 if moving else 10))
        if step == self.shown and done < total:
            return
        self.shown = step
        end = "\r" if moving and done < total else "\n"
        print(text.ljust(79) if moving else text, end=end, file=sys.stderr, flush=True)


# --- how long the hinge fits take -----------------------------------------------------------------


def timed(file: Path) -> dict[str, float]:
    """Return the time of all hinge fits, taking it when it is not on file yet."""
    path = file.with_name(file.name.replace("records", "timing").replace("jsonl", "json"))
    if not path.exists():
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(json.dumps(timing()) + "\n", encoding="utf-8")
    held: dict[str, float] = json.loads(path.read_text(encoding="utf-8"))
    return held


def timing(species: Sequence[str] | None = None) -> dict[str, float]:
    """Fit maxent once per species in two new processes, and nothing else.

    Returns
    -------
    dict
        wall: seconds from the first task to the last answer, start of the processes, imports and
        reading of files included; fit_cpu: CPU seconds of the fits alone; cpu: of the processes
        altogether; peak_mb: largest resident memory of a process; gap: the largest of the fits.
    """
    names = sorted(listed() if species is None else species, key=lambda n: -listed()[n].n_presence)
    with ProcessPoolExecutor(2, mp_context=get_context("spawn")) as pool:
        begin = time.perf_counter()
        found = scarce.many([partial(_timed_fit, name) for name in names], pool)
        wall = time.perf_counter() - begin
    last = {each["process"]: each for each in found}  # the greatest of what only grows
    for each in found:
        for name in ("cpu", "peak_mb"):
            kept = last[each["process"]]
            kept[name] = max(kept[name], each[name])
    return {
        "fits": len(found),
        "wall": jobs.plain(wall),
        "fit_cpu": jobs.plain(sum(each["fit"] for each in found)),
        "cpu": jobs.plain(sum(each["cpu"] for each in last.values())),
        "slowest": jobs.plain(max(each["fit"] for each in found)),
        "peak_mb": jobs.plain(max(each["peak_mb"] for each in last.values())),
        "gap": jobs.plain(max(each["gap"] for each in found)),
    }


def _timed_fit(name: str) -> dict[str, float]:
    import resource

    case = case_of(name)
    model = methods.model_of(case, "entropy", 0.5, width_scale=methods.MAIN, tol=TOLERANCE)
    begin = time.process_time()
    model.fit(case.X, case.y)
    spent = time.process_time() - begin
    return {
        "process": os.getpid(),
        "fit": spent,
        "cpu": time.process_time(),
        "peak_mb": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024,
        "gap": float(model.report_.gap),
    }
