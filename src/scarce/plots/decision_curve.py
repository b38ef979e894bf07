"""A decision curve: net benefit against the threshold, beside acting on all rows and on none."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.evaluation.curves import DecisionCurve, decision_curve
from scarce.plots.asking import ask
from scarce.plots.frame import GREY, framed
from scarce.plots.keywords import divide
from scarce.results import short


class DecisionCurveDisplay:
    """Picture of a `DecisionCurve`.

    Parameters
    ----------
    curve : DecisionCurve
        What to draw.
    name : str
        What the legend says.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> display = DecisionCurveDisplay.from_predictions([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.9])
    >>> display.ax_.get_xscale()
    'log'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, curve: DecisionCurve, *, name: str = "") -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        prob: ArrayLike,
        *,
        name: str = "",
        ax: Any = None,
        style: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Compute the curve and draw it.

        Parameters
        ----------
        style : dict, optional
            Passed to `Axes.plot`.
        **options : passed to `decision_curve`, and the rest to `Axes.plot`.
        """
        asked, look = divide(options, decision_curve)
        curve = decision_curve(y_true, prob, **asked)
        return cls(curve, name=name).plot(ax, **{**look, **(style or {})})

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        positive: Any = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Ask a fitted classifier for probabilities and draw; the rest is as in from_predictions.

        Parameters
        ----------
        positive : class, optional
            The class that counts as the event; by default the second of two.
        name : str, optional
            What the legend says; by default the classifier's own name.
        """
        asked = ask(estimator, X, y, positive)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(asked.y, asked.prob, name=name, **options)

    def plot(self, ax: Any = None, *, name: str | None = None, **style: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        name : str, optional
            What the legend says, instead of the Display's own name.
        **style : passed to `Axes.plot`
        """
        curve = self.curve
        x, label = curve.odds, self.name if name is None else name
        with framed(self, ax, (6, 4.5)) as frame:
            ax = frame.ax
            if frame.fresh:
                frame.beside(x, curve.act_on_all, label="act on every row")
                ax.axhline(0, color=GREY, linestyle=":", linewidth=1.2, label="act on no row")
            line = frame.line(x, curve.net_benefit, label=label or "act by probability", **style)
            frame.band(
                x,
                curve.low,
                curve.high,
                level=curve.level,
                color=line.get_color(),
                whole=curve.simultaneous,
            )
            top = 1.1 * max(float(curve.high.max()), 1e-12)
            # What acting on every row loses at high thresholds would flatten everything else.
            ax.set_ylim(-0.25 * frame.highest(top), frame.highest(top))
            ax.set_xscale("log")
            before = (x.min(), x.max()) if frame.fresh else ax.get_xlim()
            ends = min(before[0], x.min()), max(before[1], x.max())
            ax.set_xlim(*ends)
            ax.set(
                xlabel="false alarms that cost as much as one event is worth",
                ylabel="net benefit: events found per row, less false alarms",
            )
            rates = np.outer(10.0 ** np.arange(-6, 7), [1, 2, 5]).ravel()
            rates = rates[(1 / rates >= ends[0]) & (1 / rates <= ends[1])]
            step = 1 + len(rates) // 7  # no more ticks than can be read
            ax.set_xticks(1 / rates[::step], [_exchange(rate) for rate in rates[::step]])
            ax.set_xticks([], minor=True)
            frame.close()
        return self


def _exchange(rate: float) -> str:
    """Write false alarms per event, and the threshold that this is."""
    return f"{short(rate)}\n(p = {short(1 / (1 + rate))})"
