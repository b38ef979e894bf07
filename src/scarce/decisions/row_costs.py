"""A cost that differs from row to row: an amount in a column, or an array of one number per row.

    cost of row i = times * column[i] + plus

Missing a fraud costs what was stolen, so the cost of a miss is a column of the data. An amount
names the column; `bind` gives it values when the rows are known. Does not know actions or classes:
see costs.py.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scarce.checks import column as read_column
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, suggest

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# A sign, a factor, a name that begins with a letter (any name between back quotes), an extra.
TEXT = re.compile(
    rf"^\s*(?P<sign>[+-]?)\s*(?:(?P<times>{NUMBER})\s*\*\s*)?"
    r"(?P<column>`[^`]+`|[^\W\d][^*+/`$€£%]*?)"
    rf"\s*(?P<plus>[+-]\s*{NUMBER}\s*)?$"
)


@dataclass(frozen=True, eq=False)
class Amount:
    """One entry of a cost matrix that varies by row.

    Parameters
    ----------
    column : str
        Name of the column that holds the amounts; "" for an array without a name.
    times, plus : float
        The cost is `times * column + plus`.
    values : ndarray of shape (n,), optional
        The column, once it is known.

    Examples
    --------
    >>> Amount.read("0.8 * amount + 15")
    Amount('0.8 * amount + 15')
    >>> Amount.read("-amount")                                       # a gain
    Amount('-1 * amount')
    >>> Amount.read("amount").bind({"amount": [20.0, 30.0]}).part(0, 2)
    array([20., 30.])
    """

    column: str = ""
    times: float = 1.0
    plus: float = 0.0
    values: Any = None

    def __post_init__(self) -> None:
        numbers = (self.times, self.plus)
        if not all(isinstance(v, (int, float, np.number)) and np.isfinite(v) for v in numbers):
            raise UsageError(f"An amount of {numbers!r} times and plus needs finite numbers.")
        if not isinstance(self.column, str):
            raise UsageError(f"column={self.column!r} is not the name of a column: give text.")
        if self.values is not None:
            name = self.column or "by row"
            held = finite_values(self.values, name)
            if held.flags.writeable:  # the costs must not change with the user's own array
                held = held.copy()
                held.setflags(write=False)
            object.__setattr__(self, "values", held)

    @classmethod
    def read(cls, text: str) -> Amount:
        """Read `column`, `-column`, `0.8 * column` or `0.8 * column + 15`."""
        found = TEXT.match(text)
        if not found:
            raise UsageError(
                f"The cost {text!r} cannot be read: give a number, the name of a column, or a "
                "multiple of it with an extra, such as '0.8 * amount + 15' (an unusual name goes "
                "between back quotes)."
            )
        times, plus = float(found["times"] or 1.0), (found["plus"] or "0").replace(" ", "")
        column = found["column"].strip()
        return cls(column.strip("`"), -times if found["sign"] == "-" else times, float(plus))

    def bind(self, columns: Mapping[str, Any]) -> Amount:
        """Return the amount with its column's values, or refuse a column that is not there."""
        if self.values is not None:
            return self
        if self.column not in columns:
            known = ", ".join(map(str, list(columns)[:12])) or "none"
            raise DataError(
                f"The costs need a column {self.column!r}, and there is none among: {known}."
                f"{suggest(self.column, map(str, columns))}"
            )
        return replace(self, values=columns[self.column])

    def part(self, start: int, stop: int) -> Array:
        """Return the costs of rows start to stop."""
        if self.values is None:
            raise UsageError(
                f"The costs name the column {self.column!r} and have no values for it yet: "
                "costs.bind(table) first, or pass amounts= to the classifier."
            )
        values: Array = self.values[start:stop]
        if self.times != 1.0:
            values = values * self.times
        return values + self.plus if self.plus != 0.0 else values

    def take(self, rows: Any) -> Amount:
        """Return the amount of some of the rows."""
        if self.values is None:
            return self
        try:
            return replace(self, values=self.values[rows])
        except (IndexError, TypeError, ValueError) as error:
            raise UsageError(
                f"These rows cannot be taken from {len(self.values):,} costs by row ({error}): "
                "give positions, a mask or a slice."
            ) from None

    @property
    def text(self) -> str:
        """The formula: what `read` takes, where the column has a name."""
        times = f"{self.times:.6g} * " if self.times != 1 else ""
        sign = "-" if self.plus < 0 else "+"
        plus = f" {sign} {abs(self.plus):.6g}" if self.plus != 0 else ""
        plain = TEXT.match(self.column) and not re.search(rf"[+-]\s*{NUMBER}$", self.column)
        name = self.column if plain else f"`{self.column}`"
        return f"{times}{name if self.column else 'by row'}{plus}"

    def __repr__(self) -> str:
        return f"Amount({self.text!r})"


def finite_values(values: Any, name: str) -> Array:
    """Return one finite number per row, or say where there is none."""
    found = read_column(values, name)
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(found.sum())
    if not fine and not np.isfinite(found).all():
        bad = np.flatnonzero(~np.isfinite(found))
        raise DataError(
            f"The cost {name!r} is {found[bad[0]]:g} at row {bad[0]:,} ({len(bad):,} such values): "
            "the expected cost of that row cannot be known. Fill it in, or leave the row out."
        )
    return np.asarray(found)


def columns_of(table: Any, names: tuple[str, ...]) -> Mapping[str, Any]:
    """Return the columns of a mapping, a table, a structured array, or an array in their order.

    Examples
    --------
    >>> columns_of([20.0, 30.0], ("amount",))
    {'amount': [20.0, 30.0]}
    """
    if isinstance(table, Mapping):
        return table
    fields = getattr(getattr(table, "dtype", None), "names", None)
    if fields:  # a structured array
        return {name: table[name] for name in fields}
    if hasattr(table, "column_names"):  # Arrow
        return {name: table[name] for name in table.column_names}
    if hasattr(table, "columns") and hasattr(table, "__getitem__"):  # pandas, polars
        return {str(name): table[name] for name in table.columns}
    if getattr(table, "name", None) is not None and hasattr(table, "to_numpy"):  # a named column
        if len(names) == 1:
            return {names[0]: table}
        return {str(table.name): table}
    shape = np.shape(table)
    if len(shape) == 1 and len(names) == 1:
        return {names[0]: table}
    if len(shape) == 2 and shape[1] == len(names):
        held = np.asarray(table)
        return {name: held[:, place] for place, name in enumerate(names)}
    listed = ", ".join(map(repr, names)) or "no column"
    raise DataError(
        f"The amounts have shape {shape}, and the costs name {listed}: give a table with these "
        "columns, or an array with one column for each, in this order."
    )
