"""The documentation: true, complete, and leading somewhere."""

import re
from pathlib import Path

import pytest
from click.testing import CliRunner

import scarce
from scarce.cli.main import VERBS
from scarce.cli.main import scarce as command

ROOT = Path(__file__).parent.parent
FOLDERS = ("src", "tests", "docs", "benchmarks", "experiments", "scripts")
FILES = sorted([*ROOT.glob("*.*"), *(p for name in FOLDERS for p in (ROOT / name).rglob("*.*"))])
PAGES = [path for path in FILES if path.suffix == ".md"]
README = (ROOT / "README.md").read_text()


def test_the_readme_s_table_is_what_the_demo_prints(tmp_path):
    shown = CliRunner().invoke(command, ["demo", "--out", str(tmp_path)])
    assert shown.exit_code == 0
    assert shown.stdout.strip() in README


def test_the_readme_opens_with_the_two_commands_and_a_picture():
    first_screen = README[:1200]
    assert first_screen.index("make demo") < first_screen.index("make test")
    assert "docs/images/report.png" in first_screen
    assert "docs/images/report-phone.png" in first_screen


@pytest.mark.parametrize("path", PAGES, ids=lambda p: str(p.relative_to(ROOT)))
def test_links_lead_to_files(path):
    for target in re.findall(r"\]\(([^)#]+)\)", path.read_text()):
        if not target.startswith(("http", "mailto")):
            assert (path.parent / target).exists(), target


def test_every_public_function_and_verb_is_in_the_readme():
    names = [n for n in scarce.__all__ if not n.endswith(("Error", "Warning"))]
    missing = [n for n in names if n not in README and n not in ("Estimate", "FitReport")]
    missing += [verb for verb in VERBS if f"scarce {verb}" not in README]
    assert not missing


def test_every_room_is_in_the_architecture():
    page = (ROOT / "docs" / "architecture.md").read_text()
    source = ROOT / "src" / "scarce"
    rooms = {p.name if p.is_dir() else p.stem for p in source.iterdir() if p.suffix in ("", ".py")}
    for room in rooms - {"__init__", "__main__", "__pycache__"}:
        assert f"`{room}`" in page or f"`{room}/`" in page, room


def test_no_path_of_a_machine_and_no_host_in_the_project():
    endings = (".py", ".md", ".toml", ".txt", ".jsonl", ".json", ".cff", ".yaml")
    marks = re.compile(r"/(?:home|root|work|Users)/\w|https?://(?:localhost|\d+\.\d+)")
    for path in FILES:
        if path.suffix in endings and path != Path(__file__):
            found = marks.search(path.read_text())
            assert not found, f"{path}: {found}"
