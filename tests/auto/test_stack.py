"""Stacking: the optimum of a slow plain solver, bounds kept, the pull towards the mean."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from scarce import DataError
from scarce.auto.stack import choose_stack, combine, fit_stack, floored
from scarce.scoring import score_log_losses
from tests.problems import refused


def members(n=300, seed=0, m=4):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=n) * 2 - 2
    y = (rng.random(n) < expit(truth)).astype(float)
    noise = [0.3, 1.0, 3.0, 8.0][:m]
    return np.column_stack([truth + s * rng.normal(size=n) for s in noise]), y


def plain_objective(point, odds, y, weight, strength):
    m = odds.shape[1]
    score = np.clip(odds, -15, 15) @ point[:m] + point[m]
    loss = np.sum(weight * (np.logaddexp(0, score) - y * score))
    return loss + strength / 2 * np.sum((point[:m] - 1 / m) ** 2)


@pytest.mark.parametrize("strength", [0.01, 1.0, 100.0, 1e5])
@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_a_slow_plain_solver(strength, weighted):
    """scipy's bounded L-BFGS with numerical differences, the best of three starts."""
    odds, y = members()
    odds[:, 3] = -odds[:, 3]  # a member that is worse than nothing: its bound must bite
    weight = np.random.default_rng(1).random(300) * 3 if weighted else np.ones(300)
    stack = fit_stack(odds, y, weight, strength=strength)
    assert stack.report.converged
    assert stack.report.certificate <= 1e-9
    assert (stack.weights >= 0).all()
    args = (odds, y, weight, strength)
    found = plain_objective(np.append(stack.weights, stack.intercept), *args)
    assert found == pytest.approx(stack.report.objective, rel=1e-12)
    bounds = [(0, None)] * 4 + [(None, None)]
    best = min(
        (
            minimize(plain_objective, start, args, "L-BFGS-B", bounds=bounds, tol=1e-14)
            for start in (np.zeros(5), np.full(5, 0.3), np.array([1.0, 0, 0, 0, -0.5]))
        ),
        key=lambda result: result.fun,
    )
    assert found <= best.fun + 1e-9 * abs(best.fun)
    np.testing.assert_allclose(np.append(stack.weights, stack.intercept), best.x, atol=2e-4)


def test_optimality_conditions_hold_at_the_bound():
    odds, y = members()
    odds[:, 3] = -odds[:, 3]
    stack = fit_stack(odds, y, strength=1.0)
    assert stack.weights[3] == 0
    score = stack.score(odds)
    slope = np.clip(odds, -15, 15).T @ (expit(score) - y) + (stack.weights - 0.25)
    assert (slope[stack.weights == 0] > 0).all()
    np.testing.assert_allclose(slope[stack.weights > 0], 0, atol=1e-6)


def test_a_strong_pull_is_the_plain_mean():
    odds, y = members()
    stack = fit_stack(odds, y, strength=1e12)
    np.testing.assert_allclose(stack.weights, 0.25, atol=1e-6)
    assert expit(stack.score(odds)).mean() == pytest.approx(y.mean(), rel=1e-9)


def test_weight_two_is_a_row_twice():
    odds, y = members()
    count = np.arange(300) % 3
    weighted = fit_stack(odds, y, count, strength=2.0)
    repeated = fit_stack(np.repeat(odds, count, axis=0), np.repeat(y, count), strength=2.0)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-8)


def test_log_odds_are_clipped_and_extremes_give_no_warnings():
    odds, y = members()
    odds[0], odds[1] = 800.0, -np.inf
    assert np.isfinite(fit_stack(odds, y, strength=1.0).score(odds)).all()


def test_separated_members_still_have_an_optimum():
    y = np.repeat([0.0, 1.0], 50)
    odds = np.where(y[:, None] == 1, 15.0, -15.0) * np.ones(2)
    stack = fit_stack(odds, y, strength=1.0)
    assert stack.report.converged
    assert np.isfinite(stack.weights).all()


def test_the_strength_is_the_one_with_the_least_left_out_loss():
    odds, y = members(200)
    folds = np.arange(200) % 4
    strengths = (0.1, 10.0, 1e4)
    losses = []
    for strength in strengths:
        total = 0.0
        for fold in range(4):
            out = folds == fold
            part = fit_stack(odds[~out], y[~out], strength=strength)
            score = part.score(odds[out])
            total += np.sum(np.logaddexp(0, score) - y[out] * score)
        losses.append(total)
    chosen = choose_stack(odds, y, None, folds, strengths)
    assert chosen.strength == strengths[int(np.argmin(losses))]
    assert choose_stack(odds, y, None, np.zeros(200, int), strengths).strength == 1e4


@pytest.mark.parametrize("strength", [0.1, 1e5])
def test_the_mean_is_the_observed_share_at_every_strength(strength):
    odds, y = members()
    weight = np.random.default_rng(1).random(300)
    prob = expit(fit_stack(odds, y, weight, strength=strength).score(odds))
    assert weight @ prob == pytest.approx(weight @ y, rel=1e-7)


def test_members_are_combined_in_four_ways():
    odds, y = members(400)
    prob, folds = expit(odds.T), np.arange(400) % 4
    ways, single = combine(prob, y, None, folds, plain=2)
    assert list(ways) == ["constant", "logit", "best single", "auto"]
    assert single == 0
    assert (ways["constant"].weights == 0).all()
    np.testing.assert_allclose(expit(ways["constant"].score(prob[:, None])), y.mean())
    assert np.flatnonzero(ways["logit"].weights).tolist() == [2]
    table = [floored(one, e, y.mean()) for one, e in zip(prob, ways["auto"].floors, strict=True)]
    by_hand = choose_stack(np.column_stack(table), y, None, folds)
    np.testing.assert_allclose(ways["auto"].score(prob[:, None]), by_hand.score(np.array(table).T))
    alone, _ = combine(prob[:1], y, None, folds)
    assert list(alone) == ["constant", "best single", "auto"]
    assert alone["auto"] is alone["best single"]


def test_several_fits_are_averaged_as_probabilities():
    odds, y = members(400)
    ways, _ = combine(expit(odds.T), y, None, np.arange(400) % 4)
    fits = np.random.default_rng(0).random((4, 3, 7))
    each = [expit(ways["auto"].score(fits[:, [k]])) for k in range(3)]
    np.testing.assert_allclose(expit(ways["auto"].score(fits)), np.mean(each, axis=0), rtol=1e-12)


def test_a_stack_of_noise_and_signal_is_nearly_the_signal():
    odds, y = members(3000)
    stack = choose_stack(odds, y, None, np.arange(3000) % 5)
    assert stack.weights[0] > 5 * stack.weights[2:].max()
    alone = score_log_losses(y, odds[:, 0]).mean()
    assert score_log_losses(y, stack.score(odds)).mean() < alone + 0.002


@pytest.mark.parametrize(
    ("odds", "y", "code"),
    [
        (np.zeros((3, 2)), np.zeros(4), "length-mismatch"),
        (np.zeros(3), np.zeros(3), "length-mismatch"),
        (np.full((3, 2), np.nan), np.zeros(3), "not-finite"),
        (np.zeros((3, 2)), np.array([0, 1, 2]), "unknown-label"),
    ],
)
def test_what_cannot_be_stacked_is_refused(odds, y, code):
    with refused(code, DataError):
        fit_stack(odds, y, strength=1.0)


def test_strengths_may_be_taken_from_elsewhere_instead_of_chosen():
    rng = np.random.default_rng(4)
    prob = rng.uniform(0.05, 0.95, size=(3, 200))
    y = (rng.random(200) < prob[0]) * 1.0
    folds = np.arange(200) % 5
    ways, _ = combine(prob, y, None, folds, plain=1)
    other = {name: way._replace(strength=10.0) for name, way in ways.items()}
    found, _ = combine(prob, y, None, folds, plain=1, like=other)
    assert {way.strength for name, way in found.items() if name != "constant"} == {10.0}
    log_odds = np.array(
        [floored(one, e, y.mean()) for one, e in zip(prob, found["auto"].floors, strict=True)]
    )
    stack = fit_stack(log_odds.T, y, strength=10.0)
    np.testing.assert_allclose(found["auto"].weights, stack.weights, rtol=1e-9)
