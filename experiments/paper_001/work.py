"""Which code decides a job of paper 001, and its records on file (see experiments/resume.py)."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from experiments import resume
from experiments.paper_001 import jobs
from experiments.paper_001.jobs import Job

# What decides a fit.
CODE = ("losses/*", "prior/*", "solvers/*", "models/rare*", "models/se*")
OWN = ("methods.py", "jobs.py")


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
