"""What stands on the page of `scarce report` where only events are labelled, as with sightings?

How often it happens is not in such rows, nor is the level of the probabilities: that is assumed and
is said. Whether labelled rows are given more than the rest, they can tell. Presentation alone.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from scarce.cli import report_pictures as pictures

if TYPE_CHECKING:
    from scarce.cli.judged import Judged
    from scarce.report import Report


def told_apart(judged: Judged, level: float) -> Any:
    """Return the AUC of labelled rows against the rest."""
    from scarce.evaluation.ranking import auc

    return auc(judged.known.astype(float), judged.prob, level=level)


def assumed(model: Any) -> str:
    """Say that the level of a maxent model was assumed; "" of other models."""
    from scarce.report import level_of

    return level_of(model) if hasattr(model, "is_labelled_") else ""


def show(page: Report, judged: Judged, event: Any, found: Any) -> None:
    """Add what rows of one class, among others of which nothing is known, can say."""
    known, prob = judged.known, judged.prob
    page.section(
        "What labelled events alone can say",
        f"Rows are labelled {event} or not at all. How often it happens, and so whether the "
        "probabilities are right, cannot be known from these rows; whether they are higher "
        "for labelled rows, can.",
    )
    page.numbers(
        [
            (
                "AUC, labelled against the rest",
                found,
                f"how often a row labelled {event} outranks one without a label; 0.5 is chance",
            ),
            ("mean given, labelled", float(prob[known].mean()), f"rows labelled {event}"),
            ("mean given, the rest", float(prob[~known].mean()), "rows without a label"),
        ],
        percent=["mean given, labelled", "mean given, the rest"],
    )
    page.text(
        "Rows without a label may be of either kind, so this AUC cannot reach 1: the more "
        "events are among them, the lower it is, however good the model."
    )
    page.figure(*pictures.given_by_state(judged, event))
