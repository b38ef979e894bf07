"""A list of rows to check, as a file: what was drawn, and what has a person filled in since?

    1 / chance = w_j / chance_j + w_(j+1) + ... + w_K        (a row that list j of K drew by lot)

Each list alone counts what was open when it was drawn, with the rows of earlier lists as certain;
the counts of all are averaged with weights w, by the number of lots that were checked. Assumes that
a list was drawn after the earlier ones had been filled in. Understands what spreadsheets do to text
on its way. Does not look at the table: see checklists.py.
"""

from __future__ import annotations

import csv
import math
from collections.abc import Sequence
from dataclasses import replace
from itertools import islice
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.bad_cells import shown
from scarce.cli.list_labels import Reading, answers
from scarce.cli.row_names import lost_digits
from scarce.errors import DataError, suggest

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

ORDERED = ("band", "tail")  # policies that take the greatest scores, all of them
ROW, CHANCE, POLICY, ANSWER = "row", "inclusion", "policy", "label"
MOST_ROWS = 2**53  # beyond, a number in a file is no position
AS_WRITTEN = "Take the list as `scarce label` wrote it, and fill in its column of labels alone."
NO_TEXT = (b"PAR1", b"ARROW1", b"\xff" * 4, b"PK", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins, which spreadsheets call Unicode text


class Entry(NamedTuple):
    """One row of a list that came back."""

    label: Any  # None where nobody has filled it in
    chance: float
    score: float
    where: str
    policy: str = ""


class ListForm(NamedTuple):
    """How lists are read."""

    by: str | None  # column that tells rows apart; None for positions
    label: str
    score: str | None
    reading: Reading
    source: TableSource  # that lists were drawn from
    form: TextForm


class ReadList(NamedTuple):
    """A list that came back: its rows by key, and the words in it that mean true or false."""

    where: str
    entries: dict[Any, Entry]
    truths: list[str]


def read_list(path: Path, asked: ListForm) -> ReadList:
    """Read one list: by key, the label that was filled in, the probability and the score."""
    import numpy as np
    import pyarrow as pa

    from scarce.io.source import open_table

    form, key = _form_of(path, asked.form), asked.by or ROW
    source = open_table(path, form)
    where = source.where
    names = _names_of(source, asked)
    _refuse_lost_columns(where, names, asked)
    table, places = _without_empty_rows(source.read(exact=True).rename_columns(names), form)
    chance = _numbers(table, CHANCE, where, form)
    scores = np.full(table.num_rows, np.nan)
    if asked.score in names:
        scores = _numbers(table, asked.score, where, form)
    truths: list[str] = []
    labels = without_blanks(table.select([asked.label]), form).column(asked.label)
    if not asked.reading.numbers:
        filled = labels.to_pylist()
    elif pa.types.is_string(labels.type) or pa.types.is_large_string(labels.type):
        texts = labels.to_pylist()
        filled, truths = answers(texts, asked.reading, where, asked.source, asked.label)
    else:
        held = _numbers(table, asked.label, where, form).tolist()
        filled = [None if one != one else one for one in held]
    if asked.by is None:
        keys = _numbers(table, key, where, form).tolist()
    else:
        keys = [str(value) for value in table.column(key).to_pylist()]
    policies = [""] * table.num_rows
    if POLICY in names:
        policies = [str(word) for word in table.column(POLICY).to_pylist()]
    strange = np.flatnonzero(~((chance > 0) & (chance <= 1)))
    if len(strange):
        at = int(strange[0])
        line = _line(source, places[at], form)
        raise DataError(
            f"{where}, column {CHANCE!r}: {chance[at]:g} in line {line:,} is not the probability "
            f"of a draw, which lies above 0 and up to 1. {AS_WRITTEN}"
        )
    found: dict[Any, Entry] = {}
    for place, one in enumerate(keys):
        if asked.by is None and not (0 <= one < MOST_ROWS and one == int(one)):
            raise DataError(
                f"{where}, column {ROW!r}: line {_line(source, places[place], form):,} holds no "
                "position, which is a whole number from 0. Take the list as `scarce label` wrote "
                "it, or name --id."
            )
        one = int(one) if asked.by is None else one
        if one in found:
            cure = "Each row is checked once: remove one of the lines."
            lost = lost_digits(one) if asked.by is not None else ""
            raise DataError(f"{where} lists {key} {one} twice. {lost or cure}")
        found[one] = Entry(
            filled[place], float(chance[place]), float(scores[place]), where, policies[place]
        )
    return ReadList(where, found, truths)


def _names_of(source: TableSource, asked: ListForm) -> list[str]:
    """Return the columns of a list, those that --formula-safe has marked under their own names."""
    from scarce.io.sink import with_formulas

    wanted = {asked.by, asked.label, asked.score} - set(source.names)
    undone = [with_formulas(name) for name in source.names]
    return [new if new in wanted else old for old, new in zip(source.names, undone, strict=True)]


def _refuse_lost_columns(where: str, names: Sequence[str], asked: ListForm) -> None:
    """Refuse a list that has lost a column, or has it under another name."""
    seen = f"Its columns are: {', '.join(names[:12])}."
    if asked.by is None and ROW not in names:
        raise DataError(
            f"{where} has no column {ROW!r}, the position of each row. If it was drawn by a "
            f"column that tells rows apart, name that with --id. {seen}"
        )
    whose = {asked.by: "--id", asked.label: "--label"}
    for name in (asked.by, asked.label):
        if name is not None and name not in names:
            near = suggest(name, names)
            alike = [one for one in names if one.strip().lower() == name.strip().lower()]
            cure = f"Rename {alike[0]!r} to {name!r} in the list." if alike else AS_WRITTEN
            raise DataError(
                f"{where} has no column {name!r} ({whose[name]}), and a list has the same "
                f"names as its table, {asked.source.where}.{'' if alike else near} {cure} {seen}"
            )
    if CHANCE not in names:
        raise DataError(
            f"{where} has no column {CHANCE!r}, the probability with which each row was "
            f"drawn, and without it a row cannot be counted for others. {AS_WRITTEN} {seen}"
        )


def _without_empty_rows(table: Any, form: TextForm) -> tuple[Any, Any]:
    """Return a list without rows of empty cells, which spreadsheets add; and rows' places."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    empty = np.ones(table.num_rows, dtype=bool)
    blanked = without_blanks(table, form)
    for column in blanked.columns:
        empty &= pc.is_null(column).to_numpy()
    places = np.flatnonzero(~empty)
    return table.take(pa.array(places)), places


def _line(source: TableSource, row: int, form: TextForm) -> int:
    """Return the line of a row of a list, from 1: cells may run over lines, and some are empty."""
    if source.path is None or not source.is_text:
        return row + 2
    try:
        with source.path.open(encoding=form.encoding, newline="") as file:
            lines = csv.reader(file, delimiter=form.delimiter or ",")
            held = (lines.line_num - "".join(cells).count("\n") for cells in lines if cells)
            return next(islice(held, row + 1, None), row + 2)
    except (OSError, UnicodeError, LookupError, csv.Error):
        return row + 2


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
    from scarce.io.text import TextForm

    try:
        head = path.read_bytes()
    except OSError:
        return form  # open_table says what is wrong
    encoding = "utf-16" if head.startswith(WIDE) else "utf-8"
    try:
        head.decode(encoding)
    except UnicodeDecodeError:
        encoding = form.encoding
        if encoding.lower() in ("utf-8", "utf8") and not head.startswith(NO_TEXT):
            raise DataError(
                f"{path} is not written as UTF-8: save the list as UTF-8 (in a spreadsheet: CSV "
                "UTF-8)."
            ) from None
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
            where = one[drawn[0]].where
            open_lots.append(
                f"{len(drawn) - len(lots[at]):,} of {len(drawn):,} rows that {where} drew by lot "
                "have no label: they are taken to be like the others. Fill them in; if work went "
                "from the top down and stopped early, that is in order."
                if lots[at]
                else f"None of the {len(drawn):,} rows that {where} drew by lot has a label: what "
                "it drew says nothing yet. Fill them in."
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


def refuse_copies(lists: Sequence[dict[Any, Entry]]) -> None:
    """Refuse a list that is another one again: what was drawn once would count twice."""
    for at, one in enumerate(lists):
        for before in lists[:at]:
            lots = {key: entry.chance for key, entry in one.items()}
            if lots and lots == {key: entry.chance for key, entry in before.items()}:
                names = [next(iter(held.values())).where for held in (before, one)]
                raise DataError(
                    f"{names[0]} and {names[1]} list the same rows with the same probabilities: "
                    "that is one list, and it counts once. Leave one out; answers of several "
                    "people belong into one list."
                )


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
