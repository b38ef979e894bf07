"""The matplotlib back end: draws pictures on given or new axes.

Series differ in dashes and markers as well as in colour. Several pictures may share axes, and
reference lines are then drawn once. The colours are those of Okabe and Ito, safe for colour-blind
readers. Computes no result: see picture.py and the Displays.
"""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import Argument, Phrase, ScarceError, UsageError, suggest
from scarce.plots.names import broken, fitted
from scarce.plots.picture import Array, Axis, Bars, Curves, Line, Mark, percent

COLOURS = ("#0072B2", "#D55E00", "#009E73", "#CC79A7", "#56B4E9", "#8C6D00")
DASHES = ("-", (0, (7, 2)), (0, (7, 2, 1.5, 2)), (0, (1.5, 1.2)), (0, (3, 1.2, 1, 1.2, 1, 1.2)))
DASH_OF = {"solid": "-", "dashed": "--", "dotted": ":", "dashdot": "-."}
MARKERS = ("o", "s", "^", "D", "v", "P")
GREY = "0.4"
SERIES = "scarce-series"  # gid of artists that count as a series on their axes
ALONE = "scarce-alone"  # gid of pictures that cannot share their axes
SHARED = "scarce-legend"  # gid of a legend under several panels
LETTER = 0.07  # width of a letter of a legend, in inches
REACH = 0.13  # half length of a tangent, relative to the side of the picture
DARKER = 0.55  # brightness of a mark relative to its line
LEGEND: dict[str, Any] = {"fontsize": "small", "framealpha": 0.85, "edgecolor": "none"}

Options = dict[str, Any]  # keyword arguments of matplotlib
Axes = Any  # matplotlib.axes.Axes; matplotlib is optional, so its types are not imported
Artist = Any  # matplotlib.artist.Artist
Colour = Any  # whatever matplotlib takes as a colour


class NoPictures(ScarceError, ImportError):
    """matplotlib is needed for a picture, but is not installed."""


def pyplot() -> Any:
    """Return matplotlib.pyplot, or raise an error that says what to install."""
    try:
        import matplotlib.pyplot as plt
    except ImportError as missing:
        raise NoPictures(
            "Pictures need matplotlib, which cannot be imported here ({reason}).",
            code="matplotlib-missing",
            reason=str(missing),
            remedy="Run: pip install 'scarce[plot]'",
        ) from None
    return plt


# --- text -----------------------------------------------------------------------------------------


def plain(text: object) -> str:
    r"""Escape dollar signs, which matplotlib would read as mathematics.

    Examples
    --------
    >>> print(plain("cost $5 and $6"))
    cost \$5 and \$6
    >>> plain(plain("$5")) == plain("$5")
    True
    """
    return re.sub(r"(?<!\\)\$", r"\\$", str(text))


def wrap(text: object, most: int, lines: int = 3) -> str:
    """Wrap a text to at most `lines` lines, cut at the end if it is longer.

    Examples
    --------
    >>> print(wrap("a name that is long enough for two lines", 24))
    a name that is long
    enough for two lines
    """
    return fit([text], most, lines)[0]


def fit(names: Sequence[object], most: int = 28, lines: int = 2) -> list[str]:
    """Wrap names; different names stay different.

    Line breaks within a name are kept.

    Examples
    --------
    >>> fit(["mean temperature of the wettest quarter", "rain"], 20)
    ['mean temperature of\\nthe wettest quarter', 'rain']
    """
    own = ["\n" in str(name) for name in names]
    short = fitted(names, most, lines)
    return [
        plain("\n".join(line for part in str(name).split("\n") for line in broken(part, most)))
        if kept
        else plain("\n".join(found))
        for name, kept, found in zip(names, own, short, strict=True)
    ]


# --- axes -----------------------------------------------------------------------------------------


class Frame:
    """The axes on which a Display draws.

    Parameters
    ----------
    ax : matplotlib axes
    own : bool
        Whether the axes were made for this Display.
    letters : int, optional
        Characters per line of the legend; by default set by the width of the axes.

    Attributes
    ----------
    fresh : bool
        The axes were empty, so reference lines must be drawn.
    """

    def __init__(self, ax: Axes, *, own: bool, letters: int | None = None) -> None:
        self.ax, self.own = ax, own
        self.fresh = not ax.has_data()
        wide = ax.bbox.width / ax.figure.dpi / LETTER
        self.letters = int(np.clip(0.6 * wide, 16, 44)) if letters is None else letters

    @property
    def turn(self) -> int:
        """Number of series on the axes."""
        return sum(one.get_gid() == SERIES for one in self.ax.get_children())

    def take(self, style: Options, *, of: str = "line") -> Options:
        """Return the style of the next series; the user's own settings take precedence.

        Parameters
        ----------
        style : dict
            As for `Axes.plot`; aliases (c, ls, lw) are allowed.
        of : {"line", "points"}
            Points differ in markers; lines in dashes and, from the second on, markers.
        """
        from matplotlib import cbook
        from matplotlib.lines import Line2D

        given = cbook.normalize_kwargs(style, Line2D)
        turn = self.turn
        look: Options = {"color": COLOURS[turn % len(COLOURS)], "gid": SERIES}
        if of == "points":
            look |= {"marker": MARKERS[turn % len(MARKERS)], "linestyle": "", "markersize": 5}
        else:
            look |= {"linestyle": DASHES[turn % len(DASHES)], "linewidth": 1.8}
            if turn:  # a few markers, at other places than those of the other lines
                look |= {"marker": MARKERS[turn % len(MARKERS)], "markersize": 4.5}
                look |= {"markevery": (0.03 * turn, 0.15)}
        return {**look, **given}

    def line(self, x: ArrayLike, y: ArrayLike, *, label: str, **style: Any) -> Artist:
        """Draw a series as a line in the next style, and return the line."""
        (line,) = self.ax.plot(x, y, label=self.named(label), **self.take(style))
        return line

    def beside(self, x: ArrayLike, y: ArrayLike, *, label: str, **style: Any) -> Artist:
        """Draw a thin reference line, grey and dashed by default."""
        drawn = {"color": GREY, "linestyle": "--", "linewidth": 1.0, **style}
        (line,) = self.ax.plot(x, y, label=self.once(self.words(label)), **drawn)
        return line

    def band(
        self,
        x: ArrayLike,
        low: ArrayLike,
        high: ArrayLike,
        *,
        label: str,
        color: Colour,
        **style: Any,
    ) -> Artist:
        """Draw an interval along a line, with one legend entry."""
        drawn = {"color": color, "alpha": 0.18, "linewidth": 0, **style}
        return self.ax.fill_between(x, low, high, label=self.once(label), **drawn)

    def once(self, label: str) -> str:
        """Return a label, hidden if the legend has it already."""
        known = self.ax.get_legend_handles_labels()[1]
        return f"_{label}" if label in known else label

    def words(self, text: str) -> str:
        """Return a legend text, wrapped if it is long."""
        told = wrap(text, self.letters)
        return f" {told}" if told.startswith("_") else told  # matplotlib hides what begins with _

    def named(self, name: str) -> str:
        """Return the legend text of the next series, numbered if it is taken already."""
        known = self.ax.get_legend_handles_labels()[1]
        label, turn = self.words(name), 1
        while name and label in known:
            turn += 1
            label = f"{self.words(name)} ({turn})"
        return label

    def title(self, text: str, *, below: str = "") -> None:
        """Write a title, wrapped to the width of the axes, and a second line below it."""
        wide = self.ax.bbox.width / self.ax.figure.dpi / (1.2 * LETTER)
        lines = [wrap(text, max(int(wide), 16)), below]
        self.ax.set_title("\n".join(filter(None, lines)), fontsize="medium")

    def alone(self, kind: str) -> None:
        """Refuse axes that already hold a picture, which this one would hide."""
        marks = {one.get_gid() for one in self.ax.get_children()}
        if marks & {SERIES, ALONE}:
            raise UsageError(
                "These axes already hold a picture, and a {kind} on top would hide it.",
                code="axes-taken",
                kind=kind,
                remedy="Give each picture axes of its own, such as the two of "
                "plt.subplots(1, 2)[1].",
            )

    def highest(self, top: float) -> float:
        """Return the upper limit that covers new and earlier content."""
        return top if self.fresh else max(top, float(self.ax.get_ylim()[1]))

    def close(self, *, legend: bool | Options = True, grid: str = "both") -> None:
        """Draw grid and legend."""
        if grid:
            self.ax.grid(color="0.92", axis=grid)
        self.ax.set_axisbelow(True)
        if legend and self.ax.get_legend_handles_labels()[1]:
            more = legend if isinstance(legend, dict) else {}
            self.ax.legend(**{**LEGEND, "handlelength": 2.8, **more})


@contextmanager
def framed(display: object, ax: Axes | None, size: tuple[float, float]) -> Iterator[Frame]:
    """Give a Display its frame, and set its `ax_` and `figure_`.

    If drawing fails, a figure made here is closed.
    """
    plt = pyplot()
    own = ax is None
    drawn: Axes = plt.subplots(figsize=size, layout="constrained")[1] if own else ax
    try:
        yield Frame(check_axes(drawn), own=own)
    except BaseException:
        if own:
            plt.close(drawn.figure)
        raise
    vars(display).update(ax_=drawn, figure_=drawn.figure)


@contextmanager
def framed_grid(
    display: object,
    ax: Sequence[Axes] | None,
    n: int,
    size: tuple[float, float],
    columns: int,
    *,
    share_y: bool,
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
                "This picture has {panels} panels, but {argument} holds {given} axes.",
                code="axes-count",
                argument=Argument("ax"),
                panels=n,
                given=len(panels),
                remedy="Pass one per panel, such as plt.subplots(1, {panels})[1], or leave it out.",
            )
    try:
        own = figure is not None
        yield [Frame(check_axes(one), own=own, letters=44 if own else None) for one in panels]
    except BaseException:
        if figure is not None:
            plt.close(figure)
        raise
    vars(display).update(axes_=panels, ax_=panels[0], figure_=panels[0].figure)


def check_axes(ax: Axes) -> Axes:
    """Refuse anything but matplotlib axes."""
    if not hasattr(ax, "get_legend_handles_labels"):
        raise UsageError(
            "{argument} must be matplotlib axes, got {kind}.",
            code="axes-type",
            argument=Argument("ax"),
            kind=type(ax).__name__,
            remedy="Pass plt.subplots()[1], for example, or leave it out.",
        )
    return ax


def shared_legend(frames: Sequence[Frame]) -> None:
    """Draw one legend for all panels: below if the figure is ours, else on the fullest panel."""
    fullest = max(frames, key=lambda one: len(one.ax.get_legend_handles_labels()[1]))
    figure = fullest.ax.figure
    before = [one for one in figure.legends if one.get_gid() == SHARED]
    if not fullest.own and not before:
        fullest.close(legend={"fontsize": "x-small"})
        return
    for one in before:  # of the Display that made the panels
        one.remove()
    handles, labels = fullest.ax.get_legend_handles_labels()
    longest = max(len(line) for label in labels for line in label.split("\n"))
    room = max(1, int(figure.get_figwidth() / (0.75 + 0.075 * longest)))
    look = {"fontsize": "small", "frameon": False, "handlelength": 2.8}
    columns = min(room, len(labels))
    drawn = figure.legend(handles, labels, loc="outside lower center", ncols=columns, **look)
    drawn.set_gid(SHARED)


def legend_off(ax: Axes, handles: list[Artist], labels: list[str], points: ArrayLike) -> None:
    """Draw a legend in a corner where it hides none of the points, or else above the axes.

    Parameters
    ----------
    points : array of shape (n, 2)
        In data coordinates.
    """
    held = np.asarray(points, dtype=np.float64).reshape(-1, 2)
    held = held[np.isfinite(held).all(axis=1)]
    for corner in ("upper left", "lower right"):  # off the diagonal
        legend = ax.legend(handles, labels, loc=corner, **LEGEND)
        ax.figure.draw_without_rendering()  # sets the position of the legend
        places, box = ax.transData.transform(held), legend.get_window_extent().padded(4.0)
        inside = (places >= [box.x0, box.y0]) & (places <= [box.x1, box.y1])
        if not inside.all(axis=1).any():
            return
    above = {"loc": "lower left", "bbox_to_anchor": (0.0, 1.0), "ncols": 2, **LEGEND}
    ax.legend(handles, labels, **{**above, "fontsize": "x-small"})


def in_percent(*axes: Artist) -> None:
    """Write the ticks of x or y axes in percent."""
    for axis in axes:
        axis.set_major_formatter(lambda share, _: percent(share))


# --- pictures -------------------------------------------------------------------------------------


def draw_curves(frame: Frame, picture: Curves, style: Options) -> None:
    """Draw lines, bands, marks and axes; reference lines only on empty axes."""
    ax = frame.ax
    ax.set(xlabel=picture.x.label, ylabel=picture.y.label)
    turn = frame.turn
    for line in picture.lines:
        if line.grey and frame.fresh:
            _thin(frame, line, GREY)
    color: Colour = COLOURS[turn % len(COLOURS)]
    for line in picture.lines:
        if line.like_last:
            _thin(frame, line, color)
        elif not line.grey:
            drawn = frame.line(line.x, line.y, label=line.name, **style)
            color = drawn.get_color()
            if line.low is not None and line.high is not None:
                frame.band(line.x, line.low, line.high, label=line.band, color=color)
    _limits(frame, picture.x, picture.y)
    if picture.region is not None:
        _shade(ax, picture.region, color, frame.once(picture.region_name))
    for mark in picture.marks:
        _mark(frame, mark, color, turn)
    if picture.threshold is not None:
        look = {"color": "black", "linestyle": (0, (4, 3)), "linewidth": 1.2}
        ax.axvline(picture.threshold, label=frame.once(picture.threshold_name), **look)
    for note in picture.notes:
        ax.plot([], [], linestyle="", label=frame.words(note))


def draw_bars(frame: Frame, picture: Bars, style: Options, names: Sequence[str]) -> Artist:
    """Draw horizontal bars with intervals, from the top down, and return them."""
    value = np.asarray(picture.values, dtype=np.float64)
    place = np.arange(len(value))
    look = {"color": COLOURS[0], "alpha": 0.75, "height": 0.62, "gid": ALONE, **style}
    bars = frame.ax.barh(place, value, **look)
    if picture.low is not None and picture.high is not None:
        reach = [value - np.asarray(picture.low), np.asarray(picture.high) - value]
        look = {"linestyle": "", "color": "0.1", "capsize": 3, "linewidth": 1.2}
        frame.ax.errorbar(value, place, xerr=np.maximum(reach, 0.0), **look)
    frame.ax.axvline(picture.reference, color=GREY, linewidth=1)
    frame.ax.set_yticks(place, list(names), linespacing=0.95)
    frame.ax.set_ylim(len(value) - 0.4, -0.6)
    wide = frame.ax.bbox.width / frame.ax.figure.dpi / LETTER
    frame.ax.set_xlabel(wrap(picture.x.label, max(int(0.8 * wide), 24)))
    if picture.best is not None:
        bars[picture.best].set(hatch="////", edgecolor="black", linewidth=1.2, alpha=1.0)
        frame.ax.annotate(  # this is the longest bar: the text fits inside
            picture.best_name,
            (value[picture.best], picture.best),
            xytext=(-6, 0),
            textcoords="offset points",
            ha="right",
            va="center",
            fontsize="small",
            bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
        )
    return bars


def _thin(frame: Frame, line: Line, color: Colour) -> None:
    width = 1.3 if line.dash == "dotted" else 1.0
    look = {"color": color, "linestyle": DASH_OF.get(line.dash, "--"), "linewidth": width}
    frame.beside(line.x, line.y, label=line.name, **look)


def _limits(frame: Frame, x: Axis, y: Axis) -> None:
    """Set scales and limits that cover new and earlier content."""
    from matplotlib.ticker import LogLocator

    ax = frame.ax
    for axis, spec, name in ((ax.xaxis, x, "x"), (ax.yaxis, y, "y")):
        if spec.log:
            getattr(ax, f"set_{name}scale")("log")
            low, high = spec.ends or axis.get_view_interval()
            if high / low < 10**2.5:
                axis.set_major_locator(LogLocator(subs=(1, 2, 5)))
                axis.set_minor_formatter(lambda value, _: "")
        if spec.ends is not None:
            low, high = spec.ends
            if not frame.fresh:
                before = getattr(ax, f"get_{name}lim")()
                low, high = min(low, before[0]), max(high, before[1])
            getattr(ax, f"set_{name}lim")(low, high)
        if spec.percent:
            in_percent(axis)


def _mark(frame: Frame, mark: Mark, color: Colour, turn: int) -> None:
    """Draw a point with its intervals, and the slope through it."""
    from matplotlib.colors import to_rgb

    dark = tuple(DARKER * part for part in to_rgb(color))
    if mark.slope is not None:
        look = {"color": dark, "linestyle": DASHES[turn % len(DASHES)]}
        _slope(frame, mark, look)
    sides = [
        np.maximum([[at - (at if low is None else low)], [(at if high is None else high) - at]], 0)
        for at, low, high in ((mark.x, mark.x_low, mark.x_high), (mark.y, mark.low, mark.high))
    ]
    frame.ax.errorbar(
        [mark.x],
        [mark.y],
        xerr=sides[0],
        yerr=sides[1],
        marker=MARKERS[turn % len(MARKERS)] if mark.certain else "",
        markersize=7,
        markerfacecolor="white",
        markeredgewidth=1.8,
        color=dark,
        ecolor=dark,
        elinewidth=1.3,
        capsize=3,
        zorder=5,
        linestyle="",
        label=frame.words(mark.text),
    )


def _slope(frame: Frame, mark: Mark, look: Options) -> None:
    """Draw a slope as a short line through a point, and its interval as a fan to the right."""
    assert mark.slope is not None
    x, y = mark.x, mark.y
    if mark.slope_low is not None and mark.slope_high is not None:
        low, high = (_way(frame.ax, one) for one in (mark.slope_low, mark.slope_high))
        corners = [(x, y), (x + low[0], y + low[1]), (x + high[0], y + high[1])]
        (fan,) = frame.ax.fill(*zip(*corners, strict=True), facecolor="0.75", alpha=0.6)
        fan.set(edgecolor=look["color"], linestyle=":", linewidth=1.2, zorder=3)
        fan.set_label(frame.once(mark.slope_band))
    across, up = _way(frame.ax, mark.slope)
    frame.ax.plot(
        [x - across, x + across],
        [y - up, y + up],
        linewidth=2.2,
        zorder=4,
        label=frame.words(mark.slope_text),
        **look,
    )


def _way(ax: Axes, slope: float) -> tuple[float, float]:
    """Return a step of this slope, which may be infinite, and of constant length on paper."""
    wide, high = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    if not np.isfinite(slope):
        return 0.0, float(np.sign(slope) * REACH * high)
    steep = slope * wide / high
    across = REACH / np.hypot(1.0, steep)
    return float(across * wide), float(across * wide * slope)


def _shade(ax: Axes, boxes: Array, color: Colour, label: str) -> None:
    """Fill the union of boxes: one path of one orientation, so overlaps are not darker."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    left, right, low, high = boxes.T
    corners = [np.c_[left, low], np.c_[right, low], np.c_[right, high], np.c_[left, high]]
    closed = np.stack([*corners, corners[0]], axis=1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    path = Path(closed.reshape(-1, 2), codes * len(boxes))
    ax.add_patch(PathPatch(path, facecolor=color, alpha=0.15, linewidth=0, label=label, zorder=0.8))


# --- keywords -------------------------------------------------------------------------------------


def divide(
    options: Options,
    compute: Callable[..., Any],
    draw: str = "plot",
    *,
    also: Sequence[str] = (),
) -> tuple[Options, Options]:
    """Split keywords into those of a computation and those of the drawing.

    Keywords in the signature of the computing function go there, the rest to matplotlib. A keyword
    that neither knows is refused before anything is computed.

    Parameters
    ----------
    options : dict
        The keywords.
    compute : callable
        The computing function.
    draw : {"plot", "barh", "imshow"}
        The method of matplotlib's Axes that takes the rest.
    also : sequence of str
        Further keywords of the Display's `plot`.

    Examples
    --------
    >>> from scarce import cost_curve
    >>> divide({"resamples": 100, "color": "k"}, cost_curve)
    ({'resamples': 100}, {'color': 'k'})
    """
    pyplot()  # raises if matplotlib is missing
    from matplotlib import axes, image, lines, patches

    known = list(inspect.signature(compute).parameters)
    artist: Any = {"plot": lines.Line2D, "barh": patches.Rectangle, "imshow": image.AxesImage}[draw]
    drawn = [name[4:] for name in dir(artist) if name.startswith("set_")]
    named = inspect.signature(getattr(axes.Axes, draw)).parameters.values()
    drawn += [one.name for one in named if one.kind is not one.VAR_KEYWORD]
    for name in options:
        if name not in known and name not in drawn and name not in also:
            raise UsageError(
                "{argument} is not an argument of {function} or of matplotlib's Axes.{draw}.{hint}",
                code="unknown-argument",
                argument=Phrase(f"{name}="),
                function=compute.__name__,
                draw=draw,
                hint=suggest(name, [*known[2:], *also, *drawn]),
            )
    own = {name: value for name, value in options.items() if name in known}
    return own, {name: value for name, value in options.items() if name not in own}
