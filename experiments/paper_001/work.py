"""Doing many jobs: two processes, each result on file at once, a bar, and going on after a stop.

A record is one line of a file, written by the worker that made it. The file's name carries a digest
of the code that fits, so that results of other code are never taken for those of this one. Assumes
that a line of a few hundred bytes is appended in one piece. Measures nothing itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Iterable, Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import scarce
from experiments.paper_001 import jobs
from experiments.paper_001.jobs import Job

CODE = ("losses/*", "prior/*", "solvers/*", "models/rare*", "models/se*")  # what decides a fit
WORKERS = "processes:2"


def work_file(folder: Path) -> Path:
    """Return where the records of this code are kept."""
    return folder / f"records-{_digest(CODE)}.jsonl"


@cache  # of the code that this process began with, though a file may change meanwhile
def _digest(code: tuple[str, ...]) -> str:
    digest = sha256()
    source = Path(scarce.__file__).parent
    for path in sorted(p for part in code for p in source.glob(f"{part}.py")):
        digest.update(path.read_bytes())
    for name in ("methods.py", "jobs.py"):
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
        Where records are kept; None keeps none.
    engine : engine of scarce.many
    """
    if file is None:
        return [jobs.do(job) for job in todo]
    file.parent.mkdir(parents=True, exist_ok=True)
    _end_last_line(file)
    held = read(file)
    missing = [job for job in todo if job not in held]
    bar = Bar(missing, len(todo) - len(missing))
    scarce.many([partial(do_and_keep, job, file) for job in missing], engine, progress=bar)
    held = read(file)
    return [held[job] for job in todo]


def do_and_keep(job: Job, file: Path) -> None:
    """Do one job in a worker and append its record."""
    line = json.dumps(jobs.do(job), allow_nan=False) + "\n"
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def read(file: Path) -> dict[Job, dict[str, Any]]:
    """Return the records on file; a last line that was cut off is done again."""
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

    def __init__(self, todo: Iterable[Job], on_file: int) -> None:
        self.costs = [job.cost for job in todo]
        self.begin, self.shown = time.perf_counter(), -1
        if on_file:
            print(f"  {on_file:,} results are on file already", file=sys.stderr, flush=True)

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is, when that is news."""
        share = sum(self.costs[:done]) / sum(self.costs)
        spent = time.perf_counter() - self.begin
        left = spent * (1 - share) / share
        text = f"  {share:4.0%}  {done:,} of {total:,} fits, about {left / 60:.1f} minutes left"
        moving = sys.stderr.isatty()
        step = int(share * (100 if moving else 10))
        if step == self.shown and done < total:
            return
        self.shown = step
        end = "\r" if moving and done < total else "\n"
        print(text.ljust(79) if moving else text, end=end, file=sys.stderr, flush=True)
