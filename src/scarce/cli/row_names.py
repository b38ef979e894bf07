"""Names that tell rows apart: is each one row's alone, and what became of them in a spreadsheet?

    0003960  ->  3960 (zeros lost), 3.96E+03 (digits lost), '0003960 or 3960.0 (spelt otherwise)

A list finds the way back to its table by them. Mends nothing: says what is wrong, and what to do.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from scarce.cli.bad_cells import shown
from scarce.cli.output import say
from scarce.errors import DataError, UsageError

APART = "Name a column that tells rows apart, or leave --id out: rows then go by position."
REWRITTEN = re.compile(r"\d(?:[.,]\d+)?E\+?\d+", re.IGNORECASE)


def bare(name: str) -> str:
    """Return a name without what a spreadsheet puts around it.

    Examples
    --------
    >>> bare(" 0007 "), bare("'0007"), bare("7.0"), bare("a7")
    ('0007', '0007', '7', 'a7')
    """
    name = name.strip().strip("'\u2018\u2019").strip()
    return name[:-2] if re.fullmatch(r"\d+[.,]0", name) else name


def lost_digits(name: Any) -> str:
    """Say that a spreadsheet has made a number of a name; "" if it does not look so."""
    if not REWRITTEN.fullmatch(str(name).strip()):
        return ""
    return (
        f"{name} looks like a name that a spreadsheet has rewritten as a number, and its digits "
        "are lost: take the list as `scarce label` wrote it, let the spreadsheet read that column "
        "as text, and fill it in again."
    )


def refuse_same(columns: Mapping[str, str | None]) -> None:
    """Refuse one column under two flags: what is it, then?"""
    seen: dict[str, str] = {}
    for flag, name in columns.items():
        if name is not None and name in seen:
            raise UsageError(f"{seen[name]} and {flag} both name {name!r}: each is its own column.")
        if name is not None:
            seen[name] = flag


def refuse_shared_ids(chosen: Any, parts: Sequence[Any], key: str, where: str) -> None:
    """Refuse to list a row whose name another row bears too; warn where only others share names.

    Parameters
    ----------
    chosen : pyarrow.ChunkedArray
        Names of the rows on the list.
    parts : sequence of pyarrow.ChunkedArray
        Names of all rows.
    key, where : str
        Their column, and the table, for messages.
    """
    import pyarrow as pa
    import pyarrow.compute as pc

    names = pa.chunked_array([one.cast(pa.string()) for part in parts for one in part.chunks])
    trimmed = pc.utf8_trim_whitespace(chosen.cast(pa.string())).fill_null("")
    if pc.any(pc.equal(trimmed, "")).as_py():
        raise DataError(
            f"--id {key}: a row that was chosen has none in {where}, so that its answer could not "
            f"find the way back. {APART}"
        )
    if pc.count_distinct(names, mode="all").as_py() == len(names):
        return
    counted = names.value_counts()
    often = counted.filter(pc.greater(counted.field("counts"), 1))
    shared = often.field("values").drop_null()
    listed = shared.filter(pc.is_in(shared, value_set=chosen.cast(pa.string()).combine_chunks()))
    if len(listed):
        raise DataError(
            f"--id {key}: {shown(listed[0].as_py())} stands in several rows of {where}, and its "
            f"answer could not find the way back to one. {APART}"
        )
    if len(shared):
        number = f"{len(shared):,} values stand" if len(shared) > 1 else "1 value stands"
        say(
            f"warning: --id {key}: {number} in several rows of {where}, such as "
            f"{shown(shared[0].as_py())}. None of them was chosen now; to be sure of later lists, "
            "name a column that tells all rows apart."
        )
