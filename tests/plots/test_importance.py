"""Importance drawn: means and standard errors over shuffles, the greatest on top."""

import numpy as np
import pytest
from sklearn.inspection import permutation_importance
from sklearn.linear_model import LogisticRegression

from scarce import MaxentClassifier
from scarce.errors import DataError, UsageError
from scarce.plots import ImportanceDisplay
from tests.problems import refused


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(3)
    X = rng.normal(size=(500, 3))
    y = np.where((X[:, 1] > 0.5) & (rng.random(500) < 0.6), 1.0, np.nan)
    return MaxentClassifier(features="lq").fit(X, y), X, y


def widths(ax):
    return [patch.get_width() for patch in ax.patches]


def test_bars_are_the_model_s_ranking(fitted):
    model, X, y = fitted
    display = ImportanceDisplay.from_estimator(model, X, y, random_state=0, n_repeats=4)
    ranked = model.permutation_importance(X, y, random_state=0, n_repeats=4).ranked()
    assert [tuple(bar) for bar in display.bars_] == [pytest.approx(row) for row in ranked]
    np.testing.assert_allclose(widths(display.ax_), [row[1] for row in ranked])
    bars = display.ax_.containers[1].lines[2][0].get_segments()
    for bar, (_, mean, error) in zip(bars, ranked, strict=True):
        np.testing.assert_allclose(bar[:, 0], [mean - error, mean + error])
    labels = [text.get_text() for text in display.ax_.get_yticklabels()]
    assert labels == [row[0] for row in ranked]
    assert labels[0] == "x1"
    assert display.ax_.yaxis_inverted()  # the first stands on top
    assert "gain" in display.ax_.get_xlabel()


def test_auc_is_another_measure(fitted):
    model, X, y = fitted
    found = model.permutation_importance(X, y, random_state=0)
    display = ImportanceDisplay.from_result(found, measure="auc", names={"x1": "rain (mm)"})
    assert display.bars_[0].loss == pytest.approx(found.auc_drop[1].mean())
    assert "AUC" in display.ax_.get_xlabel()
    assert display.ax_.get_yticklabels()[0].get_text() == "rain (mm)"


def test_other_classifiers_are_ranked_by_scikit_learn(rng):
    X = rng.normal(size=(200, 2))
    y = (X[:, 0] + 0.3 * rng.normal(size=200) > 0).astype(int)
    model = LogisticRegression().fit(X, y)
    display = ImportanceDisplay.from_estimator(model, X, y)
    wanted = permutation_importance(
        model, X, y, scoring="neg_log_loss", n_repeats=5, random_state=0
    )
    np.testing.assert_allclose(display.drops, wanted.importances)
    assert display.ax_.get_xlabel().startswith("increase of log loss")
    assert display.ax_.get_title() == "LogisticRegression"


def test_only_the_greatest_are_drawn_and_the_rest_is_counted():
    display = ImportanceDisplay(list("abcd"), [[1], [4], [3], [2]]).plot(most=2)
    assert [bar.variable for bar in display.bars_] == ["b", "c"]
    assert display.ax_.get_title() == "the 2 most important of 4"
    assert len(display.ax_.containers) == 1  # one shuffle has no standard error


def test_long_variables_are_told_apart():
    parts = ("Wettest", "Driest", "Warmest", "Coldest")
    for words in ("Mean Temperature of {} Quarter (degrees C)", "mean_{}" + "_of_it_all" * 9):
        names = [words.format(part) for part in parts]
        display = ImportanceDisplay(names, np.arange(4.0)[:, None]).plot()
        display.figure_.canvas.draw()
        labels = display.ax_.get_yticklabels()
        assert len({text.get_text() for text in labels}) == 4
        assert all(any(part in text.get_text() for part in parts) for text in labels)
        found = [text.get_window_extent() for text in labels]
        assert not [1 for i, a in enumerate(found) for b in found[:i] if a.overlaps(b)]


def test_refusals():
    with refused("picture-shape", DataError, shape=(2, 2), variables=1):
        ImportanceDisplay(["a"], [[1, 2], [3, 4]])
    with refused("integer-range", UsageError, argument="most", value=0):
        ImportanceDisplay(["a"], [[1, 2]]).plot(most=0)
    with refused("unknown-word", UsageError, argument="measure"):
        ImportanceDisplay.from_result(None, measure="acu")


def test_weights_reach_both_ways_of_ranking(fitted, rng):
    model, X, y = fitted
    weight = np.where(X[:, 0] > 0, 5.0, 1.0)
    found = model.permutation_importance(X, y, weight, random_state=0)
    display = ImportanceDisplay.from_estimator(model, X, y, sample_weight=weight)
    np.testing.assert_allclose(display.drops, found.gain_drop)
    truth = (X[:, 1] > rng.normal(size=500)).astype(int)
    other = LogisticRegression().fit(X, truth)
    display = ImportanceDisplay.from_estimator(other, X, truth, sample_weight=weight)
    wanted = permutation_importance(
        other, X, truth, scoring="neg_log_loss", n_repeats=5, random_state=0, sample_weight=weight
    )
    np.testing.assert_allclose(display.drops, wanted.importances)
