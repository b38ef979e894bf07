"""Who may import whom, as docs/architecture.md says; and every module says what it is for."""

import ast
from pathlib import Path

import pytest

SOURCE = Path(__file__).parent.parent / "src" / "scarce"

BASE = {"errors", "results", "checks", "scoring", "bootstrap"}
BELOW = BASE | {"engine", "io", "lazy"}  # what every subject stands on
MAY_IMPORT = {
    "errors": set(),
    "lazy": set(),
    "results": {"errors"},
    "scoring": {"errors"},
    "checks": BASE | {"engine"},
    "bootstrap": BASE | {"engine"},
    "engine": BASE | {"io"},
    "io": BASE | {"engine"},
    "datasets": {"checks", "engine", "errors"},
    "missing": {"errors", "results", "checks", "engine"},
    "linear": BELOW | {"missing"},
    "losses": {"linear"},
    "maxent": BELOW | {"missing"},
    "gaussian": BELOW | {"missing"},
    "auto": BELOW | {"missing", "linear", "maxent", "gaussian"},
    "prior": BELOW | {"MaxentClassifier"},  # that by its public name, when it is asked for
    "decisions": BELOW | {"prior", "missing"},
    "amounts": BELOW,
    "evaluation": BELOW | {"decisions", "prior"},
    "missed": BELOW | {"evaluation", "decisions"},
    "plots": BELOW | {"evaluation", "decisions", "missed", "linear"},
    "report": BASE | {"io", "plots"},  # computes nothing
    "cli": None,  # public names only: tested apart
    "__init__": None,
    "__main__": {"cli"},
}
PUBLIC_MODULES = {
    "checks",  # what is typed is read by the readers of arguments
    "errors",
    "results",
    "scoring",
    "bootstrap",
    "engine",
    "io",
    "datasets",
    "evaluation",
    "missed",
    "plots",
    "prior",
    "report",
}


def room(path):
    return path.relative_to(SOURCE).parts[0].removesuffix(".py")


def for_types_only(node):
    return isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING"


def imported(path, *, types=True):
    """Names of scarce that a module imports; without `types`, those it imports when it runs."""
    tree = ast.parse(path.read_text())
    if not types:
        tree.body = [node for node in tree.body if not for_types_only(node)]
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module and node.level == 0:
            names = [node.module] if node.module != "scarce" else []
            names += [f"scarce.{a.name}" for a in node.names if node.module == "scarce"]
        elif isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            continue
        yield from (name for name in names if name.partition(".")[0] == "scarce")


FILES = sorted(SOURCE.rglob("*.py"))


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_rooms_import_only_what_they_may(path):
    here = room(path)
    allowed = MAY_IMPORT[here]
    if allowed is None:
        return
    for name in imported(path, types=here not in {"plots", "report"}):  # these name their records
        other = name.split(".")[1]
        assert other == here or other in allowed, f"{here} may not import {name}"


@pytest.mark.parametrize("path", sorted((SOURCE / "cli").glob("*.py")), ids=lambda p: p.name)
def test_the_command_line_imports_public_names_only(path):
    import scarce

    for name in imported(path):
        parts = name.split(".")
        assert parts[1] in {"cli", *PUBLIC_MODULES, *scarce.__all__, "__version__"}, name
        assert parts[1] == "cli" or not parts[-1].startswith("_"), name


@pytest.mark.parametrize("path", FILES, ids=lambda p: str(p.relative_to(SOURCE)))
def test_modules_have_a_header(path):
    assert ast.get_docstring(ast.parse(path.read_text())), "say which question the module answers"
