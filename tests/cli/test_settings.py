"""scarce.toml, the environment and flags: who wins, and what is refused."""

import json
import os

import pytest
from click.testing import CliRunner

from scarce.cli.main import scarce


@pytest.fixture
def here(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "t.csv").write_text("a,b,y\n" + "1,2,0\n2,1,1\n3,3,0\n4,2,1\n" * 20)
    return tmp_path


def plan(*args, env=None):
    line = ["fit", "t.csv", "--dry-run", "--json", "--out", "m.scarce", *args]
    return CliRunner().invoke(scarce, line, prog_name="scarce", env=env)


def test_settings_stand_in_for_flags_and_flags_win(here):
    (here / "scarce.toml").write_text(
        '[scarce]\nlabel = "y"\nthreshold = 2\n[fit]\nmodel = "rare"\ndrop = ["a"]\nridge = 0.5\n'
    )
    shown = plan()
    told = json.loads(shown.stdout)["result"]
    assert told["label"] == "y"
    assert told["model"] == "rare"
    assert told["features"] == ["b"]
    assert told["parameters"] == {"ridge": 0.5}
    assert "From scarce.toml: label y, model rare, drop a, ridge 0.5." in shown.stderr
    shown = plan("--model", "rare", "--ridge", "2", env={"SCARCE_FIT_SEED": "4"})
    assert json.loads(shown.stdout)["result"]["parameters"] == {"ridge": 2}
    assert "From scarce.toml: label y, drop a." in shown.stderr  # only what was taken
    assert "From the environment: seed 4." in shown.stderr


def test_the_environment_wins_over_the_file_and_loses_to_flags(here):
    (here / "scarce.toml").write_text('[scarce]\nlabel = "y"\n[fit]\nseed = 3\n')
    assert json.loads(plan().stdout)["result"]["seed"] == 3
    assert json.loads(plan(env={"SCARCE_FIT_SEED": "4"}).stdout)["result"]["seed"] == 4
    shown = plan("--seed", "5", env={"SCARCE_FIT_SEED": "4"})
    assert json.loads(shown.stdout)["result"]["seed"] == 5


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("[fit\n", "[toml-syntax]"),
        (f"[fit]\nseed = {'9' * 5001}\n", "[toml-syntax]"),
        ("[fti]\nseed = 1\n", "[settings-section]"),
        ("seed = 1\n", "[settings-section]"),
        ("fit = 1\n", "[settings-section]"),
        ("[fit]\nlable = 'y'\n", "[settings-key]"),
        ("[scarce]\nlable = 'y'\n", "[settings-key]"),
        ("[fit]\nmodel = 'rre'\n", "'rre' is not one of"),
        ("[fit]\nseed = 'x'\n", "'x'"),
        ("[fit]\nseed = [1, 2]\n", "[settings-value]"),
        ("[fit]\ndrop = [['a']]\n", "[settings-value]"),
        ("[fit]\ndry-run = 1\n", "[settings-value]"),
        ("[fit]\nforce = true\n", "[settings-typed-only]"),
        ("[scarce]\nout = 'x'\n", "[settings-typed-only]"),
        ("[predict]\nout = '/elsewhere'\n", "[settings-typed-only]"),
        ("[predict]\ntrust = ['os.system']\n", "[settings-typed-only]"),
        ("[fit.seed]\nx = 1\n", "[settings-value]"),
    ],
)
def test_wrong_settings_are_bad_data_in_words(here, text, words):
    (here / "scarce.toml").write_text(text)
    shown = CliRunner().invoke(scarce, ["fit", "t.csv", "--label", "y", "--out", "m.scarce"])
    assert shown.exit_code == 3, shown.stderr
    assert words in shown.stderr
    assert sorted(os.listdir(here)) == ["scarce.toml", "t.csv"]


def test_a_folder_cannot_say_what_is_overwritten(here):
    """Whoever works in a folder from elsewhere loses no file of their own to its scarce.toml."""
    (here / "scarce.toml").write_text('[predict]\nout = "mine.csv"\nforce = true\n')
    (here / "mine.csv").write_text("mine")
    for verb in (["predict", "m.scarce", "t.csv"], ["fit", "t.csv"], ["estimate", "t.csv"]):
        shown = CliRunner().invoke(scarce, verb)
        assert (shown.exit_code, shown.stderr.count("\n")) == (3, 1)
        assert "[settings-typed-only]" in shown.stderr
    assert (here / "mine.csv").read_text() == "mine"
    (here / "scarce.toml").unlink()  # what the environment says is the user's own
    shown = plan("--label", "y", env={"SCARCE_FIT_FORCE": "1"})
    assert shown.exit_code == 0


@pytest.mark.parametrize(
    ("text", "env", "is_json"),
    [
        ("[fit]\njson = true\n", {}, True),
        ("[scarce]\njson = true\n", {}, True),
        ("[scarce]\njson = true\n[fit]\njson = false\n", {}, False),
        ("", {"SCARCE_FIT_JSON": "1"}, True),
        ("[fit]\njson = true\n", {"SCARCE_FIT_JSON": "0"}, False),
        ("[fit\n", {"SCARCE_FIT_JSON": "true"}, True),
    ],
)
def test_errors_are_json_where_results_would_be(here, text, env, is_json):
    (here / "scarce.toml").write_text(text)
    for words in (["fit", "t.csv"], ["fit", "t.csv", "--label", "none", "--out", "m.scarce"]):
        shown = CliRunner().invoke(scarce, words, env=env)
        assert shown.exit_code in (2, 3)
        assert (shown.stdout != "") == is_json
        assert not is_json or json.loads(shown.stdout)["ok"] is False


def test_help_does_not_need_good_settings(here):
    (here / "scarce.toml").write_text("[fit\n")
    for args in (["--help"], ["fit", "--help"], ["doctor"]):
        assert CliRunner().invoke(scarce, args).exit_code == 0
