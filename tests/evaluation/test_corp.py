"""The reliability curve: against scikit-learn's isotonic regression and plain draws."""

import numpy as np
import pytest
from sklearn.isotonic import IsotonicRegression

from scarce import brier_score, log_loss, reliability_curve
from tests.problems import refused


def world(n=400, seed=0, times=1.0):
    rng = np.random.default_rng(seed)
    prob = rng.beta(1, 9, n)
    return (rng.random(n) < np.minimum(times * prob, 1)).astype(float), prob


def test_the_curve_is_isotonic_regression_and_the_losses_add_up():
    y, prob = world()
    prob = prob.round(2) + 0.005  # ties
    weight = np.random.default_rng(1).uniform(0.2, 3, 400)
    found = reliability_curve(y, prob, sample_weight=weight, resamples=100)
    plain = IsotonicRegression().fit(prob, y, sample_weight=weight)
    np.testing.assert_allclose(found.observed, plain.predict(found.predicted), atol=1e-12)
    fitted = np.clip(plain.predict(prob), 1e-300, 1)
    for parts, score in ((found.log_loss, log_loss), (found.brier, brier_score)):
        loss, best, base = (
            score(y, p, sample_weight=weight).value
            for p in (prob, fitted, np.full(400, np.average(y, weights=weight)))
        )
        assert parts.loss == pytest.approx(loss)
        assert parts.miscalibration == pytest.approx(loss - best, abs=1e-12)
        assert parts.discrimination == pytest.approx(base - best)
        assert parts.uncertainty == pytest.approx(base)
    assert (found.rows, found.events) == (400, int(y.sum()))


def test_the_band_is_where_curves_of_drawn_outcomes_lie():
    y, prob = world(300, 2)
    found = reliability_curve(y, prob, resamples=2000)
    rng = np.random.default_rng(5)
    curves, excess = [], []
    for _ in range(600):
        drawn = (rng.random(300) < prob).astype(float)
        curve = IsotonicRegression().fit(prob, drawn).predict(prob)
        curves.append(curve[np.argsort(prob)])
        excess.append(np.mean((drawn - prob) ** 2) - np.mean((drawn - curve) ** 2))
    low, high = np.quantile(curves, [0.05, 0.95], axis=0)
    assert np.abs(found.low - low).mean() < 0.01
    assert np.abs(found.high - high).mean() < 0.02
    middle = slice(100, 280)  # of the rows, where the curve is neither 0 nor 1
    assert found.low[middle].mean() == pytest.approx(low[middle].mean(), rel=0.06)
    assert found.high[middle].mean() == pytest.approx(high[middle].mean(), rel=0.04)
    assert found.brier.by_chance == pytest.approx(np.mean(excess), rel=0.1)
    share = np.mean(np.array(excess) >= found.brier.miscalibration)
    assert found.brier.p_value == pytest.approx(share, abs=0.06)


def test_right_probabilities_are_seldom_called_wrong_and_wrong_ones_often():
    right = [reliability_curve(*world(200, k), resamples=100) for k in range(40)]
    assert 0.25 < np.mean([one.log_loss.p_value for one in right]) < 0.75
    assert np.mean([one.log_loss.p_value <= 0.1 for one in right]) <= 0.25
    wrong = [reliability_curve(*world(400, k, 2.0), resamples=100) for k in range(10)]
    assert np.mean([one.log_loss.p_value <= 0.1 for one in wrong]) >= 0.9


def test_copies_in_groups_say_no_more_than_their_rows():
    y, prob = world(200, 3)
    once = reliability_curve(y, prob, resamples=200)
    five = np.repeat(np.arange(200), 5)
    copied = reliability_curve(y[five], prob[five], groups=five, resamples=200)
    np.testing.assert_allclose(copied.observed, once.observed, atol=1e-12)
    np.testing.assert_allclose(copied.high, once.high, atol=1e-12)
    assert copied.log_loss.p_value == once.log_loss.p_value
    alone = reliability_curve(y[five], prob[five], resamples=200)
    assert (alone.high - alone.low).mean() < 0.7 * (once.high - once.low).mean()


def test_order_and_units_do_not_matter_and_counts_are_rows():
    y, prob = world(300, 4)
    order = np.random.default_rng(0).permutation(300)
    found = reliability_curve(y, prob, resamples=100)
    for again in (
        reliability_curve(y[order], prob[order], resamples=100),
        reliability_curve(y, prob, sample_weight=np.full(300, 0.01), resamples=100),
    ):
        np.testing.assert_allclose(again.high, found.high, atol=1e-12)
        assert again.log_loss.p_value == found.log_loss.p_value
    counts = 1 + np.arange(300) % 3
    weighted = reliability_curve(y, prob, sample_weight=counts, weight_kind="frequency")
    rows = reliability_curve(np.repeat(y, counts), np.repeat(prob, counts))
    np.testing.assert_allclose(weighted.low, rows.low, atol=1e-12)


def test_many_distinct_probabilities_are_put_together():
    y, prob = world(9000, 5)
    found = reliability_curve(y, prob, resamples=100)
    assert 1500 < len(found.predicted) <= 2001
    plain = IsotonicRegression().fit(prob, y).predict(found.predicted)
    assert np.abs(found.observed - plain).mean() < 0.005
    assert found.brier.loss == pytest.approx(np.mean((y - prob) ** 2))


def test_drawn_labels_stand_for_the_others():
    y, prob = world(6000, 6)
    chance = np.where(prob > 0.2, 1.0, 0.2)
    seen = np.where(np.random.default_rng(1).random(6000) < chance, y, np.nan)
    drawn = reliability_curve(seen, prob, inclusion=chance, resamples=100)
    assert drawn.brier.loss == pytest.approx(np.mean((y - prob) ** 2), rel=0.1)
    assert drawn.log_loss.p_value > 0.02


def test_what_is_odd_is_said():
    y, prob = world(200, 7)
    few = np.append(np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:4])
    assert [r.code for r in reliability_curve(y[few], prob[few]).remarks] == ["few-events"]
    prob[np.flatnonzero(y == 1)[0]] = 0.0
    odd = reliability_curve(y, prob, resamples=100)
    assert "impossible-happened" in [r.code for r in odd.remarks]
    assert odd.log_loss.miscalibration == np.inf
    assert odd.log_loss.p_value == pytest.approx(1 / 101)
    with refused("unlabelled-rows"):
        reliability_curve([0, 1, np.nan], [0.1, 0.2, 0.3])
