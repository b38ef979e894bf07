"""How is a result written on a page, and in the JSON inside it?

On the page: numbers as `scarce.results.short` writes them, intervals in brackets. In the JSON: as
`scarce.results.to_plain` makes it. Characters that HTML does not allow are replaced. Computes
nothing.
"""

from __future__ import annotations

import math
from dataclasses import replace
from json import dumps
from typing import Any

from scarce.plots.names import clean
from scarce.plots.picture import is_guess
from scarce.results import Estimate, short, to_plain

ROUNDING = 1e-9  # a smaller difference of proportions is rounding error

Unit = bool | str  # True for percent, "pp" for percentage points, "whole" for counts


def sentence(text: str) -> str:
    """Return a text with a capital first letter, otherwise unchanged.

    Examples
    --------
    >>> sentence("probability of Fraud"), sentence("")
    ('Probability of Fraud', '')
    """
    return text[:1].upper() + text[1:]


def number(value: float, *, percent: Unit = False) -> str:
    """Write a number as `short` does; infinity is "unbounded".

    Examples
    --------
    >>> number(12345.6), number(0.0153, percent=True), number(float("inf")), number(float("nan"))
    ('12,346', '1.53 %', 'unbounded', 'unknown')
    >>> number(-0.004, percent="pp"), number(1.9e-15, percent="pp")
    ('-0.4 pp', '0 pp')
    >>> number(41.6, percent="whole")
    '42'
    """
    value = float(value)
    if math.isinf(value):
        return "unbounded" if value > 0 else "-unbounded"
    if percent == "whole":
        return "unknown" if math.isnan(value) else f"{round(value):,}"
    if percent == "pp" and abs(value) < ROUNDING:
        value = 0.0
    return short(value, percent=percent)


def limits(one: Estimate, *, percent: Unit = False) -> str:
    """Write the interval alone; of a count low is rounded down and high up, exact has none.

    Examples
    --------
    >>> limits(Estimate(0.5, 0.25, float("inf"))), limits(Estimate(0.5, 0.2, 0.8), percent=True)
    ('[0.25, unbounded]', '[20 %, 80 %]')
    >>> limits(Estimate(float("nan"), float("nan"), float("nan")))
    'no interval'
    >>> limits(Estimate(41.6, 7.83, 423.2), percent="whole"), limits(Estimate(3.0, 3.0, 3.0))
    ('[7, 424]', '')
    """
    if math.isnan(one.low) and math.isnan(one.high):
        return "no interval"
    if is_guess(one):
        return "a guess, no interval"
    if one.low == one.high == one.value:
        return ""
    low, high = one.low, one.high
    if percent == "whole":
        low = math.floor(low + ROUNDING) if math.isfinite(low) else low
        high = math.ceil(high - ROUNDING) if math.isfinite(high) else high
    return f"[{number(low, percent=percent)}, {number(high, percent=percent)}]"


def as_drawn(value: object) -> object:
    """Return a figure as it may be drawn: a guess without its ends."""
    if isinstance(value, Estimate) and is_guess(value):
        return replace(value, low=math.nan, high=math.nan)
    return value


def cell(value: object, *, percent: Unit = False) -> str:
    """Write a table cell.

    Examples
    --------
    >>> cell(1234567), cell(None), cell(True), cell(Estimate(0.5, 0.4, 0.6)), cell("a b")
    ('1,234,567', '-', 'yes', '0.5 [0.4, 0.6]', 'a b')
    """
    if value is None:
        return "-"
    if isinstance(value, Estimate):
        ends = limits(value, percent=percent)
        return f"{number(value.value, percent=percent)} {ends}".rstrip()
    value = value.item() if hasattr(value, "item") and hasattr(value, "dtype") else value
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, int):
        return number(value, percent=percent) if percent else f"{value:,}"
    if isinstance(value, float):
        return number(value, percent=percent)
    return clean(value)


def is_number(value: object) -> bool:
    """Whether a cell is numeric, and so aligned right.

    Examples
    --------
    >>> is_number(3), is_number(Estimate(1, 0, 2)), is_number("3"), is_number(None)
    (True, True, False, True)
    """
    return value is None or isinstance(value, (int, float, Estimate)) or hasattr(value, "dtype")


def plain(value: object) -> Any:
    """Return a result as JSON values, with text that HTML allows.

    Examples
    --------
    >>> plain({"a": (1, float("nan")), 2: Estimate(0.5, 0.0, float("inf"))})["2"]["high"]
    'Infinity'
    """
    return _cleaned(to_plain(value))


def _cleaned(value: Any) -> Any:
    if isinstance(value, dict):
        return {clean(key): _cleaned(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_cleaned(item) for item in value]
    return clean(value) if isinstance(value, str) else value


def embedded(value: object) -> str:
    """Return JSON for a script element, which nothing in it can close.

    Examples
    --------
    >>> embedded({"name": "</script>&"})
    '{"name":"\\\\u003c/script\\\\u003e\\\\u0026"}'
    """
    text = dumps(plain(value), sort_keys=True, separators=(",", ":"), allow_nan=False)
    return text.replace("&", "\\u0026").replace("<", "\\u003c").replace(">", "\\u003e")
