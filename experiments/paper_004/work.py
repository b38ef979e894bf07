"""Which code decides a job of paper 004, and its records on file (see experiments/resume.py)."""

from __future__ import annotations

from pathlib import Path

from experiments import resume
from experiments.paper_004 import jobs
from experiments.paper_004.jobs import Job

CODE = ("maxent/*", "datasets/gibbs", "datasets/hide")
OWN = ("algorithm_1.py", "imputers.py", "jobs.py", "methods.py")

WORK = resume.Work(CODE, tuple(Path(__file__).parent / name for name in OWN), jobs.do, Job)
work_file, do_all, read = WORK.work_file, WORK.do_all, WORK.read
