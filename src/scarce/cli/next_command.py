"""What to type next: a command with the flags of the present one that mean the same to another.

It can be pasted as it is: quoted for a shell, numbers in their shortest spelling, and a file whose
name begins with a dash behind ./, as it would be taken for an option. Runs nothing.
"""

from __future__ import annotations

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
    *("auc", "delimiter", "encoding", "decimal", "no_header", "missing", "only_empty"),
)


def command_to_paste(
    verb: str, table: Path | str | None, *more: str, leave: Sequence[str] = ()
) -> str:
    """Return a command with the flags of the present one that mean the same to another verb."""
    ctx = click.get_current_context()
    name = "FILE" if table is None or str(table) == "-" else str(table)
    words = ["scarce", verb, f"./{name}" if name.startswith("-") else name]
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
    return shlex.join([*words, *more])


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
