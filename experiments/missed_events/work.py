"""Which code decides a job, and its records on file (see experiments/resume.py)."""

from __future__ import annotations

from pathlib import Path

from experiments import resume
from experiments.missed_events import jobs
from experiments.missed_events.jobs import Job

CODE = ("missed/*", "missed/mixture/*")
OWN = ("scenarios.py", "keel.py", "designs.py", "jobs.py")

WORK = resume.Work(CODE, tuple(Path(__file__).parent / name for name in OWN), jobs.do, Job)
work_file, do_all, read = WORK.work_file, WORK.do_all, WORK.read
