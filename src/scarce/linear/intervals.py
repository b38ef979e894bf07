"""How sure is a coefficient, or a probability, that a handful of positives has taught?

    profile: { t : 2 [L(best) - max over coef with c'coef = t of L(coef)] <= chi2_1(level) }
                                                    (Heinze and Schemper 2002, section 3)
    Wald:    c'coef -+ z sqrt(c' I^-1 c);   Laplace: the same with the curvature of the posterior

L is the penalised log-likelihood of the fit; its log determinant stays that of all coefficients.
c picks one coefficient, or the log-odds at a point x: intervals of p(x) are made there and mapped.
Assumes that the fit's penalty was fixed beforehand: after tuning it on the same rows the shrinkage
is not in the width, and no interval here is honest. Does not correct a wrong link.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, ndtri

from scarce.engine.block import Array
from scarce.engine.executors import Engine
from scarce.engine.rows import Rows
from scarce.errors import UsageError
from scarce.linear.batch import Problem, climb, newton_step
from scarce.linear.firth import FirthFit, Frame, fit_firth, problem_of

LANES = 64  # ends that are searched together: more share a pass, but leave the cache
ROUNDS = 60  # of the search for an end; three or four are usual
INNER_TOL = 1e-8  # certificate of the fits on the way: likelihoods are right to its square
END_TOL = 1e-8  # of the signed root, relative to its target
FAR = 50.0  # standard errors beyond which a likelihood at its supremum stays there


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
            "The fit has a normal prior: its interval is a credible one. Call laplace_interval."
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
            f"The fit's penalty is {fit.penalty!r}, and a posterior needs a prior. Fit with "
            "penalty='normal', or call wald_interval."
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
            "A FLIC fit maximises no likelihood that could be profiled. Profile the Firth fit that "
            "it came from, and keep the FLIC value: replace(interval, value=...)."
        )
    directions, known, single = _directions(fit.frame, position, x)
    target = _normal_quantile(level)
    start, value = fit, directions @ fit.standard
    if fit.separated:  # the maximum is at infinity: start the search where Firth's is
        start = fit_firth(rows, fit.frame.columns.tolist(), offset=fit.frame.offset, engine=engine)
    problem = problem_of(rows, fit.frame, fit.penalty, fit.scale, engine)
    estimable = np.flatnonzero(known)
    low, high = np.full(len(value), -np.inf), np.full(len(value), np.inf)
    gap, passes = np.zeros(len(value)), 0
    for first in range(0, len(estimable), LANES // 2):
        some = estimable[first : first + LANES // 2]
        search = _Search(problem, fit, start, np.repeat(directions[some], 2, axis=0), target)
        ends, gaps = search.run()
        low[some], high[some] = ends[0::2], ends[1::2]
        gap[some] = np.maximum(gaps[0::2], gaps[1::2])
        passes += search.passes
    return _interval(value, low, high, level, f"{fit.penalty} profile", gap, passes, single)


class _Search:
    """Search for lower and upper ends of several profiles at once: lane 2i is a lower end.

    Each lane walks along its direction: t = start + side * u * error. There it looks for the u
    at which the signed root of the likelihood ratio, times side, is the normal quantile.
    """

    def __init__(
        self, problem: Problem, fit: FirthFit, start: FirthFit, directions: Array, target: float
    ) -> None:
        lanes = len(directions)
        self.problem, self.fit, self.target = problem, fit, target
        self.best = fit.objective - (fit.frame.log_spread if fit.penalty == "firth" else 0.0)
        self.directions = directions
        self.norms = (directions**2).sum(axis=1)
        self.side = np.tile([-1.0, 1.0], lanes // 2)
        self.centre = directions @ start.standard
        steps = np.linalg.solve(start.curvature, directions.T).T
        self.error = np.sqrt((steps * directions).sum(axis=1))
        basis, _ = np.linalg.qr(directions[:, :, None], mode="complete")
        self.free = basis[:, :, 1:]
        self.coef = np.tile(start.standard, (lanes, 1))
        self.tangent = steps / (self.error**2)[:, None]
        self.bend = np.tile(fit.bend, (lanes, 1, 1))
        self.u = np.zeros(lanes)
        self.passes = 0

    def run(self) -> tuple[Array, Array]:
        """Return the ends and how far the likelihood-ratio statistic is from its target there."""
        lanes = len(self.u)
        ends, gaps = self.side * np.inf, np.zeros(lanes)
        inside, outside = np.full(lanes, -np.inf), np.full(lanes, np.inf)
        wanted = np.full(lanes, self.target)
        open_ends = np.arange(lanes)
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

    def _move(self, lanes: NDArray[np.intp], wanted: Array) -> tuple[Array, Array, Array]:
        """Refit the other coefficients at new u; return signed root, its slope, the statistic."""
        c, side, error = self.directions[lanes], self.side[lanes], self.error[lanes]
        t = self.centre[lanes] + side * wanted * error
        coef = self.coef[lanes]
        coef = coef + (t - (coef * c).sum(axis=1))[:, None] * self.tangent[lanes]
        coef += ((t - (coef * c).sum(axis=1)) / self.norms[lanes])[:, None] * c
        found = climb(self.problem, coef, self.free[lanes], tol=INNER_TOL, bend=self.bend[lanes])
        self.passes += found.passes
        sound = np.isfinite(found.objective)
        deviance = 2.0 * (self.best - found.objective)
        pull = (found.score * c).sum(axis=1) / self.norms[lanes]  # d profile / dt
        size = np.sqrt(np.maximum(deviance, 0.0))
        # The sign of the root is that of the way back to the maximum, which may be at infinity.
        root = np.where(sound, np.where(side * pull <= 0, size, -size), np.inf)
        with np.errstate(divide="ignore", invalid="ignore"):
            slope = -side * pull * error / root
        good = lanes[sound]
        self.coef[good], self.bend[good] = found.coef[sound], found.bend[sound]
        steps = newton_step(found.curvature + found.bend, c)
        along = (steps * c).sum(axis=1)
        usable = sound & (along > 0) & np.isfinite(along)
        self.tangent[lanes[usable]] = steps[usable] / along[usable, None]
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
    directions, known, single = _directions(fit.frame, position, x)
    target = _normal_quantile(level)
    value = directions @ fit.standard
    wide = np.full(len(value), np.inf)
    if not fit.separated:
        steps = np.linalg.solve(fit.curvature, directions[known].T).T
        wide[known] = target * np.sqrt((steps * directions[known]).sum(axis=1))
    none = np.zeros(len(value))
    return _interval(value, value - wide, value + wide, level, method, none, 0, single)


def _directions(
    frame: Frame, position: int | Sequence[int] | None, x: ArrayLike | None
) -> tuple[Array, NDArray[np.bool_], bool]:
    """Return c of each quantity c @ standard, if the rows tell it, and if only one was asked."""
    if (position is None) == (x is None):
        raise UsageError(
            "Ask for coefficients with position= or for log-odds at points with x=: one of them."
        )
    width = len(frame.columns)
    if position is not None:
        asked = np.atleast_1d(np.asarray(position, dtype=np.intp))
        if len(asked) and not (asked.min() >= 0 and asked.max() <= width):
            raise UsageError(
                f"position={position!r} is not a coefficient: give 0 for the intercept, or 1 to "
                f"{width} for the columns."
            )
        directions = np.array([frame.direction(p) for p in asked.tolist()])
        known = ~np.isin(asked - 1, frame.left_out)
        return directions.reshape(len(asked), frame.size), known, np.ndim(position) == 0
    given = np.asarray(x, dtype=np.float64)
    points = np.atleast_2d(given)
    if points.ndim != 2 or points.shape[1] != width or not np.isfinite(points).all():
        raise UsageError(
            f"x has shape {given.shape}, and points of {width} finite values are needed, in the "
            "order of the fit's columns. Give an array of shape (m, k)."
        )
    scaled = (points - frame.centre) / frame.spread
    directions = np.column_stack([np.ones(len(points)), scaled[:, frame.kept]])
    # A column left out is a combination of others: a point that breaks it was never seen.
    apart = np.abs(scaled[:, frame.left_out] - scaled[:, frame.kept] @ frame.relation.T)
    limit = 1e-5 + 1e-9 * np.abs(frame.centre / frame.spread)[frame.left_out]
    return directions, np.asarray((apart <= limit).all(axis=1)), given.ndim == 1


def _normal_quantile(level: float) -> float:
    if not 0.0 < level < 1.0:
        raise UsageError(f"level={level!r} is not a coverage. Give a number between 0 and 1: 0.9.")
    return float(ndtri(0.5 + 0.5 * level))


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
