"""Which classes there are, their default shares, and the shares that maxent gives them.

    share(y) proportional to default(y) * exp(-divergence(y))                        (000 eq 5)
    with bounds: the shares within them that are nearest to these         (000, below Theorem 2)

A class without labels has divergence 0: it looks like the pool. Assumes nothing about how often a
class is labelled; that is the point.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.errors import DataError, UsageError


def settle_classes(
    found: NDArray[Any], labelled: NDArray[np.bool_], given: Any
) -> tuple[NDArray[Any], NDArray[np.intp]]:
    """Return all classes, and the position among them of each class that has labels.

    Parameters
    ----------
    found : ndarray
        Sorted classes of the data.
    labelled : ndarray of bool
        Which of them have labelled rows with weight.
    given : sequence or None
        All classes, where the user named them.

    Examples
    --------
    >>> settle_classes(np.array([1.0]), np.array([True]), None)
    (array([0., 1.]), array([1]))
    >>> settle_classes(np.array(["owl"], dtype=object), np.array([True]), None)[0]
    array(['(not owl)', 'owl'], dtype=object)
    """
    if given is not None:
        listed = np.asarray(given)
        try:
            every = np.unique(listed)
        except TypeError:
            every = listed[:0]
        if listed.dtype.kind == "f" and np.isnan(listed).any():
            every = listed[:0]
        if len(every) < 2 or len(every) != len(listed):
            raise UsageError(
                f"classes={listed.tolist()!r}: give all classes, each once, at least two and none "
                "of them missing."
            )
        lost = [value for value in found.tolist() if value not in every.tolist()]
        if lost:
            raise DataError(
                f"y holds {lost[0]!r}, which classes={listed.tolist()!r} does not name. Name every "
                "class, with or without labels."
            )
        own = [every.tolist().index(value) for value in found[labelled].tolist()]
        return every, np.array(own, dtype=np.intp)
    if len(found) > 1:
        return found, np.flatnonzero(labelled)
    return np.concatenate([_other(found), found]), np.array([1])


def _other(found: NDArray[Any]) -> NDArray[Any]:
    """The class that nobody labelled, in the order of the classes before the labelled one."""
    label = found[0]
    if found.dtype.kind == "b":
        if not label:
            raise DataError(
                "Only False is labelled, but the one labelled class is the last of classes_, which "
                "scikit-learn's scorers expect sorted. Label with True or 1 instead."
            )
        return np.array([False])
    if found.dtype.kind in "mM":
        raise DataError(
            f"The one labelled class is a date ({label}), beside which no other class can be "
            "named. Label with 1 or a word instead."
        )
    if found.dtype.kind in "iuf":
        below = 0 if label > 0 else float(label) - 1
        return np.array([below]).astype(found.dtype if found.dtype.kind != "u" else np.int64)
    name = f"(not {label})"
    other = name if name < str(label) else ""
    return np.array([other], dtype=object if found.dtype == object else None)


def shares_of(name: str, given: Any, classes: NDArray[Any]) -> Array:
    """Return one share for each class from a number (share of the last class) or a mapping.

    Examples
    --------
    >>> shares_of("default_prevalence", 0.1, np.array([0, 1]))
    array([0.9, 0.1])
    >>> shares_of("default_prevalence", {"b": 0.2, "c": 0.2}, np.array(["a", "b", "c"]))
    array([0.6, 0.2, 0.2])
    """
    n = len(classes)
    if isinstance(given, Mapping) and given:
        shares = _by_class(name, given, classes)
        unsaid = np.isnan(shares)
        if unsaid.any():
            shares[unsaid] = (1.0 - shares[~unsaid].sum()) / unsaid.sum()
    elif n == 2 and isinstance(given, (int, float, np.number)) and not isinstance(given, bool):
        shares = np.array([1.0 - float(given), float(given)])
    elif isinstance(given, (int, float)) and given == 0.5:
        return np.full(n, 1.0 / n)  # the default of the default: no class is favoured
    else:
        raise UsageError(
            f"{name}={given!r} does not say the shares of {n} classes. Give a dict, such as "
            f"{{{classes.tolist()[-1]!r}: 0.1}}; classes it leaves out share the rest."
        )
    if not ((shares > 0) & (shares < 1)).all() or abs(shares.sum() - 1) > 1e-9:
        raise UsageError(
            f"{name}={given!r} is no set of class shares: each must lie between 0 and 1, both "
            "excluded, and together they must be 1."
        )
    return shares


def bounds_of(prevalence: Any, bounds: Any, classes: NDArray[Any]) -> Array | None:
    """Return least and greatest share of each class, or None where nothing was said.

    Examples
    --------
    >>> bounds_of(None, (0.1, 0.3), np.array([0, 1]))
    array([[0. , 1. ],
           [0.1, 0.3]])
    """
    if prevalence is not None and bounds is not None:
        raise UsageError(
            f"prevalence={prevalence!r} and prevalence_bounds={bounds!r} both say how common the "
            "classes are. Give one of them."
        )
    out = np.tile([0.0, 1.0], (len(classes), 1))
    if prevalence is not None:
        if isinstance(prevalence, Mapping) and prevalence:
            shares = _by_class("prevalence", prevalence, classes)
            if np.isnan(shares).sum() == 1:
                shares[np.isnan(shares)] = 1.0 - np.nansum(shares)
        else:
            shares = shares_of("prevalence", prevalence, classes)
        said = ~np.isnan(shares)
        if not ((shares[said] > 0) & (shares[said] < 1)).all():
            raise UsageError(
                f"prevalence={prevalence!r}: shares must lie between 0 and 1, both excluded."
            )
        out[said] = shares[said, None]
    elif bounds is not None:
        listed = bounds if isinstance(bounds, Mapping) else {classes.tolist()[-1]: bounds}
        if not listed:
            raise UsageError("prevalence_bounds={} names no class. Leave it out, or name one.")
        for label, pair in listed.items():
            if label not in classes.tolist():
                raise UsageError(
                    f"prevalence_bounds names {label!r}; the classes are {classes.tolist()!r}."
                )
            out[classes.tolist().index(label)] = _pair(pair)
    else:
        return None
    if out[:, 0].sum() > 1 + 1e-12 or out[:, 1].sum() < 1 - 1e-12:
        raise UsageError(
            f"No class shares lie within the bounds {out.tolist()}: the least add up to "
            f"{out[:, 0].sum():g}, the greatest to {out[:, 1].sum():g}. Widen them."
        )
    return out


def _pair(pair: Any) -> Array:
    try:
        ends = np.asarray(pair, dtype=np.float64)
    except (TypeError, ValueError):
        ends = np.zeros(0)
    if ends.shape != (2,) or not 0 <= ends[0] <= ends[1] <= 1 or ends[0] == 1 or ends[1] == 0:
        raise UsageError(
            f"prevalence_bounds={pair!r}: give (low, high) with 0 <= low <= high <= 1, low below 1 "
            "and high above 0."
        )
    return ends


def _by_class(name: str, given: Mapping[Any, float], classes: NDArray[Any]) -> Array:
    known = classes.tolist()
    out = np.full(len(known), np.nan)
    for label, share in given.items():
        if label not in known:
            raise UsageError(f"{name} names {label!r}; the classes are {known!r}.")
        number = isinstance(share, (int, float, np.number)) and not isinstance(share, bool)
        if not number or not np.isfinite(share):
            raise UsageError(f"{name} gives class {label!r} the share {share!r}: give a number.")
        out[known.index(label)] = float(share)
    return out


def entropy_shares(default: Array, divergence: Array) -> Array:
    """Return default * exp(-divergence), made to sum to 1 (000 eq 5).

    Examples
    --------
    >>> entropy_shares(np.array([0.5, 0.5]), np.array([0.0, np.log(3)]))
    array([0.75, 0.25])
    """
    log_share = np.log(default) - divergence
    weight = np.exp(log_share - log_share.max())
    return np.asarray(weight / weight.sum())


def within_bounds(shares: Array, bounds: Array | None) -> Array:
    """Return the shares within bounds that have the least divergence from the given ones.

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
        log_share = np.maximum(np.log(shares), -1e4)  # a share of 0 stays out unless it must
    least, greatest = -log_share.max() - 800.0, -log_share.min() + 800.0  # of log c
    for _ in range(200):
        middle = least + (greatest - least) / 2
        total = np.clip(_exp(middle + log_share), low, high).sum()
        least, greatest = (middle, greatest) if total < 1 else (least, middle)
    out = np.clip(_exp(greatest + log_share), low, high)
    inside = (out > low) & (out < high)
    if inside.any():  # the last rounding goes to classes that may move
        out[inside] *= (1.0 - out[~inside].sum()) / out[inside].sum()
    return np.asarray(out)


def _exp(value: Array) -> Array:
    return np.asarray(np.exp(np.minimum(value, 700.0)))
