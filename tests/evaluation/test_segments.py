"""Figures by segment: those of its rows alone, pooled rates, and which segments differ."""

import numpy as np
import pytest
from scipy import optimize, stats
from scipy.special import expit, logit

from experiments.intervals.by_segment import NULL, measure, replace
from scarce import evaluate, evaluate_by, expected_figures, usual_delay
from scarce.bootstrap import read_sample
from scarce.evaluation.differences import Segmented, binomial_tails, standing_out
from tests.problems import codes, refused

FIGURES = ("log_loss", "brier", "given", "happened", "gap", "auc")


def table(rng, n=600, names="abc"):
    by = np.array(list(names))[rng.integers(0, len(names), n)]
    prob = rng.beta(1, 9, n)
    return (rng.random(n) < prob).astype(int), prob, by


def segmented(y, prob, place, weight=None, group=None):
    sample = read_sample(np.ones(len(y), dtype=bool), weight, None, group)
    n = int(place.max()) + 1
    return Segmented(np.asarray(y, float), np.asarray(prob), sample, np.asarray(place, np.intp), n)


# --- figures --------------------------------------------------------------------------------------


@pytest.mark.parametrize("how", ["plain", "weights", "groups"])
def test_figures_are_those_of_evaluate_for_the_rows_of_a_segment(rng, how):
    y, prob, by = table(rng)
    more = {}
    if how == "weights":
        more = {"sample_weight": rng.choice([1.0, 2.0, 5.0], len(y))}
    if how == "groups":
        more = {"groups": rng.integers(0, 80, len(y))}
    found = evaluate_by(y, prob, by, threshold=0.2, **more)
    assert [one.name for one in found.segments] == ["a", "b", "c"]
    for one in found.segments:
        here = by == one.name
        alone = evaluate(
            y[here], prob[here], threshold=0.2, **{k: v[here] for k, v in more.items()}
        )
        for name in FIGURES:
            expected = getattr(alone, name)
            expected = expected[0] if isinstance(expected, tuple) else expected
            assert getattr(one, name) == expected
        assert one.at_threshold.to_dict() == alone.at_threshold.to_dict()
        assert (one.rows, one.labelled, one.events) == (here.sum(), here.sum(), y[here].sum())


def test_inclusion_is_checked_for_the_table_and_weighs_every_segment(rng):
    y, prob, by = table(rng, 4000)
    chance = np.where(prob > 0.2, 1.0, 0.25)
    seen = rng.random(len(y)) < chance
    found = evaluate_by(np.where(seen, y, np.nan), prob, by, inclusion=chance)
    for one in found.segments:
        here = seen & (by == one.name)
        weighted = np.average(y[here], weights=1 / chance[here])
        assert one.happened.value == pytest.approx(weighted)
        assert one.expected is None  # the labelled rows stand for the others
    with refused("labelled-without-inclusion"):
        evaluate_by(np.where(seen, y, np.nan), prob, by, inclusion=np.where(seen, 0.0, np.nan))


def test_order_of_rows_names_of_segments_and_unit_of_weights_change_nothing(rng):
    y, prob, by = table(rng)
    weight = rng.choice([1.0, 3.0], len(y))
    found = evaluate_by(y, prob, by, sample_weight=weight)
    order = rng.permutation(len(y))
    again = evaluate_by(y[order], prob[order], by[order], sample_weight=weight[order])
    other = evaluate_by(y, prob, by, sample_weight=weight / 7)
    for one, two, three in zip(found.segments, again.segments, other.segments, strict=True):
        for name in ("happened", "pooled"):
            a, b, c = (getattr(s, name) for s in (one, two, three))
            assert [a.value, a.low, a.high] == pytest.approx([b.value, b.low, b.high], rel=1e-6)
            assert [a.value, a.low, a.high] == pytest.approx([c.value, c.low, c.high], rel=1e-6)
        assert one.p_value == pytest.approx(two.p_value, rel=1e-6)
        assert one.p_value == pytest.approx(three.p_value, rel=1e-6)


def test_segment_of_one_class_has_no_auc_and_no_limits_of_losses():
    y = [0, 1] * 30 + [0] * 20
    found = evaluate_by(y, [0.4] * 80, ["a"] * 60 + ["b"] * 20).segments[1]
    assert np.isnan(found.auc.value)
    assert "one class" in found.auc.assumes
    assert np.isnan(found.log_loss.high)
    assert found.happened.value == 0.0
    assert 0 < found.happened.high < 0.3
    assert 0 < found.pooled.value < 0.4  # never an impossible event


def test_segment_of_one_group_has_no_limits(rng):
    y, prob, _ = table(rng, 400)
    group = rng.integers(0, 40, 400)
    by = np.where(group == 7, "one", "rest")
    one = evaluate_by(y, prob, by, groups=group).segments[0]
    assert one.happened.value == y[group == 7].mean()
    assert np.isnan(one.happened.high)
    assert "one group" in one.happened.method


def test_missing_names_are_a_segment_and_numbers_stay_in_order():
    by = [10, 2, None, 2, 10, float("nan")]
    found = evaluate_by([0, 1, 0, 0, 1, 1], [0.5] * 6, by, resamples=100)
    assert [one.name for one in found.segments] == ["2", "10", "(missing)"]
    assert [one.rows for one in found.segments] == [2, 2, 2]


def test_frequencies_are_rows_as_often(rng):
    y, prob, by = table(rng)
    often = rng.integers(0, 4, len(y))
    label = np.where(by == "c", np.nan, y)
    found = evaluate_by(label, prob, by, sample_weight=often, weight_kind="frequency")
    rows = np.repeat(np.arange(len(y)), often)
    again = evaluate_by(label[rows], prob[rows], by[rows])
    assert found.to_dict() == again.to_dict()
    with refused("unknown-word"):
        evaluate_by(y, prob, by, sample_weight=often, weight_kind="often")


def test_one_segment_is_not_compared_with_itself(rng):
    y, prob, _ = table(rng)
    found = evaluate_by(y, prob, [2.0] * len(y))
    assert found.segments[0].name == "2"
    assert found.segments[0].verdict == "not tested"
    assert np.isnan(found.between.value)


def test_every_row_twice_with_its_group_says_the_same(rng):
    y, prob, by = table(rng)
    twice = [np.tile(one, 2) for one in (y, prob, by, np.arange(len(y)))]
    one = evaluate_by(y, prob, by).segments[0]
    two = evaluate_by(*twice[:3], groups=twice[3]).segments[0]
    assert two.pooled.value == pytest.approx(one.pooled.value, rel=0.02)
    assert two.pooled.width == pytest.approx(one.pooled.width, rel=0.1)
    assert two.happened.width == pytest.approx(one.happened.width, rel=0.1)
    assert two.p_value == pytest.approx(one.p_value, abs=0.1)


def test_segments_without_labels_have_expected_figures_only(rng):
    y, prob, by = table(rng)
    some = np.where(by == "c", np.nan, y)
    found = evaluate_by(some, prob, by)
    full, empty = found.segments[0], found.segments[2]
    assert empty.labelled == 0
    assert np.isnan(empty.happened.value)
    assert np.isnan(empty.pooled.value)
    assert empty.expected.events.value == pytest.approx(prob[by == "c"].sum())
    assert empty.verdict == "not tested"
    assert full.expected is None
    dropped = evaluate_by(y[by != "c"], prob[by != "c"], by[by != "c"])
    assert full.to_dict() == dropped.segments[0].to_dict()


def test_columns_of_pandas_in_another_order_are_refused(rng):
    pandas = pytest.importorskip("pandas")
    y, prob, by = table(rng)
    own, other = pandas.Series(prob), pandas.Series(by)[::-1]
    with refused("index-mismatch"):
        evaluate_by(y, own, other)
    with refused("index-mismatch"):
        expected_figures(own, sample_weight=pandas.Series(prob)[::-1])
    dates = pandas.Series(pandas.to_datetime(["2026-01-01", "2026-01-02"]))
    with refused("index-mismatch"):
        usual_delay(dates, dates[::-1])


def test_what_cannot_be_judged_is_refused(rng):
    y, prob, by = table(rng)
    some = y.astype(float)
    some[np.flatnonzero(by == "b")[0]] = np.nan
    with refused("unlabelled-rows", segment="b", count=1):
        evaluate_by(some, prob, by)
    with refused("too-many-segments"):
        evaluate_by([0, 1] * 600, [0.5] * 1200, np.arange(1200))
    with refused("two-classes-needed"):
        evaluate_by([0, 1, 2], np.full((3, 3), 1 / 3), ["a"] * 3)
    with refused("length-mismatch"):
        evaluate_by(y, prob, by[:-1])
    with refused("argument-missing"):
        evaluate_by([0, 1], [0.5, 0.5], np.array(["2026-01-01"] * 2, dtype="datetime64[D]"))
    with refused("no-labels"):
        evaluate_by([None] * 4, [0.5] * 4, ["a", "a", "b", "b"])


# --- which differ ---------------------------------------------------------------------------------


def test_recalibration_is_the_penalised_logistic_regression(rng):
    y, prob, by = table(rng)
    rows = segmented(y, prob, np.unique(by, return_inverse=True)[1])
    x = logit(prob)

    def loss(at):
        eta = at[0] + at[1] * x
        return -(y * eta - np.logaddexp(0, eta)).sum() + 0.5 * ((at[1] - 1) / 0.5) ** 2

    best = optimize.minimize(loss, [0.0, 1.0], tol=1e-12).x
    assert rows.line == pytest.approx(best, abs=1e-4)


def test_variance_of_a_segments_excess_is_that_of_drawn_outcomes(rng):
    prob = rng.beta(1, 4, 900)
    place = (rng.random(900) < 0.3).astype(np.intp)
    weight = rng.choice([1.0, 3.0], 900)
    excess = []
    for _ in range(400):
        rows = segmented(rng.random(900) < prob, prob, place, weight)
        excess.append(rows.sums(rows.weight * (rows.event - rows.expected))[1])
    assert np.var(excess) == pytest.approx(rows.contrast_variance()[1], rel=0.25)
    assert rows.contrast_variance()[1] < 0.9 * rows.sums(weight**2 * rows.variance)[1]


def test_tails_are_those_of_the_binomial():
    x, n, share = np.array([0, 3, 7, 10]), 10, 0.3
    up, down = binomial_tails(x.astype(float), np.full(4, 10.0), np.full(4, share))
    assert up == pytest.approx(stats.binom.sf(x - 1, n, share))
    assert down == pytest.approx(stats.binom.cdf(x, n, share))


def test_probabilities_that_are_wrong_everywhere_flag_nobody(rng):
    n = 6000
    place = rng.integers(0, 6, n)
    true = rng.normal(size=n) - 2 + 0.8 * rng.normal(size=6)[place]
    y = rng.random(n) < expit(true)
    found = evaluate_by(y, expit(1.7 * true + 1), place, resamples=100)
    assert sum(one.gap.low > 0 or one.gap.high < 0 for one in found.segments) >= 4
    assert not found.standing_out


def test_a_segment_that_differs_does_not_make_the_others_differ(rng):
    n = 8000
    place = rng.integers(0, 4, n)
    eta = rng.normal(size=n) - 3
    y = rng.random(n) < expit(eta + 2.0 * (place == 3))
    found = evaluate_by(y, expit(eta), place, resamples=100)
    assert [one.verdict for one in found.segments] == ["", "", "", "more events"]
    assert codes(found.remarks) == ["segments-differ"]
    paid, _ = standing_out(segmented(y, expit(eta), place), 0.9)
    assert paid[3] < 1e-6


def test_groups_within_segments_are_not_tested(rng):
    y, prob, _ = table(rng)
    group = np.repeat(np.arange(6), 100)
    found = evaluate_by(y, prob, group // 2, groups=group)
    assert {one.verdict for one in found.segments} == {"not tested"}
    assert np.isnan(found.segments[0].pooled.value)
    assert "segments-not-tested" in codes(found.remarks)


@pytest.mark.parametrize(
    ("events", "rows"),
    [([0, 4, 9], [40, 40, 60]), ([0, 0, 1, 0, 1, 1, 0, 0, 0, 1, 1, 1], [200] * 12)],
)
def test_pooled_rate_is_the_posterior_of_the_random_intercept_model(events, rows):
    """Against plain integration over d, common and between of segments with one probability."""
    pairs = list(zip(events, rows, strict=True))
    y = np.concatenate([np.repeat([1, 0], [k, n - k]) for k, n in pairs])
    place = np.repeat(np.arange(len(rows)), rows)
    held = segmented(y, np.full(len(y), 0.1), place)
    found, _ = held.pooled(0.9)
    d = np.linspace(-6, 6, 601)
    p = expit(held.eta[0] + d)
    like = np.array([np.exp(stats.binom.logpmf(k, n, p)) for k, n in pairs])
    total, rates = 0.0, np.zeros(len(rows))
    below = np.zeros((len(rows), len(d)))
    for tau in np.linspace(0.05, 3, 60):
        for common in np.linspace(-4, 4, 81):
            prior = stats.norm.pdf(d, common, tau)
            each = like @ prior
            chance = np.exp(-(tau**2) / 2) * np.prod(each)
            total += chance
            share = chance * like * prior / each[:, None]
            rates += share @ p
            below += share
    assert [one.value for one in found] == pytest.approx(rates / total, rel=0.06)
    reach = np.cumsum(below, axis=1) / total
    for s, one in enumerate(found):
        low, high = np.interp([0.05, 0.95], reach[s], p)
        assert (one.low, one.high) == pytest.approx((low, high), rel=0.15)
    assert found[0].value > 0  # drawn away from no event


@pytest.mark.parametrize("few", [3, 12])
def test_slice_of_the_experiment_false_alarms_and_coverage(few):
    found = measure(replace(NULL, segments=30, rows=80, events=few), 40, ["flags"])
    assert found.flagged <= 0.20  # 40 draws of .10: .20 is beyond 2 standard errors


def test_slice_of_the_experiment_pooled_rates_and_rates_hold():
    found = measure(replace(NULL, rows=80, events=5), 15, ["pooled", "rate"], resamples=199)
    assert found.pooled > 0.85
    assert found.rate > 0.7
    found = measure(replace(NULL, rows=80, events=0.5), 15, ["pooled"])  # 6 events in all
    assert found.pooled > 0.8


def test_slice_of_the_experiment_a_different_segment_is_found():
    found = measure(replace(NULL, odd=1.3, rows=150), 25, ["flags"])
    assert found.first > 0.7
    assert found.flagged <= 0.25


def test_recall_and_precision_of_few_rows_are_not_written(rng):
    y, prob, by = table(rng, 900)
    by[by == "c"] = "b"
    by[:12] = "c"
    found = evaluate_by(y, prob, by, threshold=0.15)
    assert found.columns()[-2:] == ["recall %", "precision %"]
    a, _, c = found.table()
    assert float(a[-2]) == pytest.approx(
        100 * found.segments[0].at_threshold.recall.value, rel=0.01
    )
    assert c[-1] == c[-2] == "few"


def test_drawn_labels_leave_a_segment_without_any_with_expected_figures(rng):
    y, prob, by = table(rng, 4000)
    chance = np.full(len(y), 0.2)
    by[:2] = "z"
    seen = rng.random(len(y)) < chance
    seen[:2] = False
    found = evaluate_by(np.where(seen, y, np.nan), prob, by, inclusion=np.where(seen, 0.2, np.nan))
    assert found.segments[-1].labelled == 0
    assert found.segments[-1].expected.rows == 2


def test_words_fit_a_terminal_and_json_holds_every_figure(rng):
    y, prob, by = table(rng)
    found = evaluate_by(np.where(by == "c", np.nan, y), prob, by)
    lines = str(found).splitlines()
    assert max(map(len, lines[:5])) <= 100
    assert max(map(len, str(evaluate_by(y, prob, by, threshold=0.1)).splitlines()[:5])) <= 100
    assert lines[0] == "600 rows in 3 segments, " + f"{int((by != 'c').sum())} with a known label"
    held = found.to_dict()
    assert held["segments"][2]["happened"]["value"] is None
    assert held["segments"][2]["expected"]["events"]["value"] > 0
