"""Units: incidents of several rows, and rows below a threshold in the order of other scores."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

from scarce import DataError, UsageError, choose_labels, estimate_performance
from scarce.missed.units import group_codes, ranked_again, read_second, read_units, rows_by_batch
from tests.problems import refused

NAN = float("nan")


@given(st.integers(0, 10**6), st.integers(1, 40), st.integers(1, 12))
def test_oracle_an_incident_has_its_greatest_score_and_any_event(seed, n, k):
    """One incident at a time, in plain words."""
    rng = np.random.default_rng(seed)
    scores = rng.integers(0, 6, n).astype(float)
    labels = rng.choice([0.0, 1.0, NAN], n)
    chance = rng.choice([0.1, 0.5, 1.0, NAN], n)
    groups = rng.integers(0, k, n)
    units = read_units(scores, labels, groups=groups)
    gathered = units.gather(chance)
    for at, name in enumerate(sorted(set(groups.tolist()))):
        rows = np.flatnonzero(groups == name)
        assert units.scores[at] == scores[rows].max()
        assert units.first[at] == rows[np.argmax(scores[rows])]
        for ours, values in ((units.labels[at], labels[rows]), (gathered[at], chance[rows])):
            held = values[~np.isnan(values)]
            assert np.isnan(ours) if len(held) == 0 else ours == held.max()
    assert (units.of_row == np.unique(groups, return_inverse=True)[1]).all()


def test_rows_alone_are_left_as_they_are(rng):
    scores, labels = rng.normal(size=(2, 9))
    units = read_units(scores, labels)
    assert units.scores is scores
    assert units.labels is labels
    assert units.first.tolist() == list(range(9))
    assert units.gather(labels) is labels
    alone = read_units(scores, labels, groups=np.arange(9))
    np.testing.assert_array_equal(alone.scores, scores)
    np.testing.assert_array_equal(alone.first, units.first)


@pytest.mark.parametrize(
    ("groups", "codes"),
    [
        (np.array([3, 1, 3]), [1, 0, 1]),
        (np.array(["b", "a", "b"]), [1, 0, 1]),
        (np.array([3.0, NAN, 3.0, NAN]), [0, 1, 0, 2]),
        (np.array(["x", None, "x", NAN, pd.NA], dtype=object), [0, 1, 0, 2, 3]),
        (np.array([1, "a", 1], dtype=object), [0, 1, 0]),
        (np.array(["2026-01-01", "NaT", "2026-01-01"], dtype="M8[D]"), [0, 1, 0]),
        (np.array([None, None], dtype=object), [0, 1]),
    ],
)
def test_groups_are_numbered_and_a_missing_name_is_one_by_itself(groups, codes):
    assert group_codes(groups).tolist() == codes


@given(st.integers(0, 10**6), st.floats(-1e6, 1e6))
def test_a_second_ranking_orders_the_rows_below_alone(seed, threshold):
    rng = np.random.default_rng(seed)
    scores = threshold + rng.normal(size=60)
    second = rng.integers(0, 8, 60).astype(float)
    joined = ranked_again(scores, second, threshold)
    below = scores < threshold
    assert (joined[~below] == scores[~below]).all()
    assert (joined[below] < threshold).all()
    gaps = np.sign(joined[below][:, None] - joined[below])
    np.testing.assert_array_equal(gaps, np.sign(second[below][:, None] - second[below]))
    np.testing.assert_array_equal(joined, ranked_again(scores, np.exp(second), threshold))


@pytest.mark.parametrize("threshold", [0.0, 1e-300, -1e300, 1e300, 2.0**53, -1e15, 5e-324])
def test_a_second_ranking_keeps_apart_what_differs_at_any_scale(threshold, rng):
    scores = np.full(5000, np.nextafter(threshold, -np.inf))
    second = rng.permutation(5000) * 1.0
    joined = ranked_again(scores, second, threshold)
    assert (np.argsort(joined) == np.argsort(second)).all()
    assert len(np.unique(joined)) == 5000
    assert (joined < threshold).all()


def test_a_second_ranking_needs_a_threshold_and_one_value_per_row():
    with refused("no-threshold", UsageError, argument="second_scores"):
        ranked_again(np.zeros(2), np.zeros(2), None)
    assert read_second(None, 3) is None
    assert read_second([1, 2, 3], 3).tolist() == [1.0, 2.0, 3.0]
    for wrong in ([1.0, 2.0], [1.0, 2.0, 3.0, 4.0]):
        with refused("length-mismatch", DataError, argument="second_scores"):
            read_second(wrong, 3)
        with refused("length-mismatch", DataError, argument="second_scores"):
            estimate_performance([1.0, 2.0, 3.0], threshold=2.0, second_scores=wrong)
    with refused("not-finite", DataError, argument="second_scores", row=1):
        read_second([1.0, NAN, 3.0], 3)


def test_batches_are_named_in_order():
    names, rows = rows_by_batch(["b", "a", "b"], 3)
    assert names == ["a", "b"]
    assert [one.tolist() for one in rows] == [[1], [0, 2]]
    names, rows = rows_by_batch(None, 3)
    assert names == [None]
    assert rows[0].tolist() == [0, 1, 2]
    for missing in (["a", None, "b"], [1.0, NAN, 2.0], pd.Series(["a", pd.NA, "b"])):
        with refused("batch-missing", DataError, row=1):
            rows_by_batch(missing, 3)
    with refused("mixed-types", DataError, types="int and str"):
        rows_by_batch(np.array(["a", 1, "a"], dtype=object), 3)


# --- the whole way --------------------------------------------------------------------------------


@pytest.fixture
def incidents(rng):
    """Rows of incidents; an incident is an event if one of its rows is."""
    group = np.sort(rng.integers(0, 900, 2500))
    scores = rng.normal(size=2500)
    truth = (rng.random(2500) < 0.4 / (1 + np.exp(3 - 2 * scores))) * 1.0
    event = np.array([truth[group == name].any() for name in range(900)]) * 1.0
    return scores, truth, event[group], group


@pytest.mark.parametrize("policy", ["audit", "stratified", "random"])
def test_oracle_an_estimate_of_incidents_is_one_of_a_row_each(policy, incidents):
    """Figures of incidents against figures of a table with one row per incident."""
    scores, _, event, group = incidents
    alert = np.isin(group, group[scores >= 1.5])
    labels = np.where(alert & (scores >= 1.5), event, NAN)
    choice = choose_labels(
        scores, labels, policy=policy, n=120, threshold=1.5, groups=group, random_state=0
    )
    labels[choice.rows] = event[choice.rows]
    found = estimate_performance(scores, labels, threshold=1.5, inclusion=choice, groups=group)
    names = np.unique(group)
    most = np.array([scores[group == name].max() for name in names])
    told = np.array(
        [np.append(-1.0, labels[group == n][~np.isnan(labels[group == n])]).max() for n in names]
    )
    chance = choice.inclusion(2500)
    one = np.array(
        [np.append(-1.0, chance[group == n][~np.isnan(chance[group == n])]).max() for n in names]
    )
    plain = estimate_performance(
        most,
        np.where(told < 0, NAN, told),
        threshold=1.5,
        inclusion=np.where(one < 0, NAN, one),
    )
    assert found.counts == plain.counts
    assert found.missed == plain.missed
    assert found.recall == plain.recall
    assert found.counts.rows == len(names)
    truth = np.array([event[group == name][0] for name in names])
    assert found.missed.low <= truth[most < 1.5].sum() <= found.missed.high


def test_a_second_ranking_is_read_as_it_was_drawn(rng):
    """Drawn by the second scores and estimated with them: strata are those that were drawn."""
    event = (rng.random(3000) < 0.1) * 1.0
    scores, second = rng.normal(size=3000) + event, rng.normal(size=3000) + 3 * event
    labels = np.where(scores >= 1.5, event, NAN)
    choice = choose_labels(
        scores, labels, n=200, threshold=1.5, second_scores=second, random_state=0
    )
    labels[choice.rows] = event[choice.rows]
    settings = {"threshold": 1.5, "inclusion": choice}
    with_it = estimate_performance(scores, labels, second_scores=second, **settings)
    without = estimate_performance(scores, labels, **settings)
    missed = event[scores < 1.5].sum()
    assert with_it.missed.low <= missed <= with_it.missed.high
    assert with_it.missed.width < 0.8 * without.missed.width  # the better ranking tells more
    assert with_it.counts == without.counts
    assert with_it.precision == without.precision
