"""Importance: what is lost when one variable's values are shuffled over the rows?

Bars from the most important variable down, with the standard error over shuffles. A maxent model
ranks by itself (gain at labelled rows, or AUC); any other classifier is ranked by scikit-learn's
permutation_importance in log loss. Assumes nothing about causes: of two variables that say the same
thing, both look unimportant.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.errors import DataError, UsageError, refuse_word
from scarce.plots.frame import ALONE, COLOURS, GREY, framed
from scarce.plots.words import fit, plain

MEASURES = {"gain": "loss of gain, in nats per labelled row", "auc": "loss of AUC"}


class Bar(NamedTuple):
    """One variable: mean loss over shuffles, and its standard error."""

    variable: str
    loss: float
    error: float


class ImportanceDisplay:
    """Picture of what each variable is worth to a model.

    Parameters
    ----------
    variables : sequence of str
    drops : array-like of shape (n_variables, n_repeats)
        What the model lost in each shuffle.
    unit : str
        What was lost.
    name : str
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.
    bars_ : list of Bar, after `plot`
        What was drawn, the most important first.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> display = ImportanceDisplay(["age", "income"], [[0.1, 0.2], [0.4, 0.6]], unit="AUC").plot()
    >>> [(bar.variable, round(bar.loss, 2), round(bar.error, 2)) for bar in display.bars_]
    [('income', 0.5, 0.1), ('age', 0.15, 0.05)]
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(
        self, variables: Sequence[str], drops: ArrayLike, *, unit: str = "loss", name: str = ""
    ) -> None:
        self.variables = list(map(str, variables))
        self.drops = np.asarray(drops, dtype=np.float64)
        if self.drops.ndim != 2 or len(self.drops) != len(self.variables) or not self.drops.size:
            raise DataError(
                f"drops has shape {self.drops.shape} for {len(self.variables)} variables: give one "
                "row of numbers for each variable, one number for each shuffle."
            )
        self.unit = unit
        self.name = name

    @classmethod
    def from_result(
        cls,
        importance: Any,
        *,
        measure: str = "gain",
        name: str = "",
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Draw what `MaxentClassifier.permutation_importance` returned.

        Parameters
        ----------
        measure : {"gain", "auc"}
            Mean log density at labelled rows, or AUC of labelled rows against the pool.
        """
        refuse_word("measure", measure, tuple(MEASURES))
        drops = importance.gain_drop if measure == "gain" else importance.auc_drop
        held = cls(importance.variables, drops, unit=MEASURES[measure], name=name)
        return held.plot(ax, **options)

    @classmethod
    def from_estimator(
        cls,
        estimator: Any,
        X: Any,
        y: Any,
        *,
        measure: str = "gain",
        label: Any = None,
        scoring: Any = "neg_log_loss",
        sample_weight: Any = None,
        n_repeats: int = 5,
        random_state: int | None = 0,
        name: str | None = None,
        ax: Any = None,
        **options: Any,
    ) -> Self:
        """Shuffle each variable, ask the model again, and draw what was lost.

        Parameters
        ----------
        estimator : fitted classifier
            A MaxentClassifier, or any other of scikit-learn's kind; rows held out from its fit
            show what it is worth on new ones.
        measure, label
            Of a MaxentClassifier: see `from_result` and `permutation_importance`.
        scoring : str or callable
            For any other classifier, as scikit-learn has it.
        sample_weight : array-like of shape (n,), optional
            Weight 2 is a row twice.
        n_repeats, random_state
            Shuffles of each variable.
        **options : those of `plot`
        """
        name = type(estimator).__name__ if name is None else name
        repeat: dict[str, Any] = {
            "sample_weight": sample_weight,
            "n_repeats": n_repeats,
            "random_state": random_state,
        }
        if hasattr(estimator, "permutation_importance"):
            refuse_word("measure", measure, tuple(MEASURES))
            found = estimator.permutation_importance(X, y, label=label, **repeat)
            return cls.from_result(found, measure=measure, name=name, ax=ax, **options)
        from sklearn.inspection import permutation_importance

        table = permutation_importance(estimator, X, y, scoring=scoring, **repeat)
        names = getattr(X, "columns", None)
        if names is None:
            names = getattr(estimator, "feature_names_in_", None)
        if names is None:
            names = [f"x{at}" for at in range(len(table.importances))]
        words = str(scoring).removeprefix("neg_").replace("_", " ")
        unit = f"growth of {words}" if str(scoring).startswith("neg_") else f"loss of {words}"
        return cls(list(names), table.importances, unit=unit, name=name).plot(ax, **options)

    def plot(
        self,
        ax: Any = None,
        *,
        name: str | None = None,
        most: int = 15,
        names: Mapping[str, str] | None = None,
        **style: Any,
    ) -> Self:
        """Draw on the given axes, or on new ones.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Of its own: the bars of two models would hide each other.
        name : str, optional
            Title, instead of the Display's own name.
        most : int
            Variables to draw; the rest is counted in a note.
        names : dict of variable -> str, optional
            What the variables are called in the picture.
        **style : passed to `Axes.barh`
        """
        if not isinstance(most, int | np.integer) or most < 1:
            raise UsageError(f"most={most!r}: give how many variables to draw, 1 or more.")
        mean = self.drops.mean(axis=1)
        repeats = self.drops.shape[1]
        error = np.zeros_like(mean)
        if repeats > 1:
            error = self.drops.std(axis=1, ddof=1) / np.sqrt(repeats)
        order = np.argsort(-mean, kind="stable")[:most]
        bars = [Bar(self.variables[i], float(mean[i]), float(error[i])) for i in order]
        title = self.name if name is None else name
        words = fit([(names or {}).get(bar.variable, bar.variable) for bar in bars])
        tall = 0.42 if any("\n" in one for one in words) else 0.36
        with framed(self, ax, (6.4, 1.3 + tall * len(bars))) as frame:
            frame.alone("ranking")
            look = {"color": COLOURS[0], "alpha": 0.75, "height": 0.62, "gid": ALONE, **style}
            place = np.arange(len(bars))
            frame.ax.barh(place, [bar.loss for bar in bars], **look)
            if repeats > 1:
                frame.ax.errorbar(
                    [bar.loss for bar in bars],
                    place,
                    xerr=[bar.error for bar in bars],
                    linestyle="",
                    color="0.1",
                    capsize=3,
                    linewidth=1.2,
                )
            frame.ax.axvline(0, color=GREY, linewidth=1)
            frame.ax.set_yticks(place, words, linespacing=0.95)
            frame.ax.set_ylim(len(bars) - 0.4, -0.6)
            lines = f"\nlines: standard error over {repeats} shuffles" if repeats > 1 else ""
            frame.ax.set_xlabel(f"{plain(self.unit)}, when shuffled{lines}")
            left = len(self.variables) - len(bars)
            note = f"the {len(bars)} most important of {len(self.variables)}" if left else ""
            frame.title(": ".join(filter(None, [title, note])))
            frame.close(grid="x", legend=False)
        self.bars_ = bars
        return self
