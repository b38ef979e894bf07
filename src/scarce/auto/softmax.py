"""Stacking several classes: how much should each member's log probability count?

    score_k = intercept_k + sum over members m of weight_m * log q_mk,    prob = softmax(score)
    minimise  sum of log loss + strength/2 * |weights - 1/m|^2 + PULL/2 * |intercepts|^2

One weight >= 0 per member and one intercept per class. q_m is floored as with two classes:
(1 - e) * prob_m + e * prevalences. The pull towards equal intercepts counts as much as a tenth of a
row: it keeps the intercept of a class finite where no row of it is left. With two classes this is
the stack of stack.py. Assumes that each probability was predicted by a fit that had not seen the
row. Does not fit the members: see classes.py.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax, logsumexp

from scarce.auto.stack import FLOORS, MOST_STEPS, STRENGTHS, TARGET, step_inside
from scarce.engine.block import Array
from scarce.results import FitReport

Ids = NDArray[np.intp]
PULL = 0.1  # penalty of the intercepts, in rows


class SoftmaxStack(NamedTuple):
    """Weights of the members, intercepts of the classes, strength, and how the fit ended.

    `left_out` holds each row's log probabilities by weights fitted without its fold.
    """

    weights: Array
    intercepts: Array
    strength: float
    report: FitReport
    left_out: Array | None = None

    def log_prob(self, members: Array) -> Array:
        """Return the log probabilities of members' log probabilities (n, classes, m)."""
        return np.asarray(log_softmax(members @ self.weights + self.intercepts, axis=1))


def fit_softmax(
    members: Array, codes: Ids, weight: Array, *, strength: float, pull: float = PULL
) -> SoftmaxStack:
    """Find weights and intercepts at one strength by projected Newton steps.

    Parameters
    ----------
    members : ndarray of shape (n, classes, m)
        Log probabilities of each member, predicted without the row.
    codes : ndarray of int, shape (n,)
        The class of each row.
    weight : ndarray of shape (n,)
    strength, pull : float
        Above 0.

    Examples
    --------
    >>> prob = np.array([[.7, .2, .1], [.2, .6, .2], [.3, .2, .5], [.4, .4, .2], [.1, .3, .6]])
    >>> stack = fit_softmax(np.log(prob)[:, :, None], np.array([0, 1, 2, 1, 2]), np.ones(5),
    ...                     strength=1.0)
    >>> stack.weights.round(2), stack.report.converged
    (array([1.94]), True)
    """
    begin = time.perf_counter()
    m, n_classes = members.shape[2], members.shape[1]
    centre = np.append(np.full(m, 1.0 / m), np.zeros(n_classes))
    penalty = np.append(np.full(m, float(strength)), np.full(n_classes, float(pull)))
    bounded = np.arange(m + n_classes) < m
    point, total = centre.copy(), float(weight.sum())
    value, slope, curvature = _objective(point, members, codes, weight, penalty, centre)
    steps, certificate = 0, np.inf
    for steps in range(MOST_STEPS + 1):
        held = bounded & (point <= 0) & (slope > 0)
        certificate = float(np.abs(np.where(held, 0.0, slope)).max()) / total
        if certificate <= TARGET or steps == MOST_STEPS:
            break
        step = step_inside(point, slope, curvature, held, bounded)
        length = 1.0
        while True:
            trial = np.where(bounded, np.maximum(point + length * step, 0.0), point + length * step)
            found = _objective(trial, members, codes, weight, penalty, centre)
            gain = float(slope @ (trial - point))
            if found[0] <= value + 1e-4 * gain + 1e-13 * abs(value) or length < 1e-10:
                break
            length /= 2
        point, (value, slope, curvature) = trial, found
    report = FitReport(
        converged=certificate <= TARGET,
        certificate=certificate,
        objective=value,
        passes=steps,
        seconds=time.perf_counter() - begin,
        proves="gradient norm",
    )
    return SoftmaxStack(point[:m], point[m:], strength, report)


def choose_softmax(
    members: Array,
    codes: Ids,
    weight: Array,
    folds: Ids,
    strengths: tuple[float, ...] = STRENGTHS,
) -> SoftmaxStack:
    """Choose the strength by cross-validated log loss over `folds`, then fit on all rows."""
    numbers = np.unique(folds)
    if len(numbers) < 2:
        return fit_softmax(members, codes, weight, strength=max(strengths))
    log_prob = np.empty((len(strengths), *members.shape[:2]))
    for fold in numbers:
        out = folds == fold
        for place, strength in enumerate(strengths):
            stack = fit_softmax(members[~out], codes[~out], weight[~out], strength=strength)
            log_prob[place, out] = stack.log_prob(members[out])
    best = int(np.argmin([weight @ class_losses(codes, one) for one in log_prob]))
    whole = fit_softmax(members, codes, weight, strength=strengths[best])
    return whole._replace(left_out=log_prob[best])


class ClassCombination(NamedTuple):
    """Floors, weights and intercepts: from the members' probabilities of classes to one of each.

    Parameters
    ----------
    floors, weights : ndarray of shape (m,)
    intercepts, prevalence : ndarray of shape (classes,)
    strength : float
    report : FitReport or None
    left_out : ndarray of shape (n, classes) or None
        Log probabilities of each row by weights that were fitted without its fold.
    """

    floors: Array
    weights: Array
    intercepts: Array
    prevalence: Array
    strength: float = 0.0
    report: FitReport | None = None
    left_out: Array | None = None

    def log_prob(self, prob: Array) -> Array:
        """Return log probabilities of the mean over several fits, from (m, fits, n, classes)."""
        scores = np.zeros(prob.shape[1:]) + self.intercepts
        for floor, weight, one in zip(self.floors, self.weights, prob, strict=True):
            if weight > 0:
                scores += weight * log_floored(one, float(floor), self.prevalence)
        return mean_log_prob(log_softmax(scores, axis=-1))


def mean_log_prob(log_prob: Array) -> Array:
    """Return the log of the mean probability over the first axis.

    Examples
    --------
    >>> np.exp(mean_log_prob(np.log([[[0.2, 0.8]], [[0.4, 0.6]]]))).round(3)
    array([[0.3, 0.7]])
    """
    return np.asarray(logsumexp(log_prob, axis=0) - np.log(len(log_prob)))


def log_floored(prob: Array, share: float, prevalence: Array) -> Array:
    """Return log((1 - share) * prob + share * prevalence)."""
    return np.asarray(np.log((1.0 - share) * prob + share * prevalence))


def class_losses(codes: Ids, log_prob: Array) -> Array:
    """Return the log loss of each row.

    Examples
    --------
    >>> class_losses(np.array([1]), np.log([[0.5, 0.5]])).round(3)
    array([0.693])
    """
    return -log_prob[np.arange(len(codes)), codes]


def combine_classes(
    prob: Array,
    codes: Ids,
    weight: Array,
    folds: Ids,
    *,
    floors: Sequence[float] = FLOORS,
    plain: int | None = None,
) -> tuple[dict[str, ClassCombination], int]:
    """Combine members by their left-out probabilities, in each way that is compared.

    As `scarce.auto.stack.combine`, with probabilities of shape (m, n, classes).
    """
    counts = np.bincount(codes, weight, minlength=prob.shape[2])
    # A class that is left out with its fold keeps half a row: nothing is impossible.
    prevalence = np.maximum(counts, 0.5) / np.maximum(counts, 0.5).sum()
    m = len(prob)
    trials = [[log_floored(one, floor, prevalence) for floor in floors] for one in prob]
    losses = np.array([[weight @ class_losses(codes, t) for t in tried] for tried in trials])
    best = losses.argmin(axis=1)
    members = np.stack([tried[at] for tried, at in zip(trials, best, strict=True)], axis=2)
    chosen = np.asarray(floors, dtype=np.float64)[best]
    single = int(losses.min(axis=1).argmin())

    def way(columns: list[int]) -> ClassCombination:
        stack = choose_softmax(members[:, :, columns], codes, weight, folds)
        weights = np.zeros(m)
        weights[columns] = stack.weights
        made = stack.intercepts, prevalence, stack.strength, stack.report, stack.left_out
        return ClassCombination(chosen, weights, *made)

    ways = {"constant": ClassCombination(chosen, np.zeros(m), np.log(prevalence), prevalence)}
    if plain is not None:
        ways["logit"] = way([plain])
    ways["best single"] = ways["logit"] if single == plain else way([single])
    ways["auto"] = ways["best single"] if m == 1 else way(list(range(m)))
    return ways, single


def _objective(
    point: Array, members: Array, codes: Ids, weight: Array, penalty: Array, centre: Array
) -> tuple[float, Array, Array]:
    """Return value, gradient and curvature of the penalised log loss."""
    n, n_classes, m = members.shape
    log_prob = log_softmax(members @ point[:m] + point[m:], axis=1)
    prob, away, rows = np.exp(log_prob), point - centre, np.arange(n)
    value = float(weight @ -log_prob[rows, codes]) + 0.5 * float(penalty @ away**2)
    share = weight[:, None] * prob
    mean = np.einsum("nk,nkm->nm", prob, members)
    slope = penalty * away
    slope[:m] += weight @ (mean - members[rows, codes])
    slope[m:] += share.sum(axis=0) - np.bincount(codes, weight, minlength=n_classes)
    curvature = np.diag(penalty)
    flat = members.reshape(n * n_classes, m)
    curvature[:m, :m] += (flat.T * share.ravel()) @ flat - (mean.T * weight) @ mean
    cross = np.einsum("nk,nkm->mk", share, members) - mean.T @ share
    curvature[:m, m:] += cross
    curvature[m:, :m] += cross.T
    curvature[m:, m:] += np.diag(share.sum(axis=0)) - prob.T @ share
    return value, slope, curvature
