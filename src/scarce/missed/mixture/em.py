"""Two families of scores fitted to rows of which some are labelled.

    unlabelled: log((1 - b) p0 + b p1);   labelled: log(b p1) or log((1 - b) p0)     (002 eq 1)

EM with labels held fixed (002 eq 6 to 12) runs from several starts, and each step is checked to
raise the likelihood; the best go on with BFGS in coordinates whitened by the information. A weak
prior on the ratio of the two standard deviations keeps a few labelled events from closing on a
spike. Works on weighted points, so bins of a digest serve as well as rows. Assumes that rows were
chosen for labelling by their scores, or at random. Selects no family: see fitting.py.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import expit, logit

from scarce.engine.block import Array
from scarce.missed.mixture.families import Family

FLOOR = 1e-3  # least standard deviation of either part, as a share of that of all scores
EM_STEPS = 12


class Evidence(NamedTuple):
    """Weighted scores in the three states of labelling."""

    open_score: Array
    open_weight: Array
    event_score: Array
    event_weight: Array
    other_score: Array
    other_weight: Array

    @property
    def total(self) -> float:
        """Number of rows."""
        return float(self.open_weight.sum() + self.event_weight.sum() + self.other_weight.sum())

    @property
    def everything(self) -> tuple[Array, Array]:
        """All scores and their weights."""
        return (
            np.concatenate([self.open_score, self.event_score, self.other_score]),
            np.concatenate([self.open_weight, self.event_weight, self.other_weight]),
        )


class Pair(NamedTuple):
    """Two families and their parameters."""

    background: Family
    foreground: Family
    positive_share: float
    background_params: Array
    foreground_params: Array

    @property
    def theta(self) -> Array:
        """All parameters as unconstrained numbers; the share as its log odds."""
        head = [logit(np.clip(self.positive_share, 1e-300, 1.0 - 1e-16))]
        return np.concatenate([head, self.background_params, self.foreground_params])

    def at(self, theta: Array) -> Pair:
        """The same families with other parameters."""
        k = 1 + len(self.background_params)
        return self._replace(
            positive_share=float(expit(theta[0])),
            background_params=np.asarray(theta[1:k]),
            foreground_params=np.asarray(theta[k:]),
        )

    def log_odds(self, s: Array) -> Array:
        """Log odds of an event at these scores (002 eq 6)."""
        with np.errstate(invalid="ignore"):
            apart = self.foreground.log_density(
                s, self.foreground_params
            ) - self.background.log_density(s, self.background_params)
        return np.asarray(np.where(np.isnan(apart), 0.0, apart) + self.theta[0])


class FittedPair(NamedTuple):
    """A pair that EM or BFGS ended at."""

    pair: Pair
    log_likelihood: float  # without the prior
    objective: float  # with it
    certificate: float  # largest gradient entry per row
    steps: int
    path: tuple[Array, ...] = ()


def log_likelihood(pair: Pair, data: Evidence) -> float:
    """Return the log of 002 eq 1."""
    return _terms(pair, data)[0]


def _terms(pair: Pair, data: Evidence) -> tuple[float, Array]:
    """Log likelihood, and the posterior at the unlabelled scores."""
    p0, p1 = pair.background_params, pair.foreground_params
    log_share = np.log(max(pair.positive_share, 1e-300))
    log_rest = np.log1p(-min(pair.positive_share, 1.0 - 1e-16))
    low = log_rest + pair.background.log_density(data.open_score, p0)
    high = log_share + pair.foreground.log_density(data.open_score, p1)
    both = np.logaddexp(low, high)
    with np.errstate(invalid="ignore"):
        value = float(data.open_weight @ both)
        posterior = np.exp(np.where(np.isfinite(both), high - both, 0.0))
        if len(data.event_score):
            inside = pair.foreground.log_density(data.event_score, p1) + log_share
            value += float(data.event_weight @ inside)
        if len(data.other_score):
            inside = pair.background.log_density(data.other_score, p0) + log_rest
            value += float(data.other_weight @ inside)
    return (value if np.isfinite(value) else -np.inf), posterior


def em_step(pair: Pair, data: Evidence, posterior: Array, floor: float) -> Pair:
    """Return the pair that maximises the expected log likelihood (002 eq 7 to 12)."""
    events, others = data.open_weight * posterior, data.open_weight * (1.0 - posterior)
    p0, p1 = pair.background_params, pair.foreground_params
    background = pair.background.close(
        pair.background.summarise(data.open_score, others, p0)
        + pair.background.summarise(data.other_score, data.other_weight, p0)
    )
    foreground = pair.foreground.close(
        pair.foreground.summarise(data.open_score, events, p1)
        + pair.foreground.summarise(data.event_score, data.event_weight, p1)
    )
    share = (float(events.sum()) + float(data.event_weight.sum())) / data.total
    return pair._replace(
        positive_share=share,
        background_params=_floored(pair.background, background, floor),
        foreground_params=_floored(pair.foreground, foreground, floor),
    )


def _floored(family: Family, params: Array, floor: float) -> Array:
    spread = family.spread(params)
    return family.with_spread(params, floor) if spread < floor else params


def run_em(
    pair: Pair, data: Evidence, *, steps: int, stop: float, floor: float, keep_path: bool = False
) -> FittedPair:
    """Take EM steps until the log likelihood gains less than `stop` per row.

    A step that lowers the likelihood by more than rounding is not taken: for the families here it
    only happens where the floor under a standard deviation was in force.
    """
    value, posterior = _terms(pair, data)
    path = [pair.theta] if keep_path else []
    taken, gain = 0, np.inf
    while taken < steps:
        taken += 1
        new = em_step(pair, data, posterior, floor)
        new_value, new_posterior = _terms(new, data)
        gain = (new_value - value) / data.total
        if gain < -1e-12 * max(1.0, abs(value) / data.total):
            break
        pair, value, posterior = new, new_value, new_posterior
        if keep_path:
            path.append(pair.theta)
        if gain < stop:
            break
    return FittedPair(pair, value, value, max(float(gain), 0.0), taken, tuple(path))


def prior_of_ratio(pair: Pair, spread_prior: float | None) -> float:
    """Log prior of the ratio of standard deviations: normal in its logarithm."""
    if spread_prior is None:
        return 0.0
    ratio = pair.foreground.spread(pair.foreground_params) / pair.background.spread(
        pair.background_params
    )
    return -0.5 * float(np.log(max(ratio, 1e-300)) / spread_prior) ** 2


def slope_at(
    pair: Pair, data: Evidence, spread_prior: float | None
) -> tuple[float, Array, Array, float]:
    """Return objective, gradient, sum of squared scores per row, and the log likelihood."""
    value, posterior = _terms(pair, data)
    k = 1 + len(pair.background_params)
    size = k + len(pair.foreground_params)
    share = pair.positive_share
    p0, p1 = pair.background_params, pair.foreground_params
    rows = np.empty((size, len(data.open_score)))
    rows[0] = posterior - share
    rows[1:k] = (1.0 - posterior) * pair.background.gradient(data.open_score, p0)
    rows[k:] = posterior * pair.foreground.gradient(data.open_score, p1)
    rows = np.where(np.isfinite(rows), rows, 0.0)
    gradient = rows @ data.open_weight
    squares = (rows * data.open_weight) @ rows.T
    if len(data.event_score):
        part = pair.foreground.gradient(data.event_score, p1)
        known = np.concatenate([np.full((1, part.shape[1]), 1.0 - share), part])
        spots = np.r_[0, k:size]
        gradient[spots] += known @ data.event_weight
        squares[np.ix_(spots, spots)] += (known * data.event_weight) @ known.T
    if len(data.other_score):
        part = pair.background.gradient(data.other_score, p0)
        known = np.concatenate([np.full((1, part.shape[1]), -share), part])
        gradient[:k] += known @ data.other_weight
        squares[:k, :k] += (known * data.other_weight) @ known.T
    objective = value + prior_of_ratio(pair, spread_prior)
    if spread_prior is not None:
        theta = pair.theta
        for at in range(1, size):
            step = np.zeros(size)
            step[at] = 1e-5
            up, down = pair.at(theta + step), pair.at(theta - step)
            gradient[at] += (
                prior_of_ratio(up, spread_prior) - prior_of_ratio(down, spread_prior)
            ) / 2e-5
    return objective, gradient, squares, value


def polish(
    fitted: FittedPair, data: Evidence, spread_prior: float | None, floor: float
) -> FittedPair:
    """Go on from where EM stopped, by BFGS in whitened coordinates, to a certificate."""
    start, total = fitted.pair, data.total
    root = whitening(slope_at(start, data, spread_prior)[2])
    origin = start.theta

    def downhill(white: Array) -> tuple[float, Array]:
        theta = origin + root @ white
        if np.abs(white).max() > 1e4 or np.abs(theta[0]) > 60:
            return 1e300, np.zeros_like(white)
        try:
            value, gradient, _, _ = slope_at(start.at(theta), data, spread_prior)
        except (OverflowError, ZeroDivisionError):  # a standard deviation beyond all numbers
            return 1e300, np.zeros_like(white)
        if not np.isfinite(value):
            return 1e300, np.zeros_like(white)
        return -value, -(root.T @ gradient)

    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        # Whitened, a gradient of 1 is one standard error: 1e-4 of that is far below any interval.
        found = minimize(
            downhill,
            np.zeros(len(origin)),
            jac=True,
            method="BFGS",
            options={"gtol": 1e-4, "maxiter": 300},
        )
    pair = start.at(origin + root @ found.x)
    narrow = pair.foreground.spread(pair.foreground_params) < floor
    if narrow or not np.isfinite(found.fun) or -found.fun < fitted.objective - 1e-6 * total:
        return fitted
    objective, gradient, squares, value = slope_at(pair, data, spread_prior)
    certificate = float(np.abs(whitening(squares).T @ gradient).max())
    return FittedPair(pair, value, objective, certificate, fitted.steps + int(found.nit))


def whitening(squares: Array) -> Array:
    """Return a root of the inverse of a sum of squares, kept away from singular."""
    diagonal = np.diag(squares)
    scale = np.sqrt(np.where(diagonal > 0, diagonal, 1.0))
    lengths, axes = np.linalg.eigh(squares / np.outer(scale, scale))
    lengths = np.maximum(lengths, 1e-6 * lengths[-1])
    return np.asarray((axes / np.sqrt(lengths)) / scale[:, None])


def curvature_of(pair: Pair, data: Evidence, spread_prior: float | None) -> Array:
    """Minus the second derivatives of the objective, from differences of gradients."""
    with np.errstate(over="ignore", invalid="ignore", divide="ignore"):
        return _second(pair, data, spread_prior)


def _second(pair: Pair, data: Evidence, spread_prior: float | None) -> Array:
    theta = pair.theta
    root = whitening(slope_at(pair, data, spread_prior)[2])
    reach = 1e-3 * np.sqrt((root**2).sum(axis=1))
    rows = []
    for at, step in enumerate(reach):
        move = np.zeros(len(theta))
        move[at] = step
        up = slope_at(pair.at(theta + move), data, spread_prior)[1]
        down = slope_at(pair.at(theta - move), data, spread_prior)[1]
        rows.append((down - up) / (2 * step))
    second = np.array(rows)
    return np.asarray((second + second.T) / 2)


def starts_for(data: Evidence, background: Family, foreground: Family) -> list[Pair]:
    """Return starts: background from the bulk, foreground from labelled events or an upper part."""
    score, weight = data.everything
    order = np.argsort(score)
    score, weight = score[order], weight[order]
    rank = (np.cumsum(weight) - weight / 2) / weight.sum()
    bulk_score = np.concatenate([data.open_score, data.other_score])
    bulk_weight = np.concatenate([data.open_weight, data.other_weight])
    bulk = background.fit(bulk_score, bulk_weight, most=30)
    pairs = []
    events = float(data.event_weight.sum())
    if len(data.event_score):
        share = float(np.clip(1.5 * events / data.total, 0.5 / data.total, 0.45))
        known = foreground.fit(data.event_score, data.event_weight, most=30)
        spread = background.spread(bulk)
        wide = foreground.with_spread(known, spread)
        if len(data.event_score) < 3 or foreground.spread(known) < 0.1 * spread:
            known = wide
        pairs += [Pair(background, foreground, share, bulk, known)]
        pairs += [Pair(background, foreground, min(3 * share, 0.45), bulk, wide)]
    for upper in (0.05, 0.3):
        top = rank > 1 - upper
        if top.all() or not top.any() or score[top][0] == score[top][-1]:
            continue
        pairs.append(
            Pair(
                background,
                foreground,
                upper,
                background.fit(score[~top], weight[~top], most=30),
                foreground.fit(score[top], weight[top], most=30),
            )
        )
    return pairs


def paper_start(data: Evidence, background: Family, foreground: Family) -> Pair | None:
    """Return the start of 002 section 5, from labelled rows alone; None where it has no value."""
    if len(np.unique(data.event_score)) < 2 or len(np.unique(data.other_score)) < 2:
        return None
    events, others = float(data.event_weight.sum()), float(data.other_weight.sum())
    return Pair(
        background,
        foreground,
        events / (events + others),
        background.fit(data.other_score, data.other_weight),
        foreground.fit(data.event_score, data.event_weight),
    )


def spread_of(data: Evidence) -> float:
    """Standard deviation of all scores."""
    score, weight = data.everything
    mean = float(weight @ score) / float(weight.sum())
    return float(np.sqrt(weight @ (score - mean) ** 2 / weight.sum()))


def fit_pair(
    data: Evidence, background: Family, foreground: Family, *, spread_prior: float | None
) -> list[FittedPair]:
    """Fit from every start; return the results, best first."""
    floor = FLOOR * spread_of(data)
    rough = [
        run_em(pair, data, steps=EM_STEPS, stop=1e-9, floor=floor)
        for pair in starts_for(data, background, foreground)
    ]
    rough = [
        one._replace(objective=one.log_likelihood + prior_of_ratio(one.pair, spread_prior))
        for one in rough
        if np.isfinite(one.log_likelihood)
    ]
    rough.sort(key=lambda one: -one.objective)
    # The others would have to gain more than the leader to matter; two that differ are enough.
    fitted = [polish(one, data, spread_prior, floor) for one in _apart(rough)[:3]]
    return sorted(fitted, key=lambda one: -one.objective)


def _apart(rough: list[FittedPair]) -> list[FittedPair]:
    """Leave out starts that EM has brought to the same place."""
    kept: list[FittedPair] = []
    for one in rough:
        if all(np.abs(one.pair.theta - other.pair.theta).max() > 0.02 for other in kept):
            kept.append(one)
    return kept
