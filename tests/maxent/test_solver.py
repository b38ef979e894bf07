"""The solver for boxes: bounded quadratics by other methods, small problems with known answers."""

import numpy as np
import pytest
from scipy.optimize import lsq_linear, nnls

from scarce.maxent import kernels, solver
from scarce.maxent.solver import (
    InfeasibleBoxes,
    PassResult,
    WorkingSet,
    bounded_quadratic,
    minimise,
)
from tests.oracle.interior import minimise_inside
from tests.problems import refused

# --- quadratics -----------------------------------------------------------------------------------


def quadratic(seed):
    """A random problem; some nearly or wholly singular, some started at the bound."""
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 25))
    rows = size + 3 if seed % 3 else max(1, size // 2)
    A = rng.normal(size=(rows, size)) * rng.lognormal(sigma=1.0, size=size)
    if seed % 4 == 0 and size > 1:  # neighbours along the knots are nearly equal
        A[:, 1::2] = A[:, : size // 2 * 2 : 2] * (1 + 1e-5 * rng.normal(size=(rows, size // 2)))
    start = np.where(rng.random(size) < 0.5, 0.0, rng.exponential(size=size))
    wanted = rng.normal(size=rows)
    return A, start, wanted


@pytest.mark.parametrize("part", range(4))
def test_oracle_bounded_quadratic(part):
    """200 problems: min |A v - b|^2 / 2 over v >= 0, written around some other start."""
    for seed in range(part * 50, part * 50 + 50):
        A, start, wanted = quadratic(seed)
        H, slope = A.T @ A, A.T @ (A @ start - wanted)
        found = bounded_quadratic(H, slope, start)
        assert (found >= 0).all()
        scale = np.sum(wanted**2)

        unit = A / np.linalg.norm(A, axis=0)  # the minimum is the same in any units of v

        def loss(v, A=unit, b=wanted):
            return np.sum((A @ v - b) ** 2) / 2, A.T @ (A @ v - b), A.T @ A

        n = len(start)
        best = minimise_inside(loss, np.ones(n), np.eye(n), np.zeros(n), tol=1e-9 * scale).value
        reached = np.sum((A @ found - wanted) ** 2) / 2
        assert reached - best <= 1e-8 * scale, (seed, reached, best)
        gradient = slope + H @ (found - start)
        assert (gradient >= -1e-7 * np.abs(slope).max()).all(), seed
        assert np.abs(gradient[found > 0]).max(initial=0.0) <= 1e-7 * np.abs(slope).max(), seed


def test_oracle_the_point_itself_where_it_is_unique(rng):
    for _ in range(50):
        A = rng.normal(size=(40, 12))
        start, wanted = rng.exponential(size=12), rng.normal(size=40)
        found = bounded_quadratic(A.T @ A, A.T @ (A @ start - wanted), start)
        np.testing.assert_allclose(found, nnls(A, wanted)[0], rtol=0, atol=1e-8)
        other = lsq_linear(A, wanted, bounds=(0, np.inf), method="bvls", tol=1e-14).x
        np.testing.assert_allclose(found, other, rtol=0, atol=1e-7)


def test_oracle_sweeps_alone(rng):
    """Coordinate descent never leaves the bounds, keeps its slopes, and gets there by itself."""
    A, wanted = rng.normal(size=(40, 8)), rng.normal(size=40)
    H = A.T @ A
    for sweeps in (1, 2, 500):
        value = rng.exponential(size=8)
        slope = H @ value - A.T @ wanted
        done = kernels.sweep_bounded(H, slope, value, sweeps, 1e-13)
        assert (value >= 0).all()
        np.testing.assert_allclose(slope, H @ value - A.T @ wanted, atol=1e-11)
        assert done <= sweeps
    assert done < 500
    np.testing.assert_allclose(value, nnls(A, wanted)[0], atol=1e-11)


def test_inputs_of_a_quadratic_are_left_alone(rng):
    A, start, wanted = quadratic(7)
    H, slope = A.T @ A, A.T @ (A @ start - wanted)
    kept = H.copy(), slope.copy(), start.copy()
    bounded_quadratic(H, slope, start)
    for before, after in zip(kept, (H, slope, start), strict=True):
        np.testing.assert_array_equal(before, after)


def test_a_quadratic_that_is_already_solved_stays():
    assert bounded_quadratic(np.eye(2), np.array([0.0, 3.0]), np.array([1.0, 0.0])).tolist() == [
        1.0,
        0.0,
    ]


# --- working sets and certificates ----------------------------------------------------------------


class Plain:
    """A quadratic in the coefficients with a price on their size: the lasso, solved by hand.

    value = sum_j (coef_j - middle_j)^2 / 2 + half_width_j |coef_j|; the gradient on a side is that
    of TiltProblem with seen = 1 and target = 0.
    """

    has_gap = False
    lowest = -np.inf

    def __init__(self, middle, half_width, runs=None, gap=None):
        self.middle = np.atleast_2d(np.asarray(middle, dtype=float))
        self.half_width = np.atleast_2d(np.asarray(half_width, dtype=float))
        self.target = np.zeros_like(self.middle)
        self.deviation = np.ones_like(self.middle)
        self.runs = np.arange(self.middle.shape[1]) if runs is None else np.asarray(runs)
        self.passes = self.sharpened = 0
        self.wrong = 1.0  # what the curvature is multiplied by

    def evaluate(self, coef):
        self.passes += 1
        with np.errstate(invalid="ignore"):
            price = np.where(coef == 0, 0.0, self.half_width * np.abs(coef))
        value = float(np.sum((coef - self.middle) ** 2) / 2 + price.sum())
        return PassResult(value, coef - self.middle, np.ones_like(coef), np.inf)

    def curvature(self, coef, result, working):
        return self.wrong * np.eye(len(working.feature))

    def enlarge_sample(self):
        self.sharpened += 1
        self.wrong = 1.0
        return False


def soft(middle, width):
    return np.sign(middle) * np.maximum(np.abs(middle) - width, 0)


@pytest.mark.parametrize("start", ["zero", "elsewhere"])
def test_oracle_soft_thresholds(start, rng):
    middle, width = rng.normal(size=(2, 30)) * 2, rng.exponential(size=(2, 30))
    problem = Plain(middle, width)
    begin = np.zeros((2, 30)) if start == "zero" else rng.normal(size=(2, 30))
    found = minimise(problem, begin, tol=1e-8)
    np.testing.assert_allclose(found.coef, soft(middle, width), rtol=0, atol=1e-8)
    assert found.converged
    assert found.proves == "gradient norm"
    assert found.certificate <= 1e-10
    assert found.passes == problem.passes


def test_a_coefficient_without_a_box_stays_0():
    found = minimise(Plain([5.0, 5.0], [np.inf, 1.0]), np.array([[3.0, 3.0]]), tol=1e-8)
    np.testing.assert_allclose(found.coef, [[0.0, 4.0]], atol=1e-9)


def test_a_start_on_the_wrong_side_crosses():
    found = minimise(Plain([4.0, -4.0], [1.0, 1.0]), np.array([[-9.0, 9.0]]), tol=1e-8)
    np.testing.assert_allclose(found.coef, [[3.0, -3.0]], atol=1e-9)


def test_the_start_is_the_answer():
    problem = Plain([4.0], [1.0])
    found = minimise(problem, np.array([[3.0]]), tol=1e-8)
    assert found.passes == problem.passes == 1
    assert found.converged


def test_a_step_that_is_too_long_is_shortened():
    problem = Plain([4.0], [1.0])
    problem.wrong = 0.05  # promises a step of twenty times the right one
    found = minimise(problem, np.zeros((1, 1)), tol=1e-8)
    np.testing.assert_allclose(found.coef, [[3.0]], atol=1e-9)
    assert problem.sharpened > 0


def test_slow_steps_ask_for_a_sharper_curvature():
    problem = Plain([4.0], [1.0])
    problem.wrong = 20.0  # steps of a twentieth
    found = minimise(problem, np.zeros((1, 1)), tol=1e-8)
    assert found.converged
    assert problem.sharpened > 0
    assert found.passes < 10


def test_values_never_rise(rng):
    problem = Plain(rng.normal(size=20) * 5, rng.exponential(size=20))
    problem.wrong = 0.3
    start = rng.normal(size=(1, 20))
    values = [
        minimise(problem, start, tol=1e-8, max_passes=passes).result.value
        for passes in range(1, 12)
    ]
    assert len(set(values)) > 2
    assert (np.diff(values) <= 1e-13).all()


def test_passes_are_counted_and_limited(rng):
    problem = Plain(rng.normal(size=400) * 5, np.full(400, 0.1))
    found = minimise(problem, np.zeros((1, 400)), tol=1e-8, max_passes=2)
    assert not found.converged
    assert found.passes == problem.passes == 2
    assert found.certificate > 1e-3


def test_newcomers_are_the_worst_and_not_too_many(rng):
    problem = Plain(rng.normal(size=400) * 5, np.full(400, 0.1))
    result = problem.evaluate(np.zeros((1, 400)))
    working = solver._working_set(problem, np.zeros((1, 400)), result)
    worst = np.sort(np.argsort(np.abs(problem.middle[0]))[-solver.ADMITTED :])
    np.testing.assert_array_equal(working.feature, worst)
    np.testing.assert_array_equal(working.side, np.sign(problem.middle[0, worst]))


def test_newcomers_along_the_knots_are_peaks_and_neighbours_of_those_in_use():
    #          run 0: a peak at 2            run 1: its edge is a peak of its own
    middle = [1.5, 2.0, 3.0, 2.5, 0.5, 9.0, 8.0, 7.0]
    problem = Plain(middle, np.ones(8), runs=[0, 0, 0, 0, 0, 1, 1, 1])

    def chosen(coef):
        coef = np.array([coef])
        return solver._working_set(problem, coef, problem.evaluate(coef)).feature.tolist()

    assert chosen([0.0] * 8) == [2, 5]
    assert chosen([0, 0, 2.0, 0, 0, 0, 0, 0]) == [1, 2, 3, 5]
    assert chosen([0, 0, 0, 0, 0, 8.0, 0, 0]) == [2, 5, 6]  # not 4: another run, and in its box


def test_the_certificate_is_the_worst_slope_in_standard_deviations():
    problem = Plain([3.0, -2.0, 0.5, 4.0], [1.0, 1.0, 1.0, 1.0])
    problem.deviation = np.array([[1.0, 0.1, 1.0, 8.0]])
    coef = np.zeros((1, 4))
    assert solver._residual(problem, coef, problem.evaluate(coef)) == pytest.approx(10.0)
    coef = np.array([[2.0, -1.0, 0.0, 1.0]])  # only the last is not settled: slope -2, unit 8
    assert solver._residual(problem, coef, problem.evaluate(coef)) == pytest.approx(0.25)
    coef = np.array([[2.0, -1.0, 0.0, 5.0]])  # too far counts as much
    assert solver._residual(problem, coef, problem.evaluate(coef)) == pytest.approx(0.25)


def test_a_gap_is_believed_where_there_is_one():
    problem = Plain([4.0], [1.0])
    problem.has_gap = True
    plain = problem.evaluate
    problem.evaluate = lambda coef: plain(coef)._replace(gap=abs(float(coef[0, 0]) - 3.0))
    found = minimise(problem, np.zeros((1, 1)), tol=1e-6)
    assert found.proves == "duality gap"
    assert found.certificate <= 1e-6
    assert found.converged


def test_a_value_below_every_feasible_one_proves_that_there_is_none():
    problem = Plain([4.0], [1.0])
    problem.lowest = 4.0
    with refused("infeasible-boxes", InfeasibleBoxes) as told:
        minimise(problem, np.zeros((1, 1)), tol=1e-12)
    assert told.value.coef.shape == (1, 1)


@pytest.mark.parametrize("odd", [np.nan, np.inf, -np.inf])
def test_a_value_that_is_not_finite_is_not_accepted(odd):
    problem = Plain([4.0], [1.0])
    plain = problem.evaluate
    problem.evaluate = lambda coef: plain(coef)._replace(
        value=odd if abs(coef[0, 0]) > 3.5 else plain(coef).value
    )
    problem.wrong = 0.5
    found = minimise(problem, np.zeros((1, 1)), tol=1e-8)
    np.testing.assert_allclose(found.coef, [[3.0]], atol=1e-8)
    assert np.isfinite(found.result.value)


def test_slopes_of_both_sides():
    problem = Plain([3.0], [1.0])
    problem.target = np.array([[0.25]])
    result = PassResult(0.0, np.array([[0.8]]), np.array([[0.4]]), np.inf)
    up, down = solver._slopes(problem, result)
    assert up[0, 0] == pytest.approx(0.4 + (0.8 - 0.1))
    assert down[0, 0] == pytest.approx(0.4 - (0.8 - 0.1))
    working = WorkingSet(np.array([0, 0]), np.array([0, 0]), np.array([1.0, -1.0]))
    np.testing.assert_allclose(solver._pick((up, down), working), [1.1, -0.3])
