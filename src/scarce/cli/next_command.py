"""What to type next: a command with the flags of the present one that mean the same to another.

It can be pasted as it is: quoted for a shell (`shell_command`, `shell_word`), numbers in their
shortest spelling, and a file whose name begins with a dash behind ./ (`path_word`), as it would be
taken for an option. Every command that a verb advises is spelled here. Runs nothing.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

CARRIED = (
    *(
        "score",
        "label",
        "positive",
        "negative",
        "unlabelled",
        "classes",
        "threshold",
        "audit",
        "id",
    ),
    *("batch", "group", "second"),
    *("auc", "delimiter", "encoding", "decimal", "no_header", "missing", "only_empty"),
)


def command_to_paste(
    verb: str, table: Path | str | None, *more: str, leave: Sequence[str] = ()
) -> str:
    """Return a command with the flags of the present one that mean the same to another verb."""
    ctx = click.get_current_context()
    name = "FILE" if table is None or str(table) == "-" else str(table)
    words = ["scarce", verb, path_word(name)]
    known = {parameter.name: parameter for parameter in ctx.command.params}
    for name in CARRIED:
        source = ctx.get_parameter_source(name)
        if name not in known or name in leave or source is None or source.name == "DEFAULT":
            continue
        value, flag = ctx.params[name], max(known[name].opts, key=len)
        if isinstance(value, bool):
            words += [flag] if value else []
        else:
            for one in value if isinstance(value, tuple) else (value,):
                words += [flag, _spelt(one)]
    return shell_command(*words, *more)


def shell_command(*words: str) -> str:
    """Return words as one line that a shell reads as these words.

    Examples
    --------
    >>> shell_command("scarce", "predict", "a b; touch PWNED;.scarce", "NEW-ROWS.csv")
    "scarce predict 'a b; touch PWNED;.scarce' NEW-ROWS.csv"
    """
    return " ".join(map(shell_word, words))


def shell_word(word: str) -> str:
    """Quote a word for a shell; bytes that no terminal shows are spelled (bash, zsh, ksh).

    Examples
    --------
    >>> print(shell_word("fraud"), shell_word("it's"), shell_word("a\\tb"))
    fraud 'it'"'"'s' $'a\\x09b'
    """
    if word.isprintable():
        return shlex.quote(word)
    spelled = (
        one.replace("\\", "\\\\").replace("'", "\\'")
        if one.isprintable()
        else "".join(f"\\x{byte:02x}" for byte in os.fsencode(one))
        for one in word
    )
    return f"$'{''.join(spelled)}'"


def path_word(path: Path | str) -> str:
    """Return a path as a word that no verb takes for an option; not yet quoted.

    Examples
    --------
    >>> path_word("-q.scarce"), path_word("m.scarce")
    ('./-q.scarce', 'm.scarce')
    """
    return f"./{path}" if str(path).startswith("-") else str(path)


def _spelt(value: Any) -> str:
    """Return a value as one would type it.

    Examples
    --------
    >>> _spelt(0.3), _spelt(2.0), _spelt(1 / 3), _spelt("fraud")
    ('0.3', '2', '0.3333333333333333', 'fraud')
    """
    if not isinstance(value, float):
        return str(value)
    return f"{value:g}" if float(f"{value:g}") == value else repr(value)
