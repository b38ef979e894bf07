"""Bars: the importance of each variable, and the value of the next label.

Importance is the loss of performance when a variable is permuted over the rows: a maxent model has
its own measure (gain at labelled rows, or AUC); other classifiers use scikit-learn's
permutation_importance in log loss. It says nothing about causes, and two variables with the same
information both look unimportant. The value of a label is the reduction of the standard error of
recall; it assumes, as `label_value` does, that the mixture is true.
"""

from __future__ import annotations

from collections.abc import Callable, Hashable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import read_integer, refuse_other_index
from scarce.errors import Argument, UsageError, refuse_word
from scarce.plots.curves import Classifier
from scarce.plots.mpl import Axes, divide, draw_bars, fit, framed
from scarce.plots.picture import importance_picture, label_value_picture

if TYPE_CHECKING:
    from scarce.maxent.response import Importance
    from scarce.missed.information import MixtureLike
    from scarce.missed.label_value import LabelValue

MEASURES = {"gain": "loss of gain, in nats per labelled row", "auc": "loss of AUC"}


class Bar(NamedTuple):
    """One variable: mean loss over permutations, and its standard error."""

    variable: str
    loss: float
    error: float


class ImportanceDisplay:
    """Permutation importance of the variables of a model.

    Parameters
    ----------
    variables : sequence of str
    drops : array-like of shape (n_variables, n_repeats)
        Loss of performance in each permutation.
    unit : str
        The measure of performance and its unit.
    name : str
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.
    bars_ : list of Bar, after `plot`
        What was drawn, most important first.

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
        importance_picture(self.variables, self.drops, unit)  # checks the shapes
        self.unit = unit
        self.name = name

    @classmethod
    def from_result(
        cls,
        importance: Importance,
        *,
        measure: str = "gain",
        name: str = "",
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Draw the result of `MaxentClassifier.permutation_importance`.

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
        estimator: Classifier,
        X: ArrayLike,
        y: ArrayLike,
        *,
        measure: str = "gain",
        label: Hashable = None,
        scoring: str | Callable[..., float] = "neg_log_loss",
        sample_weight: ArrayLike | None = None,
        n_repeats: int = 5,
        random_state: int | None = 0,
        name: str | None = None,
        ax: Axes | None = None,
        **options: Any,
    ) -> Self:
        """Permute each variable, score the model again, and draw the losses.

        Parameters
        ----------
        estimator : fitted classifier
            A MaxentClassifier or any classifier of scikit-learn. Held-out rows show the importance
            for new data.
        measure, label
            Of a MaxentClassifier: see `from_result` and `permutation_importance`.
        scoring : str or callable
            For other classifiers, as in scikit-learn.
        sample_weight : array-like of shape (n,), optional
            Weight 2 counts a row twice.
        n_repeats, random_state
            Permutations of each variable.
        **options : passed to `plot`
        """
        refuse_other_index(X=X, y=y, sample_weight=sample_weight)
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
        unit = f"increase of {words}" if str(scoring).startswith("neg_") else f"loss of {words}"
        return cls(list(names), table.importances, unit=unit, name=name).plot(ax, **options)

    def plot(
        self,
        ax: Axes | None = None,
        *,
        name: str | None = None,
        most: int = 15,
        names: Mapping[str, str] | None = None,
        **style: Any,
    ) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Empty: the bars of two models would hide each other.
        name : str, optional
            Title, instead of the Display's name.
        most : int
            Most variables to draw; a note counts the rest.
        names : dict of variable -> str, optional
            Names of the variables in the picture.
        **style : passed to `Axes.barh`
        """
        picture, order = importance_picture(
            self.variables, self.drops, self.unit, read_integer(most, "most")
        )
        value = np.asarray(picture.values)
        error = value * 0.0 if picture.high is None else np.asarray(picture.high) - value
        bars = [
            Bar(self.variables[at], float(value[i]), float(error[i])) for i, at in enumerate(order)
        ]
        title = self.name if name is None else name
        words = fit([(names or {}).get(bar.variable, bar.variable) for bar in bars])
        tall = 0.42 if any("\n" in one for one in words) else 0.36
        with framed(self, ax, (6.4, 1.3 + tall * len(bars))) as frame:
            frame.alone("ranking")
            draw_bars(frame, picture, style, words)
            left = len(self.variables) - len(bars)
            note = f"the {len(bars)} most important of {len(self.variables)}" if left else ""
            frame.title(": ".join(filter(None, [title, note])))
            frame.close(grid="x", legend=False)
        self.bars_ = bars
        return self


class LabelValueDisplay:
    """Value of the next label by region of scores.

    Parameters
    ----------
    value : LabelValue
        The result of `label_value`.
    name : str
        Title.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> from scarce.missed.information import KnownMixture
    >>> mixture = KnownMixture(0.008, "normal", [6.56, 0.0], "normal", [8.44, 0.0])
    >>> display = LabelValueDisplay.from_estimator(
    ...     mixture, threshold=9.11, n_rows=5000, labelled_from=8.4)
    >>> print(display.ax_.get_yticklabels()[0].get_text())
    8.045 to 8.4
    3.8 % of rows, 3 % events
    >>> matplotlib.pyplot.close(display.figure_)
    """

    def __init__(self, value: LabelValue, *, name: str = "") -> None:
        if not hasattr(value, "share_of_rows"):
            raise UsageError(
                "{argument} must be a LabelValue, got {kind}.",
                code="wrong-record",
                argument=Argument("value"),
                kind=type(value).__name__,
                remedy="Pass the result of label_value, or use "
                "LabelValueDisplay.from_estimator(mixture, threshold=, n_rows=).",
            )
        self.value = value
        self.name = name

    @classmethod
    def from_estimator(
        cls,
        mixture: MixtureLike,
        *,
        threshold: float,
        name: str = "",
        ax: Axes | None = None,
        style: dict[str, Any] | None = None,
        **options: Any,
    ) -> Self:
        """Compute the values for a fitted ScoreMixture and draw them.

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
    def from_result(
        cls, value: LabelValue, *, name: str = "", ax: Axes | None = None, **style: Any
    ) -> Self:
        """Draw a `LabelValue`."""
        return cls(value, name=name).plot(ax, **style)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **style: Any) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
            Empty: two such pictures would hide each other.
        name : str, optional
            Title, instead of the Display's name.
        **style : passed to `Axes.barh`
        """
        found, title = self.value, self.name if name is None else name
        picture = label_value_picture(found)
        with framed(self, ax, (7.0, 1.2 + 0.42 * len(found))) as frame:
            frame.alone("picture of label values")
            draw_bars(frame, picture, {"height": 0.7, **style}, list(map(str, picture.names)))
            frame.ax.tick_params(axis="y", labelsize="small")
            frame.ax.set_ylabel("score")
            frame.ax.locator_params(axis="x", nbins=5)
            frame.title(title, below="unreliable: see its warnings" if found.warnings else "")
            frame.close(grid="x", legend=False)
        return self
