"""Probabilities as people hand them over: one per row, or a column per class, whatever holds them.

NumPy (masked too), pandas, polars, Arrow and lists. A table whose columns are named after the
classes is put in their order, because nothing is more easily exchanged than two columns of
probabilities. Checks types and names, not values: see cheapest.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.errors import DataError, warn_user


def prob_table(
    values: Any, classes: Sequence[Hashable], name: str = "prob", *, told: bool = False
) -> NDArray[Any]:
    """Return numbers of shape (n,) or (n, n_columns), named columns in the order of the classes.

    Columns without names beside classes that are not sorted are read as they stand, with a warning
    unless the user told their order: scikit-learn's `predict_proba` has the classes sorted.

    Examples
    --------
    >>> import pandas as pd
    >>> prob_table(pd.DataFrame({"spam": [0.9], "ham": [0.1]}), ("ham", "spam"))
    array([[0.1, 0.9]])
    """
    titles = _titles(values)
    if titles is not None and len(titles) > 1:
        values = _in_order(values, titles, classes, name)
    elif hasattr(values, "to_pylist") or hasattr(values, "column_names"):  # Arrow
        values = _columns_of(values, titles) if titles else values.to_pylist()
    if isinstance(values, np.ma.MaskedArray):
        values = np.ma.filled(values.astype(np.float64), np.nan)
    try:
        held = np.asarray(values)
        if held.dtype.kind not in "fiub":
            if held.dtype.kind != "O":
                raise TypeError
            held = held.astype(np.float64)
    except (TypeError, ValueError):
        kind = getattr(values, "dtype", type(values).__name__)
        raise DataError(
            f"{name} holds values of type {kind}, or rows of different lengths: give numbers, such "
            "as predict_proba(X)."
        ) from None
    if titles is None and not told and held.ndim == 2 and held.shape[1] == len(classes):
        _warn_unsorted(classes, name)
    return held


def _warn_unsorted(classes: Sequence[Hashable], name: str) -> None:
    try:
        ordered = sorted(classes) == list(classes)  # type: ignore[type-var]
    except TypeError:  # names of several types have no order that a model could have sorted by
        ordered = True
    if not ordered:
        warn_user(
            f"The columns of {name} are taken as {list(classes)}, the classes of the costs, and "
            f"predict_proba has them sorted: {sorted(classes)}. Use "  # type: ignore[type-var]
            "costs.with_classes(model.classes_), or a table with named columns."
        )


def _titles(values: Any) -> list[Any] | None:
    """Names of the columns of a table; None for what has none."""
    for word in ("column_names", "columns"):
        found = getattr(values, word, None)
        if found is not None and not callable(found):
            return list(found)
    return None


def _in_order(values: Any, titles: list[Any], classes: Sequence[Hashable], name: str) -> Any:
    """Columns in the order of the classes if they bear their names, else as they stand."""
    wanted, found = [str(label) for label in classes], [str(title) for title in titles]
    named = set(wanted) & set(found)
    if not named:
        return _columns_of(values, titles)
    if sorted(wanted) != sorted(found):
        raise DataError(
            f"{name} has the columns {found}, and the classes are {wanted}: name them all alike, "
            "or pass an array with one column per class in the order of the classes."
        )
    return _columns_of(values, [titles[found.index(label)] for label in wanted])


def _columns_of(values: Any, titles: list[Any]) -> NDArray[Any]:
    columns = [values[title] for title in titles]
    plain = [c.to_pylist() if hasattr(c, "to_pylist") else np.asarray(c) for c in columns]
    return np.asarray(plain).T
