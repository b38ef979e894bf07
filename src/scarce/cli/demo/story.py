"""What a story of the demo hands on, and the folder that it writes into.

A figure of a simulation has a range that it lies in when all is well. The ranges are a smoke test
of the installation: wide enough for every seed, narrow enough that a broken step falls outside.
`demo.json` keeps the digest of every file that the demo wrote. A file with another digest, or one
that is not listed, is somebody's work, and is replaced only when that is asked for.
"""

from __future__ import annotations

import hashlib
import json
import textwrap
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from scarce.cli.output import write_line
from scarce.errors import UsageError
from scarce.io.atomic import write_text
from scarce.results import to_json

if TYPE_CHECKING:
    from scarce.report import Report
    from scarce.results import FitReport

RECORD = "demo.json"


@dataclass(frozen=True)
class Check:
    """A figure and the range that it is expected in.

    Parameters
    ----------
    name : str
        What the figure is, in words.
    value, low, high : float
    why : str
        Why the range is what it is.

    Examples
    --------
    >>> Check("recall", 0.4, 0.3, 0.5, "the truth is 0.4").holds
    True
    >>> Check("recall", float("nan"), 0.3, 0.5, "the truth is 0.4").holds
    False
    """

    name: str
    value: float
    low: float
    high: float
    why: str

    @property
    def holds(self) -> bool:
        """Whether the figure lies in its range; NaN lies in none."""
        return self.low <= self.value <= self.high

    def __str__(self) -> str:
        return f"{self.name} is {self.value:.4g}, expected {self.low:g} to {self.high:g}"


@dataclass(frozen=True)
class Story:
    """One story of the demo.

    Parameters
    ----------
    figures : dict
        Everything that was found, for JSON.
    checks : list of Check
    show : callable
        Writes the short form for a reader on stdout.
    describe : callable (Report) -> None
        Appends the long form, with figures, to a page.
    """

    figures: dict[str, Any]
    checks: list[Check]
    show: Callable[[], None]
    describe: Callable[[Report], None]


def aligned(rows: list[list[str]]) -> str:
    """Return lines with the first column to the left and the others to the right.

    Examples
    --------
    >>> print(aligned([["", "cost"], ["asking", "0.9"]]))
              cost
      asking   0.9
    """
    widths = [max(map(len, column)) for column in zip(*rows, strict=True)]
    return "\n".join(
        "  "
        + "  ".join(
            cell.rjust(width) if place else cell.ljust(width)
            for place, (cell, width) in enumerate(zip(row, widths, strict=True))
        ).rstrip()
        for row in rows
    )


def say_wrapped(words: str) -> None:
    """Write a paragraph on stdout, for a terminal of 80 columns."""
    write_line(textwrap.fill(words, 79))


def first_line(report: FitReport) -> str:
    """Return how a fit ended, without its remarks."""
    return str(report).split("\n", 1)[0]


class Folder:
    """A folder that the demo writes into.

    Parameters
    ----------
    path : Path
    names : iterable of str
        Files that are about to be written.
    force : bool
        Whether files of other origin may be replaced.

    Raises
    ------
    UsageError
        Before anything is written: one of the files is not the demo's, or the path is a file.
    """

    def __init__(self, path: Path, names: Iterable[str], *, force: bool) -> None:
        self.path = path
        self.digests: dict[str, str] = {}
        self.figures: Mapping[str, Any] = {}
        if path.exists() and not path.is_dir():
            raise UsageError(
                "{path!r} is a file.",
                code="not-a-folder",
                path=str(path),
                remedy="Give the name of a folder: --out demo",
            )
        known = self._recorded()
        self.digests = {name: known[name] for name in known if (path / name).is_file()}
        if not force:
            self._refuse_foreign(list(names) if known else [RECORD, *names])
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                "The folder {path!r} cannot be created ({reason}).",
                code="folder-not-made",
                path=str(path),
                reason=error.strerror or error,
                remedy="Give another one: --out some-folder",
            ) from None

    def file(self, name: str) -> Path:
        """Return the path of a file in the folder."""
        return self.path / name

    def wrote(self, name: str) -> None:
        """Note a file as the demo's own, at once: an interrupted demo can then be run again."""
        self.digests[name] = _digest(self.file(name))
        self.close()

    def table(self, name: str, columns: Mapping[str, Any]) -> None:
        """Write columns as a table, in the format that the name says."""
        import pyarrow as pa

        from scarce.io.sink import write_tables

        arrays = {key: pa.array(values, from_pandas=True) for key, values in columns.items()}
        with write_tables(self.file(name), force=True) as write:
            write(pa.table(arrays))
        self.wrote(name)

    def text(self, name: str, content: str) -> None:
        """Write a text file."""
        write_text(self.file(name), content)
        self.wrote(name)

    def close(self, figures: Mapping[str, Any] | None = None) -> None:
        """Write `demo.json`: the figures so far, and what the files hold."""
        self.figures = self.figures if figures is None else figures
        record = {"figures": self.figures, "files": self.digests}
        write_text(self.file(RECORD), to_json(record) + "\n")

    def _recorded(self) -> dict[str, str]:
        try:
            held = json.loads(self.file(RECORD).read_text(encoding="utf-8"))
            return {str(name): str(digest) for name, digest in held["files"].items()}
        except (OSError, ValueError, KeyError, TypeError, AttributeError):
            return {}  # no demo was here, or its record was changed: then nothing is the demo's own

    def _refuse_foreign(self, names: Iterable[str]) -> None:
        foreign = [
            name
            for name in names
            if self.file(name).exists()
            and (name not in self.digests or _digest(self.file(name)) != self.digests[name])
        ]
        if foreign:
            named = ", ".join(foreign)
            raise UsageError(
                "The folder {path!r} holds {files}, which the demo did not write or which "
                "changed since.",
                code="file-exists",
                path=str(self.path),
                files=named,
                remedy="Give another folder, such as --out demo-2, or --force to replace them.",
            )


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
