"""The contest as an experiment: stored cells, the page made of them, and what they promise."""

import json
import math
from pathlib import Path

import numpy as np
import pytest

from experiments import frame, resume
from experiments import run as runner
from experiments.frame import FOLDER
from experiments.missed_events import contest, contest_page, rankings, run, worlds
from experiments.missed_events.contest_page import ADDED, OURS, PROMISED, WHAT, Rise
from experiments.missed_events.rivals import Answer
from tests.experiments.stored import assert_page, assert_rows

HERE = FOLDER / "missed_events"
WIDTH = 1.05  # of scarce's intervals beside the closest rival's, in the mean of a world


@pytest.fixture(scope="module")
def cells():
    file = HERE / "cells.json"
    if not file.exists():
        pytest.skip(
            "experiments/missed_events/cells.json is not there: python -m experiments.run "
            "missed_events makes it in some hours."
        )
    return json.loads(file.read_text(encoding="utf-8"))


@pytest.fixture
def fast(monkeypatch):
    """Answer at once, in this process, for two worlds and one number of labels."""

    def answer(scores, y_true, threshold, n, rng):
        return Answer(0.3, 0.1, 0.5 + 0.1 * rng.random(), 90.0, 40.0, 160.0)

    monkeypatch.setattr(contest, "methods", lambda: dict.fromkeys((OURS, "SRS, exact"), answer))
    monkeypatch.setattr(contest, "cases", lambda: ["normal", "deep apart"])
    monkeypatch.setattr(contest, "LABELS", (25,))
    monkeypatch.setattr(contest, "repeats_of", lambda case: 2 * contest.BLOCK)
    monkeypatch.setattr(contest, "BLOCK", 2)
    monkeypatch.setattr(resume, "WORKERS", None)
    monkeypatch.setattr(rankings, "absent", lambda: ["Nothing is there."])


def one_cell(method, width, *, cover=0.9, error=0.01, case="normal", n=25):
    found = {"cover": cover, "cover_error": error, "width": width, "width_error": 0.02 * width}
    return {"case": case, "n": n, "method": method, "batches": 40, "milliseconds": 1.0} | {
        name: dict(found) for name in WHAT
    }


# --- what is stored -------------------------------------------------------------------------------


def test_stored_page_and_rows_are_made_from_the_stored_cells(cells):
    stored = frame.read_results(HERE)
    assert_rows(contest_page.comparisons(cells), stored.comparisons)
    page = (HERE / "results.md").read_text(encoding="utf-8")
    assert_page(contest_page.page_of(cells, stored), page)
    assert (stored.title, stored.seed, stored.name) == (run.TITLE, run.SEED, "missed_events")


def test_every_simulated_world_is_stored_with_every_number_of_labels(cells):
    held = {(cell["case"], cell["n"]) for cell in cells if cell["method"] == OURS}
    assert held >= {(case, n) for case in worlds.NAMES for n in contest.LABELS}


def test_a_quick_run_agrees_with_the_stored_cells(cells, tmp_path, capsys):
    stored = {row.quantity: row for row in frame.read_results(HERE).comparisons}
    quick = runner.run("missed_events", quick=True, work=tmp_path)
    assert not list(tmp_path.iterdir())
    assert len(quick.comparisons) == 10
    for new in quick.comparisons:
        old = stored[new.quantity]
        assert (old.paper, old.why) == (new.paper, new.why)
        error = math.hypot(old.standard_error, new.standard_error)
        assert abs(old.ours - new.ours) <= 4 * error + 1e-9, new.quantity
    assert "jobs of 20 repeats" in capsys.readouterr().err


# --- what is promised -----------------------------------------------------------------------------


@pytest.mark.parametrize("name", WHAT)
def test_stored_coverage_is_what_is_promised(cells, name):
    """Within two standard errors, where labels are right; the guide names the one that is not."""
    below = {
        (cell["case"], cell["n"])
        for cell in cells
        if cell["method"] == OURS
        and cell["case"] not in worlds.WRONG
        and contest_page.short(cell, name, PROMISED)
    }
    assert below <= {("deep apart", 400)}


def test_stored_widths_are_not_above_those_of_the_closest_rival(cells):
    for case in dict.fromkeys(cell["case"] for cell in cells):
        ratio = contest_page.mean_ratio(cells, OURS, contest_page.CLOSEST, case)
        assert ratio is None or ratio <= WIDTH, case


def test_stored_widths_are_below_those_of_an_even_draw(cells):
    assert contest_page.mean_ratio(cells, OURS, contest_page.REFERENCE) < 0.9


# --- assumptions ----------------------------------------------------------------------------------


def test_worlds_in_which_precision_rises_are_found():
    rising = {name for name in worlds.NAMES if contest_page.rises(name)}
    assert {*ADDED, "clump middle", "clump deep", "just below", "Cauchy", "sd 3"} <= rising
    assert not rising & {"normal", "ties 20", "A", "H", "many seen", "30 % events", "1e-4 in 1e6"}


def test_a_rise_agrees_with_a_large_draw():
    """The strata of 100 checks, and the events of 30 batches in them."""
    rise = contest_page.rises("deep apart")
    rng = np.random.default_rng(3)
    drawn = [worlds.draw("deep apart", rng) for _ in range(30)]
    assert rise.missed == pytest.approx(np.mean([world.missed for world in drawn]), rel=0.05)
    deepest = []
    for world in drawn:
        ranked = world.y_true[np.argsort(-world.scores)][world.alarms.sum() :]
        ends = contest_page.stratum_ends(len(ranked), 100, contest_page.STRATA)
        deepest.append(ranked[ends[-2] :].mean())
    assert rise.low == pytest.approx(np.mean(deepest), rel=0.1)


def test_what_a_case_breaks_is_said():
    assert "Labels are wrong" in contest_page.broken("5 % wrong")
    assert "Precision rises" in contest_page.broken("deep apart")
    assert contest_page.broken("normal") == contest_page.broken("text web") == ""


def test_the_page_names_broken_and_added_worlds(monkeypatch):
    monkeypatch.setattr(contest_page, "rises", lambda name: Rise(0.1, 0.2, 7.0, 50.0))
    text = "\n".join(contest_page.assumptions(["deep apart", "5 % wrong", "crashes logit"]))
    assert "| deep apart | 0.1 | 0.2 | 7 | 50 |" in text
    assert "how often, in 5 % wrong." in text
    assert "looked at: deep apart." in text
    assert "known about this: crashes logit." in text


# --- rows and summary -----------------------------------------------------------------------------


def test_rows_hold_coverage_width_and_ratios():
    cells = [one_cell(OURS, 0.3), one_cell("SRS, exact", 0.6), one_cell("Neyman, monotone", 0.3)]
    rows = {row.quantity: row for row in contest_page.comparisons(cells)}
    assert rows["normal, 25 labels: coverage of recall"].ours == 0.9
    assert rows["normal, 25 labels: coverage of missed events"].standard_error == 0.01
    assert rows["normal, 25 labels: width of recall"].standard_error == pytest.approx(0.006)
    ratio = rows["normal, 25 labels: width over that of SRS, exact"]
    assert (ratio.ours, ratio.repeats, ratio.paper) == (0.5, 40, None)
    assert ratio.standard_error == pytest.approx(0.5 * 0.02 * math.sqrt(2))
    assert rows["normal, 25 labels: width over that of Neyman, monotone"].ours == 1.0
    assert all(row.why for row in rows.values())


def test_a_width_without_a_bound_has_no_row_and_no_ratio():
    cells = [one_cell(OURS, 0.3), one_cell("SRS, exact", 0.6)]
    del cells[0]["recall"]["width"]
    assert len(contest_page.comparisons(cells)) == 2
    assert contest_page.mean_ratio(cells, OURS, "SRS, exact") is None


def test_mean_ratios_are_geometric_and_of_one_case_where_asked():
    cells = [one_cell(OURS, 0.2), one_cell("SRS, exact", 0.4)]
    cells += [one_cell(OURS, 0.4, case="A"), one_cell("SRS, exact", 0.2, case="A")]
    assert contest_page.mean_ratio(cells, OURS, "SRS, exact") == pytest.approx(1.0)
    assert contest_page.mean_ratio(cells, OURS, "SRS, exact", "A") == pytest.approx(2.0)


def test_cells_that_fall_short_are_counted_and_named():
    cells = [one_cell(OURS, 0.3, cover=cover, n=n) for cover, n in ((0.85, 25), (0.87, 50))]
    cells.append(one_cell(OURS, 0.3, cover=0.89, n=0))
    line = contest_page.summary(cells, [OURS])[2]
    assert line.startswith("| scarce | 3 | 40 | 1 | 2 | 0.850 |")
    assert contest_page.named(cells, [OURS], "missed") == [
        "- scarce, below .88: normal (25).",
        "- scarce, below .90: normal (25, 50).",
    ]


# --- the runner -----------------------------------------------------------------------------------


def test_a_quick_run_is_part_of_a_full_one():
    todo = run.quick_jobs()
    assert {(job.case, job.n) for job in todo} == {("normal", 50), ("bimodal", 50)}
    assert {job.block for job in todo} == {0}
    for case in ("normal", "bimodal"):
        assert set(todo) & set(contest.jobs_of([case], list(contest.methods()), contest.LABELS))


def test_a_full_run_goes_on_and_writes(fast, monkeypatch, tmp_path):
    lines = []
    found = run.run(False, lines.append, tmp_path / "work")
    assert "Nothing is there." in lines
    assert len(found) == 2 * 4  # two kinds of coverage, a width, a ratio
    results = frame.results_of("missed_events", run.TITLE, run.SEED, found)
    monkeypatch.setattr(contest, "batch_of", lambda *_: pytest.fail("did it again"))
    run.write(results, tmp_path, tmp_path / "work")
    assert frame.read_results(tmp_path) == results
    cells = json.loads((tmp_path / "cells.json").read_text(encoding="utf-8"))
    assert contest_page.comparisons(cells) == found
    page = (tmp_path / "results.md").read_text(encoding="utf-8")
    assert page == contest_page.page_of(cells, results)
    assert results.command in page
    assert run.run(False, lines.append, tmp_path / "work") == found


def test_records_of_other_code_are_not_taken_over(tmp_path: Path):
    """Those of rivals outlive a change of scarce's limits, not one of worlds or rivals."""
    for work in (contest._WORK, contest._RIVALS):
        assert {path.name for path in work.own} >= {"worlds.py", "rivals.py", "contest.py"}
    assert contest._WORK.work_file(tmp_path) != contest._RIVALS.work_file(tmp_path)
    assert contest._WORK.code == ("missed/*", "missed/mixture/*")
