"""A mixture drawn: every row counted once, and lines that expect as many as there are."""

import numpy as np
import pytest
from scipy.stats import norm

from scarce import ScoreMixture
from scarce.errors import UsageError
from scarce.plots import MixtureDisplay
from tests.problems import refused


@pytest.fixture(scope="module")
def fitted(week):
    scores, labels, _ = week
    return ScoreMixture(background="normal").fit(scores, labels)


def test_every_row_is_counted_by_its_label(fitted, week):
    scores, labels, _ = week
    display = MixtureDisplay.from_estimator(fitted, threshold=9.2)
    states = {"unlabelled": np.isnan(labels), "negative": labels == 0, "positive": labels == 1}
    steps = {patch.get_label(): patch.get_data() for patch in display.ax_.patches}
    words = ("not labelled", "labelled, no event", "labelled event")
    assert tuple(steps) == words
    for (state, held), label in zip(states.items(), words, strict=True):
        wanted, _ = np.histogram(scores[held], display.edges_)
        if state == "unlabelled":  # kept in bins of their own, as the mixture was fitted to them
            assert steps[label].values.sum() == held.sum()
            assert abs(steps[label].values - wanted).max() <= 2
        else:
            np.testing.assert_allclose(steps[label].values, wanted)
        np.testing.assert_array_equal(steps[label].values, display.counts_[state])
    assert 9.2 in display.edges_.round(12)
    assert display.edges_[0] <= scores.min() < display.edges_[1]
    assert display.edges_[-2] < scores.max() <= display.edges_[-1]


def test_lines_are_what_the_families_expect(fitted, named):
    display = MixtureDisplay.from_estimator(fitted, threshold=9.2)
    half = np.diff(display.edges_)[0] / 2
    share = fitted.positive_share_
    for label, part, (mean, log_spread) in (
        ("fitted: events (normal)", share, fitted.foreground_params_),
        ("fitted: non-events (normal)", 1 - share, fitted.background_params_),
    ):
        line = named(display.ax_, label)
        s = line.get_xdata()
        law = norm(mean, np.exp(log_spread))
        wanted = 6000 * part * (law.cdf(s + half) - law.cdf(s - half))
        np.testing.assert_allclose(line.get_ydata(), wanted, rtol=1e-6, atol=1e-8)
    total = named(display.ax_, "fitted: all rows").get_ydata()
    parts = [named(display.ax_, f"fitted: {of} (normal)") for of in ("events", "non-events")]
    np.testing.assert_allclose(total, parts[0].get_ydata() + parts[1].get_ydata())


def test_threshold_scale_and_title(fitted, named):
    display = MixtureDisplay.from_estimator(fitted, threshold=9.2, name="week 4")
    assert named(display.ax_, "threshold 9.2").get_xdata()[0] == 9.2
    assert display.ax_.get_yscale() == "log"
    assert display.ax_.get_title() == "week 4"
    plain = MixtureDisplay.from_estimator(fitted, log=False, bins=20)
    assert plain.ax_.get_yscale() == "linear"
    assert len(plain.edges_) == 21


def test_states_differ_without_colour(fitted):
    display = MixtureDisplay.from_estimator(fitted)
    assert len({patch.get_hatch() for patch in display.ax_.patches}) == 3
    assert len({str(line._dash_pattern) for line in display.ax_.lines}) == 3


def test_a_mixture_that_failed_is_drawn_with_a_warning(rng):
    scores = rng.normal(size=200)
    display = MixtureDisplay.from_predictions(scores)
    assert not display.mixture.identified_
    assert "not identified" in display.ax_.get_title()
    assert display.counts_["unlabelled"].sum() == 200


def test_refusals(fitted):
    with refused("wrong-record", UsageError, kind="str"):
        MixtureDisplay("scores")
    with refused("integer-range", UsageError, argument="bins", value=1):
        MixtureDisplay(fitted).plot(bins=1)
