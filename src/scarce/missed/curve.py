"""How does the share of events fall with the score, when only the top was ever investigated?

    odds(v) = exp(eta(v)) + blind,   g = odds / (1 + odds)

v is the normal score of the row's rank (ledger.py). eta is piecewise linear with positive slopes:
`slope` around the threshold, and each further segment multiplies the slope of the one before by a
factor near 1. `blind` spreads a share of the events over all rows as if the score knew nothing of
them. Several batches share slopes and blind share; each has its own level.

Needs no law for the scores and no inclusion probabilities: the likelihood is Bernoulli on labelled
rows. Assumes that a lower score is never more suspicious than a higher one, that few events are
invisible to the score, and that rows were chosen for labelling by their score alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from scipy.special import expit, ndtri

from scarce.engine.block import Array
from scarce.missed.posterior import Draws, draw_posterior, find_mode
from scarce.missed.score_table import Grid, Labelled, Ledger, grid_of, labelled_of

LOWER_ENDS = (-0.6, -1.2, -1.8, -2.6)  # where the segments below the threshold begin
UPPER_END = 0.5
SHARED = 7  # log slope, four factors downwards, one upwards, log odds of the blind share
LEVEL_PRIOR = (-1.5, 2.5)
BLIND_PRIOR = (-4.0, 2.0)
SLOPE_PRIOR = (float(np.log(2.2)), 0.8)
FACTOR = 0.8
FEW_EVENTS = 20  # up to here a validation AUC says more about the slope than the batch does


class SlopePrior(NamedTuple):
    """What is believed of the slopes before any label is seen."""

    centre: float
    spread: float
    factor: float


def slope_prior(auc: float | None, events: float) -> SlopePrior:
    """Return the prior of the slopes; a validation AUC sharpens it while few events were seen.

    Examples
    --------
    >>> slope_prior(None, 10).spread, slope_prior(0.9, 10).spread, slope_prior(0.9, 30).spread
    (0.8, 0.3, 0.8)
    """
    if auc is None or events > FEW_EVENTS:
        return SlopePrior(*SLOPE_PRIOR, FACTOR)
    return SlopePrior(float(np.log(np.sqrt(2.0) * ndtri(auc))), 0.3, 0.6)


class _Batch(NamedTuple):
    grid: Grid
    grid_basis: Array  # (6, groups)
    share: Array  # of the batch's rows, per group
    labelled: Labelled
    basis: Array  # (6, labelled groups)
    anchor: float  # v at the threshold


class Curves(NamedTuple):
    """Draws of the precision curve given the labels."""

    draws: Draws
    anchors: tuple[float, ...]
    batches: tuple[_Batch, ...]
    factor: float

    def some(self, count: int, rng: np.random.Generator) -> Curves:
        """A few of the draws, by lot."""
        chosen = rng.choice(len(self.draws.values), count)
        return self._replace(draws=self.draws._replace(values=self.draws.values[chosen]))

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
    ledgers: Sequence[Ledger],
    thresholds: Sequence[float],
    prior: SlopePrior,
    rng: np.random.Generator,
) -> Curves:
    """Draw precision curves from their posterior given the labels of one or several batches.

    Parameters
    ----------
    ledgers : sequence of Ledger
        One per batch.
    thresholds : sequence of float
        The threshold of each.
    prior : SlopePrior
    rng : numpy.random.Generator
    """
    batches = tuple(_prepare(one, at) for one, at in zip(ledgers, thresholds, strict=True))
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


def _prepare(ledger: Ledger, threshold: float) -> _Batch:
    grid, labelled = grid_of(ledger, threshold), labelled_of(ledger)
    anchor = anchor_of(ledger, threshold)
    return _Batch(
        grid,
        _basis(grid.place - anchor),
        grid.rows / grid.rows.sum(),
        labelled,
        _basis(labelled.place - anchor),
        anchor,
    )


def anchor_of(ledger: Ledger, threshold: float) -> float:
    """Return the normal score that the segments hang on: that of the last alert with a label.

    Where every alert is labelled that is the threshold. Where only the top of the alerts was looked
    at, the curve must be free to bend where its labels end, and not at a threshold further down.
    """
    cut = ledger.above(threshold)
    labelled = np.flatnonzero(ledger.events[:cut] + ledger.others[:cut])
    return float(ledger.place[labelled[-1] if len(labelled) else max(0, cut - 1)])


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
    spread = np.array([LEVEL_PRIOR[1]] * b + [prior.spread] + [1.0] * 5 + [BLIND_PRIOR[1]])
    standard = (theta - centre) / spread
    value = -0.5 * (standard**2).sum(axis=1)
    gradient = -standard / spread
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
