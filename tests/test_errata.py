"""docs/errata.md: every slip has a test that exists, a file that exists, and says what we do."""

import ast
import re
from functools import cache

import pytest

from tests.oracle import errata, errata_decisions, errata_rare, errata_scores
from tests.oracle.errata_page import HEAD, ROOT, TEXT, Row, cells_of, rows_of

PAPERS = ("000", "001", "002", "003", "004")
ROWS = rows_of(TEXT)
MODULES = (errata, errata_rare, errata_scores, errata_decisions)
UNMEASURED = ("by reading", "left open")


@cache
def names_in(path):
    """Names of the test functions of a file, read without running it."""
    tree = ast.parse((ROOT / path).read_text())
    return {node.name for node in tree.body if isinstance(node, ast.FunctionDef)}


def faults(row):
    """Say what is wrong with a row, in words."""
    found = [f"no {name}" for name, cell in zip(HEAD, row[1:], strict=True) if not cell.strip(" -")]
    named = re.findall(r"`(tests/[\w/]+\.py)::(test_\w+)`", row.test)
    if not named or len(named) != row.test.count("`") // 2:
        found.append(f"test cell names no test: {row.test}")
    for path, name in named:
        if not (ROOT / path).is_file():
            found.append(f"no file {path}")
        elif name not in names_in(path):
            found.append(f"no test {name} in {path}")
    modules = re.findall(r"`([\w/]+\.py)`", row.here)
    if not modules:
        found.append("here names no module")
    for module in modules:
        if not any((ROOT / base / module).is_file() for base in ("src/scarce", ".")):
            found.append(f"no module {module}")
    return found


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row.where)
def test_every_row_names_a_test_a_module_and_what_we_do(row):
    assert not faults(row)


def test_faults_are_found():
    good = ROWS[0]
    assert not faults(good)
    path = "tests/oracle/test_errata.py"
    for change, words in (
        ({"here": ""}, "no here"),
        ({"here": "nothing"}, "here names no module"),
        ({"here": "`losses/none.py`"}, "no module losses/none.py"),
        ({"test": "-"}, "no test"),
        ({"test": "`test_alone`"}, "names no test"),
        ({"test": "`tests/none.py::test_a`"}, "no file tests/none.py"),
        ({"test": f"`{path}::test_none`"}, "no test test_none"),
        ({"test": f"`{path}::paragraph`"}, "names no test"),
    ):
        assert any(words in fault for fault in faults(good._replace(**change))), words


def test_every_paper_has_its_section_and_its_table():
    sections = re.findall(r"^## (00\d): ", TEXT, flags=re.MULTILINE)
    assert tuple(sections) == PAPERS
    for paper in PAPERS:
        own = [row for row in ROWS if row.section.startswith(f"{paper}: ")]
        assert len(own) >= 5
        assert all(row.where.startswith(paper) for row in own)
    heads = [line for line in TEXT.splitlines() if line.startswith("| where")]
    assert len(heads) == TEXT.count("\n## ")
    assert all(cells_of(line) == list(HEAD) for line in heads)


def test_no_place_is_listed_twice():
    places = [row.where for row in ROWS]
    assert len(places) == len(set(places))


def test_every_measured_row_has_a_test_beside_the_functions_that_print_it():
    """A number is from tests/oracle, whose tests compare it with the page."""
    oracle = re.compile(r"tests/oracle/test_errata\w*\.py::")
    for row in ROWS:
        if row.measured not in UNMEASURED:
            assert oracle.search(row.test), row.where
            assert re.search(r"\d", row.measured) or "linear programm" in row.measured, row.where


def test_every_function_that_prints_numbers_is_named_on_the_page():
    for module in MODULES:
        assert f"`{module.__name__}`" in TEXT or f"`python -m {module.__name__}`" in TEXT
        for erratum in module.ERRATA:
            assert erratum.__doc__


def items():
    """The five lines at the top."""
    top = TEXT.split("\n## ")[0]
    return [" ".join(part.split()) for part in re.findall(r"^\d\. (.*(?:\n   .*)*)", top, re.M)]


@pytest.mark.parametrize("item", items(), ids=lambda item: item[2:24])
def test_numbers_at_the_top_are_those_of_the_rows(item):
    """Every number of a line stands in what was measured, or printed, in a row that it names."""
    places = re.findall(r"\((00\d[^()]*)\)", item)
    named = [row for row in ROWS if row.where in places]
    assert len(named) == len(places) > 0, places
    text = " ".join(row.measured + " " + row.printed for row in named)
    words = re.sub(r"\((00\d[^()]*)\)", "", item)
    words = re.sub(r"\b00\d\b", "", words)  # the papers' numbers
    numbers = re.findall(r"\d[\d.,]*\d|\d", words)
    for number in numbers:
        assert re.search(rf"(?<![\d.]){re.escape(number)}(?![\d])", text), number


def test_there_are_five_lines_at_the_top():
    assert len(items()) == 5


def test_pages_of_the_maths_lead_here_and_do_not_repeat_it():
    for name in ("gev", "maxent", "scores"):
        page = (ROOT / "docs" / "maths" / f"{name}.md").read_text()
        assert "(../errata.md)" in page
        assert not re.search(r"^\| 00\d", page, flags=re.MULTILINE)
        assert f"(maths/{name}.md" in TEXT


def test_rows_are_read_as_they_are_written():
    text = "## 009: x\n\n| where | printed | right | here | measured | test |\n|---|---|\n"
    text += "| 009 1 | P(y \\| x) | b | c | d | e |\n"
    assert rows_of(text) == [Row("009: x", "009 1", "P(y \\| x)", "b", "c", "d", "e")]
