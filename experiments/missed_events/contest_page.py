"""Records of the contest to cells, and cells to rows of a comparison, sentences and tables.

    coverage   share of batches whose realised recall (or missed events) the interval holds
    width      mean length of the interval
    RMSE       of the point against the realised value
    refused    share of batches for which an end is not given; such an interval holds nothing
    ratio      of the mean widths of two methods in the same cell; over cells the geometric mean

Standard errors are over batches, and of rankings that share rows or a topic over rankings where
that is more; that of a ratio takes the two widths for independent, which is too much for batches
that both share. No batch is left out. Runs nothing: see contest.py.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from functools import cache
from typing import Any, NamedTuple

import numpy as np
from scipy.optimize import brentq

from experiments.frame import Comparison, Results
from experiments.missed_events import scenarios, worlds
from experiments.missed_events.designs import INFINITE
from experiments.missed_events.rivals import Answer
from experiments.missed_events.scenarios import Mixture
from scarce.missed.strata import STRATA, stratum_ends

Cell = dict[str, Any]
Row = dict[str, Any]
NOMINAL, PROMISED = 0.9, 0.88
OURS, REFERENCE, CLOSEST = "scarce", "SRS, exact", "Neyman, monotone"
CLOSE = 2e-6  # records hold six digits
WHAT = {"recall": "recall", "missed": "missed events"}
ADDED = ("bimodal apart", "middle apart", "deep apart")  # after 40 repeats of others: worlds.py
RISE_LABELS = 100  # checks for which the strata of `rises` are made
LEAST_RISE = 0.5  # events


def rows_of(records: Iterable[Mapping[str, Any]]) -> list[Row]:
    """Return a row for every answer: where it is from, its truth, what was said."""
    return [
        {"case": record["case"], "n": record["n"], "method": record["method"]}
        | {"milliseconds": record["milliseconds"]}
        | {name: each[name] for name in ("batch", "seen", "missed")}
        | {"answer": Answer(*(_number(value) for value in each["answer"]))}
        for record in records
        for each in record["repeats"]
    ]


def cells_of(records: Iterable[Mapping[str, Any]]) -> list[Cell]:
    """Return every cell: one method with n labels in one case."""
    names = ("case", "n", "method")
    groups: dict[tuple[Hashable, ...], list[Row]] = {}
    for row in rows_of(records):
        groups.setdefault(tuple(row[name] for name in names), []).append(row)
    return [dict(zip(names, key, strict=True)) | cell(rows) for key, rows in groups.items()]


def cell(rows: Sequence[Row]) -> Cell:
    """Return what a method's answers are worth."""
    found: Cell = {"batches": len(rows)}
    found["milliseconds"] = float(np.mean([row["milliseconds"] for row in rows]))
    for name, truth in (("recall", _recall), ("missed", lambda row: float(row["missed"]))):
        ends = [_ends(row, name) for row in rows]
        held = [_holds(low, high, truth(row)) for (low, high), row in zip(ends, rows, strict=True)]
        given = [not (math.isnan(low) or math.isnan(high)) for low, high in ends]
        found[name] = {"refused": 1.0 - sum(given) / len(given)}
        cover, cover_error = share(held)
        cover_error = max(cover_error, _error_over_batches(rows, [float(h) for h in held]))
        below = [t < low - CLOSE for (low, _), t in zip(ends, map(truth, rows), strict=True)]
        found[name] |= {"cover": cover, "cover_error": cover_error}
        found[name]["truth_below"] = sum(below) / len(below)
        widths = [h - lo for (lo, h), there in zip(ends, given, strict=True) if there]
        if widths and all(map(math.isfinite, widths)):
            width, width_error = mean(widths)
            found[name] |= {"width": width, "width_error": width_error}
        off = np.array([getattr(row["answer"], name) - truth(row) for row in rows])
        off = off[np.isfinite(off)]
        if len(off):
            rmse = math.sqrt(float(np.mean(off**2)))
            spread = float(np.std(off**2)) / math.sqrt(len(off)) / (2 * rmse) if rmse else 0.0
            found[name] |= {"points": len(off), "rmse": rmse, "rmse_error": spread}
            found[name]["bias"] = float(off.mean())
    return _rounded(found)


def share(hits: Sequence[bool]) -> tuple[float, float]:
    """Return a share and its error, which is not 0 when all say yes (Agresti and Coull).

    Examples
    --------
    >>> share([True] * 96)
    (1.0, 0.014)
    """
    n, smooth = len(hits), (sum(hits) + 2.0) / (len(hits) + 4.0)
    return sum(hits) / n, float(f"{math.sqrt(smooth * (1.0 - smooth) / (n + 4.0)):.2g}")


def mean(values: Sequence[float]) -> tuple[float, float]:
    """Return a mean and its error."""
    found = np.asarray(values, dtype=np.float64)
    error = float(found.std(ddof=1) / np.sqrt(len(found))) if len(found) > 1 else 0.0
    return float(found.mean()), error


def _recall(row: Row) -> float:
    return float(row["seen"] / (row["seen"] + row["missed"]))


def _ends(row: Row, name: str) -> tuple[float, float]:
    answer = row["answer"]
    return getattr(answer, f"{name}_low"), getattr(answer, f"{name}_high")


def _holds(low: float, high: float, truth: float) -> bool:
    """Return whether an interval whose ends have six digits holds the truth."""
    slack = CLOSE * max(1.0, truth)
    return bool(low - slack <= truth <= high + slack)


def _error_over_batches(rows: Sequence[Row], values: Sequence[float]) -> float:
    """Return the standard error over batches that several draws of labels share; 0 if none do."""
    groups: dict[str, list[float]] = {}
    for row, value in zip(rows, values, strict=True):
        groups.setdefault(row["batch"], []).append(value)
    return mean([float(np.mean(each)) for each in groups.values()])[1] if len(groups) > 1 else 0.0


def _number(value: float | None) -> float:
    if value is None:
        return math.nan
    return math.copysign(math.inf, value) if abs(value) >= INFINITE else value


def _rounded(found: Any) -> Any:
    if isinstance(found, dict):
        return {name: _rounded(value) for name, value in found.items()}
    return float(f"{found:.4g}") if isinstance(found, float) else found


# --- what the limits assume -----------------------------------------------------------------------


class Rise(NamedTuple):
    """Where precision rises most as the score falls, from one stratum of ranks to a lower one."""

    high: float  # least precision of a stratum above
    low: float  # precision of the lower stratum
    beyond: float  # events of the lower stratum beyond what the precision above would give
    missed: float  # events expected below the threshold


@cache
def rises(name: str) -> Rise | None:
    """Return where the law of a world breaks the assumption of the limits, or None.

    The strata are those of 100 checks in the batch that the law expects.

    Examples
    --------
    >>> rises("normal") is None, rises("deep apart").low > 100 * rises("deep apart").high
    (True, True)
    """
    events, background, rows, rate, threshold = _law(name)

    def of_events(score: float) -> float:
        return rows * rate * scenarios.tail(events, score)

    def of_all(score: float) -> float:
        return of_events(score) + rows * (1 - rate) * scenarios.tail(background, score)

    alerts = of_all(threshold)
    ends = stratum_ends(int(rows - alerts), RISE_LABELS, STRATA)

    def cut(rank: float) -> float:
        """Return the score below which rows of a greater rank lie."""
        reach = 1.0
        while of_all(threshold - reach) - alerts < rank:
            reach *= 2.0
        return float(brentq(lambda s: of_all(s) - alerts - rank, threshold - reach, threshold))

    above = [of_events(score) for score in (threshold, *map(cut, ends[:-1]))]
    counted = np.array([*above, rows * rate])
    sizes, inside = np.diff(np.concatenate([[0], ends])), np.diff(counted)
    precision = inside / sizes
    least = np.minimum.accumulate(precision)[:-1]
    beyond = inside[1:] - sizes[1:] * least
    at = int(beyond.argmax())
    if beyond[at] < LEAST_RISE:
        return None
    found = (least[at], precision[at + 1], beyond[at], inside.sum())
    return Rise(*(float(each) for each in found))


def _law(name: str) -> tuple[Mixture, Mixture, int, float, float]:
    """Return laws of events and others, rows, rate and threshold."""
    if name in worlds.LAWS:
        law = worlds.LAWS[name]
        return law.events, law.background, law.rows, law.rate, worlds.threshold_of(name)
    background, events = scenarios.laws(name)
    return events, background, scenarios.ROWS, scenarios.RATE, scenarios.threshold_of(name)


def broken(case: str) -> str:
    """Return which assumption of the limits a case breaks, as a sentence, or nothing."""
    if case in worlds.WRONG:
        return "Labels are wrong here; the limits assume that they are right."
    if case in worlds.NAMES and rises(case):
        return "Precision rises as the score falls here; the limits assume that it does not."
    return ""


# --- rows of the comparison -----------------------------------------------------------------------


def comparisons(cells: Sequence[Cell]) -> list[Comparison]:
    """Return scarce's coverage and width in every case with every number of labels."""
    held = by_place(cells)
    rows: list[Comparison] = []
    for (case, n, method), own in held.items():
        if method != OURS:
            continue
        note = f" {broken(case)}".rstrip()
        place, repeats = f"{case}, {labels_text(n)}", own["batches"]
        for name, word in WHAT.items():
            what, why = f"{place}: coverage of {word}", f"Nominal .90; no paper.{note}"
            found = own[name]
            rows.append(Comparison(what, None, found["cover"], found["cover_error"], repeats, why))
        if "width" not in own["recall"]:
            continue
        width, error = own["recall"]["width"], own["recall"]["width_error"]
        why = f"Mean length of the 90 % interval; no paper.{note}"
        rows.append(Comparison(f"{place}: width of recall", None, width, error, repeats, why))
        for rival in (CLOSEST, REFERENCE):
            ratio = ratio_of(own, held.get((case, n, rival)))
            if ratio is not None:
                why = f"Mean widths on the same batches; no paper.{note}"
                what = f"{place}: width over that of {rival}"
                rows.append(Comparison(what, None, *ratio, repeats, why))
    return rows


def by_place(cells: Iterable[Cell]) -> dict[tuple[str, int, str], Cell]:
    """Return cells by case, number of labels and method."""
    return {(each["case"], each["n"], each["method"]): each for each in cells}


def labels_text(n: int) -> str:
    """Return a number of labels in words; 0 is a ranking's own.

    Examples
    --------
    >>> labels_text(50), labels_text(0)
    ('50 labels', 'own number of labels')
    """
    return f"{n} labels" if n else "own number of labels"


def ratio_of(own: Cell, other: Cell | None) -> tuple[float, float] | None:
    """Return the ratio of widths of recall with its error, or None where one has no width."""
    if other is None:
        return None
    one, two = own["recall"], other["recall"]
    if not one.get("width") or not two.get("width"):
        return None
    ratio = one["width"] / two["width"]
    off = math.hypot(one["width_error"] / one["width"], two["width_error"] / two["width"])
    return ratio, ratio * off


def mean_ratio(
    cells: Sequence[Cell], method: str, rival: str, case: str | None = None
) -> float | None:
    """Return the geometric mean of ratios of widths over all cells that both have, or of a case."""
    held = by_place(cells)
    logs = [
        math.log(ratio[0])
        for (name, n, which), own in held.items()
        if which == method
        and case in (None, name)
        and (ratio := ratio_of(own, held.get((name, n, rival)))) is not None
    ]
    return math.exp(float(np.mean(logs))) if logs else None


def short(each: Cell, name: str = "recall", nominal: float = NOMINAL) -> bool:
    """Return whether coverage is below nominal by more than two standard errors."""
    return bool(each[name]["cover"] + 2.0 * each[name]["cover_error"] < nominal)


# --- the page -------------------------------------------------------------------------------------

READING = """
Every method gets the same batches, the labels of all alerts and a number of labels below the
threshold, which it chooses itself. Coverage is the share of batches whose **realised** recall (or
number of missed events) lies in the 90 % interval, +- its standard error; in brackets stands the
mean width. **Bold**: below .90 by more than two standard errors. An interval that is not given
holds nothing. Worlds are described in [worlds.py](worlds.py), rankings of real texts, crashes and
anomalies in [rankings.py](rankings.py), rivals in [rivals.py](rivals.py); all cells are in
[cells.json](cells.json). scarce has its default settings throughout.
"""


def page_of(cells: Sequence[Cell], results: Results | None = None) -> str:
    """Return the page as Markdown: summary, assumptions, all cells."""
    methods = list(dict.fromkeys(each["method"] for each in cells))
    title = "Intervals for recall and missed events: scarce and its rivals on the same batches"
    lines = [f"# {title if results is None else results.title}", ""]
    if results is not None:
        versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
        lines += [f"`{results.command}`, seed {results.seed}; {versions}."]
    lines += READING.splitlines()
    for name, word in WHAT.items():
        lines += ["", f"## Summary: {word}", "", *summary(cells, methods, name)]
        lines += ["", *named(cells, methods, name)]
    lines += ["", "## What the limits assume, and where it is false", ""]
    lines += assumptions(list(dict.fromkeys(each["case"] for each in cells)))
    for n in sorted({each["n"] for each in cells}):
        own = [each for each in cells if each["n"] == n]
        what = f"{n} labels" if n else "A label for every 64 rows, 30 to 300,"
        lines += ["", f"## {what} below the threshold", "", "Coverage of recall (mean width)", ""]
        lines += table(own, methods, cover_text)
        lines += ["", "RMSE of the point of recall", "", *table(own, methods, rmse_text)]
        lines += ["", "Coverage of missed events (mean width)", ""]
        lines += table(own, methods, missed_text)
    return "\n".join(lines) + "\n"


def summary(cells: Sequence[Cell], methods: Sequence[str], name: str = "recall") -> list[str]:
    """Return one line per method: how many cells fall short, and widths beside the rivals'."""
    lines = [
        "| method | cells | batches a cell | below .88 | below .90 | least coverage "
        f"| width / {REFERENCE} | width / {CLOSEST} | ms a call |",
        f"| --- |{' ---: |' * 8}",
    ]
    for method in methods:
        own = [each for each in cells if each["method"] == method]
        low, high = (end(each["batches"] for each in own) for end in (min, max))
        least = min(each[name]["cover"] for each in own)
        below = [sum(short(each, name, level) for each in own) for level in (PROMISED, NOMINAL)]
        ratios = [mean_ratio(cells, method, rival) for rival in (REFERENCE, CLOSEST)]
        spent = float(np.median([each["milliseconds"] for each in own]))
        shown = [
            method,
            str(len(own)),
            f"{low}" if low == high else f"{low} to {high}",
            *map(str, below),
            f"{least:.3f}",
            *("-" if each is None else f"{each:.2f}" for each in ratios),
            f"{spent:.0f}",
        ]
        lines.append(f"| {' | '.join(shown)} |")
    return [*lines, "", "Below: by more than two standard errors. Ratios are of widths of recall."]


def named(cells: Sequence[Cell], methods: Sequence[str], name: str) -> list[str]:
    """Return which cells of each method fall short, and the numbers of labels there."""
    lines = []
    for method in methods:
        for level in (PROMISED, NOMINAL):
            where: dict[str, list[str]] = {}
            for each in cells:
                if each["method"] == method and short(each, name, level):
                    where.setdefault(each["case"], []).append(str(each["n"] or "own"))
            text = "; ".join(f"{case} ({', '.join(ns)})" for case, ns in where.items())
            lines.append(f"- {method}, below {f'{level:.2f}'[1:]}: {text or 'none'}.")
    return lines


def assumptions(cases: Sequence[str]) -> list[str]:
    """Return which worlds break an assumption, and which were added after looking."""
    rising = {case: rise for case in cases if case in worlds.NAMES and (rise := rises(case))}
    wrong = [case for case in cases if case in worlds.WRONG]
    added = [case for case in cases if case in ADDED]
    real = [case for case in cases if case not in worlds.NAMES]
    lines = [
        "Limits of scarce and of Neyman, monotone take for granted that precision does not rise as "
        "the score falls from one stratum to the next, and that labels are right.",
        "",
    ]
    if rising:
        lines += [
            "Precision rises in these worlds (by their laws, in the strata of "
            f"{RISE_LABELS} checks):",
            "",
            "| world | precision rises from | to | events beyond | of missed |",
            "| --- | ---: | ---: | ---: | ---: |",
        ]
        lines += [
            f"| {case} | {rise.high:.2g} | {rise.low:.2g} | {rise.beyond:.0f} | {rise.missed:.0f} |"
            for case, rise in rising.items()
        ]
        lines += [
            "",
            '"Events beyond" are those that the lower stratum holds and would not at the precision '
            "above it.",
        ]
    for what, listed in (
        ("Labels are wrong, and no method was told how often, in", wrong),
        ("Added after 40 repeats of other worlds had been looked at:", added),
        ("Of real rankings nothing is known about this:", real),
    ):
        lines.append(f"{what} {'; '.join(listed) or 'none'}.")
    return lines


def table(cells: Sequence[Cell], methods: Sequence[str], text: Callable[[Cell], str]) -> list[str]:
    """Return a table with a line for each case and a column for each method."""
    lines = [f"| | {' | '.join(methods)} |", f"| --- |{' ---: |' * len(methods)}"]
    found = {(each["case"], each["method"]): text(each) for each in cells}
    for case in dict.fromkeys(each["case"] for each in cells):
        shown = [found.get((case, method), "-") for method in methods]
        lines.append(f"| {case} | {' | '.join(shown)} |")
    return lines


def cover_text(each: Cell) -> str:
    """Return coverage with its error and the width of recall."""
    return _cover_text(each, "recall", "{:.2f}")


def missed_text(each: Cell) -> str:
    """Return coverage with its error and the width of missed events."""
    return _cover_text(each, "missed", "{:,.0f}")


def _cover_text(each: Cell, name: str, width: str) -> str:
    held = each[name]
    cover = f"{held['cover']:.3f}"
    cover = f"**{cover}**" if short(each, name) else cover
    length = width.format(held["width"]) if "width" in held else "no bound"
    return f"{cover} ± {held['cover_error']:.3f} ({length})"


def rmse_text(each: Cell) -> str:
    """Return the RMSE of recall with its error."""
    held = each["recall"]
    return f"{held['rmse']:.3f} ± {held['rmse_error']:.3f}" if "rmse" in held else "-"
