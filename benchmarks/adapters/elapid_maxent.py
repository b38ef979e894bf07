"""elapid: MaxentModel, with the same hinges and at its defaults.

It fits a weighted logistic regression with an L1 penalty. Where the Fortran package glmnet is not
installed, which pip does not bring, that penalty is one number for all features instead of the
boxes, so "same hinges" are the same features with another penalty. Presences stand beside the pool,
as its users pass them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.maxents import DefaultsProblem, MaxentProblem, SpeciesProblem, asked_rows
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "elapid"
GROUP = "rival-elapid"
PACKAGES = ("elapid", "sklearn", "numpy")
_SAME = ("maxent-1e4", "maxent-1e5", "maxent-species")
SIDES = (
    *(Side("elapid, same hinges", (name,), yardstick=name) for name in _SAME),
    Side("elapid", ("maxent-defaults",), yardstick="maxent-defaults"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays, fit a few rows, and yield the fit."""
    assert isinstance(problem, MaxentProblem)
    if isinstance(problem, SpeciesProblem):
        each = problem.each(data)
        yield lambda: _species(problem, each)
        return
    X, y = data.arrays()
    present = X[y == 1.0]
    beside = np.vstack([present, X]), np.repeat([1, 0], [len(present), len(X)])
    same = "hinges" in side.name
    asked = problem.asked(X, y)
    few = np.vstack([present, X[:500]]), np.repeat([1, 0], [len(present), min(500, len(X))])
    _model(problem, same).fit(*few).predict(asked)

    def call() -> Answer:
        model = _model(problem, same).fit(*beside)
        if isinstance(problem, DefaultsProblem):
            return {"ratio": np.asarray(model.predict(X))}
        passes = int(np.max(model.estimator.n_iter_))
        return problem.answer([model.predict(asked)], passes)

    yield call


def _model(problem: MaxentProblem, same: bool) -> Any:
    from elapid import MaxentModel

    if same:
        return MaxentModel(feature_types="h", n_hinge_features=problem.knots, transform="raw")
    return MaxentModel(transform="raw")


def _species(problem: SpeciesProblem, each: list[Any]) -> Answer:
    curves: list[Array] = []
    passes = []
    for X, y, variables, categorical in each:
        present = X[y == 1.0]
        rows = np.vstack([present, X]), np.repeat([1, 0], [len(present), len(X)])
        model = _model(problem, True)
        model.fit(*rows, categorical=categorical or None)
        asked = asked_rows(variables, present[0], X[:0])
        curves.append(problem.curves(variables, model.predict(asked)))
        passes.append(int(np.max(model.estimator.n_iter_)))
    return {"curves": np.array(curves), "passes": np.array(passes)}
