"""Doing many jobs: two processes, each result on file at once, a bar, and going on after a stop.

A record is one line of a file, written by the worker that made it. The file's name carries a digest
of the code that fits, so that results of other code are never taken for those of this one. A job is
a named tuple with a `cost`; its record holds its fields. Assumes that a line of a few kilobytes is
appended in one piece. Measures nothing itself.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Any

import scarce

WORKERS = "processes:2"
Record = dict[str, Any]


@cache  # of the code that this process began with, though a file may change meanwhile
def digest(code: tuple[str, ...], own: tuple[Path, ...]) -> str:
    """Name some code: patterns of modules of scarce, and files of the experiment."""
    found = sha256()
    source = Path(scarce.__file__).parent
    for path in sorted(p for part in code for p in source.glob(f"{part}.py")):
        found.update(path.read_bytes())
    for path in own:
        found.update(path.read_bytes())
    return found.hexdigest()[:12]


def work_file(folder: Path, code: tuple[str, ...], own: tuple[Path, ...]) -> Path:
    """Return where the records of this code are kept."""
    return folder / f"records-{digest(code, own)}.jsonl"


@dataclass(frozen=True)
class Work:
    """The jobs of one experiment and their records on file.

    Parameters
    ----------
    code : tuple of str
        Patterns of the modules of scarce that decide a job.
    own : tuple of Path
        Files of the experiment that do.
    do : callable
        Makes the record of a job; workers must be able to import it.
    kind : named tuple
        The class of the jobs.
    """

    code: tuple[str, ...]
    own: tuple[Path, ...]
    do: Callable[[Any], Record]
    kind: Any

    def work_file(self, folder: Path) -> Path:
        """Return where the records of this code are kept."""
        return work_file(folder, self.code, self.own)

    def do_all(
        self, todo: Sequence[Any], file: Path | None, *, engine: Any = WORKERS
    ) -> list[Record]:
        """Return the record of every job, doing those that are not on file yet."""
        return do_all(todo, file, self.do, self.kind, engine=engine)

    def read(self, file: Path) -> dict[Any, Record]:
        """Return the records on file."""
        return read(file, self.kind)


def do_all(
    todo: Sequence[Any],
    file: Path | None,
    do: Callable[[Any], Record],
    kind: Any,
    *,
    engine: Any = WORKERS,
) -> list[Record]:
    """Return the record of every job, doing those that are not on file yet.

    Parameters
    ----------
    todo : sequence of jobs
    file : path or None
        Where records are kept; None keeps none and works in this process.
    do : callable
        Makes the record of a job; workers must be able to import it.
    kind : named tuple
        The class of the jobs.
    engine : engine of scarce.many
    """
    if file is None:
        return [do(job) for job in todo]
    file.parent.mkdir(parents=True, exist_ok=True)
    _end_last_line(file)
    held = read(file, kind)
    missing = [job for job in todo if job not in held]
    bar = Bar([job.cost for job in missing], len(todo) - len(missing))
    scarce.many([partial(do_and_keep, do, job, file) for job in missing], engine, progress=bar)
    held = read(file, kind)
    return [held[job] for job in todo]


def do_and_keep(do: Callable[[Any], Record], job: Any, file: Path) -> None:
    """Do one job in a worker and append its record."""
    line = json.dumps(do(job), separators=(",", ":"), allow_nan=False) + "\n"
    handle = os.open(file, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o644)
    try:
        os.write(handle, line.encode())
    finally:
        os.close(handle)


def read(file: Path, kind: Any) -> dict[Any, Record]:
    """Return the records on file; a line that was cut off is done again."""
    held: dict[Any, Record] = {}
    for line in file.read_text(encoding="utf-8").splitlines() if file.exists() else ():
        try:
            record = json.loads(line)
        except json.JSONDecodeError:
            continue
        held[kind(*(record[field] for field in kind._fields))] = record
    return held


def _end_last_line(file: Path) -> None:
    """After a stop in the middle of a line, the next record must not join it."""
    if file.exists() and not file.read_bytes().endswith(b"\n"):
        with file.open("ab") as out:
            out.write(b"\n")


class Bar:
    """Percent of the work and time left, on stderr: one line that moves, or a line per tenth."""

    def __init__(self, costs: Sequence[float], on_file: int) -> None:
        self.costs = costs
        self.begin, self.shown = time.perf_counter(), -1
        if on_file:
            print(f"  {on_file:,} results are on file already", file=sys.stderr, flush=True)

    def __call__(self, done: int, total: int) -> None:
        """Show how far it is, when that is news."""
        share = sum(self.costs[:done]) / sum(self.costs)
        left = (time.perf_counter() - self.begin) * (1 - share) / share
        text = f"  {share:4.0%}  {done:,} of {total:,} jobs, about {left / 60:.1f} minutes left"
        moving = sys.stderr.isatty()
        step = int(share * (100 if moving else 10))
        if step == self.shown and done < total:
            return
        self.shown = step
        end = "\r" if moving and done < total else "\n"
        print(text.ljust(79) if moving else text, end=end, file=sys.stderr, flush=True)
