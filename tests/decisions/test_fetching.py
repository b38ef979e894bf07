"""The value of a missing value, in worlds where it can be integrated."""

import numpy as np
import pandas as pd
import pytest
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import expit
from scipy.stats import norm
from sklearn.ensemble import HistGradientBoostingClassifier

from scarce import CostMatrix, RareClassifier, value_of_fetching
from scarce.errors import DataError, UsageError
from scarce.missing.front import Front
from tests.problems import refused

COSTS = [[0.0, 5.0], [1.0, 0.0]]


class World:
    """Two correlated normal columns and a third one that tells nothing; a known logit."""

    rho, w = 0.6, np.array([1.0, 2.0, 0.0])

    def __init__(self):
        covariance = np.eye(3)
        covariance[0, 1] = covariance[1, 0] = self.rho
        ends = np.full(3, 4.0)
        self.front_ = Front(
            np.zeros(3), np.ones(3), covariance, -ends, ends, np.ones(3, bool), 1.0, 1
        )

    def predict_proba(self, X):
        found = self.front_.spread(X)
        z, v = found.mean @ self.w - 1.0, found.variance(self.w)
        t = np.linspace(-8, 8, 801)
        prob = expit(z[:, None] + np.sqrt(v)[:, None] * t) @ (norm.pdf(t) * (t[1] - t[0]))
        return np.column_stack([1 - prob, prob])


def least(prob):
    return np.minimum(5.0 * prob, 1.0 - prob)


def test_the_value_is_that_of_integration():
    world, x = World(), np.array([-1.5, -0.4, 0.2, 0.7, 1.5])
    rows = np.column_stack([x, np.full((5, 2), np.nan)])
    found = value_of_fetching(world, rows, COSTS)
    t = np.linspace(-9, 9, 20001)
    mass = norm.pdf(t) * (t[1] - t[0])
    known = expit(x[:, None] + 2.0 * (0.6 * x[:, None] + 0.8 * t) - 1.0)
    truth = least(known @ mass) - least(known) @ mass
    assert_allclose(found.value[:, 1], truth, atol=0.003)
    assert found.error < 0.02
    assert found.incoherence < 1e-6
    assert_allclose(found.value[:, 2], 0.0, atol=1e-9)  # it tells nothing
    assert np.isnan(found.value[:, 0]).all()
    assert_allclose(found.cost_now, least(known @ mass), atol=1e-6)
    assert (found.best[truth > 0.01] == 1).all()


def test_a_row_whose_decision_cannot_change_is_worth_nothing():
    rows = np.array([[12.0, np.nan, 0.0], [-14.0, np.nan, 0.0]])
    found = value_of_fetching(World(), rows, COSTS)
    assert_allclose(found.value[:, 1], 0.0, atol=1e-6)
    fixed = value_of_fetching(World(), rows * 0.0, [[0.0, 1.0], [2.0, 1.0]])
    assert_array_equal(fixed.value[:, 1], 0.0)


def test_prices_decide_which_one_and_whether():
    rows = np.full((1, 3), np.nan)
    free = value_of_fetching(World(), rows, COSTS)
    assert free.best[0] == 1  # the second column tells most
    assert (free.value >= 0).all()
    dear = value_of_fetching(World(), rows, COSTS, price=[0.0, 9.0, 0.0])
    assert dear.best[0] == 0
    assert dear.gain[0] == pytest.approx(dear.value[0, 0])
    none = value_of_fetching(World(), rows, COSTS, price=9.0)
    assert (none.best[0], none.gain[0]) == (-1, 0.0)
    complete = value_of_fetching(World(), np.zeros((2, 3)), COSTS)
    assert_array_equal(complete.best, -1)


def test_any_model_with_rows_that_say_what_goes_together():
    rng = np.random.default_rng(0)
    X = rng.multivariate_normal([0, 0], [[1, 0.5], [0.5, 1]], size=600)
    y = (rng.random(600) < expit(2 * X[:, 0] + X[:, 1])) * 1
    X[rng.random(X.shape) < 0.2] = np.nan
    table = pd.DataFrame(X, columns=["age", "dose"])
    model = HistGradientBoostingClassifier(max_iter=20).fit(table, y)
    with refused("reference-needed", UsageError):
        value_of_fetching(model, table[:5], COSTS)
    found = value_of_fetching(model, table[:50], COSTS, reference=table)
    assert found.names == ("age", "dose")
    assert (found.value[~np.isnan(found.value)] >= 0).all()
    assert_array_equal(np.isnan(found.value), ~np.isnan(X[:50]))
    with refused("shape-mismatch", DataError):
        value_of_fetching(model, table[:5], COSTS, reference=X[:, :1])


def test_a_regression_brings_its_own():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 2))
    y = (rng.random(800) < expit(X @ [0.5, 2.0])) * 1
    X[rng.random(800) < 0.3, 1] = np.nan
    found = value_of_fetching(RareClassifier("logistic", ridge=1.0).fit(X, y), X, COSTS)
    assert found.incoherence < 1e-9  # its probabilities are means already
    assert_array_equal(found.order, np.argsort(-found.gain, kind="stable"))
    assert np.nanmax(found.value) > 0.1


def test_text_is_refused():
    table = pd.DataFrame({"city": ["Ulm", None], "age": [1.0, 2.0]})
    with refused("column-type", DataError, shown="city"):
        value_of_fetching(World(), table, COSTS)


def patients():
    """A frame with a column of true and false, so that a model reads columns by name."""
    rng = np.random.default_rng(2)
    table = pd.DataFrame(rng.normal(size=(600, 2)), columns=["dose", "age"])
    table["age"] += 0.8 * table["dose"]
    y = (rng.random(600) < expit(2 * table["age"] + table["dose"])).astype(int)
    table.insert(0, "smoker", rng.random(600) < 0.3)
    table = table.astype({"smoker": "boolean", "age": "Float64"})
    table.loc[:99, "age"] = pd.NA
    table.loc[50:149, "dose"] = np.nan
    return table, y


def test_columns_are_known_by_name():
    table, y = patients()
    model = RareClassifier("logistic", ridge=1.0).fit(table, y)
    found = value_of_fetching(model, table, COSTS)
    assert np.nanmax(found.value[:, 2]) > 0.1
    turned = table[["age", "smoker", "dose"]]
    other = value_of_fetching(model, turned, COSTS)
    assert other.names == ("age", "smoker", "dose")
    assert_array_equal(other.value, found.value[:, [2, 0, 1]])
    around = value_of_fetching(model, table, COSTS, reference=turned)
    assert_allclose(around.value, found.value, atol=1e-9)
    with refused("column-mismatch", DataError):
        value_of_fetching(model, table, COSTS, reference=table.rename(columns={"age": "old"}))


def test_prices_are_known_by_name():
    table, y = patients()
    model = RareClassifier("logistic", ridge=1.0).fit(table, y)
    paid = value_of_fetching(model, table, COSTS, price=[0.0, 0.02, 0.3])
    for names in (
        {"age": 0.3, "smoker": 0.0, "dose": 0.02},
        {"dose": 0.02, "age": 0.3, "smoker": 0},
    ):
        for price in (names, pd.Series(names)):
            found = value_of_fetching(model, table, COSTS, price=price)
            assert_array_equal(found.price, paid.price)
            assert_array_equal(found.best, paid.best)
    with refused("column-mismatch", DataError):
        value_of_fetching(model, table, COSTS, price={"age": 0.3, "smoker": 0.0})
    with refused("length-mismatch", DataError, columns=3):
        value_of_fetching(model, table, COSTS, price=[0.3, 0.0])


def test_costs_are_known_by_name():
    rng = np.random.default_rng(1)
    X = rng.normal(size=(800, 2))
    ill = rng.random(800) < expit(X @ [0.5, 2.0] - 1.0)
    model = RareClassifier("logistic", ridge=1.0).fit(X, np.where(ill, "bad", "good"))
    rows = np.array([[0.0, np.nan], [np.nan, 1.0]])
    actions = ("accept", "refuse")
    found, other = (
        value_of_fetching(model, rows, CostMatrix(table, actions=actions, classes=classes))
        for table, classes in (
            ([[5.0, 0.0], [0.0, 1.0]], ("bad", "good")),
            ([[0.0, 5.0], [1.0, 0.0]], ("good", "bad")),
        )
    )
    assert found.value[0, 1] > 0.1
    assert_array_equal(other.value, found.value)
    with refused("unknown-class"):
        value_of_fetching(model, rows, CostMatrix(COSTS, actions=actions, classes=("no", "yes")))


def test_rounding_is_worth_nothing():
    rows = np.column_stack([np.linspace(-3, 3, 300), np.linspace(2, -2, 300), np.full(300, np.nan)])
    found = value_of_fetching(World(), rows, COSTS)  # the third column tells nothing
    assert_array_equal(found.value[:, 2], 0.0)
    assert_array_equal(found.best, -1)


@pytest.mark.parametrize("codes", [pd.Categorical([1, 2]), ["1", "2"]])
def test_categories_of_numbers_are_refused(codes):
    table = pd.DataFrame({"ward": codes, "dose": [1.0, None], "age": [1.0, 2.0]})
    with refused("column-type", DataError, shown="ward"):
        value_of_fetching(World(), table, COSTS)
