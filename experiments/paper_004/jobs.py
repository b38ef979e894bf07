"""One repeat of a part of the experiment, and what all methods give on it.

    log-likelihood = sum over test draws of ln p(place), p normalised over all places

    table 1   a synthetic data set, complete and with cells hidden in three ways   (004 section 4.2)
    table 2   a split of the positives of a real set into halves                   (004 section 4.4)
    figure 1  seconds of a fit: ours, and Algorithm 1                              (004 section 4.1)
    sets      rows, positives and gaps of a real set                               (004 Table 2)
    figure 2  a synthetic data set with 100 incomplete rows, k of them positive    (004 section 4.3)

All methods see the same rows of a repeat. All randomness comes from SEED and the job's own place,
so any job can be done again alone. Averages nothing.
"""

from __future__ import annotations

import time
from functools import lru_cache
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from experiments.paper_004 import algorithm_1
from experiments.paper_004.methods import Density, density, fill, maxent
from experiments.paper_004.printed import (
    FULL,
    MEAN_ALL,
    MEAN_POSITIVE,
    METHODS,
    MISSING,
    SETS,
    WAYS,
)
from scarce.datasets import (
    RealSet,
    hide_features,
    hide_gibbs,
    hide_gibbs_rows,
    load_uci_missing,
    make_gibbs,
)

Array = NDArray[np.float64]

SEED = 1004
REPEATS = {"sets": 1, "table 1": 500, "table 2": 500, "figure 1": 20, "figure 2": 100}

# How the text of section 4.2 can be read: are draws put back, and how wide is the law of coef?
READINGS: dict[str, dict[str, Any]] = {
    "put back": {"replace": True, "coef_sd": 1.0},
    "not put back": {"replace": False, "coef_sd": 1.0},
    "not put back, wide": {"replace": False, "coef_sd": 4.0},
}
SWEPT = ("not put back", "not put back, wide")  # figure 2 needs 100 different places
INCOMPLETE = tuple(range(0, 101, 10))  # positives among the 100 incomplete rows
MEANS = (MISSING, MEAN_ALL, MEAN_POSITIVE)  # the curves of figure 2

PANELS: dict[str, tuple[tuple[int, int], ...]] = {  # (columns, places)
    "columns": tuple((k, 1000) for k in (10, 20, 40, 80, 160)),
    "places": tuple((20, n) for n in (250, 1000, 4000, 16000)),
    "both": ((5, 250), (10, 500), (20, 1000), (40, 2000), (80, 4000)),
}
HIDDEN = 0.2  # share of cells that is missing in figure 1
WIDTH_SCALE = 1.0  # of figure 1
GAP = 1e-9  # duality gap at which ours stops in figure 1
OURS, PAPER = "ours", "Algorithm 1"


class Job(NamedTuple):
    """What to do: a part, a case of it, and which repeat."""

    part: str
    case: str
    repeat: int

    @property
    def cost(self) -> float:
        """Rough CPU time relative to other jobs, for the order and the progress bar."""
        if self.part == "figure 1":
            columns, places = size_of(self.case)
            return 7e-7 * columns * places
        of_set = {"bands": 1.1, "crx": 0.9}
        of_part = {"table 1": 1.1, "table 2": of_set.get(self.case, 0.4), "figure 2": 2.5}
        return of_part.get(self.part, 0.01)


def cases() -> dict[str, tuple[str, ...]]:
    """Return the cases of each part."""
    sizes = dict.fromkeys(size for panel in PANELS.values() for size in panel)
    return {
        "table 2": SETS,
        "table 1": tuple(READINGS),
        "figure 2": SWEPT,
        "figure 1": tuple(f"{columns} x {places}" for columns, places in sizes),
        "sets": SETS,
    }


def size_of(case: str) -> tuple[int, int]:
    """Return columns and places of a case of figure 1.

    Examples
    --------
    >>> size_of("20 x 1000")
    (20, 1000)
    """
    columns, _, places = case.partition(" x ")
    return int(columns), int(places)


def every_job() -> list[Job]:
    """Return all jobs of a full run."""
    return [
        Job(part, case, repeat)
        for part, held in cases().items()
        for case in held
        for repeat in range(REPEATS[part])
    ]


def quick_jobs() -> list[Job]:
    """Return a few jobs that end within seconds."""
    return [
        *(Job("table 2", case, r) for case in ("echocardiogram", "hepatitis") for r in range(3)),
        *(Job("table 1", case, r) for case in READINGS for r in range(3)),
        *(Job("figure 2", SWEPT[1], r) for r in range(2)),
        *(Job("figure 1", "10 x 1000", r) for r in range(3)),
        *(Job("sets", case, 0) for case in SETS),
    ]


def do(job: Job) -> dict[str, Any]:
    """Do one job and return its record: the job's fields, values, chosen widths and CPU seconds."""
    part = list(cases()).index(job.part)
    rng = np.random.default_rng((SEED, part, cases()[job.part].index(job.case), job.repeat))
    begin = time.process_time()
    values: dict[str, float]
    widths: dict[str, float] = {}
    if job.part == "sets":
        values = shape_of(job.case)
    elif job.part == "figure 1":
        values = run_times(job.case, rng)
    else:
        found = {"table 1": synthetic, "table 2": real, "figure 2": swept}[job.part](job.case, rng)
        values = {name: round(value, 3) for name, (value, _) in found.items()}
        widths = {name: width for name, (_, width) in found.items()}
    seconds = round(time.process_time() - begin, 3)
    return job._asdict() | {"values": values, "widths": widths, "seconds": seconds}


Found = dict[str, tuple[float, float]]  # name -> log-likelihood and width


def synthetic(case: str, rng: np.random.Generator) -> Found:
    """Fit the complete table, and every method to every way of hiding (Table 1)."""
    sample = make_gibbs(**READINGS[case], random_state=rng)
    seed = int(rng.integers(2**31))
    found = {FULL: _scored(density(sample.X, sample.labelled, seed), sample.test)}
    for way in WAYS:
        hidden = hide_gibbs(sample, how=way.lower(), random_state=rng)
        for method in METHODS:
            made = density(fill(method, hidden, sample.labelled), sample.labelled, seed)
            found[f"{way}, {method}"] = _scored(made, sample.test)
    return found


def swept(case: str, rng: np.random.Generator) -> Found:
    """Fit three methods with 0 to 100 positives among the 100 incomplete rows (Figure 2)."""
    sample = make_gibbs(**READINGS[case], random_state=rng)
    seed, hiding = int(rng.integers(2**31)), int(rng.integers(2**31))
    found = {}
    for k in INCOMPLETE:
        hidden = hide_gibbs_rows(sample, n_positive=k, random_state=hiding)
        for method in MEANS:
            made = density(fill(method, hidden, sample.labelled), sample.labelled, seed)
            found[f"{k}, {method}"] = _scored(made, sample.test)
    return found


def real(case: str, rng: np.random.Generator) -> Found:
    """Fit every method to one half of a set's positives and score the other half (Table 2)."""
    held = real_set(case)
    positive = rng.permutation(np.flatnonzero(held.y == 1.0))
    labelled, test = np.split(positive, [(positive.size + 1) // 2])
    seed = int(rng.integers(2**31))
    return {
        method: _scored(density(_filled(case, method, labelled), labelled, seed), test)
        for method in METHODS
    }


def shape_of(case: str) -> dict[str, float]:
    """Return rows, columns and positives of a real set, and where its cells are missing.

    Missing cells are counted per variable, before a variable of words becomes several columns.
    """
    held = real_set(case)
    first = [
        held.columns.index(next(c for c in held.columns if c.partition("=")[0] == name))
        for name in dict.fromkeys(c.partition("=")[0] for c in held.columns)
    ]
    missing = np.isnan(held.X[:, first])
    positive = held.y == 1.0
    return {
        "places": float(len(held.y)),
        "positives": float(positive.sum()),
        "columns": float(held.X.shape[1]),
        "p(o)": round(float(1.0 - missing.mean()), 4),
        "p(y|o)": round(float(missing[positive].sum() / missing.sum()), 4),
    }


def _scored(made: Density, test: Any) -> tuple[float, float]:
    return made.log_likelihood(test), made.width_scale


@lru_cache(maxsize=len(SETS))
def real_set(name: str) -> RealSet:
    """Read a set as Table 2 must have had it: class, columns and coding."""
    other = {"target": "handicapped_infants", "positive": "y"} if name == "house_votes_84" else {}
    return load_uci_missing(name, least_complete_half=True, drop_shifted=True, **other)


def _filled(name: str, method: str, labelled: Any) -> Array:
    X = real_set(name).X
    return fill(method, X, labelled) if method == MEAN_POSITIVE else _filled_once(name, method)


@lru_cache(maxsize=2 * len(METHODS))
def _filled_once(name: str, method: str) -> Array:
    """Fill what does not depend on the labels once for all splits."""
    return fill(method, real_set(name).X, np.empty(0, dtype=np.int64))


# --- figure 1 ------------------------------------------------------------------------------------


def run_times(case: str, rng: np.random.Generator) -> dict[str, float]:
    """Time one fit by either way, and return the divergences that both reached."""
    columns, places = size_of(case)
    _warm_up()
    X, labelled = two_normals(columns, places, rng)
    y = np.full(places, np.nan)
    y[labelled] = 1.0
    begin = time.process_time()
    model = maxent(width_scale=WIDTH_SCALE, tol=GAP).fit(X, y)
    ours = time.process_time() - begin
    begin = time.process_time()
    found = algorithm_1.solve(X, *algorithm_1.boxes(X, labelled, WIDTH_SCALE))
    paper = time.process_time() - begin
    return {
        OURS: round(ours, 6),
        PAPER: round(paper, 6),
        f"divergence, {OURS}": _divergence(np.log(model.density_ratio(X)) - np.log(places)),
        f"divergence, {PAPER}": _divergence(found.log_prob),
        "sweeps": float(found.sweeps),
    }


def _divergence(log_prob: Array) -> float:
    """Return RE(p || uniform), the negative of the least objective where p is the optimum."""
    return float(f"{np.exp(log_prob) @ log_prob + np.log(log_prob.size):.10g}")


def two_normals(columns: int, places: int, rng: np.random.Generator) -> tuple[Array, Any]:
    """Draw half of the places from each of two random normal laws; label half of the first.

    Examples
    --------
    >>> X, labelled = two_normals(3, 100, np.random.default_rng(0))
    >>> X.shape, labelled.size, int(np.isnan(X).sum())
    ((100, 3), 25, 60)
    """
    half = places // 2
    parts = [
        rng.normal(size=columns) / np.sqrt(columns)
        + rng.normal(size=(n, columns)) @ rng.normal(size=(columns, columns)) / np.sqrt(columns)
        for n in (half, places - half)
    ]
    X = hide_features(np.vstack(parts), how="mcar", share=HIDDEN, random_state=rng)
    return X, rng.choice(half, size=half // 2, replace=False)


@lru_cache(maxsize=1)
def _warm_up() -> None:
    """Compile before the clock runs."""
    X, labelled = two_normals(3, 40, np.random.default_rng(0))
    y = np.full(len(X), np.nan)
    y[labelled] = 1.0
    maxent(width_scale=WIDTH_SCALE).fit(X, y).density_ratio(X)
    algorithm_1.solve(X, *algorithm_1.boxes(X, labelled, WIDTH_SCALE))
