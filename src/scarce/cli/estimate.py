"""`scarce estimate`: how much does a detector find and miss, when only its alerts were looked at?

Thin over `estimate_performance`. A table of any length is walked once in constant memory; batches
alone need their rows in memory. The words for a reader are in estimate_text.py, the way back of
filled-in lists in checklists.py.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.bad_cells import refuse_nested, refuse_unscored
from scarce.cli.checklists import (
    JOINED,
    Checklists,
    labels_are_numbers,
    refuse_many,
    refuse_same,
    walk_of,
)
from scarce.cli.list_files import ANSWER
from scarce.cli.options import (
    COLUMN,
    INPUT,
    LabelFlags,
    dry_run_option,
    label_options,
    level_option,
    show_plan,
    text_options,
    typed,
)
from scarce.cli.output import emit, json_option, progress, say, seed_option
from scarce.cli.prob_columns import table_or_stdin
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce import Performance
    from scarce.rows import TextForm
    from scarce.tables import TableSource

METHODS = ("auto", "mixture", "audit")


@click.command()
@click.argument("table", type=INPUT, required=False)
@click.option("--score", required=True, type=COLUMN, help="Column of scores; greater: worse.")
@label_options
@click.option(
    "--threshold",
    required=True,
    multiple=True,
    metavar="SCORE",
    help="Score at or above which a row is an alert; with --batch also WEEK=SCORE (repeatable).",
)
@click.option(
    "--also",
    type=float,
    multiple=True,
    metavar="SCORE",
    help="Say the same for another threshold (repeatable).",
)
@click.option(
    "--audit",
    type=click.Path(path_type=Path),
    multiple=True,
    metavar="FILE",
    help="List from `scarce label`, filled in (repeatable, earliest first).",
)
@click.option("--id", type=COLUMN, help="Column that tells rows apart, to find those of --audit.")
@click.option("--inclusion", type=COLUMN, help="Column with the probability of being drawn.")
@click.option(
    "--method",
    type=click.Choice(METHODS),
    default="auto",
    show_default=True,
    help="auto: curve and audit; mixture: two families of scores; audit: the audit alone.",
)
@click.option(
    "--auc",
    type=float,
    metavar="SHARE",
    help="AUC of a validation: a sharper guess where few were seen.",
)
@level_option
@click.option("--batch", type=COLUMN, help="Column with the week, site, ...: figures of each too.")
@click.option(
    "--label-source", type=COLUMN, help="Column saying where a label came from: alert, audit, ..."
)
@click.option(
    "--threshold-at", type=COLUMN, help="Column with the threshold in force when a row was scored."
)
@click.option(
    "--background",
    default="auto",
    show_default=True,
    metavar="FAMILY",
    help="Mixture: family of the scores of rows that are no events.",
)
@click.option(
    "--foreground",
    default="normal",
    show_default=True,
    metavar="FAMILY",
    help="Mixture: family of the scores of events.",
)
@click.option("--no-check", is_flag=True, help="Do not look whether labels contradict the curve.")
@seed_option
@text_options
@dry_run_option
@json_option
def estimate(
    table: Path | None,
    score: str,
    labels: LabelFlags,
    threshold: tuple[str, ...],
    also: tuple[float, ...],
    audit: tuple[Path, ...],
    id: str | None,
    inclusion: str | None,
    method: str,
    auc: float | None,
    level: float,
    batch: str | None,
    label_source: str | None,
    threshold_at: str | None,
    background: str,
    foreground: str,
    no_check: bool,
    seed: int,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Say how many events a detector finds and misses, with intervals.

    Only rows at or above the threshold were looked at, and the label is empty elsewhere: precision
    is counted, and what lies below is estimated, as far as it can be. Rows drawn below by `scarce
    label` and filled in sharpen it (--audit). Any length of table, or a pipe, in one pass.

    \b
    Examples:
      scarce estimate scores.csv --score score --label label --threshold 2.5
      scarce estimate scores.csv --score score --label label --threshold 2.5 --also 2.0 --batch week
      scarce estimate scores.csv --score score --label label --threshold 2.5 --json
    """
    from scarce.cli.estimate_text import result_of, show_result, with_lists
    from scarce.tables import open_table

    if audit and inclusion:
        raise UsageError(
            "--inclusion names a column of the table and --audit brings the probabilities along: "
            "give one of them."
        )
    if id and not audit:
        raise UsageError("--id is for finding the rows of --audit FILE: give that too.")
    if labels.label is None and not audit:
        raise UsageError("Which rows were found to be events? Name the column with --label.")
    marks = _thresholds(threshold, batch)
    source = open_table(table_or_stdin(table, "estimate"), form)
    extra = {
        "--inclusion": inclusion,
        "--label-source": label_source,
        "--threshold-at": threshold_at,
        "--batch": batch,
        "--id": id,
    }
    named = {"--score": score, "--label": labels.label, **extra}
    refuse_same(named)
    refuse_nested(source, named)
    for option, name in named.items():
        if name is not None:
            source.column(name, option)
    answer = labels.label or ANSWER
    number_labels = labels_are_numbers(source, labels)
    lists = None
    if audit:
        lists = Checklists(
            audit,
            key=id,
            label=answer,
            score=score,
            unlabelled=labels.unlabelled,
            numbers=number_labels,
            where=source.where,
            form=form,
        )
    columns = [name for name in (score, answer, inclusion, label_source, threshold_at) if name]
    numbers = [name for name in (score, inclusion, threshold_at) if name]
    if number_labels:
        numbers.append(answer)
    if dry_run:
        _show_plan(source, [*columns, *([batch] if batch else [])], lists, batch, method, json)
        return
    asked: dict[str, Any] = {
        "threshold": marks,
        "inclusion": JOINED if lists else inclusion,
        "label_source": label_source,
        "threshold_at_time": threshold_at,
        "method": method,
        "auc": auc,
        "level": level,
        "background": background,
        "foreground": foreground,
        "check": not no_check,
        "random_state": seed,
    }
    wanted = columns if batch is None else [*columns, batch]
    together: Performance | None = None
    span = Span(source, score, form)
    try:
        with progress("Reading") as tick:
            walk = span.watched(
                walk_of(source, wanted, numbers, lists=lists, form=form, label=answer, tick=tick)
            )
            if batch is None:
                found = _streamed(walk, source, score, answer, labels, number_labels, asked)
            else:
                found, together = _in_batches(walk, source, score, answer, labels, batch, asked)
    except DataError as error:
        raise error if lists is None else lists.explained(error) from None
    result = result_of(found, also, table, score, batch, seed, span.are_prob)
    if together is not None:
        result["as_one_batch"] = {"missed": together.missed, "recall": together.recall}
    if lists is not None:
        result["warnings"] = with_lists(result["warnings"], found, lists)
    if lists is not None and lists.open:
        result["next"] = None  # the list at hand comes first
        if lists.open == lists.asked:
            result["warnings"] = [
                f"No row of {audit[-1]} is filled in yet: fill in its column {answer!r}, and run "
                "this again."
            ]
    emit(result, json=json, show=lambda: show_result(found, result))


class Span:
    """Has every row of a walk a score, and may the scores be probabilities?"""

    def __init__(self, source: TableSource, score: str, form: TextForm) -> None:
        self.source, self.score, self.form, self.are_prob = source, score, form, True

    def watched(self, walk: Callable[[], Any]) -> Callable[[], Any]:
        """Return the same walk, looked at on the way."""

        def parts() -> Any:
            start = 0
            for part in walk():
                values = part.column(self.score).to_numpy()
                refuse_unscored(self.source, values, self.score, self.form, start)
                if len(values):
                    self.are_prob &= bool(values.min() >= 0 and values.max() <= 1)
                start += len(values)
                yield part

        return parts


def _thresholds(given: tuple[str, ...], batch: str | None) -> Any:
    """Read --threshold: one score for all rows, or NAME=SCORE for each batch."""
    named: dict[Any, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        value = typed(number)
        if isinstance(value, str):
            raise UsageError(
                f"--threshold {text!r} is not a score: give the number at or above which a row is "
                "an alert."
            )
        if not equals:
            if len(given) > 1:
                raise UsageError(
                    f"--threshold is given {len(given)} times. For the same rows at other "
                    "thresholds use --also; for a threshold by batch give WEEK=SCORE."
                )
            return float(value)
        named[typed(name)] = float(value)
    if batch is None:
        raise UsageError(
            f"--threshold {given[0]!r} is for one batch: name their column with --batch, or give "
            "one number."
        )
    return named


def _streamed(
    walk: Callable[[], Any],
    source: TableSource,
    score: str,
    answer: str,
    labels: LabelFlags,
    number_labels: bool,
    asked: dict[str, Any],
) -> Performance:
    """One pass in constant memory."""
    import pyarrow as pa

    from scarce import estimate_performance
    from scarce.cli.columns import label_meanings
    from scarce.rows.streamed import streamed_rows

    names = (asked["inclusion"], asked["label_source"], asked["threshold_at_time"])
    kind = pa.float64() if number_labels else source.types.get(answer, pa.string())
    words = asked["label_source"]
    rows = streamed_rows(
        walk() if source.once else walk,
        columns=[score, *(name for name in names if name is not None)],
        label=answer,
        categories=[] if words is None else [words],
        where=source.where,
        **label_meanings(labels, kind),
    )
    _say_labels(answer, rows.classes, labels)
    return estimate_performance(rows, **asked)


def _in_batches(
    walk: Callable[[], Any],
    source: TableSource,
    score: str,
    answer: str,
    labels: LabelFlags,
    batch: str,
    asked: dict[str, Any],
) -> tuple[Performance, Performance | None]:
    """Batches share a curve: their rows are held in memory. Also as one batch, to compare."""
    import numpy as np
    import pyarrow as pa

    from scarce import estimate_performance
    from scarce.cli.columns import number_column, read_labels
    from scarce.records import in_rows

    table = pa.concat_tables(list(walk()), promote_options="permissive")
    lost = table.column(batch).null_count
    if lost:
        belong = "belongs" if lost == 1 else "belong"
        raise DataError(
            f"{source.where}, column {batch!r}: {in_rows(lost)} {belong} to no batch. Fill in the "
            "column, or leave --batch out."
        )
    read = read_labels(table.column(answer), answer, labels, where=source.where, quiet=True)
    _say_labels(answer, read.classes, labels)
    for name in ("inclusion", "threshold_at_time"):
        if asked[name] is not None:
            asked[name] = number_column(table, asked[name])
    if asked["label_source"] is not None:
        asked["label_source"] = np.array(table.column(asked["label_source"]).to_pylist(), object)
    names = table.column(batch)
    if pa.types.is_dictionary(names.type):
        names = names.cast(names.type.value_type)
    marks = names.to_numpy()
    scores = number_column(table, score)
    batches = marks.astype(str) if marks.dtype == object else marks
    found = estimate_performance(scores, read.y, batch=batches, **asked)
    if isinstance(asked["threshold"], dict) or len(found.batches) < 2:
        return found, None
    return found, estimate_performance(scores, read.y, **{**asked, "check": False})


def _say_labels(name: str, classes: tuple[Any, ...], labels: LabelFlags) -> None:
    """Say what the labels were taken to mean, and refuse more than event and no event."""
    refuse_many(name, classes)
    settled = "" if labels.positive else " (--positive settles it)"
    nothing = "" if not labels.unlabelled else f" or {' or '.join(labels.unlabelled)}"
    say(
        f"Label {name!r}: {classes[1]} is an event{settled}, {classes[0]} is none, "
        f"empty{nothing} is not labelled."
    )


def _show_plan(
    source: TableSource,
    columns: list[str],
    lists: Checklists | None,
    batch: str | None,
    method: str,
    json: bool,
) -> None:
    memory = "constant: one block of rows, some 100 MB" if batch is None else "all rows: --batch"
    show_plan(
        {
            "reads": source.where,
            "bytes": source.size,
            "columns": [name for name in columns if name in source.types],
            "rows_on_lists": 0 if lists is None else len(lists.entries),
            "memory": memory,
            "computes": f"recall, precision and missed events, method {method}",
            "writes": "nothing",
        },
        json=json,
    )
