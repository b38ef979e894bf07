"""Several classes: the formula, the honest comparison, rare classes, invariance, model files."""

from copy import deepcopy

import numpy as np
import pytest
from scipy.special import softmax
from sklearn.metrics import log_loss
from sklearn.naive_bayes import GaussianNB
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from scarce import AutoClassifier, DataError, StoreError, save
from scarce.auto.classes import judgeable
from scarce.auto.comparison import class_line
from scarce.auto.members import Sample
from tests.problems import codes, refused
from tests.properties.store_properties import check_round_trip

QUICK = ["logit", "boosting"]


def world(n=300, seed=0):
    """Three classes of which one is in the middle of the first column, which no line finds."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    score = np.column_stack([2 - 3 * X[:, 0] ** 2, 1.5 * X[:, 1], np.zeros(n)])
    prob = softmax(score, axis=1)
    return X, (rng.random((n, 1)) > prob.cumsum(axis=1)).sum(axis=1), prob


def parts(folds):
    numbers = np.unique(folds)
    return [(np.flatnonzero(folds != k), np.flatnonzero(folds == k)) for k in numbers]


@pytest.fixture(scope="module")
def fitted():
    X, y, _ = world()
    return AutoClassifier(["logit", "spline", "boosting"], cv=3).fit(X, y)


@parametrize_with_checks([AutoClassifier(["logit", ("svm", SVC())], cv=3, repeats=1)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_oracle_the_probability_is_the_stated_formula(fitted):
    X = world(60, seed=5)[0] * 2
    score = np.zeros((3, 60, 3)) + fitted.stack_intercept_
    for name, models in fitted.members_.items():
        e = fitted.floors_[name]
        for fold, model in enumerate(models):
            prob = np.empty((60, 3))
            prob[:, model.modelled_] = model.model_.predict_proba(X[:, fitted.columns_])
            score[fold] += fitted.weights_[name] * np.log((1 - e) * prob + e * fitted.prevalence_)
    prob = softmax(score, axis=2).mean(axis=0)
    assert fitted.chosen_ == "auto"
    np.testing.assert_allclose(fitted.predict_proba(X), prob, rtol=1e-9)
    np.testing.assert_allclose(fitted.decision_function(X), np.log(prob), rtol=1e-9, atol=1e-9)
    assert (fitted.predict(X) == prob.argmax(axis=1)).all()


def test_oracle_of_members_that_learn_each_class_against_the_rest():
    X, y, _ = world(150)
    model = AutoClassifier([("bayes", GaussianNB())], cv=3, fallback=None)
    for one in model.fit(X, y).members_["bayes"]:
        shares = [part.predict_proba(X)[:, 1] for part in one.models_]
        prob = np.array(shares).T / np.sum(shares, axis=0)[:, None]
        np.testing.assert_allclose(one.predict_proba(X), prob, rtol=1e-12, atol=1e-11)


def test_it_learns_and_says_what_new_rows_show(fitted):
    X, y, truth = world(4000, seed=1)
    loss = log_loss(y, fitted.predict_proba(X))
    lines = fitted.comparison_
    assert loss < 0.8 * lines["constant"]["log_loss"]
    assert loss < lines["logit"]["log_loss"]
    assert loss < log_loss(y, truth) + 0.12
    assert loss == pytest.approx(lines["auto"]["log_loss"], abs=0.07)  # 300 rows: error .03
    assert set(lines["auto"]) == {"log_loss", "log_loss_error", "brier", "brier_error"}
    assert "predicted/observed" not in fitted.summary()
    new = fitted.predict_proba(X).mean(axis=0)
    np.testing.assert_allclose(new, truth.mean(axis=0), atol=0.06)


def test_oracle_the_comparison_is_what_an_outsider_measures():
    """Leave each fold out by hand, fit everything on the others, and score the fold."""
    X, y, _ = world(200)
    folds = np.arange(200) % 4
    model = AutoClassifier(["logit", "spline"], cv=parts(folds), fallback=None).fit(X, y)
    score = np.empty((200, 3))
    for fold in range(4):
        out = folds == fold
        other = AutoClassifier(["logit", "spline"], cv=parts(folds[~out]), fallback=None)
        score[out] = other.fit(X[~out], y[~out]).decision_function(X[out])
    for name, value in class_line(y, score, np.ones(200), folds).items():
        assert model.comparison_["auto"][name] == pytest.approx(value, rel=1e-6)


def test_figures_by_hand():
    prob = np.array([[0.7, 0.2, 0.1], [0.3, 0.3, 0.4], [0.1, 0.8, 0.1], [0.2, 0.2, 0.6]])
    y, weight, folds = np.array([0, 2, 1, 0]), np.array([1.0, 2, 1, 1]), np.array([0, 0, 1, 1])
    line = class_line(y, np.log(prob), weight, folds)
    assert line["log_loss"] == pytest.approx(log_loss(y, prob, sample_weight=weight))
    brier = ((prob - np.eye(3)[y]) ** 2).sum(axis=1) / 2
    assert line["brier"] == pytest.approx(np.average(brier, weights=weight))


def test_row_order_weights_and_names_change_nothing():
    X, y, _ = world(150)
    settings = {"members": ["spline"], "cv": 3, "fallback": None}
    count = 1 + np.arange(150) % 2
    model = AutoClassifier(**settings).fit(X, y, count * 0.5)
    prob = model.predict_proba(X)
    order = np.random.default_rng(0).permutation(150)
    turned = AutoClassifier(**settings).fit(X[order], y[order], count[order] * 3.0)
    np.testing.assert_array_equal(turned.predict_proba(X), prob)
    twice = np.repeat(np.arange(150), count)
    repeated = AutoClassifier(**settings).fit(X[twice], y[twice])
    np.testing.assert_allclose(repeated.predict_proba(X), prob, atol=1e-6)
    words = np.array(["ant", "bee", "cat"])[y]
    named = AutoClassifier(**settings, engine="threads").fit(X, words, count)
    np.testing.assert_array_equal(named.predict_proba(X), prob)
    assert set(named.predict(X)) <= {"ant", "bee", "cat"}


@pytest.mark.parametrize("missing", [0.0, 0.2])
def test_the_names_of_classes_change_nothing_of_what_is_drawn_for_each(missing):
    X, y, _ = world(150)
    X[np.random.default_rng(1).random(X.shape) < missing] = np.nan
    settings = {"members": ["boosting", "forest", "kernel"], "cv": 3, "fallback": None}
    prob = AutoClassifier(**settings).fit(X, y).predict_proba(X)
    turned = np.array(["cat", "ant", "bee"])[y]  # sorted in another order
    named = AutoClassifier(**settings).fit(X, turned).predict_proba(X)
    np.testing.assert_allclose(named[:, [2, 0, 1]], prob, rtol=1e-9)


def test_rare_classes_keep_their_share_or_are_remarked_on():
    X, y, _ = world(300)
    y[[0, 1]] = 3  # in two folds: cannot be judged
    y[2:8] = 4
    model = AutoClassifier(["logit"], cv=4, fallback=None).fit(X, y)
    found = {one.fields["name"]: one.code for one in model.report_.warnings if "name" in one.fields}
    assert found["3"] == "class-not-modelled"
    assert found["4"] == "few-of-a-class"
    assert sorted(model.members_["logit"][0].modelled_.tolist()) == [0, 1, 2, 4]
    prob = model.predict_proba(X)
    assert (prob > 0).all()
    assert prob[:, 3].mean() == pytest.approx(2 / 300, rel=0.6)
    check_round_trip(model, X)


def test_few_rows_get_the_simple_models():
    X, y, _ = world(50)
    model = AutoClassifier().fit(X, y)
    assert model.chosen_ == "flic"
    assert codes(model.report_.warnings[:2]) == ["few-events", "predicts-flic"]
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1)
    check_round_trip(model, X)
    wide = AutoClassifier().fit(np.hstack([X] * 9 + [X**2]), y)
    assert wide.chosen_ == "constant"
    share = np.bincount(y) / 50
    np.testing.assert_allclose(wide.predict_proba(np.zeros((2, 30))), [share, share])
    check_round_trip(wide, np.zeros((2, 30)))


def test_noise_is_left_to_the_constant():
    chosen = []
    for seed in range(6):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 3)), rng.integers(0, 3, 200)
        chosen.append(AutoClassifier(["logit"]).fit(X, y).chosen_)
    assert chosen.count("constant") >= 5


def test_groups_stay_together_and_few_groups_are_noticed():
    X, y, _ = world(200)
    model = AutoClassifier(["logit"], cv=3).fit(X, y, groups=np.arange(200) // 5)
    assert model.comparison_
    few = AutoClassifier(["logit"], cv=3).fit(X, y, groups=np.arange(200) % 2)
    assert "few-groups" in codes(few.report_.warnings)


def test_which_classes_can_be_judged():
    folds = np.arange(12) % 3
    y = np.array([0, 0, 0, 1, 1, 1, 1, 1, 1, 2, 2, 1])
    sample = Sample(np.zeros((12, 1)), y * 1.0, None, folds, 0)
    assert judgeable(sample, 3).tolist() == [0, 1]


def test_progress_runs_through_all_classes():
    calls = []
    X, y, _ = world(120)
    AutoClassifier(QUICK, cv=3, progress=lambda *call: calls.append(call[:2])).fit(X, y)
    done, total = zip(*calls, strict=True)
    assert list(done) == sorted(set(done))
    assert set(total) == {done[-1]}


@pytest.fixture(scope="module")
def small():
    X, y, _ = world(120)
    return AutoClassifier(["logit"], cv=3, fallback=None).fit(X, y)


@pytest.mark.parametrize(
    ("name", "value", "wrong"),
    [
        ("stack_intercept_", np.zeros(2), "classes_"),
        ("stack_intercept_", np.array([0.0, np.nan, 0.0]), "weights_"),
        ("prevalence_", np.array([0.5, 0.5, 0.0]), "prevalence_"),
        ("classes_", np.arange(4), "classes_"),
        ("rarer_", 3, "rarer_"),
    ],
)
def test_a_file_whose_parts_do_not_fit_is_refused(small, tmp_path, name, value, wrong):
    model = deepcopy(small)
    model._check_loaded()
    setattr(model, name, value)
    with refused("inconsistent-model", DataError, name=wrong):
        model._check_loaded()
    with pytest.raises(StoreError):
        save(model, tmp_path / "auto.scarce")


def test_the_parts_of_a_class_model_are_checked(fitted):
    model = fitted.members_["logit"][0]
    before = model.modelled_
    model.modelled_ = np.array([0, 1, 5])
    with refused("inconsistent-model", DataError, name="modelled_"):
        model._check_loaded()
    model.modelled_ = before
