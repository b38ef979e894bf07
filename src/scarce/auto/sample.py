"""The rows of a small study: in memory, labelled, dealt to folds, in an order of their own.

Copies of a row become one row with their total weight, columns of one value are left out, and rows
and columns are put into an order that depends on their content alone. So folds, trees and sums are
the same whatever the order of rows and columns in a file, the units of its columns, the codes of
its categories and the names of its classes, and where a row stands twice instead of having weight
2. Categories become one-hot columns. Assumes that everything fits into memory several times over.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array, Block
from scarce.errors import UsageError

Ids = NDArray[np.intp]
Words = NDArray[np.uint64]
WEIGHT_DIGITS = 12  # of a weight in units of the mean: the last bits depend on its unit
MOST_PARTS = 5  # that are judged in turn, each without the folds in it


class Sample(NamedTuple):
    """Labelled rows of columns that vary, and the fold in which each row is left out.

    `y` is 1 for the rarer class, so that exchanging the names of the classes changes nothing.
    """

    X: Array
    y: Array
    weight: Array | None
    folds: Ids
    seed: int

    @property
    def weights(self) -> Array:
        """One weight per row."""
        return np.ones(len(self.y)) if self.weight is None else self.weight

    def without(self, left_out: frozenset[int]) -> tuple[Array, Array, Array | None]:
        """Return the rows that a fit may see when some folds are left out."""
        kept = ~self.inside(left_out)
        weight = None if self.weight is None else self.weight[kept]
        return np.ascontiguousarray(self.X[kept]), self.y[kept], weight

    def inside(self, folds: frozenset[int]) -> NDArray[np.bool_]:
        """Return which rows are in some folds."""
        return np.isin(self.folds, sorted(folds))

    def parts(self) -> list[frozenset[int]]:
        """Return the folds that are judged together: each alone, or five parts of more folds.

        Examples
        --------
        >>> folds = np.arange(12) % 6
        >>> sample = Sample(np.zeros((12, 1)), np.zeros(12), None, folds, 0)
        >>> [sorted(part) for part in sample.parts()]
        [[0, 5], [1], [2], [3], [4]]
        """
        numbers = np.unique(self.folds).tolist()
        n = min(len(numbers), MOST_PARTS)
        return [frozenset(numbers[start::n]) for start in range(n)]


class Table(NamedTuple):
    """Rows that count, widened: features, class, weight, position in the data."""

    X: Array
    y: Array
    weight: Array
    row: Ids


def used_rows(block: Block, levels: NDArray[np.int64]) -> Table:
    """Kernel: widened rows with a label and a weight above 0."""
    codes, weight = codes_and_weights(block, None).T
    used = np.flatnonzero(codes >= 0)
    return Table(expanded(block.X[used], levels), codes[used], weight[used], used + block.start)


def below(table: Table, more: Table) -> Table:
    """Merge the rows of two blocks."""
    return Table(*(np.concatenate(pair) for pair in zip(table, more, strict=True)))


used_rows.merge = below  # type: ignore[attr-defined]


def codes_and_weights(block: Block, _: None) -> Array:
    """Kernel of a map: class of each row, -1 where it does not count, and its weight."""
    y = np.full(len(block), np.nan) if block.y is None else block.y
    weight = np.ones(len(block)) if block.weight is None else block.weight
    return np.column_stack([np.where(np.isnan(y) | (weight <= 0), -1.0, y), weight])


def expanded(X: Array, levels: NDArray[np.int64]) -> Array:
    """Return rows in which a category of L levels is L columns of 0 and 1; missing is all 0.

    Examples
    --------
    >>> expanded(np.array([[5.0, 1.0], [6.0, np.nan]]), np.array([0, 2]))
    array([[5., 0., 1.],
           [6., 0., 0.]])
    """
    if not levels.any():
        return X
    parts = []
    for column, n in zip(X.T, levels, strict=True):
        parts.append(column[:, None] if n == 0 else (column[:, None] == np.arange(n)) * 1.0)
    return np.ascontiguousarray(np.hstack(parts))


def merged(table: Table, record: Ids, folds: Ids) -> tuple[Table, Ids]:
    """Make one row of all copies of a record that have one class and one fold.

    Parameters
    ----------
    table : Table
    record : ndarray of int, shape (rows of the table,)
        Equal for copies of one record.
    folds : ndarray of int, shape (rows of the table,)

    Returns
    -------
    table, folds
        Weights are added up.
    """
    keys = np.column_stack([record, table.y.astype(np.intp), folds])
    first, place = np.unique(keys, axis=0, return_index=True, return_inverse=True)[1:]
    weight = np.bincount(place.ravel(), table.weight).astype(np.float64)
    return Table(table.X[first], table.y[first], weight, table.row[first]), folds[first]


def relative_weights(weight: Array) -> Array | None:
    """Return weights with a mean of 1, None where all are equal: their unit means nothing.

    Examples
    --------
    >>> relative_weights(np.array([0.3, 0.3])), relative_weights(np.array([100.0, 300.0]))
    (None, array([0.5, 1.5]))
    """
    if np.ptp(weight) <= 1e-12 * weight.max():
        return None
    return np.asarray(np.round(weight / weight.mean(), WEIGHT_DIGITS))


def own_orders(X: Array, y: Array, weight: Array | None) -> tuple[Ids, Ids]:
    """Return the rows, and the columns that vary, in an order that depends on content alone.

    A column's word adds up hashes of rank and class over its rows; a row's word those of rank and
    column over its columns; the columns' words are then made once more with the rows' words. Ranks
    do not change with units and shifts, and sums do not change with the order of their terms.
    """
    ranks = [np.unique(column, return_inverse=True)[1].ravel() for column in X.T]
    vary = np.fmax.reduce(X, axis=0) > np.fmin.reduce(X, axis=0)
    columns: list[int] = np.flatnonzero(vary).tolist()
    cells = {j: _mixed(ranks[j].astype(np.uint64) + np.uint64(1)) for j in columns}
    event = np.where(y == 1, np.uint64(0x9E3779B97F4A7C15), np.uint64(0))
    rows = _mixed(event)
    words: dict[int, Words] = {}
    for _ in range(2):
        words = {j: _mixed(_mixed(cells[j] ^ rows).sum(dtype=np.uint64)) for j in columns}
        rows = _mixed(event)
        for j in columns:
            rows = np.add(rows, _mixed(np.add(cells[j], words[j])))
    order = np.lexsort([np.ones(len(y)) if weight is None else weight, rows])
    named = np.array([words[j][0] for j in columns], dtype=np.uint64)
    return order, np.array(columns, dtype=np.intp)[np.argsort(named, kind="stable")]


def _mixed(word: Any) -> Words:
    """Scatter the bits of each word (the finaliser of SplitMix64)."""
    word = np.atleast_1d(np.asarray(word, dtype=np.uint64))
    word = (word ^ (word >> np.uint64(30))) * np.uint64(0xBF58476D1CE4E5B9)
    word = (word ^ (word >> np.uint64(27))) * np.uint64(0x94D049BB133111EB)
    return np.asarray(word ^ (word >> np.uint64(31)))


def given_folds(cv: Any, n_rows: int) -> Ids | None:
    """Return each row's fold from (train, test) pairs; None for a number of folds.

    Examples
    --------
    >>> given_folds([([1, 2], [0]), ([0, 2], [1]), ([0, 1], [2])], 3)
    array([0, 1, 2])
    """
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 3:
            raise UsageError(
                f"cv={cv!r}: give 3 folds or more, such as 5; one is judged, one sets the weights, "
                "and the others are fitted."
            )
        return None
    folds, tested = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows, dtype=np.intp)
    count = 0
    try:
        for number, (_, test) in enumerate(cv):
            folds[test] = number
            tested[test] += 1
            count += 1
    except (TypeError, ValueError, IndexError):
        raise UsageError(
            f"cv={cv!r:.60} is neither a number of folds nor (train, test) positions of {n_rows:,} "
            "rows. Give 5, or list(splitter.split(X, y))."
        ) from None
    if (tested != 1).any():
        first = int(np.flatnonzero(tested != 1)[0])
        raise UsageError(
            f"cv leaves row {first:,} out {int(tested[first])} times: each row must be in one test "
            "part. Give a splitter without repeats, such as GroupKFold."
        )
    if count < 3:
        raise UsageError(f"cv has {count} folds. Give 3 or more, such as GroupKFold(5).")
    return folds
