"""Grids of fits: as good as one fit at a time, on all rows or on a part that is polished."""

import numpy as np
import pytest

from scarce.engine.memory import ArrayRows
from scarce.linear import grid as module
from scarce.linear.grid import (
    ENOUGH,
    Part,
    Standard,
    distinct,
    grid_gradients,
    polish,
    solve_grid,
    take_share,
    training_part,
)
from scarce.linear.losses import loss_of
from scarce.linear.regress import Setting
from scarce.linear.sums import look
from tests.linear import plain

RIDGES = (0.01, 1.0, 100.0)
LOSSES = [loss_of("gev-canonical", s) for s in (-1.0, -0.3, 0.0, 0.7, 1.5)]
LOSSES += [loss_of("logistic"), loss_of("probit")]


def uniform(n):
    return np.random.default_rng(3).random(n)


def decrement(coef, X, y, loss, penalty, weight=1.0, offset=0.0, free=None):
    """1/2 g' H^-1 g with the true Hessian: what is left to gain, to second order."""
    args = (coef, X, y, loss, penalty, weight, offset)
    own = np.ones(len(coef), dtype=bool) if free is None else free
    slope = plain.gradient(*args)[own]
    return 0.5 * slope @ np.linalg.pinv(plain.hessian(*args)[np.ix_(own, own)]) @ slope


def whole(X, y, weight=None):
    return Part(X, y, np.ones(len(y)) if weight is None else weight, True)


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize("cheap", [True, False])
def test_oracle_every_fit_of_a_grid_leaves_little_to_gain(intercept, cheap, rng, monkeypatch):
    monkeypatch.setattr(module, "MOST_STEPS", 60)
    X, y = plain.rare(n=500 if cheap else 16_000, k=3)
    X = X * [1.0, 20.0, 0.1] + [0.0, 50.0, -3.0]
    weight = rng.random(len(y)) + 0.5
    setting = Setting(intercept)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1])
    seen = look(rows)
    losses = LOSSES if cheap else LOSSES[2:6]
    found = solve_grid(whole(X, y, weight), seen, losses, RIDGES, setting)
    assert found.enough.all()
    free = setting.free(seen)
    for i, loss in enumerate(losses):
        for j, ridge in enumerate(RIDGES):
            penalty = setting.penalty(ridge, 3)
            # Steps are judged with a Hessian that may be a few steps old: a factor for that.
            left = decrement(found.coef[i, j], X, y, loss, penalty, weight, free=free)
            assert left <= 3 * ENOUGH
    assert (found.coef[..., -1] == 0).all() == (intercept == "none")


@pytest.mark.parametrize("seed", [1, 6, 10])
def test_long_tails_need_shortened_steps(seed):
    """Whole Newton steps go round in circles here at a shape of -1."""
    rng = np.random.default_rng(seed)
    X = np.exp(1.5 * rng.normal(size=(60, 3)))
    y = (rng.random(60) < 0.2).astype(float)
    y[:2] = 0, 1
    found = solve_grid(
        whole(X, y), look(ArrayRows(X, y, classes=[0, 1])), LOSSES, (0.001, 1.0), Setting()
    )
    assert found.enough.all()
    for i, loss in enumerate(LOSSES):
        left = decrement(found.coef[i, 0], X, y, loss, np.array([0.001, 0.001, 0.001, 0.0]))
        assert left <= ENOUGH * 3


def test_a_grid_keeps_units_and_offsets(rng):
    X, y = plain.rare(n=400)
    setting = Setting(offset=1, units=np.array([2.0, 1.0, 0.5]))
    seen = look(ArrayRows(X, y, classes=[0, 1]))
    found = solve_grid(whole(X, y), seen, [loss_of("logistic")], (3.0,), setting)
    coef = found.coef[0, 0]
    assert coef[1] == 1.0
    own = [0, 2, 3]
    penalty = np.array([12.0, 0.75, 0.0])
    left = decrement(coef[own], X[:, [0, 2]], y, loss_of("logistic"), penalty, 1.0, X[:, 1])
    assert left <= ENOUGH


def test_constant_and_repeated_columns_do_no_harm():
    X, y = plain.rare(n=300, k=2)
    more = np.column_stack([X, np.ones(300), X[:, 0]])
    seen = look(ArrayRows(more, y, classes=[0, 1]))
    for ridges in (RIDGES, (0.0,)):
        found = solve_grid(whole(more, y), seen, LOSSES, ridges, Setting())
        assert np.isfinite(found.coef).all()
        assert (found.coef[..., 2] == 0).all()
        assert found.enough.all()
        both = found.coef[..., 0] + found.coef[..., 3]
        plainly = solve_grid(
            whole(X, y), look(ArrayRows(X, y, classes=[0, 1])), LOSSES, ridges, Setting()
        )
        if ridges == (0.0,):
            np.testing.assert_allclose(both, plainly.coef[..., 0], atol=5e-3)


@pytest.mark.parametrize(("name", "shape"), [("gev-log", -0.9), ("gev-log", -0.4)])
def test_convex_losses_with_a_bounded_support_stay_finite(name, shape):
    """Or are not given to the grid at all: the search decides (see models/search.py)."""
    from scarce.linear.selection import Plan, _fit, folds_of

    X, y = plain.rare(n=300)
    rows = ArrayRows(X, y, classes=[0, 1])
    seen = look(rows)
    plan = Plan("brier", 3, 0.001, 0)
    dealt = folds_of(rows, seen, plan, None)
    loss = loss_of(name, shape)
    coef = _fit(rows, seen, [loss], RIDGES, Setting(), plan, dealt.folds[0], dealt, None)
    kept = dealt.folds[0][0] != 0
    for j, ridge in enumerate(RIDGES):
        args = (X[kept], y[kept], loss, np.append(np.full(3, ridge), 0.0))
        assert np.isfinite(plain.objective(coef[0, j], *args))
        assert decrement(coef[0, j], *args) <= 3 * ENOUGH


def test_oracle_polish_brings_a_part_to_the_fit_of_all_rows():
    X, y = plain.rare(n=60_000, k=3, shift=-3.5)
    y[::11] = np.nan
    rows = ArrayRows(X, y, classes=[0, 1], starts=(0, 7000, 60_000))
    seen = look(rows)
    ids = np.where(np.isnan(y), -1, np.arange(60_000) % 5).astype(np.int8)
    part = training_part(rows, seen, ids, 2, None, uniform(len(rows)))
    assert not part.whole
    assert len(part.y) < 30_000
    kept = (ids != 2) & (ids >= 0)
    losses, ridges, setting = (
        [loss_of("gev-canonical", 0.5), loss_of("logistic")],
        RIDGES,
        Setting(),
    )
    rough = solve_grid(part, seen, losses, ridges, setting)
    fine = polish(rows, seen, rough, losses, ridges, setting, ids, 2, None)
    for i, loss in enumerate(losses):
        for j, ridge in enumerate(ridges):
            args = (X[kept], y[kept], loss, setting.penalty(ridge, 3))
            before, after = (decrement(g.coef[i, j], *args) for g in (rough, fine))
            assert after < 0.02
            assert after < 0.1 * before


def test_polish_with_repeated_columns_and_no_ridge_stays_finite():
    X, y = plain.rare(n=40_000, k=2, shift=-3.0)
    X = np.column_stack([X, X[:, 0]])
    rows = ArrayRows(X, y, classes=[0, 1])
    seen = look(rows)
    ids = (np.arange(40_000) % 5).astype(np.int8)
    part = training_part(rows, seen, ids, 0, None, uniform(len(rows)))
    assert not part.whole
    losses = [loss_of("logistic")]
    rough = solve_grid(part, seen, losses, (0.0,), Setting())
    fine = polish(rows, seen, rough, losses, (0.0,), Setting(), ids, 0, None)
    assert np.isfinite(fine.coef).all()
    assert decrement(fine.coef[0, 0], X[ids != 0], y[ids != 0], losses[0], np.zeros(4)) < 0.02


def test_training_part_holds_the_training_rows_and_their_weight(rng):
    X, y = plain.rare(n=1000)
    y[5] = np.nan
    weight = rng.random(1000)
    weight[9] = 0.0
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 300, 1000))
    ids = (np.arange(1000) % 3).astype(np.int8)
    ids[[5, 9]] = -1
    part = training_part(rows, look(rows), ids, 1, None, uniform(1000))
    kept = (ids >= 0) & (ids != 1)
    assert part.whole
    np.testing.assert_array_equal(part.X, X[kept])
    np.testing.assert_array_equal(part.y, y[kept])
    np.testing.assert_array_equal(part.weight, weight[kept])


def test_a_share_of_the_common_class_stands_for_all_of_it():
    X, y = plain.rare(n=50_000, k=1, shift=-4.0)
    rows = ArrayRows(X, y, classes=[0, 1], starts=(0, 20_000, 50_000))
    ids = (np.arange(50_000) % 2).astype(np.int8)
    shares = np.array([0.2, 1.0])
    parts = [take_share(block, (ids, 0, shares, uniform(50_000))) for block in rows.blocks()]
    y_part, weight = (np.concatenate([p[j] for p in parts]) for j in (1, 2))
    training = ids == 1
    assert (y_part == 1).sum() == (y[training] == 1).sum()
    assert set(weight[y_part == 0]) == {5.0}
    assert set(weight[y_part == 1]) == {1.0}
    assert weight.sum() == pytest.approx(training.sum(), rel=0.03)
    again = [take_share(block, (ids, 0, shares, uniform(50_000))) for block in rows.blocks()]
    np.testing.assert_array_equal(
        np.concatenate([p[0] for p in again]), np.concatenate([p[0] for p in parts])
    )


def test_distinct_joins_equal_answers_of_one_loss_only():
    coef = np.zeros((2, 3, 2))
    coef[0, 2] = 1.0
    losses = LOSSES[:2]
    kinds, kept, place = distinct(coef, losses)
    assert kinds == [losses[0], losses[0], losses[1]]
    assert place.tolist() == [[0, 0, 1], [2, 2, 2]]
    np.testing.assert_array_equal(kept[place], coef)


def test_oracle_gradients_of_many_models(rng):
    X, y = plain.rare(n=5000)
    y[3] = np.nan
    weight = rng.random(5000)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 4500, 5000))
    ids = (np.arange(5000) % 4).astype(np.int8)
    ids[7] = -1
    coef = rng.normal(size=(len(LOSSES), 4)) * 0.3
    found = rows.fold(grid_gradients, (LOSSES, coef, ids, 2))
    kept = (ids != 2) & (ids >= 0) & ~np.isnan(y)
    for i, loss in enumerate(LOSSES):
        wanted = plain.gradient(coef[i], X[kept], y[kept], loss, np.zeros(4), weight[kept])
        np.testing.assert_allclose(found[i], wanted, rtol=1e-10, atol=1e-9)


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_standard_coordinates_go_there_and_back(intercept, rng):
    X, y = plain.rare(n=200)
    X = X * [1.0, 30.0, 0.01] + [5.0, 0.0, -1.0]
    X = np.column_stack([X, np.full(200, 4.0)])
    setting = Setting(intercept, offset=1)
    standard = Standard(look(ArrayRows(X, y, classes=[0, 1])), setting)
    Z, offset = standard.design(X)
    theta = rng.normal(size=Z.shape[1])
    coef = standard.given(theta)
    assert coef[1] == 1.0
    np.testing.assert_allclose(plain.design_of(X) @ coef, Z @ theta + offset, rtol=1e-10, atol=1e-9)
    slope = rng.normal(size=200)
    np.testing.assert_allclose(
        standard.gradient(plain.design_of(X).T @ slope), Z.T @ slope, rtol=1e-9, atol=1e-8
    )
    free = standard.free
    wanted = 0.5 * np.sum((setting.penalty(2.0, 4) * coef**2)[free])
    if intercept != "free":  # beside a free intercept the penalty is that of the slopes alone
        assert 0.5 * np.sum(standard.penalty(2.0) * theta**2) == pytest.approx(wanted)
    else:
        assert 0.5 * np.sum(standard.penalty(2.0)[:-1] * theta[:-1] ** 2) == pytest.approx(wanted)
