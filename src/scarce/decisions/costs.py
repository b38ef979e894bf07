"""What does each action cost in each class, and do these costs make sense?

    costs[action, class],   expected cost of an action = sum over classes of prob * cost   (003 0.2)

More actions than classes (act, do not act, ask a person), costs that vary by row (the amount at
stake), gains as negative costs. Assumes that costs add up over rows and do not depend on what is
decided elsewhere; for limits on the number of actions see budget.py. Decides nothing: decide.py.
"""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from html import escape
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import Shares, read_shares, refuse_other_index
from scarce.decisions.bands import Bands, Idle, find_bands, idle_actions
from scarce.decisions.cost_entries import (
    Amounts,
    Entry,
    Matrix,
    Name,
    Rows,
    Table,
    abstain_entries,
    columns_of,
    frame_names,
    name_array,
    position_of,
    read_entries,
    read_names,
    row_count,
    unbound,
)
from scarce.decisions.cost_files import read_costs
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError, suggest, warn_user
from scarce.results import short

BINARY = ("false_alarm", "miss", "hit", "correct_rejection")


@dataclass(frozen=True, eq=False, repr=False)
class CostMatrix:
    """Costs of actions by class; lower is better, negative is a gain.

    Parameters
    ----------
    costs : array-like of shape (n_actions, n_classes) or (n_rows, n_actions, n_classes)
        In a nested list an entry may also be an array of one number per row, or the name of a
        column ("amount", "0.8 * amount + 15") that `bind` fills in later.
    actions, classes : sequence of names, optional
        Classes are 0, 1, ... by default, and a classifier's own where one is asked. Actions are
        the classes by default, where there are as many; give names where there are more.

    Attributes
    ----------
    n_rows : int or None
        Number of rows, where costs vary by row and are known.
    columns : tuple of str
        Columns that are named and not bound yet.

    **Assumes** that the cost of a row depends on its own action and class alone.

    Examples
    --------
    >>> costs = CostMatrix.binary(false_alarm=5, miss=400, classes=("legit", "fraud"))
    >>> print(costs.with_abstain(3, name="ask"))
    cost of each action, by class
             legit  fraud
      legit      0    400
      fraud      5      0
      ask        3      3
    legit  while p(fraud) is below 0.0075
    ask    from 0.0075 to 0.4
    fraud  above 0.4
    >>> CostMatrix([[0, 9], [1, 0], [2, 5]], actions=["pass", "block", "call"]).dominated()
    {'call': 'block'}
    """

    costs: Matrix
    actions: Any = field(default=None, kw_only=True)  # any sequence is given, a tuple is kept
    classes: Any = field(default=None, kw_only=True)
    amounts: Amounts = field(default=(), kw_only=True)
    positional: bool | None = field(default=None, kw_only=True)  # classes were not named

    def __post_init__(self) -> None:
        fresh = self.positional is None  # not a copy of one that was looked at before
        if fresh:
            for side, names in frame_names(self.costs).items():
                if getattr(self, side) is None:
                    object.__setattr__(self, side, names)
        fixed, amounts = read_entries(self.costs, tuple(self.amounts))
        put = object.__setattr__
        put(self, "costs", fixed)
        put(self, "amounts", amounts)
        n_actions, n_classes = fixed.shape
        positional = self.classes is None if fresh else bool(self.positional)
        classes = read_names(self.classes, n_classes, "classes", range(n_classes))
        if self.actions is None and n_actions != n_classes:
            raise UsageError(
                "costs has {n_actions} actions and {n_classes} classes, and the actions have no "
                "names.",
                code="names-needed",
                n_actions=n_actions,
                n_classes=n_classes,
                actions=Argument("actions", ["pass", "block", "ask"]),
                remedy="Name them in the order of the rows of costs, such as {actions}.",
            )
        put(self, "positional", positional)
        put(self, "classes", classes)
        put(self, "actions", read_names(self.actions, n_actions, "actions", classes))
        row_count(self.amounts)  # refuses columns of different lengths
        refuse_other_index(**{f"costs[{a}, {k}]": one for (a, k), one in amounts})
        fixed.setflags(write=False)
        if fresh:
            _warn_right_costs_more(self)

    @classmethod
    def binary(
        cls,
        *,
        false_alarm: Entry,
        miss: Entry,
        hit: Entry = 0.0,
        correct_rejection: Entry = 0.0,
        classes: Sequence[Name] | None = None,
    ) -> Self:
        """Costs of two classes, the negative one first (003 section 0.4).

        Parameters
        ----------
        false_alarm, miss, hit, correct_rejection : float, array of shape (n,), or column name
            Acting on a negative, not acting on a positive, acting on a positive, and neither.
        classes : pair of names, optional
            Negative class, positive class.

        Examples
        --------
        >>> CostMatrix.binary(false_alarm=1, miss=9).costs
        array([[0., 9.],
               [1., 0.]])
        """
        return cls([[correct_rejection, miss], [false_alarm, hit]], classes=classes)

    @classmethod
    def zero_one(cls, classes: int | Sequence[Name] = 2) -> Self:
        """Cost 1 for every wrong class and 0 for the right one; a number of classes or their names.

        Examples
        --------
        >>> CostMatrix.zero_one(3).with_abstain(0.2).costs[-2:]
        array([[1. , 1. , 0. ],
               [0.2, 0.2, 0.2]])
        """
        named = not isinstance(classes, (int, np.integer))
        try:
            count = len(classes) if named else int(classes)  # type: ignore[arg-type]
        except TypeError:
            count = 0
        if count < 2 or isinstance(classes, (str, bool)):
            raise UsageError(
                "zero_one({classes!r}): give two classes or more, or their names.",
                code="too-few-classes",
                classes=classes,
            )
        return cls(1.0 - np.eye(count), classes=classes if named else None)

    @classmethod
    def per_row(
        cls,
        costs: Mapping[tuple[Name, Name], Entry] | None = None,
        *,
        actions: Sequence[Name] | None = None,
        classes: Sequence[Name] | None = None,
        **binary: Entry,
    ) -> Self:
        """Costs that vary by row: named entries, 0 where none is named.

        Parameters
        ----------
        costs : dict {(action, class): number, array of shape (n,), or column name}
        actions, classes : sequence of names, optional
            In the order wanted; by default in the order in which `costs` names them.
        **binary : false_alarm, miss, hit, correct_rejection
            Instead of `costs`: the four entries of two classes, as for `binary`.

        Examples
        --------
        >>> costs = CostMatrix.per_row({("pass", "fraud"): [120.0, 8.0], ("block", "legit"): 5.0},
        ...     actions=["pass", "block"], classes=["legit", "fraud"])
        >>> costs.at(0, 2)[:, 0]
        array([[  0., 120.],
               [  0.,   8.]])
        >>> CostMatrix.per_row(false_alarm=5, miss="amount").columns
        ('amount',)
        """
        if costs is None:
            for word in set(binary) - set(BINARY):
                raise UsageError(
                    "per_row has no entry {word!r}.{hint}",
                    code="unknown-word",
                    word=word,
                    hint=suggest(word, BINARY),
                )
            if not {"false_alarm", "miss"} <= set(binary):
                raise UsageError(
                    "per_row() names no cost.",
                    code="missing-argument",
                    remedy="Give false_alarm= and miss=, or costs=.",
                )
            return cls.binary(**binary, classes=classes)
        if not isinstance(costs, Mapping) or not all(
            isinstance(key, tuple) and len(key) == 2 for key in costs
        ):
            raise UsageError(
                "per_row takes a dict {(action, class): cost}, such as {('pass', 'fraud'): 90.0}.",
                code="costs-type",
                remedy="For a matrix or a stack of them use CostMatrix(costs).",
            )
        if binary:
            raise UsageError(
                "per_row(costs=...) and {words} exclude each other.",
                code="argument-conflict",
                words=", ".join(sorted(binary)),
            )
        actions = list(dict.fromkeys(a for a, _ in costs)) if actions is None else list(actions)
        classes = list(dict.fromkeys(k for _, k in costs)) if classes is None else list(classes)
        grid: list[list[Entry]] = [[0.0] * len(classes) for _ in actions]
        for (action, label), entry in costs.items():
            a, k = position_of(action, actions, "action"), position_of(label, classes, "class")
            grid[a][k] = entry
        return cls(grid, actions=actions, classes=classes)

    @classmethod
    def read(cls, path: str | os.PathLike[str]) -> Self:
        """Read costs from a CSV file (a row per action) or a TOML file; docs/guide/decide.md."""
        return read_costs(path, cls)

    from_csv = read
    from_toml = read

    @property
    def n_rows(self) -> int | None:
        """Number of rows, where costs vary by row and are known."""
        return row_count(self.amounts)

    @property
    def index(self) -> Any:
        """Index of the rows, where costs by row came from pandas; None otherwise."""
        return next((one.index for _, one in self.amounts if one.index is not None), None)

    @property
    def columns(self) -> tuple[str, ...]:
        """Names of columns that are not bound yet, each once."""
        names = (amount.column for _, amount in self.amounts if amount.values is None)
        return tuple(dict.fromkeys(names))

    @property
    def shape(self) -> tuple[int, int]:
        """Number of actions and of classes."""
        return self.costs.shape  # type: ignore[no-any-return]

    @property
    def class_actions(self) -> tuple[int, ...]:
        """Positions of the actions that are named after a class."""
        return tuple(a for a, name in enumerate(self.actions) if name in self.classes)

    def action_names(self) -> NDArray[Any]:
        """Return the actions as an array: of one type where they have one, of objects otherwise."""
        return name_array(self.actions)

    def entry(self, action: Name, label: Name) -> float | Array:
        """Return the cost of an action in a class: a number, or an array of one per row."""
        a, k = (
            position_of(action, self.actions, "action"),
            position_of(label, self.classes, "class"),
        )
        return self.part(a, k, 0, None)

    def part(self, action: int, label: int, start: int, stop: int | None) -> float | Array:
        """Return an entry by positions, for rows start to stop: a number or an array."""
        for (a, k), amount in self.amounts:
            if (a, k) == (action, label):
                found: Array = amount.part(start, self.n_rows if stop is None else stop)
                return found
        return float(self.costs[action, label])

    def at(self, start: int = 0, stop: int | None = None) -> Array:
        """Return the costs of rows start to stop, (n, actions, classes), or all of them if fixed.

        Without amounts by row, the matrix itself, (actions, classes).
        """
        if not self.amounts:
            return np.asarray(self.costs)
        stop = self.n_rows if stop is None else stop
        if stop is None:
            raise unbound(self.columns[0])
        whole = np.tile(self.costs, (stop - start, 1, 1))
        for (a, k), amount in self.amounts:
            whole[:, a, k] = amount.part(start, stop)
        return whole

    def bind(self, table: Table) -> Self:
        """Return the costs with the columns that they name taken from a table, dict or array.

        Examples
        --------
        >>> costs = CostMatrix.binary(false_alarm=5, miss="0.8 * amount")
        >>> costs.bind({"amount": [10, 1000]}).entry(0, 1)
        array([  8., 800.])
        """
        if not self.columns:
            return self
        found = columns_of(table, self.columns)
        bound = replace(self, amounts=tuple((at, one.bind(found)) for at, one in self.amounts))
        _warn_earning_mistake(bound)
        return bound

    def take(self, rows: Rows) -> Self:
        """Return the costs of some of the rows; positions, a mask or a slice."""
        if self.n_rows is None:
            return self
        return replace(self, amounts=tuple((at, one.take(rows)) for at, one in self.amounts))

    def only(self, actions: Sequence[Name]) -> Self:
        """Return the costs of some of the actions, in the order given."""
        names = read_names(actions, len(actions), "actions", ())
        chosen = [position_of(name, self.actions, "action") for name in names]
        kept = tuple(((chosen.index(a), k), one) for (a, k), one in self.amounts if a in chosen)
        return replace(self, costs=self.costs[chosen], actions=names, amounts=kept)

    def with_abstain(self, cost: Entry | Mapping[Name, Entry], *, name: Name = "abstain") -> Self:
        """Return the costs with one more action, last: to pass the row on (003 section 0.5).

        Parameters
        ----------
        cost : float, or array-like
            What a person's look costs: one number; one per class (a dict by class, or as many
            numbers as classes); one per row (an array, or a column's name); or one per row and
            class, (n, n_classes).
        name : str
            Name of the action.
        """
        (name,) = read_names([name], 1, "actions", ())
        if name in self.actions:
            raise UsageError(
                "The costs have an action {action!r} already.",
                code="duplicate-name",
                action=name,
                name=Argument("name", ...),
                remedy="Give another {name}.",
            )
        entries = abstain_entries(cost, self.classes, self.n_rows)
        last = self.shape[0]
        grid = [list(row) for row in self.costs] + [entries]
        fixed, more = read_entries(grid, ())
        amounts = self.amounts + tuple(((last, k), one) for (_, k), one in more)
        return replace(self, costs=fixed, actions=(*self.actions, name), amounts=amounts)

    def with_classes(self, classes: Sequence[Name]) -> Self:
        """Return the costs for a classifier's classes, in its order.

        Costs without names of their own take these by position; named ones are put in this order.

        Examples
        --------
        >>> CostMatrix.binary(false_alarm=1, miss=9).with_classes(["legit", "spam"]).actions
        ('legit', 'spam')
        """
        wanted = read_names(classes, len(list(classes)), "classes", ())
        if len(wanted) != len(self.classes):
            raise UsageError(
                "The costs are for {count} classes {classes}, and there are {found}: {wanted}.",
                code="class-mismatch",
                count=len(self.classes),
                classes=list(self.classes),
                found=len(wanted),
                wanted=list(wanted),
                remedy="Give a column of costs for each class.",
            )
        if self.positional:
            new = dict(zip(self.classes, wanted, strict=True))
            actions = tuple(new.get(name, name) for name in self.actions)
            return replace(self, classes=wanted, actions=actions, positional=False)
        if self.classes == wanted:
            return self
        order = [position_of(name, self.classes, "class") for name in wanted]
        amounts = tuple(((a, order.index(k)), one) for (a, k), one in self.amounts)
        return replace(self, costs=self.costs[:, order], classes=wanted, amounts=amounts)

    def with_prior(self, trained_at: Shares, now_at: Shares) -> Self:
        """Return costs that give decisions at a new base rate from uncorrected probabilities.

        `correct_prior` multiplies probabilities by a factor per class and divides by their sum;
        the sum does not change which action is cheapest, so the factors can go into the costs.
        Thresholds of the result apply to the probabilities as they are. Base rates are given as
        for `correct_prior`, by name too.

        Examples
        --------
        >>> costs = CostMatrix.binary(false_alarm=1, miss=9)
        >>> print(costs.with_prior(trained_at=0.5, now_at=0.1).thresholds())
        0  while p(1) is below 0.5
        1  above 0.5
        """
        names = len(self.classes) if self.positional else self.classes
        factor = read_shares(now_at, names, "now_at") / read_shares(trained_at, names, "trained_at")
        amounts = tuple(
            ((a, k), replace(one, times=one.times * factor[k], plus=one.plus * factor[k]))
            for (a, k), one in self.amounts
        )
        return replace(self, costs=self.costs * factor, amounts=amounts)

    def thresholds(self) -> Bands:
        """Return, for two classes, the range of p(last class) on which each action is cheapest.

        With costs by row the ends are arrays.

        Examples
        --------
        >>> print(CostMatrix.binary(false_alarm=1, miss=20).with_abstain(0.5).thresholds())
        0        while p(1) is below 0.025
        abstain  from 0.025 to 0.5
        1        above 0.5
        >>> print(CostMatrix.zero_one(2).with_abstain(0.6).thresholds())
        0  while p(1) is below 0.5
        1  above 0.5
        'abstain' is never the cheapest: it would have to cost 0.1 less.
        """
        return find_bands(self)

    def idle(self) -> tuple[Idle, ...]:
        """Return the actions that are never the cheapest, whatever the probabilities, and why."""
        return idle_actions(self)

    def dominated(self) -> dict[Name, Name]:
        """Return actions that cost as much as another in every class or more, with that other.

        Examples
        --------
        >>> costs = CostMatrix([[0, 9], [1, 0], [2, 5]], actions=["pass", "block", "call"])
        >>> costs.dominated()
        {'call': 'block'}
        """
        return {one.action: one.by for one in self.idle() if one.by is not None}

    def to_dict(self) -> dict[str, Any]:
        """Return actions, classes and costs as plain values, for JSON; an Amount as its text."""
        grid: list[list[float | str]] = np.asarray(self.costs).tolist()
        for (a, k), amount in self.amounts:
            grid[a][k] = amount.text
        return {"actions": list(self.actions), "classes": list(self.classes), "costs": grid}

    def _cells(self) -> list[list[str]]:
        """The entries as text, a row per action."""
        cells = [[short(value) for value in row] for row in self.costs]
        for (a, k), amount in self.amounts:
            cells[a][k] = amount.text
        return cells

    def _remarks(self) -> list[str]:
        """What the costs imply, below the table."""
        if self.columns:
            return [f"columns still to be bound: {', '.join(self.columns)}"]
        if len(self.classes) == 2:
            return [str(self.thresholds())]
        return [str(one) for one in self.idle()]

    def __str__(self) -> str:
        heads, cells = [str(label) for label in self.classes], self._cells()
        first = max(len(str(action)) for action in self.actions)
        widths = [max(len(head), *(len(row[k]) for row in cells)) for k, head in enumerate(heads)]
        named = "".join(f"  {head:>{w}}" for head, w in zip(heads, widths, strict=True))
        lines = ["cost of each action, by class", f"  {'':<{first}}{named}"]
        for action, row in zip(self.actions, cells, strict=True):
            values = "".join(f"  {cell:>{w}}" for cell, w in zip(row, widths, strict=True))
            lines.append(f"  {action!s:<{first}}{values}")
        return "\n".join([*lines, *self._remarks()])

    def _repr_html_(self) -> str:
        rows = [[str(a), *row] for a, row in zip(self.actions, self._cells(), strict=True)]
        heads = ["action", *map(str, self.classes)]
        if len(self.classes) == 2 and not self.columns:
            bands = self.thresholds()
            heads.append("cheapest")
            told = bands.texts()
            for action, row in zip(self.actions, rows, strict=True):
                row.append(told.get(action, "never"))
            return html_table("Cost of each action, by class", heads, rows, map(str, bands.idle))
        return html_table("Cost of each action, by class", heads, rows, self._remarks())

    def __repr__(self) -> str:
        told = self.to_dict()
        names = "" if self.positional else f", classes={told['classes']}"
        return f"CostMatrix({told['costs']}, actions={told['actions']}{names})"


CostsLike = CostMatrix | ArrayLike | str | os.PathLike[str]


def as_costs(costs: CostsLike) -> CostMatrix:
    """Return costs as a CostMatrix: one already, an array, nested lists, or the path of a file."""
    if isinstance(costs, CostMatrix):
        return costs
    if isinstance(costs, (str, os.PathLike)):
        return CostMatrix.read(costs)
    if not hasattr(costs, "__len__"):
        raise UsageError(
            "{costs} is not a cost matrix.",
            code="costs-type",
            costs=Argument("costs", costs),
            remedy="Give CostMatrix.binary(false_alarm=, miss=), or an array with a row per action "
            "and a column per class.",
        )
    fixed, amounts = read_entries(costs, ())
    n_actions, n_classes = fixed.shape
    if n_actions == n_classes:
        return CostMatrix(fixed, amounts=amounts)
    return CostMatrix(fixed, actions=range(n_actions), amounts=amounts, positional=True)


def order_matters(costs: CostMatrix) -> bool:
    """Say whether the costs would differ if the classes stood in another order.

    Examples
    --------
    >>> order_matters(CostMatrix.zero_one(3).with_abstain(0.2))
    False
    >>> order_matters(CostMatrix.binary(false_alarm=1, miss=9))
    True
    """
    fixed, n_classes = np.asarray(costs.costs), costs.shape[1]
    square, rest = fixed[:n_classes], fixed[n_classes:]
    if costs.amounts or len(square) < n_classes:
        return True
    off = square[~np.eye(n_classes, dtype=bool)]
    return bool(np.ptp(off) or np.ptp(square.diagonal()) or np.ptp(rest, axis=1).any())


def html_table(
    caption: str, heads: Sequence[str], rows: Iterable[Sequence[str]], notes: Iterable[str] = ()
) -> str:
    """Return a small HTML table with a caption and headers for rows and columns.

    Examples
    --------
    >>> html_table("Costs", ["action", "ok"], [["pass", "0"]])[:50]
    '<table><caption>Costs</caption><thead><tr><th scop'
    """
    named = "".join(f'<th scope="col">{escape(head)}</th>' for head in heads)
    body = "".join(
        f'<tr><th scope="row">{escape(first)}</th>'
        + "".join(f"<td>{escape(cell)}</td>" for cell in rest)
        + "</tr>"
        for first, *rest in rows
    )
    below = "".join(f"<p>{escape(note)}</p>" for note in notes)
    return (
        f"<table><caption>{escape(caption)}</caption><thead><tr>{named}</tr></thead>"
        f"<tbody>{body}</tbody></table>{below}"
    )


def _warn_earning_mistake(costs: CostMatrix) -> None:
    """Warn of a mistake that earns money in some row: a sign of exchanged or rescaled columns."""
    for (a, k), amount in costs.amounts:
        wrong = costs.actions[a] in costs.classes and costs.actions[a] != costs.classes[k]
        if not wrong or amount.values is None or costs.classes[k] not in costs.actions:
            continue
        values = amount.part(0, costs.n_rows)
        if len(values) and values.min() < 0:
            warn_user(
                "The cost {cost!r} of action {action!r} in class {label!r} is below 0 in "
                "{count:,} of {rows:,} rows ({least} at row {row:,}): a mistake would earn money.",
                code="mistake-earns",
                cost=amount.text,
                action=costs.actions[a],
                label=costs.classes[k],
                count=int((values < 0).sum()),
                rows=len(values),
                least=short(values.min()),
                row=int(values.argmin()),
                amounts=Argument("amounts"),
                remedy=[
                    "Is the column standardised, or the wrong one?",
                    "Pass the amounts as they are ({amounts}), and put a pipeline inside the "
                    "classifier, not before it.",
                ],
            )
            return


def _warn_right_costs_more(costs: CostMatrix) -> None:
    """Warn where the right action costs more than a wrong one: rows and columns exchanged?"""
    varying = {place for place, _ in costs.amounts}
    found = []
    for k, label in enumerate(costs.classes):
        if label not in costs.actions:
            continue
        right = costs.actions.index(label)
        for wrong in costs.class_actions:
            if wrong == right or {(right, k), (wrong, k)} & varying:
                continue
            if costs.costs[right, k] > costs.costs[wrong, k]:
                found.append((label, costs.actions[wrong], right, wrong, k))
    if found:
        label, other, right, wrong, k = found[0]
        warn_user(
            "In class {label!r} the right action costs {right}, more than the wrong action "
            "{wrong_action!r}, which costs {wrong}{more}.",
            code="right-costs-more",
            label=label,
            right=short(costs.costs[right, k]),
            wrong_action=other,
            wrong=short(costs.costs[wrong, k]),
            more=f" ({len(found)} such pairs)" * (len(found) > 1),
            count=len(found),
            remedy="costs has a row per action and a column per class; if these are gains, pass "
            "their negatives.",
        )
