"""Pictures of bars: what each variable is worth to a model, and where the next label is.

Importance is the loss when a variable's values are shuffled over the rows: a maxent model ranks by
itself (gain at labelled rows, or AUC), any other classifier by scikit-learn's
permutation_importance in log loss. It says nothing about causes: of two variables that say the same
thing, both look unimportant. The value of a label is by how much it lowers the standard error of
recall; it assumes what `label_value` does, that the mixture is true.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike

from scarce.checks import whole_number
from scarce.errors import Argument, UsageError, refuse_word
from scarce.plots.mpl import divide, draw_bars, fit, framed
from scarce.plots.picture import importance_picture, label_value_picture

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
        importance_picture(self.variables, self.drops, unit)  # refuses other shapes
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
        picture, order = importance_picture(
            self.variables, self.drops, self.unit, whole_number(most, "most")
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
    >>> from scarce.missed.information import KnownMixture
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
        picture = label_value_picture(found)
        with framed(self, ax, (7.0, 1.2 + 0.42 * len(found))) as frame:
            frame.alone("picture of label values")
            draw_bars(frame, picture, {"height": 0.7, **style}, list(map(str, picture.names)))
            frame.ax.tick_params(axis="y", labelsize="small")
            frame.ax.set_ylabel("score")
            frame.ax.locator_params(axis="x", nbins=5)
            frame.title(title, below="not to be believed yet" if found.warnings else "")
            frame.close(grid="x", legend=False)
        return self
