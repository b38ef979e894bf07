"""How are losses minimised that are not convex, or only within bounds?

    GEV with the log loss (001 Table 1) is not convex for any shape above 0: several starts, each
    followed downhill by Fisher scoring with a check of the loss itself.
    The paper's constraint set C_xi (001 section 3.2): every positive (shape > 0) or negative
    (shape < 0) keeps its score inside the support. A log barrier gives the constrained optimum and
    a duality gap.

Assumes the first start is feasible. Finds a stationary point, and the best of those it found; does
not promise the global minimum.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import DataError
from scarce.linear.newton import Curvature, Frame, Solution, Task
from scarce.linear.separation import extents, widest


def descend(
    rows: Rows,
    task: Task,
    start: Array,
    *,
    tol: float,
    max_passes: int = 200,
    engine: Engine = None,
    enough: float | None = None,
) -> tuple[Solution, float]:
    """Go downhill from one start; return where it ended and the objective there.

    Stops at a gradient of `tol` per unit of weight, or with `enough` at half a squared Newton step
    (g' H^-1 g / 2) of that size, which is what a barrier needs.
    """
    frame = Frame(task, start)
    total = task.look.total

    def at(coef: Array) -> tuple[float, Array, Array]:
        sums = task.sums(rows, coef, True, engine, value=True)
        value = sums.value + 0.5 * float(task.penalty @ coef**2)
        if not np.isfinite(value):
            return np.inf, sums.gradient, sums.gram
        return value, frame.gradient(coef, sums), frame.hessian(sums.gram)

    theta = frame.theta(start)
    coef = start
    value, gradient, hessian = at(coef)
    passes = 1
    step = np.zeros_like(theta)
    size = float(np.abs(gradient).max(initial=0.0)) / total if np.isfinite(value) else np.inf
    while np.isfinite(value) and size > tol and passes < max_passes:
        step = -Curvature(hessian).solve(gradient)
        downhill = float(step @ gradient)
        if enough is not None and -0.5 * downhill <= enough:
            return Solution(coef, size, True, passes, passes, step), value
        share = 1.0
        while True:
            tried = theta + share * step
            tried_coef = frame.coef(tried)
            new_value, new_gradient, new_hessian = at(tried_coef)
            passes += 1
            if new_value <= value + 1e-4 * share * downhill:
                break
            # Near the bottom the value has no digits left to fall by: the slope decides there.
            level = abs(new_value - value) <= 1e-12 * abs(value)
            if level and abs(step @ new_gradient) <= abs(downhill):
                break
            share *= 0.5
            if share < 1e-10 or passes >= max_passes:
                return Solution(coef, size, False, passes, passes, step), value
        theta, coef, value = tried, tried_coef, new_value
        gradient, hessian = new_gradient, new_hessian
        size = float(np.abs(gradient).max(initial=0.0)) / total
    return Solution(coef, size, size <= tol, passes, passes, step), value


def descend_from(
    rows: Rows,
    task: Task,
    starts: list[Array],
    *,
    tol: float,
    max_passes: int = 200,
    engine: Engine = None,
) -> tuple[Solution, float]:
    """Go downhill from several starts; return the lowest end. Starts may be infeasible."""
    best: tuple[Solution, float] | None = None
    passes = 0
    for start in starts:
        found, value = descend(rows, task, start, tol=tol, max_passes=max_passes, engine=engine)
        passes += found.passes
        better = best is None or (found.converged, -value) > (best[0].converged, -best[1])
        if np.isfinite(value) and better:
            best = found, value
    if best is None:
        return Solution(starts[0], np.inf, False, passes, passes, np.zeros(0)), np.inf
    return replace(best[0], passes=passes), best[1]


def inside(rows: Rows, task: Task, shape: float, start: Array, engine: Engine) -> Array:
    """Move the intercept of a start until the rows that must be inside the support are."""
    if shape == 0:
        return start
    least, greatest, _, _ = rows.fold(
        extents, (start[:-1], np.flatnonzero(start[:-1])), engine=engine, merge=widest
    )
    edge = -1.0 / shape
    needed = edge - (least if shape > 0 else greatest)  # on top of the other terms of the score
    room = start[-1] - needed
    if (room > 0) == (shape > 0) and room != 0:
        return start
    if not task.free[-1]:
        raise DataError(
            "The offset puts rows outside the support of this GEV link, and there is no intercept "
            "to bring them back. Pass fit_intercept=True, or loss='gev-canonical' on the line."
        )
    moved = start.copy()
    moved[-1] = needed + 0.1 * np.sign(shape)
    return moved


@dataclass(frozen=True)
class Barrier:
    """A GEV loss that becomes infinite where a row that must stay inside the support leaves it.

    Restricted are the positives for a shape above 0 and the negatives for one below (001, C_xi).
    """

    loss: Any
    shape: float
    height: float

    def value(self, y: Array, score: Array) -> Array:
        """Return loss plus barrier."""
        room, held = self._room(y, score)
        with np.errstate(divide="ignore", invalid="ignore"):
            wall = np.where(held, -self.height * np.log(np.maximum(room, 0.0)), 0.0)
        return np.asarray(self.loss.value(y, score) + wall)

    def sweep(self, y: Array, score: Array) -> tuple[Array, Array]:
        """Return slope and curvature of loss plus barrier."""
        slope, curvature = self.loss.sweep(y, score)
        room, held = self._room(y, score)
        pull = np.where(held, self.shape / np.where(room > 0, room, 1.0), 0.0)
        return slope - self.height * pull, curvature + self.height * pull**2

    def _room(self, y: Array, score: Array) -> tuple[Array, Array]:
        return 1.0 + self.shape * score, (y == 1) if self.shape > 0 else (y == 0)


def within_support(
    rows: Rows,
    task: Task,
    shape: float,
    start: Array,
    *,
    tol: float,
    engine: Engine = None,
) -> tuple[Solution, float]:
    """Minimise over the paper's constraint set; the certificate is a bound on the gap, per weight.

    Parameters
    ----------
    start : ndarray of shape (k + 1,)
        Coefficients inside the set, such as an intercept alone.
    tol : float
        Gap per unit of weight to stop at.
    """
    held = float(task.look.weight[1 if shape > 0 else 0])
    total = task.look.total
    height, passes = 0.1, 0
    coef = start
    while True:
        barred = replace(task, loss=Barrier(task.loss, shape, height))
        found, _ = descend(rows, barred, coef, tol=1e-15, engine=engine, enough=1e-3 * height)
        passes += found.passes
        coef = found.coef
        gap = height * held / total
        proven = gap <= tol and found.converged  # the bound holds at a stationary point only
        if gap <= tol:
            break
        height *= 0.1
    value = task.sums(rows, coef, False, engine, value=True).value
    objective = value + 0.5 * float(task.penalty @ coef**2)
    return replace(found, certificate=gap, converged=proven, passes=passes + 1), objective
