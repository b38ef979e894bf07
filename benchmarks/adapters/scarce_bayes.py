"""scarce's GaussianBayes: fit with predict_proba, of each kind of covariance that has a rival."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.adapters.side import Side
from benchmarks.decisions import BayesProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "scarce"
GROUP = None
PACKAGES = ("scarce", "numpy")
WORKERS = 2

_ALL = ("bayes-diag", "bayes-full", "bayes-shared")
SIDES = (
    Side("scarce", _ALL, blas_threads="all"),
    Side("scarce, threads", _ALL, engine="threads", blas_threads="all"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays and yield fit with predict_proba."""
    from scarce import GaussianBayes

    assert isinstance(problem, BayesProblem)
    engine = f"threads:{WORKERS}" if side.engine == "threads" else None
    X, y = data.arrays()

    def run(X: Array, y: Array) -> Answer:
        model = GaussianBayes(problem.covariance, shrinkage=0, calibrate=False, engine=engine).fit(
            X, y
        )
        return {"prob": model.predict_proba(X)}

    run(X[:8192], y[:8192])
    yield lambda: run(X, y)
