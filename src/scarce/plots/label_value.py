"""Where is the next label worth most?

One bar for each region of scores: by how much one more label there lowers the standard error of
recall, with the region's share of the rows and of events among them written beside it. Assumes what
`label_value` does: that the mixture is true. Chooses no rows: see `choose_labels`.
"""

from __future__ import annotations

from typing import Any, Self

import numpy as np

from scarce.errors import UsageError
from scarce.plots.frame import ALONE, COLOURS, framed, percent
from scarce.plots.keywords import divide
from scarce.results import short


class LabelValueDisplay:
    """Picture of a `LabelValue`.

    Parameters
    ----------
    value : LabelValue
        What `label_value` returned.
    name : str
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from scarce.missed.score_axis import KnownMixture
    >>> mixture = KnownMixture(0.008, "normal", [6.56, 0.0], "normal", [8.44, 0.0])
    >>> display = LabelValueDisplay.from_estimator(
    ...     mixture, threshold=9.11, n_rows=5000, labelled_from=8.4)
    >>> print(display.ax_.get_yticklabels()[0].get_text())
    8.045 to 8.4
    3.8 % of rows, 3 % events
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, value: Any, *, name: str = "") -> None:
        if not hasattr(value, "share_of_rows"):
            raise UsageError(
                f"{type(value).__name__} is no LabelValue: pass what label_value returned, or use "
                "LabelValueDisplay.from_estimator(mixture, threshold=, n_rows=)."
            )
        self.value = value
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        mixture: Any,
        *,
        threshold: float,
        name: str = "",
        ax: Any = None,
        style: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Ask a fitted ScoreMixture and draw.

        Parameters
        ----------
        style : dict, optional
            Passed to `Axes.barh`.
        **options : passed to `label_value`, and the rest to `Axes.barh`.
        """
        from scarce.missed.label_value import label_value

        asked, look = divide(options, label_value, "barh")
        found = label_value(mixture, threshold=threshold, **asked)
        return cls(found, name=name).plot(ax, **{**look, **(style or {})})

    @classmethod
    def from_result(cls, value: Any, *, name: str = "", ax: Any = None, **style: Any) -> Self:
        """Draw a `LabelValue`."""
        return cls(value, name=name).plot(ax, **style)

    def plot(self, ax: Any = None, *, name: str | None = None, **style: Any) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of its own: two such pictures would hide each other.
        name : str, optional
            Title, instead of the Display's own name.
        **style : passed to `Axes.barh`
        """
        found, title = self.value, self.name if name is None else name
        place = np.arange(len(found))
        with framed(self, ax, (7.0, 1.2 + 0.42 * len(found))) as frame:
            frame.alone("picture of label values")
            look = {"color": COLOURS[0], "alpha": 0.75, "height": 0.7, "gid": ALONE, **style}
            bars = frame.ax.barh(place, found.value, **look)
            if found.value[found.best] > 0:
                bars[found.best].set(hatch="////", edgecolor="black", linewidth=1.2, alpha=1.0)
                # The longest bar has room for words in it.
                frame.ax.annotate(
                    "worth most",
                    (found.value[found.best], found.best),
                    xytext=(-6, 0),
                    textcoords="offset points",
                    ha="right",
                    va="center",
                    fontsize="small",
                    bbox={"facecolor": "white", "edgecolor": "none", "pad": 1.5},
                )
            frame.ax.set_yticks(
                place, [self._region(at) for at in range(len(found))], fontsize="small"
            )
            frame.ax.set_ylim(len(found) - 0.4, -0.6)
            frame.ax.set_ylabel("score")
            frame.ax.locator_params(axis="x", nbins=5)
            frame.ax.set_xlabel(
                "what one more label takes off the standard error of recall,\n"
                f"now {short(found.recall_sd)}"
            )
            frame.title(title, below="not to be believed yet" if found.warnings else "")
            frame.close(grid="x", legend=False)
        return self

    def _region(self, at: int) -> str:
        """Write a region's scores, and how many rows and events it holds."""
        found = self.value
        rows, events = _share(found.share_of_rows[at]), _share(found.posterior[at])
        return f"{_between(found.low[at], found.high[at])}\n{rows} of rows, {events} events"


def _between(low: float, high: float) -> str:
    """Write a region of scores.

    Examples
    --------
    >>> _between(1.0, 2.5), _between(-np.inf, 1.0), _between(3.0, np.inf)
    ('1 to 2.5', 'below 1', '3 and above')
    """
    if np.isneginf(low):
        return "all" if np.isposinf(high) else f"below {high:.4g}"
    return f"{low:.4g} and above" if np.isposinf(high) else f"{low:.4g} to {high:.4g}"


def _share(share: float) -> str:
    return percent(float(f"{share:.2g}"))
