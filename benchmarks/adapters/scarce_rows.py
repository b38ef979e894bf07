"""scarce itself: the same fold in process, over threads, processes, files and a Dask cluster."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.kernels import logistic_pass
from benchmarks.problem import Answer, Data, Problem

NAME = "scarce"
GROUP = None
PACKAGES = ("scarce", "numpy", "pyarrow")
WORKERS = 2

_PASS = ("gram-pass",)
_BOTH = ("gram-pass", "naive-bayes")
SIDES = (
    Side("scarce", (*_BOTH, "small-fold"), blas_threads="all"),
    Side("scarce, threads", _BOTH, engine="threads", blas_threads="all"),
    Side("scarce, processes", _PASS, engine="processes", blas_threads="all"),
    Side("scarce, cached file", _BOTH, blas_threads="all"),
    Side("scarce, cached file, threads", _PASS, engine="threads", blas_threads="all"),
    Side("scarce, cached file, processes", _PASS, engine="processes", blas_threads="all"),
    Side("scarce, cached file, Dask", _PASS, engine="Dask, 2 workers", blas_threads="all"),
    Side("scarce, streamed Parquet", _PASS, blas_threads="all"),
    Side("scarce, streamed Parquet, Dask", _PASS, engine="Dask, 2 workers", blas_threads="all"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Open the rows as the side says, start its workers, yield the fold or the fit."""
    with _engine(side) as engine:
        _warm_up(problem, data, engine)
        if "file" in side.name or "Parquet" in side.name:
            from scarce import open_rows

            rows = open_rows(
                data.parquet,
                label="y",
                cache=data.cache if "cached" in side.name else False,
                engine=engine,
            )
            source: tuple[Any, ...] = (rows,)
        else:
            from scarce.engine.memory import ArrayRows

            X, y = data.arrays()
            rows = ArrayRows(X, y, classes=(0.0, 1.0), engine=engine, check=False)
            source = (X, y)
        if problem.name == "naive-bayes":
            yield lambda: _bayes(source, engine)
            return

        def call() -> Answer:
            return rows.fold(logistic_pass, data.coef)

        if problem.name == "small-fold":
            block = rows.ticket(0)
            call.beside = lambda: logistic_pass(block, data.coef)  # type: ignore[attr-defined]
        yield call


def _bayes(source: tuple[Any, ...], engine: Any) -> Answer:
    from scarce import GaussianBayes

    model = GaussianBayes("diag", calibrate=False, var_smoothing=0.0, engine=engine).fit(*source)
    return {"prior": model.class_prior_, "mean": model.mean_, "variance": model.variance_}


def _engine(side: Side) -> Any:
    if side.engine.startswith("Dask"):
        return _cluster()
    if side.engine in ("threads", "processes"):
        return nullcontext(f"{side.engine}:{WORKERS}")
    return nullcontext(None)


@contextmanager
def _cluster() -> Iterator[Any]:
    from distributed import Client, LocalCluster

    with (
        LocalCluster(
            n_workers=WORKERS, threads_per_worker=1, processes=True, dashboard_address=":0"
        ) as cluster,
        Client(cluster) as client,
    ):
        yield client


def _warm_up(problem: Problem, data: Data, engine: Any) -> None:
    """Start the workers and let them import the kernel, on a few rows in many blocks."""
    from scarce.engine.memory import ArrayRows

    width = len(data.coef)
    X = np.ones((8 * WORKERS, width))
    y = np.arange(len(X)) % 2.0
    rows = ArrayRows(X, y, classes=(0.0, 1.0), starts=tuple(range(len(X) + 1)), engine=engine)
    rows.fold(logistic_pass, data.coef)
    if problem.name == "naive-bayes":
        _bayes((X, y), engine)
