"""Labels as they come: which rows are not labelled, which classes are there, what do they weigh?

Any value is a class; missing values (NaN, None, pandas NA) mean *not labelled*; see `label_array`
in io/labels.py for masked values and empty text. Does not judge
whether the classes suffice for a fit.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.utils.multiclass import check_classification_targets

from scarce.engine.block import Array
from scarce.errors import DataError


def unlabelled_rows(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Say which labels are missing values: NaN, None or pandas NA.

    Examples
    --------
    >>> unlabelled_rows(np.array([1.0, np.nan]))
    array([False,  True])
    >>> unlabelled_rows(np.array(["fox", None], dtype=object))
    array([False,  True])
    """
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype == object:
        # NaN is the one value that differs from itself; pandas.NA answers neither yes nor no.
        return np.array(
            [v is None or type(v).__name__ == "NAType" or v != v for v in labels], dtype=bool
        )
    return np.zeros(len(labels), dtype=bool)


def known_classes(labels: NDArray[Any]) -> NDArray[Any]:
    """Return the sorted classes, missing values left out; refuse what is no class."""
    if labels.dtype == object:
        labels = labels[[value is not None and value == value for value in labels]]
        labels = np.array(labels.tolist()) if len(labels) else labels
    elif labels.dtype.kind == "f":
        if np.isinf(labels).any():
            raise DataError(
                "Input y contains infinity or a value too large for dtype('float64'). Labels are "
                "classes; rows that are not labelled are NaN."
            )
        labels = labels[~np.isnan(labels)]
    check_classification_targets(labels)
    return np.unique(labels)


def the_only_class(labels: NDArray[Any], unlabelled: NDArray[np.bool_]) -> Any:
    """Return the class if all labelled rows are of one, None if there are several.

    Examples
    --------
    >>> the_only_class(np.array([1.0, np.nan]), np.array([False, True]))
    np.float64(1.0)
    """
    if unlabelled.all():
        raise DataError(
            f"None of the {len(labels):,} rows is labelled: y is missing throughout. Label some "
            "rows of at least one class."
        )
    classes = known_classes(labels[~unlabelled])
    if len(classes) > 1:
        return None
    if not unlabelled.any():
        raise DataError(
            f"All {len(labels):,} rows are labelled {classes[0]!s}: there is only one class, and "
            "no unlabelled row to tell it from. Add rows with y = NaN."
        )
    return classes[0]


def is_label(labels: NDArray[Any], label: Any) -> NDArray[np.bool_]:
    """Say which rows have the label."""
    return np.asarray(labels == label, dtype=bool)


def class_sums(labels: NDArray[Any], weight: Array | None, classes: NDArray[Any]) -> Array:
    """Return the total weight of each class; rows that are not labelled count for none."""
    weight = np.ones(len(labels)) if weight is None else weight
    return np.array([weight[is_label(labels, label)].sum() for label in classes], dtype=np.float64)
