"""The public names: all there, all documented with an example, cheap to import."""

import inspect
import subprocess
import sys

import pytest

import scarce


@pytest.mark.parametrize("name", scarce.__all__)
def test_every_public_name_resolves_and_is_documented(name):
    value = getattr(scarce, name)
    assert inspect.getdoc(value)
    if not (isinstance(value, type) and issubclass(value, (Exception,))):
        assert ">>> " in value.__doc__, "an example that runs"


def test_unknown_names_are_attribute_errors():
    with pytest.raises(AttributeError, match="no attribute 'nothing'"):
        _ = scarce.nothing
    assert "open_rows" in dir(scarce)


def test_importing_scarce_imports_nothing_heavy():
    code = (
        "import sys, scarce; "
        "print([m for m in ('numpy', 'scipy', 'sklearn', 'pyarrow') if m in sys.modules])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_deciding_and_evaluating_import_no_scikit_learn():
    code = "import sys, scarce; scarce.decide, scarce.evaluate, scarce.stable_prior; "
    code += "print([m for m in ('sklearn', 'pyarrow') if m in sys.modules])"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "[]"


def test_version_is_the_installed_one():
    from importlib.metadata import version

    assert scarce.__version__ == version("scarce")
