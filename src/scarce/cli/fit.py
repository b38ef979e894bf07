"""`scarce fit`: from a table to a model file; says what it understood and what it chose.

    rare      regression for a rare class (RareClassifier)
    maxent    labels revealed at unknown rates, values missing (MaxentClassifier)
    bayes     a Gaussian for each class, values missing (GaussianBayes)
    auto      one of these or a stack of models (AutoClassifier), and why

Columns of row identifiers are left out, with a message. Options of another model are refused. For
sightings the verb asks whether 0 is a surveyed absence (--negative) or background, where nobody
looked (--background). Does not evaluate the model: see `scarce evaluate` and `scarce compare`.
"""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scarce.cli.flags import in_flags, warn
from scarce.cli.model_file import not_converged
from scarce.cli.next_command import path_word, shell_command, shell_word
from scarce.cli.options import (
    INPUT,
    LABELS,
    TEXT,
    LabelFlags,
    engine_of,
    missing_values,
    takes,
    typed,
)
from scarce.cli.output import emit, progress, refuse_table_ending, say, show_plan, table, write_line
from scarce.errors import CheckError, DataError, UsageError, suggest

if TYPE_CHECKING:
    from scarce.engine.rows import Rows
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

OWNERS = {  # options that only one model has
    "loss": "rare",
    "shape": "rare",
    "ridge": "rare",
    "objective": "maxent",
    "default_prevalence": "maxent",
    "width_scale": "maxent",
    "covariance": "bayes",
}
MOST_NUMBERS = 50  # different numbers in a label column; more are a measurement
MOST_CLASSES = 12  # more are not stacked unless somebody asks in Python
FEWEST_OF_A_CLASS = 10  # below, folds cannot choose anything
SIGHTINGS = re.compile(
    r"(?:^|_)(?:presences?|presabs|pres|present|occ|occurrences?|pa|pb|po|seen|sightings?|observed"
    r"|species)(?:$|_)",
    re.I,
)
BACKGROUND = re.compile(
    r"^(?:bg|back_?ground|(?:pseudo|quasi)[-_ ]?absen(?:ce|t)|available)$", re.I
)


@click.command()
@click.argument("data", type=INPUT)
@takes(
    LABELS,
    *("model", "background", "columns", "drop", "id", "groups", "weight", "categories"),
    *("max-levels", "loss", "shape", "ridge", "objective", "default-prevalence", "width-scale"),
    *("covariance", "set"),
    TEXT,
    *("out", "force", "seed", "threads", "dry-run", "json"),
)
def fit(
    data: Path,
    labels: LabelFlags,
    model: str,
    background: tuple[str, ...],
    columns: tuple[str, ...],
    drop: tuple[str, ...],
    ids: tuple[str, ...],
    groups: str | None,
    weight: str | None,
    categories: tuple[str, ...],
    max_levels: int | None,
    more: tuple[str, ...],
    form: TextForm,
    out: Path | None,
    force: bool,
    seed: int,
    threads: int | None,
    dry_run: bool,
    json: bool,
    **own: Any,
) -> None:
    """Fit a model to a table and save it.

    DATA is CSV, TSV, Parquet or Arrow (- for standard input). Rows without a label are never taken
    for negatives. Text columns become categories. --model auto chooses by the labels and missing
    values, and says why. A fit that does not converge is still written, and ends with code 4.

    \b
    scarce fit train.csv --label fraud --positive 1 --model rare --out m2.scarce
    scarce fit train.csv --label fraud --drop id --model rare --ridge 0.01 --out m3.scarce
    scarce fit sightings.csv --label seen --drop site --model maxent --out w.scarce
    """
    from scarce import save
    from scarce.io.source import open_table

    labels = with_background(labels, background, model)
    label = _refuse_flags(labels, out, force, dry_run)
    with progress("Reading") as tick:
        source = open_table(data, form, whole=True, progress=tick)
    named = {"--columns": columns, "--drop": drop, "--id": ids, "--categories": categories}
    _refuse_columns(source, label, named, groups, weight)
    apart = (*drop, *([groups] if groups else []))
    naming = [*ids, *([] if columns else identifiers(source, labels, apart, ids))]
    left_out = list(dict.fromkeys([*apart, *naming]))
    settings = settings_of(model, own, more)
    if dry_run or out is None:
        away = (label, weight, *left_out)
        show_plan(
            {
                "reads": f"{source.where}: {len(source.names)} columns",
                "label": label,
                "features": [name for name in (columns or source.names) if name not in away],
                "model": model,
                "parameters": settings,
                "seed": seed,
                "writes": "nothing; name a file with --out" if out is None else str(out),
            },
            json=json,
        )
        return
    rows, _ = open_labelled(
        source,
        labels,
        form,
        indicators=model == "rare",
        weight=weight,
        columns=list(columns) or None,
        drop=left_out or None,
        categories=list(categories),
        max_levels=max_levels,
        unknown=_unknown(model, settings),
        engine=engine_of(threads),
    )
    counts = _say_labels(rows, labels, form)
    chosen, settings = _choose(model, settings, rows, counts)
    ask_background(chosen, counts, labels)
    told = point_out(chosen, rows, labels, quiet=bool(columns))  # typed columns are meant
    for column, levels in rows.schema.indicators.items():
        say(f"Text column {column!r}: {len(levels)} levels, one-hot beside {levels[0]!r}.")
    # names found in all rows are all different: only those typed can join rows
    together = _together(source, groups, list(ids) if source.parsed else naming, form)
    source.release()
    fitted = _fit(chosen, rows, settings, seed, engine_of(threads), together)
    save(fitted, out, force=force)
    _tell(fitted, _result(fitted, rows, counts, out), chosen, told, json)


def _unknown(model: str, settings: dict[str, Any]) -> str:
    """What becomes of a level that is not in the training rows: refused where nothing may miss."""
    if model != "rare":
        return "missing"
    from sklearn.utils import get_tags

    from scarce import RareClassifier

    return "missing" if get_tags(RareClassifier(**settings)).input_tags.allow_nan else "error"


def _refuse_flags(labels: LabelFlags, out: Path | None, force: bool, dry_run: bool) -> str:
    """Refuse flags that cannot work, before anything is read; return the label column."""
    from scarce.io.sink import refuse_existing

    if labels.label is None:
        raise UsageError(
            "--label is missing.",
            code="no-label-column",
            remedy="Name the column of labels: --label COLUMN",
        )
    if out is None and not dry_run:
        raise UsageError(
            "--out is missing.",
            code="no-output-file",
            remedy="Name the model file: --out m.scarce",
        )
    if out is not None:
        if str(out) == "-":
            raise UsageError(
                "A model goes to a file, not to standard output: --out m.scarce",
                code="no-output-file",
            )
        refuse_existing(out, force)
        refuse_table_ending(out)
    return labels.label


def _refuse_columns(
    source: TableSource,
    label: str,
    named: Mapping[str, Sequence[str]],
    groups: str | None,
    weight: str | None,
) -> None:
    """Refuse columns that the table does not have, and one for two roles."""
    source.column(label, "--label")
    if weight is not None:
        source.column(weight, "--weight")
    taken = (*named["--columns"], label, weight)
    if groups is not None and source.column(groups, "--groups") in taken:
        raise UsageError(
            "--groups {column}: the group column cannot also be a feature, the label or the "
            "weight.",
            code="same-column",
            column=groups,
            remedy="Name it once.",
        )
    for option, names in named.items():
        for name in names:
            source.column(name, option)


def _choose(
    model: str, settings: dict[str, Any], rows: Rows, counts: dict[str, Any]
) -> tuple[str, dict[str, Any]]:
    """Return the model to fit and its settings; refuse labels that it cannot be fitted to."""
    if model != "auto":
        refuse_labels(model, rows, counts)
        return model, settings
    chosen, settings, why = choose_model(rows, counts)
    refuse_labels(chosen, rows, counts)
    say(f"--model auto: {why}")
    return chosen, settings


def _tell(fitted: Any, result: dict[str, Any], chosen: str, told: list[str], json: bool) -> None:
    """Print the result, the warnings that were not given yet, and the next command."""
    converged = bool(fitted.report_.converged)
    emit(result, json=json, ok=converged, show=lambda: _show(result, fitted))
    if json or not hasattr(fitted, "summary"):  # a summary holds them
        for warning in result["report"]["warnings"]:
            if warning not in told:
                warn(warning)
    if chosen == "auto":
        _say_if_worthless(fitted)
    if chosen == "maxent" and fitted.class_prior_from_ != "observed":
        _say_prevalence(fitted, result)
    if not converged:
        warn(not_converged(result["out"], fitted.report_))
        click.get_current_context().exit(CheckError.exit_code)
    if not json:
        command = shell_command("scarce", "predict", path_word(result["out"]), "NEW-ROWS.csv")
        say(f"\nNext: {command} --out p.csv")


def open_labelled(
    source: TableSource, labels: LabelFlags, form: TextForm, *, indicators: bool, **reading: Any
) -> tuple[Any, dict[str, Any]]:
    """Open the rows with the labels read as the flags say."""
    from scarce import open_rows
    from scarce.cli.label_columns import label_meanings

    arguments = {
        "label": labels.label,
        **label_meanings(labels, source.types[str(labels.label)]),
        "missing": missing_values(form.missing),
        **{name: value for name, value in reading.items() if value is not None},
    }
    with progress("Reading") as tick:
        rows = open_rows(source, indicators=indicators, progress=tick, **arguments)
    return rows, {"data": source, **arguments}


def _say_labels(rows: Rows, labels: LabelFlags, form: TextForm) -> dict[str, Any]:
    """Say what the labels were taken to mean; return their counts."""
    from scarce.cli.label_columns import describe_counts

    refuse_numbers(str(labels.label), rows.classes, labels)
    weights, unlabelled = rows.label_counts()
    counts = rows.fold(_count_rows, len(rows.classes))
    say(describe_counts(str(labels.label), rows.classes, counts.tolist(), unlabelled, labels))
    labelled = {str(k): int(n) for k, n in zip(rows.classes, counts, strict=True)}
    if len(rows.classes) > 2 and not labels.classes:
        rare = min(labelled, key=lambda name: labelled[name])
        say(
            f"These are {len(rows.classes)} classes. If one of them means not labelled, give "
            f"--unlabelled {shell_word(rare)}; for an event and all others, --positive."
        )
    if form.missing and unlabelled:
        say(
            f"--missing applies to {labels.label!r} too: rows with "
            f"{' or '.join(map(str, form.missing))} there are not labelled. If that is a label, "
            "replace the missing values of the other columns first, and leave --missing out."
        )
    return {
        "rows": len(rows),
        "labelled": labelled,
        "unlabelled": unlabelled,
        "weight": weights.tolist(),
    }


def _count_rows(block: Any, n_classes: int) -> Any:
    import numpy as np

    return np.bincount(block.y[~np.isnan(block.y)].astype(np.intp), minlength=n_classes)


def _together(source: TableSource, groups: str | None, ids: list[str], form: TextForm) -> Any:
    """The group of each row, by --groups and by equal ids; None where every row stands alone."""
    from scarce.cli.sampling_columns import columns_as_written, group_column, rows_together

    wanted = [*([groups] if groups else []), *ids]
    if not wanted:
        return None
    table = source.read(wanted) if source.once else columns_as_written(source, wanted)
    return rows_together(table, group_column(source, table, groups, form), ids)


def _fit(
    chosen: str, rows: Rows, settings: dict[str, Any], seed: int, engine: Any, groups: Any
) -> Any:
    import warnings

    cls = class_of(chosen)
    known = cls().get_params(deep=False)
    arguments: dict[str, Any] = {"engine": engine}
    if "random_state" in known:
        arguments["random_state"] = seed
    with progress("Fitting") as tick, said_clearly(cls.__name__):
        if "progress" in known:
            arguments["progress"] = tick
        model = cls(**{**arguments, **settings})
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", category=UserWarning)  # they are in the report
            return model.fit(rows, groups=groups)


@contextmanager
def said_clearly(model: str) -> Iterator[None]:
    """A value that scikit-learn or a model refuses with ValueError is a usage error in words."""
    from scarce.errors import ScarceError

    try:
        yield
    except ScarceError:
        raise
    except (ValueError, TypeError) as error:
        raise DataError(
            "{model} cannot be fitted to these rows: {reason}.",
            code="fit-failed",
            model=model,
            reason=str(error).rstrip("."),
            remedy=(
                "Look for values that are far too large or too small, leave their columns out, "
                "or use another model."
            ),
        ) from error


def _result(fitted: Any, rows: Rows, counts: dict[str, Any], out: Path) -> dict[str, Any]:
    chosen = {
        name: getattr(fitted, f"{name}_")
        for name in ("loss", "shape", "ridge", "width_scale")
        if isinstance(value := getattr(fitted, f"{name}_", None), (float, int, str))
        and value == value  # a loss without a shape has NaN there
    }
    return {
        "model": type(fitted).__name__,
        "rows": counts["rows"],
        "labelled": counts["labelled"],
        "unlabelled": counts["unlabelled"],
        "features": list(rows.names),
        "classes": list(rows.classes),
        "chosen": chosen,
        "report": fitted.report_.to_dict(),
        "data": rows.fingerprint,
        "out": str(out),
    }


def _show(result: dict[str, Any], fitted: Any) -> None:
    lines = [
        ("model", result["model"]),
        ("learnt from", _learnt_from(result)),
        ("features", _short_list(result["features"])),
    ]
    if not hasattr(fitted, "summary"):
        lines.append(("fit", str(fitted.report_).splitlines()[0]))
    for name, value in result["chosen"].items():
        words = f"{value:.4g}" if isinstance(value, float) else str(value)
        lines.append((name.replace("_", " "), words))
    lines.append(("written to", result["out"]))
    if hasattr(fitted, "summary"):
        summary = fitted.summary()
        if not isinstance(summary, str):
            summary = summary.render(in_flags)
        write_line(summary + "\n")
    table(lines)


def _learnt_from(result: dict[str, Any]) -> str:
    labelled = f"{result['rows'] - result['unlabelled']:,} labelled rows"
    if result["model"] == "MaxentClassifier" and result["unlabelled"]:
        return f"{labelled} against all {result['rows']:,} as background"
    return labelled


def _say_if_worthless(fitted: Any) -> None:
    """Warn where held-out rows do not show that the model beats the constant forecast."""
    scores = fitted.comparison_
    if "auto" in scores and scores["auto"]["log_loss"] >= scores["constant"]["log_loss"]:
        warn(
            "The log loss on held-out rows is {loss:.4g}, and {constant:.4g} for the same "
            "probability in every row: these rows do not show that a model helps.",
            code="no-better-than-constant",
            loss=scores["auto"]["log_loss"],
            constant=scores["constant"]["log_loss"],
        )


def _say_prevalence(fitted: Any, counts: dict[str, Any]) -> None:
    """Say which base rate maxent's probabilities assume: labels cannot tell it."""
    event = fitted.classes_[-1]
    labelled = {name: n for name, n in counts["labelled"].items() if n}
    share = labelled.get(str(event), 0) / max(1, sum(labelled.values()))
    among = f" (of the labelled rows it is {share:.3g})" if len(labelled) > 1 else ""
    say(
        f"Probabilities assume a base rate of {fitted.class_prior_[-1]:.3g} for "
        f"{event}{among}, which such labels cannot tell. To change it: scarce correct MODEL "
        "--now-at RATE --out NEW"
    )


def _short_list(names: list[str]) -> str:
    shown = ", ".join(names[:8])
    return f"{len(names)}: {shown}" + (", ..." if len(names) > 8 else "")


def identifiers(
    source: TableSource, labels: LabelFlags, drop: tuple[str, ...], ids: tuple[str, ...]
) -> list[str]:
    """Columns that name rows, by their name and because no value comes twice at the beginning.

    Those named like identifiers, patients or cards whose values several rows share are said.
    """
    if source.once:
        return []
    from scarce.io.frames import identifiers as found_in
    from scarce.io.frames import named_like_names

    named = [
        name
        for name in named_like_names(source.names)
        if name != labels.label and name not in (*drop, *ids)
    ]
    if not named:
        return []
    found, units = found_in(next(iter(source.tables(named))), named)
    for name in units:
        say(
            f"Column {name!r} is named like an identifier, several rows share its values, "
            "and it is used as a feature. If rows of one value belong together (a patient, a "
            f"card), say so with --groups {shell_word(name)}: without it they are in training "
            "and in test rows, and figures are too good."
        )
    for name in found:
        say(
            f"Column {name!r} has a different value in every row, so it is taken as an "
            f"identifier and left out (--id {shell_word(name)}; to use it as a feature, name "
            "all columns with --columns)."
        )
    return found


def settings_of(model: str, own: dict[str, Any], more: tuple[str, ...]) -> dict[str, Any]:
    """The model's parameters, from its own options and --set; refused where they are another's."""
    settings: dict[str, Any] = {}
    for name, value in own.items():
        if value is None:
            continue
        if OWNERS[name] != model:
            raise UsageError(
                "--{option} is for --model {owner}, not {model}.",
                code="option-of-model",
                option=name.replace("_", "-"),
                owner=OWNERS[name],
                model=model,
                remedy="Leave it out, or use --model {owner}.",
            )
        settings[name] = typed(value) if isinstance(value, str) else value
    if not more:
        return settings
    if model == "auto":
        raise UsageError(
            "--set needs a model.",
            code="option-of-model",
            remedy="Add --model rare, maxent or bayes.",
        )
    known = class_of(model)().get_params(deep=False)
    for pair in more:
        name, equals, value = pair.partition("=")
        name = name.strip().replace("-", "_")
        if not equals:
            raise UsageError(
                "--set {pair!r}: give NAME=VALUE, such as --set cv=10.",
                code="option-value",
                pair=pair,
            )
        if name not in known or name in ("engine", "progress"):
            raise UsageError(
                "--set {pair!r}: {model} has no parameter {name!r}.{hint} It has: {known}.",
                code="unknown-parameter",
                pair=pair,
                model=type(class_of(model)()).__name__,
                name=name,
                hint=suggest(name, known),
                known=", ".join(sorted(known)),
            )
        settings[name] = _python(value.strip(), pair)
    return settings


def _python(text: str, pair: str) -> Any:
    words = {"true": True, "false": False, "none": None}
    if text.startswith("{"):
        try:
            return ast.literal_eval(text)
        except (ValueError, SyntaxError) as error:
            raise UsageError(
                "--set {pair!r}: the value cannot be read as a dict.",
                code="option-value",
                pair=pair,
                example='{"visits": "poisson"}',
                remedy="Write it as in Python, such as --set 'factors={example}'.",
            ) from error
    if text.lower() in words:
        return words[text.lower()]
    if text.startswith("[") and text.endswith("]"):
        return [typed(part.strip().strip("'\"")) for part in text[1:-1].split(",") if part.strip()]
    return typed(text)


def class_of(model: str) -> Any:
    """Return the estimator's class."""
    from scarce import AutoClassifier, GaussianBayes, MaxentClassifier, RareClassifier

    return {
        "rare": RareClassifier,
        "maxent": MaxentClassifier,
        "bayes": GaussianBayes,
        "auto": AutoClassifier,
    }[model]


class Choice(NamedTuple):
    """A model, its settings, and why."""

    model: str
    settings: dict[str, Any]
    why: str


def choose_model(rows: Rows, counts: dict[str, Any]) -> Choice:
    """Choose a model by the labels and the missing values, and say why."""
    labelled = [name for name, n in counts["labelled"].items() if n]
    if len(labelled) == 1:
        why = (
            f"only {labelled[0]} is ever labelled, so no row is known to be negative: maxent "
            "compares the labelled rows with all rows."
        )
        return Choice("maxent", {}, why)
    if len(rows.classes) > MOST_CLASSES:
        why = (
            f"{len(rows.classes)} classes, so a Gaussian for each (bayes, shrunk covariances): the "
            "stack fits each class by itself, which takes long."
        )
        return Choice("bayes", {"covariance": "shrunk"}, why)
    every = "both classes" if len(rows.classes) == 2 else f"{len(rows.classes)} classes"
    if not rows.fold(_count_missing).any():
        why = (
            f"{every} are labelled, so a stack of regressions and trees is weighted on "
            "held-out rows; the table below shows each beside the constant forecast."
        )
        if len(rows.classes) == 2:
            why += " For interpretable coefficients use --model rare."
        return Choice("auto", {}, why)
    if min(counts["labelled"].values()) < FEWEST_OF_A_CLASS:
        why = (
            "values are missing and few rows of a class are labelled, so a Gaussian for each "
            "class (bayes, shrunk covariances), which accepts missing values."
        )
        return Choice("bayes", {"covariance": "shrunk"}, why)
    why = (
        f"{every} are labelled, so a stack of regressions and trees is weighted on held-out rows; "
        "each member deals with missing values in its own way."
    )
    return Choice("auto", {}, why)


def refuse_numbers(name: str, classes: tuple[Any, ...], labels: LabelFlags) -> None:
    """Refuse a column of measurements as labels, unless its classes were named."""
    numbers = sum(not isinstance(one, str) for one in classes)
    if numbers > MOST_NUMBERS and not labels.classes:
        raise DataError(
            "Column {column!r} holds {count:,} different numbers ({first!s}, {second!s}, "
            "{third!s}, ...), which look like a measurement.",
            code="many-labels",
            column=name,
            count=numbers,
            first=classes[0],
            second=classes[1],
            third=classes[2],
            remedy=(
                "Name the column of labels with --label; if these are classes, name each with "
                "--classes."
            ),
        )


def refuse_labels(chosen: str, rows: Rows, counts: dict[str, Any]) -> None:
    """Refuse labels that a model cannot learn from, and name the one that can."""
    labelled = [name for name, n in counts["labelled"].items() if n]
    if chosen == "maxent" and len(labelled) == 1 and not counts["unlabelled"]:
        raise DataError(
            "All {count:,} rows are {label}, and maxent needs other rows to compare them with.",
            code="one-class",
            count=counts["rows"],
            label=labelled[0],
            remedy=(
                "Add rows without a label, such as places drawn from the whole area, and leave "
                "their label empty."
            ),
        )
    if chosen in ("rare", "bayes", "auto") and len(labelled) == 1:
        raise DataError(
            "Only {label} is ever labelled, and --model {model} needs two labelled classes.",
            code="one-labelled-class",
            label=labelled[0],
            model=chosen,
            remedy="Use --model maxent.",
        )
    if chosen == "rare" and len(rows.classes) > 2:
        raise DataError(
            "There are {count} classes, and --model rare takes two.",
            code="two-classes-needed",
            count=len(rows.classes),
            remedy=(
                "Name the event with --positive and the others with --negative, or use --model "
                "bayes."
            ),
        )


def _count_missing(block: Any, _: Any) -> Any:
    import numpy as np

    labelled = block.labelled
    return np.isnan(block.X[labelled]).sum(axis=0)


def with_background(labels: LabelFlags, background: tuple[str, ...], model: str) -> LabelFlags:
    """Return the flags with --background as labels that nobody gave; refuse contradictions."""
    if not background:
        return labels
    if model not in ("auto", "maxent"):
        raise UsageError(
            "--background means that nobody looked there, and --model {model} needs surveyed "
            "absences.",
            code="option-of-model",
            model=model,
            value=shell_word(background[0]),
            remedy="Use --model maxent; if the rows were surveyed, --negative {value}.",
        )
    for flag, values in (("--positive", labels.positive), ("--negative", labels.negative)):
        both = [value for value in background if value in values]
        if both:
            raise UsageError(
                "{value!r} cannot be both {option} and --background: nobody looked at a "
                "background point.",
                code="label-conflict",
                value=both[0],
                option=flag,
            )
    return labels._replace(unlabelled=(*labels.unlabelled, *background), background=background)


def ask_background(chosen: str, counts: dict[str, Any], labels: LabelFlags) -> None:
    """Ask whether rows that are taken for absences are a background; refuse those named so."""
    given = list(counts["labelled"].items())
    if len(given) != 2 or labels.negative or labels.unlabelled or labels.classes:
        return
    (other, n), (_, events) = given
    if not n or not events:
        return
    typed = shell_word(other)
    if BACKGROUND.search(other.strip()):
        raise DataError(
            "{count:,} rows of {column!r} are {label!r}, which suggests that nobody looked there.",
            code="background-or-absence",
            count=n,
            column=labels.label,
            label=other,
            value=typed,
            remedy="If so, use --background {value}; if they were surveyed, --negative {value}.",
        )
    if chosen == "maxent" or SIGHTINGS.search(str(labels.label)):
        warn(
            "{count:,} rows are {label} and are taken for surveyed absences.",
            code="background-or-absence",
            count=n,
            label=other,
            value=typed,
            remedy="If they are background (nobody looked there), give --background {value}; "
            "--negative {value} confirms that they were surveyed.",
        )


def point_out(chosen: str, rows: Rows, labels: LabelFlags, *, quiet: bool) -> list[str]:
    """Say which columns may be coordinates or codes before the fit; return it as Python says it."""
    from scarce.io.profile import doubtful_columns, profile_rows

    places = chosen == "maxent" or SIGHTINGS.search(str(labels.label)) is not None
    told = doubtful_columns(profile_rows(rows), rows.schema.columns, places=places)
    for remark in [] if quiet else told:
        warn(remark)
    return told
