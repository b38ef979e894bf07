"""How large is the house? Counts that show whether a change made it easier to take over.

    python scripts/size.py [FOLDER] [--satellites]      FOLDER holds src/scarce and tests

Code lines are lines with a token outside docstrings and comments. A satellite is a module that
exactly one other module imports, its sibling. A bare Any is a parameter annotated with Any alone.
"""

from __future__ import annotations

import ast
import io
import sys
import tokenize
from collections import defaultdict
from pathlib import Path

PASSED_OVER = (tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT)
ERRORS = ("ScarceError", "UsageError", "DataError", "StoreError", "WorkerError", "CheckError")


def docstring_lines(tree: ast.Module) -> set[int]:
    """Lines of docstrings."""
    found: set[int] = set()
    for node in ast.walk(tree):
        body = getattr(node, "body", None)
        if isinstance(body, list) and body and isinstance(body[0], ast.Expr):
            value = body[0].value
            if isinstance(value, ast.Constant) and isinstance(value.value, str):
                found |= set(range(value.lineno, (value.end_lineno or 0) + 1))
    return found


def code_lines(text: str) -> int:
    """Lines with code on them."""
    skipped = docstring_lines(ast.parse(text))
    lines: set[int] = set()
    for token in tokenize.generate_tokens(io.StringIO(text).readline):
        if token.type not in PASSED_OVER and token.string.strip():
            lines |= set(range(token.start[0], token.end[0] + 1))
    return len(lines - skipped)


def imports(tree: ast.Module, modules: dict[str, Path]) -> set[str]:
    """Modules of the package that a module imports."""
    found = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module:
            for alias in node.names:
                full = f"{node.module}.{alias.name}"
                found.add(full if full in modules else node.module)
        elif isinstance(node, ast.Import):
            found |= {alias.name for alias in node.names}
    return found & set(modules)


def raises(tree: ast.Module) -> tuple[int, int]:
    """How many errors are raised, and how many of them have a code."""
    calls = [
        node
        for node in ast.walk(tree)
        if isinstance(node, ast.Call) and getattr(node.func, "id", "") in ERRORS
    ]
    coded = [one for one in calls if any(word.arg == "code" for word in one.keywords)]
    return len(calls), len(coded)


def main(folder: Path) -> None:
    """Print the counts."""
    source = folder / "src" / "scarce"
    modules = {}
    for path in sorted(source.rglob("*.py")):
        parts = path.relative_to(source.parent).with_suffix("").parts
        modules[".".join(parts).removesuffix(".__init__")] = path
    trees = {name: ast.parse(path.read_text()) for name, path in modules.items()}
    importers: dict[str, set[str]] = defaultdict(set)
    for name, tree in trees.items():
        for other in imports(tree, modules) - {name}:
            importers[other].add(name)
    satellites = [
        name
        for name, path in modules.items()
        if path.name != "__init__.py"
        and len(importers[name]) == 1
        and next(iter(importers[name])).rpartition(".")[0] == name.rpartition(".")[0]
    ]
    parameters = [
        argument
        for tree in trees.values()
        for node in ast.walk(tree)
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef))
        for argument in [*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs]
        if argument.annotation is not None
    ]
    bare = sum(getattr(one.annotation, "id", "") == "Any" for one in parameters)
    problems = [raises(tree) for tree in trees.values()]
    tests = list((folder / "tests").rglob("*.py"))
    rows = {
        "modules": sum(path.name != "__init__.py" for path in modules.values()),
        "code lines": sum(code_lines(path.read_text()) for path in modules.values()),
        "modules that one sibling alone imports": len(satellites),
        "parameters": len(parameters),
        "parameters annotated Any": bare,
        "errors raised": sum(all_ for all_, _ in problems),
        "errors raised with a code": sum(coded for _, coded in problems),
        "lines of tests": sum(len(path.read_text().splitlines()) for path in tests),
    }
    for name, value in rows.items():
        print(f"{name:40} {value:>8,}")
    if "--satellites" in sys.argv:
        print("\n".join(f"{name} <- {next(iter(importers[name]))}" for name in satellites))


if __name__ == "__main__":
    given = [word for word in sys.argv[1:] if not word.startswith("--")]
    main(Path(given[0]) if given else Path(__file__).parent.parent)
