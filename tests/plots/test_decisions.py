"""Pictures of decisions: they draw what the records say, nothing invented."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from scarce.decisions.costs import CostMatrix
from scarce.errors import UsageError
from scarce.evaluation.cost import cost_confusion
from scarce.plots import (
    CostConfusionDisplay,
    CostCurveDisplay,
    DecisionCurveDisplay,
    RiskCoverageDisplay,
)
from scarce.plots.mpl import pyplot
from scarce.plots.svg import draw
from tests.problems import refused

QUICK = {"resamples": 100}


@pytest.fixture
def rows(rng):
    y = (rng.random(800) < 0.1).astype(int)
    return y, 1 / (1 + np.exp(-(1.5 * rng.normal(size=800) + 2.5 * y - 3)))


def assert_band(drawn, curve):
    np.testing.assert_allclose(drawn[0], curve.low, atol=1e-12)
    np.testing.assert_allclose(drawn[1], curve.high, atol=1e-12)


@pytest.mark.parametrize("kind", ["cost", "brier"])
def test_cost_curves_are_the_record(rows, kind, named, sides):
    display = CostCurveDisplay.from_predictions(*rows, kind=kind, name="model", **QUICK)
    curve = display.curve
    np.testing.assert_allclose(named(display.ax_, "model").get_ydata(), curve.cost)
    assert_band(sides(display.ax_), curve)
    if kind == "cost":
        x = curve.probability_cost
        np.testing.assert_allclose(named(display.ax_, "act on no row").get_ydata(), x)
        np.testing.assert_allclose(named(display.ax_, "act on every row").get_ydata(), 1 - x)
    else:
        drawn = named(display.ax_, "best thresholds, model").get_ydata()
        np.testing.assert_allclose(drawn, curve.best)


def test_risk_coverage_is_the_record(rows, named, sides):
    costs = CostMatrix.binary(false_alarm=1, miss=9)
    display = RiskCoverageDisplay.from_predictions(*rows, costs=costs, name="model", **QUICK)
    curve = display.curve
    drawn = named(display.ax_, "model")
    np.testing.assert_allclose(drawn.get_xydata(), np.c_[curve.coverage, curve.risk])
    np.testing.assert_allclose(named(display.ax_, "best possible order").get_ydata(), curve.best)
    assert named(display.ax_, "full coverage").get_ydata()[0] == curve.full.value
    assert display.ax_.xaxis.get_major_formatter()(0.5, 0) == "50 %"
    assert_band(sides(display.ax_), curve)


def test_decision_curve_is_the_record(rows, named, sides):
    display = DecisionCurveDisplay.from_predictions(*rows, name="model", **QUICK)
    curve = display.curve
    drawn = named(display.ax_, "model").get_xydata()
    np.testing.assert_allclose(drawn, np.c_[curve.threshold, curve.net_benefit])
    np.testing.assert_allclose(named(display.ax_, "act on every row").get_ydata(), curve.act_on_all)
    assert_band(sides(display.ax_), curve)
    assert display.ax_.xaxis.get_major_formatter()(0.05, 0) == "5 %"
    assert display.ax_.get_xlim() == (curve.threshold.min(), curve.threshold.max())


def test_a_page_draws_the_same_numbers(rows):
    """One description, two back ends."""
    display = DecisionCurveDisplay.from_predictions(*rows, name="model", **QUICK)
    chart = draw(display.picture("model"))
    (line,) = [one for one in chart.data["lines"] if one["name"] == "model"]
    np.testing.assert_allclose(line["y"], display.curve.net_benefit, rtol=1e-5)
    np.testing.assert_allclose(line["low"], display.curve.low, rtol=1e-5, atol=1e-9)


@pytest.mark.parametrize("display", [CostCurveDisplay, RiskCoverageDisplay, DecisionCurveDisplay])
def test_two_on_one_picture_share_what_they_are_measured_by(rows, display, named):
    y, prob = rows
    first = display.from_predictions(y, prob, name="a", **QUICK)
    display.from_predictions(y, prob**2, name="b", ax=first.ax_, style={"linestyle": "-."}, **QUICK)
    labels = first.ax_.get_legend_handles_labels()[1]
    assert len(labels) == len(set(labels))
    assert {"a", "b"} <= set(labels)
    assert named(first.ax_, "b").get_linestyle() == "-."


@pytest.mark.parametrize("display", [CostCurveDisplay, RiskCoverageDisplay, DecisionCurveDisplay])
def test_what_is_left_of_the_keywords_goes_to_matplotlib(rows, display, named):
    drawn = display.from_predictions(*rows, name="a", color="k", lw=3, **QUICK)
    line = named(drawn.ax_, "a")
    assert (line.get_color(), line.get_linewidth()) == ("k", 3)
    with refused("unknown-argument", UsageError, hint=" Did you mean 'resamples'?"):
        display.from_predictions(*rows, reasmples=100)


def test_a_table_passes_keywords_on_too(rows):
    drawn = CostConfusionDisplay.from_predictions(*rows, [[0, 40], [5, 0]], cmap="Reds", **QUICK)
    assert drawn.ax_.images[0].get_cmap().name == "Reds"


def test_a_second_decision_curve_may_reach_further(rows):
    y, prob = rows
    first = DecisionCurveDisplay.from_predictions(y, prob, at=[0.01, 0.1, 0.5], **QUICK)
    wide = first.ax_.get_xlim()
    second = DecisionCurveDisplay.from_predictions(y, prob, at=[0.1, 0.2], ax=first.ax_, **QUICK)
    assert second.ax_.get_xlim() == wide


def boxes(ax):
    ax.figure.canvas.draw()
    return [text.get_window_extent() for text in ax.texts if text.get_text()]


@pytest.mark.parametrize("own", [True, False])
def test_great_costs_stay_in_their_cells(rows, own):
    y, prob = rows
    costs = CostMatrix.binary(false_alarm=1.23456789e9, miss=98.7654321e9)
    ax = None if own else pyplot().subplots(figsize=(5, 4))[1]
    ax = CostConfusionDisplay.from_predictions(y, prob, costs, ax=ax, **QUICK).ax_
    found = boxes(ax)
    assert all(box.width < ax.bbox.width / 3 for box in found)
    assert not [1 for i, a in enumerate(found) for b in found[:i] if a.overlaps(b)]
    assert any("e11" in text.get_text() for text in ax.texts)


def test_long_classes_are_told_apart(rng):
    names = [f"a class of a long name of which this is number {i} of seven" for i in range(7)]
    costs = CostMatrix(1 - np.eye(7), actions=names, classes=names)
    drawn = CostConfusionDisplay.from_decisions(
        rng.choice(names, 200), rng.choice(names, 200), costs, **QUICK
    )
    drawn.figure_.canvas.draw()
    for labels in (drawn.ax_.get_xticklabels(), drawn.ax_.get_yticklabels()):
        assert len({text.get_text() for text in labels}) == 8
        found = [text.get_window_extent() for text in labels]
        assert not [1 for i, a in enumerate(found) for b in found[:i] if a.overlaps(b)]


def test_a_band_for_the_whole_curve_says_so(rows):
    display = DecisionCurveDisplay.from_predictions(*rows, simultaneous=True, **QUICK)
    assert "90 % band, whole curve" in display.ax_.get_legend_handles_labels()[1]


def test_confusion_writes_cost_limits_and_rows(rows):
    y, prob = rows
    costs = CostMatrix.binary(false_alarm=1, miss=9).with_abstain(0.5, name="ask")
    display = CostConfusionDisplay.from_predictions(y, prob, costs, name="last week", **QUICK)
    texts = [text.get_text() for text in display.ax_.texts]
    table = display.table
    assert (table.counts == cost_confusion(y, decided(prob, costs), costs, **QUICK).counts).all()
    for a in range(3):
        for k in range(2):
            assert f"{table.rows[a, k]:g} rows" in texts
    assert [tick.get_text() for tick in display.ax_.get_yticklabels()] == ["0", "1", "ask", "all"]
    assert "last week" in display.ax_.get_title()


def decided(prob, costs):
    from scarce.decisions.decide import decide

    return decide(prob, costs)


def test_an_unknown_kind_is_refused(rows):
    with refused("unknown-word", UsageError, argument="kind"):
        CostCurveDisplay.from_predictions(*rows, kind="brir")


def test_pictures_pass_groups_on(rows):
    y, prob = rows
    group = np.arange(len(y)) // 8
    drawn = CostConfusionDisplay.from_predictions(y, prob, [[0, 40], [5, 0]], groups=group, **QUICK)
    wanted = cost_confusion(
        y, (prob > 5 / 45).astype(int), [[0, 40], [5, 0]], groups=group, **QUICK
    )
    assert drawn.table.total == wanted.total
    for display in (CostCurveDisplay, DecisionCurveDisplay, RiskCoverageDisplay):
        curve = display.from_predictions(y, prob, groups=group, **QUICK).curve
        figures = [one for one in vars(curve).values() if hasattr(one, "assumes")]
        assert all("groups of rows" in one.assumes for one in figures)


@pytest.mark.parametrize("display", [CostCurveDisplay, RiskCoverageDisplay, DecisionCurveDisplay])
def test_from_estimator_asks_the_model(display, rng, named):
    X = rng.normal(size=(400, 1))
    y = np.where(rng.random(400) < 1 / (1 + np.exp(2 - 2 * X[:, 0])), "fraud", "fair")
    model = LogisticRegression().fit(X, y)
    drawn = display.from_estimator(model, X, y, **QUICK)
    prob = model.predict_proba(X)[:, 1]
    wanted = display.from_predictions((y == "fraud").astype(float), prob, name="twin", **QUICK)
    np.testing.assert_allclose(
        named(drawn.ax_, "LogisticRegression").get_xydata(), named(wanted.ax_, "twin").get_xydata()
    )
