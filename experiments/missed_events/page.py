"""The page: what was asked, how often each interval holds, how wide it is, and where it fails.

Every number comes from the cells (tables.py) or from printed.py; the sentences hold no number of
their own, so that a new run cannot contradict them. Judges only the gates, by their own limits.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from experiments.frame import Results
from experiments.missed_events import printed, rows
from experiments.missed_events.jobs import (
    AUDITS,
    MIXTURES,
    POOLS,
    REPEATS,
    WEEK_AUDIT,
    WEEKLY,
)
from experiments.missed_events.printed import SEEN
from experiments.missed_events.rows import Gate
from experiments.missed_events.scenarios import RATE, SCENARIOS
from experiments.missed_events.tables import AUC, AUDIT, AUTO, MIXTURE, Cell, Cells

NONE = "-"
LEAST_BATCHES = 20  # a cell of fewer says nothing about coverage

READING = """
Coverage is the share of batches whose **realised** recall lies in the 90 % interval, width the mean
length of that interval, RMSE the error of the point against the realised recall. In brackets or
after +- stands the standard error. "Study" is what the recipes' own design study measured; its
scenarios are ours, but it does not print the numbers of C and E, and it looked at the real scores
while its rules were made. A validation AUC is the law's (of real scores: the pair's own) moved by
.15 (one standard deviation) in d'. Where no event was seen among the alerts, all labelled, recall
is 0 or undefined and its interval is [0, 0]. The scenarios are in [scenarios.py](scenarios.py), all
cells in [cells.json](cells.json).
"""


def page_of(results: Results, listed: Sequence[Cell]) -> str:
    """Return the page as Markdown."""
    cells = Cells(listed)
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    repeats = ", ".join(f"{part} {count}" for part, count in REPEATS.items())
    first = f"of one budget only in the first {MIXTURES['budget']}, of real scores in the first "
    parts = [
        f"# {results.title}\n\n`{results.command}`, seed {results.seed}; {versions}.\n{READING}"
        f"Repeats of each case: {repeats}. The mixture is slow and asked {first}"
        f"{MIXTURES['keel']} draws.\n",
        gates(rows.gates(cells)),
        decisions(cells),
        scenario(cells),
        budget(cells),
        real(cells),
        weeks(cells),
        below(cells),
        guard(cells),
        draws(cells),
    ]
    return "\n".join(part.strip("\n") + "\n" for part in parts if part)


# --- cells as text --------------------------------------------------------------------------------


def number(value: float | None) -> str:
    """Return a share with two decimals, as .98 and 1.0.

    Examples
    --------
    >>> number(0.979), number(1.0), number(0.996), number(None), number(-0.02)
    ('.98', '1.0', '1.0', '-', '-.02')
    """
    if value is None:
        return NONE
    text = f"{value:.2f}"
    return text[:-1] if text.endswith(".00") else text.replace("0.", ".", 1)


def fine(value: float | None) -> str:
    """Return an error with three decimals.

    Examples
    --------
    >>> fine(0.0834)
    '.083'
    """
    return NONE if value is None else f"{value:.3f}".replace("0.", ".", 1)


def cover(cell: Cell | None) -> str:
    """Return coverage with its error, and the width."""
    if cell is None or "cover" not in cell:
        return NONE
    error = fine(cell["cover_error"])
    return f"{number(cell['cover'])} +- {error} ({number(cell['width'])})"


def rmse(cell: Cell | None) -> str:
    """Return the error of the point."""
    return NONE if cell is None or "rmse" not in cell else fine(cell["rmse"])


def table(head: Sequence[str], lines_of: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table; the first column is text, the others numbers."""
    lines = ["| " + " | ".join(head) + " |", "| --- |" + " ---: |" * (len(head) - 1)]
    lines += ["| " + " | ".join(row) + " |" for row in lines_of]
    return "\n".join(lines) + "\n"


# --- sections -------------------------------------------------------------------------------------


def gates(listed: Sequence[Gate]) -> str:
    """Return what was asked beside what is found."""
    shown = []
    for gate in listed:
        row = gate.row
        study = NONE if row.paper is None else fine(row.paper)
        error = f" +- {fine(row.standard_error)}" if row.standard_error else ""
        met = {True: "yes", False: "**no**", None: NONE}[gate.met]
        shown.append(
            (row.quantity, gate.asked, study, fine(row.ours) + error, f"{row.repeats:,}", met)
        )
    head = ("gate", "asked", "study", "ours", "batches", "met")
    return "## What was asked\n\n" + table(head, shown) + NOTES


NOTES = """
RMSE is over the batches for which a point is offered (with fewer than 5 events seen there is none
without an audit and an AUC); the study took the curve's point of every batch.
The study's 48 pairs of KEEL cannot be made again: how it coded words is not printed, and it lost
four pairs to equal short names. The same rule gives 54 pairs here, so its widths are of other sets.
"""


def decisions(cells: Cells) -> str:
    """Return the decision table: what is offered for events seen and checks below."""
    shown = []
    for seen in SEEN:
        for m in AUDITS:
            held = {
                method: cells.get("decision", **{"class": seen, "m": m, "method": method})
                for method in (AUTO, AUC, AUDIT)
            }
            plain, sharp = held[AUTO], held[AUC]
            if plain is None:
                continue
            study = printed.DECISIONS[seen, m]
            shown.append(
                (
                    f"{seen} seen, m = {m}",
                    f"{plain['batches']:,}",
                    cover(plain),
                    f"{number(study.cover)} ({number(study.width)})",
                    number(plain.get("most_cover")),
                    _point(plain),
                    fine(study.rmse),
                    cover(sharp),
                    _point(sharp),
                    cover(held[AUDIT]),
                )
            )
    head = (
        "events seen above, rows checked below",
        "batches",
        "default: coverage (width)",
        "study",
        "missed events at most the limit",
        "RMSE",
        "study",
        "with AUC: coverage (width)",
        "RMSE",
        "audit alone: coverage (width)",
    )
    text = (
        "## What is offered, by events seen and rows checked\n\n"
        "Scenarios A, C, E and F at base rates .002, .008 and .04, pooled. The limit of missed "
        "events is one-sided, nominal .95. Where no RMSE stands, no point is offered.\n\n"
    )
    return text + table(head, shown)


def _point(cell: Cell | None) -> str:
    """Return the error of the point, and how often there is none."""
    if cell is None or "rmse" not in cell:
        return NONE
    refused = cell["without_point"]
    if refused > 0.5:  # the few left are recalls of 0 for certain: their error of 0 says nothing
        return NONE
    return fine(cell["rmse"]) + (f" (none in {number(refused)})" if refused > 0 else "")


def scenario(cells: Cells) -> str:
    """Return each scenario by rows checked, at one base rate."""
    shown = []
    for name in SCENARIOS:
        for method in (AUTO, AUC):
            held = [cells.get("scenario", scenario=name, m=m, method=method) for m in AUDITS]
            if any(each is not None for each in held):
                shown.append([f"{name}, {method}", *map(cover, held)])
    head = ("scenario", *(f"m = {m}: coverage (width)" for m in AUDITS))
    text = f"## Scenario by scenario, base rate {RATE:g}, by rows checked\n\n"
    return text + table(head, shown) if shown else ""


def budget(cells: Cells) -> str:
    """Return every interval at one budget, scenario by scenario."""
    parts = ["## The same 156 labels, scenario by scenario (base rate .008)\n"]
    for design, text, methods in (
        ("audit", "All alarms, the rest below by audit", (AUTO, AUC, AUDIT, MIXTURE)),
        ("top", "The highest scores, no audit", (AUTO, AUC, MIXTURE)),
    ):
        head = [
            text,
            *(f"{m}: coverage (width)" for m in methods),
            *(f"{m}: RMSE" for m in methods),
        ]
        shown = []
        for case in SCENARIOS:
            held = [cells.get("budget", case=case, design=design, method=m) for m in methods]
            if any(each is not None for each in held):
                shown.append([case, *map(cover, held), *map(_point, held)])
        parts.append(table(head, shown))
    parts.append(
        'The mixture\'s interval is shown because `method="mixture"` gives one; it is not the '
        "default, and where its families are wrong it fails.\n"
    )
    return "\n".join(parts)


def real(cells: Cells) -> str:
    """Return the real scores by events seen, and the 11 pairs of ADBench one by one."""
    shown = []
    for group, name in (("real", "ADBench"), ("keel", "KEEL")):
        for seen in ("all", *SEEN):
            wanted = {} if seen == "all" else {"class": seen}
            where = group if seen == "all" else f"{group} by class"
            held = {m: cells.get(where, method=m, **wanted) for m in (AUTO, AUC, AUDIT, MIXTURE)}
            plain = held[AUTO]
            if plain is None:
                continue
            study = (
                printed.KEEL[seen] if group == "keel" else printed.REAL if seen == "all" else None
            )
            shown.append(
                (
                    f"{name}, {seen if seen == 'all' else seen + ' seen'}",
                    f"{plain['batches']:,}",
                    cover(held[AUTO]),
                    NONE if study is None else f"{number(study.cover)} ({number(study.width)})",
                    _point(held[AUTO]),
                    NONE if study is None else fine(study.rmse),
                    cover(held[AUC]),
                    _point(held[AUC]),
                    cover(held[AUDIT]),
                    rmse(held[MIXTURE]),
                )
            )
    if not shown:
        return ""
    head = (
        "pairs",
        "draws",
        "default: coverage (width)",
        "study",
        "RMSE",
        "study",
        "with AUC: coverage (width)",
        "RMSE",
        "audit alone: coverage (width)",
        "mixture: RMSE",
    )
    own = [
        (
            cell["case"],
            cover(cell),
            _point(cell),
            cover(cells.get("pair", case=cell["case"], method=AUDIT)),
        )
        for cell in cells.all("pair", method=AUTO)
    ]
    text = (
        "## Real scores\n\nThe budget is a label for every 32 rows (60 to 600), half of it above "
        "the threshold and half below by audit, 8 draws of the audit each. Errors are over "
        "pairs.\n\n"
    )
    more = ("pair", "default: coverage (width)", "RMSE", "audit alone: coverage (width)")
    return text + table(head, shown) + ("\n" + table(more, own) if own else "")


def weeks(cells: Cells) -> str:
    """Return what pooling weeks buys."""
    shown = []
    for case in WEEKLY:
        for design in ("alone", *(f"{word} {k}" for word in ("one of", "all") for k in POOLS)):
            methods = (AUTO, AUC, AUDIT)
            held = [cells.get("weeks", case=case, design=design, method=m) for m in methods]
            if held[0] is None:
                continue
            shown.append([f"{case}, {design}", *map(cover, held), *map(rmse, held[:2])])
    if not shown:
        return ""
    head = (
        "weeks",
        "default: coverage (width)",
        "with AUC: coverage (width)",
        "audit alone: coverage (width)",
        "default: RMSE",
        "with AUC: RMSE",
    )
    return (
        "## Several weeks together\n\n"
        f'About 10 events seen and {WEEK_AUDIT} rows checked each week. "Alone": a week by itself. '
        '"One of 12": a week estimated with the shape that twelve share (`batch=`). "All 12": the '
        "recall of the twelve weeks together. Errors are over repeats of the twelve weeks.\n\n"
    ) + table(head, shown)


def below(cells: Cells) -> str:
    """Return the cells whose coverage is below nominal, wherever they are."""
    shown = [
        (where, f"{cell['batches']:,}", cover(cell), number(cell["truth_below"]))
        for where, cell in _places(cells)
        if cell["method"] != MIXTURE
        and cell["batches"] >= LEAST_BATCHES
        and cell.get("cover", 1.0) < printed.LEAST_COVER
    ]
    head = ("where", "batches", "coverage (width)", "of all batches: recall below the low end")
    text = (
        "## Where an interval holds less often than promised\n\nEvery scenario with every class of "
        "events seen and every m, the same 156 labels, and weeks: all cells of "
        f"{LEAST_BATCHES} batches or more whose coverage is below .90 (chance alone makes some). "
        "The mixture is left to its own table.\n\n"
    )
    return text + (table(head, shown) if shown else "There is none.\n")


def _places(cells: Cells) -> Iterable[tuple[str, Cell]]:
    """Return cells that are not sums of others, with a name for each."""
    for cell in cells.all("lowest"):
        where = f"{cell['scenario']}, {cell['class']} seen, m = {cell['m']}, {cell['method']}"
        yield where, cell
    for cell in cells.all("budget"):
        yield f"{cell['case']}, 156 labels, {cell['design']}, {cell['method']}", cell
    for cell in cells.all("weeks"):
        yield f"weeks {cell['case']}, {cell['design']}, {cell['method']}", cell


def guard(cells: Cells) -> str:
    """Return how often the guard warns."""
    shown = [
        (
            f"{cell['part']}, {cell['method']}",
            _of(cell["warned_held"], cell["held"]),
            _of(cell["warned_not_held"], cell["not_held"]),
        )
        for cell in cells.all("guard")
    ]
    if not shown:
        return ""
    text = (
        "## The guard\n\nHow often a warning says that labels contradict the curve, where the "
        "interval holds the truth (a false alarm) and where it does not. It changes no number.\n\n"
    )
    return text + table(("batches", "warned, interval holds", "warned, interval fails"), shown)


def _of(some: int, total: int) -> str:
    return f"{some:,} of {total:,}" if total else NONE


def draws(cells: Cells) -> str:
    """Return the smallest effective sizes and the time of an answer."""
    shown = []
    for group, name in (
        ("scenario", "5,000 rows, any m"),
        ("budget", "5,000 rows, 156 labels"),
        ("real", "ADBench"),
        ("keel", "KEEL"),
    ):
        for method in (AUTO, AUC, AUDIT, MIXTURE):
            own = cells.all(group, method=method)
            if own:
                shown.append((f"{name}, {method}", *_worst(own)))
    head = ("batches", "least effective size", "share below 200", "median milliseconds")
    return "## The draws behind the intervals\n\n" + table(head, shown)


def _worst(own: Sequence[Cell]) -> tuple[str, str, str]:
    def among(name: str) -> list[tuple[float, int]]:
        return [(cell[name], cell["batches"]) for cell in own if name in cell]

    def average(pairs: list[tuple[float, int]]) -> float:
        return sum(value * n for value, n in pairs) / sum(n for _, n in pairs)

    least: Any = min((value for value, _ in among("least_effective")), default=None)
    few, times = among("below_200"), among("median_milliseconds")
    return (
        NONE if least is None else f"{least:,.0f}",
        f"{average(few):.4f}" if few else NONE,
        f"{average(times):,.0f}" if times else NONE,
    )
