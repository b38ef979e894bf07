"""The result records."""

import json
import math

import numpy as np
import pytest

from scarce import Estimate, FitReport, UsageError
from scarce.results import WidthChoice, short


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
    with pytest.raises(UsageError, match="is not a coverage"):
        Estimate(0.5, 0.4, 0.6, level=level)


def test_empty_intervals_are_refused():
    with pytest.raises(UsageError, match="swap the two"):
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
    assert report.to_dict()["warnings"] == ("Widen the boxes.",)


@pytest.mark.parametrize(
    ("value", "text"), [(0.0, "0"), (1e-9, "1e-09"), (999.9, "1e+03"), (1234.5, "1,234")]
)
def test_short(value, text):
    assert short(value) == text


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
    with pytest.raises(UsageError, match=r"shape \(2, 2\) do not belong to 2 folds and 3 widths"):
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
