"""How does a problem that names arguments of Python read to someone who types flags?

    Argument("drop", ["city"])  ->  --drop city        Argument("header", False)  ->  --no-header

Which option feeds which argument is in options.py. An argument that no option of the verb at hand
feeds has no flag; a remedy that names it is left out.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from typing import Any

from scarce.cli.next_command import shell_word
from scarce.cli.options import flags_by_argument, verb_options
from scarce.cli.output import say
from scarce.errors import UNSET, Argument, Phrase, Problem


class Flags:
    """Writes arguments as options of a verb.

    Parameters
    ----------
    options : collection of str
        Names of the verb's options without dashes, such as "no-header".

    Examples
    --------
    >>> speak = Flags(["drop", "seed", "no-header", "missing"])
    >>> speak(Argument("drop", ["city", "my town"])), speak(Argument("random_state"))
    ("--drop city --drop 'my town'", '--seed')
    >>> speak(Argument("header", False)), speak(Argument("missing", ...))
    ('--no-header', '--missing VALUE')
    >>> speak(Argument("alpha", 3)) is None, speak(Phrase("fit again", "run `scarce fit`"))
    (True, 'run `scarce fit`')
    """

    def __init__(self, options: Collection[str]) -> None:
        self.flags = flags_by_argument(options)

    def __call__(self, one: Argument | Phrase) -> str | None:
        """Return the flag with its value, or None where the verb has none."""
        if isinstance(one, Phrase):
            return one.shell or None
        name = self.flags.get(one.name)
        if name is None:
            return None
        if one.value is UNSET or isinstance(one.value, bool):
            return f"--{name}"
        if one.value is ... or one.value == [...]:
            return f"--{name} VALUE"
        values = one.value if isinstance(one.value, (list, tuple)) else [one.value]
        return " ".join(f"--{name} {shell_word(str(value))}" for value in values)


def in_flags(message: str, options: Collection[str] | None = None) -> str:
    """Return a message of the library as it is said to someone who types flags.

    Parameters
    ----------
    message : str
        A `Problem`, whose code the result keeps; a plain sentence is left as it is.
    options : collection of str, optional
        Names of options; those of the verb that is running by default.
    """
    if not isinstance(message, Problem) or not message.code:
        return message
    known = verb_options() if options is None else options
    return Problem(message.render(Flags(known)), code=message.code)


def with_code(message: str) -> str:
    """Return a message with its code behind it, where it has one."""
    code = getattr(message, "code", "")
    return f"{message} [{code}]" if code else str(message)


def warn(text: str, /, *, code: str = "", remedy: str | Sequence[str] = (), **fields: Any) -> None:
    """Write a warning on stderr; takes what `Problem` takes, or a `Problem`."""
    problem = (
        text if isinstance(text, Problem) else Problem(text, code=code, remedy=remedy, **fields)
    )
    say(f"scarce: warning: {with_code(in_flags(problem))}")
