"""The demo: writes the files that it promises, tells the truth, and says when a figure is off."""

import json
import re
import subprocess
import sys
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import numpy as np
import pyarrow.csv as pacsv
import pyarrow.parquet as pq
import pytest
from click.testing import CliRunner
from scipy.special import expit, ndtr
from sklearn.linear_model import LogisticRegression

import scarce
from scarce import CostMatrix, Estimate, load, open_rows
from scarce.cli.demo import alerts, fraud, wildlife
from scarce.cli.main import scarce as command

FEATURES = ["amount", "hour", "distance", "age", "tempo", "device"]
OWN = [*fraud.FILES, *wildlife.FILES, *alerts.FILES, "demo.html", "demo.json"]


def run(*arguments, code=0):
    result = CliRunner().invoke(command, ["demo", *map(str, arguments)])
    assert result.exit_code == code, result.output
    return result


def small(*arguments, code=0):
    return run("--rows", 2000, *arguments, code=code)


@pytest.fixture(scope="module")
def told(tmp_path_factory):
    """The demo as it is run by default: its folder, its figures, what it printed."""
    folder = tmp_path_factory.mktemp("demo") / "demo"
    result = run("--out", folder, "--json")
    return folder, json.loads(result.stdout)["result"], result.stderr


def table(folder, name):
    read = pq.read_table if name.endswith(".parquet") else pacsv.read_csv
    return read(folder / name)


def columns(folder, name):
    held = table(folder, name)
    return {key: held[key].to_numpy(zero_copy_only=False) for key in held.column_names}


# --- the files ------------------------------------------------------------------------------------


def test_the_folder_holds_what_the_examples_need(told):
    folder, figures, _ = told
    assert sorted(path.name for path in folder.iterdir()) == sorted(OWN)
    assert {Path(name).name for name in figures["files"]} == set(OWN)
    tables = [name for name in OWN if name.endswith((".csv", ".parquet"))]
    names = {name: table(folder, name).column_names for name in tables}
    assert names["train.csv"] == names["test.csv"] == ["id", *FEATURES, "fraud"]
    assert names["new.parquet"] == ["id", *FEATURES]
    assert names["p.csv"] == ["id", "amount", "prob", "fraud"]
    assert names["scores.csv"] == ["id", "score", "label", "week"]
    assert names["truth.csv"] == ["id", "label"]
    assert names["sightings.csv"] == ["site", *wildlife.NAMES, "seen"]


def test_payments_are_whole_and_train_keeps_every_tenth_honest_one(told):
    folder, figures, _ = told
    train, test, new = (columns(folder, n) for n in ("train.csv", "test.csv", "new.parquet"))
    for held in (train, test, new):
        assert all(np.isfinite(values).all() for values in held.values())
        assert len(set(held["id"])) == len(held["id"])
        assert held["amount"].min() > 0
        assert held["distance"].min() >= 0
        assert held["age"].min() >= 0
        assert held["hour"].min() >= 0
        assert held["hour"].max() < 24
        assert set(held["device"]) == {0, 1}
    assert set(train["fraud"]) == set(test["fraud"]) == {0, 1}
    assert len(test["id"]) == 40_000
    frauds = int(train["fraud"].sum())
    honest = len(train["id"]) - frauds
    assert honest == (40_000 - frauds) // 10
    story = figures["stories"]["fraud"]
    assert story["trained_at"] == pytest.approx(frauds / len(train["id"]))
    assert story["now_at"] == pytest.approx(frauds / (frauds + 10 * honest))


def test_a_logistic_regression_finds_the_effects_that_the_story_claims(told):
    test = columns(told[0], "test.csv")
    X, y = np.column_stack([test[name] for name in FEATURES]).astype(float), test["fraud"]
    spread = X.std(axis=0)
    model = LogisticRegression(C=np.inf, tol=1e-8, max_iter=1000).fit(X / spread, y)
    prob = model.predict_proba(X / spread)[:, 1]
    design = np.column_stack([X / spread, np.ones(len(X))])
    error = np.sqrt(np.diag(np.linalg.inv((design.T * (prob * (1 - prob))) @ design)))[:-1]
    effects = np.array([fraud.EFFECTS[name] for name in FEATURES])
    assert np.all(abs(model.coef_[0] - effects * spread) < 4 * error)
    assert np.all(abs(effects * spread) > 4 * error)  # and none of them is lost in the noise


def test_p_csv_is_what_the_model_file_says_of_test_csv(told):
    folder, figures, _ = told
    model, test, given = load(folder / "m.scarce"), columns(folder, "test.csv"), None
    assert list(model.feature_names_in_) == FEATURES
    given = columns(folder, "p.csv")
    rows = open_rows(folder / "test.csv", columns=FEATURES)
    np.testing.assert_allclose(given["prob"], model.predict_proba(rows)[:, 1], rtol=1e-12)
    for name in ("id", "amount", "fraud"):
        np.testing.assert_array_equal(given[name], test[name])
    story = figures["stories"]["fraud"]
    assert story["sides"]["as trained"]["mean"] == pytest.approx(given["prob"].mean())


def test_the_cost_file_holds_the_costs_of_the_story(told):
    costs = CostMatrix.read(told[0] / "costs.toml")
    np.testing.assert_array_equal(costs.costs, [[0, 400], [5, 0], [3, 3]])


def test_labels_of_scores_are_there_from_the_threshold_up_only(told):
    folder, figures, _ = told
    scores, truth = columns(folder, "scores.csv"), columns(folder, "truth.csv")
    np.testing.assert_array_equal(scores["id"], truth["id"])
    np.testing.assert_array_equal(
        scores["label"], np.where(scores["score"] >= 2.5, truth["label"], np.nan)
    )
    assert [int((scores["week"] == week).sum()) for week in (1, 2, 3, 4)] == [2000] * 4
    missed = int(truth["label"][scores["score"] < 2.5].sum())
    story = figures["stories"]["alerts"]
    assert story["truth"]["missed"] == missed
    expected = 8000 * 0.03 * ndtr(0.5)  # events score N(2, 1)
    assert abs(missed - expected) < 4 * np.sqrt(expected)


def test_sightings_have_holes_and_come_from_where_the_animal_lives(told):
    folder, figures, _ = told
    held = columns(folder, "sightings.csv")
    assert set(held["seen"][~np.isnan(held["seen"])]) == {1.0}
    for name in wildlife.NAMES:
        assert np.isnan(held[name]).mean() == pytest.approx(0.25, abs=0.03)
    seen = held["seen"] == 1
    assert figures["stories"]["wildlife"]["sightings"] == seen.sum()
    # a normal law times a bell is a normal law: the temperatures where the animal lives
    weight = 1 / 36 + 2 / 25
    mean = (14 / 36 + 18 * 2 / 25) / weight
    warm = held["temperature"][seen & ~np.isnan(held["temperature"])]
    assert abs(warm.mean() - mean) < 4 / np.sqrt(weight * len(warm))


# --- the figures ----------------------------------------------------------------------------------


def test_corrected_probabilities_are_near_the_truth(told):
    story = told[1]["stories"]["fraud"]
    sides, ways = story["sides"], story["decisions"]
    loss = {name: side["log_loss"] for name, side in sides.items()}
    assert loss["prior corrected"]["high"] < loss["as trained"]["low"]
    assert loss["prior corrected"]["high"] < loss["constant"]["low"]
    assert abs(loss["prior corrected"]["value"] - loss["true probabilities"]["value"]) < 0.002
    assert sides["as trained"]["mean"] > 4 * story["happened"]
    order = ("likelier class", "cheapest, no asking", "cheapest or ask", "best possible")
    true = [ways[name]["true_cost"] for name in order]
    assert true == sorted(true, reverse=True)
    for way in ways.values():
        assert way["mean_cost"]["low"] < way["true_cost"] < way["mean_cost"]["high"]


def test_costs_are_those_of_a_plain_count(told):
    folder, figures, _ = told
    given, story = columns(folder, "p.csv"), figures["stories"]["fraud"]
    odds = given["prob"] / (1 - given["prob"])
    odds *= (story["now_at"] / (1 - story["now_at"])) * (1 / story["trained_at"] - 1)
    prob, event = odds / (1 + odds), given["fraud"] == 1
    stop, ask = prob > 0.4, (prob > 3 / 400) & (prob <= 0.4)
    way = story["decisions"]["cheapest or ask"]
    missed = event & ~stop & ~ask
    assert [way["stopped"], way["asked"], way["missed"]] == [stop.sum(), ask.sum(), missed.sum()]
    cost = 5 * (stop & ~event).sum() + 3 * ask.sum() + 400 * missed.sum()
    assert way["mean_cost"]["value"] == pytest.approx(cost / len(prob))


def test_true_probabilities_are_those_of_the_written_columns(told):
    folder, figures, _ = told
    test = columns(folder, "test.csv")
    score = sum(effect * test[name] for name, effect in fraud.EFFECTS.items())
    prob = expit(score + _level(score))
    side = figures["stories"]["fraud"]["sides"]["true probabilities"]
    assert side["mean"] == pytest.approx(prob.mean(), rel=0.02)
    loss = -np.mean(np.where(test["fraud"] == 1, np.log(prob), np.log1p(-prob)))
    assert side["log_loss"]["value"] == pytest.approx(loss, abs=2e-4)


def _level(score):
    """Find the level at which 1.5 % are frauds, by halving."""
    low, high = -60.0, 60.0
    for _ in range(80):
        middle = (low + high) / 2
        low, high = (low, middle) if expit(score + middle).mean() > 0.015 else (middle, high)
    return low


def test_maxent_keeps_the_share_and_follows_the_curve(told):
    story = told[1]["stories"]["wildlife"]
    lines, curves, moved, maxent, true = (
        story["sides"][name]
        for name in (
            "not seen = absent, lines",
            "not seen = absent, curves",
            "  the same, survey's share",
            "maxent, survey's share",
            "true probabilities",
        )
    )
    assert maxent["mean"] == pytest.approx(story["surveyed_share"], rel=0.1)
    assert curves["mean"] < 0.3 * story["happened"]
    assert lines["auc"]["value"] + 0.03 < maxent["auc"]["value"] < true["auc"]["value"]
    assert maxent["log_loss"]["value"] < moved["log_loss"]["value"] < curves["log_loss"]["value"]
    for curve in story["response"].values():
        assert np.mean(curve["truth"]) == pytest.approx(1.0, abs=0.1)
        assert curve["off"] == pytest.approx(np.abs(np.subtract(curve["y"], curve["truth"])).mean())


def test_both_intervals_hold_what_was_missed(told):
    story = told[1]["stories"]["alerts"]
    alone, audited = story["sides"]["alerts alone"], story["sides"]["with 100 checks"]
    for found in (alone, audited):
        assert found["missed"]["low"] <= story["truth"]["missed"] <= found["missed"]["high"]
        assert found["recall"]["low"] <= story["truth"]["recall"] <= found["recall"]["high"]
    assert audited["missed"]["low"] > 0
    assert audited["counts"]["labelled_below"] == 100
    assert alone["counts"]["labelled_below"] == 0


def test_every_figure_is_held_to_a_range_with_a_reason(told):
    _, figures, words = told
    assert figures["checked"]
    assert len(figures["checks"]) == 16
    assert all(check["holds"] and len(check["why"]) > 10 for check in figures["checks"])
    assert {check["name"].split(":")[0] for check in figures["checks"]} == set(figures["stories"])
    assert "All 16 figures" in words


# --- when a step is broken ------------------------------------------------------------------------


def test_a_correction_that_does_nothing_is_noticed(tmp_path, monkeypatch):
    monkeypatch.setattr(scarce, "correct_prior", lambda prob, trained_at, now_at: prob)
    result = run("--rows", 20_000, "--story", "fraud", "--out", tmp_path, code=4)
    assert "corrected mean probability over what happened is" in result.stderr
    assert "run scarce doctor" in result.stderr
    result = run("--rows", 20_000, "--story", "fraud", "--out", tmp_path, "--json", code=4)
    answer = json.loads(result.stdout)  # one object, not two
    assert not answer["ok"]
    assert any(not check["holds"] for check in answer["result"]["checks"])


def test_a_model_without_curves_is_noticed(tmp_path, monkeypatch):
    honest = scarce.MaxentClassifier
    monkeypatch.setattr(
        scarce, "MaxentClassifier", lambda *args, **more: honest(*args, features="l", **more)
    )
    result = run("--rows", 20_000, "--story", "wildlife", "--out", tmp_path, code=4)
    assert "temperature curve is" in result.stderr


@pytest.mark.parametrize("missed", [Estimate(20, 0, 40), Estimate(900, 800, 1000)])
def test_an_estimate_that_is_off_is_noticed(tmp_path, monkeypatch, missed):
    honest = scarce.estimate_performance
    monkeypatch.setattr(
        scarce,
        "estimate_performance",
        lambda *args, **more: replace(honest(*args, **more), missed=missed),
    )
    result = run("--rows", 20_000, "--story", "alerts", "--out", tmp_path, code=4)
    assert "with checks is" in result.stderr


def test_few_rows_are_not_held_to_the_ranges(tmp_path, monkeypatch):
    monkeypatch.setattr(scarce, "correct_prior", lambda prob, trained_at, now_at: prob)
    result = small("--story", "fraud", "--out", tmp_path, "--json")
    assert json.loads(result.stdout)["result"]["checked"] is False
    assert "from --rows 20000 on" in result.stderr


# --- what a reader sees ---------------------------------------------------------------------------


def test_it_fits_a_terminal(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    result = run()
    lines = result.output.splitlines()
    assert len(lines) < 45
    assert max(map(len, lines)) <= 80
    assert {line.split()[0] for line in result.stdout.splitlines() if line[:1].isupper()} >= {
        "FRAUD",
        "WILDLIFE",
        "ALERTS",
    }
    assert "demo/demo.html" in result.stderr
    assert (tmp_path / "demo" / "demo.html").is_file()


def test_the_report_is_one_page_with_the_same_figures(told):
    folder, figures, _ = told
    page = (folder / "demo.html").read_text(encoding="utf-8")
    held = json.loads(
        re.search(r'<script[^>]*id="scarce-report"[^>]*>(.*?)</script>', page, re.S)[1]
    )
    text = json.dumps(held)
    assert json.dumps(figures["stories"]["alerts"]["truth"]["recall"]) in text
    assert page.count("<svg") >= 5
    assert not re.search(r'(src|href)="https?:', page)
    for title in ("Fraud: rare", "Wildlife: sightings", "Alerts: how many"):
        assert title in page
    assert len(page) < 400_000


def test_what_it_proposes_to_try_next_works(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    words = small("--out", "here").stderr.splitlines()
    start = words.index("Try next:") + 1
    proposed = list(takewhile(lambda line: line.startswith("  "), words[start:]))
    assert proposed[0] == "  cd here"
    assert len(proposed) == 5
    monkeypatch.chdir(tmp_path / "here")
    for line in proposed[1:]:
        result = CliRunner().invoke(command, line.split()[1:])
        assert result.exit_code == 0, f"{line}\n{result.output}"


def test_help_is_quick():
    code = (
        "import scarce.cli.demo, sys; sys.exit('numpy' in sys.modules or 'pyarrow' in sys.modules)"
    )
    assert subprocess.run([sys.executable, "-c", code], check=False).returncode == 0


# --- again, and elsewhere -------------------------------------------------------------------------


def test_the_same_seed_gives_the_same_files(tmp_path):
    for name, seed in (("a", 1), ("b", 1), ("c", 2)):
        small("--out", tmp_path / name, "--seed", seed, *(["--threads", 2] if name == "b" else []))
    for name in OWN:
        first, again, other = ((tmp_path / part / name).read_bytes() for part in "abc")
        if name not in ("m.scarce", "demo.json", "demo.html"):  # these tell seconds, or the folder
            assert first == again, name
        assert first != other or name == "costs.toml"
    first, again, other = (
        json.loads((tmp_path / part / "demo.json").read_text())["figures"]["stories"]
        for part in "abc"
    )
    assert first == again
    assert first != other


def test_one_story_writes_its_own_files_only(tmp_path):
    small("--story", "wildlife", "--out", tmp_path / "w")
    assert sorted(path.name for path in (tmp_path / "w").iterdir()) == [
        "demo.html",
        "demo.json",
        "sightings.csv",
    ]


def test_it_replaces_its_own_files_and_nothing_else(tmp_path):
    small("--story", "alerts", "--out", tmp_path)
    before = (tmp_path / "scores.csv").read_bytes()
    (tmp_path / "notes.txt").write_text("mine")
    small("--story", "alerts", "--out", tmp_path, "--seed", 5)
    assert (tmp_path / "scores.csv").read_bytes() != before
    assert (tmp_path / "notes.txt").read_text() == "mine"
    for path in tmp_path.glob("*.csv"):
        path.unlink()
    small("--story", "alerts", "--out", tmp_path)  # without its files the folder is still its own
    assert (tmp_path / "scores.csv").read_bytes() == before


@pytest.mark.parametrize("changed", [True, False])
def test_files_of_somebody_else_are_refused_before_anything_is_written(tmp_path, changed):
    if changed:  # by the reader, after the demo
        small("--story", "alerts", "--out", tmp_path)
        (tmp_path / "demo.html").unlink()
    (tmp_path / "truth.csv").write_text("mine")
    before = {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()}
    result = small("--story", "alerts", "--out", tmp_path, code=2)
    assert "holds truth.csv" in result.stderr
    assert "--force" in result.stderr
    assert {path.name: path.stat().st_mtime_ns for path in tmp_path.iterdir()} == before
    small("--story", "alerts", "--out", tmp_path, "--force")
    assert (tmp_path / "truth.csv").read_text().startswith("id,label")


@pytest.mark.parametrize("record", ["mine", "[]", '{"files": 3}', '{"files": {}}'])
def test_a_foreign_record_is_refused(tmp_path, record):
    (tmp_path / "demo.json").write_text(record)
    assert "holds demo.json" in small("--out", tmp_path, code=2).stderr
    assert (tmp_path / "demo.json").read_text() == record


def test_an_interrupted_demo_can_be_run_again(tmp_path, monkeypatch):
    def interrupted(*_, **__):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(alerts, "tell", interrupted)
        small("--out", tmp_path, code=130)
    assert (tmp_path / "sightings.csv").is_file()
    assert not (tmp_path / "demo.html").exists()
    small("--out", tmp_path)


def test_a_file_is_no_folder(tmp_path):
    (tmp_path / "demo").write_text("")
    assert "[not-a-folder]" in small("--out", tmp_path / "demo", code=2).stderr
    assert "[folder-not-made]" in small("--out", tmp_path / "demo" / "deeper", code=2).stderr
