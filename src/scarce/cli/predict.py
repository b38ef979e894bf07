"""`scarce predict`: probabilities for new rows, as a stream.

    row -> columns that the model reads -> probability of the event

Rows are read, scored and written part by part: memory does not grow with the file.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.next_command import path_word, shell_command
from scarce.cli.options import FILE, INPUT, TEXT, takes
from scarce.cli.output import emit, progress, rows_need_a_file, say, show_plan
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.cli.model_file import LoadedModel
    from scarce.io.text import TextForm

BANDS = ("band_rate", "band_low", "band_high")
LEVEL = 0.9  # of their interval


@click.command()
@click.argument("model", type=FILE)
@click.argument("data", type=INPUT, default="-")
@takes(
    *("id", "unknown", "band", "trust"),
    TEXT,
    *("out", "to", "formula-safe", "force", "threads", "dry-run", "json"),
)
def predict(
    model: Path,
    data: Path,
    keep: tuple[str, ...],
    unknown: str | None,
    band: bool,
    form: TextForm,
    out: Path | None,
    to: str | None,
    formula_safe: bool,
    force: bool,
    threads: int | None,
    dry_run: bool,
    json: bool,
) -> None:
    """Predict the probability of the event for each row.

    MODEL is a file from scarce fit, DATA a table with the model's features (- or nothing: standard
    input). Adds the column prob (several classes: prob_CLASS) to the columns of DATA. Memory use
    does not grow with DATA. With --band the columns say how often the event happened among training
    rows scored alike: a rate of many rows, not an interval of this one's probability.

    \b
    scarce predict m.scarce new.parquet --out p2.csv
    scarce predict m.scarce test.csv --id id --out p3.parquet
    scarce predict m.scarce new.parquet | scarce decide --false-alarm 5 --miss 400
    """
    from dataclasses import replace

    from scarce.cli.model_file import load_model
    from scarce.cli.table_columns import as_written
    from scarce.io.sink import refuse_existing, sink_format, write_tables
    from scarce.io.source import open_table

    if not dry_run:
        rows_need_a_file(out, json, "p.csv")
    refuse_existing(out, force)
    kind, _ = sink_format(out, to)
    _refuse_files(model, data, out)
    loaded = load_model(model)
    if unknown is not None:
        loaded = replace(loaded, schema=replace(loaded.schema, unknown=unknown))
    source = open_table(data, form)
    kept = [source.column(name, "--id") for name in dict.fromkeys(keep)] or list(source.names)
    bands = _bands(loaded) if band else None
    names = [*loaded.prob_names, *(BANDS if band else ())]
    for name in names:
        if name in kept:
            raise DataError(
                "{table} already has a column {column!r}, which predict adds.",
                code="column-exists",
                table=source.where,
                column=name,
                remedy="Rename it, or choose the columns to write with --id.",
            )
    if dry_run:
        show_plan(
            {
                "model": f"{loaded.path}: {loaded.kind}, classes {list(loaded.classes)}",
                "reads": f"{source.where}: {', '.join(loaded.columns)}",
                "writes": f"{out or 'standard output'} ({kind}): {', '.join([*kept, *names])}",
            },
            json=json,
        )
        return
    _use_threads(threads)
    shape = as_written(source, out, to, form, set(loaded.numbers) & set(kept))
    sink = write_tables(out, to=to, force=force, form=form, formula_safe=formula_safe)
    count, total = 0, 0.0
    with progress("Predicting") as tick, sink as write:
        for part, prob in loaded.stream(source, kept, progress=tick):
            part = shape(part)
            columns = [prob[:, -1]] if len(loaded.prob_names) == 1 else list(prob.T)
            if bands is not None:
                columns += _band_columns(bands, prob)
            for name, column in zip(names, columns, strict=True):
                part = part.append_column(name, [column])
            write(part)
            count += part.num_rows
            total += float(prob[:, -1].sum())
    loaded.say_columns()
    _tell(loaded, [*kept, *names], count, total, out, json)


def _bands(loaded: LoadedModel) -> Any:
    """Return the model's bands of scores, or refuse a model that has none."""
    bands = getattr(loaded.model, "bands_", None)
    if bands is None:
        moved = hasattr(loaded.model, "now_at_")
        raise UsageError(
            "--band needs bands of scores, and {model} ({kind}) has none{why}.",
            code="no-bands",
            model=loaded.path,
            kind=loaded.kind,
            why=": those of the model inside are of its training base rate" if moved else "",
            remedy="Leave --band out, or use a model of two classes from scarce fit --model auto.",
        )
    return bands


def _band_columns(bands: Any, prob: Any) -> list[Any]:
    """Return rate, low and high of each row's band, from the probabilities of the classes."""
    import numpy as np

    with np.errstate(divide="ignore"):
        found = bands.of(np.log(prob[:, 1]) - np.log(prob[:, 0]), LEVEL)
    return [found.rate, found.low, found.high]


def _refuse_files(model: Path, data: Path, out: Path | None) -> None:
    """Refuse files in the wrong order, and rows that would replace the model."""
    from scarce.cli.model_file import is_model

    if is_model(data) and not is_model(model):
        command = shell_command("scarce", "predict", path_word(data), path_word(model))
        raise UsageError(
            "The model comes first: {command}",
            code="argument-order",
            command=command,
        )
    if out is not None and out.exists() and out.samefile(model):
        raise UsageError(
            "--out {out} is the model.",
            code="output-is-input",
            out=out,
            remedy="Give the rows another file name.",
        )


def _tell(
    loaded: LoadedModel, columns: list[str], count: int, total: float, out: Path | None, json: bool
) -> None:
    """Print what was written."""
    if json:
        summary = {
            "rows": count,
            "model": loaded.kind,
            "classes": list(loaded.classes),
            "columns": columns,
            "mean_prob": total / count if count else float("nan"),
            "base_rates": loaded.base_rates,
            "out": None if out is None else str(out),
        }
        emit(summary, json=True)
    elif out is not None and str(out) != "-":
        mean = f"; mean probability of {loaded.classes[-1]}: {total / count:.4g}" if count else ""
        say(f"{count:,} rows written to {out}{mean}.")


def _use_threads(threads: int | None) -> None:
    if threads is not None:
        import pyarrow as pa

        pa.set_cpu_count(threads)
