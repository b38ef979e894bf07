"""What may be used for what: sources, thresholds of the time, columns of every kind, long data."""

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scarce import DataError, UsageError, choose_labels, estimate_performance, open_rows
from scarce.checks import read_inclusion, read_labels, read_scores, read_threshold
from scarce.errors import Argument
from scarce.missed import provenance
from scarce.missed.provenance import (
    Audited,
    adjust_for_unlabelled,
    batch_of,
    frame_numbers,
    kind_of,
    label_roles,
    read_batches,
    score_table_of_digest,
    source_kinds,
)
from scarce.missed.score_table import score_table_of
from scarce.missed.strata import answered
from tests.problems import codes, refused

CUT = 1.0
FIGURES = ("recall", "precision", "precision_per_recall", "missed", "alerts_per_event")


def case(n=2000, seed=0, audit=150):
    """Alerts labelled, an audit below; words and probabilities as a user would keep them."""
    rng = np.random.default_rng(seed)
    event = rng.random(n) < 0.08
    scores = rng.normal(size=n) + 1.8 * event
    labels = np.where(scores >= CUT, event * 1.0, np.nan)
    choice = choose_labels(scores, labels, policy="audit", n=audit, threshold=CUT, random_state=1)
    labels[choice.rows] = event[choice.rows]
    source = np.where(scores >= CUT, "alert", "")
    source[choice.rows] = "audit"
    return scores, labels, choice.inclusion(n), source, event


def figures(found):
    return [
        (getattr(found, name).value, getattr(found, name).low, getattr(found, name).high)
        for name in FIGURES
    ]


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("alert", "alert"),
        ("tail", "chosen"),
        ("explored", "audit"),
        ("investigated", "alert"),
        ("audit", "audit"),
        ("audit:week 3", "audit"),
        ("random", "audit"),
        ("stratified", "audit"),
        ("pps", "audit"),
        ("band", "chosen"),
        ("adaptive", "chosen"),
        ("uncertainty", "chosen"),
        ("outside", "outside"),
        ("chargeback", "outside"),
        ("", ""),
    ],
)
def test_every_word_of_label_source(word, kind):
    assert kind_of(word) == kind


def test_sources_are_read_without_case_spaces_or_missing_values():
    words = [" Alert ", None, float("nan"), pd.NA, "Complaint", "OUTSIDE"]
    kinds, notes = source_kinds(words, np.zeros(6))
    assert kinds.tolist() == ["alert", "", "", "", "outside", "outside"]
    assert len(notes) == 1
    assert (notes[0].code, notes[0].fields["words"]) == ("unknown-source", "'complaint'")
    with refused("length-mismatch", DataError, argument="label_source"):
        source_kinds(["alert"], np.zeros(6))


def one_row(score, label, **settings):
    """Usable label, audit and outside of a single row, with the threshold at 1."""
    arrays = {
        name: np.array([value], dtype=object if name == "sources" else float)
        for name, value in settings.items()
    }
    usable, audit, outside = label_roles(np.array([score]), np.array([label]), CUT, **arrays)
    return usable[0], bool(audit[0]), bool(outside[0])


NAN = float("nan")


@pytest.mark.parametrize(
    ("score", "settings", "usable", "audit", "outside"),
    [
        # nothing said: a label is a label
        (0.5, {}, True, False, False),
        (1.5, {}, True, False, False),
        # a probability below 1 is an audit, below the threshold only
        (0.5, {"inclusion": 0.1}, True, True, False),
        (1.5, {"inclusion": 0.1}, True, False, False),
        (1.0, {"inclusion": 0.1}, True, False, False),
        (0.5, {"inclusion": 1.0}, True, False, False),
        (0.5, {"inclusion": NAN}, True, False, False),
        # words
        (0.5, {"sources": "outside"}, False, False, True),
        (1.0, {"sources": "outside"}, True, False, False),
        (0.5, {"sources": "alert"}, True, False, False),
        (0.5, {"sources": "chosen"}, True, False, False),
        (0.5, {"sources": "audit", "inclusion": 0.1}, True, True, False),
        (0.5, {"sources": "outside", "inclusion": 0.1}, True, True, False),
        # the threshold of the time: a label below it did not come from an alert
        (0.5, {"at_time": 1.0}, False, False, True),
        (0.5, {"at_time": 0.5}, True, False, False),
        (0.5, {"at_time": 0.4}, True, False, False),
        (0.5, {"at_time": NAN}, False, False, True),
        (1.5, {"at_time": 2.0}, False, False, True),
        (1.5, {"at_time": NAN}, True, False, False),
        (0.5, {"at_time": 1.0, "inclusion": 0.1}, True, True, False),
        (0.5, {"at_time": 1.0, "inclusion": 1.0}, True, False, False),
        (0.5, {"at_time": 1.0, "inclusion": NAN}, False, False, True),
        (0.5, {"at_time": 1.0, "sources": "chosen"}, True, False, False),
        (0.5, {"at_time": 1.0, "sources": "alert"}, False, False, True),
        (0.5, {"at_time": 0.4, "sources": "outside"}, True, False, False),
    ],
)
def test_every_case_of_a_label(score, settings, usable, audit, outside):
    for label in (0.0, 1.0):
        found, is_audit, is_outside = one_row(score, label, **settings)
        assert (found == label, is_audit, is_outside) == (usable, audit, outside)
        assert usable or np.isnan(found)
    assert one_row(score, NAN, **settings)[1:] == (False, False)


def test_only_events_from_outside_are_kept():
    scores = np.array([2.0, 0.5, 0.4, 0.3, 1.5])
    labels = np.array([1.0, 1.0, 0.0, 1.0, 1.0])
    kinds = np.array(["alert", "outside", "outside", "outside", "outside"], dtype=object)
    batch = batch_of("b", scores, labels, CUT, kinds=kinds)
    assert sorted(batch.outside.tolist()) == [0.3, 0.5]
    assert batch.table.events.sum() == 2  # the two above the threshold were investigated
    assert batch.table.others.sum() == 0


def test_outside_events_leave_the_curve_alone_and_bound_the_misses():
    scores, labels, inclusion, source, event = case()
    plain = estimate_performance(
        scores, labels, threshold=CUT, inclusion=inclusion, label_source=source
    )
    silent = np.flatnonzero(np.isnan(labels) & event & (scores < CUT))
    assert len(silent) > 8
    told, words = labels.copy(), source.astype(object)
    told[silent], words[silent] = 1.0, "complaint"
    more = estimate_performance(
        scores, told, threshold=CUT, inclusion=inclusion, label_source=words
    )
    place = np.linspace(-3, 3, 50)
    np.testing.assert_array_equal(
        *(one.share_of_events(place, 200, np.random.default_rng(0)) for one in (more, plain))
    )
    assert more.precision == plain.precision
    assert more.alerts_per_event == plain.alerts_per_event
    assert more.counts.from_outside == len(silent)
    assert more.missed.low >= len(silent) + more.counts.events_below
    assert more.missed.low > plain.missed.low
    assert "unknown-source" in codes(more.warnings)


def test_audits_without_a_probability_are_refused():
    scores, labels, inclusion, source, _ = case()
    below = np.flatnonzero((source == "audit") & (scores < CUT))
    with refused("audit-without-probability", DataError, count=len(below)):
        estimate_performance(scores, labels, threshold=CUT, label_source=source)
    inclusion[below[3]] = np.nan
    with refused("audit-without-probability", DataError, count=1, row=below[3]):
        estimate_performance(
            scores, labels, threshold=CUT, inclusion=inclusion, label_source=source
        )


def test_drawn_rows_that_came_back_without_a_label_lower_the_probability_of_their_stratum():
    scores, labels, inclusion, _, _ = case()
    drawn = np.flatnonzero((inclusion < 1.0) & (scores < CUT))
    lost = drawn[np.argsort(-scores[drawn])][20:75:2]  # none of the uppermost
    labels[lost] = np.nan
    half = read_batches(scores, labels, CUT, inclusion=inclusion)[0]
    kept = np.setdiff1d(drawn, lost)
    order = np.argsort(-scores[kept])
    found = half.audited.probability[np.argsort(-half.audited.score)]
    for one in np.unique(inclusion[drawn]):
        here = inclusion[drawn] == one
        share = np.isin(drawn[here], kept).mean()
        np.testing.assert_allclose(found[inclusion[kept][order] == one], one * share)
    assert (found[:10] == inclusion[kept][order][:10]).all()
    assert found.sum() < inclusion[kept].sum()
    assert half.notes[0].code == "audit-unlabelled"
    seen = half.notes[0].fields
    assert (seen["count"], seen["drawn"]) == (len(lost), len(drawn))
    # Where every row has a probability, nobody can say which were drawn.
    whole = np.where(np.isnan(inclusion), 0.1, inclusion)
    (other,) = read_batches(scores, labels, CUT, inclusion=whole)
    assert "audit-unlabelled" not in codes(other.notes)
    np.testing.assert_array_equal(np.sort(other.audited.probability), np.sort(inclusion[kept]))


def test_an_audit_of_which_nothing_came_back_says_nothing_yet():
    scores, labels, inclusion, _, _ = case()
    labels[(inclusion < 1.0) & (scores < CUT)] = np.nan
    (none,) = read_batches(scores, labels, CUT, inclusion=inclusion)
    assert len(none.audited.score) == 0
    assert none.notes[0].code == "audit-unlabelled"
    assert none.notes[0].fields["count"] == none.notes[0].fields["drawn"]


def test_a_probability_of_0_is_no_draw():
    """Refused where the row has a label; else the row was not drawn, as with a missing value."""
    scores, labels, inclusion, _, _ = case()
    drawn = np.flatnonzero((inclusion < 1.0) & (scores < CUT))
    labels[drawn[:20]] = np.nan
    (plain,) = read_batches(scores, labels, CUT, inclusion=inclusion)
    zero = inclusion.copy()
    free = np.flatnonzero(np.isnan(inclusion) & (scores < CUT))
    zero[free[:300]] = 0.0
    (other,) = read_batches(scores, labels, CUT, inclusion=zero)
    np.testing.assert_array_equal(other.audited.probability, plain.audited.probability)
    assert other.notes == plain.notes
    labels[free[:3]] = 0.0
    with refused("inclusion-range", DataError, count=3):
        read_batches(scores, labels, CUT, inclusion=zero)
    with refused("inclusion-range", DataError, count=3):
        read_batches(scores, labels, CUT, inclusion=np.nan_to_num(zero))


def test_probabilities_are_lowered_by_a_share_where_strata_have_not_been():
    """As long data do, whose rows are read once."""
    score, frame = np.arange(4.0), np.zeros(4, np.int64)
    audited = Audited(score, np.zeros(4), np.array([0.1, 0.1, 0.5, 0.5]), frame)
    same, notes = adjust_for_unlabelled(audited, 0, 0.5)
    assert (same, notes) == (audited, [])
    half, notes = adjust_for_unlabelled(audited, 4, 0.5)
    np.testing.assert_allclose(half.probability, [0.05, 0.05, 0.25, 0.25])
    assert (notes[0].fields["count"], notes[0].fields["drawn"]) == (4, 8)
    kept, _ = adjust_for_unlabelled(audited, 4)
    assert kept is not audited
    np.testing.assert_array_equal(kept.probability, audited.probability)


def test_frames_are_numbered():
    scores, labels, inclusion, _, _ = case()
    drawn = np.isfinite(inclusion) & (inclusion < 1.0)
    word = np.full(2000, None, dtype=object)
    word[drawn] = np.where(np.arange(drawn.sum()) % 2, "b/x", "a/x")
    (batch,) = read_batches(scores, labels, CUT, inclusion=inclusion, frame=word)
    assert sorted(np.bincount(batch.audited.frame)) == [drawn.sum() // 2, drawn.sum() // 2]
    order = np.argsort(-batch.audited.score)
    plain = np.array([word[row] for row in np.flatnonzero(drawn)[np.argsort(-scores[drawn])]])
    np.testing.assert_array_equal(batch.audited.frame[order], (plain == "b/x").astype(int))
    (one,) = read_batches(scores, labels, CUT, inclusion=inclusion)
    assert (one.audited.frame == 0).all()
    for numbers in ([3, 7, 3], ["w", "x", "w"], [3.0, 7.0, 3.0], pd.Series(["w", "x", "w"])):
        assert frame_numbers(None, numbers, 3).tolist() == [0, 1, 0]
    assert frame_numbers(None, [None, "x", float("nan")], 3).tolist() == [0, 0, 0]
    assert frame_numbers(None, None, 3) is None
    with refused("length-mismatch", DataError, argument="frame"):
        frame_numbers(None, ["a"], 3)


def test_a_choice_brings_its_own_frames():
    scores, labels, inclusion, _, _ = case()
    bare = np.where(scores >= CUT, labels, np.nan)
    choice = choose_labels(scores, bare, policy="audit", n=150, threshold=CUT, random_state=1)
    (ours,) = read_batches(scores, labels, CUT, inclusion=choice)
    (plain,) = read_batches(scores, labels, CUT, inclusion=inclusion)
    for one, other in zip(ours.audited, plain.audited, strict=True):
        np.testing.assert_array_equal(one, other)


def test_answers_are_counted_frame_by_frame():
    """Two frames whose rows lie between each other: one came back whole, one by half."""
    rng = np.random.default_rng(0)
    scores = np.sort(rng.normal(size=400))[::-1] - 9
    word = np.full(400, None, dtype=object)
    word[0:200:4], word[2:200:4] = "a", "b"
    drawn = word != None  # noqa: E711
    inclusion = np.where(drawn, 0.2, np.nan)
    labels = np.where(word == "a", 0.0, np.nan)
    half = np.flatnonzero(word == "b")[::2]
    labels[half] = 0.0
    (batch,) = read_batches(scores, labels, CUT, inclusion=inclusion, frame=word)
    chance = batch.audited.probability
    np.testing.assert_allclose(chance[batch.audited.frame == 0], 0.2)
    np.testing.assert_allclose(chance[batch.audited.frame == 1], 0.1)
    both = np.flatnonzero(drawn)
    pooled = answered(scores[both], inclusion[both], ~np.isnan(labels[both]))
    assert np.unique(pooled).tolist() == pytest.approx([0.15])  # what it would be without frames


def test_scattered_labels_without_a_probability_are_asked_about():
    scores, labels, inclusion, _, _ = case()
    noted = read_batches(scores, labels, CUT)[0].notes
    assert codes(noted) == ["scattered-labels"]
    assert read_batches(scores, labels, CUT, inclusion=inclusion)[0].notes == ()
    order = np.argsort(-scores)
    band = np.full(len(scores), np.nan)
    band[order[:400]] = 0.0
    assert read_batches(scores, band, CUT)[0].notes == ()


@pytest.mark.parametrize(
    "labels",
    [
        [True, None, False, float("nan")],
        pd.Series([1, pd.NA, 0, pd.NA], dtype="Int64"),
        pd.Series([True, None, False, None], dtype="boolean"),
        pd.Series([1.0, np.nan, 0.0, np.nan]),
        pa.array([1, None, 0, None]),
        np.array([[1.0], [np.nan], [0.0], [np.nan]]),
        np.ma.array([1, 0, 0, 0], mask=[False, True, False, True]),
    ],
    ids=["list", "Int64", "boolean", "float", "arrow", "column", "masked"],
)
def test_labels_of_every_kind(labels):
    np.testing.assert_array_equal(read_labels(labels, 4), [1.0, np.nan, 0.0, np.nan])


@pytest.mark.parametrize(
    ("labels", "code", "seen"),
    [
        ([1, 0, 2, 0], "unknown-label", {"value": 2.0, "row": 2}),
        ([-1, 1, 1, 1], "unknown-label", {"value": -1.0, "row": 0}),
        (["yes", "no", "yes", "no"], "not-a-number", {"value": "'yes'", "row": 0}),
        ([0, 1], "length-mismatch", {"rows": 4}),
        (np.zeros((4, 2)), "length-mismatch", {"seen": "shape (4, 2)"}),
        ([0.5, 1, 0, 0], "unknown-label", {"value": 0.5, "row": 0}),
    ],
)
def test_other_labels_are_refused_with_value_and_row(labels, code, seen):
    with refused(code, DataError, **seen):
        read_labels(labels, 4)


def test_strange_labels_are_found_in_long_columns():
    labels = np.zeros(200_000)
    labels[150_001] = 3.0
    with refused("unknown-label", DataError, value=3.0, row=150_001):
        read_labels(labels, 200_000)


@pytest.mark.parametrize(
    ("scores", "code", "seen"),
    [
        ([1.0, np.inf, np.nan], "not-finite", {"count": 2, "row": 1}),
        (np.zeros((3, 2)), "not-a-column", {"shape": (3, 2)}),
        ([], "no-rows", {}),
        (["a", "b"], "not-a-number", {"value": "'a'", "row": 0}),
    ],
)
def test_other_scores_are_refused(scores, code, seen):
    with refused(code, DataError, **seen):
        read_scores(scores)


def test_scores_whose_sum_overflows_are_fine():
    np.testing.assert_array_equal(read_scores([1e308, 1e308]), [1e308, 1e308])


@pytest.mark.parametrize(
    ("inclusion", "code", "seen"),
    [
        ([0.5], "length-mismatch", {"rows": 3}),
        ([0.5, 2.0, 1.0], "inclusion-range", {"value": 2.0, "row": 1}),
        ([0.5, -0.1, 1.0], "inclusion-range", {"value": -0.1, "row": 1}),
    ],
)
def test_other_probabilities_are_refused(inclusion, code, seen):
    with refused(code, DataError, **seen):
        read_inclusion(inclusion, 3)


def test_thresholds_of_batches():
    assert read_threshold(2, ["a", "b"]) == [2.0, 2.0]
    assert read_threshold({"b": 1, "a": 3}, ["a", "b"]) == [3.0, 1.0]
    with refused("threshold-per-batch", UsageError, batch="b"):
        read_threshold({"a": 1}, ["a", "b"])
    for bad in (np.nan, np.inf, None, "high", [1, 2]):
        with refused("threshold-value", UsageError):
            read_threshold(bad, [None])


def test_batches_are_cut_by_name():
    scores, labels, inclusion, source, _ = case()
    week = np.where(np.arange(2000) % 3 == 0, "b", "a")
    batches = read_batches(
        scores, labels, {"a": 1.0, "b": 1.2}, inclusion=inclusion, batch=week, label_source=source
    )
    assert [one.name for one in batches] == ["a", "b"]
    assert [one.threshold for one in batches] == [1.0, 1.2]
    for one in batches:
        rows = week == one.name
        for ours, plain in zip(one.table, score_table_of(scores[rows], labels[rows]), strict=True):
            np.testing.assert_array_equal(ours, plain)
    with refused("batch-missing", DataError, row=0):
        read_batches(scores, labels, CUT, batch=np.where(week == "a", "a", None))
    with refused("length-mismatch", DataError, argument="batch"):
        read_batches(scores, labels, CUT, batch=week[:5])


def table_of(scores, labels, inclusion, source):
    return pa.table(
        {
            "score": scores,
            "y": pa.array(labels, from_pandas=True),
            "p": pa.array(inclusion, from_pandas=True),
            "source": pa.array([word or None for word in source.tolist()]),
            "then": np.full(len(scores), CUT),
        }
    )


def test_invariant_rows_give_what_arrays_give():
    scores, labels, inclusion, source, _ = case()
    rows = open_rows(
        table_of(scores, labels, inclusion, source),
        label="y",
        columns=["score", "p", "source", "then"],
    )
    names = {"inclusion": "p", "label_source": "source", "threshold_at_time": "then"}
    arrays = estimate_performance(
        scores,
        labels,
        threshold=CUT,
        inclusion=inclusion,
        label_source=source,
        threshold_at_time=np.full(2000, CUT),
    )
    from_rows = estimate_performance(rows, threshold=CUT, **names)
    assert figures(from_rows) == figures(arrays)
    assert from_rows.counts == arrays.counts
    assert from_rows.warnings == arrays.warnings
    threads = estimate_performance(rows, threshold=CUT, engine="threads", **names)
    assert figures(threads) == figures(arrays)


@pytest.mark.parametrize("limit", [provenance.ROW_BY_ROW, 500])
def test_invariant_frames_of_rows_are_those_of_arrays(monkeypatch, limit):
    """As words and as numbers, row by row and block by block."""
    scores, labels, inclusion, _, _ = case()
    drawn = np.isfinite(inclusion) & (inclusion < 1.0)
    number = np.where(drawn, 1.0 + np.arange(2000) % 2, np.nan)
    word = np.where(drawn, np.where(number == 1, "b", "c"), None)
    settings = {"threshold": CUT, "inclusion": inclusion}
    plain = estimate_performance(scores, labels, frame=word, **settings)
    monkeypatch.setattr(provenance, "ROW_BY_ROW", limit)
    monkeypatch.setattr("scarce.engine.block.BLOCK_CELLS", 1500)
    for column in (word.tolist(), pa.array(number, from_pandas=True)):
        table = pa.table(
            {
                "score": scores,
                "y": pa.array(labels, from_pandas=True),
                "p": pa.array(inclusion, from_pandas=True),
                "frame": column,
            }
        )
        rows = open_rows(table, label="y", columns=["score", "p", "frame"])
        found = estimate_performance(rows, threshold=CUT, inclusion="p", frame="frame")
        ours, theirs = (one._fit.batches[0].audited for one in (found, plain))
        assert (
            np.bincount(ours.frame)[np.unique(ours.frame)].tolist()
            == np.bincount(theirs.frame).tolist()
        )
        np.testing.assert_array_equal(np.sort(ours.probability), np.sort(theirs.probability))
        assert (found.missed.low, found.missed.high) == (plain.missed.low, plain.missed.high)


def test_invariant_long_data_give_nearly_what_short_data_give(monkeypatch):
    """The digest behind more than 262,144 rows, here from 1,000 on: counts are exact."""
    scores, labels, inclusion, source, event = case(20_000, audit=400)
    source = source.astype(object)
    told = np.flatnonzero(np.isnan(labels) & event & (scores < CUT))[[0, 1, 2, -2, -1]]
    labels[told], source[told] = 1.0, "outside"
    exact = estimate_performance(
        scores, labels, threshold=CUT, inclusion=inclusion, label_source=source
    )
    monkeypatch.setattr(provenance, "ROW_BY_ROW", 1000)
    monkeypatch.setattr("scarce.engine.block.BLOCK_CELLS", 9000)  # blocks of 3,000 rows
    rows = open_rows(
        table_of(scores, labels, inclusion, source), label="y", columns=["score", "p", "source"]
    )
    digested = [
        estimate_performance(
            scores, labels, threshold=CUT, inclusion=inclusion, label_source=source
        ),
        estimate_performance(rows, threshold=CUT, inclusion="p", label_source="source"),
    ]
    for other in digested:
        assert other.counts == exact.counts
        assert other.counts.from_outside == 5
        assert other.precision == exact.precision
        assert other._fit.batches[0].audited.score.sum() == pytest.approx(
            exact._fit.batches[0].audited.score.sum()
        )
        width = exact.recall.width
        for end in ("value", "low", "high"):
            ours, theirs = getattr(other.recall, end), getattr(exact.recall, end)
            assert ours == pytest.approx(theirs, abs=0.05 * width)
        assert other.alerts_per_event.value == pytest.approx(exact.alerts_per_event.value, rel=0.05)
    broken = inclusion.copy()
    lost = np.flatnonzero((source == "audit") & (inclusion < 1))[[200, -1]]
    assert lost[0] > 6000  # neither is in the first block
    broken[lost] = np.nan
    rows = open_rows(
        table_of(scores, labels, broken, source), label="y", columns=["score", "p", "source"]
    )
    with refused("audit-without-probability", DataError, count=2, row=lost[0]):
        estimate_performance(rows, threshold=CUT, inclusion="p", label_source="source")


def test_more_than_a_quarter_million_rows_go_through_the_digest(rng):
    """In bins, and yet with exact counts at the threshold, here amid all kinds of rows."""
    n = 262_145
    scores = rng.normal(size=n)
    labels = rng.choice([0.0, 1.0, np.nan], n, p=[0.2, 0.1, 0.7])
    for threshold in (0.0371, -0.5):
        table = read_batches(scores, labels, threshold)[0].table
        assert len(table.score) < 20_000
        assert table.n == n
        cut, alert = table.above(threshold), scores >= threshold
        assert table.rows[:cut].sum() == alert.sum()
        assert table.events[:cut].sum() == (labels[alert] == 1).sum()
        assert table.others[:cut].sum() == (labels[alert] == 0).sum()
    short = read_batches(scores[:-1], labels[:-1], 2.5)[0].table
    assert len(short.score) == n - 1


def test_oracle_the_table_of_a_small_digest_is_the_table_of_its_rows(rng):
    from scarce.missed.digest import ScoreDigest

    scores = np.round(rng.normal(size=500), 1)
    labels = rng.choice([0.0, 1.0, np.nan], 500)
    found = score_table_of_digest(ScoreDigest.of(scores, labels))
    for ours, plain in zip(found, score_table_of(scores, labels), strict=True):
        np.testing.assert_array_equal(ours, plain)


def test_rows_say_what_they_need():
    scores, labels, inclusion, source, _ = case(300, audit=20)
    table = table_of(scores, labels, inclusion, source)
    rows = open_rows(table, label="y", columns=["score", "p"])
    with refused("score-column", UsageError):
        estimate_performance(rows, threshold=CUT)
    with refused("unknown-column", UsageError, argument=Argument("inclusion", "q")):
        estimate_performance(rows, threshold=CUT, inclusion="q")
    with refused("labels-in-rows", UsageError):
        estimate_performance(rows, labels, threshold=CUT)
    for name in ("batch", "groups", "second_scores"):
        with refused("batch-of-rows", UsageError, argument=name):
            estimate_performance(rows, threshold=CUT, **{name: "p"})
    weighted = open_rows(table, label="y", columns=["score"], weight="then")
    with refused("weights-in-rows", UsageError):
        estimate_performance(weighted, threshold=CUT)
