"""Feature maps with everything in them, their columns as a plain matrix, and small problems."""

import numpy as np

from scarce.engine.memory import ArrayRows
from scarce.maxent.axes import Axis
from scarce.maxent.boxes import class_boxes
from scarce.maxent.coded import RowSample, code_rows, labelled_rows, shape_of
from scarce.maxent.families import Category, Hinge, Linear, Threshold
from scarce.maxent.feature_map import FeatureMap
from scarce.maxent.problems import EntropyProblem, ProblemData, RobustProblem
from tests.oracle import maxent_dense as dense

LEVELS = np.array([0.0, 2.0, 5.0])


def mixed_rows(rng, n=150, missing=0.2):
    """Five columns: even, skewed, few values, a category, a constant; with missing values."""
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


# --- problems as the solver sees them -------------------------------------------------------------


class Data:
    """Rows with missing values, two labelled classes, weights; their columns F beside them."""

    def __init__(self, seed=0, n=120, *, families=None, second=True, starts=None, missing=0.2):
        rng = np.random.default_rng(seed)
        self.X = mixed_rows(rng, n, missing)
        self.label = np.where(rng.random(n) < 0.3, rng.integers(0, 2, n), np.nan)
        # Labelled rows of class 0 lean towards small values of the first column.
        low = np.nan_to_num(self.X[:, 0], nan=0.0) < 0
        self.label[low & (rng.random(n) < 0.3)] = 0
        self.weight = rng.exponential(size=n) + 0.1
        pool = rng.exponential(size=n) + 0.05
        self.pool = pool / pool.sum()
        self.space = mixed_space(self.X, families, second)
        self.F = columns(self.X, self.space)
        self.rows = coded(
            self.X, self.space, self.label, self.weight, self.pool, starts=starts or (0, n // 3, n)
        )

    def parts(self, classes, width_scale=1.0, *, sample=None, rows=None):
        rows = self.rows if rows is None else rows
        shape = shape_of(self.space)
        boxes = [
            class_boxes(rows, self.space, shape, one, spread="labelled", widths="spread")
            for one in classes
        ]
        labelled = [labelled_rows(rows, one) for one in classes]
        sample = RowSample(rows) if sample is None else sample
        return ProblemData(rows, self.space, boxes, labelled, sample, None), width_scale

    def entropy(self, of_class=0, width_scale=1.0, **how):
        return EntropyProblem(*self.parts([of_class], width_scale, **how))

    def robust(self, default=(0.3, 0.2), free=0.5, width_scale=1.0, bounds=None, **how):
        classes = range(len(default))
        return RobustProblem(
            *self.parts(classes, width_scale, **how),
            default=np.array(default),
            free=free,
            bounds=bounds,
        )

    def label_weight(self, of_class):
        return np.where(self.label == of_class, self.weight, 0.0)


def some_coef(problem, seed=0, share=0.4, size=0.5):
    """Random coefficients of a problem, many of them 0."""
    rng = np.random.default_rng(seed)
    shape = problem.target.shape
    return np.where(rng.random(shape) < share, rng.normal(size=shape) * size, 0.0)
