"""AUC: scikit-learn's value, DeLong's spread the slow way, intervals that hold with few events."""

import numpy as np
import pytest
from scipy.stats import norm
from sklearn.metrics import roc_auc_score

from scarce.evaluation.ranking import auc


@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_the_value_is_scikit_learns(rng, weighted):
    y = (rng.random(400) < 0.2).astype(int)
    score = np.round(rng.normal(size=400) + y, 1)  # with ties
    weight = rng.random(400) if weighted else None
    found = auc(y, score, sample_weight=weight)
    assert found.value == pytest.approx(roc_auc_score(y, score, sample_weight=weight), rel=1e-12)
    assert found.low < found.value < found.high


def test_oracle_the_spread_is_delongs_by_all_pairs(rng):
    y = np.repeat([0, 1], [3000, 1500])
    score = np.round(rng.normal(size=4500) + y, 1)
    pairs = np.sign(score[y == 1][:, None] - score[y == 0]) / 2 + 0.5
    v, u = pairs.mean(axis=1), pairs.mean(axis=0)
    error = np.sqrt(v.var(ddof=1) / 1500 + u.var(ddof=1) / 3000)
    for groups in (None, np.arange(4500)):
        assert auc(y, score, groups=groups).width == pytest.approx(2 * 1.645 * error, rel=0.06)


@pytest.mark.parametrize(
    ("events", "others", "shift", "spread"), [(3, 100, 3, 1), (8, 300, 2, 1), (40, 400, 1, 2.5)]
)
def test_coverage_with_few_events(rng, events, others, shift, spread):
    """At least the 90 % promised; a normal interval holds in 59 % of the first case."""
    truth = norm.cdf(shift / np.hypot(1, spread))
    y = np.repeat([0, 1], [others, events])
    held = 0
    for _ in range(60):
        score = np.append(rng.normal(size=others), rng.normal(shift, spread, events))
        held += truth in auc(y, score)
    assert held / 60 >= 0.9


def test_rows_that_come_together_widen_and_singletons_do_not(rng):
    """With few events, groups of one row each are rows: no jump from one method to another."""
    y = np.repeat([0, 1], [300, 13])
    score = rng.normal(size=313) + y
    alone, singles = auc(y, score), auc(y, score, groups=np.arange(313))
    assert singles.low == pytest.approx(alone.low, abs=0.03)
    assert singles.high == pytest.approx(alone.high, abs=0.03)
    wide = auc(np.repeat(y, 3), np.repeat(score, 3), groups=np.repeat(np.arange(313), 3))
    narrow = auc(np.repeat(y, 3), np.repeat(score, 3))
    assert wide.width > 1.4 * narrow.width
    assert wide.width == pytest.approx(alone.width, rel=0.1)


def test_a_perfect_order_may_still_be_luck():
    found = auc([0] * 50 + [1] * 4, np.arange(54))
    assert found.value == found.high == 1.0
    assert found.low < 0.6  # one unseen event in five may rank anywhere


def test_equal_weights_change_nothing_and_scale_does_not_matter(rng):
    y = (rng.random(200) < 0.3).astype(int)
    score = rng.normal(size=200)
    plain = auc(y, score)
    for weight in (np.ones(200), np.full(200, 7.0)):
        other = auc(y, score, sample_weight=weight)
        assert (other.low, other.value, other.high) == pytest.approx(
            (plain.low, plain.value, plain.high), rel=1e-12
        )


@pytest.mark.parametrize("y", [[0, 0, 0], [1, 1, 1]])
def test_one_class_is_unknown(y):
    found = auc(y, [0.1, 0.2, 0.3])
    assert np.isnan([found.value, found.low, found.high]).all()
    assert "one class only" in found.assumes


def test_a_level_is_the_level(rng):
    y = (rng.random(300) < 0.2).astype(int)
    score = rng.normal(size=300) + y
    assert auc(y, score, level=0.5).width < auc(y, score, level=0.99).width


def test_weights_of_events_count_and_limits_stay_within_1(rng):
    y = np.arange(120) % 3 == 0
    score = rng.normal(size=120) + y
    weight = rng.integers(1, 5, 120).astype(float)
    repeated = auc(np.repeat(y, weight.astype(int)), np.repeat(score, weight.astype(int)))
    assert auc(y, score, sample_weight=weight).value == pytest.approx(repeated.value)
    sure = auc(np.repeat([0, 1], 5), np.arange(10.0))
    assert 0 <= sure.low <= sure.high <= 1


@pytest.mark.parametrize(
    ("area", "events", "cuts"),
    [(0.8, 100, None), (0.8, 100, [-0.5, 0.5, 1.2, 2.0]), (0.95, 100, None), (0.8, 5, None)],
)
def test_coverage_is_near_the_level_and_the_width_near_delongs(area, events, cuts):
    """90 % intervals hold in 85 to 98 % of draws; experiments/intervals/auc.md has many more."""
    rng, held, width, delong = np.random.default_rng(3), 0, 0.0, 0.0
    shift, y = np.sqrt(2) * norm.ppf(area), np.repeat([1, 0], [events, 200])
    if cuts is not None:
        share = np.diff(norm.cdf([-np.inf, *(np.array(cuts) - shift), np.inf]))
        below = norm.cdf([-np.inf, *cuts, np.inf])
        area = share @ (below[:-1] + np.diff(below) / 2)
    for _ in range(200):
        score = rng.normal(size=events + 200) + shift * y
        score = score if cuts is None else np.digitize(score, cuts)
        found = auc(y, score, resamples=400)
        held, width = held + (area in found), width + found.width
        pairs = np.sign(score[y == 1][:, None] - score[y == 0]) / 2 + 0.5
        parts = pairs.mean(axis=1).var(ddof=1) / events + pairs.mean(axis=0).var(ddof=1) / 200
        delong += 2 * 1.645 * np.sqrt(parts)
    assert 0.85 <= held / 200 <= 0.98
    if events == 100:
        assert width < 1.1 * delong


def test_events_that_nobody_saw_weigh_what_their_stratum_weighs():
    """100 alerts, all labelled, 30 events; 100 of 10,000 others labelled, none an event.

    As many as 2.9 % of the others may be events (Clopper and Pearson at 95 %), which would rank by
    half: the low limit of the AUC has to allow for that.
    """
    y = np.full(10_100, np.nan)
    y[:30], y[30:200] = 1, 0
    score = np.repeat([0.3, 0.03], [100, 10_000])
    inclusion = np.repeat([1.0, 0.01], [100, 10_000])
    hidden = 10_000 * (1 - 0.05 ** (1 / 100))
    truth = np.repeat([1, 0, 1, 0], [30, 70, round(hidden), 10_000 - round(hidden)])
    found = auc(y, score, inclusion=inclusion)
    assert found.low == pytest.approx(roc_auc_score(truth, score), abs=0.05)
