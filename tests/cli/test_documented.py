"""The reference page against the commands: complete, true, nothing on it that does not exist."""

from __future__ import annotations

import json
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import click
import pytest
from click.testing import CliRunner, Result

from scarce.cli.main import VERBS, scarce
from scarce.cli.output import SCHEMA
from scarce.errors import CheckError, DataError, ScarceError, StoreError, UsageError
from tests.cli.cases import models, tables
from tests.cli.damage import FORMS, to_file
from tests.cli.reference import PAGE, commands, marks, options_of, renewed

TEXT = PAGE.read_text(encoding="utf-8")
SOURCE = PAGE.parent.parent.parent / "src" / "scarce"
HEAVY = "numpy scipy sklearn pyarrow numba rich matplotlib jinja2 pandas safetensors"
FLAG = re.compile(r"(?<![\w-])--[a-z][\w-]*")
DECIDE = ["decide", "p.csv", "--prob", "prob"]


def run(*words: str, env: dict[str, str] | None = None, stdin: bytes = b"") -> Result:
    return CliRunner().invoke(scarce, words, prog_name="scarce", env=env, input=stdin)


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder with a table of probabilities, to work in."""
    (tmp_path / "p.csv").write_bytes(to_file(tables()["p"], "csv"))
    monkeypatch.chdir(tmp_path)
    return tmp_path


def flags_of(command: click.Command) -> set[str]:
    """Return the long options of a verb."""
    typed = {word for option in options_of(command) for word in option.opts + option.secondary_opts}
    return {word for word in typed if word.startswith("--")} | {"--help"}


def sections() -> dict[str, str]:
    """Return the part of the page on each verb."""
    parts = re.split(r"^## scarce (\w+)\n", TEXT, flags=re.MULTILINE)[1:]
    return dict(zip(parts[::2], (part.split("\n## ")[0] for part in parts[1::2]), strict=True))


# --- the page and the commands --------------------------------------------------------------------


def test_the_page_s_tables_are_what_the_commands_say():
    assert renewed(TEXT) == TEXT, "run: python -m tests.cli.reference"


def test_every_verb_has_a_section_in_the_order_of_the_table():
    assert list(sections()) == list(VERBS)
    assert list(marks(TEXT)) == ["verbs", "shared", *VERBS]


@pytest.mark.parametrize("name", list(VERBS))
def test_every_option_is_named_in_its_verb_s_section_and_no_other(name: str):
    named = set(FLAG.findall(sections()[name]))
    assert named | {"--help"} == flags_of(commands()[name])


def test_the_page_names_no_option_that_does_not_exist():
    prose = "\n".join(line for line in TEXT.splitlines() if not line.startswith("python "))
    known = {"--version"}.union(*(flags_of(command) for command in commands().values()))
    assert not set(FLAG.findall(prose)) - known


@pytest.mark.parametrize("name", list(VERBS))
def test_every_option_says_what_it_is_for(name: str):
    for option in options_of(commands()[name]):
        assert option.help, option.opts
        words = re.sub(r"\s*\[default: [^]]*\]$", "", option.help)
        assert words.endswith((".", "?")), option.help
        assert words[0].isupper() or re.match(r"\w+: ", words), option.help  # "rare: ..."


@pytest.mark.parametrize("name", list(VERBS))
def test_help_fits_a_terminal_of_a_hundred_columns(name: str):
    lines = run(name, "--help").stdout.splitlines()
    assert not [line for line in lines if len(line) > 100]


# --- quick help -----------------------------------------------------------------------------------


def test_help_of_every_verb_imports_nothing_heavy():
    code = (
        "import sys\n"
        "from scarce.cli.main import scarce\n"
        f"for name in {list(VERBS)}:\n"
        "    try:\n"
        "        scarce([name, '--help'], prog_name='scarce')\n"
        "    except SystemExit:\n"
        f"        found = set({HEAVY.split()}) & set(sys.modules)\n"
        "        print(name, sorted(found), file=sys.stderr)\n"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.stderr.splitlines() == [f"{name} []" for name in VERBS]


def test_help_takes_less_than_three_tenths_of_a_core_second():
    resource = pytest.importorskip("resource")
    spent = []
    for _ in range(3):  # the least of three: what other processes take away is not ours
        before = resource.getrusage(resource.RUSAGE_CHILDREN)
        code = "from scarce.cli.main import main; import sys; sys.argv = ['scarce', '-h']; main()"
        subprocess.run([sys.executable, "-c", code], check=True, capture_output=True)
        after = resource.getrusage(resource.RUSAGE_CHILDREN)
        spent.append(after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime)
    assert min(spent) < 0.3


# --- what the page says of all verbs --------------------------------------------------------------


def test_the_exit_codes_are_those_of_the_errors():
    listed = {int(code) for code in re.findall(r"^\| (\d+) \|", TEXT, re.MULTILINE)}
    kinds = (ScarceError, UsageError, DataError, StoreError, CheckError)
    assert listed == {0, 130} | {kind.exit_code for kind in kinds}


def test_errors_end_with_the_code_on_the_page(folder: Path):
    assert run(*DECIDE, "--false-alarm", "5", "--miss", "400").exit_code == 0
    assert run(*DECIDE, "--false-alarm", "5", "--mis", "400").exit_code == 2
    assert run(*DECIDE[:2], "--prob", "pro", "--false-alarm", "5", "--miss", "400").exit_code == 3
    assert run("evaluate", "p.csv", "--prob", "amount", "--label", "fraud").exit_code == 3


def test_labels_that_can_be_read_in_two_ways_are_refused_until_a_flag_says_which(folder: Path):
    text = Path("p.csv").read_text()
    Path("two.csv").write_text(text.replace(",0\n", ",-1\n"))
    words = ["evaluate", "two.csv", "--prob", "prob", "--label", "fraud"]
    refused = run(*words)
    assert refused.exit_code == 3
    assert "--negative" in refused.stderr
    assert "--unlabelled" in refused.stderr
    assert run(*words, "--negative=-1", "--positive", "1").exit_code == 0


def test_which_label_is_the_event_is_said_with_the_flag_that_settles_it(folder: Path):
    words = ["evaluate", "p.csv", "--prob", "prob", "--label", "fraud"]
    assert "--positive" in run(*words).stderr
    assert "--positive" not in run(*words, "--positive", "1").stderr


@pytest.mark.parametrize(
    ("raw", "flag"),
    [
        (b"id;prob\n1;0.5\n", "--delimiter"),
        ("id,prob,é\n1,0.5,é\n".encode("latin-1"), "--encoding"),
        ("id,prob\n1,0.5\n".encode("utf-16"), "--encoding"),
        (b'id,prob\n1,"0,5"\n2,"0,25"\n', "--decimal"),
        (b"id,prob\n1,unknown\n2,0.5\n", "--missing"),
    ],
    ids=["semicolons", "latin-1", "utf-16", "decimal comma", "a word"],
)
def test_the_message_names_the_flag_that_a_file_needs(raw: bytes, flag: str, folder: Path):
    Path("odd.csv").write_bytes(raw)
    shown = run("decide", "odd.csv", "--prob", "prob", "--false-alarm", "5", "--miss", "400")
    assert shown.exit_code == 3
    assert flag in shown.stderr


def test_json_is_one_sorted_line_and_says_whether_it_worked(folder: Path):
    words = [*DECIDE, "--false-alarm", "5", "--miss", "400", "--json"]
    shown = run(*words, "--out", "d.csv")
    record = json.loads(shown.stdout)
    assert (record["ok"], record["schema"], set(record)) == (
        True,
        SCHEMA,
        {"ok", "schema", "result"},
    )
    assert shown.stdout.count("\n") == 1
    assert shown.stdout == json.dumps(record, sort_keys=True, separators=(",", ":")) + "\n"
    refused = run(*words, "--out", "d.csv")
    assert refused.exit_code == 2
    record = json.loads(refused.stdout)
    assert (record["ok"], record["schema"], set(record)) == (
        False,
        SCHEMA,
        {"ok", "schema", "error"},
    )
    assert set(record["error"]) == {"kind", "code", "message"}
    assert "--force" in record["error"]["message"]
    assert run(*words, "--out", "d.csv", "--force").exit_code == 0
    assert "--out d.csv" in json.loads(run(*words).stdout)["error"]["message"]


@pytest.mark.parametrize("form", FORMS)
def test_every_form_of_a_table_is_read_from_a_file_and_a_pipe(form: str, folder: Path):
    costs = ["--false-alarm", "5", "--miss", "400", "--to", "csv"]
    expected = run(*DECIDE, *costs)
    assert expected.exit_code == 0
    raw = to_file(tables()["p"], form)
    for name in (
        f"q.{'arrow' if form == 'stream' else form}",
        "q.csv",
    ):  # content counts, not names
        Path(name).write_bytes(raw)
        if form == "tsv" and name == "q.csv":
            continue  # text has no first bytes that say what it is
        shown = run("decide", name, "--prob", "prob", *costs)
        assert shown.exit_code == 0, shown.stderr
        assert actions(shown) == actions(expected)
    piped = run("decide", "-", "--prob", "prob", *costs, stdin=raw)
    assert piped.exit_code == 0, piped.stderr
    assert actions(piped) == actions(expected)


def actions(shown: Result) -> list[str]:
    """Return the column of actions; numbers may be spelt otherwise in another format."""
    lines = [line.split(",") for line in shown.stdout.splitlines()]
    place = lines[0].index("action")
    return [line[place] for line in lines]


@pytest.mark.parametrize("ending", ["csv", "tsv", "csv.gz", "csv.zst", "parquet", "arrow"])
def test_every_form_of_a_table_is_written_and_read_back(ending: str, folder: Path):
    costs = ["--false-alarm", "5", "--miss", "400"]
    expected = run(*DECIDE, *costs)
    assert run(*DECIDE, *costs, "--out", f"d.{ending}").exit_code == 0
    again = run("decide", f"d.{ending}", "--prob", "prob", *costs, "--as", "again", "--to", "csv")
    assert again.exit_code == 0, again.stderr
    assert actions(again) == actions(expected)
    assert sorted(os.listdir(folder)) == sorted(["p.csv", f"d.{ending}"])


def test_the_words_for_missing_are_those_on_the_page(folder: Path):
    listed = re.search(r"Missing are empty cells, (.*?) and what", TEXT)
    assert listed
    for word in ["", *re.findall(r"`(.+?)`", listed[1])]:
        Path("s.csv").write_text("score,label\n3,1\n2.7,0\n2.6,0\n1," + word + "\n0,\n")
        shown = run(
            *["estimate", "s.csv", "--score", "score", "--label", "label", "--threshold", "2.5"],
            "--json",
        )
        assert shown.exit_code == 0, (word, shown.output)


def test_an_estimate_is_the_object_on_the_page(folder: Path):
    listed = re.search(r"An estimate is an object with (.*?)\. JSON has", TEXT, re.DOTALL)
    assert listed
    shown = run("evaluate", "p.csv", "--prob", "prob", "--label", "fraud", "--json")
    found = list(objects_with(json.loads(shown.stdout), "low"))
    assert found
    assert all(set(one) == set(re.findall(r"`(\w+)`", listed[1])) for one in found)


def objects_with(value: object, key: str) -> Iterator[dict[str, object]]:
    """Return the objects inside of a result that have a key."""
    if isinstance(value, dict):
        if key in value:
            yield value
        for item in value.values():
            yield from objects_with(item, key)
    elif isinstance(value, list):
        for item in value:
            yield from objects_with(item, key)


def test_the_same_command_gives_the_same_numbers_whatever_the_threads(folder: Path):
    Path("s.csv").write_bytes(to_file(tables()["scores"], "csv"))
    Path("new.csv").write_bytes(to_file(tables()["new"], "csv"))
    Path("m.scarce").write_bytes(models()["model"])
    words = ["--score", "score", "--label", "label", "--threshold", "2.5", "--json"]
    first, again = (run("estimate", "s.csv", *words) for _ in "12")
    assert (first.exit_code, first.stdout) == (0, again.stdout)
    one, two = (
        run("predict", "m.scarce", "new.csv", "--threads", threads).stdout for threads in "12"
    )
    assert one == two
    assert one.count("\n") == len(tables()["new"].rows) + 1


def test_cells_are_handed_on_as_they_were_written(folder: Path):
    Path("q.csv").write_text("id,note,prob\n007,1.50,0.2\n08,,0.9\n")
    shown = run("decide", "q.csv", "--prob", "prob", "--false-alarm", "5", "--miss", "400")
    assert [line.split(",")[:3] for line in shown.stdout.splitlines()[1:]] == [
        ["007", "1.50", "0.2"],
        ["08", "", "0.9"],
    ]


# --- settings and environment ---------------------------------------------------------------------


def test_the_page_s_settings_are_taken_and_a_flag_wins_over_the_environment_over_the_file(
    folder: Path,
):
    example = re.search(r"```toml\n(.*?)```", TEXT, re.DOTALL)
    assert example
    Path("scarce.toml").write_text(example[1])
    flagged = ["decide", "p.csv", "--prob", "prob", "--false-alarm", "5"]

    def taken(*words: str, **env: str) -> list[str]:
        shown = run(*DECIDE, *words, env=env)
        assert shown.exit_code == 0, shown.stderr
        assert "scarce.toml" in shown.stderr
        return actions(shown)

    def flags(miss: str) -> list[str]:
        Path("scarce.toml").rename("away")
        shown = actions(run(*flagged, "--miss", miss))
        Path("away").rename("scarce.toml")
        return shown

    assert len({tuple(flags(miss)) for miss in ("400", "40", "4")}) == 3
    assert taken() == flags("400")
    assert taken(SCARCE_DECIDE_MISS="40") == flags("40")
    assert taken("--miss", "4", SCARCE_DECIDE_MISS="40") == flags("4")


def test_a_setting_that_is_no_option_is_refused_with_the_one_meant(folder: Path):
    Path("scarce.toml").write_text("[decide]\nfalse-alarms = 5\n")
    shown = run(*DECIDE, "--miss", "400")
    assert shown.exit_code == 3
    assert "[settings-key]" in shown.stderr.replace("false-alarms", "")


def test_the_variables_on_the_page_are_those_of_the_code():
    used = {
        name
        for path in SOURCE.rglob("*.py")
        for name in re.findall(r"environ(?:\.get\(|\[)\s*\"([A-Z_]+)\"", path.read_text())
    }
    listed = set(re.findall(r"^\| `([A-Z_]+)`", TEXT, re.MULTILINE)) - {"SCARCE_DECIDE_MISS"}
    assert listed == used - {"LOCALAPPDATA", "XDG_CACHE_HOME"}


def test_columns_complete_from_the_file_typed_before(folder: Path):
    asked = {"_SCARCE_COMPLETE": "bash_complete", "COMP_WORDS": "scarce decide p.csv --prob p"}
    code = "from scarce.cli.main import main; main()"
    done = subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | asked | {"COMP_CWORD": "4"},
        capture_output=True,
        text=True,
        timeout=60,
    )
    assert done.stdout == "plain,prob\n"
