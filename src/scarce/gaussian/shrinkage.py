"""Covariances of the classes: pooled, shrunk towards what all classes share, never singular.

    own_y = scatter_y / n_y        pooled = sum_y scatter_y / n        (003 1.5, 1.6; MLE)
    covariance_y = (1 - s) own_y + s scale_y [(1 - g) pooled + g diag(pooled)]

or with divisors n_y - 1 and n - K. How far should a small class be shrunk? s, g and the scale
maximise the log likelihood of a left-out row, averaged over all data sets with the same moments:
given mean and covariance of Gaussian rows, the directions of the rows are uniform and known without
looking (Basu's theorem). Only moments are needed: no folds, no second pass, the same choice for any
order, units or batches. A singular covariance (fewer rows than features, a constant or a repeated
column) is shrunk towards the pooled one, a singular pooled one to its diagonal, and remarks say so.
Assumes Gaussian rows within a class, weights that count rows, and complete rows or the expected
moments of an EM step. Does not touch the means.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np
import scipy.linalg
from numpy.typing import NDArray
from scipy.special import betaincinv, expit

from scarce.engine.block import Array
from scarce.errors import Argument, Problem
from scarce.gaussian.moments import CrossMoments, Moments

DRAWS = 128  # directions that a left-out row is taken to have; twice as many choose the same
# A grid, not a search: a flat optimum found by search would move with the order of additions.
INTENSITIES = np.concatenate([[0.0], expit(np.linspace(-7.0, 7.0, 29)), [1.0]])[::-1]
DIAGONALS = np.array([0.0, 0.03, 0.1, 0.3, 0.6, 1.0])
SCALE_POWERS = np.array([0.0, 0.5, 1.0])
LEAST_EIGENVALUE = 1e-10  # of a correlation matrix: below, it counts as singular
LEAST_SCALE = 1e-3  # of a target: a class without variance says nothing of its scale
FLOOR = 1e-6  # smallest intensity used on a singular covariance
LEAST_ROWS = 5.0  # of the prior of a covariance that all classes share
NEGLIGIBLE = 1e-24  # of the total variance: what rounding leaves of a constant column


# --- shrinking ------------------------------------------------------------------------------------


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
    deviation = np.sqrt(np.diag(covariance))
    scaled = covariance / deviation / deviation[:, None]
    np.fill_diagonal(scaled, 1.0)
    return np.asarray(scaled)


def is_singular(covariance: Array) -> bool:
    """Whether a covariance has no variance in some direction, whatever the units.

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
    """Return a covariance with its off-diagonal entries multiplied by 1 - share."""
    mixed = (1.0 - share) * covariance
    np.fill_diagonal(mixed, np.diag(covariance))
    return np.asarray(mixed)


def mend_pooled(pooled: Array, weight: float) -> tuple[Array, float]:
    """Return the pooled covariance, shrunk to its diagonal where it is singular, and how far.

    `weight` is rows less classes, plus 1.
    """
    if not is_singular(pooled):
        return pooled, 0.0
    share = diagonal_share(pooled, weight)
    while is_singular(toward_diagonal(pooled, share)):
        share = min(1.0, 10.0 * share)
    return toward_diagonal(pooled, share), share


def diagonal_share(pooled: Array, weight: float) -> float:
    """Return how far a covariance should be shrunk to its own diagonal; never 0."""
    if weight <= 2.0 + 1e-9:
        return 1.0
    values = np.maximum(np.linalg.eigvalsh(correlation(pooled)), 0.0)
    loss = left_out_loss(values, weight, INTENSITIES, 0.0, 0.0)
    return max(FLOOR, float(INTENSITIES[loss.argmin()]))


@lru_cache(maxsize=8)
def _draws(rank: int) -> tuple[Array, Array]:
    """Return squared coordinates of uniform directions, and even levels for lengths, fixed.

    Each direction comes with all cyclic shifts of its coordinates, which treats them alike.
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
    """Return the mean of -2 log density of a left-out row, for each intensity.

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
        How much of the target is the class itself: that part depends on the row too.

    Returns
    -------
    ndarray of shape (m,)
        Up to a constant; inf where a density does not exist.

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
    """Return intensity, diagonal share and scale of one class by the loss of a left-out row.

    `own` has divisor `weight`; `pooled` is not singular. Fewer than three rows say nothing of the
    class's own covariance: intensity 1.
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
    deviation = np.sqrt(np.diag(target))
    factor = np.linalg.cholesky(correlation(target))
    half = scipy.linalg.solve_triangular(
        factor, covariance / deviation / deviation[:, None], lower=True
    )
    whole = scipy.linalg.solve_triangular(factor, half.T, lower=True)
    return np.asarray(np.maximum(np.linalg.eigvalsh((whole + whole.T) / 2), 0.0))


def shrink(
    own: Array, weight: Array, pooled: Array, intensity: str | float, only: Sequence[int]
) -> Shrunk:
    """Shrink the covariances of some classes towards the pooled one.

    Parameters
    ----------
    own : ndarray of shape (classes, d, d)
        May be singular. Its divisor is the weight, or the weight less 1.
    weight : ndarray of shape (classes,)
    pooled : ndarray of shape (d, d)
        Not singular: see `mend_pooled`.
    intensity : "auto" or float
    only : sequence of int
        The classes to be shrunk; the others stay as they are.
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


# --- from moments to covariances ------------------------------------------------------------------


class CovarianceSettings(NamedTuple):
    """What the user asked for, as far as covariances go."""

    kind: str  # "full", "shared" or "shrunk"
    shrinkage: str | float
    unbiased: bool


class Covariances(NamedTuple):
    """Covariances ready for use, and how they were shrunk."""

    covariance: Array  # (classes, d, d), or (1, d, d) where shared
    target: Array  # (classes, d, d), or (1, d, d): what they were shrunk to
    intensity: Array  # (classes,), or (1,): 0 where not shrunk
    singular: tuple[int, ...]  # classes that had to be shrunk
    pooled_share: float  # how far the pooled covariance had to be shrunk to its diagonal


class Floor(NamedTuple):
    """The least variances of features, each relative to the feature's own variance."""

    least: Array  # (features,): a smaller pooled variance is raised to it
    rounding: Array  # (features,): a smaller variance of a class is rounding, and counts as 0
    total: Array  # (features,): variance over all classes together


def total_variance(values: Moments) -> Array:
    """Return the variance of each feature over all classes together."""
    seen = values.seen.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        centre = (values.seen * values.mean).sum(axis=0) / seen
        squares = values.squares + values.seen * (values.mean - centre) ** 2
        total = squares.sum(axis=0) / seen
    return np.asarray(np.where(seen > 0, total, 0.0))


def rounding_variance(origin: Array) -> Array:
    """Return the variance that rounding alone gives values of the size of `origin`."""
    return np.asarray((8 * np.finfo(np.float64).eps * np.abs(origin)) ** 2)


def variance_floor(values: Moments, origin: Array, var_smoothing: float) -> Floor:
    """Return the variances below which a feature counts as constant within a class."""
    total = total_variance(values)
    least = max(var_smoothing, 1e-12) * total
    rounding = np.maximum(rounding_variance(origin), NEGLIGIBLE * total)
    return Floor(np.asarray(least), rounding, total)


def shared_intensity(intensity: str | float, n: float, d: int) -> float:
    """Return how far the covariance shared by n rows is shrunk to independent features.

    "auto" is a prior of nu = max(5, d / 2) rows: nu / (n + nu).

    Examples
    --------
    >>> shared_intensity("auto", 95.0, 4), shared_intensity("auto", 80.0, 40)
    (0.05, 0.2)
    """
    if not isinstance(intensity, str):
        return float(intensity)
    nu = max(LEAST_ROWS, d / 2)
    return nu / (n + nu)


def covariances(moments: CrossMoments, floor: Floor, settings: CovarianceSettings) -> Covariances:
    """Return the covariances of moments, none of them singular."""
    weight = moments.weight
    scatter = _without_rounding(moments.scatter, weight[:, None] * floor.rounding)
    n, n_classes = float(weight.sum()), len(weight)
    divisor = n - n_classes if settings.unbiased else n
    pooled = scatter.sum(axis=0) / divisor if divisor > 0 else np.zeros_like(scatter[0])
    each = np.arange(len(pooled))
    pooled[each, each] = np.maximum(pooled[each, each], floor.least)
    if settings.kind == "shared":
        share = shared_intensity(settings.shrinkage, n, len(pooled))
        if share > 0:
            target = np.diag(floor.total)
            pooled = (1.0 - share) * pooled + share * target
            return Covariances(pooled[None], target[None], np.array([share]), (), 0.0)
        mended, share = mend_pooled(pooled, n - n_classes + 1)
        diagonal = np.diag(np.diag(mended))
        return Covariances(mended[None], diagonal[None], np.array([share]), (), share)
    mended, share = mend_pooled(pooled, n - n_classes + 1)
    divisors = weight - 1.0 if settings.unbiased else weight
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where((divisors > 1e-9)[:, None, None], scatter / divisors[:, None, None], 0.0)
    singular = tuple(y for y in range(n_classes) if is_singular(own[y]))
    if settings.kind == "shrunk":
        shrunk = shrink(own, weight, mended, settings.shrinkage, range(n_classes))
    else:
        shrunk = shrink(own, weight, mended, "auto", singular)
    return Covariances(shrunk.covariance, shrunk.target, shrunk.intensity, singular, share)


def _without_rounding(scatter: Array, limit: Array) -> Array:
    """Set to 0 the products of a column that is constant within a class up to rounding."""
    alive = np.diagonal(scatter, axis1=1, axis2=2) > limit
    return np.asarray(scatter * alive[:, :, None] * alive[:, None, :])


def singular_remarks(
    found: Covariances, kind: str, classes: NDArray[np.generic], weight: Array
) -> list[Problem]:
    """Return remarks on covariances that were singular."""
    d = found.covariance.shape[1]
    remarks = []
    for y in found.singular if kind == "full" else ():
        remarks.append(
            Problem(
                "Class {label!s}: its own covariance is singular, or missing values leave it so "
                "({rows:g} rows, {features} features). It was shrunk towards the pooled one, with "
                "intensity {intensity:.3g}.",
                code="singular-covariance",
                label=classes[y],
                rows=float(weight[y]),
                features=d,
                intensity=float(found.intensity[y]),
                shrunk=Argument("covariance", "shrunk"),
                remedy="Use {shrunk} to shrink every class.",
            )
        )
    if found.pooled_share > 0:
        remarks.append(
            Problem(
                "The pooled covariance is singular ({rows:g} rows, {features} features). It was "
                "shrunk towards its diagonal, with intensity {intensity:.3g}.",
                code="singular-pooled-covariance",
                rows=float(weight.sum()),
                features=d,
                intensity=float(found.pooled_share),
                remedy="Look for constant or repeated columns.",
            )
        )
    return remarks
