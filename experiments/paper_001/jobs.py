"""One fit of the experiment: a set or design, a repeat, a method, and what was measured.

    Brier        mean (prob - y)^2                                       (001 section 4.2)
    calibration  mean (prob - share of events in the row's bin)^2, ten bins (a, a + 0.1], 0 in the
                 first                                                   (001 section 4.2)
    RMSE         root of mean (prob - true prob)^2 over 5000 new rows    (001 section 4.1)

Every method sees the same rows of a repeat. All randomness comes from SEED and the job's own place,
so any job can be done again alone. Chooses nothing and averages nothing.
"""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable, Iterator
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper_001.methods import CONSTANT, predict
from experiments.paper_001.printed import METHODS, SETS
from scarce import calibration_loss
from scarce.datasets import load_uci, make_sine, make_step
from scarce.scoring import row_losses

Array = NDArray[np.float64]

SEED = 1001
SPLITS = 10
GENERATIONS = 10
TRAINING = 0.7
SIZES = (1000, 2000, 4000, 8000, 16000)
TEST_ROWS = 5000
FLOOR = 0.001  # the least that RareClassifier mixes in by itself
EVERY = (*METHODS, CONSTANT)
DESIGNS: dict[str, Callable[[int, Any], Any]] = {
    "sine, r = 64": lambda n, rng: make_sine(n, divisor=64, random_state=rng),
    "sine, r = 32": lambda n, rng: make_sine(n, divisor=32, random_state=rng),
    "step": lambda n, rng: make_step(n, random_state=rng),
}


class Job(NamedTuple):
    """What to fit. `rows` is 0 for a real set, whose share of rows is fixed."""

    case: str
    rows: int
    repeat: int
    method: str

    @property
    def cost(self) -> float:
        """Rough CPU time relative to other jobs, for the order and the progress bar."""
        n = self.rows or SETS[self.case][0] * TRAINING
        k = 100 if self.rows else SETS[self.case][1]
        effort = {"gev-log": 60.0, "gev-canonical": 8.0, CONSTANT: 0.1}.get(self.method, 1.0)
        return effort * (500.0 + n) * (20.0 + k)


def every_job() -> list[Job]:
    """Return all jobs of a full run: the tables first, and long jobs before short ones."""
    real = [Job(s, 0, r, m) for s in SETS for r in range(SPLITS) for m in EVERY]
    made = [
        Job(d, n, r, m) for d in DESIGNS for n in SIZES for r in range(GENERATIONS) for m in EVERY
    ]
    return sorted([*real, *made], key=lambda job: (job.rows > 0, -job.cost))


def quick_jobs() -> list[Job]:
    """Return a few jobs that end within seconds: two splits of the three smallest sets."""
    small = [name for name, (n, _, _) in SETS.items() if n < 500]
    return [Job(s, 0, r, m) for s in small for r in range(2) for m in EVERY]


def do(job: Job) -> dict[str, Any]:
    """Do one job and return its record: the job's fields and what was measured."""
    X, y, new, outcome, seed = _made(job) if job.rows else _split(job)
    begin = time.process_time()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        prob, shape, ridge = predict(job.method, X, y, new, seed)
    seconds = time.process_time() - begin
    found = dict(synthetic_scores(outcome, prob) if job.rows else real_scores(outcome, prob, y))
    found |= {"seconds": seconds, "shape": shape, "ridge": ridge, "warnings": len(caught)}
    return job._asdict() | {name: _plain(value) for name, value in found.items()}


def real_scores(y: Array, prob: Array, training: Array) -> Iterator[tuple[str, float]]:
    """Yield the scores of probabilities against outcomes; log losses may be infinite."""
    yield "brier", float(row_losses(y, prob, "brier").mean())
    yield "calibration", calibration_loss(y, prob, debias=False).value
    yield "log_loss", float(row_losses(y, prob, "log").mean())
    floored = (1 - FLOOR) * prob + FLOOR * training.mean()
    yield "log_loss_floored", float(row_losses(y, floored, "log").mean())
    yield "impossible", float(np.count_nonzero(np.where(y == 1, prob, 1 - prob) == 0))


def synthetic_scores(truth: Array, prob: Array) -> Iterator[tuple[str, float]]:
    """Yield the distance from the true probabilities."""
    yield "rmse", float(np.sqrt(np.mean((prob - truth) ** 2)))


def _split(job: Job) -> tuple[Array, Array, Array, Array, int]:
    X, y = _real(job.case)
    place = list(SETS).index(job.case)
    rng = np.random.default_rng((SEED, place, job.repeat))
    order = rng.permutation(len(y))
    training, test = np.split(order, [round(TRAINING * len(y))])
    return X[training], y[training], X[test], y[test], int(rng.integers(2**31))


def _made(job: Job) -> tuple[Array, Array, Array, Array, int]:
    place = list(DESIGNS).index(job.case)
    rng = np.random.default_rng((SEED, 100 + place, job.rows, job.repeat))
    sample = DESIGNS[job.case](job.rows, rng)
    test = DESIGNS[job.case](TEST_ROWS, np.random.default_rng((SEED, 100 + place)))
    return sample.X, sample.y, test.X, test.prob, int(rng.integers(2**31))


@lru_cache(maxsize=len(SETS))
def _real(name: str) -> tuple[Array, Array]:
    held = load_uci(name)
    return np.asarray(held.X, dtype=np.float64), np.asarray(held.y, dtype=np.float64)


def _plain(value: float) -> float | None:
    """Six digits, and None for what JSON has no number for."""
    return float(f"{value:.6g}") if np.isfinite(value) else None
