"""Rival intervals for recall and missed events, all asked in the same way.

    rival(scores, y_true, threshold, n, rng) -> Answer        nominal 90 %

A rival sees the labels of all alerts and of n rows below the threshold that it draws itself.

    SRS, exact         n rows at random; exact hypergeometric limits of the number of events
    Neyman, monotone   strata of ranks, Neyman allocation from a curve fitted to the alerts; limits
                       by inverting a test of the weighted count under precision that never rises
                       downwards, simulated; the point is the curve's with all labels, moved into
                       the limits
    OASIS-like         adaptive stratified importance sampling, normal limits
                       (after Marchant and Rubinstein 2017: 30 strata, v_h ~ N_h sqrt(p_h))
    PPI++              n rows at random, the curve's precision as predictions; package ppi-python
                       (Angelopoulos, Duchi and Zrnic 2023)

The curve is that of scarce.missed.curve. M missed events and s seen make recall s / (s + M), so
limits of M are limits of recall, in reverse; 0 / 0 is taken as 1. Assumes that labels are right.
Not here: activeeval (adaptive importance sampling, 2021), which PyPI does not offer.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from importlib.util import find_spec
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import ndtri
from scipy.stats import hypergeom

from experiments.missed_events.scenarios import Array
from scarce.missed.curve import SlopePrior, fit_monotone
from scarce.missed.score_table import RankGrid, ScoreTable, grid_of, score_table_of

LEVEL = 0.9
STRATA = 10
NEYMAN = 0.6  # the rest of the labels is shared out equally
SLOPE = (math.log(2.2), 0.8, 0.8)  # prior of the curve's slope: centre, sd, change by segment
SIMULATIONS = 600
POINTS = 28
OASIS_STRATA = 30
OASIS_PRIOR = 2.0  # rows that the curve is worth in each stratum
OASIS_EVEN = 1e-3  # share of draws in proportion to the strata
OASIS_TRIES = 20  # draws per label, when most of them repeat a row

Positions = NDArray[np.int64]
Rng = np.random.Generator


class Answer(NamedTuple):
    """What a method says of recall and of the events below the threshold."""

    recall: float
    recall_low: float
    recall_high: float
    missed: float
    missed_low: float
    missed_high: float


Rival = Callable[[Array, Array, float, int, Rng], Answer]


def answer_of(seen: float, missed: float, low: float, high: float) -> Answer:
    """Turn a number of missed events and its limits into an answer.

    Examples
    --------
    >>> answer_of(10, 10, 0, 30)
    Answer(recall=0.5, recall_low=0.25, recall_high=1.0, missed=10, missed_low=0, missed_high=30)
    """

    def recall(below: float) -> float:
        return seen / (seen + below) if seen + below > 0 else 1.0

    return Answer(recall(missed), recall(high), recall(low), missed, low, high)


def absent() -> list[str]:
    """Say in one sentence each which rivals are not there, and what to type."""
    if find_spec("ppi_py") is None:
        return ["ppi-python is not installed, so PPI++ is left out: type pip install ppi-python."]
    return []


def rivals() -> dict[str, Rival]:
    """Return the rivals that can run here, by name."""
    found: dict[str, Rival] = {
        "SRS, exact": srs_exact,
        "Neyman, monotone": neyman_monotone,
        "OASIS-like": oasis_like,
    }
    return found if find_spec("ppi_py") is None else found | {"PPI++": ppi}


# --- a simple random sample -----------------------------------------------------------------------


def srs_exact(scores: Array, y_true: Array, threshold: float, n: int, rng: Rng) -> Answer:
    """Draw at random below the threshold; invert the hypergeometric test."""
    below = np.flatnonzero(scores < threshold)
    drawn = rng.choice(below, min(n, len(below)), replace=False)
    found, size = int(y_true[drawn].sum()), len(drawn)
    low, high = hypergeometric_limits(found, size, len(below))
    return answer_of(_seen(scores, y_true, threshold), found * len(below) / size, low, high)


def hypergeometric_limits(
    found: int, drawn: int, rows: int, level: float = LEVEL
) -> tuple[int, int]:
    """Return the least and greatest number of events that neither one-sided test rejects.

    Parameters
    ----------
    found, drawn, rows : int
        Events among the rows drawn, rows drawn, and all rows.
    level : float

    Examples
    --------
    >>> hypergeometric_limits(0, 20, 100), hypergeometric_limits(100, 100, 1000)
    ((0, 12), (972, 1000))
    """
    alpha = (1.0 - level) / 2.0
    least, most = found, rows - (drawn - found)

    def first(accepted: Callable[[int], bool], low: int, high: int) -> int:
        """Return the least number accepted; the greatest one is."""
        while low < high:
            middle = (low + high) // 2
            low, high = (low, middle) if accepted(middle) else (middle + 1, high)
        return low

    low = first(lambda m: hypergeom.sf(found - 1, rows, m, drawn) > alpha, least, most)
    turned = first(lambda m: hypergeom.cdf(found, rows, -m, drawn) > alpha, -most, -least)
    return low, -turned


# --- the curve ------------------------------------------------------------------------------------


class Curve(NamedTuple):
    """Posterior draws of the precision at groups of ranks."""

    table: ScoreTable
    grid: RankGrid
    precision: Array  # (draws, groups)

    def at(self, scores: Array) -> Array:
        """Return the mean precision at scores of the batch."""
        mean = self.precision.mean(axis=0)
        return np.interp(self.table.place_of(scores), self.grid.place[::-1], mean[::-1])

    def unlabelled_events(self) -> float:
        """Return the posterior median of the events below the threshold without a label."""
        below = ~self.grid.alert
        return float(np.median(self.precision[:, below] @ self.grid.unlabelled[below]))


def fit_curve(scores: Array, labels: Array, threshold: float, rng: Rng) -> Curve:
    """Fit scarce's monotone curve to labels that were chosen by score."""
    table = score_table_of(scores, labels)
    curves = fit_monotone([table], [threshold], SlopePrior(*SLOPE), rng)
    grid = grid_of(table, threshold)
    return Curve(table, grid, curves.precision(grid.place))


def _seen(scores: Array, y_true: Array, threshold: float) -> float:
    return float(y_true[scores >= threshold].sum())


def _revealed(scores: Array, y_true: Array, threshold: float, rows: Positions) -> Array:
    """Return the labels of all alerts and of these rows, NaN for the others."""
    labels = np.where(scores >= threshold, y_true, np.nan)
    labels[rows] = y_true[rows]
    return labels


# --- strata of ranks, Neyman allocation, a monotone test ------------------------------------------


def neyman_monotone(scores: Array, y_true: Array, threshold: float, n: int, rng: Rng) -> Answer:
    """Draw from strata of ranks; limits that hold where precision never rises downwards."""
    frame = frame_of(scores, threshold, rng)
    n = min(n, len(frame))
    none = np.empty(0, np.int64)
    curve = fit_curve(scores, _revealed(scores, y_true, threshold, none), threshold, rng)
    ends = stratum_ends(len(frame), n, STRATA)
    starts = np.concatenate([[0], ends[:-1]])
    sizes = ends - starts
    precision = np.add.reduceat(curve.at(scores[frame]), starts) / sizes
    taken = neyman_allocation(n, sizes, precision)
    drawn = [
        frame[start + rng.choice(size, count, replace=False)]
        for start, size, count in zip(starts, sizes, taken, strict=True)
    ]
    found = np.array([y_true[rows].sum() for rows in drawn])
    low, high = monotone_limits(sizes, taken, found, rng)
    known = _revealed(scores, y_true, threshold, np.concatenate(drawn))
    point = found.sum() + fit_curve(scores, known, threshold, rng).unlabelled_events()
    point = float(np.clip(point, low, high))
    return answer_of(_seen(scores, y_true, threshold), point, low, high)


def frame_of(scores: Array, threshold: float, rng: Rng) -> Positions:
    """Return the rows below the threshold from the highest score down, equal ones at random."""
    below = np.flatnonzero(scores < threshold)
    return below[np.lexsort((rng.random(len(below)), -scores[below]))]


def stratum_ends(rows: int, n: int, strata: int) -> Positions:
    """Return where strata end: the first has its equal share of n rows, then ends are geometric.

    Examples
    --------
    >>> stratum_ends(10_000, 50, 5)
    array([   10,    56,   316,  1778, 10000])
    """
    strata = min(strata, n, rows)
    first = max(1, n // strata) if strata > 1 else rows
    return np.unique(np.rint(np.geomspace(first, rows, strata)).astype(np.int64))


def neyman_allocation(n: int, sizes: Positions, precision: Array) -> Positions:
    """Share n labels out: .6 in proportion to N_h sqrt(g_h), .4 equally; at least 1, at most N_h.

    Examples
    --------
    >>> neyman_allocation(20, np.array([4, 20, 200]), np.array([0.5, 0.1, 0.01]))
    array([ 4,  5, 11])
    """
    neyman = sizes * np.sqrt(precision)
    wanted = NEYMAN * neyman / neyman.sum() + (1.0 - NEYMAN) / len(sizes)
    low, high = 0.0, float((sizes / wanted).max())
    for _ in range(100):  # one factor for all strata that are neither at 1 nor full
        middle = (low + high) / 2.0
        over = np.clip(middle * wanted, 1.0, sizes).sum() > n
        low, high = (low, middle) if over else (middle, high)
    real = np.clip(high * wanted, 1.0, sizes)
    taken = np.floor(real + 1e-9).astype(np.int64)
    order = np.argsort(-(real - taken), kind="stable")
    order = order[taken[order] < sizes[order]]
    taken[order[: n - taken.sum()]] += 1
    return taken


def monotone_limits(
    sizes: Positions, taken: Positions, found: Array, rng: Rng, level: float = LEVEL
) -> tuple[float, float]:
    """Invert a test of the weighted count of events in strata, from the highest scores down.

    For each number of events on a grid, precisions that never rise downwards are fitted to the
    sample with that total (the nuisance), and the sample is drawn again from them.

    Parameters
    ----------
    sizes, taken, found : array of shape (strata,)
        Rows, rows drawn and events among those. Strata that are labelled completely are counted.
    rng : numpy.random.Generator
    level : float
    """
    full = taken == sizes
    counted = float(found[full].sum())
    if full.all():
        return counted, counted
    size, drawn, k = (np.asarray(part[~full], np.float64) for part in (sizes, taken, found))
    weight = size / drawn
    total = float(weight @ k)
    least, most = float(k.sum()), float((size - drawn + k).sum())
    deviation = math.sqrt(float(weight**2 @ (k + 1.0)))
    far = min(most, total + 6.0 * deviation)
    alpha = (1.0 - level) / 2.0
    while True:
        events = least + (far - least) * np.linspace(0.0, 1.0, POINTS) ** 2
        precision = monotone_profile(events, size, drawn, k)
        down, up = _tails(precision, size, drawn, weight, total, rng)
        if down[-1] <= alpha or far >= most:
            break
        far = min(most, 2.0 * far)
    high = _crossing(events[::-1], down[::-1], alpha)
    return counted + _crossing(events, up, alpha), counted + high


def _tails(
    precision: Array, size: Array, drawn: Array, weight: Array, total: float, rng: Rng
) -> tuple[Array, Array]:
    """Simulate P(T <= total) and P(T >= total) for every row of precisions."""
    expected = size * precision
    shape = (SIMULATIONS, *precision.shape)
    events = np.floor(expected + rng.random(shape)).astype(np.int64)
    events = np.minimum(events, size.astype(np.int64))
    again = rng.hypergeometric(events, size.astype(np.int64) - events, drawn.astype(np.int64))
    weighted = again @ weight
    near = 1e-9 * max(1.0, total)
    return (weighted <= total + near).mean(axis=0), (weighted >= total - near).mean(axis=0)


def _crossing(events: Array, tail: Array, alpha: float) -> float:
    """Return where a tail first exceeds alpha, on the straight line between grid points."""
    kept = np.flatnonzero(tail > alpha)
    if len(kept) == 0:
        return float(events[np.argmax(tail)])
    at = int(kept[0])
    if at == 0:
        return float(events[0])
    share = (alpha - tail[at - 1]) / (tail[at] - tail[at - 1])
    return float(events[at - 1] + share * (events[at] - events[at - 1]))


def monotone_profile(events: Array, size: Array, drawn: Array, found: Array) -> Array:
    """Fit precisions that never rise, with a given total, to the sample by maximum likelihood.

    maximise  sum_h k_h log g_h + (n_h - k_h) log(1 - g_h)
    subject to  g_1 >= g_2 >= ...  and  sum_h N_h g_h = M

    Parameters
    ----------
    events : array of shape (totals,)
        M, each between 0 and all rows.
    size, drawn, found : array of shape (strata,)
        N_h, n_h and k_h.

    Returns
    -------
    array of shape (totals, strata)

    Notes
    -----
    With multiplier m, pooling neighbours a to b leaves one equation for their common g,
    mN g^2 + (n - mN) g - k = 0 with N, n, k summed over a to b, and the least over a <= h of the
    greatest over b >= h is g_h, as in isotonic regression. The total rises with m.
    """
    sums = [_block_sums(part) for part in (size, drawn, found)]
    scale = float(drawn.sum() / size.sum())
    low, high = np.full((2, len(events)), [[-30.0], [30.0]])  # asinh of the multiplier's multiple
    for _ in range(50):
        middle = (low + high) / 2.0
        fitted = _isotonic(scale * np.sinh(middle), *sums)
        over = fitted @ size > events
        low, high = np.where(over, low, middle), np.where(over, middle, high)
    return _isotonic(scale * np.sinh((low + high) / 2.0), *sums)


def _block_sums(values: Array) -> Array:
    """Return the sum over a..b at [a, b], NaN where b < a."""
    cumulative = np.concatenate([[0.0], np.cumsum(values)])
    sums = cumulative[None, 1:] - cumulative[:-1, None]
    return np.where(np.triu(np.ones(sums.shape, bool)), sums, np.nan)


def _isotonic(multiplier: Array, size: Array, drawn: Array, found: Array) -> Array:
    """Return the fit for each multiplier: (multipliers, strata)."""
    pull = multiplier[:, None, None] * size
    free = drawn - pull
    root = np.sqrt(np.maximum(free**2 + 4.0 * pull * found, 0.0))
    with np.errstate(divide="ignore", invalid="ignore"):
        single = np.where(free >= 0, 2.0 * found / (free + root), (root - free) / (2.0 * pull))
    # 0 / 0 is left where nothing was found and nothing pulls: precision 0.
    single = np.where(np.isnan(single) & ~np.isnan(size), 0.0, single)
    greatest = np.fmax.accumulate(single[:, :, ::-1], axis=2)[:, :, ::-1]  # over b >= h
    least = np.fmin.accumulate(np.where(np.isnan(size), np.nan, greatest), axis=1)  # over a <= h
    return np.clip(np.diagonal(least, axis1=1, axis2=2), 0.0, 1.0)


# --- adaptive importance sampling -----------------------------------------------------------------


def oasis_like(scores: Array, y_true: Array, threshold: float, n: int, rng: Rng) -> Answer:
    """Draw strata in proportion to N_h sqrt(p_h), p_h learnt while drawing; a repeat is free."""
    frame = frame_of(scores, threshold, rng)
    n = min(n, len(frame))
    none = np.empty(0, np.int64)
    curve = fit_curve(scores, _revealed(scores, y_true, threshold, none), threshold, rng)
    ends = stratum_ends(len(frame), n, OASIS_STRATA)
    starts = np.concatenate([[0], ends[:-1]])
    sizes = ends - starts
    events = OASIS_PRIOR * np.add.reduceat(curve.at(scores[frame]), starts) / sizes
    rows = np.full(len(sizes), OASIS_PRIOR)
    labelled: set[int] = set()
    weighted: list[float] = []
    while len(labelled) < n and len(weighted) < OASIS_TRIES * n:
        ideal = sizes * np.sqrt(events / rows)
        chance = OASIS_EVEN * sizes / len(frame) + (1.0 - OASIS_EVEN) * ideal / ideal.sum()
        stratum = int(np.searchsorted(np.cumsum(chance), rng.random() * chance.sum()))
        row = int(frame[starts[stratum] + rng.integers(sizes[stratum])])
        labelled.add(row)
        weighted.append(float(y_true[row] * sizes[stratum] / chance[stratum]))
        events[stratum] += y_true[row]
        rows[stratum] += 1.0
    mean = float(np.mean(weighted))
    reach = float(ndtri(0.5 + LEVEL / 2.0) * np.std(weighted, ddof=1) / math.sqrt(len(weighted)))
    known = np.fromiter(labelled, np.int64)
    found = float(y_true[known].sum())
    return _within(scores, y_true, threshold, (mean, mean - reach, mean + reach), known, found)


def _within(
    scores: Array,
    y_true: Array,
    threshold: float,
    missed: tuple[float, float, float],
    known: Positions,
    found: float,
) -> Answer:
    """Return an answer whose numbers of missed events agree with the rows that were looked at."""
    most = float((scores < threshold).sum()) - (len(known) - found)
    return answer_of(
        _seen(scores, y_true, threshold), *(min(max(each, found), most) for each in missed)
    )


# --- prediction-powered inference -----------------------------------------------------------------


def ppi(scores: Array, y_true: Array, threshold: float, n: int, rng: Rng) -> Answer:
    """Correct the mean of the curve's precision by a random sample, with the package's limits."""
    from ppi_py import ppi_mean_ci, ppi_mean_pointestimate

    below = rng.permutation(np.flatnonzero(scores < threshold))
    n = min(n, len(below))
    none = np.empty(0, np.int64)
    curve = fit_curve(scores, _revealed(scores, y_true, threshold, none), threshold, rng)
    drawn, predicted = below[:n], curve.at(scores[below])
    given = (y_true[drawn], predicted[:n], predicted[n:])
    ends = ppi_mean_ci(*given, alpha=1.0 - LEVEL)
    shares = [float(np.ravel(each)[0]) for each in (ppi_mean_pointestimate(*given), *ends)]
    point, low, high = (share * len(below) for share in shares)
    found = float(y_true[drawn].sum())
    return _within(scores, y_true, threshold, (point, low, high), drawn, found)
