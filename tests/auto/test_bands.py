"""Bands of scores: counts by hand, coverage of the event rate, weights, groups, refusals."""

import numpy as np
import pytest
from scipy.special import expit, logit
from scipy.stats import beta

from scarce import AutoClassifier, DataError, PriorCorrected, UsageError, load, save
from scarce.auto.bands import ScoreBands, cut_bands
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


def scored(n=2000, seed=0, slope=1.0):
    """Scores of known truth: the event has log-odds slope * score."""
    rng = np.random.default_rng(seed)
    score = rng.normal(-3, 1.2, size=n)
    return score, (rng.random(n) < expit(slope * score)) * 1.0, expit(slope * score)


def test_oracle_counts_and_jeffreys_by_hand():
    score, y, _ = scored()
    bands = cut_bands(score, y, np.ones(2000), None)
    expected = expit(score).sum()
    assert len(bands.rate) == int(expected / 15)
    low, high = bands.limits(0.8)
    edges = np.concatenate([[-np.inf], bands.edges, [np.inf]])
    for at in range(len(bands.rate)):
        inside = (score >= edges[at]) & (score < edges[at + 1])
        n, k = inside.sum(), y[inside].sum()
        assert (bands.rows[at], bands.events[at]) == (n, k)
        assert bands.rate[at] == pytest.approx(k / n)
        assert expit(score[inside]).sum() == pytest.approx(expected / len(bands.rate), abs=2)
        ends = beta.ppf([0.1, 0.9], k + 0.5, n - k + 0.5)
        np.testing.assert_allclose([low[at], high[at]], ends, rtol=1e-6)
    np.testing.assert_allclose(bands.effective, bands.rows)


@pytest.mark.parametrize("slope", [1.0, 0.6])
def test_the_event_rate_of_new_rows_is_covered(slope):
    """Also where the scores are too sure: the rates are counted, not those of the scores."""
    held = []
    for seed in range(60):
        score, y, _ = scored(seed=seed, slope=slope)
        bands = cut_bands(score, y, np.ones(2000), None)
        new, _, truth = scored(20_000, seed=1000 + seed, slope=slope)
        low, high = bands.limits(0.9)
        place = np.searchsorted(bands.edges, new, side="right")
        count = np.bincount(place, minlength=len(low))
        rate = np.bincount(place, truth, minlength=len(low)) / count
        held += ((low <= rate) & (rate <= high)).tolist()
    assert len(held) > 300
    assert np.mean(held) == pytest.approx(0.9, abs=0.05)


def test_weights_and_groups_count_as_fewer_rows():
    score, y, _ = scored()
    plain = cut_bands(score, y, np.ones(2000), None)
    alone = cut_bands(score, y, np.ones(2000), np.random.default_rng(0).permutation(2000))
    np.testing.assert_allclose(alone.effective, plain.effective)
    weight = np.where(np.arange(2000) % 2, 1.9, 0.1)
    uneven = cut_bands(score, y, weight, None)
    assert uneven.effective.sum() == pytest.approx(2000 / (weight**2).mean(), rel=0.15)
    # Every row five times, as one group each: no more is known than from the rows once.
    five = np.repeat(np.arange(2000), 5)
    copies = cut_bands(score[five], y[five], np.ones(10_000), five, events=75)
    np.testing.assert_allclose(copies.edges, plain.edges, atol=0.02)
    assert copies.effective.sum() == pytest.approx(2000, rel=0.02)


def test_groups_of_shared_luck_are_covered():
    """Ten rows of a group share a part of their log-odds that no column tells."""
    held = {"groups": [], "rows": []}
    for seed in range(40):
        rng = np.random.default_rng(seed)
        group = np.repeat(np.arange(300), 10)
        score = np.repeat(rng.normal(-3, 1, size=300), 10)
        y = (rng.random(3000) < expit(score + np.repeat(rng.normal(0, 1.5, 300), 10))) * 1.0
        fresh = rng.normal(-3, 1, size=200_000)
        truth = expit(fresh + rng.normal(0, 1.5, size=200_000))
        for kind, own in (("groups", group), ("rows", None)):
            bands = cut_bands(score, y, np.ones(3000), own)
            low, high = bands.limits(0.9)
            place = np.searchsorted(bands.edges, fresh, side="right")
            rate = np.bincount(place, truth) / np.bincount(place)
            held[kind] += ((low <= rate) & (rate <= high)).tolist()
    assert np.mean(held["groups"]) == pytest.approx(0.9, abs=0.05)
    assert np.mean(held["rows"]) < 0.8


def test_ties_stay_together_and_frequent_events_are_cut_by_the_others():
    score = np.repeat([-2.0, 0.0, 1.0], 300)
    y = (np.arange(900) % 10 < np.repeat([1, 5, 7], 300)) * 1.0
    bands = cut_bands(score, y, np.ones(900), None)
    assert bands.rows.tolist() == [300, 300, 300]
    many, label, _ = scored()
    turned = cut_bands(-many, 1.0 - label, np.ones(2000), None)
    plain = cut_bands(many, label, np.ones(2000), None)
    assert len(turned.rate) == len(plain.rate)
    one = cut_bands(np.zeros(50), np.arange(50) % 2 * 1.0, np.ones(50), None)
    assert one.rate.tolist() == [0.5]
    none = cut_bands(np.full(40, -2.0), np.zeros(40), np.ones(40), None)
    assert none.limits(0.9)[0].tolist() == [0.0]


def table(n=500, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    return X, (rng.random(n) < expit(-2 + 1.5 * X[:, 0])).astype(int)


@pytest.fixture(scope="module")
def fitted():
    return AutoClassifier(["logit"], cv=4).fit(*table())


def test_a_model_s_bands_are_of_its_left_out_rows(fitted):
    X, y = table()
    found = fitted.predict_band(X[:40], level=0.8)
    score = fitted.decision_function(X[:40])
    band = np.searchsorted(fitted.bands_.edges, score, side="right")
    np.testing.assert_array_equal(found.band, band)
    np.testing.assert_array_equal(found.rate, fitted.bands_.rate[band])
    assert (found.low < found.rate).all()
    assert (found.rate < found.high).all()
    assert fitted.bands_.rows.sum() == 500
    assert fitted.bands_.events.sum() == y.sum()
    assert len(found.words()) == 40
    assert "not" not in str(fitted.bands_)
    turned = AutoClassifier(["logit"], cv=4).fit(X, 1 - y)
    np.testing.assert_allclose(turned.bands_.rate[::-1], 1 - fitted.bands_.rate)
    loaded = check_round_trip(fitted, X)
    np.testing.assert_array_equal(loaded.predict_band(X[:40], level=0.8).low, found.low)


def test_groups_widen_the_bands_of_a_model():
    X, y = table(120)
    five = np.repeat(np.arange(120), 5)
    jitter = 1e-3 * np.random.default_rng(0).normal(size=(600, 2))
    settings = {"members": ["logit"], "cv": 3, "fallback": None}
    told = AutoClassifier(**settings).fit(X[five] + jitter, y[five], groups=five)
    blind = AutoClassifier(**settings).fit(X[five] + jitter, y[five])
    assert told.bands_.effective.sum() < 0.4 * blind.bands_.effective.sum()


def test_where_there_are_no_bands(tmp_path):
    X, y = table(200)
    few = AutoClassifier().fit(X[:50], np.arange(50) % 2)
    with refused("no-bands", UsageError):
        few.predict_band(X)
    three = AutoClassifier(["logit"], cv=3).fit(X, y + (X[:, 1] > 1))
    with refused("no-bands", UsageError):
        three.predict_band(X)
    assert not hasattr(PriorCorrected(AutoClassifier()), "predict_band")
    with refused("level-range", UsageError):
        AutoClassifier(["logit"], cv=3).fit(X, y).predict_band(X, level=90)
    save(few, tmp_path / "few.scarce")
    assert load(tmp_path / "few.scarce").bands_ is None


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("edges", np.array([0.0, 0.0])),
        ("rate", np.array([0.1, 0.2])),
        ("rate", np.array([0.1, 0.2, 1.2])),
        ("effective", np.array([5.0, np.nan, 5.0])),
        ("rows", np.array([-1.0, 5.0, 5.0])),
    ],
)
def test_bands_that_do_not_fit_are_refused(name, value):
    parts = {
        "edges": np.array([-1.0, logit(0.5)]),
        "rate": np.array([0.1, 0.2, 0.3]),
        "rows": np.full(3, 10.0),
        "events": np.array([1.0, 2.0, 3.0]),
        "effective": np.full(3, 10.0),
    }
    ScoreBands(**parts)
    with refused("inconsistent-model", DataError, name="bands_"):
        ScoreBands(**{**parts, name: value})
