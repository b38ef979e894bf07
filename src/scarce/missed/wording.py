"""An estimate of performance as an operator would say it.

Counts first, then what is estimated and on which belief, then what it costs to look further.
Computes nothing.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np

from scarce.results import Estimate, short

if TYPE_CHECKING:
    from scarce.missed.performance import Performance


def in_words(found: Performance) -> str:
    """Return the figures as short lines for a reader, warnings first."""
    counts = found.counts
    lines = [f"warning: {text}" for text in found.warnings]
    lines.append(
        f"Alerts: {counts.alerts:,} of {counts.rows:,} rows, {counts.alerts_labelled:,} of them "
        f"labelled, {counts.events_seen:,} events seen."
    )
    how = "counted, not modelled" if found.precision.method == "counted" else "partly modelled"
    lines.append(f"Precision {_figure(found.precision)}: {how}.")
    if counts.labelled_below:
        checks = f"Checked below the threshold: {counts.labelled_below:,} rows"
        if counts.audited:
            checks += f", {counts.audited:,} of them drawn at random"
        lines.append(f"{checks}; {counts.events_below:,} events found there.")
    if counts.from_outside:
        lines.append(f"Known from outside: {counts.from_outside:,} events below the threshold.")
    lines += [
        _line("Missed events", found.missed),
        _line("Recall", found.recall),
        _line("Share of events among all rows", found.prevalence),
        f"Lowering the threshold: {_cost(found.alerts_per_event)}",
        f"Slope of precision against recall: {_slope(found.precision_per_recall)}",
        f"This rests on: {found.recall.assumes}.",
    ]
    return "\n".join(lines)


def _line(name: str, estimate: Estimate) -> str:
    if np.isnan(estimate.value) and estimate.low == estimate.high:
        return f"{name}: {estimate.assumes}."
    if np.isnan(estimate.value):
        if estimate.method.endswith("one-sided limit") or np.isnan(estimate.low):
            return f"{name}: no best guess; at most {short(estimate.high)} ({_level(estimate)})."
        return f"{name}: no best guess; between {_range(estimate)} ({_level(estimate)})."
    return (
        f"{name}: about {short(estimate.value)}, between {_range(estimate)} ({_level(estimate)})."
    )


def _figure(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return "unknown"
    return f"{short(estimate.value)}, for further alerts between {_range(estimate)}"


def _range(estimate: Estimate) -> str:
    return f"{short(estimate.low)} and {short(estimate.high)}"


def _level(estimate: Estimate) -> str:
    return f"{100 * estimate.level:g} %, {estimate.method}"


def _cost(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return f"what the next event costs is unknown ({estimate.assumes})."
    return (
        f"about {short(estimate.value)} alerts to open per further event, between "
        f"{_range(estimate)}."
    )


def _slope(estimate: Estimate) -> str:
    if np.isnan(estimate.value):
        return f"undefined ({estimate.assumes})."
    sign = "; its sign is not known" if estimate.low < 0 < estimate.high else ""
    return f"{short(estimate.value)}, between {_range(estimate)}{sign}."
