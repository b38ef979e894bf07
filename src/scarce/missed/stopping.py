"""When may labelling stop: is a recall of at least R proven, however often one looks?

    checks   sum_j w_j prod_h c_jh^k_h (1 + (1 - c_jh) (n_h - k_h) / (N_h - n_h))^(M_h - k_h)
             >= 1 / (1 - C)  for all M_h in order with  sum_h M_h >= M0                      (1)
    qbcb     j sampled events above the cut,  P(Bin(r, R) >= j) <= 1 - C                     (2)
    review   P(Hyp(N, M0, n) <= sampled events below the cut) <= 1 - C                       (3)

M0 is the least number of missed events with which recall is below R: found / (found + M0) < R.

(1) n_h of the N_h rows of stratum h were drawn without replacement, and k_h were events. If each
stratum holds M_h, the likelihood of the checks under a world that keeps each of these events with
probability c_jh only, over their likelihood under M, is a martingale with mean 1. The left side is
a mixture of such ratios, or less, so it ever reaches 1 / (1 - C) with a probability of at most
1 - C (Ville), at whatever looks and however checks were spread. The ratio compares M with a thinner
M, not with what fits best, so nothing is paid for strata of which nothing need be known. Tests by
betting: Waudby-Smith and Ramdas (2024), JRSS B 86; strata: Spertus, Sridhar and Stark (2024).

(2) Lewis, Yang and Frieder (2021), "Certifying one-phase technology-assisted reviews", CIKM.

(3) Rows are reviewed from the greatest score down; n of the N rows below a first cut were drawn at
random. Every cut is allowed at once: let t be the last cut with recall below R, M the events below
it. At an earlier cut there are no fewer sampled events below, and no more found, so M0 and the
critical value c(M0) are no greater. A wrong stop at any cut up to t thus needs no more than c(M)
sampled events below t, whose number is hypergeometric (N, M, n): one single tail of 1 - C.

A sample that ends with its r-th event allows more. That number is then hypergeometric (all events,
M, r) and independent of n, and the rule may stop where (2) or (3) does, (3) with a tail of its own.
A wrong stop at any cut up to t needs no more sampled events below t than the greater of the two
critical values; the tail is the greatest with which that has a probability of SPENT (1 - C) in
total. It is never later than (2) on the same sample, and took 1 to 6 % fewer labels in the mean
over rankings (experiments/stopping).

Assumes right labels and draws at random. Draws nothing: see choose.py. Computes no interval of
recall: see performance.py.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import linprog
from scipy.special import (
    bdtr,
    bdtrc,
    betainc,
    betaincinv,
    gammainc,
    gammaincinv,
    gammaln,
    logsumexp,
)

from scarce.bootstrap import HasInclusion
from scarce.checks import (
    Number,
    read_inclusion,
    read_integer,
    read_labels,
    read_level,
    read_number,
    read_scores,
    read_threshold,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.engine.executors import one_blas_thread
from scarce.errors import UNSET, Argument, DataError, Problem, UsageError, refuse_word
from scarce.missed.curve import Curves, SlopePrior, fit_monotone
from scarce.missed.score_table import ScoreTable, score_table_of
from scarce.missed.strata import Cells, Drawn, allocate, neyman_wish, strata_of
from scarce.results import Record, short

METHODS = ("checks", "qbcb", "review")
ORDERS = ("monotone", "nothing")
ASSUMES = {
    "monotone": "checks were drawn at random within strata, alerts were labelled before them, and "
    "shares of events do not rise from one stratum to the next below",
    "nothing": "checks were drawn at random within strata, and alerts were labelled before them",
    "qbcb": "the sample is a random one of all rows, its number of events fixed in advance",
    "review": "the sample is a random one of the rows below the first cut, its size fixed in "
    "advance",
    "until": "the sample is a random one of all rows, its number of events fixed in advance",
}
WORLDS = 9  # simulated to say how many more labels are needed
CURVES = 200
SEED = 0  # of the curve's draws: every look must see the same bets

# --- the answer -----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Stopping(Record):
    """Whether labelling may stop.

    Parameters
    ----------
    stop : bool
        Whether a recall of at least the target is proven. For "qbcb" and "review" the rows that are
        found then are those down to `cut`.
    recall_at_least : float
        The greatest recall that is proven now; 0.0 when nothing is.
    target : float
    confidence : float
        However often one looks, `stop` is ever wrong with a probability of at most 1 - confidence.
    method : str
    assumes : str
    labelled : int
        Labels that were used.
    further : float
        Further labels needed: the median over worlds drawn from a curve fitted to all labels, or
        for "qbcb" the exact number. Infinite where even all rows would not do in most worlds.
    cut : float
        Rows with this score or a higher one count as found: the threshold, or the score down to
        which to review; for "review" before the end, where the curve expects it.
    remarks : tuple of Problem
        What the reader should know, most important first.

    Examples
    --------
    >>> print(Stopping(False, 0.62, 0.8, 0.95, "checks", "checks were drawn at random", 240, 400.0,
    ...     2.5))
    Not yet: recall of at least 80 % is not proven at 95 %, only 62 %. About 400 further labels.
    """

    stop: bool
    recall_at_least: float
    target: float
    confidence: float
    method: str
    assumes: str
    labelled: int
    further: float
    cut: float
    remarks: tuple[Problem, ...] = ()

    def summary(self) -> str:
        """Return the answer in a few sentences, without the remarks."""
        target, sure = short(self.target, percent=True), short(self.confidence, percent=True)
        if self.stop:
            where = "" if self.method == "checks" else f" at score {short(self.cut)}"
            return (
                f"Proven: recall is at least {target}, at {sure}, however often one looked. "
                f"{self.labelled:,} labels were used; labelling may stop{where}."
            )
        now = short(math.floor(1000 * self.recall_at_least) / 1000, percent=True)
        more = f"About {short(self.further)} further label{'s' if self.further != 1 else ''}."
        if math.isinf(self.further):
            more = "Further labels are not expected to prove it."
        if math.isnan(self.further):
            more = "How many labels it takes is not known yet."
        return f"Not yet: recall of at least {target} is not proven at {sure}, only {now}. {more}"

    def __str__(self) -> str:
        return "\n".join([self.summary(), *(f"remark: {remark}" for remark in self.remarks)])


def stop_when(
    scores: ArrayLike,
    labels: ArrayLike,
    *,
    recall: float,
    confidence: float = 0.95,
    threshold: float | None = None,
    inclusion: ArrayLike | HasInclusion | None = None,
    method: str = "checks",
    assume: str = "monotone",
    sampled_until: int | None = None,
) -> Stopping:
    """Say whether labelling may stop because enough recall is proven.

    Parameters
    ----------
    scores : array-like of shape (n_rows,)
        Greater is more suspicious.
    labels : array-like of shape (n_rows,)
        1 event, 0 none, missing where there is no label.
    recall : float
        The recall that is to be proven, above 0 and below 1; fixed in advance.
    confidence : float
        Probability with which no look stops too early.
    threshold : float, optional
        For "checks", needed: rows at or above it are alerts. The others take the rows that are
        labelled without a gap from the greatest score down for reviewed, but none below it.
    inclusion : array-like of shape (n_rows,) or LabelChoice, optional
        Probability with which each row was drawn, missing for rows that were not drawn. For
        "checks", neighbours in the score with the same probability are a stratum; the probability
        is the share that has been drawn by now, and may be given for all rows of a stratum. For the
        others, the same for all rows drawn.
    method : {"checks", "qbcb", "review"}
        "checks": alerts are labelled, and rows below are drawn at random within strata, more at any
        time and wherever one likes. "qbcb": rows are reviewed from the greatest score down, beside
        a random sample of all. "review": the same, with a sample of the rows below the first cut
        and the events above the present one counted; without `inclusion` a remark says how large
        the sample should be.
    assume : {"monotone", "nothing"}
        For "checks": whether shares of events do not rise from one stratum to the next below.
    sampled_until : int, optional
        For "review" and "qbcb": the number of events at which drawing the sample of all rows was to
        end, and did. None: the number of rows was fixed.

    Returns
    -------
    Stopping

    **Assumes** right labels, draws at random, and for "checks" that alerts were labelled before the
    checks. "qbcb" and "review" assume nothing of the scores. Each target is proven by itself: do
    not choose it by what `recall_at_least` says.

    Notes
    -----
    Nothing is kept from one look to the next: each is computed from all labels so far. Open alerts
    count as not found, and labels below the threshold that were not drawn for themselves alone.
    The recall is that of `cut`: events that checks found below the threshold are missed ones.
    Strata of which more than half is labelled are left out of the order, as the number of events
    that happened to be in a few rows need not be ordered where the shares behind it are.

    References
    ----------
    Waudby-Smith and Ramdas (2024), JRSS B 86; Lewis, Yang and Frieder (2021), CIKM.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> scores = np.sort(rng.normal(size=4000))[::-1]
    >>> truth = rng.random(4000) < np.where(np.arange(4000) < 200, 0.6, 0.001)
    >>> inclusion = np.where(np.arange(4000) < 600, 0.3, 0.1)
    >>> labels = np.where(rng.random(4000) < inclusion, truth, np.nan)
    >>> labels[:200] = truth[:200]
    >>> found = stop_when(scores, labels, recall=0.7, threshold=scores[199], inclusion=inclusion)
    >>> print(found)
    Proven: recall is at least 70 %, at 95 %, however often one looked. 665 labels were used; ...
    """
    refuse_word("method", method, METHODS)
    refuse_word("assume", assume, ORDERS)
    refuse_other_index(scores=scores, labels=labels, inclusion=inclusion)
    target = read_number(recall, "recall", Number(0, 1, True, True))
    level = read_level(confidence, "confidence")
    values = read_scores(scores)
    known = read_labels(labels, len(values))
    chance = read_inclusion(inclusion, len(values))
    cut = None if threshold is None else read_threshold(threshold, [None])[0]
    with one_blas_thread:
        if method == "checks":
            if cut is None:
                raise UsageError(
                    "{method} needs {threshold}: rows at or above it are alerts.",
                    code="threshold-needed",
                    method=Argument("method", "checks"),
                    threshold=Argument("threshold"),
                )
            checks = read_checks(values, known, chance, cut)
            return _by_checks(checks, target, level, assume == "monotone")
        review = read_review(values, known, chance, cut)
        until = _read_until(sampled_until, review)
        if method == "qbcb":
            return _by_quantile(review, target, level)
        return _by_review(review, target, level, until)


# --- checks: what was drawn -----------------------------------------------------------------------


class Checks(NamedTuple):
    """Alerts that were counted, and checks below them by stratum."""

    seen: float  # events among the labelled alerts
    known: float  # events below among rows that were labelled but not drawn
    cells: Cells
    places: Array  # (strata, POINTS): normal scores of rows of each stratum
    alerts: ScoreTable  # all rows, with the labels of the alerts alone
    table: ScoreTable  # with all labels
    threshold: float
    labelled: int
    remarks: tuple[Problem, ...]


POINTS = 8


def read_checks(scores: Array, labels: Array, chance: Array | None, threshold: float) -> Checks:
    """Sort labels into alerts, checks by stratum, and others."""
    alert, held = scores >= threshold, ~np.isnan(labels)
    chance = np.full(len(scores), np.nan) if chance is None else chance
    drawn = ~alert & ~np.isnan(chance)
    if (drawn & held & (chance == 0.0)).any():
        row = int(np.flatnonzero(drawn & held & (chance == 0.0))[0])
        raise DataError(
            "{argument} is 0 for a labelled row below the threshold (row {row:,}): a row that was "
            "drawn had a probability above 0.",
            code="inclusion-range",
            argument=Argument("inclusion"),
            row=row,
            remedy="Use a missing value for rows that were not drawn.",
        )
    frame = ~alert & (drawn | ~held)
    order = np.flatnonzero(frame)[np.argsort(-scores[frame], kind="stable")]
    cells = _strata(scores[order], labels[order], chance[order])
    table = score_table_of(scores, labels)
    alerts = score_table_of(scores, np.where(alert, labels, np.nan))
    if len(order):
        begin = np.cumsum(cells.rows) - cells.rows
        spots = begin[:, None] + cells.rows[:, None] * (np.arange(POINTS) + 0.5) / POINTS
        spots = np.minimum(spots.astype(np.int64), len(order) - 1)
        places = table.place_of(scores[order][spots.ravel()]).reshape(spots.shape)
    else:
        places = np.empty((0, POINTS))
    certain = ~alert & held & ~drawn
    return Checks(
        float(labels[alert & held].sum()),
        float(labels[certain].sum()),
        cells,
        places,
        alerts,
        table,
        threshold,
        int(held.sum()),
        _remarks_on_checks(alert, held, int(certain.sum()), cells),
    )


def _strata(scores: Array, labels: Array, chance: Array) -> Cells:
    """Return the strata of the rows of a frame, which are given from the greatest score down."""
    none = np.zeros(0, np.int64)
    if len(scores) == 0:
        return Cells(np.empty(0), np.empty(0), np.empty(0), none)
    drawn, held = ~np.isnan(chance), ~np.isnan(labels)
    if not drawn.any():
        whole = np.array([float(len(scores))])
        return Cells(whole, np.zeros(1), np.zeros(1), np.zeros(1, np.int64))
    if drawn.all():  # probabilities of all rows: their strata are seen
        order = np.lexsort((-chance, -scores))
        chance, labels, held = chance[order], labels[order], held[order]
        run = np.concatenate([[0], np.cumsum(chance[1:] != chance[:-1])])
        rows = np.bincount(run).astype(np.float64)
    else:
        drawn &= chance > 0
        rank = np.searchsorted(-scores, -scores, side="right").astype(np.float64)
        above = np.searchsorted(-scores, -scores, side="left").astype(np.float64)
        spot = np.flatnonzero(drawn)[np.lexsort((-chance[drawn], -scores[drawn]))]
        labels, held = labels[spot], held[spot]
        all_drawn = Drawn.of(scores[spot], np.where(held, labels, 0.0), chance[spot])
        cells, run = strata_of(all_drawn, rank[spot], above[spot], float(len(scores)))
        rows = cells.rows
    return Cells(
        rows,
        np.bincount(run, held, len(rows)).astype(np.float64),
        np.bincount(run, held & (labels == 1.0), len(rows)).astype(np.float64),
        np.zeros(len(rows), np.int64),
    )


def _remarks_on_checks(
    alert: NDArray[np.bool_], held: NDArray[np.bool_], certain: int, cells: Cells
) -> tuple[Problem, ...]:
    remarks = []
    open_alerts = int((alert & ~held).sum())
    if open_alerts:
        remarks.append(
            Problem(
                "{open:,} of {alerts:,} alerts have no label: they count as not found.",
                code="open-alerts",
                open=open_alerts,
                alerts=int(alert.sum()),
                remedy="Label them before the checks.",
            )
        )
    if not cells.drawn.any() and cells.rows.any():
        remarks.append(
            Problem(
                "No row below the threshold was drawn and labelled, so nothing is proven.",
                code="no-checks",
                inclusion=Argument("inclusion"),
                remedy="Draw some at random, and pass the probabilities as {inclusion}.",
            )
        )
    if certain:
        remarks.append(
            Problem(
                "{count:,} labels below the threshold have no inclusion probability: they stand "
                "for themselves alone.",
                code="scattered-labels",
                count=certain,
            )
        )
    return tuple(remarks)


# --- checks: how many events are not excluded ----------------------------------------------------
#
# A bet j is a vector 1 - c_jh. With few events its log is linear, a_j + sum_h s_jh (M_h - k_h), and
# the slopes s_jh are equal, so that it does not matter where missed events lie, if 1 - c_jh is in
# proportion to N_h over the stratum's part of the checks. Bets are made for three ways of spreading
# checks and several sizes, all before the first check.
#
# The exact ratio is c^k 2F1(k - M, k - n; N - M - n + k + 1; 1 - c), at least c^k (1 + (1 - c)
# (n - k) / (N - n))^(M - k) (test_ratio_is_never_above_the_exact_one).

SIZES = (1.5, 0.7, 0.35, 0.15)  # of a bet on the stratum with most rows per check
LARGEST = 0.98
WAYS = (0.6, 0.2, 0.2)  # weights of: as planned, in proportion to rows, equal parts
HALF = 0.5  # strata labelled further than this are not in the order
CUTS = 15
CLOSE = 1e-3  # of the log of the mixture
ROUNDING = 1e-6


class Bets(NamedTuple):
    """What was bet before the first check."""

    log_weight: Array  # (bets,)
    size: Array  # (bets, strata): 1 - c


def bets_of(rows: Array, wish: Array) -> Bets:
    """Return the bets for strata with these rows, of which each is to get this part of the checks.

    Examples
    --------
    >>> bets_of(np.array([100.0, 900.0]), np.array([0.5, 0.5])).size.round(2)[:2]
    array([[0.17, 0.98],
           [0.08, 0.7 ]])
    """
    ways = np.stack([wish, rows / rows.sum(), np.full(len(rows), 1.0 / len(rows))])
    stands_for = rows / ways
    stands_for /= stands_for.max(axis=1, keepdims=True)
    size = np.minimum(np.array(SIZES)[:, None] * stands_for[:, None], LARGEST)
    weight = np.repeat(np.array(WAYS) / len(SIZES), len(SIZES))
    return Bets(np.log(weight), size.reshape(-1, len(rows)))


def evidence(cells: Cells, bets: Bets) -> tuple[Array, Array]:
    """Return the logs a_j of the weighted bets without missed events, and the slopes s_jh."""
    with np.errstate(divide="ignore", invalid="ignore"):
        odds = (cells.drawn - cells.events) / (cells.rows - cells.drawn)
    odds = np.where(cells.rows > cells.drawn, odds, 0.0)
    level = bets.log_weight + np.log1p(-bets.size) @ cells.events
    return level, np.log1p(bets.size * odds)


def most_events(cells: Cells, bets: Bets, confidence: float, *, ordered: bool) -> int | None:
    """Return the greatest number of events in the strata that is not excluded.

    Parameters
    ----------
    cells : Cells
    bets : Bets
    confidence : float
    ordered : bool
        Whether shares of events do not rise from one stratum of a frame to the next; strata of
        which more than half is labelled are left out of the order.

    Returns
    -------
    int or None
        None where every number is excluded that agrees with the order.

    Notes
    -----
    The greatest sum of M_h whose mixture is below 1 / (1 - confidence): a convex problem, solved by
    linear programmes. Each adds the tangent of the log mixture at the solution before. The result
    is never too small, however few of them are solved.

    Examples
    --------
    >>> one = Cells(np.array([1000.0]), np.array([600.0]), np.array([0.0]), np.zeros(1, np.int64))
    >>> most_events(one, bets_of(one.rows, np.ones(1)), 0.95, ordered=True)
    4
    """
    held = float(cells.events.sum())
    open_rows = cells.rows - cells.drawn
    free = open_rows > 0
    if not free.any():
        return round(held)
    level, slope = evidence(cells, bets)
    slope, bound = slope[:, free], -math.log1p(-confidence)
    left, right = _order(cells, free, ordered)
    best = int(np.argmax(level + slope @ open_rows[free]))
    left, right = np.vstack([left, slope[best]]), np.append(right, bound - level[best])
    limits = np.stack([np.zeros(int(free.sum())), open_rows[free]], axis=1)
    for _ in range(CUTS):
        found = linprog(-np.ones(len(limits)), left, right, bounds=limits, method="highs")
        if found.x is None:
            return None
        each = level + slope @ found.x
        whole = float(logsumexp(each))
        if whole <= bound + CLOSE:
            break
        tangent = np.exp(each - whole) @ slope
        left = np.vstack([left, tangent])
        right = np.append(right, bound - whole + tangent @ found.x)
    return int(held) + math.floor(float(found.x.sum()) + ROUNDING)


def _order(cells: Cells, free: NDArray[np.bool_], ordered: bool) -> tuple[Array, Array]:
    """Return the order of shares as rows of a linear programme for the missed events."""
    rows, events = cells.rows, cells.events
    spot = np.cumsum(free) - 1
    in_order = np.flatnonzero(cells.drawn <= HALF * rows) if ordered else np.empty(0, np.int64)
    left, right = [np.zeros((0, int(free.sum())))], []
    for above, below in pairwise(in_order.tolist()):
        if cells.frame[above] == cells.frame[below]:
            line = np.zeros((1, int(free.sum())))
            line[0, spot[below]], line[0, spot[above]] = 1.0 / rows[below], -1.0 / rows[above]
            left.append(line)
            right.append(events[above] / rows[above] - events[below] / rows[below])
    return np.vstack(left), np.array(right)


def _shares(curves: Curves, places: Array) -> Array:
    """Draws of the strata's shares of events: (draws, strata)."""
    return np.asarray(curves.precision(places.ravel()).reshape(-1, *places.shape).mean(axis=2))


def _curves(table: ScoreTable, threshold: float, count: int) -> Curves:
    rng = np.random.default_rng(SEED)
    return fit_monotone([table], [threshold], SlopePrior(), rng).some(count, rng)


def planned_bets(checks: Checks) -> Bets:
    """Return the bets that follow from the alerts alone."""
    curves = _curves(checks.alerts, checks.threshold, CURVES)
    return bets_of(
        checks.cells.rows,
        neyman_wish(checks.cells.rows, _shares(curves, checks.places).mean(axis=0)),
    )


# --- checks: the answer ---------------------------------------------------------------------------


def _by_checks(checks: Checks, target: float, level: float, ordered: bool) -> Stopping:
    cells, seen, remarks = checks.cells, checks.seen, list(checks.remarks)
    certain = checks.known + float(cells.events.sum())
    bets = planned_bets(checks) if seen and len(cells.rows) else None
    most, contradicted = _most_missed(checks, bets, level, ordered)
    proven = seen / (seen + most) if seen else 0.0
    if contradicted:
        ordered = False
        remarks.insert(0, _order_contradicted())
    further = 0.0
    if seen == 0:
        further = math.nan
        remarks.insert(0, _nothing_found())
    elif seen / (seen + certain) < target:
        further = math.inf
        remarks.insert(0, _too_many_missed(checks, certain, target))
    elif proven < target and bets is not None:
        further = _further_checks(checks, bets, target, level, ordered)
    return Stopping(
        proven >= target,
        proven,
        target,
        level,
        "checks",
        ASSUMES["monotone" if ordered else "nothing"],
        checks.labelled,
        further,
        checks.threshold,
        tuple(remarks),
    )


def _most_missed(
    checks: Checks, bets: Bets | None, level: float, ordered: bool
) -> tuple[float, bool]:
    """Most events below the threshold, and whether no number agrees with the order."""
    cells = checks.cells
    if bets is None or not cells.drawn.any():
        return checks.known + float((cells.rows - cells.drawn + cells.events).sum()), False
    most = most_events(cells, bets, level, ordered=ordered)
    if most is not None:
        return checks.known + most, False
    free = most_events(cells, bets, level, ordered=False)
    assert free is not None  # no missed event at all is never excluded
    return checks.known + free, True


def _order_contradicted() -> Problem:
    return Problem(
        "Events were found deeper than the order of the strata allows: it was not used.",
        code="not-monotone",
        assume=Argument("assume", "nothing"),
        remedy="Use {assume}.",
    )


def _nothing_found() -> Problem:
    return Problem(
        "No event was found among the labelled rows from the greatest score down, so no recall is "
        "proven.",
        code="no-positives",
    )


def _too_many_missed(checks: Checks, certain: float, target: float) -> Problem:
    return Problem(
        "Labels show {missed:,} events below the threshold beside {seen:,} found: recall is at "
        "most {most}, whatever else is labelled.",
        code="recall-out-of-reach",
        missed=round(certain),
        seen=round(checks.seen),
        most=short(checks.seen / (checks.seen + certain), percent=True),
        target=target,
        threshold=Argument("threshold"),
        remedy="Lower {threshold}.",
    )


STEPS = 12  # numbers of further checks that are tried


def _further_checks(
    checks: Checks, bets: Bets, target: float, level: float, ordered: bool
) -> float:
    """Median number of further checks until the target is proven, over simulated worlds."""
    cells, rng = checks.cells, np.random.default_rng(SEED)
    shares = _shares(_curves(checks.table, checks.threshold, WORLDS), checks.places)
    left = (cells.rows - cells.drawn).astype(np.int64)
    open_ = left > 0
    wish = neyman_wish(cells.rows, shares.mean(axis=0))[open_]
    first = int(open_.sum())
    steps = np.unique(np.geomspace(first, left.sum(), STEPS).astype(np.int64))
    plan = np.zeros((len(steps), len(left)), np.int64)
    plan[:, open_] = [allocate(int(n), left[open_], wish) for n in steps]
    needed = []
    for share in shares:
        events = rng.binomial(left, share)
        # Where events are in the order of the checks; the first plan[h] of a stratum are drawn.
        spots = [rng.choice(n, k, replace=False) for n, k in zip(left, events, strict=True)]
        missed = checks.known + float(cells.events.sum() + events.sum())
        low, high = -1, len(steps) - 1
        if checks.seen / (checks.seen + missed) < target:
            needed.append(math.inf)
            continue
        while high - low > 1:
            at = (low + high) // 2
            found = [(spot < n).sum() for spot, n in zip(spots, plan[at], strict=True)]
            more = cells._replace(drawn=cells.drawn + plan[at], events=cells.events + found)
            most, _ = _most_missed(checks._replace(cells=more), bets, level, ordered)
            low, high = (low, at) if checks.seen / (checks.seen + most) >= target else (at, high)
        needed.append(float(steps[high]))
    return float(np.quantile(needed, 0.5, method="higher"))


# --- review: what was read ------------------------------------------------------------------------


class Review(NamedTuple):
    """Rows from the greatest score down, of which the first `depth` were reviewed."""

    score: Array
    label: Array  # 1, 0, NaN
    sampled: NDArray[np.bool_]
    depth: int
    first: int  # rows above those that could be sampled
    drawn: int
    labelled: int

    @property
    def frame(self) -> int:
        """Rows that could be sampled."""
        return len(self.score) - self.first

    @property
    def found(self) -> float:
        """Events among the reviewed rows."""
        return float(self.label[: self.depth].sum())

    @property
    def cut(self) -> float:
        """Score of the last reviewed row."""
        return float(self.score[self.depth - 1]) if self.depth else math.inf


def read_review(
    scores: Array, labels: Array, chance: Array | None, threshold: float | None
) -> Review:
    """Sort rows into those reviewed, those sampled, and the others."""
    order = np.lexsort((np.nan_to_num(labels, nan=2.0), -scores))  # whatever the order of rows
    score, label = scores[order], labels[order]
    sampled = np.zeros(len(score), bool)
    first = len(score)
    if chance is not None:
        chance = chance[order]
        sampled = (chance > 0.0) & (chance < 1.0)
        first = _first_of_frame(score, sampled, chance)
    empty = np.flatnonzero(sampled & np.isnan(label))
    if len(empty):
        raise DataError(
            "{count:,} of {drawn:,} rows drawn have no label.",
            code="sample-unlabelled",
            count=len(empty),
            drawn=int(sampled.sum()),
            remedy="Label the whole sample first.",
        )
    gaps = np.flatnonzero(np.isnan(label))
    depth = int(gaps[0]) if len(gaps) else len(score)
    if threshold is not None:
        depth = min(depth, int(np.searchsorted(-score, -threshold, side="right")))
    if 0 < depth < len(score) and score[depth] == score[depth - 1]:  # not within equal scores
        depth = int(np.searchsorted(-score, -score[depth], side="left"))
    return Review(
        score,
        label,
        sampled,
        depth,
        first,
        int(sampled.sum()),
        int((~np.isnan(labels)).sum()),
    )


def _read_until(sampled_until: int | None, review: Review) -> int | None:
    """Return the number of events at which the sample ended."""
    if sampled_until is None:
        return None
    until = read_integer(sampled_until, "sampled_until")
    _refuse_part(review, "sampled_until")
    events = int(review.label[review.sampled].sum())
    if events != until:
        raise DataError(
            "{argument} is {until:,}, but {events:,} of the rows drawn are events.",
            code="sampled-until",
            argument=Argument("sampled_until"),
            until=until,
            events=events,
            remedy="Draw and label rows at random until it is reached, none after.",
        )
    return until


def _refuse_part(review: Review, argument: str, value: object = UNSET) -> None:
    """Raise unless there is a sample of all rows."""
    if review.first > 0.02 * len(review.score):
        raise UsageError(
            "{argument} needs a random sample of all {rows:,} rows, marked by {inclusion}.",
            code="sample-of-all",
            argument=Argument(argument, value),
            rows=len(review.score),
            inclusion=Argument("inclusion"),
            other=Argument("method", "review"),
            remedy="For a sample of the rows below a first cut use {other}.",
        )


def _first_of_frame(score: Array, sampled: NDArray[np.bool_], chance: Array) -> int:
    """Return how many rows stand above those that could be sampled."""
    if not sampled.any():
        return len(score)
    least, most = float(chance[sampled].min()), float(chance[sampled].max())
    if most > least * 1.000001:
        raise DataError(
            "{argument} must be the same for all rows drawn, got {least:g} to {most:g}.",
            code="inclusion-varies",
            argument=Argument("inclusion"),
            least=least,
            most=most,
            remedy="Draw the sample with choose_labels(..., policy='random').",
        )
    frame = round(float(sampled.sum()) / least)
    if frame > 1.02 * len(score) + 1:
        raise DataError(
            "{drawn:,} rows drawn with probability {least:g} stand for {frame:,} rows, but there "
            "are {rows:,}.",
            code="inclusion-total",
            argument=Argument("inclusion"),
            drawn=int(sampled.sum()),
            least=least,
            frame=frame,
            rows=len(score),
            remedy="Give {argument} for the rows that were drawn, and a missing value for others.",
        )
    # A frame that is taken for larger than it was makes the limits wider, never narrower.
    top = int(np.searchsorted(-score, -score[np.flatnonzero(sampled)[0]], side="left"))
    return min(max(len(score) - frame, 0), top)


# --- review: what is proven -----------------------------------------------------------------------


def most_missed(sampled: int, frame: int, drawn: int, tail: float) -> int:
    """Return the greatest number of events with P(at most `sampled` are drawn) above `tail`.

    Parameters
    ----------
    sampled : int
        Events that were drawn.
    frame, drawn : int
        Rows that could be drawn at random, and how many were.
    tail : float

    Examples
    --------
    >>> most_missed(0, 100, 60, 0.05), most_missed(2, 1000, 100, 0.05)
    (3, 59)
    """
    low, high = sampled, frame - drawn + sampled + 1  # `low` is possible, `high` is not
    k = np.arange(sampled + 1.0)
    while high - low > 1:
        total = (low + high) // 2
        ways = _log_choose(total, k) + _log_choose(frame - total, drawn - k)
        chance = float(np.exp(logsumexp(ways) - _log_choose(frame, np.array(1.0 * drawn))))
        low, high = (total, high) if chance > tail else (low, total)
    return low


def _log_choose(n: float, k: Array) -> Array:
    """Logarithm of n over k; -inf where there is no way."""
    inside = (k >= 0) & (k <= n)
    held = np.where(inside, k, 0.0)
    ways = gammaln(n + 1.0) - gammaln(held + 1.0) - gammaln(n - held + 1.0)
    return np.asarray(np.where(inside, ways, -np.inf))


class Rule(NamedTuple):
    """When a review may stop: few sampled events below the cut, by themselves or for the found."""

    tail: float  # of the hypergeometric number of sampled events, (3)
    allowed: int = -1  # sampled events below the cut, whatever was found: r - j of (2)


FEWEST = 20  # events in a sample for which the tail below was checked
RAREST = 0.05  # events per row of the sample, at most
SPENT = 0.92  # of 1 - confidence; the rest is for what the limit leaves out
WIDEST = 1.8  # tail, as a multiple of 1 - confidence


def rule_of(review: Review, target: float, level: float, until: int | None) -> Rule:
    """Return the rule for a sample of fixed size, or for one that ended with its `until`-th event.

    Notes
    -----
    In the limit of many events in many more rows, n is gamma (r) and the number below t binomial
    (r, 1 - R) where recall is just below R; a cut before which recall is lower has more sampled
    events below, and a smaller n. The exact probabilities, for r from 20 to 110, up to one event in
    ten rows and targets from .5 to .95, were at most .97 times 1 - confidence at .95 and .99; at
    .90, 1.01 times for a target of .95 and .97 times else
    (test_sampling_until_a_number_of_events).
    """
    if until is None:
        return Rule(1.0 - level)
    enough = enough_of_sample(until, target, level)
    if enough is None:
        return Rule(1.0 - level)
    allowed = until - enough
    if until < FEWEST or until > RAREST * review.drawn:
        return Rule(0.0, allowed)
    return Rule(shared_tail(until, target, level), allowed)


def shared_tail(events: int, target: float, level: float) -> float:
    """Return the tail of (3) that may be used beside (2); 0.0 where (2) leaves nothing.

    Examples
    --------
    >>> round(shared_tail(30, 0.75, 0.95), 3), round(shared_tail(41, 0.9, 0.95), 3)
    (0.047, 0.086)
    """
    enough = enough_of_sample(events, target, level)
    if enough is None:
        return 0.0
    low, high = 0.0, WIDEST * (1.0 - level)
    for _ in range(40):
        tail = 0.5 * (low + high)
        fine = _wrong(events, target, tail, events - enough) <= SPENT * (1.0 - level)
        low, high = (tail, high) if fine else (low, tail)
    return low


def _wrong(events: int, target: float, tail: float, allowed: int) -> float:
    """P(sampled events below <= the greater critical value), in the limit."""
    c = np.arange(events + 1.0)
    reached = 1.0 - gammainc(events, gammaincinv(c + 1.0, 1.0 - tail) / (1.0 - target))
    chance = np.concatenate([[1.0], reached]) - np.append(reached, 0.0)  # of c = -1, 0, ...
    least = np.maximum(np.arange(-1, events + 1), allowed)
    return float(chance @ np.where(least >= 0, bdtr(np.maximum(least, 0), events, 1 - target), 0.0))


def proven_at(review: Review, depth: int, tail: float) -> float:
    """Return the recall that (3) proves for a cut below `depth` rows, all of them reviewed."""
    found = float(review.label[:depth].sum())
    if found == 0 or depth < review.first:
        return 0.0
    below = review.sampled[depth:]
    events = int(review.label[depth:][below].sum())
    rows = len(review.score) - depth
    most = rows - int(below.sum()) + events
    if rows and review.drawn and tail > 0:
        most = min(most, most_missed(events, review.frame, review.drawn, tail))
    return found / (found + most)


def _stops_at(review: Review, depth: int, target: float, rule: Rule) -> bool:
    events = review.label[depth:][review.sampled[depth:]].sum()
    if events <= rule.allowed and depth >= review.first:
        return True
    return proven_at(review, depth, rule.tail) >= target


def first_proven(review: Review, target: float, rule: Rule) -> int | None:
    """Return the least number of rows with which the target is proven; None: not by `depth`.

    What is proven does not fall on the way down: found events become more, sampled ones below
    fewer.
    """
    ends = np.append(np.flatnonzero(np.diff(review.score)) + 1, len(review.score))
    ends = ends[(ends >= review.first) & (ends <= review.depth)]
    if len(ends) == 0 or not _stops_at(review, int(ends[-1]), target, rule):
        return None
    low, high = -1, len(ends) - 1
    while high - low > 1:
        at = (low + high) // 2
        good = _stops_at(review, int(ends[at]), target, rule)
        low, high = (low, at) if good else (at, high)
    return int(ends[high])


def _by_review(review: Review, target: float, level: float, until: int | None) -> Stopping:
    rule = rule_of(review, target, level, until)
    proven, stop, remarks = 0.0, None, []
    if review.drawn or review.depth == len(review.score):
        proven = proven_at(review, review.depth, 1.0 - level)
        if until is not None and proven < 1.0:
            proven = _proven_by_quantile(review, level)
        stop = first_proven(review, target, rule) if review.found else None
    further, cut = 0.0, review.cut
    if stop is not None:
        cut, proven = float(review.score[stop - 1]), max(proven, target)
    elif review.found == 0:
        further = math.nan
        remarks.append(_nothing_found())
    elif review.drawn:
        further, cut = _further_review(review, target, rule)
    else:
        further = math.nan
        remarks.append(_draw_sample(target, level))
    return Stopping(
        stop is not None,
        proven,
        target,
        level,
        "review",
        ASSUMES["review" if until is None else "until"],
        review.labelled,
        further,
        cut,
        tuple(remarks),
    )


def events_to_sample(target: float, level: float) -> int:
    """Return how many events a sample should hold, for "review".

    Fewer ask for a longer review, more for a larger sample: 1.5 times as many as (2) needs at least
    was a good compromise over rankings; see experiments/stopping.

    Examples
    --------
    >>> events_to_sample(0.75, 0.95), events_to_sample(0.9, 0.95)
    (35, 43)
    """
    return max(35, math.ceil(1.5 * math.log1p(-level) / math.log(target)))


def _draw_sample(target: float, level: float) -> Problem:
    return Problem(
        "No row was drawn at random, so nothing is proven.",
        code="no-sample",
        events=events_to_sample(target, level),
        inclusion=Argument("inclusion"),
        until=Argument("sampled_until", events_to_sample(target, level)),
        remedy="Draw rows at random until {events} of them are events, and pass the share that was "
        "drawn as {inclusion}, with {until}.",
    )


# --- review: how much is to come ------------------------------------------------------------------

GROUPS = 2000  # of neighbouring ranks


class _Future(NamedTuple):
    """Worlds for the rows that were not reviewed, in groups of neighbouring ranks."""

    end: NDArray[np.int64]  # number of rows down to the end of each group
    open: Array  # rows without a label, per group
    known: Array  # labelled events, per group
    events: NDArray[np.int64]  # (worlds, groups): among rows without a label


def _future(review: Review, worlds: int) -> _Future:
    """Draw worlds from a curve fitted to all labels."""
    table = score_table_of(review.score, review.label)
    curves = _curves(table, review.cut, worlds)
    rest = len(review.score) - review.depth
    edge = np.unique(np.linspace(0, rest, min(GROUPS, rest) + 1).astype(np.int64))
    label = review.label[review.depth :]
    open_rows = np.add.reduceat(np.isnan(label), edge[:-1], dtype=np.float64)
    known = np.add.reduceat(np.nan_to_num(label), edge[:-1])
    middle = review.depth + (edge[:-1] + edge[1:] - 1) // 2
    share = curves.precision(table.place_of(review.score[middle]))
    rng = np.random.default_rng(SEED)
    events = rng.binomial(open_rows.astype(np.int64), share)
    return _Future(review.depth + edge[1:], open_rows, known, events)


def _need(rate: float, most: float, target: float, tail: float) -> Array:
    """Return how many events must be found with 0, 1, ... sampled ones below; up to `most`."""
    k = np.arange(math.ceil(rate * most * (1.0 - target) / target) + 3.0)
    low, high = k.copy(), k + (k + 30.0) * 10.0 / rate
    for _ in range(50):  # P(Bin(M, rate) <= k) = tail, for M between whole numbers too
        middle = 0.5 * (low + high)
        above = _binomial_tail(middle, k, rate) > tail
        low, high = np.where(above, middle, low), np.where(above, high, middle)
    return np.asarray(low * target / (1.0 - target))


def _binomial_tail(trials: Array, k: Array, rate: float) -> Array:
    """P(Bin(trials, rate) <= k), for trials > k between whole numbers too."""
    return np.asarray(betainc(np.maximum(trials - k, 1e-12), k + 1.0, 1.0 - rate))


def _ends(found: Array, below: NDArray[np.int64], need: Array, allowed: int) -> NDArray[np.int64]:
    """First group at whose end enough is found, in each world; the last where none is."""
    good = found >= need[np.minimum(below, len(need) - 1)]
    good &= below < len(need)
    good |= below <= allowed
    good[:, -1] = True
    first: NDArray[np.int64] = np.argmax(good, axis=1)
    return first


def _further_review(review: Review, target: float, rule: Rule) -> tuple[float, float]:
    """Median of the further labels, and the score where the review is expected to end."""
    future = _future(review, 2 * WORLDS)
    found = review.found + np.cumsum(future.known + future.events, axis=1)
    below = np.cumsum(future.known[::-1])[::-1] - future.known
    rate = review.drawn / review.frame
    need = _need(rate, float(found.max()), target, rule.tail)
    sampled = np.broadcast_to(below.astype(np.int64), found.shape)
    end = int(np.quantile(_ends(found, sampled, need, rule.allowed), 0.5, method="higher"))
    return float(future.open[: end + 1].sum()), float(review.score[future.end[end] - 1])


# --- QBCB -----------------------------------------------------------------------------------------


def enough_of_sample(sampled: int, target: float, level: float) -> int | None:
    """Return the least j with P(Bin(sampled, target) >= j) <= 1 - level; None where there is none.

    Examples
    --------
    >>> enough_of_sample(30, 0.75, 0.95), enough_of_sample(10, 0.75, 0.95)
    (27, None)
    """
    j = np.arange(1, sampled + 1)
    good = np.flatnonzero(bdtrc(j - 1, sampled, target) <= 1.0 - level)
    return int(j[good[0]]) if len(good) else None


def _proven_by_quantile(review: Review, level: float) -> float:
    """Return the greatest target for which (2) would stop at the present cut."""
    if review.depth == len(review.score):
        return 1.0 if review.found else 0.0
    events = int(review.label[review.sampled].sum())
    within = int(review.label[: review.depth][review.sampled[: review.depth]].sum())
    return float(betaincinv(within, events - within + 1, 1.0 - level)) if within else 0.0


def _by_quantile(review: Review, target: float, level: float) -> Stopping:
    _refuse_part(review, "method", "qbcb")
    events = np.flatnonzero(review.sampled & (review.label == 1.0))
    enough = enough_of_sample(len(events), target, level)
    end, remarks = len(review.score), []
    if enough is None:
        fewest = math.ceil(math.log1p(-level) / math.log(target))
        remarks.append(
            Problem(
                "{events:,} events were sampled, and at least {fewest:,} are needed: only a review "
                "of all rows would prove it.",
                code="sample-too-small",
                events=len(events),
                fewest=fewest,
                remedy="Draw more rows until the sample holds that many.",
            )
        )
    else:
        end = int(np.searchsorted(-review.score, -review.score[events[enough - 1]], side="right"))
    stop = review.depth >= end and review.found > 0
    proven = _proven_by_quantile(review, level)
    return Stopping(
        stop,
        max(proven, target) if stop else proven,
        target,
        level,
        "qbcb",
        ASSUMES["qbcb"],
        review.labelled,
        0.0 if stop else float(np.isnan(review.label[:end]).sum()),
        float(review.score[end - 1]),
        tuple(remarks),
    )
