"""find_base_rates: for which base rates are the probabilities of any classifier?

The witness is simulation. In a world with known classes, probabilities for base rates r average to
r over a population with base rates r: the claimed r is held against the mean that comes out there.
"""

import warnings

import numpy as np
import pandas as pd
import polars as pl
import pytest
from sklearn.base import BaseEstimator
from sklearn.calibration import CalibratedClassifierCV
from sklearn.discriminant_analysis import (
    LinearDiscriminantAnalysis,
    QuadraticDiscriminantAnalysis,
)
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import (
    AdaBoostClassifier,
    BaggingClassifier,
    HistGradientBoostingClassifier,
    RandomForestClassifier,
    StackingClassifier,
    VotingClassifier,
)
from sklearn.feature_selection import RFE
from sklearn.frozen import FrozenEstimator
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV
from sklearn.model_selection import (
    FixedThresholdClassifier,
    GridSearchCV,
    RandomizedSearchCV,
    TunedThresholdClassifierCV,
)
from sklearn.multiclass import OneVsRestClassifier
from sklearn.naive_bayes import BernoulliNB, ComplementNB, GaussianNB, MultinomialNB
from sklearn.neighbors import KNeighborsClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.semi_supervised import SelfTrainingClassifier
from sklearn.svm import SVC, LinearSVC
from sklearn.tree import DecisionTreeClassifier

from scarce import (
    CostMatrix,
    CostSensitiveClassifier,
    DataError,
    GaussianBayes,
    MaxentClassifier,
    PriorCorrected,
    RareClassifier,
    UsageError,
    correct_prior,
    decide,
    find_base_rates,
    left_out_prob,
    load,
    open_rows,
    save,
    stable_prior,
)
from scarce.errors import Argument
from tests.problems import refused, warned

SHARE = 0.3
BALANCED = {"class_weight": "balanced"}
HALVES = [0.5, 0.5]


def world(n, seed=0):
    """Two overlapping clouds of 100 SHARE % events."""
    rng = np.random.default_rng(seed)
    y = np.repeat([0, 1], [round(n * (1 - SHARE)), round(n * SHARE)])
    X = rng.normal(size=(n, 2)) + 1.2 * y[:, None]
    order = rng.permutation(n)
    return X[order], y[order]


def mean_at(model, rates, X, y):
    """Return the mean probability of the last class over a population with these base rates."""
    prob = model.predict_proba(X)[:, -1]
    each = [prob[y == label].mean() for label in np.unique(y)]
    return float(np.dot(rates, each))


LR = LogisticRegression
SEARCH = GridSearchCV(LR(), {"class_weight": ["balanced"], "C": [1.0, 2.0]}, cv=2)
NB_HALVES = GaussianNB(priors=HALVES)
KINDS = {
    "plain": (LR(), SHARE),
    "balanced": (LR(**BALANCED), 0.5),
    "dict": (LR(class_weight={0: 1.0, 1: 0.25}), 0.075 / 0.775),
    "boosted": (HistGradientBoostingClassifier(**BALANCED, max_leaf_nodes=4), 0.5),
    "tree": (DecisionTreeClassifier(**BALANCED, max_depth=3), 0.5),
    "forest": (
        RandomForestClassifier(30, **BALANCED, min_samples_leaf=60, random_state=0),
        0.5,
    ),
    "neighbours": (KNeighborsClassifier(50), SHARE),
    "naive": (GaussianNB(), SHARE),
    "naive told": (NB_HALVES, 0.5),
    "lda told": (LinearDiscriminantAnalysis(priors=[0.9, 0.1]), 0.1),
    "qda told": (QuadraticDiscriminantAnalysis(priors=HALVES), 0.5),
    "lda": (LinearDiscriminantAnalysis(), SHARE),
    "dummy": (DummyClassifier(strategy="prior"), SHARE),
    "dummy even": (DummyClassifier(strategy="uniform"), 0.5),
    "pipeline": (make_pipeline(StandardScaler(), LR(**BALANCED)), 0.5),
    "pipeline told": (make_pipeline(StandardScaler(), NB_HALVES), 0.5),
    "search": (SEARCH, 0.5),
    "random search": (
        RandomizedSearchCV(GaussianNB(priors=HALVES), {"var_smoothing": [1e-9]}, n_iter=1, cv=2),
        0.5,
    ),
    "search of a pipeline": (
        GridSearchCV(
            make_pipeline(StandardScaler(), LR(**BALANCED)), {"logisticregression__C": [1.0]}, cv=2
        ),
        0.5,
    ),
    "calibrated": (CalibratedClassifierCV(LR(**BALANCED), cv=2), SHARE),
    "calibrated, told": (CalibratedClassifierCV(NB_HALVES, method="isotonic", cv=2), SHARE),
    "calibrated, moved": (
        CalibratedClassifierCV(PriorCorrected(LR(), prior=0.02), method="isotonic", cv=2),
        SHARE,
    ),
    "tuned": (TunedThresholdClassifierCV(LR(**BALANCED), cv=2), 0.5),
    "fixed": (FixedThresholdClassifier(NB_HALVES, threshold=0.1), 0.5),
    "fewer features": (RFE(LR(**BALANCED), n_features_to_select=2), 0.5),
    "voting": (VotingClassifier([("a", LR()), ("b", GaussianNB())], voting="soft"), SHARE),
    "voting, balanced": (
        VotingClassifier([("a", LR(**BALANCED)), ("b", NB_HALVES)], voting="soft"),
        0.5,
    ),
    "stack": (StackingClassifier([("a", LR(**BALANCED))], cv=2), SHARE),
    "stack, balanced": (
        StackingClassifier([("a", LR())], final_estimator=LR(**BALANCED), cv=2),
        0.5,
    ),
    "bagging": (BaggingClassifier(LR(**BALANCED), 5, random_state=0), 0.5),
    "bagging, plain": (BaggingClassifier(GaussianNB(), 5, random_state=0), SHARE),
    "bagging, told": (BaggingClassifier(NB_HALVES, 5, random_state=0), 0.5),
    "bagging, dict": (BaggingClassifier(LR(class_weight={1: 7 / 3}), 5, random_state=0), 0.5),
    "one versus rest": (OneVsRestClassifier(LR(**BALANCED)), 0.5),
    "rare": (RareClassifier("logistic", ridge=1.0), SHARE),
    "bayes": (GaussianBayes(), SHARE),
    "bayes told": (GaussianBayes(priors=[0.9, 0.1]), 0.1),
    "bayes told by name": (GaussianBayes(priors={1: 0.1, 0: 0.9}), 0.1),
    "maxent": (MaxentClassifier(features="lq", width_scale=0.05), SHARE),
    "maxent told": (MaxentClassifier(features="lq", width_scale=0.05, prevalence=0.9), 0.9),
    "maxent robust": (
        MaxentClassifier(objective="robust", features="l", width_scale=0.05),
        SHARE,
    ),
    "moved": (PriorCorrected(LR(), prior=0.02), 0.02),
    "moved, balanced": (PriorCorrected(LR(**BALANCED)), SHARE),
    "kept": (PriorCorrected(LR(), kept={0: 0.1}), 0.3 / 7.3),
    "under-sampled": (PriorCorrected(LR(), undersample=1.0, random_state=0), SHARE),
    "costs": (CostSensitiveClassifier(LR()), SHARE),
    "costs, balanced": (CostSensitiveClassifier(LR(**BALANCED)), SHARE),
    "costs, moved": (CostSensitiveClassifier(LR(), now_at=0.05), 0.05),
    "costs, told": (CostSensitiveClassifier(NB_HALVES), 0.5),
    "costs around moved": (CostSensitiveClassifier(PriorCorrected(LR(), prior=0.02)), 0.02),
    "pipeline around moved": (
        make_pipeline(StandardScaler(), PriorCorrected(LR(), prior=0.02)),
        0.02,
    ),
}
X, Y = world(4000)
THERE, TRUTH = world(20_000, seed=1)


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_the_mean_probability_at_the_claimed_base_rate_is_that_rate(kind):
    model, expected = KINDS[kind]
    model.fit(X, Y)
    found = find_base_rates(model, Y)
    assert found.rates == pytest.approx([1 - expected, expected], abs=1e-9)
    mean = mean_at(model, found.rates, THERE, TRUTH)
    assert mean == pytest.approx(expected, rel=0.1, abs=0.01)


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_recalibrated_to_2_percent_the_mean_is_2_percent(kind):
    if kind.startswith("dummy"):
        pytest.skip("probabilities that do not depend on the row")
    model = PriorCorrected(KINDS[kind][0], prior=0.02).fit(X, Y)
    assert model.now_at_[1] == 0.02
    mean = mean_at(model, [0.98, 0.02], THERE, TRUTH)
    # Tilting the pool of all rows gives maxent a density that is close to a Gaussian, not equal.
    assert mean == pytest.approx(0.02, abs=0.004 if kind.startswith("maxent") else 0.0025)


def test_maxent_with_an_assumed_prevalence_states_what_its_probabilities_are_for():
    model = MaxentClassifier(default_prevalence=0.9, features="lq", width_scale=0.05).fit(X, Y)
    found = find_base_rates(model, Y)
    np.testing.assert_array_equal(found.rates, model.class_prior_)
    assert (found.origin, found.population is found.rates) == ("stated", True)
    moved = PriorCorrected(model, prior=0.02).fit(X, Y)  # .196 when the counts were taken
    assert mean_at(moved, [0.98, 0.02], THERE, TRUTH) == pytest.approx(0.02, abs=0.004)


def test_a_temperature_does_not_move_the_base_rates_and_svc_counts_rows():
    warm = {"method": "temperature", "cv": 2}  # fitted by newer versions of scikit-learn only
    assert find_base_rates(CalibratedClassifierCV(LR(), **warm), Y).origin == "rows"
    found = find_base_rates(CalibratedClassifierCV(LR(**BALANCED), **warm), Y)
    assert found.reason.code == "unclear-base-rate"
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", FutureWarning)
        model = SVC(probability=True, random_state=0, **BALANCED).fit(X[:1000], Y[:1000])
    found = find_base_rates(model, Y[:1000], np.where(Y[:1000] == 1, 3.0, 1.0))
    share = Y[:1000].mean()
    assert found.rates == pytest.approx([1 - share, share])
    assert mean_at(model, found.rates, THERE, TRUTH) == pytest.approx(share, abs=0.03)


COUNTS = np.random.default_rng(3).poisson(np.exp(0.5 * X))
COUNTS_THERE = np.random.default_rng(4).poisson(np.exp(0.5 * THERE))


@pytest.mark.parametrize(
    ("model", "expected"),
    [
        (MultinomialNB(), SHARE),
        (MultinomialNB(fit_prior=False), 0.5),
        (MultinomialNB(class_prior=[0.9, 0.1]), 0.1),
        (BernoulliNB(fit_prior=False), 0.5),
        (ComplementNB(class_prior=[0.9, 0.1]), 0.5),  # its class prior does not enter
    ],
)
def test_oracle_naive_bayes_of_counts(model, expected):
    found = find_base_rates(model.fit(COUNTS, Y), Y)
    assert found.rates == pytest.approx([1 - expected, expected], abs=1e-3)
    mean = mean_at(model, found.rates, COUNTS_THERE, TRUTH)
    assert mean == pytest.approx(expected, rel=0.1, abs=0.02)


# --- several classes, weights of rows, names ------------------------------------------------------


def three_clouds(n, seed):
    rng = np.random.default_rng(seed)
    y = rng.choice(["a", "b", "c"], n, p=[0.6, 0.3, 0.1])
    place = {"a": (0.0, 0.0), "b": (1.5, 0.0), "c": (0.0, 1.5)}
    return rng.normal(size=(n, 2)) + np.array([place[label] for label in y]), y


def test_oracle_several_classes():
    X, y = three_clouds(4000, 0)
    there, truth = three_clouds(20_000, 1)
    voting = VotingClassifier([("a", LR(class_weight={0: 1, 1: 2, 2: 6}))], voting="soft")
    for model in (LR(), LR(**BALANCED), voting, OneVsRestClassifier(GaussianNB())):
        found = find_base_rates(model.fit(X, y), y)
        each = [model.predict_proba(there)[truth == label].mean(axis=0) for label in "abc"]
        assert found.rates @ np.array(each) == pytest.approx(found.rates, abs=0.02), model
    odd = OneVsRestClassifier(LR(**BALANCED)).fit(X, y)
    assert find_base_rates(odd, y).reason.code == "unclear-base-rate"
    assert find_base_rates(ComplementNB().fit(np.abs(X), y), y).rates is None


def test_row_weights_describe_the_population_and_balanced_is_settled_by_numbers():
    weight = np.where(Y == 1, 0.5, 2.0)
    share = 0.5 * SHARE / (0.5 * SHARE + 2.0 * (1 - SHARE))
    for inner in (LR(), LR(**BALANCED), make_pipeline(StandardScaler(), LR(**BALANCED))):
        for outer in (PriorCorrected(inner), CostSensitiveClassifier(inner)):
            if isinstance(outer, CostSensitiveClassifier) and hasattr(inner, "steps"):
                outer.fit(X, Y, logisticregression__sample_weight=weight)
            else:
                outer.fit(X, Y, sample_weight=weight)
            assert outer.now_at_ == pytest.approx([1 - share, share])
            assert mean_at(outer, outer.now_at_, THERE, TRUTH) == pytest.approx(share, abs=0.01)
    assert find_base_rates(LR(), Y, weight).rates[1] == pytest.approx(share)
    for inner in (
        CalibratedClassifierCV(LR(**BALANCED), cv=2),
        StackingClassifier([("a", LR(**BALANCED))], cv=2),
        BaggingClassifier(LR(), 5, random_state=0),
    ):
        inner.fit(X, Y, sample_weight=weight)
        assert find_base_rates(inner, Y, weight).rates[1] == pytest.approx(share)
        assert mean_at(inner, [1 - share, share], THERE, TRUTH) == pytest.approx(share, abs=0.01)
    loud = HistGradientBoostingClassifier(class_weight={1: 4.0}, max_leaf_nodes=4)
    loud.fit(X, Y, sample_weight=weight)
    found = find_base_rates(loud, Y, weight)
    assert found.rates == pytest.approx([0.7, 0.3])
    assert mean_at(loud, found.rates, THERE, TRUTH) == pytest.approx(0.3, abs=0.01)
    # Nothing says whether a balanced forest counts rows or weights.
    found = find_base_rates(HistGradientBoostingClassifier(**BALANCED), Y, weight)
    assert found.reason.code == "unclear-class-weights"


def test_invariant_names_order_and_scale():
    names = np.array(["no", "yes"])[Y]
    model = LR(class_weight={"yes": 3.0}).fit(X, names)
    found = find_base_rates(model, names)
    assert found.classes == ("no", "yes")
    odds = 3 * SHARE / (1 - SHARE)
    assert found.rates[1] == pytest.approx(odds / (1 + odds))
    for other in (pd.Series(names, index=np.arange(len(names))[::-1]), names[::-1], list(names)):
        np.testing.assert_allclose(find_base_rates(model, other).rates, found.rates)
    twice = find_base_rates(model, names, np.full(len(names), 7.0))
    np.testing.assert_allclose(twice.rates, found.rates)
    some = np.where(np.arange(len(Y)) % 2 == 0, Y, np.nan)  # not labelled: no part of the mix
    assert find_base_rates(GaussianBayes(), some).rates[1] == pytest.approx(np.nanmean(some))


# --- what is not known is said --------------------------------------------------------------------


class Resampler(BaseEstimator):
    """Stands in for a sampler of imbalanced-learn."""

    def fit_resample(self, X, y):
        return X, y


class ResamplingPipeline(BaseEstimator):
    """Stands in for a pipeline of imbalanced-learn."""

    def __init__(self, steps=()):
        self.steps = steps


class BalancedForest(RandomForestClassifier):
    """Stands in for a forest of imbalanced-learn."""

    def __init__(self, sampling_strategy="auto"):
        super().__init__(n_estimators=3)
        self.sampling_strategy = sampling_strategy


UNCLEAR = {
    "deep forest": (RandomForestClassifier(5, **BALANCED), "unclear-class-weights"),
    "deep tree": (DecisionTreeClassifier(**BALANCED), "unclear-class-weights"),
    "deep trees": (
        BaggingClassifier(DecisionTreeClassifier(**BALANCED), 3),
        "unclear-class-weights",
    ),
    "boosted weights": (
        AdaBoostClassifier(LR(**BALANCED), n_estimators=2),
        "unclear-class-weights",
    ),
    "voting": (
        VotingClassifier([("a", LR()), ("b", NB_HALVES)], voting="soft"),
        "unclear-base-rate",
    ),
    "classes": (DummyClassifier(strategy="most_frequent"), "unclear-base-rate"),
    "draws": (BalancedForest(), "unclear-base-rate"),
    "frozen": (FrozenEstimator(LR().fit(X, Y)), "training-rows"),
}


@pytest.mark.parametrize("kind", UNCLEAR)
def test_unclear_base_rates_are_refused_with_the_argument_that_settles_it(kind):
    inner, code = UNCLEAR[kind]
    inner.fit(X, Y)
    found = find_base_rates(inner, Y)
    assert (found.rates, found.reason.code) == (None, code)
    assert str(found) == str(found.reason)
    with refused(code, UsageError, trained=Argument("trained_at", ...)):
        PriorCorrected(inner, prior=0.02).fit(X, Y)
    told = PriorCorrected(inner, prior=0.02, trained_at=0.4).fit(X, Y)
    np.testing.assert_allclose(told.trained_at_, [0.6, 0.4])
    if kind == "frozen":  # nothing is known to be distorted: as it is, unless it has to be moved
        assert CostSensitiveClassifier(inner).fit(X, Y).now_at_ is None
        inner = CostSensitiveClassifier(inner, now_at=0.1)
    else:
        inner = CostSensitiveClassifier(inner)
    with refused(code, UsageError, trained=Argument("trained_at", ...)):
        inner.fit(X, Y)
    told = inner.set_params(trained_at=0.4).fit(X, Y)
    np.testing.assert_allclose(told.trained_at_, [0.6, 0.4])


def test_steps_that_draw_rows_and_searches_before_their_fit_are_not_known():
    drawn = ResamplingPipeline([("draw", Resampler()), ("fit", LR())])
    assert find_base_rates(drawn, Y).reason.code == "unclear-base-rate"
    assert find_base_rates(SEARCH.__class__(LR(), {"C": [1]}), Y).rates is None
    assert find_base_rates(SelfTrainingClassifier(LR()), Y).reason.code == "unclear-base-rate"
    assert find_base_rates(LR()).reason.code == "training-rows"
    assert find_base_rates(LR(**BALANCED)).rates is None
    assert find_base_rates(LR(class_weight={1: 2})).rates is None
    assert find_base_rates(LR(**BALANCED).fit(X, Y)).rates.tolist() == HALVES
    assert find_base_rates(GaussianNB().fit(X, Y)).rates == pytest.approx([0.7, 0.3])
    assert find_base_rates(PriorCorrected(LR(), prior="entropy"), Y).rates is None
    assert find_base_rates(PriorCorrected(LR(), prior=0.1), Y).rates == pytest.approx([0.9, 0.1])


def test_labels_of_other_rows_and_objects_that_only_predict():
    model = LR().fit(X, Y)
    with refused("unknown-class", DataError, label="1", classes=[0, 1]):
        find_base_rates(model, Y.astype(str))
    with refused("one-class", DataError):
        find_base_rates(model, np.zeros(5))
    with refused("one-class", DataError):
        find_base_rates(model, Y, np.where(Y == 1, 0.0, 1.0))

    class Predicts:
        classes_ = np.array([0, 1])

        def predict_proba(self, X):
            return np.full((len(X), 2), 0.5)

    assert find_base_rates(FrozenEstimator(Predicts())).origin == "rows"
    Predicts.now_at_ = [0.8, 0.2]
    assert find_base_rates(FrozenEstimator(Predicts())).rates.tolist() == [0.8, 0.2]
    cv = LogisticRegressionCV(**BALANCED)  # it has `refit`, and is no search
    assert find_base_rates(cv, Y).rates.tolist() == HALVES
    found = find_base_rates(LR(**BALANCED), list(Y)).to_dict()
    assert (found["rates"], found["origin"], found["classes"]) == (HALVES, "weights", [0, 1])


def test_a_deep_forest_with_class_weights_is_for_no_base_rate_that_follows_from_them():
    """Why it is refused: 'balanced' should mean one half, and comes out far from it."""
    deep = RandomForestClassifier(100, class_weight="balanced_subsample", random_state=0).fit(X, Y)
    assert mean_at(deep, HALVES, THERE, TRUTH) < 0.46
    calibrated = CalibratedClassifierCV(RandomForestClassifier(20, **BALANCED), cv=2).fit(X, Y)
    assert find_base_rates(calibrated, Y).rates == pytest.approx([0.7, 0.3])


def test_a_frozen_balanced_model_is_moved_to_the_rows_of_the_fit():
    frozen = FrozenEstimator(LR(**BALANCED).fit(X, Y))
    model = CostSensitiveClassifier(frozen).fit(X, Y)
    np.testing.assert_allclose([model.trained_at_, model.now_at_], [HALVES, [0.7, 0.3]])


def test_rows_in_blocks():
    rows = open_rows(X, label=Y)
    for inner, trained in ((GaussianBayes(priors=HALVES), 0.5), (GaussianBayes(), SHARE)):
        for outer in (
            PriorCorrected(inner, prior=0.02),
            CostSensitiveClassifier(inner, now_at=0.02),
        ):
            outer.fit(rows)
            assert outer.trained_at_[1] == pytest.approx(trained)
            mean = mean_at(outer, [0.98, 0.02], open_rows(THERE), TRUTH)
            assert mean == pytest.approx(0.02, abs=0.002)


def test_models_that_are_compared_as_they_are_are_named_where_that_is_for_other_base_rates():
    models = {"loud": LR(**BALANCED), "plain": LR(), "undone": PriorCorrected(LR(**BALANCED))}
    with warned("other-base-rates", name="loud", rates=HALVES, here=[0.69, 0.31]) as said:
        left = left_out_prob(models, X[:600], Y[:600], folds=2)
    assert [one.fields["name"] for one in said] == ["loud"]
    np.testing.assert_allclose(left["undone"], left["plain"], atol=0.02)
    assert abs(left["loud"].mean() - Y[:600].mean()) > 0.08


# --- model files ----------------------------------------------------------------------------------


def test_model_files_that_took_the_counts_are_repaired_and_others_keep_their_bits(tmp_path):
    right = PriorCorrected(GaussianBayes(priors=HALVES), prior=0.02).fit(X, Y)
    path = tmp_path / "m.scarce"
    save(right, path)
    np.testing.assert_array_equal(load(path).predict_proba(THERE), right.predict_proba(THERE))
    right.trained_at_ = np.array([0.7, 0.3])  # as versions before wrote it
    right.weighted = {1: 1.0}  # which passes the check when it is saved
    save(right, path)
    old = load(path)
    assert old.trained_at_.tolist() == [0.7, 0.3]
    old.weighted = "auto"
    with warned("repaired-base-rates", old=[0.7, 0.3], told=HALVES):
        old._check_loaded()
    assert mean_at(old, [0.98, 0.02], THERE, TRUTH) == pytest.approx(0.02, abs=0.002)
    weighted = CostSensitiveClassifier(GaussianBayes(), now_at=0.05).fit(X, Y)
    save(weighted, path)
    np.testing.assert_array_equal(load(path).predict_proba(THERE), weighted.predict_proba(THERE))
    assert load(path).trained_at_[1] == pytest.approx(SHARE)
    del weighted.base_rates_  # as versions before wrote it
    weighted.set_params(now_at=None)
    save(weighted, path)
    plain = weighted.estimator_.predict_proba(THERE)
    np.testing.assert_array_equal(load(path).predict_proba(THERE), plain)


# --- shares by name -------------------------------------------------------------------------------


SHARES = {"no": 0.9, "yes": 0.1}
BY_NAME = [
    SHARES,
    {"yes": 0.1, "no": 0.9},
    {"yes": 0.1},
    pd.Series([0.1, 0.9], index=["yes", "no"]),
    pd.Series(["yes"] + 9 * ["no"]).value_counts(normalize=True),
    pd.DataFrame({"y": ["yes"] + 9 * ["no"]}).value_counts(normalize=True),
    pl.Series("y", ["yes"] + 9 * ["no"]).value_counts(normalize=True),
    np.array([0.9, 0.1]),
    pl.Series([0.9, 0.1]),
    0.1,
]


@pytest.mark.parametrize("given", BY_NAME, ids=lambda one: type(one).__name__)
def test_shares_are_aligned_by_the_name_of_the_class(given):
    names = np.array(["no", "yes"])[Y]
    prob = LR().fit(X, names).predict_proba(THERE)
    right = correct_prior(prob, [0.7, 0.3], [0.9, 0.1])
    classes = ["no", "yes"]
    np.testing.assert_allclose(
        correct_prior(prob, [0.7, 0.3], given, classes=classes), right, rtol=1e-9
    )
    turned = correct_prior(prob[:, ::-1], [0.3, 0.7], BY_NAME[0], classes=["yes", "no"])
    np.testing.assert_allclose(turned[:, ::-1], right, rtol=1e-9)
    costs = [[0, 5], [1, 0]]
    expected = decide(right, costs, classes=classes)
    acted = decide(prob, costs, classes=classes, trained_at=[0.7, 0.3], now_at=given)
    assert (acted == expected).mean() > 0.999
    model = CostSensitiveClassifier(LR(), costs, now_at=given)
    with warned("unnamed-classes"):
        model.fit(X, names)
    np.testing.assert_allclose(model.predict_proba(THERE), right, rtol=1e-9)
    assert stable_prior([0.2], CostMatrix(costs, classes=classes), trained_at=given).trained_at == (
        pytest.approx(0.1)
    )
    if not isinstance(given, (np.ndarray, pl.Series)):
        corrected = PriorCorrected(LR(), prior=given).fit(X, names)
        np.testing.assert_allclose(corrected.predict_proba(THERE), right, rtol=1e-9)
    if not isinstance(given, float):
        bayes = GaussianBayes(priors=given).fit(X, names)
        np.testing.assert_allclose(bayes.class_prior_, [0.9, 0.1])


WRONG = [
    ({"no": 0.9, "Yes": 0.1}, "unknown-class"),
    (pd.Series([0.9, 0.1]), "unknown-class"),  # 0 and 1 are no names of these classes
    ({"no": 0.9, "yes": 0.9}, "base-rate-range"),
    ([0.9, 0.9], "base-rate-range"),
    ([1.1, -0.1], "base-rate-range"),
    ([np.nan, 0.1], "base-rate-range"),
    ({"no": np.nan, "yes": 0.1}, "base-rate-type"),
    ({"no": "most", "yes": 0.1}, "base-rate-type"),
    ({}, "base-rate-classes"),
    (pd.Series([0.1, 0.8, 0.1], index=["yes", "no", "no"]), "base-rate-classes"),
    (pd.Series(["yes"] + 9 * ["no"]).value_counts(), "base-rate-range"),  # counts, not shares
    ([0.1, 0.2, 0.7], "base-rate-shape"),
    ("few", "base-rate-type"),
]


@pytest.mark.parametrize(("given", "code"), WRONG)
def test_shares_that_are_none_are_refused(given, code):
    with refused(code, UsageError):
        correct_prior([0.2], 0.5, given, classes=["no", "yes"])
    with refused(code, UsageError):
        decide([0.2], [[0, 5], [1, 0]], classes=["no", "yes"], trained_at=0.5, now_at=given)
    with refused(code, UsageError):
        GaussianBayes(priors=given).fit(X[:50], np.array(["no", "yes"])[Y[:50]])


def test_fractions_kept_and_weights_by_name(tmp_path):
    names = np.array(["no", "yes"])[Y]
    for setting, value in (("kept", {"no": 0.1, "yes": 0.5}), ("weighted", {"yes": 4.0})):
        by_dict = PriorCorrected(GaussianBayes(), **{setting: value}).fit(X, names)
        held = pd.Series(value)[::-1]
        by_series = PriorCorrected(GaussianBayes(), **{setting: held}).fit(X, names)
        np.testing.assert_array_equal(by_series.now_at_, by_dict.now_at_)
        np.testing.assert_array_equal(by_series.trained_at_, by_dict.trained_at_)
        save(by_series, tmp_path / "m.scarce")  # as a dict
        assert getattr(load(tmp_path / "m.scarce"), setting) == value
        wrong = PriorCorrected(GaussianBayes(), **{setting: pd.Series({"Yes": 0.5})})
        with refused("unknown-class", UsageError, label="Yes"):
            wrong.fit(X, names)
    for weight in (-2.0, 0.0):
        with refused("base-rate-range", UsageError, argument="trained_at"):
            PriorCorrected(GaussianBayes(), weighted={"yes": weight}).fit(X, names)


def test_names_need_the_order_of_the_classes():
    with refused("names-needed", UsageError, label="no"):
        correct_prior([[0.2, 0.8]], 0.5, SHARES)
    with refused("names-needed", UsageError):
        decide([0.2], [[0, 5], [1, 0]], trained_at=0.5, now_at=SHARES)
    with refused("class-mismatch", UsageError, count=3):
        correct_prior([[0.2, 0.8]], 0.5, 0.5, classes=["a", "b", "c"])
    table = pd.DataFrame([[0.8, 0.2]], columns=["yes", "no"])
    by_column = correct_prior(table, {"yes": 0.5, "no": 0.5}, SHARES)
    np.testing.assert_allclose(by_column, correct_prior([[0.8, 0.2]], 0.5, [0.1, 0.9]))
    counted = pd.Series([1, 0, 0, 0]).value_counts(normalize=True)  # 0 and 1: their own places
    assert correct_prior([0.5], 0.5, counted) == pytest.approx(0.25)


def test_a_stack_with_its_default_final_estimator_has_probabilities_once_it_is_fitted():
    stack = StackingClassifier([("a", LogisticRegression())], cv=2)
    assert not hasattr(stack, "predict_proba")
    model = PriorCorrected(stack, prior=0.02).fit(X[:500], Y[:500])
    assert model.predict_proba(X[:5]).shape == (5, 2)
    with refused("no-probabilities", UsageError):
        PriorCorrected(LinearSVC()).fit(X[:500], Y[:500])
