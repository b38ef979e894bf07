"""Options are data: every flag, key, variable and row of the docs comes from one declaration."""

from __future__ import annotations

import inspect
import json
import re
from pathlib import Path

import click
import pytest

import scarce as library
from scarce.cli.flags import Flags
from scarce.cli.main import VERBS
from scarce.cli.options import OPTIONS, option_of
from scarce.errors import Argument
from tests.cli.reference import SCHEMA_FILE, commands, options_of, settings_schema

FED = [(o, *pair) for o in OPTIONS.values() for pair in re.findall(r"(\w+)\((\w+)\)", o.feeds)]


@pytest.mark.parametrize(("option", "function", "argument"), FED, ids=lambda one: str(one)[:24])
def test_an_option_feeds_an_argument_that_exists(option, function, argument):
    assert argument in inspect.signature(getattr(library, function)).parameters
    assert Flags([option.key])(Argument(argument)) == option.flag


def test_every_declared_option_is_taken_by_some_verb_and_every_flag_is_declared():
    taken = {
        option_of(verb, one.opts[0][2:]).name
        for verb, command in commands().items()
        for one in options_of(command)
    }
    assert taken == set(OPTIONS)


@pytest.mark.parametrize("verb", list(VERBS))
def test_flags_defaults_and_variables_are_the_declared_ones(verb):
    for one in options_of(commands()[verb]):
        declared = option_of(verb, one.opts[0][2:])
        assert one.help == declared.help
        assert one.envvar == declared.environment(verb) == f"SCARCE_{verb}_{one.opts[0][2:]}".upper(
        ).replace("-", "_")  # fmt: skip
        if declared.default is not None:
            assert one.default == declared.default
        assert isinstance(one.type, click.Choice) == isinstance(declared.type, tuple)


def test_the_schema_of_scarce_toml_is_the_stored_one():
    assert json.loads(SCHEMA_FILE.read_text()) == settings_schema(), (
        "run: python -m tests.cli.reference"
    )


def test_the_schema_knows_every_option_but_those_that_must_be_typed():
    held = settings_schema()["properties"]
    assert set(held) == {"scarce", *VERBS}
    assert held["decide"]["properties"]["false-alarm"]["type"] == ["number", "string"]
    assert held["fit"]["properties"]["model"]["enum"] == ["auto", "rare", "maxent", "bayes"]
    assert not {"out", "force"} & set(held["fit"]["properties"])


def test_startup_reads_no_verb(tmp_path: Path):
    import subprocess
    import sys

    code = "import sys, scarce.cli.options; print([m for m in sys.modules if 'numpy' in m])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout == "[]\n"
