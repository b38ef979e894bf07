"""`scarce report`: one HTML file to hand on, from a model or scores and what is known of the rows.

    read rows -> figures of the library -> scarce.report.Report -> file

The figures are those of `scarce evaluate`, or with --score those of `scarce estimate`, computed by
the library; the page is `scarce.report`. This file reads flags; the order in which things stand is
in report_parts.py and report_scores.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import fields
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.by_columns import BY, ByFlags
from scarce.cli.costs import COSTS, CostFlags
from scarce.cli.flags import in_flags
from scarce.cli.next_command import shell_command
from scarce.cli.options import INPUT, LABELS, TEXT, LabelFlags, is_typed, takes
from scarce.cli.outcome_table import look_at
from scarce.cli.output import emit, say, show_plan, write_line
from scarce.cli.scored_table import SCORES, ScoredTable, ScoreFlags
from scarce.cli.table_columns import table_or_stdin
from scarce.errors import DataWarning, UsageError

if TYPE_CHECKING:
    from scarce.io.text import TextForm


class AsTyped(click.Command):
    """A command that remembers what was typed after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words, then read them."""
        ctx.meta["typed"] = list(args)
        return super().parse_args(ctx, args)


@click.command(cls=AsTyped)
@click.argument("files", nargs=-1, type=INPUT, metavar="[MODEL] TABLE")
@takes(
    "prob",
    LABELS,
    BY,
    COSTS,
    SCORES,
    *("title", "out", "force", "level", "seed", "threads"),
    TEXT,
    *("trust", "dry-run", "json"),
)
@click.pass_context
def report(
    ctx: click.Context,
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    by: ByFlags,
    costs: CostFlags,
    scores: ScoreFlags,
    title: str | None,
    out: Path | None,
    force: bool,
    level: float,
    seed: int,
    threads: int | None,
    form: TextForm,
    dry_run: bool,
    json: bool,
) -> None:
    """Write an HTML report.

    TABLE holds rows with known outcomes in the column --label; name a MODEL file first, or the
    column of probabilities with --prob. One file, no network needed: warnings first, then the data,
    the model, figures beside the constant forecast, reliability, with --by each segment or period,
    and with costs the decisions and what they save. With --score and --threshold only the alerts
    need an outcome: the report shows what was missed, as scarce estimate does. The same numbers are
    inside as JSON.

    \b
    scarce report m.scarce test.csv --label fraud --out report.html
    scarce report m.scarce test.csv --label fraud --costs costs.toml --out costs.html
    scarce report p.csv --prob prob --label fraud --false-alarm 5 --miss 400 --out p.html
    scarce report scores.csv --score score --label label --threshold 2.5 --out missed.html
    """
    from scarce.io.sink import refuse_existing

    if out is None or str(out) == "-":
        raise UsageError(
            "--out is missing.",
            code="no-output-file",
            remedy="Name the HTML file: --out report.html",
        )
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(
            "--out {out} must be an HTML file, such as report.html.",
            code="unknown-file-type",
            out=out,
        )
    refuse_existing(out, force)
    costs.check()
    by.check()
    of_scores = scores.score is not None
    if of_scores:
        _refuse_other(files, prob, costs, by)
    else:
        _refuse_scores()
    if dry_run:
        typed = [("--label", labels.label), *(("--prob", name) for name in prob)]
        look_at(files, form, [*typed, *by.given, ("--score", scores.score)])
        show_plan(_plan(files, prob, labels, costs, scores, out), json=json)
        return
    from scarce.cli.evaluation_page import FitPage

    if threads is not None:
        import pyarrow as pa

        pa.set_cpu_count(threads)
    with _warnings_kept() as said:
        story = (
            _story_of_scores(files, scores, labels, form, level, seed)
            if of_scores
            else _story_of_prob(files, prob, labels, by, costs, form, level, seed)
        )
        page = FitPage(
            title or story.title,
            asked=shell_command("scarce", "report", *ctx.meta.get("typed", [])),
            subtitle=story.subtitle,
            answer=getattr(story, "answer", ""),
        )
        story.tell(page)
    for warning in said:
        page.warn(in_flags(warning))
    page.write(out, force=force)
    size = out.stat().st_size
    summary = {"out": str(out), "bytes": size, "report": page.to_dict()}
    emit(summary, json=json, show=lambda: _show(page))
    if not json:
        say(f"Written: {out} ({size / 1000:,.0f} kB). It opens in any browser, offline.")


def _story_of_scores(
    files: tuple[Path, ...],
    scores: ScoreFlags,
    labels: LabelFlags,
    form: TextForm,
    level: float,
    seed: int,
) -> Any:
    from scarce.cli.performance_page import PerformancePage

    path = files[0] if files else None
    held = ScoredTable(table_or_stdin(path, "report"), scores, labels, form)
    return PerformancePage(held, path, level, seed)


def _story_of_prob(
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    by: ByFlags,
    costs: CostFlags,
    form: TextForm,
    level: float,
    seed: int,
) -> Any:
    from scarce.cli.evaluation_page import EvaluationPage
    from scarce.cli.outcome_table import read_outcomes
    from scarce.cli.sampling_columns import SamplingFlags

    judged = read_outcomes(
        files,
        "report",
        labels=labels,
        prob=prob,
        sampling=SamplingFlags(),
        costs=costs,
        names=by.given,
        form=form,
    )
    split = by.split(judged, level, seed)
    parts = split.evaluate(level, seed, None)
    return EvaluationPage(
        files, split.known, prob, labels, costs, form, level, seed, parts, split.remarks()
    )


def _refuse_other(
    files: tuple[Path, ...], prob: tuple[str, ...], costs: CostFlags, by: ByFlags
) -> None:
    """Refuse what a page on scores cannot speak of."""
    if len(files) > 1:
        raise UsageError(
            "--score makes a report on one table of scores, and {count} files were given.",
            code="file-count",
            count=len(files),
            remedy="Give the table alone, or leave --score out for a report on a model.",
        )
    if prob:
        raise UsageError(
            "--score and --prob make different reports: scores on missed events, probabilities "
            "on calibration.",
            code="argument-conflict",
            remedy="Give one of them.",
        )
    if by.given or by.period is not None:
        raise UsageError(
            "Figures by segment and over time need probabilities.",
            code="argument-conflict",
            remedy="Give a model or --prob, and leave --score out.",
        )
    if costs.given:
        raise UsageError(
            "Costs need probabilities.",
            code="argument-conflict",
            remedy="For a report with decisions give a model or --prob, and leave --score out.",
        )


def _refuse_scores() -> None:
    """Refuse flags of scores without scores."""
    for one in fields(ScoreFlags):
        if is_typed(one.name):
            flag = "--" + one.name.replace("_", "-")
            raise UsageError(
                "{option} is for a report on scores.",
                code="no-score-column",
                option=flag,
                remedy="Name their column with --score COLUMN.",
            )


@contextmanager
def _warnings_kept() -> Iterator[list[str]]:
    """Collect warnings about the data, which belong on the page; let others through."""
    said: list[str] = []
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always", DataWarning)
        yield said
    for one in caught:
        if issubclass(one.category, DataWarning):
            said.append(str(one.message))
        else:
            warnings.warn_explicit(one.message, one.category, one.filename, one.lineno)


def _show(page: Any) -> None:
    """Say in a few lines what the page says first."""
    told = page.to_dict()
    for warning in told["warnings"]:
        say(f"scarce: warning: {warning.replace('`', '')}")
    if told["answer"]:
        write_line(told["answer"])
    for section in told["sections"]:
        for part in section["parts"] if section["title"] in ("In short", "What to do next") else ():
            if part["kind"] in ("text", "code"):
                write_line(part["text"] if part["kind"] == "text" else f"  {part['text']}")


def _plan(
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    costs: CostFlags,
    scores: ScoreFlags,
    out: Path,
) -> dict[str, Any]:
    columns = [*prob, str(labels.label), *costs.columns]
    parts = ["data", "model", "numbers", "reliability"]
    parts = [part for part in parts if part != "model" or len(files) == 2]
    if costs.given:
        parts.append("decisions and their cost")
    if scores.score is not None:
        columns = [scores.score, str(labels.label)]
        parts = ["data", "what is found and missed", "other thresholds"]
    return {
        "reads": ", ".join(map(str, [*files, *scores.audit])) or "standard input",
        "columns": ", ".join(columns),
        "computes": ", ".join(parts),
        "writes": str(out),
    }
