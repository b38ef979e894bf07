"""Ledgers: ranks as a plain loop makes them, groups that lose no row and cross no cut."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.stats import norm, rankdata

from scarce.missed.score_table import GROUPS_LABELLED, grid_of, labelled_of, score_table_of


@st.composite
def partly_labelled(draw):
    """Scores with ties and labels of all three states."""
    n = draw(st.integers(1, 60))
    scores = draw(st.lists(st.integers(-8, 8), min_size=n, max_size=n))
    labels = draw(st.lists(st.sampled_from([0.0, 1.0, np.nan]), min_size=n, max_size=n))
    return np.array(scores, dtype=float) / 4.0, np.array(labels)


def long_case(rng, n=6000):
    scores = np.round(rng.gamma(2.0, size=n), 3)
    labels = np.where(rng.random(n) < 0.4, (rng.random(n) < 0.2) * 1.0, np.nan)
    return scores, labels


@given(partly_labelled())
def test_oracle_counts_and_places_of_a_plain_loop(case):
    scores, labels = case
    sheet = score_table_of(scores, labels)
    distinct = sorted(set(scores.tolist()), reverse=True)
    assert sheet.score.tolist() == distinct
    rank = rankdata(-scores, method="average")  # equal scores share their middle rank
    for at, score in enumerate(distinct):
        here = scores == score
        assert sheet.rows[at] == here.sum()
        assert sheet.events[at] == (labels[here] == 1).sum()
        assert sheet.others[at] == (labels[here] == 0).sum()
        assert sheet.unlabelled[at] == np.isnan(labels[here]).sum()
        expected = norm.ppf((len(scores) - rank[here][0] + 0.5) / len(scores))
        assert sheet.place[at] == pytest.approx(expected, abs=1e-12)
    assert sheet.n == len(scores)


@given(partly_labelled(), st.floats(-2.5, 2.5))
def test_an_alert_scores_at_or_above_the_threshold(case, threshold):
    scores, labels = case
    sheet = score_table_of(scores, labels)
    assert sheet.rows[: sheet.above(threshold)].sum() == (scores >= threshold).sum()
    at = float(scores[0])
    assert sheet.rows[: sheet.above(at)].sum() == (scores >= at).sum()


@given(partly_labelled(), st.integers(-9, 9), st.integers(-9, 9))
def test_property_groups_lose_no_row_and_cross_no_cut(case, first, second):
    scores, labels = case
    first, second = first / 4.0, second / 4.0
    sheet = score_table_of(scores, labels)
    grid = grid_of(sheet, first, second)
    for flag, cut in ((grid.alert, first), (grid.beyond, second)):
        assert grid.rows[flag].sum() == (scores >= cut).sum()
        assert grid.unlabelled[flag].sum() == np.isnan(labels[scores >= cut]).sum()
        assert (grid.score[flag] >= cut).all()
        assert (grid.score[~flag] < cut).all()
    assert grid.rows.sum() == len(scores)
    assert (np.diff(grid.place) < 0).all()
    assert (grid.rows > 0).all()


def test_without_another_threshold_both_cuts_are_one(rng):
    sheet = score_table_of(*long_case(rng))
    grid = grid_of(sheet, 4.0)
    np.testing.assert_array_equal(grid.alert, grid.beyond)


def test_groups_grow_with_the_distance_in_rank(rng):
    """Few groups, single scores next to the threshold, and means weighted by rows."""
    scores, labels = long_case(rng)
    sheet = score_table_of(scores, labels)
    grid = grid_of(sheet, 4.0, 5.0)
    assert len(grid.rows) <= 40 + 90 + 4
    cut = sheet.above(4.0)
    below = np.flatnonzero(~grid.alert)
    np.testing.assert_array_equal(grid.score[below[:3]], sheet.score[cut : cut + 3])
    assert grid.score[grid.alert][-1] == sheet.score[cut - 1]
    assert grid.rows[below[-1]] > 20 * grid.rows[below[0]]
    assert grid.rows @ grid.score == pytest.approx(scores.sum(), rel=1e-12)
    assert grid.rows @ grid.place == pytest.approx(sheet.rows @ sheet.place, abs=1e-8)


@pytest.mark.parametrize("second", [0.2, 1.0, 3.5, 4.0, 4.5, 7.0])
def test_far_groups_do_not_cross_the_second_cut_either(rng, second):
    scores, labels = long_case(rng)
    grid = grid_of(score_table_of(scores, labels), 4.0, second)
    for flag, cut in ((grid.alert, 4.0), (grid.beyond, second)):
        assert grid.rows[flag].sum() == (scores >= cut).sum()
        assert grid.unlabelled[~flag].sum() == np.isnan(labels[scores < cut]).sum()


def test_no_alert_and_nothing_but_alerts(rng):
    sheet = score_table_of(*long_case(rng, 500))
    none, every = grid_of(sheet, 1e3), grid_of(sheet, -1e3)
    assert not none.alert.any()
    assert every.alert.all()
    assert none.rows.sum() == every.rows.sum() == 500


@pytest.mark.parametrize(
    "rescale",
    [np.exp, lambda s: 3.0 * s + 7.0, lambda s: rankdata(s, method="dense")],
    ids=["exp", "affine", "rank"],
)
def test_invariant_any_rescaling_gives_the_same_bits(rng, rescale):
    scores, labels = long_case(rng)
    both = np.append(scores, [4.0, 5.0])
    moved = rescale(both)
    plain, other = score_table_of(scores, labels), score_table_of(moved[:-2], labels)
    for name in ("rows", "events", "others", "place"):
        np.testing.assert_array_equal(getattr(plain, name), getattr(other, name))
    here, there = grid_of(plain, 4.0, 5.0), grid_of(other, moved[-2], moved[-1])
    for name in ("place", "rows", "unlabelled", "alert", "beyond"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))
    here, there = labelled_of(plain), labelled_of(other)
    for name in ("place", "events", "others"):
        np.testing.assert_array_equal(getattr(here, name), getattr(there, name))


def test_invariant_row_order_does_not_matter(rng):
    scores, labels = long_case(rng, 800)
    order = rng.permutation(800)
    for one, other in zip(
        score_table_of(scores, labels), score_table_of(scores[order], labels[order]), strict=True
    ):
        np.testing.assert_array_equal(one, other)


def test_few_labelled_scores_are_kept_as_they_are(rng):
    scores = rng.normal(size=900)
    labels = np.full(900, np.nan)
    labels[:200] = rng.random(200) < 0.3
    sheet = score_table_of(scores, labels)
    held = labelled_of(sheet)
    order = np.argsort(-scores[:200])
    np.testing.assert_array_equal(held.score, scores[:200][order])
    np.testing.assert_array_equal(held.events, labels[:200][order])
    np.testing.assert_array_equal(held.others, 1 - labels[:200][order])


def test_many_labelled_scores_are_joined_without_losing_one(rng):
    scores, labels = long_case(rng)
    sheet = score_table_of(scores, labels)
    held = labelled_of(sheet)
    assert 100 < len(held.place) <= GROUPS_LABELLED
    assert held.events.sum() == (labels == 1).sum()
    assert held.others.sum() == (labels == 0).sum()
    tested = sheet.events + sheet.others
    total = held.events + held.others
    assert total @ held.place == pytest.approx(tested @ sheet.place, abs=1e-9)
    assert total @ held.score == pytest.approx(tested @ sheet.score, rel=1e-12)
    assert (np.diff(held.place) < 0).all()
    # Groups are equally long in place: none reaches farther than a 249th of the whole.
    reach = (sheet.place[tested > 0][0] - sheet.place[tested > 0][-1]) / (GROUPS_LABELLED - 1)
    assert np.diff(-held.place).max() < 2 * reach + np.diff(-sheet.place[tested > 0]).max()


def test_no_labels_are_no_groups(rng):
    assert len(labelled_of(score_table_of(rng.normal(size=5), np.full(5, np.nan))).place) == 0
