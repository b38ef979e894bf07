"""Precision against recall when most rows have no label: what does a lower threshold gain?

    dP/dR = (P / R)(1 - P / g)                                 (002 eq 2; g: the posterior, eq 6)

The line is the point estimate at each threshold; the shaded region is the union of its boxes,
interval of recall by interval of precision. The cross is the threshold in use, and the tangent is
the slope there with its interval: the change of precision if the threshold is lowered a little.
Assumes what the `Performance` assumes. Estimates nothing: see `estimate_performance`.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.errors import Argument, UsageError
from scarce.plots.mpl import Axes, divide, draw_curves, framed
from scarce.plots.picture import Curves, performance_picture

if TYPE_CHECKING:
    from scarce.missed.performance import Performance, PerformanceCurve


class PerformanceDisplay:
    """A `Performance`: precision-recall curve, threshold in use and slope.

    Parameters
    ----------
    performance : Performance
        The result of `estimate_performance`.
    name : str
        Legend entry.
    thresholds : array-like, optional
        Thresholds of the curve; by default about 60 over all scores.

    Attributes
    ----------
    curve : PerformanceCurve
        The data of the line and the region.
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from scarce.datasets import make_trial_scores
    >>> trial = make_trial_scores(random_state=0)
    >>> display = PerformanceDisplay.from_predictions(trial.scores, trial.y, threshold=9.1)
    >>> display.ax_.get_xlabel(), display.performance.counts.alerts
    ('recall: proportion of events found', 36)
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self, performance: Performance, *, name: str = "", thresholds: ArrayLike | None = None
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
        scores: ArrayLike,
        labels: ArrayLike | None = None,
        *,
        threshold: float | Mapping[Hashable, float],
        thresholds: ArrayLike | None = None,
        name: str = "",
        ax: Axes | None = None,
        style: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Estimate and draw.

        Parameters
        ----------
        style : dict, optional
            Passed to `plot`.
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
        performance: Performance,
        *,
        thresholds: ArrayLike | None = None,
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw a `Performance`; options go to `plot`."""
        return cls(performance, name=name, thresholds=thresholds).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        intervals: bool = True,
        slope: bool = True,
        **style: Any,
    ) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        name : str, optional
            Legend entry, instead of the Display's name.
        intervals : bool
            Shade the intervals along the curve.
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


def _with_own(curve: PerformanceCurve, performance: Performance) -> PerformanceCurve:
    """Add the threshold in use to the curve, which then passes through its point."""
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
