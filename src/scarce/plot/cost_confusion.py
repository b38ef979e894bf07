"""A confusion matrix with money in it: rows and cost of every action in every class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from scarce.plot.frame import framed, percent, shorten
from scarce.records import Estimate, short
from scarce.worth.confusion import CostConfusion, cost_confusion


class CostConfusionDisplay:
    """Picture of a `CostConfusion` table.

    Parameters
    ----------
    table : CostConfusion
        What to draw.
    name : str
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> costs = [[0, 40], [5, 0]]
    >>> display = CostConfusionDisplay.from_decisions([0, 0, 1, 1], [0, 1, 1, 0], costs)
    >>> display.ax_.get_ylabel()
    'what was done'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, table: CostConfusion, *, name: str = "") -> None:
        self.table = table
        self.name = name

    @classmethod
    def from_decisions(
        cls,
        y_true: Any,
        actions: Any,
        costs: Any,
        *,
        name: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Count and draw; options are passed to `cost_confusion`."""
        return cls(cost_confusion(y_true, actions, costs, **options), name=name).plot(ax)

    @classmethod
    def from_predictions(
        cls, y_true: Any, prob: Any, costs: Any, *, name: str = "", ax: Any = None, **options: Any
    ) -> Self:
        """Take the cheapest action for each probability, count and draw."""
        from scarce.decisions.cheapest import decide

        return cls.from_decisions(y_true, decide(prob, costs), costs, name=name, ax=ax, **options)

    def plot(self, ax: Any = None, *, name: str | None = None, **style: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
        name : str, optional
            Title, instead of the Display's own name.
        **style : passed to `Axes.imshow`
        """
        table, title = self.table, self.name if name is None else name
        n_actions, n_classes = table.cost.shape
        size = (2.2 + 1.9 * (n_classes + 1), 1.2 + 0.95 * (n_actions + 1))
        with framed(self, ax, size) as frame:
            self._fill(frame.ax, style)
            self._rule(frame.ax)
            words = f"cost, with {percent(table.total.level)} limits"
            frame.ax.set_title(f"{title}: {words}" if title else words, fontsize="medium")
        return self

    def _fill(self, ax: Any, style: dict[str, Any]) -> None:
        """Shade the cells by their cost, and write numbers into them."""
        table = self.table
        n_actions, n_classes = table.cost.shape
        shade = np.zeros((n_actions + 1, n_classes + 1))
        greatest = max(float(np.abs(table.cost).max()), np.finfo(float).tiny)
        shade[:-1, :-1] = np.abs(table.cost) / greatest
        ax.imshow(shade, **{"cmap": "Greys", "vmin": 0, "vmax": 2.5, "aspect": "auto", **style})
        for a in range(n_actions):
            for k in range(n_classes):
                rows = f"{short(table.rows[a, k])} rows"
                self._write(ax, a, k, table.costs[a][k], rows)
            self._write(ax, a, n_classes, table.by_action[a], "")
        for k in range(n_classes):
            self._write(ax, n_actions, k, table.by_class[k], "")
        self._write(ax, n_actions, n_classes, table.total, "")

    def _rule(self, ax: Any) -> None:
        """Name rows and columns, and draw lines between them."""
        table = self.table
        n_actions, n_classes = table.cost.shape
        ax.set_xticks(range(n_classes + 1), [*shorten(table.classes, 20), "all"])
        ax.set_yticks(range(n_actions + 1), [*shorten(table.actions), "all"])
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        ax.tick_params(length=0)
        ax.set(xlabel="what was true", ylabel="what was done")
        for at in np.arange(0.5, n_classes + 0.5):
            ax.axvline(at, color="0.3" if at == n_classes - 0.5 else "0.85", linewidth=1)
        for at in np.arange(0.5, n_actions + 0.5):
            ax.axhline(at, color="0.3" if at == n_actions - 0.5 else "0.85", linewidth=1)

    def _write(self, ax: Any, row: int, column: int, cost: Estimate, rows: str) -> None:
        limits = f"[{short(cost.low)}, {short(cost.high)}]"
        ax.text(
            column,
            row - (0.22 if rows else 0.12),
            short(cost.value),
            ha="center",
            va="center",
            fontsize="large",
            fontweight="bold",
        )
        ax.text(column, row + 0.08, limits, ha="center", va="center", fontsize="small")
        ax.text(column, row + 0.32, rows, ha="center", va="center", fontsize="small", color="0.1")
