"""Paper 001 repeated: the measures by slow plain versions, and stored cells that the code makes."""

import itertools
import json

import numpy as np
import pytest
from scipy.integrate import quad
from scipy.optimize import minimize

from experiments import frame
from experiments import run as runner
from experiments.frame import FOLDER
from experiments.paper_001 import figures, jobs, methods, page, reasons, run, tables, work
from experiments.paper_001.jobs import Job
from experiments.paper_001.printed import METHODS, SETS, printed
from scarce.datasets import load_uci, make_rare
from scarce.linear.gev import GEV
from tests.experiments.stored import assert_page, assert_rows

HERE = FOLDER / "paper_001"


@pytest.fixture(scope="module")
def cells():
    return json.loads((HERE / "cells.json").read_text())


@pytest.fixture(scope="module")
def stored():
    return frame.read_results(HERE)


# --- what is stored is what the code makes -------------------------------------------------------


def test_the_page_and_the_numbers_come_from_the_cells(cells, stored):
    remade = [*tables.real_comparisons(cells), *tables.synthetic_comparisons(cells)]
    remade += tables.seconds_comparisons(cells)
    assert_rows(remade, stored.comparisons[3:])
    assert len({row.quantity for row in stored.comparisons}) == len(stored.comparisons)
    assert_page(page.page_of(stored, cells), (HERE / "results.md").read_text())


def test_nothing_is_left_out(cells):
    jobs_done = jobs.every_job()
    assert len(jobs_done) == len(set(jobs_done)) == (12 * 10 + 3 * 5 * 10) * 8
    for job in jobs_done:
        measured = cells[tables.case_name(job.case, job.rows)][job.method]
        assert len(measured["rmse" if job.rows else "brier"]) == 10


@pytest.mark.parametrize("name", ["haberman", "glass"])
def test_a_split_gives_its_stored_cells(cells, real_data, name):
    for method in jobs.EVERY:
        found = jobs.do(Job(name, 0, 4, method))
        for measure in ("brier", "calibration", "log_loss_floored", "shape", "ridge", "impossible"):
            held = cells[name][method][measure][4]
            assert found[measure] == (held if held is None else pytest.approx(held, rel=1e-5))


@pytest.mark.parametrize("method", ["logistic", "weighted", "gev-canonical", "constant"])
def test_a_generation_gives_its_stored_error(cells, method):
    found = jobs.do(Job("step", 1000, 2, method))
    held = cells["step, n = 1000"][method]
    assert found["rmse"] == pytest.approx(held["rmse"][2], rel=1e-5)


def test_a_quick_run_agrees_with_the_stored_one(stored, real_data, monkeypatch, tmp_path, capsys):
    some = [Job("haberman", 0, r, m) for r in range(2) for m in ("logistic", "constant")]
    monkeypatch.setattr(jobs, "quick_jobs", lambda: some)
    held = {row.quantity: row for row in stored.comparisons}
    quick = runner.run("paper_001", True, tmp_path)
    assert len(quick.comparisons) == 3 + 4 + 1
    for row in quick.comparisons[:-1]:  # the last is CPU time, over fewer sets
        error = np.hypot(row.standard_error, held[row.quantity].standard_error)
        assert abs(row.ours - held[row.quantity].ours) <= 4 * error
        assert row.paper == held[row.quantity].paper
    assert not list(tmp_path.iterdir())


# --- what was found ------------------------------------------------------------------------------


def test_every_cell_far_from_print_was_looked_at_and_no_other(cells):
    far = {(score, name, method) for score, name, method, _ in tables.far_cells(cells)}
    assert far == set(reasons.REASONS)
    assert all(text.endswith(".") for text in reasons.REASONS.values())


def test_every_method_beats_the_constant_share_but_on_glass(cells):
    for name in SETS:
        for method in METHODS:
            better = np.mean(cells[name][method]["brier"]) < tables.baseline(cells, name, "brier")
            assert better == (name != "glass"), (name, method)


def test_what_the_page_says_of_figure_2(cells):
    def error(design, n, method):
        return np.mean(cells[f"{design}, n = {n}"][method]["rmse"])

    for n in (1000, 2000):
        constant = error("sine, r = 64", n, "constant")
        assert all(constant < error("sine, r = 64", n, method) for method in METHODS)
    for method in ("gev-log", "gev-canonical", "probit"):
        for n in (4000, 8000, 16000):
            for design in ("sine, r = 64", "sine, r = 32"):
                assert error(design, n, method) < error(design, n, "logistic")
            assert error("step", n, method) > error("step", n, "logistic")


def test_prevalences_are_the_paper_s_within_a_draws_error(stored):
    rows = [row for row in stored.comparisons if row.quantity.startswith("prevalence")]
    assert len(rows) == 3
    for row in rows:
        assert abs(row.ours - row.paper) < 4 * (row.paper / 5000) ** 0.5


def test_the_sets_are_those_of_table_2(real_data):
    for name, (n, k, share) in SETS.items():
        held = load_uci(name)
        assert held.X.shape == (n, k)
        assert held.y.mean() == pytest.approx(share, abs=6e-4)


# --- tables --------------------------------------------------------------------------------------


def exact_wilcoxon(apart):
    """Two-sided p-value by going through all signs."""
    ranks = np.argsort(np.argsort(np.abs(apart))) + 1.0
    seen = ranks[np.array(apart) > 0].sum()
    every = [ranks @ np.array(signs) for signs in itertools.product((0, 1), repeat=len(apart))]
    below = np.mean([v <= seen for v in every])
    above = np.mean([v >= seen for v in every])
    return min(1.0, 2 * min(below, above))


@pytest.mark.parametrize("seed", range(24))
def test_marks_are_those_of_the_exact_test(seed):
    rng = np.random.default_rng(seed)
    best = rng.normal(size=8)
    row = {"best": best, "other": best + rng.normal(0.2 + 0.05 * seed, 1.0, size=8)}
    if row["other"].mean() < best.mean():
        row["best"], row["other"] = row["other"], row["best"]
    p = exact_wilcoxon(row["other"] - row["best"])
    wanted = "**" if p < 0.05 else "*" if p < 0.1 else ""
    assert tables.marks(row) == {"best": "", "other": wanted}


def test_cells_keep_the_order_of_repeats_and_a_missing_number():
    records = [
        {"case": "pima", "rows": 0, "repeat": r, "method": "logistic", "brier": v}
        for r, v in ((2, None), (0, 0.1), (1, 0.2))
    ]
    cells = tables.cells_of(records)
    assert cells == {"pima": {"logistic": {"brier": [0.1, 0.2, None]}}}
    assert tables.mean_and_error([0.1, None])[0] == np.inf


def test_a_far_cell_is_found_on_either_side():
    values = [0.1, 0.2, 0.3]
    error = 0.1 / 3**0.5
    for paper in (0.2 - 2.1 * 2**0.5 * error, 0.2 + 2.1 * 2**0.5 * error):
        assert tables.distance(paper, values) == pytest.approx(2.1)
    assert tables.distance(0.2, [0.2, 0.2]) == 0.0
    assert tables.distance(0.3, [0.2, 0.2]) == np.inf


def test_printed_cells():
    assert printed("brier", "nursery", "gev-log") == 0.0172
    assert printed("calibration", "pima", "gev-canonical") == 0.0081
    assert printed("calibration", "glass", "undersampled") == 0.0109
    assert printed("brier", "pima", "constant") is None


# --- methods -------------------------------------------------------------------------------------


def test_weighted_logistic_is_the_paper_s_weighted_sum_with_its_intercept_moved_back():
    data = make_rare(400, prevalence=0.1, random_state=3)
    X, y, share = data.X, data.y, data.y.mean()
    weight = np.where(y == 1, 1 / share, 1 / (1 - share))

    def objective(b):
        score = X @ b[1:] + b[0]
        return weight @ (np.logaddexp(0, score) - y * score) + 5.0 * b[1:] @ b[1:]

    best = minimize(objective, np.zeros(X.shape[1] + 1), tol=1e-10).x
    odds = np.exp(X @ best[1:] + best[0]) * share / (1 - share)
    found = methods._corrected("weighted", 10.0, X, y, 0).predict_proba(X)[:, 1]
    np.testing.assert_allclose(found, odds / (1 + odds), rtol=1e-4)


def test_undersampling_keeps_as_many_of_each_class_and_the_world_s_share():
    data = make_rare(3000, prevalence=0.05, random_state=4)
    model = methods._corrected("undersampled", 10.0, data.X, data.y, 0)
    assert model.n_rows_used_ == 2 * data.y.sum()
    prob = model.predict_proba(data.X)[:, 1]
    assert prob.mean() == pytest.approx(data.y.mean(), rel=0.3)


@pytest.mark.parametrize("method", METHODS)
def test_units_do_not_matter_and_new_rows_do_not_change_the_fit(method):
    data = make_rare(300, prevalence=0.2, random_state=5)
    X, y, new = data.X[:200], data.y[:200], data.X[200:]
    units = np.geomspace(1e-3, 1e3, X.shape[1])
    if method.startswith("gev"):  # two columns keep a grid of 189 quick
        units = units[:2]
        X, new = X[:, :2], new[:, :2]
    plain = methods.predict(method, X, y, new, 1)
    scaled = methods.predict(method, X * units, y, new[:50] * units, 1)
    assert (plain.ridge, plain.shape) == pytest.approx((scaled.ridge, scaled.shape), nan_ok=True)
    np.testing.assert_allclose(plain.prob[:50], scaled.prob, rtol=1e-4, atol=1e-9)


def test_the_ridge_of_a_corrected_method_is_the_best_on_the_validation_rows():
    data = make_rare(300, prevalence=0.2, random_state=6)
    held = methods.validation_rows(data.y, 2)
    scores = []
    for ridge in methods.RIDGES:
        model = methods._corrected("weighted", ridge, data.X[~held], data.y[~held], 2)
        scores.append(np.mean((model.predict_proba(data.X[held])[:, 1] - data.y[held]) ** 2))
    assert methods._best_ridge("weighted", data.X, data.y, 2) == methods.RIDGES[np.argmin(scores)]


# --- measures ------------------------------------------------------------------------------------


def test_scores_by_hand():
    y, prob = np.array([0.0, 0.0, 1.0, 1.0]), np.array([0.1, 0.11, 0.15, 0.0])
    found = dict(jobs.real_scores(y, prob, np.array([0.0, 1.0])))
    assert found["brier"] == pytest.approx((0.01 + 0.0121 + 0.7225 + 1) / 4)
    # bins [0, .1] with rows 0 and 3, (.1, .2] with rows 1 and 2: half of each happened
    wanted = ((0.1 - 0.5) ** 2 + (0.11 - 0.5) ** 2 + (0.15 - 0.5) ** 2 + 0.25) / 4
    assert found["calibration"] == pytest.approx(wanted)
    assert found["log_loss"] == np.inf
    assert found["impossible"] == 1
    mixed = 0.999 * prob + 0.0005
    logs = -np.log(np.where(y == 1, mixed, 1 - mixed))
    assert found["log_loss_floored"] == pytest.approx(logs.mean())


def test_infinity_is_written_as_nothing(monkeypatch):
    sure = methods.Predicted(np.zeros(jobs.TEST_ROWS), np.nan, 1.0)
    monkeypatch.setattr(jobs, "predict", lambda *_: sure)
    found = jobs.do(Job("step", 1000, 0, "logistic"))
    assert found["shape"] is None
    assert found["rmse"] > 0.1


# --- work ----------------------------------------------------------------------------------------


# --- figures -------------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", figures.SHAPES)
def test_the_drawn_canonical_loss_is_the_integral_of_the_paper(shape):
    link = GEV(shape)
    for score in (-0.7, 0.3, 1.05):
        event, other = figures.partial_losses("gev-canonical", shape, np.array([score]))
        low, high = (float(np.clip(end, -60, 1e4)) for end in link.support)
        wanted = quad(lambda v: float(link.complement(np.array([v]))[0]), score, high, limit=500)[0]
        if shape > 0:  # what is left of a heavy tail: 1 - prob is about (shape v)^(-1 / shape)
            wanted += (shape * high) ** (1 - 1 / shape) / (1 - shape)
        assert event[0] == pytest.approx(wanted, rel=1e-3)
        wanted = quad(lambda v: float(link.inverse(np.array([v]))[0]), low, score, limit=500)[0]
        assert other[0] == pytest.approx(wanted, rel=1e-6)


def test_figures_are_drawn_and_small(cells, tmp_path):
    figures.draw_losses(tmp_path / "1.png")
    figures.draw_errors(cells, tmp_path / "2.png")
    for path in (
        tmp_path / "1.png",
        tmp_path / "2.png",
        HERE / "figure1.png",
        HERE / "figure2.png",
    ):
        assert path.read_bytes().startswith(b"\x89PNG")
        assert path.stat().st_size < 150_000


def test_writing_makes_every_file(cells, stored, monkeypatch, tmp_path):
    monkeypatch.setattr(work, "read", lambda _: {})
    monkeypatch.setattr(tables, "cells_of", lambda _: cells)
    run.write(stored, tmp_path, tmp_path)
    assert (tmp_path / "cells.json").read_text() == (HERE / "cells.json").read_text()
    assert_page((tmp_path / "results.md").read_text(), (HERE / "results.md").read_text())
    assert frame.read_results(tmp_path) == stored
