"""scarce on scores: the digest, the mixture and the report, in memory and from a file."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Data, Problem
from benchmarks.scores import EstimateProblem, PassProblem, ScoreProblem, figures

NAME = "scarce"
GROUP = None
PACKAGES = ("scarce", "numpy", "numba", "pyarrow")
WORKERS = 2

_LONG = ("scores-fit", "scores-estimate")
_LONGER = ("scores-fit-1e8", "scores-estimate-1e8")
SIDES = (
    Side("scarce, digest", ("scores-pass",), blas_threads="all"),
    Side("scarce, digest, threads", ("scores-pass",), engine="threads", blas_threads="all"),
    Side("scarce, digest, file", ("scores-pass",), blas_threads="all"),
    Side("scarce, digest, streamed file", ("scores-pass",), blas_threads="all"),
    Side(
        "scarce",
        (*_LONG, "scores-em", "scores-unlabelled", "scores-estimate-1e4"),
        blas_threads="all",
    ),
    Side("scarce, file", _LONG, blas_threads="all"),
    Side("scarce, streamed file", (*_LONG, *_LONGER), blas_threads="all"),
    Side("scarce, streamed file, threads", _LONG, engine="threads", blas_threads="all"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays, or what opens the file, compile on a few rows, and yield the call."""
    assert isinstance(problem, ScoreProblem)
    engine = f"threads:{WORKERS}" if side.engine == "threads" else None
    run = _task(problem, engine)
    few, marks = next(problem.drawn(300_000))
    for part in (slice(4096), slice(None)):  # row by row, and in bins
        run(few[part], marks[part])
    if "file" not in side.name:
        X, y = data.arrays()
        score = X[:, 0].copy()
        yield lambda: run(score, y)
        return
    with _opened(side, data, engine) as source:
        yield lambda: run(source())


@contextmanager
def _opened(side: Side, data: Data, engine: Any) -> Iterator[Callable[[], Any]]:
    """Yield what opens the file: as by default, or decoded block by block at any size."""
    from scarce import open_rows
    from scarce.io import open as door

    held = door.IN_MEMORY_BYTES
    if "streamed" in side.name:
        door.IN_MEMORY_BYTES = 0
    try:
        yield lambda: open_rows(data.parquet, label="y", engine=engine)
    finally:
        door.IN_MEMORY_BYTES = held


def _task(problem: ScoreProblem, engine: Any) -> Callable[..., Answer]:
    if isinstance(problem, PassProblem):
        return lambda *given: _digest(given, engine)
    if isinstance(problem, EstimateProblem):
        return lambda *given: _estimate(problem, given, engine)
    return lambda *given: _mixture(problem, given, engine)


def _digest(given: tuple[Any, ...], engine: Any) -> Answer:
    from scarce.missed.digest import STATES, ScoreDigest

    if len(given) == 1:
        digest = ScoreDigest.from_rows(given[0], engine=engine)
    else:
        digest = ScoreDigest.of(*given, engine=engine)
    total = np.zeros(2)
    for state in STATES:
        count, mean, squares = getattr(digest, state)
        total += count @ mean, squares.sum() + count @ mean**2
    return {"sums": total}


def _mixture(problem: ScoreProblem, given: tuple[Any, ...], engine: Any) -> Answer:
    from scarce import ScoreMixture

    known = problem.name in ("scores-em", "scores-unlabelled")  # where rivals have normals only
    background = "normal" if known else "auto"
    model = ScoreMixture(background, spread_prior=None, engine=engine).fit(*given)
    if model.background_ != "normal":  # another family has other parameters
        return {"params": np.full(5, np.nan)}
    odds = np.log(model.positive_share_) - np.log1p(-model.positive_share_)
    params = np.concatenate([[odds], model.background_params_, model.foreground_params_])
    return {"params": params, "passes": np.array([1])}


def _estimate(problem: ScoreProblem, given: tuple[Any, ...], engine: Any) -> Answer:
    from scarce import estimate_performance

    return figures(estimate_performance(*given, threshold=problem.threshold, engine=engine))
