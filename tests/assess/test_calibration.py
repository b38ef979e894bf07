"""Calibration loss: the paper's definition, its noise, and intervals that hold the truth."""

import numpy as np
import pytest

from scarce import DataError, UsageError, calibration_loss


def plainly(y, prob, bins=10):
    """The definition, row by row."""
    edges = np.arange(1, bins) / bins
    number = [sum(p > edge for edge in edges) for p in prob]
    shares = {
        b: np.mean([t for t, m in zip(y, number, strict=True) if m == b]) for b in set(number)
    }
    return np.mean([(p - shares[m]) ** 2 for p, m in zip(prob, number, strict=True)])


@pytest.mark.parametrize("bins", [1, 10, 7])
def test_oracle_the_definition_row_by_row(rng, bins):
    prob = np.append(rng.random(300), [0.0, 1.0, 0.25, 0.75])
    y = (rng.random(304) < prob**2).astype(float)
    assert calibration_loss(y, prob, bins=bins).value == pytest.approx(plainly(y, prob, bins))


def test_bins_are_closed_on_the_right_as_in_the_paper():
    assert calibration_loss([1, 0], [0.1, 0.05]).value == pytest.approx(
        ((0.1 - 0.5) ** 2 + (0.05 - 0.5) ** 2) / 2
    )
    assert calibration_loss([1, 0], [0.1001, 0.05]).value > 0.4


def test_debiased_value_is_right_on_average_and_its_interval_covers(rng):
    """Ten bins with a known bend: right within Monte-Carlo error, 90 % covers 87 to 95 %."""
    prob = np.repeat(np.arange(10) / 10 + 0.05, 40)
    true = prob**1.5
    truth = np.mean((prob - true) ** 2)
    happened = (rng.random((1000, 400)) < true).astype(float)
    found = [calibration_loss(y, prob, debias=True) for y in happened]
    values = np.array([estimate.value for estimate in found])
    assert abs(values.mean() - truth) < 3 * values.std() / np.sqrt(len(values))
    assert 0.87 < np.mean([truth in estimate for estimate in found]) < 0.95
    plain = np.mean([calibration_loss(y, prob).value for y in happened])
    assert plain == pytest.approx(truth + np.mean(true * (1 - true)) / 40, rel=0.03)


def test_bad_input_is_named():
    with pytest.raises(UsageError, match=r"bins=0"):
        calibration_loss([0, 1], [0.1, 0.2], bins=0)
    with pytest.raises(DataError, match=r"one outcome and one probability"):
        calibration_loss([0, 1], [0.1])
