"""Whole processes, as a user starts them: seconds of CPU and clock, and the most memory they held.

    python benchmarks/processes.py '{"steps": [[["wc", "-l", "a.csv"]]], "out": "said"}'

A step is one command or several joined by pipes; steps run one after the other. CPU seconds are
user and system time of all commands, from wait4. Peak memory is the high-water mark of resident
memory, summed over the commands of a pipe; of several steps the largest counts.

This file is started anew for every measurement and imports little, because a new process
inherits the high-water mark of the one that starts it: measured from a large process, every
command would seem as large. What is below this file's own 12 MB cannot be seen.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

UNITS_PER_MB = 2**20 if sys.platform == "darwin" else 2**10  # of ru_maxrss


def run_step(commands: list[list[str]], out: Path, errors: Path) -> tuple[float, float]:
    """Run commands joined by pipes; return their CPU seconds and the sum of their peaks in MB."""
    running: list[subprocess.Popen[bytes]] = []
    with out.open("ab") as written, errors.open("wb") as said:
        source: Any = subprocess.DEVNULL
        for place, command in enumerate(commands):
            last = place == len(commands) - 1
            sink = written if last else subprocess.PIPE
            process = subprocess.Popen(command, stdin=source, stdout=sink, stderr=said)
            if source is not subprocess.DEVNULL:
                source.close()  # the reader holds it now, and must see its end
            source = process.stdout
            running.append(process)
    cpu = peak = 0.0
    failed = []
    for process, command in zip(running, commands, strict=True):
        _, status, used = os.wait4(process.pid, 0)
        process.returncode = os.waitstatus_to_exitcode(status)
        cpu += used.ru_utime + used.ru_stime
        peak += used.ru_maxrss / UNITS_PER_MB
        if process.returncode != 0:
            failed.append(f"{' '.join(command)} ended with {process.returncode}")
    if failed:
        raise SystemExit("\n".join([*failed, errors.read_text()[-3000:]]))
    return cpu, peak


def run_steps(steps: list[list[list[str]]], out: Path) -> dict[str, float]:
    """Run steps one after the other, and return what they took together."""
    out.unlink(missing_ok=True)
    errors = out.with_name(out.name + ".errors")
    begin = time.perf_counter()
    used = [run_step(commands, out, errors) for commands in steps]
    wall = time.perf_counter() - begin
    errors.unlink()
    return {"cpu": sum(cpu for cpu, _ in used), "wall": wall, "peak_mb": max(p for _, p in used)}


def main() -> int:
    """Run what the argument says and write the figures as JSON."""
    asked = json.loads(sys.argv[1])
    print(json.dumps(run_steps(asked["steps"], Path(asked["out"]))))
    return 0


if __name__ == "__main__":
    sys.exit(main())
