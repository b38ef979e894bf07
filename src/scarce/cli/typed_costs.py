"""A cost as it is typed: a number, a column's name, or a multiple of a column.

    5        amount        "0.8 * amount + 15"

What people write otherwise, 2,5 or 400 EUR, is refused with the way to type it. Weighs nothing: see
cost_flags.py.
"""

from __future__ import annotations

import math
import re

from scarce.cli.options import plain_number
from scarce.errors import UsageError

COMMA = re.compile(r"\s*([-+]?\d+),(\d+)\s*")
WITH_UNIT = re.compile(r"\s*([^\w\s.,*`+-]?)\s*([-+]?\d+(?:\.\d+)?)\s*([^\d.,*`+-]*)\s*")


def cost_column(flag: str, text: str) -> tuple[str, ...]:
    """Return the column that a typed cost names, if any; refuse what is no cost."""
    number = plain_number(text)
    if number is None:
        from scarce import CostMatrix

        try:
            return CostMatrix.binary(false_alarm=0.0, miss=text).columns
        except UsageError:
            if spelled := _meant(flag, text):
                raise UsageError(spelled) from None
            raise UsageError(
                f"{flag} {text!r} is neither a number, nor a column's name, nor a multiple of a "
                f"column such as '0.8 * amount + 15'. An unusual name goes between back quotes: "
                f"{flag} '`{text.strip('`')}`'"
            ) from None
    if not math.isfinite(number):
        raise UsageError(f"{flag} {text} cannot be weighed: give a finite cost.")
    return ()


def _meant(flag: str, text: str) -> str:
    """Say how a cost is typed that was typed as people write it: 2,5 or 400 EUR; else ""."""
    if not text.strip():
        return f"{flag} is empty: give a number, or the name of a column."
    if found := COMMA.fullmatch(text):
        comma = f"with a decimal point, {found[1]}.{found[2]}"
        thousands = f", or without a mark between thousands, {found[1]}{found[2]}"
        return (
            f"{flag} {text!r} has a comma: type the number {comma}"
            f"{thousands if len(found[2]) == 3 else ''}."
        )
    if (found := WITH_UNIT.fullmatch(text)) and (found[1] or found[3]):
        word = found[3].strip()
        times = f", or a multiple of a column, '{found[2]} * {word}'" if word.isidentifier() else ""
        return (
            f"{flag} {text!r} is a number and something else: type the number alone, {found[2]}"
            f"{times}. All costs are in one unit, whatever it is."
        )
    return ""
