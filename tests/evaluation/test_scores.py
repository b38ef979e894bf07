"""Proper scores with intervals: right values, honest coverage."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from scarce import DataError, brier_score, log_loss
from tests.problems import refused


@pytest.fixture
def outcomes(rng):
    prob = rng.beta(0.5, 8, 4000)
    return (rng.random(4000) < prob).astype(float), prob


@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_scikit_learn_agrees(outcomes, rng, weighted):
    y, prob = outcomes
    weight = rng.random(4000) if weighted else None
    ours = brier_score(y, prob, sample_weight=weight)
    assert ours.value == pytest.approx(brier_score_loss(y, prob, sample_weight=weight), rel=1e-12)
    ours = log_loss(y, prob, sample_weight=weight)
    assert ours.value == pytest.approx(sklearn_log_loss(y, prob, sample_weight=weight), rel=1e-9)


@pytest.mark.parametrize("score", [brier_score, log_loss])
def test_coverage_of_the_interval(rng, score):
    """True expected score known: 90 % intervals hold it in 87 to 97 % of 300 repetitions."""
    prob = np.tile([0.02, 0.1, 0.3, 0.6], 100)
    truth = {
        brier_score: np.mean(prob * (1 - prob)),
        log_loss: -np.mean(prob * np.log(prob) + (1 - prob) * np.log1p(-prob)),
    }[score]
    hits = [truth in score((rng.random(400) < prob).astype(float), prob) for _ in range(300)]
    assert 0.87 < np.mean(hits) < 0.97


def test_weights_of_two_are_rows_twice_in_value():
    value = brier_score([0, 1], [0.2, 0.6], sample_weight=[1, 2]).value
    assert value == pytest.approx(brier_score([0, 1, 1], [0.2, 0.6, 0.6]).value)


def test_impossible_outcomes_cost_infinitely_much_and_are_counted():
    loss = log_loss([1, 1, 0], [0.0, 0.5, 1.0])
    assert loss.value == np.inf
    assert loss.method == "2 outcomes had probability 0"


def test_rows_of_one_class_have_no_interval():
    assert np.isnan(brier_score([1], [0.5]).high)
    assert np.isnan(log_loss([0, 0, 0], [0.5, 0.1, 0.2]).low)


@pytest.mark.parametrize(
    ("y", "prob", "code"),
    [
        ([0, np.nan], [0.5, 0.5], "unlabelled-rows"),
        ([0, 2], [0.5, 0.5], "unknown-class"),
        ([0, 1], [0.5, 1.5], "prob-range"),
        ([0, 1], [[0.5, 0.5]], "not-a-column"),
        ([], [], "no-rows"),
    ],
)
def test_what_cannot_work_is_refused(y, prob, code):
    with refused(code, DataError):
        brier_score(y, prob)


def test_weights_must_be_weights():
    for weight in ([1.0], [-1.0, 1.0], [0.0, 0.0]):
        with pytest.raises(DataError):
            brier_score([0, 1], [0.5, 0.5], sample_weight=weight)
