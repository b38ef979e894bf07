"""`scarce correct`: recalibrate probabilities, or a model, from one base rate to another.

    p'(y | x)  is proportional to  p(y | x) * now_at[y] / trained_at[y]

A table keeps its rows. The corrected column takes the place and the name of the old one, because
the next verb reads that name; the old values stay beside it as `before_prob`, so that nothing is
lost and a second correction by mistake is noticed. A model file is wrapped in `PriorCorrected`,
which predicts the same bits; a model that was corrected before gets the new base rate instead.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.base_rates import (
    VALIDATION,
    Shares,
    estimated_rates,
    read_shares,
    shares_of_kept,
    validation_columns,
    wants_estimate,
)
from scarce.cli.options import INPUT, LABELS, TEXT, Group, LabelFlags, is_typed, names_of, takes
from scarce.cli.output import emit, progress, refuse_table_ending, rows_need_a_file, say, show_plan
from scarce.cli.table_columns import (
    ProbColumns,
    before_name,
    find_prob,
    prob_values,
    table_or_stdin,
)
from scarce.errors import DataError, UsageError
from scarce.results import short

if TYPE_CHECKING:
    from scarce.cli.model_file import LoadedModel
    from scarce.cli.sampling_columns import SamplingFlags
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm
    from scarce.prior.label_shift import ShareEstimate


@click.command()
@click.argument("source", type=INPUT, required=False, metavar="[TABLE|MODEL]")
@takes(
    *("prob", "trained-at", "now-at", "undersample", "validation"),
    LABELS,
    Group("sampling", VALIDATION, validation_columns),
    "as",
    *("out", "to", "formula-safe", "force"),
    TEXT,
    *("trust", "dry-run", "json"),
)
def correct(
    source: Path | None,
    prob: tuple[str, ...],
    trained_at: tuple[str, ...],
    now_at: tuple[str, ...],
    undersample: tuple[str, ...],
    validation: Path | None,
    labels: LabelFlags,
    sampling: SamplingFlags,
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

    A model fitted to a sample with too many events gives probabilities that are too high. Give a
    table of probabilities with the base rate in training and now, or a model file, which stores
    its own. Corrected probabilities replace the column; the old ones stay in before_prob.

    \b
    Examples:
      scarce correct p.csv --prob prob --trained-at 0.13 --now-at 0.015 --out q.csv
      scarce correct p.csv --undersample 0.1 --as prob_now --out now.csv
      scarce correct m.scarce --now-at 0.015 --out m2.scarce
    """
    from scarce.cli.model_file import is_model
    from scarce.io.sink import refuse_existing
    from scarce.io.source import open_table

    _refuse_flags(trained_at, now_at, undersample)
    estimated = wants_estimate(now_at, validation, labels.label, (*names_of("labels"), *VALIDATION))
    refuse_existing(out, force)
    if source is not None and is_model(source):
        if estimated:
            raise UsageError(
                "--now-at auto is for tables of probabilities, and this is a model file.",
                code="argument-conflict",
                remedy="Predict today's rows first (scarce predict) and correct these.",
            )
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
    if not trained_at and not undersample and not estimated:
        raise UsageError(
            "--trained-at is missing: a table does not say the base rate that its model was "
            "trained at.",
            code="no-base-rate",
            remedy="Give it, such as --trained-at 0.13, or correct the model file itself.",
        )
    if not dry_run:
        rows_need_a_file(out, json, "q.csv")
    table = open_table(table_or_stdin(source, "correct"), form)
    found = find_prob(table, prob)
    classes = found.classes or ("no event", "event")
    before = read_shares(trained_at, classes, "--trained-at")
    today = None
    if estimated and validation is not None:
        today = estimated_rates(
            table, found, before, validation, "correct", classes, prob=prob, labels=labels,
            sampling=sampling, form=form,
        )  # fmt: skip
        before = list(today.trained_at)
        after: Shares | None = [one.value for one in today.shares]
    else:
        after = read_shares(now_at, classes, "--now-at")
    if before is None or after is None:
        before, after = shares_of_kept(undersample, classes, before)
    names = _new_names(table, found, named)
    told = {"trained_at": before, "now_at": after} if trained_at or today else {}
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
    _tell(table, found, classes, sums, told, undersample, out, today, json=json)


def _refuse_flags(
    trained_at: Sequence[str], now_at: Sequence[str], undersample: Sequence[str]
) -> None:
    if now_at and undersample:
        raise UsageError(
            "--now-at and --undersample both determine the new base rate.",
            code="argument-conflict",
            remedy=(
                "Give --now-at for a known base rate, or --undersample for the fraction of rows "
                "kept."
            ),
        )
    if not now_at and not undersample:
        raise UsageError(
            "--now-at is missing.",
            code="no-base-rate",
            remedy=(
                "Give the base rate where the probabilities are used, such as --now-at 0.015, or "
                "how training rows were sampled: --undersample 0.1."
            ),
        )


def _refuse_table_flags(
    prob: Sequence[str], named: str | None, to: str | None, formula_safe: bool
) -> None:
    given = {"prob": prob, "as": named, "to": to, "formula-safe": formula_safe}
    for name, value in given.items():
        if value and is_typed({"as": "named"}.get(name, name.replace("-", "_"))):
            raise UsageError(
                "--{option} is for tables of probabilities, and this is a model file.",
                code="argument-conflict",
                option=name,
                remedy="Leave it out.",
            )


def _new_names(table: TableSource, found: ProbColumns, named: str | None) -> list[str]:
    """Names of the columns that are added: those as they were, or the corrected ones."""
    if named is None:
        names = [before_name(name) for name in found.columns]
        for old, name in zip(names, found.columns, strict=True):
            if old in table.names:
                raise DataError(
                    "{table} has a column {column!r}: {name!r} was corrected before.",
                    code="corrected-twice",
                    table=table.where,
                    column=old,
                    name=name,
                    remedy="To correct it again, write to a new column: --as NAME",
                )
        return names
    several = len(found.columns) > 1
    if several and named.count("*") != 1:
        raise UsageError(
            "--as {named}: there are {count} columns of probabilities.",
            code="several-columns",
            named=named,
            count=len(found.columns),
            remedy="Give a name with one * for the class, such as --as 'now_*'.",
        )
    names = [named.replace("*", name) for name in found.classes] if several else [named]
    for name in names:
        if name in table.names:
            raise DataError(
                "{table} already has a column {column!r}.",
                code="column-exists",
                table=table.where,
                column=name,
                remedy="Give another name: --as NAME",
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
    from scarce.cli.table_columns import as_written
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
    today: ShareEstimate | None,
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
        result: dict[str, Any] = {"table": table.where, "rows": rows, "classes": list(classes)}
        result["prob"] = means
        if today is not None:
            result["estimate"] = today.to_dict()
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
            word = "said" if today is None else "estimated"
            line += f"; the share {word} to hold now is {short(shares[place])}"
        say(line)
    for line in [] if today is None else str(today).splitlines():
        say(line)
    if shares and rows and today is None:
        say("For a representative sample of today's rows the last two should be close.")


def correct_model(
    path: Path,
    trained_at: Sequence[str],
    now_at: Sequence[str],
    undersample: Sequence[str],
    *,
    out: Path | None,
    force: bool,
    dry_run: bool,
    json: bool,
) -> None:
    """Read a model file, move it to another class mix, and write it to another file.

    `trained_at` is what was typed; a model that knows better refuses it.
    """
    from scarce import PriorCorrected, correct_prior, save
    from scarce.cli.model_file import load_model

    if (out is None or str(out) == "-") and not dry_run:
        raise UsageError(
            "A corrected model needs an output file: --out m2.scarce",
            code="no-output-file",
        )
    if out is not None:
        refuse_table_ending(out)
    loaded = load_model(path)
    classes = list(loaded.classes)
    again = isinstance(loaded.model, PriorCorrected)
    before, after = _base_rates(loaded, trained_at, now_at, undersample)
    event = str(classes[-1])
    result: dict[str, Any] = {
        "model": str(path),
        "kind": loaded.kind,
        "classes": [str(name) for name in classes],
        "trained_at": before,
        "now_at": after,
        "out": out and str(out),
    }
    if dry_run:
        show_plan(result, json=json)
        return
    model = (
        _recalibrated(loaded.model, after)
        if again
        else _wrapped(loaded.model, before, after, stated=bool(trained_at))
    )
    save(model, str(out), force=force)
    if json:
        emit(result, json=True)
        return
    say(
        f"{path}: {loaded.kind}, base rate {short(before[-1])} of {event}; {out} has base rate "
        f"{short(after[-1])}."
    )
    if len(classes) == 2:
        half = float(correct_prior([0.5], before, after)[0])
        say(f"A probability of 0.5 becomes {short(half)}.")


def _base_rates(
    loaded: LoadedModel,
    trained_at: Sequence[str],
    now_at: Sequence[str],
    undersample: Sequence[str],
) -> tuple[Shares, Shares]:
    """Return the base rates that the model's probabilities are for, and should be for."""
    classes = list(loaded.classes)
    own = loaded.base_rates
    before = own or read_shares(trained_at, classes, "--trained-at")
    if own is not None and trained_at:
        raise UsageError(
            "--trained-at {given}: {model} stores the base rate of its probabilities, {own} of "
            "{event}, which may differ from that of its training table.",
            code="argument-conflict",
            given=trained_at[0],
            model=loaded.path,
            own=short(own[-1]),
            event=classes[-1],
            remedy="Leave --trained-at out.",
        )
    if before is None:
        raise DataError(
            "{model}: a {kind} does not store the base rate that it was trained at.",
            code="no-base-rate",
            model=loaded.path,
            kind=loaded.kind,
            remedy="Give it, such as --trained-at 0.13.",
        )
    after = read_shares(now_at, classes, "--now-at")
    if after is None:
        if _states_its_share(loaded.model):
            raise UsageError(
                "--undersample: the probabilities of {model} ({kind}) are for a stated base "
                "rate, not that of its rows.",
                code="argument-conflict",
                model=loaded.path,
                kind=loaded.kind,
                remedy="Give --now-at.",
            )
        learnt_at = getattr(loaded.model, "trained_at_", None)
        known = before if learnt_at is None else [float(rate) for rate in learnt_at]
        _, after = shares_of_kept(undersample, classes, known)
    return before, after


def _states_its_share(model: Any) -> bool:
    """Whether the class mix is one that the user stated, whatever rows the model saw."""
    from scarce import find_base_rates

    return find_base_rates(getattr(model, "estimator_", model)).origin == "stated"


def _prior(model: Any, shares: Shares) -> Any:
    """Shares as `PriorCorrected` takes them: of the last of two classes, or by class."""
    return (
        shares[1] if len(shares) == 2 else dict(zip(model.classes_.tolist(), shares, strict=True))
    )


def _wrapped(model: Any, before: Shares, after: Shares, *, stated: bool) -> Any:
    """A fitted model inside a fitted `PriorCorrected`; `stated`: its base rates were typed."""
    import numpy as np
    from sklearn.base import clone

    from scarce import PriorCorrected

    said = _prior(model, before) if stated else None
    outer = PriorCorrected(clone(model), prior=_prior(model, after), trained_at=said)
    outer.estimator_ = model
    outer.classes_ = np.array(model.classes_)
    for name in ("n_features_in_", "feature_names_in_"):
        if hasattr(model, name):
            setattr(outer, name, getattr(model, name))
    outer.trained_at_, outer.now_at_ = np.array(before), np.array(after)
    return outer


def _recalibrated(model: Any, after: Shares) -> Any:
    """A `PriorCorrected` that predicts for other shares than before."""
    import numpy as np

    model.set_params(prior=_prior(model, after), kept=None, density=None, default_prevalence=0.5)
    vars(model).pop("density_", None)
    model.now_at_ = np.array(after)
    if hasattr(model, "intercept_"):
        shift = np.log(model.now_at_) - np.log(model.trained_at_)
        inner = model.estimator_.intercept_
        model.intercept_ = inner + (shift[1] - shift[0] if len(inner) == 1 else shift)
    return model
