"""Which coefficients and which shape of a GEV link make the labels most probable, together?

    -log(-log prob) = level + log(1 + shape * q) / shape,   q = (x - mean)' slopes

is the GEV link of 001 section 2 with score = (exp(shape * level) (1 + shape * q) - 1) / shape. In
these coordinates the shape is nearly orthogonal to the rest: the level is that of a mean row, the
slopes are those next to it, whatever the shape. Newton's method on folds, with all derivatives in
closed form, from several shapes: the likelihood is not concave. The covariance is the inverse of
the observed information of slopes, level and shape: the shape's uncertainty is in it.

Assumes a free intercept, no offset and complete rows. What few events do to the shape: shape.py.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import issparse

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Problem
from scarce.linear.losses import loss_of
from scarce.linear.newton import Curvature, OptimizerResult
from scarce.linear.regress import (
    FittedRegression,
    Formulation,
    GridCoordinates,
    not_converged,
    regress,
)
from scarce.linear.stable import log1mexp
from scarce.linear.sums import ColumnSummary, labelled_rows, piece_rows

LOWEST, HIGHEST = -1.0, 1.5
STARTS = (-0.5, 0.0, 0.5, 1.0)
ROUGH = 1e-4  # gradient per unit of weight at which a start lets its shape go
WEAK = 0.75  # standard error from which a 90 % interval is as wide as all shapes there are
SERIES = [np.array([(-1.0) ** j / (j + 1.0) for j in range(11)])]  # of log(1 + z) / z
SERIES += [np.polynomial.polynomial.polyder(SERIES[0], order) for order in (1, 2)]
FAR = 700.0  # of log u: beyond, probabilities are 0 or 1


class Curve(NamedTuple):
    """The bent predictor log(1 + shape q) / shape, and its derivatives in q and the shape."""

    inside: NDArray[np.bool_]
    value: Array
    q: Array
    shape: Array
    qq: Array
    q_shape: Array
    shape_shape: Array


def curve(q: Array, shape: float) -> Curve:
    """Return the bent predictor; 0 with all derivatives outside the support.

    Examples
    --------
    >>> curve(np.array([1.0, 1.0]), 0.0).shape.tolist(), curve(np.array([1.0]), 1.0).value.round(3)
    ([-0.5, -0.5], array([0.693]))
    """
    inside = shape * q > -1.0
    q = np.where(inside, q, 0.0)
    z = shape * q
    room = 1.0 + z
    small = np.abs(z) < 1e-2  # series: the differences below lose digits with z squared and cubed
    safe = np.where(small, 1.0, z)
    over = np.log1p(z) / safe
    first = (1.0 / room - over) / safe
    second = -(1.0 / room**2 + 2.0 * first) / safe
    near = z[small]
    for order, part in enumerate((over, first, second)):
        part[small] = _series(near, order)
    value = q * over
    keep = inside * 1.0
    return Curve(
        inside,
        value,
        keep / room,
        q**2 * first,
        -keep * shape / room**2,
        -q / room**2,
        q**3 * second,
    )


def _series(z: Array, order: int) -> Array:
    """Return a derivative of log(1 + z) / z for z below .01, right to the last digits."""
    return np.asarray(np.polynomial.polynomial.polyval(z, SERIES[order]))


class JointSums(NamedTuple):
    """Loss and its derivatives in [slopes, level, shape]; `gauss` is the definite part."""

    value: float
    gradient: Array
    hessian: Array
    gauss: Array


def joint_sums(block: Block, params: tuple[GridCoordinates, Array, bool]) -> JointSums:
    """Kernel: log loss of the labelled rows at theta = [slopes, level, shape]."""
    coordinates, theta, unlabelled = params
    size, shape = len(theta), float(theta[-1])
    value, gradient = 0.0, np.zeros(size)
    hessian, gauss = np.zeros((2, size, size))
    for piece in block.strips(piece_rows(size)):
        X, y, weight = labelled_rows(piece, unlabelled)
        design, _ = coordinates.design(_dense(X))
        bent = curve(design[:, :-1] @ theta[:-2], shape)
        positive = y == 1.0
        if not (bent.inside | (positive == (shape < 0.0))).all():  # an impossible label
            return JointSums(np.inf, gradient, hessian, gauss)
        count = np.ones(len(y)) if weight is None else weight
        loss, slope, rise = _by_log_tail(np.clip(-theta[-2] - bent.value, -FAR, FAR), positive)
        slope, rise = (part * count * bent.inside for part in (slope, rise))
        value += float(loss[bent.inside] @ count[bent.inside])
        Z = design[:, :-1]
        steps = np.column_stack([Z * bent.q[:, None], design[:, -1], bent.shape])  # of -log u
        gradient -= slope @ steps
        gauss += (steps * rise[:, None]).T @ steps
        hessian[:-2, :-2] -= (Z * (slope * bent.qq)[:, None]).T @ Z
        cross = (slope * bent.q_shape) @ Z
        hessian[:-2, -1] -= cross
        hessian[-1, :-2] -= cross
        hessian[-1, -1] -= slope @ bent.shape_shape
    return JointSums(value, gradient, hessian + gauss, gauss)


def _dense(X: Any) -> Array:
    """Return a piece of rows as an array."""
    return np.asarray(X.toarray() if issparse(X) else X)


def _by_log_tail(log_tail: Array, positive: NDArray[np.bool_]) -> tuple[Array, Array, Array]:
    """Return the log loss with prob = exp(-u), and two derivatives in log u, both convex."""
    with np.errstate(over="ignore"):
        tail = np.exp(log_tail)
        capped = np.clip(tail, 1e-300, FAR)
        ratio = capped / np.expm1(capped)
        bend = np.where(
            capped < 1e-3, capped * (0.5 + capped / 12.0), np.maximum(capped + ratio - 1.0, 0.0)
        )
        loss = np.where(positive, tail, -log1mexp(capped, np.log(capped)))
    return loss, np.where(positive, tail, -ratio), np.where(positive, tail, ratio * bend)


@dataclass(frozen=True)
class JointProblem:
    """The penalised log loss of rows in [slopes, level, shape] of standardised columns."""

    rows: Rows
    stats: ColumnSummary
    coordinates: GridCoordinates
    penalty: Array
    engine: Engine = None

    def sums(self, theta: Array) -> JointSums:
        """Pass over the rows once; the penalty, of slopes times exp(shape level), is in it."""
        params = (self.coordinates, theta, self.stats.unlabelled > 0)
        value, gradient, hessian, gauss = self.rows.fold(joint_sums, params, engine=self.engine)
        if not np.isfinite(value) or not self.penalty.any():
            return JointSums(value, gradient, hessian, gauss)
        level, shape = theta[-2:]
        if 2.0 * shape * level > FAR:  # a step that went much too far
            return JointSums(np.inf, gradient, hessian, gauss)
        stretch = np.exp(2.0 * shape * level)
        pull = self.penalty * theta[:-2] * stretch
        whole = 0.5 * float(pull @ theta[:-2])
        outer = np.array([shape, level])  # d (shape level) / d [level, shape]
        more = np.zeros_like(hessian)
        more[:-2, :-2] = np.diag(self.penalty * stretch)
        more[:-2, -2:] = 2.0 * np.outer(pull, outer)
        more[-2:, :-2] = more[:-2, -2:].T
        more[-2:, -2:] = 4.0 * whole * np.outer(outer, outer) + 2.0 * whole * (1 - np.eye(2))
        gradient = gradient + np.append(pull, 2.0 * whole * outer)
        definite = gauss + np.diag(np.append(self.penalty * stretch, [0.0, 0.0]))
        return JointSums(value + whole, gradient, hessian + more, definite)

    def start(self, shape: float, near: Array | None = None) -> Array:
        """Return finite coordinates of this shape: those given, their slopes shrunk if need be."""
        theta = np.zeros(len(self.penalty) + 2)
        theta[-2] = -np.log(-np.log(self.stats.prevalence))
        if near is not None:
            theta = near.copy()
        theta[-1] = shape
        while not np.isfinite(self.sums(theta).value):
            theta[:-2] *= 0.5
            if np.abs(theta[:-2]).max(initial=0.0) < 1e-9:
                theta[:-2] = 0.0
        return theta

    def minimise(
        self, theta: Array, *, free: bool, tol: float, most: int = 200, enough: float = 0.0
    ) -> tuple[Array, JointSums, float, int]:
        """Go downhill; return where that ended, the sums there, the certificate and the passes.

        Stops at a gradient of `tol` per unit of weight, or where half a squared Newton step says
        that no more than `enough` is left to gain. A shape at an end of its range stays there.
        """
        here = self.sums(theta)
        passes, total = 1, self.stats.total
        while True:
            used = np.arange(len(theta) if free else len(theta) - 1)
            if free and (
                (theta[-1] <= LOWEST and here.gradient[-1] > 0)
                or (theta[-1] >= HIGHEST and here.gradient[-1] < 0)
            ):
                used = used[:-1]
            gradient = here.gradient[used]
            size = float(np.abs(gradient).max(initial=0.0)) / total
            if not np.isfinite(here.value) or size <= tol or passes >= most:
                break
            step = _newton_step(here, used)
            gain = -float(step @ gradient)
            if not gain > 2.0 * enough:
                break
            share, found = 1.0, here
            while share > 1e-10 and passes < most:
                tried = theta.copy()
                tried[used] += share * step
                tried[-1] = np.clip(tried[-1], LOWEST, HIGHEST)
                there = self.sums(tried)
                passes += 1
                # Near the bottom the value has no digits left to fall by.
                room = 1e-13 * abs(here.value) if gain < 1e-9 * abs(here.value) else 0.0
                if there.value <= here.value - 1e-4 * share * gain + room:
                    found, theta = there, tried
                    break
                share *= 0.5
            if found is here:
                break
            here = found
        return theta, here, size, passes


def _newton_step(sums: JointSums, used: NDArray[np.intp]) -> Array:
    """Return Newton's step, with the definite part of the Hessian where the whole is none."""
    matrix = sums.hessian[np.ix_(used, used)]
    if not is_definite(matrix):
        matrix = sums.gauss[np.ix_(used, used)]
    return -Curvature(matrix).solve(sums.gradient[used])


def is_definite(matrix: Array) -> bool:
    """Say whether a symmetric matrix is positive definite."""
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        return False
    return True


def pose(
    rows: Rows, stats: ColumnSummary, ridge: float, problem: Formulation, engine: Engine = None
) -> tuple[JointProblem, FittedRegression, Array]:
    """Return the problem, the convex fit at shape 0 and its coordinates, which are a start.

    That fit names columns that the rows do not determine, and refuses classes that are separated.
    """
    found = regress(rows, stats, loss_of("gev-log", 0.0), ridge, problem, engine=engine)
    coordinates = GridCoordinates(stats, problem)
    coordinates.free = found.free
    penalty = coordinates.penalty(ridge)[:-1]
    theta = np.zeros(len(penalty) + 2)
    theta[:-2] = (found.coef[:-1] * stats.scale)[found.free[:-1]]
    theta[-2] = found.coef[-1] + found.coef[:-1] @ stats.mean
    return JointProblem(rows, stats, coordinates, penalty, engine), found, theta


@dataclass(frozen=True)
class JointFit:
    """Shape and coefficients that were fitted together.

    Attributes
    ----------
    found : FittedRegression
        Slopes and intercept, as a fit with the shape given has them.
    shape : float
    covariance : ndarray of shape (k + 2, k + 2) or None
        Of [slopes, intercept, shape]; None with a ridge, or where the shape is at an end.
    """

    found: FittedRegression
    shape: float
    covariance: Array | None

    @property
    def shape_error(self) -> float:
        """Standard error of the shape; nan where there is none."""
        return np.nan if self.covariance is None else float(np.sqrt(self.covariance[-1, -1]))


def fit_joint(
    rows: Rows, stats: ColumnSummary, ridge: float, problem: Formulation, engine: Engine = None
) -> JointFit:
    """Fit coefficients and shape of the GEV link by (penalised) maximum likelihood."""
    joint, convex, near = pose(rows, stats, ridge, problem, engine)
    theta, sums, size, passes = _lowest(joint, near, problem)
    passes += convex.solution.passes
    shape = float(theta[-1])
    converged = bool(size <= problem.tol)
    coef = to_coefficients(joint.coordinates, theta)
    solution = OptimizerResult(coef, size, converged, passes, passes, np.zeros(0))
    proves = "gradient norm with the shape"
    remarks = tuple(one for one in convex.remarks if one.code != "not-converged")
    at_end = shape in (LOWEST, HIGHEST)
    covariance = None
    if ridge == 0 and not at_end:
        covariance = _covariance(joint.coordinates, theta, sums.hessian)
    fit = JointFit(
        FittedRegression(coef, solution, sums.value, proves, remarks, convex.free),
        shape,
        covariance,
    )
    if not converged:
        remarks += (not_converged(solution, proves, loss_of("gev-log", shape), problem.tol),)
    if at_end or (ridge == 0 and not fit.shape_error <= WEAK):
        remarks += (_weak_shape(fit, at_end),)
    return replace(fit, found=replace(fit.found, remarks=remarks))


def _lowest(
    joint: JointProblem, near: Array, problem: Formulation
) -> tuple[Array, JointSums, float, int]:
    """Go downhill from several shapes; return the lowest end, with the passes of all."""
    ends, spent = [], 0
    for shape in STARTS:
        theta, *_, rough = joint.minimise(joint.start(shape, near), free=False, tol=ROUGH)
        theta, sums, size, fine = joint.minimise(theta, free=True, tol=1e-6)
        ends.append((sums.value, theta))
        spent += rough + fine
    theta = min(ends, key=lambda end: end[0])[1]
    theta, sums, size, fine = joint.minimise(
        theta, free=True, tol=problem.tol, most=problem.max_passes
    )
    return theta, sums, size, spent + fine


def _weak_shape(fit: JointFit, at_end: bool) -> Problem:
    known = f"its standard error is {fit.shape_error:.2g}"
    if fit.covariance is None:
        known = "it is at an end of its range" if at_end else "others fit as well"
    return Problem(
        "The rows hardly tell the shape: {shape:.2f} fits best, and {known}.",
        code="weak-shape",
        shape=fit.shape,
        known=known,
        remedy="Look at shape_interval, or take a logistic loss: more events would tell.",
    )


def to_coefficients(coordinates: GridCoordinates, theta: Array) -> Array:
    """Return slopes and intercept, in the units of the columns, of [slopes, level, shape]."""
    level, shape = theta[-2:]
    intercept = level if shape == 0.0 else np.expm1(shape * level) / shape
    return coordinates.given(np.append(theta[:-2] * np.exp(shape * level), intercept))


def _covariance(coordinates: GridCoordinates, theta: Array, hessian: Array) -> Array | None:
    """Return the covariance of [slopes, intercept, shape] by the delta method."""
    level, shape = theta[-2:]
    size, stretch = len(theta), np.exp(shape * level)
    moved = np.zeros((size, size))  # d [standard slopes, intercept, shape] / d theta
    moved[np.arange(size - 2), np.arange(size - 2)] = stretch
    moved[:-2, -2] = shape * stretch * theta[:-2]
    moved[:-2, -1] = level * stretch * theta[:-2]
    moved[-2, -2] = stretch
    moved[-2, -1] = level**2 * _rise(shape * level)
    moved[-1, -1] = 1.0
    if not is_definite(hessian):
        return None
    given = np.vstack([coordinates.given(moved[:-1].T).T, moved[-1]])
    return np.asarray(given @ np.linalg.inv(hessian) @ given.T)


def _rise(z: float) -> float:
    """Return (z exp(z) - exp(z) + 1) / z^2."""
    if abs(z) < 0.1:
        return float(sum(z**j * (j + 1) / np.prod(np.arange(1.0, j + 3)) for j in range(12)))
    return float((z * np.exp(z) - np.expm1(z)) / z**2)


def joint_errors(block: Block, params: tuple[Array, Array, Array, float, float]) -> Array:
    """Kernel of the map: -log(-log prob) of each row and its standard error, shape included.

    Outside the support, where no derivative tells, the error is infinite.
    """
    covariance, origin, slopes, constant, shape = params
    X = _dense(block.matrix)
    bent = curve(X @ slopes + constant, shape)
    steps = np.column_stack([(X - origin) * bent.q[:, None], bent.q, bent.shape])
    variance = np.einsum("ij,jk,ik->i", steps, covariance, steps, optimize=True)
    error = np.where(bent.inside, np.sqrt(np.maximum(variance, 0.0)), np.inf)
    return np.column_stack([bent.value, error])
