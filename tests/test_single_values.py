"""Levels, thresholds, shares, edges and seeds are read by one reader: no NaN, no raw error.

`level=90` gave NaN limits in one function and a TypeError of NumPy in another.
"""

from __future__ import annotations

import inspect
from typing import Any

import numpy as np
import pytest

from scarce import (
    RareClassifier,
    ScarceError,
    UsageError,
    amounts,
    correct_prior,
    decide,
    decide_within,
    evaluate,
    expected_cost,
    label_value,
    missed_by_all,
    stable_prior,
    stable_range,
    value_of_asking,
)
from scarce.evaluation.calibration import reliability
from scarce.evaluation.evaluate import at_threshold
from scarce.missed.information import KnownMixture
from scarce.plots import ResponseDisplay
from tests.problems import refused
from tests.test_row_index import CASES, COSTS, MAXENT, PROB, X, Y, public_functions

NAN, INF = float("nan"), float("inf")
BAD = [90, "90%", NAN, None, INF, -1, 0, 1, True, [0.9], np.array([0.9, 0.8]), "x", 1j, {}, object]
STRANGE = ["90%", NAN, INF, -INF, "", [0.9, "x"], [0.5, NAN], np.empty(0), 1j, {}, object]
FLIC = RareClassifier("logistic", ridge=0, bias_reduction="flic").fit(X, Y)
MIXTURE = KnownMixture(0.008, "normal", [6.56, 0.0], "normal", [8.44, 0.0])


def asked(name: str, argument: str) -> Any:
    """A call of the table with one argument more."""
    call, columns = CASES[name]
    return lambda value: call(**{**columns, argument: value})


def with_argument(*arguments: str) -> dict[str, Any]:
    """The calls of the table whose function has one of these arguments."""
    functions = dict(public_functions())
    found = {}
    for name, (call, _) in CASES.items():
        function = functions.get(name.partition(" ")[0])
        has = () if function is None or call is None else inspect.signature(function).parameters
        found |= {f"{name}: {one}": asked(name, one) for one in arguments if one in has}
    return found


LEVELS = with_argument("level") | {
    "RareClassifier.coef_interval: level": lambda value: FLIC.coef_interval(level=value),
    "RareClassifier.predict_interval, profile: level": lambda value: FLIC.predict_interval(
        X[:2], level=value
    ),
    "RareClassifier.summary: level": lambda value: FLIC.summary(level=value),
    "RareClassifier.shape_interval: level": lambda value: RareClassifier("gev-log").shape_interval(
        X, Y, level=value
    ),
    "missed_by_all: level": lambda value: missed_by_all(np.ones((4, 2), bool), level=value),
    "ResponseDisplay.from_estimator: level": lambda value: ResponseDisplay.from_estimator(
        MAXENT, level=value
    ),
}
ELSEWHERE = {  # `level` is another thing there, or the estimator takes long to fit
    *("Estimate.__init__", "AutoClassifier.predict_interval", "AutoClassifier.predict_band"),
    "ResponseDisplay.__init__",
    *(f"{kind}Predictive.quantile" for kind in ("Gaussian", "Empirical", "Quantile")),
}
OTHERS = with_argument(
    *("threshold", "thresholds", "at", "bins", "auc", "explore", "resamples", "folds", "rounds"),
    *("frame_rows", "strata", "n", "repeats", "trained_at", "levels", "price", "extra"),
)
OTHERS |= {
    "decide: now_at": lambda value: decide(PROB, COSTS, trained_at=0.2, now_at=value),
    "expected_cost: trained_at": lambda value: expected_cost(
        PROB, COSTS, trained_at=value, now_at=0.2
    ),
    "correct_prior: trained_at": lambda value: correct_prior(PROB, value, 0.2),
    "correct_prior: now_at": lambda value: correct_prior(PROB, 0.2, value),
    "CostMatrix.with_prior": lambda value: COSTS.with_prior(value, 0.2),
    "stable_prior: trained_at": lambda value: stable_prior(PROB, COSTS, trained_at=value),
    "stable_range: vary": lambda value: stable_range(PROB, COSTS, vary=value),
    "StableRange.share": stable_range(PROB, COSTS).share,
    "StablePrior.share": stable_prior(PROB, COSTS, trained_at=0.2).share,
    "decide_within: capacity": lambda value: decide_within(PROB, COSTS, capacity={1: value}),
    "value_of_asking: answers": lambda value: value_of_asking(PROB, COSTS, answers=value),
    "label_value: threshold": lambda value: label_value(MIXTURE, threshold=value, n_rows=500),
    "label_value: edges": lambda value: label_value(
        MIXTURE, threshold=9.0, n_rows=500, edges=value
    ),
    "QuantilePredictive: levels": lambda value: amounts.QuantilePredictive(value, [[1.0]]),
    "GaussianPredictive.quantile": amounts.GaussianPredictive([1.0], [1.0]).quantile,
    "Pinball: under": lambda value: amounts.Pinball(value, 1),
}


def test_every_public_function_with_a_level_is_listed_here():
    wanted = {
        name for name, one in public_functions() if "level" in inspect.signature(one).parameters
    }
    assert wanted - {name.partition(":")[0] for name in LEVELS} - ELSEWHERE == set()


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", LEVELS)
def test_a_level_is_a_number_between_0_and_1(name):
    for value in BAD:
        with refused("level-range", UsageError, argument="level"):
            LEVELS[name](value)


@pytest.mark.filterwarnings("ignore::UserWarning")
@pytest.mark.parametrize("name", OTHERS)
def test_strange_values_are_refused_in_words(name):
    for value in STRANGE:
        if isinstance(value, dict) and name.startswith(("MixtureDisplay", "PerformanceDisplay")):
            continue
        with pytest.raises(ScarceError):
            OTHERS[name](value)


@pytest.mark.parametrize("value", [90, -0.1, 1.5, True, [0.5]])
def test_a_threshold_of_probabilities_is_one(value):
    """The command line refused it already: at 50, nothing is an alert and recall is 0."""
    with refused("prob-range", UsageError, argument="threshold"):
        evaluate(Y, PROB, threshold=value)


def test_a_threshold_of_scores_is_any_number_but_no_word():
    assert at_threshold(Y, 100 * PROB, 50).found == at_threshold(Y, PROB, np.float32(0.5)).found
    for value in (True, np.array([0.5]), [0.5]):
        with refused("threshold-value", UsageError):
            at_threshold(Y, PROB, value)


def test_edges_hold_all_rows():
    """Rows beyond the last edge were counted in the last bin, whose name did not fit them."""
    with refused("edges-too-narrow", value=PROB[PROB > 0.5][0]):
        reliability(Y, PROB, bins=[0, 0.25, 0.5])
    for edges in ([0.5], [], [0, NAN, 1], [0, 0.5, 0.5, 1], [[0, 1]], [0, INF], ["a", "b"]):
        with refused("not-increasing", UsageError):
            reliability(Y, PROB, bins=edges)
    assert reliability(Y, PROB, bins=[0, 1]).rows.tolist() == [60]
