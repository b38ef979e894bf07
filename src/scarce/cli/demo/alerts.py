"""Alerts: only what scored high was ever looked at. How many events were missed?

    events score N(2, 1), all others N(0, 1); 3 % are events; labels from 2.5 up         (002 eq 1)

First with the labels of the alerts alone, which allow a guess and no interval; then with 100 rows
below the threshold, drawn at random with known probabilities and looked at. Assumes what each
estimate says of itself. Uses the truth to compare, and to answer for the person who looks.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scarce.cli.demo.story import Check, Story, aligned, say_wrapped
from scarce.cli.output import write_line

if TYPE_CHECKING:
    from scarce.cli.demo.story import Folder
    from scarce.report import Report

FILES = ("scores.csv", "truth.csv")
THRESHOLD = 2.5
EVENT_SHARE = 0.03
CHECKS = 100
NEXT = ("scarce estimate scores.csv --score score --label label --threshold 2.5",)
WEEKS = 4


def tell(folder: Folder, *, rows: int, seed: int, engine: Any = None, exact: bool = False) -> Story:
    """Simulate a detector's scores, and estimate what it missed, without and with an audit.

    Parameters
    ----------
    folder : Folder
    rows : int
        Scores.
    seed : int
    engine : engine
        Not used: the estimate of so few rows takes a tenth of a second.
    exact : bool
        Hold the truth to the intervals themselves. Of many seeds some must miss a 90 % interval, so
        others than the default are held to twice its width.

    Returns
    -------
    Story
    """
    import numpy as np

    from scarce import choose_labels, estimate_performance
    from scarce.datasets import make_scores

    rng = np.random.default_rng([seed, 3])
    sample = make_scores(
        rows,
        positive_share=EVENT_SHARE,
        background_mean=0.0,
        foreground_mean=2.0,
        random_state=rng,
    )
    scores, truth = np.round(sample.scores, 4), sample.y_true
    alert = scores >= THRESHOLD
    labels = np.where(alert, truth, np.nan)
    ids = 1_000_000 + rng.permutation(rows)
    week = 1 + np.arange(rows) * WEEKS // rows
    folder.table("scores.csv", {"id": ids, "score": scores, "label": labels, "week": week})
    folder.table("truth.csv", {"id": ids, "label": truth.astype(np.int64)})

    alone = estimate_performance(scores, labels, threshold=THRESHOLD)
    todo = choose_labels(scores, labels, n=CHECKS, threshold=THRESHOLD, random_state=seed)
    labels[todo.rows] = truth[todo.rows]
    audited = estimate_performance(scores, labels, threshold=THRESHOLD, inclusion=todo)
    missed = int(truth[~alert].sum())
    figures = {
        "rows": rows,
        "threshold": THRESHOLD,
        "checks": CHECKS,
        "alerts": int(alert.sum()),
        "events_seen": int(truth[alert].sum()),
        "events_checked": int(truth[todo.rows].sum()),
        "truth": {
            "missed": missed,
            "recall": 1.0 - missed / float(truth.sum()),
            "prevalence": float(truth.mean()),
        },
        "sides": {"alerts alone": alone.to_dict(), f"with {CHECKS} checks": audited.to_dict()},
    }
    drawn = _bins(scores, truth), _recall_curve(audited, scores, truth)
    return Story(
        figures,
        _checks(figures, audited, slack=1.0 if exact else 2.0),
        lambda: _show(figures, alone, audited),
        lambda page: _describe(page, figures, drawn, alone, audited),
    )


def _checks(figures: dict[str, Any], audited: Any, slack: float) -> list[Check]:
    missed = figures["truth"]["missed"]
    why = "a 90 % interval that was seen to cover" if slack == 1.0 else "room for an unlucky draw"
    return [
        Check(
            "alerts: truth over the high end, with checks",
            missed / audited.missed.high,
            0.0,
            slack,
            why,
        ),
        Check(
            "alerts: low end over the truth, with checks",
            audited.missed.low / missed,
            0.0,
            slack,
            why,
        ),
        Check(
            "alerts: width of recall's interval, with checks",
            audited.recall.width,
            0.1,
            0.9,
            "100 checks give about 0.5; 1 would be knowing nothing",
        ),
    ]


def _show(figures: dict[str, Any], alone: Any, audited: Any) -> None:
    truth = figures["truth"]
    say_wrapped(
        f"ALERTS  Of {figures['rows']:,} scores only the {figures['alerts']:,} from "
        f"{THRESHOLD} up were looked at: {figures['events_seen']:,} events. "
        f"Then {CHECKS} rows below were drawn and looked at: {figures['events_checked']} events."
    )
    heading = ["how many missed?", "missed", "90 %", "truth", "recall", "90 %", "truth"]
    rows = [
        [
            name,
            f"{found.missed.value:,.0f}",
            f"{found.missed.low:,.0f} to {found.missed.high:,.0f}" if checked else "a guess",
            f"{truth['missed']:,}",
            f"{found.recall.value:.2f}",
            f"{found.recall.low:.2f} to {found.recall.high:.2f}" if checked else "a guess",
            f"{truth['recall']:.2f}",
        ]
        for name, found, checked in (
            ("alerts alone", alone, False),
            (f"with {CHECKS} checks", audited, True),
        )
    ]
    write_line(aligned([heading, *rows]))


def _bins(scores: Any, truth: Any) -> tuple[Any, dict[str, Any]]:
    """Count the scores by what is known of their label."""
    import numpy as np

    edges = np.arange(np.floor(scores.min() * 4) / 4, scores.max() + 0.25, 0.25)
    alert = scores >= THRESHOLD
    states = {
        "event": alert & (truth == 1),
        "no event": alert & (truth == 0),
        "not labelled": ~alert,
        "missed event (truth)": ~alert & (truth == 1),
    }
    return edges, {name: np.histogram(scores[rows], edges)[0] for name, rows in states.items()}


def _recall_curve(found: Any, scores: Any, truth: Any) -> dict[str, Any]:
    """Return recall against the threshold: estimate, interval, truth of these very rows."""
    import numpy as np

    curve = found.curve(np.linspace(1.0, 3.5, 26))
    events = scores[truth == 1]
    return {
        "threshold": curve.threshold,
        "recall": curve.recall,
        "truth": np.array([(events >= mark).mean() for mark in curve.threshold]),
    }


def _describe(page: Report, figures: dict[str, Any], drawn: Any, alone: Any, audited: Any) -> None:
    from scarce.plots.picture import Axis, Curves, Histogram, Line

    bins, curve = drawn
    truth = figures["truth"]
    page.section(
        "Alerts: how many were missed?",
        f"A detector gave {figures['rows']:,} scores, and only the {figures['alerts']:,} from "
        f"{THRESHOLD} up were looked at (`scores.csv`): {figures['events_seen']:,} events. What "
        "scored lower nobody knows. The labels of the alerts alone allow a guess, and no interval. "
        f"Then `choose_labels` drew {CHECKS} rows below the threshold, with known probabilities; "
        f"{figures['events_checked']} of them turned out to be events.",
    )
    page.figure(
        Histogram(bins[0], bins[1], Axis("score"), threshold=THRESHOLD),
        "What is known of each score. The missed events are drawn from the truth.",
    )
    page.text(
        f"A guess from the alerts alone: {alone.missed.value:,.0f} missed events, recall "
        f"{alone.recall.value:.2f}. It moves with what nobody can see:"
    )
    page.table(
        ["if", "missed", "recall"],
        [(one.what, one.missed.value, one.recall.value) for one in alone.what_if()],
    )
    page.numbers(
        [
            ("missed", audited.missed, "events below the threshold"),
            ("recall", audited.recall, "share of all events that were alerts"),
            ("prevalence", audited.prevalence, "share of events among all rows"),
        ],
        caption=f"With {CHECKS} checks",
        truth=truth,
    )
    recall = curve["recall"]
    page.figure(
        Curves(
            [
                Line("estimate", curve["threshold"], recall[:, 0], recall[:, 1], recall[:, 2]),
                Line("truth", curve["threshold"], curve["truth"], grey=True),
            ],
            Axis("threshold"),
            Axis("recall", percent=True),
            threshold=THRESHOLD,
        ),
        f"Recall at other thresholds, with {CHECKS} checks and 90 % intervals.",
    )
    for words in dict.fromkeys((*alone.warnings, *audited.warnings)):
        page.text(f"Said by the estimate: {words}")
