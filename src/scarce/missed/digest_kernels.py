"""How do millions of scores become a few thousand bins in a few nanoseconds each?

    split by label -> sort -> cut at equal steps of k(q) = 2 / pi asin(sqrt(q)) -> sums of each bin

Sorting is what NumPy does best: its vector instructions order a block in the time that looking up
each score in a table of edges would take, and with the order known the bins are exact: equal scores
share a bin, cuts are met, a score that repeats a lot is a bin by itself. Weighted scores must be
sorted together with their weights, which costs six times as much. NaN is sorted last: digest.py
looks there for faults. Bins of parts are joined by the same scale, Dunning and Ertl's k_1 from 0 to
1, and without cancellation.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

from scarce.engine.block import Array


class Points(NamedTuple):
    """Sorted bins of scores: how many, their mean, and the sum of squared deviations from it."""

    count: Array  # type: ignore[assignment]  # a tuple's own count is of no use here
    mean: Array
    squares: Array


def scale(q: Array) -> Array:
    """Return k(q), which runs from 0 to 1 and is steep at both ends: equal steps of it are bins."""
    return np.asarray((2.0 / np.pi) * np.arcsin(np.sqrt(np.clip(q, 0.0, 1.0))))


def bins_of(scores: Array, weight: Array | None, bins: int, cuts: Array) -> Points:
    """Return about `bins` bins of finite scores, or each score by itself if no more are different.

    Sorts `scores` in place. No bin holds scores from both sides of a cut.

    Examples
    --------
    >>> bins_of(np.array([2.0, 1.0, 2.0]), None, 4096, np.empty(0))
    Points(count=array([1., 2.]), mean=array([1., 2.]), squares=array([0., 0.]))
    """
    if weight is None:
        scores.sort()
    else:
        order = np.argsort(scores)
        scores[:], weight = scores[order], weight[order]
    first = _first_of_each(scores, bins)
    if len(first) > bins:
        first = _first_of_bins(scores, weight, bins, cuts)
    points = Points(*np.empty((3, len(first))))
    if weight is None:
        sum_bins(scores, np.append(first, len(scores)), *points)
    else:
        sum_weighted_bins(scores, weight, np.append(first, len(scores)), *points)
    return points


def _first_of_each(ordered: Array, most: int) -> NDArray[np.intp]:
    """Where each different score begins; stops looking soon after `most`."""
    found = [np.zeros(min(1, len(ordered)), dtype=np.intp)]
    n_found = 0
    for begin in range(0, len(ordered) - 1, 65_536):
        part = ordered[begin : begin + 65_537]
        found.append(np.flatnonzero(part[1:] != part[:-1]) + (begin + 1))
        n_found += len(found[-1])
        if n_found > most:
            break
    return np.concatenate(found)


def _first_of_bins(
    ordered: Array, weight: Array | None, bins: int, cuts: Array
) -> NDArray[np.intp]:
    """Where each bin begins: at equal steps of the scale, at cuts, and around long ties."""
    share = np.sin(np.arange(1, bins) * (0.5 * np.pi / bins)) ** 2
    if weight is None:
        rank = np.ceil(share * len(ordered) - 0.5).astype(np.intp)
    else:
        running = np.cumsum(weight)
        rank = np.searchsorted(running - 0.5 * weight, share * running[-1])
    at = ordered[np.clip(rank, 0, len(ordered) - 1)]
    begin = np.searchsorted(ordered, at, side="left")
    # A step that falls into a run of equal scores makes the run a bin: begin and end of it.
    end = np.searchsorted(ordered, at[begin < rank], side="right")
    first = np.concatenate([[0], begin, end, np.searchsorted(ordered, cuts, side="left")])
    return np.unique(first[first < len(ordered)])


def joined(left: Points, right: Points, bins: int, cuts: Array) -> Points:
    """Merge two sets of sorted bins; equal means become one bin, then as `squeeze`."""
    if len(left.count) == 0 or len(right.count) == 0:
        return squeeze(left if len(right.count) == 0 else right, bins, cuts)
    together = Points(*map(np.concatenate, zip(left, right, strict=True)))
    order = np.argsort(together.mean, kind="stable")
    together = Points(*(part[order] for part in together))
    first = np.flatnonzero(np.diff(together.mean, prepend=-np.inf))
    return squeeze(_grouped(together, first), bins, cuts)


def squeeze(points: Points, bins: int, cuts: Array) -> Points:
    """Join neighbouring bins until at most `bins` remain, and as many more as there are cuts.

    The scale is cut into `bins` equal cells; bins whose middle falls into one cell are joined.

    Examples
    --------
    >>> one = np.ones(1000)
    >>> squeeze(Points(one, np.arange(1000.0), 0 * one), 16, np.empty(0)).count[:4]
    array([10., 28., 46., 62.])
    """
    if len(points.count) <= bins + len(cuts):
        return points
    running = np.cumsum(points.count)
    cell = np.floor(bins * scale((running - 0.5 * points.count) / running[-1]))
    side = np.searchsorted(cuts, points.mean, side="right")
    first = np.flatnonzero((np.diff(cell, prepend=-1.0) != 0) | (np.diff(side, prepend=-1) != 0))
    return _grouped(points, first)


def _grouped(points: Points, first: Any) -> Points:
    """Join the bins from each `first` to the next."""
    n = len(points.count)
    if len(first) == n:
        return points
    size = np.diff(first, append=n)
    count = np.add.reduceat(points.count, first)
    lowest, highest = points.mean[first], points.mean[first + size - 1]
    away = points.mean - np.repeat(lowest, size)
    mean = lowest + np.add.reduceat(points.count * away, first) / count
    mean = np.clip(mean, lowest, highest)  # rounding must not carry it over a cut
    away = points.mean - np.repeat(mean, size)
    squares = np.add.reduceat(points.squares + points.count * away**2, first)
    return Points(count, mean, squares)


# --- compiled loops -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def split_states(
    X: Any, column: int, y: Any, weight: Any, scores: Any, weights: Any
) -> Any:  # pragma: no cover
    """Copy scores: not labelled from 0 up, positive from n + 1 up, negative from the end down.

    Every score is written to all three places and stays where its label is: no branch to foresee.
    `scores` has 2 n + 3 places, so that what does not stay overwrites nothing; few are touched
    where few rows are labelled. Returns the three places that would be next.
    """
    weighted = len(weight) > 0
    n = len(X)
    a, b, c = 0, n + 1, 2 * n + 2
    for i in range(n):
        s = X[i, column]
        label = y[i]
        scores[a] = s
        scores[b] = s
        scores[c] = s
        if weighted:
            if weight[i] == 0.0:
                continue
            weights[a] = weight[i]
            weights[b] = weight[i]
            weights[c] = weight[i]
        a += label != label
        b += label == 1.0
        c -= label == 0.0
    return a, b, c


@njit(cache=True, nogil=True)
def sum_bins(
    scores: Any, first: Any, count: Any, mean: Any, squares: Any
) -> None:  # pragma: no cover
    """Count, mean and squares of each stretch of sorted scores, in two walks while it is in cache.

    Four sums side by side: the processor need not wait for one addition to begin the next.
    """
    for k in range(len(count)):
        begin, end = first[k], first[k + 1]
        n = end - begin
        origin = scores[begin]
        even = begin + n - n % 4
        s0 = s1 = s2 = s3 = 0.0
        for i in range(begin, even, 4):
            s0 += scores[i] - origin
            s1 += scores[i + 1] - origin
            s2 += scores[i + 2] - origin
            s3 += scores[i + 3] - origin
        for i in range(even, end):
            s0 += scores[i] - origin
        middle = origin + ((s0 + s1) + (s2 + s3)) / n
        s0 = s1 = s2 = s3 = 0.0
        for i in range(begin, even, 4):
            s0 += (scores[i] - middle) ** 2
            s1 += (scores[i + 1] - middle) ** 2
            s2 += (scores[i + 2] - middle) ** 2
            s3 += (scores[i + 3] - middle) ** 2
        for i in range(even, end):
            s0 += (scores[i] - middle) ** 2
        count[k] = n
        mean[k] = middle
        squares[k] = (s0 + s1) + (s2 + s3)


@njit(cache=True, nogil=True)
def sum_weighted_bins(
    scores: Any, weight: Any, first: Any, count: Any, mean: Any, squares: Any
) -> None:  # pragma: no cover
    """The same, every score with its weight."""
    for k in range(len(count)):
        begin, end = first[k], first[k + 1]
        origin = scores[begin]
        total = away = 0.0
        for i in range(begin, end):
            total += weight[i]
            away += weight[i] * (scores[i] - origin)
        # Rounding must not carry a mean beyond its scores, where a cut may lie. Without weights it
        # cannot: the lowest score draws the mean down by more than that.
        middle = min(max(origin + away / total, origin), scores[end - 1])
        rest = 0.0
        for i in range(begin, end):
            rest += weight[i] * (scores[i] - middle) ** 2
        count[k] = total
        mean[k] = middle
        squares[k] = rest
