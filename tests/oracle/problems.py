"""Small random maxent problems that the maker of golden numbers and the tests build alike.

    rows X (NaN = missing), y (NaN = not labelled), row weights, a box rule -> one number to find

A problem is its kind and its seed. Every column is seen in at least three labelled rows of each
labelled class or in none of them, so that no box has width 0. Does not solve anything.
"""

from typing import NamedTuple

import numpy as np

WIDTH_SCALES = (0.1, 0.3, 1.0, 2.0)


class Problem(NamedTuple):
    """What a fit is given; `sample_weight` counts labelled rows, `background_weight` the pool."""

    X: np.ndarray  # (n, J), NaN = missing
    y: np.ndarray  # (n,), position in `default`; NaN = not labelled
    sample_weight: np.ndarray  # (n,)
    background_weight: np.ndarray  # (n,), sums to 1
    width_scale: float
    spread: str  # "labelled" or "seen"
    default: np.ndarray  # (n_classes,), sums to 1

    def label_weights(self):
        """Weight of each row as a labelled one, per class; None where a class has no label."""
        rows = [np.where(self.y == k, self.sample_weight, 0.0) for k in range(len(self.default))]
        return [weight if weight.any() else None for weight in rows]


def checksum(problem):
    """Return one number that changes with any cell: tells a changed generator from a wrong fit."""
    parts = [problem.X, problem.y, problem.sample_weight, problem.background_weight]
    seen = np.concatenate([np.nan_to_num(part, nan=-7.0).ravel() for part in parts])
    return float(np.sum(seen * np.cos(np.arange(len(seen)))))


def entropy_problem(seed):
    """One labelled class out of two: presences among a pool."""
    return _draw(np.random.default_rng([4, seed]), labelled=[1], n_classes=2)


def robust_problem(seed, kind):
    """Class-robust problems: "one", "three" (one class without labels), "all" or "empty"."""
    rng = np.random.default_rng([10, seed])
    if kind == "one":
        return _draw(rng, labelled=[1], n_classes=2)
    if kind == "three":
        return _draw(rng, labelled=rng.choice(3, 2, replace=False).tolist(), n_classes=3)
    # All classes labelled: their means must mix to the mean of the pool, which narrow boxes forbid.
    problem = _draw(rng, labelled=[0, 1, 2], n_classes=3, apart=0.3 if kind == "all" else 2.0)
    return problem._replace(width_scale=3.0 if kind == "all" else 0.1)


def _draw(rng, *, labelled, n_classes, apart=1.0):
    n = int(rng.integers(15, 61)) + 15 * (len(labelled) - 1)
    n_columns = int(rng.integers(1, 6))
    X = np.column_stack([_column(rng, n) for _ in range(n_columns)])
    n_labelled = int(rng.integers(5, max(6, n // (3 * len(labelled)))))
    y = np.full(n, np.nan)
    for k in labelled:  # rows with a large score are labelled more often
        score = apart * _standard(X) @ rng.normal(size=n_columns) + rng.gumbel(size=n)
        score[~np.isnan(y)] = -np.inf
        y[np.argsort(-score)[:n_labelled]] = k
    X[rng.random(X.shape) < rng.choice([0.0, 0.2, 0.4, 0.6])] = np.nan
    for k in labelled:
        for column in X.T:
            _see_three_or_none(rng, column, np.flatnonzero(y == k))
    weight = np.ones(n)
    if rng.random() < 0.25:
        weight = rng.integers(1, 4, n).astype(float)
    background = np.full(n, 1 / n)
    if rng.random() < 0.5:
        background = rng.uniform(0.2, 2.0, n)
        background /= background.sum()
    default = rng.dirichlet(np.full(n_classes, 4.0))
    return Problem(
        X,
        y,
        weight,
        background,
        float(rng.choice(WIDTH_SCALES)),
        str(rng.choice(["labelled", "seen"])),
        default,
    )


def _column(rng, n):
    """A column of one of four shapes, in units of its own."""
    kind = rng.integers(4)
    if kind == 0:
        return rng.normal(rng.normal(scale=3), 10 ** rng.uniform(-1, 1), n)
    if kind == 1:
        return rng.exponential(10 ** rng.uniform(-1, 1), n)
    if kind == 2:
        return rng.integers(0, 6, n).astype(float)
    return rng.uniform(-1, 1, n) ** 3


def _standard(X):
    return (X - X.mean(axis=0)) / np.maximum(X.std(axis=0), 1e-9)


def _see_three_or_none(rng, column, rows):
    """Hide a column in all labelled rows, or show enough different values for a spread."""
    seen = column[rows][~np.isnan(column[rows])]
    if len(seen) >= 3 and np.ptp(seen) > 0:
        return
    column[rows] = np.nan
    if rng.random() < 0.7:
        centre = np.nanmean(column) if (~np.isnan(column)).any() else 0.0
        column[rows[:3]] = centre + np.array([-0.2, 0.1, 0.3])
