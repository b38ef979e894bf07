"""The frame of a picture: what does every Display do before it draws, and after?

Axes (those given, or new ones), series that differ in dashes and markers as well as in colour,
bands, axes in percent, a legend, and what to say where matplotlib is not installed. Colours are
those of Okabe and Ito, told apart with every common colour vision. Assumes that a series drawn
through `Frame.line` or `Frame.take` counts, so that the next one on the same axes looks different.
What users name goes through words.py. Draws no result of its own: see the Displays.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.errors import ScarceError, UsageError
from scarce.plots.words import shown, wrap

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#8C6D00")
DASHES = ("-", (0, (7, 2)), (0, (7, 2, 1.5, 2)), (0, (1.5, 1.2)), (0, (3, 1.2, 1, 1.2, 1, 1.2)))
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "0.4"
SERIES = "scarce-series"  # mark of what counts as a series on its axes
ALONE = "scarce-alone"  # mark of a picture that shares its axes with no other
SHARED = "scarce-legend"  # mark of a legend under several panels
LETTER = 0.07  # width of a letter of a legend, in inches


LEGEND: dict[str, Any] = {"fontsize": "small", "framealpha": 0.85, "edgecolor": "none"}


class NoPictures(ScarceError, ImportError):
    """Pictures were asked for, and matplotlib is not installed."""


def pyplot() -> Any:
    """Return matplotlib.pyplot, or say what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise NoPictures(
            f"Pictures need matplotlib, which cannot be imported here ({missing}). "
            "Run: pip install 'scarce[plot]'"
        ) from None
    return plt


class Frame:
    """Axes on which one Display draws.

    Parameters
    ----------
    ax : matplotlib axes
    own : bool
        Whether the axes were made for this Display.
    letters : int, optional
        Length of a line in the legend; by default what leaves room beside it on the axes.

    Attributes
    ----------
    fresh : bool
        Nothing was drawn on the axes before: what all series share is drawn now, and only now.
    """

    def __init__(self, ax: Any, *, own: bool, letters: int | None = None) -> None:
        self.ax, self.own = ax, own
        self.fresh = not ax.has_data()
        wide = ax.bbox.width / ax.figure.dpi / LETTER
        self.letters = int(np.clip(0.6 * wide, 16, 44)) if letters is None else letters

    def take(self, style: dict[str, Any], *, of: str = "line") -> dict[str, Any]:
        """Return the look of the next series; what the user gave goes first.

        Parameters
        ----------
        style : dict
            As for `Axes.plot`; short names (c, ls, lw) are understood.
        of : {"line", "points"}
            Points differ in their markers, lines in dashes and, from the second on, markers.
        """
        from matplotlib import cbook
        from matplotlib.lines import Line2D

        given = cbook.normalize_kwargs(style, Line2D)
        turn = sum(one.get_gid() == SERIES for one in self.ax.get_children())
        look: dict[str, Any] = {"color": COLOURS[turn % len(COLOURS)], "gid": SERIES}
        if of == "points":
            look |= {"marker": MARKERS[turn % len(MARKERS)], "linestyle": "", "markersize": 5}
        else:
            look |= {"linestyle": DASHES[turn % len(DASHES)], "linewidth": 1.8}
            if turn:  # a few markers, away from each other's
                look |= {"marker": MARKERS[turn % len(MARKERS)], "markersize": 4.5}
                look |= {"markevery": (0.03 * turn, 0.15)}
        return {**look, **given}

    def line(self, x: Any, y: Any, *, label: str, **style: Any) -> Any:
        """Draw a series as a line, in the next look, and return the line."""
        (line,) = self.ax.plot(x, y, label=self.named(label), **self.take(style))
        return line

    def beside(self, x: Any, y: Any, *, label: str, **style: Any) -> Any:
        """Draw a thin grey line that others are measured by: dashed, unless told otherwise."""
        drawn = {"color": GREY, "linestyle": "--", "linewidth": 1.0, **style}
        (line,) = self.ax.plot(x, y, label=self.once(self.words(label)), **drawn)
        return line

    def band(
        self,
        x: Any,
        low: Any,
        high: Any,
        *,
        level: float,
        color: Any,
        whole: bool = False,
        **style: Any,
    ) -> Any:
        """Draw an interval along a line; the legend explains it once."""
        words = f"{percent(level)} band" + (", whole curve" if whole else "")
        drawn = {"color": color, "alpha": 0.18, "linewidth": 0, **style}
        return self.ax.fill_between(x, low, high, label=self.once(words), **drawn)

    def once(self, label: str) -> str:
        """Return a label, hidden from the legend where it stands there already."""
        known = self.ax.get_legend_handles_labels()[1]
        return f"_{label}" if label in known else label

    def words(self, text: str) -> str:
        """Return a text of the legend that shows as it is, on a few lines where it is long."""
        return shown(wrap(text, self.letters))

    def named(self, name: str) -> str:
        """Return the legend's name of the next series, with a number where it is taken already."""
        known = self.ax.get_legend_handles_labels()[1]
        label, turn = self.words(name), 1
        while name and label in known:
            turn += 1
            label = f"{self.words(name)} ({turn})"
        return label

    def title(self, text: str, *, below: str = "") -> None:
        """Write a title, on as many lines as its axes are narrow; and a line of ours below it."""
        wide = self.ax.bbox.width / self.ax.figure.dpi / (1.2 * LETTER)
        lines = [wrap(text, max(int(wide), 16)), below]
        self.ax.set_title("\n".join(filter(None, lines)), fontsize="medium")

    def alone(self, kind: str) -> None:
        """Refuse axes that hold a picture already, for one that would hide it."""
        marks = {one.get_gid() for one in self.ax.get_children()}
        if marks & {SERIES, ALONE}:
            raise UsageError(
                f"These axes hold a picture already, and a {kind} on top of it would hide it: give "
                "each one axes of its own, such as the two of plt.subplots(1, 2)[1]."
            )

    def highest(self, top: float) -> float:
        """Return the upper limit that holds what is drawn now and what was before."""
        return top if self.fresh else max(top, float(self.ax.get_ylim()[1]))

    def close(self, *, legend: bool | dict[str, Any] = True, grid: str = "both") -> None:
        """Draw grid and legend."""
        if grid:
            self.ax.grid(color="0.92", axis=grid)
        self.ax.set_axisbelow(True)
        if legend and self.ax.get_legend_handles_labels()[1]:
            more = legend if isinstance(legend, dict) else {}
            self.ax.legend(**{**LEGEND, "handlelength": 2.8, **more})


@contextmanager
def framed(display: Any, ax: Any, size: tuple[float, float]) -> Iterator[Frame]:
    """Give a Display its frame, and set its `ax_` and `figure_`.

    A figure that was made here is closed again if drawing fails, so that none is left over.
    """
    plt = pyplot()
    own = ax is None
    if own:
        _, ax = plt.subplots(figsize=size, layout="constrained")
    try:
        yield Frame(check_axes(ax), own=own)
    except BaseException:
        if own:
            plt.close(ax.figure)
        raise
    display.ax_, display.figure_ = ax, ax.figure


@contextmanager
def framed_grid(
    display: Any, ax: Any, n: int, size: tuple[float, float], columns: int, *, share_y: bool
) -> Iterator[list[Frame]]:
    """Give a Display of several panels their frames; sets `axes_`, `ax_` and `figure_`.

    Parameters
    ----------
    ax : sequence of matplotlib axes, or None
        One for each panel, in order.
    size : (width, height)
        Of one panel, in inches.
    columns : int
        Most panels side by side.
    """
    plt = pyplot()
    figure = None
    if ax is None:
        down = -(-n // columns)
        across = -(-n // down)  # 4 panels are 2 by 2, not 3 and 1
        figure, grid = plt.subplots(
            down,
            across,
            figsize=(size[0] * across, size[1] * down),
            squeeze=False,
            sharey=share_y,
            layout="constrained",
        )
        panels: NDArray[Any] = grid.ravel()
        for left_over in panels[n:]:
            left_over.remove()
        panels = panels[:n]
    else:
        panels = np.array(ax, dtype=object).ravel()
        if len(panels) != n:
            raise UsageError(
                f"ax holds {len(panels)} axes, and this picture has {n} panels: pass {n} of them, "
                f"such as plt.subplots(1, {n})[1], or none."
            )
    try:
        own = figure is not None
        yield [Frame(check_axes(one), own=own, letters=44 if own else None) for one in panels]
    except BaseException:
        if figure is not None:
            plt.close(figure)
        raise
    display.axes_, display.ax_, display.figure_ = panels, panels[0], panels[0].figure


def shared_legend(frames: Sequence[Frame]) -> None:
    """Draw one legend for all panels: under them where the figure is ours, else on the fullest."""
    fullest = max(frames, key=lambda one: len(one.ax.get_legend_handles_labels()[1]))
    figure = fullest.ax.figure
    before = [one for one in figure.legends if one.get_gid() == SHARED]
    if not fullest.own and not before:
        fullest.close(legend={"fontsize": "x-small"})
        return
    for one in before:  # of the Display that made the panels: one legend for both
        one.remove()
    handles, labels = fullest.ax.get_legend_handles_labels()
    longest = max(len(line) for label in labels for line in label.split("\n"))
    fit = max(1, int(figure.get_figwidth() / (0.75 + 0.075 * longest)))
    look = {"fontsize": "small", "frameon": False, "handlelength": 2.8}
    columns = min(fit, len(labels))
    drawn = figure.legend(handles, labels, loc="outside lower center", ncols=columns, **look)
    drawn.set_gid(SHARED)


def legend_off(ax: Any, handles: list[Any], labels: list[str], points: Any) -> None:
    """Draw a legend in a corner that hides none of some points, or else above the axes.

    Parameters
    ----------
    points : array of shape (n, 2)
        In the units of the axes.
    """
    held = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    held = held[np.isfinite(held).all(axis=1)]
    for corner in ("upper left", "lower right"):  # off the diagonal
        legend = ax.legend(handles, labels, loc=corner, **LEGEND)
        ax.figure.draw_without_rendering()  # now it has its place
        places, box = ax.transData.transform(held), legend.get_window_extent().padded(4.0)
        inside = (places >= [box.x0, box.y0]) & (places <= [box.x1, box.y1])
        if not inside.all(axis=1).any():
            return
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2, **LEGEND}
    ax.legend(handles, labels, **{**above, "fontsize": "x-small"})


def check_axes(ax: Any) -> Any:
    """Refuse what cannot be drawn on."""
    if not hasattr(ax, "get_legend_handles_labels"):
        raise UsageError(
            f"ax is of the type {type(ax).__name__}, and pictures are drawn on matplotlib axes: "
            "pass one, such as plt.subplots()[1], or leave ax out."
        )
    return ax


def percent(share: float) -> str:
    """Write a share in percent.

    Examples
    --------
    >>> percent(0.9), percent(0.001)
    ('90 %', '0.1 %')
    """
    return f"{100 * share:.6g} %"


def in_percent(*axes: Any) -> None:
    """Write the ticks of some axes in percent."""
    for axis in axes:
        axis.set_major_formatter(lambda share, _: percent(share))
