"""Cost, decision and risk-coverage curves of probabilities."""

from __future__ import annotations

from collections.abc import Callable, Hashable
from typing import Any, Generic, NamedTuple, Protocol, Self, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import is_missing, refuse_other_index
from scarce.errors import Argument, DataError, UsageError, listed, refuse_word, suggest
from scarce.evaluation.corp import ReliabilityCurve, reliability_curve
from scarce.evaluation.coverage import RiskCoverage, risk_coverage
from scarce.evaluation.curves import (
    BrierCurve,
    CostCurve,
    DecisionCurve,
    brier_curve,
    cost_curve,
    decision_curve,
)
from scarce.plots.mpl import Axes, divide, draw_curves, framed
from scarce.plots.picture import (
    Curves,
    brier_picture,
    cost_picture,
    decision_picture,
    reliability_curve_picture,
    risk_picture,
)

Array = NDArray[np.float64]
C = TypeVar("C")  # the record of a curve


class Classifier(Protocol):
    """A fitted classifier with probabilities."""

    classes_: Any

    def predict_proba(self, X: Any, /) -> Any:
        """Return the probability of each class for each row."""


class Answers(NamedTuple):
    """Outcomes and probabilities of one class, row by row."""

    y: Array  # 1 event, 0 no event, NaN not labelled
    prob: Array
    event: Hashable  # the class


def ask(estimator: Classifier, X: ArrayLike, y: ArrayLike, positive: Hashable = None) -> Answers:
    """Return outcomes and predicted probabilities of one class.

    Parameters
    ----------
    estimator : fitted classifier with predict_proba
    X, y : array-like
        Rows and their labels; a missing label stays missing.
    positive : class, optional
        The class that is the event; by default the second of two.

    Examples
    --------
    >>> from sklearn.dummy import DummyClassifier
    >>> model = DummyClassifier(strategy="prior").fit([[0], [0], [0], [0]], list("aaab"))
    >>> ask(model, [[0], [0]], ["b", None])
    Answers(y=array([ 1., nan]), prob=array([0.25, 0.25]), event='b')
    """
    refuse_other_index(X=X, y=y)
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
    event = _event(kind, classes, positive)
    outcome = _outcomes(kind, classes, y, event)
    prob = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, classes.index(event)]
    if len(prob) != len(outcome):
        raise DataError(
            "X has {rows:,} rows but y has {labels:,} labels.",
            code="length-mismatch",
            rows=len(prob),
            labels=len(outcome),
        )
    return Answers(outcome, prob, event)


def _event(kind: str, classes: list[Hashable], positive: Hashable) -> Hashable:
    """Return the class that is the event."""
    named = listed(list(map(repr, classes)), "or", 8)
    if positive is None and len(classes) != 2:
        raise UsageError(
            "{kind} has {count} classes, but this picture shows one.",
            code="several-classes",
            kind=kind,
            count=len(classes),
            positive=Argument("positive"),
            classes=named,
            remedy="Choose it with {positive}: {classes}.",
        )
    if positive is not None and positive not in classes:
        raise UsageError(
            "{argument} must be a class of {kind}, {classes}; got {value!r}.{hint}",
            code="unknown-class",
            argument=Argument("positive"),
            kind=kind,
            classes=named,
            value=positive,
            hint=suggest(str(positive), list(map(str, classes))),
        )
    return classes[1] if positive is None else positive


def _outcomes(kind: str, classes: list[Hashable], y: ArrayLike, event: Hashable) -> Array:
    """Return 1 for the event, 0 for other classes and NaN for missing labels."""
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
    outcome[[not gone and one == event for one, gone in zip(labels, missing, strict=True)]] = 1.0
    return outcome


class CurveDisplay(Generic[C]):
    """Base class of the Displays of curves.

    Parameters
    ----------
    curve : record
        What to draw.
    name : str
        Legend entry.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.
    """

    def __init__(self, curve: C, *, name: str = "") -> None:
        self.curve = curve
        self.name = name

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., C]:
        """Return the function that computes the curve."""
        raise NotImplementedError

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        raise NotImplementedError

    @classmethod
    def from_predictions(
        cls,
        y_true: ArrayLike,
        prob: ArrayLike,
        *,
        name: str = "",
        ax: Axes | None = None,
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
            Probabilities, as the computing function expects them.
        name : str
            Legend entry.
        ax : matplotlib axes, optional
        style : dict, optional
            Passed to `Axes.plot`.
        kind : {"cost", "brier"}
            Of a cost curve: the best threshold at each operating condition, or also the
            probabilities used as given.
        **options : passed to the computing function, the rest to `Axes.plot`.
        """
        compute = cls._compute(kind)
        asked, look = divide(options, compute)
        return cls(compute(y_true, prob, **asked), name=name).plot(ax, **{**look, **(style or {})})

    @classmethod
    def from_estimator(
        cls,
        estimator: Classifier,
        X: ArrayLike,
        y: ArrayLike,
        *,
        positive: Hashable = None,
        name: str | None = None,
        **options: Any,
    ) -> Self:
        """Predict with a fitted classifier and draw; options as in from_predictions.

        Parameters
        ----------
        positive : class, optional
            The class that is the event; by default the second of two.
        name : str, optional
            Legend entry; by default the name of the class of the estimator.
        """
        asked = ask(estimator, X, y, positive)
        name = type(estimator).__name__ if name is None else name
        return cls.from_predictions(asked.y, asked.prob, name=name, **options)

    def plot(self, ax: Axes | None = None, *, name: str | None = None, **style: Any) -> Self:
        """Draw on the given axes, or on a new figure.

        Parameters
        ----------
        ax : matplotlib axes, optional
        name : str, optional
            Legend entry, instead of the Display's name.
        **style : passed to `Axes.plot`
            Line style and marker keep a line readable without colour.
        """
        with framed(self, ax, (6, 4.5)) as frame:
            draw_curves(frame, self.picture(self.name if name is None else name), style)
            frame.close()
        return self


class CostCurveDisplay(CurveDisplay[CostCurve | BrierCurve]):
    """A `CostCurve` or `BrierCurve`: expected cost of acting on scores.

    Parameters
    ----------
    curve : CostCurve or BrierCurve
        What to draw.
    name : str
        Legend entry.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> display = CostCurveDisplay.from_predictions([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.9])
    >>> display.ax_.get_ylabel()
    'normalised expected cost (1 = every row wrong)'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., CostCurve | BrierCurve]:
        refuse_word("kind", kind, ("cost", "brier"))
        return cost_curve if kind == "cost" else brier_curve

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        if isinstance(self.curve, CostCurve):
            return cost_picture(self.curve, name)
        return brier_picture(self.curve, name)


class DecisionCurveDisplay(CurveDisplay[DecisionCurve]):
    """A `DecisionCurve`: net benefit, compared with acting on all rows and on none.

    Parameters
    ----------
    curve : DecisionCurve
        What to draw.
    name : str
        Legend entry.

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
    def _compute(cls, kind: str) -> Callable[..., DecisionCurve]:
        return decision_curve

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        return decision_picture(self.curve, name)


class RiskCoverageDisplay(CurveDisplay[RiskCoverage]):
    """A `RiskCoverage`: mean loss of the rows that are not deferred.

    Parameters
    ----------
    curve : RiskCoverage
        What to draw.
    name : str
        Legend entry.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> display = RiskCoverageDisplay.from_predictions([0, 0, 1, 0, 1], [0.1, 0.2, 0.4, 0.5, 0.9])
    >>> display.ax_.get_xlabel()
    'coverage: rows decided, most confident first'
    >>> matplotlib.pyplot.close(display.figure_)
    """

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., RiskCoverage]:
        return risk_coverage

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        return risk_picture(self.curve, name)


class ReliabilityCurveDisplay(CurveDisplay[ReliabilityCurve]):
    """A `ReliabilityCurve`: a reliability diagram without bins, with the band of chance.

    Parameters
    ----------
    curve : ReliabilityCurve
        What to draw.
    name : str
        Legend entry.

    Attributes
    ----------
    ax_, figure_ : matplotlib objects, after `plot`.

    Examples
    --------
    >>> import matplotlib
    >>> matplotlib.use("Agg")
    >>> rng = np.random.default_rng(0)
    >>> prob = rng.beta(1, 20, 500)
    >>> display = ReliabilityCurveDisplay.from_predictions(rng.random(500) < prob, prob)
    >>> display.ax_.get_xscale(), display.ax_.get_ylabel()
    ('log', 'observed frequency')
    >>> matplotlib.pyplot.close(display.figure_)
    """

    @classmethod
    def _compute(cls, kind: str) -> Callable[..., ReliabilityCurve]:
        return reliability_curve

    def picture(self, name: str = "") -> Curves:
        """Return the picture as data."""
        return reliability_curve_picture(self.curve, name)
