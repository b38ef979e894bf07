"""What does a threshold find and miss, for a gate: recall, precision and missed events.

    every row has a label: counted          some have none: estimated, as `scarce estimate` does

With filled-in lists or batches the table is walked as `scarce estimate` walks it, so that both say
the same. Decides nothing: see bounds.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.estimate_text import said_in_flags, warnings_of
from scarce.cli.evaluate import threshold_figures
from scarce.cli.next_command import path_word, shell_command
from scarce.cli.prob_columns import find_prob, table_or_stdin
from scarce.cli.score_flags import ScoredTable, ScoreFlags
from scarce.errors import UsageError

if TYPE_CHECKING:
    from scarce import Estimate, Performance
    from scarce.cli.judged import Judged, SamplingFlags
    from scarce.cli.options import LabelFlags
    from scarce.io.text import TextForm

NAMES = ("recall", "precision", "missed")
AS_ESTIMATE = ("audit", "id", "auc", "batch", "label_source", "threshold_at", "no_check")


class Found(NamedTuple):
    """What was found and missed, where, and what to know of it."""

    where: str
    rows: int
    unlabelled: int
    figures: dict[str, Estimate]
    remarks: list[str]


def as_estimate(scores: ScoreFlags) -> str:
    """Return the first flag that only a walk as `scarce estimate` does it can follow, or ""."""
    typed = [name for name in AS_ESTIMATE if getattr(scores, name)]
    return "" if not typed else f"--{typed[0].replace('_', '-')}"


def walked(
    files: Sequence[Path],
    scores: ScoreFlags,
    labels: LabelFlags,
    prob: Sequence[str],
    speaks: SamplingFlags,
    form: TextForm,
    *,
    again: bool,
    level: float,
    seed: int,
) -> Found:
    """Estimate with lists, batches and what else `scarce estimate` takes.

    Parameters
    ----------
    files, scores, labels, prob, speaks, form
        As typed.
    again : bool
        Whether the table was read before, for other bounds.
    level, seed
    """
    from scarce.cli.scoring import is_model
    from scarce.io.source import open_table

    flag = as_estimate(scores)
    for other in ("--weight", "--groups"):
        if other in speaks.given:
            raise UsageError(
                f"{other} is for rows that all have a label, and {flag} for rows of which some "
                "have none: give one of them."
            )
    path = table_or_stdin(files[-1] if files else None, "check")
    if scores.score is None and files and is_model(files[0]):
        raise UsageError(
            f"{flag} goes with a table of scores: write what the model says into one first, with "
            f"{shell_command('scarce', 'predict', *map(path_word, files))} --out p.csv, and check "
            "that."
        )
    if str(path) == "-" and (again or scores.score is None):
        raise UsageError(
            f"{flag} beside probabilities reads the table twice: write standard input to a file "
            "first."
        )
    if scores.score is None:
        columns = find_prob(open_table(path, form), prob).columns
        if len(columns) > 1:
            raise UsageError(
                f"--threshold needs one score a row, and there are {len(columns)} columns of "
                "probabilities: name the one that is meant with --score."
            )
        scores = replace(scores, score=columns[0])
    held = ScoredTable(path, scores, labels, form)
    found, _ = held.measure(level=level, seed=seed)
    counts = found.counts
    open_rows = counts.rows - counts.alerts_labelled - counts.labelled_below
    remarks = warnings_of(found, held)
    if again and scores.audit:
        remarks.append("The lists of --audit count for recall, precision and missed events alone.")
    return Found(held.source.where, counts.rows, open_rows, _figures(found), remarks)


def at_hand(judged: Judged, scores: ScoreFlags, threshold: Any, level: float, seed: int) -> Found:
    """Count where every row has a label, else estimate, from rows that are in memory."""
    from scarce import Estimate, estimate_performance
    from scarce.io.values import number_column

    values = judged.prob
    if scores.score is not None:
        values = number_column(judged.table, scores.score, where=judged.where)
    where, rows, unlabelled = judged.where, len(judged.y), judged.unlabelled
    if not unlabelled:
        cut = threshold_figures(judged, values, threshold, level)
        count = float(cut.missed)
        exact = Estimate(count, count, count, level, "counted", "these rows alone")
        recall = _because(cut.recall, "no row is an event, so that there is nothing to be found")
        precision = _because(cut.precision, "no row is an alert at this threshold")
        figures = {"recall": recall, "precision": precision, "missed": exact}
        return Found(where, rows, 0, figures, [])
    if len(judged.classes) != 2:
        threshold_figures(judged, values, threshold, level)  # says why not
    for flag, held in (("--weight", judged.sample_weight), ("--groups", judged.groups)):
        if held is not None:
            raise UsageError(
                f"{flag} is for rows that all have a label, and {unlabelled:,} have none: "
                "what they hide is estimated row by row. Leave it out."
            )
    found = estimate_performance(
        values,
        judged.y,
        threshold=threshold,
        inclusion=judged.inclusion,
        method=scores.method,
        background=scores.background,
        foreground=scores.foreground,
        level=level,
        random_state=seed,
    )
    return Found(where, rows, unlabelled, _figures(found), warnings_of(found))


def _because(one: Estimate, why: str) -> Estimate:
    """Return an estimate that says why it is not known, where it is not."""
    return replace(one, assumes=why) if math.isnan(one.value) else one


def _figures(found: Performance) -> dict[str, Estimate]:
    figures: dict[str, Estimate] = {name: getattr(found, name) for name in NAMES}
    return {name: replace(one, assumes=said_in_flags(one.assumes)) for name, one in figures.items()}
