"""What this machine offers: the cores that may be used, and the folder for decoded data."""

from __future__ import annotations

import os
import sys
from pathlib import Path

CACHE_ENDING = ".scarce-cache.arrow"


def usable_cores() -> int:
    """Return the cores that this process may use: those of its affinity, where there is one.

    Examples
    --------
    >>> usable_cores() >= 1
    True
    """
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:  # not on every platform
        return os.cpu_count() or 1


def cache_folder() -> Path:
    """Return where decoded data are kept: SCARCE_CACHE, else the user's cache folder.

    Examples
    --------
    >>> isinstance(cache_folder(), Path)
    True
    """
    named = os.environ.get("SCARCE_CACHE")
    if named:
        return Path(named)
    if sys.platform == "win32":
        base = os.environ.get("LOCALAPPDATA") or str(Path.home() / "AppData" / "Local")
    elif sys.platform == "darwin":
        base = str(Path.home() / "Library" / "Caches")
    else:
        base = os.environ.get("XDG_CACHE_HOME") or str(Path.home() / ".cache")
    return Path(base) / "scarce"


def cached_files() -> list[Path]:
    """Return the decoded data in the cache folder; each may be deleted at any time.

    Examples
    --------
    >>> all(path.name.endswith(CACHE_ENDING) for path in cached_files())
    True
    """
    return sorted(cache_folder().glob("*" + CACHE_ENDING))
