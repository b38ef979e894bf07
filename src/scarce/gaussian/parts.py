"""From moments of the classes to their Gaussians: pooled, shrunk, never singular.

    own_y = scatter_y / n_y        pooled = sum_y scatter_y / n        (003 1.5, 1.6; MLE)

or with divisors n_y - 1 and n - K. A covariance without spread in some direction (fewer rows than
features, a constant or a repeated column) is drawn towards the pooled one, and that to its
diagonal, and the remarks say so. Assumes complete rows, or the expected moments of an EM step.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from scarce.engine.block import Array
from scarce.gaussian.moments import CrossMoments, Moments
from scarce.gaussian.shrinkage import is_singular, mend_pooled, shrink

NEGLIGIBLE = 1e-24  # of the whole variance: what rounding leaves of a column without spread


class Settings(NamedTuple):
    """What the user asked for, as far as covariances go."""

    kind: str  # "full", "shared" or "shrunk"
    shrinkage: str | float
    unbiased: bool
    var_smoothing: float


class Covariances(NamedTuple):
    """Covariances ready for use, and how they were drawn."""

    covariance: Array  # (classes, d, d), or (1, d, d) where shared
    target: Array  # (classes, d, d), or (1, d, d): what they were drawn to
    intensity: Array  # (classes,), or (1,): 0 where not drawn
    singular: tuple[int, ...]  # classes that had to be drawn
    pooled_share: float  # how far the pooled covariance had to be drawn to its diagonal


def spread_of_all(values: Moments) -> Array:
    """Return the variance of each feature over all classes together."""
    seen = values.seen.sum(axis=0)
    with np.errstate(invalid="ignore", divide="ignore", over="ignore"):
        centre = (values.seen * values.mean).sum(axis=0) / seen
        spread = values.squares + values.seen * (values.mean - centre) ** 2
        total = spread.sum(axis=0) / seen
    return np.asarray(np.where(seen > 0, total, 0.0))


class Floor(NamedTuple):
    """The least variances of features, each relative to the feature's own variance."""

    least: Array  # (features,): a smaller pooled variance is raised to it
    rounding: Array  # (features,): a smaller variance of a class is rounding, and stands for 0


def rounding_of(origin: Array) -> Array:
    """Return the variance that rounding alone gives values of the size of `origin`."""
    return np.asarray((8 * np.finfo(np.float64).eps * np.abs(origin)) ** 2)


def floor_of(values: Moments, origin: Array, var_smoothing: float) -> Floor:
    """Return the variances below which a feature counts as constant within a class."""
    total = spread_of_all(values)
    least = max(var_smoothing, 1e-12) * total
    return Floor(np.asarray(least), np.maximum(rounding_of(origin), NEGLIGIBLE * total))


def covariances(moments: CrossMoments, floor: Floor, settings: Settings) -> Covariances:
    """Return the covariances of moments, none of them singular."""
    weight = moments.weight
    scatter = _without_rounding(moments.scatter, weight[:, None] * floor.rounding)
    n, n_classes = float(weight.sum()), len(weight)
    divisor = n - n_classes if settings.unbiased else n
    pooled = scatter.sum(axis=0) / divisor if divisor > 0 else np.zeros_like(scatter[0])
    flat = np.arange(len(pooled))
    pooled[flat, flat] = np.maximum(pooled[flat, flat], floor.least)
    mended, share = mend_pooled(pooled, n - n_classes + 1)
    if settings.kind == "shared":
        return Covariances(
            mended[None], np.diag(np.diag(mended))[None], np.array([share]), (), share
        )
    divisors = weight - 1.0 if settings.unbiased else weight
    with np.errstate(invalid="ignore", divide="ignore"):
        own = np.where((divisors > 1e-9)[:, None, None], scatter / divisors[:, None, None], 0.0)
    singular = tuple(y for y in range(n_classes) if is_singular(own[y]))
    only: Sequence[int] = range(n_classes) if settings.kind == "shrunk" else singular
    drawn = shrink(
        own, weight, mended, settings.shrinkage if only is not singular else "auto", only
    )
    return Covariances(drawn.covariance, drawn.target, drawn.intensity, singular, share)


def _without_rounding(scatter: Array, limit: Array) -> Array:
    """Set to 0 the products of a column that is constant within a class up to rounding."""
    alive = np.diagonal(scatter, axis1=1, axis2=2) > limit
    return np.asarray(scatter * alive[:, :, None] * alive[:, None, :])


def remarks_of(found: Covariances, kind: str, classes: Any, weight: Array) -> list[str]:
    """Say which covariances were singular and what was done."""
    d = found.covariance.shape[1]
    remarks = []
    if found.singular and kind == "full":
        for y in found.singular:
            remarks.append(
                f"Class {classes[y]!s}: its own covariance is singular, or holes leave it so "
                f"({weight[y]:g} rows, {d} features); it was drawn towards what all classes "
                f"share, with intensity {found.intensity[y]:.3g}. covariance='shrunk' does so for "
                "every class."
            )
    if found.pooled_share > 0:
        remarks.append(
            f"The covariance that all classes share is singular ({weight.sum():g} rows, {d} "
            f"features), so it was drawn towards its diagonal, with intensity "
            f"{found.pooled_share:.3g}. Look for constant or repeated columns."
        )
    return remarks
