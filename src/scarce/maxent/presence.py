"""Labels and pool from what people have: presences and a background, or records of many kinds.

`presence_background` stacks the two; `target_group` takes the records of a whole group of species
(or machines, or customers) as the pool of one of them, so that places visited often are as common
in the pool as among its own records (000 section 3).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils import _safe_indexing

from scarce.errors import DataError


def presence_background(presence: Any, background: Any) -> tuple[Any, NDArray[np.float64]]:
    """Return rows and labels: 1 for each presence, missing for each background row.

    Parameters
    ----------
    presence, background : array-like of shape (m, k) and (n, k), or tables
        The same columns in both; pandas and polars tables stay tables.

    Returns
    -------
    X : ndarray or table of shape (m + n, k)
    y : ndarray of shape (m + n,)
        1.0, then NaN: *not labelled*, never 0.

    Notes
    -----
    **Assumes** that the background is a fair sample of the places that could have been recorded.
    Presences that are in the background too count once more in the pool.

    Examples
    --------
    >>> presence_background([[1.0, 2.0]], [[0.0, 0.0], [5.0, np.nan]])[1]
    array([ 1., nan, nan])
    """
    tables = [hasattr(each, "columns") for each in (presence, background)]
    if all(tables):
        return _stacked_tables(presence, background)
    if any(tables):
        raise DataError(
            "One of presence and background is a table and the other is not, so that columns could "
            "only be matched by position. Give two tables, or two arrays."
        )
    one, two = _array(presence), _array(background)
    if one.ndim != 2 or two.ndim != 2 or one.shape[1] != two.shape[1]:
        raise DataError(
            f"presence has shape {one.shape} and background {two.shape}: both must be tables with "
            "the same columns."
        )
    if len(one) == 0 or len(two) == 0:
        raise DataError(
            f"There are {len(one)} presences and {len(two)} background rows: both are needed."
        )
    return np.concatenate([one, two]), _labels(len(one), len(two))


def _array(values: Any) -> NDArray[Any]:
    """Rows as an array, masked cells as NaN."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    return np.asarray(values)


def _labels(presences: int, others: int) -> NDArray[np.float64]:
    return np.concatenate([np.ones(presences), np.full(others, np.nan)])


def _stacked_tables(presence: Any, background: Any) -> tuple[Any, NDArray[np.float64]]:
    if type(presence) is not type(background):
        raise DataError(
            f"presence is a {type(presence).__module__} table and background a "
            f"{type(background).__module__} one. Give two of one kind."
        )
    if hasattr(presence, "column_names"):  # Arrow
        raise DataError(
            "Arrow tables are not stacked here. Use pyarrow.concat_tables for X, with y = 1 for "
            "each presence and NaN for each background row."
        )
    if presence.shape[0] == 0 or background.shape[0] == 0:
        raise DataError(
            f"There are {presence.shape[0]} presences and {background.shape[0]} background rows: "
            "both are needed."
        )
    names = list(presence.columns)
    if sorted(map(str, names)) != sorted(map(str, background.columns)):
        raise DataError(
            f"presence has the columns {names} and background {list(background.columns)}: give "
            "both the same."
        )
    library = import_module(type(presence).__module__.partition(".")[0])  # pandas or polars
    if library.__name__ == "pandas":
        presence, background = _same_levels(presence, background[names])
    both = library.concat([presence, background[names]])
    return both, _labels(len(presence), len(background))


def _same_levels(one: Any, two: Any) -> tuple[Any, Any]:
    """Give category columns of two pandas tables the levels of both: else they stop being some."""
    one, two = one.copy(), two.copy()
    for name in one.columns:
        kinds = [type(table[name].dtype).__name__ for table in (one, two)]
        if kinds == ["CategoricalDtype", "CategoricalDtype"]:
            levels = one[name].cat.categories.union(two[name].cat.categories)
            one[name] = one[name].cat.set_categories(levels)
            two[name] = two[name].cat.set_categories(levels)
    return one, two


def target_group(
    X: Any, record_of: Any, wanted: Any, *, places: Any = None
) -> tuple[Any, NDArray[np.float64]]:
    """Return the pool of a group's records, with those of one member labelled.

    Parameters
    ----------
    X : array-like of shape (n, k), or table
        Features of each record of the group.
    record_of : array-like of shape (n,)
        Which member of the group (species, machine, customer) each record is of.
    wanted : value
        The member to model.
    places : array-like of shape (n,) or (n, 2), optional
        Where each record was made. Records at one place become one row, the first of them, labelled
        where the wanted member is among them; without it every record is a row.

    Returns
    -------
    X : ndarray or table of shape (rows, k)
    y : ndarray of shape (rows,)
        1.0 where the wanted member was recorded, NaN elsewhere.

    Notes
    -----
    **Assumes** that all members were recorded with the same effort at the same places.

    Examples
    --------
    >>> X = [[1.0], [1.0], [2.0], [3.0]]
    >>> target_group(X, ["owl", "wren", "wren", "owl"], "owl", places=[7, 7, 8, 9])
    (array([[1.],
           [2.],
           [3.]]), array([ 1., nan,  1.]))
    """
    values, member = (X if hasattr(X, "columns") else _array(X)), np.asarray(record_of)
    if np.ndim(values) != 2 or len(values) != len(member):
        raise DataError(
            f"X has shape {values.shape} and record_of {len(member)} entries: give one record per "
            "row of a table."
        )
    own = np.array([type(one).__name__ != "NAType" and one == wanted for one in member], bool)
    if not own.any():
        known = sorted({str(one) for one in member.tolist()[:10_000]})
        raise DataError(
            f"None of the {len(member)} records is of {wanted!r}. The group has "
            f"{', '.join(map(repr, known[:8]))}."
        )
    if places is None:
        return values, np.where(own, 1.0, np.nan)
    where = np.asarray(places)
    if len(where) != len(member):
        raise DataError(
            f"places has {len(where)} entries for {len(member)} records: give one place each."
        )
    if where.dtype.kind == "f" and np.isnan(where).any():
        raise DataError(
            f"{int(np.isnan(where).reshape(len(where), -1).any(axis=1).sum())} records have no "
            "place, so that it cannot be told which of them share one. Leave them out, or leave "
            "places= away."
        )
    _, first, place = np.unique(where, axis=0, return_index=True, return_inverse=True)
    found = np.bincount(place.ravel(), weights=own, minlength=len(first)) > 0
    order = np.argsort(first)
    return _safe_indexing(values, first[order]), np.where(found[order], 1.0, np.nan)
