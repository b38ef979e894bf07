"""Rows that miss more values than training rows did: how much does each member then count?

    s = share of a row's columns that are missing (a category is one column)
    s <= usual: the weights of the stack; nine in ten training rows do not exceed usual, or more
                where the stack predicts those clearly better than what follows
    above:      log-odds between those of the two nearest of usual, .15, .4 and .7, linear in s
    s = 1:      the prevalence

Members that are right on complete rows can be surely wrong on incomplete ones: trees take the mean
of a missing value for a value. So floors, weights and intercept are chosen once more for each of
these shares, on left-out rows of which values were hidden at random until that share was missing,
predicted by the fits that had not seen them. Two Gaussian classes, which need no value in place of
a missing one, join there.

Assumes that new rows miss values at random, more or less: how many a row misses counts, which ones
does not. Training rows that miss more than usual show whether that holds for shares like theirs:
where a missing value itself says something, the stack has learnt it, and hiding at random unlearns
it. Does not touch the rows that miss no more than usual.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import log_softmax

from scarce.auto.classes import one_vs_rest
from scarce.auto.comparison import fold_gain
from scarce.auto.drivers import keep_some
from scarce.auto.forms import FORMS, OWN
from scarce.auto.judging import losses_of
from scarce.auto.members import Model, Sample
from scarce.auto.softmax import ClassCombination, combine_classes
from scarce.auto.stack import Combination, combine
from scarce.engine.block import Array
from scarce.errors import DataError, inconsistent_model
from scarce.gaussian.pair import fit_pair

Ids = NDArray[np.intp]
SHARES = (0.15, 0.4, 0.7)  # of the columns, hidden to learn from
APART = 0.05  # by which the first of them exceeds what is usual
USUAL = 0.9  # share of the training rows for which the stack's own weights are meant
MOST_ROWS, MOST_CELLS, MOST_COPIES = 2000, 200_000, 4
TRIED = 20  # rows that show whether a member takes missing values
CLEARLY = 2.0  # standard errors by which the stack is better on training rows that miss more
WORSE = 1.1  # the best member instead of the stack where that loses this many times more


@dataclass(frozen=True, eq=False)
class IncompleteWeights:
    """Floors, weights and intercept for rows of which some share is missing.

    Parameters
    ----------
    share : float
        Of a row's columns.
    members : tuple of str
    floors, weights : ndarray of shape (members,)
    intercept : ndarray of shape (1,), or (classes,) of several
    """

    share: float
    members: tuple[str, ...]
    floors: Array
    weights: Array
    intercept: Array

    def __post_init__(self) -> None:
        """Refuse numbers that do not belong together, as a damaged file may hold them."""
        count, right = len(self.members), 0 < self.share < 1
        for values in (self.floors, self.weights):
            right &= values.shape == (count,) and bool((np.isfinite(values) & (values >= 0)).all())
        if not right or not np.isfinite(self.intercept).all() or (self.floors >= 1).any():
            raise inconsistent_model("incomplete_", "must hold a share, and weights of members")

    def of(self, names: Sequence[str]) -> tuple[Array, Array]:
        """Return floors and weights of members in another order; those not known do not count."""
        known = {name: at for at, name in enumerate(self.members)}
        at = [known.get(name, -1) for name in names]
        floors, weights = np.append(self.floors, 0.5), np.append(self.weights, 0.0)
        return floors[at], weights[at]


class Learner(NamedTuple):
    """What weights for incomplete rows are learnt from.

    Parameters
    ----------
    sample : Sample
        In the members' columns; of two classes `y` is 1 for the rarer one.
    source : ndarray of int, shape (columns of the sample,)
        The table's column that each comes from.
    n_classes : int
    floors : sequence of float
    """

    sample: Sample
    source: Ids
    n_classes: int
    floors: Sequence[float]

    @property
    def usual(self) -> float:
        """The share missing that nine in ten training rows do not exceed."""
        return usual_share(self.sample.X, self.source, self.sample.weights)

    def learn(self, models: Mapping[str, Sequence[Model]]) -> list[IncompleteWeights]:
        """Return the weights for each share above what is usual.

        Parameters
        ----------
        models : mapping of str to sequence of Model
            Of each member, one fit without each fold.
        """
        shares = [share for share in SHARES if share >= self.usual + APART]
        if self.sample.front is None or not shares:
            return []
        few = replace(self.sample.inputs(), X=self._hidden(shares[-1])[0][:TRIED])
        able = {n: fits for n, fits in models.items() if _answers(fits[0], few.of(form_of(n)))}
        return [self._at(share, able) for share in shares] if able else []

    def _at(self, share: float, models: Mapping[str, Sequence[Model]]) -> IncompleteWeights:
        """Return the weights for rows that miss this share."""
        X, y, weight, fold = self._hidden(share)
        prob = np.empty((len(models), len(y), self.n_classes))
        like = self.sample.inputs()
        for number in np.unique(fold).tolist():
            rows = np.flatnonzero(fold == number)
            inputs = replace(like, X=X[rows])
            for place, (name, fits) in enumerate(models.items()):
                taken = inputs.of(form_of(name))
                prob[place, rows] = np.asarray(fits[number].predict_proba(taken))
        found = self._chosen(prob, y, weight, fold)
        intercept = found.intercept if isinstance(found, Combination) else found.intercepts
        names = tuple(models)
        return IncompleteWeights(
            share, names, found.floors, found.weights, np.atleast_1d(np.asarray(intercept))
        )

    def _hidden(self, share: float) -> tuple[Array, Array, Array, Ids]:
        """Return rows with values hidden at random, their classes, weights and folds."""
        sample = self.sample
        most = min(MOST_ROWS, max(MOST_CELLS // sample.X.shape[1], 100))
        kept = keep_some(sample.X, sample.y, sample.weights, sample.folds, sample.seed, most)
        copies = int(np.clip(most // len(kept.y), 1, MOST_COPIES))
        X = np.tile(kept.X, (copies, 1))
        _, first, place = np.unique(self.source, return_index=True, return_inverse=True)
        # The table's columns in the order in which the members' columns name them first: that does
        # not depend on the order in which they were handed over.
        order = np.argsort(np.argsort(first))[place.ravel()]
        missing = missing_share(X, self.source)
        more = np.clip((share - missing) / np.maximum(1.0 - missing, 1e-9), 0.0, 1.0)
        rng = np.random.default_rng([sample.seed, round(100 * share)])
        X[(rng.random((len(X), len(first))) < more[:, None])[:, order]] = np.nan
        y, weight = np.tile(kept.y, copies), np.tile(kept.weight / copies, copies)
        return X, y, weight, np.tile(kept.fold, copies)

    def _chosen(
        self, prob: Array, y: Array, weight: Array, fold: Ids
    ) -> Combination | ClassCombination:
        """Return the stack, the best member or the constant, by loss without the row's fold."""
        codes = y.astype(np.intp)
        ways: Mapping[str, Combination | ClassCombination]
        if self.n_classes == 2:
            ways, _ = combine(prob[..., 1], y, weight, fold, floors=self.floors)
        else:
            ways, _ = combine_classes(prob, codes, weight, fold, floors=self.floors)
        losses = {
            way: losses_of(y, one.left_out) for way, one in ways.items() if one.left_out is not None
        }
        if "auto" not in losses:  # rows of one fold only
            return ways["constant"]
        mean = {way: float(weight @ loss) for way, loss in losses.items()}
        way = "best single" if mean["auto"] > WORSE * mean["best single"] else "auto"
        constant = -np.log(_shares_without_fold(codes, self.n_classes, weight, fold))
        gain, error = fold_gain(constant, losses[way], weight, fold)
        return ways[way if gain > error else "constant"]


def missing_share(X: Array, source: Ids) -> Array:
    """Return the share of each row's columns that are missing.

    Examples
    --------
    >>> X = np.array([[np.nan, np.nan, 1.0], [0.0, 1.0, 1.0]])
    >>> missing_share(X, np.array([0, 0, 4]))              # the first two are levels of a category
    array([0.5, 0. ])
    """
    _, first = np.unique(source, return_index=True)
    return np.asarray(np.isnan(X[:, first]).mean(axis=1))


def usual_share(X: Array, source: Ids, weight: Array) -> float:
    """Return the share missing that nine in ten rows do not exceed.

    Examples
    --------
    >>> X = np.full((20, 4), 1.0)
    >>> X[:3, 0] = np.nan
    >>> usual_share(X, np.arange(4), np.ones(20)), usual_share(X[3:], np.arange(4), np.ones(17))
    (0.25, 0.0)
    """
    share = missing_share(X, source)
    order = np.argsort(share, kind="stable")
    above = np.cumsum(weight[order]) >= USUAL * weight.sum() * (1.0 - 1e-9)
    return float(share[order][above][0])


def raised_usual(usual: float, share: Array, gain: Array, group: Ids) -> float:
    """Return the share missing up to which the stack's own weights are the better ones.

    Parameters
    ----------
    usual : float
    share : ndarray of shape (n,)
        Missing of each training row that misses more than `usual`.
    gain : ndarray of shape (n,)
        Weighted loss of the row, left out, by the weights for incomplete rows, less that by the
        stack's own.
    group : ndarray of int, shape (n,)
        Rows that belong together.

    Examples
    --------
    >>> share, group = np.repeat([0.2, 0.4], 10), np.arange(20)
    >>> raised_usual(0.0, share, np.repeat([0.5, -0.1], 10), group)
    0.2
    >>> raised_usual(0.0, share, np.repeat([-0.5, -0.1], 10), group)
    0.0
    """
    best, most = usual, 0.0
    for one in np.unique(share).tolist():
        inside = share <= one
        total = float(gain[inside].sum())
        error = float(np.sqrt((np.bincount(group[inside], gain[inside]) ** 2).sum()))
        if total > CLEARLY * error and total > most:
            best, most = float(one), total
    return best


def blended(scores: Array, grid: Array, share: Array) -> Array:
    """Return each row's score between those of the two nearest shares of the grid.

    Parameters
    ----------
    scores : ndarray of shape (shares of the grid, n) or (shares of the grid, n, classes)
    grid : ndarray of shape (shares of the grid,)
        Increasing.
    share : ndarray of shape (n,)

    Examples
    --------
    >>> blended(np.array([[0.0, 0.0], [1.0, 1.0]]), np.array([0.0, 0.4]), np.array([0.1, 0.9]))
    array([0.25, 1.  ])
    """
    at = np.clip(np.searchsorted(grid, share, side="right") - 1, 0, max(len(grid) - 2, 0))
    up, rows = np.minimum(at + 1, len(grid) - 1), np.arange(len(share))
    width = np.where(up > at, grid[up] - grid[at], 1.0)
    part = np.clip((share - grid[at]) / width, 0.0, 1.0)
    if scores.ndim == 3:
        mixed = (1.0 - part)[:, None] * scores[at, rows] + part[:, None] * scores[up, rows]
        return np.asarray(log_softmax(mixed, axis=1))
    return np.asarray((1.0 - part) * scores[at, rows] + part * scores[up, rows])


def form_of(name: str) -> str:
    """Return the form in which a member takes rows."""
    return FORMS.get(name, OWN)


def gaussian_fits(sample: Sample, modelled: Ids, prevalence: Array) -> list[Model]:
    """Fit two Gaussian classes without each fold; of several classes, each against the rest."""
    found: list[Model] = []
    for fold in np.unique(sample.folds).tolist():
        X, y, weight = sample.without(frozenset([fold]))
        if len(prevalence) == 2:
            found.append(fit_pair(X, y, weight))
            continue
        pairs: list[Model] = [fit_pair(X, (y == k) * 1.0, weight) for k in modelled.tolist()]
        found.append(one_vs_rest(pairs, modelled, prevalence))
    return found


def _answers(model: Model, rows: Array) -> bool:
    """Whether a member takes rows with missing values: all do but some of the user's own."""
    try:
        model.predict_proba(rows)
    except DataError:
        return False
    return True


def _shares_without_fold(codes: Ids, n_classes: int, weight: Array, fold: Ids) -> Array:
    """Return the share of each row's class among the rows of the other folds."""
    found = np.empty(len(codes))
    for number in np.unique(fold):
        out = fold == number
        counts = np.bincount(codes[~out], weight[~out], minlength=n_classes)
        counts = np.maximum(counts, 0.5)
        found[out] = (counts / counts.sum())[codes[out]]
    return found
