"""`scarce compare`: which model is better on rows that it did not see, and is that more than noise?

    scarce compare train.csv --label fraud --models rare,bayes        fitted anew on the same folds
    scarce compare test.csv a.scarce b.scarce --label fraud           as they are, on the same rows

The constant forecast always takes part. Differences are taken row by row, with intervals; what lies
inside the noise is called that. Folds and figures are the library's: `left_out`, `compare_prob`,
`savings`.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.compare_fits import (
    MODELS,
    READING,
    SEVERAL,
    WIDENED,
    ModelFit,
    OpenedRows,
    Reading,
    has_holes,
    read_model,
    suitable_models,
)
from scarce.cli.compare_text import CONSTANT, show_comparison, verdict_words
from scarce.cli.cost_flags import COSTS, CostFlags
from scarce.cli.judged import SAMPLING, Judged, SamplingFlags, look_at, read_judged
from scarce.cli.next_command import path_word, shell_command
from scarce.cli.options import FILE, INPUT, LABELS, TEXT, LabelFlags, engine_of, takes
from scarce.cli.output import emit, progress, say, show_plan
from scarce.errors import DataError, UsageError, suggest

if TYPE_CHECKING:
    from scarce.io.text import TextForm

LEANS = (
    "the fits are taken as they are: how they would differ on other training rows is not in the "
    "intervals"
)


@click.command()
@click.argument("data", type=INPUT)
@click.argument("files", nargs=-1, type=FILE, metavar="[MODEL]...")
@takes(
    *("models", "folds"),
    LABELS,
    *("columns", "drop", "id", "categories"),
    SAMPLING,
    COSTS,
    *("level", "seed", "threads"),
    TEXT,
    *("dry-run", "json"),
)
def compare(
    data: Path,
    files: tuple[Path, ...],
    models: tuple[str, ...],
    folds: int,
    labels: LabelFlags,
    columns: tuple[str, ...],
    drop: tuple[str, ...],
    ids: tuple[str, ...],
    categories: tuple[str, ...],
    speaks: SamplingFlags,
    costs: CostFlags,
    level: float,
    seed: int,
    threads: int | None,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Compare models on held-out rows, with intervals.

    Models are fitted to the same parts of DATA and asked about the rest; or name MODEL files, which
    are judged as they are on DATA. The constant forecast always takes part. Differences to the best
    are taken row by row, and called noise where they are; with costs, in money too. Rows without a
    label are left aside.

    \b
    scarce compare train.csv --label fraud --positive 1 --models logistic,rare,bayes
    scarce compare train.csv --label fraud --models rare,bayes --false-alarm 5 --miss 400
    scarce compare test.csv m.scarce --label fraud --json
    """
    costs.check()
    reading = Reading(columns, drop, ids, categories)
    named = [name.strip() for text in models for name in text.split(",") if name.strip()]
    _refuse_flags(data, files, named, labels, reading, speaks)
    for name in named:
        kind = name.partition(":")[0]
        if kind not in MODELS:
            raise UsageError(
                f"--models {name}: there is no model {kind!r}.{suggest(kind, MODELS)} They are: "
                f"{', '.join(MODELS)}."
            )
        read_model(name)
    if dry_run:
        chosen = [
            (flag, name) for flag, names in zip(READING, reading, strict=True) for name in names
        ]
        look_at([data, *files], form, [("--label", labels.label), *chosen, *speaks.given.items()])
        show_plan(_plan(data, files, named, folds, seed, costs), json=json)
        return
    if files:
        judged, probs = _ask_files(data, files, labels, speaks, costs, form, json)
        how, aside = "as they are", judged.unlabelled
    else:
        judged, probs, aside = _ask_folds(
            data, named, folds, labels, reading, speaks, costs, seed, threads, form, json
        )
        how = f"{folds} folds, seed {seed}"
    with progress("Judging"):
        result = _result(judged, probs, costs, level, seed, fitted=not files)
    result |= {"how": how, "table": judged.where, "unlabelled": aside}
    emit(result, json=json, show=lambda: show_comparison(result))


def _refuse_flags(
    data: Path,
    files: tuple[Path, ...],
    named: list[str],
    labels: LabelFlags,
    reading: Reading,
    speaks: SamplingFlags,
) -> None:
    """Refuse what cannot work together, before anything is read."""
    from scarce.cli.scoring import is_model

    if labels.label is None:
        raise UsageError(
            "--label is not given: name the column that says what happened, such as --label fraud."
        )
    if is_model(data):
        raise UsageError(
            "The data come first: "
            + shell_command(
                "scarce", "compare", "test.csv", path_word(data), "--label", labels.label
            )
        )
    if files and named:
        raise UsageError(
            f"--models fits models to {data}, and {files[0]} is fitted already, maybe to the same "
            "rows: the two cannot be set side by side. Give model files or --models."
        )
    typed = [option for option, held in zip(READING, reading, strict=True) if held]
    for path in files:
        if [other.resolve() for other in files].count(path.resolve()) > 1:
            raise UsageError(f"{path} is named twice: a model is no better than itself.")
    if files and typed:
        raise UsageError(
            f"{typed[0]} is for fits, and model files know their columns: leave it out."
        )
    if not files and str(data) == "-":
        raise UsageError(
            "Standard input can be read once, and fits need the rows again: write them to a file "
            "first."
        )
    if not files and speaks.inclusion is not None:
        raise UsageError(
            "--inclusion is for model files: to fit models to rows that were drawn, give the "
            "weights 1 / inclusion as a column, with --weight."
        )


def _ask_files(
    data: Path,
    files: tuple[Path, ...],
    labels: LabelFlags,
    speaks: SamplingFlags,
    costs: CostFlags,
    form: TextForm,
    json: bool,
) -> tuple[Judged, dict[str, Any]]:
    """What models from files say of the same rows."""
    if str(data) == "-" and len(files) > 1:
        raise UsageError("Standard input can be read once: write the rows to a file first.")
    stems = [path.stem for path in files]
    probs: dict[str, Any] = {}
    judged: Judged | None = None
    for path in files:
        name = path.stem if stems.count(path.stem) == 1 and path.stem != CONSTANT else str(path)
        found = read_judged(
            [path, data], "compare", labels=labels, speaks=speaks, costs=costs, form=form,
            quiet=judged is not None,
        )  # fmt: skip
        if found.learnt and not json:
            say(found.learnt)
        if judged is None:
            judged = found
        elif tuple(map(str, found.classes)) != tuple(map(str, judged.classes)):
            raise DataError(
                f"{path} knows the classes {', '.join(map(str, found.classes))}, and {files[0]} "
                f"{', '.join(map(str, judged.classes))}: they answer different questions."
            )
        probs[name] = found.prob
    assert judged is not None  # files is not empty
    if judged.unlabelled and not json:
        say(judged.left_aside())
    return judged, probs


def _ask_folds(
    data: Path,
    named: list[str],
    folds: int,
    labels: LabelFlags,
    reading: Reading,
    speaks: SamplingFlags,
    costs: CostFlags,
    seed: int,
    threads: int | None,
    form: TextForm,
    json: bool,
) -> tuple[Judged, dict[str, Any], int]:
    """What models that are fitted to the other folds say of each row with a label."""
    from dataclasses import replace

    from scarce.evaluation.left_out import folds_of, left_out

    judged = read_judged(
        [data], "compare", labels=labels, speaks=speaks, costs=costs, need_prob=False, form=form,
    )  # fmt: skip
    if judged.unlabelled and not json:
        say(f"{judged.unlabelled:,} of {len(judged.y):,} rows are not labelled and left aside.")
    apart = [*speaks.given.values()]
    rows_of = OpenedRows(data, labels, reading, apart, form)
    _refuse_several(judged, named)
    groups = rows_of.together(judged)
    plain = rows_of.labelled(False, judged)  # the same folds, whichever models are compared
    dealt = folds_of(plain, folds, groups=groups, random_state=seed)
    for remark in dealt.groups.remarks():
        say(f"scarce: warning: {remark}")
    kept = judged.labelled()
    if dealt.groups.together:
        kept = replace(kept, groups=dealt.groups.group)
    fits = {}
    for name in named or suitable_models(judged, rows_of.open(False), json):
        kind, settings = read_model(name)
        rows = rows_of.labelled(kind in WIDENED, judged)
        fits[name] = (ModelFit(kind, settings, seed, holed=has_holes(rows)), rows)
    with progress("Fitting") as tick:
        probs = left_out(fits, dealt.folds, groups=groups, engine=engine_of(threads), progress=tick)
    if len(judged.classes) == 2:
        probs = {name: prob[:, 1] for name, prob in probs.items()}
    return kept, probs, judged.unlabelled


def _refuse_several(judged: Judged, named: list[str]) -> None:
    """Refuse models of two classes where there are more."""
    two = [name for name in named if name.partition(":")[0] not in SEVERAL]
    if len(judged.classes) > 2 and two:
        raise DataError(
            f"{judged.where}: the labels have {len(judged.classes)} classes "
            f"({', '.join(map(str, judged.classes[:5]))}), and {two[0]} is for two. Take --models "
            f"{','.join(SEVERAL)}, or name the event with --positive and the others with "
            "--negative."
        )


def _result(
    judged: Judged,
    probs: dict[str, Any],
    costs: CostFlags,
    level: float,
    seed: int,
    *,
    fitted: bool,
) -> dict[str, Any]:
    """Figures of all models, and their differences."""
    from scarce.evaluation.comparison import compare_prob

    rows, weight, groups = judged.speaking()
    found = compare_prob(
        judged.y[rows],
        {name: prob[rows] for name, prob in probs.items()},
        classes=judged.classes,
        sample_weight=weight,
        groups=groups,
        level=level,
    )
    order = list(found.evaluations)
    one = found.evaluations[order[0]]
    result: dict[str, Any] = {
        "rows": one.rows,
        "classes": list(judged.classes),
        "counts": list(one.counts),
        "models": order,
        "evaluations": found.evaluations,
        "best": found.best,
        "behind": found.behind,
        "ahead": found.ahead,
        "tied": {loss: found.tied(loss) for loss in found.best},
        "no_better_than_constant": {loss: found.no_better(loss) for loss in found.best},
        "level": found.level,
        "assumes": [one.log_loss.assumes, LEANS],
    }
    money = _money(judged, probs, order, costs, level, seed)
    if money:
        result["cost"] = money
    result["given_0"] = _given_0(judged, probs, rows, weight)
    result["words"] = verdict_words(found, money, result["given_0"], fitted=fitted)
    return result


def _given_0(judged: Judged, probs: dict[str, Any], rows: Any, weight: Any) -> dict[str, int]:
    """How often each model gave probability 0 to what happened, where it did."""
    import numpy as np

    from scarce.scoring import row_losses

    place = judged.y[rows].astype(np.intp)
    counted = True if weight is None else weight > 0
    lost = {
        name: int((np.isinf(row_losses(place, prob[rows], "log")) & counted).sum())
        for name, prob in probs.items()
    }
    return {name: n for name, n in lost.items() if n}


def _money(
    judged: Judged,
    probs: dict[str, Any],
    order: list[str],
    costs: CostFlags,
    level: float,
    seed: int,
) -> dict[str, Any]:
    """Mean cost of each model's cheapest decisions, and how much more than the best."""
    from dataclasses import replace

    if not costs.given:
        return {}
    import numpy as np

    from scarce import decide, mean_cost, savings

    if CONSTANT not in probs:
        like = next(iter(probs.values()))
        spoken = judged.evaluate(level)
        share = [one.value for one in spoken.happened]
        probs = {**probs, CONSTANT: np.full(like.shape, share if like.ndim == 2 else share[0])}
    kept = replace(judged, prob=None).labelled()
    rows = slice(None) if kept is judged or len(kept.y) == len(judged.y) else judged.known
    matrix = costs.matrix(judged.classes, kept.table if costs.columns else None)
    truth, how = kept.names(), kept.drawn(level, seed)
    done = {name: decide(probs[name][rows], matrix) for name in order}
    mean = {name: mean_cost(truth, done[name], matrix, **how) for name in order}
    best = min(order, key=lambda name: mean[name].value)
    behind = {
        name: savings(truth, done[best], matrix, against=done[name], **how).per_row
        for name in order
        if name != best
    }
    tied = [name for name, one in behind.items() if not one.low > 0]
    return {"mean": mean, "best": best, "behind": behind, "tied": tied}


def _plan(
    data: Path,
    files: tuple[Path, ...],
    named: list[str],
    folds: int,
    seed: int,
    costs: CostFlags,
) -> dict[str, Any]:
    return {
        "reads": ", ".join(map(str, [data, *files])),
        "compares": ", ".join([CONSTANT, *(path.stem for path in files), *named])
        + ("" if files or named else ", and what suits the data"),
        "fits": 0 if files else folds * len(named),
        "seed": seed,
        "costs": ", ".join(costs.columns) or ("numbers" if costs.given else "none"),
        "writes": "standard output",
    }
