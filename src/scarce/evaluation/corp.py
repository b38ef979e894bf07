"""Calibration without bins: the rising curve that fits the outcomes best, and what chance does.

    curve          isotonic regression of outcomes on probabilities (pool adjacent violators)
    band           where the curve lies in a share `level` of draws if the probabilities are right
    mean loss = miscalibration - discrimination + uncertainty
        miscalibration   loss of the probabilities less that of the curve
        discrimination   loss of the constant base rate less that of the curve
        uncertainty      loss of the constant base rate

The curve needs no number of bins, so that there is nothing to choose after looking, and its steps
are as wide as the outcomes allow. It always fits better than the probabilities, so that
miscalibration is above 0 by chance alone: by how much, and how often by as much as was seen, is
found from outcomes drawn with the probabilities themselves. Rows of a group share their draw, as if
they were copies of one. Assumes that observed frequency rises with the probability.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import Inclusion, Resampling, Sample, Seed, read_kind, read_sample
from scarce.checks import read_labels, read_prob, refuse_other_index
from scarce.engine.block import Array
from scarce.errors import Problem
from scarce.results import Record, short
from scarce.scoring import LOSSES, binary_losses

Ids = NDArray[np.intp]
MOST_STEPS = 2000  # distinct probabilities; beyond, neighbours are put together
MANY_ROWS = 50_000  # above, fewer draws by default
FEWER = 200
AT_ONCE = 4_000_000  # draws held in memory
FEW = 10


@dataclass(frozen=True, eq=False)
class LossParts(Record):
    """A mean loss, taken apart.

    Parameters
    ----------
    loss : float
        miscalibration - discrimination + uncertainty.
    miscalibration, discrimination, uncertainty : float
    by_chance : float
        Mean miscalibration of outcomes that are drawn with the probabilities themselves.
    p_value : float
        Share of such draws with as much miscalibration as was seen.
    """

    loss: float
    miscalibration: float
    discrimination: float
    uncertainty: float
    by_chance: float
    p_value: float

    def __str__(self) -> str:
        chance = f"by chance {short(self.by_chance)}, p {self.p_value:.2g}"
        return (
            f"{short(self.loss)} = miscalibration {short(self.miscalibration)} ({chance})"
            f" - discrimination {short(self.discrimination)}"
            f" + uncertainty {short(self.uncertainty)}"
        )


@dataclass(frozen=True, eq=False)
class ReliabilityCurve(Record):
    """Observed frequency as a rising curve of the probability, with a band of chance.

    Parameters
    ----------
    predicted, observed : ndarray of shape (m,)
        Distinct probabilities, and the curve there.
    low, high : ndarray of shape (m,)
        Where the curve lies if the probabilities are right (consistency band).
    level : float
        Share of draws in which it does, at each probability by itself.
    rows, events : int
        Labelled rows, and events among them.
    log_loss, brier : LossParts
    remarks : tuple of str
        What the reader should know.
    """

    predicted: Array
    observed: Array
    low: Array
    high: Array
    level: float
    rows: int
    events: int
    log_loss: LossParts
    brier: LossParts
    remarks: tuple[str, ...] = ()

    def __str__(self) -> str:
        steps = len(np.unique(self.observed))
        return "\n".join(
            [
                f"{self.rows:,} rows, {self.events:,} events, {steps:,} steps",
                f"log loss {self.log_loss}",
                f"Brier    {self.brier}",
                *(f"remark: {text}" for text in self.remarks),
            ]
        )


def reliability_curve(
    y_true: ArrayLike,
    prob: ArrayLike,
    *,
    sample_weight: ArrayLike | None = None,
    weight_kind: str = "survey",
    inclusion: Inclusion = None,
    groups: ArrayLike | None = None,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> ReliabilityCurve:
    """Compare probabilities with frequencies without bins.

    Parameters
    ----------
    y_true : array-like of shape (n,)
        Outcomes, 0 or 1; missing where not labelled, with `inclusion`.
    prob : array-like of shape (n,)
        Probability of outcome 1.
    sample_weight, weight_kind, inclusion, groups, level, random_state
        As in `evaluate`.
    resamples : int, optional
        Draws of outcomes; by default 1,000, of more than 50,000 rows 200.

    Returns
    -------
    ReliabilityCurve

    **Assumes** independent rows, or groups, and a frequency that does not fall where the
    probability rises. The band and the p-values say what chance does to *right* probabilities; they
    are no interval for the frequency (`reliability` has those).

    References
    ----------
    Dimitriadis, Gneiting, Jordan (2021), Stable reliability diagrams for probabilistic classifiers,
    PNAS 118 (CORP).

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.beta(1, 9, 2000)
    >>> y = rng.random(2000) < prob
    >>> print(reliability_curve(y, prob))
    2,000 rows, 203 events, 21 steps
    log loss 0.274 = miscalibration 0.00772 (by chance 0.00769, p 0.44) - discrimination 0.0625 ...
    Brier    0.0794 = miscalibration 0.00198 (by chance 0.00179, p 0.25) - discrimination 0.0138 ...
    >>> reliability_curve(rng.random(2000) < prob / 2, prob).log_loss.p_value < 0.01
    True
    """
    refuse_other_index(
        y_true=y_true, prob=prob, sample_weight=sample_weight, inclusion=inclusion, groups=groups
    )
    p = read_prob(prob)
    y = read_labels(y_true, len(p), "y_true")
    sample = read_sample(~np.isnan(y), read_kind(sample_weight, weight_kind), inclusion, groups)
    if resamples is None and len(sample.rows) > MANY_ROWS:
        resamples = FEWER
    asked = Resampling.read(level, resamples, random_state)
    steps = _Steps.of(y[sample.rows], p[sample.rows], sample)
    fitted = steps.curve(steps.sums(steps.event[None]))[0]
    curves, excess = _if_right(steps, asked)
    low, high = np.quantile(curves, asked.tails, axis=0)
    seen = steps.excess(steps.event[None], fitted[None])
    log, brier = (_parts(steps, fitted, float(seen[k][0]), excess[k], k) for k in LOSSES)
    events = int(steps.event.sum())
    return ReliabilityCurve(
        steps.predicted,
        fitted,
        low,
        high,
        asked.level,
        len(steps.event),
        events,
        log,
        brier,
        _remarks(events, len(steps.event), log),
    )


class _Steps(NamedTuple):
    """Labelled rows in the order of their probabilities, and the steps that they stand on."""

    event: Array
    prob: Array
    weight: Array
    owner: Ids  # which rows are drawn together
    start: Ids  # first row of each step
    mass: Array
    predicted: Array

    @classmethod
    def of(cls, y: Array, p: Array, sample: Sample) -> _Steps:
        """Sort rows; rows of one probability, or beyond many neighbours, are one step."""
        order = np.lexsort((sample.weight, p))
        event, prob, weight = y[order], p[order], sample.weight[order]
        owner = np.arange(len(order))
        if sample.group is not None:
            held = sample.group[order]
            first = np.unique(held, return_index=True)[1]
            owner = np.empty(len(first), dtype=np.intp)
            owner[np.argsort(first)] = np.arange(len(first))
            owner = owner[held]
        change = np.append(True, np.diff(prob) > 0)
        place = np.cumsum(change) - 1
        if place[-1] >= MOST_STEPS:
            slices = np.floor((np.cumsum(weight) - weight) / weight.sum() * MOST_STEPS)
            slices = slices[np.flatnonzero(change)][place]  # values are never torn
            change = np.append(True, np.diff(slices) > 0)
        start = np.flatnonzero(change)
        mass = np.add.reduceat(weight, start)
        predicted = np.add.reduceat(weight * prob, start) / mass
        predicted = np.clip(predicted, prob[start], prob[np.append(start[1:], len(prob)) - 1])
        return cls(event, prob, weight, owner, start, mass, predicted)

    def sums(self, event: Array) -> Array:
        """Return the weight of the events of each step, (draws, steps)."""
        return np.asarray(np.add.reduceat(event * self.weight, self.start, axis=1))

    def curve(self, sums: Array) -> Array:
        """Return the rising curve of each draw."""
        from scipy.optimize import isotonic_regression

        found = [isotonic_regression(one / self.mass, weights=self.mass).x for one in sums]
        return np.asarray(np.clip(np.array(found), 0.0, 1.0))

    def excess(self, event: Array, curves: Array) -> dict[str, Array]:
        """Return the mean loss of the probabilities less that of the curves, (draws,)."""
        found, total = {}, self.weight.sum()
        for loss in LOSSES:
            lost = [binary_losses(np.full(len(self.prob), k), self.prob, loss) for k in (0, 1)]
            each = np.where(event == 1, lost[1], lost[0])
            found[loss] = each @ self.weight / total - self.own(curves, loss)
        return found

    def own(self, rates: Array, loss: str) -> Array:
        """Return the mean loss of rates that are the frequencies of their steps."""
        if loss == "brier":
            each = rates * (1.0 - rates)
        else:
            with np.errstate(divide="ignore", invalid="ignore"):
                each = -(rates * np.log(rates) + (1.0 - rates) * np.log1p(-rates))
            each = np.where((rates <= 0) | (rates >= 1), 0.0, each)
        return np.asarray(each @ self.mass / self.mass.sum())


def _if_right(steps: _Steps, asked: Resampling) -> tuple[Array, dict[str, Array]]:
    """Return curves and miscalibration of outcomes drawn with the probabilities."""
    curves = []
    excess: dict[str, list[Array]] = {loss: [] for loss in LOSSES}
    for event in _draws(steps, asked):
        found = steps.curve(steps.sums(event))
        curves.append(found)
        for loss, values in steps.excess(event, found).items():
            excess[loss].append(values)
    return np.concatenate(curves), {loss: np.concatenate(held) for loss, held in excess.items()}


def _draws(steps: _Steps, asked: Resampling) -> Iterator[Array]:
    """Yield outcomes drawn with the probabilities, (some draws, rows)."""
    rng = np.random.default_rng([asked.seed, 3])
    groups, left = int(steps.owner.max()) + 1, asked.resamples
    while left:
        count = min(left, max(1, AT_ONCE // len(steps.prob)))
        left -= count
        chance = rng.random((count, groups))
        if groups < len(steps.prob):
            chance = chance[:, steps.owner]
        yield (chance < steps.prob).astype(np.float64)


def _parts(steps: _Steps, fitted: Array, seen: float, excess: Array, loss: str) -> LossParts:
    """Return a mean loss taken apart."""
    share = np.average(steps.event, weights=steps.weight)
    constant = float(steps.own(np.full(len(steps.mass), share), loss))
    own = float(steps.own(fitted, loss))
    more = int((excess >= seen - 1e-12).sum())
    return LossParts(
        loss=float(seen + own),
        miscalibration=float(seen),
        discrimination=constant - own,
        uncertainty=constant,
        by_chance=float(excess.mean()),
        p_value=(1 + more) / (1 + len(excess)),
    )


def _remarks(events: int, rows: int, log: LossParts) -> tuple[str, ...]:
    said = []
    if min(events, rows - events) < FEW:
        said.append(
            Problem(
                "{events} events among {rows:,} rows: within the band nearly any frequency is "
                "possible.",
                code="few-events",
                events=events,
                rows=rows,
            )
        )
    if log.miscalibration == np.inf:
        said.append(
            Problem(
                "Something happened that was given a probability of 0 (or the reverse).",
                code="impossible-happened",
            )
        )
    return tuple(said)
