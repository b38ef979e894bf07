"""Every sentence that scarce can say, rendered for Python and for the command line, on one page.

`python -m tests.test_messages` writes tests/messages.txt anew; it is meant to be read by a person.
This is the only test that a harmless rewording breaks. Fields are shown as <name>.
"""

from __future__ import annotations

import ast
import re
import string
from collections.abc import Iterator
from pathlib import Path

import pytest

from scarce.cli.flags import Flags
from scarce.cli.options import OPTIONS
from scarce.errors import UNSET, Argument, Phrase, Problem

SOURCE = Path(__file__).parent.parent / "src" / "scarce"
PAGE = Path(__file__).parent / "messages.txt"
ERRORS = {"ScarceError", "UsageError", "DataError", "StoreError", "WorkerError", "CheckError"}
SPEAKERS = {*ERRORS, "NoPictures", "Problem", "warn_user", "warn", "cell_error"}
PLACES = {"cell_error": {"place", "column", "row", "file", "line"}}  # fields that it adds itself
FILES = sorted(SOURCE.rglob("*.py"))


class Place:
    """Stands for a value: whatever its format, it shows its name."""

    def __init__(self, name: str) -> None:
        self.name = name

    def __format__(self, spec: str) -> str:
        return f"<{self.name}>"

    def __repr__(self) -> str:
        return f"<{self.name}>"


def calls(path: Path) -> Iterator[ast.Call]:
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        name = getattr(node.func, "id", "") if isinstance(node, ast.Call) else ""
        if name in SPEAKERS and not _passes_on(node):
            yield node


def _passes_on(call: ast.Call) -> bool:
    """Whether a problem made elsewhere is handed on, as in DataError(problem)."""
    passed = (ast.Name, ast.Attribute, ast.Call, ast.BinOp, ast.Subscript)
    return bool(call.args) and isinstance(call.args[0], passed)


def constants(node: ast.AST | None) -> list[str]:
    """All texts that an expression may be."""
    if node is None:
        return []
    if isinstance(node, ast.Constant):
        return [node.value] if isinstance(node.value, str) else []
    if isinstance(node, ast.IfExp):
        return constants(node.body) + constants(node.orelse)
    if isinstance(node, (ast.List, ast.Tuple)):
        return [text for item in node.elts for text in constants(item)]
    if isinstance(node, ast.Starred):
        return constants(node.value)
    return []


def value_of(name: str, node: ast.AST) -> object:
    """What a keyword's value looks like on the page."""
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Argument" and node.args:
        called = node.args[0].value if isinstance(node.args[0], ast.Constant) else f"<{name}>"
        more = {word.arg: word.value for word in node.keywords}
        given = node.args[1] if len(node.args) > 1 else more.get("value")
        call = more.get("call")
        told = UNSET if given is None else ...
        if isinstance(given, ast.Constant):
            told = given.value
        return Argument(called, told, call.value if isinstance(call, ast.Constant) else "")
    if isinstance(node, ast.Call) and getattr(node.func, "id", "") == "Phrase":
        texts = [*node.args, *(word.value for word in node.keywords)]
        return Phrase(*(one.value if isinstance(one, ast.Constant) else "<...>" for one in texts))
    return Place(name)


def sentences() -> list[str]:
    lines = []
    for path in FILES:
        for call in calls(path):
            words = {word.arg: word.value for word in call.keywords}
            fields = {
                name: value_of(name, node)
                for name, node in words.items()
                if name not in ("code", "remedy", None)
            }
            code = words.get("code")
            code = code.value if isinstance(code, ast.Constant) else "<code>"
            remedies = constants(words.get("remedy"))
            for text in constants(call.args[0] if call.args else None):
                named = set().union(*map(_places, (text, *remedies))) if words else set()
                held = {name: Place(name) for name in named} | fields
                problem = Problem(text, code=str(code), remedy=remedies, **held)
                lines.append((f"[{code}] {path.relative_to(SOURCE)}", problem))
    page, shell = [], Flags([option.key for option in OPTIONS.values()])
    for head, problem in sorted(lines):
        flags = problem.render(shell)
        page += [head, f"    {problem}"] + ([f"    {flags}"] if flags != problem else [])
    return page


def _places(text: str) -> set[str]:
    return {name for _, name, _, _ in string.Formatter().parse(text) if name}


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_every_problem_is_data(path: Path):
    """A code, a constant text, and a field for every place in it."""
    for call in calls(path):
        where = f"{path.relative_to(SOURCE)}:{call.lineno}"
        words = {word.arg: word.value for word in call.keywords}
        assert "code" in words, f"{where}: no code"
        code = words["code"]
        if isinstance(code, ast.Constant):
            assert re.fullmatch(r"[a-z][a-z0-9]*(-[a-z0-9]+)*", str(code.value)), where
        assert call.args, where
        texts = constants(call.args[0])
        assert texts, f"{where}: the text must be a constant with named places"
        if None in words:  # ** hands fields on
            continue
        for text in [*texts, *constants(words.get("remedy"))]:
            unknown = _places(text) - set(words) - PLACES.get(call.func.id, set())
            assert not unknown or not set(words) - {"code", "remedy"}, f"{where}: {unknown}"


def test_the_page_shows_every_sentence():
    held = PAGE.read_text(encoding="utf-8").splitlines()
    assert sentences() == held, "Read the new sentences, then run: python -m tests.test_messages"


if __name__ == "__main__":
    PAGE.write_text("\n".join(sentences()) + "\n", encoding="utf-8")
