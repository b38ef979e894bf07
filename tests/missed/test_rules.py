"""The decision table line by line, with counts made by hand and limits worked out by scipy."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy import stats

from scarce.missed.counts import ThresholdCounts
from scarce.missed.inversion import LabelError, total_limits
from scarce.missed.provenance import batch_of
from scarce.missed.rules import (
    DISORDER,
    DRAW,
    DRAWN,
    FEW_SEEN,
    GUESS,
    MIXTURE,
    NO_CHECKS,
    NOTHING,
    ORDER,
    RIGHT,
    WRONG,
    Beliefs,
    chance_of_more,
    contradictions,
    corrected,
    ends,
    found_limits,
    proportion,
    remarks_on,
    ruling_counted,
    ruling_draw,
    ruling_guess,
    ruling_mixture,
    ruling_not_identified,
    weighted_count,
)
from scarce.missed.strata import Cells, no_cells
from tests.problems import codes

DRAWS = np.arange(101.0)  # 0 to 100: quantiles can be read off
AT_90 = Beliefs(0.9)


def cells(*strata, frame=0):
    """Strata as (rows, drawn, events)."""
    rows, drawn, events = np.array(strata, dtype=float).reshape(-1, 3).T.copy()
    return Cells(rows, drawn, events, np.full(len(rows), frame, dtype=np.int64))


OPEN = cells((1000, 0, 0))


def counts_of(
    seen=10.0,
    *,
    certain=0.0,
    outside=0.0,
    below=OPEN,
    above=None,
    missed=DRAWS,
    open_above=None,
    alerts=40.0,
    labelled=40.0,
    best=None,
):
    """Counts of rows of which `certain` missed events have labels and were not drawn."""
    above = no_cells() if above is None else above
    known = certain + float(below.events.sum())
    missed = np.asarray(missed, dtype=float) + known
    open_above = np.zeros_like(missed) if open_above is None else np.asarray(open_above, float)
    return ThresholdCounts(
        rows=alerts + certain + float(below.rows.sum()),
        alerts=alerts,
        alerts_labelled=labelled,
        seen=seen,
        known=known,
        outside=outside,
        certain_found=seen - float(above.events.sum()),
        certain_missed=certain,
        labelled_found=labelled - float(above.drawn.sum()),
        labelled_missed=certain,
        found_cells=above,
        missed_cells=below,
        open_above=open_above,
        found=seen + open_above,
        missed=missed,
        margin=np.full_like(missed, 0.1),
        best=best,
        band=(0.0, 0.0),
    )


def sample_limits(rows, drawn, events, level=0.9):
    """Totals under which so few, or so many, events are no surprise: scipy, total by total."""
    tail = (1 - level) / 2
    totals = np.arange(events, rows - drawn + events + 1)
    few = stats.hypergeom.cdf(events, rows, totals, drawn) > tail
    many = stats.hypergeom.sf(events - 1, rows, totals, drawn) > tail
    return float(totals[many][0]), float(totals[few][-1])


# --- the lines of the table -----------------------------------------------------------------------


@pytest.mark.parametrize("seen", [1, 4, 5, 21, 500])
@pytest.mark.parametrize("checks", [3, 25])
def test_where_rows_were_drawn_the_draw_decides_however_many_events_were_seen(seen, checks):
    counts = counts_of(seen, below=cells((1000, checks, 0)))
    ruling = ruling_draw(counts, AT_90, 50.0)
    low, high = sample_limits(1000, checks, 0)
    assert (ruling.missed.low, ruling.missed.high) == (low, high)
    assert ruling.missed.value == min(50.0, high)
    assert ruling.recall.low == pytest.approx(seen / (seen + high))
    assert ruling.recall.high == 1.0
    for figure in (ruling.recall, ruling.missed):
        assert (figure.method, figure.level) == (DRAWN, 0.9)
        assert figure.assumes == f"{DRAW}, {RIGHT}, and {ORDER}"


def test_without_checks_there_is_a_guess_and_what_labels_leave_possible():
    counts = counts_of(10, certain=3, outside=2, below=cells((500, 0, 0)))
    ruling = ruling_guess(counts, 0.9, 40.0)
    assert (ruling.missed.value, ruling.missed.low, ruling.missed.high) == (40.0, 5.0, 503.0)
    assert ruling.recall.value == pytest.approx(10 / 50)
    assert ruling.recall.low == pytest.approx(10 / 513)
    assert ruling.recall.high == pytest.approx(10 / 15)
    for figure in (ruling.recall, ruling.missed):
        assert (figure.method, figure.assumes) == (GUESS, NO_CHECKS)


def test_a_guess_stays_within_what_labels_leave_possible():
    counts = counts_of(10, certain=3, below=cells((5, 0, 0)))
    assert ruling_guess(counts, 0.9, 99.0).missed.value == 8.0
    assert ruling_guess(counts, 0.9, 0.0).missed.value == 3.0


@pytest.mark.parametrize("checks", [0, 30])
def test_without_a_point_the_limits_stay_and_say_why(checks):
    counts = counts_of(4, below=cells((1000, checks, 0)))
    told, silent = (
        ruling_draw(counts, AT_90, point) if checks else ruling_guess(counts, 0.9, point)
        for point in (20.0, float("nan"))
    )
    assert np.isnan(silent.missed.value)
    assert np.isnan(silent.recall.value)
    assert silent.missed.assumes == f"{FEW_SEEN}; {told.missed.assumes}"
    assert (silent.missed.low, silent.missed.high) == (told.missed.low, told.missed.high)
    assert (silent.recall.low, silent.recall.high) == (told.recall.low, told.recall.high)


@pytest.mark.parametrize(("rows", "drawn"), [(900, 50), (5000, 100), (40, 40), (1, 1)])
def test_gate_a_draw_without_an_event_never_narrows_the_limit(rows, drawn):
    """However sure the curve is that nothing was missed: 3 N / n, less what was drawn."""
    counts = counts_of(12, certain=4, below=cells((rows, drawn, 0)), missed=np.zeros(101))
    ruling = ruling_draw(counts, AT_90, 4.0)
    assert ruling.missed.high == 4 + sample_limits(rows, drawn, 0)[1]
    if drawn < rows:
        assert ruling.missed.high >= 4 + 2.99 * (rows - drawn) / drawn * 0.95
    assert ruling.recall.high == pytest.approx(12 / 16)
    outside = ruling_draw(counts._replace(outside=8.0), AT_90, 4.0)
    assert outside.recall.high == pytest.approx(12 / 24)


def test_events_from_outside_lift_the_low_end():
    counts = counts_of(6, outside=9, below=cells((900, 50, 0)))
    ruling = ruling_draw(counts, AT_90, 0.0)
    assert (ruling.missed.low, ruling.missed.value) == (9.0, 9.0)
    assert ruling.recall.high == pytest.approx(6 / 15)
    many = ruling_draw(counts._replace(outside=200.0), AT_90, 0.0)
    assert (many.missed.low, many.missed.high) == (200.0, 200.0)


def test_labels_that_were_not_drawn_count_for_themselves():
    counts = counts_of(6, certain=3, below=cells((800, 40, 2)))
    ruling = ruling_draw(counts, AT_90, 43.0)
    low, high = sample_limits(800, 40, 2)
    assert (ruling.missed.low, ruling.missed.high) == (3 + low, 3 + high)
    assert ruling.recall.low == pytest.approx(6 / (9 + high))
    assert ruling.recall.high == pytest.approx(6 / (9 + low))


def test_a_draw_without_a_labelled_alert_says_nothing_of_recall():
    counts = counts_of(0, below=cells((1000, 40, 1)), labelled=0.0, open_above=DRAWS)
    recall = ruling_draw(counts, AT_90, 20.0).recall
    assert np.isnan(recall.value)
    assert recall.low == 0.0
    assert recall.high == pytest.approx(40 / 41)  # one event is known to lie below
    assert "no alert is labelled" in recall.assumes


@pytest.mark.parametrize("checks", [0, 30])
@pytest.mark.parametrize("rule", ["draw", "guess", "mixture", "not identified"])
def test_nothing_seen_but_events_known_below_is_recall_zero(rule, checks):
    counts = counts_of(0, certain=2, below=cells((1000, checks, 0)))
    recall = ruled(counts, rule).recall
    assert (recall.value, recall.low, recall.high) == (0.0, 0.0, 0.0)
    assert "none above" in recall.assumes


def ruled(counts, rule):
    if rule == "draw":
        return ruling_draw(counts, AT_90, 10.0)
    if rule == "guess":
        return ruling_guess(counts, 0.9, 10.0)
    return (ruling_mixture if rule == "mixture" else ruling_not_identified)(counts, 0.9)


@pytest.mark.parametrize("checks", [0, 30])
def test_nothing_seen_at_all_leaves_recall_open(checks):
    counts = counts_of(0, below=cells((1000, checks, 0)))
    ruling = ruled(counts, "draw" if checks else "guess")
    assert np.isnan(ruling.recall.value)
    assert (ruling.recall.low, ruling.recall.high) == (0.0, 0.0)  # if there is any event
    assert "undefined" in ruling.recall.assumes
    assert ruling.missed.low == 0.0
    assert ruling.missed.high == (sample_limits(1000, 30, 0)[1] if checks else 1000)


def test_nothing_seen_is_no_proof_where_events_are_labelled_as_none():
    counts = counts_of(0, below=cells((1000, 30, 3)))
    blind = Beliefs(0.9, error=LabelError(0.5, 0.0))
    assert ruling_draw(counts, AT_90, 10.0).recall.high == 0.0
    assert ruling_draw(counts, blind, 10.0).recall.high > 0.01


# --- disorder and what is assumed -----------------------------------------------------------------


def test_draws_out_of_order_bring_the_limits_without_it():
    rising = counts_of(12, below=cells((300, 60, 0), (3000, 60, 20)))
    ruling = ruling_draw(rising, AT_90, 100.0)
    free = ruling_draw(rising, Beliefs(0.9, NOTHING), 100.0)
    ordered = total_limits(rising.missed_cells, 0.9)
    assert ruling.order_chance < DISORDER
    assert free.order_chance == 1.0
    assert ruling.missed.low == min(ordered[0], free.missed.low)
    assert ruling.missed.high == max(ordered[1], free.missed.high) > ordered[1]
    assert ORDER not in ruling.missed.assumes
    assert codes(remarks_on(rising, ruling, Beliefs(0.9))) == ["order-contradicted"]
    assert codes(remarks_on(rising, free, Beliefs(0.9))) == []


def test_draws_in_order_say_that_order_is_assumed():
    falling = counts_of(12, below=cells((300, 60, 20), (300, 60, 0)))
    ruling = ruling_draw(falling, AT_90, 100.0)
    assert ruling.order_chance == 1.0
    assert ruling.missed.assumes.endswith(ORDER)
    assert codes(remarks_on(falling, ruling, Beliefs(0.9))) == []
    free = ruling_draw(falling, Beliefs(0.9, NOTHING), 100.0)
    assert free.missed.assumes == f"{DRAW}, {RIGHT}"


# --- labels that are wrong ------------------------------------------------------------------------


def test_figures_are_corrected_for_stated_rates():
    error = LabelError(0.1, 0.02)
    assert corrected(12.0, 100.0, error) == pytest.approx((12 - 2) / 0.88)
    assert corrected(1.0, 100.0, error) == 0.0
    assert corrected(100.0, 100.0, error) == 100.0
    assert corrected(7.5, 100.0, LabelError()) == 7.5
    counts = counts_of(20, below=cells((1000, 100, 8)), alerts=100.0, labelled=100.0)
    ruling = ruling_draw(counts, Beliefs(0.9, error=error), 68.0)
    assert ruling.missed.value == 68.0
    assert ruling.recall.value == pytest.approx((18 / 0.88) / (18 / 0.88 + 68))
    assert WRONG in ruling.missed.assumes
    trusted = ruling_draw(counts, AT_90, 68.0)
    assert ruling.missed.low < trusted.missed.low - 10  # some of the eight may be none
    assert ruling.missed.high < trusted.missed.high


def test_wrong_labels_alone_are_not_called_a_draw():
    """Rates were given and nothing was drawn: the words were those of random checks."""
    wrong = Beliefs(0.9, error=LabelError(0.05, 0.01))
    ruling = ruling_draw(counts_of(12, below=cells((500, 0, 0))), wrong, 30.0)
    assert (ruling.missed.method, ruling.missed.assumes) == (GUESS, NO_CHECKS)
    assert (ruling.missed.low, ruling.missed.high) == (0.0, 500.0)
    every = counts_of(12, certain=20, below=no_cells(), missed=np.zeros(9))
    every = every._replace(rows=540.0, labelled_missed=500.0)
    ruling = ruling_draw(every, wrong, 16.0)
    assert (ruling.missed.method, ruling.missed.assumes) == ("counted", WRONG)
    assert ruling.missed.low < 16 < ruling.missed.high < 40


def test_no_error_and_rates_of_nothing_are_the_same():
    counts = counts_of(12, certain=2, below=cells((300, 30, 3), (900, 40, 1)))
    tiny = ruling_draw(counts, Beliefs(0.9, error=LabelError(1e-12, 1e-12)), 50.0)
    none = ruling_draw(counts, AT_90, 50.0)
    assert tiny.missed.high == none.missed.high
    assert tiny.missed.low == pytest.approx(none.missed.low, abs=2)
    assert tiny.recall.low == pytest.approx(none.recall.low, abs=2e-3)
    # Totals between integers are hypotheses too where found and missed are both uncertain.
    assert tiny.recall.high == pytest.approx(none.recall.high, abs=0.06)


def test_found_events_have_limits_of_their_own():
    above = cells((200, 50, 5))
    counts = counts_of(15, above=above, alerts=240.0, labelled=90.0)
    low, high = sample_limits(200, 50, 5)
    assert found_limits(counts, AT_90) == (10 + low, 10 + high)
    open_ones = counts._replace(open_above=DRAWS)
    assert found_limits(open_ones, AT_90) == (pytest.approx(15 + low), pytest.approx(105 + high))
    sure = counts_of(15)
    assert found_limits(sure, AT_90) == (15.0, 15.0)
    wrong = found_limits(sure, Beliefs(0.9, error=LabelError(0.1, 0.1)))
    assert wrong[0] < 15 < wrong[1]


def test_oracle_the_weighted_count():
    held = cells((100, 10, 2), (400, 20, 1))
    assert weighted_count(held) == pytest.approx(20 + 20)
    open_too = held.beside(cells((500, 0, 0)))
    assert weighted_count(open_too) == pytest.approx(80)  # as rich as the others
    assert weighted_count(held, LabelError(0.1, 0.02)) == pytest.approx(
        100 * (0.2 - 0.02) / 0.88 + 400 * (0.05 - 0.02) / 0.88
    )
    assert np.isnan(weighted_count(OPEN))
    assert weighted_count(no_cells()) == 0.0


# --- mixtures and counting ------------------------------------------------------------------------


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
    every = cells((8, 8, 2))
    ruling = ruling_counted(counts_of(6, certain=3, below=every), 0.9)
    assert (ruling.missed.value, ruling.missed.low, ruling.missed.high) == (5.0, 5.0, 5.0)
    assert ruling.recall.value == ruling.recall.low == ruling.recall.high == 6 / 11
    assert ruling_counted(counts_of(6, certain=3, below=cells((9, 8, 2))), 0.9) is None
    assert ruling_counted(counts_of(6, below=every, labelled=39.0), 0.9) is None
    nothing = ruling_counted(counts_of(0, below=no_cells()), 0.9)
    assert np.isnan(nothing.recall.value)
    assert nothing.missed.value == 0.0


def test_a_mixture_that_is_not_identified_leaves_the_counts():
    ruling = ruling_not_identified(counts_of(6, certain=2, below=cells((500, 0, 0))), 0.9)
    assert np.isnan(ruling.missed.value)
    assert (ruling.missed.low, ruling.missed.high) == (2.0, 502.0)
    assert ruling.recall.low == pytest.approx(6 / 508)
    assert ruling.recall.high == pytest.approx(6 / 8)
    assert ruling.recall.method == "not identified"
    checked = ruling_not_identified(counts_of(6, certain=2, below=cells((500, 30, 1))), 0.9)
    assert checked.missed.high == 2 + 500 - 29  # those that were checked and clean are out


def test_open_alerts_widen_both_ends():
    """Alerts without a label: found is drawn, and its own quantiles enter the ends."""
    counts = counts_of(6, below=cells((400, 40, 1)), open_above=DRAWS, missed=np.zeros(101))
    ruling = ruling_draw(counts, AT_90, 10.0)
    low, high = sample_limits(400, 40, 1)
    assert ruling.recall.low == pytest.approx(11 / (11 + high))
    assert ruling.recall.high == pytest.approx(101 / (101 + low))
    assert ruling.recall.value == pytest.approx(56 / 66)


few = st.integers(0, 30)


@given(
    seen=few,
    certain=few,
    outside=few,
    strata=st.lists(
        st.tuples(st.integers(0, 400), st.integers(0, 20), st.floats(0, 1)), min_size=1, max_size=4
    ),
    skew=st.sampled_from([0.1, 1.0, 3.0]),
    level=st.sampled_from([0.5, 0.9, 0.99]),
    assume=st.sampled_from(["monotone", NOTHING]),
    error=st.sampled_from([LabelError(), LabelError(0.1, 0.02)]),
    open_alerts=st.booleans(),
    split=st.booleans(),
    seed=st.integers(0, 1000),
)
def test_property_an_interval_holds_its_value(
    seen, certain, outside, strata, skew, level, assume, error, open_alerts, split, seed
):
    rng = np.random.default_rng(seed)
    # Events that are known from outside are among the rows that nobody labelled.
    drawn = cells(*((more + n + 1 + outside, n, int(n * share)) for more, n, share in strata))
    above, below = no_cells(), drawn
    if split and len(strata) > 1:
        above, below = drawn.chosen(np.arange(1)), drawn.chosen(np.arange(1, len(strata)))
        seen += float(above.events.sum())
    # Events from outside are among the missed ones of every draw, as counts_at makes them.
    missed = np.maximum(np.floor(rng.lognormal(1.0, skew, 200)), outside)
    more = rng.poisson(3.0, 200) * open_alerts
    alerts = 40.0 + above.rows.sum() + (50.0 if open_alerts else 0.0)
    counts = counts_of(
        seen,
        certain=certain,
        outside=outside,
        below=below,
        above=above,
        missed=missed,
        open_above=more,
        alerts=alerts,
        labelled=40.0 + above.drawn.sum(),
    )
    for ruling in (
        ruling_draw(counts, Beliefs(level, assume, error), float(np.median(counts.missed))),
        ruling_guess(counts, level, float(np.median(counts.missed))),
        ruling_mixture(counts, level),
        ruling_not_identified(counts, level),
    ):
        for figure in (ruling.recall, ruling.missed):
            assert figure.low <= figure.high
            if not np.isnan(figure.value):
                assert figure.low - 1e-9 <= figure.value <= figure.high + 1e-9, figure
        assert ruling.recall.low >= 0
        assert ruling.recall.high <= 1
        if error == LabelError():
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
