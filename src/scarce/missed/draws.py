"""Draws with known probabilities: which n rows, and how likely was each to be among them?

    systematic   probability_i = n * size_i / sum of sizes; on the line of summed probabilities a
                 random start u in [0, 1) takes the rows at u, u + 1, ..., u + n - 1  (Madow 1949)
    stratified   probability_i = n_h / N_h of the row's stratum h
    greatest     1; where equal values are cut, a lot: places left / rows with that value

Assumes a seeded generator. Knows nothing of labels or policies: see labels.py.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array

Positions = NDArray[np.int64]

# A probability this near to 1 is 1: below it two points of a systematic draw, 1 apart, cannot fall
# on one row through rounding.
NEARLY_SURE = 1.0 - 1e-9
DEEP_SHARE = 0.3  # of an audit's probability, spread evenly over all rows
RANK_UNIT = 20.0


def ranked(values: Array, generator: np.random.Generator) -> Positions:
    """Return positions from the greatest value down, equal values in random order.

    One sort, and a second one of the tied rows alone.

    Examples
    --------
    >>> ranked(np.array([0.2, 0.9, 0.5]), np.random.default_rng(0))
    array([1, 2, 0])
    """
    order = np.argsort(values, kind="stable")[::-1]
    ordered = values[order]
    same = ordered[1:] == ordered[:-1]
    if not same.any():
        return order
    tied = np.zeros(len(order), dtype=bool)
    tied[1:] = same
    tied[:-1] |= same
    places = np.flatnonzero(tied)
    starts = np.ones(len(places), dtype=bool)
    starts[1:] = ordered[places[1:]] != ordered[places[:-1]]
    # Number of the group plus a lot below 1: groups stay in order, members of each are shuffled.
    lots = np.argsort(np.cumsum(starts) + generator.random(len(places)), kind="stable")
    order[places] = order[places[lots]]
    return order


def greatest(values: Array, n: int, generator: np.random.Generator) -> tuple[Positions, Array]:
    """Return the n greatest values' positions, greatest first, and the probability of each.

    Linear in the number of values; only the n are sorted. Where the cut falls among equal values,
    a lot decides, and their probability is that of the lot.

    Examples
    --------
    >>> rows, probability = greatest(np.array([0.1, 0.7, 0.7, 0.9]), 2, np.random.default_rng(0))
    >>> values = np.array([0.1, 0.7, 0.7, 0.9])[rows]
    >>> values, probability
    (array([0.9, 0.7]), array([1. , 0.5]))
    """
    if n >= len(values):
        rows = ranked(values, generator)
        return rows, np.ones(len(rows))
    cut = np.partition(values, len(values) - n)[len(values) - n]
    above = np.flatnonzero(values > cut)
    level = np.flatnonzero(values == cut)
    left = n - len(above)
    by_lot = generator.choice(level, left, replace=False) if left < len(level) else level
    above = above[ranked(values[above], generator)]
    probability = np.ones(n)
    probability[len(above) :] = left / len(level)
    return np.concatenate([above, by_lot]), probability


def audit_sizes(rank: NDArray[np.int64]) -> Array:
    """Return how much each row should weigh in an audit: 1 / sqrt(1 + rank / 20), 70/30 with even.

    Events get rarer as the score falls, but not as quickly as one hopes: the even share keeps the
    weight of a deep row below 1 / 0.3 of what an even draw would give it.

    Parameters
    ----------
    rank : ndarray of shape (n,)
        Rows between the threshold and each row, 0 for the first below it.

    Examples
    --------
    >>> audit_sizes(np.array([0, 60, 1980])).round(3)
    array([0.538, 0.319, 0.144])
    """
    size = 1.0 / np.sqrt(1.0 + rank / RANK_UNIT)
    size *= (1.0 - DEEP_SHARE) / size.sum()
    size += DEEP_SHARE / len(size)
    return size


def probabilities(size: Array, n: int) -> Array:
    """Return probabilities in proportion to size that sum to n; what would exceed 1 is 1.

    Examples
    --------
    >>> probabilities(np.array([8.0, 1.0, 1.0, 2.0]), 2)
    array([1.  , 0.25, 0.25, 0.5 ])
    """
    probability = np.ones(len(size))
    rest = np.arange(len(size))
    while n < len(size) and len(rest):
        share = size[rest]
        share *= (n - (len(size) - len(rest))) / share.sum()
        sure = share >= NEARLY_SURE
        if not sure.any():
            probability[rest] = share
            break
        rest = rest[~sure]
    return probability


def systematic(probability: Array, generator: np.random.Generator) -> Positions:
    """Draw rows with the probabilities given, exactly as many as they sum to, in their order.

    Rows near each other are rarely drawn together, so that a sorted list is covered evenly.

    Examples
    --------
    >>> systematic(np.array([1.0, 0.25, 0.25, 0.5]), np.random.default_rng(0))
    array([0, 3])
    """
    sure = probability >= NEARLY_SURE
    rest = np.flatnonzero(~sure)
    ends = np.cumsum(probability[rest])
    n = round(float(ends[-1])) if len(ends) else 0
    if n == 0:
        return np.flatnonzero(sure)
    # Points are measured on the line as it was summed, so that rounding loses no row at its end.
    points = (generator.random() + np.arange(n)) * (ends[-1] / n)
    drawn = rest[np.minimum(np.searchsorted(ends, points, side="right"), len(rest) - 1)]
    return np.sort(np.concatenate([np.flatnonzero(sure), drawn]))


def stratum_ends(n_rows: int, n: int, strata: int) -> Positions:
    """Return where strata of ranked rows end: the first holds its share of n, then they grow.

    Examples
    --------
    >>> stratum_ends(10_000, 50, 5)
    array([   10,    56,   316,  1778, 10000])
    """
    strata = min(strata, n, n_rows)
    first = max(1, n // strata) if strata > 1 else n_rows
    return np.unique(np.rint(np.geomspace(first, n_rows, strata)).astype(np.int64))


def allocate(n: int, sizes: NDArray[np.int64], allocation: str) -> NDArray[np.int64]:
    """Share n rows out among strata: at least 1 each, at most all, the rest as asked for.

    Parameters
    ----------
    n : int
        At least as many as strata, at most as many as rows.
    allocation : {"equal", "proportional"}

    Examples
    --------
    >>> allocate(50, np.array([5, 46, 260, 9689]), "equal")
    array([ 5, 15, 15, 15])
    >>> allocate(50, np.array([5, 46, 260, 9689]), "proportional")
    array([ 1,  1,  1, 47])
    """
    wish = np.ones(len(sizes)) if allocation == "equal" else sizes / sizes.mean()
    # A level that rises like water: strata are never below 1 row nor above all of theirs, so that
    # the total is a broken line with corners where a stratum leaves 1 and where it is full.
    corners = np.sort(np.concatenate([1 / wish, sizes / wish]))
    totals = np.clip(np.outer(corners, wish), 1, sizes).sum(axis=1)
    target = np.clip(np.interp(n, totals, corners) * wish, 1, sizes)
    chosen: NDArray[np.int64] = np.floor(target + 1e-9).astype(np.int64)
    left = n - int(chosen.sum())
    most_owed = np.argsort(np.where(chosen < sizes, chosen - target, np.inf), kind="stable")
    chosen[most_owed[:left]] += 1
    return chosen
