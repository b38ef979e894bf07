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
from numpy.typing import ArrayLike

from scarce.errors import Argument, UsageError
from scarce.plots.mpl import divide, draw_curves, framed
from scarce.plots.picture import Curves, performance_picture


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
                "{argument} must be a Performance, got {kind}.",
                code="wrong-record",
                argument=Argument("performance"),
                kind=type(performance).__name__,
                remedy="Pass the result of estimate_performance, or use "
                "PerformanceDisplay.from_predictions(scores, labels, threshold=).",
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
        label = self.name if name is None else name
        with framed(self, ax, (6.2, 5.0)) as frame:
            picture = self.picture(label, intervals=intervals, slope=slope)
            draw_curves(frame, picture, style)
            frame.close()
        return self

    def picture(self, name: str = "", *, intervals: bool = True, slope: bool = True) -> Curves:
        """Return the picture as data."""
        return performance_picture(
            self.performance, self.curve, name, intervals=intervals, slope=slope
        )


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
