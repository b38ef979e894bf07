"""Shape and coefficients of a GEV link fitted together, and their errors."""

import mpmath
import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.sparse import csr_array
from scipy.special import ndtri

from scarce import DataError, RareClassifier, UsageError, load, open_rows, save
from scarce.engine.memory import ArrayRows
from scarce.linear.gev import GEV
from scarce.linear.joint import curve, fit_joint, pose
from scarce.linear.regress import Formulation
from scarce.linear.sums import summarise_columns
from tests.problems import refused


def world(shape, n=1500, shift=-0.5, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 2))
    prob = GEV(shape).inverse(shift + X @ np.array([0.6, -0.4]))
    return X * [3.0, 0.1] + [5.0, -1.0], (rng.random(n) < prob).astype(int)


def plain_loss(X, y, parameters):
    """Minus the log likelihood in [slopes, intercept, shape], by the book."""
    score = X @ parameters[:-2] + parameters[-2]
    shape = parameters[-1]
    room = np.maximum(1 + shape * score, 1e-300)
    tail = np.exp(np.minimum(-score if shape == 0 else -np.log(room) / shape, 6.0))
    with np.errstate(divide="ignore"):
        value = np.sum(np.where(y == 1, tail, -np.log(-np.expm1(-tail))))
    return value if np.isfinite(value) else 1e300


def fitted(**more):
    return RareClassifier("gev-log", shape="fit", ridge=0, **more)


def differences(function, at, step):
    steps = step * np.eye(len(at))
    return np.array([(function(at + one) - function(at - one)) / (2 * step) for one in steps])


@pytest.mark.parametrize("shape", [-0.7, -1e-3, 0.0, 1e-9, 0.009, 0.3, 1.2])
def test_derivatives_of_the_bent_predictor_against_50_digits(shape):
    q = np.array([-0.7, -0.011 / max(abs(shape), 0.02), -1e-6, 1e-3, 0.3, 1.1])
    got = curve(q, shape)

    def exact(q, shape):
        return mpmath.log1p(shape * q) / shape if shape else q

    with mpmath.workdps(50):
        for j, x in enumerate(q):
            bent = mpmath.mpf(float(x))
            terms = {(1, 0): got.q, (0, 1): got.shape, (2, 0): got.qq}
            terms |= {(1, 1): got.q_shape, (0, 2): got.shape_shape}
            assert got.value[j] == pytest.approx(float(exact(bent, mpmath.mpf(shape))), rel=1e-13)
            near = mpmath.mpf(shape) or mpmath.mpf(10) ** -40  # the limit at 0
            for order, value in terms.items():
                if abs(near) < mpmath.mpf(10) ** -30:  # by the series of log(1 + z) / z
                    true = {(1, 0): 1, (0, 1): -(bent**2) / 2, (2, 0): 0, (1, 1): -bent}.get(
                        order, 2 * bent**3 / 3
                    )
                else:
                    step = mpmath.mpf(10) ** -12 * (abs(near) if order[1] else 1)
                    true = mpmath.diff(exact, (bent, near), order, h=step)
                assert value[j] == pytest.approx(float(true), rel=1e-9, abs=1e-25)


@pytest.mark.parametrize("shape", [-0.6, 0.0, 0.02, 0.5])
@pytest.mark.parametrize("ridge", [0.0, 7.0])
def test_gradient_and_hessian_against_central_differences(shape, ridge):
    X, y = world(0.2, n=300)
    weight = np.arange(300) % 3.0
    rows = ArrayRows(X, y * 1.0, weight=weight, classes=[0, 1])
    stats = summarise_columns(rows)
    joint, _, near = pose(rows, stats, ridge, Formulation(units=stats.std))
    at = joint.start(shape, 0.5 * near)
    sums = joint.sums(at)
    slopes = differences(lambda theta: joint.sums(theta).value, at, 1e-5)
    bends = differences(lambda theta: joint.sums(theta).gradient, at, 1e-5)
    np.testing.assert_allclose(sums.gradient, slopes, rtol=1e-7, atol=1e-6)
    np.testing.assert_allclose(sums.hessian, bends, rtol=1e-6, atol=1e-5)
    assert np.linalg.eigvalsh(sums.gauss)[0] > -1e-8


@pytest.mark.parametrize("shape", [-0.4, 0.0, 0.4])
def test_oracle_the_likelihood_by_the_book(shape):
    X, y = world(shape, seed=4)
    model = fitted().fit(X, y)
    ours = np.append(model.coef_[0], [model.intercept_[0], model.shape_])
    scale = np.array([3.0, 0.1, 1.0, 1.0])
    best = min(
        minimize(
            lambda p: plain_loss(X, y, p / scale),
            np.append(np.array([0.3, -0.2, -0.5]) * [1, 1, 1], start),
            method="Nelder-Mead",
            options={"xatol": 1e-7, "fatol": 1e-10, "maxiter": 4000, "maxfev": 4000},
        ).fun
        for start in (-0.3, 0.5)
    )
    assert plain_loss(X, y, ours) == pytest.approx(model.report_.objective, rel=1e-12)
    assert model.report_.objective <= best + 1e-6
    assert model.report_.certificate <= 1e-10
    given = RareClassifier("gev-log", shape=model.shape_, ridge=0).fit(X, y)
    np.testing.assert_allclose(model.coef_, given.coef_, rtol=1e-6)

    def gradient(p):
        return differences(lambda at: plain_loss(X, y, at / scale), p, 1e-4)

    hessian = differences(gradient, ours * scale, 1e-4)
    covariance = np.linalg.inv(hessian) / np.outer(scale, scale)
    np.testing.assert_allclose(model.joint_covariance_, covariance, rtol=2e-3)
    assert model.shape_error_ == pytest.approx(np.sqrt(covariance[-1, -1]), rel=2e-3)
    # An uncertain shape makes coefficients less certain, not more.
    assert (np.diag(model.covariance_) > np.diag(given.covariance_)).all()


@pytest.mark.parametrize("seed", [1, 24])  # whose likelihood has several maxima
def test_oracle_no_shape_of_a_grid_fits_better(seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(80, 4))
    y = rng.random(80) < GEV(0.3).inverse(X @ [0.6, -0.4, 0.2, 0.0] - 0.5)
    least = fitted().fit(X, y).report_.objective
    for shape in np.linspace(-1.0, 1.5, 11):
        given = RareClassifier("gev-log", shape=float(shape), ridge=0, tol=1e-6).fit(X, y)
        assert given.report_.objective >= least - 1e-6


def test_intervals_of_probabilities_take_the_shape_along():
    X, y = world(0.3)
    model = fitted(floor=0.0).fit(X, y)
    ours = np.append(model.coef_[0], [model.intercept_[0], model.shape_])

    def bent(p):
        return -np.log(-np.log(GEV(float(p[-1])).inverse(X[:5] @ p[:2] + p[2])))

    steps = np.array(
        [
            (bent(ours + one) - bent(ours - one)) / (2 * one.max())
            for one in np.diag([1e-6, 1e-6, 1e-6, 1e-5])
        ]
    )
    error = np.sqrt(np.einsum("ji,jk,ki->i", steps, model.joint_covariance_, steps))
    for side, ends in zip((-1, 1), model.predict_interval(X[:5]).T, strict=True):
        witness = np.exp(-np.exp(-(bent(ours) + side * ndtri(0.95) * error)))
        np.testing.assert_allclose(ends, witness, rtol=1e-6)
    beyond = X.mean(axis=0) - [60.0, 0.0]  # probability 0, for which no derivative speaks
    assert model.predict_proba([beyond])[0, 1] == 0.0
    assert model.predict_interval([beyond]).tolist() == [[0.0, 1.0]]
    assert "was fitted with the coefficients" in str(model.summary())


def test_invariants():
    X, y = world(0.2, n=600)
    model = fitted().fit(X, y)
    prob = model.predict_interval(X[:20])
    order = np.random.default_rng(0).permutation(600)
    units = np.array([1e-3, 40.0])
    twice = np.concatenate([np.arange(600), np.arange(0, 600, 3)])
    weight = np.where(np.arange(600) % 3 == 0, 2.0, 1.0)
    weighted = fitted().fit(X, y, weight)
    copied = fitted().fit(X[twice], y[twice])
    for other, points in (
        (fitted().fit(X[order], y[order]), X),
        (fitted().fit(X * units + 1e4, y), X * units + 1e4),
        (fitted().fit(X, np.where(y == 1, "yes", "no")), X),
        (fitted().fit(csr_array(X), y), X),
        (fitted(engine="threads").fit(X, y), X),
    ):
        np.testing.assert_allclose(other.predict_interval(points[:20]), prob, rtol=1e-6)
        assert other.shape_ == pytest.approx(model.shape_, abs=1e-6)
        assert other.shape_error_ == pytest.approx(model.shape_error_, rel=1e-6)
    np.testing.assert_array_equal(fitted().fit(open_rows(X, label=y)).coef_, model.coef_)
    np.testing.assert_allclose(copied.joint_covariance_, weighted.joint_covariance_, rtol=1e-6)
    assert copied.shape_ == pytest.approx(weighted.shape_, abs=1e-7)
    more = np.column_stack([X, np.ones(600), X[:, 0] + X[:, 1]])
    padded = fitted().fit(more, y)
    assert padded.shape_ == pytest.approx(model.shape_, abs=1e-6)
    assert padded.coef_[0, 2:].tolist() == [0.0, 0.0]


def test_a_ridge_moves_towards_0_and_leaves_no_standard_errors():
    X, y = world(0.2, n=600)
    model = RareClassifier("gev-log", shape="fit", ridge=20.0).fit(X, y)
    assert (
        np.abs(model.coef_ * X.std(axis=0)).max()
        < np.abs(fitted().fit(X, y).coef_ * X.std(axis=0)).max()
    )
    for near in (-1e-3, 1e-3):  # a minimum in the shape too
        other = RareClassifier("gev-log", shape=model.shape_ + near, ridge=20.0).fit(X, y)
        assert other.report_.objective > model.report_.objective
    with refused("no-covariance", UsageError):
        model.predict_interval(X)
    assert "no standard errors" in str(model.summary())


def test_few_events_give_a_warning_and_a_shape_at_an_end_no_intervals():
    X, y = world(0.6, n=80, seed=1)
    model = fitted().fit(X, y)
    assert [one.code for one in model.report_.warnings if one.code == "weak-shape"]
    rows = ArrayRows(X, y * 1.0, classes=[0, 1])
    found = fit_joint(rows, summarise_columns(rows), 0.0, Formulation())
    assert found.shape == model.shape_ == 1.5
    assert found.covariance is None
    assert np.isnan(found.shape_error)
    with refused("no-covariance", UsageError):
        model.coef_interval()


def test_files_hold_all_of_it(tmp_path):
    X, y = world(0.2, n=600)
    model = fitted().fit(X, y)
    save(model, tmp_path / "model.scarce")
    again = load(tmp_path / "model.scarce")
    assert np.array_equal(again.predict_interval(X), model.predict_interval(X))
    assert again.shape_error_ == model.shape_error_
    assert str(again.summary()) == str(model.summary())
    again.set_params(shape=0.1).fit(X, y)
    assert again.joint_covariance_ is None
    assert np.isnan(again.shape_error_)


@pytest.mark.parametrize(
    ("code", "settings"),
    [
        ("shape-fit-settings", {"loss": "auto"}),
        ("shape-fit-settings", {"loss": "gev-canonical"}),
        ("shape-fit-settings", {"loss": "logistic"}),
        ("shape-fit-settings", {"fit_intercept": False}),
        ("shape-fit-settings", {"penalize_intercept": True}),
        ("shape-fit-settings", {"offset": 1}),
        ("shape-fit-settings", {"weight_kind": "survey"}),
        ("shape-fit-ridge", {"ridge": "auto"}),
    ],
)
def test_what_it_cannot_do_is_refused(code, settings):
    X, y = world(0.2, n=60)
    with refused(code, UsageError):
        fitted().set_params(**settings).fit(X, y)


def test_rows_that_it_cannot_take_are_refused():
    X, y = world(0.2, n=200)
    with refused("shape-fit-offset", UsageError):
        fitted().fit(X, y, offset=np.ones(200))
    with refused("separated-classes", DataError):
        fitted().fit(np.column_stack([X[:, 0], y]), y)
    X[3, 1] = np.nan
    with refused("incomplete-rows", UsageError):
        fitted().fit(open_rows(X, label=y))


def test_intervals_of_rows_with_missing_values_are_refused_as_probabilities_are():
    X, y = world(0.3, 500)
    model = fitted().fit(X, y)
    X[1, 0] = np.nan
    for predict in (model.predict_proba, model.predict_interval):
        with refused("incomplete-rows", UsageError):
            predict(X)
