"""Public names that are imported on first use, each written once, in a stub file.

The `__init__.pyi` of a package has lines such as ``from scarce.io.store import load as load``. Type
checkers read them, and so does `public_names`, so importing the package imports no module.
"""

from __future__ import annotations

import sys
from importlib import import_module

TYPE_CHECKING = False  # typing and pathlib take longer to import than everything else here
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import Any


def public_names(
    package: str, file: str
) -> tuple[list[str], Callable[[str], Any], Callable[[], list[str]]]:
    """Return `__all__`, `__getattr__` and `__dir__` of a package from the stub beside its file.

    Parameters
    ----------
    package : str
        The package's `__name__`.
    file : str
        Its `__file__`, with an `__init__.pyi` beside it.

    Examples
    --------
    >>> import scarce
    >>> names, get, _ = public_names("scarce", scarce.__file__)
    >>> "load" in names, get("load").__module__
    (True, 'scarce.io.store')
    """
    with open(f"{file.removesuffix('.py')}.pyi", encoding="utf-8") as stub:
        words = [line.split() for line in stub if line.startswith("from scarce")]
    module_of = {name: module for _, module, _, name, *_ in words}

    def get(name: str) -> Any:
        if name not in module_of:
            raise AttributeError(f"module {package!r} has no attribute {name!r}")
        value = getattr(import_module(module_of[name]), name)
        setattr(sys.modules[package], name, value)
        return value

    def names() -> list[str]:
        return sorted({*vars(sys.modules[package]), *module_of})

    return list(module_of), get, names
