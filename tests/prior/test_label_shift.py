"""estimate_share: today's base rate, its interval, and whether it is label shift."""

from dataclasses import replace

import numpy as np
import pandas as pd
import pytest
from scipy.optimize import brentq, minimize_scalar
from scipy.special import expit, logit
from scipy.stats import norm
from sklearn.linear_model import LogisticRegression

from scarce import (
    CostMatrix,
    DataError,
    MaxentClassifier,
    PriorCorrected,
    UsageError,
    correct_prior,
    decide,
    decide_between,
    estimate_share,
    expected_cost,
    stable_prior,
)
from scarce.prior.label_shift import ShareEstimate
from scarce.prior.mixture_test import SIGNIFICANT, mixture, mixture_p_value
from scarce.prior.shift import bounds_at
from tests.problems import codes, refused, warned


def world(rng, n, share, apart=2.0, at=0.1, slope=1.0):
    """Labels and probabilities; with slope 1 these are calibrated at `at`."""
    y = (rng.random(n) < share).astype(int)
    score = rng.normal(size=n) + apart * y
    odds = np.log(at / (1 - at)) + apart * score - apart**2 / 2
    return y, 1 / (1 + np.exp(-slope * odds))


def three(rng, n, shares):
    y = rng.choice(3, n, p=shares)
    score = rng.normal(size=(n, 3)) + 1.8 * np.eye(3)[y]
    odds = np.exp(1.2 * score)
    return y, odds / odds.sum(axis=1, keepdims=True)


@pytest.mark.parametrize("slope", [1.0, 0.5, 2.0])
def test_the_truth_is_found_whether_the_probabilities_are_calibrated_or_not(rng, slope):
    y, prob = world(rng, 6000, 0.1, slope=slope)
    _, now = world(rng, 6000, 0.3, slope=slope)
    found = estimate_share(now, validation=(y, prob))
    assert abs(found.share.value - 0.3) < 0.04
    assert 0.3 in found.share
    assert found.is_label_shift
    assert found.counts == (len(y) - y.sum(), y.sum())
    assert found.shares[0].value == pytest.approx(1 - found.share.value, abs=1e-12)
    alone = estimate_share(now, trained_at=0.1)
    assert (0.3 in alone.share) == (slope == 1.0)
    assert codes(alone.remarks) == ["no-validation"]
    assert alone.is_label_shift is None


def test_oracle_em_is_the_greatest_likelihood(rng):
    _, now = world(rng, 4000, 0.3)
    found = estimate_share(now, trained_at=0.1)

    def loss(share):
        odds = np.log(share / (1 - share)) - np.log(0.1 / 0.9)
        return -np.log(share * now / 0.1 + (1 - share) * (1 - now) / 0.9).sum() + odds**2 / 4.5

    best = minimize_scalar(loss, bounds=(1e-6, 1 - 1e-6), method="bounded", options={"xatol": 1e-9})
    assert found.share.value == pytest.approx(best.x, abs=1e-4)


def test_oracle_the_interval_is_that_of_the_adjusted_count(rng):
    """Against the delta method of (mean now - mean 0) / (mean 1 - mean 0), with the same h."""
    y, prob = world(rng, 4000, 0.2, apart=1.5)
    _, now = world(rng, 4000, 0.4, apart=1.5)
    found = estimate_share(now, validation=(y, prob), trained_at=0.2, resamples=4000).share
    h, of_y = (correct_prior(one, 0.2, found.value) for one in (now, prob))
    one, other = of_y[y == 1], of_y[y == 0]
    apart = one.mean() - other.mean()
    assert found.value == pytest.approx((h.mean() - other.mean()) / apart, abs=0.005)
    parts = (h.var() / len(h), found.value**2 * one.var() / len(one),
             (1 - found.value) ** 2 * other.var() / len(other))  # fmt: skip
    error = np.sqrt(sum(parts)) / apart
    assert found.width == pytest.approx(2 * 1.645 * error, rel=0.06)


def test_coverage_and_false_alarms_in_small_samples():
    rng = np.random.default_rng(3)
    hits, alarms = [], []
    for _ in range(30):
        y, prob = world(rng, 500, 0.1)
        _, now = world(rng, 300, 0.25)
        found = estimate_share(now, validation=(y, prob), resamples=300)
        hits.append(0.25 in found.share)
        alarms.append(found.p_value <= 0.05)
    assert 0.8 <= np.mean(hits) <= 0.98
    assert np.mean(alarms) <= 0.11


def test_several_classes(rng):
    y, prob = three(rng, 3000, [0.6, 0.3, 0.1])
    shares = [0.2, 0.3, 0.5]
    _, now = three(rng, 3000, shares)
    found = estimate_share(now, validation=(y, prob))
    assert sum(one.value for one in found.shares) == pytest.approx(1)
    for one, truth in zip(found.shares, shares, strict=True):
        assert abs(one.value - truth) < 0.05
        assert truth in one
    assert found.is_label_shift
    swapped = estimate_share(
        now[:, [2, 0, 1]], validation=(y, prob[:, [2, 0, 1]]), classes=[2, 0, 1]
    )
    for k, at in enumerate([2, 0, 1]):
        assert swapped.shares[k].value == pytest.approx(found.shares[at].value, abs=1e-3)


@pytest.mark.parametrize("kind", ["moved", "wide", "new cluster"])
def test_the_test_speaks_where_it_is_not_label_shift(rng, kind):
    y, prob = world(rng, 3000, 0.2)
    _, now = world(rng, 3000, 0.2)
    odds = np.log(now / (1 - now))
    changed = {"moved": odds + 1, "wide": 1.5 * odds, "new cluster": np.where(odds > 1, odds, 0.3)}
    found = estimate_share(1 / (1 + np.exp(-changed[kind])), validation=(y, prob))
    assert found.p_value <= 0.05
    assert "not-label-shift" in codes(found.remarks)


def test_classes_that_cannot_be_told_apart_give_no_interval(rng):
    y = (rng.random(1000) < 0.2).astype(int)
    found = estimate_share(rng.random(500), validation=(y, rng.random(1000)))
    assert found.share.width > 0.9
    assert "classes-not-told-apart" in codes(found.remarks)


def test_invariants(rng):
    y, prob = world(rng, 800, 0.2)
    _, now = world(rng, 600, 0.1)
    found = estimate_share(now, validation=(y, prob))
    order, back = rng.permutation(800), rng.permutation(600)
    shuffled = estimate_share(now[back], validation=(y[order], prob[order]))
    assert shuffled.share.value == pytest.approx(found.share.value, abs=1e-6)
    assert shuffled.p_value == found.p_value
    weighted = estimate_share(
        now, validation={"y": y, "prob": prob, "sample_weight": np.full(800, 7.0)},
        sample_weight=np.full(600, 0.2),
    )  # fmt: skip
    assert weighted.share.value == pytest.approx(found.share.value, abs=1e-6)
    assert weighted.share.low == pytest.approx(found.share.low, abs=1e-9)
    names = np.array(["ham", "spam"])[y]
    named = estimate_share(now, validation=(names, prob))
    assert named.classes == ("ham", "spam")
    assert named.share == found.share
    flipped = estimate_share(1 - now, validation=(1 - y, 1 - prob))
    assert flipped.shares[0].value == pytest.approx(found.share.value, abs=1e-4)
    assert estimate_share(now, validation=(y, prob)).to_json() == found.to_json()


def test_groups_widen_the_interval_and_copies_in_groups_do_not_narrow_it(rng):
    y, prob = world(rng, 800, 0.2)
    _, now = world(rng, 600, 0.1)
    found = estimate_share(now, validation=(y, prob))
    held = {
        "y": np.tile(y, 4),
        "prob": np.tile(prob, 4),
        "groups": np.tile(np.arange(800), 4),
    }
    copied = estimate_share(np.tile(now, 4), validation=held, groups=np.tile(np.arange(600), 4))
    assert copied.share.width == pytest.approx(found.share.width, rel=0.15)
    assert copied.share.value == pytest.approx(found.share.value, abs=0.002)
    careless = estimate_share(np.tile(now, 4), validation=(held["y"], held["prob"]))
    assert careless.share.width < 0.65 * found.share.width


def test_drawn_labels_stand_for_the_others(rng):
    y, prob = world(rng, 6000, 0.1)
    chance = np.where(prob > 0.3, 1.0, 0.1)
    seen = rng.random(6000) < chance
    _, now = world(rng, 4000, 0.3)
    held = {"y": np.where(seen, y, np.nan), "prob": prob, "inclusion": chance}
    held["inclusion"] = np.where(seen | (chance < 1), chance, 1.0)
    found = estimate_share(now, validation=held)
    assert 0.3 in found.share
    assert found.trained_at[1] == pytest.approx(y.mean(), abs=0.02)
    careless = estimate_share(now, validation=(y[seen], prob[seen]))
    assert 0.3 not in careless.share


def test_the_estimate_goes_on_as_it_is(rng):
    y, prob = world(rng, 2000, 0.2)
    _, now = world(rng, 2000, 0.05)
    found = estimate_share(now, validation=(y, prob), trained_at=0.1)
    value = found.share.value
    moved = correct_prior(now, found.trained_at, value)
    np.testing.assert_allclose(correct_prior(now, found.trained_at, found), moved, rtol=1e-12)
    costs = [[0, 9], [1, 0]]
    np.testing.assert_array_equal(
        decide(now, costs, trained_at=0.2, now_at=found),
        decide(now, costs, trained_at=0.2, now_at=value),
    )
    X = np.log(prob / (1 - prob))[:, None]
    model = PriorCorrected(LogisticRegression(), prior=found).fit(X, y)
    assert model.now_at_[1] == pytest.approx(value, rel=1e-12)


def test_probabilities_for_other_base_rates_than_the_validation_rows_are_spoken_of(rng):
    """Such as those of an under-sampled model: recalibrated from the wrong rates, they stay off."""
    y, prob = world(rng, 2000, 0.1, at=0.5)
    _, now = world(rng, 2000, 0.3, at=0.5)
    found = estimate_share(now, validation=(y, prob))
    assert abs(found.share.value - 0.3) < 0.05
    assert "probabilities-off" in codes(found.remarks)
    with warned("probabilities-off"):
        moved = correct_prior(now, found.trained_at, found)
    assert moved.mean() > 0.5  # twice what was estimated
    assert abs(correct_prior(now, 0.5, found).mean() - found.share.value) < 0.03
    told = estimate_share(now, validation=(y, prob), trained_at=0.5)
    assert "probabilities-off" not in codes(told.remarks)
    assert abs(correct_prior(now, told.trained_at, told).mean() - told.share.value) < 0.03
    wrong = estimate_share(now, validation=(y, prob), trained_at=0.9)
    assert "probabilities-off" in codes(wrong.remarks)
    y, prob = three(rng, 1500, [0.1, 0.3, 0.6])
    _, now = three(rng, 1500, [0.3, 0.3, 0.4])
    prob, now = (one**1.5 / (one**1.5).sum(axis=1, keepdims=True) for one in (prob, now))
    several = estimate_share(now, validation=(y, prob))
    assert "probabilities-off" in codes(several.remarks)  # these are for equal base rates
    several = estimate_share(now, validation=(y, prob), trained_at=[1 / 3, 1 / 3, 1 / 3])
    assert "probabilities-off" not in codes(several.remarks)


def test_chance_seldom_looks_like_other_base_rates():
    rng = np.random.default_rng(5)
    said = 0
    for _ in range(100):
        group = np.repeat(np.arange(60), 4)
        y, prob = world(rng, 60, 0.15, at=0.15)
        validation = {"y": y[group], "prob": prob[group], "groups": group}
        if min(np.bincount(y)) < 2:
            continue
        _, now = world(rng, 60, 0.3, at=0.15)
        found = estimate_share(now, validation=validation, resamples=100)
        said += "probabilities-off" in codes(found.remarks)
    assert said <= 4


def test_columns_of_tables_are_aligned_by_the_name_of_the_class(rng):
    y, prob = three(rng, 900, [0.6, 0.3, 0.1])
    _, now = three(rng, 700, [0.2, 0.3, 0.5])
    label, names = np.array(["a", "b", "c"])[y], ["a", "b", "c"]
    right = estimate_share(now, validation=(label, prob))
    valid, today = (pd.DataFrame(one, columns=names) for one in (prob, now))
    turned = ["c", "a", "b"]
    for found in (
        estimate_share(today, validation=(label, valid[turned])),
        estimate_share(now, validation={"y": label, "prob": valid[turned]}),
        estimate_share(today[turned], validation=(label, valid), classes=names),
        estimate_share(now, validation=(label, valid[turned]), classes=names),
    ):
        assert found.as_base_rates() == pytest.approx(right.as_base_rates(), abs=1e-5)
        assert found.p_value == right.p_value
    found = estimate_share(today[turned], validation=(label, valid))
    assert found.as_base_rates() == pytest.approx(right.as_base_rates(), abs=1e-3)
    with refused("class-mismatch", UsageError):
        correct_prior(today[turned], [0.6, 0.3, 0.1], right, classes=names)


def test_labels_of_too_few_or_many_classes_are_named_for_what_they_are(rng):
    y, prob = world(rng, 300, 0.2)
    with refused("class-mismatch", UsageError) as said:
        estimate_share(prob, validation=(np.zeros(300), prob))
    assert said.value.fields["count"] == 1
    assert said.value.fields["order"] == [0.0]
    with refused("class-mismatch", UsageError) as said:  # exchanged
        estimate_share(prob, validation=(prob, y))
    assert len(said.value.fields["order"]) == 4


@pytest.mark.parametrize("wrong", [30, 1.0, 0, -0.1, None, float("nan")])
def test_a_base_rate_out_of_range_is_shown_as_it_was_given(wrong):
    with refused("base-rate-range", UsageError) as said:
        correct_prior([0.2, 0.3], 0.1, wrong)
    assert repr(wrong) in str(said.value)
    assert ("0.3" in str(said.value)) == (wrong == 30)


def test_by_position_where_nobody_said_names(rng):
    _, now = world(rng, 500, 0.3)
    found = estimate_share(now, trained_at=0.1)
    assert not found.named
    moved = correct_prior(now, {"no": 0.9, "yes": 0.1}, found, classes=["no", "yes"])
    np.testing.assert_allclose(moved, correct_prior(now, 0.1, found.share.value), rtol=1e-12)


def test_many_rows_take_little_time_and_few_events_a_wide_interval(rng):
    y, prob = world(rng, 2000, 0.1)
    _, now = world(rng, 60_000, 0.3)
    found = estimate_share(now, validation=(y, prob))
    some = estimate_share(now[:15_000], validation=(y, prob))
    assert found.share.value == pytest.approx(some.share.value, abs=0.02)
    few = np.flatnonzero(y == 1)[6:]
    less = np.delete(np.arange(2000), few)
    short = estimate_share(now, validation=(y[less], prob[less]))
    assert short.share.width > 1.5 * found.share.width
    assert "few-rows" in codes(short.remarks)


def test_certain_probabilities_and_constant_ones():
    y = np.repeat([0, 1], 50)
    prob = y.astype(float)
    found = estimate_share(np.repeat([0.0, 1.0], [80, 20]), validation=(y, prob))
    assert found.share.value == pytest.approx(0.2, abs=0.03)
    assert 0.2 in found.share
    none = estimate_share(np.zeros(200), validation=(y, prob))
    assert none.share.low == 0
    assert 0.005 < none.share.high < 0.05
    flat = estimate_share(np.full(50, 0.3), validation=(y, np.full(100, 0.3)))
    assert flat.share.width == 1
    assert np.isnan(flat.p_value)
    for value in (0.0, 1.0, 0.5):
        assert 0 < estimate_share(np.full(50, value), trained_at=0.1).share.value < 1


# --- few rows of today's --------------------------------------------------------------------------


@pytest.mark.parametrize("rows", [1, 3, 9])
def test_few_rows_of_today_s_are_said_and_contradict_nothing(rows):
    """In four of ten samples they did, while the bins of the test were cut around them."""
    rng = np.random.default_rng(12)
    for _ in range(8):
        y, prob = world(rng, 500, 0.1)
        _, now = world(rng, rows, 0.3)
        found = estimate_share(now, validation=(y, prob), resamples=100)
        assert found.is_label_shift is None
        assert codes(found.remarks) == ["few-rows"]
        assert 0.3 in found.share
    weight = np.r_[1e12, np.ones(59)]
    heavy = estimate_share(world(rng, 60, 0.3)[1], validation=(y, prob), sample_weight=weight)
    assert heavy.is_label_shift is None
    assert codes(heavy.remarks) == ["few-rows"]


def test_twelve_rows_of_today_s_seldom_contradict():
    rng = np.random.default_rng(13)
    found = []
    for _ in range(80):
        low, high, now = rng.beta(2, 6, 400), rng.beta(6, 2, 100), rng.beta(2, 6, 12)
        table = [(np.column_stack([1 - p, p]), np.ones(len(p))) for p in (now, low, high)]
        found.append(mixture_p_value(table[0], table[1:], np.array([12.0, 400.0, 100.0]), 0))
    assert np.mean(np.array(found) <= 0.05) <= 0.1


def test_one_row_that_looks_like_an_event_does_not_lower_the_base_rate(rng):
    y, prob = world(rng, 600, 0.1)
    sure = estimate_share([0.95], validation=(y, prob), trained_at=0.1).share
    doubtful = estimate_share([0.01], validation=(y, prob), trained_at=0.1).share
    assert sure.value > 0.1
    assert doubtful.value < 0.1
    assert codes(estimate_share([0.95], trained_at=0.1).remarks) == ["no-validation", "few-rows"]


# --- what the test cannot see ---------------------------------------------------------------------


def test_scores_that_have_moved_unseen_are_spoken_of_where_rows_are_few(rng):
    y, prob = world(rng, 1000, 0.1)
    _, now = world(rng, 60, 0.3)
    moved = expit(logit(now) + 1)  # a quarter of the distance between the classes
    found = estimate_share(moved, validation=(y, prob))
    assert 0.3 not in found.share
    assert found.is_label_shift
    assert codes(found.remarks) == ["weak-test"]
    least = float(found.remarks[0].fields["rates"].removeprefix("from ").split(" ")[0])
    assert least < 0.3 < found.share.low
    y, prob = world(rng, 8000, 0.3)
    _, now = world(rng, 8000, 0.5)
    given = {"validation": (y, prob), "trained_at": 0.1, "resamples": 100}
    plain = estimate_share(now, **given)
    assert not plain.remarks
    moved = estimate_share(expit(logit(now) + 1), **given)
    assert codes(moved.remarks) == ["not-label-shift"]


def test_how_often_a_change_is_seen_is_near_what_drawing_it_shows():
    """Above it, by as much as is said: the laws that are simulated hold the noise of the rows."""
    rng = np.random.default_rng(14)

    def rows(n, a, b, power=1.0):
        p = rng.beta(a, b, n) ** power
        return np.column_stack([1 - p, p]), np.ones(n)

    def changed(now, power):
        mixed = [np.concatenate(one) for one in zip(*now, strict=True)]
        told = mixture((mixed[0], mixed[1]), parts, sizes, 0)
        after = [(np.column_stack([1 - p[:, 1] ** power, p[:, 1] ** power]), w) for p, w in parts]
        return told.power(after, np.array([0.5, 0.5])), told.p_value <= SIGNIFICANT

    sizes = np.array([80.0, 300.0, 100.0])
    found = {}
    for power in (1.0, 0.8, 0.6):
        each = []
        for _ in range(12):
            parts = [rows(300, 2, 6), rows(100, 6, 2)]
            each.append(changed([rows(40, 2, 6, power), rows(40, 6, 2, power)], power))
        found[power] = np.mean(each, axis=0)
    told = [one[0] for one in found.values()]
    assert told == sorted(told)
    assert told[0] < 0.12
    for one in found.values():
        assert one[1] - 0.2 <= one[0] <= one[1] + 0.4


def test_predicted_classes_leave_label_shift_untested_which_is_said(rng):
    y, prob = world(rng, 800, 0.2)
    _, now = world(rng, 600, 0.1)
    found = estimate_share(1.0 * (now > 0.5), validation=(y, 1.0 * (prob > 0.5)))
    assert found.is_label_shift is None
    assert codes(found.remarks) == ["not-tested"]


def test_probabilities_that_rank_the_wrong_way_round_are_named(rng):
    y, prob = world(rng, 800, 0.2)
    _, now = world(rng, 600, 0.1)
    found = estimate_share(now, validation=(1 - y, prob))
    assert found.share.width > 0.9
    assert codes(found.remarks) == ["no-ranking"]


# --- several classes without validation -----------------------------------------------------------


def test_oracle_limits_of_em_where_the_classes_are_certain():
    """Then the counts are multinomial, and the likelihood ratio of a class is a binomial's."""
    prob = np.repeat(np.eye(3), [3, 0, 40], axis=0)
    found = estimate_share(prob, trained_at=[0.3, 0.3, 0.4])
    n, reach = 43, norm.ppf(0.95) ** 2 / 2

    def off(share, k):
        top = k * np.log(k / n) + (n - k) * np.log1p(-k / n)
        return top - k * np.log(share) - (n - k) * np.log1p(-share) - reach

    for one, k in ((found.shares[0], 3), (found.shares[2], 40)):
        assert one.low <= brentq(off, 1e-9, k / n, args=(k,)) + 1e-3
        assert one.high >= brentq(off, k / n, 1 - 1e-9, args=(k,)) - 1e-3
    assert found.shares[1].high >= 1 - np.exp(-reach / n) - 1e-3


def test_coverage_of_em_for_several_classes_of_which_one_is_missing():
    rng = np.random.default_rng(15)
    before, shares = np.array([0.5, 0.3, 0.2]), np.array([0.6, 0.4, 0.0])
    held = []
    for _ in range(40):
        y = rng.choice(3, 60, p=shares)
        odds = np.exp(2 * (rng.normal(size=(60, 3)) + 2 * np.eye(3)[y])) * before
        now = odds / odds.sum(axis=1, keepdims=True)
        found = estimate_share(now, trained_at=before, resamples=200)
        held.append([one in each for one, each in zip(shares, found.shares, strict=True)])
    assert (np.mean(held, axis=0) >= 0.9 - 2 * np.sqrt(0.9 * 0.1 / 40)).all()


def test_a_column_of_labels_is_labels_and_what_is_hidden_or_text_is_no_probability(rng):
    y, prob = world(rng, 300, 0.3)
    _, now = world(rng, 200, 0.3)
    found = estimate_share(now, validation=(y, prob), resamples=100)
    column = estimate_share(now, validation=(y[:, None], prob), resamples=100)
    assert column.share == found.share
    with refused("prob-range", DataError, row=5):
        estimate_share(np.ma.array(now, mask=np.arange(200) == 5), trained_at=0.3)
    with refused("not-a-number", DataError, argument="prob_now"):
        estimate_share(["a", "b"], trained_at=0.3)
    with refused("unknown-class", DataError, label=int(y[0])):
        estimate_share(now, validation=(y, prob), classes=["a", "b"])


def test_refusals(rng):
    y, prob = world(rng, 200, 0.3)
    with refused("no-base-rate", UsageError):
        estimate_share(prob)
    with refused("too-few-labels", DataError, count=4):
        few = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4]]
        estimate_share(prob, validation=(y[few], prob[few]))
    with refused("prob-range", DataError):
        estimate_share([0.2, 1.3], trained_at=0.1)
    with refused("prob-sum", DataError):
        estimate_share([[0.2, 0.3]], trained_at=0.1)
    with refused("class-count", DataError):
        estimate_share([[0.2, 0.3, 0.5]], validation=(y, prob))
    with refused("class-mismatch", UsageError):
        estimate_share(prob, validation=(np.zeros(200), prob))
    with refused("validation-type", UsageError):
        estimate_share(prob, validation={"y": y, "probs": prob})
    with refused("validation-type", UsageError):
        estimate_share(prob, validation=np.ones(5))
    with refused("unknown-class", DataError):
        estimate_share(prob, validation=(y, prob), classes=["a", "b"])
    with refused("unlabelled-rows", DataError):
        estimate_share(prob, validation=(np.where(y == 1, 1.0, np.nan), prob))
    with refused("no-rows", DataError):
        estimate_share([], trained_at=0.1)
    with refused("index-mismatch"):
        estimate_share(pd.Series(prob), trained_at=0.1,
                       sample_weight=pd.Series(np.ones(200), index=range(1, 201)))  # fmt: skip
    with refused("index-mismatch"):
        estimate_share(prob, validation=(pd.Series(y), pd.Series(prob, index=range(1, 201))))


def test_the_record_prints_and_stores(rng):
    y, prob = world(rng, 500, 0.2)
    found = estimate_share(prob, validation=(y, prob))
    assert isinstance(found, ShareEstimate)
    assert "p = " in str(found)
    assert found.to_dict()["shares"][1]["value"] == found.share.value
    assert "<table" in found._repr_html_()


def test_a_mixture_of_the_classes_is_not_refused_and_the_p_value_is_uniform():
    rng = np.random.default_rng(11)
    found = []
    for _ in range(60):
        low, high, now = rng.beta(2, 6, 80), rng.beta(6, 2, 20), rng.beta(2, 6, 100)
        now[:60] = rng.beta(6, 2, 60)
        table = [(np.column_stack([1 - p, p]), np.ones(len(p))) for p in (now, low, high)]
        found.append(mixture_p_value(table[0], table[1:], np.array([100.0, 80.0, 20.0]), 0))
    assert np.mean(np.array(found) <= 0.05) <= 0.1
    assert 0.35 < np.mean(np.array(found) <= 0.5) < 0.65


def test_decisions_at_every_base_rate_of_the_interval(rng):
    y, prob = world(rng, 1500, 0.2)
    _, now = world(rng, 1000, 0.4)
    found = estimate_share(now, validation=(y, prob))
    costs = [[0, 9], [1, 0]]
    done = decide_between(now, now, costs, now_at=found)
    ends = np.linspace(found.share.low, found.share.high, 41)
    every = np.stack([decide(now, costs, trained_at=found.trained_at, now_at=one) for one in ends])
    np.testing.assert_array_equal(done.settled, (every == every[0]).all(axis=0))
    regret = np.zeros(1000)
    for one in ends:
        p = correct_prior(now, found.trained_at, one)
        taken = np.where(done.actions == 1, 1 - p, 9 * p)
        regret = np.maximum(regret, taken - np.minimum(1 - p, 9 * p))
    np.testing.assert_allclose(done.bound, regret, atol=1e-12)
    stable = stable_prior(now, costs, trained_at=found.trained_at)
    kept = (stable.low <= found.share.low) & (stable.high >= found.share.high)
    assert stable.share(found) == kept.mean()
    with refused("no-base-rate", UsageError):
        decide_between(now, now, costs, trained_at=0.2)


def test_bounds_of_several_classes_hold_every_base_rate_between(rng):
    y, prob = three(rng, 1500, [0.6, 0.3, 0.1])
    _, now = three(rng, 500, [0.2, 0.3, 0.5])
    found = estimate_share(now, validation=(y, prob))
    found = replace(found, remarks=())  # whatever the test of label shift says of this draw
    costs = 1 - np.eye(3)
    low, high = bounds_at(now, now, np.array(found.trained_at), found.low, found.high)
    for weights in rng.dirichlet([1, 1, 1], 200):
        shares = found.low + weights * (found.high - found.low)
        moved = correct_prior(now, found.trained_at, shares / shares.sum())
        inside = (shares / shares.sum() >= found.low) & (shares / shares.sum() <= found.high)
        if inside.all():
            assert ((moved >= low - 1e-12) & (moved <= high + 1e-12)).all()
    assert decide_between(now, now, costs, now_at=found).settled.any()
    with refused("class-mismatch", UsageError):
        decide_between(now[:, 1], now[:, 1], [[0, 9], [1, 0]], now_at=found)


def contradicted(rng):
    """Rows whose scores have moved, and what is found of them."""
    y, prob = world(rng, 2000, 0.2)
    _, now = world(rng, 1500, 0.2)
    odds = np.log(now / (1 - now)) + 2
    now = 1 / (1 + np.exp(-odds))
    return y, prob, now, estimate_share(now, validation=(y, prob), trained_at=0.1)


def test_estimating_says_in_the_record_that_label_shift_is_contradicted(rng):
    _, _, _, found = contradicted(rng)
    assert found.is_label_shift is False
    assert codes(found.remarks) == ["not-label-shift"]
    assert "contradict" in found.share.assumes
    assert "not known" in str(found)


COSTS = [[0, 9], [1, 0]]
USES = {
    "correct_prior": lambda X, y, now, found: correct_prior(now, found.trained_at, found),
    "PriorCorrected": lambda X, y, now, found: (
        PriorCorrected(LogisticRegression(), prior=found).fit(X, y).predict_proba(X)
    ),
    "PriorCorrected, one class": lambda X, y, now, found: PriorCorrected(
        LogisticRegression(), prior=found
    ).fit(X, np.where(y == 1, 1.0, np.nan)),
    "MaxentClassifier": lambda X, y, now, found: MaxentClassifier(
        width_scale=1.0, prevalence=found
    ).fit(X[:200], y[:200]),
    "decide": lambda X, y, now, found: decide(now, COSTS, trained_at=0.2, now_at=found),
    "expected_cost": lambda X, y, now, found: expected_cost(
        now, COSTS, trained_at=0.2, now_at=found
    ),
    "with_prior": lambda X, y, now, found: CostMatrix(COSTS).with_prior(0.2, found),
    "decide_between": lambda X, y, now, found: decide_between(now, now, COSTS, now_at=found),
    "stable_prior": lambda X, y, now, found: stable_prior(now, COSTS, trained_at=0.2).share(found),
}


@pytest.mark.parametrize("use", USES)
def test_whatever_takes_a_contradicted_estimate_warns_once(rng, use):
    y, prob, now, found = contradicted(rng)
    with warned("not-label-shift") as said:
        USES[use](np.log(prob / (1 - prob))[:, None], y, now, found)
    assert len(said) == 1
    USES[use](np.log(prob / (1 - prob))[:, None], y, now, replace(found, remarks=()))
