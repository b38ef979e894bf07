"""Cost curves: what acting on scores costs, for every balance of misses and false alarms."""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from scarce.errors import refuse_word
from scarce.evaluation.curves import BrierCurve, CostCurve, brier_curve, cost_curve
from scarce.plots.asking import ask
from scarce.plots.frame import Frame, framed
from scarce.plots.keywords import divide


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
    >>> matplotlib.pyplot.close(display.figure_)
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
        **options : passed to `cost_curve` or `brier_curve`, and the rest to `Axes.plot`.
        """
        refuse_word("kind", kind, ("cost", "brier"))
        make: Any = cost_curve if kind == "cost" else brier_curve
        asked, look = divide(options, make)
        return cls(make(y_true, prob, **asked), name=name).plot(ax, **{**look, **(style or {})})

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
            A line style or marker of its own keeps a line readable without colour.
        """
        label = self.name if name is None else name
        with framed(self, ax, (6, 4.5)) as frame:
            if isinstance(self.curve, CostCurve):
                self._costs(frame, self.curve, label, style)
            else:
                self._as_they_are(frame, self.curve, label, style)
            frame.ax.set_xlim(0, 1)
            frame.close()
        return self

    def _costs(self, frame: Frame, curve: CostCurve, name: str, style: dict[str, Any]) -> None:
        x = curve.probability_cost
        frame.ax.set(
            xlabel="weight of misses: prevalence x cost of a miss, as a share",
            ylabel="cost (1 = every row wrong)",
        )
        if frame.fresh:
            frame.beside(x, x, label="act on no row")
            frame.beside(x, 1 - x, label="act on every row", linestyle=":", linewidth=1.3)
        line = frame.line(x, curve.cost, label=name or "best threshold", **style)
        self._band(frame, x, line.get_color())
        frame.ax.set_ylim(0, frame.highest(max(0.5, 1.05 * float(curve.high.max()))))

    def _as_they_are(
        self, frame: Frame, curve: BrierCurve, name: str, style: dict[str, Any]
    ) -> None:
        x = curve.cost_proportion
        frame.ax.set(
            xlabel="cost of a false alarm / (false alarm + miss), which is the threshold used",
            ylabel="cost per row (unit: mean of the two costs)",
        )
        line = frame.line(x, curve.cost, label=name or "probabilities as they are", **style)
        self._band(frame, x, line.get_color())
        best = "best thresholds" + (f", {name}" if name else "")
        frame.beside(x, curve.best, label=best, color=line.get_color(), linestyle="-.")
        frame.ax.set_ylim(0, frame.highest(1.05 * float(curve.high.max())))

    def _band(self, frame: Frame, x: Any, color: Any) -> None:
        curve = self.curve
        frame.band(
            x, curve.low, curve.high, level=curve.level, color=color, whole=curve.simultaneous
        )
