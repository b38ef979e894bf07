"""Estimators of the user's own as members: what they see, how they are judged, what is refused."""

import numpy as np
import pandas as pd
import pytest
from scipy.special import expit, logit
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.ensemble import ExtraTreesClassifier
from sklearn.impute import SimpleImputer
from sklearn.linear_model import LinearRegression, LogisticRegression
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from scarce import AutoClassifier, DataError, UsageError, load, open_rows, save
from scarce.auto.members import DEFAULT
from tests.problems import refused

MINE = LogisticRegression(C=2.0)


def table(n=300, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3)) * [1.0, 30.0, 0.01]
    y = (rng.random(n) < expit(-1.5 + X[:, 0] - X[:, 1] / 30)).astype(int)
    return X, y


def parts(folds):
    numbers = np.unique(folds)
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in numbers]


@pytest.fixture(scope="module")
def fitted():
    X, y = table()
    folds = np.arange(300) % 4
    return AutoClassifier(["logit", ("mine", MINE)], cv=parts(folds), fallback=None).fit(X, y)


def test_oracle_the_member_is_a_clone_fitted_without_each_fold(fitted):
    X, y = table()
    folds, new = np.arange(300) % 4, table(50, seed=1)[0]
    assert not hasattr(MINE, "coef_")
    for fold, model in enumerate(fitted.members_["mine"]):
        by_hand = clone(MINE).fit(X[folds != fold], y[folds != fold])
        own = model.predict_proba(new[:, fitted.columns_])[:, fitted.rarer_]
        np.testing.assert_allclose(own, by_hand.predict_proba(new)[:, 1], rtol=1e-4)
    score = np.full((4, 50), fitted.stack_intercept_)
    for name, models in fitted.members_.items():
        e = fitted.floors_[name]
        for fold, model in enumerate(models):
            prob = model.predict_proba(new[:, fitted.columns_])[:, 1]
            score[fold] += fitted.weights_[name] * logit((1 - e) * prob + e * fitted.prevalence_)
    np.testing.assert_allclose(
        fitted.predict_proba(new)[:, 1], expit(score).mean(axis=0), rtol=1e-12
    )


class Notes(ClassifierMixin, BaseEstimator):
    """Remembers what it was given."""

    def fit(self, X, y):
        Notes.seen.append((X.copy(), y.copy()))
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        Notes.asked.append(X.copy())
        return np.full((len(X), 2), 0.5)


def test_it_sees_the_columns_of_the_user_and_classes_as_0_and_1():
    rng = np.random.default_rng(3)
    X = np.column_stack([rng.normal(size=(200, 2)), np.full(200, 7.0), rng.normal(size=200)])
    X[::9, 3] = np.nan
    words = np.where(rng.random(200) < 0.7, "b", "a")  # the positive class is the frequent one
    Notes.seen, Notes.asked = [], []
    model = AutoClassifier(["boosting", ("notes", Notes())], cv=3, fallback=None).fit(X, words)
    known = {row.tobytes() for row in X}
    for seen, y in Notes.seen:
        assert {row.tobytes() for row in seen} <= known
        assert set(y) == {0, 1}
        assert y.mean() > 0.5
    Notes.asked = []
    model.predict_proba(X + 0.0)
    if Notes.asked:
        np.testing.assert_array_equal(Notes.asked[0], X)


def test_categories_are_one_hot_for_it():
    city = np.array(["a", "b", "c"] * 80)
    age = np.random.default_rng(0).normal(size=240)
    y = (np.random.default_rng(1).random(240) < np.where(city == "b", 0.6, 0.1)).astype(int)
    rows = open_rows(pd.DataFrame({"city": city, "age": age, "y": y}), label="y")
    model = AutoClassifier([("mine", LogisticRegression())], cv=3).fit(rows)
    assert len(model.members_["mine"][0].estimator_.coef_[0]) == 4
    coef = model.members_["mine"][0].estimator_.coef_[0]
    assert np.argmax(np.abs(coef[:3])) == 1  # city b, in the user's order


def test_scores_without_probabilities_are_read_as_log_odds():
    X, y = table()
    svm = make_pipeline(StandardScaler(), LinearSVC())
    model = AutoClassifier([("svm", svm)], cv=3).fit(X, y)
    inside = model.members_["svm"][0]
    score = inside.estimator_.decision_function(X)
    sign = 1.0 if model.rarer_ else -1.0
    given = inside.predict_proba(X[:, model.columns_])[:, 1]
    np.testing.assert_allclose(given, expit(sign * score))
    lines = model.comparison_
    assert lines["auto"]["log_loss"] < 0.9 * lines["constant"]["log_loss"]
    assert model.choices_ == {"svm": "LinearSVC"}


def test_default_and_names_are_expanded_and_classes_may_be_exchanged():
    X, y = table(150)
    names = AutoClassifier(["default", ("mine", MINE)])._names()
    assert names == [*DEFAULT, "mine"]
    assert AutoClassifier("default")._names() == AutoClassifier()._names() == list(DEFAULT)
    model = AutoClassifier(["logit", "logit", ("mine", MINE)], cv=3, fallback=None)
    prob = model.fit(X, y).predict_proba(X)
    np.testing.assert_allclose(
        clone(model).fit(X, 1 - y).predict_proba(X)[:, ::-1], prob, rtol=1e-6
    )
    order = np.random.default_rng(0).permutation(150)
    np.testing.assert_array_equal(clone(model).fit(X[order], y[order]).predict_proba(X), prob)


def test_weight_two_is_a_row_twice_with_and_without_sample_weight():
    X, y = table(150)
    count = 1 + np.arange(150) % 3
    for estimator in (LinearDiscriminantAnalysis(), MINE, make_pipeline(MINE)):
        model = AutoClassifier([("mine", estimator)], cv=3, fallback=None)
        weighted = model.fit(X, y, count * 0.7).predict_proba(X)
        twice = model.fit(np.repeat(X, count, axis=0), np.repeat(y, count)).predict_proba(X)
        np.testing.assert_allclose(weighted, twice, rtol=1e-5)
    uneven = 1.0 + np.random.default_rng(0).random(150)
    with refused("member-without-weights", DataError, member="mine"):
        AutoClassifier([("mine", KNeighborsClassifier())], cv=3).fit(X, y, uneven)


def test_many_copies_of_one_row_do_not_stop_an_estimator_without_sample_weight():
    X, y = table(2000)
    rows = np.append(np.arange(2000), np.repeat([5, 6, 7], 40))
    members = ["logit", ("mine", KNeighborsClassifier())]
    model = AutoClassifier(members, cv=3, repeats=1).fit(X[rows], y[rows])
    assert "mine" in model.choices_
    uneven = np.ones(2000)
    uneven[5] = 1e6  # a row that would have to stand a million times
    with refused("member-without-weights", DataError, member="mine"):
        AutoClassifier(members, cv=3, repeats=1).fit(X, y, uneven)


def test_whatever_draws_gets_a_seed():
    X, y = table(150)
    model = AutoClassifier([("mine", ExtraTreesClassifier(5))], cv=3, fallback=None)
    prob = model.fit(X, y).predict_proba(X)
    np.testing.assert_array_equal(clone(model).fit(X, y).predict_proba(X), prob)
    assert model.members[0][1].random_state is None


def test_missing_values_are_passed_on_and_a_refusal_names_the_member():
    X, y = table()
    X[::7, 1] = np.nan
    with refused("member-failed", DataError, member="mine", missing=1, step="fit"):
        AutoClassifier(["boosting", ("mine", MINE)], cv=3).fit(X, y)
    whole = make_pipeline(SimpleImputer(), MINE)
    model = AutoClassifier(["boosting", ("mine", whole)], cv=3, fallback=None).fit(X, y)
    assert np.isfinite(model.predict_proba(X)).all()
    assert not AutoClassifier([("mine", MINE)]).__sklearn_tags__().input_tags.allow_nan
    complete = AutoClassifier([("mine", MINE)], cv=3, fallback=None).fit(np.nan_to_num(X), y)
    with refused("member-failed", DataError, member="mine", missing=1, step="prediction"):
        complete.predict_proba(X)


class Broken(Notes):
    """Gives whatever it is told to."""

    def __init__(self, gives=1.5):
        self.gives = gives

    def fit(self, X, y):
        self.classes_ = np.unique(y)
        return self

    def predict_proba(self, X):
        return np.full((len(X), 2), self.gives)


@pytest.mark.parametrize("gives", [1.5, np.nan, -0.1])
def test_what_is_no_probability_is_refused(gives):
    X, y = table(120)
    with refused("member-not-probability", DataError, member="mine"):
        AutoClassifier([("mine", Broken(gives))], cv=3).fit(X, y)


def test_the_model_file_holds_it(fitted, tmp_path):
    pytest.importorskip("skops")
    X, y = table()
    save(fitted, tmp_path / "own.scarce")
    loaded = load(tmp_path / "own.scarce")
    np.testing.assert_array_equal(loaded.predict_proba(X), fitted.predict_proba(X))
    assert loaded.members[1][1].C == 2.0
    refit = loaded.fit(X, y)
    np.testing.assert_array_equal(refit.predict_proba(X), fitted.predict_proba(X))


@pytest.mark.parametrize(
    ("name", "value"),
    [("positive_", 2), ("columns_", np.array([0, 9, 1])), ("fixed_", np.zeros((3, 1)))],
)
def test_a_file_whose_parts_do_not_fit_is_refused(fitted, name, value):
    model = fitted.members_["mine"][0]
    before = getattr(model, name)
    setattr(model, name, value)
    with refused("inconsistent-model", DataError):
        model._check_loaded()
    setattr(model, name, before)


@pytest.mark.parametrize(
    ("members", "code"),
    [
        ([("logit", MINE)], "member-name"),
        ([("auto", MINE)], "member-name"),
        ([("a", MINE), ("a", MINE)], "member-name"),
        ([MINE], "invalid-member"),
        ([("", MINE)], "invalid-member"),
        ([("a", LinearRegression())], "invalid-member"),
        ([("a", LogisticRegression)], "invalid-member"),
        ([("a", "logit")], "invalid-member"),
        ({"a": MINE}, "invalid-parameter"),
        ([], "invalid-parameter"),
        ("logit", "unknown-word"),
    ],
)
def test_members_that_cannot_work_are_refused(members, code):
    with refused(code, UsageError):
        AutoClassifier(members).fit(*table(60))
