"""Small maxent problems as the solver sees them, with the columns that they stand for."""

import numpy as np

from scarce.maxent.boxes import class_boxes
from scarce.maxent.coded import shape_of
from scarce.maxent.row_sample import RowSample, labelled_rows
from scarce.maxent.tilted import Entropy, Robust
from tests.maxent.spaces import coded, columns, mixed_rows, mixed_space


class Data:
    """Rows with holes, two labelled classes, label and pool weights; columns F beside them."""

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
        return rows, self.space, boxes, labelled, sample, width_scale

    def entropy(self, of_class=0, width_scale=1.0, **how):
        return Entropy(*self.parts([of_class], width_scale, **how))

    def robust(self, default=(0.3, 0.2), free=0.5, width_scale=1.0, bounds=None, **how):
        classes = range(len(default))
        return Robust(
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
