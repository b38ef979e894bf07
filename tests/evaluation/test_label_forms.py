"""Labels of every form mean the same in every function: NaN is "not labelled", 1 and 2 are no 0/1.

`auc` and `at_threshold` once counted NaN as "no event", and labels 1 and 2 gave an AUC of 0.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest

from scarce import (
    CostMatrix,
    DataError,
    brier_curve,
    brier_score,
    calibration_loss,
    compare,
    cost_confusion,
    cost_curve,
    decision_curve,
    estimate_performance,
    evaluate,
    evaluate_by,
    log_loss,
    mean_cost,
    risk_coverage,
    savings,
    total_cost,
)
from scarce.evaluation.calibration import reliability
from scarce.evaluation.compare import loss_difference
from scarce.evaluation.evaluate import at_threshold
from scarce.evaluation.ranking import auc
from tests.problems import refused

N = 120
rng = np.random.default_rng(0)
PROB = rng.random(N)
Y = (rng.random(N) < PROB).astype(int)
KNOWN = np.arange(N) % 2 == 0
INCLUSION = np.where(KNOWN, 0.5, np.nan)
COSTS = CostMatrix.binary(false_alarm=1, miss=3)
ACTION = (PROB > 0.3).astype(int)
FEW = {"resamples": 100}

FIGURES: dict[str, Any] = {
    "evaluate": lambda y, **more: evaluate(y, PROB, **more, **FEW).brier.value,
    "brier_score": lambda y, **more: brier_score(y, PROB, **more, **FEW).value,
    "log_loss": lambda y, **more: log_loss(y, PROB, **more, **FEW).value,
    "auc": lambda y, **more: auc(y, PROB, **more, **FEW).value,
    "at_threshold": lambda y, **more: at_threshold(y, PROB, 0.5, **more, **FEW).recall.value,
    "calibration_loss": lambda y, **more: calibration_loss(y, PROB, **more).value,
    "reliability": lambda y, **more: reliability(y, PROB, bins=[0, 0.5, 1], **more, **FEW).observed[
        0
    ],
    "evaluate_by": lambda y, **more: (
        evaluate_by(y, PROB, np.arange(N) // 60, **more, **FEW).segments[0].happened.value
    ),
    "brier_curve": lambda y, **more: brier_curve(y, PROB, at=[0.3], **more, **FEW).cost[0],
    "cost_curve": lambda y, **more: cost_curve(y, PROB, at=[0.3], **more, **FEW).cost[0],
    "decision_curve": lambda y, **more: decision_curve(
        y, PROB, at=[0.3], **more, **FEW
    ).net_benefit[0],
    "mean_cost": lambda y, **more: mean_cost(y, ACTION, COSTS, **more, **FEW).value,
    "total_cost": lambda y, **more: total_cost(y, ACTION, COSTS, **more, **FEW).value,
    "savings": lambda y, **more: savings(y, ACTION, COSTS, **more, **FEW).share.value,
    "cost_confusion": lambda y, **more: cost_confusion(y, ACTION, COSTS, **more, **FEW).rows[0][0],
    "risk_coverage": lambda y, **more: risk_coverage(y, PROB, at=[0.5], **more, **FEW).risk[0],
    "loss_difference": lambda y, **more: loss_difference(y, PROB, PROB**2, **more, **FEW).value,
    "compare": lambda y, **more: (
        compare(y, {"a": PROB}, **more, **FEW).evaluations["a"].brier.value
    ),
}


def forms() -> dict[str, Any]:
    """The labels of some rows, as people hold them."""
    some = [int(value) if seen else None for value, seen in zip(Y, KNOWN, strict=True)]
    found = {
        "NaN": np.where(KNOWN, Y, np.nan),
        "list with None": some,
        "objects with None": np.array(some, dtype=object),
        "Int64": pd.Series(some, dtype="Int64"),
        "Float64": pd.Series(some, dtype="Float64"),
        "boolean": pd.Series([None if one is None else bool(one) for one in some], dtype="boolean"),
        "objects with NA": pd.Series([pd.NA if one is None else one for one in some], dtype=object),
        "categories": pd.Series(pd.Categorical(some)),
        "masked integers": np.ma.array(Y, mask=~KNOWN),
        "masked truths": np.ma.array(Y == 1, mask=~KNOWN),
        "Arrow": pa.array(some),
        "Arrow in chunks": pa.chunked_array([some[:50], some[50:]]),
        "one column": np.where(KNOWN, Y, np.nan)[:, None],
        "a table of one column": pd.DataFrame({"y": np.where(KNOWN, Y, np.nan)}),
    }
    try:
        import polars
    except ImportError:
        return found
    return found | {"polars": polars.Series(some)}


FORMS = forms()
OTHER_CODES = {
    "1 and 2": Y + 1,
    "-1 and 1": 2 * Y - 1,
    "0 and 2": 2 * Y,
    "halves": Y / 2,
    "words": np.where(Y == 1, "yes", "no"),
    "digits as words": np.where(Y == 1, "1", "0"),
    "categories of words": pd.Series(pd.Categorical(np.where(Y == 1, "yes", "no"))),
    "infinite": np.where(Y == 1, np.inf, 0.0),
    "complex": Y.astype(complex),
    "dates": pd.to_datetime(Y).to_numpy(),
    "durations": pd.to_timedelta(Y).to_numpy(),
}


@pytest.mark.parametrize("name", FIGURES)
def test_a_missing_label_is_not_labelled_whatever_holds_it(name):
    figure = FIGURES[name]
    drawn = figure(np.where(KNOWN, Y, np.nan), inclusion=INCLUSION)
    for form, labels in FORMS.items():
        assert figure(labels, inclusion=INCLUSION) == pytest.approx(drawn, abs=1e-12), form
        with refused("unlabelled-rows", DataError):
            figure(labels)


@pytest.mark.parametrize("name", FIGURES)
def test_other_codes_are_refused_not_counted(name):
    for labels in OTHER_CODES.values():
        with pytest.raises(DataError) as caught:
            FIGURES[name](labels)
        assert caught.value.code in ("unknown-class", "unknown-label", "not-a-number")


@pytest.mark.parametrize("name", ["evaluate", "loss_difference", "compare"])
@pytest.mark.parametrize(
    ("code", "classes"), [("1 and 2", [1, 2]), ("-1 and 1", [-1, 1]), ("words", ["no", "yes"])]
)
def test_names_of_classes_settle_it(name, code, classes):
    plain = FIGURES[name](Y)
    assert FIGURES[name](OTHER_CODES[code], classes=classes) == pytest.approx(plain, abs=1e-12)


def test_an_infinite_label_is_no_event_of_an_estimate():
    labels = np.where(PROB > 0.5, Y, np.nan)
    labels[np.argmax(PROB)] = np.inf
    with refused("unknown-label", DataError):
        estimate_performance(PROB, labels, threshold=0.5)
