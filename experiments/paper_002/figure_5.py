"""Figure 5 of paper 002, drawn from our own run: histograms with the fitted laws, and curves.

Left of each pair: scores, events among them, the fitted parts of the mixture and the threshold.
Right: precision against recall, as counted, by the fitted laws, and by posterior labels; a cross
marks the operating point. Fits nothing.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper_002.figures import BLUE, RED, pyplot, save
from experiments.paper_002.methods import FIVE, PAPER, floats
from experiments.paper_002.tables import Cells

LAWS = {PAPER: (BLUE, ":", "paper's fit"), FIVE: (RED, "-", "ours, five families")}


def draw_sets(cells: Cells, names: Sequence[str], path: Path, *, pairs: int = 1) -> None:
    """Draw a histogram and the curves of each score, `pairs` of them in a row."""
    plt = pyplot()
    rows = -(-len(names) // pairs)
    figure, axes = plt.subplots(
        rows, 2 * pairs, figsize=(5.0 * 2 * pairs / (1 + 0.3 * (pairs > 1)), 3.1 * rows),
        squeeze=False,
    )  # fmt: skip
    for ax in axes.flat[2 * len(names) :]:
        ax.axis("off")
    for k, name in enumerate(names):
        left, right = axes.flat[2 * k], axes.flat[2 * k + 1]
        _histogram(left, cells["sets"][name], name)
        _curves(right, cells["sets"][name])
    handles, labels = [], []
    for ax in axes.flat[:2]:
        more = ax.get_legend_handles_labels()
        handles += more[0]
        labels += more[1]
    figure.legend(handles, labels, loc="lower center", ncol=4, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.6 / figure.get_figheight(), 1, 1))
    save(figure, path)


def _histogram(ax: Any, found: dict[str, Any], name: str) -> None:
    bars = found["histogram"]
    low, high = floats(bars["range"])
    edges = np.linspace(low, high, len(bars["all"]) + 1)
    width = edges[1] - edges[0]
    ax.stairs(bars["all"], edges, fill=True, color="#dddddd", label="scores")
    ax.stairs(
        bars["events"], edges, color="black", hatch="////", fill=False, lw=0.8, label="events"
    )
    at = np.linspace(low, high, len(found["methods"][PAPER]["densities"][0]))
    for method, (color, line, label) in LAWS.items():
        for part, density in enumerate(found["methods"][method]["densities"]):
            expected = floats(density) * found["rows"] * width
            ax.plot(at, expected, color=color, ls=line, lw=1.6, label=None if part else label)
    ax.axvline(found["threshold"], color="black", ls="--", lw=1, label="threshold")
    ax.set_yscale("log")
    ax.minorticks_off()
    ax.set_ylim(0.1, 2.5 * max(bars["all"]))
    ax.set_title(
        f"{name}: {found['positives']:,} of {found['rows']:,}, {found['hits']} above", fontsize=9
    )
    ax.set_xlabel("score", fontsize=8)
    ax.set_ylabel("scores per bar", fontsize=8)
    ax.tick_params(labelsize=8)


def _curves(ax: Any, found: dict[str, Any]) -> None:
    ax.plot(*(floats(v) for v in found["true curve"]), color="black", lw=2.2, label="counted")
    marks = {"model curve": ("", "by the laws"), "posterior curve": ("o", "by posterior labels")}
    for method, (color, line, label) in LAWS.items():
        for kind, (marker, by) in marks.items():
            recall, precision = (floats(v) for v in found["methods"][method][kind])
            ax.plot(
                recall, precision, color=color, ls=line, marker=marker, ms=3.5, markevery=6, lw=1.3,
                label=f"{label}, {by}",
            )  # fmt: skip
    ax.plot(
        found["recall"], found["precision"], "x", color="black", ms=10, mew=2.2, ls="",
        label="operating point",
    )  # fmt: skip
    ax.set_xlim(-0.02, 1.02)
    ax.set_ylim(-0.02, 1.05)
    ax.grid(alpha=0.3)
    ax.set_xlabel("recall", fontsize=8)
    ax.set_ylabel("precision", fontsize=8)
    ax.tick_params(labelsize=8)
