"""Is it label shift at all? Does a mixture of the classes' scores explain today's scores?

    H0: share of today's rows in bin b = sum_k pi_k v_k[b],   v_k = validation rows of class k
    G2 = 2 sum over bins and samples of  count * log(count / expected)

The greatest likelihood under H0 is found by EM over pi and the v_k together, because few events
say little of v_1 and today's rows say more. The p-value is a parametric bootstrap of G2 from there:
the chi-squared law is off where bins hold few rows. Bins are cut at quantiles of all samples
pooled, each class with the same weight. Rows count with their effective number (weights, groups).
Assumes independent draws; a change that leaves today's scores a mixture cannot be seen.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array

MOST_BINS = 10
ROWS_PER_BIN = 2  # of the rarest class, on average
STEPS, RESAMPLED_STEPS = 400, 150
RESAMPLES = 499


def mixture_p_value(
    now: tuple[Array, Array],
    parts: list[tuple[Array, Array]],
    effective: Array,
    seed: int,
) -> float:
    """Return the p-value of "today's scores are a mixture of those of the classes".

    Parameters
    ----------
    now : (prob, weight)
        Of today's rows: probabilities, (n, n_classes), and weights, (n,).
    parts : list of (prob, weight), one for each class
        Of the validation rows of the class.
    effective : ndarray of shape (1 + n_classes,)
        Effective number of rows: today's, then of each class.
    seed : int

    Returns
    -------
    float
        NaN where there are too few rows or different scores to tell.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, a, b):
    ...     prob = rng.beta(a, b, n)
    ...     return np.column_stack([1 - prob, prob]), np.ones(n)
    >>> low, high = rows(500, 2, 8), rows(100, 8, 2)
    >>> sizes = np.array([300.0, 500.0, 100.0])
    >>> mixture_p_value(rows(300, 2, 8), [low, high], sizes, 0) > 0.05
    True
    >>> mixture_p_value(rows(300, 20, 20), [low, high], sizes, 0)
    0.002
    """
    samples = [now, *parts]
    n_classes = len(parts)
    fewest = int(effective[1:].min() // ROWS_PER_BIN)
    wanted = min(MOST_BINS, max(n_classes + 2, fewest))
    cells = _cells(samples, wanted)
    n_bins = int(max(one.max() for one in cells)) + 1
    if n_bins <= n_classes:
        return float("nan")
    counts = np.stack([
        size * np.bincount(cell, weight, n_bins) / weight.sum()
        for cell, (_, weight), size in zip(cells, samples, effective, strict=True)
    ])  # fmt: skip
    found, shares, laws = _deviance(counts[None, 0], counts[None, 1:], STEPS)
    drawn = np.random.default_rng([seed, 7])
    sizes = np.maximum(1, np.rint(effective)).astype(np.int64)
    expected = [shares[0] @ laws[0], *laws[0]]
    tables = [
        drawn.multinomial(size, law / law.sum(), RESAMPLES).astype(np.float64)
        for size, law in zip(sizes, expected, strict=True)
    ]
    resampled, _, _ = _deviance(tables[0], np.stack(tables[1:], axis=1), RESAMPLED_STEPS)
    beyond = int((resampled >= found[0] - 1e-9).sum())
    return (1 + beyond) / (1 + RESAMPLES)


def _cells(samples: list[tuple[Array, Array]], wanted: int) -> list[NDArray[np.intp]]:
    """Return the bin of every row: by the probability; for several classes by the greatest, too."""
    n_classes = samples[0][0].shape[1]
    total = [weight.sum() for _, weight in samples]
    weight = np.concatenate([
        weight / (total[place] * (n_classes if place else 1.0))
        for place, (_, weight) in enumerate(samples)
    ])  # fmt: skip
    prob = np.concatenate([prob for prob, _ in samples])
    if n_classes == 2:
        cell = _quantile_bins(prob[:, 1], weight, wanted)
    else:
        best = prob.argmax(axis=1)
        each = max(2, wanted // n_classes)
        cell = np.zeros(len(prob), dtype=np.intp)
        start = 0
        for k in range(n_classes):
            here = best == k
            if here.any():
                cell[here] = start + _quantile_bins(prob[here, k], weight[here], each)
                start = int(cell[here].max()) + 1
    return np.split(cell, np.cumsum([len(w) for _, w in samples])[:-1])


def _quantile_bins(values: Array, weight: Array, wanted: int) -> NDArray[np.intp]:
    """Return the bin of each value, of about equal weight; equal values share a bin.

    Examples
    --------
    >>> _quantile_bins(np.array([0.1, 0.1, 0.2, 0.9]), np.ones(4), 2)
    array([0, 0, 1, 1])
    """
    order = np.argsort(values, kind="stable")
    filled = np.cumsum(weight[order]) / weight.sum()
    at = np.searchsorted(filled, np.arange(1, wanted) / wanted - 1e-12)
    edges = np.unique(values[order][np.minimum(at, len(values) - 1)])
    found = np.searchsorted(edges, values, side="left")
    return np.asarray(np.unique(found, return_inverse=True)[1], dtype=np.intp)


def _deviance(now: Array, parts: Array, steps: int) -> tuple[Array, Array, Array]:
    """Return G2, shares and laws of the classes for each of r tables, by EM.

    Parameters
    ----------
    now : ndarray of shape (r, bins)
    parts : ndarray of shape (r, n_classes, bins)
    """
    held = parts.sum(axis=-1)
    laws = (parts + 0.5 / parts.shape[-1]) / (held + 0.5)[..., None]  # a bin may be met later
    shares = np.full(parts.shape[:2], 1.0 / parts.shape[1])
    total = now.sum(axis=-1)
    for _ in range(steps):
        joint = shares[..., None] * laws
        joint *= (now / np.maximum(joint.sum(axis=1), 1e-300))[:, None]
        filled = joint.sum(axis=-1)
        shares = filled / total[:, None]
        laws = (parts + joint) / (held + filled)[..., None]
    mixed = (shares[..., None] * laws).sum(axis=1) * total[:, None]
    found = _terms(now, mixed) + _terms(parts, laws * held[..., None]).sum(axis=-1)
    return found, shares, laws


def _terms(count: Array, expected: Array) -> Array:
    """Return 2 sum count * log(count / expected) over bins."""
    ratio = np.where(count > 0, count, 1.0) / np.where(count > 0, np.maximum(expected, 1e-300), 1.0)
    return np.asarray(2.0 * (count * np.log(ratio)).sum(axis=-1))
