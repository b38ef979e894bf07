"""Strata: how checks are spread, and how what was drawn is read back from probabilities alone."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scarce.missed.choose import choose_labels
from scarce.missed.counts import cells_at
from scarce.missed.provenance import read_batches
from scarce.missed.strata import (
    GROUPS,
    MOST_RUNS,
    Cells,
    Drawn,
    allocate,
    answered,
    chance_at,
    counted_cell,
    ends_between_scores,
    neyman_wish,
    no_cells,
    split_cells,
    strata_of,
    stratum_ends,
)

# --- spreading checks -----------------------------------------------------------------------------


@given(st.integers(1, 5000), st.integers(1, 5000), st.integers(1, 30), st.integers(0, 99))
def test_strata_grow_and_cover_every_row(n_rows, n, strata, seed):
    n = min(n, n_rows)
    ends = stratum_ends(n_rows, n, strata)
    sizes = np.diff(ends, prepend=0)
    assert ends[-1] == n_rows
    assert (sizes >= 1).all()
    assert len(ends) <= min(n, strata)
    share = np.random.default_rng(seed).random(len(sizes))
    for wish in (np.ones(len(sizes)), sizes / sizes.mean(), neyman_wish(sizes, share)):
        taken = allocate(n, sizes, wish)
        assert taken.sum() == n
        assert ((taken >= 1) & (taken <= sizes)).all()


@given(
    st.lists(st.integers(0, 12), min_size=1, max_size=120), st.integers(1, 120), st.integers(1, 14)
)
def test_strata_end_between_scores(values, n, strata):
    ordered = np.sort(np.array(values, float))[::-1]
    wanted = stratum_ends(len(ordered), min(n, len(ordered)), strata)
    ends = ends_between_scores(ordered, wanted)
    assert ends[-1] == len(ordered)
    assert (np.diff(ends, prepend=0) >= 1).all()
    inner = ends[:-1]
    assert (ordered[inner - 1] > ordered[inner]).all()
    # No end moves further than it must: to the last row with the score that it stood at.
    assert set(ends.tolist()) == {int((ordered >= ordered[one - 1]).sum()) for one in wanted}


def test_oracle_allocation_one_row_at_a_time():
    """One row at a time to the stratum furthest behind: slow, plain, and the same."""
    sizes = np.array([4, 10, 40, 200, 1000])
    for n in (5, 9, 31, 100, 400, 1254):
        plain = np.ones(5, dtype=int)
        for _ in range(n - 5):
            room = plain < sizes
            plain[np.argmin(np.where(room, plain, np.inf))] += 1
        equal = allocate(n, sizes, np.ones(5))
        assert sorted(equal) == sorted(plain)
        share = allocate(n, sizes, sizes / sizes.mean())
        free = (share > 1) & (share < sizes)
        assert np.ptp(share[free] / sizes[free]) <= 1 / sizes[free].min() if free.any() else True


def test_the_scale_of_a_wish_does_not_matter():
    sizes, share = np.array([5, 40, 300, 2000]), np.array([0.4, 0.1, 0.01, 0.001])
    wish = neyman_wish(sizes, share)
    assert wish.sum() == pytest.approx(1.0)
    assert allocate(90, sizes, wish).tolist() == allocate(90, sizes, 1e6 * wish).tolist()
    assert neyman_wish(sizes, 0 * share).tolist() == [0.25] * 4
    raw = sizes * np.sqrt(share)
    np.testing.assert_allclose(wish, 0.6 * raw / raw.sum() + 0.1, rtol=1e-14)


# --- reading draws back ---------------------------------------------------------------------------


def read_back(scores, labels, choice, truth, threshold):
    """Strata as an estimate finds them, from labels and probabilities alone."""
    told = labels.copy()
    told[choice.rows] = truth[choice.rows]
    (batch,) = read_batches(scores, told, threshold, inclusion=choice.inclusion(len(scores)))
    (above, cells), rows = cells_at(batch, threshold)
    assert len(above.rows) == 0
    return cells, rows


@settings(max_examples=150)
@given(
    st.integers(0, 10**6),
    st.sampled_from([0, 1, 2, 8]),
    st.sampled_from(["equal", "proportional"]),
    st.integers(1, 12),
    st.booleans(),
)
def test_strata_are_read_back_exactly(seed, digits, allocation, strata, alerts):
    """N_h, n_h and k_h of a stratified draw, with ties, from probabilities alone.

    Strata that were taken whole count for themselves; of the others, neighbours that happen to
    have the same probability are one.
    """
    rng = np.random.default_rng(seed)
    n_rows = int(rng.integers(5, 300))
    scores, truth = rng.normal(size=n_rows).round(digits), (rng.random(n_rows) < 0.3) * 1.0
    threshold = 1.0 if alerts else 99.0
    below = scores < threshold
    if not below.any():
        return
    labels = np.where(below, np.nan, truth)
    n = int(rng.integers(1, below.sum() + 1))
    choice = choose_labels(
        scores,
        labels,
        policy="stratified",
        n=n,
        threshold=threshold,
        strata=strata,
        allocation=allocation,
        random_state=rng,
    )
    chance = choice.inclusion(n_rows)
    pool = np.sort(scores[below])[::-1]
    last = pool[ends_between_scores(pool, stratum_ends(len(pool), n, strata)) - 1]
    plain, before = [], None
    for high, low in zip([np.inf, *last[:-1]], last, strict=True):
        here = below & (scores < high) & (scores >= low)
        drawn = here & np.isfinite(chance)
        (one,) = set(chance[drawn].round(12).tolist())
        figures = np.array([here.sum(), drawn.sum(), truth[drawn].sum()])
        assert one == pytest.approx(drawn.sum() / here.sum())
        if one == 1.0:
            continue
        if one == before:
            plain[-1] = plain[-1] + figures
        else:
            plain.append(figures)
        before = one
    cells, rows = read_back(scores, labels, choice, truth, threshold)
    if not plain:  # every row has a label
        assert cells.drawn.sum() == 0
        return
    np.testing.assert_array_equal(np.stack(cells[:3], axis=1), plain)
    assert rows == cells.rows.sum()


@pytest.mark.parametrize("policy", ["audit", "stratified", "random", "pps"])
@pytest.mark.parametrize("digits", [0, 1, 8])
def test_strata_read_back_cover_the_frame(policy, digits):
    """Whatever the draw: rows of the frame, rows drawn and events add up, in plausible strata."""
    for seed in range(6):
        rng = np.random.default_rng(seed)
        scores, truth = rng.normal(size=2000).round(digits), (rng.random(2000) < 0.2) * 1.0
        labels = np.where(scores >= 2.0, truth, np.nan)
        choice = choose_labels(
            scores, labels, policy=policy, n=150, threshold=2.0, random_state=seed
        )
        cells, rows = read_back(scores, labels, choice, truth, 2.0)
        drawn = choice.probability < 1
        assert rows == (scores < 2.0).sum() - (~drawn).sum()
        assert cells.rows.sum() == rows
        assert cells.drawn.sum() == drawn.sum()
        assert cells.events.sum() == truth[choice.rows[drawn]].sum()
        assert (cells.drawn >= 1).all()
        assert (cells.drawn <= cells.rows).all()
        assert len(cells.rows) <= MOST_RUNS
        if policy == "pps":
            assert len(cells.rows) <= GROUPS or digits == 0
        # Shares of the strata count without bias, as the probabilities themselves do.
        by_strata = (cells.rows * cells.events / cells.drawn).sum()
        by_rows = (truth[choice.rows[drawn]] / choice.probability[drawn]).sum()
        assert by_strata == pytest.approx(by_rows, rel=0.12 if policy == "pps" else 1e-9)


@pytest.mark.parametrize("policy", ["audit", "stratified", "pps"])
def test_strata_of_work_that_stopped_early(policy, rng):
    """Of the first 60 of 120 rows: ends stay between rows drawn, and sums are right on average."""
    scores, truth = rng.normal(size=900), (rng.random(900) < 0.2) * 1.0
    labels = np.where(scores >= 1.5, truth, np.nan)
    rank = np.argsort(np.argsort(-scores[scores < 1.5]))
    place = np.full(900, -1)
    place[scores < 1.5] = rank
    off = []
    for seed in range(60):
        choice = choose_labels(
            scores, labels, policy=policy, n=120, threshold=1.5, random_state=seed
        ).first(60)
        cells, rows = read_back(scores, labels, choice, truth, 1.5)
        assert cells.rows.sum() == rows
        assert cells.drawn.sum() == (choice.probability < 1).sum()
        assert (cells.drawn <= cells.rows).all()
        certain = truth[choice.rows[choice.probability == 1]].sum()
        total = (cells.rows * cells.events / cells.drawn).sum() + certain
        off.append(total - truth[scores < 1.5].sum())
    assert abs(np.mean(off)) < 3.5 * np.std(off) / np.sqrt(60)


def test_many_runs_of_equal_probability_are_grouped():
    """Each row with a probability of its own: twelve groups of neighbours; few rows stay alone."""
    for n, groups in ((400, GROUPS), (40, GROUPS), (12, 12), (5, 5)):
        chance = np.geomspace(0.5, 0.01, n)
        drawn = Drawn.of(-np.arange(float(n)), np.zeros(n), chance)
        cells, run = strata_of(drawn, None, None, 0.0)
        assert len(cells.rows) == groups
        assert cells.drawn.sum() == n
        assert (np.diff(run) >= 0).all()
        np.testing.assert_allclose(
            cells.rows, np.maximum(np.bincount(run, 1 / chance), cells.drawn), rtol=1e-12
        )
    steps = np.repeat(np.geomspace(0.5, 0.01, 30), 4)  # thirty strata of four: as they are
    cells, _ = strata_of(Drawn.of(-np.arange(120.0), np.zeros(120), steps), None, None, 0.0)
    assert cells.drawn.tolist() == [4.0] * 30


def test_strata_of_a_frame_whose_rows_are_not_known_stand_for_what_they_say():
    drawn = Drawn.of(np.array([9.0, 8.0, 3.0]), np.array([1.0, 0, 1]), np.array([0.5, 0.5, 0.1]))
    cells, run = strata_of(drawn, None, None, 0.0, frame=7)
    assert run.tolist() == [0, 0, 1]
    assert [part.tolist() for part in cells] == [[4.0, 10.0], [2.0, 1.0], [1.0, 1.0], [7, 7]]


def test_strata_are_split_at_another_threshold(rng):
    """Rows and events above and below a cut add up to all, wherever the cut is."""
    scores, truth = np.sort(rng.normal(size=500))[::-1], (rng.random(500) < 0.2) * 1.0
    choice = choose_labels(scores, policy="stratified", n=80, threshold=9.0, random_state=0)
    drawn = Drawn.of(scores[choice.rows], truth[choice.rows], choice.probability)
    rank = np.searchsorted(-scores, -drawn.score) * 1.0
    cells, run = strata_of(drawn, rank + 1, rank, 500.0)
    for cut in (-5.0, -0.5, 0.0, 1.0, 5.0):
        for known in (float((scores >= cut).sum()), None):
            high, low = split_cells(cells, run, drawn, cut, known)
            assert high.rows.sum() + low.rows.sum() == pytest.approx(500)
            assert high.drawn.sum() == (drawn.score >= cut).sum()
            assert high.events.sum() == drawn.label[drawn.score >= cut].sum()
            assert low.events.sum() == drawn.label[drawn.score < cut].sum()
            for part in (high, low):
                assert (part.drawn <= part.rows + 1e-9).all()
            if known is not None:
                assert high.rows.sum() == pytest.approx(known, abs=2)


def test_answers_lower_the_probability_of_their_stratum_alone():
    score, chance = np.array([1.0, 9.0, 8.0, 2.0, 7.0]), np.array([0.1, 0.5, 0.5, 0.1, 0.5])
    found = answered(score, chance, np.array([True, True, False, False, True]))
    np.testing.assert_allclose(found, [0.05, 1 / 3, 1 / 3, 0.05, 1 / 3])
    assert answered(score, chance, np.zeros(5, bool)).tolist() == [0.0] * 5
    np.testing.assert_array_equal(answered(score, chance, np.ones(5, bool)), chance)


def test_the_gap_between_strata_is_cut_by_what_their_rows_stand_for():
    """One row in 2 above and one in 10 below: the end lies a sixth of the gap further down."""
    score, chance = np.array([0.0, 10.0, 8.0]), np.array([0.1, 0.5, 0.5])
    at = np.array([99.0, 9.0, 7.0, 6.7, 6.6, 1.0, -5.0])
    assert chance_at(score, chance, at).tolist() == [0.5, 0.5, 0.5, 0.5, 0.1, 0.1, 0.1]
    # Without any answer nothing is known of the extent: the middle, and no division by 0.
    assert chance_at(score, 0 * chance, at).tolist() == [0.0] * 7
    one = chance_at(np.array([3.0]), np.array([0.2]), at)
    assert one.tolist() == [0.2] * 7


def test_chance_at_finds_the_ends_of_strata_without_bias(rng):
    """A draw of 4 in 40 over one of 4 in 400: the end at rank 40 is found on average."""
    ends = []
    for _ in range(3000):
        rank = np.concatenate(
            [rng.choice(40, 4, replace=False), 40 + rng.choice(400, 4, replace=False)]
        )
        chance = np.repeat([0.1, 0.01], 4)
        found = chance_at(-rank * 1.0, chance, -np.arange(440.0))
        ends.append((found == 0.1).sum())
    assert abs(np.mean(ends) - 40) < 1.0


# --- strata as a record ---------------------------------------------------------------------------


def test_strata_of_one_frame_stand_together():
    one = Cells(np.array([9.0, 8.0]), np.ones(2), np.zeros(2), np.array([0, 1]))
    other = Cells(np.array([7.0]), np.ones(1), np.ones(1), np.array([0]))
    both = one.beside(other)
    assert both.rows.tolist() == [9.0, 7.0, 8.0]
    assert both.frame.tolist() == [0, 0, 1]
    assert both.chosen(both.events > 0).rows.tolist() == [7.0]
    assert no_cells().beside(one).rows.tolist() == [9.0, 8.0]
    whole = counted_cell(5.0, 2.0, 3)
    assert [part.tolist() for part in whole] == [[5.0], [5.0], [2.0], [3]]
    assert len(counted_cell(0.0, 0.0, 3).rows) == 0


def test_strata_whose_rows_are_not_known_are_split_by_the_rows_drawn():
    drawn = Drawn.of(np.array([4.0, 3.0, 2.0, 1.0]), np.array([1.0, 0, 0, 1]), np.full(4, 0.1))
    cells, run = strata_of(drawn, None, None, 0.0)
    high, low = split_cells(cells, run, drawn, 3.5, None)
    assert [part.tolist() for part in high[:3]] == [[10.0], [1.0], [1.0]]
    assert [part.tolist() for part in low[:3]] == [[30.0], [3.0], [1.0]]
    high, low = split_cells(cells, run, drawn, 3.5, 2.0)  # rows of the frame above the cut
    assert (high.rows.tolist(), low.rows.tolist()) == ([2.0], [38.0])
