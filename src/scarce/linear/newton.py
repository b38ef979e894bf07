"""Which coefficients minimise a sum of losses over rows, and how is that proven?

    minimise  sum_i s_i loss(y_i, constant + x_i' slopes) + 1/2 sum_j penalty_j coef_j^2

Newton's method on folds, in coordinates where every column has mean 0 and spread 1. A Gram matrix
costs many gradients when there are many columns, so it is kept while it serves: between fresh ones
the curvature is corrected by what the gradients themselves show (limited-memory BFGS around the
last Gram matrix). Along a step the loss is convex, so that the slopes at both ends judge it: the
loss itself need not be evaluated. Large data are first fitted on a part of their rows.

Stops when the largest entry of the gradient per unit of weight falls below `tol`: a certificate,
never "the coefficients moved little". Assumes a convex loss: for others see descent.py.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import cho_factor, cho_solve

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.linear.sums import Look, Sums, labelled, linear_sums

SAMPLE_FROM = 20_000  # rows from which a first fit on a part pays
PART_CELLS = 2_000_000  # of that part: it is held in memory, whatever the size of the data
MEMORY = 12  # gradient differences kept beside a Gram matrix
CHEAP = 50_000  # cells up to which a Gram matrix costs no more than the rest of a pass
GRAM_COLUMNS = 1500  # more columns than this, and more multiplications than GRAM_WORK:
GRAM_WORK = 2e10  # never a Gram matrix, only its diagonal


@dataclass(frozen=True)
class Task:
    """A penalised linear problem, whatever the rows.

    Parameters
    ----------
    loss : loss of scarce.losses
    penalty : ndarray of shape (k + 1,)
        Of each coefficient in the units of its column, the intercept's last.
    free : ndarray of bool, shape (k + 1,)
        Which coefficients are sought; the others stay as they are in the start.
    look : Look
        Means and spreads of the columns.
    """

    loss: Any
    penalty: Array
    free: Array
    look: Look

    def sums(
        self, rows: Rows, coef: Array, gram: bool, engine: Engine, value: bool = False
    ) -> Sums:
        """Pass over the rows once, at these coefficients."""
        gaps = self.look.unlabelled > 0
        params = (self.loss, coef[:-1].copy(), float(coef[-1]), gaps, gram, value)
        found: Sums = rows.fold(linear_sums, params, engine=engine)
        return found


@dataclass
class Solution:
    """Where the search ended.

    Attributes
    ----------
    coef : ndarray of shape (k + 1,)
        Slopes, then the intercept, in the units of the columns.
    certificate : float
        Largest entry of the gradient per unit of weight, in standardised coordinates.
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


class Frame:
    """Standardised coordinates: from columns as given to mean 0 and spread 1, and back."""

    def __init__(self, task: Task, start: Array) -> None:
        k = len(start) - 1
        scale = np.where(task.look.spread > 0, task.look.spread, 1.0)
        self.task = task
        self.free = np.flatnonzero(task.free)
        self.start = start
        # coef = T @ theta: slopes are divided by the spread, and the intercept gives up the means
        self.T = np.zeros((k + 1, k + 1))
        self.T[np.arange(k), np.arange(k)] = 1.0 / scale
        self.T[k, k] = 1.0
        if task.free[k] and task.penalty[k] == 0:
            self.T[k, :k] = np.where(task.free[:k], -task.look.mean / scale, 0.0)
        self.T = self.T[:, self.free]

    def coef(self, theta: Array) -> Array:
        """Return coefficients in the units of the columns."""
        held = np.where(self.task.free, 0.0, self.start)
        return np.asarray(held + self.T @ theta)

    def theta(self, coef: Array) -> Array:
        """Return the standardised coordinates of coefficients."""
        moved = (coef - np.where(self.task.free, 0.0, self.start))[self.free]
        return np.asarray(np.linalg.solve(self.T[self.free], moved))

    def gradient(self, coef: Array, sums: Sums) -> Array:
        """Return the gradient of the penalised total in standardised coordinates."""
        return np.asarray(self.T.T @ (sums.gradient + self.task.penalty * coef))

    def hessian(self, gram: Array) -> Array:
        """Return the Hessian of the penalised total in standardised coordinates."""
        return np.asarray(self.T.T @ (gram + np.diag(self.task.penalty)) @ self.T)


class Curvature:
    """What is known of the Hessian: a factored matrix, and the gradient differences since."""

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


def _factor(hessian: Array) -> Any:
    """Factor a semi-definite matrix of unit diagonal, lifted by the least that makes it definite.

    Scaled to a unit diagonal, a column in large units or with a large penalty cannot drown others.
    """
    if not np.isfinite(hessian).all():
        raise ArithmeticError("The curvature of the loss is not a number at this point.")
    lift = 0.0
    while True:
        try:
            factor: Any = cho_factor(
                hessian + lift * np.eye(len(hessian)), lower=True, check_finite=False
            )
        except np.linalg.LinAlgError:
            lift = max(10.0 * lift, 1e-13)
            continue
        if lift > 0 or np.diag(factor[0]).min() ** 2 >= 1e-14:
            return factor
        lift = 1e-13


def minimise(
    rows: Rows,
    task: Task,
    start: Array,
    *,
    tol: float,
    max_passes: int = 200,
    engine: Engine = None,
    sample: bool = True,
    watch: Callable[[Array, Array], None] | None = None,
    instead: tuple[Array, float] | None = None,
) -> Solution:
    """Minimise a convex penalised loss over rows.

    Parameters
    ----------
    rows : Rows
    task : Task
    start : ndarray of shape (k + 1,)
        Where to begin; entries that are not free keep their value.
    tol : float
        Largest entry of the gradient per unit of weight to stop at.
    max_passes : int
        Give up, without convergence, after so many passes over all rows.
    sample : bool
        Whether large data may be fitted on a part of their rows first.
    watch : callable (coef, step), optional
        Called after every step; raises to stop a search that leads nowhere.
    instead : (ndarray of shape (k + 1,), float), optional
        Another start and its penalised loss: taken where the loss at `start` is greater.

    Returns
    -------
    Solution
    """
    curvature: Curvature | None = None
    if sample and len(rows) >= SAMPLE_FROM:
        start, curvature = _on_a_part(rows, task, start, engine)
    frame = Frame(task, start)
    wide = is_wide(frame, len(rows))
    price = 2.0 + len(frame.free) / 25.0  # of a pass with Gram matrix, in passes without
    total = task.look.total
    theta = frame.theta(start)
    coef = start
    cheap = len(rows) * len(coef) < CHEAP
    missing = curvature is None and not wide
    sums = task.sums(rows, coef, missing, engine, value=instead is not None)
    passes, grams = 1, int(missing)
    if instead is not None and not sums.value + 0.5 * float(task.penalty @ coef**2) <= instead[1]:
        fresh_start = minimise(
            rows, task, instead[0], tol=tol, max_passes=max_passes, engine=engine, watch=watch
        )
        return replace(fresh_start, passes=fresh_start.passes + 1)
    gradient = frame.gradient(coef, sums)
    size = float(np.abs(gradient).max(initial=0.0)) / total
    if curvature is None:
        curvature = Curvature(_diagonal(frame, total) if wide else frame.hessian(sums.gram))
    step = np.zeros_like(theta)
    fresh = cheap and not wide
    while size > tol and passes < max_passes:
        step = -curvature.solve(gradient)
        downhill = float(step @ gradient)
        if not np.isfinite(downhill) or downhill >= 0:  # rounding has the last word
            break
        share, before = 1.0, downhill
        while True:
            tried = theta + share * step
            tried_coef = frame.coef(tried)
            ahead = size if share < 1 else size**2  # a guess: Newton's steps square the distance
            with_gram = fresh and ahead > tol
            sums = task.sums(rows, tried_coef, with_gram, engine)
            passes += 1
            grams += with_gram
            new = frame.gradient(tried_coef, sums)
            after = float(step @ new)
            if after <= 0.9 * -downhill or passes >= max_passes:
                break
            # The slope turned and grew: a secant on the slopes, which stays inside the step.
            share *= float(np.clip(before / (before - after), 0.05, 0.7))
        moved = tried - theta
        change = new - gradient
        new_size = float(np.abs(new).max(initial=0.0)) / total
        fall = new_size / size
        theta, coef, gradient, size = tried, tried_coef, new, new_size
        if watch is not None:
            watch(coef, moved)
        if size <= tol:
            break
        if with_gram:
            curvature = Curvature(frame.hessian(sums.gram))
        else:
            curvature.learn(moved, change)
        # Another Gram matrix pays when the gradients alone would need many more passes than it
        # costs: their fall quickens as they learn the curvature (a factor of 3 was measured best).
        remaining = np.log(tol / size) / np.log(min(fall, 0.99))
        fresh = not wide and (cheap or (not with_gram and remaining > 3.0 * price))
    return Solution(coef, size, size <= tol, passes, grams, step)


def is_wide(frame: Frame, n: int) -> bool:
    """Say whether a Gram matrix would cost more than a second or so."""
    k = len(frame.free)
    return k > GRAM_COLUMNS and n * k * k > GRAM_WORK


def _diagonal(frame: Frame, total: float) -> Array:
    prevalence = frame.task.look.prevalence
    ridge = (frame.T**2).T @ frame.task.penalty
    return np.asarray(total * prevalence * (1.0 - prevalence) + ridge)


def _on_a_part(
    rows: Rows, task: Task, start: Array, engine: Engine
) -> tuple[Array, Curvature | None]:
    """Fit a part of the rows; return its solution and the curvature there.

    The part has all rows of the rarer class, where they are few, and a share of the others.
    """
    look = task.look
    k = rows.n_columns
    room = min(max(SAMPLE_FROM, 200 * (k + 1), len(rows) // 8), len(rows) // 4)
    room = min(room, max(PART_CELLS // (k + 1), 200 * (k + 1)))
    every = np.maximum(1, look.count // (room / 2)).astype(np.int64)
    if (look.count / every).sum() > len(rows) / 3 or room < 40 * (k + 1):
        return start, None
    X, y, weight = rows.fold(take_every, (every[0], every[1]), engine=engine, merge=append_rows)
    part = ArrayRows(X, y, weight=weight, schema=rows.schema, check=False)
    some = replace(task, look=replace(look, unlabelled=0))
    tol = 0.05 * float(np.sqrt(look.prevalence * (1 - look.prevalence) / len(y)))
    found = minimise(part, some, start, tol=tol, max_passes=40, sample=False)
    frame = Frame(task, start)
    if is_wide(frame, len(rows)):
        return found.coef, None
    sums = some.sums(part, found.coef, True, None)
    curvature = Curvature(frame.hessian(sums.gram))
    step = curvature.solve(frame.gradient(found.coef, sums))
    return found.coef - frame.T @ step, curvature


def take_every(block: Block, every: tuple[int, int]) -> tuple[Array, Array, Array]:
    """Kernel: every so-manieth row of each class, weighted to stand for all of them."""
    y, weight = labelled(block, True)
    assert weight is not None
    chosen = []
    factor = np.zeros(len(block))
    for label in (0, 1):
        own = np.flatnonzero((y == label) & (weight > 0))[:: every[label]]
        factor[own] = every[label]
        chosen.append(own)
    kept = np.sort(np.concatenate(chosen))
    return block.X[kept], y[kept], (weight * factor)[kept]


def append_rows(total: tuple[Array, ...], more: tuple[Array, ...]) -> tuple[Array, ...]:
    """Merge rows that two blocks gave."""
    return tuple(np.concatenate(pair) for pair in zip(total, more, strict=True))


def independent(gram: Array) -> NDArray[np.bool_]:
    """Say which columns are not combinations of earlier ones, from their Gram matrix."""
    scale = np.sqrt(np.maximum(np.diag(gram), 1e-300))
    left = gram / np.outer(scale, scale)
    kept = np.zeros(len(gram), dtype=bool)
    for j in range(len(gram)):
        pivot = left[j, j]
        if pivot > 1e-10:
            kept[j] = True
            left = left - np.outer(left[:, j], left[j]) / pivot
    return kept
