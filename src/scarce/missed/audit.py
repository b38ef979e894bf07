"""The audit: how many events are there among rows of which only a random part was checked?

    value   sum over checked events of 1 / probability       (Horvitz and Thompson 1952)
    limits  gamma quantiles with the mean and variance of that weighted count; for the high one, an
            event more is counted, of weight `extra`          (Fay and Feuer 1997, section 2)

Assumes that each row was checked with the stated probability and that labels are right. No model
of the scores is involved. Does not draw the rows: see choose.py. Does not turn the count into
recall: see rules.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from scipy.special import gammainccinv, gammaincinv

from scarce.checks import (
    Number,
    read_column,
    read_integer,
    read_labels,
    read_level,
    read_number,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word
from scarce.results import Estimate, Record, short

EXTRAS = ("mean", "max")
METHOD = "audit, gamma limits"
NOTHING_CHECKED = "nothing: no row was drawn and checked, so only the number of rows bounds it"
ASSUMES = {
    "mean": "rows were checked with the stated probabilities; a lower score is not more suspicious",
    "max": "rows were checked with the stated probabilities, the least of them among those seen",
    "given": "rows were checked with the stated probabilities; no event weighs more than said",
}


def horvitz_thompson(event_probability: ArrayLike) -> float:
    """Return the estimated number of events, from the draw probabilities of those that were found.

    Parameters
    ----------
    event_probability : array-like of shape (n_events,)
        Probability with which each event that was found had been drawn, in (0, 1].

    Returns
    -------
    float
        An event found with probability 1/50 stands for 50; 0.0 when none was found.

    **Assumes** that every row had a probability above 0. Then it is unbiased, whatever the scores.

    Examples
    --------
    >>> horvitz_thompson([1.0, 0.5, 0.02])
    53.0
    """
    return math.fsum(_weights(_probability(event_probability, "event_probability")))


def gamma_limits(weights: ArrayLike, *, extra: float, level: float = 0.9) -> tuple[float, float]:
    """Return low and high limit of a weighted count of rare events.

    Parameters
    ----------
    weights : array-like of shape (n_events,)
        What each event that was found stands for: 1 / probability.
    extra : float
        What an event that was not found would have stood for.
    level : float
        Coverage of the two together; each alone is wrong with probability (1 - level) / 2.

    Returns
    -------
    low, high : float
        With no event found, 0 and `extra * -log((1 - level) / 2)`, which at 90 % is 3.0 extra.

    **Assumes** that counts are about Poisson: events are rare among the rows that were drawn.

    Notes
    -----
    With total y and sum of squares v of the weights, low is the quantile of a gamma variable of
    mean y and variance v; high, of one of mean y + extra and variance v + extra^2. With equal
    weights that is the exact interval of a Poisson mean.

    References
    ----------
    Fay and Feuer (1997), Statistics in Medicine 16; Garwood (1936), Biometrika 28.

    Examples
    --------
    >>> low, high = gamma_limits([50, 50], extra=50)
    >>> print(f"{low:.1f} to {high:.1f}")
    17.8 to 314.8
    >>> print(f"at most {gamma_limits([], extra=50)[1]:.1f}")
    at most 149.8
    """
    weight = read_column(weights, "weights")
    bad = np.flatnonzero(~((weight > 0) & (weight < np.inf)))
    if len(bad):
        raise UsageError(
            "{argument} must be above 0 and finite, got {value:g} at position {row}: an event "
            "stands for 1 / probability rows.",
            code="weight-range",
            argument=Argument("weights"),
            value=float(weight[bad[0]]),
            row=int(bad[0]),
        )
    extra = read_number(extra, "extra", Number(0, open_low=True))
    miss = (1 - read_level(level)) / 2
    total, squares = math.fsum(weight), math.fsum(weight**2)
    low = squares / total * float(gammaincinv(total**2 / squares, miss)) if len(weight) else 0.0
    total, squares = total + extra, squares + extra**2
    return low, squares / total * float(gammainccinv(total**2 / squares, miss))


@dataclass(frozen=True, slots=True)
class AuditCount(Record):
    """How many events lie among rows of which some were checked.

    Parameters
    ----------
    value : float
        Estimated number of events: the certain ones and the Horvitz-Thompson count of the others.
        NaN when there are rows that might have been checked and none was.
    low, high : float
        Limits, each alone wrong with probability (1 - level) / 2. Never below the events that were
        found, never above the rows that may still be events.
    level : float
    certain : int
        Events among rows that were checked for certain.
    events : int
        Events among rows that were drawn at random.
    weights : tuple of float
        What each of those stands for.
    frame_rows : int
        Rows that could have been drawn at random: those not checked for certain.
    audited : int
        Rows of them that were drawn and checked.
    extra : float
        Weight of an unseen event in the high limit.
    assumes : str

    Examples
    --------
    >>> print(count_missed([0, 1, 0, 0], [0.1, 0.2, 0.1, 0.1], frame_rows=40))
    5 [1, 36.8] (90 %): 1 event among 4 checked of 40 rows
    """

    value: float
    low: float
    high: float
    level: float
    certain: int
    events: int
    weights: tuple[float, ...]
    frame_rows: int
    audited: int
    extra: float
    assumes: str

    @property
    def estimate(self) -> Estimate:
        """The same as an `Estimate`."""
        return Estimate(self.value, self.low, self.high, self.level, METHOD, self.assumes)

    def __str__(self) -> str:
        seen = f"{self.events:,} event{'s' if self.events != 1 else ''}"
        sure = f", and {self.certain:,} found for certain" if self.certain else ""
        limits = f"[{short(self.low)}, {short(self.high)}]"
        return (
            f"{short(self.value)} {limits} ({100 * self.level:g} %): "
            f"{seen} among {self.audited:,} checked of {self.frame_rows:,} rows{sure}"
        )


def count_missed(
    label: ArrayLike,
    probability: ArrayLike,
    frame_rows: int,
    *,
    level: float = 0.9,
    extra: str | float = "mean",
) -> AuditCount:
    """Count the events among rows of which some were checked, with limits.

    Parameters
    ----------
    label : array-like of shape (n_checked,)
        1 for an event, 0 for none; every row that was drawn, not the events alone.
    probability : array-like of shape (n_checked,)
        Probability with which each had been drawn. Rows with 1 were checked for certain: their
        events are counted as they are.
    frame_rows : int
        Number of rows that could have been drawn, checked or not: those whose probability was
        above 0 and below 1. Rows checked for certain are not among them.
    level : float
        Coverage; each limit alone is wrong with probability (1 - level) / 2.
    extra : "mean", "max" or float
        Weight of an unseen event in the high limit. "mean": rows per row checked, right where both
        the share of events and the probability do not rise as the score falls. "max": the greatest
        weight among the rows checked, for designs without that order. A number, such as one over
        the least probability of all rows, needs no assumption about the scores.

    Returns
    -------
    AuditCount

    **Assumes** that rows were drawn with these probabilities and that labels are right.

    Notes
    -----
    Why "mean": if share of events g and probability p both fall with the score, the mean of g p
    over the frame is at least mean(g) mean(p) (Chebyshev), so the events to be expected among
    the checked rows are at least audited / frame_rows of all events.

    Examples
    --------
    >>> found = count_missed([0] * 100, [0.02] * 100, frame_rows=5000)
    >>> print(found)
    0 [0, 150] (90 %): 0 events among 100 checked of 5,000 rows
    """
    refuse_other_index(label=label, probability=probability)
    frame_rows = read_integer(frame_rows, "frame_rows", 0)
    events, chance = _checked(label, probability)
    level = read_level(level)
    drawn = chance < 1
    audited, found = int(drawn.sum()), int(events[drawn].sum())
    certain = int(events[~drawn].sum())
    whole = int(frame_rows) if frame_rows == frame_rows // 1 else frame_rows
    frame = read_integer(whole, "frame_rows", least=0)
    if frame < audited:
        raise UsageError(
            "{argument} must be at least the number of rows drawn with a probability below 1, "
            "{drawn:,}, got {value:,}: count all rows that could have been drawn.",
            code="frame-rows",
            argument=Argument("frame_rows"),
            drawn=audited,
            value=frame,
        )
    weights = _weights(chance[drawn & (events == 1)])
    heaviest, assumes = _extra(extra, chance[drawn], frame)
    most = float(certain + frame - (audited - found))
    if audited:
        low, high = gamma_limits(weights, extra=heaviest, level=level)
        value = min(certain + math.fsum(weights), most)
        low, high = min(max(low, found) + certain, most), min(high + certain, most)
    else:
        # Nothing was drawn: what is known of the frame is its size.
        value = float("nan") if frame else float(certain)
        low, high = float(certain), most
        assumes = NOTHING_CHECKED if frame else "labels are right: every row was checked"
    return AuditCount(
        value=value,
        low=float(low),
        high=float(max(high, low)),
        level=level,
        certain=certain,
        events=found,
        weights=tuple(float(weight) for weight in weights),
        frame_rows=frame,
        audited=audited,
        extra=heaviest,
        assumes=assumes,
    )


def _weights(probability: Array) -> Array:
    return np.asarray(1.0 / probability)


def _extra(extra: str | float, chance: Array, frame: int) -> tuple[float, str]:
    """Weight of an unseen event, and what it assumes."""
    if isinstance(extra, str):
        refuse_word("extra", extra, EXTRAS)
        if len(chance) == 0:
            return math.nan, ASSUMES[extra]
        mean, heaviest = frame / len(chance), float(1.0 / chance.min())
        return mean if extra == "mean" else heaviest, ASSUMES[extra]
    return read_number(extra, "extra", Number(1)), ASSUMES["given"]


def _probability(values: ArrayLike, name: str) -> Array:
    """Return draw probabilities, in (0, 1]."""
    chance = read_column(values, name)
    bad = np.flatnonzero(~((chance > 0) & (chance <= 1)))
    if len(bad):
        raise DataError(
            "{argument} must be above 0 and up to 1, got {value:g} at row {row:,}.",
            code="inclusion-range",
            argument=Argument(name),
            value=float(chance[bad[0]]),
            row=int(bad[0]),
            remedy="Leave out rows that were not drawn.",
        )
    return chance


def _checked(label: ArrayLike, probability: ArrayLike) -> tuple[Array, Array]:
    chance = _probability(probability, "probability")
    events = read_labels(label, len(chance), "label")
    missing = np.flatnonzero(np.isnan(events))
    if len(missing):
        raise DataError(
            "{argument} must not be missing, but {count:,} of {rows:,} rows drawn have no label "
            "(first at row {row:,}): without them the count would be wrong.",
            code="audit-unlabelled",
            argument=Argument("label"),
            count=len(missing),
            rows=len(chance),
            row=int(missing[0]),
            remedy="Check these rows first.",
        )
    return events, chance
