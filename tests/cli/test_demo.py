"""The demo: runs, writes what it says, tells the truth, and repeats itself."""

import json

import numpy as np
import pyarrow.csv as pacsv
import pytest
from click.testing import CliRunner

from scarce import load
from scarce.cli.main import scarce as command


def run(*arguments):
    result = CliRunner().invoke(command, ["demo", "--rows", "5000", *map(str, arguments)])
    assert result.exit_code == 0, result.output
    return result


def test_the_story_ends_in_honest_probabilities(tmp_path):
    result = run("--out", tmp_path / "a", "--json")
    found = json.loads(result.stdout)["result"]
    sides = found["sides"]
    assert sides["prior corrected"]["log_loss"]["high"] < sides["as trained"]["log_loss"]["low"]
    assert (
        sides["prior corrected"]["log_loss"]["value"] < sides["constant 1.5 %"]["log_loss"]["value"]
    )
    assert sides["prior corrected"]["mean"] == pytest.approx(found["happened"], abs=0.006)
    assert sides["as trained"]["mean"] > 3 * found["happened"]
    assert sorted(path.name for path in (tmp_path / "a").iterdir()) == [
        "fraud.scarce",
        "payments.parquet",
        "probabilities.csv",
        "reliability.png",
    ]
    prob = pacsv.read_csv(tmp_path / "a" / "probabilities.csv")["prob"].to_numpy()
    assert prob.mean() == pytest.approx(sides["prior corrected"]["mean"])
    assert load(tmp_path / "a" / "fraud.scarce").n_features_in_ == 6


def test_the_same_seed_gives_the_same_numbers(tmp_path):
    first, again, other = (
        run("--out", tmp_path / name, "--seed", seed, "--json").stdout
        for name, seed in (("a", 1), ("b", 1), ("c", 2))
    )
    first, again, other = (json.loads(text)["result"]["sides"] for text in (first, again, other))
    assert first == again
    assert first != other


def test_people_read_a_table_on_stdout_and_words_on_stderr(tmp_path):
    result = run("--out", tmp_path)
    assert "prior corrected" in result.stdout
    assert "log loss (90 %)" in result.stdout
    assert result.stderr.startswith("1  Simulating two months of 5,000 payments")
    assert "reliability.png" in result.stderr


def test_without_matplotlib_the_story_goes_on(tmp_path, monkeypatch):
    import importlib.util

    find = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name == "matplotlib" else find(name)
    )
    result = run("--out", tmp_path)
    assert "pip install 'scarce[plot]'" in result.stderr
    assert not (tmp_path / "reliability.png").exists()
    assert np.isfinite(pacsv.read_csv(tmp_path / "probabilities.csv")["prob"].to_numpy()).all()
