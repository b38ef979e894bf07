"""Lists of rows to check: how do their answers find the way back to the scores they came from?

    scores.csv --label--> todo.csv --a person fills in--> estimate scores.csv --audit todo.csv

A list knows its rows by their position (`row`, from 0) or by a column that tells them apart
(``--id``). Assumes that scores have not changed since: where the list has them they are compared.
What does not fit is refused. Chooses and estimates nothing; how a list is read: see list_files.py.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.bad_cells import shown, told
from scarce.cli.list_files import (
    ROW,
    Entry,
    ListForm,
    read_list,
    refuse_copies,
    together,
    without_blanks,
)
from scarce.cli.list_labels import FILLED, MANY, TRUTHS, Reading, listed, other_labels
from scarce.cli.options import typed
from scarce.cli.output import say
from scarce.cli.row_names import bare, lost_digits
from scarce.errors import DataError, UsageError

if TYPE_CHECKING:
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

JOINED = "inclusion of the list"  # a name that no table has
SAME_SCORE = 1e-6  # relative: spreadsheets round


class Checklists:
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

        _refuse_twice_given(paths)
        self._apart, where = reading.apart, source.where
        self.key, self.label, self.score, self.where = key, label, score, where
        self._complaint: DataError | None = None
        self._known: set[Any] = set()
        self._padded = ""  # a name in the table that begins with 0
        asked = ListForm(key, label, score, reading, source, form)
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
        entries, self.notes = together(lists, by=key or ROW)
        refuse_copies(lists)
        answered = {one for held in lists for one, entry in held.items() if entry.label is not None}
        self.open = len({one for held in lists for one in held} - answered)
        self.asked = len({one for held in lists for one in held})
        if key is None:
            entries = dict(sorted(entries.items()))
        self.entries = list(entries.values())
        self.last = next((e.where for one in lists[::-1] for e in one.values()), where)
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
        below = [e for e in self.entries if e.chance >= 1 and not e.score >= threshold]
        earlier = sum(entry.where != self.last for entry in below)
        left_open = sum(entry.label is None for entry in below)
        return earlier, len(below) - earlier - left_open, left_open

    def explained(self, error: DataError) -> DataError:
        """Return an error about labels that says which of them a list alone has."""
        told = str(error)
        if FILLED in told:
            return error
        for where in dict.fromkeys(entry.where for entry in self.entries):
            words = {entry.label for entry in self.entries if entry.where == where}
            strange = {word for word in words - self._known - {None} if shown(word) in told}
            known = self._known - self._apart - {None}
            if strange and known:
                return DataError(
                    f"{told} {where} {FILLED} {listed(strange)}, where {self.where} has "
                    f"{listed(known)}: use the same words in both."
                )
        return error

    def join(self, parts: Iterator[Any]) -> Iterator[Any]:
        """Give the parts of the table with the lists' labels, and their probabilities in JOINED."""
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

    def _met(self, part: Any, start: int) -> tuple[Any, Any]:
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

    def _filled(self, part: Any, places: Any, which: Any, start: int) -> Any:
        import numpy as np
        import pyarrow as pa
        import pyarrow.compute as pc

        chance = np.full(part.num_rows, np.nan)
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
                    said = (
                        f"{where} is labelled {shown(held)} in {self.where} and "
                        f"{shown(entry.label)} in {entry.where}: only one can be right. Correct "
                        "the wrong one."
                    )
                    self._complain(DataError(said))
            answers = [
                held if label is None else label for label, held in zip(given, own, strict=True)
            ]
            mask = np.zeros(part.num_rows, dtype=bool)
            mask[places] = True
            labels = labels.combine_chunks()
            labels = pc.replace_with_mask(labels, pa.array(mask), pa.array(answers, labels.type))
            part = part.set_column(part.column_names.index(self.label), self.label, labels)
            chance[places] = [entry.chance for entry in entries]
        return part.append_column(JOINED, pa.array(chance, from_pandas=True))

    def _of_kind(self, entry: Entry, kind: Any) -> Any:
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
                f"{entry.where} {FILLED} {shown(label)}, and column {self.label!r} of "
                f"{self.where} holds {holds}: use the same labels in both."
            ) from None
        return value

    def _refuse_moved(self, part: Any, places: Any, entries: list[Entry], start: int) -> None:
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
                cure += ", or name the column that tells rows apart with --id"
            self._complain(
                DataError(
                    f"{entries[at].where} says that {known} of {self.where} scores "
                    f"{listed[at]:g}, and there it is {own[at]:g}: the list was drawn from other "
                    f"scores, or their rows have moved. {cure}."
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
                    f"The list writes {shown(self._bare[self._respelt])} where there it is "
                    f"{shown(self._respelt)}: write names in the list as they are there."
                )
            elif self._padded and short.isdecimal() and not short.startswith("0"):
                cure = (
                    f"There, names begin with 0, such as {self._padded}: were leading zeros lost "
                    "in a spreadsheet? Put them back into the list."
                )
            raise DataError(
                f"{self.entries[lost[0]].where} asks about {what}{rest}, which {self.where} with "
                f"its {n_rows:,} rows does not have. {cure}"
            )

    def _refuse_twice(self, met: Any) -> None:
        twice = [at for at, times in enumerate(met) if times > 1]
        if twice:
            raise DataError(
                f"--id {self.key}: {self.keys[twice[0]]!r} stands in {int(met[twice[0]])} rows of "
                f"{self.where}, so that it is not clear which one was checked. Name a column that "
                "tells rows apart."
            )


def _refuse_twice_given(paths: Sequence[Path]) -> None:
    """Refuse one file as two lists: what it found would count twice."""
    for at, path in enumerate(paths):
        for other in paths[:at]:
            with suppress(OSError):  # read_list says which one is not there
                if os.path.samefile(path, other):
                    raise UsageError(
                        f"--audit {path} is the same file as --audit {other}: a list counts once. "
                        "Leave one out."
                    )


def walk_of(
    source: TableSource,
    columns: Sequence[str],
    numbers: Sequence[str],
    *,
    lists: Checklists | None,
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
        if source.is_text:
            parts = told(source, parts, _read_as_numbers(source, wanted, read), form, label)
        if lists is None:
            return parts
        if exact:
            truths = label in source.types and pa.types.is_boolean(source.types[label])
            parts = (_blanked(part, lists.key, form, label if truths else None) for part in parts)
        return lists.join(parts)

    return walk


def _read_as_numbers(
    source: TableSource, columns: Sequence[str], numbers: Sequence[str]
) -> list[str]:
    """Columns of which every cell must be a number: those asked for, and those that look so."""
    import pyarrow as pa

    number = (pa.types.is_integer, pa.types.is_floating)
    look = [name for name in columns if any(kind(source.types[name]) for kind in number)]
    return list(dict.fromkeys((*numbers, *look)))


def _blanked(part: Any, key: str | None, form: TextForm, truths: str | None) -> Any:
    """Text as written, without what means missing; `truths` is a column of true and false."""
    import pyarrow as pa

    others = [name for name in part.column_names if name != key]
    cleaned = without_blanks(part.select(others), form)
    if truths is not None:
        with suppress(pa.ArrowInvalid):  # further down other words are among them
            read = cleaned.column(truths).cast(pa.bool_())
            cleaned = cleaned.set_column(cleaned.column_names.index(truths), truths, read)
    return cleaned.append_column(key, part.column(key))
