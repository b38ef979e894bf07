"""Where did the cost come from? Rows and cost of every action in every class.

    cost[a, k] = weight of all rows * sum over rows with action a and class k of w_i costs[a, k]
                 / sum of w_i,     w_i = sample_weight / inclusion             (Hajek 1971)

A confusion matrix with money in it: a row per action, abstaining among them, a column per class.
Assumes what resample.py says. An empty cell is not an impossible one: its high limit says how much
may still be in it. Does not judge the actions: see realised.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array
from scarce.evaluation.outcomes import Outcomes, read_outcomes
from scarce.evaluation.realised import mean_of
from scarce.evaluation.resample import Asked, estimate, gather, limits, support
from scarce.evaluation.wording import few_remarks, few_words, figure, with_remarks
from scarce.results import Estimate, Record, in_rows, short


@dataclass(frozen=True, eq=False)
class CostConfusion(Record):
    """Rows and cost by action and class.

    Parameters
    ----------
    actions, classes : tuple of names
        Of the rows and of the columns of everything below.
    counts : ndarray of int64 of shape (n_actions, n_classes)
        Labelled rows.
    unlabelled : ndarray of int64 of shape (n_actions,)
        Rows without a label, which those with one speak for.
    rows : ndarray of shape (n_actions, n_classes)
        Estimated weight of all rows given, labelled or not.
    cost : ndarray of shape (n_actions, n_classes)
        Estimated cost of all rows given.
    shares : tuple of tuple of Estimate
        Share of the rows in each cell.
    costs : tuple of tuple of Estimate
        Cost of each cell, all rows given.
    by_action, by_class : tuple of Estimate
        Cost of each action, over classes, and the other way round.
    total, mean : Estimate
        Cost of all rows given, and of a row.
    remarks : tuple of str
        What the reader should know, most important first.

    Examples
    --------
    >>> y, done = [0] * 80 + [1] * 20, [0] * 70 + ["ask"] * 12 + [1] * 17 + [0]
    >>> from scarce.decisions.costs import CostMatrix
    >>> costs = CostMatrix.binary(false_alarm=5, miss=40).with_abstain(3, name="ask")
    >>> print(cost_confusion(y, done, costs))
    rows: cost
    done   was 0  was 1  cost [90 %]
    0      70: 0  1: 40  40 [2, 184]
    1       0: 0  17: 0  0 [0, 14.6]
    ask   10: 30   2: 6  36 [21, 57.3]
    all       30     46  76 [33.5, 227]
    remark: Few rows stand behind this: the cost lies on about 3 rows.
    """

    actions: tuple[Hashable, ...]
    classes: tuple[Hashable, ...]
    counts: NDArray[np.int64]
    unlabelled: NDArray[np.int64]
    rows: Array
    cost: Array
    shares: tuple[tuple[Estimate, ...], ...]
    costs: tuple[tuple[Estimate, ...], ...]
    by_action: tuple[Estimate, ...]
    by_class: tuple[Estimate, ...]
    total: Estimate
    mean: Estimate
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        drawn = bool(self.unlabelled.any())
        head = [
            "rows: cost" + (", estimated from the rows with a label" if drawn else ""),
            "done",
            *(f"was {name}" for name in self.classes),
            f"cost [{100 * self.total.level:g} %]",
        ]
        lines = [head[1:]]
        for a, action in enumerate(self.actions):
            cells = [
                f"{short(self.rows[a, k])}: {short(self.cost[a, k])}"
                for k in range(len(self.classes))
            ]
            lines.append([str(action), *cells, figure(self.by_action[a])])
        lines.append(["all", *(short(one.value) for one in self.by_class), figure(self.total)])
        wide = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        table = [
            "  ".join(
                [line[0].ljust(wide[0])]
                + [text.rjust(width) for text, width in zip(line, wide, strict=True)][1:-1]
                + [line[-1]]
            )
            for line in lines
        ]
        return with_remarks([head[0], *table], self.remarks)


def cost_confusion(
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
) -> CostConfusion:
    """Return rows and cost by action and class, each figure with its interval.

    Parameters are those of `mean_cost`; see there for what the intervals assume.

    Returns
    -------
    CostConfusion

    Examples
    --------
    >>> found = cost_confusion([0, 0, 0, 1, 1], [0, 0, 1, 1, 0], [[0, 40], [5, 0]])
    >>> found.counts.tolist(), found.cost.tolist()
    ([[2, 1], [1, 1]], [[0.0, 40.0], [5.0, 0.0]])
    """
    asked = Asked.read(level, resamples, random_state)
    found = read_outcomes(y_true, actions, costs, sample_weight, inclusion, groups)
    n_actions, n_classes = found.costs.shape
    sample, done = found.sample, found.done
    cost = found.cost(done, found.label)
    key = found.kind
    cells = gather(key, sample.weight, cost[:, None], sample.group)
    drawn = cells.draw(asked)
    kinds = n_actions * n_classes
    member = np.zeros((len(cells.key), kinds))
    member[np.arange(len(cells.key)), cells.key] = 1.0
    held, spent = drawn @ member, drawn @ (member * cells.values)
    added = _added(found)
    told = _Told(found, asked, held.sum(axis=1), key, cost, added)
    grid = np.arange(kinds).reshape(n_actions, n_classes)
    counts = np.bincount(key, minlength=kinds).reshape(grid.shape)
    scale = sample.total / sample.weight.sum()
    labelled = np.zeros(len(found.action), dtype=bool)
    labelled[sample.rows] = True
    return CostConfusion(
        actions=found.costs.actions,
        classes=found.costs.classes,
        counts=counts.astype(np.int64),
        unlabelled=np.bincount(found.action[~labelled], minlength=n_actions).astype(np.int64),
        rows=scale * np.bincount(key, sample.weight, kinds).reshape(grid.shape),
        cost=scale * np.bincount(key, sample.weight * cost, kinds).reshape(grid.shape),
        shares=tuple(tuple(told.sum_over(c, held, share=True) for c in line) for line in grid),
        costs=tuple(tuple(told.sum_over(c, spent) for c in line) for line in grid),
        by_action=tuple(told.sum_over(line, spent) for line in grid),
        by_class=tuple(told.sum_over(line, spent) for line in grid.T),
        total=mean_of(found, asked, sample.total),
        mean=mean_of(found, asked, 1.0),
        remarks=_remarks(found, counts, cost),
    )


def _added(found: Outcomes) -> list[list[Array]]:
    """Cost and weight of the rows or groups that might have been met in each cell.

    An action that no row has yet may be taken in the next one, at what it would have cost in these.
    """
    n_actions, n_classes = found.costs.shape
    return [
        found.unseen(k, found.done == a, [a]) for a in range(n_actions) for k in range(n_classes)
    ]


class _Told:
    """Estimates of sums over some cells."""

    def __init__(
        self,
        found: Outcomes,
        asked: Asked,
        weight: Array,
        key: NDArray[np.intp],
        cost: Array,
        added: list[list[Array]],
    ) -> None:
        self.found, self.asked, self.weight, self.key, self.cost = found, asked, weight, key, cost
        self.added = [np.array(rows) for rows in added]
        self.elsewhere = max(float(rows[:, 1].max()) for rows in self.added)

    def sum_over(self, which: Any, drawn: Array, *, share: bool = False) -> Estimate:
        """Estimate of a sum over cells; an unseen row may fall into them or elsewhere."""
        which = np.atleast_1d(which)
        part = np.where(np.isin(self.key, which), 1.0 if share else self.cost, 0.0)
        sample = self.found.sample
        scale = 1.0 if share else sample.total
        inside = [self.added[cell][:, [1, 1] if share else [0, 1]] for cell in which]
        rows = np.vstack([*inside, [[0.0, self.elsewhere]]])
        sums = np.column_stack([drawn[:, which].sum(axis=1), self.weight])
        low, high = limits(sums, rows, lambda s: scale * s[:, 0] / s[:, 1], self.asked)
        value = scale * (sample.weight @ part) / sample.weight.sum()
        few = few_words((), (), support(sample.by_group(sample.weight * part)), sample.n_groups)
        return estimate(value, low, high, self.asked, sample, few)


def _remarks(found: Outcomes, counts: NDArray[Any], cost: Array) -> tuple[str, ...]:
    remarks = list(few_remarks(found.few(found.sample.weight * cost)))
    for a, name in enumerate(found.costs.actions):
        taken = int((found.action == a).sum())
        if taken == 0:
            remarks.append(
                f"Action {name!r} was taken in none of these rows: its limits are those of a first "
                "time, and the total takes it as never taken."
            )
        elif not counts[a].any():
            remarks.append(
                f"None of the {in_rows(taken)} with action {name!r} has a label: nothing is known "
                "of their cost, and the other rows speak for them."
            )
    return tuple(remarks)
