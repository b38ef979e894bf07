"""Products of which one factor is missing: against columns written out, and from outside."""

import numpy as np
import pytest

from scarce import MaxentClassifier, load, save
from scarce.errors import StoreError
from scarce.maxent.boxes import class_boxes
from scarce.maxent.coded import Accumulator, RowSample, labelled_rows, shape_of, sums_of, tilt_of
from scarce.maxent.factors import complete_factors, fill_rows, fit_factors
from scarce.maxent.feature_map import FeatureMap
from scarce.maxent.problems import EntropyProblem, ProblemData, RobustProblem
from scarce.maxent.solver import WorkingSet, _slopes
from scarce.missing.front import fit_front
from tests.maxent.spaces import coded, columns, mixed_rows, mixed_space, plain_tilt, some_coef
from tests.oracle import maxent_dense as dense
from tests.problems import refused
from tests.properties.family_properties import near


def places(X, space):
    """Every number on its scale from 0 to 1; categories and constants 0."""
    out = np.zeros(X.shape)
    for v, axis in enumerate(space.axes):
        if not axis.category and not axis.flat:
            out[:, v] = dense.unit_range(X[:, v], axis.knots[0], axis.knots[-1])
    return out


def expected_columns(X, space, weight):
    """Every feature of every row; a product has NaN only where both factors are missing."""
    place = places(X, space)
    filled = fit_front(place, weight).complete(place, clip=True)
    F = columns(X, space)
    for at, (u, v) in enumerate(space.pairs):
        both = np.isnan(place[:, u]) & np.isnan(place[:, v])
        F[:, space.first_pair + at] = np.where(both, np.nan, filled[:, u] * filled[:, v])
    return F


class Data:
    """Rows with missing values, two labelled classes, weights; their columns F beside them."""

    def __init__(self, seed=0, n=150):
        rng = np.random.default_rng(seed)
        self.X = mixed_rows(rng, n, 0.3)
        self.label = np.where(rng.random(n) < 0.4, rng.integers(0, 2, n), np.nan)
        self.weight = rng.exponential(size=n) + 0.1
        pool = rng.exponential(size=n) + 0.05
        self.pool = pool / pool.sum()
        plain = mixed_space(self.X)
        self.space = FeatureMap(plain.axes, plain.families, plain.pairs, expected=True)
        self.rows = coded(
            self.X, self.space, self.label, self.weight, self.pool, starts=(0, n // 3, n)
        )
        self.front = fit_factors(self.rows, self.space, float(n))
        fill_rows(self.rows, self.space, self.front)
        self.F = expected_columns(self.X, self.space, n * self.pool)

    def problem(self, kind):
        shape = shape_of(self.space)
        boxes = [
            class_boxes(self.rows, self.space, shape, one, spread="labelled", widths="spread")
            for one in (0, 1)
        ]
        own = [labelled_rows(self.rows, one) for one in (0, 1)]
        held = ProblemData(self.rows, self.space, boxes, own, RowSample(self.rows), None)
        if kind == "robust":
            return RobustProblem(held, 1.0, default=np.array([0.3, 0.2]), free=0.5)
        one = ProblemData(self.rows, self.space, boxes[:1], own[:1], RowSample(self.rows), None)
        return EntropyProblem(one, 1.0)


@pytest.fixture(scope="module")
def data():
    return Data()


def test_oracle_tilts_sums_and_squares(data, rng):
    space, F, n = data.space, data.F, len(data.X)
    shape = shape_of(space)
    coef = np.where(rng.random(space.n_features) < 0.3, 0.0, rng.normal(size=space.n_features))
    target, width = rng.random(space.n_features), rng.exponential(size=space.n_features)
    tilts, total = [], Accumulator(shape, squares=True)
    weight = rng.exponential(size=n)
    for block in data.rows.coded_blocks:
        lines = space.lines(coef, target, width)
        tilts.append(tilt_of(block.cells, shape, lines, np.empty(len(block))))
        own = weight[block.start : block.start + len(block)]
        sums_of(block.cells, shape, own, total, squares=True)
    size = np.abs(coef).sum() * (2 + width.max())
    near(np.concatenate(tilts), plain_tilt(F, coef, target, width), size, "tilt")
    value, seen = space.expectations(total.close())
    near(value, np.nansum(F * weight[:, None], axis=0), weight.sum(), "value")
    near(seen, (~np.isnan(F) * weight[:, None]).sum(axis=0), weight.sum(), "seen")
    squares = np.nansum(F**2 * weight[:, None], axis=0)
    near(space.squares(total.close()), squares, weight.sum(), "squares")


@pytest.mark.parametrize("kind", ["entropy", "robust"])
def test_gradient_and_curvature_are_differences_of_the_value(data, kind):
    problem = data.problem(kind)
    coef = some_coef(problem, 3)
    coef[:, data.space.first_pair :] = 0.3
    result = problem.evaluate(coef)
    up, down = _slopes(problem, result)
    pairs = np.arange(data.space.first_pair, data.space.n_features)
    working = WorkingSet(np.zeros(len(pairs), dtype=np.intp), pairs, np.ones(len(pairs)))
    curvature = problem.curvature(coef, result, working)
    for at, feature in enumerate(pairs):
        step = np.zeros_like(coef)
        step[0, feature] = 1e-5
        ahead, behind = problem.evaluate(coef + step), problem.evaluate(coef - step)
        assert up[0, feature] == pytest.approx((ahead.value - behind.value) / 2e-5, abs=1e-8)
        change = (_slopes(problem, ahead)[0] - _slopes(problem, behind)[0])[0, pairs] / 2e-5
        np.testing.assert_allclose(curvature[at], change, atol=1e-7)
    assert np.isfinite(down).all()


def test_complete_rows_need_no_em(rng):
    X = mixed_rows(rng, 200, 0.0)
    plain = mixed_space(X)
    space = FeatureMap(plain.axes, plain.families, plain.pairs, expected=True)
    rows = coded(X, space, pool=np.ones(200))
    shape = shape_of(space)
    total = Accumulator(shape)
    for block in rows.coded_blocks:
        sums_of(block.cells, shape, block.pool, total)
    short, long = complete_factors(space, total.close(), 200.0), fit_factors(rows, space, 200.0)
    for name in ("mean", "scale", "covariance", "used", "weight"):
        np.testing.assert_allclose(getattr(short, name), getattr(long, name), atol=1e-12)


# --- from outside ---------------------------------------------------------------------------------


def world(seed, n=600, share=0.3):
    """Two factors whose product counts, and a third that tells about the first."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 3))
    X[:, 2] = 0.9 * X[:, 0] + np.sqrt(1 - 0.81) * X[:, 2]
    lives = rng.random(n) < 1 / (1 + np.exp(2 - 1.5 * (1 + X[:, 0]) * (1 + X[:, 1])))
    y = np.where(lives & (rng.random(n) < 0.7), 1.0, np.nan)
    X[rng.random(X.shape) < share] = np.nan
    return X, y, lives


def fit(X, y, **settings):
    return MaxentClassifier(**{"features": "lqp", "width_scale": 0.3, **settings}).fit(X, y)


def dense_features(X, model):
    """Names and columns as the definition says, from the fitted front alone."""
    low, high = np.array([knots[[0, -1]] for knots in model.knots_]).T
    place = (X - low) / (high - low)
    filled = model.front_.complete(place, clip=True)
    out = list(place.T) + list((place**2).T)
    for u, v in ((0, 1), (0, 2), (1, 2)):
        both = np.isnan(place[:, u]) & np.isnan(place[:, v])
        out.append(np.where(both, np.nan, filled[:, u] * filled[:, v]))
    return np.column_stack(out)


def test_the_density_meets_boxes_of_the_same_features_and_the_gap_proves_it():
    X, y, _ = world(0)
    model = fit(X, y, knots_at="uniform", tol=1e-9)
    assert model.report_.converged
    assert model.report_.proves == "duality gap"
    assert model.report_.gap <= 1e-9
    F, seen = dense_features(X, model), ~np.isnan(dense_features(X, model))
    F = np.where(seen, F, 0.0)
    own = y == 1
    target = F[own].sum(axis=0) / seen[own].sum(axis=0)
    np.testing.assert_allclose(model.target_[0], target, rtol=1e-12)
    prob = model.density_ratio(X) / len(X)
    apart = prob @ F / (prob @ seen) - target
    assert (np.abs(apart) <= model.half_width_[0] + 1e-5).all()
    assert (model.coef_[0, 6:] != 0).any()
    price = model.half_width_[0] * np.abs(model.coef_[0])
    tilt = F @ model.coef_[0] - seen @ (model.coef_[0] * target - price)
    np.testing.assert_allclose(prob, np.exp(tilt) / np.exp(tilt).sum(), rtol=1e-8)


def test_what_is_expected_of_a_factor_predicts_better_than_nothing():
    """Trained on complete rows too: another value says what the missing factor was."""
    for share in (0.3, 0.0):
        gains = []
        for seed in range(3):
            X, y, _ = world(seed, 1500, share)
            new, _, lives = world(100 + seed, 3000)
            models = [fit(X, y, products=rule, prevalence=0.4) for rule in ("expected", "seen")]
            losses = [
                -np.mean(np.log(np.where(lives, p, 1 - p)))
                for p in (model.predict_proba(new)[:, 1] for model in models)
            ]
            gains.append(losses[1] - losses[0])
        assert min(gains) > 0.005


def test_rows_without_a_value_say_nothing_and_complete_ones_do_not_change():
    X, y, _ = world(1, share=0.0)
    one, other = fit(X, y), fit(X, y, products="seen")
    np.testing.assert_array_equal(one.predict_proba(X), other.predict_proba(X))
    assert other.front_ is None
    hollow = fit(*world(1)[:2])
    found = hollow.decision_function([[np.nan] * 3])[0]
    assert found == pytest.approx(hollow.offset_ @ [-1, 1], abs=1e-14)


def test_invariants():
    X, y, _ = world(2)
    wanted = fit(X, y).decision_function(X)
    moved = X * [1e3, 2.0, 0.01] + [5.0, 70.0, -3.0]
    np.testing.assert_allclose(fit(moved, y).decision_function(moved), wanted, atol=1e-5)
    order = np.random.default_rng(0).permutation(len(X))
    found = fit(X[order], y[order]).decision_function(X)
    np.testing.assert_allclose(found, wanted, atol=1e-6)
    swapped = fit(X[:, [2, 0, 1]], y).decision_function(X[:, [2, 0, 1]])
    np.testing.assert_allclose(swapped, wanted, atol=1e-6)
    more = np.column_stack([X, np.full(len(X), 3.0), np.full(len(X), np.nan)])
    np.testing.assert_allclose(fit(more, y).decision_function(more), wanted, atol=1e-6)
    twice = fit(np.concatenate([X, X]), np.concatenate([y, y])).decision_function(X)
    heavy = fit(X, y, width_scale=0.3).fit(X, y, np.full(len(X), 2.0)).decision_function(X)
    np.testing.assert_allclose(twice, heavy, atol=1e-6)


def test_a_factor_that_no_labelled_row_has_makes_no_product():
    X, y, _ = world(3)
    X[y == 1, 2] = np.nan
    model = fit(X, y)
    assert (model.coef_[0, [2, 5, 7, 8]] == 0).all()  # x2, x2^2, x0 * x2, x1 * x2
    assert "unseen-columns" in [remark.code for remark in model.report_.warnings]


def test_curves_and_importance_take_what_is_expected():
    X, y, _ = world(4)
    model = fit(X, y)
    curve = model.response_curve(0, n=11)
    alone = np.full((len(curve.x), 3), np.nan)
    alone[:, 0] = curve.x
    np.testing.assert_allclose(curve.prob, model.predict_proba(alone)[:, 1], rtol=1e-10)
    low, high = np.array([knots[[0, -1]] for knots in model.knots_]).T
    middle = low + model.pool_place_ * (high - low)
    around = np.tile(middle, (len(curve.x), 1))
    around[:, 0] = curve.x
    shift = model.decision_function(around) - curve.tilt
    assert np.ptp(shift) < 1e-6 * np.ptp(curve.tilt)
    found = model.permutation_importance(X, y, n_repeats=2, random_state=0)
    assert found.gain == pytest.approx(model.score(X, y), abs=1e-12)
    assert found.ranked()[-1][1] > 0


def test_model_files_keep_the_front_and_refuse_a_wrong_one(tmp_path):
    X, y, _ = world(5)
    model = fit(X, y)
    save(model, tmp_path / "m.scarce")
    np.testing.assert_array_equal(
        load(tmp_path / "m.scarce").predict_proba(X), model.predict_proba(X)
    )
    model.front_ = fit_front(X[:, :2])
    with refused("cannot-save", StoreError):
        save(model, tmp_path / "wrong.scarce")
    del model.front_  # as in files from before there was one: products need both factors
    save(model, tmp_path / "old.scarce")
    old = load(tmp_path / "old.scarce").decision_function(X[:, :])
    both = ~np.isnan(X).any(axis=1)
    np.testing.assert_array_equal(old[both], model.decision_function(X)[both])


def test_rows_are_the_same_alone_in_pieces_and_on_threads():
    X, y, _ = world(6)
    model = fit(X, y)
    wanted = model.predict_proba(X)
    np.testing.assert_allclose(
        np.concatenate([model.predict_proba(row[None]) for row in X[:40]]), wanted[:40], rtol=1e-12
    )
    threads = fit(X, y, engine="threads")
    np.testing.assert_array_equal(threads.predict_proba(X), wanted)


def test_more_rows_than_the_sample_change_the_front_little(monkeypatch):
    X, y, _ = world(7, 2000)
    whole = fit(X, y)
    monkeypatch.setattr("scarce.maxent.factors.SAMPLE_ROWS", 1000)
    part = fit(X, y)
    assert part.front_.weight == pytest.approx(whole.front_.weight / 2, rel=0.02)
    np.testing.assert_allclose(part.front_.mean, whole.front_.mean, atol=0.02)
    apart = part.decision_function(X) - whole.decision_function(X)
    assert 0 < apart.std() < 0.05 * whole.decision_function(X).std()


def test_rows_of_weight_0_do_not_change_which_rows_are_drawn(monkeypatch):
    monkeypatch.setattr("scarce.maxent.factors.SAMPLE_ROWS", 300)
    X, y, _ = world(8, 1000)
    weight = np.where(np.random.default_rng(0).random(1000) < 0.4, 0.0, 1.0)
    kept = weight > 0
    found, wanted = fit(X, y).fit(X, y, weight), fit(X[kept], y[kept])
    np.testing.assert_allclose(found.front_.mean, wanted.front_.mean, rtol=1e-12)
    np.testing.assert_allclose(found.predict_proba(X), wanted.predict_proba(X), atol=1e-8)
