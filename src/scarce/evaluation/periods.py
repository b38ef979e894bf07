"""When was each row, which period is that, and is its outcome known yet?

    known on the day `as_of`:  date + label_delay <= as_of
    usual delay:  F(t) = product over u > t of 1 - d(u) / Y(u),   d(u) labels with that delay,
                  Y(u) those with delay <= u that had u days to come  (Lynden-Bell 1971)

A row that is younger than the usual delay is not yet known, whatever its label says: among young
rows only quick events have come, so that their rate is too low, and a rate that takes these events
and leaves out the rest is too high. The usual delay is estimated from labels that came by `as_of`,
which favours short delays; F allows for that. Assumes that delays do not depend on the date, and
that none is longer than the oldest row could show. Computes no figure of probabilities: see
segments.py.
"""

from __future__ import annotations

import datetime
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import ArrayLike, NDArray

from scarce.bootstrap import FEW, Resampling, Seed
from scarce.checks import (
    Number,
    is_missing,
    name_column,
    read_number,
    refuse_length,
    refuse_other_index,
)
from scarce.engine.block import Array
from scarce.errors import Argument, DataError, UsageError, refuse_word, warn_user
from scarce.results import Estimate

PERIODS = ("day", "week", "month", "quarter", "year")
MOST_SEGMENTS = 1000
SECONDS = "datetime64[s]"
DAY = 86_400.0
MOST_DRAWN = 2_000_000  # weights drawn at once
Date = str | datetime.date | np.datetime64

Dates = NDArray[np.datetime64]


def read_dates(values: Any, name: str = "by") -> Dates:
    """Return one date or time per row, to the second, NaT where missing.

    A time of a time zone is taken as it stands on its clock.

    Examples
    --------
    >>> read_dates(["2026-03-01", None, "2026-03-02T10:30"]).astype(str).tolist()
    ['2026-03-01T00:00:00', 'NaT', '2026-03-02T10:30:00']
    >>> read_dates([20260301])
    Traceback (most recent call last):
    ...
    scarce.errors.DataError: by must hold dates, such as 2026-03-01, got 20260301 at row 0. ...
    """
    held = name_column(values, name)
    if held.dtype.kind == "M":
        return held.astype(SECONDS)
    found: dict[Any, np.datetime64] = {}
    out = np.empty(len(held), dtype=SECONDS)
    for row, value in enumerate(held.tolist() if held.dtype.kind != "O" else held):
        if is_missing(value) or value == "":
            out[row] = np.datetime64("NaT")
            continue
        if value not in found:
            found[value] = _date(value, name, row)
        out[row] = found[value]
    return out


def _date(value: Any, name: str, row: int) -> np.datetime64:
    try:
        if isinstance(value, str):
            value = datetime.datetime.fromisoformat(value.strip())
        if isinstance(value, np.datetime64):
            value = value.astype("datetime64[s]").item()
        if isinstance(value, datetime.datetime):
            return np.datetime64(value.replace(tzinfo=None), "s")
        if isinstance(value, datetime.date):
            return np.datetime64(value, "s")
    except ValueError:
        pass
    raise DataError(
        "{argument} must hold dates, such as 2026-03-01, got {value!r} at row {row:,}.",
        code="not-a-date",
        argument=Argument(name),
        value=value if isinstance(value, (str, int, float)) else str(value),
        row=row,
        remedy="Write dates as year-month-day.",
    )


class Binned(NamedTuple):
    """Which segment each row is in, and what segments are called, in their order."""

    place: NDArray[np.intp]
    names: list[str]


def cut_periods(dates: Dates, period: str, name: str = "by") -> Binned:
    """Return the period of each row, periods without rows among them.

    Examples
    --------
    >>> cut_periods(read_dates(["2026-01-30", "2026-03-02"]), "month")
    Binned(place=array([0, 2]), names=['2026-01', '2026-02', '2026-03'])
    >>> cut_periods(read_dates(["2026-03-02", "2026-03-08"]), "week").names  # weeks from Monday on
    ['2026-03-02']
    """
    refuse_word("period", period, PERIODS)
    refuse_missing_dates(dates, name)
    if len(dates) == 0:
        return Binned(np.empty(0, dtype=np.intp), [])
    months = dates.astype("datetime64[M]").astype(np.int64)
    days = dates.astype("datetime64[D]").astype(np.int64)
    number = {
        "day": days,
        "week": (days + 3) // 7,  # 1970 began on a Thursday
        "month": months,
        "quarter": months // 3,
        "year": months // 12,
    }[period]
    first, last = int(number.min()), int(number.max())
    if last - first >= MOST_SEGMENTS:
        raise DataError(
            "The dates go from {first} to {last}: {count:,} periods of a {period}, and more than "
            "{most:,} cannot be read.",
            code="too-many-segments",
            first=str(dates.min())[:10],
            last=str(dates.max())[:10],
            count=last - first + 1,
            period=period,
            most=MOST_SEGMENTS,
            longer=Argument("period", PERIODS[min(PERIODS.index(period) + 1, len(PERIODS) - 1)]),
            remedy="Take longer periods ({longer}), and look for dates that are wrong.",
        )
    names = [_period_name(number, period) for number in range(first, last + 1)]
    return Binned((number - first).astype(np.intp), names)


def _period_name(number: int, period: str) -> str:
    if period == "day":
        return str(np.datetime64(number, "D"))
    if period == "week":
        return str(np.datetime64(7 * number - 3, "D"))
    if period == "month":
        return str(np.datetime64(number, "M"))
    if period == "quarter":
        return f"{1970 + number // 4}-Q{number % 4 + 1}"
    return str(1970 + number)


def refuse_missing_dates(dates: Dates, name: str) -> None:
    """Raise if a row has no date."""
    missing = np.isnat(dates)
    if missing.any():
        raise DataError(
            "{argument} has no date at row {row:,} ({count:,} of {rows:,} rows have none).",
            code="missing-date",
            argument=Argument(name),
            row=int(np.argmax(missing)),
            count=int(missing.sum()),
            rows=len(dates),
            remedy="Leave such rows out, or give them a date.",
        )


# --- labels that take their time ------------------------------------------------------------------


class Delay(NamedTuple):
    """How long labels take, and when they were read."""

    days: float
    as_of: np.datetime64

    def known(self, dates: Dates) -> NDArray[np.bool_]:
        """Which rows are old enough that their label has come."""
        age = (self.as_of - dates) / np.timedelta64(1, "s")
        return np.asarray(age >= self.days * DAY)


def read_delay(
    label_delay: float | None, as_of: Date | None, dates: Dates | None, name: str
) -> Delay | None:
    """Check the arguments about late labels; None where labels take no time."""
    if label_delay is None:
        if as_of is not None:
            raise UsageError(
                "{as_of} says when labels were read, and not how long they take.",
                code="argument-missing",
                as_of=Argument("as_of"),
                delay=Argument("label_delay", 60),
                remedy="Give {delay}, in days.",
            )
        return None
    days = read_number(label_delay, "label_delay", Number(0))
    if dates is None:
        raise UsageError(
            "{delay} needs the date of each row.",
            code="argument-missing",
            delay=Argument("label_delay", label_delay),
            dates=Argument("dates", ...),
            remedy="Give {dates}.",
        )
    refuse_missing_dates(dates, name)
    return Delay(days, read_as_of(as_of, dates))


def read_as_of(as_of: Date | None, dates: Dates) -> np.datetime64:
    """Return when labels were read, by default the last date; refuse rows of later days."""
    last = dates.max()
    if as_of is None:
        return np.datetime64(last, "s")
    (day,) = read_dates([as_of], "as_of")
    if np.isnat(day):
        raise UsageError(
            "{argument} must be a date, got {value!r}.",
            code="not-a-date",
            argument=Argument("as_of"),
            value=as_of,
        )
    end = day + np.timedelta64(86_399, "s") if day == day.astype("datetime64[D]") else day
    if last > end:
        raise DataError(
            "{count:,} rows are later than {as_of} (the last is of {last}).",
            code="later-than-as-of",
            count=int((dates > end).sum()),
            as_of=Argument("as_of", str(as_of)),
            last=str(last)[:10],
            remedy="Leave these rows out, or give the day on which labels were read.",
        )
    return np.datetime64(day, "s")


def usual_delay(
    dates: ArrayLike,
    label_dates: ArrayLike,
    *,
    as_of: Date | None = None,
    share: float = 0.95,
    level: float = 0.9,
    resamples: int | None = None,
    random_state: Seed = 0,
) -> Estimate:
    """Return within how many days a share of the labels of events has come, with its interval.

    Parameters
    ----------
    dates : array-like of dates, shape (n,)
        When each row was. NumPy, pandas or polars dates or times, or ISO text.
    label_dates : array-like of dates, shape (n,)
        When its event became known; missing where it has not.
    as_of : date, optional
        When the table was read; by default the last of all dates.
    share : float
        Of the events.
    level, resamples, random_state
        As in `evaluate`.

    Returns
    -------
    Estimate
        In days. The high limit is the cautious choice for `evaluate_by(..., label_delay=)`.

    **Assumes** that delays do not depend on the date, and that none is longer than the oldest row
    could show: what takes longer than the whole table lasts cannot be seen in it.

    Notes
    -----
    Only labels that came by `as_of` are seen, so that a plain quantile of delays is too short, most
    of all where rows are young. The product-limit estimate in reversed time allows for it.

    References
    ----------
    Lynden-Bell (1971), Monthly Notices of the Royal Astronomical Society 155. Lagakos, Barraj, De
    Gruttola (1988), Biometrika 75.

    Examples
    --------
    >>> dates = np.datetime64("2026-01-01") + np.arange(200) % 100
    >>> arrived = dates + np.arange(200) % 37
    >>> print(usual_delay(dates, arrived, as_of="2026-06-30"))
    34 [33, 36] (90 %, labels that have come, right truncation allowed for)
    """
    refuse_other_index(dates=dates, label_dates=label_dates)
    asked = Resampling.read(level, resamples, random_state)
    want = read_number(share, "share", Number(0, 1, open_low=True, open_high=True))
    refuse_other_index(dates=dates, label_dates=label_dates)
    start = read_dates(dates, "dates")
    came = read_dates(label_dates, "label_dates")
    refuse_length(came, len(start), "label_dates")
    refuse_missing_dates(start, "dates")
    seen = ~np.isnat(came)
    if not seen.any():
        raise DataError(
            "{argument} has no date at all: no label has come.",
            code="no-labels",
            argument=Argument("label_dates"),
        )
    every = np.concatenate([start, came[seen]])
    end = read_as_of(as_of, every)
    delay = (came[seen] - start[seen]) / np.timedelta64(1, "s") / DAY
    if delay.min() < 0:
        row = int(np.flatnonzero(seen)[np.argmin(delay)])
        raise DataError(
            "Row {row:,} has a label from before its own date ({days:.3g} days).",
            code="label-before-row",
            row=row,
            days=float(delay.min()),
            remedy="Exchange the two columns, or correct the dates.",
        )
    room = np.maximum((end - start[seen]) / np.timedelta64(1, "s") / DAY, delay)
    value, low, high = _delay_limits(delay, room, want, asked)
    if len(delay) < FEW:
        warn_user(
            "The usual delay rests on {count} labels with a date.", code="few-rows",
            count=len(delay),
        )  # fmt: skip
    return Estimate(
        value,
        min(low, value),
        max(high, value),
        asked.level,
        "labels that have come, right truncation allowed for",
        f"delays do not depend on the date, and none is longer than {room.max():.0f} days",
    )


def _delay_limits(
    delay: Array, room: Array, share: float, asked: Resampling
) -> tuple[float, float, float]:
    """Quantile of delays and its limits: rows weigh Exp(1), with one unseen label at either end."""
    at = np.unique(delay)
    value = float(_delay_quantiles(delay, room, np.ones((1, len(delay))), share)[0])
    rng = np.random.default_rng([asked.seed, 3])
    size = max(1, min(asked.resamples, MOST_DRAWN // len(delay)))
    drawn = []
    for done in range(0, asked.resamples, size):
        weight = rng.standard_exponential((min(size, asked.resamples - done), len(delay) + 1))
        drawn.append(
            [
                _delay_quantiles(np.append(delay, end), np.append(room, most), weight, share)
                for end, most in ((at[0], room.max()), (at[-1], room.max()))
            ]
        )
    early, late = np.concatenate(drawn, axis=1)
    low = np.quantile(early, asked.tails[0], method="nearest")
    high = np.quantile(late, asked.tails[1], method="nearest")
    return value, float(low), float(high)


def _delay_quantiles(delay: Array, room: Array, weight: Array, share: float) -> Array:
    """Quantile of right-truncated delays for each row of weights."""
    at = np.unique(delay)
    entered = np.searchsorted(at, delay, "left")
    left = np.searchsorted(at, room, "right")  # rows with less room are no longer at risk
    shape = (len(weight), len(at) + 1)
    died, out = np.zeros(shape), np.zeros(shape)
    for sums, place in ((died, entered), (out, left)):
        order = np.argsort(place, kind="stable")
        starts = np.flatnonzero(np.r_[True, np.diff(place[order]) > 0])
        sums[:, place[order][starts]] = np.add.reduceat(weight[:, order], starts, axis=1)
    risk = np.cumsum(died, axis=1) - np.cumsum(out, axis=1)
    with np.errstate(divide="ignore", invalid="ignore"):
        stays = np.where(risk[:, 1:-1] > 0, 1 - died[:, 1:-1] / risk[:, 1:-1], 1.0)
    stays = np.clip(np.hstack([stays, np.ones((len(weight), 1))]), 0.0, 1.0)
    below = np.cumprod(stays[:, ::-1], axis=1)[:, ::-1]
    return np.asarray(at[np.argmax(below >= share - 1e-12, axis=1)])
