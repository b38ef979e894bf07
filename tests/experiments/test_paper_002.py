"""Paper 002 repeated: information by plain sums, trials by hand, curves by scikit-learn, cells."""

import json
import math

import numpy as np
import pytest
from scipy import stats
from sklearn.metrics import precision_recall_curve

from experiments import frame
from experiments import run as runner
from experiments.frame import FOLDER
from experiments.paper_002 import (
    claims,
    comparisons,
    figure_5,
    figures,
    information,
    jobs,
    methods,
    page,
    run,
    sets,
    tables,
    work,
)
from experiments.paper_002.jobs import ADAPTIVE, RANDOM, TAIL, Design, Job
from experiments.paper_002.methods import AUTO, BULK, FIVE, LIKELIHOOD, MIXTURE, PAPER
from experiments.paper_002.printed import BACKGROUNDS, RATE_4, RECALL_4, SERIES, SHARE_4
from scarce.datasets import make_convergence_scores, make_scores, make_trial_scores
from tests.experiments.stored import assert_page, assert_rows

HERE = FOLDER / "paper_002"
PICTURES = (
    "figure1.png",
    "figure2.png",
    "figure3.png",
    "figure4_paper.png",
    "figure4_ours.png",
    "figure5_standins.png",
    "figure5_sets.png",
)


DRAWING = (
    (figures, "draw_information"),
    (figures, "draw_convergence"),
    (figures, "draw_picks"),
    (figures, "draw_performance"),
    (figure_5, "draw_sets"),
)


@pytest.fixture(scope="module")
def cells():
    return json.loads((HERE / "cells.json").read_text())


@pytest.fixture(scope="module")
def stored():
    return frame.read_results(HERE)


# --- information ---------------------------------------------------------------------------------


def plain_information(share, n, events, others, means=(2.0, 3.88)):
    """002 eq 3-5 with cross terms, as plain sums over a fine grid."""
    s = np.linspace(-12.0, 18.0, 30_001)
    step = s[1] - s[0]
    p0, p1 = (stats.norm(mean).pdf(s) for mean in means)
    p = (1 - share) * p0 + share * p1
    zero = np.zeros_like(s)
    own = [np.array([s - m, ((s - m) ** 2 - 1) / 2]) for m in means]  # mean, variance
    event = np.array([zero + 1 / share, zero, zero, *own[1]])
    other = np.array([zero - 1 / (1 - share), *own[0], zero, zero])
    bare = event * (share * p1 / p) + other * ((1 - share) * p0 / p)
    return step * (
        (n - events - others) * (bare * p) @ bare.T
        + events * (event * p1) @ event.T
        + others * (other * p0) @ other.T
    )


@pytest.mark.parametrize("sweep", information.SWEEPS)
def test_figure_1_is_the_plain_sum(sweep):
    found = information.sweep(sweep, 0)
    for at in (1, 7, len(found["x"]) - 1):
        x = found["x"][at]
        share, rate = (x, 0.001) if sweep == "share" else (0.001, x)
        labels = rate * 1e6
        for design, events in (
            ("random", labels * share),
            ("equal-class", min(labels / 2, 1e6 * share)),
        ):
            matrix = plain_information(share, 1e6, events, labels - events)
            joint = 1 / np.diag(np.linalg.inv(matrix))
            for k, name in enumerate(information.PARAMETERS):
                got = found[design]
                assert got["alone"][name][at] == pytest.approx(matrix[k, k], rel=1e-4)
                assert got["joint"][name][at] == pytest.approx(joint[k], rel=1e-3)


@pytest.mark.parametrize("share", [0.3, 0.01])
def test_the_bound_of_figure_2_is_the_plain_sum(share):
    s = np.linspace(-8.0, 14.0, 400_001)
    step = s[1] - s[0]
    p0, p1 = (stats.norm(mean).pdf(s) for mean in (2.0, 3.88))
    p = (1 - share) * p0 + share * p1
    cut = s[np.searchsorted(-np.cumsum(p[::-1])[::-1] * step, -0.05)]
    zero = np.zeros_like(s)
    own = [np.array([s - m, ((s - m) ** 2 - 1) / 2]) for m in (2.0, 3.88)]
    event = np.array([zero + 1 / share, zero, zero, *own[1]])
    other = np.array([zero - 1 / (1 - share), *own[0], zero, zero])
    bare = event * (share * p1 / p) + other * ((1 - share) * p0 / p)
    top = s >= cut
    matrix = (bare * p * ~top) @ bare.T
    matrix += (event * share * p1 * top) @ event.T + (other * (1 - share) * p0 * top) @ other.T
    wanted = np.sqrt(np.diag(np.linalg.inv(1e4 * step * matrix)))
    np.testing.assert_allclose(information.bound(share), wanted, rtol=1e-3)


# --- trials --------------------------------------------------------------------------------------


def test_numbers_survive_json():
    values = [0.25, -np.inf, np.inf, np.nan, 1.23456789e-7]
    again = methods.floats(json.loads(json.dumps(methods.numbers(values), allow_nan=False)))
    np.testing.assert_allclose(again, values, rtol=1e-5)


def test_designs_share_scores_and_label_what_they_say():
    tail, _ = jobs.draw(Design("normal", TAIL, SHARE_4, RATE_4), 3)
    other, _ = jobs.draw(Design("normal", RANDOM, SHARE_4, RATE_4), 3)
    wide, _ = jobs.draw(Design("normal", TAIL, SHARE_4, 1 / 8), 3)
    assert np.array_equal(tail.scores, other.scores)
    assert np.array_equal(tail.scores, wide.scores)
    assert [int((~np.isnan(one.y)).sum()) for one in (tail, other, wide)] == [156, 156, 625]
    assert np.nanmin(np.where(np.isnan(tail.y), np.nan, tail.scores)) >= np.nanmax(
        np.where(np.isnan(tail.y), tail.scores, np.nan)
    )
    assert not np.array_equal(jobs.draw(Design("normal", TAIL, SHARE_4, RATE_4), 4)[0].y, tail.y)


def test_rounds_take_the_scores_nearest_to_even_odds():
    sample = make_scores(1000, positive_share=0.1, random_state=0)
    labels = methods.in_rounds(LIKELIHOOD, sample.scores, sample.y_true, 50)
    seen = ~np.isnan(labels)
    assert seen.sum() == 50
    assert np.array_equal(labels[seen], sample.y_true[seen])
    slow = np.full(sample.scores.size, np.nan)
    for _ in range(methods.ROUNDS):
        doubt = np.abs(
            methods.fitted(LIKELIHOOD, sample.scores, slow).posterior(sample.scores) - 0.5
        )
        doubt[~np.isnan(slow)] = np.inf
        chosen = np.argsort(doubt)[:10]
        slow[chosen] = sample.y_true[chosen]
    assert np.array_equal(np.isnan(slow), ~seen)


def test_a_trial_reads_every_method_at_the_true_thresholds():
    design = Design("normal", TAIL, SHARE_4, RATE_4)
    found = jobs.trial(design.name, 0)
    assert set(found["methods"]) == {PAPER, BULK, LIKELIHOOD, MIXTURE, AUTO}
    sample, _ = jobs.draw(design, 0)
    at = sample.truth.threshold_at_recall(RECALL_4)
    model = methods.fitted(LIKELIHOOD, sample.scores, sample.y)
    assert design.levels[0] == RECALL_4
    assert found["methods"][LIKELIHOOD]["recall"][0] == pytest.approx(
        float(model.recall(at)), rel=1e-5
    )
    events = sample.scores[sample.y_true == 1]
    assert found["realised"][0] == pytest.approx((events >= at).mean(), rel=1e-5)
    assert found["positives"][PAPER] == int((sample.y == 1).sum())


def test_without_labels_of_both_classes_the_paper_begins_as_ours():
    sample = make_scores(500, positive_share=0.1, random_state=0)
    labels = np.full(500, np.nan)
    labels[:20] = 0.0
    found, ours = (methods.fitted(m, sample.scores, labels) for m in (PAPER, BULK))
    assert (found.start, found.positive_share_) == ("bulk", ours.positive_share_)
    labels[np.flatnonzero(sample.y_true == 1.0)[:5]] = 1.0
    assert methods.fitted(PAPER, sample.scores, labels).start == "paper"


def test_a_path_begins_at_the_labels_and_ends_at_the_fit():
    found = jobs.converge("0.01", 0)
    path = np.array(found["paths"][PAPER], dtype=float)
    rng = np.random.default_rng((jobs.SEED, 2, 1, 0))
    sample = make_convergence_scores(10_000, positive_share=0.01, random_state=rng)
    events, others = (sample.scores[sample.y == label] for label in (1.0, 0.0))
    begin = [np.nanmean(sample.y), others.mean(), others.var(), events.mean(), events.var()]
    np.testing.assert_allclose(path[0], begin, rtol=2e-3)
    if found["steps"][PAPER] <= jobs.ITERATIONS[-1]:
        np.testing.assert_allclose(path[-1], found["fits"][PAPER], rtol=1e-5)


def test_a_counted_slope_is_the_chord_of_the_counts(monkeypatch):
    monkeypatch.setattr(jobs, "SLOPE_ROWS", 20_000)
    found = jobs.counted_slope("lognormal", 0)["chord"]
    rng = np.random.default_rng((jobs.SEED, 4, 1, 0))
    sample = make_trial_scores(20_000, background="lognormal", random_state=rng)
    precision, recall, _ = precision_recall_curve(sample.y_true, sample.scores)
    events = sample.y_true.sum()
    ends = [round(wanted * events) / events for wanted in (0.225, 0.275)]
    # where a hit is the last alert, precision is the best at that recall
    high = [precision[np.isclose(recall, end)].max() for end in ends]
    assert found == pytest.approx((high[1] - high[0]) / (ends[1] - ends[0]), rel=1e-4)


# --- sets ----------------------------------------------------------------------------------------


def test_a_curve_is_that_of_scikit_learn():
    rng = np.random.default_rng(0)
    truth = (rng.random(100) < 0.3).astype(float)
    scores = np.round(truth + rng.normal(size=100), 1)  # with ties
    recall, precision = (np.array(part) for part in sets.curve(scores, truth))
    wanted_precision, wanted_recall, _ = precision_recall_curve(truth, scores)
    np.testing.assert_allclose(recall, wanted_recall[:-1][::-1], atol=1e-5)
    np.testing.assert_allclose(precision, wanted_precision[:-1][::-1], atol=1e-5)


def test_a_long_curve_keeps_its_ends():
    rng = np.random.default_rng(1)
    truth = (rng.random(20_000) < 0.02).astype(float)
    recall, precision = (np.array(p) for p in sets.curve(truth + rng.normal(size=20_000), truth))
    assert len(recall) <= 2 * sets.POINTS + 2
    assert recall[-1] == 1.0
    assert precision[-1] == pytest.approx(truth.mean(), rel=1e-5)
    assert (np.diff(recall) >= 0).all()


def test_a_set_is_looked_at_with_its_budget(monkeypatch):
    class Set:
        def __init__(self):
            sample = make_scores(4819, positive_share=0.05, random_state=0)
            self.scores = {"score_iforest": sample.scores}
            self.y = sample.y_true

    monkeypatch.setattr(sets, "table", lambda _: Set())
    monkeypatch.setattr(sets, "DRAWS", 2)
    found = sets.look("wilt, iforest", 0)
    held = Set()
    top = np.argsort(-held.scores["score_iforest"])
    assert (found["labelled"], found["alerts"]) == (150, 75)
    assert found["hits"] == held.y[top[:75]].sum()
    assert found["labelled positives"] == held.y[top[:150]].sum()
    assert found["recall"] == pytest.approx(held.y[top[:75]].sum() / held.y.sum(), rel=1e-5)
    assert sum(found["histogram"]["events"]) == held.y.sum()
    law = found["methods"][LIKELIHOOD]
    low, high = found["histogram"]["range"]
    mass = np.sum(law["densities"]) * (high - low) / (len(law["densities"][0]) - 1)
    assert mass == pytest.approx(1.0, abs=0.01)
    assert len(found["methods"][sets.AUDIT]) == 2
    json.dumps(found, allow_nan=False)


# --- tables and claims ---------------------------------------------------------------------------


def some_records(repeats=3, sets_too=True):
    """Return records of every case with made-up values."""
    rng = np.random.default_rng(0)
    for part, names in jobs.cases().items():
        for case in names:
            if part == "sets" and not sets_too:
                continue
            many = 1 if part in ("sets", "figure 1") else repeats
            for repeat in range(many):
                found = _found(part, case, rng)
                yield Job(part, case, repeat)._asdict() | {"found": found, "seconds": 0.5}


def _found(part, case, rng):
    if part == "figure 1":
        x = list(information.SWEEPS[case])
        rows = {name: [1.0 + k for k in range(len(x))] for name in information.PARAMETERS}
        return {"x": x} | {d: {"alone": rows, "joint": rows} for d in information.DESIGNS}
    if part == "figure 2":
        ends = [float(case), 2.0, 1.0, 3.88, 1.0]
        fits = {fit: (ends + 0.01 * rng.random(5)).tolist() for fit in jobs.CONVERGENCE}
        path = [ends for _ in jobs.ITERATIONS]
        return {"fits": fits, "paths": {PAPER: path}, "steps": {PAPER: 10}}
    if part == "slopes":
        return {"chord": -1.0 - 0.01 * rng.random()}
    if part == "sets":
        return _set_found()
    design = jobs.designs()[case]
    n = len(design.levels)
    held = {
        TAIL: (PAPER, BULK, LIKELIHOOD, MIXTURE, AUTO)
        if design.default
        else (PAPER, BULK, LIKELIHOOD, AUTO),
        RANDOM: (PAPER, BULK, LIKELIHOOD),
        ADAPTIVE: (PAPER, LIKELIHOOD),
    }[design.labels]
    made = {
        method: {
            "share": 0.01,
            "recall": rng.random(n).tolist(),
            "slope": [-1.0] * n,
            **({} if method in (MIXTURE, AUTO) else {"background": "normal", "start": "paper"}),
        }
        for method in held
    }
    seen = {method: 19 for method in held if method not in (MIXTURE, AUTO)}
    return {"realised": [0.25] * n, "positives": seen, "methods": made}


def _set_found():
    curve = [[0.1, 0.5, 1.0], [1.0, 0.8, 0.1]]
    law = {
        "start": "paper", "background": "normal", "share": 0.02, "recall": 0.3,
        "posterior recall": 0.31, "precision": 0.5, "slope": "-inf", "identified": True,
        "densities": [[0.1] * 9, [0.2] * 9], "model curve": curve, "posterior curve": curve,
    }  # fmt: skip
    said = {"recall": 0.3, "low": 0.1, "high": 0.6, "method": "m", "warnings": 0}
    none = {"recall": None, "low": 0.0, "high": 1.0, "method": "m", "warnings": 1}
    return {
        "rows": 1000, "positives": 20, "labelled": 60, "labelled positives": 9, "alerts": 30,
        "hits": 6, "threshold": 0.8, "recall": 0.3, "precision": 0.2, "true curve": curve,
        "histogram": {"range": [0.0, 1.0], "all": [500, 500], "events": [2, 18]},
        "methods": {PAPER: law, LIKELIHOOD: law, FIVE: law, AUTO: said, sets.AUDIT: [said, none]},
    }  # fmt: skip


def test_percentiles_errors_and_shares_by_hand():
    values = np.array([0.1, 0.2, 0.3, np.nan, 0.4])
    assert tables.quantiles(values) == (0.1, 0.2, 0.4)
    assert tables.quantiles(np.array([-np.inf, 0.0, 1.0]))[0] == -np.inf
    found = tables.rmse(values, 0.2)
    squares = np.array([0.01, 0.0, 0.01, 0.04])
    assert found.value == pytest.approx(np.sqrt(squares.mean()))
    assert found.error == pytest.approx(squares.std(ddof=1) / (2 * found.value * 2))
    assert tables.share([True, False, False, False]) == (0.25, math.sqrt(0.25 * 0.75 / 4))
    sd = tables.deviation([1.0, 2.0, 3.0])
    assert sd == pytest.approx((1.0, 1 / math.sqrt(6)))


def test_the_error_of_an_rmse_is_its_scatter():
    rng = np.random.default_rng(0)
    found = [tables.rmse(rng.normal(size=200), 0.0) for _ in range(300)]
    scatter = np.std([each.value for each in found])
    assert np.mean([each.error for each in found]) == pytest.approx(scatter, rel=0.12)


def test_a_summary_by_hand():
    records = list(some_records(4))
    design = Design("normal", TAIL, SHARE_4, RATE_4)
    mine = [r for r in records if r["part"] == "trials" and r["case"] == design.name]
    recalls, slopes = [0.2, None, 0.3, 0.4], [-1.0, -3.0, 0.5, "-inf"]
    for record, recall, slope in zip(mine, recalls, slopes, strict=True):
        record["found"]["methods"][AUTO]["recall"][0] = recall
        record["found"]["methods"][AUTO]["slope"][0] = slope
    mine[0]["found"]["methods"][PAPER]["start"] = "bulk"
    mine[1]["found"]["methods"][PAPER]["background"] = "gamma"
    found = tables.cells_of(reversed(records))  # the order of records does not matter
    got = tables.summary(found, design, AUTO, RECALL_4)
    assert (got.trials, got.refused) == (4, 1)
    assert got.recall == (0.2, 0.3, 0.4)
    assert got.rmse.value == pytest.approx(np.sqrt((0.0025 + 0.0025 + 0.0225) / 3))
    assert got.slope == (-np.inf, -3.0, 0.5)
    assert got.wrong_sign.value == 0.25
    assert got.near.value == 0.25  # the truth is -1.005: only -1 is within a factor of two
    assert tables.picked(found, design, PAPER).value == 0.75
    assert found["trials"][design.name]["methods"][PAPER]["start"] == {"bulk": 1, "paper": 3}


def test_marks_are_missed_when_the_fit_is_bad():
    records = list(some_records())
    good = claims.marks(tables.cells_of(records))
    for record in records:
        if record["part"] == "figure 2" and record["case"] == "0.3":
            record["found"]["fits"][jobs.NO_PRIOR][0] = 0.9
        if record["part"] == "trials":
            for found in record["found"]["methods"].values():
                found["recall"] = [1.0] * len(found["recall"])
                found["slope"] = [1.0] * len(found["slope"])
    bad = claims.marks(tables.cells_of(records))
    assert good[0].verdict == claims.MET
    assert {claim.verdict for claim in bad} == {claims.MISSED}


def test_sentences_turn_with_the_numbers():
    records = list(some_records())
    for record in records:
        if record["part"] == "trials":
            tail = ", tail," in record["case"]
            for found in record["found"]["methods"].values():
                found["recall"] = [0.25 if tail else v for v in found["recall"]]
                if "background" in found:
                    found["background"] = "gamma" if tail else record["case"].split(",")[0]
    verdict = {c.says: c.verdict for c in claims.claims(tables.cells_of(records))}
    hurt = [says for says in verdict if "tail hurt" in says]
    help_ = [says for says in verdict if "tail help" in says]
    assert {verdict[says] for says in hurt} == {claims.HOLDS}
    assert {verdict[says] for says in help_} == {claims.NOT}
    assert all(v == claims.HOLDS for says, v in verdict.items() if "narrower" in says)


# --- page, figures, work -------------------------------------------------------------------------


def test_the_page_and_figures_are_made_from_cells(monkeypatch, tmp_path):
    found = tables.cells_of(some_records())
    results = frame.results_of("paper_002", run.TITLE, run.SEED, comparisons.comparisons(found))
    quantities = [row.quantity for row in results.comparisons]
    assert len(set(quantities)) == len(quantities) > 500
    drawn = []
    monkeypatch.setattr(work, "read", lambda _: {})
    monkeypatch.setattr(tables, "cells_of", lambda _: found)
    for module, name in DRAWING:
        monkeypatch.setattr(module, name, lambda *held, **_: drawn.append(held[-1].name))
    run.write(results, tmp_path, tmp_path)
    assert sorted(drawn) == sorted(PICTURES)
    assert json.loads((tmp_path / "cells.json").read_text()) == found
    text = (tmp_path / "results.md").read_text()
    for block in text.split("\n\n"):
        lines = [line.replace("\\|", "") for line in block.splitlines() if line[0] == "|"]
        assert len({line.count("|") for line in lines}) <= 1
    assert "nan" not in text
    assert all(f"({name})" in text for name in PICTURES)


def test_only_the_jobs_of_a_full_run_are_written(monkeypatch, tmp_path):
    first = jobs.every_job()[0]
    more = Job("slopes", "normal", 10**6)  # of a run with more repeats, on the same file
    written = []

    class Stop(Exception):
        pass

    def cells_of(records):
        written.extend(records)
        raise Stop

    monkeypatch.setattr(work, "read", lambda _: {first: "wanted", more: "not wanted"})
    monkeypatch.setattr(tables, "cells_of", cells_of)
    with pytest.raises(Stop):
        run.write(None, tmp_path, tmp_path)
    assert written == ["wanted"]


def test_pictures_are_drawn(tmp_path):
    found = tables.cells_of(some_records())
    figures.draw_picks(found, tmp_path / "3.png")
    figure_5.draw_sets(found, tuple(SERIES), tmp_path / "5.png")
    for name in ("3.png", "5.png"):
        assert (tmp_path / name).read_bytes().startswith(b"\x89PNG")


def test_without_the_sets_the_rest_is_written():
    found = tables.cells_of(some_records(sets_too=False))
    results = frame.results_of("paper_002", run.TITLE, run.SEED, comparisons.comparisons(found))
    assert "Figure 5" not in page.page_of(results, found)


def test_every_job_is_there_once():
    todo = jobs.every_job()
    assert len(todo) == len(set(todo))
    default = Design("normal", TAIL, SHARE_4, RATE_4)
    assert sum(job.case == default.name for job in todo) >= 150
    assert all(job.cost > 0 for job in todo)
    assert set(jobs.quick_jobs()) <= set(todo)
    assert not any(job.part == "sets" for job in jobs.quick_jobs())


# --- what is stored is what the code makes -------------------------------------------------------


def test_the_page_and_the_numbers_come_from_the_cells(cells, stored):
    assert_rows(comparisons.comparisons(cells), stored.comparisons)
    assert_page(page.page_of(stored, cells), (HERE / "results.md").read_text())


def test_nothing_is_left_out(cells):
    assert list(cells["sets"]) == list(sets.CASES)
    for name, design in jobs.designs().items():
        for found in cells["trials"][name]["methods"].values():
            assert {len(level) for level in found["recall"]} == {design.trials}
    for found in cells["figure 2"].values():
        for ends in found["fits"].values():
            assert {len(values) for values in ends.values()} == {jobs.REPEATS["figure 2"]}


def test_a_trial_gives_its_stored_cells(cells):
    case = Design("normal", TAIL, SHARE_4, RATE_4).name
    held = cells["trials"][case]
    found = jobs.trial(case, 7)
    for method, values in found["methods"].items():
        again = methods.floats(values["recall"])
        before = methods.floats([level[7] for level in held["methods"][method]["recall"]])
        np.testing.assert_allclose(again, before, rtol=1e-3, atol=1e-6)
    before = [level[7] for level in held["realised"]]
    assert found["realised"] == pytest.approx(before, rel=1e-3)  # cells keep four digits


def test_a_set_gives_its_stored_cells(cells, real_data):
    found, held = sets.look("standin29", 0), cells["sets"]["standin29"]
    for method in (PAPER, LIKELIHOOD):
        assert found["methods"][method]["share"] == pytest.approx(
            held["methods"][method]["share"], rel=1e-3
        )
    assert (held["alerts"], held["hits"], held["positives"], held["rows"]) == (12, 5, 7, 1424)


def test_stand_ins_have_the_papers_counts(cells):
    for name, series in SERIES.items():
        held = cells["sets"][name]
        assert (held["rows"], held["labelled"], held["positives"]) == (
            series.rows,
            series.labelled,
            series.positives,
        )
        assert held["labelled positives"] == series.labelled_positives


def test_a_quick_run_agrees_with_the_stored_one(stored, monkeypatch, tmp_path, capsys):
    some = [
        *(Job("slopes", b, r) for b in BACKGROUNDS for r in range(3)),
        Job("figure 1", "rate", 0),
    ]
    monkeypatch.setattr(jobs, "quick_jobs", lambda: some)
    held = {row.quantity: row for row in stored.comparisons}
    quick = runner.run("paper_002", True, tmp_path)
    assert len(quick.comparisons) == 4 + 2 * 2 * 2 * 5
    for row in quick.comparisons:
        error = np.hypot(row.standard_error, held[row.quantity].standard_error)
        assert abs(row.ours - held[row.quantity].ours) <= 4 * error + 1e-6 * abs(row.ours)
        assert (row.paper, row.why) == (held[row.quantity].paper, held[row.quantity].why)
    assert not list(tmp_path.iterdir())


def test_the_slope_of_precision_is_the_closed_form(stored):
    rows = {row.quantity: row for row in stored.comparisons}
    for background, slope in (("normal", -1.005), ("lognormal", -0.230)):
        exact = rows[f"dP/dR at recall .25, {background} background, closed form"]
        counted = rows[f"dP/dR at recall .25, {background} background, counted"]
        assert exact.ours == pytest.approx(slope, abs=5e-4)
        assert counted.ours == pytest.approx(slope, abs=4 * counted.standard_error + 0.01)


def test_our_fit_reaches_its_marks(cells):
    missed = [claim for claim in claims.marks(cells) if claim.verdict != claims.MET]
    assert not missed


def test_stored_figures_are_small():
    for name in PICTURES:
        assert (HERE / name).stat().st_size < 150_000
