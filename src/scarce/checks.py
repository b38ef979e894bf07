"""One reader per role: scores, labels, probabilities, weights, inclusion, level, seed, parameters.

Columns may be NumPy arrays (also masked), pandas, polars, Arrow or lists; None, NaN, NA and NaT are
missing values. Errors name the row of an invalid value. Assumes one value per row. Readers do not
interpret: how labels may be used is decided in `missed/`.
"""

from __future__ import annotations

import math
import operator
import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from numbers import Real
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.engine.block import Array
from scarce.errors import Argument, DataError, Phrase, UsageError, listed, refuse_word

PIECE = 65_536
LEAST_PROBABILITY = 1e-12
MISSING_TYPES = ("NAType", "NaTType")  # of pandas, which need not be installed


# --- columns --------------------------------------------------------------------------------------


def is_missing(value: object) -> bool:
    """Whether a single value is missing: None, NaN, pandas' NA or NaT, NumPy's NaT.

    Examples
    --------
    >>> [is_missing(value) for value in (None, float("nan"), np.datetime64("NaT"), 0, "")]
    [True, True, True, False, False]
    """
    if value is None or type(value).__name__ in MISSING_TYPES:
        return True
    if isinstance(value, (float, np.floating, np.datetime64, np.timedelta64)):
        return bool(value != value)
    return False


def read_column(values: Any, name: str) -> NDArray[Any]:
    """Return one column as an array of numbers with NaN for missing values.

    Examples
    --------
    >>> read_column([1, None, True], "labels")
    array([ 1., nan,  1.])
    >>> read_column(["a"], "scores")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: scores must hold numbers, got 'a' at row 0.
    """
    if isinstance(values, (str, bytes, os.PathLike)):
        raise DataError(
            "{argument} must be a column of values, got the text {value!r}.",
            code="not-a-column",
            argument=Argument(name),
            value=str(values)[:60],
            opened=Phrase("open_rows(path, columns=..., label=...)"),
            remedy="Read a file first with {opened}.",
        )
    if isinstance(values, np.ma.MaskedArray):
        _refuse_kind(values.dtype, name)
        values = np.ma.filled(values.astype(np.float64), np.nan)
    elif hasattr(values, "to_pylist") and hasattr(values, "null_count"):  # Arrow
        values = _from_arrow(values)
    elif hasattr(values, "to_numpy"):
        values = values.to_numpy()
    try:
        held = np.asarray(values)
    except (TypeError, ValueError) as error:
        raise DataError(
            "{argument} must be one column of numbers ({reason}).",
            code="not-a-column",
            argument=Argument(name),
            reason=str(error),
        ) from None
    if held.ndim == 2 and held.shape[1] == 1:
        held = held[:, 0]
    if held.ndim != 1:
        raise DataError(
            "{argument} must have one value per row, got shape {shape}.",
            code="not-a-column",
            argument=Argument(name),
            shape=held.shape,
        )
    if held.dtype == object:
        held = np.array([_number(value, name, row) for row, value in enumerate(held)], np.float64)
    _refuse_kind(held.dtype, name, held)
    return held.astype(np.float64, copy=False)


def name_column(values: Any, argument: str) -> NDArray[Any]:
    """Return one value per row, of any type, whatever holds them.

    Examples
    --------
    >>> name_column(["a", None, 3], "groups")
    array(['a', None, 3], dtype=object)
    """
    if isinstance(values, str | bytes | dict) or not (
        hasattr(values, "__iter__") or hasattr(values, "to_pylist")
    ):
        raise _not_a_column(argument, f"{str(values)[:60]!r} of type {type(values).__name__}")
    held = values
    if hasattr(values, "to_pylist"):  # Arrow
        held = values.to_pylist()
    elif isinstance(values, np.ma.MaskedArray):
        held = [None if hidden is np.ma.masked else hidden for hidden in values]
    elif hasattr(values, "to_numpy"):
        held = values.to_numpy()
    if not isinstance(held, np.ndarray):
        listed_values = list(held)
        held = np.empty(len(listed_values), dtype=object)
        for row, value in enumerate(listed_values):  # one by one: lists among them are not columns
            held[row] = value
    if held.ndim == 2 and held.shape[1] == 1:
        held = held[:, 0]
    if held.ndim != 1:
        raise _not_a_column(argument, f"shape {held.shape}")
    return np.asarray(held)


def _not_a_column(argument: str, seen: str) -> DataError:
    return DataError(
        "{argument} must have one value per row, got {seen}.",
        code="not-a-column",
        argument=Argument(argument),
        seen=seen,
    )


def _from_arrow(values: Any) -> Any:
    try:
        return values.cast("float64").to_numpy(zero_copy_only=False)
    except (TypeError, ValueError, NotImplementedError):  # Arrow's errors are subclasses of these
        return values.to_pylist()


def _refuse_kind(dtype: np.dtype[Any], name: str, held: Sequence[Any] | NDArray[Any] = ()) -> None:
    if dtype.kind in "biuf":
        return
    what = {"M": "dates", "m": "durations", "c": "complex numbers"}.get(dtype.kind, "")
    if what:
        raise DataError(
            "{argument} must hold numbers, got {kind} ({dtype}).",
            code="not-a-number",
            argument=Argument(name),
            kind=what,
            dtype=str(dtype),
        )
    raise _not_a_number(name, held[0].item() if len(held) else dtype, 0)


def _number(value: Any, name: str, row: int) -> float:
    if is_missing(value):
        return float("nan")
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _not_a_number(name, value, row)


def _not_a_number(name: str, value: object, row: int) -> DataError:
    shown = repr(value)
    hint = "Labels are 1 (event), 0 (no event) or missing; for words pass (words == 'event')."
    return DataError(
        "{argument} must hold numbers, got {value} at row {row:,}.",
        code="not-a-number",
        argument=Argument(name),
        value=shown if len(shown) < 40 else f"{shown[:36]}...",
        row=row,
        remedy=hint if name == "labels" else (),
    )


def refuse_length(values: Any, n_rows: int, name: str, rest: str = "") -> None:
    """Raise unless a column has one value per row; `rest` says how to fill it."""
    found = getattr(values, "shape", None)
    if isinstance(values, (list, tuple)):
        found = (len(values), *np.shape(values[0])) if len(values) else (0,)
    if found is None and hasattr(values, "__len__") and not isinstance(values, str):
        found = (len(values),)
    if found not in ((n_rows,), (n_rows, 1)):
        raise DataError(
            "{argument} must have one value per row, {rows:,} in all{rest}; got {seen}.",
            code="length-mismatch",
            argument=Argument(name),
            rows=n_rows,
            rest=f" ({rest})" if rest else "",
            seen=f"shape {found}" if found is not None else repr(values),
        )


def row_index(values: object) -> Any:
    """Return the index of a pandas column or table, or of costs by row made of one; else None."""
    index = getattr(values, "index", None)
    return index if hasattr(index, "equals") and hasattr(index, "is_unique") else None


def refuse_other_index(**columns: object) -> None:
    """Raise if two of several inputs are of pandas and their indexes differ, also in order.

    Values are used by position: nothing is aligned. Arrays, lists and polars have no index, and
    inputs of different lengths are left to `refuse_length`.

    Examples
    --------
    >>> import pandas as pd
    >>> y_true = pd.Series([1, 0], index=["a", "b"])
    >>> refuse_other_index(y_true=y_true, prob=y_true[::-1])
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: prob has another index than y_true ('b' and 'a' at row 0): its rows ...
    """
    held = ((name, row_index(values)) for name, values in columns.items())
    known = [(name, index) for name, index in held if index is not None]
    for name, index in known[1:]:
        first, other = known[0]
        if index is other or len(index) != len(other) or index.equals(other):
            continue
        pairs = enumerate(zip(index.tolist(), other.tolist(), strict=True))
        row, (seen, wanted) = next(
            (one for one in pairs if one[1][0] != one[1][1]), (0, (index[0], other[0]))
        )
        raise DataError(
            "{argument} has another index than {first} ({seen!r} and {wanted!r} at row {row:,}): "
            "its rows may be other rows, or in another order.",
            code="index-mismatch",
            argument=Argument(name),
            first=Argument(first),
            seen=seen,
            wanted=wanted,
            row=row,
            remedy=[
                "Bring them into one order with .loc[{first}.index], or .reindex.",
                "If they correspond by position, pass arrays (.to_numpy()).",
            ],
        )


# --- roles ----------------------------------------------------------------------------------------


def read_scores(scores: Any, name: str = "scores") -> Array:
    """Return finite scores.

    Examples
    --------
    >>> read_scores([0.1, float("nan")])
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: scores must be finite: 1 of 2 is NaN or infinite (first at row 1). ...
    """
    if getattr(scores, "ndim", 1) == 2 and scores.shape[1] != 1:
        raise DataError(
            "{argument} must have one score per row, got shape {shape}.",
            code="not-a-column",
            argument=Argument(name),
            shape=scores.shape,
            remedy="Pass predict_proba(X)[:, 1] or decision_function(X), for example.",
        )
    values = read_column(scores, name)
    if len(values) == 0:
        raise DataError("{argument} is empty.", code="no-rows", argument=Argument(name))
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(values.sum())
    if not fine:
        refuse_not_finite(values, name)
    return values


def refuse_not_finite(values: NDArray[Any], name: str) -> None:
    """Raise if a value is NaN or infinite, with the first such row."""
    bad = np.flatnonzero(~np.isfinite(values))
    if len(bad):
        raise DataError(
            "{argument} must be finite: {count:,} of {rows:,} {are} NaN or infinite (first at row "
            "{row:,}).",
            code="not-finite",
            argument=Argument(name),
            count=len(bad),
            rows=len(values),
            are="is" if len(bad) == 1 else "are",
            row=int(bad[0]),
            remedy="Leave such rows out, or give them a value.",
        )


def refuse_negative(values: NDArray[Any], name: str, code: str = "number-range") -> None:
    """Raise if a value is NaN, infinite or negative, with the first such row."""
    bad = ~(np.isfinite(values) & (values >= 0))
    if bad.any():
        raise DataError(
            "{argument} must be finite and not negative, got {value:g} at row {row:,}.",
            code=code,
            argument=Argument(name),
            value=float(values[bad][0]),
            row=int(np.argwhere(bad)[0][0]),
        )


def read_labels(labels: Any, n_rows: int, name: str = "labels") -> Array:
    """Return labels as 1.0, 0.0 and NaN for not labelled; None: no row is labelled.

    Examples
    --------
    >>> read_labels([True, None, 0], 3)
    array([ 1., nan,  0.])
    >>> read_labels([-1, 1], 2)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: labels must be 1 (event), 0 (no event) or missing (not labelled), ...
    """
    if labels is None:
        return np.full(n_rows, np.nan)
    refuse_length(labels, n_rows, name, "NaN where a row was not labelled")
    values = read_column(labels, name)
    for start in range(0, len(values), PIECE):
        part = values[start : start + PIECE]
        # 0 and 1 equal their square, as infinity does; NaN does not equal itself.
        strange = ((part * part != part) & (part == part)) | (part == np.inf)
        if strange.any():
            row = start + int(np.argmax(strange))
            raise DataError(
                "{argument} must be 1 (event), 0 (no event) or missing (not labelled), got "
                "{value:g} at row {row:,}.",
                code="unknown-label",
                argument=Argument(name),
                value=float(values[row]),
                row=row,
                codes=Phrase(
                    "open_rows(..., positive=, negative=, unlabelled=)",
                    "--positive, --negative and --unlabelled",
                ),
                remedy="For other codes use {codes}.",
            )
    return values


def read_prob(prob: Any, name: str = "prob") -> Array:
    """Return one probability per row, in [0, 1].

    Examples
    --------
    >>> read_prob([0.2, 1.5])
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: prob must be between 0 and 1, got 1.5 at row 1.
    """
    values = read_column(prob, name)
    bad = np.flatnonzero(~((values >= 0) & (values <= 1)))
    if len(bad):
        raise DataError(
            "{argument} must be between 0 and 1, got {value:g} at row {row:,}.",
            code="prob-range",
            argument=Argument(name),
            value=float(values[bad[0]]),
            row=int(bad[0]),
        )
    return values


def read_weight(weight: Any, n_rows: int, name: str = "weight") -> Array:
    """Return one weight per row: finite, not negative, not all 0; None: 1 for every row.

    Examples
    --------
    >>> read_weight([1, -2], 2)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: weight must be finite and not negative, got -2 at row 1.
    """
    if weight is None:
        return np.ones(n_rows)
    refuse_length(weight, n_rows, name)
    values = read_column(weight, name)
    refuse_negative(values, name, code="weight-range")
    if len(values) and not values.any():
        raise DataError(
            "{argument} is 0 in all {rows:,} rows.",
            code="no-weight",
            argument=Argument(name),
            rows=n_rows,
            remedy="Give at least one row a weight above 0.",
        )
    return values


def read_inclusion(inclusion: Any, n_rows: int) -> Array | None:
    """Return inclusion probabilities, NaN for rows that were not sampled; takes a `LabelChoice`.

    Examples
    --------
    >>> read_inclusion([0.5, 3.0], 2)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: inclusion must be between 1e-12 and 1, got 3 at row 1. If these are ...
    """
    if inclusion is None:
        return None
    if hasattr(inclusion, "inclusion"):  # the choice itself
        inclusion = inclusion.inclusion(n_rows)
    refuse_length(
        inclusion,
        n_rows,
        "inclusion",
        f"NaN for rows that were not drawn; choose_labels(...).inclusion({n_rows}) makes it",
    )
    chance = read_column(inclusion, "inclusion")
    bad = np.flatnonzero(
        (chance < 0) | (chance > 1) | ((chance > 0) & (chance < LEAST_PROBABILITY))
    )
    if len(bad):
        raise strange_probability(float(chance[bad[0]]), int(bad[0]))
    return chance


def strange_probability(value: float, row: int) -> DataError:
    """Return the error for an invalid inclusion probability."""
    return DataError(
        "{argument} must be between {least:g} and 1, got {value:g} at row {row:,}.",
        code="inclusion-range",
        argument=Argument("inclusion"),
        least=LEAST_PROBABILITY,
        value=value,
        row=row,
        remedy="If these are weights, pass 1 / weight.",
    )


def read_threshold(threshold: Any, names: list[Any]) -> list[float]:
    """Return the threshold of each batch."""
    if type(threshold).__module__.startswith("pandas") and hasattr(threshold, "to_dict"):
        threshold = threshold.to_dict()
    if isinstance(threshold, Mapping):
        if names == [None]:
            raise UsageError(
                "{argument} is a dictionary, but there is only one batch.",
                code="threshold-per-batch",
                argument=Argument("threshold"),
                batch=Argument("batch"),
                remedy="Give one number, or name the batch of each row with {batch}.",
            )
        missing = [name for name in names if name not in threshold]
        if missing:
            raise UsageError(
                "{argument} has no value for batch {batch!r}.",
                code="threshold-per-batch",
                argument=Argument("threshold"),
                batch=missing[0],
                remedy="Give one number for all batches, or one for each.",
            )
        return [read_threshold(threshold[name], [name])[0] for name in names]
    try:
        single = np.ndim(threshold) == 0 and not np.iscomplexobj(threshold)
        value = float(threshold) if single else float("nan")
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not np.isfinite(value) or isinstance(threshold, (str, bool, np.bool_)):
        raise UsageError(
            "{argument} must be a finite score, got {value!r}.",
            code="threshold-value",
            argument=Argument("threshold"),
            value=threshold,
            remedy="Rows with this score or a higher one are alerts.",
        )
    return [value] * len(names)


def refuse_one_class(classes: Sequence[Any] | NDArray[Any], weight: Array) -> None:
    """Raise unless there are at least two classes, and all have weight above 0.

    Examples
    --------
    >>> refuse_one_class(["ham", "spam"], np.array([0.0, 3.0]))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: Labelled rows of at least two classes are needed; there is only one ...
    """
    names = np.asarray(classes).tolist()
    present = [repr(name) for name, w in zip(names, weight, strict=True) if w]
    if len(present) < 2:
        raise DataError(
            "Labelled rows of at least two classes are needed; there is only one class with weight "
            "above 0: {classes}.",
            code="one-class",
            classes=", ".join(present) or "none",
            remedy="Label rows of the other class too.",
        )
    if len(present) < len(names):
        absent = next(repr(name) for name, w in zip(names, weight, strict=True) if not w)
        raise DataError(
            "Class {name} has no labelled row with weight above 0; only {classes} have.",
            code="class-without-weight",
            name=absent,
            classes=listed(present, last="and"),
            remedy="Give a row of it a weight, or leave its rows out of the fit.",
        )


# --- one number for each class --------------------------------------------------------------------

Shares = ArrayLike | Mapping[Any, float]  # one base rate for each class: see read_shares
SHARE_TOLERANCE = 1e-9  # how far base rates may be from a sum of 1


def by_name(given: Any) -> dict[Any, Any] | None:
    """Return numbers that are given by class name as a dict, None where they have no names.

    Takes a dict, a pandas Series (by its index), and a polars or pandas table of names and numbers,
    such as polars' `y.value_counts(normalize=True)`.

    Examples
    --------
    >>> by_name({"spam": 0.1}), by_name([0.9, 0.1])
    ({'spam': 0.1}, None)
    """
    if isinstance(given, Mapping):
        return {_plain(name): value for name, value in given.items()}
    library = type(given).__module__.partition(".")[0]
    if library == "pandas" and type(given).__name__ == "Series":
        pairs = list(zip(given.index.tolist(), given.tolist(), strict=True))
    elif library in ("pandas", "polars") and type(given).__name__ == "DataFrame":
        if given.shape[1] != 2:
            return None
        pairs = list(zip(*(given[name].to_list() for name in given.columns), strict=True))
    else:
        return None
    found: dict[Any, Any] = {}
    for name, value in pairs:
        name = name[0] if isinstance(name, tuple) and len(name) == 1 else name
        if _plain(name) in found:
            raise UsageError(
                "A class is named twice: {label!r}.",
                code="base-rate-classes",
                label=name,
                remedy="Give each class once.",
            )
        found[_plain(name)] = value
    return found


def _plain(value: Any) -> Any:
    return value.item() if isinstance(value, np.generic) else value


def read_by_class(given: Any, classes: Sequence[Any] | int, name: str) -> Array:
    """Return one number for each class from numbers by name, NaN for a class that is not named.

    `classes` are their names in order, or how many there are where nobody said their names: then
    the names 0, 1, ... are taken as their positions, and others are refused.

    Examples
    --------
    >>> read_by_class({"b": 0.2, "a": 0.5}, ["a", "b", "c"], "kept")
    array([0.5, 0.2, nan])
    >>> read_by_class({"B": 0.2}, ["a", "b"], "kept")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: kept names the class 'B'; the classes are ['a', 'b'].
    """
    held = by_name(given) or {}
    nameless = isinstance(classes, int)
    known = list(range(classes)) if isinstance(classes, int) else [_plain(one) for one in classes]
    out = np.full(len(known), np.nan)
    for label, value in held.items():
        if label not in known and nameless:
            raise UsageError(
                "{argument} names the class {label!r}, and the order of the classes is not known.",
                code="names-needed",
                argument=Argument(name),
                label=label,
                order=Argument("classes", ...),
                remedy="Name them in the order of the probabilities with {order}, such as "
                "model.classes_.",
            )
        if label not in known:
            raise UsageError(
                "{argument} names the class {label!r}; the classes are {classes}.",
                code="unknown-class",
                argument=Argument(name),
                label=label,
                classes=known,
            )
        if not is_number(value) or not math.isfinite(value):
            raise UsageError(
                "{argument} must give class {label!r} a number, got {value!r}.",
                code="base-rate-type",
                argument=Argument(name),
                label=label,
                value=value,
            )
        out[known.index(label)] = float(value)
    return out


def read_shares(
    given: Any, classes: Sequence[Any] | int, name: str, *, share_rest: bool = False
) -> Array:
    """Return one base rate for each class, in the order of the classes.

    Parameters
    ----------
    given : float, array-like of shape (n_classes,), dict, Series, table or ShareEstimate
        A number is the base rate of the last of two classes. Arrays are in the order of the
        classes; dicts and pandas Series are aligned by the name of the class (see `by_name`), and
        one class that they leave out gets the rest.
    classes : sequence or int
        Names of the classes in order, or how many there are.
    name : str
        The argument, for messages.
    share_rest : bool
        Whether several classes may be left out: they get equal parts of the rest.

    Examples
    --------
    >>> read_shares(0.01, 2, "prior"), read_shares({"a": 0.25}, ["a", "b"], "now_at")
    (array([0.99, 0.01]), array([0.25, 0.75]))
    >>> read_shares([0.9, 0.9], 2, "now_at")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: Base rates must be strictly between 0 and 1 and sum to 1, got ...
    """
    count = classes if isinstance(classes, int) else len(classes)
    if hasattr(given, "as_base_rates"):  # an estimate of them
        given.warn_if_contradicted()
        given = given.as_base_rates()
    if by_name(given) is None:
        rates = _positional_shares(given, count, name)
    else:
        rates = read_by_class(given, classes, name)
        unsaid = np.isnan(rates)
        if unsaid.sum() > 1 and not (share_rest and not unsaid.all()):
            raise UsageError(
                "{argument} leaves out the classes {listed}.",
                code="base-rate-classes",
                argument=Argument(name),
                listed=listed([repr(one) for one in np.array(_names(classes))[unsaid].tolist()]),
                remedy="Give a base rate for each; one class may be left out and gets the rest.",
            )
        if unsaid.any():
            rates[unsaid] = (1.0 - rates[~unsaid].sum()) / unsaid.sum()
    with np.errstate(invalid="ignore"):
        total = float(rates.sum())
    if not ((rates > 0) & (rates < 1)).all() or abs(total - 1) > SHARE_TOLERANCE:
        raise UsageError(
            "Base rates must be strictly between 0 and 1 and sum to 1, got {argument} with sum "
            "{total:.6g}.",
            code="base-rate-range",
            argument=Argument(name, [float(f"{rate:.12g}") for rate in rates]),
            total=total,
        )
    return rates


def _names(classes: Sequence[Any] | int) -> list[Any]:
    return list(range(classes)) if isinstance(classes, int) else list(classes)


def _positional_shares(given: Any, count: int, name: str) -> Array:
    try:
        held = np.asarray(given)
        if held.dtype.kind not in "fiubO":
            raise TypeError
        rates = held.astype(np.float64)
    except (TypeError, ValueError):
        raise UsageError(
            "{argument} is not numeric.",
            code="base-rate-type",
            argument=Argument(name, given),
            remedy="Give one number for each class.",
        ) from None
    if rates.ndim == 0 and count == 2:
        rate = float(rates)
        if not 0.0 < rate < 1.0:
            raise UsageError(
                "{argument} must be a base rate above 0 and below 1.",
                code="base-rate-range",
                argument=Argument(name, given),
                remedy=f"{rate:g} % is {rate / 100:g}." if 1.0 < rate < 100.0 else (),
            )
        return np.array([1.0 - rate, rate])
    if rates.ndim == 0:
        raise UsageError(
            "{argument} is one number, but there are {n_classes} classes.",
            code="base-rate-shape",
            argument=Argument(name, given),
            n_classes=count,
            remedy="Give one base rate for each class, as a dict or in the order of the classes.",
        )
    if rates.shape != (count,):
        raise UsageError(
            "{argument} has shape {shape}, but there are {n_classes} classes.",
            code="base-rate-shape",
            argument=Argument(name),
            shape=rates.shape,
            n_classes=count,
            remedy="Give one base rate for each class.",
        )
    return rates


# --- single values --------------------------------------------------------------------------------


def read_level(level: Any, name: str = "level") -> float:
    """Return the nominal coverage of an interval, between 0 and 1.

    Examples
    --------
    >>> read_level(1.5)
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: level must be between 0 and 1, such as 0.9, got 1.5.
    """
    if not is_number(level) or not 0 < level < 1:
        raise UsageError(
            "{argument} must be between 0 and 1, such as 0.9, got {value!r}.",
            code="level-range",
            argument=Argument(name),
            value=level,
        )
    return float(level)


def read_auc(auc: Any) -> float | None:
    """Return the AUC of a validation, above 0.5 and below 1."""
    if auc is None:
        return None
    if not is_number(auc) or not 0.5 < auc < 1:
        raise UsageError(
            "{argument} must be above 0.5 and below 1, got {value!r}.",
            code="auc-range",
            argument=Argument("auc"),
            value=auc,
            remedy="Give the AUC of a validation, or leave it out.",
        )
    return float(auc)


def read_seed(random_state: Any) -> int:
    """Return a seed: the given one, or one from a generator or from the system."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**62))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise UsageError(
        "{argument} must be an integer >= 0, a NumPy generator or None, got {value!r}.",
        code="seed-value",
        argument=Argument("random_state"),
        value=random_state,
    )


def read_integer(value: Any, name: str, least: int = 1) -> int:
    """Return an integer such as a number of rows or rounds.

    Examples
    --------
    >>> read_integer(1.5, "n")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: n must be an integer >= 1, got 1.5.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, (bool, np.bool_)):
        raise UsageError(
            "{argument} must be an integer >= {least}, got {value!r}.",
            code="integer-range",
            argument=Argument(name),
            least=least,
            value=value,
        )
    return number


def read_number(value: Any, name: str, allowed: Number, code: str = "number-range") -> float:
    """Return a number within bounds.

    Examples
    --------
    >>> read_number(0.5, "factor", Number(1))
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: factor must be a number >= 1, got 0.5.
    """
    if not allowed.allows(value):
        raise UsageError(
            "{argument} must be {expected}, got {value!r}.",
            code=code,
            argument=Argument(name),
            expected=str(allowed),
            value=value,
        )
    return float(value)


def read_edges(edges: Any, name: str) -> Array:
    """Return the edges of bins: at least two finite numbers in increasing order.

    Examples
    --------
    >>> read_edges([0, 0.5, 0.5], "bins")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: bins=[0.0, 0.5, 0.5] must be an integer, or edges in increasing order.
    """
    try:
        held = np.asarray(edges, dtype=np.float64)
    except (TypeError, ValueError):
        held = np.empty(0)
    if held.ndim != 1 or len(held) < 2 or not np.isfinite(held).all() or (np.diff(held) <= 0).any():
        raise UsageError(
            "{edges} must be an integer, or edges in increasing order.",
            code="not-increasing",
            edges=Argument(name, held.tolist() if held.size else edges),
        )
    return held


def is_number(value: object) -> bool:
    """Whether a value is a real number; True and False are not."""
    return isinstance(value, (Real, np.number)) and not isinstance(value, (bool, np.bool_))


# --- parameters of estimators, declared once ------------------------------------------------------


class Constraint(Protocol):
    """The allowed values of a parameter."""

    def allows(self, value: object) -> bool:
        """Whether the value is allowed."""

    def __str__(self) -> str: ...


@dataclass(frozen=True)
class Number:
    """A finite number from `low` to `high`, including the ends unless they are open.

    Examples
    --------
    >>> [str(Number(0)), str(Number(0, open_low=True)), str(Number(-1, 1.5)),
    ...  str(Number(1, whole=True))]
    ['a number >= 0', 'a number > 0', 'a number from -1 to 1.5', 'an integer >= 1']
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False
    open_high: bool = False
    whole: bool = False

    def allows(self, value: object) -> bool:
        """Whether the value is such a number."""
        if not is_number(value) or (self.whole and not isinstance(value, (int, np.integer))):
            return False
        number = float(value)  # type: ignore[arg-type]
        above = number > self.low if self.open_low else number >= self.low
        below = number < self.high if self.open_high else number <= self.high
        return above and below and math.isfinite(number)

    def __str__(self) -> str:
        what = "an integer" if self.whole else "a number"
        low = f"{'>' if self.open_low else '>='} {self.low:g}"
        high = f"{'<' if self.open_high else '<='} {self.high:g}"
        if math.isinf(self.low) and math.isinf(self.high):
            return what
        if math.isinf(self.high):
            return f"{what} {low}"
        if math.isinf(self.low):
            return f"{what} {high}"
        if self.open_low or self.open_high:
            return f"{what} {low} and {high}"
        return f"{what} from {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class NumberList:
    """A list of at least one number, each as in `Number`.

    Examples
    --------
    >>> str(NumberList(0, open_low=True)), NumberList(0).allows([1, 2.5]), NumberList(0).allows([])
    ('a list of numbers > 0', True, False)
    """

    low: float = -math.inf
    high: float = math.inf
    open_low: bool = False

    def allows(self, value: object) -> bool:
        """Whether the value is a list of such numbers, with at least one."""
        if isinstance(value, str) or not isinstance(value, (Sequence, np.ndarray)):
            return False
        number = Number(self.low, self.high, self.open_low)
        return len(value) > 0 and all(number.allows(one) for one in value)

    def __str__(self) -> str:
        words = str(Number(self.low, self.high, self.open_low))
        return words.replace("a number", "a list of numbers", 1)


@dataclass(frozen=True)
class Word:
    """One of a few words.

    Examples
    --------
    >>> str(Word("auto", "full")), Word("auto").allows("auto")
    ("'auto' or 'full'", True)
    """

    words: tuple[str, ...]

    def __init__(self, *words: str) -> None:
        object.__setattr__(self, "words", words)

    def allows(self, value: object) -> bool:
        """Whether the value is one of them."""
        return isinstance(value, str) and value in self.words

    def __str__(self) -> str:
        return listed([repr(word) for word in self.words], last="or")


@dataclass(frozen=True)
class Kind:
    """An instance of a type, described in words.

    Examples
    --------
    >>> str(Kind(bool, "True or False")), Kind((list, tuple), "a list").allows((1,))
    ('True or False', True)
    """

    types: type | tuple[type, ...]
    words: str

    def allows(self, value: object) -> bool:
        """Whether the value is an instance."""
        return isinstance(value, self.types)

    def __str__(self) -> str:
        return self.words


FLAG = Kind((bool, np.bool_), "True or False")
NONE = Kind(type(None), "None")


def check_parameters(estimator: object, allowed: Mapping[str, Sequence[Constraint]]) -> None:
    """Raise for the first parameter of an estimator that meets none of its constraints.

    Parameters
    ----------
    estimator : object
        Has one attribute per parameter.
    allowed : mapping of str to sequence of Constraint
        Constraints by parameter; a parameter that is not listed is not checked.

    Examples
    --------
    >>> class Model:
    ...     ridge, loss = -1.0, "logistic"
    >>> check_parameters(Model(), {"loss": [Word("logistic")], "ridge": [Number(0), Word("auto")]})
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: ridge must be a number >= 0 or 'auto', got -1.0.
    """
    for name, constraints in allowed.items():
        value = getattr(estimator, name)
        if any(one.allows(value) for one in constraints):
            continue
        words = [word for one in constraints if isinstance(one, Word) for word in one.words]
        if all(isinstance(one, Word) for one in constraints):
            refuse_word(name, value, words)
        raise UsageError(
            "{argument} must be {expected}, got {value!r}.",
            code="invalid-parameter",
            argument=Argument(name),
            expected=listed([str(one) for one in constraints], last="or"),
            value=value,
        )
