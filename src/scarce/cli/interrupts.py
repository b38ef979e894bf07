"""Ctrl-C ends a verb, wherever it is: also inside a library that loses or renames the interrupt.

An import of somebody else's C code can turn KeyboardInterrupt into another error, or swallow it,
and Arrow's own handler loses it between two parts of a file. So the first Ctrl-C is remembered, and
repeated until the verb has ended; whatever error ends it then counts as the interrupt. Python
itself drops one that falls into a callback, such as those of imports, and would print where.
"""

from __future__ import annotations

import signal
import sys
import threading
from _thread import interrupt_main
from typing import Any

AGAIN = 2.0  # seconds until an interrupt that went astray is repeated: to tidy up takes less

_seen = threading.Event()
_ended = threading.Event()
_watching = False


def watch() -> None:
    """Take Ctrl-C from here on, in a process that is all ours."""
    global _watching
    _watching = True
    signal.signal(signal.SIGINT, _take)
    sys.unraisablehook = _without_interrupts


def leave_to_python() -> None:
    """Keep Arrow from handling signals, where Ctrl-C is watched."""
    if _watching:
        import pyarrow as pa

        pa.enable_signal_handlers(False)


def interrupted() -> bool:
    """Whether Ctrl-C was typed. The verb has ended: it is not repeated any more."""
    _ended.set()
    return _seen.is_set()


def _without_interrupts(lost: Any) -> None:
    """Print nothing about an interrupt that Python dropped: it is repeated."""
    if not issubclass(lost.exc_type, KeyboardInterrupt):
        sys.__unraisablehook__(lost)


def _take(number: int, frame: Any) -> None:
    if not _seen.is_set():
        _seen.set()
        threading.Thread(target=_repeat, daemon=True).start()
    raise KeyboardInterrupt


def _repeat() -> None:
    while not _ended.wait(AGAIN):
        if hasattr(signal, "pthread_kill"):  # a real signal wakes a call that waits, too
            signal.pthread_kill(threading.main_thread().ident or 0, signal.SIGINT)
        else:
            interrupt_main()
