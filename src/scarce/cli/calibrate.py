"""`scarce calibrate`: make probabilities right on rows whose outcomes are known.

    m.scarce + test.csv      -> a model file that predicts calibrated probabilities
    p.csv (prob, outcome)    -> the table, or new rows, with a calibrated column

The map is chosen by log loss on left-out rows. The loss before and after is shown with intervals,
and the rows that judge it had no part in the map, nor in its choice. As in `scarce correct`, the
new column takes the name of the old one, which stays as `before_prob`.
"""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.flags import in_flags, with_code
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, is_typed, takes
from scarce.cli.outcome_table import OutcomeTable, look_at, read_outcomes
from scarce.cli.output import (
    emit,
    progress,
    refuse_table_ending,
    rows_need_a_file,
    say,
    show_plan,
    table,
    write_line,
)
from scarce.cli.sampling_columns import SAMPLING, SamplingFlags
from scarce.cli.table_columns import ProbColumns, before_name, find_prob, prob_values
from scarce.errors import DataError, UsageError
from scarce.results import short

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm
    from scarce.prior.calibrate import Calibration


@click.command()
@click.argument("files", nargs=-1, type=INPUT, metavar="[MODEL] TABLE")
@takes(
    *("prob", LABELS, SAMPLING, "method", "new", "as"),
    *("out", "to", "formula-safe", "force", "level", "seed"),
    TEXT,
    *("trust", "dry-run", "json"),
)
def calibrate(
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    sampling: SamplingFlags,
    method: str,
    new: Path | None,
    named: str | None,
    out: Path | None,
    to: str | None,
    formula_safe: bool,
    force: bool,
    level: float,
    seed: int,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Calibrate probabilities or a model on rows with known outcomes.

    TABLE holds rows that the model was not fitted to, with their outcomes. Name a MODEL file first,
    and a calibrated model is written; or give a table with a column of probabilities, and a table
    is written in which they are calibrated: its own rows, or those of --new. How they are mapped is
    chosen on left-out rows, and with fewer than five events nothing is changed.

    \b
    Examples:
      scarce calibrate m.scarce test.csv --label fraud --out m2.scarce
      scarce calibrate p.csv --prob prob --label fraud --out q.csv
      scarce calibrate p.csv --label fraud --method platt --as prob_cal --out q2.csv
    """
    from scarce.io.sink import refuse_existing

    of_model = len(files) == 2
    refuse_existing(out, force)
    if of_model:
        _refuse_table_flags(named, to, formula_safe, new)
        if out is None or str(out) == "-":
            raise UsageError(
                "A calibrated model needs an output file: --out m2.scarce", code="no-output-file"
            )
        refuse_table_ending(out)
    elif not dry_run:
        rows_need_a_file(out, json, "q.csv")
    if dry_run:
        typed = [("--label", labels.label), *(("--prob", name) for name in prob)]
        look_at(files, form, [*typed, *sampling.given.items()])
        plan = {"reads": ", ".join(map(str, [*files, *([new] if new else [])])), "method": method}
        show_plan(plan | {"writes": str(out or "standard output")}, json=json)
        return
    judged = read_outcomes(
        files, "calibrate", labels=labels, prob=prob, sampling=sampling, form=form
    )
    if judged.learnt is not None:
        raise UsageError(judged.learnt.amended(remedy="Calibrate it on rows that it has not seen."))
    with progress("Calibrating"):
        found, result = _found(judged, method, level, seed)
    result["out"] = out and str(out)
    if of_model:
        _write_model(files[0], found, Path(str(out)), force=force)
    else:
        source = new or judged.path
        rows = _write_table(
            source, found, judged, named, form, out, to=to, force=force, formula_safe=formula_safe
        )
        result["written"] = rows
    emit(result, json=json, show=lambda: _show(judged, found, result, to_stdout=_on_stdout(out)))


def _on_stdout(out: Path | None) -> bool:
    return out is None or str(out) == "-"


def _refuse_table_flags(
    named: str | None, to: str | None, formula_safe: bool, new: Path | None
) -> None:
    given = {"as": named, "to": to, "formula-safe": formula_safe, "new": new}
    for name, value in given.items():
        if value and is_typed({"as": "named"}.get(name, name.replace("-", "_"))):
            raise UsageError(
                "--{option} is for tables of probabilities, and a model file was given.",
                code="argument-conflict",
                option=name,
                remedy="Leave it out.",
            )


def _found(
    judged: OutcomeTable, method: str, level: float, seed: int
) -> tuple[Calibration, dict[str, Any]]:
    """Return the map, and what it does to rows that had no part in it."""
    from scarce import log_loss
    from scarce.evaluation.compare import loss_difference
    from scarce.prior.calibrate import calibrate_left_out

    kept = judged.labelled()
    how = kept.drawn(level, seed)
    design = {name: how[name] for name in ("sample_weight", "weight_kind", "inclusion", "groups")}
    found, left_out = calibrate_left_out(
        kept.y, kept.prob, method=method, random_state=seed, **design
    )
    found = replace(found, classes=tuple(kept.classes))
    result: dict[str, Any] = {
        "table": judged.where,
        "model": judged.model or None,
        "rows": int(kept.known.sum()),
        "unlabelled": judged.unlabelled,
        "classes": [str(name) for name in kept.classes],
        "method": found.method,
        "base_rates": found.base_rates.tolist(),
        "before": log_loss(kept.y, kept.prob, **how),
        "after": log_loss(kept.y, left_out, **how),
        "gain": loss_difference(kept.y, kept.prob, left_out, **how),
        "comparison": found.comparison,
        "remarks": [in_flags(remark) for remark in found.remarks],
    }
    return found, result


def _write_model(path: Path, found: Calibration, out: Path, *, force: bool) -> None:
    """Write the model inside the map."""
    from scarce import Calibrated, save
    from scarce.cli.model_file import load_model

    save(Calibrated.around(load_model(path).model, found), str(out), force=force)


def _write_table(
    path: Path | None,
    found: Calibration,
    judged: OutcomeTable,
    named: str | None,
    form: TextForm,
    out: Path | None,
    *,
    to: str | None,
    force: bool,
    formula_safe: bool,
) -> int:
    """Walk a table and write it with calibrated probabilities; return the number of rows."""
    import numpy as np
    import pyarrow as pa

    from scarce.cli.table_columns import as_written
    from scarce.io.sink import write_tables
    from scarce.io.source import open_table

    if path is None:
        raise UsageError(
            "Standard input was read to find the map, and cannot be read again to write it.",
            code="argument-conflict",
            remedy="Name the table, or the new rows with --new.",
        )
    source = open_table(path, form)
    columns = find_prob(source, judged.columns)
    names = _new_names(source, columns, named)
    shape = as_written(source, out, to, form, (*columns.columns, *names))
    rows = 0
    with write_tables(out, to=to, force=force, form=form, formula_safe=formula_safe) as write:
        for part in source.tables(exact=True):
            given = prob_values(part, columns, source=source, form=form, start=rows)
            moved = found.apply(given)
            moved = moved[:, None] if moved.ndim == 1 else moved
            rows += len(given)
            for place, (column, name) in enumerate(zip(columns.columns, names, strict=True)):
                values = pa.array(np.ascontiguousarray(moved[:, place]))
                if named is None:
                    part = part.append_column(name, part.column(column))
                    part = part.set_column(part.column_names.index(column), column, values)
                else:
                    part = part.append_column(name, values)
            write(shape(part))
    return rows


def _new_names(source: TableSource, found: ProbColumns, named: str | None) -> list[str]:
    """Return the names of the columns that are added; refuse those that are there."""
    several = len(found.columns) > 1
    if named is not None and several and named.count("*") != 1:
        raise UsageError(
            "--as {named}: there are {count} columns of probabilities.",
            code="several-columns",
            named=named,
            count=len(found.columns),
            remedy="Give a name with one * for the class, such as --as 'cal_*'.",
        )
    if named is None:
        names = [before_name(name) for name in found.columns]
    else:
        names = [named.replace("*", name) for name in found.classes] if several else [named]
    for name in names:
        if name in source.names:
            raise DataError(
                "{table} already has a column {column!r}.",
                code="column-exists",
                table=source.where,
                column=name,
                remedy="Give another name: --as NAME",
            )
    return names


def _show(
    judged: OutcomeTable, found: Calibration, result: dict[str, Any], *, to_stdout: bool
) -> None:
    """Say what was found; beside rows on stdout on stderr, in a few lines."""
    for remark in found.remarks:
        say(f"Note: {with_code(in_flags(remark))}")
    before, after, gain = (result[name].brief() for name in ("before", "after", "gain"))
    lines = [
        f"{judged.where}: {result['rows']:,} rows with an outcome; taken: {found.method}.",
        f"Log loss on left-out rows {before} before, {after} after; gain {gain}.",
    ]
    if to_stdout:
        for line in lines:
            say(line)
        return
    write_line(lines[0])
    if found.comparison:
        rows = [
            [
                name,
                short(line["log_loss"]),
                "" if name == "none" else f"{short(line['gain'])} +- {short(line['gain_error'])}",
                short(line["brier"]),
            ]
            for name, line in found.comparison.items()
        ]
        table(rows, columns=["left-out rows", "log loss", "gain", "Brier score"])
    write_line(lines[1])
    write_line(f"Written: {result['out']}")
