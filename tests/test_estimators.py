"""What every public estimator owes scikit-learn's users and its own model file. No exceptions."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, clone
from sklearn.utils.estimator_checks import parametrize_with_checks

import scarce
from scarce.store import REGISTRY
from tests.properties.store_properties import check_round_trip

ESTIMATORS = [
    scarce.GaussianBayes(),
    scarce.GaussianBayes("shared-diag"),
    scarce.RareClassifier(),
    scarce.RareClassifier("logistic", ridge=1.0),
    scarce.RareClassifier("probit", ridge=1.0),
    scarce.RareClassifier("gev-log", shape=0.3, ridge=1.0, tol=1e-12),
    scarce.RareClassifier("logistic", ridge=0, bias_reduction="flic"),
    scarce.AutoClassifier(),
    scarce.PriorCorrected(scarce.RareClassifier("logistic", ridge=1.0)),
    scarce.PriorCorrected(scarce.GaussianBayes(), prior="entropy"),
    scarce.MaxentClassifier(),
    scarce.MaxentClassifier("robust", features="lh", knots=10),
    scarce.MaxentClassifier(width_scale="auto", width_scales=(2.0, 1.0), features="l"),
]


@parametrize_with_checks(ESTIMATORS)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def public_estimators():
    values = [getattr(scarce, name) for name in scarce.__all__]
    return [v for v in values if isinstance(v, type) and issubclass(v, BaseEstimator)]


def test_every_public_estimator_is_checked_and_can_be_saved():
    classes = set(public_estimators())
    assert classes == {type(estimator) for estimator in ESTIMATORS}
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
