"""Labels in three states: what the values of a label column mean, and never by guessing.

    positive / negative / **not labelled**          not labelled is a missing value, never 0 or -1

0 and 1 are clear, and so are three or more classes. Everything else has two readings: the error
names both, and the argument that settles it. Does not read files: see schema.py.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.checks import is_missing, is_number
from scarce.engine.block import ColumnLike, LabelValue
from scarce.errors import Argument, DataError, listed, suggest, warn_user
from scarce.io.values import brief

MOST_CLASSES = 1000


def label_array(y: ColumnLike) -> NDArray[Any]:
    """Return labels as an array in which those that are missing are NaN, None or NA.

    Masked values and empty text are missing too; the latter with a warning, since an array may
    mean it as a class.

    Examples
    --------
    >>> label_array(np.ma.array([1, 0, 1], mask=[False, False, True]))
    array([1, 0, None], dtype=object)
    >>> label_array(["spam", float("nan")])
    array(['spam', nan], dtype=object)
    """
    if isinstance(y, np.ma.MaskedArray):
        hidden = np.ma.getmaskarray(y)
        labels = np.asarray(y.data)
        if hidden.any():
            labels = labels.astype(object)
            labels[hidden] = None
    elif type(getattr(y, "dtype", None)).__module__.startswith("pandas"):
        labels = np.asarray(y.to_numpy(dtype=object, na_value=None))
    else:
        labels = np.asarray(y)
        if labels.dtype.kind in "US" and isinstance(y, (list, tuple)):
            # NumPy writes a NaN among words as the word "nan".
            labels = np.asarray(y, dtype=object)
    if labels.dtype.kind in "UO":
        empty = np.frompyfunc(lambda value: isinstance(value, str) and not value, 1, 1)(labels)
        empty = np.asarray(empty, dtype=bool)
        if empty.any():
            _warn_of_empty("y", int(empty.sum()))
            labels = labels.astype(object)
            labels[empty] = None
    return labels


def missing_labels(labels: NDArray[Any]) -> NDArray[np.bool_]:
    """Return which labels of an array are missing: None, NaN, NA or NaT.

    Examples
    --------
    >>> missing_labels(np.array(["spam", None], dtype=object))
    array([False,  True])
    """
    if labels.dtype.kind == "f":
        return np.asarray(np.isnan(labels))
    if labels.dtype.kind in "mM":
        return np.asarray(np.isnat(labels))
    if labels.dtype == object:
        return np.array([is_missing(value) for value in labels], dtype=bool)
    return np.zeros(len(labels), dtype=bool)


def _warn_of_empty(name: str, count: int) -> None:
    warn_user(
        "{name}: {count:,} label{are} empty text, read as not labelled.",
        code="empty-labels",
        name=name,
        count=count,
        are="s are" if count > 1 else " is",
        remedy="If it is a class, write a word in its place.",
    )


def read_labels(
    name: str,
    values: Iterable[Any],
    *,
    positive: LabelValue | None = None,
    negative: LabelValue | None = None,
    unlabelled: LabelValue | None = None,
    classes: Sequence[Any] | None = None,
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    """Decide what the values of a label column mean, or say which argument would.

    Returns
    -------
    classes : tuple
        Class values; for two classes negative first.
    coded_as : tuple of tuple
        The spellings of each class.
    unlabelled : tuple
        The values that mean *not labelled* (missing ones always do).

    Examples
    --------
    >>> read_labels("fraud", [0, 1, None])
    ((0, 1), ((0,), (1,)), ())
    >>> read_labels("fraud", ["yes", "no"], positive="yes")
    (('no', 'yes'), (('no',), ('yes',)), ())
    >>> read_labels("fraud", [-1, 1], unlabelled=-1)
    ((0, 1), ((0,), (1,)), (-1,))
    >>> read_labels("seen", [0, 1], unlabelled=0)  # presences and a background
    ((0, 1), ((), (1,)), (0,))
    """
    apart = _listed(unlabelled)
    seen = {_tidy(value) for value in values if not is_missing(value)}
    seen -= set(apart)
    if "" in seen:
        _warn_of_empty(f"Column {name!r}", values[""] if isinstance(values, Mapping) else 1)
        seen.remove("")
    shown = _in_words(seen)
    if len(seen) > MOST_CLASSES or any(isinstance(v, float) and not v.is_integer() for v in seen):
        raise DataError(
            "Column {column!r} holds {count:,} different values (such as {values}): that is a "
            "measurement, not a class.",
            code="label-type",
            column=name,
            count=len(seen),
            values=shown,
            label=Argument("label"),
            remedy="Name the column with the classes in {label}.",
        )
    if classes is not None:
        named = tuple(_tidy(value) for value in classes)
        _refuse_strays(name, seen - set(named), "classes")
        return named, tuple((value,) for value in named), apart
    if positive is None and negative is None:
        return _classes_by_themselves(name, seen, apart, shown)
    return _named_classes(name, seen, apart, positive, negative)


def _named_classes(
    name: str,
    seen: set[Any],
    apart: tuple[Any, ...],
    positive: LabelValue | None,
    negative: LabelValue | None,
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    """Classes when positive= or negative= was given."""
    shown = _in_words(seen)
    yes, no = _listed(positive), _listed(negative)
    if positive is None:
        yes = tuple(sorted(seen - set(no), key=_order))
        if len(yes) != 1:
            raise unclear_labels(
                name,
                shown,
                "With {negative} alone the event is not clear: pass {positive} too.",
                negative=Argument("negative", negative),
                positive=Argument("positive"),
            )
    rest = tuple(sorted(seen - set(yes) - set(no), key=_order))
    if rest and not seen & set(yes) and rest != (0,):
        raise DataError(
            "Column {column!r} holds no {value!r} (from {positive}); it holds {values}.{hint}",
            code="no-positives",
            column=name,
            value=yes[0],
            positive=Argument("positive"),
            values=shown,
            hint=suggest(str(yes[0]), [str(value) for value in rest]),
            negative=Argument("negative"),
            unlabelled=Argument("unlabelled"),
            remedy="If this file has no positive, name the values it has with {negative} or "
            "{unlabelled}.",
        )
    if negative is None and len(rest) == 1 and rest[0] != -1:
        no, rest = rest, ()
    if rest:
        if -1 in rest:
            raise _two_readings(name, seen)
        raise unclear_labels(
            name,
            shown,
            "Besides {positive}, say which values mean negative ({negative}) and which mean not "
            "labelled ({unlabelled}).",
            positive=Argument("positive", positive),
            negative=Argument("negative", ...),
            unlabelled=Argument("unlabelled", ...),
        )
    no = tuple(value for value in no if value not in apart)
    if not no:
        return _with_other(yes[0], yes, apart)
    return (no[0], yes[0]), (no, yes), apart


def _with_other(
    one: LabelValue, spellings: tuple[Any, ...], apart: tuple[Any, ...]
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    """Classes where the file has one alone: the other is named 0, unless 0 means not labelled."""
    free = is_number(one) and one != 0
    other = 0 if free else f"not {one}"
    return (other, one), ((() if other in apart else (other,)), spellings), apart


def _classes_by_themselves(
    name: str, seen: set[Any], apart: tuple[Any, ...], shown: str
) -> tuple[tuple[Any, ...], tuple[tuple[Any, ...], ...], tuple[Any, ...]]:
    """Classes when neither positive= nor negative= was given."""
    if not seen:
        raise DataError(
            "Column {column!r} holds no label: every row is unlabelled.",
            code="no-labels",
            column=name,
            label=Argument("label"),
            unlabelled=Argument("unlabelled"),
            remedy="Check {label} and {unlabelled}; leave {label} out for data without labels.",
        )
    if seen == {1}:
        return _with_other(1, (1,), apart)
    if seen <= {0, 1}:
        return (0, 1), ((0,), (1,)), apart
    if -1 in seen:
        raise _two_readings(name, seen)
    if len(seen) == 1:
        alone = next(iter(seen))
        raise unclear_labels(
            name,
            f"{shown} and nothing else",
            "Say what it is: {positive} if it is the event, {negative} if it is not.",
            positive=Argument("positive", alone),
            negative=Argument("negative", alone),
        )
    if len(seen) <= 2:
        one, other = sorted(seen, key=_order)
        raise unclear_labels(
            name,
            shown,
            "Say which one is the event: {one} or {other}.",
            one=Argument("positive", one),
            other=Argument("positive", other),
        )
    ordered = tuple(sorted(seen, key=_order))
    return ordered, tuple((value,) for value in ordered), apart


def unclear_labels(name: str, shown: str, remedy: str, **fields: Any) -> DataError:
    """Return the error for labels with two readings; the remedy names the argument that settles it.

    Examples
    --------
    >>> print(unclear_labels("y", "-1 and 1", "Pass {one}.", one=Argument("negative", -1)))
    Column 'y' holds -1 and 1. Pass negative=-1.
    """
    return DataError(
        "Column {column!r} holds {values}.",
        code="unclear-labels",
        column=name,
        values=shown,
        remedy=remedy,
        **fields,
    )


def _two_readings(name: str, seen: set[Any]) -> DataError:
    if len(seen) == 2:
        return unclear_labels(
            name,
            _in_words(seen),
            'If -1 means negative, pass {negative}; if it means "not labelled", pass {unlabelled}.',
            negative=Argument("negative", -1),
            unlabelled=Argument("unlabelled", -1),
        )
    return unclear_labels(
        name,
        _in_words(seen),
        "If -1 is a class like the others, pass {classes}; if it means not labelled, pass "
        "{unlabelled}.",
        classes=Argument("classes", sorted(seen, key=_order)),
        unlabelled=Argument("unlabelled", -1),
    )


def _refuse_strays(name: str, strays: set[Any], argument: str) -> None:
    if strays:
        raise DataError(
            "Column {column!r} also holds {values}, which {argument} does not name.",
            code="unknown-label",
            column=name,
            values=_in_words(strays),
            argument=Argument(argument),
            unlabelled=Argument("unlabelled"),
            remedy="Add it there, or pass {unlabelled} if it means not labelled.",
        )


def _listed(value: LabelValue) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return tuple(_tidy(one) for one in value)
    return (_tidy(value),)


def _tidy(value: LabelValue) -> Any:
    """One spelling for equal values: 1.0, True and np.int64(1) are 1."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def _order(value: LabelValue) -> tuple[str, Any]:
    return ("" if is_number(value) else "text", value)


def _in_words(values: Iterable[Any]) -> str:
    ordered = [brief(value) for value in sorted(values, key=_order)]
    return listed(ordered, most=6) or "nothing"
