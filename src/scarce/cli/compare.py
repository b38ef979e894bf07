"""`scarce compare`: which model is better on rows that it did not see, and is that more than noise?

    scarce compare train.csv --label fraud --models rare,bayes        cross-validated, same folds
    scarce compare test.csv a.scarce b.scarce --label fraud           as they are, on the same rows

    NAME or NAME:SETTING=VALUE:SETTING=VALUE         rare, rare:loss=probit:ridge=1, bayes

The constant forecast is always included. Differences are paired by row and have intervals that hold
for all models together, as the best was chosen on these rows; one that includes 0 is called noise,
and then the simpler model will do. Folds and figures are the library's.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scarce.cli.costs import COSTS, CostFlags
from scarce.cli.evaluate import folded, number
from scarce.cli.flags import in_flags, warn, with_code
from scarce.cli.next_command import path_word, shell_command
from scarce.cli.options import FILE, INPUT, LABELS, TEXT, LabelFlags, engine_of, takes
from scarce.cli.outcome_table import OutcomeTable, look_at, read_outcomes
from scarce.cli.output import (
    emit,
    on_terminal,
    progress,
    say,
    show_plan,
    table,
    terminal_width,
    write_line,
)
from scarce.cli.sampling_columns import SAMPLING, SamplingFlags
from scarce.errors import DataError, Problem, UsageError, suggest

if TYPE_CHECKING:
    from scarce.engine.rows import Rows
    from scarce.io.text import TextForm

LEANS = "the fits are fixed: their variation over training samples is not in the intervals"
COMPARED = ("logistic", "rare", "maxent", "bayes", "auto")
SEVERAL = ("bayes", "maxent", "auto")  # take more than two classes
WIDENED = ("logistic", "rare")  # take categories as columns of 0 and 1
FEATURE_FLAGS = ("--columns", "--drop", "--id", "--categories")
CONSTANT = "constant"
MIX = ": it may have been trained at another base rate; see scarce evaluate."
OFF = 1.25  # a mean probability that is off by so much is worth a word


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
    *("trust", "dry-run", "json"),
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
    sampling: SamplingFlags,
    costs: CostFlags,
    level: float,
    seed: int,
    threads: int | None,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Compare models on held-out rows, with intervals.

    Models are cross-validated on the same folds of DATA; or name MODEL files, which are evaluated
    on DATA as they are. The constant forecast is always included. Differences from the best model
    are paired by row and have intervals, in log loss and with costs in money too, which hold for
    all models together; those that include 0 are marked as noise. Rows without a label are left
    out.

    \b
    scarce compare train.csv --label fraud --positive 1 --models logistic,rare,bayes
    scarce compare train.csv --label fraud --models rare,bayes --false-alarm 5 --miss 400
    scarce compare test.csv m.scarce --label fraud --json
    """
    costs.check()
    reading = FeatureFlags(columns, drop, ids, categories)
    named = [name.strip() for text in models for name in text.split(",") if name.strip()]
    _refuse_flags(data, files, named, labels, reading, sampling)
    for name in named:
        kind = name.partition(":")[0]
        if kind not in COMPARED:
            raise UsageError(
                "--models {name}: there is no model {model!r}.{hint} The models are: {models}.",
                code="unknown-model",
                name=name,
                model=kind,
                hint=suggest(kind, COMPARED),
                models=", ".join(COMPARED),
            )
        read_model(name)
    if dry_run:
        chosen = [
            (flag, name)
            for flag, names in zip(FEATURE_FLAGS, reading, strict=True)
            for name in names
        ]
        look_at([data, *files], form, [("--label", labels.label), *chosen, *sampling.given.items()])
        show_plan(_plan(data, files, named, folds, seed, costs), json=json)
        return
    if files:
        judged, probs = _ask_files(data, files, labels, sampling, costs, form, json)
        how, aside = "as they are", judged.unlabelled
    else:
        judged, probs, aside = _ask_folds(
            data, named, folds, labels, reading, sampling, costs, seed, threads, form, json
        )
        how = f"{folds} folds, seed {seed}"
    with progress("Judging"):
        result = _result(judged, probs, costs, level, seed, fitted=not files)
    result |= {"how": how, "table": judged.where, "unlabelled": aside}
    if not json:
        for remark in result["remarks"]:
            warn(remark)
    emit(result, json=json, show=lambda: show_comparison(result))


def _refuse_flags(
    data: Path,
    files: tuple[Path, ...],
    named: list[str],
    labels: LabelFlags,
    reading: FeatureFlags,
    sampling: SamplingFlags,
) -> None:
    """Refuse what cannot work together, before anything is read."""
    from scarce.cli.model_file import is_model

    if labels.label is None:
        raise UsageError(
            "--label is missing.",
            code="no-label-column",
            remedy="Name the column of outcomes, such as --label fraud.",
        )
    if is_model(data):
        raise UsageError(
            "The data come first: {command}",
            code="argument-order",
            command=shell_command(
                "scarce", "compare", "test.csv", path_word(data), "--label", labels.label
            ),
        )
    if files and named:
        raise UsageError(
            "--models fits models to {data}, and {model} is fitted already, perhaps to the same "
            "rows.",
            code="argument-conflict",
            data=data,
            model=files[0],
            remedy="Give model files or --models, not both.",
        )
    typed = [option for option, held in zip(FEATURE_FLAGS, reading, strict=True) if held]
    for path in files:
        if [other.resolve() for other in files].count(path.resolve()) > 1:
            raise UsageError(
                "{model} is named twice.",
                code="same-model",
                model=path,
                remedy="Name each model once.",
            )
    if files and typed:
        raise UsageError(
            "{option} is for fits, and model files know their columns.",
            code="argument-conflict",
            option=typed[0],
            remedy="Leave it out.",
        )
    if not files and str(data) == "-":
        raise UsageError(
            "Standard input can be read once, and cross-validation needs the rows again.",
            code="read-twice",
            remedy="Write it to a file first.",
        )
    if not files and sampling.inclusion is not None:
        raise UsageError(
            "--inclusion is for model files.",
            code="argument-conflict",
            remedy=(
                "To fit models to a sample, give the weights 1 / inclusion as a column, with "
                "--weight."
            ),
        )


def _ask_files(
    data: Path,
    files: tuple[Path, ...],
    labels: LabelFlags,
    sampling: SamplingFlags,
    costs: CostFlags,
    form: TextForm,
    json: bool,
) -> tuple[OutcomeTable, dict[str, Any]]:
    """What models from files say of the same rows."""
    if str(data) == "-" and len(files) > 1:
        raise UsageError(
            "Standard input can be read once.",
            code="read-twice",
            remedy="Write it to a file first.",
        )
    stems = [path.stem for path in files]
    probs: dict[str, Any] = {}
    judged: OutcomeTable | None = None
    for path in files:
        name = path.stem if stems.count(path.stem) == 1 and path.stem != CONSTANT else str(path)
        found = read_outcomes(
            [path, data], "compare", labels=labels, sampling=sampling, costs=costs, form=form,
            quiet=judged is not None,
        )  # fmt: skip
        if found.learnt is not None and not json:
            say(with_code(found.learnt))
        elsewhere = found.other_base_rate()
        if elsewhere is not None:
            warn(elsewhere)
        if judged is None:
            judged = found
        elif tuple(map(str, found.classes)) != tuple(map(str, judged.classes)):
            raise DataError(
                "{model} has the classes {classes}, and {other} {others}.",
                code="class-mismatch",
                model=path,
                classes=", ".join(map(str, found.classes)),
                other=files[0],
                others=", ".join(map(str, judged.classes)),
                remedy="Compare models of the same classes.",
            )
        probs[name] = found.prob
    assert judged is not None  # files is not empty
    aside = judged.left_aside()
    if aside is not None and not json:
        say(with_code(aside))
    return judged, probs


def _ask_folds(
    data: Path,
    named: list[str],
    folds: int,
    labels: LabelFlags,
    reading: FeatureFlags,
    sampling: SamplingFlags,
    costs: CostFlags,
    seed: int,
    threads: int | None,
    form: TextForm,
    json: bool,
) -> tuple[OutcomeTable, dict[str, Any], int]:
    """What models that are fitted to the other folds say of each row with a label."""
    from dataclasses import replace

    from scarce.evaluation.compare import deal_rows, left_out

    judged = read_outcomes(
        [data],
        "compare",
        labels=labels,
        sampling=sampling,
        costs=costs,
        need_prob=False,
        form=form,
    )
    if judged.unlabelled and not json:
        aside = Problem(
            "{count:,} of {rows:,} rows are not labelled and are left out.",
            code="unlabelled-rows",
            count=judged.unlabelled,
            rows=len(judged.y),
        )
        say(with_code(aside))
    apart = [*sampling.given.values()]
    rows_of = OpenedRows(data, labels, reading, apart, form)
    _refuse_several(judged, named)
    groups = rows_of.together(judged)
    plain = rows_of.labelled(False, judged)  # the same folds, whichever models are compared
    dealt = deal_rows(plain, folds, groups=groups, random_state=seed)
    for remark in dealt.groups.remarks():
        warn(remark)
    kept = judged.labelled()
    if dealt.groups.together:
        kept = replace(kept, groups=dealt.groups.group)
    fits = {}
    for name in named or suitable_models(judged, rows_of.open(False), json):
        kind, settings = read_model(name)
        rows = rows_of.labelled(kind in WIDENED, judged)
        fits[name] = (ModelFit(kind, settings, seed), rows)
    with progress("Fitting") as tick:
        probs = left_out(fits, dealt.folds, groups=groups, engine=engine_of(threads), progress=tick)
    if len(judged.classes) == 2:
        probs = {name: prob[:, 1] for name, prob in probs.items()}
    return kept, probs, judged.unlabelled


def _refuse_several(judged: OutcomeTable, named: list[str]) -> None:
    """Refuse models of two classes where there are more."""
    two = [name for name in named if name.partition(":")[0] not in SEVERAL]
    if len(judged.classes) > 2 and two:
        raise DataError(
            "{table} has {count} classes ({classes}), and {model} takes two.",
            code="two-classes-needed",
            table=judged.where,
            count=len(judged.classes),
            classes=", ".join(map(str, judged.classes[:5])),
            model=two[0],
            models=",".join(SEVERAL),
            remedy=(
                "Use --models {models}, or name the event with --positive and the others with "
                "--negative."
            ),
        )


def _result(
    judged: OutcomeTable,
    probs: dict[str, Any],
    costs: CostFlags,
    level: float,
    seed: int,
    *,
    fitted: bool,
) -> dict[str, Any]:
    """Figures of all models, and their differences."""
    from scarce import compare

    kept = judged.labelled()
    here = slice(None) if len(kept.y) == len(judged.y) else judged.known
    found = compare(
        kept.names(),
        {name: prob[here] for name, prob in probs.items()},
        classes=judged.classes,
        **kept.drawn(level, seed),
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
        "confidence_set": found.confidence_set,
        "optimism": found.optimism,
        "tied": {loss: found.tied(loss) for loss in found.best},
        "no_better_than_constant": {loss: found.no_better(loss) for loss in found.best},
        "level": found.level,
        "assumes": [one.log_loss.assumes, LEANS],
    }
    money = _money(judged, probs, order, costs, level, seed)
    if money:
        result["cost"] = money
    said = (one for each in found.evaluations.values() for one in each.remarks)
    copied = [one for one in said if getattr(one, "code", "") == "repeated-rows"][:1]
    result["remarks"] = [in_flags(one) for one in copied]
    result["given_0"] = _given_0(judged, probs)
    result["words"] = verdict_words(found, money, result["given_0"], fitted=fitted)
    return result


def _given_0(judged: OutcomeTable, probs: dict[str, Any]) -> dict[str, int]:
    """How often each model gave probability 0 to what happened, where it did."""
    import numpy as np

    from scarce.scoring import row_losses

    rows, weight = judged.labelled_weights()
    place = judged.y[rows].astype(np.intp)
    counted = True if weight is None else weight > 0
    lost = {
        name: int((np.isinf(row_losses(place, prob[rows], "log")) & counted).sum())
        for name, prob in probs.items()
    }
    return {name: n for name, n in lost.items() if n}


def _money(
    judged: OutcomeTable,
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

    from scarce import decide
    from scarce.evaluation.compare import compare_costs

    if CONSTANT not in probs:
        like = next(iter(probs.values()))
        spoken = judged.evaluate(level, seed)
        share = [one.value for one in spoken.happened]
        probs = {**probs, CONSTANT: np.full(like.shape, share if like.ndim == 2 else share[0])}
    kept = replace(judged, prob=None).labelled()
    rows = slice(None) if kept is judged or len(kept.y) == len(judged.y) else judged.known
    matrix = costs.matrix(judged.classes, kept.table if costs.columns else None)
    assert matrix is not None  # called only where costs were given
    truth, how = kept.names(), kept.drawn(level, seed)
    done = {name: decide(probs[name][rows], matrix) for name in order}
    found = compare_costs(truth, done, matrix, **how)
    return {
        "mean": found.mean,
        "best": found.best,
        "behind": found.behind,
        "confidence_set": found.confidence_set,
        "optimism": found.optimism,
        "tied": found.tied,
    }


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


class FeatureFlags(NamedTuple):
    """Which columns are learnt from, as typed."""

    columns: tuple[str, ...]
    drop: tuple[str, ...]
    ids: tuple[str, ...]
    categories: tuple[str, ...]


class OpenedRows:
    """The rows of a file as models take them: categories as codes, or as columns of 0 and 1."""

    def __init__(
        self,
        data: Path,
        labels: LabelFlags,
        reading: FeatureFlags,
        apart: list[str],
        form: TextForm,
    ) -> None:
        from scarce.cli.fit import identifiers
        from scarce.io.source import open_table

        self.source = open_table(data, form, whole=True)
        self.labels, self.form = labels, form
        for option, names in zip(FEATURE_FLAGS, reading, strict=True):
            for name in names:
                self.source.column(name, option)
        gone = [*reading.drop, *reading.ids, *apart]
        found = [] if reading.columns else identifiers(self.source, labels, tuple(gone), ())
        gone += found
        self.ids = [*reading.ids, *found]
        self.reading = {
            "columns": list(reading.columns) or None,
            "drop": list(dict.fromkeys(gone)) or None,
            "categories": list(reading.categories),
        }
        self.held: dict[bool, Any] = {}

    def open(self, widened: bool) -> Any:
        """Return all rows, labelled or not."""
        from scarce.cli.fit import open_labelled

        if widened not in self.held:
            self.held[widened] = open_labelled(
                self.source, self.labels, self.form, indicators=widened, **self.reading
            )[0]
        return self.held[widened]

    def together(self, judged: OutcomeTable) -> Any:
        """Return the group of each row with a label, None where every row stands alone."""
        from scarce.cli.sampling_columns import columns_as_written, rows_together

        table = judged.table
        if self.ids:
            table = columns_as_written(self.source, self.ids)
            self._refuse_other_length(table.num_rows, judged)
        found = rows_together(table, judged.groups, self.ids)
        return None if found is None else found[judged.known]

    def labelled(self, widened: bool, judged: OutcomeTable) -> Any:
        """Return the rows with a label, with labels and weights as judged."""
        from dataclasses import replace

        from scarce.engine.memory import ArrayRows

        rows, known = self.open(widened), judged.known
        self._refuse_other_length(len(rows), judged)
        return ArrayRows(
            rows.map(_features)[known],
            judged.y[known],
            weight=None if judged.sample_weight is None else judged.sample_weight[known],
            schema=replace(rows.schema, classes=judged.classes),
            check=False,
        )

    def _refuse_other_length(self, count: int, judged: OutcomeTable) -> None:
        if count != len(judged.y):
            raise DataError(
                "{table} has {rows:,} rows as a table and {count:,} as training rows, perhaps "
                "because of empty lines.",
                code="row-count",
                table=judged.where,
                rows=len(judged.y),
                count=count,
                remedy="Remove them.",
            )


def _features(block: Any, _: Any) -> Any:
    return block.X


class ModelFit:
    """How a model is fitted, as `scarce fit` would; small, so that workers can be sent it."""

    def __init__(self, kind: str, settings: dict[str, Any], seed: int) -> None:
        self.kind, self.settings, self.seed = kind, settings, seed

    def __call__(self, rows: Rows, groups: Any = None) -> Any:
        """Return the model, fitted to these rows; those of one group are kept together."""
        from scarce.cli.fit import class_of, said_clearly

        cls = class_of("rare" if self.kind == "logistic" else self.kind)
        arguments = dict(self.settings)
        if self.kind == "logistic":
            arguments = {"loss": "logistic", **arguments}
        if "random_state" in cls().get_params(deep=False):
            arguments = {"random_state": self.seed, **arguments}
        if self.kind == "bayes" and not self.settings and len(rows.classes) > 2:
            arguments["covariance"] = "shrunk"
        if self.kind == "maxent" and "default_prevalence" not in arguments:
            arguments |= _labelled_shares(rows)
        with said_clearly(cls.__name__):
            return cls(**arguments).fit(rows, groups=groups)


def _labelled_shares(rows: Rows) -> dict[str, Any]:
    """Shares of the classes among the labelled rows, as only these are judged here.

    Nothing where every row is labelled: maxent then takes the observed shares by itself.
    """
    counts, unlabelled = rows.label_counts()
    if not unlabelled:
        return {}
    shares = zip(rows.classes, (counts / counts.sum()).tolist(), strict=True)
    return {"default_prevalence": dict(shares)}


def read_model(name: str) -> tuple[str, dict[str, Any]]:
    """The kind of model and its settings, from NAME:SETTING=VALUE:..."""
    from scarce.cli.fit import settings_of as read

    kind, *pairs = name.split(":")
    return kind, read("rare" if kind == "logistic" else kind, {}, tuple(pairs)) if pairs else {}


def suitable_models(judged: OutcomeTable, rows: Rows, json: bool) -> list[str]:
    """The models that can be fitted to these rows, and why not the others."""
    if len(judged.classes) > 2:
        chosen, why = ["bayes", "maxent", "auto"], f"{len(judged.classes)} classes"
    elif has_missing(rows):
        chosen, why = ["bayes", "maxent", "auto"], "values are missing"
    else:
        return ["logistic", "rare", "bayes", "auto"]
    if not json:
        say(f"Comparing {', '.join(chosen)}, because {why}; --models chooses others.")
    return chosen


def has_missing(rows: Rows) -> bool:
    """Whether any value is missing."""
    return bool(rows.fold(_missing_in))


def _missing_in(block: Any, _: Any) -> int:
    """Kernel: how many values are missing."""
    import numpy as np

    return int(np.isnan(block.X).sum())


def verdict_words(
    found: Any, money: dict[str, Any], given_0: dict[str, int], *, fitted: bool
) -> list[str]:
    """Return what the figures come to, in sentences.

    Parameters
    ----------
    found : Comparison
    money : dict
        Costs of each model, empty without costs.
    given_0 : dict of name -> int
        Rows in which what happened had probability 0.
    fitted : bool
        Whether models were fitted here, not read from files.
    """
    from scarce.results import in_rows  # with numpy, which is heavy

    best, tied = found.best["log_loss"], [name for name in found.tied() if name != CONSTANT]
    worse = [name for name in found.behind["log_loss"] if name not in found.tied()]
    said = []
    if best == CONSTANT or not [name for name in found.evaluations if name != CONSTANT]:
        said.append("No model has a lower log loss than the same probability for every row.")
    elif best in found.no_better():
        said.append(
            f"{best} has the lowest log loss, but its gain over the constant forecast is "
            "within noise: these rows do not show that any model helps."
        )
    elif tied:
        said.append(
            f"{best} has the lowest log loss; the difference from {_listed(tied)} is within "
            "noise, so the simpler one will do."
        )
    else:
        said.append(f"{best} is best in log loss, by more than noise.")
    lost = [name for name in found.no_better() if name not in (best, *tied)]
    if lost and best != CONSTANT:
        unsure = [name for name in lost if found.ahead["log_loss"][name].value > 0]
        for how, names in (
            ("not certainly better", unsure),
            ("no better", [name for name in lost if name not in unsure]),
        ):
            if names:
                said.append(f"{_listed(names)}: {how} than the constant forecast in log loss.")
    for name, n in given_0.items():
        said.append(
            f"{name} gave probability 0 to the outcome in {in_rows(n)}, so its log loss is "
            "infinite."
        )
    gain = found.optimism["log_loss"]
    if tied and best != CONSTANT and gain > 0:
        said.append(
            f"Chosen as the best on these rows, {best} looks better than it is, by about "
            f"{gain:.2g} in log loss."
        )
    others = [name for name in worse if name not in (CONSTANT, *lost)]
    if others:
        said.append(f"Worse by more than the noise: {_listed(others)}.")
    if money:
        close = money["tied"]
        said.append(
            f"In money the cheapest is {money['best']}"
            + (f"; inside the noise of it: {_listed(close)}." if close else ", beyond the noise.")
        )
    said += _off(found, fitted)
    return said


def _off(found: Any, fitted: bool) -> list[str]:
    """Say which models are far off on average, and for one from a file, why that may be."""
    said = []
    for name, one in found.evaluations.items():
        given, happened = one.given[0].value, one.happened[0].value
        if len(one.events) == 1 and 0 < happened < 1 and not 1 / OFF < given / happened < OFF:
            said.append(
                f"{name} gives {100 * given:.3g} % on average, and {100 * happened:.3g} % "
                "happened" + ("." if fitted else MIX)
            )
    return said


def _listed(names: list[str]) -> str:
    return names[0] if len(names) == 1 else f"{', '.join(names[:-1])} and {names[-1]}"


def show_comparison(result: dict[str, Any]) -> None:
    """Write the table of models, the least log loss first, and what it comes to."""
    behind, money = result["behind"]["log_loss"], result.get("cost")
    told = [(name, result["evaluations"][name]) for name in result["models"]]
    level = f"behind ({100 * result['level']:g} %, jointly)"
    parts = [
        {
            "": [name for name, _ in told],
            "log loss": [number(one.log_loss.value) for _, one in told],
            level: [_signed(behind[name]) if name in behind else "best" for name, _ in told],
        },
        {
            "Brier": [number(one.brier.value) for _, one in told],
            "calibration": [number(one.calibration[0].value) for _, one in told],
        },
    ]
    if len(result["classes"]) == 2:
        parts[1]["mean given"] = [number(one.given[0].value, " %") for _, one in told]
    if money:
        late = money["behind"]
        parts.append(
            {
                "cost a row": [number(money["mean"][name].value) for name, _ in told],
                "behind": [_signed(late[name]) if name in late else "best" for name, _ in told],
            }
        )
    counts = ", ".join(
        f"{count:,} {name}" for name, count in zip(result["classes"], result["counts"], strict=True)
    )
    title = f"{result['table']}: {result['rows']:,} rows ({counts}), {result['how']}"
    _side_by_side(parts, title)
    write_line()
    for words in result["words"]:
        write_line(folded(words))
    write_line("\n" + folded("Assumes that " + "; ".join(result["assumes"]) + "."))


def _side_by_side(parts: list[dict[str, list[str]]], title: str) -> None:
    """Write columns as one table; where a terminal has no room for it, part after part."""
    whole = {heading: cells for part in parts for heading, cells in part.items()}
    pieces = [whole]
    if on_terminal() and _width(whole) > terminal_width():
        write_line(folded(title) + "\n")
        pieces, title = [{"": parts[0][""]} | part for part in parts], ""
    for place, piece in enumerate(pieces):
        if place:
            write_line()
        table(list(zip(*piece.values(), strict=True)), columns=list(piece), title=title)


def _width(columns: dict[str, list[str]]) -> int:
    """Columns of a terminal that a table takes, as it is drawn there."""
    return sum(max(map(len, [heading, *cells])) + 3 for heading, cells in columns.items())


def _signed(one: Any) -> str:
    """A difference with its interval, in few digits."""
    if one.value != one.value:
        return "unknown"
    if abs(one.value) == float("inf"):
        return f"{one.value:+g}"
    noise = "" if one.low > 0 else " noise"
    return f"+{one.value:.2g} [{one.low:.2g}, {one.high:.2g}]{noise}"
