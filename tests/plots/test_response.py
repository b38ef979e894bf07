"""Response curves drawn: the model's own, with where it learnt and how far other fits disagree."""

from itertools import pairwise
from types import SimpleNamespace

import matplotlib.pyplot as plt
import numpy as np
import pandas as pd
import pytest

from scarce import MaxentClassifier
from scarce.errors import DataWarning, UsageError
from scarce.plots import ResponseDisplay
from tests.problems import refused


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    n = 600
    table = pd.DataFrame(
        {"heat": rng.uniform(0, 30, n), "soil": rng.choice(["clay", "peat", "sand"], n)}
    )
    lives = (abs(table.heat - 18) < 5) & (table.soil != "sand") & (rng.random(n) < 0.5)
    y = np.where(lives, 1.0, np.nan)

    def fit(rows):
        return MaxentClassifier(features="lqh", knots=8).fit(table.iloc[rows], y[rows])

    others = [fit(rng.integers(0, n, n)) for _ in range(5)]
    return fit(np.arange(n)), others


@pytest.mark.parametrize("kind", ["prob", "tilt"])
def test_lines_are_the_model_s_curves(fitted, named, kind):
    model, _ = fitted
    display = ResponseDisplay.from_estimator(model, kind=kind, name="owl")
    heat, soil = display.axes_
    wanted = model.response_curve("heat")
    drawn = named(heat, "owl").get_xydata()
    np.testing.assert_allclose(drawn, np.c_[wanted.x, getattr(wanted, kind)])
    levels = model.response_curve("soil")
    np.testing.assert_allclose(named(soil, "owl").get_ydata(), getattr(levels, kind))
    assert named(soil, "owl").get_linestyle() == "None"
    assert [text.get_text() for text in soil.get_xticklabels()] == ["clay", "peat", "sand"]
    shown = [line for line in heat.lines if line.get_label() == "value missing"]
    assert len(shown) == (kind == "prob")
    if shown:
        assert shown[0].get_ydata()[0] == wanted.missing


def test_ticks_are_quantiles_of_the_rows_learnt_from(fitted, named):
    model, _ = fitted
    heat, soil = ResponseDisplay.from_estimator(model).axes_
    ticks = named(heat, "training rows, every 5 %").get_xdata()
    np.testing.assert_allclose(ticks, model.pool_quantiles_[0][::5])
    assert len(ticks) == 21
    assert not [line for line in soil.lines if "learnt" in line.get_label()]


def test_the_band_holds_the_share_of_other_fits(fitted, sides):
    model, others = fitted
    display = ResponseDisplay.from_estimator(model, others=others, level=0.5)
    heat, soil = display.axes_
    x = model.response_curve("heat").x
    table = [np.interp(x, (c := one.response_curve("heat")).x, c.prob) for one in others]
    low, high = sides(heat, "50 % of 5 other fits")
    np.testing.assert_allclose(low, np.quantile(table, 0.25, axis=0))
    np.testing.assert_allclose(high, np.quantile(table, 0.75, axis=0))
    bars = soil.collections[0].get_segments()
    table = [one.response_curve("soil").prob for one in others]
    np.testing.assert_allclose([bar[0][1] for bar in bars], np.quantile(table, 0.25, axis=0))
    np.testing.assert_allclose([bar[1][1] for bar in bars], np.quantile(table, 0.75, axis=0))


def test_variables_and_names_are_the_user_s(fitted):
    model, _ = fitted
    display = ResponseDisplay.from_estimator(model, ["heat"], names={"heat": "heat (degrees)"})
    assert [ax.get_xlabel() for ax in display.axes_] == ["heat (degrees)"]
    assert len(ResponseDisplay.from_estimator(model, "soil").axes_) == 1
    _, axes = plt.subplots(1, 2)
    given = ResponseDisplay.from_estimator(model, ax=axes)
    assert list(given.axes_) == list(axes)


def test_of_many_variables_those_with_the_largest_range_are_drawn(rng):
    X = rng.normal(size=(400, 15))
    y = np.where((X[:, 3] + X[:, 14] > 1) & (rng.random(400) < 0.7), 1.0, np.nan)
    model = MaxentClassifier(features="l").fit(X, y)
    display = ResponseDisplay.from_estimator(model, n=5)
    drawn = [curve.variable for curve in display.curves]
    swing = {f"x{v}": np.ptp(model.response_curve(v).tilt) for v in range(15)}
    assert len(drawn) == 12
    assert min(swing[v] for v in drawn) >= max(s for v, s in swing.items() if v not in drawn)
    assert drawn == sorted(drawn, key=lambda v: int(v[1:]))
    note = display.figure_.get_suptitle()
    assert note.startswith("12 of 15 variables")
    _, axes = plt.subplots(3, 5)
    assert len(ResponseDisplay.from_estimator(model, n=5, ax=axes).axes_) == 15
    with pytest.warns(DataWarning, match="shows 12 of 15 variables"):
        ResponseDisplay.from_estimator(model, n=5, ax=plt.subplots(3, 4)[1])
    with refused("unknown-column", UsageError, value="x", count=15):
        ResponseDisplay.from_estimator(model, ["x"])


def curve_of(variable, x):
    x = np.asarray(x, dtype=float)
    return SimpleNamespace(variable=variable, x=x, prob=x / 99, tilt=x, missing=0.5)


def test_long_variables_are_told_apart():
    parts = ("Wettest", "Driest", "Warmest", "Coldest")
    for words in ("Mean Temperature of {} Quarter (degrees C)", "mean_{}" + "_of_it_all" * 9):
        curves = [curve_of(words.format(part), [0, 1]) for part in parts]
        axes = ResponseDisplay(curves).plot().axes_
        labels = [ax.get_xlabel() for ax in axes]
        assert len(set(labels)) == 4
        assert all(any(part in one for part in parts) for one in labels)
        axes[0].figure.canvas.draw()
        for ax in axes:
            assert ax.xaxis.label.get_window_extent().width < 1.2 * ax.bbox.width


@pytest.mark.parametrize("n", [3, 6, 14, 60])
def test_names_of_levels_do_not_overlap(n):
    words = [f"kind of land {at}" for at in range(n)]
    curves = [curve_of(name, np.arange(n)) for name in "abc"]
    display = ResponseDisplay(curves, levels=dict.fromkeys("abc", words)).plot()
    display.figure_.canvas.draw()
    labels = [text for text in display.ax_.get_xticklabels() if text.get_text()]
    assert min(n, 8) <= len(labels) <= 18
    found = [text.get_window_extent() for text in labels]
    if labels[0].get_rotation() == 90:
        assert not [1 for a, b in pairwise(found) if a.overlaps(b)]
    else:  # slanted: their lines are further apart than they are high
        apart = np.diff([box.x1 for box in found]).min() * np.sin(np.radians(30))
        assert apart > labels[0].get_fontsize() * display.figure_.dpi / 72


def test_refusals(fitted):
    from sklearn.linear_model import LogisticRegression

    model, _ = fitted
    with refused("wrong-record", UsageError, kind="LogisticRegression"):
        ResponseDisplay.from_estimator(LogisticRegression())
    with refused("unknown-word", UsageError, argument="kind"):
        ResponseDisplay.from_estimator(model, kind="prb")
    with refused("empty-picture", UsageError):
        ResponseDisplay([])
    with refused("level-range", UsageError, value=2):
        ResponseDisplay.from_estimator(model, level=2)
    with refused("unknown-column", UsageError, hint=" Did you mean 'heat'?"):
        ResponseDisplay.from_estimator(model, ["haet"])
    assert plt.get_fignums() == []
