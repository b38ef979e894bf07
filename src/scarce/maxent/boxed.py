"""Minimise a smooth convex function of coefficients that each carry the price of a box.

    min over coef of A(tilt), tilt = sum_j seen_j [coef_j (f_j - target_j) + half_width_j |coef_j|]

With coef = up - down, both >= 0, A is smooth in (up, down) and only bounds are left (004 eq 13 has
the kink inside the exponent, where soft thresholding would be wrong). Each round: one pass over the
rows gives value, gradient and certificate; the coefficients that are in use and those that should
be are the working set; a quadratic model on it is minimised exactly under the bounds; the step is
shortened if the value does not fall. Stops on a duality gap where a feasible point is known, else
on the gradient. Does not know rows or features: see tilted.py.
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

ADMITTED = 100  # newcomers to the working set in one round
TRIES = 40  # shortenings of a step before it is given up
ENOUGH = 1e-4  # share of the promised fall that a step must deliver
RIDGE = 1e-10  # relative, on the quadratic model: hinges next to each other are nearly equal


class Look(NamedTuple):
    """What one pass over the rows found, for each class and feature."""

    value: float
    mean: Array  # (C, J): the model's sum of each feature over rows that see it
    seen: Array  # (C, J): the model's weight of those rows
    gap: float  # proven divergence from the optimum; inf where none is known


class Working(NamedTuple):
    """The coefficients that a round may change: class, feature, and side (+1 up, -1 down)."""

    of_class: NDArray[np.intp]
    feature: NDArray[np.intp]
    side: Array


class Problem(Protocol):
    """What the solver asks for."""

    target: Array  # (C, J)
    half_width: Array  # (C, J); inf where there is no box: the coefficient stays 0
    spread: Array  # (C, J): unit of a gradient entry
    runs: NDArray[np.intp]  # (J,): features of one run are neighbours along the knots
    has_gap: bool  # whether looks carry a duality gap
    lowest: float  # a value below this proves that no distribution meets all boxes

    def look(self, coef: Array) -> Look:
        """Pass over the rows."""
        ...  # pragma: no cover

    def curvature(self, coef: Array, look: Look, working: Working) -> Array:
        """Return the second derivative on the working set, perhaps from a part of the rows."""
        ...  # pragma: no cover

    def sharpen(self) -> bool:
        """Take more rows for the curvature; False when it has all."""
        ...  # pragma: no cover


@dataclass(frozen=True, eq=False)
class Solution:
    """Where the solver ended, and what is proven about it."""

    coef: Array
    look: Look
    certificate: float
    proves: str
    converged: bool
    passes: int


class EmptyBoxes(DataError):
    """No distribution meets all boxes; carries where the proof stood when it was found."""

    def __init__(self, coef: Array) -> None:
        super().__init__("No class probabilities meet all boxes.")
        self.coef = coef


def minimise(
    problem: Problem,
    start: Array,
    *,
    tol: float,
    max_passes: int = 200,
    polish: bool = False,
) -> Solution:
    """Return coefficients whose certificate is at most `tol`.

    Parameters
    ----------
    problem : Problem
    start : ndarray of shape (C, J)
        Coefficients to begin from: zeros, or those of a neighbouring problem.
    tol : float
        Target of the duality gap; of the gradient (in spreads) a hundredth of it.
    max_passes : int
        After so many passes over the rows no new round begins.
    polish : bool
        One round more once `tol` is reached: it squares the error, and with few rows costs nothing.
    """
    coef = np.where(np.isinf(problem.half_width), 0.0, start)
    look = problem.look(coef)
    passes, before, stuck = 1, np.inf, False
    while True:
        certificate = _certificate(problem, coef, look)
        converged = certificate <= (tol if problem.has_gap else tol / 100)
        if converged or stuck or passes >= max_passes:
            break
        if look.value < problem.lowest:
            raise EmptyBoxes(coef)
        working = _working_set(problem, coef, look)
        if certificate > before / 5 and (coef[working.of_class, working.feature] != 0).all():
            problem.sharpen()  # slow, and not for newcomers: the curvature of too few rows
        before = certificate
        coef, look, tried = _round(problem, coef, look, working)
        passes += tried
        stuck = tried > 1 and not problem.sharpen() and tried >= TRIES
    if converged and polish and certificate > 0.0:
        new, there, tried = _round(problem, coef, look, _working_set(problem, coef, look))
        passes += tried
        if _certificate(problem, new, there) < certificate:
            coef, look = new, there
    proves = "duality gap" if problem.has_gap else "gradient norm"
    certificate = _certificate(problem, coef, look)
    return Solution(coef, look, certificate, proves, converged, passes)


def _round(problem: Problem, coef: Array, look: Look, working: Working) -> tuple[Array, Look, int]:
    """Minimise the quadratic model on the working set and step towards its minimum."""
    if len(working.feature) == 0:
        return coef, look, TRIES
    slope = _pick(_slopes(problem, look), working)
    was = np.abs(coef[working.of_class, working.feature])
    curvature = problem.curvature(coef, look, working)
    step = bounded_quadratic(curvature, slope, was) - was
    return _search(problem, coef, look, working, was, step, float(slope @ step))


def _search(
    problem: Problem,
    coef: Array,
    look: Look,
    working: Working,
    was: Array,
    step: Array,
    promised: float,
) -> tuple[Array, Look, int]:
    """Shorten the step until the value falls as promised; or the old point where it never does."""
    rounding = 1e-14 * (1.0 + abs(look.value))
    length = 1.0
    for tried in range(1, TRIES + 1):
        new = coef.copy()
        new[working.of_class, working.feature] = working.side * np.maximum(was + length * step, 0)
        there = problem.look(new)
        fall = look.value - there.value
        if np.isfinite(there.value) and fall >= -ENOUGH * length * promised - rounding:
            return new, there, tried
        # The parabola through what is known, within reason.
        bend = there.value - look.value - length * promised
        best = -promised * length**2 / (2 * bend) if np.isfinite(bend) and bend > 0 else 0.0
        length = float(np.clip(best, 0.1 * length, 0.5 * length))
    return coef, look, TRIES


def _slopes(problem: Problem, look: Look) -> tuple[Array, Array]:
    """Derivatives on the up and on the down side; infinite where there is no box."""
    apart = look.mean - problem.target * look.seen
    with np.errstate(invalid="ignore"):
        price = problem.half_width * look.seen
    price = np.where(np.isinf(problem.half_width), np.inf, price)
    return price + apart, price - apart


def _pick(slope: tuple[Array, Array], working: Working) -> Array:
    up = slope[0][working.of_class, working.feature]
    down = slope[1][working.of_class, working.feature]
    return np.where(working.side > 0, up, down)


def _working_set(problem: Problem, coef: Array, look: Look) -> Working:
    """Coefficients in use, and the worst of those outside their box: peaks along the knots."""
    up, down = _slopes(problem, look)
    boxed = np.isfinite(problem.half_width)
    excess = np.where((coef == 0.0) & boxed, -np.minimum(up, down) / problem.spread, -np.inf)
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
    newcomer = np.where(up < down, 1.0, -1.0)[of_class, feature]
    return Working(of_class, feature, np.where(sign == 0, newcomer, sign))


def _neighbour(values: NDArray[Any], runs: NDArray[np.intp], shift: int) -> NDArray[Any]:
    """The value of the neighbour along the knots; -inf or False where a run ends."""
    out = np.full(len(values), False if values.dtype == bool else -np.inf)
    same = runs[1:] == runs[:-1]
    if shift > 0:
        out[1:][same] = values[:-1][same]
    else:
        out[:-1][same] = values[1:][same]
    return out


def _residual(problem: Problem, coef: Array, look: Look) -> float:
    """Largest gradient entry that points to a lower value, in spreads."""
    up, down = _slopes(problem, look)
    side = np.where(coef > 0, up, down)
    inner = np.where(coef != 0.0, np.abs(side), np.maximum(-np.minimum(up, down), 0.0))
    return float((inner / problem.spread).max(initial=0.0))


def _certificate(problem: Problem, coef: Array, look: Look) -> float:
    return look.gap if problem.has_gap else _residual(problem, coef, look)


def bounded_quadratic(curvature: Array, slope: Array, start: Array) -> Array:
    """Return the minimum over value >= 0 of slope.(value - start) + half the quadratic form.

    A few sweeps of coordinate descent guess which bounds hold; a primal active-set method then
    finds the exact minimum, one Cholesky factor per change of bounds.

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
    """Solve with a positive definite matrix; with ever more ridge where rounding spoils it."""
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
