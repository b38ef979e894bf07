"""`scarce report`: one HTML file to hand on, from a model and rows whose outcome is known.

    read rows -> figures of the library -> scarce.report.Report -> file

The figures are those of `scarce evaluate`, computed by the library; the page is `scarce.report`.
This file reads flags, and says in which order things stand.
"""

from __future__ import annotations

import shlex
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.cost_flags import CostFlags, cost_options
from scarce.cli.options import (
    INPUT,
    LabelFlags,
    dry_run_option,
    force_option,
    label_options,
    level_option,
    show_plan,
    text_options,
    threads_option,
)
from scarce.cli.output import emit, json_option, say, seed_option
from scarce.cli.prob_columns import prob_option
from scarce.cli.wording import in_flags
from scarce.errors import DataWarning, UsageError

if TYPE_CHECKING:
    from scarce.rows import TextForm


class AsTyped(click.Command):
    """A command that remembers what was typed after it."""

    def parse_args(self, ctx: click.Context, args: list[str]) -> list[str]:
        """Keep the words, then read them."""
        ctx.meta["typed"] = list(args)
        return super().parse_args(ctx, args)


@click.command(cls=AsTyped)
@click.argument("files", nargs=-1, type=INPUT, metavar="[MODEL] TABLE")
@prob_option
@label_options
@cost_options
@click.option("--title", help="Title of the page.  [default: made of the file names]")
@click.option(
    "--out", "-o", type=click.Path(path_type=Path), help="HTML file to write, such as report.html."
)
@force_option
@level_option
@seed_option
@threads_option
@text_options
@dry_run_option
@json_option
@click.pass_context
def report(
    ctx: click.Context,
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    costs: CostFlags,
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
    """Write one HTML file with figures, pictures and what they assume.

    TABLE holds rows whose outcome is known, in the column --label; name a MODEL file first, or the
    column of probabilities with --prob. The page needs no network: warnings first, then the data,
    the model, honest numbers beside the constant forecast, reliability, and with costs the
    decisions and what they save. The same numbers are inside as JSON.

    \b
    scarce report m.scarce test.csv --label fraud --out report.html
    scarce report m.scarce test.csv --label fraud --costs costs.toml --out costs.html
    scarce report p.csv --prob prob --label fraud --false-alarm 5 --miss 400 --out p.html
    """
    from scarce.tables import refuse_existing

    if out is None or str(out) == "-":
        raise UsageError("The page needs a file to be written to: --out report.html")
    if out.suffix.lower() not in (".html", ".htm"):
        raise UsageError(f"--out {out}: the page is HTML, give a name such as report.html.")
    refuse_existing(out, force)
    costs.check()
    if dry_run:
        show_plan(_plan(files, prob, labels, costs, out), json=json)
        return
    from scarce.cli.judged import SpeaksFor, read_judged
    from scarce.cli.report_parts import Page, Story

    if threads is not None:
        import pyarrow as pa

        pa.set_cpu_count(threads)
    with _warnings_kept() as said:
        judged = read_judged(
            files, "report", labels=labels, prob=prob, speaks=SpeaksFor(), costs=costs, form=form,
            quiet=json,
        )  # fmt: skip
        story = Story(files, judged, prob, labels, costs, form, level, seed)
        page = Page(
            title or story.title,
            asked=shlex.join(["scarce", "report", *ctx.meta.get("typed", [])]),
            subtitle=story.subtitle,
        )
        story.tell(page)
    flags = [name[2:] for one in ctx.command.params for name in one.opts if name[:2] == "--"]
    for warning in said:
        page.warn(in_flags(warning, flags))
    page.write(out, force=force)
    size = out.stat().st_size
    summary = {"out": str(out), "bytes": size, "report": page.to_dict()}
    emit(summary, json=json, show=lambda: _show(page))
    if not json:
        say(f"Written: {out} ({size / 1000:,.0f} kB). It opens in any browser, without a network.")


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
    first = next(part for part in told["sections"] if part["title"] == "In short")
    for part in first["parts"]:
        if part["kind"] == "text":
            click.echo(part["text"])


def _plan(
    files: tuple[Path, ...],
    prob: tuple[str, ...],
    labels: LabelFlags,
    costs: CostFlags,
    out: Path,
) -> dict[str, Any]:
    parts = ["data", "model", "numbers", "reliability"]
    parts = [part for part in parts if part != "model" or len(files) == 2]
    return {
        "reads": ", ".join(map(str, files)) or "standard input",
        "columns": ", ".join([*prob, str(labels.label), *costs.columns]),
        "computes": ", ".join([*parts, *(["decisions and their cost"] if costs.given else [])]),
        "writes": str(out),
    }
