"""Base rates as typed: one number for the event, or one for each class by name.

    --now-at 0.015                    --now-at a=0.2 --now-at b=0.3   (the class left out: the rest)

Fractions of rows kept for training are typed in the same way, and become base rates:

    now_at[y]  is proportional to  trained_at[y] / kept[y]
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

from scarce.errors import UsageError, suggest

Shares = list[float]


def read_shares(typed: Sequence[str], classes: Sequence[Any], option: str) -> Shares | None:
    """Return one share per class, in the order of the classes; None where nothing was typed.

    Parameters
    ----------
    typed : sequence of str
        One number, the share of the last of two classes; or "CLASS=SHARE" for all classes or all
        but one.
    classes : sequence
        Names of the classes.
    option : str
        The flag, for messages.

    Examples
    --------
    >>> read_shares(["0.25"], ["legit", "fraud"], "--now-at")
    [0.75, 0.25]
    >>> read_shares(["c=0.25", "a=0.5"], ["a", "b", "c"], "--now-at")
    [0.5, 0.25, 0.25]
    >>> read_shares(["a=0.75", "b=0.5"], ["a", "b", "c"], "--now-at")
    Traceback (most recent call last):
    ...
    scarce.errors.UsageError: Base rates must be strictly between 0 and 1 and sum to 1, got ...
    """
    from scarce import checks

    if not typed:
        return None
    by_class = {classes[at]: share for at, share in _by_class(typed, classes, option).items()}
    name = option.removeprefix("--").replace("-", "_")
    found = checks.read_shares(by_class, classes, name)
    return [float(share) for share in found]


def shares_of_kept(
    typed: Sequence[str], classes: Sequence[Any], trained_at: Shares | None
) -> tuple[Shares, Shares]:
    """Return the mix of training and that of the world, from the rates at which rows were kept.

    Without the mix of training both are for a training on equal shares: what moves a probability is
    their ratio alone, which is right.

    Examples
    --------
    >>> shares_of_kept(["0.1"], [0, 1], [0.5, 0.5])[1]
    [0.9090909090909091, 0.09090909090909091]
    """
    option = "--undersample"
    kept = _by_class(typed, classes, option, last=False)
    before = trained_at or [1.0 / len(classes)] * len(classes)
    raw = [b / kept.get(k, 1.0) for k, b in enumerate(before)]
    return before, [value / math.fsum(raw) for value in raw]


def _by_class(
    typed: Sequence[str], classes: Sequence[Any], option: str, *, last: bool = True
) -> dict[int, float]:
    """What was typed, by position of the class; one bare number is for the last or first of two."""
    if len(typed) == 1 and "=" not in typed[0]:
        if len(classes) != 2:
            raise UsageError(
                "{option} {value} is one number, but there are {count} classes.",
                code="base-rate-classes",
                option=option,
                value=typed[0],
                count=len(classes),
                first=classes[0],
                second=classes[1],
                remedy="Give them by name, such as {option} {first}=0.2 {option} {second}=0.3.",
            )
        return {1 if last else 0: float(typed[0])}
    names = [str(name) for name in classes]
    found: dict[int, float] = {}
    for text in typed:
        name, mark, number = text.rpartition("=")
        if not mark:
            raise UsageError(
                "{option} {text}: give a class and a number, such as {example}=0.2.",
                code="base-rate-classes",
                option=option,
                text=text,
                example=names[0],
            )
        if name not in names:
            raise UsageError(
                "{option} {text}: there is no class {name!r}.{hint} The classes are: {classes}.",
                code="unknown-class",
                option=option,
                text=text,
                name=name,
                hint=suggest(name, names),
                classes=", ".join(names),
            )
        if names.index(name) in found:
            raise UsageError(
                "{option} names the class {name!r} twice.",
                code="base-rate-classes",
                option=option,
                name=name,
                remedy="Give it once.",
            )
        found[names.index(name)] = float(number)
    return found
