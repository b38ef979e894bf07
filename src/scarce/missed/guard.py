"""Do the labels contradict the fitted curve? A warning, never a switch.

    posterior predictive number of events in four bands of labelled rows, two-sided, Bonferroni
    at 5 %; and an exact test of whether rows right below the threshold are richer than the alerts

Measured (experiments/missed_events): it spoke up in 3 of 4,376 batches whose interval held the
truth and in none of 124 whose interval did not. It finds gross contradictions only, so no interval
leans on it. Assumes the draws of the curve. Changes no estimate.
"""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from scipy.special import gammaln

from scarce.engine.block import Array
from scarce.missed.counts import CurveDraws, band_end, predicted_bands
from scarce.missed.provenance import Intake


def contradictions(
    intakes: Sequence[Intake], curves: CurveDraws, rng: np.random.Generator
) -> list[tuple[int, str]]:
    """Warn where labels contradict the curve; a warning never changes an estimate."""
    warnings: list[tuple[int, str]] = []
    for index, intake in enumerate(intakes):
        where = "" if intake.name is None else f" in batch {intake.name!r}"
        bands = predicted_bands(intake, index, curves, rng)
        for name, observed, drawn in bands:
            lower = (1.0 + np.sum(drawn <= observed)) / (1.0 + len(drawn))
            upper = (1.0 + np.sum(drawn >= observed)) / (1.0 + len(drawn))
            if 2 * min(lower, upper) < 0.05 / len(bands):
                text = (
                    f"{name[0].upper()}{name[1:]}{where} hold {observed:,.0f} events where the "
                    f"fitted curve expects {drawn.mean():,.1f}: its figures may be off."
                )
                warnings.append((index, text))
        warnings += [(index, text) for text in _richer_below(intake, where)]
    return warnings


def _richer_below(intake: Intake, where: str) -> list[str]:
    """Whether rows right below the threshold hold events more often than the alerts do."""
    ledger, cut = intake.ledger, intake.ledger.above(intake.threshold)
    end = band_end(ledger, cut)
    table = [
        [round(float(part[span].sum())) for part in (ledger.events, ledger.others)]
        for span in (slice(cut, end), slice(0, cut))
    ]
    if min(sum(row) for row in table) == 0:
        return []
    if chance_of_more(*table[0], *table[1]) >= 0.05:
        return []
    return [
        f"Rows right below the threshold{where} hold events more often ({table[0][0]:,} of "
        f"{sum(table[0]):,}) than the alerts do ({table[1][0]:,} of {sum(table[1]):,}): a lower "
        "score looks more suspicious here, which contradicts the curve. Trust method='audit'."
    ]


def chance_of_more(events: int, others: int, more_events: int, more_others: int) -> float:
    """Return the chance of so many events in the first of two groups if both had the same share.

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
