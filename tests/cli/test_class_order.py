"""Names of classes: a survey's word for absences beside the name that a model made up for them."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from scarce import MaxentClassifier, open_rows, save
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
