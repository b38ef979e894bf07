"""Dates, periods, and labels that take their time."""

import datetime

import numpy as np
import pytest

from scarce import evaluate_by, usual_delay
from scarce.evaluation.periods import cut_periods, read_dates
from tests.problems import refused, warned

DAY = np.timedelta64(1, "D")
START = np.datetime64("2026-01-01")


@pytest.mark.parametrize(
    "values",
    [
        ["2026-03-01", "2026-03-02T10:30:00", None],
        [datetime.date(2026, 3, 1), datetime.datetime(2026, 3, 2, 10, 30), None],
        np.array(["2026-03-01", "2026-03-02T10:30", "NaT"], dtype="datetime64[ns]"),
        np.array([np.datetime64("2026-03-01"), datetime.datetime(2026, 3, 2, 10, 30), float("nan")],
                 dtype=object),
    ],
)  # fmt: skip
def test_dates_of_every_kind_are_read_alike(values):
    found = read_dates(values)
    assert found[0] == np.datetime64("2026-03-01")
    assert found[1] == np.datetime64("2026-03-02T10:30")
    assert np.isnat(found[2])


def test_dates_of_pandas_and_polars_are_read_alike():
    pandas, polars = pytest.importorskip("pandas"), pytest.importorskip("polars")
    words = ["2026-03-01", "2026-03-02"]
    known = read_dates(words)
    series = pandas.Series(pandas.to_datetime(words))
    assert (read_dates(series) == known).all()
    assert (read_dates(series.dt.tz_localize("Asia/Tokyo")) == known).all()  # as on their clock
    assert (read_dates(polars.Series(words).str.to_date()) == known).all()


@pytest.mark.parametrize("value", [20260301, "01/03/2026", 1.5, "March"])
def test_what_is_no_date_is_refused(value):
    with refused("not-a-date", row=1):
        read_dates(["2026-03-01", value])


@pytest.mark.parametrize(
    ("period", "names"),
    [
        ("day", 62),
        ("week", ["2025-12-29", "2026-01-05"]),
        ("month", ["2026-01", "2026-02", "2026-03"]),
        ("quarter", ["2026-Q1"]),
        ("year", ["2026"]),
    ],
)
def test_periods_are_calendar_periods_in_order_with_empty_ones(period, names):
    dates = read_dates([START, START + 61 * DAY])
    cut = cut_periods(dates, period)
    if isinstance(names, int):
        assert len(cut.names) == names
        assert cut.place.tolist() == [0, names - 1]
    else:
        assert cut.names[: len(names)] == names


def test_weeks_begin_on_monday():
    days = np.datetime64("2026-03-02") + np.arange(14)  # a Monday
    assert cut_periods(read_dates(days), "week").place.tolist() == [0] * 7 + [1] * 7


def test_wrong_periods_and_missing_dates_are_refused():
    with refused("unknown-word"):
        cut_periods(read_dates(["2026-01-01"]), "fortnight")
    with refused("missing-date", row=1, count=1):
        cut_periods(read_dates(["2026-01-01", None]), "month")
    with refused("too-many-segments"):  # a date of 1900 by mistake
        cut_periods(read_dates(["1900-01-01", "2026-01-01"]), "day")


# --- labels that take their time ------------------------------------------------------------------


def late_table(rng, n=1500, days=200, wait=40.0):
    """Rows over some days; events are known after an exponential wait, 0 until then."""
    day = rng.integers(0, days, n)
    prob = rng.beta(1, 9, n)
    event = rng.random(n) < prob
    came = day + np.minimum(rng.exponential(wait, n), 120)
    return day, prob, event, came


def test_simulation_naive_rates_are_too_low_and_ours_are_right():
    naive, quick, ours, truth = [], [], [], []
    for seed in range(30):
        rng = np.random.default_rng(seed)
        day, prob, event, came = late_table(rng)
        seen = (event & (came <= 200)).astype(float)  # 0 until the label comes
        found = evaluate_by(
            seen, prob, START + day, period="year", label_delay=120,
            as_of=str(START + 200 * DAY), resamples=100,
        ).segments[0]  # fmt: skip
        truth.append(event.mean())
        naive.append(seen.mean())
        old = day <= 80
        quick.append(seen.sum() / (old.sum() + seen[~old].sum()))  # early events, no early zeros
        ours.append(found.happened.value)
        assert found.waiting == (~old).sum()
        assert found.labelled == old.sum()
    error = np.std(ours) / np.sqrt(len(ours))
    assert abs(np.mean(ours) - np.mean(truth)) < 3 * error
    assert np.mean(naive) < 0.85 * np.mean(truth)
    assert np.mean(quick) > 1.1 * np.mean(truth)


def test_young_events_count_no_more_than_young_others(rng):
    day, prob, event, _ = late_table(rng)
    how = {"period": "month", "label_delay": 60, "as_of": str(START + 200 * DAY), "resamples": 100}
    found = evaluate_by(event, prob, START + day, **how)
    young = day > 140
    for other in (np.where(young, 1, event), np.where(young, 0, event)):
        again = evaluate_by(other, prob, START + day, **how)
        assert [one.happened.value for one in again.segments[:4]] == [
            one.happened.value for one in found.segments[:4]
        ]
    without = evaluate_by(np.where(young, np.nan, event), prob, START + day, **how)
    assert without.to_dict() == found.to_dict()


def test_delay_is_counted_from_the_rows_own_date():
    days = [START + k * DAY for k in range(10)]
    y, prob = [0, 1] * 5, [0.5] * 10
    found = evaluate_by(y, prob, days, period="day", label_delay=4, as_of=days[-1], resamples=100)
    assert [one.labelled for one in found.segments] == [1] * 6 + [0] * 4
    assert [one.waiting for one in found.segments] == [0] * 6 + [1] * 4
    assert found.as_of == "2026-01-10"


def test_delay_needs_dates_and_a_day_that_is_not_before_them():
    y, prob, by = [0, 1, 0, 1], [0.5] * 4, ["a", "a", "b", "b"]
    with refused("argument-missing"):
        evaluate_by(y, prob, by, label_delay=3)
    with refused("argument-missing"):
        evaluate_by(y, prob, by, as_of="2026-01-01")
    dates = ["2026-01-01", "2026-01-02", "2026-01-03", "2026-01-04"]
    with refused("later-than-as-of", count=2, last="2026-01-04"):
        evaluate_by(y, prob, by, dates=dates, label_delay=1, as_of="2026-01-02")
    with refused("no-labels"):
        evaluate_by(y, prob, by, dates=dates, label_delay=30)
    with refused("number-range"):
        evaluate_by(y, prob, by, dates=dates, label_delay=-1)


def test_usual_delay_without_truncation_is_a_quantile(rng):
    delay = rng.integers(0, 50, 400)
    dates = np.repeat(START, 400)
    found = usual_delay(dates, dates + delay, as_of=START + 400 * DAY, share=0.9)
    assert found.value == np.quantile(delay, 0.9, method="inverted_cdf")
    assert found.low <= found.value <= found.high


def test_usual_delay_is_the_likeliest_distribution_of_truncated_delays():
    """Against a brute-force EM over the mass of each delay, right truncation given."""
    delay = np.array([1, 2, 3, 5, 1, 2, 8, 4, 1, 3])
    room = np.array([3, 4, 9, 9, 2, 9, 9, 6, 5, 4])
    at = np.unique(delay)
    mass = np.full(len(at), 1 / len(at))
    for _ in range(3000):
        seen = np.array([mass[at <= r].sum() for r in room])
        ghosts = sum(np.where(at > r, mass, 0) / s for r, s in zip(room, seen, strict=True))
        mass = np.array([(delay == d).sum() for d in at]) + ghosts
        mass = mass / mass.sum()
    below = np.cumsum(mass)
    start = START + 20 * DAY - room
    for share in (0.3, 0.5, 0.7, 0.9, 0.99):
        found = usual_delay(start, start + delay, as_of=f"{START + 20 * DAY}T00:00", share=share)
        assert found.value == at[np.argmax(below >= share - 1e-9)]


def test_simulation_usual_delay_allows_for_labels_to_come():
    held, plain = 0, []
    true = 30 * np.log(5)
    for seed in range(100):
        rng = np.random.default_rng(seed)
        day = rng.integers(0, 120, 60)
        wait = np.minimum(rng.exponential(30, 60), 110)
        start = (START + day).astype("datetime64[s]")
        came = start + (wait * 86_400).astype("timedelta64[s]")
        came[day + wait > 120] = np.datetime64("NaT")
        found = usual_delay(start, came, as_of="2026-05-01T00:00", share=0.8, resamples=200)
        held += true in found
        plain.append(np.quantile(wait[day + wait <= 120], 0.8))
    assert held >= 84
    assert np.mean(plain) < 0.8 * true


def test_strange_label_dates_are_refused_or_said():
    dates = ["2026-01-01", "2026-01-02"]
    with refused("no-labels"):
        usual_delay(dates, [None, None])
    with refused("label-before-row", row=1):
        usual_delay(dates, ["2026-01-05", "2026-01-01"])
    with refused("length-mismatch"):
        usual_delay(dates, ["2026-01-05"])
    with warned("few-rows", count=2):
        usual_delay(dates, ["2026-01-05", "2026-01-05"])
