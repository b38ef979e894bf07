"""One class labelled, its share known: from "labelled or not" to the probability of the class.

    prob(x) = expit(shift + slope * z(x)),   mean of prob over the pool = share
    maximise  sum over labelled log prob + sum over the others log(1 - c prob)
    c = labelled / (n share), the chance of an event to be labelled

z is the log-odds that any classifier, fitted to tell labelled rows from the others, gives to rows
that it did not see (cross-fitting): on its own rows a flexible one is too sure. The second line is
the likelihood of labels that each event gets with the same chance c (Elkan and Noto 2008; Ward and
others 2009), so that a sure event may come near 1: no cap at 1/2, as where the others are taken for
the other class. The shift is by the fit's own rows, which then average to the share, unless it
knows them by heart and gives new ones greater scores: where the left-out rows would average to more
than 1.25 times the share, these set the shift. Assumes that labelled rows are drawn at random among
the events, and that all rows are a fair sample of the population. More labelled rows than the share
allows can only be a sample of their own: then the other rows alone are the population. Does not
estimate the share.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from scipy.optimize import brentq, minimize_scalar
from scipy.sparse import csr_array, issparse
from scipy.special import expit, log_expit, logit
from sklearn.base import BaseEstimator, clone
from sklearn.utils import _safe_indexing
from sklearn.utils.multiclass import check_classification_targets

from scarce.engine.block import Array
from scarce.errors import DataError
from scarce.prior.entropy import balancing_weights, sample_weight_argument

FOLDS = 5
SURE = 1e-4  # probability of being labelled, as against half of the rows, beyond which none is told
STEEPEST = 10.0
BY_HEART = 1.25  # times the share, that left-out rows average to, from which on they set the shift
FULL = 0.99  # part of the events that are labelled, from which on they cannot be part of the pool


def log_odds(prob: Array) -> Array:
    """Return log-odds of the labelled class, bounded."""
    return np.asarray(logit(np.clip(prob[:, 1], SURE, 1.0 - SURE)))


def left_out_log_odds(
    estimator: BaseEstimator, X: ArrayLike, labelled: NDArray[np.bool_], weight: Array | None
) -> Array | None:
    """Return the log-odds of each row by a fit that did not see it; None where rows are too few.

    That is, where a fold would hold all labelled or all unlabelled ones. Equal rows are left out
    together; the order of the rows does not matter, nor do rows of weight 0.
    """
    group = _equal_rows(X, len(labelled))
    counts = np.ones(len(labelled)) if weight is None else (weight > 0).astype(np.float64)
    has = np.bincount(group, counts * labelled) > 0
    seen_at_all = np.bincount(group, counts) > 0
    kinds = [kind for kind in (has, seen_at_all & ~has) if kind.any()]
    n_folds = min(FOLDS, *(int(kind.sum()) for kind in kinds)) if kinds else 0
    if n_folds < 2:
        return None
    drawn = np.random.default_rng(0)
    deal = np.zeros(len(has), dtype=np.intp)
    for kind in kinds:
        where = np.flatnonzero(kind)
        deal[where] = drawn.permutation(len(where)) % n_folds
    fold = deal[group]
    found = np.empty(len(labelled))
    for k in range(n_folds):
        seen, out = np.flatnonzero(fold != k), np.flatnonzero(fold == k)
        if not len(out):
            continue
        part = None if weight is None else weight[seen]
        codes = labelled[seen].astype(int)
        if not all(counts[seen][codes == one].any() for one in (0, 1)):
            return None
        inner = clone(estimator)
        given = sample_weight_argument(inner, balancing_weights(codes, part), balancing=True)
        inner.fit(_safe_indexing(X, seen), codes, **given)
        found[out] = log_odds(inner.predict_proba(_safe_indexing(X, out)))
    return found


def _equal_rows(X: Any, n: int) -> NDArray[np.intp]:
    """Return a number for each row, the same for equal rows, whatever their order.

    Examples
    --------
    >>> _equal_rows([["b", None], ["a", 1.0], ["b", None]], 3)
    array([1, 0, 1])
    """
    try:
        held = _sparse_rows(X) if issparse(X) else np.asarray(X)
        held = held[:, None] if held.ndim == 1 else held
        if held.ndim != 2 or held.shape[0] != n:
            return np.arange(n)
        if held.dtype.kind not in "biuf":  # by their text, in its order: hashes differ by process
            held = np.stack([
                np.unique([str(one) for one in column], return_inverse=True)[1]
                for column in held.T.tolist()
            ], axis=1)  # fmt: skip
        return np.asarray(
            np.unique(np.nan_to_num(held, nan=1.2345e300), axis=0, return_inverse=True)[1].ravel(),
            dtype=np.intp,
        )
    except (TypeError, ValueError):  # a table of its own
        return np.arange(n)


def _sparse_rows(X: Any) -> NDArray[Any]:
    """Return the text of each row of a sparse matrix: its columns and their values."""
    rows = csr_array(X, copy=True)
    rows.sum_duplicates()
    rows.eliminate_zeros()
    ends = zip(rows.indptr[:-1].tolist(), rows.indptr[1:].tolist(), strict=True)
    return np.array(
        [f"{rows.indices[a:b].tolist()} {rows.data[a:b].tolist()}" for a, b in ends], dtype=object
    )


def shift_to_share(z: Array, weight: Array | None, slope: float, share: float) -> float:
    """Return the shift by which expit(shift + slope z) averages to the share.

    Examples
    --------
    >>> z = np.array([-3.0, 0.0, 1.0])
    >>> float(expit(shift_to_share(z, None, 2.0, 0.3) + 2.0 * z).mean().round(6))
    0.3
    """
    held = np.full(len(z), 1.0 / len(z)) if weight is None else weight / weight.sum()
    ends = slope * float(z.min()), slope * float(z.max())
    at = float(logit(share))
    found = brentq(
        lambda one: float(held @ expit(one + slope * z)) - share,
        at - ends[1] - 1e-6,
        at - ends[0] + 1e-6,
    )
    return float(found)


def shift_of_pool(
    z: Array, left_out: Array | None, weight: Array | None, slope: float, share: float
) -> float:
    """Return the shift by which the rows of the pool average to the share.

    Parameters
    ----------
    z, left_out : ndarray of shape (n,)
        Log-odds of being labelled, by the fit to these rows and by fits that did not see them.
    weight : ndarray, optional
    slope, share : float

    Examples
    --------
    A fit that knows its rows by heart is certain of them, and of no other row:

    >>> left_out = np.zeros(100)
    >>> by_heart = np.repeat([-9.0, 9.0], [90, 10])
    >>> float(expit(shift_of_pool(by_heart, left_out, None, 1.0, 0.2)).round(6))
    0.2
    >>> float(expit(shift_of_pool(by_heart, None, None, 1.0, 0.2)).round(2))
    1.0
    """
    found = shift_to_share(z, weight, slope, share)
    if left_out is None:
        return found
    held = np.full(len(z), 1.0 / len(z)) if weight is None else weight / weight.sum()
    if float(held @ expit(found + slope * left_out)) <= BY_HEART * share:
        return found
    return shift_to_share(left_out, weight, slope, share)


def slope_of(z: Array, labelled: NDArray[np.bool_], weight: Array | None, share: float) -> float:
    """Return the slope with the greatest likelihood of the labels.

    Parameters
    ----------
    z : ndarray of shape (n,)
        Log-odds of being labelled, of rows that were left out.
    labelled : ndarray of bool
    weight : ndarray, optional
        Of the rows as a sample of the population.
    share : float
        Base rate of the labelled class among all rows.

    Notes
    -----
    log(slope) has a normal prior of standard deviation 1, worth less than one row.

    Examples
    --------
    Half of the events are labelled; the others look just like these.

    >>> z = np.repeat([-3.0, 2.0], [900, 100])
    >>> slope = slope_of(z, np.arange(1000) >= 950, None, 0.1)
    >>> shift = shift_to_share(z, None, slope, 0.1)
    >>> expit(shift + slope * np.array([-3.0, 2.0])).round(1)
    array([0., 1.])
    """
    weight = np.ones(len(z)) if weight is None else weight
    chance = labelled_part(labelled, weight, share)
    pool = in_population(labelled, weight, share)
    others, of_others = z[~labelled], weight[~labelled] / weight.sum()
    own, of_own = z[labelled], weight[labelled] / weight.sum()
    rows = float(weight.sum() ** 2 / (weight @ weight))

    def loss(log_slope: float) -> float:
        slope = float(np.exp(log_slope))
        shift = shift_to_share(z[pool], weight[pool], slope, share)
        found = float(of_own @ log_expit(shift + slope * own))
        if chance < FULL:
            found += float(of_others @ np.log1p(-chance * expit(shift + slope * others)))
        return -found + 0.5 * log_slope**2 / rows

    bounds = (-np.log(STEEPEST), np.log(STEEPEST))
    best = minimize_scalar(loss, bounds=bounds, method="bounded", options={"xatol": 1e-4})
    return float(np.exp(best.x))


def labelled_part(labelled: NDArray[np.bool_], weight: Array, share: float) -> float:
    """Return which part of the events is labelled, were all rows the population."""
    return float(weight[labelled].sum() / (weight.sum() * share))


def in_population(labelled: NDArray[np.bool_], weight: Array, share: float) -> NDArray[np.bool_]:
    """Return which rows are a sample of the population: all, or those without a label."""
    if labelled_part(labelled, weight, share) < FULL:
        return np.ones(len(labelled), dtype=bool)
    return ~labelled


def known_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes without missing values; refuse measurements."""
    if labels.dtype == object:
        labels = labels[[value is not None and value == value for value in labels]]
        labels = np.array(labels.tolist()) if len(labels) else labels
    elif labels.dtype.kind == "f":
        if np.isinf(labels).any():
            raise DataError(
                "Input y contains infinity or a value too large for dtype('float64').",
                code="infinite-labels",
                remedy="Labels are classes; rows that are not labelled are NaN.",
            )
        labels = labels[~np.isnan(labels)]
    try:
        check_classification_targets(labels)
    except ValueError as error:
        raise DataError(
            "Unknown label type: {kind}.",
            code="label-type",
            kind=str(error).partition(": ")[2].partition(". ")[0] or "unknown",
            remedy="Labels are classes; rows that are not labelled are NaN.",
        ) from None
    return np.unique(labels)


def only_class(labels: NDArray[Any], unlabelled: NDArray[np.bool_]) -> object:
    """Return the class if all labelled rows have the same one, None if there are several.

    Examples
    --------
    >>> print(only_class(np.array([1.0, np.nan]), np.array([False, True])))
    1.0
    """
    if unlabelled.all():
        raise DataError(
            "None of the {count:,} rows is labelled: y is missing throughout.",
            code="no-labels",
            count=len(labels),
            remedy="Label some rows of at least one class.",
        )
    classes = known_classes(labels[~unlabelled])
    if len(classes) > 1:
        return None
    if not unlabelled.any():
        raise DataError(
            "All {count:,} rows are labelled {label!s}: there is only one class, and no unlabelled "
            "row to tell it from.",
            code="one-class",
            count=len(labels),
            label=classes[0],
            remedy="Add rows with y = NaN.",
        )
    return classes[0]
