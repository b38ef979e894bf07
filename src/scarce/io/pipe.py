"""Bytes as they pass: how does Ctrl-C reach a program that waits for a pipe, and what is counted?

Arrow reads in threads of its own while Python's main thread waits for it, and Python tells only the
main thread of a signal: a program that waits for a slow pipe would not end before the pipe does.
Here the reading thread waits for the pipe and for the signal at once, and stops at either.
"""

from __future__ import annotations

import io
import os
import select
import signal
import sys
import threading
from collections.abc import Callable
from typing import Any

import pyarrow as pa

from scarce.errors import UsageError

MOST_PIPED = 2**20  # bytes asked of a pipe at a time


def standard_input() -> Any:
    """Return standard input as a binary file whose reading Ctrl-C ends; plain where it cannot."""
    plain = getattr(sys.stdin, "buffer", sys.stdin)
    if sys.stdin is None or (hasattr(sys.stdin, "isatty") and sys.stdin.isatty()):
        raise UsageError(
            "Nothing comes from standard input, which is a terminal.",
            code="no-input",
            remedy="Name a file, or pipe rows in.",
        )
    if os.name != "posix" or threading.current_thread() is not threading.main_thread():
        return plain
    try:
        waited = plain.fileno()
    except (OSError, AttributeError):  # standing in for a pipe, as in tests
        return plain
    pa.enable_signal_handlers(False)  # Arrow's own would keep the signal from Python's
    heard, told = os.pipe()
    os.set_blocking(told, False)
    signal.set_wakeup_fd(told, warn_on_full_buffer=False)
    return _Interruptible(waited, heard)


class _Readable(io.RawIOBase):
    """A stream for reading."""

    def readable(self) -> bool:
        """It is for reading."""
        return True


class _Interruptible(_Readable):
    """Standard input, read until there are as many bytes as asked for, the end, or a signal."""

    def __init__(self, waited: int, heard: int) -> None:
        self._waited = waited
        self._heard = heard

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, fewer at the end; all that is left for None or a negative size."""
        parts: list[bytes] = []
        left = sys.maxsize if size is None or size < 0 else size
        while left > 0:
            ready, _, _ = select.select([self._waited, self._heard], [], [])
            if self._heard in ready and signal.SIGINT in os.read(self._heard, MOST_PIPED):
                raise KeyboardInterrupt
            if self._waited not in ready:
                continue
            part = os.read(self._waited, min(left, MOST_PIPED))
            if not part:
                break
            parts.append(part)
            left -= len(part)
        return b"".join(parts)


def read_up_to(stream: Any, count: int) -> bytes:
    """Read until `count` bytes are there or the stream ends: a pipe gives what it has."""
    parts: list[bytes] = []
    held = 0
    while held < count:
        part = stream.read(count - held)
        if not part:
            break
        parts.append(part)
        held += len(part)
    return b"".join(parts)


class Rejoined(_Readable):
    """A stream whose first bytes have been looked at."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes; all that is left for None or a negative size."""
        if size is None or size < 0:
            held, self._head = self._head, b""
            return held + bytes(self._rest.read())
        held, self._head = self._head[:size], self._head[size:]
        # Arrow takes fewer bytes than it asked for as the end of its stream
        return held if len(held) == size else held + bytes(self._rest.read(size - len(held)))


class CountedBytes(_Readable):
    """The bytes of a file that stays open for others; tells how many have been read."""

    def __init__(self, file: Any, report: Callable[[int], None] | None = None) -> None:
        self._source = file
        self._report = report
        self.done = 0

    def readinto(self, buffer: Any, /) -> int:
        """Fill a buffer, as `io.BufferedReader` asks for."""
        part = self.read(len(buffer))
        buffer[: len(part)] = part
        return len(part)

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes."""
        part = self._source.read(-1 if size is None else size) or b""
        self.done += len(part)
        if self._report is not None:
            self._report(self.done)
        return bytes(part)


class WatchedText(_Readable):
    """A text whose quotes are counted as it passes, and in which bytes of value 0 are noticed.

    An odd number of quotes may mean that one was left open.
    """

    def __init__(self, source: Any) -> None:
        self._source = source
        self.quotes = 0
        self.nul_line = 0  # from 1; 0 for none
        self._lines = 0

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes, as the source does."""
        part = bytes(self._source.read(size))
        self.quotes += part.count(b'"')
        if not self.nul_line:
            place = part.find(0)
            if place >= 0:
                self.nul_line = self._lines + part.count(b"\n", 0, place) + 1
            self._lines += part.count(b"\n")
        return part
