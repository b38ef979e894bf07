"""What to do when a probability is known only as an interval?

    regret of a = max over p in the interval, over b, of  sum_k p_k (cost[a, k] - cost[b, k])
    worst of a  = max over p in the interval of            sum_k p_k  cost[a, k]

The action with the least of either, exactly: a linear function over a box of class probabilities is
greatest where each class has its lower bound and the mass left over goes to the dearest classes
first (a fractional knapsack). Two classes need the two ends only. The papers have point
probabilities alone (003 section 0.2), which are the case low == high. Assumes that the truth lies
in the interval, whatever its level; makes no interval: see RareClassifier.predict_interval.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.checks import column
from scarce.decisions.cheapest import SUM_TOLERANCE, expected_cost
from scarce.decisions.costs import CostMatrix, as_costs
from scarce.decisions.prob_table import prob_table
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, refuse_word
from scarce.results import in_rows, short

RULES = ("regret", "worst")
ROUNDING = SUM_TOLERANCE  # how far a row of single-precision probabilities may sum from 1
CELLS = 2**17  # numbers in the temporaries of a piece: they stay in cache


@dataclass(frozen=True, eq=False)
class DecisionBetween:
    """An action for each row, and what it is guaranteed to stay below.

    Parameters
    ----------
    actions : ndarray of shape (n,)
        Names of the actions chosen.
    bound : ndarray of shape (n,)
        With rule "regret", the most that the action can cost above the best one for any
        probability in the row's interval; with "worst", the most that it can cost.
    settled : ndarray of bool of shape (n,)
        Whether one action is cheapest everywhere in the interval, so that knowing the probability
        better changes nothing. It is then the one chosen.
    admissible : ndarray of bool of shape (n, n_actions)
        Actions that no other single one undercuts everywhere in the interval.
    names : tuple
        Names of the actions, in the order of the columns of `admissible`.
    rule : {"regret", "worst"}

    Examples
    --------
    >>> print(decide_between([0.01, 0.2], [0.03, 0.6], [[0, 9], [1, 0]]))
    2 rows, by least regret: 0 for 1, 1 for 1
    settled: 2 rows; whatever the probability inside the interval, no other action is cheaper
    guaranteed: at most 0 above the best action in any row, 0 on average
    """

    actions: NDArray[Any]
    bound: Array
    settled: NDArray[np.bool_]
    admissible: NDArray[np.bool_]
    names: tuple[Any, ...]
    rule: str

    def __len__(self) -> int:
        return len(self.actions)

    def __str__(self) -> str:
        most, mean = short(float(self.bound.max())), short(float(self.bound.mean()))
        what = " above the best action" if self.rule == "regret" else ""
        how = "least regret" if self.rule == "regret" else "least worst cost"
        done = int(self.settled.sum())
        return "\n".join(
            [
                f"{in_rows(len(self))}, by {how}: {tally(self.actions, self.names)}",
                f"settled: {in_rows(done)}; whatever the probability inside the interval, no other "
                "action is cheaper",
                f"guaranteed: at most {most}{what} in any row, {mean} on average",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, for JSON."""
        return {
            "rule": self.rule,
            "names": list(self.names),
            "actions": self.actions.tolist(),
            "bound": self.bound.tolist(),
            "settled": self.settled.tolist(),
            "admissible": self.admissible.tolist(),
        }


def decide_between(low: Any, high: Any, costs: Any, *, rule: str = "regret") -> DecisionBetween:
    """Choose an action for each row whose probabilities are known only to lie between two bounds.

    Parameters
    ----------
    low, high : array-like of shape (n,) or (n, n_classes)
        Bounds on the probability of the last of two classes, or on that of every class. Of the
        box of bounds, the probabilities that sum to 1 count.
    costs : CostMatrix or array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
    rule : {"regret", "worst"}
        "regret" takes the action that can never be much dearer than the best one, "worst" the one
        whose greatest possible cost is least. The first fits most uses: the second acts as if the
        dearest class were always as likely as the interval allows.

    Returns
    -------
    DecisionBetween

    **Assumes** that the truth lies inside the bounds. Bounds of one row are taken apart from those
    of others.

    Notes
    -----
    Exact, no search. For `low == high` it is `decide`, ties included. Two classes cost as much as
    two calls of `expected_cost`; K classes and A actions, A^2 K operations a row.

    Examples
    --------
    A miss costs 9 false alarms, so the threshold is 0.1. The third row's interval reaches over it;
    erring towards the alarm costs at most 0.5 there, erring the other way up to 2.

    >>> found = decide_between([0.01, 0.3, 0.05], [0.04, 0.5, 0.3], [[0, 9], [1, 0]])
    >>> found.actions, found.bound.round(2), found.settled
    (array([0, 1, 1]), array([0. , 0. , 0.5]), array([ True,  True, False]))
    >>> box = [[0.1, 0.2, 0.1]], [[0.6, 0.7, 0.5]]
    >>> decide_between(*box, 1 - np.eye(3)).bound.round(2)
    array([0.4])
    """
    refuse_word("rule", rule, RULES)
    matrix = as_costs(costs)
    low, high = read_bounds(low, high, matrix)
    n, n_actions = len(low), matrix.shape[0]
    position, bound = np.empty(n, np.intp), np.empty(n)
    settled, admissible = np.empty(n, np.bool_), np.empty((n, n_actions), np.bool_)
    for rows in pieces(n, matrix):
        regret, worst, kept = _tables(low[rows], high[rows], matrix.take(rows))
        done = regret.min(axis=1) <= 0.0
        table = regret if rule == "regret" else worst
        # A worst case may be shared by several actions; one that is never dearer goes first.
        chosen = np.where(done, regret.argmin(axis=1), table.argmin(axis=1))
        position[rows], settled[rows], admissible[rows] = chosen, done, kept
        bound[rows] = np.take_along_axis(table, chosen[:, None], axis=1)[:, 0]
    names = matrix.action_names()
    return DecisionBetween(names[position], bound, settled, admissible, matrix.actions, rule)


def _tables(low: Array, high: Array, costs: CostMatrix) -> tuple[Array, Array, NDArray[np.bool_]]:
    """Greatest regret and greatest cost of each action, and whether it is admissible."""
    if low.ndim == 1:
        return _from_ends(low, high, costs)
    point, prob = _points(low, high)
    if low.shape[1] == 2:
        # What one class has, the other has not: the box is an interval of the last class.
        least = np.maximum(low[:, 1], 1.0 - high[:, 0])
        most = np.maximum(least, np.minimum(high[:, 1], 1.0 - low[:, 0]))
        ends = [np.column_stack([1.0 - end, end]) for end in (least, most)]
        for end in ends:
            end[point] = prob[point]
        return _from_ends(ends[0], ends[1], costs)
    regret, worst, kept = _from_box(low, high, costs.at(0, len(low)))
    if point.any():
        exact = _from_ends(prob[point], prob[point], costs.take(np.flatnonzero(point)))
        regret[point], worst[point], kept[point] = exact
    return regret, worst, kept


def _from_ends(low: Array, high: Array, costs: CostMatrix) -> tuple[Array, Array, Any]:
    """Regret is convex in the probability, so on a line it is greatest at an end."""
    here, there = (expected_cost(end, costs, classes=costs.classes) for end in (low, high))
    worst = np.maximum(here, there)
    least_here, least_there = here.min(axis=1)[:, None], there.min(axis=1)[:, None]
    regret = np.maximum(here - least_here, there - least_there)
    kept = np.ones(here.shape, np.bool_)
    for other in range(here.shape[1]):
        kept &= ~((here[:, [other]] < here) & (there[:, [other]] < there))
    return regret, worst, kept


def _from_box(low: Array, high: Array, costs: Array) -> tuple[Array, Array, NDArray[np.bool_]]:
    free, width = np.maximum(1.0 - low.sum(axis=1), 0.0), high - low
    n_actions = costs.shape[-2]
    regret, worst = np.zeros((len(low), n_actions)), np.empty((len(low), n_actions))
    kept = np.ones((len(low), n_actions), np.bool_)
    for a in range(n_actions):
        worst[:, a] = greatest(costs[..., a, :], low, width, free)
        for b in range(n_actions):
            if a != b:
                over = greatest(costs[..., a, :] - costs[..., b, :], low, width, free)
                np.maximum(regret[:, a], over, out=regret[:, a])
                kept[:, b] &= over >= 0.0  # otherwise a is cheaper than b all over the box
    return regret, worst, kept


def greatest(value: Array, low: Array, width: Array, free: Array) -> Array:
    """Return the greatest mean of a value per class over a box of probabilities, row by row.

    Parameters
    ----------
    value : ndarray of shape (n_classes,) or (n, n_classes)
    low, width : ndarray of shape (n, n_classes)
        Lower bounds, and how far each class may rise above its own.
    free : ndarray of shape (n,)
        Probability that the lower bounds leave over.

    Examples
    --------
    0.4 are left over: class 2 takes 0.3 of them, as much as it may, and class 0 the rest.

    >>> low = np.array([[0.2, 0.3, 0.1]])
    >>> greatest(np.array([5.0, 0.0, 10.0]), low, np.array([[0.6, 0.6, 0.3]]), np.array([0.4]))
    array([5.5])
    """
    rest, total = free.copy(), np.zeros(len(low))
    if value.ndim == 1:
        for k in np.argsort(-value, kind="stable"):
            given = np.minimum(rest, width[:, k])
            total += (low[:, k] + given) * value[k]
            rest -= given
        return total
    order = np.argsort(-value, axis=1, kind="stable")
    value, low, width = (np.take_along_axis(one, order, axis=1) for one in (value, low, width))
    for k in range(value.shape[1]):
        given = np.minimum(rest, width[:, k])
        total += (low[:, k] + given) * value[:, k]
        rest -= given
    return total


def _points(low: Array, high: Array) -> tuple[NDArray[np.bool_], Array]:
    """Rows whose box holds one distribution only, and that distribution."""
    tiny = 4 * low.shape[1] * np.finfo(np.float64).eps
    at_low = (low == high).all(axis=1) | (low.sum(axis=1) >= 1.0 - tiny)
    at_high = ~at_low & (high.sum(axis=1) <= 1.0 + tiny)
    return at_low | at_high, np.where(at_low[:, None], low, high)


def read_bounds(low: Any, high: Any, costs: CostMatrix) -> tuple[Array, Array]:
    """Return the bounds as numbers, or say which row has none that make sense.

    Examples
    --------
    >>> read_bounds([0.1, 0.4], [0.2, 0.3], as_costs([[0, 9], [1, 0]]))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: Row 1: low=0.4 is above high=0.3, so no probability lies between: ...
    """
    bounds = [_bound(low, "low", costs.classes), _bound(high, "high", costs.classes)]
    below, above = bounds
    n_classes = costs.shape[1]
    if below.shape != above.shape:
        raise UsageError(
            f"low has shape {below.shape} and high {above.shape}: give both for the same rows."
        )
    if below.ndim == 1 and n_classes != 2:
        raise UsageError(
            f"low and high hold one number a row, and the costs are for {n_classes} classes: give "
            f"bounds of shape (n, {n_classes}), one for each class."
        )
    if below.ndim == 2 and below.shape[1] != n_classes:
        raise UsageError(
            f"low and high have {below.shape[1]} columns, and the costs are for {n_classes} "
            "classes: give one column for each class, in the order of the costs."
        )
    same_rows(len(below), costs, "low and high")
    _refuse_rows(below > above, lambda row: _crossed(below[row], above[row]))
    if below.ndim == 2:
        least, most = below.sum(axis=1), above.sum(axis=1)
        _refuse_rows(
            least > 1.0 + ROUNDING,
            lambda row: (
                f"the lower bounds sum to {least[row]:.6g}, more than 1, so no "
                "probabilities lie inside: lower them."
            ),
        )
        _refuse_rows(
            most < 1.0 - ROUNDING,
            lambda row: (
                f"the upper bounds sum to {most[row]:.6g}, less than 1, so no "
                "probabilities lie inside: raise them."
            ),
        )
    return below, above


def _bound(values: Any, name: str, classes: tuple[Any, ...]) -> Array:
    if np.ndim(values) != 2:
        held = np.asarray(column(values, name))
    else:
        held = np.asarray(prob_table(values, classes, name), dtype=np.float64)
    outside = ~((held >= 0.0) & (held <= 1.0))
    _refuse_rows(
        outside,
        lambda row: (
            f"{name}={_shown(held[row])} is no bound on a probability: give numbers "
            "between 0 and 1 (0 or 1 where nothing is known)."
        ),
    )
    return held


def _crossed(low: Any, high: Any) -> str:
    return (
        f"low={_shown(low)} is above high={_shown(high)}, so no probability lies between: swap "
        "the two."
    )


def _shown(values: Any) -> str:
    return str(np.asarray(values).tolist())


def _refuse_rows(bad: NDArray[np.bool_], words: Any) -> None:
    if bad.any():
        rows = np.flatnonzero(bad.reshape(len(bad), -1).any(axis=1))
        more = f" ({len(rows):,} such rows)" if len(rows) > 1 else ""
        raise DataError(f"Row {rows[0]:,}: {words(rows[0])}{more}")


def same_rows(n: int, costs: CostMatrix, name: str) -> None:
    """Refuse to go on without a row, or with costs that are for other rows."""
    if n == 0:
        raise DataError(f"No row to decide on: {name} is empty.")
    if costs.n_rows is not None and costs.n_rows != n:
        raise DataError(
            f"The costs by row are for {in_rows(costs.n_rows)} and {name} for {n:,}: give one of "
            "each for every row, in the same order."
        )


def pieces(n: int, costs: CostMatrix) -> Iterator[slice]:
    """Walk n rows in slices whose temporaries stay small, whatever the size of the cost matrix."""
    step = max(1024, CELLS // (costs.shape[0] * costs.shape[1]))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def tally(actions: NDArray[Any], names: tuple[Any, ...]) -> str:
    """Write how many rows have each action, in the order of the costs.

    Examples
    --------
    >>> tally(np.array(["open", "pass", "open"]), ("pass", "open", "ask"))
    'pass for 1, open for 2'
    """
    counts = [(name, int(np.count_nonzero(actions == name))) for name in names]
    return ", ".join(f"{name} for {count:,}" for name, count in counts if count)
