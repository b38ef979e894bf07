"""Pictures of curves: cost, decision and risk-coverage curves of probabilities."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, Self

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import is_missing
from scarce.errors import Argument, DataError, UsageError, listed, refuse_word, suggest
from scarce.evaluation.coverage import risk_coverage
from scarce.evaluation.curves import CostCurve, brier_curve, cost_curve, decision_curve
from scarce.plots.mpl import divide, draw_curves, framed
from scarce.plots.picture import (
    Curves,
    brier_picture,
    cost_picture,
    decision_picture,
    risk_picture,
)

Array = NDArray[np.float64]


class Answers(NamedTuple):
    """Outcomes and probabilities of one class, row by row."""

    y: Array  # 1 event, 0 none, NaN not labelled
    prob: Array
    event: Any  # the class


def ask(estimator: Any, X: Any, y: Any, positive: Any = None) -> Answers:
    """Return outcomes and the estimator's probabilities for them.

    Parameters
    ----------
    estimator : fitted classifier with predict_proba
    X, y : array-like
        Rows and their labels; a missing label stays missing.
    positive : class, optional
        The class that counts as the event; by default the second of two.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="prior").fit([[0], [0], [0], [0]], list("aaab"))
    >>> ask(model, [[0], [0]], ["b", None])
    Answers(y=array([ 1., nan]), prob=array([0.25, 0.25]), event='b')
    """
    kind = type(estimator).__name__
    if not hasattr(estimator, "predict_proba") or not hasattr(estimator, "classes_"):
        raise UsageError(
            "{kind} has no predict_proba or classes_.",
            code="no-probabilities",
            kind=kind,
            remedy="Fit it first, or pass a classifier that has them; from_predictions takes "
            "probabilities from anywhere.",
        )
    classes = np.asarray(estimator.classes_).tolist()
    if positive is None:
        if len(classes) != 2:
            raise UsageError(
                "{kind} has {count} classes, but this picture shows one.",
                code="several-classes",
                kind=kind,
                count=len(classes),
                positive=Argument("positive"),
                classes=listed(list(map(repr, classes)), "or", 8),
                remedy="Choose it with {positive}: {classes}.",
            )
        positive = classes[1]
    elif positive not in classes:
        raise UsageError(
            "{argument} must be a class of {kind}, {classes}; got {value!r}.{hint}",
            code="unknown-class",
            argument=Argument("positive"),
            kind=kind,
            classes=listed(list(map(repr, classes)), "or", 8),
            value=positive,
            hint=suggest(str(positive), list(map(str, classes))),
        )
    labels = np.asarray(y, dtype=object).ravel()
    missing = np.array([is_missing(one) for one in labels], dtype=bool)
    known = set(classes)
    for row in np.flatnonzero(~missing):
        if labels[row] not in known:
            raise DataError(
                "y must hold classes of {kind}, {classes}; got {value!r} at row {row:,}.{hint}",
                code="unknown-class",
                kind=kind,
                classes=listed(list(map(repr, classes)), "or", 8),
                value=labels[row],
                row=int(row),
                hint=suggest(str(labels[row]), list(map(str, classes))),
            )
    outcome = np.where(missing, np.nan, 0.0)
    outcome[[not gone and one == positive for one, gone in zip(labels, missing, strict=True)]] = 1.0
    prob = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, classes.index(positive)]
    if len(prob) != len(outcome):
        raise DataError(
            "X has {rows:,} rows but y has {labels:,} labels.",
            code="length-mismatch",
            rows=len(prob),
            labels=len(outcome),
        )
    return Answers(outcome, prob, positive)


class CurveDisplay:
    """What the Displays of curves share; use one of its children.

    Parameters
    ----------
    curve : record
        What to draw.
    name : str
        What the legend says.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.
    """

    def __init__(self, curve: Any, *, name: str = "") -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., Any]:
        """Return the function that computes the curve."""
        raise NotImplementedError

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        raise NotImplementedError

    @classmethod
    def from_predictions(
        cls,
        y_true: Any,
        prob: ArrayLike,
        *,
        name: str = "",
        ax: Any = None,
        style: dict[str, Any] | None = None,
        kind: str = "cost",
        **options: Any,
    ) -> Self:
        """Compute the curve and draw it.

        Parameters
        ----------
        y_true : array-like of shape (n,)
            Outcomes.
        prob : array-like
            Probabilities, as the computing function takes them.
        name : str
            What the legend says.
        ax : matplotlib axes, optional
        style : dict, optional
            Passed to `Axes.plot`.
        kind : {"cost", "brier"}
            Of a cost curve: the best threshold for each balance of costs, or the probabilities
            used as they are beside it.
        **options : passed to the function that computes the curve, the rest to `Axes.plot`.
        """
        compute = cls._compute(kind)
        asked, look = divide(options, compute)
        return cls(compute(y_true, prob, **asked), name=name).plot(ax, **{**look, **(style or {})})

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
        with framed(self, ax, (6, 4.5)) as frame:
            draw_curves(frame, self.picture(self.name if name is None else name), style)
            frame.close()
        return self


class CostCurveDisplay(CurveDisplay):
    """Picture of a `CostCurve` or a `BrierCurve`: what acting on scores costs.

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

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., Any]:
        refuse_word("kind", kind, ("cost", "brier"))
        return cost_curve if kind == "cost" else brier_curve

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        if isinstance(self.curve, CostCurve):
            return cost_picture(self.curve, name)
        return brier_picture(self.curve, name)


class DecisionCurveDisplay(CurveDisplay):
    """Picture of a `DecisionCurve`: net benefit, beside acting on all rows and on none.

    Parameters
    ----------
    curve : DecisionCurve
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
    >>> display = DecisionCurveDisplay.from_predictions([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.9])
    >>> display.ax_.get_xscale()
    'log'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., Any]:
        return decision_curve

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        return decision_picture(self.curve, name)


class RiskCoverageDisplay(CurveDisplay):
    """Picture of a `RiskCoverage`: how good are the decisions that are not sent to a person?

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

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., Any]:
        return risk_coverage

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        return risk_picture(self.curve, name)
