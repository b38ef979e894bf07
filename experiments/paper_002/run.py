"""What do the paper's procedure and ours say of recall and dP/dR, where the truth is known?

    R = S1(t),  dP/dR = (P / R)(1 - P / g(t)),  g the posterior at the threshold    (002 eq 2, 6)

information.py, methods.py and sets.py fit, jobs.py measures, work.py does jobs in two processes and
keeps their results, and tables.py, claims.py, figures.py, figure_5.py and page.py show them. Figure
5 needs the anomaly sets: set SCARCE_DATA, see docs/guide/datasets.md; without it that part is left
out of the page. Tunes nothing on the truth.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from experiments.frame import Comparison, Progress, Results, write_results
from experiments.paper_002 import figure_5, figures, jobs, sets, tables, work
from experiments.paper_002.comparisons import comparisons
from experiments.paper_002.page import page_of
from experiments.paper_002.printed import SERIES

TITLE = "Paper 002, sections 4 to 6: performance from partly labelled scores"
SEED = jobs.SEED
LONG = True  # run and write take the folder in which unfinished work is kept


def run(quick: bool, progress: Progress, folder: Path) -> list[Comparison]:
    """Do what is not done yet and return every number beside the paper's."""
    todo = jobs.quick_jobs() if quick else jobs.every_job()
    if not os.environ.get("SCARCE_DATA") and not quick:
        progress("SCARCE_DATA is not set: Figure 5 is left out. Set it to the folder of the sets.")
        todo = [job for job in todo if job.part != "sets"]
    progress(f"{len(todo):,} trials and sets")
    file = None if quick else work.work_file(folder)
    return comparisons(tables.cells_of(work.do_all(todo, file)))


def write(results: Results, target: Path, folder: Path) -> None:
    """Write results.json, results.md, the cells behind them and the figures."""
    done = work.read(work.work_file(folder))
    cells = tables.cells_of(done[job] for job in jobs.every_job() if job in done)
    write_results(results, target, page_of(results, cells))
    text = json.dumps(cells, separators=(",", ":"), allow_nan=False)
    (target / "cells.json").write_text(text.replace('],"', '],\n"') + "\n", encoding="utf-8")
    figures.draw_information(cells, target / "figure1.png")
    figures.draw_convergence(cells, target / "figure2.png")
    figures.draw_picks(cells, target / "figure3.png")
    figures.draw_performance(cells, figures.BY_PAPER, target / "figure4_paper.png")
    figures.draw_performance(cells, figures.BY_US, target / "figure4_ours.png")
    if "sets" in cells:
        figure_5.draw_sets(cells, tuple(SERIES), target / "figure5_standins.png")
        others = [case for case, (name, _) in sets.CASES.items() if name not in SERIES]
        figure_5.draw_sets(cells, others, target / "figure5_sets.png", pairs=2)
