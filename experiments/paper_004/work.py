"""Which code decides a job of paper 004, and its records on file (see experiments/resume.py)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import resume
from experiments.paper_004 import jobs
from experiments.paper_004.jobs import Job

SOLVER = ("solvers/boxed", "solvers/passes", "solvers/row_sample", "solvers/tilted")
MAXENT = ("features/*", *SOLVER, "models/maxent*", "models/widths")
CODE = (*MAXENT, "datasets/gibbs", "datasets/hide")
OWN = ("algorithm_1.py", "imputers.py", "jobs.py", "methods.py")


def work_file(folder: Path) -> Path:
    """Return where the records of this code are kept."""
    here = Path(__file__).parent
    return resume.work_file(folder, CODE, tuple(here / name for name in OWN))


def do_all(
    todo: Sequence[Job], file: Path | None, *, engine: Any = resume.WORKERS
) -> list[dict[str, Any]]:
    """Return the record of every job, doing those that are not on file yet."""
    return resume.do_all(todo, file, jobs.do, Job, engine=engine)


def read(file: Path) -> dict[Job, dict[str, Any]]:
    """Return the records on file."""
    return resume.read(file, Job)
