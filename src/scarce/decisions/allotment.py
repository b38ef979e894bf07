"""Who gets the places, when several actions have room for so many rows only?

    min over assignments of sum_i cost[a_i, i]   with at most room[a] rows on action a
    = max over prices >= 0 of  sum_i min_a (cost[a, i] + price[a]) - sum_a room[a] price[a]

A transportation problem with few actions and many rows. Its dual is concave in one price per
action and has no optimum but global ones along "raise the prices of a set of actions together"
(it is L-natural concave: Murota, Discrete Convex Analysis, 2003, chapter 7), and the best step
along such a set is an order statistic of the rows: one partition, no sort. What rounding and ties
leave over is mended on the graph of actions, moving the rows that lose least (successive shortest
paths: Ahuja, Magnanti and Orlin, Network Flows, 1993, section 9.7). Assumes enough room for all
rows. The gap between both sides is the certificate.
"""

from __future__ import annotations

from itertools import combinations, pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array

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
    """Assign each row an action so that the total cost is least and no action has too many.

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
    _mend(costs, room, position)
    price = _worth(costs, room, position)
    full = room < np.inf
    taken = np.take_along_axis(costs, position[None], axis=0)[0]
    # Row by row, where both sides are alike to the last digits of a single row, not of the total.
    slack = taken + price[position] - (costs + price[:, None]).min(axis=0)
    count = np.bincount(position, minlength=len(costs))
    gap = float(slack.sum() + (price[full] * (room[full] - count[full])).sum())
    return Allotment(position, price, gap)


def _prices(costs: Array, room: Array) -> Array:
    """Prices at which no set of limited actions should be dearer or cheaper; best if all sets."""
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
    dear = costs + price[:, None]
    for _ in range(ROUNDS):
        moved = False
        for members in sets:
            step_by = _step(dear, members, float(room[members].sum()), float(price[members].min()))
            if step_by != 0.0:
                before = price[members].copy()
                price[members] = np.maximum(before + step_by, 0.0)
                dear[members] = costs[members] + price[members, None]
                moved |= bool((price[members] != before).any())
        if not moved:
            break
    return price


def _step(dear: Array, members: list[int], room: float, least: float) -> float:
    """By how much to raise the prices of a set of actions together; the shortest best step."""
    n = dear.shape[1]
    others = [a for a in range(len(dear)) if a not in members]
    if room > n:
        return -least
    if not others:
        return 0.0
    lead = dear[others].min(axis=0) - dear[members].min(axis=0)
    first_out = n - int(room) - 1  # place of the greatest lead that finds no room
    places = [at for at in (first_out, first_out + 1) if 0 <= at < n]
    lead.partition(places)
    if first_out >= 0 and lead[first_out] > 0.0:
        return float(lead[first_out])
    if first_out + 1 < n and lead[first_out + 1] < 0.0:
        return max(float(lead[first_out + 1]), -least)
    return 0.0


def _mend(costs: Array, room: Array, position: NDArray[np.intp]) -> None:
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


def _worth(costs: Array, room: Array, position: NDArray[np.intp]) -> Array:
    """What one more place would save: the best chain of moves that ends there."""
    count = np.bincount(position, minlength=len(costs))
    chains = _chains(_losses(costs, position), list(range(len(costs))))
    saved = np.array([max(0.0 - chains[a][0], 0.0) for a in range(len(costs))])
    return np.where(count >= room, saved, 0.0)
