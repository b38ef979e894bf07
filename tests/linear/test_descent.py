"""Losses that are not convex, and the paper's constraint set: as low as anyone gets, and inside."""

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from scarce import DataError
from scarce.engine.memory import ArrayRows
from scarce.linear import descent as module
from scarce.linear.descent import Barrier, descend, descend_from, separating_columns
from scarce.linear.losses import loss_of
from scarce.linear.newton import Objective
from scarce.linear.regress import Formulation, regress
from scarce.linear.sums import summarise_columns
from tests.linear import plain
from tests.oracle.interior import minimise_inside
from tests.problems import codes, refused

SHAPES = (-1.0, -0.9, -0.5, 0.3, 1.0, 1.5)


def solve(X, y, loss, ridge=1.0, weight=None, **setting):
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1])
    return regress(rows, summarise_columns(rows), loss, ridge, Formulation(**setting))


def room_of(coef, X, y, shape, offset=0.0):
    """How far inside the support the rows are that must be there."""
    held = y == 1 if shape > 0 else y == 0
    return (1 + shape * (plain.design_of(X) @ coef + offset))[held]


# --- GEV with the log loss ------------------------------------------------------------------------


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize("seed", [0, 2])
def test_oracle_log_loss_is_as_low_as_the_best_of_many_starts(shape, ridge, seed):
    X, y = plain.rare(seed, n=120, k=2, shift=-1.0)
    loss = loss_of("gev-log", shape)
    found = solve(X, y, loss, ridge)
    penalty = np.array([ridge, ridge, 0.0])
    args = (X, y, loss, penalty)
    assert np.isfinite(found.coef).all()
    assert found.objective == pytest.approx(plain.objective(found.coef, *args), rel=1e-12)
    if shape > -1.0:  # at -1 a positive costs max(0, 1 - score): a minimum may sit on the kink
        assert found.solution.converged
        assert plain.standardised_gradient(found.coef, *args) <= 1.1e-10
    assert (room_of(found.coef, X, y, shape) > 0).all()
    rng = np.random.default_rng(seed)
    constant = np.array([0.0, 0.0, loss.link.forward(np.array([y.mean()]))[0]])
    best = np.inf
    for _ in range(5):
        start = constant + rng.normal(size=3) * [0.4, 0.4, 0.2]
        while plain.objective(start, *args) == np.inf:
            start = constant + 0.7 * (start - constant)
        end = minimize(
            lambda c: min(plain.objective(c, *args), 1e9),
            start,
            method="Nelder-Mead",
            options={"maxiter": 120},
        )
        best = min(best, end.fun)
    if not found.solution.converged:
        assert codes(found.remarks) == ["kinked-loss"]
        assert found.objective <= best + 1e-3
    else:
        assert found.objective <= best + 1e-9


@pytest.mark.parametrize("shape", [-0.5, 0.5, 1.2])
def test_invariant_log_loss_ignores_rows_that_do_not_count(shape):
    X, y = plain.rare(n=200)
    wild = X.copy()
    wild[::3] *= 50  # far outside any support
    kept = np.arange(200) % 3 != 0
    loss = loss_of("gev-log", shape)
    alone = solve(X[kept], y[kept], loss)
    weighted = solve(wild, y, loss, weight=kept.astype(float))
    gaps = solve(wild, np.where(kept, y, np.nan), loss)
    for other in (weighted, gaps):
        assert other.solution.converged
        np.testing.assert_allclose(other.coef, alone.coef, atol=1e-8)


@pytest.mark.parametrize("shape", [-0.5, 0.5])
def test_offsets_that_leave_the_support_are_met_by_the_intercept(shape, rng):
    X, y = plain.rare(n=200, k=2)
    offset = 3 * rng.normal(size=200)
    both = np.column_stack([X, offset])
    loss = loss_of("gev-log", shape)
    found = solve(both, y, loss, offset=2)
    coef = found.coef[[0, 1, 3]]
    assert found.solution.converged
    assert (room_of(coef, X, y, shape, offset) > 0).all()
    args = (X, y, loss, np.array([1.0, 1.0, 0.0]))
    end = minimize(
        lambda c: min(plain.objective(c, *args, 1.0, offset), 1e9),
        coef + [0.05, -0.05, 0.02 * np.sign(shape)],
        method="Nelder-Mead",
        options={"xatol": 1e-6, "fatol": 1e-9, "maxiter": 400},
    )
    assert found.objective <= end.fun + 1e-8
    with refused("outside-support", DataError):
        solve(both, y, loss, offset=2, intercept="none")


def test_the_best_of_several_starts_is_kept_and_infeasible_ones_are_passed_over():
    X, y = plain.rare(n=150, k=1)
    loss = loss_of("gev-log", 0.8)
    rows = ArrayRows(X, y, classes=[0, 1])
    objective = Objective(
        loss, np.array([1.0, 0.0]), np.array([True, True]), summarise_columns(rows)
    )
    constant = np.array([0.0, float(loss.link.forward(np.array([y.mean()]))[0])])
    outside = np.array([50.0, -50.0])
    alone, value = descend(rows, objective, constant, tol=1e-10)
    found, best = descend_from(rows, objective, [outside, constant], tol=1e-10)
    assert best == value
    np.testing.assert_array_equal(found.coef, alone.coef)
    assert found.passes > alone.passes  # all starts are paid for
    nowhere, infinite = descend_from(rows, objective, [outside], tol=1e-10)
    assert infinite == np.inf
    assert not nowhere.converged


class TwoWells:
    """A loss of the score alone with two minima, the lower one left of 0."""

    def value(self, y, score):
        return (score**2 - 1) ** 2 + 0.3 * score

    def sweep(self, y, score):
        slope = 4 * score * (score**2 - 1) + 0.3
        return slope, np.maximum(12 * score**2 - 4, 1.0)


def test_of_two_minima_the_lower_one_is_kept_whatever_the_order():
    rows = ArrayRows(np.arange(4.0)[:, None], [0, 1, 0, 1], classes=[0, 1])
    objective = Objective(TwoWells(), np.zeros(2), np.array([False, True]), summarise_columns(rows))
    left, right = np.array([0.0, -1.3]), np.array([0.0, 1.3])
    for starts in ([left, right], [right, left]):
        found, value = descend_from(rows, objective, starts, tol=1e-10)
        assert found.converged
        assert found.coef[1] == pytest.approx(-1.0354, abs=1e-3)
        assert value == pytest.approx(4 * TwoWells().value(None, found.coef[1]))


def test_descending_never_rises():
    X, y = plain.rare(n=150, k=2)
    loss = loss_of("gev-log", 1.5)
    rows = ArrayRows(X, y, classes=[0, 1])
    objective = Objective(
        loss, np.array([0.1, 0.1, 0.0]), np.ones(3, dtype=bool), summarise_columns(rows)
    )
    start = np.array([0.0, 0.0, float(loss.link.forward(np.array([y.mean()]))[0])])
    values = [descend(rows, objective, start, tol=1e-10, max_passes=m)[1] for m in range(1, 12)]
    assert (np.diff(values) <= 1e-12).all()
    assert values[-1] < values[0]


# --- the paper's constraint set -------------------------------------------------------------------


def outlying():
    """Few rows, one outlying positive: the set binds for shapes above 0 (and mirrored below)."""
    rng = np.random.default_rng(12)
    X = rng.normal(size=(80, 2))
    y = (rng.random(80) < expit(-1.2 + 1.5 * X[:, 0])).astype(float)
    X[0], y[0] = [-3.0, 0.5], 1.0
    X[1], y[1] = [3.5, 0.0], 0.0
    return X, y


@pytest.mark.parametrize("shape", [-1.0, -0.7, 0.5, 1.0, 1.5])
@pytest.mark.parametrize("ridge", [0.0, 1.0])
def test_oracle_paper_set_is_solved_as_by_an_interior_point(shape, ridge):
    X, y = outlying()
    loss = loss_of("gev-canonical", shape)
    found = solve(X, y, loss, ridge, domain="paper")
    assert found.proves == "duality gap"
    assert found.solution.converged
    assert 0 < found.solution.certificate <= 1e-10
    args = (X, y, loss, np.array([ridge, ridge, 0.0]))
    assert found.objective == pytest.approx(plain.objective(found.coef, *args), rel=1e-12)
    assert room_of(found.coef, X, y, shape).min() > 0
    start = np.array([0.0, 0.0, loss.link.forward(np.array([y.mean()]))[0]])
    rows = plain.design_of(X)[(y == 1) if shape > 0 else (y == 0)]

    def values(coef):
        held = (f(coef, *args) for f in (plain.objective, plain.gradient, plain.hessian))
        return tuple(held)

    theirs = minimise_inside(values, start, shape * rows, -np.ones(len(rows)))
    assert abs(found.objective - theirs.value) <= 1e-7
    np.testing.assert_allclose(found.coef, theirs.x, atol=1e-4)


@pytest.mark.parametrize("shape", [-1.0, 1.0, 1.5])
def test_the_duality_gap_bounds_what_is_left(shape):
    """At the optimum of the binding rows as equalities, found by Newton on the KKT system."""
    X, y = outlying()
    loss = loss_of("gev-canonical", shape)
    found = solve(X, y, loss, 1.0, domain="paper")
    args = (X, y, loss, np.array([1.0, 1.0, 0.0]))
    rows = plain.design_of(X)[(y == 1) if shape > 0 else (y == 0)]
    binding = rows[np.abs(1 + shape * rows @ found.coef) < 1e-4]
    assert len(binding) >= 1
    coef, held = found.coef.copy(), np.zeros(len(binding))
    for _ in range(20):
        top = np.hstack([plain.hessian(coef, *args), -shape * binding.T])
        system = np.vstack([top, np.hstack([shape * binding, np.zeros((len(binding),) * 2)])])
        slope = plain.gradient(coef, *args) - shape * binding.T @ held
        step = np.linalg.solve(system, -np.append(slope, 1 + shape * binding @ coef))
        coef, held = coef + step[:3], held + step[3:]
    assert (held > 0).all()
    exact = plain.objective(coef, *args)
    assert -1e-9 <= found.objective - exact <= found.solution.certificate * len(y) + 1e-12 * exact


@pytest.mark.parametrize("shape", [-0.5, 0.2])
def test_paper_set_that_does_not_bind_is_the_line(shape):
    X, y = plain.rare(n=300, k=2, shift=-1.0)
    loss = loss_of("gev-canonical", shape)
    line = solve(X, y, loss, 100.0)
    assert room_of(line.coef, X, y, shape).min() > 0.2
    paper = solve(X, y, loss, 100.0, domain="paper")
    # A gap of 1e-10 per row leaves the coefficients the root of it over the curvature.
    np.testing.assert_allclose(paper.coef, line.coef, atol=2e-5)
    value = plain.objective(line.coef, X, y, loss, np.array([100.0, 100.0, 0.0]))
    assert 0 <= paper.objective - value + 1e-9 <= 1e-10 * 300 + 2e-9


def test_the_set_changes_the_answer_where_it_binds_and_a_shape_of_zero_has_none():
    X, y = outlying()
    tight = solve(X, y, loss_of("gev-canonical", 1.0), domain="paper")
    free = solve(X, y, loss_of("gev-canonical", 1.0))
    assert abs(tight.coef[0]) < abs(free.coef[0])
    gumbel = loss_of("gev-canonical", 0.0)
    np.testing.assert_array_equal(
        solve(X, y, gumbel, domain="paper").coef, solve(X, y, gumbel).coef
    )


@pytest.mark.parametrize("shape", [-0.5, 0.5])
def test_invariant_paper_set_ignores_rows_that_do_not_count(shape):
    X, y = outlying()
    kept = np.arange(80) % 3 != 0
    wild = np.where(kept[:, None], X, 50 * X)
    loss = loss_of("gev-canonical", shape)
    alone = solve(X[kept], y[kept], loss, domain="paper")
    for other in (
        solve(wild, y, loss, weight=kept.astype(float), domain="paper"),
        solve(wild, np.where(kept, y, np.nan), loss, domain="paper"),
    ):
        assert other.objective == pytest.approx(alone.objective, abs=1e-8)
        np.testing.assert_allclose(other.coef, alone.coef, atol=1e-5)


def test_paper_set_with_offsets_begins_and_ends_inside(rng):
    X, y = plain.rare(n=200, k=2)
    offset = 3 * rng.normal(size=200)
    loss = loss_of("gev-canonical", 0.5)
    found = solve(np.column_stack([X, offset]), y, loss, domain="paper", offset=2)
    assert found.solution.converged
    assert room_of(found.coef[[0, 1, 3]], X, y, 0.5, offset).min() > 0


def test_separated_classes_have_no_answer_in_the_paper_set_either():
    x = np.repeat([-1.0, 1.0], 30)
    with refused("separated-classes", DataError, columns=["x0"]):
        solve(x[:, None], (x > 0) * 1.0, loss_of("gev-canonical", 0.5), 0.0, domain="paper")


@pytest.mark.parametrize("shape", [-0.6, 0.6])
@pytest.mark.parametrize("name", ["gev-canonical", "gev-log"])
def test_derivative_barrier(name, shape):
    barrier = Barrier(loss_of(name, shape), shape, 0.3)
    y = np.array([1.0, 0.0, 1.0, 0.0])
    score = np.array([-1.0, 1.0, 0.2, -0.3])
    h = 1e-5
    slope, curvature = barrier.sweep(y, score)
    by_value = (barrier.value(y, score + h) - barrier.value(y, score - h)) / (2 * h)
    np.testing.assert_allclose(slope, by_value, rtol=1e-6, atol=1e-8)
    if name == "gev-canonical":
        rise = barrier.sweep(y, score + h)[0] - barrier.sweep(y, score - h)[0]
        np.testing.assert_allclose(curvature, rise / (2 * h), rtol=1e-6)
    edge = np.full(1, -1.0 / shape)
    held, other = (np.ones(1), np.zeros(1)) if shape > 0 else (np.zeros(1), np.ones(1))
    assert barrier.value(held, edge) == np.inf
    if name == "gev-canonical":
        assert np.isfinite(barrier.value(other, edge))


# --- separation -----------------------------------------------------------------------------------


def ask(X, y, directions=(), weight=None, free=None):
    X = np.asarray(X, dtype=float)
    rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 2, len(X)))
    free = np.ones(X.shape[1] + 1, dtype=bool) if free is None else np.array(free)
    return separating_columns(
        rows, summarise_columns(rows), free, [np.asarray(d, float) for d in directions], None
    )


X = np.array([[0.0, 1.0], [1.0, 0.0], [2.0, 2.0], [3.0, 1.5], [4.0, 0.5]])
Y = [0, 0, 0, 1, 1]


def test_the_programme_finds_what_no_direction_shows():
    shares = ask(X, Y)
    assert shares is not None
    assert shares.max() == 1.0
    assert shares[0] > 0.5


def test_a_true_direction_needs_no_programme(monkeypatch):
    monkeypatch.setattr(module, "LARGEST", 0)
    assert ask(X, Y) is None  # no direction, and the programme is out of reach
    shares = ask(X, Y, directions=[[0.0, 1.0], [1.0, 0.0]])
    assert shares is not None
    assert shares.tolist() == [1.0, 0.0]


def test_a_wrong_direction_proves_nothing(monkeypatch):
    overlap = [0, 1, 0, 1, 0]
    assert ask(X[:, :1], overlap, directions=[[1.0]]) is None
    monkeypatch.setattr(module, "LARGEST", 0)
    assert ask(X, Y, directions=[[0.0, 1.0], [1.0, 5.0]]) is None


def test_quasi_complete_separation_counts():
    tied = np.array([[0.0], [0.0], [0.0], [1.0], [1.0]])
    assert ask(tied, [0, 1, 0, 1, 1]) is not None
    assert ask(tied, [0, 1, 0, 1, 0]) is None


def test_columns_that_may_not_move_do_not_separate():
    assert ask(X, Y, free=[False, True, True]) is None
    assert ask(X, Y, free=[True, False, True]) is not None


def test_rows_without_weight_do_not_count():
    spoilt = [0, 0, 0, 1, 0]
    assert ask(X[:, :1], spoilt) is None
    assert ask(X[:, :1], spoilt, weight=[1.0, 1, 1, 1, 0]) is not None
    assert ask(X[:, :1], [0, 0, 0, 1, np.nan]) is not None


@pytest.mark.parametrize("scale", [1e-9, 1e9])
@pytest.mark.parametrize("shift", [0.0, 1e6])
def test_units_and_shifts_change_nothing(scale, shift):
    moved = (X + shift) * [scale, 1.0]
    shares = ask(moved, Y)
    assert shares is not None
    np.testing.assert_allclose(shares, ask(X, Y), atol=1e-4)


@pytest.mark.parametrize("seed", range(6))
def test_oracle_random_small_data_against_brute_force_directions(seed):
    """In one column beside an intercept, separation is a matter of sorting."""
    rng = np.random.default_rng(seed)
    x = rng.integers(0, 6, size=7).astype(float)
    y = rng.integers(0, 2, size=7).astype(float)
    y[:2] = 0, 1
    low, high = x[y == 0], x[y == 1]
    apart = low.max() <= high.min() or high.max() <= low.min()
    apart &= not (low.min() == low.max() == high.min() == high.max())
    assert (ask(x[:, None], y) is not None) == apart
