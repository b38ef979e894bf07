"""Proper scores with intervals: right values, honest coverage."""

import numpy as np
import pytest
from sklearn.metrics import brier_score_loss
from sklearn.metrics import log_loss as sklearn_log_loss

from scarce import DataError, UsageError, brier_score, log_loss


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
    """True expected score known: 90 % intervals hold it in 86 to 94 % of 600 repetitions."""
    prob = np.tile([0.02, 0.1, 0.3, 0.6], 100)
    truth = {
        brier_score: np.mean(prob * (1 - prob)),
        log_loss: -np.mean(prob * np.log(prob) + (1 - prob) * np.log1p(-prob)),
    }[score]
    hits = [truth in score((rng.random(400) < prob).astype(float), prob) for _ in range(600)]
    assert 0.86 < np.mean(hits) < 0.94


def test_weights_of_two_are_rows_twice_in_value():
    value = brier_score([0, 1], [0.2, 0.6], sample_weight=[1, 2]).value
    assert value == pytest.approx(brier_score([0, 1, 1], [0.2, 0.6, 0.6]).value)


def test_impossible_outcomes_cost_infinitely_much_and_are_counted():
    loss = log_loss([1, 1, 0], [0.0, 0.5, 1.0])
    assert loss.value == np.inf
    assert loss.method == "2 outcomes had probability 0"


def test_one_row_has_no_interval():
    assert brier_score([1], [0.5]).high == np.inf


@pytest.mark.parametrize(
    ("y", "prob", "words"),
    [
        ([0, np.nan], [0.5, 0.5], "nan at row 1: outcomes are 0 or 1"),
        ([0, 2], [0.5, 0.5], "2.0 at row 1"),
        ([0, 1], [0.5, 1.5], "1.5 at row 1.*not scores"),
        ([0, 1], [[0.5, 0.5]], r"predict_proba\(X\)\[:, 1\]"),
        ([], [], r"shape \(0,\)"),
    ],
)
def test_what_cannot_work_is_refused(y, prob, words):
    with pytest.raises(DataError, match=words):
        brier_score(y, prob)


def test_weights_must_be_weights():
    for weight in ([1.0], [-1.0, 1.0], [0.0, 0.0]):
        with pytest.raises(UsageError, match="one number >= 0 per row"):
            brier_score([0, 1], [0.5, 0.5], sample_weight=weight)
