"""Which number may be said, and how wide is its interval? The rules, in one place.

    labels                                   point              limits of recall and missed events
    every row                                counted            none needed
    some rows drawn at random below          curve, or count    the draw alone, by test inversion
    none drawn below                         curve: a guess     what labels leave possible
    (method="mixture")                       mixture            posterior of the mixture

The curve proposes, the draw decides: a curve of scores says where to look and is the best guess,
but no interval leans on it. Limits assume what `assume` says: "monotone", that precision does not
rise as the score falls, or "nothing" but the draw. Where the draw itself contradicts that order,
the limits without it are taken as well, and a warning says so. Computes no limits: inversion.py.

Remarks and contradictions stand here too: what the reader should know beside the figures. They are
problems with a code.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, gammaln, pdtr

from scarce.engine.block import Array
from scarce.errors import Argument, Problem
from scarce.missed.counts import CurveDraws, ThresholdCounts, band_end, predicted_bands
from scarce.missed.inversion import (
    NO_ERROR,
    LabelError,
    order_chance,
    share_limits,
    total_limits,
)
from scarce.missed.provenance import ScoreBatch
from scarce.missed.strata import Cells, counted_cell
from scarce.results import Estimate, short

FEW = 5  # events seen, below which a curve is mostly its prior
DISORDER = 0.01  # chance of draws as little ordered as these, below which the order is doubted
MONOTONE, NOTHING = "monotone", "nothing"
CURVE = (
    "a lower score is never more suspicious than a higher one, few events are invisible to the "
    "score, and rows were chosen for labelling by score alone"
)
MIXTURE = "scores of events and of other rows follow the two families that were fitted"
NOT_FITTED = "nothing beyond the counts: the mixture is not identified, see the warnings"
DRAW = "rows were drawn at random with the stated probabilities"
RIGHT = "labels are right"
WRONG = "labels are wrong at the stated rates"
ORDER = "precision does not rise as the score falls"
NO_CHECKS = "no row below the threshold was drawn at random, so nothing bounds what was missed"
FEW_SEEN = "fewer than five events were seen, too few for a best guess"
NOTHING_SEEN = "no event was seen: recall is 0 if there is any event and undefined if there is none"
# Methods of an estimate
COUNTED = "counted"
NOT_IDENTIFIED = "not identified"
POSTERIOR = "mixture, posterior interval"
GUESS = "guess from a curve, no checks"
DRAWN = "random checks"
NONE_SEEN = "no event seen above the threshold"


class Ruling(NamedTuple):
    """Recall and missed events as the rules allow them."""

    recall: Estimate
    missed: Estimate
    order_chance: float = 1.0  # see DISORDER


class Beliefs(NamedTuple):
    """What limits may take for granted."""

    level: float
    assume: str = MONOTONE
    error: LabelError = NO_ERROR


def ruling_not_identified(counts: ThresholdCounts, level: float) -> Ruling:
    """The mixture is not identified: only what was counted bounds the missed events."""
    most = counts.known + counts.open_missed
    missed = Estimate(
        float("nan"), counts.least_missed, float(most), level, NOT_IDENTIFIED, NOT_FITTED
    )
    if counts.found.max() == 0:
        return Ruling(_nothing_seen(counts, level), missed)
    few, many = ends(counts.found, level)
    low, high = _ratio(few, missed.high, 0.0), _ratio(many, missed.low, 1.0)
    return Ruling(Estimate(float("nan"), low, high, level, NOT_IDENTIFIED, NOT_FITTED), missed)


def ruling_mixture(counts: ThresholdCounts, level: float) -> Ruling:
    """Posterior intervals; the point is that of the fit itself, as in 002 section 6.2."""
    few, many = ends(counts.missed, level)
    missed = Estimate(float(np.median(counts.missed)), few, many, level, POSTERIOR, MIXTURE)
    if np.isnan(counts.recall).mean() > 0.5 or counts.found.max() == 0:
        return Ruling(_nothing_seen(counts, level), missed)
    draws = counts.recall[~np.isnan(counts.recall)]
    low, high = ends(draws, level)
    value = min(max(float(draws.mean()), low), high)
    recall = Estimate(value, low, high, level, POSTERIOR, MIXTURE)
    if counts.best is None:
        return Ruling(recall, missed)
    found, below = counts.best
    return Ruling(moved(recall, _ratio(found, below)), moved(missed, below))


def moved(estimate: Estimate, value: float) -> Estimate:
    """The same interval around another point of it."""
    return replace(estimate, value=min(max(value, estimate.low), estimate.high))


def ruling_counted(counts: ThresholdCounts, level: float) -> Ruling | None:
    """Where every row has a label there is nothing to estimate."""
    if counts.open_missed > 0 or counts.alerts_labelled < counts.alerts:
        return None
    why = "labels are right: every row has one"
    missed = Estimate(counts.known, counts.known, counts.known, level, COUNTED, why)
    if counts.seen + counts.known == 0:
        return Ruling(_nothing_seen(counts, level), missed)
    value = _ratio(counts.seen, counts.known)
    return Ruling(Estimate(value, value, value, level, COUNTED, why), missed)


def ruling_guess(counts: ThresholdCounts, level: float, point: float) -> Ruling:
    """Nothing was drawn below: a guess, and only what the labels leave possible."""
    least, most = counts.least_missed, counts.known + counts.open_missed
    few = "" if point == point else f"{FEW_SEEN}; "
    missed = Estimate(_between(point, least, most), least, most, level, GUESS, few + NO_CHECKS)
    if counts.found.max() == 0:
        return Ruling(_nothing_seen(counts, level), missed)
    found = float(np.median(counts.found))
    low = _ratio(float(counts.found.min()), most, 0.0)
    high = _ratio(float(counts.found.max()), least, 1.0)
    value = _between(_ratio(found, point), low, high)
    return Ruling(Estimate(value, low, high, level, GUESS, missed.assumes), missed)


def ruling_draw(counts: ThresholdCounts, beliefs: Beliefs, point: float) -> Ruling:
    """Limits from the rows that were drawn at random, whatever the point was read from."""
    ordered = beliefs.assume == MONOTONE
    doubt = order_chance(counts.found_cells.beside(counts.missed_cells)) if ordered else 1.0
    low, high, worst, best = _limits(counts, beliefs, True)
    if not ordered or doubt < DISORDER:  # what is possible in order is possible without
        others = _limits(counts, beliefs, False)
        low, high = min(low, others[0]), max(high, others[1])
        worst, best = min(worst, others[2]), max(best, others[3])
    labels = RIGHT if beliefs.error == NO_ERROR else WRONG
    why, method = f"{DRAW}, {labels}", DRAWN
    if not counts.checked:  # limits are those of wrong labels alone
        why, method = (NO_CHECKS, GUESS) if counts.open_missed > 0 else (labels, COUNTED)
    elif ordered and doubt >= DISORDER:
        why = f"{why}, and {ORDER}"
    if point != point:
        why = f"{FEW_SEEN}; {why}"
    missed = Estimate(_between(point, low, high), low, high, beliefs.level, method, why)
    sure = beliefs.error == NO_ERROR or counts.alerts == 0
    if sure and counts.found.max() == 0 and counts.found_cells.rows.sum() == 0:
        return Ruling(_nothing_seen(counts, beliefs.level), missed, doubt)
    if counts.alerts_labelled == 0 and counts.alerts > 0:
        return Ruling(
            Estimate(
                float("nan"),
                0.0,
                _ratio(counts.alerts, counts.least_missed, 1.0),
                beliefs.level,
                method,
                "no alert is labelled, so nothing is known of what was found",
            ),
            missed,
            doubt,
        )
    found = corrected(float(np.median(counts.found)), counts.alerts, beliefs.error)
    value = _between(_ratio(found, point), worst, best)
    return Ruling(Estimate(value, worst, best, beliefs.level, method, why), missed, doubt)


def _limits(
    counts: ThresholdCounts, beliefs: Beliefs, ordered: bool
) -> tuple[float, float, float, float]:
    """Return limits of the missed events and of recall."""
    level, error = beliefs.level, beliefs.error
    found, missed = counts.found_cells, counts.missed_cells
    sure_found, sure_missed = counts.certain_found, counts.certain_missed
    few, many = ends(counts.open_above, level)
    if error != NO_ERROR:  # labels of rows that were not drawn may be wrong as well
        last = 1 + int(max(found.frame.max(initial=0), missed.frame.max(initial=0)))
        found = found.beside(counted_cell(counts.labelled_found, sure_found, last))
        missed = missed.beside(counted_cell(counts.labelled_missed, sure_missed, last + 1))
        sure_found = sure_missed = 0.0
    low, high = total_limits(missed, level, beyond=found, ordered=ordered, error=error)
    low = max(low + sure_missed, counts.least_missed if error == NO_ERROR else counts.outside)
    most = counts.known + counts.open_missed if error == NO_ERROR else counts.rows - counts.alerts
    high = max(min(high + sure_missed, most), low)
    if len(found.rows) == 0:
        sure = (sure_found + few, sure_found + many)
        return low, high, _ratio(sure[0], high, 0.0), _ratio(sure[1], low, 1.0)
    worst, best = (
        share_limits(
            found,
            missed,
            (sure_found + open_, sure_missed),
            level,
            ordered=ordered,
            error=error,
        )[side]
        for side, open_ in enumerate((few, many))
    )
    return low, high, min(worst, best), best


def found_limits(counts: ThresholdCounts, beliefs: Beliefs) -> tuple[float, float]:
    """Return limits of the events among the alerts."""
    few, many = ends(counts.open_above, beliefs.level)
    cells, sure = counts.found_cells, counts.certain_found
    if beliefs.error != NO_ERROR:
        last = 1 + int(cells.frame.max(initial=0))
        cells = cells.beside(counted_cell(counts.labelled_found, sure, last))
        sure = 0.0
    low = high = 0.0
    if len(cells.rows):
        ordered = beliefs.assume == MONOTONE
        low, high = total_limits(cells, beliefs.level, ordered=ordered, error=beliefs.error)
    return sure + few + low, sure + many + high


def weighted_count(cells: Cells, error: LabelError = NO_ERROR) -> float:
    """Return the number of events that the drawn rows stand for; NaN where nothing was drawn."""
    held = cells.drawn > 0
    if not held.any():
        return float("nan") if cells.rows.sum() else 0.0
    keep = 1.0 - error.missed - error.false
    share = (cells.events[held] / cells.drawn[held] - error.false) / keep
    total = float(cells.rows[held] @ np.clip(share, 0.0, 1.0))
    return total * float(cells.rows.sum() / cells.rows[held].sum())


def corrected(events: float, rows: float, error: LabelError) -> float:
    """Return the events that rows hold whose labels say `events`, if labels are wrong at rates.

    Examples
    --------
    >>> corrected(12.0, 100.0, LabelError(0.1, 0.02))
    11.363636363636363
    """
    if error == NO_ERROR:
        return events
    right = (events - error.false * rows) / (1.0 - error.missed - error.false)
    return min(max(right, 0.0), rows)


def ends(draws: Array, level: float) -> tuple[float, float]:
    """Return the central interval of some draws."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _between(value: float, low: float, high: float) -> float:
    return min(max(value, low), high) if value == value else value


def _nothing_seen(counts: ThresholdCounts, level: float) -> Estimate:
    method = NONE_SEEN
    if counts.least_missed > 0:
        why = "labels are right: events are known below the threshold and none above it"
        return Estimate(0.0, 0.0, 0.0, level, method, why)
    return Estimate(float("nan"), 0.0, 0.0, level, method, NOTHING_SEEN)


def _ratio(found: float, missed: float, empty: float = float("nan")) -> float:
    """Share found of all events; `empty` where there is none."""
    total = found + missed
    return found / total if not total <= 0 else empty


def proportion(events: float, rows: float, level: float, assumes: str) -> Estimate:
    """Return a counted share with the exact interval for further rows of the same kind.

    Examples
    --------
    >>> print(proportion(12, 40, 0.9, "alerts are alike"))
    0.3 [0.183, 0.44] (90 %, counted)
    """
    if rows == 0:
        return Estimate(float("nan"), 0.0, 1.0, level, COUNTED, "there is no row to count")
    tail = (1 - level) / 2
    low = float(betaincinv(events, rows - events + 1, tail)) if events > 0 else 0.0
    high = float(betaincinv(events + 1, rows - events, 1 - tail)) if events < rows else 1.0
    return Estimate(events / rows, low, high, level, COUNTED, assumes)


# --- what the reader should know beside the figures -----------------------------------------------


def remarks_on(counts: ThresholdCounts, ruling: Ruling, beliefs: Beliefs) -> list[Problem]:
    """Return remarks on the counts at one threshold, most important first."""
    remarks = []
    open_alerts = counts.alerts - counts.alerts_labelled
    if counts.alerts == 0:
        remarks.append(
            Problem(
                "No row is an alert at this threshold.",
                code="no-alerts",
                remedy="Lower it, or read the missed events alone.",
            )
        )
    elif open_alerts:
        remarks.append(
            Problem(
                "{open:,} of {alerts:,} alerts have no label: precision and recall take them to be "
                "like others with their score.",
                code="open-alerts",
                open=round(open_alerts),
                alerts=round(counts.alerts),
            )
        )
    if open_alerts and counts.seen == counts.alerts_labelled > 0:
        remarks.append(
            Problem(
                "All {seen:,} labels above the threshold are events, and {open:,} alerts have no "
                "label: if those were checked and clean, their label is 0.",
                code="only-positives",
                seen=round(counts.seen),
                open=round(open_alerts),
            )
        )
    remarks += _rates_contradicted(counts, beliefs)
    if counts.represented != 1.0:
        remarks.append(
            Problem(
                "The inclusion probabilities stand for {times:.2g} times as many rows as there are "
                "below the threshold: check that they are probabilities, not percentages, and that "
                "no list is missing or given twice.",
                code="inclusion-total",
                times=counts.represented,
            )
        )
    if ruling.order_chance < DISORDER:
        remarks.append(
            Problem(
                "The rows drawn at random hold more events further down than above: the limits do "
                "without the assumption that precision does not rise as the score falls.",
                code="order-contradicted",
                chance=ruling.order_chance,
            )
        )
    if counts.seen == 0 and counts.alerts_labelled and counts.checked:
        remarks.append(
            Problem(
                "No positives seen among {labelled:,} labelled alerts: at most {most} events "
                "missed.",
                code="no-positives",
                labelled=round(counts.alerts_labelled),
                most=short(ruling.missed.high),
            )
        )
    return remarks


def _rates_contradicted(counts: ThresholdCounts, beliefs: Beliefs) -> list[Problem]:
    """Say where the rates of wrong labels ask for many more labelled events than there are."""
    expected = beliefs.error.false * (counts.labelled_missed + counts.drawn)
    if expected == 0 or pdtr(counts.known, expected) >= 0.01:
        return []
    return [
        Problem(
            "Only {known:,} of {rows:,} labelled rows below the threshold are events, but at a "
            "rate of {false:g} about {expected:,.0f} others would be labelled as events: the "
            "rates of {label_error} do not fit these labels.",
            code="rates-contradicted",
            known=round(counts.known),
            rows=round(counts.labelled_missed + counts.drawn),
            false=beliefs.error.false,
            expected=expected,
            label_error=Argument("label_error"),
            second=Argument("second_labels"),
            remedy="Give lower rates, or let somebody else read some rows again: {second}.",
        )
    ]


# --- do the labels contradict the curve? ----------------------------------------------------------
#
# Posterior predictive numbers of events in four bands of labelled rows, two-sided, Bonferroni at
# 5 %; and an exact test of whether rows right below the threshold are richer than the alerts. They
# find gross contradictions only, so they never change an estimate.


def contradictions(
    batches: Sequence[ScoreBatch], curves: CurveDraws, rng: np.random.Generator
) -> list[tuple[int, Problem]]:
    """Warn where labels contradict the curve, with the position of the batch."""
    warnings: list[tuple[int, Problem]] = []
    for index, batch in enumerate(batches):
        bands = predicted_bands(batch, index, curves, rng)
        for name, observed, drawn in bands:
            lower = (1.0 + np.sum(drawn <= observed)) / (1.0 + len(drawn))
            upper = (1.0 + np.sum(drawn >= observed)) / (1.0 + len(drawn))
            if 2 * min(lower, upper) < 0.05 / len(bands):
                problem = Problem(
                    "{band}{where} hold {observed:,} events where the fitted curve expects "
                    "{expected:,.1f}: its figures may be off.",
                    code="curve-contradicted",
                    band=f"{name[0].upper()}{name[1:]}",
                    where=in_batch(batch),
                    observed=round(observed),
                    expected=float(drawn.mean()),
                )
                warnings.append((index, problem))
        warnings += [(index, one) for one in _richer_below(batch)]
    return warnings


def in_batch(batch: ScoreBatch) -> str:
    """Return the words that say in which batch, or nothing where there is only one."""
    return "" if batch.name is None else f" in batch {batch.name!r}"


def _richer_below(batch: ScoreBatch) -> list[Problem]:
    """Whether rows right below the threshold are events more often than the alerts are."""
    table, cut = batch.table, batch.table.above(batch.threshold)
    end = band_end(table, cut)
    below, above = (
        [round(float(part[span].sum())) for part in (table.events, table.others)]
        for span in (slice(cut, end), slice(0, cut))
    )
    if min(sum(below), sum(above)) == 0 or chance_of_more(*below, *above) >= 0.05:
        return []
    return [
        Problem(
            "Rows right below the threshold{where} are events more often ({events_below:,} of "
            "{rows_below:,}) than the alerts are ({events_above:,} of {rows_above:,}): a lower "
            "score looks more suspicious here, which contradicts the curve.",
            code="not-monotone",
            where=in_batch(batch),
            events_below=below[0],
            rows_below=sum(below),
            events_above=above[0],
            rows_above=sum(above),
            method=Argument("method", "audit"),
            remedy="Trust {method}.",
        )
    ]


def chance_of_more(events: int, others: int, more_events: int, more_others: int) -> float:
    """Return the probability of so many events in the first group if both have the same share.

    Fisher's exact test, one-sided.

    Examples
    --------
    >>> round(chance_of_more(3, 1, 1, 3), 4)
    0.2429
    """
    first, total = events + others, events + others + more_events + more_others
    all_events = events + more_events
    found = np.arange(events, min(first, all_events) + 1.0)
    log_ways = (
        _log_ways(first, found)
        + _log_ways(total - first, all_events - found)
        - _log_ways(total, np.array(1.0 * all_events))
    )
    return float(min(1.0, np.exp(log_ways).sum()))


def _log_ways(n: float, k: Array) -> Array:
    """Logarithm of n over k; -inf where there is no way."""
    inside = (k >= 0) & (k <= n)
    held = np.where(inside, k, 0.0)
    ways = gammaln(n + 1) - gammaln(held + 1) - gammaln(n - held + 1)
    return np.asarray(np.where(inside, ways, -np.inf))
