"""Risk against coverage: how good are the decisions that are not sent to a person?"""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from scarce.worth.coverage import RiskCoverage, risk_coverage


class RiskCoverageDisplay:
    """Picture of a `RiskCoverage` curve.

    Parameters
    ----------
    curve : RiskCoverage
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
    >>> display = RiskCoverageDisplay.from_predictions([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.9])
    >>> display.ax_.get_xlabel()
    'rows decided, the surest first; the rest goes to a person'
    """

    def __init__(self, curve: RiskCoverage, *, name: str = "") -> None:
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
        """Compute the curve and draw it; options are passed to `risk_coverage`."""
        return cls(risk_coverage(y_true, prob, **options), name=name).plot(ax, **(style or {}))

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
        fresh = not ax.has_data()
        drawn = {"linewidth": 1.8, **style}
        (line,) = ax.plot(curve.coverage, curve.risk, label=self.name or "by confidence", **drawn)
        band = f"{100 * curve.level:g} % band" + (", whole curve" if curve.simultaneous else "")
        band = band if fresh else "_" + band  # once is enough in a legend
        colour = line.get_color()
        ax.fill_between(
            curve.coverage, curve.low, curve.high, color=colour, alpha=0.18, linewidth=0, label=band
        )
        if fresh:
            grey = {"color": "0.4"}
            best = {"linestyle": "--", "linewidth": 1, "label": "best order there is"}
            ax.plot(curve.coverage, curve.best, **grey, **best)
            full = {"linestyle": ":", "linewidth": 1.2, "label": "no row sent to a person"}
            ax.axhline(curve.full.value, **grey, **full)
        # Few rows are kept on the left and their band is wide: it may run out of the picture.
        settled = curve.coverage >= min(0.1, float(curve.coverage.max()))
        top = 1.1 * max(float(curve.high[settled].max()), float(curve.risk.max()))
        bottom = min(0.0, 1.1 * float(curve.low[settled].min()))
        ax.set_ylim(bottom, top if fresh else max(top, ax.get_ylim()[1]))
        ax.set(
            xlabel="rows decided, the surest first; the rest goes to a person",
            ylabel="mean loss of the rows decided",
            xlim=(0, 1),
        )
        ax.xaxis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        ax.grid(color="0.92")
        ax.set_axisbelow(True)
        ax.legend(fontsize="small", framealpha=0.85, edgecolor="none")
        self.ax_, self.figure_ = ax, ax.figure
        return self
