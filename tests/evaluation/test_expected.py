"""Expected figures of rows without labels."""

import numpy as np
import pytest
from scipy.special import expit, logit

from scarce import expected_figures
from tests.problems import refused


def test_number_of_events_is_poisson_binomial(rng):
    prob = rng.beta(0.3, 5, 300)
    exact = np.ones(1)
    for p in prob:
        exact = np.convolve(exact, [1 - p, p])
    below = np.cumsum(exact)
    found = expected_figures(prob, resamples=4000).events
    assert found.value == pytest.approx(prob.sum())
    assert abs(found.low - np.searchsorted(below, 0.05)) <= 1
    assert abs(found.high - np.searchsorted(below, 0.95)) <= 1


def test_expected_scores_are_those_of_drawn_outcomes(rng):
    prob = rng.beta(1, 4, 500)
    drawn = rng.random((4000, 500)) < prob
    losses = -(drawn * np.log(prob) + ~drawn * np.log1p(-prob)).mean(axis=1)
    squares = ((drawn - prob) ** 2).mean(axis=1)
    found = expected_figures(prob, resamples=4000)
    for one, draws in ((found.log_loss, losses), (found.brier, squares)):
        spread = draws.std()
        assert abs(one.value - draws.mean()) < 0.1 * spread
        assert np.allclose(
            [one.low, one.high], np.quantile(draws, [0.05, 0.95]), atol=0.15 * spread
        )


def test_simulation_intervals_hold_what_is_counted_later():
    held = np.zeros(5)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        prob = rng.beta(0.3, 5, 200)
        y = rng.random(200) < prob
        alert = prob >= 0.2
        found = expected_figures(prob, threshold=0.2, resamples=200, random_state=seed)
        cut = found.at_threshold
        assert cut.alerts == alert.sum()
        seen = [
            y.sum(), ((prob - y) ** 2).mean(), y[alert].mean(), y[alert].sum() / y.sum(),
            y[~alert].sum(),
        ]  # fmt: skip
        told = [found.events, found.brier, cut.precision, cut.recall, cut.missed]
        held += [truth in one for truth, one in zip(seen, told, strict=True)]
    assert (held / 150 >= 0.83).all(), held / 150


def test_doubt_widens_by_what_all_probabilities_may_be_off():
    held = np.zeros(2)
    for seed in range(150):
        rng = np.random.default_rng(seed)
        prob = rng.beta(1, 20, 1000)
        y = rng.random(1000) < expit(logit(prob) + 0.5 * rng.normal())
        for place, doubt in enumerate((0.0, 0.5)):
            found = expected_figures(prob, doubt=doubt, resamples=200, random_state=seed)
            held[place] += y.sum() in found.events
    assert held[0] / 150 < 0.6
    assert held[1] / 150 > 0.84


def test_assumption_is_named_and_ends_are_finite():
    found = expected_figures([0.0, 1.0, 0.5], threshold=0.5)
    assert "calibrated" in found.events.assumes
    assert found.log_loss.value == pytest.approx(np.log(2) / 3)
    assert (found.events.low, found.events.high) == (1.0, 2.0)
    assert np.isfinite(found.log_loss.high)
    nothing = expected_figures([0.0, 0.0], threshold=0.5).at_threshold
    assert np.isnan(nothing.precision.value)
    assert np.isnan(nothing.recall.value)


def test_order_of_rows_and_unit_of_weights_change_nothing_that_matters(rng):
    prob, weight = rng.beta(1, 9, 100), rng.choice([1.0, 3.0], 100)
    found = expected_figures(prob, sample_weight=weight)
    order = rng.permutation(100)
    again = expected_figures(prob[order], sample_weight=7 * weight[order])
    assert again.rate.value == pytest.approx(found.rate.value)
    assert again.rate.low == pytest.approx(found.rate.low)
    assert again.events.value == pytest.approx(7 * found.events.value)


def test_wrong_arguments_are_refused():
    with refused("no-rows"):
        expected_figures([])
    with refused("prob-range"):
        expected_figures([1.2])
    with refused("number-range"):
        expected_figures([0.2], doubt=-1)
