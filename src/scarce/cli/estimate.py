"""`scarce estimate`: how much does a detector find and miss, if only alerts were investigated?

Calls `estimate_performance` on the table that scored_table.py reads. Prints warnings first, then
what was found and missed and what that assumes (performance_words.py), the next command, and the
figures of further thresholds and of every batch.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.flags import in_flags, with_code
from scarce.cli.next_command import command_to_paste
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, takes
from scarce.cli.output import emit, progress, say, show_plan, table, write_line
from scarce.cli.performance_words import (
    SETTLED,
    all_labelled,
    cell,
    is_guess,
    notes_once,
    says_nothing,
    sentences,
    warnings_by_batch,
    whole,
)
from scarce.cli.scored_table import SCORES, ScoredTable, ScoreFlags
from scarce.cli.table_columns import table_or_stdin
from scarce.errors import Problem

if TYPE_CHECKING:
    from scarce import Performance
    from scarce.cli.audit_lists import AuditLists
    from scarce.io.text import TextForm

FIGURES = (
    *("recall", "precision", "precision_further", "precision_per_recall", "prevalence"),
    *("missed", "alerts_per_event"),
)
COLUMNS = ("threshold", "alerts", "found", "precision", "missed", "recall", "alerts per event")
CHECKS = 100


@click.command()
@click.argument("table", type=INPUT, required=False)
@takes(SCORES, LABELS, "also", "level", "seed", TEXT, "dry-run", "json")
def estimate(
    table: Path | None,
    scores: ScoreFlags,
    labels: LabelFlags,
    also: tuple[float, ...],
    level: float,
    seed: int,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Estimate recall, precision and missed events, with intervals.

    Only rows at or above the threshold were investigated, and the label is empty elsewhere:
    precision is counted, and what was missed below is estimated as far as possible. Rows sampled
    below by `scarce label` and labelled since improve it (--audit). Reads any table in one pass.

    \b
    Examples:
      scarce estimate scores.csv --score score --label label --threshold 2.5
      scarce estimate scores.csv --score score --label label --threshold 2.5 --also 2.0 --batch week
      scarce estimate scores.csv --score score --label label --threshold 2.5 --json
    """

    held = ScoredTable(table_or_stdin(table, "estimate"), scores, labels, form)
    if dry_run:
        _show_plan(held, json)
        return
    found, together = held.measure(level=level, seed=seed)
    result = result_of(found, together, held, path=table, also=also, seed=seed)
    emit(result, json=json, show=lambda: show_result(found, result))


def _show_plan(held: ScoredTable, json: bool) -> None:
    flags = {"--batch": held.flags.batch, "--group": held.flags.group}
    flags |= {"--second": held.flags.second, "--second-label": held.flags.second_label}
    why = ", ".join(flag for flag, name in flags.items() if name)
    memory = f"all rows: {why}" if why else "constant: one block of rows, some 100 MB"
    show_plan(
        {
            "reads": held.source.where,
            "bytes": held.source.size,
            "columns": [name for name in held.columns if name in held.source.types],
            "rows_on_lists": 0 if held.lists is None else len(held.lists.entries),
            "memory": memory,
            "computes": f"recall, precision and missed events, method {held.flags.method}",
            "writes": "nothing",
        },
        json=json,
    )


def result_of(
    found: Performance,
    together: Performance | None,
    held: ScoredTable,
    *,
    path: Path | None,
    also: Sequence[float] = (),
    seed: int,
) -> dict[str, Any]:
    """Return everything that is known, as `emit` takes it.

    Parameters
    ----------
    found, together : Performance
        What `held` measured.
    held : ScoredTable
    path : Path, optional
        As typed.
    also : sequence of float
        Further thresholds.
    seed : int
    """
    others = [found.at(mark) for mark in also]
    binned = [text for one in others for text in one.warnings if text.code == "binned-counts"]
    batches = found.batches if held.flags.batch is not None else {}
    result = {
        **_record(found),
        "what_if": list(found.what_if()),
        "checks_for_width": checks_needed(found),
        "file": None if path is None else str(path),
        "score": held.score,
        "unit": "rows" if held.flags.group is None else "incidents",
        "level": found.recall.level,
        "seed": seed,
        "effective_size": found.effective_size,
        "warnings": [
            *(in_flags(text) for text in problems_of(found, held, batches)),
            *(f"--also: {in_flags(text)}" for text in binned[:1]),
        ],
        "also": [_record(one) for one in others],
        "next": _next(found, path, held.are_prob),
    }
    if batches:
        result["batches"] = {str(name): _record(one) for name, one in batches.items()}
    if together is not None:
        result["as_one_batch"] = {"missed": together.missed, "recall": together.recall}
    if held.lists is not None and held.lists.open:
        result["next"] = None  # the list at hand comes first
    return result


def checks_needed(found: Performance) -> float | None:
    """Return how many checks would settle recall; None where some were done, or none could."""
    counts = found.counts
    if not is_guess(found.missed) or says_nothing(found.recall) or not counts.alerts_labelled:
        return None
    from scarce.missed.plan import checks_for_width

    with progress("Planning checks"):
        return checks_for_width(found, width=SETTLED)


def problems_of(
    found: Performance,
    held: ScoredTable | None = None,
    batches: Mapping[Any, Performance] | None = None,
) -> list[Problem]:
    """Return what to be careful about, each once; with lists, without what they explain."""
    warnings = [
        one
        for one in warnings_by_batch(found, batches or {})
        if not (all_labelled(found) and one.code == "no-positives")
    ]
    if held is None or held.lists is None:
        return warnings
    if held.lists.open == held.lists.asked:
        return [
            Problem(
                "No row of {list} is labelled yet.",
                code="audit-unlabelled",
                list=held.flags.audit[-1],
                column=held.answer,
                remedy="Fill in its column {column!r}, and run this again.",
            )
        ]
    return _with_lists(warnings, found, held.lists)


def _record(found: Performance) -> dict[str, Any]:
    return {
        "threshold": found.threshold,
        "method": found.method,
        "counts": found.counts,
        **{name: getattr(found, name) for name in FIGURES},
    }


def _next(found: Performance, path: Path | None, are_prob: bool) -> str | None:
    """Return the command that would help most, or None where nothing is left to find out."""
    counts, by_batch = found.counts, isinstance(found.threshold, tuple)
    rows_below = counts.rows - counts.alerts
    more: tuple[str, ...]
    if all_labelled(found):
        return _for_further_rows(found, path) if are_prob else None
    # with a threshold of each batch, the highest scores of all are not the alerts of each
    if counts.alerts > counts.alerts_labelled and not by_batch:
        missing = str(counts.alerts - counts.alerts_labelled)
        tail = ("--policy", "tail", "--n", missing, "--out", _free("todo"))
        alone = ("auc", "batch", "group", "second")
        return command_to_paste("label", path, *tail, leave=alone)
    if counts.labelled_below >= rows_below or counts.alerts == 0:
        return None
    if counts.audited == 0:
        more = ("--policy", "audit", "--n", str(CHECKS), "--out", _free("todo"))
    elif not found.recall.width <= SETTLED and not by_batch:
        more = ("--plan", "--width", f"{SETTLED:g}")
    else:
        return None
    return command_to_paste("label", path, *more, leave=("auc",))


def _for_further_rows(found: Performance, path: Path | None) -> str | None:
    """Return the command that gives intervals for further rows, if it can read the same labels."""
    params = click.get_current_context().params
    mark = found.threshold
    if isinstance(mark, tuple) or params["audit"]:
        return None
    more = ("--prob", params["score"], "--level", f"{found.recall.level:g}")
    return command_to_paste("evaluate", path, *more, leave=LEFT)


LEFT = ("score", "auc", "id", "batch", "group", "second")


def _with_lists(
    warnings: Sequence[Problem], found: Performance, lists: AuditLists
) -> list[Problem]:
    """Return warnings without those that lists explain, and with what lists leave open."""
    notes = notes_once(lists.notes)
    told = [*notes, *warnings]
    if isinstance(found.threshold, tuple):
        return told
    earlier, filled, left_open = lists.certain(found.threshold)
    counts = found.counts
    if counts.labelled_below - counts.audited - counts.from_outside > earlier + filled:
        return told  # labels that no list asked for are among them
    explained = [one for one in warnings if one.code == "scattered-labels"]
    told = [one for one in (*notes, *warnings) if one not in explained]
    if left_open:
        told.append(
            Problem(
                "{count:,} of {rows:,} rows that {list} takes with certainty are not labelled: "
                "they count as not checked.",
                code="audit-unlabelled",
                count=left_open,
                rows=filled + left_open,
                list=lists.last,
            )
        )
    return told


def _free(name: str) -> str:
    """A file name that is not taken: todo.csv, todo-2.csv, ..."""
    number, free = 1, f"{name}.csv"
    while Path(free).exists():
        number += 1
        free = f"{name}-{number}.csv"
    return free


def show_result(found: Performance, result: dict[str, Any]) -> None:
    """Write the estimate for a reader on stdout, and what to be careful about on stderr."""
    for text in result["warnings"]:
        say(f"warning: {with_code(text)}")
    for line in sentences(found, result["checks_for_width"], unit=result["unit"]):
        write_line(line)
    if result["next"]:
        write_line(f"Next: {result['next']}")
    if result["also"]:
        write_line()
        rows = [_figures_row(result), *(_figures_row(one) for one in result["also"])]
        table(rows, columns=COLUMNS, simple=True)
    if "batches" in result:
        write_line()
        named = [(name, *_figures_row(one)) for name, one in result["batches"].items()]
        table(named, columns=("batch", *COLUMNS), simple=True)


def _figures_row(record: dict[str, Any]) -> tuple[str, ...]:
    counts = record["counts"]
    mark = record["threshold"]
    shown = f"{mark:g}" if not isinstance(mark, tuple) else "by batch"
    figures = (record["precision"], whole(record["missed"]), record["recall"])
    cells = [cell(one) for one in (*figures, record["alerts_per_event"])]
    if not counts.alerts_labelled:
        cells[0] = "?"
    return (shown, f"{counts.alerts:,}", f"{counts.events_seen:,}", *cells)
