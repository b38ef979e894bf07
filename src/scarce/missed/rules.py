"""Which number may be said, and how wide is its interval? The decision table, in one place.

    events seen   checks below   point                  interval of recall
    < 5           none           none                   one-sided: at most X missed
    < 5           some           with an AUC only       audit alone
    5 to 20       none           curve                  curve, extrapolated
    > 20          none           curve                  one-sided: at most X missed
    5 or more     some           curve                  two sources: low end curve, high end audit

Two sources: misses are mostly overstated by the curve, so its low end of recall is safe; where the
audit found events, that end reaches at least half way from the audit's count to its upper limit,
and up to that limit if the count exceeds most draws of the curve. The high end comes from rows
drawn at random, which no model can spoil. Coverage of each line is measured by
experiments/missed_events. Assumes what each line's text says. Computes no curve: see curve.py.

Remarks and contradictions stand here too: what the reader should know beside the figures. They are
problems with a code, and change no figure.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv, gammaln

from scarce.engine.block import Array
from scarce.errors import Argument, Phrase, Problem
from scarce.missed.audit import METHOD as AUDITED
from scarce.missed.counts import CurveDraws, ThresholdCounts, band_end, predicted_bands
from scarce.missed.provenance import ScoreBatch
from scarce.results import Estimate, short

FEW = 5
MANY = 20
CURVE = (
    "a lower score is never more suspicious than a higher one, few events are invisible to the "
    "score, and rows were chosen for labelling by score alone"
)
MIXTURE = "scores of events and of other rows follow the two families that were fitted"
NOT_FITTED = "nothing beyond the counts: the mixture is not identified, see the warnings"
AUDIT = "audited rows were drawn with the stated probabilities and their labels are right"
NO_CHECKS = "no row below the threshold was checked at random, so only a limit can be given"
FEW_SEEN = "fewer than five events were seen above the threshold, too few for a best guess"
NOTHING_SEEN = "no event was seen: recall is 0 if there is any event and undefined if there is none"
NO_AUDIT = Problem(
    "no row below the threshold was drawn at random: {cure}",
    code="no-audit",
    cure=Phrase(
        "pass inclusion= with an audit",
        "draw some with `scarce label` and give the list with --audit",
    ),
)
# Methods of an estimate
COUNTED = "counted"
NOT_IDENTIFIED = "not identified"
POSTERIOR = "mixture, posterior interval"
EXTRAPOLATED = "monotone curve, extrapolated"
ONE_SIDED = "monotone curve, one-sided limit"
TWO_SOURCES = "two sources: curve and audit"
NONE_SEEN = "no event seen above the threshold"


class Ruling(NamedTuple):
    """Recall and missed events as the rules allow them."""

    recall: Estimate
    missed: Estimate


def ruling_not_identified(counts: ThresholdCounts, level: float) -> Ruling:
    """The mixture is not identified: only what was counted bounds the missed events."""
    audit = counts.audit
    most = audit.certain + audit.frame_rows - audit.audited + audit.events
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
    drawn = _from_draws(counts, level, POSTERIOR, MIXTURE)
    if counts.best is None or np.isnan(drawn.recall.value):
        return drawn
    found, missed = counts.best
    return Ruling(
        moved(drawn.recall, _ratio(found, missed)),
        moved(drawn.missed, missed),
    )


def moved(estimate: Estimate, value: float) -> Estimate:
    """The same interval around another point of it."""
    return replace(estimate, value=min(max(value, estimate.low), estimate.high))


def ruling_audit(counts: ThresholdCounts, level: float) -> Ruling:
    """The audit alone."""
    return _audit(counts, level, point=counts.audit.value)


def ruling_counted(counts: ThresholdCounts, level: float) -> Ruling | None:
    """Where every row has a label there is nothing to estimate."""
    open_below = counts.audit.frame_rows - counts.audit.audited
    if open_below or counts.alerts_labelled < counts.alerts:
        return None
    why = "labels are right: every row has one"
    missed = Estimate(counts.known, counts.known, counts.known, level, COUNTED, why)
    if counts.seen + counts.known == 0:
        return Ruling(_nothing_seen(counts, level), missed)
    value = _ratio(counts.seen, counts.known)
    return Ruling(Estimate(value, value, value, level, COUNTED, why), missed)


def ruling_auto(
    counts: ThresholdCounts, level: float, auc: float | None, *, trusted: bool = True
) -> Ruling:
    """The decision table; where the curve's draws are worth little, the audit alone speaks."""
    checks = counts.audit.audited
    if counts.seen >= FEW and checks:
        contradicted = counts.audit.low > ends(counts.missed, level)[1]
        if contradicted or not trusted:
            return _audit(counts, level, point=counts.audit.value)
        return _two_sources(counts, level)
    if counts.seen < FEW and checks:
        point = float("nan")
        if auc is not None and counts.seen > 0:
            point = float(np.median(counts.missed))
        return _audit(counts, level, point=point)
    if FEW <= counts.seen <= MANY:
        return _from_draws(counts, level, EXTRAPOLATED, CURVE)
    return _one_sided(counts, level)


def ends(draws: Array, level: float) -> tuple[float, float]:
    """Return the central interval of some draws."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _from_draws(counts: ThresholdCounts, level: float, method: str, assumes: str) -> Ruling:
    few, many = ends(counts.missed, level)
    if np.isnan(counts.recall).mean() > 0.5 or counts.found.max() == 0:
        middle = float(np.median(counts.missed))
        missed = Estimate(middle, few, many, level, method, assumes)
        return Ruling(_nothing_seen(counts, level), missed)
    draws = counts.recall[~np.isnan(counts.recall)]
    low, high = ends(draws, level)
    value = min(max(float(draws.mean()), low), high)
    point = float(np.median(counts.missed))
    return Ruling(
        Estimate(value, low, high, level, method, assumes),
        Estimate(point, few, many, level, method, assumes),
    )


def _one_sided(counts: ThresholdCounts, level: float) -> Ruling:
    method = ONE_SIDED
    most = ends(counts.missed, level)[1]
    few = counts.seen < FEW
    why = f"{FEW_SEEN}; {NO_CHECKS}" if few else f"{NO_CHECKS}; {CURVE}"
    value = float("nan") if few else float(np.nanmean(counts.recall))
    least = min(counts.least_missed, most)
    point = float("nan") if few else max(float(np.median(counts.missed)), least)
    missed = Estimate(point, least, most, level, method, why)
    if counts.found.max() == 0:
        return Ruling(_nothing_seen(counts, level), missed)
    low = ends(counts.recall[~np.isnan(counts.recall)], level)[0]
    high = max(_ratio(float(counts.found.max()), least, 1.0), low)
    value = min(max(value, low), high)
    return Ruling(Estimate(value, low, high, level, method, why), missed)


def _audit(counts: ThresholdCounts, level: float, point: float) -> Ruling:
    count = counts.audit
    low, high = max(count.low, counts.least_missed), max(count.high, counts.least_missed)
    method = AUDITED
    point = min(max(point, low), high)
    why: str = AUDIT if not np.isnan(point) else f"{FEW_SEEN}; {AUDIT}"
    if count.audited == 0 and count.frame_rows:
        why = NO_AUDIT
    missed = Estimate(point, low, high, level, method, why)
    if counts.found.max() == 0:
        return Ruling(_nothing_seen(counts, level), missed)
    few, many = ends(counts.found, level)
    worst, best = _ratio(few, high, 0.0), _ratio(many, low, 1.0)
    value = _ratio(float(np.median(counts.found)), point)
    if counts.alerts_labelled == 0:
        value, worst = float("nan"), 0.0
        best = _ratio(counts.alerts, counts.least_missed, 1.0)
        why = "no alert is labelled, so nothing is known of what was found"
    value = min(max(value, worst), best)
    return Ruling(Estimate(value, worst, best, level, method, why), missed)


def _two_sources(counts: ThresholdCounts, level: float) -> Ruling:
    method = TWO_SOURCES
    alone = f"the audit alone allows up to {short(counts.audit.high)} missed events"
    why = f"for the low end of recall, {CURVE} ({alone}); for the high end, {AUDIT}"
    curve_low, curve_high = ends(counts.missed, level)
    audit_low = max(counts.audit.low, counts.least_missed)
    if counts.audit.events == 0:
        audit_low = counts.least_missed
    low = max(min(curve_low, audit_low), counts.least_missed)
    high = max(curve_high, low)
    recall_low, recall_high = ends(counts.recall, level)
    if counts.audit.events:
        # What was found deep down is a warning that the curve may end too early.
        limit = (counts.audit.value + counts.audit.high) / 2
        if counts.audit.value > np.quantile(counts.missed, 0.75):
            limit = counts.audit.high
        high = max(high, limit)
        recall_low = min(recall_low, _ratio(ends(counts.found, level)[0], limit, 0.0))
    recall_high = max(recall_high, _ratio(ends(counts.found, level)[1], audit_low, 1.0))
    recall_high = min(recall_high, _ratio(float(counts.found.max()), counts.least_missed, 1.0))
    value = min(max(float(counts.recall.mean()), recall_low), recall_high)
    return Ruling(
        Estimate(value, recall_low, recall_high, level, method, why),
        Estimate(
            min(max(float(np.median(counts.missed)), low), high), low, high, level, method, why
        ),
    )


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


def remarks_on(counts: ThresholdCounts, ruling: Ruling) -> list[Problem]:
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
    if counts.represented != 1.0:
        remarks.append(
            Problem(
                "The inclusion probabilities stand for {times:.2g} times as many rows as there are "
                "below the threshold. After several audits give the last one's, and 1 for rows of "
                "earlier ones; check that they are probabilities, not percentages.",
                code="inclusion-total",
                times=counts.represented,
            )
        )
    if counts.seen == 0 and counts.alerts_labelled:
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


# --- do the labels contradict the curve? ----------------------------------------------------------
#
# Posterior predictive numbers of events in four bands of labelled rows, two-sided, Bonferroni at
# 5 %; and an exact test of whether rows right below the threshold are richer than the alerts.
# Measured (experiments/missed_events): it warned in 3 of 4,376 batches whose interval held the
# truth and in none of 124 whose interval did not. It finds gross contradictions only, so it never
# changes an estimate.


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
