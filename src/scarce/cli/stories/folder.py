"""The demo's folder: which files in it are the demo's own, and may be written anew?

`demo.json` keeps the digest of every file that the demo wrote. A file with another digest, or one
that is not listed, is somebody's work, and is replaced only when that is asked for.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

from scarce.errors import UsageError
from scarce.io.atomic import write_text
from scarce.results import to_json

RECORD = "demo.json"


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
            raise UsageError(f"{str(path)!r} is a file. Give the name of a folder: --out demo")
        known = self._recorded()
        self.digests = {name: known[name] for name in known if (path / name).is_file()}
        if not force:
            self._refuse_foreign(list(names) if known else [RECORD, *names])
        try:
            path.mkdir(parents=True, exist_ok=True)
        except OSError as error:
            raise UsageError(
                f"The folder {str(path)!r} cannot be made ({error.strerror or error}). Give "
                "another one: --out some-folder"
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
                f"The folder {str(self.path)!r} holds {named}, not written by the demo or changed "
                "since. Give another folder, such as --out demo-2, or --force to replace them."
            )


def _digest(path: Path) -> str:
    if not path.is_file():
        return ""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()
