"""One regression: the method it needs, the remarks it makes, and what it refuses."""

import numpy as np
import pytest

from scarce import DataError
from scarce.engine.memory import ArrayRows
from scarce.errors import Argument
from scarce.linear import regress as module
from scarce.linear.losses import loss_of
from scarce.linear.regress import Formulation, regress
from scarce.linear.sums import summarise_columns
from tests.linear import plain
from tests.problems import codes, refused

LOGISTIC = loss_of("logistic")


def solve(X, y, loss=LOGISTIC, ridge=0.0, weight=None, names=None, start=None, **setting):
    rows = ArrayRows(X, y, weight=weight, names=names, classes=[0, 1])
    return regress(rows, summarise_columns(rows), loss, ridge, Formulation(**setting), start=start)


# --- settings -------------------------------------------------------------------------------------


def test_setting_says_what_is_penalised_and_sought():
    rows = ArrayRows([[1.0, 5.0], [2.0, 5.0]], [0, 1], classes=[0, 1])
    seen = summarise_columns(rows)
    assert Formulation().penalty(3.0, 2).tolist() == [3, 3, 0]
    assert Formulation("penalised").penalty(3.0, 2).tolist() == [3, 3, 3]
    assert Formulation("none").penalty(3.0, 2).tolist() == [3, 3, 0]
    assert Formulation(units=np.array([1.0, 2.0])).penalty(3.0, 2).tolist() == [3, 12, 0]
    assert Formulation().free(seen).tolist() == [True, False, True]
    assert Formulation("none").free(seen).tolist() == [True, True, False]
    assert Formulation("penalised").free(seen).tolist() == [True, True, True]
    assert Formulation(offset=0).free(seen).tolist() == [False, False, True]


def test_setting_starts_at_the_constant_prediction():
    rows = ArrayRows([[1.0, 5.0], [2.0, 7.0]], [0, 1], weight=[3.0, 1.0], classes=[0, 1])
    seen = summarise_columns(rows)
    start = Formulation().start(seen, LOGISTIC.link)
    assert start[:2].tolist() == [0, 0]
    assert start[2] == pytest.approx(np.log(0.25 / 0.75))
    assert Formulation("none").start(seen, LOGISTIC.link).tolist() == [0, 0, 0]
    moved = Formulation(offset=1).start(seen, LOGISTIC.link)
    assert moved[1] == 1.0
    assert moved[2] == pytest.approx(np.log(0.25 / 0.75) - 5.5)


# --- units and shifts -----------------------------------------------------------------------------

SCALES = {
    "tiny and huge": ([1e-9, 1.0, 1e9], [0.0, 0.0, 0.0]),
    "off centre": ([1.0, 1.0, 1.0], [5e3, -300.0, 0.0]),
    "far": ([1.0, 1.0, 1.0], [1e6, 0.0, -1e7]),
}


@pytest.mark.parametrize("which", SCALES)
@pytest.mark.parametrize("ridge", [0.0, 1.0])
@pytest.mark.parametrize(("name", "shape"), [("logistic", None), ("gev-canonical", 0.5)])
def test_wild_columns_are_fitted_as_well(which, ridge, name, shape):
    scale, shift = (np.array(part) for part in SCALES[which])
    Z, y = plain.rare(n=400)
    loss = loss_of(name, shape)
    X = Z * scale + shift
    found = solve(X, y, loss, ridge)
    assert found.solution.converged
    assert found.solution.certificate <= 1e-10
    wanted = plain.fit((X - shift) / scale, y, loss, np.append(ridge / scale**2, 0.0))
    np.testing.assert_allclose(found.coef[:-1] * scale, wanted[:-1], atol=1e-8)
    assert not found.remarks


# --- what the data do not determine ---------------------------------------------------------------


def test_constant_columns_are_said_and_get_nothing():
    X, y = plain.rare(n=300, k=2)
    held = np.column_stack([X, np.full(300, 7.0)])
    for ridge in (0.0, 1.0):
        found = solve(held, y, ridge=ridge, names=["a", "b", "always"])
        assert found.coef[2] == 0.0
        assert not found.free[2]
        assert codes(found.remarks) == ["constant-columns"]
        assert found.remarks[0].fields["columns"] == ["always"]
        np.testing.assert_allclose(found.coef[[0, 1, 3]], solve(X, y, ridge=ridge).coef, atol=1e-9)


def test_a_constant_column_without_intercept_is_a_column_like_others():
    X, y = plain.rare(n=300, k=2)
    own = np.column_stack([X, np.ones(300)])
    found = solve(own, y, ridge=0.0, intercept="none")
    np.testing.assert_allclose(found.coef[:3], solve(X, y).coef, atol=1e-8)
    assert not found.remarks
    penalised = solve(own, y, ridge=2.0, intercept="none")
    np.testing.assert_allclose(
        penalised.coef[:3], solve(X, y, ridge=2.0, intercept="penalised").coef, atol=1e-8
    )


def test_repeated_columns_without_ridge_are_said_and_change_no_score():
    X, y = plain.rare(n=300, k=2)
    twice = np.column_stack([X, X[:, 0] - 2 * X[:, 1], X[:, 0]])
    found = solve(twice, y, names=["a", "b", "mix", "again"])
    assert codes(found.remarks) == ["repeated-columns"]
    assert found.remarks[0].fields["columns"] == ["mix", "again"]
    assert found.free.tolist() == [True, True, False, False, True]
    np.testing.assert_allclose(found.coef[[0, 1, 4]], solve(X, y).coef, atol=1e-9)


def test_one_hot_columns_lose_one_level_without_ridge_and_none_with():
    rng = np.random.default_rng(1)
    X = np.eye(4)[rng.integers(0, 4, size=500)]
    y = (rng.random(500) < X @ [0.1, 0.2, 0.3, 0.4]).astype(float)
    found = solve(X, y)
    assert found.free.tolist() == [True, True, True, False, True]
    shares = [y[X[:, j] == 1].mean() for j in range(4)]
    score = found.coef[:-1] + found.coef[-1]
    np.testing.assert_allclose(1 / (1 + np.exp(-score)), shares, atol=1e-8)
    ridged = solve(X, y, ridge=0.5)
    assert ridged.free.all()
    assert ridged.solution.converged
    assert ridged.coef[:-1].sum() == pytest.approx(0.0, abs=1e-7)  # the penalty centres them


def test_repeated_columns_with_ridge_share_their_coefficient():
    X, y = plain.rare(n=300, k=1)
    twice = solve(np.column_stack([X, X]), y, ridge=2.0)
    assert twice.coef[0] == pytest.approx(twice.coef[1], abs=1e-9)
    assert twice.coef[:2].sum() == pytest.approx(solve(X, y, ridge=1.0).coef[0], abs=1e-8)


def test_far_columns_are_not_called_repeated():
    X, y = plain.rare(n=300, k=2)
    assert solve(X + [1e6, 1e6], y).free.all()


# --- more columns than rows -----------------------------------------------------------------------


@pytest.mark.parametrize("intercept", ["free", "penalised", "none"])
@pytest.mark.parametrize(("name", "shape"), [("logistic", None), ("gev-canonical", 0.4)])
def test_oracle_more_columns_than_rows(intercept, name, shape, rng):
    X = rng.normal(size=(30, 80)) + 0.3
    y = (np.arange(30) % 4 == 0).astype(float)
    weight = rng.random(30) + 0.5
    loss = loss_of(name, shape)
    found = solve(X, y, loss, 2.0, weight, intercept=intercept)
    assert found.solution.converged
    assert found.coef.shape == (81,)
    penalty = Formulation(intercept).penalty(2.0, 80)
    # Strongly convex by the ridge: a small gradient in the given units is proof enough.
    slopes = plain.gradient(found.coef, X, y, loss, penalty, weight)
    if intercept == "none":
        assert found.coef[-1] == 0.0
        slopes = slopes[:-1]
    assert np.abs(slopes).max() <= 1e-8


@pytest.mark.parametrize("constant", [False, True])
def test_more_columns_than_rows_with_units_is_the_fit_of_standardised_columns(constant, rng):
    X = rng.normal(size=(30, 60)) * rng.uniform(0.1, 10, size=60)
    if constant:
        X[:, 5] = 3.0
    y = (np.arange(30) % 3 == 0).astype(float)
    std = X.std(axis=0)
    found = solve(X, y, ridge=1.0, units=summarise_columns(ArrayRows(X, y, classes=[0, 1])).std)
    scaled = X / np.where(std > 0, std, 1.0)
    penalty = np.append(np.ones(60), 0.0)
    own = np.append(found.coef[:-1] * np.where(std > 0, std, 1.0), found.coef[-1])
    slopes = plain.gradient(own, scaled, y, LOGISTIC, penalty)
    assert np.abs(slopes).max() <= 1e-8
    assert bool(found.remarks) == constant


def test_more_columns_than_rows_agrees_with_the_usual_path(rng, monkeypatch):
    X = rng.normal(size=(25, 26))
    X[3] = X[4]  # a repeated row
    y = (np.arange(25) % 3 == 0).astype(float)
    y[7] = np.nan
    few = solve(X, y, ridge=1.0)
    monkeypatch.setattr(module, "_in_fewer_columns", None)
    rows = ArrayRows(np.vstack([X, X[:1]]), np.append(y, np.nan), classes=[0, 1])
    many = regress(
        rows, summarise_columns(rows), LOGISTIC, 1.0, Formulation()
    )  # as many rows as columns
    np.testing.assert_allclose(few.coef, many.coef, atol=1e-8)


# --- offsets and starts ---------------------------------------------------------------------------


def test_an_offset_keeps_its_coefficient_of_one(rng):
    X, y = plain.rare(n=300)
    found = solve(X, y, ridge=1.0, offset=2)
    assert found.coef[2] == 1.0
    wanted = plain.fit(X[:, :2], y, LOGISTIC, np.array([1.0, 1.0, 0.0]), offset=X[:, 2])
    np.testing.assert_allclose(found.coef[[0, 1, 3]], wanted, atol=1e-8)


def test_an_offset_alone_with_nothing_to_seek():
    X, y = plain.rare(n=50, k=1)
    found = solve(X, y, offset=0, intercept="none")
    assert found.coef.tolist() == [1.0, 0.0]
    assert found.solution.converged


def test_a_warm_start_saves_passes_and_changes_no_answer():
    X, y = plain.rare(n=2000)
    cold = solve(X, y, ridge=1.0)
    warm = solve(X, y, ridge=1.1, start=cold.coef)
    again = solve(X, y, ridge=1.1)
    assert warm.solution.passes < again.solution.passes
    np.testing.assert_allclose(warm.coef, again.coef, atol=1e-8)


def test_a_fit_that_gives_up_says_so():
    X, y = plain.rare(n=300)
    found = solve(X, y, ridge=1.0, max_passes=2)
    assert not found.solution.converged
    assert codes(found.remarks) == ["not-converged"]
    assert found.remarks[0].fields["passes"] == 2
    assert found.remarks[0].fields["tol"] == Argument("tol", 1e-10)


# --- separation -----------------------------------------------------------------------------------

SEPARABLE = [
    ("logistic", None),
    ("probit", None),
    ("cloglog", None),
    ("loglog", None),
    ("gev-log", -0.5),
    ("gev-log", 0.5),
    ("gev-canonical", -1.0),
    ("gev-canonical", -0.5),
    ("gev-canonical", 0.0),
    ("gev-canonical", 0.5),
    ("gev-canonical", 1.5),
]


@pytest.mark.parametrize(("name", "shape"), SEPARABLE)
@pytest.mark.parametrize("kind", ["step", "wide", "scattered"])
def test_complete_separation_is_named(name, shape, kind, rng):
    noise = rng.normal(size=60)
    x = {
        "step": np.repeat([-1.0, 1.0], 30),
        "wide": np.linspace(-1.0, 1.0, 60) * 1e6,
        "scattered": np.sort(rng.normal(size=60)),
    }[kind]
    y = (np.arange(60) >= 30).astype(float)
    X = np.column_stack([noise, x])
    with refused("separated-classes", DataError) as caught:
        solve(X, y, loss_of(name, shape), names=["noise", "edge"])
    assert caught.value.fields["columns"][0] == "edge"


@pytest.mark.parametrize(("name", "shape"), SEPARABLE)
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_quasi_complete_separation_by_a_rare_dummy_is_named(name, shape, label):
    rng = np.random.default_rng(4)
    X = np.column_stack([rng.normal(size=200), np.arange(200) < 8])
    y = (rng.random(200) < 0.3).astype(float)
    y[:8] = label
    with refused("separated-classes", DataError, columns=["dummy"]):
        solve(X, y, loss_of(name, shape), names=["noise", "dummy"])


@pytest.mark.parametrize("label", [0.0, 1.0])
@pytest.mark.parametrize("name", ["logistic", "probit"])
def test_separation_is_named_among_many_rows_and_useless_columns(name, label):
    rng = np.random.default_rng(5)
    n = 30_000
    noise = rng.normal(size=n)
    dummy = (rng.permutation(n) < 3).astype(float)
    y = (rng.random(n) < 1 / (1 + np.exp(3 - noise))).astype(float)
    y[dummy == 1] = label
    X = np.column_stack([np.ones(n), noise, dummy, noise, 2 * dummy])
    with refused("separated-classes", DataError, columns=["dummy"]):
        solve(X, y, loss_of(name), names=["one", "noise", "dummy", "again", "double"])


def test_separation_by_two_columns_together_names_both():
    rng = np.random.default_rng(6)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] - X[:, 2] > 0.4).astype(float)
    with refused("separated-classes", DataError) as caught:
        solve(X, y, names=["a", "b", "c"])
    assert sorted(caught.value.fields["columns"][:2]) == ["a", "c"]


def test_separation_without_intercept_is_seen():
    X = np.array([[1.0], [2.0], [-1.0], [-3.0]])
    with refused("separated-classes", DataError, columns=["x0"]):
        solve(X, np.array([1.0, 1.0, 0.0, 0.0]), intercept="none")
    # Separated only with an intercept, and there is none: a finite answer.
    found = solve(np.array([[1.0], [2.0], [3.0], [4.0]]), [0, 0, 1, 1], intercept="none")
    assert found.solution.converged
    assert abs(found.coef[0]) < 5


@pytest.mark.parametrize(
    ("name", "shape"), [("logistic", None), ("probit", None), ("cloglog", None)]
)
def test_near_separation_is_not_accused(name, shape):
    x = np.linspace(-1, 1, 400)
    y = (x > 0).astype(float)
    y[199], y[200] = 1.0, 0.0  # the two in the middle swapped
    found = solve(x[:, None], y, loss_of(name, shape))
    assert found.solution.converged
    assert found.coef[0] * x.std() > 20
    args = (x[:, None], y, loss_of(name, shape), np.zeros(2))
    wanted = plain.fit(*args, start=found.coef * 0.5)
    inverse = np.linalg.inv(plain.hessian(wanted, *args))
    assert (np.abs(found.coef - wanted) <= 1e-10 * 400 * np.abs(inverse).sum(axis=1)).all()


def test_a_dummy_with_one_row_against_it_is_not_accused():
    rng = np.random.default_rng(8)
    n = 30_000
    dummy = np.arange(n) < 40
    y = (rng.random(n) < 0.05).astype(float)
    y[:40], y[0] = 1.0, 0.0
    found = solve(dummy[:, None].astype(float), y)
    assert found.solution.converged
    assert found.coef.sum() == pytest.approx(np.log(39 / 1), abs=1e-6)


def test_separated_classes_with_a_ridge_have_an_answer():
    x = np.repeat([-1.0, 1.0], 30)
    for name, shape in SEPARABLE:
        found = solve(x[:, None], (x > 0).astype(float), loss_of(name, shape), ridge=0.01)
        assert found.solution.converged


def test_rows_of_weight_zero_do_not_hide_separation():
    x = np.append(np.repeat([-1.0, 1.0], 30), 1.0)
    y = np.append(np.repeat([0.0, 1.0], 30), 0.0)
    weight = np.append(np.ones(60), 0.0)
    with refused("separated-classes", DataError):
        solve(x[:, None], y, weight=weight)
    gap = np.append(np.repeat([0.0, 1.0], 30), np.nan)
    with refused("separated-classes", DataError):
        solve(x[:, None], gap)
