"""For which probabilities is each action the cheapest? Two classes, in closed form.

    action a against b:  cost_a(p) - cost_b(p) = d0 (1 - p) + d1 p,  0 at p = d0 / (d0 - d1)

With the costs of a plain detector and an abstain action this is 003 sections 0.4 and 0.5: no action
below abstain / miss, action above 1 - abstain / false_alarm, a person in between; without a person
the one threshold false_alarm / (false_alarm + miss). DEVIATION from 003 section 0.5, whose rule
P(y | x) >= 1 - c names two actions at once where c >= 1/2: the band is then empty, and said so
(test_abstaining_never_pays_from_one_half_on). Assumes two classes; for more, ask cheapest.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from scarce.decisions.cost_checks import Idle, idle_actions
from scarce.engine.block import Array
from scarce.errors import UsageError
from scarce.results import short, to_plain


@dataclass(frozen=True, eq=False)
class Bands:
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

    actions: tuple[Any, ...]
    low: Array
    high: Array
    positive: Any
    idle: tuple[Idle, ...] = ()

    def __getitem__(self, action: Any) -> tuple[Any, Any]:
        if action not in self.actions:
            why = "".join(f" {one}" for one in self.idle if one.action == action)
            raise UsageError(f"There is no band of {action!r}; bands: {list(self.actions)}.{why}")
        place = self.actions.index(action)
        if self.low.ndim == 1:
            return float(self.low[place]), float(self.high[place])
        return self.low[place], self.high[place]

    def __contains__(self, action: Any) -> bool:
        return action in self.actions

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as a plain dictionary, for JSON."""
        return {
            "actions": list(self.actions),
            "low": to_plain(self.low),
            "high": to_plain(self.high),
            "positive": self.positive,
            "idle": [one.to_dict() for one in self.idle],
        }

    def __str__(self) -> str:
        width = max(len(str(action)) for action in self.actions)
        lines = []
        for place, action in enumerate(self.actions):
            if self.low.ndim == 1:
                what = _range_text(self.low[place], self.high[place], self.positive)
            else:
                what = _spread_text(self.low[place], self.high[place])
            lines.append(f"{action!s:<{width}}  {what}")
        return "\n".join([*lines, *map(str, self.idle)])


def bands(costs: Any) -> Bands:
    """Return the bands of a `CostMatrix` of two classes."""
    n_actions, n_classes = costs.shape
    if n_classes != 2:
        raise UsageError(
            f"These costs have {n_classes} classes {list(costs.classes)}: thresholds on one "
            "probability exist for two. Use decide(prob, costs)."
        )
    at_0 = np.stack([np.atleast_1d(e) for e in _broadcast(costs, 0)])  # (actions, 1 or n)
    at_1 = np.stack([np.atleast_1d(e) for e in _broadcast(costs, 1)])
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


def _broadcast(costs: Any, label: int) -> list[Any]:
    entries = [costs.part(a, label, 0, None) for a in range(costs.shape[0])]
    return [np.broadcast_to(entry, (costs.n_rows or 1,)) for entry in entries]


def _narrow(low: Array, high: Array, d0: Array, d1: Array, b_is_first: bool) -> None:
    """Cut the band of an action down to where it is no dearer than another, in place."""
    with np.errstate(divide="ignore", invalid="ignore"):
        # The two forms keep c / miss and 1 - c / false_alarm exact at their own ends.
        cross = d0 / (d0 - d1)
    rises, falls, level = d1 > d0, d1 < d0, d1 == d0
    np.minimum(high, cross, out=high, where=rises)
    np.maximum(low, cross, out=low, where=falls)
    loses = level & ((d0 > 0) | ((d0 == 0) & b_is_first))
    high[loses] = -1.0


def _range_text(low: float, high: float, positive: Any) -> str:
    if low <= 0 and high >= 1:
        return "always"
    if low <= 0:
        return f"while p({positive}) is below {short(high)}"
    return f"above {short(low)}" if high >= 1 else f"from {short(low)} to {short(high)}"


def _spread_text(low: Array, high: Array) -> str:
    used = ~np.isnan(low)
    if not used.any():
        return "never the cheapest, in no row"
    where = "" if used.all() else f", in {used.sum():,} of {len(used):,} rows"
    return f"from {_ends(low[used])} to {_ends(high[used])}{where}"


def _ends(values: Array) -> str:
    """One number where all rows have the same, else the least and the greatest."""
    if values.min() == values.max():
        return short(values[0])
    return f"({short(values.min())} ... {short(values.max())})"
