"""Feature maps with everything in them, their columns as a plain matrix, and coded rows."""

import numpy as np

from scarce.engine.memory import ArrayRows
from scarce.maxent.axes import Axis
from scarce.maxent.coded import code_rows
from scarce.maxent.families import Category, Hinge, Linear, Threshold
from scarce.maxent.feature_map import FeatureMap
from tests.oracle import maxent_dense as dense

LEVELS = np.array([0.0, 2.0, 5.0])


def mixed_rows(rng, n=150, missing=0.2):
    """Five columns: even, skewed, few values, a category, a constant; with holes."""
    X = np.column_stack(
        [
            rng.uniform(-3, 5, n),
            rng.lognormal(sigma=2, size=n),
            rng.integers(0, 4, n) / 4,
            rng.choice(LEVELS, n),
            np.full(n, 7.0),
        ]
    )
    X[rng.random(X.shape) < missing] = np.nan
    return X


def mixed_space(X, families=None, second=True):
    """Linear, hinge, threshold and indicator features; squares and products of three columns."""
    low, high = np.nanmin(X, axis=0), np.nanmax(X, axis=0)
    uneven = np.unique(np.nanquantile(X[:, 1], [0.1, 0.3, 0.5, 0.9], method="inverted_cdf"))
    uneven = uneven[(uneven > low[1]) & (uneven < high[1])]
    axes = [
        Axis("even", np.linspace(low[0], high[0], 6)),
        Axis("skewed", np.concatenate([[low[1]], uneven, [high[1]]])),
        Axis("few", np.unique(X[~np.isnan(X[:, 2]), 2])),
        Axis("soil", LEVELS, category=True),
        Axis("same", np.array([7.0, 7.0])),
    ]
    families = [Linear(), Hinge(), Threshold(), Category()] if families is None else families
    pairs = [(0, 0), (1, 1), (2, 2), (0, 1), (0, 2), (1, 2)] if second else []
    return FeatureMap(axes, families, pairs)


def one_family(letter, axis, x):
    """The columns of one family on one variable."""
    x = x if axis.category else np.clip(x, axis.knots[0], axis.knots[-1])
    if letter == "l":
        return dense.unit_range(x, axis.knots[0], axis.knots[-1])[:, None]
    if letter == "h":
        return dense.hinge_matrix(x, axis.knots)
    if letter == "t":
        return dense.threshold_matrix(x, axis.knots)
    return dense.category_matrix(np.where(np.isin(x, axis.knots), x, np.nan), axis.knots)


def columns(X, space):
    """Every feature of every row, NaN where it is not seen: (n, n_features)."""
    parts = []
    for v, axis in enumerate(space.axes):
        for family in space.families:
            if axis.flat or axis.category != (family.letter == "c"):
                continue
            parts.append(one_family(family.letter, axis, X[:, v]))
    for u, v in space.pairs:
        one, two = (one_family("l", space.axes[at], X[:, at])[:, 0] for at in (u, v))
        parts.append((one * two)[:, None])
    return np.concatenate(parts, axis=1)


def coded(X, space, label=None, weight=None, pool=None, *, starts=None, engine=None, dtype=float):
    """Code rows; by default not labelled, of weight 1."""
    n = len(X)
    return code_rows(
        ArrayRows(X, starts=starts, check=False),
        space,
        np.full(n, np.nan) if label is None else label,
        np.ones(n) if weight is None else weight,
        np.ones(n) if pool is None else pool,
        dtype=dtype,
        engine=engine,
    )


def plain_tilt(F, coef, target, half_width):
    """004 eq 12, term by term."""
    out = np.zeros(len(F))
    for i, row in enumerate(F):
        for j, f in enumerate(row):
            if not np.isnan(f) and coef[j] != 0:
                out[i] += coef[j] * (f - target[j]) + half_width[j] * abs(coef[j])
    return out
