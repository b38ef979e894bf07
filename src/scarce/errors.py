"""What can go wrong, as data: a code, what was seen, and what to do about it.

A `Problem` is a message with named fields. Its text uses Python syntax; the command line renders
the same problem with flags. Errors, warnings and remarks on results carry one:

    raise DataError(
        "Column {column!r} holds {count:,} infinite values (first at row {row:,}).",
        code="infinite-values", column="income", count=3, row=1812,
        missing=Argument("missing", "inf"),
        remedy="Replace them, or read them as missing with {missing}.",
    )

    Python        ... read them as missing with missing='inf'.
    command line  ... read them as missing with --missing inf.

Programs and tests use `error.code` and `error.fields`, never the text. A remedy that names an
argument which a verb of the command line lacks is left out there.
"""

from __future__ import annotations

import difflib
import string
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import Any, Self

_FORMATTER = string.Formatter()


class Unset(Enum):
    """The value of an argument of which only the name is given."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True)
class Argument:
    """An argument in a message, with the value it has or should have.

    Parameters
    ----------
    name : str
        As Python spells it, such as "random_state".
    value : object, optional
        What it is or should be set to; without it only the name is written. `...` stands for any
        value.
    call : str
        The function that takes it, if the message does not say: "open_rows" gives
        ``open_rows(..., drop=['city'])``.

    Examples
    --------
    >>> str(Argument("level")), str(Argument("level", 1.5)), str(Argument("missing", ...))
    ('level', 'level=1.5', 'missing=...')
    >>> str(Argument("drop", ["city"], call="open_rows"))
    "open_rows(..., drop=['city'])"
    """

    name: str
    value: Any = UNSET
    call: str = ""

    def __str__(self) -> str:
        if self.value is UNSET:
            return self.name
        text = f"{self.name}={'...' if self.value is ... else repr(self.value)}"
        return f"{self.call}(..., {text})" if self.call else text


@dataclass(frozen=True)
class Phrase:
    """Text that differs between Python and the command line, where an `Argument` is not enough.

    An empty `shell` means that the command line has no equivalent: a remedy with it is left out.

    Examples
    --------
    >>> str(Phrase("Fit RareClassifier(ridge=0)", "Run `scarce fit --model rare --ridge 0`"))
    'Fit RareClassifier(ridge=0)'
    """

    python: str
    shell: str = ""

    def __str__(self) -> str:
        return self.python


Speaker = Callable[[Argument | Phrase], str | None]  # how to write it; None: no equivalent


class Problem(str):
    """A message with its data: a string in Python syntax that the command line can render again.

    Parameters
    ----------
    text : str
        What was seen and why it is a problem, with fields such as ``{column!r}``. Without fields it
        is used unchanged.
    code : str
        Stable name of the problem, such as "infinite-values".
    remedy : str or sequence of str
        What to do, as separate sentences with the same fields.
    fields : object
        Values of the fields; an `Argument` or a `Phrase` is written in the syntax of the reader.

    Examples
    --------
    >>> problem = Problem("{level} is not between 0 and 1.", code="level-range",
    ...                   level=Argument("level", 1.5))
    >>> problem, problem.code, problem.fields["level"].value
    ('level=1.5 is not between 0 and 1.', 'level-range', 1.5)
    >>> problem.render(lambda one: f"--{one.name} {one.value}")
    '--level 1.5 is not between 0 and 1.'
    """

    text: str
    code: str
    remedy: tuple[str, ...]
    fields: Mapping[str, Any]

    def __new__(
        cls, text: str, /, *, code: str = "", remedy: str | Sequence[str] = (), **fields: Any
    ) -> Self:
        """Render the text in Python syntax; see the class."""
        remedies = (remedy,) if isinstance(remedy, str) else tuple(remedy)
        self = super().__new__(cls, _render(text, remedies, fields, str))
        self.text, self.code, self.remedy, self.fields = text, code, remedies, fields
        return self

    def render(self, speaker: Speaker) -> str:
        """Return the text as written by `speaker`."""
        return _render(self.text, self.remedy, self.fields, speaker)

    def amended(
        self, before: str = "", *, remedy: str | Sequence[str] | None = None, **fields: Any
    ) -> Problem:
        """Return the same problem with words before it, or with other remedies.

        Examples
        --------
        >>> Problem("No rows.", code="no-rows").amended("{file}: ", file="a.csv")
        'a.csv: No rows.'
        """
        parts = (self.text, *self.remedy)
        if fields and not self.fields:  # taken as they stand until now
            parts = tuple(part.replace("{", "{{").replace("}", "}}") for part in parts)
        kept = parts[1:] if remedy is None else (remedy,) if isinstance(remedy, str) else remedy
        given = {**self.fields, **fields}
        return Problem(before + parts[0], code=self.code, remedy=kept, **given)

    def __getnewargs_ex__(self) -> tuple[tuple[str], dict[str, Any]]:
        return (self.text,), {"code": self.code, "remedy": self.remedy, **self.fields}


def _render(text: str, remedies: Sequence[str], fields: Mapping[str, Any], speaker: Speaker) -> str:
    """Fill in the text and every remedy that the speaker can write."""
    if not fields:
        return " ".join([text, *remedies])
    marks = {name: one for name, one in fields.items() if isinstance(one, (Argument, Phrase))}
    spoken = {name: speaker(one) for name, one in marks.items()}
    fallback = {name: str(one) for name, one in marks.items()}
    values = {**fields, **fallback, **{name: one for name, one in spoken.items() if one}}
    unsaid = {name for name, one in spoken.items() if not one}
    sayable = [one for one in remedies if not unsaid & _places(one)]
    return " ".join(part.format_map(values) for part in [text, *sayable])


def _places(text: str) -> set[str]:
    return {name for _, name, _, _ in _FORMATTER.parse(text) if name}


class ScarceError(Exception):
    """Base class of all errors of scarce; the message is for the user.

    Parameters
    ----------
    text : str
        A message, or a `Problem`.
    code, remedy, fields
        As in `Problem`.

    Examples
    --------
    >>> raise DataError("Column {column!r}: all {count} values are text.", code="text-column",
    ...                 column="age", count=12)
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: Column 'age': all 12 values are text.
    """

    exit_code = 1

    def __init__(
        self, text: str = "", /, *, code: str = "", remedy: str | Sequence[str] = (), **fields: Any
    ) -> None:
        if not isinstance(text, Problem):
            text = Problem(text, code=code, remedy=remedy, **fields)
        super().__init__(text)

    @property
    def problem(self) -> Problem:
        """The problem as data."""
        found: Problem = self.args[0]
        return found

    @property
    def code(self) -> str:
        """Stable name of the problem."""
        return self.problem.code

    @property
    def fields(self) -> Mapping[str, Any]:
        """What was seen, by name."""
        return self.problem.fields

    def amended(
        self, before: str = "", *, remedy: str | Sequence[str] | None = None, **fields: Any
    ) -> Self:
        """Return the same error with words before its sentence, or with other remedies."""
        return type(self)(self.problem.amended(before, remedy=remedy, **fields))


class UsageError(ScarceError, ValueError):
    """An invalid argument or option, whatever the data."""

    exit_code = 2


class DataError(ScarceError, ValueError):
    """Data that cannot be used: names the column, the row and the remedy."""

    exit_code = 3


class StoreError(ScarceError, ValueError):
    """A model file that cannot be read or written: damaged, not ours, or from a newer version."""

    exit_code = 3


class WorkerError(ScarceError, RuntimeError):
    """A block or a fit failed in a worker, or the worker died. No partial result is kept."""


class CheckError(ScarceError):
    """A check requested by the user failed."""

    exit_code = 4


class DataWarning(UserWarning):
    """Something in the data that the user should know, but that is not an error."""


def warn_user(
    text: str, /, *, code: str = "", remedy: str | Sequence[str] = (), **fields: Any
) -> None:
    """Warn with a `DataWarning` that points at the calling line outside scarce.

    The warning's only argument is a `Problem`.
    """
    if not isinstance(text, Problem):
        text = Problem(text, code=code, remedy=remedy, **fields)
    frame, level = sys._getframe(1), 1
    while frame.f_back is not None and frame.f_globals.get("__name__", "").startswith("scarce."):
        frame, level = frame.f_back, level + 1
    warnings.warn(DataWarning(text), stacklevel=level + 1)


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
    near = near or difflib.get_close_matches(name, listed, n=1, cutoff=0.65)
    return f" Did you mean {near[0]!r}?" if near else ""


def refuse_array(name: str, value: object, shape: tuple[int, ...], kinds: str = "f") -> None:
    """Raise unless a value of a model file is an array of this shape and kind of numbers.

    Kinds are those of NumPy: f, i, u, b.

    Examples
    --------
    >>> refuse_array("coef_", None, (1, 2))
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: coef_ must be an array of numbers of shape (1, 2), got NoneType.
    """
    seen, dtype = getattr(value, "shape", None), getattr(value, "dtype", None)
    if seen != shape or getattr(dtype, "kind", "") not in kinds:
        raise DataError(
            "{name} must be an array of numbers of shape {shape}, got {seen}.",
            code="wrong-array",
            name=name,
            shape=shape,
            seen=type(value).__name__ if seen is None else f"shape {seen} of {dtype}",
        )


def inconsistent_model(name: str, expected: str) -> DataError:
    """Return the error for an invalid attribute of a model file.

    Examples
    --------
    >>> raise inconsistent_model("variance_", "must be above 0")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: variance_ must be above 0.
    """
    return DataError("{name} {expected}.", code="inconsistent-model", name=name, expected=expected)


def refuse_word(argument: str, word: object, allowed: Sequence[str]) -> None:
    """Raise unless a word is one of those allowed.

    Examples
    --------
    >>> refuse_word("unknown", "mising", ["error", "missing"])
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: unknown must be 'error' or 'missing', got 'mising'. Did you mean ...
    """
    if not isinstance(word, str) or word not in allowed:
        raise UsageError(
            "{argument} must be {allowed}, got {value!r}.{hint}",
            code="unknown-word",
            argument=Argument(argument),
            value=word,
            hint=suggest(str(word), allowed),
            allowed=listed([repr(known) for known in allowed], last="or"),
        )


def listed(words: Sequence[str], last: str = "and", most: int = 12) -> str:
    """Join words to a list in a sentence.

    Examples
    --------
    >>> listed(["a"]), listed(["a", "b"]), listed(["a", "b", "c"], last="or")
    ('a', 'a and b', 'a, b or c')
    >>> listed(["a", "b", "c", "d"], most=2)
    'a, b and 2 more'
    """
    if len(words) > most:
        return f"{', '.join(words[:most])} and {len(words) - most:,} more"
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def printable(text: str, *, keep: str = "\n") -> str:
    """Return text with all invisible characters escaped.

    Control characters (also C1), bidirectional marks, characters of zero width and invalid bytes in
    a file could control the terminal or hide content.

    Parameters
    ----------
    text : str
    keep : str
        Characters to keep: line ends by default, "" for a single line such as a table cell.

    Examples
    --------
    >>> printable("a\\tb\\x1b[2J\\u202e"), printable("a\\nb"), printable("a\\nb", keep="")
    ('a\\\\tb\\\\x1b[2J\\\\u202e', 'a\\nb', 'a\\\\nb')
    """
    if text.isprintable():
        return text
    return "".join(one if one.isprintable() or one in keep else repr(one)[1:-1] for one in text)
