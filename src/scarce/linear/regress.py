"""One penalised linear regression: from rows and a loss to coefficients, by the method they need.

    convex loss                     Newton on folds (newton.py)
    GEV with the log loss           downhill from several starts (descent.py)
    the paper's constraint set      a log barrier (descent.py)
    more columns than rows          the same problem in as many columns as there are rows

Says what is not determined by the data (constant and repeated columns), and refuses what has no
answer: classes that the columns tell apart perfectly, without a penalty.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from scipy.linalg import eigh, eigvalsh

from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.memory import ArrayRows, decode
from scarce.engine.rows import Rows
from scarce.errors import DataError
from scarce.linear.descent import descend_from, inside, within_support
from scarce.linear.losses import CanonicalLoss
from scarce.linear.newton import Frame, Solution, Task, independent, minimise
from scarce.linear.separation import FADED, SUSPECT, separating
from scarce.linear.sums import Look
from scarce.linear.sums import look as look_at

SOME_ROWS = 2_000  # enough to see how columns hang together


@dataclass(frozen=True)
class Setting:
    """How a regression is to be done, apart from loss and ridge.

    Parameters
    ----------
    intercept : {"free", "penalised", "none"}
    offset : int or None
        Position of a column whose coefficient is 1 and not sought.
    domain : {"line", "paper"}
    tol : float
        Certificate to stop at.
    max_passes : int
    units : ndarray of shape (k,), optional
        The ridge applies to coef * units; 1 by default.
    """

    intercept: str = "free"
    offset: int | None = None
    domain: str = "line"
    tol: float = 1e-10
    max_passes: int = 200
    units: Array | None = None

    def penalty(self, ridge: float, k: int) -> Array:
        """Return the penalty of each coefficient, the intercept's last."""
        penalty = np.full(k + 1, float(ridge))
        if self.units is not None:
            penalty[:k] *= self.units**2
        penalty[k] = ridge if self.intercept == "penalised" else 0.0
        if self.offset is not None:
            penalty[self.offset] = 0.0
        return penalty

    def free(self, look: Look) -> Array:
        """Say which coefficients are sought: a constant column adds nothing to an intercept."""
        free = np.ones(len(look.mean) + 1, dtype=bool)
        if self.intercept == "free":
            free[:-1] = look.spread > 0
        free[-1] = self.intercept != "none"
        if self.offset is not None:
            free[self.offset] = False
        return free

    def start(self, look: Look, link: Any) -> Array:
        """Return the constant prediction: the prevalence, or a score of 0 without intercept."""
        start = np.zeros(len(look.mean) + 1)
        if self.intercept != "none":
            start[-1] = float(link.forward(np.array([look.prevalence]))[0])
        if self.offset is not None:
            start[self.offset] = 1.0
            if self.intercept != "none":
                start[-1] -= look.mean[self.offset]
        return start


@dataclass(frozen=True)
class Regression:
    """A fitted regression.

    Attributes
    ----------
    coef : ndarray of shape (k + 1,)
        Slopes, then the intercept.
    solution : Solution
    objective : float
        nan where it was not evaluated.
    proves : str
        What the certificate is.
    remarks : tuple of str
    free : ndarray of bool, shape (k + 1,)
        Coefficients that the data determine.
    """

    coef: Array
    solution: Solution
    objective: float
    proves: str
    remarks: tuple[str, ...]
    free: Array


def regress(
    rows: Rows,
    look: Look,
    loss: Any,
    ridge: float,
    setting: Setting,
    *,
    start: Array | None = None,
    thorough: bool = True,
    engine: Engine = None,
) -> Regression:
    """Fit one regression; see Setting.

    `start` is a warm start, not used where the constant prediction is a better one; with
    `thorough`, a loss that is not convex is tried from others too.
    """
    k = rows.n_columns
    if ridge > 0 and k > len(rows) and setting.offset is None and setting.domain == "line":
        return _in_fewer_columns(rows, look, loss, ridge, setting, engine)
    free = setting.free(look)
    remarks = _constant(rows, look, setting)
    if ridge == 0 and free[:-1].any():
        free, repeated = _without_repeats(rows, look, loss, setting, free, engine)
        remarks += repeated
    task = Task(loss, setting.penalty(ridge, k), free, look)
    cold = setting.start(look, loss.link)
    if not smooth(loss) or setting.domain == "paper":
        cold = inside(rows, task, getattr(loss.link, "shape", 0.0), cold, engine)
    begin = cold if start is None else np.where(free, start, cold)
    proves = "gradient norm"
    if setting.domain == "paper" and getattr(loss.link, "shape", 0.0) != 0.0:
        solution, objective = within_support(
            rows, task, loss.link.shape, cold, tol=setting.tol, engine=engine
        )
        proves = "duality gap"
    elif smooth(loss):
        solution = minimise(
            rows,
            task,
            begin,
            tol=setting.tol,
            max_passes=setting.max_passes,
            engine=engine,
            sample=start is None,  # a warm start is nearer than what a part of the rows says
            watch=_Watch(rows, task, engine) if ridge == 0 else None,
            instead=None if start is None else (cold, _cold_value(rows, task, cold, engine)),
        )
        objective = np.nan
    else:
        starts = [begin] if start is not None else []
        if thorough or not starts:
            starts += _starts(rows, look, loss, ridge, setting, free, engine)
        solution, objective = descend_from(
            rows, task, starts, tol=setting.tol, max_passes=setting.max_passes, engine=engine
        )
    if ridge == 0 and np.isfinite(solution.certificate) and free[:-1].any():
        _Watch(rows, task, engine).at_the_end(solution, cold)
    if not solution.converged:
        why = "raise max_passes, or tol"
        shape = getattr(loss.link, "shape", 0.0)
        if shape == -1.0 and not smooth(loss):
            why = "at shape -1 this loss has a kink, where no gradient proves the minimum"
        elif shape < 0 and not smooth(loss):
            why += "; near the edge of its support this loss bends too sharply for small gradients"
        remarks += (
            f"The fit stopped at a {proves} of {solution.certificate:.2g} after {solution.passes} "
            f"passes, above tol={setting.tol:g}: {why}.",
        )
    return Regression(solution.coef, solution, objective, proves, remarks, free)


def _cold_value(rows: Rows, task: Task, cold: Array, engine: Engine) -> float:
    """Return the penalised loss at the constant prediction; with an offset this takes a pass."""
    penalty = 0.5 * float(task.penalty @ cold**2)
    if cold[:-1].any():
        return task.sums(rows, cold, False, engine, value=True).value + penalty
    each = task.loss.value(np.array([0.0, 1.0]), np.full(2, cold[-1]))
    return float(task.look.weight @ each) + penalty


def _constant(rows: Rows, look: Look, setting: Setting) -> tuple[str, ...]:
    constant = [rows.names[j] for j in np.flatnonzero(look.spread == 0) if j != setting.offset]
    if not constant or setting.intercept != "free":
        return ()
    return (f"Constant, so their coefficient is 0: {_listed(constant)}.",)


def _without_repeats(
    rows: Rows, look: Look, loss: Any, setting: Setting, free: Array, engine: Engine
) -> tuple[Array, tuple[str, ...]]:
    """Leave out columns that are combinations of earlier ones: nothing would fix them."""
    if _surely_independent(rows, look, free):
        return free, ()
    task = Task(loss, np.zeros(len(free)), free, look)
    start = setting.start(look, loss.link)
    gram = Frame(task, start).hessian(task.sums(rows, start, True, engine).gram)
    own = np.flatnonzero(free[:-1])
    kept = independent(gram[: len(own), : len(own)])
    if kept.all():
        return free, ()
    free = free.copy()
    free[own[~kept]] = False
    names = [rows.names[j] for j in own[~kept]]
    return free, (f"Combinations of earlier columns, so their coefficient is 0: {_listed(names)}.",)


def _surely_independent(rows: Rows, look: Look, free: Array) -> bool:
    """Say whether some rows alone show that no column is a combination of others."""
    X = next(rows.blocks()).X[: max(SOME_ROWS, 10 * rows.n_columns)]
    X = X[~np.isnan(X).any(axis=1)]
    own = np.flatnonzero(free[:-1])
    scale = np.where(look.spread > 0, look.spread, 1.0)[own]
    standard = (X[:, own] - look.mean[own]) / scale if free[-1] else X[:, own]
    design = np.column_stack([standard, np.ones(len(X))]) if free[-1] else standard
    return len(X) > 2 * design.shape[1] and bool(independent(design.T @ design).all())


def _starts(
    rows: Rows, look: Look, loss: Any, ridge: float, setting: Setting, free: Array, engine: Engine
) -> list[Array]:
    """Starts for a loss that is not convex: the constant, and a convex neighbour shrunk to it."""
    task = Task(loss, setting.penalty(ridge, rows.n_columns), free, look)
    constant = inside(rows, task, loss.link.shape, setting.start(look, loss.link), engine)
    neighbour = regress(
        rows,
        look,
        CanonicalLoss(loss.link),
        max(ridge, 1e-6 * look.total),
        replace(setting, domain="line", tol=1e-5, max_passes=50),
        engine=engine,
    ).coef
    starts = [constant]
    for share in (1.0, 0.3):
        mixed = constant + share * (neighbour - constant)
        while not np.isfinite(task.sums(rows, mixed, False, engine, value=True).value):
            share *= 0.5
            mixed = constant + share * (neighbour - constant)
            if share < 1e-3:
                break
        else:
            starts.append(np.where(free, mixed, constant))
    return starts


def smooth(loss: Any) -> bool:
    """Say whether a loss is convex and finite for every score, as Newton's method needs."""
    everywhere = isinstance(loss, CanonicalLoss) or loss.link.support == (-np.inf, np.inf)
    return bool(loss.convex and everywhere)


class _Watch:
    """Stops an unpenalised search whose coefficients run away, and names the columns."""

    def __init__(self, rows: Rows, task: Task, engine: Engine) -> None:
        self.rows, self.task, self.engine = rows, task, engine
        self.limit = SUSPECT

    def __call__(self, coef: Array, step: Array) -> None:
        """Look at where a step leads, once coefficients are large."""
        size = float(
            np.abs(coef[:-1] * self.task.look.spread)[self.task.free[:-1]].max(initial=0.0)
        )
        if size > self.limit:
            self.limit = 4.0 * size
            self._look([(Frame(self.task, coef).T @ step)[:-1], coef[:-1]])

    def at_the_end(self, solution: Solution, start: Array) -> None:
        """Look for directions whose information has faded away between start and end."""
        frame = Frame(self.task, solution.coef)
        end = self._hessian(frame, solution.coef)
        if eigvalsh(end)[0] > 1e3 * FADED * self._at_most(start):
            return
        begin = self._hessian(frame, start)
        try:
            faded, vectors = eigh(end, begin + 1e-12 * np.diag(np.diag(begin)))
        except np.linalg.LinAlgError:
            return
        if faded[0] < 1e3 * FADED:
            headings = [(frame.T @ vectors[:, 0])[:-1], solution.coef[:-1]]
            self._look(headings, only_these=faded[0] >= FADED)

    def _hessian(self, frame: Frame, coef: Array) -> Array:
        return frame.hessian(self.task.sums(self.rows, coef, True, self.engine).gram)

    def _at_most(self, start: Array) -> float:
        """Return about the most information that a direction can have at a constant prediction.

        One standardised column has curvature times weight; together they have as many times that as
        the greatest eigenvalue of their correlations, which some rows tell well enough.
        """
        look = self.task.look
        if start[:-1].any():  # an offset: no constant prediction
            return np.inf
        own = self.task.free[:-1]
        scale = np.where(look.spread > 0, look.spread, 1.0)
        some = (next(self.rows.blocks()).X[:SOME_ROWS] - look.mean)[:, own] / scale[own]
        alone = float(self.task.loss.fisher(start[-1:])[0]) * look.total
        return alone * (2.0 + 2.0 * float(eigvalsh(some.T @ some / len(some))[-1]))

    def _look(self, headings: list[Array], only_these: bool = False) -> None:
        free = self.task.free[:-1]
        headings = [np.where(free, heading, 0.0) for heading in headings]
        look = self.task.look
        shares = separating(
            self.rows, look, self.task.free, headings, self.engine, programme=not only_these
        )
        if shares is None:
            return
        order = [j for j in np.argsort(-shares, kind="stable") if shares[j] > 0.01]
        names = _listed([self.rows.names[j] for j in order])
        raise DataError(
            f"The classes are separated by {names}: these columns tell at least some rows apart "
            "perfectly, and without a penalty their coefficients grow without limit. Pass ridge=1 "
            "(or ridge='auto'), or bias_reduction='firth' with loss='logistic', which always has "
            "a finite answer."
        )


def _in_fewer_columns(
    rows: Rows, look: Look, loss: Any, ridge: float, setting: Setting, engine: Engine
) -> Regression:
    """Solve in the span of the rows, where a ridge leaves the answer: as many columns as rows."""
    held = rows if isinstance(rows, ArrayRows) else decode(rows, engine=engine)
    block = next(held.blocks()) if held.n_blocks == 1 else None
    X = block.X if block is not None else np.concatenate([b.X for b in held.blocks()])
    y = held.map(_labels)
    weight = held.map(_weights)
    units = np.ones(X.shape[1]) if setting.units is None else setting.units.copy()
    units[units == 0] = 1.0  # a constant column: centred away
    centred = X - look.mean if setting.intercept == "free" else X
    left, sizes, basis = np.linalg.svd(centred / units, full_matrices=False)
    kept = sizes > 1e-12 * max(sizes[0], 1e-300)
    names = [f"direction {j + 1}" for j in range(int(kept.sum()))]
    part = ArrayRows(
        left[:, kept] * sizes[kept],
        y,
        weight=weight,
        names=names,
        classes=rows.classes,
        check=False,
    )
    inner = regress(part, look_at(part), loss, ridge, replace(setting, units=None), engine=engine)
    coef = np.append(inner.coef[:-1] @ basis[kept] / units, inner.coef[-1])
    if setting.intercept == "free":
        coef[-1] -= look.mean @ coef[:-1]
    return Regression(
        coef,
        inner.solution,
        inner.objective,
        inner.proves,
        _constant(rows, look, setting) + inner.remarks,
        setting.free(look),
    )


def _labels(block: Any, _: None) -> Array:
    return np.asarray(block.y)


def _weights(block: Any, _: None) -> Array:
    return np.ones(len(block)) if block.weight is None else np.asarray(block.weight)


def _listed(names: list[str], most: int = 8) -> str:
    shown = ", ".join(repr(name) for name in names[:most])
    return shown if len(names) <= most else f"{shown} and {len(names) - most} more"
