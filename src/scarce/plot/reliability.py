"""A reliability diagram for rare events: probability against frequency on logarithmic axes."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.assess.reliability import Reliability, reliability


class ReliabilityDisplay:
    """Picture of a `Reliability` table.

    Parameters
    ----------
    table : Reliability
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
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.uniform(0.001, 0.3, 2000)
    >>> y = (rng.random(2000) < prob).astype(float)
    >>> display = ReliabilityDisplay.from_predictions(y, prob, name="model")
    >>> display.ax_.get_xscale()
    'log'
    """

    def __init__(self, table: Reliability, *, name: str = "") -> None:
        self.table = table
        self.name = name

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        prob: ArrayLike,
        *,
        bins: int | ArrayLike = 10,
        level: float = 0.9,
        name: str = "",
        ax: Any = None,
        **style: Any,
    ) -> Self:
        """Bin outcomes by probability and draw the result."""
        return cls(reliability(y_true, prob, bins=bins, level=level), name=name).plot(ax, **style)

    def plot(self, ax: Any = None, **style: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        **style : passed to `Axes.errorbar`
            A marker of its own keeps a line readable without colour.
        """
        import matplotlib.pyplot as plt

        if ax is None:
            _, ax = plt.subplots(figsize=(5, 5), layout="constrained")
        table = self.table
        seen = table.observed > 0  # a share of 0 has no place on a logarithmic axis; its limit has
        reach = np.stack([table.observed - table.low, table.high - table.observed])
        drawn = {"marker": "o", "markersize": 5, "linestyle": "", "capsize": 2, **style}
        low_end = min(table.predicted.min(), table.observed[seen].min(initial=1.0)) / 3
        if not ax.has_data():
            ax.axline((1e-9, 1e-9), (1, 1), color="0.6", linewidth=1, zorder=0, label="right")
        line = ax.errorbar(
            table.predicted[seen], table.observed[seen], reach[:, seen], label=self.name, **drawn
        )
        if not seen.all():
            ax.plot(
                table.predicted[~seen],
                table.high[~seen],
                marker="v",
                linestyle="",
                fillstyle="none",
                color=line[0].get_color(),
                label=f"none happened: {100 * table.level:g} % limit",
            )
        lowest = min(low_end, *(ax.get_xlim()[:1] if ax.get_xscale() == "log" else (1.0,)))
        ax.set(xscale="log", yscale="log", xlim=(lowest, 1.3), ylim=(lowest, 1.3))
        ax.set(xlabel="probability given", ylabel="share that happened")
        for axis in (ax.xaxis, ax.yaxis):
            axis.set_major_formatter(lambda share, _: f"{100 * share:g} %")
        ax.grid(color="0.92", which="major")
        ax.set_axisbelow(True)
        self.ax_, self.figure_ = ax, ax.figure
        return self
