"""Reliability tables: counts, intervals, and truth within them."""

import numpy as np
import pytest
from scipy.stats import binomtest

from scarce.errors import DataError, UsageError
from scarce.evaluation.reliability import reliability, wilson


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
    assert table.edges.tolist() == [0.5, 0.5]
    table = reliability([0, 1], [0.1, 0.9], bins=[0, 0.2, 0.8, 1])
    assert table.rows.tolist() == [1, 1]
    assert table.edges.tolist() == [0, 0.8, 1]


def test_an_edge_belongs_to_the_bin_above_it():
    table = reliability([0, 1, 1], [0.2, 0.5, 0.7], bins=[0, 0.5, 1])
    assert table.rows.tolist() == [1, 2]


@pytest.mark.parametrize("values", [[0.02, 0.9], [0, 1], [0.01, 0.05, 0.4], np.arange(10) / 9])
def test_few_values_have_a_bin_each(rng, values):
    prob = np.repeat(values, rng.integers(1, 400, len(values)))
    table = reliability((rng.random(len(prob)) < prob).astype(float), prob)
    np.testing.assert_allclose(table.predicted, values)
    np.testing.assert_array_equal(table.rows, [(prob == value).sum() for value in values])
    again = reliability(np.zeros(len(prob)), prob, bins=table.edges)
    np.testing.assert_array_equal(again.rows, table.rows)


def test_values_that_are_not_near_each_other_are_not_averaged(rng):
    low, high = rng.uniform(0.01, 0.03, 1900), rng.uniform(0.88, 0.92, 40)
    table = reliability(np.zeros(1940), np.r_[low, high])
    assert table.rows[-1] == 40
    assert table.predicted[-2] < 0.03
    prob = np.repeat(np.arange(12) / 11, 50)  # more values than bins, each far from the next
    assert reliability(np.zeros(600), prob).rows.tolist() == [50] * 12
    assert len(reliability(np.zeros(1940), np.r_[low, high], bins=1).rows) == 1  # as was asked


def test_ties_stay_together_and_the_rest_is_shared_evenly(rng):
    prob = np.r_[np.full(3000, 0.01), rng.uniform(0.02, 0.2, 900)]
    rows = reliability(np.zeros(3900), prob).rows
    assert rows[0] == 3000
    assert rows[1:].tolist() == [100] * 9


def test_as_many_bins_as_asked_for_where_probabilities_are_continuous(rng):
    for n in (50, 1003, 5000):
        for prob in (rng.random(n), rng.beta(1, 30, n), rng.lognormal(-7, 1.5, n).clip(0, 1)):
            rows = reliability(np.zeros(n), prob, bins=10).rows
            assert len(rows) == 10
            assert np.ptp(rows) <= 1


def test_neighbours_among_the_floats_are_told_apart():
    prob = np.array([0.3, np.nextafter(0.3, 1)])
    assert reliability([0, 1], prob).rows.tolist() == [1, 1]


def test_words_are_refused_in_a_sentence():
    with pytest.raises(DataError, match=r"y_true holds 'sick' at row 0.*== 'event'"):
        reliability(["sick", "well"], [0.2, 0.3])
    with pytest.raises(DataError, match="prob holds 'high' at row 1"):
        reliability([0, 1], np.array([0.2, "high"], dtype=object))


def test_bins_must_be_bins():
    for bins in (0, np.nan, [0.5, 0.2], [0, 0, 1]):
        with pytest.raises(UsageError, match="bin"):
            reliability([0, 1], [0.2, 0.3], bins=bins)
