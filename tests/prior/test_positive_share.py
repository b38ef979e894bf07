"""estimate_positive_share: the limit of a class of which some rows are labelled, and no others.

The witnesses are simulation with known shares, and the same limits by plain sums.
"""

import warnings

import numpy as np
import pandas as pd
import pytest
from scipy.stats import beta, binom, norm
from sklearn.ensemble import RandomForestClassifier
from sklearn.linear_model import LogisticRegression

from scarce import (
    DataError,
    MaxentClassifier,
    PriorCorrected,
    UsageError,
    estimate_positive_share,
    left_out_prob,
)
from scarce.prior import PositiveShare
from scarce.prior.positive_share import _lower, _shared_tail, _upper
from tests.problems import codes, refused


def pool(rng, n=3000, share=0.15, apart=3.0, labelled=0.4):
    """Events of which a random part is labelled; the others have no label."""
    event = rng.random(n) < share
    score = rng.normal(size=n) + apart * event
    return np.where(event & (rng.random(n) < labelled), 1.0, np.nan), score, event


def beside(rng, n_labelled, n, share, apart, alike=0.0, tilt=0.0):
    """Labelled events, and a sample of the population without labels."""
    high = np.r_[np.ones(n_labelled, bool), (rng.random(n) < share) | (rng.random(n) < alike)]
    score = rng.normal(size=n_labelled + n) + apart * high
    score[:n_labelled] += tilt
    return np.r_[np.ones(n_labelled), np.full(n, np.nan)], score


def same(one, other, rel=1e-6):
    held = [(a.limit.high, a.ratio.low, a.ratio.value, a.ratio.high, a.above) for a in (one, other)]
    np.testing.assert_allclose(held[0], held[1], rtol=rel)


# --- the truth ------------------------------------------------------------------------------------


def test_the_limit_holds_the_share_and_is_near_it_where_classes_are_told_apart():
    y, score, event = pool(np.random.default_rng(1), n=20_000, apart=4.0)
    found = estimate_positive_share(y, score)
    assert isinstance(found, PositiveShare)
    assert event.mean() <= found.limit.high < 1.25 * event.mean()
    assert np.isnan(found.limit.value)
    assert found.limit.level == 0.95
    assert found.limit.low == found.part == pytest.approx(np.mean(y == 1))
    assert event.mean() in found.at(1.0)
    assert not found.remarks


# Share, distance of the classes, part of the others that score as events do, decimals of scores.
@pytest.mark.parametrize(
    ("share", "apart", "alike", "decimals"),
    [(0.1, 4.0, 0.0, 9), (0.3, 1.5, 0.0, 9), (0.1, 3.0, 0.1, 9), (0.2, 3.0, 0.0, 0)],
    ids=["told apart", "overlapping", "best scored rows are not all events", "ties"],
)
@pytest.mark.parametrize("n_labelled", [8, 40])
def test_coverage_in_small_samples(share, apart, alike, decimals, n_labelled):
    rng = np.random.default_rng([7, n_labelled])
    held = []
    for _ in range(60):
        y, score = beside(rng, n_labelled, 300, share, apart, alike)
        found = estimate_positive_share(y, score.round(decimals), labelled_from="elsewhere")
        held.append(share <= found.limit.high)
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 60)


def test_coverage_where_labelled_rows_are_part_of_the_pool():
    rng = np.random.default_rng(8)
    held, limits = [], []
    for _ in range(70):
        y, score, event = pool(rng, 400, 0.2, 4.0, 0.3)
        limits.append(estimate_positive_share(y, score).limit.high)
        held.append(event.mean() <= limits[-1])
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 70)
    assert np.median(limits) < 0.32


def test_coverage_of_rows_that_belong_together():
    rng = np.random.default_rng(10)
    held, careless = [], []
    for _ in range(28):
        own, n, size = 10, 150, 4
        high = np.r_[np.ones(own, bool), rng.random(n) < 0.2]
        group = np.repeat(np.arange(own + n), size)
        score = 4.0 * high[group] + rng.normal(size=own + n)[group] + rng.normal(size=len(group))
        y = np.where(group < own, 1.0, np.nan)
        for hits, groups in ((held, group), (careless, None)):
            found = estimate_positive_share(y, score, groups=groups, labelled_from="elsewhere")
            hits.append(found.limit.high >= 0.2)
    assert np.mean(held) >= 0.95 - 2 * np.sqrt(0.95 * 0.05 / 28)
    assert np.mean(careless) < np.mean(held)


def test_labels_of_sure_events_first_make_the_limit_too_low_and_of_doubtful_ones_too_high():
    """As said: the limit needs labelled rows that are drawn at random among the events."""
    rng = np.random.default_rng(9)
    held = {
        tilt: np.mean([
            estimate_positive_share(
                *beside(rng, 40, 1000, 0.2, 4.0, tilt=tilt), labelled_from="elsewhere"
            ).limit.high
            >= 0.2
            for _ in range(30)
        ])
        for tilt in (-0.7, 0.7)
    }  # fmt: skip
    assert held[-0.7] == 1
    assert held[0.7] < 0.6


def test_a_stated_purity_gives_the_share_where_it_is_true(rng):
    """A tenth of the other rows score as events do; the purity of the best scored rows follows."""
    share, alike, apart = 0.1, 0.1, 4.0
    y, score = beside(rng, 2000, 40_000, share, apart, alike)
    found = estimate_positive_share(y, score, labelled_from="elsewhere")
    above, below = norm.sf(found.threshold - apart), norm.sf(found.threshold)
    like = (share + (1 - share) * alike) * above + (1 - share) * (1 - alike) * below
    purity = share * above / like
    assert found.at(purity).value == pytest.approx(share, rel=0.05)
    assert share in found.at(purity)
    assert found.ratio.value == pytest.approx(like / above, rel=0.05)
    assert found.limit.high > 1.5 * share
    lines = found.sensitivity
    assert [one for one, _ in lines] == sorted((one for one, _ in lines), reverse=True)
    assert lines[-1][1].value == pytest.approx(0.5 * found.at(1.0).value)


# --- witnesses ------------------------------------------------------------------------------------


def test_oracle_the_limit_of_one_threshold_by_plain_sums():
    """P(so few of m rows) over a Beta part, summed over the binomial; here on a fine grid."""
    k, n, m, count, tail = 4.0, 12.0, 60, 5, 0.05
    x = (np.arange(20_000) + 0.5) / 20_000
    law = beta.pdf(x, k, n + 1 - k) / 20_000
    share = _upper(k, n, count, m, tail)
    seen = sum(float(law @ binom.pmf(j, m, share * x)) for j in range(count + 1))
    assert seen == pytest.approx(tail, rel=0.01)
    least = _lower(k, n, count, m, tail)
    law = beta.pdf(x, k + 1, n - k) / 20_000
    seen = 1 - sum(float(law @ binom.pmf(j, m, least * x)) for j in range(count))
    assert seen == pytest.approx(tail, rel=0.01)


def test_oracle_the_limit_of_one_threshold_by_drawing():
    """At its limit, a share shows so few rows beyond the k-th greatest labelled score in 5 %."""
    rng = np.random.default_rng(3)
    k, n, m, count = 5, 20, 200, 9
    share = _upper(k, n, count, m, 0.05)
    part = np.sort(rng.random((20_000, n)), axis=1)[:, k - 1]  # of the events beyond it
    seen = np.mean(rng.binomial(m, share * part) <= count)
    assert seen == pytest.approx(0.05, abs=4 * np.sqrt(0.05 * 0.95 / 20_000))


def test_oracle_all_thresholds_together_have_the_tail_of_one():
    """Drawn anew: the least p-value of all thresholds is below the shared tail in 5 %."""
    n, m, share, tail = 32, 300, 0.3, 0.05
    ranks = np.array([32.0, 16.0, 8.0, 4.0])
    each = _shared_tail(ranks, n, m, share, tail, 0)
    assert tail / len(ranks) <= each <= tail
    rng = np.random.default_rng(4)
    parts = np.sort(rng.random((20_000, n)), axis=1)[:, ranks.astype(int) - 1]
    cells = share * np.diff(parts[:, ::-1], prepend=0.0, axis=1)
    law = np.column_stack([cells, 1 - cells.sum(axis=1)])
    counts = rng.multinomial(m, law)[:, :-1].cumsum(axis=1)
    ordered = np.sort(counts, axis=0)
    p = [np.searchsorted(ordered[:, j], counts[:, j], side="right") / 20_000 for j in range(4)]
    seen = np.mean(np.min(p, axis=0) <= each)
    assert 0.035 <= seen <= 0.06


# --- what changes nothing -------------------------------------------------------------------------


def test_invariances(rng):
    y, score, _ = pool(rng)
    found = estimate_positive_share(y, score)
    order = rng.permutation(len(y))
    same(found, estimate_positive_share(y[order], score[order]))
    same(found, estimate_positive_share(y, np.exp(3 * score) - 7))
    for weight in (0.3, 1e-300, 1e300):
        same(found, estimate_positive_share(y, score, sample_weight=np.full(len(y), weight)))
    twice = [np.tile(one, 2) for one in (y, score, np.arange(len(y)))]
    copied = estimate_positive_share(twice[0], twice[1], groups=twice[2])
    assert copied.above == 2 * found.above
    np.testing.assert_allclose(copied.limit.high, found.limit.high, rtol=1e-6)
    careless = estimate_positive_share(twice[0], twice[1])
    assert careless.limit.high < found.limit.high
    assert found.to_json() == estimate_positive_share(y, score).to_json()


def test_a_row_of_weight_0_is_none_and_weights_are_not_rows(rng):
    y, score, _ = pool(rng)
    found = estimate_positive_share(y, score)
    weight = np.r_[np.ones(len(y)), [0, 0]]
    more = estimate_positive_share(
        np.r_[y, [1.0, np.nan]], np.r_[score, [9.0, 9.0]], sample_weight=weight
    )
    same(found, more)
    uneven = estimate_positive_share(y, score, sample_weight=rng.exponential(size=len(y)))
    assert uneven.ratio.width > found.ratio.width


@pytest.mark.parametrize("label", ["yes", 7, True])
def test_label_names_and_ways_to_leave_a_label_out(rng, label):
    y, score, _ = pool(rng)
    found = estimate_positive_share(y, score)
    for hole in (None, np.nan):
        named = np.array([label if one == 1 else hole for one in y], dtype=object)
        told = estimate_positive_share(named, score)
        same(found, told)
        assert told.label == label
    same(found, estimate_positive_share(pd.Series(y), pd.Series(score)))


def test_a_column_of_labels_is_labels_and_the_label_is_plain(rng):
    y, score, _ = pool(rng)
    found = estimate_positive_share(y[:, None], score)
    same(found, estimate_positive_share(y, score))
    assert type(found.label) is float
    with refused("label-type", DataError):
        estimate_positive_share(np.where(y == 1, 0.5, np.nan), score)


@pytest.mark.parametrize("scale", [1e-310, 1e-200, 1e200])
def test_weights_of_one_side_may_have_any_scale(rng, scale):
    """Their squares vanish beside those of the other side."""
    y, score, _ = pool(rng)
    found = estimate_positive_share(y, score, labelled_from="elsewhere")
    weight = np.where(y == 1, scale, 1.0)
    scaled = estimate_positive_share(y, score, sample_weight=weight, labelled_from="elsewhere")
    same(found, scaled)
    part = estimate_positive_share(y, score, sample_weight=weight).part
    assert part == pytest.approx(float(scale > 1), abs=1e-9)


def test_few_rows_without_a_label_are_said(rng):
    y, score, _ = pool(rng)
    weight = np.ones(len(y))
    weight[np.flatnonzero(np.isnan(y))[0]] = 1e6
    found = estimate_positive_share(y, score, sample_weight=weight)
    assert "few-rows" in codes(found.remarks)
    assert found.limit.high > 0.9


def test_copies_in_few_groups_count_as_few(rng):
    y, score, _ = pool(rng)
    found = estimate_positive_share(y, score)
    own = np.flatnonzero(y == 1)
    groups = np.arange(len(y))
    groups[own] = own[0]  # all labelled rows belong together
    lumped = estimate_positive_share(y, score, groups=groups)
    assert lumped.limit.high > 2 * found.limit.high
    assert "few-rows" in codes(lumped.remarks)


# --- what is said ---------------------------------------------------------------------------------


def test_scores_that_say_nothing_are_named(rng):
    y, _, _ = pool(rng)
    found = estimate_positive_share(y, np.zeros(len(y)))
    assert found.limit.high == pytest.approx(1, abs=0.01)
    assert codes(found.remarks) == ["scores-alike"]
    y, score, _ = pool(rng)
    turned = estimate_positive_share(y, -score)
    assert "scores-alike" in codes(turned.remarks)


def test_scores_of_a_fit_that_saw_the_labels_are_noticed(rng):
    event = rng.random(1500) < 0.15
    X = rng.normal(size=(1500, 3)) + 1.2 * event[:, None]
    labelled = event & (rng.random(1500) < 0.4)
    y = np.where(labelled, 1.0, np.nan)
    forest = RandomForestClassifier(30, random_state=0)
    seen = estimate_positive_share(y, forest.fit(X, labelled).predict_proba(X)[:, 1])
    assert seen.limit.high < 0.6 * event.mean()
    assert codes(seen.remarks) == ["scores-apart"]
    left_out = left_out_prob({"forest": forest}, X, labelled)["forest"]
    found = estimate_positive_share(y, left_out)
    assert found.limit.high > event.mean()
    assert not found.remarks


def test_few_labels_are_named_and_fewer_refused(rng):
    y, score, _ = pool(rng)
    own = np.flatnonzero(y == 1)
    few = y.copy()
    few[own[5:]] = np.nan
    found = estimate_positive_share(few, score)
    assert "few-rows" in codes(found.remarks)
    assert 0.15 < found.limit.high <= 1
    few[own[4]] = np.nan
    with refused("too-few-labels", DataError, count=4):
        estimate_positive_share(few, score)
    with refused("too-few-labels", DataError, count=2):
        estimate_positive_share([1.0] * 9 + [np.nan] * 2, np.arange(11.0))


def test_refusals(rng):
    y, score, event = pool(rng)
    with refused("one-class", DataError):
        estimate_positive_share(np.ones(len(y)), score)
    with refused("no-labels", DataError):
        estimate_positive_share(np.full(len(y), np.nan), score)
    with refused("several-classes", DataError):
        estimate_positive_share(event.astype(int), score)
    holes = np.where(np.arange(len(y)) == 3, np.nan, score)
    with refused("not-finite", DataError):
        estimate_positive_share(y, holes)
    with refused("length-mismatch", DataError):
        estimate_positive_share(y, score[:-1])
    with refused("unknown-word", UsageError):
        estimate_positive_share(y, score, labelled_from="here")
    with refused("index-mismatch", DataError):
        estimate_positive_share(pd.Series(y), pd.Series(score, index=range(1, len(y) + 1)))
    found = estimate_positive_share(y, score)
    for purity in (0, 1.1, -1, np.nan, "half"):
        with refused("purity-range", UsageError):
            found.at(purity)


def test_the_record_prints_and_stores(rng):
    y, score, _ = pool(rng)
    found = estimate_positive_share(y, score)
    told = str(found)
    assert told.count("\n") == 6
    assert "drawn at random" in told
    assert found.to_dict()["limit"]["high"] == found.limit.high
    elsewhere = estimate_positive_share(y, score, labelled_from="elsewhere")
    assert elsewhere.part == 0
    assert elsewhere.at(1.0).value == elsewhere.ratio.value


# --- the whole way --------------------------------------------------------------------------------


def test_from_a_table_to_probabilities():
    rng = np.random.default_rng(6)
    event = rng.random(3000) < 0.2
    X = rng.normal(size=(3000, 2)) + 2.5 * event[:, None]
    y = np.where(event & (rng.random(3000) < 0.5), 1.0, np.nan)
    score = left_out_prob({"logit": LogisticRegression()}, X, ~np.isnan(y))["logit"]
    found = estimate_positive_share(y, score)
    assert event.mean() <= found.limit.high < 0.3
    share = found.at(1.0).value
    assert share == pytest.approx(event.mean(), abs=0.04)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        for model in (
            PriorCorrected(LogisticRegression(), prior=share),
            MaxentClassifier(width_scale=1.0, prevalence=share),
        ):
            prob = model.fit(X, y).predict_proba(X)[:, 1]
            assert prob.mean() == pytest.approx(share, rel=0.1)
