"""How are losses minimised that are not convex, or bounded, or have no minimum at all?

    GEV with the log loss (001 Table 1) is not convex for any shape above 0: several starts, each
    followed downhill by Fisher scoring with a check of the loss itself.
    The paper's constraint set C_xi (001 section 3.2): every positive (shape > 0) or negative
    (shape < 0) keeps its score inside the support. A log barrier gives the constrained optimum and
    a duality gap.
    Separation: without a penalty coefficients grow without limit if and only if some direction d
    has x_i' d >= 0 for every positive, <= 0 for every negative, and not all of them 0 (Albert and
    Anderson 1984).

Assumes the first start is feasible. Finds the best stationary point of those it reached; promises
no global minimum. Separation assumes that an intercept is part of the direction; penalised fits
have a finite answer and need no check.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import eigh, eigvalsh
from scipy.optimize import linprog

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, DataError, Phrase, listed
from scarce.linear.losses import Loss
from scarce.linear.newton import Curvature, Objective, OptimizerResult, StandardCoordinates
from scarce.linear.sums import ColumnSummary, RowLoss, labels_and_weights

SUSPECT = 10.0  # standardised coefficients above this are checked: odds of e^10 per std
FADED = 1e-5  # share of its information that a direction has left: below, it is checked
LARGEST = 4_000_000  # cells up to which the linear programme is tried
SOME_ROWS = 2_000  # enough to see how columns are correlated
SHOWN = 8  # columns that a sentence names


# --- downhill -------------------------------------------------------------------------------------


def descend(
    rows: Rows,
    objective: Objective,
    start: Array,
    *,
    tol: float,
    max_passes: int = 200,
    engine: Engine = None,
    enough: float | None = None,
) -> tuple[OptimizerResult, float]:
    """Go downhill from one start; return where it ended and the objective there.

    Stops at a gradient of `tol` per unit of weight, or with `enough` at half a squared Newton step
    (g' H^-1 g / 2) of that size, which is what a barrier needs.
    """
    coordinates = StandardCoordinates(objective, start)
    total = objective.stats.total

    def at(coef: Array) -> tuple[float, Array, Array]:
        sums = objective.sums(rows, coef, True, engine, value=True)
        value = sums.value + objective.penalty_at(coef)
        if not np.isfinite(value):
            return np.inf, sums.gradient, sums.gram
        return value, coordinates.gradient(coef, sums), coordinates.hessian(sums.gram)

    theta = coordinates.theta(start)
    coef = start
    value, gradient, hessian = at(coef)
    passes = 1
    step = np.zeros_like(theta)
    size = float(np.abs(gradient).max(initial=0.0)) / total if np.isfinite(value) else np.inf
    while np.isfinite(value) and size > tol and passes < max_passes:
        step = -Curvature(hessian).solve(gradient)
        downhill = float(step @ gradient)
        if enough is not None and -0.5 * downhill <= enough:
            return OptimizerResult(coef, size, True, passes, passes, step), value
        share = 1.0
        while True:
            tried = theta + share * step
            tried_coef = coordinates.coef(tried)
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
                return OptimizerResult(coef, size, False, passes, passes, step), value
        theta, coef, value = tried, tried_coef, new_value
        gradient, hessian = new_gradient, new_hessian
        size = float(np.abs(gradient).max(initial=0.0)) / total
    return OptimizerResult(coef, size, size <= tol, passes, passes, step), value


def descend_from(
    rows: Rows,
    objective: Objective,
    starts: list[Array],
    *,
    tol: float,
    max_passes: int = 200,
    engine: Engine = None,
) -> tuple[OptimizerResult, float]:
    """Go downhill from several starts; return the lowest end. Starts may be infeasible."""
    best: tuple[OptimizerResult, float] | None = None
    passes = 0
    for start in starts:
        found, value = descend(
            rows, objective, start, tol=tol, max_passes=max_passes, engine=engine
        )
        passes += found.passes
        better = best is None or (found.converged, -value) > (best[0].converged, -best[1])
        if np.isfinite(value) and better:
            best = found, value
    if best is None:
        return OptimizerResult(starts[0], np.inf, False, passes, passes, np.zeros(0)), np.inf
    return replace(best[0], passes=passes), best[1]


def move_inside_support(
    rows: Rows, objective: Objective, shape: float, start: Array, engine: Engine
) -> Array:
    """Move the intercept of a start until the rows that must be inside the support are."""
    if shape == 0:
        return start
    projection = (start[:-1], np.flatnonzero(start[:-1]))
    least, greatest, _, _ = rows.fold(
        projection_ranges, projection, engine=engine, merge=widest_ranges
    )
    edge = -1.0 / shape
    needed = edge - (least if shape > 0 else greatest)  # on top of the other terms of the score
    room = start[-1] - needed
    if (room > 0) == (shape > 0) and room != 0:
        return start
    if not objective.free[-1]:
        raise DataError(
            "The offset puts rows outside the support of this GEV link, and there is no intercept "
            "to bring them back.",
            code="outside-support",
            intercept=Argument("fit_intercept", True),
            loss=Argument("loss", "gev-canonical"),
            line=Argument("domain", "line"),
            remedy="Pass {intercept}, or {loss} with {line}.",
        )
    moved = start.copy()
    moved[-1] = needed + 0.1 * np.sign(shape)
    return moved


@dataclass(frozen=True)
class Barrier:
    """A GEV loss that becomes infinite where a row that must stay inside the support leaves it.

    Restricted are the positives for a shape above 0 and the negatives for one below (001, C_xi).
    """

    loss: RowLoss
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


def minimise_within_support(
    rows: Rows,
    objective: Objective,
    shape: float,
    start: Array,
    *,
    tol: float,
    engine: Engine = None,
) -> tuple[OptimizerResult, float]:
    """Minimise over the paper's constraint set; the certificate is a bound on the gap, per weight.

    Parameters
    ----------
    start : ndarray of shape (k + 1,)
        Coefficients inside the set, such as an intercept alone.
    tol : float
        Gap per unit of weight to stop at.
    """
    held = float(objective.stats.weight[1 if shape > 0 else 0])
    total = objective.stats.total
    height, passes = 0.1, 0
    coef = start
    while True:
        barred = replace(objective, loss=Barrier(objective.loss, shape, height))
        found, _ = descend(rows, barred, coef, tol=1e-15, engine=engine, enough=1e-3 * height)
        passes += found.passes
        coef = found.coef
        gap = height * held / total
        proven = gap <= tol and found.converged  # the bound holds at a stationary point only
        if gap <= tol:
            break
        height *= 0.1
    found = replace(found, certificate=gap, converged=proven, passes=passes + 1)
    return found, objective.value(rows, coef, engine)


# --- separation -----------------------------------------------------------------------------------


class SeparationCheck:
    """Stops an unpenalised search whose coefficients run away, and names the columns.

    A gradient test calls such a fit converged with huge coefficients. The direction that a
    diverging search takes, or in which the rows' information has faded, separates the classes: one
    fold proves it. Where it does not, a linear programme decides.
    """

    def __init__(self, rows: Rows, objective: Objective, loss: Loss, engine: Engine) -> None:
        self.rows, self.objective, self.loss, self.engine = rows, objective, loss, engine
        self.limit = SUSPECT

    def __call__(self, coef: Array, step: Array) -> None:
        """Check where a step leads, once coefficients are large."""
        size = np.abs(coef[:-1] * self.objective.stats.std)[self.objective.free[:-1]]
        largest = float(size.max(initial=0.0))
        if largest > self.limit:
            self.limit = 4.0 * largest
            heading = StandardCoordinates(self.objective, coef).T @ step
            self._refuse_separation([heading[:-1], coef[:-1]])

    def at_the_end(self, solution: OptimizerResult, start: Array) -> None:
        """Check directions whose information has faded away between start and end."""
        coordinates = StandardCoordinates(self.objective, solution.coef)
        end = self._hessian(coordinates, solution.coef)
        if eigvalsh(end)[0] > 1e3 * FADED * self._most_information(start):
            return
        begin = self._hessian(coordinates, start)
        try:
            faded, vectors = eigh(end, begin + 1e-12 * np.diag(np.diag(begin)))
        except np.linalg.LinAlgError:
            return
        if faded[0] < 1e3 * FADED:
            headings = [(coordinates.T @ vectors[:, 0])[:-1], solution.coef[:-1]]
            self._refuse_separation(headings, programme=faded[0] < FADED)

    def _hessian(self, coordinates: StandardCoordinates, coef: Array) -> Array:
        return coordinates.hessian(self.objective.sums(self.rows, coef, True, self.engine).gram)

    def _most_information(self, start: Array) -> float:
        """Return about the most information that a direction can have at a constant prediction.

        One standardised column has curvature times weight; together they have as many times that as
        the greatest eigenvalue of their correlations, which some rows tell well enough.
        """
        stats = self.objective.stats
        if start[:-1].any():  # an offset: no constant prediction
            return np.inf
        own = self.objective.free[:-1]
        some = (next(self.rows.blocks()).X[:SOME_ROWS] - stats.mean)[:, own] / stats.scale[own]
        alone = float(self.loss.fisher(start[-1:])[0]) * stats.total
        return alone * (2.0 + 2.0 * float(eigvalsh(some.T @ some / len(some))[-1]))

    def _refuse_separation(self, headings: list[Array], programme: bool = True) -> None:
        free = self.objective.free
        shares = separating_columns(
            self.rows,
            self.objective.stats,
            free,
            [np.where(free[:-1], heading, 0.0) for heading in headings],
            self.engine,
            programme=programme,
        )
        if shares is None:
            return
        order = [j for j in np.argsort(-shares, kind="stable") if shares[j] > 0.01]
        names = [self.rows.names[j] for j in order]
        raise DataError(
            "The classes are separated by {shown}: these columns predict at least some rows "
            "perfectly, and without a penalty their coefficients grow without limit.",
            code="separated-classes",
            columns=names,
            shown=listed([repr(name) for name in names], most=SHOWN),
            one=Argument("ridge", 1),
            auto=Argument("ridge", "auto"),
            firth=Phrase("bias_reduction='firth'", "--set bias_reduction=firth"),
            logistic=Argument("loss", "logistic"),
            remedy=[
                "Pass {one} or {auto}.",
                "{firth} with {logistic} always has a finite answer.",
            ],
        )


def separating_columns(
    rows: Rows,
    stats: ColumnSummary,
    free: NDArray[np.bool_],
    directions: list[Array],
    engine: Engine,
    *,
    programme: bool = True,
) -> Array | None:
    """Return how far each column takes part in a separating direction, or None.

    Parameters
    ----------
    rows : Rows
    stats : ColumnSummary
    free : ndarray of bool, shape (k + 1,)
        Coefficients that may move, the intercept's last.
    directions : list of ndarray of shape (k,)
        Where a search was heading, in the units of the columns.
    programme : bool
        Whether a linear programme may decide where none of them does.

    Returns
    -------
    ndarray of shape (k,), or None
        Largest entry 1, in units of each column's standard deviation; None where nothing separates.
    """
    scale = stats.scale
    for direction in directions:
        size = np.abs(direction * scale)
        for least in (0.0, 1e-6, 1e-3, 0.1):  # a search approaches its direction; round it
            cleaned = np.where(size >= least * size.max(initial=0.0), direction, 0.0)
            if _proves(rows, cleaned, bool(free[-1]), engine):
                return _shares(cleaned * scale)
    if not programme or len(rows) * rows.n_columns > LARGEST:
        return None
    found = _by_programme(rows, stats, free)
    return None if found is None else _shares(found[:-1])


def _proves(rows: Rows, direction: Array, intercept: bool, engine: Engine) -> bool:
    """Say whether all positives lie on one side of all negatives along a direction, or touch."""
    low, high, first, last = rows.fold(
        projection_ranges,
        (direction, np.flatnonzero(direction)),
        engine=engine,
        merge=widest_ranges,
    )
    reach = max(last, high) - min(low, first)
    if not reach > 0:
        return False
    slack = 1e-13 * reach  # of rounding only
    if intercept:
        return bool(low >= high - slack or first >= last - slack)
    return bool(min(low, -high) >= -slack or min(first, -last) >= -slack)


def projection_ranges(
    block: Block, params: tuple[Array, Array]
) -> tuple[float, float, float, float]:
    """Kernel: least positive, greatest negative, least negative and greatest positive of x'd."""
    direction, used = params
    y, weight = labels_and_weights(block, True)
    assert weight is not None
    along = block.X[:, used] @ direction[used]
    positive = along[(y == 1) & (weight > 0)]
    negative = along[(y == 0) & (weight > 0)]
    return (
        float(positive.min(initial=np.inf)),
        float(negative.max(initial=-np.inf)),
        float(negative.min(initial=np.inf)),
        float(positive.max(initial=-np.inf)),
    )


def widest_ranges(total: tuple[float, ...], more: tuple[float, ...]) -> tuple[float, ...]:
    """Merge projection_ranges: the least of the leasts, the greatest of the greatests."""
    return (
        min(total[0], more[0]),
        max(total[1], more[1]),
        min(total[2], more[2]),
        max(total[3], more[3]),
    )


def _by_programme(rows: Rows, stats: ColumnSummary, free: NDArray[np.bool_]) -> Array | None:
    """Maximise the sum of margins over directions in a box, none of them negative (Konis 2007)."""
    scale = stats.scale
    parts = []
    for block in rows.blocks():
        y, weight = labels_and_weights(block, True)
        assert weight is not None
        design = np.column_stack([(block.X - stats.mean) / scale, np.ones(len(block))])
        parts.append((np.where(y == 1, 1.0, -1.0)[:, None] * design)[weight > 0])
    signed = np.concatenate(parts)[:, free]
    answer = linprog(-signed.sum(axis=0), A_ub=-signed, b_ub=np.zeros(len(signed)), bounds=(-1, 1))
    if answer.status != 0 or -answer.fun <= 1e-7 * len(signed):
        return None
    direction = np.zeros(len(free))
    direction[free] = answer.x
    return direction


def _shares(standardised: Array) -> Array:
    size = np.abs(standardised)
    return np.asarray(size / max(size.max(initial=0.0), 1e-300))
