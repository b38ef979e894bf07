"""Algorithm 1 of paper 004, as printed: Newton steps on Z, one coefficient at a time.

    Z = sum over rows of exp(e)
    e = sum_j o_j [coef_j (f_j - target_j) + |coef_j| half_width_j]             (004 eq 12, 13)
    coef_j -= (dZ/dcoef_j) / (d2Z/dcoef_j^2)  on either side of 0               (004 eq 14 to 16)

Both derivatives are divided by the greatest exp(e), which cancels in a step and does not overflow:
the one DEVIATION. Steps have no safeguard, and the stop is the paper's: coefficients that moved
less than 1e-12 in total over a sweep. Here to be timed (Figure 1); `scarce.MaxentClassifier` does
the fitting. Assumes that every column is seen in a labelled row.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray

Array = NDArray[np.float64]


class Dual(NamedTuple):
    """Coefficients, log probability of each row, and sweeps over the columns."""

    coef: Array
    log_prob: Array
    sweeps: int


def boxes(X: Array, labelled: NDArray[np.intp], width_scale: float) -> tuple[Array, Array]:
    """Return targets and half widths by the rule of 004 section 4.2.

    Examples
    --------
    >>> boxes(np.array([[1.0], [3.0], [np.nan], [5.0]]), np.array([0, 1, 2]), 1.0)[0]
    array([2.])
    """
    seen = ~np.isnan(X)
    rows = seen[labelled]
    count = rows.sum(axis=0)
    target = np.where(rows, X[labelled], 0.0).sum(axis=0) / count
    return target, width_scale * np.nanstd(X, axis=0) / np.sqrt(count)


def solve(
    X: Array, target: Array, half_width: Array, *, tol: float = 1e-12, max_sweeps: int = 10_000
) -> Dual:
    """Run the algorithm from coefficients 0.

    Parameters
    ----------
    X : ndarray of shape (n, k)
        Features; NaN where missing.
    target, half_width : ndarray of shape (k,)
    tol : float
        Stop when all coefficients together moved less in a sweep.
    max_sweeps : int

    Examples
    --------
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> found = solve(X, np.array([2.0]), np.array([0.1]))
    >>> float(np.exp(found.log_prob) @ X[:, 0])
    1.9...
    """
    seen = np.ascontiguousarray((~np.isnan(X)).T)
    apart = np.ascontiguousarray(np.where(seen, X.T - target[:, None], 0.0))
    coef, e, sweeps = _sweeps(apart, seen, half_width, tol, max_sweeps)
    top = e.max()
    return Dual(coef, e - top - np.log(np.exp(e - top).sum()), sweeps)


@njit(cache=True)
def _sweeps(apart, seen, half_width, tol, max_sweeps):  # type: ignore[no-untyped-def]
    """Sweep over the columns, which are rows here, until nothing moves."""
    k, n = apart.shape
    coef, e, weight = np.zeros(k), np.zeros(n), np.ones(n)
    sweep = 0
    while sweep < max_sweeps:
        sweep += 1
        moved = 0.0
        for j in range(k):
            top = e.max()
            for i in range(n):
                weight[i] = np.exp(e[i] - top)
            up = _step(apart[j], seen[j], weight, coef[j], half_width[j])
            down = _step(apart[j], seen[j], weight, coef[j], -half_width[j])
            new = up if up > 0.0 else (down if down < 0.0 else 0.0)
            move, grow = new - coef[j], (abs(new) - abs(coef[j])) * half_width[j]
            if move != 0.0:
                for i in range(n):
                    if seen[j, i]:
                        e[i] += move * apart[j, i] + grow
                moved += abs(move)
                coef[j] = new
        if moved < tol:
            break
    return coef, e, sweep


@njit(cache=True)
def _step(apart, seen, weight, coef, half_width):  # type: ignore[no-untyped-def]
    """Return where one Newton step of Z leads, with the width on one side (eq 14 to 16)."""
    first, second = 0.0, 0.0
    for i in range(apart.size):
        if seen[i]:
            value = apart[i] + half_width
            first += value * weight[i]
            second += value * value * weight[i]
    return coef - first / second if second > 0.0 else coef
