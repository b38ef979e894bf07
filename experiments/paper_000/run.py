"""How well does one default prevalence serve 226 species, by entropy and by default weighting?

    test AUC and log loss on independent surveys against the default prevalence   (000 section 3)

species.py reads, methods.py fits, jobs.py scores, work.py does the parts in two processes and keeps
their records, and tables.py, comparisons.py, claims.py, figures.py and page.py show them. Needs the
NCEAS data: set SCARCE_DATA, see docs/guide/datasets.md. Tunes nothing on survey rows.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.frame import Comparison, Progress, Results, write_results
from experiments.paper_000 import figures, jobs, tables, work
from experiments.paper_000.comparisons import comparisons
from experiments.paper_000.page import page_of

TITLE = "Paper 000, section 3: one default prevalence for 226 species"
SEED = jobs.SEED
LONG = True  # run and write take the folder in which unfinished work is kept


def run(quick: bool, progress: Progress, folder: Path) -> list[Comparison]:
    """Do what is not done yet and return every number beside the paper's."""
    todo = jobs.quick_jobs() if quick else jobs.every_job()
    progress(f"{len(todo):,} parts, {len({job.species for job in todo})} species")
    file = None if quick else work.work_file(folder)
    timing = None
    if file is not None:
        timing = work.timed(file)
        progress(f"hinge fits alone: {timing['wall']:.1f} s, {timing['peak_mb']:.0f} MB")
    return comparisons(tables.runs_of(work.do_all(todo, file), timing))


def write(results: Results, target: Path, folder: Path) -> None:
    """Write results.json, results.md, the scores of each species and the figure."""
    file = work.work_file(folder)
    runs = tables.runs_of(work.read(file).values(), work.timed(file))
    write_all(results, target, runs)


def write_all(results: Results, target: Path, runs: tables.Runs) -> None:
    """Write every file from the scores of each species."""
    write_results(results, target, page_of(results, runs))
    text = json.dumps(runs, separators=(",", ":"), allow_nan=False)
    (target / "species.json").write_text(text.replace('}},"', '}},\n"') + "\n", encoding="utf-8")
    figures.draw(runs, target / "figure1.png")
