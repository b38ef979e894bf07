"""Which values were not recorded, and which labels were not revealed? Ways of hiding both.

mcar  a value is missing whatever the table holds
mar   a row loses the hidden columns with weight exp(sum over the OTHER columns of coef_j x_j)
nmar  the same with the sum over the HIDDEN columns themselves            (004 section 4.2)
Labels are hidden at random, by a reveal rate per class (000), or below a score (002 section 3.1).
Assumes only that values are numbers. Never changes its input; imputes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import Number, read_integer, read_number
from scarce.datasets.records import HiddenLabels
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word

RandomState = int | np.random.Generator

FEATURE_WAYS = ("mcar", "mar", "nmar")
LABEL_WAYS = ("random", "class", "tail")
SHARE = Number(0, 1)
FINITE = Number()


def generator(random_state: RandomState) -> np.random.Generator:
    """Return the random generator for an integer seed; a NumPy generator is used as it is.

    Examples
    --------
    >>> float(generator(3).random()) == float(generator(3).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    whole = isinstance(random_state, int | np.integer) and not isinstance(random_state, bool)
    if not whole or random_state < 0:
        raise UsageError(
            "{argument} must be an integer >= 0 or a NumPy generator, got {value!r}.",
            code="seed-value",
            argument=Argument("random_state"),
            value=random_state,
        )
    return np.random.default_rng(int(random_state))


def matrix(name: str, values: ArrayLike) -> Array:
    """Return a float64 copy of a table of numbers (rows, columns); NaN is a missing value.

    Examples
    --------
    >>> matrix("X", [1, 2])
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: X must have rows and columns, got shape (2,). Use X.reshape(-1, 1) ...
    """
    copy = np.array(values, dtype=np.float64)
    if copy.ndim != 2:
        raise UsageError(
            "{argument} must have rows and columns, got shape {shape}.",
            code="not-a-table",
            argument=Argument(name),
            shape=copy.shape,
            remedy="Use {argument}.reshape(-1, 1) for a single column.",
        )
    return copy


def vector(name: str, values: ArrayLike, *, n: int | None = None) -> Array:
    """Return a float64 copy of a list of numbers, of length `n` if that is given.

    Examples
    --------
    >>> vector("scores", [1, 2], n=3)
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: scores must have 3 values, got shape (2,).
    """
    copy = np.array(values, dtype=np.float64)
    if copy.ndim != 1 or (n is not None and copy.size != n):
        raise UsageError(
            "{argument} must have {count} values, got shape {shape}.",
            code="length-mismatch",
            argument=Argument(name),
            count="one dimension of" if n is None else f"{n:,}",
            shape=copy.shape,
        )
    return copy


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
    """Return a copy of a table with some values missing.

    Parameters
    ----------
    X : array of shape (n, n_columns)
        The table. It is not modified.
    how : {"mcar", "mar", "nmar"}
        "mcar": exactly `share` of the values of `columns`, drawn at random. "mar": exactly `share`
        of the rows lose all of `columns`; which rows depends on the other columns only. "nmar": the
        same, but which rows depends on the values that are then hidden.
    share : float
        Share of values (mcar) or of rows (mar, nmar) to hide, from 0 to 1.
    columns : sequence of int, optional
        Positions of the columns that may lose values. By default all of them for mcar, and a
        random half (at least one, never all) for mar and nmar.
    coef_sd : float
        Standard deviation of the random coefficients of mar and nmar: how strongly missingness
        depends on the values.
    standardise : bool
        Divide the columns behind it by their standard deviation first, so that units do not
        matter. The papers' own design uses the raw values.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of shape (n, n_columns)
        The copy; NaN where hidden.

    Notes
    -----
    **Assumes** that the columns that mar and nmar depend on are complete. Rows are drawn one after
    the other without replacement, each with weight ``exp(values @ coef)``.

    Examples
    --------
    >>> import numpy as np
    >>> hidden = hide_features(np.ones((4, 3)), how="mcar", share=0.25, random_state=0)
    >>> int(np.isnan(hidden).sum())
    3
    """
    table = matrix("X", X)
    refuse_word("how", how, FEATURE_WAYS)
    read_number(share, "share", SHARE)
    rng = generator(random_state)
    n, n_columns = table.shape
    if columns is None:
        if how == "mcar":
            chosen = np.arange(n_columns)
        else:
            if n_columns < 2:
                raise UsageError(
                    "{how} needs at least 2 columns, and X has {count}.",
                    code="too-few-columns",
                    how=Argument("how", how),
                    count=n_columns,
                    columns=Argument("columns", [0]),
                    nmar=Argument("how", "nmar"),
                    mcar=Argument("how", "mcar"),
                    remedy="Pass {columns} with {nmar}, or use {mcar}.",
                )
            chosen = np.sort(rng.choice(n_columns, size=max(1, n_columns // 2), replace=False))
    else:
        chosen = _column_positions(columns, n_columns)
    if how == "mcar":
        cells = rng.choice(n * chosen.size, size=round(share * n * chosen.size), replace=False)
        table[cells // chosen.size, chosen[cells % chosen.size]] = np.nan
        return table
    behind = chosen if how == "nmar" else np.setdiff1d(np.arange(n_columns), chosen)
    rows = _weighted_rows(
        table, behind, round(share * n), read_number(coef_sd, "coef_sd", FINITE), standardise, rng
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
    """Return a copy with values missing in a given number of rows, some of them positive.

    `n_positive` rows are drawn at random among the positive rows and ``n_rows - n_positive`` among
    the others; each of them loses the same number of values (004 section 4.3).

    Parameters
    ----------
    X : array of shape (n, n_columns)
        The table. It is not modified.
    positive : array of shape (n,)
        Which rows are positive: True or 1.0. Anything else, NaN included, is not.
    n_positive : int
        Number of positive rows that lose values.
    n_rows : int
        Number of rows that lose values in all.
    share : float
        Share of its values that each of these rows loses; the count is rounded, at least one.
    random_state : int or numpy.random.Generator
        Source of randomness.

    Returns
    -------
    array of shape (n, n_columns)
        The copy; NaN where hidden.

    Notes
    -----
    **Assumes** nothing. The paper says neither how many values a row loses nor whether "positive"
    includes the test draws; the caller decides both.

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
    read_number(share, "share", Number(0, 1, open_low=True))
    rng = generator(random_state)
    n, n_columns = table.shape
    is_positive = vector("positive", positive, n=n) == 1.0
    inside, outside = np.flatnonzero(is_positive), np.flatnonzero(~is_positive)
    read_integer(n_rows, "n_rows", 0)
    read_number(n_positive, "n_positive", Number(0, n_rows, whole=True), "integer-range")
    if n_positive > inside.size or n_rows - n_positive > outside.size:
        raise UsageError(
            "{positive} positive and {others} other rows are asked for, but X has {inside} "
            "positive and {outside} other rows.",
            code="too-few-rows",
            positive=n_positive,
            others=n_rows - n_positive,
            inside=inside.size,
            outside=outside.size,
            one=Argument("n_rows"),
            other=Argument("n_positive"),
            remedy="Lower {one}, or change {other}.",
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
    """Return the labels that a labelling design keeps, and each row's inclusion probability.

    Parameters
    ----------
    y : array of shape (n,)
        The true labels; NaN where the truth is unknown. It is not modified.
    how : {"random", "class", "tail"}
        "random": exactly `share` (or `n_labels`) of the labels, drawn at random. "class": a label
        of class c is kept with probability ``rates[c]``, independently. "tail": the labels of
        scores above `threshold`, or of the top `share` (or `n_labels`) of the scores.
    share : float, optional
        Share of the known labels to keep, from 0 to 1; the count is rounded.
    n_labels : int, optional
        Number of labels to keep, instead of a share.
    rates : mapping of class to float, optional
        Reveal rate of every class, for "class". Presence-only data: ``{1: 0.3, 0: 0.0}``.
    scores : array of shape (n,), optional
        Scores, for "tail". Of equal scores the first rows are kept.
    threshold : float, optional
        A label is kept if its score is strictly greater, for "tail".
    random_state : int or numpy.random.Generator
        Source of randomness; "tail" needs none.

    Returns
    -------
    HiddenLabels
        `y` with NaN, and `inclusion`, the probability that the design keeps the label.

    Notes
    -----
    **Assumes** that nothing but the design chose the labels. For "class" the inclusion depends on
    the true class, so an analyst does not know it for hidden rows.

    Examples
    --------
    >>> kept = hide_labels([1, 0, 0, 1], how="tail", scores=[0.9, 0.8, 0.1, 0.2], n_labels=2)
    >>> kept.y, kept.inclusion
    (array([ 1.,  0., nan, nan]), array([1., 1., 0., 0.]))
    """
    labels = vector("y", y)
    refuse_word("how", how, LABEL_WAYS)
    known = np.flatnonzero(~np.isnan(labels))
    inclusion = np.zeros(labels.size)
    if how == "tail":
        keep = _tail(known, labels.size, scores, share, n_labels, threshold)
        inclusion[keep] = 1.0
        return HiddenLabels(_keep_only(labels, keep), inclusion, how)
    if random_state is None:
        raise UsageError(
            "{how} draws at random and needs {seed}.",
            code="missing-argument",
            how=Argument("how", how),
            seed=Argument("random_state"),
            example=Argument("random_state", 0),
            remedy="Pass {example}, for example.",
        )
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
    named, allowed = list(columns), Number(0, n_columns - 1, whole=True)
    if not named or len(set(named)) != len(named) or not all(map(allowed.allows, named)):
        raise UsageError(
            "{argument} must name columns from 0 to {last}, each once and at least one; got "
            "{value!r}.",
            code="unknown-column",
            argument=Argument("columns"),
            last=n_columns - 1,
            value=named,
        )
    return np.array(sorted(named), dtype=np.int64)


def _weighted_rows(
    table: Array,
    behind: NDArray[np.int64],
    size: int,
    coef_sd: float,
    standardise: bool,
    rng: np.random.Generator,
) -> NDArray[np.int64]:
    """Draw rows without replacement, with weight exp(values @ random coefficients)."""
    if behind.size == 0:
        raise UsageError(
            "{columns} names all columns, which leaves none for {how} to depend on.",
            code="too-few-columns",
            columns=Argument("columns"),
            how=Argument("how", "mar"),
            remedy="Leave one out.",
        )
    values = table[:, behind]
    gaps = np.isnan(values).sum(axis=0)
    if gaps.any():
        worst = int(np.argmax(gaps))
        raise DataError(
            "Column {column} decides which rows are hidden, but has {count:,} missing values.",
            code="missing-values",
            column=int(behind[worst]),
            count=int(gaps[worst]),
            mcar=Argument("how", "mcar"),
            remedy="Fill them first, or use {mcar}.",
        )
    if standardise:
        deviation = values.std(axis=0)
        values = (values - values.mean(axis=0)) / np.where(deviation > 0.0, deviation, 1.0)
    log_weight = values @ rng.normal(0.0, coef_sd, size=behind.size)
    # The `size` largest of log-weight plus Gumbel noise are successive draws without replacement.
    order = np.argsort(-(log_weight + rng.gumbel(size=table.shape[0])), kind="stable")
    return order[:size].astype(np.int64)


def _keep_only(labels: Array, keep: NDArray[np.int64]) -> Array:
    kept = np.full(labels.size, np.nan)
    kept[keep] = labels[keep]
    return kept


def _label_count(n_known: int, share: float | None, n_labels: int | None) -> int:
    if (share is None) == (n_labels is None):
        raise UsageError(
            "Give exactly one of {one} and {other}.",
            code="argument-conflict",
            one=Argument("share", share),
            other=Argument("n_labels", n_labels),
        )
    if share is not None:
        read_number(share, "share", SHARE)
        return round(share * n_known)
    whole = Number(0, n_known, whole=True)
    return int(read_number(n_labels, "n_labels", whole, "integer-range"))


def _rate_of_each(labels: Array, rates: Mapping[float, float] | None) -> Array:
    if not rates:
        raise UsageError(
            "{how} needs the reveal rate of every class.",
            code="missing-argument",
            how=Argument("how", "class"),
            rates=Argument("rates", {1: 0.3, 0: 0.0}),
            remedy="Pass {rates}, for example.",
        )
    rate_of = np.full(labels.size, np.nan)
    for label, rate in rates.items():
        read_number(rate, f"rates[{label!r}]", SHARE)
        rate_of[labels == float(label)] = rate
    if np.isnan(rate_of).any():
        first = float(labels[np.isnan(rate_of)][0])
        raise UsageError(
            "y holds class {label:g}, for which {rates} has no entry.",
            code="unknown-class",
            label=first,
            rates=Argument("rates"),
            remedy="Add {label:g}: 0.0.",
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
        raise UsageError(
            "{how} keeps the labels of the highest scores, and needs {scores}.",
            code="missing-argument",
            how=Argument("how", "tail"),
            scores=Argument("scores"),
        )
    values = vector("scores", scores, n=n)[known]
    if np.isnan(values).any():
        row = int(known[np.isnan(values)][0])
        raise DataError(
            "{argument} is missing at row {row:,}: every labelled row needs a score.",
            code="missing-values",
            argument=Argument("scores"),
            row=row,
        )
    if threshold is not None:
        if share is not None or n_labels is not None:
            raise UsageError(
                "Give exactly one of {threshold}, {share} and {n_labels}.",
                code="argument-conflict",
                threshold=Argument("threshold", threshold),
                share=Argument("share", share),
                n_labels=Argument("n_labels", n_labels),
            )
        return known[values > read_number(threshold, "threshold", FINITE)]
    size = _label_count(known.size, share, n_labels)
    return known[np.argsort(-values, kind="stable")[:size]]
