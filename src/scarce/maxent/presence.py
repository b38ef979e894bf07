"""Labels and a pool from what people have: presences and a background, or records of many kinds.

`presence_background` stacks the two. `target_group` takes the records of a whole group of species
(or machines, or customers) as the pool for one of them, so that places visited often are as common
in the pool as among its own records (000 section 3).
"""

from __future__ import annotations

from importlib import import_module
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray
from sklearn.utils import _safe_indexing

from scarce.checks import is_missing
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, listed

Table = Any  # array-like of shape (n, k), or a table of pandas or polars


def presence_background(presence: Table, background: Table) -> tuple[Table, Array]:
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
    Presences that are also in the background count once more in the pool.

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
            "One of presence and background is a table and the other is not, so columns could only "
            "be matched by position.",
            code="table-kind",
            remedy="Give two tables or two arrays.",
        )
    one, two = _array(presence), _array(background)
    if one.ndim != 2 or two.ndim != 2 or one.shape[1] != two.shape[1]:
        raise DataError(
            "presence has shape {presence} and background {background}: both must have the same "
            "columns.",
            code="column-mismatch",
            presence=one.shape,
            background=two.shape,
        )
    _refuse_empty(len(one), len(two))
    return np.concatenate([one, two]), _labels(len(one), len(two))


def _array(values: ArrayLike) -> NDArray[Any]:
    """Rows as an array, masked values as NaN."""
    if isinstance(values, np.ma.MaskedArray):
        return np.asarray(np.ma.filled(values.astype(np.float64), np.nan))
    return np.asarray(values)


def _refuse_empty(presences: int, others: int) -> None:
    if presences == 0 or others == 0:
        raise DataError(
            "There are {presences} presences and {others} background rows: both are needed.",
            code="no-rows",
            presences=presences,
            others=others,
        )


def _labels(presences: int, others: int) -> Array:
    return np.concatenate([np.ones(presences), np.full(others, np.nan)])


def _stacked_tables(presence: Table, background: Table) -> tuple[Table, Array]:
    if type(presence) is not type(background):
        raise DataError(
            "presence is a {presence} table and background a {background} table.",
            code="table-kind",
            presence=type(presence).__module__,
            background=type(background).__module__,
            remedy="Give two of one kind.",
        )
    if hasattr(presence, "column_names"):
        raise DataError(
            "Arrow tables cannot be stacked here.",
            code="table-kind",
            remedy="Use pyarrow.concat_tables for X, with y = 1 for each presence and NaN for each "
            "background row.",
        )
    _refuse_empty(presence.shape[0], background.shape[0])
    names = list(presence.columns)
    if sorted(map(str, names)) != sorted(map(str, background.columns)):
        raise DataError(
            "presence has the columns {presence} and background {background}: both must have the "
            "same columns.",
            code="column-mismatch",
            presence=names,
            background=list(background.columns),
        )
    library = import_module(type(presence).__module__.partition(".")[0])  # pandas or polars
    if library.__name__ == "pandas":
        presence, background = _same_levels(presence, background[names])
    both = library.concat([presence, background[names]])
    return both, _labels(len(presence), len(background))


def _same_levels(one: Table, two: Table) -> tuple[Table, Table]:
    """Give category columns of two pandas tables the levels of both: concat keeps them then."""
    one, two = one.copy(), two.copy()
    for name in one.columns:
        kinds = [type(table[name].dtype).__name__ for table in (one, two)]
        if kinds == ["CategoricalDtype", "CategoricalDtype"]:
            levels = one[name].cat.categories.union(two[name].cat.categories)
            one[name] = one[name].cat.set_categories(levels)
            two[name] = two[name].cat.set_categories(levels)
    return one, two


def target_group(
    X: Table, record_of: ArrayLike, wanted: object, *, places: ArrayLike | None = None
) -> tuple[Table, Array]:
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
        Where each record was made. Records at one place become one row, the first of them, which is
        labelled if the wanted member is among them. By default every record is a row.

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
            "X has shape {shape} and record_of has {entries} entries: give one record per row.",
            code="length-mismatch",
            shape=np.shape(values),
            entries=len(member),
        )
    own = np.array([not is_missing(one) and one == wanted for one in member], bool)
    if not own.any():
        known = sorted({str(one) for one in member.tolist()[:10_000]})
        raise DataError(
            "None of the {count:,} records is of {wanted!r}. The group has {known}.",
            code="unknown-class",
            count=len(member),
            wanted=wanted,
            known=listed([repr(one) for one in known], most=8),
        )
    if places is None:
        return values, np.where(own, 1.0, np.nan)
    first, found = _at_places(np.asarray(places), own)
    return _safe_indexing(values, first), np.where(found, 1.0, np.nan)


def _at_places(
    places: NDArray[Any], own: NDArray[np.bool_]
) -> tuple[NDArray[np.intp], NDArray[np.bool_]]:
    """Return the first record at each place, in their order, and whether `own` occurs there."""
    if len(places) != len(own):
        raise DataError(
            "places has {entries:,} entries for {records:,} records: give one place each.",
            code="length-mismatch",
            entries=len(places),
            records=len(own),
        )
    if places.dtype.kind == "f" and np.isnan(places).any():
        raise DataError(
            "{count:,} records have no place.",
            code="missing-values",
            count=int(np.isnan(places).reshape(len(places), -1).any(axis=1).sum()),
            places=Argument("places"),
            remedy="Leave these records out, or leave {places} out.",
        )
    _, first, place = np.unique(places, axis=0, return_index=True, return_inverse=True)
    found = np.bincount(place.ravel(), weights=own, minlength=len(first)) > 0
    order = np.argsort(first)
    return first[order], found[order]
