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
    evaluate_by,
    log_loss,
    mean_cost,
    risk_coverage,
    savings,
    total_cost,
)
from scarce.errors import DataError, UsageError
from scarce.evaluation.calibration import reliability
from scarce.evaluation.compare import compare_costs, loss_difference
from scarce.evaluation.corp import reliability_curve
from scarce.evaluation.evaluate import at_threshold
from scarce.evaluation.ranking import auc
from tests.problems import refused

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
    "calibration_loss": lambda w: calibration_loss(R.y, R.prob, sample_weight=w, **FEW),
    "compare": lambda w: compare(R.y, {"a": R.prob, "b": R.other}, sample_weight=w, **FEW),
    "compare_costs": lambda w: compare_costs(
        R.y, {"a": R.done, "b": 1 - R.done}, COSTS, sample_weight=w, **FEW
    ),
    "cost_confusion": lambda w: cost_confusion(R.y, R.done, COSTS, sample_weight=w, **FEW),
    "cost_curve": lambda w: cost_curve(R.y, R.prob, sample_weight=w, **FEW),
    "decision_curve": lambda w: decision_curve(R.y, R.prob, sample_weight=w, **FEW),
    "evaluate": lambda w: evaluate(R.y, R.prob, sample_weight=w, groups=R.groups, **FEW),
    "evaluate_by": lambda w: evaluate_by(R.y, R.prob, R.groups % 2, sample_weight=w, **FEW),
    "log_loss": lambda w: log_loss(R.y, R.prob, sample_weight=w, **FEW),
    "loss_difference": lambda w: loss_difference(R.y, R.prob, R.other, sample_weight=w, **FEW),
    "mean_cost": lambda w: mean_cost(R.y, R.done, COSTS, sample_weight=w, **FEW),
    "reliability": lambda w: reliability(R.y, R.prob, sample_weight=w, **FEW),
    "reliability_curve": lambda w: reliability_curve(R.y, R.prob, sample_weight=w, **FEW),
    "risk_coverage": lambda w: risk_coverage(R.y, R.prob, sample_weight=w, **FEW),
    "savings": lambda w: savings(R.y, R.done, COSTS, sample_weight=w, **FEW),
    "total_cost": lambda w: {
        "total": total_cost(R.y, R.done, COSTS, sample_weight=w, **FEW).to_dict()
    },
}
ELSEWHERE = {"read_outcomes", "expected_figures"}  # a reader; weights that count rows


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
    stated = risk_coverage(R.y, R.prob, sample_weight=often, weight_kind="frequency", **FEW)
    assert stated.area.value == pytest.approx(repeated.area.value, rel=1e-12)


COUNTED = {
    "auc": lambda y, p, q, **how: auc(y, p, **how, **FEW),
    "at_threshold": lambda y, p, q, **how: at_threshold(y, p, 0.3, **how, **FEW),
    "brier_curve": lambda y, p, q, **how: brier_curve(y, p, **how, **FEW),
    "brier_score": lambda y, p, q, **how: brier_score(y, p, **how, **FEW),
    "calibration_loss": lambda y, p, q, **how: calibration_loss(y, p, **how, **FEW),
    "compare": lambda y, p, q, **how: compare(y, {"a": p, "b": q}, **how, **FEW),
    "compare_costs": lambda y, p, q, **how: compare_costs(
        y, {"a": (p > 0.2) * 1, "b": (q > 0.2) * 1}, COSTS, **how, **FEW
    ),
    "cost_confusion": lambda y, p, q, **how: cost_confusion(y, (p > 0.2) * 1, COSTS, **how, **FEW),
    "cost_curve": lambda y, p, q, **how: cost_curve(y, p, **how, **FEW),
    "decision_curve": lambda y, p, q, **how: decision_curve(y, p, **how, **FEW),
    "evaluate": lambda y, p, q, **how: evaluate(y, p, **how, **FEW),
    "evaluate_by": lambda y, p, q, **how: evaluate_by(y, p, p > 0.3, **how, **FEW),
    "log_loss": lambda y, p, q, **how: log_loss(y, p, **how, **FEW),
    "loss_difference": lambda y, p, q, **how: loss_difference(y, p, q, **how, **FEW),
    "mean_cost": lambda y, p, q, **how: mean_cost(y, (p > 0.2) * 1, COSTS, **how, **FEW),
    "reliability": lambda y, p, q, **how: reliability(y, p, **how, **FEW),
    "risk_coverage": lambda y, p, q, **how: risk_coverage(y, p, **how, **FEW),
    "savings": lambda y, p, q, **how: savings(y, (p > 0.2) * 1, COSTS, **how, **FEW),
    "total_cost": lambda y, p, q, **how: total_cost(y, (p > 0.2) * 1, COSTS, **how, **FEW),
}


@pytest.mark.parametrize("name", COUNTED)
def test_a_frequency_of_2_is_the_row_twice(name):
    counts = np.arange(90) % 4  # some rows are not there at all
    columns = (R.y, R.prob, R.other)
    once = COUNTED[name](*columns, sample_weight=counts, weight_kind="frequency")
    written_out = COUNTED[name](*(np.repeat(one, counts) for one in columns))
    wanted = dict(leaves(written_out))
    assert dict(leaves(once)) == pytest.approx(wanted, rel=1e-12, nan_ok=True)


def test_counts_are_whole_and_their_kind_is_known():
    with refused("not-counts", DataError, value=1.5, row=1):
        auc([0, 1, 1], [0.1, 0.2, 0.3], sample_weight=[1, 1.5, 2], weight_kind="frequency")
    with refused("unknown-word", UsageError):
        auc([0, 1, 1], [0.1, 0.2, 0.3], weight_kind="counts")
    with refused("too-many-rows", DataError):
        auc([0, 1], [0.1, 0.2], sample_weight=[1e9, 1], weight_kind="frequency")


def test_counted_rows_may_be_drawn_and_come_in_groups(rng):
    y, score = (np.arange(200) % 7 == 0) * 1.0, rng.normal(size=200) + (np.arange(200) % 7 == 0)
    groups, counts = np.arange(200) // 4, 1 + np.arange(200) % 3
    chance = np.full(200, 0.5)
    y[rng.random(200) < 0.5] = np.nan
    how = {"inclusion": chance, "groups": groups}
    once = auc(y, score, sample_weight=counts, weight_kind="frequency", **how)
    many = {name: np.repeat(one, counts) for name, one in how.items()}
    written_out = auc(np.repeat(y, counts), np.repeat(score, counts), **many)
    assert (once.low, once.value, once.high) == pytest.approx(
        (written_out.low, written_out.value, written_out.high), rel=1e-12
    )
