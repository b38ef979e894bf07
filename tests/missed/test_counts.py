"""Tallies: counts against plain counting, draws against binomials, bands, outside events."""

import numpy as np
import pytest
from scipy import stats

from scarce.missed.audit import count_missed
from scarce.missed.counts import band_end, counts_at, predicted_bands
from scarce.missed.provenance import batch_of
from scarce.missed.score_table import score_table_of

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
    return counts_at(batches, which, marks, curves, np.random.default_rng(seed), level=0.9)


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
    below = ~alert & ~np.isnan(labels)
    frame = (~alert).sum() - (below & (inclusion == 1.0)).sum()
    expected = count_missed(labels[below], inclusion[below], int(frame), level=0.9)
    for name in ("certain", "events", "frame_rows", "audited"):
        assert getattr(counts.audit, name) == getattr(expected, name)
    for name in ("value", "low", "high"):
        assert getattr(counts.audit, name) == pytest.approx(getattr(expected, name), nan_ok=True)


@pytest.mark.parametrize("threshold", [1.0, 0.5, 1.6])
def test_oracle_draws_are_binomial_in_the_open_rows(threshold):
    scores, labels, _, batch = make_batch()
    counts = at([batch], [threshold], Flat(0.1), 1)
    open_rows = np.isnan(labels)
    for drawn, there in (
        (counts.open_above, open_rows & (scores >= threshold)),
        (counts.missed - counts.known, open_rows & (scores < threshold)),
    ):
        law = stats.binom(there.sum(), 0.1)
        assert len(drawn) == DRAWS
        assert drawn.mean() == pytest.approx(law.mean(), abs=5 * law.std() / np.sqrt(DRAWS) + 1e-12)
        assert drawn.std() == pytest.approx(law.std(), rel=0.06)
        assert (drawn == np.round(drawn)).all()
    np.testing.assert_array_equal(counts.margin, np.full(DRAWS, 0.1))
    np.testing.assert_array_equal(counts.found, counts.seen + counts.open_above)
    np.testing.assert_allclose(counts.recall, counts.found / (counts.found + counts.missed))


@pytest.mark.parametrize("threshold", [1.0, 0.5, 1.6])
def test_rows_between_two_thresholds_change_sides(threshold):
    """With a curve that is certain, what is drawn is what is counted."""
    scores, labels, _, batch = make_batch()
    counts = at([batch], [threshold], Step(0.3))
    open_rows = np.isnan(labels) & (scores >= 0.3)
    # Groups do not end at the step, so a group's mean score decides for the whole of it.
    assert counts.open_above[0] == pytest.approx((open_rows & (scores >= threshold)).sum(), abs=3)
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
    for name in ("rows", "alerts", "alerts_labelled", "seen", "known", "outside"):
        assert getattr(both, name) == sum(getattr(part, name) for part in parts)
    assert both.audit.frame_rows == sum(part.audit.frame_rows for part in parts)
    assert both.audit.audited == sum(part.audit.audited for part in parts)
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
