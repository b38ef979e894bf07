"""What a model says about rows: the right class, missing labels kept, plain refusals."""

import numpy as np
import pandas as pd
import pytest
from sklearn.linear_model import LogisticRegression

from scarce.errors import DataError, UsageError
from scarce.plots.curves import ask
from tests.problems import refused


@pytest.fixture(scope="module")
def model():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(90, 2))
    return LogisticRegression().fit(X, np.where(X[:, 0] > 0.5, "fraud", "fair")), X


def test_the_second_class_is_the_event_unless_another_is_named(model):
    fitted, X = model
    y = ["fraud", "fair", "fraud"]
    got = ask(fitted, X[:3], y)
    assert got.event == "fraud"  # sorted: fair, fraud
    np.testing.assert_array_equal(got.y, [1, 0, 1])
    np.testing.assert_array_equal(got.prob, fitted.predict_proba(X[:3])[:, 1])
    turned = ask(fitted, X[:3], y, positive="fair")
    np.testing.assert_array_equal(turned.y, [0, 1, 0])
    np.testing.assert_array_equal(turned.prob, fitted.predict_proba(X[:3])[:, 0])


@pytest.mark.parametrize("gone", [None, float("nan"), pd.NA, pd.NaT])
def test_missing_labels_stay_missing(model, gone):
    fitted, X = model
    np.testing.assert_array_equal(ask(fitted, X[:2], ["fraud", gone]).y, [1, np.nan])


def test_refusals_name_the_way_out(model):
    fitted, X = model
    with refused("unknown-class", DataError, value="frad", row=1, hint=" Did you mean 'fraud'?"):
        ask(fitted, X[:2], ["fair", "frad"])
    with refused("unknown-class", UsageError, argument="positive", value="fruad"):
        ask(fitted, X[:2], ["fair", "fair"], positive="fruad")
    with refused("length-mismatch", DataError, rows=3, labels=2):
        ask(fitted, X[:3], ["fair", "fair"])
    with refused("no-probabilities", UsageError):
        ask(object(), X, [])


def test_three_classes_need_a_name():
    X = np.arange(30.0)[:, None]
    fitted = LogisticRegression(max_iter=500).fit(X, np.repeat(list("abc"), 10))
    with refused("several-classes", UsageError, count=3, classes="'a', 'b' or 'c'"):
        ask(fitted, X, np.repeat(list("abc"), 10))
    assert ask(fitted, X, np.repeat(list("abc"), 10), positive="b").y.sum() == 10
