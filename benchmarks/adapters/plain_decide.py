"""NumPy on decisions: the expected costs as a table and its argmin, as people write it by hand."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import numpy as np

from benchmarks.adapters.side import Side
from benchmarks.decisions import ASK, FALSE_ALARM, DecideProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "numpy"
GROUP = None
PACKAGES = ("numpy",)
SIDES = (
    Side("numpy", ("decide-1e7", "decide-binary-1e7", "decide-rows-1e7")),
    Side("numpy, action by action", ("decide-1e7", "decide-binary-1e7", "decide-rows-1e7")),
    Side("numpy, einsum", ("decide-rows-1e7",)),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load probabilities and amounts, and yield the decisions."""
    assert isinstance(problem, DecideProblem)
    prob, amount = problem.inputs(data.arrays()[0])
    names, costs = np.array(problem.actions), np.array(problem.costs)
    if "einsum" in side.name:
        assert amount is not None
        yield lambda: {"actions": names[_einsum(prob, amount, costs)]}
    elif "action" in side.name:
        yield lambda: {"actions": names[_by_action(prob, amount, costs)]}
    elif amount is not None:
        yield lambda: {"actions": names[_by_row(prob, amount)]}
    else:
        yield lambda: {"actions": names[(_table(prob) @ costs.T).argmin(axis=1)]}


def _table(prob: Array) -> Array:
    return np.column_stack([1.0 - prob, prob]) if prob.ndim == 1 else prob


def _by_row(prob: Array, amount: Array) -> Any:
    cost = np.empty((len(prob), 3))
    cost[:, 0] = prob * amount
    cost[:, 1] = (1.0 - prob) * FALSE_ALARM
    cost[:, 2] = ASK
    return cost.argmin(axis=1)


def _einsum(prob: Array, amount: Array, costs: Array) -> Any:
    """As for any costs by row: a matrix for each."""
    each = np.tile(costs, (len(prob), 1, 1))
    each[:, 0, 1] = amount
    return np.einsum("nak,nk->na", each, _table(prob)).argmin(axis=1)


def _by_action(prob: Array, amount: Array | None, costs: Array) -> Any:
    """Whole columns and a running minimum: what scarce does, without pieces and without checks."""
    columns = [1.0 - prob, prob] if prob.ndim == 1 else list(prob.T)
    best = np.zeros(len(prob), dtype=np.intp)
    for a, row in enumerate(costs):
        entries = list(row)
        if a == 0 and amount is not None:
            entries[1] = amount
        terms = [c * e for c, e in zip(columns, entries, strict=True) if np.any(e)]
        cost = sum(terms[1:], start=terms[0])
        if a == 0:
            least = cost
            continue
        best[cost < least] = a
        least = np.minimum(least, cost)
    return best
