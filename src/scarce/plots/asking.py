"""What does a model say about these rows? For the Displays that take a model.

Gives outcomes as 1, 0 and NaN (not labelled) and probabilities of the class that counts as the
event: the second of two, as in scikit-learn, or the one that is named. Leaves no row out.
"""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from scarce.errors import DataError, UsageError, suggest

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
            f"{kind} gives no probabilities (predict_proba, classes_): fit it first, or pass a "
            "classifier that has them; from_predictions takes probabilities from anywhere."
        )
    classes = np.asarray(estimator.classes_).tolist()
    if positive is None:
        if len(classes) != 2:
            raise UsageError(
                f"{kind} knows {len(classes)} classes, and this picture is about one of them: pass "
                f"positive=, one of {_listed(classes)}."
            )
        positive = classes[1]
    elif positive not in classes:
        near = suggest(str(positive), list(map(str, classes)))
        raise UsageError(
            f"positive={positive!r} is no class of {kind}.{near} Its classes are "
            f"{_listed(classes)}."
        )
    labels = np.asarray(y, dtype=object).ravel()
    missing = np.array([_is_missing(one) for one in labels], dtype=bool)
    known = set(classes)
    for row in np.flatnonzero(~missing):
        if labels[row] not in known:
            near = suggest(str(labels[row]), list(map(str, classes)))
            raise DataError(
                f"y holds {labels[row]!r} at row {row:,}, which is no class of {kind}.{near} Its "
                f"classes are {_listed(classes)}."
            )
    outcome = np.where(missing, np.nan, 0.0)
    outcome[[not gone and one == positive for one, gone in zip(labels, missing, strict=True)]] = 1.0
    prob = np.asarray(estimator.predict_proba(X), dtype=np.float64)[:, classes.index(positive)]
    if len(prob) != len(outcome):
        raise DataError(
            f"X has {len(prob):,} rows and y {len(outcome):,} labels: give one label per row."
        )
    return Answers(outcome, prob, positive)


def _is_missing(label: Any) -> bool:
    return label is None or type(label).__name__ in ("NAType", "NaTType") or label != label


def _listed(classes: list[Any]) -> str:
    return ", ".join(map(repr, classes[:8])) + (", ..." if len(classes) > 8 else "")
