"""Which values did nobody record, and which labels did nobody reveal? Ways of hiding both.

mcar  a cell goes missing whatever the table holds
mar   a row loses its hidden columns with weight exp(sum over the OTHER columns of coef_j x_j)
nmar  the same with the sum over the HIDDEN columns themselves            (004 section 4.2)
Labels are hidden at random, by a reveal rate per class (000), or below a score (002 section 3.1).
Assumes nothing of the values beyond numbers. Never changes its input; imputes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.datasets.arguments import (
    Array,
    RandomState,
    choice,
    count,
    generator,
    matrix,
    number,
    vector,
)
from scarce.datasets.arguments import share as check_share
from scarce.datasets.records import HiddenLabels
from scarce.errors import DataError, UsageError

FEATURE_WAYS = ("mcar", "mar", "nmar")
LABEL_WAYS = ("random", "class", "tail")


def hide_features(
    X: ArrayLike,
    *,
    how: str = "mcar",
    share: float = 0.5,
    columns: Sequence[int] | None = None,
    coef_sd: float = 1.0,
    standardise: bool = True,
    random_state: RandomState,
) -> Array:
    """Return a copy of a table with some of its cells missing.

    Parameters
    ----------
    X : array of shape (n, n_columns)
        The table. It is not modified.
    how : {"mcar", "mar", "nmar"}
        "mcar": exactly `share` of the cells of `columns`, drawn evenly. "mar": exactly `share` of
        the rows lose all of `columns`, and which rows depends on the other columns only. "nmar":
        the same, but which rows depends on the values that are then hidden.
    share : float
        Share of cells (mcar) or of rows (mar, nmar) that are hidden, from 0 to 1.
    columns : sequence of int, optional
        Positions of the columns that may lose values. By default all of them for mcar, and a
        random half (at least one, never all) for mar and nmar.
    coef_sd : float
        Standard deviation of the random coefficients behind mar and nmar: how strongly the values
        steer the hiding.
    standardise : bool
        Divide the steering columns by their spread first, so that units do not matter. The papers'
        own design uses the raw values.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of shape (n, n_columns)
        The copy; NaN where hidden.

    Notes
    -----
    **Assumes** that the steering columns of mar and nmar are complete. Rows are drawn one after
    the other without replacement, each with weight ``exp(steering @ coef)``.

    Examples
    --------
    >>> import numpy as np
    >>> hidden = hide_features(np.ones((4, 3)), how="mcar", share=0.25, random_state=0)
    >>> int(np.isnan(hidden).sum())
    3
    """
    table = matrix("X", X)
    choice("how", how, FEATURE_WAYS)
    check_share("share", share, closed=True)
    rng = generator(random_state)
    n, n_columns = table.shape
    if columns is None:
        if how == "mcar":
            chosen = np.arange(n_columns)
        else:
            if n_columns < 2:
                raise UsageError(
                    f"how={how!r} needs at least 2 columns and X has {n_columns}: "
                    "pass columns=[0] with how='nmar', or use how='mcar'."
                )
            chosen = np.sort(rng.choice(n_columns, size=max(1, n_columns // 2), replace=False))
    else:
        chosen = _column_positions(columns, n_columns)
    if how == "mcar":
        cells = rng.choice(n * chosen.size, size=round(share * n * chosen.size), replace=False)
        table[cells // chosen.size, chosen[cells % chosen.size]] = np.nan
        return table
    steering = chosen if how == "nmar" else np.setdiff1d(np.arange(n_columns), chosen)
    rows = _steered_rows(
        table, steering, round(share * n), number("coef_sd", coef_sd), standardise, rng
    )
    table[np.ix_(rows, chosen)] = np.nan
    return table


def hide_in_rows(
    X: ArrayLike,
    positive: ArrayLike,
    *,
    n_positive: int,
    n_rows: int = 100,
    share: float = 0.5,
    random_state: RandomState,
) -> Array:
    """Return a copy with cells missing in a set number of rows, of which some are positive.

    `n_positive` rows are drawn evenly among the positive rows and ``n_rows - n_positive`` among
    the others; each of them loses the same number of cells (004 section 4.3).

    Parameters
    ----------
    X : array of shape (n, n_columns)
        The table. It is not modified.
    positive : array of shape (n,)
        Which rows are positive: true, or 1.0. Anything else, NaN too, is not.
    n_positive : int
        How many of the rows that lose cells are positive.
    n_rows : int
        How many rows lose cells in all.
    share : float
        Share of its cells that each of these rows loses; the count is rounded, at least one.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of shape (n, n_columns)
        The copy; NaN where hidden.

    Notes
    -----
    **Assumes** nothing. The paper says neither how many cells a row loses nor whether "positive"
    counts the test draws; the caller decides both.

    Examples
    --------
    >>> import numpy as np
    >>> hidden = hide_in_rows(np.ones((6, 4)), [1, 1, 1, 0, 0, 0], n_positive=1, n_rows=3,
    ...                       random_state=0)
    >>> lost = np.isnan(hidden).sum(axis=1)
    >>> int((lost[:3] > 0).sum()), int((lost[3:] > 0).sum()), int(lost.max())
    (1, 2, 2)
    """
    table = matrix("X", X)
    check_share("share", share, closed=True)
    if share == 0.0:
        raise UsageError(
            "share=0.0 hides no cell at all: give a share greater than 0, such as 0.5."
        )
    rng = generator(random_state)
    n, n_columns = table.shape
    is_positive = vector("positive", positive, n=n) == 1.0
    inside, outside = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    count("n_rows", n_rows, least=0)
    count("n_positive", n_positive, least=0, most=n_rows)
    if n_positive > inside.size or n_rows - n_positive > outside.size:
        raise UsageError(
            f"n_positive={n_positive} and {n_rows - n_positive} other rows are asked for, but X "
            f"has {inside.size} positive and {outside.size} other rows: lower n_rows or change "
            "n_positive."
        )
    rows = np.concatenate(
        [
            rng.choice(inside, size=n_positive, replace=False),
            rng.choice(outside, size=n_rows - n_positive, replace=False),
        ]
    )
    lost = max(1, round(share * n_columns))
    places = np.argsort(rng.random((n_rows, n_columns)), axis=1)[:, :lost]
    table[rows[:, None], places] = np.nan
    return table


def hide_labels(
    y: ArrayLike,
    *,
    how: str = "random",
    share: float | None = None,
    n_labels: int | None = None,
    rates: Mapping[float, float] | None = None,
    scores: ArrayLike | None = None,
    threshold: float | None = None,
    random_state: RandomState | None = None,
) -> HiddenLabels:
    """Return the labels that a labelling design would have left, and every row's chance of one.

    Parameters
    ----------
    y : array of shape (n,)
        The true labels; NaN where not even the truth is known. It is not modified.
    how : {"random", "class", "tail"}
        "random": exactly `share` (or `n_labels`) of the labels, drawn evenly. "class": a label of
        class c stays with probability ``rates[c]``, independently. "tail": the labels of scores
        above `threshold`, or of the top `share` (or `n_labels`) of the scores.
    share : float, optional
        Share of the known labels that stay, from 0 to 1; the count is rounded to the nearest.
    n_labels : int, optional
        The count itself, instead of a share.
    rates : mapping of class to float, optional
        Reveal rate of every class, for "class". Presence-only data: ``{1: 0.3, 0: 0.0}``.
    scores : array of shape (n,), optional
        Scores, for "tail". Equal scores stay in the order of their rows.
    threshold : float, optional
        A label stays if its score is strictly greater, for "tail".
    random_state : int or numpy.random.Generator
        Source of randomness; "tail" needs none.

    Returns
    -------
    HiddenLabels
        `y` with NaN, and `inclusion`, the probability under the design that the label stays.

    Notes
    -----
    **Assumes** that the design chose the labels and nothing else did. For "class" the inclusion
    depends on the true class, so an analyst does not know it for the rows that stayed hidden.

    Examples
    --------
    >>> kept = hide_labels([1, 0, 0, 1], how="tail", scores=[0.9, 0.8, 0.1, 0.2], n_labels=2)
    >>> kept.y, kept.inclusion
    (array([ 1.,  0., nan, nan]), array([1., 1., 0., 0.]))
    """
    labels = vector("y", y)
    choice("how", how, LABEL_WAYS)
    known = np.flatnonzero(~np.isnan(labels))
    inclusion = np.zeros(labels.size)
    if how == "tail":
        keep = _tail(known, labels.size, scores, share, n_labels, threshold)
        inclusion[keep] = 1.0
        return HiddenLabels(_keep_only(labels, keep), inclusion, how)
    if random_state is None:
        raise UsageError(f"how={how!r} draws at random: pass random_state, such as random_state=0.")
    rng = generator(random_state)
    if how == "random":
        size = _label_count(known.size, share, n_labels)
        inclusion[known] = size / max(known.size, 1)
        keep = rng.choice(known, size=size, replace=False)
        return HiddenLabels(_keep_only(labels, keep), inclusion, how)
    inclusion[known] = _rate_of_each(labels[known], rates)
    keep = known[rng.random(known.size) < inclusion[known]]
    return HiddenLabels(_keep_only(labels, keep), inclusion, how)


def _column_positions(columns: Sequence[int], n_columns: int) -> NDArray[np.int64]:
    positions = [count("each of columns", each, least=0, most=n_columns - 1) for each in columns]
    if not positions or len(set(positions)) != len(positions):
        raise UsageError(f"columns={list(columns)!r} is empty or repeats: name each column once.")
    return np.array(sorted(positions), dtype=np.int64)


def _steered_rows(
    table: Array,
    steering: NDArray[np.int64],
    size: int,
    coef_sd: float,
    standardise: bool,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw rows without replacement with weight exp(steering values @ random coefficients)."""
    if steering.size == 0:
        raise UsageError(
            "how='mar' has no column left to depend on: columns names all of them; leave one out."
        )
    values = table[:, steering]
    gaps = np.isnan(values).sum(axis=0)
    if gaps.any():
        worst = int(np.argmax(gaps))
        raise DataError(
            f"Column {int(steering[worst])} decides which rows are hidden but has "
            f"{int(gaps[worst])} missing values itself: fill them first, or use how='mcar'."
        )
    if standardise:
        spread = values.std(axis=0)
        values = (values - values.mean(axis=0)) / np.where(spread > 0.0, spread, 1.0)
    log_weight = values @ rng.normal(0.0, coef_sd, size=steering.size)
    # The `size` greatest of log-weight plus Gumbel noise are successive draws without replacement.
    order = np.argsort(-(log_weight + rng.gumbel(size=table.shape[0])), kind="stable")
    return order[:size].astype(np.int64)


def _keep_only(labels: Array, keep: NDArray[np.int64]) -> Array:
    kept = np.full(labels.size, np.nan)
    kept[keep] = labels[keep]
    return kept


def _label_count(n_known: int, share: float | None, n_labels: int | None) -> int:
    if (share is None) == (n_labels is None):
        raise UsageError(
            f"share={share!r} and n_labels={n_labels!r}: give exactly one of them, such as "
            "share=0.1."
        )
    if share is not None:
        check_share("share", share, closed=True)
        return round(share * n_known)
    return count("n_labels", n_labels, least=0, most=n_known)


def _rate_of_each(labels: Array, rates: Mapping[float, float] | None) -> Array:
    if not rates:
        raise UsageError(
            "how='class' needs the reveal rate of every class: pass rates={1: 0.3, 0: 0.0}."
        )
    rate_of = np.full(labels.size, np.nan)
    for label, rate in rates.items():
        check_share(f"rates[{label!r}]", rate, closed=True)
        rate_of[labels == float(label)] = rate
    if np.isnan(rate_of).any():
        first = float(labels[np.isnan(rate_of)][0])
        raise UsageError(
            f"y holds class {first:g} but rates has no entry for it: add {first:g}: 0.0."
        )
    return rate_of


def _tail(
    known: NDArray[np.int64],
    n: int,
    scores: ArrayLike | None,
    share: float | None,
    n_labels: int | None,
    threshold: float | None,
) -> NDArray[np.int64]:
    if scores is None:
        raise UsageError("how='tail' keeps the labels of the greatest scores: pass scores.")
    values = vector("scores", scores, n=n)[known]
    if np.isnan(values).any():
        row = int(known[np.isnan(values)][0])
        raise DataError(f"scores is missing at row {row}: every labelled row needs a score.")
    if threshold is not None:
        if share is not None or n_labels is not None:
            raise UsageError(
                f"threshold={threshold!r} was given together with share={share!r} and "
                f"n_labels={n_labels!r}: give exactly one of the three."
            )
        return known[values > number("threshold", threshold)]
    size = _label_count(known.size, share, n_labels)
    return known[np.argsort(-values, kind="stable")[:size]]
