"""A table of scores of which a few rows are labelled: read for estimate, check and report.

    table, --score, --label, --threshold, audit lists -> estimate_performance

A table of any length is read once in constant memory; only batches need their rows in memory.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.audit_lists import ANSWER, JOINED, AuditLists, refuse_same, walk_of
from scarce.cli.label_columns import for_events, reading_of, refuse_many
from scarce.cli.options import Group, LabelFlags, is_typed, names_of, typed
from scarce.cli.output import progress, say
from scarce.cli.sampling_columns import CHANCE, POLICY, is_policy
from scarce.cli.table_columns import refuse_nested, refuse_unscored
from scarce.errors import DataError, UsageError, refuse_word

if TYPE_CHECKING:
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
    auc: float | None
    batch: str | None
    label_source: str | None
    threshold_at: str | None
    background: str
    foreground: str
    no_check: bool

    def refuse_idle(self) -> None:
        """Refuse families that were typed and would do nothing, or that nobody knows."""
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
            raise UsageError(
                "--id is for matching the rows of --audit FILE.",
                code="unused-argument",
                remedy="Give that too.",
            )
        if labels.label is None and not flags.audit:
            raise UsageError(
                "--label is missing.",
                code="no-label-column",
                remedy="Name the column that says which rows are events.",
            )
        self.flags, self.labels, self.form = flags, labels, form
        self.score = flags.score
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
        more = (flags.inclusion, flags.label_source, flags.threshold_at, flags.batch)
        self.columns = [self.score, self.answer, *(name for name in more if name)]
        self.are_prob = True

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
        asked: dict[str, Any] = {
            "threshold": self.thresholds,
            "inclusion": JOINED if self.lists else flags.inclusion,
            "label_source": flags.label_source,
            "threshold_at_time": flags.threshold_at,
            "method": flags.method,
            "auc": flags.auc,
            "level": level,
            "background": flags.background,
            "foreground": flags.foreground,
            "check": not flags.no_check,
            "random_state": seed,
        }
        numbers = [name for name in (flags.score, flags.inclusion, flags.threshold_at) if name]
        if self.reading.numbers:
            numbers.append(self.answer)
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
                if flags.batch is None:
                    return self._streamed(lambda: self._watched(walk(), watch), asked), None
                return self._in_batches(self._watched(walk(), watch), flags.batch, asked)
        except DataError as error:
            error = for_events(error)
            raise error if self.lists is None else self.lists.explained(error) from None

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
        from scarce.cli.label_columns import label_meanings
        from scarce.io.open import streamed_rows

        source, answer = self.source, self.answer
        names = (asked["inclusion"], asked["label_source"], asked["threshold_at_time"])
        kind = source.types.get(answer, pa.string())
        if self.reading.numbers:
            kind = pa.float64()
        elif self.lists is not None and not pa.types.is_boolean(kind):
            kind = pa.string()  # as written
        words = asked["label_source"]
        rows = streamed_rows(
            walk() if source.once else walk,
            columns=[self.score, *(name for name in names if name is not None)],
            label=answer,
            categories=[] if words is None else [words],
            where=source.where,
            **label_meanings(self.reading.flags, kind),
        )
        self._say_labels(rows.classes)
        return estimate_performance(rows, **asked)

    def _in_batches(
        self, parts: Iterator[Any], batch: str, asked: dict[str, Any]
    ) -> tuple[Performance, Performance | None]:
        """Batches share a curve: their rows are held in memory. Also as one batch, to compare."""
        import numpy as np
        import pyarrow as pa

        from scarce import estimate_performance
        from scarce.cli.label_columns import number_column, read_labels
        from scarce.results import in_rows

        where, answer = self.source.where, self.answer
        table = pa.concat_tables(list(parts), promote_options="permissive")
        lost = table.column(batch).null_count
        if lost:
            belong = "belongs" if lost == 1 else "belong"
            raise DataError(
                "{where}, column {column!r}: {rows} {belong} to no batch.",
                code="missing-batch",
                where=where,
                column=batch,
                rows=in_rows(lost),
                belong=belong,
                remedy="Fill in the column, or leave --batch out.",
            )
        flags = self.reading.flags
        read = read_labels(
            table.column(answer), answer, flags, where=where, form=self.form, quiet=True
        )
        self._say_labels(read.classes)
        for name in ("inclusion", "threshold_at_time"):
            if asked[name] is not None:
                asked[name] = number_column(table, asked[name])
        if asked["label_source"] is not None:
            words = table.column(asked["label_source"]).to_pylist()
            asked["label_source"] = np.array(words, object)
        names = table.column(batch)
        if pa.types.is_dictionary(names.type):
            names = names.cast(names.type.value_type)
        marks = names.to_numpy()
        scores = number_column(table, self.score)
        batches = marks.astype(str) if marks.dtype == object else marks
        found = estimate_performance(scores, read.y, batch=batches, **asked)
        if isinstance(asked["threshold"], dict) or len(found.batches) < 2:
            return found, None
        return found, estimate_performance(scores, read.y, **{**asked, "check": False})

    def _say_labels(self, classes: tuple[Any, ...]) -> None:
        """Say what the labels were taken to mean, and refuse more than event and no event."""
        refuse_many(self.answer, classes)
        settled = "" if self.labels.positive else " (--positive settles it)"
        apart = self.labels.unlabelled
        nothing = "" if not apart else f" or {' or '.join(apart)}"
        say(
            f"Label {self.answer!r}: {classes[1]} is an event{settled}, {classes[0]} is not, "
            f"empty{nothing} is not labelled."
        )


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
