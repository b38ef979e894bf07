"""Draws with known probabilities: the frequencies are the probabilities, however they are made."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarce.missed.draws import (
    allocate,
    audit_sizes,
    greatest,
    probabilities,
    ranked,
    stratum_ends,
    systematic,
)


def seeds(seed=0):
    return np.random.default_rng(seed)


def test_ranked_is_a_plain_sort_where_no_two_are_equal(rng):
    values = rng.normal(size=500)
    assert (ranked(values, rng) == np.argsort(-values)).all()


def test_ranked_shuffles_equal_values_and_no_others(rng):
    values = np.repeat([5.0, 1.0, 3.0, 2.0], [1, 3, 40, 1])
    orders = np.array([ranked(values, rng) for _ in range(3000)])
    assert (values[orders] == np.sort(values)[::-1]).all()
    # Each of the 40 is in each of their places alike: 75 expected, sd 8.6.
    for place in (1, 20, 40):
        counts = np.bincount(orders[:, place], minlength=45)[4:44]
        assert abs(counts - 75).max() < 4.5 * np.sqrt(75)


@given(st.lists(st.integers(0, 6), min_size=1, max_size=30), st.integers(1, 30))
def test_greatest_against_a_full_sort(values, n):
    values = np.array(values, dtype=float)
    n = min(n, len(values))
    rows, probability = greatest(values, n, seeds())
    assert len(set(rows.tolist())) == n
    expected = np.sort(values)[::-1][:n]
    assert (values[rows] == expected).all()
    cut = expected[-1]
    places = (expected == cut).sum() / (values == cut).sum()
    np.testing.assert_allclose(probability, np.where(expected == cut, places, 1.0))


def test_sizes_fall_with_the_root_of_the_rank_and_keep_an_even_share():
    """Against the formula, one row at a time."""
    rank = np.array([0, 1, 7, 300, 9000])
    raw = [1 / (1 + r / 20) ** 0.5 for r in rank]
    plain = [0.7 * r / sum(raw) + 0.3 / 5 for r in raw]
    np.testing.assert_allclose(audit_sizes(rank), plain, rtol=1e-14)


@given(
    st.lists(st.floats(0.01, 100), min_size=1, max_size=25),
    st.integers(1, 25),
    st.integers(0, 2**32),
)
def test_systematic_draws_are_distinct_and_exactly_as_many(sizes, n, seed):
    n = min(n, len(sizes))
    probability = probabilities(np.array(sizes), n)
    assert probability.sum() == pytest.approx(n, rel=1e-9)
    assert ((probability > 0) & (probability <= 1)).all()
    below = probability < 1
    ratio = probability[below] / np.array(sizes)[below]
    np.testing.assert_allclose(ratio, ratio[:1].repeat(len(ratio)), rtol=1e-9)
    # A row that is certain is so because its size asks for it.
    if below.any() and (~below).any():
        assert np.array(sizes)[~below].min() * ratio[0] >= 1 - 1e-8
    rows = systematic(probability, seeds(seed))
    assert len(set(rows.tolist())) == n
    assert set(np.flatnonzero(~below)) <= set(rows.tolist())


class Start:
    """A generator whose next number is known."""

    def __init__(self, value):
        self.value = value

    def random(self):
        return self.value


def test_systematic_takes_the_row_that_each_whole_step_falls_on():
    probability = np.array([0.3, 0.5, 0.2, 0.6, 0.4])
    assert systematic(probability, Start(0.0)).tolist() == [0, 3]
    assert systematic(probability, Start(0.299)).tolist() == [0, 3]
    assert systematic(probability, Start(0.3)).tolist() == [1, 3]
    assert systematic(probability, Start(0.61)).tolist() == [1, 4]
    assert systematic(probability, Start(0.8)).tolist() == [2, 4]
    assert systematic(probability, Start(np.nextafter(1.0, 0.0))).tolist() == [2, 4]


def test_shares_of_all_starts_are_the_probabilities():
    """Every start in turn, 4,000 of them evenly: a row's share is its probability to 1 / 4,000."""
    probability = probabilities(audit_sizes(np.arange(60)), 30)
    times = np.zeros(60)
    for start in (np.arange(4000) + 0.5) / 4000:
        times[systematic(probability, Start(start))] += 1
    assert abs(times / 4000 - probability).max() <= 1 / 4000 + 1e-12
    assert probability.min() < 0.5 < probability.max()


def test_a_long_line_loses_no_row_to_rounding():
    """A million rows, a tenth of them drawn, at starts near both ends of the step."""
    probability = probabilities(audit_sizes(np.arange(1_000_000)), 100_000)
    for start in (0.0, 1e-12, 0.5, np.nextafter(1.0, 0.0)):
        rows = systematic(probability, Start(start))
        assert len(np.unique(rows)) == 100_000


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 30))
def test_strata_grow_and_cover_every_row(n_rows, n, strata):
    n = min(n, n_rows)
    ends = stratum_ends(n_rows, n, strata)
    sizes = np.diff(ends, prepend=0)
    assert ends[-1] == n_rows
    assert (sizes >= 1).all()
    assert len(ends) <= min(n, strata)
    for allocation in ("equal", "proportional"):
        taken = allocate(n, sizes, allocation)
        assert taken.sum() == n
        assert ((taken >= 1) & (taken <= sizes)).all()


def test_allocation_is_as_asked_for():
    """One row at a time to the stratum furthest behind: slow, plain, and the same."""
    sizes = np.array([4, 10, 40, 200, 1000])
    for n in (5, 9, 31, 100, 400, 1254):
        plain = np.ones(5, dtype=int)
        for _ in range(n - 5):
            room = plain < sizes
            plain[np.argmin(np.where(room, plain, np.inf))] += 1
        equal = allocate(n, sizes, "equal")
        assert sorted(equal) == sorted(plain)
        share = allocate(n, sizes, "proportional")
        free = (share > 1) & (share < sizes)
        assert np.ptp(share[free] / sizes[free]) <= 1 / sizes[free].min() if free.any() else True
