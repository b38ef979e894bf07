"""Strips: where values lie to each other, to the truth and to 0."""

from __future__ import annotations

import math
import xml.etree.ElementTree as ET

import pytest

from scarce.plots.svg.strip import EDGE, WIDTH, strip
from scarce.results import Estimate


def drawn(text: str) -> dict[str, float]:
    """Return where things stand: dots by colour, interval ends, 0."""
    found: dict[str, float] = {}
    for element in ET.fromstring(text):
        kind = element.get("class", "")
        if element.tag == "circle":
            found["value"] = float(element.get("cx", "nan"))
        elif element.tag == "line" and kind == "axis":
            found["zero"] = float(element.get("x1", "nan"))
        elif element.tag == "line" and kind == "line c2":
            found["truth"] = float(element.get("x1", "nan"))
        elif element.tag == "line" and kind == "reach c1" and "low" not in found:
            found["low"], found["high"] = (float(element.get(k, "nan")) for k in ("x1", "x2"))
        elif element.tag == "polygon" and "grey" in kind:
            corners = [float(p.split(",")[0]) for p in element.get("points", "").split()]
            found["beside"] = sum(corners) / len(corners)
    return found


def test_everything_lies_on_one_scale_from_0():
    at = drawn(strip(Estimate(0.5, 0.25, 0.75), beside=1.0, truth=0.6))
    scale = WIDTH - 2 * EDGE
    expected = {"zero": 0, "low": 0.25, "value": 0.5, "truth": 0.6, "high": 0.75, "beside": 1.0}
    for name, place in expected.items():
        assert at[name] == pytest.approx(EDGE + scale * place, abs=0.1), name


def test_0_is_left_out_where_it_would_press_a_comparison_together():
    at = drawn(strip(Estimate(1000, 998, 1002), truth=1001))
    assert "zero" not in at
    assert at["high"] - at["low"] > 0.8 * WIDTH
    assert "zero" in drawn(strip(Estimate(1000, 998, 1002)))


def test_an_unbounded_side_reaches_the_edge_and_an_unknown_one_is_not_drawn():
    at = drawn(strip(Estimate(3.0, 1.0, math.inf)))
    assert at["high"] == WIDTH
    assert "low" not in drawn(strip(Estimate(3.0, math.nan, math.nan), beside=1.0))


def test_negative_values_lie_left_of_0():
    at = drawn(strip(Estimate(-0.5, -0.75, -0.25)))
    assert at["low"] < at["value"] < at["high"] < at["zero"]


@pytest.mark.parametrize("value", [3.0, "word", None, Estimate(0.0, 0.0, 0.0)])
def test_nothing_to_compare_is_no_strip(value):
    assert strip(value) == ""
