"""What to do when a probability is known only as an interval?

    regret of a = max over p in the interval, over b, of  sum_k p_k (cost[a, k] - cost[b, k])
    worst of a  = max over p in the interval of            sum_k p_k  cost[a, k]

The action with the least of either, exactly: a linear function over a box of class probabilities is
greatest where each class has its lower bound and the mass left over goes to the most expensive
classes first (a fractional knapsack). Two classes need the two ends only. The papers have point
probabilities alone (003 section 0.2), which are the case low == high. Assumes that the truth lies
in the interval, whatever its level; makes no interval: see RareClassifier.predict_interval.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import Shares, read_prob, read_shares, refuse_other_index
from scarce.decisions.cost_entries import Name
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs
from scarce.decisions.decide import (
    SUM_TOLERANCE,
    action_counts,
    expected_cost,
    not_a_probability,
    prob_table,
    row_slices,
    same_rows,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word
from scarce.prior.shift import bounds_at
from scarce.results import Record, in_rows, short

if TYPE_CHECKING:
    from scarce.prior.label_shift import ShareEstimate

RULES = ("regret", "worst")
ROUNDING = SUM_TOLERANCE  # how far a row of single-precision probabilities may sum from 1


@dataclass(frozen=True, eq=False)
class DecisionBetween(Record):
    """An action for each row, and what it is guaranteed to stay below.

    Parameters
    ----------
    actions : ndarray of shape (n,)
        Names of the actions chosen.
    bound : ndarray of shape (n,)
        With rule "regret", the most that the action can cost above the best one for any
        probability in the row's interval; with "worst", the most that it can cost.
    settled : ndarray of bool of shape (n,)
        Whether one action is cheapest everywhere in the interval: a better estimate would not
        change it. It is then the one chosen.
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
    names: tuple[Name, ...]
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
                f"{in_rows(len(self))}, by {how}: {action_counts(self.actions, self.names)}",
                f"settled: {in_rows(done)}; whatever the probability inside the interval, no other "
                "action is cheaper",
                f"guaranteed: at most {most}{what} in any row, {mean} on average",
            ]
        )


def decide_between(
    low: ArrayLike,
    high: ArrayLike,
    costs: CostsLike,
    *,
    rule: str = "regret",
    trained_at: Shares | None = None,
    now_at: ShareEstimate | None = None,
) -> DecisionBetween:
    """Choose an action for each row whose probabilities are known only to lie between two bounds.

    Parameters
    ----------
    low, high : array-like of shape (n,) or (n, n_classes)
        Bounds on the probability of the last of two classes, or on that of every class. Of the
        box of bounds, the probabilities that sum to 1 count.
    costs : CostMatrix or array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
    rule : {"regret", "worst"}
        "regret" takes the action that can never cost much more than the best one, "worst" the one
        whose greatest possible cost is least. The first fits most uses: the second acts as if the
        most expensive class were always as likely as the interval allows.
    trained_at : float, array-like of shape (n_classes,), dict or Series, optional
        With `now_at`: base rates that the probabilities are for, by default those of the estimate.
    now_at : ShareEstimate, optional
        What `estimate_share` returns: the bounds are recalibrated to every base rate of its
        interval. Give the same probabilities as `low` and `high` where they are known.

    Returns
    -------
    DecisionBetween

    **Assumes** that the truth lies inside the bounds. Bounds of one row say nothing about others.

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

    A base rate that is known as an interval only:

    >>> from scarce import estimate_share
    >>> rng = np.random.default_rng(0)
    >>> y = rng.random(500) < 0.2
    >>> prob = np.clip(rng.normal(0.15 + 0.3 * y, 0.1), 0.01, 0.99)
    >>> found = estimate_share(prob[:150], validation=(y[150:], prob[150:]))
    >>> done = decide_between([0.01, 0.1, 0.6], [0.01, 0.1, 0.6], [[0, 9], [1, 0]], now_at=found)
    >>> done.actions, done.settled
    (array([0, 1, 1]), array([ True, False,  True]))
    """
    refuse_word("rule", rule, RULES)
    matrix = as_costs(costs)
    refuse_other_index(low=low, high=high, costs=matrix)
    below, above = read_bounds(low, high, matrix)
    if now_at is not None:
        below, above = _at_base_rates(below, above, matrix, trained_at, now_at)
    elif trained_at is not None:
        raise UsageError(
            "{trained} needs {now}: recalibration needs both base rates.",
            code="no-base-rate",
            trained=Argument("trained_at"),
            now=Argument("now_at"),
        )
    n, n_actions = len(below), matrix.shape[0]
    position, bound = np.empty(n, np.intp), np.empty(n)
    settled, admissible = np.empty(n, np.bool_), np.empty((n, n_actions), np.bool_)
    for rows in row_slices(n, matrix):
        regret, worst, kept = _tables(below[rows], above[rows], matrix.take(rows))
        done = regret.min(axis=1) <= 0.0
        table = regret if rule == "regret" else worst
        # Several actions may share a worst case; one that never costs more goes first.
        chosen = np.where(done, regret.argmin(axis=1), table.argmin(axis=1))
        position[rows], settled[rows], admissible[rows] = chosen, done, kept
        bound[rows] = np.take_along_axis(table, chosen[:, None], axis=1)[:, 0]
    names = matrix.action_names()
    return DecisionBetween(names[position], bound, settled, admissible, matrix.actions, rule)


def _at_base_rates(
    low: Array, high: Array, costs: CostMatrix, trained_at: Shares | None, now_at: ShareEstimate
) -> tuple[Array, Array]:
    """Return the bounds at every base rate of an estimate's interval."""
    names = list(costs.classes)
    nameless = costs.positional or not now_at.named
    if len(now_at.classes) != len(names) or not (nameless or set(now_at.classes) == set(names)):
        raise UsageError(
            "{now} is for the classes {seen}, and the costs for {classes}.",
            code="class-mismatch",
            now=Argument("now_at"),
            seen=list(now_at.classes),
            classes=names,
        )
    order = range(len(names)) if nameless else [now_at.classes.index(one) for one in names]
    now_at.warn_if_contradicted()
    least, most = now_at.low[list(order)], now_at.high[list(order)]
    before = np.array(now_at.trained_at)[list(order)]
    if trained_at is not None:
        before = read_shares(trained_at, len(names) if costs.positional else names, "trained_at")
    one = low.ndim == 1
    if one:
        low, high = np.column_stack([1.0 - high, low]), np.column_stack([1.0 - low, high])
    below, above = bounds_at(low, high, before, least, most)
    return (below[:, 1], above[:, 1]) if one else (below, above)


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


def _from_ends(
    low: Array, high: Array, costs: CostMatrix
) -> tuple[Array, Array, NDArray[np.bool_]]:
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


def read_bounds(low: ArrayLike, high: ArrayLike, costs: CostMatrix) -> tuple[Array, Array]:
    """Return the bounds as numbers, or say which row has impossible ones.

    Examples
    --------
    >>> read_bounds([0.1, 0.4], [0.2, 0.3], as_costs([[0, 9], [1, 0]]))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: low must not be above high, got 0.4 and 0.3 at row 1. Swap the two.
    """
    below, above = (_bound(one, name, costs) for one, name in ((low, "low"), (high, "high")))
    n_classes = costs.shape[1]
    wanted = (n_classes,) if below.ndim == 2 or n_classes != 2 else ()
    if below.shape != above.shape or below.shape[1:] != wanted:
        raise UsageError(
            "{low} has shape {low_shape} and {high} has shape {high_shape}, and the costs are for "
            "{count} classes.",
            code="shape-mismatch",
            low=Argument("low"),
            low_shape=below.shape,
            high=Argument("high"),
            high_shape=above.shape,
            count=n_classes,
            remedy=f"Give both for the same rows, with {n_classes} columns, in the order of the "
            "costs" + (", or one number per row." if n_classes == 2 else "."),
        )
    same_rows(len(below), costs, "low")
    crossed = np.flatnonzero((below > above).reshape(len(below), -1).any(axis=1))
    if len(crossed):
        raise DataError(
            "{low} must not be above {high}, got {low_value} and {high_value} at row {row:,}.",
            code="bounds-crossed",
            low=Argument("low"),
            high=Argument("high"),
            low_value=below[crossed[0]].tolist(),
            high_value=above[crossed[0]].tolist(),
            row=int(crossed[0]),
            remedy="Swap the two.",
        )
    if below.ndim == 2:
        _check_sums(below.sum(axis=1) - 1.0, "low", "at most 1", "Lower them.")
        _check_sums(1.0 - above.sum(axis=1), "high", "at least 1", "Raise them.")
    return below, above


def _bound(values: ArrayLike, name: str, costs: CostMatrix) -> Array:
    if np.ndim(values) != 2:
        return read_prob(values, name)
    held = np.asarray(prob_table(values, costs.classes, name), dtype=np.float64)
    if not ((held >= 0.0) & (held <= 1.0)).all():
        raise not_a_probability(held, name)
    return held


def _check_sums(excess: Array, name: str, expected: str, remedy: str) -> None:
    """Refuse boxes that hold no probabilities that sum to 1."""
    bad = np.flatnonzero(excess > ROUNDING)
    if len(bad):
        off = float(excess[bad[0]])
        raise DataError(
            "{argument} must sum to {expected} over the classes, got {total:.6g} at row {row:,}.",
            code="bounds-sum",
            argument=Argument(name),
            expected=expected,
            total=1.0 + off if name == "low" else 1.0 - off,
            row=int(bad[0]),
            remedy=remedy,
        )
