"""Reliability: of the rows that were given 2 %, did 2 % happen?

Rows are put into bins by their probability; in each, the share of events is set beside the mean
probability, with Wilson's interval for a share. Assumes that rows are independent draws. Does not
smooth: few rows show as wide intervals.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import ndtri

from scarce.assess.scores import outcomes
from scarce.errors import UsageError
from scarce.rows.block import Array


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

    Examples
    --------
    >>> table = reliability([0, 0, 0, 1, 1, 1], [0.1, 0.2, 0.1, 0.8, 0.9, 0.2], bins=[0, 0.5, 1])
    >>> table.rows, table.observed.round(2)
    (array([4., 2.]), array([0.25, 1.  ]))
    """
    y, p = outcomes(y_true, prob)
    edges = np.asarray(bins, dtype=np.float64)
    if edges.ndim == 0:
        if int(edges) < 1:
            raise UsageError(f"bins={bins!r}: at least one bin is needed.")
        edges = np.unique(np.quantile(p, np.linspace(0, 1, int(edges) + 1)))
    if edges.ndim != 1 or (np.diff(edges) <= 0).any():
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
