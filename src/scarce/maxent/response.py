"""A fitted maxent as knots and lines: tilts by look-up, response curves, importance, coverage.

Coefficients of hinges are not unique, but the curve of each variable is: `ResponseCurve` holds it.
`block_coverage` says how far a row is from the pool that the model was fitted on. Everything is
data; pictures are in `scarce.plots`.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import logsumexp, softmax

from scarce.engine.block import Array, Block
from scarce.maxent.axes import QUANTILES
from scarce.maxent.coded import Coded, code_cells, shape_of, tilt_of
from scarce.maxent.factors import fill_factors
from scarce.maxent.feature_map import FeatureMap, Lines
from scarce.missing.front import Front

PIECE = 16_384  # rows coded and looked up at once


@dataclass(frozen=True, eq=False)
class ResponseCurve:
    """How the model's prediction changes with one variable.

    Parameters
    ----------
    variable : str
    x : ndarray of shape (n,)
        Values of the variable, including the knots; codes of a category.
    tilt : ndarray of shape (n,)
        What the variable adds to the log density ratio, up to a constant; variables that products
        join to it are at their pool means.
    prob : ndarray of shape (n,)
        Probability of the class when every other variable is missing.
    missing : float
        Probability of the class for a row without any value.
    """

    variable: str
    x: Array
    tilt: Array
    prob: Array
    missing: float


@dataclass(frozen=True, eq=False)
class Importance:
    """What is lost when one variable's values are shuffled over the rows.

    Parameters
    ----------
    variables : list of str
    auc_drop, gain_drop : ndarray of shape (n_variables, n_repeats)
        Loss of AUC (labelled rows against the pool) and of mean log density at labelled rows.
    auc, gain : float
        Before shuffling.
    """

    variables: list[str]
    auc_drop: Array
    gain_drop: Array
    auc: float
    gain: float

    def ranked(self) -> list[tuple[str, float, float]]:
        """Return variable, mean loss of gain and its standard error over repeats, worst first."""
        mean = self.gain_drop.mean(axis=1)
        repeats = self.gain_drop.shape[1]
        error = self.gain_drop.std(axis=1, ddof=1 if repeats > 1 else 0) / np.sqrt(repeats)
        order = np.argsort(-mean, kind="stable")
        return [(self.variables[i], float(mean[i]), float(error[i])) for i in order]


@dataclass(frozen=True, eq=False)
class TiltModel:
    """What a fitted model needs to predict: no features, only knots and lines.

    Parameters
    ----------
    space : FeatureMap
        Axes without features.
    lines : list of Lines
        The tilt of each labelled class.
    offset : ndarray of shape (n_classes,)
        Score of each class at tilt 0.
    labelled : ndarray of int
        Positions of the labelled classes.
    clamp : bool
    front : Front, optional
        What a missing factor of a product is expected to be.
    """

    space: FeatureMap
    lines: list[Lines]
    offset: Array
    labelled: NDArray[np.intp]
    clamp: bool
    front: Front | None = None

    def tilts(self, X: Array) -> Array:
        """Return the tilt of each labelled class, shape (n, labelled classes)."""
        shape = shape_of(self.space)
        out = np.empty((len(X), len(self.lines)))
        for first in range(0, len(X), PIECE):
            part = slice(first, first + PIECE)
            cells = self._filled(code_cells(X[part], self.space, clamp=self.clamp))
            for at, own in enumerate(self.lines):
                out[part, at] = tilt_of(cells, shape, own, np.empty(cells.n))
        return out

    def _filled(self, cells: Coded) -> Coded:
        """Return the same rows, with what is expected of missing factors written into them."""
        if self.front is not None and any(own.bend.any() for own in self.lines):
            fill_factors(cells, shape_of(self.space), self.front)
        return cells

    def curve(
        self, column: int, at: int, *, n: int, quantiles: Array, pool_place: Array
    ) -> ResponseCurve:
        """Return the response curve of one variable for the labelled class `at`."""
        axis = self.space.axes[column]
        x = axis.knots
        if not axis.category:
            x = np.union1d(np.linspace(x[0], x[-1], n), x)
            x = np.union1d(x, quantiles[np.isfinite(quantiles)])
        alone = np.full((len(x) + 1, len(self.space.axes)), np.nan)  # last: nothing is known
        alone[:-1, column] = x
        cells, shape = code_cells(alone, self.space, clamp=True), shape_of(self.space)
        tilt = self._tilt_around(cells, column, at, pool_place)[:-1]
        cells = self._filled(cells)
        scores = np.tile(self.offset[:, None], len(x) + 1)
        for own, of_class in zip(self.lines, self.labelled, strict=True):
            scores[of_class] += tilt_of(cells, shape, own, np.empty(len(x) + 1))
        prob = softmax(scores, axis=0)[self.labelled[at]]
        return ResponseCurve(axis.name, x, tilt, prob[:-1], float(prob[-1]))

    def _tilt_around(self, cells: Coded, column: int, at: int, pool_place: Array) -> Array:
        """Return the tilt with the other factors of products at their mean place in the pool."""
        lines, shape = self.lines[at], shape_of(self.space)
        if self.front is not None:
            rest = cells.rest.copy()
            others = np.arange(len(rest)) != column
            rest[others] = pool_place[others, None]
            return tilt_of(Coded(cells.codes, rest), shape, lines, np.empty(cells.n))
        tilt = tilt_of(cells, shape, lines, np.empty(cells.n))
        if lines.bend.size:
            cell = self.space.first_cell[column] + cells.codes[column]
            both = lines.bend + lines.bend.T
            np.fill_diagonal(both, 0.0)
            place = shape.place_start[cell] + shape.place_slope[cell] * cells.rest[column]
            tilt += place * (both[column] @ pool_place)
        return tilt

    def importance(
        self,
        X: Array,
        chosen: NDArray[np.bool_],
        weight: Array,
        at: int,
        *,
        n_repeats: int,
        rng: np.random.Generator,
    ) -> Importance:
        """Shuffle each variable over the rows; `chosen` are the rows of the labelled class `at`."""
        from sklearn.metrics import roc_auc_score  # slow to import, and needed here alone

        shape, lines = shape_of(self.space), self.lines[at]
        cells = self._filled(code_cells(X, self.space, clamp=self.clamp))
        truth = np.arange(int(chosen.sum()) + cells.n) < chosen.sum()

        def scores(cells: Coded) -> tuple[float, float]:
            tilt = tilt_of(cells, shape, lines, np.empty(cells.n))
            log_mean = logsumexp(tilt, b=weight) - np.log(weight.sum())
            both = np.concatenate([tilt[chosen], tilt])
            auc = roc_auc_score(truth, both, sample_weight=np.append(weight[chosen], weight))
            return float(auc), float(np.average(tilt[chosen], weights=weight[chosen]) - log_mean)

        auc, gain = scores(cells)
        variables = [axis.name for axis in self.space.axes]
        auc_drop, gain_drop = np.zeros((2, len(variables), n_repeats))
        for column in range(len(variables)):
            for repeat in range(n_repeats):
                order = rng.permutation(cells.n)
                codes, rest = cells.codes.copy(), cells.rest.copy()
                codes[column], rest[column] = codes[column, order], rest[column, order]
                worse = scores(self._filled(Coded(codes, rest)))
                auc_drop[column, repeat] = auc - worse[0]
                gain_drop[column, repeat] = gain - worse[1]
        return Importance(variables, auc_drop, gain_drop, auc, gain)


def block_tilts(block: Block, model: TiltModel) -> Array:
    """Kernel: the tilt of each labelled class."""
    return model.tilts(block.X)


def block_coverage(block: Block, params: tuple[Array, NDArray[np.bool_], list[Array]]) -> Array:
    """Kernel: the lowest coverage of each row over its variables, and which variable has it."""
    quantiles, is_category, knots = params
    n, k = block.X.shape
    score = np.full((n, k + 1), np.nan)
    for v in range(k):
        x = block.X[:, v]
        if is_category[v]:
            score[:, v] = _known(x, np.isin(x, knots[v]))
            continue
        low, high = quantiles[v][0], quantiles[v][-1]
        if not low < high:  # one value, or none
            score[:, v] = _known(x, x == low)
            continue
        values, place = np.unique(quantiles[v], return_inverse=True)
        middle = np.bincount(place, weights=QUANTILES) / np.bincount(place)
        below = np.interp(x, values, middle)
        inside = 200.0 * np.minimum(below, 1.0 - below)
        outside = 100.0 * np.minimum(x - low, high - x) / (high - low)
        score[:, v] = np.where((x < low) | (x > high), outside, inside)
    filled = np.where(np.isnan(score), np.inf, score)
    filled[:, k] = 1e300  # no variable at all
    worst = filled.argmin(axis=1)
    value = filled[np.arange(n), worst]
    return np.column_stack([np.where(worst == k, np.nan, value), worst])


def _known(x: Array, known: NDArray[np.bool_]) -> Array:
    """100 for known values, -100 for others, NaN for missing ones."""
    return np.where(np.isnan(x), np.nan, np.where(known, 100.0, -100.0))
