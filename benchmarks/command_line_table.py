"""From stored results of whole processes to tables and goals: no number is typed by hand.

    python -m benchmarks.command_line --write     puts them into README.md

A ratio is shown where a side gave the same answer, or is a yardstick and says what it does instead.
"""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.command_line_jobs import JOBS, START_ROWS

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results" / "processes" / "command-line.jsonl"
README = HERE / "README.md"
BEGIN = "<!-- command line: python -m benchmarks.command_line --write -->"
END = "<!-- end of command line -->"

Record = dict[str, Any]
READER = {"predict": "pyarrow, reads all columns", "estimate": "pyarrow, reads score and label"}
HEAD = ("rows", "side", "CPU s", "vs first", "wall s", "CSV MB per CPU s", "peak MB", "answer")
LARGE, SMALL = 10_000_000, 1_000_000
FULL = {"predict": SMALL, "estimate": 4_000_000}  # rows from which on a job holds all it ever holds


def read_results(path: Path = RESULTS) -> list[Record]:
    """Return the stored records."""
    return [json.loads(line) for line in path.read_text().splitlines() if line.strip()]


def tables_of(records: list[Record]) -> str:
    """Return a Markdown table per job, its sizes one under the other."""
    parts = []
    for job in JOBS:
        mine = [record for record in records if record["job"] == job.name]
        if mine:
            lines = [_row(HEAD), _row(["---:", "---"] + ["---:"] * 5 + ["---"])]
            lines += [_line(record, mine) for record in mine]
            said = f"{job.title}. {_measured_on(mine)}"
            parts += [f"### {job.name}: whole processes", "", said, "", *lines, ""]
    return "\n".join(parts)


def _line(record: Record, others: list[Record]) -> str:
    first = next(r for r in others if r["rows"] == record["rows"])
    shown = record["same"] or record["yardstick"]
    ratio = f"{record['cpu_seconds'] / first['cpu_seconds']:.2f}" if shown else "differs"
    side = record["side"]
    if record["yardstick"] and record["yardstick"] not in side:
        side = f"{side} ({record['yardstick']})"
    return _row(
        [
            f"{record['rows']:,}" if record["answer"] else "-",
            side,
            f"{record['cpu_seconds']:.3g}",
            ratio,
            f"{record['wall_seconds']:.3g}",
            _number(record["csv_mb_per_cpu_second"], ".0f"),
            _number(record["peak_mb"], ".0f"),
            _answer(record["answer"]),
        ]
    )


def _answer(answer: dict[str, float]) -> str:
    told = [f"{name} {value:.4g}" for name, value in answer.items() if name != "rows"]
    return ", ".join(told).replace("_", " ") or "-"


def _measured_on(records: list[Record]) -> str:
    first = records[0]
    sizes = [
        f"{r['rows']:,} rows are {r['csv_mb']:.3g} MB"
        for r in {r["rows"]: r for r in records}.values()
    ]
    others = [r["busy_cores_of_others"] for r in records if r["busy_cores_of_others"] is not None]
    quiet = f"; others kept {min(others):.2f} to {max(others):.2f} cores busy" if others else ""
    loads = sorted({r["load_at_start"] for r in records})
    versions: dict[str, str] = {}
    for record in records:
        versions |= record["versions"]
    return (
        f"{'; '.join(sizes)}. Medians of {first['repeats']} processes on one "
        f"of {first['cores']} cores ({first['processor']}); load "
        f"{' and '.join(map(str, loads))} at the start{quiet}. "
        f"{', '.join(f'{name} {number}' for name, number in versions.items())}."
    )


def _row(cells: Any) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


# --- goals ----------------------------------------------------------------------------------------

Find = Callable[[str, str, int], Record]


def goals_of(records: list[Record]) -> str:
    """Return the goals and what was measured, as a Markdown table."""
    at = {(r["job"], r["side"], r["rows"]): r for r in records if r["same"]}
    lines = [_row(["goal", "bound", "measured", "met"]), _row(["---", "---:", "---:", "---"])]
    for text, bound, value in GOALS:
        try:
            measured, met = value(lambda job, side, rows: at[job, side, rows])
        except KeyError:
            measured, met = "not measured", None
        verdict = {True: "yes", False: "NO", None: "-"}[met]
        lines.append(_row([text, bound, measured, verdict]))
    return "\n".join(["### Goals of the command line", "", *lines, ""])


def _speed(job: str, rows: int) -> Callable[[Find], tuple[str, bool]]:
    """Megabytes of CSV per CPU second, and how many of pyarrow's readers that is."""

    def value(find: Find) -> tuple[str, bool]:
        ours, reader = find(job, f"scarce {job}", rows), find(job, READER[job], rows)
        speed, ratio = ours["csv_mb_per_cpu_second"], ours["cpu_seconds"] / reader["cpu_seconds"]
        return f"{speed:.0f} ({ratio:.1f} times)", speed >= 50.0 or ratio <= 1.5

    return value


def _growth(job: str) -> Callable[[Find], tuple[str, bool]]:
    """Peak memory of ten million rows over that of a table that fills what is held at a time."""

    def value(find: Find) -> tuple[str, bool]:
        large, small = (find(job, f"scarce {job}", rows)["peak_mb"] for rows in (LARGE, FULL[job]))
        return f"{large / small:.2f}", large <= 1.2 * small

    return value


def _start(side: str) -> Callable[[Find], tuple[str, bool]]:
    def value(find: Find) -> tuple[str, bool]:
        seconds = find("start", side, START_ROWS)["cpu_seconds"]
        return f"{seconds:.2f}", seconds < 0.3

    return value


GOALS: tuple[tuple[str, str, Callable[[Find], tuple[str, bool]]], ...] = (
    *(
        (
            f"{job}, {rows:,} rows: MB of CSV per CPU second (CPU of pyarrow's reader alone)",
            ">= 50 (or <= 1.5 times)",
            _speed(job, rows),
        )
        for job in ("predict", "estimate")
        for rows in (SMALL, LARGE)
    ),
    *(
        (
            f"{job}: peak memory of {LARGE:,} rows over that of {FULL[job]:,}",
            "<= 1.20",
            _growth(job),
        )
        for job in ("predict", "estimate")
    ),
    *(
        (f"{side}: CPU seconds", "< 0.30", _start(side))
        for side in ("scarce --help", "scarce predict --help")
    ),
)


def section() -> str:
    """Return the section of README.md from the stored results."""
    records = read_results()
    return f"{BEGIN}\n\n{tables_of(records)}\n{goals_of(records)}\n{END}"


def replaced(text: str) -> str:
    """Return the README's text with the section made anew."""
    before, rest = text.split(BEGIN, 1)
    return before + section() + rest.split(END, 1)[1]
