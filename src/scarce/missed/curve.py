"""The precision curve: how does the share of events fall with the score?

    odds(v) = exp(eta(v)) + blind,   g = odds / (1 + odds)

v is the normal score of the row's rank (score_table.py). eta is piecewise linear with positive
slopes: `slope` around the threshold, and each further segment multiplies the slope of the one
before by a factor near 1. `blind` distributes a share of the events over all rows as if the score
knew nothing of them. Several batches share slopes and blind share; each has its own level.

The posterior is drawn without a chain:

    mode (Newton) -> Laplace -> draws of a t with 6 degrees of freedom, weighted by
    posterior / proposal; centre and covariance are fitted again to the weighted draws while their
    effective number  (sum w)^2 / sum w^2  is small

Needs no distribution of the scores and no inclusion probabilities: the likelihood is Bernoulli on
labelled rows. Assumes that a lower score is never more suspicious than a higher one, that few
events are invisible to the score, and that rows were chosen for labelling by their score alone. The
sampler assumes one mode that matters and up to about thirty parameters.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit, logsumexp, ndtr, ndtri

from scarce.engine.block import Array
from scarce.errors import Argument, Problem
from scarce.missed.provenance import ScoreBatch
from scarce.missed.score_table import LabelledGroups, RankGrid, ScoreTable, grid_of, labelled_of

# --- draws from a posterior -----------------------------------------------------------------------


FREEDOM = 6.0
Many = Callable[[Array], Array]
Slopes = Callable[[Array], tuple[Array, Array]]


class Mode(NamedTuple):
    """Where a log density is highest."""

    at: Array
    value: float
    curvature: Array  # minus the second derivatives, made positive definite
    gradient: float  # largest entry that is left
    rounds: int


class PosteriorDraws(NamedTuple):
    """A sample of the posterior, equally weighted."""

    values: Array  # (draws, parameters)
    effective_size: float  # of the weighted draws that it was taken from


def find_mode(slopes: Slopes, start: Array, *, tol: float = 1e-6, rounds: int = 60) -> Mode:
    """Climb to a mode by Newton's method with backtracking.

    Parameters
    ----------
    slopes : callable
        (m, k) points -> (m,) log densities and (m, k) gradients.
    start : ndarray of shape (k,)
    tol : float
        Stops when the step would raise the log density by less than this.

    Examples
    --------
    >>> def bell(x):
    ...     return -0.5 * ((x - 3.0) ** 2).sum(axis=1), 3.0 - x
    >>> find_mode(bell, np.zeros(2)).at.round(6)
    array([3., 3.])
    """
    at = np.array(start, dtype=np.float64)
    value, gradient, curvature = _look(slopes, at)
    done = 0
    while done < rounds:
        done += 1
        step = np.linalg.solve(curvature, gradient)
        if float(step @ gradient) < 2 * tol:
            break
        size = min(1.0, 5.0 / float(np.abs(step).max()))
        tried = size * 0.5 ** np.arange(10.0)
        heights = slopes(at + tried[:, None] * step)[0]
        heights = np.where(np.isnan(heights), -np.inf, heights)
        better = np.flatnonzero(heights > value)
        if len(better) == 0:
            break
        at = at + tried[better[np.argmax(heights[better])]] * step
        value, gradient, curvature = _look(slopes, at)
    return Mode(at, value, curvature, float(np.abs(gradient).max()), done)


def _look(slopes: Slopes, at: Array) -> tuple[float, Array, Array]:
    """Value, gradient and curvature, the last from differences of gradients."""
    k = len(at)
    reach = 1e-4 * np.maximum(1.0, np.abs(at))
    steps = np.diag(reach)
    values, gradients = slopes(np.concatenate([at[None], at + steps, at - steps]))
    second = (gradients[1 : k + 1] - gradients[k + 1 :]) / (2 * reach[:, None])
    lengths, axes = np.linalg.eigh(-(second + second.T) / 2)
    floor = max(1e-3, 1e-10 * float(np.abs(lengths).max()))
    # Where the density bends the wrong way, its size still says how far a step may go.
    return (
        float(values[0]),
        gradients[0],
        (axes * np.maximum(np.abs(lengths), floor)) @ axes.T,
    )


def draw_posterior(
    log_density: Many,
    mode: Mode,
    rng: np.random.Generator,
    *,
    tries: int = 1500,
    keep: int = 800,
    enough: float = 400.0,
) -> PosteriorDraws:
    """Draw from a posterior around its mode.

    Parameters
    ----------
    log_density : callable
        (m, k) points -> (m,) log densities, up to a constant.
    mode : Mode
    rng : numpy.random.Generator
    tries, keep : int
        Weighted draws made, and equally weighted draws returned.
    enough : float
        Effective number of draws at which the proposal is good enough.

    Examples
    --------
    >>> def bell(x):
    ...     return -0.5 * (x**2).sum(axis=1)
    >>> mode = Mode(np.zeros(2), 0.0, np.eye(2), 0.0, 1)
    >>> draws = draw_posterior(bell, mode, np.random.default_rng(0))
    >>> draws.values.shape, bool(np.abs(draws.values.std(axis=0) - 1).max() < 0.1)
    ((800, 2), True)
    """
    centre: Array = mode.at
    covariance: Array = np.asarray(np.linalg.inv(mode.curvature), dtype=np.float64)
    points, share, size = _weighted(log_density, centre, covariance, tries, rng)
    for _ in range(3):
        if size >= enough:
            break
        centre = share @ points
        apart = points - centre
        # Some of the old covariance stays: a few heavy draws must not shrink the next proposal.
        kept = min(1.0, size / 50.0)
        covariance = kept * (apart.T * share) @ apart + (1 - kept) * covariance
        covariance += 1e-10 * np.trace(covariance) * np.eye(len(centre))
        points, share, size = _weighted(log_density, centre, covariance, tries, rng)
    if size < enough / 2:
        points, share, size = _weighted(log_density, centre, covariance, 6 * tries, rng)
    marks = (np.arange(keep) + rng.random()) / keep
    chosen = np.minimum(np.searchsorted(np.cumsum(share), marks), len(share) - 1)
    return PosteriorDraws(points[chosen], size)


def _weighted(
    log_density: Many, centre: Array, covariance: Array, tries: int, rng: np.random.Generator
) -> tuple[Array, Array, float]:
    k = len(centre)
    root = np.linalg.cholesky(covariance)
    normal = rng.standard_normal((tries, k))
    stretch = np.sqrt(FREEDOM / rng.chisquare(FREEDOM, tries))
    points = centre + (normal @ root.T) * stretch[:, None]
    length = (normal**2).sum(axis=1) * stretch**2
    log_proposal = -0.5 * (FREEDOM + k) * np.log1p(length / FREEDOM)
    log_weight = log_density(points) - log_proposal
    log_weight = np.where(np.isnan(log_weight), -np.inf, log_weight)
    if np.isneginf(log_weight).all():  # no draw is possible
        return points, np.full(tries, 1.0 / tries), 0.0
    share = np.exp(log_weight - logsumexp(log_weight))
    return points, share, float(1.0 / (share**2).sum())


# --- the monotone precision curve -----------------------------------------------------------------


LOWER_ENDS = (-0.6, -1.2, -1.8, -2.6)  # where the segments below the threshold begin
UPPER_END = 0.5
SHARED = 7  # log slope, four factors downwards, one upwards, log odds of the blind share
LEVEL_PRIOR = (-1.5, 2.5)
BLIND_PRIOR = (-4.0, 2.0)
SLOPE_PRIOR = (float(np.log(2.2)), 0.8)
FACTOR = 0.8
MOST_POOLED = 12  # with more parameters at once, importance draws are worth too little
AUC_SD = 0.3  # of a validation AUC, on the scale of the distance d' of two normal distributions


class SlopePrior(NamedTuple):
    """Prior of the slopes, before any label is seen."""

    centre: float = SLOPE_PRIOR[0]
    sd: float = SLOPE_PRIOR[1]
    factor: float = FACTOR


class _Batch(NamedTuple):
    grid: RankGrid
    grid_basis: Array  # (6, groups)
    share: Array  # of the batch's rows, per group
    labelled: LabelledGroups
    basis: Array  # (6, labelled groups)
    anchor: float  # v at the threshold


class Curves(NamedTuple):
    """PosteriorDraws of the precision curve given the labels."""

    draws: PosteriorDraws
    anchors: tuple[float, ...]
    batches: tuple[_Batch, ...]
    factor: float

    def some(self, count: int, rng: np.random.Generator) -> Curves:
        """Some of the draws, at random with replacement."""
        chosen = rng.choice(len(self.draws.values), count)
        return self._replace(draws=self.draws._replace(values=self.draws.values[chosen]))

    def one(self, draw: int) -> Curves:
        """A single draw."""
        return self._replace(draws=self.draws._replace(values=self.draws.values[draw : draw + 1]))

    def precision(self, place: Array, batch: int = 0) -> Array:
        """Share of events at these normal scores: (draws, places)."""
        eta, blind = self._parts(batch, _basis(np.asarray(place) - self.anchors[batch]))
        return _share(np.exp(np.minimum(eta, 500.0)) + blind[:, None])

    def _parts(self, batch: int, basis: Array) -> tuple[Array, Array]:
        theta, held = self.draws.values, self.batches[batch]
        slopes = _slopes(theta[:, -SHARED:], self.factor)
        level = theta[:, batch, None]
        visible = expit(level + slopes @ held.grid_basis) @ held.share
        return level + slopes @ basis, np.exp(theta[:, -1]) * visible


def fit_monotone(
    tables: Sequence[ScoreTable],
    thresholds: Sequence[float],
    prior: SlopePrior,
    rng: np.random.Generator,
) -> Curves:
    """Draw precision curves from their posterior given the labels of one or several batches.

    Parameters
    ----------
    tables : sequence of ScoreTable
        One per batch.
    thresholds : sequence of float
        The threshold of each.
    prior : SlopePrior
    rng : numpy.random.Generator
    """
    batches = tuple(_prepare(one, at) for one, at in zip(tables, thresholds, strict=True))
    start = np.zeros(len(batches) + SHARED)
    start[: len(batches)] = [_first_level(batch) for batch in batches]
    start[-SHARED] = prior.centre
    start[-1] = BLIND_PRIOR[0]

    def slopes(theta: Array) -> tuple[Array, Array]:
        return _log_posterior(theta, batches, prior)

    mode = find_mode(slopes, start, tol=1e-3)
    tries = 1500 * (1 + (len(batches) > 4) + (len(batches) > 12))
    draws = draw_posterior(
        lambda theta: _log_posterior(theta, batches, prior, slopes=False)[0], mode, rng, tries=tries
    )
    return Curves(draws, tuple(batch.anchor for batch in batches), batches, prior.factor)


def _prepare(table: ScoreTable, threshold: float) -> _Batch:
    grid, labelled = grid_of(table, threshold), labelled_of(table)
    anchor = anchor_of(table, threshold)
    return _Batch(
        grid,
        _basis(grid.place - anchor),
        grid.rows / grid.rows.sum(),
        labelled,
        _basis(labelled.place - anchor),
        anchor,
    )


def anchor_of(table: ScoreTable, threshold: float) -> float:
    """Return the normal score that the segments hang on: that of the last alert with a label.

    Where every alert is labelled that is the threshold. Where only the top of the alerts was looked
    at, the curve must be free to bend where its labels end, and not at a threshold further down.
    """
    cut = table.above(threshold)
    labelled = np.flatnonzero(table.events[:cut] + table.others[:cut])
    return float(table.place[labelled[-1] if len(labelled) else max(0, cut - 1)])


def _first_level(batch: _Batch) -> float:
    """Log odds of an event near the threshold, roughly, from the labelled rows."""
    events, others = batch.labelled.events.sum(), batch.labelled.others.sum()
    return float(np.clip(np.log((events + 0.5) / (others + 0.5)), -6.0, 3.0))


def _basis(distance: Array) -> Array:
    """Length of each segment between the threshold and these places, signed: (6, places)."""
    ends = (*LOWER_ENDS, -np.inf)
    rows = [np.clip(distance, LOWER_ENDS[0], UPPER_END)]
    for high, low in pairwise(ends):
        rows.append(np.clip(distance, low, high) - high)
    rows.append(np.maximum(distance - UPPER_END, 0.0))
    return np.stack(rows)


def _slopes(shared: Array, factor: float) -> Array:
    """Slopes of the six segments: (draws, 6)."""
    log_slope = shared[:, :1] + np.concatenate(
        [
            np.zeros((len(shared), 1)),
            factor * np.cumsum(shared[:, 1:5], axis=1),
            factor * shared[:, 5:6],
        ],
        axis=1,
    )
    return np.asarray(np.exp(np.minimum(log_slope, 50.0)))


def _share(odds: Array) -> Array:
    return np.asarray(odds / (1.0 + odds))


def _log_posterior(
    theta: Array, batches: Sequence[_Batch], prior: SlopePrior, *, slopes: bool = True
) -> tuple[Array, Array]:
    """Log posterior of each row of theta and, on request, its gradient."""
    b = len(batches)
    shared = theta[:, -SHARED:]
    centre = np.array([LEVEL_PRIOR[0]] * b + [prior.centre] + [0.0] * 5 + [BLIND_PRIOR[0]])
    sd = np.array([LEVEL_PRIOR[1]] * b + [prior.sd] + [1.0] * 5 + [BLIND_PRIOR[1]])
    standard = (theta - centre) / sd
    value = -0.5 * (standard**2).sum(axis=1)
    gradient = -standard / sd
    slope = _slopes(shared, prior.factor)
    odds_blind = np.exp(np.minimum(shared[:, -1], 50.0))
    for index, batch in enumerate(batches):
        level = theta[:, index, None]
        seen = expit(level + slope @ batch.grid_basis)
        visible = seen @ batch.share
        blind = odds_blind * visible
        eta = np.minimum(level + slope @ batch.basis, 500.0)
        visible_odds = np.exp(eta)
        odds = visible_odds + blind[:, None] + 1e-300
        tested = batch.labelled.events + batch.labelled.others
        value += np.log(odds) @ batch.labelled.events - np.log1p(odds) @ tested
        if not slopes:
            continue
        by_log_odds = batch.labelled.events - tested * _share(odds)
        by_eta = by_log_odds * (visible_odds / odds)
        by_blind = (by_log_odds / odds).sum(axis=1)
        bend = seen * (1.0 - seen) * batch.share
        by_slope = by_eta @ batch.basis.T
        by_slope += (by_blind * odds_blind)[:, None] * (bend @ batch.grid_basis.T)
        by_slope *= slope
        gradient[:, index] += by_eta.sum(axis=1) + by_blind * odds_blind * bend.sum(axis=1)
        gradient[:, -SHARED] += by_slope.sum(axis=1)
        downward = np.cumsum(by_slope[:, 4:0:-1], axis=1)[:, ::-1]
        gradient[:, -SHARED + 1 : -2] += prior.factor * downward
        gradient[:, -2] += prior.factor * by_slope[:, 5]
        gradient[:, -1] += by_blind * blind
    return value, gradient


@dataclass(frozen=True, slots=True)
class PooledCurves:
    """Curves of several batches, which share their shape within groups of neighbours."""

    groups: tuple[Curves, ...]
    spot: tuple[tuple[int, int], ...]  # group and place in it of each batch

    @classmethod
    def fit(
        cls,
        batches: Sequence[ScoreBatch],
        rng: np.random.Generator,
        *,
        share_shape: bool = False,
    ) -> PooledCurves:
        """Fit a curve to each batch, or to groups of neighbours that share their shape."""
        count = -(-len(batches) // MOST_POOLED) if share_shape else len(batches)
        groups, spot = [], []
        for group, part in enumerate(np.array_split(np.arange(len(batches)), count)):
            here = [batches[index] for index in part]
            tables, marks = [one.table for one in here], [one.threshold for one in here]
            groups.append(fit_monotone(tables, marks, SlopePrior(), rng))
            spot += [(group, at) for at in range(len(part))]
        return cls(tuple(groups), tuple(spot))

    @property
    def effective_size(self) -> float:
        """The least of the groups'."""
        return min(one.draws.effective_size for one in self.groups)

    def share_of_events(self, batch: ScoreBatch, index: int, score: Array, place: Array) -> Array:
        """Return draws of the share of events at normal scores of a batch: (draws, places)."""
        group, at = self.spot[index]
        return self.groups[group].precision(place, at)


def weighed_by_auc(
    curves: PooledCurves, batches: Sequence[ScoreBatch], auc: float
) -> tuple[PooledCurves, list[Problem]]:
    """Weigh curves by how well they agree with the AUC of a validation, at any number of events.

    Each curve has an AUC of its own, P(score of an event > score of another row). It is compared on
    the scale of d' = sqrt(2) Phi^-1(AUC), on which a validation is off by about AUC_SD.
    """
    groups, problems = [], []
    for number, group in enumerate(curves.groups):
        members = [index for index, (at, _) in enumerate(curves.spot) if at == number]
        distance = np.mean([_distances(group, curves.spot[index][1]) for index in members], axis=0)
        off = (distance - np.sqrt(2.0) * ndtri(auc)) / AUC_SD
        weight = np.exp(-0.5 * (off**2 - (off**2).min()))
        share = weight / weight.sum()
        if np.abs(off).min() > 3.0 or np.mean(np.abs(off) < 3.0) < 0.01:
            where = "" if batches[members[0]].name is None else f" of {batches[members[0]].name!r}"
            problems.append(
                Problem(
                    "The labels{where} contradict {auc}: curves that fit them have an AUC of about "
                    "{own:.2f}. The guess goes by the labels.",
                    code="auc-contradicted",
                    where=where,
                    auc=Argument("auc", auc),
                    own=float(ndtr(np.median(distance) / np.sqrt(2.0))),
                )
            )
            groups.append(group)
            continue
        marks = (np.arange(len(share)) + 0.5) / len(share)
        chosen = np.minimum(np.searchsorted(np.cumsum(share), marks), len(share) - 1)
        size = min(group.draws.effective_size, float(1.0 / (share**2).sum()))
        draws = PosteriorDraws(group.draws.values[chosen], size)
        groups.append(group._replace(draws=draws))
    return PooledCurves(tuple(groups), curves.spot), problems


def _distances(group: Curves, at: int) -> Array:
    """Return d' of each curve of one batch: how far events and other rows are apart."""
    grid = group.batches[at].grid
    share = group.precision(grid.place, at)
    events, others = share * grid.rows, (1.0 - share) * grid.rows
    below = others[:, ::-1].cumsum(axis=1)[:, ::-1] - others / 2.0
    total = events.sum(axis=1) * others.sum(axis=1)
    auc = (events * below).sum(axis=1) / np.maximum(total, 1e-300)
    return np.asarray(np.sqrt(2.0) * ndtri(np.clip(auc, 1e-6, 1.0 - 1e-6)))
