"""For which probabilities is each action the cheapest? Two classes, in closed form.

    action a against b:  cost_a(p) - cost_b(p) = d0 (1 - p) + d1 p,  0 at p = d0 / (d0 - d1)
    a is idle  if  max over p of min over b of (cost_b(p) - cost_a(p)) <= 0

With the costs of a plain detector and an abstain action this is 003 sections 0.4 and 0.5: no action
below abstain / miss, action above 1 - abstain / false_alarm, a person in between; without a person
the one threshold false_alarm / (false_alarm + miss). DEVIATION from 003 section 0.5, whose rule
P(y | x) >= 1 - c names two actions at once where c >= 1/2: the band is then empty, and said so
(test_abstaining_never_pays_from_one_half_on). Bands assume two classes; for more use decide.py.
Idle actions are found for any number of classes with fixed costs: one is dominated by another that
costs no more in any class, or lies above all mixes of others, and what it would have to cost less
is the value of a linear programme.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from scarce.engine.block import Array
from scarce.errors import UsageError
from scarce.results import Record, short

if TYPE_CHECKING:
    from scarce.decisions.cost_entries import Name
    from scarce.decisions.costs import CostMatrix


@dataclass(frozen=True)
class Idle(Record):
    """An action that is never the cheapest.

    Parameters
    ----------
    action : object
    by : object or None
        An action that costs no more in any class; None if it takes several to undercut this one.
    excess : float
        By how much it would have to be cheaper in every class to be used at all.

    Examples
    --------
    >>> print(Idle("call", None, 0.5))
    'call' is never the cheapest: it would have to cost 0.5 less.
    """

    action: Name
    by: Name | None
    excess: float

    def __str__(self) -> str:
        if self.by is not None:
            return f"{self.action!r} is never the cheapest: {self.by!r} costs no more in any class."
        if self.excess <= 0:
            return f"{self.action!r} is never the only cheapest: others cost as little."
        return (
            f"{self.action!r} is never the cheapest: it would have to cost {short(self.excess)} "
            "less."
        )


@dataclass(frozen=True, eq=False)
class Bands(Record):
    """Ranges of the probability of the last class on which actions are cheapest.

    Parameters
    ----------
    actions : tuple
        With fixed costs, those that are ever the cheapest, from low to high probability; with costs
        by row, all of them.
    low, high : ndarray of shape (n_actions,), or (n_actions, n_rows) with costs by row
        Ends of each band; NaN where an action is never the cheapest for a row.
    positive : object
        Name of the last class.
    idle : tuple of Idle
        Actions that are never the cheapest, and what they would have to cost.

    Examples
    --------
    >>> from scarce.decisions.costs import CostMatrix
    >>> found = CostMatrix.binary(false_alarm=1, miss=9).thresholds()
    >>> found.actions, found.low, found.high
    ((0, 1), array([0. , 0.1]), array([0.1, 1. ]))
    >>> found[1]
    (0.1, 1.0)
    """

    actions: tuple[Name, ...]
    low: Array
    high: Array
    positive: Name
    idle: tuple[Idle, ...] = ()

    def __getitem__(self, action: Name) -> tuple[Any, Any]:  # numbers, or arrays with costs by row
        if action not in self.actions:
            raise UsageError(
                "{action!r} has no band; bands: {known}.{why}",
                code="unknown-action",
                action=action,
                known=list(self.actions),
                why="".join(f" {one}" for one in self.idle if one.action == action),
            )
        place = self.actions.index(action)
        if self.low.ndim == 1:
            return float(self.low[place]), float(self.high[place])
        return self.low[place], self.high[place]

    def __contains__(self, action: Name) -> bool:
        return action in self.actions

    def texts(self) -> dict[Name, str]:
        """Return the band of each action in words."""
        found = {}
        for action, low, high in zip(self.actions, self.low, self.high, strict=True):
            if self.low.ndim == 1:
                found[action] = range_text(float(low), float(high), self.positive)
                continue
            used = ~np.isnan(low)
            if not used.any():
                found[action] = "never the cheapest in any row"
                continue
            where = "" if used.all() else f", in {used.sum():,} of {len(used):,} rows"
            ends = [ends_text(end[used].min(), end[used].max()) for end in (low, high)]
            found[action] = f"from {ends[0]} to {ends[1]}{where}"
        return found

    def __str__(self) -> str:
        width = max(len(str(action)) for action in self.actions)
        lines = [f"{action!s:<{width}}  {text}" for action, text in self.texts().items()]
        return "\n".join([*lines, *map(str, self.idle)])


def range_text(low: float, high: float, positive: Name) -> str:
    """Return the range of a probability in words.

    Examples
    --------
    >>> range_text(0.0, 0.4, "fraud"), range_text(0.4, 1.0, "fraud"), range_text(0.1, 0.4, "fraud")
    ('while p(fraud) is below 0.4', 'above 0.4', 'from 0.1 to 0.4')
    """
    if low <= 0 and high >= 1:
        return "always"
    if low <= 0:
        return f"while p({positive}) is below {short(high)}"
    return f"above {short(low)}" if high >= 1 else f"from {short(low)} to {short(high)}"


def ends_text(least: float, greatest: float) -> str:
    """Return one number where all rows have the same end, else the least and the greatest.

    Examples
    --------
    >>> ends_text(0.1, 0.1), ends_text(0.1, 0.25)
    ('0.1', '(0.1 ... 0.25)')
    """
    return short(least) if least == greatest else f"({short(least)} ... {short(greatest)})"


def find_bands(costs: CostMatrix) -> Bands:
    """Return the bands of costs for two classes."""
    n_actions, n_classes = costs.shape
    if n_classes != 2:
        raise UsageError(
            "The costs have {count} classes {classes}, and a threshold on one probability needs 2.",
            code="two-classes-needed",
            count=n_classes,
            classes=list(costs.classes),
            remedy="Use decide(prob, costs).",
        )
    at_0, at_1 = _entries(costs, 0), _entries(costs, 1)  # (actions, 1 or n)
    low, high = np.zeros_like(at_0), np.ones_like(at_0)
    for a in range(n_actions):
        for b in range(n_actions):
            if a != b:
                _narrow(low[a], high[a], at_0[a] - at_0[b], at_1[a] - at_1[b], b < a)
    # At a single point another action is as cheap: no band.
    empty = ~(low < high)
    low[empty], high[empty] = np.nan, np.nan
    if costs.n_rows is not None:
        return Bands(costs.actions, low, high, costs.classes[1])
    used = [a for a in np.argsort(low[:, 0], kind="stable") if not empty[a, 0]]
    return Bands(
        tuple(costs.actions[a] for a in used),
        low[used, 0],
        high[used, 0],
        costs.classes[1],
        idle_actions(costs),
    )


def _entries(costs: CostMatrix, label: int) -> Array:
    entries = [costs.part(a, label, 0, None) for a in range(costs.shape[0])]
    return np.stack([np.broadcast_to(entry, (costs.n_rows or 1,)) for entry in entries])


def _narrow(low: Array, high: Array, d0: Array, d1: Array, b_is_first: bool) -> None:
    """Cut the band of an action down to where it costs no more than another, in place."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # The two forms keep c / miss and 1 - c / false_alarm exact at their own ends.
        cross = d0 / (d0 - d1)
    rises, falls, level = d1 > d0, d1 < d0, d1 == d0
    np.minimum(high, cross, out=high, where=rises)
    np.maximum(low, cross, out=low, where=falls)
    loses = level & ((d0 > 0) | ((d0 == 0) & b_is_first))
    high[loses] = -1.0


def idle_actions(costs: CostMatrix) -> tuple[Idle, ...]:
    """Return the idle actions of fixed costs; none where costs vary by row."""
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
    """Least over p of how much more a costs than the cheapest other; negative where it pays."""
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
