"""Stopping: no look proves too much, the maxima are those of plain enumeration, and the answers."""

import itertools
import json

import numpy as np
import pytest
from scipy import stats
from scipy.special import logsumexp

from scarce.missed.choose import choose_labels
from scarce.missed.stopping import (
    SPENT,
    Bets,
    Review,
    Rule,
    bets_of,
    enough_of_sample,
    events_to_sample,
    evidence,
    first_proven,
    most_events,
    most_missed,
    proven_at,
    rule_of,
    shared_tail,
    stop_when,
)
from scarce.missed.strata import Cells
from tests.problems import codes, refused


def cells_of(rows, drawn, events, frame=None):
    parts = [np.array(part, dtype=float) for part in (rows, drawn, events)]
    return Cells(*parts, np.zeros(len(rows), np.int64) if frame is None else np.array(frame))


def world(seed=0, n=3000, alerts=100, tied=False):
    """Scores, truth, labels of alerts and of checks in three strata, and their probabilities."""
    rng = np.random.default_rng(seed)
    truth = (rng.random(n) < 0.03).astype(float)
    scores = rng.normal(size=n) + 2.5 * truth
    if tied:
        scores = np.round(scores, 1)
    threshold = np.sort(scores)[-alerts]
    inclusion = np.where(
        scores < threshold - 1.5, 0.3, np.where(scores < threshold - 0.5, 0.4, 0.8)
    )
    drawn = rng.random(n) < inclusion
    labels = np.where((scores >= threshold) | drawn, truth, np.nan)
    return scores, truth, labels, inclusion, float(threshold)


# --- the evidence of checks -----------------------------------------------------------------------


def exact_ratio(rows, drawn, events, total, size):
    """Likelihood if each of `total` events is kept with probability 1 - size, over that of all."""
    kept = np.arange(total + 1)
    chance = stats.binom.pmf(kept, total, 1 - size)
    there = stats.hypergeom.pmf(events, rows, kept, drawn)
    return float(chance @ there / stats.hypergeom.pmf(events, rows, total, drawn))


@pytest.mark.parametrize("size", [0.05, 0.5, 0.98])
def test_ratio_is_never_above_the_exact_one(size):
    """The evidence that is used is a lower bound of a likelihood ratio, for every outcome."""
    for rows in range(1, 9):
        for drawn, total in itertools.product(range(1, rows + 1), range(rows + 1)):
            for events in range(max(0, total + drawn - rows), min(drawn, total) + 1):
                bets = Bets(np.zeros(1), np.array([[size]]))
                level, slope = evidence(cells_of([rows], [drawn], [events]), bets)
                used = float(np.exp(level[0] + slope[0, 0] * (total - events)))
                exact = exact_ratio(rows, drawn, events, total, size)
                assert used <= exact * (1 + 1e-9), (rows, drawn, total, events)


def test_evidence_is_near_the_exact_ratio_where_events_are_rare():
    bets = Bets(np.zeros(1), np.array([[0.6]]))
    level, slope = evidence(cells_of([2000], [400], [3]), bets)
    used = np.exp(level[0] + slope[0, 0] * 12)
    assert used == pytest.approx(exact_ratio(2000, 400, 3, 15, 0.6), rel=0.02)


def brute_force(cells, bets, confidence, ordered):
    """Greatest whole number of events with a mixture below the bound; tries all."""
    spans = [
        range(int(k), int(n_all - n + k) + 1)
        for n_all, n, k in zip(cells.rows, cells.drawn, cells.events, strict=True)
    ]
    level, slope = evidence(cells, bets)
    keep = np.flatnonzero(cells.drawn <= 0.5 * cells.rows)
    best = None
    for total in itertools.product(*spans):
        held = np.array(total)
        share = (held / cells.rows)[keep]
        same = np.diff(cells.frame[keep]) == 0
        if ordered and (np.diff(share)[same] > 1e-12).any():
            continue
        if logsumexp(level + slope @ (held - cells.events)) < -np.log1p(-confidence):
            best = held.sum() if best is None else max(best, held.sum())
    return best


@pytest.mark.parametrize("ordered", [True, False])
def test_most_events_against_enumeration(ordered):
    """Never less than what enumeration allows; more only because shares need not be whole."""
    rng = np.random.default_rng(5)
    apart = []
    for _ in range(40):
        rows = rng.integers(3, 10, 3).astype(float)
        drawn = np.array([rng.integers(1, n + 1) for n in rows]).astype(float)
        events = np.array([rng.binomial(n, 0.2) for n in drawn]).astype(float)
        cells = cells_of(rows, drawn, events, np.sort(rng.integers(0, 2, 3)))
        bets = bets_of(rows, np.full(3, 1 / 3))
        found = most_events(cells, bets, 0.8, ordered=ordered)
        plain = brute_force(cells, bets, 0.8, ordered)
        if plain is not None:
            assert found is not None
            assert found >= plain
            apart.append(found - plain)
    assert len(apart) > 25
    assert np.mean(apart) < (1.0 if ordered else 0.2)


def test_most_events_when_all_or_nothing_is_labelled():
    assert most_events(cells_of([9], [9], [4]), bets_of(np.ones(1), np.ones(1)), 0.95,
                       ordered=True) == 4  # fmt: skip
    none = cells_of([9, 5], [0, 0], [0, 0])
    assert most_events(none, bets_of(none.rows, np.full(2, 0.5)), 0.95, ordered=True) == 14


@pytest.mark.parametrize("deep", [False, True], ids=["in order", "a clump below"])
def test_no_look_excludes_the_truth_too_often(deep):
    """Looks after every 10 checks; where checks go depends on what they found."""
    rng, wrong, repeats = np.random.default_rng(7), 0, 150
    rows = np.array([40.0, 120, 400, 1200])
    truth = np.array([4, 5, 6, 40] if deep else [10, 9, 8, 6])
    bets = bets_of(rows, np.array([0.2, 0.25, 0.25, 0.3]))
    for _ in range(repeats):
        parts = [
            np.concatenate([[0], rng.permutation(np.arange(n) < k).cumsum()])
            for n, k in zip(rows.astype(int), truth, strict=True)
        ]
        drawn = np.zeros(4, np.int64)
        against = []
        for _look in range(40):
            found = np.array([part[n] for part, n in zip(parts, drawn, strict=True)])
            wish = (found + 2.0) / (drawn + 20.0) * (drawn < rows)
            drawn = np.minimum(drawn + rng.multinomial(10, wish / wish.sum()), rows.astype(int))
            found = np.array([part[n] for part, n in zip(parts, drawn, strict=True)])
            level, slope = evidence(cells_of(rows, drawn, found), bets)
            against.append(logsumexp(level + slope @ (truth - found)))
        wrong += max(against) >= -np.log1p(-0.9)
    assert wrong / repeats <= 0.1 + 3 * np.sqrt(0.09 / repeats)


def test_checks_prove_more_the_more_there_are():
    scores, _, labels, inclusion, threshold = world()
    proven = []
    for share in (0.25, 0.5, 1.0):
        kept = np.where(scores >= threshold, labels, np.nan)
        below = np.flatnonzero((scores < threshold) & ~np.isnan(labels))
        some = np.random.default_rng(1).permutation(below)[: round(share * len(below))]
        kept[some] = labels[some]
        found = stop_when(scores, kept, recall=0.5, threshold=threshold, inclusion=inclusion)
        proven.append(found.recall_at_least)
    assert proven[0] < proven[1] < proven[2]


def test_checks_stop_when_proven_and_not_before():
    scores, truth, labels, inclusion, threshold = world()
    found = truth[scores >= threshold].sum() / truth.sum()
    settings = {"threshold": threshold, "inclusion": inclusion}
    now = stop_when(scores, labels, recall=0.3, **settings)
    assert now.stop
    assert now.further == 0
    assert 0.3 <= now.recall_at_least < found
    more = stop_when(scores, labels, recall=now.recall_at_least + 0.03, **settings)
    assert not more.stop
    assert more.recall_at_least == now.recall_at_least
    assert 0 < more.further < len(scores)
    assert more.labelled == (~np.isnan(labels)).sum()
    just = stop_when(scores, labels, recall=now.recall_at_least, **settings)
    assert just.stop
    free = stop_when(scores, labels, recall=0.3, assume="nothing", **settings)
    assert free.recall_at_least <= now.recall_at_least
    sure = stop_when(scores, labels, recall=0.3, confidence=0.999, **settings)
    assert sure.recall_at_least < now.recall_at_least


@pytest.mark.parametrize("tied", [False, True])
def test_probabilities_of_drawn_rows_alone(tied):
    """With probabilities of the drawn rows alone, sizes of strata follow from them."""
    scores, _, labels, _, threshold = world(tied=tied)
    rng = np.random.default_rng(2)
    below = np.flatnonzero(scores < threshold)
    below = below[np.argsort(-scores[below])]
    inclusion, kept = np.full(len(scores), np.nan), np.where(scores >= threshold, labels, np.nan)
    truth = world(tied=tied)[1]
    for part, n in ((below[:200], 100), (below[200:], 700)):
        some = rng.choice(part, n, replace=False)
        inclusion[some], kept[some] = n / len(part), truth[some]
    whole = inclusion.copy()
    whole[below[:200]], whole[below[200:]] = 0.5, 700 / len(below[200:])
    for given in (inclusion, whole):
        found = stop_when(scores, kept, recall=0.3, threshold=threshold, inclusion=given)
        assert found.stop
    some, all_of_them = (
        stop_when(scores, kept, recall=0.3, threshold=threshold, inclusion=given).recall_at_least
        for given in (inclusion, whole)
    )
    assert some == pytest.approx(all_of_them, abs=0.02)


def test_a_label_choice_is_an_inclusion():
    scores, truth, _, _, threshold = world()
    labels = np.where(scores >= threshold, truth, np.nan)
    choice = choose_labels(
        scores, labels, policy="stratified", n=900, threshold=threshold, random_state=0
    )
    labels[choice.rows] = truth[choice.rows]
    found = stop_when(scores, labels, recall=0.3, threshold=threshold, inclusion=choice)
    assert found.stop
    assert found.recall_at_least < truth[scores >= threshold].sum() / truth.sum()


# --- reviews --------------------------------------------------------------------------------------


@pytest.mark.parametrize("target", [0.5, 0.75, 0.9])
def test_enough_of_a_sample_against_binomial_sums(target):
    for events in (1, 5, 12, 30, 50):
        j = np.arange(events + 1)
        tail = np.array(
            [stats.binom.pmf(np.arange(k, events + 1), events, target).sum() for k in j]
        )
        least = np.flatnonzero(tail <= 0.05)
        assert enough_of_sample(events, target, 0.95) == (least[0] if len(least) else None)


@pytest.mark.parametrize(
    ("k", "frame", "drawn"), [(0, 50, 20), (2, 300, 40), (5, 60, 55), (0, 9, 1)]
)
def test_most_missed_against_hypergeometric_sums(k, frame, drawn):
    total = np.arange(k, frame - drawn + k + 1)
    left = stats.hypergeom.cdf(k, frame, total, drawn)
    assert most_missed(k, frame, drawn, 0.05) == total[left > 0.05].max()


def chance_of_wrong(rows, found, target, events, tail, allowed):
    """Exact probability of a wrong stop at the last cut with too little recall, see rule_of."""
    missed = int(np.floor(found * (1 - target) / target + 1e-9)) + 1
    total = found + missed
    if total < events:
        return 0.0
    n = np.arange(events, rows + 1)
    chance = stats.hypergeom.pmf(events - 1, rows, total, n - 1)
    chance *= (total - events + 1) / (rows - n + 1)
    likely = chance > 1e-9
    k = np.arange(min(missed, events) + 1)
    left = stats.hypergeom.cdf(k[None], rows, missed, n[likely][:, None])
    c = np.maximum((left <= tail).sum(axis=1) - 1, allowed)
    below = stats.hypergeom.cdf(np.maximum(c, 0), total, missed, events)
    return float((chance[likely] * np.where(c >= 0, below, 0.0)).sum())


@pytest.mark.parametrize("target", [0.5, 0.75, 0.9])
@pytest.mark.parametrize("events", [30, 43])
def test_sampling_until_a_number_of_events(target, events):
    tail, allowed = (
        shared_tail(events, target, 0.95),
        events - enough_of_sample(events, target, 0.95),
    )
    for found in (int(events * target) + 1, 2 * events, 6 * events):
        wrong = chance_of_wrong(int(10 * found / target), found, target, events, tail, allowed)
        assert wrong <= 0.05, found
    assert wrong > 0.7 * SPENT * 0.05  # and nearly all of it is used


def ranking(rng, rows, events, apart):
    truth = (np.arange(rows) < events).astype(float)
    return truth[np.argsort(-(rng.normal(size=rows) + apart * truth))]


def review_of(truth, sampled):
    n = len(truth)
    return Review(-np.arange(n) * 1.0, truth, sampled, n, 0, int(sampled.sum()), n)


@pytest.mark.parametrize("until", [False, True], ids=["fixed size", "until 30 events"])
def test_a_review_is_rarely_stopped_too_early(until):
    """Looks after every row; the first stop counts."""
    rng, wrong, repeats = np.random.default_rng(3), 0, 100
    for _ in range(repeats):
        truth, order = ranking(rng, 2000, 80, 1.0), rng.permutation(2000)
        size = 700
        if until:
            size = int(np.flatnonzero(truth[order])[29]) + 1
        sampled = np.isin(np.arange(2000), order[:size])
        review = review_of(truth, sampled)
        end = first_proven(review, 0.8, rule_of(review, 0.8, 0.9, 30 if until else None))
        wrong += truth[:end].sum() < 0.8 * 80
    assert wrong / repeats <= 0.1 + 3 * np.sqrt(0.09 / repeats)


def test_a_review_never_ends_later_than_qbcb():
    rng = np.random.default_rng(4)
    for apart, target in itertools.product((0.5, 2.0), (0.75, 0.9)):
        truth, order = ranking(rng, 4000, 120, apart), rng.permutation(4000)
        size = int(np.flatnonzero(truth[order])[39]) + 1
        sampled = np.isin(np.arange(4000), order[:size])
        review = review_of(truth, sampled)
        ours = first_proven(review, target, rule_of(review, target, 0.95, 40))
        theirs = np.flatnonzero(sampled & (truth == 1))[enough_of_sample(40, target, 0.95) - 1] + 1
        assert ours <= theirs


def test_nothing_is_proven_above_the_rows_that_could_be_sampled():
    """Sampled events tell nothing of rows between the cut and the first that could be drawn."""
    truth = (np.arange(60) < 12).astype(float)
    review = Review(-np.arange(60) * 1.0, truth, np.arange(60) % 2 == 1, 60, 20, 20, 60)
    assert proven_at(review, 19, 0.05) == 0.0
    assert proven_at(review, 20, 0.05) > 0.5
    assert first_proven(review, 0.1, Rule(0.05, allowed=9)) == 20


def test_first_proven_against_a_look_at_every_cut():
    rng = np.random.default_rng(8)
    truth, sampled = ranking(rng, 400, 40, 1.5), rng.random(400) < 0.4
    review = review_of(truth, sampled)
    for target in (0.6, 0.8, 0.95):
        missed = np.arange(401)
        for end in range(1, 401):
            below, found = sampled[end:], truth[:end].sum()
            least = missed[found < target * (found + missed) - 1e-12]
            k = truth[end:][below].sum()
            if found and (
                len(least) == 0
                or stats.hypergeom.cdf(k, 400, least[0], review.drawn) <= 0.05
                or least[0] > 400 - end - below.sum() + k
            ):
                break
        assert first_proven(review, target, Rule(0.05)) == end


def reviewed(seed=0, depth=1500, size=900, tied=False):
    rng = np.random.default_rng(seed)
    truth = (rng.random(3000) < 0.05).astype(float)
    scores = rng.normal(size=3000) + 2.0 * truth
    if tied:
        scores = np.round(scores, 1)
    order = np.argsort(-scores)
    labels, inclusion = np.full(3000, np.nan), np.full(3000, np.nan)
    labels[order[:depth]] = truth[order[:depth]]
    some = rng.choice(3000, size, replace=False)
    labels[some], inclusion[some] = truth[some], size / 3000
    return scores, truth, labels, inclusion


@pytest.mark.parametrize("method", ["review", "qbcb"])
def test_reviews_stop_and_say_where(method):
    scores, truth, labels, inclusion = reviewed()
    found = stop_when(scores, labels, recall=0.75, inclusion=inclusion, method=method)
    assert found.stop
    assert found.recall_at_least >= 0.75
    assert truth[scores >= found.cut].sum() >= 0.75 * truth.sum()
    above = labels.copy()
    above[(scores < found.cut) & np.isnan(inclusion)] = np.nan
    assert stop_when(scores, above, recall=0.75, inclusion=inclusion, method=method).stop
    above[(scores < found.cut + 0.2) & np.isnan(inclusion)] = np.nan
    early = stop_when(scores, above, recall=0.75, inclusion=inclusion, method=method)
    assert not early.stop
    assert early.recall_at_least < 0.75
    assert 0 < early.further < 1500
    assert early.cut < found.cut + 0.2


def test_a_review_may_sample_below_its_first_cut_alone():
    scores, truth, labels, _ = reviewed(size=0)
    first = np.sort(scores)[-300]
    labels[scores < first] = np.nan
    choice = choose_labels(scores, labels, policy="random", n=800, threshold=first, random_state=1)
    labels[choice.rows] = truth[choice.rows]
    given = {"inclusion": choice, "method": "review"}
    before = stop_when(scores, labels, recall=0.9, **given)
    assert not before.stop
    labels[scores >= before.cut] = truth[scores >= before.cut]
    after = stop_when(scores, labels, recall=0.9, **given)
    assert after.recall_at_least > before.recall_at_least
    with refused("sample-of-all"):
        stop_when(scores, labels, recall=0.9, inclusion=choice, method="qbcb")
    with refused("sample-of-all"):
        stop_when(scores, labels, recall=0.9, sampled_until=30, **given)


def test_a_review_without_a_sample_says_how_large():
    scores, _, labels, _ = reviewed(size=0)
    found = stop_when(scores, labels, recall=0.9, method="review")
    assert not found.stop
    assert found.recall_at_least == 0
    assert np.isnan(found.further)
    assert codes(found.remarks) == ["no-sample"]
    assert found.remarks[0].fields["events"] == events_to_sample(0.9, 0.95)


# --- what does not matter -------------------------------------------------------------------------


@pytest.mark.parametrize("method", ["checks", "qbcb", "review"])
@pytest.mark.parametrize("tied", [False, True])
def test_row_order_and_scale_of_scores_do_not_matter(method, tied):
    if method == "checks":
        scores, _, labels, inclusion, threshold = world(tied=tied)
    else:
        scores, _, labels, inclusion = reviewed(depth=700, tied=tied)
        threshold = None
    given = {"recall": 0.85, "method": method}
    first = stop_when(scores, labels, threshold=threshold, inclusion=inclusion, **given)
    order = np.random.default_rng(9).permutation(len(scores))
    turned = stop_when(
        scores[order], labels[order], threshold=threshold, inclusion=inclusion[order], **given
    )
    assert turned == first
    other = stop_when(
        np.exp(scores), labels, inclusion=inclusion,
        threshold=None if threshold is None else float(np.exp(threshold)), **given,
    )  # fmt: skip
    assert (other.stop, other.recall_at_least) == (first.stop, first.recall_at_least)
    assert other.further == first.further
    assert other.cut == pytest.approx(np.exp(first.cut))


# --- odd data -------------------------------------------------------------------------------------


def test_no_event_was_found():
    scores, _, labels, inclusion, threshold = world()
    labels[scores >= threshold] = 0.0
    found = stop_when(scores, labels, recall=0.5, threshold=threshold, inclusion=inclusion)
    assert not found.stop
    assert found.recall_at_least == 0
    assert np.isnan(found.further)
    assert "no-positives" in codes(found.remarks)
    assert json.loads(found.to_json())["further"] is None
    none = np.full(10, np.nan)
    empty = stop_when(np.arange(10.0), none, recall=0.5, method="review")
    assert not empty.stop
    assert codes(empty.remarks) == ["no-positives"]


@pytest.mark.parametrize("method", ["checks", "review"])
def test_all_rows_are_labelled(method):
    scores, truth, _, _, threshold = world()
    share = truth[scores >= threshold].sum() / truth.sum()
    found = stop_when(scores, truth, recall=0.3, threshold=threshold)
    assert found.stop
    assert found.recall_at_least == share
    assert stop_when(scores, truth, recall=0.99, method="review").recall_at_least == 1.0


def test_a_target_out_of_reach():
    scores, truth, labels, inclusion, threshold = world()
    below = (scores < threshold) & ~np.isnan(labels)
    seen, missed = truth[scores >= threshold].sum(), truth[below].sum()
    target = seen / (seen + missed) + 0.01
    found = stop_when(scores, labels, recall=target, threshold=threshold, inclusion=inclusion)
    assert not found.stop
    assert np.isinf(found.further)
    assert codes(found.remarks) == ["recall-out-of-reach"]
    assert found.remarks[0].fields["missed"] == missed


def test_checks_that_contradict_the_order():
    """Many checks find nothing, and a few below them find much."""
    scores, rank = np.arange(2110.0)[::-1].copy(), np.arange(2110)
    truth = ((rank < 50) | ((rank >= 2050) & (rank % 3 == 0))).astype(float)
    labels, inclusion = np.where(rank < 50, truth, np.nan), np.full(2110, np.nan)
    rng = np.random.default_rng(0)
    for part, share in ((rank[50:2050], 0.45), (rank[2050:], 0.5)):
        some = rng.choice(part, round(share * len(part)), replace=False)
        labels[some], inclusion[some] = truth[some], share
    found = stop_when(scores, labels, recall=0.5, threshold=scores[49], inclusion=inclusion)
    free = stop_when(
        scores, labels, recall=0.5, threshold=scores[49], inclusion=inclusion, assume="nothing"
    )
    assert "not-monotone" in codes(found.remarks)
    assert found.assumes == free.assumes
    assert found.recall_at_least == free.recall_at_least


def test_remarks_on_checks():
    scores, _, labels, inclusion, threshold = world()
    given = {"recall": 0.5, "threshold": threshold}
    alerts = np.where(scores >= threshold, labels, np.nan)
    assert codes(stop_when(scores, alerts, **given).remarks) == ["no-checks"]
    alerts[np.argmax(scores)] = np.nan
    assert "open-alerts" in codes(stop_when(scores, alerts, inclusion=inclusion, **given).remarks)
    loose = np.where(scores < threshold - 1, np.nan, inclusion)
    assert "scattered-labels" in codes(stop_when(scores, labels, inclusion=loose, **given).remarks)


@pytest.mark.parametrize(
    ("code", "change"),
    [
        ("unknown-word", {"method": "guess"}),
        ("unknown-word", {"assume": "everything"}),
        ("number-range", {"recall": 1.0}),
        ("level-range", {"confidence": 95}),
        ("threshold-needed", {"threshold": None}),
        ("inclusion-range", {"inclusion": np.zeros(3000)}),
        ("inclusion-varies", {"method": "review"}),
        ("integer-range", {"method": "review", "inclusion": None, "sampled_until": 0}),
    ],
)
def test_refused(code, change):
    scores, _, labels, inclusion, threshold = world()
    given = {"recall": 0.5, "threshold": threshold, "inclusion": inclusion} | change
    if code == "inclusion-varies":
        labels = world()[1]
    with refused(code):
        stop_when(scores, labels, **given)


def test_samples_that_cannot_be_read():
    scores, truth, labels, inclusion = reviewed()
    given = {"recall": 0.5, "method": "review"}
    with refused("sample-unlabelled"):
        gap = np.where(np.cumsum(~np.isnan(inclusion)) == 1, np.nan, labels)
        stop_when(scores, gap, inclusion=inclusion, **given)
    with refused("inclusion-total", frame=10_000):
        stop_when(scores, truth, inclusion=np.full(3000, 0.3), **given)
    with refused("sampled-until", until=2):
        stop_when(scores, labels, inclusion=inclusion, sampled_until=2, **given)
    few = np.full(3000, np.nan)
    some = np.flatnonzero(~np.isnan(inclusion))[:60]
    few[some] = 60 / 3000
    found = stop_when(scores, labels, recall=0.9, method="qbcb", inclusion=few)
    assert not found.stop
    assert codes(found.remarks) == ["sample-too-small"]
