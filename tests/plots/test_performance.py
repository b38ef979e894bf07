"""Precision against recall, drawn: the record's curve, boxes, threshold and slope."""

from dataclasses import replace

import matplotlib.pyplot as plt
import numpy as np
import pytest
from matplotlib.colors import to_rgb

from scarce import Estimate, choose_labels, estimate_performance
from scarce.errors import UsageError
from scarce.plots import PerformanceDisplay
from tests.problems import refused

LINE = "estimate at each threshold"


@pytest.fixture(scope="module")
def found(week):
    scores, labels, truth = week
    labels = labels.copy()
    todo = choose_labels(scores, labels, policy="audit", n=100, threshold=9.2, random_state=0)
    labels[todo.rows] = truth[todo.rows]
    held = {"inclusion": todo.inclusion(len(scores)), "check": False}
    return estimate_performance(scores, labels, threshold=9.2, **held)


def tangent(ax):
    return next(line for line in ax.lines if line.get_label().startswith("slope dP/dR"))


def test_the_line_is_the_record_s_curve_with_its_own_threshold_in_it(found, named):
    display = PerformanceDisplay.from_result(found)
    curve = found.curve()
    drawn = named(display.ax_, LINE).get_xydata()
    own = drawn[display.curve.threshold == 9.2]
    np.testing.assert_allclose(own, [[found.recall.value, found.precision.value]])
    others = drawn[display.curve.threshold != 9.2]
    np.testing.assert_allclose(others, np.c_[curve.recall[:, 0], curve.precision[:, 0]])
    assert (np.diff(display.curve.threshold) < 0).all()


def test_the_region_is_the_boxes_of_the_intervals(found):
    display = PerformanceDisplay.from_result(found, thresholds=[8.0, 8.8, 9.2])
    curve = found.curve([8.0, 8.8, 9.2])
    (region,) = [p for p in display.ax_.patches if "intervals along" in p.get_label()]
    corners = region.get_path().vertices.reshape(-1, 5, 2)
    np.testing.assert_allclose(corners[:, :, 0].min(axis=1), curve.recall[:, 1])
    np.testing.assert_allclose(corners[:, :, 0].max(axis=1), curve.recall[:, 2])
    np.testing.assert_allclose(corners[:, :, 1].min(axis=1), curve.precision[:, 1])
    np.testing.assert_allclose(corners[:, :, 1].max(axis=1), curve.precision[:, 2])
    x, y = corners[:, :, 0], corners[:, :, 1]
    area = (x[:, :-1] * y[:, 1:] - x[:, 1:] * y[:, :-1]).sum(axis=1) / 2  # with its sign
    wanted = np.diff(curve.recall[:, 1:])[:, 0] * np.diff(curve.precision[:, 1:])[:, 0]
    np.testing.assert_allclose(area, wanted)  # boxes, all one way round: overlaps are no darker
    bare = PerformanceDisplay.from_result(found, thresholds=[8.0, 9.2], intervals=False)
    assert not [p for p in bare.ax_.patches if "intervals along" in p.get_label()]


def test_the_cross_is_the_threshold_s_own_estimate(found):
    display = PerformanceDisplay.from_result(found, thresholds=[8.0, 9.2])
    (cross,) = display.ax_.containers
    assert cross.get_label() == "threshold 9.2, 90 % intervals"
    np.testing.assert_allclose(
        cross.lines[0].get_xydata(), [[found.recall.value, found.precision.value]]
    )
    across, up = (bar.get_segments()[0] for bar in cross.lines[2])
    np.testing.assert_allclose(across[:, 0], [found.recall.low, found.recall.high])
    np.testing.assert_allclose(up[:, 1], [found.precision.low, found.precision.high])


def test_a_guess_has_no_interval_to_draw(week):
    scores, labels, _ = week
    alone = estimate_performance(scores, labels, threshold=9.2)
    display = PerformanceDisplay.from_result(alone, thresholds=[8.0, 9.2])
    picture = display.picture()
    (mark,) = picture.marks
    assert (mark.x_low, mark.x_high, picture.region) == (None, None, None)
    assert mark.x == alone.recall.value
    assert (mark.low, mark.high) == (alone.precision.low, alone.precision.high)
    assert [line.name for line in picture.lines] == ["guess at each threshold"]


def test_the_tangent_has_the_slope_and_its_fan_the_limits(found):
    display = PerformanceDisplay.from_result(found, thresholds=[8.0, 9.2])
    slope = found.precision_per_recall
    (x0, y0), (x1, y1) = tangent(display.ax_).get_xydata()
    assert (y1 - y0) / (x1 - x0) == pytest.approx(slope.value)
    assert (x0 + x1) / 2 == pytest.approx(found.recall.value)
    (fan,) = [p for p in display.ax_.patches if p.get_label() == "90 % interval of the slope"]
    (x, y), one, other = fan.get_xy()[:3]
    assert (one[1] - y) / (one[0] - x) == pytest.approx(slope.low)
    assert (other[1] - y) / (other[0] - x) == pytest.approx(slope.high)
    assert one[0] > x  # to the right: what a lower threshold finds
    bare = PerformanceDisplay.from_result(found, thresholds=[8.0, 9.2], slope=False)
    assert not [p for p in bare.ax_.lines if p.get_label().startswith("slope")]


def test_a_slope_without_end_points_straight_down(found):
    steep = replace(found, precision_per_recall=Estimate(-np.inf, -np.inf, -1.0))
    display = PerformanceDisplay.from_result(steep, thresholds=[8.0, 9.2])
    (x0, y0), (x1, y1) = tangent(display.ax_).get_xydata()
    assert x0 == x1
    assert y1 < y0
    display.figure_.canvas.draw()


def test_what_is_not_identified_is_not_drawn(found):
    nothing = Estimate(np.nan, np.nan, np.nan)
    no_slope = replace(found, precision_per_recall=nothing)
    display = PerformanceDisplay.from_result(no_slope, thresholds=[8.0, 9.2])
    assert not [line for line in display.ax_.lines if line.get_label().startswith("slope")]
    no_guess = replace(found, recall=Estimate(np.nan, 0.1, 0.7))
    display = PerformanceDisplay.from_result(no_guess, thresholds=[8.0, 9.2])
    (cross,) = display.ax_.containers
    assert "no point estimate" in " ".join(cross.get_label().split())
    np.testing.assert_allclose(cross.lines[2][0].get_segments()[0][:, 0], [0.1, 0.7])
    for gone in ({"recall": nothing}, {"precision": nothing}):
        lost = PerformanceDisplay.from_result(replace(found, **gone), thresholds=[8.0, 9.2])
        assert not lost.ax_.containers
        lost.figure_.canvas.draw()


def test_from_predictions_estimates_first(week, named):
    scores, labels, _ = week
    display = PerformanceDisplay.from_predictions(
        scores, labels, threshold=9.2, thresholds=[8.5, 9.2], name="March", check=False
    )
    wanted = estimate_performance(scores, labels, threshold=9.2, check=False)
    assert display.performance.recall == wanted.recall
    assert named(display.ax_, "March") is not None
    second = PerformanceDisplay.from_result(
        wanted.at(8.9), name="April", thresholds=[8.0, 9.0], ax=display.ax_
    )
    assert second.ax_ is display.ax_
    assert len(plt.get_fignums()) == 1


def test_two_on_one_picture_follow_their_lines(found, named):
    first = PerformanceDisplay.from_result(found, name="March", thresholds=[8.0, 9.2])
    PerformanceDisplay.from_result(
        found.at(8.6), name="April", thresholds=[8.0, 8.6, 9.0], ax=first.ax_
    )
    for at, month in enumerate(("March", "April")):
        line = to_rgb(named(first.ax_, month).get_color())
        cross = first.ax_.containers[at]
        (slope,) = [one for one in first.ax_.lines if f"{month}: slope" in one.get_label()]
        assert cross.get_label().startswith(f"{month}: threshold")
        for drawn in (cross.lines[0], slope):
            np.testing.assert_allclose(to_rgb(drawn.get_color()), 0.55 * np.array(line))
    assert len({one.lines[0].get_marker() for one in first.ax_.containers}) == 2


def test_the_legend_lists_what_is_drawn(found, legend):
    nothing = np.full((2, 3), np.nan)
    curve = found.curve([8.0, 9.2])
    display = PerformanceDisplay(found, thresholds=[8.0, 9.2])
    display.curve = replace(curve, recall=nothing)
    words = legend(display.plot().ax_)
    assert LINE not in words
    assert not [one for one in words if "along the line" in one]
    assert any("no point estimate" in one for one in legend(display.plot(name="May").ax_))
    one = np.array([[0.5, 0.5, 0.5], [np.nan, np.nan, np.nan]])  # a point, a box without area
    display.curve = replace(curve, recall=one, precision=one)
    words = legend(display.plot().ax_)
    assert LINE not in words
    assert not [one for one in words if "along the line" in one]


def test_what_is_left_of_the_keywords_goes_to_matplotlib(week, named):
    scores, labels, _ = week
    asked = {"threshold": 9.2, "thresholds": [8.5, 9.2], "check": False}
    display = PerformanceDisplay.from_predictions(
        scores, labels, name="a", color="k", slope=False, **asked
    )
    assert named(display.ax_, "a").get_color() == "k"
    assert not [line for line in display.ax_.lines if "slope" in line.get_label()]


def test_batches_at_their_own_thresholds(week):
    scores, labels, _ = week
    batch = np.where(np.arange(len(scores)) % 2, "a", "b")
    labels = np.where((batch == "a") | (scores >= 9.3), labels, np.nan)
    found = estimate_performance(
        scores, labels, batch=batch, threshold={"a": 9.2, "b": 9.3}, check=False
    )
    display = PerformanceDisplay.from_result(found, thresholds=[8.5, 9.2])
    assert "own threshold" in display.ax_.containers[0].get_label()


def test_what_is_no_performance_is_refused():
    with refused("wrong-record", UsageError, kind="float"):
        PerformanceDisplay(0.3)
