"""statsmodels: GLM with a binomial family, iteratively reweighted least squares, no penalty.

The model object, whose making checks the rank of the columns, is made before the clock starts: only
`fit` is timed, with its defaults.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.fits import FitProblem
from benchmarks.problem import Answer, Data, Problem

NAME = "statsmodels"
GROUP = "rival-statsmodels"
PACKAGES = ("statsmodels", "numpy", "scipy")
SIDES = (
    Side(
        "statsmodels GLM",
        ("fit-logit-free", "fit-probit", "fit-probit-wide", "fit-cloglog", "fit-cloglog-wide"),
    ),
)
LINKS = {"logistic": "Logit", "probit": "Probit", "cloglog": "CLogLog"}


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Make the model, outside the clock, and yield its fit."""
    from statsmodels.genmod.families import Binomial, links
    from statsmodels.genmod.generalized_linear_model import GLM

    assert isinstance(problem, FitProblem)
    X, y = data.arrays()
    design = np.column_stack([X, np.ones(len(X))])
    family = Binomial(link=getattr(links, LINKS[problem.loss])())

    def run(model: Any) -> Answer:
        found = model.fit()
        passes = np.array([found.fit_history["iteration"]])
        return {"coef": np.asarray(found.params), "passes": passes}

    run(GLM(y[:4096], design[:4096], family=family))
    model = GLM(y, design, family=family)
    yield lambda: run(model)
