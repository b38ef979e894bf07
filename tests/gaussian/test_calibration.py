"""Calibrated GaussianBayes: right against an optimiser, never worse than the base rates, honest."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax, logit
from sklearn.metrics import log_loss

from scarce import GaussianBayes, PriorCorrected, correct_prior, find_base_rates
from scarce.datasets import hide_features
from scarce.gaussian.calibration import calibrate, ratios
from tests.problems import codes
from tests.properties.store_properties import check_round_trip


def world(rng, n=300, d=4, events=0.25):
    y = (rng.random(n) < events).astype(int)
    X = rng.normal(size=(n, d)) + np.where(y == 1, 1.0, 0.0)[:, None]
    return X, y


@pytest.mark.parametrize("n_classes", [2, 4])
def test_oracle_offsets_and_slope_by_a_general_optimiser(rng, n_classes):
    n = 400
    y = rng.integers(n_classes, size=n)
    ratio = ratios(4.0 * (rng.normal(size=(n, n_classes)) + 1.5 * np.eye(n_classes)[y]))
    ratio[:20] = 0.0  # nothing seen: base rates, whatever the offsets
    weight, log_prior = rng.integers(1, 4, n) * 1.0, np.log(np.bincount(y) / n)

    def objective(at):
        seen = (ratio != 0).any(axis=1)[:, None]
        score = log_softmax(log_prior + at[:-1] * seen + at[-1] * ratio, axis=1)
        return -weight @ score[np.arange(n), y] + 0.5 * at @ at

    start = np.append(np.zeros(n_classes), 1.0)
    bounds = [(None, None)] * n_classes + [(0.0, 1.5)]
    best = minimize(objective, start, bounds=bounds, method="L-BFGS-B", options={"ftol": 1e-14})
    found = calibrate(ratio, y, weight, np.arange(n) % 5, log_prior)
    at = np.append(found.offset, found.slope)
    assert found.better
    assert objective(at) <= best.fun + 1e-9
    np.testing.assert_allclose(at, best.x, atol=2e-4)


def test_two_classes_have_the_penalty_of_one_intercept_and_one_slope(rng):
    """(alpha^2 / 2 + beta^2) / 2 on log odds: two offsets of opposite sign share alpha."""
    y = np.arange(200) % 2
    log_odds = rng.normal(3.0 * y - 1.0, 2.0)
    ratio = ratios(np.column_stack([np.zeros(200), log_odds]))
    found = calibrate(ratio, y, np.ones(200), np.arange(200) // 2 % 5, np.log([0.5, 0.5]))

    def objective(at):
        score = at[0] + at[1] * log_odds
        return np.logaddexp(0, score).sum() - score[y == 1].sum() + at @ (at * [0.25, 0.5])

    best = minimize(objective, [0.0, 1.0], method="BFGS")
    assert found.offset[1] - found.offset[0] == pytest.approx(best.x[0], abs=1e-4)
    assert found.slope == pytest.approx(best.x[1], abs=1e-4)


def test_impossible_rows_are_possible_after_all():
    """What was .0 without calibration: a value that a class did not show, by chance."""
    rng = np.random.default_rng(5)
    X, y = rng.normal(size=(400, 3)), np.arange(400) % 10 == 0
    X[:, 2] = np.where(y, 1.0, rng.random(400) < 0.5)
    new = rng.normal(size=(4000, 3))
    later = np.arange(4000) % 10 == 0
    new[:, 2] = np.where(later & (rng.random(4000) < 0.9), 1.0, rng.random(4000) < 0.5)
    raw = GaussianBayes("diag", calibrate=False).fit(X, y)
    with np.errstate(divide="ignore"):
        worst = -raw.predict_log_proba(new)[later, 1].min()
    found = GaussianBayes("diag").fit(X, y)
    constant = log_loss(later, np.full(4000, 0.1))
    assert worst > 1e6
    assert log_loss(later, found.predict_proba(new)[:, 1]) < constant


@pytest.mark.parametrize("covariance", ["shared", "diag", "shrunk"])
def test_noise_gets_the_base_rates(covariance):
    rng = np.random.default_rng(4)
    X, y = rng.normal(size=(120, 8)), np.arange(120) % 6 == 0
    model = GaussianBayes(covariance).fit(X, y)
    assert not model.better_than_constant_
    assert model.left_out_loss_[0] >= model.left_out_loss_[1]
    assert "constant-predicted" in codes(model.report_.warnings)
    np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), rtol=1e-12)
    assert np.ptp(model.predict_joint_log_proba(X)[:, 1]) > 1.0  # the densities are still there


def test_a_slope_of_0_is_the_constant_and_said_to_be_so():
    """By chance the folds may gain a little; with a slope of 0 nothing is told apart."""
    told = 0
    for seed in range(12):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 3)), np.arange(200) < 5
        model = GaussianBayes().fit(X, y)
        if model.slope_ > 0:
            continue
        told += model.left_out_loss_[0] < model.left_out_loss_[1]
        assert not model.better_than_constant_
        assert "constant-predicted" in codes(model.report_.warnings)
        np.testing.assert_allclose(model.predict_proba(X)[:, 1], y.mean(), rtol=1e-12)
    assert told > 0


def test_simulation_gaussian_classes_keep_their_slope(rng):
    X, y = world(rng, 4000)
    model = GaussianBayes().fit(X, y)
    assert model.slope_ == pytest.approx(1.0, abs=0.1)
    truth = expit(logit(0.25) + X.sum(axis=1) - 2.0)
    assert np.abs(model.predict_proba(X)[:, 1] - truth).mean() < 0.02


def test_a_row_without_values_has_the_base_rates_and_priors_move_them(rng):
    X, y = world(rng)
    X = hide_features(X, how="mcar", share=0.3, random_state=0)
    none = np.full((1, 4), np.nan)
    model = GaussianBayes().fit(X, y)
    assert model.offset_.any()
    np.testing.assert_allclose(model.predict_proba(none)[0, 1], y.mean(), rtol=1e-12)
    told = GaussianBayes(priors=[0.9, 0.1]).fit(X, y)
    np.testing.assert_allclose(told.predict_proba(none)[0], [0.9, 0.1], rtol=1e-12)
    moved = correct_prior(model.predict_proba(X), model.class_prior_, [0.9, 0.1])
    np.testing.assert_allclose(told.predict_proba(X), moved, rtol=1e-9)
    assert find_base_rates(told, y).rates[1] == pytest.approx(0.1)
    around = PriorCorrected(GaussianBayes(), prior=0.1).fit(X, y)
    np.testing.assert_allclose(around.predict_proba(X), moved, rtol=1e-9)
    assert model.predict_proba(X)[:, 1].mean() == pytest.approx(y.mean(), abs=0.01)


def test_copies_and_groups_stay_in_one_fold(rng):
    """Every row twice says as little of new rows as every row once, and groups less."""
    X, y = rng.normal(size=(60, 12)), np.arange(60) % 4 == 0
    once = GaussianBayes("diag").fit(X, y)
    twice = GaussianBayes("diag").fit(np.tile(X, (2, 1)), np.tile(y, 2))
    np.testing.assert_allclose(twice.left_out_loss_, once.left_out_loss_, rtol=0.05)
    weighted = GaussianBayes("diag").fit(X, y, np.full(60, 2.0))
    np.testing.assert_allclose(weighted.predict_proba(X), twice.predict_proba(X), atol=1e-9)
    patient = np.repeat(np.arange(30), 2)
    place = rng.normal(size=(30, 12))[patient]
    sick = (rng.random(30) < 0.4)[patient]
    near = place + 0.01 * rng.normal(size=(60, 12))
    apart = GaussianBayes("diag").fit(near, sick)
    joined = GaussianBayes("diag").fit(near, sick, groups=patient)
    assert joined.left_out_loss_[0] > apart.left_out_loss_[0]


@pytest.mark.parametrize("events", [1, 2, 3, 6, 12])
def test_few_events(events):
    rng = np.random.default_rng(events)
    X, y = rng.normal(size=(150, 3)), (np.arange(150) < events).astype(int)
    X[y == 1] += 1.5
    X[rng.random(X.shape) < 0.2] = np.nan
    model = GaussianBayes().fit(X, y)
    prob = model.predict_proba(X)[:, 1]
    assert np.isfinite(prob).all()
    assert (prob > 0).all()
    assert (prob < 1).all()
    if events == 1:
        assert "calibration-not-judged" in codes(model.report_.warnings)
        np.testing.assert_allclose(prob, 1 / 150, rtol=1e-12)
        assert not hasattr(model, "left_out_loss_")
        check_round_trip(model, X)


def test_a_class_of_one_row_among_several(rng):
    X = rng.normal(size=(200, 2))
    y = np.repeat([0, 1], 100)
    X[y == 1] += 3.0
    y[0] = 2
    model = GaussianBayes().fit(X, y)
    assert model.better_than_constant_
    assert (model.predict(X) == y).mean() > 0.9
    np.testing.assert_allclose(model.predict_proba(X).sum(axis=1), 1.0)


def test_separable_classes_and_all_kinds_stay_in_range(rng):
    X, y = rng.normal(size=(100, 3)), np.arange(100) % 2
    X[y == 1] += 100.0
    for kind in ("shared", "diag", "shared-diag", "full", "shrunk"):
        score = GaussianBayes(kind).fit(X, y).decision_function(X)
        assert (np.sign(score) == 2 * y - 1).all()
        assert np.abs(score).max() <= 1.5 * 15.0 + 1.0


def test_the_linear_form_is_the_calibrated_one(rng):
    X, y = world(rng)
    model = GaussianBayes().fit(X, y)
    score = model.decision_function(X)
    np.testing.assert_allclose(X @ model.coef_[0] + model.intercept_[0], score, atol=1e-9)
    np.testing.assert_allclose(model.discriminant()(X), score, atol=1e-9)


def test_unlabelled_rows_are_in_every_fold(rng):
    X, y = world(rng, 600)
    label = np.where(np.arange(600) < 150, y, np.nan)
    model = GaussianBayes(unlabelled="use").fit(X, label)
    assert model.unlabelled_used_
    assert model.better_than_constant_
    truth = expit(logit(0.25) + X.sum(axis=1) - 2.0)
    assert np.abs(model.predict_proba(X)[:, 1] - truth).mean() < 0.06


def test_batches_need_the_densities_alone():
    for model in (GaussianBayes(), GaussianBayes(calibrate=False, factors={0: "gaussian"})):
        assert not hasattr(model, "partial_fit")
    assert hasattr(GaussianBayes(calibrate=False), "partial_fit")


def test_the_prior_of_a_shared_covariance_is_that_many_rows(rng):
    """nu = max(5, d / 2) rows of independent columns with the variances of all rows."""
    X, y = world(rng, 40)
    found = GaussianBayes(calibrate=False).fit(X, y)
    centred = X - np.array([X[y == k].mean(axis=0) for k in y])
    wanted = (centred.T @ centred + 5.0 * np.diag(X.var(axis=0))) / 45.0
    np.testing.assert_allclose(found.covariance_, wanted, rtol=1e-10, atol=1e-12)
    almost = X.copy()
    almost[0, 0] = np.nan  # the same by EM, but for one value
    by_em = GaussianBayes(calibrate=False, tol=1e-10).fit(almost, y)
    np.testing.assert_allclose(by_em.covariance_, wanted, atol=0.1)
    assert by_em.shrinkage_[0] == pytest.approx(5.0 / 45.0)


def test_weights_that_count_as_few_rows_are_remarked_on(rng):
    """Weights that sum to almost nothing say nothing: every row gets about the base rates."""
    X, y = world(rng)
    for share, told in ((1.0, False), (0.6, False), (0.4, True), (1e-8, True)):
        model = GaussianBayes().fit(X, y, np.full(len(y), share))
        assert ("few-counted" in codes(model.report_.warnings)) == told
    assert np.ptp(model.predict_proba(X)[:, 1]) < 0.1
    assert "few-counted" not in codes(GaussianBayes().fit(X, y).report_.warnings)
