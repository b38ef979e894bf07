"""Trends: intervals, guesses, counted figures and open batches can be told apart."""

import re

from scarce.plots.picture import Axis, Trend
from scarce.plots.svg import draw
from tests.problems import refused

NAN = float("nan")


def trend(**more):
    how = {"whole": 0.4, "open": [False, False, True, False], **more}
    return Trend(
        ["W1", "W2", "W3", "W4"],
        [0.5, 0.4, 0.3, 0.2],
        [0.3, NAN, 0.1, 0.2],
        [0.7, NAN, 0.6, 0.2],
        Axis("week"),
        Axis("recall", percent=True, ends=(0.0, 1.0)),
        **how,
    )


def test_a_trend_says_in_words_and_numbers_what_it_draws():
    chart = draw(trend())
    assert chart.alternative == (
        "recall: W1 50 % [30 %, 70 %]; W2 40 % (best guess, no interval); "
        "W3 30 % [10 %, 60 %], not finished; W4 20 % (counted). all together: 40 %."
    )
    assert chart.data["value"] == [0.5, 0.4, 0.3, 0.2]
    assert chart.data["open"] == [False, False, True, False]
    assert chart.data["whole"] == 0.4


def test_a_guess_an_interval_a_count_and_an_open_batch_look_different():
    body = draw(trend()).body
    assert body.count('class="open c2"') == 2 + 1  # two guesses and the legend
    assert body.count('class="open grey"') == 1 + 1
    assert body.count('class="dot c1"') == 1 + 1
    assert body.count('class="reach c1"') == 3 + 3  # a line and two ends
    assert body.count('class="reach grey"') == 3
    for words in ("interval", "best guess", "counted", "grey: not finished", "all together"):
        assert f">{words}<" in body


def test_the_legend_names_only_what_is_drawn():
    bare = Trend(["a", "b"], [0.5, 0.4], [NAN, NAN], [NAN, NAN], y=Axis("recall"))
    body = draw(bare).body
    assert ">best guess<" in body
    for words in ("interval", "counted", "grey: not finished", "all together"):
        assert f">{words}<" not in body


def test_nothing_known_is_passed_over():
    chart = draw(Trend(["<a>", "b"], [NAN, 3.0], [NAN, 1.0], [NAN, 9.0], y=Axis("missed")))
    assert "<a>" not in chart.body
    assert "nan" not in chart.body.lower()
    assert "nothing known" in chart.alternative


def test_intervals_stay_within_the_axis():
    near = Trend(["a"], [0.5], [0.0], [1.0], y=Axis("recall", ends=(0.0, 1.0)))
    far = Trend(["a"], [0.5], [-3.0], [9.0], y=Axis("recall", ends=(0.0, 1.0)))
    assert re.findall("<line[^>]*reach[^>]*>", draw(far).body) == re.findall(
        "<line[^>]*reach[^>]*>", draw(near).body
    )


def test_a_trend_needs_one_value_for_each_name():
    with refused("picture-shape"):
        Trend(["a"], [1.0, 2.0], [0.0, 1.0], [2.0, 3.0])
    with refused("picture-shape"):
        Trend([], [], [], [])
