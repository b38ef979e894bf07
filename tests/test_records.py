"""The two result records."""

import json
import math

import pytest

from scarce import Estimate, FitReport, UsageError
from scarce.records import short


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
