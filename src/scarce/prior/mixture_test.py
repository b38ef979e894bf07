"""Is it label shift at all? Does a mixture of the classes' scores explain today's scores?

    H0: share of today's rows in bin b = sum_k pi_k v_k[b],   v_k = validation rows of class k
    G2 = 2 sum over bins and samples of  count * log(count / expected)

The greatest likelihood under H0 is found by EM over pi and the v_k together, because few events
say little of v_1 and today's rows say more. The p-value is a parametric bootstrap of G2 from there:
the chi-squared law is off where bins hold few rows. Bins are cut at quantiles of all samples
pooled, each class with the same weight, and no row of today's with more than one of the rarest
class: few rows of today's would get bins of their own, which they fill whatever the classes are.
Rows count with their effective number (weights, groups).
Assumes independent draws; a change that leaves today's scores a mixture cannot be seen. How often a
given change would be seen is simulated in the same way (`power`), for two classes.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array

MOST_BINS = 10
ROWS_PER_BIN = 2  # of the rarest class, on average
STEPS, RESAMPLED_STEPS = 400, 150
RESAMPLES = 499
POWER_RESAMPLES = 199
SIGNIFICANT = 0.05
LEAST_TODAY = 10  # rows of today's, with fewer of which the level does not hold


@dataclass(frozen=True, eq=False)
class MixtureTest:
    """The p-value, and what it takes to ask how often a change would be seen."""

    p_value: float
    edges: Array | None = None
    counts: Array | None = None
    sizes: NDArray[np.int64] | None = None
    critical: float = np.nan
    seed: int = 0

    def power(self, moved: list[tuple[Array, Array]], shares: Array) -> float:
        """Return how often the test would speak, were today's rows a mixture of these.

        Parameters
        ----------
        moved : list of (prob, weight), one for each class
            What the rows of a class would look like today.
        shares : ndarray of shape (n_classes,)

        Returns
        -------
        float
            NaN where there is no test, or more than two classes. Somewhat too great, since the
            laws that are simulated hold the noise of the validation rows: where it was .40 the test
            spoke in .25 of fresh samples, and in .6 to .8 where it was .9.
        """
        if self.edges is None or self.counts is None or self.sizes is None:
            return float("nan")
        n_bins = self.counts.shape[1]
        today = np.zeros(n_bins)
        for share, (prob, weight) in zip(shares, moved, strict=True):
            cell = np.minimum(np.searchsorted(self.edges, prob[:, 1]), n_bins - 1)
            today += share * np.bincount(cell, weight, n_bins) / weight.sum()
        before = self.counts[1:] + 0.5 / n_bins
        laws = [today / today.sum(), *(before / before.sum(axis=1, keepdims=True))]
        drawn = np.random.default_rng([self.seed, 13])
        tables = [
            drawn.multinomial(size, law, POWER_RESAMPLES).astype(np.float64)
            for size, law in zip(self.sizes, laws, strict=True)
        ]
        found, _, _ = _deviance(tables[0], np.stack(tables[1:], axis=1), RESAMPLED_STEPS)
        return float((found > self.critical).mean())


def mixture_p_value(
    now: tuple[Array, Array], parts: list[tuple[Array, Array]], effective: Array, seed: int
) -> float:
    """Return the p-value of `mixture`."""
    return mixture(now, parts, effective, seed).p_value


def mixture(
    now: tuple[Array, Array],
    parts: list[tuple[Array, Array]],
    effective: Array,
    seed: int,
) -> MixtureTest:
    """Test "today's scores are a mixture of those of the classes".

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
    MixtureTest
        Its p-value is NaN where there are too few rows or different scores to tell.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> def rows(n, a, b):
    ...     prob = rng.beta(a, b, n)
    ...     return np.column_stack([1 - prob, prob]), np.ones(n)
    >>> low, high = rows(500, 2, 8), rows(100, 8, 2)
    >>> sizes = np.array([300.0, 500.0, 100.0])
    >>> mixture(rows(300, 2, 8), [low, high], sizes, 0).p_value > 0.05
    True
    >>> mixture(rows(300, 20, 20), [low, high], sizes, 0).p_value
    0.002
    """
    samples = [now, *parts]
    n_classes = len(parts)
    if effective[0] < LEAST_TODAY:
        return MixtureTest(float("nan"))
    fewest = int(effective[1:].min() // ROWS_PER_BIN)
    wanted = min(MOST_BINS, max(n_classes + 2, fewest))
    cells, edges = _cells(samples, wanted, effective)
    n_bins = int(max(one.max() for one in cells)) + 1
    if n_bins <= n_classes:
        return MixtureTest(float("nan"))
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
    critical = float(np.sort(resampled)[-int(SIGNIFICANT * (1 + RESAMPLES))])
    p_value = (1 + beyond) / (1 + RESAMPLES)
    return MixtureTest(p_value, edges, counts, sizes, critical, seed)


def _cells(
    samples: list[tuple[Array, Array]], wanted: int, effective: Array
) -> tuple[list[NDArray[np.intp]], Array | None]:
    """Return the bin of every row, and for two classes the upper ends of the bins.

    Bins are of the probability; for several classes of the greatest one, and which it is.
    """
    n_classes = samples[0][0].shape[1]
    part = np.full(1 + n_classes, 1.0 / n_classes)
    part[0] = min(1.0, float(effective[0]) * part[0] / float(effective[1:].min()))
    weight = np.concatenate([
        held * one / held.sum() for (_, held), one in zip(samples, part, strict=True)
    ])  # fmt: skip
    prob = np.concatenate([prob for prob, _ in samples])
    edges = None
    if n_classes == 2:
        cell, edges = _quantile_bins(prob[:, 1], weight, wanted)
    else:
        best = prob.argmax(axis=1)
        each = max(2, wanted // n_classes)
        cell = np.zeros(len(prob), dtype=np.intp)
        start = 0
        for k in range(n_classes):
            here = best == k
            if here.any():
                cell[here] = start + _quantile_bins(prob[here, k], weight[here], each)[0]
                start = int(cell[here].max()) + 1
    return np.split(cell, np.cumsum([len(w) for _, w in samples])[:-1]), edges


def _quantile_bins(values: Array, weight: Array, wanted: int) -> tuple[NDArray[np.intp], Array]:
    """Return the bin of each value, of about equal weight, and edges; equal values share a bin.

    Examples
    --------
    >>> _quantile_bins(np.array([0.1, 0.1, 0.2, 0.9]), np.ones(4), 2)
    (array([0, 0, 1, 1]), array([0.1]))
    """
    order = np.argsort(values, kind="stable")
    filled = np.cumsum(weight[order]) / weight.sum()
    at = np.searchsorted(filled, np.arange(1, wanted) / wanted - 1e-12)
    edges = np.unique(values[order][np.minimum(at, len(values) - 1)])
    found = np.searchsorted(edges, values, side="left")
    return np.asarray(np.unique(found, return_inverse=True)[1], dtype=np.intp), edges


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
