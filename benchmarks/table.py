"""From stored results to tables: no number in README.md is typed by hand.

    python -m benchmarks.table            prints the results section from results/*.jsonl
    python -m benchmarks.table --write    puts it into README.md

Ratios are against the problem's reference and shown only where both sides found the same answer.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.problems import PROBLEMS

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
AGAIN = RESULTS / "again"  # a second run, to show how far two runs lie apart
README = HERE / "README.md"
BEGIN = "<!-- results: python -m benchmarks.table --write -->"
END = "<!-- end of results -->"

Record = dict[str, Any]


def read_results(folder: Path = RESULTS) -> list[Record]:
    """Return the stored records of all files."""
    return [
        json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
        if line.strip()
    ]


def table_of(records: list[Record]) -> str:
    """Return a Markdown table per problem."""
    parts = []
    for name in dict.fromkeys(record["problem"] for record in records):
        chosen = [record for record in records if record["problem"] == name]
        parts.append(_one_table(chosen))
    return "\n".join(parts)


def _one_table(records: list[Record]) -> str:
    first = records[0]
    small = any(record["overhead_microseconds"] is not None for record in records)
    head = ["side", "engine", "CPU s", "vs ref", "wall s", "vs ref", "peak extra MB", "mapped MB"]
    head += ["fold over kernel, us"] if small else ["first call wall s"]
    head += ["objective", "difference"]
    lines = [_row(head), _row(["---"] * 2 + ["---:"] * (len(head) - 2))]
    reference = next((r for r in records if r["side"] == r["reference"]), None)
    for record in records:
        last = "overhead_microseconds" if small else "first_wall_seconds"
        lines.append(
            _row(
                [
                    record["side"],
                    record["engine"],
                    _number(record["cpu_seconds"]),
                    _ratio(record, reference, "cpu_seconds"),
                    _number(record["wall_seconds"]),
                    _ratio(record, reference, "wall_seconds"),
                    _number(record["peak_extra_mb"], ".0f"),
                    _number(record["mapped_mb"], ".0f"),
                    _number(record[last]),
                    f"{record['objective']:.9g}",
                    f"{record['difference']:.0e}" if record["difference"] else "0",
                ]
            )
        )
    others = [r["busy_cores_of_others"] for r in records if r["busy_cores_of_others"] is not None]
    versions: dict[str, str] = {}
    for record in records:
        versions |= record["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    quiet = f"; others kept {min(others):.2f} to {max(others):.2f} cores busy" if others else ""
    return "\n".join(
        [
            f"### {first['problem']}: {first['rows']:,} x {first['columns']}",
            "",
            f"{PROBLEMS[first['problem']].title}. Medians of {first['repeats']} timings on "
            f"{first['cores']} cores ({first['processor']}); load {first['load_at_start']} at the "
            f"start{quiet}. {named}.",
            "",
            *lines,
            "",
        ]
    )


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None, form: str = ".3g") -> str:
    return "-" if value is None else format(value, form)


def _ratio(record: Record, reference: Record | None, name: str) -> str:
    if reference is None:
        return "-"
    if not record["same"]:
        return "differs"
    return f"{record[name] / reference[name]:.2f}"


# --- goals ----------------------------------------------------------------------------------------


def goals_of(records: list[Record], again: list[Record]) -> str:
    """Return the goals of the engine and what two runs measured, as a Markdown table."""
    lines = [
        _row(["goal", "bound", "this run", "another run", "met"]),
        _row(["---", "---:", "---:", "---:", "---"]),
    ]
    for text, form, bound, less, value in GOALS:
        cells, met = [], []
        for run in (records, again):
            measured = _measured(value, run)
            cells.append("not measured" if measured is None else form.format(measured))
            if measured is not None:
                met.append(measured <= bound if less else measured >= bound)
        verdict = "yes" if met and all(met) else "in one run of two" if any(met) else "NO"
        sign = "<=" if less else ">="
        lines.append(_row([text, f"{sign} {form.format(bound)}", *cells, verdict if met else "-"]))
    return "\n".join(["### Goals", "", *lines, ""])


def _measured(value: Callable[[Any], float], records: list[Record]) -> float | None:
    at = {(record["problem"], record["side"]): record for record in records}
    try:
        return value(lambda side, problem="gram-pass": at[problem, side])
    except KeyError:
        return None


def _quotient(name: str, top: str, bottom: str) -> Callable[[Any], float]:
    def value(record: Any) -> float:
        one, other = record(top), record(bottom)
        if not (one["same"] and other["same"]):
            return float("nan")
        return float(one[name] / other[name])

    return value


GOALS: tuple[tuple[str, str, float, bool, Callable[[Any], float]], ...] = (
    (
        "fold in process against plain NumPy, CPU",
        "{:.2f}",
        1.2,
        True,
        _quotient("cpu_seconds", "scarce", "numpy"),
    ),
    (
        "fold in process against plain NumPy, wall",
        "{:.2f}",
        1.2,
        True,
        _quotient("wall_seconds", "scarce", "numpy"),
    ),
    (
        "peak extra memory of the fold in process, MB",
        "{:.0f}",
        200.0,
        True,
        lambda record: record("scarce")["peak_extra_mb"],
    ),
    (
        "two threads faster than in process, wall",
        "{:.2f}",
        1.6,
        False,
        _quotient("wall_seconds", "scarce", "scarce, threads"),
    ),
    (
        "cached file against in memory, CPU",
        "{:.2f}",
        1.3,
        True,
        _quotient("cpu_seconds", "scarce, cached file", "scarce"),
    ),
    (
        "cached file against in memory, wall",
        "{:.2f}",
        1.3,
        True,
        _quotient("wall_seconds", "scarce, cached file", "scarce"),
    ),
    (
        "fold of 500 rows over its kernel, microseconds",
        "{:.1f}",
        20.0,
        True,
        lambda record: record("scarce", "small-fold")["overhead_microseconds"],
    ),
)


def section() -> str:
    """Return the results section of README.md from the stored results."""
    records = read_results()
    return f"{BEGIN}\n\n{table_of(records)}\n{goals_of(records, read_results(AGAIN))}\n{END}"


def replaced(text: str) -> str:
    """Return the README's text with the results section made anew."""
    before, rest = text.split(BEGIN, 1)
    return before + section() + rest.split(END, 1)[1]


def main(arguments: list[str] | None = None) -> int:
    """Print the results section, or write it into README.md."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.table", description=__doc__)
    parser.add_argument("--write", action="store_true", help="put the section into README.md")
    asked = parser.parse_args(arguments)
    if asked.write:
        README.write_text(replaced(README.read_text()))
    else:
        print(section())
    return 0


if __name__ == "__main__":
    sys.exit(main())
