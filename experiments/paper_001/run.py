"""What do the seven methods of 001 section 4 give on its twelve real sets and its designs?

    Brier score and calibration loss over ten 70/30 splits (Tables 3, 4); RMSE to the true
    probability against training rows (Figure 2); the losses themselves (Figure 1)

methods.py fits, jobs.py measures, work.py does jobs in two processes and keeps their results, and
tables.py, figures.py and page.py show them. Needs the twelve sets: set SCARCE_DATA, see
docs/guide/datasets.md. Tunes nothing on test rows.
"""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np

from experiments.frame import Comparison, Progress, Results, over_repeats, write_results
from experiments.paper_001 import figures, jobs, tables, work
from experiments.paper_001.jobs import DESIGNS, TEST_ROWS
from experiments.paper_001.page import page_of

TITLE = "Paper 001, section 4: GEV-canonical regression against six other methods"
SEED = jobs.SEED
LONG = True  # run and write take the folder in which unfinished work is kept
LOST = "The appendix with the designs is lost; ours are a reading of the text."
PREVALENCES = {
    "sine, r = 64": (
        0.0158,
        "Exactly 1/64 = .0156 here. The paper does not say whether its value is exact or the share "
        f"in a draw, whose standard error at {TEST_ROWS} rows is "
        f"{np.sqrt((1 - 1 / 64) / 64 / TEST_ROWS):.4f}.",
    ),
    "sine, r = 32": (0.0312, "Exactly 1/32 = .03125 here; the same within rounding."),
    "step": (0.095, "Exactly .095 here, by choice of the steps; other steps give it too."),
}


def run(quick: bool, progress: Progress, folder: Path) -> list[Comparison]:
    """Do what is not done yet and return every number beside the paper's."""
    rows = prevalences(20 if quick else 200)
    progress("prevalence of the designs done")
    todo = jobs.quick_jobs() if quick else jobs.every_job()
    progress(f"{len(todo):,} fits")
    file = None if quick else work.work_file(folder)
    cells = tables.cells_of(work.do_all(todo, file))
    return [
        *rows,
        *tables.real_comparisons(cells),
        *tables.synthetic_comparisons(cells),
        *tables.seconds_comparisons(cells),
    ]


def write(results: Results, target: Path, folder: Path) -> None:
    """Write results.json, results.md, the cells behind them and the figures."""
    cells = tables.cells_of(work.read(work.work_file(folder)).values())
    write_results(results, target, page_of(results, cells))
    text = json.dumps(cells, separators=(",", ":"), allow_nan=False)
    (target / "cells.json").write_text(text.replace('},"', '},\n"') + "\n", encoding="utf-8")
    figures.draw_losses(target / "figure1.png")
    figures.draw_errors(cells, target / "figure2.png")


def prevalences(repeats: int) -> list[Comparison]:
    """Count positives in independent draws of each design."""
    rng = np.random.default_rng(SEED)
    rows = []
    for design, (paper, why) in PREVALENCES.items():
        shares = [float(DESIGNS[design](TEST_ROWS, rng).y.mean()) for _ in range(repeats)]
        rows.append(over_repeats(f"prevalence, {design}", paper, shares, f"{LOST} {why}"))
    return rows
