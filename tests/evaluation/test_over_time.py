"""Trends over periods, and changes beyond chance."""

import numpy as np
import pytest
from scipy.special import expit

from experiments.intervals.by_segment import NULL, measure, replace
from scarce import evaluate_by
from scarce.bootstrap import Resampling, read_sample
from scarce.evaluation.differences import Segmented
from scarce.evaluation.over_time import change_tests, trend_of
from tests.problems import codes


def periods(rng, change=0.0, since=8, n_periods=12, rows=300, slope=1.0, level=-2.5):
    place = np.repeat(np.arange(n_periods), rows)
    eta = rng.normal(size=len(place)) + level
    late = place >= since
    true = np.where(late, level + slope * (eta - level) + change, eta)
    y = (rng.random(len(place)) < expit(true)).astype(float)
    return y, expit(eta), place


def segmented(y, prob, place, group=None):
    sample = read_sample(np.ones(len(y), dtype=bool), None, None, group)
    return Segmented(y, prob, sample, place.astype(np.intp), int(place.max()) + 1)


def test_slopes_are_those_of_least_squares(rng):
    y, prob, place = periods(rng)
    found = trend_of(segmented(y, prob, place), Resampling.read())
    lost = -np.where(y == 1, np.log(prob), np.log1p(-prob))
    for one, column in ((found.happened, y), (found.gap, prob - y), (found.log_loss, lost)):
        assert one.value == pytest.approx(np.polyfit(place, column, 1)[0])
        assert one.low < one.value < one.high


def test_one_period_has_no_trend_and_no_change(rng):
    y, prob, place = periods(rng, n_periods=1)
    rows = segmented(y, prob, place)
    assert np.isnan(trend_of(rows, Resampling.read()).happened.value)
    change = change_tests(rows, ["only"], Resampling.read())[0]
    assert np.isnan(change.p_value)
    assert not change.found


@pytest.mark.parametrize("events", [3, 12])
def test_slice_of_the_experiment_trend_holds_and_no_change_is_found(events):
    found = measure(replace(NULL, rows=80, events=events), 30, ["changes", "trend"], 100)
    assert found.change <= 0.23  # 30 draws of .10
    assert found.discrimination <= 0.23
    assert found.trend > 0.78


def test_slice_of_the_experiment_clumps_are_no_change():
    clumps = replace(NULL, rows=100, groups="within")
    found = measure(clumps, 30, ["flags", "changes"], 100)
    assert found.change <= 0.23
    assert found.flagged <= 0.23


def test_a_change_of_calibration_is_found_where_it_was(rng):
    y, prob, place = periods(rng, change=0.8)
    names = [f"m{t}" for t in range(12)]
    level, _ = change_tests(segmented(y, prob, place), names, Resampling.read())
    assert level.found
    assert level.since in ("m7", "m8", "m9")
    assert level.before < 1 < level.after


def test_a_change_of_calibration_is_none_of_discrimination():
    hits = 0
    for seed in range(20):
        y, prob, place = periods(np.random.default_rng(seed), change=1.0)
        tests = change_tests(
            segmented(y, prob, place), list(map(str, range(12))), Resampling.read(resamples=199)
        )
        assert tests[0].found
        hits += tests[1].found
    assert hits <= 5  # of 20 with chance .10


def test_a_change_of_discrimination_is_found_although_the_level_stays():
    hits = 0
    for seed in range(8):
        y, prob, place = periods(np.random.default_rng(seed), slope=-0.2, change=0.35)
        _, spread = change_tests(
            segmented(y, prob, place), list(map(str, range(12))), Resampling.read(resamples=200)
        )
        hits += spread.found and abs(int(spread.since) - 8) <= 1 and spread.after < spread.before
    assert hits >= 6


def test_rows_that_change_and_probabilities_that_know_it_are_no_change():
    hits = 0
    for seed in range(20):
        rng = np.random.default_rng(seed)
        place = np.repeat(np.arange(12), 200)
        eta = rng.normal(size=len(place)) - 3 + 1.5 * (place >= 6)
        y = (rng.random(len(place)) < expit(eta)).astype(float)
        tests = change_tests(
            segmented(y, expit(eta), place),
            list(map(str, range(12))),
            Resampling.read(resamples=199),
        )
        hits += tests[0].found or tests[1].found
    assert hits <= 4


def test_order_of_rows_changes_nothing_and_seeds_are_kept(rng):
    y, prob, place = periods(rng, change=0.4)
    order = rng.permutation(len(y))
    names = list(map(str, range(12)))
    one, two = (
        change_tests(segmented(y[at], prob[at], place[at]), names, Resampling.read())
        for at in (np.arange(len(y)), order)
    )
    for a, b in zip(one, two, strict=True):
        assert (a.since, a.found) == (b.since, b.found)
        assert a.p_value == pytest.approx(b.p_value, abs=0.002)


def test_evaluate_by_periods_shows_empty_ones_and_says_what_changed(rng):
    y, prob, place = periods(rng, change=0.9)
    dates = (np.datetime64("2026-01") + place + (place >= 6)).astype("datetime64[D]")
    found = evaluate_by(y, prob, dates, period="month", resamples=200)
    empty = [one for one in found.segments if one.rows == 0]
    assert [one.name for one in empty] == ["2026-07"]
    assert np.isnan(empty[0].happened.value)
    assert found.changes[0].found
    assert codes(found.remarks)[0] == "change-over-time"
    assert found.trend.happened.low > 0
    assert found.trend.gap.high < 0
