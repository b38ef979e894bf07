"""What should a reader know beside the figures? Open alerts, odd probabilities, nothing seen.

Each remark says what was counted and what to do about it. Assumes a tally at one threshold. Changes
no figure; where labels contradict a curve: see guard.py.
"""

from __future__ import annotations

from scarce.missed.counts import Tally
from scarce.missed.rules import Reading
from scarce.results import short


def remarks_on(tally: Tally, reading: Reading) -> list[str]:
    """Return remarks on the counts at one threshold, most important first."""
    remarks = []
    open_alerts = tally.alerts - tally.alerts_labelled
    if tally.alerts == 0:
        remarks.append("No row is an alert at this threshold: lower it, or read `missed` alone.")
    elif open_alerts:
        remarks.append(
            f"{open_alerts:,.0f} of {tally.alerts:,.0f} alerts have no label: precision and recall "
            "take them to be like others of their score."
        )
    if open_alerts and tally.seen == tally.alerts_labelled > 0:
        remarks.append(
            f"All {tally.seen:,.0f} labels above the threshold are events while {open_alerts:,.0f} "
            "alerts have none: if those were checked and clean, their label is 0."
        )
    if not 0.5 < tally.spoken_for < 1.6:
        remarks.append(
            f"The inclusion probabilities speak for {tally.spoken_for:.1f} times as many rows as "
            "there are below the threshold. Of several audits give the last one's, and 1 for rows "
            "of earlier ones; check that they are probabilities, not percentages."
        )
    if tally.seen == 0 and tally.alerts_labelled:
        remarks.append(
            f"No positives seen among {tally.alerts_labelled:,.0f} labelled alerts: at most "
            f"{short(reading.missed.high)} events missed."
        )
    return remarks
