"""Which rows get an action that only so many can have?

    sum over rows of  min over actions of expected cost,   with at most capacity[a] rows on a

"I can open 200 cases": the 200 with the greatest expected gain over the cheapest alternative. The
price is what one more place would save. One limited action is a partition of the gains, linear in
the rows; several are a transportation problem (allotment.py); amounts that differ by row (hours) a
knapsack, filled by gain per unit, with the gap to the best possible stated. Assumes that gains add
up over rows, and that all rows are there before the first is decided.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.checks import column, whole_number
from scarce.decisions.allotment import allot
from scarce.decisions.cheapest import expected_cost, read_prob
from scarce.decisions.costs import CostMatrix, as_costs
from scarce.decisions.doubt import pieces, same_rows, tally
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, suggest
from scarce.results import in_rows, short

FILLS = 200  # rounds of filling the room that the first row that does not fit leaves over


@dataclass(frozen=True, eq=False)
class DecisionWithin:
    """An action for each row within the limits, and what the limits cost.

    Parameters
    ----------
    actions : ndarray of shape (n,)
        Names of the actions chosen.
    gain : ndarray of shape (n,)
        What the action saves in expectation over the cheapest one without a limit; 0 for rows that
        take such an action, NaN if every action has a limit.
    wanted : ndarray of shape (n,)
        What the row would gain if there were no limits; the rows with wanted > gain went short.
    price : dict {action: float}
        What one more place would save. With `uses`, what one more unit is worth at the margin.
    used, capacity : dict {action: number}
        Rows, or units, that the limited actions take up and may take up.
    expected_cost : float
        Of all rows together.
    without : dict
        Expected cost without the limits ("limit"), and with none of the limited actions
        ("action"; NaN if every action has a limit).
    gap : float
        How far the expected cost may be above the least possible: 0 up to rounding, but for `uses`.
    names : tuple
        Names of the actions.

    Examples
    --------
    >>> costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    >>> print(decide_within([0.2, 0.9, 0.3, 0.01], costs, capacity={"open": 1}))
    4 rows: pass for 3, open for 1
    open: 1 of 1 used; one more is worth 2
    expected cost 4.69; 1.69 without the limit, 12.7 with no limited action
    """

    actions: NDArray[Any]
    gain: Array
    wanted: Array
    price: dict[Any, float]
    used: dict[Any, float]
    capacity: dict[Any, float]
    expected_cost: float
    without: dict[str, float]
    gap: float
    names: tuple[Any, ...]

    def __len__(self) -> int:
        return len(self.actions)

    def __str__(self) -> str:
        lines = [f"{in_rows(len(self))}: {tally(self.actions, self.names)}"]
        for name, room in self.capacity.items():
            lines.append(
                f"{name}: {self.used[name]:,.6g} of {room:,.6g} used; one more is worth "
                f"{short(self.price[name])}"
            )
        none = f", {short(self.without['action'])} with no limited action"
        lines.append(
            f"expected cost {short(self.expected_cost)}; {short(self.without['limit'])} without "
            f"the limit{'s' if len(self.capacity) > 1 else ''}"
            + ("" if np.isnan(self.without["action"]) else none)
        )
        if self.gap > 1e-9 * max(abs(self.expected_cost), 1e-300):
            lines.append(f"at most {short(self.gap)} above the least possible")
        return "\n".join(lines)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, for JSON; limits as a list, for names may be numbers."""
        none = self.without["action"]
        gain = self.gain.tolist() if not np.isnan(none) else None
        return {
            "actions": self.actions.tolist(),
            "gain": gain,
            "wanted": self.wanted.tolist() if gain is not None else None,
            "limits": [
                {"action": name, "capacity": room, "used": self.used[name], "price": price}
                for (name, room), price in zip(
                    self.capacity.items(), self.price.values(), strict=True
                )
            ],
            "expected_cost": self.expected_cost,
            "without": {**self.without, "action": None if np.isnan(none) else none},
            "gap": self.gap,
        }


def decide_within(
    prob: Any,
    costs: Any,
    *,
    capacity: Mapping[Any, float],
    uses: Any = None,
) -> DecisionWithin:
    """Choose the actions with the least total cost when some can be taken only so often.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of every class.
    costs : CostMatrix or array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
    capacity : dict {action: int}
        How many rows may have the action; actions that are not named have no limit. With `uses`,
        units in place of rows.
    uses : array-like of shape (n,), optional
        Units (hours, beds) that a row would take up of the one limited action.

    Returns
    -------
    DecisionWithin

    **Assumes** that the rows given are all that compete for the places.

    Notes
    -----
    Without `uses` the answer is exact. One limit: linear in the rows; of rows with equal gain the
    first ones are taken. Several: see `allotment.allot`; 1 to 2 s for 1e6 rows and three limits.
    With `uses` the rows are taken by gain per unit, and so on past those that no longer fit: the
    gap is never more than the gain of one row. Limits that do not bind change nothing: the actions
    are those of `decide`.

    Examples
    --------
    >>> costs = CostMatrix([[0, 9], [1, 0]], actions=["pass", "open"])
    >>> found = decide_within([0.2, 0.9, 0.3, 0.01], costs, capacity={"open": 2})
    >>> found.actions, round(found.price["open"], 6)
    (array(['pass', 'open', 'open', 'pass'], dtype='<U4'), 1.0)

    The second row takes all seven hours, and is worth more than the others that would fit:

    >>> decide_within([0.2, 0.9, 0.3, 0.01], costs, capacity={"open": 7}, uses=[1, 7, 1, 1]).actions
    array(['pass', 'open', 'pass', 'pass'], dtype='<U4')
    """
    matrix = as_costs(costs)
    given = read_prob(prob, matrix.classes)
    same_rows(len(given), matrix, "prob")
    room = _read_capacity(capacity, matrix, whole=uses is None)
    if len(room) == 1 and matrix.shape[0] > 1:
        return _one_limit(given, matrix, room, uses)
    if uses is not None:
        raise UsageError(
            f"uses= with limits on {len(room)} actions is not solved here: limit one action, or "
            "leave uses= out and count rows."
        )
    return _several_limits(given, matrix, room)


def _one_limit(prob: Array, costs: CostMatrix, room: dict[int, float], uses: Any) -> DecisionWithin:
    ((limited, most),) = room.items()
    n = len(prob)
    lead, wants = np.empty(n), np.empty(n, np.bool_)
    other = np.empty(n, np.min_scalar_type(costs.shape[0]))
    least = none = 0.0
    for rows in pieces(n, costs):
        table = np.ascontiguousarray(
            expected_cost(prob[rows], costs.take(rows), classes=costs.classes).T
        )
        mine, cheapest = table[limited], np.full(table.shape[1], np.inf)
        for a in range(len(table)):
            if a != limited:
                np.copyto(other[rows], a, where=table[a] < cheapest, casting="unsafe")
                np.minimum(cheapest, table[a], out=cheapest)
        # Of equal costs the action listed first, as decide has it.
        wants[rows] = (mine < cheapest) | ((mine == cheapest) & (other[rows] > limited))
        least += float(np.minimum(mine, cheapest).sum())
        none += float(cheapest.sum())
        np.subtract(cheapest, mine, out=lead[rows])
    asking = np.flatnonzero(wants)
    if uses is None:
        kept, price = _best(lead[asking], int(most))
        used, gap = float(len(kept)), 0.0
    else:
        amount = _read_uses(uses, n)
        kept, price, gap = _fill(lead[asking], amount[asking], most)
        used = float(amount[asking[kept]].sum())
    taken = asking[kept]
    gain = np.zeros(n)
    gain[taken] = lead[taken]
    position = other.astype(np.intp)
    position[taken] = limited
    saved = float(gain.sum())
    name = costs.actions[limited]
    return DecisionWithin(
        costs.action_names()[position],
        gain,
        np.where(wants, lead, 0.0),
        {name: price},
        {name: used},
        {name: most},
        least if len(taken) == len(asking) else none - saved,
        {"limit": least, "action": none},
        gap,
        costs.actions,
    )


def _best(gain: Array, most: int) -> tuple[NDArray[np.intp], float]:
    """Places of the greatest gains, the first of equal ones; and the greatest one left out.

    Examples
    --------
    >>> _best(np.array([1.0, 3.0, 2.0, 3.0, 2.0]), 3)
    (array([1, 2, 3]), 2.0)
    """
    n = len(gain)
    if n <= most:
        return np.arange(n), 0.0
    if most == 0:
        return np.arange(0), float(gain.max())
    first_out = n - most - 1
    ordered = np.partition(gain, [first_out, first_out + 1])
    cut = ordered[first_out + 1]
    kept = gain > cut
    equal = np.flatnonzero(gain == cut)
    kept[equal[: most - int(np.count_nonzero(kept))]] = True
    return np.flatnonzero(kept), float(ordered[first_out])


def _fill(gain: Array, amount: Array, room: float) -> tuple[NDArray[np.intp], float, float]:
    """Rows by gain per unit until the room is full; the price of a unit, and the gap at most."""
    with np.errstate(divide="ignore", over="ignore", invalid="ignore"):
        rate = np.where(amount > 0.0, gain / amount, np.inf)
    rest = np.argsort(-rate, kind="stable")
    filled = np.cumsum(amount[rest])
    critical = int(np.searchsorted(filled, room, side="right"))
    if critical == len(rest):
        return np.arange(len(gain)), 0.0, 0.0
    before = float(filled[critical - 1]) if critical else 0.0
    price = float(rate[rest[critical]])
    # With a part of the first row that does not fit, nothing can be better: Dantzig's bound.
    bound = float(gain[rest[:critical]].sum()) + (room - before) * price
    parts, left = [rest[:critical]], room - before
    rest = rest[critical:]
    for _ in range(FILLS):
        rest = rest[amount[rest] <= left]
        if len(rest) == 0:
            break
        filled = np.cumsum(amount[rest])
        fits = int(np.searchsorted(filled, left, side="right"))
        parts.append(rest[:fits])
        left -= float(filled[fits - 1])
        rest = rest[fits:]
    kept = np.concatenate(parts)
    alone = np.flatnonzero(amount <= room)
    best = alone[gain[alone].argmax()] if len(alone) else 0
    if len(alone) and gain[best] > gain[kept].sum():
        kept = np.array([best])
    return kept, price, max(bound - float(gain[kept].sum()), 0.0)


def _several_limits(prob: Array, costs: CostMatrix, room: dict[int, float]) -> DecisionWithin:
    n, n_actions = len(prob), costs.shape[0]
    limit = np.array([room.get(a, np.inf) for a in range(n_actions)])
    if limit.sum() < n:
        raise UsageError(
            f"The limits leave room for {limit.sum():,.0f} of {in_rows(n)}, and every action has "
            "one: raise them, or leave one action without a limit."
        )
    table = np.ascontiguousarray(expected_cost(prob, costs, classes=costs.classes).T)
    position = table.argmin(axis=0)
    least = table.min(axis=0)
    count = np.bincount(position, minlength=n_actions)
    price, gap = np.zeros(n_actions), 0.0
    if (count > limit).any():
        position, price, gap = allot(table, limit)
    free = np.isinf(limit)
    base = table[free].min(axis=0) if free.any() else np.full(n, np.nan)
    taken = np.take_along_axis(table, position[None], axis=0)[0]
    count = np.bincount(position, minlength=n_actions)
    name = costs.actions
    return DecisionWithin(
        costs.action_names()[position],
        base - taken,
        base - least,
        {name[a]: float(price[a]) for a in room},
        {name[a]: float(count[a]) for a in room},
        {name[a]: most for a, most in room.items()},
        float(taken.sum()),
        {"limit": float(least.sum()), "action": float(base.sum())},
        gap,
        name,
    )


def _read_capacity(capacity: Any, costs: CostMatrix, *, whole: bool) -> dict[int, float]:
    if not isinstance(capacity, Mapping) or not capacity:
        raise UsageError(
            f"capacity={capacity!r} names no action: give a dict such as "
            f"capacity={{{costs.actions[-1]!r}: 200}}."
        )
    room = {}
    for name, most in capacity.items():
        if not isinstance(name, Hashable) or name not in costs.actions:
            raise UsageError(
                f"capacity names the action {name!r}, and the costs have {list(costs.actions)}."
                f"{suggest(str(name), map(str, costs.actions))}"
            )
        a = costs.actions.index(name)
        if whole:
            room[a] = float(whole_number(most, f"capacity[{name!r}]", least=0))
            continue
        number = isinstance(most, (int, float, np.number)) and not isinstance(most, bool)
        if not number or not 0.0 <= most < np.inf:
            raise UsageError(
                f"capacity[{name!r}]={most!r} is no amount: give a number of 0 or more, in the "
                "unit of uses."
            )
        room[a] = float(most)
    return room


def _read_uses(uses: Any, n: int) -> Array:
    amount = np.asarray(column(uses, "uses"))
    if len(amount) != n:
        raise DataError(f"uses has {len(amount):,} values for {in_rows(n)}: give one for each row.")
    bad = np.flatnonzero(~((amount >= 0.0) & (amount < np.inf)))
    if len(bad):
        raise DataError(
            f"uses is {amount[bad[0]]:g} at row {bad[0]:,} ({len(bad):,} such values): give what "
            "the row would take up, 0 or more."
        )
    return amount
