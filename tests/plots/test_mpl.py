"""The frame that all Displays share: axes, looks that differ, nothing left over, plain messages."""

import subprocess
import sys

import numpy as np
import pytest
from matplotlib.colors import to_rgb
from matplotlib.text import Text

from scarce.errors import UsageError
from scarce.plots.mpl import (
    COLOURS,
    DASHES,
    MARKERS,
    Frame,
    framed,
    framed_grid,
    percent,
    pyplot,
)
from scarce.plots.names import one_line
from tests.problems import refused


class Nothing:
    """A Display that draws nothing."""


def some_displays():
    """One of each Display, computed and not drawn."""
    from types import SimpleNamespace

    from scarce import (
        CostMatrix,
        ScoreMixture,
        brier_curve,
        cost_confusion,
        cost_curve,
        decision_curve,
        estimate_performance,
        label_value,
        reliability_curve,
        risk_coverage,
    )
    from scarce import plots as rooms
    from scarce.datasets import make_trial_scores
    from scarce.evaluation.calibration import reliability
    from scarce.linear.losses import loss_of

    rng = np.random.default_rng(0)
    y = (rng.random(300) < 0.2).astype(int)
    prob = np.clip(0.1 + 0.4 * y + 0.3 * rng.random(300), 0, 1)
    quick = {"resamples": 100}
    trial = make_trial_scores(random_state=1)
    mixture = ScoreMixture().fit(trial.scores, trial.y)
    found = estimate_performance(trial.scores, trial.y, threshold=9.1, check=False)
    x = np.linspace(0, 1, 5)
    curve = SimpleNamespace(variable="heat", x=x, prob=x / 2, tilt=x - 1, missing=0.5)
    costs = CostMatrix.binary(false_alarm=1, miss=9)
    return [
        rooms.ReliabilityDisplay(reliability(y, prob), prob=prob, y_true=y),
        rooms.CostCurveDisplay(cost_curve(y, prob, **quick)),
        rooms.CostCurveDisplay(brier_curve(y, prob, **quick)),
        rooms.DecisionCurveDisplay(decision_curve(y, prob, **quick)),
        rooms.RiskCoverageDisplay(risk_coverage(y, prob, **quick)),
        rooms.ReliabilityCurveDisplay(reliability_curve(y, prob, **quick)),
        rooms.CostConfusionDisplay(cost_confusion(y, y, costs, **quick)),
        rooms.MixtureDisplay(mixture, threshold=9.1),
        rooms.PerformanceDisplay(found, thresholds=[8.0, 9.1]),
        rooms.LabelValueDisplay(label_value(mixture, threshold=9.1, n_rows=5000)),
        rooms.ImportanceDisplay(["a", "b"], [[0.1, 0.2], [0.3, 0.5]]),
        rooms.ResponseDisplay([curve]),
        rooms.LossDisplay([loss_of("logistic"), loss_of("gev-canonical", 0.5)]),
    ]


@pytest.fixture(scope="module")
def displays():
    return some_displays()


def panels(display):
    return 3 if type(display).__name__ == "LossDisplay" else 1


def test_every_display_is_tried_here(displays):
    import scarce.plots

    assert {type(one).__name__ for one in displays} == set(scarce.plots.__all__)


def test_displays_draw_on_axes_they_are_given_and_open_no_figure(displays):
    plt = pyplot()
    for display in displays:
        figure, axes = plt.subplots(1, panels(display), squeeze=False)
        where = axes[0] if panels(display) > 1 else axes[0, 0]
        assert display.plot(where) is display
        assert plt.get_fignums() == [figure.number]
        assert display.figure_ is figure
        assert display.ax_ is axes[0, 0]
        figure.canvas.draw()  # warnings of text and layout are errors here
        plt.close(figure)


def test_displays_open_one_figure_and_cut_no_text_off(displays):
    for display in displays:
        display.plot()
        figure = display.figure_
        assert pyplot().get_fignums() == [figure.number]
        figure.canvas.draw()
        width, height = figure.get_size_inches() * figure.dpi
        for ax in figure.axes:
            texts = [ax.title, ax.xaxis.label, ax.yaxis.label, *ax.texts]
            for axis, limits in ((ax.xaxis, ax.get_xlim()), (ax.yaxis, ax.get_ylim())):
                for tick in axis.get_major_ticks():
                    if min(limits) <= tick.get_loc() <= max(limits):
                        texts.append(tick.label1)
            for text in texts:
                if text.get_text() and text.get_visible():
                    box = text.get_window_extent()
                    assert box.x0 > -1, (display, text)
                    assert box.y0 > -1, (display, text)
                    assert box.x1 < width + 1, (display, text)
                    assert box.y1 < height + 1, (display, text)
        pyplot().close(figure)


def test_the_name_given_to_plot_goes_before_the_display_s_own(displays):
    plt = pyplot()
    for display in displays:
        if not hasattr(display, "name"):
            continue
        display.plot(name="the name in hand")
        figure = display.figure_
        words = []
        for ax in figure.axes:
            words += [ax.get_title(), *ax.get_legend_handles_labels()[1]]
        assert any("the name in hand" in one for one in words), display
        plt.close(figure)


def texts(figure):
    """All texts of a figure that are to be seen, in a legend or not."""
    return [one for one in figure.findobj(Text) if one.get_visible() and one.get_text().strip()]


def test_a_long_name_leaves_room_for_the_picture(displays):
    name = "a very long name that nobody meant for a legend, " * 3
    for display in displays:
        if not hasattr(display, "name"):
            continue
        display.plot(name=name)
        figure = display.figure_
        figure.canvas.draw()
        width, height = figure.get_size_inches() * figure.dpi
        for text in texts(figure):
            box = text.get_window_extent()
            if "a very long" in text.get_text():
                assert min(box.x0, box.y0, width - box.x1, height - box.y1) > -1, display
        for ax in figure.axes:
            legend = ax.get_legend()
            if legend is not None:
                box, own = legend.get_window_extent(), ax.get_window_extent()
                assert own.x0 - 1 < box.x0, display
                assert box.x1 < own.x1 + 1, display
        wide = display.ax_.get_window_extent().width
        assert wide > 0.5 * width or type(display).__name__ == "LossDisplay", display
        pyplot().close(figure)


def test_dollars_are_no_mathematics_and_no_name_is_hidden(displays):
    for display in displays:
        if not hasattr(display, "name"):
            continue
        display.plot(name="_cost $5 and $6")
        figure = display.figure_
        figure.canvas.draw()
        named = [one for one in texts(figure) if "cost" in one.get_text() and "5" in one.get_text()]
        assert named, display
        for text in named:
            assert "_cost" in text.get_text()
            words, mathematics = text._preprocess_math(text.get_text())
            assert mathematics is False
            assert "$5 and $6" in words
        pyplot().close(figure)


def test_pictures_that_would_hide_each_other_are_refused(displays):
    alone = {
        "CostConfusionDisplay",
        "ImportanceDisplay",
        "LabelValueDisplay",
        "MixtureDisplay",
    }
    for display in displays:
        ax = display.plot().axes_ if panels(display) > 1 else display.plot().ax_
        kind = type(display).__name__
        if kind in alone:
            with refused("axes-taken", UsageError):
                display.plot(ax)
        else:
            before = len(display.ax_.get_legend_handles_labels()[1])
            display.plot(ax, name="again") if kind != "LossDisplay" else display.plot(ax)
            assert len(display.ax_.get_legend_handles_labels()[1]) > before
        assert len(pyplot().get_fignums()) == 1
        pyplot().close("all")


def test_panels_drawn_twice_have_one_legend(displays):
    for display in displays:
        if hasattr(display.plot(), "axes_"):
            display.plot(display.axes_)
            assert len(display.figure_.legends) == 1
            assert not any(ax.get_legend() for ax in display.axes_)
            seen = [text.get_text() for text in display.figure_.legends[0].get_texts()]
            assert any(one.endswith(" (2)") for one in seen)
        pyplot().close("all")


@pytest.mark.parametrize("gone", ["matplotlib", "matplotlib.pyplot"])
def test_without_matplotlib_displays_say_what_to_install(displays, monkeypatch, gone):
    monkeypatch.setitem(sys.modules, gone, None)
    for display in displays:
        with refused("matplotlib-missing"):
            display.plot()
        with pytest.raises(ImportError):
            display.plot()


def test_the_room_is_loaded_without_matplotlib():
    code = "import sys, scarce.plots; sys.exit('matplotlib' in sys.modules)"
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


def test_a_figure_is_closed_again_when_drawing_fails():
    plt = pyplot()
    with pytest.raises(RuntimeError), framed(Nothing(), None, (3, 3)):
        raise RuntimeError
    with (
        pytest.raises(RuntimeError),
        framed_grid(Nothing(), None, 2, (3, 3), 2, share_y=True),
    ):
        raise RuntimeError
    assert plt.get_fignums() == []


def test_a_given_figure_stays_open_when_drawing_fails():
    plt = pyplot()
    figure, ax = plt.subplots()
    with pytest.raises(RuntimeError), framed(Nothing(), ax, (3, 3)):
        raise RuntimeError
    assert plt.get_fignums() == [figure.number]


def test_displays_that_fail_leave_nothing_open(displays):
    for display in displays:
        if type(display).__name__ in ("CostConfusionDisplay", "LabelValueDisplay"):
            continue  # their styles go elsewhere
        with pytest.raises(AttributeError, match="no_such_style"):
            display.plot(no_such_style=1)
        assert pyplot().get_fignums() == [], display


def test_what_is_no_axes_is_refused():
    plt = pyplot()
    figure = plt.figure()
    with (
        refused("axes-type", UsageError, kind="Figure"),
        framed(Nothing(), figure, (3, 3)),
    ):
        pass
    with (
        refused("axes-count", UsageError, panels=3, given=1),
        framed_grid(Nothing(), plt.subplots()[1], 3, (3, 3), 3, share_y=True),
    ):
        pass


def test_panels_fill_rows_evenly():
    for n, rows, columns in ((1, 1, 1), (3, 1, 3), (4, 2, 2), (5, 2, 3), (7, 3, 3)):
        holder = Nothing()
        with framed_grid(holder, None, n, (2, 2), 3, share_y=True) as frames:
            assert len(frames) == n
        places = {ax.get_subplotspec().rowspan.start for ax in holder.axes_}
        assert len(places) == rows
        assert len({ax.get_subplotspec().colspan.start for ax in holder.axes_}) == columns
        assert len(holder.figure_.axes) == n


def test_each_series_differs_in_dashes_as_well_as_in_colour():
    _, ax = pyplot().subplots()
    lines = [Frame(ax, own=False).line([0, 1], [0, i], label=f"{i}") for i in range(5)]
    assert len({line.get_color() for line in lines}) == 5
    assert len({str(line._dash_pattern) for line in lines}) == 5
    assert len({line.get_marker() for line in lines}) == 5


def test_points_differ_in_markers_as_well_as_in_colour():
    _, ax = pyplot().subplots()
    looks = []
    for i in range(len(MARKERS)):
        looks.append(Frame(ax, own=False).take({}, of="points"))
        ax.plot([0], [i], **looks[-1])
    assert len({look["marker"] for look in looks}) == len(MARKERS)


def test_what_the_user_gives_goes_first_under_its_short_name_too():
    _, ax = pyplot().subplots()
    line = Frame(ax, own=False).line([0, 1], [0, 1], label="a", c="red", lw=4, ls=":")
    assert to_rgb(line.get_color()) == (1, 0, 0)
    assert (line.get_linewidth(), line.get_linestyle()) == (4, ":")


def test_colours_differ_for_every_common_vision():
    """Machado, Oliveira and Fernandes (2009), full severity; distance in linear light."""
    rgb = np.array([to_rgb(one) for one in COLOURS])
    linear = np.where(rgb <= 0.04045, rgb / 12.92, ((rgb + 0.055) / 1.055) ** 2.4)
    eyes = {
        "deuteranopia": [
            [0.367322, 0.860646, -0.227968],
            [0.280085, 0.672501, 0.047413],
            [-0.011820, 0.042940, 0.968881],
        ],
        "protanopia": [
            [0.152286, 1.052583, -0.204868],
            [0.114503, 0.786281, 0.099216],
            [-0.003882, -0.048116, 1.051998],
        ],
        "tritanopia": [
            [1.255528, -0.076749, -0.178779],
            [-0.078411, 0.930809, 0.147602],
            [0.004733, 0.691367, 0.303900],
        ],
        "all": np.eye(3),
    }
    for name, eye in eyes.items():
        seen = linear[:4] @ np.array(eye).T
        apart = np.linalg.norm(seen[:, None] - seen[None], axis=2)
        assert apart[np.triu_indices(4, 1)].min() > 0.1, name


def test_a_second_series_of_the_same_name_is_counted():
    _, ax = pyplot().subplots()
    for _ in range(3):
        Frame(ax, own=False).line([0, 1], [0, 1], label="model")
    assert ax.get_legend_handles_labels()[1] == ["model", "model (2)", "model (3)"]


def test_a_label_stands_in_the_legend_once():
    _, ax = pyplot().subplots()
    frame = Frame(ax, own=False)
    for _ in range(2):
        frame.band([0, 1], [0, 0], [1, 1], label="90 % band", color="red")
    assert ax.get_legend_handles_labels()[1] == ["90 % band"]


def test_words_are_short_and_whole():
    assert percent(0.025) == "2.5 %"
    assert percent(1e-5) == "0.001 %"
    assert one_line(["short"], 20) == ["short"]
    (long,) = one_line(["x" * 20 + "y" * 20], 20)
    assert len(long) == 20
    assert long.startswith("xxx")
    assert long.endswith("…")


def test_there_are_as_many_dashes_as_are_told_apart():
    assert len(set(map(str, DASHES))) == len(DASHES)
