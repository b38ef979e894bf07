"""Every command that the help or a page shows is run, in a folder that `scarce demo` has written.

Lines that begin with `scarce ` in a verb's help, and those of bash, sh and console fences in the
README and docs, are typed as they stand: a plain command in this process, one with a redirection or
another program in a real shell. A pipe between scarce commands is a real one on the reference page;
elsewhere one command's bytes are given to the next, to save the time of starting. Exit code 0 is
expected, or the code in a comment (`# exit 4`). The examples of one verb, or of one page, share a
fresh copy of the folder and run in order.
"""

from __future__ import annotations

import contextlib
import os
import re
import shlex
import shutil
import subprocess
import sys
import warnings
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import NamedTuple

import click
import pytest
from click.testing import CliRunner

from scarce.cli.main import VERBS, scarce
from scarce.errors import DataWarning

ROOT = Path(__file__).parent.parent.parent
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
REFERENCE = ROOT / "docs" / "guide" / "command-line.md"
ROWS = 10_000  # of the demo: enough for the bounds that the examples check
CONTRACT = ["train.csv", "test.csv", "new.parquet", "m.scarce", "p.csv"]
CONTRACT += ["scores.csv", "costs.toml", "sightings.csv"]
FENCE = re.compile(r"^(`{3,})(bash|sh|console)\s*\n(.*?)^\1\s*$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"(?:^|[|;&(]|\bdo|\bthen|\btime|\w=\S*)\s*scarce\s+(?![|&;)])")
SHELL = re.compile(r"[<>$&;`*?(){}~!]|^\w+=")  # beside pipes
CODE = re.compile(r"#\s*exit (\d+)\s*$")


class Example(NamedTuple):
    """A command line as a reader would type it, and the code it should end with."""

    line: str
    code: int

    @property
    def stages(self) -> list[list[str]] | None:
        """The words of every scarce command in the pipe; None if it takes a shell to run it."""
        if SHELL.search(re.sub(r"'[^']*'|\"[^\"$`]*\"", "", self.line)):
            return None
        stages = [[]]
        for word in shlex.split(self.line):
            if word == "|":
                stages.append([])
            else:
                stages[-1].append(word)
        return stages if all(words[:1] == ["scarce"] for words in stages) else None


def read_examples(lines: Iterable[str], *, prompt: bool = False) -> list[Example]:
    """Find the commands in lines of text: continued lines are joined, other lines are left out."""
    found = []
    joined = ""
    for line in lines:
        if joined:
            joined += " " + line.strip()
        elif prompt and not line.startswith("$ "):
            continue
        else:
            joined = line.removeprefix("$ ").strip() if prompt else line.strip()
        if joined.endswith("\\"):
            joined = joined[:-1].rstrip()
            continue
        if COMMAND.search(joined):
            code = CODE.search(joined)
            found.append(Example(re.sub(r"\s+#\s.*$", "", joined), int(code[1]) if code else 0))
        joined = ""
    return found


def of_verb(name: str) -> list[Example]:
    """Return the examples in a verb's help."""
    command = scarce.get_command(click.Context(scarce), name)
    assert command is not None
    lines = (command.help or "").replace("\b", "").splitlines()
    begun = False
    kept = []
    for line in lines:  # prose may mention a command; an example begins its line
        begun = begun or line.strip().startswith("scarce ")
        if begun:
            kept.append(line)
            begun = line.rstrip().endswith("\\")
    return read_examples(kept)


def of_page(path: Path) -> list[Example]:
    """Return the examples in a page's fences."""
    found = []
    for _, kind, text in FENCE.findall(path.read_text(encoding="utf-8")):
        found += read_examples(text.splitlines(), prompt=kind == "console")
    return found


def run(
    example: Example, folder: Path, cache: Path, *, real_pipes: bool = False
) -> tuple[int, str, str]:
    """Type the example in a folder; return its code, and what it wrote on stdout and stderr."""
    stages = example.stages
    if stages is None or (real_pipes and len(stages) > 1):
        path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", "-o", "pipefail", "-c", example.line],
            cwd=folder,
            env=os.environ | {"PATH": path, "SCARCE_CACHE": str(cache)},
            capture_output=True,
            timeout=120,
        )
        return done.returncode, done.stdout.decode(errors="replace"), done.stderr.decode()
    code, out, err = 0, b"", ""
    with contextlib.chdir(folder), warnings.catch_warnings():
        warnings.simplefilter("default", DataWarning)  # words about the data are not errors here
        for words in stages:
            shown = CliRunner().invoke(scarce, words[1:], prog_name="scarce", input=out)
            code, out, err = shown.exit_code or code, shown.stdout_bytes, err + shown.stderr
    return code, out.decode(errors="replace"), err


def run_all(
    examples: Iterable[Example], folder: Path, cache: Path, *, real_pipes: bool = False
) -> None:
    for example in examples:
        code, out, err = run(example, folder, cache, real_pipes=real_pipes)
        said = f"{example.line}\nended with {code}, not {example.code}:\n{err[-2000:]}{out[-500:]}"
        assert code == example.code, said
        assert "Traceback" not in err, said
        assert out or err or ">" in example.line, f"{example.line}\nsaid nothing"


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Path]:
    """The folder of `scarce demo`, made once."""
    folder = tmp_path_factory.mktemp("demo")
    cache = tmp_path_factory.mktemp("cache")
    code, _, err = run(Example(f"scarce demo --rows {ROWS} --out {folder}", 0), folder, cache)
    assert code in (0, 4), err  # with so few rows a figure may leave its range
    return folder


@pytest.fixture
def folder(written: Path, tmp_path: Path) -> Path:
    """A copy that the examples of one verb or page may write into."""
    return Path(shutil.copytree(written, tmp_path / "copy"))


def test_the_demo_writes_what_the_examples_use(written: Path):
    assert not {name for name in CONTRACT if not (written / name).is_file()}


@pytest.mark.parametrize("name", list(VERBS))
def test_the_examples_of_a_verb_run(name: str, folder: Path, tmp_path: Path):
    examples = of_verb(name)
    assert 1 <= len(examples) <= 4, "two or three examples to copy"
    assert all(example.line.count(f"scarce {name}") for example in examples)
    run_all(examples, folder, tmp_path)


@pytest.mark.parametrize(
    "path", [p for p in PAGES if of_page(p)], ids=lambda p: str(p.relative_to(ROOT))
)
def test_the_commands_of_a_page_run(path: Path, folder: Path, tmp_path: Path):
    run_all(of_page(path), folder, tmp_path, real_pipes=path == REFERENCE)


# --- the reader of examples -----------------------------------------------------------------------


def test_commands_are_found_in_a_page(tmp_path: Path):
    page = tmp_path / "page.md"
    page.write_text(
        "scarce prose is not run\n\n"
        "```bash\npip install 'scarce[plot]'\nscarce fit a.csv \\\n    --out m.scarce  # why\n"
        "scarce check p.csv   # exit 4\n```\n\n"
        "```python\nscarce nothing here\n```\n\n"
        "```console\n$ scarce predict m a | scarce decide --miss 3\nscarce output, not typed\n```\n"
    )
    assert of_page(page) == [
        Example("scarce fit a.csv --out m.scarce", 0),
        Example("scarce check p.csv", 4),
        Example("scarce predict m a | scarce decide --miss 3", 0),
    ]
    assert [len(example.stages or []) for example in of_page(page)] == [1, 1, 2]


@pytest.mark.parametrize(
    "line",
    [
        "scarce predict m a > p.csv",
        "gzip -c a | scarce predict m -",
        "scarce doctor | head -1",
        "SCARCE_CACHE=. scarce doctor",
        "scarce fit *.csv",
    ],
)
def test_what_only_a_shell_can_do_is_left_to_one(line: str):
    assert Example(line, 0).stages is None


def test_bytes_go_from_command_to_command(folder: Path, tmp_path: Path):
    line = "scarce predict m.scarce new.parquet --to arrow"
    line += " | scarce decide --miss 400 --false-alarm '0.05 * amount' --to csv"
    inside = run(Example(line, 0), folder, tmp_path)
    outside = run(Example(line, 0), folder, tmp_path, real_pipes=True)
    assert inside == outside
    assert inside[1].startswith("id,")
    assert run(Example("scarce decide --mis 3 | scarce doctor", 2), folder, tmp_path)[0] == 2


@pytest.mark.parametrize(
    ("line", "code"),
    [
        ("scarce doctor --jsn", 2),
        ("scarce doctor --jsn | cat", 2),
        ("scarce --version > v.txt && grep -q scarce v.txt && cat v.txt", 0),
    ],
)
def test_a_wrong_code_is_noticed(line: str, code: int, tmp_path: Path):
    assert run(Example(line, code), tmp_path, tmp_path)[0] == code
    with pytest.raises(AssertionError, match="ended with"):
        run_all([Example(line, code + 1)], tmp_path, tmp_path)
