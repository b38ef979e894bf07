"""The levels of a category: are they levels at all, and which columns of 0 and 1 do they make?

    city=Ulm is 1 where city is Ulm, 0 at any other known level, NaN where city is missing

With indicators one level has no column of its own: the most frequent one, the first of these in
order where several are. A row of zeros means that level, and coefficients of the others compare
with it. Does not turn values into numbers: see schema.py.
"""

from __future__ import annotations

import re
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from scarce.errors import DataError, DataWarning, warn_user
from scarce.io.labels import brief
from scarce.io.schema import Column

MOST_INDICATORS = 100  # levels of a category that becomes columns of 0 and 1
FEW_WORDS = 0.02  # of the cells: fewer are worth a word, in a column of numbers otherwise
WIDEST = 5000  # columns of 0 and 1 altogether: rows are dense, 8 bytes a cell


def indicator_columns(
    name: str, levels: Sequence[Any], counts: Mapping[Any, int]
) -> tuple[Column, ...]:
    """Return the columns of 0 and 1 for a category: one per level but the most frequent one.

    A category of one level, or of none, has nothing to tell apart: it gives no column, and that is
    said.

    Examples
    --------
    >>> for column in indicator_columns("n", (1, 2, 3), {1: 4, 2: 9, 3: 9}):
    ...     print(column.name, column.levels)
    n=1 (2, 1)
    n=3 (2, 3)
    """
    if len(levels) < 2:
        seen = f"holds the one level {brief(levels[0])}" if levels else "holds no value"
        warnings.warn(
            f"Column {name!r} {seen}: it tells no rows apart and gives no column of 0 and 1. Leave "
            f"it out with drop=[{name!r}].",
            DataWarning,
            stacklevel=6,
        )
        return ()
    reference = max(levels, key=lambda level: counts[level])  # the first of equal ones
    return tuple(
        Column(f"{name}={_in_a_name(level)}", "indicator", (reference, level), name)
        for level in levels
        if level != reference
    )


def refuse_crowds(columns: Sequence[Column]) -> None:
    """Refuse columns of 0 and 1 that share a name with another column, or are too many to hold."""
    by_name: dict[str, Column] = {}
    for column in columns:
        other = by_name.setdefault(column.name, column)
        if other is not column:
            made = other if column.source is None else column
            raise DataError(
                f"Two columns would be named {column.name!r}: one that is there and one of 0 and 1 "
                f"for a level of {made.source!r}. Rename the column in the file, or leave one out "
                f"with drop=[{made.source!r}]."
            )
    sources = [column.source for column in columns if column.source is not None]
    if len(sources) > WIDEST:
        largest = max(dict.fromkeys(sources), key=sources.count)
        raise DataError(
            f"Categories would become {len(sources):,} columns of 0 and 1, of which {largest!r} "
            f"gives {sources.count(largest):,}: more than {WIDEST:,} are not held. Leave some out, "
            f"such as drop=[{largest!r}], or name the few that matter in indicators=[...]."
        )


_THOUSANDS = re.compile(r"[-+]?\d{1,3}([.,' \u2019\u00a0\u202f]\d{3})+([.,]\d+)?")
_BESIDE = " \t\u00a0\u202f%$\u20ac\u00a3"  # what may stand around a number
_ADVICE = {
    "comma": "with a decimal comma. Pass decimal=','",
    "point": "with a decimal point. Pass decimal='.'",
    "thousands": "with separators of thousands. Take them out in the file",
    "either": "with a decimal comma or a separator of thousands. Pass decimal=',' for the one, or "
    "take the other out in the file",
    "beside": "with a sign beside it. Take the sign out in the file",
}


def refuse_mixed(
    name: str, counts: Mapping[Any, int], first_row: Callable[[Any], int], decimal: str = "."
) -> None:
    """Refuse a text column that should have been numbers: a stray word, or another spelling.

    `counts` is how often each value occurs. `first_row` finds the row of a value; it is called only
    for the message. `decimal` is the point with which text was read. Where half of the values are
    words the column is a category; if nearly all of its rows hold numbers, that is said.
    """
    words = sorted(level for level in counts if isinstance(level, str))
    ways = {word: way for word in words if (way := _written(word, decimal)) is not None}
    strays = [word for word in words if word not in ways and not _is_number(word, decimal)]
    if not strays and not ways:
        return
    rows, odd = (sum(counts[word] for word in some) for some in (words, strays))
    category = f"if the column is a category, pass categories=[{name!r}]."
    mixed = 2 * len(strays) < len(words)
    if strays and (mixed or odd <= FEW_WORDS * rows):
        seen = (
            f"Column {name!r}: {brief(strays[0])} at row {first_row(strays[0]):,} is not a number "
            f"({odd:,} such cell{'s' if odd != 1 else ''}), while {rows - odd:,} of {rows:,} are."
        )
        advice = f"If it means missing, pass missing=[{brief(strays[0])}]; {category}"
        if mixed:
            raise DataError(f"{seen} {advice}")
        warn_user(f"{seen} The column is read as a category of {len(words)} levels. {advice}")
    if strays:
        return  # words, as a category has them
    for way, advice in _ADVICE.items():  # 1,234 may be either: other words tell
        word = next((word for word in ways if ways[word] == way), None)
        if word is not None:
            raise DataError(
                f"Column {name!r}: {brief(word)} at row {first_row(word):,} is a number written "
                f"another way, {advice}; {category}"
            )


def _written(word: str, decimal: str) -> str | None:
    """Return in which other way a number is written, None for plain numbers and for words.

    Examples
    --------
    >>> [_written(word, ".") for word in ("1.5", "1,5", "1,234", "1,234.5", "5 %", "red")]
    [None, 'comma', 'either', 'thousands', 'beside', None]
    """
    if _is_number(word, decimal):
        return None
    bare = word.strip(_BESIDE)
    if _is_number(bare, decimal):
        return "beside"
    grouped = _THOUSANDS.fullmatch(bare) is not None
    if decimal == "." and re.fullmatch(r"[-+]?\d*,\d+", bare):
        return "either" if grouped else "comma"
    if decimal != "." and not grouped and _is_number(bare, "."):
        return "point"
    return "thousands" if grouped else None


def _is_number(word: str, decimal: str) -> bool:
    if decimal != ".":
        if "." in word:
            return False
        word = word.replace(decimal, ".")
    try:
        float(word)
    except ValueError:
        return False
    return "_" not in word  # 1_000 is a number to Python alone


def _in_a_name(level: Any) -> str:
    """Write 2.0 as 2: streamed text gives whole numbers as floats, and names must not tell."""
    return str(int(level)) if isinstance(level, float) and level.is_integer() else str(level)
