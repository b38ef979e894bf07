"""Which code decides a job of paper 000, its records (experiments/resume.py), and timed fits."""

from __future__ import annotations

import json
import os
import time
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from functools import partial
from multiprocessing import get_context
from pathlib import Path

import scarce
from experiments import resume
from experiments.paper_000 import jobs, methods
from experiments.paper_000.jobs import Job
from experiments.paper_000.species import case_of, listed

CODE = ("maxent/*",)
OWN = ("species.py", "methods.py", "jobs.py")
TOLERANCE = 1e-6  # duality gap of the timed fits

WORK = resume.Work(CODE, tuple(Path(__file__).parent / name for name in OWN), jobs.do, Job)
work_file, do_all, read = WORK.work_file, WORK.do_all, WORK.read


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
