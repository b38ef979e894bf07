"""Stacking: how much should each member's log-odds count, without overfitting to one fold?

    prob = expit(intercept + log_odds @ weights),   weights >= 0
    minimise  sum of log loss + strength/2 * |weights - 1/m|^2

The penalty towards the plain mean of m members is strong when labels are few: its strength is
chosen by cross-validated log loss. The intercept is free, which makes the mean probability equal to
the observed prevalence at every strength: the stack is also the calibrator. Assumes that each
log-odds was predicted by a fit that had not seen the row. Does not fit the members: see members.py.
"""

from __future__ import annotations

import time
from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit, logit, logsumexp

from scarce.engine.block import Array
from scarce.errors import DataError
from scarce.results import FitReport
from scarce.scoring import score_log_losses

FLOORS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3)
STRENGTHS = (1.0, 10.0, 100.0, 1e5)
LARGEST_LOG_ODDS = 15.0
MOST_STEPS = 200
TARGET = 1e-9  # projected gradient per unit of weight


class Stack(NamedTuple):
    """Weights of the members, intercept, strength of the penalty and how the fit ended.

    `left_out` holds each row's score by weights fitted without its fold.
    """

    weights: Array
    intercept: float
    strength: float
    report: FitReport
    left_out: Array | None = None

    def score(self, log_odds: ArrayLike) -> Array:
        """Return the stacked log-odds of each row."""
        return np.asarray(clipped(log_odds) @ self.weights + self.intercept)


def clipped(log_odds: ArrayLike) -> Array:
    """Return log-odds clipped at +-15: no fold can check more certainty than that."""
    return np.clip(np.asarray(log_odds, np.float64), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def fit_stack(
    log_odds: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None = None, *, strength: float
) -> Stack:
    """Find the weights at one strength by projected Newton steps.

    Parameters
    ----------
    log_odds : array-like of shape (n, m)
        Of each member, predicted without the row; clipped at +-15.
    y : array-like of shape (n,)
        0 or 1.
    sample_weight : array-like of shape (n,), optional
    strength : float
        Above 0.

    Returns
    -------
    Stack
        Its report's certificate is the largest entry of the projected gradient, per unit of weight.

    Examples
    --------
    >>> good, bad = np.array([-2.0, -1, -2, 2, 1, 2, -1, 1]), np.array([2.0, 1, 2, -1] * 2)
    >>> stack = fit_stack(np.column_stack([good, bad]), [0, 0, 0, 1, 1, 1, 1, 0], strength=1.0)
    >>> stack.weights.round(2), stack.report.converged
    (array([1.31, 0.96]), True)
    """
    begin = time.perf_counter()
    design, outcome, weight = _checked(log_odds, y, sample_weight)
    m = design.shape[1] - 1
    centre, penalty = np.full(m + 1, 1.0 / m), np.full(m + 1, float(strength))
    centre[m] = penalty[m] = 0.0
    point = centre.copy()
    bounded = np.append(np.ones(m, dtype=bool), False)
    total = float(weight.sum())
    value, slope = _objective(point, design, outcome, weight, penalty, centre)
    steps, certificate = 0, np.inf
    for steps in range(MOST_STEPS + 1):
        held = bounded & (point <= 0) & (slope > 0)  # at the bound, and the slope keeps it there
        certificate = float(np.abs(np.where(held, 0.0, slope)).max()) / total
        if certificate <= TARGET or steps == MOST_STEPS:
            break
        prob = expit(design @ point)
        curvature = (design.T * (weight * prob * expit(-(design @ point)))) @ design
        curvature += np.diag(penalty)
        step = step_inside(point, slope, curvature, held, bounded)
        length = 1.0
        while True:
            trial = np.where(bounded, np.maximum(point + length * step, 0.0), point + length * step)
            trial_value, trial_slope = _objective(trial, design, outcome, weight, penalty, centre)
            # The first order gain along the projected path; rounding decides at the very end.
            gain = float(slope @ (trial - point))
            if trial_value <= value + 1e-4 * gain + 1e-13 * abs(value) or length < 1e-10:
                break
            length /= 2
        point, value, slope = trial, trial_value, trial_slope
    report = FitReport(
        converged=certificate <= TARGET,
        certificate=certificate,
        objective=value,
        passes=steps,
        seconds=time.perf_counter() - begin,
        proves="gradient norm",
    )
    return Stack(point[:m], float(point[m]), strength, report)


def choose_stack(
    log_odds: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    folds: NDArray[np.intp],
    strengths: tuple[float, ...] = STRENGTHS,
) -> Stack:
    """Choose the strength by cross-validated log loss over `folds`, then fit on all rows.

    With a single fold there is nothing to choose by, and the greatest strength is taken. With a
    single strength there is nothing to choose, and `left_out` is not found.
    """
    design, outcome, weight = _checked(log_odds, y, sample_weight)
    members = design[:, :-1]
    numbers = np.unique(folds)
    if len(numbers) < 2 or len(strengths) == 1:
        return fit_stack(members, outcome, weight, strength=max(strengths))
    scores = np.empty((len(strengths), len(outcome)))
    for fold in numbers:
        out = folds == fold
        for place, strength in enumerate(strengths):
            stack = fit_stack(members[~out], outcome[~out], weight[~out], strength=strength)
            scores[place, out] = stack.score(members[out])
    best = int(np.argmin([weight @ score_log_losses(outcome, one) for one in scores]))
    whole = fit_stack(members, outcome, weight, strength=strengths[best])
    return whole._replace(left_out=scores[best])


class Combination(NamedTuple):
    """Floors, weights and intercept: from the members' probabilities to one.

    Parameters
    ----------
    floors, weights : ndarray of shape (m,)
    intercept : float
    prevalence : float
        What floors mix in.
    strength : float
        Of the penalty on the weights; 0 where there is nothing to weigh.
    report : FitReport or None
        How the fit of the weights ended.
    left_out : ndarray of shape (n,) or None
        Score of each row by weights that were fitted without its fold.
    """

    floors: Array
    weights: Array
    intercept: float
    prevalence: float
    strength: float = 0.0
    report: FitReport | None = None
    left_out: Array | None = None

    def score(self, prob: Array) -> Array:
        """Return log-odds of the mean over several fits, from probabilities (m, fits, n).

        Each fit is combined on its own and the probabilities are averaged: their mean is then that
        of the single fits, and log loss and Brier score are at most theirs, on average.
        """
        scores = np.full(prob.shape[1:], self.intercept)
        for floor, weight, one in zip(self.floors, self.weights, prob, strict=True):
            if weight > 0:
                scores += weight * clipped(floored(one, float(floor), self.prevalence))
        return mean_log_odds(scores)


def floored(prob: Array, share: float, prevalence: float) -> Array:
    """Return log-odds of (1 - share) * prob + share * prevalence."""
    return np.asarray(logit((1.0 - share) * prob + share * prevalence))


def mean_log_odds(scores: Array) -> Array:
    """Return the log-odds of the mean probability over the first axis.

    Examples
    --------
    >>> mean_log_odds(np.array([[-1000.0, 0.0], [-1000.0, 0.0]]))
    array([-1000.,     0.])
    """
    return np.asarray(logsumexp(log_expit(scores), axis=0) - logsumexp(log_expit(-scores), axis=0))


def combine(
    prob: Array,
    y: Array,
    sample_weight: Array | None,
    folds: NDArray[np.intp],
    *,
    floors: Sequence[float] = FLOORS,
    plain: int | None = None,
    like: Mapping[str, Combination] | None = None,
) -> tuple[dict[str, Combination], int]:
    """Combine members by their left-out probabilities, in each way that is compared.

    Parameters
    ----------
    prob : ndarray of shape (m, n)
        Each member's probability of each row, from a fit that had not seen the row.
    y : ndarray of shape (n,)
    sample_weight : ndarray of shape (n,), optional
    folds : ndarray of int, shape (n,)
    floors : sequence of float
        Shares of the prevalence to mix in, to choose from.
    plain : int, optional
        Position of the logit.
    like : mapping of str to Combination, optional
        Ways of which the strengths are taken instead of chosen.

    Returns
    -------
    ways : dict of Combination
        "constant", "logit" if there is one, "best single" and "auto".
    single : int
        Position of the best single member.
    """
    weight = np.ones(len(y)) if sample_weight is None else sample_weight
    prevalence = float(weight @ y / weight.sum())
    m = len(prob)
    trials = [[floored(one, floor, prevalence) for floor in floors] for one in prob]
    losses = np.array([[weight @ score_log_losses(y, t) for t in tried] for tried in trials])
    best = losses.argmin(axis=1)
    log_odds = np.column_stack([tried[at] for tried, at in zip(trials, best, strict=True)])
    chosen = np.asarray(floors, dtype=np.float64)[best]
    single = int(losses.min(axis=1).argmin())

    def way(name: str, columns: list[int]) -> Combination:
        strengths = STRENGTHS if like is None else (like[name].strength,)
        stack = choose_stack(log_odds[:, columns], y, sample_weight, folds, strengths)
        weights = np.zeros(m)
        weights[columns] = stack.weights
        made = stack.intercept, prevalence, stack.strength, stack.report, stack.left_out
        return Combination(chosen, weights, *made)

    ways = {"constant": Combination(chosen, np.zeros(m), float(logit(prevalence)), prevalence)}
    if plain is not None:
        ways["logit"] = way("logit", [plain])
    ways["best single"] = ways["logit"] if single == plain else way("best single", [single])
    ways["auto"] = ways["best single"] if m == 1 else way("auto", list(range(m)))
    return ways, single


def step_inside(
    point: Array,
    slope: Array,
    curvature: Array,
    held: NDArray[np.bool_],
    bounded: NDArray[np.bool_],
) -> Array:
    """Return Newton's step of the free weights; one at 0 that it would push below 0 is held."""
    while True:
        free = np.flatnonzero(~held)
        step = np.zeros(len(point))
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        outward = bounded & (point <= 0) & (step < 0)
        if not outward.any():
            return step
        held = held | outward


def _objective(
    point: Array, design: Array, y: Array, weight: Array, penalty: Array, centre: Array
) -> tuple[float, Array]:
    score = design @ point
    away = point - centre
    value = float(weight @ score_log_losses(y, score)) + 0.5 * float(penalty @ away**2)
    slope = design.T @ (weight * (expit(score) - y)) + penalty * away
    return value, slope


def _checked(
    log_odds: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    members, outcome = clipped(log_odds), np.asarray(y, dtype=np.float64)
    weight = np.ones(len(outcome)) if sample_weight is None else np.asarray(sample_weight, float)
    if members.ndim != 2 or len(members) != len(outcome) or len(weight) != len(outcome):
        raise DataError(
            "log_odds must have one row, y one label and sample_weight one weight per row, got "
            "shapes {log_odds}, {y} and {weight}.",
            code="length-mismatch",
            log_odds=members.shape,
            y=outcome.shape,
            weight=weight.shape,
        )
    if np.isnan(members).any():
        raise DataError(
            "log_odds holds NaN.",
            code="not-finite",
            argument="log_odds",
            remedy="Predict every row with every member.",
        )
    if not np.isin(outcome, (0.0, 1.0)).all():
        raise DataError("y must be 0 or 1.", code="unknown-label", argument="y")
    return np.column_stack([members, np.ones(len(members))]), outcome, weight
