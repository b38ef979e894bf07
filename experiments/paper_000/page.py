"""The page that a full run writes: claims and verdicts, tables, Figure 1 and run times.

Everything on it is made from the stored scores of each species, so that the page can be checked
without fitting. Computes nothing that tables.py and claims.py do not.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np

from experiments.frame import Results
from experiments.paper_000.claims import claims
from experiments.paper_000.comparisons import MAXENTS, every_scheme
from experiments.paper_000.jobs import DEFAULTS, PARTS, TREES, TUNED, maxent_at, robust_at
from experiments.paper_000.methods import CANDIDATES, LEARNING_RATE, LEAVES, MAIN, WIDTHS
from experiments.paper_000.printed import AUC_MAXENT, AUC_ROBUST, AUC_TREES, REGIONS
from experiments.paper_000.species import Array
from experiments.paper_000.tables import (
    NEAR,
    SCHEMES,
    Runs,
    best,
    breadth,
    by_region,
    constant,
    fact,
    gains,
    left_out,
    mean_of,
    members,
    panels,
    scores,
    shared_width,
)

RIVAL = "Maxent 3.4.4"
WORDS = ("method", "claim of the paper", "found here", "verdict", "test prevalence", "weighting",
         "work", "presences")  # fmt: skip
SIZES = ((0, 10), (10, 20), (20, 100), (100, 10**9))


def page_of(results: Results, runs: Runs) -> str:
    """Return results.md."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    n = len(runs["facts"])
    parts = [
        f"# {results.title}",
        f"`{results.command}`, seed {results.seed}; {versions}.",
        f"{n} species. Presence records of museums and incidental sightings to learn from, planned "
        "surveys to be tested on. The pool is the target group: the distinct places where any "
        "species of the group was recorded, presences included; NSW has its eight groups as "
        "shipped unless a line says pooled. Hinge features, indicators for codes. Every fit sees "
        "presences and pool only.",
        f"Maxent and class-robust regression: half width = width_scale * spread / sqrt(presences), "
        f"width_scale {' and '.join(f'{w:g}' for w in WIDTHS)} for all species, fixed beforehand "
        f"({MAIN:g} is Maxent's own for hinges and the one meant where none is named), and "
        f"`tuned`: one of {', '.join(f'{w:g}' for w in CANDIDATES)} for each species, by held-out "
        "presences in five folds, of map blocks or of single places.",
        "Trees: `HistGradientBoostingClassifier`, presences against the whole pool at equal total "
        f"weights, {LEAVES} leaves, learning rate {LEARNING_RATE:g}, number of trees by five folds "
        "of places; entropy weighting of trees takes its class share from maxent.",
        f"{len(DEFAULTS)} defaults from {DEFAULTS[0]:g} to {DEFAULTS[-1]:g}; between "
        "them a cubic spline in log-odds.",
        "What was seen before the full run: quick runs printed survey scores of seven species "
        "(awt21, awt22, nsw01, nsw35, nsw50, sa01, sa02) while the folds for trees and for tuned "
        "widths, the most trees and the ends of the sweep were settled. The two fixed widths were "
        "set before any of it. Beside this run the mean survey AUC of all 226 species was looked "
        "at for six settings: hinges at width 0.5 and 1 (as below), lq at width 2 (.7402) and lqph "
        "at width 2.83 (.7447), both preferred by held-out presences, before it; 10 even knots "
        "(.7555) and 10 quantile knots (.7558) at width 0.5 after it. None of them changed a "
        "setting.",
        "Errors in brackets: over species, then over the six region means. Species of a region "
        "share survey sites, so the first is too small.",
        _summary(runs),
        "## What holds and what does not",
        _claims(runs),
        "## Average AUC on the surveys",
        _aucs(runs),
        "Difference: ours minus Maxent 3.4.4, species by species, with the same pools and surveys.",
        "### By number of presences",
        _sizes(runs),
        "### By width of the boxes",
        _widths(runs),
        "## Log loss with one default for all species",
        _losses(runs),
        _known(runs),
        "### Mean log loss at each default",
        _curve(runs),
        "## Figure 1",
        "![Log loss by default prevalence, and ranges of defaults](figure1.png)",
        "Top and middle rows as in the paper, whose middle row is its bottom one. The bottom row "
        "shows the same ranges in log-odds: there both weightings move every site of a species by "
        "the same amount, and a peak that looks broader only because it lies at a higher "
        "prevalence loses that advantage. A range ends where the sweep ends.",
        _bins(runs),
        "## Time",
        _time(runs),
    ]
    return "\n\n".join(parts) + "\n"


def _summary(runs: Runs) -> str:
    """Say in five sentences what the tables say."""
    regions = fact(runs, "region")
    rival = float(fact(runs, "rival_auc").mean())
    ours = ", ".join(f"{short(float(scores(runs, m, 'auc').mean()))} ({m})" for m in MAXENTS)
    apart, lengths = {}, {}
    for weighting in ("entropy", "default"):
        losses = scores(runs, maxent_at(MAIN), weighting)
        apart[weighting] = (
            best(losses.mean(axis=0))[1],
            float(left_out(losses, regions)[0].mean()),
        )
        lengths[weighting] = breadth(losses.mean(axis=0))
    on_test, elsewhere = zip(apart["entropy"], apart["default"], strict=True)
    known = float(constant(runs).mean())
    lesson = ": to know it is worth more than to weight well" if known < on_test[0] else ""
    return (
        f"**In short.** Mean AUC: {ours}; paper {short(AUC_MAXENT)}, {RIVAL} {short(rival)}. With "
        f"one default for all species entropy weighting has log loss {short(on_test[0])} and "
        f"default weighting {short(on_test[1])} (best defaults on test), {short(elsewhere[0])} and "
        f"{short(elsewhere[1])} when the default is chosen on the other regions. The defaults "
        f"within {NEAR:.0%} of the least loss span {short(lengths['entropy'].share, 3)} and "
        f"{short(lengths['default'].share, 3)} of prevalence, which is "
        f"{lengths['entropy'].log_odds:.2f} and {lengths['default'].log_odds:.2f} in log-odds. A "
        "constant that knows each survey's prevalence, and nothing of its sites, has "
        f"{short(known)}{lesson}."
    )


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table."""
    sides = " | ".join("---" if name in WORDS else "---:" for name in head)
    lines = ["| " + " | ".join(head) + " |", f"| {sides} |"]
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in rows)])


def short(value: float, digits: int = 4) -> str:
    """Write a share without its leading zero.

    Examples
    --------
    >>> short(0.7583), short(-0.0012), short(1.5, 2)
    ('.7583', '-.0012', '1.50')
    """
    text = f"{value:.{digits}f}"
    return text.replace("0.", ".", 1) if abs(value) < 1 and text.lstrip("-") != "1" else text


def _claims(runs: Runs) -> str:
    rows = [[each.says, each.found, f"**{each.verdict}**"] for each in claims(runs)]
    return table(["claim of the paper", "found here", "verdict"], rows)


def _aucs(runs: Runs) -> str:
    regions, rival = fact(runs, "region"), fact(runs, "rival_auc").astype(np.float64)
    rows = []

    def add(name: str, paper: str, values: Array) -> None:
        mean, apart = mean_of(values, regions), mean_of(values - rival, regions)
        each = by_region(values, regions)
        rows.append(
            [
                name,
                paper,
                f"{short(mean.value)} ({short(mean.error)}; {short(mean.regions)})",
                *(short(each[r]) if r in each else "" for r in REGIONS),
                f"{apart.value:+.4f} ({short(apart.error)}; {short(apart.regions)})",
            ]
        )

    add(RIVAL, "", rival)
    for method in MAXENTS:
        add(method, short(AUC_MAXENT), scores(runs, method, "auc"))
    for method in MAXENTS:
        add(f"{method}, NSW pooled", short(AUC_MAXENT), scores(runs, method, "auc", True))
    for width in WIDTHS:
        held = scores(runs, robust_at(width), "auc")
        means = held.mean(axis=0)
        places = (means.argmin(), means.argmax())
        for word, place, paper in zip(("least", "greatest"), places, AUC_ROBUST, strict=True):
            name = f"{robust_at(width)}, {word} (default {DEFAULTS[place]:g})"
            add(name, short(paper), held[:, place])
    add(TREES, short(AUC_TREES), scores(runs, TREES, "auc"))
    return table(["method", "paper", "all", *REGIONS, f"difference to {RIVAL}"], rows)


def _sizes(runs: Runs) -> str:
    presences, rival = fact(runs, "presences"), fact(runs, "rival_auc")
    rows = []
    for low, high in SIZES:
        own = (presences >= low) & (presences < high)
        if own.any():
            name = f"{low} to {high - 1}" if high < 10**9 else f"{low} and more"
            row = [name, str(own.sum()), short(float(rival[own].mean()))]
            for method in (*MAXENTS, TREES):
                row.append(short(float(scores(runs, method, "auc")[own].mean())))
            rows.append(row)
    return table(["presences", "species", RIVAL, *MAXENTS, TREES], rows)


def _widths(runs: Runs) -> str:
    regions = fact(runs, "region")
    gained = {by: gains(runs, by) for by in TUNED}
    chosen = {by: scores(runs, name, "width") for by, name in TUNED.items()}
    rows = []
    for place, width in enumerate(CANDIDATES):
        held = maxent_at(width)
        values = left_out(scores(runs, held, "entropy"), regions)[0]
        row = [f"{width:g}"]
        for by in TUNED:
            mark = "**" if width == shared_width(runs, by) else ""
            row.append(f"{mark}{gained[by][place]:.4f}{mark}")
            row.append(str(int((chosen[by] == width).sum())))
        row.append(short(float(scores(runs, held, "auc").mean())))
        row.append(short(float(values.mean())))
        rows.append([*row, short(float(scores(runs, held, "oracle").mean()))])
    head = ["width_scale"]
    for by in TUNED:
        head += [f"gain by {by}", "species that choose it"]
    head += ["AUC", "log loss, entropy, other regions' default", "log loss, oracle-weighted"]
    return (
        "Gain: mean log density of held-out presences over the pool's, in nats. The best in bold "
        "would be the one width for all species, chosen without any survey; the tuned settings "
        "let each species choose.\n\n" + table(head, rows)
    )


def _losses(runs: Runs) -> str:
    regions = fact(runs, "region")
    half = DEFAULTS.index(0.5)
    rows = []
    for scheme, held in every_scheme().items():
        losses = scores(runs, *held)
        default, least = best(losses.mean(axis=0))
        values, chosen = left_out(losses, regions)
        mean = mean_of(values, regions)
        rows.append(
            [
                scheme,
                f"{short(least)} at {short(default, 2)}",
                f"{short(mean.value)} ({short(mean.error)}; {short(mean.regions)})",
                f"{short(min(chosen.values()), 2)} to {short(max(chosen.values()), 2)}",
                short(float(losses[:, half].mean())),
            ]
        )
    for method in MAXENTS:
        for weighting in ("entropy", "default"):
            losses = scores(runs, method, weighting, True)
            default, least = best(losses.mean(axis=0))
            values, chosen = left_out(losses, regions)
            mean = mean_of(values, regions)
            rows.append(
                [
                    f"{method}, {weighting}, NSW pooled",
                    f"{short(least)} at {short(default, 2)}",
                    f"{short(mean.value)} ({short(mean.error)}; {short(mean.regions)})",
                    f"{short(min(chosen.values()), 2)} to {short(max(chosen.values()), 2)}",
                    short(float(losses[:, half].mean())),
                ]
            )
    head = ["weighting", "best default on test", "default chosen on other regions",
            "those defaults", "default .5"]  # fmt: skip
    return table(head, rows)


def _known(runs: Runs) -> str:
    regions = fact(runs, "region")
    parts = []
    for method in (*MAXENTS, TREES):
        mean = mean_of(scores(runs, method, "oracle"), regions)
        parts.append(f"{method} {short(mean.value)} ({short(mean.error)}; {short(mean.regions)})")
    mean = mean_of(constant(runs), regions)
    return (
        "With each survey's prevalence known: the constant "
        f"{short(mean.value)} ({short(mean.error)}; {short(mean.regions)}); weighted by it: "
        f"{', '.join(parts)}."
    )


def _curve(runs: Runs) -> str:
    rows = []
    for scheme, held in every_scheme().items():
        means = scores(runs, *held).mean(axis=0)
        least = int(means.argmin())
        cells = [short(float(v), 3) for v in means]
        cells[least] = f"**{cells[least]}**"
        rows.append([scheme, *cells])
    return table(["weighting", *(short(d, 3) for d in DEFAULTS)], rows)


def _bins(runs: Runs) -> str:
    held = members(fact(runs, "prevalence").astype(np.float64))
    oracle, known = scores(runs, maxent_at(MAIN), "oracle"), constant(runs)
    rows = []
    for panel, curves in panels(runs, list(SCHEMES)).items():
        for scheme, curve in curves.items():
            default, least = best(curve)
            found = breadth(curve)
            cut = " (sweep ends)" if found.cut else ""
            rows.append(
                [
                    panel,
                    scheme,
                    short(least),
                    short(default, 3),
                    f"{short(found.low, 3)} to {short(found.high, 3)}{cut}",
                    short(found.share, 3),
                    f"{found.log_odds:.2f}",
                ]
            )
        own = held[panel]
        rows.append([panel, "oracle-weighted; constant",
                     f"{short(float(oracle[own].mean()))}; {short(float(known[own].mean()))}",
                     "", "", "", ""])  # fmt: skip
    head = ["test prevalence", "weighting", "least loss", "its default",
            f"defaults within {NEAR:.0%}", "length", "length in log-odds"]  # fmt: skip
    return table(head, rows)


def _time(runs: Runs) -> str:
    lines = []
    timing = runs["timing"]
    if timing:
        lines.append(
            f"All {timing['fits']} hinge fits at width {MAIN:g}, duality gap at most "
            f"{timing['gap']:.1g}: {timing['wall']:.1f} s wall in two new processes with their "
            f"start and the reading of files, {timing['fit_cpu']:.1f} CPU s for the fits "
            f"(slowest {timing['slowest']:.2f} s), at most {timing['peak_mb']:.0f} MB per process."
        )
    rows = []
    for reading, label in (("shipped", "groups as shipped"), ("pooled", "NSW pooled")):
        spent = runs["seconds"].get(reading, {})
        for part in (part for part in PARTS if part in spent):
            rows.append([f"{part}, {label}", f"{spent[part]:.0f}"])
    total = sum(sum(each.values()) for each in runs["seconds"].values())
    rows.append(
        ["all, about this many minutes in two processes: " + f"{total / 120:.1f}", f"{total:.0f}"]
    )
    lines.append(table(["work", "CPU s"], rows))
    gap = max(float(scores(runs, m, "gap").max()) for m in (*MAXENTS, *map(robust_at, WIDTHS)))
    unproven = sum(float(scores(runs, robust_at(w), "without_gap").sum()) for w in WIDTHS)
    lines.append(
        f"Largest duality gap of any fit that has one: {gap:.1g}. Class-robust fits without one: "
        f"{unproven:.0f} of {len(runs['facts']) * len(DEFAULTS) * len(WIDTHS)}."
    )
    return "\n\n".join(lines)
