"""A confusion matrix with costs: rows and cost of every action in every class."""

from __future__ import annotations

from typing import Any, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import refuse_other_index
from scarce.decisions.costs import CostMatrix
from scarce.evaluation.cost import CostConfusion, cost_confusion
from scarce.plots.mpl import ALONE, Axes, divide, fit, framed
from scarce.plots.picture import percent
from scarce.results import Estimate, short

LETTER = 0.085  # width of a letter, in inches
MANY = 1e6  # larger costs are written with a power of ten


class CostConfusionDisplay:
    """A `CostConfusion` table as a picture.

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
    'action'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, table: CostConfusion, *, name: str = "") -> None:
        self.table = table
        self.name = name

    @classmethod
    def from_decisions(
        cls,
        y_true: ArrayLike,
        actions: ArrayLike,
        costs: CostMatrix | ArrayLike,
        *,
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Compute and draw; options go to `cost_confusion`, the rest to `Axes.imshow`."""
        asked, look = divide(options, cost_confusion, "imshow")
        return cls(cost_confusion(y_true, actions, costs, **asked), name=name).plot(ax, **look)

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        prob: ArrayLike,
        costs: CostMatrix | ArrayLike,
        *,
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Take the cheapest action for each probability, compute and draw."""
        refuse_other_index(y_true=y_true, prob=prob)
        from scarce.decisions.decide import decide

        return cls.from_decisions(y_true, decide(prob, costs), costs, name=name, ax=ax, **options)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **style: Any) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Empty: two tables would hide each other.
        name : str, optional
            Title, instead of the Display's name.
        **style : passed to `Axes.imshow`
        """
        table, title = self.table, self.name if name is None else name
        n_actions, n_classes = table.cost.shape
        size = (2.2 + 1.9 * (n_classes + 1), 1.2 + 0.95 * (n_actions + 1))
        with framed(self, ax, size) as frame:
            frame.alone("table")
            self._fill(frame.ax, style)
            self._rule(frame.ax)
            words = f"cost, with {percent(table.total.level)} intervals"
            frame.title(f"{title}: {words}" if title else words)
        return self

    def _fill(self, ax: Axes, style: dict[str, Any]) -> None:
        """Shade cells by cost, and write numbers into them."""
        table = self.table
        n_actions, n_classes = table.cost.shape
        shade = np.zeros((n_actions + 1, n_classes + 1))
        greatest = max(float(np.abs(table.cost).max()), np.finfo(float).tiny)
        shade[:-1, :-1] = np.abs(table.cost) / greatest
        look = {"cmap": "Greys", "vmin": 0, "vmax": 2.5, "aspect": "auto", "gid": ALONE}
        ax.imshow(shade, **{**look, **style})
        for a in range(n_actions):
            for k in range(n_classes):
                rows = f"{short(table.rows[a, k])} rows"
                self._write(ax, a, k, table.costs[a][k], rows)
            self._write(ax, a, n_classes, table.by_action[a], "")
        for k in range(n_classes):
            self._write(ax, n_actions, k, table.by_class[k], "")
        self._write(ax, n_actions, n_classes, table.total, "")

    def _rule(self, ax: Axes) -> None:
        """Label rows and columns, and draw lines between them."""
        table = self.table
        n_actions, n_classes = table.cost.shape
        wide = max(8, int(0.9 * self._inches(ax) / LETTER))
        ax.set_xticks(range(n_classes + 1), [*fit(table.classes, wide, lines=3), "all"])
        ax.set_yticks(range(n_actions + 1), [*fit(table.actions, 22, lines=3), "all"])
        ax.xaxis.tick_top()
        ax.xaxis.set_label_position("top")
        ax.tick_params(length=0)
        ax.set(xlabel="true class", ylabel="action")
        for at in np.arange(0.5, n_classes + 0.5):
            ax.axvline(at, color="0.3" if at == n_classes - 0.5 else "0.85", linewidth=1)
        for at in np.arange(0.5, n_actions + 0.5):
            ax.axhline(at, color="0.3" if at == n_actions - 0.5 else "0.85", linewidth=1)

    def _write(self, ax: Axes, row: int, column: int, cost: Estimate, rows: str) -> None:
        limits = f"[{_brief(cost.low)}, {_brief(cost.high)}]"
        look: dict[str, Any] = {"ha": "center", "va": "center"}
        value, room = _brief(cost.value), 0.95 * self._inches(ax)
        size = min(12.0, 72 * room / (0.75 * len(value)))
        ax.text(
            column,
            row - (0.22 if rows else 0.12),
            value,
            fontsize=size,
            fontweight="bold",
            **look,
        )
        for down, text in ((0.08, limits), (0.32, rows)):
            size = min(8.33, 72 * room / (0.62 * max(len(text), 1)))
            ax.text(column, row + down, text, fontsize=size, color="0.1", **look)

    def _inches(self, ax: Axes) -> float:
        """Return the width of a cell."""
        return float(ax.bbox.width / ax.figure.dpi / (self.table.cost.shape[1] + 1))


def _brief(value: float) -> str:
    """Write a cost briefly enough for a cell.

    Examples
    --------
    >>> _brief(41234.0), _brief(1.234e9), _brief(-2e6), _brief(0.1234)
    ('41,234', '1.23e9', '-2e6', '0.123')
    """
    if np.isfinite(value) and abs(value) >= MANY:
        digits, _, power = f"{value:.2e}".partition("e")
        return f"{digits.rstrip('0').rstrip('.')}e{int(power)}"
    return short(value)
