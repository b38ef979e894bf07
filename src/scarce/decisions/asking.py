"""Which rows are worth a question: label first, or act at once?

    value = min_a sum_k p_k cost[a, k]  -  sum_j min_a sum_k p_k answers[k, j] cost[a, k]

The expected cost of the best action now, less that after an answer j; a perfect answer names the
class (003 section 0.7 asks where entropy is greatest, whatever a mistake costs). Never negative:
an answer may be left unused. Assumes calibrated probabilities and that the answer comes before the
action. What a label would teach a model is another question: see missed/choose.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import (
    Number,
    is_number,
    read_column,
    read_integer,
    read_number,
    refuse_length,
    refuse_negative,
    refuse_other_index,
)
from scarce.decisions.costs import CostsLike, as_costs
from scarce.decisions.decide import cheapest, class_probabilities, row_slices, same_rows
from scarce.engine.block import Array
from scarce.errors import Argument, UsageError
from scarce.results import Record, in_rows, short


@dataclass(frozen=True, eq=False)
class ValueOfAsking(Record):
    """What an answer about each row would save.

    Parameters
    ----------
    value : ndarray of shape (n,)
        Expected saving of an answer, before its price: the most that one may pay for it.
    price : float or ndarray of shape (n,)
        What an answer costs.
    worth : ndarray of bool of shape (n,)
        Whether the value is greater than the price.
    order : ndarray of intp of shape (n,)
        Rows from the most to the least worthwhile, by value less price; equal ones as they came.
    cost_now : ndarray of shape (n,)
        Expected cost of the best action without an answer.

    Examples
    --------
    >>> asked = value_of_asking([0.02, 0.3, 0.9], [[0, 9], [1, 0]], price=0.2)
    >>> print(asked)
    1 row of 3 is worth asking at a price of 0.2
    asking it saves 0.5 in expectation after its price (0.98 is what acting on all rows costs)
    no row is worth more than 0.7
    """

    value: Array
    price: float | Array
    worth: NDArray[np.bool_]
    order: NDArray[np.intp]
    cost_now: Array

    def __len__(self) -> int:
        return len(self.value)

    @property
    def best_price(self) -> float:
        """The price above which no row at all is worth asking."""
        return float(self.value.max())

    def price_for(self, n: int) -> float:
        """Return the greatest price at which the n most valuable rows are all worth asking.

        Examples
        --------
        >>> value_of_asking([0.02, 0.3, 0.9], [[0, 9], [1, 0]]).price_for(2)
        0.18
        """
        n = self._count(n, least=1)
        place = len(self.value) - n
        return float(np.partition(self.value, place)[place])

    def gain(self, n: int | None = None) -> float:
        """Return the expected saving, after prices, of asking the first n rows of `order`.

        By default all rows that are worth their price. More than those lowers the gain.
        """
        count = int(np.count_nonzero(self.worth)) if n is None else self._count(n, least=0)
        return float((self.value - self.price)[self.order[:count]].sum())

    def _count(self, n: int, least: int) -> int:
        n = read_integer(n, "n", least=least)
        if n > len(self.value):
            raise UsageError(
                "{argument} must be at most {rows:,}, the number of rows, got {value:,}.",
                code="integer-range",
                argument=Argument("n"),
                rows=len(self.value),
                value=n,
            )
        return n

    def __str__(self) -> str:
        count, flat = int(self.worth.sum()), np.ndim(self.price) == 0
        at = f"a price of {short(float(self.price))}" if flat else "its price"
        it = "it" if count == 1 else "them"
        return "\n".join(
            [
                f"{in_rows(count)} of {len(self):,} {'is' if count == 1 else 'are'} worth asking "
                f"at {at}",
                f"asking {it} saves {short(self.gain())} in expectation after "
                f"{'its' if count == 1 else 'their'} price ({short(float(self.cost_now.sum()))} is "
                "what acting on all rows costs)",
                f"no row is worth more than {short(self.best_price)}",
            ]
        )

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain data, for JSON."""
        return super().to_dict() | {"best_price": self.best_price, "gain": self.gain()}


def value_of_asking(
    prob: ArrayLike, costs: CostsLike, *, price: ArrayLike = 0.0, answers: ArrayLike | None = None
) -> ValueOfAsking:
    """Return what it is worth, for each row, to ask somebody before acting.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of every class.
    costs : CostMatrix or array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        Of the actions open without asking, and after.
    price : float or array-like of shape (n,)
        What an answer costs, in the unit of the costs.
    answers : array-like of shape (n_classes, n_answers), optional
        `answers[class, answer]`: how often the person, or the second test, answers so when the
        class is that. There may be more answers than classes ("cannot tell"). By default the
        answer is the class, always.

    Returns
    -------
    ValueOfAsking

    **Assumes** that the probabilities are calibrated, and that given the class an answer does not
    depend on the row: a person who errs mostly on the rows that the model finds hard is worth less.

    Notes
    -----
    With a perfect person the answer is to ask wherever an action "ask", at the price plus the
    least cost of the class, would be the cheapest: `costs.with_abstain(price)` says the same.

    Examples
    --------
    >>> costs = [[0, 9], [1, 0]]
    >>> value_of_asking([0.02, 0.1, 0.9], costs, price=0.5).worth
    array([False,  True, False])

    A second test that finds 8 of 10 and calls 1 of 20 wrongly:

    >>> value_of_asking([0.02, 0.1, 0.9], costs, answers=[[0.95, 0.05], [0.2, 0.8]]).value.round(3)
    array([0.095, 0.675, 0.   ])
    """
    matrix = as_costs(costs)
    refuse_other_index(prob=prob, costs=matrix, price=price)
    n_classes = matrix.shape[1]
    given = class_probabilities(prob, matrix.classes)
    n = len(given)
    same_rows(n, matrix, "prob")
    paid = _read_price(price, n)
    heard = None if answers is None else _read_answers(answers, n_classes)
    value, now = np.empty(n), np.empty(n)
    for rows in row_slices(n, matrix):
        part, taken = given[rows], matrix.take(rows)
        table = taken.at(0, len(part))
        chosen = cheapest(part, taken)
        weighed = part[:, None, :] * (table if table.ndim == 3 else table[None])
        mine = np.take_along_axis(weighed, chosen[:, None, None], axis=1)
        now[rows] = mine[:, 0].sum(axis=1)
        if heard is not None:
            weighed, mine = weighed @ heard, mine @ heard  # by answer in place of by class
        # Differences answer by answer are never negative; that of two sums would lose digits.
        value[rows] = (mine[:, 0] - weighed.min(axis=1)).sum(axis=1)
    # Rounding in the products may favour another action than `cheapest` by a last digit.
    np.maximum(value, 0.0, out=value)
    net = value - paid
    order = np.argsort(-net, kind="stable")
    return ValueOfAsking(value, paid, value > paid, order, now)


def _read_price(price: ArrayLike, n: int) -> float | Array:
    if is_number(price):
        return read_number(price, "price", Number(0))
    refuse_length(price, n, "price")
    paid = read_column(price, "price")
    refuse_negative(paid, "price")
    return paid


def _read_answers(answers: ArrayLike, n_classes: int) -> Array:
    try:
        table = np.asarray(answers, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(
            "{argument} must be a table of numbers ({reason}).",
            code="not-a-number",
            argument=Argument("answers"),
            reason=str(error),
        ) from None
    if table.ndim != 2 or table.shape[0] != n_classes or table.shape[1] == 0:
        raise UsageError(
            "{argument} must have a row for each of the {count} classes and a column for each "
            "answer, got shape {shape}.",
            code="shape-mismatch",
            argument=Argument("answers"),
            count=n_classes,
            shape=table.shape,
        )
    off = np.abs(table.sum(axis=1) - 1.0)
    if not ((table >= 0.0).all() and (off <= 1e-6).all()):
        row = int(np.flatnonzero(~((table >= 0.0).all(axis=1) & (off <= 1e-6)))[0])
        raise UsageError(
            "{argument}[{row}] must hold numbers >= 0 that sum to 1, got {values}.",
            code="prob-sum",
            argument=Argument("answers"),
            row=row,
            values=table[row].tolist(),
            remedy="Rows are classes, columns are answers.",
        )
    return np.asarray(table / table.sum(axis=1, keepdims=True))
