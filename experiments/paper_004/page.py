"""The page that a full run writes: the paper's tables with ours in them, figures and run times.

Everything on it is made from the stored cells, so that the page can be checked without fitting.
Computes nothing but means and errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import numpy as np

from experiments.frame import Results
from experiments.paper_004.jobs import (
    GAP,
    HIDDEN,
    INCOMPLETE,
    MEANS,
    OURS,
    PAPER,
    READINGS,
    REPEATS,
    SWEPT,
    size_of,
)
from experiments.paper_004.methods import FOLDS, WIDTH_SCALES
from experiments.paper_004.printed import (
    FULL,
    MEAN_ALL,
    MEAN_POSITIVE,
    METHODS,
    MISSING,
    SEEN,
    SETS,
    WAYS,
    printed,
)
from experiments.paper_004.reasons import why_gaps, why_set, why_table_1
from experiments.paper_004.tables import (
    LEVEL,
    PERCENT,
    Cells,
    Difference,
    against_best,
    best_method,
    difference,
    split_ratio,
)

WORDS = ("set", "row", "method", "reading", "why they differ")  # columns of words, not numbers
NEAR = 2.0  # nats


def page_of(results: Results, cells: Cells) -> str:
    """Return results.md."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    parts = [
        f"# {results.title}",
        f"`{results.command}`, seed {results.seed}; {versions}.",
        "Every cell is a log-likelihood: the sum over test draws of ln p(place), with p normalised "
        "over all places, labelled, test and other. Boxes have half width = width_scale * spread "
        "of the column's seen cells / root of the labelled rows in which it is seen. width_scale "
        f"is the best of {', '.join(f'{w:g}' for w in WIDTH_SCALES)} in {FOLDS}-fold "
        "cross-validation over the labelled draws, for every method apart. All methods see the "
        "same draws, so differences are paired. ± is the standard deviation over repeats, as the "
        "paper's seems to be; differences come with standard errors. Errors of splits of one set "
        "are given twice: over splits alone, and corrected for the rows that splits share (Nadeau "
        "and Bengio 2003), which is the one to trust.",
        _summary(cells),
        "## Table 1: synthetic data",
        _table_1(cells),
        "Missing less each other, paired, with standard errors over data sets; * where a t test "
        f"rejects equality at {PERCENT}:",
        _differences_1(cells),
        _table(["reading", "why they differ"], [[r, why_table_1(r)] for r in READINGS]),
        "## Table 2: real sets",
        f"{REPEATS['table 2']} splits of the positives into halves. Ours ± deviation over splits; "
        "the paper's. The best of ours is in bold.",
        _table_2(cells),
        "Missing less each other: mean; error over splits, * where a paired t test with it rejects "
        f"equality at {PERCENT}; corrected error, ** where it rejects with that one too; the "
        "paper's difference.",
        _differences_2(cells),
        "Missing against the best of the other three, by the paper's two-sample test, which takes "
        "the splits for independent and unpaired, and by the two paired ones (p-values):",
        _bests(cells),
        _table(["set", "why they differ"], [[n, why_set(n, MISSING)] for n in SETS]),
        f"horse_colic, {MEAN_POSITIVE}: {why_set('horse_colic', MEAN_POSITIVE)}",
        "Cells seen, and missing cells that lie in positive rows:",
        _gaps(cells),
        "## Figure 1: run time",
        "![CPU seconds of a fit](figure1.png)",
        _times(cells),
        "## Figure 2: which rows are incomplete",
        "![Log-likelihood against incomplete positives](figure2.png)",
        _figure_2(cells),
        "## Widths chosen",
        _widths(cells),
        "## CPU time",
        _seconds(cells),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(cells: Cells) -> str:
    near = [n for n in SETS if abs(_mean(cells, n, MISSING) - printed(n, MISSING)[0]) <= NEAR]
    rejected = [n for n in SETS if _worse(against_best(cells, n)[2], corrected=True)]
    split_only = [n for n in SETS if _worse(against_best(cells, n)[2], corrected=False)]
    bold = [n for n in SETS if _worse_two_sample(cells, n)]
    first = sum(
        best_method({m: _values_1(cells, r)[f"{w}, {m}"] for m in METHODS}) == MISSING
        for r in READINGS
        for w in WAYS
    )
    return (
        f"**Missing is within {NEAR:g} of the printed value on {len(near)} of {len(SETS)} sets.** "
        "Significantly worse than the best other method it is, by the paper's two-sample test, on "
        f"{_names(bold)}; by the paired test over splits on {_names(split_only)}; by the paired "
        f"test that allows for shared rows on {_names(rejected)}. In Table 1 it has the greatest "
        f"mean in {first} of {len(READINGS) * len(WAYS)} rows, where the paper has it in all."
    )


def _names(held: Sequence[str]) -> str:
    return ", ".join(held) if held else "none"


def _worse(apart: Difference, corrected: bool) -> bool:
    return apart.mean < 0 and (apart.p_corrected if corrected else apart.p) < LEVEL


def _worse_two_sample(cells: Cells, name: str) -> bool:
    _, p, apart = against_best(cells, name)
    return apart.mean < 0 and p < LEVEL


def _values_1(cells: Cells, reading: str) -> Mapping[str, list[float]]:
    held: Mapping[str, list[float]] = cells["table 1"][reading]["values"]
    return held


def _mean(cells: Cells, name: str, method: str) -> float:
    return float(np.mean(cells["table 2"][name]["values"][method]))


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    sides = " | ".join("---" if name in WORDS else "---:" for name in head)
    lines = ["| " + " | ".join(head) + " |", f"| {sides} |"]
    bars = ([text.replace("|", "\\|") for text in row] for row in rows)
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in bars)])


def _cell(values: Sequence[float], digits: int = 2) -> str:
    return f"{np.mean(values):.{digits}f} ± {np.std(values, ddof=1):.{digits}f}"


def _table_1(cells: Cells) -> str:
    rows = []
    for row in (*WAYS, FULL):
        for reading in (*READINGS, "paper"):
            made = [row, reading]
            for method in METHODS if row != FULL else (FULL,):
                if reading == "paper":
                    mean, spread = printed(row, method)
                    made.append(f"{mean:.2f} ± {spread:.2f}")
                else:
                    name = FULL if row == FULL else f"{row}, {method}"
                    made.append(_cell(_values_1(cells, reading)[name]))
            rows.append(made + [""] * (2 + len(METHODS) - len(made)))
    repeats = len(_values_1(cells, next(iter(READINGS)))[FULL])
    text = (
        f"{repeats} data sets per reading of the text (the paper: 5000), 50 labelled and 50 test "
        f"draws among 200 places; the uniform density gives {-50 * np.log(200):.2f}. "
        '"Put back": a place can be drawn more than once; "wide": coefficients of standard '
        "deviation 4, not 1. Full is the same method on the complete table."
    )
    return f"{text}\n\n{_table(['row', 'reading', *METHODS], rows)}"


def _differences_1(cells: Cells) -> str:
    rows = []
    for way in WAYS:
        for reading in READINGS:
            values = _values_1(cells, reading)
            row = [way, reading]
            for method in METHODS[1:]:
                apart = difference(values[f"{way}, {MISSING}"], values[f"{way}, {method}"])
                mark = "\\*" if apart.p < LEVEL else ""
                row.append(f"{apart.mean:+.2f} ± {apart.error:.2f}{mark}")
            rows.append(row)
        apart_printed = [printed(way, MISSING)[0] - printed(way, m)[0] for m in METHODS[1:]]
        rows.append([way, "paper", *(f"{value:+.2f}" for value in apart_printed)])
    return _table(["row", "reading", *METHODS[1:]], rows)


def _table_2(cells: Cells) -> str:
    rows = []
    for name in SETS:
        values = cells["table 2"][name]["values"]
        best = best_method(values)
        held = {what: v[0] for what, v in cells["sets"][name]["values"].items()}
        test = int(held["positives"]) // 2
        row = [name, f"{test} of {held['places']:.0f}", f"{-test * np.log(held['places']):.1f}"]
        for method in METHODS:
            ours = _cell(values[method], 1)
            mean, spread = printed(name, method)
            row.append(f"{f'**{ours}**' if method == best else ours}; {mean} ± {spread}")
        rows.append(row)
    return _table(["set", "test draws of places", "uniform", *METHODS], rows)


def _differences_2(cells: Cells) -> str:
    rows = []
    for name in SETS:
        values = cells["table 2"][name]["values"]
        row = [name]
        for method in METHODS[1:]:
            apart = difference(values[MISSING], values[method], split_ratio(cells, name))
            star = "\\*" if apart.p < LEVEL else ""
            stars = "\\*\\*" if apart.p_corrected < LEVEL else ""
            paper = printed(name, MISSING)[0] - printed(name, method)[0]
            row.append(
                f"{apart.mean:+.2f}; {apart.error:.2f}{star}; {apart.corrected:.2f}{stars}; "
                f"{paper:+.1f}"
            )
        rows.append(row)
    return _table(["set", *METHODS[1:]], rows)


def _bests(cells: Cells) -> str:
    rows = []
    for name in SETS:
        best, p, apart = against_best(cells, name)
        rows.append([name, best, f"{apart.mean:+.2f}", *map(_p, (p, apart.p, apart.p_corrected))])
    head = ["set", "method", "Missing less it", "two-sample p", "paired p", "corrected p"]
    return _table(head, rows)


def _p(value: float) -> str:
    """Write a p-value.

    Examples
    --------
    >>> _p(0.0432), _p(1e-9)
    ('.043', '< .001')
    """
    return "< .001" if value < 0.001 else f"{value:.3f}".removeprefix("0")


def _gaps(cells: Cells) -> str:
    rows = []
    for name in SETS:
        held = cells["sets"][name]["values"]
        row = [name]
        for at, what in enumerate(("p(o)", "p(y|o)")):
            row += [f"{held[what][0]:.3f}", f"{SEEN[name][at]:.2f}"]
        rows.append([*row, why_gaps(name)])
    head = ["set", "p(o)", "paper", "p(y given missing)", "paper", "why they differ"]
    return _table(head, rows)


def _times(cells: Cells) -> str:
    rows, far = [], 0.0
    for case, held in cells["figure 1"].items():
        values, (columns, places) = held["values"], size_of(case)
        ours, paper = (float(np.mean(values[way])) for way in (OURS, PAPER))
        apart = np.abs(np.subtract(*(values[f"divergence, {way}"] for way in (OURS, PAPER))))
        far = max(far, float(apart.max()))
        sweeps = values["sweeps"]
        rows.append([str(columns), str(places), f"{1e3 * ours:.3g}", f"{1e3 * paper:.3g}",
                     f"{paper / ours:.2g}", f"{min(sweeps):.0f} to {max(sweeps):.0f}"])  # fmt: skip
    text = (
        f"CPU milliseconds of one fit, mean of {REPEATS['figure 1']} draws (the paper: 100), one "
        f"thread; the band is the range. Two normal laws, {HIDDEN:.0%} of cells hidden at random. "
        "Algorithm 1 is compiled and stops, like the paper's, when coefficients move less than "
        "1e-12 in a sweep; MaxentClassifier checks its input and stops on a duality gap of "
        f"{GAP:g}. The divergences that the two reach differ by at most {far:.1e}."
    )
    head = ["columns", "places", "MaxentClassifier", PAPER, "ratio", "sweeps"]
    return f"{text}\n\n{_table(head, rows)}"


def _figure_2(cells: Cells) -> str:
    rows = []
    for case in SWEPT:
        values = cells["figure 2"][case]["values"]
        for k in INCOMPLETE:
            held = {m: values[f"{k}, {m}"] for m in MEANS}
            row = [case, str(k), f"{np.mean(held[MISSING]):.2f}"]
            for method in MEANS[1:]:
                apart = difference(held[MISSING], held[method])
                mark = "\\*" if apart.p < LEVEL else ""
                row.append(f"{apart.mean:+.2f} ± {apart.error:.2f}{mark}")
            middle = sorted(MEANS, key=lambda m: float(np.mean(held[m])))[1]
            rows.append([*row, middle])
    text = (
        f"{REPEATS['figure 2']} data sets (the paper: 500); half of the cells of each incomplete "
        "row are hidden. Missing, and Missing less each imputation, paired, with standard errors; "
        f"* where a t test rejects equality at {PERCENT}. {_middle(cells)}"
    )
    head = ["reading", "positives", MISSING, *(f"less {m}" for m in MEANS[1:]), "in the middle"]
    return f"{text}\n\n{_table(head, rows)}"


def _middle(cells: Cells) -> str:
    """Say where the paper's order holds: Missing between the two means, which swap sides."""
    said = []
    for case in SWEPT:
        values = cells["figure 2"][case]["values"]
        means = {k: {m: float(np.mean(values[f"{k}, {m}"])) for m in MEANS} for k in INCOMPLETE}
        few = means[INCOMPLETE[0]]
        many = means[INCOMPLETE[-1]]
        ends = [
            few[MEAN_POSITIVE] < few[MISSING] < few[MEAN_ALL],
            many[MEAN_ALL] < many[MISSING] < many[MEAN_POSITIVE],
        ]
        between = sum(sorted(MEANS, key=held.get)[1] == MISSING for held in means.values())  # type: ignore[arg-type]
        said.append(
            f'By "{case}" the paper\'s order {_holds(ends[0])} where no positive is incomplete and '
            f"{_holds(ends[1])} where all are; Missing is in the middle at {between} of "
            f"{len(INCOMPLETE)} points."
        )
    return " ".join(said)


def _holds(holds: bool) -> str:
    return "holds" if holds else "does not hold"


def _widths(cells: Cells) -> str:
    rows = []
    for part, order in (("table 1", tuple(READINGS)), ("table 2", SETS)):
        for case in order:
            held: dict[str, dict[str, int]] = cells[part][case]["widths"]
            way = "" if part == "table 2" else "MCAR, "
            rows.append([f"{way}{case}", *(_spread(held[f"{way}{m}"]) for m in METHODS)])
    text = "Lower quartile, median and upper quartile over repeats."
    return f"{text}\n\n{_table(['row', *METHODS], rows)}"


def _spread(counts: Mapping[str, int]) -> str:
    held = np.repeat([float(width) for width in counts], list(counts.values()))
    low, middle, high = np.quantile(held, [0.25, 0.5, 0.75], method="nearest")
    return f"{low:g}, {middle:g}, {high:g}"


def _seconds(cells: Cells) -> str:
    rows = []
    for part, text in (
        ("table 1", "Table 1"),
        ("table 2", "Table 2"),
        ("figure 1", "Figure 1"),
        ("figure 2", "Figure 2"),
    ):
        each = {case: sum(held["seconds"]) for case, held in cells[part].items()}
        longest = max(each, key=lambda case: each[case])
        total = f"{sum(each.values()):.0f}"
        rows.append([text, total, f"{longest}, {each[longest]:.0f}"])
    text = "Choosing widths, fitting and imputing, all methods and repeats; one thread each."
    return f"{text}\n\n{_table(['row', 'seconds', 'most'], rows)}"
