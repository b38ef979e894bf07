"""The witnesses for maxent are themselves right: against cvxpy, a closed form and one another."""

import json
from pathlib import Path

import numpy as np
import pytest
from scipy.special import expit, logit, logsumexp

from tests.oracle import maxent_dense as dense
from tests.oracle.algorithm_1 import algorithm_1
from tests.oracle.problems import checksum, entropy_problem, robust_problem

GOLDEN = json.loads(Path(__file__).parent.parent.joinpath("golden", "maxent.json").read_text())
# CLARABEL reached 1e-12 (191 of 200) or 1e-11: objectives agree to 4e-12 and probabilities to 2e-7.
OBJECTIVE, PROBABILITY = 1e-10, 1e-6


def boxes(problem):
    """Label weights and half widths, class by class."""
    weights = problem.label_weights()
    rule = problem.width_scale, problem.spread
    widths = [
        None if row is None else dense.half_widths(problem.X, problem.background_weight, row, *rule)
        for row in weights
    ]
    return weights, widths


def fit_entropy(problem, solver=dense.dense_entropy):
    weights, widths = boxes(problem)
    return solver(problem.X, problem.background_weight, weights[1], widths[1])


def certified(fit, tol=1e-12):
    return abs(fit["gap"]) < tol and fit["violation"] < tol


@pytest.mark.parametrize("part", range(10))
def test_golden_entropy(part):
    for case in GOLDEN["entropy"][part::10]:
        problem = entropy_problem(case["seed"])
        assert checksum(problem) == pytest.approx(case["checksum"], abs=1e-9), "another generator"
        fit = fit_entropy(problem)
        assert certified(fit), case["seed"]
        assert fit["objective"] == pytest.approx(-case["divergence"], abs=OBJECTIVE)
        np.testing.assert_allclose(fit["prob"], case["prob"], rtol=0, atol=PROBABILITY)


@pytest.mark.parametrize("kind", ["one", "three", "all", "empty"])
def test_golden_robust(kind):
    cases = [case for case in GOLDEN["robust"] if case["kind"] == kind]
    assert len(cases) >= 3
    for case in cases:
        problem = robust_problem(case["seed"], kind)
        assert checksum(problem) == pytest.approx(case["checksum"], abs=1e-9), "another generator"
        fit = dense.dense_robust(
            problem.X, problem.background_weight, *boxes(problem), problem.default
        )
        assert fit["empty"] == case["empty"] == (kind == "empty")
        if kind != "empty":
            assert certified(fit)
            assert fit["objective"] == pytest.approx(-case["divergence"], abs=OBJECTIVE)
            np.testing.assert_allclose(fit["prob"], case["prob"], rtol=0, atol=PROBABILITY)


def test_the_golden_problems_are_of_every_kind():
    problems = [entropy_problem(case["seed"]) for case in GOLDEN["entropy"]]
    assert len(problems) == 200
    assert {p.width_scale for p in problems} == {0.1, 0.3, 1.0, 2.0}
    assert {p.spread for p in problems} == {"labelled", "seen"}
    missing = np.array([np.isnan(p.X).mean() for p in problems])
    assert (missing == 0).sum() > 20
    assert (missing > 0.5).sum() > 20
    never = [np.isnan(boxes(p)[1][1]).any() for p in problems]
    assert 10 < sum(never) < 60
    uniform = [np.ptp(p.background_weight) == 0 for p in problems]
    assert 60 < sum(uniform) < 140
    moved = [case["divergence"] > 1e-3 for case in GOLDEN["entropy"]]
    assert sum(moved) > 140


def test_no_box_of_a_golden_problem_is_narrow_enough_for_a_floor():
    """Fits may floor the spread at 0.001 of a column's range: here it is always wider."""
    problems = [entropy_problem(case["seed"]) for case in GOLDEN["entropy"]]
    problems += [robust_problem(case["seed"], case["kind"]) for case in GOLDEN["robust"]]
    for problem in problems:
        span = np.nanmax(problem.X, axis=0) - np.nanmin(problem.X, axis=0)
        for label in problem.label_weights():
            if label is not None:
                share = dense.spreads(problem.X, label) / span
                assert (share[~np.isnan(share)] > 2e-3).all()


def test_algorithm_1_reaches_the_same_optimum():
    for seed in range(20):
        problem = entropy_problem(seed)
        fit, literal = fit_entropy(problem), fit_entropy(problem, algorithm_1)
        assert literal["sweeps"] < 200
        assert literal["objective"] == pytest.approx(fit["objective"], abs=1e-12)
        np.testing.assert_allclose(literal["prob"], fit["prob"], rtol=0, atol=1e-10)


def test_algorithm_1_does_not_overflow_where_its_first_step_overshoots():
    """A rare indicator: the printed step jumps far beyond the optimum, Z would be exp(30)."""
    x = np.zeros((20_000, 1))
    x[[0, 1, 2]] = 1.0
    w, label = np.full(20_000, 1 / 20_000), np.zeros(20_000)
    label[[0, *range(100, 149)]] = 1.0
    width = dense.half_widths(x, w, label, 0.1, "labelled")
    literal = algorithm_1(x, w, label, width)
    fit = dense.dense_entropy(x, w, label, width)
    assert max(literal["history"]) > 0  # worse than no model at all, on the way
    assert literal["objective"] == pytest.approx(fit["objective"], abs=1e-11)
    assert literal["sweeps"] > 20


@pytest.mark.parametrize("hidden", [0.0, 0.3])
def test_closed_form_of_one_indicator(hidden):
    """Rows of 1, 0 and missing: the box's lower edge fixes the odds of the first two."""
    n = 1000
    x = np.where(np.arange(n) < 200, 1.0, 0.0)
    x[int(n * (1 - hidden)) :] = np.nan
    w, label = np.full(n, 1 / n), np.zeros(n)
    label[[*range(30), *range(300, 310)]] = 1.0  # target 0.75
    fit = dense.dense_entropy(x[:, None], w, label, np.array([0.05]))
    ones, zeros, missing = fit["prob"][0], fit["prob"][500], fit["prob"][-1]
    n_zeros = 800 - int(n * hidden)
    assert 200 * ones / (200 * ones + n_zeros * zeros) == pytest.approx(0.70, abs=1e-12)
    # exp(coef * (f - target) + width * coef) for f = 1 and 0, against 1 where f is missing.
    coef = logit(0.70) - np.log(200 / n_zeros)
    assert fit["coef"][0] == pytest.approx(coef, rel=1e-11)
    assert fit["tilt"][0] == pytest.approx(0.30 * coef, rel=1e-11)
    if hidden:
        assert np.log(zeros / missing) == pytest.approx(-0.70 * coef, rel=1e-11)


def test_without_slack_a_missing_value_is_the_labelled_mean():
    """At half width 0 the boxes of 004 are those of imputing the labelled mean; wider, not."""
    for seed in (13, 41, 77):
        problem = entropy_problem(seed)
        (_, label), w = problem.label_weights(), problem.background_weight
        assert np.isnan(problem.X).any()
        target, seen = dense.box_targets(problem.X, label)
        filled = np.where(np.isnan(problem.X), target, problem.X)[:, seen > 0]
        for width, equal in ((0.0, True), (0.02, False)):
            wide = width * dense.spreads(problem.X, w)
            ours = dense.dense_entropy(problem.X, w, label, wide)
            theirs = dense.dense_entropy(filled, w, label, wide[seen > 0])
            apart = np.abs(ours["prob"] - theirs["prob"]).max()
            assert (apart < 1e-11) == equal


def test_entropy_objective_is_the_divergence_and_meets_the_boxes():
    for seed in range(0, 200, 9):
        problem = entropy_problem(seed)
        (_, label), (_, width) = boxes(problem)
        fit, w = fit_entropy(problem), problem.background_weight
        p = fit["prob"]
        assert p.sum() == pytest.approx(1, abs=1e-12)
        assert fit["objective"] == pytest.approx(-(p @ np.log(p / w)), abs=1e-11)
        target, seen_weight = dense.box_targets(problem.X, label)
        for j in np.flatnonzero(seen_weight > 0):
            seen = ~np.isnan(problem.X[:, j])
            deviation = p[seen] @ (problem.X[seen, j] - target[j])
            room = width[j] * p[seen].sum()
            unit = np.nanstd(problem.X[:, j])
            assert abs(deviation) <= room + 1e-11 * unit
            if fit["coef"][j] != 0:  # on the edge that the coefficient pulls towards
                assert deviation == pytest.approx(-np.sign(fit["coef"][j]) * room, abs=1e-10 * unit)


def test_one_class_robust_is_a_logit_with_a_tied_intercept():
    problem = robust_problem(3, "one")
    (_, label), (_, width) = boxes(problem)
    fit = dense.dense_robust(problem.X, problem.background_weight, *boxes(problem), problem.default)
    target, _ = dense.box_targets(problem.X, label)
    seen = ~np.isnan(problem.X)
    coef = fit["coef"][1]
    terms = np.where(seen, coef * (problem.X - target) + width * np.abs(coef), 0.0)
    score = logit(problem.default[1]) + np.nansum(terms, axis=1)
    np.testing.assert_allclose(fit["prob"][:, 1], expit(score), rtol=1e-11)
    softplus = problem.background_weight @ logsumexp(
        np.column_stack([np.zeros(len(score)), score]), axis=1
    )
    assert fit["objective"] == pytest.approx(softplus + np.log(problem.default[0]), abs=1e-12)
    np.testing.assert_array_equal(fit["coef"][0], 0)


# --- features -------------------------------------------------------------------------------------


def test_plain_features_by_hand():
    x, knots = np.array([0.0, 1.0, 3.0, 4.0, np.nan]), np.array([0.0, 1.0, 2.0, 4.0])
    hinges = dense.hinge_matrix(x, knots)
    assert hinges.shape == (5, 6)
    np.testing.assert_allclose(
        hinges[:4],
        [
            [0, 0, 0, 1, 1, 1],
            [1 / 4, 0, 0, 0, 1 / 2, 3 / 4],
            [3 / 4, 2 / 3, 1 / 2, 0, 0, 1 / 4],
            [1, 1, 1, 0, 0, 0],
        ],
    )
    steps = dense.threshold_matrix(x, knots)
    np.testing.assert_array_equal(steps[:4], [[0, 0], [1, 0], [1, 1], [1, 1]])
    levels = dense.category_matrix(np.array([2.0, 5.0, np.nan, 2.0]))
    np.testing.assert_array_equal(levels[[0, 1, 3]], [[1, 0], [0, 1], [1, 0]])
    assert np.isnan(hinges[4]).all()
    assert np.isnan(steps[4]).all()
    assert np.isnan(levels[2]).all()
    X = np.array([[0.0, 5.0], [2.0, 7.0], [1.0, np.nan], [1.0, 9.0]])
    np.testing.assert_array_equal(
        dense.quadratic_matrix(X), [[0, 0], [1, 0.25], [0.25, np.nan], [0.25, 1]]
    )
    np.testing.assert_array_equal(dense.product_matrix(X), [[0], [0.5], [np.nan], [0.5]])
    assert dense.product_matrix(X[:, :1]).shape == (4, 0)


def test_many_collinear_hinges_are_solved_as_well(rng):
    """Hinges of two families span one space: coefficients are not unique, probabilities are."""
    x = rng.normal(size=(300, 2))
    x[rng.random(x.shape) < 0.2] = np.nan
    knots = [np.linspace(np.nanmin(v), np.nanmax(v), 8) for v in x.T]
    F = np.hstack([dense.hinge_matrix(v, k) for v, k in zip(x.T, knots, strict=True)])
    label = (np.nan_to_num(x[:, 0]) + rng.gumbel(size=300) > 1.2).astype(float)
    w = np.full(300, 1 / 300)
    width = dense.half_widths(F, w, label, 0.5, "seen")
    fit = dense.dense_entropy(F, w, label, width)
    literal = algorithm_1(F, w, label, width, max_sweeps=800)
    assert certified(fit)
    assert fit["objective"] == pytest.approx(literal["objective"], abs=1e-10)
    np.testing.assert_allclose(fit["prob"], literal["prob"], rtol=0, atol=1e-6)
