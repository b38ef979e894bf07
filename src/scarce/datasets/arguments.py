"""Is this argument usable? The few checks that every simulator and reader shares.

Each check returns the value in the form the caller computes with, or raises a `UsageError` that
says what was given, why it cannot work and what to give instead. Nothing here touches data files.
"""

from __future__ import annotations

import numbers
from collections.abc import Iterable
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.errors import UsageError, suggest

Array = NDArray[np.float64]
RandomState = int | np.random.Generator


def generator(random_state: Any) -> np.random.Generator:
    """Return the random generator behind an integer seed or a numpy Generator.

    A Generator is used as it is and moves on with every draw; an integer starts a new one, so the
    same integer always gives the same bytes.

    Examples
    --------
    >>> float(generator(3).random()) == float(generator(3).random())
    True
    """
    if isinstance(random_state, np.random.Generator):
        return random_state
    if isinstance(random_state, int | np.integer) and not isinstance(random_state, bool):
        if random_state < 0:
            raise UsageError(
                f"random_state={random_state} is negative and no seed: give 0 or a greater integer."
            )
        return np.random.default_rng(int(random_state))
    raise UsageError(
        f"random_state={random_state!r} is neither an integer nor a numpy Generator: give a seed, "
        "such as random_state=0."
    )


def count(name: str, value: Any, *, least: int = 1, most: int | None = None) -> int:
    """Return `value` as an int of at least `least` and at most `most`.

    Examples
    --------
    >>> count("n", 12)
    12
    >>> count("n", 0)
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: n=0 is not usable: give a whole number of at least 1.
    """
    whole = isinstance(value, numbers.Integral) and not isinstance(value, bool)
    if not whole or value < least or (most is not None and value > most):
        span = f"of at least {least}" if most is None else f"from {least} to {most}"
        raise UsageError(f"{name}={value!r} is not usable: give a whole number {span}.")
    return int(value)


def share(name: str, value: Any, *, closed: bool = False) -> float:
    """Return `value` as a float strictly between 0 and 1, or from 0 to 1 when `closed`.

    Examples
    --------
    >>> share("prevalence", 0.02)
    0.02
    >>> share("prevalence", 2)
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: prevalence=2 is not a share: give a number strictly between 0 and 1.
    """
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    inside = real and (0.0 <= value <= 1.0 if closed else 0.0 < value < 1.0)
    if not inside:
        span = "from 0 to 1" if closed else "strictly between 0 and 1"
        raise UsageError(f"{name}={value!r} is not a share: give a number {span}.")
    return float(value)


def number(name: str, value: Any, *, above: float | None = None) -> float:
    """Return `value` as a finite float, greater than `above` where that is given.

    Examples
    --------
    >>> number("signal", 1, above=0.0)
    1.0
    >>> number("signal", float("nan"))
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: signal=nan is not usable: give a finite number.
    """
    real = isinstance(value, numbers.Real) and not isinstance(value, bool)
    if not real or not np.isfinite(float(value)) or (above is not None and not value > above):
        span = "" if above is None else f" greater than {above:g}"
        raise UsageError(f"{name}={value!r} is not usable: give a finite number{span}.")
    return float(value)


def choice(name: str, value: Any, known: Iterable[str]) -> str:
    """Return `value` if it is one of `known`; otherwise name the choices and the nearest one.

    Examples
    --------
    >>> choice("link", "logit", ["logistic", "cloglog"])
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: link='logit' is not known. Did you mean 'logistic'? Choose one of
    'logistic', 'cloglog'.
    """
    names = list(known)
    if isinstance(value, str) and value in names:
        return value
    listed = ", ".join(repr(each) for each in names)
    raise UsageError(
        f"{name}={value!r} is not known.{suggest(str(value), names)} Choose one of {listed}."
    )


def matrix(name: str, values: ArrayLike) -> Array:
    """Return a fresh float64 copy of a table of numbers (rows, columns); NaN means missing.

    Examples
    --------
    >>> matrix("X", [[1, 2], [3, 4]]).shape
    (2, 2)
    >>> matrix("X", [1, 2])
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: X has shape (2,): give a table of rows and columns, such as
    X.reshape(-1, 1).
    """
    copy = np.array(values, dtype=np.float64)
    if copy.ndim != 2:
        raise UsageError(
            f"{name} has shape {copy.shape}: give a table of rows and columns, such as "
            f"{name}.reshape(-1, 1)."
        )
    return copy


def vector(name: str, values: ArrayLike, *, n: int | None = None) -> Array:
    """Return a fresh float64 copy of a list of numbers, `n` long where that is given.

    Examples
    --------
    >>> vector("scores", [1, 2], n=3)
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: scores has shape (2,), but 3 values are needed: give one per row.
    """
    copy = np.array(values, dtype=np.float64)
    if copy.ndim != 1 or (n is not None and copy.size != n):
        wanted = "one list of values is needed" if n is None else f"{n} values are needed"
        raise UsageError(f"{name} has shape {copy.shape}, but {wanted}: give one per row.")
    return copy
