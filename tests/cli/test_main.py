"""The command line as a whole: help without heavy imports, errors as words, exit codes."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import types
import warnings
from collections.abc import Callable
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from scarce.cli.main import VERBS, Verb, scarce
from scarce.cli.options import takes
from scarce.cli.output import emit
from scarce.errors import (
    CheckError,
    DataError,
    DataWarning,
    ScarceError,
    StoreError,
    UsageError,
    WorkerError,
)

AddVerb = Callable[[Callable[[], object]], None]


@pytest.fixture
def probe(monkeypatch: pytest.MonkeyPatch) -> AddVerb:
    """Add a verb `probe` that does what the test wants."""

    def add(act: Callable[[], object]) -> None:
        @click.command()
        @takes("seed", "json")
        def verb(seed: int | None, json: bool) -> object:
            return act()

        module = types.ModuleType("probe_verb")
        module.probe = verb
        monkeypatch.setitem(sys.modules, "probe_verb", module)
        monkeypatch.setitem(VERBS, "probe", Verb("probe_verb", "Do what the test wants."))

    return add


def run(*args: str) -> Result:
    return CliRunner().invoke(scarce, args, prog_name="scarce")


def python(code: str, **options: object) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code], capture_output=True, text=True, timeout=60, **options
    )


def raising(error: BaseException) -> Callable[[], None]:
    def act() -> None:
        raise error

    return act


# --- help, versions, completion -------------------------------------------------------------------


def test_help_lists_every_verb_and_imports_nothing_heavy():
    done = python(
        "import sys\n"
        "from scarce.cli.main import scarce\n"
        "try:\n"
        "    scarce(['--help'], prog_name='scarce')\n"
        "finally:\n"
        "    heavy = {'numpy', 'scipy', 'sklearn', 'pyarrow', 'numba', 'rich'} & set(sys.modules)\n"
        "    verbs = {name for name in sys.modules if name.startswith('scarce.cli.')}\n"
        "    print(sorted(heavy), sorted(verbs), file=sys.stderr)\n"
    )
    assert done.returncode == 0
    assert done.stderr.splitlines() == [
        "[] ['scarce.cli.flags', 'scarce.cli.interrupts', 'scarce.cli.main', "
        "'scarce.cli.next_command', 'scarce.cli.options', 'scarce.cli.output', "
        "'scarce.cli.settings']"
    ]
    for name, verb in VERBS.items():
        assert name in done.stdout
        assert verb.summary in done.stdout
    assert max(map(len, done.stdout.splitlines())) <= 80


@pytest.mark.parametrize("name", list(VERBS))
def test_every_verb_has_help_and_its_summary_is_the_one_in_the_table(name: str):
    command = scarce.get_command(click.Context(scarce), name)
    assert isinstance(command, click.Command)
    assert command.get_short_help_str(limit=200) == VERBS[name].summary
    assert VERBS[name].summary.endswith(".")
    assert len(VERBS[name].summary) <= 66  # one line of help at 80 columns
    assert "json" in {parameter.name for parameter in command.params}
    shown = run(name, "-h")
    assert shown.exit_code == 0
    assert VERBS[name].summary in " ".join(shown.stdout.split())
    assert f"scarce {name}" in shown.stdout.partition("Usage:")[2].partition("\n")[2]  # an example


@pytest.mark.parametrize("flag", ["-h", "--help"])
def test_both_help_flags(flag: str):
    assert run(flag).stdout.startswith("Usage: scarce [OPTIONS] VERB [ARGS]...")


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert run("--version").stdout == f"scarce {version('scarce')}\n"


def test_no_verb_shows_help_on_stderr_as_a_usage_error():
    shown = run()
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "Verbs:" in shown.stderr


def test_completion_names_verbs_and_options():
    def complete(words: str, place: int) -> str:
        asked = {"_SCARCE_COMPLETE": "bash_complete", "COMP_WORDS": words, "COMP_CWORD": str(place)}
        return python("from scarce.cli.main import main; main()", env=os.environ | asked).stdout

    assert complete("scarce doc", 1) == "plain,doctor\n"
    assert "plain,--json" in complete("scarce doctor --", 2)


# --- usage ----------------------------------------------------------------------------------------


def test_unknown_verb_says_which_was_meant():
    shown = run("docter")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "[unknown-verb]" in shown.stderr
    assert shown.stderr.endswith(" [unknown-verb]\n")
    assert "[unknown-verb]" in run("zzz").stderr


def test_unknown_option_says_which_was_meant(probe: AddVerb):
    probe(lambda: None)
    shown = run("probe", "--sed", "1")
    assert (shown.exit_code, shown.stdout) == (2, "")
    assert "--seed" in shown.stderr
    assert shown.stderr.endswith("See: scarce probe --help [unknown-option]\n")
    assert run("--seed", "1", "probe").stderr.endswith(" [unknown-option]\n")


@pytest.mark.parametrize("typed", ["nan", "0", "1", "-0.5", "inf"])
def test_a_level_is_a_share(typed: str):
    shown = run("evaluate", "p.csv", "--label", "y", "--level", typed)
    assert shown.exit_code == 2
    assert shown.stderr.endswith(" [option-value]\n")
    assert "'--level'" in shown.stderr


def test_usage_error_in_json(probe: AddVerb):
    probe(lambda: None)
    shown = run("probe", "--seed", "x", "--json")
    record = json.loads(shown.stdout)
    assert (shown.exit_code, shown.stderr) == (2, "")
    assert record["error"]["kind"] == "UsageError"
    assert record["error"]["code"] == "option-value"
    assert "'x'" in record["error"]["message"]


# --- errors ---------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("kind", "code"),
    [
        (ScarceError, 1),
        (WorkerError, 1),
        (UsageError, 2),
        (DataError, 3),
        (StoreError, 3),
        (CheckError, 4),
    ],
)
def test_our_errors_are_one_line_and_their_exit_code(
    probe: AddVerb, kind: type[ScarceError], code: int
):
    said = "'age': 12"
    probe(raising(kind("{column!r}: {count}", code="text-column", column="age", count=12)))
    shown = run("probe")
    assert (shown.exit_code, shown.stdout) == (code, "")
    assert shown.stderr == f"scarce: {said} [text-column]\n"
    shown = run("probe", "--json")
    assert (shown.exit_code, shown.stderr) == (code, "")
    assert json.loads(shown.stdout) == {
        "schema": 1,
        "ok": False,
        "error": {"kind": kind.__name__, "code": "text-column", "message": said},
    }


def test_unexpected_errors_are_a_sentence_without_traceback(
    probe: AddVerb, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.delenv("SCARCE_TRACEBACK", raising=False)
    probe(lambda: 1 / 0)
    shown = run("probe")
    assert (shown.exit_code, shown.stdout) == (1, "")
    assert "ZeroDivisionError: division by zero." in shown.stderr
    assert shown.stderr.endswith("SCARCE_TRACEBACK=1. [unexpected]\n")
    monkeypatch.setenv("SCARCE_TRACEBACK", "1")
    shown = run("probe")
    assert shown.exit_code == 1
    assert shown.stderr.startswith("Traceback")
    assert shown.stderr.endswith("ZeroDivisionError: division by zero. [unexpected]\n")


def test_an_unexpected_error_without_words(probe: AddVerb):
    probe(raising(MemoryError()))
    assert "MemoryError. " in run("probe").stderr


def test_a_file_that_ends_early_is_not_an_interrupt(probe: AddVerb):
    probe(raising(EOFError("Compressed file ended")))
    shown = run("probe")
    assert shown.exit_code == 1
    assert "EOFError: Compressed file ended." in shown.stderr


def test_json_after_two_dashes_is_a_name_not_the_option():
    assert run("zzz", "--", "--json").stdout == ""


def test_a_returned_value_is_not_an_exit_code(probe: AddVerb):
    probe(lambda: 3)
    assert run("probe").exit_code == 0


def test_a_verb_can_end_with_a_code_after_its_result(probe: AddVerb):
    def act() -> None:
        emit({"recall": 0.4}, json=True, ok=False)
        click.get_current_context().exit(CheckError.exit_code)

    probe(act)
    shown = run("probe", "--json")
    assert shown.exit_code == 4
    assert json.loads(shown.stdout) == {"schema": 1, "ok": False, "result": {"recall": 0.4}}


@pytest.mark.filterwarnings("default")
def test_a_warning_about_the_data_is_a_sentence(probe: AddVerb):
    before = warnings.showwarning
    probe(lambda: warnings.warn("Column 'age' is constant.", DataWarning, stacklevel=1))
    assert run("probe").stderr == "scarce: warning: Column 'age' is constant.\n"
    probe(lambda: warnings.warn("overflow", RuntimeWarning, stacklevel=1))
    assert run("probe").stderr.startswith("scarce: warning: overflow: some numbers are too large")
    probe(lambda: warnings.warn("old", FutureWarning, stacklevel=1))
    assert "FutureWarning: old" in run("probe").stderr
    assert warnings.showwarning is before


# --- signals and pipes, in real processes ---------------------------------------------------------

PROBE = """
import sys, time, types, click
from scarce.cli.main import main
from scarce.cli.main import VERBS, Verb

@click.command()
@click.option("--json", is_flag=True)
def probe(json):
    {act}

module = types.ModuleType("probe_verb")
module.probe = probe
sys.modules["probe_verb"] = module
VERBS["probe"] = Verb("probe_verb", "Do what the test wants.")
sys.argv = ["scarce", "probe", *{args}]
main()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise on Windows")
@pytest.mark.parametrize("args", [[], ["--json"]])
def test_interrupt_is_130(args: list[str]):
    code = PROBE.format(act="click.echo('begun', err=True); time.sleep(60)", args=args)
    process = subprocess.Popen(
        [sys.executable, "-c", code], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    if args:
        assert json.loads(out)["error"]["kind"] == "Interrupted"
        assert err.strip() == ""
    else:
        assert (out, err.strip()) == ("", "scarce: interrupted; no file was written")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise on Windows")
@pytest.mark.parametrize("lost", ["pass", "raise SystemError('a library fell over')"])
def test_an_interrupt_that_a_library_loses_or_renames_still_ends_the_verb(lost: str):
    act = f"""try:
        click.echo('begun', err=True)
        time.sleep(60)
    except KeyboardInterrupt:
        {lost}
    time.sleep(60)"""
    process = subprocess.Popen(
        [sys.executable, "-c", PROBE.format(act=act, args=[])], stderr=subprocess.PIPE, text=True
    )
    assert process.stderr is not None
    assert process.stderr.readline() == "begun\n"
    process.send_signal(signal.SIGINT)
    _, err = process.communicate(timeout=30)
    assert (process.returncode, err.strip()) == (130, "scarce: interrupted; no file was written")


@pytest.mark.skipif(sys.platform == "win32", reason="signals are sent otherwise on Windows")
def test_an_interrupt_that_python_drops_is_not_printed():
    """One that falls into the callback of an import: Python says 'Exception ignored', and where."""
    act = """import os, signal, weakref
    class Thing: pass
    one = Thing()
    held = weakref.ref(one, lambda _: (os.kill(os.getpid(), signal.SIGINT), time.sleep(0.1)))
    del one
    time.sleep(60)"""
    done = python(PROBE.format(act=act, args=[]))
    assert done.returncode == 130
    assert done.stderr.strip() == "scarce: interrupted; no file was written"


@pytest.mark.skipif(not os.path.exists("/dev/full"), reason="there is no full disk here")
def test_words_that_nobody_can_take_change_no_exit_code():
    act = "from scarce.cli.output import say; say('words'); click.echo('data')"
    with open("/dev/full", "w") as full:
        for line, code in ((act, 0), (act + "; raise click.UsageError('x')", 2)):
            done = subprocess.run(
                [sys.executable, "-c", PROBE.format(act=line, args=[])],
                stdout=subprocess.PIPE,
                stderr=full,
                text=True,
            )
            assert (done.returncode, done.stdout) == (code, "data\n")


@pytest.mark.skipif(sys.platform != "linux", reason="other systems have no such names")
def test_a_name_that_is_no_text_is_said(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    name = os.fsdecode(b"\xff.csv")
    Path(name).write_text("x,y\n" + "1,0\n2,1\n" * 20)
    for words in (["fit", name, "--out", "m.scarce"], ["evaluate", name, "--prob", "x"]):
        shown = run(*words, "--label", "y")
        assert shown.exit_code == 2
        assert "'\\udcff.csv'" in shown.stderr
        assert shown.stderr.endswith(" [file-name-encoding]\n")


def test_a_process_ends_though_a_reader_of_arrows_is_still_at_work(tmp_path: Path):
    path = tmp_path / "long.csv"
    path.write_text("a\n" + "1\n" * 2_000_000)
    act = f"""import pyarrow as pa, pyarrow.csv as pacsv
    file = open({str(path)!r}, 'rb', buffering=0)
    reader = pacsv.open_csv(pa.PythonFile(file, 'r'))
    reader.read_next_batch()
    raise click.ClickException('stopped')"""
    for _ in range(5):
        done = subprocess.run(
            [sys.executable, "-c", PROBE.format(act=act, args=[])], capture_output=True, text=True
        )
        assert (done.returncode, "stopped" in done.stderr) == (1, True), done.stderr


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
@pytest.mark.parametrize(
    "act",
    [
        "[click.echo(line) for line in range(100_000)]",
        "sys.stdout.buffer.write(b'line\\n' * 1_000_000)",
        "sys.stdout.write('0\\n'); sys.stdout.flush(); time.sleep(1); sys.stdout.write('late')",
    ],
)
def test_a_reader_that_goes_away_is_no_error(act: str):
    code = PROBE.format(act=act, args=[])
    done = subprocess.run(
        ["sh", "-c", '"$0" -c "$1" | head -1', sys.executable, code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout in ("0\n", "line\n")
    assert done.stderr == ""


@pytest.mark.skipif(sys.platform == "win32", reason="needs a POSIX shell")
def test_an_error_in_json_with_no_reader_is_quiet_and_keeps_its_code():
    code = PROBE.format(act="time.sleep(0.5); 1 / 0", args=["--json"])
    done = subprocess.run(
        ["sh", "-c", '{ "$0" -c "$1"; echo $? >&2; } | true', sys.executable, code],
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stderr == "1\n"


def test_the_installed_command_runs():
    from shutil import which

    command = which("scarce", path=os.path.dirname(sys.executable))
    if command is None:
        pytest.skip("scarce is not installed next to this Python")
    done = subprocess.run([command, "docter"], capture_output=True, text=True, timeout=60)
    assert done.returncode == 2
    assert done.stderr.startswith("scarce: There is no verb 'docter'.")
