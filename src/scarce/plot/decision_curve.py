"""A decision curve: net benefit against the threshold, beside acting on all rows and on none."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.records import short
from scarce.worth.curves import DecisionCurve, decision_curve


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
        """Compute the curve and draw it; options are passed to `decision_curve`."""
        return cls(decision_curve(y_true, prob, **options), name=name).plot(ax, **(style or {}))

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **style : passed to `Axes.plot`
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
        curve = self.curve
        x, fresh = curve.odds, not ax.has_data()
        if fresh:
            ax.plot(
                x,
                curve.act_on_all,
                color="0.4",
                linestyle="--",
                linewidth=1,
                label="act on every row",
            )
            ax.axhline(0, color="0.4", linestyle=":", linewidth=1.2, label="act on no row")
        drawn = {"linewidth": 1.8, **style}
        (line,) = ax.plot(x, curve.net_benefit, label=self.name or "act by probability", **drawn)
        band = f"{100 * curve.level:g} % band" + (", whole curve" if curve.simultaneous else "")
        band = band if fresh else "_" + band  # once is enough in a legend
        ax.fill_between(
            x, curve.low, curve.high, color=line.get_color(), alpha=0.18, linewidth=0, label=band
        )
        top = 1.1 * max(float(curve.high.max()), 1e-12)
        # What acting on every row loses at high thresholds would flatten everything else.
        ax.set_ylim(-0.25 * top, top if fresh else max(top, ax.get_ylim()[1]))
        ax.set_xscale("log")
        ax.set_xlim(x.min(), x.max())
        ax.set(
            xlabel="false alarms that cost as much as one event is worth",
            ylabel="net benefit: events found per row, less false alarms",
        )
        rates = np.outer(10.0 ** np.arange(-6, 7), [1, 2, 5]).ravel()
        rates = rates[(1 / rates >= x.min()) & (1 / rates <= x.max())]
        step = 1 + len(rates) // 7  # no more ticks than can be read
        ax.set_xticks(1 / rates[::step], [_exchange(rate) for rate in rates[::step]])
        ax.set_xticks([], minor=True)
        ax.grid(color="0.92")
        ax.set_axisbelow(True)
        ax.legend(fontsize="small", framealpha=0.85, edgecolor="none")
        self.ax_, self.figure_ = ax, ax.figure
        return self


def _exchange(rate: float) -> str:
    """Write false alarms per event, and the threshold that this is."""
    return f"{short(rate)}\n(p = {short(1 / (1 + rate))})"
