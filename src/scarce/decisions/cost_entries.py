"""From what people write as costs to numbers: names, fixed entries, and amounts that vary by row.

    cost of row i = times * column[i] + plus

A matrix, a stack of matrices (one per row), or lists in which an entry may be a number, one number
per row, or the name of a column: missing a fraud costs what was stolen. An `Amount` names the
column; `bind` gives it values when the rows are known. Values that are not finite are refused by
their position. Does not judge whether the costs make sense: see costs.py.
"""

from __future__ import annotations

import re
from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, ClassVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import Number, read_column, refuse_not_finite, row_index
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, UsageError, suggest

Name = Hashable
Table = Any  # a mapping, a data frame, an Arrow table, a structured or plain array
Matrix = Any  # what can be read as costs: nested lists, an array, a data frame
Position = tuple[int, int]  # action, class
Rows = slice | NDArray[Any] | Sequence[int]

NUMBER = r"(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?"
# A sign, a factor, a name that begins with a letter (any name between back quotes), an extra.
FORMULA = re.compile(
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
    values: Array | None = None
    index: ClassVar[Any] = None  # of the rows, where the values came from pandas

    def __post_init__(self) -> None:
        finite = Number().allows(self.times) and Number().allows(self.plus)
        if not isinstance(self.column, str) or not finite:
            raise UsageError(
                "An amount needs the name of a column and finite numbers, got {seen}.",
                code="amount-type",
                seen=(self.column, self.times, self.plus),
            )
        if self.values is not None:
            object.__setattr__(self, "index", row_index(self.values))
            held = finite_values(self.values, self.column or "costs")
            if held.flags.writeable:  # the costs must not change with the user's own array
                held = held.copy()
                held.setflags(write=False)
            object.__setattr__(self, "values", held)

    @classmethod
    def read(cls, text: str) -> Amount:
        """Read `column`, `-column`, `0.8 * column` or `0.8 * column + 15`."""
        found = FORMULA.match(text)
        if not found:
            raise UsageError(
                "Cannot read the cost {text!r}.",
                code="cost-text",
                text=text,
                remedy="Give a number, the name of a column, or a multiple of it with an extra, "
                "such as '0.8 * amount + 15' (an unusual name goes between back quotes).",
            )
        times, plus = float(found["times"] or 1.0), (found["plus"] or "0").replace(" ", "")
        column = found["column"].strip()
        return cls(column.strip("`"), -times if found["sign"] == "-" else times, float(plus))

    def bind(self, columns: Mapping[str, ArrayLike]) -> Amount:
        """Return the amount with the values of its column."""
        if self.values is not None:
            return self
        if self.column not in columns:
            raise DataError(
                "The costs need a column {column!r}. Columns found: {known}.{hint}",
                code="unknown-column",
                column=self.column,
                known=", ".join(map(str, list(columns)[:12])) or "none",
                hint=suggest(self.column, map(str, columns)),
            )
        given = columns[self.column]
        return replace(self, values=read_column(given, self.column))._of_rows(row_index(given))

    def part(self, start: int, stop: int | None) -> Array:
        """Return the costs of rows start to stop."""
        if self.values is None:
            raise unbound(self.column)
        values: Array = self.values[start:stop]
        if self.times != 1.0:
            values = values * self.times
        return values + self.plus if self.plus != 0.0 else values

    def take(self, rows: Rows) -> Amount:
        """Return the amount of some of the rows."""
        if self.values is None:
            return self
        try:
            found = replace(self, values=self.values[rows])
            return found._of_rows(None if self.index is None else self.index[rows])
        except (IndexError, TypeError, ValueError) as error:
            raise UsageError(
                "Cannot take these rows from {count:,} costs by row ({reason}).",
                code="row-selection",
                count=len(self.values),
                reason=str(error),
                remedy="Give positions, a mask or a slice.",
            ) from None

    def _of_rows(self, index: Any) -> Amount:
        """Note the index of the rows; nothing that is stored."""
        object.__setattr__(self, "index", index)
        return self

    @property
    def text(self) -> str:
        """The formula: what `read` takes, where the column has a name."""
        times = f"{self.times:.6g} * " if self.times != 1 else ""
        sign = "-" if self.plus < 0 else "+"
        plus = f" {sign} {abs(self.plus):.6g}" if self.plus != 0 else ""
        plain = FORMULA.match(self.column) and not re.search(rf"[+-]\s*{NUMBER}$", self.column)
        name = self.column if plain else f"`{self.column}`"
        return f"{times}{name if self.column else 'by row'}{plus}"

    def __repr__(self) -> str:
        return f"Amount({self.text!r})"


Entry = float | str | Amount | ArrayLike  # a number, a column or formula, or one number per row
Amounts = tuple[tuple[Position, Amount], ...]


def unbound(column: str) -> UsageError:
    """Return the error for costs whose column has no values yet."""
    return UsageError(
        "The costs name the column {column!r}, which has no values yet.",
        code="unbound-column",
        column=column,
        how=Phrase("costs.bind(table)"),
        amounts=Argument("amounts"),
        remedy="Call {how} first, or pass {amounts} to the classifier.",
    )


def finite_values(values: ArrayLike, name: str) -> Array:
    """Return one finite number per row, or say which row has none."""
    found = read_column(values, name)
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(found.sum())
    if not fine:
        refuse_not_finite(found, name)
    return np.asarray(found)


def columns_of(table: Table, names: tuple[str, ...]) -> Mapping[str, ArrayLike]:
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
        return {names[0] if len(names) == 1 else str(table.name): table}
    shape = np.shape(table)
    if len(shape) == 1 and len(names) == 1:
        return {names[0]: table}
    if len(shape) == 2 and shape[1] == len(names):
        held = np.asarray(table)
        return {name: held[:, place] for place, name in enumerate(names)}
    raise DataError(
        "The amounts have shape {shape}, and the costs name {names}.",
        code="shape-mismatch",
        shape=shape,
        names=", ".join(map(repr, names)) or "no column",
        remedy="Give a table with these columns, or an array with one column for each, in order.",
    )


def frame_names(costs: Matrix) -> dict[str, list[Name]]:
    """Return the names of actions and classes that a data frame of costs brings, if any.

    Examples
    --------
    >>> import pandas as pd
    >>> frame_names(pd.DataFrame([[0, 9], [1, 0]], index=["pass", "stop"], columns=["ok", "bad"]))
    {'actions': ['pass', 'stop'], 'classes': ['ok', 'bad']}
    """
    found = {}
    for side, word in (("actions", "index"), ("classes", "columns")):
        held: Any = getattr(costs, word, None)
        if hasattr(held, "tolist") and type(held).__name__ != "RangeIndex":
            found[side] = held.tolist()
    return found


def read_entries(costs: Matrix, amounts: Amounts) -> tuple[Array, Amounts]:
    """Return the fixed entries, (actions, classes) with 0 where one varies, and those that vary."""
    if isinstance(costs, (list, tuple)) and not amounts:
        return _from_lists(costs)
    if hasattr(costs, "columns") and hasattr(costs, "to_numpy"):  # cells may name columns
        return _from_lists(costs.to_numpy().tolist())
    return _from_array(costs, amounts)


def _from_array(costs: Matrix, amounts: Amounts) -> tuple[Array, Amounts]:
    try:
        held = np.asarray(costs)
        if held.dtype.kind not in "fiubO":
            raise TypeError(f"its type is {held.dtype}")
        held = held.astype(np.float64)
    except (TypeError, ValueError) as error:
        raise UsageError(
            "costs is not a matrix of numbers ({reason}).",
            code="costs-type",
            reason=str(error),
            remedy="Give a row for each action and a column for each class.",
        ) from None
    if held.ndim == 3:
        return _from_cube(held)
    _check_shape(held.shape)
    _check_finite(held)
    _check_positions(amounts, held.shape)
    return held.copy(), amounts


def _from_lists(costs: Sequence[Matrix]) -> tuple[Array, Amounts]:
    rows = [list(row) if isinstance(row, (list, tuple, np.ndarray)) else row for row in costs]
    if not all(isinstance(row, list) for row in rows) or len({len(row) for row in rows}) != 1:
        raise UsageError(
            "costs has rows of lengths {lengths}.",
            code="costs-shape",
            lengths=[len(row) if isinstance(row, list) else repr(row) for row in rows],
            remedy="Give one row per action, each with one cost per class.",
        )
    if all(isinstance(entry, (list, tuple)) for row in rows for entry in row):
        return _from_array(costs, ())
    _check_shape((len(rows), len(rows[0])))
    fixed, amounts = np.zeros((len(rows), len(rows[0]))), []
    for a, row in enumerate(rows):
        for k, entry in enumerate(row):
            if isinstance(entry, str):
                entry = _number_or_amount(entry)
            elif np.ndim(entry) == 1:
                found = Amount(values=finite_values(entry, f"costs[{a}, {k}]"))
                entry = found._of_rows(row_index(entry))
            if isinstance(entry, Amount):
                amounts.append(((a, k), entry))
                continue
            try:
                if np.asarray(entry).dtype.kind not in "fiubO":
                    raise TypeError
                fixed[a, k] = entry
            except (TypeError, ValueError):
                raise UsageError(
                    "costs[{action}, {label}] is {entry!r}.",
                    code="cost-type",
                    action=a,
                    label=k,
                    entry=entry,
                    remedy="Give a number, one number per row, or the name of a column.",
                ) from None
    _check_finite(fixed)
    return fixed, tuple(amounts)


def _number_or_amount(text: str) -> float | Amount:
    try:
        return float(text)
    except ValueError:
        return Amount.read(text)


def _from_cube(cube: Array) -> tuple[Array, Amounts]:
    _check_shape(cube.shape[1:])
    if len(cube) == 0:
        raise UsageError(
            "costs has no row.",
            code="no-rows",
            remedy="Give costs of shape (rows, actions, classes).",
        )
    _check_finite(cube)
    fixed, amounts = cube[0].copy(), []
    for a, k in np.ndindex(*fixed.shape):
        # One entry varies at least: it keeps the number of rows.
        if (cube[:, a, k] != fixed[a, k]).any() or (a, k) == (0, 0):
            amounts.append(((a, k), Amount(values=np.ascontiguousarray(cube[:, a, k]))))
            fixed[a, k] = 0.0
    return fixed, tuple(amounts)


def _check_shape(shape: tuple[int, ...]) -> None:
    if len(shape) != 2 or shape[0] < 2 or shape[1] < 2:
        raise UsageError(
            "costs has shape {shape}.",
            code="costs-shape",
            shape=shape,
            remedy="Give a row for each action and a column for each class, two or more of each, "
            "or (rows, actions, classes) for costs that vary by row.",
        )


def _check_positions(amounts: Amounts, shape: tuple[int, ...]) -> None:
    """Refuse amounts outside the matrix, as a damaged file may have them."""
    known = set(np.ndindex(*shape))
    for pair in amounts:
        match pair:
            case (tuple(place), Amount()) if place in known:
                known.discard(place)
            case _:
                raise UsageError(
                    "amounts holds {pair!r:.80}, not ((action, class), Amount).",
                    code="amount-position",
                    pair=pair,
                )


def _check_finite(costs: Array) -> None:
    """Refuse costs (actions, classes) or (rows, actions, classes) that are not finite."""
    if np.isfinite(costs).all():
        return
    place = np.argwhere(~np.isfinite(costs))[0].tolist()
    by_row = len(place) == 3
    raise (DataError if by_row else UsageError)(
        "costs{place} (action {action}, class {label}) is {value}.",
        code="not-finite",
        place=place,
        action=place[-2],
        label=place[-1],
        value=float(costs[tuple(place)]),
        remedy="Fill it in, or leave the row out."
        if by_row
        else "Give a finite cost; a very large one forbids the action.",
    )


def row_count(amounts: Amounts) -> int | None:
    """Return the number of rows of the amounts, None where none is known."""
    lengths = {len(one.values): place for place, one in amounts if one.values is not None}
    if len(lengths) > 1:
        raise DataError(
            "The costs by row differ in length: {lengths}.",
            code="length-mismatch",
            lengths=", ".join(f"{n:,} for costs[{a}, {k}]" for n, (a, k) in lengths.items()),
            remedy="Give one number per row.",
        )
    return next(iter(lengths), None)


def abstain_entries(
    cost: Entry | Mapping[Name, Entry], classes: Sequence[Name], n_rows: int | None
) -> list[Entry]:
    """Return one entry per class for an action that costs one number, one per class or per row."""
    n_classes = len(classes)
    if isinstance(cost, Mapping):
        entries: list[Entry] = [0.0] * n_classes
        for label in cost:
            entries[position_of(label, classes, "class")] = cost[label]
        if len(cost) < n_classes:
            raise UsageError(
                "with_abstain({cost!r}) must name every class.",
                code="missing-class",
                cost=dict(cost),
            )
        return entries
    if isinstance(cost, (str, Amount)) or np.ndim(cost) == 0:
        return [cost] * n_classes
    held = np.asarray(cost)
    if held.ndim == 1 and len(held) == n_classes and n_rows != n_classes:
        return list(held)
    if held.ndim == 1:
        if n_rows == n_classes:
            raise UsageError(
                "with_abstain({cost}): {count} numbers may be one per class or one per row here.",
                code="ambiguous-cost",
                cost=held.tolist(),
                count=n_classes,
                remedy="Give a dict by class, or an array of shape (n_rows, n_classes).",
            )
        return [held if row_index(cost) is None else cost] * n_classes
    if held.ndim == 2 and held.shape[1] == n_classes and len(held):
        return list(held.astype(np.float64).T)
    raise UsageError(
        "with_abstain: a cost of shape {shape} does not fit {count} classes.",
        code="shape-mismatch",
        shape=held.shape,
        count=n_classes,
        remedy="Give one number, one for each class, or one per row.",
    )


def name_array(names: Sequence[Name]) -> NDArray[Any]:
    """Return names as an array: of one type where they have one, of objects otherwise.

    Examples
    --------
    >>> name_array(["pass", "block"]), name_array([0, 1, "abstain"])
    (array(['pass', 'block'], dtype='<U5'), array([0, 1, 'abstain'], dtype=object))
    """
    kinds = {type(name) for name in names}
    if len(kinds) == 1 and kinds <= {str, int, float, bool}:
        return np.array(names)
    held = np.empty(len(names), dtype=object)
    held[:] = list(names)
    return held


def read_names(
    given: Iterable[Name] | None, count: int, what: str, default: Iterable[Name]
) -> tuple[Name, ...]:
    """Return as many unique names as there are rows (actions) or columns (classes)."""
    listed = default if given is None else given
    try:
        if isinstance(given, str):
            raise TypeError
        names = tuple(n.item() if isinstance(n, np.generic) else n for n in listed)
        hash(names)
    except TypeError:
        raise UsageError(
            "{names} must be a list with one name for each, such as ['no', 'yes'].",
            code="names-type",
            names=Argument(what, given),
        ) from None
    said = Argument(what, list(names))
    if not all(isinstance(name, (str, int, float)) or name is None for name in names):
        raise UsageError("{names}: names must be text or numbers.", code="names-type", names=said)
    if len(names) != count:
        raise UsageError(
            "{names} gives {found} names, and costs has {count} {side}.",
            code="length-mismatch",
            names=said,
            found=len(names),
            count=count,
            side="rows" if what == "actions" else "columns",
            remedy="costs has a row for each action and a column for each class.",
        )
    twice = [name for name in names if names.count(name) > 1]
    if twice:
        raise UsageError(
            "{names} holds {name!r} twice: names must be unique.",
            code="duplicate-name",
            names=said,
            name=twice[0],
        )
    if any(name is None or name != name or not str(name).strip() for name in names):
        raise UsageError("{names} holds an empty or missing name.", code="missing-name", names=said)
    return names


def position_of(name: Name, names: Sequence[Name], what: str) -> int:
    """Return the position of the name of an action or a class."""
    if isinstance(name, (str, int, float, np.generic)) and name in names:
        return list(names).index(name)
    hint = suggest(str(name), map(str, names))
    same = next((known for known in names if str(known) == str(name)), None)
    if same is not None:
        hint = f" Use {same!r}, of type {type(same).__name__}."
    raise UsageError(
        "The costs have no {what} {name!r}; they have {known}.{hint}",
        code=f"unknown-{what}",
        what=what,
        name=name,
        known=", ".join(map(repr, names)),
        hint=hint,
    )
