"""Limits from random checks: which totals would not make what was found a surprise?

    S = sum_h a_h (N_h / n_h) k_h          the weighted count of the events found
    keep a total while  P(S <= s) > (1 - level) / 2  and  P(S >= s) > (1 - level) / 2

Stratum h has N_h rows, of which n_h were drawn at random and k_h were events. Under a hypothesis
sum_h a_h N_h g_h = d the shares g_h are those of greatest likelihood that meet it and, on request,
do not rise as the score falls: for a multiplier each block of pooled strata has a closed form, and
pool-adjacent-violators joins blocks. Then k_h is hypergeometric, and the distribution of S is
convolved on a lattice: no simulation, so the same data give the same limits.

Assumes random draws within strata and right labels (or labels wrong at the stated rates). The
order of the shares is an assumption that can be left out. Knows nothing of scores: see strata.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import NamedTuple

import numpy as np
from numba import njit
from numpy.typing import NDArray
from scipy.special import chdtrc, xlog1py, xlogy

from scarce.engine.block import Array
from scarce.missed.strata import Cells

LATTICE = 512  # steps between 0 and the weighted count that was observed
WHOLE = 4096  # steps of the whole range, where some strata count against others
LEAST = 1e-12  # probability that is left out
ALIKE = 1e-9  # relative: steps that differ by less are equal
NEAR = 1.25  # places, times the root of the strata, that rounding seldom exceeds
NOTHING = 1e-6  # draws that stand for none: likelihoods stay smooth


class LabelError(NamedTuple):
    """How often labels are wrong.

    Parameters
    ----------
    missed : float
        Share of events that are labelled as none.
    false : float
        Share of other rows that are labelled as events.
    """

    missed: float = 0.0
    false: float = 0.0


NO_ERROR = LabelError()


def total_limits(
    cells: Cells,
    level: float,
    *,
    beyond: Cells | None = None,
    ordered: bool = True,
    error: LabelError = NO_ERROR,
) -> tuple[float, float]:
    """Return low and high limit of the number of events among all rows of the strata.

    Parameters
    ----------
    cells : Cells
    level : float
        Each limit alone is wrong with probability (1 - level) / 2.
    beyond : Cells, optional
        Strata of the same frames above these: their events are not counted, but where shares are
        ordered they say how many the others may hold.
    ordered : bool
        Whether shares of events do not rise from one stratum of a frame to the next.
    error : LabelError

    Examples
    --------
    One stratum is a simple random sample: 0 events in 100 of 5,000 rows.

    >>> one = Cells(np.array([5000.0]), np.array([100.0]), np.zeros(1), np.zeros(1, np.int64))
    >>> total_limits(one, 0.9)
    (0.0, 146.0)
    """
    weight, whole = np.ones(len(cells.rows)), cells
    if beyond is not None and len(beyond.rows):
        whole, weight = _beside(beyond, 0.0, cells, 1.0)
    exact = error == NO_ERROR
    least = float(cells.events.sum()) if exact else 0.0
    most = float((cells.rows - cells.drawn + cells.events).sum())
    most = most if exact else float(cells.rows.sum())
    if most <= least:
        return least, least
    tail = (1.0 - level) / 2.0

    def kept(total: float, side: int) -> bool:
        return tails(whole, weight, total, ordered=ordered, error=error)[side] > tail

    high = _last(lambda total: kept(total, 0), least, most)
    low = -_last(lambda total: kept(-total, 1), -most, -least)
    return min(low, high), high


def order_chance(cells: Cells) -> float:
    """Return how likely draws look as little ordered as these where shares are ordered.

    Where all shares are equal, the worst case, twice the log likelihood that the order costs is a
    mixture of chi-squared variables. Of k strata, the j-th adds a degree of freedom, by joining
    those before it, with probability (j - 1) / j (Robertson, Wright, Dykstra 1988, chapter 2).

    Examples
    --------
    >>> frame = np.zeros(2, np.int64)
    >>> falling = Cells(np.full(2, 100.0), np.full(2, 50.0), np.array([9.0, 1.0]), frame)
    >>> rising = falling._replace(events=np.array([1.0, 9.0]))
    >>> order_chance(falling), round(order_chance(rising), 3)
    (1.0, 0.002)
    """
    rows, drawn, events, frame = cells.chosen(cells.drawn > 0)
    if len(rows) == 0:
        return 1.0
    joined = np.ones(1)  # probabilities of 0, 1, ... strata that join those before them
    for strata in np.unique(frame, return_counts=True)[1]:
        for j in range(2, int(strata) + 1):
            joined = np.convolve(joined, [1.0 / j, 1.0 - 1.0 / j])
    share = np.empty(len(rows))
    _sum_at(0.0, rows, drawn, events, frame, np.ones(len(rows)), 0.0, 0.0, share)
    lost = _log_likelihood(drawn, events, events / drawn) - _log_likelihood(drawn, events, share)
    lost = max(0.0, 2.0 * lost)
    if lost < NOTHING:
        return 1.0
    return float(joined[1:] @ chdtrc(np.arange(1.0, len(joined)), lost))


def _log_likelihood(drawn: Array, events: Array, share: Array) -> float:
    return float((xlogy(events, share) + xlog1py(drawn - events, -share)).sum())


def _last(kept: Callable[[float], bool], start: float, end: float) -> float:
    """Return the last whole step from start to end that is kept; those kept come first."""
    if kept(end):
        return end
    low, reach = start, 1.0
    while low + reach < end and kept(low + reach):
        low, reach = low + reach, 2.0 * reach
    high = min(low + reach, end)
    while high - low > 1.0:
        middle = low + max(1.0, math.floor((high - low) / 2.0))  # end may be no whole step
        if kept(middle):
            low = middle
        else:
            high = middle
    return low


def share_limits(
    found: Cells,
    missed: Cells,
    certain: tuple[float, float],
    level: float,
    *,
    ordered: bool = True,
    error: LabelError = NO_ERROR,
) -> tuple[float, float]:
    """Return low and high limit of found / (found + missed), both estimated from draws.

    Parameters
    ----------
    found, missed : Cells
        Strata whose events count as found, and as missed; a frame may go on from one to the other.
    certain : tuple of float
        Events that are found, and missed, for certain.
    level : float
    ordered : bool
    error : LabelError

    Notes
    -----
    Under a share R the contrast (1 - R) found - R missed is 0, which is the linear hypothesis
    above with a_h = 1 - R or -R.
    """
    cells, side = _beside(found, 1.0, missed, 0.0)
    tail = (1.0 - level) / 2.0
    if float(missed.rows.sum()) + certain[1] == 0.0:
        return 1.0, 1.0
    if float(found.rows.sum()) + certain[0] == 0.0:
        return 0.0, 0.0
    exact = error == NO_ERROR
    few = cells.events if exact else np.zeros(len(cells.rows))
    many = cells.rows - cells.drawn + cells.events if exact else cells.rows

    def kept(share: float, which: int) -> bool:
        rest = share * certain[1] - (1.0 - share) * certain[0]
        # What was labelled cannot be otherwise.
        least = (1.0 - share) * float(side @ few) - share * float((1.0 - side) @ many)
        most = (1.0 - share) * float(side @ many) - share * float((1.0 - side) @ few)
        if not least - 1e-9 <= rest <= most + 1e-9:
            return (rest > most) == (which == 1)
        return tails(cells, side - share, rest, ordered=ordered, error=error)[which] > tail

    # Under a share that is too low the contrast comes out greater than it should: P(S >= s).
    return _edge(lambda share: kept(share, 1)), 1.0 - _edge(lambda gap: kept(1.0 - gap, 0))


def _edge(kept: Callable[[float], bool]) -> float:
    """Return the least share that is kept, by bisection."""
    low, high = 1e-9, 1.0
    if kept(low):
        return 0.0
    for _ in range(16):
        middle = (low + high) / 2.0
        if kept(middle):
            high = middle
        else:
            low = middle
    return low


def _beside(first: Cells, mark: float, second: Cells, other: float) -> tuple[Cells, Array]:
    """Return the strata of both in order, and the mark of each."""
    marks = np.repeat([mark, other], [len(first.rows), len(second.rows)])
    order = np.argsort(np.concatenate([first.frame, second.frame]), kind="stable")
    return first.beside(second), np.asarray(marks[order], dtype=np.float64)


def tails(
    cells: Cells, weight: Array, total: float, *, ordered: bool = True, error: LabelError = NO_ERROR
) -> tuple[float, float]:
    """Return P(S <= s) and P(S >= s) where sum_h weight_h N_h g_h is `total`.

    Strata of which nothing was drawn hold events under the hypothesis and add nothing to S; where
    all rows were drawn, events are known. Where no ordered shares give the total, those that come
    nearest are taken: it is on average that events are ordered, and those of one batch may be a
    little less so.
    """
    exact = error == NO_ERROR
    if exact and (cells.drawn >= cells.rows).any():
        whole = cells.drawn >= cells.rows
        total = total - float(weight[whole] @ cells.events[whole])
        cells, weight = cells.chosen(~whole), weight[~whole]
        if len(cells.rows) == 0:
            return 1.0, 1.0
    rows, drawn, events, frame = cells
    chain = frame if ordered else np.arange(len(rows), dtype=np.int64)
    # One more row drawn everywhere, as rich as the stratum is by the order, or as all together: a
    # share is never taken to be just 0 or 1.
    n = np.maximum(drawn, NOTHING)
    usual = np.empty(len(rows))
    _sum_at(0.0, rows, n, events, frame, np.ones(len(rows)), 0.0, 0.0, usual)
    usual = np.maximum(usual, float(rows @ events) / float(rows @ n))
    tried = np.where(drawn > 0, drawn + 1.0, NOTHING)
    seen = np.where(drawn > 0, events + usual, 0.0)
    keep = 1.0 - error.missed - error.false
    # The fewer rows are left, the surer is the share of all: what labels vary by, of a binomial.
    told = seen / tried
    true = np.clip((told - error.false) / keep, 0.0, 1.0)
    varies, spread = keep**2 * true * (1.0 - true), told * (1.0 - told)
    ratio = np.divide(varies, spread, np.full(len(rows), 1.0 * exact), where=spread > 0.0)
    sure = 1.0 / np.maximum(1.0 - ratio * drawn / rows, 0.5 / rows)
    tried, seen = tried * sure, seen * sure
    share = shares_given_total(rows, tried, seen, chain, weight, total, error.missed, error.false)
    step = np.where(drawn > 0, weight * rows / np.maximum(drawn, 1.0) / keep, 0.0)
    if (step <= 0.0).all():
        few, many = _tails(rows, drawn, events, share, -step, error.missed, error.false)
        return many, few
    return _tails(rows, drawn, events, share, step, error.missed, error.false)


# --- compiled loops -------------------------------------------------------------------------------


@njit(cache=True, nogil=True)
def shares_given_total(
    rows: Array,
    drawn: Array,
    events: Array,
    chain: NDArray[np.int64],
    weight: Array,
    total: float,
    missed: float,
    false: float,
) -> Array:  # pragma: no cover
    """Shares of greatest likelihood with sum of weight * rows * share = total.

    Along a chain shares do not rise. The sum falls as the multiplier grows: bisection on its
    logarithm, on either side of 0.
    """
    share = np.empty(len(rows))
    scale = drawn.sum() / np.abs(weight * rows).sum()
    at_zero = _sum_at(0.0, rows, drawn, events, chain, weight, missed, false, share)
    sign = 1.0 if at_zero > total else -1.0
    low, high = -40.0, 40.0
    for _ in range(64):
        middle = 0.5 * (low + high)
        factor = sign * scale * np.exp(middle)
        value = _sum_at(factor, rows, drawn, events, chain, weight, missed, false, share)
        if (value - total) * sign > 0.0:
            low = middle
        else:
            high = middle
    return share


@njit(cache=True, nogil=True)
def _sum_at(
    factor: float,
    rows: Array,
    drawn: Array,
    events: Array,
    chain: NDArray[np.int64],
    weight: Array,
    missed: float,
    false: float,
    share: Array,
) -> float:  # pragma: no cover
    """Fill the shares that are best at a multiplier; return the sum that they give."""
    keep = 1.0 - missed - false
    n = len(rows)
    k_sum, n_sum, c_sum = np.empty(n), np.empty(n), np.empty(n)
    value, first = np.empty(n), np.empty(n, np.int64)
    top = 0
    for h in range(n):
        k_sum[top], n_sum[top] = events[h], drawn[h]
        c_sum[top] = factor * weight[h] * rows[h] / keep
        first[top] = h
        value[top] = _best_share(k_sum[top], n_sum[top], c_sum[top], missed, false)
        while top > 0 and chain[first[top - 1]] == chain[h] and value[top] > value[top - 1]:
            top -= 1
            k_sum[top] += k_sum[top + 1]
            n_sum[top] += n_sum[top + 1]
            c_sum[top] += c_sum[top + 1]
            value[top] = _best_share(k_sum[top], n_sum[top], c_sum[top], missed, false)
        top += 1
    total = 0.0
    for block in range(top):
        end = first[block + 1] if block + 1 < top else n
        for h in range(first[block], end):
            share[h] = value[block]
            total += weight[h] * rows[h] * value[block]
    return total


@njit(cache=True, nogil=True)
def _best_share(k: float, n: float, c: float, missed: float, false: float) -> float:
    # pragma: no cover
    """Greatest of k log p + (n - k) log(1 - p) - c p, with p = false + (1 - missed - false) g."""
    middle = n + c
    root = np.sqrt(max(middle * middle - 4.0 * c * k, 0.0))
    if middle >= 0.0:
        p = 2.0 * k / (middle + root) if middle + root > 0.0 else 0.0
    else:
        p = (middle - root) / (2.0 * c)
    g = (p - false) / (1.0 - missed - false)
    return min(max(g, 0.0), 1.0)


@njit(cache=True, nogil=True)
def _tails(
    rows: Array, drawn: Array, events: Array, share: Array, step: Array, missed: float, false: float
) -> tuple[float, float]:  # pragma: no cover
    """P(S <= s) and P(S >= s), each stratum's part of S rounded to a lattice.

    Strata that count alike are one, so that their sums are exact; other sums that are equal may
    come out a little apart, so what is that near to the observed one is on both sides. Where no
    stratum counts against another, all above the observed value is one place.
    """
    chances, steps, told = _laws(rows, drawn, events, share, step, missed, false)
    strata = len(steps)
    first, last = np.empty(strata, np.int64), np.empty(strata, np.int64)
    span = observed = 0.0
    least = np.inf
    positive = True
    for h in range(strata):
        first[h], last[h] = _support(chances[h], told[h])
        span += abs(steps[h]) * (last[h] - first[h])
        observed += steps[h] * told[h]
        if steps[h] > 0.0:
            least = min(least, steps[h])
        positive = positive and steps[h] >= 0.0
    near = int(np.ceil(NEAR * np.sqrt(strata))) if strata > 1 else 0
    if positive:
        unit = observed / LATTICE if observed > 0.0 else least
        near = near if observed > 0.0 else 0
    else:
        unit = span / WHOLE
    if not 0.0 < unit < np.inf:
        return 1.0, 1.0
    low = high = seen = 0
    for h in range(strata):
        one, other = np.rint(steps[h] * first[h] / unit), np.rint(steps[h] * last[h] / unit)
        low += int(min(one, other))
        high += int(max(one, other))
        seen += int(np.rint(steps[h] * told[h] / unit))
    if positive:
        high = min(high, seen + near + 1)
    low = min(low, seen)
    mass = np.zeros(max(high - low, 0) + 1)
    origin = low  # what place 0 stands for; parts are added from their own lowest value
    start = 0
    for h in range(strata):
        one, other = np.rint(steps[h] * first[h] / unit), np.rint(steps[h] * last[h] / unit)
        start += int(min(one, other))
    mass[min(max(start - origin, 0), len(mass) - 1)] = 1.0
    for h in range(strata):
        base = int(min(np.rint(steps[h] * first[h] / unit), np.rint(steps[h] * last[h] / unit)))
        more = np.zeros(len(mass))
        beyond = np.zeros(len(mass) + 1)
        for at in range(len(mass) - 1, -1, -1):
            beyond[at] = beyond[at + 1] + mass[at]
        for k in range(first[h], last[h] + 1):
            p = chances[h][k]
            move = int(np.rint(steps[h] * k / unit)) - base
            kept = max(len(mass) - 1 - move, 0)
            for at in range(kept):
                more[len(mass) - kept - 1 + at] += p * mass[at]
            more[-1] += p * beyond[kept]
        mass = more
    place = min(seen - origin, len(mass) - 1)
    few = many = 0.0
    for at in range(len(mass)):
        few += mass[at] if at <= place + near else 0.0
        many += mass[at] if at >= place - near else 0.0
    return few, many


@njit(cache=True, nogil=True)
def _laws(
    rows: Array, drawn: Array, events: Array, share: Array, step: Array, missed: float, false: float
) -> tuple[list[Array], list[float], list[int]]:  # pragma: no cover
    """Distributions of the events among drawn rows, the step of each, and what was observed.

    Strata with the same step are one; those without a step are left out.
    """
    chances: list[Array] = []
    steps: list[float] = []
    told: list[int] = []
    for h in range(len(rows)):
        if step[h] == 0.0:
            continue
        n = int(np.rint(drawn[h]))
        whole = max(int(np.rint(rows[h])), n)  # rows that were estimated need not be whole
        chance = _chance_of_events(whole, n, rows[h] * share[h], missed, false)
        like = -1
        for at in range(len(steps)):
            if abs(steps[at] - step[h]) <= ALIKE * abs(step[h]):
                like = at
        if like < 0:
            chances.append(chance)
            steps.append(step[h])
            told.append(int(np.rint(events[h])))
            continue
        both = np.zeros(len(chances[like]) + n)
        for k in range(n + 1):
            if chance[k] >= LEAST:
                for j in range(len(chances[like])):
                    both[k + j] += chance[k] * chances[like][j]
        chances[like] = both
        told[like] += int(np.rint(events[h]))
    return chances, steps, told


@njit(cache=True, nogil=True)
def _support(chance: Array, observed: int) -> tuple[int, int]:  # pragma: no cover
    """First and last count that is possible, the observed one among them."""
    first, last = observed, observed
    for k in range(len(chance)):
        if chance[k] >= LEAST:
            first, last = min(first, k), max(last, k)
    return first, last


@njit(cache=True, nogil=True)
def _chance_of_events(
    rows: int, drawn: int, total: float, missed: float, false: float
) -> Array:  # pragma: no cover
    """Distribution of the events among the rows drawn; a total between integers is a mixture."""
    total = min(max(total, 0.0), float(rows))
    whole = int(np.floor(total))
    part = total - whole
    chance = (1.0 - part) * _hypergeometric(rows, drawn, whole)
    if part > 0.0:
        chance += part * _hypergeometric(rows, drawn, whole + 1)
    if missed == 0.0 and false == 0.0:
        return chance
    told = np.zeros(drawn + 1)
    for true in range(drawn + 1):
        if chance[true] < LEAST:
            continue
        right, wrong = _binomial(true, 1.0 - missed), _binomial(drawn - true, false)
        some, most = _support(right, int(np.argmax(right)))
        few, many = _support(wrong, int(np.argmax(wrong)))
        for i in range(some, most + 1):
            for j in range(few, many + 1):
                told[i + j] += chance[true] * right[i] * wrong[j]
    return told


@njit(cache=True, nogil=True)
def _hypergeometric(rows: int, drawn: int, events: int) -> Array:  # pragma: no cover
    chance = np.zeros(drawn + 1)
    whole = _log_ways(rows, drawn)
    for k in range(max(0, drawn - (rows - events)), min(drawn, events) + 1):
        ways = _log_ways(events, k) + _log_ways(rows - events, drawn - k)
        chance[k] = np.exp(ways - whole)
    return chance


@njit(cache=True, nogil=True)
def _binomial(n: int, p: float) -> Array:  # pragma: no cover
    chance = np.zeros(n + 1)
    if p <= 0.0 or p >= 1.0:
        chance[n if p >= 1.0 else 0] = 1.0
        return chance
    reach = 7.5 * np.sqrt(n * p * (1.0 - p)) + 30.0  # less than LEAST lies beyond (Bernstein)
    for k in range(max(0, int(n * p - reach)), min(n, int(n * p + reach) + 1) + 1):
        chance[k] = np.exp(_log_ways(n, k) + k * np.log(p) + (n - k) * np.log1p(-p))
    return chance


@njit(cache=True, nogil=True)
def _log_ways(n: int, k: int) -> float:  # pragma: no cover
    return math.lgamma(n + 1.0) - math.lgamma(k + 1.0) - math.lgamma(n - k + 1.0)
