"""Are AutoClassifier's probabilities those of the best, for a fraction of the computer's time?

    ratio = geometric mean over tables of (loss + .01 c) / (loss of the other + .01 c)
    loss: mean over splits; c: that of the constant; standard error over tables, of the log

Ten tables, three splits, six methods (data.py, methods.py), named before anything was fitted. Needs
the dependency groups rival-auto and rival-autogluon. A full run keeps finished fits in its work
folder; --quick does the smallest table without AutoGluon. CPU seconds are those of fit and
prediction in a process of its own.
"""

from __future__ import annotations

import math
import time
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

from experiments.auto_rivals.data import SEED, SPLITS, TABLES
from experiments.auto_rivals.methods import GROUPS, METHODS
from experiments.frame import Comparison, Progress, Results, write_results
from experiments.loss_ratios import by_table, losses, mean_row, ratio_row
from experiments.resume import Record, Work

__all__ = ["SEED", "TITLE", "run", "write"]

TITLE = "AutoClassifier beside AutoGluon, CatBoost, boosting and a tuned logit on ten tables"
LONG = True
SCORES = {"log_loss": "log loss", "brier": "Brier"}
TARGETS = {"autogluon": "Target: at most 1.03.", "logit": "Target: no table above 1.05."}
COSTS = {"constant": 0.1, "logit": 2.0, "hgb": 2.0, "catboost": 3.0, "autogluon": 45.0, "auto": 6.0}


class Job(NamedTuple):
    """One method on one split of one table."""

    table: str
    split: int
    method: str

    @property
    def cost(self) -> float:
        """Rough CPU seconds."""
        return COSTS[self.method]


def do(job: Job) -> Record:
    """Fit once, and score the test rows."""
    from experiments.auto_rivals.data import split, table

    columns, y = table(job.table)
    train, test = split(y, job.split)
    seen, new = (columns.iloc[rows].reset_index(drop=True) for rows in (train, test))
    begin = time.process_time()
    prob = METHODS[job.method](seen, y[train], new)
    seconds = time.process_time() - begin
    return {
        **job._asdict(),
        "rows": len(train),
        "events": int(y[train].sum()),
        **losses(prob, y[test]),
        "seconds": seconds,
    }


def jobs(quick: bool) -> list[Job]:
    """Return all fits, or those of the smallest table that take seconds."""
    tables = ("saheart",) if quick else TABLES
    methods = [name for name in METHODS if name != "autogluon" or not quick]
    splits = range(1 if quick else SPLITS)
    return [Job(name, k, method) for k in splits for name in tables for method in methods]


OWN = tuple(Path(__file__).with_name(f"{name}.py") for name in ("data", "methods"))
OURS = ("logit", "auto")
ROOMS = ("auto/*", "linear/*", "missing/*", "gaussian/*")
WORKS = (Work(ROOMS, OWN, do, Job), Work((), OWN, do, Job))  # of our code, and of the others'


def records_of(todo: Sequence[Job], folder: Path | None) -> list[Record]:
    """Return the record of every job, doing those that are not on file yet."""
    found = []
    for work, ours in zip(WORKS, (True, False), strict=True):
        part = [job for job in todo if (job.method in OURS) == ours]
        found += work.do_all(part, None if folder is None else work.work_file(folder))
    return found


def run(quick: bool, progress: Progress, work: Path) -> list[Comparison]:
    """Fit, and return the table."""
    missing = [name for name in GROUPS if find_spec(name) is None]
    if missing:
        groups = " ".join(f"--group {GROUPS[name]}" for name in missing)
        raise SystemExit(f"auto_rivals needs {', '.join(missing)}. Type: pip install {groups}.")
    todo = jobs(quick)
    progress(f"{len(todo)} fits")
    return comparisons(records_of(todo, None if quick else work))


def comparisons(records: list[Record]) -> list[Comparison]:
    """Return the rows of the table."""
    rows = []
    methods = [name for name in METHODS if any(r["method"] == name for r in records)]
    for score, shown in SCORES.items():
        rows += [
            ratio_row(
                records, "auto", other, score, f"auto / {other}, {shown}", TARGETS.get(other, "")
            )
            for other in methods
            if other != "auto"
        ]
    rows += [
        mean_row(records, name, "seconds", f"{name}: CPU seconds of a fit") for name in methods
    ]
    return rows


def tables_page(records: Sequence[Record]) -> str:
    """Return the log loss of every table and method as Markdown."""
    methods = list(METHODS)
    lines = ["## Log loss of every table, mean over splits", ""]
    lines += ["| table (events of training rows) | " + " | ".join(methods) + " |"]
    lines += ["| --- |" + " ---: |" * len(methods)]
    for name in TABLES:
        own: list[dict[str, Any]] = [r for r in records if r["table"] == name]
        losses = [by_table(own, method, "log_loss").get(name, math.nan) for method in methods]
        size = f"{own[0]['events']:,} of {own[0]['rows']:,}"
        lines.append(f"| {name} ({size}) | " + " | ".join(f"{x:.4f}" for x in losses) + " |")
    return "\n".join([*lines, ""])


def write(results: Results, folder: Path, work: Path) -> None:
    """Write the table, and the losses of every table below it."""
    write_results(results, folder)
    records = records_of(jobs(quick=False), work)
    page = folder / "results.md"
    page.write_text(page.read_text(encoding="utf-8") + "\n" + tables_page(records), "utf-8")
