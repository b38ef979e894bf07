"""Do these costs make sense: does a right action cost more than a wrong one, can each ever pay?

    a is idle  if  max over p of min over b of (cost_b(p) - cost_a(p)) <= 0

An action is dominated by another that costs no more in any class. It may also lie above all mixes
of others without being dominated by one of them: a person who is too dear to ask. What it would
have to cost less is the value of a linear programme. Assumes fixed costs; costs that vary by row
are looked at only where they do not.
"""

from __future__ import annotations

from dataclasses import asdict, dataclass
from typing import Any

import numpy as np

from scarce.engine.block import Array
from scarce.results import short


@dataclass(frozen=True)
class Idle:
    """An action that is never the cheapest.

    Parameters
    ----------
    action : object
    by : object or None
        An action that costs no more in any class; None if several share it out among them.
    excess : float
        By how much it would have to be cheaper in every class to be used at all.

    Examples
    --------
    >>> print(Idle("call", None, 0.5))
    'call' is never the cheapest: it would have to cost 0.5 less.
    """

    action: Any
    by: Any
    excess: float

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return asdict(self)

    def __str__(self) -> str:
        if self.by is not None:
            return f"{self.action!r} is never the cheapest: {self.by!r} costs no more in any class."
        if self.excess <= 0:
            return f"{self.action!r} is never the only cheapest: others cost as little."
        return (
            f"{self.action!r} is never the cheapest: it would have to cost {short(self.excess)} "
            "less."
        )


def idle_actions(costs: Any) -> tuple[Idle, ...]:
    """Return the idle actions of a `CostMatrix` with fixed costs; none where costs vary by row."""
    if costs.amounts:
        return ()
    fixed = np.asarray(costs.costs)
    found = []
    for a, name in enumerate(costs.actions):
        by = _dominating(fixed, a)
        excess = _excess(fixed, a)
        if by is not None:
            found.append(Idle(name, costs.actions[by], max(excess, 0.0)))
        elif excess >= 0:
            found.append(Idle(name, None, excess))
    return tuple(found)


def _dominating(fixed: Array, a: int) -> int | None:
    """The action that costs no more than a in every class; of equal ones, one listed before."""
    for b in range(len(fixed)):
        gap = fixed[a] - fixed[b]
        if b != a and (gap >= 0).all() and ((gap > 0).any() or b < a):
            return b
    return None


def _excess(fixed: Array, a: int) -> float:
    """Least over p of how much dearer a is than the cheapest other; negative where it pays."""
    from scipy.optimize import linprog

    equal = (fixed == fixed[a]).all(axis=1)
    equal[:a] = False  # of equal actions the first is used
    others = fixed[~equal]
    if len(others) == 0:
        return -np.inf
    gaps = fixed[a] - others  # (others, classes): minimise t with gaps @ p <= t
    scale = np.abs(gaps).max()
    if scale == 0:
        return 0.0
    n_others, n_classes = gaps.shape
    answer = linprog(
        np.append(np.zeros(n_classes), 1.0),
        A_ub=np.column_stack([gaps / scale, -np.ones(n_others)]),
        b_ub=np.zeros(n_others),
        A_eq=np.append(np.ones(n_classes), 0.0)[None],
        b_eq=[1.0],
        bounds=[(0, 1)] * n_classes + [(None, None)],
    )
    value = float(answer.fun) * float(scale)
    return 0.0 if abs(value) < 1e-9 * scale else round(value, 12)


def order_matters(costs: Any) -> bool:
    """Say whether the costs would be others if the classes stood in another order.

    Examples
    --------
    >>> from scarce.decisions.costs import CostMatrix
    >>> order_matters(CostMatrix.zero_one(3).with_abstain(0.2))
    False
    >>> order_matters(CostMatrix.binary(false_alarm=1, miss=9))
    True
    """
    fixed, n_classes = np.asarray(costs.costs), costs.shape[1]
    square, rest = fixed[:n_classes], fixed[n_classes:]
    if costs.amounts or len(square) < n_classes:
        return True
    off = square[~np.eye(n_classes, dtype=bool)]
    return bool(np.ptp(off) or np.ptp(square.diagonal()) or np.ptp(rest, axis=1).any())


def earning_mistakes(costs: Any) -> list[str]:
    """Name a mistake that earns money in some row: a sign of exchanged or rescaled columns."""
    for (a, k), amount in costs.amounts:
        wrong = costs.actions[a] in costs.classes and costs.actions[a] != costs.classes[k]
        if not wrong or amount.values is None or costs.classes[k] not in costs.actions:
            continue
        least = amount.part(0, costs.n_rows)
        if len(least) and least.min() < 0:
            return [
                f"The cost {amount.text!r} of action {costs.actions[a]!r} in class "
                f"{costs.classes[k]!r} is below 0 in {int((least < 0).sum()):,} of {len(least):,} "
                f"rows ({short(least.min())} at row {int(least.argmin()):,}), so that a mistake "
                "earns money: is the column standardised, or another one? Pass the amounts as they "
                "are (amounts=), and put a pipeline inside the classifier, not before it."
            ]
    return []


def nonsense(costs: Any) -> list[str]:
    """Name pairs of actions for which doing the right thing costs more than doing the wrong one."""
    varying = {place for place, _ in costs.amounts}
    remarks = []
    for k, label in enumerate(costs.classes):
        if label not in costs.actions:
            continue
        right = costs.actions.index(label)
        for wrong in costs.class_actions:
            if wrong == right or {(right, k), (wrong, k)} & varying:
                continue
            if costs.costs[right, k] > costs.costs[wrong, k]:
                remarks.append(
                    f"In class {label!r} the right action {label!r} costs "
                    f"{short(costs.costs[right, k])}, more than the wrong one "
                    f"{costs.actions[wrong]!r} with {short(costs.costs[wrong, k])}. costs has a "
                    "row per action and a column per class; if these are gains, pass their "
                    "negatives."
                )
    return remarks
