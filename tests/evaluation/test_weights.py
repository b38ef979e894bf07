"""Weights say whom a row stands for: their scale changes no figure, a total excepted."""

import inspect
from importlib import import_module
from pkgutil import iter_modules

import numpy as np
import pytest

import scarce.evaluation
from scarce import (
    brier_curve,
    brier_score,
    calibration_loss,
    compare,
    cost_confusion,
    cost_curve,
    decision_curve,
    evaluate,
    log_loss,
    mean_cost,
    risk_coverage,
    savings,
    total_cost,
)
from scarce.evaluation.compare import compare_costs, loss_difference
from scarce.evaluation.evaluate import at_threshold
from scarce.evaluation.ranking import auc

COSTS = [[0, 40], [5, 0]]
TOTALS = {  # of all rows, in units of the weights
    "cost_confusion": {"total", "costs", "by_action", "by_class", "cost", "rows"},
    "total_cost": {"total"},
}
FEW = {"resamples": 200}


class Rows:
    """Outcomes, probabilities, decisions and weights of 90 rows."""

    def __init__(self):
        rng = np.random.default_rng(4)
        self.prob = rng.beta(1, 3, 90)
        self.other = np.clip(self.prob + 0.1 * rng.normal(size=90), 0.01, 0.99)
        self.y = (rng.random(90) < self.prob).astype(int)
        self.weight = rng.uniform(1, 3, 90)
        self.done = (self.prob > 0.2).astype(int)
        self.groups = np.repeat(np.arange(30), 3)


R = Rows()
FIGURES = {
    "auc": lambda w: auc(R.y, R.prob, sample_weight=w, **FEW),
    "at_threshold": lambda w: at_threshold(R.y, R.prob, 0.3, sample_weight=w, **FEW),
    "brier_curve": lambda w: brier_curve(R.y, R.prob, sample_weight=w, **FEW),
    "brier_score": lambda w: brier_score(R.y, R.prob, sample_weight=w, **FEW),
    "calibration_loss": lambda w: calibration_loss(R.y, R.prob, sample_weight=w),
    "compare": lambda w: compare(R.y, {"a": R.prob, "b": R.other}, sample_weight=w, **FEW),
    "compare_costs": lambda w: compare_costs(
        R.y, {"a": R.done, "b": 1 - R.done}, COSTS, sample_weight=w, **FEW
    ),
    "cost_confusion": lambda w: cost_confusion(R.y, R.done, COSTS, sample_weight=w, **FEW),
    "cost_curve": lambda w: cost_curve(R.y, R.prob, sample_weight=w, **FEW),
    "decision_curve": lambda w: decision_curve(R.y, R.prob, sample_weight=w, **FEW),
    "evaluate": lambda w: evaluate(R.y, R.prob, sample_weight=w, groups=R.groups, **FEW),
    "log_loss": lambda w: log_loss(R.y, R.prob, sample_weight=w, **FEW),
    "loss_difference": lambda w: loss_difference(R.y, R.prob, R.other, sample_weight=w, **FEW),
    "mean_cost": lambda w: mean_cost(R.y, R.done, COSTS, sample_weight=w, **FEW),
    "risk_coverage": lambda w: risk_coverage(R.y, R.prob, sample_weight=w, **FEW),
    "savings": lambda w: savings(R.y, R.done, COSTS, sample_weight=w, **FEW),
    "total_cost": lambda w: {
        "total": total_cost(R.y, R.done, COSTS, sample_weight=w, **FEW).to_dict()
    },
}
ELSEWHERE = {"read_outcomes"}  # a reader, no figure


def leaves(value, path=()):
    """Yield every number of a record with its place."""
    if hasattr(value, "to_dict"):
        value = value.to_dict()
    if isinstance(value, dict):
        for name, one in value.items():
            yield from leaves(one, (*path, name))
    elif isinstance(value, list | tuple):
        for at, one in enumerate(value):
            yield from leaves(one, (*path, at))
    elif isinstance(value, int | float):
        yield path, float(value)


@pytest.mark.parametrize("scale", [1e-6, 0.37, 1e6])
@pytest.mark.parametrize("name", FIGURES)
def test_the_scale_of_weights_changes_no_figure(name, scale):
    if name in ("brier_curve", "cost_curve"):  # equally good thresholds: the last bit decides
        scale = 2.0 ** round(np.log2(scale))
    once, scaled = (dict(leaves(FIGURES[name](c * R.weight))) for c in (1.0, scale))
    totals = TOTALS.get(name, set())
    assert once.keys() == scaled.keys()
    assert len(once) > 2
    for place, number in once.items():
        unit = scale if place[0] in totals and place[-1] != "level" else 1.0
        wanted = pytest.approx(number * unit, rel=1e-7, abs=1e-9 * unit, nan_ok=True)
        assert scaled[place] == wanted, place


def test_every_function_with_weights_is_among_them():
    modules = iter_modules(scarce.evaluation.__path__, "scarce.evaluation.")
    found = {
        name
        for held in (vars(import_module(one.name)) | {"": one.name} for one in modules)
        for name, value in held.items()
        if inspect.isfunction(value)
        and value.__module__ == held[""]
        and not name.startswith("_")
        and "sample_weight" in inspect.signature(value).parameters
    }
    assert found - ELSEWHERE <= set(FIGURES)


def test_equal_weights_are_the_mean_over_numbers_of_rows():
    order = np.argsort(-np.maximum(R.prob, 1 - R.prob), kind="stable")
    wrong = (R.y != (R.prob >= 0.5))[order]
    area = (np.cumsum(wrong) / np.arange(1, 91)).mean()
    for weight in (None, np.full(90, 1 / 90), np.full(90, 7.0)):
        found = risk_coverage(R.y, R.prob, sample_weight=weight, **FEW)
        assert found.area.value == pytest.approx(area)


@pytest.mark.parametrize("cut", ["rows", "width"])
def test_bins_of_calibration_do_not_depend_on_the_scale(cut):
    often = np.rint(R.weight)
    found = {
        calibration_loss(R.y, R.other, cut=cut, sample_weight=c * often).value
        for c in (1e-6, 0.37, 1.0, 7.0, 1e6)
    }
    assert max(found) == pytest.approx(min(found), rel=1e-9)


def test_every_row_twice_is_two_rows_of_any_weight():
    twice = risk_coverage(np.tile(R.y, 2), np.tile(R.prob, 2), **FEW)
    weighted = risk_coverage(
        np.tile(R.y, 2), np.tile(R.prob, 2), sample_weight=np.full(180, 0.5), **FEW
    )
    assert weighted.area.value == pytest.approx(twice.area.value)
    often = np.rint(R.weight).astype(int)
    counted = risk_coverage(R.y, R.prob, sample_weight=often, **FEW)
    repeated = risk_coverage(np.repeat(R.y, often), np.repeat(R.prob, often), **FEW)
    assert counted.area.value == pytest.approx(repeated.area.value, abs=0.005)  # steps of 1 / n
    assert counted.full.value == pytest.approx(repeated.full.value)
