"""`scarce label`: which rows should somebody look at next, and how likely was each to be chosen?

Thin over `choose_labels` and `plan_audit`. The list holds the chosen rows as they are written, with
the probability of each, in the order to be worked; filled in, it goes back with `scarce estimate
--audit`. Scores and labels of all rows are held in memory, the other columns are not.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.bad_cells import numbers_of, refuse_nested, refuse_unscored
from scarce.cli.checklists import JOINED, Checklists, walk_of
from scarce.cli.label_flags import refuse_flags, refuse_own_input, refuse_taken
from scarce.cli.label_text import SIZES, Read, play_plan, tell
from scarce.cli.list_files import ANSWER, CHANCE, POLICY, ROW, without_blanks
from scarce.cli.list_labels import for_events, reading_of, refuse_many
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, takes
from scarce.cli.output import progress, rows_need_a_file, say, show_plan
from scarce.cli.prob_columns import find_prob, table_or_stdin
from scarce.cli.row_names import refuse_same, refuse_shared_ids
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm
    from scarce.missed.choice import LabelChoice


@click.command()
@click.argument("table", type=INPUT, required=False)
@takes(
    *("score", "prob"),
    LABELS,
    *("threshold", "policy", "n", "by", "costs", "explore", "strata", "allocation", "pure"),
    *("audit", "id", "plan", "width", "repeats", "auc", "level", "seed"),
    *("out", "to", "formula-safe", "force"),
    TEXT,
    *("dry-run", "json"),
)
def label(
    table: Path | None,
    score: str | None,
    prob: tuple[str, ...],
    labels: LabelFlags,
    threshold: float | None,
    policy: str,
    n: tuple[int, ...],
    by: str,
    costs: Path | None,
    explore: float,
    strata: int,
    allocation: str,
    pure: bool,
    audit: tuple[Path, ...],
    id: str | None,
    plan: bool,
    width: float | None,
    repeats: int,
    auc: float | None,
    level: float,
    seed: int,
    out: Path | None,
    to: str | None,
    formula_safe: bool,
    force: bool,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Choose which rows to label next, with known probabilities.

    Writes the chosen rows as they are, in the order to be worked, with an empty label to fill in
    and the probability with which each was drawn. Filled in, the list goes back: `scarce estimate
    ... --audit todo.csv`. With --plan nothing is chosen: it says how many checks buy what.

    \b
    Examples:
      scarce label scores.csv --score score --label label --threshold 2.5 --n 100 -o todo.csv
      scarce label scores.csv --score score --label label --threshold 2.5 --plan --n 50 --n 200
      scarce label p.csv --prob prob --policy uncertainty --n 50 --id id --out unsure.csv
    """
    from scarce.io.sink import refuse_existing, write_tables
    from scarce.io.source import open_table

    refuse_flags(score, prob, policy, n, plan, width, threshold, by, costs)
    if not (dry_run or plan):
        rows_need_a_file(out, json, "todo.csv")
    refuse_own_input(out, {"the table": table, "the cost file": costs}, audit)
    refuse_existing(out, force)
    source = open_table(table_or_stdin(table, "label"), form)
    values: tuple[str, ...] = (score,) if score is not None else ()
    if score is None and (prob or policy != "random" or plan):
        values = find_prob(source, prob).columns
    if len(values) > 1 and (policy != "uncertainty" or plan):
        raise UsageError(
            f"--prob names {len(values)} columns, and --policy {policy} ranks one: give one."
        )
    named: dict[str, str | None] = {"--score": score}
    if score is None:
        named = {f"--prob {name}": name for name in values}
    named = {**named, "--label": labels.label, "--id": id}
    refuse_same(named)
    refuse_nested(source, named)
    for option, name in (("--score", score), ("--label", labels.label), ("--id", id)):
        if name is not None:
            source.column(name, option)
    answer = labels.label or ANSWER
    added = [*([ROW] if id is None else []), CHANCE, POLICY]
    if not plan:
        refuse_taken(source, [*added, *([answer] if labels.label is None else [])])
    if dry_run:
        show_plan(
            {
                "reads": source.where,
                "columns": [*values, *([labels.label] if labels.label else [])],
                "memory": "scores and labels of all rows"
                + ("; all columns, from a pipe" if source.once else ""),
                "computes": f"plan of audits {list(n or SIZES)}" if plan else f"{policy}, n {n[0]}",
                "writes": None if plan else str(out or "stdout"),
            },
            json=json,
        )
        return
    held: Any = source.read(exact=True) if source.once else None
    with progress("Reading") as tick:
        unsure = policy == "uncertainty" and not plan
        read = _read(source, held, values, unsure, answer, labels, audit, id, costs, form, tick)
    if plan or policy != "uncertainty":
        refuse_many(answer, read.classes)
    if plan:
        play_plan(read, threshold, n, width, repeats, auc, level, seed, json)
        return
    choice = _choose(read, policy, n[0], threshold, seed, by, explore, strata, allocation, pure)
    rows, ids = _chosen_rows(source, held, choice, read.n_rows, answer, id)
    if id is not None:
        refuse_shared_ids(rows.column(id), ids, id, source.where)
    with write_tables(out, to=to, force=force, form=form, formula_safe=formula_safe) as write:
        write(rows)
    tell(choice, read, table, answer, policy, out, id, seed, json)


def _read(
    source: TableSource,
    held: Any,
    names: tuple[str, ...],
    unsure: bool,
    answer: str,
    labels: LabelFlags,
    audit: tuple[Path, ...],
    id: str | None,
    costs: Path | None,
    form: TextForm,
    tick: Any,
) -> Read:
    """Read the columns that the choice is made from, with the labels of earlier lists."""
    import numpy as np
    import pyarrow as pa

    from scarce import CostMatrix
    from scarce.cli.columns import number_column, read_labels
    from scarce.cli.prob_columns import ProbColumns, prob_values

    reading = reading_of(source, labels, lists=bool(audit))
    numbers = reading.numbers
    matrix = None if costs is None else CostMatrix.read(costs)
    amounts = () if matrix is None else matrix.columns
    for name in amounts:
        source.column(name, f"--costs {costs}")
    lists = None
    if audit:
        lists = Checklists(
            audit,
            key=id,
            label=answer,
            score=names[0] if names else None,
            reading=reading,
            source=source,
            form=form,
        )
    read_as_numbers = list(dict.fromkeys((*names, *amounts)))
    wanted = [*read_as_numbers, answer]
    if not names and answer not in source.types:
        wanted.append(source.names[0])  # only to count the rows
    plain = [*read_as_numbers, answer] if numbers else read_as_numbers
    if held is None:
        walk = walk_of(source, wanted, plain, lists=lists, form=form, label=answer, tick=tick)
        table = pa.concat_tables(list(walk()), promote_options="permissive")
    else:
        table = without_blanks(held.select([n for n in wanted if n in source.types]), form)
        for at, name in enumerate(table.column_names):
            if name in plain:
                read = numbers_of(source, table, name, form)
                table = table.set_column(at, name, pa.array(read, from_pandas=True))
        if lists is not None:
            keyed = table if id is None else table.append_column(id, held.column(id))
            table = next(iter(list(lists.join(iter([keyed])))))
    n_rows = table.num_rows
    if n_rows == 0:
        raise DataError(f"{source.where} has no rows: there is nothing to choose from.")
    if not names:
        values = np.zeros(n_rows)
    elif unsure:
        prob = ProbColumns(names)
        values = prob_values(table, prob, where=source.where, form=form, start=0)
    else:
        values = number_column(table, names[0])
        refuse_unscored(source, values, names[0], form)
    y, classes = np.full(n_rows, np.nan), (0, 1)
    if answer in table.column_names:
        column = table.column(answer)
        if column.null_count < n_rows:
            try:
                found = read_labels(column, answer, reading.flags, where=source.where, form=form)
            except DataError as error:
                error = error if unsure else for_events(error)
                raise error if lists is None else lists.explained(error) from None
            y, classes = found.y, found.classes
        else:
            say(f"Label {answer!r} is empty in all {n_rows:,} rows: none is labelled yet.")
    chance = None if lists is None else number_column(table, JOINED)
    if amounts and matrix is not None:
        matrix = matrix.bind({name: number_column(table, name) for name in amounts})
    return Read(names, values, y, classes, n_rows, chance, matrix)


def _choose(
    read: Read,
    policy: str,
    n: int,
    threshold: float | None,
    seed: int,
    by: str,
    explore: float,
    strata: int,
    allocation: str,
    pure: bool,
) -> LabelChoice:
    from scarce import choose_labels

    return choose_labels(
        read.values,
        read.y,
        policy=policy,
        n=n,
        threshold=threshold,
        random_state=seed,
        by=by,
        costs=read.costs,
        explore=explore,
        strata=strata,
        allocation=allocation,
        pure=pure,
    )


def _chosen_rows(
    source: TableSource, held: Any, choice: LabelChoice, n_rows: int, answer: str, id: str | None
) -> tuple[Any, Any]:
    """Return the list, the chosen rows as they are written in working order; and all rows' ids."""
    import numpy as np
    import pyarrow as pa

    order = np.argsort(choice.rows, kind="stable")
    wanted = choice.rows[order]
    parts: list[Any] = []
    ids: list[Any] = []
    start = 0
    for part in [held] if held is not None else source.tables(exact=True):
        first, last = np.searchsorted(wanted, [start, start + part.num_rows])
        if last > first or not parts:
            parts.append(part.take(pa.array(wanted[first:last] - start)))
        if id is not None:
            ids.append(part.column(id))
        start += part.num_rows
    if start != n_rows:
        raise DataError(
            f"{source.where} had {n_rows:,} rows and now has {start:,}: it was written to while it "
            "was read. Run it again."
        )
    table = pa.concat_tables(parts, promote_options="permissive")
    back = np.empty(len(order), dtype=np.int64)
    back[order] = np.arange(len(order))
    table = table.take(pa.array(back))
    if answer in table.column_names:
        place = table.column_names.index(answer)
        kind = table.schema.field(place).type
        table = table.set_column(place, answer, pa.nulls(table.num_rows, kind))
    else:
        table = table.append_column(answer, pa.nulls(table.num_rows, pa.string()))
    if id is None:
        table = table.add_column(0, ROW, pa.array(choice.rows))
    table = table.append_column(CHANCE, pa.array(choice.probability))
    table = table.append_column(POLICY, pa.array(choice.policy.tolist(), pa.string()))
    return table, ids
