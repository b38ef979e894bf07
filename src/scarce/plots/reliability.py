"""A reliability diagram: do events predicted with 2 % occur in 2 % of the rows?

Observed frequency against predicted probability, with intervals and a histogram of the predictions
below. Both axes are logarithmic if events are rare. Assumes what `reliability` does. Does not
smooth.
"""

from __future__ import annotations

from collections.abc import Hashable
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.bootstrap import Inclusion
from scarce.errors import Argument, UsageError, refuse_word
from scarce.evaluation.calibration import Reliability, reliability
from scarce.plots.curves import Classifier, ask
from scarce.plots.mpl import (
    DASHES,
    GREY,
    SERIES,
    Artist,
    Axes,
    Colour,
    Frame,
    check_axes,
    framed,
    in_percent,
    legend_off,
    pyplot,
)
from scarce.plots.picture import Array, band_name, percent, reliability_picture

BELOW = "scarce-probabilities"  # label of the axes of the histogram


class ReliabilityDisplay:
    """Reliability diagram of a `Reliability` table.

    Parameters
    ----------
    table : Reliability
        What to draw.
    name : str
        Legend entry.
    prob, y_true : array-like of shape (n,), optional
        Probabilities and outcomes of the rows, for the histogram below the diagram.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.
    histogram_ax_ : the axes of the histogram, or None.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.uniform(0.001, 0.3, 2000)
    >>> y = (rng.random(2000) < prob).astype(float)
    >>> display = ReliabilityDisplay.from_predictions(y, prob, name="model")
    >>> display.ax_.get_xscale(), display.histogram_ax_.get_xlabel()
    ('log', 'predicted probability')
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self,
        table: Reliability,
        *,
        name: str = "",
        prob: ArrayLike | None = None,
        y_true: ArrayLike | None = None,
    ) -> None:
        self.table = table
        self.name = name
        self.prob = prob
        self.y_true = y_true

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        prob: ArrayLike,
        *,
        bins: int | ArrayLike = 10,
        sample_weight: ArrayLike | None = None,
        weight_kind: str = "survey",
        inclusion: Inclusion = None,
        groups: ArrayLike | None = None,
        level: float = 0.9,
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Bin outcomes by probability, as `reliability` does, and draw; options go to `plot`."""
        how: dict[str, Any] = {
            "sample_weight": sample_weight,
            "weight_kind": weight_kind,
            "inclusion": inclusion,
            "groups": groups,
        }
        table = reliability(y_true, prob, bins=bins, level=level, **how)
        return cls(table, name=name, prob=prob, y_true=y_true).plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: ArrayLike,
        y: ArrayLike,
        *,
        positive: Hashable = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Predict with a fitted classifier and draw; options as in from_predictions.

        Parameters
        ----------
        positive : class, optional
            The class that is the event; by default the second of two.
        name : str, optional
            Legend entry; by default the name of the class of the estimator.
        """
        asked = ask(estimator, X, y, positive)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(asked.y, asked.prob, name=name, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        scale: str = "auto",
        intervals: str = "bars",
        histogram: bool | Axes | None = None,
        **style: Any,
    ) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        name : str, optional
            Legend entry, instead of the Display's name.
        scale : {"auto", "log", "linear"}
            Of both axes. "auto": logarithmic if the base rate is below 20 %. Axes that already
            hold a diagram keep theirs.
        intervals : {"bars", "band"}
            A bar per bin, or a band along the line.
        histogram : bool or matplotlib axes, optional
            Histogram of the probabilities, below the diagram or on the given axes. By default if
            the Display makes the figure or draws on one made by a Display.
        **style : passed to `Axes.errorbar`, or with a band to `Axes.plot`
        """
        refuse_word("scale", scale, ("auto", "log", "linear"))
        refuse_word("intervals", intervals, ("bars", "band"))
        own = ax is None
        ax, below = self._place(ax, histogram)
        try:
            with framed(self, ax, (5, 5)) as frame:
                self._diagram(frame, self.name if name is None else name, scale, intervals, style)
                if below is not None:
                    self._histogram(frame, below)
                frame.close(legend=False)
                self._legend(frame.ax, below)
        except BaseException:
            if own and ax is not None:
                pyplot().close(ax.figure)
            raise
        self.histogram_ax_ = below
        return self

    def _place(
        self, ax: Axes | None, histogram: bool | Axes | None
    ) -> tuple[Axes | None, Axes | None]:
        """Return the axes of the diagram (None: new ones) and of the histogram (None: none)."""
        if histogram is not None and histogram is not False and self.prob is None:
            raise UsageError(
                "{argument} needs the probabilities of the rows.",
                code="histogram-place",
                argument=Argument("histogram"),
                remedy="Use ReliabilityDisplay(table, prob=prob, y_true=y), or from_predictions.",
            )
        if histogram is True and ax is not None and _under(check_axes(ax)) is None:
            raise UsageError(
                "{argument} needs space below the diagram, and the given axes have none.",
                code="histogram-place",
                argument=Argument("histogram", True),
                remedy="Pass histogram=axes, such as the second of "
                "plt.subplots(2, 1, sharex=True).",
            )
        if not isinstance(histogram, bool | None):
            return ax, histogram
        if histogram is False or self.prob is None:
            return ax, None
        return _two_axes() if ax is None else (ax, _under(check_axes(ax)))

    def _diagram(
        self, frame: Frame, name: str, scale: str, intervals: str, style: dict[str, Any]
    ) -> None:
        table, ax = self.table, frame.ax
        asked = "auto" if scale == "auto" else scale == "log"
        picture = reliability_picture({name: table}, log=asked)
        log = picture.log
        if not frame.fresh:
            log = ax.get_xscale() == "log"
        # A logarithmic axis cannot show a frequency of 0, only its upper limit; nor a probability
        # of 0, and events predicted with 0 must not be hidden: see _beyond.
        shown = (table.observed > 0) & (table.predicted > 0) | (not log)
        given, happened = table.predicted[shown], table.observed[shown]
        low, high = table.low[shown], table.high[shown]
        if frame.fresh:
            ends = ((1e-9, 1e-9), (1, 1)) if log else ((0, 0), (1, 1))
            ax.axline(*ends, color=GREY, linewidth=1, zorder=0, label="calibrated")
        if intervals == "bars":
            look = {"capsize": 2, **frame.take(style, of="points")}
            mark = look.pop("gid")  # errorbar would mark the bars as series too
            # At a frequency of 1, rounding puts the upper limit just below it.
            reach = np.maximum([happened - low, high - happened], 0.0)
            drawn = ax.errorbar(given, happened, reach, label=frame.named(name), **look)
            drawn[0].set_gid(mark)
            color = drawn[0].get_color()
        else:
            marker = frame.take({}, of="points")["marker"]
            look = {"marker": marker, "markersize": 5, "markevery": 1, **style}
            color = frame.line(given, happened, label=name, **look).get_color()
            frame.band(given, low, high, label=band_name(table.level), color=color)
        if log:
            self._beyond(frame, color)
            # A very low lower limit would flatten the rest.
            reached = np.maximum(low, happened / 20)
            positive = np.concatenate([table.predicted[table.predicted > 0], reached, [1.0]])
            lowest = float(positive.min()) / 1.5
            if not frame.fresh:
                lowest = min(lowest, float(ax.get_xlim()[0]))
            ax.set(xscale="log", yscale="log", xlim=(lowest, 1.3), ylim=(lowest, 1.3))
        else:
            ax.set(xscale="linear", yscale="linear", xlim=(-0.03, 1.03), ylim=(-0.03, 1.03))
        ax.set(xlabel=picture.x.label, ylabel=picture.y.label)
        in_percent(ax.xaxis, ax.yaxis)

    def _beyond(self, frame: Frame, color: Colour) -> None:
        """Mark bins that a logarithmic axis cannot show: no event, or predicted exactly 0."""
        table, look = self.table, {"linestyle": "", "fillstyle": "none", "color": color}
        none = (table.observed == 0) & (table.predicted > 0)
        if none.any():
            words = frame.once(f"no event: {percent(table.level)} upper limit")
            frame.ax.plot(table.predicted[none], table.high[none], "v", label=words, **look)
        zero = (table.observed > 0) & (table.predicted <= 0)
        if zero.any():
            edge = {"transform": frame.ax.get_yaxis_transform(), "clip_on": False}
            words = frame.once("events predicted with 0 %")
            place = np.zeros(int(zero.sum()))
            frame.ax.plot(place, table.observed[zero], "<", label=words, **edge, **look)

    def _histogram(self, frame: Frame, ax: Axes) -> None:
        """Draw the number of rows, and of events, by predicted probability."""
        prob = np.asarray(self.prob, dtype=np.float64)
        (low, high), log = frame.ax.get_xlim(), frame.ax.get_xscale() == "log"
        edges = np.geomspace(low, high, 41) if log else np.linspace(0.0, 1.0, 41)
        turn = sum(one.get_gid() == SERIES for one in ax.get_children())
        color = [one for one in frame.ax.lines if one.get_gid() == SERIES][-1].get_color()
        rows, _ = np.histogram(prob, edges)
        look = {"color": color, "linewidth": 1.2, "linestyle": DASHES[turn % len(DASHES)]}
        if turn == 0:
            words = "rows (below)"
            ax.stairs(rows, edges, fill=True, facecolor=color, alpha=0.2, label=words)
            if self.y_true is not None:
                happened = np.asarray(self.y_true, dtype=np.float64) == 1
                events, _ = np.histogram(prob[happened], edges)
                fill = {"facecolor": "none", "edgecolor": color, "hatch": "/////", "linewidth": 0}
                ax.stairs(events, edges, fill=True, label="events among them (below)", **fill)
        ax.stairs(rows, edges, gid=SERIES, baseline=None, **look)
        beyond = int((prob < edges[0]).sum())
        if beyond and turn == 0:  # a logarithmic axis has no 0
            note = f"{beyond:,} row{'s' * (beyond > 1)} at lower probabilities"
            place = {"xy": (0.01, 0.93), "xycoords": "axes fraction", "va": "top"}
            ax.annotate(note, fontsize="x-small", **place)
        ax.set(xlabel="predicted probability", ylabel="rows", yscale="log", xlim=(low, high))
        ax.set_ylim(0.7, max(10.0, 2.5 * float(rows.max()), float(ax.get_ylim()[1]) * (turn > 0)))
        in_percent(ax.xaxis)
        ax.grid(color="0.92")
        ax.set_axisbelow(True)
        if ax.get_label() == BELOW:
            frame.ax.set_xlabel("")

    def _legend(self, ax: Axes, below: Axes | None) -> None:
        """Draw one legend for both axes where it hides no point."""
        handles, labels = ax.get_legend_handles_labels()
        if below is not None:
            more = below.get_legend_handles_labels()
            handles, labels = [*handles, *more[0]], [*labels, *more[1]]
        points = [_points(line) for line in ax.lines if line.get_transform() == ax.transData]
        bars = [
            np.linspace(segment[0], segment[-1], 9)
            for one in ax.collections
            if hasattr(one, "get_segments")
            for segment in one.get_segments()
        ]
        legend_off(ax, handles, labels, np.concatenate([np.empty((0, 2)), *points, *bars]))


def _points(line: Artist) -> Array:
    return np.asarray(line.get_xydata(), dtype=np.float64)


def _two_axes() -> tuple[Axes, Axes]:
    """Return axes for the diagram and the histogram below, with a shared x axis."""
    _, (ax, below) = pyplot().subplots(
        2,
        1,
        figsize=(5, 6.4),
        sharex=True,
        height_ratios=(3.4, 1),
        layout="constrained",
    )
    below.set_label(BELOW)
    return ax, below


def _under(ax: Axes) -> Axes | None:
    """Return the histogram axes below a diagram made by a Display, or None."""
    shared = ax.get_shared_x_axes()
    for other in ax.figure.axes:
        if other.get_label() == BELOW and shared.joined(ax, other):
            return other
    return None
