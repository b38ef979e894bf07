"""Risk against coverage: how good are the decisions that are not sent to a person?"""

from __future__ import annotations

from typing import Any, Self

from numpy.typing import ArrayLike

from scarce.evaluation.coverage import RiskCoverage, risk_coverage
from scarce.plots.asking import ask
from scarce.plots.frame import GREY, framed, in_percent
from scarce.plots.keywords import divide


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
    >>> matplotlib.pyplot.close(display.figure_)
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
        """Compute the curve and draw it.

        Parameters
        ----------
        style : dict, optional
            Passed to `Axes.plot`.
        **options : passed to `risk_coverage`, and the rest to `Axes.plot`.
        """
        asked, look = divide(options, risk_coverage)
        curve = risk_coverage(y_true, prob, **asked)
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
        curve, label = self.curve, self.name if name is None else name
        with framed(self, ax, (6, 4.5)) as frame:
            ax, x = frame.ax, curve.coverage
            line = frame.line(x, curve.risk, label=label or "by confidence", **style)
            frame.band(
                x,
                curve.low,
                curve.high,
                level=curve.level,
                color=line.get_color(),
                whole=curve.simultaneous,
            )
            if frame.fresh:
                frame.beside(x, curve.best, label="best order there is")
                full = {"linestyle": ":", "linewidth": 1.2, "label": "no row sent to a person"}
                ax.axhline(curve.full.value, color=GREY, **full)
            # Few rows are kept on the left and their band is wide: it may run out of the picture.
            settled = x >= min(0.1, float(x.max()))
            top = 1.1 * max(float(curve.high[settled].max()), float(curve.risk.max()))
            bottom = min(0.0, 1.1 * float(curve.low[settled].min()))
            bottom = bottom if frame.fresh else min(bottom, float(ax.get_ylim()[0]))
            ax.set_ylim(bottom, frame.highest(top))
            ax.set(
                xlabel="rows decided, the surest first; the rest goes to a person",
                ylabel="mean loss of the rows decided",
                xlim=(0, 1),
            )
            in_percent(ax.xaxis)
            frame.close()
        return self
