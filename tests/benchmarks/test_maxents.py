"""The maxent benchmarks: a certificate from predictions alone, whatever a side says of itself."""

import json
from dataclasses import replace

import numpy as np
import pytest
from scipy.optimize import linprog, minimize

from benchmarks import run, table
from benchmarks.adapters import dense_maxent, elapid_maxent, maxnet_r, scarce_maxent, sides_of
from benchmarks.maxents import (
    LIMIT,
    MAXENTS,
    PRESENCES,
    SpeciesProblem,
    Variable,
    asked_rows,
    certified,
    gain,
)
from benchmarks.problem import Data
from benchmarks.problems import PROBLEMS

SMALL = replace(PROBLEMS["maxent-1e4"], columns=3, knots=9)


def dense_answer(problem, data):
    return answer_of(dense_maxent, "numpy, matrix of features", problem, data)


def answer_of(adapter, name, problem, data):
    side = next(side for side in adapter.SIDES if side.name == name)
    with adapter.prepared(side, problem, data) as call:
        return call()


def solved_by_lbfgs(F, present, half_width):
    """Minimise D over coef = up - down by a general optimiser: slow, and another's."""
    target, count = F[present].mean(axis=0), F.shape[1]

    def value(both):
        coef = both[:count] - both[count:]
        tilt = (F - target) @ coef
        prob = np.exp(tilt - tilt.max())
        total = prob.sum()
        slope = (prob / total) @ F - target
        penalty = half_width @ (both[:count] + both[count:])
        gradient = np.append(slope + half_width, half_width - slope)
        return np.log(total / len(F)) + tilt.max() + penalty, gradient

    options = {"maxiter": 20000, "maxfun": 40000, "ftol": 1e-15, "gtol": 1e-9, "maxcor": 50}
    bounds = [(0.0, None)] * (2 * count)
    found = minimize(value, np.zeros(2 * count), jac=True, bounds=bounds, options=options)
    return found.fun, found.x[:count] - found.x[count:]


# --- features, boxes, penalty ---------------------------------------------------------------------


def test_half_widths_are_those_of_maxnet():
    # maxnet 0.1.4: maxnet.default.regularization of ~ hinge(x, nknots=4) + categorical(k) - 1
    wanted = {
        40: ([0.0230363086481954, 0.0232706825511611, 0.016555475428787, 0.0298491317899112,
              0.0292015123976659, 0.0230363086481954],
             [0.0190940653956493, 0.01875, 0.01875, 0.001]),
        12: ([0.0436683367112349, 0.0424750491494493, 0.0416666666666667, 0.0592346003616464,
              0.05609074780965, 0.0436683367112349],
             [0.0609144903873173, 0.0609144903873173, 0.0609144903873173, 0.001]),
    }  # fmt: skip
    for m, (hinges, categories) in wanted.items():
        i = np.arange(m)
        x, k = ((i * 7) % 40) ** 1.5 / 20, i % 3.0
        variable = Variable(np.linspace(0.0, 13.0, 4))
        found = variable.half_widths(variable.features(x))
        np.testing.assert_allclose(found, hinges, rtol=1e-12)
        kinds = Variable(np.arange(4.0), True)
        np.testing.assert_allclose(kinds.half_widths(kinds.features(k)), categories, rtol=1e-12)


def test_hinges_rise_from_each_knot_and_to_each():
    found = Variable(np.array([0.0, 1.0, 4.0])).features(np.array([0.0, 0.5, 2.0, 4.0]))
    wanted = [
        [0, 0, 0, 0],
        [0.125, 0, 0.5, 0.125],
        [0.5, 1 / 3, 1, 0.5],
        [1, 1, 1, 1],
    ]
    np.testing.assert_allclose(found, wanted)


@pytest.mark.parametrize("seed", range(5))
def test_the_penalty_is_the_least_of_all_coefficients_of_the_curve(seed):
    rng = np.random.default_rng(seed)
    variable = Variable(np.sort(rng.uniform(-3.0, 5.0, 8)))
    F = variable.features(variable.points)
    coef = rng.standard_normal(F.shape[1]) * (rng.random(F.shape[1]) < 0.4)
    half_width = rng.uniform(0.01, 0.1, F.shape[1])
    found = variable.penalty(F @ coef + 3.0, half_width)
    constant = np.ones((len(F), 1))
    plain = linprog(
        np.concatenate([half_width, half_width, [0.0]]),
        A_eq=np.hstack([F, -F, constant]),
        b_eq=F @ coef,
        bounds=[(0, None)] * (2 * F.shape[1]) + [(None, None)],
    )
    assert found == pytest.approx(plain.fun, rel=1e-9)
    assert found <= half_width @ np.abs(coef) + 1e-12


def test_the_penalty_of_categories_leaves_a_constant_free():
    kinds = Variable(np.arange(3.0), True)
    assert kinds.penalty(np.array([5.0, 5.0, 5.0]), np.ones(3)) == 0.0
    assert kinds.penalty(np.array([1.0, 4.0, 2.0]), np.array([1.0, 1.0, 9.0])) == pytest.approx(3.0)


# --- the certificate ------------------------------------------------------------------------------


def test_the_certificate_agrees_with_a_general_optimiser(tmp_path):
    problem = replace(SMALL, columns=2, knots=6)
    data = problem.make(tmp_path, 300)
    X, y = data.arrays()
    variables = problem.variables(X)
    F = np.column_stack([v.features(x) for v, x in zip(variables, X.T, strict=True)])
    half_width = np.concatenate(
        [v.half_widths(v.features(x[y == 1])) for v, x in zip(variables, X.T, strict=True)]
    )
    optimum, coef = solved_by_lbfgs(F, y == 1, half_width)
    answer = dense_answer(problem, data)
    objective, gap = problem.judge(answer, data)
    assert 0.0 <= gap <= LIMIT
    assert abs(objective - optimum) <= gap + 1e-8
    # The optimiser's own coefficients, as curves, have its objective.
    halves = np.split(coef, 2)
    curves = [v.features(v.points) @ half for v, half in zip(variables, halves, strict=True)]
    theirs, gap, _ = certified(X, y, variables, curves, 1.0)
    assert theirs == pytest.approx(optimum, abs=1e-8)
    assert gap < 1e-5


def test_the_gap_bounds_how_far_any_curves_are_from_the_optimum(tmp_path):
    data = SMALL.make(tmp_path, 600)
    X, y = data.arrays()
    variables = SMALL.variables(X)
    best = dense_answer(SMALL, data)["curves"][0]
    optimum = certified(X, y, variables, list(best), 1.0)[0]
    rng = np.random.default_rng(0)
    for size in (0.0, 0.5, 1.01, 3.0):
        curves = size * best
        objective, gap, _ = certified(X, y, variables, list(curves), 1.0)
        assert objective - optimum <= gap + 1e-9, size
        assert gap > 10 * LIMIT, size
    for _ in range(5):
        curves = best + 0.01 * rng.standard_normal(best.shape)
        objective, gap, _ = certified(X, y, variables, list(curves), 1.0)
        assert LIMIT < objective - optimum <= gap + 1e-9


def test_categories_are_certified_too():
    rng = np.random.default_rng(3)
    kinds = rng.integers(0, 4, 400).astype(float)
    x = rng.standard_normal(400)
    y = np.full(400, np.nan)
    y[np.argsort(kinds + x + rng.gumbel(size=400))[-60:]] = 1.0
    X = np.column_stack([x, kinds])
    variables = [Variable(np.linspace(x.min(), x.max(), 5)), Variable(np.arange(4.0), True)]
    blocks = [v.features(c) for v, c in zip(variables, X.T, strict=True)]
    half_width = np.concatenate(
        [v.half_widths(b[y == 1]) for v, b in zip(variables, blocks, strict=True)]
    )
    optimum, coef = solved_by_lbfgs(np.hstack(blocks), y == 1, half_width)
    curves = [variables[0].features(variables[0].points) @ coef[:8], coef[8:]]
    objective, gap, _ = certified(X, y, variables, curves, 1.0)
    assert objective == pytest.approx(optimum, abs=1e-7)
    assert 0.0 <= gap < 1e-4


def test_curves_that_are_not_the_predictions_are_not_certified(tmp_path):
    data = SMALL.make(tmp_path, 600)
    answer = dense_answer(SMALL, data)
    assert SMALL.judge(answer, data)[1] <= LIMIT
    wrong = answer["probe"].copy()
    wrong[0, 7] *= 1.001
    assert SMALL.judge({**answer, "probe": wrong}, data)[1] == float("inf")
    assert SMALL.difference({**answer, "probe": wrong}, answer) > 0
    assert SMALL.difference({**answer, "probe": wrong[:, 1:]}, answer) == float("inf")
    assert SMALL.difference({**answer, "probe": 5.0 * answer["probe"]}, answer) < 1e-12


def test_an_answer_at_one_scale_is_judged_at_the_last(tmp_path):
    problem = replace(SMALL, scales=(4.0, 1.0))
    data = problem.make(tmp_path, 600)
    last = dense_answer(problem, data)
    first = dense_answer(replace(problem, scales=(4.0,)), data)
    both = {name: np.concatenate([first[name], last[name]]) for name in ("curves", "probe")}
    assert problem.judge(last, data) == SMALL.judge(last, data)
    assert problem.judge(both, data)[0] == SMALL.judge(last, data)[0]
    assert problem.judge(both, data)[1] <= LIMIT
    twice = {name: np.concatenate([last[name], last[name]]) for name in ("curves", "probe")}
    assert problem.judge(twice, data)[1] > LIMIT  # the first is no optimum of the wide boxes


# --- data -----------------------------------------------------------------------------------------


def test_the_pool_holds_the_presences_and_three_shapes(tmp_path):
    problem = PROBLEMS["maxent-1e4"]
    X, y = problem.make(tmp_path / "one", 10_000).arrays()
    again = problem.make(tmp_path / "two", 10_000).arrays()
    np.testing.assert_array_equal(X, again[0])
    np.testing.assert_array_equal(y, again[1])
    assert (y == 1).sum() == PRESENCES
    assert np.isnan(y[y != 1]).all()
    skew = ((X - X.mean(0)) ** 3).mean(0) / X.std(0) ** 3
    assert (np.abs(skew[0::3]) < 0.1).all()
    assert (skew[1::3] > 1.0).all()
    assert ((X[:, 2::3] > 0) & (X[:, 2::3] < 1)).all()
    spread = X[y == 1].std(0) / X.std(0)
    assert spread[0::6].max() < 0.75  # the niche, in normal variables that matter
    off = np.abs(np.corrcoef(X.T)[np.triu_indices(11, 1)])
    assert 0.2 < off.mean() < 0.8


def test_gain_is_the_log_density_of_the_presences():
    y = np.array([1.0, np.nan, np.nan, np.nan])
    assert gain(np.full(4, 7.0), y) == pytest.approx(0.0, abs=1e-15)
    assert gain(np.array([4.0, 0.0, 0.0, 0.0]), y) == pytest.approx(np.log(4.0))


def test_species_keep_their_curves_through_padding():
    problem = next(each for each in MAXENTS if isinstance(each, SpeciesProblem))
    variables = [Variable(np.linspace(0, 1, problem.knots)), Variable(np.array([1.0, 3.0]), True)]
    rows = asked_rows(variables, np.array([0.5, 3.0]), np.empty((0, 2)))
    assert rows.shape == (1 + problem.knots + 2, 2)
    truth = 2.0 * rows[:, 0] - rows[:, 1]
    curves = problem.curves(variables, np.exp(truth))
    np.testing.assert_allclose(curves[0], 2.0 * variables[0].points - 1.0, atol=1e-12)
    np.testing.assert_allclose(curves[1, :2], [2.0, 0.0], atol=1e-12)
    assert np.isnan(curves[1, 2:]).all()
    assert np.isnan(curves[2:]).all()


# --- sides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["scarce", "scarce, threads"])
def test_scarce_reaches_the_optimum_of_the_matrix(name, tmp_path):
    data = SMALL.make(tmp_path, 2000)
    reference, answer = dense_answer(SMALL, data), answer_of(scarce_maxent, name, SMALL, data)
    objective, gap = SMALL.judge(answer, data)
    assert gap <= LIMIT
    assert SMALL.same(answer, reference)
    assert objective == pytest.approx(SMALL.judge(reference, data)[0], abs=LIMIT)


def test_a_path_of_widths_is_the_fits_in_turn(tmp_path):
    problem = replace(SMALL, scales=(4.0, 1.0, 0.5))
    data = problem.make(tmp_path, 1000)
    turn = answer_of(scarce_maxent, "scarce, 20 fits in turn", problem, data)
    path = answer_of(scarce_maxent, "scarce", problem, data)
    last = answer_of(scarce_maxent, "scarce, one fit, the last", problem, data)
    assert len(turn["curves"]) == len(path["curves"]) == 3
    assert len(last["curves"]) == 1
    for answer in (turn, path, last):
        assert problem.judge(answer, data)[1] <= LIMIT
    assert problem.same(path, turn)
    assert path["passes"][0] < turn["passes"][0]


def test_species_with_categories_are_certified(tmp_path):
    problem = next(each for each in MAXENTS if isinstance(each, SpeciesProblem))
    problem = replace(problem, knots=8, columns=3)
    rng = np.random.default_rng(5)
    for number, count in enumerate((40, 12)):
        X = np.column_stack([rng.standard_normal((300, 2)), rng.integers(0, 3, 300)])
        y = np.full(300, np.nan)
        y[np.argsort(X.sum(axis=1) + rng.gumbel(size=300))[-count:]] = 1.0
        kinds = np.array([False, False, True])
        np.savez(tmp_path / f"species-{number:03}.npz", X=X, y=y, kinds=kinds)
    data = Data(tmp_path, np.zeros(3))
    answer = answer_of(scarce_maxent, "scarce", problem, data)
    assert answer["curves"].shape == (2, 3, 8)
    objective, gap = problem.judge(answer, data)
    assert gap <= LIMIT
    moved = {**answer, "curves": answer["curves"] * 1.05}
    assert problem.judge(moved, data)[0] > objective
    assert problem.judge(moved, data)[1] > LIMIT


@pytest.mark.parametrize(
    ("adapter", "short"),
    [
        pytest.param(maxnet_r, 2e-3, id="maxnet"),  # an approximation, near the optimum
        pytest.param(elapid_maxent, 0.5, id="elapid"),  # other penalties
    ],
)
def test_rivals_answer_in_the_same_terms(adapter, short, tmp_path):
    if adapter is maxnet_r and maxnet_r.missing():
        pytest.skip("R with maxnet is not installed")
    if adapter is elapid_maxent:
        pytest.importorskip("elapid")
    problem = replace(SMALL, knots=50)  # maxnet has no other number
    data = problem.make(tmp_path, 1000)
    optimum = problem.judge(dense_answer(problem, data), data)[0]
    objective, gap = problem.judge(answer_of(adapter, adapter.SIDES[0].name, problem, data), data)
    assert 0.0 < objective - optimum < min(short, gap)
    assert np.isfinite(gap)  # its curves are what it predicts
    defaults = replace(PROBLEMS["maxent-defaults"], columns=3)
    answer = answer_of(adapter, adapter.NAME, defaults, data)
    assert defaults.judge(answer, data)[0] < -0.05


# --- lines, sides that are not there --------------------------------------------------------------


def test_what_is_missing_is_named(monkeypatch, capsys):
    monkeypatch.setattr(maxnet_r, "versions", dict)
    kept = run.available(sides_of("maxent-1e4"))
    assert all(adapter.NAME != "maxnet" for adapter, _ in kept)
    monkeypatch.delenv("SCARCE_DATA", raising=False)
    assert run.main(["--problem", "maxent-species"]) == 0
    shown = capsys.readouterr().err
    assert "maxnet, same hinges: left out, no R with maxnet" in shown
    assert "maxent-species: left out, no data. Set SCARCE_DATA" in shown


def test_rivals_are_judged_by_the_same_objective_and_never_called_the_same(capsys):
    for adapter in (elapid_maxent, maxnet_r):
        for side in adapter.SIDES:
            assert side.problems == (side.yardstick,)
    like = next(r for r in table.read_results() if r["problem"] == "fit-gev" and r["yardstick"])
    line = like | {"problem": "maxent-1e4", "yardstick": "maxent-1e4", "side": "maxnet"}
    shown = table.table_of([line])
    assert "| passes | duality gap |" in shown
    assert "'maxnet' is a yardstick: it solves another form of this problem" in shown


def test_a_rival_with_a_better_objective_is_not_passed():
    like = next(r for r in table.read_results() if r["problem"] == "gram-pass")
    ours = like | {"problem": "maxent-1e4", "side": "scarce", "same": True, "cpu_seconds": 0.1}
    theirs = ours | {"side": "maxnet, same hinges", "same": False, "cpu_seconds": 9.0}

    def shown(objective):
        lines = [ours | {"objective": -0.5}, theirs | {"objective": objective}]
        goals = table.goals_of(lines, []).splitlines()
        return next(line for line in goals if "maxent-1e4: times faster than maxnet" in line)

    assert "| >= 50 | 90 | not measured | yes |" in shown(-0.4)
    assert "| >= 50 | nan | not measured | NO |" in shown(-0.6)


def test_the_runner_certifies_the_matrix_of_features(tmp_path, monkeypatch):
    monkeypatch.setattr(run, "sides_of", lambda name: sides_of(name)[:1])
    out = tmp_path / "lines.jsonl"
    asked = ["--problem", "maxent-1e4", "--rows", "1000", "--repeats", "1", "--out", str(out)]
    assert run.main(asked) == 0
    (record,) = [json.loads(line) for line in out.read_text().splitlines()]
    assert record["side"] == "numpy, matrix of features"
    assert record["same"]
    assert 0.0 <= record["certificate"] <= LIMIT
    assert -5.0 < record["objective"] < -0.1
    assert 2 <= record["passes"] < 40
