"""Does AutoClassifier give the right number of events at every size, and nothing on noise?

    signal: logit p = -4.6 + 1.2 x1 + .8 x2 [x3 > 0] + .5 x4^2, eight normal columns, 4 % events
    noise:  five normal columns, 500 or 4,000 rows, 5 % events whatever the columns

Signal: mean probability given to 40,000 new rows over their true mean. What the draw of the labels
adds, observed share less true share of events, is taken off: it is nobody's bias and has mean 0.
And the gain in log loss over the constant that left-out rows said, over the true one: from 3,000
rows and 200 events on, settings are not chosen again without the rows that are judged.
Noise: how often the table says that auto beats the constant, how often something else than the
constant predicts, and how often that is better on new rows. A full run keeps finished fits in its
work folder; --quick does the smallest tables only.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, logit

from experiments.frame import Comparison, Progress, Results, over_repeats, write_results
from experiments.resume import Record, Work
from scarce import AutoClassifier

Array = NDArray[np.float64]

TITLE = "AutoClassifier where the truth is known: mean at every size, and tables of pure noise"
SEED = 8015
LONG = True
REPEATS = {1000: 24, 3000: 12, 9000: 4, 12000: 4, 30000: 4, 100000: 3}
MEMBERS = ("logit", "spline", "boosting", "forest", "extra-trees", "kernel")
NOISE_ROWS, NOISE_SHARE = 500, 0.05
NOISE_TABLES = {NOISE_ROWS: 100, 4000: 50}
NEW_ROWS = 40_000
WHY = "1 is right."


class Job(NamedTuple):
    """One fit: members with dots between them, rows, and which repeat."""

    world: str
    members: str
    rows: int
    repeat: int

    @property
    def cost(self) -> float:
        """Rough CPU seconds."""
        return min(self.rows, 20_000) / 1000 * len(self.members.split("."))


def draw(world: str, rows: int, rng: np.random.Generator) -> tuple[Array, Array]:
    """Draw features and true probabilities."""
    if world == "noise":
        return rng.normal(size=(rows, 5)), np.full(rows, NOISE_SHARE)
    X = rng.normal(size=(rows, 8))
    score = -4.6 + 1.2 * X[:, 0] + 0.8 * X[:, 1] * (X[:, 2] > 0) + 0.5 * X[:, 3] ** 2
    return X, np.asarray(expit(score))


def do(job: Job) -> Record:
    """Fit once; return what the model says of itself and what new rows say of it."""
    rng = np.random.default_rng([SEED, job.world == "noise", job.rows, job.repeat])
    X, truth = draw(job.world, job.rows, rng)
    y = (rng.random(job.rows) < truth).astype(np.int64)
    new, prob = draw(job.world, NEW_ROWS, rng)
    fallback: Any = "loss" if job.world == "noise" else None
    model = AutoClassifier(job.members.split("."), fallback=fallback).fit(X, y)
    score = model.decision_function(new)
    constant = float(logit(y.mean()))

    def loss(score: Any) -> float:
        return float(np.mean(np.logaddexp(0.0, score) - prob * score))

    said = model.comparison_
    return {
        **job._asdict(),
        "ratio": 1.0 + float((expit(score).mean() - y.mean()) / prob.mean()),
        "claimed": said["auto"]["total"],
        "chosen": model.chosen_,
        "said_gain": said["constant"]["log_loss"] - said["auto"]["log_loss"],
        "true_gain": loss(constant) - loss(score),
    }


def jobs(quick: bool) -> list[Job]:
    """Return all fits, or those that take seconds."""
    sizes = {1000: 4} if quick else REPEATS
    signal = [
        Job("signal", members, rows, repeat)
        for rows, repeats in sizes.items()
        for members in (*MEMBERS, ".".join(MEMBERS))
        for repeat in range(repeats)
    ]
    tables = {NOISE_ROWS: 10} if quick else NOISE_TABLES
    noise = [
        Job("noise", ".".join(MEMBERS), rows, repeat)
        for rows, repeats in tables.items()
        for repeat in range(repeats)
    ]
    return noise + signal


WORK = Work(
    ("auto/*",),
    (Path(__file__),),
    do,
    Job,
)


def run(quick: bool, progress: Progress, work: Path) -> list[Comparison]:
    """Fit, and return the table."""
    todo = jobs(quick)
    progress(f"{len(todo)} fits")
    return comparisons(WORK.do_all(todo, None if quick else WORK.work_file(work)))


def comparisons(records: list[Record]) -> list[Comparison]:
    """Return the rows of the table."""
    rows = []
    cells: dict[tuple[int, str], list[Record]] = {}
    for record in records:
        if record["world"] == "signal":
            cells.setdefault((record["rows"], record["members"]), []).append(record)
    for (n, members), held in cells.items():
        name = "stack of all" if "." in members else members
        given = [record["ratio"] for record in held]
        claimed = np.mean([record["claimed"] for record in held])
        why = f"{WHY} Left-out rows said {claimed:.3f}."
        rows.append(over_repeats(f"mean given / true mean, {n:,} rows, {name}", None, given, why))
        if "." in members:
            gains = [record["said_gain"] / record["true_gain"] for record in held]
            name = f"gain that left-out rows said / true gain, {n:,} rows, stack of all"
            rows.append(over_repeats(name, None, gains, WHY))
    sizes = sorted({record["rows"] for record in records if record["world"] == "noise"})
    for size in sizes:
        rows += noise_rows([r for r in records if (r["world"], r["rows"]) == ("noise", size)])
    return rows


def noise_rows(noise: list[Record]) -> list[Comparison]:
    """Return what happened on tables of noise of one size."""
    of = f"noise, {noise[0]['rows']:,} rows"
    other = [record for record in noise if record["chosen"] != "constant"]
    shares = {
        f"{of}: auto's printed loss is below the constant's": (
            [record["said_gain"] > 0 for record in noise],
            "Left-out rows are few: an honest figure is sometimes lucky.",
        ),
        f"{of}: something else than the constant predicts": (
            [record["chosen"] != "constant" for record in noise],
            "0 is right; a clear gain is asked for.",
        ),
        f"{of}: that is better than the constant on new rows": (
            [record["true_gain"] > 0 for record in other] or [False],
            "Among the tables of the row above.",
        ),
    }
    rows = [over_repeats(name, None, values, why) for name, (values, why) in shares.items()]
    lost = [-record["true_gain"] for record in noise]
    name = f"{of}: log loss above the constant's"
    return [*rows, over_repeats(name, None, lost, "0 is right.")]


def write(results: Results, folder: Path, work: Path) -> None:
    """Write the table."""
    write_results(results, folder)
