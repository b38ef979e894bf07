"""Runs the tests with the oldest versions that pyproject.toml allows: are its lower bounds true?

Reads every `name>=version` of the project, its extras and its development group, installs exactly
those versions into .venv-oldest, and runs pytest there. What they in turn depend on is what pip
resolves, but for BESIDE. Run it by `make oldest`; arguments go to pytest, as in
`make oldest ARGS="tests/cli -x"`.
"""

from __future__ import annotations

import re
import subprocess
import sys
import tomllib
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
EXTRAS = ("plot", "dask", "skops")  # those that the tests use
BESIDE = ("pyparsing<3.3",)  # newer ones deprecate what matplotlib 3.9 calls; warnings are errors
LINTERS = ("ruff", "mypy", "pre-commit")  # they see the code, not the versions it runs with


def lower_bounds(text: str) -> dict[str, str]:
    """Return the oldest version allowed of each requirement of a pyproject.toml."""
    held = tomllib.loads(text)
    project = held["project"]
    wanted = [*project["dependencies"], *held["dependency-groups"]["dev"]]
    for extra in EXTRAS:
        wanted += project["optional-dependencies"][extra]
    found = {}
    for requirement in wanted:
        match = re.fullmatch(r"([\w.-]+)>=([\w.]+)", requirement)
        if match is None:
            raise SystemExit(f"pyproject.toml: {requirement!r} has no lower bound. Write name>=1.0")
        found[match[1]] = match[2]
    return found


def main(arguments: list[str]) -> int:
    """Install the oldest versions where they are not yet installed, and run the tests."""
    bounds = lower_bounds((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    oldest = [f"{name}=={version}" for name, version in bounds.items() if name not in LINTERS]
    pins = [*oldest, *BESIDE]
    folder = ROOT / ".venv-oldest"
    python, record = folder / "bin" / "python", folder / "installed.txt"
    if not record.exists() or record.read_text() != "\n".join(pins):
        sys.stdout.write("Installing the oldest versions that pyproject.toml allows ...\n")
        subprocess.run([sys.executable, "-m", "venv", "--clear", folder], check=True)
        pip = [python, "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
        project = f"{ROOT}[{','.join(EXTRAS)}]"
        if subprocess.run([*pip, "-e", project, *pins], check=False).returncode:
            return 1
        record.write_text("\n".join(pins))
    sys.stdout.write(" ".join(pins) + "\n")
    return subprocess.run([python, "-m", "pytest", *arguments], cwd=ROOT, check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
