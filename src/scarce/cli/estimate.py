"""`scarce estimate`: how much does a detector find and miss, if only alerts were investigated?

Calls `estimate_performance` on the table that scored_table.py reads. Prints warnings first, then
what was found and missed and what that assumes, the next command, and the figures of every
threshold and batch.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.flags import in_flags, with_code
from scarce.cli.next_command import command_to_paste
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, takes
from scarce.cli.output import emit, say, show_plan, table, write_line
from scarce.cli.scored_table import SCORES, ScoredTable, ScoreFlags
from scarce.cli.table_columns import table_or_stdin
from scarce.errors import Problem

if TYPE_CHECKING:
    from scarce import Estimate, Performance
    from scarce.cli.audit_lists import AuditLists
    from scarce.io.text import TextForm

FIGURES = (
    *("recall", "precision", "precision_per_recall", "prevalence", "missed"),
    "alerts_per_event",
)
COLUMNS = ("threshold", "alerts", "found", "precision", "missed", "recall", "alerts per event")
SETTLED = 0.2  # width of recall's interval beyond which more checks are proposed
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
    in_memory = held.flags.batch is not None
    memory = "all rows: --batch" if in_memory else "constant: one block of rows, some 100 MB"
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
    result = {
        **_record(found),
        "file": None if path is None else str(path),
        "score": held.score,
        "level": found.recall.level,
        "seed": seed,
        "effective_size": found.effective_size,
        "warnings": [
            *warnings_of(found, held),
            *(f"--also: {in_flags(text)}" for text in binned[:1]),
        ],
        "also": [_record(one) for one in others],
        "next": _next(found, path, held.are_prob),
    }
    if held.flags.batch is not None:
        result["batches"] = {str(name): _record(one) for name, one in found.batches.items()}
    if together is not None:
        result["as_one_batch"] = {"missed": together.missed, "recall": together.recall}
    if held.lists is not None and held.lists.open:
        result["next"] = None  # the list at hand comes first
    return result


def warnings_of(found: Performance, held: ScoredTable | None = None) -> list[str]:
    """Return what to be careful about, in flags; with lists, without what they explain."""
    warnings = [
        one for one in found.warnings if not (_all_labelled(found) and one.code == "no-positives")
    ]
    if held is None or held.lists is None:
        return [in_flags(one) for one in warnings]
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
    counts = found.counts
    rows_below = counts.rows - counts.alerts
    more: tuple[str, ...]
    if _all_labelled(found):
        return _for_further_rows(found, path) if are_prob else None
    if counts.alerts > counts.alerts_labelled:
        missing = str(counts.alerts - counts.alerts_labelled)
        more = ("--policy", "tail", "--n", missing, "--out", _free("todo"))
    elif counts.labelled_below >= rows_below or counts.alerts == 0:
        return None
    elif counts.audited == 0:
        more = ("--policy", "audit", "--n", str(CHECKS), "--out", _free("todo"))
    elif not found.recall.width <= SETTLED:
        more = ("--plan",)
    else:
        return None
    if isinstance(found.threshold, tuple):
        return None  # one list for all batches needs one threshold
    return command_to_paste("label", path, *more)


def _for_further_rows(found: Performance, path: Path | None) -> str | None:
    """Return the command that gives intervals for further rows, if it can read the same labels."""
    params = click.get_current_context().params
    mark = found.threshold
    if isinstance(mark, tuple) or params["audit"]:
        return None
    more = ("--prob", params["score"], "--level", f"{found.recall.level:g}")
    return command_to_paste("evaluate", path, *more, leave=("score", "auc", "id"))


def _with_lists(warnings: Sequence[Problem], found: Performance, lists: AuditLists) -> list[str]:
    """Return warnings without those that lists explain, and with what lists leave open."""
    told = [in_flags(one) for one in (*lists.notes, *warnings)]
    if isinstance(found.threshold, tuple):
        return told
    earlier, filled, left_open = lists.certain(found.threshold)
    counts = found.counts
    if counts.labelled_below - counts.audited - counts.from_outside > earlier + filled:
        return told  # labels that no list asked for are among them
    explained = [one for one in warnings if one.code == "scattered-labels"]
    told = [in_flags(one) for one in (*lists.notes, *warnings) if one not in explained]
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


def _all_labelled(found: Performance) -> bool:
    counts = found.counts
    return counts.alerts_labelled + counts.labelled_below >= counts.rows > 0


def _events(number: int) -> str:
    return "1 event" if number == 1 else f"{number:,} events"


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
    for line in sentences(found):
        write_line(line)
    if "batches" in result:
        write_line(_by_batch(result))
    write_line(f"This leans on: {'; '.join(leans_on(found))}.")
    if result["next"]:
        write_line(f"Next: {result['next']}")
    write_line()
    rows = [_figures_row(result), *(_figures_row(one) for one in result["also"])]
    table(rows, columns=COLUMNS, simple=True)
    if "batches" in result:
        write_line()
        named = [(name, *_figures_row(one)) for name, one in result["batches"].items()]
        table(named, columns=("batch", *COLUMNS), simple=True)


def leans_on(found: Performance) -> list[str]:
    """Return what the figures assume, each once."""
    leans = [found.recall.assumes]
    if math.isnan(found.recall.value):  # then it says why, and not what the limit leans on
        leans = [found.missed.assumes, found.recall.assumes]
    return [in_flags(text) for text in dict.fromkeys(leans)]


def sentences(found: Performance) -> list[str]:
    """Say what was found and missed in a few sentences."""
    from scarce.missed.rules import COUNTED, ONE_SIDED  # with numpy, which is heavy
    from scarce.results import short

    counts = found.counts
    level = f"{100 * found.recall.level:g} %"
    mark = found.threshold
    at = f"score {mark:g} or more" if not isinstance(mark, tuple) else "their batch's threshold"
    looked = f", {counts.alerts_labelled:,} of them were looked at"
    if counts.alerts_labelled == counts.alerts:
        looked = ", all were looked at" if counts.alerts else ""
    precise = f"precision {_figure(found.precision)} ({level}, for further alerts)"
    if not counts.alerts_labelled:
        precise = "precision is unknown, because no alert was investigated"
    lines = [
        f"Found: {_events(counts.events_seen)}. {counts.alerts:,} of {counts.rows:,} rows are "
        f"alerts ({at}){looked}: {precise}."
    ]
    missed = _figure(found.missed)
    if math.isnan(found.missed.value):
        missed = f"at most {short(found.missed.high)}; there is no best guess"
    elif found.missed.method == ONE_SIDED:
        missed = f"at most {short(found.missed.high)}; best guess {short(found.missed.value)}"
    below, one = "", counts.events_below == 1
    if counts.labelled_below:
        below = (
            f" Of {counts.labelled_below:,} rows checked below, {counts.audited:,} of them drawn "
            f"at random, {counts.events_below:,} {'was an event' if one else 'were events'}."
        )
    if counts.from_outside:
        below += f" {counts.from_outside:,} are known from outside."
    how = COUNTED if found.missed.method == COUNTED else f"{level}, {found.missed.method}"
    lines.append(f"Missed: {missed} ({how}).{below}")
    lines.append(_recall(found, level))
    nothing_below = _all_labelled(found) and not counts.events_below
    if not math.isnan(found.alerts_per_event.value) and not nothing_below:
        cost = found.alerts_per_event
        lines.append(
            f"Lowering the threshold costs about {short(cost.value)} alerts per further event "
            f"(between {short(cost.low)} and {short(cost.high)})."
        )
    return lines


def _by_batch(result: dict[str, Any]) -> str:
    """Say why a total of batches is not what the same rows say as one, and what that is."""
    text = (
        "By batch: the figures above are for all batches together; each has its own counts, "
        "and they share the shape of one curve."
    )
    if "as_one_batch" not in result:
        return text
    missed, recall = (result["as_one_batch"][name] for name in ("missed", "recall"))
    return (
        f"{text} Without --batch, one curve for all rows gives: missed {_cell(missed)}, recall "
        f"{_cell(recall)}."
    )


def _recall(found: Performance, level: str) -> str:
    """Recall is a share of the events that these rows hold, whatever further rows will bring."""
    counts = found.counts
    if math.isnan(found.recall.value) and found.recall.low == found.recall.high:
        return f"Recall: {_figure(found.recall)} ({level})."
    these = f"of the events in these {counts.rows:,} rows"
    if _all_labelled(found):
        return (
            f"Recall: {_figure(found.recall)} {these}: every row is labelled, so it is "
            "counted. It does not say how recall varies in further rows."
        )
    return f"Recall: {_figure(found.recall)} ({level}), {these}."


def _figure(estimate: Estimate) -> str:
    from scarce.results import short

    if math.isnan(estimate.value):
        if math.isnan(estimate.low) or estimate.low == estimate.high:
            return "not known"
        return f"between {short(estimate.low)} and {short(estimate.high)}"
    if estimate.low == estimate.high == estimate.value:
        return short(estimate.value)
    return f"{short(estimate.value)}, between {short(estimate.low)} and {short(estimate.high)}"


def _figures_row(record: dict[str, Any]) -> tuple[str, ...]:
    counts = record["counts"]
    mark = record["threshold"]
    shown = f"{mark:g}" if not isinstance(mark, tuple) else "by batch"
    cells = [_cell(record[name]) for name in ("precision", "missed", "recall", "alerts_per_event")]
    if not counts.alerts_labelled:
        cells[0] = "?"
    return (shown, f"{counts.alerts:,}", f"{counts.events_seen:,}", *cells)


def _cell(estimate: Estimate) -> str:
    from scarce.results import short

    value = "?" if math.isnan(estimate.value) else short(estimate.value)
    if math.isnan(estimate.low) or estimate.low == estimate.high == estimate.value:
        return value
    return f"{value} [{short(estimate.low)}, {short(estimate.high)}]"
