"""Figures 1 to 4 of paper 002, drawn from our own run. Fits nothing; Figure 5 is in figure_5.py.

Every curve has its own marker and dashes, so that no picture needs its colours. In Figure 4 a bar
goes from the 5th to the 95th percentile, and its marker is the median.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np

from experiments.paper_002.information import ALONE, DESIGNS, JOINT, PARAMETERS, SWEEPS
from experiments.paper_002.jobs import (
    ADAPTIVE,
    NO_PRIOR,
    RANDOM,
    TAIL,
    Design,
)
from experiments.paper_002.jobs import PARAMETERS as ESTIMATED
from experiments.paper_002.methods import (
    AUTO,
    BULK,
    LIKELIHOOD,
    PAPER,
    floats,
)
from experiments.paper_002.printed import BACKGROUNDS, MEANS, RATE_4, RECALL_4, SHARE_4
from experiments.paper_002.tables import Cells, held, picked, summary, true_slope
from scarce.datasets import LABELLED_SHARES

DPI = 76
COLOURS = 96  # of a stored picture: keeps it small
BLUE, RED, GREEN, PURPLE, GREY = "#0072b2", "#d55e00", "#009e73", "#7a4ea3", "#555555"
SIGNS = {
    "share": (r"$\beta$", BLUE, "o"),
    "mean 0": (r"$\mu_0$", GREEN, "s"),
    "variance 0": (r"$\sigma_0^2$", PURPLE, "D"),
    "mean 1": (r"$\mu_1$", RED, "^"),
    "variance 1": (r"$\sigma_1^2$", GREY, "v"),
}
AXES = {"share": "balance β", "rate": "labelling rate |L| / N"}


def pyplot() -> Any:
    """Return matplotlib.pyplot that needs no screen."""
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt


def save(figure: Any, path: Path) -> None:
    """Write a picture with few colours and no trace of the program that drew it."""
    from io import BytesIO

    from PIL import Image

    held_ = BytesIO()
    figure.savefig(held_, dpi=DPI, format="png")
    pyplot().close(figure)
    held_.seek(0)
    Image.open(held_).convert("RGB").quantize(COLOURS).save(path, optimize=True)


def draw_information(cells: Cells, path: Path) -> None:
    """Draw Figure 1: information about each parameter, alone and beside the unknown others."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(10.0, 8.2), sharex="col", sharey="row")
    titles = {
        ALONE: "others known (the paper's, eq 3-5)",
        JOINT: "others estimated too (with cross terms)",
    }
    for row, (kind, title) in zip(axes, titles.items(), strict=True):
        for ax, sweep in zip(row, SWEEPS, strict=True):
            found = cells["figure 1"][sweep]
            for name in PARAMETERS:
                sign, color, marker = SIGNS[name]
                for design, line in zip(DESIGNS, ("-", "--"), strict=True):
                    ax.plot(
                        found["x"], floats(found[design][kind][name]), color=color, ls=line, lw=1.3,
                        marker="x" if line == "--" else marker, ms=5,
                        label=sign if line == "-" else None,
                    )  # fmt: skip
            ax.set_xscale("log")
            ax.set_yscale("log")
            ax.minorticks_off()
            ax.grid(alpha=0.3)
            ax.set_title(title, fontsize=10)
    for ax, sweep in zip(axes[1], SWEEPS, strict=True):
        ax.set_xlabel(AXES[sweep])
    for ax in axes[:, 0]:
        ax.set_ylabel("Fisher information, N = 1,000,000")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    handles += [plt.Line2D([], [], color="black", ls=line, marker=m) for line, m in
                (("-", ""), ("--", "x"))]  # fmt: skip
    labels += ["labels at random", "as many labels of each class"]
    figure.legend(handles, labels, loc="lower center", ncol=7, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.04, 1, 1))
    save(figure, path)


def draw_convergence(cells: Cells, path: Path) -> None:
    """Draw Figure 2: the paper's EM step by step, and where our fit ends."""
    plt = pyplot()
    shares = list(cells["figure 2"])
    figure, axes = plt.subplots(
        len(ESTIMATED), len(shares), figsize=(9.5, 11.0), sharex=True, squeeze=False
    )
    for column, case in zip(axes.T, shares, strict=True):
        found = cells["figure 2"][case]
        at = np.array(found["at"], dtype=float) + 1.0
        walk = found["paths"][PAPER]
        truth = (float(case), MEANS[0], 1.0, MEANS[1], 1.0)
        for k, (ax, name) in enumerate(zip(column, ESTIMATED, strict=True)):
            low, mean, high = (floats([r[k] for r in walk[w]]) for w in ("0.05", "mean", "0.95"))
            ax.fill_between(at, low, high, color=BLUE, alpha=0.2, lw=0)
            ax.plot(at, mean, color=BLUE, marker="o", ms=3, lw=1.4, label="paper's EM, mean")
            ends = floats(found["fits"][NO_PRIOR][name])
            ax.errorbar(
                at[-1] * 2.2, ends.mean(), color=RED, marker="s", ms=6, capsize=4, lw=1.6, ls="",
                yerr=np.abs(np.quantile(ends, [[0.05], [0.95]]) - ends.mean()),
                label="our start, where it ends",
            )  # fmt: skip
            ax.axhline(truth[k], color="black", ls=":", lw=1.2, label="truth")
            ax.set_xscale("log")
            ax.minorticks_off()
            ax.grid(alpha=0.3)
            ax.set_ylabel(SIGNS[name][0], rotation=0, labelpad=14)
        column[0].set_title(f"β = {case}", fontsize=10)
        column[-1].set_xlabel("step of EM (1 = start)")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.03, 1, 1))
    save(figure, path)


PICKS = {PAPER: (BLUE, "o", ":"), BULK: (GREEN, "s", "--"), LIKELIHOOD: (RED, "^", "-")}
PICK_NAMES = {
    PAPER: "paper's start, KS distance",
    BULK: "our start, KS distance",
    LIKELIHOOD: "our start, likelihood",
}


def draw_picks(cells: Cells, path: Path) -> None:
    """Draw Figure 3: how often the true background is picked."""
    plt = pyplot()
    figure, axes = plt.subplots(2, 2, figsize=(9.0, 6.6), sharex=True, sharey=True)
    for row, background in zip(axes, BACKGROUNDS, strict=True):
        for ax, labels in zip(row, (TAIL, RANDOM), strict=True):
            found = held(cells, background=background, labels=labels, rate=RATE_4)
            for method, (color, marker, line) in PICKS.items():
                values = [picked(cells, design, method) for design in found]
                ax.errorbar(
                    [design.share for design in found], [v.value for v in values],
                    yerr=[v.error for v in values], color=color, marker=marker, ls=line, ms=5,
                    lw=1.4, capsize=2, label=PICK_NAMES[method],
                )  # fmt: skip
            ax.set_xscale("log")
            ax.minorticks_off()
            ax.set_ylim(0.0, 1.04)
            ax.grid(alpha=0.3)
            ax.set_title(f"{background} background, {labels} labels", fontsize=10)
    for ax in axes[1]:
        ax.set_xlabel(AXES["share"])
    for ax in axes[:, 0]:
        ax.set_ylabel("share that picks it")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=3, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.05, 1, 1))
    save(figure, path)


# method, labels -> name, colour, marker, dashes
Curves = dict[tuple[str, str], tuple[str, str, str, str]]
BY_PAPER: Curves = {
    (PAPER, TAIL): ("tail", BLUE, "o", "-"),
    (PAPER, RANDOM): ("random", RED, "^", "--"),
    (PAPER, ADAPTIVE): ("adaptive", GREEN, "s", ":"),
}
BY_US: Curves = {
    (LIKELIHOOD, TAIL): ("mixture, tail", BLUE, "o", "-"),
    (LIKELIHOOD, RANDOM): ("mixture, random", RED, "^", "--"),
    (LIKELIHOOD, ADAPTIVE): ("mixture, adaptive", GREEN, "s", ":"),
    (AUTO, TAIL): ("no background law (auto), tail", "black", "D", "-."),
}
SLOPES = (0.003, 300.0)  # of -dP/dR that the picture shows


def draw_performance(cells: Cells, curves: Curves, path: Path) -> None:
    """Draw Figure 4: percentiles of recall and dP/dR against balance, true recall and rate."""
    plt = pyplot()
    figure, axes = plt.subplots(4, 3, figsize=(12.5, 13.0), sharex="col")
    for block, background in zip((axes[:2], axes[2:]), BACKGROUNDS, strict=True):
        for column, (name, points) in enumerate(_points(cells, background).items()):
            top, bottom = block[0, column], block[1, column]
            x = [point[0] for point in points]
            top.plot(x, [level for _, _, level in points], color="black", lw=1, alpha=0.6)
            slopes = [-true_slope(design, level) for _, design, level in points]
            bottom.plot(x, slopes, color="black", lw=1, alpha=0.6, label="truth")
            for k, (key, style) in enumerate(curves.items()):
                _bars(cells, points, key, style, (top, bottom), k - (len(curves) - 1) / 2)
            top.set_ylim(-0.03, 1.03)
            bottom.set_yscale("log")
            bottom.set_ylim(SLOPES[0] / 1.6, SLOPES[1] * 1.6)
            for ax in (top, bottom):
                ax.set_xscale("linear" if name == "level" else "log", **_base(name))
                ax.minorticks_off()
                ax.grid(alpha=0.3)
            if name == "rate":
                bottom.set_xticks(x, [f"1/{round(1 / rate)}" for rate in x])
        block[0, 1].set_title(f"{background} background", fontsize=11)
        block[0, 0].set_ylabel("recall")
        block[1, 0].set_ylabel("-dP/dR; on the edge: 0, positive\nor beyond")
    for ax, label in zip(
        axes[3], (AXES["share"], "true recall at the threshold", AXES["rate"]), strict=True
    ):
        ax.set_xlabel(label)
    handles, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=5, frameon=False, fontsize=9)
    figure.tight_layout(rect=(0, 0.025, 1, 1))
    save(figure, path)


def _base(name: str) -> dict[str, Any]:
    return {"base": 2} if name == "rate" else {}


def _points(cells: Cells, background: str) -> dict[str, list[tuple[float, Design, float]]]:
    """Return the points of the three columns: place, design (labels filled in later), level."""
    found = held(cells, background=background, labels=TAIL)
    default = Design(background, TAIL, SHARE_4, RATE_4)
    return {
        "share": [(d.share, d, RECALL_4) for d in found if d.rate == RATE_4],
        "level": [(level, default, level) for level in sorted(default.levels)],
        "rate": [(rate, default._replace(rate=rate), RECALL_4) for rate in LABELLED_SHARES],
    }


def _bars(
    cells: Cells,
    points: list[tuple[float, Design, float]],
    key: tuple[str, str],
    style: tuple[str, str, str, str],
    axes: tuple[Any, Any],
    place: float,
) -> None:
    """Draw one method's medians, each with a bar between its percentiles, side by side."""
    method, labels = key
    name, color, marker, line = style
    x, recalls, slopes = [], [], []
    for at, of_tail, level in points:
        design = of_tail._replace(labels=labels)
        if design.name not in cells["trials"]:
            continue
        found = summary(cells, design, method, level)
        if 2 * found.refused > found.trials:
            continue  # what is left would be the lucky trials
        linear = len({point[1] for point in points}) == 1
        x.append(at + 0.008 * place if linear else at * 1.045**place)
        recalls.append(found.recall)
        slopes.append(tuple(np.clip(-np.array(found.slope), *SLOPES)[::-1]))
    for ax, values in zip(axes, (recalls, slopes) if x else (), strict=bool(x)):
        low, middle, high = np.array(values).T
        ax.errorbar(
            x, middle, yerr=[middle - low, high - middle], color=color, marker=marker, ls=line,
            ms=4.5, lw=1.1, elinewidth=1.1, capsize=2, label=name,
        )  # fmt: skip
