"""Which coefficients minimise a sum of convex losses over rows, and how is that proven?

    minimise  sum_i s_i loss(y_i, constant + x_i' slopes) + 1/2 sum_j penalty_j coef_j^2

Newton's method on folds, in coordinates where every column has mean 0 and standard deviation 1. A
Gram matrix costs many gradients when there are many columns, so it is kept while it serves: between
fresh ones the curvature is corrected by what the gradients themselves show (limited-memory BFGS
around the last Gram matrix). Along a step the loss is convex, so the slopes at both ends judge it:
the loss itself need not be evaluated. Large data are first fitted on a sample of their rows.

Stops when the largest entry of the gradient per unit of weight falls below `tol`: a certificate,
never "the coefficients moved little". Assumes a convex loss: for others see descent.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.linear.sums import (
    ColumnSummary,
    LinearSums,
    RowLoss,
    append_rows,
    labels_and_weights,
    linear_sums,
)

SAMPLE_FROM = 20_000  # rows from which a first fit on a sample pays
SAMPLE_CELLS = 2_000_000  # of that sample: it is held in memory, whatever the size of the data
MEMORY = 12  # gradient differences kept beside a Gram matrix
CHEAP = 50_000  # cells up to which a Gram matrix costs no more than the rest of a pass
GRAM_COLUMNS = 1500  # more columns than this, and more multiplications than GRAM_WORK:
GRAM_WORK = 2e10  # never a Gram matrix, only its diagonal


@dataclass(frozen=True)
class Objective:
    """A penalised sum of losses, whatever the rows.

    Parameters
    ----------
    loss : loss of scarce.losses
    penalty : ndarray of shape (k + 1,)
        Of each coefficient in the units of its column, the intercept's last.
    free : ndarray of bool, shape (k + 1,)
        Which coefficients are fitted; the others stay as they are in the start.
    stats : ColumnSummary
    absolute : ndarray of shape (k + 1,) or (1,)
        Penalty of each absolute value, in the same units; see elastic_net.py.
    """

    loss: RowLoss
    penalty: Array
    free: NDArray[np.bool_]
    stats: ColumnSummary
    absolute: Array = field(default_factory=lambda: np.zeros(1))

    def sums(
        self, rows: Rows, coef: Array, gram: bool, engine: Engine, value: bool = False
    ) -> LinearSums:
        """Pass over the rows once, at these coefficients; without the penalty."""
        unlabelled = self.stats.unlabelled > 0
        params = (self.loss, coef[:-1].copy(), float(coef[-1]), unlabelled, gram, value)
        found: LinearSums = rows.fold(linear_sums, params, engine=engine)
        return found

    def penalty_at(self, coef: Array) -> float:
        """Return the penalty of a coefficient vector."""
        return 0.5 * float(self.penalty @ coef**2) + float((self.absolute * np.abs(coef)).sum())

    def value(self, rows: Rows, coef: Array, engine: Engine) -> float:
        """Return the penalised loss; takes a pass."""
        return self.sums(rows, coef, False, engine, value=True).value + self.penalty_at(coef)


@dataclass
class OptimizerResult:
    """Where an optimiser ended.

    Attributes
    ----------
    coef : ndarray of shape (k + 1,)
        Slopes, then the intercept, in the units of the columns.
    certificate : float
        Largest entry of the gradient per unit of weight, in standardised coordinates.
    converged : bool
    passes : int
        Passes over all rows.
    grams : int
        How many of them formed the Gram matrix.
    step : ndarray of shape (k + 1,)
        The last step, in standardised coordinates: where the coefficients were heading.
    """

    coef: Array
    certificate: float
    converged: bool
    passes: int
    grams: int
    step: Array = field(repr=False)


class StandardCoordinates:
    """Standardised coordinates: from columns as given to mean 0 and standard deviation 1.

    coef = T theta: slopes are divided by the standard deviation, and the intercept gives up the
    means. T has a diagonal and one row, and is never formed but by who asks for it.
    """

    def __init__(self, objective: Objective, start: Array) -> None:
        k = len(start) - 1
        scale, free = objective.stats.scale, objective.free
        self.objective = objective
        self.free = np.flatnonzero(free)
        self.start = start
        self.diagonal = np.append(1.0 / scale, 1.0)[self.free]
        self.centred = bool(free[k] and objective.penalty[k] == 0)
        last = np.where(free[:k], -objective.stats.mean / scale, 0.0)
        self.last = np.append(last if self.centred else np.zeros(k), 0.0)[self.free]

    @cached_property
    def T(self) -> Array:
        """The matrix itself, (k + 1, free)."""
        matrix = np.zeros((len(self.start), len(self.free)))
        matrix[self.free, np.arange(len(self.free))] = self.diagonal
        if self.centred:
            matrix[-1] += self.last
        return matrix

    def direction(self, theta: Array) -> Array:
        """Return T theta: a step in the units of the columns."""
        step = np.zeros(len(self.start))
        step[self.free] = self.diagonal * theta
        if self.centred:
            step[-1] += self.last @ theta
        return step

    def coef(self, theta: Array) -> Array:
        """Return coefficients in the units of the columns."""
        held = np.where(self.objective.free, 0.0, self.start)
        return np.asarray(held + self.direction(theta))

    def theta(self, coef: Array) -> Array:
        """Return the standardised coordinates of coefficients."""
        moved = (coef - np.where(self.objective.free, 0.0, self.start))[self.free]
        theta = moved / self.diagonal
        if self.centred:
            theta[-1] -= self.last[:-1] @ theta[:-1]
        return np.asarray(theta)

    def gradient(self, coef: Array, sums: LinearSums) -> Array:
        """Return the gradient of the penalised total in standardised coordinates."""
        given = sums.gradient + self.objective.penalty * coef
        return np.asarray(self.diagonal * given[self.free] + self.last * given[-1])

    def hessian(self, gram: Array) -> Array:
        """Return the Hessian of the penalised total in standardised coordinates."""
        return np.asarray(self.T.T @ (gram + np.diag(self.objective.penalty)) @ self.T)


class Curvature:
    """What is known of the Hessian: a factored matrix, and gradient differences since then."""

    def __init__(self, hessian: Array) -> None:
        diagonal = hessian if hessian.ndim == 1 else np.diag(hessian)
        floor = 1e-300 + 1e-60 * float(np.abs(diagonal).max(initial=0.0))
        self.scale = np.sqrt(np.maximum(diagonal, floor))
        self.factor = None
        if hessian.ndim == 2 and len(hessian):
            self.factor = _factor(hessian / np.outer(self.scale, self.scale))
        self.pairs: list[tuple[Array, Array, float]] = []

    def learn(self, step: Array, change: Array) -> None:
        """Note that the gradient changed by `change` along `step`."""
        along = float(step @ change)
        if along > 1e-12 * float(np.linalg.norm(step) * np.linalg.norm(change)):
            self.pairs = [*self.pairs[-(MEMORY - 1) :], (step, change, 1.0 / along)]

    def solve(self, gradient: Array) -> Array:
        """Return the inverse Hessian times a gradient (two-loop recursion)."""
        q = gradient.copy()
        kept = []
        for step, change, inverse in reversed(self.pairs):
            share = inverse * float(step @ q)
            q -= share * change
            kept.append(share)
        q = self._inner(q)
        for (step, change, inverse), share in zip(self.pairs, reversed(kept), strict=True):
            q += (share - inverse * float(change @ q)) * step
        return q

    def _inner(self, q: Array) -> Array:
        q = q / self.scale
        if self.factor is not None:
            q = cho_solve(self.factor, q, check_finite=False)
        return np.asarray(q / self.scale)


def _factor(hessian: Array) -> tuple[Array, bool]:
    """Factor a semi-definite matrix of unit diagonal, lifted by the least that makes it definite.

    Scaled to a unit diagonal, a column in large units or with a large penalty cannot drown others.
    """
    if not np.isfinite(hessian).all():
        raise ArithmeticError("The curvature of the loss is not a number at this point.")
    lift = 0.0
    while True:
        try:
            factor: tuple[Array, bool] = cho_factor(
                hessian + lift * np.eye(len(hessian)), lower=True, check_finite=False
            )
        except np.linalg.LinAlgError:
            lift = max(10.0 * lift, 1e-13)
            continue
        if lift > 0 or np.diag(factor[0]).min() ** 2 >= 1e-14:
            return factor
        lift = 1e-13


class _Trial(NamedTuple):
    """A point that a line search accepted."""

    theta: Array
    coef: Array
    sums: LinearSums
    gradient: Array
    with_gram: bool
    passes: int
    grams: int


def minimise(
    rows: Rows,
    objective: Objective,
    start: Array,
    *,
    tol: float,
    max_passes: int = 200,
    engine: Engine = None,
    sample: bool = True,
    watch: Callable[[Array, Array], None] | None = None,
    instead: tuple[Array, float] | None = None,
) -> OptimizerResult:
    """Minimise a convex penalised loss over rows.

    Parameters
    ----------
    rows : Rows
    objective : Objective
    start : ndarray of shape (k + 1,)
        Where to begin; entries that are not free keep their value.
    tol : float
        Largest entry of the gradient per unit of weight to stop at.
    max_passes : int
        Give up, without convergence, after so many passes over all rows.
    sample : bool
        Whether large data may be fitted on a sample of their rows first.
    watch : callable (coef, step), optional
        Called after every step; raises to stop a search that diverges.
    instead : (ndarray of shape (k + 1,), float), optional
        Another start and its penalised loss: taken where the loss at `start` is greater.

    Returns
    -------
    OptimizerResult
    """
    curvature: Curvature | None = None
    if sample and len(rows) >= SAMPLE_FROM:
        start, curvature = _fit_sample(rows, objective, start, engine)
    coordinates = StandardCoordinates(objective, start)
    wide = is_wide(coordinates, len(rows))
    price = 2.0 + len(coordinates.free) / 25.0  # of a pass with Gram matrix, in passes without
    total = objective.stats.total
    theta, coef = coordinates.theta(start), start
    cheap = len(rows) * len(coef) < CHEAP
    missing = curvature is None and not wide
    sums = objective.sums(rows, coef, missing, engine, value=instead is not None)
    passes, grams = 1, int(missing)
    if instead is not None and not sums.value + objective.penalty_at(coef) <= instead[1]:
        fresh_start = minimise(
            rows, objective, instead[0], tol=tol, max_passes=max_passes, engine=engine, watch=watch
        )
        return replace(fresh_start, passes=fresh_start.passes + 1)
    gradient = coordinates.gradient(coef, sums)
    size = _largest(gradient) / total
    if curvature is None:
        curvature = Curvature(
            _diagonal(coordinates, total) if wide else coordinates.hessian(sums.gram)
        )
    step = np.zeros_like(theta)
    fresh = cheap and not wide
    while size > tol and passes < max_passes:
        step = -curvature.solve(gradient)
        downhill = float(step @ gradient)
        if not np.isfinite(downhill) or downhill >= 0:  # rounding has the last word
            break
        near = (size > tol, size**2 > tol)  # Newton's steps square the distance: a guess
        trial = _line_search(
            rows, coordinates, theta, step, downhill, near, fresh, max_passes - passes, engine
        )
        passes, grams = passes + trial.passes, grams + trial.grams
        moved, change = trial.theta - theta, trial.gradient - gradient
        new_size = _largest(trial.gradient) / total
        fall = new_size / size
        theta, coef, gradient, size = trial.theta, trial.coef, trial.gradient, new_size
        if watch is not None:
            watch(coef, moved)
        if size <= tol:
            break
        if trial.with_gram:
            curvature = Curvature(coordinates.hessian(trial.sums.gram))
        else:
            curvature.learn(moved, change)
        # Another Gram matrix pays when the gradients alone would need many more passes than it
        # costs: their fall quickens as they learn the curvature (a factor of 3 was measured best).
        remaining = np.log(tol / size) / np.log(min(fall, 0.99))
        fresh = not wide and (cheap or (not trial.with_gram and remaining > 3.0 * price))
    return OptimizerResult(coef, size, size <= tol, passes, grams, step)


def _line_search(
    rows: Rows,
    coordinates: StandardCoordinates,
    theta: Array,
    step: Array,
    downhill: float,
    near: tuple[bool, bool],
    fresh: bool,
    most: int,
    engine: Engine,
) -> _Trial:
    """Shorten a step until the slope at its end has not turned and grown.

    `near` says whether a Gram matrix is still of use after a shortened and after a whole step.
    """
    share, passes, grams = 1.0, 0, 0
    while True:
        tried = theta + share * step
        coef = coordinates.coef(tried)
        with_gram = fresh and (near[0] if share < 1 else near[1])
        sums = coordinates.objective.sums(rows, coef, with_gram, engine)
        passes, grams = passes + 1, grams + with_gram
        gradient = coordinates.gradient(coef, sums)
        after = float(step @ gradient)
        if after <= 0.9 * -downhill or passes >= most:
            return _Trial(tried, coef, sums, gradient, with_gram, passes, grams)
        # A secant on the slopes, which stays inside the step.
        share *= float(np.clip(downhill / (downhill - after), 0.05, 0.7))


def _largest(gradient: Array) -> float:
    return float(np.abs(gradient).max(initial=0.0))


def is_wide(coordinates: StandardCoordinates, n: int) -> bool:
    """Whether a Gram matrix would cost more than a second or so."""
    k = len(coordinates.free)
    return k > GRAM_COLUMNS and n * k * k > GRAM_WORK


def _diagonal(coordinates: StandardCoordinates, total: float) -> Array:
    prevalence = coordinates.objective.stats.prevalence
    penalty = coordinates.objective.penalty
    ridge = coordinates.diagonal**2 * penalty[coordinates.free] + coordinates.last**2 * penalty[-1]
    return np.asarray(total * prevalence * (1.0 - prevalence) + ridge)


def _fit_sample(
    rows: Rows, objective: Objective, start: Array, engine: Engine
) -> tuple[Array, Curvature | None]:
    """Fit a sample of the rows; return its solution and the curvature there.

    The sample has all rows of the rarer class, where they are few, and a share of the others.
    """
    stats = objective.stats
    k = rows.n_columns
    room = min(max(SAMPLE_FROM, 200 * (k + 1), len(rows) // 8), len(rows) // 4)
    room = min(room, max(SAMPLE_CELLS // (k + 1), 200 * (k + 1)))
    every = np.maximum(1, stats.count // (room / 2)).astype(np.int64)
    if (stats.count / every).sum() > len(rows) / 3 or room < 40 * (k + 1):
        return start, None
    X, y, weight = rows.fold(
        systematic_sample, (every[0], every[1]), engine=engine, merge=append_rows
    )
    sample = ArrayRows(X, y, weight=weight, schema=rows.schema, check=False)
    some = replace(objective, stats=replace(stats, unlabelled=0))
    tol = 0.05 * float(np.sqrt(stats.prevalence * (1 - stats.prevalence) / len(y)))
    found = minimise(sample, some, start, tol=tol, max_passes=40, sample=False)
    coordinates = StandardCoordinates(objective, start)
    if is_wide(coordinates, len(rows)):
        return found.coef, None
    sums = some.sums(sample, found.coef, True, None)
    curvature = Curvature(coordinates.hessian(sums.gram))
    step = curvature.solve(coordinates.gradient(found.coef, sums))
    return found.coef - coordinates.direction(step), curvature


def systematic_sample(block: Block, every: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Kernel: every n-th row of each class, weighted to stand for all of them."""
    y, weight = labels_and_weights(block, True)
    assert weight is not None
    chosen = []
    factor = np.zeros(len(block))
    for label in (0, 1):
        own = np.flatnonzero((y == label) & (weight > 0))[:: every[label]]
        factor[own] = every[label]
        chosen.append(own)
    kept = np.sort(np.concatenate(chosen))
    return block.X[kept], y[kept], (weight * factor)[kept]


def independent_columns(gram: Array) -> NDArray[np.bool_]:
    """Return which columns are not combinations of earlier ones, from their Gram matrix."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    left = gram / np.outer(scale, scale)
    kept = np.zeros(len(gram), dtype=bool)
    for j in range(len(gram)):
        pivot = left[j, j]
        if pivot > 1e-10:
            kept[j] = True
            left = left - np.outer(left[:, j], left[j]) / pivot
    return kept
