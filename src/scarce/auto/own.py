"""How does an estimator of the user's own become a member of the stack?

    left-out rows -> probability of the event from a clone that was fitted on all other rows

It is a path with one setting, so it is judged, floored and weighted as the shipped members are. It
sees the columns in the order of the user, categories as one-hot columns, missing values as NaN, and
the classes as 0 and 1. Where it gives no probabilities, its decision function is read as log-odds:
the weight in the stack gives it its scale. Assumes a classifier in the manner of scikit-learn. Does
not impute for it, and does not choose its settings.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NoReturn

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin, clone, is_classifier
from sklearn.pipeline import Pipeline
from sklearn.utils.validation import has_fit_parameter

from scarce.auto.logits import FitRows
from scarce.auto.members import MEMBERS
from scarce.engine.block import Array
from scarce.errors import (
    Argument,
    DataError,
    Phrase,
    ScarceError,
    UsageError,
    inconsistent_model,
    listed,
    refuse_word,
)

ALL = ("default", "auto")  # words that stand for all shipped members
TAKEN = {*MEMBERS, *ALL, "constant", "flic", "best single"}
MOST_REPEATS = 20  # for each row, on average, in the place of weights
WHOLE = 1e-6  # a ratio of two weights that is so near to an integer is one


@dataclass(frozen=True)
class Own:
    """A named estimator, and where its columns are among those of the members.

    Parameters
    ----------
    name : str
    estimator : estimator
        Not fitted; every fit takes a clone.
    columns : ndarray of int
        Position in the user's (one-hot) order of each column of the members.
    fixed : ndarray
        The user's columns of one row, for those that are constant.
    positive : int
        The class, 0 or 1, whose probability members give.
    """

    name: str
    estimator: BaseEstimator
    columns: NDArray[np.intp]
    fixed: Array
    positive: int

    def __call__(self, seen: FitRows, new: Array, seed: int) -> OwnPath:
        """Fit a clone, and predict rows that it has not seen."""
        X, y, weight = seen
        model = OwnModel()
        model.name_, model.columns_, model.fixed_ = self.name, self.columns, self.fixed
        model.positive_, model.n_features_in_ = self.positive, X.shape[1]
        model.classes_ = np.array([0, 1])
        wide = model.widened(X)
        labels = (y if self.positive else 1.0 - y).astype(np.intp)
        estimator = _seeded(clone(self.estimator), seed)
        settings: dict[str, Array] = {}
        if weight is not None:
            taken = weight_parameter(estimator)
            if taken is not None:
                settings[taken] = weight
            else:
                often = self._repeats(weight)
                wide, labels = np.repeat(wide, often, axis=0), np.repeat(labels, often)
        try:
            model.estimator_ = estimator.fit(wide, labels, **settings)
        except Exception as error:
            _failed(self.name, estimator, "fit", wide, error)
        return OwnPath(model, new)

    def _repeats(self, weight: Array) -> NDArray[np.intp]:
        """Return how often each row stands in place of its weight, or refuse the weights."""
        ratio = weight / weight.min()
        often = np.rint(ratio)
        if (np.abs(ratio - often) > WHOLE * ratio).any() or often.sum() > MOST_REPEATS * len(often):
            raise DataError(
                "The member {member!r} ({kind}) takes no sample_weight, and the weights of the "
                "rows differ by factors that are not small integers.",
                code="member-without-weights",
                member=self.name,
                kind=type(self.estimator).__name__,
                remedy="Leave the member out, or use an estimator whose fit takes sample_weight.",
            )
        return np.asarray(often, dtype=np.intp)


class OwnPath:
    """One fit of an estimator of the user's own: a path with one setting."""

    at_once, patience = 1, 1

    def __init__(self, model: OwnModel, new: Array) -> None:
        self.fitted = model
        self.prob = model.predict_proba(new)[None, :, 1]

    def extend(self, length: int) -> int:
        """Return that there is one setting."""
        return 1

    def model(self, setting: int) -> OwnModel:
        """Return the fitted model."""
        return self.fitted

    def describe(self, setting: int) -> str:
        """Return the estimator's class, of a pipeline that of its last step."""
        estimator = self.fitted.estimator_
        while isinstance(estimator, Pipeline):
            estimator = estimator.steps[-1][1]
        return f"{type(estimator).__name__:.22}"


class OwnModel(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """A fitted estimator of the user's own, on the columns of the members: predicts only.

    Attributes
    ----------
    estimator_ : fitted estimator
    name_ : str
    columns_ : ndarray of int
        Position in the user's order of each column of the members.
    fixed_ : ndarray
        A row in the user's order; its values stand where training columns were constant.
    positive_ : int
        The class of the estimator that is class 1 here.

    **Assumes** the columns of the members, in their order.
    """

    def widened(self, X: Array) -> Array:
        """Return rows in the user's order of the columns."""
        wide = np.tile(self.fixed_, (len(X), 1))
        wide[:, self.columns_] = X
        return wide

    def predict_proba(self, X: ArrayLike) -> Array:
        """Return both classes' probabilities, shape (n, 2)."""
        wide = self.widened(np.asarray(X, dtype=np.float64))
        estimator, prob = self.estimator_, np.empty(0)
        try:
            if hasattr(estimator, "predict_proba"):
                place = int(np.flatnonzero(np.asarray(estimator.classes_) == self.positive_)[0])
                prob = np.asarray(estimator.predict_proba(wide), dtype=np.float64)[:, place]
            else:
                score = np.asarray(estimator.decision_function(wide), dtype=np.float64)
                prob = expit(score if self.positive_ else -score)
        except Exception as error:
            _failed(self.name_, estimator, "prediction", wide, error)
        if prob.shape != (len(wide),) or not ((prob >= 0) & (prob <= 1)).all():
            raise DataError(
                "The member {member!r} ({kind}) gives something else than one probability "
                "between 0 and 1 for each of {rows:,} rows.",
                code="member-not-probability",
                member=self.name_,
                kind=type(estimator).__name__,
                rows=len(wide),
                remedy="Leave the member out, or look at its predict_proba.",
            )
        return np.column_stack([1.0 - prob, prob])

    def predict(self, X: ArrayLike) -> NDArray[Any]:
        """Return the more probable class of each row."""
        return np.asarray(self.classes_[self.predict_proba(X).argmax(axis=1)])

    def _check_loaded(self) -> None:
        if not hasattr(self, "estimator_"):
            return
        wide = len(self.fixed_)
        if self.positive_ not in (0, 1):
            raise inconsistent_model("positive_", "must be 0 or 1")
        if self.fixed_.ndim != 1 or self.fixed_.dtype.kind != "f":
            raise inconsistent_model("fixed_", "must be a row of numbers")
        if self.columns_.shape != (self.n_features_in_,) or not (
            np.isin(self.columns_, np.arange(wide)).all()
        ):
            raise inconsistent_model("columns_", f"must be among {wide} columns")
        if np.shape(self.classes_) != (2,):
            raise inconsistent_model("classes_", "must be two")
        if not callable(getattr(self.estimator_, "fit", None)):
            raise inconsistent_model("estimator_", "must be an estimator")


def read_members(members: object, here: Sequence[str]) -> dict[str, BaseEstimator | None]:
    """Return the members by name: None for those that are shipped, else the user's estimator.

    Parameters
    ----------
    members : "auto", "default" or list
        Names of shipped members, "default" for all that are installed, (name, estimator) pairs.
    here : sequence of str
        The shipped members that are installed.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> list(read_members(["default", ("mine", LogisticRegression())], ["logit", "forest"]))
    ['logit', 'forest', 'mine']
    """
    if isinstance(members, str):
        refuse_word("members", members, ALL)
        members = [members]
    if not isinstance(members, (list, tuple)) or not len(members):
        _refuse_list(members)
    found: dict[str, BaseEstimator | None] = {}
    for one in members:
        if isinstance(one, str):
            found |= dict.fromkeys(here if one in ALL else [one])
            continue
        name, estimator = _pair(one)
        if name in TAKEN or name in found:
            raise UsageError(
                "A member of your own is named {name!r}, which is taken.",
                code="member-name",
                name=name,
                remedy="Give it another name.",
            )
        found[name] = estimator
    return found


def weight_parameter(estimator: BaseEstimator) -> str | None:
    """Return what the estimator's fit calls the weights of rows; None where it takes none.

    Examples
    --------
    >>> from sklearn.linear_model import LogisticRegression
    >>> from sklearn.neighbors import KNeighborsClassifier
    >>> from sklearn.pipeline import make_pipeline
    >>> weight_parameter(make_pipeline(LogisticRegression()))
    'logisticregression__sample_weight'
    >>> weight_parameter(KNeighborsClassifier())
    """
    if isinstance(estimator, Pipeline):
        name, last = estimator.steps[-1]
        inner = weight_parameter(last)
        return None if inner is None else f"{name}__{inner}"
    return "sample_weight" if has_fit_parameter(estimator, "sample_weight") else None


def _pair(one: object) -> tuple[str, BaseEstimator]:
    """Return name and estimator of an entry, or refuse it."""
    if (
        not isinstance(one, (list, tuple))
        or len(one) != 2
        or not isinstance(one[0], str)
        or not one[0].strip()
    ):
        raise UsageError(
            "A member must be a name or a pair of a name and an estimator, got {value}.",
            code="invalid-member",
            value=f"{one!r:.60}",
            example=Phrase('("mine", LogisticRegression())'),
            remedy="Write it as {example}.",
        )
    name, estimator = one
    gives = hasattr(estimator, "predict_proba") or hasattr(estimator, "decision_function")
    if isinstance(estimator, type) or not gives or not is_classifier(estimator):
        raise UsageError(
            "The member {member!r} ({kind}) is not a classifier with predict_proba or "
            "decision_function.",
            code="invalid-member",
            member=name,
            kind=getattr(estimator, "__name__", type(estimator).__name__),
            remedy="Pass an instance of such a classifier, not fitted.",
        )
    return name, estimator


def _refuse_list(members: object) -> NoReturn:
    raise UsageError(
        "{argument} must be 'auto' or a list of at least one member, got {value!r}.",
        code="invalid-parameter",
        argument=Argument("members"),
        value=members,
        known=listed(list(MEMBERS)),
        remedy="Choose from {known}, or add ('mine', estimator).",
    )


def _seeded(estimator: BaseEstimator, seed: int) -> BaseEstimator:
    """Give a seed to whatever would draw a new one at each fit."""
    drawn = {
        name: seed
        for name, value in estimator.get_params(deep=True).items()
        if value is None and name.rpartition("__")[2] == "random_state"
    }
    return estimator.set_params(**drawn) if drawn else estimator


def _failed(name: str, estimator: BaseEstimator, step: str, X: Array, error: Exception) -> NoReturn:
    """Say which member failed, and what helps."""
    if isinstance(error, ScarceError) and not np.isnan(X).any():
        raise error
    missing = int(np.isnan(X).any(axis=0).sum())
    text = "The member {member!r} ({kind}) stopped in its {step}: {reason}."
    remedy = "Try it alone on these rows, or leave it out."
    if missing:
        text += " {missing} of its columns hold missing values (NaN)."
        remedy = "If it needs complete rows, put an imputer before it: {imputer}."
    raise DataError(
        text,
        code="member-failed",
        member=name,
        kind=type(estimator).__name__,
        step=step,
        reason=f"{type(error).__name__}: {' '.join(str(error).split())[:200]}".rstrip(".: "),
        missing=missing,
        imputer=Phrase("make_pipeline(SimpleImputer(), estimator)"),
        remedy=remedy,
    ) from error
