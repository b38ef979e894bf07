"""How sure is a mixture of its parameters? Draws from its posterior, and refits of drawn scores.

The posterior is the likelihood of 002 eq 1 times the prior on the ratio of spreads, with a wide
normal prior on the log odds of the share, so that it exists when no event is labelled. Assumes that
the families are right: the intervals that follow are honest about noise and silent about that.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy.special import expit

from scarce.engine.block import Array
from scarce.missed.mixture.fitting import digest_of_ledger, evidence_of, ks_distance
from scarce.missed.mixture.partial_em import (
    FLOOR,
    Evidence,
    Pair,
    climb_by_em,
    curvature_of,
    log_likelihood,
    polish,
    prior_of_ratio,
    slope_at,
    spread_of,
    whitening,
)
from scarce.missed.posterior import Draws, Mode, draw_posterior
from scarce.missed.provenance import Intake
from scarce.missed.score_table import Ledger

SHARE_PRIOR = (-4.0, 3.0)
FINE = 4096
MOST_DRAWN = 20_000
COARSE = 150  # bins of the unlabelled rows behind the draws


@dataclass(frozen=True, slots=True)
class MixtureDraws:
    """Draws of a mixture for each batch."""

    pairs: tuple[Pair, ...]
    draws: tuple[Draws, ...]
    spread_prior: float | None

    @property
    def effective_size(self) -> float:
        """The least of the batches'."""
        return min(one.effective_size for one in self.draws)

    def chance_of_distance(
        self, index: int, ledger: Ledger, n_draws: int, random_state: int
    ) -> float:
        """The p-value of one batch's KS distance."""
        data = evidence_of(digest_of_ledger(ledger, FINE), FINE)
        return bootstrap_ks(self.pairs[index], data, self.spread_prior, n_draws, random_state)

    def best_guess(self, intake: Intake, index: int, score: Array) -> Array:
        """Posterior of an event at each score under the fit itself (002 section 6.2)."""
        return np.asarray(expit(self.pairs[index].log_odds(score)))

    def share_of_events(self, intake: Intake, index: int, score: Array, place: Array) -> Array:
        """Posterior of an event at each score: (draws, scores)."""
        pair = self.pairs[index]
        return np.stack(
            [expit(pair.at(theta).log_odds(score)) for theta in self.draws[index].values]
        )


def draw_mixtures(
    intakes: Sequence[Intake], families: tuple[Any, Any], rng: np.random.Generator
) -> tuple[MixtureDraws | None, list[tuple[int, str]]]:
    """Fit a mixture to each batch and draw from its posterior; None where one is not identified."""
    from scarce.missed.mixture.estimator import ScoreMixture

    pairs: list[Pair] = []
    draws: list[Draws] = []
    warnings: list[tuple[int, str]] = []
    for intake in intakes:
        mixture = ScoreMixture(*families)._fit_ledger(intake.ledger)
        where = "" if intake.name is None else f" (batch {intake.name!r})"
        if not mixture.identified_:
            text = f"The mixture is not identified{where}: {mixture.why_}."
            warnings.append((len(pairs), text))
        if not mixture.identified_:
            return None, warnings
        pair = mixture._pair
        data = evidence_of(digest_of_ledger(intake.ledger, COARSE), COARSE)
        drawn = _draw(pair, data, mixture.spread_prior, rng)
        pairs.append(pair)
        draws.append(drawn)
    return MixtureDraws(tuple(pairs), tuple(draws), mixture.spread_prior), warnings


def _draw(
    pair: Pair, data: Evidence, spread_prior: float | None, rng: np.random.Generator
) -> Draws:
    floor = FLOOR * spread_of(data)
    nothing = Draws(np.tile(pair.theta, (2, 1)), 0.0)

    def log_density(points: Array) -> Array:
        values = np.full(len(points), -np.inf)
        for row, white in enumerate(points):
            one = pair.at(pair.theta + root @ white)
            if not _sane(one, floor):
                continue
            standard = (one.theta[0] - SHARE_PRIOR[0]) / SHARE_PRIOR[1]
            values[row] = (
                log_likelihood(one, data) + prior_of_ratio(one, spread_prior) - 0.5 * standard**2
            )
        return values

    try:
        # White coordinates: units of the scores fall out, and 1 is about a standard error.
        root = whitening(slope_at(pair, data, spread_prior)[2])
        curvature = curvature_of(pair, data, spread_prior)
        curvature[0, 0] += SHARE_PRIOR[1] ** -2.0
        lengths, axes = np.linalg.eigh(root.T @ curvature @ root)
        # A direction that the data leave open gets a wide proposal, not an endless one.
        lengths = np.maximum(np.abs(lengths), 0.04)
        mode = Mode(np.zeros(len(lengths)), 0.0, (axes * lengths) @ axes.T, 0.0, 0)
        drawn = draw_posterior(log_density, mode, rng, tries=1000)
    except (np.linalg.LinAlgError, OverflowError, ZeroDivisionError):
        return nothing  # a parameter that no row holds, or draws that lie on a line
    if np.isnan(drawn.effective_size):
        return nothing
    return drawn._replace(values=pair.theta + drawn.values @ root.T)


def _sane(pair: Pair, floor: float) -> bool:
    """Events are the minority, score higher, and have a spread."""
    if pair.positive_share >= 0.5 or np.abs(pair.theta[0]) > 60:
        return False
    for family, params in (
        (pair.foreground, pair.foreground_params),
        (pair.background, pair.background_params),
    ):
        if np.abs(params[1:]).max() > 600 or not floor < family.spread(params) < np.inf:
            return False
    behind = pair.background.mean(pair.background_params)
    return pair.foreground.mean(pair.foreground_params) > behind


def bootstrap_ks(
    pair: Pair, data: Evidence, spread_prior: float | None, n_draws: int, random_state: int
) -> float:
    """Return the share of drawn batches whose KS distance is at least the observed one.

    Refits start at the parameters that made the batch: from the bulk start alone the distances are
    too large and the test is blind. Of long data, 20,000 rows are drawn, and distances compared
    times the root of the rows.
    """
    rng = np.random.default_rng(random_state)
    observed = ks_distance(pair, data) * np.sqrt(data.total)
    rows = round(min(data.total, MOST_DRAWN))
    cut = float(np.min(np.concatenate([data.event_score, data.other_score, [np.inf]])))
    farther = 0
    for _ in range(n_draws):
        drawn = _drawn_batch(pair, rows, cut, rng)
        start = climb_by_em(pair, drawn, steps=5, stop=1e-9, floor=FLOOR * spread_of(drawn))
        refit = polish(start, drawn, spread_prior, FLOOR * spread_of(drawn))
        farther += ks_distance(refit.pair, drawn) * np.sqrt(rows) >= observed
    return (1.0 + farther) / (1.0 + n_draws)


def _drawn_batch(pair: Pair, total: int, cut: float, rng: np.random.Generator) -> Evidence:
    """Scores from the mixture, those at or above the lowest labelled score labelled."""
    event = rng.random(total) < pair.positive_share
    score = np.where(
        event,
        _sample(pair.foreground, pair.foreground_params, total, rng),
        _sample(pair.background, pair.background_params, total, rng),
    )
    labelled = score >= cut
    one = np.ones(total)
    states = (~labelled, labelled & event, labelled & ~event)
    return Evidence(*[part for state in states for part in (score[state], one[state])])


def _sample(family: Any, params: Array, n: int, rng: np.random.Generator) -> Array:
    """Scores by inverting the tail on a grid; the grid is far finer than any fit can see."""
    mean, spread = family.mean(params), family.spread(params)
    low = max(mean - 12 * spread, 1e-12 * mean) if family.positive_only else mean - 12 * spread
    grid = np.linspace(low, mean + 30 * spread, 20_001)
    cumulative = -np.expm1(family.log_tail(grid, params))
    return np.interp(rng.random(n), cumulative, grid)
