"""The decision table line by line, with tallies made by hand and limits worked out by scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scarce.missed import rules
from scarce.missed.audit import count_missed
from scarce.missed.counts import Tally
from scarce.missed.rules import (
    AUDIT,
    CURVE,
    FEW_SEEN,
    MIXTURE,
    NO_CHECKS,
    counted,
    ends,
    proportion,
    read_audit,
    read_auto,
    read_mixture,
    read_nothing,
)

DRAWS = np.arange(101.0)  # 0 to 100: quantiles can be read off


def audit_of(hits=0, checks=0, frame=1000, certain=0, chance=0.1):
    labels = np.r_[np.ones(hits), np.zeros(checks - hits), np.ones(certain)]
    return count_missed(labels, np.r_[np.full(checks, chance), np.ones(certain)], frame)


def tally_of(
    seen=10.0,
    *,
    known=0.0,
    outside=0.0,
    audit=None,
    missed=DRAWS,
    open_above=None,
    alerts=40.0,
    labelled=40.0,
    best=None,
):
    audit = audit_of(certain=int(known)) if audit is None else audit
    missed = np.asarray(missed, dtype=float) + known
    open_above = np.zeros_like(missed) if open_above is None else np.asarray(open_above, float)
    return Tally(
        rows=2000.0,
        alerts=alerts,
        alerts_labelled=labelled,
        seen=seen,
        known=known,
        outside=outside,
        audit=audit,
        open_above=open_above,
        missed=missed,
        margin=np.full_like(missed, 0.1),
        best=best,
        band=(0.0, 0.0),
    )


def gamma_pair(weights, extra, level=0.9):
    """Fay and Feuer's limits with scipy's gamma distribution."""
    tail = (1 - level) / 2
    y, v = sum(weights), sum(w * w for w in weights)
    low = stats.gamma.ppf(tail, y * y / v, scale=v / y) if weights else 0.0
    y, v = y + extra, v + extra * extra
    return low, stats.gamma.ppf(1 - tail, y * y / v, scale=v / y)


@pytest.mark.parametrize(
    ("seen", "checks", "method", "has_point"),
    [
        (4, 0, "monotone curve, one-sided limit", False),
        (4, 25, "audit, gamma limits", False),
        (5, 0, "monotone curve, extrapolated", True),
        (20, 0, "monotone curve, extrapolated", True),
        (21, 0, "monotone curve, one-sided limit", True),
        (5, 25, "two sources: curve and audit", True),
        (20, 1, "two sources: curve and audit", True),
        (21, 25, "two sources: curve and audit", True),
    ],
)
def test_every_line_of_the_table(seen, checks, method, has_point):
    reading = read_auto(tally_of(seen, audit=audit_of(0, checks)), 0.9, None)
    for figure in reading:
        assert figure.method == method
        assert np.isnan(figure.value) != has_point
        assert figure.level == 0.9
        assert figure.low <= figure.high


def test_few_events_and_checks_get_a_point_with_an_auc_only():
    tally = tally_of(4, audit=audit_of(1, 25))
    with_auc = read_auto(tally, 0.9, 0.9)
    assert with_auc.missed.value == 50.0  # the median of the draws
    assert with_auc.recall.value == pytest.approx(4 / 54)
    without = read_auto(tally, 0.9, None)
    assert np.isnan(without.missed.value)
    assert np.isnan(without.recall.value)
    assert without.missed.assumes == f"{FEW_SEEN}; {AUDIT}"
    assert (with_auc.missed.low, with_auc.missed.high) == (without.missed.low, without.missed.high)


def test_extrapolated_curve_has_the_quantiles_of_its_draws():
    reading = read_auto(tally_of(10), 0.9, None)
    assert (reading.missed.low, reading.missed.high) == (pytest.approx(5.0), pytest.approx(95.0))
    assert reading.recall.value == pytest.approx(np.mean(10 / (10 + DRAWS)))
    skewed = read_auto(tally_of(10, missed=DRAWS**2), 0.9, None)
    assert skewed.missed.value == 2500.0  # the median: a few draws must not carry it away
    assert reading.recall.low == pytest.approx(10 / 105)
    assert reading.recall.high == pytest.approx(10 / 15)
    assert reading.recall.assumes == CURVE
    narrow = read_auto(tally_of(10), 0.5, None)
    assert (narrow.missed.low, narrow.missed.high) == (pytest.approx(25.0), pytest.approx(75.0))


@pytest.mark.parametrize("seen", [3, 30])
def test_one_sided_limit_reaches_up_to_what_is_certain(seen):
    reading = read_auto(tally_of(seen, known=2, outside=1), 0.9, None)
    assert (reading.missed.low, reading.missed.high) == (3.0, pytest.approx(97.0))
    assert reading.recall.high == pytest.approx(seen / (seen + 3))
    assert reading.recall.low == pytest.approx(seen / (seen + 97))
    assert NO_CHECKS in reading.missed.assumes
    assert (FEW_SEEN in reading.missed.assumes) == (seen < 5)
    if seen == 30:
        assert reading.recall.value == pytest.approx(np.mean(30 / (32 + DRAWS)))
        assert reading.missed.value == pytest.approx(52.0)


def test_oracle_two_sources_low_end_curve_high_end_audit():
    """R3 by hand: a hit of weight 10 with an extra weight of 1000 / 50."""
    audit = audit_of(1, 50, certain=2)
    tally = tally_of(12, known=3, audit=audit)
    reading = read_auto(tally, 0.9, None)
    low, high = gamma_pair([10.0], 20.0)
    audit_low = max(low, 1.0) + 2  # at least the hit itself
    assert reading.recall.high == pytest.approx(max(12 / (12 + 8), 12 / (12 + audit_low)))
    assert reading.missed.low == pytest.approx(min(8, audit_low))
    # What was found deep down reaches half-way from the audit's count to its high limit.
    halfway = (12.0 + 2 + high) / 2
    assert halfway < 98
    assert reading.missed.high == pytest.approx(98)
    assert reading.recall.low == pytest.approx(12 / (12 + 98))
    assert reading.recall.value == pytest.approx(np.mean(12 / (15 + DRAWS)))
    assert reading.missed.value == 53.0
    assert AUDIT in reading.recall.assumes
    assert CURVE in reading.recall.assumes
    short = read_auto(tally_of(12, known=3, audit=audit, missed=10 + DRAWS / 10), 0.9, None)
    assert short.missed.high == pytest.approx(halfway)
    assert short.recall.low == pytest.approx(12 / (12 + halfway))
    nearly = read_auto(tally_of(12, known=3, audit=audit, missed=0.13 * DRAWS), 0.9, None)
    assert nearly.missed.high == pytest.approx(halfway)  # 12 is above 9.5 and below 12.75
    # Where it counts more than three quarters of the curve's draws, its whole limit holds.
    below = read_auto(tally_of(12, known=3, audit=audit, missed=DRAWS / 10), 0.9, None)
    assert below.missed.high == pytest.approx(2 + high)
    assert below.recall.low == pytest.approx(12 / (14 + high))


def test_oracle_two_sources_take_the_curves_high_end_where_it_is_wider():
    """Hits enough that the audit's low limit lies above the curve's, which then holds."""
    audit = audit_of(6, 50)
    tally = tally_of(12, known=6, audit=audit)
    reading = read_auto(tally, 0.9, None)
    assert gamma_pair([10.0] * 6, 20.0)[0] == pytest.approx(audit.low)
    assert 20 < audit.low < 106
    assert reading.recall.high == pytest.approx(12 / (12 + 11))
    assert reading.missed.low == pytest.approx(11)


@pytest.mark.parametrize("reason", ["contradicted", "not trusted"])
def test_a_curve_that_the_audit_contradicts_leaves_the_word_to_it(reason):
    audit = audit_of(20, 50)
    draws = np.linspace(0, 30, 101) if reason == "contradicted" else DRAWS * 4
    tally = tally_of(12, known=20, audit=audit, missed=draws)
    reading = read_auto(tally, 0.9, None, trusted=reason == "contradicted")
    assert reading.missed.method == "audit, gamma limits"
    assert (reading.missed.low, reading.missed.high) == (audit.low, audit.high)
    assert reading.missed.value == 200.0


def test_gate_no_audit_hit_leaves_the_high_end_at_what_is_known():
    """G6: high end n1 / (n1 + known); the audit alone says at most 3.0 rows / checks."""
    audit = audit_of(0, 50, frame=900, certain=4)
    tally = tally_of(12, known=4, audit=audit)
    assert read_auto(tally, 0.9, None).recall.high == pytest.approx(12 / 16)
    alone = read_audit(tally, 0.9)
    assert alone.missed.high >= 4 + 2.99 * 900 / 50
    assert alone.missed.high == pytest.approx(4 - math.log(0.05) * 900 / 50)
    assert alone.recall.high == pytest.approx(12 / 16)
    outside = read_auto(tally_of(12, known=4, outside=8, audit=audit), 0.9, None)
    assert outside.recall.high == pytest.approx(12 / 24)


def test_oracle_audit_alone():
    """R2 by hand."""
    audit = audit_of(2, 40, frame=800, certain=1, chance=0.02)
    reading = read_audit(tally_of(6, known=3, audit=audit), 0.9)
    low, high = gamma_pair([50.0, 50.0], 20.0)
    assert (reading.missed.low, reading.missed.high) == (
        pytest.approx(low + 1),
        pytest.approx(high + 1),
    )
    assert reading.missed.value == pytest.approx(101.0)
    assert reading.recall.value == pytest.approx(6 / 107)
    assert reading.recall.low == pytest.approx(6 / (7 + high))
    assert reading.recall.high == pytest.approx(6 / (7 + low))
    assert reading.recall.assumes == AUDIT


def test_audit_without_checks_says_how_to_get_one():
    reading = read_audit(tally_of(6), 0.9)
    assert np.isnan(reading.missed.value)
    assert (reading.missed.low, reading.missed.high) == (0.0, 1000.0)
    assert "inclusion=" in reading.missed.assumes


def test_an_audit_without_a_labelled_alert_says_nothing_of_recall():
    tally = tally_of(0, audit=audit_of(1, 40), known=1, labelled=0.0, open_above=DRAWS)
    recall = read_audit(tally, 0.9).recall
    assert np.isnan(recall.value)
    assert recall.low == 0.0
    assert recall.high == pytest.approx(40 / 41)  # one event is known to lie below
    assert "no alert is labelled" in recall.assumes


def test_events_from_outside_lift_the_low_end_of_an_audit():
    audit = audit_of(0, 50)
    reading = read_audit(tally_of(6, outside=9, audit=audit), 0.9)
    assert reading.missed.low == 9.0
    assert reading.recall.high == pytest.approx(6 / 15)
    many = read_audit(tally_of(6, outside=200, audit=audit), 0.9)
    assert (many.missed.low, many.missed.high) == (200.0, 200.0)


@pytest.mark.parametrize("read", [read_audit, read_mixture, read_nothing])
@pytest.mark.parametrize("checks", [0, 30])
def test_nothing_seen_but_events_known_below_is_recall_zero(read, checks):
    reading = read(tally_of(0, known=2, audit=audit_of(0, checks, certain=2)), 0.9)
    recall = reading.recall
    assert (recall.value, recall.low, recall.high) == (0.0, 0.0, 0.0)
    assert "none above" in recall.assumes


@pytest.mark.parametrize("checks", [0, 30])
def test_nothing_seen_at_all_leaves_recall_open(checks):
    tally = tally_of(0, audit=audit_of(0, checks))
    reading = read_auto(tally, 0.9, None)
    assert np.isnan(reading.recall.value)
    assert (reading.recall.low, reading.recall.high) == (0.0, 0.0)  # if there is any event
    assert "undefined" in reading.recall.assumes
    assert reading.missed.low == 0.0
    assert reading.missed.high == pytest.approx(
        95.0 if checks == 0 else -math.log(0.05) * 1000 / 30
    )
    known = read_auto(tally_of(0, known=1, audit=audit_of(0, checks, certain=1)), 0.9, None)
    assert (known.recall.value, known.recall.high) == (0.0, 0.0)


def test_mixture_interval_is_that_of_the_draws():
    reading = read_mixture(tally_of(2, open_above=DRAWS, missed=DRAWS + 1), 0.9)
    recall = (2 + DRAWS) / (3 + 2 * DRAWS)
    assert reading.recall.value == pytest.approx(recall.mean())
    assert reading.missed.value == 51.0
    assert reading.recall.low == pytest.approx(np.quantile(recall, 0.05))
    assert reading.recall.high == pytest.approx(np.quantile(recall, 0.95))
    assert reading.recall.assumes == MIXTURE


def test_mixture_point_is_that_of_the_fit_within_its_interval():
    """002 section 6.2: labels where known, posteriors elsewhere; never outside its interval."""
    inside = read_mixture(tally_of(10, best=(12.0, 36.0)), 0.9)
    assert inside.recall.value == pytest.approx(12 / 48)
    assert inside.missed.value == 36.0
    assert inside.recall.high == pytest.approx(10 / 15)
    outside = read_mixture(tally_of(10, best=(10.0, 990.0)), 0.9)
    assert outside.recall.value == outside.recall.low
    assert outside.missed.value == outside.missed.high


def test_draws_without_any_event_do_not_enter_recall():
    draws = np.r_[np.zeros(40), np.ones(61)]
    recall = read_mixture(tally_of(0, open_above=draws, missed=draws), 0.9).recall
    assert (recall.value, recall.low, recall.high) == (0.5, 0.5, 0.5)
    rare = np.r_[np.zeros(80), np.ones(21)]
    recall = read_mixture(tally_of(0, open_above=rare, missed=rare), 0.9).recall
    assert np.isnan(recall.value)
    assert "undefined" in recall.assumes


def test_every_row_labelled_leaves_nothing_to_estimate():
    every = audit_of(2, 8, frame=8, certain=3)
    reading = counted(tally_of(6, known=5, audit=every), 0.9)
    assert (reading.missed.value, reading.missed.low, reading.missed.high) == (5.0, 5.0, 5.0)
    assert reading.recall.value == reading.recall.low == reading.recall.high == 6 / 11
    assert counted(tally_of(6, known=5, audit=audit_of(2, 8, frame=9, certain=3)), 0.9) is None
    assert counted(tally_of(6, known=5, audit=every, labelled=39.0), 0.9) is None
    nothing = counted(tally_of(0, audit=audit_of(0, 0, frame=0)), 0.9)
    assert np.isnan(nothing.recall.value)
    assert nothing.missed.value == 0.0


def test_a_mixture_that_is_not_identified_leaves_the_counts():
    reading = read_nothing(tally_of(6, known=2, audit=audit_of(certain=2, frame=500)), 0.9)
    assert np.isnan(reading.missed.value)
    assert (reading.missed.low, reading.missed.high) == (2.0, 502.0)
    assert reading.recall.low == pytest.approx(6 / 508)
    assert reading.recall.high == pytest.approx(6 / 8)
    assert reading.recall.method == "not identified"
    checked = read_nothing(tally_of(6, known=3, audit=audit_of(1, 30, certain=2, frame=500)), 0.9)
    assert checked.missed.high == 2 + 500 - 29  # those that were checked and clean are out


def test_open_alerts_widen_both_ends():
    """Alerts without a label: found is drawn, and its own quantiles enter the ends."""
    audit = audit_of(1, 40)
    tally = tally_of(6, known=1, audit=audit, open_above=DRAWS, missed=np.zeros(101))
    reading = read_audit(tally, 0.9)
    low, high = gamma_pair([10.0], 25.0)
    assert reading.recall.low == pytest.approx(11 / (11 + high))
    assert reading.recall.high == pytest.approx(101 / (101 + max(low, 1)))
    assert reading.recall.value == pytest.approx(56 / 66)


counts = st.integers(0, 30)


@given(
    seen=counts,
    known=counts,
    outside=counts,
    hits=st.integers(0, 6),
    checks=st.integers(0, 40),
    skew=st.sampled_from([0.1, 1.0, 3.0]),
    level=st.sampled_from([0.5, 0.9, 0.99]),
    auc=st.sampled_from([None, 0.8]),
    open_alerts=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_property_an_interval_holds_its_value(
    seen, known, outside, hits, checks, skew, level, auc, open_alerts, seed
):
    rng = np.random.default_rng(seed)
    hits = min(hits, checks, known)
    labels = np.r_[np.ones(hits), np.zeros(checks - hits), np.ones(known - hits)]
    chance = np.r_[np.full(checks, 0.05), np.ones(known - hits)]
    audit = count_missed(labels, chance, 900, level=level)
    # Events from outside are among the missed ones of every draw, as tally_at makes them.
    missed = np.maximum(np.floor(rng.lognormal(1.0, skew, 200)), outside)
    above = rng.poisson(3.0, 200) * open_alerts
    tally = tally_of(
        seen, known=known, outside=outside, audit=audit, missed=missed, open_above=above
    )
    for reading in (
        read_auto(tally, level, auc),
        read_audit(tally, level),
        read_mixture(tally, level),
        read_nothing(tally, level),
    ):
        for figure in reading:
            assert figure.low <= figure.high
            if not np.isnan(figure.value):
                assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, figure
        assert reading.recall.low >= 0
        assert reading.recall.high <= 1
        assert reading.missed.low >= min(tally.least_missed, reading.missed.high)


@pytest.mark.parametrize(("events", "rows"), [(0, 7), (3, 11), (12, 40), (7, 7), (1, 1000)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_oracle_a_counted_share_has_the_exact_binomial_interval(events, rows, level):
    ours = proportion(events, rows, level, "alike")
    theirs = stats.binomtest(events, rows).proportion_ci(level, method="exact")
    assert ours.value == events / rows
    assert (ours.low, ours.high) == (
        pytest.approx(theirs.low, rel=1e-9, abs=1e-12),
        pytest.approx(theirs.high, rel=1e-9),
    )


def test_no_rows_make_no_share():
    empty = proportion(0, 0, 0.9, "")
    assert np.isnan(empty.value)
    assert (empty.low, empty.high) == (0.0, 1.0)


def test_ends_are_the_central_interval():
    assert ends(DRAWS, 0.8) == (pytest.approx(10.0), pytest.approx(90.0))
    assert (rules.FEW, rules.MANY) == (5, 20)
