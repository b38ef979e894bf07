"""The page that a full run writes: verdicts, tables and figures, all from the stored cells.

Computes nothing but means, percentiles and errors.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

import numpy as np

from experiments.frame import Results
from experiments.paper_002 import words
from experiments.paper_002.claims import Claim, claims, marks
from experiments.paper_002.information import bound, recall_deviations
from experiments.paper_002.jobs import (
    ADAPTIVE,
    LABELS,
    PARAMETERS,
    TAIL,
    Design,
)
from experiments.paper_002.methods import (
    AUTO,
    BULK,
    LIKELIHOOD,
    MIXTURE,
    PAPER,
    floats,
)
from experiments.paper_002.printed import (
    BACKGROUNDS,
    RATE_4,
    RECALL_4,
    SERIES,
    SHARE_4,
)
from experiments.paper_002.sets import AUDIT, FITS
from experiments.paper_002.tables import (
    Cells,
    deviation,
    held,
    picked,
    summary,
    swapped,
    true_slope,
)

WORDS = ("set", "labels", "fit", "background", "sentence", "mark", "found", "verdict", "part")


def page_of(results: Results, cells: Cells) -> str:
    """Return results.md."""
    versions = ", ".join(f"{name} {version}" for name, version in results.versions.items())
    parts = [
        f"# {results.title}",
        f"`{results.command}`, seed {results.seed}; {versions}.",
        words.FITS,
        "## What our fit was to reach",
        _claims("mark", marks(cells)),
        "## What the paper says",
        _claims("sentence", claims(cells)),
        "## Figure 1: Fisher information",
        "![Fisher information](figure1.png)",
        words.FIGURE_1,
        _recall_deviations(),
        "## Figure 2: convergence",
        "![Convergence](figure2.png)",
        words.FIGURE_2,
        _convergence(cells),
        "## Figure 3: which background?",
        "![Picking the background](figure3.png)",
        words.FIGURE_3,
        _picks(cells),
        "## Figure 4: recall and dP/dR",
        "![By the paper's procedure](figure4_paper.png)",
        "![By ours](figure4_ours.png)",
        words.FIGURE_4,
        _default(cells),
        _others(cells),
        "## Slope in closed form",
        _slopes(cells),
    ]
    if "sets" in cells:
        parts += [
            "## Figure 5: real scores",
            "![Stand-ins](figure5_standins.png)",
            "![Real sets](figure5_sets.png)",
            words.FIGURE_5,
            _sets(cells),
            _errors(cells),
            _families(cells),
        ]
    parts += ["## CPU time", _seconds(cells)]
    return "\n\n".join(parts) + "\n"


def _table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    sides = " | ".join("---" if name in WORDS else "---:" for name in head)
    lines = ["| " + " | ".join(head) + " |", f"| {sides} |"]
    bars = ([text.replace("|", "\\|") for text in row] for row in rows)
    return "\n".join([*lines, *("| " + " | ".join(row) + " |" for row in bars)])


def _claims(what: str, held_: Sequence[Claim]) -> str:
    return _table(
        [what, "found", "verdict"], [[c.says, c.found, f"**{c.verdict}**"] for c in held_]
    )


def _recall_deviations() -> str:
    found = recall_deviations()
    return (
        "What that means for recall at the default design of Figure 4 (true recall .25, normal "
        "background): its standard deviation by the information is "
        + "; ".join(
            f"{labels} labels {alone:.3f} without cross terms, {joint:.3f} with them"
            for labels, (alone, joint) in found.items()
        )
        + "."
    )


def _convergence(cells: Cells) -> str:
    rows = []
    for case, found in cells["figure 2"].items():
        limits = bound(float(case))
        for fit, ends in found["fits"].items():
            cellsof = []
            for name, sd in zip(PARAMETERS, limits, strict=True):
                values = floats(ends[name])
                low, high = np.quantile(values, [0.05, 0.95])
                ratio = deviation(ends[name]).value / sd
                cellsof.append(f"{values.mean():.4g} [{low:.3g}, {high:.3g}]; {ratio:.2f}")
            rows.append([fit, case, f"{swapped(ends['share']).value:.1%}", *cellsof])
    steps = "; ".join(
        f"β = {case}: median {np.median(found['steps'][PAPER]):.0f} steps"
        for case, found in cells["figure 2"].items()
    )
    head = ["fit", "β", "exchanged", *PARAMETERS]
    return _table(head, rows) + f"\n\nThe paper's EM stops after: {steps}."


def _picks(cells: Cells) -> str:
    rows = []
    for background in BACKGROUNDS:
        for design in held(cells, background=background, labels=TAIL, rate=RATE_4):
            row = [background, f"{design.share:.3g}"]
            for labels in LABELS:
                other = design._replace(labels=labels)
                for method in (PAPER, BULK, LIKELIHOOD):
                    if labels == ADAPTIVE and method == BULK:
                        continue
                    shown = other in held(cells, labels=labels)
                    row.append(f"{picked(cells, other, method).value:.2f}" if shown else "")
            rows.append(row)
    head = ["background", "β"]
    for labels in LABELS:
        names = (PAPER, LIKELIHOOD) if labels == ADAPTIVE else (PAPER, BULK, LIKELIHOOD)
        head += [f"{labels}: {name}" for name in names]
    return _table(head, rows)


def _three(values: Sequence[float]) -> str:
    return " / ".join(_short(value) for value in values)


def _short(value: float) -> str:
    if np.isinf(value):
        return "-inf" if value < 0 else "inf"
    return f"{value:.3f}" if abs(value) < 10 else f"{value:.3g}"


def _default(cells: Cells) -> str:
    rows = []
    for background in BACKGROUNDS:
        for labels in LABELS:
            design = Design(background, labels, SHARE_4, RATE_4)
            if design not in held(cells):
                continue
            cell = cells["trials"][design.name]
            for method in cell["methods"]:
                s = summary(cells, design, method, RECALL_4)
                right = "background" in cell["methods"][method]
                rows.append(
                    [
                        background,
                        labels,
                        method,
                        str(s.trials),
                        _three(s.recall),
                        f"{s.rmse.value:.3f} ± {s.rmse.error:.3f}",
                        f"{s.realised_rmse.value:.3f}",
                        _three(s.slope),
                        f"{s.wrong_sign.value:.0%}",
                        f"{s.near.value:.0%}",
                        f"{picked(cells, design, method).value:.0%}" if right else "",
                        str(s.refused),
                        str(_no_start(cell["methods"][method])) if method == PAPER else "",
                    ]
                )
    true = "; ".join(
        f"{b} {true_slope(Design(b, TAIL, SHARE_4, RATE_4), RECALL_4):.3f}" for b in BACKGROUNDS
    )
    events = "; ".join(
        f"{design.background}, {design.labels} {np.mean(found):.1f} ({method})"
        for design in held(cells, share=SHARE_4, rate=RATE_4)
        for method, found in cells["trials"][design.name]["positives"].items()
        if method == LIKELIHOOD
    )
    head = ["background", "labels", "fit", "trials", "recall", "rmse", "rmse, own sample", "dP/dR",
            "wrong sign", "near", "family", "refused", "no start"]  # fmt: skip
    return (
        _table(head, rows)
        + f"\n\nTrue dP/dR: {true}. Labelled positives, mean of a trial: {events}."
    )


def _no_start(estimates: dict[str, Any]) -> int:
    starts: dict[str, int] = estimates["start"]
    return sum(starts.values()) - starts.get("paper", 0)


def _others(cells: Cells) -> str:
    """Root mean square error of recall at the other points of Figure 4."""
    rows = []
    shown = [(PAPER, labels) for labels in LABELS] + [(LIKELIHOOD, labels) for labels in LABELS]
    shown += [(MIXTURE, TAIL), (AUTO, TAIL)]
    for background in BACKGROUNDS:
        for design in held(cells, background=background, labels=TAIL):
            for level in sorted(design.levels):
                if design.default and level == RECALL_4:
                    continue
                row = [
                    background,
                    f"{design.share:.3g}",
                    f"1/{round(1 / design.rate)}",
                    f"{level:g}",
                ]
                for method, labels in shown:
                    other = design._replace(labels=labels)
                    if other not in held(cells, labels=labels):
                        row.append("")
                        continue
                    if method not in cells["trials"][other.name]["methods"]:
                        row.append("")
                        continue
                    s = summary(cells, other, method, level)
                    refused = f" ({s.refused})" if s.refused else ""
                    row.append("" if np.isnan(s.rmse.value) else f"{s.rmse.value:.3f}{refused}")
                rows.append(row)
    head = ["background", "β", "rate", "recall", *(f"{m}, {labels}" for m, labels in shown)]
    return "Rmse of recall at the other points (in brackets: trials without an estimate):\n\n" + (
        _table(head, rows)
    )


def _slopes(cells: Cells) -> str:
    rows = []
    for background, found in cells["slopes"].items():
        values = floats(found["chord"])
        exact = true_slope(Design(background, TAIL, SHARE_4, RATE_4), RECALL_4)
        error = values.std(ddof=1) / np.sqrt(values.size)
        rows.append([background, f"{exact:.4f}", f"{values.mean():.4f} ± {error:.4f}"])
    return _table(["background", "closed form", "counted over recall .225 to .275"], rows)


def _number(value: float | str | None) -> str:
    return "none" if value is None else _short(float(value))


def _sets(cells: Cells) -> str:
    rows = []
    for name, found in cells["sets"].items():
        methods = found["methods"]
        drawn = methods[AUDIT]
        values = floats([each["recall"] for each in drawn])
        audit = _short(float(np.nanmean(values))) if np.isfinite(values).any() else "none"
        holds = sum(
            float(each["low"]) <= found["recall"] + 1e-9
            and found["recall"] <= float(each["high"]) + 1e-9
            for each in drawn
            if each["low"] is not None and each["high"] is not None
        )
        auto = methods[AUTO]
        rows.append(
            [
                name,
                f"{found['positives']:,} of {found['rows']:,}",
                f"{found['labelled']} / {found['alerts']}",
                f"{found['hits']}",
                f"**{found['recall']:.3f}**",
                *(
                    f"{_number(methods[m]['recall'])}; {_number(methods[m]['posterior recall'])}"
                    for m in FITS
                ),
                f"{_number(auto['recall'])} [{_number(auto['low'])}, {_number(auto['high'])}]",
                f"{audit} [{_number(drawn[0]['low'])}, {_number(drawn[0]['high'])}]",
                f"{holds}",
            ]
        )
    head = ["set", "events", "labels / alerts", "seen", "true recall", "paper; posterior",
            "likelihood; posterior", "five families; posterior", "auto, tail", "auto, audit",
            "held"]  # fmt: skip
    return _table(head, rows)


def _errors(cells: Cells) -> str:
    """Mean distance of recall from the truth, over the scores with an event among the alerts."""
    found = {name: cell for name, cell in cells["sets"].items() if cell["hits"]}
    said = {
        method: {n: cell["methods"][method]["recall"] for n, cell in found.items()}
        for method in (*FITS, AUTO)
    }
    drawn = {n: floats([d["recall"] for d in cell["methods"][AUDIT]]) for n, cell in found.items()}
    apart = {
        method: np.array(
            [abs(float(v) - found[n]["recall"]) for n, v in values.items() if v is not None]
        )
        for method, values in said.items()
    }
    apart[AUDIT] = np.concatenate([np.abs(v - found[n]["recall"]) for n, v in drawn.items()])
    apart[AUDIT] = apart[AUDIT][~np.isnan(apart[AUDIT])]
    return (
        f"Distance of recall from the truth over the {len(found)} scores with an event among the "
        "alerts, mean and greatest: "
        + "; ".join(f"{method} {v.mean():.3f}, {v.max():.3f}" for method, v in apart.items())
        + "."
    )


def _families(cells: Cells) -> str:
    rows = []
    for name, found in cells["sets"].items():
        true = found["positives"] / found["rows"]
        printed = f"{SERIES[name].found_share:g}" if name in SERIES else ""
        rows.append(
            [name, f"{true:.4f}", printed]
            + [
                f"{_number(found['methods'][m]['share'])} ({found['methods'][m]['background']}"
                + (
                    ", our start)"
                    if m == PAPER and found["methods"][m]["start"] != "paper"
                    else ")"
                )
                for m in FITS
            ]
            + [_number(found["methods"][m]["slope"]) for m in FITS]
        )
    head = ["set", "true share", "printed by the paper", "paper", "likelihood", "five families",
            "dP/dR, paper", "dP/dR, likelihood", "dP/dR, five families"]  # fmt: skip
    return "Share of positives, background picked, and dP/dR at the threshold:\n\n" + _table(
        head, rows
    )


def _seconds(cells: Cells) -> str:
    rows = [
        [part, f"{sum(cell['seconds'] for cell in of_part.values()):.0f}"]
        for part, of_part in cells.items()
    ]
    return _table(["part", "CPU seconds"], rows)
