"""What would each of several models have said of rows that it did not see? The same folds for all.

    prob of row i = model fitted on all folds but that of i, asked about i

Rows of each class are dealt to the folds alike; whole groups, where rows come in groups. The
constant forecast, the class shares of the other folds, is always among the answers. Assumes that
the rows fit into memory. Judges nothing: see comparison.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import DataError, UsageError
from scarce.records import in_rows
from scarce.rows import ArrayRows, Block, Rows, many
from scarce.rows.block import Array
from scarce.rows.engines import Engine, Progress

CONSTANT = "constant"
Folds = NDArray[np.intp]
Fit = Callable[[Rows], Any]


def deal_folds(
    y: ArrayLike, n_folds: int, *, groups: ArrayLike | None = None, random_state: int = 0
) -> Folds:
    """Return the fold in which each row is left out.

    Parameters
    ----------
    y : array-like of shape (n,)
        Positions of the classes; none missing.
    n_folds : int
    groups : array-like of shape (n,), optional
        Rows of one group are left out together.
    random_state : int

    Examples
    --------
    >>> folds = deal_folds([0] * 8 + [1] * 4, 4)
    >>> np.bincount(folds), np.bincount(folds[8:])
    (array([3, 3, 3, 3]), array([1, 1, 1, 1]))
    """
    from sklearn.model_selection import StratifiedGroupKFold, StratifiedKFold

    place = np.asarray(y).astype(np.intp)
    if n_folds < 2:
        raise UsageError(f"n_folds={n_folds}: give 2 or more, such as 5.")
    counts = np.bincount(place)
    counts = counts[counts > 0]
    if len(counts) < 2:
        raise DataError(
            f"All {in_rows(len(place))} with a label are of one class: models cannot be told apart "
            "by rows of one class. Label rows of another."
        )
    if counts.min() < n_folds:
        advice = "Ask for fewer folds, or label more." if counts.min() > 1 else "Label more of it."
        raise DataError(
            f"The rarest class has {in_rows(int(counts.min()))} with a label, and {n_folds} folds "
            f"need one each. {advice}"
        )
    blank = np.zeros((len(place), 0))
    if groups is None:
        split = StratifiedKFold(n_folds, shuffle=True, random_state=random_state)
        pairs = split.split(blank, place)
    else:
        owner = np.asarray(groups)
        if len(np.unique(owner)) < n_folds:
            raise DataError(
                f"There are {len(np.unique(owner))} groups, and {n_folds} folds need one each. Ask "
                "for fewer folds, or leave the groups out."
            )
        split = StratifiedGroupKFold(n_folds, shuffle=True, random_state=random_state)
        pairs = split.split(blank, place, owner)
    folds = np.empty(len(place), dtype=np.intp)
    for number, (_, test) in enumerate(pairs):
        folds[test] = number
    for number in range(n_folds):
        if len(np.unique(place[folds != number])) < len(counts):
            raise DataError(
                "One class lives in so few groups that a fold takes it away from the fit. Ask for "
                "fewer folds, or label rows of that class in more groups."
            )
    return folds


def left_out(
    fits: Mapping[str, tuple[Fit, Rows]],
    folds: Folds,
    *,
    engine: Engine = None,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Return each model's probabilities of the rows that it did not see, and the constant's.

    Parameters
    ----------
    fits : mapping of name -> (fit, rows)
        `fit(rows)` returns a fitted classifier whose classes are those of the rows. Models may read
        the rows in different ways (categories as codes or as columns of 0 and 1); order, labels and
        weights must be the same.
    folds : ndarray of int, shape (n_labelled,)
        From `deal_folds`, of the rows with a label, in their order.
    engine : None, "threads", "processes", Executor or Dask client
        Who runs the fits.
    progress : callable (done, total), optional

    Returns
    -------
    dict of name -> ndarray of shape (n_labelled, n_classes)
        "constant" first.

    Examples
    --------
    >>> from scarce import GaussianBayes, open_rows
    >>> rng = np.random.default_rng(0)
    >>> y = np.repeat([0, 1], [90, 30])
    >>> rows = open_rows(rng.normal(size=(120, 1)) + y[:, None], label=y)
    >>> found = left_out({"bayes": (GaussianBayes().fit, rows)}, deal_folds(y, 5))
    >>> list(found), found["constant"][0]
    (['constant', 'bayes'], array([0.75, 0.25]))
    """
    if not fits:
        raise UsageError("There is no model to compare: name at least one.")
    first = next(iter(fits.values()))[1]
    y, weight = first.labels(), np.asarray(first.weights(), np.float64)
    known = np.flatnonzero(~np.isnan(y))
    if len(known) != len(folds):
        raise UsageError(
            f"{in_rows(len(known))} have a label, and folds are given for {len(folds):,}: deal the "
            "rows with a label."
        )
    place, weight, n_classes = y[known].astype(np.intp), weight[known], len(first.classes)
    answers = {CONSTANT: np.empty((len(known), n_classes))}
    for number in np.unique(folds):
        seen = folds != number
        shares = np.bincount(place[seen], weight[seen], minlength=n_classes)
        answers[CONSTANT][~seen] = shares / shares.sum()
    tasks, spots = [], []
    for name, (fit, rows) in fits.items():
        X = rows.map(_features)[known]
        answers[name] = np.empty((len(known), n_classes))
        for number in np.unique(folds):
            tasks.append(partial(_ask, fit, X, place, weight, rows.schema, folds == number))
            spots.append((name, folds == number))
    with warnings.catch_warnings():  # a fit's warnings are in its report
        warnings.simplefilter("ignore")
        results = many(tasks, engine, progress=progress)
    for (name, test), prob in zip(spots, results, strict=True):
        answers[name][test] = prob
    return answers


def _ask(
    fit: Fit, X: Array, place: Any, weight: Array, schema: Any, test: NDArray[np.bool_]
) -> Array:
    """Fit on the other folds, and ask about this one."""
    train = ~test
    rows = ArrayRows(X[train], place[train], weight=weight[train], schema=schema, check=False)
    model = fit(rows)
    prob = model.predict_proba(ArrayRows(X[test], schema=schema, check=False))
    return np.asarray(prob, dtype=np.float64)


def _features(block: Block, _: Any) -> Array:
    """Kernel: the features themselves."""
    return block.X
