"""What the package imports is what it declares, with lower bounds that the pinned versions meet."""

import ast
import importlib.util
import sys
from pathlib import Path

import pytest
from sklearn.utils.fixes import parse_version

ROOT = Path(__file__).parent.parent
TEXT = (ROOT / "pyproject.toml").read_text()
IMPORT_NAMES = {"scikit-learn": "sklearn"}
# Imported only where the user has brought them: tables of theirs, models of theirs.
OF_THE_USER = {"pandas", "polars", "catboost", "lightgbm", "dask"}


def script():
    spec = importlib.util.spec_from_file_location("oldest", ROOT / "scripts" / "oldest.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


def imported():
    """Names of the packages outside the standard library that any module of ours imports."""
    names = set()
    for path in (ROOT / "src").rglob("*.py"):
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.Import):
                names |= {alias.name.split(".")[0] for alias in node.names}
            elif isinstance(node, ast.ImportFrom) and node.level == 0:
                names.add(node.module.split(".")[0])
    return names - set(sys.stdlib_module_names) - {"scarce"}


def test_every_package_that_is_imported_is_declared():
    declared = {IMPORT_NAMES.get(name, name) for name in script().lower_bounds(TEXT)}
    assert imported() - declared - OF_THE_USER == set()


def test_pinned_versions_meet_the_lower_bounds():
    lines = (ROOT / "constraints.txt").read_text().splitlines()
    pinned = dict(line.lower().split("==") for line in lines if "==" in line)
    for name, bound in script().lower_bounds(TEXT).items():
        held = pinned.get(name, pinned.get(name.replace("-", "_")))
        assert parse_version(held) >= parse_version(bound), name


def test_a_requirement_without_a_lower_bound_is_refused():
    with pytest.raises(SystemExit, match="'rich' has no lower bound"):
        script().lower_bounds(TEXT.replace('"rich>=14.0"', '"rich"'))
