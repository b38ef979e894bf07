"""scikit-learn: LogisticRegression, by L-BFGS (its default) and by Newton with Cholesky factors.

Its objective is the same sum of losses with C = 1 / ridge; tol bounds the gradient per row. A lasso
is for saga, whose tol bounds the change of the coefficients; liblinear penalises the intercept too.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.fits import CERTIFICATE, FitProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "scikit-learn"
GROUP = "rival-scikit-learn"
PACKAGES = ("sklearn", "numpy", "scipy")
_LOGIT = ("fit-logit", "fit-logit-wide", "fit-logit-long", "fit-logit-free")
SIDES = (
    Side("scikit-learn, lbfgs", _LOGIT),
    Side("scikit-learn, lbfgs, all threads", _LOGIT, engine="BLAS threads", blas_threads="all"),
    Side("scikit-learn, newton-cholesky", _LOGIT),
    Side("scikit-learn, saga", ("lasso-logit",)),
    Side("scikit-learn, lbfgs, logistic", ("fit-gev",), yardstick="fit-logit"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays and yield the fit."""
    from sklearn.linear_model import LogisticRegression

    assert isinstance(problem, FitProblem)
    X, y = data.arrays()
    lasso = problem.penalty == "lasso"
    solver = "newton-cholesky" if "cholesky" in side.name else "saga" if lasso else "lbfgs"
    C = 1.0 / problem.ridge if problem.ridge > 0 else np.inf

    def run(X: Array, y: Array) -> Answer:
        model = LogisticRegression(
            C=C, l1_ratio=float(lasso), solver=solver, tol=CERTIFICATE, max_iter=1000
        ).fit(X, y)
        return {"coef": np.append(model.coef_[0], model.intercept_), "passes": model.n_iter_}

    run(X[:4096], y[:4096])
    yield lambda: run(X, y)
