"""The reliability diagram: draws what the table says, nothing invented."""

import numpy as np
import pytest

mpl = pytest.importorskip("matplotlib", reason="needs the extra 'plot'")
mpl.use("Agg")

from scarce.plot import ReliabilityDisplay  # noqa: E402


def test_points_are_the_table(rng):
    prob = rng.beta(1, 30, 5000)
    y = (rng.random(5000) < prob).astype(float)
    display = ReliabilityDisplay.from_predictions(y, prob, name="model")
    drawn = display.ax_.containers[0].lines[0].get_xydata()
    seen = display.table.observed > 0
    np.testing.assert_allclose(drawn[:, 0], display.table.predicted[seen])
    np.testing.assert_allclose(drawn[:, 1], display.table.observed[seen])
    assert display.ax_.get_xlabel() == "probability given"
    mpl.pyplot.close(display.figure_)


def test_bins_without_events_show_their_limit():
    prob = np.repeat([0.01, 0.5], 50)
    y = np.r_[np.zeros(50), np.ones(25), np.zeros(25)]
    display = ReliabilityDisplay.from_predictions(y, prob, bins=[0, 0.1, 1])
    marks = [line for line in display.ax_.lines if line.get_marker() == "v"]
    assert marks[0].get_ydata() == pytest.approx(display.table.high[:1])
    mpl.pyplot.close(display.figure_)


def test_two_sides_share_one_diagonal(rng):
    prob = rng.beta(1, 30, 500)
    y = (rng.random(500) < prob).astype(float)
    first = ReliabilityDisplay.from_predictions(y, prob, name="a")
    ReliabilityDisplay.from_predictions(y, prob, name="b", ax=first.ax_, marker="s")
    labels = first.ax_.get_legend_handles_labels()[1]
    assert labels.count("right") == 1
    mpl.pyplot.close(first.figure_)
