"""How are figures of decisions written for people?

Limits stand in brackets after their figure. Computes nothing: see resample.py.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from typing import Any

import numpy as np

from scarce.results import Estimate, short

FEW = 10  # rows behind a number, below which that is said


def figure(one: Estimate) -> str:
    """Write a figure and its limits.

    Examples
    --------
    >>> figure(Estimate(4.0, 2.5, 12345.6))
    '4 [2.5, 12,346]'
    """
    return f"{short(one.value)} {limits_of(one)}"


def limits_of(one: Estimate) -> str:
    """Write the limits alone."""
    return f"[{short(one.low)}, {short(one.high)}]"


def percent(one: Estimate) -> str:
    """Write a share and its limits in percent.

    Examples
    --------
    >>> percent(Estimate(-12.5, -17.8123, 0.042))
    '-1,250 % [-1,781 %, 4.2 %]'
    """
    if np.isnan(one.value):
        return "unknown, for it costs 0"
    value, low, high = (f"{short(100 * x)} %" for x in (one.value, one.low, one.high))
    return f"{value} [{low}, {high}]"


def few_words(
    classes: Sequence[Hashable], counts: Any, carried: float, n_groups: int | None = None
) -> str:
    """Say that few rows stand behind a number; nothing if there are enough.

    Parameters
    ----------
    classes, counts : names of classes and their labelled rows
    carried : float
        Rows, or groups where rows come in groups, that carry the cost: see `support`.
    n_groups : int, optional
        Number of groups that the rows come in.

    Examples
    --------
    >>> few_words((0, 1), [500, 3], 100.0)
    '; few: 3 labelled rows of class 1'
    >>> few_words((), (), 1.0), few_words((), (), 7.6, n_groups=8)
    ('; few: the cost lies on about 1 row', '; few: 8 groups, the cost lies on about 8 groups')
    """
    said = [
        f"{_count(count, 'labelled row')} of class {name!r}"
        for name, count in zip(classes, counts, strict=True)
        if count < FEW
    ][:2]
    if n_groups is not None and n_groups < FEW:
        said.append(_count(n_groups, "group"))
    if 0 < carried < FEW:
        said.append(f"the cost lies on about {_count(carried, 'group' if n_groups else 'row')}")
    return f"; few: {', '.join(said)}" if said else ""


def _count(number: float, what: str) -> str:
    number = round(number)
    return f"{number} {what}{'s' if number != 1 else ''}"


def few_remarks(few: str) -> tuple[str, ...]:
    """Return the words of `few_words` as a remark, or none."""
    return (f"Few rows stand behind this: {few.removeprefix('; few: ')}.",) if few else ()


def with_remarks(lines: Iterable[str], remarks: Iterable[str]) -> str:
    """Write lines, and remarks below them."""
    return "\n".join([*lines, *(f"remark: {text}" for text in remarks)])
