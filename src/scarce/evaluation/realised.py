"""What did the decisions cost, and were they better than doing the same for every row?

    mean cost = sum w_i costs[action_i, class_i] / sum w_i,   w_i = sample_weight / inclusion
    savings   = (cost of the best single action - cost) / |cost of the best single action|

The mean is that of Hajek (1971): rows without a label count through the weights of those that have
one. A total is the mean times the weight of all rows given. Assumes what resample.py says; labels
must be right. Chooses no actions: see decisions/decide.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array
from scarce.evaluation.outcomes import Outcomes, read_actions, read_outcomes
from scarce.evaluation.resample import Asked, estimate, gather, limits
from scarce.evaluation.saved import Savings, saved
from scarce.results import Estimate


def mean_cost(
    y_true: Any,
    actions: Any,
    costs: Any,
    *,
    sample_weight: ArrayLike | None = None,
    inclusion: Any = None,
    groups: Any = None,
    level: float = 0.9,
    resamples: int = 1000,
    random_state: Any = 0,
) -> Estimate:
    """Return the mean cost of a row under the actions that were taken, with its interval.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Classes, as `costs.classes` names them; NaN or None where not labelled, with `inclusion`.
    actions : array-like of shape (n,)
        What was done, as `costs.actions` names it: the answer of `decide`, or history.
    costs : CostMatrix, array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
    sample_weight : array-like of shape (n,), optional
        How much of the world a row stands for. A row of weight 2 is one draw, not two.
    inclusion : array-like of shape (n,) or LabelChoice, optional
        Probability that each row was labelled; NaN for rows that were not drawn. Labels chosen by
        rule, all for certain, are refused where rows lack one: they speak for themselves alone.
    groups : array-like of shape (n,), optional
        What rows belong together, such as the card, the patient or the site of each: any values.
        Whole groups are then resampled, as rows of one group repeat each other.
    level, resamples, random_state
        Coverage of the interval, number of resamples, seed.

    Returns
    -------
    Estimate
        Its method says so when fewer than ten rows stand behind the number.

    **Assumes** independent rows, or groups; with `inclusion`, labels drawn with those
    probabilities.

    Notes
    -----
    The interval takes in that a row of a kind not met yet may be the next one: with no miss among
    three events, the high limit is that of three misses in n rows, not 0. Actions that no row has
    are left out of that. Coverage of 90 % intervals, measured, is in docs/guide/worth.md.

    References
    ----------
    Hajek (1971), in Foundations of Statistical Inference; Rubin (1981), Annals of Statistics 9;
    Gaffke (2005), Mathematical Methods of Statistics 14; Clopper and Pearson (1934), Biometrika 26.

    Examples
    --------
    >>> y, done = [0] * 97 + [1] * 3, [0] * 90 + [1] * 10
    >>> found = mean_cost(y, done, [[0, 400], [5, 0]])
    >>> print(found)
    0.35 [0.165, 12] (90 %, bootstrap, one unseen row added; few: 3 labelled rows of class 1, ...)
    """
    asked = Asked.read(level, resamples, random_state)
    found = read_outcomes(y_true, actions, costs, sample_weight, inclusion, groups)
    return mean_of(found, asked, 1.0)


def total_cost(
    y_true: Any,
    actions: Any,
    costs: Any,
    *,
    sample_weight: ArrayLike | None = None,
    inclusion: Any = None,
    groups: Any = None,
    level: float = 0.9,
    resamples: int = 1000,
    random_state: Any = 0,
) -> Estimate:
    """Return the cost of all rows given, labelled or not: the mean cost times their weight.

    Parameters are those of `mean_cost`. The interval is about what as many rows of the same world
    cost; what exactly these rows have cost is known without one, if all of them are labelled.

    Examples
    --------
    >>> total_cost([0, 0, 1, 1], [0, 1, 1, 0], [[0, 400], [5, 0]]).value
    405.0
    >>> total_cost([0, None, 1, None], [0, 1, 1, 0], [[0, 400], [5, 0]], inclusion=[0.5] * 4).value
    0.0
    """
    asked = Asked.read(level, resamples, random_state)
    found = read_outcomes(y_true, actions, costs, sample_weight, inclusion, groups)
    return mean_of(found, asked, found.sample.total)


def mean_of(
    found: Outcomes, asked: Asked, scale: float, action: NDArray[np.intp] | None = None
) -> Estimate:
    """Return the mean cost of a row, times a scale; of other actions than those taken, if given."""
    if action is not None:
        found = found._replace(action=action)
    sample, weight = found.sample, found.sample.weight
    cost = found.cost(found.done, found.label)
    sums = _sums(found, found.kind, cost[:, None], asked)
    low, high = limits(sums, found.unseen_rows(), _ratio, asked)
    value = weight @ cost / weight.sum()
    few = found.few(weight * cost)
    return estimate(scale * value, scale * low, scale * high, asked, sample, few)


def _sums(found: Outcomes, key: NDArray[np.intp], values: Array, asked: Asked) -> Array:
    """Sums of the values and, last, of the weights, for every resample."""
    cells = gather(key, found.sample.weight, values, found.sample.group)
    drawn = cells.draw(asked)
    return np.column_stack([drawn @ cells.values, drawn.sum(axis=1)])


def _ratio(sums: Array) -> Array:
    return np.asarray(sums[:, 0] / sums[:, -1])


def savings(
    y_true: Any,
    actions: Any,
    costs: Any,
    *,
    against: Any = None,
    sample_weight: ArrayLike | None = None,
    inclusion: Any = None,
    groups: Any = None,
    level: float = 0.9,
    resamples: int = 1000,
    random_state: Any = 0,
) -> Savings:
    """Return what the decisions saved against one action for every row, or against other decisions.

    Every action is a rival, abstaining too: sending every row to a person may be cheapest.

    Parameters
    ----------
    y_true, actions, costs
        As in `mean_cost`.
    against : array-like of shape (n,), optional
        Actions of another rule on the same rows (the one in use, a rival model): `share` and
        `per_row` are then against these. The interval is that of the difference on the same rows,
        which is narrower than two intervals of `mean_cost` side by side.
    sample_weight, inclusion, groups, level, resamples, random_state
        As in `mean_cost`.

    Returns
    -------
    Savings

    Notes
    -----
    With costs above 0 the share is 1 - cost / cost of the rival; the absolute value below the line
    keeps its sign right where the rival earns money (negative costs).

    Examples
    --------
    >>> y, new, old = [0] * 80 + [1] * 20, [0] * 75 + [1] * 25, [0] * 60 + [1] * 40
    >>> found = savings(y, new, [[0, 40], [5, 0]])
    >>> found.best, found.per_row.value
    (1, 3.75)
    >>> print(savings(y, new, [[0, 40], [5, 0]], against=old))
    Saved 75 % [-54.3 %, 93.6 %] of what the other actions cost (90 %), 0.75 [-0.503, 1.92] a row.
      the two differ in 15 rows
      against '0' for every row  96.9 % [83.1 %, 98.9 %]
      against '1' for every row  93.8 % [63.2 %, 97.7 %]
    """
    asked = Asked.read(level, resamples, random_state)
    found = read_outcomes(y_true, actions, costs, sample_weight, inclusion, groups)
    n_actions, label, sample = found.costs.shape[0], found.label, found.sample
    own = found.cost(found.done, label)
    columns, key, other, rival = [own], found.kind, None, own
    if against is not None:
        other = read_actions(against, found.costs, len(found.action), "against")
        rival = found.cost(other[sample.rows], label)
        columns.append(rival)
        key = key * n_actions + other[sample.rows]
    columns += [found.cost(np.full_like(label, a), label) for a in range(n_actions)]
    values = np.column_stack(columns)
    paired = other is not None
    added = found.unseen_rows(None if other is None else other[sample.rows], singles=True)
    low, high = limits(
        _sums(found, key, values, asked), added, lambda sums: saved(sums, paired), asked
    )
    whole = np.append(sample.weight @ values, sample.weight.sum())
    few = found.few(sample.weight * (rival - own if paired else own))
    told = [
        estimate(v, a, b, asked, sample, few)
        for v, a, b in zip(saved(whole[None], paired)[0], low, high, strict=True)
    ]
    names = found.costs.actions
    return Savings(
        share=told[0],
        per_row=told[1],
        best=names[int(np.argmin(whole[-1 - n_actions : -1]))],
        against=dict(zip(names, told[2 : 2 + n_actions], strict=True)),
        amount_against=dict(zip(names, told[2 + n_actions :], strict=True)),
        cost=mean_of(found, asked, 1.0),
        other_cost=None if other is None else mean_of(found, asked, 1.0, other),
        differ=None if other is None else int(np.count_nonzero(other != found.action)),
    )
