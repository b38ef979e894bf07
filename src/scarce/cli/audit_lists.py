"""Audit lists: rows to label, written by `scarce label` and read back with --audit.

    scores.csv --label--> todo.csv --completed by a person--> estimate scores.csv --audit todo.csv

A list knows its rows by their number (`row`, from 0) or by a column of identifiers (--id). Where it
holds scores they are compared with the table; what does not fit is refused. Its column `frame` says
which rows it was drawn from: lists of different rows add up, lists of the same rows are combined
(scarce.missed.lists), each assumed to be drawn after the earlier ones were completed. Understands
what spreadsheets do to text.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.flags import warn
from scarce.cli.label_columns import MANY, TRUTHS, Reading, answers, listed, other_labels
from scarce.cli.options import typed
from scarce.cli.output import say
from scarce.cli.sampling_columns import CHANCE, FRAME, POLICY
from scarce.cli.table_columns import shown, with_label_remedy
from scarce.errors import DataError, UsageError, suggest

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce.io.source import TableSource
    from scarce.io.text import TextForm
    from scarce.missed.lists import CheckedRow

ROW, ANSWER = "row", "label"
MOST_ROWS = 2**53  # beyond, a number in a file is no position
AS_WRITTEN = "Use the list as `scarce label` wrote it, and fill in only its label column."
NO_TEXT = (b"PAR1", b"ARROW1", b"\xff" * 4, b"PK", b"\x1f\x8b", b"\x28\xb5\x2f\xfd")
WIDE = (b"\xff\xfe", b"\xfe\xff")  # how UTF-16 begins, which spreadsheets call Unicode text
LABEL_CODES = ("unclear-labels", "unknown-label", "label-type", "two-classes-needed")
JOINED = "inclusion of the list"  # names that no table has
FROM = "frame of the list"
SAME_SCORE = 1e-6  # relative: spreadsheets round
APART = "Name a column of unique identifiers, or leave --id out to use row numbers."
REWRITTEN = re.compile(r"\d(?:[.,]\d+)?E\+?\d+", re.IGNORECASE)


class ListReading(NamedTuple):
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
    entries: dict[Any, CheckedRow]
    truths: list[str]


def read_list(path: Path, asked: ListReading) -> ReadList:
    """Read one list: by key, the label that was filled in, the probability and the score."""
    import numpy as np
    import pyarrow as pa

    from scarce.io.source import open_table
    from scarce.missed.lists import CheckedRow

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
    policies, frames = (_words(table, name) for name in (POLICY, FRAME))
    strange = np.flatnonzero(~((chance > 0) & (chance <= 1)))
    if len(strange):
        at = int(strange[0])
        line = _line_of(source, places[at], form)
        raise DataError(
            "{where}, column {chance!r}: the inclusion probability in line {line:,} must be "
            "above 0 and at most 1, got {value:g}.",
            code="inclusion-range",
            where=where,
            chance=CHANCE,
            line=line,
            value=chance[at],
            as_written=AS_WRITTEN,
            remedy="{as_written}",
        )
    found: dict[Any, CheckedRow] = {}
    for place, one in enumerate(keys):
        if asked.by is None and not (0 <= one < MOST_ROWS and one == int(one)):
            raise DataError(
                "{where}, column {row!r}: line {line:,} must hold a row number, an integer >= 0.",
                code="row-number",
                where=where,
                row=ROW,
                line=_line_of(source, places[place], form),
                remedy="Use the list as `scarce label` wrote it, or give --id.",
            )
        one = int(one) if asked.by is None else one
        if one in found:
            cure = "Remove one of the lines."
            lost = lost_digits(one) if asked.by is not None else ""
            raise DataError(
                "{where} lists {key} {row} twice.",
                code="duplicate-rows",
                where=where,
                key=key,
                row=one,
                cure=lost or cure,
                remedy="{cure}",
            )
        found[one] = CheckedRow(
            filled[place],
            float(chance[place]),
            float(scores[place]),
            where,
            policies[place],
            frames[place],
        )
    return ReadList(where, found, truths)


def _words(table: pa.Table, name: str) -> list[str]:
    """Return a column that the list may have, as text; what --formula-safe has marked, unmarked."""
    from scarce.io.sink import with_formulas

    if name not in table.column_names:
        return [""] * table.num_rows
    held = table.column(name).to_pylist()
    return ["" if word is None else with_formulas(str(word).strip()) for word in held]


def _names_of(source: TableSource, asked: ListReading) -> list[str]:
    """Return the columns of a list, those that --formula-safe has marked under their own names."""
    from scarce.io.sink import with_formulas

    wanted = {asked.by, asked.label, asked.score} - set(source.names)
    undone = [with_formulas(name) for name in source.names]
    return [new if new in wanted else old for old, new in zip(source.names, undone, strict=True)]


def _refuse_lost_columns(where: str, names: Sequence[str], asked: ListReading) -> None:
    """Refuse a list that has lost a column, or has it under another name."""
    seen = f"Its columns are: {', '.join(names[:12])}."
    if asked.by is None and ROW not in names:
        raise DataError(
            "{where} has no column {column!r}, the row number. If the list was drawn with --id, "
            "give that column. {seen}",
            code="unknown-column",
            where=where,
            column=ROW,
            seen=seen,
        )
    whose = {asked.by: "--id", asked.label: "--label"}
    for name in (asked.by, asked.label):
        if name is not None and name not in names:
            near = suggest(name, names)
            alike = [one for one in names if one.strip().lower() == name.strip().lower()]
            cure = f"Rename {alike[0]!r} to {name!r} in the list." if alike else AS_WRITTEN
            raise DataError(
                "{where} has no column {column!r} ({option}). A list uses the column names of "
                "its table, {table}.{hint} {cure} {seen}",
                code="unknown-column",
                where=where,
                column=name,
                option=whose[name],
                table=asked.source.where,
                hint="" if alike else near,
                cure=cure,
                seen=seen,
            )
    if CHANCE not in names:
        raise DataError(
            "{where} has no column {column!r}, the probability that each row was sampled. It is "
            "needed to weight the labels.",
            code="unknown-column",
            where=where,
            column=CHANCE,
            as_written=AS_WRITTEN,
            seen=seen,
            remedy="{as_written} {seen}",
        )


def _without_empty_rows(table: pa.Table, form: TextForm) -> tuple[Any, Any]:
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


def _line_of(source: TableSource, row: int, form: TextForm) -> int:
    """Return the line of a row of a list, from 1: cells may run over lines, and some are empty."""
    return source.find.line(row) or row + 2


def _numbers(table: pa.Table, name: str, where: str, form: TextForm) -> Any:
    """Return a column as numbers, whether a point or a comma is decimal in it."""
    from scarce.cli.table_columns import number_values

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
                "{path} is not UTF-8.",
                code="not-utf8",
                path=path,
                remedy="Save the list as UTF-8 (in a spreadsheet: CSV UTF-8).",
            ) from None
    line = head.partition(b"\n")[0]
    mark = max(",;\t|", key=lambda one: line.count(one.encode()))
    decimal = form.decimal if mark == "," else ","  # where values may hold one, it is decimal
    return TextForm(mark, encoding, decimal, True, form.missing, form.only_empty)


def without_blanks(table: pa.Table, form: TextForm) -> Any:
    """Return a table whose text is as written, with null where a word means missing."""
    import pyarrow as pa

    from scarce.io import values

    for place, field in enumerate(table.schema):
        if pa.types.is_string(field.type) or pa.types.is_large_string(field.type):
            held = values.without_blanks(table.column(place), form, trim=True)
            table = table.set_column(place, field.name, held)
    return table


class AuditLists:
    """Lists of rows that were checked, to be joined to the table that they were drawn from.

    Parameters
    ----------
    paths : sequence of Path
        The lists, from the earliest to the last.
    key : str or None
        Column that tells rows apart; None to go by position.
    label, score : str
        Names of these columns, in the lists as in the table; None if no score is known.
    reading : Reading
        How labels are read.
    source : TableSource
        The table.
    form : TextForm
    """

    def __init__(
        self,
        paths: Sequence[Path],
        *,
        key: str | None,
        label: str,
        score: str | None,
        reading: Reading,
        source: TableSource,
        form: TextForm,
    ) -> None:
        import numpy as np

        from scarce.io.sink import with_formulas
        from scarce.missed.lists import combine_lists

        _refuse_twice_given(paths)
        self._apart, where = reading.apart, source.where
        self.key, self.label, self.score, self.where = key, label, score, where
        self._complaint: DataError | None = None
        self._known: set[Any] = set()
        self._padded = ""  # a name in the table that begins with 0
        asked = ListReading(key, label, score, reading, source, form)
        read = [read_list(path, asked) for path in paths]
        lists = [
            {
                one: entry._replace(label=None) if entry.label in self._apart else entry
                for one, entry in held.entries.items()
            }
            for held in read
        ]
        self._truths = {held.where: held.truths for held in read if held.truths}
        for path, words in self._truths.items():
            meant = " and ".join(f"{word} is {int(word.lower() == 'true')}" for word in words)
            say(f"{path}: {meant}, as in {where}.")
        try:
            entries, self.notes = combine_lists(lists, by=key or ROW)
        except DataError as error:
            raise _by_name(error, key) from None
        answered = {one for held in lists for one, entry in held.items() if entry.label is not None}
        self.open = len({one for held in lists for one in held} - answered)
        self.asked = len({one for held in lists for one in held})
        if key is None:
            entries = dict(sorted(entries.items()))
        self.entries = list(entries.values())
        drawn = sorted({entry.frame for entry in self.entries})
        self._frames = {name: float(number) for number, name in enumerate(drawn)}
        self.last = next((e.source for one in lists[::-1] for e in one.values()), where)
        self.keys = list(entries)
        self.positions = np.array(self.keys if key is None else [], dtype=np.int64)
        spelt = {bare(name): name for name in self.keys} if key is not None else {}
        self._bare = {short: name for short, name in spelt.items() if short != name}
        self._respelt = ""  # a name in the table that the list writes otherwise
        # Names that --formula-safe has marked are found by the name that they stand for too.
        undone = {name: with_formulas(name) for name in self.keys} if key is not None else {}
        marked = [at for at, name in enumerate(self.keys) if undone.get(name, name) != name]
        self._names = [*self.keys, *(undone[self.keys[at]] for at in marked)]
        self._owners = np.array([*range(len(self.keys)), *marked], dtype=np.intp)

    def certain(self, threshold: float) -> tuple[int, int, int]:
        """Rows below a threshold that were not drawn by lot.

        Those of earlier lists, and of the last one those filled in and those left open.
        """
        below = [e for e in self.entries if e.probability >= 1 and not e.score >= threshold]
        earlier = sum(entry.source != self.last for entry in below)
        left_open = sum(entry.label is None for entry in below)
        return earlier, len(below) - earlier - left_open, left_open

    def explained(self, error: DataError) -> DataError:
        """Return an error about labels that says which of them only a list has."""
        if error.code not in LABEL_CODES:
            return error
        for where in dict.fromkeys(entry.source for entry in self.entries):
            words = {entry.label for entry in self.entries if entry.source == where}
            strange = words - self._known - {None}
            known = self._known - self._apart - {None}
            if strange and known:
                return error.amended(
                    list=where,
                    words=listed(strange),
                    table=self.where,
                    labels=listed(known),
                    remedy=(
                        *error.problem.remedy,
                        "{list} holds the labels {words}, and {table} {labels}: use the same in "
                        "both.",
                    ),
                )
        return error

    def join(self, parts: Iterator[Any]) -> Iterator[Any]:
        """Give the parts of the table with the lists' labels.

        JOINED holds the probabilities of their rows, and FROM the number of what each was drawn
        from.
        """
        import numpy as np

        met = np.zeros(len(self.entries), dtype=np.int64)
        self._complaint = None
        start = 0
        for part in parts:
            places, which = self._met(part, start)
            np.add.at(met, which, 1)
            yield self._filled(part, places, which, start)
            start += part.num_rows
        known = self._known - self._apart - {None}
        for where, words in self._truths.items():
            if known - {0, 1}:
                raise other_labels(where, words, self.where, known)
        self._refuse_twice(met)
        if self._complaint is not None:
            raise self._complaint
        self._refuse_lost(met, start)

    def _complain(self, error: DataError) -> None:
        """Raise it, or, where rows go by a name, at the end: it may be that two rows share one."""
        if self.key is None:
            raise error
        self._complaint = self._complaint or error

    def _met(self, part: pa.Table, start: int) -> tuple[Any, Any]:
        """Places in the part of rows on the lists, and which they are."""
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        if self.key is None:
            first, last = np.searchsorted(self.positions, [start, start + part.num_rows])
            return self.positions[first:last] - start, np.arange(first, last)
        names = part.column(self.key).cast(pa.string())
        if not self._padded:
            padded = names.filter(pc.match_substring_regex(names, "^0[0-9]")).slice(0, 1)
            self._padded = "".join(padded.to_pylist())
        if self._bare and not self._respelt:
            named = pa.array(self._bare, pa.string())
            self._respelt = "".join(names.filter(pc.is_in(names, named)).slice(0, 1).to_pylist())
        at = pc.index_in(names, value_set=pa.array(self._names, pa.string()), skip_nulls=True)
        found = at.fill_null(-1).to_numpy()
        places = np.flatnonzero(found >= 0)
        return places, self._owners[found[places]]

    def _filled(self, part: pa.Table, places: Any, which: Any, start: int) -> Any:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        chance, frame = np.full((2, part.num_rows), np.nan)
        if self.label not in part.column_names:
            kind = pa.string() if any(isinstance(e.label, str) for e in self.entries) else None
            part = part.append_column(self.label, pa.nulls(part.num_rows, kind or pa.float64()))
        elif len(self._known) < MANY:
            self._known.update(part.column(self.label).unique().to_pylist())
        if len(places):
            entries = [self.entries[at] for at in which]
            self._refuse_moved(part, places, entries, start)
            labels = part.column(self.label)
            if pa.types.is_dictionary(labels.type):
                labels = labels.cast(labels.type.value_type)
            own = labels.take(pa.array(places)).to_pylist()
            own = [None if held in self._apart else held for held in own]
            given = [self._of_kind(entry, labels.type) for entry in entries]
            for place, at, held, label in zip(places, which, own, given, strict=True):
                entry = self.entries[at]
                if label is not None and held is not None and held != label:
                    where = f"Row {start + place:,}"
                    if self.key is not None:
                        where = f"The row with {self.key} {self.keys[at]}"
                    self._complain(
                        DataError(
                            "{row} is labelled {one} in {table} and {other} in {list}.",
                            code="labels-disagree",
                            row=where,
                            one=shown(held),
                            table=self.where,
                            other=shown(entry.label),
                            list=entry.source,
                            remedy="Correct the wrong one.",
                        )
                    )
            answers = [
                held if label is None else label for label, held in zip(given, own, strict=True)
            ]
            mask = np.zeros(part.num_rows, dtype=bool)
            mask[places] = True
            labels = labels.combine_chunks()
            labels = pc.replace_with_mask(labels, pa.array(mask), pa.array(answers, labels.type))
            part = part.set_column(part.column_names.index(self.label), self.label, labels)
            chance[places] = [entry.probability for entry in entries]
            frame[places] = [self._frames[entry.frame] for entry in entries]
        for name, values in ((JOINED, chance), (FROM, frame)):
            part = part.append_column(name, pa.array(values, from_pandas=True))
        return part

    def _of_kind(self, entry: CheckedRow, kind: Any) -> Any:
        """What was filled in, as the table's own labels are: words, numbers, or true and false."""
        import pyarrow as pa

        label = entry.label
        if label is None or pa.types.is_string(kind) or pa.types.is_large_string(kind):
            return label
        if pa.types.is_boolean(kind):
            value = TRUTHS.get(str(label).lower(), label)
        else:
            value = typed(label) if isinstance(label, str) else label
        try:
            pa.scalar(value, kind)
        except (pa.ArrowException, OverflowError, TypeError):
            holds = "true and false" if pa.types.is_boolean(kind) else f"{kind} values"
            raise DataError(
                "{list} holds the label {label}, and column {column!r} of {table} holds {holds}.",
                code="other-labels",
                list=entry.source,
                label=shown(label),
                column=self.label,
                table=self.where,
                holds=holds,
                remedy="Use the same labels in both.",
            ) from None
        return value

    def _refuse_moved(
        self, part: pa.Table, places: Any, entries: list[CheckedRow], start: int
    ) -> None:
        """Refuse a list whose scores are not those of its rows: rows have moved, or scores have."""
        import numpy as np

        if self.score is None:
            return

        listed = np.array([entry.score for entry in entries])
        own = part.column(self.score).take(places).to_numpy()
        off = np.abs(own - listed) > SAME_SCORE * np.maximum(1.0, np.abs(listed))
        if off.any():
            at = int(np.flatnonzero(off)[0])
            row = int(places[at]) + start
            known = f"row {row:,}" if self.key is None else f"row {row:,}, by its {self.key},"
            cure = "Give the scores that it was drawn from"
            if self.key is None:
                cure += ", or name a column of identifiers with --id"
            self._complain(
                DataError(
                    "{list} gives {row} of {table} the score {listed:g}, but the table has "
                    "{found:g}: the list was drawn from other scores, or the rows were "
                    "reordered.",
                    code="scores-changed",
                    list=entries[at].source,
                    row=known,
                    table=self.where,
                    listed=listed[at],
                    found=own[at],
                    cure=cure,
                    remedy="{cure}.",
                )
            )

    def _refuse_lost(self, met: Any, n_rows: int) -> None:
        lost = [at for at, times in enumerate(met) if times == 0]
        if lost:
            first, more = self.keys[lost[0]], len(lost) - 1
            rest = f" (and {more:,} more)" if more else ""
            what = f"row {first:,}" if self.key is None else f"the row with {self.key} {first}"
            cure = "Give the table that the list was drawn from."
            short = bare(str(first))
            if self.key is not None and lost_digits(first):
                cure = lost_digits(first)
            elif self._respelt:
                cure = (
                    f"The list has {shown(self._bare[self._respelt])} where the table has "
                    f"{shown(self._respelt)}: use the table's spelling."
                )
            elif self._padded and short.isdecimal() and not short.startswith("0"):
                cure = (
                    f"Identifiers of the table begin with 0, such as {self._padded}: a "
                    "spreadsheet may have dropped leading zeros. Restore them in the list."
                )
            raise DataError(
                "{list} names {row}{rest}, which {table} with {n_rows:,} rows does not have.",
                code="rows-not-found",
                list=self.entries[lost[0]].source,
                row=what,
                rest=rest,
                table=self.where,
                n_rows=n_rows,
                cure=cure,
                remedy="{cure}",
            )

    def _refuse_twice(self, met: Any) -> None:
        twice = [at for at, times in enumerate(met) if times > 1]
        if twice:
            raise DataError(
                "--id {column}: {value!r} is in {count} rows of {table}, so it is unclear which "
                "one was labelled.",
                code="duplicate-ids",
                column=self.key,
                value=self.keys[twice[0]],
                count=int(met[twice[0]]),
                table=self.where,
                remedy="Name a column of unique identifiers.",
            )


def _by_name(error: DataError, key: str | None) -> DataError:
    """Say that a row number means another row in another table, where two lists share one."""
    if error.code != "row-in-two-frames" or key is not None:
        return error
    return error.amended(
        remedy="A row number is that of the table which a list was drawn from: for lists of "
        "several tables draw them with --id COLUMN, a column of unique identifiers."
    )


def _refuse_twice_given(paths: Sequence[Path]) -> None:
    """Refuse one file as two lists: what it found would count twice."""
    for at, path in enumerate(paths):
        for other in paths[:at]:
            with suppress(OSError):  # read_list says which one is not there
                if os.path.samefile(path, other):
                    raise UsageError(
                        "--audit {path} and --audit {other} are the same file, and a list counts "
                        "once.",
                        code="same-list",
                        path=path,
                        other=other,
                        remedy="Leave one out.",
                    )


def walk_of(
    source: TableSource,
    columns: Sequence[str],
    numbers: Sequence[str],
    *,
    lists: AuditLists | None,
    form: TextForm,
    label: str | None = None,
    tick: Callable[[int, int], None] | None = None,
) -> Callable[[], Iterator[Any]]:
    """Return a walk over the parts of a table, with the labels of the lists joined to them."""
    import pyarrow as pa

    exact = lists is not None and lists.key is not None and source.is_text
    wanted = [name for name in dict.fromkeys(columns) if name in source.types]
    if lists is not None and lists.key is not None and lists.key not in wanted:
        wanted.append(lists.key)

    def walk() -> Iterator[Any]:
        read = [name for name in numbers if name in source.types]
        parts = source.tables(wanted, numbers=read, exact=exact, progress=tick)
        if source.is_text and label is not None:
            parts = with_label_remedy(parts, label)
        if lists is None:
            return parts
        if exact:
            truths = label in source.types and pa.types.is_boolean(source.types[label])
            parts = (_blanked(part, lists.key, form, label if truths else None) for part in parts)
        return lists.join(parts)

    return walk


def _blanked(part: pa.Table, key: str | None, form: TextForm, truths: str | None) -> Any:
    """Text as written, without what means missing; `truths` is a column of true and false."""
    import pyarrow as pa

    others = [name for name in part.column_names if name != key]
    cleaned = without_blanks(part.select(others), form)
    if truths is not None:
        with suppress(pa.ArrowInvalid):  # further down other words are among them
            read = cleaned.column(truths).cast(pa.bool_())
            cleaned = cleaned.set_column(cleaned.column_names.index(truths), truths, read)
    return cleaned.append_column(key, part.column(key))


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
        f"{name} looks like an identifier that a spreadsheet rewrote as a number, and its "
        "digits are lost: take the list as `scarce label` wrote it, import that column as "
        "text, and fill it in again."
    )


def refuse_same(columns: Mapping[str, str | None]) -> None:
    """Refuse one column under two flags: what is it, then?"""
    seen: dict[str, str] = {}
    for flag, name in columns.items():
        if name is not None and name in seen:
            raise UsageError(
                "{first} and {second} both name the column {column!r}.",
                code="same-column",
                first=seen[name],
                second=flag,
                column=name,
                remedy="Name two different columns.",
            )
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
            "--id {column}: a chosen row has no identifier in {where}, so its label could not be "
            "matched later.",
            code="missing-id",
            column=key,
            where=where,
            apart=APART,
            remedy="{apart}",
        )
    if pc.count_distinct(names, mode="all").as_py() == len(names):
        return
    counted = names.value_counts()
    often = counted.filter(pc.greater(counted.field("counts"), 1))
    shared = often.field("values").drop_null()
    listed = shared.filter(pc.is_in(shared, value_set=chosen.cast(pa.string()).combine_chunks()))
    if len(listed):
        raise DataError(
            "--id {column}: {value} is in several rows of {where}, so its label could not be "
            "matched to one row.",
            code="duplicate-ids",
            column=key,
            value=shown(listed[0].as_py()),
            where=where,
            apart=APART,
            remedy="{apart}",
        )
    if len(shared):
        warn(
            "--id {column}: {count:,} identifiers are in several rows of {where}, such as {value}. "
            "None of them was chosen this time.",
            code="duplicate-ids",
            column=key,
            count=len(shared),
            where=where,
            value=shown(shared[0].as_py()),
            remedy="Name a column that is unique for all rows.",
        )
