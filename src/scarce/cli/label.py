"""`scarce label`: which rows should be labelled next, and how likely was each to be chosen?

Calls `choose_labels` and `plan_audit`. The list holds the chosen rows with the probability of each
and what they were drawn from, in the order to be labelled; completed, it goes back with `scarce
estimate --audit`. An option that would do nothing is refused: whoever typed it expects an effect.
Scores and labels of all rows are kept in memory, the other columns are not.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
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
from scarce.cli.label_columns import for_events, reading_of, refuse_many, seen_labels, settled
from scarce.cli.next_command import command_to_paste
from scarce.cli.options import INPUT, LABELS, TEXT, Group, LabelFlags, is_typed, takes, typed
from scarce.cli.output import emit, progress, rows_need_a_file, say, show_plan, write_line
from scarce.cli.sampling_columns import CHANCE, FRAME, POLICY
from scarce.cli.scored_table import batch_column, named_as, thresholds, unit_columns
from scarce.cli.table_columns import find_prob, refuse_nested, refuse_unscored, table_or_stdin
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.cli.label_columns import Reading
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm
    from scarce.missed.choose import LabelChoice
    from scarce.missed.plan import AuditPlan
    from scarce.missed.stopping import Stopping

OF_POLICY = {
    "strata": ("audit", "stratified"),
    "allocation": ("stratified",),
    "band": ("audit", "pps"),
    "by": ("uncertainty",),
    "explore": ("uncertainty",),
}
BELOW = ("audit", "pps")  # which need a threshold
BY_LOT = ("audit", "stratified", "random", "pps")  # which draw within batches, and incidents
BACK = (*BY_LOT, "tail", "adaptive")  # whose labels an estimate can take
DESIGNS = ("audit", "stratified", "random")  # which a plan compares
OF_PLAN = ("repeats", "cost_per_label", "width")
SIZES = (25, 50, 100, 200, 400)


@dataclass(frozen=True)
class Choice:
    """How rows are to be chosen, as typed; names as those of the options."""

    threshold: tuple[str, ...]
    policy: str
    n: tuple[int, ...]
    batch: str | None
    group: str | None
    second: str | None
    by: str
    explore: float
    strata: int
    allocation: str
    band: float
    plan: bool
    width: float | None
    repeats: int
    cost_per_label: float | None
    assume: str
    until: str | None
    confidence: float

    @property
    def unsure(self) -> bool:
        """Whether rows are chosen by probabilities."""
        return self.policy == "uncertainty" and not self.plan

    @property
    def columns(self) -> dict[str, str | None]:
        """The columns that were named, by option."""
        return {"--batch": self.batch, "--group": self.group, "--second": self.second}

    @property
    def target(self) -> float | None:
        """The recall that is to be proven; None without --until."""
        if self.until is None:
            return None
        name, _, value = self.until.partition("=")
        share = typed(value.strip())
        if name.strip() != "recall" or isinstance(share, str) or not 0 < float(share) < 1:
            raise UsageError(
                "--until must be recall=SHARE, with a share between 0 and 1, got {value!r}.",
                code="until-value",
                value=self.until,
                remedy="Type --until recall=0.8, for example.",
            )
        return float(share)

    @property
    def mark(self) -> Any:
        """The threshold, or one of each batch; None without."""
        return thresholds(self.threshold, self.batch) if self.threshold else None

    def settled(self) -> Choice:
        """Return the choice without settings, not typed, that this policy does not look at."""
        if self.plan or self.policy in BY_LOT:
            return self
        return replace(
            self,
            batch=self.batch if is_typed("batch") else None,
            group=self.group if is_typed("group") else None,
            second=self.second if is_typed("second") else None,
        )


CHOICE = Group(
    "choice",
    (
        *("threshold", "policy", "n", "batch", "group", "second", "by", "explore", "strata"),
        *("allocation", "band", "plan", "width", "repeats", "cost-per-label", "assume"),
        *("until", "confidence"),
    ),
    Choice,
)


@click.command()
@click.argument("table", type=INPUT, required=False)
@takes(
    *("score", "prob"),
    LABELS,
    CHOICE,
    *("costs", "audit", "id", "level", "seed"),
    *("out", "to", "formula-safe", "force"),
    TEXT,
    *("dry-run", "json"),
)
def label(
    table: Path | None,
    score: str | None,
    prob: tuple[str, ...],
    labels: LabelFlags,
    choice: Choice,
    costs: Path | None,
    audit: tuple[Path, ...],
    id: str | None,
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

    Writes the chosen rows in the order to be labelled, with an empty label to fill in, the
    probability with which each was sampled, and what it was sampled from. The completed list goes
    back with `scarce estimate ... --audit todo.csv`. With --plan no rows are chosen: it estimates
    what more labels are worth.

    \b
    Examples:
      scarce label scores.csv --score score --label label --threshold 2.5 --n 100 -o todo.csv
      scarce label scores.csv --score score --label label --threshold 2.5 --plan --width 0.2
      scarce label p.csv --prob prob --policy uncertainty --n 50 --id id --out unsure.csv
    """
    from scarce.io.sink import refuse_existing, write_tables
    from scarce.io.source import open_table

    choice = choice.settled()
    refuse_flags(score, prob, choice, costs)
    if not (dry_run or choice.plan):
        rows_need_a_file(out, json, "todo.csv")
    refuse_own_input(out, {"the table": table, "the cost file": costs}, audit)
    refuse_existing(out, force)
    source = open_table(table_or_stdin(table, "label"), form)
    values: tuple[str, ...] = (score,) if score is not None else ()
    if score is None and (prob or choice.policy != "random" or choice.plan):
        values = find_prob(source, prob).columns
    if len(values) > 1 and not choice.unsure:
        raise UsageError(
            "--prob names {count} columns, and --policy {policy} takes one.",
            code="several-columns",
            count=len(values),
            policy=choice.policy,
            remedy="Give one.",
        )
    named: dict[str, str | None] = {"--score": score}
    if score is None:
        named = {f"--prob {name}": name for name in values}
    named = {**named, "--label": labels.label, "--id": id, **choice.columns}
    refuse_same(named)
    refuse_nested(source, named)
    for option, name in (
        *(("--score", score), ("--label", labels.label), ("--id", id)),
        *choice.columns.items(),
    ):
        if name is not None:
            source.column(name, option)
    answer = labels.label or ANSWER
    added = [*([ROW] if id is None else []), CHANCE, POLICY, FRAME]
    if not choice.plan:
        refuse_taken_names(source, [*added, *([answer] if labels.label is None else [])])
    if dry_run:
        sizes = list(choice.n or SIZES)
        show_plan(
            {
                "reads": source.where,
                "columns": [
                    *(*values, *([labels.label] if labels.label else [])),
                    *filter(None, choice.columns.values()),
                ],
                "memory": "scores and labels of all rows"
                + ("; all columns, from a pipe" if source.once else ""),
                "computes": f"plan of checks {sizes}"
                if choice.plan
                else f"{choice.policy}, n {choice.n[0]}",
                "writes": None if choice.plan else str(out or "stdout"),
            },
            json=json,
        )
        return
    held: Any = source.read(exact=True) if source.once else None
    with progress("Reading") as tick:
        read = _read(source, held, values, choice, answer, labels, audit, id, costs, form, tick)
    if not choice.unsure:
        refuse_many(answer, read.classes)
    if choice.plan:
        play_plan(read, choice, level, seed, json)
        return
    proof = None
    if choice.target is not None:
        proof = _proof(read, choice)
        if proof.stop:
            tell_proof(proof, json)
            return
        if not json:
            say(in_words(proof))
    chosen = _choose(read, choice, seed)
    rows, ids = _chosen_rows(source, held, chosen, read.n_rows, answer, id)
    if id is not None:
        refuse_shared_ids(rows.column(id), ids, id, source.where)
    with write_tables(out, to=to, force=force, form=form, formula_safe=formula_safe) as write:
        write(rows)
    tell(chosen, read, table, answer, choice.policy, out, id, seed, json, proof)


def _read(
    source: TableSource,
    held: Any,
    names: tuple[str, ...],
    choice: Choice,
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
    numbers, unsure = reading.numbers, choice.unsure
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
    second = () if choice.second is None else (choice.second,)
    read_as_numbers = list(dict.fromkeys((*names, *second, *amounts)))
    wanted = [*read_as_numbers, answer, *filter(None, (choice.batch, choice.group))]
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
        y, classes = _labels_of(table, answer, reading, source, form, events=not unsure)
    except DataError as error:
        error = error if unsure else for_events(error)
        raise error if lists is None else lists.explained(error) from None
    chance = None if lists is None else number_column(table, JOINED)
    if amounts and matrix is not None:
        matrix = matrix.bind({name: number_column(table, name) for name in amounts})
    units = unit_columns(table, choice.group, choice.second, source, form)
    if choice.batch is not None:
        units["batch"] = batch_column(table, choice.batch, source.where)
    return Candidates(names, values, y, classes, n_rows, chance, units, matrix)


def _labels_of(
    table: Any, answer: str, reading: Reading, source: TableSource, form: TextForm, *, events: bool
) -> tuple[Any, tuple[Any, ...]]:
    """Return class positions, NaN where not labelled, and the classes."""
    import numpy as np

    from scarce.cli.label_columns import describe_labels, read_labels

    n_rows = table.num_rows
    if answer not in table.column_names:
        return np.full(n_rows, np.nan), (0, 1)
    column = table.column(answer)
    if column.null_count == n_rows:
        say(f"Label {answer!r} is empty in all {n_rows:,} rows: none is labelled yet.")
        return np.full(n_rows, np.nan), (0, 1)
    try:
        found = read_labels(column, answer, reading.flags, where=source.where, form=form)
    except DataError as error:
        seen = seen_labels([table], answer, form)
        known = settled(error, seen, answer, reading.flags) if events else None
        if known is None:
            raise
        flags, said = known
        found = read_labels(column, answer, flags, where=source.where, form=form, quiet=True)
        say(said or describe_labels(answer, found.classes, found.y, reading.flags))
    return found.y, found.classes


def _choose(read: Candidates, choice: Choice, seed: int) -> LabelChoice:
    from scarce import choose_labels

    mark, batches = choice.mark, read.units.get("batch")
    return choose_labels(
        read.values,
        read.y,
        policy=choice.policy,
        n=choice.n[0],
        threshold=mark if batches is None else named_as(mark, batches),
        random_state=seed,
        by=choice.by,
        costs=read.costs,
        explore=choice.explore,
        strata=choice.strata,
        allocation=choice.allocation,
        band=choice.band,
        date=f"{datetime.now(UTC).astimezone():%Y-%m-%d}",
        **read.units,
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
    for name, words in ((POLICY, choice.policy), (FRAME, choice.frame)):
        table = table.append_column(name, pa.array(words.tolist(), pa.string()))
    return table, ids


def refuse_flags(
    score: str | None, prob: tuple[str, ...], choice: Choice, costs: Path | None
) -> None:
    """Refuse flags that cannot work together, before anything is read."""
    policy, plan, n = choice.policy, choice.plan, choice.n
    if choice.unsure and score is not None:
        raise UsageError(
            "--policy uncertainty needs probabilities.",
            code="argument-conflict",
            remedy="Give --prob, not --score.",
        )
    # needs nothing to rank by
    unranked = policy == "random" and not plan and not choice.threshold
    if not choice.unsure and not unranked and score is None and not prob:
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
    if not choice.threshold and (plan or policy in BELOW):
        raise UsageError(
            "--threshold is missing: rows are drawn below it.",
            code="no-threshold",
        )
    if isinstance(choice.mark, dict) and plan:
        raise UsageError(
            "--plan takes one threshold, and {count} were given.",
            code="several-thresholds",
            count=len(choice.threshold),
            remedy="Plan the batches one by one.",
        )
    if choice.target is not None:
        _refuse_until(choice)
    if (choice.by == "cost") != (costs is not None):
        raise UsageError(
            "--by cost and --costs FILE need each other.",
            code="argument-conflict",
            remedy="Give both or neither.",
        )
    _refuse_idle(choice)


def _refuse_until(choice: Choice) -> None:
    """Refuse flags that a proof of recall cannot take."""
    several = [option for option, name in choice.columns.items() if name is not None]
    if choice.plan or choice.policy not in DESIGNS or not choice.threshold or several:
        raise UsageError(
            "--until needs one --threshold and --policy audit, stratified or random, without "
            "--plan, --batch, --group and --second.",
            code="argument-conflict",
            remedy="Leave the others out.",
        )


def _refuse_idle(choice: Choice) -> None:
    """Refuse flags that were typed and would do nothing."""
    policy, plan = choice.policy, choice.plan
    if plan and policy not in DESIGNS:
        raise UsageError(
            "--plan simulates --policy audit, stratified or random, not {policy}.",
            code="argument-conflict",
            policy=policy,
            remedy="Leave one out.",
        )
    for name, users in OF_POLICY.items():
        if is_typed(name) and not plan and policy not in users:
            raise UsageError(
                "--{option} is for --policy {policies}, not --policy {used}.",
                code="unused-argument",
                option=name,
                policies=" or ".join(users),
                used=policy,
                remedy="Leave it out.",
            )
    for name in (*OF_POLICY, "out", "to"):
        if plan and is_typed(name):
            raise UsageError(
                "--{option} is for a list, and --plan chooses no rows.",
                code="unused-argument",
                option=name,
                remedy="Leave one of the two out.",
            )
    if is_typed("assume") and not plan and choice.until is None:
        raise UsageError(
            "--assume needs --plan or --until.",
            code="unused-argument",
            remedy="Add one of them.",
        )
    if is_typed("confidence") and choice.until is None:
        raise UsageError(
            "--confidence needs --until.",
            code="unused-argument",
            remedy="Add it.",
        )
    for name in OF_PLAN:
        if not plan and is_typed(name):
            raise UsageError(
                "--{option} needs --plan.",
                code="unused-argument",
                option=name.replace("_", "-"),
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
    units: dict[str, Any]  # batches, incidents and second scores, as the library's arguments
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
    proof: Stopping | None = None,
) -> None:
    """Say what was chosen, what to do with the list, and how it goes back."""
    remarks = [in_flags(text) for text in choice.remarks]
    saved = "todo.csv" if out is None or str(out) == "-" else str(out)
    back = None
    if policy in BACK:
        ctx = click.get_current_context()
        ranked = () if ctx.params["score"] else ("--score", (*read.names, "COLUMN")[0])
        back = command_to_paste("estimate", path, *ranked, "--audit", saved)
        if not ctx.params["threshold"]:
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
        if proof is not None:
            summary["proof"] = as_record(proof)
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


def _proof(read: Candidates, choice: Choice) -> Stopping:
    """Ask whether enough recall is proven by the labels so far."""
    from scarce import stop_when

    assert choice.target is not None  # asked for
    return stop_when(
        read.values,
        read.y,
        recall=choice.target,
        confidence=choice.confidence,
        threshold=choice.mark,
        inclusion=read.inclusion,
        assume=choice.assume,
    )


def in_words(proof: Stopping) -> str:
    """Return the answer in a sentence or two, and what to be careful about, in flags."""
    lines = [proof.summary(), *(f"remark: {in_flags(one)}" for one in proof.remarks)]
    return "\n".join(lines)


def as_record(proof: Stopping) -> dict[str, Any]:
    """Return the answer as `emit` takes it, its remarks in flags."""
    return {**proof.to_dict(), "remarks": [in_flags(one) for one in proof.remarks]}


def tell_proof(proof: Stopping, json: bool) -> None:
    """Say that enough is proven: no further list is written."""
    emit(
        {"chosen": 0, "proof": as_record(proof)},
        json=json,
        show=lambda: write_line(in_words(proof)),
    )


def play_plan(read: Candidates, choice: Choice, level: float, seed: int, json: bool) -> None:
    """Simulate checks of several sizes and say what they would be worth."""
    from scarce.missed.plan import cheapest_design
    from scarce.results import short

    plans = _plans(read, choice, level, seed)
    plan, width = plans[choice.policy], choice.width
    result = {**plan.to_dict(), "seed": seed}
    result["remarks"] = [in_flags(text) for text in plan.remarks]
    if "batch" in read.units:
        result["remarks"].insert(0, ONE_BATCH)
    said = []
    if width is not None:
        needed = plan.needed(width)
        cheapest, least = cheapest_design(list(plans.values()), width)
        result["checks_for_width"] = needed
        result["cost_for_width"] = _cost(choice, needed)
        result["cheapest"] = {
            "policy": cheapest.design,
            "checks": least,
            "cost": _cost(choice, least),
        }
        said.append(f"For a width of recall of {width:g}: {_enough(plan, needed, choice)}")
        if least < float("inf"):
            others = ", ".join(f"{name} {_checks(plans[name].needed(width))}" for name in plans)
            said.append(f"The cheapest policy is {cheapest.design} (checks needed: {others}).")
    elif choice.cost_per_label is not None:
        prices = ", ".join(
            f"{int(n):,} for {short(float(n) * choice.cost_per_label)}" for n in plan.n[1:]
        )
        said.append(f"Checks and their cost: {prices}.")

    def show() -> None:
        for line in plan.summary().splitlines():
            write_line(line)
        for text in result["remarks"]:
            write_line(f"remark: {text}")
        for line in said:
            write_line(line)

    emit(result, json=json, show=show)


ONE_BATCH = "The plan is for all rows as one batch."


def _plans(read: Candidates, choice: Choice, level: float, seed: int) -> dict[str, AuditPlan]:
    """Return the plan of the policy asked for; where a width is asked for, those of all three."""
    from scarce import plan_audit
    from scarce.missed.units import read_units

    units = read_units(
        read.values,
        read.y,
        choice.mark,
        read.units.get("groups"),
        read.units.get("second_scores"),
    )
    chance = None if read.inclusion is None else units.gather(read.inclusion)
    designs = [choice.policy]
    if choice.width is not None:
        designs = [choice.policy, *(one for one in DESIGNS if one != choice.policy)]
    plans = {}
    for design in designs:
        with progress(f"Simulating checks ({design})") as tick:
            plans[design] = plan_audit(
                units.scores,
                units.labels,
                threshold=choice.mark,
                n=choice.n or SIZES,
                design=design,
                inclusion=chance,
                assume=choice.assume,
                cost_per_label=choice.cost_per_label,
                level=level,
                repeats=choice.repeats,
                random_state=seed,
                progress=tick,
            )
    return plans


def _cost(choice: Choice, checks: float) -> float | None:
    return None if choice.cost_per_label is None else checks * choice.cost_per_label


def _checks(needed: float) -> str:
    return f"{needed:,.0f}" if needed < float("inf") else "more than were tried"


def _enough(plan: AuditPlan, needed: float, choice: Choice) -> str:
    """Say how many checks bring a width and what they cost, or which sizes to try next."""
    from scarce.results import short

    largest = int(plan.n[-1])
    if needed < float("inf"):
        price = _cost(choice, needed)
        return f"{needed:,.0f} checks, on average" + (
            "." if price is None else f", at a cost of {short(price)}."
        )
    if not plan.width[-1] >= 0:
        return "no number of checks gives it, because recall is 0 or unknown here."
    more = dict.fromkeys(min(plan.rows_below, times * largest) for times in (2, 4))
    return f"more than {largest:,} checks; try {' '.join(f'--n {size}' for size in more)}"
