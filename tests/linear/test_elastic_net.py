"""Laplace priors: the conditions of a minimum hold, zeros are exact, nothing depends on how."""

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression

from scarce import RareClassifier, UsageError, load, save
from scarce.engine.memory import ArrayRows
from scarce.linear import selection
from scarce.linear.elastic_net import minimise_elastic_net, solve_path
from scarce.linear.losses import loss_of
from scarce.linear.regress import Formulation, regress, strongest
from scarce.linear.sums import summarise_columns
from tests.linear import plain
from tests.problems import codes, refused

CONVEX = [case for case in plain.EVERY_CONVEX if case[0] != "gev-log"]


def sparse_world(n=600, k=30, useful=4, seed=0, shift=-2.5, scale=None):
    """Draw rows of which a few columns matter, with correlated neighbours."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k))
    X[:, 1:] += 0.5 * X[:, :-1]
    y = (rng.random(n) < 1 / (1 + np.exp(-shift - X[:, :useful].sum(axis=1)))).astype(float)
    return X * (1.0 if scale is None else scale), y


def violation(model, X, y, *, weight=1.0, offset=0.0, units=None, intercept=0.0, skip=()):
    """Largest violation of the conditions of a minimum per row, written down plainly."""
    ratio = {"lasso": 1.0}.get(model.penalty, model.l1_ratio)
    units = X.std(axis=0) if units is None else units
    loss = loss_of(model.loss_, model.shape_ if model.loss_.startswith("gev") else None)
    coef = np.append(model.coef_[0], model.intercept_)
    score = plain.design_of(X) @ coef + offset
    gradient = plain.design_of(X).T @ (weight * loss.slope(y, score))
    strength = np.append(model.ridge_ * units, intercept * model.ridge_)
    square = (1 - ratio) * np.append(model.ridge_ * units**2, intercept * model.ridge_)
    smooth, absolute = gradient + square * coef, ratio * strength
    at_zero = np.maximum(np.abs(smooth) - absolute, 0.0)
    each = np.where(coef == 0.0, at_zero, np.abs(smooth + absolute * np.sign(coef)))
    each = each / np.append(X.std(axis=0), 1.0)
    return np.delete(each, list(skip)).max() / np.sum(weight * np.ones(len(y)))


# --- what is a minimum ----------------------------------------------------------------------------


@pytest.mark.parametrize("penalty", ["lasso", "elastic-net"])
@pytest.mark.parametrize(("loss", "shape"), CONVEX)
def test_oracle_conditions_of_a_minimum_hold_in_all_columns(loss, shape, penalty):
    X, y = sparse_world(k=60, scale=np.resize([1.0, 100.0, 0.01], 60))
    shape = "auto" if shape is None else shape
    model = RareClassifier(loss, shape=shape, ridge=12.0, penalty=penalty).fit(X, y)
    assert 0 < np.count_nonzero(model.coef_) < 60
    assert violation(model, X, y) < 1e-9
    assert model.report_.converged
    assert model.report_.proves == "largest subgradient"


@pytest.mark.parametrize("penalty", ["lasso", "elastic-net"])
@pytest.mark.parametrize("standardize", [True, False])
@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
def test_oracle_intercepts_and_units(penalty, standardize, intercept):
    X, y = sparse_world()
    X = X + 0.7
    settings = {
        "standardize": standardize,
        "fit_intercept": intercept != "none",
        "penalize_intercept": intercept == "penalised",
    }
    model = RareClassifier("logistic", ridge=9.0, penalty=penalty, **settings).fit(X, y)
    units = X.std(axis=0) if intercept == "free" else np.hypot(X.std(axis=0), X.mean(axis=0))
    units = units if standardize else np.ones(X.shape[1])
    skip = (-1,) if intercept == "none" else ()
    found = violation(model, X, y, units=units, intercept=intercept == "penalised", skip=skip)
    assert found < 1e-8
    assert np.count_nonzero(model.coef_) < X.shape[1]


def test_oracle_weights_and_an_offset():
    X, y = sparse_world()
    rng = np.random.default_rng(1)
    weight, offset = rng.integers(0, 4, len(y)).astype(float), rng.normal(size=len(y))
    model = RareClassifier("logistic", ridge=9.0, penalty="lasso", standardize=False)
    model.fit(X, y, weight, offset)
    assert violation(model, X, y, weight=weight, offset=offset, units=np.ones(30)) < 1e-9


@pytest.mark.parametrize("penalty", ["lasso", "elastic-net"])
def test_oracle_coefficients_are_those_of_scikit_learn(penalty):
    X, y = sparse_world()
    ours = RareClassifier("logistic", ridge=5.0, penalty=penalty, standardize=False).fit(X, y)
    theirs = LogisticRegression(
        C=1 / 5.0,
        l1_ratio=1.0 if penalty == "lasso" else 0.5,
        solver="saga",
        tol=1e-10,
        max_iter=20_000,
        random_state=0,
    ).fit(X, y)
    np.testing.assert_allclose(ours.coef_, theirs.coef_, atol=1e-6)
    assert ((ours.coef_ == 0) == (theirs.coef_ == 0)).all()
    assert ours.intercept_[0] == pytest.approx(theirs.intercept_[0], abs=1e-6)


def test_more_columns_than_rows_and_repeated_columns():
    X, y = sparse_world(n=200, k=300)
    X = np.column_stack([X, X[:, 0], np.full(200, 3.0)])
    model = RareClassifier("logistic", ridge=6.0, penalty="lasso").fit(X, y)
    assert model.report_.converged
    assert codes(model.report_.warnings) == ["constant-columns"]
    once = RareClassifier("logistic", ridge=6.0, penalty="lasso").fit(X[:, :300], y)
    np.testing.assert_allclose(model.predict_proba(X), once.predict_proba(X[:, :300]), atol=1e-7)


def test_separated_classes_have_a_finite_answer():
    X = np.column_stack([np.linspace(-1, 1, 60), np.zeros(60)])
    X[::7, 1] = 1.0
    y = (X[:, 0] > 0).astype(float)
    model = RareClassifier("logistic", ridge=0.5, penalty="lasso").fit(X, y)
    assert model.report_.converged
    assert model.coef_[0, 0] > 0


# --- the strongest penalty, and the path ----------------------------------------------------------


@pytest.mark.parametrize("loss", ["logistic", "probit", "cloglog"])
def test_the_strongest_penalty_leaves_nothing_and_a_weaker_one_something(loss):
    X, y = sparse_world()
    rows = ArrayRows(X, y, classes=[0, 1])
    stats = summarise_columns(rows)
    problem = Formulation(units=stats.std, l1_ratio=0.7)
    top = strongest(rows, problem, loss_of(loss), stats)
    none, one = (
        regress(rows, stats, loss_of(loss), share * top, problem).coef[:-1]
        for share in (1.001, 0.98)
    )
    assert np.count_nonzero(none) == 0
    assert np.count_nonzero(one) == 1


def test_a_path_ends_where_single_fits_do():
    X, y = sparse_world(k=120)
    rows = ArrayRows(X, y, classes=[0, 1])
    stats, loss = summarise_columns(rows), loss_of("gev-canonical", 0.3)
    problem = Formulation(units=stats.std, l1_ratio=0.9)
    objectives = [problem.objective(loss, ridge, stats) for ridge in (30.0, 10.0, 3.0, 1.0)]
    start = problem.start(stats, loss.link)
    path = solve_path(rows, objectives, start, tol=lambda _: 1e-11)
    for objective, coef in zip(objectives, path, strict=True):
        alone, _ = minimise_elastic_net(rows, objective, start, tol=1e-11)
        np.testing.assert_allclose(coef, alone.coef, atol=1e-7)
    counts = np.count_nonzero(path[:, :-1], axis=1)
    assert (np.diff(counts) > 0).all()
    assert counts[-1] < 120


def test_a_sample_of_the_rows_with_one_step_is_near_the_answer_of_all(monkeypatch):
    X, y = sparse_world(n=6000, k=50, shift=-4.0)
    rows = ArrayRows(X, y, classes=[0, 1])
    stats, loss = summarise_columns(rows), loss_of("logistic")
    problem = Formulation(units=stats.std, l1_ratio=1.0)
    validation = selection.CrossValidation("brier", 3, 0.0, 0)
    splits = selection.make_splits(rows, stats, validation, None)
    ridges = [3.0, 10.0, 30.0]

    def coefs():
        search = selection._Search(
            rows, stats, [loss], problem, validation, splits, None, None, None
        )
        return search._fit([loss], ridges, splits.folds[0])[0]

    whole = coefs()
    monkeypatch.setattr(selection, "SMALL", 3000)
    sampled = coefs()
    error = np.abs(sampled - whole).max()
    monkeypatch.setattr(selection, "one_step", lambda held, objective, coef, gradient: coef)
    assert error < 0.5 * np.abs(coefs() - whole).max()


# --- invariants -----------------------------------------------------------------------------------


def test_weight_two_is_the_row_twice_and_order_does_not_matter():
    X, y = sparse_world()
    weight = np.where(np.arange(len(y)) % 3 == 0, 2.0, 1.0)
    model = RareClassifier("logistic", ridge=8.0, penalty="lasso")
    weighted = model.fit(X, y, weight).coef_.copy()
    twice = np.repeat(np.arange(len(y)), weight.astype(int))
    order = np.random.default_rng(0).permutation(len(twice))
    columns = np.random.default_rng(1).permutation(X.shape[1])
    again = model.fit(X[twice[order]][:, columns], y[twice[order]]).coef_
    np.testing.assert_allclose(again[0], weighted[0, columns], atol=1e-7)


def test_every_engine_gives_the_same_bits():
    X, y = sparse_world(n=900)
    starts = (0, 250, 500, 900)
    rows = [
        ArrayRows(X, y, classes=[0, 1], starts=starts, engine=engine)
        for engine in (None, "threads")
    ]
    one, other = (RareClassifier("logistic", ridge=8.0, penalty="lasso").fit(r) for r in rows)
    assert (one.coef_ == other.coef_).all()
    assert (one.intercept_ == other.intercept_).all()


def test_units_and_doubled_rows_change_no_choice():
    X, y = sparse_world(n=400, k=25)
    model = RareClassifier("logistic", penalty="lasso")
    first = model.fit(X, y).coef_.copy()
    scale = np.resize([1e3, 1e-3, 7.0], 25)
    scaled = model.fit(X * scale + 5.0, y).coef_
    np.testing.assert_allclose(scaled * scale, first, atol=1e-6)
    once = model.fit(X, y).ridge_
    twice = model.fit(np.repeat(X, 2, axis=0), np.repeat(y, 2)).ridge_
    assert twice == pytest.approx(2 * once, rel=1e-9)


# --- the estimator --------------------------------------------------------------------------------


def test_a_lasso_finds_the_columns_and_predicts_better_than_ridge():
    X, y = sparse_world(n=800, k=150, shift=-3.0)
    fresh, truth = sparse_world(n=8000, k=150, shift=-3.0, seed=7)
    losses = {}
    for penalty in ("ridge", "lasso", "elastic-net"):
        model = RareClassifier("logistic", penalty=penalty, select_by="log_loss").fit(X, y)
        prob = model.predict_proba(fresh)[np.arange(8000), truth.astype(int)]
        losses[penalty] = -np.log(prob).mean()
        if penalty == "lasso":
            assert (model.coef_[0, :4] > 0).all()
            assert np.count_nonzero(model.coef_) < 75
            assert model.selection_.penalty == "lasso"
            assert "lasso" in str(model.selection_)
    assert losses["lasso"] < losses["elastic-net"] < losses["ridge"]
    assert losses["lasso"] < 0.9 * losses["ridge"]


def test_no_standard_errors_and_said_why(tmp_path):
    X, y = sparse_world()
    model = RareClassifier("logistic", ridge=8.0, penalty="lasso").fit(X, y)
    assert model.covariance_ is None
    for ask in (model.coef_interval, lambda: model.predict_interval(X)):
        with refused("no-covariance", UsageError):
            ask()
    assert "exactly 0" in str(model.summary())
    save(model, tmp_path / "m.scarce")
    assert (load(tmp_path / "m.scarce").predict_proba(X) == model.predict_proba(X)).all()
    plain_fit = RareClassifier("logistic", ridge=0.0, penalty="lasso").fit(X, y)
    assert plain_fit.coef_interval().value is not None  # no penalty: nothing is 0


@pytest.mark.parametrize(
    "settings",
    [
        {"loss": "gev-log", "shape": 0.2},
        {"loss": "gev-canonical", "domain": "paper", "shape": 0.2},
        {"loss": "logistic", "bias_reduction": "flic", "ridge": 0},
    ],
)
def test_losses_that_are_not_convex_are_refused(settings):
    X, y = sparse_world(n=100, k=3)
    with refused("penalty-needs-convex", UsageError):
        RareClassifier(penalty="lasso", **settings).fit(X, y)
