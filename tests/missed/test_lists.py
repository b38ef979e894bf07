"""Several lists: their rows stand for all others without bias, and what is wrong is refused."""

import itertools

import numpy as np
import pytest
from scipy.special import expit

from scarce import (
    DataError,
    UsageError,
    choose_labels,
    combine_audits,
    estimate_performance,
)
from scarce.missed import choose as choose_module
from scarce.missed.choose import LabelChoice
from scarce.missed.frames import Frame
from scarce.missed.lists import CheckedRow, combine_lists
from tests.problems import codes, refused

CUT = 2.0
NAN = float("nan")
FRAME = str(Frame("5f0c31d2a9be", 60, 2.0))
OTHER = str(Frame("0123456789ab", 90, 2.0))


@pytest.fixture(scope="module")
def week():
    """Scores, labels of the alerts, and the truth."""
    rng = np.random.default_rng(8)
    scores = rng.normal(size=1200)
    truth = (rng.random(1200) < 1 / (1 + np.exp(2.5 - 2 * scores))) * 1.0
    return scores, np.where(scores >= CUT, truth, np.nan), truth


@pytest.fixture
def plain_curve(monkeypatch):
    """For hundreds of draws: a curve that needs no fit. Any curve gives known probabilities."""
    monkeypatch.setattr(
        choose_module,
        "expected_shares",
        lambda scores, labels, threshold, at: expit(3.0 * (at - threshold)),
    )


def audits_of(week, lists, seed):
    """Lists drawn one after the other: (policy, rows, share of rows that were checked)."""
    scores, labels, truth = week
    known, audits, generator = labels.copy(), [], np.random.default_rng(seed)
    for policy, n, share, *more in lists:
        choice = choose_labels(
            scores,
            known,
            policy=policy,
            n=n,
            threshold=CUT,
            random_state=generator,
            band=more[0] if more else 0.0,
        )
        answers = np.where(np.arange(n) < share * n, truth[choice.rows], np.nan)
        held = ~np.isnan(answers)
        known[choice.rows[held]] = answers[held]
        audits.append((choice, answers))
    return audits


STEEP = "a steep world"
DESIGNS = {
    "audit": [("audit", 70, 1)],
    "stratified": [("stratified", 70, 1)],
    "random": [("random", 70, 1)],
    "pps": [("pps", 70, 1)],
    "audit, half checked": [("audit", 70, 0.5)],
    "two audits": [("audit", 70, 1), ("audit", 50, 1)],
    "two audits, partly checked": [("audit", 70, 0.7), ("audit", 50, 0.6)],
    "audit and stratified": [("audit", 70, 1), ("stratified", 50, 1)],
    "audit and random": [("audit", 70, 1), ("random", 50, 1)],
    "random and audit": [("random", 70, 1), ("audit", 50, 1)],
    "audit and pps": [("audit", 70, 1), ("pps", 50, 1)],
    "two pps": [("pps", 70, 1), ("pps", 50, 1)],
    "a band in the second": [("audit", 70, 1), ("audit", 50, 1, 0.5)],
    "a band in the first": [("pps", 70, 1, 0.5), ("audit", 50, 1)],
    "three audits": [("audit", 60, 1), ("audit", 50, 1), ("audit", 40, 1)],
    "three, partly checked": [("stratified", 60, 0.6), ("random", 50, 1), ("audit", 40, 0.7)],
    "strata taken whole": [("random", 60, 1), ("stratified", 100, 1)],
    "strata taken whole and left": [("random", 60, 1), ("stratified", 100, 0.7)],
}


@pytest.mark.parametrize("design", DESIGNS)
@pytest.mark.parametrize("world", ["the week", STEEP])
def test_lists_of_one_frame_count_without_bias(week, plain_curve, design, world):
    """Weighted events add up to those that there are, draw after draw; weights to all rows.

    In the steep world all events lie directly below the threshold, where strata are taken whole.
    """
    scores, labels, truth = week
    if world == STEEP:
        truth = (np.random.default_rng(1).random(1200) < expit(9 * scores - 14)) * 1.0
        labels = np.where(scores >= CUT, truth, np.nan)
    below = scores < CUT
    counted, rows = [], []
    for seed in range(160):
        audits = audits_of((scores, labels, truth), DESIGNS[design], seed)
        both = combine_audits(audits, scores, labels)
        held = np.isfinite(both.probability) & below & ~np.isnan(both.labels)
        assert ((both.probability[held] > 0) & (both.probability[held] <= 1)).all()
        counted.append((both.labels[held] / both.probability[held]).sum())
        rows.append((1 / both.probability[held]).sum())
    for found, total in ((counted, truth[below].sum()), (rows, below.sum())):
        error = np.std(found) / np.sqrt(160)
        assert abs(np.mean(found) - total) < 3 * error + 0.006 * total
        assert error < 0.05 * total


def test_real_audits_count_without_bias(week):
    """The same with the curve that is really fitted."""
    scores, labels, truth = week
    counted = []
    for seed in range(60):
        both = combine_audits(audits_of(week, DESIGNS["two audits"], seed), scores, labels)
        held = np.isfinite(both.probability) & (scores < CUT)
        counted.append((both.labels[held] / both.probability[held]).sum())
    off = np.mean(counted) - truth[scores < CUT].sum()
    assert abs(off) < 3 * np.std(counted) / np.sqrt(60)


# --- one frame ------------------------------------------------------------------------------------


def rows_of(numbers, chance, source, score=None, label=0.0, policy="", frame=FRAME):
    """A list of rows that scored ever less."""
    scores = -np.array(numbers, float) if score is None else score
    return {
        row: CheckedRow(label, chance, float(at), source, policy, frame)
        for row, at in zip(numbers, np.broadcast_to(scores, len(numbers)), strict=True)
    }


def chances(rows):
    return {key: row.probability for key, row in rows.items()}


def test_oracle_two_random_lists_are_one_of_both_sizes():
    """10 of 100 and then 30 of the 90 left are 40 of 100."""
    rows, remarks = combine_lists(
        [rows_of(range(10), 0.1, "a"), rows_of(range(10, 40), 1 / 3, "b")]
    )
    assert chances(rows) == pytest.approx(dict.fromkeys(range(40), 0.4))
    assert remarks == []
    third = rows_of(range(40, 46), 0.1, "c")
    rows, _ = combine_lists(
        [rows_of(range(10), 0.1, "a"), rows_of(range(10, 40), 1 / 3, "b"), third]
    )
    assert chances(rows) == pytest.approx(dict.fromkeys(range(46), 0.46))


def test_strata_of_several_lists_are_told_apart_by_the_score():
    first = rows_of([0, 2, 4], 0.5, "a") | rows_of([50, 70, 90], 0.1, "a")
    second = rows_of([1, 20, 60], 0.2, "b")
    rows, _ = combine_lists([first, second])
    assert chances(rows) == pytest.approx(
        dict.fromkeys([0, 1, 2, 4], 1 - 0.5 * 0.8) | dict.fromkeys([20, 50, 60, 70, 90], 0.28)
    )


def test_rows_that_were_not_checked_leave_their_weight_to_their_stratum():
    first = rows_of([0, 1], 0.5, "a") | rows_of([8, 9], 0.1, "a")
    first[1] = first[1]._replace(label=None)
    alone, remarks = combine_lists([first])
    assert chances(alone) == pytest.approx({0: 0.25, 8: 0.1, 9: 0.1})
    assert [(one.code, one.fields["count"], one.fields["drawn"]) for one in remarks] == [
        ("audit-unlabelled", 1, 4)
    ]
    rows, remarks = combine_lists([first, rows_of([2, 7], 0.2, "b")])
    assert chances(rows) == pytest.approx(
        {0: 0.4, 2: 0.4} | dict.fromkeys([7, 8, 9], 1 - 0.9 * 0.8)
    )
    empty = {key: row._replace(label=None) for key, row in rows_of([2, 7], 0.2, "b").items()}
    rows, remarks = combine_lists([first, empty])
    assert chances(rows) == pytest.approx(chances(alone))
    assert [one.fields["count"] for one in remarks] == [1, 2]


def test_a_row_that_was_left_and_drawn_again_has_both_chances():
    first = rows_of([0, 1, 2, 3], 0.4, "a")
    first[1] = first[1]._replace(label=None)
    rows, _ = combine_lists([first, rows_of([1, 5], 0.1, "b", label=1.0)])
    assert chances(rows) == pytest.approx(dict.fromkeys([0, 1, 2, 3, 5], 1 - 0.7 * 0.9))
    assert rows[1].label == 1.0


def test_a_stratum_that_a_later_list_takes_whole_counts_for_itself():
    """Five of ten rows, then the other five: each of the ten stands for itself."""
    first = rows_of(range(5), 0.5, "a", policy="audit")
    rest = rows_of(range(5, 10), 1.0, "b", score=[-0.5, -1.5, -2.5, -3.5, -4.5], policy="audit")
    deep = rows_of(range(60, 66), 0.1, "b", policy="audit")
    rows, _ = combine_lists([first, rest | deep])
    assert chances(rows) == pytest.approx(
        dict.fromkeys(range(10), 1.0) | dict.fromkeys(range(60, 66), 1 - 0.5 * 0.9)
    )
    half = {key: row._replace(label=None) if key % 2 else row for key, row in rest.items()}
    rows, _ = combine_lists([half | deep])  # the other half was never checked
    assert chances(rows) == pytest.approx(
        dict.fromkeys([6, 8], 2 / 5) | dict.fromkeys(range(60, 66), 0.1)
    )


def test_rows_above_a_band_count_for_themselves():
    drawn = rows_of([1, 3, 30], 0.1, "a", policy="audit")
    band = rows_of([0, 2, 4], 0.9, "b", policy="band")  # whatever probability it was given
    rows, _ = combine_lists([drawn, band | rows_of([40], 0.2, "b", policy="audit")])
    assert chances(rows) == pytest.approx(
        dict.fromkeys(range(5), 1.0) | dict.fromkeys([30, 40], 0.28)
    )


def test_a_band_that_was_not_checked_is_no_band():
    drawn = rows_of([1, 3, 30], 0.1, "a", policy="audit")
    band = rows_of([0, 2, 4], 1.0, "b", policy="band")
    nobody = {key: row._replace(label=None) for key, row in band.items()}
    rows, _ = combine_lists([drawn, nobody])
    assert {key: row.probability for key, row in rows.items() if row.label is not None} == (
        pytest.approx(dict.fromkeys([1, 3, 30], 0.1))
    )
    from_the_top = band | {4: band[4]._replace(label=None)}
    rows, _ = combine_lists([drawn, from_the_top])
    assert rows[1].probability == 1.0  # above the last that was checked without a gap
    assert rows[3].probability == pytest.approx(0.1)
    rows, _ = combine_lists([drawn, nobody, rows_of([0, 2, 4, 5], 1.0, "c", policy="tail")])
    assert (rows[1].probability, rows[3].probability) == (1.0, 1.0)  # checked in the end


def test_equal_scores_keep_the_probability_that_each_was_drawn_with():
    one = {
        row: CheckedRow(0.0, chance, 5.0, "a", "pps", FRAME)
        for row, chance in enumerate([0.5, 0.3, 0.1])
    }
    assert chances(combine_lists([one])[0]) == {0: 0.5, 1: 0.3, 2: 0.1}
    lost = {key: row._replace(score=NAN) for key, row in one.items()}
    assert chances(combine_lists([lost])[0]) == {0: 0.5, 1: 0.3, 2: 0.1}


def test_lists_without_scores_are_combined_only_where_the_score_does_not_matter():
    a, b = rows_of([1, 2], 0.5, "a", score=NAN), rows_of([3, 4], 0.2, "b", score=NAN)
    assert chances(combine_lists([a, b])[0]) == pytest.approx(dict.fromkeys([1, 2, 3, 4], 0.6))
    deep = rows_of([9], 0.1, "a", score=NAN)
    assert len(combine_lists([a | deep])[0]) == 3
    with refused("score-missing", DataError, source="a"):
        combine_lists([a | deep, b])
    with refused("score-missing", DataError, source="b"):
        combine_lists([rows_of([1, 2], 0.5, "a") | rows_of([9], 0.1, "a"), b])


def test_the_order_of_rows_in_a_list_does_not_matter(week):
    scores, labels, _ = week
    audits = audits_of(week, DESIGNS["three, partly checked"], 3)
    plain = combine_audits(audits, scores, labels)
    mixed, rng = [], np.random.default_rng(0)
    for choice, answers in audits:
        order = rng.permutation(len(choice))
        fields = (choice.rows, choice.probability, choice.policy)
        turned = LabelChoice(
            *(part[order] for part in fields),
            choice.asked,
            choice.candidates,
            frame=choice.frame[order],
            n_rows=choice.n_rows,
        )
        mixed.append((turned, answers[order]))
    other = combine_audits(mixed, scores, labels)
    np.testing.assert_allclose(other.probability, plain.probability, rtol=1e-12)
    np.testing.assert_array_equal(other.labels, plain.labels)


def test_no_rescaling_of_the_scores_matters(week):
    scores, labels, truth = week
    settings = {"threshold": CUT, "random_state": 0, "n": 60}
    found = []
    for turn in (lambda s: s, lambda s: np.exp(4 * s), lambda s: np.arctan(s) - 50):
        values, mark = turn(scores), float(turn(np.array(CUT)))
        known, audits = labels.copy(), []
        for seed in (0, 1):
            choice = choose_labels(
                values, known, **settings | {"threshold": mark, "random_state": seed}
            )
            known[choice.rows] = truth[choice.rows]
            audits.append((choice, truth[choice.rows]))
        found.append(combine_audits(audits, values, labels).probability)
    np.testing.assert_allclose(found[1], found[0], rtol=1e-12)
    np.testing.assert_allclose(found[2], found[0], rtol=1e-12)


@pytest.mark.parametrize("policy", ["audit", "stratified", "random", "pps"])
def test_one_audit_is_left_as_it_is(week, policy):
    scores, labels, truth = week
    choice = choose_labels(scores, labels, policy=policy, n=70, threshold=CUT, random_state=0)
    one = combine_audits([(choice, truth[choice.rows])], scores, labels)
    np.testing.assert_array_equal(one.probability, choice.inclusion(1200))
    np.testing.assert_array_equal(one.inclusion(1200), one.probability)
    assert one.remarks == ()
    told = labels.copy()
    told[choice.rows] = truth[choice.rows]
    np.testing.assert_array_equal(one.labels, told)
    np.testing.assert_array_equal(one.frames(1200), choice.frames(1200))
    found, plain = (
        estimate_performance(scores, told, threshold=CUT, inclusion=drawn)
        for drawn in (one, choice)
    )
    assert (found.missed, found.recall) == (plain.missed, plain.recall)


def test_an_audit_that_was_partly_checked_is_read_alike_with_and_without_combining(week):
    scores, labels, truth = week
    choice = choose_labels(scores, labels, n=70, threshold=CUT, random_state=0)
    answers = np.where(np.arange(70) % 3 == 0, np.nan, truth[choice.rows])
    one = combine_audits([(choice, answers)], scores, labels)
    assert codes(one.remarks) == ["audit-unlabelled"]
    found = estimate_performance(scores, one.labels, threshold=CUT, inclusion=one)
    plain = estimate_performance(scores, one.labels, threshold=CUT, inclusion=choice)
    assert "audit-unlabelled" in codes(plain.warnings)
    assert found.missed.value == pytest.approx(plain.missed.value)
    assert found.missed.high == pytest.approx(plain.missed.high)


# --- several frames -------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def weeks():
    """Eight weeks on scales of their own, each with an audit that was drawn from it alone."""
    rng = np.random.default_rng(3)
    week = np.repeat(np.arange(8), rng.integers(150, 260, 8))
    week = rng.permutation(week)
    n = len(week)
    mark = 1.5 + 0.3 * week
    scores = rng.normal(size=n) + 0.3 * week
    truth = (rng.random(n) < expit(2 * (scores - mark))) * 1.0
    labels = np.where(scores >= mark, truth, np.nan)
    audits, glued = [], np.full(n, np.nan)
    for name in range(8):
        here = np.flatnonzero(week == name)
        choice = choose_labels(
            scores[here], labels[here], n=30, threshold=1.5 + 0.3 * name, random_state=name
        )
        audits.append((choice, truth[here][choice.rows]))
        glued[here[choice.rows]] = choice.probability
    at = {name: 1.5 + 0.3 * name for name in range(8)}
    return scores, labels, truth, week, at, audits, glued


def test_weekly_lists_add_up_to_rows_glued_by_hand(weeks):
    """Positions are relative to each week; probabilities stay, and the figures are the same."""
    scores, labels, truth, week, at, audits, glued = weeks
    both = combine_audits(audits, scores, labels, batch=week)
    np.testing.assert_array_equal(both.probability, glued)
    assert len(set(both.frame) - {None}) == 8
    known = np.where(np.isfinite(glued), truth, labels)
    np.testing.assert_array_equal(both.labels, known)
    settings = {"threshold": at, "batch": week}
    found = estimate_performance(scores, both.labels, inclusion=both, **settings)
    plain = estimate_performance(scores, known, inclusion=glued, **settings)
    for name in ("recall", "missed", "precision", "prevalence"):
        assert getattr(found, name) == getattr(plain, name)
    missed = truth[np.isnan(labels)].sum()
    assert found.missed.low <= missed <= found.missed.high
    held = np.isfinite(glued)
    assert (1 / glued[held]).sum() == pytest.approx(np.isnan(labels).sum())


def test_weekly_lists_in_any_order_are_the_same(weeks):
    scores, labels, _, week, _, audits, glued = weeks
    for turned in (audits[::-1], audits[3:] + audits[:3]):
        both = combine_audits(turned, scores, labels, batch=week)
        np.testing.assert_array_equal(both.probability, glued)


def test_lists_of_several_frames_glued_together_are_the_same(weeks):
    """As rows of files: one list of all weeks, or one list each."""
    _, _, _, _, _, audits, _ = weeks
    lists = [
        {
            (week, int(row)): CheckedRow(
                answer, float(chance), NAN, f"list {week}", "audit", str(frame)
            )
            for row, answer, chance, frame in zip(
                choice.rows, answers, choice.probability, choice.frame, strict=True
            )
        }
        for week, (choice, answers) in enumerate(audits)
    ]
    apart, _ = combine_lists(lists)
    glued, _ = combine_lists([dict(itertools.chain(*(one.items() for one in lists)))])
    assert chances(apart) == chances(glued)
    assert {key: row.frame for key, row in apart.items()} == {
        key: row.frame for key, row in glued.items()
    }
    assert len({row.frame for row in apart.values()}) == 8
    with refused("same-list", DataError):  # a part once more
        combine_lists([dict(itertools.chain(*(one.items() for one in lists))), lists[3]])


def test_a_second_round_in_every_week_counts_without_bias(weeks, plain_curve):
    """Weekly lists, and later one list over all weeks: combined in each week, and added."""
    scores, labels, truth, week, at, _, _ = weeks
    total, counted = truth[np.isnan(labels)].sum(), []
    rng = np.random.default_rng(0)
    for _ in range(120):
        fresh = []
        told = labels.copy()
        for name in range(8):
            here = np.flatnonzero(week == name)
            choice = choose_labels(
                scores[here], labels[here], n=30, threshold=at[name], random_state=rng
            )
            told[here[choice.rows]] = truth[here[choice.rows]]
            fresh.append((choice, truth[here][choice.rows]))
        later = choose_labels(scores, told, n=200, threshold=at, batch=week, random_state=rng)
        fresh.append((later, truth[later.rows]))
        both = combine_audits(fresh, scores, labels, batch=week)
        held = np.isfinite(both.probability)
        assert len(set(both.frame[held])) == 8  # not sixteen
        counted.append((both.labels[held] / both.probability[held]).sum())
    off = abs(np.mean(counted) - total)
    assert off < 3 * np.std(counted) / np.sqrt(120) + 0.005 * total


def test_a_list_of_batches_counts_as_it_was_drawn(weeks):
    scores, labels, truth, week, at, _, _ = weeks
    choice = choose_labels(scores, labels, n=160, threshold=at, batch=week, random_state=77)
    one = combine_audits([(choice, truth[choice.rows])], scores, labels, batch=week)
    np.testing.assert_array_equal(one.probability, choice.inclusion(len(scores)))
    without = combine_audits([(choice, truth[choice.rows])], scores, labels)
    np.testing.assert_array_equal(without.probability, one.probability)


# --- what cannot work -----------------------------------------------------------------------------


def test_the_same_list_twice_is_refused(week):
    scores, labels, _ = week
    (first, answers), second = audits_of(week, DESIGNS["two audits"], 0)
    with refused("same-list", DataError, first="audit 1", second="audit 2"):
        combine_audits([(first, answers), (first, answers)], scores, labels)
    with refused("same-list", DataError, first="audit 1", second="audit 3"):
        combine_audits([(first, answers), second, (first, np.full(70, np.nan))], scores, labels)
    whole, part = rows_of(range(9), 0.1, "a"), rows_of(range(4), 0.1, "b")
    for lists in ([whole, part], [part, whole]):  # a copy that was cut
        with refused("same-list", DataError):
            combine_lists(lists)
    rows, _ = combine_lists([whole, {}, {}])  # a list of no rows is no copy
    assert chances(rows) == pytest.approx(dict.fromkeys(range(9), 0.1))
    # Rows that two lists happen to share were drawn twice.
    rows, _ = combine_lists([whole, rows_of([8, 9, 10], 0.1, "b")])
    assert chances(rows) == pytest.approx(dict.fromkeys(range(11), 0.19))


def test_lists_without_a_frame_are_counted_alone_and_refused_together():
    old = rows_of(range(9), 0.1, "a", frame="")
    rows, _ = combine_lists([old])
    assert chances(rows) == pytest.approx(dict.fromkeys(range(9), 0.1))
    for other in (rows_of(range(9, 12), 0.1, "b", frame=""), rows_of(range(9, 12), 0.1, "b")):
        for lists in ([other, old], [old, other]):
            with refused("frame-unknown", DataError):
                combine_lists(lists)
    by_rule = rows_of([20], 1.0, "b", frame="", policy="tail")  # stands for itself alone
    rows, _ = combine_lists([rows_of(range(9), 0.1, "a"), by_rule])
    assert rows[20].probability == 1.0


def test_lists_of_one_frame_below_two_thresholds_are_refused(week):
    scores, labels, truth = week
    first = choose_labels(scores, labels, n=40, threshold=CUT, random_state=0)
    known = labels.copy()
    known[first.rows] = truth[first.rows]
    for mark in (1.5, None):
        second = choose_labels(scores, known, policy="random", n=40, threshold=mark, random_state=1)
        audits = [(one, truth[one.rows]) for one in (first, second)]
        with refused("frame-threshold", DataError, first="audit 1", second="audit 2"):
            combine_audits(audits, scores, labels)
    # Their order does not matter, and rows chosen by rule have no threshold.
    with refused("frame-threshold", DataError, first="audit 1", second="audit 2"):
        combine_audits(audits[::-1], scores, labels)
    tail = choose_labels(scores, known, policy="tail", n=10)
    both = combine_audits([audits[0], (tail, truth[tail.rows])], scores, labels)
    assert (both.probability[tail.rows] == 1).all()


def test_two_rankings_of_the_same_rows_are_refused(week, weeks):
    """Another model, a second ranking, incidents: what such rows stand for cannot be added."""
    scores, labels, truth = week
    first = choose_labels(scores, labels, n=40, threshold=CUT, random_state=0)
    group = np.arange(1200) // 2
    for more in ({"second_scores": -scores}, {"groups": group}):
        second = choose_labels(scores, labels, n=40, threshold=CUT, random_state=1, **more)
        audits = [(one, truth[one.rows]) for one in (first, second)]
        with refused("frame-overlap", DataError, first="audit 1", second="audit 2"):
            combine_audits(audits, scores, labels)
        alone = combine_audits(audits[1:], scores, labels)
        np.testing.assert_array_equal(alone.probability, second.inclusion(1200))
    # In named batches, as rows of files.
    named = Frame("5f0c31d2a9be", 60, 2.0, "week 7")
    again = named._replace(digest="0123456789ab")
    with refused("frame-overlap", DataError, first="a", second="b"):
        combine_lists(
            [rows_of([1], 0.1, "a", frame=str(named)), rows_of([2], 0.1, "b", frame=str(again))]
        )
    # A list of all rows beside weekly ones.
    scores, labels, truth, week, _, audits, _ = weeks
    whole = choose_labels(scores, labels, n=40, threshold=1.5, random_state=0)
    for lists in ([(whole, truth[whole.rows]), *audits], [*audits, (whole, truth[whole.rows])]):
        with refused("frame-overlap", DataError):
            combine_audits(lists, scores, labels, batch=week)


def test_a_row_in_two_frames_is_refused():
    with refused("row-in-two-frames", DataError, first="a", second="b", key=2):
        combine_lists([rows_of([1, 2], 0.1, "a"), rows_of([2, 3], 0.1, "b", frame=OTHER)])
    rows, _ = combine_lists([rows_of([1, 2], 0.1, "a"), rows_of([3, 4], 0.2, "b", frame=OTHER)])
    assert chances(rows) == pytest.approx({1: 0.1, 2: 0.1, 3: 0.2, 4: 0.2})


def test_an_audit_of_other_scores_is_refused(week, weeks):
    scores, labels, _, which, _, audits, _ = weeks
    with refused("frame-unknown", DataError, audit=1):
        combine_audits(audits, scores, labels)  # which week is not said
    moved = scores + (which == 3)
    with refused("frame-unknown", DataError, audit=4):
        combine_audits(audits, moved, labels, batch=which)
    (first, answers), *_ = audits_of(week, DESIGNS["audit"], 0)
    by_hand = LabelChoice(first.rows, first.probability, first.policy, 70, 1100)
    with refused("length-mismatch", UsageError):
        combine_audits([(by_hand, answers)], scores[:10], labels[:10])


def test_answers_that_do_not_fit_are_refused(week):
    scores, labels, _ = week
    (first, answers), second = audits_of(week, DESIGNS["two audits"], 0)
    told = labels.copy()
    told[first.rows[3]] = 1 - answers[3]
    with refused("labels-disagree", DataError, key=int(first.rows[3])):
        combine_audits([(first, answers), second], scores, told)
    with refused("length-mismatch", DataError, argument="answers"):
        combine_audits([(first, answers[:5])], scores, labels)
    with refused("unknown-label", DataError, value=2.0):
        combine_audits([(first, answers + 2)], scores, labels)
    lists = [rows_of([1], 0.1, "a"), rows_of([1], 0.5, "b", label=1.0)]
    with refused("labels-disagree", DataError, first="a", second="b"):
        combine_lists(lists)
