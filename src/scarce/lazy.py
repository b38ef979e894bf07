"""Public names that are imported on first use, each written once, in a stub file.

The `__init__.pyi` of a package has lines such as ``from scarce.io.store import load as load``. Type
checkers read them, and so does `public_names`, so importing the package imports no module.
"""

from __future__ import annotations

import re
import sys
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any

LINE = re.compile(r"^from (scarce[\w.]*) import (\w+) as \2$", flags=re.MULTILINE)


def public_names(file: str) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package from the stub beside its file.

    Examples
    --------
    >>> import scarce
    >>> names, get, _ = public_names(scarce.__file__)
    >>> "load" in names, get("load").__module__
    (True, 'scarce.io.store')
    """
    stub = Path(file).with_suffix(".pyi").read_text(encoding="utf-8")
    module_of = {name: module for module, name in LINE.findall(stub)}
    parts = Path(file).parent.parts
    package = ".".join(parts[len(parts) - 1 - parts[::-1].index("scarce") :])

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return list(module_of), get, names
