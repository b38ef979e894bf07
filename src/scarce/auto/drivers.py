"""What drives the predictions: how much worse are they without a column, how do they move with it?

    increase_j = mean over left-out rows of (log loss with column j shuffled - log loss)

Each row is predicted by the fit that had not seen it; a column is shuffled over all these rows, not
within folds, which may be small or have one value of it, and values come from rows in proportion to
their weights. All one-hot columns of a category are shuffled together. The error is the standard
error over folds.
A response curve is the mean prediction of these rows with the column set to one value. Assumes that
a column's values may be moved between rows: of two columns that say the same, each looks as if it
did not matter. Says nothing of causes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray
from scipy.special import expit, softmax

from scarce.auto.comparison import fold_gain
from scarce.auto.softmax import class_losses
from scarce.engine.block import Array
from scarce.errors import inconsistent_model
from scarce.results import Record, short
from scarce.scoring import score_log_losses

Ids = NDArray[np.intp]
Score = Callable[[Array, int], Array]  # rows, and the fit (by its fold's place) that predicts them
KEPT = 1000  # left-out rows that are shuffled
CELLS = 100_000  # rows times columns, at most
SHUFFLES = 3
CURVE_ROWS, CURVE_POINTS = 200, 13


class Kept(NamedTuple):
    """Some left-out rows: columns of the members, class, weight, place of the fold."""

    X: Array
    y: Array
    weight: Array
    fold: Ids
    seed: int


@dataclass(frozen=True, eq=False)
class Drivers(Record):
    """How much the predictions need each column, and how they move with it.

    Parameters
    ----------
    columns : tuple of str
        The columns as the user gave them.
    increase, error : ndarray of shape (n_columns,)
        Increase of the log loss of left-out rows when the column is shuffled; standard error over
        folds.
    loss : float
        Log loss of the same rows as they are.
    rows : int
        How many rows were shuffled.
    curves : dict of str to tuple
        Of each column: values, shape (n,), and the mean prediction at each, shape (n, n_classes).
        Values of a category are positions of its levels.
    """

    columns: tuple[str, ...]
    increase: Array
    error: Array
    loss: float
    rows: int
    curves: dict[str, tuple[Array, Array]]

    def __post_init__(self) -> None:
        count = (len(self.columns),)
        if self.increase.shape != count or self.error.shape != count:
            raise inconsistent_model("drivers_", f"must have figures of {count[0]} columns")
        for name, (x, prob) in self.curves.items():
            if name not in self.columns or prob.ndim != 2 or len(x) != len(prob):
                raise inconsistent_model("drivers_", "must have a prediction for each value")

    def ranked(self) -> list[tuple[str, float, float]]:
        """Return column, increase and its standard error, the largest first."""
        order = np.argsort(-self.increase, kind="stable")
        return [(self.columns[i], float(self.increase[i]), float(self.error[i])) for i in order]

    def __str__(self) -> str:
        lines = [f"log loss of {self.rows:,} left-out rows: {short(self.loss)}; more without"]
        for name, increase, error in self.ranked():
            lines.append(f"  {name:<30.30} {short(increase):>9} +- {short(error)}")
        return "\n".join(lines)


def keep_some(
    X: Array, y: Array, weight: Array, folds: Ids, seed: int, most: int | None = None
) -> Kept:
    """Return at most `most` or KEPT rows, evenly spread, half of them of the rarest classes.

    Weights make up for what was left out, class by class.

    Examples
    --------
    >>> y = (np.arange(4000) % 20 == 0) * 1.0
    >>> kept = keep_some(np.zeros((4000, 1)), y, np.ones(4000), np.arange(4000) % 5, 0)
    >>> len(kept.y), int(kept.y.sum()), float(kept.weight.sum())
    (1000, 200, 4000.0)
    """
    most = min(KEPT, max(CELLS // X.shape[1], 100)) if most is None else most
    codes = y.astype(np.intp)
    counts = np.bincount(codes)
    left, chosen = most, []
    share = np.ones(len(counts))
    classes = [k for k in np.argsort(counts, kind="stable").tolist() if counts[k]]
    for place, k in enumerate(classes):
        own = np.flatnonzero(codes == k)
        take = min(len(own), max(left // (len(classes) - place), 1))
        chosen.append(own[np.linspace(0, len(own), take, endpoint=False).astype(np.intp)])
        share[k] = weight[own].sum() / weight[chosen[-1]].sum()
        left -= take
    rows = np.sort(np.concatenate(chosen))
    fold = np.unique(folds, return_inverse=True)[1].ravel()
    return Kept(X[rows], y[rows], weight[rows] * share[codes[rows]], fold[rows], seed)


def find_drivers(
    score: Score,
    kept: Kept,
    names: Sequence[str],
    sources: Sequence[Ids],
    levels: Sequence[Ids | None],
) -> Drivers:
    """Shuffle each column, and set it to some of its values.

    Parameters
    ----------
    score : callable
        Returns log-odds of class 1, or log probabilities of several classes.
    kept : Kept
    names : sequence of str
    sources : sequence of ndarray of int
        For each name the columns of `kept.X` that come from it.
    levels : sequence
        For a category the level that each of these columns stands for; None for a number.
    """
    own = [np.flatnonzero(kept.fold == fold) for fold in range(int(kept.fold.max()) + 1)]

    def losses(X: Array) -> Array:
        lost = np.empty(len(X))
        for fold, rows in enumerate(own):
            if len(rows):
                lost[rows] = _losses(kept.y[rows], score(X[rows], fold))
        return lost

    plain = losses(kept.X)
    increase, error = np.zeros(len(names)), np.zeros(len(names))
    rng = np.random.default_rng(kept.seed)
    orders = [_shuffled(kept.weight, rng) for _ in range(SHUFFLES)]
    curves: dict[str, tuple[Array, Array]] = {}
    for at, columns in enumerate(sources):
        if not len(columns):
            continue  # constant: no member has it
        lost = np.zeros(len(plain))
        for order in orders:
            X = kept.X.copy()
            X[:, columns] = kept.X[np.ix_(order, columns)]
            lost += losses(X) / SHUFFLES
        increase[at], error[at] = fold_gain(lost, plain, kept.weight, kept.fold)
        seen = kept.X[:, columns[0]]
        if not np.isnan(seen).all():
            curves[names[at]] = _curve(score, kept, columns, levels[at])
    loss = float(kept.weight @ plain / kept.weight.sum())
    return Drivers(tuple(names), increase, np.nan_to_num(error), loss, len(plain), curves)


def _shuffled(weight: Array, rng: np.random.Generator) -> Ids:
    """Return for each row the row whose value it gets: each row as often as its weight says.

    Rows of equal weight are a permutation. Events, of which more are kept, would otherwise lend
    their values too often.
    """
    n, ends = len(weight), np.cumsum(weight) / weight.sum()
    lent = np.searchsorted(ends, (np.arange(n) + rng.random()) / n, side="right")
    return np.asarray(rng.permutation(np.minimum(lent, n - 1)), dtype=np.intp)


def _curve(score: Score, kept: Kept, columns: Ids, levels: Ids | None) -> tuple[Array, Array]:
    """Return values of a column, and the mean prediction of the rows with each."""
    n = len(kept.y)
    some = np.linspace(0, n, min(CURVE_ROWS, n), endpoint=False).astype(np.intp)
    if levels is not None:
        values = levels.astype(np.float64)
        settings = np.eye(len(columns))
    else:
        seen = kept.X[:, columns[0]]
        values = np.unique(np.nanquantile(seen, np.linspace(0, 1, CURVE_POINTS), method="nearest"))
        settings = values[:, None]
    found = []
    for setting in settings:
        X = kept.X[some]
        X[:, columns] = setting
        total = 0.0
        for fold in np.unique(kept.fold[some]).tolist():
            rows = kept.fold[some] == fold
            prob = _prob(score(X[rows], fold))
            total = total + kept.weight[some][rows] @ prob
        found.append(total / kept.weight[some].sum())
    return values, np.array(found)


def _prob(score: Array) -> Array:
    if score.ndim == 2:
        return np.asarray(softmax(score, axis=1))
    return np.column_stack([expit(-score), expit(score)])


def _losses(y: Array, score: Array) -> Array:
    if score.ndim == 2:
        return class_losses(y.astype(np.intp), score)
    return score_log_losses(y, score)
