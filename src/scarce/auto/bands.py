"""Of rows scored like this one, how many had the event? (A rate of many rows, not of one.)

    rate_b = weighted share of events among the left-out rows of band b
    interval: Jeffreys, Beta(1/2 + k, 1/2 + n - k),    n = weight of the band / deff, k = rate_b n
    deff = sum over groups and bands of (sum of weighted residuals)^2 / sum of weight rate (1-rate)

Rows are ordered by their left-out score and cut into bands in which about 15 events are expected by
the scores themselves, so where a band ends does not depend on its own labels. `deff` is 1 for
independent rows of equal weight; weights and groups change it. Assumes that new rows come from the
population of the training rows: with another base rate the rates are wrong. Does not say how
uncertain the probability of a single row is: no interval of that was found to hold.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit
from scipy.stats import beta

from scarce.engine.block import Array
from scarce.errors import inconsistent_model
from scarce.results import Record, short

Ids = NDArray[np.intp]
EVENTS = 15.0  # expected in a band
MOST = 40  # bands
PER = 1000  # rows, in words


@dataclass(frozen=True, eq=False)
class ScoreBands(Record):
    """Bands of left-out scores, and how often the event happened in each.

    Parameters
    ----------
    edges : ndarray of shape (bands - 1,)
        Log-odds at which a band ends and the next begins.
    rate : ndarray of shape (bands,)
        Share of events.
    rows, events : ndarray of shape (bands,)
        Left-out rows, and those with the event, as counted.
    effective : ndarray of shape (bands,)
        Independent rows of equal weight that would say as much.
    """

    edges: Array
    rate: Array
    rows: Array
    events: Array
    effective: Array

    def __post_init__(self) -> None:
        count = len(self.rate)
        if len(self.edges) != count - 1 or (np.diff(self.edges) <= 0).any():
            raise inconsistent_model("bands_", "must have increasing edges, one fewer than bands")
        for name in ("rate", "rows", "events", "effective"):
            value = getattr(self, name)
            if value.shape != (count,) or not (np.isfinite(value) & (value >= 0)).all():
                raise inconsistent_model("bands_", f"must have a finite {name} >= 0 for each band")
        if (self.rate > 1).any():
            raise inconsistent_model("bands_", "must have rates of at most 1")

    def limits(self, level: float) -> tuple[Array, Array]:
        """Return the ends of each band's interval.

        Examples
        --------
        >>> bands = ScoreBands(np.empty(0), np.array([0.1]), np.array([150.0]), np.array([15.0]),
        ...                    np.array([150.0]))
        >>> [round(float(end[0]), 3) for end in bands.limits(0.9)]
        [0.065, 0.146]
        """
        k, n = self.rate * self.effective, self.effective
        tail = (1.0 - level) / 2.0
        low = np.where(k > 0, beta.ppf(tail, k + 0.5, n - k + 0.5), 0.0)
        high = np.where(k < n, beta.ppf(1.0 - tail, k + 0.5, n - k + 0.5), 1.0)
        return np.asarray(low), np.asarray(high)

    def of(self, score: Array, level: float) -> RowBands:
        """Return the band of each row by its log-odds."""
        place = np.searchsorted(self.edges, score, side="right")
        low, high = self.limits(level)
        return RowBands(self.rate[place], low[place], high[place], self.rows[place], place, level)

    def __str__(self) -> str:
        ends = ["", *(short(float(one), percent=True) for one in expit(self.edges)), ""]
        low, high = self.limits(0.9)
        lines = [f"{'probability':>20}{'rows':>8}{'events':>8}    per {PER:,} rows (90 %)"]
        for at, rate in enumerate(self.rate):
            span = f"{ends[at] or '0 %'} to {ends[at + 1] or '100 %'}"
            counts = f"{self.rows[at]:>8,.0f}{self.events[at]:>8,.0f}"
            lines.append(f"{span:>20}{counts}    {_per(rate)} [{_per(low[at])}, {_per(high[at])}]")
        return "\n".join(lines)


@dataclass(frozen=True, eq=False)
class RowBands(Record):
    """For each row: how often the event happened among rows scored like it.

    Parameters
    ----------
    rate, low, high : ndarray of shape (n,)
        Share of events among left-out training rows of the same band, and its interval. This is a
        rate of many rows, not an interval of the probability of this one.
    rows : ndarray of shape (n,)
        Rows in the band.
    band : ndarray of int, shape (n,)
        Its number, from the lowest scores.
    level : float
    """

    rate: Array
    low: Array
    high: Array
    rows: Array
    band: Ids
    level: float

    def words(self) -> list[str]:
        """Return a sentence for each row.

        Examples
        --------
        >>> one = np.array([0.016])
        >>> RowBands(one, one * 0.75, one * 1.3, one, np.array([0]), 0.9).words()
        ['Of 1,000 rows scored like this one, 12 to 21 had the event.']
        """
        return [
            f"Of {PER:,} rows scored like this one, {_per(low)} to {_per(high)} had the event."
            for low, high in zip(self.low, self.high, strict=True)
        ]

    def __str__(self) -> str:
        shown = self.words()[:10]
        more = len(self.rate) - len(shown)
        return "\n".join([*shown, *([f"... and {more:,} more rows"] if more else [])])


def cut_bands(
    score: Array, y: Array, weight: Array, group: Ids | None, *, events: float = EVENTS
) -> ScoreBands:
    """Cut left-out rows into bands of their scores.

    Parameters
    ----------
    score : ndarray of shape (n,)
        Log-odds of the event, from fits that had not seen the row.
    y : ndarray of shape (n,)
        1 for the event.
    weight : ndarray of shape (n,)
        With mean 1.
    group : ndarray of int, shape (n,), optional
        Rows that belong together.
    events : float
        Of the rarer class, expected in each band by the scores.

    Examples
    --------
    >>> score = np.linspace(-4, 0, 1000)
    >>> y = (np.arange(1000) % 7 == 0) * 1.0
    >>> bands = cut_bands(score, y, np.ones(1000), None)
    >>> len(bands.rate), int(bands.rows.sum()), int(bands.events.sum())
    (11, 1000, 143)
    """
    sign = 1.0 if weight @ y <= weight.sum() / 2 else -1.0  # the same bands for the other class
    rarer = sign * score
    order = np.argsort(rarer, kind="stable")
    mass = np.cumsum((weight * expit(rarer))[order])
    wanted = min(max(int(mass[-1] / events), 1), MOST)
    cuts = np.searchsorted(mass, mass[-1] * np.arange(1, wanted) / wanted)
    ordered = rarer[order]
    # A cut inside a run of equal scores moves to its nearer end.
    first, last = (np.searchsorted(ordered, ordered[cuts], side) for side in ("left", "right"))
    cuts = np.where(cuts - first <= last - cuts, first, last)
    cuts = cuts[(cuts > 0) & (cuts < len(score))]
    below, above = ordered[cuts - 1], ordered[cuts]
    edges = np.unique(sign * (below + (above - below) / 2))
    band = np.searchsorted(edges, score, side="right")
    count = len(edges) + 1
    total = np.bincount(band, weight, minlength=count)
    rate = np.bincount(band, weight * y, minlength=count) / total
    residual, spread = weight * (y - rate[band]), float(total @ (rate * (1.0 - rate)))
    own = np.arange(len(y)) if group is None else group
    cell = np.unique(own * count + band, return_inverse=True)[1]
    squares = float((np.bincount(cell.ravel(), residual) ** 2).sum())
    deff = squares / spread if spread > 0 and squares > 0 else 1.0
    return ScoreBands(
        edges,
        np.clip(rate, 0.0, 1.0),
        np.bincount(band, minlength=count).astype(np.float64),
        np.bincount(band, y, minlength=count).astype(np.float64),
        total / deff,
    )


def _per(rate: float) -> str:
    """Write a rate per 1,000 rows."""
    return f"{PER * rate:,.0f}" if PER * rate >= 10 else f"{PER * rate:.2g}"
