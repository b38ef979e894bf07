"""A list of rows to check, as a file: what was drawn, and what has a person filled in since?

    1 / chance = w_j / chance_j + w_(j+1) + ... + w_K        (a row that list j of K drew by lot)

Each list alone counts what was open when it was drawn, with the rows of earlier lists as certain;
the counts of all are averaged with weights w, by the number of lots that were checked. Assumes that
a list was drawn after the earlier ones had been filled in. Understands what spreadsheets do to text
on its way. Does not look at the table: see checklists.py.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.bad_cells import shown
from scarce.errors import DataError

if TYPE_CHECKING:
    from scarce.rows import TextForm

ORDERED = ("band", "tail")  # policies that take the greatest scores, all of them
ROW, CHANCE, POLICY, ANSWER = "row", "inclusion", "policy", "label"
MOST_ROWS = 2**53  # beyond, a number in a file is no position


class Entry(NamedTuple):
    """One row of a list that came back."""

    label: Any  # None where nobody has filled it in
    chance: float
    score: float
    where: str
    policy: str = ""


def read_list(
    path: Path, by: str | None, label: str, score: str | None, numbers: bool, form: TextForm
) -> dict[Any, Entry]:
    """Read one list: by key, the label that was filled in, the probability and the score."""
    import numpy as np

    from scarce.tables import open_table

    form, key = _form_of(path, form), by or ROW
    source = open_table(path, form)
    for name, option in ((key, "--id"), (label, "--label"), (CHANCE, "")):
        source.column(name, option)
    table = source.read(exact=True)
    chance = _numbers(table, CHANCE, source.where, form)
    scores = np.full(table.num_rows, np.nan)
    if score in source.names:
        scores = _numbers(table, score, source.where, form)
    if numbers:
        labels = [
            None if x != x else x for x in _numbers(table, label, source.where, form).tolist()
        ]
    else:
        labels = without_blanks(table.select([label]), form).column(label).to_pylist()
    if by is None:
        keys = _numbers(table, key, source.where, form).tolist()
    else:
        keys = [str(value) for value in table.column(key).to_pylist()]
    policies = [""] * table.num_rows
    if POLICY in source.names:
        policies = [str(word) for word in table.column(POLICY).to_pylist()]
    strange = np.flatnonzero(~((chance > 0) & (chance <= 1)))
    if len(strange):
        at = int(strange[0])
        raise DataError(
            f"{source.where}, column {CHANCE!r}: {chance[at]:g} in line {at + 1:,} is not the "
            "probability of a draw, which lies above 0 and up to 1. Take the list as `scarce "
            "label` wrote it."
        )
    found: dict[Any, Entry] = {}
    for place, one in enumerate(keys):
        if by is None and not (0 <= one < MOST_ROWS and one == int(one)):
            raise DataError(
                f"{source.where}, column {ROW!r}: line {place + 1:,} holds no position, which is a "
                "whole number from 0. Take the list as `scarce label` wrote it, or name --id."
            )
        one = int(one) if by is None else one
        if one in found:
            raise DataError(
                f"{source.where} lists {key} {one} twice, and each row is checked once. Remove one "
                "of the lines."
            )
        found[one] = Entry(
            labels[place],
            float(chance[place]),
            float(scores[place]),
            source.where,
            policies[place],
        )
    return found


def _numbers(table: Any, name: str, where: str, form: TextForm) -> Any:
    """Return a column as numbers, whether a point or a comma is decimal in it."""
    from scarce.cli.prob_columns import number_values

    first: DataError | None = None
    for decimal in (form.decimal, "." if form.decimal == "," else ","):
        spelled = replace(form, decimal=decimal)
        try:
            return number_values(table, name, where=where, form=spelled, start=0)
        except DataError as error:
            first = first or error
    assert first is not None
    raise first


def _form_of(path: Path, form: TextForm) -> TextForm:
    """How a list is written: as `scarce label` writes it, or as a spreadsheet saved it since."""
    from scarce.rows import TextForm

    try:
        head = path.read_bytes()
    except OSError:
        return form  # open_table says what is wrong
    try:
        head.decode()
        encoding = "utf-8"
    except UnicodeDecodeError:
        encoding = form.encoding
    line = head.partition(b"\n")[0]
    mark = max(",;\t|", key=lambda one: line.count(one.encode()))
    decimal = form.decimal if mark == "," else ","  # where values may hold one, it is decimal
    return TextForm(mark, encoding, decimal, True, form.missing, form.only_empty)


def weighed(lists: Sequence[dict[Any, Entry]]) -> tuple[list[dict[Any, Entry]], list[str]]:
    """Weigh the lots of lists together; say where some of them were not checked.

    A lot that lies no deeper than a later band stands for itself: all rows up there are labelled.

    Examples
    --------
    >>> first = {1: Entry(0, 0.1, 1.0, "a.csv"), 2: Entry(1, 0.2, 0.9, "a.csv")}
    >>> second = {3: Entry(1, 1.0, 0.95, "b.csv", "band"), 4: Entry(0, 0.1, 0.3, "b.csv")}
    >>> lists, _ = weighed([first, second])
    >>> [round(entry.chance, 3) for one in lists for entry in one.values()]
    [1.0, 0.333, 1.0, 0.2]
    """
    lots: list[list[Any]] = []
    shares: list[float] = []
    open_lots = []
    for at, one in enumerate(lists):
        later = [e.score for more in lists[at + 1 :] for e in more.values() if e.policy in ORDERED]
        end = min(later, default=math.inf)
        drawn = [key for key, e in one.items() if e.chance < 1 and not e.score >= end]
        lots.append([key for key in drawn if one[key].label is not None])
        shares.append(len(lots[at]) / max(1, len(drawn)))
        if len(lots[at]) < len(drawn):
            open_lots.append(
                f"{len(drawn) - len(lots[at]):,} of {len(drawn):,} rows that "
                f"{one[drawn[0]].where} drew by lot have no label: the others are taken to be like "
                "them. Fill them in; if work went from the top down and stopped early, that is in "
                "order."
            )
    total = max(1, sum(map(len, lots)))
    joined = []
    for at, one in enumerate(lists):
        after = sum(map(len, lots[at + 1 :])) / total
        held = {}
        for key, entry in one.items():
            chance = 1.0
            if key in lots[at]:
                weight = len(lots[at]) / total / (entry.chance * shares[at]) + after
                chance = min(1.0, 1.0 / weight)
            elif entry.label is None and (entry.chance < 1 or at < len(lists) - 1):
                continue  # not checked, and the others of its draw speak for it
            held[key] = entry._replace(chance=chance)
        joined.append(held)
    return joined, open_lots


def together(lists: Sequence[dict[Any, Entry]], by: str) -> tuple[dict[Any, Entry], list[str]]:
    """Join lists: their rows with what each stands for, and warnings; `by` names their key."""
    drawn = [one for one in lists if any(entry.chance < 1 for entry in one.values())]
    notes: list[str] = []
    if len(drawn) > 1:
        lists, notes = weighed(lists)
    joined: dict[Any, Entry] = {}
    for at, one in enumerate(lists):
        for key, entry in one.items():
            if entry.label is None and len(drawn) == 1 and one is not drawn[0]:
                continue  # not checked then, and no part of the draw
            if entry.label is None and not drawn and at < len(lists) - 1:
                continue
            before = joined.get(key)
            if before is not None and before.label is not None:
                if entry.label is not None and entry.label != before.label:
                    raise DataError(
                        f"{before.where} and {entry.where} do not agree on {by} {key}: "
                        f"{shown(before.label)} and {shown(entry.label)}. Correct the wrong one."
                    )
                entry = entry._replace(label=before.label)
            joined[key] = entry
    return joined, notes


def without_blanks(table: Any, form: TextForm) -> Any:
    """Return a table whose text is as written, with null where a word means missing."""
    import pyarrow as pa
    import pyarrow.compute as pc

    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            column = table.column(place)
            words = pa.array(form.nothing, field.type)
            lost = pc.is_in(pc.utf8_trim_whitespace(column), value_set=words)
            held = pc.if_else(lost, pa.scalar(None, field.type), column)
            table = table.set_column(place, field.name, held)
    return table
