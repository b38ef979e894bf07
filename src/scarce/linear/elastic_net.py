"""Which coefficients minimise a convex loss with a Laplace prior, and which are exactly 0?

    minimise  sum_i s_i loss(y_i, constant + x_i' slopes)
              + sum_j absolute_j |coef_j| + 1/2 sum_j penalty_j coef_j^2

The absolute values are a Laplace prior (003 section 2.2; the lasso, with squares beside them the
elastic net). Newton's method on folds: each pass gives the gradient in all columns and the Gram
matrix of the few that are at work: those with a coefficient, and those whose gradient is nearly as
large as absolute_j. The quadratic model of those is solved by coordinate descent, and once the
signs stand by a linear system. Neighbours on a path start each other, strong penalties first.

The certificate is the largest violation of the conditions of a minimum, per unit of weight, in
standardised columns, over all columns, at work or not:

    |g_j + penalty_j c_j + absolute_j sign(c_j)|     where c_j is not 0
    (|g_j| - absolute_j)+                            where it is

Assumes a convex loss that is finite for every score. Standard errors do not follow from it: an
estimate that is 0 with positive probability has no normal distribution.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.linear.newton import Objective, OptimizerResult
from scarce.linear.sums import RowLoss, labelled_rows, piece_rows, weighted_gram

FEW = 40  # columns up to which all are at work
NEAR = 0.9  # share of absolute_j from which the gradient of a 0 puts its column to work
MOST_NEW = 100  # columns without a coefficient that are put to work at once, or as many as have one
LIFT = 1e-9  # of the information at the base rate, on the Gram matrix: a flat loss stays finite
SWEEPS = 20  # of coordinate descent between linear systems, ten times as many for large ones
MANY = 300
ROUNDS = 200
CROSSINGS = 20  # signs that may change between coordinate descents

Ids = NDArray[np.intp]


class ActiveSums(NamedTuple):
    """Gradient in all columns, Gram matrix of some, and total loss."""

    gradient: Array  # (k + 1,)
    gram: Array  # (w + 1, w + 1), the intercept's last
    value: float  # nan where it was not asked for


def active_sums(block: Block, params: tuple[RowLoss, Array, float, bool, Ids, bool]) -> ActiveSums:
    """Kernel: gradient in [slopes, constant], Gram matrix of some columns, on request the loss."""
    loss, slopes, constant, unlabelled, columns, with_value = params
    k = len(slopes)
    gradient, gram = np.zeros(k + 1), np.zeros((len(columns) + 1, len(columns) + 1))
    value = 0.0 if with_value else np.nan
    everything = len(columns) == k
    for piece in block.strips(piece_rows(k)):
        X, y, weight = labelled_rows(piece, unlabelled)
        score = X @ slopes
        score += constant
        if with_value:
            each = loss.value(y, score)
            value += float(each.sum() if weight is None else each @ weight)
        slope, curvature = loss.sweep(y, score)
        if weight is not None:
            slope, curvature = slope * weight, curvature * weight
        gradient[k] += slope.sum()
        gradient[:k] += slope @ X
        gram += weighted_gram(X if everything else X[:, columns], curvature)
    return ActiveSums(gradient, gram, value)


class Coordinates:
    """Columns of standard deviation 1, and of mean 0 beside an intercept without penalty."""

    def __init__(self, objective: Objective) -> None:
        stats, free = objective.stats, objective.free
        k = len(stats.mean)
        centred = free[k] and objective.penalty[k] == 0 and objective.absolute[k] == 0
        self.scale = np.append(np.where(free[:k], stats.scale, 1.0), 1.0)
        self.mean = np.where(free[:k], stats.mean, 0.0) if centred else np.zeros(k)
        self.absolute = objective.absolute / self.scale
        self.penalty = objective.penalty / self.scale**2
        self.free = free

    def theta(self, coef: Array) -> Array:
        """Return standardised coefficients."""
        theta = coef * self.scale
        theta[-1] += coef[:-1] @ self.mean
        return np.asarray(theta)

    def coef(self, theta: Array) -> Array:
        """Return coefficients in the units of the columns."""
        coef = theta / self.scale
        coef[-1] -= coef[:-1] @ self.mean
        return np.asarray(coef)

    def gradient(self, gradient: Array) -> Array:
        """Return the standardised gradient of the loss; 0 for what is not fitted."""
        moved = gradient.copy()
        moved[:-1] -= gradient[-1] * self.mean
        return np.asarray(np.where(self.free, moved / self.scale, 0.0))

    def gram(self, gram: Array, columns: Ids) -> Array:
        """Standardise the Gram matrix of some columns and the intercept, in place."""
        mean, scale = np.append(self.mean[columns], 0.0), np.append(self.scale[columns], 1.0)
        half = np.outer(mean, gram[-1] - 0.5 * gram[-1, -1] * mean)
        gram -= half
        gram -= half.T
        gram /= scale[:, None]
        gram /= scale
        return gram

    def violation(self, theta: Array, gradient: Array) -> Array:
        """Return how far each coefficient is from the conditions of a minimum."""
        smooth = gradient + self.penalty * theta
        at_zero = np.maximum(np.abs(gradient) - self.absolute, 0.0)
        away = np.abs(smooth + self.absolute * np.sign(theta))
        return np.asarray(np.where(self.free, np.where(theta == 0.0, at_zero, away), 0.0))

    def slope(self, theta: Array, gradient: Array, step: Array, ahead: bool) -> float:
        """Return the derivative of the objective along a step: ahead of a point, or behind it."""
        smooth = float((gradient + self.penalty * theta) @ step)
        at_zero = np.abs(step) if ahead else -np.abs(step)
        return smooth + float(
            self.absolute @ np.where(theta == 0.0, at_zero, np.sign(theta) * step)
        )


@dataclass
class Warm:
    """Where a neighbour on the path ended: its coefficients, gradient, penalty and objective."""

    coef: Array
    gradient: Array
    absolute: Array
    value: float


def minimise_elastic_net(
    rows: Rows,
    objective: Objective,
    start: Array | Warm,
    *,
    tol: float,
    max_passes: int = 200,
    engine: Engine = None,
) -> tuple[OptimizerResult, Warm]:
    """Minimise a convex loss with absolute and squared penalties over rows.

    Parameters
    ----------
    rows : Rows
    objective : Objective
        With `absolute` above 0 for every slope that is fitted.
    start : ndarray of shape (k + 1,), or Warm
        Where to begin; entries that are not free keep their value.
    tol : float
        Largest violation per unit of weight to stop at.
    max_passes : int
        Give up, without convergence, after so many passes over all rows.

    Returns
    -------
    OptimizerResult, Warm
        The second starts a neighbour.
    """
    standard = Coordinates(objective)
    total, prevalence = objective.stats.total, objective.stats.prevalence
    lift = LIFT * total * prevalence * (1.0 - prevalence)
    theta = standard.theta(start.coef if isinstance(start, Warm) else start)
    columns = _first_columns(standard, theta, start)

    def at(theta: Array, columns: Ids) -> tuple[float, Array, Array]:
        coef = standard.coef(theta)
        unlabelled = objective.stats.unlabelled > 0
        params = (objective.loss, coef[:-1].copy(), float(coef[-1]), unlabelled, columns, True)
        found: ActiveSums = rows.fold(active_sums, params, engine=engine)
        value = found.value + objective.penalty_at(coef)
        return value, standard.gradient(found.gradient), standard.gram(found.gram, columns)

    value, gradient, gram = at(theta, columns)
    passes, step = 1, np.zeros_like(theta)
    size = _largest(standard.violation(theta, gradient)) / total
    while size > tol and passes < max_passes:
        aim = _model_minimum(standard, theta, gradient, gram, columns, lift, 0.01 * size * total)
        step = aim - theta
        downhill = standard.slope(theta, gradient, step, ahead=True)
        if not np.isfinite(downhill):
            break
        if downhill >= 0:  # nothing to gain among the columns at work: others, or rounding
            wider = _columns_at_work(standard, theta, gradient)
            if np.isin(wider, columns).all():
                break
            columns = wider
            value, gradient, gram = at(theta, columns)
            passes += 1
            continue
        at_work = _columns_at_work(standard, aim, gradient)
        share = 1.0
        while True:
            tried = aim if share == 1.0 else theta + share * step
            new_value, new, new_gram = at(tried, at_work)
            passes += 1
            after = standard.slope(tried, new, step, ahead=False)
            # Near the bottom the value has no digits left to fall by: the slope decides there.
            level = abs(new_value - value) <= 1e-12 * abs(value) and after <= 0.5 * -downhill
            if new_value <= value + 1e-4 * share * downhill or level or passes >= max_passes:
                break
            share *= float(np.clip(downhill / (downhill - after), 0.2, 0.5))
        theta, value, gradient, gram, columns = tried, new_value, new, new_gram, at_work
        size = _largest(standard.violation(theta, gradient)) / total
    coef = standard.coef(theta)
    found = OptimizerResult(coef, size, size <= tol, passes, passes, step)
    return found, Warm(coef, gradient, standard.absolute, value)


def _largest(violation: Array) -> float:
    return float(violation.max(initial=0.0))


def _first_columns(standard: Coordinates, theta: Array, start: Array | Warm) -> Ids:
    """Return the columns to begin with: by the strong rule where a neighbour's gradient is known.

    A gradient changes by at most about as much as the penalty: |g_j| >= 2 new - old may get a
    coefficient (Tibshirani et al. 2012). The gradient of all columns catches what it misses.
    """
    if not isinstance(start, Warm):
        return _columns_at_work(standard, theta, None)
    needed = np.maximum(2.0 * standard.absolute - start.absolute, 0.0)
    return _columns_at_work(standard, theta, start.gradient, needed)


def _columns_at_work(
    standard: Coordinates, theta: Array, gradient: Array | None, needed: Array | None = None
) -> Ids:
    """Return the columns with a coefficient, and those likely to get one, the likeliest first."""
    free = standard.free[:-1]
    if np.count_nonzero(free) <= FEW:
        return np.flatnonzero(free)
    own = (theta[:-1] != 0.0) & free
    if gradient is None:
        return np.flatnonzero(own)
    if needed is None:
        needed = NEAR * standard.absolute
    excess = np.where(own | ~free, -np.inf, np.abs(gradient[:-1]) - needed[:-1])
    most = max(MOST_NEW, int(np.count_nonzero(own)))
    likely = np.argsort(-excess, kind="stable")[:most]
    own[likely[excess[likely] > 0.0]] = True
    return np.flatnonzero(own)


def _model_minimum(
    standard: Coordinates,
    theta: Array,
    gradient: Array,
    gram: Array,
    columns: Ids,
    lift: float,
    enough: float,
) -> Array:
    """Return the minimum of the quadratic model in the columns at work and the intercept."""
    place = np.append(columns, len(theta) - 1) if standard.free[-1] else columns
    hessian = np.ascontiguousarray(gram[: len(place), : len(place)])
    absolute, penalty = standard.absolute[place], standard.penalty[place]
    hessian[np.diag_indices(len(place))] += penalty + lift
    own, slope = theta[place], gradient[place] + penalty * theta[place]
    sweeps = SWEEPS if len(place) < MANY else 10 * SWEEPS
    for _ in range(ROUNDS):
        biggest = coordinate_descent(hessian, slope, own, absolute, sweeps, 1e-3 * enough)
        if biggest <= 1e-3 * enough or _solve_signs(hessian, slope, own, absolute):
            break
    out = theta.copy()
    out[place] = own
    return out


@njit(cache=True, nogil=True)
def coordinate_descent(
    hessian: Array, slope: Array, theta: Array, absolute: Array, sweeps: int, enough: float
) -> float:  # pragma: no cover
    """Walk over the coordinates of a quadratic with absolute values; change theta and slope.

    `slope` is the derivative of the quadratic at theta. Returns the largest change of the last
    sweep, in units of the slope.
    """
    biggest = 0.0
    for _ in range(sweeps):
        biggest = 0.0
        for j in range(len(theta)):
            curvature = hessian[j, j]
            aim = curvature * theta[j] - slope[j]
            if aim > absolute[j]:
                new = (aim - absolute[j]) / curvature
            elif aim < -absolute[j]:
                new = (aim + absolute[j]) / curvature
            else:
                new = 0.0
            change = new - theta[j]
            if change != 0.0:
                theta[j] = new
                slope += hessian[j] * change
                biggest = max(biggest, abs(change) * curvature)
        if biggest <= enough:
            break
    return biggest


def _solve_signs(hessian: Array, slope: Array, theta: Array, absolute: Array) -> bool:
    """Solve for the signs that coordinate descent found; say whether that is the minimum.

    Where a sign would change on the way, the walk ends there: that coefficient is 0, and the others
    are solved for anew. Every step goes down, and theta and slope move with it.
    """
    for _ in range(CROSSINGS):
        active = np.flatnonzero((theta != 0.0) | (absolute == 0.0))
        sign = np.sign(theta[active]) * (absolute[active] > 0.0)
        aim = _solution(hessian, slope, theta, active, absolute[active] * sign)
        if aim is None:
            return False
        crossing = np.sign(aim) * sign < (sign != 0.0)
        if crossing.any():
            step = aim - theta[active]
            share = np.full(len(active), np.inf)
            share[crossing] = -theta[active][crossing] / step[crossing]
            aim = np.where(share > share.min(), theta[active] + share.min() * step, 0.0)
        slope += hessian[:, active] @ (aim - theta[active])
        theta[active] = aim
        if not crossing.any():
            idle = np.ones(len(theta), dtype=bool)
            idle[active] = False
            return not (np.abs(slope[idle]) > absolute[idle]).any()
    return False


def _solution(
    hessian: Array, slope: Array, theta: Array, active: Ids, shrunk: Array
) -> Array | None:
    """Return where the slope of the active coefficients is -shrunk; None where that is nowhere."""
    inner = hessian[np.ix_(active, active)]
    scale = np.sqrt(np.diag(inner))
    unit = inner / np.outer(scale, scale) + 1e-13 * np.eye(len(active))
    try:
        factor = cho_factor(unit, lower=True, overwrite_a=True, check_finite=False)
    except np.linalg.LinAlgError:
        return None
    residual = (slope[active] + shrunk) / scale
    found = theta[active] - cho_solve(factor, residual, check_finite=False) / scale
    return np.asarray(found) if np.isfinite(found).all() else None


# --- path -----------------------------------------------------------------------------------------


def solve_path(
    rows: Rows,
    objectives: Sequence[Objective],
    start: Array,
    *,
    tol: Callable[[Objective], float],
    max_passes: int = 60,
    engine: Engine = None,
) -> Array:
    """Return the coefficients at each penalty, (penalties, k + 1): give the strongest first."""
    out = np.empty((len(objectives), len(start)))
    warm: Array | Warm = start
    for place, objective in enumerate(objectives):
        found, warm = minimise_elastic_net(
            rows, objective, warm, tol=tol(objective), max_passes=max_passes, engine=engine
        )
        out[place] = found.coef
    return out


def one_step(
    rows: Rows, objective: Objective, coef: Array, gradient: Array, engine: Engine = None
) -> Array:
    """Take one Newton step with a gradient of other rows and the curvature of these.

    `gradient` is that of the loss at `coef`, in the units of the columns, such as of all rows where
    `rows` are a sample.
    """
    standard = Coordinates(objective)
    theta, moved = standard.theta(coef), standard.gradient(gradient)
    columns = _columns_at_work(standard, theta, moved, standard.absolute)
    params: tuple[Any, ...] = (objective.loss, coef[:-1].copy(), float(coef[-1]), False, columns)
    found: ActiveSums = rows.fold(active_sums, (*params, False), engine=engine)
    gram = standard.gram(found.gram, columns)
    stats = objective.stats
    lift = LIFT * stats.total * stats.prevalence * (1.0 - stats.prevalence)
    enough = 1e-8 * stats.total
    return standard.coef(_model_minimum(standard, theta, moved, gram, columns, lift, enough))
