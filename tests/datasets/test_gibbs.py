import dataclasses

import numpy as np
import pytest
from scipy import stats

from scarce.datasets import hide_gibbs, hide_gibbs_rows, make_gibbs
from scarce.errors import UsageError
from tests.problems import refused


@pytest.mark.parametrize("replace", [True, False])
def test_gibbs_sample_has_the_papers_sizes_and_its_own_law(replace):
    sample = make_gibbs(replace=replace, random_state=0)
    assert sample.X.shape == (200, 10)
    assert sample.X.min() >= 0.0
    assert sample.X.max() <= 1.0
    weight = np.exp(sample.X @ sample.coef)
    np.testing.assert_allclose(sample.prob, weight / weight.sum(), rtol=1e-12)
    assert sample.log_partition == pytest.approx(np.log(weight.sum()), rel=1e-12)
    assert (sample.labelled.size, sample.test.size) == (50, 50)
    np.testing.assert_array_equal(np.flatnonzero(sample.y == 1.0), np.unique(sample.labelled))
    assert np.isnan(sample.y[np.setdiff1d(np.arange(200), sample.labelled)]).all()
    repeats = np.unique(np.r_[sample.labelled, sample.test]).size
    assert repeats == sample.drawn.sum()
    assert (repeats < 100) if replace else (repeats == 100)


def test_draws_with_replacement_follow_the_law():
    sample = make_gibbs(20, n_features=3, n_drawn=100_000, random_state=1)
    for part in (sample.labelled, sample.test):
        seen = np.bincount(part, minlength=20)
        assert stats.chisquare(seen, sample.prob * part.size).pvalue > 1e-6


def test_first_of_the_draws_without_replacement_follows_the_law():
    # The log probability of the place drawn must have the mean that the law gives it.
    gap = variance = 0.0
    for seed in range(4000):
        sample = make_gibbs(
            5, n_features=2, n_drawn=1, replace=False, coef_sd=3.0, random_state=seed
        )
        log_prob = np.log(sample.prob)
        mean = sample.prob @ log_prob
        gap += log_prob[sample.test[0]] - mean
        variance += sample.prob @ (log_prob - mean) ** 2
    assert abs(gap) < 4 * np.sqrt(variance)


def test_labelled_and_test_draws_without_replacement_are_exchangeable():
    # Successive draws come best first; the split must not hand the best to one side.
    gaps = []
    for seed in range(300):
        sample = make_gibbs(replace=False, coef_sd=4.0, random_state=seed)
        tilt = sample.X @ sample.coef
        gaps.append(tilt[sample.labelled].mean() - tilt[sample.test].mean())
    assert abs(np.mean(gaps)) < 4 * np.std(gaps) / np.sqrt(300)


def test_coefficients_have_their_spread():
    coef = np.concatenate([make_gibbs(random_state=s, coef_sd=4.0).coef for s in range(200)])
    assert coef.std() == pytest.approx(4.0, rel=0.1)


@pytest.mark.parametrize("how", ["mcar", "mar", "nmar"])
def test_hide_gibbs_hides_as_the_paper_says(how):
    sample = make_gibbs(random_state=0)
    before = sample.X.copy()
    sizes = set()
    for seed in range(40):
        hidden = np.isnan(hide_gibbs(sample, how=how, random_state=seed))
        if how == "mcar":
            assert hidden.sum() == 1000
        else:
            rows, columns = hidden.any(axis=1), hidden.any(axis=0)
            assert rows.sum() == 100
            assert hidden[np.ix_(rows, columns)].all()
            sizes.add(int(columns.sum()))
    assert sample.X.tobytes() == before.tobytes()
    if how != "mcar":
        assert min(sizes) >= 1
        assert max(sizes) <= 9
        assert len(sizes) > 5


@pytest.mark.parametrize(("how", "shifts"), [("mar", False), ("nmar", True)])
def test_gibbs_hiding_steers_by_raw_values_of_the_right_columns(how, shifts):
    sample = make_gibbs(4000, n_features=2, random_state=2)
    gaps = []
    for seed in range(30):
        hidden = np.isnan(hide_gibbs(sample, how=how, coef_sd=5.0, random_state=seed))
        column = int(np.argmax(hidden.any(axis=0)))
        rows = hidden[:, column]
        gaps.append(abs(sample.X[rows, column].mean() - sample.X[~rows, column].mean()))
    error = np.sqrt(1 / 12) * 2 / np.sqrt(4000)
    assert (np.mean(gaps) > 10 * error) if shifts else (max(gaps) < 5 * error)


@pytest.mark.parametrize("n_positive", [0, 37, 100])
def test_hide_gibbs_rows_splits_the_hundred_rows(n_positive):
    sample = make_gibbs(replace=False, random_state=0)
    hidden = np.isnan(hide_gibbs_rows(sample, n_positive=n_positive, random_state=1))
    rows = hidden.any(axis=1)
    assert rows.sum() == 100
    assert rows[sample.drawn].sum() == n_positive
    assert (hidden[rows].sum(axis=1) == 5).all()


def test_steering_uses_the_raw_values_as_the_paper_does():
    sample = make_gibbs(random_state=0)
    wider = dataclasses.replace(sample, X=sample.X * 100.0)
    masks = [np.isnan(hide_gibbs(each, how="nmar", random_state=1)) for each in (sample, wider)]
    assert (masks[0] != masks[1]).any()


@pytest.mark.parametrize(
    "draw",
    [
        lambda seed: make_gibbs(replace=False, random_state=seed).labelled,
        lambda seed: hide_gibbs(make_gibbs(random_state=0), how="nmar", random_state=seed),
        lambda seed: hide_gibbs_rows(make_gibbs(random_state=0), n_positive=9, random_state=seed),
    ],
)
def test_same_seed_same_bytes(draw):
    assert draw(5).tobytes() == draw(5).tobytes()
    assert draw(5).tobytes() != draw(6).tobytes()


@pytest.mark.parametrize(
    ("code", "call"),
    [
        ("integer-range", lambda: make_gibbs(50, n_drawn=51, replace=False, random_state=0)),
        (
            "unknown-word",
            lambda: hide_gibbs(make_gibbs(random_state=0), how="mnar", random_state=0),
        ),
        (
            "too-few-columns",
            lambda: hide_gibbs(make_gibbs(n_features=1, random_state=0), how="mar", random_state=0),
        ),
        (
            "too-few-rows",
            lambda: hide_gibbs_rows(make_gibbs(random_state=0), n_positive=100, random_state=0),
        ),
    ],
)
def test_bad_arguments(code, call):
    with refused(code, UsageError):
        call()
