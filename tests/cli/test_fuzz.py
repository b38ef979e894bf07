"""A small share of the fuzz, forms of a file that change nothing, and whether failures are seen."""

from __future__ import annotations

import json
import tempfile
from collections.abc import Callable, Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner

from scarce.cli.main import VERBS, scarce
from scarce.cli.output import say
from scarce.errors import DataError, UsageError
from tests.cli import cases
from tests.cli.cases import RECIPES, make_case, of_words, run_case
from tests.cli.damage import FORMS, HARMLESS, to_file, to_text

SHARE = 60  # damaged inputs per verb; all of them: python -m tests.cli.fuzz --n 5000
KNOWN = [verb for verb in RECIPES if verb in VERBS]

Folders = Callable[[], Path]


@pytest.fixture
def folders() -> Iterator[Folders]:
    """New empty folders, in memory where there is one."""
    with tempfile.TemporaryDirectory(dir=cases.quiet_folder()) as base:
        yield lambda: Path(tempfile.mkdtemp(dir=base))


@pytest.mark.parametrize("verb", KNOWN)
def test_damaged_files_end_in_words(verb: str, folders: Folders):
    bad = []
    for number in range(SHARE):
        verdict = run_case(make_case(verb, number), folders())
        if verdict.complaints:
            bad.append(f"case {number}: {verdict.complaints} {verdict.message} ({verdict.says})")
    assert not bad, "\n".join(bad)


@pytest.mark.parametrize("verb", KNOWN)
def test_what_is_not_damaged_works(verb: str, folders: Folders):
    for place in range(len(RECIPES[verb])):
        verdict = run_case(make_case(verb, -1 - place), folders())
        assert (verdict.code, verdict.complaints) == (0, []), verdict


@pytest.mark.parametrize("verb", [verb for verb in KNOWN if verb != "doctor"])
def test_no_rows_vanish_behind_a_quote_that_is_never_closed(verb: str, folders: Folders):
    case = make_case(verb, -1)
    name = next(name for name in case.files if name.endswith(".csv"))
    lines = case.files[name].decode().splitlines()
    middle = len(lines) // 2
    cells = lines[middle].split(",")
    lines[middle] = ",".join([*cells[:-1], f'"{cells[-1]}'])
    damaged = case._replace(files=case.files | {name: "\n".join(lines).encode()})
    verdict = run_case(damaged, folders())
    assert (verdict.code, verdict.complaints) == (3, [])
    assert "quote" in verdict.message


# --- forms that say the same ----------------------------------------------------------------------

SAME = {
    "estimate": ("scores", "--score score --label label --threshold 2.5"),
    "evaluate": ("p", "--prob prob --label fraud"),
}


@pytest.mark.parametrize("verb", [verb for verb in SAME if verb in VERBS])
def test_the_form_of_a_file_does_not_change_the_result(
    verb: str, folders: Folders, monkeypatch: pytest.MonkeyPatch
):
    name, words = SAME[verb]
    monkeypatch.chdir(folders())
    cells = cases.tables()[name]
    given = {f"{name}.{form}": to_file(cells, form) for form in FORMS}
    given |= {f"{name}-{j}.csv": way(to_text(cells)) for j, way in enumerate(HARMLESS.values())}
    results = set()
    for file, raw in given.items():
        Path(file).write_bytes(raw)
        shown = CliRunner().invoke(scarce, [verb, file, *words.split(), "--json"])
        assert shown.exit_code == 0, (file, shown.output)
        results.add(json.dumps(without_paths(json.loads(shown.stdout)["result"])))
    assert len(results) == 1


def without_paths(value: object) -> object:
    """Drop the words of a result: they may name the file."""
    if isinstance(value, dict):
        return {key: without_paths(item) for key, item in value.items()}
    if isinstance(value, list):
        return [without_paths(item) for item in value]
    return None if isinstance(value, str) else value


# --- a failure is seen ----------------------------------------------------------------------------


def crash() -> None:
    raise ZeroDivisionError("division by zero")


def refuse_the_flags() -> None:
    raise UsageError("The file is empty.")


def fail_after_writing() -> None:
    Path("d.csv").write_text("half of")
    raise DataError("Column 'prob' ends early.")


def leave_a_temporary() -> None:
    Path(".d.csv.writing~").write_text("")
    Path("d.csv").write_text("prob\n0.5\n")


def change_the_input() -> None:
    Path("p.csv").write_text("")
    Path("d.csv").write_text("prob\n0.5\n")


def write_nothing() -> None:
    say("Done.")


def write_a_wrong_number() -> None:
    Path("d.csv").write_text("prob\n1.5\n")


def speak_python() -> None:
    raise DataError("Column 'x' is text: pass categories=['x'].")


def warn_of_code() -> None:
    import warnings

    warnings.warn("this goes away", FutureWarning, stacklevel=1)
    Path("d.csv").write_text("prob\n0.5\n")


@pytest.mark.parametrize(
    ("act", "complaint"),
    [
        (crash, "exit code 1"),
        (refuse_the_flags, "exit code 2"),
        (fail_after_writing, "an output without code 0"),
        (leave_a_temporary, "a file is left over"),
        (change_the_input, "an input was changed"),
        (write_nothing, "code 0 without an output"),
        (write_a_wrong_number, "a probability of 1.5"),
        (speak_python, "Python in a message: categories=["),
        (warn_of_code, "a warning about code, FutureWarning: this goes away"),
    ],
)
def test_what_goes_wrong_is_noticed(
    act: Callable[[], None],
    complaint: str,
    folders: Folders,
    monkeypatch: pytest.MonkeyPatch,
):
    command = click.Command("decide", callback=lambda **options: act(), params=[])
    command.context_settings = {"ignore_unknown_options": True, "allow_extra_args": True}
    monkeypatch.setattr(scarce, "get_command", lambda *_: command)
    assert complaint in run_case(make_case("decide", -1), folders()).complaints


@pytest.mark.parametrize(
    ("message", "complaint"),
    [
        ("scarce: Cell '\x1b[31m' is not a number.", "control characters in a message"),
        ("scarce: unexpected", "a message that ends in the middle"),
        ("scarce: Cell '" + "x" * 900 + "' is not a number.", "a message of over 900 characters"),
        ("not a number.", "no sentence on stderr"),
        ("", "no sentence on stderr"),
        ("scarce: p.csv is there. Name another: --out q.csv", None),
        ("scarce: There is no folder. Create it first: mkdir -p a", None),
        ("scarce: Column 'x=3' holds 7. Did you mean 'x'?", None),
    ],
)
def test_a_message_that_cannot_be_acted_on_is_noticed(message: str, complaint: str | None):
    assert list(of_words(message)) == [complaint] * (complaint is not None)


def test_a_number_makes_the_same_case_again():
    assert make_case("decide", 11) == make_case("decide", 11)
    made = [make_case("decide", number) for number in range(20)]
    assert len({str((case.words, case.files)) for case in made}) == 20
