"""The flags of figures by segment and over time: --by, --period, --date and labels that come late.

    --by country                    segments
    --by date --period week         periods; --by week --date date says the same
    --label-delay 60 --as-of DAY    rows younger than that are not yet known

Reads columns and calls `scarce.evaluate_by` and `scarce.usual_delay`; the figures, the table and
its words are the library's. Rows without a label are left out as in `scarce evaluate`, unless their
whole segment has none: its figures are expected ones.
"""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Any, NamedTuple

from scarce.cli.options import PERIODS, Group, names_of
from scarce.cli.output import table, write_line
from scarce.errors import Problem, UsageError

if TYPE_CHECKING:
    from scarce import Estimate
    from scarce.cli.outcome_table import OutcomeTable
    from scarce.evaluation.segments import EvaluationBy


class ByFlags(NamedTuple):
    """What was said about segments, dates and late labels, as typed."""

    by: str | None = None
    period: str | None = None
    date: str | None = None
    label_delay: float | None = None
    label_date: str | None = None
    as_of: str | None = None

    @property
    def resolved(self) -> ByFlags:
        """The same, where --by names a period, or --period stands with --date alone."""
        if self.by in PERIODS and self.date is not None and self.period is None:
            return self._replace(by=self.date, period=self.by)
        if self.by is None and self.period is not None:
            return self._replace(by=self.date)
        return self

    @property
    def given(self) -> list[tuple[str, str]]:
        """The columns that were named, by their flags."""
        flags = self.resolved
        pairs = (("--by", flags.by), ("--date", flags.date), ("--label-date", flags.label_date))
        return [(flag, name) for flag, name in pairs if name is not None]

    @property
    def dates(self) -> str | None:
        """The column of dates, None where no flag names one."""
        flags = self.resolved
        return flags.date or (flags.by if flags.period is not None else None)

    @property
    def late(self) -> bool:
        """Whether labels come late."""
        return self.label_delay is not None or self.label_date is not None

    def check(self) -> None:
        """Refuse flags that cannot work."""
        flags = self.resolved
        if flags.period is not None and flags.by is None:
            raise UsageError(
                "--period {period} needs a column of dates.",
                code="argument-missing",
                period=flags.period,
                remedy="Name it with --by or --date.",
            )
        if (self.late or self.as_of is not None) and self.dates is None:
            raise UsageError(
                "Late labels need the date of each row.",
                code="argument-missing",
                remedy="Name its column with --date.",
            )
        if self.as_of is not None and not self.late:
            raise UsageError(
                "--as-of says when labels were read, and not how long they take.",
                code="argument-missing",
                remedy="Give --label-delay DAYS or --label-date COLUMN.",
            )
        if self.label_delay is not None and self.label_date is not None:
            raise UsageError(
                "--label-delay gives what --label-date would estimate.",
                code="argument-conflict",
                remedy="Give one of them.",
            )

    def split(self, judged: OutcomeTable, level: float, seed: int) -> SplitTable:
        """Return the rows with their segments and dates, and which are not yet known."""
        import numpy as np

        from scarce.evaluation.periods import read_dates, read_delay

        dates = None if self.dates is None else read_dates(_values(judged, self.dates), "dates")
        usual, days = self._usual(judged, dates, level, seed), self.label_delay
        if usual is not None:
            days = float(math.ceil(usual.high))
        late = read_delay(days, self.as_of, dates, "dates")
        mature = np.ones(len(judged.y), dtype=bool)
        if late is not None and dates is not None:
            mature = late.known(dates)
        as_of = None if late is None else str(late.as_of)
        return SplitTable(self.resolved, judged, dates, mature, days, as_of, usual)

    def _usual(self, judged: OutcomeTable, dates: Any, level: float, seed: int) -> Estimate | None:
        """Return the usual delay of events' labels, None where it was not asked for."""
        if self.label_date is None:
            return None
        from scarce import usual_delay
        from scarce.evaluation.periods import read_as_of, read_dates

        came = read_dates(_values(judged, self.label_date), "label_dates")
        event = judged.y == len(judged.classes) - 1
        as_of = self.as_of or str(read_as_of(None, dates))
        return usual_delay(dates[event], came[event], as_of=as_of, level=level, random_state=seed)


BY = Group("by", ("by", *names_of("segments")), ByFlags)


class SplitTable(NamedTuple):
    """Rows with their segments and dates.

    Parameters
    ----------
    flags : ByFlags
    judged : OutcomeTable
    dates : array of dates, or None
    mature : mask of rows whose label has come
    days : float, or None
        The delay.
    as_of : str, or None
        When labels were read.
    usual : Estimate, or None
        Of the delay, where it was estimated.
    """

    flags: ByFlags
    judged: OutcomeTable
    dates: Any
    mature: Any
    days: float | None
    as_of: str | None
    usual: Estimate | None

    @property
    def known(self) -> OutcomeTable:
        """The rows of the figures for all segments together: those whose label has come."""
        return self.judged if self.mature.all() else self.judged.only(self.mature)

    def evaluate(self, level: float, seed: int, threshold: float | None) -> EvaluationBy | None:
        """Return the figures of each segment, None without --by."""
        import numpy as np

        from scarce import evaluate_by
        from scarce.evaluation.segments import cut_by

        if self.flags.by is None:
            return None
        rows, by = self.judged, _values(self.judged, self.flags.by)
        inside = np.ones(len(rows.y), dtype=bool)
        if rows.inclusion is None:
            place = cut_by(by, self.flags.period, len(by))[0].place
            labelled = np.bincount(place, rows.known & self.mature) > 0
            inside = rows.known | ~self.mature | ~labelled[place]
        kept = rows if inside.all() else rows.only(inside)
        return evaluate_by(
            kept.names(),
            kept.prob,
            by[inside],
            period=self.flags.period,
            classes=kept.classes,
            threshold=threshold,
            dates=None if self.dates is None else self.dates[inside],
            label_delay=self.days,
            as_of=self.as_of,
            **kept.drawn(level, seed),
        )

    def remarks(self) -> list[Problem]:
        """Say which delay was taken, and how many rows it leaves out, where there is no --by."""
        said = []
        if self.usual is not None:
            said.append(
                Problem(
                    "95 % of the events were known after {usual} days; rows younger than {days:g} "
                    "days, the high limit, count as not yet known.",
                    code="usual-delay",
                    usual=self.usual.brief(),
                    days=self.days,
                )
            )
        if self.flags.by is None and not self.mature.all():
            said.append(
                Problem(
                    "{count:,} of {rows:,} rows are younger than {days:g} days: not yet known, and "
                    "left out.",
                    code="labels-to-come",
                    count=int((~self.mature).sum()),
                    rows=len(self.mature),
                    days=self.days,
                )
            )
        return said


def show_by(found: EvaluationBy) -> None:
    """Write the table of segments, and what happens over time."""
    write_line()
    table(found.table(), columns=found.columns(), title=found.title())
    lines = found.over_time()
    if lines:
        write_line("\n" + "\n".join(lines))


def show_missing(found: EvaluationBy) -> None:
    """Write the table of calibration by share of missing values."""
    from scarce.evaluation.missing_share import missing_table

    words = missing_table(found)
    write_line()
    table(words.lines, columns=words.columns, title="By share of missing values")


def _values(judged: OutcomeTable, name: str) -> Any:
    """Return a column as dates or as Python values; a blank is missing."""
    import numpy as np
    import pyarrow as pa
    import pyarrow.compute as pc

    from scarce.io.values import blank_as_missing

    values = judged.table.column(name)
    if pa.types.is_dictionary(values.type):  # which may differ from chunk to chunk
        values = values.cast(values.type.value_type)
    if pa.types.is_timestamp(values.type) and values.type.tz is not None:
        values = pc.local_timestamp(values)
    if pa.types.is_date(values.type) or pa.types.is_timestamp(values.type):
        seconds = values.cast(pa.timestamp("s"), safe=False)
        return np.asarray(seconds.to_numpy(), dtype="datetime64[s]")
    if pa.types.is_string(values.type) or pa.types.is_large_string(values.type):
        part = pa.table({name: values})
        values = blank_as_missing(part, [name], judged.form).column(name)
    held = np.empty(len(values), dtype=object)
    held[:] = values.to_pylist()
    return held
