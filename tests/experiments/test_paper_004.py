"""Paper 004 repeated: imputers by slow plain versions, boxes by hand, and stored cells."""

import json

import numpy as np
import pytest
from scipy import stats
from sklearn.impute import SimpleImputer
from sklearn.utils.estimator_checks import parametrize_with_checks

from experiments import frame
from experiments import run as runner
from experiments.frame import FOLDER
from experiments.paper_004 import (
    algorithm_1,
    figures,
    imputers,
    jobs,
    methods,
    page,
    run,
    tables,
    work,
)
from experiments.paper_004.imputers import GaussianEM, MeanOfAll, MeanOfPositives
from experiments.paper_004.jobs import Job
from experiments.paper_004.printed import METHODS, MISSING, SEEN, SETS, TABLE_1, WAYS, printed
from scarce.datasets import hide_gibbs, make_gibbs
from tests.experiments.stored import assert_page, assert_rows

HERE = FOLDER / "paper_004"


@pytest.fixture(scope="module")
def cells():
    return json.loads((HERE / "cells.json").read_text())


@pytest.fixture(scope="module")
def stored():
    return frame.read_results(HERE)


def holes(seed, n=40, k=4, share=0.3):
    """Return correlated columns of different units with missing cells."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, k)) @ rng.normal(size=(k, k)) * np.geomspace(0.1, 100.0, k) + 5.0
    X[rng.random((n, k)) < share] = np.nan
    return X


# --- imputers ------------------------------------------------------------------------------------


@parametrize_with_checks([MeanOfAll(), MeanOfPositives(), GaussianEM()])
def test_imputers_are_transformers_of_scikit_learn(estimator, check):
    check(estimator)


@pytest.mark.parametrize("seed", range(5))
def test_mean_of_all_is_the_simple_imputer(seed):
    X = holes(seed)
    X[:, 2] = np.nan
    wanted = SimpleImputer(keep_empty_features=True).fit_transform(X)
    np.testing.assert_allclose(MeanOfAll().fit_transform(X), wanted, rtol=1e-12)


def test_mean_of_positives_counts_a_row_as_often_as_it_is_given():
    X = np.array([[1.0, np.nan], [4.0, np.nan], [4.0, np.nan], [100.0, 7.0], [np.nan, np.nan]])
    y = np.array([1.0, 1.0, 1.0, np.nan, np.nan])
    filled = MeanOfPositives().fit(X, y).transform(X)
    assert filled[4].tolist() == [3.0, 7.0]
    assert np.array_equal(filled[~np.isnan(X)], X[~np.isnan(X)])


def slow_em(X, ridge, steps):
    """EM row by row, as in a textbook, in standardised columns: law, objectives, filled cells."""
    center, unit = np.nanmean(X, axis=0), np.nanstd(X, axis=0)
    Z = (X - center) / unit
    n, k = Z.shape
    mean, cov = np.zeros(k), np.eye(k)
    objectives = []
    for step in range(steps + 1):
        filled, left, loglik = Z.copy(), np.zeros((k, k)), 0.0
        for i, z in enumerate(Z):
            o, m = np.flatnonzero(~np.isnan(z)), np.flatnonzero(np.isnan(z))
            if o.size:
                loglik += stats.multivariate_normal(mean[o], cov[np.ix_(o, o)]).logpdf(z[o])
            slope = cov[np.ix_(m, o)] @ np.linalg.inv(cov[np.ix_(o, o)])
            filled[i, m] = mean[m] + slope @ (z[o] - mean[o])
            left[np.ix_(m, m)] += cov[np.ix_(m, m)] - slope @ cov[np.ix_(o, m)]
        objectives.append(loglik - 0.5 * n * ridge * np.trace(np.linalg.inv(cov)))
        if step == steps:
            return (
                center + mean * unit,
                cov * np.outer(unit, unit),
                objectives,
                filled * unit + center,
            )
        mean = filled.mean(axis=0)
        cov = ((filled - mean).T @ (filled - mean) + left) / n + ridge * np.eye(k)
    raise AssertionError


@pytest.mark.parametrize(("seed", "ridge"), [(0, 0.0), (1, 1e-3), (2, 0.1)])
def test_em_is_the_slow_em(seed, ridge):
    X = holes(seed)
    X[3] = np.nan  # nothing seen
    em = GaussianEM(ridge=ridge, tol=-np.inf, max_iter=15).fit(X)
    mean, cov, objectives, filled = slow_em(X, ridge, 15)
    np.testing.assert_allclose(em.mean_, mean, rtol=1e-9)
    np.testing.assert_allclose(em.covariance_, cov, rtol=1e-8)
    np.testing.assert_allclose(em.objective_, objectives, rtol=1e-10)
    np.testing.assert_allclose(em.transform(X), filled, rtol=1e-9)


@pytest.mark.parametrize("ridge", [0.0, 1e-3])
@pytest.mark.parametrize("seed", range(6))
def test_em_never_goes_down_and_stops(seed, ridge):
    X = holes(seed, n=60, k=5, share=0.4)
    em = GaussianEM(ridge=ridge).fit(X)
    rises = np.diff(em.objective_)
    assert (rises > -1e-9).all()
    assert rises[-1] < 1e-5 * len(X) <= rises[:-1].min()
    assert len(em.objective_) <= 501


def test_em_of_complete_data_is_the_sample_law():
    X = holes(3, share=0.0)
    em = GaussianEM(ridge=0.0).fit(X)
    np.testing.assert_allclose(em.mean_, X.mean(axis=0), rtol=1e-12)
    np.testing.assert_allclose(em.covariance_, np.cov(X.T, ddof=0), rtol=1e-9)
    assert np.array_equal(em.transform(X), X)


def test_em_finds_a_cell_that_the_others_tell():
    rng = np.random.default_rng(5)
    a, b = rng.normal(size=(2, 500))
    X = np.column_stack([a, b, 2.0 * a - 3.0 * b + 0.01 * rng.normal(size=500)])
    hidden = X.copy()
    hidden[:100, 2] = np.nan
    filled = GaussianEM(ridge=1e-8).fit_transform(hidden)
    np.testing.assert_allclose(filled[:100, 2], X[:100, 2], atol=0.05)


def test_em_with_nothing_to_learn_from():
    X = np.array(
        [[1.0, np.nan, 2.0], [3.0, np.nan, np.nan], [np.nan, np.nan, 2.0], [7.0] + 2 * [np.nan]]
    )
    filled = GaussianEM().fit_transform(X)
    assert np.isfinite(filled).all()
    assert filled[:, 1].tolist() == [0.0] * 4
    assert filled[:, 2].tolist() == [2.0] * 4
    assert np.array_equal(GaussianEM().fit_transform(np.full((2, 2), np.nan)), np.zeros((2, 2)))


def test_em_does_not_mind_units_nor_how_many_patterns_are_held(monkeypatch):
    X = holes(7)
    unit, shift = np.array([1e-3, 1.0, 50.0, 1e4]), np.array([0.0, 1e3, -7.0, 1.0])
    plain = GaussianEM().fit_transform(X)
    np.testing.assert_allclose(GaussianEM().fit_transform(X * unit + shift), plain * unit + shift)
    monkeypatch.setattr(imputers, "CELLS", 3 * 16)  # three patterns at a time
    np.testing.assert_allclose(GaussianEM().fit_transform(X), plain, rtol=1e-10)


# --- maxent, boxes, folds ------------------------------------------------------------------------


def problem(seed, **reading):
    sample = make_gibbs(60, n_features=4, n_drawn=40, **reading, random_state=seed)
    return sample, hide_gibbs(sample, how="mcar", share=0.3, random_state=seed)


@pytest.mark.parametrize("seed", range(4))
def test_algorithm_1_is_our_fit(seed):
    sample, X = problem(seed, replace=False)
    X = X * np.array([1e4, 1.0, 1e-3, 1.0]) + np.array([1e6, 0.0, 0.0, -5.0])
    target, half_width = algorithm_1.boxes(X, sample.labelled, 0.5)
    found = algorithm_1.solve(X, target, half_width)
    model = methods.maxent(width_scale=0.5, tol=1e-10).fit(X, sample.y)
    np.testing.assert_allclose(
        np.log(model.density_ratio(X)) - np.log(len(X)), found.log_prob, atol=2e-5
    )
    prob, seen = np.exp(found.log_prob), ~np.isnan(X)
    means = np.where(seen, X, 0.0).T @ prob / (seen.T @ prob)
    assert (np.abs(means - target) <= half_width * (1 + 1e-6)).all()  # 004 eq 6
    assert prob.sum() == pytest.approx(1.0)


def test_algorithm_1_does_not_overflow():
    X = np.linspace(-1.0, 1.0, 50)[:, None] * 1e3
    found = algorithm_1.solve(X, np.array([990.0]), np.array([1.0]))
    assert np.isfinite(found.log_prob).all()
    assert np.exp(found.log_prob) @ X[:, 0] == pytest.approx(989.0, rel=1e-9)


def test_boxes_by_hand_and_in_the_classifier():
    X = np.array([[1.0, 5.0], [3.0, np.nan], [np.nan, 6.0], [8.0, 10.0], [2.0, 3.0]])
    labelled = np.array([0, 1, 2])
    target, half_width = algorithm_1.boxes(X, labelled, 0.7)
    assert target.tolist() == [2.0, 5.5]
    spread = [np.std([1.0, 3.0, 8.0, 2.0]), np.std([5.0, 6.0, 10.0, 3.0])]
    np.testing.assert_allclose(half_width, 0.7 * np.array(spread) / np.sqrt([2, 2]))
    y = np.array([1.0, 1.0, 1.0, np.nan, np.nan])
    model = methods.maxent(width_scale=0.7).fit(X, y)
    scale = np.nanmax(X, axis=0) - np.nanmin(X, axis=0)
    np.testing.assert_allclose(model.half_width_[0] * scale, half_width, rtol=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_without_widths_missing_is_mean_of_positives(seed):
    sample, X = problem(seed, replace=False)
    filled = methods.fill("Mean (positive)", X, sample.labelled)
    both = [
        methods.maxent(width_scale=0.0, tol=1e-12).fit(table, sample.y) for table in (X, filled)
    ]
    missing, mean = (m.density_ratio(t) for m, t in zip(both, (X, filled), strict=True))
    np.testing.assert_allclose(missing, mean, rtol=1e-5)


def test_a_draw_counts_as_often_as_it_was_drawn():
    sample, X = problem(3, coef_sd=3.0)
    times = np.bincount(sample.labelled, minlength=len(X))
    assert times.max() > 1
    rows, y, weight = methods.draws_as_rows(X, sample.labelled)
    stacked = methods.maxent(width_scale=0.5, tol=1e-11).fit(rows, y, background_weight=weight)
    once = methods.maxent(width_scale=0.5, tol=1e-11).fit(
        X, sample.y, sample_weight=np.maximum(times, 1), background_weight=1 / np.maximum(times, 1)
    )
    np.testing.assert_allclose(stacked.density_ratio(X), once.density_ratio(X), rtol=1e-5)
    assert stacked.density_ratio(X).mean() == pytest.approx(1.0)


@pytest.mark.parametrize("method", METHODS)
def test_the_width_is_the_best_of_a_plain_cross_validation(method):
    sample, X = problem(8, coef_sd=3.0)
    X = methods.fill(method, X, sample.labelled)
    rows, y, weight = methods.draws_as_rows(X, sample.labelled)
    held_out = [held for _, held in methods.folds(y, 5)]
    assert sorted(np.concatenate(held_out)) == np.flatnonzero(y == 1).tolist()
    scores = []
    for width in methods.WIDTH_SCALES:
        score = 0.0
        for held in held_out:
            kept = y.copy()
            kept[held] = np.nan
            model = methods.maxent(width_scale=width).fit(rows, kept, background_weight=weight)
            score += np.log(model.density_ratio(rows[held])).sum()
        scores.append(score)
    made = methods.density(X, sample.labelled, 5)
    assert made.width_scale == methods.WIDTH_SCALES[int(np.argmax(scores))]
    assert np.exp(made.log_prob).sum() == pytest.approx(1.0)
    wanted = sum(made.log_prob[place] for place in sample.test)
    assert made.log_likelihood(sample.test) == pytest.approx(wanted)


# --- jobs ----------------------------------------------------------------------------------------


def test_a_job_is_the_same_again_and_its_methods_share_the_rows(monkeypatch):
    seen = []

    def density(X, labelled, seed):
        seen.append((labelled.tolist(), seed, int(np.isnan(X).sum())))
        return methods.Density(np.full(len(X), -np.log(len(X))), 1.0)

    monkeypatch.setattr(jobs, "density", density)
    found = jobs.do(Job("table 1", "put back", 2))
    assert found["values"] == jobs.do(Job("table 1", "put back", 2))["values"]
    assert len(found["values"]) == 1 + len(WAYS) * len(METHODS)
    assert all(
        value == pytest.approx(-50 * np.log(200), abs=1e-3) for value in found["values"].values()
    )
    first, again = seen[:13], seen[13:]
    assert first == again
    assert len({(tuple(labelled), seed) for labelled, seed, _ in first}) == 1
    assert [hidden for *_, hidden in first[:3]] == [0, 1000, 0]
    other = jobs.do(Job("table 1", "put back", 3))
    assert len(other["values"]) == 13
    assert seen[-1][0] != seen[0][0]


def test_figure_2_has_as_many_incomplete_positives_as_it_says(monkeypatch):
    counts = []

    def density(X, labelled, seed):
        incomplete = np.isnan(X).any(axis=1)
        counts.append((incomplete.sum(), incomplete[labelled].sum()))
        return methods.Density(np.zeros(len(X)), 1.0)

    monkeypatch.setattr(jobs, "density", density)
    jobs.do(Job("figure 2", "not put back", 0))
    raw = counts[:: len(jobs.MEANS)]
    assert {int(rows) for rows, _ in raw} == {100}
    assert raw[0][1] == 0
    assert raw[-1][1] == 50
    assert all(rows == 0 for rows, _ in counts[1 :: len(jobs.MEANS)])


def test_splits_are_halves_of_the_positives(real_data, monkeypatch):
    seen = []

    def density(X, labelled, seed):
        seen.append((len(X), labelled.size))
        return methods.Density(np.zeros(len(X)), 1.0)

    monkeypatch.setattr(jobs, "density", density)
    monkeypatch.setattr(jobs, "_scored", lambda made, test: (float(test.size), 1.0))
    for name, test in (("horse_colic", 54), ("hepatitis", 16), ("house_votes_84", 93)):
        found = jobs.do(Job("table 2", name, 0))
        assert set(found["values"].values()) == {float(test)}
    assert seen[0] == (300, 55)


def test_the_sets_have_the_paper_s_gaps_where_they_can_be_told(real_data):
    for name in SETS:
        held = jobs.shape_of(name)
        assert held["p(o)"] == pytest.approx(SEEN[name][0], abs=0.0101)
        if name in ("hepatitis", "horse_colic", "house_votes_84"):
            assert held["p(y|o)"] == pytest.approx(SEEN[name][1], abs=0.0051)


def test_run_times_come_with_what_was_reached():
    found = jobs.do(Job("figure 1", "10 x 500", 0))["values"]
    assert found["ours"] > 0
    assert found["Algorithm 1"] > 0
    assert found["divergence, ours"] == pytest.approx(found["divergence, Algorithm 1"], abs=1e-7)
    assert found["divergence, ours"] > 0.01


# --- tables --------------------------------------------------------------------------------------


def test_differences_and_their_errors_by_hand():
    ours, other = [1.0, 2.0, 4.0, 3.0], [0.5, 2.5, 3.0, 1.0]
    apart = np.array([0.5, -0.5, 1.0, 2.0])
    found = tables.difference(ours, other, ratio=0.25)
    s = apart.std(ddof=1)
    assert found.mean == pytest.approx(apart.mean())
    assert found.error == pytest.approx(s / 2)
    assert found.corrected == pytest.approx(s * np.sqrt(1 / 4 + 0.25))
    assert found.p == pytest.approx(stats.ttest_rel(ours, other).pvalue)
    assert found.p_corrected > found.p
    same = tables.difference(ours, ours, ratio=1.0)
    assert (same.mean, same.p, same.p_corrected) == (0.0, 1.0, 1.0)
    assert tables.two_sample_p(ours, other) == pytest.approx(stats.ttest_ind(ours, other).pvalue)
    assert tables.two_sample_p(ours, ours) == 1.0


def test_the_corrected_error_covers_what_splits_of_one_sample_hide():
    """Means of overlapping halves of one sample scatter far less than the sample's own mean."""
    rng = np.random.default_rng(0)
    naive, corrected = 0, 0
    for _ in range(200):
        sample = rng.normal(size=40)
        values = [rng.permutation(sample)[:20].mean() for _ in range(30)]
        found = tables.difference(values, [0.0] * 30, ratio=1.0)
        naive += found.p < 0.05
        corrected += found.p_corrected < 0.05
    assert naive > 80  # of 200, where 10 would be right
    assert corrected <= 20


def test_an_odd_positive_goes_to_training():
    cells = tables.cells_of(some_records())
    assert tables.split_ratio(cells, "crx") == 12 / 13  # of 25 positives


def test_cells_keep_the_order_of_repeats_and_count_widths():
    records = [
        {"part": "table 2", "case": "crx", "repeat": r, "seconds": 1.0, "values": {"EM": v},
         "widths": {"EM": w}}
        for r, v, w in ((1, -2.0, 1.0), (0, -1.0, 0.35), (2, -3.0, 1.0))
    ]  # fmt: skip
    cells = tables.cells_of(records)
    assert cells["table 2"]["crx"]["values"] == {"EM": [-1.0, -2.0, -3.0]}
    assert cells["table 2"]["crx"]["widths"] == {"EM": {"0.35": 1, "1": 2}}
    assert json.loads(json.dumps(cells)) == cells


def test_printed_cells():
    assert printed("MCAR", MISSING) == (-261.96, 3.04)
    assert printed("NMAR", "Mean (all)") == (-259.05, 4.01)
    assert printed("horse_colic", "Mean (positive)") == (-304.7, 2.2)
    assert printed("Full", "Full") == (-254.99, 3.30)
    for row in TABLE_1.values():  # "Missing scores the highest average likelihood"
        assert max(mean for mean, _ in row) == row[0][0]


# --- page, figures, work -------------------------------------------------------------------------


def some_records(repeats=3):
    """Return records of every case with made-up values, three repeats each."""
    rng = np.random.default_rng(0)
    for part, cases in jobs.cases().items():
        for case in cases:
            for repeat in range(1 if part == "sets" else repeats):
                yield from _record(part, case, repeat, rng)


def _record(part, case, repeat, rng):
    names = {
        "table 1": ["Full", *(f"{w}, {m}" for w in WAYS for m in METHODS)],
        "table 2": METHODS,
        "figure 2": [f"{k}, {m}" for k in jobs.INCOMPLETE for m in jobs.MEANS],
    }.get(part, ())
    values = {name: float(-250 + rng.normal()) for name in names}
    if part == "sets":
        values = {"places": 131.0, "positives": 25.0, "columns": 7.0, "p(o)": 0.9, "p(y|o)": 0.2}
    if part == "figure 1":
        values = {"ours": 0.01, "Algorithm 1": 0.02, "sweeps": 9.0}
        values |= {"divergence, ours": 0.5, "divergence, Algorithm 1": 0.5 + 1e-9}
    widths = dict.fromkeys(names, 1.0) if part.startswith("table") else {}
    yield Job(part, case, repeat)._asdict() | {"values": values, "widths": widths, "seconds": 0.5}


def test_the_page_and_figures_are_made_from_cells(monkeypatch, tmp_path):
    cells = tables.cells_of(some_records())
    results = frame.results_of("paper_004", run.TITLE, run.SEED, tables.comparisons(cells))
    quantities = [row.quantity for row in results.comparisons]
    count = 3 * (13 + 9) + 6 * (4 + 3 + 2) + 2 * 33 + 2 * 12
    assert len(set(quantities)) == len(quantities) == count
    monkeypatch.setattr(work, "read", lambda _: {})
    monkeypatch.setattr(tables, "cells_of", lambda _: cells)
    run.write(results, tmp_path, tmp_path)
    assert json.loads((tmp_path / "cells.json").read_text()) == cells
    text = (tmp_path / "results.md").read_text()
    for row in [line for line in text.splitlines() if line.startswith("|")]:
        assert row.count(" | ") - row.count("\\| ") >= 1
    assert all(name in text for name in (*SETS, *METHODS, *jobs.READINGS))
    assert "nan" not in text
    for name in ("figure1.png", "figure2.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")
        assert (tmp_path / name).stat().st_size < 150_000


def test_the_page_counts_who_is_worse():
    cells = tables.cells_of(some_records())
    steady = np.array([-1.0, 0.0, 1.0])
    for name in SETS:
        values = cells["table 2"][name]["values"]
        for method in METHODS:
            values[method] = (-250.0 + steady).tolist()
    cells["table 2"]["crx"]["values"]["EM"] = (-200.0 + steady * [1.0, 1.1, 1.0]).tolist()
    text = page._summary(cells)
    assert "two-sample test, on crx; by the paired test over splits on crx;" in text
    assert "shared rows on crx." in text
    cells["table 2"]["crx"]["values"]["EM"] = (-300.0 + steady).tolist()
    assert page._summary(cells).count("on none") == 3


def test_every_job_is_there_once():
    todo = jobs.every_job()
    assert len(todo) == len(set(todo))
    assert sum(job.part == "table 2" for job in todo) == 6 * 500
    assert all(job.cost > 0 for job in todo)
    assert set(jobs.quick_jobs()) <= set(todo)


# --- what is stored is what the code makes -------------------------------------------------------


def test_the_page_and_the_numbers_come_from_the_cells(cells, stored):
    assert_rows(tables.comparisons(cells), stored.comparisons)
    assert_page(page.page_of(stored, cells), (HERE / "results.md").read_text())


def test_nothing_is_left_out(cells):
    for part, cases in jobs.cases().items():
        for case in cases:
            for values in cells[part][case]["values"].values():
                assert len(values) == jobs.REPEATS[part]


def test_a_repeat_gives_its_stored_cells(cells, real_data):
    for part, case in (("table 2", "hepatitis"), ("table 1", "put back")):
        found = jobs.do(Job(part, case, 7))["values"]
        for name, value in found.items():
            assert value == pytest.approx(cells[part][case]["values"][name][7], abs=2e-3)


def test_a_quick_run_agrees_with_the_stored_one(stored, real_data, monkeypatch, tmp_path, capsys):
    some = [Job("sets", "hepatitis", 0), *(Job("table 2", "hepatitis", r) for r in range(3))]
    monkeypatch.setattr(jobs, "quick_jobs", lambda: some)
    held = {row.quantity: row for row in stored.comparisons}
    quick = runner.run("paper_004", True, tmp_path)
    assert len(quick.comparisons) == 4 + 3 + 2
    for row in quick.comparisons:
        error = np.hypot(row.standard_error, held[row.quantity].standard_error)
        assert abs(row.ours - held[row.quantity].ours) <= 4 * error
        assert row.paper == held[row.quantity].paper
    assert not list(tmp_path.iterdir())


def test_stored_figures_are_small(cells):
    for name in ("figure1.png", "figure2.png"):
        assert (HERE / name).stat().st_size < 150_000
    assert figures.STYLES.keys() >= set(jobs.MEANS)
