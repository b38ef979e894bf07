"""NumPy as most people would write it, the reference of most problems; and the same in blocks."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from scipy.special import expit

from benchmarks.adapters.side import Side
from benchmarks.fits import CERTIFICATE, FITS, FitProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "numpy"
GROUP = None
PACKAGES = ("numpy", "scipy")
SIDES = (
    Side("numpy", ("gram-pass", "naive-bayes", *(problem.name for problem in FITS))),
    Side("numpy, all BLAS threads", ("gram-pass",), engine="BLAS threads", blas_threads="all"),
    Side("numpy in blocks", ("gram-pass",)),
    Side("numpy kernel", ("small-fold",)),
)
BLOCK = 4096


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays and yield the call."""
    X, y = data.arrays()
    if side.name == "numpy kernel":
        from benchmarks.kernels import logistic_pass
        from scarce.engine.block import Block

        yield lambda: logistic_pass(Block(X, y), data.coef)
        return
    if isinstance(problem, FitProblem):
        yield lambda: _newton(problem, X, y)
        return
    run = _bayes if problem.name == "naive-bayes" else _logistic
    if side.name == "numpy in blocks":
        run = _in_blocks
    run(X[:BLOCK], y[:BLOCK], data.coef)
    yield lambda: run(X, y, data.coef)


def _logistic(X: Array, y: Array, coef: Array) -> Answer:
    score = X @ coef
    prob = expit(score)
    scaled = X * np.sqrt(prob * (1.0 - prob))[:, None]
    return {
        "gram": scaled.T @ scaled,
        "gradient": (prob - y) @ X,
        "loss": np.array([np.logaddexp(0.0, score).sum() - y @ score]),
    }


def _in_blocks(X: Array, y: Array, coef: Array) -> Answer:
    total = _logistic(X[:BLOCK], y[:BLOCK], coef)
    for first in range(BLOCK, len(X), BLOCK):
        part = _logistic(X[first : first + BLOCK], y[first : first + BLOCK], coef)
        for name, value in part.items():
            total[name] += value
    return total


def _bayes(X: Array, y: Array, _: Array) -> Answer:
    groups = [X[y == label] for label in (0.0, 1.0)]
    return {
        "prior": np.array([len(group) / len(X) for group in groups]),
        "mean": np.array([group.mean(axis=0) for group in groups]),
        "variance": np.array([group.var(axis=0) for group in groups]),
    }


def _newton(problem: FitProblem, X: Array, y: Array) -> Answer:
    """Newton's method on whole arrays; a step is halved while the objective rises."""

    def at(coef: Array) -> tuple[float, Array, Array]:
        pairs = zip(problem.at(X, y, coef), problem.penalised(coef), strict=True)
        value, gradient, hessian = (one + other for one, other in pairs)
        return value, gradient, hessian

    coef = problem.start(y, X.shape[1])
    (value, gradient, hessian), passes = at(coef), 1
    while np.abs(gradient).max() > CERTIFICATE * len(X):
        step = np.linalg.solve(hessian, -gradient)
        while True:
            new = at(coef + step)
            passes += 1
            if new[0] <= value + 1e-9 * abs(value):
                break
            step *= 0.5
        coef = coef + step
        value, gradient, hessian = new
    return {"coef": coef, "passes": np.array([passes])}
