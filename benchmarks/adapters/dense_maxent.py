"""Maxent as one would write it: the whole matrix of features, Newton steps on the active ones.

Each step minimises the quadratic model of D on the features that are in use or violate their box,
by coordinate descent, and is halved while D rises. It stops on the duality gap of maxents.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.maxents import CERTIFICATE, MaxentProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "numpy"
GROUP = None
PACKAGES = ("numpy", "numba", "scipy")
SIDES = (Side("numpy, matrix of features", ("maxent-1e4", "maxent-1e5")),)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load the arrays, compile the descent on a few rows, and yield the fit."""
    assert isinstance(problem, MaxentProblem)
    X, y = data.arrays()
    sweep = _compiled()
    asked = problem.asked(X, y)
    presences = np.flatnonzero(y == 1.0)
    few = np.concatenate([presences, np.flatnonzero(y != 1.0)[:800]])
    fit(problem, X[few], y[few], asked, sweep)
    yield lambda: fit(problem, X, y, asked, sweep)


def fit(problem: MaxentProblem, X: Array, y: Array, asked: Array, sweep: Any) -> Answer:
    """Make the features and minimise D; return the predictions asked about."""
    variables = problem.variables(X)
    F = np.column_stack([each.features(x) for each, x in zip(variables, X.T, strict=True)])
    present = y == 1.0
    here = F[present]
    target = here.mean(axis=0)
    cut = np.cumsum([0, *(2 * len(each.points) - 2 for each in variables)])
    half_width = problem.scales[-1] * np.concatenate(
        [each.half_widths(here[:, cut[i] : cut[i + 1]]) for i, each in enumerate(variables)]
    )

    def at(coef: Array) -> tuple[float, Array, Array]:
        used = np.flatnonzero(coef)
        tilt = F[:, used] @ coef[used]
        top = tilt.max(initial=0.0)
        prob = np.exp(tilt - top)
        total = prob.sum()
        value = np.log(total / len(y)) + top - target @ coef + half_width @ np.abs(coef)
        prob /= total
        return float(value), prob, prob @ F - target

    coef = np.zeros(F.shape[1])
    (value, prob, missed), passes = at(coef), 1
    while _gap(value, prob, missed, half_width, present) > CERTIFICATE:
        chosen = np.flatnonzero((coef != 0.0) | (np.abs(missed) > half_width))
        part = F[:, chosen]
        mean = prob @ part
        hessian = (part * prob[:, None]).T @ part - np.outer(mean, mean)
        hessian[np.diag_indices_from(hessian)] += (
            1e-9  # hinges of one variable depend on each other
        )
        step = np.zeros_like(coef)
        violation = float((np.abs(missed) / half_width).max()) - 1.0
        exact = 1e-2 * min(max(violation, 1e-6), 1.0)
        step[chosen] = sweep(hessian, missed[chosen], half_width[chosen], coef[chosen], exact)
        while True:
            new = at(coef + step)
            passes += 1
            if new[0] <= value + 1e-12:
                break
            step *= 0.5
        coef, (value, prob, missed) = coef + step, new
    answers = np.column_stack([v.features(x) for v, x in zip(variables, asked.T, strict=True)])
    return problem.answer([np.exp(answers @ coef)], passes)


def _gap(value: float, prob: Array, missed: Array, half_width: Array, present: Array) -> float:
    mixture = float((1.0 - half_width / np.maximum(np.abs(missed), half_width)).max())
    mixed = (1.0 - mixture) * prob
    mixed[present] += mixture / present.sum()
    return value + float(mixed @ np.log(np.maximum(mixed, 1e-300) * len(prob)))


def _compiled() -> Any:
    from numba import njit

    @njit  # type: ignore[untyped-decorator]
    def sweep(hessian: Array, slope: Array, half_width: Array, coef: Array, exact: float) -> Array:
        """Minimise slope'd + d'Hd/2 + half_width'|coef + d| over d, one coordinate at a time."""
        step = np.zeros_like(coef)
        slope = slope.copy()
        for _ in range(50000):
            most = 0.0
            for j in range(len(coef)):
                curve = hessian[j, j]
                old = coef[j] + step[j]
                free = old - slope[j] / curve
                new = np.sign(free) * max(0.0, abs(free) - half_width[j] / curve)
                if new != old:
                    slope += (new - old) * hessian[j]
                    step[j] += new - old
                    most = max(most, abs(new - old) * curve / half_width[j])
            if most < exact:
                break
        return step

    return sweep
