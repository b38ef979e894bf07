"""Names of classes: a survey's word for absences beside the name that a model made up for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from scarce import MaxentClassifier, RareClassifier, open_rows, save
from scarce.cli.main import scarce


@pytest.fixture
def survey(tmp_path, monkeypatch) -> Path:
    """A model of sightings (yes or nothing) and a survey that says yes and no."""
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(5)
    x = rng.normal(size=300)
    lives = rng.random(300) < 1 / (1 + np.exp(1 - 2 * x))
    seen = lives & (rng.random(300) < 0.5)
    lines = [f"{a:.3f},{'yes' if b else ''}" for a, b in zip(x, seen, strict=True)]
    Path("seen.csv").write_text("x,seen\n" + "\n".join(lines) + "\n")
    lines = [f"{a:.3f},{'yes' if b else 'no'}" for a, b in zip(x, lives, strict=True)]
    Path("survey.csv").write_text("x,seen\n" + "\n".join(lines) + "\n")
    save(MaxentClassifier().fit(open_rows("seen.csv", label="seen", positive="yes")), "w.scarce")
    return tmp_path


@pytest.mark.parametrize("flags", [("--positive", "yes"), ("--negative", "no")])
def test_a_survey_judges_a_model_that_knows_presences_alone(survey, flags):
    done = CliRunner().invoke(
        scarce, ["evaluate", "w.scarce", "survey.csv", "--label", "seen", *flags]
    )
    assert done.exit_code == 0, done.output
    assert "The model knows no other label than yes: no is taken to be all else." in done.stderr
    assert "AUC" in done.stdout


def test_a_third_word_is_still_refused(survey):
    text = Path("survey.csv").read_text().replace("no\n", "perhaps\n", 3)
    Path("survey.csv").write_text(text)
    words = ["evaluate", "w.scarce", "survey.csv", "--label", "seen", "--positive", "yes"]
    assert CliRunner().invoke(scarce, words).exit_code == 3


def test_of_two_columns_that_of_the_event_stands_last(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    lines = [f"{0.2 + 0.01 * k:.2f},{0.8 - 0.01 * k:.2f},{'yes' if k % 4 == 0 else 'no'}"
             for k in range(40)]  # fmt: skip
    Path("p.csv").write_text("prob_yes,prob_no,y\n" + "\n".join(lines) + "\n")
    words = ["evaluate", "p.csv", "--label", "y", "--positive", "yes"]
    done = CliRunner().invoke(scarce, [*words, "--prob", "prob_*"])
    assert done.exit_code == 3
    assert "[event-mismatch]" in done.stderr
    done = CliRunner().invoke(scarce, [*words, "--prob", "prob_no", "--prob", "prob_yes"])
    assert done.exit_code == 0, done.output


def test_two_models_of_different_events_are_not_set_against_each_other(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(1)
    x = rng.normal(size=200)
    y = (rng.random(200) < 1 / (1 + np.exp(-x))).astype(int)
    lines = [f"{a:.3f},{b}" for a, b in zip(x, y, strict=True)]
    Path("t.csv").write_text("x,y\n" + "\n".join(lines[:100]) + "\n")
    Path("new.csv").write_text("x,y\n" + "\n".join(lines[100:]) + "\n")
    for event in ("1", "0"):
        rows = open_rows("t.csv", label="y", positive=int(event))
        save(RareClassifier("logistic", ridge=1.0).fit(rows), f"m{event}.scarce")
    words = ["check", "m1.scarce", "new.csv", "--label", "y", "--max-worse", "0.01"]
    done = CliRunner().invoke(scarce, [*words, "--against", "m0.scarce"])
    assert done.exit_code == 3, done.output
    assert "[class-mismatch]" in done.stderr
