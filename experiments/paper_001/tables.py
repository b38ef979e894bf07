"""From records to tables: means, standard errors, marks against the best, distance from print.

    distance = |paper - ours| / sqrt(2 standard_error^2)

The paper prints no standard errors, so it is lent ours. A mark says that a method differs from the
best of its row by the two-sided Wilcoxon test over splits: * at 10 %, ** at 5 %, as in the paper.
Splits of one set overlap, so marks and errors are about split noise, on the small side. Refits
nothing.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from scipy.stats import wilcoxon

from experiments.frame import Comparison, over_repeats
from experiments.paper_001.jobs import DESIGNS, EVERY, SIZES
from experiments.paper_001.methods import CONSTANT
from experiments.paper_001.printed import METHODS, SETS, printed
from experiments.paper_001.reasons import reason

# case -> method -> measure -> one value per repeat; a synthetic case is "sine, r = 64, n = 1000"
Cells = dict[str, dict[str, dict[str, list[float | None]]]]

FAR = 2.0
NUMBERS = {"brier": 3, "calibration": 4}  # of the paper's tables
OURS = "Drawn, not printed, in the paper; and the design is our reading of a lost appendix."


def cells_of(records: Iterable[Mapping[str, Any]]) -> Cells:
    """Gather records into lists over repeats, in the order of the repeats."""
    cells: Any = defaultdict(lambda: defaultdict(lambda: defaultdict(list)))
    for record in sorted(records, key=lambda r: int(r["repeat"])):
        case = case_name(record["case"], record["rows"])
        for measure, value in record.items():
            if measure not in ("case", "rows", "repeat", "method"):
                cells[case][record["method"]][measure].append(value)
    order = [*SETS, *(case_name(d, n) for d in DESIGNS for n in SIZES)]
    return {
        case: {m: dict(cells[case][m]) for m in EVERY if m in cells[case]}
        for case in order
        if case in cells
    }


def case_name(case: str, rows: int) -> str:
    """Return the name of a set, or of a design at a size.

    Examples
    --------
    >>> case_name("step", 1000), case_name("pima", 0)
    ('step, n = 1000', 'pima')
    """
    return f"{case}, n = {rows}" if rows else case


def distance(paper: float, values: Sequence[float]) -> float:
    """Return how far the paper's value is from the mean of ours, in combined standard errors.

    Examples
    --------
    >>> round(distance(0.5, [1.0, 2.0, 3.0]), 3)
    1.837
    """
    error = float(np.std(values, ddof=1) / np.sqrt(len(values)))
    apart = abs(float(np.mean(values)) - paper)
    if error == 0:
        return math.inf if apart > 0 else 0.0
    return apart / (math.sqrt(2.0) * error)


def marks(row: Mapping[str, Sequence[float]]) -> dict[str, str]:
    """Mark methods that differ from the best of the row.

    Parameters
    ----------
    row : mapping of method to values, paired over splits

    Examples
    --------
    >>> steady = [1.0, 2.0, 3.0, 4.0, 5.0, 6.0, 7.0]
    >>> marks({"a": steady, "b": [v + 0.1 * v for v in steady], "c": steady})
    {'a': '', 'b': '**', 'c': ''}
    """
    best = min(row, key=lambda method: float(np.mean(row[method])))
    found = {}
    for method, values in row.items():
        apart = np.subtract(values, row[best])
        p = 1.0 if not apart.any() else float(wilcoxon(apart[apart != 0]).pvalue)
        found[method] = "**" if p < 0.05 else "*" if p < 0.1 else ""
    return found


def real_comparisons(cells: Cells) -> list[Comparison]:
    """Return every cell of Tables 3 and 4 beside ours, and the constant prediction."""
    rows = []
    for score, number in NUMBERS.items():
        for name in (name for name in SETS if name in cells):
            for method, measured in cells[name].items():
                paper = printed(score, name, method)
                values = [float(v) for v in measured[score] if v is not None]
                far = paper is not None and len(values) > 2 and distance(paper, values) > FAR
                why = reason(score, name, method) if far else _near(paper, values)
                what = f"Table {number}, {score}, {name}, {method}"
                rows.append(over_repeats(what, paper, values, why))
    return rows


def _near(paper: float | None, values: Sequence[float]) -> str:
    if paper is None:
        return "Ours alone: the training share for every row, to read the others against."
    if len(values) <= 2:
        return "Other splits, and too few of them here to tell."
    return f"Other splits: {distance(paper, values):.1f} combined standard errors apart."


def synthetic_comparisons(cells: Cells) -> list[Comparison]:
    """Return the root mean squared errors of Figure 2's kind; the paper prints none."""
    rows = []
    for case, methods in cells.items():
        for method, measured in methods.items():
            if "rmse" in measured:
                values = [float(v) for v in measured["rmse"] if v is not None]
                rows.append(over_repeats(f"Figure 2, RMSE, {case}, {method}", None, values, OURS))
    return rows


def seconds_comparisons(cells: Cells) -> list[Comparison]:
    """Return CPU seconds of each method, summed over the real sets, per split."""
    rows = []
    for method in METHODS:
        each = [m[method]["seconds"] for name, m in cells.items() if name in SETS and method in m]
        if each:
            total = np.sum(np.array(each, dtype=float), axis=0)
            why = "The paper's run times are in an appendix that is lost."
            what = f"CPU seconds to choose and fit, {len(each)} sets, {method}"
            rows.append(over_repeats(what, None, total.tolist(), why))
    return rows


def far_cells(cells: Cells) -> list[tuple[str, str, str, float]]:
    """Return score, set, method and distance of every cell beyond two combined standard errors."""
    found = []
    for score in NUMBERS:
        for name in (name for name in SETS if name in cells):
            for method in METHODS:
                values = [float(v) for v in cells[name][method][score] if v is not None]
                paper = printed(score, name, method)
                assert paper is not None
                apart = distance(paper, values)
                if apart > FAR:
                    found.append((score, name, method, apart))
    return found


def mean_and_error(values: Sequence[float | None]) -> tuple[float, float]:
    """Return the mean and its standard error; infinite where a value is missing from JSON."""
    if any(v is None for v in values):
        return np.inf, np.nan
    held = np.array(values, dtype=float)
    return float(held.mean()), float(held.std(ddof=1) / np.sqrt(len(held)))


def baseline(cells: Cells, name: str, score: str) -> float:
    """Return the mean score of the constant prediction."""
    return mean_and_error(cells[name][CONSTANT][score])[0]
