"""`scarce decide`: from probabilities and costs to the cheapest action of every row.

Rows pass through as they were written and gain columns; memory does not grow with the table, unless
a budget makes all rows compete. The arithmetic is the library's: `decide`, `expected_cost`,
`decide_within`. What is decided, and how rows are counted, is in decide_parts.py.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.cost_flags import COSTS, CostFlags
from scarce.cli.next_command import shell_word
from scarce.cli.options import INPUT, TEXT, takes
from scarce.cli.output import (
    emit,
    on_terminal,
    progress,
    rows_need_a_file,
    say,
    show_plan,
    terminal_width,
)
from scarce.cli.prob_columns import (
    ProbColumns,
    find_prob,
    refuse_taken,
    table_or_stdin,
)
from scarce.cli.shares import read_shares
from scarce.errors import DataError, UsageError, suggest

if TYPE_CHECKING:
    from scarce import CostMatrix
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm


@click.command()
@click.argument("table", type=INPUT, required=False)
@takes(
    "prob",
    COSTS,
    *("positive", "trained-at", "now-at", "tie", "budget", "uses", "explain", "as"),
    *("out", "to", "formula-safe", "force"),
    TEXT,
    *("dry-run", "json"),
)
def decide(
    table: Path | None,
    prob: tuple[str, ...],
    costs: CostFlags,
    positive: str | None,
    trained_at: tuple[str, ...],
    now_at: tuple[str, ...],
    tie: str,
    budget: tuple[str, ...],
    uses: str | None,
    explain: bool,
    named: str | None,
    out: Path | None,
    to: str | None,
    formula_safe: bool,
    force: bool,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Choose the action with the lowest expected cost for each row.

    Say what mistakes cost, as numbers or as columns of the table, and every row of TABLE (or of
    standard input) gets the action with the least expected cost in a new column. With --abstain
    the doubtful rows go to a person. The other columns stay as they are written.

    \b
    Examples:
      scarce decide p.csv --prob prob --false-alarm 5 --miss 400 --abstain 3 --out d.csv
      scarce decide p.csv --costs costs.toml --trained-at 0.13 --now-at 0.015 --explain
      scarce predict m.scarce new.parquet | scarce decide --false-alarm 5 --miss 400
    """
    from scarce.cli.decide_parts import Decider, summary_lines
    from scarce.cli.typed_parts import as_written
    from scarce.io.sink import refuse_existing, write_tables
    from scarce.io.source import open_table

    if not dry_run:
        rows_need_a_file(out, json, "d.csv")
    refuse_existing(out, force)
    costs.refuse_replaced(out)
    _refuse_flags(costs, trained_at, now_at, tie, budget, uses)
    source = open_table(table_or_stdin(table, "decide"), form)
    found = find_prob(source, prob)
    costs = costs.among(source.names)
    unnamed = _matrix(costs)
    classes, read_as = _classes(found, unnamed, costs, positive)
    for column in costs.columns:
        source.column(column, option=costs.option(column))
        if column in found.columns:
            raise UsageError(
                f"{costs.option(column)} names {column!r}, the column of probabilities, which "
                "costs nothing. Give a number, or a column of amounts."
            )
    if uses is not None:
        source.column(uses, option="--uses")
    matrix = _matrix(costs, classes)
    mixes = {
        "trained_at": read_shares(trained_at, classes, "--trained-at"),
        "now_at": read_shares(now_at, classes, "--now-at"),
    }
    decider = Decider(
        source=source,
        form=form,
        prob=found,
        classes=tuple(classes),
        costs=costs,
        matrix=matrix,
        mixes={name: shares for name, shares in mixes.items() if shares is not None},
        tie=tie,
        capacity=_capacity(budget, matrix, unnamed=bool(unnamed.positional), whole=uses is None),
        uses=uses,
        explain=explain,
        named=named,
    )
    refuse_taken(source, decider.new_columns, "--as")
    if dry_run:
        show_plan(_plan(source, decider, read_as, out, to), json=json)
        return
    shape = as_written(source, out, to, form, decider.numbers)
    sink = write_tables(out, to=to, force=force, form=form, formula_safe=formula_safe)
    with sink as write, progress("Deciding") as tick:
        if budget:
            write(shape(decider.add(source.read(exact=True, progress=tick))))
        else:
            for part in source.tables(exact=True, progress=tick):
                write(shape(decider.add(part)))
    decider.finish()
    result = decider.to_dict() | {"table": source.where, "out": out and str(out)}
    if json:
        emit(result, json=True)
        return
    room = terminal_width() if on_terminal() else None
    for line in summary_lines(decider, read_as, out, room):
        say(line)


def _refuse_flags(
    costs: CostFlags,
    trained_at: tuple[str, ...],
    now_at: tuple[str, ...],
    tie: str,
    budget: tuple[str, ...],
    uses: str | None,
) -> None:
    """Refuse flags that cannot work together, before anything is read."""
    costs.refuse_contradictions()
    if not costs.given:
        _matrix(costs)
    if bool(trained_at) != bool(now_at):
        given, other = ("--now-at", "--trained-at") if now_at else ("--trained-at", "--now-at")
        raise UsageError(f"{given} without {other}: moving probabilities needs both class mixes.")
    if budget and tie == "last":
        raise UsageError(
            "--tie last and --budget exclude each other: with a budget, of equal rows the first "
            "ones are taken."
        )
    if uses is not None and not budget:
        raise UsageError(
            f"--uses {uses} says what a row takes up of a budget, and there is none. Give it, such "
            "as --budget 40."
        )


def _matrix(costs: CostFlags, classes: list[Any] | None = None) -> CostMatrix:
    """The costs, which this verb cannot do without."""
    matrix = costs.matrix(classes)
    if matrix is None:
        raise UsageError(
            "There are no costs, and without them no action is the cheapest. Say what mistakes "
            "cost, such as --false-alarm 5 --miss 400, or give a file: --costs costs.toml."
        )
    return matrix


def _classes(
    found: ProbColumns, matrix: CostMatrix, costs: CostFlags, positive: str | None
) -> tuple[list[Any], str]:
    """The classes in the order of the columns, negative first, and how that was understood."""
    own = None if matrix.positional else list(matrix.classes)
    if len(found.columns) > 1:
        if positive is not None:
            raise UsageError(
                f"--positive {positive} says what one column of probabilities is of, and there are "
                f"{len(found.columns)}: {', '.join(found.columns)}. Leave it out."
            )
        classes: list[Any] = list(found.classes)
        known = set() if own is None else set(map(str, own))
        if found.in_order and own and len(own) == len(classes) and not known & set(classes):
            classes = own  # listed one by one under other names: their order is meant
        pairs = ", ".join(f"{c} of {k}" for c, k in zip(found.columns, classes, strict=True))
        return classes, f"probabilities: {pairs}"
    column = found.columns[0]
    if len(matrix.classes) != 2:
        raise DataError(
            f"{costs.file} has costs for {len(matrix.classes)} classes "
            f"({', '.join(map(str, matrix.classes))}), and {column!r} is one column: name a column "
            "for each class, such as --prob 'prob_*'."
        )
    if own is None:
        if positive is None:
            return ["no event", "event"], (
                f"{column!r} is read as the probability of the event (--positive names it)"
            )
        return [f"not {positive}", positive], f"{column!r} is the probability of {positive}"
    names = [str(name) for name in own]
    if positive is None:
        return own, (
            f"{column!r} is read as the probability of {names[1]}, the last class in {costs.file}; "
            f"if it is that of {names[0]}: --positive {shell_word(names[0])}"
        )
    if positive not in names:
        raise UsageError(
            f"--positive {positive}: {costs.file} has the classes {' and '.join(names)}."
            f"{suggest(positive, names)} Give one of them."
        )
    place = names.index(positive)
    return [own[1 - place], own[place]], f"{column!r} is the probability of {positive}"


def _capacity(
    budget: tuple[str, ...], matrix: CostMatrix, *, unnamed: bool, whole: bool
) -> dict[Any, float]:
    """How many rows, or units, each limited action may have."""
    room: dict[Any, float] = {}
    by_name = {str(name): name for name in matrix.actions}
    acting = str(matrix.actions[1] if unnamed else matrix.classes[-1])
    for text in budget:
        name, mark, number = text.rpartition("=")
        name = name if mark else acting
        if name not in by_name:
            raise UsageError(
                f"--budget {text} does not say which action is limited: they are "
                f"{', '.join(by_name)}.{suggest(name, by_name)} Put its name before the number: "
                "--budget ACTION=200"
            )
        if by_name[name] in room:
            raise UsageError(f"--budget limits {name!r} twice: give one limit.")
        try:
            most = int(number) if whole else float(number)
        except ValueError:
            kind = "a whole number of rows" if whole else "a number"
            raise UsageError(f"--budget {text}: {number!r} is not {kind}, such as 200.") from None
        if not 0 <= most < float("inf"):
            raise UsageError(f"--budget {text}: give a number of 0 or more.")
        room[by_name[name]] = most
    return room


def _plan(
    source: TableSource, decider: Any, read_as: str, out: Path | None, to: str | None
) -> dict[str, Any]:
    target = "standard output" if out is None or str(out) == "-" else str(out)
    return {
        "read": source.where,
        "columns": ", ".join((*decider.prob.columns, *decider.costs.columns)),
        "understood": read_as,
        "costs": decider.matrix.to_dict(),
        "add": ", ".join(decider.new_columns),
        "write": target,
        "format": to or "by ending, csv on standard output",
        "memory": "all rows" if decider.capacity else "constant",
    }
