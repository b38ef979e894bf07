"""Which missing value is worth fetching before a decision: a laboratory result, a sensor, a form?

    value_ij = min_a sum_k pbar_k cost[a, k]  -  mean_t min_a sum_k p_k(t) cost[a, k]
    p(t) = the model's probabilities of row i when its value j is t, the other ones still missing
    pbar = mean_t p(t),   t ~ what value j is likely to be given the values seen (missing/front.py)

The expected cost of the best action now, less that after the value is known. Never negative: a
value may be left unused. The mean over t is a sum over 41 evenly spaced points of the conditional
normal distribution; the same with every other point says how exact it is. Assumes calibrated
probabilities, columns that are roughly jointly normal, and values missing at random given those
seen. One value at a time: two together may be worth more than the sum.
"""

from __future__ import annotations

import warnings
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import Number, is_number, read_column, read_number
from scarce.checks import refuse_negative as refuse_negative_price
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs
from scarce.decisions.decide import class_probabilities, same_rows
from scarce.engine.block import Array, TableLike
from scarce.errors import Argument, DataError, DataWarning, UsageError, listed
from scarce.missing.front import Front, fit_front
from scarce.results import Record, in_rows, short

FARTHEST, COUNT = 6.0, 41  # standard deviations of the points, and how many
AT_ONCE = 200_000  # rows given to the model at a time
ROUNDING = 1e-13  # of an expected cost: a smaller saving is none


class Predicts(Protocol):
    """A fitted model."""

    def predict_proba(self, X: Any) -> Any:
        """Return the probability of every class, (n, n_classes)."""


@dataclass(frozen=True, eq=False)
class ValueOfFetching(Record):
    """What knowing each missing value would save.

    Parameters
    ----------
    value : ndarray of shape (n, k)
        Expected saving, before its price; NaN where the value is known.
    price : float or ndarray of shape (k,)
        What a value of each column costs.
    best : ndarray of intp of shape (n,)
        The column to fetch, the one with the greatest value less price; -1 for none.
    gain : ndarray of shape (n,)
        Value less price of `best`, 0 where it is none.
    order : ndarray of intp of shape (n,)
        Rows from the greatest to the least gain.
    cost_now : ndarray of shape (n,)
        Expected cost of the best action by the model's probabilities of the row as it is.
    error : float
        Largest difference of a value from that with half as many points.
    incoherence : float
        Largest difference of the model's probability of a row as it is and the mean over what a
        missing value may be: 0 for a model that integrates, more for one that fills or splits.
    names : tuple of str
        Of the columns.

    Examples
    --------
    See `value_of_fetching`.
    """

    value: Array
    price: float | Array
    best: NDArray[np.intp]
    gain: Array
    order: NDArray[np.intp]
    cost_now: Array
    error: float
    incoherence: float
    names: tuple[str, ...]

    def __len__(self) -> int:
        return len(self.value)

    def __str__(self) -> str:
        rows = np.flatnonzero(self.best >= 0)
        cells = int(np.count_nonzero(~np.isnan(self.value)))
        lines = [
            f"{in_rows(len(rows))} of {len(self):,} {'is' if len(rows) == 1 else 'are'} worth a "
            f"fetch ({cells:,} values are missing): {short(float(self.gain.sum()))} saved in "
            f"expectation after prices, of {short(float(self.cost_now.sum()))}"
        ]
        for j in np.argsort(-np.bincount(self.best[rows], minlength=len(self.names)))[:5]:
            own = rows[self.best[rows] == j]
            if len(own):
                saved = short(float(self.gain[own].sum()))
                lines.append(f"  {self.names[j]}: in {in_rows(len(own))}, saving {saved}")
        return "\n".join(lines)


def value_of_fetching(
    model: Predicts,
    X: TableLike,
    costs: CostsLike,
    *,
    price: ArrayLike | Mapping[str, float] = 0.0,
    reference: TableLike | Front | None = None,
) -> ValueOfFetching:
    """Return what it is worth, for each missing value, to fetch it before acting.

    Parameters
    ----------
    model : fitted classifier
        Anything with `predict_proba` that takes rows with missing values.
    X : array-like of shape (n, k), or a pandas frame of numbers
        NaN or NA where a value is missing.
    costs : CostMatrix or array-like of shape (n_actions, n_classes)
        Classes in the order of the model's, or by name.
    price : float, array-like of shape (k,), dict or Series
        What a value costs, in the unit of the costs; of each column, by name in a dict or in a
        Series with names.
    reference : array-like of shape (m, k), optional
        Rows, such as those of the training, that say which values go together. Not needed for a
        model with a `front_` of its own, such as `RareClassifier`. Columns of two frames are
        brought together by name.

    Returns
    -------
    ValueOfFetching

    **Assumes** calibrated probabilities, columns that are roughly jointly normal (also those of 0
    and 1), and values missing at random given those seen. A category in one-hot columns is several
    values: its columns are not fetched one by one, so models of text columns are not taken.

    Examples
    --------
    A row is decided by two measurements; the second one is missing, and tells more than the first:

    >>> from scarce import RareClassifier
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 3))
    >>> y = rng.random(2000) < 1 / (1 + np.exp(-(X @ [1.0, 2.0, 0.0] - 1)))
    >>> model = RareClassifier("logistic", ridge=1.0).fit(X, y)
    >>> rows = np.array([[0.5, np.nan, np.nan], [9.0, np.nan, np.nan], [0.5, 0.3, 1.0]])
    >>> found = value_of_fetching(model, rows, [[0, 5], [1, 0]], price=0.05)
    >>> found.value.round(2)
    array([[ nan, 0.15, 0.  ],
           [ nan, 0.  , 0.  ],
           [ nan,  nan,  nan]])
    >>> found.best
    array([ 1, -1, -1])
    """
    matrix = as_costs(costs)
    if (classes := getattr(model, "classes_", None)) is not None:
        matrix = matrix.with_classes(np.asarray(classes).tolist())
    values, names = _numbers(X)
    n, k = values.shape
    same_rows(n, matrix, "X")
    front, places = _front(model, reference, k, names if hasattr(X, "columns") else None)
    paid = _read_price(price, names)

    def prob(rows: Array) -> Array:
        given = rows
        if hasattr(X, "columns"):
            given = type(X)(rows, columns=list(X.columns))
        return class_probabilities(np.asarray(model.predict_proba(given)), matrix.classes)

    as_it_is = prob(values)  # what the model warns of, it says here
    value = np.full((n, k), np.nan)
    error = incoherence = 0.0
    mean, deviation = np.empty_like(values), np.empty_like(values)
    mean[:, places], deviation[:, places] = _conditional(front, values[:, places])
    at = np.linspace(-FARTHEST, FARTHEST, COUNT)
    weight = np.exp(-0.5 * at**2)
    step = max(1, AT_ONCE // COUNT)
    for j in range(k):
        holes = np.flatnonzero(np.isnan(values[:, j]))
        for first in range(0, len(holes), step):
            rows = holes[first : first + step]
            tried = np.repeat(values[rows], COUNT, axis=0)
            tried[:, j] = (mean[rows, j, None] + deviation[rows, j, None] * at).ravel()
            with warnings.catch_warnings():
                warnings.simplefilter("ignore", DataWarning)
                known = prob(tried).reshape(len(rows), COUNT, -1)
            own = matrix.take(rows)
            value[rows, j], middle = _saving(known, weight, own)
            half = _saving(known[:, ::2], weight[::2], own)[0]
            error = max(error, float(np.abs(half - value[rows, j]).max()))
            incoherence = max(incoherence, float(np.abs(middle - as_it_is[rows]).max()))
    net = np.where(np.isnan(value), -np.inf, value - paid)
    best = np.argmax(net, axis=1)
    gain = np.maximum(net[np.arange(n), best], 0.0)
    best = np.where(gain > 0, best, -1)
    order = np.argsort(-gain, kind="stable")
    now = _least(as_it_is[:, None, :], matrix)[:, 0]
    return ValueOfFetching(value, paid, best, gain, order, now, error, incoherence, names)


def _saving(known: Array, weight: Array, costs: CostMatrix) -> tuple[Array, Array]:
    """Return the saving of each row, from probabilities (rows, points, classes), and their mean."""
    share = weight / weight.sum()
    middle = np.einsum("t,itk->ik", share, known)
    now, later = _least(middle[:, None, :], costs)[:, 0], _least(known, costs)
    saving = now - later @ share
    lost = ROUNDING * (np.abs(later) @ share)
    return np.where(saving > lost, saving, 0.0), middle  # rounding aside it is never negative


def _least(prob: Array, costs: CostMatrix) -> Array:
    """Return the expected cost of the best action, (rows, points)."""
    table = costs.at(0, len(prob))
    table = table if table.ndim == 3 else np.broadcast_to(table, (len(prob), *table.shape))
    return np.asarray(np.einsum("itk,iak->ita", prob, table).min(axis=2))


def _conditional(front: Front, values: Array) -> tuple[Array, Array]:
    """Return mean and standard deviation of each value given those seen; 0 for seen ones."""
    found = front.spread(values)
    deviation = np.zeros_like(values)
    for batch, variance in found.parts:
        own = np.sqrt(np.maximum(np.einsum("pii->pi", variance), 0.0)) * front.scale[batch.columns]
        deviation[batch.rows[:, None], batch.columns[batch.group]] = own[batch.group]
    return found.mean, deviation


def _front(
    model: Predicts, reference: TableLike | Front | None, k: int, names: Sequence[str] | None
) -> tuple[Front, NDArray[np.intp]]:
    """Return the distribution of the columns: of the reference rows, or the model's own.

    Also the places of its columns among those of the rows.
    """
    front, known = reference, None
    if reference is None:
        front, known = getattr(model, "front_", None), getattr(model, "feature_names_in_", None)
    elif not isinstance(reference, Front):
        values, texts = _numbers(reference)
        front, known = fit_front(values), texts if hasattr(reference, "columns") else None
    if not isinstance(front, Front):
        raise UsageError(
            "{model} does not know which values go together.",
            code="reference-needed",
            model=type(model).__name__,
            reference=Argument("reference", ...),
            remedy="Pass rows that say so, such as those it was fitted to: {reference}.",
        )
    if front.n_columns != k:
        raise DataError(
            "The rows have {columns} columns, and the distribution of {expected} is known (one-hot "
            "columns of a category are not fetched one by one).",
            code="shape-mismatch",
            columns=k,
            expected=front.n_columns,
        )
    if names is None or known is None:
        return front, np.arange(k)
    return front, _places([str(name) for name in known], names, "X")


def _places(wanted: Sequence[str], names: Sequence[str], argument: str) -> NDArray[np.intp]:
    """Return where names stand among others; refuse where they are not the same."""
    if sorted(wanted) != sorted(names) or len(set(names)) < len(names):
        raise DataError(
            "{argument} has the columns {names}, and {wanted} are needed, each once.",
            code="column-mismatch",
            argument=Argument(argument),
            names=listed(list(names), most=8),
            wanted=listed(list(wanted), most=8),
        )
    return np.array([list(names).index(name) for name in wanted], dtype=np.intp)


def _numbers(X: TableLike) -> tuple[Array, tuple[str, ...]]:
    """Return rows as numbers and the names of their columns."""
    columns = getattr(X, "columns", None)
    named = columns is not None
    if named and not hasattr(X, "iloc"):
        raise UsageError(
            "X must be an array or a pandas frame.",
            code="not-a-table",
            argument=Argument("X"),
            remedy="Turn it into one.",
        )
    values = _columns(X) if named else _array(X)
    if values.ndim != 2:
        raise UsageError(
            "X must have rows and columns, got shape {shape}.",
            code="shape-mismatch",
            argument=Argument("X"),
            shape=values.shape,
        )
    names = range(values.shape[1]) if columns is None else columns
    known = tuple(f"x{name}" if columns is None else str(name) for name in names)
    return values, known


def _array(X: TableLike) -> Array:
    try:
        return np.asarray(X, dtype=np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "X holds values that are no numbers: the value of fetching is for columns of numbers.",
            code="column-type",
            argument=Argument("X"),
        ) from None


def _columns(frame: Any) -> Array:
    """Return the columns of a pandas frame as numbers; NA and None are NaN."""
    out, texts = np.empty(frame.shape), []
    for j, name in enumerate(frame.columns):
        column = frame.iloc[:, j]
        kind = getattr(column.dtype, "kind", "O")
        try:
            if kind not in "biufO" or hasattr(column.dtype, "categories"):
                raise TypeError
            if kind == "O" and any(isinstance(value, str) for value in column):
                raise TypeError
            out[:, j] = column.astype(object).to_numpy(np.float64, na_value=np.nan)
        except (TypeError, ValueError):
            texts.append(str(name))
    if texts:
        raise DataError(
            "These columns hold text, categories or dates: {shown}. The value of fetching is for "
            "columns of numbers.",
            code="column-type",
            shown=listed(texts, most=5),
        )
    return out


def _read_price(price: ArrayLike | Mapping[str, float], names: Sequence[str]) -> float | Array:
    if is_number(price):
        return read_number(price, "price", Number(0))
    given: Any = price
    labels = list(given.keys()) if hasattr(given, "keys") else []
    if any(isinstance(label, str) for label in labels):
        _places(list(names), [str(label) for label in labels], "price")
        given = [given[label] for label in sorted(labels, key=lambda one: names.index(str(one)))]
    paid = read_column(given, "price")
    if paid.shape != (len(names),):
        raise DataError(
            "{argument} must be a number or one number for each of {columns} columns, got shape "
            "{shape}.",
            code="length-mismatch",
            argument=Argument("price"),
            columns=len(names),
            shape=paid.shape,
        )
    refuse_negative_price(paid, "price")
    return paid
