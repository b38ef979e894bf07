"""From stored results to tables: no number in README.md is typed by hand.

    python -m benchmarks.table            prints the results section from results/*.jsonl
    python -m benchmarks.table --write    puts it into README.md

Ratios are against the problem's reference and shown only where both sides found the same answer, or
where a side is a yardstick: it solves another problem, and says so.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from benchmarks.decisions import DECISION_GOALS
from benchmarks.problems import GROW, PROBLEMS
from benchmarks.score_goals import SCORE_GOALS

HERE = Path(__file__).resolve().parent
RESULTS = HERE / "results"
AGAIN = RESULTS / "again"  # a second run, to show how far two runs lie apart
README = HERE / "README.md"
BEGIN = "<!-- results: python -m benchmarks.table --write -->"
END = "<!-- end of results -->"

Record = dict[str, Any]
LATER: Record = {"certificate": None, "yardstick": None}  # fields that older lines lack
GROWING = tuple(problem.name for problem in GROW)


def read_results(folder: Path = RESULTS) -> list[Record]:
    """Return the stored records of all files."""
    return [
        LATER | json.loads(line)
        for path in sorted(folder.glob("*.jsonl"))
        for line in path.read_text().splitlines()
        if line.strip()
    ]


def table_of(records: list[Record]) -> str:
    """Return a Markdown table per problem; the sizes of a growing file share one."""
    parts = []
    for name in dict.fromkeys(record["problem"] for record in records):
        if name not in GROWING:
            parts.append(_one_table([r for r in records if r["problem"] == name]))
    growing = [record for record in records if record["problem"] in GROWING]
    if growing:
        parts.append(_growing_table(growing))
    return "\n".join(parts)


def _one_table(records: list[Record]) -> str:
    first = records[0]
    small = any(record["overhead_microseconds"] is not None for record in records)
    fits = any(record["certificate"] is not None for record in records)
    head = ["side", "engine", "CPU s", "vs ref", "wall s", "vs ref", "peak extra MB", "mapped MB"]
    head += ["fold over kernel, us"] if small else ["first call wall s"]
    head += ["passes", PROBLEMS[first["problem"]].certificate_name] if fits else []
    head += ["objective", "difference"]
    lines = [_row(head), _row(["---"] * 2 + ["---:"] * (len(head) - 2))]
    reference = next((r for r in records if r["side"] == r["reference"]), None)
    for record in records:
        last = "overhead_microseconds" if small else "first_wall_seconds"
        cells = [
            record["side"],
            record["engine"],
            _number(record["cpu_seconds"]),
            _ratio(record, reference, "cpu_seconds"),
            _number(record["wall_seconds"]),
            _ratio(record, reference, "wall_seconds"),
            _number(record["peak_extra_mb"], ".0f"),
            _number(record["mapped_mb"], ".0f"),
            _number(record[last]),
        ]
        if fits:
            walked = "-" if record["certificate"] is None else str(record["passes"])
            cells += [walked, _number(record["certificate"], ".0e")]
        cells += [f"{record['objective']:.9g}", _difference(record)]
        lines.append(_row(cells))
    named = [
        f"{record['side']!r} is a yardstick: it solves {_other(record)} on the same rows."
        for record in records
        if record["yardstick"]
    ]
    return "\n".join(
        [
            f"### {first['problem']}: {first['rows']:,} x {first['columns']}",
            "",
            " ".join([f"{PROBLEMS[first['problem']].title}. {_measured_on(records)}", *named]),
            "",
            *lines,
            "",
        ]
    )


def _other(record: Record) -> str:
    """Name what a yardstick solves: another problem, or this one in a form of its own."""
    if record["yardstick"] != record["problem"]:
        return str(record["yardstick"])
    return "another form of this problem and is judged by this one's objective,"


def _growing_table(records: list[Record]) -> str:
    """Return time and memory of files of several sizes: linear in the rows, and constant."""
    head = ["rows", "side", "first call wall s", "wall s", "wall s per million rows", "CPU s"]
    head += ["peak extra MB", "of it mapped", "passes", "gradient per row", "objective"]
    head += ["difference"]
    lines = [_row(head), _row(["---:", "---"] + ["---:"] * (len(head) - 2))]
    sides = list(dict.fromkeys(record["side"] for record in records))
    for record in sorted(records, key=lambda record: (sides.index(record["side"]), record["rows"])):
        lines.append(
            _row(
                [
                    f"{record['rows']:,}",
                    record["side"],
                    _number(record["first_wall_seconds"]),
                    _number(record["wall_seconds"]) if record["same"] else "differs",
                    _number(1e6 * record["wall_seconds"] / record["rows"]),
                    _number(record["cpu_seconds"]),
                    _number(record["peak_extra_mb"], ".0f"),
                    _number(record["mapped_mb"], ".0f"),
                    str(record["passes"]),
                    _number(record["certificate"], ".0e"),
                    f"{record['objective']:.9g}",
                    _difference(record),
                ]
            )
        )
    first = records[0]
    return "\n".join(
        [
            f"### grow: {first['columns']} columns, from file to coefficients",
            "",
            f"{PROBLEMS[first['problem']].title}; opening the file is part of every call. "
            "'file' is opened as by default: up to 256 MB of decoded rows are held in memory, more "
            "are decoded on every pass. 'streamed file' is decoded on every pass at any size. "
            "'cached file' writes the decoded copy in its first call and maps it from then on. "
            + _measured_on(records),
            "",
            *lines,
            "",
        ]
    )


def _measured_on(records: list[Record]) -> str:
    first = records[0]
    others = [r["busy_cores_of_others"] for r in records if r["busy_cores_of_others"] is not None]
    quiet = f"; others kept {min(others):.2f} to {max(others):.2f} cores busy" if others else ""
    versions: dict[str, str] = {}
    for record in records:
        versions |= record["versions"]
    named = ", ".join(f"{name} {version}" for name, version in versions.items())
    return (
        f"Medians of {first['repeats']} timings on {first['cores']} cores ({first['processor']}); "
        f"load {first['load_at_start']} at the start{quiet}. {named}."
    )


def _row(cells: list[str]) -> str:
    return "| " + " | ".join(cells) + " |"


def _number(value: float | None, form: str = ".3g") -> str:
    return "-" if value is None else format(value, form)


def _ratio(record: Record, reference: Record | None, name: str) -> str:
    if reference is None:
        return "-"
    if not (record["same"] or record["yardstick"]):
        return "differs"
    return f"{record[name] / reference[name]:.2f}"


def _difference(record: Record) -> str:
    if record["difference"] is None:
        return "-"
    return f"{record['difference']:.0e}" if record["difference"] else "0"


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
    at = {(record["problem"], record["side"]): _with_own(record) for record in records}
    try:
        return value(lambda side, problem="gram-pass": at[problem, side])
    except KeyError:
        return None


def _with_own(record: Record) -> Record:
    """Add the memory that is not a mapped file's, and so not the system's to take back."""
    peak, mapped = record["peak_extra_mb"], record["mapped_mb"]
    return record if peak is None or mapped is None else record | {"own_mb": peak - mapped}


def _quotient(
    name: str, top: str, bottom: str, problem: str = "gram-pass"
) -> Callable[[Any], float]:
    def value(record: Any) -> float:
        pair = record(top, problem), record(bottom, problem)
        if not all(one["same"] or one["yardstick"] for one in pair):
            return float("nan")
        return float(pair[0][name] / pair[1][name])

    return value


def _growth(name: str, side: str, per_row: bool) -> Callable[[Any], float]:
    """Return a figure at ten million rows over that at a million, per row or as it is."""

    def value(record: Any) -> float:
        large, small = record(side, "grow-10m"), record(side, "grow-1m")
        if not (large["same"] and small["same"]):
            return float("nan")
        rows = large["rows"] / small["rows"] if per_row else 1.0
        return float(large[name] / small[name] / rows)

    return value


def _ahead(rival: str, problem: str) -> Callable[[Any], float]:
    """Return how many times faster scarce is, where its objective is no worse than the rival's."""

    def value(record: Any) -> float:
        ours, theirs = record("scarce", problem), record(rival, problem)
        if not ours["same"] or ours["objective"] > theirs["objective"]:
            return float("nan")
        return float(theirs["cpu_seconds"] / ours["cpu_seconds"])

    return value


Goal = tuple[str, str, float, bool, Callable[[Any], float]]
WALL = "wall_seconds"


GOALS: tuple[Goal, ...] = (
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
    *(
        (
            f"{name}: fit against scikit-learn's lbfgs, wall",
            "{:.2f}",
            1.0,
            True,
            _quotient(WALL, "scarce", "scikit-learn, lbfgs", name),
        )
        for name in ("fit-logit", "fit-logit-wide", "fit-logit-long")
    ),
    *(
        (
            f"{name}: times faster than statsmodels GLM, wall",
            "{:.1f}",
            8.0,
            False,
            _quotient(WALL, "statsmodels GLM", "scarce", name),
        )
        for name in (
            "fit-logit-free",
            "fit-probit",
            "fit-probit-wide",
            "fit-cloglog",
            "fit-cloglog-wide",
        )
    ),
    (
        "grid-27x7: whole selection in single fits, wall",
        "{:.1f}",
        15.0,
        True,
        _quotient(WALL, "scarce", "scarce, one fit", "grid-27x7"),
    ),
    *(
        (f"10 million rows against 1 million, {side}: {text}", "{:.2f}", bound, True, value)
        for side in ("streamed file", "cached file")
        for text, bound, value in (
            ("wall per row", 1.2, _growth(WALL, f"scarce, {side}", True)),
            ("peak memory that is not mapped", 1.2, _growth("own_mb", f"scarce, {side}", False)),
        )
    ),
    *(
        (
            f"{name}: times faster than {rival} at a lower objective, CPU",
            "{:.0f}",
            50.0,
            False,
            _ahead(f"{rival}, same hinges", name),
        )
        for name in ("maxent-1e4", "maxent-1e5")
        for rival in ("maxnet", "elapid")
    ),
    (
        "maxent-1e4: fit, wall seconds",
        "{:.2f}",
        0.1,
        True,
        lambda record: record("scarce", "maxent-1e4")["wall_seconds"],
    ),
    (
        "maxent-1e5 in fits of 1e4 rows, CPU",
        "{:.1f}",
        4.0,
        True,
        lambda record: (
            record("scarce", "maxent-1e5")["cpu_seconds"]
            / record("scarce", "maxent-1e4")["cpu_seconds"]
        ),
    ),
    (
        "maxent-1e6: fit, CPU seconds",
        "{:.2f}",
        1.5,
        True,
        lambda record: record("scarce", "maxent-1e6")["cpu_seconds"],
    ),
    (
        "maxent-1e6: peak extra memory over the rows in single precision",
        "{:.1f}",
        3.0,
        True,
        lambda record: record("scarce", "maxent-1e6")["peak_extra_mb"] / (44e6 / 2**20),
    ),
    (
        "maxent-knots: 1000 knots in fits with 50, wall",
        "{:.1f}",
        3.0,
        True,
        _quotient(WALL, "scarce", "scarce, 50 knots", "maxent-knots"),
    ),
    (
        "maxent-path: 20 widths in fits at the last, wall",
        "{:.1f}",
        5.0,
        True,
        _quotient(WALL, "scarce", "scarce, one fit, the last", "maxent-path"),
    ),
    (
        "maxent-species: 226 species, wall seconds",
        "{:.0f}",
        40.0,
        True,
        lambda record: record("scarce", "maxent-species")["wall_seconds"],
    ),
    *SCORE_GOALS,
    *DECISION_GOALS,
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
