"""What every public estimator owes scikit-learn's users and its own model file. No exceptions."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.exceptions import SkipTestWarning
from sklearn.utils.estimator_checks import check_estimator, parametrize_with_checks

import scarce
from scarce.datasets import make_trial_scores
from scarce.io.store import REGISTRY
from tests.properties.store_properties import check_round_trip

ESTIMATORS = [
    scarce.GaussianBayes(),
    scarce.GaussianBayes("diag"),
    scarce.GaussianBayes("shared-diag"),
    scarce.GaussianBayes("full"),
    scarce.GaussianBayes("shared", shrinkage=0),
    scarce.GaussianBayes("shrunk"),
    scarce.GaussianBayes("full", unlabelled="use", unbiased=True),
    scarce.GaussianBayes("diag", calibrate=False),
    scarce.GaussianBayes(factors={0: "gaussian"}),
    scarce.CostSensitiveClassifier(scarce.RareClassifier("logistic", ridge=1.0)),
    scarce.CostSensitiveClassifier(
        scarce.GaussianBayes(), scarce.CostMatrix.binary(false_alarm=2, miss=2).with_abstain(0.4)
    ),
    scarce.RareClassifier(),
    scarce.RareClassifier("logistic", ridge=1.0),
    scarce.RareClassifier("probit", ridge=1.0),
    scarce.RareClassifier("gev-log", shape=0.3, ridge=1.0, tol=1e-12),
    scarce.RareClassifier("gev-log", shape="fit", ridge=1.0),
    scarce.RareClassifier("logistic", ridge=0, bias_reduction="flic"),
    scarce.RareClassifier("logistic", penalty="lasso"),  # nine ridges and more, by five folds
    scarce.RareClassifier(penalty="lasso", ridges=(3.0, 0.03), cv=3),  # shapes too
    scarce.RareClassifier("probit", ridge=1.0, penalty="elastic-net"),
    scarce.AutoClassifier(cv=3, repeats=1),  # default folds and repeats: tests/auto
    scarce.PriorCorrected(scarce.RareClassifier("logistic", ridge=1.0)),
    scarce.PriorCorrected(scarce.GaussianBayes(), prior="entropy"),
    scarce.Calibrated(scarce.RareClassifier("logistic", ridge=1.0)),
    scarce.Calibrated(scarce.GaussianBayes("shared"), "isotonic"),
    scarce.MaxentClassifier(),
    scarce.MaxentClassifier("robust", features="lh", knots=10),
    scarce.MaxentClassifier(width_scale="auto", width_scales=(2.0, 1.0), features="l"),
]

# Estimators of one score per row: scikit-learn has no checks for those beyond the tags, so theirs
# are written out below.
OF_SCORES = [
    scarce.ScoreMixture(),
    scarce.ScoreMixture("normal", start="paper", spread_prior=None, keep_path=True),
    scarce.ScoreMixture(("gamma", "skew-normal"), ("normal", "student-t"), select="ks"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def public_estimators():
    values = [getattr(scarce, name) for name in scarce.__all__]
    return [v for v in values if isinstance(v, type) and issubclass(v, BaseEstimator)]


def test_every_public_estimator_is_checked_and_can_be_saved():
    classes = set(public_estimators())
    assert classes == {type(estimator) for estimator in ESTIMATORS + OF_SCORES}
    assert {cls.__name__ for cls in classes} <= set(REGISTRY)


@pytest.mark.parametrize("estimator", ESTIMATORS, ids=str)
def test_property_round_trip(estimator, rng):
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] + rng.normal(size=80) > 0).astype(int)
    check_round_trip(clone(estimator).fit(X, y), X)


@pytest.mark.parametrize("cls", public_estimators(), ids=lambda cls: cls.__name__)
def test_every_public_estimator_says_what_it_assumes_and_shows_an_example(cls):
    assert "**Assumes**" in cls.__doc__
    assert ">>> " in cls.__doc__


def draws_folds(estimator):
    """Whether a fit assigns rows to random folds, so that their order matters."""
    params = estimator.get_params(deep=False)
    return "cv" in params and params.get("ridge", "auto") == "auto"


@pytest.mark.parametrize("estimator", [e for e in ESTIMATORS if not draws_folds(e)], ids=str)
def test_property_row_order(estimator, rng):
    X = rng.normal(size=(120, 3))
    y = (X[:, 0] + rng.normal(size=120) > 0.5).astype(int)
    model = clone(estimator)
    prob = model.fit(X, y).predict_proba(X)
    order = rng.permutation(120)
    np.testing.assert_allclose(model.fit(X[order], y[order]).predict_proba(X), prob, rtol=1e-9)


@pytest.mark.parametrize("estimator", OF_SCORES, ids=str)
def test_scikit_learn_checks_of_scores(estimator):
    with pytest.warns(SkipTestWarning, match="one_d_array=True"):
        results = check_estimator(estimator)
    assert [one["status"] for one in results] == ["passed"] * len(results)


@pytest.mark.parametrize("estimator", OF_SCORES, ids=str)
def test_property_of_scores(estimator):
    trial = make_trial_scores(2000, positive_share=0.05, labelled_share=0.1, random_state=3)
    scores, labels = trial.scores.copy(), trial.y.copy()
    before = estimator.get_params()
    model = clone(estimator)
    assert model.fit(scores, labels) is model
    assert model.get_params() == before == estimator.get_params()
    assert not hasattr(estimator, "positive_share_")
    np.testing.assert_array_equal(scores, trial.scores)
    np.testing.assert_array_equal(labels, trial.y)
    again = clone(estimator).fit(scores[::-1].copy(), labels[::-1].copy())
    assert again.positive_share_ == pytest.approx(model.positive_share_, rel=1e-9)
    twice = model.fit(scores, labels).positive_share_
    assert twice == clone(estimator).fit(scores, labels).positive_share_
    loaded = check_round_trip(model, scores)
    for name in ("recall", "precision", "posterior", "precision_per_recall", "alarm_rate"):
        np.testing.assert_array_equal(getattr(loaded, name)(scores), getattr(model, name)(scores))
