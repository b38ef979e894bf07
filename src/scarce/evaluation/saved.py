"""The record of what decisions saved: against one action for all rows, or against other decisions.

    share saved = (cost of the rival - cost) / |cost of the rival|

With costs above 0 that is 1 - cost / cost of the rival; the absolute value keeps the sign right
where the rival earns money. Both costs are of the same rows, and of the same resample: the interval
is that of the difference. Counts no rows: see realised.py.
"""

from __future__ import annotations

from collections.abc import Hashable
from dataclasses import dataclass
from typing import Any

import numpy as np

from scarce.engine.block import Array
from scarce.evaluation.wording import figure, percent, with_remarks
from scarce.results import Estimate, Record, to_plain


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

    Examples
    --------
    >>> from scarce import savings
    >>> y, done = [0] * 80 + [1] * 20, [0] * 75 + [1] * 25
    >>> print(savings(y, done, [[0, 40], [5, 0]]))
    Saved 93.8 % [61.7 %, 97.5 %] of what '1' for every row costs (90 %), 3.75 [2.43, 4.1] a row.
      against '0' for every row  96.9 % [82.3 %, 98.9 %]
      against '1' for every row  93.8 % [61.7 %, 97.5 %]
    remark: few: the cost lies on about 5 rows.
    """

    share: Estimate
    per_row: Estimate
    best: Hashable
    against: dict[Hashable, Estimate]
    amount_against: dict[Hashable, Estimate]
    cost: Estimate
    other_cost: Estimate | None = None
    differ: int | None = None

    def __str__(self) -> str:
        amount, level = f"{figure(self.per_row)} a row", f"({100 * self.share.level:g} %)"
        rival = f"'{self.best}' for every row" if self.other_cost is None else "the other actions"
        verb = "costs" if self.other_cost is None else "cost"
        if np.isnan(self.share.value):
            lines = [f"Saved {amount} {level}; {rival} {verb} 0."]
        else:
            lines = [f"Saved {percent(self.share)} of what {rival} {verb} {level}, {amount}."]
        if self.differ is not None:
            lines.append(f"  the two differ in {self.differ:,} row{'s' * (self.differ != 1)}")
        wide = max(len(str(name)) for name in self.against)
        lines += [
            f"  against '{name}'{' ' * (wide - len(str(name)))} for every row  {percent(one)}"
            for name, one in self.against.items()
        ]
        few = self.per_row.method.partition("; ")[2]
        return with_remarks(lines, [f"{few}."] if few else [])

    def to_dict(self) -> dict[str, Any]:
        """Return the fields as plain values, ready for JSON; pairs where names are keys."""
        pairs = {
            "against": list(self.against.items()),  # names need not be text
            "amount_against": list(self.amount_against.items()),
        }
        return super().to_dict() | to_plain(pairs)


def saved(sums: Array, paired: bool) -> Array:
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
