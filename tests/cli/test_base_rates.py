"""Base rates on the command line: the same numbers as the library, for every kind of model file."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
from click.testing import CliRunner, Result

from scarce import (
    CostMatrix,
    CostSensitiveClassifier,
    GaussianBayes,
    MaxentClassifier,
    PriorCorrected,
    RareClassifier,
    correct_prior,
    decide,
    evaluate,
    find_base_rates,
    load,
    save,
)
from scarce.cli.main import scarce


def run(*words: str | Path) -> Result:
    return CliRunner().invoke(scarce, [*map(str, words)], prog_name="scarce")


def result(*words: str | Path) -> dict:
    done = run(*words, "--json")
    assert done.exit_code == 0, done.stderr
    return json.loads(done.stdout)["result"]


MODELS = {
    "rare": RareClassifier("logistic", ridge=1.0),
    "bayes": GaussianBayes(),
    "bayes told": GaussianBayes(priors=[0.5, 0.5]),
    "bayes told by name": GaussianBayes(priors=pd.Series({1: 0.5, 0: 0.5})),
    "maxent told": MaxentClassifier(features="l", width_scale=1.0, default_prevalence=0.9),
    "maxent": MaxentClassifier(features="l", width_scale=1.0),
    "moved": PriorCorrected(GaussianBayes(priors=[0.5, 0.5]), prior=0.1),
    "costs": CostSensitiveClassifier(GaussianBayes(), CostMatrix.binary(false_alarm=1, miss=9)),
    "costs, moved": CostSensitiveClassifier(
        GaussianBayes(), CostMatrix.binary(false_alarm=1, miss=9), now_at={1: 0.1}
    ),
}


@pytest.fixture(scope="module")
def data() -> tuple[pd.DataFrame, np.ndarray]:
    rng = np.random.default_rng(0)
    y = np.repeat([0, 1], [560, 240])
    return pd.DataFrame(rng.normal(size=(800, 2)) + 1.2 * y[:, None], columns=["a", "b"]), y


@pytest.mark.parametrize("kind", MODELS)
def test_the_verbs_use_what_the_library_finds(kind, data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data
    model = MODELS[kind].fit(X, y)
    save(model, "m.scarce")
    X.assign(y=y).to_csv("t.csv", index=False)
    own = find_base_rates(model, y).rates
    # correct: the model file, as PriorCorrected in Python
    told = result("correct", "m.scarce", "--now-at", "0.02", "--out", "m2.scarce")
    assert told["trained_at"] == pytest.approx(own.tolist(), abs=1e-12)
    moved = PriorCorrected(MODELS[kind], prior=0.02).fit(X, y)
    np.testing.assert_allclose(
        load("m2.scarce").predict_proba(X), moved.predict_proba(X), rtol=1e-9
    )
    # predict: its base rates, and the rows
    told = result("predict", "m.scarce", "t.csv", "--out", "p.csv")
    assert told["base_rates"] == pytest.approx(own.tolist(), abs=1e-12)
    assert result("predict", "m2.scarce", "t.csv", "--out", "q.csv")["base_rates"] == [0.98, 0.02]
    prob = pd.read_csv("p.csv")["prob"].to_numpy()
    np.testing.assert_allclose(prob, model.predict_proba(X)[:, 1], rtol=1e-12)
    # correct and decide: the table
    rates = ("--trained-at", repr(float(own[1])), "--now-at", "0.02")
    result("correct", "p.csv", *rates, "--out", "c.csv")
    corrected = pd.read_csv("c.csv")["prob"].to_numpy()
    np.testing.assert_allclose(corrected, moved.predict_proba(X)[:, 1], rtol=1e-9)
    result("decide", "p.csv", *rates, "--false-alarm", "1", "--miss", "9", "--out", "d.csv")
    costs = CostMatrix.binary(false_alarm=1, miss=9, classes=("no event", "event"))
    acted = decide(prob, costs, trained_at=own, now_at={"event": 0.02})
    assert (pd.read_csv("d.csv")["action"] != "pass").tolist() == (acted == "event").tolist()
    assert (acted == decide(correct_prior(prob, own, 0.02), costs)).mean() > 0.99
    # evaluate: the model, as evaluate in Python
    found = evaluate(y, model.predict_proba(X)[:, 1])
    judged = result("evaluate", "m.scarce", "t.csv", "--label", "y")
    assert judged["base_rates"] == pytest.approx(own.tolist(), abs=1e-12)
    assert judged["figures"]["log_loss"]["value"] == pytest.approx(found.log_loss.value)
    assert judged["figures"]["given"]["value"] == pytest.approx(found.given[0].value)


def test_a_base_rate_that_is_off_is_mended_by_the_command_that_evaluate_prints(
    data, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    X, y = data
    inner = GaussianBayes(priors=[0.5, 0.5])
    save(PriorCorrected(inner, prior=0.02).fit(X, y), "m.scarce")  # .044 of it, when counted
    X.assign(y=y).to_csv("t.csv", index=False)
    said = run("evaluate", "m.scarce", "t.csv", "--label", "y")
    assert "--now-at 0.3 --out m-now.scarce" in said.stdout + said.stderr
    result("correct", "m.scarce", "--now-at", "0.3", "--out", "m-now.scarce")
    assert load("m-now.scarce").predict_proba(X)[:, 1].mean() == pytest.approx(0.3, abs=0.01)


def test_compared_model_files_for_other_base_rates_are_named(data, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    X, y = data
    save(GaussianBayes().fit(X, y), "plain.scarce")
    save(GaussianBayes(priors=[0.98, 0.02]).fit(X, y), "rare.scarce")
    X.assign(y=y).to_csv("t.csv", index=False)
    said = run("compare", "t.csv", "plain.scarce", "rare.scarce", "--label", "y")
    assert said.exit_code == 0, said.stderr
    assert said.stderr.count("[other-base-rates]") == 1
    assert "rare.scarce --now-at 0.3 " in said.stderr
