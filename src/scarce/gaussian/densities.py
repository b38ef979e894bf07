"""How probable is a row under each class, when some of its values are missing?

    log p(seen | y) = -1/2 [ (x - mean)' C^-1 (x - mean) + log det C + k log 2 pi ]      (003 1.5)

with mean and C = covariance of class y restricted to the k observed values: leaving the others out
integrates them out exactly. Rows are grouped by which values are missing; each pattern costs one
Cholesky factor per class, d^3 / 3, then each row d^2: r rows with p patterns cost about
classes * (p d^3 + r d^2). Assumes covariances that are not singular (see shrinkage.py).
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import gammaincc, gammaln

from scarce.engine.block import PIECE_ROWS, Array, Block
from scarce.missing.patterns import FACTOR_CELLS, Mask, batches, multiply_groups, patterns

LOG_2PI = float(np.log(2 * np.pi))
FARTHEST = 1e140  # larger distances are clipped: their square would overflow
LARGEST = 1e300  # squared differences are clipped here, in any unit; variances are below 1e290


class Classes(NamedTuple):
    """The classes as the kernels need them."""

    mean: Array  # (classes, features)
    covariance: Array  # (classes, features, features); (1, ...) where all classes share one
    used: Mask  # (features,): columns not used count as missing


class Factors(NamedTuple):
    """The inverse Cholesky factor of a covariance, for each of some missing-value patterns."""

    whiten: Array  # (patterns, features, features): |whiten @ gap|^2 is the squared distance
    log_det: Array  # (patterns,)


def factor(covariance: Array, masks: Mask) -> Factors:
    """Return the factors of one covariance restricted to each pattern, all patterns at once.

    A missing value becomes an independent coordinate with variance 1, which adds 0 to the log
    determinant, and 0 to the distance when its difference is set to 0.
    """
    each = np.arange(masks.shape[1])
    deviation = np.sqrt(np.diag(covariance))
    scaled = covariance / deviation / deviation[:, None]
    cut = scaled * (masks[:, :, None] & masks[:, None, :])
    cut[:, each, each] = 1.0
    lower = np.linalg.cholesky(cut)
    own = np.where(masks, deviation, 1.0)
    log_det = 2.0 * (np.log(lower[:, each, each]) + np.log(own)).sum(axis=1)
    return Factors(np.linalg.inv(lower) / own[:, None, :], log_det)


class PatternRun(NamedTuple):
    """Some rows of a block in the order of their patterns: group i has mask i."""

    rows: NDArray[np.intp]  # (r,) positions in the block
    masks: Mask  # (p, features)
    ends: NDArray[np.intp]  # (p + 1,): rows of pattern i are rows[ends[i]:ends[i + 1]]


def pattern_runs(seen: Mask) -> Iterator[PatternRun]:
    """Walk rows by pattern, few enough at a time for rows and factors to stay in cache."""
    masks, order, ends = patterns(seen)
    most = max(8, FACTOR_CELLS // max(1, seen.shape[1]) ** 2)
    start = 0
    while start < len(order):
        first = int(np.searchsorted(ends, start, side="right")) - 1
        stop = min(start + PIECE_ROWS, int(ends[min(first + most, len(masks))]))
        last = int(np.searchsorted(ends, stop, side="left"))
        inner = np.clip(ends[first : last + 1], start, stop) - start
        yield PatternRun(order[start:stop], masks[first:last], inner)
        start = stop


def squared_distances(block: Block, classes: Classes) -> tuple[Array, Array, Array]:
    """Return squared distances (n, K), log determinants (n, K) and values seen (n,)."""
    n, n_classes = len(block), len(classes.mean)
    distance, log_det, count = np.empty((n, n_classes)), np.empty((n, n_classes)), np.empty(n)
    seen = ~np.isnan(block.X)
    seen &= classes.used
    for run in pattern_runs(seen):
        group = np.repeat(np.arange(len(run.masks)), np.diff(run.ends))
        count[run.rows] = run.masks.sum(axis=1)[group]
        X, hidden = block.X[run.rows], None if run.masks.all() else ~seen[run.rows]
        whiten, logs = np.empty(0), np.empty(0)
        for label in range(n_classes):
            with np.errstate(over="ignore"):
                gap = X - classes.mean[label]
            if hidden is not None:
                gap[hidden] = 0.0
            if label < len(classes.covariance):
                whiten, logs = factor(classes.covariance[label], run.masks)
            distance[run.rows, label] = _lengths(gap, whiten, run.ends)
            log_det[run.rows, label] = logs[group]
    return distance, log_det, count


def _lengths(gap: Array, whiten: Array, ends: NDArray[np.intp]) -> Array:
    """Return the squared length of each whitened row, finite whatever the difference."""
    with np.errstate(over="ignore", invalid="ignore"):
        whitened = multiply_groups(whiten, gap, ends)
        length = np.einsum("ij,ij->i", whitened, whitened)
        wild = ~(length < FARTHEST**2)
        if wild.any():
            scale = np.where(wild, np.abs(gap).max(axis=1), 1.0)
            whitened = multiply_groups(whiten, gap / scale[:, None], ends)
            least = np.minimum(np.abs(whitened).max(axis=1) * scale, FARTHEST) ** 2
            length = np.where(wild, least, length)
    return np.asarray(length)


def distances_by_precision(
    gap: Array, seen: Mask, precision: Array, used: Mask
) -> tuple[Array, Array]:
    """Return squared distances (n,) and log determinants (n,) of what was seen, by K = C^-1.

    g' (C_oo)^-1 g = g' K g - (K g)_m' (K_mm)^-1 (K g)_m,    det C_oo = det K_mm / det K

    with g = 0 where missing: m^3 for a pattern that misses m values, where a factor of C_oo costs
    d^3. Loses as many digits as C has in its condition number: for covariances that are shrunk.

    Parameters
    ----------
    gap : ndarray of shape (n, d)
        Differences from the mean, 0 where nothing was seen.
    seen : ndarray of bool, shape (n, d)
        False for columns not used.
    precision : ndarray of shape (d, d)
        0 for columns not used.
    used : ndarray of bool, shape (d,)

    Examples
    --------
    >>> C = np.array([[2.0, 1.0], [1.0, 2.0]])
    >>> gap, seen = np.array([[2.0, 0.0], [0.0, 0.0]]), np.array([[True, False], [False, False]])
    >>> distance, log_det = distances_by_precision(gap, seen, np.linalg.inv(C), np.ones(2, bool))
    >>> distance.round(9), np.exp(log_det).round(9)
    (array([2., 0.]), array([2., 1.]))
    """
    pulled = gap @ precision
    distance = np.einsum("ij,ij->i", pulled, gap)
    within = precision[np.ix_(used, used)]
    log_det = np.full(len(gap), -np.linalg.slogdet(within)[1])
    for batch in batches(used & ~seen):
        columns = batch.columns
        lower = np.linalg.cholesky(precision[columns[:, :, None], columns[:, None, :]])
        logs = 2.0 * np.log(np.diagonal(lower, axis1=1, axis2=2)).sum(axis=1)
        log_det[batch.rows] += logs[batch.group]
        part = pulled[batch.rows[:, None], columns[batch.group]]
        part = multiply_groups(np.linalg.inv(lower), part, batch.ends)
        distance[batch.rows] -= np.einsum("ij,ij->i", part, part)
    return np.maximum(distance, 0.0), log_det


def joint_of_covariances(block: Block, params: tuple[Array, Classes]) -> Array:
    """Kernel of the map: log prior plus log density of what was seen, (n, K)."""
    log_prior, classes = params
    distance, log_det, count = squared_distances(block, Classes(*classes))
    distance += log_det
    distance += (count * LOG_2PI)[:, None]
    distance *= -0.5
    distance += log_prior
    return distance


def nearest_of_covariances(block: Block, classes: Classes) -> Array:
    """Kernel of the map: least squared distance over the classes, and values seen, (n, 2)."""
    distance, _, count = squared_distances(block, Classes(*classes))
    return np.column_stack([distance.min(axis=1), count])


# --- features independent within a class ----------------------------------------------------------


def joint_of_variances(block: Block, params: tuple[Array, Array, Array, Array]) -> Array:
    """Kernel of the map: log prior plus the log density of what was seen, (n, K)."""
    log_prior, mean, precision, constant = params
    out = np.empty((len(block), len(log_prior)))
    for piece in block.pieces():
        part = out[piece.start - block.start :][: len(piece)]
        for label, (distance, unseen) in enumerate(_piece_distances(piece, mean, precision)):
            part[:, label] = distance
            part[:, label] += constant[label].sum() if unseen is None else ~unseen @ constant[label]
        part *= -0.5
        part += log_prior
    return out


def nearest_of_variances(block: Block, params: tuple[Array, Array, Mask]) -> Array:
    """Kernel of the map: least squared distance over the classes, and values seen, (n, 2)."""
    mean, precision, used = params
    out = np.empty((len(block), 2))
    for piece in block.pieces():
        part = out[piece.start - block.start :][: len(piece)]
        found = [distance for distance, _ in _piece_distances(piece, mean, precision)]
        part[:, 0] = np.min(found, axis=0)
        part[:, 1] = (~np.isnan(piece.X) & used).sum(axis=1)
    return out


def _piece_distances(
    piece: Block, mean: Array, precision: Array
) -> Iterator[tuple[Array, Mask | None]]:
    """Yield the squared distances to each class, and which values are missing if any are."""
    unseen = np.isnan(piece.X)
    some_missing = bool(unseen.any())
    known = np.where(unseen, 0.0, piece.X) if some_missing else piece.X
    for label in range(len(mean)):
        with np.errstate(over="ignore"):
            gap = np.subtract(known, mean[label])
            np.square(gap, out=gap)
        np.minimum(gap, LARGEST, out=gap)
        if some_missing:
            gap[unseen] = 0.0
        with np.errstate(over="ignore"):
            distance = gap @ precision[label]
        yield np.minimum(distance, FARTHEST**2), unseen if some_missing else None


# --- tail probabilities ---------------------------------------------------------------------------


def log_tail(distance: Array, count: Array) -> Array:
    """Return log P(chi-square with `count` degrees of freedom > distance), also far out.

    Examples
    --------
    >>> log_tail(np.array([0.0, 9.21034, 4000.0]), np.array([2.0, 2.0, 2.0])).round(3)
    array([    0.   ,    -4.605, -2000.   ])
    """
    half, at = count / 2.0, distance / 2.0
    with np.errstate(divide="ignore"):
        tail = np.log(gammaincc(np.maximum(half, 0.5), at))
    far = np.flatnonzero(tail < -600.0)
    if len(far):
        tail[far] = _log_tail_far(half[far], at[far])
    return np.asarray(np.where(count > 0, tail, 0.0))


def _log_tail_far(half: Array, at: Array) -> Array:
    """Log of the upper incomplete gamma ratio by its continued fraction (modified Lentz)."""
    below = at + 1.0 - half
    c, d = np.full_like(at, 1e300), 1.0 / below
    fraction = d.copy()
    for step in range(1, 500):
        above = step * (half - step)
        below = below + 2.0
        d = 1.0 / (below + above * d)
        c = below + above / c
        change = c * d
        fraction *= change
        if np.abs(change - 1.0).max() < 1e-15:
            break
    return np.asarray(half * np.log(at) - at - gammaln(half) + np.log(fraction))
