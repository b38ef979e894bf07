"""Figures 1 and 2 of paper 004, drawn from our own run. Fits nothing.

Figure 1 has CPU seconds of one fit, Figure 2 the log-likelihood of test draws against the number of
positives among the 100 incomplete rows, with two standard errors over data sets.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper_004.jobs import INCOMPLETE, MEANS, OURS, PANELS, PAPER, READINGS, SWEPT
from experiments.paper_004.printed import MEAN_ALL, MEAN_POSITIVE, MISSING
from experiments.paper_004.tables import Cells, difference

SIZE = {"dpi": 90, "metadata": {"Software": None}}
STYLES = {
    MISSING: ("#d55e00", "o", "-"),
    MEAN_ALL: ("#0072b2", "s", "--"),
    MEAN_POSITIVE: ("#009e73", "^", ":"),
    OURS: ("#d55e00", "o", "-"),
    PAPER: ("#999999", "v", "--"),
}
NAMES = {OURS: "MaxentClassifier", PAPER: "Algorithm 1, compiled"}
ACROSS: dict[str, tuple[str, Any]] = {
    "columns": ("columns, 1,000 places", lambda size: size[0]),
    "places": ("places, 20 columns", lambda size: size[1]),
    "both": ("columns and places", lambda size: size[0] * size[1]),
}


def draw_times(cells: Cells, path: Path) -> None:
    """Draw Figure 1: CPU seconds against columns, places, and both."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, 3, figsize=(10.5, 3.9), sharey=True)
    for ax, (panel, sizes) in zip(axes, PANELS.items(), strict=True):
        label, across = ACROSS[panel]
        x = [across(size) for size in sizes]
        for way in (OURS, PAPER):
            held = [cells["figure 1"][f"{k} x {n}"]["values"][way] for k, n in sizes]
            color, marker, line = STYLES[way]
            mean = [np.mean(v) for v in held]
            ax.plot(x, mean, color=color, marker=marker, ls=line, ms=5, lw=1.5, label=NAMES[way])
            ax.fill_between(
                x, [min(v) for v in held], [max(v) for v in held], color=color, alpha=0.15, lw=0
            )
        ax.set_xscale("log")
        ax.set_yscale("log")
        ax.set_xticks(x, [_tick(panel, size) for size in sizes])
        ax.minorticks_off()
        ax.set_xlabel(label)
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("CPU seconds of a fit")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=2, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.08, 1, 1))
    figure.savefig(path, **SIZE)
    plt.close(figure)


def _tick(panel: str, size: tuple[int, int]) -> str:
    columns, places = size
    if panel == "both":
        return f"{columns}\nx {places}"
    return str(columns if panel == "columns" else places)


def draw_likelihoods(cells: Cells, path: Path) -> None:
    """Draw Figure 2: log-likelihood, and the difference of each imputation from Missing."""
    plt = _pyplot()
    figure, axes = plt.subplots(2, len(SWEPT), figsize=(9.5, 6.4), sharex=True, sharey="row")
    for column, case in zip(axes.T, SWEPT, strict=True):
        values = cells["figure 2"][case]["values"]
        for method in MEANS:
            color, marker, line = STYLES[method]
            style = {"color": color, "marker": marker, "ls": line, "ms": 4, "lw": 1.5}
            rows = [values[f"{k}, {method}"] for k in INCOMPLETE]
            column[0].plot(INCOMPLETE, [np.mean(v) for v in rows], label=method, **style)
            apart = [
                difference(values[f"{k}, {MISSING}"], values[f"{k}, {method}"]) for k in INCOMPLETE
            ]
            column[1].errorbar(
                INCOMPLETE, [-d.mean for d in apart], yerr=[2 * d.error for d in apart], **style
            )
        column[0].set_title(f"coefficients of sd {READINGS[case]['coef_sd']:g}", fontsize=10)
        column[1].set_xlabel("positives among the 100 incomplete rows")
        for ax in column:
            ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("log-likelihood of 50 test draws")
    axes[1, 0].set_ylabel("less that of Missing, paired")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    figure.savefig(path, **SIZE)
    plt.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
