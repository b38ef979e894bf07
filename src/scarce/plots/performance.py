"""Precision against recall where most rows have no label: what would a lower threshold buy?

    dP/dR = (P / R)(1 - P / g)                                 (002 eq 2; g: the posterior, eq 6)

The line is the best guess at every threshold; the shaded region is made of the boxes of its
intervals, recall by precision. The cross is the present threshold, the tangent there the slope with
its interval: which way precision goes if the threshold is lowered a little. Assumes what the
Performance says of itself. Estimates nothing: see `estimate_performance`.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import UsageError
from scarce.plots.frame import DASHES, MARKERS, SERIES, Frame, framed, in_percent, percent
from scarce.plots.keywords import divide
from scarce.plots.words import shorten
from scarce.results import Estimate, short

Array = NDArray[np.float64]
REACH = 0.13  # half length of the tangent, as a share of the picture's side
DARKER = 0.55  # light of the threshold's cross and tangent, as a share of the line's


class PerformanceDisplay:
    """Picture of a `Performance`: its precision-recall curve, threshold and trade-off.

    Parameters
    ----------
    performance : Performance
        What `estimate_performance` returned.
    name : str
        What the legend says.
    thresholds : array-like, optional
        Where the curve is asked for; by default about 60 thresholds over all scores.

    Attributes
    ----------
    curve : PerformanceCurve
        What the line and the region are drawn from.
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> display = PerformanceDisplay.from_predictions(trial.scores, trial.y, threshold=9.1)
    >>> display.ax_.get_xlabel(), display.performance.counts.alerts
    ('recall: share of events found', 36)
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self, performance: Any, *, name: str = "", thresholds: ArrayLike | None = None
    ) -> None:
        if not hasattr(performance, "precision_per_recall"):
            raise UsageError(
                f"{type(performance).__name__} is no Performance: pass what estimate_performance "
                "returned, or use PerformanceDisplay.from_predictions(scores, labels, threshold=)."
            )
        self.performance = performance
        self.name = name
        curve = performance.curve(thresholds)
        self.curve = _with_own(curve, performance) if thresholds is None else curve

    @classmethod
    def from_predictions(
        cls,
        scores: Any,
        labels: Any = None,
        *,
        threshold: Any,
        thresholds: ArrayLike | None = None,
        name: str = "",
        ax: Any = None,
        style: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Estimate and draw.

        Parameters
        ----------
        style : dict, optional
            Options of `plot`.
        **options : passed to `estimate_performance`, and the rest to `plot`.
        """
        from scarce.missed.performance import estimate_performance

        asked, look = divide(options, estimate_performance, also=("intervals", "slope"))
        found = estimate_performance(scores, labels, threshold=threshold, **asked)
        drawn = cls(found, name=name, thresholds=thresholds)
        return drawn.plot(ax, **{**look, **(style or {})})

    @classmethod
    def from_result(
        cls,
        performance: Any,
        *,
        thresholds: ArrayLike | None = None,
        name: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw a `Performance`; options are those of `plot`."""
        return cls(performance, name=name, thresholds=thresholds).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        intervals: bool = True,
        slope: bool = True,
        **style: Any,
    ) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        name : str, optional
            What the legend says, instead of the Display's own name.
        intervals : bool
            Draw the region of the intervals along the line.
        slope : bool
            Draw the tangent at the threshold, with its interval.
        **style : passed to `Axes.plot`
        """
        found, curve = self.performance, self.curve
        label = self.name if name is None else name
        with framed(self, ax, (6.2, 5.0)) as frame:
            ax = frame.ax
            turn = sum(one.get_gid() == SERIES for one in ax.get_children())
            ax.set(xlabel="recall: share of events found", ylabel="precision: events among alerts")
            words = label or "best guess, threshold by threshold"
            line = frame.line(curve.recall[:, 0], curve.precision[:, 0], label=words, **style)
            color = line.get_color()
            look = {"color": _dark(color), "linestyle": DASHES[turn % len(DASHES)]}
            marker = MARKERS[turn % len(MARKERS)]
            known = np.isfinite(curve.recall[:, 0]) & np.isfinite(curve.precision[:, 0])
            if len(np.unique(line.get_xydata()[known], axis=0)) < 2:  # no line to be seen
                line.set(label="_no line", linestyle="", marker="")
                none = f"{label}: no best guess along the line" if label else ""
                ax.plot([], [], linestyle="", label=frame.words(none))
            label = shorten([label], 24)[0]
            ax.set_xlim(-0.02, 1.02)
            tops = [found.precision.high, np.nanmax(curve.precision[:, 0], initial=0.0)]
            ax.set_ylim(0, frame.highest(min(1.04, 1.25 * float(np.nanmax([*tops, 0.02])))))
            level = percent(found.precision.level)
            if intervals:
                region = _boxes(curve.recall, curve.precision)
                if region is not None and (np.ptp(region, axis=1).prod(axis=1) > 0).any():
                    shaded = frame.once(f"{level} intervals along the line")
                    _fill(ax, region, color, shaded)
            if slope:
                self._tangent(frame, label, look)
            self._cross(frame, level, label, look["color"], marker)
            in_percent(ax.xaxis, ax.yaxis)
            frame.close()
        return self

    def _cross(self, frame: Frame, level: str, name: str, color: Any, marker: str) -> None:
        """Mark the threshold's own recall and precision with their intervals."""
        recall, precision = self.performance.recall, self.performance.precision
        at = self.performance.threshold
        if isinstance(at, tuple):
            where = "each batch at its own threshold"
        else:
            where = f"threshold {short(float(at))}"
        words = f"{name}: {where}" if name else f"{where}, {level} intervals"
        if np.isnan(precision.value):
            none = f"{name}, {where}" if name else where
            label = frame.words(f"{none}: no alert was labelled")
            frame.ax.plot([], [], linestyle="", label=label)
            return
        known = np.isfinite(recall.value)
        x = recall.value if known else (recall.low + recall.high) / 2
        sides = [[max(x - recall.low, 0.0)], [max(recall.high - x, 0.0)]]
        if not np.isfinite(sides).all():
            label = frame.words(f"{name}, {where}: no recall" if name else f"{where}: no recall")
            frame.ax.axhline(precision.value, color=color, linewidth=1, label=label)
            return
        frame.ax.errorbar(
            [x],
            [precision.value],
            xerr=sides,
            yerr=np.maximum(
                [[precision.value - precision.low], [precision.high - precision.value]], 0.0
            ),
            marker=marker if known else "",
            markersize=7,
            markerfacecolor="white",
            markeredgewidth=1.8,
            color=color,
            ecolor=color,
            elinewidth=1.3,
            capsize=3,
            zorder=5,
            linestyle="",
            label=frame.words(words if known else f"{words}; no best guess of recall"),
        )

    def _tangent(self, frame: Frame, name: str, look: dict[str, Any]) -> None:
        """Draw dP/dR as a short line through the threshold's point, and its interval as a fan."""
        found = self.performance
        slope, x, y = found.precision_per_recall, found.recall.value, found.precision.value
        if not np.isfinite([x, y]).all() or np.isnan(slope.value):
            return
        ways = {side: _way(frame.ax, getattr(slope, side)) for side in ("value", "low", "high")}
        one, other = ways["low"], ways["high"]
        # The fan opens to the right alone: a lower threshold finds more.
        corners = [(x, y), (x + one[0], y + one[1]), (x + other[0], y + other[1])]
        (fan,) = frame.ax.fill(*zip(*corners, strict=True), facecolor="0.75", alpha=0.6)
        fan.set(edgecolor=look["color"], linestyle=":", linewidth=1.2, zorder=3)
        fan.set_label(frame.once(f"{percent(slope.level)} interval of the slope"))
        words = f"slope dP/dR {_limits(slope)}"
        across, up = ways["value"]
        frame.ax.plot(
            [x - across, x + across],
            [y - up, y + up],
            linewidth=2.2,
            zorder=4,
            label=frame.words(f"{name}: {words}" if name else words),
            **look,
        )


def _dark(color: Any) -> tuple[float, ...]:
    """Return the line's colour, dark enough to stand out from it."""
    from matplotlib.colors import to_rgb

    return tuple(DARKER * part for part in to_rgb(color))


def _way(ax: Any, slope: float) -> tuple[float, float]:
    """Return a step of constant length in the picture with a slope, which may be infinite."""
    wide, high = np.ptp(ax.get_xlim()), np.ptp(ax.get_ylim())
    if not np.isfinite(slope):
        return 0.0, float(np.sign(slope) * REACH * high)
    steep = slope * wide / high
    across = REACH / np.hypot(1.0, steep)
    return float(across * wide), float(across * wide * slope)


def _with_own(curve: Any, performance: Any) -> Any:
    """Put the present threshold among the others, so that the line passes through its point."""
    own = performance.threshold
    if isinstance(own, tuple) or own in curve.threshold:
        return curve
    at = int(np.searchsorted(-curve.threshold, -own))
    figures = {}
    for name in ("recall", "precision", "missed"):
        found = getattr(performance, name)
        row = [found.value, found.low, found.high]
        figures[name] = np.insert(getattr(curve, name), at, row, axis=0)
    return replace(curve, threshold=np.insert(curve.threshold, at, own), **figures)


def _limits(estimate: Estimate) -> str:
    return f"{short(estimate.value)} [{short(estimate.low)}, {short(estimate.high)}]"


def _boxes(recall: Array, precision: Array) -> Array | None:
    """Return corners (k, 4, 2) of the boxes that both intervals make, where both are known."""
    sides = np.column_stack([recall[:, 1:], precision[:, 1:]])
    sides = sides[np.isfinite(sides).all(axis=1)]
    if not len(sides):
        return None
    left, right, low, high = sides.T
    return np.stack(
        [np.c_[left, low], np.c_[right, low], np.c_[right, high], np.c_[left, high]], axis=1
    )


def _fill(ax: Any, boxes: Array, color: Any, label: str) -> None:
    """Fill the union of boxes: turned one way round in one path, they overlap without a shade."""
    from matplotlib.patches import PathPatch
    from matplotlib.path import Path

    closed = np.concatenate([boxes, boxes[:, :1]], axis=1)
    codes = [Path.MOVETO, Path.LINETO, Path.LINETO, Path.LINETO, Path.CLOSEPOLY]
    path = Path(closed.reshape(-1, 2), codes * len(boxes))
    ax.add_patch(PathPatch(path, facecolor=color, alpha=0.15, linewidth=0, label=label, zorder=0.8))
