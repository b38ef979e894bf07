"""The two problems: values, gaps and passes against plain sums, derivatives against differences."""

import numpy as np
import pytest
from scipy.special import logsumexp, softmax, xlogy

from scarce.maxent.coded import RowSample, code_cells, shape_of, tilt_of
from scarce.maxent.families import Category, Linear
from scarce.maxent.feature_map import Lines
from scarce.maxent.problems import (
    class_scores,
    entropy_importance,
    entropy_pass,
    robust_importance,
    robust_pass,
    share_pass,
)
from scarce.maxent.solver import InfeasibleBoxes, WorkingSet, _slopes, minimise
from tests.maxent.spaces import Data, coded, columns, mixed_rows, mixed_space, plain_tilt, some_coef
from tests.oracle import maxent_dense as dense
from tests.oracle.interior import entropy, minimise_inside

SHARES = np.array([[0.05, 0.35], [0.1, 0.6]])
KINDS = ["entropy", "robust", "no free class", "bounded"]


def make(kind, data, **how):
    if kind == "entropy":
        return data.entropy(**how)
    if kind == "robust":
        return data.robust(**how)
    if kind == "no free class":
        return data.robust((0.3, 0.7), 0.0, **how)
    return data.robust(bounds=SHARES, **how)


def plain_value(kind, data, problem, coef):
    """The aggregate from the columns, one row at a time."""
    n = data.space.n_features
    tilts = [
        plain_tilt(data.F, own[:n], target[:n], width[:n])
        for own, target, width in zip(coef, problem.target, problem.half_width, strict=True)
    ]
    if kind == "entropy":
        return logsumexp(tilts[0] + np.log(data.pool))
    default, extra = {"no free class": ((0.3, 0.7), 0.0)}.get(kind, ((0.3, 0.2, 0.5), 0.0))
    scores = np.column_stack([*tilts, np.zeros(len(data.X))][: len(default)]) + np.log(default)
    if kind == "bounded":
        shift, middle, half = coef[:, n], SHARES.mean(axis=1), np.diff(SHARES)[:, 0] / 2
        scores[:, :2] += shift
        extra = half @ np.abs(shift) - shift @ middle
    return data.pool @ logsumexp(scores, axis=1) + extra


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_values(kind):
    data = Data()
    problem = make(kind, data)
    for seed in range(4):
        coef = some_coef(problem, seed)
        result = problem.evaluate(coef)
        assert result.value == pytest.approx(plain_value(kind, data, problem, coef), rel=1e-12)
    assert problem.evaluate(np.zeros_like(coef)).value == pytest.approx(0.0, abs=1e-14)


@pytest.mark.parametrize("kind", KINDS)
def test_oracle_means(kind):
    data = Data()
    problem = make(kind, data)
    n = data.space.n_features
    coef = some_coef(problem, 1)
    result = problem.evaluate(coef)
    tilts = np.array(
        [
            plain_tilt(data.F, own[:n], target[:n], width[:n])
            for own, target, width in zip(coef, problem.target, problem.half_width, strict=True)
        ]
    )
    if kind == "entropy":
        weight = softmax(tilts + np.log(data.pool), axis=1)
    else:
        default = np.log((0.3, 0.7) if kind == "no free class" else (0.3, 0.2, 0.5))
        scores = np.vstack([tilts, np.zeros((len(default) - 2, len(data.X)))]) + default[:, None]
        if kind == "bounded":
            scores[:2] += coef[:, n:]
        weight = (softmax(scores, axis=0) * data.pool)[:2]
    seen = ~np.isnan(data.F)
    np.testing.assert_allclose(result.mean[:, :n], weight @ np.nan_to_num(data.F), atol=1e-13)
    np.testing.assert_allclose(result.seen[:, :n], weight @ seen, atol=1e-13)
    if kind == "bounded":
        np.testing.assert_allclose(result.mean[:, n], weight.sum(axis=1), atol=1e-13)
        assert (result.seen[:, n] == 1).all()


@pytest.mark.parametrize("kind", KINDS)
def test_derivative_of_the_value(kind):
    """Up and down sides: central differences where a coefficient is in use, one-sided where not."""
    data = Data(1, n=30)
    problem = make(kind, data)
    coef = some_coef(problem, 2)
    up, down = _slopes(problem, problem.evaluate(coef))
    step = 1e-4
    last = (coef.shape[0] - 1, coef.shape[1] - 1)  # the shift, where there is one
    for y, j in [*list(np.ndindex(*coef.shape))[:: 1 if len(coef) == 1 else 3], last]:
        for side, slope in ((1.0, up[y, j]), (-1.0, down[y, j])):
            if np.isinf(problem.half_width[y, j]):
                assert np.isinf(slope)
                continue
            if coef[y, j] * side < 0:
                continue

            def value(by, y=y, j=j, side=side):
                new = coef.copy()
                new[y, j] += side * by
                return problem.evaluate(new).value

            if abs(coef[y, j]) > 3 * step:
                found = 8 * (value(step) - value(-step)) - (value(2 * step) - value(-2 * step))
                found /= 12 * step
            else:
                steps = [value(k * step) for k in range(5)]
                found = np.dot([-25, 48, -36, 16, -3], steps) / (12 * step)
            assert found == pytest.approx(slope, abs=2e-9), (y, j, side)


@pytest.mark.parametrize("kind", KINDS)
def test_derivative_of_the_slopes(kind):
    """The curvature of all coefficients, products and shifts among them, from all rows."""
    data = Data(2, n=60)
    problem = make(kind, data)
    coef = some_coef(problem, 3, share=1.0)
    coef[np.isinf(problem.half_width)] = 0.0
    of_class, feature = np.nonzero(coef)
    side = np.sign(coef[of_class, feature])
    working = WorkingSet(of_class, feature, side)
    curvature = problem.curvature(coef, problem.evaluate(coef), working)
    np.testing.assert_allclose(curvature, curvature.T, atol=1e-14)

    def slopes(new):
        up, down = _slopes(problem, problem.evaluate(new))
        return np.where(side > 0, up[of_class, feature], down[of_class, feature])

    step = 1e-4
    for k in range(len(side)):
        ahead, behind = coef.copy(), coef.copy()
        ahead[of_class[k], feature[k]] += side[k] * step
        behind[of_class[k], feature[k]] -= side[k] * step
        found = (slopes(ahead) - slopes(behind)) / (2 * step)
        np.testing.assert_allclose(found, curvature[k], rtol=0, atol=2e-7)


@pytest.mark.parametrize("kind", KINDS)
def test_invariant_cuts_and_engines(kind):
    wanted = None
    for starts in [(0, 120), (0, 1, 119, 120), (0, 30, 60, 90, 120)]:
        data = Data(starts=starts)
        problem = make(kind, data)
        coef = some_coef(problem)
        here = problem.evaluate(coef)
        problem.engine = "threads"
        there = problem.evaluate(coef)
        assert here.value == there.value
        assert here.gap == there.gap
        assert (here.mean == there.mean).all()
        assert (here.seen == there.seen).all()
        wanted = here if wanted is None else wanted
        assert here.value == pytest.approx(wanted.value, rel=1e-12)
        np.testing.assert_allclose(here.mean, wanted.mean, rtol=1e-12, atol=1e-13)


# --- certificates ---------------------------------------------------------------------------------


@pytest.fixture(scope="module", params=[0, 1, 2])
def solved(request):
    """An entropy problem with the dense witness's answer."""
    data = Data(request.param, n=60)
    problem = data.entropy()
    widths = np.where(np.isinf(problem.half_width[0]), np.nan, problem.half_width[0])
    best = dense.dense_entropy(data.F, data.pool, data.label_weight(0), widths)
    assert best["gap"] + best["violation"] < 1e-8
    return data, problem, best


def test_the_gap_is_never_below_the_distance(solved):
    data, problem, best = solved
    assert problem.has_gap
    for seed in range(60):
        coef = some_coef(
            problem, seed, share=[0.0, 0.1, 1.0][seed % 3], size=[0.1, 1, 5][seed // 20]
        )
        result = problem.evaluate(coef)
        far = result.value - best["objective"]
        assert far >= -1e-9
        assert far <= result.gap + 1e-9
        # Also the divergence of the best distribution from this one.
        tilt = plain_tilt(data.F, coef[0], problem.target[0], problem.half_width[0])
        prob = np.exp(tilt + np.log(data.pool) - result.value)
        divergence = np.sum(xlogy(best["prob"], best["prob"]) - xlogy(best["prob"], prob))
        assert divergence <= result.gap + 1e-8


def test_the_gap_closes_at_the_optimum(solved):
    _, problem, best = solved
    found = minimise(problem, np.zeros_like(problem.target), tol=1e-9)
    assert found.converged
    assert found.result.value == pytest.approx(best["objective"], abs=1e-9)
    at_best = problem.evaluate(best["coef"][None])
    assert at_best.gap < 1e-6  # coefficients themselves are known to the witness's rounding


def test_the_gap_is_the_price_of_a_distribution_that_meets_all_boxes(solved):
    """Rebuilt from the definition: the model moved towards the labelled rows until it fits."""
    data, problem, _ = solved
    own = data.label_weight(0) / data.label_weight(0).sum()
    target, width = problem.target[0], problem.half_width[0]
    seen, F = ~np.isnan(data.F), np.nan_to_num(data.F)
    boxed = np.isfinite(width)
    for seed in range(5):
        coef = some_coef(problem, seed)
        result = problem.evaluate(coef)
        tilt = plain_tilt(data.F, coef[0], target, width)
        prob = np.exp(tilt + np.log(data.pool) - result.value)
        outside = np.abs(prob @ F - target * (prob @ seen)) - width * (prob @ seen)
        short = np.maximum(outside, 0)[boxed] / (width * (own @ seen))[boxed]
        moved = short.max() / (1 + short.max())
        mixed = (1 - moved) * prob + moved * own
        missed = np.abs(mixed @ F - target * (mixed @ seen)) - width * (mixed @ seen)
        assert missed[boxed].max() <= 1e-12  # it does meet them
        wanted = result.value + np.sum(xlogy(mixed, mixed) - xlogy(mixed, data.pool))
        assert result.gap == pytest.approx(wanted, rel=1e-9, abs=1e-12)


def robust_gap(data, problem, coef, result):
    """From the definition: the price of class probabilities that meet all boxes.

    Labelled rows are given to their class by the class without labels; where a row has not so much
    to give, the model is mixed with as many of the labels as fit.
    """
    tilts = [
        plain_tilt(data.F, *own)
        for own in zip(coef, problem.target, problem.half_width, strict=True)
    ]
    default = np.array([[0.3], [0.2], [0.5]])
    prob = softmax(np.vstack([*tilts, np.zeros(len(data.X))]) + np.log(default), axis=0)
    seen, F = ~np.isnan(data.F), np.nan_to_num(data.F)
    own = np.array([data.label_weight(y) / data.label_weight(y).sum() for y in range(2)])

    def outside(weight, y):
        target, width = problem.target[y], problem.half_width[y]
        boxed = np.isfinite(width)
        far = np.abs(weight @ F - target * (weight @ seen)) - width * (weight @ seen)
        return far[boxed], (width * (own[y] @ seen))[boxed]

    def short(y):
        far, unit = outside(prob[y] * data.pool, y)
        return (np.maximum(far, 0) / unit).max()

    given = np.array([short(y) * own[y] / data.pool for y in range(2)])
    new = prob + np.vstack([given, -given.sum(axis=0)])
    if (new[2] <= 0).any():
        most = [np.min(data.pool[own[y] > 0] / own[y][own[y] > 0]) for y in range(2)]
        labels = np.array([most[y] * own[y] / data.pool for y in range(2)])
        labels = np.vstack([labels, 1 - labels.sum(axis=0)])
        needed = max(short(y) / most[y] for y in range(2))
        new = (prob + needed * labels) / (1 + needed)
    assert (new >= 0).all()
    for y in range(2):
        assert outside(new[y] * data.pool, y)[0].max() <= 1e-12  # meets all boxes
    return result.value + data.pool @ (xlogy(new, new) - xlogy(new, default)).sum(axis=0)


@pytest.mark.parametrize("seed", range(2))
def test_the_robust_gap_is_never_below_the_distance(seed):
    data = Data(seed, n=60)
    problem = data.robust((0.3, 0.2), 0.5)
    widths = [np.where(np.isinf(w), np.nan, w) for w in problem.half_width]
    best = dense.dense_robust(
        data.F,
        data.pool,
        [data.label_weight(0), data.label_weight(1), None],
        [*widths, None],
        np.array([0.3, 0.2, 0.5]),
    )
    finite = 0
    middle = np.where(np.isinf(problem.half_width), 0.0, best["coef"][:2])
    for at in range(40):
        near = 10.0 ** -(at % 8)
        coef = middle * (1 + near * some_coef(problem, at)) + near * some_coef(
            problem, -at % 97, 0.05
        )
        coef[np.isinf(problem.half_width)] = 0.0
        result = problem.evaluate(coef)
        share = problem.class_shares(coef)[0].min()
        far = result.value - best["objective"]
        assert far >= -1e-9
        assert far <= result.gap * share + 1e-9
        if np.isfinite(result.gap):
            finite += 1
            wanted = robust_gap(data, problem, coef, result)
            assert result.gap * share == pytest.approx(wanted, rel=1e-7, abs=1e-13)
    assert finite > 5
    found = minimise(problem, np.zeros_like(problem.target), tol=1e-8)
    assert found.result.value == pytest.approx(best["objective"], abs=1e-8)
    assert found.proves == "duality gap"


def test_no_gap_where_no_feasible_point_is_known():
    data = Data()
    assert not data.entropy(width_scale=0.0).has_gap
    assert not data.entropy(width_scale=1e-12).has_gap  # no room that rounding would leave
    assert data.entropy(width_scale=1e-4).has_gap
    assert not data.robust((0.3, 0.7), 0.0).has_gap
    assert not data.robust(bounds=SHARES).has_gap
    assert data.robust().has_gap
    assert data.robust().evaluate(np.zeros_like(data.robust().target)).gap > 0


def test_shares_and_divergences():
    data = Data()
    problem = data.robust()
    coef = some_coef(problem, 4)
    tilts = [
        plain_tilt(data.F, *own)
        for own in zip(coef, problem.target, problem.half_width, strict=True)
    ]
    scores = np.vstack([*tilts, np.zeros(len(data.X))]) + np.log([[0.3], [0.2], [0.5]])
    prob = softmax(scores, axis=0)[:2]
    share, divergence = problem.class_shares(coef)
    np.testing.assert_allclose(share, prob @ data.pool, rtol=1e-12)
    given = prob * data.pool / share[:, None]
    wanted = (xlogy(given, given) - xlogy(given, data.pool)).sum(axis=1)
    np.testing.assert_allclose(divergence, wanted, rtol=1e-10)


# --- bounds on shares -----------------------------------------------------------------------------


@pytest.mark.parametrize(
    "bounds", [[[0.05, 0.1], [0.0, 1.0]], [[0.4, 0.5], [0.2, 0.2]], [[0.0, 1.0]] * 2]
)
def test_oracle_bounded_shares(bounds):
    """The primal by an interior point: least divergence from the default within boxes, bounds."""
    bounds = np.array(bounds)
    data = Data(5, n=24, families=[Linear(), Category()], second=False, missing=0.1)
    problem = data.robust(bounds=bounds, width_scale=1.5)
    found = minimise(problem, problem.padded(np.zeros((2, data.space.n_features))), tol=1e-7)
    assert found.converged
    share, _ = problem.class_shares(found.coef)
    assert (share >= bounds[:, 0] - 1e-8).all()
    assert (share <= bounds[:, 1] + 1e-8).all()

    default, n = np.array([0.3, 0.2, 0.5]), len(data.X)
    seen, F = ~np.isnan(data.F), np.nan_to_num(data.F)
    rows, least = [], []  # constraints rows @ q >= least, q the probabilities of labelled classes
    fixed, amount = [], []  # and those that are equalities
    for y in range(2):
        for j in np.flatnonzero(np.isfinite(problem.half_width[y, : F.shape[1]])):
            for sign in (1, -1):
                apart = sign * (F[:, j] - problem.target[y, j]) + problem.half_width[y, j]
                rows.append(np.kron(np.eye(2)[y], data.pool * seen[:, j] * apart))
                least.append(0.0)
        whole_class = np.kron(np.eye(2)[y], data.pool)
        if bounds[y, 0] == bounds[y, 1]:
            fixed.append(whole_class)
            amount.append(bounds[y, 0])
        else:
            rows += [whole_class, -whole_class]
            least += [bounds[y, 0], -bounds[y, 1]]
    rest = np.hstack([np.eye(n)] * 2)  # of all probabilities, what the third class does not have
    rows = np.vstack([rows, np.eye(2 * n), -rest])
    least = np.concatenate([least, np.zeros(2 * n), -np.ones(n)])

    def cost(q):
        q = np.append(q, 1 - rest @ q)
        one, slope, curve = entropy(np.tile(data.pool, 3), np.repeat(default, n))(q)
        chain = np.vstack([np.eye(2 * n), -rest])
        return one, chain.T @ slope, chain.T @ curve @ chain

    answer = minimise_inside(
        cost,
        np.repeat(default[:2], n),
        rows,
        least,
        np.array(fixed).reshape(-1, 2 * n),
        np.array(amount),
    )
    assert -found.result.value == pytest.approx(answer.value, abs=1e-6)
    np.testing.assert_allclose(share, answer.x.reshape(2, n) @ data.pool, atol=1e-4)


def test_bounds_that_contradict_the_boxes_are_found_out():
    """Both classes must have half of the rows, and their boxes exclude each other's rows."""
    data = Data(5, n=24, families=[Linear(), Category()], second=False, missing=0.0)
    problem = data.robust(
        (0.5, 0.5), 0.0, bounds=np.array([[0.9, 0.9], [0.1, 0.1]]), width_scale=0.01
    )
    with pytest.raises(InfeasibleBoxes):
        minimise(problem, problem.padded(np.zeros((2, data.space.n_features))), tol=1e-7)


# --- curvature from a part of the rows ------------------------------------------------------------


@pytest.mark.parametrize("kind", ["entropy", "robust"])
def test_curvature_from_a_part_is_right_on_average(kind):
    """Over shuffled orders of the rows, which is all that the draw depends on."""
    data = Data(3, n=900, second=True)
    whole = make(kind, data)
    coef = some_coef(whole, 1, share=0.1, size=1.0)
    coef[np.isinf(whole.half_width)] = 0.0
    of_class, feature = np.nonzero(coef)
    working = WorkingSet(of_class, feature, np.sign(coef[of_class, feature]))
    wanted = whole.curvature(coef, whole.evaluate(coef), working)
    rng = np.random.default_rng(0)
    found = []
    for _ in range(60):
        order = rng.permutation(900)
        rows = coded(
            data.X[order], data.space, data.label[order], data.weight[order], data.pool[order]
        )
        part = make(kind, data, sample=RowSample(rows, 150), rows=rows)
        assert not part.sample.whole
        found.append(part.curvature(coef, part.evaluate(coef), working))
    found = np.array(found)
    error = found.std(axis=0, ddof=1) / np.sqrt(len(found))
    assert (error > 0).all()
    z = (found.mean(axis=0) - wanted) / error
    # The covariance of entropy divides by an estimated sum: biased by about 1 in 150.
    bias = np.abs(wanted) / 75 / error if kind == "entropy" else 0.0
    assert (np.abs(z) < 4.5 + bias).all()
    scale = np.sqrt(np.outer(wanted.diagonal(), wanted.diagonal()))
    assert (np.abs(found - wanted) / scale).mean() < 0.2


def test_oracle_covariance_over_the_part():
    """About the part's own mean, which is not the model's."""
    data = Data(3, n=900)
    problem = data.entropy(sample=RowSample(data.rows, 100))
    coef = some_coef(problem, 1, share=0.1)
    coef[np.isinf(problem.half_width)] = 0.0
    feature = np.flatnonzero(coef[0])
    side = np.sign(coef[0, feature])
    result = problem.evaluate(coef)
    working = WorkingSet(np.zeros(len(feature), dtype=int), feature, side)
    found = problem.curvature(coef, result, working)
    drawn = np.array([np.abs(data.pool - own).argmin() for own in problem.sample.pool])
    assert 50 < len(set(drawn)) == problem.sample.cells.n <= 100
    F, target, width = data.F[drawn][:, feature], problem.target[0], problem.half_width[0]
    tilt = plain_tilt(data.F[drawn], coef[0], target, width)
    weight = data.pool[drawn] * np.exp(tilt - result.value) * problem.sample.factor
    columns = np.where(np.isnan(F), 0.0, side * (F - target[feature]) + width[feature])
    wanted = np.cov(columns.T, aweights=weight, ddof=0)
    np.testing.assert_allclose(found, wanted, rtol=0, atol=1e-12 * np.abs(wanted).max())


def test_a_part_is_drawn_anew_when_the_model_has_moved():
    data = Data(3, n=900)
    problem = data.entropy(sample=RowSample(data.rows, 100))
    used = np.flatnonzero(np.isfinite(problem.half_width[0]))[:3]
    working = WorkingSet(np.zeros(3, dtype=int), used, np.ones(3))
    zero = np.zeros_like(problem.target)
    problem.curvature(zero, problem.evaluate(zero), working)
    first = problem.sample.cells
    problem.curvature(zero, problem.evaluate(zero), working)
    assert problem.sample.cells is first  # still good
    far = zero.copy()
    far[0, used[0]] = 40.0
    problem.curvature(far, problem.evaluate(far), working)
    assert problem.sample.cells is not first


@pytest.mark.parametrize("kind", ["entropy", "robust"])
def test_the_answer_does_not_depend_on_the_part(kind):
    data = Data(4, n=600)
    whole = make(kind, data)
    part = make(kind, data, sample=RowSample(data.rows, 60))
    zero = np.zeros_like(whole.target)
    one, two = minimise(whole, zero, tol=1e-8), minimise(part, zero, tol=1e-8)
    assert one.converged
    assert two.converged
    assert one.result.value == pytest.approx(two.result.value, abs=1e-8)


def test_a_start_gets_a_column_for_shifts():
    data = Data()
    bounded = data.robust(bounds=SHARES)
    n = data.space.n_features
    assert bounded.padded(np.ones((2, n))).shape == (2, n + 1)
    assert not bounded.padded(np.ones((2, n)))[:, n].any()
    assert data.robust().padded(np.ones((2, n))).shape == (2, n)


def test_runs_are_ramps_and_steps_of_one_variable():
    data = Data()
    problem = data.entropy()
    letters, variable = data.space.letters, data.space.variable_of
    for j in range(1, data.space.n_features):
        same = problem.runs[j] == problem.runs[j - 1]
        alike = letters[j] == letters[j - 1] and variable[j] == variable[j - 1]
        assert same == (alike and letters[j] in "ht")


# --- passes over coded rows, at scores that overflow a plain exponential --------------------------


CUTS = [None, (0, 1, 150), (0, 10, 20, 149, 150)]
DEFAULT = np.log([0.3, 0.2])


@pytest.fixture
def problem(rng):
    X = mixed_rows(rng, 150)
    space = mixed_space(X)
    return X, space, columns(X, space), rng.exponential(size=150)


def lines(space, rng, size=0.3):
    n = space.n_features
    return space.lines(rng.normal(size=n) * size, rng.random(n), rng.random(n) * size)


def tilts(X, space, own):
    return tilt_of(code_cells(X, space, clamp=True), shape_of(space), own, np.empty(len(X)))


@pytest.mark.parametrize("starts", CUTS)
@pytest.mark.parametrize("shift", [0.0, 800.0, -800.0])
def test_oracle_entropy(problem, rng, starts, shift):
    X, space, F, pool = problem
    own = lines(space, rng)
    # A constant on the first variable: rows that miss it stay 800 behind or ahead.
    start = own.start.copy()
    start[space.first_cell[0] : space.first_cell[1] - 1] += shift
    own = own._replace(start=start)
    tilt = tilts(X, space, own)
    rows = coded(X, space, pool=pool, starts=starts)
    moved, sums = rows.fold(entropy_pass, (shape_of(space), own))
    log_w = np.log(pool / pool.sum())
    assert moved == tilt.max()
    assert moved + np.log(sums.total) == pytest.approx(logsumexp(tilt + log_w), rel=1e-13)
    prob = softmax(tilt + log_w)
    value, seen = space.expectations(sums)
    np.testing.assert_allclose(value / sums.total, prob @ np.nan_to_num(F), atol=1e-12)
    np.testing.assert_allclose(seen / sums.total, prob @ ~np.isnan(F), atol=1e-12)


@pytest.mark.parametrize("free", [0.5, 0.0])
@pytest.mark.parametrize("starts", CUTS)
@pytest.mark.parametrize("size", [0.3, 300.0])
def test_oracle_robust(problem, rng, starts, free, size):
    X, space, F, pool = problem
    own = [lines(space, rng, size), lines(space, rng, size)]
    scores = np.array([tilts(X, space, one) for one in own]) + DEFAULT[:, None]
    if size > 1:
        assert np.abs(scores).max() > 800
    log_free = np.log(free) if free else -np.inf
    every = np.vstack([scores, np.full(150, log_free)])
    w = pool / pool.sum()
    prob = softmax(every, axis=0)[:2]
    params = (shape_of(space), own, DEFAULT, log_free)
    rows = coded(X, space, pool=pool, starts=starts)

    value, sums = rows.fold(robust_pass, params)
    assert value == pytest.approx(w @ logsumexp(every, axis=0), rel=1e-12)
    for one, p in zip(sums, prob, strict=True):
        mean, seen = space.expectations(one)
        assert one.total == pytest.approx(w @ p, rel=1e-11)
        np.testing.assert_allclose(mean, (w * p) @ np.nan_to_num(F), atol=1e-12)
        np.testing.assert_allclose(seen, (w * p) @ ~np.isnan(F), atol=1e-12)

    share, total = rows.fold(share_pass, params)
    log_p = every - logsumexp(every, axis=0)
    np.testing.assert_allclose(share, prob @ w, rtol=1e-11)
    np.testing.assert_allclose(total, (prob * log_p[:2]) @ w, rtol=1e-9, atol=1e-12)

    importance = rows.map(robust_importance, params)
    np.testing.assert_allclose(importance, w * (prob * (1 - prob)).sum(axis=0), atol=1e-12)

    log_sum, found = class_scores(code_cells(X, space, clamp=True), *params)
    np.testing.assert_allclose(log_sum, logsumexp(every, axis=0), rtol=1e-13, atol=1e-13)
    np.testing.assert_array_equal(found, scores)


@pytest.mark.parametrize("starts", CUTS)
def test_oracle_importance_of_rows(problem, rng, starts):
    X, space, _, pool = problem
    own = lines(space, rng)
    tilt = tilts(X, space, own)
    rows = coded(X, space, pool=pool, starts=starts)
    found = rows.map(entropy_importance, (shape_of(space), own, 1.5))
    np.testing.assert_allclose(found, pool / pool.sum() * np.exp(tilt - 1.5), rtol=1e-12)


def test_passes_in_several_pieces(rng):
    """More rows than a piece has, with the greatest exponent in the last one."""
    X = mixed_rows(rng, 9000)
    X[:, 0] = np.sort(X[:, 0])  # missing values come last
    space = mixed_space(X[:, :], second=False)
    own = lines(space, rng)
    pool = rng.exponential(size=9000)
    tilt, w = tilts(X, space, own), pool / pool.sum()
    moved, sums = coded(X, space, pool=pool).fold(entropy_pass, (shape_of(space), own))
    assert moved + np.log(sums.total) == pytest.approx(logsumexp(tilt + np.log(w)), rel=1e-12)
    prob = softmax(tilt + np.log(w))
    F = columns(X, space)
    mean = space.expectations(sums)[0] / sums.total
    np.testing.assert_allclose(mean, prob @ np.nan_to_num(F), atol=1e-12)
    params = (shape_of(space), [own], DEFAULT[:1], np.log(0.7))
    rows = coded(X, space, pool=pool)
    every = np.vstack([tilt + DEFAULT[0], np.full(9000, np.log(0.7))])
    value, (one,) = rows.fold(robust_pass, params)
    assert value == pytest.approx(w @ logsumexp(every, axis=0), rel=1e-12)
    p = softmax(every, axis=0)[0]
    assert one.total == pytest.approx(w @ p, rel=1e-12)
    np.testing.assert_allclose(rows.fold(share_pass, params)[0], [w @ p], rtol=1e-12)
    np.testing.assert_allclose(rows.map(robust_importance, params), w * p * (1 - p), rtol=1e-10)
    found = rows.map(entropy_importance, (shape_of(space), own, 0.0))
    np.testing.assert_allclose(found, w * np.exp(tilt), rtol=1e-12)


def test_invariant_engines_give_the_same_bits(problem, rng):
    X, space, _, pool = problem
    own = [lines(space, rng), lines(space, rng)]
    rows = coded(X, space, pool=pool, starts=(0, 40, 90, 150))
    params = (shape_of(space), own, DEFAULT, np.log(0.5))
    found = []
    for engine in (None, "threads", "processes:2"):
        shift, sums = rows.fold(entropy_pass, (shape_of(space), own[0]), engine=engine)
        value, every = rows.fold(robust_pass, params, engine=engine)
        arrays = [
            shift,
            *sums,
            value,
            *every[0],
            *every[1],
            *rows.fold(share_pass, params, engine=engine),
        ]
        arrays.append(rows.map(robust_importance, params, engine=engine))
        found.append([np.asarray(array).tobytes() for array in arrays])
    assert found[0] == found[1] == found[2]


def test_a_tilt_of_0_is_the_pool(problem):
    X, space, F, pool = problem
    nothing = Lines(np.zeros(space.n_cells), np.zeros(space.n_cells), *np.zeros((2, 5, 5)))
    shift, sums = coded(X, space, pool=pool).fold(entropy_pass, (shape_of(space), nothing))
    assert shift == 0.0
    assert sums.total == pytest.approx(1.0, abs=1e-14)
    w = pool / pool.sum()
    np.testing.assert_allclose(space.expectations(sums)[0], w @ np.nan_to_num(F), atol=1e-13)
