"""Doing many jobs: two processes, each result on file at once, and going on after a stop.

A record is one line of a file, written by the worker that made it. The file's name carries a digest
of the code that fits, so that results of other code are never taken for those of this one. Assumes
that a line of a few kilobytes is appended in one piece. Measures nothing itself.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import scarce
from experiments.paper_001.work import Bar
from experiments.paper_004 import jobs
from experiments.paper_004.jobs import Job

MAXENT = (
    "solvers/boxed",
    "solvers/passes",
    "solvers/row_sample",
    "solvers/tilted",
    "models/widths",
)
CODE = ("features/*", *MAXENT, "models/maxent*", "datasets/gibbs", "datasets/hide")
OWN = ("algorithm_1.py", "imputers.py", "jobs.py", "methods.py")
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
        Where records are kept; None keeps none.
    engine : engine of scarce.many
    """
    if file is None:
        return [jobs.do(job) for job in todo]
    file.parent.mkdir(parents=True, exist_ok=True)
    if file.exists() and not file.read_bytes().endswith(b"\n"):
        with file.open("ab") as out:  # after a stop in the middle of a line
            out.write(b"\n")
    held = read(file)
    missing = [job for job in todo if job not in held]
    bar = Bar(missing, len(todo) - len(missing))  # type: ignore[arg-type]
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
        held[Job(record["part"], record["case"], record["repeat"])] = record
    return held
