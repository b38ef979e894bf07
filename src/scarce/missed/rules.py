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
experiments/missed_events. Assumes what each line's text says. Computes no curve: see monotone.py.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np
from scipy.special import betaincinv

from scarce.engine.block import Array
from scarce.missed.counts import Tally
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


class Reading(NamedTuple):
    """Recall and missed events as the rules allow them."""

    recall: Estimate
    missed: Estimate


def read_nothing(tally: Tally, level: float) -> Reading:
    """The mixture is not identified: only what was counted bounds the missed events."""
    audit = tally.audit
    most = audit.certain + audit.frame_rows - audit.audited + audit.events
    missed = Estimate(
        float("nan"), tally.least_missed, float(most), level, "not identified", NOT_FITTED
    )
    if tally.found.max() == 0:
        return Reading(_nothing_seen(tally, level), missed)
    few, many = ends(tally.found, level)
    low, high = _ratio(few, missed.high, 0.0), _ratio(many, missed.low, 1.0)
    return Reading(Estimate(float("nan"), low, high, level, "not identified", NOT_FITTED), missed)


def read_mixture(tally: Tally, level: float) -> Reading:
    """Posterior intervals; the point is that of the fit itself, as in 002 section 6.2."""
    drawn = _spread(tally, level, "mixture, posterior interval", MIXTURE)
    if tally.best is None or np.isnan(drawn.recall.value):
        return drawn
    found, missed = tally.best
    return Reading(
        moved(drawn.recall, _ratio(found, missed)),
        moved(drawn.missed, missed),
    )


def moved(estimate: Estimate, value: float) -> Estimate:
    """The same interval around another point of it."""
    return replace(estimate, value=min(max(value, estimate.low), estimate.high))


def read_audit(tally: Tally, level: float) -> Reading:
    """The audit alone."""
    return _audit(tally, level, point=tally.audit.value)


def counted(tally: Tally, level: float) -> Reading | None:
    """Where every row has a label there is nothing to estimate."""
    open_below = tally.audit.frame_rows - tally.audit.audited
    if open_below or tally.alerts_labelled < tally.alerts:
        return None
    why = "labels are right: every row has one"
    missed = Estimate(tally.known, tally.known, tally.known, level, "counted", why)
    if tally.seen + tally.known == 0:
        return Reading(_nothing_seen(tally, level), missed)
    value = _ratio(tally.seen, tally.known)
    return Reading(Estimate(value, value, value, level, "counted", why), missed)


def read_auto(tally: Tally, level: float, auc: float | None, *, trusted: bool = True) -> Reading:
    """The decision table; a curve whose draws are worth little leaves the word to the audit."""
    checks = tally.audit.audited
    if tally.seen >= FEW and checks:
        contradicted = tally.audit.low > ends(tally.missed, level)[1]
        if contradicted or not trusted:
            return _audit(tally, level, point=tally.audit.value)
        return _two_sources(tally, level)
    if tally.seen < FEW and checks:
        point = float("nan")
        if auc is not None and tally.seen > 0:
            point = float(np.median(tally.missed))
        return _audit(tally, level, point=point)
    if FEW <= tally.seen <= MANY:
        return _spread(tally, level, "monotone curve, extrapolated", CURVE)
    return _one_sided(tally, level)


def ends(draws: Array, level: float) -> tuple[float, float]:
    """Return the central interval of some draws."""
    low, high = np.quantile(draws, [(1 - level) / 2, (1 + level) / 2])
    return float(low), float(high)


def _spread(tally: Tally, level: float, method: str, assumes: str) -> Reading:
    few, many = ends(tally.missed, level)
    if np.isnan(tally.recall).mean() > 0.5 or tally.found.max() == 0:
        middle = float(np.median(tally.missed))
        missed = Estimate(middle, few, many, level, method, assumes)
        return Reading(_nothing_seen(tally, level), missed)
    draws = tally.recall[~np.isnan(tally.recall)]
    low, high = ends(draws, level)
    value = min(max(float(draws.mean()), low), high)
    point = float(np.median(tally.missed))
    return Reading(
        Estimate(value, low, high, level, method, assumes),
        Estimate(point, few, many, level, method, assumes),
    )


def _one_sided(tally: Tally, level: float) -> Reading:
    method = "monotone curve, one-sided limit"
    most = ends(tally.missed, level)[1]
    few = tally.seen < FEW
    why = f"{FEW_SEEN}; {NO_CHECKS}" if few else f"{NO_CHECKS}; {CURVE}"
    value = float("nan") if few else float(np.nanmean(tally.recall))
    least = min(tally.least_missed, most)
    point = float("nan") if few else max(float(np.median(tally.missed)), least)
    missed = Estimate(point, least, most, level, method, why)
    if tally.found.max() == 0:
        return Reading(_nothing_seen(tally, level), missed)
    low = ends(tally.recall[~np.isnan(tally.recall)], level)[0]
    high = max(_ratio(float(tally.found.max()), least, 1.0), low)
    value = min(max(value, low), high)
    return Reading(Estimate(value, low, high, level, method, why), missed)


def _audit(tally: Tally, level: float, point: float) -> Reading:
    count = tally.audit
    low, high = max(count.low, tally.least_missed), max(count.high, tally.least_missed)
    method = "audit, gamma limits"
    point = min(max(point, low), high)
    why = AUDIT if not np.isnan(point) else f"{FEW_SEEN}; {AUDIT}"
    if count.audited == 0 and count.frame_rows:
        why = "no row below the threshold was drawn at random: pass inclusion= with an audit"
    missed = Estimate(point, low, high, level, method, why)
    if tally.found.max() == 0:
        return Reading(_nothing_seen(tally, level), missed)
    few, many = ends(tally.found, level)
    worst, best = _ratio(few, high, 0.0), _ratio(many, low, 1.0)
    value = _ratio(float(np.median(tally.found)), point)
    if tally.alerts_labelled == 0:
        value, worst = float("nan"), 0.0
        best = _ratio(tally.alerts, tally.least_missed, 1.0)
        why = "no alert is labelled, so nothing is known of what was found"
    value = min(max(value, worst), best)
    return Reading(Estimate(value, worst, best, level, method, why), missed)


def _two_sources(tally: Tally, level: float) -> Reading:
    method = "two sources: curve and audit"
    alone = f"the audit alone allows up to {short(tally.audit.high)} missed events"
    why = f"for the low end of recall, {CURVE} ({alone}); for the high end, {AUDIT}"
    curve_low, curve_high = ends(tally.missed, level)
    audit_low = max(tally.audit.low, tally.least_missed)
    if tally.audit.events == 0:
        audit_low = tally.least_missed
    low = max(min(curve_low, audit_low), tally.least_missed)
    high = max(curve_high, low)
    recall_low, recall_high = ends(tally.recall, level)
    if tally.audit.events:
        # What was found deep down is a warning that the curve may end too early.
        limit = (tally.audit.value + tally.audit.high) / 2
        if tally.audit.value > np.quantile(tally.missed, 0.75):
            limit = tally.audit.high
        high = max(high, limit)
        recall_low = min(recall_low, _ratio(ends(tally.found, level)[0], limit, 0.0))
    recall_high = max(recall_high, _ratio(ends(tally.found, level)[1], audit_low, 1.0))
    recall_high = min(recall_high, _ratio(float(tally.found.max()), tally.least_missed, 1.0))
    value = min(max(float(tally.recall.mean()), recall_low), recall_high)
    return Reading(
        Estimate(value, recall_low, recall_high, level, method, why),
        Estimate(
            min(max(float(np.median(tally.missed)), low), high), low, high, level, method, why
        ),
    )


def _nothing_seen(tally: Tally, level: float) -> Estimate:
    method = "no event seen above the threshold"
    if tally.least_missed > 0:
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
        return Estimate(float("nan"), 0.0, 1.0, level, "counted", "there is no row to count")
    tail = (1 - level) / 2
    low = float(betaincinv(events, rows - events + 1, tail)) if events > 0 else 0.0
    high = float(betaincinv(events + 1, rows - events, 1 - tail)) if events < rows else 1.0
    return Estimate(events / rows, low, high, level, "counted", assumes)
