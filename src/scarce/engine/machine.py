"""What this machine offers: the cores that may be used, and the folder for decoded data."""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pyarrow as pa  # scarce doctor must work without it

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


Report = Callable[[int, int], None]


class Walks:
    """Counts walks over the same data and calls ``report(done, total)``.

    Parameters
    ----------
    report : callable or None
        Takes what is done and what there is altogether, in bytes or rows.
    size : int
        Length of one walk.

    Examples
    --------
    >>> walks = Walks(lambda done, total: print(done, "of", total), size=10)
    >>> walks.begin(left=1)
    >>> walks.at(10)
    10 of 20
    >>> walks.begin(left=0)
    >>> walks.at(5)
    15 of 20
    """

    def __init__(self, report: Report | None, size: int) -> None:
        self.report = report
        self.size = size
        self._begun = 0
        self._left = 0

    def begin(self, left: int) -> None:
        """Begin a walk, after which `left` more are to come."""
        self._begun += 1
        self._left = left

    def at(self, place: int) -> None:
        """Say how far the present walk is."""
        if self.report is not None:
            done = (self._begun - 1) * self.size + min(place, self.size)
            self.report(done, (self._begun + self._left) * self.size)

    def end(self) -> None:
        """Say that no walk is left, where one was expected and not needed."""
        if self._begun and self._left:
            self._left = 0
            self.at(self.size)

    def over(self, tables: Iterable[pa.Table], left: int) -> Iterator[pa.Table]:
        """Pass tables through, counting their rows."""
        self.begin(left)
        place = 0
        for table in tables:
            yield table
            place += table.num_rows
            self.at(place)
