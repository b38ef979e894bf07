"""Units: what is counted, rows or incidents, and by which score is it ranked?

An incident (a patient, a machine, one attack) may hold several rows. It has one score, the greatest
of its rows, and one label: event if any of its rows is one. A second ranking puts the rows below a
threshold in another order and leaves the alerts as they are. Both are made here, before anything is
drawn or counted, so that nothing further down knows of them.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import is_missing, read_scores, refuse_length
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError

Positions = NDArray[np.int64]


class Units(NamedTuple):
    """Rows or incidents.

    Parameters
    ----------
    scores, labels : ndarray of shape (n_units,)
        Labels are 1, 0 or NaN.
    first : ndarray of int64 of shape (n_units,)
        The row that stands for each: where its greatest score is.
    of_row : ndarray of int64 of shape (n_rows,) or None
        The unit of each row; None where every row is one.
    """

    scores: Array
    labels: Array
    first: Positions
    of_row: Positions | None

    def gather(self, values: Array) -> Array:
        """Return one value per unit: the greatest that any of its rows has, NaN where none has."""
        if self.of_row is None:
            return values
        return _greatest(values, self.of_row, len(self.first))


def read_units(
    scores: Array,
    labels: Array,
    threshold: float | None = None,
    groups: NDArray[Any] | None = None,
    second_scores: Array | None = None,
) -> Units:
    """Return the units of some rows.

    Parameters
    ----------
    scores, labels : ndarray of shape (n_rows,)
    threshold : float, optional
        Needed where there are second scores.
    groups : ndarray of shape (n_rows,), optional
        Names of incidents; missing where a row is one by itself.
    second_scores : ndarray of shape (n_rows,), optional

    Examples
    --------
    >>> units = read_units(np.array([1.0, 5.0, 2.0]), np.array([0.0, np.nan, 1.0]),
    ...     groups=np.array(["a", "b", "a"]))
    >>> units.scores, units.labels, units.first
    (array([2., 5.]), array([ 1., nan]), array([2, 1]))
    """
    if second_scores is not None:
        scores = ranked_again(scores, second_scores, threshold)
    if groups is None:
        return Units(scores, labels, np.arange(len(scores)), None)
    of_row = group_codes(groups)
    count = int(of_row.max(initial=-1)) + 1
    order = np.lexsort((np.arange(len(scores)), -scores, of_row))
    first = order[np.flatnonzero(np.diff(of_row[order], prepend=-1))]
    return Units(scores[first], _greatest(labels, of_row, count), first, of_row)


def _greatest(values: Array, of_row: Positions, count: int) -> Array:
    most = np.full(count, -np.inf)
    held = ~np.isnan(values)
    np.maximum.at(most, of_row[held], values[held])
    return np.where(np.isneginf(most), np.nan, most)


def group_codes(groups: NDArray[Any]) -> Positions:
    """Number groups from 0; every missing name is a group by itself."""
    if groups.dtype.kind in "fMm":
        missing = groups != groups
    elif groups.dtype == object:
        missing = np.array([is_missing(name) for name in groups], dtype=bool)
    else:
        missing = np.zeros(len(groups), dtype=bool)
    held = groups[~missing]
    try:
        names, codes = np.unique(held, return_inverse=True)
    except TypeError:
        names, codes = np.unique(held.astype(str), return_inverse=True)
    of_row = np.empty(len(groups), dtype=np.int64)
    of_row[~missing] = codes
    of_row[missing] = len(names) + np.arange(int(missing.sum()))
    return of_row


def ranked_again(scores: Array, second: Array, threshold: float | None) -> Array:
    """Return scores whose rows below the threshold stand in the order of other scores.

    Examples
    --------
    >>> ranked_again(np.array([9.0, 1.0, 2.0]), np.array([0.0, 0.7, 0.4]), 5.0)
    array([9. , 4. , 3.5])
    """
    if threshold is None:
        raise UsageError(
            "{argument} needs {threshold}: rows below it are ranked again.",
            code="no-threshold",
            argument=Argument("second_scores"),
            threshold=Argument("threshold"),
        )
    below = scores < threshold
    values, rank = np.unique(second[below], return_inverse=True)
    joined = scores.copy()
    unit = max(1.0, abs(threshold) * 1e-9)  # what a float can tell apart beside the threshold
    joined[below] = threshold - unit * (1.0 + (len(values) - 1 - rank) / max(1, len(values)))
    return joined


def read_second(second_scores: ArrayLike | None, n_rows: int) -> Array | None:
    """Return the second scores, one per row."""
    if second_scores is None:
        return None
    refuse_length(second_scores, n_rows, "second_scores")
    return read_scores(second_scores, "second_scores")


def rows_by_batch(batch: ArrayLike | None, n_rows: int) -> tuple[list[Any], list[Positions]]:
    """Return the names of batches and the rows of each; without names, all rows are one batch."""
    if batch is None:
        return [None], [np.arange(n_rows)]
    marks = column_of(batch, "batch", n_rows, "such as the week")
    missing = np.zeros(n_rows, bool)
    if marks.dtype.kind in "fMm":
        missing = marks != marks
    elif marks.dtype == object:
        missing = np.array([is_missing(mark) for mark in marks], bool)
    if missing.any():
        raise DataError(
            "{argument} must not be missing: every row belongs to one batch (first at row "
            "{row:,}).",
            code="batch-missing",
            argument=Argument("batch"),
            row=int(np.flatnonzero(missing)[0]),
        )
    try:
        names, codes = np.unique(marks, return_inverse=True)
    except TypeError:
        raise DataError(
            "{argument} must hold names of one type, got {types}.",
            code="mixed-types",
            argument=Argument("batch"),
            types=" and ".join(sorted({type(mark).__name__ for mark in marks})),
        ) from None
    order = np.argsort(codes, kind="stable")
    ends = np.cumsum(np.bincount(codes, minlength=len(names)))
    return names.tolist(), np.split(order, ends[:-1])


def column_of(
    values: ArrayLike, name: str, n_rows: int, remedy: str = "missing where a row has none"
) -> NDArray[Any]:
    """Return a column of names, one per row."""
    refuse_length(values, n_rows, name, remedy)
    return np.asarray(values.to_numpy() if hasattr(values, "to_numpy") else values)
