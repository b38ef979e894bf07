"""Minimise a smooth convex function of coefficients, each of which pays for the width of its box.

    min over coef of A(tilt), tilt = sum_j seen_j [coef_j (f_j - target_j) + half_width_j |coef_j|]

With coef = up - down, both >= 0, A is smooth in (up, down) and only bounds remain (in 004 eq 13 the
kink is inside the exponent, where soft thresholding would be wrong). Each round makes one pass over
the rows, which gives value, gradient and certificate. The working set is the coefficients in use
and those that should be; a quadratic model on it is minimised exactly under the bounds; the step is
shortened if the value does not fall. Stops on a duality gap where a feasible point is known, else
on the gradient. Does not know rows or features: see problems.py.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple, Protocol

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from scarce.engine.block import Array
from scarce.errors import DataError
from scarce.maxent import kernels

ADMITTED = 100  # new coefficients in the working set per round
TRIES = 40  # step lengths tried in one round
ENOUGH = 1e-4  # Armijo: share of the predicted decrease that a step must achieve
RIDGE = 1e-10  # relative, on the quadratic model: neighbouring hinges are nearly collinear


class PassResult(NamedTuple):
    """What one pass over the rows gives, for each class and feature."""

    value: float
    mean: Array  # (C, J): the model's sum of each feature over rows that see it
    seen: Array  # (C, J): the model's weight of those rows
    gap: float  # duality gap; inf if none is known


class WorkingSet(NamedTuple):
    """The coefficients that a round may change: class, feature and side (+1 up, -1 down)."""

    of_class: NDArray[np.intp]
    feature: NDArray[np.intp]
    side: Array


class BoxedProblem(Protocol):
    """What the solver needs of a problem."""

    target: Array  # (C, J)
    half_width: Array  # (C, J); inf without a box: the coefficient stays 0
    deviation: Array  # (C, J): standard deviation, the unit of a gradient entry
    runs: NDArray[np.intp]  # (J,): features of one run are neighbours along the knots
    has_gap: bool  # whether results have a duality gap
    lowest: float  # a value below it proves that no distribution meets all boxes

    def evaluate(self, coef: Array) -> PassResult:
        """Pass over the rows."""
        ...  # pragma: no cover

    def curvature(self, coef: Array, result: PassResult, working: WorkingSet) -> Array:
        """Return the second derivative on the working set, perhaps from a sample of the rows."""
        ...  # pragma: no cover

    def enlarge_sample(self) -> bool:
        """Use more rows for the curvature; False if all are in use."""
        ...  # pragma: no cover


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the solver stopped, and what is proven about it."""

    coef: Array
    result: PassResult
    certificate: float
    proves: str
    converged: bool
    passes: int


class InfeasibleBoxes(DataError):
    """No distribution meets all boxes; `coef` is where this was proven."""

    def __init__(self, coef: Array) -> None:
        super().__init__("No class probabilities meet all boxes.", code="infeasible-boxes")
        self.coef = coef


def minimise(
    problem: BoxedProblem,
    start: Array,
    *,
    tol: float,
    max_passes: int = 200,
    polish: bool = False,
) -> Solution:
    """Return coefficients whose certificate is at most `tol`.

    Parameters
    ----------
    problem : BoxedProblem
    start : ndarray of shape (C, J)
        Initial coefficients: zeros, or those of a similar problem.
    tol : float
        Duality gap to reach; for the gradient (in standard deviations) a hundredth of it.
    max_passes : int
        No new round begins after this many passes over the rows.
    polish : bool
        One more round once `tol` is reached: it squares the error and is cheap for few rows.
    """
    coef = np.where(np.isinf(problem.half_width), 0.0, start)
    result = problem.evaluate(coef)
    passes, before, stuck = 1, np.inf, False
    while True:
        certificate = _certificate(problem, coef, result)
        converged = certificate <= (tol if problem.has_gap else tol / 100)
        if converged or stuck or passes >= max_passes:
            break
        if result.value < problem.lowest:
            raise InfeasibleBoxes(coef)
        working = _working_set(problem, coef, result)
        if certificate > before / 5 and (coef[working.of_class, working.feature] != 0).all():
            problem.enlarge_sample()  # slow, and not because of new coefficients: too few rows
        before = certificate
        coef, result, tried = _round(problem, coef, result, working)
        passes += tried
        stuck = tried > 1 and not problem.enlarge_sample() and tried >= TRIES
    if converged and polish and certificate > 0.0:
        new, there, tried = _round(problem, coef, result, _working_set(problem, coef, result))
        passes += tried
        if _certificate(problem, new, there) < certificate:
            coef, result = new, there
    proves = "duality gap" if problem.has_gap else "gradient norm"
    certificate = _certificate(problem, coef, result)
    return Solution(coef, result, certificate, proves, converged, passes)


def _round(
    problem: BoxedProblem, coef: Array, result: PassResult, working: WorkingSet
) -> tuple[Array, PassResult, int]:
    """Minimise the quadratic model on the working set, and step towards its minimum."""
    if len(working.feature) == 0:
        return coef, result, TRIES
    slope = _pick(_slopes(problem, result), working)
    was = np.abs(coef[working.of_class, working.feature])
    curvature = problem.curvature(coef, result, working)
    step = bounded_quadratic(curvature, slope, was) - was
    return _search(problem, coef, result, working, was, step, float(slope @ step))


def _search(
    problem: BoxedProblem,
    coef: Array,
    result: PassResult,
    working: WorkingSet,
    was: Array,
    step: Array,
    predicted: float,
) -> tuple[Array, PassResult, int]:
    """Shorten the step until the value decreases enough; return the old point if it never does."""
    rounding = 1e-14 * (1.0 + abs(result.value))
    length = 1.0
    for tried in range(1, TRIES + 1):
        new = coef.copy()
        new[working.of_class, working.feature] = working.side * np.maximum(was + length * step, 0)
        there = problem.evaluate(new)
        decrease = result.value - there.value
        if np.isfinite(there.value) and decrease >= -ENOUGH * length * predicted - rounding:
            return new, there, tried
        # Minimum of the parabola through both values and the slope, within limits.
        bend = there.value - result.value - length * predicted
        best = -predicted * length**2 / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.0
        length = float(np.clip(best, 0.1 * length, 0.5 * length))
    return coef, result, TRIES


def _slopes(problem: BoxedProblem, result: PassResult) -> tuple[Array, Array]:
    """Derivatives on the up and the down side; infinite without a box."""
    apart = result.mean - problem.target * result.seen
    with np.errstate(invalid="ignore"):
        price = problem.half_width * result.seen
    price = np.where(np.isinf(problem.half_width), np.inf, price)
    return price + apart, price - apart


def _pick(slope: tuple[Array, Array], working: WorkingSet) -> Array:
    up = slope[0][working.of_class, working.feature]
    down = slope[1][working.of_class, working.feature]
    return np.where(working.side > 0, up, down)


def _working_set(problem: BoxedProblem, coef: Array, result: PassResult) -> WorkingSet:
    """Coefficients in use, and the worst violations of boxes: local maxima along the knots."""
    up, down = _slopes(problem, result)
    boxed = np.isfinite(problem.half_width)
    excess = np.where((coef == 0.0) & boxed, -np.minimum(up, down) / problem.deviation, -np.inf)
    used = coef != 0.0
    admitted = np.zeros_like(used)
    for own, new, far in zip(used, admitted, excess, strict=True):
        left, right = _neighbour(far, problem.runs, 1), _neighbour(far, problem.runs, -1)
        peak = (far > left) & (far >= right)
        near = _neighbour(own, problem.runs, 1) | _neighbour(own, problem.runs, -1)
        new[:] = (far > 0) & (peak | near)
    if admitted.sum() > ADMITTED:
        least = np.partition(excess[admitted], -ADMITTED)[-ADMITTED]
        admitted &= excess >= least
    of_class, feature = np.nonzero(used | admitted)
    sign = np.sign(coef[of_class, feature])
    entering = np.where(up < down, 1.0, -1.0)[of_class, feature]
    return WorkingSet(of_class, feature, np.where(sign == 0, entering, sign))


def _neighbour(values: NDArray[Any], runs: NDArray[np.intp], shift: int) -> NDArray[Any]:
    """The value of the neighbour along the knots; -inf or False at the end of a run."""
    out = np.full(len(values), False if values.dtype == bool else -np.inf)
    same = runs[1:] == runs[:-1]
    if shift > 0:
        out[1:][same] = values[:-1][same]
    else:
        out[:-1][same] = values[1:][same]
    return out


def _residual(problem: BoxedProblem, coef: Array, result: PassResult) -> float:
    """Largest violation of the optimality conditions, in standard deviations."""
    up, down = _slopes(problem, result)
    side = np.where(coef > 0, up, down)
    inner = np.where(coef != 0.0, np.abs(side), np.maximum(-np.minimum(up, down), 0.0))
    return float((inner / problem.deviation).max(initial=0.0))


def _certificate(problem: BoxedProblem, coef: Array, result: PassResult) -> float:
    return result.gap if problem.has_gap else _residual(problem, coef, result)


def bounded_quadratic(curvature: Array, slope: Array, start: Array) -> Array:
    """Return the minimum over value >= 0 of slope.(value - start) + half the quadratic form.

    A few sweeps of coordinate descent guess the active bounds; a primal active-set method then
    finds the exact minimum, with one Cholesky factorisation per change of the active set.

    Examples
    --------
    >>> bounded_quadratic(np.array([[2.0, 1.0], [1.0, 2.0]]), np.array([-3.0, 1.0]), np.zeros(2))
    array([1.5, 0. ])
    """
    size = len(start)
    H = curvature.copy()
    diagonal = H.diagonal().copy()
    H[np.arange(size), np.arange(size)] += RIDGE * diagonal + 1e-14 * diagonal.max() + 1e-300
    value, gradient = start.copy(), slope.copy()
    scale = float(np.abs(slope).max())
    kernels.sweep_bounded(H, gradient, value, 20, 1e-3 * scale)
    done = 1e-9 * scale
    free = value > 0
    for _ in range(10 * size + 50):
        wanted = np.zeros(size)
        if free.any():
            wanted[free] = -_solve(H[np.ix_(free, free)], gradient[free])
        blocked = free & (value + wanted < 0)
        if blocked.any():
            ratio = value[blocked] / -wanted[blocked]
            length = float(ratio.min())
            value = value + length * wanted
            free[np.flatnonzero(blocked)[ratio <= length]] = False
            value[~free] = 0.0
            gradient = slope + H @ (value - start)
            continue
        value = np.maximum(value + wanted, 0.0)
        gradient = slope + H @ (value - start)
        joining = ~free & (gradient < -done)
        if not joining.any():
            break
        free[np.argmin(np.where(joining, gradient, np.inf))] = True
    return value


def _solve(matrix: Array, right: Array) -> Array:
    """Solve with a positive definite matrix, adding ridge if rounding makes it indefinite."""
    extra = 0.0
    scale = float(matrix.diagonal().max())
    for _ in range(12):
        try:
            factor = cho_factor(
                matrix + extra * np.eye(len(matrix)), lower=True, check_finite=False
            )
        except LinAlgError:
            extra = max(10 * extra, 1e-13 * scale)
            continue
        return np.asarray(cho_solve(factor, right, check_finite=False))
    return right / matrix.diagonal()
