"""Charts: what is drawn lies where the numbers say, fits, and can be told apart without colour."""

from __future__ import annotations

import itertools
import math
import xml.etree.ElementTree as ET

import numpy as np
import pytest

from scarce.errors import UsageError
from scarce.evaluation.calibration import reliability
from scarce.plots.picture import (
    Axis,
    Bars,
    Bins,
    Curves,
    Histogram,
    Line,
    Mark,
    Panels,
    ReliabilityPicture,
    reliability_picture,
)
from scarce.plots.svg import Chart, draw
from scarce.plots.svg.scale import Scale
from scarce.plots.svg.sheet import LETTER, WIDTH
from tests.problems import refused


def lines_of(lines, x=None, y=None, **more) -> Chart:
    return draw(Curves(lines, x or Axis("x"), y or Axis("y"), **more))


def bins_of(predicted, observed, low, high, rows=None, log=True) -> Chart:
    return draw(ReliabilityPicture({"": Bins(predicted, observed, low, high, rows)}, log=log))


def bars_of(names, values, **more) -> Chart:
    return draw(Bars(names, values, Axis("x"), **more))


def histogram_of(edges, counts, x=None, **more) -> Chart:
    return draw(Histogram(edges, counts, x or Axis("score"), **more))


def panels_of(curves, **y) -> Chart:
    return draw(Panels(curves, Axis("probability", **y)))


def parsed(chart: Chart) -> ET.Element:
    return ET.fromstring(chart.svg)


def of_class(root: ET.Element, *names: str) -> list[ET.Element]:
    return [e for e in root.iter() if set(names) <= set(e.get("class", "").split())]


def number(element: ET.Element, name: str) -> float:
    return float(element.get(name, "nan"))


def points(element: ET.Element) -> list[tuple[float, float]]:
    drawn = element.get("d", "").rstrip("Z").replace("L", "M").split("M")[1:]
    return [tuple(map(float, part.split())) for part in drawn]  # type: ignore[misc]


# --- axes -----------------------------------------------------------------------------------------


def ranges() -> list[tuple[float, float]]:
    rng = np.random.default_rng(0)
    made = []
    for _ in range(300):
        size, place = 10 ** rng.uniform(-8, 8), rng.normal() * 10 ** rng.uniform(-3, 3)
        made.append((size * place, size * (place + rng.uniform(0.01, 3))))
    return [*made, (0.0, 1.0), (-1.0, 1.0), (0.0, 0.93), (5.0, 5.0), (0.0, 0.0), (-3.0, -3.0)]


@pytest.mark.parametrize(("low", "high"), ranges()[::3])
def test_linear_ticks_are_round_even_and_hold_the_values(low: float, high: float):
    axis = Scale.over([low, high])
    step = axis.ticks[1] - axis.ticks[0]
    digit = step / 10 ** math.floor(math.log10(step) + 1e-9)
    assert min(abs(digit - d) for d in (1, 2, 5, 10)) < 1e-6
    assert 2 <= len(axis.ticks) <= 8
    assert np.allclose(np.diff(axis.ticks), step, rtol=1e-6)
    slack = 1e-9 * (axis.high - axis.low)
    assert axis.low <= low + slack
    assert high <= axis.high + slack
    assert len(set(axis.texts)) == len(axis.ticks)  # no two ticks read the same


@pytest.mark.parametrize("decades", [0.2, 0.9, 1.5, 2.4, 3.0, 6.5, 11.0, 30.0])
def test_logarithmic_ticks_are_powers_of_ten_or_between(decades: float):
    axis = Scale.over([3e-7, 3e-7 * 10**decades], log=True)
    for tick in axis.ticks:
        digit = tick / 10 ** math.floor(math.log10(tick) + 1e-9)
        assert min(abs(digit - d) for d in (1, 2, 5)) < 1e-6
    assert 2 <= len(axis.ticks) <= 10
    assert axis.holds(3e-7 * 10**decades)


def test_places_are_what_the_formula_says():
    assert Scale.over([1, 1000], log=True).place([1, 10, 100, 1000], 0, 300).tolist() == [
        0.0, 100.0, 200.0, 300.0,
    ]  # fmt: skip
    assert np.isnan(Scale.over([1, 10], log=True).place([0.0, -1.0], 0, 1)).all()
    with refused("axis-range", low=1.0, high=1.0):
        Scale.over([], ends=(1.0, 1.0))
    with refused("axis-range", low=0.0):
        Scale.over([], ends=(0.0, 1.0), log=True)


# --- lines ----------------------------------------------------------------------------------------


def curve(**more) -> Chart:
    x = np.linspace(0, 10, 11)
    lines = [Line("a", x, x), Line("b", x, 2 * x, 2 * x - 1, 2 * x + 1), Line("c", x, x, grey=True)]
    return lines_of(lines, **more)


def test_a_line_goes_through_its_points():
    root = parsed(curve())
    a = points(of_class(root, "line", "c1")[-1])
    b = points(of_class(root, "line", "c2")[-1])
    assert len(a) == 11
    steps = np.diff(a, axis=0)
    assert np.allclose(steps, steps[0], atol=0.11)  # straight, to the rounding of a coordinate
    assert a[0][1] - a[-1][1] == pytest.approx((b[0][1] - b[-1][1]) / 2, abs=0.2)


def test_lines_differ_in_more_than_colour():
    x = [0, 1]
    chart = lines_of([Line(str(i), x, [i, i], grey=i > 3) for i in range(7)])
    drawn = [e for e in of_class(parsed(chart), "line") if e.tag.endswith("path")]
    looks = [(e.get("stroke-dasharray"), "grey" in e.get("class", "")) for e in drawn]
    assert len(drawn) == 7
    assert len(set(looks)) == 7


def test_a_hole_interrupts_a_line_and_an_unbounded_band_reaches_the_edge():
    chart = lines_of([Line("a", [0, 1, 2, 3], [1, np.nan, 2, 3], [0, 0, 1, 2], [2, 2, np.inf, 4])])
    root = parsed(chart)
    (line,) = [e for e in of_class(root, "line", "c1") if e.tag.endswith("path")]
    assert line.get("d", "").count("M") == 2
    (band,) = [e for e in of_class(root, "band", "c1") if e.tag.endswith("path")]
    assert min(y for _, y in points(band)) < 0  # above the frame, which cuts it
    assert chart.data["lines"][0]["y"][0] == 1.0


def test_one_limit_alone_is_no_band():
    chart = lines_of([Line("a", [0, 1], [1, 2], low=[0, 1])])
    assert of_class(parsed(chart), "band") == []
    assert "low" not in chart.data["lines"][0]


def test_a_tangent_has_the_slope_it_was_given():
    chart = lines_of(
        [Line("p", [0, 1], [1, 0])],
        Axis("recall", ends=(0, 1)),
        Axis("precision", ends=(0, 1)),
        marks=[Mark(0.5, 0.5, "here", slope=-1.0, low=0.4, high=0.7)],
    )
    root = parsed(chart)
    (tangent,) = of_class(root, "tangent")
    (line,) = [e for e in of_class(root, "line", "c1") if e.tag.endswith("path")]
    (x0, y0), (x1, y1) = points(line)
    rise = number(tangent, "y2") - number(tangent, "y1")
    run = number(tangent, "x2") - number(tangent, "x1")
    assert rise / run == pytest.approx((y1 - y0) / (x1 - x0), rel=0.01)
    assert "here" in chart.alternative
    assert chart.data["marks"][0]["slope"] == -1.0


def test_many_points_stay_small():
    x = np.linspace(0, 1, 1_000_000)
    chart = lines_of([Line("a", x, np.sin(x))])
    assert len(chart.svg) < 20_000
    kept = chart.data["lines"][0]["x"]
    assert (kept[0], kept[-1]) == (0.0, 1.0)
    assert len(kept) <= 400


def test_a_step_holds_its_value():
    chart = lines_of([Line("a", [0, 1, 2], [5, 6, 7], step=True)])
    line = chart.data["lines"][0]
    assert line["x"] == [0, 1, 1, 2, 2]
    assert line["y"] == [5, 5, 6, 6, 7]


# --- reliability ----------------------------------------------------------------------------------


def test_points_of_right_probabilities_lie_on_the_diagonal():
    p = np.array([0.001, 0.01, 0.1])
    root = parsed(bins_of(p, p, p / 2, np.minimum(1, 2 * p)))
    dots = [e for e in of_class(root, "dot", "c1") if e.find("*") is not None]
    assert len(dots) == 3
    (line,) = [e for e in of_class(root, "line", "grey") if e.tag.endswith("path")]
    (nested,) = [e for e in root.iter() if e.get("overflow") == "hidden"]
    (x0, y0), (x1, y1) = points(line)
    for dot in dots:
        x = number(dot, "cx") - number(nested, "x")
        y = number(dot, "cy") - number(nested, "y")
        assert y == pytest.approx(y0 + (x - x0) * (y1 - y0) / (x1 - x0), abs=0.3)


def test_where_nothing_happened_the_limit_is_drawn_not_a_point():
    chart = bins_of([0.001, 0.05], [0.0, 0.04], [0.0, 0.02], [0.01, 0.08])
    root = parsed(chart)
    assert len([e for e in of_class(root, "open") if e.find("*") is not None]) == 1
    assert len([e for e in of_class(root, "dot") if e.find("*") is not None]) == 1
    assert "no event" in chart.svg
    assert "observed 0 % [0 %, 1 %]" in chart.alternative


def test_the_numbers_drawn_are_those_of_the_table():
    rng = np.random.default_rng(1)
    p = rng.beta(1, 20, 3000)
    y = (rng.random(3000) < p).astype(float)
    table = reliability(y, p, bins=[0, 0.01, 0.05, 0.2, 1])
    chart = draw(reliability_picture({"": table}, edges=table.edges))
    (held,) = chart.data["series"]
    assert np.allclose(held["observed"], table.observed, rtol=1e-5)
    assert held["rows"] == table.rows.tolist()
    bars = of_class(parsed(chart), "bar")
    heights = np.array([number(bar, "height") for bar in bars])
    assert np.allclose(heights, 44 * table.rows / table.rows.max(), atol=1.0)
    both = draw(reliability_picture({"one": table, "two": table}))
    assert [one["name"] for one in both.data["series"]] == ["one", "two"]


# --- bars -----------------------------------------------------------------------------------------


def test_bars_are_as_long_as_their_values_and_start_at_the_reference():
    chart = bars_of(["a", "b", "c"], [2.0, -1.0, 0.0], low=[1, -2, 0], high=[3, 0, 0])
    bars = of_class(parsed(chart), "bar")
    width = [number(bar, "width") for bar in bars]
    assert width[0] == pytest.approx(2 * width[1], abs=0.2)
    assert width[2] == 0
    assert number(bars[1], "x") + width[1] == pytest.approx(number(bars[0], "x"), abs=0.2)
    assert chart.alternative == "x: a 2; b -1; c 0."


def test_many_bars_are_cut_and_it_is_said():
    chart = bars_of([f"n{i}" for i in range(100)], np.arange(100))
    assert len(of_class(parsed(chart), "bar")) == 40
    assert "60 more are not drawn" in chart.alternative


def test_a_histogram_counts_every_row_by_state():
    counts = {"events": [0, 3, 5], "others": [1000, 20, 0]}
    chart = histogram_of([0, 1, 2, 3], counts, threshold=2.0)
    assert chart.data["counts"] == {"events": [0, 3, 5], "others": [1000, 20, 0]}
    root = parsed(chart)
    assert len(of_class(root, "threshold")) == 2  # in the frame and in the legend
    assert "1,000" in chart.svg
    outlines = [e for e in of_class(root, "line") if e.tag.endswith("path")]
    assert len({e.get("stroke-dasharray") for e in outlines}) == 2
    tall = histogram_of([0, 1, 2], {"a": [10, 5]}, y_log=False)
    (line,) = [e for e in of_class(parsed(tall), "line") if e.tag.endswith("path")]
    heights = [y for _, y in points(line)]
    assert heights[0] - heights[1] == pytest.approx(2 * (heights[-1] - heights[-2]), abs=0.3)


def test_response_panels_share_one_scale():
    chart = panels_of(
        {
            "rain": [
                Line("truth", [0, 1, 2], [0.2, 0.5, 0.8], grey=True),
                Line("estimate", [0, 1, 2], [0.1, 0.5, 0.9]),
            ],
            "heat": [Line("", [0, 1], [0.3, 0.4], [0.2, 0.3], [0.4, 0.5])],
            "wind": [Line("", [5, 5], [0.3, 0.4])],
        },
        percent=True,
    )
    ticks = [e.text for e in of_class(parsed(chart), "tick") if "%" in (e.text or "")]
    assert len(ticks) % 3 == 0
    third = len(ticks) // 3
    assert ticks[:third] == ticks[third : 2 * third]
    assert {"truth", "estimate"} <= {line["name"] for line in chart.data["panels"]["rain"]}


def test_long_names_that_begin_alike_can_be_told_apart_on_the_chart():
    names = [f"Mean Temperature of the {one} Quarter" for one in ("Wettest", "Driest", "Warmest")]
    panels = panels_of({name: [Line("", [0, 1], [0.2, 0.7])] for name in names})
    labels = "".join(e.text or "" for e in of_class(parsed(panels), "label"))
    bars = bars_of(names, [1.0, 2.0, 3.0])
    drawn = "".join(e.text or "" for e in of_class(parsed(bars), "name"))
    for word in ("Wettest", "Driest", "Warmest"):
        assert word in labels
        assert word in drawn
    lines = [number(e, "y") for e in of_class(parsed(bars), "name")]
    assert (np.diff(lines) >= 14).all()  # no line of text lies on another
    tall = [number(e, "y") + number(e, "height") / 2 for e in of_class(parsed(bars), "bar")]
    assert np.allclose(tall, np.array(lines).reshape(3, 2).mean(axis=1) - 5.0, atol=0.2)


# --- what all share -------------------------------------------------------------------------------


def gallery() -> dict[str, Chart]:
    x = np.linspace(0, 1, 50)
    wide = "a name that is far too long for the space that there is " * 2
    return {
        "line": lines_of(
            [Line(wide, x, 1e6 * x), Line("b", x, 1e6 * x**2, grey=True)],
            Axis(wide, percent=True),
            Axis(wide),
            marks=[Mark(0.98, 9.5e5, "near the edge"), Mark(0.01, 100.0, "low")],
            threshold=0.5,
            notes=[wide],
        ),
        "log": lines_of(
            [Line("a", 10.0 ** np.arange(-9, 3), np.arange(12))], Axis("x", log=True, percent=True)
        ),
        "reliability": bins_of(
            [1e-6, 1e-4, 0.9], [0, 1e-3, 0.5], [0, 1e-4, 0.2], [1e-3, 0.01, 0.9], [5, 5, 500]
        ),
        "histogram": histogram_of(
            [1e-7, 1e-3, 1], {wide: [1, 900]}, Axis(wide, log=True, percent=True)
        ),
        "bars": bars_of([wide, "b"], [123456.7, -5.5], low=[1e5, -9], high=[2e5, 0]),
        "response": panels_of({wide: [Line("", x, x)], "b": [Line("", 1e6 * x, x)]}),
    }


@pytest.mark.parametrize("name", gallery())
def test_text_stays_on_the_sheet_and_ticks_do_not_touch(name: str):
    root = parsed(gallery()[name])
    height = float(root.get("viewBox", "").split()[3])
    boxes = []
    for text in root.iter():
        if not text.tag.endswith("text") or not text.text:
            continue
        wide, x = LETTER * len(text.text), number(text, "x")
        start = {"end": x - wide, "middle": x - wide / 2}.get(text.get("text-anchor", ""), x)
        assert start >= -10, text.text
        assert start + wide <= WIDTH + 10, text.text
        assert 0 < number(text, "y") <= height
        boxes.append((start, start + wide, number(text, "y"), text.get("class"), text.text))
    ticks = [box for box in boxes if box[3] == "tick"]
    for a, b in itertools.combinations(ticks, 2):
        apart = abs(a[2] - b[2]) >= 10 or a[1] <= b[0] or b[1] <= a[0]
        assert apart, (a, b)


@pytest.mark.parametrize("name", gallery())
def test_every_chart_has_words_and_a_role(name: str):
    chart = gallery()[name]
    root = ET.fromstring(chart.drawn("The title", ""))
    assert root.get("role") == "img"
    assert root.find("title").text == "The title"
    assert root.find("desc").text == chart.alternative
    assert root.get("aria-label") == f"The title. {chart.alternative}"
    assert len(chart.alternative) > 20
    assert not [e for e in root.iter() if e.get("id") or e.get("style") or e.get("fill")]


@pytest.mark.parametrize(
    ("make", "code"),
    [
        (lambda: lines_of([]), "empty-picture"),
        (lambda: Line("a", [0, 1], [1]), "picture-shape"),
        (lambda: Line("a", [0], [1], dash="wavy"), "unknown-word"),
        (lambda: Bins([0.1], [0.1, 0.2], [0.0], [1.0]), "picture-shape"),
        (lambda: Bins([], [], [], []), "picture-shape"),
        (lambda: reliability_picture({}), "empty-picture"),
        (lambda: bars_of(["a"], [1, 2]), "picture-shape"),
        (lambda: bars_of(["a"], [1], low=[1, 2], high=[1, 2]), "picture-shape"),
        (lambda: histogram_of([1, 0], {"a": [1]}), "picture-shape"),
        (lambda: histogram_of([0, 1], {"a": [1, 2]}), "picture-shape"),
        (lambda: panels_of({}), "empty-picture"),
    ],
)
def test_what_cannot_be_drawn_is_refused(make, code):
    with refused(code, UsageError):
        make()


@pytest.mark.parametrize("value", [0.0, 1.0, -5.0, 1e-12, 1e12])
def test_constant_data_can_be_drawn(value: float):
    flat = np.full(5, value)
    lines_of([Line("a", np.arange(5), flat, flat, flat)])
    bars_of(["a"], [value], low=[value], high=[value])
    panels_of({"a": [Line("", np.arange(5), flat)]})


def test_more_stands_higher_and_further_right():
    chart = lines_of([Line("a", [0, 1, 2], [1, 2, 5])])
    (line,) = [e for e in of_class(parsed(chart), "line", "c1") if e.tag.endswith("path")]
    x, y = zip(*points(line), strict=True)
    assert list(x) == sorted(x)
    assert list(y) == sorted(y, reverse=True)  # a screen counts from its top
