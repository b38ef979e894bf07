"""What all verbs share: data to stdout, words to stderr, progress, and the options that recur.

The JSON form is one line of ASCII with sorted keys, so equal results are equal bytes:

    {"ok": true, "result": {...}, "schema": 1}                                   a result
    {"error": {"kind": "DataError", "message": "..."}, "ok": false, "schema": 1}  an error

JSON has no NaN and no infinity: NaN, which in an `Estimate` means "not identified", is null, and
infinities are the texts "Infinity" and "-Infinity" (see `scarce.results.to_plain`).

Text for people is cleaned here, and only here: a name or a cell of somebody's file may hold codes
that clear the screen, fill the clipboard or turn the direction of writing, and they are shown as
escapes (``printable``). Every verb prints through this module. JSON is ASCII; rows of a table are
data, and written as they are wherever stdout is no terminal (see io/sink.py).

numpy and rich are not imported here: arrays are known by their `tolist`, and rich is imported when
there is something to draw on a terminal.
"""

from __future__ import annotations

import math
import os
import shutil
import sys
import textwrap
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from scarce.cli.next_command import shell_word
from scarce.errors import UsageError, printable

if TYPE_CHECKING:
    from rich.progress import Progress, TaskID

SCHEMA = 1  # of the JSON form; raised when a key changes its meaning or goes away
REDRAW = 0.2  # seconds between two drawings of a progress bar
PAGE = 80  # columns of what is no terminal
NARROW = 60  # columns of a terminal below which a wide table is written row by row


def say(message: str, *, error: bool = False) -> None:
    """Write words for a person on stderr, above a progress bar where one is drawn.

    Parameters
    ----------
    message : str
    error : bool
        Whether ``error:`` stands before it, in red, on a terminal that wants colour.
    """
    message = printable(message)
    if _Pulse.shown is None or not _Pulse.shown.wrote(message):
        coloured = sys.stderr is not None and sys.stderr.isatty() and not os.environ.get("NO_COLOR")
        if error and coloured:
            head, colon, rest = message.partition(": ")
            message = f"{head}{colon}{click.style('error', fg='red', bold=True)}: {rest}"
        with suppress(OSError):  # words that nobody can take are no reason to fail
            click.echo(message, err=True)


def write_line(text: str = "") -> None:
    """Write words for a person, and a line end, on stdout."""
    click.echo(printable(text))


def emit(
    result: Mapping[str, Any],
    *,
    json: bool,
    ok: bool = True,
    show: Callable[[], None] | None = None,
) -> None:
    """Write a verb's result on stdout.

    Parameters
    ----------
    result : mapping
        Names to numbers, words, arrays, `Estimate`, `FitReport`, or lists and mappings of these.
    json : bool
        Whether to write the JSON form (the verb's ``--json``).
    ok : bool
        False when the verb is about to end with another code than 0, as when a check did not hold.
    show : callable, optional
        Writes the form for a reader. When left out: a table of names and values.
    """
    if json:
        write_json({"schema": SCHEMA, "ok": ok, "result": result})
    elif show is not None:
        show()
    else:
        table([(name, _cell(value)) for name, value in result.items()])


def show_plan(plan: Mapping[str, Any], *, json: bool) -> None:
    """Say what a verb would do (its ``--dry-run``)."""
    if not json:
        say("Dry run: nothing is computed or written.")
    shown = {
        name: ", ".join(map(str, value)) if isinstance(value, (list, tuple)) else value
        for name, value in plan.items()
    }
    emit({"dry_run": True, **plan} if json else shown, json=json)


def refuse_table_ending(out: Path) -> None:
    """Refuse to give a model file the name of a table."""
    bare = out.with_suffix("") if out.suffix in (".gz", ".zst") else out
    if bare.suffix in (".csv", ".tsv", ".txt", ".parquet", ".arrow", ".feather", ".html", ".json"):
        raise UsageError(
            "--out {out}: a model is not a {suffix} file.",
            code="model-file-name",
            out=out,
            suffix=bare.suffix,
            name=shell_word(str(bare.with_suffix(".scarce"))),
            remedy="Use the extension .scarce: --out {name}",
        )


def rows_need_a_file(out: Path | None, json: bool, example: str) -> None:
    """Refuse a summary and rows on the same stream."""
    if json and (out is None or str(out) == "-"):
        raise UsageError(
            "--json writes a summary on stdout, so the rows need a file: --out {example}",
            code="json-needs-out",
            example=example,
        )


def write_json(record: Mapping[str, Any]) -> None:
    """Write one canonical JSON object and a line end on stdout."""
    from scarce.results import to_json  # records take a while to import, and help needs none

    click.echo(to_json(record))


def _cell(value: Any) -> str:
    """Write one value for a reader: an Estimate with its interval, lists and mappings as JSON."""
    if isinstance(value, (Mapping, list, tuple)) or hasattr(value, "tolist"):
        from scarce.results import to_json

        return to_json(value)
    return str(value)


def on_terminal() -> bool:
    """Whether stdout is a terminal."""
    return sys.stdout is not None and sys.stdout.isatty()


def terminal_width() -> int:
    """Return how many columns the terminal has; what goes elsewhere does not depend on one."""
    return shutil.get_terminal_size((PAGE, 24)).columns if on_terminal() else PAGE


def table(
    rows: Sequence[Sequence[str]],
    *,
    columns: Sequence[str] = (),
    title: str = "",
    simple: bool = False,
) -> None:
    """Write a table on stdout: drawn on a terminal, aligned plain text elsewhere.

    On a terminal that is narrow, and too narrow for the table, each row is a block of lines.

    Parameters
    ----------
    rows : sequence of sequences of str
        The cells; all rows have the same length.
    columns : sequence of str, optional
        A heading for each column.
    title : str, optional
        A line above the table.
    simple : bool
        True for plain text on a terminal too.
    """
    title = printable(title)
    columns = [printable(name, keep="") for name in columns]
    rows = [[printable(cell, keep="") for cell in row] for row in rows]
    lines = [*([columns] if columns else []), *rows]
    widths = [max(map(len, column)) for column in zip(*lines, strict=True)]
    room = terminal_width()
    if room < min(NARROW, sum(widths) + 2 * len(widths)):
        _stack(rows, columns, title, room - 1)
        return
    if not simple and not os.environ.get("NO_COLOR") and on_terminal():
        _draw(rows, columns, title)
        return
    if title:
        write_line(title)
    for line in lines:
        cells = (cell.ljust(width) for cell, width in zip(line, widths, strict=True))
        write_line(("  " if title else "") + "  ".join(cells).rstrip())


def _stack(rows: Sequence[Sequence[str]], columns: Sequence[str], title: str, room: int) -> None:
    """Write each row as lines of its own; a word that is longer than a line stays whole."""

    def put(text: str, indent: str = "") -> None:
        fold = textwrap.TextWrapper(
            max(room, 20),
            initial_indent=indent,
            subsequent_indent=indent + "  " if indent or ": " in text else "",
            break_long_words=False,
            break_on_hyphens=False,
        )
        write_line(fold.fill(text))

    if title:
        put(title)
    for place, (name, *cells) in enumerate(rows):
        if not columns:
            put(": ".join([name, "  ".join(cells)]))
            continue
        if place or title:
            write_line()
        put(f"{columns[0]}: {name}" if columns[0] else name)
        for heading, cell in zip(columns[1:], cells, strict=True):
            if cell:
                put(f"{heading}: {cell}", "  ")


def _draw(rows: Sequence[Sequence[str]], columns: Sequence[str], title: str) -> None:
    from rich.box import SIMPLE_HEAD
    from rich.console import Console
    from rich.table import Table
    from rich.text import Text

    width = len(columns) or (len(rows[0]) if rows else 0)
    drawn = Table(
        title=Text(title, style="bold") if title else None,
        title_justify="left",
        box=SIMPLE_HEAD if columns else None,
        show_header=bool(columns),
        header_style="dim",
        show_edge=False,
        pad_edge=bool(title),
        padding=(0, 1) if title else (0, 2, 0, 0),
    )
    for place in range(width):
        heading = Text(columns[place]) if columns else ""
        drawn.add_column(heading, style="cyan" if place == 0 else "", overflow="fold")
    for row in rows:
        drawn.add_row(*map(Text, row))  # Text: brackets in a cell are not rich's markup
    Console().print(drawn)


@contextmanager
def progress(label: str, *, after: float = 2.0) -> Iterator[Callable[..., None]]:
    """Give a callback ``(done, total)`` that draws a bar with the time left on stderr.

    A third argument says in words what was done, such as "boosting, fit 3 of 15".

    Drawn only on a terminal, and only once the work has taken more than `after` seconds. Between
    two calls a thread keeps the time up to date, so that a long step does not look like a halt.

    Parameters
    ----------
    label : str
        What is being done, such as "Fitting".
    after : float
        Seconds without a bar.

    Examples
    --------
    >>> with progress("Adding") as tick:
    ...     for done in range(3):
    ...         tick(done + 1, 3)
    """
    if not (sys.stderr and sys.stderr.isatty()):
        yield lambda done, total, words="": None
        return
    pulse = _Pulse(label, after)
    try:
        yield pulse.tick
    finally:
        pulse.stop()


class _Pulse:
    """A bar on stderr that is drawn late and goes on telling the time."""

    shown: _Pulse | None = None  # the one at work

    def __init__(self, label: str, after: float) -> None:
        self.label, self.after = label, after
        self.begun = self.ticked = time.monotonic()
        self.done, self.total, self.words = 0, 0, ""
        self.drawn: tuple[Progress, TaskID] | None = None
        self.lock = threading.Lock()
        self.ended = threading.Event()
        self.thread = threading.Thread(target=self._beat, daemon=True)
        self.thread.start()
        _Pulse.shown = self

    def tick(self, done: int, total: int, words: str = "") -> None:
        """Take note of how far it is: the thread draws it."""
        self.done, self.total, self.ticked = done, total, time.monotonic()
        self.words = words

    def wrote(self, message: str) -> bool:
        """Write above the bar; False where none is drawn yet."""
        with self.lock:
            if self.drawn is None:
                return False
            self.drawn[0].console.print(message, markup=False, highlight=False, soft_wrap=True)
            return True

    def stop(self) -> None:
        """Take the bar away."""
        _Pulse.shown = None
        self.ended.set()
        self.thread.join()
        if self.drawn is not None:
            self.drawn[0].stop()

    def _beat(self) -> None:
        wait = self.after
        while not self.ended.wait(wait):
            wait = REDRAW
            with self.lock:
                self._draw()

    def _draw(self) -> None:
        if self.drawn is None:
            bar = _bar()
            self.drawn = bar, bar.add_task(self.label, total=None, share="", left="")
            bar.start()
        bar, task = self.drawn
        done, total = self.done, self.total
        more = f": {printable(self.words, keep='')}" if self.words else ""
        more = ": done, going on" if 0 < total <= done else more
        bar.update(
            task,
            description=self.label + more,
            completed=done,
            total=total or None,
            share=f"{100 * done / total:3.0f} %" if total else "",
            left=_time_left(self.begun, self.ticked, time.monotonic(), done, total),
            refresh=True,
        )


def _time_left(begun: float, ticked: float, now: float, done: int, total: int) -> str:
    """Say how long it will take, from how far it was when that was last told.

    Examples
    --------
    >>> _time_left(0, 10, 10, 1, 4), _time_left(0, 10, 22, 1, 4)
    ('30 s left', '18 s left')
    >>> _time_left(0, 10, 55, 1, 4), _time_left(0, 0, 5, 0, 0)
    ('55 s so far', '5 s so far')
    """
    left = (ticked - begun) / done * (total - done) - (now - ticked) if done else 0.0
    return f"{_duration(left)} left" if left > 0 else f"{_duration(now - begun)} so far"


def _bar() -> Progress:
    from rich.console import Console
    from rich.progress import BarColumn, Progress, TextColumn

    return Progress(
        TextColumn("{task.description}", markup=False),
        BarColumn(),
        TextColumn("{task.fields[share]}"),
        TextColumn("{task.fields[left]}"),
        console=Console(stderr=True),
        auto_refresh=False,
        transient=True,
    )


def _duration(seconds: float) -> str:
    """Write a duration for a reader.

    Examples
    --------
    >>> _duration(4.2), _duration(75), _duration(7300)
    ('5 s', '1 min 15 s', '2 h 2 min')
    """
    whole = math.ceil(seconds)
    if whole < 60:
        return f"{whole} s"
    if whole < 3600:
        return f"{whole // 60} min {whole % 60} s"
    return f"{whole // 3600} h {round(whole % 3600 / 60)} min"
