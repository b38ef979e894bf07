"""Forest plots, and curves over named positions."""

import numpy as np
import pytest

from scarce import evaluate_by
from scarce.plots.picture import Axis, Curves, Forest, Line, periods_picture, segments_picture
from scarce.plots.svg import draw
from tests.problems import refused


def forest(**more):
    how = {"name": "observed", "beside": {"predicted": [0.15, 0.25]}, "marked": {1: "more"}, **more}
    return Forest(
        ["at", "be"], [0.1, 0.2], [0.0, 0.1], [0.3, 0.4], Axis("rate", percent=True), **how
    )


def test_forest_says_in_words_and_numbers_what_it_draws():
    chart = draw(forest())
    assert chart.alternative == "rate: at 10 % [0 %, 30 %]; be 20 % [10 %, 40 %], more."
    assert chart.data["values"] == [0.1, 0.2]
    assert chart.data["beside"] == {"predicted": [0.15, 0.25]}
    assert chart.body.count("<circle") == 3  # two points and the legend
    for word in ("at", "be", "more", "observed", "predicted"):
        assert f">{word}<" in chart.body


def test_forest_escapes_names_passes_over_nan_and_counts_what_it_leaves_out():
    names = ["<b>", *map(str, range(50))]
    values = np.r_[np.nan, np.linspace(0, 1, 50)]
    chart = draw(Forest(names, values, values, values, Axis("rate")))
    assert "<b>" not in chart.body
    assert chart.alternative.endswith("11 more are not drawn.")
    assert "NaN" not in chart.body
    assert "nan" not in chart.body


def test_forest_needs_one_value_for_each_name():
    with refused("picture-shape"):
        Forest(["a"], [1.0, 2.0], [0.0, 1.0], [2.0, 3.0], Axis("x"))
    with refused("picture-shape"):
        Forest([], [], [], [], Axis("x"))


def test_positions_have_names_on_the_axis_and_in_words():
    axis = Axis("month", names=["2026-01", "2026-02", "2026-03"])
    lines = [Line("rate", [0, 1, 2], [0.1, 0.3, 0.2])]
    chart = draw(Curves(lines, axis, Axis("rate"), threshold=0.5,
                        threshold_name="change"))  # fmt: skip
    assert "from 0.1 at 2026-01 to 0.2 at 2026-03" in chart.alternative
    assert "Marked: change." in chart.alternative
    assert ">2026-02<" in chart.body
    assert chart.data["names"] == ["2026-01", "2026-02", "2026-03"]


@pytest.fixture
def over_time(rng):
    place = np.repeat(np.arange(10), 150)
    prob = rng.beta(1, 9, len(place))
    y = rng.random(len(place)) < np.where(place >= 5, np.minimum(2.5 * prob, 1), prob)
    dates = (np.datetime64("2026-01") + place).astype("datetime64[D]")
    return y, prob, dates


def test_periods_show_observed_expected_and_the_change(over_time):
    y, prob, dates = over_time
    found = evaluate_by(y, prob, dates, period="month", label_delay=40, as_of="2026-10-31",
                        resamples=200)  # fmt: skip
    picture = periods_picture(found)
    names = [line.name for line in picture.lines]
    assert names == ["observed", "mean predicted", "expected, labels still to come"]
    observed, _, expected = (np.asarray(line.y) for line in picture.lines)
    assert np.isnan(observed[-1])
    assert np.isnan(expected[:-2]).all()
    assert np.isfinite(expected[-1])
    assert picture.threshold in (3.5, 4.5, 5.5)
    assert draw(picture).body
    assert periods_picture(found, "auc").threshold is None


def test_segments_are_drawn_with_pooled_and_predicted_rates(over_time):
    y, prob, dates = over_time
    found = evaluate_by(y, prob, np.where(dates < dates[700], "early", "late"), resamples=200)
    picture = segments_picture(found)
    assert list(picture.names) == ["early", "late"]
    assert set(picture.beside) == {"mean predicted", "pooled"}
    assert picture.values[0] == found.segments[0].happened.value
