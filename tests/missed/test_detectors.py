"""Events that several detectors all missed: exact limits, known truths, and what is refused."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from fractions import Fraction

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit, logit
from scipy.stats import fisher_exact, hypergeom
from scipy.stats.contingency import odds_ratio as contingency

from scarce import DataError, Estimate, UsageError, estimate_performance
from scarce.missed import detectors
from scarce.missed.audit import count_missed
from scarce.missed.detectors import (
    darroch,
    limits_of_missed,
    missed_by_all,
    odds_ratio,
    ways,
    ways_at_most_twice,
)
from tests.problems import codes, refused


def two_detectors(both, first, second):
    """Which detector found which event, from the three counts."""
    return np.repeat([[1, 1], [1, 0], [0, 1]], [both, first, second], axis=0)


def table_of(**patterns):
    """Which detector found which event: table_of(x101=3) is three found by the first and third."""
    rows = [[int(c) for c in name[1:]] for name, count in patterns.items() for _ in range(count)]
    return np.array(rows)


def draw(rng, events, recalls, hard=0.0):
    chance = expit(logit(np.array(recalls)) + hard * rng.normal(size=(events, 1)))
    found = rng.random(chance.shape) < chance
    return found[found.any(axis=1)], int((~found.any(axis=1)).sum())


# --- exact limits ---------------------------------------------------------------------------------


@pytest.mark.parametrize("counts", [(3, 4, 2), (1, 5, 5), (10, 0, 4), (12, 1, 1), (0, 3, 4)])
@pytest.mark.parametrize("level", [0.5, 0.9, 0.99])
def test_oracle_limits_of_two_are_those_of_the_hypergeometric_test(counts, level):
    """Every number of events is tried, by scipy's distribution."""
    both, first, second = counts
    left, right, tail = both + first, both + second, (1 - level) / 2
    kept = [
        total - sum(counts)
        for total in range(sum(counts), 9000)
        if hypergeom.sf(both - 1, total, left, right) > tail
        and hypergeom.cdf(both, total, left, right) > tail
    ]
    found = missed_by_all(two_detectors(*counts), level=level).estimates["chapman"]
    assert found.low == min(kept)
    assert found.high == (math.inf if both == 0 else max(kept))


@pytest.mark.parametrize("sizes", [(2, 3, 1), (1, 1, 2), (3, 3, 2), (2, 2, 1, 2)])
@pytest.mark.parametrize("capped", [False, True], ids=["all", "at most twice"])
def test_oracle_ways_are_counted_by_enumeration(sizes, capped):
    """All sets of these sizes among `total` events: chances of each number of distinct ones."""
    total = 5
    counted = Counter()
    for sets in itertools.product(*(itertools.combinations(range(total), n) for n in sizes)):
        times = Counter(itertools.chain(*sets))
        if not capped or max(times.values()) <= 2:
            counted[len(times)] += 1
    start, log_ways = (ways_at_most_twice if capped else ways)(sizes)
    numbers = np.arange(start, start + len(log_ways))
    chance = np.array(
        [
            math.exp(w) / math.factorial(total - d) if d <= total else 0
            for d, w in zip(numbers, log_ways, strict=True)
        ]
    )
    chance /= chance.sum()
    for number, one in zip(numbers, chance, strict=True):
        assert one == pytest.approx(counted[number] / counted.total(), abs=1e-12)
    assert set(counted) <= set(numbers.tolist())


def test_oracle_limits_of_three_by_trying_every_number():
    found = table_of(x100=4, x010=3, x001=3, x110=2, x101=1, x011=2, x111=2)
    said = missed_by_all(found)
    once_or_twice = found[found.sum(axis=1) <= 2]
    for name, kernel, rows in (
        ("chao", ways_at_most_twice, once_or_twice),
        ("independence", ways, found),
    ):
        start, log_ways = kernel(tuple(rows.sum(axis=0).tolist()))
        d, kept = np.arange(start, start + len(log_ways)), []
        for missed in range(400):
            empty = (len(rows) + missed - d).tolist()
            falling = [1 / Fraction(math.factorial(e)) if e >= 0 else 0 for e in empty]
            least = max(falling)
            chance = np.exp(log_ways) * np.array([float(one / least) for one in falling])
            tails = [chance[side].sum() / chance.sum() for side in (d <= len(rows), d >= len(rows))]
            kept += [missed] if min(tails) > 0.05 else []
        assert (said.estimates[name].low, said.estimates[name].high) == (kept[0], kept[-1])


@pytest.mark.parametrize(
    "recalls", [(0.5, 0.5, 0.5), (0.97, 0.98, 0.99), (0.1, 0.2, 0.15), (0.3,) * 5]
)
def test_leaving_out_negligible_states_changes_nothing(rng, recalls, monkeypatch):
    found, _ = draw(rng, 250, recalls)
    whole = missed_by_all(found)
    monkeypatch.setattr(detectors, "WIDE", 20)
    assert missed_by_all(found).to_dict() == whole.to_dict()


@pytest.mark.parametrize("hard", [0.0, 4.0])
def test_many_events_take_seconds_at_most(rng, hard):
    found, missed = draw(rng, 50_000, (0.6, 0.5, 0.4), hard)
    said = missed_by_all(found, level=0.9999)
    assert said.missed.low <= missed <= said.missed.high
    assert ("dependent-detectors" in codes(said.remarks)) == (hard > 0)
    copied = found.copy()
    copied[:, 1] = np.where(rng.random(len(found)) < 0.9, found[:, 0], found[:, 1])
    assert missed_by_all(copied[copied.any(axis=1)]).missed.high == math.inf


# --- estimates ------------------------------------------------------------------------------------


@given(both=st.integers(1, 30), first=st.integers(0, 40), second=st.integers(0, 40))
def test_two_detectors_have_chapmans_estimate(both, first, second):
    said = missed_by_all(two_detectors(both, first, second))
    chapman = (both + first + 1) * (both + second + 1) / (both + 1) - 1
    assert said.missed.value == pytest.approx(chapman - both - first - second, abs=1e-9)
    assert darroch([both + first, both + second], both + first + second) == pytest.approx(
        said.missed.value, abs=1e-7
    )
    assert said.missed.low <= said.missed.value <= said.missed.high


def test_chao_is_a_lower_bound_whatever_the_recalls_and_the_form_for_equal_recalls_is_not():
    """Expected cells, by quadrature: difficulty is normal, on the log-odds of every detector."""
    nodes, weights = np.polynomial.hermite_e.hermegauss(80)
    weights = weights / weights.sum()

    def cells(recalls, hard):
        log_odds = logit(np.array(recalls))[:, None] + hard * nodes
        odds, none = np.exp(log_odds), np.prod(expit(-log_odds), axis=0)
        alone = np.array([weights @ (none * one) for one in odds])
        pairs = sum(weights @ (none * a * b) for a, b in itertools.combinations(odds, 2))
        t = len(recalls)
        chao = (alone.sum() ** 2 - (alone**2).sum()) / 2 / pairs
        equal = (t - 1) / t * alone.sum() ** 2 / (2 * pairs)
        return weights @ none, chao, equal

    for recalls in [(0.6, 0.4), (0.9, 0.5, 0.1), (0.3, 0.3, 0.3), (0.8, 0.2, 0.2, 0.6)]:
        truth, chao, equal = cells(recalls, 0.0)
        assert chao == pytest.approx(truth, rel=1e-12)
        assert equal >= chao * (1 - 1e-12)
        for hard in (0.5, 1.5, 3.0):
            truth, chao, _ = cells(recalls, hard)
            assert chao < truth
    truth, chao, equal = cells((0.9, 0.5, 0.1), 0.0)
    assert equal > 1.5 * truth


def test_darroch_is_nearly_unbiased(rng):
    """Within 0.7 events, where the equation without the one more event is off by 1.6."""
    off, plain = [], []
    for _ in range(1500):
        found, missed = draw(rng, 30, (0.3, 0.3, 0.3))
        sizes, seen = found.sum(axis=0), len(found)
        off.append(darroch(sizes, seen) - missed)
        if sizes.sum() > seen:
            total = np.arange(seen, 4000)
            gap = 1 - seen / total - np.prod(1 - sizes[:, None] / total, axis=0)
            plain.append(total[np.argmin(np.abs(gap))] - seen - missed)
    assert abs(np.mean(off)) < 0.7
    assert np.mean(plain) > 1.0


@pytest.mark.parametrize("events", [6, 10, 60])
@pytest.mark.parametrize("recalls", [(0.6, 0.5), (0.6, 0.5, 0.4)], ids=["two", "three"])
def test_coverage_of_independent_detectors(rng, events, recalls):
    """At least .90 less three standard errors; each side at most .05 plus three."""
    repeats, held = 300, Counter()
    for _ in range(repeats):
        found, missed = draw(rng, events, recalls)
        for name, one in missed_by_all(found).estimates.items():
            held[name, "low"] += missed < one.low
            held[name, "high"] += missed > one.high
    assert max(held.values()) <= repeats * (0.05 + 3 * math.sqrt(0.05 * 0.95 / repeats))


def test_hard_events_are_understated_and_three_detectors_show_it(rng):
    """Limits fail from above alone; where the check speaks, no upper limit is given."""
    above, below, spoke, shown = 0, 0, 0, 0
    for _ in range(60):
        found, missed = draw(rng, 300, (0.6, 0.5, 0.4), 2.0)
        said = missed_by_all(found)
        above += missed > said.estimates["chao"].high
        below += missed < said.estimates["independence"].low
        assert said.estimates["independence"].value < said.estimates["chao"].value
        spoke += "dependent-detectors" in codes(said.remarks)
        shown += missed in said.missed
    assert above >= 55
    assert below == 0
    assert spoke >= 58
    assert shown >= 58


def test_hard_events_stay_unseen_with_two_detectors(rng):
    found, missed = draw(rng, 2000, (0.6, 0.5), 2.0)
    said = missed_by_all(found)
    assert said.dependence is None
    assert said.missed.high < missed
    assert said.remarks == ()


def test_complementary_detectors_overstate(rng):
    """The second finds what the first misses, and the third shows it."""
    first, third = rng.random((2, 500)) < 0.6
    second = np.where(first, rng.random(500) < 0.2, rng.random(500) < 0.9)
    found = np.column_stack([first, second, third])
    missed = int((~found.any(axis=1)).sum())
    said = missed_by_all(found[found.any(axis=1)])
    assert said.estimates["independence"].low > missed
    remark = next(one for one in said.remarks if one.code == "complementary-detectors")
    assert remark.fields["which"] == "detector 1 with detector 2"
    assert said.missed.low == 0
    alone = missed_by_all(found[found[:, :2].any(axis=1)][:, :2])
    assert alone.missed.low > missed + int((found.sum(axis=1) == 1)[third].sum())


# --- dependence -----------------------------------------------------------------------------------


def test_the_check_of_dependence_draws_every_table_equally_often():
    """Sets of sizes 1, 2 and 2 that together hold 3 events: all of them, counted."""
    sizes, union = (1, 2, 2), 3
    counted = Counter()
    for sets in itertools.product(*(itertools.combinations(range(union), n) for n in sizes)):
        times = Counter(itertools.chain(*sets))
        if len(times) == union:
            counted[sum(k * (k - 1) for k in times.values())] += 1
    drawn = Counter(
        detectors._draw_shared(np.array(sizes), union, np.random.default_rng(0)).tolist()
    )
    assert set(drawn) == set(counted)
    for value, count in counted.items():
        share = count / counted.total()
        error = math.sqrt(share * (1 - share) / detectors.DRAWS)
        assert drawn[value] / detectors.DRAWS == pytest.approx(share, abs=4 * error + 1e-12)


def test_the_check_of_dependence_draws_four_detectors_rightly():
    """Sets of sizes 2, 1, 2 and 3 that together hold 4 events: all of them, counted."""
    sizes, union = (1, 2, 2, 3), 4
    counted = Counter()
    for sets in itertools.product(*(itertools.combinations(range(union), n) for n in sizes)):
        times = Counter(itertools.chain(*sets))
        if len(times) == union:
            counted[sum(k * (k - 1) for k in times.values())] += 1
    drawn = detectors._draw_shared(np.array(sizes), union, np.random.default_rng(0))
    for value, count in counted.items():
        share = count / counted.total()
        error = math.sqrt(share * (1 - share) / detectors.DRAWS)
        assert np.mean(drawn == value) == pytest.approx(share, abs=4 * error)


def test_false_alarms_are_as_rare_as_promised(rng):
    alarms = 0
    for _ in range(300):
        found, _ = draw(rng, 80, (0.6, 0.5, 0.4))
        alarms += any(one.endswith("-detectors") for one in codes(missed_by_all(found).remarks))
    assert alarms <= 300 * (0.1 + 3 * math.sqrt(0.1 * 0.9 / 300))


@pytest.mark.parametrize(
    "table", [(8, 2, 1, 5), (3, 3, 3, 3), (0, 4, 3, 2), (5, 0, 2, 4), (40, 9, 7, 60)]
)
def test_oracle_odds_ratio_and_p_value(table):
    ratio, p_value = odds_ratio(*table, level=0.9)
    square = np.reshape(table, (2, 2))
    known = contingency(square, kind="conditional")
    ends = known.confidence_interval(0.9)
    assert ratio.value == pytest.approx(known.statistic, rel=1e-5)
    assert (ratio.low, ratio.high) == pytest.approx((ends.low, ends.high), rel=1e-5)
    assert p_value == pytest.approx(fisher_exact(square).pvalue, rel=1e-9)


def test_an_odds_ratio_of_one_possible_table_is_unknown():
    ratio, p_value = odds_ratio(3, 0, 2, 0, level=0.9)
    assert math.isnan(ratio.value)
    assert (ratio.low, ratio.high, p_value) == (0, math.inf, 1)


def test_pairs_are_counted():
    found = table_of(x100=4, x010=3, x001=5, x110=2, x101=1, x011=2, x111=6)
    said = missed_by_all(found)
    pair = next(
        one for one in said.pairs if (one.first, one.second) == ("detector 1", "detector 2")
    )
    assert (pair.both, pair.only_first, pair.only_second, pair.neither) == (8, 5, 5, 5)
    assert pair.missed.value == pytest.approx(25 / 9)
    assert pair.odds_ratio == odds_ratio(6, 1, 2, 5, level=0.9)[0]
    assert len(said.pairs) == 3
    assert said.found_times == (12, 5, 6)
    assert said.found_by == {"detector 1": 13, "detector 2": 13, "detector 3": 14}


# --- invariances ----------------------------------------------------------------------------------


def test_the_order_of_detectors_and_of_rows_and_the_names_do_not_matter(rng):
    found, _ = draw(rng, 60, (0.6, 0.5, 0.4, 0.3), 0.7)
    names = ["a", "b", "c", "d"]
    said = missed_by_all(dict(zip(names, found.T, strict=True)))
    for order in itertools.permutations(range(4)):
        rows = rng.permutation(len(found))
        other = missed_by_all({names[at]: found[rows, at] for at in order})
        for name, one in said.estimates.items():
            ends = (other.estimates[name].low, other.estimates[name].high)
            assert ends == pytest.approx((one.low, one.high))
            assert other.estimates[name].value == pytest.approx(one.value)
        assert other.recalls["c"].value == pytest.approx(said.recalls["c"].value)
        assert other.dependence == said.dependence
        assert codes(other.remarks) == codes(said.remarks)
        assert {frozenset((p.first, p.second)): p.p_value for p in other.pairs} == pytest.approx(
            {frozenset((p.first, p.second)): p.p_value for p in said.pairs}
        )


@pytest.mark.parametrize("kind", ["dict", "pandas", "polars", "arrow", "Int64", "object", "list"])
def test_every_kind_of_table_gives_the_same(kind):
    held = two_detectors(6, 3, 2)
    columns = {"a": held[:, 0], "b": held[:, 1]}
    made = {
        "dict": lambda: {name: one.astype(bool) for name, one in columns.items()},
        "pandas": lambda: pd.DataFrame(columns).astype(bool),
        "polars": lambda: pl.DataFrame(columns),
        "arrow": lambda: pa.table({name: one.astype(bool) for name, one in columns.items()}),
        "Int64": lambda: pd.DataFrame(columns).astype("Int64"),
        "object": lambda: pd.DataFrame(columns).astype(bool).astype(object),
        "list": lambda: held.tolist(),
    }[kind]()
    said = missed_by_all(made)
    assert said.missed == missed_by_all(held).missed
    names = ["detector 1", "detector 2"] if kind == "list" else ["a", "b"]
    assert list(said.recalls) == names
    assert said.to_json()
    assert "missed by all" in str(said)
    assert "<table" in said._repr_html_()


def test_other_rows_do_not_count(rng):
    """False alarms, and rows that nobody raised, change nothing."""
    events = two_detectors(6, 3, 2)
    rows = np.vstack([events, rng.integers(0, 2, (30, 2)), np.zeros((10, 2), int)])
    labels = np.concatenate([np.ones(11), np.zeros(30), np.full(10, np.nan)])
    assert missed_by_all(rows, labels).to_dict() == missed_by_all(events).to_dict()


# --- odd cases ------------------------------------------------------------------------------------


def test_a_detector_that_finds_everything():
    said = missed_by_all(table_of(x111=4, x110=6, x101=5, x100=8))
    assert {one.value for one in said.estimates.values()} == {0}
    assert said.recalls["detector 1"].value == 1
    assert said.missed.high > 0


def test_a_detector_that_finds_nothing():
    said = missed_by_all(np.column_stack([two_detectors(6, 3, 2), np.zeros(11)]))
    two = missed_by_all(two_detectors(6, 3, 2))
    for one in said.estimates.values():
        assert (one.value, one.low, one.high) == pytest.approx(
            (two.missed.value, two.missed.low, two.missed.high)
        )
    assert said.recalls["detector 3"].value == 0
    assert "detector-without-events" in codes(said.remarks)
    alone = missed_by_all([[1, 0]] * 5)
    assert math.isnan(alone.missed.value)
    assert (alone.missed.low, alone.missed.high) == (0, math.inf)
    assert codes(alone.remarks) == ["no-overlap", "detector-without-events"]


def test_no_overlap_has_no_upper_limit_and_no_estimate():
    for found in (two_detectors(0, 5, 4), table_of(x100=5, x010=4, x001=2)):
        said = missed_by_all(found)
        assert math.isnan(said.missed.value)
        assert said.missed.high == math.inf
        assert said.missed.low > 0
        assert said.recall.low == 0
        assert said.recall.high < 1
        assert "no-overlap" in codes(said.remarks)


def test_all_found_by_all():
    said = missed_by_all(np.ones((20, 3)))
    assert math.isnan(said.estimates["chao"].value)  # nothing was found once or twice
    assert said.missed == said.estimates["independence"]
    assert (said.missed.value, said.missed.low, said.missed.high) == (0, 0, 0)
    assert codes(said.remarks).count("same-events") == 3


def test_identical_detectors_are_named():
    said = missed_by_all([[1, 1]] * 12)
    remark = next(one for one in said.remarks if one.code == "same-events")
    assert remark.fields["first"] == "detector 1"
    assert said.missed.value == 0


@pytest.mark.parametrize("labels", [[0, 0, 0], None])
def test_no_events(labels):
    found = [[1, 0], [1, 1], [0, 1]] if labels else np.zeros((0, 2))
    said = missed_by_all(found, labels)
    assert codes(said.remarks) == ["no-events-found"]
    assert math.isnan(said.missed.value)
    assert math.isnan(said.recall.value)
    assert said.missed.high == math.inf
    assert str(said)


def test_few_overlaps_are_said():
    assert "few-overlaps" in codes(missed_by_all(two_detectors(3, 9, 9)).remarks)
    assert "few-overlaps" not in codes(missed_by_all(two_detectors(8, 9, 9)).remarks)


def test_events_that_no_detector_raised_raise_the_limits():
    found = np.vstack([two_detectors(6, 3, 2), np.zeros((4, 2), int)])
    said = missed_by_all(found, np.ones(15))
    plain = missed_by_all(two_detectors(6, 3, 2))
    assert plain.missed.low < 4
    assert said.missed.low == said.missed.value == 4
    assert codes(said.remarks)[-1] == "events-outside"


@pytest.mark.parametrize("level", [0.01, 0.999])
def test_extreme_levels_keep_the_value_inside(level):
    found = table_of(x100=4, x010=3, x001=3, x110=2, x101=1, x011=2, x111=2)
    for one in missed_by_all(found, level=level).estimates.values():
        assert one.low <= one.value <= one.high


# --- with an audit --------------------------------------------------------------------------------


def audit(value, low, high, level=0.9):
    return Estimate(value, low, high, level, "audit", "checked rows were drawn at random")


def test_the_audit_gives_the_interval_and_both_are_reported():
    found = two_detectors(20, 10, 8)
    said = missed_by_all(found, audit=audit(6, 1, 30))
    alone = missed_by_all(found)
    assert said.missed == audit(6, 1, 30)
    assert said.estimates == {"chapman": alone.missed, "audit": audit(6, 1, 30)}
    assert (said.recall.low, said.recall.high) == pytest.approx((38 / 68, 38 / 39))


def test_trust_in_independence_is_said():
    found = two_detectors(20, 10, 8)
    said = missed_by_all(found, audit=audit(6, 1, 30), trust="independence")
    alone = missed_by_all(found)
    assert (said.missed.low, said.missed.high) == (alone.missed.low, alone.missed.high)
    assert "6 [1, 30]" in said.missed.assumes


@pytest.mark.parametrize(
    ("ends", "direction"), [((40, 90), "understated"), ((0, 0.5), "overstated")]
)
def test_an_audit_that_excludes_the_overlaps_is_said_first(ends, direction):
    found = two_detectors(20, 10, 18)
    said = missed_by_all(found, audit=audit(sum(ends) / 2, *ends))
    assert said.remarks[0].code == "audit-contradicts"
    assert said.remarks[0].fields["direction"] == direction
    assert (said.missed.low, said.missed.high) == ends


def test_audits_of_the_library_are_understood(rng):
    found = two_detectors(20, 10, 8)
    checked = count_missed(np.zeros(50), np.full(50, 0.05), frame_rows=1000)
    assert missed_by_all(found, audit=checked).missed == checked.estimate
    scores = rng.normal(size=500)
    labels = np.where(scores > 1, rng.random(500) < 0.5, np.nan)
    performance = estimate_performance(scores, labels, threshold=1.0)
    assert missed_by_all(found, audit=performance).missed == performance.missed


def test_an_audit_of_another_level_or_kind_is_refused():
    found = two_detectors(20, 10, 8)
    with refused("audit-level", UsageError, audit_level=0.8):
        missed_by_all(found, audit=audit(6, 1, 30, level=0.8))
    for strange in (12.0, "audit", audit(math.nan, math.nan, math.nan), audit(-1, -3, 2)):
        with refused("audit-type", UsageError):
            missed_by_all(found, audit=strange)


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize("found", [[[1], [1]], {"a": [1, 1]}, pd.DataFrame({"a": [1, 1]})])
def test_one_detector_is_refused(found):
    with refused("too-few-detectors", UsageError, count=1):
        missed_by_all(found)


@pytest.mark.parametrize("found", [[1, 0, 1], 3, "found", None, [[1, 0], [1]], np.ones((2, 2, 2))])
def test_no_matrix_is_refused(found):
    with refused("detector-columns", UsageError):
        missed_by_all(found)


def test_values_that_are_no_alerts_are_refused():
    with refused("alert-value", DataError, name="b", value=0.7, row=1):
        missed_by_all({"a": [1, 1], "b": [1, 0.7]})
    with refused("alert-missing", DataError, name="b", count=1, row=0):
        missed_by_all({"a": [1, 1], "b": [None, 1]})
    with refused("not-a-number", DataError):
        missed_by_all({"a": [1, 1], "b": ["yes", "no"]})
    with refused("length-mismatch", DataError):
        missed_by_all({"a": [1, 1], "b": [1, 1, 0]})


def test_alerts_without_a_label_are_refused_or_left_out():
    found = np.vstack([two_detectors(6, 3, 2), [[1, 1], [0, 1]]])
    labels = [1] * 11 + [None, None]
    with refused("open-alerts", DataError, count=2, alerts=13, row=11):
        missed_by_all(found, labels)
    said = missed_by_all(found, labels, open_alerts="drop")
    assert said.missed == missed_by_all(two_detectors(6, 3, 2)).missed
    assert codes(said.remarks)[-1] == "alerts-dropped"
    with refused("unknown-word", UsageError):
        missed_by_all(found, labels, open_alerts="ignore")


def test_rows_that_nobody_raised_need_labels():
    with refused("no-labels", DataError, count=1, row=2):
        missed_by_all([[1, 0], [1, 1], [0, 0]])


def test_tables_in_another_order_are_refused():
    found = pd.DataFrame({"a": [1, 1], "b": [1, 0]})
    with refused("index-mismatch", DataError):
        missed_by_all(found, pd.Series([1, 0], index=[1, 0]))
    with refused("index-mismatch", DataError):
        missed_by_all({"a": found["a"], "b": found["b"][::-1]})
    with refused("duplicate-column", DataError):
        missed_by_all(pd.DataFrame([[1, 1]], columns=["a", "a"]))


@pytest.mark.parametrize("level", [90, 0, 1, "90%", None, math.nan])
def test_no_level_is_refused(level):
    with refused("level-range", UsageError):
        missed_by_all(two_detectors(3, 2, 1), level=level)


def test_limits_shrink_as_events_are_added():
    """Ten times the counts: limits nearer to each other, relative to the estimate."""
    widths = []
    for times in (1, 10, 100):
        one = missed_by_all(two_detectors(6 * times, 4 * times, 3 * times)).missed
        widths.append((one.high - one.low) / one.value)
    assert widths[0] > 2 * widths[1] > 4 * widths[2]
    assert (
        limits_of_missed(*ways([10, 9]), 13, 0.5)[1]
        < missed_by_all(two_detectors(6, 4, 3)).missed.high
    )
