"""The fits of the benchmarks: right formulas, one certificate for all sides, honest comparisons."""

import json
from dataclasses import replace
from importlib.util import find_spec

import mpmath
import numpy as np
import pytest

from benchmarks import measure, run, table
from benchmarks.adapters import plain_numpy, scarce_fits, scikit_fits, sides_of
from benchmarks.fits import FITS, GRID, GROW, LASSO, LIMIT, LOSSES, SHAPE
from benchmarks.problems import PROBLEMS
from scarce.io import open as door

NAMES = [problem.name for problem in FITS]


def answer_of(adapter, side_name, problem, data, calls=1):
    sides = [side for side in adapter.SIDES if side.name == side_name]
    side = next(side for side in sides if problem.name in side.problems)
    with adapter.prepared(side, problem, data) as call:
        answers = [call() for _ in range(calls)]
    return {name: value for name, value in answers[-1].items() if name != "passes"}


def lines_of(arguments, path):
    assert run.main([*arguments, "--repeats", "1", "--out", str(path)]) == 0
    return [json.loads(line) for line in path.read_text().splitlines()]


# --- formulas -------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", list(LOSSES))
@pytest.mark.parametrize("label", [0.0, 1.0])
def test_derivatives_are_those_of_the_value(name, label):
    score = np.linspace(-4.0, 3.0, 29)
    score = score[np.abs(1.0 + SHAPE * score) > 0.02]  # the GEV loss has its edge there
    y, step = np.full(len(score), label), 1e-5
    low, here, high = (LOSSES[name](y, score + h) for h in (-step, 0.0, step))
    np.testing.assert_allclose((high.value - low.value) / (2 * step), here.slope, atol=1e-9)
    np.testing.assert_allclose((high.slope - low.slope) / (2 * step), here.curvature, atol=1e-8)


@pytest.mark.parametrize("score", [-5.0, -1.0, 0.7, 4.0])
def test_values_are_those_of_the_links(score):
    at = {name: [LOSSES[name](np.array([y]), np.array([score])).value[0] for y in (0.0, 1.0)]
          for name in LOSSES}  # fmt: skip
    v = mpmath.mpf(score)
    with mpmath.workdps(60):
        links = {
            "logistic": 1 / (1 + mpmath.exp(-v)),
            "probit": mpmath.ncdf(v),
            "cloglog": 1 - mpmath.exp(-mpmath.exp(v)),
        }
        for name, prob in links.items():
            wanted = [float(-mpmath.log(1 - prob)), float(-mpmath.log(prob))]
            assert at[name] == pytest.approx(wanted, rel=1e-12), name

    def prob_of_gev(t):
        room = 1 + mpmath.mpf(SHAPE) * t
        return mpmath.exp(-(room ** (-1 / mpmath.mpf(SHAPE)))) if room > 0 else mpmath.mpf(0)

    edge = -1 / mpmath.mpf(SHAPE)
    area = mpmath.quad(prob_of_gev, mpmath.linspace(edge, v, 6)) if v > edge else mpmath.mpf(0)
    assert at["gev-canonical"] == pytest.approx([float(area), float(area - v)], rel=1e-9, abs=1e-14)


@pytest.mark.parametrize("name", NAMES)
def test_the_tolerance_is_no_wider_than_the_certificates_promise(name, tmp_path):
    problem = PROBLEMS[name]
    data = problem.make(tmp_path, 20 * problem.columns)
    coef = answer_of(plain_numpy, "numpy", problem, data)["coef"]
    reach = problem.reach(coef, data)
    assert problem.tolerance <= reach
    # Moved by a gradient of LIMIT along the flattest direction, an answer stays within reach.
    X, y = data.arrays()
    gradient, hessian = (problem.at(X, y, coef)[i] + problem.penalised(coef)[i] for i in (1, 2))
    coef = coef - np.linalg.solve(hessian, gradient)  # to the optimum itself
    flattest = np.linalg.eigh(hessian)[1][:, 0]
    step = np.linalg.solve(hessian, flattest / np.abs(flattest).max() * LIMIT * len(y))
    moved = {"coef": coef + step}
    assert problem.difference(moved, {"coef": coef}) <= reach
    assert problem.judge(moved, data)[1] == pytest.approx(LIMIT, rel=0.02)


# --- sides ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", NAMES)
def test_every_side_reaches_the_same_coefficients(name, tmp_path):
    problem = PROBLEMS[name]
    data = problem.make(tmp_path, 3000)
    pairs = [pair for pair in sides_of(name) if find_spec(pair[0].PACKAGES[0]) is not None]
    assert pairs[0][1].name == "numpy"
    reference = answer_of(plain_numpy, "numpy", problem, data)
    objective, certificate = problem.judge(reference, data)
    assert problem.solved(certificate)
    for adapter, side in pairs[1:]:
        if side.yardstick is not None or (side.blas_threads == "all" and adapter.NAME != "scarce"):
            continue  # another problem; the same fit with more threads
        answer = answer_of(adapter, side.name, problem, data)
        found, certificate = problem.judge(answer, data)
        assert problem.solved(certificate), side.name
        assert problem.same(answer, reference), side.name
        assert found == pytest.approx(objective, rel=1e-12), side.name


def test_both_sides_of_a_lasso_reach_the_same_coefficients_and_others_are_not_solved(tmp_path):
    problem = replace(LASSO, ridge=5.0)
    data = problem.make(tmp_path, 3000)
    ours = answer_of(scarce_fits, "scarce", problem, data)
    theirs = answer_of(scikit_fits, "scikit-learn, saga", problem, data)
    for answer in (ours, theirs):
        assert 0 < np.count_nonzero(answer["coef"][:-1]) < problem.columns
        assert problem.solved(problem.judge(answer, data)[1])
    assert problem.same(ours, theirs)
    for change in (1e-6, -1e-6):
        coef = ours["coef"].copy()
        coef[int(np.flatnonzero(coef[:-1] == 0)[0])] = change  # a column that should be 0
        assert not problem.solved(problem.judge({"coef": coef}, data)[1])


def test_another_penalty_or_a_lazy_fit_is_not_the_same(tmp_path):
    problem = PROBLEMS["fit-logit"]
    data = problem.make(tmp_path, 3000)
    right = answer_of(plain_numpy, "numpy", problem, data)
    other = answer_of(plain_numpy, "numpy", PROBLEMS["fit-logit-free"], data)
    assert not problem.same(other, right)
    assert not problem.solved(problem.judge(other, data)[1])
    lazy = {"coef": right["coef"] * (1.0 + 1e-7)}
    assert problem.same(lazy, right)
    assert problem.solved(problem.judge(right, data)[1])
    assert not problem.solved(problem.judge({"coef": right["coef"] * (1 + 1e-5)}, data)[1])
    assert not problem.solved(None)


def test_the_grid_agrees_with_fits_in_turn(tmp_path):
    data = GRID.make(tmp_path, 3000)
    reference = answer_of(scarce_fits, "scarce, 189 fits in turn", GRID, data)
    answer = answer_of(scarce_fits, "scarce", GRID, data)
    assert answer["scores"].shape == (27, 7)
    assert GRID.same(answer, reference)
    scores = reference["scores"]
    assert not GRID.same({"scores": scores[::-1]}, reference)
    tilted = scores.copy()  # nearly the same table with another best
    tilted[np.unravel_index(scores.argmax(), scores.shape)] = scores.min() - 1e-9
    assert not replace(GRID, tolerance=1.0).same({"scores": tilted}, reference)
    assert not GRID.same({"scores": scores * 1.001}, reference)


def test_files_give_the_answer_of_arrays(tmp_path):
    problem = GROW[0]
    data = problem.make(tmp_path, 3000)
    reference = answer_of(plain_numpy, "numpy", PROBLEMS["fit-logit"], data)
    held = door.IN_MEMORY_BYTES
    for _, side in sides_of(problem.name):
        answer = answer_of(scarce_fits, side.name, problem, data, calls=2)
        assert problem.same(answer, reference), side.name
        assert held == door.IN_MEMORY_BYTES
        assert data.cache.exists() == ("cached" in side.name), side.name


# --- lines and tables -----------------------------------------------------------------------------


def test_a_yardstick_is_timed_and_judged_as_what_it_solves(tmp_path, monkeypatch, capsys):
    kept = {"numpy", "scarce", "scikit-learn, lbfgs, logistic"}
    monkeypatch.setattr(
        run, "sides_of", lambda name: [pair for pair in sides_of(name) if pair[1].name in kept]
    )
    records = lines_of(["--problem", "fit-gev", "--rows", "2000"], tmp_path / "gev.jsonl")
    numpy, ours, yardstick = records
    assert numpy["same"]
    assert ours["same"]
    assert ours["certificate"] <= LIMIT
    assert 2 <= ours["passes"] < 60
    assert (yardstick["yardstick"], yardstick["same"]) == ("fit-logit", False)
    assert yardstick["difference"] is None
    assert yardstick["certificate"] <= LIMIT  # of its own objective
    assert yardstick["objective"] > 2 * ours["objective"]  # a log loss beside a canonical one
    shown = capsys.readouterr().err
    assert "'scikit-learn, lbfgs, logistic' is a yardstick: it solves fit-logit" in shown
    assert "differs" not in shown


def test_one_fit_beside_the_grid_is_one_fit(tmp_path):
    GRID.make(tmp_path, 1000)
    seen = measure.measure("grid-27x7", "scarce, one fit", str(tmp_path), 1)
    assert len(seen["runs"]) == 1
    with np.load(tmp_path / "answer.npz") as held:
        assert held["coef"].shape == (21,)


def test_a_side_that_stopped_early_has_no_ratio(tmp_path):
    problem = PROBLEMS["fit-logit"]
    data = problem.make(tmp_path, 2000)
    right = answer_of(plain_numpy, "numpy", problem, data)
    early = {"coef": right["coef"] * (1.0 + 8e-7)}
    assert problem.same(early, right)
    side = next(side for side in plain_numpy.SIDES if problem.name in side.problems)
    run_of = {"wall": 1.0, "cpu": 1.0, "others": None}
    seen = {"runs": [run_of], "first": run_of, "passes": 1, "peak_extra_mb": 1.0, "mapped_mb": 0.0}
    seen["versions"] = {}
    answers = {"numpy": right, "early": early}
    record = run.record_of(
        problem, replace(side, name="early"), data, [seen], answers, "numpy", 0.0
    )
    assert record["certificate"] > LIMIT
    assert not record["same"]
    assert table._ratio(table.LATER | record, table.LATER | record, "cpu_seconds") == "differs"


def test_a_problem_is_chosen_by_name_or_family(monkeypatch, capsys):
    asked = []
    monkeypatch.setattr(run, "run_problem", lambda problem, *_: asked.append(problem.name) or [])
    for name in ("fit-logit", "grow", "fit"):
        run.main(["--problem", name])
    assert asked[0] == "fit-logit"
    assert asked[1:5] == [problem.name for problem in GROW]
    assert asked[5:] == NAMES
    with pytest.raises(SystemExit):
        run.main(["--problem", "gro"])
    assert "there are gram-pass" in capsys.readouterr().err


def growing(seconds, megabytes):
    like = next(r for r in table.read_results() if r["problem"] == "gram-pass")
    return [
        like
        | {
            "problem": problem.name,
            "side": f"scarce, {side}",
            "rows": problem.rows,
            "wall_seconds": seconds(problem.rows),
            "peak_extra_mb": megabytes(problem.rows) + 800.0,
            "mapped_mb": 800.0,
            "certificate": 1e-9,
        }
        for problem in GROW
        for side in ("streamed file", "cached file")
    ]


def test_growth_is_judged_per_row_and_without_mapped_pages():
    linear = growing(lambda rows: 1e-6 * rows, lambda rows: 90.0)
    goals = table.goals_of(linear, [])
    rows = [line for line in goals.splitlines() if "10 million rows" in line]
    assert len(rows) == 4
    assert all("| 1.00 | not measured | yes |" in line for line in rows)
    worse = growing(lambda rows: 1e-7 * rows**1.1, lambda rows: 9e-5 * rows)
    rows = [line for line in table.goals_of(worse, []).splitlines() if "10 million rows" in line]
    assert [("NO" in line) for line in rows] == [True] * 4
    shown = table.table_of(linear)
    assert shown.count("###") == 1
    assert shown.index("10,000,000 | scarce, streamed") < shown.index("100,000 | scarce, cached")
