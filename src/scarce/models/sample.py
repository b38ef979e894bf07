"""The rows of a small study: in memory, labelled, dealt to folds, in an order of their own.

Rows are sorted by their content before folds and trees see them, so that the order in which a file
holds them changes nothing. Categories become columns of 0 and 1. Assumes that everything fits into
memory several times over. Does not choose the number of folds.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.errors import UsageError
from scarce.rows import Block
from scarce.rows.block import Array


class Sample(NamedTuple):
    """Complete labelled rows, and the fold in which each is left out."""

    X: Array
    y: Array
    weight: Array | None
    folds: NDArray[np.intp]
    seed: int

    def outside(self, fold: int) -> tuple[Array, Array, Array | None]:
        """Return the rows that a fit may see when `fold` is left out."""
        kept = self.folds != fold
        weight = None if self.weight is None else self.weight[kept]
        return self.X[kept], self.y[kept], weight


def used_rows(block: Block, params: tuple[NDArray[np.int64], NDArray[np.intp] | None]) -> Array:
    """Kernel: widened rows with a label and a weight above 0, then code, weight and fold."""
    levels, folds = params
    y = np.full(len(block), np.nan) if block.y is None else block.y
    weight = np.ones(len(block)) if block.weight is None else block.weight
    fold = np.zeros(len(block))
    if folds is not None:
        fold[:] = folds[block.start : block.start + len(block)]
    used = ~np.isnan(y) & (weight > 0)
    return np.column_stack([expanded(block.X[used], levels), y[used], weight[used], fold[used]])


def below(table: Array, more: Array) -> Array:
    """Merge the rows of two blocks."""
    return np.vstack([table, more])


used_rows.merge = below  # type: ignore[attr-defined]


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


def own_order(table: Array) -> NDArray[np.intp]:
    """Return an order of the rows that depends on their content alone."""
    plain = np.ascontiguousarray(table + 0.0)  # -0.0 and 0.0 are one value
    keys = plain.view(f"V{plain.itemsize * plain.shape[1]}").ravel()
    return np.asarray(np.argsort(keys, kind="stable"))


def stratified_folds(y: Array, cv: int, seed: int) -> NDArray[np.intp]:
    """Deal the rows of each class to the folds in turn, shuffled."""
    random = np.random.default_rng(seed)
    folds = np.empty(len(y), dtype=np.intp)
    dealt = 0
    for code in (0.0, 1.0):
        rows = random.permutation(np.flatnonzero(y == code))
        folds[rows] = (dealt + np.arange(len(rows))) % cv
        dealt += len(rows)
    return folds


def given_folds(cv: Any, n_rows: int) -> NDArray[np.intp] | None:
    """Return each row's fold from (train, test) pairs; None for a number of folds.

    Examples
    --------
    >>> given_folds([([2, 3], [0, 1]), ([0, 1], [2, 3])], 4)
    array([0, 0, 1, 1])
    """
    if isinstance(cv, (int, np.integer)) and not isinstance(cv, bool):
        if cv < 2:
            raise UsageError(f"cv={cv!r} is not a number of folds. Give 2 or more, such as 5.")
        return None
    folds, tested = np.zeros(n_rows, dtype=np.intp), np.zeros(n_rows, dtype=np.intp)
    try:
        for number, (_, test) in enumerate(cv):
            folds[test] = number
            tested[test] += 1
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
    return folds
