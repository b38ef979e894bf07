"""How does Ctrl-C reach a program that waits for a pipe?

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
from typing import Any

import pyarrow as pa

from scarce.errors import UsageError

MOST = 2**20  # bytes asked of the pipe at a time


def standard_input() -> Any:
    """Return standard input as a binary file whose reading Ctrl-C ends; plain where it cannot."""
    plain = getattr(sys.stdin, "buffer", sys.stdin)
    if sys.stdin is None or (hasattr(sys.stdin, "isatty") and sys.stdin.isatty()):
        raise UsageError(
            "Nothing comes from standard input, which is a terminal: name a file, or pipe rows in."
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


class _Interruptible(io.RawIOBase):
    """Standard input, read until there are as many bytes as asked for, the end, or a signal."""

    def __init__(self, waited: int, heard: int) -> None:
        self._waited = waited
        self._heard = heard

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read `size` bytes, fewer at the end; all that is left for None or a negative size."""
        parts: list[bytes] = []
        left = sys.maxsize if size is None or size < 0 else size
        while left > 0:
            ready, _, _ = select.select([self._waited, self._heard], [], [])
            if self._heard in ready and signal.SIGINT in os.read(self._heard, MOST):
                raise KeyboardInterrupt
            if self._waited not in ready:
                continue
            part = os.read(self._waited, min(left, MOST))
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


class Rejoined(io.RawIOBase):
    """A stream whose first bytes have been looked at."""

    def __init__(self, head: bytes, rest: Any) -> None:
        self._head = head
        self._rest = rest

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes; all that is left for None or a negative size."""
        if size is None or size < 0:
            held, self._head = self._head, b""
            return held + bytes(self._rest.read())
        held, self._head = self._head[:size], self._head[size:]
        # Arrow takes fewer bytes than it asked for as the end of its stream
        return held if len(held) == size else held + bytes(self._rest.read(size - len(held)))


class Quotes(io.RawIOBase):
    """A stream that counts the quotes that pass: an odd number may mean that one was left open."""

    def __init__(self, source: Any) -> None:
        self._source = source
        self.seen = 0

    def readable(self) -> bool:
        """It is for reading."""
        return True

    def read(self, size: int | None = -1, /) -> bytes:
        """Read up to `size` bytes, as the source does."""
        part = bytes(self._source.read(size))
        self.seen += part.count(b'"')
        return part
