"""Losses and links drawn: the numbers of scarce.losses, both labels on one scale."""

import matplotlib.pyplot as plt
import numpy as np
import pytest

from scarce.errors import DataError, UsageError
from scarce.linear.losses import loss_of
from scarce.plots import LossDisplay
from tests.problems import refused

SHAPES = (-0.25, 0.5, 1.0)


@pytest.fixture
def losses():
    return {f"shape {shape:g}": loss_of("gev-canonical", shape) for shape in SHAPES}


def test_lines_are_losses_and_links(losses, named):
    scores = np.linspace(-3, 3, 31)
    display = LossDisplay.from_losses(losses, scores=scores)
    event, other, link = display.axes_
    for name, loss in losses.items():
        np.testing.assert_array_equal(named(event, name).get_xdata(), scores)
        ones, zeros = np.ones(31), np.zeros(31)
        np.testing.assert_allclose(named(event, name).get_ydata(), loss.value(ones, scores))
        np.testing.assert_allclose(named(other, name).get_ydata(), loss.value(zeros, scores))
        np.testing.assert_allclose(named(link, name).get_ydata(), loss.link.inverse(scores))
    assert event.get_ylim() == other.get_ylim()
    texts = [text.get_text() for text in display.figure_.legends[0].get_texts()]
    assert texts == list(losses)
    assert len({str(line.get_marker()) for line in event.lines}) == len(losses)


def test_the_constant_can_be_taken_out(losses, named):
    display = LossDisplay.from_losses(losses, zero_at=2.0)
    for name, loss in losses.items():
        line = named(display.ax_, name)
        assert np.interp(2.0, *line.get_data()) == pytest.approx(0.0, abs=1e-6)
        moved = loss.value(np.ones(1), np.array([2.0]))[0]
        np.testing.assert_allclose(line.get_ydata()[0], loss.value(np.ones(1), -5.0)[0] - moved)
    assert "at score 2" in display.ax_.get_ylabel()


def test_a_loss_without_end_does_not_flatten_the_others(named):
    both = {"log": loss_of("gev-log", 0.5), "logistic": loss_of("logistic")}
    display = LossDisplay.from_losses(both)
    assert display.ax_.get_ylim()[1] < 12
    drawn = named(display.ax_, "log").get_ydata()
    assert np.isnan(drawn[0])  # a score that rules the event out: infinite loss
    assert np.isfinite(drawn[-1])


def test_names_come_from_the_link_or_from_the_user():
    display = LossDisplay.from_losses(
        [loss_of("logistic"), loss_of("gev-log", 0.3)], event="a fraud", other="a fair payment"
    )
    assert list(display.losses) == ["logit, log loss", "gev 0.3, log loss"]
    assert [ax.get_ylabel() for ax in display.axes_[:2]] == [
        "loss of a fraud",
        "loss of a fair payment",
    ]


def test_a_long_event_stays_in_the_picture(losses):
    event = "a payment of more than $5 and less than $6 in a shop far away from home" * 2
    display = LossDisplay.from_losses(losses, event=event)
    display.figure_.canvas.draw()
    box = display.ax_.yaxis.label.get_window_extent()
    assert box.y0 > 0
    assert box.y1 < display.figure_.bbox.height
    assert r"\$5" in display.ax_.get_ylabel()


def test_three_axes_of_one_s_own_are_used(losses):
    figure, axes = plt.subplots(1, 3)
    display = LossDisplay.from_losses(losses, ax=axes)
    assert list(display.axes_) == list(axes)
    assert display.figure_ is figure
    assert not figure.legends  # the legend stands in a panel: the figure is not ours
    assert any(ax.get_legend() for ax in axes)


def test_refusals(losses):
    with refused("not-a-loss", UsageError, kind="str"):
        LossDisplay({"x": "logistic"})
    with refused("empty-picture", UsageError):
        LossDisplay([])
    with refused("not-finite", DataError, argument="scores"):
        LossDisplay(losses, scores=[1.0])
    with refused("not-finite", DataError, argument="scores"):
        LossDisplay(losses, scores=[1.0, np.inf])
