"""How many events did several detectors all miss?

    missed = sum_{i<j} only_i only_j / (1 + f2)          (Chao 1989, M(t); for two, Chapman 1951)
    P(distinct = d | N, sizes) ~ ways(d) / (N - d)!      (exact limits: this test inverted in N)

only_i: events that detector i alone found; f2: events that exactly two found. The limits condition
on how many events each detector found, which removes their recalls. With three detectors or more
the same is done twice: with events found once or twice ("chao"), and with all ("independence").

Assumes that detectors miss independently given the event and that no event is harder than another.
Where some events are hard for all, fewer are estimated than were missed: a lower bound. Does not
draw checks: see choose.py and audit.py for figures that need no such assumption.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq
from scipy.special import gammaln

from scarce.checks import (
    read_column,
    read_labels,
    read_level,
    read_seed,
    refuse_length,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Problem, UsageError, listed, refuse_word
from scarce.io.frames import as_table, is_frame
from scarce.results import Estimate, Record

if TYPE_CHECKING:
    from scarce.missed.audit import AuditCount
    from scarce.missed.performance import Performance

Flags = NDArray[np.bool_]
Sizes = Sequence[int] | NDArray[np.int64]
Kernel = Callable[[Sizes, float], tuple[int, Array]]

TRUST = ("audit", "independence")
OPEN_ALERTS = ("error", "drop")
CHAPMAN = "Chapman, exact limits"
CHAO = "Chao's lower bound, exact limits"
INDEPENDENCE = "independent detectors, exact limits"
NOT_IDENTIFIED = "not identified"
ASSUMES = (
    "detectors miss independently given the event, and no event is harder than another; where some "
    "events are hard for all of them, more were missed than this says"
)
NO_OVERLAP = "no event was found by two detectors, so nothing bounds the missed ones from above"
NO_TWICE = "no event was found by exactly two detectors"
NO_EVENTS = "no detector found an event"
NO_THIRD = "needs a third detector: what both missed was never seen"
FEW_OVERLAPS = 7  # Robson and Regier 1964: from here Chapman's bias is under 2 %
DRAWS = 1999
FALSE_ALARM = 0.1  # of the check of dependence, all its tests together
NEGLIGIBLE = 200.0  # states with exp(-this) of the greatest weight are dropped: 20 sd off
WIDE = 1000  # states up to which none is dropped


# --- records --------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class DetectorPair(Record):
    """Two of the detectors: how far they overlap, and whether they find the same events.

    Parameters
    ----------
    first, second : str
    both, only_first, only_second : int
        Events that both found, and that one of the two found.
    neither : int
        Events that neither found and another detector did.
    missed : Estimate
        Events that these two missed, from the two alone; compare it with `neither`.
    odds_ratio : Estimate
        Among events that another detector found: odds that the second finds an event that the first
        found, over those where the first missed it. Above 1 the two find the same events. NaN with
        two detectors alone.
    p_value : float
        That this odds ratio is 1, exact and two-sided.
    """

    first: str
    second: str
    both: int
    only_first: int
    only_second: int
    neither: int
    missed: Estimate
    odds_ratio: Estimate
    p_value: float


@dataclass(frozen=True, slots=True)
class Dependence(Record):
    """Do three detectors or more find the same events more often, or less, than by chance?

    Parameters
    ----------
    p_positive, p_negative : float
        Exact p-values (by simulation) of the number of times that two detectors found the same
        event, given what each found and what they found together. A small `p_positive` means that
        some events are hard for all: then more were missed than the estimates say.
    """

    p_positive: float
    p_negative: float


@dataclass(frozen=True, slots=True)
class MissedByAll(Record):
    """How many events several detectors all missed, and what each of them finds.

    Parameters
    ----------
    missed : Estimate
        Events that no detector found: the audit's figure where one was given, else the first of
        `estimates` that there is. Where the check of dependence speaks, the limit on the side that
        is then wrong is left open.
    recall : Estimate
        Share of events that at least one detector found.
    recalls : dict of str to Estimate
        The same for each detector.
    estimates : dict of str to Estimate
        Missed events by each method: "chapman" for two detectors; "chao" and "independence" for
        more; "audit" where one was given.
    found : int
        Events that at least one detector found.
    found_by : dict of str to int
        Events that each detector found.
    found_times : tuple of int
        Events that exactly 1, 2, ... detectors found.
    pairs : tuple of DetectorPair
    dependence : Dependence or None
        None with two detectors: their dependence leaves no trace.
    remarks : tuple of Problem
        What the reader should know, most important first.
    """

    missed: Estimate
    recall: Estimate
    recalls: dict[str, Estimate]
    estimates: dict[str, Estimate]
    found: int
    found_by: dict[str, int]
    found_times: tuple[int, ...]
    pairs: tuple[DetectorPair, ...]
    dependence: Dependence | None
    remarks: tuple[Problem, ...]

    def __str__(self) -> str:
        lines = [f"remark: {remark}" for remark in self.remarks]
        lines.append(
            f"{self.found:,} event{'s' if self.found != 1 else ''} found by at least one of "
            f"{len(self.found_by)} detectors"
        )
        lines.append(f"  missed by all  {self.missed}")
        lines += [
            f"    {name}: {one}"
            for name, one in self.estimates.items()
            if len(self.estimates) > 1 and one != self.missed
        ]
        lines.append(f"  recall of all  {self.recall.brief()}")
        lines += [f"    {name}: {one.brief()}" for name, one in self.recalls.items()]
        lines.append(f"This assumes: {self.missed.assumes}.")
        return "\n".join(lines)


# --- the estimate ---------------------------------------------------------------------------------


def missed_by_all(
    found: ArrayLike | Mapping[str, ArrayLike] | Any,
    labels: ArrayLike | None = None,
    *,
    level: float = 0.9,
    audit: Estimate | AuditCount | Performance | None = None,
    trust: str = "audit",
    open_alerts: str = "error",
    random_state: int | np.random.Generator | None = 0,
) -> MissedByAll:
    """Estimate how many events several detectors all missed, from the events that they share.

    Parameters
    ----------
    found : array-like of shape (n_rows, n_detectors), table, or dict of name -> alerts
        Whether each detector raised each row: 1 and 0, or True and False. Columns of a table and
        keys of a dict name the detectors. A row is one event at most: join alerts on one event
        first.
    labels : array-like of shape (n_rows,), optional
        1 for an event, 0 for none, missing for not investigated. Without labels every row is an
        event, and each must have been raised by at least one detector. An event that no detector
        raised is known from elsewhere, and the missed ones are at least as many as these.
    level : float
        Coverage of the intervals.
    audit : Estimate, AuditCount or Performance, optional
        Events among the rows that no detector raised, estimated from rows of them that were checked
        at random; see `count_missed` and `estimate_performance`.
    trust : {"audit", "independence"}
        Which of the two gives `missed` and the recalls where there is an audit. An audit needs no
        assumption about the detectors.
    open_alerts : {"error", "drop"}
        What to do with alerts that have no label. "drop" leaves them out: then `missed` counts only
        events that would have been investigated, had a detector raised them, and recalls are right
        if what was investigated does not depend on which detectors raised the row.
    random_state : int, Generator or None
        Of the check of dependence.

    Returns
    -------
    MissedByAll

    **Assumes** that detectors miss independently given the event, that no event is harder than
    another, and that labels are right. Where the same events are hard for all, estimate and limits
    are too low; "chao" less so than "independence". Where detectors complement each other, so that
    one is good at what another misses, they are too high. Two detectors cannot show either.

    Notes
    -----
    "chao" uses the events that were found once or twice. Where the odds of being found rise for all
    detectors with one property of the event, its expectation is at most what was missed, whatever
    the recalls of the detectors. The form f1^2 / (2 f2) with equal recalls (Chao 1987) is greater
    and not a lower bound when recalls differ. "independence" uses all overlaps: Chapman's idea, one
    more event that two found, in the equation of Darroch (1958), 1 - M/N = prod (1 - n_j/N).

    Limits are those of exact tests and cover at least `level` under the assumptions. They are for
    the events at hand, not for a population. Given that an event was found at most twice, detectors
    miss it independently too, so "chao" has an exact test of its own.

    References
    ----------
    Chapman (1951), University of California Publications in Statistics 1; Darroch (1958),
    Biometrika 45; Chao (1987), Biometrics 43; Chao (1989), Biometrics 45.

    Examples
    --------
    >>> rules = [1, 1, 1, 1, 1, 1, 0, 0, 0, 0]
    >>> model = [1, 1, 1, 1, 0, 0, 1, 1, 1, 0]
    >>> fraud = [1, 1, 1, 1, 1, 0, 1, 1, 0, None]
    >>> answer = missed_by_all({"rules": rules, "model": model}, fraud)
    >>> print(answer.missed)
    0.4 [0, 7] (90 %, Chapman, exact limits)
    >>> print(answer.recall)
    0.946 [0.5, 1] (90 %, Chapman, exact limits)
    """
    level = read_level(level)
    refuse_word("trust", trust, TRUST)
    refuse_word("open_alerts", open_alerts, OPEN_ALERTS)
    checked = None if audit is None else _read_audit(audit, level)
    seed = read_seed(random_state)
    names, raised = _read_found(found, labels)
    events, outside, dropped = _events(raised, labels, open_alerts)
    counts = _count(events)
    estimates = _estimates(counts, level, outside)
    pairs = tuple(_pair(events, names, i, j, level) for i, j in combinations(range(len(names)), 2))
    dependence = _dependence(counts, seed)
    known = [one for one in estimates.values() if not np.isnan(one.value)]
    own = (known or list(estimates.values()))[0]
    shown = _shown_dependence(pairs, dependence)
    missed = _opened(own, outside, {one.code for one in shown})
    if checked is not None:
        estimates["audit"] = checked
        if trust == "audit":
            missed = checked
        else:
            alone = f"the audit, which alone allows {checked.brief()}, was set aside"
            missed = replace(missed, assumes=f"{missed.assumes}; {alone}")
    recalls = {
        name: _recall(int(count), counts.found, missed)
        for name, count in zip(names, counts.by_detector, strict=True)
    }
    remarks = [
        *_contradiction(own, checked),
        *shown,
        *_remarks(counts, names, events, raised),
        *_left_out(outside, dropped),
    ]
    return MissedByAll(
        missed,
        _recall(counts.found, counts.found, missed),
        recalls,
        estimates,
        counts.found,
        {name: int(count) for name, count in zip(names, counts.by_detector, strict=True)},
        tuple(int(count) for count in counts.times),
        pairs,
        dependence,
        tuple(remarks),
    )


@dataclass(frozen=True, slots=True)
class _Counts:
    """What the estimates need: sufficient under independence."""

    found: int
    by_detector: NDArray[np.int64]
    times: NDArray[np.int64]  # found by exactly 1, 2, ... detectors
    alone: NDArray[np.int64]  # found by this detector and no other
    once_or_twice: NDArray[np.int64]  # found by this detector and at most one other


def _count(events: Flags) -> _Counts:
    times = events.sum(axis=1)
    return _Counts(
        len(events),
        events.sum(axis=0),
        np.bincount(times, minlength=events.shape[1] + 1)[1:],
        events[times == 1].sum(axis=0),
        events[times <= 2].sum(axis=0),
    )


def _estimates(counts: _Counts, level: float, outside: int) -> dict[str, Estimate]:
    """Return missed events by each method, the one to be relied on first."""
    two = len(counts.by_detector) == 2
    name, method = ("chapman", CHAPMAN) if two else ("chao", CHAO)
    found = {name: (method, NO_TWICE, _chao(counts, level))}
    if not two:
        found["independence"] = (INDEPENDENCE, NO_OVERLAP, _independence(counts, level))
    estimates = {}
    for name, (method, why, numbers) in found.items():
        value, low, high = (max(x, float(outside)) for x in numbers)
        if counts.found == 0:
            method, why = NOT_IDENTIFIED, NO_EVENTS
        elif counts.by_detector.sum() == counts.found:
            why = NO_OVERLAP
        assumes = f"{why}; {ASSUMES}" if np.isnan(value) else ASSUMES
        estimates[name] = Estimate(value, low, high, level, method, assumes)
    return estimates


def _opened(own: Estimate, outside: int, codes: set[str]) -> Estimate:
    """Drop the limit that the detectors' own dependence shows to be wrong."""
    low, high, assumes = own.low, own.high, own.assumes
    if "dependent-detectors" in codes:
        high = float("inf")
        assumes = f"{assumes}; they find the same events, so no upper limit is given"
    if "complementary-detectors" in codes:
        low = float(outside)
        assumes = f"{assumes}; they complement each other, so no lower limit is given"
    return replace(own, low=low, high=high, assumes=assumes)


def _chao(counts: _Counts, level: float) -> tuple[float, float, float]:
    """Value and limits from events that were found once or twice."""
    alone = counts.alone.astype(np.float64)
    twice = int(counts.times[1])
    value = float(alone.sum() ** 2 - (alone**2).sum()) / 2 / (twice + 1)
    seen = int(counts.times[0]) + twice
    return _with_limits(ways_at_most_twice, counts.once_or_twice, seen, value, level)


def _independence(counts: _Counts, level: float) -> tuple[float, float, float]:
    """Value and limits from all overlaps: Darroch's equation, corrected for bias."""
    value = darroch(counts.by_detector, counts.found)
    return _with_limits(ways, counts.by_detector, counts.found, value, level)


def _with_limits(
    kernel: Kernel, sizes: NDArray[np.int64], seen: int, value: float, level: float
) -> tuple[float, float, float]:
    """Return value, low and high; where nothing was found twice there is a low limit alone."""
    sizes = np.sort(sizes[sizes > 0])
    if len(sizes) < 2:
        return float("nan"), 0.0, float("inf")
    low, high = _exact_limits(kernel, sizes, seen, value, level)
    if sizes.sum() == seen:
        return float("nan"), low, high
    return value, min(low, value), max(high, value)


def darroch(sizes: Sizes, found: int) -> float:
    """Return the number missed that solves 1 - M/N = prod (1 - n_j/N), with one more event.

    Examples
    --------
    >>> darroch([20, 30], 40), 10 * 20 / (10 + 1)           # with two detectors it is Chapman's
    (18.18..., 18.18...)
    """
    number = np.asarray(sizes, dtype=np.float64)
    number = number[number > 0]
    if len(number) == 0 or (number == found).any():
        return 0.0
    # Chapman's one more event, found by two: 2 / t for each detector.  DEVIATION from Darroch, who
    # has no correction: bias with few overlaps, see test_darroch_is_nearly_unbiased.
    share = (number + 2.0 / len(number)) / (found + 1.0)

    def excess(unseen: float) -> float:  # unseen = missed / (found + 1)
        return float(unseen / (1.0 + unseen) - np.prod(1.0 - share / (1.0 + unseen)))

    high = 1.0
    while excess(high) < 0:
        high *= 2.0
    return float(brentq(excess, 0.0, high, xtol=1e-14, rtol=1e-12)) * (found + 1.0)


def _recall(found: int, by_any: int, missed: Estimate) -> Estimate:
    """Share of all events that were found, from the events that were missed."""
    if by_any == 0:
        nothing = "no event was found: recall is 0 if there is any event"
        return Estimate(float("nan"), 0.0, 0.0, missed.level, NOT_IDENTIFIED, nothing)
    value, low, high = (found / (by_any + x) for x in (missed.value, missed.high, missed.low))
    return Estimate(value, low, high, missed.level, missed.method, missed.assumes)


# --- exact limits ---------------------------------------------------------------------------------


def limits_of_missed(
    start: int, log_ways: Array, distinct: int, level: float
) -> tuple[float, float]:
    """Return limits of the events missed: those numbers that an exact test does not reject.

    Parameters
    ----------
    start : int
        The least number of distinct events that `log_ways` has an entry for.
    log_ways : ndarray
        Logarithm of the ways in which sets of the given sizes have start, start + 1, ... distinct
        events; -inf where there is none.
    distinct : int
        What was seen.
    level : float
        Each limit alone is wrong with probability (1 - level) / 2 at most.

    Notes
    -----
    P(d | N) is proportional to ways(d) / (N - d)!, so the ratio for N + 1 and N rises with d: tails
    are monotone in N and the limits are found by bisection. The high one is infinite where no more
    distinct events were possible.

    Examples
    --------
    >>> limits_of_missed(*ways([20, 30]), 40, 0.9)          # 10 in both
    (6.0, 53.0)
    """
    numbers = np.arange(start, start + len(log_ways))
    tail = (1.0 - level) / 2.0

    def tails(missed: int) -> tuple[float, float]:
        empty = distinct + missed - numbers
        weight = np.where(empty >= 0, log_ways - gammaln(np.maximum(empty, 0) + 1.0), -np.inf)
        weight = np.exp(weight - weight.max())
        at = distinct - start
        return weight[: at + 1].sum() / weight.sum(), weight[at:].sum() / weight.sum()

    low = _first(lambda missed: tails(missed)[1] > tail)
    if not np.isfinite(log_ways[distinct - start + 1 :]).any():
        return float(low), float("inf")
    return float(low), float(_first(lambda missed: not tails(missed)[0] > tail) - 1)


def _exact_limits(
    kernel: Kernel,
    sizes: NDArray[np.int64],
    distinct: int,
    missed: float,
    level: float,
) -> tuple[float, float]:
    """Return limits; of many states, only those near the estimate are looked at."""
    if sizes.sum() <= WIDE:
        return limits_of_missed(*kernel(sizes, math.inf), distinct, level)
    total, least, most = distinct + _generous(missed), float(distinct), math.inf
    for _ in range(60):
        start, log_ways = kernel(sizes, total)
        if start <= distinct < start + len(log_ways):
            low, high = limits_of_missed(start, log_ways, distinct, level)
            if math.isinf(high) or distinct + high <= total:
                return low, high
            total = distinct + high + 3.0
        elif distinct < start:  # the estimate is far from the limits: some pairs are dependent
            most, total = total, (least + total) / 2.0
        else:
            wider = 2.0 * total - distinct + 3.0
            least, total = total, min(wider, (total + most) / 2.0)
    return 0.0, math.inf  # never seen


def _generous(missed: float) -> float:
    return missed + 3.0 * math.sqrt(missed) + 3.0


def _first(holds: Callable[[int], Any]) -> int:
    """Return the least integer from 0 on at which a monotone condition holds."""
    if holds(0):
        return 0
    low, high = 0, 1
    while not holds(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (low, middle) if holds(middle) else (middle, high)
    return high


def ways(sizes: Sizes, total: float = math.inf) -> tuple[int, Array]:
    """Return in how many ways sets of these sizes have d distinct events, as logarithms by d.

        ways_j(d) = sum_x ways_{j-1}(d - n_j + x) C(d - n_j + x, x) / (n_j - x)!

    With many states those are left out that are out of question if there are `total` events.

    Returns
    -------
    start : int
        Least number of distinct events.
    log_ways : ndarray

    Examples
    --------
    >>> start, log_ways = ways([1, 2])
    >>> start, np.exp(log_ways) * 1 * 2                     # {a} in {a, b}, or {a} and {b, c}
    (2, array([2., 1.]))
    """
    return path_of_ways(sizes, total)[-1]


def path_of_ways(sizes: Sizes, total: float) -> list[tuple[int, Array]]:
    """Return `ways` after the first set, the second, and so on."""
    start, weight = int(sizes[0]), np.array([-gammaln(sizes[0] + 1.0)])
    path = [(start, weight)]
    for size in map(int, sizes[1:]):
        step = partial(_union_step, start, weight, size)
        most = min(start + len(weight) - 1 + size, total)
        guide = partial(_union_guide, total)
        start, weight = _where_it_counts(max(start, size), int(most), step, guide)
        path.append((start, weight))
    return path


def _union_guide(total: float, distinct: int) -> float:
    return float(-gammaln(total - distinct + 1.0))


def _union_step(start: int, weight: Array, size: int, after: int) -> float:
    return _log_sum(_before(start, weight, size, after)[1])


def _before(start: int, weight: Array, size: int, after: int) -> tuple[NDArray[np.int64], Array]:
    """Return from which numbers of distinct events one more set leads to `after`, and how often."""
    low = max(start, after - size)
    before = np.arange(low, min(start + len(weight) - 1, after) + 1)
    shared = before + size - after
    weighed = weight[before - start] + _log_choose(before, shared)
    return before, weighed - gammaln(size - shared + 1.0)


def ways_at_most_twice(sizes: Sizes, total: float = math.inf) -> tuple[int, Array]:
    """Return the same where no event is in more than two of the sets.

        ways_j(c) = sum_b ways_{j-1}(c - b) C(S_{j-1} - 2 (c - b), b) / (n_j - b)!

    with c the events in two sets, S the sum of the sizes so far, and d = S - c distinct events.

    Examples
    --------
    >>> both = ways([3, 5]), ways_at_most_twice([3, 5])
    >>> both[0][0] == both[1][0], bool(np.allclose(both[0][1], both[1][1]))
    (True, True)
    """
    start, weight, so_far = 0, np.array([-gammaln(sizes[0] + 1.0)]), int(sizes[0])
    odds = _odds(np.asarray(sizes, dtype=np.float64), total)
    for place, size in enumerate(map(int, sizes[1:]), 1):
        step = partial(_twice_step, start, weight, so_far, size)
        most = min(start + len(weight) - 1 + size, (so_far + size) // 2, so_far - start)
        so_far += size
        rest = odds[place + 1 :]  # what is still to come depends on the state: it is weighed in
        slope = np.log(_norm(rest)) - 2.0 * np.log1p(rest.sum())
        least = max(start, so_far - total)  # as many are distinct as there are, at most
        guide = partial(_twice_guide, total - so_far, slope)
        start, weight = _where_it_counts(math.ceil(least), most, step, guide)
    return so_far - (start + len(weight) - 1), weight[::-1]


def _twice_step(start: int, weight: Array, so_far: int, size: int, after: int) -> float:
    """Logarithm of the ways to `after` events in two sets: 0 <= more <= those in one before."""
    low = max(start, after - size)
    before = np.arange(low, min(start + len(weight) - 1, after, so_far - after) + 1)
    more, once = after - before, so_far - 2 * before
    weighed = weight[before - start] + _log_choose(once, more)
    return _log_sum(weighed - gammaln(size - more + 1.0))


def _twice_guide(unseen: float, slope: float, twice: int) -> float:
    return float(twice * slope - gammaln(unseen + twice + 1.0))


def _where_it_counts(
    low: int, high: int, step: Callable[[int], float], guide: Callable[[int], float]
) -> tuple[int, Array]:
    """Return `step` from low to high; if these are many, where step + guide is not negligible.

    step + guide is the logarithm of a chance, and concave.
    """
    if high - low >= WIDE:
        values: dict[int, float] = {}

        def chance(at: int) -> float:
            if at not in values:
                values[at] = step(at) + guide(at)
            return values[at]

        left, right = low, high
        while right > left:  # the mode
            middle = (left + right) // 2
            rises = chance(middle + 1) > chance(middle)
            left, right = (middle + 1, right) if rises else (left, middle)
        least = chance(left) - NEGLIGIBLE
        low, high = (
            low + _first(lambda more: more >= left - low or chance(low + more) > least),
            high - _first(lambda less: less >= high - left or chance(high - less) > least),
        )
    held = np.array([step(at) for at in range(low, high + 1)])
    kept = np.flatnonzero(np.isfinite(held))
    return low + int(kept[0]), held[kept[0] : kept[-1] + 1]


def _log_sum(logs: Array) -> float:
    if len(logs) == 0:
        return -np.inf
    top = logs.max()
    return float(top + np.log(np.exp(logs - top).sum())) if np.isfinite(top) else -np.inf


def _norm(odds: Array) -> float:
    """1 + sum_i odds_i + sum_{i<j} odds_i odds_j."""
    return float(1.0 + odds.sum() + np.triu(np.outer(odds, odds), 1).sum())


def _odds(sizes: Array, total: float) -> Array:
    """Odds of each set such that events in at most two sets make sets of these sizes."""
    odds = sizes / total
    for _ in range(100 if np.isfinite(total) else 0):  # damped
        norm = _norm(odds)
        odds = np.sqrt(odds * sizes * norm / (total * (1.0 + odds.sum() - odds)))
        odds = np.minimum(odds, 1e6)
    return odds


def _log_choose(n: NDArray[Any], k: NDArray[Any]) -> Array:
    return np.asarray(gammaln(n + 1.0) - gammaln(k + 1.0) - gammaln(n - k + 1.0))


# --- do the detectors find the same events? -------------------------------------------------------


def _pair(events: Flags, names: Sequence[str], i: int, j: int, level: float) -> DetectorPair:
    """Compare two detectors, and among events found by another test their independence."""
    one, two = events[:, i], events[:, j]
    both, first, second = (int(x.sum()) for x in (one & two, one & ~two, two & ~one))
    either = np.column_stack([one, two])[one | two]
    missed = _estimates(_count(either), level, 0)["chapman"]
    if events.shape[1] == 2:
        nothing = float("nan")
        ratio = Estimate(nothing, nothing, nothing, level, NOT_IDENTIFIED, NO_THIRD)
        return DetectorPair(names[i], names[j], both, first, second, 0, missed, ratio, nothing)
    third = events.sum(axis=1) - one - two > 0  # these two are a complete table among such events
    table = [int((third & x & y).sum()) for x in (one, ~one) for y in (two, ~two)]
    ratio, p_value = odds_ratio(*table, level=level)
    return DetectorPair(names[i], names[j], both, first, second, table[3], missed, ratio, p_value)


def odds_ratio(
    both: int, first: int, second: int, neither: int, *, level: float
) -> tuple[Estimate, float]:
    """Return the conditional odds ratio of a 2 x 2 table, exact limits, and Fisher's p-value.

    Examples
    --------
    >>> ratio, p_value = odds_ratio(8, 2, 1, 5, level=0.9)
    >>> print(ratio, round(p_value, 4))
    15.5 [1.37, 520] (90 %, conditional, exact limits) 0.035
    """
    rows, columns, total = both + first, both + second, both + first + second + neither
    counts = np.arange(max(0, rows + columns - total), min(rows, columns) + 1)
    weight = _log_choose(np.asarray(rows), counts)
    weight = weight + _log_choose(np.asarray(total - rows), columns - counts)
    at, tail = both - int(counts[0]), (1.0 - level) / 2.0

    def chances(log_ratio: float) -> Array:
        tilted = weight + counts * log_ratio
        tilted = np.exp(tilted - tilted.max())
        return np.asarray(tilted / tilted.sum())

    def solve(excess: Any) -> float:
        return float(np.exp(brentq(excess, -200.0, 200.0, xtol=1e-10)))

    why = "given that another detector found the event"
    if len(counts) == 1:
        nothing = Estimate(float("nan"), 0.0, float("inf"), level, NOT_IDENTIFIED, why)
        return nothing, 1.0
    last = at == len(counts) - 1
    low = 0.0 if at == 0 else solve(lambda x: chances(x)[at:].sum() - tail)
    high = float("inf") if last else solve(lambda x: tail - chances(x)[: at + 1].sum())
    value = (
        (0.0 if at == 0 else float("inf"))
        if at == 0 or last
        else solve(lambda x: chances(x) @ counts - both)
    )
    flat = chances(0.0)
    p_value = float(flat[flat <= flat[at] * (1.0 + 1e-7)].sum())
    method = "conditional, exact limits"
    return Estimate(value, low, high, level, method, why), min(p_value, 1.0)


def _dependence(counts: _Counts, seed: int) -> Dependence | None:
    """Test whether two detectors share an event oftener, or less often, than independent ones.

    Given what each detector found and what all found together, every table of independent detectors
    is equally likely, whatever their recalls and however many events there are: no model is fitted.
    """
    sizes = np.sort(counts.by_detector[counts.by_detector > 0])
    if len(counts.by_detector) < 3:
        return None
    times = np.arange(1, len(counts.times) + 1)
    seen = int((counts.times * times * (times - 1)).sum())
    if len(sizes) < 3 or sizes.sum() == counts.found:
        return Dependence(1.0, 1.0)
    drawn = _draw_shared(sizes, counts.found, np.random.default_rng([seed, 1]))
    return Dependence(
        float(1 + (drawn >= seen).sum()) / (1 + DRAWS),
        float(1 + (drawn <= seen).sum()) / (1 + DRAWS),
    )


def _draw_shared(
    sizes: NDArray[np.int64], found: int, rng: np.random.Generator
) -> NDArray[np.int64]:
    """Draw sets of these sizes with this union; return sum k (k - 1) over events in k sets."""
    many = sizes.sum() > WIDE
    path = path_of_ways(sizes, found + _generous(darroch(sizes, found)) if many else math.inf)
    union = np.full((len(sizes), DRAWS), found)
    union[0] = sizes[0]
    for place in range(len(sizes) - 2, 0, -1):  # backwards: what the first sets cover together
        for after in np.unique(union[place + 1]):
            before, log_chance = _before(*path[place], int(sizes[place + 1]), int(after))
            chance = np.exp(log_chance - log_chance.max())
            those = union[place + 1] == after
            union[place, those] = rng.choice(before, int(those.sum()), p=chance / chance.sum())
    times = np.zeros((len(sizes) + 1, DRAWS), dtype=np.int64)
    times[1] = sizes[0]
    for place in range(1, len(sizes)):
        shared = union[place - 1] + int(sizes[place]) - union[place]
        fresh = int(sizes[place]) - shared
        left, again = union[place - 1].copy(), []
        for k in range(1, place + 1):  # which of the events found before: at random
            left = left - times[k]
            again.append(rng.hypergeometric(times[k], left, shared))
            shared = shared - again[-1]
        for k, more in enumerate(again, 1):
            times[k] -= more
            times[k + 1] += more
        times[1] += fresh
    number = np.arange(len(times))[:, None]
    return np.asarray((times * number * (number - 1)).sum(axis=0))


# --- what the reader should know ------------------------------------------------------------------


def _shown_dependence(
    pairs: Sequence[DetectorPair], dependence: Dependence | None
) -> list[Problem]:
    """Say where three detectors or more show that they do not miss independently."""
    if dependence is None:
        return []
    tail = FALSE_ALARM / 4  # half for all together, in two tails, and half for the pairs
    alike = [one for one in pairs if one.p_value <= 2 * tail / len(pairs)]
    same = [f"{one.first} with {one.second}" for one in alike if one.odds_ratio.value > 1]
    other = [f"{one.first} with {one.second}" for one in alike if one.odds_ratio.value < 1]
    remarks = []
    if dependence.p_positive <= tail or same:
        remarks.append(
            Problem(
                "The detectors find the same events more often than by chance ({which}; p = "
                "{p_value:.2g}): events that one misses are missed by others too, so more were "
                "missed than the overlaps say.",
                code="dependent-detectors",
                which=listed(same) or "all of them together",
                p_value=min([dependence.p_positive, *(one.p_value for one in alike)]),
                direction="understated",
                audit=Argument("audit", ...),
                remedy="Check rows that no detector raised, drawn at random, and pass {audit}.",
            )
        )
    if dependence.p_negative <= tail or other:
        remarks.append(
            Problem(
                "The detectors share fewer events than by chance ({which}; p = {p_value:.2g}): "
                "one finds what another misses, so fewer were missed than the overlaps say.",
                code="complementary-detectors",
                which=listed(other) or "all of them together",
                p_value=min([dependence.p_negative, *(one.p_value for one in alike)]),
                direction="overstated",
                audit=Argument("audit", ...),
                remedy="Check rows that no detector raised, drawn at random, and pass {audit}.",
            )
        )
    return remarks


def _contradiction(own: Estimate, audit: Estimate | None) -> list[Problem]:
    """Say that audit and detectors exclude each other."""
    if audit is None or (own.low <= audit.high and audit.low <= own.high):
        return []
    direction, cause = "overstated", "one detector is good at what another misses"
    if own.high < audit.low:
        direction, cause = "understated", "some events are hard for all detectors"
    return [
        Problem(
            "The audit says {audit} events missed, and the overlaps of the detectors say {own}: "
            "both cannot be right. If the audited rows were drawn as stated, {cause}.",
            code="audit-contradicts",
            audit=audit.brief(),
            own=own.brief(),
            cause=cause,
            direction=direction,
        )
    ]


def _remarks(counts: _Counts, names: Sequence[str], events: Flags, raised: Flags) -> list[Problem]:
    """Say where there is too little to go by, or a detector twice."""
    remarks = []
    if counts.found == 0:
        return [
            Problem(
                "No detector found an event: nothing is known of what they missed.",
                code="no-events-found",
            )
        ]
    overlaps = counts.found - int(counts.times[0])
    if overlaps == 0:
        remarks.append(
            Problem(
                "None of {found:,} events was found by two detectors: there is no upper limit and "
                "no best guess.",
                code="no-overlap",
                found=counts.found,
                audit=Argument("audit", ...),
                remedy="Check rows that no detector raised, drawn at random, and pass {audit}.",
            )
        )
    elif overlaps < FEW_OVERLAPS:
        remarks.append(
            Problem(
                "Only {overlaps} of {found:,} events were found by more than one detector: read "
                "the limits, not the estimate.",
                code="few-overlaps",
                overlaps=overlaps,
                found=counts.found,
            )
        )
    empty = [repr(name) for name, count in zip(names, counts.by_detector, strict=True) if not count]
    if empty:
        remarks.append(
            Problem(
                "{names} found no event and tell{s} nothing about the others.",
                code="detector-without-events",
                names=listed(empty),
                s="s" if len(empty) == 1 else "",
            )
        )
    for i, j in combinations(range(len(names)), 2):
        if events[:, i].any() and (events[:, i] == events[:, j]).all():
            twice = (
                "raised the same rows"
                if (raised[:, i] == raised[:, j]).all()
                else ("found the same events")
            )
            remarks.append(
                Problem(
                    "{first!r} and {second!r} {twice}: if they are the same detector, or one "
                    "copies the other, their overlap says nothing of what was missed.",
                    code="same-events",
                    first=names[i],
                    second=names[j],
                    twice=twice,
                    remedy="Then leave one of them out.",
                )
            )
    return remarks


def _left_out(outside: int, dropped: int) -> list[Problem]:
    """Say which rows count for something else."""
    remarks = []
    if outside:
        remarks.append(
            Problem(
                "{count:,} event{s} that no detector raised {are} known: at least as many were "
                "missed.",
                code="events-outside",
                count=outside,
                s="s" if outside != 1 else "",
                are="are" if outside != 1 else "is",
                remedy="If one source named them all, it is a detector too: pass it as a column.",
            )
        )
    if dropped:
        remarks.append(
            Problem(
                "{count:,} alerts have no label and were left out: the missed events are those "
                "that would have been investigated if raised, and recall takes it that which "
                "alerts were investigated does not depend on who raised them.",
                code="alerts-dropped",
                count=dropped,
            )
        )
    return remarks


# --- reading --------------------------------------------------------------------------------------


def _read_found(found: Any, labels: Any) -> tuple[list[str], Flags]:
    """Return the detectors' names, and which rows each raised."""
    refuse_other_index(found=found, labels=labels)
    if isinstance(found, Mapping):
        names = [str(name) for name in found]
        said = {f"found[{name!r}]": column for name, column in found.items()}
        refuse_other_index(**said, labels=labels)
        columns = [read_column(column, name) for name, column in said.items()]
    elif is_frame(found) or type(found).__name__ == "LazyFrame":
        table = as_table(found)
        assert table is not None
        names = [str(name) for name in table.column_names]
        columns = [read_column(table[name], f"found[{name!r}]") for name in table.column_names]
    else:
        held = _matrix(found)
        names = [f"detector {number}" for number in range(1, held.shape[1] + 1)]
        columns = [read_column(held[:, at], f"found[:, {at}]") for at in range(held.shape[1])]
    if len(names) < 2:
        raise UsageError(
            "{argument} holds {count} detector{s}, and two are needed at least: what one detector "
            "missed shows only in what another found.",
            code="too-few-detectors",
            argument=Argument("found"),
            count=len(names),
            s="" if len(names) == 1 else "s",
            remedy="For one detector, check rows that it did not raise and use "
            "estimate_performance.",
        )
    for name, column in zip(names, columns, strict=True):
        refuse_length(column, len(columns[0]), f"found[{name!r}]")
        _refuse_no_alert(column, name)
    return names, np.asarray(np.column_stack(columns) == 1.0)


def _matrix(found: Any) -> NDArray[Any]:
    try:
        held = found if isinstance(found, np.ndarray) else np.asarray(found)
    except ValueError:  # rows of different lengths
        held = np.empty(0)
    if held.ndim != 2:
        raise UsageError(
            "{argument} must have a row for each case and a column for each detector, got {seen}.",
            code="detector-columns",
            argument=Argument("found"),
            seen=f"shape {held.shape}" if held.size else type(found).__name__,
            remedy="Pass an array of shape (n_rows, n_detectors), a table, or a dict of name -> "
            "alerts.",
        )
    return held


def _refuse_no_alert(column: Array, name: str) -> None:
    """Raise unless a column holds 1 and 0 alone."""
    bad = np.flatnonzero((column != 0) & (column != 1))
    if len(bad) == 0:
        return
    row, value = int(bad[0]), float(column[bad[0]])
    if np.isnan(value):
        raise DataError(
            "Detector {name!r} has {count:,} missing values (first at row {row:,}), and all "
            "detectors must have looked at all rows.",
            code="alert-missing",
            name=name,
            count=int(np.isnan(column).sum()),
            row=row,
            remedy="Put 0 where it looked and raised nothing, and leave out rows that it did not "
            "look at.",
        )
    raise DataError(
        "Detector {name!r} must hold 1 (raised) and 0 (not raised), got {value:g} at row {row:,}.",
        code="alert-value",
        name=name,
        value=value,
        row=row,
        remedy="Compare scores with the threshold first, as in scores >= threshold, and pass no "
        "columns but the detectors'.",
    )


def _events(raised: Flags, labels: Any, open_alerts: str) -> tuple[Flags, int, int]:
    """Return who found each event that was found; events found otherwise; alerts left out."""
    alert = np.asarray(raised.any(axis=1))
    if labels is None:
        silent = np.flatnonzero(~alert)
        if len(silent):
            raise DataError(
                "{count:,} of {rows:,} rows were raised by no detector (first at row {row:,}), so "
                "these rows are not the events that were found.",
                code="no-labels",
                count=len(silent),
                rows=len(alert),
                row=int(silent[0]),
                labels=Argument("labels"),
                remedy="Pass {labels}, or only the rows of events that a detector found.",
            )
        return raised, 0, 0
    label = read_labels(labels, len(alert))
    unknown = np.flatnonzero(alert & np.isnan(label))
    if len(unknown) and open_alerts == "error":
        raise DataError(
            "{count:,} of {alerts:,} alerts have no label (first at row {row:,}): whether they are "
            "events decides what the detectors share.",
            code="open-alerts",
            count=len(unknown),
            alerts=int(alert.sum()),
            row=int(unknown[0]),
            drop=Argument("open_alerts", "drop"),
            remedy="Investigate them, or leave them out with {drop} if those investigated were "
            "picked whoever raised them.",
        )
    events = np.asarray(label == 1.0)
    return raised[alert & events], int((events & ~alert).sum()), len(unknown)


def _read_audit(audit: Any, level: float) -> Estimate:
    """Return an audit's estimate of the events below all thresholds."""
    found = getattr(audit, "missed", getattr(audit, "estimate", audit))
    if not isinstance(found, Estimate) or not found.low >= 0:
        raise UsageError(
            "{argument} must be an Estimate of the events that no detector raised, with limits "
            "from 0 on, or what count_missed or estimate_performance returns; got {seen}.",
            code="audit-type",
            argument=Argument("audit"),
            seen=str(found) if isinstance(found, Estimate) else f"a {type(audit).__name__}",
        )
    if found.level != level:
        raise UsageError(
            "{argument} has limits at level {audit_level:g}, and {level} was asked for.",
            code="audit-level",
            argument=Argument("audit"),
            audit_level=found.level,
            level=Argument("level", level),
            remedy="Ask both for the same level.",
        )
    return found
