"""The classes, their default shares, and the shares that maxent gives them.

    share(y) proportional to default(y) * exp(-divergence(y))                        (000 eq 5)
    with bounds: the closest shares within the bounds                     (000, below Theorem 2)

A class without labels has divergence 0: it looks like the pool. Assumes nothing about how often a
class is labelled; that is the point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.checks import by_name, is_number, read_by_class, read_shares
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError

Classes = NDArray[Any]


def settle_classes(
    found: Classes, labelled: NDArray[np.bool_], given: ArrayLike | None
) -> tuple[Classes, NDArray[np.intp]]:
    """Return all classes, and the positions among them of the classes with labels.

    Parameters
    ----------
    found : ndarray
        Sorted classes of the data.
    labelled : ndarray of bool
        Which of them have labelled rows with weight.
    given : sequence or None
        All classes, if the user named them.

    Examples
    --------
    >>> settle_classes(np.array([1.0]), np.array([True]), None)
    (array([0., 1.]), array([1]))
    >>> settle_classes(np.array(["owl"], dtype=object), np.array([True]), None)[0]
    array(['(not owl)', 'owl'], dtype=object)
    """
    if given is None:
        if len(found) > 1:
            return found, np.flatnonzero(labelled)
        return np.concatenate([_other(found), found]), np.array([1])
    listed = np.asarray(given)
    try:
        every = np.unique(listed)
    except TypeError:
        every = listed[:0]
    if listed.dtype.kind == "f" and np.isnan(listed).any():
        every = listed[:0]
    if len(every) < 2 or len(every) != len(listed):
        raise UsageError(
            "{argument} must name all classes, each once: at least two, none missing; got "
            "{value!r}.",
            code="class-list",
            argument=Argument("classes"),
            value=listed.tolist(),
        )
    names = every.tolist()
    unknown = [value for value in found.tolist() if value not in names]
    if unknown:
        raise DataError(
            "y holds {label!r}, which is not among {argument}.",
            code="unknown-class",
            label=unknown[0],
            argument=Argument("classes", listed.tolist()),
            remedy="Name every class, with or without labels.",
        )
    return every, np.array([names.index(one) for one in found[labelled].tolist()], dtype=np.intp)


def _other(found: Classes) -> Classes:
    """The class without labels; it sorts before the labelled one."""
    label = found[0]
    if found.dtype.kind == "b":
        if not label:
            raise DataError(
                "Only False is labelled, but the labelled class must be the last of classes_, "
                "which scikit-learn's scorers expect in sorted order.",
                code="labelled-class-false",
                remedy="Label with True or 1 instead.",
            )
        return np.array([False])
    if found.dtype.kind in "mM":
        raise DataError(
            "The labelled class is a date ({label}), which leaves no name for the other class.",
            code="labelled-class-date",
            label=str(label),
            remedy="Label with 1 or a word instead.",
        )
    if found.dtype.kind in "iuf":
        below = 0 if label > 0 else float(label) - 1
        return np.array([below]).astype(found.dtype if found.dtype.kind != "u" else np.int64)
    name = f"(not {label})"
    other = name if name < str(label) else ""
    return np.array([other], dtype=object if found.dtype == object else None)


def shares_of(name: str, given: object, classes: Classes) -> Array:
    """Return the share of each class, from a number (share of the last class) or by name.

    Examples
    --------
    >>> shares_of("default_prevalence", 0.1, np.array([0, 1]))
    array([0.9, 0.1])
    >>> shares_of("default_prevalence", {"b": 0.2, "c": 0.2}, np.array(["a", "b", "c"]))
    array([0.6, 0.2, 0.2])
    """
    n = len(classes)
    if n > 2 and is_number(given) and given == 0.5:
        return np.full(n, 1.0 / n)  # the default of the default: no class is favoured
    return read_shares(given, classes.tolist(), name, share_rest=True)


def bounds_of(prevalence: object, bounds: object, classes: Classes) -> Array | None:
    """Return the lower and upper bound on the share of each class; None if nothing was given.

    Examples
    --------
    >>> bounds_of(None, (0.1, 0.3), np.array([0, 1]))
    array([[0. , 1. ],
           [0.1, 0.3]])
    """
    if prevalence is not None and bounds is not None:
        raise UsageError(
            "{one} and {other} contradict each other. Give one of them.",
            code="argument-conflict",
            one=Argument("prevalence", prevalence),
            other=Argument("prevalence_bounds", bounds),
        )
    out = np.tile([0.0, 1.0], (len(classes), 1))
    if prevalence is not None:
        shares = _known_shares(prevalence, classes)
        said = ~np.isnan(shares)
        out[said] = shares[said, None]
    elif bounds is not None:
        names = classes.tolist()
        for label, pair in (bounds if isinstance(bounds, Mapping) else {names[-1]: bounds}).items():
            _refuse_unknown("prevalence_bounds", label, names)
            out[names.index(label)] = _pair(pair)
        if isinstance(bounds, Mapping) and not bounds:
            raise _bounds_error(bounds)
    else:
        return None
    if out[:, 0].sum() > 1 + 1e-12 or out[:, 1].sum() < 1 - 1e-12:
        raise UsageError(
            "No class shares lie within the bounds {bounds}: the lower bounds sum to {low:g}, the "
            "upper bounds to {high:g}. Widen them.",
            code="base-rate-bounds",
            bounds=out.tolist(),
            low=float(out[:, 0].sum()),
            high=float(out[:, 1].sum()),
        )
    return out


def _known_shares(prevalence: object, classes: Classes) -> Array:
    """Known shares; NaN for classes that a mapping leaves open."""
    if not by_name(prevalence):
        return shares_of("prevalence", prevalence, classes)
    shares = read_by_class(prevalence, classes.tolist(), "prevalence")
    if np.isnan(shares).sum() == 1:
        shares[np.isnan(shares)] = 1.0 - np.nansum(shares)
    said = shares[~np.isnan(shares)]
    if not ((said > 0) & (said < 1)).all():
        raise UsageError(
            "{argument} must give shares above 0 and below 1, got {value!r}.",
            code="base-rate-range",
            argument=Argument("prevalence"),
            value=prevalence,
        )
    return shares


def _pair(pair: Any) -> Array:
    try:
        ends = np.asarray(pair, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.shape != (2,) or not 0 <= ends[0] <= ends[1] <= 1 or ends[0] == 1 or ends[1] == 0:
        raise _bounds_error(pair)
    return ends


def _bounds_error(value: object) -> UsageError:
    return UsageError(
        "{argument} must be (low, high) with 0 <= low <= high <= 1, low < 1 and high > 0, or a "
        "dict of such pairs by class; got {value!r}.",
        code="base-rate-bounds",
        argument=Argument("prevalence_bounds"),
        value=value,
    )


def _refuse_unknown(name: str, label: object, classes: list[Any]) -> None:
    if label not in classes:
        raise UsageError(
            "{argument} names the class {label!r}; the classes are {classes}.",
            code="unknown-class",
            argument=Argument(name),
            label=label,
            classes=classes,
        )


def entropy_shares(default: Array, divergence: Array) -> Array:
    """Return default * exp(-divergence), scaled to sum to 1 (000 eq 5).

    Examples
    --------
    >>> entropy_shares(np.array([0.5, 0.5]), np.array([0.0, np.log(3)]))
    array([0.75, 0.25])
    """
    log_share = np.log(default) - divergence
    weight = np.exp(log_share - log_share.max())
    return np.asarray(weight / weight.sum())


def within_bounds(shares: Array, bounds: Array | None) -> Array:
    """Return the shares within the bounds with the smallest divergence from the given ones.

    They are clip(c * share, low, high) for the one c at which they sum to 1.

    Examples
    --------
    >>> within_bounds(np.array([0.9, 0.1]), np.array([[0.0, 1.0], [0.2, 0.4]]))
    array([0.8, 0.2])
    """
    if bounds is None:
        return shares
    low, high = bounds.T
    with np.errstate(divide="ignore"):
        log_share = np.maximum(np.log(shares), -1e4)  # a share of 0 stays 0 unless it cannot
    least, greatest = -log_share.max() - 800.0, -log_share.min() + 800.0  # of log c
    for _ in range(200):
        middle = least + (greatest - least) / 2
        total = np.clip(_exp(middle + log_share), low, high).sum()
        least, greatest = (middle, greatest) if total < 1 else (least, middle)
    out = np.clip(_exp(greatest + log_share), low, high)
    inside = (out > low) & (out < high)
    if inside.any():  # rounding is put on the classes that are free to move
        out[inside] *= (1.0 - out[~inside].sum()) / out[inside].sum()
    return np.asarray(out)


def _exp(value: Array) -> Array:
    return np.asarray(np.exp(np.minimum(value, 700.0)))
