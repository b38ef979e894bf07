"""What would each of several models have said of rows that it did not see? The same folds for all.

    prob of row i = model fitted on all folds but that of i, asked about i

Rows of each class are dealt to the folds alike. Rows that belong together stay in one fold: copies
of a row, and rows of one group (see engine/folds.py). The constant forecast, the class shares of
the other folds, is always among the answers. Assumes that the rows fit into memory. Judges
nothing: see comparison.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Mapping
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array, Block
from scarce.engine.executors import Engine, Progress, many
from scarce.engine.folds import RowGroups, deal_folds, row_groups
from scarce.engine.memory import ArrayRows
from scarce.engine.rows import Rows
from scarce.errors import DataError, UsageError, warn_user
from scarce.results import in_rows

CONSTANT = "constant"
Folds = NDArray[np.intp]
Fit = Callable[..., Any]


class Dealt(NamedTuple):
    """Folds of the rows with a label, and which of these rows belong together.

    Parameters
    ----------
    folds : ndarray of int, shape (n_labelled,)
        The fold in which each row is left out.
    groups : RowGroups
    """

    folds: Folds
    groups: RowGroups


def folds_of(
    rows: Rows, n_folds: int, *, groups: ArrayLike | None = None, random_state: int = 0
) -> Dealt:
    """Deal rows to the folds in which they are left out.

    Parameters
    ----------
    rows : Rows
        Those without a label take no part.
    n_folds : int
    groups : array-like of shape (n_rows,), optional
        Rows of one group are left out together; a missing value is a group of its own.
    random_state : int

    Examples
    --------
    >>> from scarce import open_rows
    >>> y = np.repeat([0, 1], [8, 4])
    >>> dealt = folds_of(open_rows(np.arange(12.0)[:, None], label=y), 4)
    >>> np.bincount(dealt.folds), np.bincount(dealt.folds[8:])
    (array([3, 3, 3, 3]), array([1, 1, 1, 1]))
    """
    if n_folds < 2:
        raise UsageError(f"n_folds={n_folds}: give 2 or more, such as 5.")
    y, weight = rows.labels(), np.asarray(rows.weights(), np.float64)
    codes = np.where(np.isnan(y) | (weight == 0), -1, y).astype(np.intp)
    counts = np.bincount(codes[codes >= 0])
    counts = counts[counts > 0]
    if len(counts) < 2:
        raise DataError(
            f"All {in_rows(int(counts.sum()))} with a label are of one class: models cannot be "
            "told apart by rows of one class. Label rows of another."
        )
    if counts.min() < n_folds:
        advice = "Ask for fewer folds, or label more." if counts.min() > 1 else "Label more of it."
        raise DataError(
            f"The rarest class has {in_rows(int(counts.min()))} with a label, and {n_folds} folds "
            f"need one each. {advice}"
        )
    found = row_groups(rows, codes, weight, groups=groups, seed=random_state)
    if found.fewest(codes) < n_folds:
        raise DataError(
            f"The rows of some class stand in {found.fewest(codes)} of {found.n_groups:,} groups "
            f"of rows that belong together, and {n_folds} folds need one each. Ask for fewer "
            "folds, label rows of that class in more groups, or leave the groups out."
        )
    folds = deal_folds(found, codes, weight, n_folds)[~np.isnan(y)]
    return Dealt(np.maximum(folds, 0), found)  # rows of weight 0 count in no fold


def left_out(
    fits: Mapping[str, tuple[Fit, Rows]],
    folds: Folds,
    *,
    groups: ArrayLike | None = None,
    engine: Engine = None,
    progress: Progress | None = None,
) -> dict[str, Array]:
    """Return each model's probabilities of the rows that it did not see, and the constant's.

    Parameters
    ----------
    fits : mapping of name -> (fit, rows)
        `fit(rows)`, or with groups `fit(rows, groups=...)`, returns a fitted classifier whose
        classes are those of the rows. Models may read the rows in different ways (categories as
        codes or as columns of 0 and 1); order, labels and weights must be the same.
    folds : ndarray of int, shape (n_labelled,)
        From `folds_of`, of the rows with a label, in their order.
    groups : array-like of shape (n_labelled,), optional
        Given to every fit as `groups`, for what it chooses on left-out rows of its own.
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
    >>> found = left_out({"bayes": (GaussianBayes().fit, rows)}, folds_of(rows, 5).folds)
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
    together = None if groups is None else np.asarray(groups)
    tasks, spots = [], []
    for name, (fit, rows) in fits.items():
        X = rows.map(_features)[known]
        answers[name] = np.empty((len(known), n_classes))
        for number in np.unique(folds):
            out = folds == number
            tasks.append(partial(_ask, fit, X, place, weight, together, rows.schema, out))
            spots.append((name, out))
    with warnings.catch_warnings():  # a fit's warnings are in its report
        warnings.simplefilter("ignore")
        results = many(tasks, engine, progress=progress)
    unfinished: dict[str, int] = {}
    for (name, test), (prob, converged) in zip(spots, results, strict=True):
        answers[name][test] = prob
        unfinished[name] = unfinished.get(name, 0) + (not converged)
    for name, count in unfinished.items():
        if count:
            warn_user(
                f"{name}: {count} of {len(np.unique(folds))} fits did not converge, so its figures "
                "are not those of a finished fit. Give it more iterations, or another setting."
            )
    return answers


def _ask(
    fit: Fit,
    X: Array,
    place: Any,
    weight: Array,
    groups: Any,
    schema: Any,
    test: NDArray[np.bool_],
) -> tuple[Array, bool]:
    """Fit on the other folds, and ask about this one; and whether the fit converged."""
    train = ~test
    rows = ArrayRows(X[train], place[train], weight=weight[train], schema=schema, check=False)
    model = fit(rows) if groups is None else fit(rows, groups=groups[train])
    prob = model.predict_proba(ArrayRows(X[test], schema=schema, check=False))
    converged = getattr(getattr(model, "report_", None), "converged", True)
    return np.asarray(prob, dtype=np.float64), bool(converged)


def _features(block: Block, _: Any) -> Array:
    """Kernel: the features themselves."""
    return block.X
