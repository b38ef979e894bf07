"""`scarce demo`: three stories on simulated data, with the truth beside every estimate.

The truth is known, so each figure has a range that it must lie in: the demo is a smoke test of an
installation too, and ends with code 4 when a figure leaves its range. The files that it writes are
those that the examples in every verb's help use.
"""

from __future__ import annotations

import time
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.next_command import path_word, shell_word
from scarce.cli.options import OPTIONS, engine_of, takes
from scarce.cli.output import emit, progress, say, write_line
from scarce.errors import CheckError, Problem
from scarce.results import to_plain

if TYPE_CHECKING:
    from scarce.cli.demo.story import Check, Folder, Story

DEFAULT_ROWS = OPTIONS["rows"].default
ENOUGH_ROWS = 20_000  # below that the noise of a small sample is wider than the ranges
PAGE = "demo.html"  # not report.html, the name that examples of `scarce report` give to theirs
STORIES = {  # rows of each story's table, by rows of the fraud story
    "fraud": lambda rows: rows,
    "wildlife": lambda rows: max(3 * rows // 20, 1000),
    "alerts": lambda rows: max(rows // 5, 4000),
}


@click.command()
@takes("out", "story", "rows", "seed", "threads", "force", "json")
@click.pass_context
def demo(
    ctx: click.Context,
    out: Path,
    story: str,
    rows: int,
    seed: int,
    threads: int | None,
    force: bool,
    json: bool,
) -> None:
    """Run three simulated examples with known truth.

    Rare frauds, an animal that is reported only where it was seen, and a detector of which only
    the alerts were investigated. Writes the data, a model and a report to a folder; the examples
    in every verb's help use these files. Ends with code 4 if a figure leaves its range.

    \b
    scarce demo
    scarce demo --story alerts --seed 7 --out alerts
    scarce demo --rows 4000 --out small --json
    """
    begin = time.process_time()
    names = list(STORIES) if story == "all" else [story]
    parts = {name: import_module(f"scarce.cli.demo.{name}") for name in names}
    from scarce.cli.demo.story import Folder

    files = [file for part in parts.values() for file in part.FILES]
    folder = Folder(out, [*files, PAGE], force=force)
    say(f"Simulating, so that the truth is known (seed {seed}) ...\n")
    told: dict[str, Story] = {}
    engine = engine_of(threads)
    with progress("Telling the stories") as tick:
        for done, (name, part) in enumerate(parts.items()):
            tick(done, len(parts))
            told[name] = part.tell(
                folder,
                rows=STORIES[name](rows),
                seed=seed,
                engine=engine,
                exact=seed == 0 and rows == DEFAULT_ROWS,
            )
    checks = [check for one in told.values() for check in one.checks]
    held = rows >= ENOUGH_ROWS
    figures: dict[str, Any] = {
        "seed": seed,
        "rows": rows,
        "stories": {name: one.figures for name, one in told.items()},
        "checks": [_record(check) for check in checks],
        "checked": held,
        "files": [str(folder.file(name)) for name in [*files, PAGE, "demo.json"]],
    }
    _page(folder, told, figures, f"scarce demo --story {story} --rows {rows} --seed {seed}")
    folder.close(figures)
    failed = [check for check in checks if held and not check.holds]
    emit(
        {**figures, "seconds": round(time.process_time() - begin, 2)},
        json=json,
        ok=not failed,
        show=lambda: _show(told),
    )
    if failed and json:  # the JSON object is written; an error would be a second one
        say(_verdict(failed, checks))
        ctx.exit(CheckError.exit_code)
    if failed:
        raise CheckError(_verdict(failed, checks))
    _close(out, parts, checks, held)


def _show(told: dict[str, Story]) -> None:
    for one in told.values():
        one.show()
        write_line()


def _record(check: Check) -> dict[str, Any]:
    return {**vars(check), "holds": check.holds}


def _page(folder: Folder, told: dict[str, Story], figures: dict[str, Any], asked: str) -> None:
    """Write the report."""
    from scarce.report import Report

    page = Report(
        "Three stories with known truth" if len(told) > 1 else "A story with known truth",
        asked=asked,
        subtitle="Simulated data, so that every estimate can be held to the truth.",
    )
    for one in told.values():
        one.describe(page)
    page.section(
        "Do the figures lie where they should?",
        "Each range holds for nearly every seed when the installation is sound."
        if figures["checked"]
        else f"Not held against the demo: below --rows {ENOUGH_ROWS} the noise is wider than this.",
    )
    checks = [check for one in told.values() for check in one.checks]
    page.table(
        ["figure", "value", "from", "to", "holds", "why this range"],
        [[c.name, c.value, c.low, c.high, "yes" if c.holds else "NO", c.why] for c in checks],
        align="lrrrll",
    )
    page.data("figures", to_plain(figures))
    page.write(folder.file(PAGE), force=True)
    folder.wrote(PAGE)


def _close(out: Path, parts: dict[str, Any], checks: list[Check], held: bool) -> None:
    """Say whether the figures lie in their ranges, where everything is, and what to try next."""
    if held:
        say(f"All {len(checks)} figures lie in the range expected of them.")
    else:
        say(f"Figures are held to their ranges from --rows {ENOUGH_ROWS} on only.")
    say(f"The report, with pictures: {out / PAGE}\nTry next:\n  cd {shell_word(path_word(out))}")
    for part in parts.values():
        for command in part.NEXT:
            say(f"  {command}")


def _verdict(failed: list[Check], checks: list[Check]) -> Problem:
    return Problem(
        "{count} of {total} figures are outside the range expected of them: {figures}.",
        code="figures-out-of-range",
        count=len(failed),
        total=len(checks),
        figures="; ".join(map(str, failed)),
        remedy="With the default seed this points at the installation: run scarce doctor.",
    )
