"""Stacking: how much should each member's log-odds count, without trusting one lucky fold?

    prob = expit(intercept + log_odds @ weights),   weights >= 0
    minimise  sum of log loss + strength/2 * (|weights - 1/m|^2 + intercept^2)

The pull towards the plain mean of m members is strong when labels are few: its strength is chosen
by cross-validated log loss. The stack is also the calibrator. Assumes that each log-odds was
predicted by a fit that had not seen the row. Does not fit the members: see members.py.
"""

from __future__ import annotations

import time
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit, log_expit

from scarce.errors import DataError
from scarce.records import FitReport
from scarce.rows.block import Array

STRENGTHS = (1.0, 10.0, 100.0, 1e5)
LARGEST_LOG_ODDS = 15.0
MOST_STEPS = 200
TARGET = 1e-9  # projected gradient per unit of weight


class Stack(NamedTuple):
    """Weights of the members, the intercept, the strength of the pull and how the fit ended."""

    weights: Array
    intercept: float
    strength: float
    report: FitReport

    def score(self, log_odds: ArrayLike) -> Array:
        """Return the stacked log-odds of each row."""
        return np.asarray(clipped(log_odds) @ self.weights + self.intercept)


def clipped(log_odds: ArrayLike) -> Array:
    """Return log-odds no larger than 15: beyond it lies certainty that no fold can check."""
    return np.clip(np.asarray(log_odds, np.float64), -LARGEST_LOG_ODDS, LARGEST_LOG_ODDS)


def row_log_loss(y: Array, score: Array) -> Array:
    """Return each row's log loss from its log-odds."""
    return np.asarray(-log_expit(np.where(y == 1, score, -score)))


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
    (array([1.26, 0.83]), True)
    """
    begin = time.perf_counter()
    design, outcome, weight = _checked(log_odds, y, sample_weight)
    m = design.shape[1] - 1
    centre = np.append(np.full(m, 1.0 / m), 0.0)
    point = centre.copy()
    bounded = np.append(np.ones(m, dtype=bool), False)
    total = float(weight.sum())
    value, slope = _objective(point, design, outcome, weight, strength, centre)
    steps, certificate = 0, np.inf
    for steps in range(MOST_STEPS + 1):
        held = bounded & (point <= 0) & (slope > 0)  # at the bound, and the slope keeps it there
        certificate = float(np.abs(np.where(held, 0.0, slope)).max()) / total
        if certificate <= TARGET or steps == MOST_STEPS:
            break
        prob = expit(design @ point)
        curvature = (design.T * (weight * prob * expit(-(design @ point)))) @ design
        curvature += strength * np.eye(m + 1)
        step = _step_inside(point, slope, curvature, held, bounded)
        length = 1.0
        while True:
            trial = np.where(bounded, np.maximum(point + length * step, 0.0), point + length * step)
            trial_value, trial_slope = _objective(trial, design, outcome, weight, strength, centre)
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

    With a single fold there is nothing to choose by, and the strongest pull is taken.
    """
    design, outcome, weight = _checked(log_odds, y, sample_weight)
    members = design[:, :-1]
    numbers = np.unique(folds)
    if len(numbers) < 2:
        return fit_stack(members, outcome, weight, strength=max(strengths))
    losses = []
    for strength in strengths:
        loss = 0.0
        for fold in numbers:
            out = folds == fold
            stack = fit_stack(members[~out], outcome[~out], weight[~out], strength=strength)
            loss += float(weight[out] @ row_log_loss(outcome[out], stack.score(members[out])))
        losses.append(loss)
    best = strengths[int(np.argmin(losses))]
    return fit_stack(members, outcome, weight, strength=best)


def nested_scores(
    log_odds: ArrayLike,
    y: ArrayLike,
    sample_weight: ArrayLike | None,
    folds: NDArray[np.intp],
    strengths: tuple[float, ...] = STRENGTHS,
) -> Array:
    """Return each row's stacked log-odds from a stack that was chosen and fitted without its fold.

    This is what an honest comparison needs: a stack scored on the rows that set its weights would
    look better than it is.
    """
    design, outcome, weight = _checked(log_odds, y, sample_weight)
    members, scores = design[:, :-1], np.empty(len(design))
    for fold in np.unique(folds):
        out = folds == fold
        stack = choose_stack(members[~out], outcome[~out], weight[~out], folds[~out], strengths)
        scores[out] = stack.score(members[out])
    return scores


def _step_inside(
    point: Array,
    slope: Array,
    curvature: Array,
    held: NDArray[np.bool_],
    bounded: NDArray[np.bool_],
) -> Array:
    """Newton's step among weights that may move; one at 0 that it would push below 0 is held."""
    while True:
        free = np.flatnonzero(~held)
        step = np.zeros(len(point))
        step[free] = -np.linalg.solve(curvature[np.ix_(free, free)], slope[free])
        outward = bounded & (point <= 0) & (step < 0)
        if not outward.any():
            return step
        held = held | outward


def _objective(
    point: Array, design: Array, y: Array, weight: Array, strength: float, centre: Array
) -> tuple[float, Array]:
    score = design @ point
    away = point - centre
    value = float(weight @ row_log_loss(y, score)) + 0.5 * strength * float(away @ away)
    slope = design.T @ (weight * (expit(score) - y)) + strength * away
    return value, slope


def _checked(
    log_odds: ArrayLike, y: ArrayLike, sample_weight: ArrayLike | None
) -> tuple[Array, Array, Array]:
    members, outcome = clipped(log_odds), np.asarray(y, dtype=np.float64)
    weight = np.ones(len(outcome)) if sample_weight is None else np.asarray(sample_weight, float)
    if members.ndim != 2 or len(members) != len(outcome) or len(weight) != len(outcome):
        raise DataError(
            f"log_odds has shape {members.shape}, y {outcome.shape} and weights {weight.shape}: "
            "give one row of log-odds, one label and one weight per row."
        )
    if np.isnan(members).any() or not np.isin(outcome, (0.0, 1.0)).all():
        raise DataError(
            "log_odds holds NaN, or y holds something other than 0 and 1. Predict every row with "
            "every member, and code the positive class as 1."
        )
    return np.column_stack([members, np.ones(len(members))]), outcome, weight
