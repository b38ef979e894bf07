"""Labels in three states: what the values of a label column mean, and never by guessing.

    positive / negative / **not labelled**          not labelled is a missing value, never 0 or -1

0 and 1 speak for themselves, and so do three or more classes. Everything else has two readings, and
the error names both and the argument that settles it. Does not read files: see schema.py.
"""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.errors import DataError, DataWarning, suggest

MOST_CLASSES = 1000


def label_array(y: Any) -> NDArray[Any]:
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
            warn_of_empty("y", int(empty.sum()))
            labels = labels.astype(object)
            labels[empty] = None
    return labels


def warn_of_empty(name: str, count: int) -> None:
    """Say that empty text was read as not labelled."""
    many = "s are" if count > 1 else " is"
    warnings.warn(
        f"{name}: {count:,} label{many} empty text and taken as not labelled. If it is a class, "
        "write a word in its place.",
        DataWarning,
        stacklevel=3,
    )


def read_labels(
    name: str,
    values: Iterable[Any],
    *,
    positive: Any = None,
    negative: Any = None,
    unlabelled: Any = None,
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
    seen = {_tidy(value) for value in values if value is not None and value == value}
    seen -= set(apart)
    if "" in seen:
        warn_of_empty(f"Column {name!r}", values[""] if isinstance(values, Mapping) else 1)
        seen.remove("")
    shown = _in_words(seen)
    if len(seen) > MOST_CLASSES or any(isinstance(v, float) and not v.is_integer() for v in seen):
        raise DataError(
            f"Column {name!r} holds {len(seen):,} different values (such as {shown}): that is a "
            "measurement, not a class. Name the column with the classes in label=."
        )
    if classes is not None:
        named = tuple(_tidy(value) for value in classes)
        _refuse_strays(name, seen - set(named), "classes")
        return named, tuple((value,) for value in named), apart
    if positive is None and negative is None:
        return _classes_by_themselves(name, seen, apart, shown)
    yes, no = _listed(positive), _listed(negative)
    if positive is None:
        yes = tuple(sorted(seen - set(no), key=_order))
        if len(yes) != 1:
            raise DataError(
                f"Column {name!r} holds {shown}. With negative={negative!r} alone the event is not "
                "clear: pass positive= too."
            )
    rest = tuple(sorted(seen - set(yes) - set(no), key=_order))
    if rest and not seen & set(yes) and rest != (0,):
        near = suggest(str(yes[0]), [str(value) for value in rest])
        raise DataError(
            f"Column {name!r} holds no {yes[0]!r} (from positive=); it holds {shown}.{near} If "
            "this file has no positive, name the values it has with negative= or unlabelled=."
        )
    if negative is None and len(rest) == 1 and rest[0] != -1:
        no, rest = rest, ()
    if rest:
        if -1 in rest:
            raise _two_readings(name, seen)
        raise DataError(
            f"Column {name!r} holds {shown}. Besides positive={positive!r}, say which values mean "
            f"negative (negative=[...]) and which mean not labelled (unlabelled=[...])."
        )
    no = tuple(value for value in no if value not in apart)
    if not no:
        return _with_other(yes[0], yes, apart)
    return (no[0], yes[0]), (no, yes), apart


def _with_other(
    one: Any, spellings: tuple[Any, ...], apart: tuple[Any, ...]
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
            f"Column {name!r} holds no label: every row is unlabelled. Check label= and "
            "unlabelled=, or leave label= out for data without labels."
        )
    if seen == {1}:
        return _with_other(1, (1,), apart)
    if seen <= {0, 1}:
        return (0, 1), ((0,), (1,)), apart
    if -1 in seen:
        raise _two_readings(name, seen)
    if len(seen) == 1:
        alone = next(iter(seen))
        raise DataError(
            f"Column {name!r} holds {shown} and nothing else. Say what it is: positive={alone!r} "
            f"if it is the event, negative={alone!r} if it is not."
        )
    if len(seen) <= 2:
        one, other = sorted(seen, key=_order)
        raise DataError(
            f"Column {name!r} holds {shown}. Say which one is the event: positive={one!r} or "
            f"positive={other!r}."
        )
    ordered = tuple(sorted(seen, key=_order))
    return ordered, tuple((value,) for value in ordered), apart


def _two_readings(name: str, seen: set[Any]) -> DataError:
    if len(seen) == 2:
        return DataError(
            f"Column {name!r} holds {_in_words(seen)}. If -1 means negative, pass negative=-1; if "
            "it "
            'means "not labelled", pass unlabelled=-1.'
        )
    return DataError(
        f"Column {name!r} holds {_in_words(seen)}. If -1 is a class like the others, pass classes="
        f'{sorted(seen, key=_order)}; if it means "not labelled", pass unlabelled=-1.'
    )


def _refuse_strays(name: str, strays: set[Any], argument: str) -> None:
    if strays:
        raise DataError(
            f"Column {name!r} also holds {_in_words(strays)}, which {argument}= does not name. Add "
            "it there, or pass unlabelled= if it means not labelled."
        )


def _listed(value: Any) -> tuple[Any, ...]:
    if value is None:
        return ()
    if isinstance(value, (list, tuple, set, frozenset, np.ndarray)):
        return tuple(_tidy(one) for one in value)
    return (_tidy(value),)


def _tidy(value: Any) -> Any:
    """One spelling for equal values: 1.0, True and np.int64(1) are 1."""
    value = value.item() if isinstance(value, np.generic) else value
    if isinstance(value, bool) or (isinstance(value, float) and value.is_integer()):
        return int(value)
    return value


def brief(value: Any) -> str:
    """Return a value as a message can show it: a broken file may hold one of a thousand letters.

    Examples
    --------
    >>> brief("Ulm"), brief("x" * 99)
    ("'Ulm'", "'xxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxxx...")
    """
    shown = repr(value)
    return shown if len(shown) <= 60 else shown[:40] + "..."


def is_number(value: Any) -> bool:
    """Whether a value is an int or a float, and not true or false."""
    return isinstance(value, (int, float)) and not isinstance(value, bool)


def _order(value: Any) -> tuple[str, Any]:
    return ("" if is_number(value) else "text", value)


def _in_words(values: Iterable[Any]) -> str:
    ordered = sorted(values, key=_order)
    words = [brief(value) for value in ordered[:6]]
    if len(ordered) > 6:
        return ", ".join(words) + f" and {len(ordered) - 6:,} more"
    return (
        " and ".join([", ".join(words[:-1]), words[-1]] if len(words) > 1 else words) or "nothing"
    )
