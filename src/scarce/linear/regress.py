"""One penalised linear regression: from rows and a loss to coefficients, by the solver they need.

    convex loss                     Newton on folds (newton.py)
    with a Laplace prior            Newton on the columns at work (elastic_net.py)
    GEV with the log loss           downhill from several starts (descent.py)
    the paper's constraint set      a log barrier (descent.py)
    more columns than rows          the same problem in as many columns as there are rows

Names columns that the data do not determine (constant and repeated ones), and refuses what has no
answer: classes that the columns separate, without a penalty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows, decode
from scarce.engine.rows import Rows
from scarce.errors import Argument, Problem, listed
from scarce.linear.descent import (
    SHOWN,
    SOME_ROWS,
    SeparationCheck,
    descend_from,
    minimise_within_support,
    move_inside_support,
)
from scarce.linear.elastic_net import FEW, Coordinates, Warm, minimise_elastic_net
from scarce.linear.links import Link
from scarce.linear.losses import CanonicalLoss, Loss
from scarce.linear.newton import (
    Objective,
    OptimizerResult,
    StandardCoordinates,
    independent_columns,
    minimise,
)
from scarce.linear.sums import ColumnSummary, summarise_columns

CONTINUED = 5.0  # ratio of the strengths on the way to a Laplace prior: measured best of 2 to 10
SUBGRADIENT = "largest subgradient"  # what the certificate of a fit with exact zeros is


@dataclass(frozen=True)
class Formulation:
    """What is solved and how exactly, apart from the loss and the ridge.

    Parameters
    ----------
    intercept : {"free", "penalised", "none"}
    offset : int or None
        Position of a column whose coefficient is 1 and not fitted.
    domain : {"line", "paper"}
    tol : float
        Certificate to stop at.
    max_passes : int
    units : ndarray of shape (k,), optional
        The ridge applies to coef * units; 1 by default.
    l1_ratio : float
        Share of the ridge that is an absolute value instead of a square: 0 is ridge, 1 lasso.
    """

    intercept: str = "free"
    offset: int | None = None
    domain: str = "line"
    tol: float = 1e-10
    max_passes: int = 200
    units: Array | None = None
    l1_ratio: float = 0.0

    def penalty(self, ridge: float, k: int) -> Array:
        """Return the penalty of each squared coefficient, the intercept's last."""
        return self._each((1.0 - self.l1_ratio) * ridge, k, 2)

    def absolute(self, ridge: float, k: int) -> Array:
        """Return the penalty of each coefficient's absolute value, the intercept's last."""
        return self._each(self.l1_ratio * ridge, k, 1)

    def _each(self, strength: float, k: int, power: int) -> Array:
        penalty = np.full(k + 1, float(strength))
        if self.units is not None:
            penalty[:k] *= self.units**power
        penalty[k] = strength if self.intercept == "penalised" else 0.0
        if self.offset is not None:
            penalty[self.offset] = 0.0
        return penalty

    def objective(self, loss: Loss, ridge: float, stats: ColumnSummary) -> Objective:
        """Return what is minimised, with every coefficient that the columns allow."""
        k = len(stats.mean)
        return Objective(
            loss, self.penalty(ridge, k), self.free(stats), stats, self.absolute(ridge, k)
        )

    def free(self, stats: ColumnSummary) -> NDArray[np.bool_]:
        """Return which coefficients are fitted: constant columns add nothing to an intercept."""
        free = np.ones(len(stats.mean) + 1, dtype=bool)
        if self.intercept == "free":
            free[:-1] = stats.std > 0
        free[-1] = self.intercept != "none"
        if self.offset is not None:
            free[self.offset] = False
        return free

    def start(self, stats: ColumnSummary, link: Link) -> Array:
        """Return the constant prediction: the prevalence, or a score of 0 without intercept."""
        start = np.zeros(len(stats.mean) + 1)
        if self.intercept != "none":
            start[-1] = float(link.forward(np.array([stats.prevalence]))[0])
        if self.offset is not None:
            start[self.offset] = 1.0
            if self.intercept != "none":
                start[-1] -= stats.mean[self.offset]
        return start


class GridCoordinates:
    """Coordinates in which every column has std 1, and mean 0 beside a free intercept."""

    def __init__(self, stats: ColumnSummary, problem: Formulation) -> None:
        k = len(stats.mean)
        self.scale = stats.scale
        self.mean = stats.mean if problem.intercept == "free" else np.zeros(k)
        self.free = problem.free(stats)
        self.offset = problem.offset
        self.problem = problem

    def design(self, X: Array) -> tuple[Array, Array]:
        """Return the standardised design with its intercept column last, and the offset."""
        k = X.shape[1]
        Z = np.ones((len(X), k + 1))
        np.subtract(X, self.mean, out=Z[:, :k])
        Z[:, :k] /= self.scale
        offset = np.zeros(len(X)) if self.offset is None else X[:, self.offset].copy()
        return np.ascontiguousarray(Z[:, self.free]), offset

    def penalty(self, ridge: float) -> Array:
        """Return the penalty of each free standardised coefficient."""
        given = self.problem.penalty(ridge, len(self.scale))
        given[:-1] /= self.scale**2
        return np.asarray(given[self.free])

    def given(self, theta: Array) -> Array:
        """Turn free standardised coefficients (..., p) into those of the columns (..., k + 1)."""
        coef = np.zeros((*theta.shape[:-1], len(self.free)))
        coef[..., self.free] = theta
        coef[..., :-1] /= self.scale
        coef[..., -1] -= coef[..., :-1] @ self.mean
        if self.offset is not None:
            coef[..., self.offset] = 1.0
        return coef

    def gradient(self, gradient: Array) -> Array:
        """Turn gradients in the columns' units (..., k + 1) into free standardised ones."""
        moved = gradient.copy()
        moved[..., :-1] = (gradient[..., :-1] - gradient[..., -1:] * self.mean) / self.scale
        return np.asarray(moved[..., self.free])


@dataclass(frozen=True)
class FittedRegression:
    """A fitted regression.

    Attributes
    ----------
    coef : ndarray of shape (k + 1,)
        Slopes, then the intercept.
    solution : OptimizerResult
    objective : float
        nan where it was not evaluated.
    proves : str
        What the certificate is.
    remarks : tuple of Problem
    free : ndarray of bool, shape (k + 1,)
        Coefficients that the data determine.
    """

    coef: Array
    solution: OptimizerResult
    objective: float
    proves: str
    remarks: tuple[Problem, ...]
    free: NDArray[np.bool_]


def regress(
    rows: Rows,
    stats: ColumnSummary,
    loss: Loss,
    ridge: float,
    problem: Formulation,
    *,
    start: Array | None = None,
    thorough: bool = True,
    engine: Engine = None,
) -> FittedRegression:
    """Fit one regression; see `Formulation`.

    `start` is a warm start, not used where the constant prediction is a better one; with
    `thorough`, a loss that is not convex is tried from others too.
    """
    k = rows.n_columns
    if ridge > 0 and problem.l1_ratio > 0:
        return _with_zeros(rows, stats, loss, ridge, problem, start, engine)
    few = k > len(rows) and problem.offset is None and problem.domain == "line"
    if ridge > 0 and few and not rows.sparse:
        return _in_fewer_columns(rows, stats, loss, ridge, problem, engine)
    free = problem.free(stats)
    remarks = _constant_columns(rows, stats, problem)
    if ridge == 0 and free[:-1].any():
        free, repeated = _without_repeats(rows, stats, loss, problem, free, engine)
        remarks += repeated
    objective = Objective(loss, problem.penalty(ridge, k), free, stats)
    shape = getattr(loss.link, "shape", 0.0)
    cold = problem.start(stats, loss.link)
    if not newton_applies(loss) or problem.domain == "paper":
        cold = move_inside_support(rows, objective, shape, cold, engine)
    begin = cold if start is None else np.where(free, start, cold)
    check = SeparationCheck(rows, objective, loss, engine) if ridge == 0 else None
    value, proves = np.nan, "gradient norm"
    if problem.domain == "paper" and shape != 0.0:
        proves = "duality gap"
        solution, value = minimise_within_support(
            rows, objective, shape, cold, tol=problem.tol, engine=engine
        )
    elif newton_applies(loss):
        solution = minimise(
            rows,
            objective,
            begin,
            tol=problem.tol,
            max_passes=problem.max_passes,
            engine=engine,
            sample=start is None,  # a warm start is nearer than what a sample of the rows says
            watch=check,
            instead=None if start is None else (cold, _cold_value(rows, objective, cold, engine)),
        )
    else:
        starts = [begin] if start is not None else []
        if thorough or not starts:
            starts += _starts(rows, objective, loss, ridge, problem, engine)
        solution, value = descend_from(
            rows, objective, starts, tol=problem.tol, max_passes=problem.max_passes, engine=engine
        )
    if check is not None and np.isfinite(solution.certificate) and free[:-1].any():
        check.at_the_end(solution, cold)
    if not solution.converged:
        remarks += (not_converged(solution, proves, loss, problem.tol),)
    return FittedRegression(solution.coef, solution, value, proves, remarks, free)


def _with_zeros(
    rows: Rows,
    stats: ColumnSummary,
    loss: Loss,
    ridge: float,
    problem: Formulation,
    start: Array | None,
    engine: Engine,
) -> FittedRegression:
    """Fit with a Laplace prior, alone or beside a ridge."""
    objective = problem.objective(loss, ridge, stats)
    cold = problem.start(stats, loss.link)
    begin: Array | Warm = cold
    passes = 0
    if start is not None:
        begin = np.where(objective.free, start, cold)
    elif np.count_nonzero(objective.free) > FEW + 1:
        # From where nothing has a coefficient, so that no step leads to where the loss is flat.
        strength = strongest(rows, problem, loss, stats, engine=engine) / CONTINUED
        passes = 1
        while strength > ridge:
            part, begin = minimise_elastic_net(
                rows,
                problem.objective(loss, strength, stats),
                begin,
                tol=0.1 * problem.l1_ratio * strength / stats.total,
                max_passes=problem.max_passes,
                engine=engine,
            )
            passes += part.passes
            strength /= CONTINUED
    solution, end = minimise_elastic_net(
        rows,
        objective,
        begin,
        tol=problem.tol,
        max_passes=problem.max_passes,
        engine=engine,
    )
    solution = replace(solution, passes=solution.passes + passes)
    remarks = _constant_columns(rows, stats, problem)
    if not solution.converged:
        remarks += (not_converged(solution, SUBGRADIENT, loss, problem.tol),)
    return FittedRegression(
        solution.coef, solution, end.value, SUBGRADIENT, remarks, objective.free
    )


def strongest(
    rows: Rows, problem: Formulation, loss: Loss, stats: ColumnSummary, *, engine: Engine = None
) -> float:
    """Return the least strength of a Laplace prior at which every slope is 0; one pass."""
    objective = problem.objective(loss, 1.0, stats)
    standard = Coordinates(objective)
    start = problem.start(stats, loss.link)
    gradient = standard.gradient(objective.sums(rows, start, False, engine).gradient)
    bounded = (standard.free & (standard.absolute > 0.0))[:-1]
    size = np.abs(gradient[:-1][bounded]) / standard.absolute[:-1][bounded]
    return float(size.max(initial=0.0)) or 1.0


def newton_applies(loss: Loss) -> bool:
    """Whether a loss is convex and finite for every score, as Newton's method needs."""
    everywhere = isinstance(loss, CanonicalLoss) or loss.link.support == (-np.inf, np.inf)
    return bool(loss.convex and everywhere)


def not_converged(solution: OptimizerResult, proves: str, loss: Loss, tol: float) -> Problem:
    """Return the remark about a fit that stopped early."""
    code, why, remedy = "not-converged", "", "Raise {passes_limit}, or {tolerance}."
    shape = getattr(loss.link, "shape", 0.0)
    if not newton_applies(loss) and shape == -1.0:
        code = "kinked-loss"
        why, remedy = " At shape -1 this loss has a kink, where no gradient proves a minimum.", ""
    elif not newton_applies(loss) and shape < 0:
        why = " Near the edge of its support this loss is too steep for small gradients."
    return Problem(
        "The fit did not converge: {proves} {certificate:.2g} after {passes:,} passes, above "
        "{tol}.{why}",
        code=code,
        proves=proves,
        certificate=solution.certificate,
        passes=solution.passes,
        tol=Argument("tol", tol),
        why=why,
        passes_limit=Argument("max_passes"),
        tolerance=Argument("tol"),
        remedy=remedy or (),
    )


def _cold_value(rows: Rows, objective: Objective, cold: Array, engine: Engine) -> float:
    """Return the penalised loss at the constant prediction; with an offset this takes a pass."""
    if cold[:-1].any():
        return objective.value(rows, cold, engine)
    each = objective.loss.value(np.array([0.0, 1.0]), np.full(2, cold[-1]))
    return float(objective.stats.weight @ each) + objective.penalty_at(cold)


# --- columns that the data do not determine -------------------------------------------------------


def _constant_columns(
    rows: Rows, stats: ColumnSummary, problem: Formulation
) -> tuple[Problem, ...]:
    constant = [rows.names[j] for j in np.flatnonzero(stats.std == 0) if j != problem.offset]
    if not constant or problem.intercept != "free":
        return ()
    return (unfitted_columns("constant-columns", "Constant columns", constant),)


def unfitted_columns(code: str, what: str, names: list[str]) -> Problem:
    """Return the remark about columns whose coefficient is 0."""
    return Problem(
        "{what} have coefficient 0: {shown}.",
        code=code,
        what=what,
        columns=names,
        shown=listed([repr(name) for name in names], most=SHOWN),
    )


def _without_repeats(
    rows: Rows,
    stats: ColumnSummary,
    loss: Loss,
    problem: Formulation,
    free: NDArray[np.bool_],
    engine: Engine,
) -> tuple[NDArray[np.bool_], tuple[Problem, ...]]:
    """Leave out columns that are combinations of earlier ones: nothing would fix them."""
    if _surely_independent(rows, stats, free):
        return free, ()
    objective = Objective(loss, np.zeros(len(free)), free, stats)
    start = problem.start(stats, loss.link)
    coordinates = StandardCoordinates(objective, start)
    gram = coordinates.hessian(objective.sums(rows, start, True, engine).gram)
    own = np.flatnonzero(free[:-1])
    kept = independent_columns(gram[: len(own), : len(own)])
    if kept.all():
        return free, ()
    free = free.copy()
    free[own[~kept]] = False
    names = [rows.names[j] for j in own[~kept]]
    return free, (unfitted_columns("repeated-columns", "Combinations of earlier columns", names),)


def _surely_independent(rows: Rows, stats: ColumnSummary, free: NDArray[np.bool_]) -> bool:
    """Whether some rows alone show that no column is a combination of others."""
    X = next(rows.blocks()).X[: max(SOME_ROWS, 10 * rows.n_columns)]
    X = X[~np.isnan(X).any(axis=1)]
    own = np.flatnonzero(free[:-1])
    standard = (X[:, own] - stats.mean[own]) / stats.scale[own] if free[-1] else X[:, own]
    design = np.column_stack([standard, np.ones(len(X))]) if free[-1] else standard
    return len(X) > 2 * design.shape[1] and bool(independent_columns(design.T @ design).all())


# --- special cases --------------------------------------------------------------------------------


def _starts(
    rows: Rows,
    objective: Objective,
    loss: Loss,
    ridge: float,
    problem: Formulation,
    engine: Engine,
) -> list[Array]:
    """Starts for a loss that is not convex: the constant, and a convex neighbour shrunk to it."""
    stats, free = objective.stats, objective.free
    shape = getattr(loss.link, "shape", 0.0)
    constant = problem.start(stats, loss.link)
    constant = move_inside_support(rows, objective, shape, constant, engine)
    neighbour = regress(
        rows,
        stats,
        CanonicalLoss(loss.link),
        max(ridge, 1e-6 * stats.total),
        replace(problem, domain="line", tol=1e-5, max_passes=50),
        engine=engine,
    ).coef
    starts = [constant]
    for share in (1.0, 0.3):
        between = constant + share * (neighbour - constant)
        while not np.isfinite(objective.sums(rows, between, False, engine, value=True).value):
            share *= 0.5
            between = constant + share * (neighbour - constant)
            if share < 1e-3:
                break
        else:
            starts.append(np.where(free, between, constant))
    return starts


def _in_fewer_columns(
    rows: Rows,
    stats: ColumnSummary,
    loss: Loss,
    ridge: float,
    problem: Formulation,
    engine: Engine,
) -> FittedRegression:
    """Solve in the span of the rows, where a ridge leaves the answer: as many columns as rows."""
    held = rows if isinstance(rows, ArrayRows) else decode(rows, engine=engine)
    block = next(held.blocks()) if held.n_blocks == 1 else None
    X = block.X if block is not None else np.concatenate([b.X for b in held.blocks()])
    units = np.ones(X.shape[1]) if problem.units is None else problem.units.copy()
    units[units == 0] = 1.0  # a constant column: centred away
    centred = X - stats.mean if problem.intercept == "free" else X
    left, sizes, basis = np.linalg.svd(centred / units, full_matrices=False)
    kept = sizes > 1e-12 * max(sizes[0], 1e-300)
    span = ArrayRows(
        left[:, kept] * sizes[kept],
        held.map(_labels),
        weight=held.map(_weights),
        names=[f"direction {j + 1}" for j in range(int(kept.sum()))],
        classes=rows.classes,
        check=False,
    )
    inner = regress(
        span, summarise_columns(span), loss, ridge, replace(problem, units=None), engine=engine
    )
    coef = np.append(inner.coef[:-1] @ basis[kept] / units, inner.coef[-1])
    if problem.intercept == "free":
        coef[-1] -= stats.mean @ coef[:-1]
    remarks = _constant_columns(rows, stats, problem) + inner.remarks
    return replace(inner, coef=coef, remarks=remarks, free=problem.free(stats))


def _labels(block: Block, _: None) -> Array:
    return np.asarray(block.y)


def _weights(block: Block, _: None) -> Array:
    return np.ones(len(block)) if block.weight is None else np.asarray(block.weight)
