"""glum: its regression of a binomial family, iteratively reweighted with its own Gram kernel.

Its objective is the mean loss, so that alpha = ridge / rows; it has no probit link.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.fits import CERTIFICATE, FitProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "glum"
GROUP = "rival-glum"
PACKAGES = ("glum", "tabmat", "numpy")
_FITS = ("fit-logit", "fit-logit-wide", "fit-logit-long", "fit-logit-free")
_FITS += ("fit-cloglog", "fit-cloglog-wide")
SIDES = (
    Side("glum", _FITS),
    Side("glum, all threads", _FITS, engine="OpenMP", blas_threads="all"),
)
LINKS = {"logistic": "logit", "cloglog": "cloglog"}


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays and yield the fit."""
    from glum import GeneralizedLinearRegressor

    assert isinstance(problem, FitProblem)
    link = LINKS[problem.loss]

    def run(X: Array, y: Array, ridge: float) -> Answer:
        model = GeneralizedLinearRegressor(
            family="binomial",
            link=link,
            alpha=ridge / len(X),
            l1_ratio=0.0,
            gradient_tol=CERTIFICATE,
        ).fit(X, y)
        coef = np.append(model.coef_, model.intercept_)
        return {"coef": coef, "passes": np.array([model.n_iter_])}

    X, y = data.arrays()
    run(X[:4096], y[:4096], max(problem.ridge, 1.0))
    yield lambda: run(X, y, problem.ridge)
