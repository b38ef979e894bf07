"""scarce's RareClassifier: single fits, the choice of shape and ridge, and fits of files."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.fits import CERTIFICATE, FITS, GROW, LASSO, SHAPE, FitProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "scarce"
GROUP = None
PACKAGES = ("scarce", "numpy", "pyarrow")
WORKERS = 2

_FITS = (*(problem.name for problem in FITS), LASSO.name)
_GROW = tuple(problem.name for problem in GROW)
_GRID = ("grid-27x7",)
SIDES = (
    Side("scarce", _FITS, blas_threads="all"),
    Side("scarce, threads", _FITS, engine="threads", blas_threads="all"),
    Side("scarce, 189 fits in turn", _GRID, blas_threads="all"),
    Side("scarce", _GRID, blas_threads="all"),
    Side("scarce, one fit", _GRID, blas_threads="all", yardstick="fit-gev"),
    Side("scarce, file", _GROW, blas_threads="all"),
    Side("scarce, streamed file", _GROW, blas_threads="all"),
    Side("scarce, cached file", _GROW, blas_threads="all"),
    Side("scarce, cached file, threads", _GROW, engine="threads", blas_threads="all"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the rows, start the workers, fit a few rows, and yield the fit."""
    engine = f"threads:{WORKERS}" if side.engine == "threads" else None
    rng = np.random.default_rng(0)
    few = rng.standard_normal((4096, problem.columns)), np.arange(4096) % 2.0
    if isinstance(problem, FitProblem):
        fit(problem, few, engine)
        if problem.opens:
            with _file(side, data, engine) as source:
                yield lambda: fit(problem, source(), engine)
            return
        rows = data.arrays()
        yield lambda: fit(problem, rows, engine)
        return
    run = _in_turn if side.name.endswith("in turn") else _selection
    run(*few)
    X, y = data.arrays()
    yield lambda: run(X, y)


def fit(problem: FitProblem, source: tuple[Any, ...], engine: Any) -> Answer:
    """Fit the problem's loss at its ridge."""
    from scarce import RareClassifier

    model = RareClassifier(
        problem.loss,
        shape=SHAPE,
        ridge=problem.ridge,
        penalty=problem.penalty,
        standardize=False,
        tol=CERTIFICATE,
        diagnostics=False,
        engine=engine,
    ).fit(*source)
    return {
        "coef": np.append(model.coef_[0], model.intercept_),
        "passes": np.array([model.report_.passes]),
    }


@contextmanager
def _file(side: Side, data: Data, engine: Any) -> Iterator[Callable[[], tuple[Any, ...]]]:
    """Yield what opens the file: as by default, decoded on every pass, or through the cache."""
    from scarce import open_rows
    from scarce.io import open as door

    held = door.IN_MEMORY_BYTES
    if "streamed" in side.name:
        door.IN_MEMORY_BYTES = 0  # small files would be held in memory
    cache = None
    if "cached" in side.name:
        cache = data.cache
        shutil.rmtree(cache, ignore_errors=True)  # the first call of each process writes it
    try:
        yield lambda: (open_rows(data.parquet, label="y", cache=cache, engine=engine),)
    finally:
        door.IN_MEMORY_BYTES = held


def _selection(X: Array, y: Array) -> Answer:
    from scarce import RareClassifier

    model = RareClassifier(
        "gev-canonical", standardize=False, cv=0.3, tol=CERTIFICATE, diagnostics=False
    ).fit(X, y)
    return {"scores": model.selection_.scores[0]}


def _in_turn(X: Array, y: Array) -> Answer:
    """Every shape and ridge fitted to the end on the same training rows, each from its neighbour.

    As one would write it with the solver alone: from the largest ridge to the smallest, warm.
    """
    from scarce import RareClassifier
    from scarce.engine.memory import ArrayRows
    from scarce.linear.losses import loss_of
    from scarce.linear.regress import Formulation, regress
    from scarce.linear.selection import (
        FLOORS,
        PAPER_RIDGES,
        PAPER_SHAPES,
        CrossValidation,
        make_splits,
        mix_with_prevalence,
    )
    from scarce.linear.sums import summarise_columns

    whole = ArrayRows(X, y, classes=(0.0, 1.0), check=False)
    seen = summarise_columns(whole)
    validation = CrossValidation("brier", 0.3, FLOORS[0], 0)
    ids, part = make_splits(whole, seen, validation, None).folds[0]
    rows = ArrayRows(X[ids != part], y[ids != part], classes=(0.0, 1.0), check=False)
    held, truth = X[ids == part], y[ids == part]
    own = summarise_columns(rows)
    scores = np.empty((len(PAPER_SHAPES), len(PAPER_RIDGES)))
    for i, shape in enumerate(PAPER_SHAPES):
        loss, start = loss_of("gev-canonical", shape), None
        for j in np.argsort(PAPER_RIDGES)[::-1]:
            problem = Formulation(tol=CERTIFICATE)
            start = regress(rows, own, loss, PAPER_RIDGES[j], problem, start=start).coef
            prob = loss.link.inverse(held @ start[:-1] + start[-1])
            prob = mix_with_prevalence(prob, FLOORS[0], seen.prevalence)
            scores[i, j] = np.mean((prob - truth) ** 2)
    best, ridge = np.unravel_index(int(np.argmin(scores)), scores.shape)
    RareClassifier(
        "gev-canonical",
        shape=PAPER_SHAPES[best],
        ridge=PAPER_RIDGES[ridge],
        standardize=False,
        tol=CERTIFICATE,
        diagnostics=False,
    ).fit(X, y)
    return {"scores": scores}
