import numpy as np
import pytest
from scipy import stats

from scarce.datasets import (
    LABELLED_SHARES,
    POSITIVE_SHARES,
    make_convergence_scores,
    make_sine,
    make_step,
    make_trial_scores,
)
from scarce.errors import UsageError
from tests.problems import refused


@pytest.mark.parametrize(
    ("draw", "prevalence"),
    [
        (lambda n, seed: make_sine(n, divisor=64, random_state=seed), 1 / 64),
        (lambda n, seed: make_sine(n, divisor=32, random_state=seed), 1 / 32),
        (lambda n, seed: make_step(n, random_state=seed), 0.095),
    ],
    ids=["sine64", "sine32", "step"],
)
def test_rare_designs_have_their_prevalence_and_labels_follow_prob(draw, prevalence):
    sample = draw(40_000, 0)
    assert sample.X.shape == (40_000, 100)
    assert sample.prevalence == pytest.approx(prevalence, rel=1e-12)
    assert abs(sample.prob.mean() - prevalence) < 5 * sample.prob.std() / np.sqrt(40_000)
    sd = np.sqrt((sample.prob * (1 - sample.prob)).sum())
    assert abs(sample.y.sum() - sample.prob.sum()) < 5 * sd
    high = sample.prob > np.median(sample.prob)
    for rows in (high, ~high):
        sd = np.sqrt((sample.prob[rows] * (1 - sample.prob[rows])).sum())
        assert abs((sample.y[rows] - sample.prob[rows]).sum()) < 5 * sd
    np.testing.assert_array_equal(sample.coef, draw(10, 1).coef)  # train and test agree


def test_sine_and_step_are_the_functions_of_one_direction_they_say():
    direction = np.arange(1.0, 6.0)
    unit = direction / np.linalg.norm(direction)
    sine = make_sine(500, n_features=5, direction=direction, random_state=0)
    np.testing.assert_allclose(sine.prob, (1 + np.sin(sine.X @ unit)) / 64, rtol=1e-12)
    step = make_step(500, n_features=5, direction=direction, random_state=0)
    np.testing.assert_array_equal(step.prob == 0.5, step.X @ unit > stats.norm.ppf(0.9))
    np.testing.assert_array_equal(direction, np.arange(1.0, 6.0))


def test_other_steps_of_the_same_prevalence():
    assert make_step(9, low=0.0, high=0.1, high_share=0.95, random_state=0).prevalence == (
        pytest.approx(0.095)
    )


def test_grids_of_the_monte_carlo_study():
    assert (POSITIVE_SHARES[0], POSITIVE_SHARES[-1]) == pytest.approx((0.5, 0.005))
    assert min(abs(share - 0.008) for share in POSITIVE_SHARES) < 1e-4
    assert LABELLED_SHARES == (0.5, 0.25, 0.125, 0.0625, 0.03125)


@pytest.mark.parametrize("background", ["normal", "lognormal"])
@pytest.mark.parametrize("labels", ["tail", "random"])
def test_trial_scores_are_the_papers_law_with_156_labels(background, labels):
    sample = make_trial_scores(background=background, labels=labels, random_state=0)
    shown = ~np.isnan(sample.y)
    assert (sample.scores.size, shown.sum()) == (5000, 156)
    np.testing.assert_array_equal(sample.y[shown], sample.y_true[shown])
    negatives = sample.scores[sample.y_true == 0.0]
    assert abs(negatives.mean() - 6.56) < 5 / np.sqrt(negatives.size)
    assert negatives.var() == pytest.approx(1.0, rel=0.15)
    assert (
        abs(stats.skew(negatives)) < 0.2 if background == "normal" else stats.skew(negatives) > 0.2
    )
    assert (sample.truth.foreground_mean, sample.truth.foreground_sd) == (8.44, 1.0)
    if labels == "tail":
        assert sample.scores[shown].min() > sample.scores[~shown].max()
        np.testing.assert_array_equal(sample.inclusion, shown)
    else:
        assert (sample.inclusion == 156 / 5000).all()
        assert sample.scores[shown].min() < sample.scores[~shown].max()


def test_convergence_scores_are_two_unit_normals_with_the_top_labelled():
    sample = make_convergence_scores(200_000, random_state=0)
    for label, mean in ((0.0, 2.0), (1.0, 3.88)):
        part = sample.scores[sample.y_true == label]
        assert abs(part.mean() - mean) < 5 / np.sqrt(part.size)
        assert part.std() == pytest.approx(1.0, rel=0.02)
    shown = ~np.isnan(sample.y)
    assert shown.mean() == 0.05
    assert sample.scores[shown].min() > sample.scores[~shown].max()


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: make_sine(20, random_state=seed).X,
        lambda seed: make_step(20, random_state=seed).X,
        lambda seed: make_trial_scores(50, random_state=seed).scores,
        lambda seed: make_convergence_scores(50, random_state=seed).scores,
    ],
)
def test_same_seed_same_bytes(draw):
    assert draw(5).tobytes() == draw(5).tobytes()
    assert draw(5).tobytes() != draw(6).tobytes()


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("number-range", lambda: make_sine(5, divisor=1.9, random_state=0)),
        ("number-range", lambda: make_sine(5, n_features=2, direction=[0, 0], random_state=0)),
        ("number-range", lambda: make_step(5, high_share=1.0, random_state=0)),
        ("number-range", lambda: make_step(5, low=-0.1, random_state=0)),
        ("unknown-word", lambda: make_trial_scores(labels="adaptive", random_state=0)),
        ("number-range", lambda: make_trial_scores(labelled_share=2.0, random_state=0)),
    ],
)
def test_bad_arguments(code, call):
    with refused(code, UsageError):
        call()
