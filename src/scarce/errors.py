"""What can go wrong, as data: a code, what was seen, and what to do about it.

A `Problem` is a sentence with named places. Its plain text speaks Python; the command line renders
the same problem with flags. An error carries one, and so may a warning or a remark on a result:

    raise DataError(
        "Column {column!r} holds {count:,} infinite values (first at row {row:,}).",
        code="infinite-values", column="income", count=3, row=1812,
        missing=Argument("missing", "inf"),
        remedy="Replace them, or read them as missing with {missing}.",
    )

    Python        ... read them as missing with missing='inf'.
    command line  ... read them as missing with --missing inf.

Programs and tests ask for `error.code` and `error.fields`, never for words of the sentence. A
remedy that names an argument which the surface does not have is left out there.
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
    """The value of an argument of which only the name is said."""

    UNSET = "unset"


UNSET = Unset.UNSET


@dataclass(frozen=True)
class Argument:
    """An argument that a sentence names, with the value it has or should be given.

    Parameters
    ----------
    name : str
        As Python spells it, such as "random_state".
    value : object, optional
        What it is or should be set to; without one only the name is written. `...` stands for a
        value of the reader's own.
    call : str
        The function that takes it, where the sentence does not say: "open_rows" gives
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
    """Words that differ between Python and the command line, where an `Argument` is not enough.

    An empty `shell` says that the command line has no such thing: a remedy with it is left out.

    Examples
    --------
    >>> str(Phrase("Fit RareClassifier(ridge=0)", "Run `scarce fit --model rare --ridge 0`"))
    'Fit RareClassifier(ridge=0)'
    """

    python: str
    shell: str = ""

    def __str__(self) -> str:
        return self.python


Speaker = Callable[[Argument | Phrase], str | None]  # how a surface writes it; None: not at all


class Problem(str):
    """A sentence with its data: equal to its Python wording, and rendered anew for other surfaces.

    Parameters
    ----------
    text : str
        What was seen and why it cannot work, with named places such as ``{column!r}``. Without
        fields it is taken as it stands.
    code : str
        Stable name of the problem, such as "infinite-values".
    remedy : str or sequence of str
        What to do, as sentences of their own with the same places.
    fields : object
        Values for the places; an `Argument` or a `Phrase` is written as the surface writes it.

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
        """Render the Python wording; see the class."""
        remedies = (remedy,) if isinstance(remedy, str) else tuple(remedy)
        self = super().__new__(cls, _render(text, remedies, fields, str))
        self.text, self.code, self.remedy, self.fields = text, code, remedies, fields
        return self

    def render(self, speaker: Speaker) -> str:
        """Return the sentence as a surface says it."""
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
    """Fill the places of the text and of every remedy that this surface can say."""
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
    """Anything that scarce refuses or fails to do; the message is meant for the user.

    Parameters
    ----------
    text : str
        A sentence, or a `Problem` made elsewhere.
    code, remedy, fields
        As of `Problem`.

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


def warn_user(
    text: str, /, *, code: str = "", remedy: str | Sequence[str] = (), **fields: Any
) -> None:
    """Warn with a `DataWarning` that points at the line outside scarce that led here.

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
    near = near or difflib.get_close_matches(name, listed, n=1, cutoff=0.6)
    return f" Did you mean {near[0]!r}?" if near else ""


def refuse_array(name: str, value: object, shape: tuple[int, ...], kinds: str = "f") -> None:
    """Refuse a value of a model file unless it is an array of this shape and kind of numbers.

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
    """Return the error for an attribute of a model file that cannot be used.

    Examples
    --------
    >>> raise inconsistent_model("variance_", "must be above 0")
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: variance_ must be above 0.
    """
    return DataError("{name} {expected}.", code="inconsistent-model", name=name, expected=expected)


def refuse_word(argument: str, word: object, allowed: Sequence[str]) -> None:
    """Refuse a word that an argument does not know, naming those it does.

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
    """Write words as a list for a reader.

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
