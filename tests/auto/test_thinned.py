"""Large tables: fits see all events and some of the others; the odds of the others are put back."""

import numpy as np
import pytest
from scipy.special import expit

from scarce import DataError
from scarce.auto import members
from scarce.auto.members import Sample, ThinnedPath, fit_member, some_of
from scarce.auto.trees import freeze
from scarce.missing.front import fit_front
from tests.problems import refused


def world(n=6000, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    prob = expit(-4 + 1.5 * X[:, 0] + X[:, 1] ** 2 / 2)
    return X, (rng.random(n) < prob) * 1.0, prob


@pytest.fixture
def small(monkeypatch):
    monkeypatch.setattr(members, "LARGE", 1000)


def test_all_events_and_four_others_each(small):
    X, y, _ = world()
    sample = Sample(X, y, None, np.arange(6000) % 3, 0)
    kept = sample.thinned()
    assert kept[y == 1].all()
    assert kept[y == 0].sum() == 4 * y.sum()
    np.testing.assert_array_equal(kept, sample.thinned())
    assert sample._replace(y=(np.arange(6000) % 3 == 0) * 1.0).thinned() is None
    rare = sample._replace(y=(np.arange(6000) % 100 == 0) * 1.0)
    assert rare.thinned().sum() == 1000
    assert Sample(X[:1000], y[:1000], None, sample.folds[:1000], 0).thinned() is None


def test_the_factor_counts_weights():
    y, weight = np.array([1.0, 0, 0, 0]), np.array([5.0, 1.0, 2.0, 3.0])
    kept = np.array([True, True, False, True])
    (X, labels, left), odds = some_of((np.arange(4.0)[:, None], y, weight), kept)
    assert X.ravel().tolist() == [0, 1, 3]
    assert labels.tolist() == [1, 0, 0]
    assert left.tolist() == [5, 1, 3]
    assert odds == pytest.approx(4 / 6)


@pytest.mark.parametrize("name", ["logit", "spline", "boosting", "forest", "extra-trees", "kernel"])
@pytest.mark.parametrize("weighted", [False, True])
def test_probabilities_are_those_of_all_rows(small, name, weighted):
    """On average over new rows as the truth, and the models are those that were judged."""
    X, y, _ = world()
    new, _, truth = world(6000, seed=1)
    weight = np.where(np.arange(6000) % 2, 0.5, 1.5) if weighted else None
    sample = Sample(X, y, weight, np.arange(6000) % 3, 0)
    member = fit_member(name, sample)
    for fold, model in enumerate(member.models):
        out = sample.folds == fold
        prob = model.predict_proba(X[out])
        np.testing.assert_allclose(prob[:, 1], member.whole.left_out[out], rtol=1e-7)
        np.testing.assert_allclose(prob.sum(axis=1), 1.0)
    mean = np.mean([model.predict_proba(new)[:, 1].mean() for model in member.models])
    assert mean == pytest.approx(truth.mean(), rel=0.12)  # without the factor: 4 times that


def test_gaussian_classes_too(small):
    X, y, _ = world(3000)
    X[::3, 0] = np.nan
    sample = Sample(X, y, None, np.arange(3000) % 3, 0, fit_front(X))
    member = fit_member("gaussian", sample)
    out = sample.folds == 0
    prob = member.models[0].predict_proba(X[out])[:, 1]
    np.testing.assert_allclose(prob, member.whole.left_out[out], rtol=1e-6)
    assert prob.mean() < 3 * y.mean()


@pytest.mark.parametrize("link", ["share", "logit"])
def test_odds_of_trees(link):
    from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier

    X, y, _ = world(800)
    kind = ExtraTreesClassifier(9, min_samples_leaf=3, random_state=0)
    model = kind if link == "share" else HistGradientBoostingClassifier(max_iter=9)
    frozen = freeze(model.fit(X, y))
    plain = frozen.predict_proba(X)
    frozen.odds_ = 0.1
    odds = 0.1 * plain[:, 1] / plain[:, 0]
    np.testing.assert_allclose(frozen.predict_proba(X)[:, 1], odds / (1 + odds), rtol=1e-12)
    np.testing.assert_allclose(frozen.staged_prob(X, [9])[0], odds / (1 + odds), rtol=1e-12)
    frozen.odds_ = 0.0
    with refused("inconsistent-model", DataError, name="odds_"):
        frozen._check_loaded()


def test_a_thinned_path_is_a_path(small):
    X, y, _ = world(800)
    path = ThinnedPath(members.MEMBERS["logit"]((X, y, None), X, 0), 0.25)
    assert path.extend(4) == 4
    plain = path.path.prob
    np.testing.assert_allclose(path.prob / (1 - path.prob), 0.25 * plain / (1 - plain), rtol=1e-9)
    assert path.describe(0) == path.path.describe(0)
