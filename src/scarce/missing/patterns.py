"""Which rows miss the same values? Rows of one pattern share everything that costs d^3.

Equal patterns are found by sorting packed bits: n log n comparisons of d / 64 words. With values
missing at random nearly every row is a pattern of its own; then small matrices are worked on many
at a time, in batches that stay in cache.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array

Mask = NDArray[np.bool_]
FACTOR_CELLS = 2**18  # 2 MB of factors at a time: LAPACK without a Python loop, still in cache
LONG = 12  # rows of a pattern above which a matrix product of its own is quicker


def patterns(seen: Mask) -> tuple[Mask, NDArray[np.intp], NDArray[np.intp]]:
    """Group rows by which values are observed.

    Returns
    -------
    masks : ndarray of bool, shape (p, d)
        The patterns that occur.
    order : ndarray of shape (n,)
        Rows, those of the first pattern first.
    ends : ndarray of shape (p + 1,)
        Rows of pattern i are order[ends[i]:ends[i + 1]].

    Examples
    --------
    >>> masks, order, ends = patterns(np.array([[True, False], [True, True], [True, False]]))
    >>> masks[0], order[ends[0]:ends[1]]
    (array([ True, False]), array([0, 2]))
    """
    n = len(seen)
    if seen.all():
        return seen[:1], np.arange(n), np.array([0, n])
    packed = np.packbits(seen, axis=1)
    words = -(-packed.shape[1] // 8)
    keys = np.zeros((n, 8 * words), dtype=np.uint8)
    keys[:, : packed.shape[1]] = packed
    whole = keys.view(np.uint64)
    if words == 1:
        code = whole[:, 0]
        order = np.argsort(code, kind="stable")
        new = np.flatnonzero(code[order][1:] != code[order][:-1]) + 1
    else:
        order = np.lexsort(whole.T)
        in_order = whole[order]
        new = np.flatnonzero((in_order[1:] != in_order[:-1]).any(axis=1)) + 1
    ends = np.concatenate([[0], new, [n]])
    return seen[order[ends[:-1]]], order, ends


def multiply_groups(matrices: Array, gap: Array, ends: NDArray[np.intp]) -> Array:
    """Return matrix i times each row of group i, for all groups: (r, d).

    Long groups are one matrix product each, short ones go together: with values missing at random
    nearly every row is a group of its own, and a Python loop over rows would cost the most.
    """
    if len(matrices) == 1:
        return np.asarray(gap @ matrices[0].T)
    out = np.empty_like(gap)
    sizes = np.diff(ends)
    for i in np.flatnonzero(sizes > LONG):
        out[ends[i] : ends[i + 1]] = gap[ends[i] : ends[i + 1]] @ matrices[i].T
    group = np.repeat(np.arange(len(sizes)), sizes)
    short = np.flatnonzero(sizes[group] <= LONG)
    step = max(64, 2 * FACTOR_CELLS // gap.shape[1] ** 2)
    for first in range(0, len(short), step):
        rows = short[first : first + step]
        out[rows] = (matrices[group[rows]] @ gap[rows][:, :, None])[:, :, 0]
    return out


class Batch(NamedTuple):
    """Rows of some patterns that miss equally many values, in the order of their patterns."""

    rows: NDArray[np.intp]  # (r,) positions of the rows
    columns: NDArray[np.intp]  # (p, m): the columns that pattern i misses
    ends: NDArray[np.intp]  # (p + 1,): rows of pattern i are rows[ends[i]:ends[i + 1]]

    @property
    def group(self) -> NDArray[np.intp]:
        """The pattern of each row, (r,)."""
        return np.repeat(np.arange(len(self.columns)), np.diff(self.ends))


def batches(missing: Mask) -> Iterator[Batch]:
    """Walk the rows that miss a value, by how many they miss and then by pattern.

    Examples
    --------
    >>> missing = np.array([[False, True], [False, False], [False, True], [True, True]])
    >>> [(one.rows.tolist(), one.columns.tolist()) for one in batches(missing)]
    [([0, 2], [[1]]), ([3], [[0, 1]])]
    """
    some = np.flatnonzero(missing.any(axis=1))
    if not len(some):
        return
    masks, order, ends = patterns(missing[some])
    lost, sizes = masks.sum(axis=1), np.diff(ends)
    by_count = np.argsort(lost, kind="stable")
    rows = some[order[np.argsort(np.repeat(lost, sizes), kind="stable")]]
    masks, lost, sizes = masks[by_count], lost[by_count], sizes[by_count]
    ends = np.concatenate([[0], np.cumsum(sizes)])
    first = 0
    while first < len(masks):
        m = int(lost[first])
        equal = int(np.searchsorted(lost, m, side="right"))
        last = min(equal, first + max(1, FACTOR_CELLS // m**2))
        columns = np.nonzero(masks[first:last])[1].reshape(last - first, m)
        part = ends[first : last + 1]
        yield Batch(rows[part[0] : part[-1]], columns, part - part[0])
        first = last
