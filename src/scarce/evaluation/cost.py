"""What did the decisions cost, where did the cost come from, and were they better than one action?

    mean cost  = sum w_i costs[action_i, class_i] / sum w_i,   w_i = sample_weight / inclusion
    cost[a, k] = the same sum over rows with action a and class k, times the weight of all rows
    savings    = (cost of a rival - cost) / |cost of the rival|

The mean is that of Hajek (1971): rows without a label count through the weights of those that have
one. A total is the mean times the weight of all rows given. With costs above 0 savings are 1 - cost
/ cost of the rival; the absolute value keeps the sign right where the rival earns money. Rivals are
one action for every row, or other decisions on the same rows and in the same resample.

    unseen row of action a and class k = the mean row with action a, as if it had been of class k;
                                         or the mean row of class k, as if a had been done: each
                                         met in proportion to what it costs (bootstrap.typical_row)

Assumes what bootstrap.py says, and that labels are right. An empty cell of `cost_confusion` is not
an impossible one: its high limit says how much may still be in it. Chooses no actions: see
decisions/decide.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import (
    Inclusion,
    Resampling,
    Sample,
    Seed,
    Weights,
    as_estimate,
    few_remarks,
    gather,
    limits,
    read_kind,
    read_sample,
    typical_row,
)
from scarce.checks import refuse_length, refuse_other_index
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs
from scarce.decisions.decide import encode_labels
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, Problem, UsageError
from scarce.evaluation.copies import copy_remarks
from scarce.results import Estimate, Record, in_rows, short, to_plain


def mean_cost(
    y_true: ArrayLike,
    actions: ArrayLike,
    costs: CostsLike,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
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
        How much of the population a row stands for.
    weight_kind : {"survey", "frequency"}
        "survey": only ratios of weights matter, and a row of weight 2 is one draw. "frequency": 2
        is the row twice.
    inclusion : array-like of shape (n,) or LabelChoice, optional
        Probability that each row was labelled; NaN for rows that were not drawn. Labels chosen by
        rule, all for certain, are refused where rows lack one: they stand for themselves alone.
    groups : array-like of shape (n,), optional
        Which rows belong together, such as the card, the patient or the site of each. Whole groups
        are resampled then, as rows of one group repeat each other.
    level, resamples, random_state
        Coverage of the interval; number of resamples, by default 1,000, and more for levels near
        1; seed.

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
    are left out of that. Coverage of 90 % intervals, measured, is in docs/guide/costs.md.

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
    asked = Resampling.read(level, resamples, random_state)
    found = read_outcomes(
        y_true, actions, costs, read_kind(sample_weight, weight_kind), inclusion, groups
    )
    return mean_of(found, asked, 1.0)


def total_cost(
    y_true: ArrayLike,
    actions: ArrayLike,
    costs: CostsLike,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Estimate:
    """Return the cost of all rows given, labelled or not: the mean cost times their weight.

    With `inclusion` and the drawn rows alone, the cost of the rows that they stand for.

    Parameters are those of `mean_cost`. The interval is about what as many rows of the same world
    cost; what exactly these rows have cost is known without one, if all of them are labelled.

    Examples
    --------
    >>> total_cost([0, 0, 1, 1], [0, 1, 1, 0], [[0, 400], [5, 0]]).value
    405.0
    >>> total_cost([0, None, 1, None], [0, 1, 1, 0], [[0, 400], [5, 0]], inclusion=[0.5] * 4).value
    0.0
    """
    asked = Resampling.read(level, resamples, random_state)
    found = read_outcomes(
        y_true, actions, costs, read_kind(sample_weight, weight_kind), inclusion, groups
    )
    return mean_of(found, asked, found.sample.total)


def savings(
    y_true: ArrayLike,
    actions: ArrayLike,
    costs: CostsLike,
    *,
    against: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
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
    sample_weight, weight_kind, inclusion, groups, level, resamples, random_state
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
    asked = Resampling.read(level, resamples, random_state)
    found = read_outcomes(
        y_true, actions, costs, read_kind(sample_weight, weight_kind), inclusion, groups
    )
    n_actions, label, sample = found.costs.shape[0], found.label, found.sample
    own = found.cost(found.done, label)
    columns, key, other, rival = [own], found.kind, None, own
    if against is not None:
        refuse_other_index(y_true=y_true, against=against)
        other = read_actions(against, found.costs, len(found.action), "against")
        rival = found.cost(other[sample.rows], label)
        columns.append(rival)
        key = key * n_actions + other[sample.rows]
    columns += [found.cost(np.full_like(label, a), label) for a in range(n_actions)]
    values = np.column_stack(columns)
    paired = other is not None
    added = found.unseen_rows(None if other is None else other[sample.rows], singles=True)
    low, high = limits(
        _sums(found, key, values, asked), added, lambda sums: _saved(sums, paired), asked
    )
    whole = np.append(sample.weight @ values, sample.weight.sum())
    few = found.few(sample.weight * (rival - own if paired else own))
    told = [
        as_estimate(v, a, b, asked, sample, few)
        for v, a, b in zip(_saved(whole[None], paired)[0], low, high, strict=True)
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
        remarks=(*found.copied, *few_remarks(few)),
    )


@dataclass(frozen=True, eq=False)
class Savings(Record):
    """What was saved against doing the same for every row, or against other decisions.

    Parameters
    ----------
    share : Estimate
        Saved share of what the rival costs: 0, the decisions were worth nothing; 1, they cost
        nothing; below 0, the rival was cheaper. NaN where it costs 0. The rival is the best single
        action, or the actions given as `against=`.
    per_row : Estimate
        The same as an amount per row.
    best : name
        The cheapest single action on these rows; in each resample it is chosen anew.
    against : dict
        Saved share against each action, done with every row.
    amount_against : dict
        The same as an amount per row.
    cost : Estimate
        Mean cost of a row under the actions taken.
    other_cost : Estimate, or None without `against=`
        Mean cost of a row under the other actions.
    differ : int, or None without `against=`
        Rows, labelled or not, in which the two differ: no other row tells them apart.
    remarks : tuple of str
        What the reader should know.

    Examples
    --------
    >>> from scarce import savings
    >>> y, done = [0] * 80 + [1] * 20, [0] * 75 + [1] * 25
    >>> print(savings(y, done, [[0, 40], [5, 0]]))
    Saved 93.8 % [61.7 %, 97.5 %] of what '1' for every row costs (90 %), 3.75 [2.43, 4.1] a row.
      against '0' for every row  96.9 % [82.3 %, 98.9 %]
      against '1' for every row  93.8 % [61.7 %, 97.5 %]
    remark: Few rows stand behind this: the cost lies on about 5 rows.
    """

    share: Estimate
    per_row: Estimate
    best: Hashable
    against: dict[Hashable, Estimate]
    amount_against: dict[Hashable, Estimate]
    cost: Estimate
    other_cost: Estimate | None = None
    differ: int | None = None
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        amount, level = f"{self.per_row.brief()} a row", f"({100 * self.share.level:g} %)"
        rival = f"'{self.best}' for every row" if self.other_cost is None else "the other actions"
        verb = "costs" if self.other_cost is None else "cost"
        if np.isnan(self.share.value):
            lines = [f"Saved {amount} {level}; {rival} {verb} 0."]
        else:
            lines = [f"Saved {_percent(self.share)} of what {rival} {verb} {level}, {amount}."]
        if self.differ is not None:
            lines.append(f"  the two differ in {self.differ:,} row{'s' * (self.differ != 1)}")
        wide = max(len(str(name)) for name in self.against)
        lines += [
            f"  against '{name}'{' ' * (wide - len(str(name)))} for every row  {_percent(one)}"
            for name, one in self.against.items()
        ]
        return _with_remarks(lines, self.remarks)

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON; pairs where names are keys."""
        pairs = {
            "against": list(self.against.items()),  # names need not be text
            "amount_against": list(self.amount_against.items()),
        }
        return super().to_dict() | to_plain(pairs)


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
        Rows without a label, for which those with one stand.
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
    >>> from scarce import CostMatrix
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
            lines.append([str(action), *cells, self.by_action[a].brief()])
        lines.append(["all", *(short(one.value) for one in self.by_class), self.total.brief()])
        wide = [max(len(line[j]) for line in lines) for j in range(len(lines[0]))]
        table = [
            "  ".join(
                [line[0].ljust(wide[0])]
                + [text.rjust(width) for text, width in zip(line, wide, strict=True)][1:-1]
                + [line[-1]]
            )
            for line in lines
        ]
        return _with_remarks([head[0], *table], self.remarks)


def cost_confusion(
    y_true: ArrayLike,
    actions: ArrayLike,
    costs: CostsLike,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
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
    asked = Resampling.read(level, resamples, random_state)
    found = read_outcomes(
        y_true, actions, costs, read_kind(sample_weight, weight_kind), inclusion, groups
    )
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
    return CostConfusion(
        actions=found.costs.actions,
        classes=found.costs.classes,
        counts=counts.astype(np.int64),
        unlabelled=np.bincount(found.action[~found.known], minlength=n_actions).astype(np.int64),
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


# --- labelled rows as decisions see them ----------------------------------------------------------


class Outcomes(NamedTuple):
    """Labelled rows: where they are, what was done, what was true, at which costs."""

    sample: Sample
    costs: CostMatrix
    action: NDArray[np.intp]  # of every row given
    label: NDArray[np.intp]  # of the rows of the sample
    known: NDArray[np.bool_]  # which of the rows given have a label

    @property
    def done(self) -> NDArray[np.intp]:
        """Actions of the labelled rows."""
        return self.action[self.sample.rows]

    @property
    def kind(self) -> NDArray[np.intp]:
        """Action and class of the labelled rows, as one number."""
        return self.done * self.costs.shape[1] + self.label

    def entry(self, action: int, label: int, which: NDArray[Any]) -> Array:
        """Cost of an action in a class, for some of the labelled rows."""
        held = self.costs.part(action, label, 0, None)
        rows = self.sample.rows[which]
        return np.full(len(rows), held) if np.ndim(held) == 0 else np.asarray(held)[rows]

    def cost(self, action: NDArray[np.intp], label: NDArray[np.intp]) -> Array:
        """Cost of an action for each labelled row, if it had been of a class."""
        out = np.empty(len(label))
        for a in range(self.costs.shape[0]):
            for k in range(self.costs.shape[1]):
                here = np.flatnonzero((action == a) & (label == k))
                if len(here):
                    out[here] = self.entry(a, k, here)
        return out

    def few(self, part: Array) -> str:
        """Say so, where few rows stand behind a figure."""
        counts = np.bincount(self.label, minlength=self.costs.shape[1])
        return self.sample.few(self.costs.classes, counts, part)

    @property
    def copied(self) -> list[str]:
        """A remark on rows that stand more than once, where costs of single rows can tell."""
        if self.costs.n_rows is None:
            return []
        every = np.arange(len(self.label))
        actions, classes = self.costs.shape
        held = [self.entry(a, k, every) for a in range(actions) for k in range(classes)]
        varied = [one for one in held if one.min() < one.max()]
        if not varied:
            return []
        return copy_remarks(np.column_stack(varied), self.kind, self.sample, "costs")

    def unseen(self, label: int, here: NDArray[np.bool_], actions: list[int]) -> list[Array]:
        """What an unseen row or group of a class brings: the cost of each action, and its weight.

        Twice: it is like the labelled rows `here` (all of them where there are none), and like
        those of its class, whatever was done with them. Events may well be dearer than the rest.
        """
        of_class = self.label == label
        many = self.sample.together(of_class, of_class & here)
        found = []
        for like in (here if here.any() else np.ones_like(here), of_class):
            rows = np.flatnonzero(like)
            if len(rows):
                values = np.stack([self.entry(a, label, rows) for a in actions], axis=1)
                size = np.abs(values).max(axis=1)
                values = np.column_stack([values, np.ones(len(rows))])
                found.append(many * typical_row(self.sample.weight[rows], size, values))
        return found

    def unseen_rows(self, other: NDArray[np.intp] | None = None, singles: bool = False) -> Array:
        """What one row or group more would bring, for every action taken and every class.

        Parameters
        ----------
        other : ndarray of intp, optional
            Actions of another rule, whose cost is a column too. The unseen row may be of any two
            actions that either has taken; of any at all where both took one and the same.
        singles : bool
            Whether the cost of every action is a column too.
        """
        every, done = range(self.costs.shape[0]), self.done
        more = list(every) if singles else []
        met = np.unique(done if other is None else np.append(done, other)).tolist()
        if other is None:
            kinds = [(done == a, [a, *more]) for a in met]
        else:
            both = met if len(met) > 1 else list(every)
            kinds = [((done == a) & (other == b), [a, b, *more]) for a in both for b in both]
        rows: list[Array] = []
        for here, actions in kinds:
            for k in range(self.costs.shape[1]):
                rows += self.unseen(k, here, actions)
        return np.array(rows)


def read_outcomes(
    y_true: ArrayLike,
    actions: ArrayLike,
    costs: CostsLike,
    sample_weight: Weights,
    inclusion: Inclusion,
    groups: ArrayLike | None = None,
) -> Outcomes:
    """Return labelled rows with their actions and costs; the arguments of `mean_cost`."""
    matrix = as_costs(costs)
    refuse_other_index(
        y_true=y_true,
        actions=actions,
        costs=matrix,
        sample_weight=sample_weight,
        inclusion=inclusion,
        groups=groups,
    )
    if matrix.columns:
        raise UsageError(
            "The costs refer to the column {column!r}, which has no values yet.",
            code="unbound-costs",
            column=matrix.columns[0],
            bind=Phrase("costs.bind(table)"),
            remedy="Call {bind} with the rows of y_true first.",
        )
    label = encode_labels(y_true, matrix.classes, "y_true")
    action = read_actions(actions, matrix, len(label), "actions")
    if matrix.n_rows is not None:
        same_length(matrix.n_rows, len(label), "costs")
    sample = read_sample(label >= 0, sample_weight, inclusion, groups)
    return Outcomes(sample, matrix, action, label[sample.rows], label >= 0)


def same_length(found: int, n: int, argument: str) -> None:
    """Refuse columns of different lengths."""
    refuse_length(np.empty(found), n, argument)


def read_actions(actions: ArrayLike, costs: CostMatrix, n: int, argument: str) -> NDArray[np.intp]:
    """Return positions of the actions taken, one for each row."""
    action = encode_labels(actions, costs.actions, argument)
    same_length(len(action), n, argument)
    if (action < 0).any():
        raise DataError(
            "{argument} has no value at row {row:,}: every row needs the action that was taken.",
            code="missing-action",
            argument=Argument(argument),
            row=int(np.argmin(action)),
            remedy="Name doing nothing too.",
        )
    return action


# --- sums, and figures of sums --------------------------------------------------------------------


def mean_of(
    found: Outcomes, asked: Resampling, scale: float, action: NDArray[np.intp] | None = None
) -> Estimate:
    """Return the mean cost of a row, times a scale; of other actions than those taken, if given."""
    if action is not None:
        found = found._replace(action=action)
    sample, weight = found.sample, found.sample.weight
    cost = found.cost(found.done, found.label)
    sums = _sums(found, found.kind, cost[:, None], asked)
    low, high = limits(sums, found.unseen_rows(), _ratio, asked)
    value = weight @ cost / weight.sum()
    few = ("; rows repeat others" if found.copied else "") + found.few(weight * cost)
    return as_estimate(scale * value, scale * low, scale * high, asked, sample, few)


def _sums(found: Outcomes, key: NDArray[np.intp], values: Array, asked: Resampling) -> Array:
    """Sums of the values and, last, of the weights, for every resample."""
    return gather(key, found.sample.weight, values, found.sample.group).sums(asked)


def _ratio(sums: Array) -> Array:
    return np.asarray(sums[:, 0] / sums[:, -1])


def _saved(sums: Array, paired: bool) -> Array:
    """Return share and amount saved against the rival, then shares and amounts against each.

    Parameters
    ----------
    sums : ndarray of shape (resamples, columns)
        Own cost, that of the other actions where `paired`, of every single action, and the weight.
    paired : bool
    """
    own, rivals, weight = sums[:, :1], sums[:, 1:-1], sums[:, -1:]
    if not paired:  # the best single action of each resample
        rivals = np.concatenate([rivals.min(axis=1, keepdims=True), rivals], axis=1)
    amount = (rivals - own) / weight
    with np.errstate(divide="ignore", invalid="ignore"):
        share = np.where(rivals == 0, np.nan, (rivals - own) / np.abs(rivals))
    return np.concatenate([share[:, :1], amount[:, :1], share[:, 1:], amount[:, 1:]], axis=1)


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
        asked: Resampling,
        weight: Array,
        key: NDArray[np.intp],
        cost: Array,
        added: list[list[Array]],
    ) -> None:
        self.found, self.asked, self.weight, self.key, self.cost = found, asked, weight, key, cost
        self.added = [np.array(rows) for rows in added]
        self.elsewhere = max(float(rows[:, 1].max()) for rows in self.added)

    def sum_over(self, which: ArrayLike, drawn: Array, *, share: bool = False) -> Estimate:
        """Estimate of a sum over cells; an unseen row may fall into them or elsewhere."""
        cells = np.atleast_1d(np.asarray(which))
        part = np.where(np.isin(self.key, cells), 1.0 if share else self.cost, 0.0)
        sample = self.found.sample
        scale = 1.0 if share else sample.total
        inside = [self.added[cell][:, [1, 1] if share else [0, 1]] for cell in cells]
        rows = np.vstack([*inside, [[0.0, self.elsewhere]]])
        sums = np.column_stack([drawn[:, cells].sum(axis=1), self.weight])
        low, high = limits(sums, rows, lambda s: scale * s[:, 0] / s[:, 1], self.asked)
        value = scale * (sample.weight @ part) / sample.weight.sum()
        few = sample.few((), (), sample.weight * part)
        return as_estimate(value, low, high, self.asked, sample, few)


def _remarks(found: Outcomes, counts: NDArray[Any], cost: Array) -> tuple[str, ...]:
    remarks = [*found.copied, *few_remarks(found.few(found.sample.weight * cost))]
    for a, name in enumerate(found.costs.actions):
        taken = int((found.action == a).sum())
        if taken == 0:
            remarks.append(
                Problem(
                    "Action {action!r} was taken in none of these rows: its limits are those of a "
                    "first time, and the total takes it as never taken.",
                    code="action-not-taken",
                    action=name,
                )
            )
        elif not counts[a].any():
            remarks.append(
                Problem(
                    "None of the {rows} with action {action!r} has a label: nothing is known of "
                    "their cost, and the other rows stand for them.",
                    code="action-not-labelled",
                    action=name,
                    rows=in_rows(taken),
                )
            )
    return tuple(remarks)


def _percent(one: Estimate) -> str:
    return "unknown, for it costs 0" if np.isnan(one.value) else one.brief(percent=True)


def _with_remarks(lines: list[str], remarks: tuple[str, ...]) -> str:
    return "\n".join([*lines, *(f"remark: {text}" for text in remarks)])
