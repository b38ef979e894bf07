"""What is expected under a law? Sums over points, exact where it can be and stable everywhere.

    E g(y) = sum over panels, sum over 8 points: weight * g(point)       (Gauss-Legendre)

Panels end where g bends or jumps, so that each holds a smooth piece. Assumes that the callers say
where that is. Chooses no action: see own_cost.py.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from scipy.special import ndtr

from scarce.engine.block import Array
from scarce.errors import DataError

LARGEST = np.finfo(np.float64).max
POINT, POINT_WEIGHT = np.polynomial.legendre.leggauss(8)
POINT, POINT_WEIGHT = (POINT + 1) / 2, POINT_WEIGHT / 2
SCAN = ndtr(sorted(np.linspace(-3.2, 3.2, 17), key=abs))  # levels at which a search begins


class BySearch:
    """Where a search for the best action begins, for a law that has `quantile`."""

    quantile: Any
    scan = SCAN

    def trials(self) -> Array:
        """Return actions to try first, (n, k), from the middle outwards."""
        return np.stack([self.quantile(level) for level in self.scan], axis=1)


class ByNodes(BySearch):
    """Expectations by quadrature, for a law that has `nodes` and `mean`."""

    n_rows: int
    mean: Any
    nodes: Any

    def variance(self) -> Array:
        """Return the variance of each row, shape (n,)."""
        y, weight = self.nodes(np.empty((self.n_rows, 0)))
        return np.asarray((weight * (y - self.mean()[:, None]) ** 2).sum(axis=1))

    def excess(self, action: Array) -> tuple[Array, Array]:
        """Return E max(y - action, 0) and E max(action - y, 0)."""
        action = np.broadcast_to(action, self.n_rows)[:, None]
        y, weight = self.nodes(action)
        above = (weight * np.maximum(y - action, 0)).sum(axis=1)
        return above, (weight * np.maximum(action - y, 0)).sum(axis=1)

    def cumulant(self, rate: Array) -> Array:
        """Return log E exp(rate (y - mean))."""
        y, weight = self.nodes(np.empty((self.n_rows, 0)))
        return log_mean_exp(np.reshape(rate, (-1, 1)) * (y - self.mean()[:, None]), weight)


def exp_less(x: Array) -> Array:
    """Return exp(x) - 1 - x without cancellation at small x."""
    small = np.clip(x, -0.5, 0.5)
    series = np.ones_like(small)
    for k in range(17, 2, -1):
        series = 1 + small / k * series
    with np.errstate(over="ignore"):
        large = np.expm1(x) - np.minimum(x, LARGEST)  # infinity less infinity would be no number
    return np.where(np.abs(x) < 0.5, 0.5 * small**2 * series, large)


def log_mean_exp(x: Array, weight: Array) -> Array:
    """Return log sum weight exp(x) of each row for x of mean 0; neither cancels nor overflows."""
    top = np.maximum(x.max(axis=1), 0)
    near = np.log1p((weight * exp_less(np.minimum(x, 30))).sum(axis=1))
    far = top + np.log((weight * np.exp(x - top[:, None])).sum(axis=1))
    return np.asarray(np.where(top < 30, near, far))


def finer(edges: Array, fine: int) -> Array:
    """Return panel edges with every panel cut into `fine` equal ones."""
    steps = np.arange(len(edges) * fine - fine + 1) / fine
    return np.asarray(np.interp(steps, np.arange(len(edges)), edges))


def with_cuts(edges: Array, cuts: Array) -> Array:
    """Return the edges of each row (n, panels + 1): the shared ones and its own cuts, in order."""
    shared = np.broadcast_to(edges, (len(cuts), edges.shape[-1]))
    return np.sort(np.concatenate([shared, cuts], axis=1), axis=1)


def panels(edges: Array, mass: Array | None = None) -> tuple[Array, Array]:
    """Return Gauss-Legendre points and weights (n, panels * 8); mass instead of widths if given."""
    width = np.diff(edges, axis=1)[..., None]
    shape = (len(edges), width.shape[1], len(POINT))
    points = np.multiply(width, POINT, out=np.empty(shape))  # in memory row by row
    points += edges[:, :-1, None]
    size = width if mass is None else mass[..., None]
    weight = np.multiply(size, POINT_WEIGHT, out=np.empty(shape))
    return points.reshape(len(edges), -1), weight.reshape(len(edges), -1)


def weighted_mean(cost: Array, weight: Array, action: Array) -> Array:
    """Return the mean of costs (n, k) over the points of each row, or refuse what has none."""
    with np.errstate(invalid="ignore", over="ignore"):
        mean = cost @ weight[0] if len(weight) == 1 else np.einsum("nk,nk->n", cost, weight)
        if np.isnan(mean).any():  # perhaps only an infinite cost where there is no weight
            mean = (np.where(weight > 0, cost, 0.0) * weight).sum(axis=1)
    if np.isnan(mean).any():
        raise DataError(
            f"cost(y, action) has no mean at action={action[np.argmax(np.isnan(mean))]:g}: it is "
            "NaN, or infinite with both signs, for some y. Return a number for every y."
        )
    return np.asarray(mean)
