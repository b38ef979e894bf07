"""What do maxent on the seen cells and three imputations give in 004's experiments?

    log-likelihood of test draws under p, a density over all places (Tables 1 and 2, Figure 2),
    and CPU time of a fit (Figure 1)

imputers.py fills cells, methods.py fits, jobs.py measures, work.py does jobs in two processes and
keeps their results, and tables.py, figures.py and page.py show them. Table 2 needs the six sets:
set SCARCE_DATA, see docs/guide/datasets.md. Tunes nothing on test draws.
"""

from __future__ import annotations

import json
from pathlib import Path

from experiments.frame import Comparison, Progress, Results, write_results
from experiments.paper_004 import figures, jobs, tables, work
from experiments.paper_004.page import page_of

TITLE = "Paper 004, section 4: maxent with missing features against three imputations"
SEED = jobs.SEED
LONG = True  # run and write take the folder in which unfinished work is kept


def run(quick: bool, progress: Progress, folder: Path) -> list[Comparison]:
    """Do what is not done yet and return every number beside the paper's."""
    todo = jobs.quick_jobs() if quick else jobs.every_job()
    progress(f"{len(todo):,} repeats of tables and figures")
    file = None if quick else work.work_file(folder)
    return tables.comparisons(tables.cells_of(work.do_all(todo, file)))


def write(results: Results, target: Path, folder: Path) -> None:
    """Write results.json, results.md, the cells behind them and the figures."""
    cells = tables.cells_of(work.read(work.work_file(folder)).values())
    write_results(results, target, page_of(results, cells))
    text = json.dumps(cells, separators=(",", ":"), allow_nan=False)
    (target / "cells.json").write_text(text.replace('],"', '],\n"') + "\n", encoding="utf-8")
    figures.draw_times(cells, target / "figure1.png")
    figures.draw_likelihoods(cells, target / "figure2.png")
