"""What does each way of predicting lose on rows that no part of it had seen? Once, or averaged.

    scores of a part of the folds: floors, weights, strength, best member chosen without that part

Where the answer depends on the draw of the folds, the whole procedure is repeated with other folds,
and the log-odds are averaged: both the left-out scores that are judged and the predictions. Decides
nothing: see classifier.py.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax
from sklearn.base import BaseEstimator, ClassifierMixin

from scarce.auto.classes import ClassFitted, judge_classes
from scarce.auto.members import Fitted, Sample
from scarce.auto.softmax import ClassCombination, class_losses
from scarce.auto.stack import Combination, combine
from scarce.engine.block import Array
from scarce.results import FitReport
from scarce.scoring import score_log_losses

Ids = NDArray[np.intp]


class StackFit(ClassifierMixin, BaseEstimator):  # type: ignore[misc]
    """One fit of members and their weights with folds of its own: part of an AutoClassifier.

    Attributes
    ----------
    members_ : dict of list
    weights_, floors_ : dict
    stack_intercept_ : float or ndarray of shape (n_classes,)
    incomplete_, spare_members_
        For rows that miss more values than usual.

    **Assumes** the columns of the members, in their order.
    """


class Judged(NamedTuple):
    """The ways of predicting with one draw of folds, and their scores of left-out rows.

    Parameters
    ----------
    fitted : mapping of str to Fitted or ClassFitted
    ways : dict of Combination or ClassCombination
    single : str
        The best member.
    scores : dict of ndarray
        Log-odds, or log probabilities of classes, by combinations chosen without the row.
    plain : dict of ndarray
        The same by the combinations that predict; the members had not seen the row.
    """

    fitted: Mapping[str, Fitted] | Mapping[str, ClassFitted]
    ways: Mapping[str, Combination] | Mapping[str, ClassCombination]
    single: str
    scores: dict[str, Array]
    plain: dict[str, Array]

    @property
    def report(self) -> FitReport:
        """How the fit of the stack's weights ended."""
        found = self.ways["auto"].report
        assert found is not None
        return found

    def stack(self, way: str) -> StackFit:
        """Return what predicts in one way."""
        used, fit = self.ways[way], StackFit()
        fit.weights_ = dict(zip(self.fitted, used.weights.tolist(), strict=True))
        fit.floors_ = dict(zip(self.fitted, used.floors.tolist(), strict=True))
        fit.members_ = {n: [*self.fitted[n].models] for n, w in fit.weights_.items() if w > 0}
        fit.stack_intercept_ = used.intercept if isinstance(used, Combination) else used.intercepts
        return fit


def judge(fitted: Mapping[str, Fitted], sample: Sample, floors: Sequence[float]) -> Judged:
    """Combine members of two classes in each way, and score left-out rows."""
    names, members = list(fitted), list(fitted.values())
    plain = names.index("logit") if "logit" in names else None
    prob = np.array([member.whole.left_out for member in members])
    ways, best = combine(prob, sample.y, sample.weight, sample.folds, floors=floors, plain=plain)
    scores = {way: np.empty(len(sample.y)) for way in ways}
    for number, part in enumerate(sample.parts()):
        inside = sample.inside(part)
        kept = np.flatnonzero(~inside)
        tried, _ = combine(
            np.array([member.trials[number].left_out[kept] for member in members]),
            sample.y[kept],
            None if sample.weight is None else sample.weight[kept],
            sample.folds[kept],
            floors=floors,
            plain=plain,
            like=None if sample.nested else ways,
        )
        judged = np.array([member.trials[number].judged for member in members])
        for way, combination in tried.items():
            scores[way][inside] = combination.score(judged)
    by_fits = {way: one.score(prob[:, None]) for way, one in ways.items()}
    return Judged(fitted, ways, names[best], scores, by_fits)


def judge_several(
    fitted: Mapping[str, ClassFitted], sample: Sample, floors: Sequence[float]
) -> Judged:
    """Combine members of several classes in each way, and score left-out rows."""
    names = list(fitted)
    plain = names.index("logit") if "logit" in names else None
    ways, best, scores = judge_classes([*fitted.values()], sample, floors, plain)
    return Judged(fitted, ways, names[best], scores, {})


def mean_scores(scores: Sequence[Array]) -> Array:
    """Return the mean log-odds, or the mean log probabilities made to sum to 1.

    Examples
    --------
    >>> mean_scores([np.array([1.0, -2.0]), np.array([3.0, -2.0])])
    array([ 2., -2.])
    >>> np.exp(mean_scores([np.log([[0.5, 0.5]]), np.log([[0.5, 0.5]])])).round(3)
    array([[0.5, 0.5]])
    """
    if len(scores) == 1:
        return scores[0]
    mean = np.mean(scores, axis=0)
    return np.asarray(log_softmax(mean, axis=1)) if mean.ndim == 2 else np.asarray(mean)


def losses_of(y: Array, score: Array) -> Array:
    """Return the log loss of each row of two classes or of several."""
    if score.ndim == 2:
        return class_losses(y.astype(np.intp), score)
    return score_log_losses(y, score)
