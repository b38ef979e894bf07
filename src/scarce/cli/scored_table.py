"""A table of scores of which a few rows are labelled: read for estimate, check and report.

    table, --score, --label, --threshold, audit lists -> estimate_performance

A table of any length is read once in constant memory; only batches, incidents, a second score and a
second reader need their rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.audit_lists import ANSWER, FROM, JOINED, AuditLists, refuse_same, walk_of
from scarce.cli.label_columns import for_events, reading_of, refuse_many, seen_labels, settled
from scarce.cli.options import Group, LabelFlags, is_typed, names_of, typed
from scarce.cli.output import progress, say
from scarce.cli.sampling_columns import CHANCE, POLICY, is_policy
from scarce.cli.table_columns import refuse_nested, refuse_unscored
from scarce.errors import DataError, UsageError, refuse_word

if TYPE_CHECKING:
    import pyarrow as pa

    from scarce import Performance
    from scarce.io.source import TableSource
    from scarce.io.text import TextForm

Watch = Callable[[Any, int], None]  # a part of the table, and the number of its first row


@dataclass(frozen=True)
class ScoreFlags:
    """What was typed about scores; names as those of the options."""

    score: str | None
    threshold: tuple[str, ...]
    audit: tuple[Path, ...]
    id: str | None
    inclusion: str | None
    method: str
    assume: str
    auc: float | None
    batch: str | None
    share_shape: bool
    group: str | None
    second: str | None
    label_error: tuple[float, float] | None
    second_label: str | None
    label_source: str | None
    threshold_at: str | None
    background: str
    foreground: str
    no_check: bool

    @property
    def in_memory(self) -> bool:
        """Whether all rows are needed at once."""
        return any((self.batch, self.group, self.second, self.second_label))

    def refuse_idle(self) -> None:
        """Refuse what was typed and would do nothing, and families that nobody knows."""
        if self.share_shape and self.batch is None and is_typed("share_shape"):
            raise UsageError(
                "--share-shape is for the curves of several batches.",
                code="unused-argument",
                remedy="Name the column of batches with --batch, or leave it out.",
            )
        for name in ("background", "foreground"):
            if is_typed(name) and self.method != "mixture":
                raise UsageError(
                    "--{option} belongs to the mixture, not to --method {method}.",
                    code="unused-argument",
                    option=name,
                    method=self.method,
                    remedy="Add --method mixture, or leave it out.",
                )
            if self.method == "mixture":
                from scarce.missed.mixture.families import FAMILIES

                by_itself = ("auto",) if name == "background" else ()
                refuse_word(name, getattr(self, name), (*by_itself, *FAMILIES))


SCORES = Group("scores", (*names_of("scores"), "inclusion"), ScoreFlags)


class ScoredTable:
    """A table of scores as the flags name its columns: checked, not yet walked.

    Parameters
    ----------
    path : Path, or "-"
    flags : ScoreFlags
    labels : LabelFlags
    form : TextForm

    Attributes
    ----------
    source : TableSource
    lists : AuditLists or None
        The filled-in lists.
    columns : list of str
        Those that are read.
    are_prob : bool
        After `measure`: whether every score may be a probability.
    """

    def __init__(
        self, path: Path | str, flags: ScoreFlags, labels: LabelFlags, form: TextForm
    ) -> None:
        from scarce.io.source import open_table

        if flags.score is None or not flags.threshold:
            raise UsageError(
                "--score and --threshold are missing.",
                code="no-score-column",
                remedy="Give both: --score COLUMN --threshold T",
            )
        if flags.audit and flags.inclusion:
            raise UsageError(
                "--inclusion names a column of the table, and --audit has its own probabilities.",
                code="argument-conflict",
                remedy="Give one of them.",
            )
        if flags.id and not flags.audit:
            if is_typed("id"):
                raise UsageError(
                    "--id is for matching the rows of --audit FILE.",
                    code="unused-argument",
                    remedy="Give that too.",
                )
            flags = replace(flags, id=None)  # a setting for commands with lists
        if labels.label is None and not flags.audit:
            raise UsageError(
                "--label is missing.",
                code="no-label-column",
                remedy="Name the column that says which rows are events.",
            )
        self.flags, self.labels, self.form = flags, labels, form
        self.score: str = flags.score or ""
        self.thresholds = thresholds(flags.threshold, flags.batch)
        flags.refuse_idle()
        self.source: TableSource = open_table(path, form)
        listed = flags.inclusion == CHANCE and is_policy(self.source.types.get(POLICY))
        if listed and flags.label_source is None:  # as `scarce label` writes both
            self.flags = flags = replace(flags, label_source=POLICY)
        named = {
            "--score": flags.score,
            "--label": labels.label,
            "--inclusion": flags.inclusion,
            "--label-source": flags.label_source,
            "--threshold-at": flags.threshold_at,
            "--batch": flags.batch,
            "--group": flags.group,
            "--second": flags.second,
            "--second-label": flags.second_label,
            "--id": flags.id,
        }
        refuse_same(named)
        refuse_nested(self.source, named)
        for option, name in named.items():
            if name is not None:
                self.source.column(name, option)
        self.answer = labels.label or ANSWER
        self.reading = reading_of(self.source, labels, lists=bool(flags.audit))
        self.lists = None
        if flags.audit:
            self.lists = AuditLists(
                flags.audit,
                key=flags.id,
                label=self.answer,
                score=flags.score,
                reading=self.reading,
                source=self.source,
                form=form,
            )
        more = (
            *(flags.inclusion, flags.label_source, flags.threshold_at, flags.batch),
            *(flags.group, flags.second, flags.second_label),
        )
        self.columns = [self.score, self.answer, *(name for name in more if name)]
        self.are_prob = True
        self._said = ""  # what unclear labels were taken to mean

    def measure(
        self, *, level: float, seed: int, watch: Watch | None = None
    ) -> tuple[Performance, Performance | None]:
        """Return what was found and missed; with batches also what the same rows say as one.

        Parameters
        ----------
        level : float
        seed : int
        watch : callable, optional
            Shown every part of the table on its way; once more where it is walked twice.
        """
        flags = self.flags
        drawn = self.lists is not None and bool(self.lists.entries)
        asked: dict[str, Any] = {
            "threshold": self.thresholds,
            "inclusion": JOINED if drawn else flags.inclusion,
            "frame": FROM if drawn else None,
            "label_source": flags.label_source,
            "threshold_at_time": flags.threshold_at,
            "method": flags.method,
            "assume": flags.assume,
            "label_error": flags.label_error,
            "auc": flags.auc,
            "level": level,
            "background": flags.background,
            "foreground": flags.foreground,
            "check": not flags.no_check,
            "random_state": seed,
        }
        named = (flags.score, flags.inclusion, flags.threshold_at, flags.second)
        numbers = [name for name in named if name]
        if self.reading.numbers:
            numbers += [name for name in (self.answer, flags.second_label) if name]
        try:
            with progress("Reading") as tick:
                walk = walk_of(
                    self.source,
                    self.columns,
                    numbers,
                    lists=self.lists,
                    form=self.form,
                    label=self.answer,
                    tick=tick,
                )
                if flags.in_memory:
                    return self._in_memory(self._watched(walk(), watch), asked)
                return self._streamed(lambda: self._watched(walk(), watch), asked), None
        except DataError as error:
            error = self._of_weeks(for_events(error))
            raise error if self.lists is None else self.lists.explained(error) from None

    def _of_weeks(self, error: DataError) -> DataError:
        """Where lists stand for too few rows, some of the table may have no list at all."""
        few = error.code == "inclusion-total" and error.fields.get("times", 1.0) < 1.0
        if self.lists is None or not few or self.flags.batch is not None:
            return error
        return error.amended(
            remedy="If the table also holds rows that no list was drawn from, such as another "
            "week, name the batch of each row with --batch."
        )

    def _watched(self, parts: Iterator[Any], watch: Watch | None) -> Iterator[Any]:
        """Give the same parts; refuse rows without a score on the way."""
        start = 0
        for part in parts:
            values = part.column(self.score).to_numpy()
            refuse_unscored(self.source, values, self.score, self.form, start)
            if len(values):
                self.are_prob &= bool(values.min() >= 0 and values.max() <= 1)
            if watch is not None:
                watch(part, start)
            start += len(values)
            yield part

    def _streamed(self, walk: Callable[[], Any], asked: dict[str, Any]) -> Performance:
        """One pass in constant memory."""
        import pyarrow as pa

        from scarce import estimate_performance

        kind = self.source.types.get(self.answer, pa.string())
        if self.reading.numbers:
            kind = pa.float64()
        elif self.lists is not None and not pa.types.is_boolean(kind):
            kind = pa.string()  # as written
        passed = _Passed(walk()) if self.source.once else None
        try:
            rows = self._rows(walk if passed is None else passed, asked, kind)
        except DataError as error:
            seen = seen_labels(walk() if passed is None else passed.kept, self.answer, self.form)
            if not self._settle(error, seen):
                raise
            rows = self._rows(walk if passed is None else passed.again(), asked, kind)
        if passed is not None:
            passed.forget()
        self._say_labels(rows.classes)
        return estimate_performance(rows, **asked)

    def _rows(self, parts: Any, asked: dict[str, Any], kind: pa.DataType) -> Any:
        """Return the table as rows that are folded while they pass by."""
        from scarce.cli.label_columns import label_meanings
        from scarce.io.open import streamed_rows

        roles = ("inclusion", "frame", "label_source", "threshold_at_time")
        words = asked["label_source"]
        return streamed_rows(
            parts,
            columns=[self.score, *(asked[role] for role in roles if asked[role] is not None)],
            label=self.answer,
            categories=[] if words is None else [words],
            where=self.source.where,
            **label_meanings(self.reading.flags, kind),
        )

    def _settle(self, error: DataError, seen: Iterable[Any]) -> bool:
        """Read labels as `settled` says, aloud; False where it says nothing."""
        read = settled(error, set(seen), self.answer, self.reading.flags)
        if read is None:
            return False
        self.reading = self.reading._replace(flags=read[0])
        self._said = read[1]
        return True

    def _labels(self, table: Any) -> Any:
        """Return the labels of all rows."""
        from scarce.cli.label_columns import read_labels

        column = table.column(self.answer)
        more: dict[str, Any] = {"where": self.source.where, "form": self.form, "quiet": True}
        try:
            return read_labels(column, self.answer, self.reading.flags, **more)
        except DataError as error:
            if not self._settle(error, seen_labels([table], self.answer, self.form)):
                raise
            return read_labels(column, self.answer, self.reading.flags, **more)

    def _in_memory(
        self, parts: Iterator[Any], asked: dict[str, Any]
    ) -> tuple[Performance, Performance | None]:
        """Estimate from all rows at once; with batches also as one batch, to compare."""
        import numpy as np
        import pyarrow as pa

        from scarce import estimate_performance
        from scarce.cli.label_columns import number_column

        flags = self.flags
        table = pa.concat_tables(list(parts), promote_options="permissive")
        if flags.batch is not None:
            asked["batch"] = batch_column(table, flags.batch, self.source.where)
            asked["threshold"] = named_as(self.thresholds, asked["batch"])
        read = self._labels(table)
        self._say_labels(read.classes)
        for name in ("inclusion", "frame", "threshold_at_time"):
            if asked[name] is not None:
                asked[name] = number_column(table, asked[name])
        if asked["label_source"] is not None:
            words = table.column(asked["label_source"]).to_pylist()
            asked["label_source"] = np.array(words, object)
        asked |= unit_columns(table, flags.group, flags.second, self.source, self.form)
        if flags.second_label is not None:
            asked["second_labels"] = self._second_reading(table, flags.second_label, read.classes)
        scores = number_column(table, self.score)
        if flags.batch is None:
            return estimate_performance(scores, read.y, **asked), None
        asked["share_shape"] = flags.share_shape
        found = estimate_performance(scores, read.y, **asked)
        if isinstance(asked["threshold"], dict) or len(found.batches) < 2:
            return found, None
        alone = {**asked, "check": False, "batch": None}
        return found, estimate_performance(scores, read.y, **alone)

    def _second_reading(self, table: Any, name: str, classes: tuple[Any, ...]) -> Any:
        """Return a second reader's labels: the same words as the first one's."""
        from scarce.cli.label_columns import read_labels

        flags = self.reading.flags
        same = flags._replace(
            positive=flags.positive or (str(classes[1]),),
            negative=flags.negative or (str(classes[0]),),
        )
        where = self.source.where
        column = table.column(name)
        return read_labels(column, name, same, where=where, form=self.form, quiet=True).y

    def _say_labels(self, classes: tuple[Any, ...]) -> None:
        """Say what the labels were taken to mean, and refuse more than event and no event."""
        refuse_many(self.answer, classes)
        if self._said:
            say(self._said)
            return
        settles = "" if self.labels.positive else " (--positive settles it)"
        apart = self.labels.unlabelled
        nothing = "" if not apart else f" or {' or '.join(apart)}"
        say(
            f"Label {self.answer!r}: {classes[1]} is an event{settles}, {classes[0]} is not, "
            f"empty{nothing} is not labelled."
        )


class _Passed:
    """Parts of a pipe, kept until their labels are understood: they pass by once."""

    def __init__(self, parts: Iterator[Any]) -> None:
        self.kept: list[Any] = []
        self._parts, self._keeping = parts, True

    def __iter__(self) -> Iterator[Any]:
        for part in self._parts:
            if self._keeping:
                self.kept.append(part)
            yield part

    def again(self) -> Iterator[Any]:
        """Return all parts once more: those kept, and those to come."""
        return chain(self.kept, self._parts)

    def forget(self) -> None:
        """Keep no more."""
        self.kept, self._keeping = [], False


def batch_column(table: Any, name: str, where: str) -> Any:
    """Return the batch of each row: numbers, or words; dates as they are written."""
    import pyarrow as pa

    from scarce.results import in_rows

    names = table.column(name)
    if names.null_count:
        belong = "belongs" if names.null_count == 1 else "belong"
        raise DataError(
            "{where}, column {column!r}: {rows} {belong} to no batch.",
            code="missing-batch",
            where=where,
            column=name,
            rows=in_rows(names.null_count),
            belong=belong,
            remedy="Fill in the column, or leave --batch out.",
        )
    if pa.types.is_dictionary(names.type):
        names = names.cast(names.type.value_type)
    if pa.types.is_temporal(names.type):
        names = names.cast(pa.string())
    marks = names.to_numpy()
    return marks.astype(str) if marks.dtype == object else marks


def named_as(marks: Any, batches: Any) -> Any:
    """Return thresholds by the names that batches have: words where a column was read as text."""
    if not isinstance(marks, dict) or batches.dtype.kind != "U":
        return marks
    return {str(name): mark for name, mark in marks.items()}


def unit_columns(
    table: Any, group: str | None, second: str | None, source: TableSource, form: TextForm
) -> dict[str, Any]:
    """Return incidents and second scores of all rows, as the library's arguments."""
    import numpy as np

    from scarce.cli.label_columns import number_column

    found: dict[str, Any] = {}
    if group is not None:
        names = table.column(group).to_pylist()
        blank = [isinstance(name, str) and not name.strip() for name in names]
        names = [None if empty else name for name, empty in zip(names, blank, strict=True)]
        found["groups"] = np.array(names, dtype=object)
    if second is not None:
        found["second_scores"] = number_column(table, second)
        refuse_unscored(source, found["second_scores"], second, form)
    return found


def thresholds(given: tuple[str, ...], batch: str | None) -> Any:
    """Read --threshold: one score for all rows, or NAME=SCORE for each batch."""
    named: dict[Any, float] = {}
    for text in given:
        name, equals, number = text.rpartition("=")
        value = typed(number)
        if isinstance(value, str):
            raise UsageError(
                "--threshold must be a number, got {value!r}.",
                code="threshold-value",
                value=text,
            )
        if not equals:
            if len(given) > 1:
                raise UsageError(
                    "--threshold is given {count} times.",
                    code="several-thresholds",
                    count=len(given),
                    remedy=(
                        "For other thresholds use --also; for a threshold per batch give "
                        "WEEK=SCORE."
                    ),
                )
            return float(value)
        named[typed(name)] = float(value)
    if batch is None:
        raise UsageError(
            "--threshold {value!r} is for one batch.",
            code="threshold-per-batch",
            value=given[0],
            remedy="Name the column of batches with --batch, or give one number.",
        )
    return named
