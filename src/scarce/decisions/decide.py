"""Which action is the cheapest for each row?

    arg min over actions of  sum over classes of  prob[row, class] * costs[action, class]  (003 0.2)
    margin = expected cost of the second cheapest action - that of the cheapest

The exact minimum of the sums as computed, class by class, in double precision; where two are equal
to the last bit, the action listed first. Works in pieces that stay in cache: ten million rows cost
little more than reading them. Probabilities and labels may be arrays (masked too), pandas, polars,
Arrow or lists; a table whose columns are named after the classes is put in their order. Assumes
that the probabilities are right: a decision from overconfident ones is overconfident too. For
intervals of the probability see intervals.py.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import Shares, is_missing, name_column, refuse_other_index
from scarce.decisions.cost_entries import Name, Table, unbound
from scarce.decisions.costs import CostMatrix, CostsLike, as_costs, html_table
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word, suggest, warn_user
from scarce.results import Record, in_rows, short, to_plain

PIECE = 8192  # rows; three classes and the sums of two actions then fit into a near cache
CELLS = 2**17  # numbers in the temporaries of a piece: they stay in cache
SEVERAL = 20  # rows with probabilities of 0 or 1 only, before that is warned about
SUM_TOLERANCE = 1e-4  # probabilities in single precision still sum to 1
SHOWN = 8  # rows of a decision table in print
NOT_SCORES = "Pass predict_proba(X), not scores."


def expected_cost(
    prob: ArrayLike,
    costs: CostsLike,
    *,
    classes: ArrayLike | None = None,
    trained_at: Shares | None = None,
    now_at: Shares | None = None,
) -> Array:
    """Return the expected cost of every action for every row.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of every class in the order of `costs.classes`.
    costs : CostMatrix, array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
    classes : array-like of shape (n_classes,), optional
        Order of the columns of `prob`, such as `model.classes_`.
    trained_at, now_at : float, array-like of shape (n_classes,), dict or pandas Series, optional
        Base rates of the classes where the probabilities were learnt (`find_base_rates`), and where
        they are used; both or neither. See `correct_prior`.

    Returns
    -------
    ndarray of shape (n, n_actions)

    **Assumes** that probabilities are right for the rows they are used on.

    Examples
    --------
    >>> from scarce import CostMatrix
    >>> costs = CostMatrix.binary(false_alarm=5, miss=400).with_abstain(3)
    >>> expected_cost([0.001, 0.02, 0.9], costs)
    array([[  0.4  ,   4.995,   3.   ],
           [  8.   ,   4.9  ,   3.   ],
           [360.   ,   0.5  ,   3.   ]])
    """
    matrix = _costs_for(costs, classes)
    refuse_other_index(prob=prob, costs=matrix)
    given = _probabilities(prob, matrix, ordered=classes is not None)
    rates = base_rates(trained_at, now_at)
    if rates is not None:
        from scarce.prior.shift import correct_prior  # its room imports scikit-learn

        names = None if matrix.positional else list(matrix.classes)
        each = class_probabilities(given, range(matrix.shape[1]))
        given = correct_prior(each, *rates, classes=names)
    out = np.empty((len(given), matrix.shape[0]))
    for start, stop, columns in _pieces(given):
        for a in range(matrix.shape[0]):
            out[start:stop, a] = _sum(matrix, a, columns, start, stop)
    return out


def decide(
    prob: ArrayLike,
    costs: CostsLike,
    *,
    tie: str = "first",
    classes: ArrayLike | None = None,
    trained_at: Shares | None = None,
    now_at: Shares | None = None,
) -> NDArray[Any]:
    """Return the name of the cheapest action for every row.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of every class in the order of `costs.classes`.
    costs : CostMatrix, array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
        Actions of a plain array are called 0, 1, ....
    tie : {"first", "last"}
        Which of several actions with equal expected cost: the one listed first in `costs.actions`,
        or the one listed last. 003 section 0.4 acts on a tie, which is "last" for `binary`.
    classes : array-like of shape (n_classes,), optional
        Order of the columns of `prob`, such as `model.classes_`: scikit-learn sorts classes, so
        "fraud" comes before "legit". Costs without class names take these.
    trained_at, now_at : float, array-like of shape (n_classes,), dict or pandas Series, optional
        Base rates of the classes where the probabilities were learnt (`find_base_rates`), and where
        they are used; both or neither. Arrays are in the order of the columns, dicts and Series are
        aligned by the names of the classes.

    Returns
    -------
    ndarray of shape (n,)
        Names of actions: text or numbers where all are of one kind, else objects.

    **Assumes** that probabilities are right for the rows they are used on, and that the cost of a
    row depends on its own action and class alone.

    Notes
    -----
    Multiplying all costs by a number changes nothing, nor does adding the same cost to every action
    of a class, nor an action that is dominated, up to rounding at a threshold itself. Cost: one
    pass, rows times actions times classes.

    Examples
    --------
    >>> from scarce import CostMatrix
    >>> costs = CostMatrix.binary(false_alarm=5, miss=400, classes=("legit", "fraud"))
    >>> decide([0.001, 0.02, 0.9], costs.with_abstain(3, name="ask"))
    array(['legit', 'ask', 'fraud'], dtype='<U5')
    >>> decide([[0.2, 0.5, 0.3]], [[0, 1, 9], [1, 0, 9], [1, 1, 0]])      # plain arrays
    array([2])
    """
    matrix = _costs_for(costs, classes)
    refuse_other_index(prob=prob, costs=matrix)
    rates = base_rates(trained_at, now_at)
    if rates is not None:
        matrix = matrix.with_prior(*rates)
    names = matrix.action_names()
    given = _probabilities(prob, matrix, ordered=classes is not None)
    _warn_certain(given)
    out = np.empty(len(given), dtype=names.dtype)

    def put(start: int, stop: int, best: NDArray[np.intp]) -> None:
        np.take(names, best, out=out[start:stop], mode="clip")

    _find_cheapest(given, matrix, tie, put)
    return out


def cheapest(prob: ArrayLike, costs: CostsLike, *, tie: str = "first") -> NDArray[np.intp]:
    """Return the position of the cheapest action in `costs.actions` for every row.

    The columns are in the order of `costs.classes`; `decide` is for users and warns about them.

    Examples
    --------
    >>> cheapest([0.05, 0.2], [[0, 9], [1, 0]])
    array([0, 1])
    """
    matrix = as_costs(costs)
    refuse_other_index(prob=prob, costs=matrix)
    given = _probabilities(prob, matrix, ordered=True)
    out = np.empty(len(given), dtype=np.intp)

    def put(start: int, stop: int, best: NDArray[np.intp]) -> None:
        out[start:stop] = best

    _find_cheapest(given, matrix, tie, put)
    return out


def _warn_certain(given: NDArray[Any]) -> None:
    """Warn when every probability is 0 or 1: those are predictions."""
    for part in (given[:SEVERAL], given):  # a few settle it as a rule
        if len(part) < SEVERAL or not ((part == 0) | (part == 1)).all():
            return
    warn_user(
        "All {count:,} probabilities are exactly 0 or 1: they look like predicted classes, and no "
        "row will ever be worth asking about.",
        code="certain-probabilities",
        count=len(given),
        remedy="Pass predict_proba(X), not predict(X).",
    )


def _find_cheapest(
    given: NDArray[Any],
    matrix: CostMatrix,
    tie: str,
    put: Callable[[int, int, NDArray[np.intp]], None],
) -> None:
    """Find the cheapest action of each piece of rows and hand it over."""
    refuse_word("tie", tie, ("first", "last"))
    order = list(range(matrix.shape[0]))
    if tie == "last":
        order.reverse()
    best_room = np.empty(PIECE, dtype=np.intp)
    for start, stop, columns in _pieces(given):
        best = best_room[: stop - start]
        best.fill(order[0])
        least = _sum(matrix, order[0], columns, start, stop)
        for a in order[1:]:
            cost = _sum(matrix, a, columns, start, stop)
            np.copyto(best, a, where=cost < least)
            np.minimum(least, cost, out=least)
        put(start, stop, best)


def _sum(matrix: CostMatrix, a: int, columns: list[Array], start: int, stop: int) -> Array:
    """Expected cost of one action: always added class by class, which keeps equal sums equal."""
    total: Array | None = None
    for k, column in enumerate(columns):
        entry = matrix.part(a, k, start, stop)
        if isinstance(entry, float) and entry == 0.0:
            continue  # adding 0 changes no bit
        term = column * entry
        total = term if total is None else np.add(total, term, out=total)
    return np.zeros(stop - start) if total is None else total


def _pieces(given: NDArray[Any]) -> Iterator[tuple[int, int, list[Array]]]:
    for start in range(0, len(given), PIECE):
        stop = min(start + PIECE, len(given))
        yield start, stop, _columns(given[start:stop], start)


def row_slices(n: int, costs: CostMatrix) -> Iterator[slice]:
    """Walk n rows in slices whose temporaries stay small, whatever the size of the cost matrix."""
    step = max(1024, CELLS // (costs.shape[0] * costs.shape[1]))
    for start in range(0, n, step):
        yield slice(start, min(start + step, n))


def _costs_for(costs: CostsLike, classes: ArrayLike | None) -> CostMatrix:
    """The costs, with the classes in the order of the columns of the probabilities."""
    matrix = as_costs(costs)
    return matrix if classes is None else matrix.with_classes(list(classes))  # type: ignore[arg-type]


def base_rates(trained_at: Shares | None, now_at: Shares | None) -> tuple[Shares, Shares] | None:
    """Return both base rates, or None for neither; one without the other is an error."""
    if (trained_at is None) != (now_at is None):
        given, other = ("now_at", "trained_at") if trained_at is None else ("trained_at", "now_at")
        raise UsageError(
            "{given} needs {other} too: recalibrating takes both base rates.",
            code="argument-pair",
            given=Argument(given),
            other=Argument(other),
        )
    return None if trained_at is None or now_at is None else (trained_at, now_at)


# --- the reasons behind each decision -------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class DecisionTable(Record):
    """Decisions and their reasons, one entry per row.

    A small margin means that the choice hardly matters, not that it is wrong.

    Parameters
    ----------
    actions : ndarray of shape (n,)
        Name of the cheapest action.
    prob : ndarray of shape (n, n_classes)
    cost : ndarray of shape (n, n_actions)
        Expected cost of every action.
    runner_up : ndarray of shape (n,)
        Name of the second cheapest action.
    margin : ndarray of shape (n,)
        What choosing the runner-up would cost more, in expectation.
    costs : CostMatrix
    index : ndarray of shape (n,), optional
        Names of the rows.

    Examples
    --------
    >>> costs = CostMatrix.binary(false_alarm=5, miss=400, classes=("legit", "fraud"))
    >>> print(decision_table([0.001, 0.02, 0.9], costs.with_abstain(3, name="ask")))
    3 rows: legit 1, fraud 1, ask 1; expected cost 3.9, 1.3 a row
      row  p(legit)  p(fraud)  cheapest  costs  runner-up  costs more
        0     0.999     0.001     legit    0.4        ask         2.6
        1      0.98      0.02       ask      3      fraud         1.9
        2       0.1       0.9     fraud    0.5        ask         2.5
    """

    actions: NDArray[Any]
    prob: Array
    cost: Array
    runner_up: NDArray[Any]
    margin: Array
    costs: CostMatrix
    index: NDArray[Any] | None = None

    def __len__(self) -> int:
        return len(self.actions)

    @property
    def expected(self) -> Array:
        """Expected cost of the chosen action of each row."""
        return np.asarray(self.cost.min(axis=1)) if len(self) else np.zeros(0)

    def counts(self) -> dict[Name, int]:
        """Return how many rows get each action."""
        return {name: int((self.actions == name).sum()) for name in self.costs.actions}

    def columns(self) -> dict[str, NDArray[Any]]:
        """Return one array per column, for a data frame or a file."""
        found: dict[str, NDArray[Any]] = {} if self.index is None else {"index": self.index}
        found["action"] = self.actions
        for k, label in enumerate(self.costs.classes):
            found[f"p({label})"] = self.prob[:, k]
        for a, action in enumerate(self.costs.actions):
            found[f"cost({action})"] = self.cost[:, a]
        return found | {"runner_up": self.runner_up, "margin": self.margin}

    def to_dict(self) -> dict[str, Any]:
        """Return the columns as plain lists, for JSON."""
        plain: dict[str, Any] = to_plain(self.columns())
        return plain

    def _summary(self) -> str:
        counted = ", ".join(f"{name} {count:,}" for name, count in self.counts().items())
        total = float(self.expected.sum())
        each = total / max(1, len(self))
        return f"{in_rows(len(self))}: {counted}; expected cost {short(total)}, {short(each)} a row"

    def _cells(self) -> list[list[str]]:
        """The first rows as text, below their headings."""
        heads = ["row", *(f"p({label})" for label in self.costs.classes)]
        cells = [[*heads, "cheapest", "costs", "runner-up", "costs more"]]
        for row in range(min(SHOWN, len(self))):
            cells.append(
                [
                    str(row if self.index is None else self.index[row]),
                    *(short(p) for p in self.prob[row]),
                    str(self.actions[row]),
                    short(self.expected[row]),
                    str(self.runner_up[row]),
                    short(self.margin[row]),
                ]
            )
        return cells

    def _rest(self) -> list[str]:
        return [f"... and {len(self) - SHOWN:,} more"] if len(self) > SHOWN else []

    def __str__(self) -> str:
        cells = self._cells()
        widths = [max(map(len, column)) for column in zip(*cells, strict=True)]
        lines = [
            "  ".join(f"{c:>{w}}" for c, w in zip(line, widths, strict=True)) for line in cells
        ]
        return "\n".join([self._summary(), *(f"  {line}" for line in [*lines, *self._rest()])])

    def _repr_html_(self) -> str:
        heads, *rows = self._cells()
        return html_table(self._summary(), heads, rows, self._rest())


def decision_table(
    prob: ArrayLike, costs: CostsLike, *, tie: str = "first", index: ArrayLike | None = None
) -> DecisionTable:
    """Return the decisions of `decide` with their reasons.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
    costs : CostMatrix or array-like
    tie : {"first", "last"}
    index : array-like of shape (n,), optional
        Names of the rows, to find them again.
    """
    matrix = as_costs(costs)
    refuse_other_index(prob=prob, costs=matrix)
    given = class_probabilities(prob, matrix.classes)
    cost = expected_cost(given, matrix, classes=matrix.classes)
    best = cheapest(given, matrix, tie=tie)
    names, each = matrix.action_names(), np.arange(len(given))
    least = cost[each, best]
    others = cost.copy()
    others[each, best] = np.inf
    second = others.argmin(axis=1)
    return DecisionTable(
        names[best],
        given,
        cost,
        names[second],
        others[each, second] - least,
        matrix,
        None if index is None else np.asarray(index),
    )


def action_counts(actions: NDArray[Any], names: Sequence[Name]) -> str:
    """Write how many rows have each action, in the order of the costs.

    Examples
    --------
    >>> action_counts(np.array(["open", "pass", "open"]), ("pass", "open", "ask"))
    'pass for 1, open for 2'
    """
    counts = [(name, int(np.count_nonzero(actions == name))) for name in names]
    return ", ".join(f"{name} for {count:,}" for name, count in counts if count)


# --- probabilities and labels as people hand them over --------------------------------------------


def class_probabilities(prob: ArrayLike, classes: Sequence[Name]) -> Array:
    """Return the probabilities of all classes, (n, n_classes), checked.

    Examples
    --------
    >>> class_probabilities([0.25], ("no", "yes"))
    array([[0.75, 0.25]])
    >>> class_probabilities([[0.2, 0.2]], ("no", "yes"))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: prob must sum to 1 over the classes, got 0.4 at row 0. Pass ...
    """
    given = _as_array(prob, classes)
    out = np.empty((len(given), len(classes)))
    for start, stop, columns in _pieces(given):
        for k, column in enumerate(columns):
            out[start:stop, k] = column
    return out


def _probabilities(prob: ArrayLike, matrix: CostMatrix, *, ordered: bool) -> NDArray[Any]:
    """Probabilities of as many rows as the costs have."""
    given = _as_array(prob, matrix.classes, ordered)
    if matrix.columns:
        raise unbound(matrix.columns[0])
    if matrix.n_rows is not None and matrix.n_rows != len(given):
        same_rows(len(given), matrix, "prob")
    return given


def same_rows(n: int, costs: CostMatrix, name: str) -> None:
    """Refuse to go on without a row, or with costs by row for another number of rows."""
    if n == 0:
        raise DataError("{argument} is empty.", code="no-rows", argument=Argument(name))
    if costs.n_rows is not None and costs.n_rows != n:
        raise DataError(
            "{argument} has {rows} and the costs by row have {cost_rows:,}.",
            code="length-mismatch",
            argument=Argument(name),
            rows=in_rows(n),
            cost_rows=costs.n_rows,
            remedy="Give one of each for every row, in the same order.",
        )


def _columns(piece: NDArray[Any], start: int) -> list[Array]:
    """One array per class, checked."""
    if piece.ndim == 1:
        positive = np.asarray(piece, dtype=np.float64)
        if not (positive.min() >= 0 and positive.max() <= 1):  # NaN too
            raise not_a_probability(positive, "prob", start)
        return [1.0 - positive, positive]
    columns = [np.ascontiguousarray(piece[:, k], dtype=np.float64) for k in range(piece.shape[1])]
    total = columns[0] + columns[1]
    for column in columns[2:]:
        total += column
    if not all(column.min() >= 0 for column in columns):
        raise not_a_probability(np.stack(columns, axis=1), "prob", start)
    if not (total.max() <= 1 + SUM_TOLERANCE and total.min() >= 1 - SUM_TOLERANCE):
        off = int(np.argmax(~(np.abs(total - 1) <= SUM_TOLERANCE)))
        raise DataError(
            "{argument} must sum to 1 over the classes, got {total:.4g} at row {row:,}.",
            code="prob-sum",
            argument=Argument("prob"),
            total=float(total[off]),
            row=start + off,
            remedy=NOT_SCORES,
        )
    return columns


def not_a_probability(values: Array, name: str, start: int = 0) -> DataError:
    """Return the error for the first value that is not a probability."""
    bad = ~((values >= 0) & (values <= 1))
    place = tuple(np.argwhere(bad)[0])
    missing = bool(np.isnan(values[place]))
    return DataError(
        "{argument} must be between 0 and 1, got {value:g} at row {row:,}.",
        code="prob-range",
        argument=Argument(name),
        value=float(values[place]),
        row=start + int(place[0]),
        remedy="Leave the row out, or send it to a person." if missing else NOT_SCORES,
    )


def _as_array(prob: ArrayLike, classes: Sequence[Name], ordered: bool = False) -> NDArray[Any]:
    """Probabilities as they are, of a shape that fits the classes."""
    given = prob_table(prob, classes, ordered=ordered)
    n_classes = len(classes)
    if given.ndim == 2 and given.shape[1] == n_classes:
        return given
    if given.ndim == 2 and given.shape[1] == 1 and n_classes == 2:
        return given[:, 0]
    if given.ndim == 1 and n_classes == 2:
        return given
    one = ", or one probability per row, of the last class" if n_classes == 2 else ""
    raise DataError(
        "{argument} has shape {shape}, and the costs have {count} classes.",
        code="shape-mismatch",
        argument=Argument("prob"),
        shape=given.shape,
        count=n_classes,
        remedy=f"Give one column per class{one}.",
    )


def prob_table(
    values: Table, classes: Sequence[Name], name: str = "prob", *, ordered: bool = False
) -> NDArray[Any]:
    """Return numbers of shape (n,) or (n, n_columns), named columns in the order of the classes.

    Values are not checked. Columns without names beside classes that are not sorted are read as
    they stand, with a warning unless the caller knows that they are ordered: scikit-learn's
    `predict_proba` sorts the classes.

    Examples
    --------
    >>> import pandas as pd
    >>> prob_table(pd.DataFrame({"spam": [0.9], "ham": [0.1]}), ("ham", "spam"))
    array([[0.1, 0.9]])
    """
    titles = _titles(values)
    if titles is not None and len(titles) > 1:
        values = _named_columns(values, titles, classes, name)
    elif hasattr(values, "to_pylist") or hasattr(values, "column_names"):  # Arrow
        values = _stacked(values, titles) if titles else values.to_pylist()
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        held = np.asarray(values)
        if held.dtype.kind not in "fiub":
            if held.dtype.kind != "O":
                raise TypeError
            held = held.astype(np.float64)
    except (TypeError, ValueError):
        raise DataError(
            "{argument} must hold numbers in rows of equal length, got values of type {kind}.",
            code="not-a-number",
            argument=Argument(name),
            kind=str(getattr(values, "dtype", type(values).__name__)),
            remedy="Pass predict_proba(X), for example.",
        ) from None
    if titles is None and not ordered and held.ndim == 2 and held.shape[1] == len(classes):
        _warn_unsorted(classes, name)
    return held


def _warn_unsorted(classes: Sequence[Name], name: str) -> None:
    try:
        expected = sorted(classes)  # type: ignore[type-var]
    except TypeError:  # names of several types have no order that a model could have sorted by
        return
    if expected != list(classes):
        warn_user(
            "The columns of {argument} are taken as {classes}, the classes of the costs, but "
            "predict_proba sorts them: {expected}.",
            code="unsorted-classes",
            argument=Argument(name),
            classes=list(classes),
            expected=expected,
            remedy="Use costs.with_classes(model.classes_), or a table with named columns.",
        )


def _titles(values: Table) -> list[Name] | None:
    """Names of the columns of a table; None for what has none."""
    for word in ("column_names", "columns"):
        found = getattr(values, word, None)
        if found is not None and not callable(found):
            return list(found)
    return None


def _named_columns(
    values: Table, titles: list[Name], classes: Sequence[Name], name: str
) -> NDArray[Any]:
    """Columns in the order of the classes if they bear their names, else as they stand."""
    wanted, found = [str(label) for label in classes], [str(title) for title in titles]
    if not set(wanted) & set(found):
        return _stacked(values, titles)
    if sorted(wanted) != sorted(found):
        raise DataError(
            "{argument} has the columns {found}, and the classes are {wanted}.",
            code="unknown-column",
            argument=Argument(name),
            found=found,
            wanted=wanted,
            remedy="Name them alike, or pass an array with one column per class in the order of "
            "the classes.",
        )
    return _stacked(values, [titles[found.index(label)] for label in wanted])


def _stacked(values: Table, titles: list[Name]) -> NDArray[Any]:
    columns = [values[title] for title in titles]
    plain = [c.to_pylist() if hasattr(c, "to_pylist") else np.asarray(c) for c in columns]
    return np.asarray(plain).T


def encode_labels(
    values: Table, names: Sequence[Name], argument: str, source: str = "the costs"
) -> NDArray[np.intp]:
    """Return the position of each value among the names, -1 for a missing value.

    Examples
    --------
    >>> encode_labels(["no", None, "yes"], ("no", "yes"), "y_true")
    array([ 0, -1,  1])
    >>> encode_labels([0, 2], (0, 1), "actions")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: actions holds 2 at row 1, which is not in the costs: they have 0, 1.
    """
    held = name_column(values, argument)
    if held.dtype.kind in "mMc":  # dates and the like are not the numbers that they are stored as
        held = held.astype(str).astype(object)
    found = np.full(len(held), -2, dtype=np.intp)
    if held.dtype.kind in "biufU":
        for place, name in enumerate(names):
            if isinstance(name, str) == (held.dtype.kind == "U"):
                found[held == name] = place
        if held.dtype.kind == "f":
            found[np.isnan(held)] = -1
    else:
        at = {name: place for place, name in enumerate(names)}
        try:
            found[:] = [-1 if is_missing(value) else at.get(value, -2) for value in held.tolist()]
        except TypeError:  # lists and the like
            raise _not_a_column(argument, "lists or tables") from None
    if (found == -2).any():
        row = int(np.argmax(found == -2))
        seen = held[row].item() if isinstance(held[row], np.generic) else held[row]
        raise DataError(
            "{argument} holds {value!r} at row {row:,}, which is not in {source}: they have "
            "{known}.{hint}",
            code="unknown-class",
            argument=Argument(argument),
            value=seen,
            row=row,
            source=source,
            known=", ".join(map(repr, names)),
            hint=_hint(seen, names),
        )
    return found


def _hint(seen: object, names: Sequence[Name]) -> str:
    """What to type instead of a name that is not known."""
    if seen == "nan":
        return (
            " NumPy turns a missing value among words into 'nan': pass a list, or an array of "
            "dtype object."
        )
    if str(seen) in map(str, names):  # 0 and '0'
        kind = type(next(name for name in names if str(name) == str(seen))).__name__
        return f" There it is of type {kind}, here {type(seen).__name__}: use one type."
    return suggest(str(seen), map(str, names))


def _not_a_column(argument: str, seen: str) -> DataError:
    return DataError(
        "{argument} must have one value per row, got {seen}.",
        code="not-a-column",
        argument=Argument(argument),
        seen=seen,
    )
