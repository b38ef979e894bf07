"""Firth's fit: right against other programs and a slow plain version, whatever shape rows have."""

import json
import pickle
from pathlib import Path

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import expit

from scarce import DataError, UsageError
from scarce.engine.block import Block
from scarce.engine.memory import ArrayRows
from scarce.linear import firth
from scarce.linear.firth import (
    BatchObjective,
    _direction,
    firth_gradient,
    fit_firth,
    flic_intercept,
    likelihood,
    maximise_batch,
)
from tests.problems import refused

GOLDEN = json.loads((Path(__file__).parent.parent / "golden" / "firth.json").read_text())["cases"]


def golden_rows(case):
    return ArrayRows(case["X"], case["y"], weight=case["weight"], classes=[0, 1])


def rare(rng, n=300, k=3, shift=-3.0):
    X = rng.normal(size=(n, k))
    y = (rng.random(n) < expit(shift + X[:, 0])).astype(float)
    return X, y


def plain_objective(coef, X, y, weight=1.0, penalty="firth", prior=0.0, offset=0.0):
    """Penalised log-likelihood, written down as in the books."""
    design = np.column_stack([np.ones(len(X)), X])
    prob = expit(design @ coef + offset)
    value = np.sum(weight * np.where(y == 1, np.log(prob), np.log1p(-prob)))
    if penalty == "firth":
        information = design.T @ (design * (weight * prob * (1 - prob))[:, None])
        return value + 0.5 * np.linalg.slogdet(information)[1]
    return value - 0.5 * np.sum(prior * coef[1:] ** 2)


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_golden_coefficients_and_standard_errors_are_those_of_brglm2(case):
    fit = fit_firth(golden_rows(case))
    errors = np.sqrt(np.diag(np.linalg.inv(fit.information)))
    np.testing.assert_allclose(fit.coef, case["brglm2"]["coef"], rtol=1e-9, atol=1e-9)
    np.testing.assert_allclose(errors, case["brglm2"]["standard_error"], rtol=1e-9)
    assert fit.objective == pytest.approx(case["firthmodels"]["loglik"], abs=1e-9)
    assert fit.converged
    assert fit.gradient_norm <= 1e-10


@pytest.mark.parametrize("case", GOLDEN, ids=lambda case: case["name"])
def test_golden_flic_intercept_is_that_of_a_refit_in_r(case):
    rows = golden_rows(case)
    flic = flic_intercept(rows, fit_firth(rows))
    weight, y = np.array(case["weight"]), np.array(case["y"])
    assert flic.coef[0] == pytest.approx(case["brglm2"]["flic"], abs=1e-8)
    prob = expit(flic.coef[0] + np.array(case["X"]) @ flic.coef[1:])
    assert weight @ prob / weight.sum() == pytest.approx(weight @ y / weight.sum(), abs=1e-12)


@pytest.mark.parametrize("case", [c for c in GOLDEN if "statsmodels" in c], ids=lambda c: c["name"])
def test_golden_maximum_likelihood_is_that_of_statsmodels(case):
    fit = fit_firth(golden_rows(case), penalty="none")
    np.testing.assert_allclose(fit.coef, case["statsmodels"]["coef"], rtol=1e-10)
    assert fit.objective == pytest.approx(case["statsmodels"]["loglik"], rel=1e-12)
    assert not fit.separated


@pytest.mark.parametrize("penalty", ["firth", "normal"])
def test_oracle_a_general_optimiser_finds_no_better_point(rng, penalty):
    X, y = rare(rng)
    X = X * [1.0, 20.0, 0.1] + [0.0, 5.0, 1.0]
    weight = rng.random(300) + 0.5
    prior = (np.cov(X.T, aweights=weight, ddof=0).diagonal()) / 2.5**2
    fit = fit_firth(ArrayRows(X, y, weight=weight, classes=[0, 1]), penalty=penalty)

    def loss(coef):
        return -plain_objective(coef, X, y, weight, penalty, prior)

    assert fit.objective == pytest.approx(-loss(fit.coef), rel=1e-12)
    size = np.append(1.0, X.std(axis=0))
    start = fit.coef + 0.1 / size
    found = minimize(
        lambda b: loss(b / size),
        start * size,
        jac="3-point",  # one-sided differences leave the last 1e-5 to rounding
        method="BFGS",
        options={"gtol": 1e-7},
    )
    np.testing.assert_allclose(fit.coef * size, found.x, atol=1e-5)
    assert -found.fun <= fit.objective + 1e-10


def test_derivatives_are_those_of_the_objective(rng):
    X, y = rare(rng, 60)
    rows = ArrayRows(X, y, weight=rng.random(60), classes=[0, 1])
    scaling = (slice(None), np.array([0.1, 0.2, 0.0]), np.array([1.0, 2.0, 0.5]), None)
    block = next(rows.blocks())
    coef = rng.normal(size=(2, 4)) * 0.5

    def half_log_det(b):
        return 0.5 * np.linalg.slogdet(likelihood(block, (scaling, (b,)))[2])[1]

    _, score, information = likelihood(block, (scaling, (coef,)))
    pull = firth_gradient(block, (scaling, (coef, np.linalg.inv(np.linalg.cholesky(information)))))
    for j in range(4):
        step = 1e-5 * np.eye(4)[j]
        up, down = (likelihood(block, (scaling, (coef + s,))) for s in (step, -step))
        np.testing.assert_allclose(score[:, j], (up[0] - down[0]) / 2e-5, rtol=1e-7)
        np.testing.assert_allclose(-information[:, j], (up[1] - down[1]) / 2e-5, rtol=1e-6)
        slope = (half_log_det(coef + step) - half_log_det(coef - step)) / 2e-5
        np.testing.assert_allclose(pull[:, j], slope, rtol=1e-6)


def test_kernels_are_quiet_and_exact_at_scores_of_800():
    block = Block(np.array([[1.0], [1.0], [-1.0]]), np.array([1.0, 0.0, 0.0]))
    scaling = (slice(None), np.zeros(1), np.ones(1), None)
    value, score, information = likelihood(block, (scaling, (np.array([[0.0, 800.0]]),)))
    assert value[0] == -800.0
    assert score.tolist() == [[-1.0, -1.0]]
    assert (information == 0).all()
    # p (1 - p) where p is 1 up to 1e-16: 1 - p must not be rounded away
    _, _, small = likelihood(block, (scaling, (np.array([[0.0, 40.0]]),)))
    assert small[0, 0, 0] == pytest.approx(3 * np.exp(-40.0), rel=1e-12)
    sure = Block(np.array([[1.0]]), np.array([1.0]))
    _, pull, _ = likelihood(sure, (scaling, (np.array([[0.0, 40.0]]),)))
    assert pull[0, 0] == pytest.approx(np.exp(-40.0), rel=1e-12)


def test_a_curvature_that_is_not_one_proves_nothing():
    eye = np.eye(2)[None]
    _, _, certificate = _direction(False, np.array([[1e-9, 0.0]]), -eye, 0 * eye, eye)
    assert np.isinf(certificate[0])


def test_a_closed_form():
    """One binary column: Firth adds half a row to every cell of the 2 x 2 table."""
    counts = {(0, 0): 40, (0, 1): 0, (1, 0): 7, (1, 1): 3}
    X = np.repeat([[cell[0]] for cell in counts], list(counts.values()), axis=0).astype(float)
    y = np.repeat([cell[1] for cell in counts], list(counts.values()))
    fit = fit_firth(ArrayRows(X, y, classes=[0, 1]))
    odds = [(counts[x, 1] + 0.5) / (counts[x, 0] + 0.5) for x in (0, 1)]
    np.testing.assert_allclose(fit.coef, [np.log(odds[0]), np.log(odds[1] / odds[0])], rtol=1e-9)


@pytest.mark.parametrize("penalty", ["firth", "normal"])
def test_invariant_blocks_engines_row_order_and_weights(rng, monkeypatch, penalty):
    X, y = rare(rng, 200)
    X[:70, 1] += 4.0
    weight = np.arange(200) % 3.0
    whole = fit_firth(ArrayRows(X, y, weight=weight, classes=[0, 1]), penalty=penalty)
    cut = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, 1, 70, 200))
    parts = [fit_firth(cut, penalty=penalty, engine=engine) for engine in (None, "threads")]
    np.testing.assert_array_equal(parts[0].coef, parts[1].coef)
    order = rng.permutation(200)
    shuffled = ArrayRows(X[order], y[order], weight=weight[order], classes=[0, 1])
    times = weight.astype(int)
    repeated = ArrayRows(np.repeat(X, times, axis=0), np.repeat(y, times), classes=[0, 1])
    monkeypatch.setattr("scarce.linear.firth.CELLS", 100)  # pieces of 64 rows
    others = [fit_firth(rows, penalty=penalty) for rows in (shuffled, repeated)]
    for fit in (*parts, *others):
        np.testing.assert_allclose(fit.coef, whole.coef, rtol=1e-9, atol=1e-10)
        assert fit.objective == pytest.approx(whole.objective, rel=1e-11)


def test_invariant_unlabelled_rows_are_not_used(rng):
    X, y = rare(rng, 150)
    more = np.vstack([X, np.full((20, 3), np.nan), rng.normal(size=(20, 3)) * 100])
    labels = np.append(y, np.full(40, np.nan))
    found = fit_firth(ArrayRows(more, labels, classes=[0, 1]))
    np.testing.assert_allclose(found.coef, fit_firth(ArrayRows(X, y, classes=[0, 1])).coef)


@pytest.mark.parametrize("penalty", ["firth", "none", "normal"])
def test_invariant_units_of_the_columns(rng, penalty):
    X, y = rare(rng)
    size, shift = np.array([1e8, 1e-6, 3.0]), np.array([1e10, 0.0, 1e6])
    plain = fit_firth(ArrayRows(X, y, classes=[0, 1]), penalty=penalty)
    moved = fit_firth(ArrayRows(X * size + shift, y, classes=[0, 1]), penalty=penalty)
    assert moved.converged
    np.testing.assert_allclose(moved.coef[1:] * size, plain.coef[1:], rtol=1e-7)
    shifted = plain.objective + (np.log(size).sum() if penalty == "firth" else 0.0)
    assert moved.objective == pytest.approx(shifted, abs=1e-7)


def test_invariant_label_swap(rng):
    X, y = rare(rng)
    fit = fit_firth(ArrayRows(X, y, classes=[0, 1]))
    swapped = fit_firth(ArrayRows(X, 1 - y, classes=[0, 1]))
    np.testing.assert_allclose(swapped.coef, -fit.coef, rtol=1e-9)


def test_offset_and_held_coefficients(rng):
    X, y = rare(rng)
    rows = ArrayRows(X, y, classes=[0, 1])
    held = fit_firth(rows, fixed={1: 0.7, 0: -2.5})
    np.testing.assert_allclose(held.coef[:2], [-2.5, 0.7], rtol=1e-12)
    assert held.converged

    def loss(rest):
        return -plain_objective(np.array([-2.5, 0.7, *rest]), X, y)

    found = minimize(loss, [0.0, 0.0], method="BFGS", options={"gtol": 1e-7})
    np.testing.assert_allclose(held.coef[2:], found.x, atol=1e-6)
    with_offset = ArrayRows(np.column_stack([X[:, 1:], 0.7 * X[:, 0]]), y, classes=[0, 1])
    # Maximum likelihood: an offset of .7 x is a coefficient held at .7.
    one = fit_firth(with_offset, offset=2, penalty="none")
    other = fit_firth(rows, fixed={1: 0.7}, penalty="none")
    np.testing.assert_allclose(one.coef, other.coef[[0, 2, 3]], rtol=1e-9)
    with refused("unknown-coefficient", UsageError, position=4):
        fit_firth(rows, fixed={4: 1.0})


def test_columns_and_a_start_are_those_asked_for(rng):
    X, y = rare(rng)
    rows = ArrayRows(X, y, classes=[0, 1])
    chosen = fit_firth(rows, [2, 0])
    alone = fit_firth(ArrayRows(X[:, [2, 0]], y, classes=[0, 1]))
    np.testing.assert_allclose(chosen.coef, alone.coef, rtol=1e-12)
    again = fit_firth(rows, [2, 0], coef=chosen.coef)
    np.testing.assert_allclose(again.coef, chosen.coef, rtol=1e-9)
    assert again.passes < chosen.passes / 2


def test_columns_that_add_nothing_are_left_out_and_named(rng):
    X, y = rare(rng)
    wide = np.column_stack([X, np.full(300, 1e8 + 0.1), X[:, 0], X[:, 1] - 2 * X[:, 2] + 1e3])
    names = ["a", "b", "c", "still", "again", "mix"]
    fit = fit_firth(ArrayRows(wide, y, names=names, classes=[0, 1]))
    assert fit.converged
    assert "still" in fit.dropped
    assert len(set(fit.dropped) & {"a", "again"}) == 1
    assert len(set(fit.dropped) & {"b", "c", "mix"}) == 1
    plain = fit_firth(ArrayRows(X, y, classes=[0, 1]))
    left_out = [1 + names.index(name) for name in fit.dropped]
    assert (fit.coef[left_out] == 0).all()
    score = fit.coef[0] + wide @ fit.coef[1:]
    np.testing.assert_allclose(score, plain.coef[0] + X @ plain.coef[1:], atol=1e-7)


def test_more_columns_than_rows_and_no_column_at_all(rng):
    X = rng.normal(size=(6, 10))
    fit = fit_firth(ArrayRows(X, [0, 0, 0, 0, 1, 1], classes=[0, 1]))
    assert len(fit.dropped) == 5  # six coefficients fit six rows
    assert np.isfinite(fit.coef).all()
    still = fit_firth(ArrayRows(np.ones((6, 1)), [0, 0, 0, 0, 1, 1], classes=[0, 1]))
    np.testing.assert_allclose(still.coef, [np.log(2.5 / 4.5), 0.0], rtol=1e-9)


@pytest.mark.parametrize("seed", range(6))
def test_separation_is_seen_by_maximum_likelihood_and_harmless_to_firth(seed):
    """Complete (even seeds) and quasi-complete (odd: ties on the edge) separation."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(50, 2)) * [1.0, 30.0]
    X[:, 0] = np.round(X[:, 0], 1)
    y = (X[:, 0] > 0.5).astype(float)
    if seed % 2:
        y[X[:, 0] == np.sort(X[y == 1, 0])[0]] = 0
        edge = np.sort(X[y == 1, 0])[0]
        X = np.vstack([X, [[edge, 0.0], [edge, 1.0], [edge, -5.0]]])
        y = np.append(y, [0, 1, 0])
    rows = ArrayRows(X, y, classes=[0, 1])
    plain = fit_firth(rows, penalty="none")
    assert plain.separated
    assert not plain.converged
    firth = fit_firth(rows)
    assert firth.converged
    assert not firth.separated
    assert np.abs(firth.standard).max() < 20
    assert fit_firth(rows, penalty="normal").converged


def test_one_class_alone_has_a_firth_fit_and_no_other(rng):
    X = rng.normal(size=(30, 2))
    rows = ArrayRows(X, np.zeros(30), classes=[0, 1])
    assert fit_firth(rows).converged
    assert fit_firth(rows, penalty="none").separated
    assert fit_firth(rows, penalty="normal").separated


def test_a_member_without_information_is_left_alone(rng):
    X, y = rare(rng, 100, 1)
    rows = ArrayRows(X, y, classes=[0, 1])
    objective = BatchObjective(
        rows, None, slice(None), np.zeros(1), np.ones(1), None, True, np.zeros(2)
    )
    start = np.array([[0.0, 0.0], [1e6, 0.0]])  # no information at the second
    batch = maximise_batch(objective, start, np.tile(np.eye(2), (2, 1, 1)), tol=1e-10)
    assert batch.certificate[0] <= 1e-10
    assert np.isinf(batch.certificate[1])
    np.testing.assert_allclose(batch.coef[0], fit_firth(rows).coef, rtol=1e-8)


def test_flic_of_maximum_likelihood_is_itself_and_fits_are_picklable(rng):
    X, y = rare(rng)
    rows = ArrayRows(X, y, classes=[0, 1])
    plain = fit_firth(rows, penalty="none")
    assert flic_intercept(rows, plain) is plain
    again = pickle.loads(pickle.dumps(fit_firth(rows)))
    np.testing.assert_array_equal(again.coef, fit_firth(rows).coef)


def test_flic_keeps_slopes_and_lowers_small_probabilities(rng):
    X, y = rare(rng, shift=-4.0)
    rows = ArrayRows(X, y, classes=[0, 1])
    firth = fit_firth(rows)
    flic = flic_intercept(rows, firth)
    np.testing.assert_array_equal(flic.coef[1:], firth.coef[1:])
    assert flic.coef[0] < firth.coef[0]
    assert flic.penalty == "flic"


@pytest.mark.parametrize(
    ("change", "error", "problem"),
    [
        ({"penalty": "frith"}, UsageError, ("unknown-word", {"argument": "penalty"})),
        (
            {"scale": 0.0, "penalty": "normal"},
            UsageError,
            ("invalid-parameter", {"argument": "scale", "value": 0.0}),
        ),
        ({"tol": 0.0}, UsageError, ("invalid-parameter", {"argument": "tol"})),
        ({"columns": [0, 7]}, UsageError, ("unknown-column", {"position": 7})),
        ({"offset": 9}, UsageError, ("unknown-column", {"position": 9})),
        ({"coef": [0.0]}, UsageError, ("length-mismatch", {"shape": (1,), "expected": 4})),
        ({"y": np.full(300, np.nan)}, DataError, ("no-labels", {"rows": 300})),
        ({"y": np.arange(300) % 3}, DataError, ("too-many-classes", {"count": 3})),
        ({"missing": True}, DataError, ("missing-value", {"column": "x1", "count": 1})),
    ],
)
def test_what_cannot_work_is_refused(rng, change, error, problem):
    X, y = rare(rng)
    if change.pop("missing", False):
        X[3, 1] = np.nan
    rows = ArrayRows(X, change.pop("y", y), classes=[0, 1])
    code, fields = problem
    with refused(code, error, **fields):
        fit_firth(rows, change.pop("columns", None), **change)


@pytest.mark.parametrize("size", [1e8 + 0.1, 1 / 3, -7e15 / 3, 1e-9 / 7])
@pytest.mark.parametrize("n", [300, 5001])
def test_a_constant_is_seen_with_a_margin_whatever_the_order_of_sums(size, n, rng):
    """Rounding of its mean leaves a share of 1e-16 to 1e-14 of it, by processor and length."""
    X = np.column_stack([rng.normal(size=n), np.full(n, size)])
    y = (rng.random(n) < 0.2).astype(float)
    for weight in (None, rng.uniform(0.1, 3.0, size=n)):
        rows = ArrayRows(X, y, weight=weight, classes=[0, 1], starts=(0, n // 3, n))
        found = rows.fold(firth.design_moments, (np.array([0, 1]), None))
        share = np.sqrt(found.products[1, 1] / found.weight) / abs(size)
        assert share < 0.02 * firth.CONSTANT
        assert fit_firth(rows).dropped == ("x1",)
