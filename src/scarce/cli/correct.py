"""`scarce correct`: probabilities, or a model, moved from the class mix of training to today's.

    p'(y | x)  is proportional to  p(y | x) * now_at[y] / trained_at[y]        (prior/shift.py)

A table keeps its rows; the corrected column takes the place and the name of the old one, because
the next verb reads that name, and the old values stay beside it as `before_prob`, as written: so
nothing is lost, and a second correction by mistake is noticed. A model file is wrapped in
`PriorCorrected` (corrected_model.py).
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.options import INPUT, TEXT, is_typed, takes
from scarce.cli.output import emit, progress, rows_need_a_file, say, show_plan
from scarce.cli.prob_columns import (
    ProbColumns,
    before_name,
    find_prob,
    prob_values,
    table_or_stdin,
)
from scarce.cli.shares import (
    Shares,
    read_shares,
    shares_of_kept,
)
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm


@click.command()
@click.argument("source", type=INPUT, required=False, metavar="[TABLE|MODEL]")
@takes(
    *("prob", "trained-at", "now-at", "undersample", "as"),
    *("out", "to", "formula-safe", "force"),
    TEXT,
    *("dry-run", "json"),
)
def correct(
    source: Path | None,
    prob: tuple[str, ...],
    trained_at: tuple[str, ...],
    now_at: tuple[str, ...],
    undersample: tuple[str, ...],
    named: str | None,
    out: Path | None,
    to: str | None,
    formula_safe: bool,
    force: bool,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Recalibrate probabilities or a model to a new base rate.

    A model that learnt from a sample with too many events says too much everywhere. Give a table
    of probabilities with the share of events in training and now, or a model file, which knows its
    training. Corrected probabilities replace the column; the old ones stay in before_prob.

    \b
    Examples:
      scarce correct p.csv --prob prob --trained-at 0.13 --now-at 0.015 --out q.csv
      scarce correct p.csv --undersample 0.1 --as prob_now --out now.csv
      scarce correct m.scarce --now-at 0.015 --out m2.scarce
    """
    from scarce.cli.scoring import is_model
    from scarce.io.sink import refuse_existing
    from scarce.io.source import open_table

    _refuse_flags(trained_at, now_at, undersample)
    refuse_existing(out, force)
    if source is not None and is_model(source):
        from scarce.cli.corrected_model import correct_model

        _refuse_table_flags(prob, named, to, formula_safe)
        trained_at = trained_at if is_typed("trained_at") else ()
        correct_model(
            source,
            trained_at,
            now_at,
            undersample,
            out=out,
            force=force,
            dry_run=dry_run,
            json=json,
        )
        return
    if not trained_at and not undersample:
        raise UsageError(
            "--trained-at is not given: a table does not say what share of events its model was "
            "trained at. Give it, such as --trained-at 0.13, or correct the model file itself."
        )
    if not dry_run:
        rows_need_a_file(out, json, "q.csv")
    table = open_table(table_or_stdin(source, "correct"), form)
    found = find_prob(table, prob)
    classes = found.classes or ("no event", "event")
    before = read_shares(trained_at, classes, "--trained-at")
    after = read_shares(now_at, classes, "--now-at")
    if before is None or after is None:
        before, after = shares_of_kept(undersample, classes, before)
    names = _new_names(table, found, named)
    told = {"trained_at": before, "now_at": after} if trained_at else {}
    if dry_run:
        plan = {"read": table.where, "correct": ", ".join(found.columns), **told}
        plan |= {"add": ", ".join(names), "write": str(out or "standard output")}
        show_plan(plan, json=json)
        return
    sums = _write_corrected(
        table,
        found,
        names,
        before,
        after,
        form,
        out,
        to=to,
        force=force,
        formula_safe=formula_safe,
        replaced=named is None,
    )
    _tell(table, found, classes, sums, told, undersample, out, json=json)


def _refuse_flags(
    trained_at: Sequence[str], now_at: Sequence[str], undersample: Sequence[str]
) -> None:
    if now_at and undersample:
        raise UsageError(
            "--now-at and --undersample both say which class mix the world has. Give --now-at for "
            "a known share, or --undersample for the rate at which rows were kept."
        )
    if not now_at and not undersample:
        raise UsageError(
            "--now-at is not given: say what share of rows are events where the probabilities are "
            "used, such as --now-at 0.015, or how training was thinned out: --undersample 0.1."
        )


def _refuse_table_flags(
    prob: Sequence[str], named: str | None, to: str | None, formula_safe: bool
) -> None:
    given = {"prob": prob, "as": named, "to": to, "formula-safe": formula_safe}
    for name, value in given.items():
        if value and is_typed({"as": "named"}.get(name, name.replace("-", "_"))):
            raise UsageError(f"--{name} is for tables of probabilities, and this is a model file.")


def _new_names(table: TableSource, found: ProbColumns, named: str | None) -> list[str]:
    """Names of the columns that are added: those as they were, or the corrected ones."""
    if named is None:
        names = [before_name(name) for name in found.columns]
        for old, name in zip(names, found.columns, strict=True):
            if old in table.names:
                raise DataError(
                    f"{table.where} has a column {old!r}: {name!r} was corrected before, and would "
                    "be corrected twice. If that is meant, add it under a new name: --as NAME"
                )
        return names
    several = len(found.columns) > 1
    if several and named.count("*") != 1:
        raise UsageError(
            f"--as {named}: there are {len(found.columns)} columns of probabilities. Give a name "
            "with one * for the class, such as --as 'now_*'."
        )
    names = [named.replace("*", name) for name in found.classes] if several else [named]
    for name in names:
        if name in table.names:
            raise DataError(
                f"{table.where} has a column {name!r} already, and this would be a second one. "
                "Give another name: --as NAME"
            )
    return names


def _write_corrected(
    table: TableSource,
    found: ProbColumns,
    names: list[str],
    before: Shares,
    after: Shares,
    form: TextForm,
    out: Path | None,
    *,
    to: str | None,
    formula_safe: bool,
    force: bool,
    replaced: bool,
) -> tuple[int, Any, Any]:
    """Walk the table and write it; return the number of rows and the sums before and after."""
    import numpy as np
    import pyarrow as pa

    from scarce import correct_prior
    from scarce.cli.typed_parts import as_written
    from scarce.io.sink import write_tables

    rows, old_sums, new_sums = 0, np.zeros(len(names)), np.zeros(len(names))
    shape = as_written(table, out, to, form, (*found.columns, *names))
    sink = write_tables(out, to=to, force=force, form=form, formula_safe=formula_safe)
    with sink as write, progress("Correcting") as tick:
        for part in table.tables(exact=True, progress=tick):
            prob = prob_values(part, found, source=table, form=form, start=rows)
            moved = correct_prior(prob, before, after)
            if len(names) == 1:
                prob, moved = prob[:, None], moved[:, None]
            rows += len(prob)
            old_sums += prob.sum(axis=0)
            new_sums += moved.sum(axis=0)
            for place, (column, name) in enumerate(zip(found.columns, names, strict=True)):
                new = pa.array(np.ascontiguousarray(moved[:, place]))
                if replaced:
                    part = part.append_column(name, part.column(column))
                    part = part.set_column(part.column_names.index(column), column, new)
                else:
                    part = part.append_column(name, new)
            write(shape(part))
    return rows, old_sums, new_sums


def _tell(
    table: TableSource,
    found: ProbColumns,
    classes: Sequence[str],
    sums: tuple[int, Any, Any],
    told: dict[str, Shares],
    undersample: Sequence[str],
    out: Path | None,
    *,
    json: bool,
) -> None:
    """Say what was moved: the means before and after, beside the share that they should have."""
    from scarce.results import short

    rows, old_sums, new_sums = sums
    means = [
        {"column": name, "mean_before": old / max(rows, 1), "mean_after": new / max(rows, 1)}
        for name, old, new in zip(found.columns, old_sums, new_sums, strict=True)
    ]
    if json:
        mixes = {"trained_at": told.get("trained_at"), "now_at": told.get("now_at")}
        result = {"table": table.where, "rows": rows, "classes": list(classes), "prob": means}
        emit(result | mixes | {"kept": list(undersample), "out": out and str(out)}, json=True)
        return
    written = f" written to {out}" if out is not None and str(out) != "-" else ""
    say(f"{table.where}: {rows:,} row{'' if rows == 1 else 's'}{written}")
    now_at = told.get("now_at", [])
    shares = now_at if len(means) > 1 else now_at[1:]
    for place, one in enumerate(means if rows else []):
        line = f"  mean of {one['column']}: {short(one['mean_before'])} before, "
        line += f"{short(one['mean_after'])} now"
        if shares:
            line += f"; the share said to hold now is {short(shares[place])}"
        say(line)
    if shares and rows:
        say("For rows that are a fair sample of today's world the last two should be close.")
