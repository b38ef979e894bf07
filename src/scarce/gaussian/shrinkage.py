"""How far should the covariance of a small class be drawn towards what all classes share?

    covariance_y = (1 - s) own_y + s scale_y [(1 - g) pooled + g diag(pooled)]      (after 003 1.5)

s, g and the scale are those with the greatest log likelihood of a row that is left out, averaged
over all data sets with the same moments: given mean and covariance of Gaussian rows, the directions
of the rows are uniform and known without looking (Basu's theorem), so that nothing but moments is
needed: no folds, no second pass, the same choice whatever the order, the units or the batches.
Assumes Gaussian rows within a class, weights that count rows. Does not touch the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.linalg
from scipy.special import betaincinv, expit

from scarce.engine.block import Array

DRAWS = 128  # directions that a left-out row is taken to have; twice as many choose the same
# A grid, not a search: a flat optimum found by search would move with the order of additions.
INTENSITIES = np.concatenate([[0.0], expit(np.linspace(-7.0, 7.0, 29)), [1.0]])[::-1]
DIAGONALS = np.array([0.0, 0.03, 0.1, 0.3, 0.6, 1.0])
SCALE_POWERS = np.array([0.0, 0.5, 1.0])
LEAST_EIGENVALUE = 1e-10  # of a correlation matrix: below, it counts as singular
LEAST_SCALE = 1e-3  # of a target: a class without spread says nothing of its scale
FLOOR = 1e-6  # least intensity that meets a singular covariance


class Shrunk(NamedTuple):
    """Covariances with what was done to each."""

    covariance: Array  # (classes, features, features)
    intensity: Array  # (classes,), the s of each class
    diagonal: Array  # (classes,), the g of its target
    scale: Array  # (classes,), the factor of its target
    target: Array  # (classes, features, features), with that factor


def correlation(covariance: Array) -> Array:
    """Return a covariance in units of its own standard deviations.

    Examples
    --------
    >>> correlation(np.array([[4.0, 1.0], [1.0, 1.0]]))
    array([[1. , 0.5],
           [0.5, 1. ]])
    """
    spread = np.sqrt(np.diag(covariance))
    scaled = covariance / spread / spread[:, None]
    np.fill_diagonal(scaled, 1.0)
    return np.asarray(scaled)


def is_singular(covariance: Array) -> bool:
    """Say whether a covariance leaves some direction without any spread, whatever the units.

    Examples
    --------
    >>> is_singular(np.eye(2)), is_singular(np.ones((2, 2))), is_singular(np.diag([1.0, 0.0]))
    (False, True, True)
    """
    if len(covariance) == 0:
        return False
    if not (np.diag(covariance) > 0).all():
        return True
    least = scipy.linalg.eigvalsh(correlation(covariance), subset_by_index=[0, 0])[0]
    return bool(least < LEAST_EIGENVALUE)


def toward_diagonal(covariance: Array, share: float) -> Array:
    """Return a covariance whose off-diagonal entries are made smaller by a share."""
    mixed = (1.0 - share) * covariance
    np.fill_diagonal(mixed, np.diag(covariance))
    return np.asarray(mixed)


def mend_pooled(pooled: Array, weight: float) -> tuple[Array, float]:
    """Return the pooled covariance, drawn to its diagonal where it is singular, and how far.

    `weight` is what it rests on: rows less classes, plus 1.
    """
    if not is_singular(pooled):
        return pooled, 0.0
    share = diagonal_share(pooled, weight)
    while is_singular(toward_diagonal(pooled, share)):
        share = min(1.0, 10.0 * share)
    return toward_diagonal(pooled, share), share


def diagonal_share(pooled: Array, weight: float) -> float:
    """Return how far a covariance should be drawn to its own diagonal; never 0."""
    if weight <= 2.0 + 1e-9:
        return 1.0
    values = np.maximum(np.linalg.eigvalsh(correlation(pooled)), 0.0)
    loss = left_out_loss(values, weight, INTENSITIES, 0.0, 0.0)
    return max(FLOOR, float(INTENSITIES[loss.argmin()]))


@lru_cache(maxsize=8)
def _draws(rank: int) -> tuple[Array, Array]:
    """Squared coordinates of uniform directions, and even levels for lengths: always the same.

    Each direction comes with its coordinates shifted round, so that none is met more than another.
    """
    rng = np.random.default_rng(5)
    shifts = rank if rank <= DRAWS // 2 else 1
    squares = rng.standard_normal((max(2, DRAWS // shifts), rank)) ** 2
    squares /= squares.sum(axis=1, keepdims=True)
    turned = np.concatenate([np.roll(squares, step, axis=1) for step in range(shifts)])
    return turned, (rng.permutation(len(turned)) + 0.5) / len(turned)


def left_out_loss(
    eigenvalues: Array, weight: float, intensity: Array, power: float, own_share: float
) -> Array:
    """Return -2 log density of a row left out, on average, for each intensity.

    Parameters
    ----------
    eigenvalues : ndarray of shape (d,)
        Of the class's covariance (divisor: its weight) in coordinates where the target is 1.
    weight : float
        Rows of the class, above 2.
    intensity : ndarray of shape (m,)
    power : float
        The target is multiplied by (the class's own scale in it) ** power.
    own_share : float
        How much of the target is the class itself: that part knows the row and is left out too.

    Returns
    -------
    ndarray of shape (m,)
        Without the part that no choice changes; inf where a density does not exist.

    Examples
    --------
    >>> loss = left_out_loss(np.full(3, 1.0), 6.0, np.array([0.0, 0.5, 1.0]), 0.0, 0.0)
    >>> bool(loss[2] < loss[1] < loss[0])          # a class like the target: take the target
    True
    """
    n, d = weight, len(eigenvalues)
    seen = eigenvalues > 1e-9 * eigenvalues.max()
    rank = int(seen.sum())
    directions, levels = _draws(rank)
    squares = np.zeros((len(directions), d))
    # n u_j^2: squared coordinate j of the row, in units of eigenvalue j; each is 1 on average.
    squares[:, seen] = directions
    rest = n - 1 - rank
    if rest > 1e-6:  # else every row is equally far from the mean
        squares *= betaincinv(rank / 2.0, rest / 2.0, levels)[:, None]
    squares[:, seen] /= squares[:, seen].mean(axis=0)
    parts = squares * eigenvalues
    # Everything that depends on the row, without it: the scale, the class's covariance (as
    # n S - n/(n-1) z z', a change of rank one), its mean (n/(n-1) further away).
    scale = (n * eigenvalues.sum() - n / (n - 1) * parts.sum(axis=1)) / ((n - 2) * d)
    scale = np.maximum(scale, 1e-12) ** power
    s = intensity[:, None]
    own = (1 - s) + s * own_share * scale  # (m, draws)
    whole = own[:, :, None] * (n / (n - 1)) * eigenvalues + (s * scale)[:, :, None] * np.maximum(
        1.0 - own_share * eigenvalues, 0.0
    )
    change = own * n / (n - 1) ** 2
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        distance = np.where(squares > 0, parts / whole, 0.0).sum(axis=2)
        left = 1.0 - change * distance
        loss = np.log(whole).sum(axis=2) + np.log(left) + (n / (n - 1)) ** 2 * distance / left
    loss = np.where((left > 1e-9) & np.isfinite(loss), loss, np.inf)
    return np.asarray(loss.mean(axis=1))


def choose(
    own: Array, weight: float, pooled: Array, own_share: float
) -> tuple[float, float, float]:
    """Return intensity, diagonal share and scale of one class by the loss of a row left out.

    `own` has divisor `weight`; `pooled` is not singular. Below three rows the class says nothing
    of its own spread: intensity 1.
    """
    if weight <= 2.0 + 1e-9 or not (np.diag(own) > 0).any():
        return 1.0, 0.0, 1.0
    best, chosen = np.inf, (1.0, 0.0, 1.0)
    for diagonal in DIAGONALS:
        target = toward_diagonal(pooled, diagonal)
        values = relative_eigenvalues(own, target)
        full_scale = max(LEAST_SCALE, weight / (weight - 1.0) * float(values.mean()))
        offset = np.linalg.slogdet(target)[1]
        for power in SCALE_POWERS:
            shared = own_share * (1.0 - diagonal)
            loss = offset + left_out_loss(values, weight, INTENSITIES, power, shared)
            at = int(loss.argmin())
            if loss[at] < best:
                best = float(loss[at])
                chosen = float(INTENSITIES[at]), float(diagonal), full_scale ** float(power)
    return chosen


def relative_eigenvalues(covariance: Array, target: Array) -> Array:
    """Return the eigenvalues of a covariance where the target is the identity, none below 0."""
    spread = np.sqrt(np.diag(target))
    factor = np.linalg.cholesky(correlation(target))
    half = scipy.linalg.solve_triangular(factor, covariance / spread / spread[:, None], lower=True)
    whole = scipy.linalg.solve_triangular(factor, half.T, lower=True)
    return np.asarray(np.maximum(np.linalg.eigvalsh((whole + whole.T) / 2), 0.0))


def shrink(
    own: Array, weight: Array, pooled: Array, intensity: str | float, only: Sequence[int]
) -> Shrunk:
    """Draw the covariances of some classes towards the pooled one.

    Parameters
    ----------
    own : ndarray of shape (classes, d, d)
        May be singular. Its divisor is the weight, or the weight less 1.
    weight : ndarray of shape (classes,)
    pooled : ndarray of shape (d, d)
        Not singular: see `mend_pooled`.
    intensity : "auto" or float
    only : sequence of int
        The classes to be drawn; the others stay as they are.
    """
    many = len(own)
    whole = np.repeat(pooled[None], many, axis=0)
    out = Shrunk(own.copy(), np.zeros(many), np.zeros(many), np.ones(many), whole)
    for y in only:
        share = float(weight[y] / weight.sum())
        s, diagonal, scale = (
            choose(own[y], float(weight[y]), pooled, share)
            if intensity == "auto"
            else (float(intensity), 0.0, 1.0)
        )
        target = scale * toward_diagonal(pooled, diagonal)
        mixed = (1.0 - s) * own[y] + s * target
        while is_singular(mixed):
            s = min(1.0, max(FLOOR, 10.0 * s))
            mixed = (1.0 - s) * own[y] + s * target
        out.covariance[y], out.target[y] = mixed, target
        out.intensity[y], out.diagonal[y], out.scale[y] = s, diagonal, scale
    return out
