"""scarce on decisions: `decide` with a CostMatrix that is made in the call."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager

from benchmarks.adapters.side import Side
from benchmarks.decisions import ASK, FALSE_ALARM, MISS, DecideProblem
from benchmarks.problem import Answer, Array, Data, Problem

NAME = "scarce"
GROUP = None
PACKAGES = ("scarce", "numpy")
SIDES = (
    Side("scarce", ("decide-1e7", "decide-binary-1e7", "decide-rows-1e7"), blas_threads="all"),
)


@contextmanager
def prepared(side: Side, problem: Problem, data: Data) -> Iterator[Callable[[], Answer]]:
    """Load probabilities and amounts, and yield the decisions."""
    from scarce import CostMatrix, decide

    assert isinstance(problem, DecideProblem)
    prob, amount = problem.inputs(data.arrays()[0])

    def run(prob: Array, amount: Array | None) -> Answer:
        if prob.ndim == 2:
            costs = CostMatrix(problem.costs, actions=problem.actions, classes=problem.classes)
        else:
            costs = CostMatrix.binary(
                false_alarm=FALSE_ALARM,
                miss=MISS if amount is None else amount,
                classes=problem.classes,
            ).with_abstain(ASK, name="ask")
        return {"actions": decide(prob, costs)}

    run(prob[:4096], None if amount is None else amount[:4096])
    yield lambda: run(prob, amount)
