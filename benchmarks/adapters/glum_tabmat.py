"""glum: the Gram pass of its solver, through the public matrix package tabmat that it is made on.

The weighted Gram matrix is `DenseMatrix.sandwich`, a kernel of its own rather than BLAS; score and
gradient are its `matvec` and `transpose_matvec`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np
from scipy.special import expit

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Data, Problem

NAME = "glum"
GROUP = "rival-glum"
PACKAGES = ("tabmat", "glum", "numpy")
SIDES = (
    Side("glum (tabmat)", ("gram-pass",)),
    Side("glum (tabmat), all threads", ("gram-pass",), engine="OpenMP", blas_threads="all"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Wrap the array, without a copy, and yield one pass."""
    import tabmat

    X, y = data.arrays()

    def run(matrix: tabmat.DenseMatrix, y: np.ndarray) -> Answer:
        score = matrix.matvec(data.coef)
        prob = expit(score)
        return {
            "gram": np.asarray(matrix.sandwich(prob * (1.0 - prob))),
            "gradient": matrix.transpose_matvec(prob - y),
            "loss": np.array([np.logaddexp(0.0, score).sum() - y @ score]),
        }

    run(tabmat.DenseMatrix(X[:4096]), y[:4096])
    matrix = tabmat.DenseMatrix(X)
    yield lambda: run(matrix, y)
