"""What should rows without labels turn out to be, if their probabilities are right?

    events = sum p,   Brier = mean p (1 - p),   log loss = mean -p log p - (1 - p) log(1 - p)
    at a threshold:  found = sum p of alerts,  precision = found / alerts,  recall = found / events

The intervals are for what will be counted: outcomes are drawn with the probabilities (a
Poisson-binomial sum), and with `doubt` all log odds are moved together by a normal amount first.
Assumes that the probabilities are calibrated for these very rows, which only labels can show: such
figures stand beside observed ones and are never mixed with them.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import entr, expit, logit

from scarce.bootstrap import Resampling, Seed
from scarce.checks import (
    Number,
    read_number,
    read_prob,
    read_threshold,
    read_weight,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError
from scarce.results import Estimate, Record, in_rows

CALIBRATED = "the probabilities are calibrated for rows without labels"
METHOD = "expected, no labels"
REACH = 30.0
BINS = 200  # of log odds


@dataclass(frozen=True, eq=False)
class ExpectedAtThreshold(Record):
    """What a threshold should find.

    Parameters
    ----------
    threshold : float
        A row is an alert at or above it.
    alerts : int
        Rows, as counted: no label is needed for them.
    found, missed : Estimate
        Events among the alerts and below.
    precision, recall : Estimate
        Events among alerts, and alerts among events; NaN where there is nothing to take a share of.
    """

    threshold: float
    alerts: int
    found: Estimate
    missed: Estimate
    precision: Estimate
    recall: Estimate


@dataclass(frozen=True, eq=False)
class Expected(Record):
    """Figures that rows without labels should have, if their probabilities are calibrated.

    Parameters
    ----------
    rows : int
    events, rate : Estimate
        Number of events (their weight, where rows have one), and their share of the rows.
    log_loss, brier : Estimate
    at_threshold : ExpectedAtThreshold, or None without `threshold=`

    Examples
    --------
    >>> print(expected_figures([0.1, 0.2, 0.7, 0.1] * 25, threshold=0.5))
    100 rows without labels, if their probabilities are calibrated
      events               27.5 [21, 34]
      log loss             0.44 [0.348, 0.541]
      Brier score          0.138 [0.102, 0.178]
      precision at 0.5     70 % [56 %, 84 %]
      recall at 0.5        63.6 % [51.7 %, 76.9 %]
    """

    rows: int
    events: Estimate
    rate: Estimate
    log_loss: Estimate
    brier: Estimate
    at_threshold: ExpectedAtThreshold | None = None

    def __str__(self) -> str:
        lines = [f"{in_rows(self.rows)} without labels, if their probabilities are calibrated"]
        for name, one in (
            ("events", self.events),
            ("log loss", self.log_loss),
            ("Brier score", self.brier),
        ):
            lines.append(f"  {name:<20} {one.brief()}")
        cut = self.at_threshold
        if cut is not None:
            for name in ("precision", "recall"):
                what = f"{name} at {cut.threshold:g}"
                lines.append(f"  {what:<20} {getattr(cut, name).brief(percent=True)}")
        return "\n".join(lines)


def expected_figures(
    prob: ArrayLike,
    *,
    threshold: float | None = None,
    sample_weight: ArrayLike | None = None,
    doubt: float = 0.0,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Expected:
    """Return the figures that rows without labels should have.

    Parameters
    ----------
    prob : array-like of shape (n,)
        Probability of the event.
    threshold : float, optional
        Also say what this probability should find.
    sample_weight : array-like of shape (n,), optional
        How many rows each stands for.
    doubt : float
        Standard deviation, in log odds, by which all probabilities may be off together; 0.2 is
        about 20 % more or fewer events. `evaluate_by` takes how far past segments were off.
    level, resamples, random_state
        As in `evaluate`.

    Returns
    -------
    Expected
        The intervals are for what will be counted in these rows.

    **Assumes** that the probabilities are calibrated for these rows, up to `doubt`, and that
    outcomes are independent given their probabilities.

    Examples
    --------
    >>> found = expected_figures([0.02] * 1000)
    >>> print(found.events)
    20 [13, 27] (90 %, expected, no labels)
    >>> expected_figures([0.02] * 1000, doubt=0.3).events.brief()
    '20 [10, 35]'
    """
    refuse_other_index(prob=prob, sample_weight=sample_weight)
    asked = Resampling.read(level, resamples, random_state)
    refuse_other_index(prob=prob, sample_weight=sample_weight)
    p = read_prob(prob)
    if len(p) == 0:
        raise DataError("{argument} is empty.", code="no-rows", argument=Argument("prob"))
    weight = read_weight(sample_weight, len(p), "sample_weight")
    sd = read_number(doubt, "doubt", Number(0))
    cut = None if threshold is None else read_threshold(threshold, [None])[0]
    return expected_of(p, weight, cut, asked, doubt=sd)


class _Drawn(NamedTuple):
    """Sums of drawn outcomes: events above and below the threshold, and losses."""

    found: Array
    missed: Array
    log: Array
    brier: Array


def expected_of(
    p: Array,
    weight: Array,
    threshold: float | None,
    asked: Resampling,
    *,
    doubt: float = 0.0,
    clumps: float = 1.0,
) -> Expected:
    """Return the figures of rows that were read; `clumps` is the design effect of groups."""
    alert = np.zeros(len(p), dtype=bool) if threshold is None else p >= threshold
    drawn = _draw(p, weight, alert, asked, doubt, clumps)
    total = float(weight.sum())
    assumes = CALIBRATED + (f", up to {doubt:.2g} in log odds" if doubt > 0 else "")
    assumes += "; outcomes are independent given their probabilities" if clumps == 1 else ""

    def told(value: float, draws: Array) -> Estimate:
        draws = draws[~np.isnan(draws)]
        if np.isnan(value) or not len(draws):
            nan = float("nan")
            return Estimate(nan, nan, nan, asked.level, "not identified", assumes)
        low = float(np.quantile(draws, asked.tails[0], method="lower"))
        high = float(np.quantile(draws, asked.tails[1], method="higher"))
        return Estimate(value, min(low, value), max(high, value), asked.level, METHOD, assumes)

    found, missed = float((weight * p)[alert].sum()), float((weight * p)[~alert].sum())
    events = drawn.found + drawn.missed
    cut = None
    if threshold is not None:
        alerts = float(weight[alert].sum())
        with np.errstate(divide="ignore", invalid="ignore"):
            cut = ExpectedAtThreshold(
                threshold,
                int(alert.sum()),
                told(found, drawn.found),
                told(missed, drawn.missed),
                told(float(np.divide(found, alerts)), drawn.found / alerts),
                told(float(np.divide(found, found + missed)), drawn.found / events),
            )
    return Expected(
        len(p),
        told(found + missed, events),
        told((found + missed) / total, events / total),
        told(float(weight @ (entr(p) + entr(1 - p))) / total, drawn.log / total),
        told(float(weight @ (p * (1 - p))) / total, drawn.brier / total),
        cut,
    )


def _draw(
    p: Array, weight: Array, alert: np.ndarray, asked: Resampling, doubt: float, clumps: float
) -> _Drawn:
    """Draw outcomes by cells of similar probability, alerts apart."""
    with np.errstate(divide="ignore"):
        score = np.clip(logit(p), -REACH, REACH)
        lost = np.stack([-np.log1p(-p), -np.log(p)])
    lost[~np.isfinite(lost)] = 0.0  # of outcomes that cannot be drawn
    low, width = float(score.min()), max(float(np.ptp(score)), 1e-300)
    bins = np.minimum(((score - low) / width * BINS).astype(np.intp), BINS - 1)
    _, place = np.unique(2 * bins + alert, return_inverse=True)

    def mean(values: Array) -> Array:
        return np.asarray(np.bincount(place, weight * values) / np.maximum(size, 1e-300))

    size = np.bincount(place, weight)
    of_alerts = np.bincount(place, alert) > 0
    unit = clumps * np.bincount(place, weight**2) / np.maximum(size, 1e-300)
    count = np.maximum(np.round(size / np.maximum(unit, 1e-300)), 1).astype(np.int64)
    chance = np.clip(mean(p), 0.0, 1.0)
    rng = np.random.default_rng([asked.seed, 4])
    if doubt > 0:
        moved = doubt * rng.standard_normal(asked.resamples)[:, None]
        with np.errstate(divide="ignore"):
            chance = np.asarray(expit(logit(chance) + moved))
    drawn = rng.binomial(count, chance, (asked.resamples, len(count))) * (size / count)
    quiet, event = mean(lost[0]), mean(lost[1])
    flat, steep = mean(p**2), mean((1 - p) ** 2)
    return _Drawn(
        drawn[:, of_alerts].sum(axis=1),
        drawn[:, ~of_alerts].sum(axis=1),
        size @ quiet + drawn @ (event - quiet),
        size @ flat + drawn @ (steep - flat),
    )
