"""What can go wrong, in words a person in a hurry can act on.

Every message says what was seen (value, column, row, count), why it cannot work, and what to type
next. Each class carries the exit code that the command line ends with.
"""

from __future__ import annotations

import difflib
import sys
import warnings
from collections.abc import Iterable, Sequence


class ScarceError(Exception):
    """Anything that scarce refuses or fails to do; the message is meant for the user.

    Examples
    --------
    >>> raise DataError("Column 'age': all 12 values are text.")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: Column 'age': all 12 values are text.
    """

    exit_code = 1


class UsageError(ScarceError, ValueError):
    """An argument or option that cannot work, whatever the data are."""

    exit_code = 2


class DataError(ScarceError, ValueError):
    """Data that cannot be used as they are: names the column, the row and the way out."""

    exit_code = 3


class StoreError(ScarceError, ValueError):
    """A model file that cannot be read or written: damaged, foreign, or newer than this version."""

    exit_code = 3


class WorkerError(ScarceError, RuntimeError):
    """A block or a fit failed in a worker, or the worker died. No half result is kept."""


class CheckError(ScarceError):
    """A bound that the user asked to be checked does not hold."""

    exit_code = 4


class DataWarning(UserWarning):
    """Something in the data that the reader should know, and that did not stop the work."""


def warn_user(message: str) -> None:
    """Warn with a `DataWarning` that points at the line outside scarce that led here."""
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("scarce."):
        frame, level = frame.f_back, level + 1
    warnings.warn(message, DataWarning, stacklevel=level + 1)


def suggest(name: str, known: Iterable[str]) -> str:
    """Return `` Did you mean 'x'?`` for the nearest known name, or an empty string.

    Examples
    --------
    >>> suggest("incme", ["age", "income"])
    " Did you mean 'income'?"
    >>> suggest("ID", ["age", "id"])
    " Did you mean 'id'?"
    >>> suggest("zzz", ["age", "income"])
    ''
    """
    listed = list(known)
    near = [one for one in listed if one.lower() == name.lower() and one != name]
    near = near or difflib.get_close_matches(name, listed, n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def refuse_word(argument: str, word: object, allowed: Sequence[str]) -> None:
    """Refuse a word that an argument does not know, naming those it does.

    Examples
    --------
    >>> refuse_word("unknown", "mising", ["error", "missing"])
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: unknown='mising' is not known. Did you mean 'missing'? Give one of:
    ...
    """
    if not isinstance(word, str) or word not in allowed:
        listed = ", ".join(repr(known) for known in allowed)
        raise UsageError(
            f"{argument}={word!r} is not known.{suggest(str(word), allowed)} Give one of: {listed}."
        )
