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


def refuse_array(name: str, value: object, shape: tuple[int, ...], kinds: str = "f") -> None:
    """Refuse what is no array of this shape, of one of these kinds of numbers (f, i, u, b).

    Examples
    --------
    >>> refuse_array("coef_", None, (1, 2))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: coef_ is no array, where numbers of shape (1, 2) are needed.
    """
    seen, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if seen != shape or getattr(dtype, "kind", "") not in kinds:
        what = "is no array" if seen is None else f"has shape {seen} of {dtype}"
        raise DataError(f"{name} {what}, where numbers of shape {shape} are needed.")


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


def printable(text: str, *, keep: str = "\n") -> str:
    """Return text in which every character that is not visible is shown as an escape.

    Control characters (also C1), marks that change the direction of writing, characters without
    width and bytes that are no text would let a file's content act on the terminal, or hide.

    Parameters
    ----------
    text : str
    keep : str
        Characters that stay as they are: line ends as a rule, "" for what is one line, such as a
        table's cell.

    Examples
    --------
    >>> printable("a\\tb\\x1b[2J\\u202e"), printable("a\\nb"), printable("a\\nb", keep="")
    ('a\\\\tb\\\\x1b[2J\\\\u202e', 'a\\nb', 'a\\\\nb')
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else repr(one)[1:-1] for one in text)
