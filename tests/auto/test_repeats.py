"""Several draws of folds: averaged by hand, when "auto" asks for them, judged as they predict."""

import numpy as np
import pytest
from scipy.special import expit, softmax

from scarce import AutoClassifier, DataError, UsageError
from tests.problems import codes, refused
from tests.properties.store_properties import check_round_trip

PAIR = ["logit", "spline"]


def straight(n=200, seed=0):
    """A world in which the logit is right, so a stack is within noise of it."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < expit(-1 + 1.5 * X[:, 0])).astype(int)


def curved(n=500):
    rng = np.random.default_rng(0)
    X = rng.normal(size=(n, 3))
    return X, (rng.random(n) < expit(-4 + 2.0 * X[:, 0] ** 2)).astype(int)


@pytest.fixture(scope="module")
def three():
    return AutoClassifier(PAIR, cv=3, repeats=3).fit(*straight())


def test_oracle_log_odds_of_the_draws_are_averaged(three):
    X = straight(50, seed=5)[0]
    columns = X[:, three.columns_]
    scores = []
    for stack in (three, *three.others_):
        score = np.full((3, 50), stack.stack_intercept_)
        for name, models in stack.members_.items():
            e, share = stack.floors_[name], three.prevalence_
            share = share if three.rarer_ else 1 - share
            for fold, model in enumerate(models):
                prob = (1 - e) * model.predict_proba(columns)[:, 1] + e * share
                score[fold] += stack.weights_[name] * np.log(prob / (1 - prob))
        prob = expit(score).mean(axis=0)
        scores.append(np.log(prob / (1 - prob)))
    assert len(scores) == 3
    sign = 1 if three.rarer_ else -1
    np.testing.assert_allclose(three.decision_function(X), sign * np.mean(scores, axis=0))
    assert np.ptp(scores, axis=0).max() > 0.01  # the draws do differ
    assert "fits-averaged" in codes(three.report_.warnings)
    check_round_trip(three, X)


def test_the_first_draw_is_the_fit_without_repeats(three):
    one = AutoClassifier(PAIR, cv=3, repeats=1).fit(*straight())
    assert one.others_ == []
    if one.chosen_ == three.chosen_:
        assert one.weights_ == three.weights_
        assert one.stack_intercept_ == three.stack_intercept_
    assert one.comparison_["logit"] != three.comparison_["logit"]


def test_auto_repeats_where_the_choice_is_within_noise():
    unsure = AutoClassifier(PAIR, cv=3).fit(*straight(seed=2))
    assert len(unsure.others_) == 2
    lines = AutoClassifier(PAIR, cv=3, repeats=1).fit(*straight(seed=2)).comparison_
    assert abs(lines["logit"]["log_loss"] - lines["auto"]["log_loss"]) < 0.01
    sure = AutoClassifier(PAIR, cv=3).fit(*curved())
    assert sure.others_ == []
    assert "fits-averaged" not in codes(sure.report_.warnings)
    assert AutoClassifier(PAIR, cv=3, fallback=None).fit(*straight()).others_ == []
    assert AutoClassifier(PAIR[:1], cv=3).fit(*straight()).others_ == []


def test_row_order_and_copies_change_nothing(three):
    X, y = straight()
    order = np.random.default_rng(0).permutation(200)
    other = AutoClassifier(PAIR, cv=3, repeats=3).fit(X[order], y[order])
    np.testing.assert_array_equal(other.predict_proba(X), three.predict_proba(X))
    twice = AutoClassifier(PAIR, cv=3, repeats=3).fit(np.repeat(X, 2, axis=0), np.repeat(y, 2))
    np.testing.assert_allclose(twice.predict_proba(X), three.predict_proba(X), atol=1e-6)


def test_the_draw_matters_less():
    """Means of three draws spread as single draws do over the square root of three."""
    X, y = straight()
    draws, means = [], []
    for seed in range(4):
        settings = {"cv": 3, "repeats": 3, "fallback": None, "random_state": seed}
        model = AutoClassifier(["spline"], **settings).fit(X, y)
        columns = X[:, model.columns_]
        draws += [model._score_by(stack, columns, None) for stack in (model, *model.others_)]
        means.append(model.decision_function(X))
    ratio = np.std(means, axis=0, ddof=1).mean() / np.std(draws, axis=0, ddof=1).mean()
    assert 0.25 < ratio < 0.85


def test_several_classes_are_averaged_as_log_probabilities():
    X, y = straight()
    classes = y + (X[:, 1] > 0.5)
    model = AutoClassifier(["logit"], cv=3, repeats=2, fallback=None).fit(X, classes)
    columns = X[:, model.columns_]
    each = [model._score_by(stack, columns, None) for stack in (model, *model.others_)]
    assert len(each) == 2
    by_hand = softmax(np.mean(each, axis=0), axis=1)
    np.testing.assert_allclose(model.predict_proba(X), by_hand, rtol=1e-12)
    check_round_trip(model, X)


def test_what_cannot_work_is_refused(three):
    for repeats in (0, 1.5, "often"):
        with refused("invalid-parameter", UsageError, argument="repeats"):
            AutoClassifier(PAIR, repeats=repeats).fit(*straight())
    other = three.others_[0]
    before = other.stack_intercept_
    other.stack_intercept_ = np.nan
    with refused("inconsistent-model", DataError, name="weights_"):
        three._check_loaded()
    other.stack_intercept_ = np.zeros(3)
    with refused("inconsistent-model", DataError, name="stack_intercept_"):
        three._check_loaded()
    other.stack_intercept_ = before
