"""The stack of several classes: a slow plain solver, two classes as before, bounds, odd classes."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit, log_softmax

from scarce.auto.softmax import choose_softmax, class_losses, combine_classes, fit_softmax
from scarce.auto.stack import fit_stack


def members(n=300, m=3, classes=4, seed=0):
    rng = np.random.default_rng(seed)
    truth = rng.normal(size=(n, classes)) * 1.5 - np.arange(classes)
    codes = np.array([rng.choice(classes, p=np.exp(log_softmax(row))) for row in truth])
    noise = [0.5, 1.5, 4.0][:m]
    odds = [log_softmax(truth + s * rng.normal(size=truth.shape), axis=1) for s in noise]
    return np.stack(odds, axis=2), codes


def plain_objective(point, odds, codes, weight, strength, pull):
    m = odds.shape[2]
    log_prob = log_softmax(odds @ point[:m] + point[m:], axis=1)
    loss = -np.sum(weight * log_prob[np.arange(len(codes)), codes])
    away = point[:m] - 1 / m
    return loss + strength / 2 * away @ away + pull / 2 * point[m:] @ point[m:]


@pytest.mark.parametrize("strength", [0.5, 50.0])
@pytest.mark.parametrize("weighted", [False, True])
def test_oracle_a_slow_plain_solver(strength, weighted):
    odds, codes = members()
    odds[:, :, 2] = log_softmax(-odds[:, :, 2], axis=1)  # worse than nothing: its bound must bite
    weight = np.random.default_rng(1).random(300) * 3 if weighted else np.ones(300)
    stack = fit_softmax(odds, codes, weight, strength=strength)
    assert stack.report.converged
    assert (stack.weights >= 0).all()
    point = np.append(stack.weights, stack.intercepts)
    args = (odds, codes, weight, strength, 0.1)
    assert plain_objective(point, *args) == pytest.approx(stack.report.objective, rel=1e-12)
    bounds = [(0, None)] * 3 + [(None, None)] * 4
    best = minimize(plain_objective, np.full(7, 0.3), args, "L-BFGS-B", bounds=bounds, tol=1e-14)
    assert plain_objective(point, *args) <= best.fun + 1e-8 * abs(best.fun)
    np.testing.assert_allclose(point, best.x, atol=2e-3)


def test_two_classes_are_the_binary_stack():
    rng = np.random.default_rng(2)
    odds = rng.normal(size=(200, 3))
    y = (rng.random(200) < expit(odds.sum(axis=1))).astype(int)
    both = np.stack([np.log(expit(-odds)), np.log(expit(odds))], axis=1)
    weight = 1.0 + rng.random(200)
    stack = fit_softmax(both, y, weight, strength=2.0, pull=1e-9)
    binary = fit_stack(odds, y, weight, strength=2.0)
    np.testing.assert_allclose(stack.weights, binary.weights, atol=1e-7)
    assert stack.intercepts[1] - stack.intercepts[0] == pytest.approx(binary.intercept, abs=1e-6)
    log_prob = stack.log_prob(both)
    np.testing.assert_allclose(log_prob[:, 1] - log_prob[:, 0], binary.score(odds), atol=1e-6)


def test_weight_two_is_a_row_twice():
    odds, codes = members()
    count = np.arange(300) % 3
    weighted = fit_softmax(odds, codes, count * 1.0, strength=2.0)
    twice = np.repeat(np.arange(300), count)
    repeated = fit_softmax(odds[twice], codes[twice], np.ones(len(twice)), strength=2.0)
    np.testing.assert_allclose(weighted.weights, repeated.weights, atol=1e-8)
    np.testing.assert_allclose(weighted.intercepts, repeated.intercepts, atol=1e-7)


def test_the_mean_is_nearly_the_observed_share():
    odds, codes = members()
    stack = fit_softmax(odds, codes, np.ones(300), strength=1.0)
    total = np.exp(stack.log_prob(odds)).sum(axis=0)
    gap = total - np.bincount(codes, minlength=4)
    np.testing.assert_allclose(gap, -0.1 * stack.intercepts, atol=1e-5)
    assert stack.intercepts.sum() == pytest.approx(0, abs=1e-6)


def test_a_class_without_rows_is_not_impossible():
    odds, codes = members(classes=3)
    codes = np.where(codes == 2, 0, codes)
    stack = fit_softmax(odds, codes, np.ones(300), strength=1.0)
    assert stack.report.converged
    prob = np.exp(stack.log_prob(odds))
    assert 0.05 < prob[:, 2].sum() < 1.5


def test_the_strength_is_the_one_with_the_least_left_out_loss():
    odds, codes = members(200)
    folds, strengths, losses = np.arange(200) % 4, (0.1, 10.0, 1e4), []
    for strength in strengths:
        total = 0.0
        for fold in range(4):
            out = folds == fold
            part = fit_softmax(odds[~out], codes[~out], np.ones(150), strength=strength)
            total += class_losses(codes[out], part.log_prob(odds[out])).sum()
        losses.append(total)
    chosen = choose_softmax(odds, codes, np.ones(200), folds, strengths)
    assert chosen.strength == strengths[int(np.argmin(losses))]
    alone = choose_softmax(odds, codes, np.ones(200), np.zeros(200, int), strengths)
    assert alone.strength == 1e4


def test_members_are_combined_in_four_ways():
    odds, codes = members(400)
    prob, folds = np.exp(odds.transpose(2, 0, 1)), np.arange(400) % 4
    ways, single = combine_classes(prob, codes, np.ones(400), folds, plain=2)
    assert list(ways) == ["constant", "logit", "best single", "auto"]
    assert single == 0
    share = np.bincount(codes) / 400
    np.testing.assert_allclose(np.exp(ways["constant"].log_prob(prob[:, None]))[0], share)
    assert np.flatnonzero(ways["logit"].weights).tolist() == [2]
    fits = np.stack([prob, prob[:, ::-1]], axis=1)
    each = [np.exp(ways["auto"].log_prob(fits[:, [k]])) for k in range(2)]
    np.testing.assert_allclose(np.exp(ways["auto"].log_prob(fits)), np.mean(each, axis=0))
