"""How sure are coefficients and probabilities that a handful of positives has taught?

    covariance = H^-1                    for log losses, H the Hessian with the penalty
    covariance = H^-1 (sum_i s_i slope_i^2 x_i x_i') H^-1      for the GEV-canonical loss (sandwich)
                 with s_i^2 for survey weights, whatever the loss
    profile:   { t : 2 [L(best) - max over coef with c'coef = t of L(coef)] <= chi2_1(level) }
                                                    (Heinze and Schemper 2002, section 3)
    Wald:      c'coef -+ z sqrt(c' covariance c);   Laplace: the same with the posterior's curvature

L is the penalised log-likelihood of a fit of firth.py; its log determinant stays that of all
coefficients. c picks one coefficient, or the log-odds at a point x: intervals of p(x) are made
there and mapped.

Assumes that shape and ridge were fixed beforehand: the shrinkage that tuning adds is not in the
width, and intervals around tuned fits covered .73 to .84 where .90 was promised
(docs/guide/intervals.md). Does not correct a wrong link.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtr, ndtri

from scarce.checks import read_level
from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import Argument, Problem, UsageError
from scarce.linear.firth import (
    BatchObjective,
    Design,
    FirthFit,
    fit_firth,
    maximise_batch,
    newton_step,
    objective_of,
)
from scarce.linear.links import Logit
from scarce.linear.losses import CanonicalLoss
from scarce.linear.newton import Objective, StandardCoordinates
from scarce.linear.sums import RowLoss, labelled_rows, piece_rows, weighted_gram
from scarce.results import short

BATCH_SIZE = 64  # ends that are searched together: more share a pass, but leave the cache
ROUNDS = 60  # of the search for an end; three or four are usual
INNER_TOL = 1e-8  # certificate of the fits on the way: likelihoods are right to its square
END_TOL = 1e-8  # of the signed root, relative to its target
FAR = 50.0  # standard errors beyond which a likelihood at its supremum stays there


# --- standard errors ------------------------------------------------------------------------------


def covariance(
    rows: Rows, objective: Objective, coef: Array, survey: bool, engine: Engine
) -> Array:
    """Return the covariance of [coef, intercept]; 0 for what was not fitted."""
    loss = objective.loss
    canonical = isinstance(loss, CanonicalLoss) and not isinstance(loss.link, Logit)
    gram = objective.sums(rows, coef, True, engine).gram
    coordinates = StandardCoordinates(objective, coef)
    inverse = np.linalg.pinv(coordinates.hessian(gram), hermitian=True)
    if canonical or survey:
        unlabelled = objective.stats.unlabelled > 0
        params = (loss, coef[:-1].copy(), float(coef[-1]), unlabelled, survey)
        squares = rows.fold(squared_slopes, params, engine=engine)
        if survey:  # a weight is no count: each row is one observation
            n = float(objective.stats.count.sum())
            squares *= n / max(n - 1.0, 1.0)
        inverse = inverse @ (coordinates.T.T @ squares @ coordinates.T) @ inverse
    return np.asarray(coordinates.T @ inverse @ coordinates.T.T)


def squared_slopes(block: Block, params: tuple[RowLoss, Array, float, bool, bool]) -> Array:
    """Kernel: sum of s_i slope_i^2 [x_i, 1][x_i, 1]', with s_i squared for survey weights."""
    loss, slopes, constant, unlabelled, survey = params
    total = np.zeros((len(slopes) + 1, len(slopes) + 1))
    for piece in block.pieces(piece_rows(len(slopes))):
        X, y, weight = labelled_rows(piece, unlabelled)
        slope, _ = loss.sweep(y, X @ slopes + constant)
        square = slope * slope
        if weight is not None:
            square = square * (weight**2 if survey else weight)
        total += weighted_gram(X, square)
    return total


def score_errors(block: Block, params: tuple[Array, Array, Array, float]) -> Array:
    """Kernel of the map: score of each row and its standard error."""
    matrix, origin, slopes, constant = params
    design = np.column_stack([block.X - origin, np.ones(len(block))])
    variance = np.einsum("ij,jk,ik->i", design, matrix, design, optimize=True)
    return np.column_stack([block.X @ slopes + constant, np.sqrt(np.maximum(variance, 0.0))])


# --- summary --------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Summary:
    """A table of coefficients; `print` it, or read `columns`.

    Attributes
    ----------
    title : str
    columns : dict of str to list
        term, coef, and where the fit allows it error, z, p, low, high.
    notes : tuple of str
    """

    title: str
    columns: Mapping[str, Sequence[str | float]]
    notes: tuple[str, ...]

    def __str__(self) -> str:
        return self.render(str)

    def render(self, say: Callable[[Problem], str]) -> str:
        """Return the table, with notes that are problems in the words of a surface."""
        head = list(self.columns)
        body = [
            [cell if isinstance(cell, str) else short(cell) for cell in row]
            for row in zip(*self.columns.values(), strict=True)
        ]
        widths = [max(len(text) for text in column) for column in zip(head, *body, strict=True)]
        lines = [self.title]
        for row in [head, *body]:
            cells = [row[0].ljust(widths[0])]
            cells += [cell.rjust(width) for cell, width in zip(row[1:], widths[1:], strict=True)]
            lines.append("  ".join(cells).rstrip())
        notes = [say(note) if isinstance(note, Problem) else note for note in self.notes]
        return "\n".join([*lines, *notes])


def wald_columns(value: Array, error: Array) -> dict[str, list[float]]:
    """Return standard errors, z values and p values as columns of a summary."""
    with np.errstate(divide="ignore", invalid="ignore"):
        z = np.where(error > 0, value / error, np.nan)
    return {"error": error.tolist(), "z": z.tolist(), "p": (2 * ndtr(-np.abs(z))).tolist()}


# --- intervals ------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Interval:
    """One interval, or one per row of what was asked for.

    Parameters
    ----------
    value, low, high : float, or ndarray of shape (m,)
        Estimate and ends; -inf and inf where the data set no bound.
    level : float
        Nominal coverage.
    method : str
        "profile", "wald" or "laplace", after the penalty.
    gap : float, or ndarray of shape (m,)
        Certificate of a profile: how far the likelihood-ratio statistic at the ends is from its
        target, the larger of the two, relative to it; 0 for closed forms.
    passes : int
        Folds over the rows that the search took, for all rows together.

    Examples
    --------
    >>> Interval(0.0, -1.0, 1.0, 0.9, "firth profile").prob()
    Interval(value=0.5, low=0.2689..., high=0.7310..., level=0.9, method='firth profile', ...)
    """

    value: float | Array
    low: float | Array
    high: float | Array
    level: float
    method: str
    gap: float | Array = 0.0
    passes: int = 0

    def prob(self) -> Interval:
        """Map an interval of log-odds to one of probabilities."""
        low, value, high = (_number(expit(part)) for part in (self.low, self.value, self.high))
        return replace(self, low=low, value=value, high=high)


def wald_interval(
    fit: FirthFit,
    *,
    position: int | Sequence[int] | None = None,
    x: ArrayLike | None = None,
    level: float = 0.9,
) -> Interval:
    """Return estimate -+ z standard errors, for coefficients or log-odds at points.

    Parameters
    ----------
    fit : FirthFit
        Of `fit_firth` (penalty "firth" or "none") or `flic_intercept`.
    position : int or sequence of int
        Coefficients, 0 for the intercept; or
    x : array-like of shape (k,) or (m, k)
        Points, in the columns of the fit. A row's offset is not part of the log-odds returned.
    level : float
        Nominal coverage, in (0, 1).

    Examples
    --------
    >>> from scarce import open_rows
    >>> rows = open_rows(np.arange(8.0)[:, None], label=[0, 0, 0, 0, 1, 0, 1, 1])
    >>> wald = wald_interval(fit_firth(rows), position=1)
    >>> round(wald.low, 3), round(wald.high, 3)
    (-0.116, 1.473)
    """
    if fit.penalty == "normal":
        raise UsageError(
            "The fit has a normal prior, so its interval is a credible one.",
            code="wrong-penalty",
            penalty=fit.penalty,
            remedy="Call laplace_interval.",
        )
    return _curvature_interval(fit, position, x, level, f"{fit.penalty} wald")


def laplace_interval(
    fit: FirthFit,
    *,
    position: int | Sequence[int] | None = None,
    x: ArrayLike | None = None,
    level: float = 0.9,
) -> Interval:
    """Return the normal approximation to the posterior under the fit's normal prior.

    With the default scale of 2.5 per standard deviation of a column it is honest with 10 positives
    and never fails; with a scale that was tuned on the same rows it is not honest at all.

    Parameters
    ----------
    fit : FirthFit
        Of `fit_firth(..., penalty="normal")`.
    position, x, level
        As for `wald_interval`.

    Examples
    --------
    >>> from scarce import open_rows
    >>> rows = open_rows(np.arange(8.0)[:, None], label=[0, 0, 0, 0, 1, 0, 1, 1])
    >>> laplace = laplace_interval(fit_firth(rows, penalty="normal"), position=1)
    >>> round(laplace.low, 3), round(laplace.high, 3)
    (0.019, 1.747)
    """
    if fit.penalty != "normal":
        raise UsageError(
            "The fit's penalty is {penalty!r}, and a posterior needs a prior.",
            code="wrong-penalty",
            penalty=fit.penalty,
            normal=Argument("penalty", "normal"),
            remedy="Fit with {normal}, or call wald_interval.",
        )
    return _curvature_interval(fit, position, x, level, "normal laplace")


def profile_interval(
    rows: Rows,
    fit: FirthFit,
    *,
    position: int | Sequence[int] | None = None,
    x: ArrayLike | None = None,
    level: float = 0.9,
    engine: Engine = None,
) -> Interval:
    """Return profile penalised likelihood intervals, for coefficients or log-odds at points.

    Parameters
    ----------
    rows : Rows
        The rows of the fit.
    fit : FirthFit
        Of `fit_firth`. For a "firth" fit every interval is finite. For "none", ends at infinity
        are found and returned as such when the classes are separated.
    position, x, level
        As for `wald_interval`.
    engine : engine, optional
        Who runs the blocks of rows.

    Returns
    -------
    Interval
        Ends are exact to about 1e-8 of the distance from the estimate; see `gap`.

    Notes
    -----
    All ends are searched side by side, 64 at a time, by Newton's method on the signed root of the
    likelihood ratio, which is nearly a straight line, inside a bracket. Cost: about 25 passes over
    the rows for each 32 points, each pass with 64 times the arithmetic of a fit's.

    Examples
    --------
    >>> from scarce import open_rows
    >>> rows = open_rows(np.arange(8.0)[:, None], label=[0, 0, 0, 0, 1, 0, 1, 1])
    >>> fit = fit_firth(rows)
    >>> slope = profile_interval(rows, fit, position=1)
    >>> round(slope.low, 3), round(slope.high, 3)
    (0.078, 1.87)
    >>> prob = profile_interval(rows, fit, x=[[2.0], [7.0]]).prob()
    >>> prob.low.round(3), prob.high.round(3)
    (array([0.006, 0.385]), array([0.5  , 0.995]))
    """
    if fit.penalty == "flic":
        raise UsageError(
            "A FLIC fit maximises no likelihood that could be profiled.",
            code="wrong-penalty",
            penalty=fit.penalty,
            remedy="Profile the Firth fit that it came from, and keep the FLIC value: "
            "replace(interval, value=...).",
        )
    directions, known, single = _directions(fit.design, position, x)
    target = float(ndtri(0.5 + read_level(level) / 2))
    start, value = fit, directions @ fit.standard
    if fit.separated:  # the maximum is at infinity: start the search where Firth's is
        start = fit_firth(
            rows, fit.design.columns.tolist(), offset=fit.design.offset, engine=engine
        )
    objective = objective_of(rows, fit.design, fit.penalty, fit.scale, engine)
    estimable = np.flatnonzero(known)
    low, high = np.full(len(value), -np.inf), np.full(len(value), np.inf)
    gap, passes = np.zeros(len(value)), 0
    for first in range(0, len(estimable), BATCH_SIZE // 2):
        some = estimable[first : first + BATCH_SIZE // 2]
        search = _ProfileSearch(
            objective, fit, start, np.repeat(directions[some], 2, axis=0), target
        )
        ends, gaps = search.run()
        low[some], high[some] = ends[0::2], ends[1::2]
        gap[some] = np.maximum(gaps[0::2], gaps[1::2])
        passes += search.passes
    return _interval(value, low, high, level, f"{fit.penalty} profile", gap, passes, single)


def wald_coefficients(value: Array, error: Array, level: float) -> Interval:
    """Return Wald intervals of coefficients from their standard errors."""
    wide = ndtri(0.5 + level / 2) * error
    return Interval(value, value - wide, value + wide, level, "wald")


def profile_coefficients(
    rows: Rows, fit: FirthFit, n_columns: int, level: float, engine: Engine
) -> Interval:
    """Return profile intervals of all coefficients of a model, its intercept last.

    Columns from `n_columns` on (an offset that was given for each row) are left out. A column of
    the model that is an offset has the value 1, exactly.
    """
    design, k = fit.design, n_columns
    fitted = [*range(1, len(design.columns) + 1), 0]
    found = profile_interval(rows, fit, position=fitted, level=level, engine=engine)
    place = np.append(design.columns, k)
    inside = place <= k
    value, low, high = np.zeros(k + 1), np.full(k + 1, -np.inf), np.full(k + 1, np.inf)
    if design.offset is not None and design.offset < k:
        value[design.offset] = low[design.offset] = high[design.offset] = 1.0
    for target, source in ((value, found.value), (low, found.low), (high, found.high)):
        target[place[inside]] = np.asarray(source)[inside]
    method = found.method.removeprefix("none ")
    return Interval(value, low, high, level, method, found.gap, found.passes)


class _ProfileSearch:
    """Search for lower and upper ends of several profiles at once: member 2i is a lower end.

    Each end moves along its direction: t = start + side * u * error. It is
    where the signed root of the likelihood ratio, times side, is the normal quantile.
    """

    def __init__(
        self,
        objective: BatchObjective,
        fit: FirthFit,
        start: FirthFit,
        directions: Array,
        target: float,
    ) -> None:
        m = len(directions)
        self.objective, self.fit, self.target = objective, fit, target
        self.best = fit.objective - (fit.design.log_std if fit.penalty == "firth" else 0.0)
        self.directions = directions
        self.norms = (directions**2).sum(axis=1)
        self.side = np.tile([-1.0, 1.0], m // 2)
        self.centre = directions @ start.standard
        steps = np.linalg.solve(start.curvature, directions.T).T
        self.error = np.sqrt((steps * directions).sum(axis=1))
        basis, _ = np.linalg.qr(directions[:, :, None], mode="complete")
        self.free = basis[:, :, 1:]
        self.coef = np.tile(start.standard, (m, 1))
        self.tangent = steps / (self.error**2)[:, None]
        self.secant = np.tile(fit.secant, (m, 1, 1))
        self.u = np.zeros(m)
        self.passes = 0

    def run(self) -> tuple[Array, Array]:
        """Return the ends and how far the likelihood-ratio statistic is from its target there."""
        m = len(self.u)
        ends, gaps = self.side * np.inf, np.zeros(m)
        inside, outside = np.full(m, -np.inf), np.full(m, np.inf)
        wanted = np.full(m, self.target)
        open_ends = np.arange(m)
        for _ in range(ROUNDS):
            root, slope, deviance = self._move(open_ends, wanted[open_ends])
            u = self.u[open_ends] = wanted[open_ends]
            miss = root - self.target
            inside[open_ends] = np.where(miss < 0, u, inside[open_ends])
            outside[open_ends] = np.where(miss < 0, outside[open_ends], u)
            below, above = inside[open_ends], outside[open_ends]
            done = np.abs(miss) <= END_TOL * self.target
            t = self.centre[open_ends] + self.side[open_ends] * u * self.error[open_ends]
            ends[open_ends[done]] = t[done]
            gaps[open_ends] = np.abs(deviance / self.target**2 - 1.0)
            # Where the classes are separated a profile may rise for ever: no bound on that side.
            endless = self.fit.separated & (u > FAR) & (deviance < 1e-6)
            gaps[open_ends[endless]] = 0.0
            wanted[open_ends] = _next(u, miss, slope, below, above)
            open_ends = open_ends[~(done | endless)]
            if len(open_ends) == 0:
                break
        ends[open_ends] = (self.centre + self.side * self.u * self.error)[open_ends]
        return ends, gaps

    def _move(self, some: NDArray[np.intp], wanted: Array) -> tuple[Array, Array, Array]:
        """Refit the other coefficients at new u; return signed root, its slope, the statistic."""
        c, side, error = self.directions[some], self.side[some], self.error[some]
        t = self.centre[some] + side * wanted * error
        coef = self.coef[some]
        coef = coef + (t - (coef * c).sum(axis=1))[:, None] * self.tangent[some]
        coef += ((t - (coef * c).sum(axis=1)) / self.norms[some])[:, None] * c
        found = maximise_batch(
            self.objective, coef, self.free[some], tol=INNER_TOL, secant=self.secant[some]
        )
        self.passes += found.passes
        sound = np.isfinite(found.objective)
        deviance = 2.0 * (self.best - found.objective)
        pull = (found.score * c).sum(axis=1) / self.norms[some]  # d profile / dt
        size = np.sqrt(np.maximum(deviance, 0.0))
        # The sign of the root is that of the way back to the maximum, which may be at infinity.
        root = np.where(sound, np.where(side * pull <= 0, size, -size), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = -side * pull * error / root
        good = some[sound]
        self.coef[good], self.secant[good] = found.coef[sound], found.secant[sound]
        steps = newton_step(found.curvature + found.secant, c)
        along = (steps * c).sum(axis=1)
        usable = sound & (along > 0) & np.isfinite(along)
        self.tangent[some[usable]] = steps[usable] / along[usable, None]
        return root, slope, deviance


def _next(u: Array, miss: Array, slope: Array, inside: Array, outside: Array) -> Array:
    """Newton's next point where it lies in the bracket, else a wider step or the middle."""
    with np.errstate(divide="ignore", invalid="ignore"):
        newton = u - miss / slope
        middle = 0.5 * (inside + outside)
    reach = 2.0 * np.abs(u) + 2.0
    wider = np.where(miss < 0, u + reach, u - reach)
    fallback = np.where(np.isfinite(middle), middle, wider)
    fair = (newton > inside) & (newton < outside) & (np.abs(newton - u) <= reach)
    return np.asarray(np.where(fair, newton, fallback))


def _curvature_interval(
    fit: FirthFit,
    position: int | Sequence[int] | None,
    x: ArrayLike | None,
    level: float,
    method: str,
) -> Interval:
    directions, known, single = _directions(fit.design, position, x)
    target = float(ndtri(0.5 + read_level(level) / 2))
    value = directions @ fit.standard
    wide = np.full(len(value), np.inf)
    if not fit.separated:
        steps = np.linalg.solve(fit.curvature, directions[known].T).T
        wide[known] = target * np.sqrt((steps * directions[known]).sum(axis=1))
    none = np.zeros(len(value))
    return _interval(value, value - wide, value + wide, level, method, none, 0, single)


def _directions(
    design: Design, position: int | Sequence[int] | None, x: ArrayLike | None
) -> tuple[Array, NDArray[np.bool_], bool]:
    """Return c of each quantity c @ standard, if the rows tell it, and if only one was asked."""
    if (position is None) == (x is None):
        raise UsageError(
            "Give either {position} (coefficients) or {x} (log-odds at points).",
            code="one-of-two",
            position=Argument("position"),
            x=Argument("x"),
        )
    width = len(design.columns)
    if position is not None:
        asked = np.atleast_1d(np.asarray(position, dtype=np.intp))
        if len(asked) and not (asked.min() >= 0 and asked.max() <= width):
            raise UsageError(
                "{argument} must be 0 (the intercept) or 1 to {last} (the columns), got {value!r}.",
                code="unknown-coefficient",
                argument=Argument("position"),
                last=width,
                value=position,
            )
        directions = np.array([design.direction(p) for p in asked.tolist()])
        known = ~np.isin(asked - 1, design.left_out)
        return directions.reshape(len(asked), design.size), known, np.ndim(position) == 0
    given = np.asarray(x, dtype=np.float64)
    points = np.atleast_2d(given)
    if points.ndim != 2 or points.shape[1] != width or not np.isfinite(points).all():
        raise UsageError(
            "{argument} must hold points of {width} finite values, in the order of the fit's "
            "columns, got shape {shape}.",
            code="invalid-points",
            argument=Argument("x"),
            width=width,
            shape=given.shape,
        )
    scaled = (points - design.centre) / design.std
    directions = np.column_stack([np.ones(len(points)), scaled[:, design.kept]])
    # A column left out is a combination of others: a point that breaks it was never seen.
    apart = np.abs(scaled[:, design.left_out] - scaled[:, design.kept] @ design.relation.T)
    limit = 1e-5 + 1e-9 * np.abs(design.centre / design.std)[design.left_out]
    return directions, np.asarray((apart <= limit).all(axis=1)), given.ndim == 1


def _interval(
    value: Array,
    low: Array,
    high: Array,
    level: float,
    method: str,
    gap: Array,
    passes: int,
    single: bool,
) -> Interval:
    if single:
        return Interval(
            float(value[0]), float(low[0]), float(high[0]), level, method, float(gap[0]), passes
        )
    return Interval(value, low, high, level, method, gap, passes)


def _number(value: NDArray[np.float64]) -> float | Array:
    return float(value) if np.ndim(value) == 0 else value
