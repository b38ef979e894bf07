"""Which action is the cheapest for each row?

    arg min over actions of  sum over classes of  prob[row, class] * costs[action, class]  (003 0.2)

The exact minimum of the sums as computed, class by class, in double precision; where two are equal
to the last bit, the action listed first. Works in pieces that stay in cache, so that ten million
rows cost little more than reading them. Assumes that the probabilities are right: a decision from
overconfident ones is overconfident too. See doubt.py for intervals instead of points.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterator, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.decisions.costs import CostMatrix, as_costs
from scarce.decisions.prob_table import prob_table
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError, refuse_word, warn_user

PIECE = 8192  # rows; three classes and the sums of two actions then fit into a near cache
SEVERAL = 20  # rows that are certain before it is said
SUM_TOLERANCE = 1e-4  # probabilities in single precision still sum to 1


def expected_cost(
    prob: ArrayLike,
    costs: Any,
    *,
    classes: Any = None,
    trained_at: Any = None,
    now_at: Any = None,
) -> Array:
    """Return the expected cost of every action for every row.

    Parameters
    ----------
    prob : array-like of shape (n,) or (n, n_classes)
        Probability of the last of two classes, or of every class in the order of `costs.classes`.
    costs : CostMatrix, array-like of shape (n_actions, n_classes) or (n, n_actions, n_classes)
    classes : array-like of shape (n_classes,), optional
        Order of the columns of `prob`, such as `model.classes_`.
    trained_at, now_at : float or array-like of shape (n_classes,), optional
        Class shares that the probabilities were learnt at, and those where they are used; both or
        neither. See `correct_prior`.

    Returns
    -------
    ndarray of shape (n, n_actions)

    Examples
    --------
    >>> from scarce import CostMatrix
    >>> costs = CostMatrix.binary(false_alarm=5, miss=400).with_abstain(3)
    >>> expected_cost([0.001, 0.02, 0.9], costs)
    array([[  0.4  ,   4.995,   3.   ],
           [  8.   ,   4.9  ,   3.   ],
           [360.   ,   0.5  ,   3.   ]])
    """
    matrix = _in_order(costs, classes)
    given = _probabilities(prob, matrix, told=classes is not None)
    if _moves(trained_at, now_at):
        from scarce.prior.shift import correct_prior

        given = correct_prior(read_prob(given, range(matrix.shape[1])), trained_at, now_at)
    out = np.empty((len(given), matrix.shape[0]))
    for start, stop, columns in _pieces(given, matrix):
        for a in range(matrix.shape[0]):
            out[start:stop, a] = _sum(matrix, a, columns, start, stop)
    return out


def decide(
    prob: ArrayLike,
    costs: Any,
    *,
    tie: str = "first",
    classes: Any = None,
    trained_at: Any = None,
    now_at: Any = None,
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
        that "fraud" comes before "legit". Costs without class names take these.
    trained_at, now_at : float or array-like of shape (n_classes,), optional
        Class shares that the probabilities were learnt at, and those that hold now, in the order
        of the columns; both or neither.

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
    matrix = _in_order(costs, classes)
    if _moves(trained_at, now_at):
        matrix = matrix.with_prior(trained_at, now_at)
    names = matrix.action_names()
    given = _probabilities(prob, matrix, told=classes is not None)
    _warn_certain(given)
    out = np.empty(len(given), dtype=names.dtype)

    def put(start: int, stop: int, best: NDArray[np.intp]) -> None:
        np.take(names, best, out=out[start:stop], mode="clip")

    _walk(given, matrix, tie, put)
    return out


def cheapest(prob: ArrayLike, costs: Any, *, tie: str = "first") -> NDArray[np.intp]:
    """Return the position of the cheapest action in `costs.actions` for every row.

    The columns are in the order of `costs.classes`: `decide` is for users, and looks.

    Examples
    --------
    >>> cheapest([0.05, 0.2], [[0, 9], [1, 0]])
    array([0, 1])
    """
    matrix = as_costs(costs)
    given = _probabilities(prob, matrix, told=True)
    out = np.empty(len(given), dtype=np.intp)

    def put(start: int, stop: int, best: NDArray[np.intp]) -> None:
        out[start:stop] = best

    _walk(given, matrix, tie, put)
    return out


def read_prob(prob: ArrayLike, classes: Sequence[Hashable]) -> Array:
    """Return probabilities of all classes, (n, n_classes), or refuse what is none.

    Examples
    --------
    >>> read_prob([0.25], ("no", "yes"))
    array([[0.75, 0.25]])
    >>> read_prob([[0.2, 0.2]], ("no", "yes"))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: prob sums to 0.4 at row 0: the probabilities of the classes ...
    """
    given = _as_array(prob, classes)
    out = np.empty((len(given), len(classes)))
    for start in range(0, len(given), PIECE):
        columns = _columns(given[start : start + PIECE], start)
        for k, column in enumerate(columns):
            out[start : start + PIECE, k] = column
    return out


def _warn_certain(given: NDArray[Any]) -> None:
    """Say so when every probability is 0 or 1: those are predictions."""
    for part in (given[:SEVERAL], given):  # a few settle it as a rule
        if len(part) < SEVERAL or not ((part == 0) | (part == 1)).all():
            return
    warn_user(
        f"All {len(given):,} probabilities are exactly 0 or 1, so nothing is weighed and no row is "
        "ever worth asking about. Pass predict_proba(X), not predict(X)."
    )


def _walk(
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
    for start, stop, columns in _pieces(given, matrix):
        best = best_room[: stop - start]
        best.fill(order[0])
        least = _sum(matrix, order[0], columns, start, stop)
        for a in order[1:]:
            cost = _sum(matrix, a, columns, start, stop)
            np.copyto(best, a, where=cost < least)
            np.minimum(least, cost, out=least)
        put(start, stop, best)


def _sum(matrix: CostMatrix, a: int, columns: list[Array], start: int, stop: int) -> Array:
    """Expected cost of one action: always added class by class, so that equal sums are equal."""
    total: Array | None = None
    for k, column in enumerate(columns):
        entry = matrix.part(a, k, start, stop)
        if isinstance(entry, float) and entry == 0.0:
            continue  # adding 0 changes no bit
        term = column * entry
        total = term if total is None else np.add(total, term, out=total)
    return np.zeros(stop - start) if total is None else total


def _pieces(given: NDArray[Any], matrix: CostMatrix) -> Iterator[tuple[int, int, list[Array]]]:
    for start in range(0, len(given), PIECE):
        stop = min(start + PIECE, len(given))
        yield start, stop, _columns(given[start:stop], start)


def _columns(piece: NDArray[Any], start: int) -> list[Array]:
    """One array per class, checked."""
    if piece.ndim == 1:
        positive = np.asarray(piece, dtype=np.float64)
        if not (positive.min() >= 0 and positive.max() <= 1):  # NaN too
            raise _strange(positive, start)
        return [1.0 - positive, positive]
    columns = [np.ascontiguousarray(piece[:, k], dtype=np.float64) for k in range(piece.shape[1])]
    total = columns[0] + columns[1]
    for column in columns[2:]:
        total += column
    if not all(column.min() >= 0 for column in columns):
        raise _strange(np.stack(columns, axis=1), start)
    if not (total.max() <= 1 + SUM_TOLERANCE and total.min() >= 1 - SUM_TOLERANCE):
        off = int(np.argmax(~(np.abs(total - 1) <= SUM_TOLERANCE)))
        raise DataError(
            f"prob sums to {total[off]:.4g} at row {start + off:,}: the probabilities of the "
            "classes of a row together are 1. Pass predict_proba(X), not scores."
        )
    return columns


def _strange(values: Array, start: int) -> DataError:
    bad = ~((values >= 0) & (values <= 1))
    place = tuple(np.argwhere(bad)[0])
    value, row = values[place], start + int(place[0])
    hint = "Pass predict_proba(X), not scores."
    if np.isnan(value):
        hint = "A row without probability cannot be decided: leave it out, or send it to a person."
    return DataError(
        f"prob holds {value:g} at row {row:,}: probabilities lie between 0 and 1. {hint}"
    )


def _as_array(prob: ArrayLike, classes: Sequence[Hashable], told: bool = False) -> NDArray[Any]:
    """Probabilities as they are, of a shape that fits the classes."""
    given = prob_table(prob, classes, told=told)
    n_classes = len(classes)
    if given.ndim == 2 and given.shape[1] == n_classes:
        return given
    if given.ndim == 2 and given.shape[1] == 1 and n_classes == 2:
        return given[:, 0]
    if given.ndim == 1 and n_classes == 2:
        return given
    one = " (or one probability per row, of the last class)" if n_classes == 2 else ""
    raise DataError(
        f"prob has shape {given.shape} and the costs have {n_classes} classes: give one column per "
        f"class{one}."
    )


def _in_order(costs: Any, classes: Any) -> CostMatrix:
    """The costs, with the classes in the order of the columns of the probabilities."""
    matrix = as_costs(costs)
    return matrix if classes is None else matrix.with_classes(list(classes))


def _probabilities(prob: ArrayLike, matrix: CostMatrix, *, told: bool = False) -> NDArray[Any]:
    given = _as_array(prob, matrix.classes, told)
    if matrix.columns:
        raise UsageError(
            f"The costs name the column {matrix.columns[0]!r} and have no values for it yet: "
            "costs.bind(table) first."
        )
    if matrix.n_rows is not None and matrix.n_rows != len(given):
        raise DataError(
            f"prob has {len(given):,} rows and the costs by row have {matrix.n_rows:,}: give one "
            "of each for every row."
        )
    return given


def _moves(trained_at: Any, now_at: Any) -> bool:
    if (trained_at is None) != (now_at is None):
        given, other = ("now_at", "trained_at") if trained_at is None else ("trained_at", "now_at")
        raise UsageError(f"{given}= without {other}=: moving probabilities needs both class mixes.")
    return trained_at is not None
