"""Writes constraints.txt: the exact versions that `make demo` and `make test` install.

Resolves the project, its extras and its development group in a fresh environment, without the old
constraints, and freezes the result. Run it by `make lock`, then `make test`, then commit the file.
"""

from __future__ import annotations

import subprocess
import sys
import tempfile
from pathlib import Path

HEADER = """\
# The versions that make demo and make test install. Made by `make lock`; not edited by hand.
# Users of the library are bound only by pyproject.toml.
"""


def main() -> None:
    """Resolve, freeze and write the file."""
    root = Path(__file__).resolve().parent.parent
    with tempfile.TemporaryDirectory() as folder:
        subprocess.run([sys.executable, "-m", "venv", folder], check=True)
        pip = [f"{folder}/bin/python", "-m", "pip"]
        subprocess.run([*pip, "install", "--quiet", "--upgrade", "pip"], check=True)
        wanted = ["-e", f"{root}[plot,dask,skops]", "--group", f"{root}/pyproject.toml:dev"]
        subprocess.run([*pip, "install", "--quiet", *wanted], check=True)
        frozen = subprocess.run(
            [*pip, "freeze", "--all", "--exclude-editable"],
            check=True,
            capture_output=True,
            text=True,
        ).stdout
    lines = [line for line in frozen.splitlines() if "==" in line and " @ " not in line]
    (root / "constraints.txt").write_text(HEADER + "\n".join(lines) + "\n")
    sys.stdout.write(f"constraints.txt: {len(lines)} versions\n")


if __name__ == "__main__":
    main()
