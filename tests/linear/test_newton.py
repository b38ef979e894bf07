"""Newton on folds: the certificate is true, and no short cut changes the answer."""

import numpy as np
import pytest

from scarce.engine.memory import ArrayRows
from scarce.linear import newton
from scarce.linear.losses import loss_of
from scarce.linear.newton import (
    Curvature,
    Objective,
    StandardCoordinates,
    independent_columns,
    minimise,
    systematic_sample,
)
from scarce.linear.sums import summarise_columns
from tests.linear import plain


def objective_of(X, y, loss, ridge=1.0, weight=None, intercept=True, **rest):
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], **rest)
    seen = summarise_columns(rows)
    k = X.shape[1]
    penalty = np.append(np.full(k, ridge), 0.0)
    free = np.append(np.ones(k, dtype=bool), intercept)
    start = np.zeros(k + 1)
    if intercept:
        start[-1] = loss.link.forward(np.array([seen.prevalence]))[0]
    return rows, Objective(loss, penalty, free, seen), start


@pytest.mark.parametrize(("name", "loss"), plain.all_losses(), ids=lambda p: str(p))
@pytest.mark.parametrize("ridge", [0.0, 3.0])
def test_oracle_minimum_is_that_of_plain_newton(name, loss, ridge, rng):
    X, y = plain.rare(n=300)
    weight = rng.random(300) + 0.5
    rows, objective, start = objective_of(X, y, loss, ridge, weight)
    found = minimise(rows, objective, start, tol=1e-10)
    assert found.converged
    assert found.certificate <= 1e-10
    args = (X, y, loss, objective.penalty, weight)
    # The certificate is what it says, measured anew by plain formulas.
    assert plain.standardised_gradient(found.coef, *args) <= 1e-10 + 1e-13
    wanted = plain.fit(*args)
    inverse = np.linalg.inv(plain.hessian(wanted, *args))
    # From a gradient of 1e-10 per weight follows this distance, and no more.
    allowed = 1e-9 * weight.sum() * np.abs(inverse).sum(axis=1)
    assert (np.abs(found.coef - wanted) <= allowed).all()


SCALES = {
    "tiny and huge": ([1e-9, 1.0, 1e9], [0.0, 0.0, 0.0]),
    "off centre": ([1.0, 1.0, 1.0], [5e3, -300.0, 0.0]),
    "tinier": ([1e-12, 1.0, 1.0], [0.0, 0.0, 0.0]),
}


@pytest.mark.parametrize("which", SCALES)
@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize(("name", "shape"), [("logistic", None), ("gev-canonical", 0.5)])
def test_wild_columns_converge_as_well(which, ridge, name, shape):
    scale, shift = (np.array(part) for part in SCALES[which])
    Z, y = plain.rare(n=400)
    loss = loss_of(name, shape)
    rows, objective, start = objective_of(Z * scale + shift, y, loss, ridge)
    found = minimise(rows, objective, start, tol=1e-10)
    assert found.converged
    assert found.passes < 40
    # The same problem where nothing is wild: columns Z, with the penalty in their units.
    penalty = np.append(ridge / scale**2, 0.0)
    wanted = plain.fit(Z, y, loss, penalty)
    assert found.coef[:-1] * scale == pytest.approx(wanted[:-1], abs=3e-8)


def test_without_intercept_nothing_is_centred():
    X, y = plain.rare(n=300)
    X = X + 1.0
    loss = loss_of("logistic")
    rows, objective, start = objective_of(X, y, loss, 1.0, intercept=False)
    found = minimise(rows, objective, start, tol=1e-11)
    design_gradient = X.T @ loss.slope(y, X @ found.coef[:-1]) + found.coef[:-1]
    assert found.coef[-1] == 0.0
    assert np.abs(design_gradient).max() <= 1e-11 * 300 * 2
    assert found.converged


@pytest.mark.parametrize(("name", "shape"), [("logistic", None), ("gev-canonical", 1.0)])
def test_invariant_a_start_on_a_part_of_the_rows_changes_no_answer(name, shape, monkeypatch, rng):
    monkeypatch.setattr(newton, "SAMPLE_FROM", 2000)
    X, y = plain.rare(n=12_000, shift=-3.5)
    y[::17] = np.nan
    weight = rng.random(12_000)
    rows, objective, start = objective_of(
        X, y, loss_of(name, shape), 1.0, weight, starts=(0, 5000, 12_000)
    )
    called = []
    part = newton._fit_sample
    monkeypatch.setattr(newton, "_fit_sample", lambda *a: called.append(1) or part(*a))
    fast = minimise(rows, objective, start, tol=1e-11)
    assert called
    slow = minimise(rows, objective, start, tol=1e-11, sample=False)
    assert len(called) == 1
    np.testing.assert_allclose(fast.coef, slow.coef, atol=2e-9)
    assert fast.converged
    assert slow.converged
    assert fast.passes < slow.passes


def test_invariant_the_wide_path_finds_the_same(monkeypatch):
    X, y = plain.rare(n=500, k=12)
    rows, objective, start = objective_of(X, y, loss_of("logistic"), 1.0)
    narrow = minimise(rows, objective, start, tol=1e-10)
    monkeypatch.setattr(newton, "GRAM_COLUMNS", 4)
    monkeypatch.setattr(newton, "GRAM_WORK", 0)
    wide = minimise(rows, objective, start, tol=1e-10)
    assert wide.converged
    assert wide.grams == 0
    assert narrow.grams > 0
    np.testing.assert_allclose(wide.coef, narrow.coef, atol=2e-8)


def test_invariant_kept_gram_matrices_find_the_same(monkeypatch):
    X, y = plain.rare(n=3000, k=6)
    rows, objective, start = objective_of(X, y, loss_of("gev-canonical", 0.3), 0.1)
    always = minimise(rows, objective, start, tol=1e-11)
    monkeypatch.setattr(newton, "CHEAP", 0)
    kept = minimise(rows, objective, start, tol=1e-11)
    assert kept.grams < always.grams
    assert kept.converged
    np.testing.assert_allclose(kept.coef, always.coef, atol=1e-9)


def test_giving_up_is_said():
    X, y = plain.rare(n=300)
    rows, objective, start = objective_of(X, y, loss_of("logistic"))
    found = minimise(rows, objective, start, tol=1e-12, max_passes=3)
    assert not found.converged
    assert found.passes == 3
    assert found.certificate > 1e-12


def test_a_good_start_is_recognised_in_one_pass():
    X, y = plain.rare(n=300)
    rows, objective, start = objective_of(X, y, loss_of("logistic"))
    found = minimise(rows, objective, start, tol=1e-10)
    again = minimise(rows, objective, found.coef, tol=1e-10)
    assert again.passes == 1
    np.testing.assert_array_equal(again.coef, found.coef)


def test_watch_sees_every_step_and_may_stop_the_search():
    X, y = plain.rare(n=300)
    rows, objective, start = objective_of(X, y, loss_of("logistic"))
    seen = []

    def watch(coef, step):
        seen.append((coef, step))
        if len(seen) == 2:
            raise KeyError("enough")

    with pytest.raises(KeyError):
        minimise(rows, objective, start, tol=1e-10, watch=watch)
    frame = StandardCoordinates(objective, start)
    np.testing.assert_allclose(seen[1][0] - seen[0][0], frame.T @ seen[1][1], atol=1e-12)


def test_oracle_curvature_is_the_bfgs_update_written_out(rng):
    base = np.diag([3.0, 1.0, 2.0])
    curvature = Curvature(base)
    matrix = base.copy()
    for _ in range(3):
        step = rng.normal(size=3)
        change = np.diag([4.0, 2.0, 1.0]) @ step
        curvature.learn(step, change)
        matrix = (
            matrix
            - np.outer(matrix @ step, matrix @ step) / (step @ matrix @ step)
            + np.outer(change, change) / (step @ change)
        )
    gradient = rng.normal(size=3)
    np.testing.assert_allclose(curvature.solve(gradient), np.linalg.solve(matrix, gradient))


def test_curvature_forgets_the_oldest_and_ignores_what_bends_down(rng):
    curvature = Curvature(np.eye(2))
    curvature.learn(np.array([1.0, 0.0]), np.array([-1.0, 0.0]))
    assert curvature.pairs == []
    for j in range(newton.MEMORY + 5):
        curvature.learn(np.array([1.0, j]), np.array([1.0, j]))
    assert len(curvature.pairs) == newton.MEMORY
    assert curvature.pairs[0][0].tolist() == [1.0, 5.0]


@pytest.mark.parametrize("sizes", [(1.0, 1.0), (1e18, 1.0), (1.0, 1e-18), (1e30, 1e-3)])
def test_curvature_solves_whatever_the_sizes_on_its_diagonal(sizes):
    matrix = np.diag(sizes)
    answer = Curvature(matrix).solve(np.array([1.0, 1.0]))
    np.testing.assert_allclose(answer, 1.0 / np.array(sizes), rtol=1e-6)


def test_curvature_of_a_singular_matrix_is_lifted_little():
    matrix = np.array([[1.0, 1.0], [1.0, 1.0]])
    gradient = np.array([2.0, 2.0])
    step = Curvature(matrix).solve(gradient)
    np.testing.assert_allclose(matrix @ step, gradient, rtol=1e-8)
    assert np.abs(step).max() < 10


@pytest.mark.parametrize("intercept", [True, False])
def test_derivative_frame(intercept):
    """Gradient and Hessian in standardised coordinates, against central differences."""
    X, y = plain.rare(n=60)
    X = X * [2.0, 0.1, 30.0] + [1.0, 2.0, -50.0]
    loss = loss_of("logistic")
    rows, objective, start = objective_of(X, y, loss, 0.7, intercept=intercept)
    frame = StandardCoordinates(objective, start)
    theta = np.array([0.3, -0.2, 0.1, -1.0])[: len(frame.free)]
    coef = frame.coef(theta)
    np.testing.assert_allclose(frame.theta(coef), theta, atol=1e-12)

    def value(t):
        return plain.objective(frame.coef(t), X, y, loss, objective.penalty)

    def slope(t):
        return frame.gradient(frame.coef(t), objective.sums(rows, frame.coef(t), False, None))

    steps = 1e-5 * np.eye(len(theta))
    by_value = [(value(theta + h) - value(theta - h)) / 2e-5 for h in steps]
    np.testing.assert_allclose(slope(theta), by_value, rtol=1e-6, atol=1e-6)
    by_slope = [(slope(theta + h) - slope(theta - h)) / 2e-5 for h in steps]
    gram = objective.sums(rows, coef, True, None).gram
    np.testing.assert_allclose(frame.hessian(gram), by_slope, rtol=1e-7, atol=1e-6)


def test_a_systematic_sample_stands_for_all_rows_of_each_class():
    y = np.array([0.0] * 10 + [1.0] * 4 + [np.nan])
    weight = np.append(np.arange(1.0, 15.0), 100.0)
    weight[0] = 0.0
    X = np.arange(15.0)[:, None]
    block = next(ArrayRows(X, y, weight=weight, classes=[0, 1]).blocks())
    some, labels, heavy = systematic_sample(block, (3, 2))
    assert some[:, 0].tolist() == [1, 4, 7, 10, 12]
    assert labels.tolist() == [0, 0, 0, 1, 1]
    assert heavy.tolist() == [6, 15, 24, 22, 26]


def test_oracle_independent_columns_are_those_that_raise_the_rank(rng):
    X = rng.normal(size=(30, 3)) * [1.0, 1e-6, 1e6]
    X = np.column_stack([X[:, 0], X[:, 1], X[:, 0] + 1e6 * X[:, 1], X[:, 2], 2 * X[:, 2]])
    assert independent_columns(X.T @ X).tolist() == [True, True, False, True, False]
    assert independent_columns(np.zeros((1, 1))).tolist() == [False]
