"""From densities to probabilities: judged on rows left out, and never worse than the constant.

    score_k = log prior_k + offset_k + slope * max(log p(x | k) - max_j log p(x | j), -15)
    minimise   sum_i w_i (log sum_k exp score_ik - score_iy) + (|offset|^2 + slope^2) / 2,
               0 <= slope <= 1.5

over rows that the densities have not seen. Densities count dependent columns twice and call rare
values impossible; the slope takes back what they say too much, and with two classes and no column
that lies, it is 1. Parameters are judged too: those fitted without a fold are compared with the
base rates without that fold, and where they are not better, or the slope of all rows is 0, the base
rates are what is predicted.

Base rates stay apart: other ones are put in the place of `prior`. A row in which nothing was seen
has the base rates exactly. Assumes left-out rows are like later ones; with few events the slope is
drawn to 0, which is too cautious rather than too bold.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp

from scarce.engine.block import Array

CLIP = 15.0
MOST_SLOPE = 1.5
STEPS = 100

Ids = NDArray[np.intp]


class Calibration(NamedTuple):
    """What turns densities into probabilities, and how it was judged."""

    offset: Array  # (classes,)
    slope: float
    loss: Array  # (2,): mean log loss of left-out rows, calibrated and of the base rates
    better: bool


def ratios(log_density: Array) -> Array:
    """Return log densities against the largest, not below -15.

    Examples
    --------
    >>> ratios(np.array([[-3.0, -1.0], [-90.0, -2.0]]))
    array([[ -2.,   0.],
           [-15.,   0.]])
    """
    best = log_density.max(axis=1, keepdims=True)
    return np.asarray(np.maximum(log_density - best, -CLIP))


def scores(ratio: Array, log_prior: Array, offset: Array, slope: float) -> Array:
    """Return scores whose softmax are the probabilities; the base rates where nothing was seen.

    Examples
    --------
    >>> scores(np.array([[0.0, 0.0], [-2.0, 0.0]]), np.zeros(2), np.array([-0.1, 0.1]), 0.5)
    array([[ 0. ,  0. ],
           [-1.1,  0.1]])
    """
    return np.asarray(log_prior + offset * _seen(ratio) + slope * ratio)


def _seen(ratio: Array) -> Array:
    """Return 1 for rows whose classes differ, 0 where nothing was seen, (n, 1)."""
    return np.asarray((ratio != 0.0).any(axis=1, keepdims=True), dtype=np.float64)


def calibrate(ratio: Array, codes: Ids, weight: Array, folds: Ids, log_prior: Array) -> Calibration:
    """Fit offsets and slope to left-out rows, and judge them fold by fold.

    Parameters
    ----------
    ratio : ndarray of shape (n, classes)
        From `ratios`, of rows that the densities have not seen.
    codes : ndarray of int, shape (n,)
    weight : ndarray of shape (n,)
    folds : ndarray of int, shape (n,)
    log_prior : ndarray of shape (classes,)

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> y = np.arange(2000) % 2
    >>> x = rng.normal(2.0 * y)
    >>> ratio = ratios(np.column_stack([np.zeros(2000), 3.0 * (2.0 * x - 2.0)]))  # three times
    >>> found = calibrate(ratio, y, np.ones(2000), np.arange(2000) // 2 % 5, np.log([0.5, 0.5]))
    >>> round(found.slope, 1), found.better
    (0.3, True)
    """
    total = float(weight.sum())
    if not total > 0:
        return Calibration(np.zeros(len(log_prior)), 0.0, np.full(2, np.nan), False)
    judged, constant = 0.0, 0.0
    for fold in np.unique(folds):
        seen, out = folds != fold, folds == fold
        own = _fit(ratio[seen], codes[seen], weight[seen], log_prior)
        judged += _loss(own, ratio[out], codes[out], weight[out], log_prior)
        size = np.bincount(codes[seen], weights=weight[seen], minlength=len(log_prior))
        # A class that stands nowhere else keeps its share of all rows.
        share = np.where(size > 0, size / size.sum(), np.exp(log_prior))
        constant -= float(weight[out] @ np.log(share / share.sum())[codes[out]])
    loss = np.array([judged, constant]) / total
    if not judged < constant:
        return Calibration(np.zeros(len(log_prior)), 0.0, loss, False)
    found = _fit(ratio, codes, weight, log_prior)
    if found[-1] == 0.0:  # the folds differ by chance, and nothing is learned from all of them
        return Calibration(np.zeros(len(log_prior)), 0.0, loss, False)
    return Calibration(found[:-1], float(found[-1]), loss, True)


def _fit(ratio: Array, codes: Ids, weight: Array, log_prior: Array) -> Array:
    """Return offsets and slope; the objective is convex, so a slope out of range ends at it."""
    at = _minimum(ratio, codes, weight, log_prior, None)
    if not 0.0 <= at[-1] <= MOST_SLOPE:
        slope = float(np.clip(at[-1], 0.0, MOST_SLOPE))
        at = _minimum(ratio, codes, weight, log_prior, slope)
    return at


def _minimum(
    ratio: Array, codes: Ids, weight: Array, log_prior: Array, slope: float | None
) -> Array:
    """Return the minimum by Newton steps, halved where they would increase the objective."""
    n, k = ratio.shape
    seen = _seen(ratio)
    at = np.append(np.zeros(k), 1.0 if slope is None else slope)
    free = k + (slope is None)
    own = np.arange(n)
    value = _loss(at, ratio, codes, weight, log_prior) + 0.5 * float(at @ at)
    for _ in range(STEPS):
        score = scores(ratio, log_prior, at[:-1], float(at[-1]))
        prob = np.exp(score - logsumexp(score, axis=1, keepdims=True))
        gap = prob.copy()
        gap[own, codes] -= 1.0
        gap *= weight[:, None]
        gradient = np.append((gap * seen).sum(axis=0), (gap * ratio).sum()) + at
        heavy = prob * weight[:, None] * seen
        mean = (prob * ratio).sum(axis=1)
        hessian = np.eye(k + 1)
        hessian[:k, :k] += np.diag(heavy.sum(axis=0)) - heavy.T @ prob
        hessian[:k, k] = hessian[k, :k] = (heavy * (ratio - mean[:, None])).sum(axis=0)
        hessian[k, k] += float((heavy * ratio * (ratio - mean[:, None])).sum())
        step = np.zeros(k + 1)
        step[:free] = np.linalg.solve(hessian[:free, :free], gradient[:free])
        length = 1.0
        while length > 1e-9:
            new = at - length * step
            loss = _loss(new, ratio, codes, weight, log_prior) + 0.5 * float(new @ new)
            if loss <= value:
                break
            length /= 2.0
        else:
            break
        done = float(np.abs(at - new).max()) <= 1e-13 * (1.0 + float(np.abs(new).max()))
        at, value = new, loss
        if done:
            break
    return at


def _loss(at: Array, ratio: Array, codes: Ids, weight: Array, log_prior: Array) -> float:
    score = scores(ratio, log_prior, at[:-1], float(at[-1]))
    own = score[np.arange(len(codes)), codes]
    return float(weight @ (logsumexp(score, axis=1) - own))
