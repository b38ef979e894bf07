"""statsmodels: hessian, score and loglike of `Logit` at the same coefficients, three passes."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.problem import Answer, Data, Problem

NAME = "statsmodels"
GROUP = "rival-statsmodels"
PACKAGES = ("statsmodels", "numpy")
SIDES = (Side("statsmodels", ("gram-pass",), passes=3),)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Make the model, outside the clock, and yield its three functions at the coefficients."""
    from statsmodels.discrete.discrete_model import Logit

    X, y = data.arrays()

    def run(model: Logit) -> Answer:
        return {
            "gram": -np.asarray(model.hessian(data.coef)),
            "gradient": -np.asarray(model.score(data.coef)),
            "loss": np.array([-model.loglike(data.coef)]),
        }

    run(Logit(y[:4096], X[:4096], check_rank=False))
    model = Logit(y, X, check_rank=False)
    yield lambda: run(model)
