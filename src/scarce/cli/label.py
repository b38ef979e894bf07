"""`scarce label`: which rows should be labelled next, and how likely was each to be chosen?

Calls `choose_labels` and `plan_audit`. The list holds the chosen rows with the probability of each,
in the order to be labelled; completed, it goes back with `scarce estimate --audit`. An option that
would do nothing is refused: whoever typed it expects an effect. Scores and labels of all rows are
kept in memory, the other columns are not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scarce.cli.audit_lists import (
    ANSWER,
    JOINED,
    ROW,
    AuditLists,
    refuse_same,
    refuse_shared_ids,
    walk_of,
    without_blanks,
)
from scarce.cli.flags import in_flags, with_code
from scarce.cli.label_columns import for_events, reading_of, refuse_many
from scarce.cli.next_command import command_to_paste
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, is_typed, takes
from scarce.cli.output import emit, progress, rows_need_a_file, say, show_plan, write_line
from scarce.cli.sampling_columns import CHANCE, POLICY
from scarce.cli.table_columns import find_prob, refuse_nested, refuse_unscored, table_or_stdin
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.cli.label_columns import Reading
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm
    from scarce.missed.choose import LabelChoice
    from scarce.missed.plan import AuditPlan

OF_POLICY = {
    "pure": "audit",
    "strata": "stratified",
    "allocation": "stratified",
    "by": "uncertainty",
    "explore": "uncertainty",
}
BACK = ("audit", "random", "stratified", "tail", "adaptive")  # whose labels an estimate can take
ALONE = (
    "The plan is for further labels alone: earlier lists contribute their labels, not their "
    "sampling weights. An estimate with all lists (--audit, earliest first) uses both, and "
    "its interval is usually narrower."
)
SIZES = (25, 50, 100, 200, 400)


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

    Writes the chosen rows in the order to be labelled, with an empty label to fill in and the
    probability with which each was sampled. The completed list goes back with `scarce estimate
    ... --audit todo.csv`. With --plan no rows are chosen: it estimates what more labels are worth.

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
            "--prob names {count} columns, and --policy {policy} takes one.",
            code="several-columns",
            count=len(values),
            policy=policy,
            remedy="Give one.",
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
        refuse_taken_names(source, [*added, *([answer] if labels.label is None else [])])
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
) -> Candidates:
    """Read the columns that the choice is made from, with the labels of earlier lists."""
    import numpy as np
    import pyarrow as pa

    from scarce import CostMatrix
    from scarce.cli.label_columns import number_column
    from scarce.cli.table_columns import ProbColumns, prob_values

    reading = reading_of(source, labels, lists=bool(audit))
    numbers = reading.numbers
    matrix = None if costs is None else CostMatrix.read(costs)
    amounts = () if matrix is None else matrix.columns
    for name in amounts:
        source.column(name, f"--costs {costs}")
    lists = None
    if audit:
        lists = AuditLists(
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
                read = source.numbers(table, name)
                table = table.set_column(at, name, pa.array(read, from_pandas=True))
        if lists is not None:
            keyed = table if id is None else table.append_column(id, held.column(id))
            table = next(iter(list(lists.join(iter([keyed])))))
    n_rows = table.num_rows
    if n_rows == 0:
        raise DataError(
            "{table} has no rows.",
            code="no-rows",
            table=source.where,
        )
    if not names:
        values = np.zeros(n_rows)
    elif unsure:
        prob = ProbColumns(names)
        values = prob_values(table, prob, where=source.where, form=form, start=0)
    else:
        values = number_column(table, names[0])
        refuse_unscored(source, values, names[0], form)
    try:
        y, classes = _labels_of(table, answer, reading, source, form)
    except DataError as error:
        error = error if unsure else for_events(error)
        raise error if lists is None else lists.explained(error) from None
    chance = None if lists is None else number_column(table, JOINED)
    if amounts and matrix is not None:
        matrix = matrix.bind({name: number_column(table, name) for name in amounts})
    return Candidates(names, values, y, classes, n_rows, chance, matrix)


def _labels_of(
    table: Any, answer: str, reading: Reading, source: TableSource, form: TextForm
) -> tuple[Any, tuple[Any, ...]]:
    """Return class positions, NaN where not labelled, and the classes."""
    import numpy as np

    from scarce.cli.label_columns import read_labels

    n_rows = table.num_rows
    if answer not in table.column_names:
        return np.full(n_rows, np.nan), (0, 1)
    column = table.column(answer)
    if column.null_count == n_rows:
        say(f"Label {answer!r} is empty in all {n_rows:,} rows: none is labelled yet.")
        return np.full(n_rows, np.nan), (0, 1)
    found = read_labels(column, answer, reading.flags, where=source.where, form=form)
    return found.y, found.classes


def _choose(
    read: Candidates,
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
            "{table} had {before:,} rows and now has {after:,}: it changed while it was read.",
            code="file-changed",
            table=source.where,
            before=n_rows,
            after=start,
            remedy="Run it again.",
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


def refuse_flags(
    score: str | None,
    prob: tuple[str, ...],
    policy: str,
    n: tuple[int, ...],
    plan: bool,
    width: float | None,
    threshold: float | None,
    by: str,
    costs: Path | None,
) -> None:
    """Refuse flags that cannot work together, before anything is read."""
    unsure = policy == "uncertainty" and not plan
    if unsure and score is not None:
        raise UsageError(
            "--policy uncertainty needs probabilities.",
            code="argument-conflict",
            remedy="Give --prob, not --score.",
        )
    by_lot = policy == "random" and not plan and threshold is None  # needs nothing to rank by
    if not unsure and not by_lot and score is None and not prob:
        raise UsageError(
            "--score is missing.",
            code="no-score-column",
            remedy="Name the column of scores with --score, or of probabilities with --prob.",
        )
    if score is not None and prob:
        raise UsageError(
            "--score and --prob both rank the rows.",
            code="argument-conflict",
            remedy="Give one of them.",
        )
    if not plan and len(n) != 1:
        raise UsageError(
            "--n must be given once, such as --n 100; several sizes need --plan.",
            code="sample-size",
        )
    if width is not None and not plan:
        raise UsageError(
            "--width needs --plan.",
            code="unused-argument",
            remedy="Add it.",
        )
    if threshold is None and (plan or policy == "audit"):
        raise UsageError(
            "--threshold is missing: an audit samples below it.",
            code="no-threshold",
        )
    if (by == "cost") != (costs is not None):
        raise UsageError(
            "--by cost and --costs FILE need each other.",
            code="argument-conflict",
            remedy="Give both or neither.",
        )
    _refuse_idle("audit" if plan else policy, plan, policy)


def _refuse_idle(used: str, plan: bool, policy: str) -> None:
    """Refuse flags that were typed and would do nothing."""
    if plan and policy != "audit" and is_typed("policy"):
        raise UsageError(
            "--plan simulates audits, not --policy {policy}.",
            code="argument-conflict",
            policy=policy,
            remedy="Leave one out.",
        )
    for name, whose in OF_POLICY.items():
        if is_typed(name) and used != whose:
            raise UsageError(
                "--{option} is for --policy {policy}, not --policy {used}.",
                code="unused-argument",
                option=name,
                policy=whose,
                used=used,
                remedy="Leave it out.",
            )
    for name in ("pure", "out", "to"):
        if plan and is_typed(name):
            raise UsageError(
                "--{option} is for a list, and --plan chooses no rows.",
                code="unused-argument",
                option=name,
                remedy="Leave one of the two out.",
            )
    if not plan and is_typed("repeats"):
        raise UsageError(
            "--repeats needs --plan.",
            code="unused-argument",
            remedy="Add it.",
        )


def refuse_own_input(
    out: Path | None, inputs: Mapping[str, Path | None], lists: Sequence[Path]
) -> None:
    """Refuse to write over what is read, whatever --force says: answers in it would be gone."""
    if out is None or not out.exists():
        return
    read = [*inputs.items(), *(("a list of --audit", path) for path in lists)]
    for what, path in read:
        if path is not None and path.exists() and os.path.samefile(out, path):
            raise UsageError(
                "--out {out} is {what} ({path}).",
                code="output-is-input",
                out=out,
                what=what,
                path=path,
                remedy="Give the list another file name.",
            )


def refuse_taken_names(source: TableSource, names: list[str]) -> None:
    """Refuse a table that has a column of the name of one that the list adds."""
    for name in names:
        if name in source.names:
            cure = {
                ROW: "Rename it, or name a column of identifiers with --id.",
                ANSWER: f"If it holds the labels, say so: --label {ANSWER}.",
            }.get(name, "Rename it.")
            raise DataError(
                "{table} already has a column {column!r}, which the list adds.",
                code="column-exists",
                table=source.where,
                column=name,
                cure=cure,
                remedy="{cure}",
            )


class Candidates(NamedTuple):
    """What a choice is made from."""

    names: tuple[str, ...]  # columns of scores or probabilities; none for an even draw
    values: Any  # what they hold
    y: Any  # class positions, NaN where not labelled
    classes: tuple[Any, ...]
    n_rows: int
    inclusion: Any  # of the earlier lists, or None
    costs: Any  # for --by cost, or None


def tell(
    choice: LabelChoice,
    read: Candidates,
    path: Path | None,
    answer: str,
    policy: str,
    out: Path | None,
    id: str | None,
    seed: int,
    json: bool,
) -> None:
    """Say what was chosen, what to do with the list, and how it goes back."""
    remarks = [in_flags(text) for text in choice.remarks]
    saved = "todo.csv" if out is None or str(out) == "-" else str(out)
    back = None
    if policy in BACK:
        ctx = click.get_current_context()
        ranked = () if ctx.params["score"] else ("--score", (*read.names, "COLUMN")[0])
        back = command_to_paste("estimate", path, *ranked, "--audit", saved, leave=("auc",))
        if ctx.params["threshold"] is None:
            back += " --threshold T"
    if json:
        summary = {
            "chosen": len(choice),
            "asked": choice.asked,
            "candidates": choice.candidates,
            "by_policy": {
                word: int((choice.policy == word).sum()) for word in sorted(set(choice.policy))
            },
            "least_probability": float(choice.probability.min()) if len(choice) else None,
            "remarks": remarks,
            "out": saved,
            "label": answer,
            "policy": policy,
            "seed": seed,
            "next": back,
        }
        emit(summary, json=True)
        return
    for line in choice.summary().splitlines():
        say(line)
    for text in remarks:
        say(f"warning: {with_code(text)}")
    if not len(choice):
        return
    where = f"Written to {saved}" if out is not None and str(out) != "-" else "Save the rows"
    event, other = read.classes[-1], read.classes[0]
    kinds = f"{event} (an event) or {other} (none)" if len(read.classes) == 2 else "the class"
    say(
        f"{where}, in the order to be labelled. Fill in column {answer!r} with {kinds} from "
        "the top; leave empty what was not checked."
    )
    if back is not None:
        say(f"Then: {back}")
    elif (choice.probability < 1).any():
        say(f"They were sampled at random: each stands for 1 / {CHANCE!r} rows.")
    else:
        say("They were chosen by a rule: they improve a model, and represent no other rows.")


def play_plan(
    read: Candidates,
    threshold: float | None,
    n: tuple[int, ...],
    width: float | None,
    repeats: int,
    auc: float | None,
    level: float,
    seed: int,
    json: bool,
) -> None:
    """Play audits of several sizes through and say what they would be worth."""
    from scarce import plan_audit

    assert threshold is not None  # _refuse_flags
    with progress("Playing audits through") as tick:
        plan: AuditPlan = plan_audit(
            read.values,
            read.y,
            threshold=threshold,
            n=n or SIZES,
            inclusion=read.inclusion,
            auc=auc,
            level=level,
            repeats=repeats,
            random_state=seed,
            progress=tick,
        )
    earlier = read.inclusion is not None and bool((read.inclusion < 1).any())
    if earlier:
        plan = _without_now(plan)
    result = {**plan.to_dict(), "seed": seed}
    result["remarks"] = [in_flags(text) for text in plan.remarks]
    if earlier:
        result["remarks"].insert(0, ALONE)
    needed = None if width is None else plan.needed(width)
    if width is not None:
        result["checks_for_width"] = needed

    def show() -> None:
        for line in plan.summary().splitlines():
            write_line(line)
        for text in result["remarks"]:
            write_line(f"remark: {text}")
        if needed is not None:
            write_line(f"For a width of recall of {width:g}: {_enough(plan, needed)}")

    emit(result, json=json, show=show)


def _without_now(plan: AuditPlan) -> AuditPlan:
    """Return a plan without the labels at hand, which an earlier audit has sharpened already."""
    from dataclasses import replace

    names = ("n", "width", "width_low", "width_high", "most_missed", "found", "none_found")
    return replace(plan, **{name: getattr(plan, name)[1:] for name in names})


def _enough(plan: AuditPlan, needed: float) -> str:
    """Say how many checks bring a width, or which sizes to try next."""
    largest = int(plan.n[-1])
    if needed < float("inf"):
        return f"{needed:,.0f} checks, on average."
    if not plan.width[-1] >= 0:
        return "no number of checks gives it, because recall is 0 or unknown here."
    more = dict.fromkeys(min(plan.rows_below, times * largest) for times in (2, 4))
    return f"more than {largest:,} checks; try {' '.join(f'--n {size}' for size in more)}"
