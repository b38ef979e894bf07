"""Cost curves: what acting on scores costs, for every balance of misses and false alarms."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from scarce.errors import refuse_word
from scarce.worth.curves import BrierCurve, CostCurve, brier_curve, cost_curve


class CostCurveDisplay:
    """Picture of a `CostCurve` or a `BrierCurve`.

    Parameters
    ----------
    curve : CostCurve or BrierCurve
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
    >>> display = CostCurveDisplay.from_predictions([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.9])
    >>> display.ax_.get_ylabel()
    'cost (1 = every row wrong)'
    """

    def __init__(self, curve: CostCurve | BrierCurve, *, name: str = "") -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        prob: ArrayLike,
        *,
        kind: str = "cost",
        name: str = "",
        ax: Any = None,
        style: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Compute the curve and draw it.

        Parameters
        ----------
        kind : {"cost", "brier"}
            The best threshold for each balance, or the probabilities used as they are beside it.
        style : dict, optional
            Passed to `Axes.plot`.
        **options : passed to `cost_curve` or `brier_curve`.
        """
        refuse_word("kind", kind, ("cost", "brier"))
        make: Any = cost_curve if kind == "cost" else brier_curve
        return cls(make(y_true, prob, **options), name=name).plot(ax, **(style or {}))

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **style : passed to `Axes.plot`
            A line style or marker of its own keeps a line readable without colour.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(6, 4.5), layout="constrained")
        curve = self.curve
        fresh = not ax.has_data()
        if isinstance(curve, CostCurve):
            x, what = curve.probability_cost, "best threshold"
            ax.set(
                xlabel="weight of misses: prevalence x cost of a miss, as a share",
                ylabel="cost (1 = every row wrong)",
                xlim=(0, 1),
            )
            if fresh:
                ax.plot(x, x, color="0.45", linestyle="--", linewidth=1, label="act on no row")
                ax.plot(
                    x, 1 - x, color="0.45", linestyle=":", linewidth=1.3, label="act on every row"
                )
            top = max(0.5, 1.05 * float(curve.high.max()))
        else:
            x, what = curve.cost_proportion, "probabilities as they are"
            ax.set(
                xlabel="cost of a false alarm / (false alarm + miss), which is the threshold used",
                ylabel="cost per row (unit: mean of the two costs)",
                xlim=(0, 1),
            )
            top = 1.05 * float(curve.high.max())
        label = self.name or what
        (line,) = ax.plot(x, curve.cost, label=label, **{"linewidth": 1.8, **style})
        band = f"{100 * curve.level:g} % band" + (", whole curve" if curve.simultaneous else "")
        band = band if fresh else "_" + band  # once is enough in a legend
        ax.fill_between(
            x, curve.low, curve.high, color=line.get_color(), alpha=0.18, linewidth=0, label=band
        )
        if isinstance(curve, BrierCurve):
            ax.plot(
                x,
                curve.best,
                color=line.get_color(),
                linestyle="-.",
                linewidth=1.1,
                label="best thresholds" + (f", {self.name}" if self.name else ""),
            )
        ax.set_ylim(0, top if fresh else max(top, ax.get_ylim()[1]))
        ax.grid(color="0.92")
        ax.set_axisbelow(True)
        ax.legend(fontsize="small", framealpha=0.85, edgecolor="none")
        self.ax_, self.figure_ = ax, ax.figure
        return self
