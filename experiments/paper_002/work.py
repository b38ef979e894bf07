"""Which code decides a job of paper 002, and its records on file (see experiments/resume.py)."""

from __future__ import annotations

from pathlib import Path

from experiments import resume
from experiments.paper_002 import jobs
from experiments.paper_002.jobs import Job

CODE = (
    "missed/*",
    "missed/mixture/*",
    "datasets/score_truth",
    "datasets/simulate",
    "datasets/papers",
)
OWN = ("information.py", "jobs.py", "methods.py", "printed.py", "sets.py")

WORK = resume.Work(CODE, tuple(Path(__file__).parent / name for name in OWN), jobs.do, Job)
work_file, do_all, read = WORK.work_file, WORK.do_all, WORK.read
