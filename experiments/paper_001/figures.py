"""Figures 1 and 2 of paper 001, drawn from our own losses and our own synthetic results.

    canonical loss of an event = A(v) - v + E V,  of a non-event = A(v);  A' = inverse link
                                                                         (001 section 3.1, eq 3)
A(v) - v alone is the loss up to a constant; E V = (Gamma(1 - shape) - 1) / shape makes it 0 at the
sure prediction, as in the paper's figure. It is finite for shapes below 1 only. Fits nothing.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
from scipy.special import gamma

from experiments.paper_001.jobs import DESIGNS, EVERY, SIZES
from experiments.paper_001.methods import CONSTANT
from experiments.paper_001.tables import Cells, case_name, mean_and_error
from scarce.linear.losses import loss_of

SHAPES = (-0.9, -0.2567, 0.0, 0.5)
PLAIN = ("logistic", "probit", "cloglog")
COLOURS, OUTCOMES = ("#d55e00", "#0072b2"), ("event", "no event")
STYLES = {
    "logistic": ("#0072b2", "o", "-"),
    "probit": ("#56b4e9", "s", "-"),
    "cloglog": ("#009e73", "^", "-"),
    "undersampled": ("#999999", "v", "--"),
    "weighted": ("#cc79a7", "D", "--"),
    "gev-log": ("#e69f00", "P", "-"),
    "gev-canonical": ("#d55e00", "*", "-"),
    CONSTANT: ("black", "", ":"),
}
SIZE = {"dpi": 90, "metadata": {"Software": None}}


def partial_losses(name: str, shape: float | None, score: Any) -> tuple[Any, Any]:
    """Return the loss of an event and of a non-event at each score, 0 at the sure prediction.

    Examples
    --------
    >>> event, other = partial_losses("gev-canonical", 0.5, np.array([1e6, -3.0]))
    >>> event[0] < 0.01, other[1]
    (np.True_, np.float64(0.0))
    """
    loss = loss_of(name, shape)
    ones, zeros = np.ones_like(score), np.zeros_like(score)
    with np.errstate(over="ignore"):
        event, other = loss.value(ones, score), loss.value(zeros, score)
    return (event + _mean(shape) if name == "gev-canonical" else event), other


def _mean(shape: float | None) -> float:
    """Return the mean of the GEV law, which is finite for shapes below 1."""
    return float(np.euler_gamma if not shape else (gamma(1.0 - shape) - 1.0) / shape)


def draw_losses(path: Path) -> None:
    """Draw Figure 1: partial losses of each composite loss."""
    plt = _pyplot()
    panels: list[list[tuple[str, float | None]]] = [
        [(name, None) for name in PLAIN],
        [("gev-log", shape) for shape in SHAPES],
        [("gev-canonical", shape) for shape in SHAPES],
    ]
    figure, axes = plt.subplots(3, 4, figsize=(9.5, 6.6), sharex=True, sharey=True)
    score = np.linspace(-20.0, 20.0, 2001)
    for row, held in zip(axes, panels, strict=True):
        for ax, (name, shape) in zip(row, held, strict=False):
            event, other = partial_losses(name, shape, score)
            link = loss_of(name, shape).link
            inside = (score > link.support[0]) & (score < link.support[1])
            for values, color, label in (
                (event, "#d55e00", "event"),
                (other, "#0072b2", "no event"),
            ):
                held_inside = np.where(inside & np.isfinite(values), values, np.nan)
                ax.plot(score, held_inside, color=color, label=label, lw=1.6)
            ax.set_title(name if shape is None else f"{name}, shape {shape:g}", fontsize=9)
            ax.set_ylim(0.0, 4.0)
            ax.grid(alpha=0.3)
    axes[0, 3].axis("off")
    handles, labels = axes[0, 0].get_legend_handles_labels()
    axes[0, 3].legend(handles, labels, loc="center", frameon=False, title="loss of")
    figure.supxlabel("score")
    figure.supylabel("loss")
    figure.tight_layout()
    figure.savefig(path, **SIZE)
    plt.close(figure)


def draw_errors(cells: Cells, path: Path) -> None:
    """Draw Figure 2: distance from the true probability against training rows."""
    plt = _pyplot()
    figure, axes = plt.subplots(1, len(DESIGNS), figsize=(11.0, 4.2))
    for ax, design in zip(axes, DESIGNS, strict=True):
        for method in EVERY:
            rows = [cells[case_name(design, n)][method]["rmse"] for n in SIZES]
            mean, error = np.array([mean_and_error(row) for row in rows]).T
            color, marker, line = STYLES[method]
            ax.errorbar(
                SIZES, mean, yerr=error, color=color, marker=marker, ls=line, ms=5, lw=1.4,
                label="constant share" if method == CONSTANT else method,
            )  # fmt: skip
        ax.set_xscale("log")
        ax.set_xticks(SIZES, [f"{n // 1000}k" for n in SIZES])
        ax.minorticks_off()
        ax.set_title(f"{design} (our reading)", fontsize=10)
        ax.set_xlabel("training rows")
        ax.grid(alpha=0.3)
    axes[0].set_ylabel("RMSE to the true probability")
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, loc="lower center", ncol=8, frameon=False, fontsize=8.5)
    figure.tight_layout(rect=(0, 0.07, 1, 1))
    figure.savefig(path, **SIZE)
    plt.close(figure)


def _pyplot() -> Any:
    import matplotlib

    matplotlib.use("Agg")
    import matplotlib.pyplot as plt

    return plt
