"""Which code decides a job of paper 001, and its records on file (see experiments/resume.py)."""

from __future__ import annotations

from pathlib import Path

from experiments import resume
from experiments.paper_001 import jobs
from experiments.paper_001.jobs import Job

# What decides a fit.
CODE = ("linear/*", "prior/*")
OWN = ("methods.py", "jobs.py")

WORK = resume.Work(CODE, tuple(Path(__file__).parent / name for name in OWN), jobs.do, Job)
work_file, do_all, read = WORK.work_file, WORK.do_all, WORK.read
