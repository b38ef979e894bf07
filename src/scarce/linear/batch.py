"""Many logistic climbs over the same rows, at the price of few passes.

    objective = sum_i w_i log p(y_i | x_i) - 1/2 sum_j prior_j coef_j^2 [+ 1/2 log det I(coef)]
    I(coef) = sum_i w_i p_i (1 - p_i) x_i x_i'                (the bracket: Firth 1993, section 3)

A *lane* is a coefficient vector that climbs inside an affine set of its own: a whole fit, a fit
with coefficients held, one end of a profile interval. All lanes share each pass. Assumes complete
values, standardised columns of full rank and a logit link. Does not standardise: see firth.py.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit

from scarce.engine.block import PIECE_ROWS, Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows

CELLS = 262_144  # lanes x coefficients x rows of a piece: what stays in cache
FLAT = 1e-5  # a certificate this small leaves 1e-10 of likelihood to gain:
DIVERGING = 1e-2  # a Newton step still this long then goes to a maximum at infinity
EVERY = slice(None)


class Problem(NamedTuple):
    """What is climbed: rows, how their columns are standardised, and the penalty."""

    rows: Rows
    engine: Engine
    columns: Any  # positions of the columns in the rows, or a slice
    centre: Array  # (K - 1,)
    spread: Array  # (K - 1,)
    offset: int | None  # position of a column that is added to the score as it is
    firth: bool
    prior: Array  # (K,) precision of each coefficient

    def fold(self, kernel: Any, *arrays: Array) -> Any:
        """Fold a kernel over the rows with these columns."""
        scaling = (self.columns, self.centre, self.spread, self.offset)
        return self.rows.fold(kernel, (scaling, arrays), engine=self.engine)


class Lanes(NamedTuple):
    """Where each lane of a climb stands."""

    coef: Array  # (m, K)
    objective: Array  # (m,)
    score: Array  # (m, K) gradient of the objective
    curvature: Array  # (m, K, K) information plus prior precision
    bend: Array  # (m, K, K) secant estimate of what Firth's penalty adds to the curvature
    certificate: Array  # (m,) sqrt(g' H^-1 g) over the free directions
    stride: Array  # (m,) longest coordinate of the last Newton step
    passes: int


# --- kernels --------------------------------------------------------------------------------------


def _design(piece: Block, scaling: tuple[Any, ...]) -> tuple[Array, Array, Any, Any]:
    """Standardised columns under a row of ones (K, n), labels, weights and offset."""
    columns, centre, spread, offset = scaling
    X, y, weight = piece.X, np.asarray(piece.y), piece.weight
    rows = ~np.isnan(y)
    if weight is not None:
        rows &= weight > 0
    if not rows.all():
        X, y, weight = X[rows], y[rows], None if weight is None else weight[rows]
    design = np.empty((len(centre) + 1, len(y)))
    design[0] = 1.0
    np.subtract(X.T[columns], centre[:, None], out=design[1:])
    design[1:] /= spread[:, None]
    return design, y, 1.0 if weight is None else weight, 0.0 if offset is None else X[:, offset]


def likelihood(block: Block, params: tuple[Any, tuple[Array]]) -> tuple[Array, Array, Array]:
    """Kernel: log-likelihood (m,), its score (m, K) and information (m, K, K) of each lane."""
    scaling, (coef,) = params
    lanes, size = coef.shape
    total = (np.zeros(lanes), np.zeros((lanes, size)), np.zeros((lanes, size, size)))
    for piece in block.pieces(_piece_rows(coef)):
        design, y, weight, offset = _design(piece, scaling)
        score = coef @ design + offset
        prob, rest = expit(score), expit(-score)
        value = np.logaddexp(0.0, np.where(y > 0, -score, score))
        slope = np.where(y > 0, rest, -prob)
        prob *= rest
        prob *= weight
        spread_out = (prob[:, None, :] * design).reshape(lanes * size, -1)
        total[0][:] -= (weight * value).sum(axis=1)
        total[1][:] += (weight * slope) @ design.T
        total[2][:] += (spread_out @ design.T).reshape(lanes, size, size)
    return total


def firth_pull(block: Block, params: tuple[Any, tuple[Array, Array]]) -> Array:
    """Kernel: gradient of 1/2 log det I, sum_i h_i (1/2 - p_i) x_i, with leverages h (m, K)."""
    scaling, (coef, root) = params
    lanes, size = coef.shape
    total = np.zeros((lanes, size))
    for piece in block.pieces(_piece_rows(coef)):
        design, _, weight, offset = _design(piece, scaling)
        score = coef @ design + offset
        prob, rest = expit(score), expit(-score)
        spread_out = (root.reshape(lanes * size, size) @ design).reshape(lanes, size, -1)
        leverage = np.einsum("mkn,mkn->mn", spread_out, spread_out) * (weight * prob * rest)
        total += (leverage * (0.5 * (rest - prob))) @ design.T
    return total


def _piece_rows(coef: Array) -> int:
    return max(64, min(PIECE_ROWS, CELLS // coef.size))


# --- the climb ------------------------------------------------------------------------------------


def _stand(problem: Problem, coef: Array) -> tuple[Array, Array, Array, Array]:
    """Objective, gradient without Firth's pull, curvature, inverse root of the information."""
    value, score, information = problem.fold(likelihood, coef)
    root = np.empty((0, 0, 0))
    if problem.firth:
        root, half_log_det = _inverse_roots(information)
        value = value + half_log_det
    else:
        value = value - 0.5 * (coef**2 @ problem.prior)
        score = score - coef * problem.prior
        information = information + np.diag(problem.prior)
    return value, score, information, root


def _inverse_roots(information: Array) -> tuple[Array, Array]:
    """Inverse Cholesky factors, and half the log determinants: -inf where there is no factor."""
    try:
        factor = np.linalg.cholesky(information)
    except np.linalg.LinAlgError:
        if len(information) == 1:
            return np.zeros_like(information), np.array([-np.inf])
        parts = [_inverse_roots(lane[None]) for lane in information]
        return np.concatenate([p[0] for p in parts]), np.concatenate([p[1] for p in parts])
    diagonal = np.diagonal(factor, axis1=1, axis2=2)
    return np.linalg.inv(factor), np.log(diagonal).sum(axis=1)


def newton_step(curvature: Array, score: Array) -> Array:
    """Solve each lane's Newton equations, with a breath of ridge where they are singular."""
    try:
        return np.asarray(np.linalg.solve(curvature, score[..., None])[..., 0])
    except np.linalg.LinAlgError:
        size = curvature.shape[-1]
        ridge = 1e-12 * np.trace(curvature, axis1=-2, axis2=-1)[..., None, None] + 1e-200
        eased = curvature + ridge * np.eye(size)
        return np.asarray(np.linalg.solve(eased, score[..., None])[..., 0])


def climb(
    problem: Problem,
    coef: Array,
    free: Array,
    *,
    tol: float,
    bend: Array | None = None,
    rounds: int = 200,
) -> Lanes:
    """Maximise the objective in every lane, each over coef + span(free), with step halving.

    The information is the exact curvature of the log-likelihood; what Firth's penalty adds to it is
    learned from the change of its gradient (symmetric rank one), which makes the climb
    superlinear without third derivatives. A lane ends when its certificate is at most `tol`, or,
    without Firth's penalty, on its way to infinity, when next to nothing is left to gain.

    Parameters
    ----------
    coef : ndarray of shape (m, K)
        Where each lane starts, in standardised columns.
    free : ndarray of shape (m, K, F)
        Orthonormal directions in which each lane may move.
    """
    lanes, size = coef.shape
    coef = coef.copy()
    bend = np.zeros((lanes, size, size)) if bend is None else bend.copy()
    value, score, curvature, root = _stand(problem, coef)
    passes = 1
    pull = np.zeros_like(coef)
    if problem.firth:
        pull = problem.fold(firth_pull, coef, root)
        passes = 2
    step, length, slope = np.zeros_like(coef), np.ones(lanes), np.zeros(lanes)
    certificate, stride = np.full(lanes, np.inf), np.zeros(lanes)
    active = np.isfinite(value)
    fresh = _pick(active)
    for _ in range(rounds):
        if fresh is not None:
            gradient = score[fresh] + pull[fresh]
            found = _direction(problem.firth, gradient, curvature[fresh], bend[fresh], free[fresh])
            step[fresh], slope[fresh], certificate[fresh] = found
            stride[fresh] = np.abs(found[0]).max(axis=1)
            length[fresh] = 1.0
            endless = (not problem.firth) & (found[2] <= FLAT) & (stride[fresh] > DIVERGING)
            active[fresh] = ~((found[2] <= tol) | endless)
        moving = _pick(active)
        if moving is None:
            break
        trial = coef[moving] + length[moving, None] * step[moving]
        new_value, new_score, new_curvature, new_root = _stand(problem, trial)
        passes += 1
        rounding = 1e-13 * (1.0 + np.abs(value[moving]))
        better = new_value >= value[moving] + 1e-4 * length[moving] * slope[moving] - rounding
        if better.all():
            fresh, good = moving, EVERY
        else:
            numbers = np.arange(lanes)[moving]
            length[numbers[~better]] *= 0.5
            active[numbers[~better]] = length[numbers[~better]] > 1e-9
            fresh, good = (numbers[better], better) if better.any() else (None, EVERY)
            if fresh is None:
                continue
        if problem.firth:
            new_pull = problem.fold(firth_pull, trial[good], new_root[good])
            passes += 1
            moved = trial[good] - coef[fresh]
            bend[fresh] = _rank_one(bend[fresh], moved, pull[fresh] - new_pull)
            pull[fresh] = new_pull
        coef[fresh], value[fresh] = trial[good], new_value[good]
        score[fresh], curvature[fresh] = new_score[good], new_curvature[good]
    return Lanes(coef, value, score + pull, curvature, bend, certificate, stride, passes)


def _pick(active: NDArray[np.bool_]) -> Any:
    """Return an index of the active lanes: a slice where all are, None where none is."""
    if active.all():
        return EVERY
    return np.flatnonzero(active) if active.any() else None


def _direction(
    firth: bool, score: Array, curvature: Array, bend: Array, free: Array
) -> tuple[Array, Array, Array]:
    """Newton step, its slope, and the certificate, over the free directions."""
    across = free.transpose(0, 2, 1)
    gradient = np.matmul(across, score[..., None])[..., 0]
    plain = across @ curvature @ free
    if firth:
        both = np.stack([plain, plain + across @ bend @ free])
        step, bold = newton_step(both, np.stack([gradient, gradient]))
    else:
        step = newton_step(plain, gradient)
    slope = (step * gradient).sum(axis=1)
    # A curvature that rounding has made indefinite proves nothing.
    certificate = np.sqrt(np.where(slope >= 0, slope, np.inf))
    if firth:
        bold_slope = (bold * gradient).sum(axis=1)
        # The secant part may spoil the direction far from the maximum: then do without it.
        sound = (bold_slope > 0.1 * slope) & (bold_slope < 10.0 * slope)
        step = np.where(sound[:, None], bold, step)
        slope = np.where(sound, bold_slope, slope)
    return np.matmul(free, step[..., None])[..., 0], slope, certificate


def _rank_one(bend: Array, moved: Array, change: Array) -> Array:
    """Symmetric rank-one update: the nearest matrix that turns `moved` into `change`."""
    miss = change - np.matmul(bend, moved[..., None])[..., 0]
    along = (miss * moved).sum(axis=1)
    size = np.sqrt((miss**2).sum(axis=1) * (moved**2).sum(axis=1))
    useful = np.abs(along) > 1e-6 * size
    scale = np.divide(1.0, along, out=np.zeros_like(along), where=useful)
    return np.asarray(bend + scale[:, None, None] * miss[:, :, None] * miss[:, None, :])
