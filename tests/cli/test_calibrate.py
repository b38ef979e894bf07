"""`scarce calibrate`: what the library finds, in a model file or a table, and nothing half-done."""

from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pyarrow.csv as pacsv
import pytest
from click.testing import CliRunner, Result
from scipy.special import expit

from scarce import GaussianBayes, calibrate, load, log_loss, open_rows, save
from scarce.cli.main import scarce
from scarce.prior.calibrate import calibrate_left_out


def run(*args: object, **more) -> Result:
    return CliRunner().invoke(scarce, ["calibrate", *map(str, args)], prog_name="scarce", **more)


def result(*args: object) -> dict:
    done = run(*args, "--json")
    assert done.exit_code == 0, done.output
    return json.loads(done.stdout)["result"]


@pytest.fixture
def here(tmp_path, monkeypatch, rng):
    """A table of probabilities that are too sure, a model that is, and tables for it."""
    said = rng.normal(-3, 2, 900)
    y = (rng.random(900) < expit(0.5 * said - 0.5)).astype(int)
    held = {"id": np.arange(900), "prob": expit(said), "fraud": y}
    pacsv.write_csv(pa.table(held), tmp_path / "p.csv")
    x = rng.normal(size=1200)
    X = np.column_stack([x, x, x, rng.normal(size=1200)])
    happened = (rng.random(1200) < expit(1.2 * x - 2)).astype(int)
    table = pa.table({**{name: X[:, j] for j, name in enumerate("abcd")}, "fraud": happened})
    pacsv.write_csv(table.slice(0, 600), tmp_path / "train.csv")
    pacsv.write_csv(table.slice(600), tmp_path / "cal.csv")
    model = GaussianBayes("diag", calibrate=False).fit(
        open_rows(tmp_path / "train.csv", label="fraud")
    )
    save(model, tmp_path / "m.scarce")
    monkeypatch.chdir(tmp_path)
    return held


def read(name: str) -> dict:
    return pacsv.read_csv(name).to_pydict()


def test_a_table_gets_the_map_of_the_library(here):
    found = result("p.csv", "--label", "fraud", "--out", "q.csv")
    direct, left_out = calibrate_left_out(here["fraud"], here["prob"])
    assert (found["method"], found["rows"], found["written"]) == (direct.method, 900, 900)
    assert found["before"]["value"] == pytest.approx(log_loss(here["fraud"], here["prob"]).value)
    assert found["after"]["value"] == pytest.approx(log_loss(here["fraud"], left_out).value)
    assert found["gain"]["low"] > 0
    assert found["comparison"]["auto"]["log_loss"] == pytest.approx(found["after"]["value"])
    written = read("q.csv")
    np.testing.assert_allclose(written["prob"], direct.apply(here["prob"]), rtol=1e-12)
    np.testing.assert_allclose(written["before_prob"], here["prob"], rtol=1e-12)
    assert written["id"] == here["id"].tolist()


def test_new_rows_and_a_column_of_another_name(here):
    pacsv.write_csv(pa.table({"prob": [0.0, 0.1, 0.9]}), "new.csv")
    words = ("p.csv", "--label", "fraud", "--method", "platt", "--new", "new.csv")
    result(*words, "--as", "cal", "--out", "q.csv")
    direct = calibrate(here["fraud"], here["prob"], method="platt")
    written = read("q.csv")
    assert written["prob"] == [0.0, 0.1, 0.9]
    np.testing.assert_allclose(written["cal"], direct.apply([0.0, 0.1, 0.9]), rtol=1e-12)
    again = run(*words, "--as", "prob", "--out", "r.csv", "--json")
    assert json.loads(again.stdout)["error"]["code"] == "column-exists"


def test_rows_without_an_outcome_are_calibrated_by_the_others(here):
    y = [None if i % 3 == 0 else int(v) for i, v in enumerate(here["fraud"])]
    pacsv.write_csv(pa.table({"prob": here["prob"], "fraud": pa.array(y, pa.int64())}), "u.csv")
    found = result("u.csv", "--label", "fraud", "--out", "q.csv")
    assert (found["rows"], found["unlabelled"], found["written"]) == (600, 300, 900)
    known = np.arange(900) % 3 != 0
    direct = calibrate(here["fraud"][known], here["prob"][known])
    np.testing.assert_allclose(read("q.csv")["prob"], direct.apply(here["prob"]), rtol=1e-9)


def test_a_model_becomes_a_calibrated_model(here):
    found = result("m.scarce", "cal.csv", "--label", "fraud", "--out", "m2.scarce")
    assert found["method"] != "none"
    model, inner = load("m2.scarce"), load("m.scarce")
    rows = open_rows("cal.csv", label="fraud")
    y = rows.labels()
    direct = calibrate(y, inner.predict_proba(rows)[:, 1])
    said = model.predict_proba(rows)[:, 1]
    np.testing.assert_allclose(said, direct.apply(inner.predict_proba(rows)[:, 1]), rtol=1e-9)
    assert said.mean() == pytest.approx(y.mean(), rel=0.01)
    assert model.chosen_ == found["method"]
    predicted = CliRunner().invoke(
        scarce, ["predict", "m2.scarce", "cal.csv", "--out", "p2.csv"], prog_name="scarce"
    )
    assert predicted.exit_code == 0
    np.testing.assert_allclose(read("p2.csv")["prob"], said, rtol=1e-9)


def test_the_rows_that_a_model_was_fitted_to_are_refused(here):
    done = run("m.scarce", "train.csv", "--label", "fraud", "--out", "m2.scarce", "--json")
    assert json.loads(done.stdout)["error"]["code"] == "training-rows"
    with pytest.raises(FileNotFoundError):
        open("m2.scarce", "rb").close()


def test_few_events_change_nothing_and_are_said(here):
    keep = np.append(np.flatnonzero(here["fraud"] == 0), np.flatnonzero(here["fraud"] == 1)[:3])
    few = {name: values[keep] for name, values in here.items()}
    pacsv.write_csv(pa.table(few), "few.csv")
    done = run("few.csv", "--label", "fraud", "--out", "q.csv")
    assert done.exit_code == 0
    assert "[few-events]" in done.stderr
    np.testing.assert_array_equal(read("q.csv")["prob"], read("q.csv")["before_prob"])


@pytest.mark.parametrize(
    ("words", "code"),
    [
        (("m.scarce", "cal.csv", "--label", "fraud"), "no-output-file"),
        (("m.scarce", "cal.csv", "--label", "fraud", "--out", "q.csv"), "model-file-name"),
        (("m.scarce", "cal.csv", "--label", "fraud", "--as", "x", "--out", "q.scarce"),
         "argument-conflict"),
        (("p.csv", "--out", "q.csv"), "no-label-column"),
    ],
)  # fmt: skip
def test_what_cannot_work_is_refused_and_nothing_is_written(here, words, code):
    done = run(*words, "--json")
    assert done.exit_code in (2, 3)
    assert json.loads(done.stdout)["error"]["code"] == code
    with pytest.raises(FileNotFoundError):
        open(words[-1] if words[-2] == "--out" else "m2.scarce", "rb").close()


def test_a_dry_run_writes_nothing_and_a_pipe_needs_new_rows(here, tmp_path):
    before = sorted(tmp_path.iterdir())
    assert run("p.csv", "--label", "fraud", "--out", "q.csv", "--dry-run").exit_code == 0
    text = (tmp_path / "p.csv").read_text()
    done = run("--label", "fraud", "--json", "--out", "q.csv", input=text)
    assert json.loads(done.stdout)["error"]["code"] == "argument-conflict"
    assert sorted(tmp_path.iterdir()) == before
    assert (
        run("-", "--label", "fraud", "--new", "p.csv", "--out", "q.csv", input=text).exit_code == 0
    )
