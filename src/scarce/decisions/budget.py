"""Which rows get an action that only so many can have?

    sum over rows of  min over actions of expected cost,   with at most capacity[a] rows on a
    = max over prices >= 0 of  sum_i min_a (cost[a, i] + price[a]) - sum_a capacity[a] price[a]

"I can open 200 cases": the 200 with the greatest expected gain over the cheapest alternative. The
price is what one more place would save. One limited action is a partition of the gains, linear in
the rows; amounts that differ by row (hours) are a knapsack, filled by gain per unit, with the gap
to the best possible stated. Several limits are a transportation problem with few actions and many
rows. Its dual is concave in one price per action and has no optimum but global ones along "raise
the prices of a set of actions together" (it is L-natural concave: Murota, Discrete Convex Analysis,
2003, chapter 7), and the best step along such a set is an order statistic of the rows: one
partition, no sort. What rounding and ties leave over is corrected on the graph of actions, moving
the rows that lose least (successive shortest paths: Ahuja, Magnanti and Orlin, Network Flows, 1993,
section 9.7). Assumes that gains add up over rows, and that all rows are there before the first is
decided.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from itertools import combinations, pairwise
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import (
    Number,
    read_column,
    read_integer,
    read_number,
    refuse_length,
    refuse_negative,
    refuse_other_index,
)
from scarce.decisions.cost_entries import Name, position_of
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs
from scarce.decisions.decide import (
    action_counts,
    class_probabilities,
    expected_cost,
    row_slices,
    same_rows,
)
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError
from scarce.results import Record, in_rows, short

FILLS = 200  # rounds of filling the room that the first row that does not fit leaves over


@dataclass(frozen=True, eq=False)
class DecisionWithin(Record):
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
    price: dict[Name, float]
    used: dict[Name, float]
    capacity: dict[Name, float]
    expected_cost: float
    without: dict[str, float]
    gap: float
    names: tuple[Name, ...]

    def __len__(self) -> int:
        return len(self.actions)

    def __str__(self) -> str:
        lines = [f"{in_rows(len(self))}: {action_counts(self.actions, self.names)}"]
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
    prob: ArrayLike,
    costs: CostsLike,
    *,
    capacity: Mapping[Name, float],
    uses: ArrayLike | None = None,
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
    first ones are taken. Several: see `allot`; 1 to 2 s for 1e6 rows and three limits.
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
    refuse_other_index(prob=prob, costs=matrix, uses=uses)
    given = class_probabilities(prob, matrix.classes)
    same_rows(len(given), matrix, "prob")
    room = _read_capacity(capacity, matrix, whole=uses is None)
    if len(room) == 1:
        return _one_limit(given, matrix, room, uses)
    if uses is not None:
        raise UsageError(
            "{uses} works with a limit on one action, got limits on {count}.",
            code="uses-one-limit",
            uses=Argument("uses"),
            count=len(room),
            remedy="Limit one action, or leave {uses} out and count rows.",
        )
    return _several_limits(given, matrix, room)


def _one_limit(
    prob: Array, costs: CostMatrix, room: dict[int, float], uses: ArrayLike | None
) -> DecisionWithin:
    ((limited, most),) = room.items()
    n = len(prob)
    lead, wants = np.empty(n), np.empty(n, np.bool_)
    other = np.empty(n, np.min_scalar_type(costs.shape[0]))
    least = none = 0.0
    for rows in row_slices(n, costs):
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
            "The limits leave room for {room:,.0f} of {rows}, and every action has one.",
            code="capacity-too-small",
            room=float(limit.sum()),
            rows=in_rows(n),
            remedy="Raise them, or leave one action without a limit.",
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


def _read_capacity(capacity: object, costs: CostMatrix, *, whole: bool) -> dict[int, float]:
    if not isinstance(capacity, Mapping) or not capacity:
        raise UsageError(
            "{capacity} must name an action and its limit, such as {example}.",
            code="capacity-type",
            capacity=Argument("capacity", capacity),
            example={costs.actions[-1]: 200},
        )
    room = {}
    for name, most in capacity.items():
        a = position_of(name, costs.actions, "action")
        said = f"capacity[{name!r}]"
        room[a] = read_integer(most, said, 0) if whole else read_number(most, said, Number(0))
    return room


def _read_uses(uses: ArrayLike, n: int) -> Array:
    refuse_length(uses, n, "uses")
    amount = np.asarray(read_column(uses, "uses"))
    refuse_negative(amount, "uses")
    return amount


ALL_SETS = 6  # limited actions, up to which every set of them is tried: 63 partitions a round
ROUNDS = 60
PART = 100_000  # rows from which a part is priced first

Path = tuple[float, tuple[int, ...]]


class Allotment(NamedTuple):
    """An assignment of rows to actions, with its proof."""

    position: NDArray[np.intp]  # (n,)
    price: Array  # (actions,): what one more place is worth
    gap: float  # how far the total cost may be above the least possible


def allot(costs: Array, room: Array) -> Allotment:
    """Assign an action to each row at the least total cost, within the room of each action.

    Parameters
    ----------
    costs : ndarray of shape (n_actions, n)
        Of each action in each row.
    room : ndarray of shape (n_actions,)
        Whole numbers, or inf. Together at least n.

    Notes
    -----
    A round costs one partition of the rows for each set of limited actions, 2^L - 1 of them up to
    L = 6, the single ones and all together beyond; a handful of rounds is the rule. Beyond six the
    prices may stop short of the best, and the rest is moved a row at a time, each for one look at
    all rows: still exact, but without a bound on how many moves it takes.

    Examples
    --------
    >>> costs = np.array([[1.0, 1.5, 2.0], [0.0, 0.0, 2.5], [5.0, 5.0, 5.0]])
    >>> allot(costs, np.array([1, 1, np.inf]))
    Allotment(position=array([0, 1, 2]), price=array([3., 4., 0.]), gap=0.0)
    """
    price = _prices(costs, room)
    position = (costs + price[:, None]).argmin(axis=0)
    _correct(costs, room, position)
    price = _place_values(costs, room, position)
    full = room < np.inf
    taken = np.take_along_axis(costs, position[None], axis=0)[0]
    # Row by row, where both sides are alike to the last digits of a single row, not of the total.
    slack = taken + price[position] - (costs + price[:, None]).min(axis=0)
    count = np.bincount(position, minlength=len(costs))
    gap = float(slack.sum() + (price[full] * (room[full] - count[full])).sum())
    return Allotment(position, price, gap)


def _prices(costs: Array, room: Array) -> Array:
    """Prices at which no set of limited actions should cost more or less; best if all sets."""
    n = costs.shape[1]
    price = np.zeros(len(costs))
    if n > PART:
        step = n // (PART // 5)
        some = costs[:, ::step]
        scaled = np.round(room * (some.shape[1] / n))
        if scaled.sum() >= some.shape[1]:
            price = _prices(some, scaled)
    limited = [int(a) for a in np.flatnonzero(np.isfinite(room))]
    sizes = range(1, len(limited) + 1) if len(limited) <= ALL_SETS else (1, len(limited))
    sets = [list(members) for size in sizes for members in combinations(limited, size)]
    priced = costs + price[:, None]
    for _ in range(ROUNDS):
        moved = False
        for members in sets:
            step_by = _step(
                priced, members, float(room[members].sum()), float(price[members].min())
            )
            if step_by != 0.0:
                before = price[members].copy()
                price[members] = np.maximum(before + step_by, 0.0)
                priced[members] = costs[members] + price[members, None]
                moved |= bool((price[members] != before).any())
        if not moved:
            break
    return price


def _step(priced: Array, members: list[int], room: float, least: float) -> float:
    """By how much to raise the prices of a set of actions together; the shortest best step."""
    n = priced.shape[1]
    others = [a for a in range(len(priced)) if a not in members]
    if room > n:
        return -least
    if not others:
        return 0.0
    lead = priced[others].min(axis=0) - priced[members].min(axis=0)
    first_out = n - int(room) - 1  # place of the greatest lead that finds no room
    places = [at for at in (first_out, first_out + 1) if 0 <= at < n]
    lead.partition(places)
    if first_out >= 0 and lead[first_out] > 0.0:
        return float(lead[first_out])
    if first_out + 1 < n and lead[first_out + 1] < 0.0:
        return max(float(lead[first_out + 1]), -least)
    return 0.0


def _correct(costs: Array, room: Array, position: NDArray[np.intp]) -> None:
    """Move rows along cheapest chains of actions, until none is too full and no chain saves."""
    trifle = 16 * np.finfo(np.float64).eps * float(np.abs(costs).max(initial=0.0))
    while True:
        count = np.bincount(position, minlength=len(costs))
        spare = np.flatnonzero(count < room)
        over = np.flatnonzero(count > room)
        sources = over if len(over) else np.flatnonzero(count > 0)
        loss = _losses(costs, position)
        chains = [
            chain
            for start in sources
            for end, chain in _chains(loss, [int(start)]).items()
            if end in spare and end != start
        ]
        if len(over) == 0:
            chains = [chain for chain in chains if chain[0] < -trifle]
        if not chains:
            return
        _, path = min(chains)
        most = room[path[-1]] - count[path[-1]]
        if len(over):
            most = min(most, count[path[0]] - room[path[0]])
        _move(costs, position, path, loss, most)


def _losses(costs: Array, position: NDArray[np.intp]) -> Array:
    """What it costs at least to move one row from an action (first index) to another."""
    loss = np.full((len(costs), len(costs)), np.inf)
    for a in range(len(costs)):
        rows = np.flatnonzero(position == a)
        if len(rows):
            held = costs[:, rows]
            loss[a] = (held - held[a]).min(axis=1)
        loss[a, a] = np.inf
    return loss


def _chains(loss: Array, starts: list[int]) -> dict[int, Path]:
    """The cheapest chain of moves from any start to each action, without passing one twice."""
    best: dict[int, Path] = {start: (0.0, (start,)) for start in starts}
    for _ in range(len(loss) - 1):
        changed = False
        for a, (cost, path) in list(best.items()):
            for b in range(len(loss)):
                longer = cost + float(loss[a, b])
                if b not in path and longer < best.get(b, (np.inf, ()))[0]:
                    best[b] = (longer, (*path, b))
                    changed = True
        if not changed:
            break
    return best


def _move(
    costs: Array, position: NDArray[np.intp], path: tuple[int, ...], loss: Array, most: float
) -> None:
    """Move rows along a chain: as many as lose equally little, at most so many."""
    movers = []
    for a, b in pairwise(path):
        rows = np.flatnonzero(position == a)
        movers.append(rows[costs[b, rows] - costs[a, rows] == loss[a, b]])
    size = int(min([most, *map(len, movers)]))
    for rows, b in zip(movers, path[1:], strict=True):
        position[rows[:size]] = b


def _place_values(costs: Array, room: Array, position: NDArray[np.intp]) -> Array:
    """What one more place would save: the best chain of moves that ends there."""
    count = np.bincount(position, minlength=len(costs))
    chains = _chains(_losses(costs, position), list(range(len(costs))))
    saved = np.array([max(0.0 - chains[a][0], 0.0) for a in range(len(costs))])
    return np.where(count >= room, saved, 0.0)
