"""The reasons behind each decision, row by row: probabilities, expected costs, the runner-up.

    margin = expected cost of the second cheapest action - that of the cheapest

A small margin means that the choice hardly matters, not that it is wrong. Does not decide:
cheapest.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.decisions.cheapest import cheapest, expected_cost, read_prob
from scarce.decisions.costs import CostMatrix, as_costs
from scarce.engine.block import Array
from scarce.results import short

SHOWN = 8


@dataclass(frozen=True, eq=False)
class DecisionTable:
    """Decisions and why, one entry per row.

    Parameters
    ----------
    actions : ndarray of shape (n,)
        Name of the cheapest action.
    prob : ndarray of shape (n, n_classes)
    cost : ndarray of shape (n, n_actions)
        Expected cost of every action.
    runner_up : ndarray of shape (n,)
        Name of the second cheapest action.
    margin : ndarray of shape (n,)
        What choosing the runner-up would cost more, in expectation.
    costs : CostMatrix
    index : ndarray of shape (n,), optional
        What the rows are called.

    Examples
    --------
    >>> costs = CostMatrix.binary(false_alarm=5, miss=400, classes=("legit", "fraud"))
    >>> print(decision_table([0.001, 0.02, 0.9], costs.with_abstain(3, name="ask")))
    3 rows: legit 1, fraud 1, ask 1; expected cost 3.9, 1.3 a row
      row  p(legit)  p(fraud)  cheapest  costs  runner-up  costs more
        0     0.999     0.001     legit    0.4        ask         2.6
        1      0.98      0.02       ask      3      fraud         1.9
        2       0.1       0.9     fraud    0.5        ask         2.5
    """

    actions: NDArray[Any]
    prob: Array
    cost: Array
    runner_up: NDArray[Any]
    margin: Array
    costs: CostMatrix
    index: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def expected(self) -> Array:
        """Expected cost of the chosen action of each row."""
        return np.asarray(self.cost.min(axis=1)) if len(self) else np.zeros(0)

    def counts(self) -> dict[Any, int]:
        """Return how many rows get each action."""
        return {name: int((self.actions == name).sum()) for name in self.costs.actions}

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return one array per column, for a data frame or a file."""
        found: dict[str, NDArray[Any]] = {} if self.index is None else {"index": self.index}
        found["action"] = self.actions
        for k, label in enumerate(self.costs.classes):
            found[f"p({label})"] = self.prob[:, k]
        for a, action in enumerate(self.costs.actions):
            found[f"cost({action})"] = self.cost[:, a]
        return found | {"runner_up": self.runner_up, "margin": self.margin}

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain lists, for JSON."""
        return {name: values.tolist() for name, values in self.columns().items()}

    def __str__(self) -> str:
        counted = ", ".join(f"{name} {count:,}" for name, count in self.counts().items())
        total = float(self.expected.sum())
        each = total / max(1, len(self))
        lines = [
            f"{len(self):,} row{'s' if len(self) != 1 else ''}: {counted}; expected cost "
            f"{short(total)}, {short(each)} a row"
        ]
        heads = ["row", *(f"p({label})" for label in self.costs.classes)]
        heads += ["cheapest", "costs", "runner-up", "costs more"]
        cells = [heads]
        for row in range(min(SHOWN, len(self))):
            cells.append(
                [
                    str(row if self.index is None else self.index[row]),
                    *(short(p) for p in self.prob[row]),
                    str(self.actions[row]),
                    short(self.expected[row]),
                    str(self.runner_up[row]),
                    short(self.margin[row]),
                ]
            )
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines += [
            "  " + "  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True))
            for line in cells
        ]
        if len(self) > SHOWN:
            lines.append(f"  ... and {len(self) - SHOWN:,} more")
        return "\n".join(lines)


def decision_table(
    prob: Any, costs: Any, *, tie: str = "first", index: Any = None
) -> DecisionTable:
    """Return the decisions of `decide` with what they rest on.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
    costs : CostMatrix or array-like
    tie : {"first", "last"}
    index : array-like of shape (n,), optional
        What the rows are called, to find them again.
    """
    matrix = as_costs(costs)
    given = read_prob(prob, matrix.classes)
    cost = expected_cost(given, matrix, classes=matrix.classes)
    best = cheapest(given, matrix, tie=tie)
    names, each = matrix.action_names(), np.arange(len(given))
    least = cost[each, best]
    others = cost.copy()
    others[each, best] = np.inf
    second = others.argmin(axis=1)
    return DecisionTable(
        names[best],
        given,
        cost,
        names[second],
        others[each, second] - least,
        matrix,
        None if index is None else np.asarray(index),
    )
