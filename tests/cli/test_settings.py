"""scarce.toml, the environment and flags: who wins, and what is refused."""

import json
import os

import pytest
from click.testing import CliRunner

from scarce.cli.main import scarce
from scarce.cli.wording import in_flags


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
        ("[fit\n", "is not TOML"),
        ("[fti]\nseed = 1\n", "[fti] is no verb. Did you mean 'fit'"),
        ("seed = 1\n", "[seed] is no verb"),
        ("fit = 1\n", "stands outside a section"),
        ("[fit]\nlable = 'y'\n", "'lable' is no option of scarce fit. Did you mean 'label'"),
        ("[scarce]\nlable = 'y'\n", "'lable' is no option of any verb. Did you mean 'label'"),
        ("[fit]\nmodel = 'rre'\n", "'rre' is not one of"),
        ("[fit]\nseed = 'x'\n", "'x' is not a whole number"),
        ("[fit]\nseed = [1, 2]\n", "give one value"),
        ("[fit]\ndrop = [['a']]\n", "a plain list"),
        ("[fit]\nforce = 1\n", "give true or false"),
        ("[fit.seed]\nx = 1\n", "is a table"),
    ],
)
def test_wrong_settings_are_bad_data_in_words(here, text, words):
    (here / "scarce.toml").write_text(text)
    shown = CliRunner().invoke(scarce, ["fit", "t.csv", "--label", "y", "--out", "m.scarce"])
    assert shown.exit_code == 3, shown.stderr
    assert words in shown.stderr
    assert sorted(os.listdir(here)) == ["scarce.toml", "t.csv"]


def test_help_does_not_need_good_settings(here):
    (here / "scarce.toml").write_text("[fit\n")
    for args in (["--help"], ["fit", "--help"], ["doctor"]):
        assert CliRunner().invoke(scarce, args).exit_code == 0


@pytest.mark.parametrize(
    ("said", "flags"),
    [
        (
            "pass negative=-1; if not, pass unlabelled=-1.",
            "pass --negative -1; if not, pass --unlabelled -1.",
        ),
        ("Pass delimiter=';'.", "Pass --delimiter ';'."),
        ("with open_rows(..., drop=['a', 'b c']).", "with --drop a --drop 'b c'."),
        ("such as encoding='latin-1'.", "such as --encoding latin-1."),
        ("Pass another random_state and compare.", "Pass another random_state and compare."),
        ("random_state=3", "--seed 3"),
        ("with open_rows(..., indicators=True),", "with indicators=True,"),
    ],
)
def test_arguments_become_flags(said, flags):
    known = ["negative", "unlabelled", "delimiter", "drop", "encoding", "seed"]
    assert in_flags(said, known) == flags
