"""Text from somebody's file cannot act on the terminal, in any verb; commands can be pasted."""

from __future__ import annotations

import ast
import csv
import io
import re
import shlex
import shutil
import subprocess
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

import scarce.cli
from scarce.cli.main import scarce as command
from scarce.cli.next_command import path_word, shell_command, shell_word
from scarce.cli.output import say, table, write_line
from scarce.errors import printable

CLIPBOARD = "\x1b]52;c;UFdORUQ=\x07"
CLEAR = "\x1b[2J\x1b[H"
C1 = "\x9b2J\x85"
BIDI = "\u202egpj\u2066\u200f\u061c"
UNSEEN = "\u200b\ufeff\u2028"
EVIL = CLIPBOARD + CLEAR + C1 + BIDI + UNSEEN + "\r\x08\x7f"
COLOUR = re.compile(r"\x1b\[[0-9;]*m")  # rich's and click's own, the only codes allowed


class Terminal(io.TextIOWrapper):
    """A stream that says it is a terminal and keeps what is written."""

    def __init__(self) -> None:
        super().__init__(io.BytesIO(), encoding="utf-8", newline="")

    def isatty(self) -> bool:
        return True

    def text(self) -> str:
        self.flush()
        return self.buffer.getvalue().decode()  # type: ignore[attr-defined]


def on_terminal(monkeypatch: pytest.MonkeyPatch, *words: object) -> tuple[int, str, str]:
    """Run a verb as on a terminal: the exit code, what stands on stdout and on stderr."""
    out, err = Terminal(), Terminal()
    with monkeypatch.context() as patch:
        patch.setattr("sys.stdout", out)
        patch.setattr("sys.stderr", err)
        patch.delenv("NO_COLOR", raising=False)
        patch.setenv("TERM", "xterm-256color")
        patch.setenv("COLUMNS", "100")
        patch.setattr("scarce.cli.output._Pulse._draw", lambda bar: None)  # on a slow machine
        with pytest.raises(SystemExit) as ended:
            command(list(map(str, words)), prog_name="scarce")
    return int(ended.value.code or 0), out.text(), err.text()


def hostile(text: str) -> set[str]:
    """Characters that a terminal would act on or not show."""
    return {one for one in COLOUR.sub("", text) if not one.isprintable()} - {"\n"}


def rows_of(n: int = 240) -> list[dict[str, object]]:
    rng = np.random.default_rng(0)
    x = rng.normal(size=n)
    event = rng.random(n) < 1 / (1 + np.exp(-x))
    return [
        {
            f"x{EVIL}": float(x[i]),
            f"town{EVIL}": f"{'ab'[i % 2]}{EVIL}",
            f"score{EVIL}": float(x[i]),
            f"prob{EVIL}": float(1 / (1 + np.exp(-x[i]))),
            f"label{EVIL}": f"{'yes' if event[i] else 'no'}{EVIL}",
        }
        for i in range(n)
    ]


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with a hostile name, a hostile table and a model learnt from it."""
    path = tmp_path_factory.mktemp("terminal") / f"f{EVIL}"
    try:
        path.mkdir()
    except OSError:
        pytest.skip("this system has no such file names")
    held = rows_of()
    for name, rows in ((f"t{EVIL}.parquet", held), (f"half{EVIL}.parquet", _half_labelled(held))):
        pq.write_table(pa.Table.from_pylist(rows), path / name)
    with pytest.raises(SystemExit) as ended:
        command(["fit", *fit_words(path, "rare"), "--out", str(path / f"m{EVIL}.scarce")])
    assert not ended.value.code
    return path


def _half_labelled(rows: list[dict[str, object]]) -> list[dict[str, object]]:
    kept = [dict(row) for row in rows]
    for row in kept:
        if float(str(row[f"score{EVIL}"])) < 0.5:
            row[f"label{EVIL}"] = None
    return kept


def fit_words(folder: Path, model: str) -> list[str]:
    settings = ["--loss", "logistic", "--ridge", "0.01"] if model == "rare" else []
    return [
        str(folder / f"t{EVIL}.parquet"),
        *("--label", f"label{EVIL}", "--positive", f"yes{EVIL}", "--model", model),
        *("--drop", f"score{EVIL}", "--drop", f"prob{EVIL}", *settings),
    ]


TABLE, MODEL, HALF = f"t{EVIL}.parquet", f"m{EVIL}.scarce", f"half{EVIL}.parquet"
LABEL = ["--label", f"label{EVIL}", "--positive", f"yes{EVIL}"]
SCORED = ["--score", f"score{EVIL}", *LABEL, "--threshold", "0.5"]
MONEY = ["--false-alarm", "5", "--miss", "40"]
PROB = ["--prob", f"prob{EVIL}"]
CASES: dict[str, list[str]] = {
    "predict": ["predict", MODEL, TABLE, "--out", f"p{EVIL}.csv", "--force"],
    "predict, rows on the terminal": ["predict", MODEL, TABLE],
    "predict, dry run": ["predict", MODEL, TABLE, "--dry-run"],
    "evaluate": ["evaluate", MODEL, TABLE, *LABEL, *MONEY],
    "evaluate, table": ["evaluate", TABLE, *PROB, *LABEL, "--threshold", "0.4"],
    "compare": ["compare", TABLE, *LABEL, "--models", "logistic,bayes", "--folds", "2"],
    "compare, files": ["compare", TABLE, MODEL, *LABEL],
    "check": ["check", MODEL, TABLE, *LABEL, "--max-log-loss", "0.0001"],
    "check, scores": ["check", HALF, *SCORED, "--min-recall", "0.9"],
    "decide": ["decide", TABLE, *PROB, *MONEY, "--positive", f"yes{EVIL}"],
    "correct": ["correct", TABLE, *PROB, "--trained-at", "0.5", "--now-at", "0.1"],
    "correct, model": ["correct", MODEL, "--now-at", "0.1", "--out", f"c{EVIL}.scarce", "--force"],
    "estimate": ["estimate", HALF, *SCORED],
    "label": ["label", HALF, *SCORED, "--policy", "audit", "--n", "9", "--out", f"l{EVIL}.csv"],
    "label, plan": ["label", HALF, *SCORED, "--plan"],
    "report": ["report", MODEL, TABLE, *LABEL, "--out", f"r{EVIL}.html", "--force"],
    "no such column": ["evaluate", TABLE, "--prob", f"none{EVIL}", *LABEL],
    "no such file": ["estimate", f"none{EVIL}.csv", *SCORED],
    "no such verb": [f"verb{EVIL}"],
    "no such option": ["fit", f"--o{EVIL}"],
}


@pytest.mark.parametrize("case", CASES)
def test_nothing_in_a_file_acts_on_the_terminal(
    case: str, folder: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(folder)
    Path(f"l{EVIL}.csv").unlink(missing_ok=True)
    code, out, err = on_terminal(monkeypatch, *CASES[case])
    assert (code == 0) == (case.partition(",")[0] not in ("check", *CASES_THAT_FAIL)), err
    assert hostile(out) == set()
    assert hostile(err) == set()
    assert "\\x1b]52;c;" in out + err  # it is shown as what it is


CASES_THAT_FAIL = [case for case in CASES if case.startswith("no such")]


@pytest.mark.parametrize("model", ["rare", "bayes", "maxent", "auto"])
def test_fit_shows_what_it_read(model: str, folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    words = ["fit", *fit_words(Path(), model), "--out", f"n{EVIL}.scarce", "--force"]
    code, out, err = on_terminal(monkeypatch, *words)
    assert code == 0, err
    assert hostile(out) == set()
    assert hostile(err) == set()


def test_scarce_toml_is_cleaned_too(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(tmp_path)
    Path("scarce.toml").write_text('[fit]\nlabel = "a\\u001b[2J"\n')
    Path("t.csv").write_text("x,y\n1,2\n")
    code, out, err = on_terminal(monkeypatch, "fit", "t.csv", "--out", "m.scarce")
    assert code == 3
    assert hostile(out + err) == set()
    assert "\\x1b[2J" in err


def test_data_in_a_file_or_a_pipe_stay_as_they_are(folder: Path, monkeypatch: pytest.MonkeyPatch):
    from click.testing import CliRunner

    monkeypatch.chdir(folder)
    done = CliRunner().invoke(command, ["predict", MODEL, TABLE])
    assert done.exit_code == 0
    assert f"a{EVIL}" in done.stdout_bytes.decode()
    read = list(csv.DictReader(io.StringIO(done.stdout_bytes.decode(), newline="")))
    assert read[0][f"town{EVIL}"] == f"a{EVIL}"


def test_a_terminal_gets_no_binary_table(folder: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.chdir(folder)
    for to in ("arrow", "parquet"):
        code, out, err = on_terminal(monkeypatch, "predict", MODEL, TABLE, "--to", to)
        assert (code, out) == (2, "")
        assert "terminal" in err


def test_cells_stay_on_their_line(capsys: pytest.CaptureFixture[str]):
    table([("a\nscarce: all is well", "1")], columns=("x", "n"))
    assert capsys.readouterr().out.count("\n") == 2
    write_line("a\x1b[2J\nb")
    say("c\u202e")
    assert capsys.readouterr() == ("a\\x1b[2J\nb\n", "c\\u202e\n")


def test_letters_of_all_writing_stay():
    for text in ("Bradýpus", "日本語", "שלום", "नमस्ते", "fraud 100 % 🙂"):
        assert printable(text) == text


def test_only_one_module_prints():
    """A print of its own in a verb would go round the cleaning."""
    for path in Path(scarce.cli.__file__).parent.rglob("*.py"):
        if path.name == "output.py":
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            called = ast.unparse(node.func) if isinstance(node, ast.Call) else ""
            assert called not in ("print", "click.echo", "click.secho", "echo"), path.name
            assert not re.fullmatch(r"sys\.(stdout|stderr)\.write(lines)?", called), path.name


NAMES = [
    "a b; touch PWNED;.scarce",
    "-q.scarce",
    "$(touch PWNED).scarce",
    "it's`x`.scarce",
    "é\t.x",
]


@pytest.mark.parametrize("name", [*NAMES, f"m{EVIL}"])
def test_a_shell_reads_the_words_that_were_meant(name: str):
    bash = shutil.which("bash")
    if bash is None:
        pytest.skip("no bash here")
    line = shell_command("printf", r"%s\0", path_word(name))
    done = subprocess.run([bash, "-c", line], capture_output=True, check=True)
    assert done.stdout.decode() == f"{path_word(name)}\0"
    assert hostile(shell_word(name)) == set()


@pytest.mark.parametrize("name", NAMES)
def test_the_next_line_of_fit_can_be_pasted(
    name: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(tmp_path)
    Path("t.csv").write_text("x,y\n" + "".join(f"{i % 7},{i % 2}\n" for i in range(40)))
    words = ["fit", "t.csv", "--label", "y", "--model", "bayes", "--out", path_word(name)]
    code, _, err = on_terminal(monkeypatch, *words)
    assert code == 0, err
    line = next(line for line in err.splitlines() if line.startswith("Next: "))
    if "$'" in line:
        assert line == "Next: scarce predict $'é\\x09.x' NEW-ROWS.csv --out p.csv"
        return
    read = shlex.split(line.removeprefix("Next: "))
    assert read == ["scarce", "predict", path_word(name), "NEW-ROWS.csv", "--out", "p.csv"]
