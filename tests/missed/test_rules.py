"""The decision table line by line, with counts made by hand and limits worked out by scipy."""

import math

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scarce.missed import rules
from scarce.missed.audit import count_missed
from scarce.missed.counts import ThresholdCounts
from scarce.missed.provenance import batch_of
from scarce.missed.rules import (
    AUDIT,
    CURVE,
    FEW_SEEN,
    MIXTURE,
    NO_CHECKS,
    chance_of_more,
    contradictions,
    ends,
    proportion,
    ruling_audit,
    ruling_auto,
    ruling_counted,
    ruling_mixture,
    ruling_not_identified,
)
from tests.problems import codes

DRAWS = np.arange(101.0)  # 0 to 100: quantiles can be read off


def audit_of(hits=0, checks=0, frame=1000, certain=0, chance=0.1):
    labels = np.r_[np.ones(hits), np.zeros(checks - hits), np.ones(certain)]
    return count_missed(labels, np.r_[np.full(checks, chance), np.ones(certain)], frame)


def counts_of(
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
    return ThresholdCounts(
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
    ruling = ruling_auto(counts_of(seen, audit=audit_of(0, checks)), 0.9, None)
    for figure in ruling:
        assert figure.method == method
        assert np.isnan(figure.value) != has_point
        assert figure.level == 0.9
        assert figure.low <= figure.high


def test_few_events_and_checks_get_a_point_with_an_auc_only():
    counts = counts_of(4, audit=audit_of(1, 25))
    with_auc = ruling_auto(counts, 0.9, 0.9)
    assert with_auc.missed.value == 50.0  # the median of the draws
    assert with_auc.recall.value == pytest.approx(4 / 54)
    without = ruling_auto(counts, 0.9, None)
    assert np.isnan(without.missed.value)
    assert np.isnan(without.recall.value)
    assert without.missed.assumes == f"{FEW_SEEN}; {AUDIT}"
    assert (with_auc.missed.low, with_auc.missed.high) == (without.missed.low, without.missed.high)


def test_extrapolated_curve_has_the_quantiles_of_its_draws():
    ruling = ruling_auto(counts_of(10), 0.9, None)
    assert (ruling.missed.low, ruling.missed.high) == (pytest.approx(5.0), pytest.approx(95.0))
    assert ruling.recall.value == pytest.approx(np.mean(10 / (10 + DRAWS)))
    skewed = ruling_auto(counts_of(10, missed=DRAWS**2), 0.9, None)
    assert skewed.missed.value == 2500.0  # the median: a few draws must not carry it away
    assert ruling.recall.low == pytest.approx(10 / 105)
    assert ruling.recall.high == pytest.approx(10 / 15)
    assert ruling.recall.assumes == CURVE
    narrow = ruling_auto(counts_of(10), 0.5, None)
    assert (narrow.missed.low, narrow.missed.high) == (pytest.approx(25.0), pytest.approx(75.0))


@pytest.mark.parametrize("seen", [3, 30])
def test_one_sided_limit_reaches_up_to_what_is_certain(seen):
    ruling = ruling_auto(counts_of(seen, known=2, outside=1), 0.9, None)
    assert (ruling.missed.low, ruling.missed.high) == (3.0, pytest.approx(97.0))
    assert ruling.recall.high == pytest.approx(seen / (seen + 3))
    assert ruling.recall.low == pytest.approx(seen / (seen + 97))
    assert NO_CHECKS in ruling.missed.assumes
    assert (FEW_SEEN in ruling.missed.assumes) == (seen < 5)
    if seen == 30:
        assert ruling.recall.value == pytest.approx(np.mean(30 / (32 + DRAWS)))
        assert ruling.missed.value == pytest.approx(52.0)


def test_oracle_two_sources_low_end_curve_high_end_audit():
    """R3 by hand: a hit of weight 10 with an extra weight of 1000 / 50."""
    audit = audit_of(1, 50, certain=2)
    counts = counts_of(12, known=3, audit=audit)
    ruling = ruling_auto(counts, 0.9, None)
    low, high = gamma_pair([10.0], 20.0)
    audit_low = max(low, 1.0) + 2  # at least the hit itself
    assert ruling.recall.high == pytest.approx(max(12 / (12 + 8), 12 / (12 + audit_low)))
    assert ruling.missed.low == pytest.approx(min(8, audit_low))
    # What was found deep down reaches half-way from the audit's count to its high limit.
    halfway = (12.0 + 2 + high) / 2
    assert halfway < 98
    assert ruling.missed.high == pytest.approx(98)
    assert ruling.recall.low == pytest.approx(12 / (12 + 98))
    assert ruling.recall.value == pytest.approx(np.mean(12 / (15 + DRAWS)))
    assert ruling.missed.value == 53.0
    assert AUDIT in ruling.recall.assumes
    assert CURVE in ruling.recall.assumes
    short = ruling_auto(counts_of(12, known=3, audit=audit, missed=10 + DRAWS / 10), 0.9, None)
    assert short.missed.high == pytest.approx(halfway)
    assert short.recall.low == pytest.approx(12 / (12 + halfway))
    nearly = ruling_auto(counts_of(12, known=3, audit=audit, missed=0.13 * DRAWS), 0.9, None)
    assert nearly.missed.high == pytest.approx(halfway)  # 12 is above 9.5 and below 12.75
    # Where it counts more than three quarters of the curve's draws, its whole limit holds.
    below = ruling_auto(counts_of(12, known=3, audit=audit, missed=DRAWS / 10), 0.9, None)
    assert below.missed.high == pytest.approx(2 + high)
    assert below.recall.low == pytest.approx(12 / (14 + high))


def test_oracle_two_sources_take_the_curves_high_end_where_it_is_wider():
    """Hits enough that the audit's low limit lies above the curve's, which then holds."""
    audit = audit_of(6, 50)
    counts = counts_of(12, known=6, audit=audit)
    ruling = ruling_auto(counts, 0.9, None)
    assert gamma_pair([10.0] * 6, 20.0)[0] == pytest.approx(audit.low)
    assert 20 < audit.low < 106
    assert ruling.recall.high == pytest.approx(12 / (12 + 11))
    assert ruling.missed.low == pytest.approx(11)


@pytest.mark.parametrize("reason", ["contradicted", "not trusted"])
def test_a_curve_that_the_audit_contradicts_leaves_the_word_to_it(reason):
    audit = audit_of(20, 50)
    draws = np.linspace(0, 30, 101) if reason == "contradicted" else DRAWS * 4
    counts = counts_of(12, known=20, audit=audit, missed=draws)
    ruling = ruling_auto(counts, 0.9, None, trusted=reason == "contradicted")
    assert ruling.missed.method == "audit, gamma limits"
    assert (ruling.missed.low, ruling.missed.high) == (audit.low, audit.high)
    assert ruling.missed.value == 200.0


def test_gate_no_audit_hit_leaves_the_high_end_at_what_is_known():
    """G6: high end n1 / (n1 + known); the audit alone says at most 3.0 rows / checks."""
    audit = audit_of(0, 50, frame=900, certain=4)
    counts = counts_of(12, known=4, audit=audit)
    assert ruling_auto(counts, 0.9, None).recall.high == pytest.approx(12 / 16)
    alone = ruling_audit(counts, 0.9)
    assert alone.missed.high >= 4 + 2.99 * 900 / 50
    assert alone.missed.high == pytest.approx(4 - math.log(0.05) * 900 / 50)
    assert alone.recall.high == pytest.approx(12 / 16)
    outside = ruling_auto(counts_of(12, known=4, outside=8, audit=audit), 0.9, None)
    assert outside.recall.high == pytest.approx(12 / 24)


def test_oracle_audit_alone():
    """R2 by hand."""
    audit = audit_of(2, 40, frame=800, certain=1, chance=0.02)
    ruling = ruling_audit(counts_of(6, known=3, audit=audit), 0.9)
    low, high = gamma_pair([50.0, 50.0], 20.0)
    assert (ruling.missed.low, ruling.missed.high) == (
        pytest.approx(low + 1),
        pytest.approx(high + 1),
    )
    assert ruling.missed.value == pytest.approx(101.0)
    assert ruling.recall.value == pytest.approx(6 / 107)
    assert ruling.recall.low == pytest.approx(6 / (7 + high))
    assert ruling.recall.high == pytest.approx(6 / (7 + low))
    assert ruling.recall.assumes == AUDIT


def test_audit_without_checks_says_how_to_get_one():
    ruling = ruling_audit(counts_of(6), 0.9)
    assert np.isnan(ruling.missed.value)
    assert (ruling.missed.low, ruling.missed.high) == (0.0, 1000.0)
    assert ruling.missed.assumes.code == "no-audit"


def test_an_audit_without_a_labelled_alert_says_nothing_of_recall():
    counts = counts_of(0, audit=audit_of(1, 40), known=1, labelled=0.0, open_above=DRAWS)
    recall = ruling_audit(counts, 0.9).recall
    assert np.isnan(recall.value)
    assert recall.low == 0.0
    assert recall.high == pytest.approx(40 / 41)  # one event is known to lie below
    assert "no alert is labelled" in recall.assumes


def test_events_from_outside_lift_the_low_end_of_an_audit():
    audit = audit_of(0, 50)
    ruling = ruling_audit(counts_of(6, outside=9, audit=audit), 0.9)
    assert ruling.missed.low == 9.0
    assert ruling.recall.high == pytest.approx(6 / 15)
    many = ruling_audit(counts_of(6, outside=200, audit=audit), 0.9)
    assert (many.missed.low, many.missed.high) == (200.0, 200.0)


@pytest.mark.parametrize("read", [ruling_audit, ruling_mixture, ruling_not_identified])
@pytest.mark.parametrize("checks", [0, 30])
def test_nothing_seen_but_events_known_below_is_recall_zero(read, checks):
    ruling = read(counts_of(0, known=2, audit=audit_of(0, checks, certain=2)), 0.9)
    recall = ruling.recall
    assert (recall.value, recall.low, recall.high) == (0.0, 0.0, 0.0)
    assert "none above" in recall.assumes


@pytest.mark.parametrize("checks", [0, 30])
def test_nothing_seen_at_all_leaves_recall_open(checks):
    counts = counts_of(0, audit=audit_of(0, checks))
    ruling = ruling_auto(counts, 0.9, None)
    assert np.isnan(ruling.recall.value)
    assert (ruling.recall.low, ruling.recall.high) == (0.0, 0.0)  # if there is any event
    assert "undefined" in ruling.recall.assumes
    assert ruling.missed.low == 0.0
    assert ruling.missed.high == pytest.approx(95.0 if checks == 0 else -math.log(0.05) * 1000 / 30)
    known = ruling_auto(counts_of(0, known=1, audit=audit_of(0, checks, certain=1)), 0.9, None)
    assert (known.recall.value, known.recall.high) == (0.0, 0.0)


def test_mixture_interval_is_that_of_the_draws():
    ruling = ruling_mixture(counts_of(2, open_above=DRAWS, missed=DRAWS + 1), 0.9)
    recall = (2 + DRAWS) / (3 + 2 * DRAWS)
    assert ruling.recall.value == pytest.approx(recall.mean())
    assert ruling.missed.value == 51.0
    assert ruling.recall.low == pytest.approx(np.quantile(recall, 0.05))
    assert ruling.recall.high == pytest.approx(np.quantile(recall, 0.95))
    assert ruling.recall.assumes == MIXTURE


def test_mixture_point_is_that_of_the_fit_within_its_interval():
    """002 section 6.2: labels where known, posteriors elsewhere; never outside its interval."""
    inside = ruling_mixture(counts_of(10, best=(12.0, 36.0)), 0.9)
    assert inside.recall.value == pytest.approx(12 / 48)
    assert inside.missed.value == 36.0
    assert inside.recall.high == pytest.approx(10 / 15)
    outside = ruling_mixture(counts_of(10, best=(10.0, 990.0)), 0.9)
    assert outside.recall.value == outside.recall.low
    assert outside.missed.value == outside.missed.high


def test_draws_without_any_event_do_not_enter_recall():
    draws = np.r_[np.zeros(40), np.ones(61)]
    recall = ruling_mixture(counts_of(0, open_above=draws, missed=draws), 0.9).recall
    assert (recall.value, recall.low, recall.high) == (0.5, 0.5, 0.5)
    rare = np.r_[np.zeros(80), np.ones(21)]
    recall = ruling_mixture(counts_of(0, open_above=rare, missed=rare), 0.9).recall
    assert np.isnan(recall.value)
    assert "undefined" in recall.assumes


def test_every_row_labelled_leaves_nothing_to_estimate():
    every = audit_of(2, 8, frame=8, certain=3)
    ruling = ruling_counted(counts_of(6, known=5, audit=every), 0.9)
    assert (ruling.missed.value, ruling.missed.low, ruling.missed.high) == (5.0, 5.0, 5.0)
    assert ruling.recall.value == ruling.recall.low == ruling.recall.high == 6 / 11
    assert (
        ruling_counted(counts_of(6, known=5, audit=audit_of(2, 8, frame=9, certain=3)), 0.9) is None
    )
    assert ruling_counted(counts_of(6, known=5, audit=every, labelled=39.0), 0.9) is None
    nothing = ruling_counted(counts_of(0, audit=audit_of(0, 0, frame=0)), 0.9)
    assert np.isnan(nothing.recall.value)
    assert nothing.missed.value == 0.0


def test_a_mixture_that_is_not_identified_leaves_the_counts():
    ruling = ruling_not_identified(counts_of(6, known=2, audit=audit_of(certain=2, frame=500)), 0.9)
    assert np.isnan(ruling.missed.value)
    assert (ruling.missed.low, ruling.missed.high) == (2.0, 502.0)
    assert ruling.recall.low == pytest.approx(6 / 508)
    assert ruling.recall.high == pytest.approx(6 / 8)
    assert ruling.recall.method == "not identified"
    checked = ruling_not_identified(
        counts_of(6, known=3, audit=audit_of(1, 30, certain=2, frame=500)), 0.9
    )
    assert checked.missed.high == 2 + 500 - 29  # those that were checked and clean are out


def test_open_alerts_widen_both_ends():
    """Alerts without a label: found is drawn, and its own quantiles enter the ends."""
    audit = audit_of(1, 40)
    counts = counts_of(6, known=1, audit=audit, open_above=DRAWS, missed=np.zeros(101))
    ruling = ruling_audit(counts, 0.9)
    low, high = gamma_pair([10.0], 25.0)
    assert ruling.recall.low == pytest.approx(11 / (11 + high))
    assert ruling.recall.high == pytest.approx(101 / (101 + max(low, 1)))
    assert ruling.recall.value == pytest.approx(56 / 66)


few = st.integers(0, 30)


@given(
    seen=few,
    known=few,
    outside=few,
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
    # Events from outside are among the missed ones of every draw, as counts_at makes them.
    missed = np.maximum(np.floor(rng.lognormal(1.0, skew, 200)), outside)
    above = rng.poisson(3.0, 200) * open_alerts
    counts = counts_of(
        seen, known=known, outside=outside, audit=audit, missed=missed, open_above=above
    )
    for ruling in (
        ruling_auto(counts, level, auc),
        ruling_audit(counts, level),
        ruling_mixture(counts, level),
        ruling_not_identified(counts, level),
    ):
        for figure in ruling:
            assert figure.low <= figure.high
            if not np.isnan(figure.value):
                assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, figure
        assert ruling.recall.low >= 0
        assert ruling.recall.high <= 1
        assert ruling.missed.low >= min(counts.least_missed, ruling.missed.high)


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


class Curve:
    """A share of events that is a known function of the score, in every draw."""

    def __init__(self, share, draws=4000):
        self.share, self.draws = share, draws

    def share_of_events(self, batch, index, score, place):
        return np.tile(self.share(score), (self.draws, 1))


def true_share(score):
    return 0.6 / (1 + np.exp(-2 * (score - 1.5)))


def make_batch(share, seed=0, n=600, name=None):
    """The alerts (1 and above), a band below them and an audit, labelled by a share of events."""
    rng = np.random.default_rng(seed)
    scores = rng.normal(size=n) + 0.4
    event = (rng.random(n) < share(scores)) * 1.0
    inclusion = np.where(scores >= 0.8, 1.0, np.nan)
    drawn = rng.choice(np.flatnonzero(scores < 0.8), 80, replace=False)
    inclusion[drawn] = 0.2
    labels = np.where(np.isnan(inclusion), np.nan, event)
    return batch_of(name, scores, labels, 1.0, inclusion=inclusion)


def texts(batches, curve, seed=0):
    """What is said, and of which batch."""
    found = contradictions(batches, curve, np.random.default_rng(seed))
    assert all(0 <= index < len(batches) for index, _ in found)
    return [text for _, text in found]


@pytest.mark.parametrize("table", [(3, 1, 1, 3), (0, 5, 2, 9), (7, 0, 2, 30), (12, 40, 3, 60)])
def test_oracle_exact_test_is_scipys(table):
    a, b, c, d = table
    theirs = stats.fisher_exact([[a, b], [c, d]], alternative="greater").pvalue
    assert chance_of_more(*table) == pytest.approx(theirs, rel=1e-10)


def test_labels_that_follow_the_curve_seldom_raise_a_warning():
    """At most 5 % of batches may warn by the bands, and 5 % by the exact test."""
    warned = sum(
        bool(texts([make_batch(true_share, seed)], Curve(true_share, 500), seed))
        for seed in range(60)
    )
    assert warned <= 8


def test_an_audit_that_finds_more_than_the_curve_expects_is_named():
    def richer(score):
        return np.where(score < 0.8, 0.3, true_share(score))

    batches = [make_batch(true_share, name="April"), make_batch(richer, name="May")]
    found = contradictions(batches, Curve(true_share), np.random.default_rng(0))
    assert [index for index, _ in found] == [1] * len(found)
    seen = [(one.code, one.fields["band"], one.fields["where"]) for _, one in found]
    assert ("curve-contradicted", "The audited rows", " in batch 'May'") in seen
    assert "The upper half of the alerts" not in [band for _, band, _ in seen]


def test_too_few_events_are_a_contradiction_too():
    warnings = texts([make_batch(lambda s: 0 * s + 0.01)], Curve(true_share))
    assert "The upper half of the alerts" in [one.fields["band"] for one in warnings]
    assert min(one.fields["observed"] for one in warnings) <= 1


def test_rows_below_that_are_richer_than_the_alerts_are_named():
    def upside_down(score):
        return np.where((score < 1.0) & (score > 0.8), 0.7, 0.1)

    batch = make_batch(upside_down, name="b")
    warnings = texts([batch], Curve(upside_down))
    table, cut = batch.table, batch.table.above(1.0)
    assert codes(warnings) == ["not-monotone"]
    assert warnings[0].fields["where"] == " in batch 'b'"
    assert warnings[0].fields["events_above"] == table.events[:cut].sum()


def test_no_alert_or_no_band_is_no_contradiction():
    scores = np.linspace(0, 1, 50)
    alone = batch_of(None, scores, np.where(scores > 0.8, 1.0, np.nan), 0.8)
    below = batch_of(None, scores, np.where(scores > 0.8, 1.0, np.nan), 2.0)
    for batch in (alone, below):
        assert contradictions([batch], Curve(lambda s: 0 * s + 1.0), np.random.default_rng(0)) == []
