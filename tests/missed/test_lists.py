"""Several audits: their rows stand for all others without bias, and what is wrong is refused."""

import numpy as np
import pytest

from scarce import (
    DataError,
    UsageError,
    choose_labels,
    combine_audits,
    estimate_performance,
)
from scarce.missed.choose import LabelChoice
from scarce.missed.lists import CheckedRow, combine_lists
from tests.problems import codes, refused

CUT = 2.0


@pytest.fixture(scope="module")
def week():
    """Scores, labels of the alerts, and the truth."""
    rng = np.random.default_rng(8)
    scores = rng.normal(size=1200)
    truth = (rng.random(1200) < 1 / (1 + np.exp(2.5 - 2 * scores))) * 1.0
    return scores, np.where(scores >= CUT, truth, np.nan), truth


def audits_of(week, second, checked, seed):
    """An audit of 70 rows and a second list of 50, of which the first `checked` were checked."""
    scores, labels, truth = week
    known, audits = labels.copy(), []
    for policy, n, answered in (("audit", 70, 70), (second, 50, checked)):
        choice = choose_labels(scores, known, policy=policy, n=n, threshold=CUT, random_state=seed)
        answers = np.where(np.arange(n) < answered, truth[choice.rows], np.nan)
        known[choice.rows] = truth[choice.rows]
        audits.append((choice, answers))
    return audits


@pytest.mark.parametrize(
    ("second", "checked"), [("audit", 50), ("audit", 35), ("stratified", 50), ("random", 50)]
)
def test_lists_together_count_without_bias(week, second, checked):
    """What the rows of both lists stand for adds up to the events there are, draw after draw."""
    scores, labels, truth = week
    total = truth[scores < CUT].sum()
    counted = []
    for seed in range(250):
        both = combine_audits(audits_of(week, second, checked, seed), scores, labels)
        drawn = np.isfinite(both.inclusion) & (scores < CUT) & (both.labels == 1)
        counted.append((1 / both.inclusion[drawn]).sum())
    error = np.std(counted) / np.sqrt(len(counted))
    assert abs(np.mean(counted) - total) < 3 * error
    assert error < 0.05 * total


def test_rows_that_were_not_checked_leave_their_weight_to_the_others():
    first = {1: CheckedRow(0, 0.1, 1.0, "a"), 2: CheckedRow(None, 0.1, 0.9, "a")}
    second = {row: CheckedRow(row % 2, 0.2, 0.5, "b") for row in (3, 4, 5)}
    rows, remarks = combine_lists([first, second])
    chance = {key: row.probability for key, row in rows.items()}
    assert chance.pop(1) == pytest.approx(1 / (1 / 4 / (0.1 / 2) + 3 / 4))  # 1 of 4, half of 2
    assert chance == pytest.approx(dict.fromkeys((3, 4, 5), 0.2 / (3 / 4)))
    assert [(one.code, one.fields["count"], one.fields["drawn"]) for one in remarks] == [
        ("audit-unlabelled", 1, 2)
    ]
    nothing, remarks = combine_lists(
        [first, {row: one._replace(label=None) for row, one in second.items()}]
    )
    assert list(nothing) == [1]
    assert [one.fields["count"] for one in remarks] == [1, 3]


def test_oracle_lists_that_were_all_checked_are_weighted_as_rounds(rng):
    rounds = LabelChoice(
        np.arange(9),
        rng.uniform(0.1, 0.9, 9),
        np.array(["explored"] * 9),
        9,
        50,
        round=np.array([1, 1, 1, 1, 2, 2, 3, 3, 3]),
    )
    lists = [
        {
            row: CheckedRow(1.0, rounds.probability[row])
            for row in range(9)
            if rounds.round[row] == k
        }
        for k in (1, 2, 3)
    ]
    rows, remarks = combine_lists(lists)
    assert remarks == []
    np.testing.assert_allclose(
        [1 / rows[row].probability for row in range(9)],
        np.maximum(rounds.weights(), 1.0),
        rtol=1e-12,
    )


def test_one_audit_is_left_as_it_is(week):
    scores, labels, _ = week
    ((choice, answers), _) = audits_of(week, "audit", 50, seed=0)
    answers = np.where(np.arange(70) < 60, answers, np.nan)
    one = combine_audits([(choice, answers)], scores, labels)
    np.testing.assert_array_equal(one.inclusion, choice.inclusion(len(scores)))
    assert one.remarks == ()
    found = estimate_performance(scores, one.labels, threshold=CUT, inclusion=one.inclusion)
    assert "audit-unlabelled" in codes(found.warnings)


def test_what_cannot_work_is_refused(week):
    scores, labels, _ = week
    (first, answers), second = audits_of(week, "audit", 50, seed=0)
    with refused("same-list", DataError, first="audit 1", second="audit 2"):
        combine_audits([(first, answers), (first, answers)], scores, labels)
    told = labels.copy()
    told[first.rows[3]] = 1 - answers[3]
    with refused("labels-disagree", DataError, key=int(first.rows[3])):
        combine_audits([(first, answers), second], scores, told)
    with refused("length-mismatch", DataError, argument="answers"):
        combine_audits([(first, answers[:5])], scores, labels)
    with refused("unknown-label", DataError, value=2.0):
        combine_audits([(first, answers + 2)], scores, labels)
    with refused("length-mismatch", UsageError):
        combine_audits([(first, answers)], scores[:10], labels[:10])
    lists = [{1: CheckedRow(0, 0.1, 1.0, "a")}, {1: CheckedRow(1, 0.5, 1.0, "b")}]
    with refused("labels-disagree", DataError, first="a", second="b"):
        combine_lists(lists)
