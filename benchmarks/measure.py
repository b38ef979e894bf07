"""One case in a process of its own: seconds of CPU and clock, and the memory that it needed.

    python -m benchmarks.measure '{"problem": ..., "side": ..., "folder": ..., "calls": 2}'

CPU seconds include the worker processes. Peak extra memory is the high-water mark of resident
memory (VmHWM, set back before the first call) less what was resident just before, summed over this
process and its workers; pages of a mapped file are in it and are reported apart, because the system
takes them back when it needs them. Where the mark cannot be set back, a thread samples instead.

Assumes Linux for memory, workers' CPU and the load of others; elsewhere these are null.
"""

from __future__ import annotations

import json
import os
import statistics
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.adapters import sides_of
from benchmarks.problems import PROBLEMS, Answer, Data

PROC = Path("/proc")
MB = 1024.0  # /proc counts in kB


def family() -> list[int]:
    """Return this process and all processes below it."""
    found = [os.getpid()]
    for pid in found:
        try:
            lists = [task.read_text() for task in PROC.glob(f"{pid}/task/*/children")]
        except OSError:  # ended meanwhile
            continue
        found += [int(child) for text in lists for child in text.split()]
    return found


def status(pid: int) -> dict[str, float]:
    """Return the memory figures of a process in MB; empty where there are none."""
    try:
        lines = (PROC / str(pid) / "status").read_text().splitlines()
    except OSError:
        return {}
    fields = (line.split() for line in lines if line.startswith(("VmHWM", "VmRSS", "RssFile")))
    return {name.rstrip(":"): float(value) / MB for name, value, *_ in fields}


def cpu_seconds() -> float:
    """Return CPU seconds of this process, to the nanosecond, and of its workers, to a tick."""
    total = time.process_time()
    for pid in family()[1:]:
        try:
            fields = (PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
        except OSError:
            continue
        total += (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
    return total


def busy_seconds() -> float | None:
    """Return the CPU seconds that the whole machine has spent, or None where it does not say."""
    try:
        first = (PROC / "stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    idle = int(first[4]) + int(first[5])
    return (sum(map(int, first[1:9])) - idle) / os.sysconf("SC_CLK_TCK")


class PeakMemory:
    """Peak of resident memory over a with block, beyond what was resident at its beginning."""

    def __enter__(self) -> PeakMemory:
        self.extra: float | None = None
        self.mapped: float | None = None
        self._before = {pid: status(pid) for pid in family()}
        self._marked = len([pid for pid in self._before if _reset_mark(pid)]) == len(self._before)
        self._sampled: dict[int, float] = {}
        self._stop = threading.Event()
        self._thread = threading.Thread(target=self._sample, daemon=True)
        if not self._marked and PROC.exists():
            self._thread.start()
        return self

    def _sample(self) -> None:
        while not self._stop.wait(0.005):
            for pid in self._before:
                now = status(pid).get("VmRSS", 0.0)
                self._sampled[pid] = max(self._sampled.get(pid, 0.0), now)

    def __exit__(self, *_: object) -> None:
        self._stop.set()
        if not self._before[os.getpid()]:
            return
        self.extra = self.mapped = 0.0
        for pid in family():
            now, before = status(pid), self._before.get(pid, {})
            peak = now.get("VmHWM", 0.0) if self._marked else self._sampled.get(pid, 0.0)
            self.extra += max(0.0, peak - before.get("VmRSS", 0.0))
            self.mapped += max(0.0, now.get("RssFile", 0.0) - before.get("RssFile", 0.0))


def _reset_mark(pid: int) -> bool:
    try:
        (PROC / str(pid) / "clear_refs").write_text("5")
    except OSError:
        return False
    return True


def timed(call: Callable[[], Answer]) -> dict[str, Any]:
    """Run once; return seconds of clock and CPU, and how many cores others kept busy meanwhile."""
    busy, cpu, wall = busy_seconds(), cpu_seconds(), time.perf_counter()
    answer = call()
    wall = time.perf_counter() - wall
    cpu = cpu_seconds() - cpu
    after = busy_seconds()
    others = None if busy is None or after is None else max(0.0, after - busy - cpu) / wall
    return {"wall": wall, "cpu": cpu, "others": others, "answer": answer}


def timed_often(call: Callable[[], Answer], calls: int) -> dict[str, Any]:
    """Time a call too short for one timing; beside it, in turn, the call it is compared with."""
    beside = getattr(call, "beside", None)
    spans: dict[str, list[float]] = {"call": [], "beside": []}
    cpu = time.process_time()
    busy = busy_seconds()
    begin = time.perf_counter()
    for _ in range(calls):
        for name, each in (("call", call), ("beside", beside)):
            if each is not None:
                start = time.perf_counter()
                answer = each()
                spans[name].append(time.perf_counter() - start)
    whole = time.perf_counter() - begin
    spent = time.process_time() - cpu
    after = busy_seconds()
    wall = statistics.median(spans["call"])
    return {
        "wall": wall,
        "cpu": wall * spent / whole,
        "others": None if busy is None or after is None else max(0, after - busy - spent) / whole,
        "answer": answer,
        "overhead": wall - statistics.median(spans["beside"]) if beside else None,
    }


def measure(problem_name: str, side_name: str, folder: str, calls: int) -> dict[str, Any]:
    """Prepare a side, run it, and return what was seen; the answer goes to a file."""
    problem = PROBLEMS[problem_name]
    adapter, side = next(pair for pair in sides_of(problem_name) if pair[1].name == side_name)
    data = Data(Path(folder), problem.coef(problem.columns))
    solved = PROBLEMS[side.yardstick or problem_name]
    with adapter.prepared(side, solved, data) as call:
        with PeakMemory() as memory:
            first = timed(call)
        if problem.calls > 1:
            runs = [timed_often(call, problem.calls) for _ in range(calls)]
        else:
            runs = [timed(call) for _ in range(calls)]
    others = adapter.versions() if hasattr(adapter, "versions") else {}
    answer = Path(folder) / "answer.npz"
    np.savez(answer, **runs[-1].pop("answer"))
    return {
        "first": {name: first[name] for name in ("wall", "cpu")},
        "runs": [{name: value for name, value in run.items() if name != "answer"} for run in runs],
        "peak_extra_mb": memory.extra,
        "mapped_mb": memory.mapped,
        "versions": {name: version(name) for name in adapter.PACKAGES} | others,
    }


def version(package: str) -> str:
    """Return the version of an imported package."""
    return str(__import__(package).__version__)


if __name__ == "__main__":
    asked = json.loads(sys.argv[1])
    print(json.dumps(measure(asked["problem"], asked["side"], asked["folder"], asked["calls"])))
