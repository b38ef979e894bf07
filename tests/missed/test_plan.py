"""Plans of audits: against audits that are really drawn, and against what must hold for any."""

import json

import numpy as np
import pytest
from scipy.stats import norm, rankdata

from scarce import DataError, UsageError, choose_labels, estimate_performance, plan_audit
from scarce.datasets import make_trial_scores
from scarce.errors import Argument
from scarce.missed.counts import cells_at
from scarce.missed.inversion import total_limits
from scarce.missed.plan import AuditPlan, _Worlds, cheapest_design, checks_for_width
from scarce.missed.provenance import read_batches
from scarce.missed.strata import allocate, neyman_wish, stratum_ends
from tests.problems import codes, refused

CUT = 9.1


@pytest.fixture(scope="module")
def trial():
    """The greatest 94 of 3,000 scores labelled, half of them alerts: the curve is about right."""
    sample = make_trial_scores(3000, positive_share=0.03, random_state=1)
    return sample.scores, sample.y, sample.y_true


def by_hand(width, n=(0, 25, 50, 100), none_found=0.0):
    k = len(n)
    ones = np.ones(k)
    return AuditPlan(
        np.array(n), np.array(width), ones, ones, ones, ones, none_found * ones, 4000, 0.9
    )


def test_oracle_a_plan_says_what_audits_come_to_in_worlds_drawn_from_the_curve(trial):
    """A slow plain version: labels of every row from the curve, then the public functions."""
    scores, labels, _ = trial
    plan = plan_audit(scores, labels, threshold=CUT, n=(60, 240), repeats=16)
    now = estimate_performance(scores, labels, threshold=CUT)
    rng = np.random.default_rng(99)
    place = norm.ppf((rankdata(scores) - 0.5) / len(scores))
    plain = []
    for share in now.share_of_events(place, 16, rng):
        bought = labels.copy()
        choice = choose_labels(
            scores, labels, policy="audit", n=240, threshold=CUT, random_state=rng
        )
        bought[choice.rows] = rng.random(240) < share[choice.rows]
        found = estimate_performance(
            scores, bought, threshold=CUT, inclusion=choice.inclusion(len(scores))
        )
        plain.append((found.recall.width, found.missed.high, np.nansum(bought[choice.rows])))
    width, missed, events = np.transpose(plain)
    assert plan.n.tolist() == [0, 60, 240]
    assert plan.width[2] < plan.width[1]
    # Two means of sixteen: the error of their difference is that of one times sqrt(2).
    error = np.sqrt(2 / 16)
    assert plan.width[2] == pytest.approx(width.mean(), abs=4 * error * width.std(ddof=1))
    assert plan.found[2] == pytest.approx(events.mean(), abs=4 * error * events.std(ddof=1))
    assert 0.4 < plan.most_missed[2] / np.median(missed) < 2.5
    assert plan.found[2] > plan.found[1]
    assert plan.rows_below == np.sum(np.isnan(labels) & (scores < CUT))
    assert (plan.width_low[1:] < plan.width[1:]).all()
    assert (plan.width[1:] < plan.width_high[1:]).all()
    assert ((plan.none_found >= 0) & (plan.none_found <= 1)).all()


def test_the_first_line_without_checks_knows_no_more_than_counts(trial):
    """Anything from no event to all rows below: a guess from a curve is no limit."""
    scores, labels, _ = trial
    plan = plan_audit(scores, labels, threshold=CUT, n=30, repeats=1)
    seen = np.nansum(labels[scores >= CUT])
    known = np.nansum(labels[scores < CUT])
    assert plan.most_missed[0] == known + plan.rows_below
    wide = seen / (seen + known) - seen / (seen + plan.most_missed[0])
    assert plan.width[0] == plan.width_low[0] == plan.width_high[0] == pytest.approx(wide)
    assert plan.found[0] == 0.0
    assert plan.width_low[1] == plan.width[1] == plan.width_high[1]


def test_oracle_an_audit_of_every_row_finds_what_the_curve_expects(trial):
    """Worlds are drawn from the curve: on average they miss what its draws miss."""
    scores, labels, _ = trial
    open_rows = np.isnan(labels)
    plan = plan_audit(scores, labels, threshold=CUT, n=10**6, repeats=10)
    now = estimate_performance(scores, labels, threshold=CUT)
    assert plan.n.tolist() == [0, open_rows.sum()]  # no more rows than there are
    assert "too-few-rows" in codes(plan.remarks)
    assert plan.width[1] == 0.0  # every row has a label then
    rng = np.random.default_rng(0)
    place = norm.ppf((rankdata(scores) - 0.5) / len(scores))[open_rows]
    expected = now.share_of_events(place, 400, rng).sum(axis=1)
    error = expected.std() / np.sqrt(10)
    assert plan.found[1] == pytest.approx(expected.mean(), abs=4 * error)


def test_nothing_to_audit_is_said(trial):
    scores, _, truth = trial
    with refused("nothing-to-audit", DataError):
        plan_audit(scores, truth, threshold=CUT, n=10, repeats=1)


@pytest.mark.parametrize("policy", ["audit", "random"])
def test_the_first_line_is_the_estimate_at_hand(trial, policy):
    scores, labels, truth = trial
    choice = choose_labels(scores, labels, policy=policy, n=80, threshold=CUT, random_state=0)
    bought = labels.copy()
    bought[choice.rows] = truth[choice.rows]
    inclusion = choice.inclusion(len(scores))
    plan = plan_audit(scores, bought, threshold=CUT, n=40, inclusion=inclusion, repeats=2)
    now = estimate_performance(scores, bought, threshold=CUT, inclusion=inclusion)
    assert plan.width[0] == pytest.approx(now.recall.width)
    assert plan.most_missed[0] == pytest.approx(now.missed.high)
    assert plan.rows_below == np.sum(np.isnan(bought) & (scores < CUT))
    nothing = plan_audit(
        scores, bought, threshold=CUT, n=40, inclusion=choice, repeats=2, assume="nothing"
    )
    now = estimate_performance(scores, bought, threshold=CUT, inclusion=choice, assume="nothing")
    assert nothing.width[0] == pytest.approx(now.recall.width)
    with refused("unknown-word", UsageError):
        plan_audit(scores, bought, threshold=CUT, n=40, assume="everything")


def test_checks_at_hand_are_in_the_strata_of_new_ones(trial):
    """Rows, drawn rows and events add up; what was drawn stays where it was in the ranks."""
    scores, labels, truth = trial
    choice = choose_labels(scores, labels, n=80, threshold=CUT, random_state=0)
    bought = labels.copy()
    bought[choice.rows] = truth[choice.rows]
    (batch,) = read_batches(scores, bought, CUT, inclusion=choice)
    world = _Worlds.of(batch, "audit", "monotone", 0.9)
    (_, old), _ = cells_at(batch, CUT)
    of, taken = world.strata(60)
    rows = np.bincount(of, world.open_rows)
    new = old._replace(
        rows=rows, drawn=taken * 1.0, events=0.0 * rows, frame=np.zeros(len(rows), np.int64)
    )
    both = world.with_new(new)
    assert both.rows.sum() == rows.sum() + old.drawn.sum()
    assert both.drawn.sum() == 60 + old.drawn.sum()
    assert both.events.sum() == old.events.sum()
    assert (both.drawn <= both.rows).all()
    middle = np.average(np.arange(len(rows)), weights=both.drawn - new.drawn)
    assert 1 < middle < len(rows) - 2  # spread over the strata, not in one


@pytest.mark.parametrize("n", [40, 150, 700])
def test_oracle_strata_of_a_plan_are_about_those_that_are_drawn(trial, n):
    """Ranks in groups: sizes of strata and what is drawn from each, against choose_labels."""
    scores, labels, _ = trial
    (batch,) = read_batches(scores, labels, CUT)
    world = _Worlds.of(batch, "audit", "monotone", 0.9)
    of, taken = world.strata(n)
    rows = np.bincount(of, world.open_rows)
    total = int(np.isnan(labels).sum())
    sizes = np.diff(stratum_ends(total, n, 10), prepend=0)
    assert rows.sum() == total
    assert taken.sum() == n
    assert len(rows) == len(sizes)
    np.testing.assert_allclose(np.cumsum(rows), np.cumsum(sizes), rtol=0.25, atol=3)
    share = np.bincount(of, world.open_rows * world.share.mean(axis=0)) / rows
    np.testing.assert_array_equal(taken, allocate(n, rows.astype(int), neyman_wish(rows, share)))
    choice = choose_labels(scores, labels, n=n, threshold=CUT, random_state=0)
    # How densely rows are drawn: in the upper tenth, and in the lower half, of the ranks.
    rank = np.argsort(np.argsort(-scores[np.isnan(labels)]))
    place = np.full(len(scores), -1)
    place[np.isnan(labels)] = rank
    ours = np.interp([total / 10, total / 2], np.cumsum(rows), np.cumsum(taken))
    theirs = [(place[choice.rows] < total / 10).sum(), (place[choice.rows] < total / 2).sum()]
    np.testing.assert_allclose(ours, theirs, rtol=0.15, atol=6)


def test_more_checks_never_give_a_wider_interval(trial):
    """Whatever the design, the seed and the labels at hand; few worlds, so that chance is great."""
    scores, labels, truth = trial
    choice = choose_labels(scores, labels, n=60, threshold=CUT, random_state=0)
    bought = labels.copy()
    bought[choice.rows] = truth[choice.rows]
    sizes = (10, 12, 15, 20, 30, 31, 32, 100, 101, 300, 10**6)
    for design in ("audit", "stratified", "random"):
        for seed in range(4):
            for known, inclusion in ((labels, None), (bought, choice)):
                plan = plan_audit(
                    scores,
                    known,
                    threshold=CUT,
                    n=sizes,
                    design=design,
                    inclusion=inclusion,
                    repeats=2,
                    random_state=seed,
                )
                for falling in (plan.width, plan.width_low, plan.width_high, plan.most_missed):
                    assert (np.diff(falling) <= 1e-12).all()
                assert (plan.width_low <= plan.width_high + 1e-12).all()
                assert plan.width[-1] == 0.0
                assert (np.diff(plan.found) >= -5).all()


def test_where_the_score_is_good_a_random_draw_needs_more_checks():
    """Events lie right below the threshold: strata look there."""
    rng = np.random.default_rng(0)
    scores = rng.normal(size=4000)
    truth = (rng.random(4000) < 1 / (1 + np.exp(9 - 5 * scores))) * 1.0
    labels = np.where(scores >= 1.8, truth, np.nan)
    settings = {"threshold": 1.8, "n": (50, 100, 200, 400), "repeats": 25}
    plans = {
        design: plan_audit(scores, labels, design=design, **settings)
        for design in ("audit", "stratified", "random")
    }
    assert (plans["random"].width[2:] > 1.2 * plans["audit"].width[2:]).all()
    assert (plans["stratified"].width[2:] < plans["random"].width[2:]).all()
    assert (plans["random"].found[1:] < 0.6 * plans["audit"].found[1:]).all()
    assert {one.design for one in plans.values()} == set(plans)
    wanted = float(plans["audit"].width[2])
    best, checks = cheapest_design([plans["random"], plans["audit"]], wanted)
    assert (best.design, checks) == ("audit", plans["audit"].needed(wanted))
    assert checks < plans["random"].needed(wanted)
    # As in audits that are really drawn in this world.
    widths = {}
    for design in plans:
        widths[design] = []
        for seed in range(6):
            choice = choose_labels(
                scores, labels, policy=design, n=200, threshold=1.8, random_state=seed
            )
            bought = labels.copy()
            bought[choice.rows] = truth[choice.rows]
            found = estimate_performance(scores, bought, threshold=1.8, inclusion=choice)
            widths[design].append(found.recall.width)
        low, high = plans[design].width_low[3], plans[design].width_high[3]
        assert 0.7 * low < np.mean(widths[design]) < 1.5 * high
    assert np.mean(widths["random"]) > 1.2 * np.mean(widths["audit"])
    with refused("unknown-word", UsageError):
        plan_audit(scores, labels, design="pps", **settings)


def test_the_cost_of_checks(trial):
    scores, labels, _ = trial
    settings = {"threshold": CUT, "n": (20, 50), "repeats": 1}
    assert plan_audit(scores, labels, **settings).cost.tolist() == [0.0, 20.0, 50.0]
    priced = plan_audit(scores, labels, cost_per_label=2.5, **settings)
    assert priced.cost.tolist() == [0.0, 50.0, 125.0]
    assert priced.to_dict()["cost"] == [0.0, 50.0, 125.0]
    assert plan_audit(scores, labels, cost_per_label=0, **settings).cost.tolist() == [0, 0, 0]
    for wrong in (-1, "x", np.nan):
        with refused("number-range", UsageError, argument="cost_per_label"):
            plan_audit(scores, labels, cost_per_label=wrong, **settings)


def test_oracle_limits_of_a_plan_are_those_of_strata(trial):
    """One world by hand: strata, events drawn in each, and the limits of inversion."""
    scores, labels, _ = trial
    plan = plan_audit(scores, labels, threshold=CUT, n=100, repeats=1, random_state=5)
    (batch,) = read_batches(scores, labels, CUT)
    world = _Worlds.of(batch, "audit", "monotone", 0.9)
    rng = np.random.default_rng([5, 2])
    share = world.share[rng.integers(len(world.share))]
    events = rng.binomial(world.open_rows.astype(np.int64), share)
    of, taken = world.strata(100)
    rows, held = np.bincount(of, world.open_rows), np.bincount(of, events).astype(np.int64)
    drawn = rng.hypergeometric(held, rows.astype(np.int64) - held, taken)
    (_, cells), _ = cells_at(batch, CUT)
    cells = cells._replace(
        rows=rows, drawn=taken * 1.0, events=drawn * 1.0, frame=np.zeros(len(rows), np.int64)
    )
    low, high = total_limits(cells, 0.9)
    seen, known = np.nansum(labels[scores >= CUT]), np.nansum(labels[scores < CUT])
    width = seen / (seen + known + low) - seen / (seen + known + high)
    assert plan.found[1] == drawn.sum()
    assert plan.width[1] == pytest.approx(width)
    assert plan.most_missed[1] == known + high


def test_checks_for_a_width_are_those_of_a_plan(trial):
    scores, labels, truth = trial
    found = estimate_performance(scores, labels, threshold=CUT)
    few, many = checks_for_width(found, 0.5), checks_for_width(found, 0.3)
    assert 20 < few < many
    plan = plan_audit(
        scores, labels, threshold=CUT, n=(25, 50, 100, 200, 400, 800, 1600), repeats=10
    )
    assert plan.needed(0.5) == few
    assert checks_for_width(found, 0.99) == 0.0
    silent = estimate_performance(scores, 0 * labels, threshold=CUT)
    assert np.isnan(checks_for_width(silent))
    every = estimate_performance(scores, truth, threshold=CUT)
    assert checks_for_width(every) == 0.0
    half = np.arange(len(scores)) % 2
    both = estimate_performance(scores, labels, threshold=CUT, batch=half)
    assert np.isnan(checks_for_width(both))
    assert checks_for_width(both.batches[0], 0.5) > 20


def test_the_same_seed_gives_the_same_plan_and_progress_is_told(trial):
    scores, labels, _ = trial
    told = []
    settings = {"threshold": CUT, "n": (20, 40), "repeats": 2}
    one = plan_audit(scores, labels, progress=lambda *done: told.append(done), **settings)
    other = plan_audit(scores, labels, **settings)
    np.testing.assert_array_equal(one.width, other.width)
    assert told == [(1, 4), (2, 4), (3, 4), (4, 4)]
    another = plan_audit(scores, labels, random_state=3, **settings)
    assert not np.array_equal(one.width, another.width)


def test_sizes_are_sorted_and_joined(trial):
    scores, labels, _ = trial
    plan = plan_audit(scores, labels, threshold=CUT, n=[40, 20, 40], repeats=1)
    assert plan.n.tolist() == [0, 20, 40]
    for wrong in (0, -5, 2.5, "many"):
        with pytest.raises(UsageError):
            plan_audit(scores, labels, threshold=CUT, n=wrong, repeats=1)
    with refused("integer-range", UsageError, argument="repeats"):
        plan_audit(scores, labels, threshold=CUT, n=5, repeats=0)
    with refused("not-finite", DataError):
        plan_audit([1.0, np.nan], None, threshold=0.0, n=1, repeats=1)


def test_how_many_are_needed_is_read_off_in_the_logarithm():
    plan = by_hand([0.9, 0.8, 0.6, 0.4])
    assert plan.needed(0.6) == 50
    assert plan.needed(0.5) == np.ceil(np.sqrt(50 * 100))
    assert plan.needed(0.7) == np.ceil(np.sqrt(25 * 50))
    assert plan.needed(0.85) == 25
    assert plan.needed(0.39) == np.inf
    for wrong in (0.0, 1.0, -0.2, 30):
        with refused("number-range", UsageError):
            plan.needed(wrong)


def test_words_for_a_reader():
    text = str(by_hand([np.nan, 0.8, 0.6, 0.4]))
    assert "Audits of 4,000 rows below the threshold" in text
    assert "no interval" in text
    assert "0.60 (1.00 to 1.00)" in text
    assert "remark" not in text


def test_remarks_say_what_an_audit_cannot_do(trial):
    scores, labels, _ = trial
    event = np.arange(1000) < 25
    sharp = np.random.default_rng(0).normal(size=1000) + 8 * event
    top = np.where(sharp > 1.5, event * 1.0, np.nan)
    rare = plan_audit(sharp, top, threshold=5.0, n=15, repeats=5)
    (remark,) = (one for one in rare.remarks if one.code == "rare-below")
    assert remark.fields["n"] == 15
    assert rare.none_found[1] > 0.5
    assert f"remark: {rare.remarks[0]}" in str(rare)
    nothing = np.where(scores >= CUT, 0.0, np.nan)
    hopeless = plan_audit(scores, nothing, threshold=CUT, n=15, repeats=1)
    assert hopeless.remarks[0].code == "recall-zero"
    assert np.isnan(hopeless.width).all()
    third = np.sort(scores[labels == 1])[-3]
    few = plan_audit(scores, labels, threshold=third, n=15, repeats=1)
    (remark,) = (one for one in few.remarks if one.code == "few-events")
    assert remark.fields["seen"] == 3
    json.dumps(hopeless.to_dict(), allow_nan=False)
    assert hopeless.to_dict()["width"] == [None, None]
    assert hopeless.to_dict()["n"] == [0, 15]


def test_sizes_beyond_the_rows_are_cut_and_said(trial):
    scores, labels, _ = trial
    below = int(np.sum(np.isnan(labels) & (scores < CUT)))
    plan = plan_audit(scores, labels, threshold=CUT, n=[20, 5000, 10**6], repeats=1)
    assert plan.n.tolist() == [0, 20, below]
    (remark,) = (one for one in plan.remarks if one.code == "too-few-rows")
    assert remark.fields["n"] == Argument("n", 1_000_000)
    assert remark.fields["rows"] == f"{below:,} rows"
    assert plan.remarks[-1] in str(plan)
    few = plan_audit(scores, labels, threshold=CUT, n=below, repeats=1)
    assert few.remarks == ()


def test_one_row_below_is_one_row():
    scores = [*np.linspace(9.0, 2.0, 30), 1.0]
    plan = plan_audit(scores, [1] + [0] * 29 + [None], threshold=1.5, n=1, repeats=1)
    assert plan.none_found[1] == 1
    assert "Audits of 1 row below" in str(plan)
    assert "mostly find none" not in str(plan)  # every row would be known


def test_recall_that_no_audit_can_change_is_said(trial):
    scores, labels, _ = trial
    none = plan_audit(scores, None, threshold=scores.max() + 1, n=25, repeats=2)
    assert np.isnan(none.width).all()
    assert none.needed(0.5) == np.inf
    assert (none.remarks[0].code, none.remarks[0].fields["seen"]) == (
        "recall-zero",
        "No row is an alert",
    )
    assert "no interval" in str(none)
    clean = plan_audit(scores, 0 * labels, threshold=CUT, n=25, repeats=2)
    assert np.isnan(clean.width).all()
    assert (clean.remarks[0].code, clean.remarks[0].fields["seen"]) == (
        "recall-zero",
        "No alert is an event",
    )
    half = np.where(np.arange(len(scores)) % 2, 0 * labels, np.nan)
    for unread in (half, None):
        unsure = plan_audit(scores, unread, threshold=CUT, n=25, repeats=2)
        assert not np.isnan(unsure.width).any()  # an alert without a label may be an event
        assert (unsure.remarks[0].code, unsure.remarks[0].fields["seen"]) == ("few-events", 0)
    mark = np.sort(scores[labels == 1])[-2]
    two = plan_audit(scores, labels, threshold=mark, n=25, repeats=2)
    assert (two.remarks[0].code, two.remarks[0].fields["seen"]) == ("few-events", 2)
    assert not np.isnan(two.width).any()


def test_a_plan_turns_into_json_without_holes(trial):
    scores, _, _ = trial
    plan = plan_audit(scores, None, threshold=scores.max() + 1, n=25, repeats=1)
    back = json.loads(json.dumps(plan.to_dict(), allow_nan=False))
    assert back["n"] == [0, 25]
    assert back["width"] == [None, None]
    assert back["rows_below"] == len(scores)
    assert back["remarks"] == list(plan.remarks)
    assert back["most_missed"] == plan.most_missed.tolist()


@pytest.mark.parametrize(
    ("options", "code"),
    [
        ({"n": []}, "no-sizes"),
        ({"n": ()}, "no-sizes"),
        ({"n": "x"}, "integer-range"),
        ({"n": [10, 2.5]}, "integer-range"),
        ({"random_state": "x"}, "seed-value"),
        ({"random_state": -1}, "seed-value"),
        ({"threshold": None}, "threshold-value"),
        ({"threshold": np.nan}, "threshold-value"),
        ({"level": 2}, "level-range"),
        ({"design": "tail"}, "unknown-word"),
        ({"assume": "curve"}, "unknown-word"),
        ({"repeats": 1.5}, "integer-range"),
    ],
)
def test_a_plan_refuses_in_words(trial, options, code):
    scores, labels, _ = trial
    with refused(code, UsageError):
        plan_audit(scores, labels, **({"threshold": CUT, "n": 5, "repeats": 1} | options))


def test_widths_that_are_none_are_refused():
    for wrong in ("x", None, True, [0.1]):
        with refused("number-range", UsageError):
            by_hand([0.9, 0.8, 0.6, 0.4]).needed(wrong)


def test_generators_are_seeds_too(trial):
    scores, labels, _ = trial
    settings = {"threshold": CUT, "n": 20, "repeats": 1}
    one, other = (
        plan_audit(scores, labels, random_state=np.random.default_rng(5), **settings)
        for _ in range(2)
    )
    np.testing.assert_array_equal(one.width, other.width)
    assert plan_audit(scores, labels, random_state=None, **settings).n.tolist() == [0, 20]


def test_neither_the_order_of_rows_nor_the_scale_of_scores_matters(trial):
    scores, labels, _ = trial
    settings = {"n": 40, "repeats": 2}
    plain = plan_audit(scores, labels, threshold=CUT, **settings)
    mixed = np.random.default_rng(0).permutation(len(scores))
    other = plan_audit(scores[mixed], labels[mixed], threshold=CUT, **settings)
    scaled = plan_audit(np.exp(scores), labels, threshold=np.exp(CUT), **settings)
    for one in (other, scaled):
        np.testing.assert_array_equal(plain.width, one.width)
        np.testing.assert_array_equal(plain.found, one.found)


def test_columns_of_other_kinds_are_read(trial):
    scores, labels, _ = trial
    settings = {"threshold": CUT, "n": 20, "repeats": 1}
    plain = plan_audit(scores, labels, **settings)
    masked = np.ma.array(np.nan_to_num(labels).astype(int), mask=np.isnan(labels))
    np.testing.assert_array_equal(plan_audit(scores, masked, **settings).width, plain.width)
