"""choose_labels: the probabilities are the frequencies, ranks alone count, labels are respected."""

import json

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st
from scipy.special import expit
from sklearn.base import BaseEstimator
from sklearn.linear_model import LogisticRegression

from scarce import DataError, UsageError
from scarce.missed import choose as choose_module
from scarce.missed.audit import count_missed
from scarce.missed.choose import (
    LabelChoice,
    audit_sizes,
    choose_labels,
    expected_shares,
    greatest,
    probabilities,
    ranked,
    shares_of_batches,
    systematic,
)
from scarce.missed.frames import frame_of_text
from scarce.missed.mixture.estimator import ScoreMixture
from scarce.missed.rounds import label_in_rounds
from scarce.missed.strata import allocate, neyman_wish, stratum_ends
from tests.problems import codes, refused

RANDOM = {
    "audit": {"policy": "audit", "threshold": 45.0, "n": 14},
    "audit of most rows": {"policy": "audit", "threshold": 58.0, "n": 40},
    "audit with a band": {"policy": "audit", "threshold": 58.0, "n": 20, "band": 0.3},
    "pps": {"policy": "pps", "threshold": 45.0, "n": 14},
    "pps with a band": {"policy": "pps", "threshold": 58.0, "n": 20, "band": 0.5},
    "random": {"policy": "random", "threshold": 30.0, "n": 9},
    "stratified": {"policy": "stratified", "strata": 5, "n": 12},
    "proportional": {"policy": "stratified", "strata": 4, "n": 16, "allocation": "proportional"},
    "stratified below": {"policy": "stratified", "strata": 4, "n": 16, "threshold": 50.0},
}


@pytest.fixture
def plain_curve(monkeypatch):
    """For thousands of draws: a curve that needs no fit. Any curve gives known probabilities."""
    monkeypatch.setattr(
        choose_module,
        "expected_shares",
        lambda scores, labels, threshold, at: expit((at - threshold) / 10.0),
    )


@pytest.fixture
def batch(rng):
    """Sixty rows in no order, eight of them labelled."""
    scores = rng.permutation(60).astype(float)
    labels = np.full(60, np.nan)
    labels[rng.choice(60, 8, replace=False)] = 0.0
    return scores, labels


@pytest.mark.parametrize("design", RANDOM)
def test_frequencies_are_probabilities_and_counts_unbiased(design, batch, plain_curve):
    """Many draws: each row's share within 4.5 standard errors of the probability stored.

    Every row that could be drawn shows its probability at least once, always the same; the mean
    Horvitz-Thompson count of events that lie deep and shallow is the truth within 4.5 s.e.
    """
    scores, labels = batch
    truth = (np.random.default_rng(5).random(60) < 0.3).astype(float)
    generator = np.random.default_rng(11)
    times, stored, counts = np.zeros(60), np.full(60, np.nan), []
    draws = 2_500
    for _ in range(draws):
        choice = choose_labels(scores, labels, random_state=generator, **RANDOM[design])
        rows, probability = choice.rows, choice.probability
        times[rows] += 1
        before = stored[rows]
        assert ((before == probability) | (before != before)).all()
        stored[rows] = probability
        counts.append((truth[rows] / probability).sum())
    able = np.isnan(labels) & (scores < RANDOM[design].get("threshold", np.inf))
    assert (~np.isnan(stored) == able).all()
    error = np.sqrt(stored[able] * (1 - stored[able]) / draws)
    assert (abs(times[able] / draws - stored[able]) <= 4.5 * error + 1e-12).all()
    assert stored[able].sum() == pytest.approx(RANDOM[design]["n"])
    assert abs(np.mean(counts) - truth[able].sum()) < 4.5 * np.std(counts) / np.sqrt(draws)


def test_oracle_an_audit_is_strata_by_the_expected_curve():
    """Against the recipe: geometric strata of ranks, Neyman's allocation mixed with equal parts."""
    scores = np.random.default_rng(0).normal(size=3000)
    threshold = np.sort(scores)[-100]
    labels = np.where(scores >= threshold, np.random.default_rng(1).random(3000) < 0.3, np.nan)
    choice = choose_labels(scores, labels, n=81, threshold=threshold, random_state=3)
    below = np.argsort(-scores)[100:]
    ends = stratum_ends(2900, 81, 10)
    sizes = np.diff(ends, prepend=0)
    assert len(ends) == 10
    middle = scores[below[ends - (sizes + 1) // 2]]
    share = expected_shares(scores, labels, threshold, middle)
    taken = allocate(81, sizes, neyman_wish(sizes, share))
    stratum = np.searchsorted(
        ends, np.argsort(np.argsort(-scores))[choice.rows] - 100, side="right"
    )
    assert np.bincount(stratum, minlength=10).tolist() == taken.tolist()
    np.testing.assert_array_equal(choice.probability, (taken / sizes)[stratum])
    assert (np.diff(share) < 0).all()  # the curve falls, and richer strata are drawn more densely
    assert (taken / sizes)[0] > 3 * (taken / sizes)[-1]
    assert set(choice.policy) == {"audit"}
    assert (choice.candidates, choice.remarks) == (2900, ())


def test_what_checks_found_does_not_steer_an_audit():
    """Labels below the threshold leave the strata as they are: only which rows are left matters."""
    scores = np.random.default_rng(0).normal(size=800)
    alert = scores >= 1.0
    known = np.random.default_rng(1).choice(np.flatnonzero(~alert), 60, replace=False)
    drawn = []
    for answer in (0.0, 1.0):
        labels = np.where(alert, np.arange(800) % 3 == 0, np.nan)
        labels[known] = answer
        drawn.append(choose_labels(scores, labels, n=50, threshold=1.0, random_state=0))
    assert drawn[0].to_dict() == drawn[1].to_dict()


def test_oracle_pps_is_a_band_and_a_draw_that_thins_out():
    """Against the recipe, computed row by row from sorted scores."""
    scores = np.random.default_rng(0).normal(size=3000)
    threshold = np.sort(scores)[-100]
    labels = np.where(scores >= threshold, 0.0, np.nan)
    choice = choose_labels(
        scores, labels, policy="pps", n=80, threshold=threshold, band=0.5, random_state=3
    )
    below = np.argsort(-scores)[100:]
    assert choice.rows[:40].tolist() == below[:40].tolist()
    assert choice.policy.tolist() == ["band"] * 40 + ["pps"] * 40
    assert (choice.probability[:40] == 1).all()
    raw = 1 / np.sqrt(1 + np.arange(40, 2900) / 20)
    expected = 40 * (0.7 * raw / raw.sum() + 0.3 / len(raw))
    stored = dict(zip(below[40:], expected, strict=True))
    for row, chance in zip(choice.rows[40:], choice.probability[40:], strict=True):
        assert chance == pytest.approx(stored[row], rel=1e-12)
    assert choice.candidates == 2900
    assert choice.remarks == ()
    plain = choose_labels(scores, labels, policy="pps", n=80, threshold=threshold, random_state=3)
    assert set(plain.policy) == {"pps"}
    assert (plain.probability < 1).all()


def test_the_band_goes_on_below_rows_that_have_a_label():
    scores = np.arange(100.0)[::-1]
    labels = np.full(100, np.nan)
    labels[:10] = 1.0  # alerts
    labels[10:16] = 0.0  # an earlier band
    labels[50] = 1.0
    settings = {"n": 8, "threshold": 89.5, "band": 0.5, "random_state": 0}
    for policy in ("audit", "pps"):
        choice = choose_labels(scores, labels, policy=policy, **settings)
        assert choice.rows[:4].tolist() == [16, 17, 18, 19]
        assert choice.policy.tolist() == ["band"] * 4 + [policy] * 4
        assert not np.isin(choice.rows, np.flatnonzero(~np.isnan(labels))).any()
    # Rank counts rows below the threshold, labelled or not.
    rank = np.r_[10:40, 41:90]
    raw = 1 / np.sqrt(1 + rank / 20)
    expected = dict(zip(rank + 10, 4 * (0.7 * raw / raw.sum() + 0.3 / 79), strict=True))
    for row, chance in zip(choice.rows[4:], choice.probability[4:], strict=True):
        assert chance == pytest.approx(expected[row], rel=1e-12)


def test_alerts_without_a_label_are_no_part_of_the_audit_and_said():
    scores = np.arange(50.0)
    choice = choose_labels(scores, policy="audit", n=10, threshold=40, random_state=0)
    assert (scores[choice.rows] < 40).all()
    assert (codes(choice.remarks), choice.remarks[0].fields["alerts"]) == (["open-alerts"], 10)
    few = choose_labels(scores, policy="audit", n=50, threshold=40, random_state=0)
    assert (few.remarks[0].code, few.remarks[0].fields["candidates"]) == ("too-few-rows", 40)
    assert few.remarks[1:] == choice.remarks
    one = choose_labels(scores, policy="random", n=3, threshold=49, random_state=0)
    assert (codes(one.remarks), one.remarks[0].fields["alerts"]) == (["open-alerts"], 1)


def test_a_row_at_the_threshold_is_an_alert():
    choice = choose_labels([3.0, 2.0, 1.0], policy="audit", n=5, threshold=2.0)
    assert choice.rows.tolist() == [2]


@pytest.mark.parametrize("design", [*RANDOM, "tail"])
@pytest.mark.parametrize("turn", [np.exp, np.arctan, lambda s: 3 * s - 7])
def test_ranks_alone_matter(design, turn, rng):
    scores = rng.normal(size=300).round(1)  # with ties
    options = RANDOM.get(design, {"policy": "tail", "n": 20}) | {"random_state": 4}
    if "threshold" in options:
        options["threshold"] = 0.5
    plain = choose_labels(scores, **options)
    # The threshold is one of the scores and is turned with them: the same product, the same bits.
    turned = dict(options)
    if "threshold" in options:
        turned["threshold"] = float(turn(np.array([0.5]))[0])
    other = choose_labels(turn(scores), **turned)
    assert plain.rows.tolist() == other.rows.tolist()
    assert plain.probability.tolist() == other.probability.tolist()


@pytest.mark.parametrize("design", RANDOM)
def test_the_same_seed_gives_the_same_rows_and_another_does_not(design, batch):
    first, again, other = (
        choose_labels(*batch, random_state=seed, **RANDOM[design]) for seed in (7, 7, 8)
    )
    assert first.to_dict() == again.to_dict()
    assert first.rows.tolist() != other.rows.tolist()


def test_equal_scores_are_one_stratum_of_an_audit(plain_curve):
    """All scores equal: whatever its place in the file, a row is drawn as often as any other."""
    scores, generator, times = np.zeros(30), np.random.default_rng(0), np.zeros(30)
    for _ in range(3000):
        choice = choose_labels(scores, n=10, threshold=1.0, random_state=generator)
        assert (choice.probability == 1 / 3).all()
        times[choice.rows] += 1
    assert abs(times - 1000).max() < 4.5 * np.sqrt(3000 * 2 / 9)


@pytest.mark.parametrize("policy", ["audit", "stratified"])
@pytest.mark.parametrize("levels", [2, 6, 12])
def test_strata_do_not_cut_equal_scores(policy, levels):
    """Rows with one score have one probability, also where there are few different scores."""
    scores = np.random.default_rng(levels).integers(0, levels, 500).astype(float)
    labels = np.where(scores == levels - 1, 0.0, np.nan)
    seen = {}
    for seed in range(20):
        choice = choose_labels(
            scores, labels, policy=policy, n=40, threshold=levels - 1, random_state=seed
        )
        assert len(choice) == 40
        for score, chance in zip(scores[choice.rows], choice.probability, strict=True):
            assert seen.setdefault(score, chance) == chance
    assert sorted(seen) == list(range(levels - 1))
    able = scores < levels - 1
    assert sum(seen[score] for score in scores[able]) == pytest.approx(40)


@pytest.mark.parametrize("policy", ["audit", "pps"])
def test_a_band_does_not_cut_equal_scores(policy):
    """Else some of the rows with one score would be certain, and the others a draw."""
    scores = np.repeat([9.0, 8.0, 7.0, 1.0], [3, 2, 12, 60])
    settings = {"policy": policy, "threshold": 10.0, "band": 0.5, "random_state": 0}
    for n, band in ((8, 3), (10, 5), (12, 5), (34, 17), (20, 5), (5, 0)):
        choice = choose_labels(scores, n=n, **settings)
        assert (choice.policy == "band").sum() == band
        assert len(choice) == n
    assert set(choose_labels(np.zeros(9), n=5, **settings).policy) == {policy}


def test_equal_scores_are_exchangeable_in_pps():
    """In the mean over the order of equal scores, any row stands for one row."""
    scores, generator = np.zeros(30), np.random.default_rng(0)
    stored = [
        choose_labels(scores, policy="pps", n=10, threshold=1.0, random_state=generator).inclusion(
            30
        )
        for _ in range(3000)
    ]
    weight = np.where(np.isnan(stored), 0.0, 1 / np.array(stored)).mean(axis=0)
    assert abs(weight - 1).max() < 0.15
    assert weight.mean() == pytest.approx(1, abs=0.02)


@pytest.mark.parametrize("policy", ["audit", "stratified", "random", "pps"])
def test_the_order_of_rows_does_not_matter(policy):
    """Shuffled rows with ties: as many candidates, and the same probability at each score."""
    rng = np.random.default_rng(5)
    scores = rng.normal(size=400).round(8 if policy == "pps" else 1)
    labels = np.where(scores >= 1.0, rng.random(400) < 0.4, np.nan)
    mixed = rng.permutation(400)

    def probabilities_of(scores, labels):
        found = {}
        for seed in range(25):
            choice = choose_labels(
                scores, labels, policy=policy, n=60, threshold=1.0, random_state=seed
            )
            found |= dict(zip(scores[choice.rows], choice.probability.round(12), strict=True))
        return found, choice.frame[0]

    (plain, frame), (other, same) = (
        probabilities_of(scores, labels),
        probabilities_of(scores[mixed], labels[mixed]),
    )
    shared = plain.keys() & other.keys()
    assert len(shared) > 20
    assert {key: plain[key] for key in shared} == {key: other[key] for key in shared}
    assert frame == same


# --- batches, groups, a second ranking ------------------------------------------------------------


@pytest.fixture(scope="module")
def weeks():
    """Five weeks of scores on scales of their own; the alerts of each have labels."""
    rng = np.random.default_rng(2)
    week = np.repeat(["a", "b", "c", "d", "e"], [90, 150, 40, 200, 120])
    at = dict(zip("abcde", (1.0, 2.0, 0.5, 1.5, 0.0), strict=True))
    mark = np.array([at[name] for name in week])
    scores = rng.normal(size=600) + mark - 1.0
    truth = (rng.random(600) < expit(2 * (scores - mark))) * 1.0
    mixed = rng.permutation(600)
    scores, truth, week, mark = scores[mixed], truth[mixed], week[mixed], mark[mixed]
    return scores, np.where(scores >= mark, truth, np.nan), truth, week, at, mark


@pytest.mark.parametrize("policy", ["audit", "stratified", "random", "pps"])
def test_oracle_batches_are_drawn_one_by_one(policy, weeks):
    """With thresholds of their own; the same rows as calls for each with the same generator."""
    scores, labels, _, week, at, _ = weeks
    whole = choose_labels(
        scores, labels, policy=policy, n=100, threshold=at, batch=week, random_state=4
    )
    generator = np.random.default_rng(4)
    drawn = {}
    for name in "abcde":
        here = np.flatnonzero(week == name)
        one = choose_labels(
            scores[here],
            labels[here],
            policy=policy,
            n=20,
            threshold=at[name],
            random_state=generator,
        )
        drawn |= dict(zip(here[one.rows].tolist(), one.probability.tolist(), strict=True))
        assert {frame_of_text(text).name for text in whole.frame[week[whole.rows] == name]} == {
            name
        }
    assert dict(zip(whole.rows.tolist(), whole.probability.tolist(), strict=True)) == drawn
    assert whole.n_rows == 600


def test_batches_without_a_threshold_are_drawn_from_all_rows(weeks):
    scores, _, _, week, _, _ = weeks
    choice = choose_labels(scores, policy="stratified", n=50, batch=week, random_state=0)
    assert choice.candidates == 600
    assert {frame_of_text(text).threshold for text in choice.frame} == {None}
    assert choice.remarks == ()


@pytest.mark.parametrize("policy", ["audit", "random"])
def test_work_on_batches_may_stop_early_and_counts_without_bias(policy, weeks, plain_curve):
    """Rows of all batches are mixed: the first 50 of 100 are a draw from all of them."""
    scores, labels, truth, week, at, mark = weeks
    total, generator, counted, drawn = truth[scores < mark].sum(), np.random.default_rng(0), [], []
    for _ in range(400):
        choice = choose_labels(
            scores, labels, policy=policy, n=100, threshold=at, batch=week, random_state=generator
        )
        part = choice.first(50)
        counted.append((truth[part.rows] / part.probability).sum())
        whole, kept = (week[one.rows[one.probability < 1]] for one in (choice, part))
        drawn.append([(kept == name).mean() - (whole == name).mean() for name in "abcde"])
    assert abs(np.mean(drawn, axis=0)).max() < 0.02
    assert abs(np.mean(counted) - total) < 3 * np.std(counted) / 20


def test_rows_are_shared_out_among_batches():
    assert shares_of_batches(10, [2, 100, 100]) == [2, 4, 4]
    assert shares_of_batches(7, [0, 3, 3]) == [0, 3, 3]
    assert shares_of_batches(5, [9, 9, 9]) == [2, 2, 1]
    assert shares_of_batches(0, [9, 9]) == [0, 0]


def test_a_batch_that_gets_no_row_is_said(weeks):
    scores, labels, _, week, at, _ = weeks
    choice = choose_labels(scores, labels, n=3, threshold=at, batch=week, random_state=0)
    assert (codes(choice.remarks), choice.remarks[0].fields["left"]) == (["batch-left-out"], 2)
    full = choose_labels(scores, labels, n=5, threshold=at, batch=week, random_state=0)
    assert full.remarks == ()
    known = np.where(week == "a", 0.0, labels)  # nothing is left of it: no row is due
    done = choose_labels(scores, known, n=4, threshold=at, batch=week, random_state=0)
    assert done.remarks == ()
    every = choose_labels(scores, labels, n=600, threshold=at, batch=week, random_state=0)
    assert codes(every.remarks) == ["too-few-rows"]
    assert set(every.policy) == {"band"}


def test_open_alerts_are_said_for_each_batch(weeks):
    scores, labels, _, week, at, mark = weeks
    some = labels.copy()
    some[(scores >= mark) & (week == "b")] = np.nan
    choice = choose_labels(scores, some, n=50, threshold=at, batch=week, random_state=0)
    (remark,) = choice.remarks
    assert (remark.code, remark.fields["where"]) == ("open-alerts", " in batch 'b'")
    assert remark.fields["alerts"] == ((scores >= mark) & (week == "b")).sum()


@pytest.mark.parametrize("policy", ["audit", "stratified", "random", "pps"])
def test_incidents_are_drawn_as_a_whole(policy):
    """One row each, that of the greatest score; an incident with an alert is none of those below.

    An incident of which any row has a label is not asked about again.
    """
    rng = np.random.default_rng(1)
    group = np.sort(rng.integers(0, 150, 500))
    scores = rng.normal(size=500)
    labels = np.where(scores >= 1.5, 0.0, np.nan)
    told = rng.choice(np.flatnonzero(scores < 1.5), 20, replace=False)
    labels[told] = 0.0
    choice = choose_labels(
        scores, labels, policy=policy, n=25, threshold=1.5, groups=group, random_state=0
    )
    free = {
        name
        for name in set(group.tolist())
        if scores[group == name].max() < 1.5 and np.isnan(labels[group == name]).all()
    }
    assert choice.candidates == len(free)
    assert len(set(group[choice.rows])) == 25
    assert set(group[choice.rows]) <= free
    for row in choice.rows:
        assert scores[row] == scores[group == group[row]].max()
    # The same as a draw from one score per incident.
    names = np.unique(group)
    most = np.array([scores[group == name].max() for name in names])
    seen = np.array([np.nan if name in free else 0.0 for name in names])
    plain = choose_labels(most, seen, policy=policy, n=25, threshold=1.5, random_state=0)
    assert names[plain.rows].tolist() == group[choice.rows].tolist()
    np.testing.assert_array_equal(plain.probability, choice.probability)


def test_incidents_count_without_bias(plain_curve):
    rng = np.random.default_rng(3)
    group = rng.integers(0, 120, 300)
    scores, truth = rng.normal(size=300), rng.random(300) < 0.15
    event = np.array([truth[group == name].any() for name in range(120)])
    below = np.array([(scores[group == name] < 1.5).all() for name in range(120)])
    below &= np.isin(np.arange(120), group)
    counted = []
    for seed in range(800):
        choice = choose_labels(scores, n=30, threshold=1.5, groups=group, random_state=seed)
        counted.append((event[group[choice.rows]] / choice.probability).sum())
    off = abs(np.mean(counted) - event[below].sum())
    assert off < 3.5 * np.std(counted) / np.sqrt(800)


def test_a_row_without_a_group_is_an_incident_by_itself():
    scores = np.arange(8.0)
    group = ["x", "x", None, None, np.nan, "y", "y", "y"]
    choice = choose_labels(scores, policy="random", n=9, threshold=99, groups=group)
    assert sorted(choice.rows) == [1, 2, 3, 4, 7]


@pytest.mark.parametrize("policy", ["audit", "stratified", "pps"])
def test_a_second_ranking_orders_the_rows_below_and_leaves_the_alerts(policy):
    rng = np.random.default_rng(6)
    scores, second = rng.normal(size=(2, 600))
    labels = np.where(scores >= 1.0, 0.0, np.nan)
    settings = {"policy": policy, "n": 60, "random_state": 0}
    choice = choose_labels(scores, labels, threshold=1.0, second_scores=second, **settings)
    assert (scores[choice.rows] < 1.0).all()
    assert choice.candidates == (scores < 1.0).sum()
    # As if the rows below were all there is, with the other scores, under a higher threshold.
    joined = np.where(scores >= 1.0, 100.0 + scores, second)
    plain = choose_labels(joined, labels, threshold=101.0, **settings)
    assert plain.rows.tolist() == choice.rows.tolist()
    np.testing.assert_array_equal(plain.probability, choice.probability)
    top = np.argsort(-np.where(scores < 1.0, second, -np.inf))[:60]
    dense = choice.probability[np.isin(choice.rows, top)]
    assert dense.mean() > choice.probability.mean() * 1.3


def test_arguments_for_draws_are_refused_where_nothing_is_drawn(weeks):
    scores, labels, _, week, _, _ = weeks
    for policy in ("tail", "adaptive"):
        for name, value in (("batch", week), ("groups", week), ("second_scores", scores)):
            with refused("unused-argument", UsageError, argument=name):
                choose_labels(scores, labels, policy=policy, n=5, **{name: value})
    with refused("no-threshold", UsageError, argument="second_scores"):
        choose_labels(scores, policy="random", n=5, second_scores=scores)
    for name in ("batch", "groups", "second_scores"):
        with refused("length-mismatch", DataError, argument=name):
            choose_labels(scores, policy="random", n=5, threshold=1.0, **{name: [1.0, 2.0]})
    with refused("threshold-per-batch", UsageError, batch="e"):
        at = dict.fromkeys("abcd", 1.0)
        choose_labels(scores, labels, n=50, threshold=at, batch=week)
    with refused("number-range", UsageError, argument="band"):
        choose_labels(scores, labels, n=50, threshold=1.0, band=1.5)


# --- little is known ------------------------------------------------------------------------------


@pytest.mark.parametrize("policy", ["audit", "stratified", "random", "pps"])
@pytest.mark.parametrize("world", ["no label", "no event", "all events", "no alert", "all alerts"])
@pytest.mark.parametrize("n", [1, 2, 7, 500])
def test_draws_where_little_is_known(policy, world, n):
    scores = np.random.default_rng(0).normal(size=200)
    threshold = {"no alert": 99.0, "all alerts": -99.0}.get(world, 1.0)
    labels = np.where(scores >= threshold, world == "all events", np.nan)
    labels = None if world == "no label" else labels
    choice = choose_labels(scores, labels, policy=policy, n=n, threshold=threshold, random_state=0)
    able = int((scores < threshold).sum())
    assert len(choice) == min(n, able)
    assert len(set(choice.rows.tolist())) == len(choice)
    assert (scores[choice.rows] < threshold).all()
    assert ((choice.probability > 0) & (choice.probability <= 1)).all()
    if policy != "pps" and able:
        assert (1 / choice.probability).sum() == pytest.approx(able)
    assert ("too-few-rows" in codes(choice.remarks)) == (0 < able < n)
    assert ("no-candidates" in codes(choice.remarks)) == (able == 0)


def test_a_list_says_what_it_was_drawn_from():
    scores = np.arange(40.0)
    choice = choose_labels(scores, n=8, threshold=np.float64(38), date="2026-02-16", random_state=0)
    (text,) = set(choice.frame)
    frame = frame_of_text(text)
    assert (frame.rows, frame.threshold, frame.name, frame.date) == (38, 38.0, "", "2026-02-16")
    assert choice.n_rows == 40
    assert set(choice.first(3).frame) == {text}
    whole = choice.frames(40)
    assert [place for place, one in enumerate(whole) if one is not None] == sorted(choice.rows)
    assert set(whole[choice.rows]) == {"/".join(frame.of)}
    by_hand = LabelChoice(np.arange(2), np.ones(2), np.array(["a", "b"]), 2, 2)
    assert by_hand.frames(3).tolist() == ["", "", None]


def test_tail_takes_the_greatest_unlabelled_scores_in_order():
    scores = np.array([0.1, 0.9, 0.8, 0.7, 0.2])
    labels = [None, 1, None, None, None]
    choice = choose_labels(scores, labels, policy="tail", n=2)
    assert choice.rows.tolist() == [2, 3]
    assert choice.probability.tolist() == [1, 1]
    assert choice.policy.tolist() == ["tail", "tail"]


def test_equal_scores_at_the_cut_are_drawn_but_are_no_draw():
    """A lot among equal scores says nothing of the rows that no lot could reach."""
    scores = [0.9, 0.5, 0.5, 0.5, 0.5, 0.1]
    times = np.zeros(6)
    for seed in range(2000):
        choice = choose_labels(scores, policy="tail", n=3, random_state=seed)
        assert choice.probability.tolist() == [1.0, 1.0, 1.0]
        times[choice.rows] += 1
    assert times[[0, 5]].tolist() == [2000, 0]
    assert abs(times[1:5] - 1000).max() < 4.5 * np.sqrt(500)


def test_uncertainty_is_greatest_entropy():
    prob = np.array([0.02, 0.45, 0.6, 0.97, 0.5])
    assert choose_labels(prob, policy="uncertainty", n=3).rows.tolist() == [4, 1, 2]
    both = np.column_stack([1 - prob, prob])
    for by in ("entropy", "margin"):
        assert choose_labels(both, policy="uncertainty", n=3, by=by).rows.tolist() == [4, 1, 2]


def test_uncertainty_of_several_classes_by_entropy_and_by_margin(rng):
    prob = rng.dirichlet([0.7, 0.7, 0.7, 0.7], 200)
    entropy = [-sum(p * np.log(p) for p in row if p > 0) for row in prob]
    margin = [sorted(row)[-1] - sorted(row)[-2] for row in prob]
    chosen = choose_labels(prob, policy="uncertainty", n=15)
    assert chosen.rows.tolist() == np.argsort(entropy)[::-1][:15].tolist()
    chosen = choose_labels(prob, policy="uncertainty", n=15, by="margin")
    assert chosen.rows.tolist() == np.argsort(margin)[:15].tolist()
    assert (chosen.probability == 1).all()


@pytest.mark.parametrize(
    "labels",
    [
        [None, "cat", None, "dog"],
        np.array([np.nan, 2.0, np.nan, 0.0], dtype=np.float32),
        pd.Series(["x", "y", "x", "y"]).where([False, True, False, True], pd.NA),
        pd.Series([None, 1, None, 0], dtype="Int64"),
        pd.Series([None, True, None, False], dtype="boolean"),
    ],
    ids=["text", "float32", "strings with NA", "Int64", "boolean"],
)
def test_uncertainty_knows_labels_of_any_kind(labels):
    choice = choose_labels([0.1, 0.5, 0.2, 0.5], labels, policy="uncertainty", n=4)
    assert choice.rows.tolist() == [2, 0]


def test_labels_of_whole_numbers_and_text_are_never_missing():
    for labels in ([0, 1], ["a", "nan"], [True, False]):
        assert len(choose_labels([0.1, 0.5], labels, policy="uncertainty", n=1)) == 0


@pytest.mark.parametrize("policy", ["audit", "tail", "random", "stratified", "uncertainty"])
def test_too_few_rows_are_all_of_them_with_a_remark(policy):
    scores = np.linspace(0.1, 0.9, 6)
    labels = np.array([np.nan, np.nan, 0.0, np.nan, 1.0, 1.0])
    choice = choose_labels(scores, labels, policy=policy, n=10, threshold=0.95, random_state=0)
    assert sorted(choice.rows) == [0, 1, 3]
    assert (choice.probability == 1).all()
    assert (choice.remarks[0].code, choice.remarks[0].fields["candidates"]) == ("too-few-rows", 3)
    none = choose_labels(scores, np.zeros(6), policy=policy, n=10, threshold=0.95)
    assert len(none) == 0
    assert codes(none.remarks) == ["no-candidates"]
    assert "nothing was chosen" in str(none)


def test_a_band_alone_is_no_audit_and_said():
    scores = np.arange(9.0)
    for policy in ("audit", "pps"):
        choice = choose_labels(scores, policy=policy, n=1, threshold=8.5, band=1.0)
        assert choice.policy.tolist() == ["band"]
        assert codes(choice.remarks) == ["no-random-part"]
        one = choose_labels(scores, policy=policy, n=1, threshold=8.5)
        assert one.policy.tolist() == [policy]
        assert one.remarks == ()
    assert choose_labels(scores, n=1, threshold=8.5).probability.tolist() == [1 / 9]


@pytest.mark.parametrize("policy", ["audit", "pps"])
def test_work_that_stops_early_is_a_smaller_draw(policy, plain_curve):
    """The first 12 of 14 rows, 2,000 times: frequencies are what `first` says."""
    scores, generator = np.arange(60.0), np.random.default_rng(2)
    times, stored = np.zeros(60), np.full(60, np.nan)
    for _ in range(2_000):
        choice = choose_labels(
            scores, policy=policy, n=14, threshold=50.0, band=0.5, random_state=generator
        )
        part = choice.first(12)
        times[part.rows] += 1
        stored[part.rows] = part.probability
    assert (stored[43:50] == 1).all()
    error = np.sqrt(stored[:50] * (1 - stored[:50]) / 2_000)
    assert (abs(times[:50] / 2_000 - stored[:50]) <= 4.5 * error + 1e-12).all()
    assert choice.first(3).probability.tolist() == [1, 1, 1]
    assert len(choice.first(0)) == 0
    with refused("too-few-rows", UsageError, argument="n", rows=14, value=15):
        choice.first(15)


def test_an_audit_counts_what_was_missed(rng):
    """The whole way: choose, look, count; the 90 % limits hold in at least 90 % of 300 batches."""
    hits, values, truths = 0, [], []
    for _ in range(300):
        scores = rng.normal(size=2000)
        truth = (rng.random(2000) < 0.03 / (1 + np.exp(-2 * scores))).astype(float)
        labels = np.where(scores >= 2, truth, np.nan)
        choice = choose_labels(
            scores, labels, policy="audit", n=150, threshold=2.0, random_state=rng
        )
        below = int((scores < 2).sum())
        certain = int((choice.probability == 1).sum())
        count = count_missed(truth[choice.rows], choice.probability, below - certain)
        missed = truth[scores < 2].sum()
        hits += missed in count.estimate
        values.append(count.value)
        truths.append(missed)
    assert hits / 300 > 0.9 - 2.5 * np.sqrt(0.09 / 300)
    off = np.subtract(values, truths)
    assert abs(off.mean()) < 4 * off.std() / np.sqrt(300)


def test_the_record_prints_counts_and_turns_into_json():
    choice = choose_labels(np.arange(40.0), n=8, threshold=38, band=0.5, random_state=0)
    assert len(choice) == choice.asked == 8
    shown = str(choice).splitlines()
    assert shown[0] == "8 rows to label, of 38 that could be chosen"
    assert shown[1] == "  band   4 rows, for certain"
    assert shown[2].startswith("  audit  4 rows, with probability 0.")
    assert shown[3] == f"remark: {choice.remarks[0]}"
    back = json.loads(json.dumps(choice.to_dict()))
    assert back["rows"] == choice.rows.tolist()
    assert back["policy"] == ["band"] * 4 + ["audit"] * 4
    assert choice.rows.dtype == np.int64
    with refused("length-mismatch", UsageError, argument="n_rows", value=5, row=37):
        choice.inclusion(5)
    with refused("length-mismatch", UsageError):
        LabelChoice(np.arange(2), np.ones(1), np.array(["a", "b"]), 2, 2)


def test_many_scores_cost_a_few_copies(rng):
    """Peak memory of a draw, counted in copies of the scores."""
    import tracemalloc

    scores = rng.normal(size=500_000)
    limits = {"audit": 19, "pps": 11, "tail": 7, "random": 6, "stratified": 8}
    for policy, most in limits.items():
        tracemalloc.start()
        choose_labels(scores, policy=policy, n=1000, threshold=2.0, random_state=0)
        peak = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        assert peak < most * scores.nbytes, policy


@pytest.mark.parametrize(
    ("scores", "labels", "options", "error", "code"),
    [
        ([1.0, 2.0], None, {"policy": "audti"}, UsageError, "unknown-word"),
        ([1.0, 2.0], None, {"n": 0}, UsageError, "integer-range"),
        ([1.0, 2.0], None, {"n": -3}, UsageError, "integer-range"),
        ([1.0, 2.0], None, {"n": 2.5}, UsageError, "integer-range"),
        ([1.0, 2.0], None, {"n": True}, UsageError, "integer-range"),
        ([1.0, np.nan], None, {}, DataError, "not-finite"),
        ([[1.0, 2.0]], None, {}, DataError, "not-a-column"),
        ([1.0, 2.0], [1.0], {}, DataError, "length-mismatch"),
        ([1.0, 2.0], [-1, 1], {}, DataError, "unknown-label"),
        ([1.0, 2.0], None, {"policy": "audit"}, UsageError, "no-threshold"),
        (
            [1.0, 2.0],
            None,
            {"policy": "audit", "threshold": np.nan},
            UsageError,
            "threshold-value",
        ),
        ([1.0, 2.0], None, {"random_state": -1}, UsageError, "seed-value"),
        ([1.0, 2.0], None, {"random_state": "x"}, UsageError, "seed-value"),
        ([1.0, 2.0], None, {"policy": "stratified", "strata": 0}, UsageError, "integer-range"),
        (
            [1.0, 2.0],
            None,
            {"policy": "stratified", "allocation": "even"},
            UsageError,
            "unknown-word",
        ),
        ([0.1, 1.2], None, {"policy": "uncertainty"}, DataError, "prob-range"),
        ([[0.5, np.nan]], None, {"policy": "uncertainty"}, DataError, "prob-range"),
        ([[0.5, 0.1]], None, {"policy": "uncertainty"}, DataError, "prob-sum"),
        ([], None, {"policy": "uncertainty"}, DataError, "not-a-column"),
        ([0.1, 0.2], [1.0], {"policy": "uncertainty"}, DataError, "length-mismatch"),
        ([0.1, 0.2], None, {"policy": "uncertainty", "by": "gini"}, UsageError, "unknown-word"),
        (["a", "b"], None, {"policy": "uncertainty"}, DataError, "not-a-number"),
        ([["a", "b"]], None, {"policy": "uncertainty"}, DataError, "not-a-number"),
        ([[0.1, 0.9], [0.2]], None, {"policy": "uncertainty"}, DataError, "not-a-column"),
        (
            [0.1, 0.2],
            np.array(["cat", np.nan]),
            {"policy": "uncertainty"},
            DataError,
            "nan-as-text",
        ),
        ([1.0, 2.0], None, {"policy": "adaptive", "mixture": "x"}, UsageError, "invalid-parameter"),
        (
            [1.0, 2.0],
            None,
            {"policy": "adaptive", "mixture": ScoreMixture},
            UsageError,
            "invalid-parameter",
        ),
        (
            [1.0, 2.0],
            None,
            {"policy": "adaptive", "mixture": LogisticRegression()},
            UsageError,
            "invalid-parameter",
        ),
        ([0.5] * 9, None, {"policy": "adaptive"}, DataError, "no-posterior"),
    ],
)
def test_what_cannot_work_is_refused(scores, labels, options, error, code):
    with refused(code, error):
        choose_labels(scores, labels, **({"policy": "tail", "n": 1} | options))


WORDS = ["cat", None, "dog", None]
WORDS_AS = {
    "list": WORDS,
    "list with NaN": ["cat", np.nan, "dog", np.nan],
    "tuple": tuple(WORDS),
    "objects": np.array(WORDS, dtype=object),
    "one column": np.array(WORDS, dtype=object)[:, None],
    "masked": np.ma.array(["cat", "", "dog", ""], mask=[False, True, False, True]),
    "masked numbers": np.ma.array([3, 0, 4, 0], mask=[False, True, False, True]),
    "pandas": pd.Series(WORDS),
    "pandas string": pd.Series(WORDS, dtype="string"),
    "pandas category": pd.Series(WORDS, dtype="category"),
    "Arrow": pa.array(WORDS),
    "Arrow chunks": pa.chunked_array([pa.array(WORDS[:1]), pa.array(WORDS[1:])]),
    "dates": np.array(["2020-01-01", "NaT", "2020-01-02", "NaT"], dtype="M8[D]"),
    "floats": [3.0, np.nan, 7.0, np.nan],
}


@pytest.mark.parametrize("kind", WORDS_AS)
def test_uncertainty_knows_a_missing_label_in_columns_of_any_kind(kind):
    choice = choose_labels([0.5, 0.4, 0.5, 0.9], WORDS_AS[kind], policy="uncertainty", n=4)
    assert choice.rows.tolist() == [1, 3]


@pytest.mark.parametrize(
    "turn",
    [
        np.ma.array,
        pd.DataFrame,
        lambda prob: pa.table({"a": prob[:, 0], "b": prob[:, 1]}),
        lambda prob: prob.astype(object),
        lambda prob: pd.DataFrame(prob).convert_dtypes(),
    ],
)
def test_probabilities_come_in_tables_of_any_kind(turn):
    prob = np.array([[0.9, 0.1], [0.55, 0.45], [0.3, 0.7]])
    choice = choose_labels(turn(prob), policy="uncertainty", n=2)
    assert choice.rows.tolist() == [1, 2]


def test_masked_columns_are_missing_values():
    labels = np.ma.array([0, 0, 1], mask=[True, False, False])
    assert choose_labels([1.0, 2.0, 3.0], labels, policy="tail", n=3).rows.tolist() == [0]
    with refused("not-finite", DataError, argument="scores", count=1, rows=2, row=1):
        choose_labels(np.ma.array([1.0, 2.0], mask=[False, True]), policy="tail", n=1)
    hidden = np.ma.array([0.1, 0.2], mask=[False, True])
    with refused("prob-range", DataError, argument="scores", row=1):
        choose_labels(hidden, policy="uncertainty", n=1)


def test_one_row_is_spoken_of_as_one():
    choice = choose_labels([1.0, 2.0], [None, 1], policy="tail", n=3)
    assert (choice.remarks[0].code, choice.remarks[0].fields["candidates"]) == ("too-few-rows", 1)


def test_numbers_of_rows_are_whole_numbers():
    choice = choose_labels(np.arange(9.0), policy="tail", n=3)
    assert len(choice.first(0)) == 0
    assert choice.inclusion(np.int64(9)).shape == (9,)
    for wrong in (2.5, "3", None, -1, True):
        with refused("integer-range", UsageError):
            choice.first(wrong)
    for wrong in (9.0, "x"):
        with refused("integer-range", UsageError):
            choice.inclusion(wrong)
    with refused("too-few-rows", UsageError, argument="n", rows=3, value=4):
        choice.first(4)


def test_rounds_ask_for_what_is_most_uncertain_and_learn():
    """Scores that a function makes anew: each round sees the labels of the rounds before."""
    truth = np.array([0.0, 0, 1, 1, 0, 1, 1, 0])
    seen = []

    def scores(labels):
        seen.append(int((~np.isnan(labels)).sum()))
        return np.linspace(0.2, 0.8, 8) + 0.01 * np.isnan(labels).sum()

    labels, choice = label_in_rounds(
        scores,
        lambda rows: truth[rows],
        n=5,
        rounds=2,
        policy="uncertainty",
        labels=np.full(8, np.nan),
    )
    assert seen == [0, 3]
    assert choice.round.tolist() == [1, 1, 1, 2, 2]
    assert len(set(choice.rows.tolist())) == 5
    assert (labels[choice.rows] == truth[choice.rows]).all()
    assert np.isnan(np.delete(labels, choice.rows)).all()
    assert (choice.probability == 1).all()
    assert str(choice).startswith("5 rows to label, of 8 that could be chosen, in 2 rounds")


def test_rounds_keep_known_labels_and_do_not_ask_twice():
    asked = []

    def ask(rows):
        asked.extend(rows.tolist())
        return np.where(rows == 7, np.nan, 1.0)  # row 7 cannot be labelled

    known = np.full(9, np.nan)
    known[8] = 0.0
    labels, choice = label_in_rounds(
        np.arange(9.0), ask, n=4, rounds=4, policy="tail", labels=known
    )
    assert asked == [7, 6, 5, 4]
    assert choice.rows.tolist() == asked
    assert labels[[8, 6, 5, 4]].tolist() == [0, 1, 1, 1]
    assert np.isnan(known[:8]).all()  # the caller's labels are not written to
    _, rest = label_in_rounds(np.arange(9.0), ask, n=20, rounds=3, policy="tail", labels=known)
    assert sorted(rest.rows) == list(range(8))
    assert (codes(rest.remarks), rest.remarks[0].fields["chosen"]) == (["too-few-rows"], 8)


def test_more_rounds_than_rows_are_one_row_each():
    _, choice = label_in_rounds(
        np.arange(9.0), lambda rows: np.ones(len(rows)), n=3, rounds=5, policy="tail"
    )
    assert choice.round.tolist() == [1, 2, 3]


def test_rounds_refuse_what_has_no_probability_and_answers_that_do_not_fit():
    def ask(rows):
        return [1.0]

    with refused("policy-in-rounds", UsageError):
        label_in_rounds(np.arange(9.0), ask, n=4, policy="audit")
    with refused("integer-range", UsageError, argument="rounds", least=1, value=0):
        label_in_rounds(np.arange(9.0), ask, n=4, rounds=0, policy="tail")
    with refused("length-mismatch", DataError, rows="4 rows"):
        label_in_rounds(np.arange(9.0), ask, n=4, rounds=1, policy="tail")
    with refused("unknown-length", UsageError):
        label_in_rounds(lambda labels: labels, ask, n=4, policy="tail")


def test_labels_bought_before_an_error_are_handed_back():
    """Three ways to fail in round 3; the labels of rounds 1 and 2 come along each time."""
    truth = np.array([0.0, 1, 0, 1, 1, 0, 1, 0, 1])

    def fails(how):
        calls = []

        def ask(rows):
            calls.append(rows)
            return how(rows) if len(calls) == 3 else truth[rows]

        return ask

    def leaves(rows):
        raise KeyboardInterrupt

    def breaks(rows):
        raise RuntimeError("line is dead")

    for how, kind, answers in (
        (leaves, KeyboardInterrupt, None),
        (breaks, RuntimeError, None),
        (lambda rows: ["fraud", "ok"], DataError, ["fraud", "ok"]),
    ):
        with pytest.raises(kind) as caught:
            label_in_rounds(np.arange(9.0), fails(how), n=6, rounds=3, policy="tail")
        error = caught.value
        assert error.choice.rows.tolist() == [8, 7, 6, 5]
        assert error.choice.round.tolist() == [1, 1, 2, 2]
        assert error.labels[5:].tolist() == truth[5:].tolist()
        assert np.isnan(error.labels[:5]).all()
        assert error.rows.tolist() == [4, 3]
        assert error.answers == answers
        assert any("4 rows of 2 rounds asked about before are kept" in n for n in error.__notes__)
        # Work goes on where it stopped.
        labels, rest = label_in_rounds(
            np.arange(9.0), lambda r: truth[r], n=2, policy="tail", labels=error.labels
        )
        assert rest.rows.tolist() == [4, 3]
        assert np.isnan(labels).sum() == 3


def test_an_error_in_the_first_round_carries_what_was_known():
    known = np.array([np.nan, np.nan, 1.0])

    def ask(rows):
        raise RuntimeError("nobody there")

    with pytest.raises(RuntimeError) as caught:
        label_in_rounds([1.0, 2.0, 3.0], ask, n=2, policy="tail", labels=known)
    np.testing.assert_array_equal(caught.value.labels, known)
    assert len(caught.value.choice) == 0
    assert caught.value.rows.tolist() == [1]
    assert not hasattr(caught.value, "__notes__")


def test_an_error_of_the_scores_between_rounds_loses_nothing():
    def scores(labels):
        if np.isnan(labels).sum() < 4:
            raise RuntimeError("the model does not converge")
        return np.arange(4.0)

    with pytest.raises(RuntimeError) as caught:
        label_in_rounds(
            scores,
            lambda rows: np.ones(len(rows)),
            n=2,
            rounds=2,
            policy="tail",
            labels=np.full(4, np.nan),
        )
    assert caught.value.labels.tolist()[3] == 1.0
    assert caught.value.rows is None


@pytest.mark.parametrize(
    ("answers", "code"),
    [
        ([1.0, 2.0], "unknown-label"),
        ([0.7, 1.0], "unknown-label"),
        (["fraud", "ok"], "not-a-number"),
        (None, "length-mismatch"),
        (["x"], "length-mismatch"),
    ],
)
def test_answers_of_the_last_round_are_checked_too(answers, code):
    told = iter([[0.0, 1.0], answers])
    with refused(code, DataError):
        label_in_rounds(np.arange(9.0), lambda rows: next(told), n=4, rounds=2, policy="tail")


def test_answers_come_in_columns_of_any_kind():
    told = iter([pd.array([1, None], dtype="Int64"), np.ma.array([1, 0], mask=[False, True])])
    labels, _ = label_in_rounds(
        np.arange(5.0), lambda rows: next(told), n=4, rounds=2, policy="tail"
    )
    np.testing.assert_array_equal(labels, [np.nan, np.nan, 1.0, np.nan, 1.0])


def test_uncertainty_in_rounds_takes_numbers_of_classes():
    labels, _ = label_in_rounds(
        [[0.2, 0.3, 0.5], [0.1, 0.1, 0.8]],
        lambda rows: [2] * len(rows),
        n=2,
        rounds=2,
        policy="uncertainty",
    )
    assert labels.tolist() == [2, 2]


def test_rounds_refuse_arguments_in_words():
    def ask(rows):
        return np.ones(len(rows))

    scores = np.arange(4.0)
    with refused("not-callable", UsageError, argument="ask"):
        label_in_rounds(scores, [1, 0], n=2, policy="tail")
    with refused("length-mismatch", DataError, argument="labels", rows=4):
        label_in_rounds(scores, ask, n=2, policy="tail", labels=[None] * 3)
    with refused("not-a-number", DataError, argument="labels", value="'x'", row=0):
        label_in_rounds(scores, ask, n=2, policy="tail", labels=["x"] * 4)
    with refused("not-a-column", UsageError, argument="scores", value=3.0):
        label_in_rounds(3.0, ask, n=2, policy="tail")
    with refused("not-a-number", DataError, argument="scores", value="'a'", row=0):
        label_in_rounds(["a", "b"], ask, n=2, policy="tail")
    masked = np.ma.array([0, 0, 1, 1], mask=[True, True, False, False])
    _, choice = label_in_rounds(scores, ask, n=2, policy="tail", labels=masked)
    assert choice.rows.tolist() == [1, 0]
    assert masked.mask.tolist() == [True, True, False, False]


@pytest.fixture
def mixed(rng):
    """Scores of 400 others and 60 events, of which the ten greatest have been looked at."""
    scores = np.concatenate([rng.normal(0, 1, 400), rng.normal(3, 1, 60)])
    truth = np.repeat([0.0, 1.0], [400, 60])
    labels = np.full(460, np.nan)
    top = np.argsort(-scores)[:10]
    labels[top] = truth[top]
    return scores, truth, labels


PLAIN_MIXTURE = ScoreMixture(background="normal")


def test_adaptive_takes_the_posteriors_nearest_one_half(mixed):
    scores, _, labels = mixed
    choice = choose_labels(scores, labels, policy="adaptive", n=12, mixture=PLAIN_MIXTURE)
    fitted = ScoreMixture(background="normal").fit(scores, labels)
    off = abs(fitted.posterior(scores) - 0.5)
    off[~np.isnan(labels)] = np.inf
    assert choice.rows.tolist() == np.argsort(off)[:12].tolist()
    assert (choice.probability == 1).all()
    assert not hasattr(PLAIN_MIXTURE, "positive_share_")  # the caller's mixture is not fitted


def test_adaptive_begins_without_any_label_and_says_what_that_means(mixed):
    choice = choose_labels(mixed[0], policy="adaptive", n=5, mixture=PLAIN_MIXTURE)
    assert len(choice) == 5
    assert codes(choice.remarks) == ["not-identified"]


def test_adaptive_rounds_are_choices_one_after_the_other(mixed):
    scores, truth, _ = mixed
    labels, choice = label_in_rounds(
        scores, lambda rows: truth[rows], n=25, rounds=2, mixture=PLAIN_MIXTURE
    )
    known = np.full(460, np.nan)
    for k, n in ((1, 13), (2, 12)):
        step = choose_labels(scores, known, policy="adaptive", n=n, mixture=PLAIN_MIXTURE)
        assert choice.rows[choice.round == k].tolist() == step.rows.tolist()
        known[step.rows] = truth[step.rows]
    np.testing.assert_array_equal(labels, known)
    assert choice.remarks == ()  # the doubts of the first round are settled


class Silent(BaseEstimator):
    def fit(self, scores, labels):
        return self

    def posterior(self, scores):
        return np.full(len(scores), np.nan)


def test_adaptive_without_a_posterior_says_what_to_do_first():
    with refused("no-posterior", DataError, rows="2 rows"):
        choose_labels([1.0, 2.0], policy="adaptive", n=1, mixture=Silent())


def test_explored_rows_are_drawn_in_proportion_to_uncertainty_and_evenly(rng):
    prob = rng.beta(0.3, 3, 400)
    drawn = np.zeros(400)
    for seed in range(600):
        choice = choose_labels(prob, policy="uncertainty", n=40, explore=0.3, random_state=seed)
        drawn[choice.rows] += 1
    entropy = -(prob * np.log(prob) + (1 - prob) * np.log1p(-prob))
    chance = probabilities(0.7 * entropy / entropy.sum() + 0.3 / 400, 40)
    np.testing.assert_allclose(choice.probability, chance[choice.rows], rtol=1e-12)
    assert set(choice.policy) == {"explored"}
    error = np.sqrt(chance * (1 - chance) / 600)
    assert np.abs((drawn / 600 - chance) / np.maximum(error, 1e-9)).max() < 4.5


def test_oracle_weights_of_rounds_by_lot_are_unbiased_and_the_rule_is_not(rng):
    """What is labelled first steers what is drawn next; sums over all rows stay unbiased."""
    n = 300
    x = rng.normal(size=n)
    truth = (rng.random(n) < expit(2 * x - 2)).astype(float)

    def scores(labels):  # a model of sorts, which follows the labels seen so far
        known = ~np.isnan(labels)
        if not known.any():
            return np.full(n, 0.5)
        at = np.average(x[known], weights=labels[known] + 0.1)
        return expit(2 * (x - at))

    sums = {0.0: [], 0.3: []}
    for explore, found in sums.items():
        for seed in range(400):
            labels, choice = label_in_rounds(
                scores,
                lambda rows: truth[rows],
                n=60,
                rounds=4,
                policy="uncertainty",
                labels=np.full(n, np.nan),
                explore=explore,
                random_state=seed,
            )
            weight = choice.weights() if explore else np.full(60, n / 60)
            found.append(weight @ labels[choice.rows])
    error = np.std(sums[0.3]) / 20
    assert abs(np.mean(sums[0.3]) - truth.sum()) < 3.5 * error
    assert error < 2
    assert abs(np.mean(sums[0.0]) - truth.sum()) > 20  # labels chosen by rule: never to be counted
    with refused("rounds-at-random", UsageError):
        choice.inclusion(n)
    with refused("rounds-at-random", UsageError):
        choice.first(20)


def test_uncertainty_in_money_is_the_value_of_the_answer(rng):
    prob = rng.random(50)
    costs = np.array([[0.0, 400.0], [5.0, 0.0]])
    choice = choose_labels(prob, policy="uncertainty", n=5, by="cost", costs=costs)
    now = np.minimum(400 * prob, 5 * (1 - prob))
    assert set(choice.rows) == set(np.argsort(-now)[:5])
    with refused("costs-for-cost", UsageError):
        choose_labels(prob, policy="uncertainty", n=5, by="cost")
    for explore in (-0.1, 1.5, "yes"):
        with refused("number-range", UsageError):
            choose_labels(prob, policy="uncertainty", n=5, explore=explore)
    with refused("explore-policy", UsageError):
        choose_labels(prob, policy="random", n=5, explore=0.5)


def test_rows_that_could_not_be_labelled_leave_the_next_draw_its_probabilities():
    _, choice = label_in_rounds(
        np.full(10, 0.5),
        lambda rows: np.full(len(rows), np.nan),
        n=9,
        rounds=2,
        policy="uncertainty",
        explore=0.5,
        random_state=0,
    )
    assert np.bincount(choice.round).tolist() == [0, 5, 4]
    np.testing.assert_allclose(choice.probability, np.repeat([0.5, 0.8], [5, 4]))
    assert len(set(choice.rows)) == 9


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
