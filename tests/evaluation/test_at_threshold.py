"""Shares at a threshold: counted as anyone would, exact limits, weights and groups."""

import numpy as np
import pytest
from sklearn.metrics import precision_score, recall_score

from scarce.evaluation.at_threshold import at_threshold
from scarce.missed.rules import proportion


@pytest.fixture
def rows(rng):
    y = (rng.random(600) < 0.1).astype(int)
    return y, rng.normal(size=600) + 1.5 * y


@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_values_are_scikit_learns(rows, rng, weighted):
    y, score = rows
    weight = rng.random(600) if weighted else None
    found, said = at_threshold(y, score, 1.0, sample_weight=weight), score >= 1.0
    assert found.recall.value == pytest.approx(recall_score(y, said, sample_weight=weight))
    assert found.precision.value == pytest.approx(precision_score(y, said, sample_weight=weight))
    assert found.specificity.value == pytest.approx(
        recall_score(1 - y, ~said, sample_weight=weight)
    )
    assert found.alerts.value == pytest.approx(np.average(said, weights=weight))
    assert (found.found, found.missed) == (y[said].sum(), y[~said].sum())
    assert found.false_alarms == (1 - y)[said].sum()


def test_oracle_limits_are_exact_ones():
    """13 events, 7 found: nobody knows recall to be 0.538 in the next 13."""
    y = np.repeat([0, 1], [887, 13])
    score = np.r_[np.zeros(687), np.ones(200), np.zeros(6), np.ones(7)]
    found = at_threshold(y, score, 1.0)
    for one, count, whole in ((found.recall, 7, 13), (found.precision, 7, 207)):
        exact = proportion(count, whole, 0.9, "")
        assert one.low == pytest.approx(exact.low, abs=0.05 * exact.width)
        assert one.high == pytest.approx(exact.high, abs=0.05 * exact.width)


def test_the_threshold_itself_is_an_alert():
    assert at_threshold([0, 1], [0.2, 0.5], 0.5).found == 1
    assert at_threshold([0, 1], [0.2, 0.5], 0.5000001).missed == 1


def test_shares_of_nothing_are_unknown():
    found = at_threshold([0, 0, 0], [0.1, 0.2, 0.3], 0.9)
    assert np.isnan([found.recall.value, found.precision.value]).all()
    assert found.specificity.value == 1.0
    assert found.specificity.low < 1.0


def test_groups_widen(rows):
    y, score = np.repeat(rows[0], 4), np.repeat(rows[1], 4)
    alone = at_threshold(y, score, 1.0).recall
    grouped = at_threshold(y, score, 1.0, groups=np.repeat(np.arange(600), 4)).recall
    assert grouped.width > 1.6 * alone.width


def test_weight_0_is_no_row_and_a_lower_level_is_narrower(rng):
    y, score = rng.integers(0, 2, 200), rng.random(200)
    weight = np.r_[np.ones(120), np.zeros(80)]
    found = at_threshold(y, score, 0.4, sample_weight=weight)
    alone = at_threshold(y[:120], score[:120], 0.4)
    assert (found.found, found.missed) == (alone.found, alone.missed)
    assert at_threshold(y, score, 0.4, level=0.5).recall.width < 0.7 * alone.recall.width
