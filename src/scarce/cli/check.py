"""`scarce check`: a gate for pipelines: does every bound hold, and can that be shown?

    --max-... holds if the interval's high end is at or below the bound, --min-... if its low end is
    at or above it (--by worst, the default); --by value uses the estimate alone

Recall and missed events go by the interval of the rows that were drawn at random below the
threshold; where none were, there is only a guess, and what a guess meets is not shown.

An unknown figure does not pass. Exit code 0 if every bound holds, 4 if one does not. The figures
are those of evaluate (probabilities) and estimate (scores of which only some rows are labelled).
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from scarce.cli.costs import COSTS, CostFlags
from scarce.cli.estimate import problems_of
from scarce.cli.evaluate import cost_figures, folded_note, number, refuse_several
from scarce.cli.flags import in_flags
from scarce.cli.next_command import path_word, shell_command
from scarce.cli.options import INPUT, LABELS, TEXT, Group, LabelFlags, is_typed, names_of, takes
from scarce.cli.outcome_table import OutcomeTable, look_at, read_outcomes
from scarce.cli.output import emit, say, show_plan, table
from scarce.cli.performance_words import is_guess, whole
from scarce.cli.sampling_columns import SAMPLING, SamplingFlags
from scarce.cli.scored_table import SCORES, ScoredTable, ScoreFlags, thresholds
from scarce.cli.table_columns import find_prob, table_or_stdin
from scarce.errors import CheckError, DataError, UsageError, suggest

if TYPE_CHECKING:
    from scarce import Estimate, Performance
    from scarce.io.text import TextForm

NEEDS = {
    "prob": "a column of probabilities (--prob) or a model file",
    "cost": "costs, such as --false-alarm 5 --miss 400",
    "rival": "the probabilities in use now: --against old.scarce, or --against COLUMN",
    "score": "--threshold, and --score unless probabilities are given",
}
FOUND = ("recall", "precision", "missed")
AS_ESTIMATE = (
    *("audit", "id", "auc", "batch", "share_shape", "group", "second", "second_label"),
    *("label_error", "label_source", "threshold_at", "no_check"),
)


class Bound(NamedTuple):
    """A bound that can be asked for: its option, what it needs, and the range of its figure."""

    name: str  # of the option, such as "max-log-loss"
    kind: str  # "prob", "cost", "rival" or "score"
    least: float = 0.0
    most: float = math.inf

    @property
    def side(self) -> str:
        """ "max" or "min"."""
        return self.name[:3]

    @property
    def figure(self) -> str:
        """What is bounded, such as "log-loss"."""
        return self.name[4:]

    @property
    def flag(self) -> str:
        """The option as typed."""
        return f"--{self.name}"


BOUNDS = (
    Bound("max-log-loss", "prob"),
    Bound("max-brier", "prob", most=1),
    Bound("max-calibration", "prob", most=1),
    Bound("max-gap", "prob", most=1),
    Bound("min-skill", "prob", least=-math.inf, most=1),
    Bound("min-auc", "prob", most=1),
    Bound("max-worse", "rival", least=-math.inf),
    Bound("max-cost", "cost", least=-math.inf),
    Bound("min-savings", "cost", least=-math.inf, most=1),
    Bound("min-recall", "score", most=1),
    Bound("min-precision", "score", most=1),
    Bound("max-missed", "score"),
)


def _typed_bounds(**limits: float | None) -> dict[Bound, float]:
    """Return the bounds that were typed."""
    held = {bound: limits[bound.name.replace("-", "_")] for bound in BOUNDS}
    return {bound: limit for bound, limit in held.items() if limit is not None}


BOUND_OPTIONS = Group("bounds", names_of("bounds"), _typed_bounds)


def refuse_limits(bounds: Mapping[Bound, float]) -> None:
    """Refuse bounds that every figure keeps, or none."""
    for bound, limit in bounds.items():
        if not math.isfinite(limit):
            raise UsageError(
                "{bound} must be finite, got {limit}.",
                code="bound-value",
                bound=bound.flag,
                limit=limit,
            )
        if not bound.least <= limit <= bound.most:
            ends = f"at least {bound.least:g}" if bound.least == 0 else "at most 1"
            ends = "between 0 and 1" if (bound.least, bound.most) == (0, 1) else ends
            share = (
                f" {limit:g} % is {limit / 100:g}." if 1 < limit <= 100 and bound.most == 1 else ""
            )
            raise UsageError(
                "{bound} {limit:g} decides nothing: the figure is always {ends}.{share}",
                code="bound-value",
                bound=bound.flag,
                limit=limit,
                ends=ends,
                share=share,
            )


def verdict(bound: Bound, limit: float, name: str, one: Estimate, by: str) -> dict[str, Any]:
    """Say whether a figure keeps within its bound, and why not.

    Examples
    --------
    >>> from scarce import Estimate
    >>> one = Estimate(0.6, 0.4, 0.8)
    >>> recall = next(bound for bound in BOUNDS if bound.figure == "recall")
    >>> verdict(recall, 0.5, "recall", one, "value")["verdict"]
    'holds'
    >>> verdict(recall, 0.5, "recall", one, "worst")["verdict"]
    'not shown: 0.6 meets the bound, but its interval reaches 0.4'
    >>> none = Estimate(math.nan, 0.0, 0.0, assumes="no event was seen")
    >>> verdict(recall, 0.5, "recall", none, "worst")["verdict"]
    'unknown: no event was seen'
    >>> guess = Estimate(0.6, 0.01, 1.0, method="guess from a curve, no checks")
    >>> verdict(recall, 0.5, "recall", guess, "value")["verdict"]
    'not shown: nothing was checked below the threshold, and 0.6 is a guess'
    """
    end = {"worst": "high" if bound.side == "max" else "low"}.get(by, by)
    guess, told = is_guess(one), whole(one) if bound.figure == "missed" else one
    if guess:  # what the labels leave possible is certain, and the value is not
        end = "high" if bound.side == "max" else "low"
    seen = float(getattr(one, end))
    settled = not (math.isnan(one.value) and one.low == one.high)  # an interval of nothing
    holds = settled and _within(seen, limit, bound.side)
    open_end = one.low if bound.side == "max" else one.high
    if holds:
        words = "holds"
    elif guess:
        words = "not shown: nothing was checked below the threshold"
        words += "" if math.isnan(one.value) else f", and {number(told.value)} is a guess"
    elif math.isnan(seen):
        words = f"unknown: {one.assumes if math.isnan(one.value) else one.method}"
    elif math.isnan(one.value) and (not settled or _within(open_end, limit, bound.side)):
        words = f"unknown: {one.assumes}"
    elif by != "value" and _within(one.value, limit, bound.side):
        words = f"not shown: {number(told.value)} meets the bound, but its interval reaches "
        words += number(float(getattr(told, end)))
    else:
        words = "does not hold"
    return {
        "figure": name,
        "bound": bound.flag,
        "limit": limit,
        "estimate": one,
        "by": end,
        "seen": seen,
        "holds": holds,
        "verdict": words,
    }


def _within(value: float, limit: float, side: str) -> bool:
    """Whether a number keeps a bound; what is not a number does not."""
    return value <= limit if side == "max" else value >= limit


@click.command()
@click.argument("files", nargs=-1, type=INPUT, metavar="[MODEL] TABLE")
@takes(
    BOUND_OPTIONS,
    *("by", "prob"),
    LABELS,
    "against",
    SCORES,
    SAMPLING,
    COSTS,
    *("level", "seed"),
    TEXT,
    *("trust", "dry-run", "json"),
)
@click.pass_context
def check(
    ctx: click.Context,
    files: tuple[Path, ...],
    bounds: dict[Bound, float],
    by: str,
    prob: tuple[str, ...],
    labels: LabelFlags,
    against: str | None,
    scores: ScoreFlags,
    sampling: SamplingFlags,
    costs: CostFlags,
    level: float,
    seed: int,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Gate a pipeline: exit 4 if a bound does not hold.

    A bound must hold for the unfavourable end of the figure's interval, so luck with few rows
    does not pass; --by value uses the estimate alone. An unknown figure does not pass. Takes the
    options of evaluate, and with --score and --threshold those of estimate, --audit included.

    \b
    scarce check p.csv --label fraud --max-log-loss 0.1 --max-brier 0.05 --min-auc 0.8
    scarce check m.scarce test.csv --label fraud --false-alarm 5 --miss 400 --max-cost 4
    scarce check scores.csv --score score --label label --threshold 2.5 --min-precision 0.2
    """
    kinds = {bound.kind for bound in bounds}
    _refuse_flags(bounds, kinds, against, scores, costs)
    if dry_run:
        typed = [("--label", labels.label), *(("--prob", name) for name in prob)]
        look_at(files, form, [*typed, ("--score", scores.score), *sampling.given.items()])
        show_plan(_plan(files, bounds, by), json=json)
        return
    by_walk = "score" in kinds and bool(as_estimate(scores))
    judged: OutcomeTable | None = None
    figures: dict[str, dict[str, Estimate]] = {}
    remarks: list[str] = []
    if not by_walk or kinds - {"score"}:
        judged = read_outcomes(
            files,
            "check",
            labels=labels,
            prob=prob,
            sampling=sampling,
            costs=costs if "cost" in kinds else None,
            extra=[("--score", scores.score)] if scores.score is not None else [],
            need_prob=bool(kinds - {"score"}) or scores.score is None,
            form=form,
        )
        if judged.learnt is not None:
            raise DataError(
                "{learnt} Such a check would always pass.",
                code="training-rows",
                learnt=judged.learnt,
            )
        figures, remarks = _figures(judged, kinds, costs, level, seed)
    if "score" in kinds:
        if judged is None or by_walk:
            again = judged is not None
            found = walked(
                files, scores, labels, prob, sampling, form, again=again, level=level, seed=seed
            )
        else:
            found = at_hand(judged, scores, thresholds(scores.threshold, None), level, seed)
        figures |= {name: {name: one} for name, one in found.figures.items()}
        remarks = list(dict.fromkeys([*remarks, *found.remarks]))
        where, rows, unlabelled = found.where, found.rows, found.unlabelled
    if judged is not None:
        where, rows, unlabelled = judged.where, len(judged.y), judged.unlabelled
    if against is not None and judged is not None:
        rival = _rival(files, judged.columns, against, labels, sampling, form)
        figures["worse"] = {f"log loss beyond {against}": judged.worse_than(rival, level, seed)}
    verdicts = [
        verdict(bound, limit, name, one, by)
        for bound, limit in bounds.items()
        for name, one in figures[bound.figure].items()
    ]
    holds = all(one["holds"] for one in verdicts)
    result = {
        "table": where,
        "model": None if judged is None else judged.model or None,
        "holds": holds,
        "by": by,
        "level": level,
        "rows": rows,
        "unlabelled": unlabelled,
        "checks": verdicts,
        "remarks": remarks,
    }
    emit(result, json=json, ok=holds, show=lambda: _show(result))
    if not holds:
        ctx.exit(CheckError.exit_code)


def _refuse_flags(
    bounds: Mapping[Bound, float],
    kinds: set[str],
    against: str | None,
    scores: ScoreFlags,
    costs: CostFlags,
) -> None:
    """Refuse flags that cannot work together, before anything is read."""
    if not bounds:
        listed = " ".join(bound.flag for bound in BOUNDS)
        raise UsageError(
            "There is no bound to check.",
            code="no-bounds",
            bounds=listed,
            remedy="Give at least one of: {bounds}.",
        )
    refuse_limits(bounds)
    first = {bound.kind: bound for bound in reversed(list(bounds))}
    costs.check()
    if "cost" in kinds and not costs.given:
        raise UsageError(
            "{bound} needs {needs}.",
            code="bound-needs",
            bound=first["cost"].flag,
            needs=NEEDS["cost"],
        )
    if costs.given and "cost" not in kinds:
        raise UsageError(
            "Costs are given, but no bound on them.",
            code="unused-argument",
            remedy="Add --max-cost or --min-savings.",
        )
    if ("rival" in kinds) != (against is not None):
        if against is None:
            raise UsageError(
                "{bound} needs {needs}.",
                code="bound-needs",
                bound=first["rival"].flag,
                needs=NEEDS["rival"],
            )
        raise UsageError(
            "--against {against} is given, but no bound on it.",
            code="unused-argument",
            against=against,
            remedy="Add --max-worse 0.",
        )
    if "score" in kinds and not scores.threshold:
        raise UsageError(
            "{bound} needs {needs}.",
            code="bound-needs",
            bound=first["score"].flag,
            needs=NEEDS["score"],
        )
    flag = "--threshold" if scores.threshold else as_estimate(scores)
    flag = "--score" if scores.score is not None else flag
    if "score" not in kinds and flag:
        raise UsageError(
            "{option} is given, but no bound that uses it.",
            code="unused-argument",
            option=flag,
            remedy="Add --min-recall, --min-precision or --max-missed.",
        )
    if scores.threshold:
        thresholds(scores.threshold, scores.batch)
    scores.refuse_idle()


def _figures(
    judged: OutcomeTable,
    kinds: set[str],
    costs: CostFlags,
    level: float,
    seed: int,
) -> tuple[dict[str, dict[str, Estimate]], list[str]]:
    """Estimates by figure, each by the name that it is shown with; and what to know of them."""
    figures: dict[str, dict[str, Estimate]] = {}
    remarks: list[str] = []
    aside = judged.left_aside()
    if aside is not None and kinds - {"score"}:
        remarks.append(aside)
    if "prob" in kinds:
        found = judged.evaluate(level, seed)
        remarks += map(in_flags, found.remarks)
        figures["log-loss"] = {"log loss": found.log_loss}
        figures["brier"] = {"Brier score": found.brier}
        figures["skill"] = {"skill": found.log_loss_skill}
        for figure, words, held in (
            ("calibration", "calibration loss", found.calibration),
            ("gap", "|given - happened|", [_size(one) for one in found.gap]),
            ("auc", "AUC", found.auc),
        ):
            figures[figure] = {
                words if len(found.events) == 1 else f"{words} of {event}": one
                for event, one in zip(found.events, held, strict=True)
            }
    if "cost" in kinds:
        money = cost_figures(judged.labelled(), costs, level, seed, full=False)
        figures["cost"] = {"mean cost": money["mean_cost"]}
        figures["savings"] = {"savings": money["savings"].share}
    return figures, list(dict.fromkeys(remarks))


def _rival(
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    against: str,
    labels: LabelFlags,
    sampling: SamplingFlags,
    form: TextForm,
) -> OutcomeTable:
    """The same rows as judged by what is in use now."""
    from scarce.cli.model_file import is_model
    from scarce.io.source import open_table

    if str(files[0] if files else "") == against or prob == (against,):
        raise UsageError(
            "--against {against} is the model that is checked.",
            code="same-model",
            against=against,
            remedy="Name the one in use now.",
        )
    if not files or str(files[-1]) == "-":
        raise UsageError(
            "--against reads the table twice, and standard input can be read once.",
            code="read-twice",
            remedy="Write it to a file first.",
        )
    old = is_model(Path(against))
    if not old and against not in (names := open_table(files[-1], form).names):
        raise DataError(
            "--against {against}: {table} has no such column, and there is no such model "
            "file.{hint} The columns are: {columns}.",
            code="unknown-column",
            against=against,
            table=files[-1],
            hint=suggest(against, names),
            columns=", ".join(names[:12]),
        )
    return read_outcomes(
        [Path(against), files[-1]] if old else [files[-1]],
        "check",
        labels=labels,
        prob=() if old else (against,),
        sampling=sampling,
        form=form,
        quiet=True,
    )


def _size(one: Estimate) -> Estimate:
    """The size of a figure that may have either sign."""
    ends = sorted((abs(one.low), abs(one.high)))
    low = 0.0 if one.low <= 0 <= one.high else ends[0]
    if math.isnan(one.low):
        low = ends[1] = math.nan
    return replace(one, value=abs(one.value), low=low, high=ends[1])


def _show(result: dict[str, Any]) -> None:
    for remark in result["remarks"]:
        say(folded_note(remark))
    rows = []
    for one in result["checks"]:
        held, sign = one["estimate"], "<=" if one["bound"].startswith("--max") else ">="
        held = whole(held) if one["bound"] == "--max-missed" else held
        guess = is_guess(held)
        rows.append(
            [
                one["figure"],
                f"{number(held.value)} (guess)" if guess else number(held.value),
                "none" if guess else f"{number(held.low)} to {number(held.high)}",
                f"{sign} {number(one['limit'])}",
                one["verdict"],
            ]
        )
    kept = sum(one["holds"] for one in result["checks"])
    table(
        rows,
        columns=["", "value", f"{100 * result['level']:g} % interval", "bound", "verdict"],
        title=f"{result['table']}: {kept} of {len(rows)} bounds hold (by {result['by']})",
    )


def _plan(files: tuple[Path, ...], bounds: Mapping[Bound, float], by: str) -> dict[str, Any]:
    return {
        "reads": ", ".join(map(str, files)) or "standard input",
        "checks": ", ".join(f"{bound.flag} {limit:g}" for bound, limit in bounds.items()),
        "by": by,
        "writes": "standard output; exit code 4 if a bound does not hold",
    }


class ThresholdFigures(NamedTuple):
    """What was found and missed, where, and what to know of it."""

    where: str
    rows: int
    unlabelled: int
    figures: dict[str, Estimate]
    remarks: list[str]


def as_estimate(scores: ScoreFlags) -> str:
    """Return the first flag that only a walk as `scarce estimate` does it can follow, or ""."""
    typed = [name for name in AS_ESTIMATE if getattr(scores, name)]
    if not scores.audit and not is_typed("id"):  # a setting for commands with lists
        typed = [name for name in typed if name != "id"]
    return "" if not typed else f"--{typed[0].replace('_', '-')}"


def walked(
    files: Sequence[Path],
    scores: ScoreFlags,
    labels: LabelFlags,
    prob: Sequence[str],
    sampling: SamplingFlags,
    form: TextForm,
    *,
    again: bool,
    level: float,
    seed: int,
) -> ThresholdFigures:
    """Estimate with lists, batches and what else `scarce estimate` takes.

    Parameters
    ----------
    files, scores, labels, prob, sampling, form
        As typed.
    again : bool
        Whether the table was read before, for other bounds.
    level, seed
    """
    from scarce.cli.model_file import is_model
    from scarce.io.source import open_table

    flag = as_estimate(scores)
    for other in ("--weight", "--groups"):
        if other in sampling.given:
            raise UsageError(
                "{option} needs a label in every row, and {other} is for rows without one.",
                code="argument-conflict",
                option=other,
                other=flag,
                remedy="Give one of them; to count incidents and not rows, use --group.",
            )
    path = table_or_stdin(files[-1] if files else None, "check")
    if scores.score is None and files and is_model(files[0]):
        raise UsageError(
            "{option} needs a table of scores, not a model.",
            code="argument-conflict",
            option=flag,
            command=shell_command("scarce", "predict", *map(path_word, files)),
            remedy="Write the probabilities first, with {command} --out p.csv, and check those.",
        )
    if str(path) == "-" and (again or scores.score is None):
        raise UsageError(
            "{option} with probabilities reads the table twice, and standard input can be read "
            "once.",
            code="read-twice",
            option=flag,
            remedy="Write it to a file first.",
        )
    if scores.score is None:
        columns = find_prob(open_table(path, form), prob).columns
        if len(columns) > 1:
            raise UsageError(
                "--threshold needs one score per row, and there are {count} columns of "
                "probabilities.",
                code="several-columns",
                count=len(columns),
                remedy="Name one with --score.",
            )
        scores = replace(scores, score=columns[0])
    held = ScoredTable(path, scores, labels, form)
    found, _ = held.measure(level=level, seed=seed)
    counts = found.counts
    open_rows = counts.rows - counts.alerts_labelled - counts.labelled_below
    remarks = list(map(in_flags, problems_of(found, held, found.batches if scores.batch else {})))
    if again and scores.audit:
        remarks.append(
            "The lists of --audit are used for recall, precision and missed events only."
        )
    return ThresholdFigures(
        held.source.where, counts.rows, open_rows, _performance_figures(found), remarks
    )


def at_hand(
    judged: OutcomeTable, scores: ScoreFlags, threshold: Any, level: float, seed: int
) -> ThresholdFigures:
    """Count where every row has a label, else estimate, from rows that are in memory."""
    from scarce import Estimate, estimate_performance
    from scarce.evaluation.evaluate import at_threshold
    from scarce.io.values import number_column

    values = judged.prob
    if scores.score is not None:
        values = number_column(judged.table, scores.score, where=judged.where)
    where, rows, unlabelled = judged.where, len(judged.y), judged.unlabelled
    if not unlabelled:
        refuse_several(judged)
        cut = at_threshold(judged.y, values, threshold, **judged.drawn(level, seed))
        count = float(cut.missed)
        exact = Estimate(count, count, count, level, "counted", "these rows alone")
        if judged.drawn_here:
            why = "the rows were drawn (--inclusion): those that they stand for are not here"
            exact = Estimate(math.nan, count, math.inf, level, "counted", why)
        recall = _because(cut.recall, "no row is an event")
        precision = _because(cut.precision, "no row is an alert at this threshold")
        figures = {"recall": recall, "precision": precision, "missed": exact}
        return ThresholdFigures(where, rows, 0, figures, [])
    refuse_several(judged)
    for flag, held in (("--weight", judged.sample_weight), ("--groups", judged.groups)):
        if held is not None:
            raise UsageError(
                "{option} needs a label in every row, and {count:,} rows have none.",
                code="argument-conflict",
                option=flag,
                count=unlabelled,
                remedy="Leave it out.",
            )
    found = estimate_performance(
        values,
        judged.y,
        threshold=threshold,
        inclusion=judged.inclusion,
        method=scores.method,
        assume=scores.assume,
        background=scores.background,
        foreground=scores.foreground,
        level=level,
        random_state=seed,
    )
    return ThresholdFigures(
        where,
        rows,
        unlabelled,
        _performance_figures(found),
        list(map(in_flags, problems_of(found))),
    )


def _because(one: Estimate, why: str) -> Estimate:
    """Return an estimate that says why it is not known, where it is not."""
    return replace(one, assumes=why) if math.isnan(one.value) else one


def _performance_figures(found: Performance) -> dict[str, Estimate]:
    """Recall and missed events of these rows, and precision of further alerts: a gate asks that."""
    figures: dict[str, Estimate] = {name: getattr(found, name) for name in FOUND}
    figures["precision"] = found.precision_further
    return {name: replace(one, assumes=in_flags(one.assumes)) for name, one in figures.items()}
