"""Columns as people hand them over: scores, labels, probabilities, thresholds; read or refused.

NumPy (masked too), pandas, polars, Arrow and lists; None, NaN and NA are missing values. What is
not a number is refused by its value and its row. Assumes one value per row. Interprets nothing: see
intake.py.
"""

from __future__ import annotations

import operator
import os
from collections.abc import Mapping
from typing import Any

import numpy as np
from numpy.typing import NDArray

from scarce.engine.block import Array
from scarce.errors import DataError, UsageError

PIECE = 65_536
LEAST_PROBABILITY = 1e-12


def column(values: Any, name: str) -> NDArray[Any]:
    """Return one column as an array of numbers with NaN for missing values, or refuse it.

    Examples
    --------
    >>> column([1, None, True], "labels")
    array([ 1., nan,  1.])
    >>> column(["a"], "scores")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: scores holds 'a' at row 0, which is not a number: ...
    """
    if isinstance(values, (str, bytes, os.PathLike)):
        raise DataError(
            f"{name} is the text {str(values)[:60]!r}: give the column itself. For a file: "
            "open_rows(path, columns=..., label=...) first."
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
        raise DataError(f"{name} is not one column of numbers ({error}).") from None
    if held.ndim == 2 and held.shape[1] == 1:
        held = held[:, 0]
    if held.ndim != 1:
        raise DataError(f"{name} has shape {held.shape}: give one value per row.")
    if held.dtype == object:
        held = np.array([_number(value, name, row) for row, value in enumerate(held)], np.float64)
    _refuse_kind(held.dtype, name, held)
    return held.astype(np.float64, copy=False)


def _from_arrow(values: Any) -> Any:
    try:
        return values.cast("float64").to_numpy(zero_copy_only=False)
    except (TypeError, ValueError, NotImplementedError):  # Arrow's own errors are of these kinds
        return values.to_pylist()


def _refuse_kind(dtype: np.dtype[Any], name: str, held: Any = ()) -> None:
    if dtype.kind in "biuf":
        return
    what = {"M": "dates", "m": "durations", "c": "complex numbers"}.get(dtype.kind, "")
    if what:
        raise DataError(f"{name} holds {what} ({dtype}), which have no place here: give numbers.")
    first = held[0].item() if len(held) else dtype
    raise _not_a_number(name, first, 0)


def _number(value: Any, name: str, row: int) -> float:
    if value is None or type(value).__name__ in ("NAType", "NaTType"):
        return float("nan")
    if isinstance(value, (bool, int, float, np.bool_, np.integer, np.floating)):
        try:
            return float(value)
        except OverflowError:
            pass
    raise _not_a_number(name, value, row)


def _not_a_number(name: str, value: Any, row: int) -> DataError:
    shown = repr(value)
    shown = shown if len(shown) < 40 else f"{shown[:36]}..."
    hint = ""
    if name == "labels":
        hint = " Labels are 1 (event), 0 (no event) or missing; for words use (words == 'event')."
    return DataError(
        f"{name} holds {shown} at row {row:,}, which is not a number: give one number per row."
        f"{hint}"
    )


def read_scores(scores: Any, name: str = "scores") -> Array:
    """Return finite scores, or say where they are not.

    Examples
    --------
    >>> read_scores([0.1, float("nan")])
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: scores holds 1 value that is NaN or infinite (first at row 1): ...
    """
    if getattr(scores, "ndim", 1) == 2 and scores.shape[1] != 1:
        raise DataError(
            f"{name} has shape {scores.shape}: give one score per row, such as predict_proba(X)"
            "[:, 1] or decision_function(X)."
        )
    values = column(scores, name)
    if len(values) == 0:
        raise DataError(f"{name} is empty: there is no row to say anything about.")
    with np.errstate(over="ignore", invalid="ignore"):
        fine = np.isfinite(values.sum())
    if not fine and not np.isfinite(values).all():
        bad = np.flatnonzero(~np.isfinite(values))
        values_are = "value that is" if len(bad) == 1 else "values that are"
        raise DataError(
            f"{name} holds {len(bad):,} {values_are} NaN or infinite (first at row {bad[0]:,}): "
            "every row needs a finite score. Leave such rows out, or give them a score."
        )
    return values


def read_labels(labels: Any, n_rows: int) -> Array:
    """Return labels as 1.0, 0.0 and NaN for not labelled.

    Examples
    --------
    >>> read_labels([True, None, 0], 3)
    array([ 1., nan,  0.])
    >>> read_labels([-1, 1], 2)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: labels holds -1 at row 0: labels are 1 (event), 0 (no event) ...
    """
    if labels is None:
        return np.full(n_rows, np.nan)
    refuse_length(labels, n_rows, "labels", "NaN where a row was not labelled")
    values = column(labels, "labels")
    for start in range(0, len(values), PIECE):
        part = values[start : start + PIECE]
        # A label equals its own square, and a missing one does not equal itself.
        strange = (part * part != part) & (part == part)
        if strange.any():
            row = start + int(np.argmax(strange))
            raise DataError(
                f"labels holds {values[row]:g} at row {row:,}: labels are 1 (event), 0 (no event) "
                "or a missing value (not labelled). For other codes use open_rows(..., positive=, "
                "negative=, unlabelled=)."
            )
    return values


def refuse_length(values: Any, n_rows: int, name: str, rest: str) -> None:
    """Refuse a column that has not one value per score."""
    found = getattr(values, "shape", None)
    if isinstance(values, (list, tuple)):
        found = (len(values), *np.shape(values[0])) if len(values) else (0,)
    if found is None and hasattr(values, "__len__") and not isinstance(values, str):
        found = (len(values),)
    if found not in ((n_rows,), (n_rows, 1)):
        shown = f"shape {found}" if found is not None else f"the value {values!r}"
        raise DataError(
            f"There are {n_rows:,} scores and {name} has {shown}: give one value per score, {rest}."
        )


def read_inclusion(inclusion: Any, n_rows: int) -> Array | None:
    """Return inclusion probabilities, NaN where a row was not drawn; or refuse what is none."""
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
    chance = column(inclusion, "inclusion")
    bad = np.flatnonzero(
        (chance < 0) | (chance > 1) | ((chance > 0) & (chance < LEAST_PROBABILITY))
    )
    if len(bad):
        raise strange_probability(float(chance[bad[0]]), int(bad[0]))
    return chance


def strange_probability(value: float, row: int) -> DataError:
    """Refuse what cannot be the probability of a draw."""
    return DataError(
        f"inclusion holds {value:g} at row {row:,}: the probability with which a row was drawn "
        f"lies between {LEAST_PROBABILITY:g} and 1. If these are weights, pass 1 / weight."
    )


def read_threshold(threshold: Any, names: list[Any]) -> list[float]:
    """Return the threshold of each batch."""
    if type(threshold).__module__.startswith("pandas") and hasattr(threshold, "to_dict"):
        threshold = threshold.to_dict()
    if isinstance(threshold, Mapping):
        if names == [None]:
            raise UsageError(
                "threshold= is a dictionary, but there is one batch: give a number, or name the "
                "batches with batch=."
            )
        missing = [name for name in names if name not in threshold]
        if missing:
            raise UsageError(
                f"threshold= names no value for batch {missing[0]!r}: give one number for all "
                "batches, or one for each."
            )
        return [read_threshold(threshold[name], [name])[0] for name in names]
    try:
        value = float(threshold)
    except (TypeError, ValueError, OverflowError):
        value = float("nan")
    if not np.isfinite(value) or isinstance(threshold, str):
        raise UsageError(
            f"threshold={threshold!r} is not a score: give the finite number at or above which a "
            "row is an alert."
        )
    return [value] * len(names)


def read_level(level: Any) -> float:
    """Return a coverage, or refuse what is none."""
    if (
        isinstance(level, bool)
        or not isinstance(level, (int, float, np.number))
        or not 0 < level < 1
    ):
        raise UsageError(f"level={level!r} is not a coverage: give a number such as 0.9.")
    return float(level)


def read_auc(auc: Any) -> float | None:
    """Return the area under the ROC curve of a validation, or refuse what is none."""
    if auc is None:
        return None
    if not isinstance(auc, (int, float, np.number)) or not 0.5 < auc < 1:
        raise UsageError(
            f"auc={auc!r}: give the validation AUC as a number above 0.5 and below 1, or leave it "
            "out."
        )
    return float(auc)


def read_seed(random_state: Any) -> int:
    """Return a seed: the number given, or one drawn from a generator or from nowhere."""
    if random_state is None:
        return int(np.random.default_rng().integers(2**62))
    if isinstance(random_state, np.random.Generator):
        return int(random_state.integers(2**62))
    if isinstance(random_state, np.random.RandomState):
        return int(random_state.randint(2**31 - 1))
    if isinstance(random_state, (int, np.integer)) and random_state >= 0:
        return int(random_state)
    raise UsageError(
        f"random_state={random_state!r} is no seed: give a whole number from 0 on, a NumPy "
        "Generator or None."
    )


def whole_number(value: Any, name: str, least: int = 1) -> int:
    """Return a number of rows or rounds, or refuse what is none.

    Examples
    --------
    >>> whole_number(1.5, "n")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: n=1.5 cannot be counted off: give a whole number, 1 or more.
    """
    try:
        number = operator.index(value)
    except TypeError:
        number = least - 1
    if number < least or isinstance(value, (bool, np.bool_)):
        raise UsageError(
            f"{name}={value!r} cannot be counted off: give a whole number, {least} or more."
        )
    return number
