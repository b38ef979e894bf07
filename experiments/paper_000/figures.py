"""Figure 1 of paper 000 from our own fits: log loss by default prevalence, and how broad it is.

Top as in the paper: mean test log loss over the species of a bin of test prevalence. Middle as in
the paper: length of the range of defaults that reach a log loss, within the sweep. Bottom, ours:
the same range in log-odds, the scale on which both weightings are shifts. Fits nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import logit

from experiments.paper_000.jobs import DEFAULTS, maxent_at
from experiments.paper_000.methods import MAIN
from experiments.paper_000.species import Array
from experiments.paper_000.tables import (
    SCHEMES,
    Runs,
    constant,
    fact,
    members,
    panels,
    ranges,
    scores,
)

STYLES = {
    "maxent, entropy": ("#d55e00", "-"),
    "maxent, default": ("#0072b2", "-"),
    "class-robust": ("#009e73", "-"),
    "trees, entropy": ("#e69f00", "--"),
    "trees, default": ("#56b4e9", "--"),
}
TOP = ("maxent, entropy", "maxent, default")  # the paper's top row shows maxent only
ORACLE, CONSTANT = "maxent, oracle-weighted", "constant share of the survey"
LEVELS = 200
SWEEP = f"{DEFAULTS[0]:g}-{DEFAULTS[-1]:g}".replace("0.", ".")
SIZE = {"dpi": 80, "metadata": {"Software": None}}


def levels_of(curves: dict[str, Array]) -> Array:
    """Return the log losses of a panel's axis: from below the best to well above it.

    Examples
    --------
    >>> levels_of({"a": np.array([1.0, 2.0]), "b": np.array([3.0, 4.0])})[[0, -1]]
    array([0.97, 1.6 ])
    """
    least = min(float(curve.min()) for curve in curves.values())
    return np.linspace(0.97 * least, 1.6 * least, LEVELS)


def draw(runs: Runs, path: Path) -> None:
    """Draw the figure."""
    plt = _pyplot()
    curves = panels(runs, list(SCHEMES))
    held = members(fact(runs, "prevalence").astype(np.float64))
    figure, axes = plt.subplots(
        3, len(curves), figsize=(2.35 * len(curves) + 0.4, 7.6), squeeze=False
    )
    for column, (panel, found) in zip(axes.T, curves.items(), strict=True):
        own = held[panel]
        column[0].set_title(f"{panel}\n{own.sum()} species", fontsize=9)
        _draw_losses(column[0], found, runs, own)
        _draw_ranges(column[1], column[2], found)
        for ax in column:
            ax.grid(alpha=0.3)
            ax.tick_params(labelsize=7.5)
    axes[0, 0].set_ylabel("mean test log loss", fontsize=8.5)
    axes[1, 0].set_ylabel(f"range of defaults,\nprevalence (sweep {SWEEP})", fontsize=8.5)
    axes[2, 0].set_ylabel(f"range of defaults,\nlog-odds (sweep {SWEEP})", fontsize=8.5)
    handles, labels = axes[2, 0].get_legend_handles_labels()
    more = axes[0, 0].get_legend_handles_labels()
    for handle, label in zip(*more, strict=True):
        if label not in labels:
            handles.append(handle)
            labels.append(label)
    figure.legend(handles, labels, loc="lower center", ncol=7, frameon=False, fontsize=9)
    figure.suptitle("Species by test prevalence", fontsize=10)
    figure.tight_layout(rect=(0, 0.04, 1, 1), h_pad=0.6, w_pad=0.3)
    figure.savefig(path, **SIZE)
    plt.close(figure)


def _draw_losses(ax: Any, found: dict[str, Array], runs: Runs, own: Any) -> None:
    for scheme in TOP:
        color, line = STYLES[scheme]
        ax.plot(DEFAULTS, found[scheme], color=color, ls=line, lw=1.5, label=scheme)
    oracle = scores(runs, maxent_at(MAIN), "oracle")[own].mean()
    ax.axhline(oracle, color="#cc79a7", lw=1.2, ls="-.", label=ORACLE)
    ax.axhline(constant(runs)[own].mean(), color="black", lw=1.2, ls=":", label=CONSTANT)
    least = min(float(found[scheme].min()) for scheme in TOP)
    ax.set_ylim(0.8 * min(oracle, least), max(2.2 * least, 1.02 * least))
    ax.set_xlim(0.0, DEFAULTS[-1])
    ax.set_xlabel("default prevalence", fontsize=8)


def _draw_ranges(prevalence: Any, log_odds: Any, found: dict[str, Array]) -> None:
    levels = levels_of(found)
    for scheme, curve in found.items():
        color, line = STYLES[scheme]
        for ax, length in zip((prevalence, log_odds), ranges(curve, levels), strict=True):
            ax.plot(levels, length, color=color, ls=line, lw=1.4, label=scheme)
    log_odds.set_ylim(0.0, float(logit(DEFAULTS[-1]) - logit(DEFAULTS[0])))
    prevalence.set_ylim(0.0, DEFAULTS[-1])
    for ax in (prevalence, log_odds):
        ax.set_xlim(levels[0], levels[-1])
        ax.set_xlabel("mean test log loss reached", fontsize=8)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
