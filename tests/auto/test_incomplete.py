"""Rows that miss more values than training rows did: weighed as such rows were when values hid."""

import warnings

import numpy as np
import pandas as pd
import pytest
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB

from scarce import DataError, DataWarning
from scarce.auto import incomplete
from scarce.auto.classifier import AutoClassifier
from scarce.auto.incomplete import IncompleteWeights, blended, missing_share, usual_share
from tests.problems import refused
from tests.properties.store_properties import check_round_trip

QUICK = ["logit", "spline", "forest"]


def ring(n=500, seed=0):
    """Events on a ring in two of four columns: a mean in place of a value is surely wrong there."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 4))
    return X, (np.abs(np.hypot(X[:, 0], X[:, 1]) - 1.2) < 0.35).astype(int)


def hide(X, share, seed=9):
    rng = np.random.default_rng(seed)
    return np.where(rng.random(X.shape) < share, np.nan, X)


def prob(model, X):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        return model.predict_proba(X)


@pytest.fixture(scope="module")
def fitted():
    return AutoClassifier(QUICK, cv=3, repeats=1).fit(*ring())


@pytest.mark.parametrize("share", [0.15, 0.3, 0.6, 0.9])
def test_no_worse_than_the_constant_whatever_is_missing(fitted, share):
    X, y = ring(3000, seed=1)
    hidden = hide(X, share)
    constant = log_loss(y, np.full(len(y), ring()[1].mean()))
    found = prob(fitted, hidden)[:, 1]
    assert log_loss(y, found) < 1.01 * constant
    assert abs(found.mean() - y.mean()) < 0.04
    learnt, fitted.incomplete_ = fitted.incomplete_, []
    before = log_loss(y, prob(fitted, hidden)[:, 1])
    fitted.incomplete_ = learnt
    assert log_loss(y, found) < (0.9 if share > 0.2 else 1.0) * before


def test_complete_rows_and_empty_ones(fitted):
    X, y = ring()
    plain = fitted.predict_proba(X)
    mixed = prob(fitted, np.vstack([X[:50], hide(X[:50], 0.5), np.full((1, 4), np.nan)]))
    np.testing.assert_array_equal(mixed[:50], plain[:50])
    assert mixed[-1, 1] == pytest.approx(y.mean(), rel=1e-12)
    one_by_one = np.vstack([prob(fitted, row[None]) for row in hide(X[:9], 0.5)])
    np.testing.assert_allclose(mixed[50:59], one_by_one, rtol=1e-9)


def test_model_file(fitted):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", DataWarning)
        check_round_trip(fitted, hide(ring(100, seed=3)[0], 0.5))
    first = fitted.incomplete_[0]
    for wrong in (
        [first, first],
        [IncompleteWeights(0.5, ("unknown",), np.array([0.1]), np.ones(1), np.zeros(1))],
        [IncompleteWeights(0.5, first.members, first.floors, first.weights, np.zeros(3))],
    ):
        kept, fitted.incomplete_ = fitted.incomplete_, wrong
        with refused("inconsistent-model", DataError, name="incomplete_"):
            fitted._check_loaded()
        fitted.incomplete_ = kept
    with refused("inconsistent-model", DataError, name="incomplete_"):
        IncompleteWeights(0.5, ("logit",), np.array([0.1]), np.array([-1.0]), np.zeros(1))


def test_order_units_and_copies_change_nothing(rng):
    X, y = ring(240)
    plain = AutoClassifier(["logit", "spline"], cv=3, fallback=None, repeats=1).fit(X, y)
    new = hide(ring(100, seed=4)[0], 0.4)
    order, turned = rng.permutation(len(y)), rng.permutation(4)
    for rows, labels, change in (
        (X[order], y[order], lambda A: A),
        (X[:, turned], y, lambda A: A[:, turned]),
        (X * 1e6 + 3e6, y, lambda A: A * 1e6 + 3e6),
        (np.repeat(X, 2, axis=0), np.repeat(y, 2), lambda A: A),
        (np.column_stack([X, np.ones(240)]), y, lambda A: np.column_stack([A, np.ones(100)])),
    ):
        model = AutoClassifier(["logit", "spline"], cv=3, fallback=None, repeats=1)
        found = prob(model.fit(rows, labels), change(new))
        np.testing.assert_allclose(found, prob(plain, new), atol=1e-6)
    names = AutoClassifier(["logit", "spline"], cv=3, fallback=None, repeats=1).fit(X, 1 - y)
    np.testing.assert_allclose(prob(names, new)[:, ::-1], prob(plain, new), atol=1e-6)


def test_several_classes_and_categories():
    rng = np.random.default_rng(0)
    place, other = rng.integers(0, 3, (2, 400))
    kind = (place + other) % 3  # that neither column says alone
    words = np.array(["low", "middle", "top"])
    frame = pd.DataFrame({"place": words[place], "other": words[other], "x": kind + other / 9})
    model = AutoClassifier(["logit", "spline"], cv=3, repeats=1).fit(frame, words[kind])
    assert model.usual_missing_ == 0
    hidden = frame.mask(rng.random(frame.shape) < 0.4)
    found = prob(model, hidden)
    np.testing.assert_allclose(found.sum(axis=1), 1.0)
    constant = log_loss(words[kind], np.tile(model.prevalence_, (400, 1)))
    assert log_loss(words[kind], found) < constant
    nothing = prob(model, frame.mask(np.ones(frame.shape, dtype=bool))[:2])
    np.testing.assert_allclose(nothing, np.tile(model.prevalence_, (2, 1)))


def test_a_member_that_takes_no_missing_value_does_not_count_there():
    X, y = ring()
    model = AutoClassifier(["logit", "forest", ("bayes", GaussianNB())], cv=3, repeats=1).fit(X, y)
    new, outcome = ring(500, seed=2)
    assert model.weights_["bayes"] > 0
    assert all("bayes" not in one.members for one in model.incomplete_)
    constant = log_loss(outcome, np.full(500, y.mean()))
    assert log_loss(outcome, prob(model, hide(new, 0.3))) < constant


def test_rows_as_incomplete_as_usual_are_left_to_the_stack():
    X, y = ring()
    model = AutoClassifier(["logit", "forest"], cv=3, repeats=1).fit(hide(X, 0.3), y)
    assert model.usual_missing_ == 0.5
    assert [one.share for one in model.incomplete_] == [0.7]
    seen = hide(X, 0.3, seed=1)
    seen = seen[np.isnan(seen).mean(axis=1) <= 0.5]
    before = model.predict_proba(seen)
    model.incomplete_ = []
    np.testing.assert_array_equal(model.predict_proba(seen), before)


@pytest.mark.parametrize("columns", [1, 2, 5])
@pytest.mark.parametrize("classes", [2, 3])
def test_a_missing_value_that_says_something_in_few_training_rows_still_says_it(columns, classes):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(1200, columns))
    missing = rng.random(1200) < 0.08
    y = (rng.random(1200) < np.where(missing, 0.7, 0.1)).astype(int)
    y[rng.random(1200) < 0.2 * (classes == 3)] = classes - 1
    X[missing, 0] = np.nan
    model = AutoClassifier(["logit", "boosting"], cv=3, repeats=1).fit(X, y)
    assert model.usual_missing_ == 1 / columns
    found = prob(model, X[missing])
    assert found[:, 1].mean() > 2 * (y == 1).mean()
    check_round_trip(model, X)
    model.incomplete_ = []
    np.testing.assert_array_equal(prob(model, X[missing]), found)


def test_training_rows_that_miss_values_at_random_leave_nine_in_ten_usual():
    X, y = ring(800)
    X[np.ix_(np.random.default_rng(1).random(800) < 0.08, [0, 2, 3])] = np.nan
    model = AutoClassifier(["logit", "forest"], cv=3, repeats=1).fit(X, y)
    assert model.usual_missing_ == 0
    assert [one.share for one in model.incomplete_] == [0.15, 0.4, 0.7]


def test_shares_and_blends():
    X = np.array([[np.nan, np.nan, 1.0, 2.0], [0.0, 1.0, np.nan, 2.0], [0.0, 1.0, 3.0, 2.0]])
    source = np.array([4, 4, 0, 1])  # the first two are levels of one category
    np.testing.assert_allclose(missing_share(X, source), [1 / 3, 1 / 3, 0])
    assert usual_share(X, source, np.array([1.0, 1.0, 98.0])) == 0
    grid = np.array([0.0, 0.2, 0.6])
    score = np.array([[0.0], [1.0], [3.0]])
    for share, expected in ((0.0, 0.0), (0.1, 0.5), (0.2, 1.0), (0.5, 2.5), (0.6, 3.0), (0.9, 3.0)):
        assert blended(score, grid, np.array([share]))[0] == pytest.approx(expected)
    assert blended(score[:1], grid[:1], np.array([0.7])).tolist() == [0.0]
    classes = np.log([[[0.5, 0.5]], [[0.9, 0.1]]])
    mixed = np.exp(blended(classes, grid[:2], np.array([0.1])))
    np.testing.assert_allclose(mixed, [[0.75, 0.25]])  # log-odds are halved: 3 to 1


def test_as_many_values_are_hidden_as_asked_for(fitted, monkeypatch):
    """Each learnt share is that of the rows it was learnt from, whatever was missing before."""
    seen = {}
    chosen = incomplete.Learner._hidden

    def spy(self, share):
        found = chosen(self, share)
        seen[share] = np.isnan(found[0]).mean()
        return found

    monkeypatch.setattr(incomplete.Learner, "_hidden", spy)
    X, y = ring(300)
    AutoClassifier(["logit"], cv=3, fallback=None, repeats=1).fit(hide(X, 0.1), y)
    for share, found in seen.items():
        assert found == pytest.approx(share, abs=0.03)
