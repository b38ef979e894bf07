"""scarce: honest probabilities, performance figures and decisions when labels are scarce.

The public names stand in `__init__.pyi`, each once. A name is imported when it is first used, so
that `import scarce` and the command line start at once.
"""

import re
from importlib import import_module
from pathlib import Path
from typing import Any

__version__ = "0.1.0"

_MODULE_OF: dict[str, str] = {
    name: module
    for module, name in re.findall(
        r"^from (scarce[\w.]*) import (\w+) as \2$",
        Path(__file__).with_suffix(".pyi").read_text(encoding="utf-8"),
        flags=re.MULTILINE,
    )
}
__all__ = list(_MODULE_OF)


def __getattr__(name: str) -> Any:
    if name in _MODULE_OF:
        value = getattr(import_module(_MODULE_OF[name]), name)
        globals()[name] = value
        return value
    raise AttributeError(f"module 'scarce' has no attribute {name!r}")


def __dir__() -> list[str]:
    return sorted([*globals(), *__all__])
