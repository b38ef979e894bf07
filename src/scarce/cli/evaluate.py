"""`scarce evaluate`: how good were the probabilities, now that outcomes are known?

    loss beside that of the constant forecast, calibration, ranking, and with costs the money

Every figure has its interval and what it assumes. Where the mean probability is far from the event
rate, another base rate is tried: `scarce correct` is advised only if it closes half of the gap. The
figures are the library's; this file reads rows and writes tables.
"""

from __future__ import annotations

import math
import textwrap
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scarce.cli.by_columns import BY, ByFlags, show_by, show_missing
from scarce.cli.costs import COSTS, CostFlags
from scarce.cli.flags import in_flags, with_code
from scarce.cli.next_command import path_word, shell_command
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, takes
from scarce.cli.outcome_table import FAR, OutcomeTable, look_at, read_outcomes
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
from scarce.cli.table_columns import USUAL
from scarce.errors import DataError, Problem, UsageError

if TYPE_CHECKING:
    from scarce.evaluation.evaluate import Evaluation
    from scarce.io.text import TextForm
    from scarce.results import Estimate

BRIER = ("Brier score", "Brier score (half the sum)")  # of two classes, of several
UNITS = {"given": " %", "happened": " %", "gap": " points"}
AT = ("recall", "precision", "specificity", "alerts")
OF_EACH = ("calibration", "given", "happened", "gap", "auc")
SAID = {
    "calibration": "calibration loss",
    "given": "mean given",
    "happened": "happened",
    "gap": "given - happened",
    "auc": "AUC",
    "recall": "recall (sensitivity)",
}
CERTAIN = 1.96  # standard errors of a gap, both samples counted, from which on it is no chance
MENDED = 0.5  # of the gap that may be left by a move that is worth its while
PLACEHOLDER = "SHARE"
ANOTHER = "Fit it again on rows like these, or use another model."


@click.command()
@click.argument("files", nargs=-1, type=INPUT, metavar="[MODEL] TABLE")
@takes(
    *("prob", LABELS, SAMPLING, BY, COSTS, "threshold", "level", "seed", TEXT),
    *("trust", "dry-run", "json"),
)
def evaluate(
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    sampling: SamplingFlags,
    by: ByFlags,
    costs: CostFlags,
    threshold: float | None,
    level: float,
    seed: int,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Evaluate probabilities against outcomes, with intervals.

    TABLE holds probabilities and outcomes; or name a MODEL file first, and its predictions for
    TABLE are evaluated. Log loss, Brier score, calibration and AUC are shown beside the constant
    forecast, which gives every row the base rate; with --threshold also recall and precision, with
    costs the cost and savings of the cheapest decisions. Rows without a label are left out, and
    their number is shown. With --by the same for each segment or period, which of them differ from
    the rest, and what changed over time. Where a model's columns have missing values, a table shows
    calibration by their share.

    \b
    scarce evaluate p.csv --prob prob --label fraud
    scarce evaluate m.scarce test.csv --label fraud --false-alarm 5 --miss 400
    scarce evaluate p.csv --label fraud --threshold 0.2 --costs costs.toml --json
    scarce evaluate m.scarce test.csv --label fraud --by device --threshold 0.2
    """
    from scarce.evaluation.missing_share import missing_table

    costs.check()
    by.check()
    if threshold is not None and not 0 <= threshold <= 1:
        raise UsageError(
            "--threshold must be a probability between 0 and 1, got {threshold:g}.",
            code="prob-range",
            threshold=threshold,
            remedy="For scores of another kind use scarce estimate.",
        )
    if dry_run:
        typed = [("--label", labels.label), *(("--prob", name) for name in prob)]
        paid = [(costs.option(name), name) for name in costs.columns]
        look_at(files, form, [*typed, *sampling.given.items(), *by.given, *paid])
        show_plan(_plan(files, prob, labels, sampling, costs), json=json)
        return
    judged = read_outcomes(
        files, "evaluate", labels=labels, prob=prob, sampling=sampling, costs=costs,
        names=by.given, form=form,
    )  # fmt: skip
    split = by.split(judged, level, seed)
    judged = split.known
    aside = judged.left_aside()
    if not json and aside is not None:
        say(with_code(aside))
    with progress("Judging"):
        if threshold is not None:
            refuse_several(judged)
        found = judged.evaluate(level, seed, threshold)
        money = cost_figures(judged.labelled(), costs, level, seed)
        result = _result(judged, found, money)
        parts = split.evaluate(level, seed, threshold)
        result["remarks"] += [*split.remarks(), *(() if parts is None else parts.remarks)]
        by_missing = judged.by_missing(level, seed)
        if by_missing is not None:
            result["by_missing"] = by_missing
            result["remarks"] += missing_table(by_missing).remarks
        if parts is not None:
            result["by"] = parts
            result["assumes"] = list(dict.fromkeys([*result["assumes"], *parts.assumes]))

    def show() -> None:
        _show(judged, found, money, result)
        if parts is not None:
            show_by(parts)
        if by_missing is not None:
            show_missing(by_missing)
        write_line("\n" + folded("Assumes that " + "; and that ".join(result["assumes"]) + "."))

    emit(result, json=json, show=show)


def refuse_several(judged: OutcomeTable) -> None:
    """Refuse a threshold where there are more than two classes."""
    if len(judged.classes) != 2:
        raise DataError(
            "{table}: a threshold needs two classes, and the labels have {count}.",
            code="two-classes-needed",
            table=judged.where,
            count=len(judged.classes),
            remedy="Name the event with --positive and the others with --negative.",
        )


def cost_figures(
    judged: OutcomeTable, costs: CostFlags, level: float, seed: int, *, full: bool = True
) -> dict[str, Any]:
    """Return what the cheapest decisions cost: empty without costs.

    Parameters
    ----------
    judged : OutcomeTable
        Rows with a label, or all rows where labels were drawn by lot.
    costs : CostFlags
    level, seed
        Of the intervals.
    full : bool
        Whether to count rows and cost by action and class, too.
    """
    matrix = costs.matrix(judged.classes, judged.table if costs.columns else None)
    if matrix is None:
        return {}
    from scarce import cost_confusion, decide, savings

    done = decide(judged.prob, matrix)
    how = judged.drawn(level, seed)
    truth = judged.names()
    saved = savings(truth, done, matrix, **how)
    money = {"mean_cost": saved.cost, "savings": saved, "actions": list(matrix.actions)}
    if full:
        money["confusion"] = cost_confusion(truth, done, matrix, **how)
    return money


def _result(judged: OutcomeTable, found: Evaluation, money: dict[str, Any]) -> dict[str, Any]:
    figures = {
        name: getattr(found, name)
        for name in ("log_loss", "brier", "log_loss_skill", "brier_skill")
    }
    each = {
        str(event): {name: getattr(found, name)[at] for name in OF_EACH}
        for at, event in enumerate(found.events)
    }
    if len(found.events) == 1:
        figures |= each[str(found.events[0])]
    result: dict[str, Any] = {
        "table": judged.where,
        "model": judged.model or None,
        "base_rates": judged.own_shares,
        "rows": found.rows,
        "unlabelled": judged.unlabelled,
        "classes": list(found.classes),
        "counts": list(found.counts),
        "figures": figures,
        "constant": {"log_loss": found.constant_log_loss, "brier": found.constant_brier},
        "remarks": _remarks(judged, found),
    }
    aside = judged.left_aside()
    if aside is not None:
        result["remarks"].insert(0, aside)
    if len(found.events) > 1:
        result["by_class"] = each
    if money:
        result["cost"] = money
    if found.at_threshold is not None:
        result["at_threshold"] = found.at_threshold
    assumed = [one.assumes for one in figures.values() if one.value == one.value]
    result["assumes"] = list(dict.fromkeys(assumed))
    return result


def _remarks(judged: OutcomeTable, found: Evaluation) -> list[str]:
    """What the reader should know, most important first."""
    advice = base_rate_advice(judged, found)
    said: list[str] = [judged.learnt] if judged.learnt is not None else []
    said += [advice.problem] if advice is not None else []
    for remark in found.remarks:
        if judged.chosen and getattr(remark, "code", "") == "worse-than-constant":
            # a verdict that only fair rows allow
            remark = Problem(
                "On the labelled rows these probabilities score worse than the constant forecast. "
                "If those rows were selected, this does not extend to the others.",
                code="worse-than-constant",
            )
        said.append(in_flags(remark))
    return said


def _show(
    judged: OutcomeTable, found: Evaluation, money: dict[str, Any], result: dict[str, Any]
) -> None:
    beside = {"log_loss": found.constant_log_loss, "brier": found.constant_brier}
    rows = [
        _line("log loss (nats)", found.log_loss, beside["log_loss"]),
        _line(BRIER[len(found.classes) > 2], found.brier, beside["brier"]),
        _line("saved of constant's log loss", found.log_loss_skill, unit=" %"),
        _line("saved of constant's Brier", found.brier_skill, unit=" %"),
    ]
    for at, event in enumerate(found.events):
        suffix = f" of {event}" if len(found.events) > 1 else ""
        rows += [
            _line(SAID[name] + suffix, getattr(found, name)[at], unit=UNITS.get(name, ""))
            for name in OF_EACH
        ]
    cut = found.at_threshold
    if cut is not None:
        for name in AT:
            what = f"{SAID.get(name, name)} at {cut.threshold:g}"
            rows.append(_line(what, getattr(cut, name), unit=" %"))
    for remark in result["remarks"][1 if judged.left_aside() is not None else 0 :]:
        say(folded_note(remark))
    columns = ["", "value", f"{100 * found.level:g} % interval", "constant"]
    table(rows, columns=columns, title=_title(judged, found))
    if money:
        cost = money["mean_cost"]
        first, *others = str(money["savings"]).splitlines()
        first = (
            f"Mean cost of a row: {number(cost.value)} ({number(cost.low)} to "
            f"{number(cost.high)}). {first}"
        )
        first = folded(first) if on_terminal() else first
        write_line("\n" + "\n".join([first, *others, "", str(money["confusion"])]))


def folded(text: str) -> str:
    """Return text in lines of the terminal's width, 79 at most."""
    width = max(20, min(79, terminal_width() - 1))
    return textwrap.fill(text, width, break_long_words=False)


def folded_note(remark: str) -> str:
    """Return a remark in lines with its code; a command to paste has a line of its own."""
    command = remark.fields.get("command", "") if isinstance(remark, Problem) else ""
    if not command:
        return folded(f"Note: {with_code(remark)}") + "\n"
    assert isinstance(remark, Problem)
    return f"{folded('Note: ' + remark.removesuffix(command))}\n  {command}\n[{remark.code}]\n"


def _title(judged: OutcomeTable, found: Evaluation) -> str:
    counts = ", ".join(
        f"{count:,} {name}" for name, count in zip(found.classes, found.counts, strict=True)
    )
    by = f" by {judged.model}" if judged.model else ""
    rows = "1 row" if found.rows == 1 else f"{found.rows:,} rows"
    return f"{judged.where}: {rows} judged{by} ({counts})"


def _line(name: str, one: Any, beside: Any = None, *, unit: str = "") -> list[str]:
    value, low, high = (number(x, unit) for x in (one.value, one.low, one.high))
    return [name, value, f"{low} to {high}", "" if beside is None else number(beside.value)]


def number(value: float, unit: str = "") -> str:
    """Write a figure for a table: four digits, as a share or in hundredths with their unit.

    Examples
    --------
    >>> number(0.0123456), number(0.0123456, " %"), number(float("nan")), number(-0.00001)
    ('0.01235', '1.235 %', 'unknown', '-1e-05')
    """
    if value != value:
        return "unknown"
    if unit:
        return f"{100 * value:.4g}{unit}"
    return f"{value:,.0f}" if 10_000 <= abs(value) < 1e15 else f"{value:.4g}"


def _plan(
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    sampling: SamplingFlags,
    costs: CostFlags,
) -> dict[str, Any]:
    money = ["mean cost, savings, cost by action and class"] if costs.given else []
    named = [f"{flag} {column}" for flag, column in sampling.given.items()]
    return {
        "reads": ", ".join(map(str, files)) or "standard input",
        "columns": ", ".join([*(prob or ["prob"]), str(labels.label), *named, *costs.columns]),
        "computes": ", ".join(["log loss, Brier, skill, calibration, AUC", *money]),
        "writes": "standard output",
    }


class BaseRateAdvice(NamedTuple):
    """What to say of probabilities that are off on average.

    Parameters
    ----------
    seen : str
        A sentence: what was given on average, and what happened.
    way : str
        What follows from it, in sentences.
    command : str
        What to type, whole, "" where nothing is to be typed; it belongs to the end of `way`.
    """

    seen: str
    way: str
    command: str = ""

    @property
    def problem(self) -> Problem:
        """The advice as one remark; its last words are the command."""
        way = f"{self.way.removesuffix('.')}: {self.command}" if self.command else self.way
        return Problem(
            "{seen} {way}", code="mean-off", seen=self.seen, way=way, command=self.command
        )


def base_rate_advice(judged: OutcomeTable, found: Evaluation) -> BaseRateAdvice | None:
    """Return what to do about a mean probability that is far from what happened, None if it is not.

    Parameters
    ----------
    judged : OutcomeTable
        The rows, and where their probabilities come from.
    found : Evaluation
        The figures of these rows.
    """
    if len(found.events) != 1 or found.gap[0].low <= 0 <= found.gap[0].high:
        return None
    if found.auc[0].high < 0.5:  # the classes are exchanged: moving the share mends nothing
        return None
    given, happened = found.given[0].value, found.happened[0].value
    if not (given > FAR * happened or happened > FAR * given) or not 0 < happened < 1:
        return None
    if not _beyond_noise(found.gap[0]):
        return None
    seen = f"On average {_percent(given)} was given and {_percent(happened)} happened"
    if judged.chosen:
        return _of_chosen(judged, seen)
    seen += f", {given / happened:.2g} times as much as was right."
    if judged.own_shares is not None:
        way, mends = _recalibration(judged, judged.own_shares, given, happened)
    elif judged.corrected:
        mends = False
        way = (
            "They were corrected before: unless that used another base rate, they are "
            f"miscalibrated on these rows for another reason. {ANOTHER}"
        )
    else:
        way, mends = "If the model was trained at another base rate, recalibrate it.", True
    command = _correct_command(judged, happened) if mends else ""
    if mends and not command:
        way = f"{way.removesuffix('.')} with `scarce correct`."
    return BaseRateAdvice(seen, way, command)


def _beyond_noise(gap: Estimate) -> bool:
    """Whether a gap is more than chance, counting the training rows' sampling error, too.

    The model learnt its base rate from rows that were a draw themselves, and nothing says how many
    events these had: as many as here, it is taken, which doubles the variance.
    """
    from scipy.special import ndtri

    error = gap.width / (2.0 * float(ndtri((1.0 + gap.level) / 2.0)))
    return abs(gap.value) > CERTAIN * math.sqrt(2.0) * error


def _of_chosen(judged: OutcomeTable, seen: str) -> BaseRateAdvice:
    """What to say where few rows have a label, and nobody said how those came to have one."""
    n, labelled = len(judged.y), len(judged.y) - judged.unlabelled
    return BaseRateAdvice(
        f"{seen} among the rows with a label, {labelled:,} of {n:,}.",
        (
            "If these were selected, as alerts are, their event rate is not that of all rows, and "
            "must not be used to recalibrate. To estimate what was missed use `scarce estimate`."
        ),
    )


def _recalibration(
    judged: OutcomeTable, shares: list[float], given: float, happened: float
) -> tuple[str, bool]:
    """Say whether moving a model from its own share to what happened would mend it."""
    import numpy as np

    from scarce import correct_prior

    own = shares[1]
    rows, weight = judged.labelled_weights()
    now = [1.0 - happened, happened]
    moved = float(np.average(correct_prior(judged.prob[rows], shares, now), 0, weight))
    if abs(moved - happened) <= MENDED * abs(given - happened):
        return f"The model has a base rate of {_percent(own)}; recalibrate it.", True
    if 1 / FAR < own / happened < FAR:
        why = f"The model already has a base rate of {_percent(own)}, so this"
    else:
        why = (
            f"The model has a base rate of {_percent(own)}; recalibrated to "
            f"{_percent(happened)} it would give {_percent(moved)} on average, so the base "
            "rate"
        )
    return f"{why} is not the reason: it is miscalibrated on these rows. {ANOTHER}", False


def _correct_command(judged: OutcomeTable, share: float) -> str:
    """Return the command that moves the model or the table, "" for a pipe: nothing names it."""
    path = judged.model_path or judged.path
    if path is None:
        return ""
    words = ["scarce", "correct", path_word(path)]
    if judged.model_path is None:
        if judged.columns != (USUAL,):
            words += [part for name in judged.columns for part in ("--prob", name)]
        words += [*text_flags(judged.form), "--trained-at", PLACEHOLDER]
    words += ["--now-at", f"{share:.3g}", "--out", path_word(_beside(path))]
    return shell_command(*words)


def _beside(path: Path) -> Path:
    """Return a name for the moved file that nothing has yet: NAME-now, with the same endings."""
    packing = path.suffix if path.suffix in (".gz", ".zst") else ""
    bare = Path(path.name.removesuffix(packing))
    stem, place = bare.stem.removesuffix("-now"), 1
    while True:
        number = "" if place == 1 else f"-{place}"
        new = path.with_name(f"{stem}-now{number}{bare.suffix}{packing}")
        if not new.exists():
            return new
        place += 1


def text_flags(form: TextForm | None) -> list[str]:
    """Return the flags that say how a text is written, none where it is written as usual.

    Examples
    --------
    >>> from scarce.io.text import TextForm
    >>> text_flags(TextForm(delimiter=";", decimal=","))
    ['--delimiter', ';', '--decimal', ',']
    """
    from scarce.io.text import TextForm

    usual = TextForm()
    form = usual if form is None else form
    said: list[str] = []
    for name in ("delimiter", "encoding", "decimal"):
        if getattr(form, name) != getattr(usual, name):
            said += [f"--{name}", getattr(form, name)]
    said += [] if form.header else ["--no-header"]
    said += [part for word in form.missing for part in ("--missing", str(word))]
    return said + (["--only-empty"] if form.only_empty else [])


def _percent(share: float) -> str:
    return f"{100 * share:.3g} %"
