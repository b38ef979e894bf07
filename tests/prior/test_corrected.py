"""PriorCorrected: base rates of training found, class weights undone, one labelled class."""

import numpy as np
import pandas as pd
import pytest
from scipy.sparse import csr_array
from scipy.special import expit, logit, softmax
from sklearn.base import BaseEstimator, clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.ensemble import (
    AdaBoostClassifier,
    ExtraTreesClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
)
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC
from sklearn.utils import get_tags
from sklearn.utils.estimator_checks import parametrize_with_checks

import scarce
from scarce import (
    DataError,
    GaussianBayes,
    StoreError,
    UsageError,
    correct_prior,
    open_rows,
    save,
)
from scarce.errors import Argument
from scarce.prior import PriorCorrected
from scarce.prior.one_class import _equal_rows
from tests.problems import refused
from tests.properties.store_properties import check_round_trip


def logistic_world(n, rng, intercept=-3.0):
    X = rng.normal(size=(n, 2))
    truth = expit(intercept + X @ [1.0, -0.7])
    return X, (rng.random(n) < truth).astype(int), truth


@parametrize_with_checks(
    [
        PriorCorrected(GaussianBayes(), prior=None),
        # A draw of rows cannot know that weight 2 is a row twice, so here the draw takes them all.
        PriorCorrected(GaussianBayes(), undersample=1e6, random_state=0),
        PriorCorrected(LogisticRegression(class_weight="balanced")),
        PriorCorrected(make_pipeline(StandardScaler(), LogisticRegression())),
    ]
)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def test_a_new_prior_is_correct_prior_and_a_shifted_intercept(rng):
    X, y, _ = logistic_world(800, rng)
    plain = LogisticRegression().fit(X, y)
    model = PriorCorrected(LogisticRegression(), prior=0.3).fit(X, y)
    expected = correct_prior(plain.predict_proba(X), y.mean(), 0.3)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-12)
    np.testing.assert_allclose(model.now_at_, [0.7, 0.3])
    by_hand = plain.intercept_ + logit(0.3) - logit(y.mean())  # King and Zeng, eq 7
    np.testing.assert_allclose(model.intercept_, by_hand, rtol=1e-12)
    np.testing.assert_array_equal(model.coef_, plain.coef_)
    scores = X @ model.coef_[0] + model.intercept_[0]
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], expit(scores), rtol=1e-10)
    for prior in ({1: 0.3}, {0: 0.7, 1: 0.3}, {0: 0.7}):
        same = PriorCorrected(LogisticRegression(), prior=prior).fit(X, y)
        np.testing.assert_allclose(same.predict_proba(X), expected, rtol=1e-12)
    assert set(model.predict(X)) == {0, 1}
    np.testing.assert_allclose(np.exp(model.predict_log_proba(X)), expected, rtol=1e-12)


def test_several_classes_shift_each_intercept(rng):
    X = rng.normal(size=(600, 2))
    y = rng.choice(["a", "b", "c"], 600, p=[0.7, 0.2, 0.1])
    X[y == "b"] += 1
    now = {"a": 0.2, "b": 0.3, "c": 0.5}
    model = PriorCorrected(LogisticRegression(), prior=now).fit(X, y)
    shares = [np.mean(y == label) for label in "abc"]
    inner = model.estimator_.predict_proba(X)
    expected = inner * [0.2 / shares[0], 0.3 / shares[1], 0.5 / shares[2]]
    expected /= expected.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(model.predict_proba(X), expected, rtol=1e-10)
    scores = X @ model.coef_.T + model.intercept_
    np.testing.assert_allclose(model.predict_proba(X), softmax(scores, axis=1), rtol=1e-9)
    with refused("base-rate-shape", UsageError, n_classes=3, argument=Argument("prior", 0.1)):
        PriorCorrected(LogisticRegression(), prior=0.1).fit(X, y)


SATURATED = {"C": np.inf, "tol": 1e-12, "max_iter": 1000}


@pytest.mark.parametrize(
    "setting", ["balanced", {0: 1.0, 1: 17.0}, {1: 0.2}], ids=["balanced", "dict", "one"]
)
@pytest.mark.parametrize("weighted_rows", [False, True])
def test_oracle_weights_plus_correction_is_the_plain_fit_of_a_saturated_model(
    rng, setting, weighted_rows
):
    """One coefficient per group: class weights multiply each group's odds exactly."""
    group = rng.integers(0, 4, 3000)
    X = np.eye(4)[group][:, 1:]
    y = (rng.random(3000) < np.array([0.02, 0.05, 0.1, 0.3])[group]).astype(int)
    weight = rng.integers(1, 4, 3000).astype(float) if weighted_rows else np.ones(3000)
    observed = [np.average(y[group == g], weights=weight[group == g]) for g in range(4)]
    inner = LogisticRegression(class_weight=setting, **SATURATED)
    model = PriorCorrected(inner).fit(X, y, sample_weight=weight if weighted_rows else None)
    corners = np.eye(4)[:, 1:]
    np.testing.assert_allclose(model.predict_proba(corners)[:, 1], observed, rtol=1e-5)
    away = np.abs(model.estimator_.predict_proba(corners)[:, 1] / observed - 1)
    assert away.max() > 0.3  # the witness would see a correction that does nothing


def test_oracle_under_sampling_recovers_the_full_data_fit_in_expectation():
    """60 worlds with known truth: the mean coefficients agree with truth and with the full fit."""
    rng = np.random.default_rng(5)
    full, corrected, uncorrected = [], [], []
    for seed in range(60):
        X, y, _ = logistic_world(4000, rng)
        full.append(np.append(*_coefs(LogisticRegression(C=1e6).fit(X, y))))
        model = PriorCorrected(LogisticRegression(C=1e6), undersample=2.0, random_state=seed)
        corrected.append(np.append(*_coefs(model.fit(X, y))))
        uncorrected.append(np.append(*_coefs(model.estimator_)))
        assert model.n_rows_used_ == 3 * y.sum()
    truth = [1.0, -0.7, -3.0]
    error = np.std(corrected, axis=0) / np.sqrt(60)
    apart = np.mean(corrected, axis=0) - np.mean(full, axis=0)
    assert (np.abs(apart) < 3 * error).all()
    assert (np.abs(np.mean(corrected, axis=0) - truth) < 3 * error + 0.03).all()
    assert np.mean(uncorrected, axis=0)[2] > -1.5


def _coefs(model):
    return model.coef_[0], model.intercept_


def test_under_sampling_keeps_the_rare_rows_and_is_seeded(rng):
    X, y, _ = logistic_world(1000, rng)
    rare = int(y.sum())
    model = PriorCorrected(LogisticRegression(), undersample=1.0, random_state=3).fit(X, y)
    assert model.n_rows_used_ == 2 * rare
    np.testing.assert_allclose(model.trained_at_, [0.5, 0.5])
    np.testing.assert_allclose(model.now_at_, [1 - y.mean(), y.mean()])
    again = PriorCorrected(LogisticRegression(), undersample=1.0, random_state=3).fit(X, y)
    np.testing.assert_array_equal(again.intercept_, model.intercept_)
    other = PriorCorrected(LogisticRegression(), undersample=1.0, random_state=4).fit(X, y)
    assert other.intercept_ != model.intercept_
    every = PriorCorrected(LogisticRegression(), undersample=1e9).fit(X, y)
    np.testing.assert_array_equal(every.coef_, LogisticRegression().fit(X, y).coef_)


def test_under_sampling_takes_the_weights_of_its_rows_along(rng):
    X, y, _ = logistic_world(600, rng)
    weight = rng.integers(1, 9, 600).astype(float)
    every = PriorCorrected(LogisticRegression(), undersample=1e9).fit(X, y, weight)
    np.testing.assert_array_equal(every.coef_, LogisticRegression().fit(X, y, weight).coef_)
    part = PriorCorrected(LogisticRegression(), undersample=1.0, random_state=0).fit(X, y, weight)
    assert part.now_at_[1] == pytest.approx(np.average(y, weights=weight))
    assert part.trained_at_[1] != pytest.approx(0.5, abs=1e-3)  # of the weights, not of the rows


def test_kept_rates_undo_under_sampling_done_before(rng):
    X, y, truth = logistic_world(60_000, rng)
    kept = (y == 1) | (rng.random(60_000) < 0.05)
    model = PriorCorrected(LogisticRegression(), kept={0: 0.05}).fit(X[kept], y[kept])
    assert model.now_at_[1] == pytest.approx(y.mean(), rel=0.05)
    prob = model.predict_proba(X)[:, 1]
    assert np.abs(prob - truth).mean() < 0.005
    assert np.abs(model.estimator_.predict_proba(X)[:, 1] - truth).mean() > 0.2


def test_row_weights_describe_the_world(rng):
    X, y, _ = logistic_world(500, rng, intercept=-1.0)
    weight = np.arange(500) % 3
    weighted = PriorCorrected(LogisticRegression(tol=1e-10), prior=0.2).fit(X, y, weight)
    repeated = PriorCorrected(LogisticRegression(tol=1e-10), prior=0.2).fit(
        np.repeat(X, weight, axis=0), np.repeat(y, weight)
    )
    np.testing.assert_allclose(weighted.trained_at_, repeated.trained_at_)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5)


def test_pipelines_searches_and_tables(rng):
    X, y, _ = logistic_world(700, rng)
    table = pd.DataFrame(X, columns=["a", "b"])
    loud = LogisticRegression(class_weight="balanced")
    pipe = make_pipeline(StandardScaler(), loud)
    model = PriorCorrected(pipe).fit(table, y, sample_weight=np.ones(700))
    np.testing.assert_allclose(model.trained_at_, [0.5, 0.5])
    assert model.feature_names_in_.tolist() == ["a", "b"]
    assert not hasattr(model, "intercept_")
    search = GridSearchCV(LogisticRegression(), {"class_weight": ["balanced"], "C": [0.1, 1]}, cv=2)
    found = PriorCorrected(search).fit(X, y)
    np.testing.assert_allclose(found.trained_at_, [0.5, 0.5])
    assert abs(found.predict_proba(X)[:, 1].mean() - y.mean()) < 0.02
    twice = PriorCorrected(PriorCorrected(loud), prior=0.3).fit(X, y)
    once = PriorCorrected(loud, prior=0.3).fit(X, y)
    np.testing.assert_allclose(twice.predict_proba(X), once.predict_proba(X), rtol=1e-9)
    cut = PriorCorrected(LogisticRegression(), undersample=2.0, random_state=0).fit(table, y)
    assert cut.n_rows_used_ == 3 * y.sum()


class ScaledForest(RandomForestClassifier):
    """Stands in for a boosting library: it has scale_pos_weight."""

    def __init__(self, scale_pos_weight=1.0, is_unbalance=False, class_weights=None):
        super().__init__(n_estimators=5, random_state=0)
        self.scale_pos_weight = scale_pos_weight
        self.is_unbalance = is_unbalance
        self.class_weights = class_weights


@pytest.mark.parametrize(
    ("settings", "odds"),
    [
        ({"scale_pos_weight": 5.0}, lambda share: 5 * share / (1 - share)),
        ({"is_unbalance": True}, lambda share: 1.0),
        ({"class_weights": [1.0, 3.0]}, lambda share: 3 * share / (1 - share)),
    ],
)
def test_weights_under_the_boosting_libraries_names(rng, settings, odds):
    X, y, _ = logistic_world(300, rng)
    model = PriorCorrected(ScaledForest(**settings)).fit(X, y)
    assert model.trained_at_[1] / model.trained_at_[0] == pytest.approx(odds(y.mean()))


def test_unlabelled_rows_and_missing_values_reach_an_inner_model_that_takes_them(rng):
    X, y, _ = logistic_world(400, rng)
    X[::7, 0] = np.nan
    labels = np.where(np.arange(400) % 4 == 0, np.nan, y)
    model = PriorCorrected(GaussianBayes(), prior=0.5).fit(X, labels)
    known = labels[~np.isnan(labels)]
    np.testing.assert_allclose(model.trained_at_[1], known.mean())
    assert np.isfinite(model.predict_proba(X)).all()
    assert get_tags(model).input_tags.allow_nan
    assert not get_tags(PriorCorrected(LogisticRegression())).input_tags.allow_nan
    rows = open_rows(X, label=labels)
    from_rows = PriorCorrected(GaussianBayes(), prior=0.5).fit(rows)
    np.testing.assert_array_equal(from_rows.predict_proba(rows), model.predict_proba(X))
    nullable = pd.Series(y, dtype="Int64").mask(np.isnan(labels))
    again = PriorCorrected(GaussianBayes(), prior=0.5).fit(X, nullable)
    np.testing.assert_allclose(again.trained_at_, model.trained_at_)


@pytest.mark.parametrize(
    ("settings", "code", "fields"),
    [
        ({"prior": 0.1, "kept": {0: 0.1}}, "argument-conflict", {"one": "prior", "other": "kept"}),
        ({"kept": {0: 1.5}}, "kept-range", {"kept": Argument("kept", {0: 1.5})}),
        ({"kept": {"no": 0.5}}, "unknown-class", {"label": "no", "classes": [0, 1]}),
        ({"prior": 1.5}, "invalid-parameter", {"argument": "prior", "value": 1.5}),
        ({"prior": {1: 1.5}}, "base-rate-range", {"argument": "prior"}),
        ({"prior": "entropie"}, "invalid-parameter", {"argument": "prior", "value": "entropie"}),
        ({"prior": [0.3]}, "invalid-parameter", {"argument": "prior"}),
        ({"undersample": -1}, "invalid-parameter", {"argument": "undersample", "value": -1}),
        ({"weighted": "balanced"}, "invalid-parameter", {"argument": "weighted"}),
        ({"weighted": {2: 3.0}}, "unknown-class", {"label": 2}),
        (
            {"estimator": LogisticRegression(class_weight="balanced"), "weighted": {1: 3.0}},
            "argument-conflict",
            {"setting": Argument("class_weight", "balanced")},
        ),
        (
            {"estimator": AdaBoostClassifier(LogisticRegression(class_weight="balanced"))},
            "unclear-class-weights",
            {"settings": "estimator__class_weight='balanced'"},
        ),
        ({"estimator": LinearSVC()}, "no-probabilities", {"estimator": "LinearSVC"}),
    ],
)
def test_contradictions_are_refused(rng, settings, code, fields):
    X, y, _ = logistic_world(200, rng)
    with refused(code, UsageError, **fields):
        PriorCorrected(**{"estimator": LogisticRegression(), **settings}).fit(X, y)


def test_more_that_cannot_work_is_refused(rng):
    X, y, _ = logistic_world(200, rng)
    with refused("no-sample-weight", UsageError, estimator="KNeighborsClassifier"):
        PriorCorrected(KNeighborsClassifier()).fit(X, y, sample_weight=np.ones(200))
    with refused("needs-arrays", UsageError, undersample=Argument("undersample", 1.0)):
        PriorCorrected(GaussianBayes(), undersample=1.0).fit(open_rows(X, label=y))
    with refused("one-class", DataError, classes="0"):
        PriorCorrected(KNeighborsClassifier()).fit(X, np.zeros(200, dtype=int))


def test_weights_that_no_parameter_shows_can_be_told(rng):
    X, y, _ = logistic_world(300, rng)
    told = PriorCorrected(GaussianBayes(), weighted={1: 4.0}).fit(X, y)
    assert told.trained_at_[1] / told.trained_at_[0] == pytest.approx(4 * y.mean() / (1 - y.mean()))
    calibrated = CalibratedClassifierCV(LogisticRegression(class_weight="balanced"), cv=2)
    left = PriorCorrected(calibrated, weighted=None).fit(X, y)
    np.testing.assert_allclose(left.trained_at_, left.now_at_)


def test_model_file(rng, tmp_path):
    X, y, _ = logistic_world(300, rng)
    X[::9, 1] = np.nan
    check_round_trip(PriorCorrected(GaussianBayes(), prior={1: 0.1}).fit(X, y), X)
    model = PriorCorrected(GaussianBayes(), kept={0: 0.5}).fit(X, y)
    check_round_trip(model, X)
    complete = np.nan_to_num(X)
    check_round_trip(PriorCorrected(LogisticRegression()).fit(complete, y), complete)
    model.trained_at_ = np.array([0.5, 0.6])
    with pytest.raises(StoreError, match="trained_at_"):
        save(model, tmp_path / "bad.scarce")


# --- one labelled class, and prior="entropy" ------------------------------------------------------


class Shares(BaseEstimator):
    """Stands in for a density model: says the class shares it was told, and notes what it saw."""

    def __init__(self, shares=(0.9, 0.1), classes=(0, 1), default_prevalence=0.5):
        self.shares = shares
        self.classes = classes
        self.default_prevalence = default_prevalence

    def fit(self, X, y, sample_weight=None):
        self.seen_ = (len(X), [str(v) for v in y], sample_weight)
        self.classes_ = np.array(self.classes)
        self.class_prior_ = np.array(self.shares, dtype=float)
        return self


def presences(n, rng, intercept=-3.5, rate=0.5):
    """A world of which some events are labelled, and nothing else."""
    X, y, truth = logistic_world(n, rng, intercept)
    return X, np.where((y == 1) & (rng.random(n) < rate), 1.0, np.nan), truth


def test_one_labelled_class_is_elkan_s_formula_around_an_equal_weight_fit(rng):
    X, y, _ = presences(900, rng)
    X[::5, 1] = np.nan
    boosted = HistGradientBoostingClassifier(max_iter=3, max_leaf_nodes=5, random_state=0)
    model = PriorCorrected(boosted, prior="entropy", density=Shares((0.93, 0.07))).fit(X, y)
    labelled = ~np.isnan(y)
    m, u = labelled.sum(), (~labelled).sum()
    weight = np.where(labelled, 900 / (2 * m), 900 / (2 * u))
    inner = clone(boosted).fit(X, labelled, sample_weight=weight).predict_proba(X)
    by_hand = 0.07 * inner[:, 1] / (0.07 * inner[:, 1] + 0.93 * inner[:, 0])  # 000 section 3
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], by_hand, rtol=1e-10)
    assert model.classes_.tolist() == [0.0, 1.0]
    np.testing.assert_allclose(model.trained_at_, [0.5, 0.5])
    np.testing.assert_allclose(model.now_at_, [0.93, 0.07])
    assert model.density_.seen_ == (900, [str(v) for v in y], None)
    assert model.n_rows_used_ == 900
    assert set(model.predict(X)) <= {0.0, 1.0}
    expected = PriorCorrected(boosted, prior=0.07).fit(X, y).predict_proba(X)
    for prior in (0.07, {1: 0.07}, {0: 0.93}):
        known = PriorCorrected(boosted, prior=prior).fit(X, y)
        np.testing.assert_allclose(known.predict_proba(X), expected, rtol=1e-9)
        assert not hasattr(known, "density_")
    plain = PriorCorrected(boosted, prior="entropy", density=Shares())  # fitted anew, forgets
    plain.fit(X, y).set_params(prior=None, density=None).fit(X, labelled)
    assert not hasattr(plain, "density_")
    assert not hasattr(plain, "one_labelled_")


def test_oracle_with_the_true_share_the_probabilities_are_near_the_truth():
    rng = np.random.default_rng(8)
    X, y, truth = presences(60_000, rng)
    density = Shares((1 - truth.mean(), truth.mean()))
    model = PriorCorrected(LogisticRegression(C=1e6), prior="entropy", density=density).fit(X, y)
    prob = model.predict_proba(X)[:, 1]
    # Unlabelled rows hold events too, which blurs the contrast where events are frequent.
    assert np.abs(prob - truth).mean() < 0.006
    rare = truth < 0.05
    assert np.abs(prob[rare] / truth[rare] - 1).mean() < 0.15
    assert np.abs(model.estimator_.predict_proba(X)[:, 1] - truth).mean() > 0.2
    shift = model.intercept_ - model.estimator_.intercept_
    np.testing.assert_allclose(shift, logit(truth.mean()), rtol=1e-12)


@pytest.mark.parametrize("rate", [0.2, 0.9])
def test_oracle_one_labelled_class_with_a_known_share_has_no_cap(rate):
    """Sure events come near 1, and probabilities average to the share and follow the truth."""
    rng = np.random.default_rng(5)
    X, y, truth = presences(20_000, rng, intercept=-1.5, rate=rate)
    X, truth = 1.8 * X, truth
    share = truth.mean()
    model = PriorCorrected(LogisticRegression(C=1e6), prior=share).fit(X, y)
    prob = model.predict_proba(X)[:, 1]
    assert prob.mean() == pytest.approx(share, rel=0.01)
    sure = truth > 0.95
    assert prob[sure].mean() > 0.88
    assert np.abs(prob - truth).mean() < 0.03
    np.testing.assert_allclose(expit(X @ model.coef_[0] + model.intercept_), prob, atol=1e-3)
    flexible = HistGradientBoostingClassifier(max_iter=60, random_state=0)
    boosted = PriorCorrected(flexible, prior=share).fit(X[:6000], y[:6000])
    fresh = boosted.predict_proba(X[6000:])[:, 1]
    assert boosted.predict_proba(X[:6000])[:, 1].mean() == pytest.approx(share, rel=1e-6)
    assert fresh.mean() == pytest.approx(share, rel=0.08)
    before = PriorCorrected(flexible, prior="entropy", density=Shares((1 - share, share)))
    before.fit(X[:6000], y[:6000])

    def loss(prob):
        return -np.mean(truth[6000:] * np.log(prob) + (1 - truth[6000:]) * np.log1p(-prob))

    assert loss(fresh) < 0.995 * loss(before.predict_proba(X[6000:])[:, 1])


@pytest.mark.parametrize("bootstrap", [False, True])
def test_new_rows_average_to_the_share_where_the_model_knows_its_own_by_heart(bootstrap):
    rng = np.random.default_rng(8)
    event = rng.random(4000) < 0.15
    X = rng.normal(size=(4000, 4)) + 1.0 * np.outer(event, [1, 1, 0, 0])
    y = np.where(event & (rng.random(4000) < 0.4), 1.0, np.nan)[:1000]
    forest = ExtraTreesClassifier(30, bootstrap=bootstrap, random_state=0)
    weight = rng.uniform(0.5, 2.0, size=1000)
    for given in (None, weight):
        model = PriorCorrected(forest, prior=0.15).fit(X[:1000], y, sample_weight=given)
        assert model.predict_proba(X[1000:])[:, 1].mean() == pytest.approx(0.15, rel=0.2)


def test_the_share_may_be_below_the_labelled_part_and_labels_may_be_few():
    rng = np.random.default_rng(6)
    X, y, _ = presences(2000, rng)
    presence = np.vstack([X, 1.0 + rng.normal(size=(800, X.shape[1]))])
    marked = np.r_[np.full(2000, np.nan), np.ones(800)]  # labelled rows of their own
    model = PriorCorrected(LogisticRegression(), prior=0.05).fit(presence, marked)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(0.05, rel=0.02)
    for few in (1, 2, 4):
        some = y.copy()
        some[np.flatnonzero(y == 1)[few:]] = np.nan
        prob = PriorCorrected(LogisticRegression(), prior=0.1).fit(X, some).predict_proba(X)[:, 1]
        assert prob.mean() == pytest.approx(0.1, rel=1e-6)
    doubled = PriorCorrected(LogisticRegression(C=1e6), prior=0.1)
    once = doubled.fit(X, y).predict_proba(X)
    twice = clone(doubled).fit(np.tile(X, (2, 1)), np.tile(y, 2)).predict_proba(X)
    np.testing.assert_allclose(once, twice, atol=2e-3)


@pytest.mark.parametrize(
    ("labels", "classes"),
    [
        (lambda hit: np.where(hit, 1.0, np.nan), [0.0, 1.0]),
        (lambda hit: np.where(hit, -3.0, np.nan), [-4.0, -3.0]),
        (lambda hit: np.where(hit, 0.0, np.nan), [-1.0, 0.0]),
        (lambda hit: np.where(hit, "ant", None), ["(not ant)", "ant"]),
        (lambda hit: np.where(hit, True, None), [False, True]),
        (lambda hit: np.where(hit, 2, pd.NA), [0, 2]),
        (lambda hit: pd.Series(np.where(hit, 1, 0), dtype="Int64").mask(~hit), [0, 1]),
        (lambda hit: pd.Series(np.where(hit, "ant", None)), ["(not ant)", "ant"]),
    ],
    ids=["1", "-3", "0", "text", "true", "NA", "Int64", "Series"],
)
def test_the_labelled_class_comes_last_however_it_is_spelt(rng, labels, classes):
    X, y, _ = presences(300, rng)
    hit = ~np.isnan(y)
    expected = (
        PriorCorrected(GaussianBayes("diag", calibrate=False), prior=0.2).fit(X, y).predict_proba(X)
    )
    model = PriorCorrected(GaussianBayes("diag", calibrate=False), prior=0.2).fit(X, labels(hit))
    assert model.classes_.tolist() == classes
    np.testing.assert_array_equal(model.predict_proba(X), expected)
    assert expected[hit, 1].mean() > expected[~hit, 1].mean()
    density = Shares((0.8, 0.2), classes)
    by_density = PriorCorrected(
        GaussianBayes("diag", calibrate=False), prior="entropy", density=density
    )
    assert by_density.fit(X, labels(hit)).predict_proba(X).shape == expected.shape
    assert (
        model.predict(X)[expected[:, 1] > 0.5].tolist()
        == [classes[1]] * (expected[:, 1] > 0.5).sum()
    )


@pytest.mark.parametrize("labelled", [False, True])
def test_one_row_of_a_kind_leaves_no_row_out_and_the_slope_is_1(rng, labelled):
    X = rng.normal(size=(60, 2))
    y = np.where(np.arange(60) == 7, 1.0, np.nan)
    y = y if labelled else np.where(np.isnan(y), 1.0, np.nan)
    model = PriorCorrected(LogisticRegression(), prior=0.5).fit(X, y)
    assert model.score_slope_ == 1
    prob = model.predict_proba(X)[:, 1]
    assert prob.mean() == pytest.approx(0.5, rel=1e-6) or not labelled
    assert prob[7] == pytest.approx(0.5, abs=1e-6) or labelled  # it alone is the population
    X, y, _ = presences(400, rng)
    PriorCorrected(LogisticRegression(), prior=0.2, undersample=0.01, random_state=0).fit(X, y)


def test_rows_of_weight_0_and_the_scale_of_weights_change_nothing(rng):
    X, y, _ = presences(400, rng, intercept=-1.0)
    weight = (np.arange(400) % 3).astype(float)
    model = PriorCorrected(LogisticRegression(tol=1e-10), prior=0.3)
    slope = model.fit(X, y, weight).score_slope_
    kept = weight > 0
    dropped = clone(model).fit(X[kept], y[kept], weight[kept]).score_slope_
    assert dropped == pytest.approx(slope, rel=1e-4)
    big, huge = (clone(model).fit(X, y, np.full(400, one)).score_slope_ for one in (1e9, 1e300))
    assert huge == pytest.approx(big, rel=1e-4)


def test_folds_of_text_and_of_sparse_rows_follow_the_rows_alone(rng):
    """Hashes of text differ between processes."""
    words = np.array([list("ab"), list("ca"), list("aa"), list("ca"), list("bz"), list("by")])
    same = _equal_rows(words.astype(object), 6)
    assert same.tolist() == [1, 4, 0, 4, 3, 2]
    frame = pd.DataFrame({"a": words[:, 0], "b": words[:, 1]})
    assert _equal_rows(frame, 6).tolist() == same.tolist()
    assert _equal_rows(words[:, 0].tolist(), 6).tolist() == [0, 2, 0, 2, 1, 1]
    X, y, _ = presences(400, rng, intercept=-1.0)
    X = np.where(X > 0, X, 0)
    back = rng.permutation(400)
    model = PriorCorrected(LogisticRegression(tol=1e-10), prior=0.3)
    slope = model.fit(csr_array(X), y).score_slope_
    turned = clone(model).fit(csr_array(X[back]), y[back]).score_slope_
    assert turned == pytest.approx(slope, rel=1e-4)


def test_a_missing_date_is_no_class(rng):
    X, y, _ = presences(200, rng)
    dates = np.where(np.isnan(y), np.datetime64("NaT"), np.datetime64("2020-01-01"))
    model = PriorCorrected(LogisticRegression(), prior=0.2).fit(X, dates)
    assert model.one_labelled_


def test_row_weights_and_under_sampling_with_one_labelled_class(rng):
    X, y, _ = presences(500, rng, intercept=-1.0)
    weight = (np.arange(500) % 3).astype(float)
    inner = LogisticRegression(tol=1e-10)
    weighted = PriorCorrected(inner, prior="entropy", density=Shares()).fit(X, y, weight)
    times = weight.astype(int)
    many, of_many = np.repeat(X, times, axis=0), np.repeat(y, times)
    repeated = PriorCorrected(inner, prior="entropy", density=Shares()).fit(many, of_many)
    np.testing.assert_allclose(weighted.predict_proba(X), repeated.predict_proba(X), rtol=1e-5)
    known = PriorCorrected(inner, prior=0.3)
    by_weight = known.fit(X[weight > 0], y[weight > 0], weight[weight > 0]).predict_proba(X)
    by_count = (
        clone(known).fit(many, of_many).predict_proba(X)
    )  # equal rows share a fold; a prior worth < 1 row
    np.testing.assert_allclose(by_weight, by_count, atol=2e-3)
    back = rng.permutation(500)
    shuffled = clone(known).fit(X[back], y[back]).predict_proba(X)
    np.testing.assert_allclose(shuffled, clone(known).fit(X, y).predict_proba(X), rtol=1e-4)
    np.testing.assert_array_equal(weighted.density_.seen_[2], weight)
    m = int((~np.isnan(y)).sum())
    cut = PriorCorrected(inner, prior="entropy", density=Shares(), undersample=2, random_state=0)
    cut.fit(X, y)
    assert cut.n_rows_used_ == 3 * m
    assert cut.density_.seen_[0] == 500  # the density still sees all rows
    np.testing.assert_allclose(cut.trained_at_, [0.5, 0.5])
    # A pipeline takes the weights in every step that can.
    pipe = PriorCorrected(make_pipeline(StandardScaler(), inner), prior=0.1).fit(X, y)
    np.testing.assert_allclose(pipe.now_at_, [0.9, 0.1])


@pytest.mark.parametrize("kind", [float, object])
def test_all_classes_labelled_at_unknown_rates(rng, kind):
    X = rng.normal(size=(600, 2))
    truth = rng.choice(3, 600, p=[0.7, 0.2, 0.1])
    X[truth == 1] += 1
    hidden = rng.random(600) < 0.6
    y = np.where(hidden, np.nan, truth) if kind is float else np.where(hidden, None, truth)
    density = Shares((0.1, 0.6, 0.3), (2, 0, 1))  # in an order of its own
    inner = LogisticRegression(class_weight={2: 3.0})
    model = PriorCorrected(inner, prior="entropy", density=density).fit(X, y)
    plain = clone(inner).fit(X[~hidden], truth[~hidden])
    np.testing.assert_array_equal(model.estimator_.coef_, plain.coef_)
    counts = np.bincount(truth[~hidden]) * [1, 1, 3]
    np.testing.assert_allclose(model.trained_at_, counts / counts.sum())
    np.testing.assert_allclose(model.now_at_, [0.6, 0.3, 0.1])
    expected = correct_prior(plain.predict_proba(X), model.trained_at_, [0.6, 0.3, 0.1])
    np.testing.assert_allclose(model.predict_proba(X), expected)
    assert model.density_.seen_[0] == 600
    assert model.n_rows_used_ == (~hidden).sum()
    weight = rng.random(600)
    heavy = PriorCorrected(inner, prior="entropy", density=density).fit(X, y, weight)
    again = clone(inner).fit(X[~hidden], truth[~hidden], weight[~hidden])
    np.testing.assert_array_equal(heavy.estimator_.coef_, again.coef_)


def test_rows_in_blocks_with_several_labelled_classes(rng):
    X, y, _ = logistic_world(300, rng)
    labels = np.where(np.arange(300) % 3 == 0, np.nan, y)
    plain = GaussianBayes("diag", calibrate=False)  # no iteration that magnifies rounding
    model = PriorCorrected(plain, prior="entropy", density=clone(plain))
    rows = open_rows(X, label=labels)
    from_rows = model.fit(rows).predict_proba(rows)
    # Arrays leave the unlabelled rows out before the fit, rows within it: other sums, rounded.
    np.testing.assert_allclose(model.fit(X, labels).predict_proba(X), from_rows, rtol=1e-12)
    alone = open_rows(X, label=np.where(y == 1, 1.0, np.nan))
    with refused("needs-arrays", UsageError, label=1):
        model.fit(alone)


def test_a_density_that_is_fitted_is_used_as_it_is(rng):
    X, y, _ = presences(300, rng)
    fitted = Shares((0.6, 0.4)).fit(X[:10], y[:10])
    model = PriorCorrected(GaussianBayes(), prior="entropy", density=fitted).fit(X, y)
    assert model.density_ is fitted
    assert fitted.seen_[0] == 10
    unfitted = Shares()
    model = PriorCorrected(GaussianBayes(), prior="entropy", density=unfitted).fit(X, y)
    assert model.density_ is not unfitted
    assert not hasattr(unfitted, "class_prior_")


def test_maxent_finds_the_shares_unless_told_otherwise(rng, monkeypatch):
    monkeypatch.setattr(scarce, "MaxentClassifier", Shares, raising=False)
    X, y, _ = presences(300, rng)
    model = PriorCorrected(GaussianBayes(), prior="entropy", default_prevalence=0.3).fit(X, y)
    assert model.density_.default_prevalence == 0.3
    np.testing.assert_allclose(model.now_at_, [0.9, 0.1])


@pytest.mark.parametrize("default", [0.5, 0.2])
def test_oracle_entropy_shares_by_eq_5(rng, default):
    X, y, _ = presences(600, rng)
    model = PriorCorrected(GaussianBayes(), prior="entropy", default_prevalence=default).fit(X, y)
    maxent = scarce.MaxentClassifier(default_prevalence=default).fit(X, y)
    ratio = maxent.density_ratio(X)
    divergence = np.mean(ratio * np.log(ratio))
    expected = default * np.exp(-divergence) / (1 - default + default * np.exp(-divergence))
    assert divergence > 0.05
    np.testing.assert_allclose(model.now_at_[1], expected, rtol=1e-4)
    check_round_trip(model, X)


@pytest.mark.parametrize(
    ("settings", "code", "fields"),
    [
        ({"prior": None}, "one-labelled-class", {"label": 1.0}),
        ({"kept": {0: 0.5}}, "one-labelled-class", {}),
        ({"prior": 0.1, "density": Shares()}, "argument-conflict", {"one": "density"}),
        (
            {"prior": 0.1, "default_prevalence": 0.3},
            "argument-conflict",
            {"one": Argument("default_prevalence", 0.3), "other": Argument("prior", 0.1)},
        ),
        (
            {"prior": "entropy", "density": Shares(), "default_prevalence": 0.3},
            "argument-conflict",
            {"one": "default_prevalence", "other": "density", "estimator": "Shares"},
        ),
        ({"prior": "entropy", "kept": {0: 0.5}}, "argument-conflict", {"other": "kept"}),
        ({"prior": "entropy", "density": 0.3}, "density-type", {"density": "density"}),
        (
            {"prior": "entropy", "density": StandardScaler()},
            "density-type",
            {"density": "StandardScaler"},
        ),
        (
            {"prior": "entropy", "density": Shares((0.2, 0.3, 0.5), (0, 1, 2))},
            "class-mismatch",
            {"known": [0, 1, 2]},
        ),
        (
            {"prior": "entropy", "density": Shares(classes=(1, 2))},
            "class-mismatch",
            {"known": [1, 2]},
        ),
        (
            {"prior": "entropy", "density": Shares((1.0, 0.0))},
            "base-rate-range",
            {"argument": Argument("Shares.class_prior_", [1.0, 0.0])},
        ),
        (
            {"prior": 0.1, "estimator__class_weight": "balanced"},
            "argument-conflict",
            {"setting": "class_weight"},
        ),
        ({"prior": 0.1, "weighted": {1: 3.0}}, "argument-conflict", {"setting": "weighted"}),
        ({"prior": 0.1, "trained_at": 0.3}, "argument-conflict", {"one": "trained_at"}),
        ({"prior": 0.1, "estimator": KNeighborsClassifier()}, "no-sample-weight", {}),
    ],
)
def test_contradictions_with_one_labelled_class(rng, settings, code, fields):
    X, y, _ = presences(300, rng)
    with refused(code, UsageError, **fields):
        PriorCorrected(LogisticRegression()).set_params(**settings).fit(X, y)


def test_labels_that_cannot_work_with_one_labelled_class(rng):
    X, y, _ = presences(300, rng)
    model = PriorCorrected(LogisticRegression(), prior="entropy", density=Shares())
    with refused("no-labels", DataError, count=300):
        model.fit(X, np.full(300, np.nan))
    with refused("label-type", DataError):
        model.fit(X, np.where(np.isnan(y), np.nan, 0.5))
    with refused("one-class", DataError, count=300, label=1):
        model.fit(X, np.ones(300, dtype=int))
    with refused("no-weight", DataError, rows="unlabelled"):
        model.fit(X, y, sample_weight=(~np.isnan(y)).astype(float))
    with refused("no-weight", DataError, rows="labelled"):
        model.fit(X, y, sample_weight=np.isnan(y).astype(float))


def test_model_file_with_one_labelled_class(rng, tmp_path):
    X, y, _ = presences(300, rng)
    X[::9, 1] = np.nan
    for labels in (y, np.where(np.isnan(y), None, "fox")):
        model = PriorCorrected(GaussianBayes(), prior=0.2).fit(X, labels)
        check_round_trip(model, X)
    every = np.where(np.arange(300) % 2, np.nan, np.nan_to_num(y))
    by_density = PriorCorrected(GaussianBayes(), prior="entropy", density=GaussianBayes())
    loaded = check_round_trip(by_density.fit(X, every), X)
    np.testing.assert_array_equal(loaded.density_.class_prior_, loaded.now_at_)
    del model.one_labelled_
    with pytest.raises(StoreError, match="classes_"):
        save(model, tmp_path / "bad.scarce")
