"""Regression on rows with missing values, by the marginal probability of each label.

    z = constant + xhat' w,   v = w' V w,   xhat and V: mean and covariance of a row given what was
                                            seen of it (missing/front.py)
    prob = integral of link.inverse(z + sqrt(v) t) Normal(t; 0, 1) dt
    minimise  sum_i s_i loss(y_i, s_i),  s = link.forward(prob)         plus the ridge

Nothing is imputed: a row with more missing says less, and its probability is nearer to the middle.
The score s has the same probability as the row ("effective score"), so a proper loss stays what it
is: with the log loss -log of the marginal probability of the label, with the canonical loss the
canonical loss of the marginal probability. A complete row has v = 0 and s = z, and costs nothing
extra; only there does the canonical loss go on as a line outside the link's support.

The integral is a sum over evenly spaced points, exact to 1e-10 for the logit: a row with a larger v
gets more of them (`resolution`), up to v = 256; beyond, errors grow to 1e-4. Newton's method with
the Hessian as it is, or the expected one where that is not positive definite. The loss is not
convex, as no marginal likelihood is; steps are judged by its value. Assumes a front that was fitted
without the labels.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import lru_cache, partial
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.linalg import LinAlgError, cho_factor, cho_solve

from scarce.engine.block import Array
from scarce.linear.gev import GEV
from scarce.linear.links import Link, Logit, Probit
from scarce.linear.losses import CanonicalLoss, LogLoss, Loss
from scarce.linear.regress import Formulation, GridCoordinates
from scarce.linear.stable import quiet
from scarce.linear.sums import ColumnSummary
from scarce.missing.front import Completed, Front
from scarce.missing.patterns import Batch

WIDEST = 9.0  # standard deviations to which the integral goes
SPACING = 0.7  # of its points, in standard deviations, while that is fine enough for the link
FINEST = 4  # halvings of the spacing, at most
CELLS = 2**17  # rows x points that are worked on at a time
ENOUGH = 1e-5  # decrement that a fit of a path stops at: 1/200 of a standard error
MOST_STEPS = 60


# --- the marginal probability of a label ----------------------------------------------------------


class LabelTerms(NamedTuple):
    """Logarithm of the label's marginal probability, and its derivatives in z and v."""

    log_prob: Array
    z: Array
    v: Array
    zz: Array
    zv: Array
    vv: Array


@lru_cache
def points(halvings: int) -> tuple[Array, Array]:
    """Return evenly spaced points of a standard normal and their weights, which sum to 1."""
    spacing = SPACING / 2.0**halvings
    count = int(np.ceil(WIDEST / spacing))
    at: Array = spacing * np.arange(-count, count + 1, dtype=np.float64)
    weight: Array = np.exp(-0.5 * at**2)
    weight /= weight.sum()
    at.setflags(write=False)
    weight.setflags(write=False)
    return at, weight


def resolution(link: Link) -> tuple[float, int]:
    """Return how far apart in score the points may lie, and the fewest halvings of SPACING.

    The narrower the link's bend, the less: an edge of the support is one.
    """
    if isinstance(link, (Logit, Probit)):
        return 0.7, 0  # the integral is then right to 1e-10
    if not isinstance(link, GEV) or link.shape == 0.0:
        return 0.25, 0  # to 1e-11
    return 0.25, 1  # to 1e-5, and 3e-4 for shapes beyond -.5 and .6 (1e-3 at -1, with its kink)


def _batches(link: Link, deviation: Array) -> list[tuple[NDArray[np.intp], int]]:
    """Group rows by how many times the spacing of their points is halved."""
    apart, least = resolution(link)
    with np.errstate(divide="ignore"):
        octave = np.ceil(np.log2(deviation * SPACING / apart))
    halvings = np.clip(octave, least, FINEST + least).astype(np.intp)
    found = []
    for number in np.unique(halvings).tolist():
        rows = np.flatnonzero(halvings == number)
        step = max(1, CELLS // len(points(number)[0]))
        found += [(rows[i : i + step], number) for i in range(0, len(rows), step)]
    return found


@quiet
def label_terms(link: Link, positive: bool, z: Array, v: Array) -> LabelTerms:
    """Return the logarithm of a label's marginal probability and its derivatives.

    Parameters
    ----------
    link : Link
    positive : bool
        Which label: True is the positive one.
    z, v : ndarray of shape (n,)
        Mean and variance of the score.
    """
    out = np.zeros((6, len(z)))
    deviation = np.sqrt(v)
    for rows, number in _batches(link, deviation):
        at, weight = points(number)
        root = deviation[rows]
        log_prob, slope, bend = link.log_terms(positive, z[rows, None] + root[:, None] * at)
        most = log_prob.max(axis=1)
        base = np.where(np.isfinite(most), most, 0.0)
        share = np.exp(log_prob - base[:, None])
        share *= weight
        total = share.sum(axis=1)
        possible = total > 0
        share /= np.where(possible, total, 1.0)[:, None]
        first = share * slope
        second = share * (slope * slope + bend)  # of the probability, as a share of it
        d_z, d_zz = first.sum(axis=1), second.sum(axis=1)
        if not np.isfinite(d_z + d_zz).all():  # infinite slopes where the share is 0
            first, second = (np.where(share > 0, part, 0.0) for part in (first, second))
            d_z, d_zz = first.sum(axis=1), second.sum(axis=1)
        out[0, rows] = np.where(possible, base + np.log(total), -np.inf)
        spread = root > 1e-100
        safe = np.where(spread, root, 1.0)
        # by parts: the derivative in v is half the second one in z
        d_v = np.where(root > 1e-3, first @ at / (2.0 * safe), 0.5 * d_zz)
        d_zv = np.where(spread, second @ at / (2.0 * safe), 0.0)
        d_vv = np.where(spread, (second @ (at * at) - d_zz) / safe / safe / 4.0, 0.0)
        out[1, rows], out[2, rows] = d_z, d_v
        out[3, rows] = d_zz - d_z * d_z
        out[4, rows] = d_zv - d_z * d_v
        out[5, rows] = d_vv - d_v * d_v
    return LabelTerms(*out)


def marginal_prob(link: Link, score: Array, variance: Array) -> Array:
    """Return the probability of a row whose score is normally distributed.

    Parameters
    ----------
    link : Link
    score, variance : ndarray of shape (n,)
        Mean and variance of each row's score; variance 0 gives `link.inverse(score)`.

    Examples
    --------
    >>> marginal_prob(Logit(), np.array([2.0, 2.0]), np.array([0.0, 4.0])).round(4)
    array([0.8808, 0.7752])
    """
    out = np.array(link.inverse(score))
    some = np.flatnonzero(variance > 0)
    z, deviation = score[some], np.sqrt(variance[some])
    for rows, number in _batches(link, deviation):
        at, weight = points(number)
        out[some[rows]] = link.inverse(z[rows, None] + deviation[rows, None] * at) @ weight
    return out


def effective_score(link: Link, score: Array, variance: Array) -> Array:
    """Return the score of a complete row of the same probability: the score itself at variance 0.

    Examples
    --------
    >>> effective_score(Logit(), np.array([2.0, 2.0]), np.array([0.0, 4.0])).round(3)
    array([2.   , 1.238])
    """
    return effective_slopes(link, score, variance)[0]


def effective_slopes(link: Link, score: Array, variance: Array) -> tuple[Array, Array, Array]:
    """Return effective scores and their slopes in score and variance; 1 and 0 at variance 0."""
    out = np.array([score, np.ones(len(score)), np.zeros(len(score))])
    some = np.flatnonzero(variance > 0)
    if len(some):
        found, terms = _effective(link, score[some], variance[some])
        out[:, some] = found, terms.z, terms.v
    return out[0], out[1], out[2]


@quiet
def _effective(link: Link, z: Array, v: Array) -> tuple[Array, LabelTerms]:
    """Return effective scores, and (in place of a probability) their derivatives.

    Each is measured from the label that is less probable, whose logarithm keeps all digits.
    """
    up = np.array(label_terms(link, True, z, v))
    log_complement = np.log1p(-np.exp(up[0]))
    low = up[0] <= np.log(0.5)
    high = np.flatnonzero(~low)
    up[:, high] = label_terms(link, False, z[high], v[high])
    log_prob = up[0].copy()
    log_prob[high], log_complement[high] = np.log1p(-np.exp(up[0, high])), up[0, high]
    score = link.forward_log(log_prob, log_complement)
    side = up
    slope = np.where(low, link.rise(score), -link.hazard(score))
    bend = np.where(low, link.rise_fall(score), link.hazard_slope(score))
    known = np.isfinite(slope) & np.isfinite(bend) & (slope != 0) & np.isfinite(side[0])
    slope = np.where(known, slope, np.inf)
    bend = np.where(known, bend, 0.0)
    _, d_z, d_v, zz, zv, vv = side
    d_z, d_v = d_z / slope, d_v / slope
    zz, zv = (zz + bend * d_z * d_z) / slope, (zv + bend * d_z * d_v) / slope
    vv = (vv + bend * d_v * d_v) / slope
    parts = [np.where(np.isfinite(part), part, 0.0) for part in (d_z, d_v, zz, zv, vv)]
    return score, LabelTerms(side[0], *parts)


# --- the loss of a row ----------------------------------------------------------------------------


class RowTerms(NamedTuple):
    """Loss of each row, its derivatives in z and v, and the expected ones.

    The expected Hessian in (z, v) is weight * (z, v)(z, v)' with the first two of `along`.
    """

    value: Array
    z: Array
    v: Array
    zz: Array
    zv: Array
    vv: Array
    along: tuple[Array, Array, Array]


def row_terms(loss: Loss, y: Array, z: Array, v: Array) -> RowTerms:
    """Return the loss of rows with missing values; see the module for what is minimised."""
    if isinstance(loss, CanonicalLoss):
        return _canonical_terms(loss, y, z, v)
    found = np.empty((6, len(y)))
    for label in (True, False):
        own = np.flatnonzero((y > 0.5) == label)
        if len(own):
            found[:, own] = label_terms(loss.link, label, z[own], v[own])
    log_prob, d_z, d_v, zz, zv, vv = found
    other = -np.expm1(log_prob)
    odds = np.where(other > 1e-150, np.exp(log_prob) / np.maximum(other, 1e-150), 0.0)
    return RowTerms(-log_prob, -d_z, -d_v, -zz, -zv, -vv, (d_z, d_v, odds))


def _canonical_terms(loss: CanonicalLoss, y: Array, z: Array, v: Array) -> RowTerms:
    score, of = _effective(loss.link, z, v)
    slope, density = loss.slope(y, score), loss.link.density(score)
    density = np.where(np.isfinite(density), density, 0.0)
    return RowTerms(
        loss.value(y, score),
        slope * of.z,
        slope * of.v,
        density * of.z * of.z + slope * of.zz,
        density * of.z * of.v + slope * of.zv,
        density * of.v * of.v + slope * of.vv,
        (of.z, of.v, density),
    )


# --- sums over rows -------------------------------------------------------------------------------


class MarginalSums(NamedTuple):
    """Total loss, gradient and Hessian in standardised coordinates, without the penalty."""

    value: float
    gradient: Array  # (p,)
    hessian: Array  # (p, p), or (0, 0) where it was not asked for


class Standardised:
    """Rows in standardised coordinates, those with missing values apart.

    Parameters
    ----------
    found : Completed
    y, weight : ndarray of shape (n,)
    coordinates : GridCoordinates
    """

    def __init__(
        self, found: Completed, y: Array, weight: Array, coordinates: GridCoordinates
    ) -> None:
        Z, offset = coordinates.design(found.mean)
        self.free = coordinates.free
        order, parts = _compact(found)
        rest = np.ones(len(y), dtype=bool)
        rest[order] = False
        self.n_incomplete = len(order)
        whole = np.concatenate([order, np.flatnonzero(rest)])
        self.Z, self.offset = np.ascontiguousarray(Z[whole]), offset[whole]
        self.y, self.weight = y[whole], weight[whole]
        scale = found.scale / coordinates.scale
        self.found = Completed(np.empty((len(order), len(scale))), scale, parts)

    def sums(self, loss: Loss, theta: Array, kind: str) -> MarginalSums:
        """Return the sums at some coefficients; `kind` of Hessian: observed, expected or none."""
        m = self.n_incomplete
        score = self.Z @ theta
        score += self.offset
        value, gradient, hessian = self._complete(loss, score[m:], kind)
        if m:
            more = self._incomplete(loss, theta, score[:m], kind)
            value, gradient = value + more.value, gradient + more.gradient
            if kind != "none":
                hessian = hessian + more.hessian
        return MarginalSums(value, gradient, hessian)

    def _complete(self, loss: Loss, score: Array, kind: str) -> MarginalSums:
        m, p = self.n_incomplete, self.Z.shape[1]
        if not len(score):
            return MarginalSums(0.0, np.zeros(p), np.zeros((p, p)))
        Z, y, weight = self.Z[m:], self.y[m:], self.weight[m:]
        value = float(loss.value(y, score) @ weight)
        if not np.isfinite(value):
            return MarginalSums(np.inf, np.zeros(p), np.zeros((p, p)))
        slope, curvature = loss.sweep(y, score)
        if kind == "none":
            return MarginalSums(value, (slope * weight) @ Z, np.zeros((0, 0)))
        scaled = Z * np.sqrt(curvature * weight)[:, None]
        return MarginalSums(value, (slope * weight) @ Z, scaled.T @ scaled)

    def _incomplete(self, loss: Loss, theta: Array, score: Array, kind: str) -> MarginalSums:
        m = self.n_incomplete
        Z, weight = self.Z[:m], self.weight[:m]
        U, variance = self.spread(theta)
        terms = row_terms(loss, self.y[:m], score, variance)
        value = float(terms.value @ weight)
        if not np.isfinite(value):
            p = len(theta)
            return MarginalSums(np.inf, np.zeros(p), np.zeros((p, p)))
        gradient = (weight * terms.z) @ Z + (weight * terms.v) @ U
        if kind == "none":
            return MarginalSums(value, gradient, np.zeros((0, 0)))
        if kind == "expected":
            along = terms.along[0][:, None] * Z + terms.along[1][:, None] * U
            along *= np.sqrt(weight * terms.along[2])[:, None]
            return MarginalSums(value, gradient, along.T @ along)
        zz, zv, vv = ((weight * part)[:, None] for part in (terms.zz, terms.zv, terms.vv))
        hessian = Z.T @ (zz * Z + zv * U)
        hessian += U.T @ (zv * Z + vv * U)
        slopes = self.free[:-1]
        bent = 2.0 * self.found.total(weight * terms.v)[np.ix_(slopes, slopes)]
        k = len(bent)
        hessian[:k, :k] += bent
        return MarginalSums(value, gradient, 0.5 * (hessian + hessian.T))

    def spread(self, theta: Array) -> tuple[Array, Array]:
        """Return the gradient 2 V w of each incomplete row's variance, and the variance."""
        slopes = self.free[:-1]
        w = np.zeros(len(slopes))
        w[slopes] = theta[: int(slopes.sum())]
        times = self.found.times(w)
        variance = np.maximum(times @ w, 0.0)
        U = np.zeros((len(times), len(theta)))
        U[:, : int(slopes.sum())] = 2.0 * times[:, slopes]
        return U, variance

    def squares(self, loss: Loss, theta: Array, survey: bool) -> Array:
        """Return the sum of squared gradients of the rows, (p, p), for robust errors."""
        m = self.n_incomplete
        score = self.Z @ theta + self.offset
        each = np.empty_like(self.Z)
        each[m:] = loss.sweep(self.y[m:], score[m:])[0][:, None] * self.Z[m:]
        if m:
            U, variance = self.spread(theta)
            terms = row_terms(loss, self.y[:m], score[:m], variance)
            each[:m] = terms.z[:, None] * self.Z[:m] + terms.v[:, None] * U
        each *= (self.weight if survey else np.sqrt(self.weight))[:, None]
        return np.asarray(each.T @ each)


def _compact(found: Completed) -> tuple[NDArray[np.intp], tuple[tuple[Batch, Array], ...]]:
    """Return the rows with missing values, and the parts of a record of these rows alone."""
    order, parts, first = [], [], 0
    for batch, variance in found.parts:
        n = len(batch.rows)
        parts.append((batch._replace(rows=np.arange(first, first + n)), variance))
        order.append(batch.rows)
        first += n
    rows = np.concatenate(order) if order else np.empty(0, dtype=np.intp)
    return rows, tuple(parts)


# --- solver ---------------------------------------------------------------------------------------


@dataclass
class MarginalResult:
    """Where the solver ended, in standardised coordinates.

    Attributes
    ----------
    theta : ndarray of shape (p,)
    value : float
        Penalised loss.
    gradient, hessian : ndarray
        Penalised; the observed Hessian.
    converged : bool
    passes : int
    """

    theta: Array
    value: float
    gradient: Array
    hessian: Array
    converged: bool
    passes: int


def minimise_marginal(
    sums: Callable[[Array, str], MarginalSums],
    start: Array,
    penalty: Array,
    *,
    done: Callable[[Array, float], bool],
    most: int = MOST_STEPS,
) -> MarginalResult:
    """Minimise a penalised marginal loss by Newton's method.

    Parameters
    ----------
    sums : callable (theta, kind) -> MarginalSums
    start : ndarray of shape (p,)
    penalty : ndarray of shape (p,)
    done : callable (gradient, decrement) -> bool
        Whether to stop here; the decrement is half the squared Newton step, in units of loss.
    most : int
        Passes.
    """
    theta, passes = start, 1

    def at(theta: Array) -> MarginalResult:
        found = sums(theta, "observed")
        value = found.value + 0.5 * float(penalty @ theta**2)
        gradient = found.gradient + penalty * theta
        return MarginalResult(
            theta, value, gradient, found.hessian + np.diag(penalty), False, passes
        )

    here = at(theta)
    while True:
        factor = _factor(here.hessian)
        if factor is None:
            passes += 1
            expected = sums(here.theta, "expected").hessian + np.diag(penalty)
            factor = _factor(expected) or _factor(_lifted(expected))
        assert factor is not None
        step = -_solve(factor, here.gradient)
        downhill = float(step @ here.gradient)
        here.converged = done(here.gradient, -0.5 * downhill)
        if here.converged or passes >= most or not downhill < 0:
            break
        share, noise = 1.0, 1e-13 * abs(here.value)
        while True:
            passes += 1
            there = at(here.theta + share * step)
            if there.value <= here.value + 1e-4 * share * downhill + noise:
                break
            share *= 0.25
            if passes >= most or share < 1e-8:
                break
        if not there.value <= here.value + noise:  # rounding has the last word
            break
        here = there
    here.passes = passes
    return here


def _factor(hessian: Array) -> tuple[tuple[Array, bool], Array] | None:
    """Return a Cholesky factor of a matrix scaled to a unit diagonal; None if not definite."""
    diagonal = np.diag(hessian)
    if not np.isfinite(hessian).all() or not (diagonal > 0).all():
        return None
    scale = np.sqrt(diagonal)
    try:
        factor = cho_factor(hessian / np.outer(scale, scale), lower=True, check_finite=False)
    except LinAlgError:
        return None
    if np.diag(factor[0]).min(initial=1.0) ** 2 < 1e-13:
        return None
    return factor, scale


def _lifted(hessian: Array) -> Array:
    """Return a semi-definite matrix with its diagonal raised a little."""
    diagonal = np.diag(hessian)
    floor = max(1e-8 * float(diagonal.max(initial=0.0)), 1e-300)
    return np.asarray(hessian + np.diag(np.maximum(1e-8 * diagonal, floor)))


def _solve(factor: tuple[tuple[Array, bool], Array], gradient: Array) -> Array:
    matrix, scale = factor
    return np.asarray(cho_solve(matrix, gradient / scale, check_finite=False) / scale)


def marginal_grid(
    rows: Standardised,
    losses: Sequence[Loss],
    ridges: Sequence[float],
    coordinates: GridCoordinates,
    start: Array,
    enough: float,
) -> Array:
    """Return coefficients (losses, ridges, k + 1) in the units of the columns.

    From the largest ridge to the smallest, each from the answer before it; `start` (losses, p) is
    where the largest begins.
    """
    coef = np.empty((len(losses), len(ridges), len(coordinates.free)))
    for i, loss in enumerate(losses):
        theta = start[i]
        for r in np.argsort(ridges)[::-1]:
            found = minimise_marginal(
                partial(rows.sums, loss),
                theta,
                coordinates.penalty(ridges[r]),
                done=lambda _, decrement: decrement <= enough,
            )
            theta = found.theta
            coef[i, r] = coordinates.given(theta)
    return coef


def incomplete_grid(
    X: Array,
    y: Array,
    weight: Array,
    whole: bool,
    repeat: float,
    stats: ColumnSummary,
    front: Front,
    losses: Sequence[Loss],
    ridges: Sequence[float],
    problem: Formulation,
) -> Array:
    """Return coefficients (losses, ridges, k + 1) of rows in memory, a sample of all or not.

    The first six are those of a sample of rows; `repeat` is how often a record stands in it.
    """
    coordinates = GridCoordinates(stats, problem)
    rows = Standardised(spread(front, X), y, weight, coordinates)
    start = np.zeros((len(losses), rows.Z.shape[1]))
    if problem.intercept != "none":
        start[:, -1] = [
            float(loss.link.forward(np.array([stats.prevalence]))[0]) for loss in losses
        ]
        if problem.offset is not None:
            start[:, -1] -= stats.mean[problem.offset]
    least = max(float(weight.min()), 1e-3 * float(weight.mean()))
    return marginal_grid(rows, losses, ridges, coordinates, start, ENOUGH * repeat * least)


def spread(front: Front, X: Array) -> Completed:
    """Return means and covariances of rows that may have a column more than the front, complete."""
    k = front.n_columns
    if X.shape[1] == k:
        return front.spread(X)
    found = front.spread(X[:, :k])
    more = np.ones(X.shape[1] - k)
    return Completed(
        np.column_stack([found.mean, X[:, k:]]), np.append(found.scale, more), found.parts
    )


def marginal_path(
    found: Completed,
    y: Array,
    ridges: Sequence[float],
    weight: Array | None = None,
    *,
    units: Array | None = None,
    loss: Loss | None = None,
) -> Array:
    """Return the coefficients at every ridge, fitted to rows with missing values.

    Parameters
    ----------
    found : Completed
        Of `Front.spread`.
    y : ndarray of shape (n,)
        0 and 1.
    ridges : sequence of float
        Penalty ridge / 2 * |coef * units|^2, added to the sum of losses; the intercept is free.
    weight : ndarray of shape (n,), optional
    units : ndarray of shape (k,), optional
        Standard deviations of the columns; by default those of the values seen (`found.scale`).
    loss : loss of scarce.losses, optional
        Logistic by default.

    Returns
    -------
    ndarray of shape (ridges, k + 1)
        Slopes in the units of the columns, then the intercept, at which
        `marginal_prob(link, X @ slopes + intercept, found.variance(slopes))` are the probabilities.

    Notes
    -----
    From the strongest ridge to the weakest, each from the answer before it. Columns that are
    constant get a coefficient of 0.

    Examples
    --------
    >>> from scarce.missing.front import fit_front
    >>> rng = np.random.default_rng(0)
    >>> X = rng.normal(size=(2000, 2))
    >>> y = (rng.random(2000) < 1 / (1 + np.exp(-X @ [1.0, 2.0]))) * 1.0
    >>> X[::3, 1] = np.nan
    >>> marginal_path(fit_front(X).spread(X), y, [1.0]).round(1)
    array([[1. , 2.1, 0. ]])
    """
    loss = LogLoss(Logit()) if loss is None else loss
    weight = np.ones(len(y)) if weight is None else weight
    total = float(weight.sum())
    mean = weight @ found.mean / total
    constant = np.ptp(found.mean, axis=0) == 0
    scale = np.where(constant, 0.0, found.scale if units is None else units)
    events = np.array([weight @ (1.0 - y), weight @ y])
    stats = ColumnSummary(events, events, 0, mean, scale)
    coordinates = GridCoordinates(stats, Formulation(units=stats.scale))
    rows = Standardised(found, y, weight, coordinates)
    start = np.zeros((1, rows.Z.shape[1]))
    start[0, -1] = float(loss.link.forward(np.array([stats.prevalence]))[0])
    enough = ENOUGH * max(float(weight.min()), 1e-3 * total / len(y))
    return np.asarray(marginal_grid(rows, [loss], ridges, coordinates, start, enough)[0])
