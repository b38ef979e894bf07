"""From records to tables: means, paired differences, and the errors of both.

    error      = s / sqrt(R)                                over R independent data sets
    corrected  = s * sqrt(1/R + test rows / training rows)  over R splits of one set

Splits of one set share rows, so their scatter divided by sqrt(R) says how well R splits stand for
all splits, not how well the set stands for the world. The second form (Nadeau and Bengio 2003,
Machine Learning 52:239-281) allows for that: with halves it is hardly less than s. The paper's
two-sample test uses the first, and the two samples as if they were not paired. Refits nothing.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from scipy import stats

from experiments.frame import Comparison, over_repeats
from experiments.paper_004.jobs import INCOMPLETE, MEANS, OURS, PAPER, READINGS, cases
from experiments.paper_004.printed import FULL, METHODS, MISSING, SEEN, SETS, WAYS, printed
from experiments.paper_004.reasons import WHY_FIGURES, why_gaps, why_set, why_table_1

# part -> case -> "values" -> name -> one value per repeat; "widths" -> name -> width -> how often
Cells = dict[str, dict[str, dict[str, Any]]]

LEVEL = 0.05
PERCENT = "5 %"


class Difference(NamedTuple):
    """Mean of Missing less another method, its two errors, and p-values of t tests with them."""

    mean: float
    error: float
    corrected: float
    p: float
    p_corrected: float


def cells_of(records: Iterable[Mapping[str, Any]]) -> Cells:
    """Gather records into lists over repeats, in the order of the repeats."""
    cells: Any = defaultdict(lambda: defaultdict(dict))
    for record in sorted(records, key=lambda r: int(r["repeat"])):
        case = cells[record["part"]][record["case"]]
        case.setdefault("seconds", []).append(record["seconds"])
        for name, value in record["values"].items():
            case.setdefault("values", {}).setdefault(name, []).append(value)
        for name, width in record["widths"].items():
            case.setdefault("widths", {}).setdefault(name, Counter())[f"{width:g}"] += 1
    return {
        part: {case: _plain(cells[part][case]) for case in held if case in cells[part]}
        for part, held in cases().items()
        if part in cells
    }


def _plain(case: Mapping[str, Any]) -> dict[str, Any]:
    """Return a case as JSON would give it back."""
    widths = {
        name: {width: counts[width] for width in sorted(counts, key=float)}
        for name, counts in case.get("widths", {}).items()
    }
    return {"values": case["values"], "widths": widths, "seconds": case["seconds"]}


def difference(ours: Sequence[float], other: Sequence[float], ratio: float = 0.0) -> Difference:
    """Compare paired values.

    Parameters
    ----------
    ours, other : sequence of float
    ratio : float
        Test rows over training rows where the repeats are splits of one set, 0 where they are
        independent.

    Examples
    --------
    >>> found = difference([1.0, 2.0, 4.0], [0.0, 2.0, 3.0], ratio=1.0)
    >>> round(found.mean, 3), round(found.error, 3), round(found.corrected, 3)
    (0.667, 0.333, 0.667)
    """
    apart = np.subtract(ours, other)
    mean, spread = float(apart.mean()), float(apart.std(ddof=1))
    error = spread / math.sqrt(apart.size)
    corrected = spread * math.sqrt(1.0 / apart.size + ratio)
    return Difference(
        mean, error, corrected, _p(mean, error, apart.size), _p(mean, corrected, apart.size)
    )


def _p(mean: float, error: float, repeats: int) -> float:
    """Return the two-sided p-value of a t test."""
    if error == 0.0:
        return 1.0 if mean == 0.0 else 0.0
    return float(2.0 * stats.t.sf(abs(mean) / error, repeats - 1))


def two_sample_p(ours: Sequence[float], other: Sequence[float]) -> float:
    """Return the p-value of the test that the paper puts in bold type: two independent samples."""
    if np.array_equal(ours, other):
        return 1.0
    return float(stats.ttest_ind(ours, other).pvalue)


def split_ratio(cells: Cells, name: str) -> float:
    """Return test rows over training rows of a set's splits."""
    positives = int(cells["sets"][name]["values"]["positives"][0])
    return (positives // 2) / (positives - positives // 2)


def best_method(values: Mapping[str, Sequence[float]]) -> str:
    """Return the method with the greatest mean log-likelihood."""
    return max(METHODS, key=lambda method: float(np.mean(values[method])))


def against_best(cells: Cells, name: str) -> tuple[str, float, Difference]:
    """Return the best method of a set, the paper's p of Missing against it, and the difference.

    Where Missing itself is the best, it is compared with the second.
    """
    values = cells["table 2"][name]["values"]
    others = {m: v for m, v in values.items() if m != MISSING}
    best = max(others, key=lambda method: float(np.mean(others[method])))
    apart = difference(values[MISSING], values[best], split_ratio(cells, name))
    return best, two_sample_p(values[MISSING], values[best]), apart


def synthetic_comparisons(cells: Cells) -> list[Comparison]:
    """Return Table 1 by each reading of the text, and the paired differences in it."""
    rows = []
    for reading, held in _held(cells, "table 1", READINGS):
        values = held["values"]
        for row, method in [(FULL, FULL), *((way, m) for way in WAYS for m in METHODS)]:
            name = FULL if row == FULL else f"{row}, {method}"
            what = f"Table 1, {reading}, {name}"
            rows.append(
                over_repeats(what, printed(row, method)[0], values[name], why_table_1(reading))
            )
        for way in WAYS:
            for method in METHODS[1:]:
                paper = round(printed(way, MISSING)[0] - printed(way, method)[0], 2)
                apart = np.subtract(values[f"{way}, {MISSING}"], values[f"{way}, {method}"])
                what = f"Table 1, {reading}, {way}, {MISSING} - {method}"
                rows.append(over_repeats(what, paper, apart.tolist(), why_table_1(reading)))
    return rows


def real_comparisons(cells: Cells) -> list[Comparison]:
    """Return Table 2, its paired differences, and its columns on missing cells.

    Their standard errors are the corrected ones.
    """
    rows = []
    for name, held in _held(cells, "table 2", SETS):
        values, ratio = held["values"], split_ratio(cells, name)
        repeats = len(values[MISSING])
        for method in METHODS:
            found = difference(values[method], np.zeros(repeats).tolist(), ratio)
            paper = printed(name, method)[0]
            what = f"Table 2, {name}, {method}"
            rows.append(
                Comparison(what, paper, found.mean, found.corrected, repeats, why_set(name, method))
            )
        for method in METHODS[1:]:
            found = difference(values[MISSING], values[method], ratio)
            paper = round(printed(name, MISSING)[0] - printed(name, method)[0], 1)
            what = f"Table 2, {name}, {MISSING} - {method}"
            rows.append(
                Comparison(what, paper, found.mean, found.corrected, repeats, why_set(name, method))
            )
    for name, held in _held(cells, "sets", SETS):
        for at, what in enumerate(("p(o)", "p(y|o)")):
            ours = held["values"][what][0]
            rows.append(
                Comparison(f"Table 2, {name}, {what}", SEEN[name][at], ours, 0.0, 1, why_gaps(name))
            )
    return rows


def figure_comparisons(cells: Cells) -> list[Comparison]:
    """Return the points of Figure 2 and the seconds of Figure 1; the paper prints neither."""
    rows = []
    for case, held in cells.get("figure 2", {}).items():
        for k in INCOMPLETE:
            for method in MEANS:
                what = f"Figure 2, {case}, {k} positives incomplete, {method}"
                rows.append(
                    over_repeats(what, None, held["values"][f"{k}, {method}"], WHY_FIGURES[2])
                )
    for case, held in cells.get("figure 1", {}).items():
        for way in (OURS, PAPER):
            what = f"Figure 1, {case}, CPU seconds, {way}"
            rows.append(over_repeats(what, None, held["values"][way], WHY_FIGURES[1]))
    return rows


def _held(cells: Cells, part: str, order: Iterable[str]) -> Iterable[tuple[str, dict[str, Any]]]:
    return [(case, cells[part][case]) for case in order if case in cells.get(part, {})]


def comparisons(cells: Cells) -> list[Comparison]:
    """Return every number beside the paper's."""
    return [
        *synthetic_comparisons(cells),
        *real_comparisons(cells),
        *figure_comparisons(cells),
    ]
