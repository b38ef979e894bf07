"""The shape of a GEV link: the interval is that of the likelihood."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.stats import chi2

from scarce import DataError, RareClassifier, UsageError
from scarce.linear.gev import GEV
from scarce.linear.shape import profile_shape
from tests.problems import refused


def world(shape, n=1000, shift=-1.0, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    prob = GEV(shape).inverse(shift + X @ np.array([0.6, -0.4]))
    return X, (rng.random(n) < prob).astype(int)


def test_oracle_the_ends_are_where_the_likelihood_ratio_says():
    X, y = world(0.3, seed=3)

    def loss(shape, start=(0.5, -0.3, -1.0)):
        def total(coef):
            score = X @ coef[:2] + coef[2]
            room = np.maximum(1 + shape * score, 1e-9)
            prob = np.clip(np.exp(-np.minimum(room ** (-1 / shape), 700)), 1e-300, 1 - 1e-16)
            return -np.sum(np.where(y == 1, np.log(prob), np.log1p(-prob)))

        return minimize(total, start, method="Nelder-Mead", options={"fatol": 1e-8, "xatol": 1e-6})

    found = RareClassifier("gev-log").shape_interval(X, y)
    least = loss(found.value).fun
    assert -1 < found.low < 0.3 < found.high < 1.5
    for end in (found.low, found.high):
        assert 2 * (loss(end).fun - least) == pytest.approx(chi2.ppf(0.9, 1), abs=0.03)
    wider = RareClassifier("gev-log").shape_interval(X, y, level=0.95)
    assert wider.low < found.low
    assert wider.high > found.high


def test_a_quadratic_is_solved_to_the_ends_of_the_range():
    found = profile_shape(lambda shape: 4.0 * (shape + 0.9) ** 2, 0.9)
    assert found.value == pytest.approx(-0.9, abs=1e-3)
    assert found.low == -1.0
    assert found.high == pytest.approx(-0.9 + np.sqrt(0.5 * chi2.ppf(0.9, 1) / 4.0), abs=2e-3)


def test_few_rows_tell_nothing_and_what_has_no_likelihood_is_refused():
    X, y = world(0.3, n=60, shift=-0.5)
    with refused("flat-shape", DataError):
        RareClassifier("gev-log").shape_interval(X[:, :1], y)
    for settings in ({"loss": "gev-canonical"}, {"loss": "gev-log", "weight_kind": "survey"}):
        with refused("no-likelihood", UsageError):
            RareClassifier(**settings).shape_interval(X, y)
