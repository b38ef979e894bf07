"""Reliability tables: counts, intervals, and truth within them."""

import numpy as np
import pytest
from scipy.stats import binomtest

from scarce.assess import reliability
from scarce.assess.reliability import wilson
from scarce.errors import UsageError


def test_oracle_wilson_is_scipy_s():
    for k, n in ((0, 10), (3, 10), (50, 50), (7, 1000)):
        low, high = wilson(np.array([k / n]), np.array([float(n)]), 0.9)
        expected = binomtest(k, n).proportion_ci(0.9, method="wilson")
        assert (low[0], high[0]) == pytest.approx((expected.low, expected.high), abs=1e-12)


def test_every_row_is_in_one_bin(rng):
    prob = rng.random(1000)
    y = (rng.random(1000) < prob).astype(float)
    for bins in (1, 7, [0, 0.2, 0.5, 1]):
        table = reliability(y, prob, bins=bins)
        assert table.rows.sum() == 1000
        assert (table.rows * table.observed).sum() == pytest.approx(y.sum())
        assert (table.rows * table.predicted).sum() == pytest.approx(prob.sum())
        assert ((table.low <= table.observed) & (table.observed <= table.high)).all()


def test_calibrated_probabilities_lie_within_their_intervals(rng):
    inside = []
    for _ in range(60):
        prob = rng.beta(1, 20, 3000)
        table = reliability((rng.random(3000) < prob).astype(float), prob, level=0.9)
        inside += list((table.low <= table.predicted) & (table.predicted <= table.high))
    assert 0.86 < np.mean(inside) < 0.94


def test_equal_probabilities_and_empty_bins():
    table = reliability([0, 1, 1], [0.5, 0.5, 0.5])
    assert table.rows.tolist() == [3]
    table = reliability([0, 1], [0.1, 0.9], bins=[0, 0.2, 0.8, 1])
    assert table.rows.tolist() == [1, 1]
    assert table.edges.tolist() == [0, 0.8, 1]


def test_an_edge_belongs_to_the_bin_above_it():
    table = reliability([0, 1, 1], [0.2, 0.5, 0.7], bins=[0, 0.5, 1])
    assert table.rows.tolist() == [1, 2]


def test_bins_must_be_bins():
    for bins in (0, [0.5, 0.2], [0, 0, 1]):
        with pytest.raises(UsageError, match="bin"):
            reliability([0, 1], [0.2, 0.3], bins=bins)
