"""`scarce check`: a gate for pipelines: does every bound hold, and can that be shown?

    --max-... holds where the interval's high end is at or below the bound, --min-... where its low
    end is at or above it (--by worst, the default); --by value looks at the estimate alone

What is not known does not pass. Exit code 0 if every bound holds, 4 if one does not. The figures
are those of evaluate (probabilities) and estimate (scores of which only some were looked at).
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.bounds import BOUND_OPTIONS, BOUNDS, NEEDS, Bound, refuse_limits, verdict
from scarce.cli.check_scores import as_estimate, at_hand, walked
from scarce.cli.cost_flags import COSTS, CostFlags
from scarce.cli.evaluate import cost_figures, folded, number
from scarce.cli.judged import SAMPLING, Judged, SamplingFlags, look_at, read_judged
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, takes
from scarce.cli.output import emit, say, show_plan, table
from scarce.cli.score_flags import SCORES, ScoreFlags, thresholds
from scarce.errors import CheckError, DataError, UsageError, suggest

if TYPE_CHECKING:
    from scarce import Estimate
    from scarce.io.text import TextForm


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
    *("dry-run", "json"),
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
    speaks: SamplingFlags,
    costs: CostFlags,
    level: float,
    seed: int,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Gate a pipeline: exit 4 if a bound does not hold.

    A bound must hold for the unfavourable end of the figure's interval, so that luck with few rows
    does not pass; --by value looks at the estimate alone. What cannot be known does not pass. Takes
    what evaluate takes, and with --score and --threshold what estimate takes: filled-in lists too.

    \b
    scarce check p.csv --label fraud --max-log-loss 0.1 --max-brier 0.05 --min-auc 0.8
    scarce check m.scarce test.csv --label fraud --false-alarm 5 --miss 400 --max-cost 4
    scarce check scores.csv --score score --label label --threshold 2.5 --min-precision 0.2
    """
    kinds = {bound.kind for bound in bounds}
    _refuse_flags(bounds, kinds, against, scores, costs)
    if dry_run:
        typed = [("--label", labels.label), *(("--prob", name) for name in prob)]
        look_at(files, form, [*typed, ("--score", scores.score), *speaks.given.items()])
        show_plan(_plan(files, bounds, by), json=json)
        return
    by_walk = "score" in kinds and bool(as_estimate(scores))
    judged: Judged | None = None
    figures: dict[str, dict[str, Estimate]] = {}
    remarks: list[str] = []
    if not by_walk or kinds - {"score"}:
        judged = read_judged(
            files,
            "check",
            labels=labels,
            prob=prob,
            speaks=speaks,
            costs=costs if "cost" in kinds else None,
            extra=[("--score", scores.score)] if scores.score is not None else [],
            need_prob=bool(kinds - {"score"}) or scores.score is None,
            form=form,
        )
        if judged.learnt:
            raise DataError(f"{judged.learnt} A gate on them is open.")
        figures, remarks = _figures(judged, kinds, costs, level, seed)
    if "score" in kinds:
        if judged is None or by_walk:
            again = judged is not None
            found = walked(
                files, scores, labels, prob, speaks, form, again=again, level=level, seed=seed
            )
        else:
            found = at_hand(judged, scores, thresholds(scores.threshold, None), level, seed)
        figures |= {name: {name: one} for name, one in found.figures.items()}
        remarks = list(dict.fromkeys([*remarks, *found.remarks]))
        where, rows, unlabelled = found.where, found.rows, found.unlabelled
    if judged is not None:
        where, rows, unlabelled = judged.where, len(judged.y), judged.unlabelled
    if against is not None and judged is not None:
        rival = _rival(files, judged.columns, against, labels, speaks, form)
        figures["worse"] = {f"log loss beyond {against}": judged.worse_than(rival, level)}
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
            f"There is no bound to check, and a gate without one always stands open. Give at least "
            f"one of: {listed}."
        )
    refuse_limits(bounds)
    first = {bound.kind: bound for bound in reversed(list(bounds))}
    costs.check()
    if "cost" in kinds and not costs.given:
        raise UsageError(f"{first['cost'].flag} needs {NEEDS['cost']}.")
    if costs.given and "cost" not in kinds:
        raise UsageError("Costs are given and no bound on them: add --max-cost or --min-savings.")
    if ("rival" in kinds) != (against is not None):
        if against is None:
            raise UsageError(f"{first['rival'].flag} needs {NEEDS['rival']}.")
        raise UsageError(f"--against {against} is given and no bound on it: add --max-worse 0.")
    if "score" in kinds and not scores.threshold:
        raise UsageError(f"{first['score'].flag} needs {NEEDS['score']}.")
    flag = "--threshold" if scores.threshold else as_estimate(scores)
    flag = "--score" if scores.score is not None else flag
    if "score" not in kinds and flag:
        raise UsageError(
            f"{flag} is given and no bound on what it finds: add --min-recall, --min-precision or "
            "--max-missed."
        )
    if scores.threshold:
        thresholds(scores.threshold, scores.batch)
    scores.refuse_idle()


def _figures(
    judged: Judged,
    kinds: set[str],
    costs: CostFlags,
    level: float,
    seed: int,
) -> tuple[dict[str, dict[str, Estimate]], list[str]]:
    """Estimates by figure, each by the name that it is shown with; and what to know of them."""
    figures: dict[str, dict[str, Estimate]] = {}
    remarks: list[str] = []
    if judged.left_aside() and kinds - {"score"}:
        remarks.append(judged.left_aside())
    if "prob" in kinds:
        found = judged.evaluate(level)
        remarks += found.remarks
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
    speaks: SamplingFlags,
    form: TextForm,
) -> Judged:
    """The same rows as judged by what is in use now."""
    from scarce.cli.scoring import is_model
    from scarce.io.source import open_table

    if str(files[0] if files else "") == against or prob == (against,):
        raise UsageError(f"--against {against} is what is judged itself: name what is in use now.")
    if not files or str(files[-1]) == "-":
        raise UsageError("--against reads the table twice: write standard input to a file first.")
    old = is_model(Path(against))
    if not old and against not in (names := open_table(files[-1], form).names):
        raise DataError(
            f"--against {against}: {files[-1]} has no such column, and there is no such model file."
            f"{suggest(against, names)} The columns are: {', '.join(names[:12])}."
        )
    return read_judged(
        [Path(against), files[-1]] if old else [files[-1]],
        "check",
        labels=labels,
        prob=() if old else (against,),
        speaks=speaks,
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
        say(folded(f"Note: {remark}") + "\n")
    rows = []
    for one in result["checks"]:
        held, sign = one["estimate"], "<=" if one["bound"].startswith("--max") else ">="
        rows.append(
            [
                one["figure"],
                number(held.value),
                f"{number(held.low)} to {number(held.high)}",
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
