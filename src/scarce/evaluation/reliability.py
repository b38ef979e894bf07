"""Reliability: of the rows that were given 2 %, did 2 % happen?

Rows are put into bins by their probability; in each, the share of events is set beside the mean
probability, with Wilson's interval for a share. Bins are cut between values, never through rows
that were given the same one, and not across a gap that nothing was given in. Assumes that rows are
independent draws. Does not smooth: few rows show as wide intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from scarce.checks import column
from scarce.engine.block import Array
from scarce.errors import DataError, UsageError
from scarce.evaluation.scores import outcomes

GAP = 1 / 4  # of a bin's range, and
FAR = 1 / 20  # of the range of all probabilities: a gap that no bin reaches across,
FEWEST = 20  # unless fewer rows stand on one side of it


@dataclass(frozen=True)
class Reliability:
    """Probability against frequency, bin by bin.

    Parameters
    ----------
    edges : ndarray of shape (n_bins + 1,)
        Ends of the bins that hold rows.
    rows : ndarray of shape (n_bins,)
        Number of rows in each.
    predicted, observed : ndarray of shape (n_bins,)
        Mean probability, and share of events.
    low, high : ndarray of shape (n_bins,)
        Interval of the share of events.
    level : float
        Its coverage.
    """

    edges: Array
    rows: Array
    predicted: Array
    observed: Array
    low: Array
    high: Array
    level: float


def reliability(
    y_true: ArrayLike, prob: ArrayLike, *, bins: int | ArrayLike = 10, level: float = 0.9
) -> Reliability:
    """Compare probabilities with frequencies.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    bins : int or array-like
        Number of bins with about equally many rows, or the edges themselves.
    level : float
        Coverage of the intervals.

    **Assumes** independent rows. A bin without rows is left out.

    Notes
    -----
    Rows of one probability stay in one bin, and where there are no more values than bins each has
    its own. A bin whose rows lie far apart, with nothing between them, is cut there as well, so
    that there may be a few more than were asked for: a mean of 2 % and 90 % was given to no row.

    Examples
    --------
    >>> table = reliability([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.1, 0.8, 0.9, 0.2], bins=[0, 0.5, 1])
    >>> table.rows, table.observed.round(2)
    (array([4., 2.]), array([0.25, 1.  ]))
    >>> reliability([0, 0, 0, 1, 0, 1], [0.02, 0.02, 0.02, 0.02, 0.9, 0.9]).predicted.round(2)
    array([0.02, 0.9 ])
    """
    y, p = outcomes(_numbers(y_true), column(prob, "prob"))
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim == 0:
        if not edges >= 1 or not np.isfinite(edges):
            raise UsageError(f"bins={bins!r}: at least one bin is needed.")
        edges = cut_between(p, int(edges))
    elif edges.ndim != 1 or (np.diff(edges) <= 0).any():
        raise UsageError(f"bins={edges.tolist()} must be edges in increasing order.")
    inner = edges[1:-1]
    which = np.searchsorted(inner, p, side="right")
    n_bins = len(inner) + 1
    rows = np.bincount(which, minlength=n_bins).astype(np.float64)
    held = rows > 0
    predicted = np.bincount(which, weights=p, minlength=n_bins)[held] / rows[held]
    observed = np.bincount(which, weights=y, minlength=n_bins)[held] / rows[held]
    low, high = wilson(observed, rows[held], level)
    kept = np.append(edges[:-1][held[: len(edges) - 1]], edges[-1])
    return Reliability(kept, rows[held], predicted, observed, low, high, level)


def _numbers(y_true: ArrayLike) -> Array:
    """Return outcomes as numbers, or say how words become some."""
    try:
        return np.asarray(column(y_true, "y_true"), dtype=np.float64)
    except DataError as refused:
        raise DataError(
            f"{refused} Outcomes are 1 (event) or 0 (no event); for words pass "
            "np.asarray(words) == 'event'."
        ) from None


def cut_between(p: Array, bins: int, weight: Array | None = None) -> Array:
    """Return the edges of about `bins` bins of about equally many rows, cut between values.

    A bin takes whole values until the next one would bring it further from its share of the rows
    that are left; a value with many rows takes a bin of its own, and the others share the rest.

    Examples
    --------
    >>> cut_between(np.array([0.1, 0.1, 0.1, 0.1, 0.2, 0.3]), 3)
    array([0.1 , 0.15, 0.25, 0.3 ])
    """
    values, place = np.unique(p, return_inverse=True)
    counts = np.bincount(place, weight)
    upto = np.append(0, np.cumsum(counts))  # rows below each value
    starts = [0]
    while len(starts) < min(bins, len(values)):
        first, left = starts[-1], min(bins, len(values)) - len(starts)
        share = (upto[-1] - upto[first]) / (left + 1)
        nearest = int(np.argmin(np.abs(upto - upto[first] - share)))
        starts.append(int(np.clip(nearest, first + 1, len(values) - left)))
    if bins > 1:
        ends = [*starts[1:], len(values)]
        torn = [_tears(values, upto, a, b) for a, b in zip(starts, ends, strict=True)]
        starts = sorted({*starts, *(at for some in torn for at in some)})
    low, high = values[np.array(starts[1:], dtype=int) - 1], values[starts[1:]]
    between = (low + high) / 2
    between = np.where(between > low, between, high)  # neighbours among the floats
    return np.concatenate([values[:1], between, values[-1:]])


def _tears(values: Array, upto: Array, first: int, end: int) -> list[int]:
    """Return where the bin of values[first:end] falls apart: the first value beyond each gap."""
    if end - first < 2:
        return []
    gaps = np.diff(values[first:end])
    wide = gaps >= max(GAP * gaps.sum(), FAR * (values[-1] - values[0]))
    below, above = upto[first + 1 : end] - upto[first], upto[end] - upto[first + 1 : end]
    wide &= (below >= FEWEST) & (above >= FEWEST)
    if not wide.any():
        return []
    at = first + 1 + int(np.argmax(np.where(wide, gaps, 0.0)))
    return [*_tears(values, upto, first, at), at, *_tears(values, upto, at, end)]


def wilson(share: Array, n: Array, level: float) -> tuple[Array, Array]:
    """Return Wilson's interval for a share seen in n independent rows.

    Examples
    --------
    >>> low, high = wilson(np.array([0.0]), np.array([10.0]), 0.95)
    >>> low.round(3), high.round(3)
    (array([0.]), array([0.278]))
    """
    z = float(ndtri(0.5 + level / 2))
    centre = (share + z**2 / (2 * n)) / (1 + z**2 / n)
    reach = z / (1 + z**2 / n) * np.sqrt(share * (1 - share) / n + z**2 / (4 * n**2))
    return np.maximum(centre - reach, 0.0), np.minimum(centre + reach, 1.0)
