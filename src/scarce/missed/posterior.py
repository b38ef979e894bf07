"""How sure is a fit of a few parameters? Draws from its posterior, without a chain.

    mode (Newton) -> Laplace -> draws of a t with 6 degrees of freedom, weighted by
    posterior / proposal; centre and spread are fitted again to the weighted draws while their
    effective number  (sum w)^2 / sum w^2  is small.

Assumes one mode that matters and up to about thirty parameters. Small problems only: every draw
evaluates the whole log density.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from scipy.special import logsumexp

from scarce.engine.block import Array

FREEDOM = 6.0
Many = Callable[[Array], Array]
Slopes = Callable[[Array], tuple[Array, Array]]


class Mode(NamedTuple):
    """Where a log density is highest."""

    at: Array
    value: float
    curvature: Array  # minus the second derivatives, made positive definite
    gradient: float  # largest entry that is left
    rounds: int


class Draws(NamedTuple):
    """A sample of the posterior, equally weighted."""

    values: Array  # (draws, parameters)
    effective_size: float  # of the weighted draws that it was taken from


def find_mode(slopes: Slopes, start: Array, *, tol: float = 1e-6, rounds: int = 60) -> Mode:
    """Climb to a mode by Newton's method with backtracking.

    Parameters
    ----------
    slopes : callable
        (m, k) points -> (m,) log densities and (m, k) gradients.
    start : ndarray of shape (k,)
    tol : float
        Stops when the step would raise the log density by less than this.

    Examples
    --------
    >>> def bell(x):
    ...     return -0.5 * ((x - 3.0) ** 2).sum(axis=1), 3.0 - x
    >>> find_mode(bell, np.zeros(2)).at.round(6)
    array([3., 3.])
    """
    at = np.array(start, dtype=np.float64)
    value, gradient, curvature = _look(slopes, at)
    done = 0
    while done < rounds:
        done += 1
        step = np.linalg.solve(curvature, gradient)
        if float(step @ gradient) < 2 * tol:
            break
        size = min(1.0, 5.0 / float(np.abs(step).max()))
        tried = size * 0.5 ** np.arange(10.0)
        heights = slopes(at + tried[:, None] * step)[0]
        heights = np.where(np.isnan(heights), -np.inf, heights)
        better = np.flatnonzero(heights > value)
        if len(better) == 0:
            break
        at = at + tried[better[np.argmax(heights[better])]] * step
        value, gradient, curvature = _look(slopes, at)
    return Mode(at, value, curvature, float(np.abs(gradient).max()), done)


def _look(slopes: Slopes, at: Array) -> tuple[float, Array, Array]:
    """Value, gradient and curvature, the last from differences of gradients."""
    k = len(at)
    reach = 1e-4 * np.maximum(1.0, np.abs(at))
    steps = np.diag(reach)
    values, gradients = slopes(np.concatenate([at[None], at + steps, at - steps]))
    second = (gradients[1 : k + 1] - gradients[k + 1 :]) / (2 * reach[:, None])
    lengths, axes = np.linalg.eigh(-(second + second.T) / 2)
    floor = max(1e-3, 1e-10 * float(np.abs(lengths).max()))
    # Where the density bends the wrong way, its size still says how far a step may go.
    return (
        float(values[0]),
        gradients[0],
        (axes * np.maximum(np.abs(lengths), floor)) @ axes.T,
    )


def draw_posterior(
    log_density: Many,
    mode: Mode,
    rng: np.random.Generator,
    *,
    tries: int = 1500,
    keep: int = 800,
    enough: float = 400.0,
) -> Draws:
    """Draw from a posterior around its mode.

    Parameters
    ----------
    log_density : callable
        (m, k) points -> (m,) log densities, up to a constant.
    mode : Mode
    rng : numpy.random.Generator
    tries, keep : int
        Weighted draws made, and equally weighted draws returned.
    enough : float
        Effective number of draws at which the proposal is good enough.

    Examples
    --------
    >>> def bell(x):
    ...     return -0.5 * (x**2).sum(axis=1)
    >>> mode = Mode(np.zeros(2), 0.0, np.eye(2), 0.0, 1)
    >>> draws = draw_posterior(bell, mode, np.random.default_rng(0))
    >>> draws.values.shape, bool(np.abs(draws.values.std(axis=0) - 1).max() < 0.1)
    ((800, 2), True)
    """
    centre: Array = mode.at
    covariance: Array = np.asarray(np.linalg.inv(mode.curvature), dtype=np.float64)
    points, share, size = _weighted(log_density, centre, covariance, tries, rng)
    for _ in range(3):
        if size >= enough:
            break
        centre = share @ points
        apart = points - centre
        # A little of the old spread stays in: a few heavy draws must not shrink the next proposal.
        kept = min(1.0, size / 50.0)
        covariance = kept * (apart.T * share) @ apart + (1 - kept) * covariance
        covariance += 1e-10 * np.trace(covariance) * np.eye(len(centre))
        points, share, size = _weighted(log_density, centre, covariance, tries, rng)
    if size < enough / 2:
        points, share, size = _weighted(log_density, centre, covariance, 6 * tries, rng)
    marks = (np.arange(keep) + rng.random()) / keep
    chosen = np.minimum(np.searchsorted(np.cumsum(share), marks), len(share) - 1)
    return Draws(points[chosen], size)


def _weighted(
    log_density: Many, centre: Array, covariance: Array, tries: int, rng: np.random.Generator
) -> tuple[Array, Array, float]:
    k = len(centre)
    root = np.linalg.cholesky(covariance)
    normal = rng.standard_normal((tries, k))
    stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, tries))
    points = centre + (normal @ root.T) * stretch[:, None]
    length = (normal**2).sum(axis=1) * stretch**2
    log_proposal = -0.5 * (FREEDOM + k) * np.log1p(length / FREEDOM)
    log_weight = log_density(points) - log_proposal
    log_weight = np.where(np.isnan(log_weight), -np.inf, log_weight)
    if np.isneginf(log_weight).all():  # no draw is possible
        return points, np.full(tries, 1.0 / tries), 0.0
    share = np.exp(log_weight - logsumexp(log_weight))
    return points, share, float(1.0 / (share**2).sum())
