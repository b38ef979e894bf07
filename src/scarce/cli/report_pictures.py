"""Which bins, thresholds and classes do the pictures of `scarce report` show?

Presentation alone: tables of frequencies come from the library, drawings from scarce.report. Rare
events are drawn on logarithmic axes, with finer bins where probabilities are high.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from scarce.cli.judged import Judged

RARE = 0.1  # probabilities mostly below this are drawn on logarithmic axes
TAIL = (0.0, 0.25, 0.5, 0.75, 0.9, 0.95, 0.98, 0.99, 0.995, 0.998, 1.0)  # shares of the rows
FEWEST = 40  # rows in a bin, about
MOST_SERIES = 4  # classes in one picture
BINS = 36  # of a histogram
LEAST = 1e-6  # what is given less than this stands in the first bin of a logarithmic axis

Figure = tuple[Any, str]  # a chart and its caption


def reliabilities(rows: Judged, found: Any, level: float) -> dict[str, Any]:
    """Return probability against frequency for the event, or for the classes with most rows."""
    from scarce.evaluation.reliability import reliability

    places = [found.classes.index(name) for name in found.events]
    if len(places) > MOST_SERIES:
        places = sorted(places, key=lambda k: -found.counts[k])[:MOST_SERIES]
    tables = {}
    for k in places:
        prob = rows.prob if rows.prob.ndim == 1 else rows.prob[:, k]
        happened = (rows.y == k).astype(float)
        tables[str(found.classes[k])] = reliability(happened, prob, bins=bins_of(prob), level=level)
    return tables


def given_by_outcome(rows: Judged, found: Any) -> Figure:
    """Return how many rows were given which probability, by what happened."""
    if rows.prob.ndim == 1:
        prob, what = rows.prob, f"probability of {found.events[0]}"
        states = {f"was {name}": rows.y == k for k, name in enumerate(found.classes)}
    else:
        prob, what = rows.prob.max(axis=1), "probability of the likeliest class"
        right = rows.prob.argmax(axis=1) == rows.y
        states = {"the likeliest class was right": right, "it was not": ~right}
    return _histogram(prob, states, what, "by what happened")


def given_by_state(rows: Judged, event: Any) -> Figure:
    """Return the same by whether a row has a label."""
    states = {"not labelled": ~rows.known, f"labelled {event}": rows.known}
    return _histogram(rows.prob, states, f"probability of {event}", "with and without a label")


def _histogram(prob: Any, states: dict[str, Any], what: str, by: str) -> Figure:
    import numpy as np

    from scarce.report import histogram_chart

    rare = bool(np.median(prob) < RARE)
    if rare:
        least = max(float(prob[prob > 0].min(initial=1.0)), LEAST)
        edges = np.geomspace(min(least, 0.1), 1.0, BINS + 1)
        edges[0] *= 1 - 1e-9  # the least value itself must not fall out by rounding
        edges[-1] = 1.0
    else:
        edges = np.linspace(0.0, 1.0, BINS + 5)
    held = np.clip(prob, edges[0], 1.0)
    counts = {name: np.histogram(held[which], edges)[0] for name, which in states.items()}
    below = " What lies below the axis is in its first bin." if prob.min() < edges[0] else ""
    return (
        histogram_chart(edges, counts, x_label=what, x_log=rare, x_percent=True),
        f"How many rows were given which probability, {by}.{below}",
    )


def thresholds(share: float, at: float | None) -> Any:
    """Thresholds of a decision curve: around the share of events and the one in use."""
    import numpy as np

    odds = share / (1 - share)
    low, high = odds / 20, odds * 20
    if at is not None and 0 < at < 1:
        low, high = min(low, at / (1 - at) / 2), max(high, at / (1 - at) * 2)
    spaced = np.geomspace(low, high, 61)
    return spaced / (1 + spaced)


def bins_of(prob: Any) -> Any:
    """Edges of a reliability picture: even shares of rows, or for rare events finer at the top."""
    import numpy as np

    n = len(prob)
    if np.median(prob) >= RARE:
        shares = np.linspace(0.0, 1.0, 1 + int(np.clip(n // FEWEST, 1, 10)))
    else:
        shares = np.array([q for q in TAIL if q in (0.0, 1.0) or (1 - q) * n >= FEWEST])
    edges = np.unique(np.quantile(prob, shares))
    return edges if len(edges) > 1 else 1
