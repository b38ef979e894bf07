"""What if? Recall and missed events when something that nobody can see is otherwise.

    events N(d, s^2) in units in which all scores are N(0, 1):
    odds(v) = b / (1 - b) * exp(v^2 / 2 - (v - d)^2 / (2 s^2)) / s

Without checks below the threshold the alerts fix b and d, and nothing fixes s: the guess moves with
it, and that is what is shown in place of an interval. With checks, labels may be wrong: limits are
taken at each of several rates, and the widest is shown. Assumes nothing else than the figures that
it is put beside.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from scipy.optimize import minimize
from scipy.special import betaincinv, expit

from scarce.engine.block import Array
from scarce.missed.counts import ThresholdCounts
from scarce.missed.inversion import LabelError
from scarce.missed.provenance import ScoreBatch
from scarce.missed.rules import FEW, GUESS, Beliefs, Ruling, ruling_draw
from scarce.results import Estimate, Record

WIDTHS = (1.0, 1.5, 2.0, 3.0)
INVISIBLE = 0.25
DISTANCE_PRIOR = (2.2, 1.0)
RATE_PRIOR = (-5.0, 3.0)  # of log odds


@dataclass(frozen=True, slots=True)
class Scenario(Record):
    """Recall and missed events if something were so.

    Parameters
    ----------
    what : str
        What is supposed, to be read after "if".
    recall, missed : Estimate
    """

    what: str
    recall: Estimate
    missed: Estimate

    def __str__(self) -> str:
        recall, missed = (
            one.brief(limits=one.low < one.high) for one in (self.recall, self.missed)
        )
        return f"if {self.what}: recall {recall}, missed {missed}"


# --- events that spread more widely, or are invisible ---------------------------------------------


def wider_events(
    batches: Sequence[ScoreBatch],
    thresholds: Sequence[float],
    counts: ThresholdCounts,
    level: float,
) -> tuple[Scenario, ...]:
    """Return the guess for events that spread as other rows do, more widely, or invisibly."""
    found = float(np.median(counts.found))
    if counts.seen < FEW:  # it would be the prior's
        return ()
    scenarios = []
    for width in WIDTHS:
        missed = sum(
            missed_if_wider(batch, mark, width)
            for batch, mark in zip(batches, thresholds, strict=True)
        )
        words = f"the scores of events spread {width:g} times as widely as those of other rows"
        if width == 1.0:
            words = "the scores of events spread as widely as those of other rows"
            hidden = (found + missed) / (1.0 - INVISIBLE) - found
        scenarios.append(_supposed(words, found, missed, counts, level))
    words = "a quarter of all events is invisible to the score"
    return (*scenarios, _supposed(words, found, hidden, counts, level))


def _supposed(
    words: str, found: float, missed: float, counts: ThresholdCounts, level: float
) -> Scenario:
    missed = max(missed, counts.least_missed)
    recall = found / (found + missed) if found + missed > 0 else float("nan")
    return Scenario(
        words,
        Estimate(recall, recall, recall, level, GUESS, words),
        Estimate(missed, missed, missed, level, GUESS, words),
    )


def missed_if_wider(batch: ScoreBatch, threshold: float, width: float) -> float:
    """Return the expected events below a threshold where events spread `width` times as widely."""
    table = batch.table
    place, events, others = table.place, table.events, table.others
    cut = table.above(threshold)
    held = np.flatnonzero(events + others)
    if len(held) == 0:
        return 0.0

    def log_odds(params: Array, at: Array) -> Array:
        away = (at - params[1]) / width
        return np.asarray(params[0] + 0.5 * (at**2 - away**2) - np.log(width))

    def loss(params: Array) -> float:
        score = log_odds(params, place[held])
        fit = events[held] @ np.logaddexp(0.0, -score) + others[held] @ np.logaddexp(0.0, score)
        prior = ((params[0] - RATE_PRIOR[0]) / RATE_PRIOR[1]) ** 2
        return float(fit + 0.5 * prior + 0.5 * ((params[1] - DISTANCE_PRIOR[0]) ** 2))

    start = np.array([RATE_PRIOR[0], DISTANCE_PRIOR[0]])
    best = minimize(loss, start, method="Nelder-Mead", options={"xatol": 1e-4, "fatol": 1e-6}).x
    expected = table.unlabelled[cut:] @ expit(log_odds(best, place[cut:]))
    return float(table.events[cut:].sum() + expected)


# --- labels that may be wrong ---------------------------------------------------------------------


def wrong_labels(
    counts: ThresholdCounts,
    beliefs: Beliefs,
    ruling: Ruling,
    errors: Sequence[LabelError],
    how_often: str,
) -> Ruling:
    """Widen limits to hold what they are at each of several rates of wrong labels."""
    recalls, missed = [ruling.recall], [ruling.missed]
    for error in errors:
        other = ruling_draw(counts, beliefs._replace(error=error), ruling.missed.value)
        recalls.append(other.recall)
        missed.append(other.missed)
    why = f"{ruling.missed.assumes.replace('labels are right', f'{how_often} of labels are wrong')}"
    return ruling._replace(
        recall=_union(ruling.recall, recalls, why), missed=_union(ruling.missed, missed, why)
    )


def _union(around: Estimate, estimates: Sequence[Estimate], why: str) -> Estimate:
    low, high = min(one.low for one in estimates), max(one.high for one in estimates)
    return replace(around, low=low, high=high, assumes=why)


class DoubleReading(NamedTuple):
    """Rows that two people labelled without knowing of each other.

    Parameters
    ----------
    rows, differing : int
        How many were read twice, and on how many of them the two disagree.
    events : int
        On how many both say event.
    """

    rows: int
    differing: int
    events: int

    @property
    def belief(self) -> str:
        """How often labels are wrong, in words."""
        share = self.differing / max(1, self.rows)
        return f"as many as two readings suggest ({100 * share:.2g} % differ)"

    def errors(self, level: float) -> list[LabelError]:
        """Return rates of error that explain the disagreement: all of one kind, or of the other.

        With rate e two readings of a row differ with probability 2 e (1 - e); the disagreements
        are taken at the upper limit of their share.
        """
        if self.rows == 0:
            return []
        most = 1.0
        if self.differing < self.rows:
            tail = (1.0 + level) / 2.0
            most = float(betaincinv(self.differing + 1, self.rows - self.differing, tail))
        false = _rate(most)
        share = (self.events + self.differing / 2 + 0.5) / (self.rows + 1.0)
        missed = min(_rate(min(most / share, 0.5)), 0.5)
        return [LabelError(missed, 0.0), LabelError(0.0, false)]


def _rate(differing: float) -> float:
    """Rate of error of one reading, from the share of readings that differ."""
    return float(0.5 * (1.0 - np.sqrt(max(0.0, 1.0 - 2.0 * min(differing, 0.499)))))
