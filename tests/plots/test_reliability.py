"""The reliability diagram: draws what the table says, nothing invented."""

import matplotlib.pyplot as plt
import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from scarce.errors import DataError, UsageError
from scarce.evaluation.calibration import reliability
from scarce.plots import ReliabilityCurveDisplay, ReliabilityDisplay
from tests.problems import refused


@pytest.fixture
def rare(rng):
    prob = rng.beta(1, 30, 5000)
    return (rng.random(5000) < prob).astype(float), prob


def points(ax, at=0):
    return ax.containers[at].lines[0].get_xydata()


def test_points_and_bars_are_the_table(rare):
    display = ReliabilityDisplay.from_predictions(*rare, name="model")
    table = display.table
    seen = table.observed > 0
    np.testing.assert_allclose(points(display.ax_)[:, 0], table.predicted[seen])
    np.testing.assert_allclose(points(display.ax_)[:, 1], table.observed[seen])
    bars = display.ax_.containers[0].lines[2][0].get_segments()
    np.testing.assert_allclose([bar[0][1] for bar in bars], table.low[seen])
    np.testing.assert_allclose([bar[1][1] for bar in bars], table.high[seen])
    assert display.histogram_ax_.get_xlabel() == "predicted probability"
    assert display.ax_.get_ylabel() == "observed frequency"


def test_a_band_has_the_table_s_limits(rare, sides, named):
    display = ReliabilityDisplay.from_predictions(*rare, name="model", intervals="band", bins=5)
    table = display.table
    low, high = sides(display.ax_, "90 % band")
    np.testing.assert_allclose(low, table.low)
    np.testing.assert_allclose(high, table.high)
    drawn = named(display.ax_, "model")
    np.testing.assert_allclose(drawn.get_xydata(), np.c_[table.predicted, table.observed])
    assert drawn.get_marker() == "o"


def test_axes_are_logarithmic_where_events_are_rare(rare, rng):
    assert ReliabilityDisplay.from_predictions(*rare).ax_.get_yscale() == "log"
    assert ReliabilityDisplay.from_predictions(*rare, scale="linear").ax_.get_xscale() == "linear"
    prob = rng.random(500)
    y = (rng.random(500) < prob).astype(float)
    often = ReliabilityDisplay.from_predictions(y, prob)
    assert (often.ax_.get_xscale(), often.histogram_ax_.get_xscale()) == ("linear", "linear")
    assert ReliabilityDisplay.from_predictions(y, prob, scale="log").ax_.get_xscale() == "log"
    assert often.ax_.xaxis.get_major_formatter()(0.5, 0) == "50 %"


def test_bins_without_events_show_their_limit_on_logarithmic_axes():
    prob = np.repeat([0.01, 0.5], 50)
    y = np.r_[np.zeros(50), np.ones(25), np.zeros(25)]
    display = ReliabilityDisplay.from_predictions(y, prob, bins=[0, 0.1, 1], scale="log")
    marks = [line for line in display.ax_.lines if line.get_marker() == "v"]
    assert marks[0].get_ydata() == pytest.approx(display.table.high[:1])
    plain = ReliabilityDisplay.from_predictions(y, prob, bins=[0, 0.1, 1])
    np.testing.assert_allclose(points(plain.ax_), [[0.01, 0], [0.5, 0.5]])


def test_events_that_were_given_nothing_are_seen_on_logarithmic_axes():
    prob = np.repeat([0.0, 0.05, 0.3], 40)
    y = np.zeros(120)
    y[[3, 50, 100, 101]] = 1
    display = ReliabilityDisplay.from_predictions(y, prob, bins=[0, 0.01, 0.1, 1])
    assert display.ax_.get_xscale() == "log"
    (mark,) = [line for line in display.ax_.lines if line.get_marker() == "<"]
    assert mark.get_ydata() == pytest.approx([1 / 40])
    assert mark.get_label() == "events predicted with 0 %"
    np.testing.assert_allclose(points(display.ax_)[:, 0], [0.05, 0.3])
    display.figure_.canvas.draw()


def test_probabilities_that_are_all_zero_fall_back_to_plain_axes():
    display = ReliabilityDisplay.from_predictions(np.r_[np.zeros(9), 1], np.zeros(10), bins=[0, 1])
    assert display.ax_.get_xscale() == "linear"
    display.figure_.canvas.draw()


def test_bins_where_everything_happened_can_be_drawn():
    prob = np.repeat([0.1, 0.9], 7)
    y = np.r_[0, 1, np.zeros(5), np.ones(7)]
    display = ReliabilityDisplay.from_predictions(y, prob, bins=[0, 0.5, 1])
    assert points(display.ax_)[1, 1] == 1.0


def test_the_histogram_counts_rows_and_events(rare):
    y, prob = rare
    prob = np.where(np.arange(len(prob)) < 7, 0.0, prob)  # 0 has no place on a logarithm's axis
    display = ReliabilityDisplay.from_predictions(y, prob)
    below = display.histogram_ax_
    low, high = display.ax_.get_xlim()
    assert below.get_xlim() == (low, high)
    rows, events, _ = (patch.get_data() for patch in below.patches)
    np.testing.assert_array_equal(rows.values, np.histogram(prob, rows.edges)[0])
    np.testing.assert_array_equal(events.values, np.histogram(prob[y == 1], rows.edges)[0])
    left = int((prob < low).sum())
    assert left >= 7
    assert below.texts[0].get_text() == f"{left} rows at lower probabilities"
    assert rows.values.sum() == len(prob) - left


def test_two_on_one_picture_share_the_diagonal_and_differ_in_marker(rare, legend):
    y, prob = rare
    first = ReliabilityDisplay.from_predictions(y, prob, name="a")
    second = ReliabilityDisplay.from_predictions(y, prob**2, name="b", ax=first.ax_)
    texts = legend(first.ax_)
    assert texts.count("calibrated") == 1
    assert {"a", "b", "rows (below)"} <= set(texts)
    markers = {one.lines[0].get_marker() for one in first.ax_.containers}
    assert len(markers) == 2
    assert second.histogram_ax_ is first.histogram_ax_  # found again by itself
    assert len(first.histogram_ax_.patches) == 4
    assert len(plt.get_fignums()) == 1


def test_the_second_series_may_be_far_lower(rare):
    y, prob = rare
    first = ReliabilityDisplay.from_predictions(y, prob, name="a")
    before = first.ax_.get_xlim()[0]
    ReliabilityDisplay.from_predictions(y, prob / 1000, name="b", ax=first.ax_)
    assert first.ax_.get_xlim()[0] < before / 100
    assert first.histogram_ax_.get_xlim() == first.ax_.get_xlim()


def test_axes_of_one_s_own_get_a_histogram_where_one_says(rare):
    _, (ax, below) = plt.subplots(2, 1)
    display = ReliabilityDisplay.from_predictions(*rare, ax=ax, histogram=below)
    assert display.histogram_ax_ is below
    assert below.patches
    assert display.ax_.get_xlabel() == "predicted probability"
    alone = ReliabilityDisplay.from_predictions(*rare, ax=plt.subplots()[1])
    assert alone.histogram_ax_ is None
    none = ReliabilityDisplay.from_predictions(*rare, histogram=False)
    assert len(none.figure_.axes) == 1


def hidden(display):
    """Points and bars behind the legend."""
    display.figure_.canvas.draw()
    box = display.ax_.get_legend().get_window_extent()
    ends = [points(display.ax_, at) for at in range(len(display.ax_.containers))]
    for held in display.ax_.containers:
        ends += held.lines[2][0].get_segments()
    places = display.ax_.transData.transform(np.concatenate(ends))
    return [place for place in places if box.contains(*place)]


@pytest.mark.parametrize("n", [1, 500])
def test_the_legend_hides_no_point(rng, n):
    display = ReliabilityDisplay.from_predictions(np.ones(n), 0.3 * rng.random(n), name="sure")
    assert not hidden(display)


def test_where_every_corner_is_taken_the_legend_stands_above(rng):
    prob = rng.random(3000)
    y = (rng.random(3000) < prob).astype(float)
    first = ReliabilityDisplay.from_predictions(1 - y, prob, name="turned")
    assert not hidden(first)
    box, own = first.ax_.get_legend().get_window_extent(), first.ax_.get_window_extent()
    assert box.y0 >= own.y1 - 1
    second = ReliabilityDisplay.from_predictions(y, prob, name="right", ax=first.ax_)
    assert not hidden(second)


def test_few_values_are_points_of_their_own(rng):
    prob = np.repeat([0.02, 0.9], [1500, 500])
    y = (rng.random(2000) < prob).astype(float)
    display = ReliabilityDisplay.from_predictions(y, prob)
    np.testing.assert_allclose(points(display.ax_)[:, 0], [0.02, 0.9])


def test_words_are_refused_in_a_sentence():
    with pytest.raises(DataError, match="sick"):
        ReliabilityDisplay.from_predictions(["sick", "well"], [0.2, 0.1])
    assert plt.get_fignums() == []


def test_from_estimator_asks_the_model(rng):
    X = rng.normal(size=(800, 1))
    y = np.where(rng.random(800) < 1 / (1 + np.exp(3 - X[:, 0])), "fraud", "fair")
    model = LogisticRegression().fit(X, y)
    display = ReliabilityDisplay.from_estimator(model, X, y, bins=4)
    wanted = reliability(y == "fraud", model.predict_proba(X)[:, 1], bins=4)
    np.testing.assert_array_equal(display.table.observed, wanted.observed)
    assert display.name == "LogisticRegression"
    with pytest.raises(DataError):
        ReliabilityDisplay.from_estimator(model, X[:2], ["fraud", None])


def test_refusals(rare):
    table = reliability(*rare)
    with refused("unknown-word", UsageError, argument="intervals"):
        ReliabilityDisplay(table).plot(intervals="bnd")
    with refused("histogram-place", UsageError):
        ReliabilityDisplay(table).plot(histogram=True)
    with refused("histogram-place", UsageError):
        ReliabilityDisplay.from_predictions(*rare, ax=plt.subplots()[1], histogram=True)
    assert ReliabilityDisplay(table).plot().histogram_ax_ is None


def test_weights_draws_and_groups_reach_the_diagram(rng):
    prob = rng.uniform(0.01, 0.3, 400)
    y = (rng.random(400) < prob).astype(float)
    weight = rng.choice([1.0, 4.0], 400)
    shown = ReliabilityDisplay.from_predictions(y, prob, bins=4, sample_weight=weight).table
    plain = reliability(y, prob, bins=4, sample_weight=weight)
    np.testing.assert_allclose(shown.observed, plain.observed)
    np.testing.assert_allclose(shown.high, plain.high)
    half = np.where(np.arange(400) % 2 == 0, y, np.nan)
    drawn = ReliabilityDisplay.from_predictions(half, prob, bins=4, inclusion=np.full(400, 0.5))
    assert drawn.table.rows.sum() == 200
    groups = np.arange(400) // 10
    together = ReliabilityDisplay.from_predictions(y, prob, bins=4, groups=groups).table
    np.testing.assert_allclose(together.high, reliability(y, prob, bins=4, groups=groups).high)


def test_the_curve_without_bins_is_the_record_s(rare, sides, named):
    display = ReliabilityCurveDisplay.from_predictions(*rare, name="model", resamples=100)
    curve, ax = display.curve, display.ax_
    drawn = named(ax, "model").get_xydata()
    seen = curve.predicted >= drawn[0, 0]
    np.testing.assert_allclose(drawn[:, 0], curve.predicted[seen])
    event = curve.observed[seen] > 0
    np.testing.assert_allclose(drawn[event, 1], curve.observed[seen][event])
    assert np.isnan(drawn[~event, 1]).all()  # a logarithmic axis has no 0, and the legend says so
    _, high = sides(ax, "90 % of calibrated probabilities")
    np.testing.assert_allclose(high, np.maximum(curve.high[seen], ax.get_ylim()[0]), rtol=1e-6)
    assert ax.get_xscale() == ax.get_yscale() == "log"
    rng = np.random.default_rng(0)
    prob = rng.random(300)
    often = ReliabilityCurveDisplay.from_predictions(rng.random(300) < prob, prob, resamples=100)
    assert often.ax_.get_xscale() == "linear"
