"""Jobs of the command line: their tables, drawn from a seed, and who does them.

A side is written as one types it in a shell, in a folder that holds big.csv and m.scarce. Programs
of rivals are in table_rivals.py. Sides that write, write out.csv.
"""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa
from pyarrow import csv

from benchmarks.table_rivals import FALSE_ALARM, MISS, THRESHOLD

ROOT = Path(__file__).resolve().parent.parent
SEED = 20_260
DRAWN_ROWS = 250_000  # at a time
COLUMNS = ("amount", "hour", "distance", "age", "tempo", "device")
START_ROWS = 1000
PREDICT = "scarce predict m.scarce big.csv --id id --out out.csv"
COSTS = f"--false-alarm {FALSE_ALARM:g} --miss {MISS:g}"


# --- files ----------------------------------------------------------------------------------------


def payments(rng: np.random.Generator, first: int, rows: int) -> pa.Table:
    """Draw payments as `scarce demo` has them: an id and six numbers, written as people do."""
    return pa.table(
        {
            "id": np.arange(first, first + rows),
            "amount": rng.lognormal(4.0, 0.8, rows).round(2),
            "hour": (24 * rng.random(rows)).round(1),
            "distance": rng.lognormal(2.0, 1.0, rows).round(1),
            "age": rng.gamma(2.0, 9.0, rows).round(1),
            "tempo": rng.poisson(1.2, rows),
            "device": rng.binomial(1, 0.08, rows),
        }
    )


def labelled_payments(rng: np.random.Generator, first: int, rows: int) -> pa.Table:
    """Draw payments and whether they are fraud: some 5 %."""
    table = payments(rng, first, rows)
    late, device = table["tempo"].to_numpy(), table["device"].to_numpy()
    score = 0.006 * table["amount"].to_numpy() + 0.8 * late + 2.5 * device - 5.5
    fraud = (rng.random(rows) < 1 / (1 + np.exp(-score))).astype(np.int64)
    return table.append_column("fraud", pa.array(fraud))


def scores(rng: np.random.Generator, first: int, rows: int) -> pa.Table:
    """Draw scores of which the alerts are labelled: 2 % events, two spreads higher."""
    event = rng.random(rows) < 0.02
    score = (rng.normal(size=rows) + 2.0 * event).round(4)
    return pa.table(
        {
            "id": np.arange(first, first + rows),
            "score": score,
            "label": pa.array(event.astype(np.int64), mask=score < THRESHOLD),
            "week": rng.integers(1, 5, rows),
        }
    )


def write_rows(path: Path, draw: Callable[..., pa.Table], rows: int) -> None:
    """Write a table of any length, DRAWN_ROWS at a time; a seed gives the same bytes."""
    rng = np.random.default_rng(SEED)
    with path.open("wb") as file:
        for first in range(0, rows, DRAWN_ROWS):
            table = draw(rng, first, min(DRAWN_ROWS, rows - first))
            csv.write_csv(table, file, csv.WriteOptions(include_header=first == 0))


def make_payments(folder: Path, rows: int) -> None:
    """Make big.csv, and the model as m.scarce and for rivals as m.json."""
    from scarce import load

    write_rows(folder / "train.csv", labelled_payments, 20_000)
    asked = "fit train.csv --label fraud --id id --model rare --loss logistic --ridge 0.01"
    program = [scarce_program(), *asked.split(), "--out", "m.scarce"]
    subprocess.run(program, cwd=folder, capture_output=True, check=True)
    model = load(folder / "m.scarce")
    held = {"columns": COLUMNS, "coef": list(model.coef_[0]), "intercept": model.intercept_[0]}
    (folder / "m.json").write_text(json.dumps(held))
    write_rows(folder / "big.csv", payments, rows)


def make_probabilities(folder: Path, rows: int) -> None:
    """Make big.csv with an id and a probability in it, as predict writes them."""
    make_payments(folder, rows)
    asked = ["arrow-predicts", "big.csv", "p.csv", "m.json"]
    subprocess.run(rival_program(asked), cwd=folder, env=setting(), check=True)
    (folder / "p.csv").replace(folder / "big.csv")


def make_scores(folder: Path, rows: int) -> None:
    """Make big.csv with scores, labels of the alerts, and weeks."""
    write_rows(folder / "big.csv", scores, rows)


# --- sides ----------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Side:
    """One way of doing a job: commands as one types them in a shell.

    Parameters
    ----------
    name : str
    steps : tuple of str
        Run one after the other; " | " joins commands. "rival JOB" is a program of table_rivals.
    needs : str
        Package without which the side is left out.
    yardstick : str
        What it does instead of the whole job; empty if it does the job.
    """

    name: str
    steps: tuple[str, ...]
    needs: str = "scarce"
    yardstick: str = ""

    def programs(self) -> list[list[list[str]]]:
        """Return the steps as lists of arguments."""
        return [[program_of(text.split()) for text in step.split(" | ")] for step in self.steps]


@dataclass(frozen=True)
class Job:
    """Something to do with a table, and who does it; ratios are against the first side."""

    name: str
    title: str
    columns: int
    sizes: tuple[int, ...]
    make: Callable[[Path, int], None]
    sides: tuple[Side, ...]
    repeats: int = 5


def program_of(words: list[str]) -> list[str]:
    """Return the arguments that start what stands there in words."""
    if words[0] == "scarce":
        return [scarce_program(), *words[1:]]
    if words[0] == "rival":
        return rival_program(words[1:])
    return [sys.executable, *words[1:]]


def scarce_program() -> str:
    """Return the command of this environment, as installing the package has made it."""
    found = shutil.which("scarce", path=str(Path(sys.executable).parent))
    if found is None:
        raise SystemExit("There is no command scarce beside this Python: pip install -e .")
    return found


def rival_program(words: list[str]) -> list[str]:
    """Return the arguments that start a program of table_rivals."""
    return [sys.executable, "-m", "benchmarks.table_rivals", *words]


def setting() -> dict[str, str]:
    """Return the environment: that of the user, with the rivals to be found."""
    return {**os.environ, "PYTHONPATH": str(ROOT)}


READ_ALL = Side(
    "pyarrow, reads all columns", ("rival arrow-reads big.csv",), "pyarrow", "reads only"
)
JOBS = (
    Job(
        "start",
        "From the command to its first rows: help, and probabilities of 1,000 rows",
        7,
        (START_ROWS,),
        make_payments,
        (
            Side("python -c pass", ("python -c pass",), "pyarrow", "starts Python"),
            Side("scarce --help", ("scarce --help",), yardstick="help"),
            Side("scarce predict --help", ("scarce predict --help",), yardstick="help"),
            Side("scarce predict", (PREDICT,)),
            Side("pandas", ("rival pandas-predicts big.csv out.csv m.json",), "pandas"),
        ),
        repeats=10,
    ),
    Job(
        "predict",
        "Probabilities of a logistic regression for every row, with its id, from CSV to CSV",
        7,
        (1_000_000, 10_000_000),
        make_payments,
        (
            READ_ALL,
            Side("scarce predict", (PREDICT,)),
            Side(
                "pyarrow and numpy, by hand",
                ("rival arrow-predicts big.csv out.csv m.json",),
                "pyarrow",
            ),
            Side("pandas, in chunks", ("rival pandas-predicts big.csv out.csv m.json",), "pandas"),
            Side("polars, lazy", ("rival polars-predicts big.csv out.csv m.json",), "polars"),
        ),
    ),
    Job(
        "estimate",
        "What a detector finds and misses, from scores of which the alerts are labelled",
        4,
        (1_000_000, 4_000_000, 10_000_000),
        make_scores,
        (
            Side(
                "pyarrow, reads score and label",
                ("rival arrow-reads-scores big.csv",),
                "pyarrow",
                "reads only",
            ),
            READ_ALL,
            Side(
                "scarce estimate",
                (
                    "scarce estimate big.csv --score score --label label "
                    f"--threshold {THRESHOLD:g} --json",
                ),
            ),
            Side(
                "pandas, in chunks",
                ("rival pandas-counts big.csv",),
                "pandas",
                "counts alerts and events among them",
            ),
        ),
    ),
    Job(
        "decide",
        "The cheaper of two actions for every row, and its expected cost, from CSV to CSV",
        2,
        (1_000_000,),
        make_probabilities,
        (
            READ_ALL,
            Side("scarce decide", (f"scarce decide big.csv {COSTS} --out out.csv",)),
            Side("pandas, in chunks", ("rival pandas-decides big.csv out.csv",), "pandas"),
        ),
    ),
    Job(
        "pipe",
        "From features to actions: predict, then decide",
        7,
        (1_000_000,),
        make_payments,
        (
            READ_ALL,
            Side(
                "scarce, pipe of CSV",
                (f"scarce predict m.scarce big.csv --id id | scarce decide {COSTS} --out out.csv",),
            ),
            Side(
                "scarce, pipe of Arrow",
                (
                    "scarce predict m.scarce big.csv --id id --to arrow | "
                    f"scarce decide {COSTS} --out out.csv",
                ),
            ),
            Side(
                "scarce, file between",
                (
                    "scarce predict m.scarce big.csv --id id --out between.csv",
                    f"scarce decide between.csv {COSTS} --out out.csv",
                ),
            ),
            Side(
                "pandas, in chunks, one program",
                ("rival pandas-predicts-and-decides big.csv out.csv m.json",),
                "pandas",
            ),
        ),
    ),
)
