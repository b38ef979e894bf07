"""Counts: against plain counting, draws against binomials, strata, bands, outside events."""

import numpy as np
import pytest
from scipy import stats

from scarce import DataError
from scarce.missed.counts import MOST_FRAMES, band_end, cells_at, counts_at, predicted_bands
from scarce.missed.provenance import batch_of
from scarce.missed.score_table import score_table_of
from tests.problems import refused

DRAWS = 4000


class Flat:
    """The same share of events at every score, in every draw; remembers what it was asked."""

    def __init__(self, share=0.1, draws=DRAWS):
        self.share, self.draws, self.asked = share, draws, []

    def share_of_events(self, batch, index, score, place):
        self.asked.append((index, np.array(score), np.array(place)))
        return np.full((self.draws, len(score)), self.share)


class Step(Flat):
    """All rows at or above a score are events, none below: counts come out exactly."""

    def __init__(self, at):
        super().__init__(draws=3)
        self.at = at

    def share_of_events(self, batch, index, score, place):
        return np.tile((score >= self.at) * 1.0, (3, 1))


def at(batches, thresholds, curves, seed=0, which=None):
    """The counts of all batches, or of some."""
    which = range(len(batches)) if which is None else which
    marks = [thresholds[index] for index in which]
    return counts_at(batches, which, marks, curves, np.random.default_rng(seed))


def make_batch(seed=0, n=400, threshold=1.0, **settings):
    rng = np.random.default_rng(seed)
    scores = np.round(rng.normal(size=n), 2)
    event = rng.random(n) < 0.2
    labels = np.full(n, np.nan)
    labels[scores >= 1.0] = event[scores >= 1.0]
    inclusion = np.full(n, np.nan)
    inclusion[scores >= 1.0] = 1.0
    band = (scores < 1.0) & (scores >= 0.8)
    labels[band], inclusion[band] = event[band], 1.0
    low = np.flatnonzero(scores < 0.8)
    drawn = rng.choice(low, 31, replace=False)
    labels[drawn], inclusion[drawn] = event[drawn], 0.1
    batch = batch_of("a", scores, labels, threshold, inclusion=inclusion, **settings)
    return scores, labels, inclusion, batch


@pytest.mark.parametrize("threshold", [1.0, 0.9, 0.3, 1.4, -9.0, 9.0, "of an audited row"])
def test_oracle_counts_are_those_of_the_rows(threshold):
    scores, labels, inclusion, batch = make_batch()
    if threshold == "of an audited row":  # which is an alert then
        threshold = float(np.median(batch.audited.score))
        assert threshold in batch.audited.score
    counts = at([batch], [threshold], Flat())
    alert = scores >= threshold
    assert counts.rows == 400
    assert counts.alerts == alert.sum()
    assert counts.alerts_labelled == (~np.isnan(labels[alert])).sum()
    assert counts.seen == np.nansum(labels[alert])
    assert counts.known == np.nansum(labels[~alert])
    assert counts.outside == 0
    drawn = ~np.isnan(labels) & (inclusion < 1.0)
    below = ~alert & ~np.isnan(labels)
    assert counts.drawn == (drawn & ~alert).sum()
    assert counts.drawn_events == labels[drawn & ~alert].sum()
    assert counts.checked
    assert counts.certain_found == np.nansum(labels[alert & ~drawn])
    assert counts.certain_missed == np.nansum(labels[~alert & ~drawn])
    assert counts.labelled_found == (alert & ~np.isnan(labels) & ~drawn).sum()
    assert counts.labelled_missed == (below & ~drawn).sum()
    assert counts.open_missed == (~alert & np.isnan(labels)).sum()
    found, missed = counts.found_cells, counts.missed_cells
    assert found.drawn.sum() == (drawn & alert).sum()
    assert found.events.sum() == labels[drawn & alert].sum()
    assert missed.rows.sum() == counts.open_missed + counts.drawn
    frame = np.isnan(labels) & (scores < 1.0) | drawn
    assert found.rows.sum() == (frame & alert).sum()


def strata_batch(threshold=50.0, **settings):
    """100 rows; 10 of the 20 right below 50 were drawn, then 6 of 30; every second an event."""
    scores = np.arange(100.0)
    labels, inclusion = np.full(100, np.nan), np.full(100, np.nan)
    labels[50:], inclusion[50:] = 0.0, 1.0
    for rows, chance in ((np.arange(30, 50, 2), 0.5), (np.arange(0, 30, 5), 0.2)):
        inclusion[rows] = chance
        labels[rows] = np.arange(len(rows)) % 2
    return batch_of(None, scores, labels, threshold, inclusion=inclusion, **settings)


@pytest.mark.parametrize(
    ("threshold", "found", "missed"),
    [
        (50.0, [], [(20, 10, 5), (30, 6, 3)]),
        (70.0, [], [(20, 10, 5), (30, 6, 3)]),
        (40.0, [(10, 5, 3)], [(10, 5, 2), (30, 6, 3)]),
        (39.5, [(10, 5, 3)], [(10, 5, 2), (30, 6, 3)]),
        (30.0, [(20, 10, 5)], [(30, 6, 3)]),
        (12.0, [(20, 10, 5), (18, 3, 2)], [(12, 3, 1)]),
        (-1.0, [(20, 10, 5), (30, 6, 3)], []),
    ],
)
def test_strata_are_read_from_probabilities_and_cut_at_the_threshold(threshold, found, missed):
    (above, below), frame = cells_at(strata_batch(), threshold)
    assert frame == 50
    for ours, expected in ((above, found), (below, missed)):
        assert list(zip(ours.rows, ours.drawn, ours.events, strict=True)) == expected


def test_strata_of_several_batches_and_frames_stand_apart():
    number = np.zeros(100, np.int64)
    number[::4] = 1
    both = counts_at(
        [strata_batch(), strata_batch(frame=number)],
        [0, 1],
        [50.0, 50.0],
        None,
        np.random.default_rng(0),
    )
    assert np.unique(both.missed_cells.frame).tolist() == [0, MOST_FRAMES, MOST_FRAMES + 1]
    assert both.missed_cells.drawn.sum() == 32
    # Frames are not told apart row by row: each is as large as its rows stand for.
    own = both.missed_cells.chosen(both.missed_cells.frame >= MOST_FRAMES)
    assert own.rows.sum() == pytest.approx(50)


def test_nobody_drew_from_the_rows_below():
    scores = np.arange(100.0)
    batch = batch_of(None, scores, np.where(scores >= 60, 0.0, np.nan), 60.0)
    for threshold, found, missed in ((60.0, 0, 60), (80.0, 0, 60), (20.0, 40, 20), (-1.0, 60, 0)):
        (above, below), _ = cells_at(batch, threshold)
        assert (above.rows.sum(), below.rows.sum()) == (found, missed)
        assert above.drawn.sum() == below.drawn.sum() == 0
    assert not at([batch], [60.0], None).checked


@pytest.mark.parametrize("drawn", [True, False])
def test_alerts_without_a_label_are_open_below_a_higher_threshold(drawn):
    """They stood nowhere: above 70 all had labels, and nothing seemed left to estimate."""
    scores = np.arange(100.0)
    labels = np.zeros(100)
    inclusion = np.ones(100)
    labels[50:60] = inclusion[50:60] = np.nan
    if drawn:
        labels[0:50] = inclusion[0:50] = np.nan
        labels[0:50:5], inclusion[0:50:5] = 0.0, 0.2
    batch = batch_of(None, scores, labels, 50.0, inclusion=inclusion)
    for threshold, rows in ((50.0, 0), (55.0, 5), (70.0, 10)):
        below = at([batch], [threshold], None).missed_cells
        open_alerts = below.chosen(below.frame == MOST_FRAMES - 1)
        assert (open_alerts.rows.sum(), open_alerts.drawn.sum()) == (rows, 0)
        assert at([batch], [threshold], None).open_missed == rows + 40 * drawn


@pytest.mark.parametrize("times", [100.0, 10.0, 0.3, 0.01])
def test_probabilities_that_no_draw_explains_are_refused(times):
    """Percentages, shares of a percentage, weights: a draw of 300 rows stands for all of them."""
    rng = np.random.default_rng(0)
    scores, chance = rng.normal(size=20_000), 0.009
    labels, inclusion = np.full(20_000, np.nan), np.full(20_000, np.nan)
    drawn = rng.random(20_000) < chance
    labels[drawn], inclusion[drawn] = 0.0, chance * times
    batch = batch_of(None, scores, labels, 9.0, inclusion=inclusion)
    with refused("inclusion-total", DataError, frame=20_000.0):
        at([batch], [9.0], None)
    inclusion[drawn] = chance
    assert at([batch_of(None, scores, labels, 9.0, inclusion=inclusion)], [9.0], None).checked


@pytest.mark.parametrize("threshold", [1.0, 0.5, 1.6])
def test_oracle_draws_are_binomial_in_the_open_rows(threshold):
    scores, labels, _, batch = make_batch()
    counts = at([batch], [threshold], Flat(0.1), 1)
    open_rows = np.isnan(labels)
    for drawn, there in (
        (counts.found - counts.seen, open_rows & (scores >= threshold)),
        (counts.missed - counts.known, open_rows & (scores < threshold)),
    ):
        law = stats.binom(there.sum(), 0.1)
        assert len(drawn) == DRAWS
        assert drawn.mean() == pytest.approx(law.mean(), abs=5 * law.std() / np.sqrt(DRAWS) + 1e-12)
        assert drawn.std() == pytest.approx(law.std(), rel=0.06)
        assert (drawn == np.round(drawn)).all()
    np.testing.assert_array_equal(counts.margin, np.full(DRAWS, 0.1))
    assert counts.open_above.max() == 0  # rows between two thresholds stand in strata
    np.testing.assert_allclose(counts.recall, counts.found / (counts.found + counts.missed))


@pytest.mark.parametrize("threshold", [1.0, 0.5, 1.6])
def test_rows_between_two_thresholds_change_sides(threshold):
    """With a curve that is certain, what is drawn is what is counted."""
    scores, labels, _, batch = make_batch()
    counts = at([batch], [threshold], Step(0.3))
    open_rows = np.isnan(labels) & (scores >= 0.3)
    # Groups do not end at the step, so a group's mean score decides for the whole of it.
    found = counts.found[0] - counts.seen
    assert found == pytest.approx((open_rows & (scores >= threshold)).sum(), abs=3)
    missed = (open_rows & (scores < threshold)).sum()
    assert counts.missed[0] - counts.known == pytest.approx(missed, abs=3)
    assert np.ptp(counts.missed) == 0


def test_without_a_curve_only_counts_are_left():
    batch = make_batch()[3]
    counts = at([batch], [1.0], None)
    assert counts.open_above.tolist() == [0.0]
    assert counts.missed.tolist() == [counts.known]
    assert np.isnan(counts.margin).all()


def test_no_event_at_all_is_no_recall():
    scores = np.arange(10.0)
    batch = batch_of(None, scores, np.zeros(10), 5.0)
    counts = at([batch], [5.0], Flat(0.5))
    assert np.isnan(counts.recall).all()


def test_batches_add_up_and_can_be_asked_for_alone():
    one, two = make_batch(0)[3], make_batch(1, threshold=1.2)[3]
    marks = [1.0, 1.2]
    curve = Flat(0.05)
    both = at([one, two], marks, curve)
    assert sorted({index for index, _, _ in curve.asked}) == [0, 1]
    parts = [at([one, two], marks, Flat(0.05), 5, which=[alone]) for alone in (0, 1)]
    for name in (
        "rows",
        "alerts",
        "alerts_labelled",
        "seen",
        "known",
        "outside",
        "labelled_missed",
    ):
        assert getattr(both, name) == sum(getattr(part, name) for part in parts)
    for cells in ("found_cells", "missed_cells"):
        for name in ("rows", "drawn", "events"):
            total = sum(getattr(getattr(part, cells), name).sum() for part in parts)
            assert getattr(getattr(both, cells), name).sum() == pytest.approx(total)
    assert both.band == tuple(np.sum([part.band for part in parts], axis=0))
    expected = sum(part.missed.mean() for part in parts)
    assert both.missed.mean() == pytest.approx(expected, abs=0.6)


def test_the_margin_of_batches_is_weighted_by_their_rows():
    small, large = make_batch(0, n=100)[3], make_batch(1, n=900)[3]

    class Own(Flat):
        def share_of_events(self, batch, index, score, place):
            return np.full((5, len(score)), 0.1 + 0.4 * index)

    counts = at([small, large], [1.0, 1.0], Own())
    np.testing.assert_allclose(counts.margin, 0.1 * 0.1 + 0.9 * 0.5)


def test_outside_events_bound_the_misses_and_are_not_added_to_them():
    scores, labels, inclusion, _ = make_batch()
    source = np.full(400, "", dtype=object)
    open_below = np.flatnonzero(np.isnan(labels) & (scores < 0.5))[:40]
    labels[open_below], source[open_below] = 1.0, "outside"
    batch = batch_of("a", scores, labels, 1.0, inclusion=inclusion, kinds=source)
    assert len(batch.outside) == 40
    none = at([batch], [1.0], Flat(1e-12))
    many = at([batch], [1.0], Flat(0.5))
    assert none.least_missed == none.known + 40
    np.testing.assert_array_equal(none.missed, none.known + 40)
    # Half of the open rows are events anyway: forty known ones are among them.
    open_rows = batch.table.unlabelled[batch.table.above(1.0) :].sum()
    assert many.missed.mean() - many.known == pytest.approx(0.5 * open_rows, rel=0.02)
    moved = at([batch], [-9.0], Flat(1e-12))
    assert (moved.outside, moved.missed.max()) == (0, 0)
    np.testing.assert_array_equal(moved.open_above, 40)


def test_oracle_the_best_single_curve_is_summed_over_the_open_rows():
    scores, labels, _, batch = make_batch()

    class Fit(Flat):
        def best_guess(self, batch, index, score):
            return np.full(len(score), 0.2)

    counts = at([batch], [0.5], Fit())
    open_rows = np.isnan(labels)
    found = np.nansum(labels[scores >= 0.5]) + 0.2 * (open_rows & (scores >= 0.5)).sum()
    missed = np.nansum(labels[scores < 0.5]) + 0.2 * (open_rows & (scores < 0.5)).sum()
    assert counts.best == (pytest.approx(found), pytest.approx(missed))
    both = at([batch, batch], [0.5, 0.5], Fit())
    assert both.best == (pytest.approx(2 * found), pytest.approx(2 * missed))
    assert at([batch], [0.5], Flat()).best is None


def test_the_band_ends_at_the_first_row_without_a_label():
    scores = np.arange(10.0)[::-1]
    labels = np.array([1, 0, 1, 1, 0, 1, np.nan, 1, np.nan, 1.0])
    table = score_table_of(scores, labels)
    assert band_end(table, 3) == 6
    assert band_end(table, 6) == 6
    assert band_end(table, 7) == 8
    assert band_end(table, 9) == 10
    counts = at([batch_of(None, scores, labels, 7.0)], [7.0], None)
    assert counts.band == (2.0, 3.0)


def test_oracle_four_bands_of_labelled_rows():
    scores, labels, inclusion, batch = make_batch()
    bands = predicted_bands(batch, 0, Flat(0.25), np.random.default_rng(0))
    found = {name: (observed, drawn) for name, observed, drawn in bands}
    alert = scores >= 1.0
    below = ~alert & ~np.isnan(labels)
    assert len(found) == 4
    upper, lower = found["the upper half of the alerts"], found["the lower half of the alerts"]
    assert upper[0] + lower[0] == labels[alert].sum()
    assert upper[1].mean() + lower[1].mean() == pytest.approx(0.25 * alert.sum(), rel=0.03)
    assert upper[1].mean() == pytest.approx(lower[1].mean(), rel=0.15)
    for name, rows in (
        ("the rows labelled right below the threshold", below & (inclusion == 1.0)),
        ("the audited rows", below & (inclusion < 1.0)),
    ):
        assert found[name][0] == labels[rows].sum()
        law = stats.binom(rows.sum(), 0.25)
        assert found[name][1].mean() == pytest.approx(law.mean(), rel=0.03)
        assert found[name][1].std() == pytest.approx(law.std(), rel=0.06)


def test_bands_without_rows_are_left_out():
    scores = np.arange(10.0)
    labels = np.where(scores >= 5, 1.0, np.nan)
    names = [
        name
        for name, _, _ in predicted_bands(
            batch_of(None, scores, labels, 5.0), 0, Flat(), np.random.default_rng(0)
        )
    ]
    assert names == ["the upper half of the alerts", "the lower half of the alerts"]


def test_oracle_open_alerts_without_a_curve_are_like_the_labelled_ones():
    """Half of the alerts labelled, 3 of 20 events: beta-binomial with Jeffreys' prior."""
    scores = np.arange(100.0)
    labels = np.full(100, np.nan)
    labels[60::2] = 0.0
    labels[60:66:2] = 1.0
    counts = at([batch_of(None, scores, labels, 60.0)], [60.0], None)
    law = stats.betabinom(20, 3.5, 17.5)
    error = law.std() / np.sqrt(len(counts.open_above))
    assert len(counts.open_above) >= 200
    assert counts.open_above.mean() == pytest.approx(law.mean(), abs=5 * error)
    assert counts.open_above.std() == pytest.approx(law.std(), rel=0.15)
