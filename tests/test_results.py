"""The result records."""

import importlib
import json
import math
import pkgutil
from dataclasses import dataclass
from datetime import date
from pathlib import Path

import numpy as np
import pytest

import scarce
from scarce import Estimate, FitReport, UsageError
from scarce.auto.bands import RowBands, ScoreBands
from scarce.auto.drivers import Drivers
from scarce.decisions.bands import Idle, find_bands
from scarce.decisions.decide import decision_table
from scarce.evaluation.calibration import reliability
from scarce.evaluation.compare import compare_costs
from scarce.evaluation.corp import reliability_curve
from scarce.missed.audit import count_missed
from scarce.results import RankedFit, Record, Selection, WidthChoice, short, to_json, to_plain
from tests.problems import refused


def test_an_estimate_never_travels_alone():
    recall = Estimate(0.62, 0.48, 0.74, method="audit", assumes="a random audit")
    assert str(recall) == "0.62 [0.48, 0.74] (90 %, audit)"
    assert 0.5 in recall
    assert 0.75 not in recall
    assert json.loads(json.dumps(recall.to_dict()))["assumes"] == "a random audit"


def test_not_identified_and_unbounded_are_said():
    unknown = Estimate(math.nan, 0.0, math.inf, method="none")
    assert str(unknown) == "unknown [0, inf] (90 %, none)"
    assert unknown.width == math.inf


@pytest.mark.parametrize("level", [0, 1, -0.1, 90])
def test_levels_are_coverages(level):
    with refused("level-range", UsageError, value=level):
        Estimate(0.5, 0.4, 0.6, level=level)


def test_empty_intervals_are_refused():
    with refused("empty-interval", UsageError, low=0.6, high=0.4):
        Estimate(0.5, 0.6, 0.4)


def test_records_do_not_change():
    with pytest.raises(AttributeError):
        Estimate(0.5, 0.4, 0.6).value = 1.0


def test_a_report_says_how_the_fit_ended():
    report = FitReport(False, 0.2, 1.5, 1, 0.1, warnings=("Widen the boxes.",))
    assert str(report) == (
        "NOT converged: gradient norm 0.2 after 1 pass, objective 1.5\nwarning: Widen the boxes."
    )
    with pytest.raises(AttributeError, match="not on a duality gap"):
        _ = report.gap
    assert FitReport(True, 1e-9, 1.0, 2, 0.1, proves="duality gap").gap == 1e-9
    exact = FitReport(True, 0.0, 2.5, 1, 0.1, proves="closed form")
    assert str(exact) == "solved in closed form after 1 pass, objective 2.5"
    assert report.to_dict()["warnings"] == ["Widen the boxes."]


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0"),
        (1e-9, "1e-09"),
        (-2.5e-7, "-0.00000025"),
        (9.999e-5, "0.0001"),
        (999.4, "999"),
        (999.9, "1,000"),
        (1234.5, "1,234"),
    ],
)
def test_short(value, text):
    assert short(value) == text


@pytest.mark.parametrize(
    ("value", "expected"),
    [
        (None, None),
        (True, True),
        (3, 3),
        (0.1, 0.1),
        (math.nan, None),
        (math.inf, "Infinity"),
        (-math.inf, "-Infinity"),
        (np.float64(0.25), 0.25),
        (np.float32("nan"), None),
        (np.int64(7), 7),
        (np.bool_(True), True),
        (np.str_("a"), "a"),
        (
            np.array([[1.0, math.nan], [math.inf, -math.inf]]),
            [[1.0, None], ["Infinity", "-Infinity"]],
        ),
        ((1, [2, (3,)]), [1, [2, [3]]]),
        ({np.int64(1): 2, "a": {"b": math.nan}}, {"1": 2, "a": {"b": None}}),
        (Path("a") / "b", str(Path("a") / "b")),
        ({"b", "a"}, ["a", "b"]),
        (date(2026, 5, 1), "2026-05-01"),
    ],
)
def test_plain(value, expected):
    found = to_plain(value)
    assert found == expected
    assert type(found) is type(expected) or isinstance(value, np.str_)
    assert json.loads(to_json(value)) == expected


def test_infinities_are_read_back_by_python():
    assert [float(to_plain(value)) for value in (math.inf, -math.inf)] == [math.inf, -math.inf]


def test_records_go_through_to_dict():
    recall = Estimate(math.nan, 0.1, math.inf, level=0.9, method="audit", assumes="drawn at random")
    assert to_plain(recall) == {
        "value": None,
        "low": 0.1,
        "high": "Infinity",
        "level": 0.9,
        "method": "audit",
        "assumes": "drawn at random",
    }
    report = FitReport(True, 0.0, -math.inf, passes=2, seconds=0.5, warnings=("few rows",))
    assert to_plain({"fit": report})["fit"]["objective"] == "-Infinity"
    assert to_plain(report)["warnings"] == ["few rows"]


def test_other_dataclasses_go_field_by_field():
    @dataclass
    class Pair:
        recall: Estimate
        rows: np.ndarray

    found = to_plain(Pair(Estimate(0.5, 0.0, math.inf), np.array([1])))
    assert (found["recall"]["high"], found["rows"]) == ("Infinity", [1])


@pytest.mark.parametrize("value", [object(), 1j, Estimate])
def test_what_has_no_json_form_is_refused(value):
    with refused("no-json-form", UsageError, type=type(value).__name__):
        to_plain(value)


def test_keys_that_would_fall_together_are_refused():
    with refused("duplicate-keys", UsageError):
        to_plain({1: "a", "1": "b"})


def test_canonical_is_one_ascii_line_whatever_the_order():
    assert to_json({"b": 1, "a": "Bradýpus\n"}) == r'{"a":"Brad\u00fdpus\n","b":1}'
    assert to_json({"a": 1, "b": 2}) == to_json({"b": 2, "a": 1})


def choice(**changes):
    given = {
        "widths": np.array([4.0, 2.0, 1.0]),
        "scores": np.array([[0.1, 0.4, 0.3], [0.3, 0.2, -0.1]]),
        "weights": np.array([3.0, 1.0]),
        "width_scale": 2.0,
        "score": 0.35,
        "error": 0.1,
    }
    return WidthChoice(**{**given, **changes})


def test_a_choice_of_widths_weighs_its_folds():
    np.testing.assert_allclose(choice().mean, [0.15, 0.35, 0.2])
    assert np.isnan(choice(scores=np.array([[np.nan, 1, 2], [0.0, 0, 0]])).mean[0])


def test_a_choice_of_widths_says_when_it_is_at_the_edge():
    assert not choice().at_edge
    assert choice(width_scale=4.0).at_edge
    assert choice(width_scale=1.0).at_edge
    alone = choice(widths=np.array([2.0]), scores=np.zeros((2, 1)))
    assert not alone.at_edge


def test_a_choice_of_widths_in_words():
    assert str(choice()) == (
        "chosen on 2 folds: width_scale 2, gain 0.35 +- 0.1 nats per labelled row"
    )
    for score in (0.0, -0.2, math.nan):
        assert str(choice(score=score)).endswith("the labels say nothing here")


def test_a_choice_of_widths_has_a_score_for_each():
    with refused("shape-mismatch", UsageError, shape=(2, 2), expected=(2, 3)):
        choice(scores=np.zeros((2, 2)))
    with pytest.raises(AttributeError):
        choice().score = 1.0


def test_a_certificate_in_words():
    gap = FitReport(True, 2e-6, 0.4, 7, 0.02, proves="duality gap").meaning
    assert "within 2e-06 nats" in gap
    assert "off by more than 0.001." in gap
    assert "off by more than 1." in FitReport(False, np.inf, 0, 1, 0, proves="duality gap").meaning
    assert "gradient is 3e-09" in FitReport(True, 3e-9, 0.4, 7, 0.02).meaning
    assert "exact" in FitReport(True, 0.0, 0.4, 1, 0.02, proves="closed form").meaning


def made():
    """One of every record that carries results, some with values that JSON does not know."""
    rng = np.random.default_rng(0)
    prob = rng.beta(1, 4, 200)
    y = (rng.random(200) < prob).astype(int)
    costs = scarce.CostMatrix.binary(false_alarm=5, miss=40)
    done = scarce.decide(prob, costs)
    alerts = np.where(prob > 0.2, y, np.nan)
    yield Estimate(math.nan, -math.inf, math.inf)
    one = np.array([0.1])
    yield RowBands(one, one / 2, one * 2, one * 150, np.array([0]), 0.9)
    yield Drivers(("a",), one, one, 0.3, 150, {"a": (one, np.array([[0.9, 0.1]]))})
    yield FitReport(True, 0.0, math.inf, 1, 0.1, warnings=("Few rows.",))
    yield choice(error=math.nan)
    yield Selection(
        "brier", np.array([np.nan]), np.ones(2), np.zeros((1, 1, 2)), np.ones(1), math.nan, 1.0,
        0.1, "", math.nan, 0.0, 0.0, np.array([np.nan]),
    )  # fmt: skip
    yield RankedFit("gamma", "normal", 41.2, -math.inf, 0.011, 0.008)
    yield scarce.evaluate(y, prob, threshold=0.2)
    yield scarce.evaluate([0, 0, 0], [0.1, 0.0, 1.0], threshold=0.2)
    yield scarce.evaluate(y, prob, threshold=0.2).at_threshold
    yield scarce.compare(y, {"one": prob, "other": np.where(y == 1, 0.0, prob)})
    yield compare_costs(y, {"never": 0 * done, "cheapest": done}, costs)
    day = np.datetime64("2026-01-01") + np.arange(200)
    by_month = scarce.evaluate_by(y, prob, day, period="month", threshold=0.2)
    yield by_month
    yield by_month.segments[0]
    yield by_month.trend
    yield by_month.changes[0]
    yield scarce.expected_figures(prob, threshold=0.2)
    yield scarce.expected_figures(prob, threshold=0.2).at_threshold
    yield scarce.find_base_rates(scarce.GaussianBayes(), y)
    bands = ScoreBands(np.zeros(1), np.full(2, 0.1), np.full(2, 9.0), np.ones(2), np.full(2, 9.0))
    yield bands
    yield bands.of(prob, 0.9)
    yield scarce.calibrate(y, prob)
    yield scarce.estimate_share(prob, validation=(y, prob))
    yield scarce.estimate_positive_share(np.where(y == 1, 1.0, np.nan), prob)
    yield reliability(y, prob)
    yield reliability_curve(y, prob)
    yield reliability_curve(y, prob).brier
    yield scarce.savings(y, done, costs)
    yield scarce.cost_confusion(y, done, costs)
    yield scarce.cost_curve(y, prob)
    yield scarce.brier_curve(y, prob)
    yield scarce.decision_curve(y, prob)
    yield scarce.risk_coverage(y, prob)
    yield scarce.stable_range(prob, costs)
    yield scarce.stable_prior(prob, costs, trained_at=0.2)
    yield decision_table(prob, costs)
    yield scarce.decide_between(prob * 0.5, prob, costs)
    yield scarce.decide_within(prob, costs, capacity={1: 20})
    yield scarce.value_of_asking(prob, costs, price=1.0)
    holes = np.column_stack([prob, np.where(prob > 0.3, np.nan, prob)])
    logit = scarce.RareClassifier("logistic", ridge=1.0).fit(holes, y)
    yield scarce.value_of_fetching(logit, holes, costs)
    yield find_bands(costs)
    yield Idle("ask", None, 0.5)
    found = scarce.estimate_performance(prob, alerts, threshold=0.2)
    yield found
    yield found.what_if()[0]
    yield scarce.stop_when(prob, alerts, threshold=0.2, recall=0.5)
    raised = np.random.default_rng(0).random((300, 3)) < 0.5
    missed = scarce.missed_by_all(raised[raised.any(axis=1)])
    yield missed
    yield missed.pairs[0]
    yield missed.dependence
    yield scarce.choose_labels(prob, policy="random", n=20, random_state=0)
    yield scarce.plan_audit(prob, alerts, threshold=0.2, n=20, repeats=1)
    yield count_missed([0, 1, 0], [0.5, 0.5, 0.5], 20)


@pytest.mark.parametrize("record", list(made()), ids=lambda one: type(one).__name__)
def test_every_record_is_valid_json_and_a_table_in_notebooks(record):
    told = record.to_dict()
    assert json.loads(record.to_json()) == told == json.loads(json.dumps(told, allow_nan=False))
    page = record._repr_html_()
    assert "<table" in page
    assert page.count("<tr>") == page.count("</tr>") > 1


def test_no_record_is_forgotten():
    for module in pkgutil.walk_packages(scarce.__path__, "scarce."):
        importlib.import_module(module.name)
    names = {one.__name__ for one in Record.__subclasses__()}
    assert names == {type(one).__name__ for one in made()}


def test_a_table_in_a_notebook_shows_markup_as_text():
    page = Estimate(0.5, 0.4, 0.6, method="<b>&")._repr_html_()
    assert "&lt;b&gt;&amp;" in page
    assert "<b>" not in page
