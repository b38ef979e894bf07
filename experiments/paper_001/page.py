"""The page that a full run writes: the paper's tables with ours in them, figures and run times.

Everything on it is made from the stored cells, so that the page can be checked without fitting.
Computes nothing but means and errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from experiments.frame import Results
from experiments.paper_001.jobs import DESIGNS, EVERY, FLOOR, SIZES, SPLITS
from experiments.paper_001.methods import CONSTANT
from experiments.paper_001.printed import METHODS, SETS, printed
from experiments.paper_001.reasons import reason
from experiments.paper_001.tables import (
    FAR,
    NUMBERS,
    Cells,
    baseline,
    case_name,
    distance,
    far_cells,
    marks,
    mean_and_error,
)

CHANCE = 0.077  # of |t| > 2 with nine degrees of freedom
WHY = "why they differ"
WORDS = ("set", "cell", "design", "method", "quantity", WHY)  # columns of words, not numbers
TITLES = {"brier": "Table 3: Brier score", "calibration": "Table 4: calibration loss"}


def page_of(results: Results, cells: Cells) -> str:
    """Return results.md."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    far = far_cells(cells)
    apart = {score: sum(f[0] == score for f in far) for score in NUMBERS}
    of = len(SETS) * len(METHODS)
    parts = [
        f"# {results.title}",
        f"`{results.command}`, seed {results.seed}; {versions}.",
        f"{SPLITS} random splits, 70 % to train and 30 % to test; 30 % of the training rows choose "
        "the ridge (7 values) and the shape (27 values) by Brier score, then all training rows are "
        "fitted again. Columns are divided by their spread, the intercept is free, and "
        "probabilities have no floor, as in the paper. Every method sees the same rows.",
        "A cell reads: ours ± standard error over splits, mark; the paper's value; their distance "
        "in combined standard errors (the paper prints none and is lent ours). The mark is * or ** "
        "where the method differs from the best of ours in the row (in bold) at 10 % or 5 % by the "
        "two-sided Wilcoxon test. `constant` predicts the training share for every row.",
        f"**{apart['brier']} of {of} Brier cells and {apart['calibration']} of {of} calibration "
        f"cells are more than {FAR:g} combined standard errors from the paper's**; below the "
        "tables each has its reason, or says that it has none. If nothing but the splits "
        f"differed, chance alone would put about {CHANCE * 2 * of:.0f} of the {2 * of} there. The "
        "constant has nearly no calibration loss: that loss describes a method and cannot rank "
        "methods. On glass, with about five events among 64 test rows, no method has a lower "
        "Brier score than the constant; on the other sets all have.",
    ]
    for score in NUMBERS:
        parts += [f"## {TITLES[score]}", _scores(cells, score)]
    parts += ["## Cells that are far from the paper's", _far(cells, far)]
    parts += ["## What the log loss would be", _log_loss(cells)]
    parts += ["## Shapes chosen", _shapes(cells)]
    parts += [
        "## Figure 1: the losses",
        "![Partial losses](figure1.png)",
        "From `scarce.losses`. The canonical loss is drawn as in the paper, 0 at the sure "
        "prediction and on the link's support only; where it is fitted it goes on in a straight "
        "line beyond the support.",
        "## Figure 2: distance from the true probability",
        "![RMSE against training rows](figure2.png)",
        "The designs are our reading of section 4.1, whose appendix is lost. Ridge and shape are "
        "chosen by Brier score on labels; the paper chose the shape with the true probabilities of "
        "500 further rows, which nobody has outside a simulation.",
        "At 1,000 and 2,000 rows of the first design the constant share is nearer to the truth "
        "than every fit. Both GEV losses are ahead of logistic regression on the sine designs "
        "from 4,000 rows on, but so is probit, and none is on the step. The paper's gain at "
        "small sizes is not seen when the ridge is chosen too.",
        _errors(cells),
        "## Prevalence of the designs",
        _prevalences(results),
        "## CPU time",
        _seconds(cells),
    ]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    sides = " | ".join("---" if name in WORDS else "---:" for name in head)
    lines = ["| " + " | ".join(head) + " |", f"| {sides} |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def _short(value: float, digits: int = 4) -> str:
    """Write a share the paper's way.

    Examples
    --------
    >>> _short(0.0252), _short(1.5, 2)
    ('.0252', '1.50')
    """
    return f"{value:.{digits}f}".removeprefix("0") if np.isfinite(value) else "infinite"


def _scores(cells: Cells, score: str) -> str:
    rows = []
    for name in SETS:
        values = {m: [float(v or 0.0) for v in cells[name][m][score]] for m in METHODS}
        marked = marks(values)
        best = min(METHODS, key=lambda m: float(np.mean(values[m])))
        row = [name]
        for method in METHODS:
            mean, error = mean_and_error(cells[name][method][score])
            ours = f"**{_short(mean)}**" if method == best else _short(mean)
            paper = printed(score, name, method) or 0.0
            apart = distance(paper, values[method])
            mark = marked[method].replace("*", "\\*")
            spread = _short(error, NUMBERS[score] + 1)  # Table 4 holds smaller numbers
            row.append(f"{ours} ± {spread}{mark}; {_short(paper)}; {apart:.1f}")
        rows.append([*row, _short(baseline(cells, name, score))])
    return _table(["set", *METHODS, CONSTANT], rows)


def _far(cells: Cells, far: Sequence[tuple[str, str, str, float]]) -> str:
    rows = []
    for score, name, method, apart in far:
        mean, error = mean_and_error(cells[name][method][score])
        cell = f"{score}, {name}, {method}"
        paper = _short(printed(score, name, method) or 0.0)
        why = reason(score, name, method)
        rows.append([cell, paper, _short(mean), _short(error), f"{apart:.1f}", why])
    head = ["cell", "paper", "ours", "standard error", "distance", WHY]
    return _table(head, rows)


def _log_loss(cells: Cells) -> str:
    rows = []
    for name in SETS:
        row = [name]
        for method in ("logistic", "gev-log", "gev-canonical"):
            measured = cells[name][method]
            zeros = int(sum(v or 0.0 for v in measured["impossible"]))
            plain = mean_and_error(measured["log_loss"])[0]
            row += [f"{_short(plain)}" + (f" ({zeros})" if zeros else "")]
            row += [_short(mean_and_error(measured["log_loss_floored"])[0])]
        rows.append(row)
    head = ["set"]
    for method in ("logistic", "gev-log", "gev-canonical"):
        head += [method, f"{method}, floor {FLOOR:g}"]
    text = (
        "Mean over splits. A GEV link gives some rows probability exactly 0 or 1; one test row of "
        "the other class there (their number over all splits is in brackets) makes the log loss "
        "infinite. Mixing "
        f"{FLOOR:g} of the training share into every probability, the least that `RareClassifier` "
        "does by itself, makes it finite."
    )
    return f"{text}\n\n{_table(head, rows)}"


def _shapes(cells: Cells) -> str:
    rows = []
    for name in SETS:
        row = [name]
        for method in ("gev-log", "gev-canonical"):
            found = sorted(float(v or 0.0) for v in cells[name][method]["shape"])
            row.append(f"{found[0]:g} to {found[-1]:g}, median {float(np.median(found)):g}")
        rows.append(row)
    text = "From -1 to 1.5, one choice per split; a wide range says that the data do not tell."
    return f"{text}\n\n{_table(['set', 'gev-log', 'gev-canonical'], rows)}"


def _errors(cells: Cells) -> str:
    rows = []
    for design in DESIGNS:
        for n in SIZES:
            case = cells[case_name(design, n)]
            best = min(EVERY, key=lambda m: mean_and_error(case[m]["rmse"])[0])
            row = [f"{design}, n = {n:,}"]
            for method in EVERY:
                mean, error = mean_and_error(case[method]["rmse"])
                text = f"{_short(mean)} ± {_short(error)}"
                row.append(f"**{text}**" if method == best else text)
            rows.append(row)
    return _table(["design", *EVERY], rows)


def _prevalences(results: Results) -> str:
    rows = [
        [row.quantity, f"{row.paper:g}", f"{row.ours:.4g}", f"{row.standard_error:.2g}", row.why]
        for row in results.comparisons
        if row.quantity.startswith("prevalence")
    ]
    return _table(["quantity", "paper", "ours", "standard error", WHY], rows)


def _seconds(cells: Cells) -> str:
    rows = []
    for method in METHODS:
        sums = {True: 0.0, False: 0.0}
        for case, measured in cells.items():
            sums[case in SETS] += sum(v or 0.0 for v in measured[method]["seconds"])
        rows.append([method, f"{sums[True]:.1f}", f"{sums[False]:.1f}"])
    text = (
        f"To choose and fit, summed over {len(SETS)} sets and {SPLITS} splits, and over the "
        "synthetic designs; one thread each. The paper's run times are in a lost appendix."
    )
    return f"{text}\n\n{_table(['method', 'real sets, s', 'synthetic, s'], rows)}"
