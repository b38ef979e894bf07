"""`scarce estimate`: how much does a detector find and miss, when only its alerts were looked at?

Thin over `estimate_performance`: score_flags.py reads the table, estimate_text.py has the words for
a reader.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import click

from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, takes
from scarce.cli.output import emit, show_plan
from scarce.cli.prob_columns import table_or_stdin
from scarce.cli.score_flags import SCORES, ScoredTable, ScoreFlags

if TYPE_CHECKING:
    from scarce.io.text import TextForm


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

    Only rows at or above the threshold were looked at, and the label is empty elsewhere: precision
    is counted, and what lies below is estimated, as far as it can be. Rows drawn below by `scarce
    label` and filled in sharpen it (--audit). Any length of table, or a pipe, in one pass.

    \b
    Examples:
      scarce estimate scores.csv --score score --label label --threshold 2.5
      scarce estimate scores.csv --score score --label label --threshold 2.5 --also 2.0 --batch week
      scarce estimate scores.csv --score score --label label --threshold 2.5 --json
    """
    from scarce.cli.estimate_text import result_of, show_result

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
